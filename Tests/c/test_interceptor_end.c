/* Interceptors that answer later, on any thread, or too late. Cancels and deadlines reach them. */
#include "interceptors.h"

#include "ntapi_python.h"

static ntapi_client *client;
static ntapi_stub *stub;
static ntapi_manual_clock *clock_of_test;
static interceptor one;
static witness seen;

static int open_client(void **state) {
    (void)state;
    client = ntapi_client_create(NULL, "https://api.test");
    stub = ntapi_stub_create();
    clock_of_test = ntapi_manual_clock_create(1700000000);
    check_ok(ntapi_client_set_stub(client, stub));
    check_ok(ntapi_client_set_clock(client, clock_of_test));
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    interceptor_init(&one);
    witness_init(&seen);
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    ntapi_manual_clock_free(clock_of_test);
    witness_free(&seen); /* its response holds the request */
    interceptor_finish(&one);
    return 0;
}

/** The stub answers everything with 200. */
static void stub_everything(void) {
    ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, NULL));
}

/** Begins a request with the witness; its total timeout is 30 s. */
static ntapi_request *begin_notes(void) {
    ntapi_args *args = background();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 30));
    ntapi_request *request = ntapi_client_begin(client, "notes", args, witness_response, &seen, witness_destroy);
    ntapi_args_free(args);
    return request;
}

/** Waits for the response, and checks that it came once, with that code. NTAPI_CODE_NONE means success. */
static void check_outcome(ntapi_request *request, ntapi_code code) {
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), code);
    ntapi_request_free(request);
}

/** Checks that an answer no longer has an effect, and frees the interception. */
static void check_over(ntapi_interception *interception) {
    check_too_late(ntapi_interception_proceed(interception));
    check_too_late(ntapi_interception_send(interception));
    check_too_late(ntapi_interception_respond(interception, 200, NULL, "x", 1));
    check_too_late(ntapi_interception_fail(interception, NULL));
    check_new_text(ntapi_http_request_url(ntapi_interception_http_request(interception)), "https://api.test/notes");
    ntapi_interception_free(interception);
}

static void *answer_kept(void *unused) {
    (void)unused;
    ntapi_interception *interception = kept_by(&one);
    ntapi_http_request *late = ntapi_interception_http_request(interception);
    expect(&one, ntapi_http_request_set_header(late, "X-Late", "1") == NTAPI_STATUS_OK);
    expect(&one, ntapi_interception_send(interception) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
    return NULL;
}

static void an_answer_comes_later_from_another_thread(void **state) {
    (void)state;
    stub_everything();
    one.request = keep;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    ntapi_request *request = begin_notes();
    on_new_thread(answer_kept, NULL);
    check_outcome(request, NTAPI_CODE_NONE);
    assert_int_equal(one.responses, 1);
    const ntapi_stub_request *sent = ntapi_stub_get_request(stub, 0);
    assert_non_null(ntapi_headers_get(sent->headers, "X-Late"));
}

static void a_cancel_reaches_a_request_that_an_interceptor_holds(void **state) {
    (void)state;
    stub_everything();
    one.request = keep;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &one);
    ntapi_request *request = begin_notes();
    ntapi_interception *interception = kept_by(&one);
    check_ok(ntapi_request_cancel(request));
    check_outcome(request, NTAPI_CODE_CANCELLED);
    assert_int_equal(one.ends, 1); /* it came before the response */
    check_over(interception);
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

static void a_cancel_reaches_an_answer_that_an_interceptor_holds(void **state) {
    (void)state;
    stub_everything();
    one.request = send_on;
    one.response = keep;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    ntapi_request *request = begin_notes();
    ntapi_interception *interception = kept_by(&one);
    check_ok(ntapi_request_cancel(request));
    check_outcome(request, NTAPI_CODE_CANCELLED);
    assert_int_equal(ntapi_response_status(ntapi_interception_response(interception)), 200);
    check_over(interception);
}

static sem_t asked;

static void fall_silent(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply) {
    (void)user_data;
    (void)request;
    ntapi_stub_answer answer = {.size = sizeof answer, .fault = NTAPI_STUB_FAULT_SILENCE};
    ntapi_stub_rule_answer(reply, &answer, NULL);
    sem_post(&asked);
}

static void one_that_waits_for_an_answer_hears_of_the_end(void **state) {
    (void)state;
    sem_init(&asked, 0, 0);
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    check_ok(ntapi_stub_rule_answer_with(rule, fall_silent, NULL, NULL));
    ntapi_stub_rule_free(rule);
    one.request = send_on;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &one);
    ntapi_request *request = begin_notes();
    sem_wait(&asked);
    check_ok(ntapi_request_cancel(request));
    check_outcome(request, NTAPI_CODE_CANCELLED);
    assert_int_equal(one.responses, 0);
    sem_destroy(&asked);
}

static void the_total_timeout_ends_the_wait_for_an_interceptor(void **state) {
    (void)state;
    stub_everything();
    one.request = keep;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    ntapi_request *request = begin_notes();
    ntapi_interception *interception = kept_by(&one);
    check_ok(ntapi_manual_clock_advance(clock_of_test, 30));
    check_outcome(request, NTAPI_CODE_TIMEOUT);
    const ntapi_error *error = ntapi_response_error(seen.response);
    assert_int_equal(ntapi_error_get_details(error)->clock, NTAPI_CLOCK_TOTAL);
    assert_non_null(strstr(ntapi_error_message(error), "an interceptor did not answer in time"));
    check_over(interception);
}

static void the_total_timeout_ends_the_wait_for_another_answer(void **state) {
    (void)state;
    stub_everything();
    one.request = send_on;
    one.response = keep;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &one);
    ntapi_request *request = begin_notes();
    ntapi_interception *interception = kept_by(&one);
    check_ok(ntapi_manual_clock_advance(clock_of_test, 30));
    check_outcome(request, NTAPI_CODE_TIMEOUT);
    check_over(interception);
}

static void closing_the_client_ends_the_passage(void **state) {
    (void)state;
    stub_everything();
    one.request = keep;
    one.expected_ends = 1;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    ntapi_request *request = begin_notes();
    ntapi_interception *interception = kept_by(&one);
    check_ok(ntapi_client_close(client));
    check_outcome(request, NTAPI_CODE_CANCELLED);
    assert_int_equal(one.ends, 1); /* it came before the response */
    check_over(interception);
}

static sem_t entered, may_go_on;

static void block(interceptor *self, ntapi_interception *interception) {
    sem_post(&entered);
    sem_wait(&may_go_on);
    expect(self, self->ends == 0);
    ntapi_interception_free(interception);
}

static void the_end_waits_until_a_call_has_returned(void **state) {
    (void)state;
    stub_everything();
    sem_init(&entered, 0, 0);
    sem_init(&may_go_on, 0, 0);
    one.request = block;
    one.expected_ends = -1; /* there is none if the call answers first */
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    ntapi_request *request = begin_notes();
    sem_wait(&entered);
    check_ok(ntapi_request_cancel(request));
    sem_post(&may_go_on);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    ntapi_request_free(request);
    sem_destroy(&entered);
    sem_destroy(&may_go_on);
}

static void copy_kept(interceptor *self, ntapi_interception *interception) {
    if (self->times++ > 0) {
        ntapi_interception_free(interception);
        return;
    }
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    ntapi_http_request *original = ntapi_interception_http_request(self->kept);
    expect(self, ntapi_http_request_assign(request, original) == NTAPI_STATUS_OK);
    expect(self, ntapi_http_request_assign(request, NULL) == NTAPI_STATUS_INVALID_ARGUMENT);
    ntapi_interception_free(self->kept);
    self->kept = NULL;
    send_on(self, interception);
}

static void keep_and_send(interceptor *self, ntapi_interception *interception) {
    keep(self, interception);
    ntapi_interception_send(interception);
}

static void an_interception_stays_readable_after_its_answer(void **state) {
    (void)state;
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, "/notes");
    ntapi_stub_answer answer = {
        .size = sizeof answer, .status = 303, .headers = (const char *[]){"Location: /other", NULL}};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
    ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, "/other"));
    one.request = keep_and_send;
    one.response = copy_kept;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &one);
    check_outcome(begin_notes(), NTAPI_CODE_NONE);
    static const char *const paths[] = {"/notes", "/other", "/notes", "/other"};
    assert_int_equal(ntapi_stub_request_count(stub), 4);
    for (size_t index = 0; index < 4; index++) {
        const ntapi_stub_request *sent = ntapi_stub_get_request(stub, index);
        assert_non_null(strstr(sent->url, paths[index]));
    }
}

#define on_stub(test) cmocka_unit_test_setup_teardown(test, open_client, close_client)

int main(void) {
    const struct CMUnitTest tests[] = {
        on_stub(an_answer_comes_later_from_another_thread),
        on_stub(a_cancel_reaches_a_request_that_an_interceptor_holds),
        on_stub(a_cancel_reaches_an_answer_that_an_interceptor_holds),
        on_stub(one_that_waits_for_an_answer_hears_of_the_end),
        on_stub(the_total_timeout_ends_the_wait_for_an_interceptor),
        on_stub(the_total_timeout_ends_the_wait_for_another_answer),
        on_stub(closing_the_client_ends_the_passage),
        on_stub(the_end_waits_until_a_call_has_returned),
        on_stub(an_interception_stays_readable_after_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
