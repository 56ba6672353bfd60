/* tour_get.c - what the tour does with --get: any URL, its status, its headers and the start of its body. */
#include "tour.h"

#include <stdio.h>

int get(const char *url) {
    ntapi_client *client = ntapi_client_create(NULL, url);
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* an error is printed below */
    ntapi_args *args = ntapi_args_create();
    ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, "");
    ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, "");
    ntapi_response *response = ntapi_client_perform(client, "", args);
    const ntapi_error *error = ntapi_response_error(response);
    bool good = error == NULL;
    if (error != NULL) {
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
    } else {
        size_t length = 0;
        const char *data = ntapi_response_data(response, &length);
        printf("%s\nstatus %d after %.0f ms\n", ntapi_response_url(response), ntapi_response_status(response),
               ntapi_response_elapsed(response) * 1000);
        const ntapi_headers *headers = ntapi_response_headers(response);
        const char *name, *value;
        for (size_t i = 0; (value = ntapi_headers_at(headers, i, &name)) != NULL; i++)
            printf("%s: %s\n", name, value);
        printf("\n%.500s%s\n", data, length > 500 ? "…" : "");
    }
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
    return good ? 0 : 1;
}
