/* The properties of a response. */
#include "support.h"

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

static void a_good_response_has_everything(void **state) {
    (void)state;
    ntapi_response *response = perform(client, "ok?size=100", NULL);
    assert_null(ntapi_response_error(response));
    assert_int_equal(ntapi_response_status(response), 200);
    size_t length = 0;
    const char *data = ntapi_response_data(response, &length);
    assert_int_equal(length, strlen(data));
    assert_ptr_equal(ntapi_response_data(response, NULL), data);
    assert_true(ntapi_json_bool(ntapi_response_json(response), "ok", false));
    assert_ptr_equal(ntapi_response_json(response), ntapi_response_json(response));
    assert_null(ntapi_response_prefix_text(response));
    char url[128];
    snprintf(url, sizeof url, "%s/ok?size=100", server("fault"));
    assert_string_equal(ntapi_response_url(response), url);
    assert_true(metric_of(response, "startTime") > 1.6e9);
    assert_true(metric_of(response, "endTime") >= metric_of(response, "startTime") - 1);
    assert_true(ntapi_response_elapsed(response) > 0 && ntapi_response_elapsed(response) < PATIENCE);
    ntapi_response_free(response);
}

static void its_url_may_be_shown_without_secrets(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "visible", "shown"));
    check_ok(ntapi_args_url(args, "api_key", "hidden1"));
    check_ok(ntapi_args_url(args, "q", "hidden2"));
    check_ok(ntapi_args_mark_secret(args));
    check_ok(ntapi_args_path(args, "name", "ok"));
    ntapi_response *response = perform(client, "{name}", args);
    assert_non_null(strstr(ntapi_response_url(response), "hidden2"));
    const char *url = ntapi_response_redacted_url(response);
    assert_non_null(strstr(url, "/ok?visible=shown"));
    assert_null(strstr(url, "hidden"));
    assert_ptr_equal(ntapi_response_redacted_url(response), url);
    assert_null(ntapi_response_redacted_url(NULL));
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static void headers_keep_repeats_and_order(void **state) {
    (void)state;
    ntapi_response *response = perform(client, "headers?X-A=1&Set-Cookie=a=1&x-a=2&Set-Cookie=b=2&X-Empty=", NULL);
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-A"), "1, 2");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "x-a"), "1, 2");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "set-cookie"), "a=1");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Empty"), "");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "CONTENT-TYPE"), "application/json");
    assert_null(ntapi_headers_get(ntapi_response_headers(response), "X-None"));
    assert_null(ntapi_headers_get(ntapi_response_headers(response), NULL));
    const ntapi_headers *headers = ntapi_response_headers(response);
    size_t count = 0, found = 0;
    const char *name, *value;
    const char *names[] = {"X-A", "Set-Cookie", "x-a", "Set-Cookie"}, *values[] = {"1", "a=1", "2", "b=2"};
    for (; (value = ntapi_headers_at(headers, count, &name)) != NULL; count++)
        if (found < 4 && strcmp(name, names[found]) == 0)
            assert_string_equal(value, values[found++]);
    assert_int_equal(found, 4);
    assert_null(name);
    assert_null(ntapi_headers_at(headers, SIZE_MAX, NULL));
    ntapi_response_free(response);
}

static void text_before_the_json_is_kept_apart(void **state) {
    (void)state;
    ntapi_response *response = perform(client, "json/prefix-text", NULL);
    assert_null(ntapi_response_error(response));
    assert_int_equal(ntapi_json_int(ntapi_response_json(response), "a", 0), 1);
    const char *prefix = ntapi_response_prefix_text(response);
    assert_non_null(prefix);
    assert_true(strncmp(prefix, "<b>Warning</b>", 14) == 0);
    assert_null(strchr(prefix, '{'));
    assert_true(strncmp(ntapi_response_data(response, NULL), prefix, strlen(prefix)) == 0);
    ntapi_response_free(response);
}

static void bytes_may_be_anything(void **state) {
    (void)state;
    ntapi_client *weather = client_of("weather");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url_int(args, "size", 70000));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_response *response = perform(weather, "download", args);
    size_t length = 0;
    const unsigned char *data = (const unsigned char *)ntapi_response_data(response, &length);
    assert_int_equal(length, 70000);
    for (size_t i = 0; i + 4 <= 65536; i += 4)
        assert_int_equal((unsigned)data[i] << 24 | (unsigned)data[i + 1] << 16 | data[i + 2] << 8 | data[i + 3], i / 4);
    assert_int_equal(data[length], 0);
    ntapi_response_free(response);
    ntapi_client_free(weather);
}

static void an_empty_body_is_not_null(void **state) {
    (void)state;
    size_t length = 99;
    ntapi_response *response = perform(client, "status/204", NULL);
    assert_null(ntapi_response_error(response));
    assert_string_equal(ntapi_response_data(response, &length), "");
    assert_int_equal(length, 0);
    assert_null(ntapi_response_json(response));
    ntapi_response_free(response);
    ntapi_client *nowhere = ntapi_client_create(NULL, nobody());
    response = perform(nowhere, "", NULL);
    assert_non_null(ntapi_response_data(response, &length));
    assert_int_equal(length, 0);
    assert_int_equal(ntapi_response_status(response), 0);
    assert_null(ntapi_headers_at(ntapi_response_headers(response), 0, NULL));
    ntapi_response_free(response);
    ntapi_client_free(nowhere);
}

static void redirects_change_the_url(void **state) {
    (void)state;
    ntapi_response *response = perform(client, "chain/3", NULL);
    assert_null(ntapi_response_error(response));
    assert_true(metric_of(response, "redirects") == 3);
    assert_non_null(strstr(ntapi_response_url(response), "/chain/0"));
    ntapi_response_free(response);
}

static void metrics_make_sense(void **state) {
    (void)state;
    ntapi_client *fresh = client_of("fault_other"); /* to which no connection is open */
    ntapi_response *response = perform(fresh, "ok", NULL);
    double lookup = metric_of(response, "nameLookup");
    double connect = metric_of(response, "connect");
    double first = metric_of(response, "firstByte");
    double total = metric_of(response, "total");
    assert_true(0 <= lookup && lookup <= connect && connect <= first && first <= total && total < PATIENCE);
    assert_true(metric_of(response, "tls") == 0);
    assert_true(metric_of(response, "retries") == 0);
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_NETWORK);
    assert_true(metric_of(response, "httpVersion") == 1.1);
    size_t length = 0;
    ntapi_response_data(response, &length);
    assert_true(metric_of(response, "bytesReceived") == (double)length);
    assert_true(metric_of(response, "bytesSent") == 0);
    ntapi_response_free(response);
    response = perform(fresh, "ok", NULL);
    assert_true(metric_of(response, "connectionReused") == 1);
    ntapi_response_free(response);
    ntapi_client_free(fresh);
}

static void bodies_are_decompressed(void **state) {
    (void)state;
    ntapi_response *response = perform(client, "encoding/gzip", NULL);
    assert_null(ntapi_response_error(response));
    assert_non_null(ntapi_response_json(response));
    ntapi_response_free(response);
    response = perform(client, "encoding/corrupt", NULL);
    assert_non_null(ntapi_response_error(response));
    ntapi_response_free(response);
}

static void links_lead_to_other_pages(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "Link", "</ok?page=2>; rel=\"next\", <http://a.example/>; rel=last"));
    ntapi_response *response = perform(client, "headers", args);
    char url[128];
    snprintf(url, sizeof url, "%s/ok?page=2", server("fault"));
    assert_string_equal(ntapi_response_link(response, "next"), url);
    assert_ptr_equal(ntapi_response_link(response, "next"), ntapi_response_link(response, "next"));
    assert_string_equal(ntapi_response_link(response, "LAST"), "http://a.example/");
    assert_null(ntapi_response_link(response, "prev"));
    assert_null(ntapi_response_link(response, NULL));

    args = ntapi_args_create();
    check_ok(ntapi_args_base_url(args, ntapi_response_link(response, "next")));
    ntapi_response *next = perform(client, "", args);
    assert_true(ntapi_json_bool(ntapi_response_json(next), "ok", false));
    ntapi_response_free(next);
    ntapi_response_free(response);
}

/** The args of a request. Its response links to this next page. */
static ntapi_args *linking(const char *target) {
    char link[200];
    snprintf(link, sizeof link, "<%s>; rel=next", target);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "Link", link));
    check_ok(ntapi_args_header(args, "X-Page", "kept"));
    return args;
}

static void pages_follow_each_other(void **state) {
    (void)state;
    ntapi_args *args = linking("/echo?page=2");
    ntapi_response *page = ntapi_client_perform(client, "headers", args);
    ntapi_args *next = ntapi_response_next_page(page, args);
    ntapi_response_free(page);
    page = ntapi_client_perform(client, "", next);
    const ntapi_json *seen = ntapi_response_json(page);
    check_string(seen, "target", "/echo?page=2");
    check_string(seen, "header[\"x-page\"]", "kept");
    assert_null(ntapi_response_next_page(page, next));
    assert_null(ntapi_response_next_page(NULL, args));
    ntapi_response_free(page);
    ntapi_args_free(next);
    ntapi_args_free(args);

    // Credentials do not follow a link to another origin. NULL would look like the end of the list.
    args = linking("http://other.test/");
    page = ntapi_client_perform(client, "headers", args);
    next = ntapi_response_next_page(page, args);
    ntapi_response *refused = perform(client, "", next);
    assert_int_equal(ntapi_error_code(ntapi_response_error(refused)), NTAPI_CODE_INVALID_REQUEST);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(refused)), "at another origin"));
    ntapi_response_free(refused);
    ntapi_args_free(args);
    next = ntapi_response_next_page(page, args);
    refused = perform(client, "", next);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(refused)), "the args are freed"));
    ntapi_response_free(refused);
    ntapi_response_free(page);
}

static void a_retained_response_outlives_everything(void **state) {
    (void)state;
    ntapi_client *fresh = client_of("fault");
    ntapi_response *response = perform(fresh, "ok", NULL);
    ntapi_response *other = ntapi_response_retain(response);
    const ntapi_json *json = ntapi_response_json(other);
    ntapi_response_free(response);
    ntapi_client_free(fresh);
    assert_int_equal(ntapi_response_status(other), 200);
    assert_true(ntapi_json_bool(json, "ok", false));
    assert_int_equal(ntapi_request_get_state(ntapi_response_request(other)), NTAPI_REQUEST_STATE_COMPLETED);
    ntapi_response_free(other);
    ntapi_response_free(NULL);
    assert_null(ntapi_response_retain(NULL));
}

static void header_bytes_are_those_received(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "header/latin-1", NULL);
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Latin"), "caf\xe9");
    assert_string_equal(ntapi_headers_at(ntapi_response_headers(response), 0, NULL), "caf\xe9");
    ntapi_response_free(response);
    response = perform(client, "header/utf-8", NULL);
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Utf8"), "caf\xc3\xa9");
    ntapi_response_free(response);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_bytes_are_those_received),
        cmocka_unit_test(a_good_response_has_everything),
        cmocka_unit_test(headers_keep_repeats_and_order),
        cmocka_unit_test(its_url_may_be_shown_without_secrets),
        cmocka_unit_test(text_before_the_json_is_kept_apart),
        cmocka_unit_test(bytes_may_be_anything),
        cmocka_unit_test(an_empty_body_is_not_null),
        cmocka_unit_test(redirects_change_the_url),
        cmocka_unit_test(metrics_make_sense),
        cmocka_unit_test(bodies_are_decompressed),
        cmocka_unit_test(a_retained_response_outlives_everything),
        cmocka_unit_test(links_lead_to_other_pages),
        cmocka_unit_test(pages_follow_each_other),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
