/* Log flags, the process's sink, what is logged at which level, and what must never be logged. */
#include "support.h"

#include "ntapi_python.h"

#include <stdarg.h>
#include <syslog.h>
#include <unistd.h>

/** Collects log lines. */
struct log {
    pthread_mutex_t lock;
    char text[1 << 16];
    int lines[NTAPI_LOG_ALL + 1];
    int destroys;
    int calls_after_destroy;
};

static struct log sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void receive(void *user_data, ntapi_log level, const char *message) {
    struct log *self = user_data;
    pthread_mutex_lock(&self->lock);
    size_t used = strlen(self->text);
    snprintf(self->text + used, sizeof self->text - used, "%s\n", message);
    self->lines[level & NTAPI_LOG_ALL]++;
    self->calls_after_destroy += self->destroys > 0;
    pthread_mutex_unlock(&self->lock);
}

static void log_destroy(void *user_data) {
    struct log *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->destroys++;
    pthread_mutex_unlock(&self->lock);
}

static int lines(const struct log *log, ntapi_log level) {
    return log->lines[level];
}

static int install(void **state) {
    (void)state;
    memset(sink.text, 0, sizeof sink.text);
    memset(sink.lines, 0, sizeof sink.lines);
    sink.destroys = sink.calls_after_destroy = 0;
    ntapi_log_set_sink(receive, &sink, log_destroy);
    return 0;
}

static int remove_sink(void **state) {
    (void)state;
    ntapi_log_set_sink(NULL, NULL, NULL);
    return sink.destroys == 1 && sink.calls_after_destroy == 0 ? 0 : -1;
}

/** Whether a text has ESC, or a C1 or bidirectional control in UTF-8. */
static bool has_control(const char *text) {
    return strpbrk(text, "\x1b\x07\r\x7f") != NULL || strstr(text, "\xc2\x9b") != NULL ||
           strstr(text, "\xe2\x80\xae") != NULL || strstr(text, "\xe2\x81\xa6") != NULL;
}

/** In a log, a message and a description, control characters of a server are escaped. */
static void a_server_cannot_act_on_a_terminal(void **state) {
    (void)state;
    static const char *const controls[] = {"\x1b[31m",
                                           "\x07",
                                           "\r",
                                           "\x7f",
                                           ("\xc2\x9b"
                                            "31m"),
                                           "\xe2\x80\xae",
                                           "\xe2\x81\xa6"};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        char body[64], line[64];
        snprintf(line, sizeof line, "X-A: a%sb", controls[i]);
        const char *headers[] = {line, NULL};
        /* A header cannot contain all of them. */
        bool is_sent = (unsigned char)controls[i][0] >= 0x80;
        for (int place = 0; place < 3; place++) {
            snprintf(body, sizeof body,
                     place == 0   ? "{\"a\": %s}"
                     : place == 1 ? "%s{\"a\": 1}"
                                  : "a%s\nforged",
                     controls[i]);
            ntapi_stub *stub = ntapi_stub_create();
            ntapi_stub_answer answer = {.size = sizeof answer,
                                        .status = place == 2 ? 404 : 200,
                                        .headers = is_sent ? headers : NULL,
                                        .body = body,
                                        .content_type = place == 2 ? "text/plain" : "application/json"};
            check_ok(ntapi_stub_rule_answer(ntapi_stub_on(stub, NULL, "a"), &answer, NULL));
            ntapi_client *client = ntapi_client_create(NULL, "http://api.test");
            check_ok(ntapi_client_set_stub(client, stub));
            check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_ALL));
            ntapi_response *response = ntapi_client_perform(client, "a", NULL);
            const ntapi_error *error = ntapi_response_error(response);
            if (error != NULL && has_control(ntapi_error_message(error)))
                fail_msg("control %zu in the message of place %d", i, place);
            char *described = ntapi_describe(response),
                 *lines_described = ntapi_describe(ntapi_response_headers(response));
            assert_false(has_control(described));
            assert_false(has_control(lines_described));
            check_ok(ntapi_request_log(ntapi_response_request(response), NTAPI_LOG_ERROR, body));
            ntapi_text_free(described);
            ntapi_text_free(lines_described);
            ntapi_response_free(response);
            ntapi_client_free(client);
            ntapi_stub_free(stub);
        }
    }
    assert_true(lines(&sink, NTAPI_LOG_DEBUG) > 0);
    assert_false(has_control(sink.text));
    assert_null(strstr(sink.text, "\nforged"));
}

/** Performs a request to the echo with secrets in it, logged with these flags. */
static void perform_logged(int flags) {
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_log_flags(client, flags));
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "visible", "shown"));
    check_ok(ntapi_args_url(args, "api_key", "hidden1"));
    check_ok(ntapi_args_bearer(args, "hidden2"));
    check_ok(ntapi_args_header(args, "Cookie", "a=hidden3"));
    check_ok(ntapi_args_header(args, "X-Mine", "hidden4"));
    check_ok(ntapi_args_mark_secret(args));
    ntapi_response_free(perform(client, "status/200", args));
    ntapi_client_free(client);
}

static void info_is_one_line_at_start_and_one_at_end(void **state) {
    (void)state;
    perform_logged(NTAPI_LOG_INFO);
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 2);
    assert_int_equal(lines(&sink, NTAPI_LOG_DEBUG), 0);
    assert_non_null(strstr(sink.text, "GET"));
    assert_non_null(strstr(sink.text, "/status/200"));
    assert_non_null(strstr(sink.text, "shown"));
    assert_non_null(strstr(sink.text, " 200"));
    assert_null(strstr(sink.text, "hidden"));
}

static void debug_shows_headers_but_no_secrets(void **state) {
    (void)state;
    perform_logged(NTAPI_LOG_DEBUG);
    assert_true(lines(&sink, NTAPI_LOG_DEBUG) > 0);
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 0);
    assert_null(strstr(sink.text, "hidden"));
    assert_non_null(strstr(sink.text, "<redacted>"));
    assert_non_null(strstr(sink.text, "as asked")); /* from the body */
}

static void flags_of_nothing_log_nothing(void **state) {
    (void)state;
    perform_logged(NTAPI_LOG_NONE);
    assert_string_equal(sink.text, "");
    check_invalid(ntapi_client_set_log_flags(NULL, NTAPI_LOG_ALL));
}

static void the_default_rules_until_flags_are_set(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 0);
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), NTAPI_DEFAULT_LOG_FLAGS, NTAPI_LOG_INFO));
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 2);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_ERROR));
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 2);
    ntapi_client_free(client);
}

static void a_client_says_what_it_logs(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    assert_int_equal(ntapi_client_log_flags(client), NTAPI_LOG_WARN | NTAPI_LOG_ERROR);
    check_ok(ntapi_defaults_set_number(ntapi_defaults_global(), NTAPI_DEFAULT_LOG_FLAGS, NTAPI_LOG_INFO));
    assert_int_equal(ntapi_client_log_flags(client), NTAPI_LOG_INFO);
    check_ok(ntapi_client_set_log_flags(client, 0));
    assert_int_equal(ntapi_client_log_flags(client), 0);
    check_ok(ntapi_defaults_set(ntapi_defaults_global(), NTAPI_DEFAULT_LOG_FLAGS, NULL));
    ntapi_client_free(client);
}

static void the_flags_of_the_process_rule_until_a_default_does(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 0);
    ntapi_log_set_flags(NTAPI_LOG_INFO);
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 2);
    check_ok(ntapi_defaults_set_number(ntapi_client_defaults(client), NTAPI_DEFAULT_LOG_FLAGS, NTAPI_LOG_ERROR));
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_int_equal(lines(&sink, NTAPI_LOG_INFO), 2);
    ntapi_client_free(client);
    ntapi_log_set_flags(NTAPI_LOG_WARN | NTAPI_LOG_ERROR);
}

static void the_line_about_an_error_may_be_left_to_the_program(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_ERROR));
    for (int logs = 0; logs <= 1; logs++) {
        ntapi_request *request = ntapi_client_create_request(client, "status/404", NULL);
        check_ok(ntapi_request_set_logs_error(request, logs == 1));
        check_ok(ntapi_request_resume(request));
        check_too_late(ntapi_request_set_logs_error(request, true));
        assert_int_equal(ntapi_request_wait(request, PATIENCE), NTAPI_STATUS_OK);
        assert_int_equal(lines(&sink, NTAPI_LOG_ERROR), logs);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
}

static void a_program_logs_about_a_request(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_WARN));
    ntapi_request *request = ntapi_client_create_request(client, "ok", NULL);
    check_ok(ntapi_request_log(request, NTAPI_LOG_WARN, "no such city"));
    assert_int_equal(lines(&sink, NTAPI_LOG_WARN), 1);
    assert_non_null(strstr(sink.text, ".1 no such city\n"));
    /* The flags leave this line out. */
    check_ok(ntapi_request_log(request, NTAPI_LOG_ERROR, "worse"));
    assert_int_equal(lines(&sink, NTAPI_LOG_ERROR), 0);
    check_invalid(ntapi_request_log(request, NTAPI_LOG_NONE, "x"));
    check_invalid(ntapi_request_log(request, NTAPI_LOG_ALL, "x"));
    check_invalid(ntapi_request_log(request, NTAPI_LOG_WARN, NULL));
    check_invalid(ntapi_request_log(request, NTAPI_LOG_WARN, "\xff"));
    check_invalid(ntapi_request_log(NULL, NTAPI_LOG_WARN, "x"));
    ntapi_request_free(request);
    ntapi_client_free(client);
}

struct ended {
    ntapi_client *client;
    witness seen;
};

static void *begin_and_end_thread(void *argument) {
    struct ended *ended = argument;
    begin_on(NTAPI_THREAD_CURRENT, ended->client, "late?ms=20", &ended->seen);
    return NULL;
}

static void a_thread_that_ended_is_warned_about(void **state) {
    (void)state;
    struct ended ended = {.client = client_of("fault")};
    witness_init(&ended.seen);
    on_new_thread(begin_and_end_thread, &ended);
    witness_wait(&ended.seen, 1);
    pthread_mutex_lock(&sink.lock);
    int warnings = lines(&sink, NTAPI_LOG_WARN);
    pthread_mutex_unlock(&sink.lock);
    assert_true(warnings >= 1);
    witness_free(&ended.seen);
    ntapi_client_free(ended.client);
}

static void destroy_runs_when_a_sink_is_replaced(void **state) {
    (void)state;
    static struct log second = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ntapi_log_set_sink(receive, &second, log_destroy);
    assert_int_equal(sink.destroys, 1);
    assert_int_equal(second.destroys, 0);
    perform_logged(NTAPI_LOG_INFO);
    assert_int_equal(lines(&second, NTAPI_LOG_INFO), 2);
    ntapi_log_set_sink(NULL, &second, log_destroy); /* destroy also runs for this user data */
    assert_int_equal(second.destroys, 2);
}

/* Stores in text what an action writes to standard error. */
static void capture(void (*action)(void), char *text, size_t size) {
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    action();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void perform_logged_at_info(void) {
    perform_logged(NTAPI_LOG_INFO);
}

static void standard_error_is_the_sink_until_one_is_set(void **state) {
    (void)state;
    ntapi_log_set_sink(NULL, NULL, NULL);
    char text[4096];
    capture(perform_logged_at_info, text, sizeof text);
    assert_non_null(strstr(text, "/status/200"));
    assert_null(strstr(text, "hidden"));
}

/* With a POST over HTTP/2, libcurl would log what it does with the connection, as it does for requests that share
 * one. */
static void post_then_get_over_http2(void) {
    ntapi_client *client = client_of("nginx_tls");
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, server("ca")));
    check_ok(ntapi_defaults_set_number(defaults, NTAPI_DEFAULT_LOG_FLAGS, 0));
    for (int i = 0; i < 2; i++) {
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_bearer(args, "hidden"));
        if (i == 0)
            check_ok(ntapi_args_form(args, "a", "1"));
        ntapi_response *response = perform(client, "ping", args);
        assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "X-Protocol"), "HTTP/2.0");
        ntapi_response_free(response);
    }
    ntapi_client_free(client);
}

static void libcurl_writes_nothing_to_standard_error(void **state) {
    (void)state;
    char text[4096];
    capture(post_then_get_over_http2, text, sizeof text);
    assert_string_equal(text, "");
}

/* The program's own syslog is called, not that of the C library. */
static struct {
    int priority;
    char text[1024];
} system_log;

void vsyslog(int priority, const char *format, va_list arguments) {
    system_log.priority = priority;
    vsnprintf(system_log.text, sizeof system_log.text, format, arguments);
}

static void the_systems_log_is_a_sink(void **state) {
    (void)state;
    check_invalid(ntapi_log_use_syslog("\xff"));
    check_ok(ntapi_log_use_syslog("weather"));
    perform_logged(NTAPI_LOG_INFO);
    assert_int_equal(system_log.priority, LOG_INFO);
    assert_non_null(strstr(system_log.text, "/status/200"));
    assert_null(strstr(system_log.text, "hidden"));
    ntapi_log_set_sink(NULL, NULL, NULL);
}

/* Only for a library that was built without log lines. */
static void nothing_is_ever_logged(void **state) {
    (void)state;
    ntapi_log_set_flags(NTAPI_LOG_ALL);
    perform_logged(NTAPI_LOG_ALL);
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_ALL));
    assert_int_equal(ntapi_client_log_flags(client), 0);
    ntapi_client_free(client);
    assert_string_equal(sink.text, "");
}

#ifdef NTAPI_NO_LOGGING
static const bool has_lines = false;
#else
static const bool has_lines = true;
#endif

int main(void) {
    const struct CMUnitTest tests_without_lines[] = {
        cmocka_unit_test_setup_teardown(nothing_is_ever_logged, install, remove_sink),
        cmocka_unit_test(libcurl_writes_nothing_to_standard_error),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(info_is_one_line_at_start_and_one_at_end, install, remove_sink),
        cmocka_unit_test_setup_teardown(a_server_cannot_act_on_a_terminal, install, remove_sink),
        cmocka_unit_test_setup_teardown(debug_shows_headers_but_no_secrets, install, remove_sink),
        cmocka_unit_test_setup_teardown(flags_of_nothing_log_nothing, install, remove_sink),
        cmocka_unit_test_setup_teardown(the_default_rules_until_flags_are_set, install, remove_sink),
        cmocka_unit_test(a_client_says_what_it_logs),
        cmocka_unit_test_setup_teardown(the_flags_of_the_process_rule_until_a_default_does, install, remove_sink),
        cmocka_unit_test_setup_teardown(the_line_about_an_error_may_be_left_to_the_program, install, remove_sink),
        cmocka_unit_test_setup_teardown(a_program_logs_about_a_request, install, remove_sink),
        cmocka_unit_test_setup_teardown(a_thread_that_ended_is_warned_about, install, remove_sink),
        cmocka_unit_test_setup_teardown(destroy_runs_when_a_sink_is_replaced, install, remove_sink),
        cmocka_unit_test_setup_teardown(standard_error_is_the_sink_until_one_is_set, install, remove_sink),
        cmocka_unit_test(the_systems_log_is_a_sink),
        cmocka_unit_test(libcurl_writes_nothing_to_standard_error),
    };
    if (!has_lines)
        return cmocka_run_group_tests(tests_without_lines, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
