/*
 * ntapi_common.c - the client, its args, the check of a response.
 */
#include "ntapi_common.h"

#include <stdlib.h>

ntapi_client *client_create(const options *options) {
    ntapi_client *client = ntapi_client_create(NULL, options->base);
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    if (options->ca != NULL) {
        ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, options->ca);
        ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_HTTP_VERSION, options->http);
    }
    return client;
}

ntapi_args *args_create(const options *options) {
    if (options_parsed(options))
        return NULL;
    ntapi_args *args = ntapi_args_create();
    ntapi_args_option(args, NTAPI_OPTION_RAW_DATA);
    return args;
}

void response_check(const ntapi_response *response, const options *options) {
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL)
        fail("%s: %s", ntapi_error_code(error), ntapi_error_message(error));
    int status = ntapi_response_status(response);
    if (status != 200)
        fail("status %d", status);
    if (options_parsed(options)) {
        if (ntapi_json_int(ntapi_response_json(response), "meta.total", -1) != options->expect)
            fail("meta.total is not %lld", options->expect);
        return;
    }
    size_t length = 0;
    ntapi_response_data(response, &length);
    if (length != options->bytes)
        fail("%zu bytes instead of %zu", length, options->bytes);
}
