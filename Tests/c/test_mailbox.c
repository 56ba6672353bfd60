/* Where handlers run: mailboxes with callbacks and with events, and executors. */
#include "support.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

/** Whether the mailbox's descriptor is readable within some milliseconds. With -1 it waits for PATIENCE. */
static bool readable(const ntapi_mailbox *mailbox, int milliseconds) {
    struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    return poll(&fd, 1, milliseconds < 0 ? (int)(PATIENCE * 1000) : milliseconds) == 1 && (fd.revents & POLLIN) != 0;
}

static ntapi_args *to_mailbox(ntapi_mailbox *mailbox) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
    return args;
}

/** Creates and resumes a request that delivers its response as an event. */
static ntapi_request *begin_events(ntapi_client *client, const char *command, ntapi_mailbox *mailbox, void *user_data) {
    ntapi_args *args = to_mailbox(mailbox);
    ntapi_request *request = ntapi_client_create_request(client, command, args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE, user_data));
    check_ok(ntapi_request_resume(request));
    ntapi_args_free(args);
    return request;
}

static void main_is_the_default_thread(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin(client, "ok", NULL, &seen);
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    assert_true(readable(mailbox, -1));
    assert_int_equal(seen.responses, 0);
    assert_true(ntapi_mailbox_drain(mailbox) >= 1);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_true(pthread_equal(seen.thread, pthread_self()));
    assert_false(readable(mailbox, 0));
    assert_int_equal(ntapi_mailbox_drain(mailbox), 0);
    ntapi_mailbox_free(mailbox);
    witness_free(&seen);
    ntapi_client_free(client);
}

static void *run_current(void *client) {
    witness seen, background;
    witness_init(&seen);
    witness_init(&background);
    begin_on(NTAPI_THREAD_CURRENT, client, "ok", &seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "ok", &background);
    witness_wait(&background, 1); /* it needs no mailbox that runs */
    assert_false(pthread_equal(background.thread, pthread_self()));
    ntapi_mailbox *mailbox = ntapi_mailbox_current();
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    witness_check_once(&background);
    assert_true(pthread_equal(seen.thread, pthread_self()));
    ntapi_mailbox_free(mailbox);
    witness_free(&seen);
    witness_free(&background);
    return NULL;
}

static void current_and_background_run_where_they_say(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    on_new_thread(run_current, client);
    run_current(client); /* on the main thread, current means main */
    ntapi_client_free(client);
}

static void *begin_and_end(void *argument) {
    witness *seen = argument;
    ntapi_client *client = client_of("fault");
    begin_on(NTAPI_THREAD_CURRENT, client, "late?ms=20", seen);
    ntapi_client_free(client);
    return NULL;
}

static void ended_thread_hands_over_to_the_background(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    on_new_thread(begin_and_end, &seen);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_false(pthread_equal(seen.thread, pthread_self()));
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    witness_free(&seen);
}

static void *begin_wait_until_delivered_and_end(void *argument) {
    /* The callback is already in the mailbox when the thread ends. */
    witness *seen = argument;
    ntapi_client *client = client_of("fault");
    begin_on(NTAPI_THREAD_CURRENT, client, "ok", seen);
    ntapi_mailbox *mailbox = ntapi_mailbox_current();
    assert_true(readable(mailbox, -1));
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return NULL;
}

static void ended_thread_hands_over_what_waits(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    on_new_thread(begin_wait_until_delivered_and_end, &seen);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    witness_free(&seen);
}

static void own_mailbox_runs_where_it_is_drained(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    assert_false(readable(mailbox, 0));
    assert_int_equal(ntapi_mailbox_drain(mailbox), 0);
    ntapi_args *args = to_mailbox(mailbox);
    witness seen[10];
    for (int i = 0; i < 10; i++) {
        witness_init(&seen[i]);
        begin(client, "ok", args, &seen[i]);
    }
    for (size_t ran = 0; ran < 10;) {
        assert_true(readable(mailbox, -1));
        ran += ntapi_mailbox_drain(mailbox);
    }
    assert_false(readable(mailbox, 0));
    for (int i = 0; i < 10; i++) {
        witness_wait(&seen[i], 1);
        witness_check_once(&seen[i]);
        witness_free(&seen[i]);
    }
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void stop_from_handler(void *mailbox, const ntapi_response *response) {
    (void)response;
    check_ok(ntapi_mailbox_stop(mailbox));
}

static void run_ends_by_time_and_by_stop(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    assert_int_equal(ntapi_mailbox_run(mailbox, 0), NTAPI_STATUS_TIMED_OUT);
    assert_int_equal(ntapi_mailbox_run(mailbox, 0.01), NTAPI_STATUS_TIMED_OUT);

    ntapi_args *args = to_mailbox(mailbox);
    ntapi_request *request = ntapi_client_begin(client, "ok", args, stop_from_handler, mailbox, NULL);
    check_ok(ntapi_mailbox_run(mailbox, -1));
    ntapi_request_free(request);

    check_ok(ntapi_mailbox_stop(mailbox)); /* it does not run, so this ends the next run */
    check_ok(ntapi_mailbox_run(mailbox, -1));
    assert_int_equal(ntapi_mailbox_run(mailbox, 0.01), NTAPI_STATUS_TIMED_OUT);
    check_invalid(ntapi_mailbox_run(NULL, 0));
    check_invalid(ntapi_mailbox_stop(NULL));
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

struct nesting {
    ntapi_mailbox *mailbox;
    ntapi_client *client;
    ntapi_status inner;
};

static void run_inside(void *user_data, const ntapi_response *response) {
    (void)response;
    struct nesting *nesting = user_data;
    ntapi_args *args = to_mailbox(nesting->mailbox);
    ntapi_request *request = ntapi_client_begin(nesting->client, "ok", args, stop_from_handler, nesting->mailbox, NULL);
    nesting->inner = ntapi_mailbox_run(nesting->mailbox, -1);
    check_ok(ntapi_mailbox_stop(nesting->mailbox));
    ntapi_request_free(request);
    ntapi_args_free(args);
}

/** Each handler begins the next request, so the mailbox is hardly ever empty. */
struct chain {
    ntapi_client *client;
    ntapi_args *args;
    int left;
};

static void next_of_chain(void *user_data, const ntapi_response *response) {
    (void)response;
    struct chain *chain = user_data;
    if (chain->left-- > 0)
        ntapi_request_free(ntapi_client_begin(chain->client, "ok", chain->args, next_of_chain, chain, NULL));
}

static void run_ends_by_time_while_callbacks_keep_coming(void **state) {
    (void)state;
    struct chain chain = {.client = client_of("fault"), .args = ntapi_args_create(), .left = 1 << 30};
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    check_ok(ntapi_args_mailbox(chain.args, NTAPI_HANDLER_ALL, mailbox));
    for (int i = 0; i < 64; i++)
        ntapi_request_free(ntapi_client_begin(chain.client, "ok", chain.args, next_of_chain, &chain, NULL));
    assert_int_equal(ntapi_mailbox_run(mailbox, 0.1), NTAPI_STATUS_TIMED_OUT);
    assert_true(chain.left > 0);
    chain.left = 0;
    while (ntapi_client_drain(chain.client, 0) > 0)
        ntapi_mailbox_run(mailbox, 0.01);
    ntapi_args_free(chain.args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(chain.client);
}

static void stop_ends_the_innermost_run(void **state) {
    (void)state;
    struct nesting nesting = {ntapi_mailbox_create(), client_of("fault"), NTAPI_STATUS_TIMED_OUT};
    ntapi_args *args = to_mailbox(nesting.mailbox);
    ntapi_request *request = ntapi_client_begin(nesting.client, "ok", args, run_inside, &nesting, NULL);
    check_ok(ntapi_mailbox_run(nesting.mailbox, -1));
    check_ok(nesting.inner);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(nesting.mailbox);
    ntapi_client_free(nesting.client);
}

static void *use_anothers(void *mailbox) {
    ntapi_event event;
    assert_int_equal(ntapi_mailbox_drain(mailbox), 0);
    assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 0);
    check_too_late(ntapi_mailbox_run(mailbox, 0));
    return NULL;
}

static void a_threads_mailbox_is_its_own(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin(client, "ok", NULL, &seen);
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    assert_true(readable(mailbox, -1));
    on_new_thread(use_anothers, mailbox);
    assert_int_equal(seen.responses, 0);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    ntapi_mailbox_free(mailbox);
    witness_free(&seen);
    ntapi_client_free(client);
}

static void mailbox_freed_early_delivers_in_the_background(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness before, waiting;
    witness_init(&before);
    witness_init(&waiting);
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = to_mailbox(mailbox);
    begin(client, "late?ms=20", args, &before);
    begin(client, "ok", args, &waiting);
    assert_true(readable(mailbox, -1)); /* one event waits, another is still to come */
    ntapi_mailbox_free(mailbox);
    ntapi_args_free(args);
    witness_wait(&before, 1);
    witness_wait(&waiting, 1);
    witness_check_once(&before);
    witness_check_once(&waiting);
    witness_free(&before);
    witness_free(&waiting);
    ntapi_client_free(client);
}

static void mailbox_of_the_clients_args_may_be_freed_early(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = to_mailbox(mailbox);
    check_ok(ntapi_client_set_args(client, args));
    witness seen;
    witness_init(&seen);
    begin(client, "late?ms=20", NULL, &seen);
    ntapi_mailbox_free(mailbox); /* its last handle: client and args do not count */
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    witness_free(&seen);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void events_are_taken_many_at_once(void **state) {
    (void)state;
    enum { COUNT = 20 };
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *requests[COUNT];
    int numbers[COUNT], seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i;
        requests[i] = begin_events(client, "ok", mailbox, &numbers[i]);
    }
    ntapi_event events[COUNT + 1];
    assert_int_equal(ntapi_mailbox_take(mailbox, events, sizeof *events, 0), 0);
    assert_int_equal(ntapi_mailbox_take(mailbox, events, 0, 7), 0);
    assert_int_equal(ntapi_mailbox_take(mailbox, events, sizeof *events - 1, 7), 0);
    for (int taken = 0; taken < COUNT;) {
        assert_true(readable(mailbox, -1));
        size_t count = ntapi_mailbox_take(mailbox, events, sizeof *events, 7);
        assert_in_range(count, 1, 7);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(events[i].handler, NTAPI_HANDLER_RESPONSE);
            seen[*(int *)events[i].user_data]++;
            assert_int_equal(code_of(events[i].response), NTAPI_CODE_NONE);
            ntapi_response_free(events[i].response);
        }
        taken += (int)count;
    }
    assert_int_equal(ntapi_mailbox_take(mailbox, events, sizeof *events, COUNT + 1), 0);
    assert_false(readable(mailbox, 0));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(seen[i], 1);
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        ntapi_request_free(requests[i]);
    }
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void taking_runs_plain_callbacks_on_the_way(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = to_mailbox(mailbox);
    witness plain;
    witness_init(&plain);
    begin(client, "ok", args, &plain);
    ntapi_event event;
    while (plain.destroys == 0) {
        assert_true(readable(mailbox, -1));
        assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 0);
    }
    witness_check_once(&plain);
    witness_free(&plain);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void progress_comes_as_events_too(void **state) {
    (void)state;
    ntapi_client *client = client_of("weather");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = to_mailbox(mailbox);
    check_ok(ntapi_args_url_int(args, "size", 300000));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_request *request = ntapi_client_create_request(client, "download", args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_DOWNLOAD_PROGRESS, request));
    check_ok(ntapi_request_resume(request));
    int64_t first = -1, last = -1, total = -1;
    for (bool done = false; !done;) {
        assert_true(readable(mailbox, -1));
        ntapi_event event;
        while (!done && ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 1) {
            assert_ptr_equal(event.user_data, request);
            if (event.handler == NTAPI_HANDLER_RESPONSE) {
                done = true;
                size_t length = 0;
                ntapi_response_data(event.response, &length);
                assert_int_equal(length, 300000);
                ntapi_response_free(event.response);
            } else {
                assert_int_equal(event.handler, NTAPI_HANDLER_DOWNLOAD_PROGRESS);
                assert_null(event.response);
                first = first < 0 ? event.bytes : first;
                last = event.bytes;
                total = event.total;
            }
        }
    }
    assert_int_equal(first, 0);
    assert_int_equal(last, 300000);
    assert_int_equal(total, 300000);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void no_question_of_a_cancelled_request_is_taken(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = to_mailbox(mailbox);
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_DECISION, NULL));
    check_ok(ntapi_request_resume(request));
    assert_true(readable(mailbox, -1)); /* because of the question */
    check_ok(ntapi_request_cancel(request));
    ntapi_event event;
    while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 0)
        assert_true(readable(mailbox, -1));
    assert_int_equal(event.handler, NTAPI_HANDLER_RESPONSE);
    assert_int_equal(code_of(event.response), NTAPI_CODE_CANCELLED);
    assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 0);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void events_that_nobody_takes_leak_nothing(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *request = begin_events(client, "ok", mailbox, NULL);
    assert_true(readable(mailbox, -1));
    ntapi_mailbox_free(mailbox);
    ntapi_request_free(request);
    ntapi_client_free(client); /* the address sanitizer checks for leaks */
}

/** An executor that keeps its jobs until it is told to run them. */
struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ntapi_job *jobs[16];
    int count;
    int destroys;
    bool at_once;
};

static void shelve(void *user_data, ntapi_job *job) {
    struct shelf *shelf = user_data;
    if (shelf->at_once) {
        ntapi_job_run(job);
        return;
    }
    pthread_mutex_lock(&shelf->lock);
    shelf->jobs[shelf->count++] = job;
    pthread_cond_signal(&shelf->changed);
    pthread_mutex_unlock(&shelf->lock);
}

static void shelf_destroy(void *user_data) {
    struct shelf *shelf = user_data;
    pthread_mutex_lock(&shelf->lock);
    shelf->destroys++;
    pthread_cond_signal(&shelf->changed);
    pthread_mutex_unlock(&shelf->lock);
}

/** Waits until destroy, the last use of the shelf, has been called. */
static void shelf_wait(struct shelf *shelf, int destroys) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += (time_t)PATIENCE;
    pthread_mutex_lock(&shelf->lock);
    int result = 0;
    while (shelf->destroys < destroys && result == 0)
        result = pthread_cond_timedwait(&shelf->changed, &shelf->lock, &limit);
    int reached = shelf->destroys;
    pthread_mutex_unlock(&shelf->lock);
    assert_int_equal(reached, destroys);
}

static struct shelf new_shelf(bool at_once) {
    return (struct shelf){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .at_once = at_once};
}

static void executor_decides_where_and_when(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    struct shelf shelf = new_shelf(false);
    ntapi_executor *executor = ntapi_executor_create(shelve, &shelf, shelf_destroy);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_executor(args, NTAPI_HANDLER_ALL, executor));
    witness seen;
    witness_init(&seen);
    begin(client, "ok", args, &seen);
    ntapi_executor_free(executor); /* the request keeps it alive */
    pthread_mutex_lock(&shelf.lock);
    while (shelf.count == 0)
        pthread_cond_wait(&shelf.changed, &shelf.lock);
    pthread_mutex_unlock(&shelf.lock);
    assert_int_equal(seen.responses, 0);
    assert_int_equal(shelf.destroys, 0);
    ntapi_job_run(shelf.jobs[0]);
    assert_int_equal(seen.responses, 1);
    assert_true(pthread_equal(seen.thread, pthread_self()));
    ntapi_job_run(shelf.jobs[0]); /* a second time has no effect */
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_args_free(args);
    witness_free(&seen);
    shelf_wait(&shelf, 1);
    ntapi_client_free(client);
}

static void job_may_run_inside_submit(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    struct shelf shelf = new_shelf(true);
    ntapi_executor *executor = ntapi_executor_create(shelve, &shelf, shelf_destroy);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_executor(args, NTAPI_HANDLER_ALL, executor));
    witness seen;
    witness_init(&seen);
    begin(client, "ok", args, &seen);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    ntapi_args_free(args);
    ntapi_executor_free(executor);
    witness_free(&seen);
    shelf_wait(&shelf, 1);
    ntapi_client_free(client);
}

static void executor_needs_a_submit(void **state) {
    (void)state;
    struct shelf shelf = new_shelf(false);
    assert_null(ntapi_executor_create(NULL, &shelf, shelf_destroy));
    assert_int_equal(shelf.destroys, 1);
    ntapi_executor_free(ntapi_executor_create(shelve, &shelf, shelf_destroy));
    shelf_wait(&shelf, 2);
    ntapi_executor_free(NULL);
    ntapi_job_run(NULL);
}

/** How many waiting handlers are begun. The program's argument sets it. */
static int most_waits = 500;

/** How a handler waits for another request. */
enum nested_wait { PERFORM, WAIT, DRAIN, DRAIN_ALL, CLOSE, MAILBOX_DRAIN, MAILBOX_RUN, NESTED_WAITS };

/** Handlers on this thread that all wait inside of their call. */
typedef struct nest {
    enum nested_wait wait;
    ntapi_client *client;
    ntapi_mailbox *mailbox; /* of this thread */
    int begun, returned;    /* handlers */
    int others;             /* responses of the requests that they waited for */
    int depth, deepest;     /* handlers that run inside one another */
} nest;

static void note_other(void *user_data, const ntapi_response *response) {
    (void)response;
    ((nest *)user_data)->others++;
}

static void wait_inside(void *user_data, const ntapi_response *response) {
    (void)response;
    nest *self = user_data;
    self->begun++;
    self->depth++;
    if (self->depth > self->deepest)
        self->deepest = self->depth;
    ntapi_request *other;
    switch (self->wait) {
    case PERFORM:
        ntapi_response_free(ntapi_client_perform(self->client, "other", NULL));
        self->others++;
        break;
    case WAIT:
        other = ntapi_client_begin(self->client, "other", NULL, note_other, self, NULL);
        assert_int_equal(ntapi_request_wait(other, PATIENCE), NTAPI_STATUS_OK);
        ntapi_request_free(other);
        break;
    default:
        ntapi_request_free(ntapi_client_begin(self->client, "other", NULL, note_other, self, NULL));
        if (self->wait == CLOSE && self->begun == 1)
            check_ok(ntapi_client_close(self->client));
        if (self->wait == DRAIN_ALL)
            ntapi_drain(PATIENCE);
        else if (self->wait == MAILBOX_DRAIN)
            ntapi_mailbox_drain(self->mailbox);
        else if (self->wait == MAILBOX_RUN)
            ntapi_mailbox_run(self->mailbox, self->depth < 16 ? 0 : 0.001);
        else
            ntapi_client_drain(self->client, PATIENCE);
    }
    self->depth--;
    self->returned++;
}

/** Each handler waits, and its wait runs the next one: at most 16 run inside of one another, and none is lost. */
static void waits_inside_handlers_nest_to_a_limit(void **state) {
    (void)state;
    const int counts[] = {1, 64, most_waits};
    for (enum nested_wait wait = 0; wait < NESTED_WAITS; wait++) {
        for (size_t index = 0; index < sizeof counts / sizeof counts[0]; index++) {
            ntapi_stub *stub = ntapi_stub_create();
            ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
            ntapi_stub_answer answer = {.size = sizeof answer, .status = 204};
            check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
            nest nest = {.wait = wait,
                         .client = ntapi_client_create(NULL, "https://api.example"),
                         .mailbox = ntapi_mailbox_main()};
            check_ok(ntapi_client_set_log_flags(nest.client, NTAPI_LOG_NONE));
            check_ok(ntapi_client_set_stub(nest.client, stub));
            for (int made = 0; made < counts[index]; made++)
                ntapi_request_free(ntapi_client_begin(nest.client, "one", NULL, wait_inside, &nest, NULL));
            assert_int_equal(ntapi_client_drain(nest.client, PATIENCE), 0);
            assert_int_equal(nest.returned, counts[index]);
            assert_int_equal(nest.begun, counts[index]);
            assert_int_equal(nest.others, counts[index]);
            assert_true(nest.deepest <= 16);
            ntapi_client_free(nest.client);
            ntapi_mailbox_free(nest.mailbox);
            ntapi_stub_rule_free(rule);
            ntapi_stub_free(stub);
        }
    }
}

/** Writes a byte to a pipe for each line of the log. */
static void tell(void *user_data, ntapi_log level, const char *message) {
    char seen = level == NTAPI_LOG_WARN && strstr(message, "does not run its mailbox") != NULL ? 'y' : 'n';
    assert_int_equal(write(*(int *)user_data, &seen, 1), 1);
}

static void a_handler_that_nobody_runs_is_reported_once(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    ntapi_log_set_sink(tell, &ends[1], NULL);
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin(client, "ok", NULL, &seen);
    char told;
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
    assert_int_equal(read(ends[0], &told, 1), 1);
    assert_int_equal(told, 'y');
    assert_int_equal(seen.responses, 0);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_log_set_sink(NULL, NULL, NULL);
    witness_check_once(&seen);
    witness_free(&seen);
    ntapi_client_free(client);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv) {
    if (argc > 1)
        most_waits = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_is_the_default_thread),
        cmocka_unit_test(current_and_background_run_where_they_say),
        cmocka_unit_test(ended_thread_hands_over_to_the_background),
        cmocka_unit_test(ended_thread_hands_over_what_waits),
        cmocka_unit_test(own_mailbox_runs_where_it_is_drained),
        cmocka_unit_test(run_ends_by_time_and_by_stop),
        cmocka_unit_test(run_ends_by_time_while_callbacks_keep_coming),
        cmocka_unit_test(stop_ends_the_innermost_run),
        cmocka_unit_test(a_threads_mailbox_is_its_own),
        cmocka_unit_test(mailbox_freed_early_delivers_in_the_background),
        cmocka_unit_test(mailbox_of_the_clients_args_may_be_freed_early),
        cmocka_unit_test(events_are_taken_many_at_once),
        cmocka_unit_test(taking_runs_plain_callbacks_on_the_way),
        cmocka_unit_test(progress_comes_as_events_too),
        cmocka_unit_test(no_question_of_a_cancelled_request_is_taken),
        cmocka_unit_test(events_that_nobody_takes_leak_nothing),
        cmocka_unit_test(executor_decides_where_and_when),
        cmocka_unit_test(job_may_run_inside_submit),
        cmocka_unit_test(executor_needs_a_submit),
        cmocka_unit_test(waits_inside_handlers_nest_to_a_limit),
        cmocka_unit_test(a_handler_that_nobody_runs_is_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
