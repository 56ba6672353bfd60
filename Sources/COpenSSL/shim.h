/* OpenSSL. CNTApiRedis, which is in C, includes its headers itself. */
