/* The args for bodies, as an echo server sees them. */
#include "support.h"

#include <math.h>
#include <unistd.h>

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

static ntapi_json *echo(ntapi_args *args) {
    return fetch(client, "echo", args);
}

static void forms_are_encoded(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_form(args, "text", "a b&c=\xc3\xbc+"));
    check_ok(ntapi_args_form(args, "none", NULL));
    check_ok(ntapi_args_form(args, "text", ""));
    ntapi_json *seen = echo(args);
    check_string(seen, "method", "POST");
    check_string(seen, "body", "text=a+b%26c%3D%C3%BC%2B&text=");
    check_string(seen, "header[\"content-type\"]", "application/x-www-form-urlencoded");
    ntapi_json_free(seen);

    args = ntapi_args_create();
    check_ok(ntapi_args_form(args, "a", "b"));
    check_ok(ntapi_args_method(args, "GET"));
    seen = echo(args);
    check_string(seen, "method", "GET");
    check_string(seen, "body", "a=b");
    ntapi_json_free(seen);
}

static void multipart_has_texts_bytes_and_files(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "from disk", 9);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_multipart(args, "title", "Z\xc3\xbcrich"));
    check_ok(ntapi_args_multipart_data(args, "photo", "\x89PNG", 4, "photo.png", NULL));
    check_ok(ntapi_args_multipart_data(args, "blob", "b", 1, NULL, NULL));
    check_ok(ntapi_args_multipart_data(args, "note", "n", 1, "note.txt", "text/x-note"));
    check_ok(ntapi_args_multipart_file(args, "file", path, "sent.txt", "text/plain"));
    check_ok(ntapi_args_multipart(args, "none", NULL));
    check_ok(ntapi_args_multipart_data(args, "none", NULL, 0, NULL, NULL));
    check_ok(ntapi_args_multipart_file(args, "none", NULL, NULL, NULL));
    assert_int_equal(ntapi_args_count(args), 5);
    ntapi_client *weather = client_of("weather");
    ntapi_json *seen = fetch(weather, "photo", args);
    ntapi_client_free(weather);
    const struct {
        const char *name, *filename;
        int size;
    } parts[] = {{"title", NULL, 7},
                 {"photo", "photo.png", 4},
                 {"blob", "blob.bin", 1},
                 {"note", "note.txt", 1},
                 {"file", "sent.txt", 9}};
    assert_int_equal(ntapi_json_count(seen, "parts"), 5);
    for (int i = 0; i < 5; i++) {
        char at[64];
        snprintf(at, sizeof at, "parts[%d].name", i);
        check_string(seen, at, parts[i].name);
        snprintf(at, sizeof at, "parts[%d].size", i);
        assert_int_equal(ntapi_json_int(seen, at, -1), parts[i].size);
        snprintf(at, sizeof at, "parts[%d].filename", i);
        if (parts[i].filename != NULL)
            check_string(seen, at, parts[i].filename);
        else
            assert_null(ntapi_json_string(seen, at));
    }
    check_string(seen, "parts[3].content_type", "text/x-note");
    ntapi_json_free(seen);
    unlink(path);
}

static void raw_data_goes_untouched(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_data(args, "\0\xff\r\n", 4, NULL));
    check_ok(ntapi_args_data(args, NULL, 4, NULL));
    ntapi_json *seen = echo(args);
    check_string(seen, "method", "POST");
    check_string(seen, "body_base64", "AP8NCg==");
    check_string(seen, "header[\"content-type\"]", "application/octet-stream");
    ntapi_json_free(seen);

    args = ntapi_args_create();
    check_ok(ntapi_args_data(args, "", 0, "text/plain"));
    seen = echo(args);
    check_string(seen, "method", "POST");
    check_string(seen, "header[\"content-length\"]", "0");
    check_string(seen, "header[\"content-type\"]", "text/plain");
    ntapi_json_free(seen);
}

static void json_is_sent_as_json(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    ntapi_json *value = ntapi_json_parse("{ \"a\" : [1, null] }", 19, NULL);
    check_ok(ntapi_args_json(args, value));
    check_ok(ntapi_args_json(args, NULL));
    ntapi_json_free(value);
    ntapi_json *seen = echo(args);
    check_string(seen, "method", "POST");
    check_string(seen, "body", "{\"a\":[1,null]}");
    check_string(seen, "header[\"content-type\"]", "application/json");
    ntapi_json_free(seen);
}

static void members_make_an_object(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    ntapi_json *tags = ntapi_json_parse("[\"a\", {}]", 9, NULL);
    check_ok(ntapi_args_member(args, "title", "\"}, \"admin\": true, \\\n\u00e9"));
    check_ok(ntapi_args_member_int(args, "views", INT64_MIN));
    check_ok(ntapi_args_member_double(args, "size", 0.1));
    check_ok(ntapi_args_member_bool(args, "draft", false));
    check_ok(ntapi_args_member_json(args, "tags", tags));
    check_ok(ntapi_args_member(args, "left out", NULL));
    check_ok(ntapi_args_member_json(args, "left out", NULL));
    check_ok(ntapi_args_member_int(args, "views", 7));
    ntapi_json_free(tags);
    ntapi_json *seen = echo(args);
    check_string(seen, "method", "POST");
    check_string(seen, "header[\"content-type\"]", "application/json");
    const char *body = ntapi_json_string(seen, "body");
    ntapi_json *sent = ntapi_json_parse(body, strlen(body), NULL);
    check_string(sent, "title", "\"}, \"admin\": true, \\\n\u00e9");
    assert_int_equal(ntapi_json_int(sent, "views", 0), 7);
    assert_true(ntapi_json_double(sent, "size", 0) == 0.1);
    assert_false(ntapi_json_bool(sent, "draft", true));
    assert_int_equal(ntapi_json_get_type(sent, "tags[1]"), NTAPI_JSON_TYPE_OBJECT);
    assert_int_equal(ntapi_json_count(sent, ""), 5);
    ntapi_json_free(sent);
    ntapi_json_free(seen);
}

/* Those of the client and of the request make one body, as pairs of a form do. */
static void members_are_one_body(void **state) {
    (void)state;
    ntapi_args *common = ntapi_args_create();
    check_ok(ntapi_args_member(common, "app", "demo"));
    ntapi_client *own = client_of("fault");
    check_ok(ntapi_client_set_args(own, common));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_member(args, "password", "s3cret"));
    char *shown = ntapi_describe(args);
    assert_non_null(strstr(shown, "member(\"password\", <redacted>)"));
    ntapi_text_free(shown);
    ntapi_response *response = perform(own, "echo", args);
    check_string(ntapi_response_json(response), "body", "{\"app\":\"demo\",\"password\":\"s3cret\"}");
    ntapi_response_free(response);
    ntapi_args_free(common);
    ntapi_client_free(own);

    args = ntapi_args_create();
    check_ok(ntapi_args_member(args, "a", "b"));
    check_ok(ntapi_args_form(args, "a", "b"));
    check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    args = ntapi_args_create();
    check_ok(ntapi_args_member_double(args, "a", NAN));
    check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
}

static void files_are_streamed(void **state) {
    (void)state;
    enum { SIZE = 3000000 };
    static char content[SIZE];
    memset(content, 'x', SIZE);
    char path[64];
    temporary_file(path, content, SIZE);
    ntapi_client *weather = client_of("weather");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_file(args, path, "text/plain"));
    check_ok(ntapi_args_file(args, NULL, NULL));
    ntapi_json *seen = fetch(weather, "upload", args);
    assert_int_equal(ntapi_json_int(seen, "size", 0), SIZE);
    check_string(seen, "content_type", "text/plain");
    check_string(seen, "content_length", "3000000");
    ntapi_json_free(seen);
    ntapi_client_free(weather);
    unlink(path);
}

static void a_file_must_be_a_readable_file(void **state) {
    (void)state;
    const char *wrong[] = {"/nonexistent/file", "/tmp", "/dev/zero", ""};
    for (int i = 0; i < 4; i++)
        for (int multipart = 0; multipart < 2; multipart++) {
            ntapi_args *args = ntapi_args_create();
            if (multipart)
                check_ok(ntapi_args_multipart_file(args, "f", wrong[i], NULL, NULL));
            else
                check_ok(ntapi_args_file(args, wrong[i], NULL));
            check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        }
}

/** A stream of `size` bytes that counts its calls. */
struct tape {
    int64_t size, position;
    int64_t fail_at; /* -1: never */
    int rewinds, destroys, reads_after_destroy;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct tape tape(int64_t size, int64_t fail_at) {
    return (struct tape){size, 0, fail_at, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
}

static ptrdiff_t tape_read(void *user_data, void *buffer, size_t capacity) {
    struct tape *self = user_data;
    self->reads_after_destroy += self->destroys > 0;
    if (self->fail_at >= 0 && self->position >= self->fail_at)
        return -1;
    int64_t left = self->size - self->position;
    size_t count = left < (int64_t)capacity ? (size_t)left : capacity;
    memset(buffer, 'x', count);
    self->position += (int64_t)count;
    return (ptrdiff_t)count;
}

static bool tape_rewind(void *user_data) {
    struct tape *self = user_data;
    self->rewinds++;
    self->position = 0;
    return true;
}

static void tape_destroy(void *user_data) {
    struct tape *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->destroys++;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void tape_check(struct tape *self) {
    pthread_mutex_lock(&self->lock);
    while (self->destroys == 0)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(self->destroys, 1);
    assert_int_equal(self->reads_after_destroy, 0);
}

static void streams_are_pulled(void **state) {
    (void)state;
    ntapi_client *weather = client_of("weather");
    for (int known = 0; known < 2; known++) {
        struct tape source = tape(2500000, -1);
        ntapi_args *args = ntapi_args_create();
        check_ok(
            ntapi_args_stream(args, tape_read, tape_rewind, known ? source.size : -1, NULL, &source, tape_destroy));
        ntapi_json *seen = fetch(weather, "upload", args);
        assert_int_equal(ntapi_json_int(seen, "size", 0), source.size);
        if (known)
            check_string(seen, "content_length", "2500000");
        else
            check_string(seen, "transfer_encoding", "chunked");
        ntapi_json_free(seen);
        tape_check(&source);
    }
    ntapi_client_free(weather);
}

static void a_failing_stream_fails_the_request(void **state) {
    (void)state;
    struct tape source = tape(1000000, 300000);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_stream(args, tape_read, NULL, source.size, NULL, &source, tape_destroy));
    ntapi_response *response = perform(client, "echo", args);
    assert_non_null(ntapi_response_error(response));
    ntapi_response_free(response);
    tape_check(&source);
}

static void a_stream_that_ends_early_fails_the_request(void **state) {
    (void)state;
    struct tape source = tape(1000, -1);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_stream(args, tape_read, NULL, 2000, NULL, &source, tape_destroy));
    ntapi_response *response = perform(client, "echo", args);
    assert_non_null(ntapi_response_error(response));
    ntapi_response_free(response);
    tape_check(&source);
}

static void redirects_rewind_a_stream(void **state) {
    (void)state;
    for (int can = 0; can < 2; can++) {
        struct tape source = tape(100000, -1);
        ntapi_args *args = ntapi_args_create();
        check_ok(
            ntapi_args_stream(args, tape_read, can ? tape_rewind : NULL, source.size, NULL, &source, tape_destroy));
        ntapi_response *response = perform(client, "chain/1?status=307", args);
        if (can) {
            assert_int_equal(code_of(response), NTAPI_CODE_NONE);
            assert_int_equal(ntapi_json_int(ntapi_response_json(response), "size", 0), source.size);
            assert_int_equal(source.rewinds, 1);
        } else {
            assert_int_not_equal(code_of(response), NTAPI_CODE_NONE);
        }
        ntapi_response_free(response);
        tape_check(&source);
    }
}

static void a_stream_is_used_once(void **state) {
    (void)state;
    /* A second request would send the rest of the stream, which is empty. Without a length, nobody would notice. */
    for (int known = 0; known < 2; known++) {
        struct tape source = tape(1000, -1);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_stream(args, tape_read, tape_rewind, known ? 1000 : -1, NULL, &source, tape_destroy));
        ntapi_response *response = ntapi_client_perform(client, "echo", args);
        assert_int_equal(code_of(response), NTAPI_CODE_NONE);
        ntapi_response_free(response);
        check_error(perform(client, "echo", args), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        tape_check(&source);
    }
}

static void stream_is_destroyed_when_it_is_not_taken(void **state) {
    (void)state;
    struct tape source = tape(10, -1);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_stream(args, NULL, NULL, 10, NULL, &source, tape_destroy));
    assert_int_equal(source.destroys, 1);
    check_invalid(ntapi_args_stream(NULL, tape_read, NULL, 10, NULL, &source, tape_destroy));
    assert_int_equal(source.destroys, 2);
    check_invalid(ntapi_args_stream(args, tape_read, NULL, 10, "\xff", &source, tape_destroy));
    assert_int_equal(source.destroys, 3);
    check_ok(ntapi_args_stream(args, tape_read, NULL, 10, NULL, &source, tape_destroy));
    ntapi_args_free(args);
    assert_int_equal(source.destroys, 4);
}

/** Appends a body of one of the six kinds. */
static const char *append_body(ntapi_args *args, int kind) {
    static const char *names[] = {"form", "multipart", "data", "json", "file", "stream"};
    static struct tape source;
    ntapi_json *value = ntapi_json_parse("{}", 2, NULL);
    switch (kind) {
    case 0:
        check_ok(ntapi_args_form(args, "a", "b"));
        break;
    case 1:
        check_ok(ntapi_args_multipart(args, "a", "b"));
        break;
    case 2:
        check_ok(ntapi_args_data(args, "x", 1, NULL));
        break;
    case 3:
        check_ok(ntapi_args_json(args, value));
        break;
    case 4:
        check_ok(ntapi_args_file(args, "/etc/hostname", NULL));
        break;
    default:
        check_ok(ntapi_args_stream(args, tape_read, NULL, 1, NULL, &source, NULL));
    }
    ntapi_json_free(value);
    return names[kind];
}

static void two_kinds_of_body_exclude_each_other(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            if (i == j && i < 2)
                continue; /* fields of one form */
            ntapi_args *args = ntapi_args_create();
            const char *one = append_body(args, i), *other = append_body(args, j);
            ntapi_response *response = perform(client, "echo", args);
            const char *message = ntapi_error_message(ntapi_response_error(response));
            if (message == NULL)
                fail_msg("%s and %s went together", one, other);
            if (strstr(message, one) == NULL || strstr(message, other) == NULL)
                fail_msg("\"%s\" does not name %s and %s", message, one, other);
            check_error(response, NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_encoded),
        cmocka_unit_test(multipart_has_texts_bytes_and_files),
        cmocka_unit_test(raw_data_goes_untouched),
        cmocka_unit_test(json_is_sent_as_json),
        cmocka_unit_test(members_make_an_object),
        cmocka_unit_test(members_are_one_body),
        cmocka_unit_test(files_are_streamed),
        cmocka_unit_test(a_file_must_be_a_readable_file),
        cmocka_unit_test(streams_are_pulled),
        cmocka_unit_test(a_failing_stream_fails_the_request),
        cmocka_unit_test(a_stream_that_ends_early_fails_the_request),
        cmocka_unit_test(redirects_rewind_a_stream),
        cmocka_unit_test(a_stream_is_used_once),
        cmocka_unit_test(stream_is_destroyed_when_it_is_not_taken),
        cmocka_unit_test(two_kinds_of_body_exclude_each_other),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
