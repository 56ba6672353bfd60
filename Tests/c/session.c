#include "session.h"

#include "support.h"

ntapi_client *session_of(const char *name, ntapi_configuration *configuration) {
    ntapi_defaults *settings = ntapi_configuration_defaults(configuration);
    check_ok(ntapi_defaults_set_string(settings, NTAPI_DEFAULT_CA_FILE, server("ca")));
    ntapi_json *proxy = ntapi_defaults_get(settings, NTAPI_DEFAULT_PROXY);
    if (proxy == NULL)
        check_ok(ntapi_defaults_set_string(settings, NTAPI_DEFAULT_PROXY, ""));
    ntapi_json_free(proxy);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server(name), configuration);
    assert_non_null(client);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    return client;
}

ntapi_configuration *ephemeral(void) {
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    assert_non_null(configuration);
    return configuration;
}

void set_string(ntapi_configuration *configuration, const char *key, const char *value) {
    check_ok(ntapi_defaults_set_string(ntapi_configuration_defaults(configuration), key, value));
}

void set_number(ntapi_configuration *configuration, const char *key, double value) {
    check_ok(ntapi_defaults_set_number(ntapi_configuration_defaults(configuration), key, value));
}

void set_json(ntapi_configuration *configuration, const char *key, const char *text) {
    ntapi_json *value = ntapi_json_parse(text, strlen(text), NULL);
    assert_non_null(value);
    check_ok(ntapi_defaults_set(ntapi_configuration_defaults(configuration), key, value));
    ntapi_json_free(value);
}

ntapi_response *response_with(ntapi_configuration *configuration, const char *name, const char *command) {
    ntapi_client *client = session_of(name, configuration);
    ntapi_configuration_free(configuration);
    ntapi_response *response = perform(client, command, NULL);
    ntapi_client_free(client);
    return response;
}

ntapi_code code_with(ntapi_configuration *configuration, const char *name, const char *command) {
    ntapi_response *response = response_with(configuration, name, command);
    ntapi_code code = code_of(response);
    ntapi_response_free(response);
    return code;
}
