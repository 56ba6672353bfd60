/* Servers and proxies for whose faults libcurl has no limit: a failed HTTP/2 connection is not used for
 * ever, and a refusal that never ends is not read for ever. Versions of libcurl differ here. */
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

/** The first request, which must not be sent twice, gets an error. Those after it use another connection. */
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

/** Other requests continue, and the idle timeout, which never runs out while bytes come, is not needed. */
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
        cmocka_unit_test(a_proxys_endless_refusal_ends),
    };
    return cmocka_run_group_tests_name("unfit", tests, NULL, NULL);
}
