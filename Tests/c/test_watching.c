/* For bindings: waits that return from time to time, and requests that begin together with their events. */
#include "support.h"

#include "ntapi_python.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static ntapi_status perform_watching(ntapi_client *client, const char *command, double timeout, int descriptor,
                                     ntapi_watch *watch) {
    watch->timeout = timeout;
    watch->descriptor = descriptor;
    return ntapi_client_perform_watching(client, command, NULL, watch);
}

static ntapi_status wait_watching(ntapi_request *request, double timeout, int descriptor, ntapi_watch *watch) {
    watch->timeout = timeout;
    watch->descriptor = descriptor;
    return ntapi_request_wait_watching(request, watch);
}

/** A client whose transfers run on the caller's thread. With a state, they run on the network thread: a low limit
 * leaves no connection for callers. */
static ntapi_client *client_for(void **state) {
    ntapi_client *client = client_of("fault");
    if (*state != NULL)
        check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), "maximumConnectionsPerHost", 8));
    return client;
}

/** Checks the last five members of an event or a watch, which are the same in both. */
#define check_summary(told) check_told(told.response, told.error, told.body, told.length, told.status, told.contents)

static void check_told(const ntapi_response *response, const ntapi_error *error, const char *body, size_t size,
                       int status, int contents) {
    size_t length = 1;
    assert_ptr_equal(body, ntapi_response_data(response, &length));
    assert_int_equal(size, length);
    assert_int_equal(status, ntapi_response_status(response));
    assert_ptr_equal(error, ntapi_response_error(response));
    assert_int_equal((contents & NTAPI_CONTENT_JSON) != 0, ntapi_response_json(response) != NULL);
    assert_int_equal((contents & NTAPI_CONTENT_PREFIX_TEXT) != 0, ntapi_response_prefix_text(response) != NULL);
}

static void what_comes_is_the_response_and_its_summary(void **state) {
    (void)state;
    static const struct {
        const char *server, *command;
        int status, contents;
    } cases[] = {
        {"fault", "ok", 200, NTAPI_CONTENT_JSON},
        {"fault", "status/404", 404, 0},
        {"fault", "json/prefix-text", 200, NTAPI_CONTENT_JSON | NTAPI_CONTENT_PREFIX_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_client *client = client_of(cases[i].server);
        ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
        check_ok(perform_watching(client, cases[i].command, PATIENCE, -1, &watch));
        assert_non_null(watch.response);
        assert_null(watch.request);
        check_summary(watch);
        assert_int_equal(watch.status, cases[i].status);
        if (cases[i].status == 200)
            assert_int_equal(watch.contents, cases[i].contents);
        else
            assert_int_equal(ntapi_error_code(watch.error), NTAPI_CODE_HTTP_ERROR);
        ntapi_response_free(watch.response);
        ntapi_client_free(client);
    }
}

static void what_cannot_be_built_has_a_response(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_header(args, "X", "\n"));
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    check_ok(ntapi_client_perform_watching(client, "ok", args, &watch));
    check_summary(watch);
    assert_int_equal(watch.length, 0);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void the_time_runs_out_and_the_request_goes_on(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    assert_int_equal(perform_watching(client, "hold", 0, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    assert_null(watch.response);
    ntapi_request *request = watch.request;
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    assert_int_equal(wait_watching(request, 0.001, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    assert_null(watch.request);
    check_ok(ntapi_request_cancel(request));
    check_ok(wait_watching(request, PATIENCE, -1, &watch));
    check_summary(watch);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void a_response_comes_after_a_look_up(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    assert_int_equal(perform_watching(client, "late", 0, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request *request = watch.request;
    check_ok(wait_watching(request, PATIENCE, -1, &watch));
    assert_int_equal(watch.status, 200);
    ntapi_response_free(watch.response);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void a_readable_descriptor_interrupts(void **state) {
    ntapi_client *client = client_for(state);
    int ends[2];
    check_ok(pipe(ends));
    assert_int_equal(write(ends[1], "!", 1), 1);
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    assert_int_equal(perform_watching(client, "hold", -1, ends[0], &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request *request = watch.request;
    assert_int_equal(wait_watching(request, -1, ends[0], &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request_cancel(request);
    ntapi_request_free(request); /* it no longer has a waiting caller */
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    close(ends[0]);
    close(ends[1]);
    ntapi_client_free(client);
}

static void on_signal(int number) {
    (void)number;
}

struct shooting {
    pthread_t target;
    atomic_bool hit;
};

/** Repeats the signal, because one that comes before the wait interrupts nothing. */
static void *shoot(void *argument) {
    struct shooting *shooting = argument;
    while (!atomic_load(&shooting->hit)) {
        pthread_kill(shooting->target, SIGUSR1);
        poll(NULL, 0, 5);
    }
    return NULL;
}

static void a_signal_interrupts(void **state) {
    ntapi_client *client = client_for(state);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigaction(SIGUSR1, &action, &before);
    struct shooting shooting = {.target = pthread_self()};
    pthread_t thread;
    pthread_create(&thread, NULL, shoot, &shooting);
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    assert_int_equal(perform_watching(client, "hold", PATIENCE, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request *request = watch.request;
    assert_int_equal(wait_watching(request, PATIENCE, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    atomic_store(&shooting.hit, true);
    pthread_join(thread, NULL);
    ntapi_request_cancel(request);
    ntapi_request_free(request);
    sigaction(SIGUSR1, &before, NULL);
    ntapi_client_free(client);
}

static void *close_it(void *client) {
    check_ok(ntapi_client_close(client));
    return NULL;
}

static void *perform_until_closed(void *client) {
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    assert_int_equal(perform_watching(client, "hold", 0, -1, &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request *request = watch.request;
    pthread_t thread;
    pthread_create(&thread, NULL, close_it, client);
    check_ok(wait_watching(request, PATIENCE, -1, &watch));
    pthread_join(thread, NULL);
    ntapi_request_free(request);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
    return NULL;
}

static void close_on_another_thread_ends_the_wait(void **state) {
    ntapi_client *client = client_for(state);
    on_new_thread(perform_until_closed, client);
    ntapi_client_free(client);
}

static void other_requests_cannot_be_waited_for_so(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    ntapi_request *request = ntapi_client_begin(client, "ok", NULL, NULL, NULL, NULL);
    check_too_late(wait_watching(request, 0, -1, &watch));
    assert_null(watch.response);
    check_invalid(ntapi_request_wait_watching(request, NULL));
    check_invalid(ntapi_client_perform_watching(client, "ok", NULL, NULL));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void an_event_brings_the_summary_and_ends_the_request(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    int number = 7;
    ntapi_request *request = ntapi_client_begin_event(client, "ok", NULL, mailbox, &number);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
    ntapi_event event;
    assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 1);
    assert_int_equal(event.handler, NTAPI_HANDLER_RESPONSE);
    assert_ptr_equal(event.user_data, &number);
    check_summary(event);
    assert_int_equal(event.status, 200);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_NONE);
    ntapi_response_free(event.response);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void a_request_of_an_event_can_be_cancelled(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *request = ntapi_client_begin_event(client, "hold", NULL, mailbox, NULL);
    check_ok(ntapi_request_cancel(request));
    struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
    ntapi_event event;
    assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 1);
    check_error(event.response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
    check_invalid(ntapi_request_cancel(request));
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

/* There are more interceptors than workers. Each waits until all of them have come. */
enum { WAITING = 72 };
static _Atomic int inside;
static int all_are_inside[2];

static void wait_for_all(void *unused, ntapi_interception *interception) {
    (void)unused;
    bool is_worker = ntapi_worker_begin_wait();
    if (ntapi_interception_response(interception) == NULL) {
        if (atomic_fetch_add(&inside, 1) == WAITING - 1)
            close(all_are_inside[1]);
        struct pollfd fd = {.fd = all_are_inside[0], .events = POLLIN};
        poll(&fd, 1, (int)(PATIENCE * 1000));
    }
    if (is_worker)
        ntapi_worker_end_wait();
    ntapi_interception_proceed(interception);
    ntapi_interception_free(interception);
}

static void waits_of_a_binding_leave_workers_for_others(void **state) {
    (void)state;
    assert_false(ntapi_worker_begin_wait()); /* this thread is not a worker */
    ntapi_worker_end_wait();
    assert_int_equal(pipe(all_are_inside), 0);
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, NULL));
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_interceptor *interceptor =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, wait_for_all, NULL, NULL, NULL);
    check_ok(ntapi_client_add_interceptor(client, interceptor));
    ntapi_interceptor_free(interceptor);
    ntapi_request *requests[WAITING];
    for (int i = 0; i < WAITING; i++)
        requests[i] = ntapi_client_begin(client, "a", NULL, NULL, NULL, NULL);
    for (int i = 0; i < WAITING; i++) {
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        ntapi_request_free(requests[i]);
    }
    assert_int_equal(inside, WAITING);
    close(all_are_inside[0]);
    ntapi_client_free(client);
    ntapi_stub_free(stub);
}

int main(void) {
    static int network;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_is_the_response_and_its_summary),
        cmocka_unit_test(what_cannot_be_built_has_a_response),
        cmocka_unit_test(the_time_runs_out_and_the_request_goes_on),
        cmocka_unit_test_prestate(the_time_runs_out_and_the_request_goes_on, &network),
        cmocka_unit_test(a_response_comes_after_a_look_up),
        cmocka_unit_test_prestate(a_response_comes_after_a_look_up, &network),
        cmocka_unit_test(a_readable_descriptor_interrupts),
        cmocka_unit_test_prestate(a_readable_descriptor_interrupts, &network),
        cmocka_unit_test(a_signal_interrupts),
        cmocka_unit_test_prestate(a_signal_interrupts, &network),
        cmocka_unit_test(close_on_another_thread_ends_the_wait),
        cmocka_unit_test_prestate(close_on_another_thread_ends_the_wait, &network),
        cmocka_unit_test(other_requests_cannot_be_waited_for_so),
        cmocka_unit_test(an_event_brings_the_summary_and_ends_the_request),
        cmocka_unit_test(a_request_of_an_event_can_be_cancelled),
        cmocka_unit_test(waits_of_a_binding_leave_workers_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
