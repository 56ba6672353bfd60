/*
 * A program may ignore the status of a mistake. Then the library sends no wrong request: the mistake fails the request,
 * with the name of the function. There is one row for each function that appends an arg, and the same for hooks and for
 * the answers of stubs and interceptors.
 *
 *   test_mistakes HEADER
 */
#include "support.h"

#include <math.h>

static const char *header;
static ntapi_client *client;
static ntapi_stub *stub;

static int open_client(void **state) {
    (void)state;
    client = ntapi_client_create(NULL, "https://api.test");
    stub = ntapi_stub_create();
    ntapi_stub_rule_free(ntapi_stub_on(stub, NULL, NULL));
    check_ok(ntapi_client_set_stub(client, stub));
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    return 0;
}

/** Performs a request that must fail with a message that contains the text. It must reach no server. */
static void check_refused_by(ntapi_client *of, const ntapi_args *args, const char *text) {
    ntapi_response *response = ntapi_client_perform(of, "things", args);
    const ntapi_error *error = ntapi_response_error(response);
    if (code_of(response) != NTAPI_CODE_INVALID_REQUEST || strstr(ntapi_error_message(error), text) == NULL)
        fail_msg("a request with a mistake in %s: %s", text, error == NULL ? "sent" : ntapi_error_message(error));
    ntapi_response_free(response);
}

static void check_refused(const ntapi_args *args, const char *text) {
    check_refused_by(client, args, text);
}

static ptrdiff_t read_nothing(void *user_data, void *buffer, size_t capacity) {
    (void)user_data, (void)buffer, (void)capacity;
    return 0;
}

#define BAD "\xff"
static const ntapi_retry_policy no_size = {.attempts = 4};
static const ntapi_retry_policy no_attempts = {.size = sizeof(ntapi_retry_policy)};

/* Each call has a mistake, but the handle is right. */
#define rows(row)                                                                                                      \
    row(ntapi_args_append, (args, NULL));                                                                              \
    row(ntapi_args_append_json, (args, "[7]", 3, NULL));                                                               \
    row(ntapi_args_url, (args, "q", BAD));                                                                             \
    row(ntapi_args_url, (args, NULL, "London"));                                                                       \
    row(ntapi_args_url_int, (args, BAD, 1));                                                                           \
    row(ntapi_args_url_double, (args, BAD, 1));                                                                        \
    row(ntapi_args_url_bool, (args, BAD, true));                                                                       \
    row(ntapi_args_url_default, (args, "q", BAD));                                                                     \
    row(ntapi_args_path, (args, "id", BAD));                                                                           \
    row(ntapi_args_path_int, (args, BAD, 1));                                                                          \
    row(ntapi_args_path_double, (args, BAD, 1));                                                                       \
    row(ntapi_args_path_bool, (args, BAD, true));                                                                      \
    row(ntapi_args_form, (args, "q", BAD));                                                                            \
    row(ntapi_args_form_int, (args, BAD, 1));                                                                          \
    row(ntapi_args_form_double, (args, BAD, 1));                                                                       \
    row(ntapi_args_form_bool, (args, BAD, true));                                                                      \
    row(ntapi_args_multipart, (args, "part", BAD));                                                                    \
    row(ntapi_args_multipart_data, (args, "part", "x", 1, BAD, NULL));                                                 \
    row(ntapi_args_multipart_data, (args, "part", "x", (size_t)-1, NULL, NULL));                                       \
    row(ntapi_args_multipart_file, (args, "part", BAD, NULL, NULL));                                                   \
    row(ntapi_args_data, (args, "x", 1, BAD));                                                                         \
    row(ntapi_args_data, (args, "x", (size_t)-1, NULL));                                                               \
    row(ntapi_args_file, (args, BAD, NULL));                                                                           \
    row(ntapi_args_json, (args, (const ntapi_json *)args));                                                            \
    row(ntapi_args_member, (args, "title", BAD));                                                                      \
    row(ntapi_args_member_int, (args, BAD, 1));                                                                        \
    row(ntapi_args_member_double, (args, BAD, 1));                                                                     \
    row(ntapi_args_member_bool, (args, NULL, true));                                                                   \
    row(ntapi_args_member_json, (args, "tags", (const ntapi_json *)args));                                             \
    row(ntapi_args_stream, (args, read_nothing, NULL, -1, BAD, NULL, NULL));                                           \
    row(ntapi_args_download, (args, BAD));                                                                             \
    row(ntapi_args_resume, (args, BAD));                                                                               \
    row(ntapi_args_base_url, (args, BAD));                                                                             \
    row(ntapi_args_header, (args, "X-A", BAD));                                                                        \
    row(ntapi_args_add_header, (args, "X-A", BAD));                                                                    \
    row(ntapi_args_basic_auth, (args, "ann", BAD));                                                                    \
    row(ntapi_args_digest_auth, (args, "ann", BAD));                                                                   \
    row(ntapi_args_bearer, (args, BAD));                                                                               \
    row(ntapi_args_timeout, (args, (ntapi_clock)9, 1));                                                                \
    row(ntapi_args_method, (args, BAD));                                                                               \
    row(ntapi_args_cache_policy, (args, (ntapi_cache_policy)99));                                                      \
    row(ntapi_args_option, (args, BAD, ""));                                                                           \
    row(ntapi_args_thread, (args, NTAPI_HANDLER_ALL, (ntapi_thread)99));                                               \
    row(ntapi_args_thread, (args, 0, NTAPI_THREAD_MAIN));                                                              \
    row(ntapi_args_executor, (args, NTAPI_HANDLER_ALL, (ntapi_executor *)args));                                       \
    row(ntapi_args_mailbox, (args, 1 << 20, NULL));                                                                    \
    row(ntapi_args_mailbox, (args, NTAPI_HANDLER_ALL, (ntapi_mailbox *)args));                                         \
    row(ntapi_args_interceptor, (args, (ntapi_interceptor *)args));                                                    \
    row(ntapi_args_retry, (args, &no_size));                                                                           \
    row(ntapi_args_retry, (args, &no_attempts));                                                                       \
    row(ntapi_args_idempotency_key, (args, BAD));                                                                      \
    row(ntapi_args_rate_limiter, (args, (ntapi_rate_limiter *)args))

static void a_mistake_in_an_arg_fails_the_request(void **state) {
    (void)state;
#define perform_with(function, parameters)                                                                             \
    do {                                                                                                               \
        ntapi_args *args = ntapi_args_create();                                                                        \
        size_t count = ntapi_args_count(args);                                                                         \
        check_invalid(function parameters);                                                                            \
        assert_int_equal(ntapi_args_count(args), count);                                                               \
        check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));                                                  \
        check_refused(args, #function ": ");                                                                           \
        ntapi_args *copy = ntapi_args_create();                                                                        \
        check_ok(ntapi_args_append(copy, args));                                                                       \
        check_refused(copy, #function ": ");                                                                           \
        ntapi_args_free(copy);                                                                                         \
        ntapi_args_free(args);                                                                                         \
    } while (0)
    rows(perform_with);
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

/** Whether a function has a row, or needs none because it appends nothing. */
static bool is_tested(const char *name) {
    if (strcmp(name, "ntapi_args_mark_secret") == 0 || strcmp(name, "ntapi_args_remove_interceptor") == 0)
        return true;
#define compare(function, parameters)                                                                                  \
    if (strcmp(name, #function) == 0)                                                                                  \
    return true
    rows(compare);
    return false;
}

static void every_function_that_appends_has_a_row(void **state) {
    (void)state;
    if (header == NULL)
        skip();
    FILE *file = fopen(header, "r");
    assert_non_null(file);
    char line[512], name[128];
    int found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *declared = strstr(line, "ntapi_status ntapi_args_");
        if (declared == NULL || sscanf(declared, "ntapi_status %127[a-z_](", name) != 1)
            continue;
        found++;
        if (!is_tested(name))
            fail_msg("%s has no row", name);
    }
    fclose(file);
    assert_true(found > 30);
}

static void hooks_without_a_size_fail_every_request(void **state) {
    (void)state;
    const ntapi_hooks none = {.size = 0};
    const ntapi_hooks unknown = {.size = sizeof unknown, .decisions = 1 << 20};
    const ntapi_hooks right = {.size = sizeof right};
    check_invalid(ntapi_client_set_hooks(client, &none, NULL, NULL));
    check_refused(NULL, "ntapi_client_set_hooks: the size of ntapi_hooks is 0, not sizeof(ntapi_hooks)");
    check_invalid(ntapi_client_set_hooks(client, &unknown, NULL, NULL));
    check_refused(NULL, "no combination of ntapi_decision_kind");
    assert_int_equal(ntapi_stub_request_count(stub), 0);
    check_ok(ntapi_client_set_hooks(client, &right, NULL, NULL));
    ntapi_response *response = ntapi_client_perform(client, "things", NULL);
    assert_int_equal(code_of(response), NTAPI_CODE_NONE);
    ntapi_response_free(response);
}

/** A program wants to protect or answer requests, but its handle is wrong. No request may be sent without that
 * protection. */
static void a_wrong_handle_fails_every_request(void **state) {
    (void)state;
    ntapi_args *wrong = ntapi_args_create();
    typedef ntapi_status setter(ntapi_client * client, void *handle);
#define set(name)                                                                                                      \
    { (setter *)(void (*)(void))ntapi_client_set_##name, "ntapi_client_set_" #name ": " }
    const struct {
        setter *set;
        const char *message;
    } rows[] = {set(stub), set(recorder), set(clock), set(authenticator), set(rate_limiter)};
#undef set
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t before = ntapi_stub_request_count(stub);
        check_invalid(rows[i].set(client, wrong));
        check_refused(NULL, rows[i].message);
        assert_int_equal(ntapi_stub_request_count(stub), before);
        /* NULL removes what is set, and with it the mistake. */
        check_ok(rows[i].set(client, NULL));
        check_ok(ntapi_client_set_stub(client, stub));
        ntapi_response *response = ntapi_client_perform(client, "things", NULL);
        assert_int_equal(code_of(response), NTAPI_CODE_NONE);
        ntapi_response_free(response);
    }
    ntapi_stub *other = ntapi_stub_create();
    check_invalid(ntapi_client_set_args(client, (const ntapi_args *)other));
    check_refused(NULL, "ntapi_client_set_args: ");
    check_ok(ntapi_client_set_args(client, NULL));
    ntapi_stub_free(other);
    ntapi_args_free(wrong);
}

/** A client whose requests are answered by the stub, if they are sent. */
static ntapi_client *stubbed(ntapi_class *of, const ntapi_configuration *configuration) {
    ntapi_client *made = ntapi_client_create_with_configuration(of, "https://api.test", configuration);
    check_ok(ntapi_client_set_stub(made, stub));
    check_ok(ntapi_client_set_log_flags(made, NTAPI_LOG_NONE));
    return made;
}

static void never_called(void *user_data, ntapi_interception *interception) {
    (void)user_data;
    ntapi_interception_free(interception);
    fail();
}

static void an_interceptor_that_is_wrong_fails_the_requests(void **state) {
    (void)state;
    ntapi_interceptor *wrong[] = {
        ntapi_interceptor_create((ntapi_interceptor_scope)7, never_called, NULL, NULL, NULL),
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, NULL, NULL, NULL, NULL),
        NULL,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_status expected = wrong[i] == NULL ? NTAPI_STATUS_INVALID_ARGUMENT : NTAPI_STATUS_OK;
        ntapi_class *class_handle = ntapi_class_create("Guarded", NULL);
        ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
        ntapi_client *of_client = stubbed(NULL, NULL), *of_class = stubbed(class_handle, NULL);
        assert_int_equal(ntapi_client_add_interceptor(of_client, wrong[i]), expected);
        assert_int_equal(ntapi_class_add_interceptor(class_handle, wrong[i]), expected);
        assert_int_equal(ntapi_configuration_add_interceptor(configuration, wrong[i]), expected);
        ntapi_client *of_configuration = stubbed(NULL, configuration);
        check_refused_by(of_client, NULL, "interceptor");
        check_refused_by(of_class, NULL, "interceptor");
        check_refused_by(of_configuration, NULL, "interceptor");
        if (wrong[i] != NULL) {
            ntapi_args *args = ntapi_args_create();
            check_ok(ntapi_args_interceptor(args, wrong[i]));
            check_refused(args, "ntapi_interceptor_create: ");
            ntapi_args_free(args);
        }
        ntapi_client_free(of_client);
        ntapi_client_free(of_class);
        ntapi_client_free(of_configuration);
        ntapi_configuration_free(configuration);
        ntapi_class_free(class_handle);
        ntapi_interceptor_free(wrong[i]);
    }
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

/** Answers as a guard would, but with a mistake. */
static void answer_wrongly(void *user_data, ntapi_interception *interception) {
    static const char *const bad[] = {"X-Bad: a\nb", NULL};
    switch (*(int *)user_data) {
    case 0:
        check_invalid(ntapi_interception_respond(interception, 99, NULL, NULL, 0));
        break;
    case 1:
        check_invalid(ntapi_interception_respond(interception, 403, bad, NULL, 0));
        break;
    case 2:
        check_invalid(ntapi_interception_respond(interception, 403, NULL, "x", (size_t)-1));
        break;
    default:
        check_invalid(ntapi_interception_fail(interception, (const ntapi_error *)client));
        break;
    }
    ntapi_interception_free(interception);
}

static void an_interceptor_whose_answer_is_refused_fails_the_request(void **state) {
    (void)state;
    const ntapi_interceptor_scope scopes[] = {NTAPI_INTERCEPTOR_SCOPE_CALL, NTAPI_INTERCEPTOR_SCOPE_ATTEMPT};
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < 2; i++) {
            ntapi_interceptor *guard = ntapi_interceptor_create(scopes[i], answer_wrongly, NULL, &way, NULL);
            ntapi_args *args = ntapi_args_create();
            check_ok(ntapi_args_interceptor(args, guard));
            check_refused(args, way < 3 ? "ntapi_interception_respond: " : "ntapi_interception_fail: ");
            ntapi_args_free(args);
            ntapi_interceptor_free(guard);
        }
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

/* Each setter of a built request, with a value that cannot be used, and with one that can. */
#define setters(row)                                                                                                   \
    row(ntapi_http_request_set_method, (request, "A B"), (request, "POST"));                                           \
    row(ntapi_http_request_set_url, (request, BAD), (request, "https://api.test/other"));                              \
    row(ntapi_http_request_set_header, (request, "X-Guard", "a\nb"), (request, "X-Guard", NULL));                      \
    row(ntapi_http_request_set_secret_header, (request, "X-Key", NULL), (request, "X-Key", "k"));                      \
    row(ntapi_http_request_set_body, (request, NULL, 5), (request, NULL, 0));                                          \
    row(ntapi_http_request_set_timeout, (request, NTAPI_CLOCK_IDLE, 0), (request, NTAPI_CLOCK_IDLE, 5));               \
    row(ntapi_http_request_set_cache_policy, (request, (ntapi_cache_policy)99),                                        \
        (request, NTAPI_CACHE_POLICY_NO_STORE));                                                                       \
    row(ntapi_http_request_set_option, (request, "http_version", BAD), (request, "http_version", NULL));               \
    row(ntapi_http_request_set_priority, (request, 7), (request, 1))

/** Which setter is called, and whether it is called again with a right value. */
typedef struct setting {
    int row;
    bool makes_up;
    const char *name; /* of the setter that was called */
} setting;

static void set_wrongly(void *user_data, ntapi_http_request *request) {
    setting *given = user_data;
    int row = 0;
#define call(function, wrong, right)                                                                                   \
    if (row++ == given->row) {                                                                                         \
        given->name = #function;                                                                                       \
        check_invalid(function wrong);                                                                                 \
        if (given->makes_up)                                                                                           \
            check_ok(function right);                                                                                  \
    }
    setters(call)
#undef call
}

static void set_and_proceed(void *user_data, ntapi_interception *interception) {
    set_wrongly(user_data, ntapi_interception_http_request(interception));
    ntapi_interception_free(interception);
}

static void set_and_send(void *user_data, ntapi_interception *interception) {
    if (ntapi_interception_response(interception) == NULL)
        set_wrongly(user_data, ntapi_interception_http_request(interception));
    ntapi_status status = ntapi_interception_response(interception) == NULL ? ntapi_interception_send(interception)
                                                                            : ntapi_interception_proceed(interception);
    check_ok(status);
    ntapi_interception_free(interception);
}

static void set_and_follow(void *user_data, ntapi_decision *decision) {
    set_wrongly(user_data, ntapi_decision_http_request(decision));
    ntapi_decision_free(decision);
}

/** Sets a header of its own. */
static void set_another(void *user_data, ntapi_interception *interception) {
    (void)user_data;
    ntapi_http_request *request = ntapi_interception_http_request(interception);
    check_ok(ntapi_http_request_set_header(request, "X-Another", "yes"));
    ntapi_interception_free(interception);
}

/** Sends a request with this hook, interceptor or decision. Returns true if it is sent, or if "moved" is redirected. */
static bool is_sent(ntapi_client *of, const char *command, const ntapi_args *args, const setting *given) {
    size_t before = ntapi_stub_request_count(stub) + (strcmp(command, "moved") == 0);
    ntapi_response *response = ntapi_client_perform(of, command, args);
    const ntapi_error *error = ntapi_response_error(response);
    bool sent = ntapi_stub_request_count(stub) > before;
    if (sent != (error == NULL))
        fail_msg("%s: %s", given->name, error == NULL ? "no error" : ntapi_error_message(error));
    if (error != NULL && strstr(ntapi_error_message(error), given->name) == NULL)
        fail_msg("%s is not in: %s", given->name, ntapi_error_message(error));
    ntapi_response_free(response);
    return sent;
}

/** Hooks and interceptors. The refused change might have protected the request, so the request must not be sent. */
static void a_setter_that_is_refused_fails_the_request(void **state) {
    (void)state;
    setting given = {.row = 0};
    const ntapi_hooks hooks = {.size = sizeof hooks, .build_request = set_wrongly};
    ntapi_client *hooked = stubbed(NULL, NULL);
    check_ok(ntapi_client_set_hooks(hooked, &hooks, &given, NULL));
    const ntapi_hooks decisions = {
        .size = sizeof decisions, .decide = set_and_follow, .decisions = NTAPI_DECISION_KIND_REDIRECT};
    ntapi_client *following = stubbed(NULL, NULL);
    check_ok(ntapi_client_set_hooks(following, &decisions, &given, NULL));
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, "https://api.test/moved");
    const ntapi_stub_answer moved = {
        .size = sizeof moved, .status = 302, .headers = (const char *[]){"Location: /things", NULL}};
    check_ok(ntapi_stub_rule_answer(rule, &moved, NULL));
    ntapi_stub_rule_free(rule);
    const ntapi_intercept_fn ways[] = {set_and_proceed, set_and_send};
    for (;; given.row++) {
        given.name = NULL;
        if (is_sent(hooked, "things", NULL, &given) && given.name == NULL)
            break; /* the last row */
        for (int makes_up = 0; makes_up < 2; makes_up++) {
            given.makes_up = makes_up;
            assert_int_equal(is_sent(hooked, "things", NULL, &given), makes_up);
            assert_int_equal(is_sent(following, "moved", NULL, &given), makes_up);
            for (int i = 0; i < 4; i++) {
                const ntapi_interceptor_scope scope =
                    i < 2 ? NTAPI_INTERCEPTOR_SCOPE_CALL : NTAPI_INTERCEPTOR_SCOPE_ATTEMPT;
                ntapi_interceptor *interceptor = ntapi_interceptor_create(scope, ways[i % 2], NULL, &given, NULL);
                ntapi_interceptor *another = ntapi_interceptor_create(scope, set_another, NULL, NULL, NULL);
                ntapi_args *args = ntapi_args_create();
                check_ok(ntapi_args_interceptor(args, interceptor));
                check_ok(ntapi_args_interceptor(args, another));
                assert_int_equal(is_sent(client, "things", args, &given), makes_up);
                ntapi_args_free(args);
                ntapi_interceptor_free(another);
                ntapi_interceptor_free(interceptor);
            }
        }
        given.makes_up = false;
    }
    assert_int_equal(given.row, 9);
    ntapi_client_free(following);
    ntapi_client_free(hooked);
}

static void a_default_that_cannot_be_set_fails_the_requests(void **state) {
    (void)state;
    ntapi_class *class_handle = ntapi_class_create("Proxied", NULL);
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    ntapi_client *of_class = stubbed(class_handle, NULL);
    check_invalid(ntapi_defaults_set_string(ntapi_class_defaults(class_handle), "proxy", BAD));
    check_invalid(ntapi_defaults_set_string(ntapi_configuration_defaults(configuration), "proxy", BAD));
    check_refused_by(of_class, NULL, "ntapi_defaults_set_string: the value of proxy is not valid");
    ntapi_client *of_configuration = stubbed(NULL, configuration);
    check_refused_by(of_configuration, NULL, "ntapi_defaults_set_string: ");
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_invalid(ntapi_defaults_set_number(defaults, "request_timeout", NAN));
    check_refused(NULL, "ntapi_defaults_set_number: ");
    check_ok(ntapi_defaults_set_number(defaults, "requestTimeout", 5));
    check_invalid(ntapi_defaults_set(defaults, "retry", (const ntapi_json *)client));
    check_refused(NULL, "ntapi_defaults_set: ");
    check_ok(ntapi_defaults_set(defaults, "retry", NULL));
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(class_handle), "proxy", ""));
    assert_int_equal(ntapi_stub_request_count(stub), 0);
    ntapi_client *right[] = {client, of_class};
    for (size_t i = 0; i < 2; i++) {
        ntapi_response *response = ntapi_client_perform(right[i], "things", NULL);
        assert_int_equal(code_of(response), NTAPI_CODE_NONE);
        ntapi_response_free(response);
    }
    check_invalid(ntapi_defaults_set_bool(defaults, BAD, true));
    check_refused(NULL, "ntapi_defaults_set_bool: ");
    ntapi_client_free(of_class);
    ntapi_client_free(of_configuration);
    ntapi_configuration_free(configuration);
    ntapi_class_free(class_handle);
}

static void a_configuration_with_a_wrong_handle_fails_the_requests(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
        check_invalid(
            i == 0 ? ntapi_configuration_set_cache(configuration, (ntapi_cache *)client)
                   : ntapi_configuration_set_credential_storage(configuration, (ntapi_credential_storage *)client));
        ntapi_client *made = stubbed(NULL, configuration);
        check_refused_by(made, NULL, i == 0 ? "ntapi_configuration_set_cache: " : "_set_credential_storage: ");
        ntapi_client_free(made);
        ntapi_configuration_free(configuration);
    }
    assert_int_equal(ntapi_stub_request_count(stub), 0);
}

static void decide_nothing(void *user_data, ntapi_decision *decision) {
    (void)user_data;
    ntapi_decision_free(decision);
}

static void a_request_with_wrong_decision_kinds_is_cancelled(void **state) {
    (void)state;
    ntapi_request *request = ntapi_client_create_request(client, "things", NULL);
    check_invalid(ntapi_request_set_decision_handler(request, 1 << 20, decide_nothing, NULL, NULL));
    (void)ntapi_request_resume(request);
    check_ok(ntapi_request_wait(request, PATIENCE));
    assert_int_equal(code_of(ntapi_request_response(request)), NTAPI_CODE_CANCELLED);
    assert_int_equal(ntapi_stub_request_count(stub), 0);
    ntapi_request_free(request);
}

static void a_stub_whose_answer_is_refused_does_not_answer_200(void **state) {
    (void)state;
    const ntapi_stub_answer wrong[] = {
        {.status = 404},
        {.size = sizeof *wrong, .fault = (ntapi_stub_fault)99},
        {.size = sizeof *wrong, .delay = NAN},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
        check_invalid(ntapi_stub_rule_answer(rule, &wrong[i], NULL));
        check_refused(NULL, "the stub cannot answer");
        ntapi_stub_rule_free(rule);
    }
}

#define with_client(test) cmocka_unit_test_setup_teardown(test, open_client, close_client)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        with_client(a_mistake_in_an_arg_fails_the_request),
        cmocka_unit_test(every_function_that_appends_has_a_row),
        with_client(hooks_without_a_size_fail_every_request),
        with_client(a_wrong_handle_fails_every_request),
        with_client(an_interceptor_that_is_wrong_fails_the_requests),
        with_client(an_interceptor_whose_answer_is_refused_fails_the_request),
        with_client(a_setter_that_is_refused_fails_the_request),
        with_client(a_default_that_cannot_be_set_fails_the_requests),
        with_client(a_configuration_with_a_wrong_handle_fails_the_requests),
        with_client(a_request_with_wrong_decision_kinds_is_cancelled),
        with_client(a_stub_whose_answer_is_refused_does_not_answer_200),
    };
    header = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
