"""The bundled file storage: the Dropbox Core API v1 in memory, from the standard library alone."""
