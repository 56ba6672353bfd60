/*
 * ntapi_redis.h - a store on a Redis or Valkey server. The library libntapi-redis exports this function; link with it
 * and with libntapi. The rules of ntapi.h hold here, too.
 */
#ifndef NTAPI_REDIS_H
#define NTAPI_REDIS_H

#include "ntapi_store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== 1. A store on a server ===================================================================================== */

/** Where a server is, and who the program is there. Members that are NULL or zero say nothing. */
typedef struct ntapi_redis_options {
    size_t size;                    /* of this struct */
    const char *url;                /* "redis://HOST:PORT/DATABASE"; "rediss:" with TLS; "unix:///PATH?db=DATABASE" */
    const char *username;           /* of an ACL user; in place of the URL's */
    const char *password;           /* in place of the URL's */
    const char *ca_file;            /* PEM file instead of the system's store */
    const char *client_certificate; /* PEM file */
    const char *client_key;         /* PEM file; that of the certificate */
    double timeout;                 /* seconds without a connection or a reply, after which it connects anew; 0 is 5 */
    const char *encryption_keys;    /* of tokens and responses: base64 of 32 bytes each, with blanks between */
} ntapi_redis_options;

/** Makes a store on a server: Redis 7 or later, or Valkey. It has one connection and one thread. It connects when it
 *  is first asked, and again after a failure. A Sentinel or a Redis Cluster is refused then. TLS verifies the
 *  server's certificate. Free it with ntapi_store_free.
 *  With encryption_keys, the server cannot read tokens and responses, and caches share those of requests with
 *  credentials, too. "openssl rand -base64 32" makes a key. The first one encrypts (XAES-256-GCM); all decrypt. All
 *  processes need the same.
 *  @param options copied.
 *  @param error gets what is wrong with the options, new; may be NULL.
 *  @returns NULL if something is. */
NTAPI_NEW ntapi_store *ntapi_redis_store_create(const ntapi_redis_options *options, ntapi_error **error);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_REDIS_H */
