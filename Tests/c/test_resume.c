/* Resumed downloads: byte for byte the file that the server has now, and never two versions in one. */
#include "files.h"
#include "support.h"

#include <jansson.h>
#include <unistd.h>

enum { SIZE = 100000 };

/** The file is whole, it is that version of the scenario `range`, and there is nothing beside it. */
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

/** Begins a download that breaks after 40,000 bytes; its response, with the resume data. */
static ntapi_response *broken_off(ntapi_client *client, const char *command, const char *folder) {
    ntapi_response *response = perform(client, command, to_file(folder, "a.bin"));
    assert_int_equal(code_of(response), NTAPI_CODE_NETWORK);
    assert_null(ntapi_response_file(response));
    return response;
}

/** Goes on with a download, which the server does not break off again. */
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

    /* In another program: all that is handed over is the text. */
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
    assert_int_equal(ntapi_request_bytes(request, NTAPI_BYTES_RECEIVED), 100000);
    assert_int_equal(ntapi_request_bytes(request, NTAPI_BYTES_DECODED), 100000);
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

/** Whatever is wrong with the answer, the file is that of the server's last word, and whole. */
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

/** All bytes had come, but not the end of the exchange (416): the file gets its name, unless it is shorter now. */
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
            assert_int_equal(truncate(part, SIZE + 1), 0); /* a byte more than the server has */
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

/** What a program saves for its own sudden end, of a request that is suspended. */
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

    /* Two that go on with the same file would spoil it. */
    ntapi_response *other = go_on(client, saved);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(other)), "another download"));
    ntapi_response_free(other);
    check_ok(ntapi_request_cancel(brake.request));
    check_ok(ntapi_request_wait(brake.request, PATIENCE));
    assert_null(ntapi_request_resume_data(brake.request));

    /* What was saved will do, although the request went on for a while; by a way without a speed limit. */
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
        cmocka_unit_test(what_is_no_resume_data_is_named),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
