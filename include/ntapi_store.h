/*
 * ntapi_store.h - rate limits, tokens and cached responses that several processes share. The library exports these
 * functions like all others. The rules of ntapi.h hold here, too.
 */
#ifndef NTAPI_STORE_H
#define NTAPI_STORE_H

#include "ntapi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ntapi_store ntapi_store;           /* what several processes share: section 1 */
typedef struct ntapi_store_call ntapi_store_call; /* what a store is asked for: section 1 */

/* ===== 1. Stores ================================================================================================== */
/*
 * A store runs the library's scripts. libntapi-redis has one (ntapi_redis.h); with another client of Redis or Valkey,
 * write one: its function gets a script in Lua, its keys and its arguments (EVAL, or EVALSHA), and passes on the values
 * of the reply, numbers as decimal text.
 *
 * Rate limiters with the same key of the same store keep their limits together, in any number of processes, machines
 * and languages. Requests of one limiter start by priority, then in order; between limiters, those that wait get the
 * permits in turn. When a server asks for a pause, all of them keep it. While the store fails, requests do what
 * on_failure says. It is tried again once a second while there are requests.
 */

/** Runs a script as one step: nobody else uses its keys meanwhile. Called on a worker. It may answer the call before it
 *  returns, or later from any thread. What it gets is borrowed until it returns, but for the call.
 *  @param script name and version, such as "ntapi.permits.1": a store without Lua knows by it what to do.
 *  @param call yours: pass it to ntapi_store_call_reply or ntapi_store_call_fail. */
typedef void (*ntapi_store_run_fn)(void *user_data, const char *script, const char *lua, const char *const *keys,
                                   size_t key_count, const char *const *arguments, size_t argument_count,
                                   ntapi_store_call *call);

/** Functions for values, which caches need (section 3). One reads a value. One keeps a value under a key, in place of
 *  any other, until it expires after so many seconds; the store may remove it sooner. One removes a value, if there is
 *  one. They are called as ntapi_store_run_fn is, and answer by ntapi_store_call_reply_value. The scripts of caches
 *  read and change the same values. */
typedef void (*ntapi_store_get_fn)(void *user_data, const char *key, ntapi_store_call *call);
typedef void (*ntapi_store_set_fn)(void *user_data, const char *key, const void *value, size_t size, double seconds,
                                   ntapi_store_call *call);
typedef void (*ntapi_store_remove_fn)(void *user_data, const char *key, ntapi_store_call *call);

/** Functions that encrypt and decrypt tokens and responses, with a key that the store's server does not have. Called on
 *  a worker. They answer the call before they return: by ntapi_store_call_reply_value, whose value is not NULL even if
 *  it is empty; or by ntapi_store_call_fail, for example for a value that was not encrypted with this key.
 *  @param context where the value belongs. Authenticate it, too (as additional data): a value that was moved to another
 *         place must not be decrypted. */
typedef void (*ntapi_store_cipher_fn)(void *user_data, const char *context, const void *value, size_t size,
                                      ntapi_store_call *call);

/** What a store does: {.size = sizeof(ntapi_store_functions), .run = run_script}. */
typedef struct ntapi_store_functions {
    size_t size; /* of this struct */
    ntapi_store_run_fn run;
    ntapi_store_get_fn get; /* a store without these three has no cache */
    ntapi_store_set_fn set;
    ntapi_store_remove_fn remove;
    ntapi_store_cipher_fn encrypt; /* NULL stores tokens and responses as they are */
    ntapi_store_cipher_fn decrypt; /* what encrypt has made: there are both or none */
} ntapi_store_functions;

/** Makes a store. `destroy` runs when it is freed and nothing uses it any more.
 *  @param error gets what is wrong with the functions, new; may be NULL.
 *  @returns NULL if something is: run is missing, or one of encrypt and decrypt. */
NTAPI_NEW ntapi_store *ntapi_store_create(const ntapi_store_functions *functions, void *user_data,
                                          ntapi_destroy_fn destroy, ntapi_error **error);
void ntapi_store_free(ntapi_store *store);

/** Makes a store in a file, for processes of one host that share a token (section 2). The file is readable by its owner
 *  only, and replaced as a whole; beside it is a file whose name ends in ".lock". It keeps no limits and no responses.
 *  @param path of the file. It is made with the first token, and so is its folder.
 *  @returns NULL if the path is NULL, empty or not UTF-8. */
NTAPI_NEW ntapi_store *ntapi_file_store_create(const char *path);

/** Answers a call with the values of the script's reply, or says why it was not run. Frees the call in any case.
 *  @param problem for the log and for errors; NULL says nothing.
 *  @returns NTAPI_STATUS_INVALID_ARGUMENT for a wrong call. A value that is NULL or not UTF-8 fails it, too. */
ntapi_status ntapi_store_call_reply(ntapi_store_call *call, const char *const *values, size_t count);
ntapi_status ntapi_store_call_fail(ntapi_store_call *call, const char *problem);

/** Answers a call with the value that was read. Frees the call.
 *  @param value copied; NULL if there is none, and after a value was set or removed. */
ntapi_status ntapi_store_call_reply_value(ntapi_store_call *call, const void *value, size_t size);

/** What requests do while the store fails. */
typedef enum ntapi_store_substitute {
    NTAPI_STORE_SUBSTITUTE_NONE = 0,  /* not said: LOCAL for limits, CLOSED for tokens */
    NTAPI_STORE_SUBSTITUTE_LOCAL = 1, /* each process keeps the limit alone, and together they may exceed it; or
                                         refreshes the token alone */
    NTAPI_STORE_SUBSTITUTE_OPEN = 2,  /* they start without a limit; not for tokens */
    NTAPI_STORE_SUBSTITUTE_CLOSED = 3 /* they fail with NTAPI_CODE_STORE_FAILED; with a token, those that need a new
                                         one */
} ntapi_store_substitute;

/** One limit. Start from NTAPI_RATE_LIMIT_INIT, whose values are in parentheses. */
typedef struct ntapi_rate_limit {
    size_t size;          /* of this struct */
    double requests;      /* how many may start in this many seconds, evenly spaced; above 0 (none) */
    double seconds;       /* above 0 (1) */
    int burst;            /* how many may start at once after a pause (1) */
    double maximum_pause; /* for how many seconds at most a server may stop all requests; 0 is never (60) */
} ntapi_rate_limit;
#define NTAPI_RATE_LIMIT_INIT                                                                                          \
    { sizeof(ntapi_rate_limit), 0, 1, 1, 60 }

/** Limits that one limiter keeps. Members that are zero say nothing. With a batch, a process takes more permits than it
 *  needs if nobody waits for them, and uses them within a second without waiting for the store. In any period,
 *  all processes together may then start batch - 1 requests each more than the limits allow. */
typedef struct ntapi_rate_limiter_options {
    size_t size;                       /* of this struct */
    const ntapi_rate_limit *limits;    /* a request starts when all of them allow it, and counts for each */
    size_t limit_count;                /* from 1 */
    ntapi_store *store;                /* NULL keeps them in this process */
    const char *key;                   /* what they are called in the store: 1 to 200 bytes without { and } */
    double store_timeout;              /* seconds after which a store that has not replied fails; 0 is 0.5 */
    ntapi_store_substitute on_failure; /* what to do until it answers again */
    int batch;                         /* permits that a process takes at a time, from 1 to the smallest burst */
} ntapi_rate_limiter_options;

/** Makes a rate limiter with several limits, or with limits that are shared: ntapi_rate_limiter_create makes one with
 *  one limit of this process. All processes give the same limits.
 *  @param options copied; the limiter keeps the store.
 *  @param error gets why the options are wrong, new; may be NULL.
 *  @returns NULL if they are. */
NTAPI_NEW ntapi_rate_limiter *ntapi_rate_limiter_create_with(const ntapi_rate_limiter_options *options,
                                                             ntapi_error **error);

/* ===== 2. Tokens ================================================================================================== */
/*
 * Authenticators (ntapi.h, section 20) with the same key of the same store have one token, in any number of processes,
 * machines and languages. When it expires, one process refreshes it; the others wait, and use the new one. A failed
 * refresh fails the requests of all of them for a second.
 *
 * Many servers give a new refresh token with each token, and take each one once. The store has the newest before any
 * request uses the token that came with it, unless it fails. ntapi_refresh_refresh_token returns it in every process.
 */

/** How an authenticator shares its token. Members that are zero say nothing. */
typedef struct ntapi_token_sharing {
    size_t size;                       /* of this struct */
    ntapi_store *store;                /* kept */
    const char *key;                   /* what the token is called in the store: 1 to 200 bytes without { and } */
    double store_timeout;              /* seconds after which a store that has not replied fails; 0 is 0.5 */
    ntapi_store_substitute on_failure; /* what to do until it answers again. With LOCAL each process refreshes alone:
                                          not for a server that takes each refresh token once */
    double lease; /* seconds after which a process that goes silent during its refresh is replaced; from 0.1; 0 is 10 */
} ntapi_token_sharing;

/** Shares the token with other processes. Call it before the authenticator is used. If it fails, so do all requests
 *  that need the token, until a call succeeds.
 *  @param sharing copied.
 *  @param error gets what is wrong with it, new; may be NULL. */
NTAPI_CHECKED ntapi_status ntapi_authenticator_share(ntapi_authenticator *authenticator,
                                                     const ntapi_token_sharing *sharing, ntapi_error **error);

/** A token with its refresh token: {.size = sizeof(ntapi_token), .text = "abc", .refresh_token = "def"}. */
typedef struct ntapi_token {
    size_t size;               /* of this struct */
    const char *text;          /* what the header carries */
    double lifetime;           /* seconds for which it is valid from now; 0 is unknown */
    const char *refresh_token; /* that came with it; NULL if none did */
} ntapi_token;

/** Like ntapi_authenticator_set_token, with a refresh token. Both functions replace the refresh token, too. A shared
 *  token is replaced for all processes. */
NTAPI_CHECKED ntapi_status ntapi_authenticator_set_token_with(ntapi_authenticator *authenticator,
                                                              const ntapi_token *token);

/** The refresh token of the last new token, borrowed until refresh is answered or freed; NULL when there was none. It
 *  needs no store. */
const char *ntapi_refresh_refresh_token(const ntapi_refresh *refresh);

/** Like ntapi_refresh_succeed, with a refresh token. Without one, the next refresh gets the same as this one. */
ntapi_status ntapi_refresh_succeed_with(ntapi_refresh *refresh, const ntapi_token *token);

/* ===== 3. Cached responses ======================================================================================== */
/*
 * Caches (ntapi.h, section 23) with the same key of the same store have the same responses, in any number of processes,
 * machines and languages. A request that finds no fresh response in its own process looks there. When several processes
 * need the same response, one loads or revalidates it; the others use a stale one if they may, or wait for it.
 *
 * Only what a shared cache may have is stored there: no responses to requests with credentials or cookies, none that
 * are private or set a cookie, and none above 1 MB. If the store encrypts, it has those with credentials, too, also
 * private ones: each only for requests with the same credentials. A response expires when it can no longer be used or
 * validated. While the store fails, each process uses its own cache.
 */

/** How a cache shares its responses. Members that are zero say nothing. */
typedef struct ntapi_cache_sharing {
    size_t size;          /* of this struct */
    ntapi_store *store;   /* kept; it has the functions for values */
    const char *key;      /* what the responses are called in the store: 1 to 200 bytes without { and } */
    double store_timeout; /* seconds after which a store that has not replied fails; 0 is 0.5 */
    double lease;         /* seconds after which a process that loads a response is replaced; from 0.1; 0 is 10. After
                             twice that, a request waits no longer */
} ntapi_cache_sharing;

/** Shares responses with other processes. Call it before the cache is used.
 *  @param sharing copied.
 *  @param error gets what is wrong with it, new; may be NULL. */
NTAPI_CHECKED ntapi_status ntapi_cache_share(ntapi_cache *cache, const ntapi_cache_sharing *sharing,
                                             ntapi_error **error);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_STORE_H */
