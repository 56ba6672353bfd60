/* Background transfers. A client finds the transfers that another client with the same identifier has left. */
#include "child.h"
#include "files.h"
#include "support.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static char folder[64]; /* of one test, for the session and its files */

static int open_folder(void **state) {
    (void)state;
    make_folder(folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    remove_all(folder);
    return 0;
}

static ntapi_client *open_session(const char *name) {
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_BACKGROUND, "photos");
    ntapi_defaults *settings = ntapi_configuration_defaults(configuration);
    char sessions[160];
    snprintf(sessions, sizeof sessions, "%s/sessions", folder);
    check_ok(ntapi_defaults_set_string(settings, "backgroundFolder", sessions));
    check_ok(ntapi_defaults_set_string(settings, NTAPI_DEFAULT_PROXY, ""));
    check_ok(ntapi_defaults_set_number(settings, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 1));
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server(name), configuration);
    ntapi_configuration_free(configuration);
    assert_non_null(client);
    return client;
}

/* How many transfers are on disk. */
static int records(void) {
    char path[192];
    snprintf(path, sizeof path, "%s/sessions/photos", folder);
    DIR *files = opendir(path);
    int count = 0;
    for (struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;) {
        size_t length = strlen(entry->d_name);
        count += length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0 &&
                 strcmp(entry->d_name, "session.json") != 0;
    }
    if (files != NULL)
        closedir(files);
    return count;
}

/* Whether the only record contains a text. */
static bool the_record_says(const char *text) {
    char command[320];
    snprintf(command, sizeof command, "grep -q '%s' %s/sessions/photos/[0-9]*.json", text, folder);
    return system(command) == 0;
}

static ntapi_args *download_args(const char *name) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_download(args, path));
    return args;
}

/* Begins a slow download, and closes the client before the download is complete. */
static uint64_t leave(void) {
    ntapi_client *client = open_session("nginx");
    ntapi_args *args = download_args("f");
    ntapi_request *request = ntapi_client_create_request(client, "slow/pattern-8M.bin", args);
    check_ok(ntapi_request_set_description(request, "the pattern"));
    witness seen;
    witness_init(&seen);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    assert_int_equal(records(), 1);
    check_ok(ntapi_client_close(client));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_DETACHED);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_DETACHED);
    assert_null(ntapi_response_resume_data(seen.response));
    uint64_t identifier = ntapi_request_identifier(request);
    witness_free(&seen);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_client_free(client);
    assert_int_equal(records(), 1);
    return identifier;
}

static void what_is_left_is_found(void **state) {
    (void)state;
    uint64_t identifier = leave();
    ntapi_client *client = open_session("nginx");
    assert_null(ntapi_client_background_error(client));
    assert_int_equal(ntapi_client_restored_requests(client, NULL, NULL, 0), 1);
    ntapi_request *found[2] = {NULL, NULL};
    assert_int_equal(ntapi_client_restored_requests(client, NULL, found, 2), 1);
    assert_null(found[1]);
    assert_true(ntapi_request_identifier(found[0]) == identifier);
    check_new_text(ntapi_request_description(found[0]), "the pattern");
    assert_int_equal(ntapi_request_get_state(found[0]), NTAPI_REQUEST_STATE_SUSPENDED);
    witness seen;
    witness_init(&seen);
    check_ok(ntapi_request_set_handler(found[0], witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_cancel(found[0]));
    check_ok(ntapi_request_wait(found[0], PATIENCE));
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    witness_free(&seen);
    ntapi_request_free(found[0]);
    assert_int_equal(records(), 0);
    assert_int_equal(ntapi_client_restored_requests(client, NULL, NULL, 0), 0);
    ntapi_client_free(client);
}

/** Continues the only transfer that was left, until it succeeds. */
static void resume_the_one(ntapi_client *client, witness *seen) {
    witness_init(seen);
    assert_int_equal(ntapi_client_resume_restored_requests(client, NULL, witness_response, seen, witness_destroy), 1);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_check_once(seen);
    assert_int_equal(witness_code(seen), NTAPI_CODE_NONE);
}

static void all_are_resumed_with_one_handler(void **state) {
    (void)state;
    leave();
    ntapi_client *client = open_session("nginx");
    witness seen;
    resume_the_one(client, &seen);
    assert_non_null(ntapi_response_file(seen.response));
    assert_false(ntapi_response_was_delivered_before(seen.response));
    /* It is acknowledged when the handler has returned. */
    check_too_late(ntapi_response_acknowledge(seen.response));
    check_too_late(ntapi_response_begin_delivery(seen.response));
    witness_free(&seen);
    assert_int_equal(records(), 0);
    /* Without any transfer, the user data is destroyed at once. */
    witness_init(&seen);
    assert_int_equal(ntapi_client_resume_restored_requests(client, NULL, witness_response, &seen, witness_destroy), 0);
    assert_int_equal(seen.destroys, 1);
    assert_int_equal(seen.responses, 0);
    witness_free(&seen);
    ntapi_client_free(client);
}

static void an_event_is_dealt_with_when_its_response_is(void **state) {
    (void)state;
    ntapi_client *client = open_session("fault");
    for (int acknowledges = 0; acknowledges < 2; acknowledges++) {
        ntapi_mailbox *mailbox = ntapi_mailbox_create();
        ntapi_args *args = download_args("event");
        check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
        ntapi_request *request = ntapi_client_create_request(client, "range", args);
        check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE, NULL));
        check_ok(ntapi_request_resume(request));
        struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
        assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
        ntapi_event event = {0};
        assert_int_equal(ntapi_mailbox_take(mailbox, &event, sizeof event, 1), 1);
        assert_int_equal(records(), 1);
        /* A program can take many events at once. So taking an event does not mean that it is handled. */
        assert_true(the_record_says("\"finished\""));
        check_ok(ntapi_response_begin_delivery(event.response));
        assert_true(the_record_says("\"delivering\""));
        if (acknowledges) {
            check_ok(ntapi_response_acknowledge(event.response));
            assert_int_equal(records(), 0);
            check_ok(ntapi_response_acknowledge(event.response));
        }
        ntapi_response_free(event.response);
        assert_int_equal(records(), 0);
        ntapi_request_free(request);
        ntapi_args_free(args);
        ntapi_mailbox_free(mailbox);
    }
    ntapi_client_free(client);
}

/** Prints a line, once, when bytes are in the file. */
struct crier {
    ntapi_request *request;
    bool has_said;
};

static void say_written(void *user_data, int64_t bytes, int64_t total) {
    (void)bytes;
    (void)total;
    struct crier *crier = user_data;
    if (has_part(folder) && !crier->has_said)
        crier->has_said = puts("written") != EOF && fflush(stdout) == 0;
}

/* Runs in its own process. Downloads slowly until it is killed. */
static int child(const char *path) {
    snprintf(folder, sizeof folder, "%s", path);
    ntapi_client *client = open_session("nginx");
    ntapi_args *args = to_file(folder, "f");
    struct crier crier = {.request = ntapi_client_create_request(client, "slow/pattern-8M.bin", args)};
    check_ok(ntapi_request_set_download_progress(crier.request, say_written, &crier, NULL));
    check_ok(ntapi_request_resume(crier.request));
    ntapi_request_wait(crier.request, PATIENCE);
    return 1;
}

/** Tells the main thread that bytes are in the file. */
struct mover {
    ntapi_request *request;
    sem_t written;
};

static void post_when_written(void *user_data, int64_t bytes, int64_t total) {
    (void)bytes;
    (void)total;
    struct mover *mover = user_data;
    if (has_part(folder))
        sem_post(&mover->written);
}

/* Does the same, but forks a child that survives the kill. The child prints its number when it has begun to run. */
static int child_with_a_child(const char *path) {
    snprintf(folder, sizeof folder, "%s", path);
    ntapi_client *client = open_session("nginx");
    ntapi_args *args = to_file(folder, "f");
    struct mover mover = {.request = ntapi_client_create_request(client, "slow/pattern-8M.bin", args)};
    sem_init(&mover.written, 0, 0);
    check_ok(ntapi_request_set_download_progress(mover.request, post_when_written, &mover, NULL));
    check_ok(ntapi_request_resume(mover.request));
    while (sem_wait(&mover.written) != 0)
        continue;
    if (fork() == 0) {
        printf("%ld\n", (long)getpid());
        fflush(stdout);
        alarm((unsigned)PATIENCE);
        pause();
        _exit(0);
    }
    ntapi_request_wait(mover.request, PATIENCE);
    return 1;
}

static void what_a_killed_process_left_is_gone_on_with(void **state) {
    (void)state;
    char line[128], named[64];
    int output;
    pid_t pid = start_child((const char *[]){folder, NULL}, NULL, &output);
    assert_string_equal(line_of_child(output, line), "written");

    /* The killed process has the session until it ends. */
    ntapi_client *client = open_session("nginx");
    ntapi_error *error = ntapi_client_background_error(client);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    snprintf(named, sizeof named, "process %ld ", (long)pid);
    assert_non_null(strstr(ntapi_error_message(error), named));
    assert_non_null(strstr(ntapi_error_message(error), "\"photos\""));
    assert_int_equal(ntapi_client_restored_requests(client, NULL, NULL, 0), 0);
    ntapi_error_free(error);
    ntapi_client_free(client);

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(end_of_child(pid), 1000 + SIGKILL);
    close(output);
    assert_int_equal(records(), 1);
    client = open_session("nginx");
    assert_null(ntapi_client_background_error(client));
    witness seen;
    resume_the_one(client, &seen);
    assert_int_equal(ntapi_response_status(seen.response), 206);
    check_download(folder, "f", "pattern-8M.bin");
    assert_int_equal(records(), 0);
    witness_free(&seen);
    ntapi_client_free(client);
}

/** The process has a child that has inherited every descriptor, but holds no lock. */
static void a_child_of_a_killed_process_keeps_nothing(void **state) {
    (void)state;
    char line[128];
    int output;
    pid_t pid = start_child((const char *[]){folder, "forks", NULL}, NULL, &output);
    pid_t lives_on = (pid_t)atol(line_of_child(output, line));
    assert_true(lives_on > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(end_of_child(pid), 1000 + SIGKILL);
    assert_int_equal(records(), 1);
    ntapi_client *client = open_session("nginx");
    assert_null(ntapi_client_background_error(client));
    witness seen;
    resume_the_one(client, &seen);
    assert_int_equal(ntapi_response_status(seen.response), 206);
    check_download(folder, "f", "pattern-8M.bin");
    assert_int_equal(kill(lives_on, 0), 0);
    assert_int_equal(kill(lives_on, SIGKILL), 0);
    close(output);
    witness_free(&seen);
    ntapi_client_free(client);
}

static void tell_moved(void *moved, int64_t bytes, int64_t total) {
    (void)total;
    if (bytes > 0)
        sem_post(moved);
}

static void those_of_higher_priority_come_first(void **state) {
    (void)state;
    const double priorities[] = {0.2, 0.9, 0.5, 0.9};
    const char *const expected[] = {"1", "3", "first", "2", "0"};
    char name[8], command[96], path[256], token[64];
    snprintf(token, sizeof token, "c-background-%ld", (long)getpid());
    sem_t moved;
    sem_init(&moved, 0, 0);
    ntapi_client *client = open_session("fault");
    for (int i = -1; i < 4; i++) {
        snprintf(name, sizeof name, i < 0 ? "first" : "%d", i);
        snprintf(command, sizeof command, i < 0 ? "drip?size=1000000" : "record?token=%s&n=%d", token, i);
        ntapi_args *file = to_file(folder, name), *args = split_query(command, file, path);
        ntapi_request *request = ntapi_client_create_request(client, path, args);
        check_ok(ntapi_request_set_description(request, name));
        if (i >= 0)
            check_ok(ntapi_request_set_priority(request, priorities[i]));
        else
            check_ok(ntapi_request_set_download_progress(request, tell_moved, &moved, NULL));
        check_ok(ntapi_request_resume(request));
        /* This request has the only connection: the others still wait when the session is closed. */
        if (i < 0)
            sem_wait(&moved);
        ntapi_request_free(request);
        ntapi_args_free(args);
        ntapi_args_free(file);
    }
    check_ok(ntapi_client_close(client));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_client_free(client);
    sem_destroy(&moved);
    assert_int_equal(records(), 5);

    client = open_session("fault");
    ntapi_request *found[5];
    assert_int_equal(ntapi_client_restored_requests(client, NULL, found, 5), 5);
    for (int i = 0; i < 5; i++) {
        check_new_text(ntapi_request_description(found[i]), expected[i]);
        if (strcmp(expected[i], "first") == 0)
            check_ok(ntapi_request_cancel(found[i]));
        ntapi_request_free(found[i]);
    }
    assert_int_equal(ntapi_client_resume_restored_requests(client, NULL, NULL, NULL, NULL), 4);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    assert_int_equal(records(), 0);
    ntapi_client_free(client);

    check_recorded(token, "1320");
}

static ntapi_args *upload_args(const char *token) {
    char path[192];
    snprintf(path, sizeof path, "%s/body", folder);
    FILE *body = fopen(path, "w");
    assert_non_null(body);
    assert_true(fputs("hello", body) >= 0);
    assert_int_equal(fclose(body), 0);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_file(args, path, NULL));
    check_ok(ntapi_args_method(args, "POST"));
    check_ok(ntapi_args_url(args, "token", token));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    return args;
}

static bool is_recorded_as(int number, const char *state) {
    char path[192], text[8192] = "", wanted[64];
    snprintf(path, sizeof path, "%s/sessions/photos/%d.json", folder, number);
    snprintf(wanted, sizeof wanted, "\"%s\"", state);
    FILE *record = fopen(path, "r");
    if (record == NULL)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, record);
    text[length] = '\0';
    fclose(record);
    return strstr(text, wanted) != NULL;
}

static void post_when_sent(void *is_sent, int64_t bytes, int64_t total) {
    (void)total;
    if (bytes > 0)
        sem_post(is_sent);
}

/* The server has not seen uploads that wait for a connection. */
static void what_was_still_queued_begins_again(void **state) {
    (void)state;
    char token[64];
    snprintf(token, sizeof token, "queued-c-%d", (int)getpid());
    ntapi_client *client = open_session("fault");
    ntapi_args *args = upload_args(token);
    sem_t is_sent;
    sem_init(&is_sent, 0, 0);
    ntapi_request *first = ntapi_client_create_request(client, "stall/before", args);
    check_ok(ntapi_request_set_upload_progress(first, post_when_sent, &is_sent, NULL));
    check_ok(ntapi_request_resume(first));
    while (sem_wait(&is_sent) != 0)
        continue;
    ntapi_request_free(first);
    assert_true(is_recorded_as(1, "running"));
    for (int i = 2; i < 5; i++) {
        ntapi_request_free(ntapi_client_begin(client, "record", args, NULL, NULL, NULL));
        assert_true(is_recorded_as(i, "waiting"));
    }
    ntapi_args_free(args);
    check_ok(ntapi_client_close(client));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_client_free(client);
    sem_destroy(&is_sent);

    client = open_session("fault");
    ntapi_request *requests[8];
    size_t count = ntapi_client_restored_requests(client, NULL, requests, 8);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        check_ok(ntapi_request_resume(requests[i]));
        while (ntapi_request_wait(requests[i], PATIENCE) == NTAPI_STATUS_TIMED_OUT)
            continue;
        ntapi_response *response = ntapi_request_response(requests[i]);
        const ntapi_error *error = ntapi_response_error(response);
        if (i == 0)
            assert_non_null(strstr(ntapi_error_message(error), "ambiguous"));
        else
            assert_null(error);
        ntapi_response_free(response);
        ntapi_request_free(requests[i]);
    }
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    ntapi_client_free(client);
    assert_int_equal(records(), 0);
}

static void a_second_client_is_refused(void **state) {
    (void)state;
    ntapi_client *first = open_session("fault"), *second = open_session("fault");
    assert_null(ntapi_client_background_error(first));
    ntapi_error *error = ntapi_client_background_error(second);
    assert_non_null(error);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    assert_non_null(strstr(ntapi_error_message(error), "\"photos\""));
    ntapi_response *response = perform(second, "range", download_args("f"));
    assert_string_equal(ntapi_error_message(ntapi_response_error(response)), ntapi_error_message(error));
    ntapi_response_free(response);
    ntapi_error_free(error);
    assert_int_equal(ntapi_client_restored_requests(second, NULL, NULL, 0), 0);
    ntapi_client_free(second);
    ntapi_client_free(first);
}

static void other_requests_are_refused(void **state) {
    (void)state;
    ntapi_client *client = open_session("fault");
    check_error(perform(client, "echo", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_client_free(client);
    ntapi_client *usual = client_of("fault");
    assert_null(ntapi_client_background_error(usual));
    assert_int_equal(ntapi_client_restored_requests(usual, NULL, NULL, 0), 0);
    ntapi_client_free(usual);
}

#define each(test) cmocka_unit_test_setup_teardown(test, open_folder, close_folder)

int main(int argc, char **argv) {
    if (argc == 2)
        return child(argv[1]);
    if (argc == 3)
        return child_with_a_child(argv[1]);
    const struct CMUnitTest tests[] = {
        each(what_is_left_is_found),
        each(all_are_resumed_with_one_handler),
        each(an_event_is_dealt_with_when_its_response_is),
        each(what_a_killed_process_left_is_gone_on_with),
        each(a_child_of_a_killed_process_keeps_nothing),
        each(those_of_higher_priority_come_first),
        each(what_was_still_queued_begins_again),
        each(a_second_client_is_refused),
        each(other_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
