/* Observers: what they are told about requests, in which order, with which values, and how long they live. */
#include "session.h"
#include "support.h"

#include <sched.h>

enum { MOST = 64 };

/** What an observer has been told. */
typedef struct listener {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char lines[MOST][160];
    int count, contexts, destroys;
    pthread_t begun_on;
    const char *header, *value; /* to add to each attempt */
    ntapi_status added;
} listener;

static const char *name_of(ntapi_observed event) {
    switch (event) {
    case NTAPI_OBSERVED_BEGUN:
        return "begun";
    case NTAPI_OBSERVED_WAIT_BEGINS:
        return "waits";
    case NTAPI_OBSERVED_WAIT_ENDS:
        return "waited";
    case NTAPI_OBSERVED_ATTEMPT_BEGINS:
        return "attempt";
    case NTAPI_OBSERVED_ATTEMPT_ENDS:
        return "answer";
    case NTAPI_OBSERVED_CACHE:
        return "cache";
    case NTAPI_OBSERVED_CIRCUIT:
        return "circuit";
    case NTAPI_OBSERVED_ENDED:
        return "ended";
    default:
        return "?";
    }
}

static void listen(void *user_data, ntapi_observation *observed) {
    listener *self = user_data;
    pthread_mutex_lock(&self->lock);
    assert_true(self->count < MOST);
    if (observed->event == NTAPI_OBSERVED_BEGUN) {
        assert_null(observed->context);
        observed->context = malloc(1);
        self->contexts++;
        self->begun_on = pthread_self();
    }
    assert_non_null(observed->context);
    assert_int_equal(observed->size, sizeof *observed);
    assert_true(observed->request != NULL && observed->command != NULL);
    const char *word = observed->reason ? observed->reason : observed->wait ? observed->wait : observed->outcome;
    snprintf(self->lines[self->count++], sizeof self->lines[0], "%s %d %s %d %d", name_of(observed->event),
             observed->attempt, word ? word : "-", observed->status,
             observed->error ? (int)ntapi_error_code(observed->error) : 0);
    self->added = NTAPI_STATUS_OK;
    if (self->header != NULL)
        self->added = ntapi_observation_add_header(observed, self->header, self->value);
    if (observed->event == NTAPI_OBSERVED_ATTEMPT_ENDS && observed->status > 0) {
        assert_string_equal(observed->address, "127.0.0.1");
        assert_true(observed->port > 0 && observed->total > 0 && observed->seconds >= observed->total);
        assert_true(observed->http_version == 1.1 && observed->first_byte > 0);
        assert_non_null(ntapi_headers_get(observed->headers, "Content-Length"));
        assert_non_null(strstr(observed->url, observed->command));
        assert_string_equal(observed->method, "GET");
    }
    if (observed->event == NTAPI_OBSERVED_ENDED) {
        free(observed->context);
        self->contexts--;
    }
    pthread_mutex_unlock(&self->lock);
}

static void forget(void *user_data) {
    listener *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->destroys++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/** Waits until nothing uses the observer any more. */
static void finish(listener *self, ntapi_client *client) {
    ntapi_client_free(client);
    pthread_mutex_lock(&self->lock);
    while (self->destroys == 0)
        pthread_cond_wait(&self->changed, &self->lock);
    assert_int_equal(self->destroys, 1);
    pthread_mutex_unlock(&self->lock);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
}

static void check_lines(listener *self, const char *const *lines) {
    pthread_mutex_lock(&self->lock);
    int count = 0;
    for (; lines[count] != NULL; count++) {
        assert_true(count < self->count);
        assert_string_equal(self->lines[count], lines[count]);
    }
    assert_int_equal(self->count, count);
    assert_int_equal(self->contexts, 0);
    self->count = 0;
    pthread_mutex_unlock(&self->lock);
}
#define check_heard(self, ...) check_lines(self, (const char *const[]){__VA_ARGS__, NULL})

static ntapi_observer *new_observer(listener *self, int events) {
    *self = (listener){.count = 0};
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    ntapi_observer *observer = ntapi_observer_create(events, listen, self, forget);
    assert_non_null(observer);
    return observer;
}

static void everything_is_heard_in_order(void **state) {
    (void)state;
    listener heard;
    ntapi_observer *observer = new_observer(&heard, NTAPI_OBSERVED_ALL);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_add_observer(client, observer));
    ntapi_response_free(ntapi_client_perform(client, "status/200", NULL));
    check_heard(&heard, "begun 0 - 0 0", "attempt 1 first 0 0", "answer 1 first 200 0", "ended 0 - 200 0");
    assert_true(pthread_equal(heard.begun_on, pthread_self()));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_retry(args, &(ntapi_retry_policy){.size = sizeof(ntapi_retry_policy), .attempts = 2}));
    ntapi_response_free(ntapi_client_perform(client, "status/503", args));
    ntapi_args_free(args);
    check_heard(&heard, "begun 0 - 0 0", "attempt 1 first 0 0", "answer 1 first 503 0", "waits 0 pause 0 0",
                "waited 0 pause 0 0", "attempt 2 retry 0 0", "answer 2 retry 503 0", "ended 0 - 503 8");
    ntapi_observer_free(observer);
    finish(&heard, client);
}

static void only_what_was_chosen_is_heard(void **state) {
    (void)state;
    listener all, some;
    ntapi_observer *first = new_observer(&all, NTAPI_OBSERVED_BEGUN | NTAPI_OBSERVED_ENDED);
    ntapi_observer *second = new_observer(&some, NTAPI_OBSERVED_BEGUN | NTAPI_OBSERVED_ENDED);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_add_observer(first));
    check_ok(ntapi_client_add_observer(client, second));
    ntapi_response_free(ntapi_client_perform(client, "status/200", NULL));
    check_heard(&all, "begun 0 - 0 0", "ended 0 - 200 0");
    check_heard(&some, "begun 0 - 0 0", "ended 0 - 200 0");
    check_ok(ntapi_remove_observer(first));
    check_too_late(ntapi_remove_observer(first));
    check_too_late(ntapi_client_remove_observer(client, first));
    check_ok(ntapi_client_remove_observer(client, second));
    ntapi_response_free(ntapi_client_perform(client, "status/200", NULL));
    assert_int_equal(all.count + some.count, 0);
    check_invalid(ntapi_client_add_observer(client, NULL));
    check_invalid(ntapi_client_add_observer(NULL, first));
    check_invalid(ntapi_add_observer(NULL));
    ntapi_observer_free(first);
    ntapi_observer_free(second);
    finish(&all, NULL);
    finish(&some, client);
}

static void an_observer_may_be_freed_at_once(void **state) {
    (void)state;
    listener heard;
    ntapi_observer *observer = new_observer(&heard, NTAPI_OBSERVED_ALL);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_add_observer(client, observer));
    ntapi_observer_free(observer);
    witness seen;
    witness_init(&seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "late?ms=30", &seen);
    ntapi_client_free(client);
    witness_wait(&seen, 1);
    check_heard(&heard, "begun 0 - 0 0", "attempt 1 first 0 0", "answer 1 first 200 0", "ended 0 - 200 0");
    witness_free(&seen);
    finish(&heard, NULL);
}

static void wrong_observers_are_refused(void **state) {
    (void)state;
    listener heard = {.count = 0};
    pthread_mutex_init(&heard.lock, NULL);
    pthread_cond_init(&heard.changed, NULL);
    assert_null(ntapi_observer_create(NTAPI_OBSERVED_ALL, NULL, &heard, forget));
    assert_null(ntapi_observer_create(1024, listen, &heard, forget));
    assert_null(ntapi_observer_create(-1, listen, &heard, forget));
    assert_int_equal(heard.destroys, 3);
}

static void an_attempt_gets_headers(void **state) {
    (void)state;
    listener heard;
    ntapi_observer *observer =
        new_observer(&heard, NTAPI_OBSERVED_BEGUN | NTAPI_OBSERVED_ATTEMPT_BEGINS | NTAPI_OBSERVED_ENDED);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_add_observer(client, observer));
    char *traceparent = ntapi_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_int_equal(strlen(traceparent), 55);
    assert_memory_equal(traceparent, "00-0af7651916cd43dd8448eb211c80319c-", 36);
    heard.header = "traceparent";
    heard.value = traceparent;
    ntapi_json *seen = fetch(client, "echo", NULL);
    bool is_there = false;
    for (int i = 0; !is_there && i < 20; i++) {
        char path[40];
        snprintf(path, sizeof path, "headers[%d][1]", i);
        const char *value = ntapi_json_string(seen, path);
        is_there = value != NULL && strcmp(value, traceparent) == 0;
    }
    assert_true(is_there);
    ntapi_json_free(seen);
    /* ENDED is the last event. */
    check_too_late(heard.added);
    check_invalid(ntapi_observation_add_header(NULL, "a", "b"));
    ntapi_text_free(traceparent);
    char *fresh = ntapi_traceparent(NULL);
    assert_int_equal(strlen(fresh), 55);
    ntapi_text_free(fresh);
    ntapi_observer_free(observer);
    finish(&heard, client);
}

static void what_has_begun_ends_with_a_cancel(void **state) {
    (void)state;
    listener heard;
    ntapi_observer *observer = new_observer(&heard, NTAPI_OBSERVED_BEGUN | NTAPI_OBSERVED_ENDED |
                                                        NTAPI_OBSERVED_ATTEMPT_BEGINS | NTAPI_OBSERVED_ATTEMPT_ENDS);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_add_observer(client, observer));
    for (int round = 0; round < 50; round++) {
        ntapi_request *request = ntapi_client_begin(client, "hold", NULL, NULL, NULL, NULL);
        /* Each round has another moment. */
        for (int turn = 0; turn < round; turn++)
            sched_yield();
        ntapi_request_cancel(request);
        check_ok(ntapi_request_wait(request, PATIENCE));
        ntapi_request_free(request);
        pthread_mutex_lock(&heard.lock);
        assert_int_equal(heard.contexts, 0);
        assert_int_equal(heard.count, 4);
        heard.count = 0;
        pthread_mutex_unlock(&heard.lock);
    }
    ntapi_observer_free(observer);
    finish(&heard, client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_heard_in_order),     cmocka_unit_test(only_what_was_chosen_is_heard),
        cmocka_unit_test(an_observer_may_be_freed_at_once), cmocka_unit_test(wrong_observers_are_refused),
        cmocka_unit_test(an_attempt_gets_headers),          cmocka_unit_test(what_has_begun_ends_with_a_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
