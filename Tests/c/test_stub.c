/* Requests that are answered in memory. They pass the same pipeline as with the network. */
#include "support.h"

#include <unistd.h>

struct test {
    ntapi_stub *stub;
    ntapi_client *client;
};

static int set_up(void **state) {
    static struct test test;
    test.stub = ntapi_stub_create();
    test.client = ntapi_client_create(NULL, "http://api.test/v1");
    check_ok(ntapi_client_set_stub(test.client, test.stub));
    *state = &test;
    return 0;
}

static int tear_down(void **state) {
    struct test *test = *state;
    ntapi_client_close(test->client);
    assert_int_equal(ntapi_client_drain(test->client, PATIENCE), 0);
    ntapi_client_free(test->client);
    ntapi_stub_free(test->stub);
    return 0;
}

/** Adds a rule with one answer of JSON, and frees the handles. */
static void answer_json(ntapi_stub *stub, const char *method, const char *url, const char *text) {
    ntapi_stub_rule *rule = ntapi_stub_on(stub, method, url);
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    ntapi_stub_answer answer = {.size = sizeof answer, .json = json};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_json_free(json);
    ntapi_stub_rule_free(rule);
}

/** Adds an answer with a text as its body. */
static void answer_text(ntapi_stub_rule *rule, int status, const char *text) {
    ntapi_stub_answer answer = {.size = sizeof answer, .status = status, .body = text, .content_type = "text/plain"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
}

static void check_text(ntapi_client *client, const char *command, int status, const char *text) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, ""));
    ntapi_response *response = perform(client, command, args);
    assert_int_equal(ntapi_response_status(response), status);
    size_t length;
    const char *bytes = ntapi_response_data(response, &length);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(bytes, text, length);
    ntapi_response_free(response);
}

static void a_request_gets_its_answer(void **state) {
    struct test *test = *state;
    answer_json(test->stub, "GET", "/v1/find?q=London", "{\"list\":[{\"name\":\"London\"}]}");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "q", "London"));
    check_ok(ntapi_args_header(args, "X-A", "b"));
    ntapi_response *response = perform(test->client, "find", args);
    check_string(ntapi_response_json(response), "list[0].name", "London");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "content-type"), "application/json");
    ntapi_response_free(response);
    check_ok(ntapi_stub_verify(test->stub, NULL));

    assert_int_equal(ntapi_stub_request_count(test->stub), 1);
    const ntapi_stub_request *request = ntapi_stub_get_request(test->stub, 0);
    assert_null(ntapi_stub_get_request(test->stub, 1));
    assert_string_equal(request->method, "GET");
    assert_string_equal(request->url, "http://api.test/v1/find?q=London");
    assert_true(request->is_matched);
    assert_string_equal(request->body, "");
    assert_int_equal(request->length, 0);
    assert_string_equal(ntapi_headers_get(request->headers, "x-a"), "b");
    assert_ptr_equal(ntapi_stub_get_request(test->stub, 0), request);
    assert_null(ntapi_headers_at(request->headers, 99, NULL));
}

static void what_is_not_meant_is_a_clear_error(void **state) {
    struct test *test = *state;
    ntapi_stub_rule_free(ntapi_stub_on(test->stub, "POST", "find"));
    ntapi_response *response = perform(test->client, "find", NULL);
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_NO_STUB);
    assert_string_equal(ntapi_error_message(error), "no stub matches GET http://api.test/v1/find; the nearest: POST "
                                                    "find (the method is GET)");
    ntapi_response_free(response);
    ntapi_error *missing = NULL;
    check_too_late(ntapi_stub_verify(test->stub, &missing));
    assert_string_equal(ntapi_error_message(missing), "POST find was never requested; no stub has matched GET "
                                                      "http://api.test/v1/find");
    ntapi_error_free(missing);
    check_ok(ntapi_stub_forget_requests(test->stub));
    assert_int_equal(ntapi_stub_request_count(test->stub), 0);
}

static void answers_come_in_turn(void **state) {
    struct test *test = *state;
    ntapi_stub_rule *all = ntapi_stub_on(test->stub, NULL, NULL);
    answer_text(all, 200, "all");
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, "GET", "a");
    answer_text(rule, 503, "1");
    answer_text(rule, 200, "2");
    check_text(test->client, "a", 503, "1");
    check_text(test->client, "a", 200, "2");
    check_text(test->client, "a", 200, "2");
    assert_int_equal(ntapi_stub_rule_call_count(rule), 3);
    check_ok(ntapi_stub_rule_use_up(rule));
    check_text(test->client, "a", 200, "all");
    ntapi_stub_rule_free(rule);
    ntapi_stub_rule_free(all);
}

struct asked {
    witness seen; /* first, so that a pointer to this is also one to it */
    pthread_t thread;
    int calls;
};

static bool is_meant(void *user_data, const ntapi_stub_request *request) {
    struct asked *asked = user_data;
    asked->calls++;
    asked->thread = pthread_self();
    return strcmp(request->body, "meant") == 0;
}

static void echo(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply) {
    struct asked *asked = user_data;
    asked->calls++;
    char body[100] = "";
    memcpy(body, request->body, request->length);
    ntapi_stub_answer answer = {.size = sizeof answer,
                                .headers = (const char *[]){"X-Made: here", NULL},
                                .body = body,
                                .length = request->length};
    check_ok(ntapi_stub_rule_answer(reply, &answer, NULL));
    memset(body, 'x', sizeof body); /* it was copied */
}

static void functions_decide_and_answer(void **state) {
    struct test *test = *state;
    struct asked matching = {.calls = 0}, answering = {.calls = 0};
    witness_init(&matching.seen);
    witness_init(&answering.seen);
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, "POST", "a");
    check_ok(ntapi_stub_rule_match(rule, is_meant, &matching, witness_destroy));
    check_ok(ntapi_stub_rule_answer_with(rule, echo, &answering, witness_destroy));
    check_invalid(ntapi_stub_rule_match(rule, NULL, &matching, witness_destroy));
    assert_int_equal(matching.seen.destroys, 1);
    for (int i = 0; i < 2; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_data(args, i == 0 ? "meant" : "other", 5, "text/plain"));
        check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
        ntapi_response *response = perform(test->client, "a", args);
        if (i == 0)
            assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Made"), "here"),
                assert_string_equal(ntapi_response_data(response, NULL), "meant");
        else
            assert_int_equal(code_of(response), NTAPI_CODE_NO_STUB);
        ntapi_response_free(response);
    }
    assert_int_equal(matching.calls, 2);
    assert_int_equal(answering.calls, 1);
    assert_false(pthread_equal(matching.thread, pthread_self()));
    ntapi_stub_rule_free(rule);
    assert_int_equal(answering.seen.destroys, 0);
    /* This frees its last handle. */
    check_ok(ntapi_client_set_stub(test->client, NULL));
    assert_int_equal(ntapi_client_drain(test->client, PATIENCE), 0);
    ntapi_stub_free(test->stub);
    test->stub = NULL;
    witness_wait(&matching.seen, 2);
    witness_wait(&answering.seen, 1);
    witness_free(&matching.seen);
    witness_free(&answering.seen);
}

static void bodies_are_compared(void **state) {
    struct test *test = *state;
    ntapi_stub_rule *json_rule = ntapi_stub_on(test->stub, "POST", "a");
    ntapi_json *json = ntapi_json_parse("{\"x\":1,\"y\":[2]}", 15, NULL);
    check_ok(ntapi_stub_rule_body_json(json_rule, json));
    ntapi_json_free(json);
    answer_text(json_rule, 201, "");
    ntapi_stub_rule *text_rule = ntapi_stub_on(test->stub, "POST", "a");
    check_ok(ntapi_stub_rule_body_contains(text_rule, "needle"));
    answer_text(text_rule, 202, "");
    const char *bodies[] = {"{ \"y\": [2], \"x\": 1 }", "a needle", "{}"};
    int statuses[] = {201, 202, 0};
    for (int i = 0; i < 3; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_data(args, bodies[i], strlen(bodies[i]), "application/json"));
        ntapi_response *response = perform(test->client, "a", args);
        assert_int_equal(ntapi_response_status(response), statuses[i]);
        ntapi_response_free(response);
    }
    ntapi_stub_rule_free(json_rule);
    ntapi_stub_rule_free(text_rule);
}

static void faults_are_errors_of_the_network(void **state) {
    struct test *test = *state;
    ntapi_stub_fault faults[] = {NTAPI_STUB_FAULT_NO_CONNECTION, NTAPI_STUB_FAULT_NO_INTERNET,
                                 NTAPI_STUB_FAULT_UNKNOWN_HOST,  NTAPI_STUB_FAULT_UNTRUSTED_CERTIFICATE,
                                 NTAPI_STUB_FAULT_TIMEOUT,       NTAPI_STUB_FAULT_CONNECTION_LOST};
    const ntapi_code codes[] = {NTAPI_CODE_NETWORK, NTAPI_CODE_NO_INTERNET, NTAPI_CODE_NETWORK,
                                NTAPI_CODE_TLS,     NTAPI_CODE_TIMEOUT,     NTAPI_CODE_NETWORK};
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, NULL, "a");
    for (int i = 0; i < 6; i++) {
        ntapi_stub_answer answer = {.size = sizeof answer, .fault = faults[i], .fault_after = -1};
        check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    }
    for (int i = 0; i < 6; i++)
        check_error(perform(test->client, "a", NULL), NTAPI_ERROR_DOMAIN_NETWORK, codes[i]);
    ntapi_stub_rule_free(rule);
}

/** A download that breaks can continue, because the cut body came with its headers. */
static void a_cut_body_has_its_headers(void **state) {
    struct test *test = *state;
    static const char *const headers[] = {"ETag: \"1\"", "Accept-Ranges: bytes", NULL};
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, NULL, "a");
    ntapi_stub_answer answer = {.size = sizeof answer,
                                .headers = headers,
                                .body = "hello",
                                .length = 5,
                                .fault = NTAPI_STUB_FAULT_CONNECTION_LOST,
                                .fault_after = 3};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_response *response = perform(test->client, "a", args);
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_error_get_details(error)->failure, NTAPI_FAILURE_RESET);
    assert_int_equal(ntapi_response_status(response), 200);
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "etag"), "\"1\"");
    ntapi_response_free(response);
    ntapi_stub_rule_free(rule);
}

/** If the announced content length is larger than the body, the connection breaks. If it is smaller, the body is
 * cut. */
static void an_answer_has_a_content_length_of_its_own(void **state) {
    struct test *test = *state;
    static const struct {
        const char *line, *text;
    } cases[] = {{"Content-Length: 9", NULL}, {"Content-Length: 5", "hello"}, {"content-length: 2", "he"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_stub_rule *rule = ntapi_stub_on(test->stub, "GET", NULL);
        const char *const headers[] = {cases[i].line, NULL};
        ntapi_stub_answer answer = {.size = sizeof answer, .headers = headers, .body = "hello", .length = 5};
        check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
        ntapi_stub_rule_free(rule);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
        ntapi_response *response = perform(test->client, "x", args);
        if (cases[i].text != NULL)
            assert_string_equal(ntapi_response_data(response, NULL), cases[i].text);
        else
            assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->failure, NTAPI_FAILURE_CUT_SHORT);
        ntapi_response_free(response);
    }
}

static void check_trailers(const ntapi_response *response) {
    const ntapi_headers *trailers = ntapi_response_trailers(response);
    const char *name = NULL;
    assert_null(ntapi_response_error(response));
    assert_string_equal(ntapi_headers_at(trailers, 0, &name), "7");
    assert_string_equal(name, "X-Sum");
    assert_string_equal(ntapi_headers_at(trailers, 1, &name), "8");
    assert_null(ntapi_headers_at(trailers, 2, &name));
    /* Over HTTP/1.1, a body that is followed by trailers has no length. */
    assert_null(ntapi_headers_get(ntapi_response_headers(response), "Content-Length"));
}

static void count_bytes(void *user_data, const char *bytes, size_t length) {
    (void)bytes;
    *(size_t *)user_data += length;
}

static void trailers_come_after_the_body(void **state) {
    struct test *test = *state;
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, "GET", "a");
    ntapi_stub_answer answer = {.size = sizeof answer,
                                .body = "[1]",
                                .content_type = "application/json",
                                .trailers = (const char *[]){"X-Sum: 7", "X-Sum: 8", NULL}};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_response *response = perform(test->client, "a", NULL);
    check_trailers(response);
    ntapi_response_free(response);

    size_t length = 0;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    ntapi_request *request = ntapi_client_create_request(test->client, "a", args);
    check_ok(ntapi_request_set_data_handler(request, count_bytes, &length, NULL));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    check_trailers(ntapi_request_response(request));
    assert_int_equal(length, 3);
    ntapi_request_free(request);
    ntapi_args_free(args);

    /* A program with an older header has no `trailers` member: there is other memory in its place. */
    answer.size = offsetof(ntapi_stub_answer, trailers);
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    response = perform(test->client, "a", NULL);
    assert_string_equal(ntapi_response_data(response, NULL), "[1]");
    assert_null(ntapi_headers_at(ntapi_response_trailers(response), 0, NULL));
    ntapi_response_free(response);
    ntapi_stub_rule_free(rule);
}

static void wrong_answers_are_refused(void **state) {
    struct test *test = *state;
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, NULL, "a");
    const size_t size = sizeof(ntapi_stub_answer);
    const ntapi_stub_answer wrong[] = {
        {.size = 0},
        {.size = size, .status = 101},
        {.size = size, .headers = (const char *[]){"a b: c", NULL}},
        {.size = size, .headers = (const char *[]){"no colon", NULL}},
        {.size = size, .trailers = (const char *[]){"no colon", NULL}},
        {.size = size, .content_type = "\xff"},
        {.size = size, .delay = -1},
        {.size = size, .fault = (ntapi_stub_fault)99},
        {.size = size, .json = (const ntapi_json *)rule},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_error *error = NULL;
        check_invalid(ntapi_stub_rule_answer(rule, &wrong[i], &error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        ntapi_error_free(error);
    }
    /* A rule without its answers would respond with 200. */
    check_error(perform(test->client, "a", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_stub_rule_free(rule);
}

static void each_is_answered_once_whenever_it_is_cancelled(void **state) {
    struct test *test = *state;
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    check_ok(ntapi_client_set_clock(test->client, clock));
    ntapi_stub_rule *rule = ntapi_stub_on(test->stub, NULL, NULL);
    char body[1000];
    memset(body, 'x', sizeof body);
    ntapi_stub_answer answer = {.size = sizeof answer,
                                .body = body,
                                .length = sizeof body,
                                .content_type = "text/plain",
                                .delay = 1,
                                .piece_size = 100};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    enum { count = 100 };
    static witness seen[count];
    ntapi_request *requests[count];
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    for (int i = 0; i < count; i++) {
        witness_init(&seen[i]);
        requests[i] = ntapi_client_begin(test->client, "a", args, witness_response, &seen[i], witness_destroy);
        if (i % 3 == 0)
            ntapi_request_cancel(requests[i / 2]);
    }
    ntapi_args_free(args);
    check_ok(ntapi_manual_clock_advance(clock, 1));
    for (int i = 0; i < count; i++)
        ntapi_request_cancel(requests[i]);
    for (int i = 0; i < count; i++) {
        witness_wait(&seen[i], 1);
        witness_check_once(&seen[i]);
        witness_free(&seen[i]);
        ntapi_request_free(requests[i]);
    }
    assert_int_equal(ntapi_manual_clock_sleepers(clock), 0);
    ntapi_stub_rule_free(rule);
    ntapi_manual_clock_free(clock);
}

static void requests_are_waited_for(void **state) {
    struct test *test = *state;
    check_ok(ntapi_stub_wait_for_requests(test->stub, 0, 0));
    assert_int_equal(ntapi_stub_wait_for_requests(test->stub, 1, 0.01), NTAPI_STATUS_TIMED_OUT);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    ntapi_request *request = ntapi_client_begin(test->client, "x", args, NULL, NULL, NULL);
    ntapi_args_free(args);
    check_ok(ntapi_stub_wait_for_requests(test->stub, 1, PATIENCE));
    assert_int_equal(ntapi_stub_request_count(test->stub), 1);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    check_invalid(ntapi_stub_wait_for_requests(NULL, 1, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_gets_its_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_meant_is_a_clear_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_come_in_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_are_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(functions_decide_and_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bodies_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_are_errors_of_the_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_body_has_its_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_has_a_content_length_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trailers_come_after_the_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_answers_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_is_answered_once_whenever_it_is_cancelled, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
