/* Defaults, the order of their look-up, providers, and built-in names. */
#include "support.h"

#include <math.h>

/** A default as JSON text, in the caller's buffer; "(none)" if it is not set. */
static const char *look_up(const ntapi_defaults *defaults, const char *key, char text[static 128]) {
    ntapi_json *value = ntapi_defaults_get(defaults, key);
    snprintf(text, 128, "%s", value != NULL ? ntapi_json_text(value) : "(none)");
    ntapi_json_free(value);
    return text;
}

static void look_up_goes_client_class_parents_global(void **state) {
    (void)state;
    char text[128];
    ntapi_class *parent = ntapi_class_create("Service", NULL), *child = ntapi_class_create("Weather", parent);
    ntapi_client *client = ntapi_client_create(child, NULL), *other = ntapi_client_create(NULL, NULL);
    ntapi_defaults *global = ntapi_defaults_global(), *mine = ntapi_client_defaults(client);
    assert_ptr_equal(global, ntapi_defaults_global());
    assert_string_equal(look_up(mine, "unit", text), "(none)");
    check_ok(ntapi_defaults_set_string(global, "unit", "global"));
    assert_string_equal(look_up(mine, "unit", text), "\"global\"");
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(parent), "unit", "parent"));
    assert_string_equal(look_up(mine, "unit", text), "\"parent\"");
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(child), "unit", "child"));
    assert_string_equal(look_up(mine, "unit", text), "\"child\"");
    check_ok(ntapi_defaults_set_string(mine, "unit", "instance"));
    assert_string_equal(look_up(mine, "unit", text), "\"instance\"");
    assert_string_equal(look_up(ntapi_client_defaults(other), "unit", text), "\"global\"");
    assert_string_equal(look_up(ntapi_class_defaults(parent), "unit", text), "\"parent\"");

    check_ok(ntapi_defaults_set_string(mine, "unit", NULL));
    assert_string_equal(look_up(mine, "unit", text), "\"child\"");
    check_ok(ntapi_defaults_set(ntapi_class_defaults(child), "unit", NULL));
    assert_string_equal(look_up(mine, "unit", text), "\"parent\"");
    ntapi_class_free(parent); /* kept alive by the child, which the client keeps alive */
    ntapi_class_free(child);
    assert_string_equal(look_up(mine, "unit", text), "\"parent\"");
    check_ok(ntapi_defaults_set_string(global, "unit", NULL));
    assert_string_equal(look_up(ntapi_client_defaults(other), "unit", text), "(none)");
    ntapi_client_free(client);
    ntapi_client_free(other);
}

static void values_have_types(void **state) {
    (void)state;
    char text[128];
    ntapi_class *class = ntapi_class_create("Typed", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    check_ok(ntapi_defaults_set_number(defaults, "n", 5));
    assert_string_equal(look_up(defaults, "n", text), "5");
    check_ok(ntapi_defaults_set_number(defaults, "n", 0.5));
    assert_string_equal(look_up(defaults, "n", text), "0.5");
    check_invalid(ntapi_defaults_set_number(defaults, "n", INFINITY));
    check_invalid(ntapi_defaults_set_number(defaults, "n", NAN));
    assert_string_equal(look_up(defaults, "n", text), "0.5");
    check_ok(ntapi_defaults_set_bool(defaults, "b", false));
    assert_string_equal(look_up(defaults, "b", text), "false");
    ntapi_json *value = ntapi_json_parse("{\"a\":[1]}", 9, NULL);
    check_ok(ntapi_defaults_set(defaults, "j", value));
    ntapi_json_free(value);
    assert_string_equal(look_up(defaults, "j", text), "{\"a\":[1]}");
    check_invalid(ntapi_defaults_set_string(defaults, NULL, "x"));
    check_invalid(ntapi_defaults_set_string(defaults, "s", "\xff"));
    check_invalid(ntapi_defaults_set_string(NULL, "s", "x"));
    assert_null(ntapi_defaults_get(defaults, NULL));
    assert_null(ntapi_defaults_get(NULL, "n"));
    assert_null(ntapi_class_create(NULL, NULL));
    assert_null(ntapi_class_defaults(NULL));
    assert_null(ntapi_client_defaults(NULL));
    ntapi_class_free(class);
    ntapi_class_free(NULL);
}

struct provider {
    int calls, destroys;
    char key[32];
};

static ntapi_json *provide(void *user_data, const char *key) {
    struct provider *self = user_data;
    self->calls++;
    snprintf(self->key, sizeof self->key, "%s", key);
    char text[32];
    snprintf(text, sizeof text, "session %d", self->calls);
    return ntapi_json_create_string(text);
}

static ntapi_json *provide_nothing(void *user_data, const char *key) {
    (void)user_data;
    (void)key;
    return NULL;
}

static void provider_destroy(void *user_data) {
    ((struct provider *)user_data)->destroys++;
}

static void providers_are_asked_each_time(void **state) {
    (void)state;
    char text[128];
    struct provider one = {0}, two = {0};
    ntapi_class *class = ntapi_class_create("Dynamic", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    check_ok(ntapi_defaults_set_provider(defaults, "sid", provide, &one, provider_destroy));
    assert_int_equal(one.calls, 0);
    assert_string_equal(look_up(defaults, "sid", text), "\"session 1\"");
    assert_string_equal(look_up(defaults, "sid", text), "\"session 2\"");
    assert_string_equal(one.key, "sid");
    check_ok(ntapi_defaults_set_provider(defaults, "sid", provide, &two, provider_destroy));
    assert_int_equal(one.destroys, 1);
    check_ok(ntapi_defaults_set_string(defaults, "sid", "fixed"));
    assert_int_equal(two.destroys, 1);
    check_ok(ntapi_defaults_set_provider(defaults, "sid", NULL, &two, provider_destroy));
    assert_int_equal(two.destroys, 2);
    assert_string_equal(look_up(defaults, "sid", text), "(none)");
    check_invalid(ntapi_defaults_set_provider(NULL, "sid", provide, &one, provider_destroy));
    assert_int_equal(one.destroys, 2);
    check_invalid(ntapi_defaults_set_provider(defaults, NULL, provide, &one, provider_destroy));
    assert_int_equal(one.destroys, 3);
    check_ok(ntapi_defaults_set_provider(defaults, "sid", provide, &one, provider_destroy));
    ntapi_class_free(class);
    assert_int_equal(one.destroys, 4);
}

static void a_provider_of_nothing_lets_the_look_up_go_on(void **state) {
    (void)state;
    char text[128];
    ntapi_class *parent = ntapi_class_create("P", NULL), *child = ntapi_class_create("C", parent);
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(parent), "x", "inherited"));
    check_ok(ntapi_defaults_set_provider(ntapi_class_defaults(child), "x", provide_nothing, NULL, NULL));
    assert_string_equal(look_up(ntapi_class_defaults(child), "x", text), "\"inherited\"");
    ntapi_class_free(parent);
    ntapi_class_free(child);
}

static void names_with_a_meaning_take_effect(void **state) {
    (void)state;
    ntapi_class *class = ntapi_class_create("Settings", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    ntapi_client *client = ntapi_client_create(class, NULL);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_BASE_URL, server("fault")));
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_USER_AGENT, "mine/1"));
    ntapi_json *seen = fetch(client, "echo", NULL);
    check_string(seen, "header[\"user-agent\"]", "mine/1");
    ntapi_json_free(seen);

    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_REQUEST_TIMEOUT, 0.05));
    check_error(perform(client, "hold", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    check_ok(ntapi_defaults_set(defaults, NTAPI_DEFAULT_REQUEST_TIMEOUT, NULL));
    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_RESOURCE_TIMEOUT, 0.05));
    check_error(perform(client, "hold", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    check_ok(ntapi_defaults_set(defaults, NTAPI_DEFAULT_RESOURCE_TIMEOUT, NULL));

    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_MAXIMUM_RESPONSE_SIZE, 100));
    ntapi_response *response = perform(client, "ok?size=1000", NULL);
    assert_int_equal(code_of(response), NTAPI_CODE_RESPONSE_TOO_LARGE);
    ntapi_response_free(response);
    check_ok(ntapi_defaults_set(defaults, NTAPI_DEFAULT_MAXIMUM_RESPONSE_SIZE, NULL));

    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_MAXIMUM_REDIRECTS, 1));
    response = perform(client, "chain/2", NULL);
    assert_int_equal(code_of(response), NTAPI_CODE_TOO_MANY_REDIRECTS);
    ntapi_response_free(response);
    ntapi_client_free(client);
    ntapi_class_free(class);
}

static void the_user_agent_names_the_library(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_json *seen = fetch(client, "echo", NULL);
    char expected[64];
    snprintf(expected, sizeof expected, "ntapi/%s", ntapi_version());
    check_string(seen, "header[\"user-agent\"]", expected);
    ntapi_json_free(seen);
    ntapi_client_free(client);
}

static void ca_file_and_proxy_take_effect(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault_tls");
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, server("ca")));
    ntapi_json_free(fetch(client, "ok", NULL));
    ntapi_client_free(client);

    client = client_of("fault");
    defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_PROXY, nobody()));
    ntapi_response *response = perform(client, "ok", NULL);
    assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->domain, NTAPI_ERROR_DOMAIN_NETWORK);
    ntapi_response_free(response);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_PROXY, server("proxy")));
    ntapi_json_free(fetch(client, "ok", NULL));
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_PROXY, ""));
    ntapi_json_free(fetch(client, "ok", NULL));
    ntapi_client_free(client);
}

static void an_arg_takes_its_value_from_a_default(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url_default(args, "appid", NULL));
    check_ok(ntapi_args_url_default(args, "units", "unit"));
    assert_int_equal(ntapi_args_count(args), 2);
    ntapi_response *response = ntapi_client_perform(client, "echo", args);
    check_string(ntapi_response_json(response), "target", "/echo");
    ntapi_response_free(response);
    check_ok(ntapi_defaults_set_string(defaults, "appid", "x y"));
    check_ok(ntapi_defaults_set_number(defaults, "unit", 5));
    response = ntapi_client_perform(client, "echo", args);
    check_string(ntapi_response_json(response), "target", "/echo?appid=x%20y&units=5");
    ntapi_response_free(response);
    ntapi_json *list = ntapi_json_parse("[1]", 3, NULL);
    check_ok(ntapi_defaults_set(defaults, "unit", list));
    ntapi_json_free(list);
    check_error(ntapi_client_perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void *set_and_get(void *argument) {
    ntapi_defaults *defaults = argument;
    for (int i = 0; i < 2000; i++) {
        check_ok(ntapi_defaults_set_string(defaults, "shared", i % 2 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb"));
        ntapi_json *value = ntapi_defaults_get(defaults, "shared");
        const char *text = ntapi_json_string(value, NULL);
        assert_true(strcmp(text, "aaaaaaaaaaaaaaaa") == 0 || strcmp(text, "bbbbbbbbbbbbbbbb") == 0);
        ntapi_json_free(value);
    }
    return NULL;
}

static void setting_and_getting_at_once_never_tears(void **state) {
    (void)state;
    ntapi_class *class = ntapi_class_create("Shared", NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, set_and_get, ntapi_class_defaults(class)), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ntapi_class_free(class);
}

static void names_are_spelled_in_both_ways(void **state) {
    (void)state;
    char text[128];
    ntapi_class *class = ntapi_class_create("Spelled", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    check_ok(ntapi_defaults_set_number(defaults, "request_timeout", 7));
    assert_string_equal(look_up(defaults, NTAPI_DEFAULT_REQUEST_TIMEOUT, text), "7");
    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_REQUEST_TIMEOUT, 8));
    assert_string_equal(look_up(defaults, "request_timeout", text), "8");
    check_ok(ntapi_defaults_set_string(defaults, "my_own", "x")); /* stays as it is */
    assert_string_equal(look_up(defaults, "myOwn", text), "(none)");
    ntapi_class_free(class);
}

static void a_name_that_is_nearly_a_built_in_one_is_refused(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), "requestTimout", 7));
    ntapi_response *response = ntapi_client_perform(client, "ok", NULL);
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    assert_string_equal(ntapi_error_message(error),
                        "there is no default \"requestTimout\": did you mean \"requestTimeout\"?");
    ntapi_response_free(response);
    check_ok(ntapi_defaults_set(ntapi_client_defaults(client), "requestTimout", NULL));
    response = ntapi_client_perform(client, "ok", NULL);
    assert_int_equal(ntapi_response_status(response), 200);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_up_goes_client_class_parents_global),
        cmocka_unit_test(values_have_types),
        cmocka_unit_test(providers_are_asked_each_time),
        cmocka_unit_test(a_provider_of_nothing_lets_the_look_up_go_on),
        cmocka_unit_test(names_with_a_meaning_take_effect),
        cmocka_unit_test(the_user_agent_names_the_library),
        cmocka_unit_test(ca_file_and_proxy_take_effect),
        cmocka_unit_test(an_arg_takes_its_value_from_a_default),
        cmocka_unit_test(setting_and_getting_at_once_never_tears),
        cmocka_unit_test(names_are_spelled_in_both_ways),
        cmocka_unit_test(a_name_that_is_nearly_a_built_in_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
