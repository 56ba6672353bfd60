/* Exchanges that were recorded from Python, and that are given again here. */
#include "support.h"

#include <unistd.h>

static const char *fixture;

/** The steps that bindings/python/tests/test_recorder.py has recorded. */
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
    assert_true(ntapi_response_metric(response, NTAPI_METRIC_REDIRECTS) == 2);
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

/** The whole text of a file; the caller frees it. */
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
    assert_int_equal(destroys, 1); /* whatever else is still there */
    ntapi_args_free(args);
    ntapi_response_free(response);
    ntapi_client_free(client);
    ntapi_recorder_free(recorder);
    assert_int_equal(destroys, 1);
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
}

int main(int argc, char **argv) {
    assert_true(argc > 1);
    fixture = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_python_has_recorded_is_replayed),
        cmocka_unit_test(what_is_recorded_here_is_replayed),
        cmocka_unit_test(secrets_of_every_kind_of_body_stay_out),
        cmocka_unit_test(a_recorder_keeps_no_user_data_of_streams),
        cmocka_unit_test(bad_files_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
