/* Replays exchanges that Python has recorded. */
#include "support.h"

#include <unistd.h>

static const char *fixture;

/** The same steps as in bindings/python/tests/test_recorder.py. */
static void check_steps(ntapi_client *client) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", "recorded"));
    ntapi_args *bearer = ntapi_args_create();
    check_ok(ntapi_args_append(bearer, args));
    check_ok(ntapi_args_bearer(bearer, "other"));
    ntapi_response_free(ntapi_client_perform(client, "token/expire", args));
    ntapi_response *response = perform(client, "token/use", bearer);
    assert_int_equal(ntapi_response_status(response), 401);
    ntapi_response_free(response);
    ntapi_json_free(fetch(client, "token/issue", args));

    const char *text = "{\"password\":\"another\",\"city\":\"Zürich\"}";
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    assert_non_null(json);
    args = ntapi_args_create();
    check_ok(ntapi_args_json(args, json));
    ntapi_json_free(json);
    ntapi_json_free(fetch(client, "ok", args));

    args = ntapi_args_create();
    check_ok(ntapi_args_form(args, "q", "a b"));
    check_ok(ntapi_args_form(args, "token", "another"));
    ntapi_json_free(fetch(client, "ok", args));

    args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "appid", "another"));
    ntapi_json_free(fetch(client, "ok", args));
    response = perform(client, "chain/2", NULL);
    assert_null(ntapi_response_error(response));
    assert_true(metric_of(response, "redirects") == 2);
    ntapi_response_free(response);
    check_error(perform(client, "status/404", NULL), NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
}

static void what_python_has_recorded_is_replayed(void **state) {
    (void)state;
    ntapi_error *error = NULL;
    ntapi_stub *stub = ntapi_stub_open_recording(fixture, true, false, &error);
    assert_null(error);
    ntapi_client *client = ntapi_client_create(NULL, "http://elsewhere.test");
    check_ok(ntapi_client_set_stub(client, stub));
    check_steps(client);
    check_ok(ntapi_stub_verify(stub, NULL));
    ntapi_client_free(client);
    ntapi_stub_free(stub);
}

static void what_is_recorded_here_is_replayed(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "", 0);
    ntapi_recorder *recorder = ntapi_recorder_create(path);
    check_ok(ntapi_recorder_add_secret(recorder, "mine"));
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_recorder(client, recorder));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "mine", "hush"));
    ntapi_json_free(fetch(client, "chain/1", args));
    assert_int_equal(ntapi_recorder_count(recorder), 2);
    check_ok(ntapi_recorder_save(recorder, NULL));
    check_ok(ntapi_client_set_recorder(client, NULL));
    ntapi_recorder_free(recorder);

    ntapi_stub *stub = ntapi_stub_open_recording(path, false, true, NULL);
    check_ok(ntapi_client_set_stub(client, stub));
    for (int i = 0; i < 2; i++) {
        args = ntapi_args_create();
        check_ok(ntapi_args_url(args, "mine", "another"));
        ntapi_json_free(fetch(client, "chain/1", args));
    }
    check_ok(ntapi_stub_verify(stub, NULL));
    ntapi_stub_free(stub);
    ntapi_client_free(client);
    unlink(path);
}

/** Sends a document as JSON. Fails unless it comes back exactly as it was written. */
static void check_mirrored(ntapi_client *client, const char *text) {
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    assert_string_equal(ntapi_json_text(json), text);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_json(args, json));
    ntapi_json_free(json);
    ntapi_response *response = perform(client, "mirror", args);
    assert_null(ntapi_response_error(response));
    assert_string_equal(ntapi_response_data(response, NULL), text);
    assert_string_equal(ntapi_json_text(ntapi_response_json(response)), text);
    ntapi_response_free(response);
}

static void numbers_keep_their_digits(void **state) {
    (void)state;
    static const char *texts[] = {"[18446744073709551617]", "[18446744073709551619]", "[1.123456789012345678]",
                                  "[1.123456789012345679]"};
    size_t count = sizeof texts / sizeof *texts;
    char path[64];
    temporary_file(path, "", 0);
    ntapi_recorder *recorder = ntapi_recorder_create(path);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_recorder(client, recorder));
    for (size_t i = 0; i < count; i++)
        check_mirrored(client, texts[i]);
    check_ok(ntapi_recorder_save(recorder, NULL));
    check_ok(ntapi_client_set_recorder(client, NULL));
    ntapi_recorder_free(recorder);
    ntapi_stub *stub = ntapi_stub_open_recording(path, false, false, NULL);
    check_ok(ntapi_client_set_stub(client, stub));
    /* The order of the requests must not matter for the lookup. */
    for (size_t i = count; i-- > 0;)
        check_mirrored(client, texts[i]);
    check_ok(ntapi_stub_verify(stub, NULL));
    ntapi_stub_free(stub);
    ntapi_client_free(client);
    unlink(path);
}

/** Fails unless the response announces 12 bytes and has none. */
static void check_announced(ntapi_client *client, const char *method, int status) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_method(args, method));
    check_ok(ntapi_args_url_int(args, "status", status));
    check_ok(ntapi_args_url_int(args, "length", 12));
    ntapi_response *response = perform(client, "no-body", args);
    assert_int_equal(ntapi_response_status(response), status);
    const ntapi_headers *headers = ntapi_response_headers(response);
    assert_string_equal(ntapi_headers_get(headers, "Content-Length"), "12");
    size_t length;
    ntapi_response_data(response, &length);
    assert_int_equal(length, 0);
    ntapi_response_free(response);
}

static void what_describes_no_body_is_kept(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "", 0);
    ntapi_recorder *recorder = ntapi_recorder_create(path);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_recorder(client, recorder));
    check_announced(client, "HEAD", 200);
    check_announced(client, "GET", 304);
    check_ok(ntapi_recorder_save(recorder, NULL));
    check_ok(ntapi_client_set_recorder(client, NULL));
    ntapi_recorder_free(recorder);
    ntapi_stub *stub = ntapi_stub_open_recording(path, false, false, NULL);
    check_ok(ntapi_client_set_stub(client, stub));
    check_announced(client, "HEAD", 200);
    check_announced(client, "GET", 304);
    ntapi_stub_free(stub);
    ntapi_client_free(client);
    unlink(path);
}

/** The whole text of a file. The caller frees it. */
static char *text_of(const char *path) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static void secrets_of_every_kind_of_body_stay_out(void **state) {
    (void)state;
    const struct {
        const char *body, *type;
    } bodies[] = {
        {"{\"pass\\u0077ord\":\"hush\",\"open\":\"shown\"}", "application/json"},
        {"{\"token\":\"hush\",\"open\":\"shown\"}", "text/plain"},
        {"{\"open\":\"shown\"}\n{\"token\":\"hush\"}\n", "application/x-ndjson"},
        {"data: {\"open\":\"shown\",\"token\":\"hush\"}\n\n", "text/event-stream"},
    };
    for (size_t index = 0; index < sizeof bodies / sizeof bodies[0]; index++) {
        char path[64];
        temporary_file(path, "", 0);
        ntapi_recorder *recorder = ntapi_recorder_create(path);
        ntapi_client *client = client_of("fault");
        check_ok(ntapi_client_set_recorder(client, recorder));
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_data(args, bodies[index].body, strlen(bodies[index].body), bodies[index].type));
        check_ok(ntapi_args_option(args, "raw_data", ""));
        ntapi_response_free(perform(client, "mirror", args));
        args = ntapi_args_create();
        check_ok(ntapi_args_multipart(args, "part", bodies[0].body));
        check_ok(ntapi_args_url(args, "X-Next", "http://u:hush@h.test/"));
        ntapi_response_free(perform(client, "headers", args));
        check_ok(ntapi_recorder_save(recorder, NULL));
        char *text = text_of(path);
        assert_null(strstr(text, "hush"));
        assert_non_null(strstr(text, "shown"));
        free(text);
        ntapi_recorder_free(recorder);
        ntapi_client_free(client);
        unlink(path);
    }
}

/** One recorder records all clients, and its HAR is replayed. */
static void a_har_of_all_clients_is_replayed(void **state) {
    (void)state;
    char folder[64], path[96];
    temporary_file(folder, "", 0);
    snprintf(path, sizeof path, "%s.har", folder);
    ntapi_recorder *recorder = ntapi_recorder_create(path);
    ntapi_client *first = client_of("fault"), *second = client_of("fault");
    check_ok(ntapi_recorder_record_all(recorder, true));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", "hush"));
    ntapi_json_free(fetch(first, "ok", args));
    ntapi_json_free(fetch(second, "chain/1", NULL));
    check_ok(ntapi_recorder_record_all(recorder, false));
    ntapi_json_free(fetch(first, "ok", NULL));
    assert_int_equal(ntapi_recorder_count(recorder), 3);
    check_ok(ntapi_recorder_save(recorder, NULL));
    ntapi_recorder_free(recorder);
    assert_int_equal(ntapi_recorder_record_all(NULL, true), NTAPI_STATUS_INVALID_ARGUMENT);
    ntapi_client_free(second);

    char *text = text_of(path);
    assert_null(strstr(text, "hush"));
    ntapi_json *har = ntapi_json_parse(text, strlen(text), NULL);
    assert_string_equal(ntapi_json_string(har, "log.version"), "1.2");
    assert_non_null(strstr(ntapi_json_string(har, "log.entries[1].response.redirectURL"), "chain/0"));
    ntapi_json_free(har);
    free(text);

    ntapi_stub *stub = ntapi_stub_open_recording(path, false, false, NULL);
    check_ok(ntapi_client_set_stub(first, stub));
    args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", "another"));
    ntapi_json_free(fetch(first, "ok", args));
    ntapi_json_free(fetch(first, "chain/1", NULL));
    check_ok(ntapi_stub_verify(stub, NULL));
    ntapi_stub_free(stub);
    ntapi_client_free(first);
    unlink(path);
    unlink(folder);
}

static ptrdiff_t read_nothing(void *user_data, void *buffer, size_t capacity) {
    (void)user_data, (void)buffer, (void)capacity;
    return 0;
}

static void count_destroy(void *user_data) {
    ++*(int *)user_data;
}

static void a_recorder_keeps_no_user_data_of_streams(void **state) {
    (void)state;
    ntapi_recorder *recorder = ntapi_recorder_create("/tmp/ntapi-never-saved");
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_recorder(client, recorder));
    ntapi_args *args = ntapi_args_create();
    int destroys = 0;
    check_ok(ntapi_args_stream(args, read_nothing, NULL, -1, NULL, &destroys, count_destroy));
    ntapi_response *response = ntapi_client_perform(client, "echo", args);
    assert_int_equal(code_of(response), NTAPI_CODE_NONE);
    assert_int_equal(ntapi_recorder_count(recorder), 1);
    assert_int_equal(destroys, 1); /* although other handles are still there */
    ntapi_args_free(args);
    ntapi_response_free(response);
    ntapi_client_free(client);
    ntapi_recorder_free(recorder);
    assert_int_equal(destroys, 1);
}

/** A client with a recorder. Without a server, it has a stub without expectations. */
static ntapi_client *client_in_mode(const char *path, ntapi_record_mode mode, bool has_server,
                                    ntapi_recorder **recorder) {
    ntapi_error *error = NULL;
    *recorder = ntapi_recorder_open(path, mode, &error);
    assert_null(error);
    ntapi_stub *stub = ntapi_stub_create();
    if (has_server)
        ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, NULL));
    ntapi_client *client = ntapi_client_create(NULL, "http://api.test");
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_stub_free(stub);
    check_ok(ntapi_client_set_recorder(client, *recorder));
    return client;
}

/** Sends a request in a mode, and saves the recording. */
static void send_in_mode(const char *path, ntapi_record_mode mode, bool has_server, const char *command,
                         size_t recorded) {
    ntapi_recorder *recorder = NULL;
    ntapi_client *client = client_in_mode(path, mode, has_server, &recorder);
    ntapi_response *response = ntapi_client_perform(client, command, NULL);
    assert_null(ntapi_response_error(response));
    ntapi_response_free(response);
    assert_int_equal(ntapi_recorder_count(recorder), recorded);
    check_ok(ntapi_recorder_save(recorder, NULL));
    ntapi_client_free(client);
    ntapi_recorder_free(recorder);
}

/** Fails unless a request is missing in the file. */
static void check_missing(const char *path, ntapi_record_mode mode, const char *command, const char *advice) {
    ntapi_recorder *recorder = NULL;
    ntapi_client *client = client_in_mode(path, mode, true, &recorder);
    ntapi_response *response = ntapi_client_perform(client, command, NULL);
    assert_int_equal(code_of(response), NTAPI_CODE_NO_STUB);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), advice));
    ntapi_response_free(response);
    check_ok(ntapi_recorder_save(recorder, NULL));
    ntapi_client_free(client);
    ntapi_recorder_free(recorder);
}

static void a_mode_says_what_is_replayed_and_recorded(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "", 0);
    unlink(path);
    check_missing(path, NTAPI_RECORD_MODE_NONE, "a", "run the test with NTAPI_RECORD_MODE=once");
    assert_int_equal(access(path, F_OK), -1);
    send_in_mode(path, NTAPI_RECORD_MODE_ONCE, true, "a", 1);
    send_in_mode(path, NTAPI_RECORD_MODE_ONCE, false, "a", 0);
    send_in_mode(path, NTAPI_RECORD_MODE_NONE, false, "a", 0);
    check_missing(path, NTAPI_RECORD_MODE_ONCE, "b", "run the test with NTAPI_RECORD_MODE=new_episodes");
    send_in_mode(path, NTAPI_RECORD_MODE_NEW_EPISODES, false, "a", 0);
    send_in_mode(path, NTAPI_RECORD_MODE_NEW_EPISODES, true, "b", 1);
    send_in_mode(path, NTAPI_RECORD_MODE_NONE, false, "a", 0);
    send_in_mode(path, NTAPI_RECORD_MODE_NONE, false, "b", 0);
    send_in_mode(path, NTAPI_RECORD_MODE_ALL, true, "c", 1);
    check_missing(path, NTAPI_RECORD_MODE_NONE, "a", "the nearest: GET http://api.test/c");
    unlink(path);
}

static void the_environment_says_the_mode(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "", 0);
    unlink(path);
    unsetenv("NTAPI_RECORD_MODE");
    check_missing(path, NTAPI_RECORD_MODE_ENVIRONMENT, "a", "to make the recording");
    setenv("NTAPI_RECORD_MODE", "once", true);
    send_in_mode(path, NTAPI_RECORD_MODE_ENVIRONMENT, true, "a", 1);
    send_in_mode(path, NTAPI_RECORD_MODE_ENVIRONMENT, false, "a", 0);
    setenv("NTAPI_RECORD_MODE", "twice", true);
    ntapi_error *error = NULL;
    assert_null(ntapi_recorder_open(path, NTAPI_RECORD_MODE_ENVIRONMENT, &error));
    assert_string_equal(ntapi_error_message(error),
                        "NTAPI_RECORD_MODE is one of none, once, new_episodes, all, not \"twice\"");
    ntapi_error_free(error);
    unsetenv("NTAPI_RECORD_MODE");
    unlink(path);
}

static void bad_files_are_errors(void **state) {
    (void)state;
    ntapi_error *error = NULL;
    assert_null(ntapi_stub_open_recording("/nowhere/recording.json", false, false, &error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    assert_non_null(strstr(ntapi_error_message(error), "no such file"));
    ntapi_error_free(error);
    assert_null(ntapi_stub_open_recording(NULL, false, false, NULL));
    ntapi_recorder *recorder = ntapi_recorder_create("/nowhere/recording.json");
    check_too_late(ntapi_recorder_save(recorder, &error));
    assert_non_null(strstr(ntapi_error_message(error), "was not written"));
    ntapi_error_free(error);
    ntapi_recorder_free(recorder);
    assert_null(ntapi_recorder_create(NULL));
    assert_null(ntapi_recorder_open(NULL, NTAPI_RECORD_MODE_ALL, NULL));
    assert_null(ntapi_recorder_open("/nowhere/recording.json", (ntapi_record_mode)9, NULL));
    char path[64];
    temporary_file(path, "{}", 2);
    assert_null(ntapi_recorder_open(path, NTAPI_RECORD_MODE_ONCE, &error));
    assert_non_null(strstr(ntapi_error_message(error), "it is neither a recording"));
    ntapi_error_free(error);
    unlink(path);
}

int main(int argc, char **argv) {
    assert_true(argc > 1);
    fixture = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_python_has_recorded_is_replayed),
        cmocka_unit_test(what_is_recorded_here_is_replayed),
        cmocka_unit_test(numbers_keep_their_digits),
        cmocka_unit_test(what_describes_no_body_is_kept),
        cmocka_unit_test(secrets_of_every_kind_of_body_stay_out),
        cmocka_unit_test(a_har_of_all_clients_is_replayed),
        cmocka_unit_test(a_recorder_keeps_no_user_data_of_streams),
        cmocka_unit_test(bad_files_are_errors),
        cmocka_unit_test(a_mode_says_what_is_replayed_and_recorded),
        cmocka_unit_test(the_environment_says_the_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
