/* allowsCellularAccess. Runs with mobile_loopback preloaded, so that every connection would use a mobile interface. */
#include "session.h"
#include "support.h"

static void check_refused(ntapi_response *response) {
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_NO_INTERNET);
    assert_non_null(strstr(ntapi_error_message(error), "mobile interface lo"));
    assert_non_null(strstr(ntapi_error_message(error), "allowsCellularAccess is false"));
    assert_true(ntapi_error_get_details(error)->is_retryable);
    ntapi_response_free(response);
}

static ntapi_configuration *frugal(void) {
    ntapi_configuration *configuration = ephemeral();
    ntapi_defaults *settings = ntapi_configuration_defaults(configuration);
    check_ok(ntapi_defaults_set_bool(settings, NTAPI_DEFAULT_ALLOWS_CELLULAR_ACCESS, false));
    return configuration;
}

static void a_session_is_refused(void **state) {
    (void)state;
    check_refused(response_with(frugal(), "fault", "echo"));
    check_refused(response_with(frugal(), "fault_tls", "echo"));
    ntapi_configuration *configuration = frugal();
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    witness seen;
    witness_init(&seen);
    ntapi_args *args = background();
    begin(client, "echo", args, &seen);
    ntapi_args_free(args);
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NO_INTERNET);
    witness_free(&seen);
    ntapi_client_free(client);
}

static void others_are_not(void **state) {
    (void)state;
    ntapi_client *client = session_of("fault", ephemeral());
    ntapi_json_free(fetch(client, "echo", NULL));
    ntapi_client_free(client);
}

static void a_proxy_counts_as_well(void **state) {
    (void)state;
    ntapi_configuration *configuration = frugal();
    set_string(configuration, NTAPI_DEFAULT_PROXY, server("proxy"));
    check_refused(response_with(configuration, "fault_tls", "echo"));
}

/** Clients without a configuration share connections, but not those with different settings for cellular access. */
static void connections_of_others_are_not_used(void **state) {
    (void)state;
    ntapi_client *open = client_of("fault"), *client = client_of("fault");
    ntapi_json_free(fetch(open, "echo", NULL));
    check_ok(ntapi_defaults_set_bool(ntapi_client_defaults(client), NTAPI_DEFAULT_ALLOWS_CELLULAR_ACCESS, false));
    check_refused(perform(client, "echo", NULL));
    ntapi_json_free(fetch(open, "echo", NULL));
    ntapi_client_free(client);
    ntapi_client_free(open);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_refused),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(a_proxy_counts_as_well),
        cmocka_unit_test(connections_of_others_are_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
