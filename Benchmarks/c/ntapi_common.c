/*
 * ntapi_common.c - the client, its args, the check of a response.
 */
#include "ntapi_common.h"

#include <ntapi_testing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Seconds that a store may take; callgrind makes everything slow. */
static const double PATIENCE = 60;

/** Hears of everything. */
static void hear(void *user_data, ntapi_observation *observation) {
    (void)user_data, (void)observation;
}

static void set_number(ntapi_defaults *defaults, const char *key, double value) {
    if (ntapi_defaults_set_number(defaults, key, value) != NTAPI_STATUS_OK)
        fail(key);
}

static void set_string(ntapi_defaults *defaults, const char *key, const char *value) {
    if (ntapi_defaults_set_string(defaults, key, value) != NTAPI_STATUS_OK)
        fail(key);
}

/** A client that has each response from the store, and the first one from a stub. */
static ntapi_client *client_create_sharing_cache(const options *options, ntapi_store *store) {
    ntapi_cache *cache = ntapi_cache_create(0, 0, NULL);
    const ntapi_cache_sharing sharing = {
        .size = sizeof sharing, .store = store, .key = "bench", .store_timeout = PATIENCE};
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    if (ntapi_cache_share(cache, &sharing, NULL) != NTAPI_STATUS_OK ||
        ntapi_configuration_set_cache(configuration, cache) != NTAPI_STATUS_OK)
        fail("no shared cache");
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, options->base, configuration);
    ntapi_configuration_free(configuration);
    ntapi_cache_free(cache);

    char *body = malloc((size_t)options->bytes);
    memset(body, 'x', (size_t)options->bytes);
    const char *headers[] = {"Cache-Control: max-age=1000", NULL};
    const ntapi_stub_answer answer = {
        .size = sizeof answer, .headers = headers, .body = body, .length = (size_t)options->bytes};
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    if (ntapi_stub_rule_answer(rule, &answer, NULL) != NTAPI_STATUS_OK ||
        ntapi_client_set_stub(client, stub) != NTAPI_STATUS_OK)
        fail("no stub");
    ntapi_stub_rule_free(rule);
    ntapi_stub_free(stub);
    free(body);
    return client;
}

/** Gives a client a limit that is never reached. */
static void share_limit(ntapi_client *client, ntapi_store *store) {
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 1e6;
    limit.burst = 1000000;
    const ntapi_rate_limiter_options limits = {.size = sizeof limits,
                                               .limits = &limit,
                                               .limit_count = 1,
                                               .store = store,
                                               .key = "bench",
                                               .store_timeout = PATIENCE};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&limits, NULL);
    if (ntapi_client_set_rate_limiter(client, limiter) != NTAPI_STATUS_OK)
        fail("no limiter");
    ntapi_rate_limiter_free(limiter);
}

static void refresh(void *user_data, ntapi_refresh *refresh) {
    (void)user_data;
    ntapi_refresh_succeed(refresh, "token", 1e6);
}

/** Gives a client a token that stays valid. */
static void share_token(ntapi_client *client, ntapi_store *store) {
    ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, refresh, NULL, NULL, NULL);
    const ntapi_token_sharing sharing = {
        .size = sizeof sharing, .store = store, .key = "bench", .store_timeout = PATIENCE};
    if (ntapi_authenticator_share(authenticator, &sharing, NULL) != NTAPI_STATUS_OK ||
        ntapi_client_set_authenticator(client, authenticator) != NTAPI_STATUS_OK)
        fail("no authenticator");
    ntapi_authenticator_free(authenticator);
}

static ntapi_client *client_create_sharing(const options *options) {
    ntapi_store *store = ntapi_memory_store_create(NULL);
    ntapi_client *client;
    if (strcmp(options->shared, "cache") == 0)
        client = client_create_sharing_cache(options, store);
    else
        client = ntapi_client_create(NULL, options->base);
    if (strcmp(options->shared, "limit") == 0)
        share_limit(client, store);
    else if (strcmp(options->shared, "token") == 0)
        share_token(client, store);
    else if (strcmp(options->shared, "cache") != 0)
        fail("shared=%s is not limit, token or cache", options->shared);
    ntapi_store_free(store);
    return client;
}

ntapi_client *client_create(const options *options) {
    if (options->threads > 0) /* before the library is first used */
        set_number(ntapi_defaults_global(), NTAPI_DEFAULT_NETWORK_THREADS, (double)options->threads);
    ntapi_client *client =
        options->shared != NULL ? client_create_sharing(options) : ntapi_client_create(NULL, options->base);
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    if (options->ca != NULL) {
        set_string(defaults, NTAPI_DEFAULT_CA_FILE, options->ca);
        set_string(defaults, NTAPI_DEFAULT_HTTP_VERSION, options->http);
    }
    long more = options->hanging + options->count;
    if (options->hanging > 0 || options_are(options, "hold") || options_are(options, "cancel"))
        set_number(defaults, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, (double)more + 2);
    if (options->observed) {
        ntapi_observer *observer = ntapi_observer_create(NTAPI_OBSERVED_ALL, hear, NULL, NULL);
        if (ntapi_client_add_observer(client, observer) != NTAPI_STATUS_OK)
            fail("no observer");
        ntapi_observer_free(observer);
    }
    return client;
}

void hang(const options *options) {
    if (options->hanging == 0)
        return;
    struct options slow = *options;
    slow.base = options->slow;
    ntapi_client *hanging = client_create(&slow);
    for (long i = 0; i < options->hanging; i++)
        ntapi_request_free(ntapi_client_begin(hanging, "hang", NULL, NULL, NULL, NULL));
    char path[64];
    snprintf(path, sizeof path, "arrived/%ld", options->hanging);
    ntapi_response *response = ntapi_client_perform(hanging, path, NULL);
    response_check(response, options);
    ntapi_response_free(response);
    ntapi_client_free(hanging);
}

/** Passes the request and its answer on, unchanged. */
static void pass_on(void *user_data, ntapi_interception *interception) {
    (void)user_data;
    if (ntapi_interception_response(interception) == NULL)
        ntapi_interception_send(interception);
    ntapi_interception_free(interception); /* proceeds if it was not sent */
}

ntapi_args *args_create(const options *options) {
    if (options_parsed(options) && options->scope == NULL)
        return NULL;
    ntapi_args *args = ntapi_args_create();
    if (!options_parsed(options))
        ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, "");
    if (options->scope != NULL) {
        bool calls = strcmp(options->scope, "call") == 0;
        ntapi_interceptor_scope scope = calls ? NTAPI_INTERCEPTOR_SCOPE_CALL : NTAPI_INTERCEPTOR_SCOPE_ATTEMPT;
        ntapi_interceptor *interceptor = ntapi_interceptor_create(scope, pass_on, NULL, NULL, NULL);
        ntapi_args_interceptor(args, interceptor);
        ntapi_interceptor_free(interceptor);
    }
    return args;
}

void response_check(const ntapi_response *response, const options *options) {
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL)
        fail("%s: %s", ntapi_error_code_name(error), ntapi_error_message(error));
    int status = ntapi_response_status(response);
    if (status != 200)
        fail("status %d", status);
    if (options_parsed(options)) {
        if (ntapi_json_int(ntapi_response_json(response), "meta.total", -1) != options->expect)
            fail("meta.total is not %ld", options->expect);
        return;
    }
    size_t length = 0;
    ntapi_response_data(response, &length);
    if (length != (size_t)options->bytes)
        fail("%zu bytes instead of %ld", length, options->bytes);
}
