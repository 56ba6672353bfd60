/* Begin, suspended creation, perform, wait, cancel, progress, and the properties of a request. */
#include "support.h"

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

static void begin_never_calls_back_inside(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    ntapi_args *args = ntapi_args_create(); /* it cannot be built, so there is nothing to wait for */
    check_ok(ntapi_args_header(args, "X", "\n"));
    ntapi_request *request = ntapi_client_begin(client, "", args, witness_response, &seen, witness_destroy);
    assert_int_equal(seen.responses, 0);
    check_ok(ntapi_request_wait(request, PATIENCE));
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_INVALID_REQUEST);
    assert_true(pthread_equal(seen.thread, pthread_self()));
    assert_string_equal(ntapi_response_url(seen.response), "");
    ntapi_args_free(args);
    ntapi_request_free(request);
    witness_free(&seen);
}

static void *begin_what_cannot_be_built(void *argument) {
    witness *seen = argument;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    check_ok(ntapi_args_header(args, "X", "\n"));
    begin(client, "", args, seen);
    ntapi_args_free(args);
    return NULL;
}

static void what_cannot_be_built_is_told_on_the_thread_asked_for(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    on_new_thread(begin_what_cannot_be_built, &seen);
    witness_wait(&seen, 1); /* the main thread runs no mailbox, and does not need to */
    witness_check_once(&seen);
    assert_false(pthread_equal(seen.thread, pthread_self()));
    assert_int_equal(witness_code(&seen), NTAPI_CODE_INVALID_REQUEST);
    witness_free(&seen);
}

static void states_follow_the_life(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    ntapi_request *request = ntapi_client_create_request(client, "ok", NULL);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_SUSPENDED);
    assert_int_not_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    assert_null(ntapi_request_response(request));
    check_too_late(ntapi_request_wait(request, 0));
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    check_too_late(ntapi_request_resume(request));
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING); /* its handler needs this thread */
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    check_ok(ntapi_request_wait(request, PATIENCE));
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_COMPLETED);
    assert_int_not_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    check_ok(ntapi_request_wait(request, 0));
    check_too_late(ntapi_request_cancel(request));
    ntapi_response *response = ntapi_request_response(request);
    assert_int_equal(ntapi_response_status(response), 200);
    assert_true(ntapi_request_identifier(ntapi_response_request(response)) == ntapi_request_identifier(request));
    ntapi_response_free(response);
    witness_check_once(&seen);
    witness_free(&seen);
    ntapi_request_free(request);
}

static void handlers_are_set_before_resume_only(void **state) {
    (void)state;
    witness first, second, late;
    witness_init(&first);
    witness_init(&second);
    witness_init(&late);
    ntapi_request *request = ntapi_client_create_request(client, "hold", NULL);
    check_ok(ntapi_request_set_handler(request, witness_response, &first, witness_destroy));
    check_ok(ntapi_request_set_handler(request, witness_response, &second, witness_destroy));
    assert_int_equal(first.destroys, 1); /* it was replaced */
    check_ok(ntapi_request_resume(request));
    check_too_late(ntapi_request_set_handler(request, witness_response, &late, witness_destroy));
    check_too_late(ntapi_request_set_upload_progress(request, witness_progress, &late, witness_destroy));
    check_too_late(ntapi_request_set_download_progress(request, witness_progress, &late, witness_destroy));
    check_too_late(ntapi_request_set_events(request, NTAPI_HANDLER_ALL, NULL));
    assert_int_equal(late.destroys, 3);
    check_ok(ntapi_request_cancel(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    witness_wait(&second, 1);
    witness_check_once(&second);
    assert_int_equal(first.responses, 0);
    ntapi_request_free(request);
    witness_free(&first);
    witness_free(&second);
    witness_free(&late);
}

static void cancel_ends_with_the_cancelled_error(void **state) {
    (void)state;
    for (int thread = NTAPI_THREAD_MAIN; thread <= NTAPI_THREAD_CURRENT; thread++) {
        witness seen;
        witness_init(&seen);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)thread));
        ntapi_request *request = ntapi_client_begin(client, "hold", args, witness_response, &seen, witness_destroy);
        check_ok(ntapi_request_cancel(request));
        check_ok(ntapi_request_wait(request, PATIENCE));
        assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_CANCELLED);
        check_too_late(ntapi_request_cancel(request));
        witness_wait(&seen, 1);
        witness_check_once(&seen);
        assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
        assert_int_equal(ntapi_error_get_details(ntapi_response_error(seen.response))->domain,
                         NTAPI_ERROR_DOMAIN_CANCELLED);
        assert_false(ntapi_error_get_details(ntapi_response_error(seen.response))->is_retryable);
        ntapi_request_free(request);
        ntapi_args_free(args);
        witness_free(&seen);
    }
}

static void a_suspended_request_can_be_cancelled(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    ntapi_request *request = ntapi_client_create_request(client, "ok", NULL);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_cancel(request));
    check_too_late(ntapi_request_resume(request));
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    ntapi_request_free(request);
    witness_free(&seen);
}

static void one_never_resumed_ends_without_a_call(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    ntapi_request *request = ntapi_client_create_request(client, "ok", NULL);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    ntapi_request_free(request);
    assert_int_equal(seen.destroys, 1);
    assert_int_equal(seen.responses, 0);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_free(&seen);
}

static void wait_runs_out_of_time(void **state) {
    (void)state;
    ntapi_request *request = ntapi_client_begin(client, "hold", NULL, NULL, NULL, NULL);
    assert_int_equal(ntapi_request_wait(request, 0), NTAPI_STATUS_TIMED_OUT);
    assert_int_equal(ntapi_request_wait(request, 0.01), NTAPI_STATUS_TIMED_OUT);
    check_ok(ntapi_request_cancel(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    assert_int_equal(code_of(response), NTAPI_CODE_CANCELLED);
    ntapi_response_free(response);
    ntapi_request_free(request);
    check_invalid(ntapi_request_wait(NULL, 0));
}

static void wait_for_oneself(void *user_data, const ntapi_response *response) {
    *(ntapi_status *)user_data = ntapi_request_wait(ntapi_response_request(response), PATIENCE);
}

static void a_handler_cannot_wait_for_itself(void **state) {
    (void)state;
    ntapi_status status = NTAPI_STATUS_OK;
    ntapi_request *request = ntapi_client_begin(client, "ok", NULL, wait_for_oneself, &status, NULL);
    check_ok(ntapi_request_wait(request, PATIENCE));
    check_too_late(status);
    ntapi_request_free(request);
}

static void perform_inside(void *user_data, const ntapi_response *response) {
    (void)response;
    *(ntapi_response **)user_data = ntapi_client_perform(client, "ok", NULL);
}

static void perform_works_in_handlers_of_every_thread(void **state) {
    (void)state;
    for (int thread = NTAPI_THREAD_MAIN; thread <= NTAPI_THREAD_CURRENT; thread++) {
        ntapi_response *inner = NULL;
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)thread));
        ntapi_request *request = ntapi_client_begin(client, "ok", args, perform_inside, &inner, NULL);
        check_ok(ntapi_request_wait(request, PATIENCE));
        assert_int_equal(ntapi_response_status(inner), 200);
        ntapi_response_free(inner);
        ntapi_request_free(request);
        ntapi_args_free(args);
    }
}

static void *perform_elsewhere(void *status) {
    ntapi_response *response = ntapi_client_perform(client, "ok", NULL);
    *(int *)status = ntapi_response_status(response);
    ntapi_response_free(response);
    return NULL;
}

static void perform_works_on_any_thread(void **state) {
    (void)state;
    int status = 0;
    on_new_thread(perform_elsewhere, &status); /* meanwhile, the main thread runs no mailbox */
    assert_int_equal(status, 200);
}

static void begin_again(void *user_data, const ntapi_response *response) {
    (void)response;
    begin(client, "ok", NULL, user_data);
}

static void a_handler_may_begin_the_next_request(void **state) {
    (void)state;
    witness next;
    witness_init(&next);
    ntapi_request_free(ntapi_client_begin(client, "ok", NULL, begin_again, &next, NULL));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_wait(&next, 1);
    witness_check_once(&next);
    witness_free(&next);
}

static void cancel_in_progress(void *user_data, int64_t bytes, int64_t total) {
    (void)bytes;
    (void)total;
    ntapi_request_cancel(*(ntapi_request **)user_data);
}

static void progress_may_cancel(void **state) {
    (void)state;
    witness seen;
    witness_init(&seen);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_request *request = ntapi_client_create_request(client, "endless", args);
    check_ok(ntapi_request_set_download_progress(request, cancel_in_progress, &request, NULL));
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    ntapi_request_free(request);
    ntapi_args_free(args);
    witness_free(&seen);
}

static void progress_goes_from_nothing_to_all(void **state) {
    (void)state;
    enum { SIZE = 1000000 };
    ntapi_client *weather = client_of("weather");
    for (int thread = NTAPI_THREAD_MAIN; thread <= NTAPI_THREAD_BACKGROUND; thread++)
        for (int upload = 0; upload < 2; upload++) {
            witness seen;
            witness_init(&seen);
            ntapi_args *args = ntapi_args_create();
            check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, (ntapi_thread)thread));
            void *bytes = calloc(1, SIZE);
            if (upload) {
                check_ok(ntapi_args_data(args, bytes, SIZE, NULL));
            } else {
                check_ok(ntapi_args_url_int(args, "size", SIZE));
                check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
            }
            free(bytes);
            ntapi_request *request = ntapi_client_create_request(weather, upload ? "upload" : "download", args);
            check_ok((upload ? ntapi_request_set_upload_progress
                             : ntapi_request_set_download_progress)(request, witness_progress, &seen, witness_destroy));
            check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
            check_ok(ntapi_request_resume(request));
            check_ok(ntapi_request_wait(request, PATIENCE));
            witness_wait(&seen, 2);
            assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
            assert_int_equal(seen.responses, 1);
            assert_int_equal(seen.out_of_order, 0);
            assert_int_equal(seen.shrinking, 0);
            assert_true(seen.progresses >= 2);
            assert_int_equal(seen.first, 0);
            assert_int_equal(seen.last, SIZE);
            assert_int_equal(seen.total, SIZE);
            const char *moved = upload ? "progress.bytesSent" : "progress.bytesReceived";
            const char *expected = upload ? "progress.bytesExpectedToSend" : "progress.bytesExpectedToReceive";
            assert_int_equal(metric(request, moved), SIZE);
            assert_int_equal(metric(request, expected), SIZE);
            ntapi_request_free(request);
            ntapi_args_free(args);
            witness_free(&seen);
        }
    ntapi_client_free(weather);
}

enum { READERS = 8, READS = 4000 };

/** What the threads of the test below share. */
struct shared_texts {
    ntapi_request *request;
    ntapi_args *args;
    ntapi_authenticator *authenticator;
    int next;  /* number of the next thread */
    int wrong; /* texts that no thread has set */
};

static const char *const set_texts[] = {"first", "the second one, which is longer than the first", "3"};

static void count_wrong(struct shared_texts *self, char *text) {
    bool is_known = text == NULL;
    for (size_t i = 0; i < sizeof set_texts / sizeof *set_texts && !is_known; i++)
        is_known = strcmp(text, set_texts[i]) == 0;
    if (!is_known)
        __atomic_add_fetch(&self->wrong, 1, __ATOMIC_SEQ_CST);
    ntapi_text_free(text);
}

/** Half of the threads change the texts, and all of them read them. */
static void *read_texts(void *argument) {
    struct shared_texts *self = argument;
    int number = __atomic_fetch_add(&self->next, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < READS; i++) {
        const char *text = set_texts[(i + number) % 3];
        if (number % 2 == 0) {
            check_ok(ntapi_request_set_description(self->request, text));
            check_ok(ntapi_authenticator_set_token(self->authenticator, text, -1));
            if (i % 100 == 0)
                check_ok(ntapi_args_option(self->args, "mine", text));
        }
        count_wrong(self, ntapi_request_description(self->request));
        count_wrong(self, ntapi_authenticator_token(self->authenticator));
        count_wrong(self, ntapi_args_get_option(self->args, "mine"));
        if (i % 100 == 0) {
            char *description = ntapi_describe(self->args);
            if (description == NULL || strncmp(description, "ntapi_args url(\"q\", ", 20) != 0)
                __atomic_add_fetch(&self->wrong, 1, __ATOMIC_SEQ_CST);
            ntapi_text_free(description);
        }
        assert_null(ntapi_request_resume_data(self->request));
    }
    return NULL;
}

static void never_asked(void *user_data, ntapi_refresh *refresh) {
    (void)user_data;
    ntapi_refresh_free(refresh);
}

static void any_thread_may_read_a_text_that_others_change(void **state) {
    (void)state;
    struct shared_texts shared = {.request = ntapi_client_create_request(client, "echo", NULL),
                                  .args = ntapi_args_create(),
                                  .authenticator = ntapi_authenticator_create(NULL, never_asked, NULL, NULL, NULL)};
    check_ok(ntapi_args_url_int(shared.args, "q", 1));
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_texts, &shared), 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(shared.wrong, 0);
    ntapi_text_free(NULL);
    ntapi_authenticator_free(shared.authenticator);
    ntapi_args_free(shared.args);
    ntapi_request_free(shared.request);
}

/** A pattern of the README: a call with a wrong handle gives an error, like any other failure. */
static void a_wrong_handle_is_an_error_of_the_response(void **state) {
    (void)state;
    ntapi_client *freed_client = ntapi_client_create(NULL, nobody());
    ntapi_client_free(freed_client);
    ntapi_args *freed_args = ntapi_args_create();
    ntapi_args_free(freed_args);
    ntapi_args *args = ntapi_args_create();
    struct {
        ntapi_client *client;
        const char *command;
        ntapi_args *args;
        const char *says;
    } wrong[] = {
        {NULL, "echo", NULL, "client"},
        {freed_client, "echo", args, "client"},
        {(ntapi_client *)args, "echo", NULL, "client"},
        {client, "echo", freed_args, "args"},
        {client, "echo", (ntapi_args *)client, "args"},
        {client, "\xff", NULL, "UTF-8"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ntapi_response *response = ntapi_client_perform(wrong[i].client, wrong[i].command, wrong[i].args);
        assert_non_null(response);
        assert_non_null(strstr(ntapi_error_message(ntapi_response_error(response)), wrong[i].says));
        assert_int_equal(ntapi_response_status(response), 0);
        assert_null(ntapi_response_json(response));
        assert_int_equal(ntapi_request_get_state(ntapi_response_request(response)), NTAPI_REQUEST_STATE_COMPLETED);
        check_error(response, NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);

        ntapi_error *error = ntapi_client_background_error(wrong[i].client);
        assert_int_equal(error != NULL, wrong[i].client != client);
        if (error != NULL)
            assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        ntapi_error_free(error);
        if (wrong[i].client != client)
            assert_true(ntapi_client_drain(wrong[i].client, 0) == SIZE_MAX);
    }
    ntapi_response *freed = ntapi_client_perform(client, "echo", NULL);
    assert_null(ntapi_response_error(freed));
    ntapi_response_free(freed);
    const ntapi_response *responses[] = {NULL, freed, (const ntapi_response *)args};
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        const ntapi_error *error = ntapi_response_error(responses[i]);
        assert_non_null(error);
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        assert_int_equal(ntapi_error_get_details(error)->domain, NTAPI_ERROR_DOMAIN_REQUEST);
        assert_non_null(strstr(ntapi_error_message(error), "response"));
    }
    ntapi_args_free(args);
}

static void a_request_tells_about_itself(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "q", "it's"));
    check_ok(ntapi_args_bearer(args, "hidden"));
    ntapi_request *request = ntapi_client_create_request(client, "echo", args);
    ntapi_request *other = ntapi_client_create_request(client, "echo", NULL);
    assert_true(ntapi_request_identifier(request) >= 1);
    assert_true(ntapi_request_identifier(request) != ntapi_request_identifier(other));

    assert_null(ntapi_request_description(request));
    check_ok(ntapi_request_set_description(request, "the first"));
    check_new_text(ntapi_request_description(request), "the first");
    check_ok(ntapi_request_set_description(request, NULL));
    assert_null(ntapi_request_description(request));
    check_invalid(ntapi_request_set_description(request, "\xff"));

    assert_true(ntapi_request_priority(request) == 0.5);
    check_ok(ntapi_request_set_priority(request, 1));
    assert_true(ntapi_request_priority(request) == 1);
    check_invalid(ntapi_request_set_priority(request, 1.1));
    check_invalid(ntapi_request_set_priority(request, -0.1));
    check_invalid(ntapi_request_set_priority(request, 0.0 / 0.0));
    assert_true(ntapi_request_priority(request) == 1);

    const char *command = ntapi_request_curl_command(request);
    assert_non_null(strstr(command, "curl"));
    assert_non_null(strstr(command, "/echo?q=it"));
    assert_non_null(strstr(command, "<redacted>"));
    assert_null(strstr(command, "hidden"));
    assert_int_equal(metric(request, "progress.bytesSent"), 0);
    assert_int_equal(metric(request, "progress.bytesReceived"), 0);
    assert_true(metric(request, "progress.bytesExpectedToReceive") < 0);
    assert_true(metric(request, "elapsed") < 0);
    ntapi_args_free(args);
    ntapi_request_free(request);
    ntapi_request_free(other);
}

/** Checks the request as the server saw it, except for the headers, whose order may differ. */
static void check_seen(const ntapi_json *json) {
    check_string(json, "target", "/echo/%5B1-3%5D;,=?q=a%20b%5B1-2%5D%7Bx%7D");
    check_string(json, "method", "PUT");
    check_string(json, "body", "it's a \"body\"; %s\n$(id)");
    check_string(json, "header[\"content-type\"]", "a/b");
    check_string(json, "header[\"x-a\"]", "@it's, [1]{2}");
    check_string(json, "header[\"content-length\"]", "23");
    assert_int_equal(ntapi_json_count(json, "headers"), 7);
}

static void the_curl_command_sends_the_same(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    const char *body = "it's a \"body\"; %s\n$(id)";
    check_ok(ntapi_args_url(args, "q", "a b[1-2]{x}"));
    check_ok(ntapi_args_data(args, body, strlen(body), "a/b"));
    check_ok(ntapi_args_header(args, "X-A", "@it's, [1]{2}"));
    check_ok(ntapi_args_method(args, "PUT"));
    ntapi_request *request = ntapi_client_create_request(client, "echo/[1-3];,=", args);
    char command[4096];
    snprintf(command, sizeof command, "%s --silent", ntapi_request_curl_command(request));
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    static char answer[65536];
    size_t length = fread(answer, 1, sizeof answer, shell);
    assert_int_equal(pclose(shell), 0);
    ntapi_json *seen = ntapi_json_parse(answer, length, NULL);
    check_seen(seen);
    ntapi_json_free(seen);
    ntapi_request_free(request);
    seen = fetch(client, "echo/[1-3];,=", args);
    check_seen(seen);
    ntapi_json_free(seen);
}

static void args_are_copied(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "a", "1"));
    ntapi_request *request = ntapi_client_create_request(client, "echo", args);
    check_ok(ntapi_args_url(args, "b", "2"));
    ntapi_args_free(args);
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    check_string(ntapi_response_json(response), "target", "/echo?a=1");
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void a_request_resumed_after_close_is_cancelled(void **state) {
    (void)state;
    ntapi_client *closed = client_of("fault");
    ntapi_request *request = ntapi_client_create_request(closed, "ok", NULL);
    check_ok(ntapi_client_close(closed));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    check_error(response, NTAPI_ERROR_DOMAIN_CANCELLED, NTAPI_CODE_CANCELLED);
    ntapi_request_free(request);
    ntapi_client_free(closed);
}

/** The body of a redirect must not count as progress. */
struct counts {
    int64_t first, last, total;
    int calls;
};

static void count(void *user_data, int64_t bytes, int64_t total) {
    struct counts *counts = user_data;
    if (counts->calls++ == 0)
        counts->first = bytes;
    counts->last = bytes;
    counts->total = total;
}

static void progress_begins_behind_redirects(void **state) {
    (void)state;
    ntapi_client *redirected = client_of("fault");
    struct counts counts = {.first = -1};
    ntapi_request *request = ntapi_client_create_request(redirected, "chain/3", NULL);
    check_ok(ntapi_request_set_download_progress(request, count, &counts, NULL));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    size_t length = 0;
    ntapi_response_data(response, &length);
    assert_true(counts.first == 0 && counts.last == (int64_t)length && counts.total == (int64_t)length);
    ntapi_response_free(response);
    ntapi_request_free(request);
    ntapi_client_free(redirected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_never_calls_back_inside),
        cmocka_unit_test(what_cannot_be_built_is_told_on_the_thread_asked_for),
        cmocka_unit_test(states_follow_the_life),
        cmocka_unit_test(handlers_are_set_before_resume_only),
        cmocka_unit_test(cancel_ends_with_the_cancelled_error),
        cmocka_unit_test(a_suspended_request_can_be_cancelled),
        cmocka_unit_test(one_never_resumed_ends_without_a_call),
        cmocka_unit_test(wait_runs_out_of_time),
        cmocka_unit_test(a_handler_cannot_wait_for_itself),
        cmocka_unit_test(perform_works_in_handlers_of_every_thread),
        cmocka_unit_test(perform_works_on_any_thread),
        cmocka_unit_test(a_handler_may_begin_the_next_request),
        cmocka_unit_test(progress_may_cancel),
        cmocka_unit_test(progress_goes_from_nothing_to_all),
        cmocka_unit_test(any_thread_may_read_a_text_that_others_change),
        cmocka_unit_test(a_wrong_handle_is_an_error_of_the_response),
        cmocka_unit_test(a_request_tells_about_itself),
        cmocka_unit_test(the_curl_command_sends_the_same),
        cmocka_unit_test(args_are_copied),
        cmocka_unit_test(a_request_resumed_after_close_is_cancelled),
        cmocka_unit_test(progress_begins_behind_redirects),
    };
    return cmocka_run_group_tests(tests, open_client, close_client);
}
