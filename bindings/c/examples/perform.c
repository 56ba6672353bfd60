/*
 * perform.c - the shortest possible program: one blocking request.
 *
 *   perform http://127.0.0.1:PORT
 */
#include <ntapi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    ntapi_client *client = ntapi_client_create(NULL, argc > 1 ? argv[1] : NULL);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", "Zürich");
    ntapi_args_url(args, "appid", "demo");
    ntapi_args_url(args, "units", "metric");

    ntapi_response *response = ntapi_client_perform(client, "data/2.5/weather", args);
    const ntapi_json *json = ntapi_response_json(response);
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL)
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
    else
        printf("%s: %.1f °C\n", ntapi_json_string(json, "name"), ntapi_json_double(json, "main.temp", 0));

    int status = error != NULL; /* the error belongs to the response */
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
    return status;
}
