/*
 * ntapi_common.c - the client, its args, the check of a response.
 */
#include "ntapi_common.h"

#include <stdio.h>
#include <string.h>

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

ntapi_client *client_create(const options *options) {
    if (options->threads > 0) /* before the library is first used */
        set_number(ntapi_defaults_global(), NTAPI_DEFAULT_NETWORK_THREADS, (double)options->threads);
    ntapi_client *client = ntapi_client_create(NULL, options->base);
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
