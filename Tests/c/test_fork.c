/* fork: the child starts afresh, the parent's requests stay with the parent, and neither of them hangs. */
#include "support.h"

#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/** Runs a function in a forked child. Returns its result, or 1000 plus the signal that killed the child. */
static int in_child(int (*function)(void *), void *argument) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm((unsigned)PATIENCE);
        _exit(function(argument));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/** Returns 0 if a request to the server succeeds in this process. */
static int request_goes_well(ntapi_client *client) {
    ntapi_response *response = ntapi_client_perform(client, "ok", NULL);
    int result = ntapi_response_status(response) == 200 && ntapi_response_error(response) == NULL ? 0 : 1;
    ntapi_response_free(response);
    return result;
}

static int new_client_in_child(void *argument) {
    (void)argument;
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    int result = request_goes_well(client);
    ntapi_client_free(client);
    return result;
}

static int inherited_client_in_child(void *client) {
    return request_goes_well(client);
}

static void spin(unsigned count) {
    for (volatile unsigned i = 0; i < count; i++)
        continue;
}

/** Forks a moment after the network thread has begun its first request, and has to create everything for it. */
static int fork_amid_the_first_request(unsigned pause) {
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "ok", &seen);
    spin(pause);
    int result = in_child(inherited_client_in_child, client);
    witness_wait(&seen, 1);
    witness_free(&seen);
    ntapi_client_free(client);
    return result;
}

static void *perform_once(void *client) {
    ntapi_response_free(ntapi_client_perform(client, "ok", NULL));
    return NULL;
}

/** Does the same while another thread of the program performs the request. */
static int fork_amid_the_first_call(unsigned pause) {
    ntapi_client *client = client_of("fault");
    pthread_t thread;
    if (pthread_create(&thread, NULL, perform_once, client) != 0)
        return 2;
    spin(pause);
    int result = in_child(inherited_client_in_child, client);
    pthread_join(thread, NULL);
    ntapi_client_free(client);
    return result;
}

static int run_trial(void *arguments) {
    char **argv = arguments;
    execv("/proc/self/exe", argv);
    return 3;
}

/** Each trial is a new process that has not used the library before: see main. */
static void a_fork_waits_for_the_library(void **state) {
    (void)state;
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (int i = 0; i < 60; i++) {
        char pause[16];
        snprintf(pause, sizeof pause, "%d", rand_r(&seed) % 2000000);
        char *argv[] = {"test_fork", i % 2 ? "call" : "request", pause, NULL};
        assert_int_equal(in_child(run_trial, argv), 0);
    }
}

static void a_child_can_make_requests(void **state) {
    (void)state;
    assert_int_equal(in_child(new_client_in_child, NULL), 0); /* before the parent has made any request */
    ntapi_client *client = client_of("fault");
    assert_int_equal(in_child(inherited_client_in_child, client), 0);
    assert_int_equal(request_goes_well(client), 0);
    assert_int_equal(in_child(new_client_in_child, NULL), 0);
    assert_int_equal(in_child(inherited_client_in_child, client), 0);
    assert_int_equal(request_goes_well(client), 0);
    ntapi_client_free(client);
}

struct family {
    ntapi_client *client;
    ntapi_request *request;
    ntapi_mailbox *mailbox;
    witness seen;
};

static int leave_the_parents_alone(void *argument) {
    struct family *family = argument;
    if (ntapi_request_wait(family->request, 1) != NTAPI_STATUS_INVALID_STATE)
        return 1;
    if (ntapi_drain(1) != 0 || ntapi_client_drain(family->client, 1) != 0)
        return 2;
    ntapi_request_cancel(family->request);
    ntapi_client_cancel_all(family->client);
    if (request_goes_well(family->client) != 0)
        return 3;
    ntapi_request_free(family->request);
    ntapi_client_free(family->client);
    return family->seen.responses == 0 && family->seen.destroys == 0 ? 0 : 4;
}

static void the_parents_requests_stay_the_parents(void **state) {
    (void)state;
    struct family family = {.client = client_of("fault")};
    witness_init(&family.seen);
    family.request = ntapi_client_begin(family.client, "hold", NULL, witness_response, &family.seen, witness_destroy);
    assert_int_equal(ntapi_client_drain(family.client, 0.02), 1); /* the request is running */
    assert_int_equal(in_child(leave_the_parents_alone, &family), 0);
    assert_int_equal(ntapi_request_get_state(family.request), NTAPI_REQUEST_STATE_RUNNING);
    check_ok(ntapi_request_cancel(family.request));
    check_ok(ntapi_request_wait(family.request, PATIENCE));
    witness_wait(&family.seen, 1);
    witness_check_once(&family.seen);
    ntapi_request_free(family.request);
    ntapi_client_free(family.client);
    witness_free(&family.seen);
}

/** The child has a copy of the mailbox and its events, but both belong to the parent. */
static int free_the_mailbox(void *argument) {
    struct family *family = argument;
    ntapi_mailbox *mailbox = family->mailbox;
    if (ntapi_mailbox_drain(mailbox) != 0 || ntapi_mailbox_fd(mailbox) != -1)
        return 1;
    ntapi_mailbox_free(mailbox);
    if (request_goes_well(family->client) != 0) /* gives a worker of the child time for a mistake */
        return 2;
    return family->seen.responses == 0 && family->seen.destroys == 0 ? 0 : 3;
}

static void the_parents_mailbox_stays_the_parents(void **state) {
    (void)state;
    struct family family = {.client = client_of("fault")};
    witness_init(&family.seen);
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
    begin(family.client, "ok", args, &family.seen);
    struct pollfd waits = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    assert_int_equal(poll(&waits, 1, (int)(PATIENCE * 1000)), 1);
    family.mailbox = mailbox;
    assert_int_equal(in_child(free_the_mailbox, &family), 0);
    assert_int_equal(ntapi_mailbox_drain(mailbox), 1);
    witness_wait(&family.seen, 1);
    witness_check_once(&family.seen);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(family.client);
    witness_free(&family.seen);
}

static int background_in_child(void *client) {
    witness seen;
    witness_init(&seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "ok", &seen);
    witness_wait(&seen, 1);
    return seen.responses == 1 && code_of(seen.response) == NTAPI_CODE_NONE ? 0 : 1;
}

static void a_child_has_workers_of_its_own(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "ok", &seen);
    witness_wait(&seen, 1);
    assert_int_equal(in_child(background_in_child, client), 0);
    witness_free(&seen);
    ntapi_client_free(client);
}

static int exit_normally(void *client) {
    if (request_goes_well(client) != 0)
        return 1;
    exit(42); /* runs the exit handlers of the child */
}

static void a_child_exits_normally(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness held;
    witness_init(&held);
    begin(client, "hold", NULL, &held);
    assert_int_equal(ntapi_client_drain(client, 0.02), 1);
    fflush(NULL);
    assert_int_equal(in_child(exit_normally, client), 42);
    check_ok(ntapi_client_cancel_all(client));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_wait(&held, 1);
    witness_check_once(&held);
    witness_free(&held);
    ntapi_client_free(client);
}

static void *keep_busy(void *argument) {
    struct family *family = argument;
    for (int i = 0; i < 200; i++)
        ntapi_response_free(ntapi_client_perform(family->client, "ok", NULL));
    return NULL;
}

static void forking_amid_traffic_is_safe(void **state) {
    (void)state;
    struct family family = {.client = client_of("fault")};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, &family), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(in_child(inherited_client_in_child, family.client), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ntapi_client_free(family.client);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        unsigned pause = (unsigned)strtoul(argv[2], NULL, 10);
        return strcmp(argv[1], "call") == 0 ? fork_amid_the_first_call(pause) : fork_amid_the_first_request(pause);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_waits_for_the_library),
        cmocka_unit_test(a_child_can_make_requests),
        cmocka_unit_test(the_parents_requests_stay_the_parents),
        cmocka_unit_test(the_parents_mailbox_stays_the_parents),
        cmocka_unit_test(a_child_has_workers_of_its_own),
        cmocka_unit_test(a_child_exits_normally),
        cmocka_unit_test(forking_amid_traffic_is_safe),
    };
    server("fault"); /* read before the children need it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
