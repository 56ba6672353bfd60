/*
 * tour.c - a walk through the library: a small weather service, one step for each feature.
 *
 *   tour BASE_URL      runs all steps against the demo server (Tests/servers/weather.py)
 *   tour --get URL     gets any URL and prints status, headers and the start of the body
 */
#include "tour.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int requests;          /* responses received */
static int expected_errors;   /* those that a step causes on purpose */
static int unexpected_errors; /* all others */

void heading(int number, const char *feature) {
    printf("\n%d  %s\n", number, feature);
}

static void print_error(const ntapi_error *error) {
    printf("error \"%s\": %s\n", ntapi_error_code_name(error), ntapi_error_message(error));
}

/** Counts a response and returns its error or NULL. `wanted` is the code of an error that the step expects. */
static const ntapi_error *count(const ntapi_response *response, const char *wanted) {
    requests++;
    const ntapi_error *error = ntapi_response_error(response);
    const char *code = error != NULL ? ntapi_error_code_name(error) : NULL;
    if (code != wanted) /* names of codes are interned: == and != compare them */
        unexpected_errors++;
    else if (error != NULL)
        expected_errors++;
    return error;
}

/** Counts a response and prints its error; true when it has none. */
bool succeeded(const ntapi_response *response, const char *wanted) {
    const ntapi_error *error = count(response, wanted);
    if (error == NULL)
        return true;
    printf("   ");
    print_error(error);
    return false;
}

/* ---- the service: what all of its calls have in common ---- */

/** Adds what every weather call needs, from the defaults of client, class and process. */
static void add_common_args(void *user_data, const char *command, ntapi_args *args) {
    (void)user_data;
    if (strncmp(command, "data/", 5) != 0)
        return;
    ntapi_args_url_default(args, "appid", NULL);
    ntapi_args_url_default(args, "units", NULL);
}

/** This service answers 200 with {"cod":"404","message":"..."}. This makes it an error with the code "404". */
static ntapi_error *map_service_error(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const ntapi_json *json = ntapi_response_json(response);
    const char *code = ntapi_json_string(json, "cod");
    if (code == NULL || strcmp(code, "200") == 0)
        return NULL;
    return ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, ntapi_json_string(json, "message"), false);
}

static ntapi_client *open_service(const char *base_url) {
    ntapi_class *weather = ntapi_class_create("Weather", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(weather);
    if (ntapi_defaults_set_string(defaults, "appid", "demo") != NTAPI_STATUS_OK ||
        ntapi_defaults_set_string(defaults, "units", "metric") != NTAPI_STATUS_OK)
        abort();
    ntapi_client *client = ntapi_client_create(weather, base_url);
    ntapi_class_free(weather); /* the client keeps a reference */

    ntapi_hooks hooks = {.size = sizeof hooks, .build_args = add_common_args, .map_service_error = map_service_error};
    if (ntapi_client_set_hooks(client, &hooks, NULL, NULL) != NTAPI_STATUS_OK)
        return NULL; /* for example because the URL is not UTF-8: its requests say so */
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* the steps print errors themselves */
    return client;
}

/* ---- 1, 2: blocking calls ---- */

static bool search(ntapi_client *client) {
    heading(1, "A search: url args, and defaults that every call gets");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", "London");
    ntapi_args_url_int(args, "cnt", 5);
    ntapi_response *response = ntapi_client_perform(client, "data/2.5/find", args);
    printf("   GET %s\n", ntapi_response_url(response));
    bool is_found = succeeded(response, NULL);
    if (is_found) {
        const ntapi_json *json = ntapi_response_json(response);
        ntapi_json_iterator *cities = ntapi_json_iterate(json, "list");
        for (const ntapi_json *city; (city = ntapi_json_next(cities, NULL)) != NULL;)
            printf("   %5.1f °C  %s, %s\n", ntapi_json_double(city, "main.temp", 0), ntapi_json_string(city, "name"),
                   ntapi_json_string(city, "sys.country"));
        ntapi_json_iterator_free(cities);
    }
    ntapi_response_free(response);
    ntapi_args_free(args);
    return is_found;
}

static void feedback(ntapi_client *client) {
    heading(2, "A form: becomes a POST by itself");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_form(args, "name", "Zoë");
    ntapi_args_form(args, "text", "Rain & sun, 50 % each");
    ntapi_response *response = ntapi_client_perform(client, "feedback", args);
    if (succeeded(response, NULL))
        printf("   the server read: \"%s\" from %s\n", ntapi_json_string(ntapi_response_json(response), "fields.text"),
               ntapi_json_string(ntapi_response_json(response), "fields.name"));
    ntapi_response_free(response);
    ntapi_args_free(args);
}

/* ---- 3, 4: progress ---- */

/** Draws on one line, again and again; into a file, only the last state. */
static void draw_bar(void *user_data, int64_t bytes, int64_t total) {
    static const char full[] = "########################################";
    bool is_terminal = isatty(STDOUT_FILENO);
    if (!is_terminal && bytes != total)
        return;
    int percent = total > 0 ? (int)(bytes * 100 / total) : 0;
    printf("%s   %-9s [%-40.*s] %3d %%%s", is_terminal ? "\r" : "", (const char *)user_data, percent * 40 / 100, full,
           percent, bytes == total ? "\n" : "");
    fflush(stdout);
}

/** Begins a request with a progress bar and waits until its handler has returned.
 *  The response is new; NULL when it is an error, which has been printed. */
static ntapi_response *transfer(ntapi_client *client, const char *command, const ntapi_args *args, bool upload,
                                char *label) {
    ntapi_request *request = ntapi_client_create_request(client, command, args);
    if (upload)
        ntapi_request_set_upload_progress(request, draw_bar, label, NULL);
    else
        ntapi_request_set_download_progress(request, draw_bar, label, NULL);
    ntapi_request_resume(request);
    ntapi_request_wait(request, -1); /* meanwhile, handlers of the main thread run */
    ntapi_response *response = ntapi_request_response(request);
    ntapi_request_free(request); /* the response keeps a reference */
    if (succeeded(response, NULL))
        return response;
    ntapi_response_free(response);
    return NULL;
}

static void upload_photo(ntapi_client *client) {
    heading(3, "A multipart upload: bytes with the extension png, sent as photo.png");
    enum { SIZE = 2000000 };
    void *bytes = calloc(1, SIZE);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url_int(args, "rate", 2000000);
    if (ntapi_args_multipart_data(args, "photo", bytes, SIZE, "photo.png", NULL) != NTAPI_STATUS_OK)
        abort();
    free(bytes); /* the args have a copy */
    ntapi_response *response = transfer(client, "photo", args, true, "photo.png");
    const ntapi_json *json = ntapi_response_json(response);
    ntapi_json_iterator *parts = ntapi_json_iterate(json, "parts");
    for (const ntapi_json *part; (part = ntapi_json_next(parts, NULL)) != NULL;)
        printf("   the server got %s, %" PRId64 " bytes\n", ntapi_json_string(part, "filename"),
               ntapi_json_int(part, "size", 0));
    ntapi_json_iterator_free(parts);
    ntapi_response_free(response);
    ntapi_args_free(args);
}

static void download(ntapi_client *client) {
    heading(4, "A download");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url_int(args, "size", 4000000);
    ntapi_args_url_int(args, "rate", 4000000);
    ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""); /* the body is not JSON */
    ntapi_response *response = transfer(client, "download", args, false, "download");
    if (response != NULL) {
        size_t length = 0;
        ntapi_response_data(response, &length);
        printf("   %zu bytes in %.0f ms\n", length, ntapi_response_elapsed(response) * 1000);
    }
    ntapi_response_free(response);
    ntapi_args_free(args);
}

/* ---- 5, 6, 7: callbacks, cancel, errors ---- */

static void print_city(void *user_data, const ntapi_response *response) {
    (void)user_data;
    if (!succeeded(response, NULL))
        return;
    const ntapi_json *json = ntapi_response_json(response);
    printf("   %4.0f ms  %5.1f °C  %s\n", ntapi_response_elapsed(response) * 1000,
           ntapi_json_double(json, "main.temp", 0), ntapi_json_string(json, "name"));
}

static void ten_at_once(ntapi_client *client) {
    heading(5, "Ten at once, in the order in which they complete");
    const int64_t ids[] = {2643743, 2988507, 2950159, 2657896, 3117735, 3169070, 1850147, 5128581, 2147714, 3413829};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_url_int(args, "id", ids[i]);
        ntapi_request_free(ntapi_client_begin(client, "data/2.5/weather", args, print_city, NULL, NULL));
        ntapi_args_free(args);
    }
    ntapi_client_drain(client, -1);
}

static void expect_error(void *wanted, const ntapi_response *response) {
    succeeded(response, wanted);
}

static void cancel(ntapi_client *client) {
    heading(6, "A request cancelled at once: its handler is still called, once");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url_int(args, "seconds", 30);
    void *wanted = (void *)ntapi_code_register("request cancelled");
    ntapi_request *request = ntapi_client_begin(client, "slow", args, expect_error, wanted, NULL);
    ntapi_request_cancel(request);
    ntapi_request_wait(request, -1);
    ntapi_request_free(request);
    ntapi_args_free(args);
}

static void service_error(ntapi_client *client) {
    heading(7, "An error of the service, mapped to a registered code");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", "Nowhereville");
    ntapi_response *response = ntapi_client_perform(client, "data/2.5/find", args);
    const ntapi_error *error = count(response, ntapi_code_register("404"));
    if (error != NULL) {
        printf("   HTTP status %d, and yet: ", ntapi_error_get_details(error)->http_status);
        print_error(error);
    }
    ntapi_response_free(response);
    ntapi_args_free(args);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--get") == 0)
        return get(argv[2]);
    if (argc != 2) {
        fprintf(stderr, "usage: %s BASE_URL | --get URL\n", argv[0]);
        return 2;
    }
    printf("ntapi %s from C\n", ntapi_version());
    ntapi_client *client = open_service(argv[1]);
    if (client == NULL || !search(client)) {
        fprintf(stderr, "error: this is not the URL of the demo server, Tests/servers/weather.py\n");
        ntapi_client_free(client);
        return 1;
    }
    feedback(client);
    upload_photo(client);
    download(client);
    ten_at_once(client);
    cancel(client);
    service_error(client);
    threads(client);
    ntapi_client_free(client);
    bool is_good = unexpected_errors == 0 && expected_errors == 2;
    printf("\ndone: %d requests, %d errors %s\n", requests, expected_errors + unexpected_errors,
           is_good ? "as expected" : "instead of 2");
    if (!is_good)
        fprintf(stderr, "error: a step has failed\n");
    return is_good ? 0 : 1;
}
