/*
 * The guarantees under a random schedule. Requests go to a server that misbehaves. Several threads that come and go
 * begin, cancel, time out and drain them. Clients are freed and closed meanwhile, and handlers run on every kind of
 * thread.
 *
 *   test_stress COUNT [SEED]
 *
 * Each response handler must run exactly once, on its thread, and with the response of its request. No progress handler
 * may run after it. Each destroy must run exactly once, after its handler. The seed decides what each session does. How
 * the threads interleave depends on the machine.
 */
#include "support.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS = 4, PER_SESSION = 60, CLIENTS = 3, VICTIMS = 8, LIVE = 24 };
/* A place is an ntapi_thread, or one of these two. */
enum { EXECUTOR = 3, EVENTS = 4, PLACES = 5 };
/* Roles of threads. Sessions have 100 and more. Threads of the library have none, which means LIBRARY. */
enum { LIBRARY = 0, MAIN = 1, RUNNER = 2, TAKER = 3, FIRST_SESSION = 100 };

static _Thread_local int role;

/** A request as its callbacks see it. */
struct item {
    int number;
    int place, progress_place;
    int session;
    bool has_progress;
    int responses, destroys, progress_destroys, progresses;
};

static int total;
static uint64_t seed;
static char seed_text[24];
static struct item *items;
static bool *session_ended;
static int next_number, remaining, violations;
static int oks, cancelled, timeouts, failed, warnings, on_place[PLACES];
static ntapi_mailbox *main_mailbox, *event_mailbox;
static ntapi_executor *executor;

#define add(counter, value) __atomic_add_fetch(&(counter), (value), __ATOMIC_SEQ_CST)
#define load(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)

static void violate(const struct item *item, const char *what) {
    if (add(violations, 1) <= 20)
        fprintf(stderr, "violation: request %d (place %d, progress at %d, session %d, thread's role %d): %s\n",
                item->number, item->place, item->progress_place, item->session, role, what);
}

/** Counts a callback that has come. The last one ends the main thread's loop. */
static void done(void) {
    if (add(remaining, -1) == 0)
        ntapi_mailbox_stop(main_mailbox);
}

static bool right_thread(const struct item *item, int place) {
    switch (place) {
    case NTAPI_THREAD_MAIN:
        return role == MAIN;
    case NTAPI_THREAD_BACKGROUND:
        return role == LIBRARY;
    case NTAPI_THREAD_CURRENT:
        return role == item->session || (role == LIBRARY && load(session_ended[item->session - FIRST_SESSION]));
    case EXECUTOR:
        return role == RUNNER;
    default:
        return role == TAKER;
    }
}

static void check_response(struct item *item, const ntapi_response *response) {
    if (add(item->responses, 1) != 1)
        violate(item, "a second response");
    if (load(item->destroys) != 0)
        violate(item, "the response handler after its destroy");
    if (!right_thread(item, item->place))
        violate(item, "the response handler on a wrong thread");
    ntapi_code code = code_of(response);
    const ntapi_json *json = ntapi_response_json(response);
    if (json != NULL && ntapi_json_get_type(json, "n") == NTAPI_JSON_TYPE_INT &&
        ntapi_json_int(json, "n", -1) != item->number)
        violate(item, "the response of another request");
    if (code == NTAPI_CODE_NONE)
        add(oks, 1);
    else if (code == NTAPI_CODE_CANCELLED)
        add(cancelled, 1);
    else if (code == NTAPI_CODE_TIMEOUT)
        add(timeouts, 1);
    else
        add(failed, 1);
    add(on_place[item->place], 1);
}

static void on_response(void *user_data, const ntapi_response *response) {
    check_response(user_data, response);
}

static void on_destroy(void *user_data) {
    struct item *item = user_data;
    if (add(item->destroys, 1) != 1)
        violate(item, "a second destroy");
    if (load(item->responses) != 1)
        violate(item, "destroy before the response handler");
    done();
}

static void check_progress(struct item *item) {
    add(item->progresses, 1);
    if (load(item->responses) != 0)
        violate(item, "progress after the response");
    if (load(item->progress_destroys) == 2)
        violate(item, "progress after its destroys");
    if (!right_thread(item, item->progress_place))
        violate(item, "progress on a wrong thread");
}

static void on_progress(void *user_data, int64_t bytes, int64_t expected) {
    (void)bytes;
    (void)expected;
    check_progress(user_data);
}

static void on_progress_destroy(void *user_data) {
    struct item *item = user_data;
    if (add(item->progress_destroys, 1) > 2) /* one for each direction */
        violate(item, "one destroy of progress too many");
    done();
}

/** The library warns about threads that end before their callbacks. Here that happens often. */
static void count_warning(void *user_data, ntapi_log level, const char *message) {
    (void)message;
    if (level == NTAPI_LOG_WARN)
        add(*(int *)user_data, 1);
}

/* ---- the executor: a queue and a thread ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ntapi_job **jobs;
    size_t count, capacity;
    bool over;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void submit(void *user_data, ntapi_job *job) {
    (void)user_data;
    pthread_mutex_lock(&queue.lock);
    if (queue.count == queue.capacity) {
        queue.capacity = queue.capacity * 2 + 64;
        queue.jobs = realloc(queue.jobs, queue.capacity * sizeof *queue.jobs);
    }
    queue.jobs[queue.count++] = job;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static void *run_jobs(void *unused) {
    role = RUNNER;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.count == 0 && !queue.over)
            pthread_cond_wait(&queue.changed, &queue.lock);
        if (queue.count == 0)
            break;
        ntapi_job *job = queue.jobs[0];
        memmove(queue.jobs, queue.jobs + 1, --queue.count * sizeof job);
        pthread_mutex_unlock(&queue.lock);
        ntapi_job_run(job);
        pthread_mutex_lock(&queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
    return unused;
}

/* ---- the pull style: one thread takes the events of a mailbox ---- */

static int over_fd;

static void *take_events(void *unused) {
    role = TAKER;
    struct pollfd fds[] = {{ntapi_mailbox_fd(event_mailbox), POLLIN, 0}, {over_fd, POLLIN, 0}};
    while (poll(fds, 2, -1) >= 0 && fds[1].revents == 0) {
        ntapi_event events[16];
        size_t count;
        while ((count = ntapi_mailbox_take(event_mailbox, events, sizeof *events, 16)) > 0)
            for (size_t i = 0; i < count; i++) {
                struct item *item = events[i].user_data;
                if (events[i].handler == NTAPI_HANDLER_RESPONSE) {
                    check_response(item, events[i].response);
                    ntapi_response_free(events[i].response);
                    done();
                } else {
                    check_progress(item);
                    /* A freed piece lets more of the body come. A decision without an answer proceeds. */
                    ntapi_data_free(events[i].data);
                    ntapi_decision_free(events[i].decision);
                }
            }
    }
    return unused;
}

/* ---- sessions: threads that begin requests and end ---- */

static ntapi_client *clients[CLIENTS];
static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static ntapi_request *victims[VICTIMS];

static uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int pick(uint64_t *state, int count) {
    return (int)(random_next(state) % (uint64_t)count);
}

/** Replaces a client by a new one. The old one is freed or closed while its requests run. */
static void replace_client(uint64_t *state) {
    int slot = pick(state, CLIENTS);
    ntapi_client *fresh = client_of("fault");
    pthread_mutex_lock(&clients_lock);
    ntapi_client *old = clients[slot];
    clients[slot] = fresh;
    pthread_mutex_unlock(&clients_lock);
    if (pick(state, 2) == 0)
        ntapi_client_close(old);
    ntapi_client_free(old);
}

static void set_place(ntapi_args *args, int handlers, int place) {
    if (place == EXECUTOR)
        check_ok(ntapi_args_executor(args, handlers, executor));
    else if (place == EVENTS)
        check_ok(ntapi_args_mailbox(args, handlers, event_mailbox));
    else
        check_ok(ntapi_args_thread(args, handlers, (ntapi_thread)place));
}

/** Begins the next request in a random way. Returns its handle, or NULL if all have been begun. */
static ntapi_request *begin_one(uint64_t *state) {
    int number = __atomic_fetch_add(&next_number, 1, __ATOMIC_SEQ_CST);
    if (number >= total)
        return NULL;
    struct item *item = &items[number];
    item->number = number;
    item->session = role;
    item->place = pick(state, PLACES);
    item->has_progress = pick(state, 3) == 0;
    /* All events of a request come from one mailbox. Without events, progress may have its own place. */
    item->progress_place = item->place == EVENTS || pick(state, 2) ? item->place : pick(state, EVENTS);

    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "seed", seed_text));
    check_ok(ntapi_args_url_int(args, "n", number));
    set_place(args, NTAPI_HANDLER_RESPONSE, item->place);
    set_place(args, NTAPI_HANDLER_UPLOAD_PROGRESS | NTAPI_HANDLER_DOWNLOAD_PROGRESS, item->progress_place);
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, pick(state, 10) == 0 ? (1 + pick(state, 20)) / 1000.0 : 1));
    if (pick(state, 4) == 0)
        check_ok(ntapi_args_form(args, "some", "body"));
    if (pick(state, 50) == 0)
        check_ok(ntapi_args_header(args, "X-Wrong", "two\nlines"));

    /* The end waits for each destroy, or for the response event if there is no destroy. */
    add(remaining, 1 + (item->has_progress && item->place != EVENTS ? 2 : 0));
    pthread_mutex_lock(&clients_lock);
    ntapi_client *client = clients[pick(state, CLIENTS)];
    ntapi_request *request;
    if (item->place != EVENTS && !item->has_progress) {
        request = ntapi_client_begin(client, "random", args, on_response, item, on_destroy);
    } else {
        request = ntapi_client_create_request(client, "random", args);
        if (item->place == EVENTS) {
            int handlers = item->has_progress ? NTAPI_HANDLER_ALL : NTAPI_HANDLER_RESPONSE;
            check_ok(ntapi_request_set_events(request, handlers, item));
        } else {
            check_ok(ntapi_request_set_handler(request, on_response, item, on_destroy));
            check_ok(ntapi_request_set_upload_progress(request, on_progress, item, on_progress_destroy));
            check_ok(ntapi_request_set_download_progress(request, on_progress, item, on_progress_destroy));
        }
    }
    pthread_mutex_unlock(&clients_lock);
    assert_non_null(request);
    if (item->place == EVENTS || item->has_progress)
        check_ok(pick(state, 40) == 0 ? ntapi_request_cancel(request) : ntapi_request_resume(request));
    ntapi_args_free(args);
    return request;
}

static void *session(void *argument) {
    int index = (int)(intptr_t)argument;
    role = FIRST_SESSION + index;
    uint64_t state = seed * 0x9E3779B97F4A7C15u + (uint64_t)index * 0xBF58476D1CE4E5B9u + 1;
    ntapi_request *mine[LIVE] = {NULL};
    for (int i = 0; i < PER_SESSION; i++) {
        /* At most LIVE requests run at once. Wait for the oldest one, and run this thread's mailbox meanwhile. */
        ntapi_request **slot = &mine[i % LIVE];
        if (*slot != NULL) {
            if (ntapi_request_wait(*slot, 4 * PATIENCE) != NTAPI_STATUS_OK)
                add(violations, 1);
            ntapi_request_free(*slot);
        }
        *slot = begin_one(&state);
        if (*slot == NULL)
            break;
        switch (pick(&state, 16)) {
        case 0:
            ntapi_request_cancel(*slot);
            break;
        case 1: { /* another thread will cancel it */
            ntapi_request **victim = &victims[pick(&state, VICTIMS)];
            ntapi_request *old = __atomic_exchange_n(victim, *slot, __ATOMIC_SEQ_CST);
            ntapi_request_cancel(old);
            ntapi_request_free(old);
            *slot = NULL;
            break;
        }
        case 2:
            ntapi_request_free(*slot);
            *slot = NULL;
            break;
        case 3:
            ntapi_drain(0);
            break;
        case 4:
            if (pick(&state, 4) == 0)
                replace_client(&state);
            break;
        default:
            break;
        }
    }
    for (int i = 0; i < LIVE; i++)
        ntapi_request_free(mine[i]);
    __atomic_store_n(&session_ended[index], true, __ATOMIC_SEQ_CST);
    return NULL;
}

/** Keeps SESSIONS sessions running until all requests have been begun. */
static void *start_sessions(void *unused) {
    pthread_t threads[SESSIONS];
    int started = 0;
    do {
        int slot = started % SESSIONS;
        if (started >= SESSIONS)
            pthread_join(threads[slot], NULL);
        if (pthread_create(&threads[slot], NULL, session, (void *)(intptr_t)started) != 0)
            abort();
        started++;
    } while (load(next_number) < total);
    for (int i = started > SESSIONS ? started - SESSIONS : 0; i < started; i++)
        pthread_join(threads[i % SESSIONS], NULL);
    for (int i = 0; i < VICTIMS; i++) {
        ntapi_request *old = __atomic_exchange_n(&victims[i], NULL, __ATOMIC_SEQ_CST);
        ntapi_request_cancel(old);
        ntapi_request_free(old);
    }
    done(); /* the sessions themselves count as one */
    return unused;
}

/** Runs the main thread's mailbox until nothing remains. Returns false if nothing moves any more. */
static bool run_until_done(void) {
    int before;
    do {
        before = load(remaining);
        if (before == 0 || ntapi_mailbox_run(main_mailbox, 2 * PATIENCE) == NTAPI_STATUS_OK)
            return true;
    } while (load(remaining) < before || load(next_number) < total);
    return false;
}

static void check_items(void) {
    for (int i = 0; i < total; i++) {
        struct item *item = &items[i];
        if (item->responses != 1)
            violate(item, item->responses == 0 ? "no response" : "several responses");
        if (item->place != EVENTS && item->destroys != 1)
            violate(item, item->destroys == 0 ? "no destroy" : "several destroys");
        if (item->place != EVENTS && item->has_progress && item->progress_destroys != 2)
            violate(item, "not two destroys of progress");
    }
}

static void every_promise_is_kept(void **state) {
    (void)state;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    items = calloc((size_t)total, sizeof *items);
    session_ended = calloc((size_t)total + SESSIONS, sizeof *session_ended);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client_of("fault");
    main_mailbox = ntapi_mailbox_main();
    event_mailbox = ntapi_mailbox_create();
    executor = ntapi_executor_create(submit, NULL, NULL);
    over_fd = eventfd(0, EFD_CLOEXEC);
    remaining = 1;
    role = MAIN;

    pthread_t runner, taker, starter;
    assert_int_equal(pthread_create(&runner, NULL, run_jobs, NULL), 0);
    assert_int_equal(pthread_create(&taker, NULL, take_events, NULL), 0);
    assert_int_equal(pthread_create(&starter, NULL, start_sessions, NULL), 0);
    bool all = run_until_done();
    if (!all) {
        print_message("seed %s: nothing moves, %d callbacks are missing\n", seed_text, load(remaining));
        check_items();
        fail();
    }
    pthread_join(starter, NULL);
    assert_int_equal(ntapi_drain(PATIENCE), 0);

    pthread_mutex_lock(&queue.lock);
    queue.over = true;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    uint64_t one = 1;
    assert_int_equal(write(over_fd, &one, sizeof one), sizeof one);
    pthread_join(runner, NULL);
    pthread_join(taker, NULL);
    check_items();
    for (int i = 0; i < CLIENTS; i++)
        ntapi_client_free(clients[i]);
    ntapi_mailbox_free(main_mailbox);
    ntapi_mailbox_free(event_mailbox);
    ntapi_executor_free(executor);
    close(over_fd);
    free(queue.jobs);
    free(items);
    free(session_ended);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    print_message("stress: seed %s, %d requests in %.1f s: %d ok, %d cancelled, %d timeouts, %d failed; main %d, "
                  "background %d, current %d, executor %d, events %d; %d warnings, %d violations\n",
                  seed_text, total, seconds, oks, cancelled, timeouts, failed, on_place[0], on_place[1], on_place[2],
                  on_place[3], on_place[4], load(warnings), violations);
    assert_int_equal(violations, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_promise_is_kept)};
    total = argc > 1 ? atoi(argv[1]) : 3000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
    snprintf(seed_text, sizeof seed_text, "%llu", (unsigned long long)seed);
    print_message("stress: %d requests, seed %s\n", total, seed_text);
    ntapi_log_set_sink(count_warning, &warnings, NULL);
    server("fault");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
