/* JSON as values of an interpreter. This one records the calls. */
#include "support.h"

#include "ntapi_python.h"

#include <poll.h>

/* A value is its text. Lists and dictionaries grow when they are filled, and own their elements. */
struct value {
    int references;
    char opening;
    char text[64];
    struct value *parts[32];
    int count;
};

static int alive;
/* How many values can be made before memory runs out. A negative number means no limit. */
static int room = -1;

static struct value singletons[3] = {
    {.references = 1, .text = "null"}, {.references = 1, .text = "true"}, {.references = 1, .text = "false"}};

static struct value *made(const char *text) {
    if (room == 0) {
        return NULL;
    }
    room -= room > 0;
    struct value *value = calloc(1, sizeof *value);
    assert_non_null(value);
    value->references = 1;
    snprintf(value->text, sizeof value->text, "%s", text);
    alive++;
    return value;
}

static void retain(void *object) {
    ((struct value *)object)->references++;
}

static void release(void *object) {
    struct value *value = object;
    assert_true(value->references > 0);
    if (--value->references > 0) {
        return;
    }
    for (int part = 0; part < value->count; part++) {
        release(value->parts[part]);
    }
    free(value);
    alive--;
}

static void *make_int(int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return made(text);
}

static void *parse_int(const char *text, char **end, int base) {
    assert_null(end);
    assert_int_equal(base, 10);
    return made(text);
}

static void *make_float(double number) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", number);
    return made(text);
}

static void *make_text(const char *bytes, ptrdiff_t length, const char *how) {
    char text[64];
    assert_string_equal(how, "surrogatepass");
    snprintf(text, sizeof text, "'%.*s'", (int)length, bytes);
    return made(text);
}

static struct value *new_texts[8];
static int new_text_count;

/* The library writes the letters of the new text. */
static void *new_text(ptrdiff_t length, uint32_t largest) {
    assert_in_range(length, 2, 62);
    assert_int_equal(largest, 127);
    struct value *text = made("");
    if (text) {
        memset(text->text, '?', sizeof text->text);
        new_texts[new_text_count++] = text;
    }
    return text;
}

static void *make_list(ptrdiff_t count) {
    struct value *list = made("");
    if (list) {
        list->opening = '[';
        assert_in_range(count, 0, 32);
    }
    return list;
}

static int set_item(void *list, ptrdiff_t index, void *item) {
    struct value *owner = list;
    assert_int_equal(index, owner->count);
    owner->parts[owner->count++] = item;
    return 0;
}

static void *make_dict(void) {
    struct value *dict = made("");
    if (dict) {
        dict->opening = '{';
    }
    return dict;
}

static int set_member(void *dict, void *key, void *value) {
    struct value *owner = dict;
    if (room == 0) {
        return -1;
    }
    retain(key);
    retain(value);
    owner->parts[owner->count++] = key;
    owner->parts[owner->count++] = value;
    return 0;
}

static const ntapi_python python = {
    .none = &singletons[0],
    .yes = &singletons[1],
    .no = &singletons[2],
    .retain = retain,
    .release = release,
    .make_int = make_int,
    .parse_int = parse_int,
    .make_float = make_float,
    .make_text = make_text,
    .make_list = make_list,
    .set_item = set_item,
    .make_dict = make_dict,
    .set_member = set_member,
};

/* The PyMethodDef of a function in CPython, with the METH_FASTCALL convention. */
struct definition {
    const char *name;
    void *(*function)(void *self, void **arguments, ptrdiff_t count);
    int flags;
    const char *documentation;
};

static int unlocked;
static void *exception;

static void *make_function(void *definition, void *self, void *module) {
    assert_null(self);
    assert_null(module);
    assert_int_equal(((struct definition *)definition)->flags, 0x80);
    return definition;
}

static void *read_address(void *integer) {
    char *end;
    unsigned long long address = strtoull(((struct value *)integer)->text, &end, 10);
    exception = *end ? integer : NULL;
    return *end ? NULL : (void *)(uintptr_t)address;
}

static char *read_bytes(void *bytes) {
    struct value *value = bytes;
    exception = value == &singletons[0] ? value : NULL;
    return exception ? NULL : value->text;
}

static void *error(void) {
    return exception;
}

static void *unlock(void) {
    assert_int_equal(unlocked++, 0);
    return &unlocked;
}

static void lock(void *thread) {
    assert_ptr_equal(thread, &unlocked);
    assert_int_equal(unlocked--, 1);
}

static ntapi_python calling(void) {
    ntapi_python interpreter = python;
    interpreter.make_function = make_function;
    interpreter.read_address = read_address;
    interpreter.read_bytes = read_bytes;
    interpreter.error = error;
    interpreter.unlock = unlock;
    interpreter.lock = lock;
    return interpreter;
}

static void *call(const char *name, void **arguments, ptrdiff_t count) {
    ntapi_python interpreter = calling();
    struct definition *definition = ntapi_python_function(&interpreter, name);
    assert_non_null(definition);
    assert_string_equal(definition->name, name);
    exception = NULL;
    void *result = definition->function(NULL, arguments, count);
    assert_int_equal(unlocked, 0);
    return result;
}

static void *integer(const void *address) {
    return make_int((int64_t)(uintptr_t)address);
}

static void describe(const struct value *value, char *text) {
    if (!value->opening) {
        strcat(text, value->text);
        return;
    }
    strncat(text, &value->opening, 1);
    for (int part = 0; part < value->count; part++) {
        describe(value->parts[part], text);
        strcat(text, ",");
    }
    strcat(text, value->opening == '[' ? "]" : "}");
}

static ntapi_response *answer(const char *json, ntapi_args *args) {
    ntapi_client *client = ntapi_client_create(NULL, "http://stub.example");
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "/*");
    ntapi_stub_answer with = {.size = sizeof with, .body = json, .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &with, NULL));
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_response *response = perform(client, "any", args);
    ntapi_stub_rule_free(rule);
    ntapi_stub_free(stub);
    ntapi_client_free(client);
    return response;
}

static void check_with(const ntapi_python *functions, const char *json, const char *expected) {
    ntapi_response *response = answer(json, NULL);
    struct value *value = ntapi_response_json_python(response, functions);
    assert_non_null(value);
    char text[1024] = "";
    describe(value, text);
    assert_string_equal(text, expected);
    release(value);
    ntapi_response_free(response);
}

static void check(const char *json, const char *expected) {
    check_with(&python, json, expected);
    assert_int_equal(alive, 0);
}

static void values_are_made_in_order(void **state) {
    (void)state;
    check("7", "7");
    check("[]", "[]");
    check("{}", "{}");
    check("[null,true,false,-0,1.5,123456789012345678901234567890]",
          "[null,true,false,0,1.5,123456789012345678901234567890,]");
    check("{\"a\":[1,{\"a\":\"b\\u0041\"},[]],\"b\":{}}", "{'a',[1,{'a','bA',},[],],'b',{},}");
    check("\"a\\nb\"", "'a\nb'");
}

static void ascii_texts_are_written_into_new_ones(void **state) {
    (void)state;
    ntapi_python direct = python;
    direct.new_text = new_text;
    direct.text_offset = offsetof(struct value, text);
    /* The interpreter itself makes texts of one letter and empty texts. */
    check_with(&direct, "[\"ab\",\"12345678\",\"123456789\",\"a\",\"\",\"a\\u00e9\",\"caf\u00e9\",\"a\\u0041\"]",
               "[ab,12345678,123456789,'a','','a\u00e9','caf\u00e9',aA,]");
    assert_int_equal(new_text_count, 4);
    assert_int_equal(alive, 0);

    /* Without both offsets, the place of a text's letters is unknown. */
    direct.text_offset = 0;
    check_with(&direct, "[\"ab\"]", "['ab',]");
    new_text_count = 0;
}

static void keys_are_kept_where_the_caller_has_room(void **state) {
    (void)state;
    ntapi_python keeping = python;
    keeping.new_text = new_text;
    keeping.text_offset = offsetof(struct value, text);
    keeping.keys = calloc(1, NTAPI_PYTHON_KEYS_SIZE);
    assert_non_null(keeping.keys);
    check_with(&keeping, "{\"ab\":1,\"cd\":[{\"ab\":2,\"cd\":3}]}", "{ab,1,cd,[{ab,2,cd,3,},],}");
    assert_int_equal(new_text_count, 2);
    assert_int_equal(alive, 2);
    check_with(&keeping, "{\"cd\":\"ef\",\"ab\":0}", "{cd,ef,ab,0,}");
    assert_int_equal(new_text_count, 3);
    assert_int_equal(alive, 2);
    release(new_texts[0]);
    release(new_texts[1]);
    assert_int_equal(alive, 0);
    free(keeping.keys);
    new_text_count = 0;
}

static void a_function_that_fails_ends_it_without_a_leak(void **state) {
    (void)state;
    ntapi_response *response = answer("[{\"a\":[1,2.5,{\"b\\n\":\"c\"}],\"d\":[],\"a\":true}]", NULL);
    int needed = 0;
    for (;; needed++) {
        room = needed;
        struct value *value = ntapi_response_json_python(response, &python);
        room = -1;
        if (value) {
            release(value);
            break;
        }
        assert_int_equal(alive, 0);
    }
    assert_int_equal(alive, 0);
    assert_true(needed > 10);
    for (int each = 0; each < 3; each++) {
        assert_int_equal(singletons[each].references, 1);
    }
    ntapi_response_free(response);
}

static void without_json_there_is_no_value(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_response *response = answer("[]", args);
    assert_null(ntapi_response_json_python(response, &python));
    ntapi_response_free(response);

    response = answer("[]", NULL);
    ntapi_python incomplete = python;
    incomplete.set_member = NULL;
    assert_null(ntapi_response_json_python(response, &incomplete));
    assert_null(ntapi_response_json_python(response, NULL));
    assert_null(ntapi_response_json_python(NULL, &python));
    ntapi_response_free(response);
}

static void a_document_has_values_too(void **state) {
    (void)state;
    ntapi_response *response = answer("{\"a\":[1,{\"b\":null}]}", NULL);
    struct value *value = ntapi_json_python(ntapi_response_json(response), &python);
    assert_non_null(value);
    char text[1024] = "";
    describe(value, text);
    assert_string_equal(text, "{'a',[1,{'b',null,},],}");
    release(value);
    assert_null(ntapi_json_python(ntapi_response_json(response), NULL));
    assert_null(ntapi_json_python(NULL, &python));
    ntapi_response_free(response);
    ntapi_json *built = ntapi_json_create_string("text");
    assert_null(ntapi_json_python(built, &python));
    ntapi_json_free(built);
    assert_int_equal(alive, 0);
}

static void functions_take_and_return_values(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, "http://127.0.0.1:1");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_watch watch = {.timeout = -1, .descriptor = -1};
    void *arguments[] = {integer(client), made("any"), &singletons[0], integer(&watch), &singletons[0]};

    struct value *status = call("ntapi_client_perform_watching", arguments, 4);
    assert_string_equal(status->text, "0");
    assert_non_null(watch.response);
    assert_int_equal(ntapi_error_code(ntapi_response_error(watch.response)), NTAPI_CODE_NETWORK);
    void *response = integer(watch.response);
    struct value *none = call("ntapi_response_free", &response, 1);
    assert_ptr_equal(none, &singletons[0]);
    release(none);
    /* The client is freed, so it is a wrong handle. */
    assert_int_equal(ntapi_error_code(ntapi_response_error(watch.response)), NTAPI_CODE_INVALID_REQUEST);

    int token = 0;
    release(arguments[3]);
    arguments[3] = integer(mailbox);
    arguments[4] = integer(&token);
    struct value *request = call("ntapi_client_begin_event", arguments, 5);
    assert_string_not_equal(request->text, "0");
    ntapi_event event;
    while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 0) {
        poll(&(struct pollfd){.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN}, 1, -1);
    }
    assert_ptr_equal(event.user_data, &token);
    ntapi_response_free(event.response);

    ntapi_response *with_json = answer("[1,2]", NULL);
    ntapi_python interpreter = calling();
    void *of_json[] = {integer(with_json), integer(&interpreter)};
    struct value *list = call("ntapi_response_json_python", of_json, 2);
    assert_int_equal(list->count, 2);
    ntapi_response_free(with_json);
    none = call("ntapi_response_json_python", of_json, 2);
    assert_ptr_equal(none, &singletons[0]);
    release(none);

    ntapi_args *args = ntapi_args_create();
    const char *body = "{\"a\": [1]}";
    void *of_text[] = {integer(args), made(body), integer((void *)strlen(body))};
    struct value *done = call("ntapi_args_json_text", of_text, 3);
    assert_string_equal(done->text, "0");
    assert_int_equal(ntapi_args_count(args), 1);
    release(done);
    release(of_text[2]);
    of_text[2] = integer((void *)4);
    done = call("ntapi_args_json_text", of_text, 3);
    assert_string_not_equal(done->text, "0");
    assert_int_equal(ntapi_args_count(args), 1);
    release(done);
    for (int each = 0; each < 3; each++) {
        release(of_text[each]);
    }
    ntapi_args_free(args);

    void *values[] = {status, response, request, list, of_json[0], of_json[1]};
    for (int each = 0; each < 6; each++) {
        release(values[each]);
    }
    for (int each = 0; each < 5; each++) {
        if (arguments[each] != &singletons[0]) {
            release(arguments[each]);
        }
    }
    assert_int_equal(alive, 0);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void functions_refuse_what_is_no_argument_of_theirs(void **state) {
    (void)state;
    void *none = &singletons[0];
    void *wrong = made("no number");
    void *nothing[] = {none, none, none, none, none};
    void *wrongs[] = {wrong, wrong, wrong, wrong, wrong};
    const char *names[] = {"ntapi_response_free",           "ntapi_response_json_python", "ntapi_json_python",
                           "ntapi_client_perform_watching", "ntapi_client_begin_event",   "ntapi_args_json_text"};
    const ptrdiff_t counts[] = {1, 2, 2, 4, 5, 3};
    for (int each = 0; each < 6; each++) {
        assert_null(call(names[each], nothing, counts[each] - 1));
        assert_null(call(names[each], NULL, counts[each]));
        assert_null(call(names[each], wrongs, counts[each]));
        assert_non_null(exception);
    }
    /* None means NULL, but it is not a text. */
    assert_null(call(names[4], nothing, 5));
    assert_non_null(exception);
    release(wrong);
    assert_int_equal(alive, 0);

    ntapi_python interpreter = calling();
    assert_null(ntapi_python_function(&interpreter, "ntapi_version"));
    assert_null(ntapi_python_function(&interpreter, NULL));
    assert_null(ntapi_python_function(NULL, names[0]));
    interpreter.lock = NULL;
    assert_null(ntapi_python_function(&interpreter, names[0]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_made_in_order),
        cmocka_unit_test(ascii_texts_are_written_into_new_ones),
        cmocka_unit_test(keys_are_kept_where_the_caller_has_room),
        cmocka_unit_test(a_function_that_fails_ends_it_without_a_leak),
        cmocka_unit_test(a_document_has_values_too),
        cmocka_unit_test(functions_take_and_return_values),
        cmocka_unit_test(functions_refuse_what_is_no_argument_of_theirs),
        cmocka_unit_test(without_json_there_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
