"""What stands between Python and the library in C. Nothing here is public."""
