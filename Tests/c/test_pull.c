/* For bindings: bodies that the caller takes piece by piece. */
#include "support.h"

#include "ntapi_python.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

/** A client whose transfers run on the caller's thread. With a state, they run on the network thread: a low limit
 * leaves no connection for callers. */
static ntapi_client *client_for(void **state) {
    ntapi_client *client = client_of("fault");
    if (*state != NULL)
        check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), "maximumConnectionsPerHost", 8));
    return client;
}

static ntapi_status pull(ntapi_client *client, const char *command, ntapi_args *args, ntapi_watch *watch) {
    char path[256];
    ntapi_args *split = split_query(command, args, path);
    watch->timeout = PATIENCE;
    watch->descriptor = -1;
    ntapi_status status = ntapi_client_pull_watching(client, path, split, watch);
    ntapi_args_free(split);
    ntapi_args_free(args);
    return status;
}

/** Takes the rest of a body: its bytes, and the number of its pieces. The watch gets the response. */
static size_t rest(ntapi_request *request, ntapi_watch *watch, int *pieces) {
    size_t length = 0;
    do {
        length += watch->length;
        *pieces += watch->length > 0;
        check_ok(ntapi_request_pull_watching(request, watch));
    } while (watch->response == NULL);
    return length;
}

/** Ends a request when a test has seen enough of it. */
static void end(ntapi_client *client, ntapi_request *request) {
    ntapi_watch watch = {.timeout = PATIENCE, .descriptor = -1};
    check_ok(ntapi_request_cancel(request));
    check_ok(ntapi_request_pull_watching(request, &watch));
    check_error(watch.response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void every_byte_comes_and_then_the_response(void **state) {
    static const struct {
        const char *command;
        size_t length;
        int pieces;
    } cases[] = {{"drip?size=60&bytes=60&ms=0", 60, 1}, {"drip?size=60&bytes=20&ms=20", 60, 2}};
    for (size_t i = 0; i < 2; i++) {
        ntapi_client *client = client_for(state);
        ntapi_watch watch;
        check_ok(pull(client, cases[i].command, NULL, &watch));
        assert_null(watch.response);
        ntapi_request *request = watch.request;
        assert_int_equal(ntapi_request_received_status(request), 200);
        int pieces = 0;
        assert_int_equal(rest(request, &watch, &pieces), cases[i].length);
        assert_true(pieces >= cases[i].pieces);
        assert_int_equal(watch.status, 200);
        assert_null(watch.error);
        assert_int_equal(watch.length, 0); /* the pieces were the whole body */
        ntapi_response_free(watch.response);
        check_ok(ntapi_request_pull_watching(request, &watch));
        ntapi_response_free(watch.response); /* after the end, it stays ended */
        ntapi_request_free(request);
        ntapi_client_free(client);
    }
}

static void a_large_body_waits_for_its_reader(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "endless", NULL, &watch));
    ntapi_request *request = watch.request;
    size_t taken = 0;
    while (taken < 8 << 20) {
        assert_true(watch.length <= 320 << 10);
        taken += watch.length;
        check_ok(ntapi_request_pull_watching(request, &watch));
        assert_null(watch.response);
    }
    /* Not much more has been received than what was taken. */
    assert_true(metric(request, "progress.bytesReceived") <= (double)taken + (1 << 20));
    end(client, request);
}

static void the_head_comes_alone(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "stall/after-headers", NULL, &watch));
    ntapi_request *request = watch.request;
    assert_null(watch.response);
    assert_int_equal(watch.length, 0);
    assert_int_equal(ntapi_request_received_status(request), 200);
    watch.timeout = 0;
    assert_int_equal(ntapi_request_pull_watching(request, &watch), NTAPI_STATUS_TIMED_OUT);
    watch.timeout = PATIENCE;
    end(client, request);
}

static void what_fails_before_its_body_has_a_response(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "close", NULL, &watch));
    assert_null(watch.request);
    assert_non_null(watch.error);
    ntapi_response_free(watch.response);
    /* The body of an error is in the response. */
    check_ok(pull(client, "status/404", NULL, &watch));
    assert_null(watch.request);
    assert_int_equal(watch.status, 404);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    ntapi_client_free(client);
}

static void what_fails_in_its_body_gives_the_pieces_first(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "length/long", NULL, &watch));
    ntapi_request *request = watch.request;
    int pieces = 0;
    assert_true(rest(request, &watch, &pieces) > 0);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void the_time_of_the_caller_is_no_silence(void **state) {
    enum { SILENCE = 300 }; /* milliseconds */
    ntapi_client *client = client_for(state);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, SILENCE / 1000.0));
    ntapi_watch watch;
    check_ok(pull(client, "stall/in-body", args, &watch));
    ntapi_request *request = watch.request;
    while (watch.length == 0)
        check_ok(ntapi_request_pull_watching(request, &watch));
    poll(NULL, 0, SILENCE + 50); /* meanwhile nobody receives anything */
    double start = seconds();
    check_ok(ntapi_request_pull_watching(request, &watch));
    if (*state == NULL)
        assert_true(seconds() - start > SILENCE / 1000.0 / 2);
    check_error(watch.response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TIMEOUT);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void a_freed_request_ends(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "endless", NULL, &watch));
    check_ok(ntapi_request_cancel(watch.request));
    ntapi_request_free(watch.request);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_client_free(client);
}

static void *close_it(void *client) {
    check_ok(ntapi_client_close(client));
    return NULL;
}

static void close_on_another_thread_ends_it(void **state) {
    for (int is_inside = 0; is_inside < 2; is_inside++) {
        ntapi_client *client = client_for(state);
        ntapi_watch watch;
        check_ok(pull(client, "stall/after-headers", NULL, &watch));
        ntapi_request *request = watch.request;
        pthread_t thread;
        pthread_create(&thread, NULL, close_it, client);
        if (!is_inside)
            pthread_join(thread, NULL);
        check_ok(ntapi_request_pull_watching(request, &watch));
        if (is_inside)
            pthread_join(thread, NULL);
        check_error(watch.response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
        ntapi_request_free(request);
        ntapi_client_free(client);
    }
}

struct passed {
    ntapi_request *request;
    ntapi_watch watch;
    size_t length;
};

static void *read_rest(void *argument) {
    struct passed *passed = argument;
    int pieces = 0;
    passed->length = rest(passed->request, &passed->watch, &pieces);
    return NULL;
}

static void another_thread_may_take_the_rest(void **state) {
    ntapi_client *client = client_for(state);
    int ends[2];
    check_ok(pipe(ends));
    struct passed passed;
    check_ok(pull(client, "drip?size=60&bytes=10&ms=5", NULL, &passed.watch));
    passed.request = passed.watch.request;
    passed.watch.descriptor = ends[0];
    on_new_thread(read_rest, &passed);
    assert_int_equal(passed.length, 60);
    ntapi_response_free(passed.watch.response);
    ntapi_request_free(passed.request);
    close(ends[0]);
    close(ends[1]);
    ntapi_client_free(client);
}

enum { READERS = 6, ROUNDS = 60 };

/** One of many readers. At moments that depend on the seed, waits are cut short, and requests are cancelled or
 * handed over. */
static void *read_at_random(void *argument) {
    unsigned *seed = argument;
    void *network = rand_r(seed) % 2 ? seed : NULL;
    ntapi_client *client = client_for(&network);
    for (int round = 0; round < ROUNDS; round++) {
        int size = 20 + rand_r(seed) % 400;
        char command[64];
        snprintf(command, sizeof command, "drip?size=%d&bytes=%d&ms=%d", size, 1 + size / (1 + rand_r(seed) % 8),
                 rand_r(seed) % 3);
        struct passed passed = {.length = 0};
        check_ok(pull(client, command, NULL, &passed.watch));
        passed.request = passed.watch.request;
        int moment = rand_r(seed) % 12, way = rand_r(seed) % 4;
        bool is_cancelled = false;
        ntapi_status status = NTAPI_STATUS_OK;
        while (passed.watch.response == NULL) {
            if (status == NTAPI_STATUS_OK)
                passed.length += passed.watch.length;
            if (moment-- == 0 && way == 0) {
                is_cancelled = ntapi_request_cancel(passed.request) == NTAPI_STATUS_OK;
            } else if (moment == 0 && way == 1) {
                size_t before = passed.length;
                if (status == NTAPI_STATUS_OK)
                    before -= passed.watch.length;
                else
                    passed.watch.length = 0;
                passed.watch.timeout = PATIENCE;
                on_new_thread(read_rest, &passed);
                passed.length += before;
                break;
            }
            passed.watch.timeout = rand_r(seed) % 3 ? PATIENCE : (rand_r(seed) % 3) / 1000.0;
            status = ntapi_request_pull_watching(passed.request, &passed.watch);
            assert_true(status == NTAPI_STATUS_OK || status == NTAPI_STATUS_TIMED_OUT);
        }
        if (is_cancelled)
            assert_int_equal(ntapi_error_code(passed.watch.error), NTAPI_CODE_CANCELLED);
        else
            assert_null(passed.watch.error);
        assert_true(is_cancelled || passed.length == (size_t)size);
        ntapi_response_free(passed.watch.response);
        ntapi_request_free(passed.request);
    }
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_client_free(client);
    return NULL;
}

static void interruptions_at_random_change_nothing(void **state) {
    (void)state;
    unsigned seeds[READERS];
    pthread_t threads[READERS];
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (int i = 0; i < READERS; i++) {
        seeds[i] = seed + (unsigned)i;
        pthread_create(&threads[i], NULL, read_at_random, &seeds[i]);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
}

static void the_message_of_another_library_is_sent_as_it_is(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, NULL);
    ntapi_args *usual = ntapi_args_create();
    check_ok(ntapi_args_option(usual, "ignore_http_errors", ""));
    char texts[512];
    snprintf(texts, sizeof texts, "PUT%c%s/echo%cX-Color%cblue%cx-color%cred", 0, server("fault"), 0, 0, 0, 0);
    for (int i = 0; i < 2; i++) { /* the args of a program serve many requests */
        ntapi_json *seen = fetch(client, "", ntapi_args_create_message(usual, texts, 6));
        check_string(seen, "method", "PUT");
        const char *headers = ntapi_json_text(ntapi_json_get(seen, "headers"));
        assert_non_null(strstr(headers, "[\"X-Color\",\"blue\"],[\"x-color\",\"red\"]"));
        ntapi_json_free(seen);
    }
    assert_null(ntapi_args_create_message(usual, texts, 1));
    assert_null(ntapi_args_create_message(usual, texts, 3));
    assert_null(ntapi_args_create_message(usual, "GET\0http://\xff", 2));
    assert_null(ntapi_args_create_message(usual, NULL, 2));
    assert_null(ntapi_args_create_message(NULL, texts, 6));
    ntapi_args_free(usual);
    ntapi_client_free(client);
}

static void the_head_comes_as_one_text(void **state) {
    ntapi_client *client = client_for(state);
    ntapi_watch watch;
    check_ok(pull(client, "headers?x-one=1&x-one=2", NULL, &watch));
    ntapi_request *request = watch.request;
    const char *head = ntapi_request_received_message(request);
    assert_int_equal(strncmp(head, "HTTP/1.1 200 OK\r\n", 17), 0);
    assert_non_null(strstr(head, "\r\nx-one: 1\r\nx-one: 2\r\n"));
    assert_string_equal(head + strlen(head) - 2, "\r\n");
    assert_null(ntapi_request_received_message(NULL));
    int pieces = 0;
    rest(request, &watch, &pieces);
    ntapi_response_free(watch.response);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void other_requests_cannot_be_pulled(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_watch watch = {.timeout = 0, .descriptor = -1};
    assert_int_equal(ntapi_client_perform_watching(client, "hold", NULL, &watch), NTAPI_STATUS_TIMED_OUT);
    ntapi_request *request = watch.request;
    check_too_late(ntapi_request_pull_watching(request, &watch));
    check_invalid(ntapi_request_pull_watching(request, NULL));
    check_invalid(ntapi_request_pull_watching(NULL, &watch));
    check_invalid(ntapi_client_pull_watching(client, "ok", NULL, NULL));
    check_invalid(ntapi_client_pull_watching(NULL, "ok", NULL, &watch));
    ntapi_request_cancel(request);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void all_header_lines_come_as_one_text(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "headers?x-one=1&x-one=2", NULL);
    const ntapi_headers *headers = ntapi_response_headers(response);
    const char *lines = ntapi_headers_lines(headers), *name, *value;
    for (size_t i = 0; (value = ntapi_headers_at(headers, i, &name)) != NULL; i++) {
        char line[512];
        int length = snprintf(line, sizeof line, "%s: %s\r\n", name, value);
        assert_int_equal(strncmp(lines, line, (size_t)length), 0);
        lines += length;
    }
    assert_string_equal(lines, "");
    assert_null(ntapi_headers_lines(NULL));
    ntapi_response_free(response);
    ntapi_client_free(client);
}

#define each_way(test) cmocka_unit_test(test), cmocka_unit_test_prestate(test, &network)

int main(void) {
    static int network;
    const struct CMUnitTest tests[] = {
        each_way(every_byte_comes_and_then_the_response),
        each_way(a_large_body_waits_for_its_reader),
        each_way(the_head_comes_alone),
        each_way(what_fails_before_its_body_has_a_response),
        each_way(what_fails_in_its_body_gives_the_pieces_first),
        each_way(the_time_of_the_caller_is_no_silence),
        each_way(a_freed_request_ends),
        each_way(close_on_another_thread_ends_it),
        each_way(another_thread_may_take_the_rest),
        cmocka_unit_test(interruptions_at_random_change_nothing),
        cmocka_unit_test(the_message_of_another_library_is_sent_as_it_is),
        each_way(the_head_comes_as_one_text),
        cmocka_unit_test(other_requests_cannot_be_pulled),
        cmocka_unit_test(all_header_lines_come_as_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
