/*
 * Calls each export with each wrong handle: NULL, freed handles of each type, and live handles of other types. Also
 * calls it with NULL for everything that is not a handle. robustness_calls.py writes the calls from the header.
 */
#include "support.h"

#include <poll.h>
#include <semaphore.h>

#include "ntapi_jansson.h"
#include "ntapi_python.h"

/** The arguments of a call, except for the handles. */
struct inputs {
    const char *text;
    void (*callback)(void);
    ntapi_destroy_fn destroy;
    void *user_data;
    ntapi_error **error;
    size_t *length;
    ntapi_event *events;
    ntapi_watch *watch;
    ntapi_request **requests;
};

enum { RESULT_OTHER, RESULT_STATUS, RESULT_POINTER, RESULT_ERROR };

struct export {
    const char *name;
    int (*call)(void **handles, const struct inputs *in);
    int count;       /* the number of handle parameters */
    int kinds[3];    /* the kind of each of them */
    int nullable[3]; /* whether NULL means something for it */
    int result;
    int destroys; /* whether it takes a destroy function */
    int frees;    /* whether it frees its handle */
};

#include "robustness_calls.h"

/** The client that owns the cookie storage. */
static ntapi_client *sessions;
static void *live[KINDS], *freed[KINDS];
static int destroys;
static int calls;

static void count_destroy(void *user_data) {
    (void)user_data;
    destroys++;
}

/** It is never called, because all calls below fail before that. */
static void callback(void) {
    abort();
}

static void ignore(void *user_data, const ntapi_response *response) {
    (void)user_data;
    (void)response;
}

struct kept {
    sem_t there;
    ntapi_job *job;
};

static void keep_job(void *user_data, ntapi_job *job) {
    struct kept *kept = user_data;
    kept->job = job;
    sem_post(&kept->there);
}

/** A job that waits to be run: the handler of a request that has failed. */
static ntapi_job *new_job(void) {
    struct kept kept;
    sem_init(&kept.there, 0, 0);
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_executor *executor = ntapi_executor_create(keep_job, &kept, NULL);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_executor(args, NTAPI_HANDLER_ALL, executor));
    ntapi_request_free(ntapi_client_begin(client, "", args, ignore, NULL, NULL));
    ntapi_args_free(args);
    ntapi_executor_free(executor);
    ntapi_client_free(client);
    sem_wait(&kept.there);
    sem_destroy(&kept.there);
    return kept.job;
}

struct kept_refresh {
    sem_t there;
    ntapi_refresh *refresh;
};

static void keep_refresh(void *user_data, ntapi_refresh *refresh) {
    struct kept_refresh *kept = user_data;
    kept->refresh = refresh;
    sem_post(&kept->there);
}

/** A refresh for a request that waits for a token. */
static ntapi_refresh *new_refresh(void) {
    struct kept_refresh kept;
    sem_init(&kept.there, 0, 0);
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, keep_refresh, &kept, NULL, NULL);
    check_ok(ntapi_client_set_authenticator(client, authenticator));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    ntapi_request_free(ntapi_client_begin(client, "", args, ignore, NULL, NULL));
    ntapi_args_free(args);
    ntapi_authenticator_free(authenticator);
    ntapi_client_free(client);
    sem_wait(&kept.there);
    sem_destroy(&kept.there);
    return kept.refresh;
}

struct kept_interception {
    sem_t there;
    ntapi_interception *interception;
};

static void keep_interception(void *user_data, ntapi_interception *interception) {
    struct kept_interception *kept = user_data;
    kept->interception = interception;
    sem_post(&kept->there);
}

/** A call of a store that waits for its reply. */
struct kept_call {
    ntapi_store_call *call;
    sem_t there;
};

static void keep_call(void *user_data, const char *script, const char *lua, const char *const *keys, size_t key_count,
                      const char *const *arguments, size_t argument_count, ntapi_store_call *call) {
    (void)script, (void)lua, (void)keys, (void)key_count, (void)arguments, (void)argument_count;
    struct kept_call *kept = user_data;
    kept->call = call;
    sem_post(&kept->there);
}

static ntapi_store_call *new_store_call(void) {
    struct kept_call kept;
    sem_init(&kept.there, 0, 0);
    const ntapi_store_functions functions = {.size = sizeof functions, .run = keep_call};
    ntapi_store *store = ntapi_store_create(&functions, &kept, NULL, NULL);
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 1;
    const ntapi_rate_limiter_options options = {
        .size = sizeof options, .limits = &limit, .limit_count = 1, .store = store, .key = "x", .store_timeout = 1000};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    ntapi_store_free(store);
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_args *args = background();
    check_ok(ntapi_args_rate_limiter(args, limiter));
    ntapi_rate_limiter_free(limiter);
    ntapi_request *request = ntapi_client_begin(client, "", args, ignore, NULL, NULL);
    ntapi_args_free(args);
    ntapi_client_free(client);
    sem_wait(&kept.there);
    ntapi_request_cancel(request);
    ntapi_request_free(request);
    sem_destroy(&kept.there);
    return kept.call;
}

static ntapi_interception *new_interception(void) {
    struct kept_interception kept;
    sem_init(&kept.there, 0, 0);
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_args *args = background();
    ntapi_interceptor *interceptor =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, keep_interception, NULL, &kept, NULL);
    check_ok(ntapi_args_interceptor(args, interceptor));
    ntapi_interceptor_free(interceptor);
    ntapi_request_free(ntapi_client_begin(client, "", args, ignore, NULL, NULL));
    ntapi_args_free(args);
    ntapi_client_free(client);
    sem_wait(&kept.there);
    sem_destroy(&kept.there);
    return kept.interception;
}

static void never_refresh(void *user_data, ntapi_refresh *refresh) {
    (void)user_data;
    ntapi_refresh_free(refresh);
}

/** The first event of a kind, taken from a mailbox. Its request continues. */
static ntapi_event first_event(ntapi_handler kind) {
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, kind, mailbox));
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    check_ok(ntapi_request_set_events(request, kind, NULL));
    check_ok(ntapi_request_resume(request));
    struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
    ntapi_event event = {0};
    assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 1);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return event;
}

/** A handle of a decoded struct. */
static ntapi_decoded *new_decoded(void) {
    static const ntapi_field fields[] = {NTAPI_FIELD_END};
    char nothing = 0;
    ntapi_json *json = ntapi_json_create_string("x");
    ntapi_decoded *decoded = ntapi_json_decode(json, fields, &nothing, sizeof nothing, NULL);
    ntapi_json_free(json);
    return decoded;
}

/** Makes a handle of each type, except for the built request, which exists only in its hook. */
static void make(void **handles) {
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_class *class = ntapi_class_create("C", NULL);
    handles[KIND_ntapi_json] = ntapi_json_create_string("x");
    handles[KIND_ntapi_error] = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "x", NULL, false);
    handles[KIND_ntapi_args] = ntapi_args_create();
    handles[KIND_ntapi_class] = class;
    handles[KIND_ntapi_defaults] = ntapi_class_defaults(class);
    handles[KIND_ntapi_client] = client;
    handles[KIND_ntapi_configuration] = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    sessions = ntapi_client_create_with_configuration(NULL, nobody(), handles[KIND_ntapi_configuration]);
    handles[KIND_ntapi_cookie_storage] = ntapi_client_cookies(sessions);
    handles[KIND_ntapi_credential_storage] = ntapi_credential_storage_create(NULL);
    handles[KIND_ntapi_cache] = ntapi_cache_create(1000, 0, NULL);
    handles[KIND_ntapi_request] = ntapi_client_create_request(client, "", NULL);
    handles[KIND_ntapi_response] = ntapi_client_perform(client, "", NULL);
    handles[KIND_ntapi_headers] = ntapi_request_received_headers(handles[KIND_ntapi_request]);
    handles[KIND_ntapi_json_iterator] = ntapi_json_iterate(handles[KIND_ntapi_json], NULL);
    handles[KIND_ntapi_decoded] = new_decoded();
    handles[KIND_ntapi_data] = first_event(NTAPI_HANDLER_DATA).data;
    handles[KIND_ntapi_decision] = first_event(NTAPI_HANDLER_DECISION).decision;
    handles[KIND_ntapi_interceptor] =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, keep_interception, NULL, NULL, NULL);
    handles[KIND_ntapi_observer] = ntapi_observer_create(NTAPI_OBSERVED_ALL, (ntapi_observe_fn)callback, NULL, NULL);
    handles[KIND_ntapi_interception] = new_interception();
    handles[KIND_ntapi_authenticator] = ntapi_authenticator_create(NULL, never_refresh, NULL, NULL, NULL);
    handles[KIND_ntapi_refresh] = new_refresh();
    handles[KIND_ntapi_rate_limiter] = ntapi_rate_limiter_create(1000, 1, 1, 60);
    handles[KIND_ntapi_store] = ntapi_memory_store_create(NULL);
    handles[KIND_ntapi_store_call] = new_store_call();
    handles[KIND_ntapi_mailbox] = ntapi_mailbox_create();
    handles[KIND_ntapi_executor] = ntapi_executor_create((ntapi_submit_fn)callback, NULL, NULL);
    handles[KIND_ntapi_manual_clock] = ntapi_manual_clock_create(-1);
    handles[KIND_ntapi_stub] = ntapi_stub_create();
    handles[KIND_ntapi_stub_rule] = ntapi_stub_on(handles[KIND_ntapi_stub], NULL, NULL);
    handles[KIND_ntapi_recorder] = ntapi_recorder_create("/nowhere/recording.json");
    handles[KIND_ntapi_job] = NULL;
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != KIND_ntapi_http_request && kind != KIND_ntapi_job)
            assert_non_null(handles[kind]);
}

static void end(void **handles) {
    ntapi_json_free(handles[KIND_ntapi_json]);
    ntapi_error_free(handles[KIND_ntapi_error]);
    ntapi_args_free(handles[KIND_ntapi_args]);
    ntapi_class_free(handles[KIND_ntapi_class]); /* this also frees its defaults */
    ntapi_client_free(handles[KIND_ntapi_client]);
    ntapi_configuration_free(handles[KIND_ntapi_configuration]);
    ntapi_client_free(sessions); /* this also frees its cookies */
    ntapi_credential_storage_free(handles[KIND_ntapi_credential_storage]);
    ntapi_cache_free(handles[KIND_ntapi_cache]);
    ntapi_request_free(handles[KIND_ntapi_request]);
    ntapi_json_iterator_free(handles[KIND_ntapi_json_iterator]);
    ntapi_response_free(handles[KIND_ntapi_response]); /* this also frees its headers */
    ntapi_data_free(handles[KIND_ntapi_data]);
    ntapi_decoded_free(handles[KIND_ntapi_decoded]);
    ntapi_decision_free(handles[KIND_ntapi_decision]);
    ntapi_interceptor_free(handles[KIND_ntapi_interceptor]);
    ntapi_observer_free(handles[KIND_ntapi_observer]);
    ntapi_headers_free(handles[KIND_ntapi_headers]);
    ntapi_interception_free(handles[KIND_ntapi_interception]);
    ntapi_authenticator_free(handles[KIND_ntapi_authenticator]);
    ntapi_refresh_free(handles[KIND_ntapi_refresh]);
    ntapi_rate_limiter_free(handles[KIND_ntapi_rate_limiter]);
    ntapi_store_free(handles[KIND_ntapi_store]);
    ntapi_store_call_fail(handles[KIND_ntapi_store_call], NULL);
    ntapi_mailbox_free(handles[KIND_ntapi_mailbox]);
    ntapi_executor_free(handles[KIND_ntapi_executor]);
    ntapi_manual_clock_free(handles[KIND_ntapi_manual_clock]);
    ntapi_stub_free(handles[KIND_ntapi_stub]);
    ntapi_stub_rule_free(handles[KIND_ntapi_stub_rule]);
    ntapi_recorder_free(handles[KIND_ntapi_recorder]);
}

/** Makes a call with a wrong handle in one place, and with right handles in the others. */
static void call_wrong(const struct export *export, int place, void *wrong, const char *what) {
    void *handles[3] = {NULL};
    for (int i = 0; i < export->count; i++)
        handles[i] = i == place ? wrong : live[export->kinds[i]];
    size_t length = 0;
    ntapi_error *error = NULL;
    ntapi_event event = {0};
    ntapi_watch watch = {.descriptor = -1};
    ntapi_request *request = NULL;
    const struct inputs in = {"x", NULL, count_destroy, &destroys, &error, &length, &event, &watch, &request};
    int before = destroys;
    int result = export->call(handles, &in);
    ntapi_response_free(watch.response);
    ntapi_request_free(watch.request);
    ntapi_request_free(request);
    ntapi_error_free(error);
    calls++;
    if (wrong == NULL && export->nullable[place])
        return;
    if (export->result == RESULT_STATUS && result != NTAPI_STATUS_INVALID_ARGUMENT)
        fail_msg("%s with %s at %d: status %d", export->name, what, place, result);
    if (export->result == RESULT_POINTER && result != 0)
        fail_msg("%s with %s at %d: not NULL", export->name, what, place);
    if (export->result == RESULT_ERROR && result == 0)
        fail_msg("%s with %s at %d: NULL, which looks like success", export->name, what, place);
    if (export->destroys && destroys != before + 1)
        fail_msg("%s with %s at %d: destroy ran %d times", export->name, what, place, destroys - before);
}

/** Runs in the hook, because a built request exists only there. */
static void call_all_wrong(void *user_data, ntapi_http_request *http_request) {
    (void)user_data;
    char what[64];
    live[KIND_ntapi_http_request] = http_request;
    for (size_t e = 0; e < sizeof exports / sizeof *exports; e++)
        for (int place = 0; place < exports[e].count; place++) {
            call_wrong(&exports[e], place, NULL, "NULL");
            for (int kind = 0; kind < KINDS; kind++) {
                snprintf(what, sizeof what, "a freed %s", kind_names[kind]);
                call_wrong(&exports[e], place, freed[kind], what);
                snprintf(what, sizeof what, "a live %s", kind_names[kind]);
                if (kind != exports[e].kinds[place])
                    call_wrong(&exports[e], place, live[kind], what);
            }
        }
}

/** Right handles, and NULL for everything else: any result is allowed, but no crash. */
static void call_all_null(void *user_data, ntapi_http_request *http_request) {
    (void)user_data;
    live[KIND_ntapi_http_request] = http_request;
    for (size_t e = 0; e < sizeof exports / sizeof *exports; e++) {
        if (exports[e].frees)
            continue;
        void *handles[3] = {NULL};
        for (int i = 0; i < exports[e].count; i++)
            handles[i] = live[exports[e].kinds[i]];
        const struct inputs nothing = {0};
        exports[e].call(handles, &nothing);
        calls++;
    }
}

static void keep_http_request(void *user_data, ntapi_http_request *http_request) {
    (void)user_data;
    freed[KIND_ntapi_http_request] = http_request;
}

static void in_build_hook(ntapi_build_request_fn hook) {
    ntapi_client *client = ntapi_client_create(NULL, nobody());
    ntapi_hooks hooks = {.size = sizeof hooks, .build_request = hook};
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
    ntapi_response_free(ntapi_client_perform(client, "", NULL));
    ntapi_client_free(client);
}

static int prepare(void **state) {
    (void)state;
    make(freed);
    freed[KIND_ntapi_job] = new_job();
    ntapi_job_run(freed[KIND_ntapi_job]);
    end(freed);
    in_build_hook(keep_http_request);
    make(live);
    live[KIND_ntapi_job] = new_job();
    return 0;
}

static int clean_up(void **state) {
    (void)state;
    ntapi_job_run(live[KIND_ntapi_job]);
    end(live);
    /* Some requests deliver events to the main thread. The rest waits until these are taken. */
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    for (int tries = 0; tries < 300 && ntapi_drain(PATIENCE / 300) > 0; tries++) {
        ntapi_event event = {0};
        ntapi_mailbox_take(mailbox, &event, sizeof event, 1);
        ntapi_response_free(event.response);
        ntapi_data_free(event.data);
    }
    ntapi_mailbox_free(mailbox);
    return ntapi_drain(PATIENCE) == 0 ? 0 : -1;
}

static void wrong_handles_are_answered(void **state) {
    (void)state;
    in_build_hook(call_all_wrong);
    print_message("%d calls with a wrong handle\n", calls);
    assert_true(calls > 3000);
}

static void live_handles_were_left_alone(void **state) {
    (void)state;
    assert_string_equal(ntapi_json_string(live[KIND_ntapi_json], ""), "x");
    assert_string_equal(ntapi_error_message(live[KIND_ntapi_error]), "x");
    assert_int_equal(ntapi_args_count(live[KIND_ntapi_args]), 0);
    check_ok(ntapi_defaults_set_bool(live[KIND_ntapi_defaults], "x", true));
    assert_int_equal(ntapi_request_get_state(live[KIND_ntapi_request]), NTAPI_REQUEST_STATE_SUSPENDED);
    assert_non_null(ntapi_response_error(live[KIND_ntapi_response]));
    assert_true(ntapi_mailbox_fd(live[KIND_ntapi_mailbox]) >= 0);
}

static void nothing_but_handles_is_answered(void **state) {
    (void)state;
    calls = 0;
    in_build_hook(call_all_null);
    print_message("%d calls with NULL for all but handles\n", calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_handles_are_answered),
        cmocka_unit_test(live_handles_were_left_alone),
        cmocka_unit_test(nothing_but_handles_is_answered),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
