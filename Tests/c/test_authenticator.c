/* Tokens that expire: one refresh for all requests that wait, as the server sees it. */
#include "ntapi_store.h"
#include "support.h"

#include <unistd.h>

/** A client that uses the fault server's tokens under one name. Also says what its refresh callback does, and what
 * it saw. */
struct api {
    char name[64];
    ntapi_client *client;
    ntapi_authenticator *authenticator;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
    int destroys;
    int had_response;
    int status; /* of the requests for tokens; 0 keeps the refresh for later, -1 declines, -2 drops it */
    ntapi_refresh *kept;
    pthread_t thread;
};

static ntapi_args *named(struct api *api, int together) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", api->name));
    if (together > 0)
        check_ok(ntapi_args_url_int(args, "together", together));
    return args;
}

/** Returns a new token from the server, or NULL and an error if the server gives none. */
static char *issue(struct api *api, ntapi_client *client, ntapi_error **error) {
    ntapi_args *args = named(api, 0);
    check_ok(ntapi_args_option(args, NTAPI_OPTION_BYPASS_AUTHENTICATION, ""));
    if (api->status > 0)
        check_ok(ntapi_args_url_int(args, "status", api->status));
    ntapi_response *response = ntapi_client_perform(client, "token/issue", args);
    ntapi_args_free(args);
    const char *token = ntapi_json_string(ntapi_response_json(response), "token");
    char *copy = token == NULL ? NULL : strdup(token);
    if (copy == NULL && error != NULL)
        *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "no token",
                                    ntapi_error_message(ntapi_response_error(response)), false);
    ntapi_response_free(response);
    return copy;
}

static void refresh_token(void *user_data, ntapi_refresh *refresh) {
    struct api *api = user_data;
    ntapi_response *response = ntapi_refresh_response(refresh);
    ntapi_client *client = ntapi_refresh_client(refresh);
    assert_ptr_equal(ntapi_client_defaults(client), ntapi_client_defaults(api->client));
    pthread_mutex_lock(&api->lock);
    api->calls++;
    api->had_response += response != NULL;
    api->thread = pthread_self();
    if (api->status == 0)
        api->kept = refresh;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
    ntapi_response_free(response);
    if (api->status == 0)
        return;
    if (api->status == -1) {
        check_ok(ntapi_refresh_decline(refresh));
    } else if (api->status == -2) {
        ntapi_refresh_free(refresh);
    } else {
        ntapi_error *error = NULL;
        char *token = issue(api, client, &error);
        if (token != NULL)
            check_ok(ntapi_refresh_succeed(refresh, token, -1));
        else
            check_ok(ntapi_refresh_fail(refresh, error));
        ntapi_error_free(error);
        free(token);
    }
    /* After the answer, the handle belongs to the library. */
    assert_null(ntapi_refresh_token(refresh));
    assert_null(ntapi_refresh_client(refresh));
    check_invalid(ntapi_client_cancel_all(client));
    check_invalid(ntapi_refresh_succeed(refresh, "again", -1));
}

static void end_api(void *user_data) {
    struct api *api = user_data;
    pthread_mutex_lock(&api->lock);
    api->destroys++;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
}

static void open_api_with(struct api *api, const ntapi_authenticator_options *options, const char *token, int status) {
    static int count = 0;
    *api = (struct api){.status = status};
    snprintf(api->name, sizeof api->name, "c%ld-%d", (long)getpid(), ++count);
    pthread_mutex_init(&api->lock, NULL);
    pthread_cond_init(&api->changed, NULL);
    api->client = client_of("fault");
    check_ok(
        ntapi_defaults_set_number(ntapi_client_defaults(api->client), NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 200));
    api->authenticator = ntapi_authenticator_create(options, refresh_token, api, end_api, NULL);
    check_ok(ntapi_authenticator_set_token(api->authenticator, token, -1));
    check_ok(ntapi_client_set_authenticator(api->client, api->authenticator));
}

static void open_api(struct api *api, const char *token, int status) {
    open_api_with(api, NULL, token, status);
}

static void close_api(struct api *api) {
    assert_int_equal(ntapi_client_drain(api->client, PATIENCE), 0);
    ntapi_authenticator_free(api->authenticator);
    check_ok(ntapi_client_set_authenticator(api->client, NULL));
    ntapi_client_free(api->client);
    /* A worker may still be releasing it. */
    pthread_mutex_lock(&api->lock);
    while (api->destroys == 0)
        pthread_cond_wait(&api->changed, &api->lock);
    pthread_mutex_unlock(&api->lock);
    assert_int_equal(api->destroys, 1);
}

static void wait_for_call(struct api *api) {
    pthread_mutex_lock(&api->lock);
    while (api->kept == NULL)
        pthread_cond_wait(&api->changed, &api->lock);
    pthread_mutex_unlock(&api->lock);
}

static void check_stats(struct api *api, int asked, int accepted, int rejected) {
    ntapi_args *args = named(api, 0);
    check_ok(ntapi_args_option(args, NTAPI_OPTION_BYPASS_AUTHENTICATION, ""));
    ntapi_json *stats = fetch(api->client, "token", args);
    assert_int_equal(ntapi_json_int(stats, "asked", -1), asked);
    assert_int_equal(ntapi_json_int(stats, "accepted", -1), accepted);
    assert_int_equal(ntapi_json_int(stats, "rejected", -1), rejected);
    ntapi_json_free(stats);
}

enum { COUNT = 100 };

static void begin_all(struct api *api, witness *witnesses) {
    ntapi_args *args = named(api, COUNT);
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND));
    for (int i = 0; i < COUNT; i++) {
        witness_init(&witnesses[i]);
        begin(api->client, "token/use", args, &witnesses[i]);
    }
    ntapi_args_free(args);
    for (int i = 0; i < COUNT; i++) {
        witness_wait(&witnesses[i], 1);
        witness_check_once(&witnesses[i]);
    }
}

static void one_refresh_for_a_hundred_requests(void **state) {
    (void)state;
    static witness witnesses[COUNT];
    struct api api;
    open_api(&api, "old", 200);
    begin_all(&api, witnesses);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(witness_code(&witnesses[i]), NTAPI_CODE_NONE);
        witness_free(&witnesses[i]);
    }
    assert_int_equal(api.calls, 1);
    assert_int_equal(api.had_response, 1);
    check_stats(&api, 1, COUNT, COUNT);
    char expected[80];
    snprintf(expected, sizeof expected, "%s-1", api.name);
    check_new_text(ntapi_authenticator_token(api.authenticator), expected);
    close_api(&api);
}

static void a_failed_refresh_fails_all_once(void **state) {
    (void)state;
    static witness witnesses[COUNT];
    struct api api;
    open_api(&api, "old", 503);
    /* The pause after a failure lasts for a second. */
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    check_ok(ntapi_client_set_clock(api.client, clock));
    begin_all(&api, witnesses);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(witness_code(&witnesses[i]), NTAPI_CODE_AUTHENTICATION);
        assert_int_equal(ntapi_response_status(witnesses[i].response), 401);
        assert_non_null(strstr(ntapi_error_message(ntapi_response_error(witnesses[i].response)), "503"));
        witness_free(&witnesses[i]);
    }
    for (int i = 0; i < 10; i++)
        check_error(perform(api.client, "token/use", named(&api, 0)), NTAPI_ERROR_DOMAIN_SERVICE,
                    NTAPI_CODE_AUTHENTICATION);
    assert_int_equal(api.calls, 1);
    api.status = 200;
    char *token = issue(&api, api.client, NULL);
    check_ok(ntapi_authenticator_set_token(api.authenticator, token, 3600));
    free(token);
    ntapi_json_free(fetch(api.client, "token/use", named(&api, 0)));
    close_api(&api);
    ntapi_manual_clock_free(clock);
}

static void it_may_be_answered_later(void **state) {
    (void)state;
    struct api api;
    open_api(&api, NULL, 0);
    witness first, second;
    witness_init(&first);
    witness_init(&second);
    ntapi_args *args = named(&api, 0);
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND));
    begin(api.client, "token/use", args, &first);
    ntapi_request *request =
        ntapi_client_begin(api.client, "token/use", args, witness_response, &second, witness_destroy);
    ntapi_args_free(args);
    wait_for_call(&api);
    assert_null(ntapi_refresh_token(api.kept));
    assert_null(ntapi_refresh_response(api.kept));
    /* A cancelled request ends at once, but the refresh continues. */
    check_ok(ntapi_request_cancel(request));
    ntapi_request_free(request);
    witness_wait(&second, 1);
    assert_int_equal(witness_code(&second), NTAPI_CODE_CANCELLED);
    api.status = 200;
    char *token = issue(&api, api.client, NULL);
    check_ok(ntapi_refresh_succeed(api.kept, token, 3600));
    free(token);
    witness_wait(&first, 1);
    assert_int_equal(witness_code(&first), NTAPI_CODE_NONE);
    assert_int_equal(api.calls, 1);
    witness_free(&first);
    witness_free(&second);
    close_api(&api);
}

static void what_else_may_come_of_it(void **state) {
    (void)state;
    struct api api;
    open_api(&api, "old", -1);
    ntapi_response *response = perform(api.client, "token/use", named(&api, 0));
    assert_int_equal(ntapi_response_status(response), 401);
    check_error(response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    check_ok(ntapi_authenticator_set_token(api.authenticator, NULL, -1));
    check_error(perform(api.client, "token/use", named(&api, 0)), NTAPI_ERROR_DOMAIN_REQUEST,
                NTAPI_CODE_AUTHENTICATION);
    close_api(&api);

    open_api(&api, NULL, -2);
    check_error(perform(api.client, "token/use", named(&api, 0)), NTAPI_ERROR_DOMAIN_REQUEST,
                NTAPI_CODE_AUTHENTICATION);
    close_api(&api);

    /* A token that cannot be sent fails the refresh. */
    static const char *const unfit[] = {"", "a\r\nb", "\xff"};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        for (int with = 0; with < 2; with++) {
            open_api(&api, NULL, 0);
            witness seen;
            witness_init(&seen);
            ntapi_args *args = named(&api, 0);
            check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND));
            begin(api.client, "token/use", args, &seen);
            ntapi_args_free(args);
            wait_for_call(&api);
            ntapi_token token = {.size = sizeof token, .text = unfit[i]};
            check_invalid(with ? ntapi_refresh_succeed_with(api.kept, &token)
                               : ntapi_refresh_succeed(api.kept, unfit[i], -1));
            witness_wait(&seen, 1);
            assert_int_equal(witness_code(&seen), NTAPI_CODE_AUTHENTICATION);
            witness_free(&seen);
            close_api(&api);
        }

    const ntapi_authenticator_options options = {.size = sizeof options, .timeout = 0.1};
    open_api_with(&api, &options, NULL, 0);
    check_error(perform(api.client, "token/use", named(&api, 0)), NTAPI_ERROR_DOMAIN_NETWORK,
                NTAPI_CODE_AUTHENTICATION);
    wait_for_call(&api);
    check_ok(ntapi_refresh_fail(api.kept, NULL));
    close_api(&api);
}

static void the_token_goes_where_it_may(void **state) {
    (void)state;
    struct api api;
    open_api(&api, "s3cret", -1);
    ntapi_args *args = ntapi_args_create();
    char url[256];
    snprintf(url, sizeof url, "%s/echo", server("fault_other"));
    check_ok(ntapi_args_base_url(args, url));
    ntapi_json *seen = fetch(api.client, "", args);
    assert_null(ntapi_json_string(seen, "header.authorization"));
    ntapi_json_free(seen);
    close_api(&api);

    const int statuses[] = {400};
    const ntapi_authenticator_options options = {.size = sizeof options,
                                                 .header = "X-Token",
                                                 .scheme = "",
                                                 .statuses = statuses,
                                                 .status_count = 1,
                                                 .origins = (const char *[]){url},
                                                 .origin_count = 1};
    open_api_with(&api, &options, "s3cret", -1);
    args = ntapi_args_create();
    check_ok(ntapi_args_base_url(args, url));
    seen = fetch(api.client, "", args);
    check_string(seen, "header[\"x-token\"]", "s3cret");
    ntapi_json_free(seen);

    ntapi_response_free(perform(api.client, "token/use", named(&api, 0)));
    assert_int_equal(api.calls, 0);
    close_api(&api);
}

static void it_runs_where_its_mailbox_is_drained(void **state) {
    (void)state;
    struct api api;
    open_api(&api, NULL, 200);
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    check_ok(ntapi_authenticator_set_mailbox(api.authenticator, mailbox));
    witness waiting;
    witness_init(&waiting);
    ntapi_args *args = named(&api, 0);
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND));
    begin(api.client, "token/use", args, &waiting);
    ntapi_args_free(args);
    while (api.calls == 0)
        ntapi_mailbox_run(mailbox, 0.01);
    assert_true(pthread_equal(api.thread, pthread_self()));
    witness_wait(&waiting, 1);
    assert_int_equal(witness_code(&waiting), NTAPI_CODE_NONE);
    witness_free(&waiting);
    ntapi_mailbox_free(mailbox);
    close_api(&api);
}

static void wrong_values_are_refused(void **state) {
    (void)state;
    struct api api;
    open_api(&api, "t", -1);
    ntapi_authenticator *authenticator = api.authenticator;
    const int statuses[] = {401, 7};
    const size_t size = sizeof(ntapi_authenticator_options);
    const ntapi_authenticator_options wrong[] = {
        {.size = 0},
        {.size = size, .statuses = statuses, .status_count = 2},
        {.size = size, .statuses = statuses},
        {.size = size, .statuses = statuses, .status_count = SIZE_MAX},
        {.size = size, .origins = (const char *[]){"https://a.test"}, .origin_count = SIZE_MAX},
        {.size = size, .header = "X Y"},
        {.size = size, .scheme = "Bearer\n"},
        {.size = size, .origins = (const char *[]){"no url"}, .origin_count = 1},
        {.size = size, .timeout = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_error *error = NULL;
        assert_null(ntapi_authenticator_create(&wrong[i], refresh_token, NULL, NULL, &error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        ntapi_error_free(error);
    }
    check_invalid(ntapi_authenticator_set_token(authenticator, "\xff", 1));
    check_invalid(ntapi_client_set_authenticator(api.client, (ntapi_authenticator *)api.client));
    struct api none = {.destroys = 0};
    pthread_mutex_init(&none.lock, NULL);
    pthread_cond_init(&none.changed, NULL);
    assert_null(ntapi_authenticator_create(NULL, NULL, &none, end_api, NULL));
    assert_int_equal(none.destroys, 1);
    close_api(&api);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refresh_for_a_hundred_requests), cmocka_unit_test(a_failed_refresh_fails_all_once),
        cmocka_unit_test(it_may_be_answered_later),           cmocka_unit_test(what_else_may_come_of_it),
        cmocka_unit_test(the_token_goes_where_it_may),        cmocka_unit_test(it_runs_where_its_mailbox_is_drained),
        cmocka_unit_test(wrong_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
