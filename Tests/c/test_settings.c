/* The settings of a session: each takes effect, as a server sees. */
#include "files.h"
#include "session.h"
#include "support.h"

#include <unistd.h>

static void what_is_sent(void **state) {
    (void)state;
    ntapi_configuration *configuration = ephemeral();
    set_json(configuration, NTAPI_DEFAULT_ADDITIONAL_HEADERS, "{\"X-One\": \"1\", \"X-Two\": [\"a\", \"b\"]}");
    set_string(configuration, NTAPI_DEFAULT_USER_AGENT, "session/1");
    set_string(configuration, NTAPI_DEFAULT_NETWORK_INTERFACE, "host!127.0.0.2");
    check_ok(ntapi_defaults_set_bool(ntapi_configuration_defaults(configuration), NTAPI_DEFAULT_DECOMPRESSION, false));
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    ntapi_json *seen = fetch(client, "echo", NULL);
    check_string(seen, "header[\"x-one\"]", "1");
    check_string(seen, "header[\"x-two\"]", "a, b");
    check_string(seen, "header[\"user-agent\"]", "session/1");
    check_string(seen, "peer", "127.0.0.2");
    assert_null(ntapi_json_string(seen, "header[\"accept-encoding\"]"));
    ntapi_json_free(seen);
    ntapi_client_free(client);
}

static void limits(void **state) {
    (void)state;
    const struct {
        const char *key, *command, *server;
        ntapi_code code;
        double value;
    } cases[] = {
        {NTAPI_DEFAULT_REQUEST_TIMEOUT, "hold", "fault", NTAPI_CODE_TIMEOUT, 0.1},
        {NTAPI_DEFAULT_RESOURCE_TIMEOUT, "hold", "fault", NTAPI_CODE_TIMEOUT, 0.1},
        {NTAPI_DEFAULT_ATTEMPT_TIMEOUT, "hold", "fault", NTAPI_CODE_TIMEOUT, 0.1},
        {NTAPI_DEFAULT_CONNECT_TIMEOUT, "", "blackhole", NTAPI_CODE_TIMEOUT, 0.1},
        {NTAPI_DEFAULT_MAXIMUM_REDIRECTS, "chain/2", "fault", NTAPI_CODE_TOO_MANY_REDIRECTS, 1},
        {NTAPI_DEFAULT_MAXIMUM_RESPONSE_SIZE, "ok?size=1000", "fault", NTAPI_CODE_RESPONSE_TOO_LARGE, 100},
        {NTAPI_DEFAULT_MAXIMUM_CONNECTIONS, "ok", "fault", NTAPI_CODE_INVALID_REQUEST, 0},
        {NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, "ok", "fault", NTAPI_CODE_INVALID_REQUEST, 0},
        {NTAPI_DEFAULT_MAXIMUM_CONNECTIONS, "ok", "fault", NTAPI_CODE_NONE, 1},
        {NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, "ok", "fault", NTAPI_CODE_NONE, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_configuration *configuration = ephemeral();
        set_number(configuration, cases[i].key, cases[i].value);
        assert_int_equal(code_with(configuration, cases[i].server, cases[i].command), cases[i].code);
    }
}

/** The message of the error of a command. The caller frees it. */
static char *message_with(ntapi_configuration *configuration, const char *name, const char *command) {
    ntapi_response *response = response_with(configuration, name, command);
    const char *message = ntapi_error_message(ntapi_response_error(response));
    char *copy = strdup(message != NULL ? message : "no error");
    ntapi_response_free(response);
    return copy;
}

static void the_clock_that_ran_out_is_named(void **state) {
    (void)state;
    const char *const clocks[][3] = {
        {NTAPI_DEFAULT_REQUEST_TIMEOUT, "(idle timeout", "fault"},
        {NTAPI_DEFAULT_RESOURCE_TIMEOUT, "(total timeout", "fault"},
        {NTAPI_DEFAULT_ATTEMPT_TIMEOUT, "(attempt timeout", "fault"},
        {NTAPI_DEFAULT_CONNECT_TIMEOUT, "(connect timeout", "blackhole"},
    };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        ntapi_configuration *configuration = ephemeral();
        set_number(configuration, clocks[i][0], 0.1);
        char *message = message_with(configuration, clocks[i][2], "hold");
        if (strstr(message, clocks[i][1]) == NULL)
            fail_msg("no \"%s\" in: %s", clocks[i][1], message);
        free(message);
    }
}

static int status_with(const char *user, const char *password) {
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_USER, user);
    set_string(configuration, NTAPI_DEFAULT_PASSWORD, password);
    ntapi_response *response = response_with(configuration, "nginx", "auth/small.json");
    int status = ntapi_response_status(response);
    ntapi_response_free(response);
    return status;
}

static void credentials(void **state) {
    (void)state;
    assert_int_equal(status_with("user", "pässword"), 200);
    assert_int_equal(status_with("user", "password"), 401);
    assert_int_equal(status_with(NULL, NULL), 401);
}

static void http_version(void **state) {
    (void)state;
    const char *const cases[][2] = {{"1.0", "HTTP/1.0"}, {"1.1", "HTTP/1.1"}, {"2", "HTTP/2.0"}, {NULL, "HTTP/2.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, NTAPI_DEFAULT_HTTP_VERSION, cases[i][0]);
        ntapi_response *response = response_with(configuration, "nginx_tls", "ping");
        assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Protocol"), cases[i][1]);
        ntapi_response_free(response);
    }
}

/** Sessions that share a cache, each with its own policy. */
static void cache_policy(void **state) {
    (void)state;
    char known[96];
    snprintf(known, sizeof known, "cached?h-Cache-Control=max-age=100&token=c-policy-%ld", (long)getpid());
    const struct {
        const char *policy, *command;
        ntapi_code code;
        int64_t count; /* how many requests the server has got so far */
    } cases[] = {
        {"protocol", known, NTAPI_CODE_NONE, 1},
        {"protocol", known, NTAPI_CODE_NONE, 1},
        {"reload_ignoring_cache", known, NTAPI_CODE_NONE, 2},
        {"return_cached_else_load", known, NTAPI_CODE_NONE, 2},
        {"return_cached_dont_load", known, NTAPI_CODE_NONE, 2},
        {"return_cached_dont_load", "cached", NTAPI_CODE_NOT_CACHED, 0},
    };
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_configuration *configuration = ephemeral();
        check_ok(ntapi_configuration_set_cache(configuration, cache));
        set_string(configuration, NTAPI_DEFAULT_CACHE_POLICY, cases[i].policy);
        ntapi_response *response = response_with(configuration, "fault", cases[i].command);
        assert_int_equal(code_of(response), cases[i].code);
        assert_int_equal(ntapi_json_int(ntapi_response_json(response), "count", 0), cases[i].count);
        ntapi_response_free(response);
    }
    ntapi_cache_free(cache);
}

static void one_connection_is_shared_by_all(void **state) {
    (void)state;
    ntapi_configuration *configuration = ephemeral();
    set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS, 1);
    set_number(configuration, NTAPI_DEFAULT_QUEUE_TIMEOUT, 0.1);
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_base_url(args, server("nginx")));
    ntapi_request *first = ntapi_client_begin(client, "hold", NULL, NULL, NULL, NULL);
    ntapi_response *response = ntapi_client_perform(client, "", args);
    assert_int_equal(code_of(response), NTAPI_CODE_TIMEOUT);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), "(queue timeout"));
    ntapi_response_free(response);
    check_ok(ntapi_request_cancel(first));
    ntapi_request_free(first);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void proxies(void **state) {
    (void)state;
    char user[64];
    snprintf(user, sizeof user, "%s", server("proxy_credentials"));
    char *password = strchr(user, ':');
    *password++ = '\0';
    for (int right = 0; right < 2; right++) {
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, NTAPI_DEFAULT_PROXY, server("proxy_auth"));
        set_string(configuration, NTAPI_DEFAULT_PROXY_USER, user);
        set_string(configuration, NTAPI_DEFAULT_PROXY_PASSWORD, right ? password : "wrong");
        assert_int_equal(code_with(configuration, "fault", "ok"), right ? NTAPI_CODE_NONE : NTAPI_CODE_HTTP_ERROR);
    }
    for (int excepted = 0; excepted < 2; excepted++) {
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, NTAPI_DEFAULT_PROXY, nobody());
        if (excepted)
            set_json(configuration, NTAPI_DEFAULT_PROXY_EXCEPTIONS, "[\"example.test\", \"127.0.0.1\"]");
        assert_int_equal(code_with(configuration, "fault", "ok"), excepted ? NTAPI_CODE_NONE : NTAPI_CODE_NETWORK);
    }
}

static void certificates(void **state) {
    (void)state;
    for (int with = 0; with < 3; with++) {
        ntapi_configuration *configuration = ephemeral();
        if (with)
            set_string(configuration, NTAPI_DEFAULT_CLIENT_CERTIFICATE, server("client_cert"));
        if (with)
            set_string(configuration, NTAPI_DEFAULT_CLIENT_KEY, server(with == 1 ? "client_key" : "ca"));
        set_string(configuration, NTAPI_DEFAULT_CLIENT_KEY_PASSWORD, with ? "" : NULL);
        ntapi_code code = code_with(configuration, "tls_client", "ok");
        if (with == 1)
            assert_int_equal(code, NTAPI_CODE_NONE);
        else
            assert_int_not_equal(code, NTAPI_CODE_NONE);
    }
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_PINNED_PUBLIC_KEYS, server("pin"));
    set_string(configuration, NTAPI_DEFAULT_TLS_MINIMUM_VERSION, "1.3");
    assert_int_equal(code_with(configuration, "fault_tls", "ok"), NTAPI_CODE_NONE);
    configuration = ephemeral();
    set_json(configuration, NTAPI_DEFAULT_PINNED_PUBLIC_KEYS,
             "[\"sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]");
    assert_int_equal(code_with(configuration, "fault_tls", "ok"), NTAPI_CODE_TLS);
    configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_TLS_MINIMUM_VERSION, "1.3");
    assert_int_equal(code_with(configuration, "tls_client", "ok"), NTAPI_CODE_TLS);
}

static void a_client_key_with_a_password(void **state) {
    (void)state;
    char folder[64], key[96], command[512];
    make_folder(folder);
    snprintf(key, sizeof key, "%s/locked.key", folder);
    snprintf(command, sizeof command, "openssl pkcs8 -topk8 -in '%s' -out '%s' -passout pass:0pen",
             server("client_key"), key);
    assert_int_equal(system(command), 0);
    const char *const passwords[] = {"0pen", "shut", NULL};
    for (int i = 0; i < 3; i++) {
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, NTAPI_DEFAULT_CLIENT_CERTIFICATE, server("client_cert"));
        set_string(configuration, NTAPI_DEFAULT_CLIENT_KEY, key);
        set_string(configuration, NTAPI_DEFAULT_CLIENT_KEY_PASSWORD, passwords[i]);
        char *message = message_with(configuration, "tls_client", "ok");
        if (strstr(message, i == 0 ? "no error" : "clientKeyPassword") == NULL)
            fail_msg("%d: %s", i, message);
        free(message);
    }
    remove_folder(folder, "locked.key");
}

static void settings_that_cannot_be_used(void **state) {
    (void)state;
    const char *const wrong[][2] = {
        {NTAPI_DEFAULT_CACHE_POLICY, "never"},
        {NTAPI_DEFAULT_HTTP_VERSION, "7"},
        {NTAPI_DEFAULT_PASSWORD, "without a user"},
        {NTAPI_DEFAULT_CLIENT_KEY, "/dev/null"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, wrong[i][0], wrong[i][1]);
        assert_int_equal(code_with(configuration, "fault", "ok"), NTAPI_CODE_INVALID_REQUEST);
    }
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_USER, "ann");
    set_string(configuration, NTAPI_DEFAULT_PASSWORD, "pw");
    set_string(configuration, NTAPI_DEFAULT_CACHE_POLICY, "reload_revalidating");
    set_string(configuration, NTAPI_DEFAULT_HTTP_VERSION, "1.1");
    assert_int_equal(code_with(configuration, "fault", "ok"), NTAPI_CODE_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent),
        cmocka_unit_test(limits),
        cmocka_unit_test(the_clock_that_ran_out_is_named),
        cmocka_unit_test(credentials),
        cmocka_unit_test(http_version),
        cmocka_unit_test(cache_policy),
        cmocka_unit_test(one_connection_is_shared_by_all),
        cmocka_unit_test(proxies),
        cmocka_unit_test(certificates),
        cmocka_unit_test(a_client_key_with_a_password),
        cmocka_unit_test(settings_that_cannot_be_used),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
