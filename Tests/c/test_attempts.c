/* Requests that are sent again or wait for their turn, with a clock that the test advances. */
#include "support.h"

#include <math.h>
#include <unistd.h>

static ntapi_client *client;
static ntapi_manual_clock *clock_of_test;

static int open_client(void **state) {
    (void)state;
    client = client_of("fault");
    /* The client has its own connections: on a used connection, libcurl may send a request twice. */
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), NTAPI_DEFAULT_MAXIMUM_CONNECTIONS, 8));
    clock_of_test = ntapi_manual_clock_create(1700000000);
    check_ok(ntapi_client_set_clock(client, clock_of_test));
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    ntapi_manual_clock_free(clock_of_test);
    return 0;
}

/** The token of the last args from `failing`. The server counts requests by it. */
static char token[64];

/** Args for a server that fails this often with that status. The token keeps the tests apart. */
static ntapi_args *failing(int status, int times) {
    static int number;
    snprintf(token, sizeof token, "c%ld-%d", (long)getpid(), ++number);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", token));
    check_ok(ntapi_args_url_int(args, "status", status));
    check_ok(ntapi_args_url_int(args, "times", times));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    return args;
}

/** Waits until something waits for the clock, and advances the clock to its moment. */
static void wake_next(void) {
    check_ok(ntapi_manual_clock_wait_for_sleepers(clock_of_test, 1, PATIENCE));
    check_ok(ntapi_manual_clock_advance(clock_of_test, ntapi_manual_clock_next_wake(clock_of_test)));
}

static void is_sent_again(void **state) {
    (void)state;
    ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    policy.attempts = 3;
    policy.base = 10;
    policy.cap = 15;
    ntapi_args *args = failing(503, 2);
    check_ok(ntapi_args_retry(args, &policy));
    check_ok(ntapi_args_retry(args, NULL)); /* has no effect */
    ntapi_request *request = ntapi_client_create_request(client, "fail-first", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_resume(request));
    wake_next();
    wake_next();
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    assert_null(ntapi_response_error(response));
    assert_int_equal(metric_of(response, "retries"), 2);
    assert_int_equal(ntapi_json_int(ntapi_response_json(response), "count", 0), 3);
    assert_true(ntapi_manual_clock_elapsed(clock_of_test) <= 25);
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void says_when_to_come_again(void **state) {
    (void)state;
    ntapi_args *args = failing(429, 1);
    check_ok(ntapi_args_url(args, "retry-after", "3600"));
    const char *text = "[[\"retry\", true]]";
    check_ok(ntapi_args_append_json(args, text, strlen(text), NULL));
    ntapi_response *response = perform(client, "fail-first", args);
    const ntapi_error *error = ntapi_response_error(response);
    assert_true(ntapi_error_get_details(error)->retry_after == 3600);
    assert_non_null(strstr(ntapi_error_message(error), "not sent again: the server asks to wait 3600 s"));
    ntapi_response_free(response);
    response = perform(client, "status/404", NULL);
    assert_true(ntapi_error_get_details(ntapi_response_error(response))->retry_after < 0);
    ntapi_response_free(response);
    assert_true(ntapi_error_get_details(NULL)->retry_after < 0);
}

static void the_server_and_a_budget_decide(void **state) {
    (void)state;
    ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    policy.base = 0;
    policy.attempt_header = "X-Attempt";
    policy.budget = 0.5;
    policy.budget_minimum = 0;
    ntapi_args *args = failing(409, 1);
    check_ok(ntapi_args_url(args, "h-x-should-retry", "true"));
    check_ok(ntapi_args_retry(args, &policy));
    /* Half of one request allows no retry. */
    ntapi_response *response = perform(client, "fail-first", args);
    assert_int_equal(metric_of(response, "retries"), 0);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), "repeated now (budget)"));
    assert_true(ntapi_error_get_details(ntapi_response_error(response))->is_retryable);
    ntapi_response_free(response);

    policy.budget_minimum = 1;
    args = failing(503, 1);
    check_ok(ntapi_args_url(args, "h-retry-after-ms", "1500"));
    check_ok(ntapi_args_retry(args, &policy));
    ntapi_request *request = ntapi_client_create_request(client, "fail-first", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_resume(request));
    wake_next();
    check_ok(ntapi_request_wait(request, PATIENCE));
    response = ntapi_request_response(request);
    assert_int_equal(metric_of(response, "retries"), 1);
    assert_true(ntapi_manual_clock_elapsed(clock_of_test) == 1.5);
    ntapi_response_free(response);
    ntapi_request_free(request);

    args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", token));
    ntapi_json *seen = fetch(client, "seen", args);
    assert_string_equal(ntapi_json_string(seen, "requests[0].header.x-attempt"), "1");
    assert_string_equal(ntapi_json_string(seen, "requests[1].header.x-attempt"), "2");
    ntapi_json_free(seen);
}

static void a_circuit_opens_and_closes(void **state) {
    (void)state;
    const char *text = "{\"minimum_calls\": 2, \"open_seconds\": 30, \"probes\": 1}";
    ntapi_json *policy = ntapi_json_parse(text, strlen(text), NULL);
    check_ok(ntapi_defaults_set(ntapi_client_defaults(client), NTAPI_DEFAULT_CIRCUIT_BREAKER, policy));
    ntapi_json_free(policy);
    for (int i = 0; i < 2; i++) {
        ntapi_response *failed = perform(client, "status/503", NULL);
        check_error(failed, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    }
    ntapi_response *refused = perform(client, "status/200", NULL);
    const ntapi_error *error = ntapi_response_error(refused);
    assert_true(ntapi_error_get_details(error)->retry_after == 30);
    assert_true(ntapi_error_get_details(error)->is_retryable);
    assert_non_null(strstr(ntapi_error_message(error), "2 of the last 2 requests failed"));
    check_error(refused, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_CIRCUIT_OPEN);
    check_ok(ntapi_manual_clock_advance(clock_of_test, 30));
    for (int i = 0; i < 3; i++) {
        ntapi_response *good = perform(client, "status/200", NULL);
        assert_null(ntapi_response_error(good));
        ntapi_response_free(good);
    }
}

static void one_deadline_is_over_all(void **state) {
    (void)state;
    ntapi_args *args = failing(503, 9);
    check_ok(ntapi_args_url(args, "retry-after", "30"));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 50));
    const char *text = "[[\"retry\", true]]";
    check_ok(ntapi_args_append_json(args, text, strlen(text), NULL));
    ntapi_request *request = ntapi_client_create_request(client, "fail-first", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_resume(request));
    wake_next();
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    assert_int_equal(ntapi_response_status(response), 503);
    assert_int_equal(metric_of(response, "retries"), 1);
    assert_true(ntapi_manual_clock_elapsed(clock_of_test) == 30);
    const char *message = ntapi_error_message(ntapi_response_error(response));
    assert_non_null(strstr(message, "30 s would end after the total timeout, in 20 s"));
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void an_ambiguous_post_is_sent_once(void **state) {
    (void)state;
    /* The server reads the request, and then breaks the connection. */
    ntapi_args *args = failing(0, 1);
    const char *text = "[[\"retry\", {\"attempts\": 3, \"base\": 0}], [\"json\", {\"n\": 1}]]";
    check_ok(ntapi_args_append_json(args, text, strlen(text), NULL));
    ntapi_response *response = perform(client, "fail-first", args);
    assert_int_equal(metric_of(response, "retries"), 0);
    assert_false(ntapi_error_get_details(ntapi_response_error(response))->is_retryable);
    check_error(response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", token));
    ntapi_json *seen = fetch(client, "seen", args);
    assert_int_equal(ntapi_json_int(seen, "count", 0), 1);
    ntapi_json_free(seen);
}

static void a_key_makes_a_post_safe(void **state) {
    (void)state;
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    const char *text = "{\"attempts\": 2, \"base\": 0}";
    ntapi_json *policy = ntapi_json_parse(text, strlen(text), NULL);
    check_ok(ntapi_defaults_set(defaults, NTAPI_DEFAULT_RETRY, policy));
    ntapi_json_free(policy);
    ntapi_args *args = failing(503, 1);
    check_ok(ntapi_args_form(args, "a", "1"));
    ntapi_response *response = perform(client, "fail-first", args);
    assert_int_equal(metric_of(response, "retries"), 0);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), "has no idempotency key"));
    ntapi_response_free(response);
    args = failing(503, 1);
    check_ok(ntapi_args_form(args, "a", "1"));
    check_ok(ntapi_args_idempotency_key(args, NULL));
    response = perform(client, "fail-first", args);
    assert_null(ntapi_response_error(response));
    assert_int_equal(metric_of(response, "retries"), 1);
    ntapi_response_free(response);
    args = ntapi_args_create();
    check_ok(ntapi_args_idempotency_key(args, "order-7"));
    response = perform(client, "echo", args);
    check_string(ntapi_response_json(response), "header[\"idempotency-key\"]", "order-7");
    ntapi_response_free(response);
}

static void policies_are_checked(void **state) {
    (void)state;
    const int statuses[] = {429, 503}, wrong[] = {200};
    const ntapi_retry_policy standard = NTAPI_RETRY_POLICY_INIT;
    const ntapi_retry_policy good[] = {
        standard,
        {sizeof good[0], 1, 1, INFINITY, 5, statuses, 2, false, 0, 3, NULL},
        {sizeof good[0], 1000, 0, 0, 0, NULL, 0, true, 1, 1000000, "X-Try"},
        {offsetof(ntapi_retry_policy, budget), 2, 0, 0, 0, NULL, 0, true, 7, -1, "a b"}, /* of an earlier version */
    };
    const ntapi_retry_policy bad[] = {
        {0, 4, 0.5, 30, 60, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 0, 0.5, 30, 60, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 1001, 0.5, 30, 60, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 4, -1, 30, 60, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 4, 0.5, NAN, 60, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, -1, NULL, 0, true, 0, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, wrong, 1, true, 0, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, statuses, 0, true, 0, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, NULL, 0, true, 1.5, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, NULL, 0, true, NAN, 3, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, NULL, 0, true, 0.2, -1, NULL},
        {sizeof bad[0], 4, 0.5, 30, 60, NULL, 0, true, 0.2, 3, "a b"},
        {sizeof bad[0], 4, 0.5, 30, 60, NULL, 0, true, 0.2, 3, "\xff"},
    };
    ntapi_args *args = ntapi_args_create();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_ok(ntapi_args_retry(args, &good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_invalid(ntapi_args_retry(args, &bad[i]));
    assert_int_equal(ntapi_args_count(args), sizeof good / sizeof *good);
    ntapi_args_free(args);
    check_invalid(ntapi_args_retry(NULL, &standard));
}

struct judge {
    int attempts;
    double wait;
    int status;
};

static void decide(void *user_data, ntapi_decision *decision) {
    struct judge *judge = user_data;
    assert_int_equal(ntapi_decision_get_kind(decision), NTAPI_DECISION_KIND_RETRY);
    judge->attempts = ntapi_decision_attempt(decision);
    judge->wait = ntapi_decision_wait(decision);
    judge->status = ntapi_error_get_details(ntapi_response_error(ntapi_decision_response(decision)))->http_status;
    check_invalid(ntapi_decision_retry(decision, -1));
    check_ok(ntapi_decision_retry(decision, 0));
    assert_int_equal(ntapi_decision_retry(decision, 0), NTAPI_STATUS_INVALID_STATE);
    ntapi_decision_free(decision);
}

static void the_program_decides(void **state) {
    (void)state;
    const ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    ntapi_args *args = failing(409, 2);
    check_ok(ntapi_args_retry(args, &policy));
    ntapi_request *request = ntapi_client_create_request(client, "fail-first", args);
    ntapi_args_free(args);
    struct judge judge = {0, 0, 0};
    check_ok(ntapi_request_set_decision_handler(request, NTAPI_DECISION_KIND_RETRY, decide, &judge, NULL));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    assert_null(ntapi_response_error(response));
    assert_int_equal(judge.attempts, 2);
    assert_int_equal(judge.status, 409);
    assert_true(judge.wait < 0); /* the policy would not retry it */
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void waits_for_its_turn(void **state) {
    (void)state;
    assert_null(ntapi_rate_limiter_create(0, 1, 1, 60));
    assert_null(ntapi_rate_limiter_create(1, -1, 1, 60));
    assert_null(ntapi_rate_limiter_create(1, 1, 0, 60));
    assert_null(ntapi_rate_limiter_create(1, 1, 1, NAN));
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create(1, 10, 1, 0);
    check_ok(ntapi_client_set_rate_limiter(client, limiter));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    ntapi_request *requests[3];
    for (int i = 0; i < 3; i++) {
        requests[i] = ntapi_client_create_request(client, "echo", args);
        check_ok(ntapi_request_resume(requests[i]));
    }
    ntapi_args_free(args);
    check_ok(ntapi_request_wait(requests[0], PATIENCE));
    assert_int_equal(ntapi_rate_limiter_waiting(limiter), 2);
    check_ok(ntapi_request_cancel(requests[1]));
    check_ok(ntapi_request_wait(requests[1], PATIENCE));
    wake_next();
    check_ok(ntapi_request_wait(requests[2], PATIENCE));
    assert_true(ntapi_manual_clock_elapsed(clock_of_test) == 10);
    ntapi_response *response = ntapi_request_response(requests[2]);
    assert_true(metric_of(response, "queued") >= 10);
    ntapi_response_free(response);
    for (int i = 0; i < 3; i++)
        ntapi_request_free(requests[i]);
    args = ntapi_args_create();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 5));
    response = perform(client, "echo", args);
    check_error(response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    check_ok(ntapi_rate_limiter_pause(limiter, 20));
    check_ok(ntapi_client_set_rate_limiter(client, NULL));
    ntapi_response_free(perform(client, "echo", NULL));
    /* A request may still wait for the limiter, which its args keep alive. */
    args = ntapi_args_create();
    check_ok(ntapi_args_rate_limiter(args, limiter));
    check_ok(ntapi_args_rate_limiter(args, NULL));
    ntapi_rate_limiter_free(limiter);
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 5));
    response = perform(client, "echo", args);
    check_error(response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    assert_int_equal(ntapi_rate_limiter_waiting(limiter), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_sent_again, open_client, close_client),
        cmocka_unit_test_setup_teardown(says_when_to_come_again, open_client, close_client),
        cmocka_unit_test_setup_teardown(the_server_and_a_budget_decide, open_client, close_client),
        cmocka_unit_test_setup_teardown(a_circuit_opens_and_closes, open_client, close_client),
        cmocka_unit_test_setup_teardown(one_deadline_is_over_all, open_client, close_client),
        cmocka_unit_test_setup_teardown(an_ambiguous_post_is_sent_once, open_client, close_client),
        cmocka_unit_test_setup_teardown(a_key_makes_a_post_safe, open_client, close_client),
        cmocka_unit_test_setup_teardown(policies_are_checked, open_client, close_client),
        cmocka_unit_test_setup_teardown(the_program_decides, open_client, close_client),
        cmocka_unit_test_setup_teardown(waits_for_its_turn, open_client, close_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
