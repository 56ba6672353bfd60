/*
 * Process exit with requests in flight. Each case runs this program again as a child, which begins requests and ends in
 * its own way; its handlers write the request's number to its output. The exit code must be the child's own, no handler
 * may run twice, nothing may hang or crash, and where exit handlers run, every request's handler has run by the end.
 * Most children give their requests no time to finish.
 */
#include "child.h"
#include "session.h"
#include "support.h"

#include "ntapi_python.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 12, CODE = 37 };

static void report(void *user_data, const ntapi_response *response) {
    (void)response;
    unsigned char number = (unsigned char)(uintptr_t)user_data;
    if (write(STDOUT_FILENO, &number, 1) != 1)
        _exit(99);
}

/** Reports only responses with status 200. */
static void report_answer(void *user_data, const ntapi_response *response) {
    if (ntapi_response_status(response) == 200)
        report(user_data, response);
}

static void exit_in_handler(void *user_data, const ntapi_response *response) {
    report(user_data, response);
    exit(CODE);
}

static void *exit_on_thread(void *argument) {
    (void)argument;
    exit(CODE);
}

/** Cancels the requests when the main thread has ended, and with it the mailbox of their handlers. */
static void *drain_and_exit(void *client) {
    ntapi_client_cancel_all(client);
    exit(ntapi_client_drain(client, PATIENCE / 2) == 0 ? CODE : 1);
}

/** A callback of a body stream that does not return. */
static ptrdiff_t never_read(void *user_data, void *buffer, size_t size) {
    (void)buffer, (void)size;
    unsigned char begun = 255;
    if (write((int)(intptr_t)user_data, &begun, 1) != 1)
        _exit(99);
    while (true)
        pause();
}

/** Begins a request whose body is being read when the process ends. */
static void begin_blocked(const char *url) {
    int pipes[2];
    if (pipe(pipes) != 0)
        _exit(99);
    ntapi_client *client = ntapi_client_create(NULL, url);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND);
    ntapi_args_stream(args, never_read, NULL, -1, NULL, (void *)(intptr_t)pipes[1], NULL);
    ntapi_request_free(ntapi_client_begin(client, "echo", args, report, (void *)(uintptr_t)COUNT, NULL));
    ntapi_args_free(args);
    unsigned char begun;
    if (read(pipes[0], &begun, 1) != 1)
        _exit(99);
}

/** An interceptor that does not return. */
static void never_answer(void *user_data, ntapi_interception *interception) {
    (void)interception;
    sem_post(user_data);
    while (true)
        pause();
}

static sem_t intercepted;

/** Begins a request whose interceptor blocks a worker when the process ends. */
static void begin_intercepted(const char *url, ntapi_interceptor_scope scope, int count) {
    sem_init(&intercepted, 0, 0);
    ntapi_client *client = ntapi_client_create(NULL, url);
    ntapi_interceptor *interceptor = ntapi_interceptor_create(scope, never_answer, NULL, &intercepted, NULL);
    check_ok(ntapi_client_add_interceptor(client, interceptor));
    ntapi_interceptor_free(interceptor);
    for (int i = 0; i < count; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)(i % 3));
        ntapi_request_free(ntapi_client_begin(client, "ok", args, report, (void *)(uintptr_t)i, NULL));
        ntapi_args_free(args);
    }
    for (int i = 0; i < count; i++)
        sem_wait(&intercepted);
}

/** Other code of the program that does not return. */
static void never_return(void) {
    sem_post(&intercepted);
    while (true)
        pause();
}

static void never_reply(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply) {
    (void)user_data, (void)request, (void)reply;
    never_return();
}

static ntapi_error *never_map(void *user_data, const ntapi_error *error, const ntapi_response *response) {
    (void)user_data, (void)error, (void)response;
    never_return();
    return NULL;
}

static void never_complete(void *user_data, ntapi_request *request, const ntapi_response *response) {
    (void)user_data, (void)request, (void)response;
    never_return();
}

/** Begins requests that a stub answers. Waits until code of the program blocks each of them. */
static void begin_held_up(const char *where) {
    sem_init(&intercepted, 0, 0);
    ntapi_client *client = ntapi_client_create(NULL, "https://api.example");
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    ntapi_stub_answer answer = {.size = sizeof answer, .status = 404};
    ntapi_hooks hooks = {.size = sizeof hooks};
    if (strcmp(where, "stub") == 0)
        check_ok(ntapi_stub_rule_answer_with(rule, never_reply, NULL, NULL));
    else
        check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    if (strcmp(where, "map_error") == 0)
        hooks.map_error = never_map;
    if (strcmp(where, "completed") == 0)
        hooks.completed = never_complete;
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
    check_ok(ntapi_client_set_stub(client, stub));
    for (int i = 0; i < COUNT; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)(i % 3));
        ntapi_request_free(ntapi_client_begin(client, "ok", args, report, (void *)(uintptr_t)i, NULL));
        ntapi_args_free(args);
    }
    for (int i = 0; i < COUNT; i++)
        sem_wait(&intercepted);
}

/** Begins the requests of a child, with handlers on every thread: requests that the server holds, requests that wait
 * for a retry, and some that get their responses at once. Most are in flight when the process ends. */
static ntapi_client *begin_all(const char *url) {
    ntapi_client *client = ntapi_client_create(NULL, url);
    const ntapi_retry_policy patient = NTAPI_RETRY_POLICY_INIT;
    for (uintptr_t i = 0; i < COUNT; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)(i % 3));
        const char *command = i % 2 ? "hold" : i % 4 ? "ok" : "status/503?h-Retry-After=50";
        ntapi_args_retry(args, i % 4 ? NULL : &patient);
        ntapi_request_free(ntapi_client_begin(client, command, args, report, (void *)i, NULL));
        ntapi_args_free(args);
    }
    return client;
}

/** Begins requests that are answered after the process has begun to end, one for each thread, and one that cannot
 * finish. */
static void begin_slow(const char *url) {
    ntapi_client *client = ntapi_client_create(NULL, url);
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), NTAPI_DEFAULT_EXIT_TIMEOUT, PATIENCE));
    for (uintptr_t i = 0; i < 3; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_url_int(args, "ms", 200);
        ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)i);
        ntapi_request_free(ntapi_client_begin(client, "late", args, report_answer, (void *)i, NULL));
        ntapi_args_free(args);
    }
    ntapi_request *held = ntapi_client_begin(client, "hold", NULL, report, (void *)3, NULL);
    ntapi_request_suspend(held);
    ntapi_request_free(held);
    ntapi_client_free(client);
}

static void perform_another(void *client, const ntapi_response *response) {
    (void)response;
    ntapi_response_free(ntapi_client_perform(client, "ping", NULL));
}

/** Uses TLS, so that OpenSSL has data of worker threads, and of network threads that are about to end. */
static void use_tls(void) {
    enum { CLIENTS = 4, EACH = 4 };
    ntapi_configuration *configuration = ephemeral();
    ntapi_client *other = session_of("nginx_tls", configuration), *clients[CLIENTS];
    ntapi_request *requests[CLIENTS * EACH];
    ntapi_args *args = ntapi_args_create();
    ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = session_of("nginx_tls", configuration);
        for (int j = 0; j < EACH; j++)
            requests[i * EACH + j] = ntapi_client_begin(clients[i], "small.json", args, perform_another, other, NULL);
    }
    for (int i = 0; i < CLIENTS * EACH; i++) {
        ntapi_request_wait(requests[i], PATIENCE);
        ntapi_request_free(requests[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        ntapi_client_free(clients[i]);
    ntapi_args_free(args);
    ntapi_configuration_free(configuration);
}

/** Whether the first thread of a process has ended while others still run. */
static bool has_no_main_thread(pid_t pid) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *end = strrchr(text, ')');
    return length > 0 && end != NULL && end[1] == ' ' && end[2] == 'Z';
}

static void answered(void *semaphore, const ntapi_response *response) {
    (void)response;
    sem_post(semaphore);
}

/** Begins a request whose handler belongs to the main thread. That thread has ended and never used the library. */
static void *begin_without_main(void *url) {
    while (!has_no_main_thread(getpid()))
        sched_yield();
    ntapi_log_set_sink(NULL, NULL, NULL);
    ntapi_client *client = ntapi_client_create(NULL, url);
    sem_t answers;
    sem_init(&answers, 0, 0);
    ntapi_request_free(ntapi_client_begin(client, "ok", NULL, answered, &answers, NULL));
    while (sem_wait(&answers) != 0) {
    }
    exit(CODE);
}

static int child(const char *how, const char *url) {
    alarm((unsigned)PATIENCE);
    if (strcmp(how, "no-main") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, begin_without_main, (void *)url);
        pthread_exit(NULL);
    }
    ntapi_log_set_sink(NULL, NULL, NULL);
    if (strcmp(how, "unused") == 0)
        return CODE;
    if (strcmp(how, "tls") == 0) {
        use_tls();
        return CODE;
    }
    if (strcmp(how, "slow") == 0) {
        begin_slow(url);
        return CODE;
    }
    check_ok(ntapi_defaults_set_number(ntapi_defaults_global(), NTAPI_DEFAULT_EXIT_TIMEOUT, 0));
    if (strcmp(how, "blocked") == 0) {
        begin_blocked(url);
        return CODE;
    }
    if (strncmp(how, "intercepted", 11) == 0) {
        begin_intercepted(url, strchr(how, 'A') ? NTAPI_INTERCEPTOR_SCOPE_ATTEMPT : NTAPI_INTERCEPTOR_SCOPE_CALL,
                          strchr(how, '1') ? 1 : COUNT);
        return CODE;
    }
    if (strncmp(how, "held up ", 8) == 0) {
        begin_held_up(how + 8);
        return CODE;
    }
    ntapi_client *client = begin_all(url);
    if (strcmp(how, "freed") == 0)
        ntapi_client_free(client);
    else if (strcmp(how, "closed") == 0)
        ntapi_client_close(client);
    else if (strcmp(how, "thread") == 0)
        on_new_thread(exit_on_thread, NULL);
    else if (strcmp(how, "main-ends") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, drain_and_exit, client);
        pthread_exit(NULL);
    } else if (strcmp(how, "main-gone") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(how, "_exit") == 0)
        _exit(CODE);
    else if (strcmp(how, "main-handler") == 0 || strcmp(how, "background-handler") == 0) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_thread(args, NTAPI_HANDLER_ALL, how[0] == 'm' ? NTAPI_THREAD_MAIN : NTAPI_THREAD_BACKGROUND);
        ntapi_request_free(ntapi_client_begin(client, "ok", args, exit_in_handler, (void *)(uintptr_t)COUNT, NULL));
        ntapi_drain(-1);
    }
    return CODE;
}

/** Runs a child that ends in that way. Counts the handler calls of each request. */
static void run(const char *how, int calls[static COUNT + 1]) {
    int fd;
    pid_t pid = start_child((const char *[]){how, server("fault"), NULL}, NULL, &fd);
    memset(calls, 0, (COUNT + 1) * sizeof *calls);
    unsigned char number;
    while (read(fd, &number, 1) == 1) {
        assert_in_range(number, 0, COUNT);
        calls[number]++;
    }
    close(fd);
    int status = end_of_child(pid);
    if (status != CODE)
        fail_msg("%s: exit status %d", how, status);
}

static void check_all_once(const char *how, int expected) {
    int calls[COUNT + 1];
    run(how, calls);
    for (int i = 0; i < COUNT; i++)
        if (calls[i] != expected)
            fail_msg("%s: request %d called its handler %d times", how, i, calls[i]);
}

static void check_none_twice(const char *how) {
    int calls[COUNT + 1];
    run(how, calls);
    for (int i = 0; i <= COUNT; i++)
        assert_in_range(calls[i], 0, 1);
}

static void an_unused_library_exits(void **state) {
    (void)state;
    check_all_once("unused", 0);
}

static void returning_from_main_calls_every_handler(void **state) {
    (void)state;
    check_all_once("return", 1);
    check_all_once("freed", 1);
    check_all_once("closed", 1);
}

static void what_was_begun_finishes(void **state) {
    (void)state;
    int calls[COUNT + 1];
    run("slow", calls);
    for (int i = 0; i < 4; i++)
        assert_int_equal(calls[i], 1);
}

static void a_request_has_two_seconds_unless_told_otherwise(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_request *request = ntapi_client_begin(client, "hold", NULL, NULL, NULL, NULL);
    assert_true(ntapi_request_exit_timeout(request) == 2);
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), "exit_timeout", 0.5));
    assert_true(ntapi_request_exit_timeout(request) == 0.5);
    check_ok(ntapi_request_suspend(request));
    assert_true(ntapi_request_exit_timeout(request) == 0);
    ntapi_request_cancel(request);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

/** At exit, OpenSSL frees the same data as a thread that ends. Both must not happen at once. */
static void no_thread_is_ending_when_tls_is_cleaned_up(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++)
        check_all_once("tls", 0);
}

static void exit_on_another_thread_calls_every_handler(void **state) {
    (void)state;
    check_all_once("thread", 1);
}

static void the_main_threads_end_calls_every_handler(void **state) {
    (void)state;
    check_all_once("main-ends", 1);
    check_all_once("no-main", 0);
}

static void a_process_without_its_main_thread_can_be_told_to_end(void **state) {
    (void)state;
    pid_t pid = start_child((const char *[]){"main-gone", server("fault"), NULL}, NULL, NULL);
    while (!has_no_main_thread(pid))
        sched_yield();
    kill(pid, SIGTERM);
    assert_int_equal(end_of_child(pid), 1000 + SIGTERM);
}

static void exit_elsewhere_never_calls_twice(void **state) {
    (void)state;
    check_none_twice("main-handler");
    check_none_twice("background-handler");
    check_none_twice("_exit");
}

/* The header promises two seconds. A busy machine may sometimes take longer, but not every time. */
static void a_body_that_blocks_holds_up_nobody(void **state) {
    (void)state;
    double seconds = 0;
    for (int round = 0; round < 5; round++) {
        int calls[COUNT + 1];
        struct timespec begun, ended;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        run("blocked", calls);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        assert_int_equal(calls[COUNT], 1);
        seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
        if (seconds < 3)
            return;
    }
    fail_msg("the process took %.1f s to end", seconds);
}

/** Runs a child, and returns how many seconds it took. */
static double seconds_of(const char *how, int calls[static COUNT + 1]) {
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    run(how, calls);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
}

/* As with a body: no response comes, but the handler is called nevertheless. */
static void code_that_blocks_holds_up_nobody(void **state) {
    (void)state;
    const char *const ways[] = {"intercepted C1", "intercepted A1",    "intercepted C",    "intercepted A",
                                "held up stub",   "held up map_error", "held up completed"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        double seconds = 0;
        for (int round = 0; round < 5 && (round == 0 || seconds >= 3); round++) {
            int calls[COUNT + 1];
            seconds = seconds_of(ways[i], calls);
            for (int j = 0; j < (i < 2 ? 1 : COUNT); j++)
                assert_int_equal(calls[j], 1);
        }
        if (seconds >= 3)
            fail_msg("%s: the process took %.1f s to end", ways[i], seconds);
    }
}

int main(int argc, char **argv) {
    if (argc == 3)
        return child(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unused_library_exits),
        cmocka_unit_test(returning_from_main_calls_every_handler),
        cmocka_unit_test(what_was_begun_finishes),
        cmocka_unit_test(a_request_has_two_seconds_unless_told_otherwise),
        cmocka_unit_test(no_thread_is_ending_when_tls_is_cleaned_up),
        cmocka_unit_test(exit_on_another_thread_calls_every_handler),
        cmocka_unit_test(the_main_threads_end_calls_every_handler),
        cmocka_unit_test(a_process_without_its_main_thread_can_be_told_to_end),
        cmocka_unit_test(exit_elsewhere_never_calls_twice),
        cmocka_unit_test(code_that_blocks_holds_up_nobody),
        cmocka_unit_test(a_body_that_blocks_holds_up_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
