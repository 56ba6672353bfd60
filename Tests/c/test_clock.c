/* A clock that stands still until a test advances it. */
#include "support.h"

#include <math.h>
#include <unistd.h>

static void stands_still(void **state) {
    (void)state;
    ntapi_manual_clock *clock = ntapi_manual_clock_create(1000);
    assert_non_null(clock);
    assert_true(ntapi_manual_clock_elapsed(clock) == 0);
    check_ok(ntapi_manual_clock_advance(clock, 1.5));
    check_ok(ntapi_manual_clock_advance(clock, 0));
    assert_true(ntapi_manual_clock_elapsed(clock) == 1.5);
    check_invalid(ntapi_manual_clock_advance(clock, -1));
    check_invalid(ntapi_manual_clock_advance(clock, NAN));
    assert_int_equal(ntapi_manual_clock_sleepers(clock), 0);
    assert_true(ntapi_manual_clock_next_wake(clock) < 0);
    check_ok(ntapi_manual_clock_wait_for_sleepers(clock, 0, 0));
    assert_int_equal(ntapi_manual_clock_wait_for_sleepers(clock, 1, 0), NTAPI_STATUS_TIMED_OUT);
    assert_null(ntapi_manual_clock_create(NAN));
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_clock(client, clock));
    ntapi_response *response = perform(client, "ok", NULL);
    assert_true(metric_of(response, "startTime") == 1001.5);
    assert_true(ntapi_response_elapsed(response) == 0);
    ntapi_response_free(response);
    check_ok(ntapi_client_set_clock(client, NULL));
    response = perform(client, "ok", NULL);
    assert_true(ntapi_response_elapsed(response) > 0);
    ntapi_response_free(response);
    ntapi_client_free(client);
    ntapi_manual_clock_free(clock);
}

static void ages_the_cache(void **state) {
    (void)state;
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, "http://a.example", configuration);
    ntapi_configuration_free(configuration);
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "x");
    const char *const headers[] = {"Cache-Control: max-age=60", NULL};
    check_ok(ntapi_stub_rule_answer(rule, &(ntapi_stub_answer){.size = sizeof(ntapi_stub_answer), .headers = headers},
                                    NULL));
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    check_ok(ntapi_client_set_clock(client, clock));
    const struct {
        double age;
        ntapi_source source;
    } cases[] = {{0, NTAPI_SOURCE_NETWORK}, {59, NTAPI_SOURCE_CACHE}, {2, NTAPI_SOURCE_NETWORK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_ok(ntapi_manual_clock_advance(clock, cases[i].age));
        ntapi_response *response = perform(client, "x", NULL);
        assert_int_equal(ntapi_response_get_source(response), cases[i].source);
        ntapi_response_free(response);
    }
    ntapi_manual_clock_free(clock);
    ntapi_stub_rule_free(rule);
    ntapi_stub_free(stub);
    ntapi_client_free(client);
}

static void ignore_event(void *user_data, const ntapi_server_event *event) {
    int *count = user_data;
    assert_non_null(event);
    ++*count;
}

static void a_stream_connects_again_without_waiting(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    check_ok(ntapi_client_set_clock(client, clock));
    char token[64];
    snprintf(token, sizeof token, "c%ld%p", (long)getpid(), (void *)clock);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", token));
    check_ok(ntapi_args_url(args, "retry", "60000"));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    int events = 0;
    ntapi_request *request = ntapi_client_create_request(client, "events", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_server_event_handler(request, ignore_event, &events, NULL));
    check_ok(ntapi_request_resume(request));
    for (int i = 0; i < 3; i++) {
        check_ok(ntapi_manual_clock_wait_for_sleepers(clock, 1, PATIENCE));
        assert_int_equal(ntapi_manual_clock_sleepers(clock), 1);
        assert_true(ntapi_manual_clock_next_wake(clock) >= 60 && ntapi_manual_clock_next_wake(clock) <= 90);
        check_ok(ntapi_manual_clock_advance(clock, 90));
    }
    check_ok(ntapi_request_wait(request, PATIENCE));
    assert_int_equal(events, 9);
    ntapi_request_free(request);
    /* The client keeps the clock alive, and may outlive its handle. */
    ntapi_manual_clock_free(clock);
    check_invalid(ntapi_manual_clock_advance(clock, 1));
    ntapi_response_free(perform(client, "ok", NULL));
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stands_still),
        cmocka_unit_test(ages_the_cache),
        cmocka_unit_test(a_stream_connects_again_without_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
