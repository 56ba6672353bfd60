/* What the files of CNTApiRedis share. */
#ifndef NTAPI_REDIS_PARTS_H
#define NTAPI_REDIS_PARTS_H

#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdbool.h>

#include "CNTApiRedis.h"

/** Where a server is. Its texts are new, or NULL. */
typedef struct redis_address {
    char *host; /* or the path of a Unix socket */
    int port;   /* 0 with a Unix socket */
    bool uses_tls;
    int database;
    char *username, *password;
    char *name; /* for messages, without the password */
} redis_address;

/** @returns NULL, or a text for `free` that says what is wrong with the options. */
char *redis_address_read(redis_address *address, const redis_link_options *options);
void redis_address_free(redis_address *address);

/** TLS as the options say: certificates are always verified.
 *  @returns NULL, and a text for `free` that says why. */
SSL_CTX *redis_tls_create(const redis_link_options *options, char **problem);
/** @returns NULL without memory. It sends and receives nothing before it has verified that the server has this name. */
SSL *redis_tls_connection(SSL_CTX *tls, const char *host);
/** Why it has failed, from the error queue of this thread; or NULL. */
const char *redis_tls_problem(const SSL *connection);

typedef struct redis_cipher redis_cipher;

/** @returns NULL, and a text for `free` that says which key is wrong; or NULL alone without memory. */
redis_cipher *redis_cipher_create(const char *texts, char **problem);
void redis_cipher_free(redis_cipher *cipher);
/** As redis_link_encrypt and redis_link_decrypt. */
void *redis_cipher_encrypt(const redis_cipher *cipher, const char *place, const void *value, size_t size,
                           size_t *made_size);
void *redis_cipher_decrypt(const redis_cipher *cipher, const char *place, const void *made, size_t made_size,
                           size_t *size);

/** A new text. */
char *redis_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
