/* The C interface of libntapi-redis: a store of ntapi_store.h that is a link to a server. */
#include "ntapi_redis.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "CNTApiRedis.h"

static void reply(void *call, const char *const *values, size_t count, const char *problem) {
    if (values != NULL)
        ntapi_store_call_reply(call, values, count);
    else
        ntapi_store_call_fail(call, problem);
}

static void run(void *link, const char *script, const char *lua, const char *const *keys, size_t key_count,
                const char *const *arguments, size_t argument_count, ntapi_store_call *call) {
    (void)script;
    redis_link_run(link, lua, keys, key_count, arguments, argument_count, reply, call);
}

static void reply_value(void *call, const void *value, size_t size, const char *problem) {
    if (problem == NULL)
        ntapi_store_call_reply_value(call, value, size);
    else
        ntapi_store_call_fail(call, problem);
}

static void get(void *link, const char *key, ntapi_store_call *call) {
    redis_link_get(link, key, reply_value, call);
}

static void set(void *link, const char *key, const void *value, size_t size, double seconds, ntapi_store_call *call) {
    redis_link_set(link, key, value, size, seconds, reply_value, call);
}

static void remove_value(void *link, const char *key, ntapi_store_call *call) {
    redis_link_remove(link, key, reply_value, call);
}

typedef void *cipher_fn(redis_link *link, const char *place, const void *value, size_t size, size_t *made_size);

static void reply_changed(cipher_fn *change, redis_link *link, const char *place, const void *value, size_t size,
                          const char *problem, ntapi_store_call *call) {
    size_t made_size = 0;
    void *made = change(link, place, value, size, &made_size);
    reply_value(call, made, made_size, made == NULL ? problem : NULL);
    free(made);
}

static void encrypt(void *link, const char *context, const void *value, size_t size, ntapi_store_call *call) {
    reply_changed(redis_link_encrypt, link, context, value, size, "no memory, or no randomness", call);
}

static void decrypt(void *link, const char *context, const void *value, size_t size, ntapi_store_call *call) {
    reply_changed(redis_link_decrypt, link, context, value, size, "it was not encrypted with these keys", call);
}

static void end(void *link) {
    redis_link_free(link);
}

/** The size that ntapi_redis_options had first: a member that it gets makes it larger. */
enum { OLDEST = offsetof(ntapi_redis_options, encryption_keys) };

/** The options that are known here; members that a program does not have are zero. Returns what is wrong with them, or
 *  NULL. */
static const char *read_options(const ntapi_redis_options *given, ntapi_redis_options *known) {
    *known = (ntapi_redis_options){0};
    if (given == NULL)
        return "options is NULL";
    if (given->size < OLDEST || given->size > 4096)
        return "the size of ntapi_redis_options is not sizeof(ntapi_redis_options)";
    for (size_t i = sizeof *known; i < given->size; i++)
        if (((const char *)given)[i] != 0)
            return "ntapi_redis_options has a value in a member that this libntapi-redis does not know: leave that "
                   "member 0, or use a newer libntapi-redis";
    memcpy(known, given, given->size < sizeof *known ? given->size : sizeof *known);
    return NULL;
}

ntapi_store *ntapi_redis_store_create(const ntapi_redis_options *options, ntapi_error **error) {
    ntapi_redis_options known;
    char *found = NULL;
    redis_link *link = NULL;
    const char *problem = read_options(options, &known);
    if (problem == NULL) {
        const redis_link_options where = {.url = known.url,
                                          .username = known.username,
                                          .password = known.password,
                                          .ca_file = known.ca_file,
                                          .client_certificate = known.client_certificate,
                                          .client_key = known.client_key,
                                          .timeout = known.timeout,
                                          .encryption_keys = known.encryption_keys,
                                          .version = ntapi_version()};
        link = redis_link_create(&where, &found);
        problem = found;
    }
    if (link != NULL) {
        bool encrypts = redis_link_encrypts(link);
        const ntapi_store_functions functions = {.size = sizeof functions,
                                                 .run = run,
                                                 .get = get,
                                                 .set = set,
                                                 .remove = remove_value,
                                                 .encrypt = encrypts ? encrypt : NULL,
                                                 .decrypt = encrypts ? decrypt : NULL};
        return ntapi_store_create(&functions, link, end, error);
    }
    if (error != NULL)
        *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_REQUEST, "invalid request",
                                    problem == NULL ? "no memory" : problem, false);
    free(found);
    return NULL;
}
