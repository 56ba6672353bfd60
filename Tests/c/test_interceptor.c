/* Interceptors: what they do to requests and responses, in which order, and where. */
#include "files.h"
#include "interceptors.h"

#include "ntapi_python.h"

#include <inttypes.h>

static ntapi_client *client;
static ntapi_stub *stub;
static interceptor first, second, third, fourth;
static interceptor *const all[] = {&first, &second, &third, &fourth};

static int open_client(void **state) {
    (void)state;
    client = ntapi_client_create(NULL, "https://api.test");
    stub = ntapi_stub_create();
    check_ok(ntapi_client_set_stub(client, stub));
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    for (size_t index = 0; index < 4; index++)
        interceptor_init(all[index]);
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    for (size_t index = 0; index < 4; index++)
        interceptor_finish(all[index]);
    return 0;
}

/** The stub answers everything with 200. */
static void stub_everything(void) {
    ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, NULL));
}

/** Adds an answer of the stub for a path: a status, a body, and perhaps a header. */
static void stub_answers(ntapi_stub_rule *rule, int status, const char *body, const char *name, const char *value) {
    ntapi_stub_answer answer = {.size = sizeof answer, .status = status, .body = body, .content_type = "text/plain"};
    char line[200];
    const char *headers[] = {line, NULL};
    if (name != NULL) {
        snprintf(line, sizeof line, "%s: %s", name, value);
        answer.headers = headers;
    }
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
}

static ntapi_args *raw(void) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    return args;
}

static void check_data(const ntapi_response *response, int status, const char *data) {
    size_t length = 0;
    const char *bytes = ntapi_response_data(response, &length);
    assert_int_equal(ntapi_response_status(response), status);
    assert_int_equal(length, strlen(data));
    assert_memory_equal(bytes, data, length);
}

/** Checks a header of a request that the stub got. NULL means that there is none. */
static void check_sent(size_t index, const char *name, const char *expected) {
    const ntapi_stub_request *request = ntapi_stub_get_request(stub, index);
    assert_non_null(request);
    const char *value = ntapi_headers_get(request->headers, name);
    if (expected == NULL)
        assert_null(value);
    else
        assert_string_equal(value, expected);
}

/* ---- Requests that are changed */

/** A checksum (FNV-1a) in place of a real signature. */
static uint64_t add_to_sum(uint64_t sum, const char *bytes, size_t length) {
    for (size_t index = 0; index < length; index++)
        sum = (sum ^ (unsigned char)bytes[index]) * UINT64_C(1099511628211);
    return sum;
}

static void signature(char text[static 17], const char *method, const char *url, const char *body, size_t length) {
    uint64_t sum = UINT64_C(14695981039346656037);
    sum = add_to_sum(sum, method, strlen(method));
    sum = add_to_sum(sum, url, strlen(url));
    sum = add_to_sum(sum, body, length);
    snprintf(text, 17, "%016" PRIx64, sum);
}

static void replace_body(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    size_t length = 0;
    char *body = ntapi_http_request_body(request, &length);
    expect(self, length == 5 && memcmp(body, "hello", 5) == 0);
    ntapi_text_free(body);
    expect(self, ntapi_http_request_set_body(request, "good morning", 12) == NTAPI_STATUS_OK);
    expect(self, ntapi_http_request_set_method(request, "PUT") == NTAPI_STATUS_OK);
    expect(self, ntapi_interception_proceed(interception) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void sign(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    size_t length = 0;
    char *method = ntapi_http_request_method(request), *url = ntapi_http_request_url(request);
    char *body = ntapi_http_request_body(request, &length);
    char text[17];
    signature(text, method, url, body, length);
    ntapi_text_free(method);
    ntapi_text_free(url);
    ntapi_text_free(body);
    expect(self, ntapi_http_request_set_secret_header(request, "X-Signature", text) == NTAPI_STATUS_OK);
    expect(self, ntapi_interception_proceed(interception) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void a_signer_signs_what_others_made_of_the_request(void **state) {
    (void)state;
    stub_everything();
    first.request = replace_body;
    second.request = sign;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &second);
    ntapi_args *args = raw();
    check_ok(ntapi_args_data(args, "hello", 5, "text/plain"));
    ntapi_response *response = perform(client, "notes", args);
    assert_null(ntapi_response_error(response));
    ntapi_response_free(response);
    const ntapi_stub_request *request = ntapi_stub_get_request(stub, 0);
    assert_string_equal(request->method, "PUT");
    assert_string_equal(request->body, "good morning");
    char expected[17];
    signature(expected, "PUT", "https://api.test/notes", "good morning", 12);
    check_sent(0, "X-Signature", expected);
    assert_int_equal(first.responses + second.responses, 0);
}

static void keep_changes(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    expect(self, ntapi_http_request_set_header(request, "X-Changed", "yes") == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void what_is_freed_unanswered_proceeds_with_its_changes(void **state) {
    (void)state;
    stub_everything();
    first.request = send_on;
    first.response = forget;
    second.request = keep_changes;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &second);
    ntapi_response *response = perform(client, "notes", raw());
    check_data(response, 200, "");
    ntapi_response_free(response);
    check_sent(0, "X-Changed", "yes");
    assert_int_equal(first.responses, 1);
    assert_int_equal(second.responses, 0);
}

/* ---- Answers of their own */

static void respond(interceptor *self, ntapi_interception *interception) {
    const char *const headers[] = {"X-Source: fixture", NULL};
    expect(self, ntapi_interception_respond(interception, 203, headers, "from here", 9) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void note_answer(interceptor *self, ntapi_interception *interception) {
    size_t length = 0;
    const ntapi_response *response = ntapi_interception_response(interception);
    const char *body = ntapi_response_data(response, &length), *name;
    const ntapi_headers *headers = ntapi_response_headers(response);
    const char *source = ntapi_headers_get(headers, "x-SOURCE");
    const ntapi_error *error = ntapi_response_error(response);
    note(self, "%d %s %.*s %s;", ntapi_response_status(response), source != NULL ? source : "-", (int)length, body,
         error != NULL ? ntapi_error_message(error) : "-");
    for (size_t index = 0; ntapi_headers_at(headers, index, &name) != NULL; index++)
        expect(self, name != NULL);
    expect(self, ntapi_headers_at(headers, 99, &name) == NULL && name == NULL);
    /* Other parts of a response that is not complete are empty. */
    expect(self, ntapi_response_url(response) == NULL && ntapi_response_elapsed(response) == 0);
    expect(self, ntapi_response_get_source(response) == NTAPI_SOURCE_NONE);
    expect(self, ntapi_request_identifier(ntapi_response_request(response)) ==
                     ntapi_request_identifier(ntapi_interception_request(interception)));
    ntapi_interception_free(interception);
}

static void an_answer_of_its_own_needs_no_network(void **state) {
    (void)state;
    stub_everything();
    first.request = send_on;
    first.response = note_answer;
    second.request = respond;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &second);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &third);
    ntapi_response *response = perform(client, "notes", raw());
    assert_null(ntapi_response_error(response));
    check_data(response, 203, "from here");
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Source"), "fixture");
    ntapi_response_free(response);
    assert_int_equal(ntapi_stub_request_count(stub), 0);
    assert_string_equal(first.log, "203 fixture from here -;");
    assert_int_equal(third.requests, 0);
}

static void append_data(void *received, const char *bytes, size_t length) {
    strncat(received, bytes, length);
}

static void the_body_of_its_own_answer_goes_where_it_is_wanted(void **state) {
    (void)state;
    static const ntapi_interceptor_scope scopes[] = {NTAPI_INTERCEPTOR_SCOPE_CALL, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT};
    for (size_t index = 0; index < 2; index++) {
        interceptor *with_file = all[index], *with_handler = all[index + 2];
        with_file->request = with_handler->request = respond;
        ntapi_args *args = raw();
        add_to_args(args, scopes[index], with_file);
        char folder[64], path[80];
        make_folder(folder);
        snprintf(path, sizeof path, "%s/file", folder);
        check_ok(ntapi_args_download(args, path));
        ntapi_response *response = perform(client, "notes", args);
        assert_null(ntapi_response_error(response));
        assert_string_equal(ntapi_response_file(response), path);
        ntapi_response_free(response);
        size_t length = 0;
        char *text = content(folder, "file", &length);
        assert_string_equal(text, "from here");
        free(text);
        remove_folder(folder, "file");

        args = raw();
        add_to_args(args, scopes[index], with_handler);
        ntapi_request *request = ntapi_client_create_request(client, "notes", args);
        ntapi_args_free(args);
        char received[32] = "";
        check_ok(ntapi_request_set_data_handler(request, append_data, received, NULL));
        check_ok(ntapi_request_resume(request));
        check_ok(ntapi_request_wait(request, PATIENCE));
        response = ntapi_request_response(request);
        ntapi_request_free(request);
        check_data(response, 203, "");
        ntapi_response_free(response);
        assert_string_equal(received, "from here");
    }
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

static void an_answer_takes_the_place_of_the_response(void **state) {
    (void)state;
    stub_everything();
    first.request = send_on;
    first.response = respond;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    ntapi_response *response = perform(client, "notes", raw());
    check_data(response, 203, "from here");
    ntapi_response_free(response);
    assert_int_equal(ntapi_stub_request_count(stub), 1);
}

static ntapi_response *kept_answer;

/** Reads the JSON of a response in every way, and keeps the response. */
static void read_answer(interceptor *self, ntapi_interception *interception) {
    struct counted {
        int n;
    } counted = {0};
    static const ntapi_field fields[] = {NTAPI_FIELD_INT(struct counted, n, "n", NTAPI_FIELD_FLAG_REQUIRED),
                                         NTAPI_FIELD_END};
    const ntapi_response *answer = ntapi_interception_response(interception);
    expect(self, ntapi_json_int(ntapi_response_json(answer), "n", 0) == 7);
    expect(self, ntapi_response_json(answer) == ntapi_response_json(answer));
    ntapi_decoded *decoded = ntapi_response_decode(answer, fields, &counted, sizeof counted, NULL);
    expect(self, decoded != NULL && counted.n == 7);
    ntapi_decoded_free(decoded);
    kept_answer = ntapi_response_retain(answer);
    ntapi_interception_free(interception);
    expect(self, ntapi_response_status(answer) == 0); /* the response was only borrowed */
}

static void an_answer_on_its_way_is_read_like_a_response(void **state) {
    (void)state;
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, "notes");
    stub_answers(rule, 404, "{\"n\": 7}", "ETag", "x");
    ntapi_stub_rule_free(rule);
    first.request = send_on;
    first.response = read_answer;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    check_error(perform(client, "notes", raw()), NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    check_data(kept_answer, 404, "{\"n\": 7}");
    assert_null(ntapi_response_error(kept_answer));
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(kept_answer), "etag"), "x");
    ntapi_response_free(kept_answer);
}

static void fail_with_error(interceptor *self, ntapi_interception *interception) {
    ntapi_error *error = self->name != NULL
                             ? ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, self->name, "the circuit is open", false)
                             : NULL;
    expect(self, ntapi_interception_fail(interception, error) == NTAPI_STATUS_OK);
    ntapi_error_free(error);
    ntapi_interception_free(interception);
}

static void one_that_fails_gives_its_error(void **state) {
    (void)state;
    stub_everything();
    first.request = send_on;
    first.response = note_answer;
    second.request = fail_with_error;
    second.name = "circuit open";
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &second);
    check_error_name(perform(client, "notes", raw()), NTAPI_ERROR_DOMAIN_SERVICE, "circuit open");
    assert_int_equal(ntapi_stub_request_count(stub), 0);
    assert_string_equal(first.log, "0 -  the circuit is open;");
}

/** Fails the first `times` attempts with a network error. */
static void fail_at_first(interceptor *self, ntapi_interception *interception) {
    if (ntapi_interception_passage(interception)->number <= self->times) {
        bool is_retryable = strcmp(self->name, "passing") == 0;
        ntapi_error *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_NETWORK, self->name, NULL, is_retryable);
        expect(self, ntapi_interception_fail(interception, error) == NTAPI_STATUS_OK);
        ntapi_error_free(error);
    }
    ntapi_interception_free(interception);
}

static ntapi_args *retried(void) {
    ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    policy.base = policy.cap = 0;
    ntapi_args *args = raw();
    check_ok(ntapi_args_retry(args, &policy));
    return args;
}

static void an_error_says_whether_the_policy_may_retry(void **state) {
    (void)state;
    stub_everything();
    first.request = fail_at_first;
    first.times = 2;
    first.name = "passing";
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    ntapi_response *response = perform(client, "notes", retried());
    assert_null(ntapi_response_error(response));
    assert_int_equal(metric_of(response, "retries"), 2);
    ntapi_response_free(response);
    assert_int_equal(ntapi_stub_request_count(stub), 1);
    first.name = "lasting";
    response = perform(client, "notes", retried());
    assert_int_equal(metric_of(response, "retries"), 0);
    check_error_name(response, NTAPI_ERROR_DOMAIN_NETWORK, "lasting");
    assert_int_equal(ntapi_stub_request_count(stub), 1);
}

static void a_response_becomes_an_error(void **state) {
    (void)state;
    stub_everything();
    first.request = send_on;
    first.response = fail_with_error;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    check_error(perform(client, "notes", raw()), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_GENERIC);
    assert_int_equal(ntapi_stub_request_count(stub), 1);
}

static void try_wrong_answers(interceptor *self, ntapi_interception *interception) {
    const char *const headers[] = {"X-Bad: a\nb", NULL}, *const nothing[] = {"no colon", NULL};
    expect(self, ntapi_interception_respond(interception, 199, NULL, NULL, 0) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_respond(interception, 1000, NULL, NULL, 0) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_respond(interception, 200, NULL, NULL, 1) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_respond(interception, 200, headers, NULL, 0) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_respond(interception, 200, nothing, NULL, 0) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_proceed(NULL) == NTAPI_STATUS_INVALID_ARGUMENT);
    expect(self, ntapi_interception_send(interception) == NTAPI_STATUS_OK);
    expect(self, ntapi_interception_send(interception) == NTAPI_STATUS_INVALID_STATE);
    expect(self, ntapi_interception_proceed(interception) == NTAPI_STATUS_INVALID_STATE);
    expect(self, ntapi_interception_respond(interception, 200, NULL, NULL, 0) == NTAPI_STATUS_INVALID_STATE);
    expect(self, ntapi_interception_fail(interception, NULL) == NTAPI_STATUS_INVALID_STATE);
    char *method = ntapi_http_request_method(ntapi_interception_http_request(interception));
    expect(self, method != NULL && strcmp(method, "GET") == 0);
    ntapi_text_free(method);
    ntapi_interception_free(interception);
    expect(self, ntapi_interception_proceed(interception) == NTAPI_STATUS_INVALID_ARGUMENT);
}

static void only_the_first_answer_counts(void **state) {
    (void)state;
    stub_everything();
    first.request = try_wrong_answers;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    ntapi_response *response = perform(client, "notes", raw());
    check_data(response, 200, "");
    ntapi_response_free(response);
    assert_int_equal(first.responses, 1);
}

/* ---- Sent again */

static void send_while_unavailable(interceptor *self, ntapi_interception *interception) {
    note(self, "%d ", ntapi_response_status(ntapi_interception_response(interception)));
    char count[16];
    snprintf(count, sizeof count, "%d", ++self->times);
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    expect(self, ntapi_http_request_set_header(request, "X-Again", count) == NTAPI_STATUS_OK);
    expect(self, (ntapi_response_status(ntapi_interception_response(interception)) == 503
                      ? ntapi_interception_send
                      : ntapi_interception_proceed)(interception) == 0);
    ntapi_interception_free(interception);
}

static void one_sends_again_as_often_as_it_likes(void **state) {
    (void)state;
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "/notes");
    stub_answers(rule, 503, "", NULL, NULL);
    stub_answers(rule, 503, "", NULL, NULL);
    stub_answers(rule, 503, "", NULL, NULL);
    stub_answers(rule, 200, "at last", NULL, NULL);
    ntapi_stub_rule_free(rule);
    first.request = send_on;
    first.response = send_while_unavailable;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    ntapi_response *response = perform(client, "notes", raw());
    check_data(response, 200, "at last");
    ntapi_response_free(response);
    assert_string_equal(first.log, "503 503 503 200 ");
    assert_int_equal(first.requests, 1);
    check_sent(0, "X-Again", NULL);
    check_sent(3, "X-Again", "3");
}

static size_t sent;

static ptrdiff_t read_hello(void *user_data, void *buffer, size_t capacity) {
    (void)user_data;
    if (sent == 5 || capacity < 5)
        return 0;
    memcpy(buffer, "hello", 5);
    sent = 5;
    return 5;
}

static bool rewind_hello(void *user_data) {
    (void)user_data;
    sent = 0;
    return true;
}

static void send_once_more(interceptor *self, ntapi_interception *interception) {
    const ntapi_error *error = ntapi_response_error(ntapi_interception_response(interception));
    note(self, "%s;", error != NULL ? ntapi_error_message(error) : "-");
    if (self->times++ == 0)
        send_on(self, interception);
    else
        ntapi_interception_free(interception);
}

static ntapi_response *stream_twice(ntapi_rewind_fn rewind) {
    sent = 0;
    first.request = send_on;
    first.response = send_once_more;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    ntapi_args *args = raw();
    check_ok(ntapi_args_stream(args, read_hello, rewind, 5, NULL, NULL, NULL));
    return perform(client, "notes", args);
}

static void a_stream_is_rewound_before_it_is_sent_again(void **state) {
    (void)state;
    stub_everything();
    ntapi_response *response = stream_twice(rewind_hello);
    check_data(response, 200, "");
    ntapi_response_free(response);
    assert_string_equal(first.log, "-;-;");
    const ntapi_stub_request *again = ntapi_stub_get_request(stub, 1);
    assert_string_equal(again->body, "hello");
}

static void a_stream_that_cannot_be_rewound_is_answered_with_an_error(void **state) {
    (void)state;
    stub_everything();
    check_error(stream_twice(NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    assert_int_equal(ntapi_stub_request_count(stub), 1);
    assert_int_equal(first.responses, 2);
    assert_non_null(strstr(first.log, "-;an interceptor sends the request again, and the body is a stream"));
}

/* ---- Order and scope */

static void append_name(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    ntapi_headers *headers = ntapi_http_request_headers(request);
    const char *before = ntapi_headers_get(headers, "X-Order");
    char order[64];
    snprintf(order, sizeof order, "%s%s", before != NULL ? before : "", self->name);
    ntapi_headers_free(headers);
    expect(self, ntapi_http_request_set_header(request, "X-Order", order) == NTAPI_STATUS_OK);
    /* An interceptor that is nested in itself would see responses of several passages. */
    if (self->times > 0)
        ntapi_interception_free(interception);
    else
        send_on(self, interception);
}

static void note_name(interceptor *self, ntapi_interception *interception) {
    note(&first, "%s", self->name);
    ntapi_interception_free(interception);
}

static void those_of_the_configuration_are_outside_and_those_of_the_args_inside(void **state) {
    (void)state;
    stub_everything();
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t index = 0; index < 4; index++) {
        all[index]->request = append_name;
        all[index]->response = note_name;
        all[index]->name = names[index];
    }
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    add_to_configuration(configuration, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    ntapi_client *session = ntapi_client_create_with_configuration(NULL, "https://api.test", configuration);
    ntapi_configuration_free(configuration);
    check_ok(ntapi_client_set_stub(session, stub));
    add_to_client(session, NTAPI_INTERCEPTOR_SCOPE_CALL, &second);
    add_to_client(session, NTAPI_INTERCEPTOR_SCOPE_CALL, &third);
    ntapi_args *args = raw();
    add_to_args(args, NTAPI_INTERCEPTOR_SCOPE_CALL, &fourth);
    ntapi_response_free(perform(session, "notes", args));
    check_sent(0, "X-Order", "abcd");
    assert_string_equal(first.log, "dcba");
    check_ok(ntapi_client_set_interceptors(session, NULL));
    ntapi_response_free(perform(session, "notes", raw()));
    check_sent(1, "X-Order", "a");
    ntapi_client_free(session);
}

static void those_of_a_class_are_outermost_and_inherited(void **state) {
    (void)state;
    stub_everything();
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t index = 0; index < 4; index++) {
        all[index]->request = append_name;
        all[index]->response = note_name;
        all[index]->name = names[index];
    }
    ntapi_class *parent = ntapi_class_create("Parent", NULL);
    ntapi_class *child = ntapi_class_create("Child", parent);
    ntapi_client *of_parent = ntapi_client_create(parent, "https://api.test");
    ntapi_client *of_child = ntapi_client_create(child, "https://api.test");
    check_ok(ntapi_client_set_stub(of_parent, stub));
    check_ok(ntapi_client_set_stub(of_child, stub));
    add_to_client(of_child, NTAPI_INTERCEPTOR_SCOPE_CALL, &fourth);
    add_to_class(child, NTAPI_INTERCEPTOR_SCOPE_CALL, &second);
    add_to_class(child, NTAPI_INTERCEPTOR_SCOPE_CALL, &third);
    /* This also affects clients that already exist. */
    add_to_class(parent, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    ntapi_class_free(parent);
    ntapi_class_free(child);
    ntapi_response_free(perform(of_child, "notes", raw()));
    check_sent(0, "X-Order", "abcd");
    assert_string_equal(first.log, "dcba");
    ntapi_response_free(perform(of_parent, "notes", raw()));
    check_sent(1, "X-Order", "a");
    ntapi_client_free(of_parent);
    ntapi_client_free(of_child);
}

static void note_passage(interceptor *self, ntapi_interception *interception) {
    note(self, "%d %s %s;", ntapi_interception_passage(interception)->number,
         ntapi_interception_passage(interception)->reason,
         ntapi_interception_passage(interception)->is_own_origin ? "own" : "other");
    expect(self, ntapi_request_identifier(ntapi_interception_request(interception)) != 0);
    ntapi_interception_free(interception);
}

static void a_call_passes_once_and_each_attempt_with_its_reason(void **state) {
    (void)state;
    ntapi_stub_rule *here = ntapi_stub_on(stub, "GET", "/notes"), *there = ntapi_stub_on(stub, "GET", "/moved");
    stub_answers(here, 307, "", "Location", "https://elsewhere.test/moved");
    stub_answers(there, 503, "", NULL, NULL);
    stub_answers(there, 200, "found", NULL, NULL);
    ntapi_stub_rule_free(here);
    ntapi_stub_rule_free(there);
    first.request = second.request = note_passage;
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_CALL, &first);
    add_to_client(client, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &second);
    ntapi_response *response = perform(client, "notes", retried());
    check_data(response, 200, "found");
    ntapi_response_free(response);
    assert_string_equal(first.log, "1 first own;");
    assert_string_equal(second.log, "1 first own;2 redirect other;3 retry other;");
}

static void leave(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    expect(self, ntapi_http_request_set_secret_header(request, "X-Mine", "secret") == NTAPI_STATUS_OK);
    expect(self, ntapi_http_request_set_url(request, "https://elsewhere.test/moved") == NTAPI_STATUS_OK);
    ntapi_headers *headers = ntapi_http_request_headers(request);
    expect(self, ntapi_headers_get(headers, "Authorization") == NULL);
    ntapi_headers_free(headers);
    if (self->times)
        expect(self, ntapi_http_request_set_secret_header(request, "Authorization", "its own") == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void leave_as(ntapi_interceptor_scope scope) {
    ntapi_stub_rule_free(ntapi_stub_on(stub, "GET", "https://elsewhere.test/moved"));
    ntapi_stub_rule_free(ntapi_stub_on(stub, "POST", "https://elsewhere.test/moved"));
    first.request = leave;
    add_to_client(client, scope, &first);
    for (int index = 0; index < 2; index++) {
        first.times = index;
        ntapi_args *args = raw();
        ntapi_args_bearer(args, "secret");
        ntapi_args_header(args, "X-Api-Key", "secret");
        ntapi_args_header(args, "Cookie", "a=secret");
        ntapi_response_free(perform(client, "notes", args));
        check_sent((size_t)index, "Authorization", first.times ? "its own" : NULL);
        check_sent((size_t)index, "X-Api-Key", NULL);
        check_sent((size_t)index, "X-Mine", NULL);
        check_sent((size_t)index, "Cookie", NULL);
    }
    ntapi_args *args = raw();
    ntapi_args_form(args, "password", "secret");
    check_ok(ntapi_args_mark_secret(args));
    ntapi_response *response = perform(client, "notes", args);
    assert_int_equal(ntapi_error_code(ntapi_response_error(response)), NTAPI_CODE_INVALID_REQUEST);
    ntapi_response_free(response);
    assert_int_equal(ntapi_stub_request_count(stub), 2);
}

static void what_belongs_to_an_origin_stays_there(void **state) {
    (void)state;
    leave_as(NTAPI_INTERCEPTOR_SCOPE_CALL);
}

static void in_an_attempt_too(void **state) {
    (void)state;
    leave_as(NTAPI_INTERCEPTOR_SCOPE_ATTEMPT);
}

static void go_elsewhere(interceptor *self, ntapi_interception *interception) {
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    expect(self, ntapi_http_request_set_url(request, "https://api.test/tenant/2") == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void what_was_made_another_request_is_not_cached(void **state) {
    (void)state;
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    ntapi_client *session = ntapi_client_create_with_configuration(NULL, "https://api.test", configuration);
    ntapi_configuration_free(configuration);
    check_ok(ntapi_client_set_stub(session, stub));
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", NULL);
    stub_answers(rule, 200, "of tenant 2", "Cache-Control", "max-age=1000");
    stub_answers(rule, 200, "of tenant 1", "Cache-Control", "max-age=1000");
    ntapi_stub_rule_free(rule);
    first.request = go_elsewhere;
    ntapi_args *args = raw();
    add_to_args(args, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, &first);
    static const char *const expected[] = {"of tenant 2", "of tenant 1", "of tenant 1"};
    for (int index = 0; index < 3; index++) {
        ntapi_response *response = perform(session, "tenant/1", index == 0 ? args : raw());
        check_data(response, 200, expected[index]);
        assert_int_equal(ntapi_response_get_source(response) == NTAPI_SOURCE_CACHE, index == 2);
        ntapi_response_free(response);
    }
    ntapi_client_free(session);
}

/* ---- Objects */

static void a_registration_that_fails_destroys_its_data(void **state) {
    (void)state;
    first.added = 2;
    ntapi_interceptor_free(
        ntapi_interceptor_create((ntapi_interceptor_scope)2, interceptor_intercept, NULL, &first, interceptor_destroy));
    ntapi_interceptor_free(
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, NULL, NULL, &first, interceptor_destroy));
    assert_int_equal(first.destroys, 2);
    ntapi_args *args = ntapi_args_create();
    ntapi_interceptor *interceptor =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, interceptor_intercept, NULL, NULL, NULL);
    check_invalid(ntapi_client_add_interceptor(NULL, interceptor));
    check_invalid(ntapi_client_add_interceptor(client, NULL));
    check_invalid(ntapi_client_remove_interceptor(client, NULL));
    check_invalid(ntapi_configuration_add_interceptor(NULL, interceptor));
    check_too_late(ntapi_client_remove_interceptor(client, interceptor));
    check_too_late(ntapi_args_remove_interceptor(args, interceptor));
    check_ok(ntapi_args_interceptor(args, NULL));
    assert_int_equal(ntapi_args_count(args), 0);
    ntapi_interceptor_free(interceptor);
    check_invalid(ntapi_client_add_interceptor(client, interceptor));
    ntapi_args_free(args);
}

/** An interceptor is in a class, a configuration, a client and args at once, and is removed from each. */
static void an_interceptor_is_added_anywhere_and_removed_again(void **state) {
    (void)state;
    first.name = "a";
    first.added = 1;
    first.request = append_name;
    first.times = 1;
    ntapi_interceptor *interceptor = ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, interceptor_intercept,
                                                              interceptor_end, &first, interceptor_destroy);
    ntapi_class *class_handle = ntapi_class_create("Notes", NULL);
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    check_ok(ntapi_class_add_interceptor(class_handle, interceptor));
    check_ok(ntapi_configuration_add_interceptor(configuration, interceptor));
    stub_everything();
    ntapi_client *all = ntapi_client_create_with_configuration(class_handle, "https://api.test", configuration);
    check_ok(ntapi_client_set_stub(all, stub));
    check_ok(ntapi_client_add_interceptor(all, interceptor));
    check_ok(ntapi_client_add_interceptor(all, interceptor));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_interceptor(args, interceptor));
    ntapi_args *with = raw();
    check_ok(ntapi_args_append(with, args));
    ntapi_response_free(perform(all, "notes", with));
    check_sent(0, "X-Order", "aaaaa");
    check_ok(ntapi_args_remove_interceptor(args, interceptor));
    assert_int_equal(ntapi_args_count(args), 0);
    check_ok(ntapi_client_remove_interceptor(all, interceptor));
    ntapi_response_free(perform(all, "notes", raw()));
    check_sent(1, "X-Order", "aaa");
    check_ok(ntapi_client_remove_interceptor(all, interceptor));
    check_too_late(ntapi_client_remove_interceptor(all, interceptor));
    check_ok(ntapi_class_remove_interceptor(class_handle, interceptor));
    check_too_late(ntapi_class_remove_interceptor(class_handle, interceptor));
    /* The client has its own copy of the configuration. */
    check_ok(ntapi_configuration_remove_interceptor(configuration, interceptor));
    check_too_late(ntapi_configuration_remove_interceptor(configuration, interceptor));
    ntapi_response_free(perform(all, "notes", raw()));
    check_sent(2, "X-Order", "a");
    ntapi_interceptor_free(interceptor);
    assert_int_equal(first.destroys, 0);
    /* An interceptor without a function, or with a wrong scope, refuses all requests. It can be removed, too. */
    ntapi_interceptor *refusing[] = {
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, NULL, NULL, NULL, NULL),
        ntapi_interceptor_create((ntapi_interceptor_scope)77, NULL, NULL, NULL, NULL),
    };
    for (int i = 0; i < 2; i++) {
        check_ok(ntapi_client_add_interceptor(all, refusing[i]));
        check_error(perform(all, "notes", raw()), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        check_ok(ntapi_client_remove_interceptor(all, refusing[i]));
        check_too_late(ntapi_client_remove_interceptor(all, refusing[i]));
        ntapi_interceptor_free(refusing[i]);
    }
    ntapi_response_free(perform(all, "notes", raw()));
    check_sent(3, "X-Order", "a");
    ntapi_client_free(all);
    ntapi_args_free(args);
    ntapi_configuration_free(configuration);
    ntapi_class_free(class_handle);
}

#define on_stub(test) cmocka_unit_test_setup_teardown(test, open_client, close_client)

int main(void) {
    const struct CMUnitTest tests[] = {
        on_stub(a_signer_signs_what_others_made_of_the_request),
        on_stub(what_is_freed_unanswered_proceeds_with_its_changes),
        on_stub(an_answer_of_its_own_needs_no_network),
        on_stub(the_body_of_its_own_answer_goes_where_it_is_wanted),
        on_stub(an_answer_on_its_way_is_read_like_a_response),
        on_stub(an_answer_takes_the_place_of_the_response),
        on_stub(one_that_fails_gives_its_error),
        on_stub(an_error_says_whether_the_policy_may_retry),
        on_stub(a_response_becomes_an_error),
        on_stub(only_the_first_answer_counts),
        on_stub(one_sends_again_as_often_as_it_likes),
        on_stub(a_stream_is_rewound_before_it_is_sent_again),
        on_stub(a_stream_that_cannot_be_rewound_is_answered_with_an_error),
        on_stub(those_of_the_configuration_are_outside_and_those_of_the_args_inside),
        on_stub(those_of_a_class_are_outermost_and_inherited),
        on_stub(a_call_passes_once_and_each_attempt_with_its_reason),
        on_stub(what_belongs_to_an_origin_stays_there),
        on_stub(in_an_attempt_too),
        on_stub(what_was_made_another_request_is_not_cached),
        on_stub(a_registration_that_fails_destroys_its_data),
        on_stub(an_interceptor_is_added_anywhere_and_removed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
