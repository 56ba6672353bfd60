/* The number of live handles. Each kind counts its handles, in any order of creation and release. Borrowed handles
 * do not count. A program that leaks gets a report at its exit. */
#include "child.h"
#include "support.h"

#include <poll.h>
#include <unistd.h>

/* The objects that the handles are made from. */
static struct {
    ntapi_client *client; /* whose stub answers 200 with "[1]" */
    ntapi_stub *stub;
    ntapi_json *json;
    sem_t kept;
    void *handle; /* that a callback has kept */
} shop;

static void open_shop(void) {
    ntapi_configuration *session = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    shop.client = ntapi_client_create_with_configuration(NULL, "https://api.test", session);
    ntapi_configuration_free(session);
    shop.stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(shop.stub, NULL, NULL);
    const ntapi_stub_answer answer = {.size = sizeof answer, .body = "[1]", .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
    check_ok(ntapi_client_set_stub(shop.client, shop.stub));
    shop.json = ntapi_json_parse("[1]", 3, NULL);
    assert_int_equal(sem_init(&shop.kept, 0, 0), 0);
}

static void close_shop(void) {
    ntapi_client_free(shop.client);
    ntapi_stub_free(shop.stub);
    ntapi_json_free(shop.json);
    sem_destroy(&shop.kept);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
}

static void keep(void *handle) {
    shop.handle = handle;
    sem_post(&shop.kept);
}

/** A handle that a callback of that request has kept. */
static void *kept_of(ntapi_client *client, ntapi_args *args, ntapi_decide_fn decide) {
    ntapi_request *request = ntapi_client_create_request(client, "x", args);
    if (decide != NULL)
        check_ok(ntapi_request_set_decision_handler(request, NTAPI_DECISION_KIND_RESPONSE, decide, NULL, NULL));
    check_ok(ntapi_request_resume(request));
    ntapi_request_free(request);
    ntapi_args_free(args);
    sem_wait(&shop.kept);
    return shop.handle;
}

static void keep_job(void *user_data, ntapi_job *job) {
    (void)user_data;
    keep(job);
}

static void keep_decision(void *user_data, ntapi_decision *decision) {
    (void)user_data;
    keep(decision);
}

static void keep_interception(void *user_data, ntapi_interception *interception) {
    (void)user_data;
    keep(interception);
}

static void keep_refresh(void *user_data, ntapi_refresh *refresh) {
    (void)user_data;
    keep(refresh);
}

static void ignore_response(void *user_data, const ntapi_response *response) {
    (void)user_data;
    (void)response;
}

static ntapi_job *make_job(void) {
    ntapi_executor *executor = ntapi_executor_create(keep_job, NULL, NULL);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_executor(args, NTAPI_HANDLER_RESPONSE, executor));
    ntapi_executor_free(executor);
    ntapi_request_free(ntapi_client_begin(shop.client, "x", args, ignore_response, NULL, NULL));
    ntapi_args_free(args);
    sem_wait(&shop.kept);
    return shop.handle;
}

static ntapi_data *make_data(void) {
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
    ntapi_request *request = ntapi_client_create_request(shop.client, "x", args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_DATA, NULL));
    check_ok(ntapi_request_resume(request));
    struct pollfd entry = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    ntapi_event event;
    do
        assert_int_equal(poll(&entry, 1, (int)(PATIENCE * 1000)), 1);
    while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 0);
    assert_non_null(event.data);
    ntapi_mailbox_free(mailbox);
    ntapi_request_free(request);
    ntapi_args_free(args);
    return event.data;
}

static ntapi_decision *make_decision(void) {
    return kept_of(shop.client, background(), keep_decision);
}

static ntapi_interceptor *make_interceptor(void) {
    return ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, keep_interception, NULL, NULL, NULL);
}

static ntapi_interception *make_interception(void) {
    ntapi_args *args = background();
    ntapi_interceptor *interceptor = make_interceptor();
    check_ok(ntapi_args_interceptor(args, interceptor));
    ntapi_interceptor_free(interceptor);
    return kept_of(shop.client, args, NULL);
}

static ntapi_refresh *make_refresh(void) {
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    check_ok(ntapi_client_set_stub(client, shop.stub));
    ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, keep_refresh, NULL, NULL, NULL);
    check_ok(ntapi_client_set_authenticator(client, authenticator));
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE);
    ntapi_authenticator_free(authenticator);
    ntapi_refresh *refresh = kept_of(client, background(), NULL);
    ntapi_client_free(client);
    return refresh;
}

static void keep_store_call(void *user_data, const char *script, const char *lua, const char *const *keys,
                            size_t key_count, const char *const *arguments, size_t argument_count,
                            ntapi_store_call *call) {
    (void)user_data, (void)script, (void)lua, (void)keys, (void)key_count, (void)arguments, (void)argument_count;
    keep(call);
}

static ntapi_store *make_store(void) {
    const ntapi_store_functions functions = {.size = sizeof functions, .run = keep_store_call};
    return ntapi_store_create(&functions, NULL, NULL, NULL);
}

static ntapi_store_call *make_store_call(void) {
    ntapi_store *store = make_store();
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 1;
    ntapi_rate_limiter_options options = {
        .size = sizeof options, .limits = &limit, .limit_count = 1, .store = store, .key = "x", .store_timeout = 1000};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    ntapi_args *args = background();
    check_ok(ntapi_args_rate_limiter(args, limiter));
    ntapi_rate_limiter_free(limiter);
    ntapi_store_free(store);
    return kept_of(shop.client, args, NULL);
}

static ntapi_decoded *make_decoded(void) {
    const ntapi_field fields[] = {NTAPI_FIELD_END};
    static char nothing;
    return ntapi_json_decode(shop.json, fields, &nothing, sizeof nothing, NULL);
}

static ntapi_authenticator *make_authenticator(void) {
    return ntapi_authenticator_create(NULL, keep_refresh, NULL, NULL, NULL);
}

static void observe(void *user_data, ntapi_observation *observed) {
    (void)user_data, (void)observed;
}

static ntapi_headers *make_headers(void) {
    ntapi_request *request = ntapi_client_create_request(shop.client, "x", NULL);
    ntapi_headers *headers = ntapi_request_received_headers(request);
    ntapi_request_free(request);
    return headers;
}

/* Each kind, except for the job and the call, with a function that makes a handle. */
#define MADE_BY(MAKE)                                                                                                  \
    MAKE(REQUEST, request, ntapi_client_create_request(shop.client, "x", NULL))                                        \
    MAKE(RESPONSE, response, ntapi_client_perform(shop.client, "x", NULL))                                             \
    MAKE(CLIENT, client, ntapi_client_create(NULL, NULL))                                                              \
    MAKE(ARGS, args, ntapi_args_create())                                                                              \
    MAKE(ERROR, error, ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "x", "x", false))                                \
    MAKE(JSON, json, ntapi_json_create_string("x"))                                                                    \
    MAKE(JSON_ITERATOR, json_iterator, ntapi_json_iterate(shop.json, NULL))                                            \
    MAKE(CLASS, class, ntapi_class_create("Shop", NULL))                                                               \
    MAKE(CONFIGURATION, configuration, ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL))                 \
    MAKE(MAILBOX, mailbox, ntapi_mailbox_create())                                                                     \
    MAKE(EXECUTOR, executor, ntapi_executor_create(keep_job, NULL, NULL))                                              \
    MAKE(DATA, data, make_data())                                                                                      \
    MAKE(DECODED, decoded, make_decoded())                                                                             \
    MAKE(INTERCEPTION, interception, make_interception())                                                              \
    MAKE(DECISION, decision, make_decision())                                                                          \
    MAKE(RATE_LIMITER, rate_limiter, ntapi_rate_limiter_create(1, 1, 1, 1))                                            \
    MAKE(AUTHENTICATOR, authenticator, make_authenticator())                                                           \
    MAKE(REFRESH, refresh, make_refresh())                                                                             \
    MAKE(CACHE, cache, ntapi_cache_create(1000, 0, NULL))                                                              \
    MAKE(CREDENTIAL_STORAGE, credential_storage, ntapi_credential_storage_create(NULL))                                \
    MAKE(STUB, stub, ntapi_stub_create())                                                                              \
    MAKE(STUB_RULE, stub_rule, ntapi_stub_on(shop.stub, "PUT", "/never"))                                              \
    MAKE(RECORDER, recorder, ntapi_recorder_create("never.json"))                                                      \
    MAKE(MANUAL_CLOCK, manual_clock, ntapi_manual_clock_create(0))                                                     \
    MAKE(HEADERS, headers, make_headers())                                                                             \
    MAKE(INTERCEPTOR, interceptor, make_interceptor())                                                                 \
    MAKE(OBSERVER, observer, ntapi_observer_create(NTAPI_OBSERVED_ALL, observe, NULL, NULL))                           \
    MAKE(STORE, store, make_store())

#define FUNCTIONS(number, name, expression)                                                                            \
    static void *new_##name(void) {                                                                                    \
        return expression;                                                                                             \
    }                                                                                                                  \
    static void end_##name(void *handle) {                                                                             \
        ntapi_##name##_free(handle);                                                                                   \
    }
MADE_BY(FUNCTIONS)

static void *new_job(void) {
    return make_job();
}
static void end_job(void *handle) {
    ntapi_job_run(handle);
}

static void *new_store_call(void) {
    return make_store_call();
}
static void end_store_call(void *handle) {
    ntapi_store_call_fail(handle, NULL);
}

#define ROW(number, name, expression) {NTAPI_HANDLE_KIND_##number, "ntapi_" #name, new_##name, end_##name},
static const struct kind {
    ntapi_handle_kind number;
    const char *name;
    void *(*make)(void);
    void (*end)(void *handle);
} all[] = {MADE_BY(ROW){NTAPI_HANDLE_KIND_JOB, "ntapi_job", new_job, end_job},
           {NTAPI_HANDLE_KIND_STORE_CALL, "ntapi_store_call", new_store_call, end_store_call}};
enum { KINDS = sizeof all / sizeof *all };
_Static_assert((int)KINDS == NTAPI_HANDLE_KIND_STORE_CALL, "each kind has its row");

static bool are_coprime(int larger, int smaller) {
    return smaller == 0 ? larger == 1 : are_coprime(smaller, larger % smaller);
}

static void every_kind_counts_up_and_down_in_any_order(void **state) {
    (void)state;
    size_t before = ntapi_live_handles(NTAPI_HANDLE_KIND_ANY);
    for (int first = 0; first < KINDS; first += 4)
        for (int step = 1; step < KINDS; step += 6) {
            /* Only then does this order contain each kind once. */
            if (!are_coprime(KINDS, step))
                continue;
            open_shop();
            void *handles[KINDS];
            size_t kinds[KINDS];
            for (int i = 0; i < KINDS; i++) {
                const struct kind *kind = &all[i];
                kinds[i] = ntapi_live_handles(kind->number);
                handles[i] = kind->make();
                assert_non_null(handles[i]);
                if (ntapi_live_handles(kind->number) != kinds[i] + 1)
                    fail_msg("%s made: %zu after %zu", kind->name, ntapi_live_handles(kind->number), kinds[i]);
            }
            for (int i = 0; i < KINDS; i++) {
                const struct kind *kind = &all[(first + i * step) % KINDS];
                size_t left = ntapi_live_handles(kind->number);
                for (int times = 0; times < 2; times++) {
                    kind->end(handles[kind - all]);
                    assert_int_equal(ntapi_live_handles(kind->number), left - 1);
                }
            }
            close_shop();
            assert_int_equal(ntapi_live_handles(NTAPI_HANDLE_KIND_ANY), before);
        }
    for (int kind = -1; kind < 100; kind++)
        if (kind < 0 || kind > NTAPI_HANDLE_KIND_STORE_CALL)
            assert_int_equal(ntapi_live_handles((ntapi_handle_kind)kind), 0);
}

static void borrowed_handles_do_not_count(void **state) {
    (void)state;
    open_shop();
    ntapi_response *response = ntapi_client_perform(shop.client, "x", NULL);
    ntapi_class *class = ntapi_class_create("Shop", NULL);
    size_t before = ntapi_live_handles(NTAPI_HANDLE_KIND_ANY);
    assert_non_null(ntapi_defaults_global());
    assert_non_null(ntapi_class_defaults(class));
    assert_non_null(ntapi_client_defaults(shop.client));
    assert_non_null(ntapi_client_cookies(shop.client));
    assert_non_null(ntapi_client_cache(shop.client));
    assert_non_null(ntapi_client_credential_storage(shop.client));
    assert_non_null(ntapi_response_json(response));
    assert_non_null(ntapi_response_headers(response));
    assert_non_null(ntapi_response_request(response));
    assert_int_equal(ntapi_live_handles(NTAPI_HANDLE_KIND_ANY), before);
    ntapi_class_free(class);
    ntapi_response_free(response);
    close_shop();
}

static void count_in_callback(void *user_data, const ntapi_response *response) {
    (void)response;
    *(size_t *)user_data = ntapi_live_handles(NTAPI_HANDLE_KIND_RESPONSE);
}

static void the_response_of_a_handler_is_borrowed(void **state) {
    (void)state;
    open_shop();
    size_t before = ntapi_live_handles(NTAPI_HANDLE_KIND_RESPONSE), meanwhile = 99;
    ntapi_request_free(ntapi_client_begin(shop.client, "x", NULL, count_in_callback, &meanwhile, NULL));
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    assert_int_equal(meanwhile, before);
    close_shop();
}

/* ---- The report at exit ----------------------------------------------------------------------------------------- */

static ntapi_args *late;

static void free_late(void) {
    ntapi_args_free(late);
}

static int child(const char *how) {
    alarm((unsigned)PATIENCE);
    /* The test reads the report from the child's output. */
    dup2(STDOUT_FILENO, STDERR_FILENO);
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    ntapi_client_free(client);
    if (strcmp(how, "leaks") == 0) {
        open_shop();
        ntapi_response *kept[] = {ntapi_client_perform(shop.client, "x", NULL),
                                  ntapi_client_perform(shop.client, "x", NULL)};
        (void)kept;
        /* A forked child does not report the handles of its parent. */
        pid_t forked = fork();
        if (forked == 0)
            exit(0);
        if (end_of_child(forked) != 0)
            return 1;
    } else {
        late = ntapi_args_create();
        atexit(free_late);
    }
    return 0;
}

static void check_report(const char *how, const char *value, const char *const *lines) {
    int output;
    /* The program leaks on purpose. AddressSanitizer would add its own lines about that. */
    const char *const variables[] = {value, "ASAN_OPTIONS=detect_leaks=0", NULL};
    pid_t pid = start_child((const char *[]){how, NULL}, variables, &output);
    char line[128];
    for (; *lines != NULL; lines++)
        assert_string_equal(line_of_child(output, line), *lines);
    assert_string_equal(line_of_child(output, line), "");
    close(output);
    assert_int_equal(end_of_child(pid), 0);
}

static void a_program_that_leaks_is_told_at_its_exit(void **state) {
    (void)state;
    const char *const lines[] = {"ntapi: 2 ntapi_response not freed", "ntapi: 1 ntapi_client not freed",
                                 "ntapi: 1 ntapi_json not freed", "ntapi: 1 ntapi_stub not freed", NULL};
    const char *const none[] = {NULL};
    check_report("leaks", "NTAPI_REPORT_HANDLES=1", lines);
    check_report("leaks", "NTAPI_REPORT_HANDLES=0", none);
    check_report("frees", "NTAPI_REPORT_HANDLES=1", none);
}

int main(int argc, char **argv) {
    if (argc == 2)
        return child(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_counts_up_and_down_in_any_order),
        cmocka_unit_test(borrowed_handles_do_not_count),
        cmocka_unit_test(the_response_of_a_handler_is_borrowed),
        cmocka_unit_test(a_program_that_leaks_is_told_at_its_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
