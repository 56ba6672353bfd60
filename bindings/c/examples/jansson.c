/*
 * jansson.c - JSON as jansson's trees: a default, a body, an answer, and a service's error.
 *
 *   jansson http://127.0.0.1:PORT
 */
#include <ntapi_jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/** This service answers {"cod":"404","message":"..."} when it finds nothing. This makes it an error with the code
 * "404". */
static ntapi_error *map_service_error(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const json_t *tree = ntapi_response_jansson(response);
    const char *code = json_string_value(json_object_get(tree, "cod"));
    if (code == NULL || strcmp(code, "200") == 0)
        return NULL;
    const char *message = json_string_value(json_object_get(tree, "message"));
    return ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, message, false);
}

static ntapi_client *open_service(const char *url) {
    ntapi_client *client = ntapi_client_create(NULL, url);
    ntapi_hooks hooks = {.size = sizeof hooks, .map_service_error = map_service_error};
    json_t *headers = json_pack("{s:s}", "Accept-Language", "de");
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    bool is_set = ntapi_client_set_hooks(client, &hooks, NULL, NULL) == NTAPI_STATUS_OK &&
                  ntapi_defaults_set_jansson(defaults, NTAPI_DEFAULT_ADDITIONAL_HEADERS, headers) == NTAPI_STATUS_OK;
    json_decref(headers);
    return is_set ? client : NULL; /* for example because the URL is not UTF-8: its requests say so */
}

static bool has_failed; /* what main returns */

/** Prints what went wrong. An error that the service reports with status 200 counts as an answer here.
 *  @returns whether there is no answer to read. */
static bool say_error(const ntapi_response *response) {
    const ntapi_error *error = ntapi_response_error(response);
    if (error == NULL)
        return false;
    bool is_answer = ntapi_response_status(response) == 200 && ntapi_response_jansson(response) != NULL;
    fprintf(is_answer ? stdout : stderr, "%s: %s\n", is_answer ? ntapi_error_code_name(error) : "error",
            ntapi_error_message(error));
    has_failed = has_failed || !is_answer;
    return true;
}

/** A text, or a replacement if the JSON has none. */
static const char *text(const json_t *value) {
    return json_is_string(value) ? json_string_value(value) : "";
}

static void find(ntapi_client *client, const char *name) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", name);
    ntapi_args_url(args, "appid", "demo");
    ntapi_args_url(args, "units", "metric");
    ntapi_response *response = ntapi_client_perform(client, "data/2.5/find", args);
    if (!say_error(response)) {
        size_t index;
        json_t *city;
        json_array_foreach(json_object_get(ntapi_response_jansson(response), "list"), index, city) {
            const json_t *temperature = json_object_get(json_object_get(city, "main"), "temp");
            printf("%5.1f °C  %s\n", json_number_value(temperature), text(json_object_get(city, "name")));
        }
    }
    ntapi_response_free(response); /* frees the tree, too */
    ntapi_args_free(args);
}

static void send_order(ntapi_client *client) {
    json_t *order = json_pack("{s:s, s:i, s:[s,s]}", "city", "London", "days", 5, "units", "metric", "standard");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_jansson(args, order); /* copied */
    json_decref(order);
    ntapi_response *response = ntapi_client_perform(client, "echo", args);
    if (!say_error(response))
        printf("sent: %s\n", text(json_object_get(ntapi_response_jansson(response), "body")));
    ntapi_response_free(response);
    ntapi_args_free(args);
}

int main(int argc, char **argv) {
    ntapi_client *client = open_service(argc > 1 ? argv[1] : NULL);
    find(client, "London");
    find(client, "Atlantis");
    send_order(client);
    ntapi_client_free(client);
    return has_failed;
}
