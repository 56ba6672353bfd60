"""The bundled file storage: the Dropbox Core API v1 in memory, with only the standard library."""
