/* Writing with the section "JSON as structs" of the header: what a struct becomes, and what cannot be written. */
#include "support.h"

#include <math.h>

struct label {
    const char *name;
    struct label *parts;
    size_t part_count;
};

struct issue {
    int64_t id;
    uint8_t small;
    const char *title;
    const char *body;
    double created;
    double closed;
    float ratio;
    bool locked;
    const char *url;
    struct label label;
    struct label *labels;
    size_t label_count;
    const char **names;
    size_t name_count;
};

static const ntapi_field label_fields[] = {
    NTAPI_FIELD_STRING(struct label, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_ARRAY(struct label, parts, part_count, "parts", NTAPI_FIELD_FLAG_OPTIONAL, label_fields),
    NTAPI_FIELD_END,
};

static const ntapi_field issue_fields[] = {
    NTAPI_FIELD_INT(struct issue, id, "id", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_UINT(struct issue, small, "numbers.small", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct issue, title, "title", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct issue, body, "body", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_DATE(struct issue, created, "created", NTAPI_FIELD_FLAG_REQUIRED,
                     NTAPI_DATE_FORMAT_ISO8601 | NTAPI_DATE_FORMAT_SECONDS),
    NTAPI_FIELD_DATE(struct issue, closed, "closed", NTAPI_FIELD_FLAG_OPTIONAL, NTAPI_DATE_FORMAT_MILLISECONDS),
    NTAPI_FIELD_DOUBLE(struct issue, ratio, "numbers.ratio", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_BOOL(struct issue, locked, "locked", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_URL(struct issue, url, "links[0].url", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_OBJECT(struct issue, label, "label", NTAPI_FIELD_FLAG_REQUIRED, label_fields),
    NTAPI_FIELD_ARRAY(struct issue, labels, label_count, "labels", NTAPI_FIELD_FLAG_OPTIONAL, label_fields),
    NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_STRING, struct issue, names, name_count, "names", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_END,
};

static struct issue plain_issue(void) {
    return (struct issue){.id = 1, .title = "a", .closed = NAN, .ratio = NAN, .label = {.name = "l"}};
}

static void check_text(const ntapi_field *fields, const void *from, size_t size, const char *expected) {
    ntapi_error *error = NULL;
    ntapi_json *json = ntapi_json_encode(fields, from, size, &error);
    if (error != NULL)
        fail_msg("%s", ntapi_error_message(error));
    assert_string_equal(ntapi_json_text(json), expected);
    ntapi_json_free(json);
}

static void check_refused(const ntapi_field *fields, const void *from, size_t size, const char *says) {
    ntapi_error *error = NULL;
    assert_null(ntapi_json_encode(fields, from, size, &error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    if (strstr(ntapi_error_message(error), says) == NULL)
        fail_msg("%s", ntapi_error_message(error));
    ntapi_error_free(error);
    assert_null(ntapi_json_encode(fields, from, size, NULL));
}

static void what_an_integer_reads_is_written(void **state) {
    (void)state;
    struct numbers {
        uint64_t most;
        int64_t least;
    } numbers = {UINT64_MAX, INT64_MIN}, read = {0};
    static const ntapi_field fields[] = {
        NTAPI_FIELD_UINT(struct numbers, most, "most", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_INT(struct numbers, least, "least", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_END,
    };
    check_text(fields, &numbers, sizeof numbers, "{\"most\":18446744073709551615,\"least\":-9223372036854775808}");
    ntapi_json *json = ntapi_json_encode(fields, &numbers, sizeof numbers, NULL);
    ntapi_decoded *decoded = ntapi_json_decode(json, fields, &read, sizeof read, NULL);
    ntapi_json_free(json);
    assert_true(read.most == UINT64_MAX && read.least == INT64_MIN);
    ntapi_decoded_free(decoded);
}

static void a_struct_is_written_and_read_again(void **state) {
    (void)state;
    struct label parts[] = {{.name = "p"}};
    struct label labels[] = {{.name = "\"\xC3\xA9\"\n"}, {.name = "", .parts = parts, .part_count = 1}};
    const char *names[] = {"x", "y"};
    struct issue issue = {.id = 9007199254740993,
                          .small = 255,
                          .title = "t",
                          .body = "b",
                          .created = 1.5,
                          .closed = 2,
                          .ratio = 0.1F,
                          .locked = true,
                          .url = "https://a.example/",
                          .label = {.name = "l"},
                          .labels = labels,
                          .label_count = 2,
                          .names = names,
                          .name_count = 2};
    ntapi_json *json = ntapi_json_encode(issue_fields, &issue, sizeof issue, NULL);
    assert_string_equal(
        ntapi_json_text(json),
        "{\"id\":9007199254740993,\"numbers\":{\"small\":255,\"ratio\":0.1},\"title\":\"t\",\"body\":\"b\","
        "\"created\":\"1970-01-01T00:00:01.5Z\",\"closed\":2000,\"locked\":true,"
        "\"links\":[{\"url\":\"https://a.example/\"}],\"label\":{\"name\":\"l\"},"
        "\"labels\":[{\"name\":\"\\\"\xC3\xA9\\\"\\n\"},{\"name\":\"\",\"parts\":[{\"name\":\"p\"}]}],"
        "\"names\":[\"x\",\"y\"]}");
    struct issue read = {0};
    ntapi_decoded *decoded = ntapi_json_decode(json, issue_fields, &read, sizeof read, NULL);
    ntapi_json_free(json);
    assert_true(read.id == issue.id && read.small == 255 && read.locked && read.ratio == issue.ratio);
    assert_true(read.created == 1.5 && read.closed == 2 && read.label_count == 2 && read.name_count == 2);
    assert_string_equal(read.labels[1].parts[0].name, "p");
    ntapi_decoded_free(decoded);
}

/** Days since 1970, as "day 10". */
static bool read_day(void *user_data, const char *text, double *seconds) {
    int day;
    ++*(int *)user_data;
    if (sscanf(text, "day %d", &day) != 1)
        return false;
    *seconds = day * 86400.0;
    return true;
}

static bool write_day(void *user_data, double seconds, char *text, size_t size) {
    ++*(int *)user_data;
    return seconds >= 0 && (size_t)snprintf(text, size, "day %d", (int)(seconds / 86400)) < size;
}

static void custom_dates_are_written_as_they_are_read(void **state) {
    (void)state;
    struct order {
        double day;
    };
    int calls = 0;
    const ntapi_custom_date_format days = {sizeof days, "day 10", read_day, write_day, &calls},
                                   read_only = {sizeof read_only, "day 10", read_day, NULL, &calls};
    const ntapi_field fields[] = {NTAPI_FIELD_CUSTOM_DATE(struct order, day, "day", NTAPI_FIELD_FLAG_OPTIONAL, &days),
                                  NTAPI_FIELD_END};
    const ntapi_field unwritten[] = {
        NTAPI_FIELD_CUSTOM_DATE(struct order, day, "day", NTAPI_FIELD_FLAG_OPTIONAL, &read_only), NTAPI_FIELD_END};
    struct order order = {864000}, again = {0};
    check_text(fields, &order, sizeof order, "{\"day\":\"day 10\"}");
    assert_int_equal(calls, 1);
    ntapi_custom_date_format forgotten = days;
    forgotten.size = 0;
    const ntapi_field sizeless[] = {
        NTAPI_FIELD_CUSTOM_DATE(struct order, day, "day", NTAPI_FIELD_FLAG_OPTIONAL, &forgotten), NTAPI_FIELD_END};
    check_refused(sizeless, &order, sizeof order, "the size of ntapi_custom_date_format is 0");
    ntapi_json *json = ntapi_json_encode(fields, &order, sizeof order, NULL);
    ntapi_decoded *decoded = ntapi_json_decode(json, fields, &again, sizeof again, NULL);
    assert_non_null(decoded);
    assert_true(again.day == 864000);
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
    order.day = -1;
    check_refused(fields, &order, sizeof order, "day");
    order.day = 0;
    check_refused(unwritten, &order, sizeof order, "day");
    json = ntapi_json_parse("{\"day\":\"tomorrow\"}", 18, NULL);
    ntapi_error *error = NULL;
    assert_null(ntapi_json_decode(json, fields, &again, sizeof again, &error));
    assert_non_null(strstr(ntapi_error_message(error), "day 10"));
    ntapi_error_free(error);
    ntapi_json_free(json);
}

static void what_is_not_there_is_left_out(void **state) {
    (void)state;
    struct issue issue = plain_issue();
    check_text(issue_fields, &issue, sizeof issue,
               "{\"id\":1,\"numbers\":{\"small\":0},\"title\":\"a\",\"created\":\"1970-01-01T00:00:00Z\","
               "\"locked\":false,\"label\":{\"name\":\"l\"},\"names\":[]}");
    const ntapi_field none[] = {NTAPI_FIELD_END};
    check_text(none, &issue, sizeof issue, "{}");
}

static void a_list_may_stand_at_the_top(void **state) {
    (void)state;
    struct {
        int *list;
        size_t count;
    } numbers = {(int[]){1, -2}, 2};
    const ntapi_field fields[] = {
        {sizeof(ntapi_field), NTAPI_FIELD_KIND_ARRAY, NTAPI_FIELD_FLAG_REQUIRED, "", 0, sizeof(int *), NULL, 0,
         NTAPI_FIELD_KIND_INT, sizeof(int), sizeof(int *), NULL},
        NTAPI_FIELD_END,
    };
    check_text(fields, &numbers, sizeof numbers, "[1,-2]");
}

static void what_cannot_be_written_is_named(void **state) {
    (void)state;
    struct issue issue = plain_issue();
    issue.title = NULL;
    check_refused(issue_fields, &issue, sizeof issue, "title: NULL is not a string");
    issue = plain_issue();
    issue.title = "\xFF";
    check_refused(issue_fields, &issue, sizeof issue, "title: it is not UTF-8");
    issue = plain_issue();
    issue.url = "mailto:a";
    check_refused(issue_fields, &issue, sizeof issue, "links[0].url: URL expected");
    issue = plain_issue();
    issue.created = NAN;
    check_refused(issue_fields, &issue, sizeof issue, "created: the date nan cannot be written as ISO 8601");
    issue = plain_issue();
    issue.ratio = INFINITY;
    check_refused(issue_fields, &issue, sizeof issue, "numbers.ratio: inf is not a JSON number");
    issue = plain_issue();
    issue.name_count = 3;
    check_refused(issue_fields, &issue, sizeof issue, "names: the count 3 is not possible for the array");
    issue.names = (const char *[]){"a"};
    issue.name_count = SIZE_MAX / 2;
    check_refused(issue_fields, &issue, sizeof issue,
                  "names: the count 9223372036854775807 is not possible for the array");
    struct label itself = {.name = "x", .part_count = 1};
    itself.parts = &itself;
    issue = plain_issue();
    issue.label = itself;
    check_refused(issue_fields, &issue, sizeof issue, "nests deeper than 512 levels");
}

static void mistakes_are_told(void **state) {
    (void)state;
    struct issue issue = plain_issue();
    check_refused(NULL, &issue, sizeof issue, "fields or from is NULL");
    check_refused(issue_fields, NULL, sizeof issue, "fields or from is NULL");
    check_refused(issue_fields, &issue, 0, "the struct has no size");
    check_refused(issue_fields, &issue, 4, "is not in the struct of 4 bytes");
    const ntapi_field clash[] = {
        NTAPI_FIELD_STRING(struct issue, title, "a", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_INT(struct issue, id, "a.b", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_END,
    };
    check_refused(clash, &issue, sizeof issue, "a.b: it needs an object where there is another value");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_integer_reads_is_written),
        cmocka_unit_test(a_struct_is_written_and_read_again),
        cmocka_unit_test(custom_dates_are_written_as_they_are_read),
        cmocka_unit_test(what_is_not_there_is_left_out),
        cmocka_unit_test(a_list_may_stand_at_the_top),
        cmocka_unit_test(what_cannot_be_written_is_named),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
