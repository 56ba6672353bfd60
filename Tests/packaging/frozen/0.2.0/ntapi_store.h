/* Written by check_frozen.py. */
#ifndef NTAPI_STORE_H
#define NTAPI_STORE_H
#include "ntapi.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ntapi_store ntapi_store;
typedef struct ntapi_store_call ntapi_store_call;
typedef void (*ntapi_store_run_fn)(void *user_data, const char *script, const char *lua, const char *const *keys,
                                   size_t key_count, const char *const *arguments, size_t argument_count,
                                   ntapi_store_call *call);
typedef void (*ntapi_store_get_fn)(void *user_data, const char *key, ntapi_store_call *call);
typedef void (*ntapi_store_set_fn)(void *user_data, const char *key, const void *value, size_t size, double seconds,
                                   ntapi_store_call *call);
typedef void (*ntapi_store_remove_fn)(void *user_data, const char *key, ntapi_store_call *call);
typedef void (*ntapi_store_cipher_fn)(void *user_data, const char *context, const void *value, size_t size,
                                      ntapi_store_call *call);
typedef struct ntapi_store_functions {
    size_t size;
    ntapi_store_run_fn run;
    ntapi_store_get_fn get;
    ntapi_store_set_fn set;
    ntapi_store_remove_fn remove;
    ntapi_store_cipher_fn encrypt;
    ntapi_store_cipher_fn decrypt;
} ntapi_store_functions;
NTAPI_NEW ntapi_store *ntapi_store_create(const ntapi_store_functions *functions, void *user_data,
                                          ntapi_destroy_fn destroy, ntapi_error **error);
void ntapi_store_free(ntapi_store *store);
NTAPI_NEW ntapi_store *ntapi_file_store_create(const char *path);
ntapi_status ntapi_store_call_reply(ntapi_store_call *call, const char *const *values, size_t count);
ntapi_status ntapi_store_call_fail(ntapi_store_call *call, const char *problem);
ntapi_status ntapi_store_call_reply_value(ntapi_store_call *call, const void *value, size_t size);
typedef enum ntapi_store_substitute {
    NTAPI_STORE_SUBSTITUTE_NONE = 0,
    NTAPI_STORE_SUBSTITUTE_LOCAL = 1,
    NTAPI_STORE_SUBSTITUTE_OPEN = 2,
    NTAPI_STORE_SUBSTITUTE_CLOSED = 3
} ntapi_store_substitute;
typedef struct ntapi_rate_limit {
    size_t size;
    double requests;
    double seconds;
    int burst;
    double maximum_pause;
} ntapi_rate_limit;
#define NTAPI_RATE_LIMIT_INIT \
    { sizeof(ntapi_rate_limit), 0, 1, 1, 60 }
typedef struct ntapi_rate_limiter_options {
    size_t size;
    const ntapi_rate_limit *limits;
    size_t limit_count;
    ntapi_store *store;
    const char *key;
    double store_timeout;
    ntapi_store_substitute on_failure;
    int batch;
} ntapi_rate_limiter_options;
NTAPI_NEW ntapi_rate_limiter *ntapi_rate_limiter_create_with(const ntapi_rate_limiter_options *options,
                                                             ntapi_error **error);
typedef struct ntapi_token_sharing {
    size_t size;
    ntapi_store *store;
    const char *key;
    double store_timeout;
    ntapi_store_substitute on_failure;
    double lease;
} ntapi_token_sharing;
NTAPI_CHECKED ntapi_status ntapi_authenticator_share(ntapi_authenticator *authenticator,
                                                     const ntapi_token_sharing *sharing, ntapi_error **error);
typedef struct ntapi_token {
    size_t size;
    const char *text;
    double lifetime;
    const char *refresh_token;
} ntapi_token;
NTAPI_CHECKED ntapi_status ntapi_authenticator_set_token_with(ntapi_authenticator *authenticator,
                                                              const ntapi_token *token);
const char *ntapi_refresh_refresh_token(const ntapi_refresh *refresh);
ntapi_status ntapi_refresh_succeed_with(ntapi_refresh *refresh, const ntapi_token *token);
typedef struct ntapi_cache_sharing {
    size_t size;
    ntapi_store *store;
    const char *key;
    double store_timeout;
    double lease;
} ntapi_cache_sharing;
NTAPI_CHECKED ntapi_status ntapi_cache_share(ntapi_cache *cache, const ntapi_cache_sharing *sharing,
                                             ntapi_error **error);
#ifdef __cplusplus
}
#endif
#endif
