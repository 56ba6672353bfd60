/* The limit of connections per host, as nginx sees it: with HTTP/2 and without. */
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

/* The lines of nginx's log that contain a text, and how many connections they are of. */
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

/* Begins so many at once and waits for all; each must be answered with 200. */
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
        assert_string_equal(ntapi_response_header(seen[i].response, "X-Protocol"), version);
        ntapi_request_free(requests[i]);
        witness_free(&seen[i]);
    }
}

/* The server answers none before all hundred are there. */
static void a_hundred_share_one_connection(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "c-%ld", (long)getpid());
    ntapi_client *client = client_with_limit("nginx_tls", 1);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", name));
    check_ok(ntapi_args_url_int(args, "for", COUNT));
    begin_all(client, "gate", args, "HTTP/2.0");
    int connections;
    assert_int_equal(lines_logged(name, &connections), COUNT);
    assert_int_equal(connections, 1);
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
    int connections;
    assert_int_equal(lines_logged(name, &connections), COUNT);
    assert_in_range(connections, 1, 4);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_share_one_connection),
        cmocka_unit_test(without_http2_the_limit_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
