/* The client of the weather example, with a stub. */
#include "support.h"

#define main run_weather
#include "../../bindings/c/examples/weather.c"
#undef main

static ntapi_stub *stub;
static ntapi_client *client;

static int set_up(void **state) {
    (void)state;
    stub = ntapi_stub_create();
    client = open_weather("https://api.example.com");
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, "appid", "key"));
    check_ok(ntapi_defaults_set_string(defaults, "unit", "metric"));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    return 0;
}

/** Lets the stub answer a GET of that URL with a text. */
static void answer(const char *url, const char *text) {
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", url);
    ntapi_stub_answer answer = {.size = sizeof answer, .body = text, .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
}

#define OSLO(id)                                                                                                       \
    "{\"id\": " id ", \"name\": \"Oslo\", \"sys\": {\"country\": \"NO\"}, \"main\": {\"temp\": 3.5}, "                 \
    "\"weather\": [{\"description\": \"light rain\"}], \"dt\": 1700000000}"

static void cities_are_found_with_the_parameters_of_the_session(void **state) {
    (void)state;
    answer("data/2.5/find?q=Oslo&type=like&cnt=2&appid=key&units=metric",
           "{\"cod\": \"200\", \"list\": [" OSLO("1") ", " OSLO("2") "]}");
    struct cities cities;
    ntapi_error *error = NULL;
    ntapi_decoded *decoded = find_cities(client, "Oslo", "like", "2", &cities, &error);
    assert_non_null(decoded);
    assert_null(error);
    assert_int_equal(cities.count, 2);
    const struct city *oslo = &cities.list[1];
    assert_int_equal(oslo->id, 2);
    assert_string_equal(oslo->name, "Oslo");
    assert_string_equal(oslo->country, "NO");
    assert_string_equal(oslo->sky, "light rain");
    assert_true(oslo->temperature == 3.5 && oslo->observed == 1700000000);
    ntapi_decoded_free(decoded);
}

static void codes_go_in_one_parameter(void **state) {
    (void)state;
    answer("data/2.5/group?id=7%2C8", "{\"list\": [" OSLO("7") ", " OSLO("8") "]}");
    char *codes[] = {"7", "8"};
    struct cities cities;
    ntapi_decoded *decoded = current_weather(client, codes, 2, &cities, NULL);
    assert_non_null(decoded);
    assert_int_equal(cities.list[0].id, 7);
    ntapi_decoded_free(decoded);
}

static void a_code_that_the_service_leaves_out_is_an_error(void **state) {
    (void)state;
    answer("data/2.5/group?id=7%2C8", "{\"list\": [" OSLO("8") "]}");
    char *codes[] = {"7", "8"};
    struct cities cities;
    ntapi_error *error = NULL;
    assert_null(current_weather(client, codes, 2, &cities, &error));
    assert_ptr_equal(ntapi_error_code_name(error), NOT_FOUND);
    assert_string_equal(ntapi_error_message(error), "no city has the code 7");
    ntapi_error_free(error);
}

static void errors_of_the_service_have_its_codes(void **state) {
    (void)state;
    answer("data/2.5/find?q=nowhere", "{\"cod\": \"404\", \"message\": \"sorry\"}");
    struct cities cities;
    ntapi_error *error = NULL;
    assert_null(find_cities(client, "nowhere", NULL, NULL, &cities, &error));
    assert_ptr_equal(ntapi_error_code_name(error), NOT_FOUND);
    assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_SERVICE);
    assert_non_null(strstr(ntapi_error_message(error), "sorry"));
    ntapi_error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cities_are_found_with_the_parameters_of_the_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(codes_go_in_one_parameter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_code_that_the_service_leaves_out_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_of_the_service_have_its_codes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
