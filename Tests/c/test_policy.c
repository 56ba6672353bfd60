/* Where requests may go, and how connections get there. */
#include "session.h"
#include "support.h"

static ntapi_configuration *with_policy(const char *policy) {
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_PROXY, "");
    set_json(configuration, NTAPI_DEFAULT_CONNECTION_POLICY, policy);
    return configuration;
}

static void check_not_allowed(ntapi_response *response, const char *rule) {
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_NOT_ALLOWED);
    assert_string_equal(ntapi_error_code_name(error), "not allowed");
    assert_non_null(strstr(ntapi_error_message(error), rule));
    assert_false(ntapi_error_get_details(error)->is_retryable);
    ntapi_response_free(response);
}

static void loopback_is_not_public(void **state) {
    (void)state;
    check_not_allowed(response_with(with_policy("\"public\""), "fault", "echo"),
                      "does not allow the address 127.0.0.1: it is not public");
    check_not_allowed(response_with(with_policy("\"public\""), "fault_tls", "echo"), "it is not public");
    check_not_allowed(response_with(with_policy("{\"denied_addresses\": [\"127.0.0.0/8\"]}"), "fault", "echo"),
                      "127.0.0.0/8 is in denied_addresses");
    check_not_allowed(response_with(with_policy("{\"schemes\": [\"https\"]}"), "fault", "echo"),
                      "the scheme http is not in schemes");
    ntapi_configuration *configuration = with_policy("{\"addresses\": [\"public\", \"127.0.0.1\"]}");
    ntapi_client *client = session_of("fault", configuration);
    ntapi_json_free(fetch(client, "echo", NULL));
    ntapi_client_free(client);
    ntapi_configuration_free(configuration);
}

static void a_proxy_cannot_be_judged(void **state) {
    (void)state;
    ntapi_configuration *configuration = with_policy("\"public\"");
    set_string(configuration, NTAPI_DEFAULT_PROXY, server("proxy"));
    check_not_allowed(response_with(configuration, "fault", "echo"), "does not allow a proxy");
}

static void a_host_has_the_given_address(void **state) {
    (void)state;
    const char *port = strrchr(server("fault"), ':') + 1;
    char url[64], entry[64];
    snprintf(url, sizeof url, "http://a.test:%s", port);
    snprintf(entry, sizeof entry, "a.test:%s:127.0.0.1", port);
    ntapi_configuration *configuration = with_policy("{\"hosts\": [\"*.test\"]}");
    set_string(configuration, NTAPI_DEFAULT_RESOLVE, entry);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, url, configuration);
    ntapi_json_free(fetch(client, "echo", NULL));
    ntapi_client_free(client);
    ntapi_configuration_free(configuration);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_is_not_public),
        cmocka_unit_test(a_proxy_cannot_be_judged),
        cmocka_unit_test(a_host_has_the_given_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
