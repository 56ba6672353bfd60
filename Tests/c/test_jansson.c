/* ntapi_jansson.h: a program that uses jansson, and no other JSON functions of the library. */
#include "support.h"

#include "ntapi_jansson.h"

struct test {
    ntapi_stub *stub;
    ntapi_client *client;
};

static int set_up(void **state) {
    static struct test test;
    test.stub = ntapi_stub_create();
    test.client = ntapi_client_create(NULL, "http://api.test");
    check_ok(ntapi_client_set_stub(test.client, test.stub));
    check_ok(ntapi_client_set_log_flags(test.client, NTAPI_LOG_NONE));
    *state = &test;
    return 0;
}

static int tear_down(void **state) {
    struct test *test = *state;
    ntapi_client_close(test->client);
    assert_int_equal(ntapi_client_drain(test->client, PATIENCE), 0);
    ntapi_client_free(test->client);
    ntapi_stub_free(test->stub);
    return 0;
}

static void answer_text(ntapi_stub *stub, const char *path, int status, const char *text) {
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, path);
    ntapi_stub_answer answer = {
        .size = sizeof answer, .status = status, .body = text, .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
}

/** Fails unless the last request that the stub got had this body. */
static void check_sent(const ntapi_stub *stub, const char *expected) {
    const ntapi_stub_request *request = ntapi_stub_get_request(stub, ntapi_stub_request_count(stub) - 1);
    assert_int_equal(request->length, strlen(expected));
    assert_memory_equal(request->body, expected, request->length);
}

/** A new array, nested `levels` deep. */
static json_t *nested(int levels) {
    json_t *tree = json_array();
    for (int i = 1; i < levels; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, tree);
        tree = outer;
    }
    return tree;
}

static void a_tree_is_sent_and_another_is_read(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/orders", 200, "{\"id\":\"o1\",\"days\":[1,2.5,null,true],\"big\":9223372036854775808}");
    json_t *order = json_pack("{s:s, s:i, s:[f,b,n]}", "city", "Z\xc3\xbcrich", "days", 5, "more", 0.1, 1);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_jansson(args, order));
    json_object_clear(order); /* it was copied */
    json_decref(order);
    ntapi_response *response = perform(test->client, "orders", args);
    check_sent(test->stub, "{\"city\":\"Z\xc3\xbcrich\",\"days\":5,\"more\":[0.1,true,null]}");
    json_t *tree = ntapi_response_jansson(response);
    assert_string_equal(json_string_value(json_object_get(tree, "id")), "o1");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(tree, "days"), 0)), 1);
    assert_true(json_real_value(json_array_get(json_object_get(tree, "days"), 1)) == 2.5);
    assert_true(json_is_real(json_object_get(tree, "big")));
    assert_ptr_equal(ntapi_response_jansson(response), tree);
    ntapi_response_free(response);
}

static void null_suppresses_and_a_null_value_is_sent(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/", 200, "null");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_jansson(args, NULL));
    assert_int_equal(ntapi_args_count(args), 0);
    check_ok(ntapi_args_jansson(args, json_null()));
    ntapi_response *response = perform(test->client, "", args);
    check_sent(test->stub, "null");
    assert_true(json_is_null(ntapi_response_jansson(response)));
    ntapi_response_free(response);
}

static void where_there_is_no_json_there_is_no_tree(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/empty", 200, "");
    answer_text(test->stub, "/text", 200, "hello");
    answer_text(test->stub, "/raw", 200, "{\"a\":1}");
    answer_text(test->stub, "/missing", 404, "{\"a\":1}");
    ntapi_args *raw = ntapi_args_create();
    check_ok(ntapi_args_option(raw, NTAPI_OPTION_RAW_DATA, ""));
    struct {
        const char *command;
        ntapi_args *args;
    } requests[] = {{"empty", NULL}, {"text", NULL}, {"raw", raw}, {"missing", NULL}};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        ntapi_response *response = perform(test->client, requests[i].command, requests[i].args);
        assert_int_equal(ntapi_response_jansson(response) == NULL, ntapi_response_json(response) == NULL);
        if (i < 3)
            assert_null(ntapi_response_jansson(response));
        ntapi_response_free(response);
    }
}

static void a_part_may_be_kept(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/", 200, "{\"list\":[{\"name\":\"London\"}]}");
    ntapi_response *response = perform(test->client, "", NULL);
    ntapi_response *second = ntapi_response_retain(response);
    json_t *tree = ntapi_response_jansson(response);
    json_t *city = json_incref(json_array_get(json_object_get(tree, "list"), 0));
    ntapi_response_free(response);
    assert_ptr_equal(ntapi_response_jansson(second), tree); /* the same with either handle of the response */
    ntapi_response_free(second);
    assert_string_equal(json_string_value(json_object_get(city, "name")), "London");
    json_decref(city);
}

enum { THREADS = 4, ROUNDS = 50, MEMBERS = 500 };

struct reading {
    const ntapi_response *response;
    pthread_barrier_t *start;
    json_t *tree;
    json_int_t sum;
};

static void *read_tree(void *argument) {
    struct reading *reading = argument;
    pthread_barrier_wait(reading->start);
    reading->tree = ntapi_response_jansson(reading->response);
    size_t index;
    json_t *number;
    json_array_foreach(reading->tree, index, number) {
        json_incref(number);
        reading->sum += json_integer_value(number);
        json_decref(number);
    }
    char *text = json_dumps(reading->tree, JSON_COMPACT);
    assert_non_null(text);
    free(text);
    return NULL;
}

static void threads_get_one_tree(void **state) {
    struct test *test = *state;
    char text[MEMBERS * 4 + 2], *end = text;
    *end++ = '[';
    for (int i = 0; i < MEMBERS; i++)
        end += sprintf(end, "%s%d", i > 0 ? "," : "", i % 100);
    strcpy(end, "]");
    answer_text(test->stub, "/", 200, text);
    for (int round = 0; round < ROUNDS; round++) {
        ntapi_response *response = perform(test->client, "", NULL);
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, THREADS);
        pthread_t threads[THREADS];
        struct reading readings[THREADS];
        for (int i = 0; i < THREADS; i++) {
            readings[i] = (struct reading){.response = response, .start = &start};
            assert_int_equal(pthread_create(&threads[i], NULL, read_tree, &readings[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_non_null(readings[i].tree);
            assert_ptr_equal(readings[i].tree, readings[0].tree);
            assert_int_equal(readings[i].sum, MEMBERS / 100 * 4950);
        }
        pthread_barrier_destroy(&start);
        ntapi_response_free(response);
    }
}

/** Parses the program's own format, in which the JSON begins after the first line. */
static ntapi_json *parse_behind_a_line(void *user_data, const void *bytes, size_t length, ntapi_error **error) {
    (void)user_data;
    const char *text = memchr(bytes, '\n', length);
    json_error_t problem;
    json_t *tree =
        text == NULL ? json_null() : json_loadb(text, length - (size_t)(text - (const char *)bytes), 0, &problem);
    if (tree == NULL)
        *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_JSON, "invalid JSON", problem.text, false);
    ntapi_json *json = ntapi_json_from_jansson(tree);
    json_decref(tree);
    return json;
}

static ntapi_error *error_of_service(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const char *code = json_string_value(json_object_get(ntapi_response_jansson(response), "cod"));
    return code != NULL ? ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, "the service says no", false) : NULL;
}

/** Keeps a part of the metrics. */
static void keep_metrics(void *user_data, ntapi_request *request, const ntapi_json *metrics) {
    (void)request;
    *(json_t **)user_data = ntapi_json_to_jansson(metrics, "transactions[0]");
}

static void hooks_work_on_trees(void **state) {
    struct test *test = *state;
    json_t *metrics = NULL;
    ntapi_hooks hooks = {.size = sizeof hooks,
                         .parse_json = parse_behind_a_line,
                         .map_service_error = error_of_service,
                         .metrics_collected = keep_metrics};
    check_ok(ntapi_client_set_hooks(test->client, &hooks, &metrics, NULL));
    answer_text(test->stub, "/good", 200, "v1\n{\"a\":[1]}");
    answer_text(test->stub, "/bad", 200, "v1\n{\"a\":[1}");
    answer_text(test->stub, "/no", 200, "v1\n{\"cod\":\"no such city\"}");

    ntapi_response *response = perform(test->client, "good", NULL);
    assert_null(ntapi_response_error(response));
    assert_int_equal(json_array_size(json_object_get(ntapi_response_jansson(response), "a")), 1);
    ntapi_response_free(response);
    assert_int_equal(json_integer_value(json_object_get(metrics, "status")), 200);
    json_decref(metrics);

    response = perform(test->client, "bad", NULL);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), "']' expected near '}'"));
    assert_null(ntapi_response_jansson(response));
    check_error(response, NTAPI_ERROR_DOMAIN_JSON, NTAPI_CODE_INVALID_JSON);
    json_decref(metrics);
    check_error_name(perform(test->client, "no", NULL), NTAPI_ERROR_DOMAIN_SERVICE, "no such city");
    json_decref(metrics);
}

static void defaults_are_trees(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/", 200, "{}");
    ntapi_defaults *defaults = ntapi_client_defaults(test->client);
    json_t *headers = json_pack("{s:s}", "X-A", "b");
    check_ok(ntapi_defaults_set_jansson(defaults, NTAPI_DEFAULT_ADDITIONAL_HEADERS, headers));
    json_decref(headers);
    ntapi_json *value = ntapi_defaults_get(defaults, NTAPI_DEFAULT_ADDITIONAL_HEADERS);
    json_t *tree = ntapi_json_to_jansson(value, NULL);
    ntapi_json_free(value);
    assert_string_equal(json_string_value(json_object_get(tree, "X-A")), "b");
    json_decref(tree);

    ntapi_response_free(perform(test->client, "", NULL));
    const ntapi_stub_request *request = ntapi_stub_get_request(test->stub, 0);
    assert_non_null(ntapi_headers_get(request->headers, "X-A"));

    check_ok(ntapi_defaults_set_jansson(defaults, NTAPI_DEFAULT_ADDITIONAL_HEADERS, NULL));
    assert_null(ntapi_defaults_get(defaults, NTAPI_DEFAULT_ADDITIONAL_HEADERS));
}

static void a_tree_without_end_is_refused(void **state) {
    struct test *test = *state;
    ntapi_args *args = ntapi_args_create();
    ntapi_defaults *defaults = ntapi_client_defaults(test->client);
    json_t *deepest = nested(2048), *deeper = nested(2049), *snake = json_array(), *tail = json_array();
    json_array_append(snake, tail);
    json_array_append(tail, snake);
    check_ok(ntapi_args_jansson(args, deepest));
    check_ok(ntapi_defaults_set_jansson(defaults, "x", deepest));
    ntapi_json *json = ntapi_json_from_jansson(deepest);
    assert_non_null(json);
    ntapi_json_free(json);
    json_t *const wrong[] = {deeper, snake};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ntapi_args_jansson(args, wrong[i]), NTAPI_STATUS_INVALID_ARGUMENT);
        assert_int_equal(ntapi_defaults_set_jansson(defaults, "x", wrong[i]), NTAPI_STATUS_INVALID_ARGUMENT);
        assert_null(ntapi_json_from_jansson(wrong[i]));
    }
    assert_int_equal(ntapi_args_count(args), 1);
    json_array_clear(tail);
    json_decref(tail);
    json_decref(snake);
    json_decref(deeper);
    json_decref(deepest);
    ntapi_args_free(args);
}

static void wrong_handles_get_an_answer(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/", 200, "{}");
    ntapi_response *response = perform(test->client, "", NULL);
    ntapi_response_free(response);
    assert_null(ntapi_response_jansson(NULL));
    assert_null(ntapi_response_jansson(response)); /* freed */
    assert_null(ntapi_response_jansson((ntapi_response *)test->client));
    assert_null(ntapi_json_to_jansson(NULL, NULL));
    assert_null(ntapi_json_from_jansson(NULL));
    json_t *tree = json_object();
    assert_int_equal(ntapi_args_jansson(NULL, tree), NTAPI_STATUS_INVALID_ARGUMENT);
    assert_int_equal(ntapi_args_jansson((ntapi_args *)test->client, tree), NTAPI_STATUS_INVALID_ARGUMENT);
    assert_int_equal(ntapi_defaults_set_jansson(NULL, "a", tree), NTAPI_STATUS_INVALID_ARGUMENT);
    ntapi_defaults *defaults = ntapi_client_defaults(test->client);
    assert_int_equal(ntapi_defaults_set_jansson(defaults, NULL, tree), NTAPI_STATUS_INVALID_ARGUMENT);
    json_decref(tree);
}

/* Errors in text from the program have jansson's messages and positions. */
static void errors_are_those_of_jansson(void **state) {
    (void)state;
    const char *texts[] = {"",
                           "[",
                           "[[\"url\",\"q\",\"London\"],]",
                           "[\n[\"url\"\n\"q\"]]",
                           "[[\"timeout\",05]]",
                           "[[\"json\",1e999]]",
                           "[[\"json\",\"\\ud800\"]]",
                           "[[\"json\",\"Z\xfcrich\"]]",
                           "[[\"json\",{\"a\\u0000b\":1}]]",
                           "[[\"json\",{'a':1}]]",
                           "[] []"};
    ntapi_args *args = ntapi_args_create();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_error_t problem;
        assert_null(json_loads(texts[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem));
        char place[64], byte[256];
        snprintf(place, sizeof place, "line %d, column %d ", problem.line, problem.column + 1);
        snprintf(byte, sizeof byte, "(byte %d): %s", problem.position, problem.text);

        ntapi_error *error = NULL;
        assert_int_equal(ntapi_args_append_json(args, texts[i], strlen(texts[i]), &error),
                         NTAPI_STATUS_INVALID_ARGUMENT);
        const char *message = ntapi_error_message(error);
        if (strstr(message, place) == NULL || strstr(message, byte) == NULL)
            fail_msg("%s: %s, not %s%s", texts[i], message, place, byte);
        ntapi_error_free(error);

        error = NULL;
        assert_null(ntapi_json_parse(texts[i], strlen(texts[i]), &error));
        message = ntapi_error_message(error);
        if (strstr(message, place) == NULL || strstr(message, byte) == NULL)
            fail_msg("%s: %s, not %s%s", texts[i], message, place, byte);
        ntapi_error_free(error);
    }
    assert_int_equal(ntapi_args_count(args), 0);
    ntapi_args_free(args);
}

static size_t allocations;

static void *count_malloc(size_t size) {
    allocations++;
    return malloc(size);
}

/* A program that counts jansson's allocations sees that jansson reads and writes the text. */
static void text_goes_through_jansson(void **state) {
    (void)state;
    json_malloc_t theirs;
    json_free_t their_free;
    json_get_alloc_funcs(&theirs, &their_free);
    json_set_alloc_funcs(count_malloc, free);
    const char *text = "{\"list\":[{\"name\":\"London\",\"temp\":7.25}]}";
    allocations = 0;
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    assert_true(allocations > 0);
    allocations = 0;
    assert_string_equal(ntapi_json_text(json), text);
    assert_true(allocations > 0);
    ntapi_json_free(json);
    json_set_alloc_funcs(theirs, their_free);
}

/* A number that jansson cannot hold is written as it was read. */
static void numbers_beyond_jansson_are_written(void **state) {
    (void)state;
    const char *texts[] = {"[123456789012345678901234567890,0.5]", "[1.123456789012345678]", "-10000000000000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ntapi_json *json = ntapi_json_parse(texts[i], strlen(texts[i]), NULL);
        assert_string_equal(ntapi_json_text(json), texts[i]);
        ntapi_json_free(json);
    }
}

/* The text is that of json_dumps, except for the digits of reals. */
static void text_is_written_as_jansson_writes(void **state) {
    (void)state;
    struct {
        const char *text;
        size_t digits;
    } documents[] = {{"{\"z\":[0.1,2.5,-0.0,1e20,1.5e-7],\"a\":{},\"b\":[]}", 15},
                     {"[1700000000.123456,0.1]", 16},
                     {"[0.30000000000000004]", 17},
                     {"[0.1,0.30000000000000004]", 17},
                     {"\"\\u0000\\u001f\\\"\\\\\\/\\n\x7f\xc3\xa9\xf0\x9f\x98\x80\"", 15},
                     {"[null,true,false,-9223372036854775808]", 15}};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        ntapi_json *json = ntapi_json_parse(documents[i].text, strlen(documents[i].text), NULL);
        json_t *tree = ntapi_json_to_jansson(json, NULL);
        size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(documents[i].digits);
        char *expected = json_dumps(tree, flags);
        assert_string_equal(ntapi_json_text(json), expected);
        json_t *again = json_loads(ntapi_json_text(json), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_true(json_equal(tree, again));
        json_decref(again);
        free(expected);
        json_decref(tree);
        ntapi_json_free(json);
    }
}

/* A text that jansson cannot read is read by the library's own parser, by the same rules. */
static void what_jansson_cannot_read_is_read(void **state) {
    (void)state;
    const char *big = "{\"big\":123456789012345678901234567890,\"a\":1,\"a\":2}";
    ntapi_json *json = ntapi_json_parse(big, strlen(big), NULL);
    assert_true(ntapi_json_double(json, "big", 0) == 123456789012345678901234567890.0);
    assert_int_equal(ntapi_json_int(json, "a", 0), 2);
    ntapi_json_free(json);
    ntapi_error *error = NULL;
    assert_null(ntapi_json_parse("[1\0]", 4, &error));
    assert_string_equal(ntapi_error_message(error), "line 1, column 3 (byte 2): NUL byte");
    ntapi_error_free(error);
}

enum { LEVELS = 2000, SMALL_STACK = 128 * 1024 };

/** Parses deeply nested text, valid and invalid. */
static void *hand_in_depth(void *argument) {
    char text[2 * LEVELS + 16], *end = text + sprintf(text, "[[\"json\",");
    memset(end, '[', LEVELS);
    memset(end + LEVELS, ']', LEVELS);
    strcpy(end + 2 * LEVELS, "]]");
    ntapi_args *args = argument;
    check_ok(ntapi_args_append_json(args, text, strlen(text), NULL));
    size_t cut = strlen(text) - 3;
    ntapi_args *others = ntapi_args_create();
    assert_int_equal(ntapi_args_append_json(others, text, cut, NULL), NTAPI_STATUS_INVALID_ARGUMENT);
    ntapi_args_free(others);
    assert_null(ntapi_json_parse(text, cut, NULL));
    for (size_t levels = 1; levels <= LEVELS; levels += levels < 250 ? 83 : 1 + levels / 2) {
        memset(text, '[', levels);
        memset(text + levels, ']', levels);
        text[2 * levels] = '\0';
        ntapi_json *json = ntapi_json_parse(text, 2 * levels, NULL);
        assert_string_equal(ntapi_json_text(json), text);
        ntapi_json_free(json);
    }
    return NULL;
}

static void depth_needs_no_stack(void **state) {
    struct test *test = *state;
    answer_text(test->stub, "/", 200, "{}");
    ntapi_args *args = ntapi_args_create();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, &attributes, hand_in_depth, args), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_int_equal(ntapi_args_count(args), 1);
    ntapi_response_free(perform(test->client, "", args));
    const ntapi_stub_request *request = ntapi_stub_get_request(test->stub, 0);
    assert_int_equal(request->length, 2 * LEVELS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tree_is_sent_and_another_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_suppresses_and_a_null_value_is_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_there_is_no_json_there_is_no_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_part_may_be_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_get_one_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hooks_work_on_trees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(defaults_are_trees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tree_without_end_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_handles_get_an_answer, set_up, tear_down),
        cmocka_unit_test(errors_are_those_of_jansson),
        cmocka_unit_test(text_goes_through_jansson),
        cmocka_unit_test(numbers_beyond_jansson_are_written),
        cmocka_unit_test(text_is_written_as_jansson_writes),
        cmocka_unit_test(what_jansson_cannot_read_is_read),
        cmocka_unit_test_setup_teardown(depth_needs_no_stack, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
