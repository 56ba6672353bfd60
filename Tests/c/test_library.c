/* Version and drain. */
#include "support.h"

#include <time.h>

#if NTAPI_VERSION_NUMBER < 2000
#error "the preprocessor reads another number than 0.2.0 or later"
#endif

static void version_is_the_headers(void **state) {
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", NTAPI_VERSION_MAJOR, NTAPI_VERSION_MINOR, NTAPI_VERSION_PATCH);
    assert_string_equal(ntapi_version(), expected);
    snprintf(expected, sizeof expected, "%d.%d.%d", NTAPI_VERSION_NUMBER / 1000000, NTAPI_VERSION_NUMBER / 1000 % 1000,
             NTAPI_VERSION_NUMBER % 1000);
    assert_string_equal(ntapi_version(), expected);
    assert_ptr_equal(ntapi_version(), ntapi_version());
}

static void version_text_names_the_libcurl(void **state) {
    (void)state;
    char expected[40];
    int length = snprintf(expected, sizeof expected, "ntapi/%s libcurl/", ntapi_version());
    assert_int_equal(strncmp(ntapi_version_text(), expected, (size_t)length), 0);
    assert_ptr_equal(ntapi_version_text(), ntapi_version_text());
}

static void drain_of_nothing_returns_at_once(void **state) {
    (void)state;
    assert_int_equal(ntapi_drain(0), 0);
    assert_int_equal(ntapi_drain(-1), 0);
}

static void drain_waits_for_every_client_and_runs_the_main_mailbox(void **state) {
    (void)state;
    ntapi_client *one = client_of("fault"), *other = client_of("fault_other");
    witness first, second;
    witness_init(&first);
    witness_init(&second);
    begin(one, "late?ms=20", NULL, &first);
    begin(other, "late?ms=40", NULL, &second);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&first, 1);
    witness_wait(&second, 1);
    witness_check_once(&first);
    witness_check_once(&second);
    assert_true(pthread_equal(first.thread, pthread_self()));
    assert_int_equal(witness_code(&first), NTAPI_CODE_NONE);
    witness_free(&first);
    witness_free(&second);
    ntapi_client_free(one);
    ntapi_client_free(other);
}

static void drain_says_what_is_left(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness held[3];
    for (int i = 0; i < 3; i++) {
        witness_init(&held[i]);
        begin(client, "hold", NULL, &held[i]);
    }
    assert_int_equal(ntapi_drain(0), 3);
    assert_int_equal(ntapi_drain(0.01), 3);
    check_ok(ntapi_client_cancel_all(client));
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    for (int i = 0; i < 3; i++) {
        witness_wait(&held[i], 1);
        witness_check_once(&held[i]);
        assert_int_equal(witness_code(&held[i]), NTAPI_CODE_CANCELLED);
        witness_free(&held[i]);
    }
    ntapi_client_free(client);
}

struct nested {
    ntapi_client *client;
    size_t left;
};

static void drain_inside(void *user_data, const ntapi_response *response) {
    (void)response;
    struct nested *nested = user_data;
    nested->left = ntapi_drain(PATIENCE);
}

static void drain_in_a_handler_does_not_wait_for_itself(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    for (int thread = NTAPI_THREAD_MAIN; thread <= NTAPI_THREAD_CURRENT; thread++) {
        struct nested nested = {client, 99};
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)thread));
        ntapi_request *request = ntapi_client_begin(client, "ok", args, drain_inside, &nested, NULL);
        check_ok(ntapi_request_wait(request, PATIENCE));
        assert_int_equal(nested.left, 0);
        ntapi_request_free(request);
        ntapi_args_free(args);
    }
    ntapi_client_free(client);
}

static void *drain_elsewhere(void *left) {
    *(size_t *)left = ntapi_drain(0.01);
    return NULL;
}

static void drain_on_another_thread_leaves_the_main_mailbox_alone(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin(client, "ok", NULL, &seen);
    size_t left = 99;
    on_new_thread(drain_elsewhere, &left);
    assert_int_equal(left, 1);
    assert_int_equal(seen.responses, 0);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    witness_free(&seen);
    ntapi_client_free(client);
}

/** Fails unless a handle's description is the expected one, and shows no secret. "*" stands for any text. */
static void check_described(const void *handle, const char *expected) {
    char *text = ntapi_describe(handle);
    assert_non_null(text);
    const char *rest = text;
    char parts[256];
    snprintf(parts, sizeof parts, "%s", expected);
    for (char *state = NULL, *part = strtok_r(parts, "*", &state); part != NULL; part = strtok_r(NULL, "*", &state)) {
        const char *found = strstr(rest, part);
        if (found == NULL || (rest == text && found != text))
            fail_msg("\"%s\" instead of \"%s\"", text, expected);
        rest = found + strlen(part);
    }
    assert_null(strstr(text, "hush"));
    ntapi_text_free(text);
}

static void handles_are_described(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    check_described(client, "ntapi_client #*http://127.0.0.1");
    ntapi_args *args = ntapi_args_create();
    check_described(args, "ntapi_args");
    check_ok(ntapi_args_url(args, "api_key", "hush"));
    check_ok(ntapi_args_bearer(args, "hush"));
    check_described(args, "ntapi_args url(*; *");
    ntapi_request *request = ntapi_client_create_request(client, "status/404", args);
    check_described(request, "ntapi_request #*GET http://127.0.0.1*/status/404?api_key=*suspended");
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    check_described(request, "ntapi_request *completed");
    ntapi_response *response = ntapi_request_response(request);
    check_described(response, "ntapi_response #*GET *HTTP error*404");
    check_described(ntapi_response_headers(response), "ntapi_headers *Content-Length: ");
    check_described(ntapi_response_error(response), "ntapi_error *HTTP error: HTTP 404");
    ntapi_response_free(response);
    check_described(response, "not a handle, or freed");
    ntapi_request_free(request);
    ntapi_args_free(args);
    response = perform(client, "ok", NULL);
    check_described(response, "ntapi_response #*/ok*200*bytes");
    check_described(ntapi_response_json(response), "ntapi_json object");
    ntapi_response_free(response);
    ntapi_client_free(client);
    int nothing = 0;
    check_described(NULL, "NULL");
    check_described(&nothing, "not a handle, or freed");
    check_described("text", "not a handle, or freed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* This comes first: a request is forgotten only a moment after it has ended. */
        cmocka_unit_test(drain_of_nothing_returns_at_once),
        cmocka_unit_test(handles_are_described),
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(version_text_names_the_libcurl),
        cmocka_unit_test(drain_waits_for_every_client_and_runs_the_main_mailbox),
        cmocka_unit_test(drain_says_what_is_left),
        cmocka_unit_test(drain_in_a_handler_does_not_wait_for_itself),
        cmocka_unit_test(drain_on_another_thread_leaves_the_main_mailbox_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
