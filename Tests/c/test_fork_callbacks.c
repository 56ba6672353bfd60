/* A callback forks while a call waits. The child does not continue the parent's requests, and neither process loses
 * anything. */
#include "support.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIALS = 8 };

/* A fork, and its result. */
static struct {
    pid_t parent, child; /* the child is 0 until there is one */
    bool is_child;
    int calls_in_child; /* of callbacks that came after the one that forked */
    bool stops;         /* the response's handler ends the mailbox's run */
} trial;

static void begin_trial(void) {
    memset(&trial, 0, sizeof trial);
    trial.parent = getpid();
    fflush(NULL);
}

/** Each callback calls this: the first one forks. */
static void fork_once(void) {
    if (trial.is_child)
        trial.calls_in_child++;
    if (trial.child != 0 || trial.is_child)
        return;
    pid_t child = fork();
    if (child == 0) {
        /* The library's threads block all signals. */
        sigset_t alarm_only;
        sigemptyset(&alarm_only);
        sigaddset(&alarm_only, SIGALRM);
        pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
        alarm((unsigned)PATIENCE);
        trial.is_child = true;
    } else {
        trial.child = child;
    }
}

/** In the parent: fails unless the child has ended well. */
static void check_child(void) {
    int status = 0;
    assert_true(trial.child > 0);
    assert_int_equal(waitpid(trial.child, &status, 0), trial.child);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("the child ended itself with %d", WEXITSTATUS(status));
}

/** Returns 0 if the child's own requests succeed, also with the inherited client. */
static int goes_well(ntapi_client *inherited) {
    ntapi_client *clients[] = {inherited, ntapi_client_create(NULL, server("fault"))};
    check_ok(ntapi_client_set_hooks(inherited, NULL, NULL, NULL));
    ntapi_client_set_log_flags(inherited, NTAPI_LOG_NONE);
    for (int i = 0; i < 2; i++) {
        ntapi_response *response = ntapi_client_perform(clients[i], "ok", NULL);
        if (ntapi_response_status(response) != 200)
            return 10 + i;
        ntapi_response_free(response);
        ntapi_client_free(clients[i]);
    }
    return 0;
}

/* The callbacks that fork. */

static void stops_the_run(void *self, const ntapi_response *response) {
    witness_response(self, response);
    if (trial.stops)
        ntapi_mailbox_stop(ntapi_mailbox_main());
}

static void response_forks(void *self, const ntapi_response *response) {
    fork_once();
    /* The child may use its copy of the response, but not the parent's witness: its lock may have been held at the
     * fork, by the thread that waits for it. */
    if (trial.is_child)
        ntapi_response_free(ntapi_response_retain(response));
    else
        stops_the_run(self, response);
}

static void progress_forks(void *self, int64_t bytes, int64_t total) {
    (void)self, (void)bytes, (void)total;
    fork_once();
}

static void data_forks(void *self, const char *bytes, size_t length) {
    (void)self, (void)bytes, (void)length;
    fork_once();
}

static void decision_forks(void *self, ntapi_decision *decision) {
    (void)self;
    fork_once();
    ntapi_status status = ntapi_decision_proceed(decision);
    /* The decision belongs to the parent. */
    if (trial.is_child && status == NTAPI_STATUS_OK)
        _exit(3);
    ntapi_decision_free(decision);
}

enum kind { RESPONSE, PROGRESS, DATA, DECISION, KINDS };

/** Begins a request. One of its callbacks forks. */
static ntapi_request *begin_forking(ntapi_client *client, enum kind kind, ntapi_thread thread, witness *seen) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, thread));
    ntapi_request *request = ntapi_client_create_request(client, "echo", args);
    ntapi_args_free(args);
    ntapi_response_fn handler = kind == RESPONSE ? response_forks : stops_the_run;
    check_ok(ntapi_request_set_handler(request, handler, seen, witness_destroy));
    if (kind == PROGRESS)
        check_ok(ntapi_request_set_download_progress(request, progress_forks, NULL, NULL));
    if (kind == DATA)
        check_ok(ntapi_request_set_data_handler(request, data_forks, NULL, NULL));
    if (kind == DECISION)
        check_ok(ntapi_request_set_decision_handler(request, NTAPI_DECISION_KIND_ALL, decision_forks, NULL, NULL));
    check_ok(ntapi_request_resume(request));
    return request;
}

/* Calls that wait, and run callbacks meanwhile. Each returns 0 if its result is right in this process, the child or
 * the parent. */

/** Performs requests until the other request's callback has forked. On a busy machine, that may take many requests. */
static int perform_waits(ntapi_client *client, ntapi_request *request) {
    int left = (int)(PATIENCE * 1000 / 30);
    do {
        ntapi_response *response = ntapi_client_perform(client, "late?ms=30", NULL);
        int status = ntapi_response_status(response);
        ntapi_code code = code_of(response);
        ntapi_response_free(response);
        if (trial.is_child)
            return status == 0 && code == NTAPI_CODE_INVALID_REQUEST ? 0 : 1;
        if (status != 200 || code != NTAPI_CODE_NONE)
            return 2;
    } while (trial.child == 0 && left-- > 0);
    return ntapi_request_wait(request, PATIENCE) == NTAPI_STATUS_OK ? 0 : 4;
}

static int wait_waits(ntapi_client *client, ntapi_request *request) {
    (void)client;
    ntapi_status status = ntapi_request_wait(request, PATIENCE);
    return status == (trial.is_child ? NTAPI_STATUS_INVALID_STATE : NTAPI_STATUS_OK) ? 0 : 1;
}

static int client_drain_waits(ntapi_client *client, ntapi_request *request) {
    (void)request;
    return ntapi_client_drain(client, PATIENCE) == 0 ? 0 : 1;
}

static int drain_waits(ntapi_client *client, ntapi_request *request) {
    (void)client, (void)request;
    return ntapi_drain(PATIENCE) == 0 ? 0 : 1;
}

static int run_waits(ntapi_client *client, ntapi_request *request) {
    (void)client, (void)request;
    ntapi_status status = ntapi_mailbox_run(ntapi_mailbox_main(), PATIENCE);
    return status == (trial.is_child ? NTAPI_STATUS_INVALID_STATE : NTAPI_STATUS_OK) ? 0 : 1;
}

static int mailbox_drain_runs(ntapi_client *client, ntapi_request *request) {
    (void)client;
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    struct pollfd waits = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    while (!trial.is_child && trial.child == 0) {
        poll(&waits, 1, (int)(PATIENCE * 1000));
        if (ntapi_mailbox_drain(mailbox) < 1)
            return 1;
    }
    if (trial.is_child)
        return ntapi_mailbox_drain(mailbox) == 0 ? 0 : 1;
    return ntapi_request_wait(request, PATIENCE) == NTAPI_STATUS_OK ? 0 : 2;
}

static int (*const waits[])(ntapi_client *, ntapi_request *) = {
    perform_waits, wait_waits, client_drain_waits, drain_waits, run_waits, mailbox_drain_runs,
};

static void a_callback_forks_while_a_call_waits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (int n = 0; n < TRIALS; n++) {
                begin_trial();
                trial.stops = waits[i] == run_waits;
                ntapi_client *client = client_of("fault");
                static witness seen; /* outlives a failed trial, whose request continues */
                witness_init(&seen);
                ntapi_request *request = begin_forking(client, (enum kind)kind, NTAPI_THREAD_CURRENT, &seen);
                int result = waits[i](client, request);
                if (trial.is_child)
                    /* No callback got an event of the parent. */
                    _exit(result != 0                 ? result
                          : trial.calls_in_child != 0 ? 5
                          : seen.destroys != 0        ? 6
                                                      : goes_well(client));
                if (result != 0)
                    fail_msg("call %zu, callback %d: %d", i, kind, result);
                check_child();
                witness_wait(&seen, 1);
                witness_check_once(&seen);
                assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
                ntapi_request_free(request);
                ntapi_client_free(client);
                witness_free(&seen);
            }
        }
    }
}

/* A hook forks in the call that makes the transfer itself. */

static void started_forks(void *self, ntapi_request *request) {
    (void)self, (void)request;
    fork_once();
}

static ntapi_json *parse_forks(void *self, const void *bytes, size_t length, ntapi_error **error) {
    (void)self;
    fork_once();
    return ntapi_json_parse(bytes, length, error);
}

static ntapi_error *map_forks(void *self, const ntapi_response *response) {
    (void)self, (void)response;
    fork_once();
    return NULL;
}

static ntapi_error *map_error_forks(void *self, const ntapi_error *error, const ntapi_response *response) {
    (void)self, (void)error, (void)response;
    fork_once();
    return NULL;
}

static void progressed_forks(void *self, ntapi_request *request, int64_t bytes, int64_t total) {
    (void)self, (void)request, (void)bytes, (void)total;
    fork_once();
}

static void received_forks(void *self, ntapi_request *request, const void *bytes, size_t length) {
    (void)self, (void)request, (void)bytes, (void)length;
    fork_once();
}

static void metrics_fork(void *self, ntapi_request *request, const ntapi_json *metrics) {
    (void)self, (void)request, (void)metrics;
    fork_once();
}

static void completed_forks(void *self, ntapi_request *request, const ntapi_response *response) {
    (void)self, (void)request, (void)response;
    fork_once();
}

static void log_forks(void *self, ntapi_log level, const char *message) {
    (void)self, (void)level, (void)message;
    fork_once();
}

static void a_hook_forks_while_perform_waits(void **state) {
    (void)state;
    enum { MAP_ERROR = 6, HOOKS = 10 };
    for (int hook = 0; hook < HOOKS; hook++) {
        for (int n = 0; n < TRIALS; n++) {
            begin_trial();
            ntapi_client *client = client_of("fault");
            ntapi_hooks hooks = {.size = sizeof hooks};
            switch (hook) {
            case 0:
                hooks.started = started_forks;
                break;
            case 1:
                hooks.parse_json = parse_forks;
                break;
            case 2:
                hooks.map_service_error = map_forks;
                break;
            case 3:
                hooks.metrics_collected = metrics_fork;
                break;
            case 4:
                hooks.completed = completed_forks;
                break;
            case 5:
                hooks.write_log = log_forks;
                check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_INFO));
                break;
            case MAP_ERROR:
                hooks.map_error = map_error_forks;
                check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
                break;
            case 7:
                hooks.upload_progressed = progressed_forks;
                break;
            case 8:
                hooks.download_progressed = progressed_forks;
                break;
            case 9:
                hooks.data_received = received_forks;
                break;
            }
            check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
            ntapi_args *args = ntapi_args_create();
            check_ok(ntapi_args_data(args, "body", 4, NULL));
            ntapi_response *response = ntapi_client_perform(client, hook == MAP_ERROR ? "status/404" : "echo", args);
            if (trial.is_child) {
                bool is_refused =
                    ntapi_response_status(response) == 0 && code_of(response) == NTAPI_CODE_INVALID_REQUEST;
                ntapi_response_free(response);
                _exit(!is_refused ? 1 : trial.calls_in_child != 0 ? 5 : goes_well(client));
            }
            assert_int_equal(ntapi_response_status(response), hook == MAP_ERROR ? 404 : 200);
            assert_int_equal(code_of(response), hook == MAP_ERROR ? NTAPI_CODE_HTTP_ERROR : NTAPI_CODE_NONE);
            check_child();
            ntapi_args_free(args);
            ntapi_response_free(response);
            ntapi_client_free(client);
        }
    }
}

/* A callback forks on a thread of the library. When the callback returns, the child ends, because it cannot
 * continue. */

static ptrdiff_t read_forks(void *left, void *buffer, size_t capacity) {
    fork_once();
    size_t count = *(size_t *)left < capacity ? *(size_t *)left : capacity;
    memset(buffer, 'x', count);
    *(size_t *)left -= count;
    return (ptrdiff_t)count;
}

static void a_callback_forks_on_a_worker(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int n = 0; n < TRIALS; n++) {
            begin_trial();
            ntapi_client *client = client_of("fault");
            witness seen;
            witness_init(&seen);
            ntapi_request_free(begin_forking(client, (enum kind)kind, NTAPI_THREAD_BACKGROUND, &seen));
            witness_wait(&seen, 1);
            check_child();
            witness_check_once(&seen);
            assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
            ntapi_client_free(client);
            witness_free(&seen);
        }
    }
}

static void a_body_stream_forks(void **state) {
    (void)state;
    for (int n = 0; n < TRIALS; n++) {
        begin_trial();
        ntapi_client *client = client_of("fault");
        ntapi_args *args = ntapi_args_create();
        size_t left = 300000;
        check_ok(ntapi_args_stream(args, read_forks, NULL, 300000, "text/plain", &left, NULL));
        ntapi_response *response = ntapi_client_perform(client, "count-hit", args);
        ntapi_args_free(args);
        assert_false(trial.is_child);
        assert_int_equal(ntapi_response_status(response), 200);
        check_child();
        ntapi_response_free(response);
        ntapi_client_free(client);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_forks_while_a_call_waits),
        cmocka_unit_test(a_hook_forks_while_perform_waits),
        cmocka_unit_test(a_callback_forks_on_a_worker),
        cmocka_unit_test(a_body_stream_forks),
    };
    server("fault"); /* read before the children need it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
