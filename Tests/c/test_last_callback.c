/*
 * The response handler is the last callback of its request, under a random schedule. Requests have every kind of
 * callback, on every kind of thread. They end in every way: with success, with an error, by a cancel at any moment, by
 * a timeout, or because their client closes.
 *
 *   test_last_callback COUNT [SEED]
 *
 * Once the response handler has begun, nothing else of its request is called: no handler, no interceptor, no `end`, and
 * no `destroy` except for the response handler's own. Each `destroy` comes without the help of another request. The
 * seed decides what is begun. How the threads interleave depends on the machine.
 */
#include "support.h"

#include <time.h>
#include <unistd.h>

enum { LIVE = 32, BODY = 40000 };

/* The callbacks of a request besides the response handler. */
enum kind { UPLOAD, DOWNLOAD, DATA, DECISION, STREAM, CALL, ATTEMPT, HOOK, KINDS };
static const char *const kind_names[KINDS] = {
    "upload progress", "download progress",  "data handler",          "decision handler",
    "body stream",     "interceptor (call)", "interceptor (attempt)", "hook"};

/* How the test ends a request. */
enum end { BY_ITSELF, CANCEL, CANCEL_INSIDE, TIMEOUT, CLOSE, ENDS };
static const char *const end_names[ENDS] = {"by itself", "cancel", "cancel in a callback", "timeout", "close"};

enum { EXECUTOR = NTAPI_THREAD_CURRENT + 1, PLACES };

struct item;

/** The user data of one kind of callback. */
struct slot {
    struct item *item;
    enum kind kind;
    size_t sent; /* bytes of a stream */
    int users;   /* calls that have begun */
    bool is_set;
    int destroys;
};

struct item {
    int number;
    enum end end;
    unsigned delay; /* microseconds until another thread ends it */
    int place;
    ntapi_client *client;
    ntapi_request *request;
    struct slot slots[KINDS];
    int responses, destroys;
    bool responds; /* the response handler has begun */
};

static uint64_t seed, state;
static int total, violations, by_kind[KINDS], ended[ENDS];
static struct item *live;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static ntapi_executor *executor;
static ntapi_mailbox *mailbox;
static _Thread_local bool frees;

#define add(counter, value) __atomic_add_fetch(&(counter), (value), __ATOMIC_SEQ_CST)
#define load(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)
#define store(counter, value) __atomic_store_n(&(counter), (value), __ATOMIC_SEQ_CST)

static unsigned dice(unsigned sides) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % sides);
}

static void violate(const struct item *item, const char *who, const char *what) {
    if (add(violations, 1) <= 30)
        fprintf(stderr, "violation: request %d (%s, handler at %d): %s %s\n", item->number, end_names[item->end],
                item->place, who, what);
}

static void note(const struct slot *slot, const char *what) {
    if (!load(slot->item->responds))
        return;
    add(by_kind[slot->kind], 1);
    violate(slot->item, kind_names[slot->kind], what);
}

static void pause_for(unsigned microseconds) {
    struct timespec time = {.tv_nsec = (long)microseconds * 1000};
    nanosleep(&time, NULL);
}

/** Each callback calls this. It takes some time, and may end the request. */
static void called(struct slot *slot) {
    note(slot, "was called after the response handler");
    unsigned count = (unsigned)add(slot->users, 1);
    unsigned chance = (unsigned)slot->item->number * 2654435761u + count * 40503u + slot->kind * 977u;
    if (slot->item->end == CANCEL_INSIDE && chance % 3 == 0)
        ntapi_request_cancel(load(slot->item->request));
    if (chance % 5 == 0)
        pause_for(chance % 500);
    note(slot, "returned after the response handler had begun");
}

static void on_progress(void *user_data, int64_t bytes, int64_t expected) {
    (void)bytes, (void)expected;
    called(user_data);
}

static void on_data(void *user_data, const char *bytes, size_t length) {
    (void)bytes, (void)length;
    called(user_data);
}

static void on_json(void *user_data, const ntapi_json *value) {
    (void)value;
    called(user_data);
}

static void on_event(void *user_data, const ntapi_server_event *event) {
    (void)event;
    called(user_data);
}

static void on_decision(void *user_data, ntapi_decision *decision) {
    struct slot *slot = user_data;
    called(slot);
    if (slot->item->number % 3 != 0)
        ntapi_decision_proceed(decision);
    ntapi_decision_free(decision);
}

static ptrdiff_t on_read(void *user_data, void *buffer, size_t capacity) {
    struct slot *slot = user_data;
    called(slot);
    size_t count = BODY - slot->sent < capacity ? BODY - slot->sent : capacity;
    memset(buffer, 'x', count);
    slot->sent += count;
    return (ptrdiff_t)count;
}

static bool on_rewind(void *user_data) {
    struct slot *slot = user_data;
    called(slot);
    slot->sent = 0;
    return true;
}

static void on_interception(void *user_data, ntapi_interception *interception) {
    struct slot *slot = user_data;
    called(slot);
    bool is_answer = ntapi_interception_response(interception) != NULL;
    unsigned chance = (unsigned)slot->item->number * 31u + (unsigned)slot->users;
    if (!is_answer && chance % 8 != 0)
        ntapi_interception_send(interception);
    else if (is_answer && chance % 16 == 0)
        ntapi_interception_fail(interception, NULL);
    ntapi_interception_free(interception);
}

static void on_end(void *user_data, uint64_t passage) {
    (void)passage;
    note(user_data, "was told of the end after the response handler");
}

/* ---- hooks, which find their request by its description ---- */

static void hooked(const ntapi_request *request) {
    char *text = ntapi_request_description(request);
    struct item *item = &live[atoi(text) % LIVE];
    if (atoi(text) == item->number)
        called(&item->slots[HOOK]);
    else
        add(violations, 1);
    ntapi_text_free(text);
}

static void on_progressed(void *user_data, ntapi_request *request, int64_t bytes, int64_t total) {
    (void)user_data, (void)bytes, (void)total;
    hooked(request);
}

static void on_data_received(void *user_data, ntapi_request *request, const void *bytes, size_t length) {
    (void)user_data, (void)bytes, (void)length;
    hooked(request);
}

static void on_metrics(void *user_data, ntapi_request *request, const ntapi_json *metrics) {
    (void)user_data, (void)metrics;
    hooked(request);
}

static void on_completed(void *user_data, ntapi_request *request, const ntapi_response *response) {
    (void)user_data, (void)response;
    hooked(request);
}

static void decide(void *user_data, ntapi_decision *decision) {
    (void)user_data;
    hooked(ntapi_decision_request(decision));
    ntapi_decision_proceed(decision);
    ntapi_decision_free(decision);
}

static const ntapi_hooks hooks = {
    .size = sizeof(ntapi_hooks),
    .upload_progressed = on_progressed,
    .download_progressed = on_progressed,
    .data_received = on_data_received,
    .metrics_collected = on_metrics,
    .completed = on_completed,
    .decide = decide,
    .decisions = NTAPI_DECISION_KIND_ALL,
};

static void announce(void) {
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_slot_destroy(void *user_data) {
    struct slot *slot = user_data;
    /* A list of args that is freed late releases then what only it has kept. */
    if (!frees)
        note(slot, "was destroyed after the response handler");
    if (add(slot->destroys, 1) > 1)
        violate(slot->item, kind_names[slot->kind], "was destroyed twice");
    announce();
}

static void on_response(void *user_data, const ntapi_response *response) {
    (void)response;
    struct item *item = user_data;
    store(item->responds, true);
    if (add(item->responses, 1) > 1)
        violate(item, "response handler", "ran twice");
}

static void on_destroy(void *user_data) {
    struct item *item = user_data;
    if (load(item->responses) != 1)
        violate(item, "response handler", "was destroyed without a call");
    add(item->destroys, 1);
    announce();
}

/* ---- the executor: a thread for each job ---- */

static void *run_job(void *job) {
    ntapi_job_run(job);
    return NULL;
}

static void submit(void *user_data, ntapi_job *job) {
    (void)user_data;
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_job, job) != 0)
        abort();
    pthread_detach(thread);
}

/* ---- requests ---- */

static void set_place(ntapi_args *args, int handlers, int place) {
    if (place == EXECUTOR)
        check_ok(ntapi_args_executor(args, handlers, executor));
    else
        check_ok(ntapi_args_thread(args, handlers, (ntapi_thread)place));
}

static struct slot *use(struct item *item, enum kind kind) {
    item->slots[kind].is_set = true;
    return &item->slots[kind];
}

static void add_body_handler(struct item *item, int format) {
    struct slot *slot = use(item, DATA);
    if (format == 1)
        check_ok(ntapi_request_set_json_lines_handler(item->request, on_json, slot, on_slot_destroy));
    else if (format == 2)
        check_ok(ntapi_request_set_server_event_handler(item->request, on_event, slot, on_slot_destroy));
    else
        check_ok(ntapi_request_set_data_handler(item->request, on_data, slot, on_slot_destroy));
}

static void add_interceptor(ntapi_args *args, struct item *item, ntapi_interceptor_scope scope) {
    struct slot *slot = use(item, scope == NTAPI_INTERCEPTOR_SCOPE_CALL ? CALL : ATTEMPT);
    ntapi_interceptor *interceptor = ntapi_interceptor_create(scope, on_interception, on_end, slot, on_slot_destroy);
    check_ok(ntapi_args_interceptor(args, interceptor));
    ntapi_interceptor_free(interceptor);
}

static ntapi_args *random_args(struct item *item, const char *seed_text) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "seed", seed_text));
    check_ok(ntapi_args_url_int(args, "n", item->number));
    check_ok(ntapi_args_url_int(args, "size", dice(2) ? 100 : 400000));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    set_place(args, NTAPI_HANDLER_ALL, (int)dice(PLACES));
    set_place(args, NTAPI_HANDLER_RESPONSE, item->place);
    bool is_short = item->end == TIMEOUT;
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, is_short ? (1 + dice(30)) / 1000.0 : 2));
    if (dice(3) == 0)
        add_interceptor(args, item, NTAPI_INTERCEPTOR_SCOPE_CALL);
    if (dice(2) == 0)
        add_interceptor(args, item, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT);
    if (dice(4) == 0) {
        ntapi_rewind_fn rewind = dice(2) ? on_rewind : NULL;
        check_ok(
            ntapi_args_stream(args, on_read, rewind, dice(2) ? BODY : -1, NULL, use(item, STREAM), on_slot_destroy));
    }
    if (dice(4) == 0) {
        ntapi_retry_policy policy = {.size = sizeof policy, .attempts = 3, .base = 0.001};
        check_ok(ntapi_args_retry(args, &policy));
    }
    return args;
}

static void begin_one(struct item *item, const char *seed_text) {
    static const char *const commands[] = {"random", "zeros", "lines", "events"};
    int command = (int)dice(4);
    ntapi_args *args = random_args(item, seed_text);
    ntapi_request *request = ntapi_client_create_request(item->client, commands[command], args);
    assert_non_null(request);
    store(item->request, request);
    char number[16];
    snprintf(number, sizeof number, "%d", item->number);
    check_ok(ntapi_request_set_description(request, number));
    check_ok(ntapi_request_set_handler(request, on_response, item, on_destroy));
    if (dice(3) == 0)
        check_ok(ntapi_request_set_upload_progress(request, on_progress, use(item, UPLOAD), on_slot_destroy));
    if (dice(3) == 0)
        check_ok(ntapi_request_set_download_progress(request, on_progress, use(item, DOWNLOAD), on_slot_destroy));
    if (dice(2) == 0)
        add_body_handler(item, command >= 2 && dice(2) ? command - 1 : 0);
    if (dice(4) == 0)
        check_ok(ntapi_request_set_decision_handler(request,
                                                    NTAPI_DECISION_KIND_RESPONSE | NTAPI_DECISION_KIND_REDIRECT,
                                                    on_decision, use(item, DECISION), on_slot_destroy));
    bool is_freed_late = dice(3) == 0;
    if (!is_freed_late)
        ntapi_args_free(args);
    if (item->end == CANCEL && dice(20) == 0)
        check_ok(ntapi_request_cancel(request));
    else
        check_ok(ntapi_request_resume(request));
    frees = true;
    if (is_freed_late)
        ntapi_args_free(args);
    frees = false;
}

/** Ends those requests of a batch that another thread has to end, at their times. */
static void *end_some(void *unused) {
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (unsigned left = LIVE; left > 0;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        unsigned past = (unsigned)((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000);
        left = 0;
        for (struct item *item = live; item < live + LIVE; item++) {
            if (item->delay == 0)
                continue;
            left++;
            if (item->delay > past)
                continue;
            item->delay = 0;
            if (item->end == CANCEL)
                ntapi_request_cancel(load(item->request));
            else
                ntapi_client_close(item->client);
        }
        pause_for(50);
    }
    return unused;
}

/** Whether all expected callbacks of the batch have come. */
static bool is_over(void) {
    for (struct item *item = live; item < live + LIVE; item++) {
        if (load(item->destroys) != 1)
            return false;
        for (int kind = 0; kind < KINDS; kind++)
            if (item->slots[kind].is_set && load(item->slots[kind].destroys) != 1)
                return false;
    }
    return true;
}

static void report_missing(void) {
    for (struct item *item = live; item < live + LIVE; item++) {
        if (load(item->destroys) != 1)
            violate(item, "response handler", "has no end");
        for (int kind = 0; kind < KINDS; kind++)
            if (item->slots[kind].is_set && load(item->slots[kind].destroys) != 1)
                violate(item, kind_names[kind], "was not destroyed without another request");
    }
}

/** Waits for the batch, and runs the main thread's mailbox meanwhile. Returns false if something never comes. */
static bool wait_for_batch(void) {
    struct timespec limit, now;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += (time_t)PATIENCE;
    while (!is_over()) {
        ntapi_mailbox_drain(mailbox);
        pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct timespec soon = {now.tv_sec, now.tv_nsec + 1000000};
        if (soon.tv_nsec >= 1000000000) {
            soon.tv_sec++;
            soon.tv_nsec -= 1000000000;
        }
        if (!is_over())
            pthread_cond_timedwait(&changed, &lock, &soon);
        pthread_mutex_unlock(&lock);
        if (now.tv_sec >= limit.tv_sec)
            return false;
    }
    return true;
}

static bool run_batch(int first, const char *seed_text) {
    live = calloc(LIVE, sizeof *live);
    ntapi_client *shared = client_of("fault");
    if (dice(3) == 0)
        check_ok(ntapi_client_set_hooks(shared, &hooks, NULL, NULL));
    for (int i = 0; i < LIVE; i++) {
        struct item *item = &live[i];
        item->number = first + i;
        item->end = (enum end)dice(ENDS);
        item->place = (int)dice(PLACES);
        item->client = item->end == CLOSE ? client_of("fault") : shared;
        if (item->end == CANCEL || item->end == CLOSE)
            item->delay = 1 + dice(dice(2) ? 3000 : 20000);
        for (int kind = 0; kind < KINDS; kind++)
            item->slots[kind] = (struct slot){.item = item, .kind = (enum kind)kind};
        ended[item->end]++;
        begin_one(item, seed_text);
    }
    pthread_t ender;
    assert_int_equal(pthread_create(&ender, NULL, end_some, NULL), 0);
    pthread_join(ender, NULL);
    bool is_done = wait_for_batch();
    if (!is_done)
        report_missing();
    for (struct item *item = live; item < live + LIVE; item++) {
        ntapi_request_free(item->request);
        if (item->client != shared)
            ntapi_client_free(item->client);
    }
    ntapi_client_free(shared);
    if (is_done)
        free(live);
    return is_done;
}

static void nothing_follows_the_response_handler(void **unused) {
    (void)unused;
    char seed_text[24];
    snprintf(seed_text, sizeof seed_text, "%llu", (unsigned long long)seed);
    mailbox = ntapi_mailbox_main();
    executor = ntapi_executor_create(submit, NULL, NULL);
    for (int first = 0; first < total; first += LIVE)
        if (!run_batch(first, seed_text))
            break;
    ntapi_executor_free(executor);
    ntapi_mailbox_free(mailbox);
    print_message("last callback: seed %s, %d requests, %d violations:", seed_text, total, violations);
    for (int kind = 0; kind < KINDS; kind++)
        print_message(" %s %d,", kind_names[kind], by_kind[kind]);
    for (int end = 0; end < ENDS; end++)
        print_message(" %s %d%s", end_names[end], ended[end], end < ENDS - 1 ? "," : "\n");
    assert_int_equal(violations, 0);
}

static void ignore_log(void *user_data, ntapi_log level, const char *message) {
    (void)user_data, (void)level, (void)message;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_follows_the_response_handler)};
    total = argc > 1 ? atoi(argv[1]) : 2000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
    state = seed * 0x9E3779B97F4A7C15u + 1;
    print_message("last callback: %d requests, seed %llu\n", total, (unsigned long long)seed);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    ntapi_log_set_sink(ignore_log, NULL, NULL);
    server("fault");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
