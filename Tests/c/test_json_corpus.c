/* Runs the texts of Tests/conformance/json_corpus.json, which Swift, C and Python share, through the parser and
 * jansson. */
#include "support.h"

#include "ntapi_jansson.h"

static const char *path;

/** The bytes of a case, from its text or its hexadecimal digits. The caller frees them. */
static char *bytes_of(const json_t *wanted, size_t *length) {
    const json_t *text = json_object_get(wanted, "text");
    const char *hex = json_string_value(json_object_get(wanted, "hex"));
    *length = text != NULL ? json_string_length(text) : strlen(hex) / 2;
    char *bytes = malloc(*length + 1); /* one more, so that there is something to point at */
    assert_non_null(bytes);
    if (text != NULL)
        memcpy(bytes, json_string_value(text), *length);
    for (size_t i = 0; text == NULL && i < *length; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

/** Fails unless the value stays the same through jansson. jansson must also read the value's text as the same tree. */
static void check_jansson(const char *name, const ntapi_json *json) {
    json_t *tree = ntapi_json_to_jansson(json, NULL);
    const char *text = ntapi_json_text(json);
    json_t *theirs = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    /* jansson's limit of depth counts the content of the innermost array or object as a level. */
    bool too_deep = theirs == NULL && strstr(name, "at the limit of depth") != NULL;
    if (!too_deep && !json_equal(tree, theirs))
        fail_msg("%s: jansson reads %s as something else", name, text);
    ntapi_json *back = ntapi_json_from_jansson(tree);
    assert_string_equal(ntapi_json_text(back), text);
    ntapi_json_free(back);
    json_decref(theirs);
    json_decref(tree);
}

static void check_value(const char *name, const json_t *wanted, const ntapi_json *json) {
    const json_t *written = json_object_get(wanted, "written");
    if (written != NULL) {
        /* The text as jansson writes it, with capitals in escapes. There is none if it is too deep for jansson's
         * loader. */
        json_t *tree = json_loads(json_string_value(written), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        char *expected = tree != NULL ? json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
                                      : strdup(json_string_value(written));
        if (strcmp(ntapi_json_text(json), expected) != 0)
            fail_msg("%s: written as %s", name, ntapi_json_text(json));
        free(expected);
        json_decref(tree);
    }
    const json_t *number = json_object_get(wanted, "double");
    if (number != NULL) {
        double expected = strtod(json_string_value(number), NULL);
        double found = ntapi_json_double(json, "", -1);
        assert_int_equal(ntapi_json_get_type(json, NULL), NTAPI_JSON_TYPE_DOUBLE);
        if (memcmp(&expected, &found, sizeof found) != 0) /* bit for bit: -0.0 is not 0.0 */
            fail_msg("%s: %.17g", name, found);
    }
    const json_t *count = json_object_get(wanted, "count");
    if (count != NULL)
        assert_int_equal(ntapi_json_count(json, NULL), json_integer_value(count));
    /* Each member has a key, and no element has one. */
    ntapi_json_iterator *children = ntapi_json_iterate(json, NULL);
    const char *key = NULL;
    size_t walked = 0;
    for (; ntapi_json_next(children, &key) != NULL; walked++)
        assert_int_equal(key != NULL, ntapi_json_get_type(json, NULL) == NTAPI_JSON_TYPE_OBJECT);
    assert_int_equal(walked, ntapi_json_count(json, NULL));
    ntapi_json_iterator_free(children);
}

/** Fails unless a list of args accepts the same texts. jansson's loader reads them, two levels down. */
static void check_loader(const char *name, const char *bytes, size_t length, bool refused) {
    if (strstr(name, "at the limit of depth") != NULL || strstr(name, "a byte order mark") == name)
        return;
    static const char before[] = "[[\"json\",", behind[] = "]]";
    size_t size = length + strlen(before) + strlen(behind);
    char *text = malloc(size);
    assert_non_null(text);
    memcpy(text, before, strlen(before));
    memcpy(text + strlen(before), bytes, length);
    memcpy(text + size - strlen(behind), behind, strlen(behind));
    ntapi_args *args = ntapi_args_create();
    ntapi_error *error = NULL;
    ntapi_status status = ntapi_args_append_json(args, text, size, &error);
    if ((status != NTAPI_STATUS_OK) != refused || (error != NULL) != refused)
        fail_msg("%s: %s", name, error == NULL ? "accepted by a list of args" : ntapi_error_message(error));
    ntapi_error_free(error);
    ntapi_args_free(args);
    free(text);
}

static void each_text_is_read_as_decided(void **state) {
    (void)state;
    json_error_t problem;
    json_t *corpus = json_load_file(path, JSON_ALLOW_NUL, &problem);
    if (corpus == NULL)
        fail_msg("%s: %s", path, problem.text);
    assert_true(json_array_size(corpus) > 1000);
    size_t index;
    json_t *wanted;
    json_array_foreach(corpus, index, wanted) {
        const char *name = json_string_value(json_object_get(wanted, "name"));
        size_t length;
        char *bytes = bytes_of(wanted, &length);
        ntapi_error *error = NULL;
        ntapi_json *json = ntapi_json_parse(bytes, length, &error);
        bool refused = json_is_true(json_object_get(wanted, "refused"));
        check_loader(name, bytes, length, refused);
        free(bytes);
        if (refused != (json == NULL) || refused != (error != NULL))
            fail_msg("%s: %s", name, json == NULL ? ntapi_error_message(error) : "accepted");
        if (json != NULL) {
            check_value(name, wanted, json);
            /* jansson keeps such a number as a double, which has fewer digits. */
            if (json_object_get(wanted, "double") == NULL && json_object_get(wanted, "long") == NULL)
                check_jansson(name, json);
        }
        ntapi_error_free(error);
        ntapi_json_free(json);
    }
    json_decref(corpus);
}

int main(int argc, char **argv) {
    path = argc > 1 ? argv[1] : "Tests/conformance/json_corpus.json";
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_text_is_read_as_decided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
