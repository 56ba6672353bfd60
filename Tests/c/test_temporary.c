/* Downloads without a path. The file exists as long as the response and its request. */
#include "child.h"
#include "files.h"
#include "support.h"

#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/** Waits until a file is gone. The library releases an ended request a moment later. */
static void wait_until_gone(const char *path) {
    time_t end = time(NULL) + (time_t)PATIENCE;
    while (exists(path)) {
        if (time(NULL) > end)
            fail_msg("%s stays", path);
        sched_yield();
    }
}

static ntapi_args *temporary(void) {
    ntapi_args *args = background();
    check_ok(ntapi_args_download(args, NULL));
    return args;
}

static void it_is_there_as_long_as_the_response(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    ntapi_response *response = perform(client, "small.json", temporary());
    assert_null(ntapi_response_error(response));
    assert_null(ntapi_response_file(response));
    char path[256];
    snprintf(path, sizeof path, "%s", ntapi_response_temporary_file(response));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(status.st_size > 1000);
    ntapi_response_free(response);
    wait_until_gone(path);

    response = perform(client, "404", temporary());
    assert_null(ntapi_response_temporary_file(response));
    ntapi_response_free(response);
    assert_null(ntapi_response_temporary_file(NULL));
    ntapi_client_free(client);
}

static void it_is_there_in_the_handler_and_can_be_moved(void **state) {
    (void)state;
    char folder[64], path[256], kept[128];
    make_folder(folder);
    snprintf(kept, sizeof kept, "%s/small.json", folder);
    ntapi_client *client = client_of("nginx");
    for (int moves = 0; moves < 2; moves++) {
        witness seen;
        witness_init(&seen);
        ntapi_args *args = temporary();
        begin(client, "small.json", args, &seen);
        ntapi_args_free(args);
        witness_wait(&seen, 1);
        snprintf(path, sizeof path, "%s", ntapi_response_temporary_file(seen.response));
        assert_true(exists(path));
        if (moves)
            assert_int_equal(rename(path, kept), 0);
        witness_free(&seen);
        wait_until_gone(path);
    }
    check_download(folder, "small.json", "small.json");
    remove_folder(folder, "small.json");
    ntapi_client_free(client);
}

static void it_can_be_gone_on_with(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *broken = perform(client, "range?cut=40000", temporary());
    assert_null(ntapi_response_temporary_file(broken));
    const char *text = ntapi_response_resume_data(broken);
    assert_non_null(text);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_resume(args, text));
    check_ok(ntapi_args_header(args, "X-Again", "1"));
    ntapi_response *whole = perform(client, "", args);
    assert_int_equal(ntapi_response_status(whole), 206);
    char path[256];
    snprintf(path, sizeof path, "%s", ntapi_response_temporary_file(whole));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 100000);
    ntapi_response_free(whole);
    ntapi_response_free(broken);
    wait_until_gone(path);
    broken = perform(client, "range?cut=40000", temporary());
    check_ok(ntapi_resume_data_discard(ntapi_response_resume_data(broken)));
    ntapi_response_free(broken);
    ntapi_client_free(client);
}

static void answer(void *user_data, ntapi_decision *decision) {
    (void)user_data;
    check_ok(ntapi_decision_download(decision, NULL));
    ntapi_decision_free(decision);
}

static void a_decision_may_ask_for_one(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    ntapi_hooks hooks = {.size = sizeof hooks, .decide = answer, .decisions = NTAPI_DECISION_KIND_RESPONSE};
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
    ntapi_response *response = perform(client, "small.json", NULL);
    assert_true(exists(ntapi_response_temporary_file(response)));
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static sem_t has_begun;

static void progress(void *user_data, int64_t bytes, int64_t total) {
    (void)user_data;
    (void)total;
    if (bytes > 0)
        sem_post(&has_begun);
}

/** Exits with a response that has not been freed, and during a download. */
static int child(void) {
    sem_init(&has_begun, 0, 0);
    ntapi_client *client = client_of("nginx");
    ntapi_response *response = perform(client, "small.json", temporary());
    bool is_there = exists(ntapi_response_temporary_file(response));
    ntapi_client *slow = client_of("weather");
    ntapi_args *args = temporary();
    check_ok(ntapi_args_url_int(args, "size", 40000000));
    check_ok(ntapi_args_url_int(args, "rate", 1000000));
    ntapi_request *request = ntapi_client_create_request(slow, "download", args);
    check_ok(ntapi_request_set_download_progress(request, progress, NULL, NULL));
    check_ok(ntapi_request_resume(request));
    sem_wait(&has_begun);
    return is_there ? 0 : 1;
}

static void nothing_is_left_at_exit(void **state) {
    (void)state;
    char folder[64], variable[128];
    make_folder(folder);
    snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
    const char *const arguments[] = {"child", NULL}, *const variables[] = {variable, NULL};
    assert_int_equal(run_child(arguments, variables), 0);
    assert_int_equal(entries(folder), 0);
    remove_all(folder);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_there_as_long_as_the_response),
        cmocka_unit_test(it_is_there_in_the_handler_and_can_be_moved),
        cmocka_unit_test(it_can_be_gone_on_with),
        cmocka_unit_test(a_decision_may_ask_for_one),
        cmocka_unit_test(nothing_is_left_at_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
