/*
 * Runs Tests/conformance/cases.json, the table of requests and results that Swift, C and Python share. Its README.md
 * explains the keys. Prints each expectation that does not hold: what was expected, and what was found.
 */
#include "support.h"

#include <jansson.h>
#include <strings.h>

/** A case while it is checked. */
struct run {
    const char *name;
    const ntapi_response *response;
    const ntapi_error *error;
    int failures;
};

static void miss(struct run *run, const char *what, const char *expected, const char *found) {
    printf("%s: %s: expected %s, found %s\n", run->name, what, expected, found != NULL ? found : "nothing");
    run->failures++;
}

static void miss_json(struct run *run, const char *what, const json_t *expected, const char *found) {
    char *text = json_dumps(expected, JSON_ENCODE_ANY | JSON_COMPACT);
    miss(run, what, text, found);
    free(text);
}

/** Whether a text equals that JSON string. */
static bool same_text(const json_t *expected, const char *found, size_t length) {
    return found != NULL && json_string_length(expected) == length &&
           memcmp(json_string_value(expected), found, length) == 0;
}

static void check_text(struct run *run, const char *what, const json_t *expected, const char *found) {
    if (expected != NULL && !same_text(expected, found, found != NULL ? strlen(found) : 0))
        miss_json(run, what, expected, found);
}

/** Whether a text contains another one. Case is ignored. */
static bool contains(const char *text, const char *part) {
    for (; *text != '\0'; text++)
        if (strncasecmp(text, part, strlen(part)) == 0)
            return true;
    return *part == '\0';
}

static const char *domain_name(ntapi_error_domain domain) {
    static const char *const names[] = {"none", "request", "network", "http", "json", "service", "cancelled"};
    return names[domain];
}

static const char *clock_name(int clock) {
    static const char *const names[] = {"none", "idle", "connect", "queue", "attempt", "total"};
    return names[clock];
}

static const char *failure_name(ntapi_failure failure) {
    static const char *const names[] = {"none",  "name_lookup", "refused",   "unreachable", "proxy",    "tls",
                                        "reset", "no_answer",   "cut_short", "not_http",    "decoding", "other"};
    return names[failure];
}

/** Fails unless the problem has exactly the expected members. Null means that there is no problem. */
static void check_problem(struct run *run, const json_t *expected, const ntapi_json *problem) {
    if (expected == NULL)
        return;
    const char *text = problem != NULL ? ntapi_json_text(problem) : "null";
    json_t *found = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json_equal(found, expected))
        miss_json(run, "problem", expected, text);
    json_decref(found);
}

static void check_error_of(struct run *run, const json_t *expected, const ntapi_error *error) {
    char found[512] = "no error";
    if (error != NULL)
        snprintf(found, sizeof found, "%s, %s, \"%s\"", domain_name(ntapi_error_get_details(error)->domain),
                 ntapi_error_code_name(error), ntapi_error_message(error));
    if (json_is_null(expected) || error == NULL) {
        if (json_is_null(expected) != (error == NULL))
            miss_json(run, "error", expected, found);
        return;
    }
    const char *domain = json_string_value(json_object_get(expected, "domain"));
    const char *code = json_string_value(json_object_get(expected, "code"));
    const json_t *retryable = json_object_get(expected, "retryable");
    if (domain != NULL && strcmp(domain, domain_name(ntapi_error_get_details(error)->domain)) != 0)
        miss(run, "error domain", domain, found);
    if (code != NULL && ntapi_error_code_name(error) != ntapi_code_register(code))
        miss(run, "error code", code, found);
    if (retryable != NULL && json_is_true(retryable) != ntapi_error_get_details(error)->is_retryable)
        miss_json(run, "retryable", retryable, found);
    const char *clock = json_string_value(json_object_get(expected, "clock"));
    if (clock != NULL && strcmp(clock, clock_name(ntapi_error_get_details(error)->clock)) != 0)
        miss(run, "error clock", clock, found);
    const char *failure = json_string_value(json_object_get(expected, "failure"));
    if (failure != NULL && strcmp(failure, failure_name(ntapi_error_get_details(error)->failure)) != 0)
        miss(run, "error failure", failure, failure_name(ntapi_error_get_details(error)->failure));
    check_problem(run, json_object_get(expected, "problem"), ntapi_error_get_details(error)->problem);
    size_t index;
    json_t *part;
    json_array_foreach(json_object_get(expected, "message_contains"), index, part) {
        if (!contains(ntapi_error_message(error), json_string_value(part)))
            miss(run, "message contains", json_string_value(part), found);
    }
    json_array_foreach(json_object_get(expected, "message_lacks"), index, part) {
        if (contains(ntapi_error_message(error), json_string_value(part)))
            miss(run, "message lacks", json_string_value(part), found);
    }
}

/** The errors that the hook map_error got in one case. */
static struct {
    ntapi_error *errors[8];
    size_t count;
} mapped;

static void check_mapped(struct run *run, const json_t *expected) {
    char found[16];
    snprintf(found, sizeof found, "%zu errors", mapped.count);
    if (mapped.count != json_array_size(expected))
        miss_json(run, "mapped", expected, found);
    for (size_t i = 0; i < mapped.count && i < json_array_size(expected); i++)
        check_error_of(run, json_array_get(expected, i), mapped.errors[i]);
}

/** The log lines of the running request, with all log flags. */
static struct {
    pthread_mutex_t lock;
    char text[1 << 17];
    size_t length;
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_line(void *user_data, ntapi_log level, const char *message) {
    (void)user_data, (void)level;
    pthread_mutex_lock(&lines.lock);
    int length = snprintf(lines.text + lines.length, sizeof lines.text - lines.length, "%s\n", message);
    if (length > 0 && lines.length + (size_t)length < sizeof lines.text)
        lines.length += (size_t)length;
    pthread_mutex_unlock(&lines.lock);
}

static void check_log(struct run *run, const char *what, const json_t *texts, bool has) {
    size_t index;
    json_t *text;
    pthread_mutex_lock(&lines.lock);
    json_array_foreach(texts, index, text) {
        if ((strstr(lines.text, json_string_value(text)) != NULL) != has)
            miss(run, what, json_string_value(text), lines.text);
    }
    pthread_mutex_unlock(&lines.lock);
}

/** Whether one check of an entry of "json" holds. */
static bool holds(const ntapi_json *json, const char *path, const char *check, const json_t *expected) {
    ntapi_json_type type = ntapi_json_get_type(json, path);
    if (strcmp(check, "string") == 0)
        return type == NTAPI_JSON_TYPE_STRING &&
               same_text(expected, ntapi_json_string(json, path), ntapi_json_string_length(json, path));
    if (strcmp(check, "int") == 0)
        return type == NTAPI_JSON_TYPE_INT && ntapi_json_int(json, path, 0) == json_integer_value(expected);
    if (strcmp(check, "double") == 0)
        return type == NTAPI_JSON_TYPE_DOUBLE && ntapi_json_double(json, path, 0) == json_number_value(expected);
    if (strcmp(check, "bool") == 0)
        return type == NTAPI_JSON_TYPE_BOOL && ntapi_json_bool(json, path, false) == json_is_true(expected);
    if (strcmp(check, "null") == 0)
        return type == NTAPI_JSON_TYPE_NULL;
    if (strcmp(check, "absent") == 0)
        return type == NTAPI_JSON_TYPE_ABSENT;
    if (strcmp(check, "count") == 0)
        return ntapi_json_count(json, path) == (size_t)json_integer_value(expected) &&
               (type == NTAPI_JSON_TYPE_ARRAY || type == NTAPI_JSON_TYPE_OBJECT);
    return false;
}

static void check_json(struct run *run, const json_t *entry) {
    const ntapi_json *json = ntapi_response_json(run->response);
    const char *path = json_string_value(json_object_get(entry, "path")), *check;
    json_t *expected;
    json_object_foreach((json_t *)entry, check, expected) {
        if (strcmp(check, "path") == 0 || holds(json, path, check, expected))
            continue;
        char what[256];
        snprintf(what, sizeof what, "%s at %s", check, path);
        ntapi_json *part = ntapi_json_get(json, path);
        miss_json(run, what, expected, ntapi_json_text(part != NULL ? part : json));
        ntapi_json_free(part);
    }
}

/** Fails unless each expected pair is among the headers, and the pairs of one name are in this order. */
static void check_headers(struct run *run, const json_t *pairs) {
    const ntapi_headers *headers = ntapi_response_headers(run->response);
    size_t count = 0, index;
    while (ntapi_headers_at(headers, count, NULL) != NULL)
        count++;
    bool *used = calloc(count + 1, sizeof *used);
    json_t *pair;
    json_array_foreach(pairs, index, pair) {
        const char *name = json_string_value(json_array_get(pair, 0)),
                   *value = json_string_value(json_array_get(pair, 1));
        size_t at = 0;
        for (; at < count; at++) {
            const char *found_name, *found = ntapi_headers_at(headers, at, &found_name);
            if (!used[at] && strcasecmp(found_name, name) == 0) {
                used[at] = true;
                if (strcmp(found, value) == 0)
                    break;
            }
        }
        if (at == count)
            miss_json(run, "header", pair, ntapi_headers_get(headers, name));
    }
    free(used);
}

/** Fails unless the trailers are exactly the expected pairs. */
static void check_trailers(struct run *run, const json_t *pairs) {
    const ntapi_headers *trailers = ntapi_response_trailers(run->response);
    const char *name, *value;
    size_t index;
    json_t *pair;
    json_array_foreach(pairs, index, pair) {
        value = ntapi_headers_at(trailers, index, &name);
        if (value == NULL || strcmp(name, json_string_value(json_array_get(pair, 0))) != 0 ||
            strcmp(value, json_string_value(json_array_get(pair, 1))) != 0)
            miss_json(run, "trailer", pair, value);
    }
    if ((value = ntapi_headers_at(trailers, index, &name)) != NULL)
        miss_json(run, "trailer", pairs, name);
}

/** Base64 of the body, which is easy to compare. The caller frees it. */
static char *base64(const unsigned char *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = calloc(1, (length + 2) / 3 * 4 + 1), *out = text;
    for (size_t i = 0; i < length; i += 3) {
        unsigned left = length - i < 3 ? (unsigned)(length - i) : 3;
        unsigned long group = (unsigned long)bytes[i] << 16;
        group |= left > 1 ? (unsigned long)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? bytes[i + 2] : 0;
        for (unsigned digit = 0; digit < 4; digit++)
            *out++ = digit <= left ? digits[group >> (18 - 6 * digit) & 63] : '=';
    }
    return text;
}

static void check_data(struct run *run, const json_t *text, const json_t *encoded) {
    size_t length = 0;
    const char *data = ntapi_response_data(run->response, &length);
    if (text != NULL && !same_text(text, data, length))
        miss_json(run, "data", text, data);
    if (encoded != NULL) {
        char *found = base64((const unsigned char *)data, length);
        check_text(run, "data in base64", encoded, found);
        free(found);
    }
}

static void check_all(struct run *run, const json_t *expect) {
    const ntapi_response *response = run->response;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)expect, key, value) {
        char number[16];
        snprintf(number, sizeof number, "%d", ntapi_response_status(response));
        size_t index;
        json_t *entry;
        if (strcmp(key, "status") == 0) {
            if (ntapi_response_status(response) != json_integer_value(value))
                miss_json(run, key, value, number);
        } else if (strcmp(key, "error") == 0) {
            check_error_of(run, value, run->error);
        } else if (strcmp(key, "mapped") == 0) {
            check_mapped(run, value);
        } else if (strcmp(key, "json") == 0) {
            json_array_foreach(value, index, entry) check_json(run, entry);
        } else if (strcmp(key, "json_is_absent") == 0) {
            if (json_is_true(value) != (ntapi_response_json(response) == NULL))
                miss_json(run, key, value, ntapi_json_text(ntapi_response_json(response)));
        } else if (strcmp(key, "prefix_text") == 0) {
            const char *prefix = ntapi_response_prefix_text(response);
            check_text(run, key, value, prefix != NULL ? prefix : ""); /* C has NULL for none */
        } else if (strcmp(key, "data_text") == 0) {
            check_data(run, value, NULL);
        } else if (strcmp(key, "data_base64") == 0) {
            check_data(run, NULL, value);
        } else if (strcmp(key, "header") == 0) {
            check_headers(run, value);
        } else if (strcmp(key, "trailer") == 0) {
            check_trailers(run, value);
        } else if (strcmp(key, "reason") == 0) {
            check_text(run, key, value, ntapi_headers_reason_phrase(ntapi_response_headers(response)));
        } else if (strcmp(key, "url") == 0) {
            check_text(run, key, value, ntapi_response_url(response));
        } else if (strcmp(key, "url_contains") == 0) {
            const char *url = ntapi_response_url(response);
            if (url == NULL || strstr(url, json_string_value(value)) == NULL)
                miss_json(run, key, value, url);
        } else if (strcmp(key, "log_contains") == 0) {
            check_log(run, key, value, true);
        } else if (strcmp(key, "log_lacks") == 0) {
            check_log(run, key, value, false);
        } else {
            miss(run, "expectation", "one this runner knows", key);
        }
    }
}

/** Keeps the errors that it gets. If the case has a code, replaces each error by one with this code. */
static ntapi_error *map_error(void *user_data, const ntapi_error *error, const ntapi_response *response) {
    const json_t *code = user_data;
    assert_non_null(ntapi_response_error(response));
    assert_true(mapped.count < sizeof mapped.errors / sizeof *mapped.errors);
    const ntapi_error_details *details = ntapi_error_get_details(error);
    mapped.errors[mapped.count++] = ntapi_error_create(details->domain, ntapi_error_code_name(error),
                                                       ntapi_error_message(error), details->is_retryable);
    return json_is_null(code)
               ? NULL
               : ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, json_string_value(code), "replaced", false);
}

/** Sets the hook map_error, if the case has one. */
static void set_map_error(ntapi_client *client, json_t *code) {
    while (mapped.count > 0)
        ntapi_error_free(mapped.errors[--mapped.count]);
    if (code == NULL)
        return;
    ntapi_hooks hooks = {.size = sizeof hooks, .map_error = map_error};
    check_ok(ntapi_client_set_hooks(client, &hooks, code, NULL));
}

/** Sets a header that describes each attempt. */
static void set_attempt_header(void *user_data, ntapi_interception *interception) {
    const char *origin = ntapi_interception_passage(interception)->is_own_origin ? "own" : "other";
    char value[64];
    snprintf(value, sizeof value, "%d %s %s", ntapi_interception_passage(interception)->number,
             ntapi_interception_passage(interception)->reason, origin);
    check_ok(ntapi_http_request_set_header(ntapi_interception_http_request(interception), json_string_value(user_data),
                                           value));
    check_ok(ntapi_interception_proceed(interception));
    ntapi_interception_free(interception);
}

/** The case with each {{key}} replaced by its entry in the servers' table. */
static json_t *filled(const json_t *template) {
    char *text = json_dumps(template, 0);
    for (char *start; (start = strstr(text, "{{")) != NULL;) {
        char *end = strstr(start, "}}");
        assert_non_null(end);
        *start = *end = '\0';
        const char *value = server(start + 2);
        size_t size = strlen(text) + strlen(value) + strlen(end + 2) + 1;
        char *next = malloc(size);
        snprintf(next, size, "%s%s%s", text, value, end + 2);
        free(text);
        text = next;
    }
    json_t *result = json_loads(text, JSON_ALLOW_NUL, NULL);
    assert_non_null(result);
    free(text);
    return result;
}

/** Whether C can run a case: in C, a command ends at its first NUL. */
static bool can_be_told(const json_t *item) {
    const json_t *command = json_object_get(item, "command");
    size_t index;
    json_t *language;
    json_array_foreach(json_object_get(item, "not_in"), index, language) {
        if (strcmp(json_string_value(language), "c") == 0)
            return false;
    }
    return strlen(json_string_value(command)) == json_string_length(command);
}

static int run_case(const json_t *template) {
    if (!can_be_told(template))
        return 0;
    json_t *item = filled(template);
    const char *base = json_string_value(json_object_get(item, "base"));
    struct run run = {.name = json_string_value(json_object_get(item, "name"))};
    ntapi_client *client =
        ntapi_client_create(NULL, base != NULL ? base : server(json_string_value(json_object_get(item, "server"))));
    check_ok(ntapi_defaults_set_string(ntapi_client_defaults(client), NTAPI_DEFAULT_CA_FILE, server("ca")));
    check_ok(ntapi_defaults_set_string(ntapi_client_defaults(client), NTAPI_DEFAULT_PROXY, ""));
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_ALL));
    lines.text[lines.length = 0] = '\0';
    ntapi_args *args = ntapi_args_create();
    char *text = json_dumps(json_object_get(item, "args"), JSON_COMPACT);
    ntapi_error *refused = NULL;
    ntapi_response *response = NULL;
    set_map_error(client, json_object_get(item, "map_error"));
    const char *status;
    json_t *code;
    json_object_foreach(json_object_get(item, "errors"), status, code) {
        check_ok(ntapi_client_set_error_code(client, atoi(status), json_string_value(code)));
    }
    json_t *header = json_object_get(item, "attempt_header");
    if (header != NULL) {
        ntapi_interceptor *interceptor =
            ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, set_attempt_header, NULL, header, NULL);
        check_ok(ntapi_client_add_interceptor(client, interceptor));
        ntapi_interceptor_free(interceptor);
    }
    if (ntapi_args_append_json(args, text, strlen(text), &refused) == NTAPI_STATUS_OK)
        response = ntapi_client_perform(client, json_string_value(json_object_get(item, "command")), args);
    run.response = response;
    run.error = refused != NULL ? refused : ntapi_response_error(response);
    check_all(&run, json_object_get(item, "expect"));
    ntapi_error_free(refused);
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
    free(text);
    json_decref(item);
    return run.failures > 0;
}

static const char *path;

static void every_case_holds(void **state) {
    (void)state;
    json_error_t error;
    json_t *cases = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (cases == NULL)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    ntapi_log_set_sink(keep_line, NULL, NULL);
    int failed = 0;
    size_t index;
    json_t *item;
    json_array_foreach(cases, index, item) {
        failed += run_case(item);
    }
    print_message("conformance: %zu cases, %d failed\n", json_array_size(cases), failed);
    json_decref(cases);
    assert_true(index > 0);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_holds)};
    path = argc > 1 ? argv[1] : "Tests/conformance/cases.json";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
