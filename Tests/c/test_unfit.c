/* Servers and proxies with faults for which libcurl has no limit. A failed HTTP/2 connection must not be used
 * forever, and an endless refusal must not be read forever. Versions of libcurl differ here. */
#include "session.h"
#include "support.h"

#include <unistd.h>

/** A client of the odd HTTP/2 server. The host name selects the fault, and no other test uses it. */
static ntapi_client *odd_client(const char *kind) {
    char url[128];
    snprintf(url, sizeof url, "https://%s-%d.localhost%s", kind, (int)getpid(), strrchr(server("h2_silent"), ':'));
    ntapi_client *client = ntapi_client_create(NULL, url);
    assert_non_null(client);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    return client;
}

static ntapi_args *odd_args(void) {
    ntapi_args *args = background();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE, ""));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    return args;
}

/** The first request must not be sent twice, so it gets an error. Later requests use another connection. */
static void a_failed_connection_is_not_used_again(const char *kind) {
    ntapi_client *client = odd_client(kind);
    ntapi_args *post = odd_args();
    check_ok(ntapi_args_data(post, "x", 1, "text/plain"));
    ntapi_response *response = perform(client, "x", post);
    const ntapi_error *error = ntapi_response_error(response);
    print_message("%s: %s\n", kind, ntapi_error_message(error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_NETWORK);
    ntapi_response_free(response);
    for (int i = 0; i < 4; i++) {
        response = perform(client, "x", odd_args());
        assert_null(ntapi_response_error(response));
        assert_int_equal(ntapi_response_status(response), 200);
        ntapi_response_free(response);
    }
    ntapi_client_free(client);
}

static void after_endless_header_fields_a_connection_is_new(void **state) {
    (void)state;
    a_failed_connection_is_not_used_again("continuation");
}

static void settings_that_are_not_allowed_are_an_error_at_once(void **state) {
    (void)state;
    a_failed_connection_is_not_used_again("settings");
}

static void check_body(const ntapi_response *response, const char *expected) {
    size_t length = 0;
    const char *body = ntapi_response_data(response, &length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(body, expected, length);
}

/** A server may respond before it has the whole request, and refuse the rest (RFC 9113, 8.1). With an old libcurl,
 * larger bodies go over HTTP/1.1. */
static void an_early_answer_over_http_2_is_an_answer(void **state) {
    (void)state;
    static const char *const statuses[] = {"200", "401", "403", "413"};
    static const size_t lengths[] = {1, 65535};
    char *body = calloc(1, 65535);
    for (int i = 0; i < 8; i++) {
        char kind[32];
        snprintf(kind, sizeof kind, "early-%s", statuses[i % 4]);
        ntapi_client *client = odd_client(kind);
        ntapi_args *args = odd_args();
        check_ok(ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, ""));
        check_ok(ntapi_args_data(args, body, lengths[i / 4], "text/plain"));
        ntapi_response *response = perform(client, "x", args);
        const ntapi_error *error = ntapi_response_error(response);
        if (error != NULL)
            fail_msg("%s, %zu bytes: %s", kind, lengths[i / 4], ntapi_error_message(error));
        assert_int_equal(ntapi_response_status(response), atoi(statuses[i % 4]));
        check_body(response, "early");
        ntapi_response_free(response);
        ntapi_client_free(client);
    }
    free(body);
}

static void trailers_over_http_2_can_be_read(void **state) {
    (void)state;
    ntapi_client *client = odd_client("trailers");
    ntapi_response *response = perform(client, "x", odd_args());
    assert_null(ntapi_response_error(response));
    check_body(response, "body");
    assert_string_equal(ntapi_headers_get(ntapi_response_trailers(response), "X-Trailer"), "end");
    ntapi_response_free(response);
    ntapi_client_free(client);
}

/** Other requests continue. The refusal ends without the idle timeout, which never runs out while bytes come. */
static void a_proxys_endless_refusal_ends(void **state) {
    (void)state;
    static const char *const kinds[] = {"head", "body", "chunks"};
    for (int i = 0; i < 3; i++) {
        char url[64];
        snprintf(url, sizeof url, "https://%s.test/", kinds[i]);
        ntapi_configuration *configuration = ephemeral();
        set_string(configuration, NTAPI_DEFAULT_PROXY, server("proxy_flooding"));
        ntapi_client *client = session_of("fault", configuration);
        ntapi_configuration_free(configuration);
        ntapi_args *args = background();
        check_ok(ntapi_args_base_url(args, url));
        ntapi_response *response = perform(client, "", args);
        const ntapi_error *error = ntapi_response_error(response);
        print_message("%s: %s\n", kinds[i], ntapi_error_message(error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_NETWORK);
        assert_int_equal(ntapi_error_get_details(error)->failure, NTAPI_FAILURE_PROXY);
        ntapi_response_free(response);
        ntapi_client_free(client);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_endless_header_fields_a_connection_is_new),
        cmocka_unit_test(settings_that_are_not_allowed_are_an_error_at_once),
        cmocka_unit_test(an_early_answer_over_http_2_is_an_answer),
        cmocka_unit_test(trailers_over_http_2_can_be_read),
        cmocka_unit_test(a_proxys_endless_refusal_ends),
    };
    return cmocka_run_group_tests_name("unfit", tests, NULL, NULL);
}
