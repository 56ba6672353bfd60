/* Sessions: configurations and cookies. */
#include "child.h"
#include "files.h"
#include "session.h"
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static void kinds(void **state) {
    (void)state;
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_BACKGROUND, "uploads");
    check_new_text(ntapi_describe(configuration), "ntapi_configuration background(identifier: \"uploads\")");
    ntapi_configuration_free(configuration);
    configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_DEFAULT, NULL);
    check_new_text(ntapi_describe(configuration), "ntapi_configuration default");
    ntapi_configuration_free(configuration);
    assert_null(ntapi_configuration_create(NTAPI_SESSION_KIND_NONE, NULL));
    assert_null(ntapi_configuration_create(NTAPI_SESSION_KIND_BACKGROUND, NULL));
    assert_null(ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, "named"));
    assert_null(ntapi_configuration_create((ntapi_session_kind)77, NULL));
    assert_null(ntapi_configuration_defaults(NULL));
}

static void is_copied_and_looked_up_before_the_class(void **state) {
    (void)state;
    ntapi_class *class = ntapi_class_create("Sessions", NULL);
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(class), "unit", "class"));
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(class), "other", "class"));
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, "unit", "configuration");
    ntapi_client *client = ntapi_client_create_with_configuration(class, "http://h", configuration);
    set_string(configuration, "unit", "later");
    set_string(configuration, "other", "later");
    ntapi_configuration_free(configuration);
    const char *const expected[][2] = {{"unit", "configuration"}, {"other", "class"}};
    for (size_t i = 0; i < 2; i++) {
        ntapi_json *value = ntapi_defaults_get(ntapi_client_defaults(client), expected[i][0]);
        assert_string_equal(ntapi_json_string(value, NULL), expected[i][1]);
        ntapi_json_free(value);
    }
    ntapi_client_free(client);
    ntapi_class_free(class);
}

/** The Cookie header that the server gets, in the caller's buffer; "(none)" if there is none. */
static const char *cookies_sent(ntapi_client *client, char text[static 128]) {
    ntapi_json *seen = fetch(client, "echo", NULL);
    const char *sent = ntapi_json_string(seen, "header.cookie");
    snprintf(text, 128, "%s", sent != NULL ? sent : "(none)");
    ntapi_json_free(seen);
    return text;
}

static void set_by_server(ntapi_client *client, const char *line) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "set", line));
    ntapi_json_free(fetch(client, "set-cookie", args));
    ntapi_args_free(args);
}

/** Follows a redirect to another site, which sets a cookie. Returns how many hosts have a cookie then. */
static size_t places_with(const char *policy) {
    char target[128];
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY, policy);
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    snprintf(target, sizeof target, "http://localhost%s/set-cookie?set=b%%3D2%%3B%%20Path%%3D/",
             strrchr(server("fault"), ':'));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "set", "a=1; Path=/"));
    check_ok(ntapi_args_url(args, "to", target));
    ntapi_json_free(fetch(client, "set-cookie", args));
    ntapi_json *all = ntapi_cookie_storage_get(ntapi_client_cookies(client), NULL);
    size_t count = ntapi_json_count(all, NULL);
    if (count == 1)
        check_string(all, "[0].domain", "127.0.0.1");
    ntapi_json_free(all);
    ntapi_client_free(client);
    return count;
}

static void which_places_may_set_a_cookie(void **state) {
    (void)state;
    assert_int_equal(places_with("always"), 2);
    assert_int_equal(places_with("only_from_main_document"), 1);
    assert_int_equal(places_with(NULL), 1);
    assert_int_equal(places_with("never"), 0);
}

static ntapi_status set_cookie(ntapi_cookie_storage *storage, const char *text, ntapi_error **error) {
    ntapi_json *cookie = ntapi_json_parse(text, strlen(text), NULL);
    assert_non_null(cookie);
    ntapi_status status = ntapi_cookie_storage_set(storage, cookie, error);
    ntapi_json_free(cookie);
    return status;
}

static void cookies_are_taken_sent_set_and_deleted(void **state) {
    (void)state;
    char text[128];
    ntapi_configuration *configuration = ephemeral();
    ntapi_client *client = session_of("fault", configuration), *other = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    ntapi_cookie_storage *storage = ntapi_client_cookies(client);
    assert_non_null(storage);
    set_by_server(client, "a=1; Path=/; Max-Age=1000; HttpOnly");
    assert_string_equal(cookies_sent(client, text), "a=1");
    assert_string_equal(cookies_sent(other, text), "(none)");
    check_ok(set_cookie(storage,
                        "{\"name\":\"b\",\"value\":\"2\",\"domain\":\".example.test\",\"path\":\"/x\",\"secure\":true}",
                        NULL));

    ntapi_json *all = ntapi_cookie_storage_get(storage, NULL);
    assert_int_equal(ntapi_json_count(all, NULL), 2);
    check_string(all, "[0].name", "a");
    assert_true(ntapi_json_bool(all, "[0].httpOnly", false));
    assert_true(ntapi_json_double(all, "[0].expires", 0) > 1e9);
    assert_int_equal(ntapi_json_get_type(all, "[1].expires"), NTAPI_JSON_TYPE_ABSENT);
    assert_true(ntapi_json_bool(all, "[1].includesSubdomains", false));
    ntapi_json_free(all);
    ntapi_json *some = ntapi_cookie_storage_get(storage, "https://www.example.test/x/y");
    assert_int_equal(ntapi_json_count(some, NULL), 1);
    ntapi_json_free(some);
    assert_null(ntapi_cookie_storage_get(storage, "nonsense"));

    const char *const wrong[] = {"5", "{}", "{\"name\":\"a\",\"value\":\"x;y\",\"domain\":\"h\"}",
                                 "{\"name\":\"a\",\"value\":\"1\",\"domain\":\"h\",\"secure\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_error *error = NULL;
        check_invalid(set_cookie(storage, wrong[i], &error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        ntapi_error_free(error);
    }
    check_ok(ntapi_cookie_storage_delete(storage, "a", "elsewhere", NULL));
    assert_string_equal(cookies_sent(client, text), "a=1");
    check_ok(ntapi_cookie_storage_delete(storage, "a", "127.0.0.1", "/"));
    assert_string_equal(cookies_sent(client, text), "(none)");
    check_ok(ntapi_cookie_storage_clear(storage));
    check_ok(ntapi_cookie_storage_save(storage, NULL));
    ntapi_client_free(client);
    check_invalid(ntapi_cookie_storage_clear(storage));
    ntapi_client_free(other);
    client = client_of("fault");
    assert_null(ntapi_client_cookies(client));
    ntapi_client_free(client);
}

static void not_for_a_public_suffix(void **state) {
    (void)state;
    ntapi_client *client = session_of("fault", ephemeral());
    ntapi_cookie_storage *storage = ntapi_client_cookies(client);
    const char *const refused[] = {"co.uk", ".co.uk", ".com", "github.io"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[128];
        ntapi_error *error = NULL;
        snprintf(text, sizeof text, "{\"name\":\"a\",\"value\":\"1\",\"domain\":\"%s\"}", refused[i]);
        check_invalid(set_cookie(storage, text, &error));
        assert_non_null(strstr(ntapi_error_message(error), "public suffix"));
        ntapi_error_free(error);
    }
    check_ok(set_cookie(storage, "{\"name\":\"a\",\"value\":\"1\",\"domain\":\".example.co.uk\"}", NULL));
    check_ok(set_cookie(storage, "{\"name\":\"a\",\"value\":\"1\",\"domain\":\"intranet\"}", NULL));
    ntapi_client_free(client);
}

/** A text with the names and values of COUNT cookies of SIZE bytes. The caller frees it. */
static char *long_cookies(const char *before, int count, const char *value) {
    size_t size = strlen(before) + (size_t)count * (strlen(value) + 8) + 1;
    char *text = malloc(size), *end = text;
    assert_non_null(text);
    end += snprintf(end, size, "%s", before);
    for (int i = 0; i < count; i++)
        end += snprintf(end, size - (size_t)(end - text), "%sn%d=%s", end == text ? "" : "; ", i, value);
    return text;
}

/** More cookies than libcurl sends by itself: those of the program, longer paths first and then the oldest, and a
 * server's. */
static void all_cookies_are_sent_however_long(void **state) {
    (void)state;
    static char value[4091], line[4200];
    const int counts[] = {5, 50}, sizes[] = {2000, 4090};
    for (int i = 0; i < 2; i++) {
        memset(value, 'v', (size_t)sizes[i]);
        value[sizes[i]] = '\0';
        ntapi_configuration *configuration = ephemeral();
        ntapi_client *client = session_of("fault", configuration);
        ntapi_configuration_free(configuration);
        ntapi_cookie_storage *storage = ntapi_client_cookies(client);
        for (int j = 0; j < counts[i]; j++) {
            snprintf(line, sizeof line, "{\"name\":\"n%d\",\"value\":\"%s\",\"domain\":\"127.0.0.1\"}", j, value);
            check_ok(set_cookie(storage, line, NULL));
        }
        check_ok(set_cookie(storage, "{\"name\":\"last\",\"value\":\"1\",\"domain\":\"127.0.0.1\",\"path\":\"/echo\"}",
                            NULL));
        char *expected = long_cookies("last=1", counts[i], value);
        ntapi_json *seen = fetch(client, "echo", NULL);
        check_string(seen, "header.cookie", expected);
        free(expected);
        ntapi_json_free(seen);

        check_ok(ntapi_cookie_storage_clear(storage));
        for (int j = 0; j < 5; j++) {
            snprintf(line, sizeof line, "n%d=%s; Path=/", j, value);
            set_by_server(client, line);
        }
        set_by_server(client, "last=1; Path=/echo");
        expected = long_cookies("last=1", 5, value);
        seen = fetch(client, "echo", NULL);
        check_string(seen, "header.cookie", expected);
        free(expected);
        ntapi_json_free(seen);
        ntapi_client_free(client);
    }
}

static void cookie_settings(void **state) {
    (void)state;
    char text[128];
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY, "never");
    ntapi_client *client = session_of("fault", configuration);
    set_by_server(client, "a=1; Path=/");
    assert_string_equal(cookies_sent(client, text), "(none)");
    ntapi_client_free(client);
    set_string(configuration, NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY, "always");
    check_ok(ntapi_defaults_set_bool(ntapi_configuration_defaults(configuration), NTAPI_DEFAULT_SENDS_COOKIES, false));
    client = session_of("fault", configuration);
    set_by_server(client, "a=1; Path=/");
    assert_string_equal(cookies_sent(client, text), "(none)");
    ntapi_json *all = ntapi_cookie_storage_get(ntapi_client_cookies(client), NULL);
    assert_int_equal(ntapi_json_count(all, NULL), 1);
    ntapi_json_free(all);
    ntapi_client_free(client);
    set_string(configuration, NTAPI_DEFAULT_APPLICATION_NAME, "../elsewhere");
    assert_int_equal(code_with(configuration, "fault", "ok"), NTAPI_CODE_INVALID_REQUEST);
}

/** Runs in its own process. Sets a cookie, unless it is empty. Reports whether the server gets the expected header. */
static int child(ntapi_session_kind kind, const char *set, const char *expected) {
    char text[128];
    ntapi_configuration *configuration = ntapi_configuration_create(kind, NULL);
    ntapi_client *client = session_of("fault", configuration);
    if (*set != '\0')
        set_by_server(client, set);
    int result = strcmp(cookies_sent(client, text), expected);
    ntapi_configuration_free(configuration);
    ntapi_client_free(client);
    return result == 0 ? 0 : 1;
}

/** Runs a child with that folder as its home. */
static void in_a_process(const char *folder, ntapi_session_kind kind, const char *set, const char *expected) {
    char home[96], data[96];
    snprintf(home, sizeof home, "HOME=%s", folder);
    snprintf(data, sizeof data, "XDG_DATA_HOME=%s", folder);
    const char *name = kind == NTAPI_SESSION_KIND_DEFAULT ? "default" : "ephemeral";
    const char *const arguments[] = {name, set, expected, NULL}, *const variables[] = {home, data, NULL};
    assert_int_equal(run_child(arguments, variables), 0);
}

static void cookies_outlive_the_process(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    in_a_process(folder, NTAPI_SESSION_KIND_EPHEMERAL, "a=1; Path=/; Max-Age=1000", "a=1");
    /* Nothing was written, so the folder can be removed. */
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    in_a_process(folder, NTAPI_SESSION_KIND_DEFAULT, "a=1; Path=/; Max-Age=1000", "a=1");
    in_a_process(folder, NTAPI_SESSION_KIND_DEFAULT, "", "a=1");
    in_a_process(folder, NTAPI_SESSION_KIND_EPHEMERAL, "", "(none)");
    in_a_process(folder, NTAPI_SESSION_KIND_DEFAULT, "a=; Path=/; Max-Age=0", "(none)");
    in_a_process(folder, NTAPI_SESSION_KIND_DEFAULT, "", "(none)");
    remove_all(folder);
}

int main(int argc, char **argv) {
    if (argc == 4) {
        bool persists = strcmp(argv[1], "default") == 0;
        return child(persists ? NTAPI_SESSION_KIND_DEFAULT : NTAPI_SESSION_KIND_EPHEMERAL, argv[2], argv[3]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(is_copied_and_looked_up_before_the_class),
        cmocka_unit_test(cookies_are_taken_sent_set_and_deleted),
        cmocka_unit_test(not_for_a_public_suffix),
        cmocka_unit_test(all_cookies_are_sent_however_long),
        cmocka_unit_test(cookie_settings),
        cmocka_unit_test(which_places_may_set_a_cookie),
        cmocka_unit_test(cookies_outlive_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
