/* The limit of connections per host, as servers see it: with and without HTTP/2, and the order of waiting requests. */
#include "session.h"
#include "support.h"

#include <unistd.h>

enum { COUNT = 100 };

static ntapi_client *client_with_limit(const char *name, double limit) {
    ntapi_client *client = client_of(name);
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, server("ca")));
    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, limit));
    return client;
}

/* Counts the lines of nginx's log that contain a text, and their different connections. */
static int lines_logged(const char *text, int *connections) {
    FILE *log = fopen(server("nginx_log"), "r");
    assert_non_null(log);
    char line[1024], seen[COUNT][32];
    int lines = 0;
    *connections = 0;
    while (fgets(line, sizeof line, log) != NULL) {
        if (strstr(line, text) == NULL)
            continue;
        lines++;
        line[strcspn(line, " ")] = '\0';
        int known = 0;
        for (int i = 0; i < *connections && !known; i++)
            known = strcmp(seen[i], line) == 0;
        if (!known && *connections < COUNT)
            snprintf(seen[(*connections)++], sizeof seen[0], "%.31s", line);
    }
    fclose(log);
    return lines;
}

/* Counts the connections of a hundred requests. nginx writes a line just after its response, so this waits until all
 * lines are there. */
static int connections_of_all(const char *text) {
    ntapi_client *client = client_of("nginx");
    int connections = 0;
    for (int i = 0; i < 1000 && lines_logged(text, &connections) < COUNT; i++)
        ntapi_json_free(fetch(client, "ping", NULL));
    assert_int_equal(lines_logged(text, &connections), COUNT);
    ntapi_client_free(client);
    return connections;
}

/* Begins this many requests at once, and waits for all. Each must get 200. */
static void begin_all(ntapi_client *client, const char *command, const ntapi_args *args, const char *version) {
    witness seen[COUNT];
    ntapi_request *requests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        witness_init(&seen[i]);
        requests[i] = ntapi_client_begin(client, command, args, witness_response, &seen[i], witness_destroy);
    }
    for (int i = 0; i < COUNT; i++) {
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        witness_wait(&seen[i], 1);
        assert_int_equal(ntapi_response_status(seen[i].response), 200);
        assert_string_equal(ntapi_headers_get(ntapi_response_headers(seen[i].response), "X-Protocol"), version);
        ntapi_request_free(requests[i]);
        witness_free(&seen[i]);
    }
}

/* The server responds only when all hundred requests have come. */
static void a_hundred_share_one_connection(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "c-%ld", (long)getpid());
    ntapi_client *client = client_with_limit("nginx_tls", 1);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", name));
    check_ok(ntapi_args_url_int(args, "for", COUNT));
    begin_all(client, "gate", args, "HTTP/2.0");
    assert_int_equal(connections_of_all(name), 1);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void without_http2_the_limit_holds(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "c1-%ld", (long)getpid());
    ntapi_client *client = client_with_limit("nginx_tls1", 4);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", name));
    begin_all(client, "ping", args, "HTTP/1.1");
    assert_in_range(connections_of_all(name), 1, 4);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

/* The server responds to four requests at a time, so fewer than four connections would hang. */
static void a_sessions_limit_holds(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "c4-%ld", (long)getpid());
    ntapi_configuration *configuration = ephemeral();
    set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 4);
    ntapi_client *client = session_of("nginx_tls1", configuration);
    ntapi_configuration_free(configuration);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", name));
    check_ok(ntapi_args_url_int(args, "for", 4));
    begin_all(client, "gate", args, "HTTP/1.1");
    assert_int_equal(connections_of_all(name), 4);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

/* The order in which the server gets requests that have waited for one connection. */
static void those_of_higher_priority_go_first(void **state) {
    (void)state;
    const double priorities[] = {0.2, 0.9, 0.5, 0.9};
    char token[64];
    snprintf(token, sizeof token, "c-priority-%ld", (long)getpid());
    ntapi_configuration *configuration = ephemeral();
    set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 1);
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    ntapi_request *first = ntapi_client_begin(client, "hold", NULL, NULL, NULL, NULL), *others[4];
    for (int i = 0; i < 4; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_url(args, "token", token));
        check_ok(ntapi_args_url_int(args, "n", i));
        others[i] = ntapi_client_create_request(client, "record", args);
        check_ok(ntapi_request_set_priority(others[i], priorities[i]));
        check_ok(ntapi_request_resume(others[i]));
        ntapi_args_free(args);
    }
    check_ok(ntapi_request_cancel(first));
    for (int i = 0; i < 4; i++) {
        check_ok(ntapi_request_wait(others[i], PATIENCE));
        ntapi_request_free(others[i]);
    }
    check_recorded(token, "1320");
    ntapi_request_free(first);
    ntapi_client_free(client);
}

/* The server responds only when all requests have come. None may wait for a connection that cannot be shared. */
static void without_http2_nobody_waits_for_a_connection(void **state) {
    (void)state;
    enum { FEW = 4 };
    char name[64];
    snprintf(name, sizeof name, "c-tls1-%ld", (long)getpid());
    ntapi_client *client = client_with_limit("nginx_tls1", 64);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", name));
    check_ok(ntapi_args_url_int(args, "for", FEW));
    ntapi_request *requests[FEW];
    for (int i = 0; i < FEW; i++)
        requests[i] = ntapi_client_begin(client, "gate", args, NULL, NULL, NULL);
    for (int i = 0; i < FEW; i++) {
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        ntapi_response *response = ntapi_request_response(requests[i]);
        assert_int_equal(ntapi_response_status(response), 200);
        ntapi_response_free(response);
        ntapi_request_free(requests[i]);
    }
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static ntapi_json *fetch_of(ntapi_client *client, const char *command, const char *token, const char *method) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", token));
    check_ok(ntapi_args_method(args, method));
    return fetch(client, command, args);
}

/* Bytes that a server sends on an idle connection are not a response. The next request uses another connection. */
static void what_came_unasked_is_no_answer(void **state) {
    (void)state;
    static const char *const names[] = {"fault", "fault_tls"}, *const methods[] = {"GET", "POST"};
    for (int i = 0; i < 4; i++) {
        char token[64];
        snprintf(token, sizeof token, "c-unasked-%d-%ld", i, (long)getpid());
        ntapi_configuration *configuration = ephemeral();
        ntapi_client *client = session_of(names[i / 2], configuration);
        ntapi_client *other = session_of("fault_other", configuration);
        ntapi_configuration_free(configuration);
        ntapi_json *first = fetch_of(client, "unasked-later", token, "GET");
        ntapi_json_free(fetch_of(other, "unasked-now", token, "GET"));
        ntapi_json *next = fetch_of(client, "echo", token, methods[i % 2]);
        assert_string_equal(ntapi_json_string(next, "method"), methods[i % 2]);
        assert_int_not_equal(ntapi_json_int(next, "connection", -1), ntapi_json_int(first, "connection", -1));
        ntapi_json_free(first);
        ntapi_json_free(next);
        ntapi_client_free(other);
        ntapi_client_free(client);
    }
}

/** Performs a POST with these args, which are freed. */
static ntapi_response *post(ntapi_client *client, const char *command, ntapi_args *args) {
    check_ok(ntapi_args_method(args, "POST"));
    return perform(client, command, args);
}

/* libcurl before 8.9 remembers on the connection that the first request has waited for a challenge. It would send
 * the next requests without their bodies. */
static void digest_without_a_body_leaves_bodies_alone(void **state) {
    (void)state;
    static char body[200000];
    memset(body, 'x', sizeof body);
    const struct {
        const char *server, *command;
        int status;
    } rows[] = {
        {"fault", "status/302", 302},     {"fault", "status/403", 403},     {"fault_tls", "status/302", 302},
        {"fault_tls", "status/403", 403}, {"fault_tls", "status/404", 404}, {"fault_tls", "status/500", 500},
        {"nginx_tls", "404", 404},        {"nginx_tls", "500", 500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ntapi_client *client = client_with_limit(rows[i].server, 64), *other = client_with_limit(rows[i].server, 64);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_digest_auth(args, "ann", "pw"));
        ntapi_response *response = post(client, rows[i].command, args);
        assert_int_equal(ntapi_response_status(response), rows[i].status);
        ntapi_response_free(response);
        const size_t sizes[] = {2, sizeof body};
        for (int j = 0; j < 4; j++) {
            args = ntapi_args_create();
            check_ok(ntapi_args_data(args, body, sizes[j % 2], "text/plain"));
            response = post(other, "echo", args);
            assert_int_equal(code_of(response), NTAPI_CODE_NONE);
            const ntapi_json *seen = ntapi_response_json(response);
            assert_int_equal(ntapi_json_string_length(seen, "body"), sizes[j % 2]);
            ntapi_response_free(response);
        }
        ntapi_client_free(client);
        ntapi_client_free(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_share_one_connection),
        cmocka_unit_test(without_http2_the_limit_holds),
        cmocka_unit_test(a_sessions_limit_holds),
        cmocka_unit_test(those_of_higher_priority_go_first),
        cmocka_unit_test(without_http2_nobody_waits_for_a_connection),
        cmocka_unit_test(what_came_unasked_is_no_answer),
        cmocka_unit_test(digest_without_a_body_leaves_bodies_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
