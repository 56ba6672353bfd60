/* JSON documents, their paths, and the way to and from jansson. */
#include "support.h"

#include <math.h>

#include "ntapi_jansson.h"

static ntapi_json *parse(const char *text) {
    ntapi_error *error = NULL;
    ntapi_json *json = ntapi_json_parse(text, strlen(text), &error);
    if (json == NULL)
        fail_msg("%s: %s", text, ntapi_error_message(error));
    assert_null(error);
    return json;
}

static void refuse(const char *text, size_t length) {
    ntapi_error *error = NULL;
    assert_null(ntapi_json_parse(text, length, &error));
    assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_JSON);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_JSON);
    ntapi_error_free(error);
    assert_null(ntapi_json_parse(text, length, NULL));
}

static void each_type_is_told(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"n\":null,\"b\":true,\"i\":1,\"d\":1.5,\"s\":\"x\",\"a\":[],\"o\":{}}");
    const struct {
        const char *path;
        ntapi_json_type type;
    } expected[] = {{"n", NTAPI_JSON_TYPE_NULL},   {"b", NTAPI_JSON_TYPE_BOOL},   {"i", NTAPI_JSON_TYPE_INT},
                    {"d", NTAPI_JSON_TYPE_DOUBLE}, {"s", NTAPI_JSON_TYPE_STRING}, {"a", NTAPI_JSON_TYPE_ARRAY},
                    {"o", NTAPI_JSON_TYPE_OBJECT}, {"x", NTAPI_JSON_TYPE_ABSENT}, {"", NTAPI_JSON_TYPE_OBJECT},
                    {NULL, NTAPI_JSON_TYPE_OBJECT}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(ntapi_json_get_type(json, expected[i].path), expected[i].type);
    ntapi_json_free(json);
}

static void paths_name_values(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"list\":[{\"name\":\"London\",\"in\":[[1,2],[3]]}],\"headers\":{\"X-Y\":\"z\"},"
                             "\"a.b\":{\"c\":\"dotted\"},\"\":\"empty\"}");
    check_string(json, "list[0].name", "London");
    assert_int_equal(ntapi_json_int(json, "list[0].in[1][0]", 0), 3);
    check_string(json, "headers[\"X-Y\"]", "z");
    check_string(json, "[\"a.b\"].c", "dotted");
    check_string(json, "[\"\"]", "empty");
    const char *wrong[] = {
        "list[1]",  "list[-1]", "list[0", "list]",   "list[0]name", "list..name",     ".list",
        "list.",    "[0]",      "list[]", "list[x]", "headers.X",   "list[0].name.x", "list[99999999999999999999]",
        "[\"a.b\"", "[\"",      "["};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (ntapi_json_get_type(json, wrong[i]) != NTAPI_JSON_TYPE_ABSENT)
            fail_msg("%s found something", wrong[i]);
    ntapi_json_free(json);
}

static void values_fall_back(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"i\":-7,\"d\":2.5,\"whole\":3.0,\"huge\":1e300,\"b\":false,\"s\":\"5\",\"n\":null,"
                             "\"max\":9223372036854775807,\"min\":-9223372036854775808,\"over\":9223372036854775808}");
    assert_int_equal(ntapi_json_int(json, "i", 1), -7);
    assert_int_equal(ntapi_json_int(json, "whole", 1), 3);
    assert_int_equal(ntapi_json_int(json, "d", 1), 1);
    assert_int_equal(ntapi_json_int(json, "huge", 1), 1);
    assert_int_equal(ntapi_json_int(json, "s", 1), 1);
    assert_int_equal(ntapi_json_int(json, "n", 1), 1);
    assert_true(ntapi_json_int(json, "max", 0) == INT64_MAX);
    assert_true(ntapi_json_int(json, "min", 0) == INT64_MIN);
    assert_int_equal(ntapi_json_get_type(json, "over"), NTAPI_JSON_TYPE_DOUBLE);
    assert_int_equal(ntapi_json_int(json, "over", 1), 1);
    assert_true(ntapi_json_double(json, "over", 0) == 9223372036854775808.0);
    assert_true(ntapi_json_double(json, "d", 0) == 2.5);
    assert_true(ntapi_json_double(json, "i", 0) == -7);
    assert_true(isinf(ntapi_json_double(json, "s", INFINITY)));
    assert_false(ntapi_json_bool(json, "b", true));
    assert_true(ntapi_json_bool(json, "i", true));
    assert_true(ntapi_json_bool(json, "nothing", true));
    assert_null(ntapi_json_string(json, "i"));
    assert_null(ntapi_json_string(json, "nothing"));
    ntapi_json_free(json);
}

static void strings_may_contain_nul(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"a\":\"x\\u0000y\",\"u\":\"Z\xc3\xbcrich\",\"pair\":\"\\ud83d\\ude00\"}");
    assert_int_equal(ntapi_json_string_length(json, "a"), 3);
    assert_memory_equal(ntapi_json_string(json, "a"), "x\0y", 4);
    assert_int_equal(ntapi_json_string_length(json, "u"), 7);
    check_string(json, "u", "Z\xc3\xbcrich");
    check_string(json, "pair", "\xf0\x9f\x98\x80");
    assert_int_equal(ntapi_json_string_length(json, "nothing"), 0);
    ntapi_json_free(json);
}

static void elements_are_walked_through(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"list\":[{\"n\":1},{\"n\":2},{\"n\":3}],\"empty\":[],\"text\":\"x\"}");
    ntapi_json_iterator *days = ntapi_json_iterate(json, "list");
    ntapi_json_free(json); /* the iterator keeps it alive */
    int64_t sum = 0;
    const char *key = "none";
    const ntapi_json *day;
    while ((day = ntapi_json_next(days, &key)) != NULL) {
        assert_null(key);
        sum = sum * 10 + ntapi_json_int(day, "n", 0);
    }
    assert_int_equal(sum, 123);
    ntapi_json_iterator_free(days);
    assert_null(ntapi_json_next(days, NULL));

    json = parse("{\"empty\":[],\"text\":\"x\"}");
    static const char *const childless[] = {"empty", "text"};
    for (size_t i = 0; i < 2; i++) {
        ntapi_json_iterator *none = ntapi_json_iterate(json, childless[i]);
        assert_non_null(none);
        assert_null(ntapi_json_next(none, NULL));
        ntapi_json_iterator_free(none);
    }
    assert_null(ntapi_json_iterate(json, "nothing"));
    assert_null(ntapi_json_iterate(NULL, NULL));
    assert_null(ntapi_json_next(NULL, NULL));
    ntapi_json_iterator_free(NULL);
    ntapi_json_free(json);
}

static void members_keep_their_order(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"z\":1,\"a\":{\"y\":1,\"b\":2},\"list\":[1,2,3]}");
    assert_int_equal(ntapi_json_count(json, ""), 3);
    assert_int_equal(ntapi_json_count(json, "a"), 2);
    assert_int_equal(ntapi_json_count(json, "list"), 3);
    assert_int_equal(ntapi_json_count(json, "z"), 0);
    assert_int_equal(ntapi_json_count(json, "nothing"), 0);
    static const char *const keys[] = {"z", "a", "list"};
    const char *key = NULL;
    ntapi_json_iterator *members = ntapi_json_iterate(json, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ntapi_json_count(ntapi_json_next(members, &key), NULL), i == 0 ? 0 : i + 1);
        assert_string_equal(key, keys[i]);
    }
    assert_null(ntapi_json_next(members, &key));
    assert_null(key);
    assert_null(ntapi_json_next(members, NULL));
    ntapi_json_iterator_free(members);
    ntapi_json_free(json);
}

static void a_part_outlives_its_document(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"list\":[{\"name\":\"London\"}],\"n\":null}");
    ntapi_json *part = ntapi_json_get(json, "list[0]");
    ntapi_json *null = ntapi_json_get(json, "n");
    assert_null(ntapi_json_get(json, "list[1]"));
    ntapi_json_free(json);
    check_string(part, "name", "London");
    assert_string_equal(ntapi_json_text(part), "{\"name\":\"London\"}");
    assert_int_equal(ntapi_json_get_type(null, NULL), NTAPI_JSON_TYPE_NULL);
    ntapi_json_free(part);
    ntapi_json_free(null);
}

static void text_reads_back(void **state) {
    (void)state;
    const char *texts[] = {"{\"z\":1,\"a\":[true,false,null,-5,\"x\\\"\\\\\\n\"]}",
                           "[]",
                           "{}",
                           "\"\"",
                           "42",
                           "null",
                           "{\"a\":0.1}",
                           "[9223372036854775807]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ntapi_json *json = parse(texts[i]);
        assert_string_equal(ntapi_json_text(json), texts[i]);
        assert_ptr_equal(ntapi_json_text(json), ntapi_json_text(json));
        ntapi_json_free(json);
    }
}

static void oddities_are_decided(void **state) {
    (void)state;
    ntapi_json *json = parse("\xef\xbb\xbf{\"a\":1,\"a\":2,\"big\":123456789012345678901234567890}");
    assert_int_equal(ntapi_json_int(json, "a", 0), 2);
    assert_int_equal(ntapi_json_get_type(json, "big"), NTAPI_JSON_TYPE_DOUBLE);
    ntapi_json_free(json);
    const char *wrong[] = {"",        " ",           "{\"a\":1", "{\"a\":1}x",       "[1,]", "{'a':1}", "NaN",
                           "[1e999]", "\"\\ud800\"", "\"\xff\"", "\"\xed\xa0\x80\"", "[01]", "tru",     "\"a\nb\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], strlen(wrong[i]));
    refuse("[1\0]", 4);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    enum { MOST = 2048, MANY = 100000 };
    static char text[2 * MANY];
    memset(text, '[', MOST);
    memset(text + MOST, ']', MOST);
    ntapi_json *json = ntapi_json_parse(text, 2 * MOST, NULL);
    assert_non_null(json);
    ntapi_json_free(json);
    memset(text, '[', MOST + 1);
    memset(text + MOST + 1, ']', MOST + 1);
    refuse(text, 2 * MOST + 2);
    memset(text, '[', MANY);
    memset(text + MANY, ']', MANY);
    refuse(text, sizeof text);
    refuse(text, MANY);
}

static void a_string_can_be_made(void **state) {
    (void)state;
    char text[] = "Z\xc3\xbcrich \"quoted\"";
    ntapi_json *json = ntapi_json_create_string(text);
    text[0] = 'x';
    check_string(json, NULL, "Z\xc3\xbcrich \"quoted\"");
    ntapi_json_free(json);
    assert_null(ntapi_json_create_string(NULL));
    assert_null(ntapi_json_create_string("\xff"));
}

static void the_text_is_copied(void **state) {
    (void)state;
    char text[] = "{\"a\":\"b\"}";
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    memset(text, 0, sizeof text);
    check_string(json, "a", "b");
    ntapi_json_free(json);
    ntapi_json_free(NULL);
}

static void jansson_goes_both_ways(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"z\":1,\"list\":[1.5,\"x\\u0000y\",null,true],\"a\":{}}");
    json_t *tree = ntapi_json_to_jansson(json, NULL);
    assert_int_equal(json_object_size(tree), 3);
    assert_int_equal(json_string_length(json_array_get(json_object_get(tree, "list"), 1)), 3);
    ntapi_json *back = ntapi_json_from_jansson(tree);
    assert_string_equal(ntapi_json_text(back), ntapi_json_text(json));
    json_object_set_new(tree, "z", json_integer(2));
    assert_int_equal(ntapi_json_int(back, "z", 0), 1);
    json_decref(tree);
    tree = ntapi_json_to_jansson(json, "list[0]");
    ntapi_json_free(json);
    ntapi_json_free(back);
    assert_true(json_real_value(tree) == 1.5);
    json_decref(tree);
    assert_null(ntapi_json_to_jansson(NULL, NULL));
    assert_null(ntapi_json_from_jansson(NULL));
}

static void a_very_deep_jansson_tree_is_answered(void **state) {
    (void)state;
    json_t *tree = json_array();
    for (int i = 0; i < 5000; i++) {
        json_t *outer = json_array();
        json_array_append_new(outer, tree);
        tree = outer;
    }
    ntapi_json *json = ntapi_json_from_jansson(tree); /* deeper than any document: an answer, not a crash */
    ntapi_json_free(json);
    json_decref(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_told),
        cmocka_unit_test(paths_name_values),
        cmocka_unit_test(values_fall_back),
        cmocka_unit_test(strings_may_contain_nul),
        cmocka_unit_test(elements_are_walked_through),
        cmocka_unit_test(members_keep_their_order),
        cmocka_unit_test(a_part_outlives_its_document),
        cmocka_unit_test(text_reads_back),
        cmocka_unit_test(oddities_are_decided),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_string_can_be_made),
        cmocka_unit_test(the_text_is_copied),
        cmocka_unit_test(jansson_goes_both_ways),
        cmocka_unit_test(a_very_deep_jansson_tree_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
