/* Codes, errors that a program makes, and the errors of all kinds of failures. */
#include "support.h"

static void codes_are_interned(void **state) {
    (void)state;
    char name[] = "my service: quota";
    const char *code = ntapi_code_register(name);
    assert_string_equal(code, name);
    assert_ptr_not_equal(code, name);
    name[0] = 'M';
    assert_ptr_not_equal(ntapi_code_register(name), code);
    assert_ptr_equal(ntapi_code_register("my service: quota"), code);
    assert_non_null(ntapi_code_register(""));
    assert_null(ntapi_code_register(NULL));
    assert_null(ntapi_code_register("\xff\xfe"));
}

/** Each built-in code with its name. The table can be static, because the codes are constants. */
static const struct {
    ntapi_code code;
    const char *name;
} built_in[] = {
    {NTAPI_CODE_NETWORK, "network"},
    {NTAPI_CODE_NO_INTERNET, "no internet"},
    {NTAPI_CODE_TIMEOUT, "timeout"},
    {NTAPI_CODE_TLS, "TLS"},
    {NTAPI_CODE_INVALID_JSON, "invalid JSON"},
    {NTAPI_CODE_UNEXPECTED_JSON, "unexpected JSON"},
    {NTAPI_CODE_HTTP_ERROR, "HTTP error"},
    {NTAPI_CODE_NOT_CACHED, "not cached"},
    {NTAPI_CODE_TOO_MANY_REDIRECTS, "too many redirects"},
    {NTAPI_CODE_AUTHENTICATION, "authentication failed"},
    {NTAPI_CODE_DETACHED, "detached"},
    {NTAPI_CODE_CANCELLED, "request cancelled"},
    {NTAPI_CODE_INVALID_REQUEST, "invalid request"},
    {NTAPI_CODE_RESPONSE_TOO_LARGE, "response too large"},
    {NTAPI_CODE_NO_STUB, "no stub"},
    {NTAPI_CODE_GENERIC, "generic"},
    {NTAPI_CODE_NOT_ALLOWED, "not allowed"},
    {NTAPI_CODE_CIRCUIT_OPEN, "circuit open"},
    {NTAPI_CODE_STORE_FAILED, "store failed"},
};

static bool may_be_repeated(ntapi_code code) {
    switch (code) {
    case NTAPI_CODE_NETWORK:
    case NTAPI_CODE_TIMEOUT:
        return true;
    default:
        return false;
    }
}

static void an_error_may_outlive_its_response(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_response *response = ntapi_client_perform(client, "", NULL);
    ntapi_error *kept = ntapi_error_retain(ntapi_response_error(response)), *again = ntapi_error_retain(kept);
    ntapi_response_free(response);
    ntapi_client_free(client);
    ntapi_error_free(kept);
    assert_int_equal(ntapi_error_code(again), NTAPI_CODE_NETWORK);
    assert_int_equal(ntapi_error_get_details(again)->failure, NTAPI_FAILURE_REFUSED);
    assert_int_equal(ntapi_error_get_details(again)->size, sizeof(ntapi_error_details));
    assert_int_equal(ntapi_error_get_details(again)->clock, NTAPI_CLOCK_NONE);
    ntapi_error_free(again);
    assert_null(ntapi_error_retain(NULL));
    assert_int_equal(ntapi_error_get_details(again)->size, sizeof(ntapi_error_details));
}

static void built_in_codes_are_constants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        ntapi_error *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, built_in[i].name, NULL, false);
        assert_int_equal(ntapi_error_code(error), built_in[i].code);
        assert_ptr_equal(ntapi_error_code_name(error), ntapi_code_register(built_in[i].name));
        ntapi_error_free(error);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(built_in[i].code, built_in[j].code);
    }
    assert_true(may_be_repeated(NTAPI_CODE_TIMEOUT));
    assert_false(may_be_repeated(NTAPI_CODE_NONE));
}

static void *register_many(void *codes) {
    char name[32];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "code %d", i);
        ((const char **)codes)[i] = ntapi_code_register(name);
    }
    return NULL;
}

static void codes_are_interned_from_many_threads(void **state) {
    (void)state;
    static const char *codes[4][200];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_many, codes[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(codes[0], codes[i], sizeof codes[0]);
}

static void errors_can_be_made(void **state) {
    (void)state;
    ntapi_error *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "404", "city not found", false);
    assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_SERVICE);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_CUSTOM);
    assert_ptr_equal(ntapi_error_code_name(error), ntapi_code_register("404"));
    assert_string_equal(ntapi_error_message(error), "city not found");
    assert_int_equal(ntapi_error_get_details(error)->http_status, 0);
    assert_int_equal(ntapi_error_get_details(error)->transport_code, 0);
    assert_false(ntapi_error_get_details(error)->is_retryable);
    ntapi_error_free(error);

    error = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, NULL, NULL, true);
    assert_true(ntapi_error_get_details(error)->is_retryable);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_GENERIC);
    assert_string_equal(ntapi_error_message(error), "generic");
    ntapi_error_free(error);

    assert_null(ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "\xff", NULL, false));
    assert_null(ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "ok", "\xc3", false));
}

static void check_has_error(ntapi_status status, ntapi_error **error) {
    check_invalid(status);
    assert_non_null(*error);
    assert_string_not_equal(ntapi_error_message(*error), "");
    ntapi_error_free(*error);
    *error = NULL;
}

/** A program can show the message of the error, whatever the reason is. */
static void each_failure_has_its_error(void **state) {
    (void)state;
    ntapi_error *error = NULL;
    ntapi_json *cookie = ntapi_json_parse("{}", 2, NULL);
    ntapi_protection_space space = {.size = sizeof space, .scheme = "https", .host = "a.test", .port = 443};
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    check_has_error(ntapi_credential_storage_set(NULL, &space, "a", "b", &error), &error);
    check_has_error(ntapi_credential_storage_set(storage, &space, "a", "\xe4", &error), &error);
    check_has_error(ntapi_credential_storage_set_default(storage, &space, NULL, "b", &error), &error);
    check_has_error(ntapi_credential_storage_remove(NULL, &space, "a", &error), &error);
    check_has_error(ntapi_credential_storage_remove(storage, &space, "\xe4", &error), &error);
    check_has_error(ntapi_credential_storage_clear(NULL, &error), &error);
    check_has_error(ntapi_cookie_storage_set(NULL, cookie, &error), &error);
    check_has_error(ntapi_cookie_storage_save((ntapi_cookie_storage *)client, &error), &error);
    check_has_error(ntapi_cache_save(NULL, &error), &error);
    check_has_error(ntapi_recorder_save(NULL, &error), &error);
    check_has_error(ntapi_stub_verify(NULL, &error), &error);
    assert_null(ntapi_credential_storage_get(NULL, &space, &error));
    check_has_error(NTAPI_STATUS_INVALID_ARGUMENT, &error);
    ntapi_credential_storage_free(storage);
    ntapi_client_free(client);
    ntapi_json_free(cookie);
}

static void nothing_is_no_error(void **state) {
    (void)state;
    assert_int_equal(ntapi_error_get_details(NULL)->domain, NTAPI_ERROR_DOMAIN_NONE);
    assert_int_equal(ntapi_error_code(NULL), NTAPI_CODE_NONE);
    assert_null(ntapi_error_code_name(NULL));
    assert_null(ntapi_error_message(NULL));
    assert_int_equal(ntapi_error_get_details(NULL)->http_status, 0);
    assert_int_equal(ntapi_error_get_details(NULL)->transport_code, 0);
    assert_false(ntapi_error_get_details(NULL)->is_retryable);
    ntapi_error_free(NULL);
}

static void http_errors_keep_their_body(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "status/404?message=gone", NULL);
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_get_details(error)->http_status, 404);
    assert_int_equal(ntapi_error_get_details(error)->transport_code, 0);
    assert_false(ntapi_error_get_details(error)->is_retryable);
    check_string(ntapi_response_json(response), "message", "gone");
    check_error(response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);

    response = perform(client, "status/503", NULL);
    assert_true(ntapi_error_get_details(ntapi_response_error(response))->is_retryable);
    check_error(response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    ntapi_client_free(client);
}

static void network_errors_name_libcurls_code(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_response *response = perform(client, "", NULL);
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_NETWORK);
    assert_int_equal(ntapi_error_get_details(error)->transport_code, 7); /* CURLE_COULDNT_CONNECT */
    assert_int_equal(ntapi_error_get_details(error)->http_status, 0);
    assert_true(ntapi_error_get_details(error)->is_retryable);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static void broken_answers_are_network_errors(void **state) {
    (void)state;
    const char *commands[] = {"reset/in-body", "close/in-body", "chunked/truncated", "length/long", "close/before"};
    ntapi_client *client = client_of("fault");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        check_error(perform(client, commands[i], NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    ntapi_client_free(client);
}

static void each_clock_ends_in_a_timeout(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    for (ntapi_clock clock = NTAPI_CLOCK_IDLE; clock <= NTAPI_CLOCK_TOTAL; clock++) {
        if (clock == NTAPI_CLOCK_CONNECT || clock == NTAPI_CLOCK_QUEUE)
            continue;
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_timeout(args, clock, 0.05));
        check_error(perform(client, "hold", args), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    }
    ntapi_client_free(client);

    client = client_of("blackhole");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_CONNECT, 0.05));
    check_error(perform(client, "", args), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    ntapi_client_free(client);
}

static void what_is_not_json_is_said_so(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "json/truncated", NULL);
    assert_int_equal(ntapi_response_status(response), 200);
    assert_string_equal(ntapi_response_data(response, NULL), "{\"a\":1,\"b\":[1,2");
    assert_null(ntapi_response_json(response));
    check_error(response, NTAPI_ERROR_DOMAIN_JSON, NTAPI_CODE_INVALID_JSON);
    ntapi_client_free(client);
}

static void limits_end_a_request(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE, "1000"));
    ntapi_response *response = perform(client, "ok?size=5000", args);
    assert_int_equal(code_of(response), NTAPI_CODE_RESPONSE_TOO_LARGE);
    ntapi_response_free(response);

    args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_MAXIMUM_REDIRECTS, "2"));
    response = perform(client, "chain/5", args);
    assert_int_equal(code_of(response), NTAPI_CODE_TOO_MANY_REDIRECTS);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static void an_unknown_authority_is_a_tls_error(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault_tls");
    check_error(perform(client, "ok", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TLS);
    ntapi_client_free(client);
}

static void mistakes_in_the_call_are_request_errors(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, "http://127.0.0.1");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_header(args, "X-A", "1\r\nX-B: 2"));
    check_error(perform(client, "", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    check_error(perform(client, "city/{name}", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_client_free(client);

    client = ntapi_client_create(NULL, NULL);
    check_error(perform(client, "x", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_client_free(client);
    client = ntapi_client_create(NULL, "file:///etc/hostname");
    check_error(perform(client, "", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_client_free(client);
}

static void an_error_lends_the_problem_of_its_answer(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "json/problem?status=402&type=application/problem+json", NULL);
    ntapi_error *error = ntapi_error_retain(ntapi_response_error(response));
    ntapi_response_free(response);
    const ntapi_json *problem = ntapi_error_get_details(error)->problem;
    assert_string_equal(ntapi_json_string(problem, "title"), "You do not have enough credit");
    assert_int_equal(ntapi_json_int(problem, "status", 0), 402);
    assert_int_equal(ntapi_json_int(problem, "balance", 0), 30);
    assert_ptr_equal(ntapi_error_get_details(error)->problem, problem);
    ntapi_error_free(error);
    assert_null(ntapi_json_string(problem, "title"));

    response = perform(client, "json/problem-wrong-types?status=402&type=application/problem+json", NULL);
    problem = ntapi_error_get_details(ntapi_response_error(response))->problem;
    assert_string_equal(ntapi_json_string(problem, "type"), "about:blank");
    assert_int_equal(ntapi_json_get_type(problem, "title"), NTAPI_JSON_TYPE_ABSENT);
    assert_string_equal(ntapi_json_string(problem, "errors[0].field"), "age");
    ntapi_response_free(response);

    response = perform(client, "status/404", NULL);
    assert_null(ntapi_error_get_details(ntapi_response_error(response))->problem);
    ntapi_response_free(response);
    assert_null(ntapi_error_get_details(NULL)->problem);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_interned),
        cmocka_unit_test(an_error_may_outlive_its_response),
        cmocka_unit_test(built_in_codes_are_constants),
        cmocka_unit_test(codes_are_interned_from_many_threads),
        cmocka_unit_test(errors_can_be_made),
        cmocka_unit_test(each_failure_has_its_error),
        cmocka_unit_test(nothing_is_no_error),
        cmocka_unit_test(http_errors_keep_their_body),
        cmocka_unit_test(an_error_lends_the_problem_of_its_answer),
        cmocka_unit_test(network_errors_name_libcurls_code),
        cmocka_unit_test(broken_answers_are_network_errors),
        cmocka_unit_test(each_clock_ends_in_a_timeout),
        cmocka_unit_test(what_is_not_json_is_said_so),
        cmocka_unit_test(limits_end_a_request),
        cmocka_unit_test(an_unknown_authority_is_a_tls_error),
        cmocka_unit_test(mistakes_in_the_call_are_request_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
