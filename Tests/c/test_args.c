/* The args except for bodies (test_body.c), as an echo server sees them. */
#include "support.h"

#include <math.h>

static ntapi_client *client;

static int open_client(void **state) {
    (void)state;
    client = client_of("fault");
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    return 0;
}

/** Sends a request to /echo with these args, which are freed. Returns the request as the server saw it. */
static ntapi_json *echo(ntapi_args *args) {
    return fetch(client, "echo", args);
}

static void lists_are_counted_copied_and_joined(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    assert_int_equal(ntapi_args_count(args), 0);
    check_ok(ntapi_args_url(args, "q", "London"));
    check_ok(ntapi_args_url(args, "unit", NULL));
    assert_int_equal(ntapi_args_count(args), 1);
    ntapi_args *copy = ntapi_args_create();
    check_ok(ntapi_args_append(copy, args));
    check_ok(ntapi_args_url_int(args, "cnt", 20));
    assert_int_equal(ntapi_args_count(copy), 1);
    check_ok(ntapi_args_append(copy, args));
    assert_int_equal(ntapi_args_count(copy), 3);
    check_ok(ntapi_args_append(copy, copy));
    assert_int_equal(ntapi_args_count(copy), 6);
    check_invalid(ntapi_args_append(NULL, args));
    check_invalid(ntapi_args_append(args, NULL));
    assert_int_equal(ntapi_args_count(NULL), 0);
    ntapi_args_free(args);
    ntapi_args_free(copy);
    ntapi_args_free(NULL);
}

static void query_pairs_are_encoded_and_kept_in_order(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "q", "S\xc3\xa3o Paulo&x=1+2/~"));
    check_ok(ntapi_args_query(args, "q", ""));
    check_ok(ntapi_args_url(args, "a b", "1"));
    check_ok(ntapi_args_url_int(args, "int", INT64_MIN));
    check_ok(ntapi_args_url_double(args, "double", 0.1));
    check_ok(ntapi_args_url_double(args, "whole", 5));
    check_ok(ntapi_args_url_bool(args, "yes", true));
    check_ok(ntapi_args_url_bool(args, "no", false));
    ntapi_json *seen = echo(args);
    check_string(seen, "method", "GET");
    const char *target = ntapi_json_string(seen, "target");
    const char *start =
        "/echo?q=S%C3%A3o%20Paulo%26x%3D1%2B2%2F~&q=&a%20b=1&int=-9223372036854775808&double=0.1&whole=5";
    if (strncmp(target, start, strlen(start)) != 0)
        fail_msg("%s", target);
    check_string(seen, "query[6][1]", "true");
    check_string(seen, "query[7][1]", "false");
    ntapi_json_free(seen);
}

static void form_and_path_take_the_same_types(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_form_int(args, "int", -7));
    check_ok(ntapi_args_form_double(args, "double", 0.1));
    check_ok(ntapi_args_form_bool(args, "yes", true));
    check_ok(ntapi_args_path_int(args, "id", INT64_MIN));
    check_ok(ntapi_args_path_double(args, "size", 2.5));
    check_ok(ntapi_args_path_bool(args, "flag", false));
    check_invalid(ntapi_args_path_bool(NULL, "flag", true));
    ntapi_response *response = perform(client, "echo/{id}/{size}/{flag}", args);
    check_string(ntapi_response_json(response), "body", "int=-7&double=0.1&yes=true");
    check_string(ntapi_response_json(response), "target", "/echo/-9223372036854775808/2.5/false");
    ntapi_response_free(response);
    args = ntapi_args_create();
    check_ok(ntapi_args_form_double(args, "x", NAN));
    check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
}

static void a_double_must_be_a_number(void **state) {
    (void)state;
    const double wrong[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_url_double(args, "x", wrong[i]));
        check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    }
}

static void path_values_never_leave_their_segment(void **state) {
    (void)state;
    const char *values[] = {"London", "a/b", "..", ".", "a?b=c#d", "%2e%2e", "Z\xc3\xbcrich", "a b;c"};
    const char *targets[] = {
        "/echo/London/x",      "/echo/a%2Fb/x",    NULL, NULL, "/echo/a%3Fb%3Dc%23d/x", "/echo/%252e%252e/x",
        "/echo/Z%C3%BCrich/x", "/echo/a%20b%3Bc/x"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_path(args, "name", values[i]));
        ntapi_response *response = perform(client, "echo/{name}/x", args);
        if (targets[i] != NULL)
            check_string(ntapi_response_json(response), "target", targets[i]);
        else /* a dot segment cannot be escaped */
            assert_int_equal(code_of(response), NTAPI_CODE_INVALID_REQUEST);
        ntapi_response_free(response);
    }
    check_error(perform(client, "echo/{name}", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_path(args, "name", NULL));
    check_error(perform(client, "echo/{name}", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
}

static void headers_are_set_and_added(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_header(args, "X-One", "first"));
    check_ok(ntapi_args_header(args, "x-one", "last"));
    check_ok(ntapi_args_add_header(args, "X-Many", "1"));
    check_ok(ntapi_args_add_header(args, "X-Many", "2"));
    check_ok(ntapi_args_header(args, "X-Empty", ""));
    check_ok(ntapi_args_header(args, "X-None", NULL));
    ntapi_json *seen = echo(args);
    check_string(seen, "header[\"x-one\"]", "last");
    check_string(seen, "header[\"x-many\"]", "1, 2");
    check_string(seen, "header[\"x-empty\"]", "");
    assert_null(ntapi_json_string(seen, "header[\"x-none\"]"));
    ntapi_json_free(seen);
}

static void headers_cannot_be_smuggled(void **state) {
    (void)state;
    const char *pairs[][2] = {{"X-A", "1\r\nX-B: 2"}, {"X-A", "1\n"}, {"X-A", "\r"}, {"X-A\r\nX-B", "1"},
                              {"X A", "1"},           {"", "1"},      {"X-A:", "1"}, {"X\xc3\xbc", "1"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int add = 0; add < 2; add++) {
            ntapi_args *args = ntapi_args_create();
            check_ok((add ? ntapi_args_add_header : ntapi_args_header)(args, pairs[i][0], pairs[i][1]));
            check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        }
}

static void credentials_become_the_authorization_header(void **state) {
    (void)state;
    const struct {
        const char *user, *password, *expected;
    } cases[] = {
        {"user", "p:w", "Basic dXNlcjpwOnc="}, {"", "", "Basic Og=="}, {"\xc3\xbc", "\xc3\xa4", "Basic w7w6w6Q="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_basic_auth(args, cases[i].user, cases[i].password));
        ntapi_json *seen = echo(args);
        check_string(seen, "header.authorization", cases[i].expected);
        ntapi_json_free(seen);
    }
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_bearer(args, "t0ken"));
    check_ok(ntapi_args_basic_auth(args, NULL, "x"));
    check_ok(ntapi_args_basic_auth(args, "x", NULL));
    check_ok(ntapi_args_bearer(args, NULL));
    assert_int_equal(ntapi_args_count(args), 1);
    ntapi_json *seen = echo(args);
    check_string(seen, "header.authorization", "Bearer t0ken");
    ntapi_json_free(seen);

    args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "user", "ann"));
    check_ok(ntapi_args_url(args, "password", ""));
    check_ok(ntapi_args_bearer(args, "not this"));
    check_ok(ntapi_args_digest_auth(args, NULL, "x"));
    check_ok(ntapi_args_digest_auth(args, "x", NULL));
    check_ok(ntapi_args_digest_auth(args, "ann", ""));
    assert_int_equal(ntapi_args_count(args), 4);
    seen = fetch(client, "digest/SHA-256", args);
    assert_non_null(strstr(ntapi_json_string(seen, "header.authorization"), "Digest username="));
    ntapi_json_free(seen);

    args = ntapi_args_create();
    check_ok(ntapi_args_basic_auth(args, "us:er", "x"));
    check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
}

static void single_values_override(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_method(args, "PUT"));
    check_ok(ntapi_args_method(args, "PROPFIND"));
    check_ok(ntapi_args_method(args, NULL));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 0.001));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, INFINITY));
    check_ok(ntapi_args_base_url(args, nobody()));
    char url[128];
    snprintf(url, sizeof url, "%s/echo?kept=1", server("fault_other"));
    check_ok(ntapi_args_base_url(args, url));
    check_ok(ntapi_args_base_url(args, NULL));
    check_ok(ntapi_args_url(args, "more", "2"));
    ntapi_json *seen = fetch(client, "nowhere", args);
    check_string(seen, "method", "PROPFIND");
    check_string(seen, "target", "/echo?kept=1&more=2");
    check_string(seen, "listener", "fault_other");
    ntapi_json_free(seen);

    args = ntapi_args_create();
    check_ok(ntapi_args_method(args, "GET IT"));
    check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
}

static void timeouts_are_above_zero(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_invalid(ntapi_args_timeout(NULL, NTAPI_CLOCK_IDLE, 1));
    const double wrong[] = {0, -1, NAN, -INFINITY};
    for (int i = 0; i < 4; i++) {
        /* It is refused here or when the request begins. It must never be taken for another arg. */
        ntapi_args *one = ntapi_args_create();
        if (ntapi_args_timeout(one, NTAPI_CLOCK_IDLE, wrong[i]) == NTAPI_STATUS_OK)
            check_error(perform(client, "echo", one), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        else
            ntapi_args_free(one);
    }
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, 1e300));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_CONNECT, 1e-9));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_CONNECT, 20));
    ntapi_json_free(echo(args));
}

static void options_can_be_read_back(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    assert_null(ntapi_args_get_option(args, "retry"));
    check_ok(ntapi_args_option(args, "retry", ""));
    check_new_text(ntapi_args_get_option(args, "retry"), "");
    check_ok(ntapi_args_option(args, "retry", "3"));
    check_ok(ntapi_args_option(args, "retry", NULL));
    check_invalid(ntapi_args_option(args, NULL, ""));
    check_new_text(ntapi_args_get_option(args, "retry"), "3");
    assert_null(ntapi_args_get_option(args, NULL));
    assert_null(ntapi_args_get_option(NULL, "retry"));
    ntapi_args_free(args);
}

static void the_built_in_options_work(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, ""));
    ntapi_response *response = perform(client, "status/500", args);
    assert_null(ntapi_response_error(response));
    assert_int_equal(ntapi_response_status(response), 500);
    ntapi_response_free(response);

    args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    response = perform(client, "json/truncated", args);
    assert_null(ntapi_response_error(response));
    assert_null(ntapi_response_json(response));
    ntapi_response_free(response);

    args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_HTTP_VERSION, "1.0"));
    response = perform(client, "ok", args);
    assert_null(ntapi_response_error(response));
    ntapi_response_free(response);

    ntapi_client *tls = client_of("tls_self_signed");
    args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE, ""));
    ntapi_json_free(fetch(tls, "ok", args));
    check_error(perform(tls, "ok", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TLS);
    ntapi_client_free(tls);
}

static void text_must_be_utf8(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    const char *bad = "\xff";
    check_invalid(ntapi_args_url(args, bad, "x"));
    check_invalid(ntapi_args_url(args, "x", bad));
    check_invalid(ntapi_args_path(args, "x", bad));
    check_invalid(ntapi_args_form(args, "x", bad));
    check_invalid(ntapi_args_multipart(args, "x", bad));
    check_invalid(ntapi_args_header(args, "x", bad));
    check_invalid(ntapi_args_bearer(args, bad));
    check_invalid(ntapi_args_basic_auth(args, "x", bad));
    check_invalid(ntapi_args_digest_auth(args, bad, "x"));
    check_invalid(ntapi_args_base_url(args, bad));
    check_invalid(ntapi_args_method(args, bad));
    check_invalid(ntapi_args_option(args, bad, ""));
    assert_int_equal(ntapi_args_count(args), 0);
    ntapi_args_free(args);
}

static void threads_and_handlers_must_exist(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_UPLOAD_PROGRESS, NTAPI_THREAD_BACKGROUND));
    check_invalid(ntapi_args_thread(args, 0, NTAPI_THREAD_MAIN));
    check_invalid(ntapi_args_thread(args, NTAPI_HANDLER_ALL + 1, NTAPI_THREAD_MAIN));
    check_invalid(ntapi_args_thread(args, -1, NTAPI_THREAD_MAIN));
    check_invalid(ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)3));
    check_invalid(ntapi_args_mailbox(args, 0, mailbox));
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, NULL));
    check_ok(ntapi_args_executor(args, NTAPI_HANDLER_ALL, NULL));
    check_invalid(ntapi_args_cache_policy(args, (ntapi_cache_policy)99));
    check_ok(ntapi_args_cache_policy(args, NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE));
    ntapi_mailbox_free(mailbox);
    ntapi_args_free(args);
}

static void secrets_are_redacted(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_too_late(ntapi_args_mark_secret(args));
    check_ok(ntapi_args_url(args, "city", "visible"));
    check_ok(ntapi_args_url(args, "api_key", "hidden1"));
    check_ok(ntapi_args_basic_auth(args, "me", "hidden2"));
    check_ok(ntapi_args_bearer(args, "hidden3"));
    check_ok(ntapi_args_header(args, "Cookie", "hidden4"));
    check_ok(ntapi_args_header(args, "X-Mine", "hidden5"));
    check_ok(ntapi_args_mark_secret(args));
    check_ok(ntapi_args_form(args, "password", "hidden6"));
    char *text = ntapi_describe(args);
    assert_non_null(strstr(text, "visible"));
    assert_null(strstr(text, "hidden"));
    assert_non_null(strstr(text, "<redacted>"));
    assert_null(strchr(text, '\n'));
    size_t parts = 1;
    for (const char *at = text; (at = strstr(at, "; ")) != NULL; at++)
        parts++;
    assert_int_equal(parts, ntapi_args_count(args));
    ntapi_text_free(text);
    ntapi_args_free(args);
}

static void args_come_from_json(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    const char *text =
        "[[\"url\",\"q\",\"London\"],[\"url\",\"cnt\",20],[\"query\",\"x\",true],[\"url\",\"none\",null],"
        "[\"header\",\"X-A\",\"1\"],[\"add_header\",\"X-A\",\"2\"],[\"timeout\",5],"
        "[\"timeout\",7.5,\"total\"],[\"form\",\"a\",\"b c\"],[\"method\",\"PUT\"],"
        "[\"bearer\",\"t\"],[\"option\",\"mine\"],[\"option\",\"mine\",\"2\"],"
        "[\"response_thread\",\"background\"],[\"cache_policy\",\"protocol\"],[\"path\",\"p\",\"v\"]]";
    ntapi_error *error = NULL;
    check_ok(ntapi_args_append_json(args, text, strlen(text), &error));
    assert_null(error);
    assert_int_equal(ntapi_args_count(args), 15);
    check_new_text(ntapi_args_get_option(args, "mine"), "2");
    ntapi_json *seen = fetch(client, "echo/{p}", args);
    check_string(seen, "target", "/echo/v?q=London&cnt=20&x=true");
    check_string(seen, "method", "PUT");
    check_string(seen, "body", "a=b+c");
    check_string(seen, "header[\"x-a\"]", "1, 2");
    ntapi_json_free(seen);
}

static void wrong_json_appends_nothing(void **state) {
    (void)state;
    const char *wrong[] = {"",
                           "{}",
                           "[1]",
                           "[[]]",
                           "[[\"nonsense\",1]]",
                           "[[\"url\"]]",
                           "[[\"url\",\"a\",\"b\"],[\"url\",1,2]]",
                           "[[\"url\",\"a\",{}]]",
                           "[[\"timeout\",\"5\"]]",
                           "[[\"timeout\",1,\"clock\"]]",
                           "[[\"response_thread\",\"nowhere\"]]",
                           "[[\"cache_policy\",\"maybe\"]]",
                           "[[\"data\",{\"base64\":\"%%\"}]]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_error *error = NULL;
        if (ntapi_args_append_json(args, wrong[i], strlen(wrong[i]), &error) != NTAPI_STATUS_INVALID_ARGUMENT)
            fail_msg("%s was accepted", wrong[i]);
        assert_non_null(ntapi_error_message(error));
        assert_int_equal(ntapi_args_count(args), 0);
        check_invalid(ntapi_args_append_json(args, wrong[i], strlen(wrong[i]), NULL));
        ntapi_error_free(error);
        ntapi_args_free(args);
    }
    check_invalid(ntapi_args_append_json(NULL, "[]", 2, NULL));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_append_json(args, "[]", 2, NULL));
    check_invalid(ntapi_args_append_json(args, NULL, 0, NULL));
    ntapi_args_free(args);
}

struct many {
    ntapi_args *args;
    int number;
};

static void *append_many(void *argument) {
    struct many *many = argument;
    for (int i = 0; i < 500; i++) {
        check_ok(ntapi_args_url_int(many->args, "n", many->number * 500 + i));
        ntapi_args *copy = ntapi_args_create();
        check_ok(ntapi_args_append(copy, many->args));
        ntapi_args_free(copy);
    }
    return NULL;
}

static void a_list_is_safe_from_several_threads(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    pthread_t threads[4];
    struct many many[4];
    for (int i = 0; i < 4; i++) {
        many[i] = (struct many){args, i};
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, &many[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ntapi_args_count(args), 2000);
    ntapi_args_free(args);
}

static void a_suppressed_arg_takes_its_mark_along(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "q", "London"));
    check_ok(ntapi_args_header(args, "X-Key", NULL));
    check_ok(ntapi_args_mark_secret(args));
    check_new_text(ntapi_describe(args), "ntapi_args url(\"q\", \"London\")");
    ntapi_args_free(args);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_counted_copied_and_joined),
        cmocka_unit_test(query_pairs_are_encoded_and_kept_in_order),
        cmocka_unit_test(form_and_path_take_the_same_types),
        cmocka_unit_test(a_double_must_be_a_number),
        cmocka_unit_test(path_values_never_leave_their_segment),
        cmocka_unit_test(headers_are_set_and_added),
        cmocka_unit_test(headers_cannot_be_smuggled),
        cmocka_unit_test(credentials_become_the_authorization_header),
        cmocka_unit_test(single_values_override),
        cmocka_unit_test(timeouts_are_above_zero),
        cmocka_unit_test(options_can_be_read_back),
        cmocka_unit_test(the_built_in_options_work),
        cmocka_unit_test(text_must_be_utf8),
        cmocka_unit_test(threads_and_handlers_must_exist),
        cmocka_unit_test(secrets_are_redacted),
        cmocka_unit_test(args_come_from_json),
        cmocka_unit_test(wrong_json_appends_nothing),
        cmocka_unit_test(a_list_is_safe_from_several_threads),
        cmocka_unit_test(a_suppressed_arg_takes_its_mark_along),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
