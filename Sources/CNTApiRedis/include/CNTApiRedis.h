/*
 * CNTApiRedis.h - runs scripts on a Redis or Valkey server, and keeps values there. The product NTApiRedis and
 * libntapi-redis are made of it.
 */
#ifndef CNTAPIREDIS_H
#define CNTAPIREDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One connection to a server, opened when it is needed, and a thread that uses it. Safe to use from any thread. */
typedef struct redis_link redis_link;

/** Where the server is, and who asks. `url` and `version` are required; NULL in another member says nothing. */
typedef struct redis_link_options {
    const char *url;
    const char *username, *password; /* in place of those of the URL */
    const char *ca_file;
    const char *client_certificate, *client_key;
    double timeout;              /* seconds; 0 is 5 */
    const char *encryption_keys; /* base64 of 32 bytes each, with blanks between; NULL is none */
    const char *version;         /* of NTApi, for the server's list of clients */
} redis_link_options;

/** Gets what a script has replied with, or why it has not: then values is NULL. Called once, on any thread. */
typedef void (*redis_link_reply_fn)(void *call, const char *const *values, size_t count, const char *problem);

/** Gets a value, NULL if there is none; or a problem, which is NULL otherwise. Called once, on any thread. */
typedef void (*redis_link_value_fn)(void *call, const void *value, size_t size, const char *problem);

/** @param options copied.
 *  @param problem gets a text for `free` that says what is wrong with them.
 *  @returns NULL if something is. */
redis_link *redis_link_create(const redis_link_options *options, char **problem);

/** Calls that have no reply fail. Does not block. */
void redis_link_free(redis_link *link);

/** "HOST:PORT", or the path of a Unix socket; borrowed until the link is freed. */
const char *redis_link_name(const redis_link *link);

/** Whether it has encryption_keys: the first one encrypts, all decrypt. */
bool redis_link_encrypts(const redis_link *link);

/** @param place where the value belongs. It cannot be decrypted for another place.
 *  @returns bytes for `free`; NULL when there is no memory or no randomness, and when the process exits; for decrypt
 *  also when it was not made with one of the keys for the same place. */
void *redis_link_encrypt(redis_link *link, const char *place, const void *value, size_t size, size_t *made_size);
void *redis_link_decrypt(redis_link *link, const char *place, const void *made, size_t made_size, size_t *size);

/** Does not block. All parameters are copied. */
void redis_link_run(redis_link *link, const char *lua, const char *const *keys, size_t key_count,
                    const char *const *arguments, size_t argument_count, redis_link_reply_fn reply, void *call);

/** Read, store and remove a value. They do not block. All parameters are copied. */
void redis_link_get(redis_link *link, const char *key, redis_link_value_fn reply, void *call);
void redis_link_set(redis_link *link, const char *key, const void *value, size_t size, double seconds,
                    redis_link_value_fn reply, void *call);
void redis_link_remove(redis_link *link, const char *key, redis_link_value_fn reply, void *call);

#endif /* CNTAPIREDIS_H */
