/* A resumed download is the server's current file, byte for byte. Two versions are never mixed. */
#include "files.h"
#include "support.h"

#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 100000 };

/** Fails unless the file is that version of the scenario `range`, complete, and no other file is beside it. */
static void check_version(const char *folder, unsigned version) {
    size_t length;
    char *bytes = content(folder, "a.bin", &length);
    assert_int_equal(length, SIZE);
    for (size_t i = 0; i < length; i += 4) {
        size_t word = i / 4 * 16 + version;
        const unsigned char expected[] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16),
                                          (unsigned char)(word >> 8), (unsigned char)word};
        assert_memory_equal(bytes + i, expected, 4);
    }
    free(bytes);
    assert_int_equal(entries(folder), 1);
}

/** Makes a download that breaks after 40,000 bytes. Returns its response, with the resume data. */
static ntapi_response *broken_off(ntapi_client *client, const char *command, const char *folder) {
    ntapi_response *response = perform(client, command, to_file(folder, "a.bin"));
    assert_int_equal(code_of(response), NTAPI_CODE_NETWORK);
    assert_null(ntapi_response_file(response));
    return response;
}

/** Resumes a download. The server does not break it again. */
static ntapi_response *go_on(ntapi_client *client, const char *text) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_resume(args, text));
    check_ok(ntapi_args_header(args, "X-Again", "1"));
    return perform(client, "", args);
}

static void a_download_goes_on_where_it_was_broken_off(void **state) {
    (void)state;
    char folder[64], path[128];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/a.bin", folder);
    ntapi_client *client = client_of("fault");
    ntapi_response *broken = perform(client, "range?cut=40000", to_file(folder, "a.bin"));
    const char *text = ntapi_response_resume_data(broken);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    assert_null(ntapi_response_file(broken));
    assert_int_equal(entries(folder), 1);

    /* Only the text is passed on, as if to another program. */
    ntapi_client *other = ntapi_client_create(NULL, NULL);
    ntapi_args *args = background();
    check_ok(ntapi_args_resume(args, text));
    check_ok(ntapi_args_header(args, "X-Again", "1"));
    witness seen;
    witness_init(&seen);
    ntapi_request *request = ntapi_client_create_request(other, "", args);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_set_download_progress(request, witness_progress, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    witness_wait(&seen, 2);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    assert_int_equal(ntapi_response_status(seen.response), 206);
    assert_string_equal(ntapi_response_file(seen.response), path);
    assert_null(ntapi_response_resume_data(seen.response));
    assert_int_equal(seen.last, 100000);
    assert_int_equal(metric(request, "progress.bytesReceived"), 100000);
    assert_int_equal(metric(request, "progress.bytesDecoded"), 100000);
    assert_int_equal(entries(folder), 1);
    check_version(folder, 1);
    ntapi_request_free(request);
    ntapi_args_free(args);
    witness_free(&seen);
    ntapi_response_free(broken);
    ntapi_client_free(other);
    ntapi_client_free(client);
    remove_folder(folder, "a.bin");
}

/** Even if the response is wrong, the file is the server's latest version, and complete. */
static void what_the_server_says_decides(void **state) {
    (void)state;
    char changed[64];
    snprintf(changed, sizeof changed, "range?cut=40000&changes=1&token=c-resume-%ld", (long)getpid());
    const struct {
        const char *command;
        int status;
        unsigned version;
    } cases[] = {
        {"range?cut=40000", 206, 1},
        {"range/date?cut=40000", 206, 1},
        {"range/latin-1?cut=40000", 206, 1},
        {"range/utf-8?cut=40000", 206, 1},
        {"range?cut=40000&part=25000", 206, 1}, /* one short part after the other */
        {"range/ignored?cut=40000", 200, 1},
        {"range/shifted?cut=40000", 200, 1},
        {"range/other-total?cut=40000", 200, 1},
        {"range/no-range?cut=40000", 200, 1},
        {"range/encoded?cut=40000", 200, 1},
        {changed, 200, 2},
    };
    ntapi_client *client = client_of("fault");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[64];
        make_folder(folder);
        ntapi_response *broken = broken_off(client, cases[i].command, folder);
        ntapi_response *whole = go_on(client, ntapi_response_resume_data(broken));
        if (ntapi_response_error(whole) != NULL || ntapi_response_status(whole) != cases[i].status)
            fail_msg("%s: %d, code %d", cases[i].command, ntapi_response_status(whole), code_of(whole));
        assert_null(ntapi_response_resume_data(whole));
        check_version(folder, cases[i].version);
        ntapi_response_free(whole);
        ntapi_response_free(broken);
        remove_folder(folder, "a.bin");
    }
    ntapi_client_free(client);
}

static void what_cannot_be_trusted_is_not_kept(void **state) {
    (void)state;
    const char *const commands[] = {"range/weak?cut=40000", "range/fresh-date?cut=40000", "range/none?cut=40000",
                                    "range/no-ranges?cut=40000"};
    ntapi_client *client = client_of("fault");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char folder[64];
        make_folder(folder);
        ntapi_response *broken = broken_off(client, commands[i], folder);
        assert_null(ntapi_response_resume_data(broken));
        assert_int_equal(rmdir(folder), 0);
        ntapi_response_free(broken);
    }
    ntapi_client_free(client);
}

/** All bytes have come, but the transfer has not ended (416). The file gets its name, unless the server's file is
 * shorter now. */
static void nothing_is_missing(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    for (int is_shorter = 0; is_shorter < 2; is_shorter++) {
        char folder[64];
        make_folder(folder);
        ntapi_response *broken = broken_off(client, "range?cut=40000", folder);
        ntapi_response *other = perform(client, "range", to_file(folder, "whole"));
        json_t *data = json_loads(ntapi_response_resume_data(broken), 0, NULL);
        const char *part = json_string_value(json_object_get(data, "temporaryFile"));
        assert_int_equal(rename(ntapi_response_file(other), part), 0);
        if (is_shorter)
            assert_int_equal(truncate(part, SIZE + 1), 0); /* one byte more than the server has */
        json_object_set_new(data, "offset", json_integer(SIZE + is_shorter));
        json_object_set_new(data, "totalLength", json_integer(SIZE + is_shorter));
        char *text = json_dumps(data, JSON_COMPACT);
        ntapi_response *whole = go_on(client, text);
        assert_null(ntapi_response_error(whole));
        assert_int_equal(ntapi_response_status(whole), is_shorter ? 200 : 416);
        check_version(folder, 1);
        free(text);
        json_decref(data);
        ntapi_response_free(whole);
        ntapi_response_free(other);
        ntapi_response_free(broken);
        remove_folder(folder, "a.bin");
    }
    ntapi_client_free(client);
}

static void an_error_keeps_what_is_there(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("fault");
    ntapi_response *broken = broken_off(client, "range/error?cut=40000", folder);
    const char *text = ntapi_response_resume_data(broken);
    ntapi_response *refused = go_on(client, text);
    assert_int_equal(ntapi_response_status(refused), 503);
    assert_string_equal(ntapi_response_resume_data(refused), text);
    check_error(refused, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    assert_int_equal(entries(folder), 1);
    check_ok(ntapi_resume_data_discard(text));
    assert_int_equal(rmdir(folder), 0);
    ntapi_response_free(broken);
    ntapi_client_free(client);
}

/** A program that may be killed saves the resume data of a suspended request. */
static void a_request_that_runs_tells_what_to_go_on_from(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("nginx");
    ntapi_args *args = to_file(folder, "a.bin");
    brake brake;
    brake_init(&brake, ntapi_client_create_request(client, "slow/pattern-8M.bin", args));
    check_ok(ntapi_request_set_download_progress(brake.request, brake_pull, &brake, NULL));
    assert_null(ntapi_request_resume_data(brake.request));
    check_ok(ntapi_request_resume(brake.request));
    sem_wait(&brake.pulled);
    char *saved = ntapi_request_resume_data(brake.request);

    /* A second download that resumed the same file would corrupt it. */
    ntapi_response *other = go_on(client, saved);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(other)), "another download"));
    ntapi_response_free(other);
    check_ok(ntapi_request_cancel(brake.request));
    check_ok(ntapi_request_wait(brake.request, PATIENCE));
    assert_null(ntapi_request_resume_data(brake.request));

    /* The saved data still works, although the request has continued for a while. The resumed URL has no speed
     * limit. */
    char *slow = strstr(saved, "slow/");
    memmove(slow, slow + strlen("slow/"), strlen(slow + strlen("slow/")) + 1);
    ntapi_response *whole = go_on(client, saved);
    assert_null(ntapi_response_error(whole));
    assert_int_equal(ntapi_response_status(whole), 206);
    check_download(folder, "a.bin", "pattern-8M.bin");
    ntapi_response_free(whole);
    ntapi_text_free(saved);
    brake_free(&brake);
    ntapi_args_free(args);
    ntapi_client_free(client);
    remove_folder(folder, "a.bin");
}

/** A child that was forked during a download, and still runs, must not lock the file for other processes. */
static void a_child_that_lives_on_holds_no_file(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("nginx");
    ntapi_args *args = to_file(folder, "a.bin");
    brake brake;
    brake_init(&brake, ntapi_client_create_request(client, "slow/pattern-8M.bin", args));
    check_ok(ntapi_request_set_download_progress(brake.request, brake_pull, &brake, NULL));
    check_ok(ntapi_request_resume(brake.request));
    sem_wait(&brake.pulled);
    char *saved = ntapi_request_resume_data(brake.request);
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm((unsigned)PATIENCE);
        if (write(ends[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    /* When the child has written, it has closed what it had inherited. */
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    /* The parent's request still holds the file. */
    ntapi_response *other = go_on(client, saved);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(other)), "another download"));
    ntapi_response_free(other);
    check_ok(ntapi_request_cancel(brake.request));
    check_ok(ntapi_request_wait(brake.request, PATIENCE));
    char *slow = strstr(saved, "slow/");
    memmove(slow, slow + strlen("slow/"), strlen(slow + strlen("slow/")) + 1);
    ntapi_response *whole = go_on(client, saved);
    assert_null(ntapi_response_error(whole));
    check_download(folder, "a.bin", "pattern-8M.bin");
    int status;
    assert_int_equal(waitpid(child, &status, WNOHANG), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    ntapi_response_free(whole);
    ntapi_text_free(saved);
    brake_free(&brake);
    ntapi_args_free(args);
    ntapi_client_free(client);
    remove_folder(folder, "a.bin");
}

/** A hostile or wrong text may name files. They are not written or removed, unless the library has made their names. */
static void only_files_of_our_own_are_touched(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        /* destination and temporary file, below the folder */
        {"a.bin", "precious"},           {"a.bin", "precious.part"},         {"a.bin", ".a.bin.part"},
        {"a.bin", ".a.bin..part"},       {"a.bin", ".a.bin.UPPER.part"},     {"a.bin", ".a.bin.x y.part"},
        {"a.bin", ".b.bin.abc.part"},    {"a.bin", "other/.a.bin.abc.part"}, {"a.bin", "other/../.a.bin.abc.part"},
        {"a.bin", "./.a.bin.abc.part"},  {"a.bin", "/.a.bin.abc.part"},      {"a.bin", ".a.bin.abc.part.part"},
        {"a.bin", ".a.bin.link.part"}, /* a symbolic link to precious */
        {"a.bin", ".a.bin.hard.part"}, /* a hard link to it */
        {"a.bin", ".a.bin.pipe.part"}, /* a pipe */
        {"a.bin", ".a.bin.folder.part"},
    };
    char folder[64], path[192], target[192], text[1024];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/other", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/.a.bin.folder.part", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/.a.bin.pipe.part", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases - 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, cases[i][1]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs("precious", file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    snprintf(target, sizeof target, "%s/precious", folder);
    snprintf(path, sizeof path, "%s/.a.bin.link.part", folder);
    assert_int_equal(symlink(target, path), 0);
    snprintf(path, sizeof path, "%s/.a.bin.hard.part", folder);
    assert_int_equal(link(target, path), 0);
    int count = entries(folder);
    ntapi_client *client = client_of("fault");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"ntapiResumeData\":1,\"url\":\"%s/range\",\"destination\":\"%s/%s\",\"temporaryFile\":\"%s/%s\","
                 "\"offset\":null,\"etag\":\"\\\"v1\\\"\"}",
                 server("fault"), folder, cases[i][0], folder, cases[i][1]);
        ntapi_response *response = go_on(client, text);
        if (ntapi_response_error(response) == NULL)
            fail_msg("%s was written", cases[i][1]);
        ntapi_response_free(response);
        bool is_named_well = i >= sizeof cases / sizeof *cases - 4;
        assert_int_equal(ntapi_resume_data_discard(text),
                         is_named_well ? NTAPI_STATUS_OK : NTAPI_STATUS_INVALID_ARGUMENT);
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder, cases[i][1]);
        if (lstat(path, &status) != 0)
            fail_msg("%s was removed", cases[i][1]);
        assert_int_equal(entries(folder), count);
    }
    size_t length;
    for (size_t i = 0; i < sizeof cases / sizeof *cases - 2; i++) {
        char *bytes = content(folder, cases[i][1], &length);
        assert_string_equal(bytes, "precious");
        free(bytes);
    }
    ntapi_client_free(client);
    remove_all(folder);
}

/** The destination of a temporary download is removed with its response. So it must be a temporary file, too. */
static void a_temporary_destination_is_one_of_ours(void **state) {
    (void)state;
    char folder[64], path[192], text[1024];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/precious", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    snprintf(text, sizeof text,
             "{\"ntapiResumeData\":1,\"url\":\"%s/range\",\"destination\":\"%s\",\"temporaryFile\":"
             "\"%s/.precious.abc.part\",\"isTemporary\":true,\"offset\":null,\"etag\":\"\\\"v1\\\"\"}",
             server("fault"), path, folder);
    ntapi_client *client = client_of("fault");
    check_error(go_on(client, text), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    check_invalid(ntapi_resume_data_discard(text));
    ntapi_client_free(client);
    remove_folder(folder, "precious");
}

/** Begins a download, and cancels it after its first bytes. Returns its resume data. */
static char *cancelled(ntapi_client *client, const char *command, ntapi_args *args) {
    brake brake;
    brake_init(&brake, ntapi_client_create_request(client, command, args));
    check_ok(ntapi_request_set_download_progress(brake.request, brake_pull, &brake, NULL));
    check_ok(ntapi_request_resume(brake.request));
    sem_wait(&brake.pulled);
    check_ok(ntapi_request_cancel(brake.request));
    check_ok(ntapi_request_wait(brake.request, PATIENCE));
    ntapi_response *response = ntapi_request_response(brake.request);
    assert_int_equal(code_of(response), NTAPI_CODE_CANCELLED);
    assert_non_null(ntapi_response_resume_data(response));
    char *text = strdup(ntapi_response_resume_data(response));
    ntapi_response_free(response);
    brake_free(&brake);
    ntapi_args_free(args);
    return text;
}

/** A download is resumed with another destination, cancelled again, and resumed with a third one. */
static void a_download_may_change_its_destination(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("nginx");
    char *first = cancelled(client, "slow/pattern-8M.bin", to_file(folder, "b.bin"));
    ntapi_args *args = to_file(folder, "c.bin");
    check_ok(ntapi_args_resume(args, first));
    char *second = cancelled(client, "", args);
    assert_int_equal(entries(folder), 1);
    char *slow = strstr(second, "slow/");
    memmove(slow, slow + strlen("slow/"), strlen(slow + strlen("slow/")) + 1);
    args = to_file(folder, "a.bin");
    check_ok(ntapi_args_resume(args, second));
    ntapi_response *third = perform(client, "", args);
    assert_null(ntapi_response_error(third));
    assert_int_equal(ntapi_response_status(third), 206);
    check_download(folder, "a.bin", "pattern-8M.bin");
    ntapi_response_free(third);
    free(second);
    free(first);
    ntapi_client_free(client);
    remove_folder(folder, "a.bin");
}

static void what_is_no_resume_data_is_named(void **state) {
    (void)state;
    const char *const wrong[] = {"", "{}", "nonsense", "{\"ntapiResumeData\":99}"};
    ntapi_client *client = client_of("fault");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_resume(args, wrong[i]));
        ntapi_response *response = perform(client, "", args);
        assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), "resume data"));
        assert_null(ntapi_response_resume_data(response));
        check_error(response, NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        check_invalid(ntapi_resume_data_discard(wrong[i]));
    }
    check_invalid(ntapi_resume_data_discard(NULL));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_resume(args, NULL));
    assert_int_equal(ntapi_args_count(args), 0);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_download_goes_on_where_it_was_broken_off),
        cmocka_unit_test(what_the_server_says_decides),
        cmocka_unit_test(what_cannot_be_trusted_is_not_kept),
        cmocka_unit_test(nothing_is_missing),
        cmocka_unit_test(an_error_keeps_what_is_there),
        cmocka_unit_test(a_request_that_runs_tells_what_to_go_on_from),
        cmocka_unit_test(a_child_that_lives_on_holds_no_file),
        cmocka_unit_test(only_files_of_our_own_are_touched),
        cmocka_unit_test(a_temporary_destination_is_one_of_ours),
        cmocka_unit_test(a_download_may_change_its_destination),
        cmocka_unit_test(what_is_no_resume_data_is_named),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
