/* hiredis with TLS. CNTApiRedis, which is in C, includes its headers itself. */
