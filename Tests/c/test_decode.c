/* The section "JSON as structs" of the header: what fits, which errors there are for the rest, and mistakes in
 * tables. */
#include "support.h"

struct wind {
    double speed;
    int16_t degrees;
};

struct city {
    int64_t id;
    const char *name;
    double temperature;
    struct wind wind;
    const char **tags;
    size_t tag_count;
    struct city *parts;
    size_t part_count;
    double updated;
    const char *icon;
    bool capital;
};

static const ntapi_field wind_fields[] = {
    NTAPI_FIELD_DOUBLE(struct wind, speed, "speed", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_INT(struct wind, degrees, "deg", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_END,
};

static const ntapi_field city_fields[] = {
    NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_OBJECT(struct city, wind, "wind", NTAPI_FIELD_FLAG_OPTIONAL, wind_fields),
    NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_STRING, struct city, tags, tag_count, "tags", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_ARRAY(struct city, parts, part_count, "parts", NTAPI_FIELD_FLAG_OPTIONAL, city_fields),
    NTAPI_FIELD_DATE(struct city, updated, "dt", NTAPI_FIELD_FLAG_OPTIONAL,
                     NTAPI_DATE_FORMAT_ISO8601 | NTAPI_DATE_FORMAT_SECONDS),
    NTAPI_FIELD_URL(struct city, icon, "images[0].url", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_BOOL(struct city, capital, "capital", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_END,
};

static ntapi_json *parse(const char *text) {
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    if (json == NULL)
        fail_msg("not JSON: %s", text);
    return json;
}

static void a_struct_is_filled(void **state) {
    (void)state;
    ntapi_json *json = parse(
        "{\"id\":9007199254740993,\"name\":\"Z\\u00fcrich\",\"main\":{\"temp\":8},\"wind\":{\"speed\":3.5,\"deg\":90},"
        "\"tags\":[\"a\",\"\"],\"dt\":\"1970-01-01T00:01:00Z\",\"images\":[{\"url\":\"https://a.example/01d.png\"}],"
        "\"capital\":true,\"more\":[],\"parts\":[{\"id\":1,\"name\":\"x\",\"dt\":2.5},{\"id\":2.0,\"name\":\"y\"}]}");
    struct city city = {0};
    ntapi_error *error = NULL;
    ntapi_decoded *decoded = ntapi_json_decode(json, city_fields, &city, sizeof city, &error);
    ntapi_json_free(json); /* the struct borrows nothing from it */
    assert_non_null(decoded);
    assert_null(error);
    assert_true(city.id == 9007199254740993);
    assert_string_equal(city.name, "Zürich");
    assert_true(city.temperature == 8 && city.wind.speed == 3.5 && city.wind.degrees == 90);
    assert_int_equal(city.tag_count, 2);
    assert_string_equal(city.tags[0], "a");
    assert_string_equal(city.tags[1], "");
    assert_true(city.updated == 60 && city.capital);
    assert_string_equal(city.icon, "https://a.example/01d.png");
    assert_int_equal(city.part_count, 2);
    assert_true(city.parts[0].updated == 2.5 && city.parts[0].parts == NULL && city.parts[0].part_count == 0);
    assert_true(city.parts[1].id == 2);
    assert_string_equal(city.parts[1].name, "y");
    ntapi_decoded_free(decoded);
}

static void null_reads_as_absent(void **state) {
    (void)state;
    ntapi_json *json = parse("{\"id\":1,\"name\":\"x\",\"main\":null,\"wind\":null,\"tags\":null,\"dt\":null}");
    struct city city = {.temperature = -1, .updated = -2, .capital = true};
    ntapi_decoded *decoded = ntapi_json_decode(json, city_fields, &city, sizeof city, NULL);
    assert_non_null(decoded);
    assert_true(city.temperature == -1 && city.updated == -2 && city.capital);
    assert_true(city.tags == NULL && city.tag_count == 0 && city.icon == NULL);
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
}

/** Fails unless decoding fails with that message, and leaves the struct unchanged. */
static void refuse(const char *text, const ntapi_field *fields, const char *message) {
    ntapi_json *json = parse(text);
    struct city city, before;
    memset(&city, 0x5a, sizeof city);
    before = city;
    ntapi_error *error = NULL;
    assert_null(ntapi_json_decode(json, fields, &city, sizeof city, &error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_UNEXPECTED_JSON);
    assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_JSON);
    assert_string_equal(ntapi_error_message(error), message);
    assert_memory_equal(&city, &before, sizeof city);
    ntapi_error_free(error);
    assert_null(ntapi_json_decode(json, fields, &city, sizeof city, NULL));
    ntapi_json_free(json);
}

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    const struct {
        const char *text;
        const char *message;
    } wrong[] = {
        {"5", "object expected, number 5 found"},
        {"{}", "id: int64_t expected, nothing found"},
        {"{\"id\":null}", "id: int64_t expected, null found"},
        {"{\"id\":1.5}", "id: int64_t expected, number 1.5 found"},
        {"{\"id\":\"1\"}", "id: int64_t expected, string found"},
        {"{\"id\":1,\"name\":\"a\\u0000b\"}", "name: string without NUL expected, string found"},
        {"{\"id\":1,\"name\":\"x\",\"main\":{\"temp\":\"hot\"}}", "main.temp: double expected, string found"},
        {"{\"id\":1,\"name\":\"x\",\"wind\":{}}", "wind.speed: double expected, nothing found"},
        {"{\"id\":1,\"name\":\"x\",\"wind\":[]}", "wind.speed: double expected, nothing found"},
        {"{\"id\":1,\"name\":\"x\",\"wind\":{\"speed\":1,\"deg\":32768}}",
         "wind.deg: int16_t expected, number 32768 found"},
        {"{\"id\":1,\"name\":\"x\",\"tags\":[\"a\",true]}", "tags[1]: string without NUL expected, boolean found"},
        {"{\"id\":1,\"name\":\"x\",\"tags\":{}}", "tags: array expected, object found"},
        {"{\"id\":1,\"name\":\"x\",\"parts\":[{\"id\":1,\"name\":\"x\"},{\"id\":1}]}",
         "parts[1].name: string without NUL expected, nothing found"},
        {"{\"id\":1,\"name\":\"x\",\"dt\":\"soon\"}",
         "dt: date (ISO 8601 or seconds since 1970) expected, string found"},
        {"{\"id\":1,\"name\":\"x\",\"images\":[{\"url\":\"/x\"}]}",
         "images[0].url: URL expected: URL '/x': it must begin with http:// or https://"},
        {"{\"id\":1,\"name\":\"x\",\"capital\":1}", "capital: bool expected, number 1 found"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i].text, city_fields, wrong[i].message);
}

struct numbers {
    int8_t i8;
    uint8_t u8;
    int32_t i32;
    uint64_t u64;
    float f;
};

static void numbers_arrive_as_declared(void **state) {
    (void)state;
    static const ntapi_field fields[] = {
        NTAPI_FIELD_INT(struct numbers, i8, "[0]", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_UINT(struct numbers, u8, "[1]", NTAPI_FIELD_FLAG_REQUIRED | NTAPI_FIELD_FLAG_NUMBER_IN_STRING),
        NTAPI_FIELD_INT(struct numbers, i32, "[2]", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_UINT(struct numbers, u64, "[3]", NTAPI_FIELD_FLAG_REQUIRED),
        NTAPI_FIELD_DOUBLE(struct numbers, f, "[4]", NTAPI_FIELD_FLAG_REQUIRED | NTAPI_FIELD_FLAG_NUMBER_IN_STRING),
        NTAPI_FIELD_END,
    };
    struct numbers numbers;
    ntapi_json *json = parse("[-128,\"255\",-2147483648,18446744073709551615,\"1.5\"]");
    ntapi_decoded *decoded = ntapi_json_decode(json, fields, &numbers, sizeof numbers, NULL);
    assert_non_null(decoded);
    assert_true(numbers.i8 == -128 && numbers.u8 == 255 && numbers.i32 == INT32_MIN);
    assert_true(numbers.u64 == UINT64_MAX && numbers.f == 1.5f);
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
    refuse("[128]", fields, "[0]: int8_t expected, number 128 found");
    refuse("[1,-1]", fields, "[1]: uint8_t expected, number -1 found");
    refuse("[1,\"256\"]", fields, "[1]: uint8_t expected, string found");
    refuse("[1,1,1,1,1e+39]", fields, "[4]: float expected, number 1e+39 found");
}

struct cities {
    struct city *list;
    size_t count;
};

static void loose_booleans_are_taken_when_asked_for(void **state) {
    (void)state;
    struct flag {
        bool on;
    };
    const ntapi_field strict[] = {NTAPI_FIELD_BOOL(struct flag, on, "a", NTAPI_FIELD_FLAG_REQUIRED), NTAPI_FIELD_END};
    const ntapi_field loose[] = {NTAPI_FIELD_BOOL(struct flag, on, "a", NTAPI_FIELD_FLAG_LOOSE_BOOLEAN),
                                 NTAPI_FIELD_END};
    static const struct {
        const char *text;
        int expected; /* -1 means that it is no boolean */
    } cases[] = {{"{\"a\":true}", 1},  {"{\"a\":1}", 1},        {"{\"a\":\"true\"}", 1},  {"{\"a\":\"1\"}", 1},
                 {"{\"a\":false}", 0}, {"{\"a\":0}", 0},        {"{\"a\":\"false\"}", 0}, {"{\"a\":\"0\"}", 0},
                 {"{\"a\":2}", -1},    {"{\"a\":\"yes\"}", -1}, {"{\"a\":\"\"}", -1},     {"{\"a\":[1]}", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct flag flag = {cases[i].expected == 0};
        ntapi_json *json = parse(cases[i].text);
        ntapi_decoded *decoded = ntapi_json_decode(json, loose, &flag, sizeof flag, NULL);
        assert_int_equal(decoded != NULL, cases[i].expected >= 0);
        if (decoded != NULL)
            assert_int_equal(flag.on, cases[i].expected);
        ntapi_decoded_free(decoded);
        decoded = ntapi_json_decode(json, strict, &flag, sizeof flag, NULL);
        assert_int_equal(decoded != NULL, cases[i].text[5] == 't' || cases[i].text[5] == 'f');
        ntapi_decoded_free(decoded);
        ntapi_json_free(json);
    }
}

static void thousands_of_structs_at_the_top(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static const ntapi_field fields[] = {
        NTAPI_FIELD_ARRAY(struct cities, list, count, "", NTAPI_FIELD_FLAG_REQUIRED, city_fields),
        NTAPI_FIELD_END,
    };
    char *text = malloc(COUNT * 64), *end = text;
    for (int i = 0; i < COUNT; i++)
        end += sprintf(end, "%c{\"id\":%d,\"name\":\"city %d\"}", i == 0 ? '[' : ',', i, i);
    strcpy(end, "]");
    ntapi_json *json = parse(text);
    struct cities cities = {0};
    ntapi_decoded *decoded = ntapi_json_decode(json, fields, &cities, sizeof cities, NULL);
    assert_int_equal(cities.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "city %d", i);
        assert_true(cities.list[i].id == i);
        assert_string_equal(cities.list[i].name, name);
    }
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
    json = parse("[]");
    decoded = ntapi_json_decode(json, fields, &cities, sizeof cities, NULL);
    assert_non_null(decoded);
    assert_true(cities.list == NULL && cities.count == 0);
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
    free(text);
}

static void structs_that_contain_themselves_have_a_bound(void **state) {
    (void)state;
    enum { DEPTH = 600 };
    char *text = malloc(DEPTH * 40), *end = text;
    for (int i = 0; i < DEPTH; i++)
        end += sprintf(end, "{\"id\":1,\"name\":\"x\",\"parts\":[");
    for (int i = 0; i < DEPTH; i++)
        end += sprintf(end, "]}");
    ntapi_json *json = parse(text);
    struct city city = {0};
    ntapi_error *error = NULL;
    assert_null(ntapi_json_decode(json, city_fields, &city, sizeof city, &error));
    assert_non_null(strstr(ntapi_error_message(error), "nests deeper than 512 levels"));
    ntapi_error_free(error);
    ntapi_json_free(json);
    free(text);
}

static const char *dates_path;

/** The dates that Swift, C and Python share. */
static void dates_are_read_as_in_the_other_languages(void **state) {
    (void)state;
    struct moment {
        double at;
    };
    static char text[64 * 1024];
    FILE *file = fopen(dates_path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    ntapi_json *rows = ntapi_json_parse(text, length, NULL);
    assert_true(ntapi_json_count(rows, "") > 70);
    for (size_t i = 0; i < ntapi_json_count(rows, ""); i++) {
        char path[32];
        snprintf(path, sizeof path, "[%zu]", i);
        ntapi_json *row = ntapi_json_get(rows, path);
        bool is_http = strcmp(ntapi_json_string(row, "format"), "http") == 0;
        const ntapi_field fields[] = {
            NTAPI_FIELD_DATE(struct moment, at, "text", NTAPI_FIELD_FLAG_REQUIRED,
                             is_http ? NTAPI_DATE_FORMAT_HTTP : NTAPI_DATE_FORMAT_ISO8601),
            NTAPI_FIELD_END,
        };
        struct moment moment = {0};
        ntapi_decoded *decoded = ntapi_json_decode(row, fields, &moment, sizeof moment, NULL);
        bool is_date = ntapi_json_get_type(row, "seconds") != NTAPI_JSON_TYPE_NULL;
        if (is_date != (decoded != NULL) || moment.at != ntapi_json_double(row, "seconds", 0))
            fail_msg("%s: %f", ntapi_json_string(row, "text"), moment.at);
        ntapi_decoded_free(decoded);
        ntapi_json_free(row);
    }
    ntapi_json_free(rows);
}

static void mistakes_in_a_table_are_told(void **state) {
    (void)state;
    struct small {
        int32_t a;
    };
    const ntapi_field good = NTAPI_FIELD_INT(struct small, a, "a", NTAPI_FIELD_FLAG_REQUIRED);
    const ntapi_field end = NTAPI_FIELD_END;
    ntapi_field outside = good, odd = good, unknown = good, pathless = good, malformed = good, old = good, lone = good;
    outside.offset = 4;
    odd.length = 3;
    unknown.kind = (ntapi_field_kind)99;
    pathless.path = NULL;
    malformed.path = "a..b";
    old.size = 8;
    lone.kind = NTAPI_FIELD_KIND_OBJECT;
    const struct {
        ntapi_field field;
        const char *message;
    } wrong[] = {
        {outside, "field 0 (\"a\"): the member of 4 bytes at offset 4 is not in the struct of 4 bytes"},
        {odd, "field 0 (\"a\"): a member of this kind cannot have 3 bytes"},
        {unknown, "field \"a\": there is no kind 99"},
        {pathless, "field 0: its path is NULL or not UTF-8"},
        {malformed, "field 0 (\"a..b\"): the path is malformed"},
        {old, "field 0: the size of ntapi_field is 8, not sizeof(ntapi_field)"},
        {lone, "field \"a\": its fields are NULL"},
    };
    ntapi_json *json = parse("{\"a\":1}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const ntapi_field fields[] = {wrong[i].field, end};
        struct small small = {7};
        ntapi_error *error = NULL;
        assert_null(ntapi_json_decode(json, fields, &small, sizeof small, &error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        assert_string_equal(ntapi_error_message(error), wrong[i].message);
        assert_int_equal(small.a, 7);
        ntapi_error_free(error);
    }
    const ntapi_field fields[] = {good, end};
    struct small small;
    assert_null(ntapi_json_decode(json, fields, &small, 0, NULL));
    assert_null(ntapi_json_decode(json, fields, NULL, sizeof small, NULL));
    assert_null(ntapi_json_decode(json, NULL, &small, sizeof small, NULL));
    assert_null(ntapi_json_decode(NULL, fields, &small, sizeof small, NULL));
    ntapi_json_free(json);
}

/** A program of a later version has longer fields. */
static void longer_fields_are_read(void **state) {
    (void)state;
    struct longer {
        ntapi_field field;
        void *more;
    };
    struct city city = {0};
    struct longer fields[] = {{city_fields[0], NULL}, {city_fields[1], NULL}, {NTAPI_FIELD_END, NULL}};
    fields[0].field.size = fields[1].field.size = sizeof *fields;
    ntapi_json *json = parse("{\"id\":5,\"name\":\"x\"}");
    ntapi_decoded *decoded = ntapi_json_decode(json, &fields[0].field, &city, sizeof city, NULL);
    assert_non_null(decoded);
    assert_true(city.id == 5);
    assert_string_equal(city.name, "x");
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
}

static void responses_are_decoded(void **state) {
    (void)state;
    ntapi_client *client = client_of("weather");
    ntapi_response *response = perform(client, "data/2.5/weather?id=2643743&appid=x", NULL);
    struct city city = {0};
    ntapi_error *error = NULL;
    ntapi_decoded *decoded = ntapi_response_decode(response, city_fields, &city, sizeof city, &error);
    assert_non_null(decoded);
    ntapi_response_free(response); /* the struct borrows nothing from it */
    assert_string_equal(city.name, "London");
    assert_true(city.updated == 1700000000);
    ntapi_decoded_free(decoded);

    response = perform(client, "data/2.5/find?q=London&appid=x", NULL);
    assert_null(ntapi_response_decode(response, city_fields, &city, sizeof city, &error));
    assert_non_null(strstr(ntapi_error_message(error), "data/2.5/find"));
    assert_non_null(strstr(ntapi_error_message(error), "id: int64_t expected, nothing found"));
    assert_int_equal(ntapi_error_get_details(error)->http_status, 200);
    ntapi_error_free(error);
    ntapi_response_free(response);

    response = perform(client, "data/2.5/find?q=London", NULL); /* without an appid */
    assert_null(ntapi_response_decode(response, city_fields, &city, sizeof city, &error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_HTTP_ERROR);
    ntapi_error_free(error);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

struct field_error {
    const char *field;
    const char *code;
};

struct field_errors {
    struct field_error *list;
    size_t count;
};

static const ntapi_field field_error_fields[] = {
    NTAPI_FIELD_STRING(struct field_error, field, "field", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct field_error, code, "code", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_END,
};

static const ntapi_field field_errors_fields[] = {
    NTAPI_FIELD_ARRAY(struct field_errors, list, count, "errors", NTAPI_FIELD_FLAG_REQUIRED, field_error_fields),
    NTAPI_FIELD_END,
};

static ntapi_error *map_field_errors(void *user_data, const ntapi_response *response) {
    (void)user_data;
    struct field_errors errors = {0};
    ntapi_decoded *decoded = ntapi_response_decode(response, field_errors_fields, &errors, sizeof errors, NULL);
    ntapi_error *error = errors.count == 1 ? ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, errors.list[0].code,
                                                                errors.list[0].field, false)
                                           : NULL;
    ntapi_decoded_free(decoded);
    return error;
}

/* The hook may read the JSON of an error such as 422, even with raw data. */
static void the_hook_decodes_the_json_of_an_http_error(void **state) {
    (void)state;
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, "issues");
    ntapi_stub_answer answer = {.size = sizeof answer,
                                .status = 422,
                                .body = "{\"errors\":[{\"field\":\"title\",\"code\":\"missing\"}]}",
                                .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
    ntapi_client *client = ntapi_client_create(NULL, "https://tracker.example");
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_hooks hooks = {.size = sizeof hooks, .map_service_error = map_field_errors};
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));

    for (int is_raw = 0; is_raw < 2; is_raw++) {
        ntapi_args *args = ntapi_args_create();
        if (is_raw)
            check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
        ntapi_response *response = perform(client, "issues", args);
        const ntapi_error *error = ntapi_response_error(response);
        assert_ptr_equal(ntapi_error_code_name(error), ntapi_code_register("missing"));
        assert_string_equal(ntapi_error_message(error), "title");
        assert_int_equal(ntapi_error_get_details(error)->http_status, 422);
        struct field_errors errors = {0};
        /* The body of an error is decoded here, too. If it does not fit, that is the error. */
        ntapi_decoded *decoded = ntapi_response_decode(response, field_errors_fields, &errors, sizeof errors, NULL);
        assert_non_null(decoded);
        assert_string_equal(errors.list[0].field, "title");
        ntapi_decoded_free(decoded);
        struct city city = {0};
        ntapi_error *misfit = NULL;
        assert_null(ntapi_response_decode(response, city_fields, &city, sizeof city, &misfit));
        assert_ptr_equal(ntapi_error_code_name(misfit), ntapi_error_code_name(error));
        ntapi_error_free(misfit);
        ntapi_response_free(response);
    }
    ntapi_client_free(client);
    ntapi_stub_free(stub);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s dates.json\n", argv[0]);
        return 2;
    }
    dates_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_is_filled),
        cmocka_unit_test(null_reads_as_absent),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(numbers_arrive_as_declared),
        cmocka_unit_test(loose_booleans_are_taken_when_asked_for),
        cmocka_unit_test(thousands_of_structs_at_the_top),
        cmocka_unit_test(structs_that_contain_themselves_have_a_bound),
        cmocka_unit_test(dates_are_read_as_in_the_other_languages),
        cmocka_unit_test(mistakes_in_a_table_are_told),
        cmocka_unit_test(longer_fields_are_read),
        cmocka_unit_test(responses_are_decoded),
        cmocka_unit_test(the_hook_decodes_the_json_of_an_http_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
