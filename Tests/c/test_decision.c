/* Decisions. The program is asked once, and answers at once or later, from any thread. No decision is lost. */
#include "files.h"
#include "support.h"

#include "ntapi_python.h"

#include <poll.h>

static ntapi_client *client;

static int open_client(void **state) {
    (void)state;
    client = client_of("httpbin");
    return 0;
}

static int close_client(void **state) {
    (void)state;
    ntapi_client_free(client);
    return 0;
}

/** A decision handler's answers, and what it saw. */
struct judge {
    int kinds;
    int calls;
    int destroys;
    ntapi_decision *kept;
    ntapi_status (*answer)(ntapi_decision *decision);
};

static void decide(void *user_data, ntapi_decision *decision) {
    struct judge *judge = user_data;
    judge->calls++;
    judge->kinds |= ntapi_decision_get_kind(decision);
    if (judge->answer == NULL) {
        judge->kept = decision;
        return;
    }
    check_ok(judge->answer(decision));
    assert_int_equal(ntapi_decision_proceed(decision), NTAPI_STATUS_INVALID_STATE);
    ntapi_decision_free(decision);
}

static pthread_mutex_t judges = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t judge_ended = PTHREAD_COND_INITIALIZER;

static void end_judge(void *user_data) {
    pthread_mutex_lock(&judges);
    ((struct judge *)user_data)->destroys++;
    pthread_cond_broadcast(&judge_ended);
    pthread_mutex_unlock(&judges);
}

/** The thread that asked may release the handler a moment after the response has come. */
static void judge_wait(struct judge *judge) {
    pthread_mutex_lock(&judges);
    while (judge->destroys == 0)
        pthread_cond_wait(&judge_ended, &judges);
    assert_int_equal(judge->destroys, 1);
    pthread_mutex_unlock(&judges);
}

/** A request for a redirect to 500 bytes, with a judge as its decision handler. */
static ntapi_request *asking(int kinds, struct judge *judge) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "url", "/bytes/500"));
    check_ok(ntapi_args_url(args, "status_code", "307"));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_CURRENT));
    ntapi_request *request = ntapi_client_create_request(client, "redirect-to", args);
    check_ok(ntapi_request_set_decision_handler(request, kinds, decide, judge, end_judge));
    ntapi_args_free(args);
    return request;
}

static ntapi_response *answered(int kinds, struct judge *judge) {
    ntapi_request *request = asking(kinds, judge);
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    ntapi_request_free(request);
    judge_wait(judge);
    return response;
}

static void each_kind_is_asked_once(void **state) {
    (void)state;
    struct judge judge = {.answer = ntapi_decision_proceed};
    ntapi_response *response = answered(NTAPI_DECISION_KIND_ALL, &judge);
    size_t length = 0;
    ntapi_response_data(response, &length);
    assert_int_equal(length, 500);
    assert_int_equal(judge.calls, 2);
    assert_int_equal(judge.kinds, NTAPI_DECISION_KIND_REDIRECT | NTAPI_DECISION_KIND_RESPONSE);
    ntapi_response_free(response);
}

static void a_redirect_is_refused_or_cancelled(void **state) {
    (void)state;
    struct judge refuses = {.answer = ntapi_decision_refuse}, cancels = {.answer = ntapi_decision_cancel};
    ntapi_response *response = answered(NTAPI_DECISION_KIND_REDIRECT, &refuses);
    assert_int_equal(ntapi_response_status(response), 307);
    assert_int_equal(code_of(response), NTAPI_CODE_HTTP_ERROR);
    ntapi_response_free(response);
    response = answered(NTAPI_DECISION_KIND_REDIRECT, &cancels);
    assert_int_equal(code_of(response), NTAPI_CODE_CANCELLED);
    ntapi_response_free(response);
}

static ntapi_status cancel_response(ntapi_decision *decision) {
    if (ntapi_decision_get_kind(decision) == NTAPI_DECISION_KIND_REDIRECT)
        return ntapi_decision_proceed(decision);
    assert_int_equal(ntapi_response_status(ntapi_decision_response(decision)), 200);
    return ntapi_decision_cancel(decision);
}

static void a_response_is_cancelled(void **state) {
    (void)state;
    struct judge judge = {.answer = cancel_response};
    ntapi_response *response = answered(NTAPI_DECISION_KIND_ALL, &judge);
    assert_int_equal(code_of(response), NTAPI_CODE_CANCELLED);
    assert_int_equal(judge.calls, 2);
    size_t length = 1;
    ntapi_response_data(response, &length);
    assert_int_equal(length, 0);
    ntapi_response_free(response);
}

static char folder[64];

static ntapi_status download(ntapi_decision *decision) {
    char path[96];
    snprintf(path, sizeof path, "%s/decided.bin", folder);
    return ntapi_decision_download(decision, path);
}

static void a_response_becomes_a_download(void **state) {
    (void)state;
    make_folder(folder);
    struct judge judge = {.answer = download};
    ntapi_response *response = answered(NTAPI_DECISION_KIND_RESPONSE, &judge);
    assert_null(ntapi_response_error(response));
    assert_int_equal(judge.calls, 1);
    assert_non_null(strstr(ntapi_response_file(response), "/decided.bin"));
    size_t length = 1;
    ntapi_response_data(response, &length);
    assert_int_equal(length, 0);
    free(content(folder, "decided.bin", &length));
    assert_int_equal(length, 500);
    ntapi_response_free(response);
    remove_folder(folder, "decided.bin");
}

static void forget(void *user_data, ntapi_decision *decision) {
    ((struct judge *)user_data)->calls++;
    ntapi_decision_free(decision);
}

static void what_is_freed_unanswered_proceeds(void **state) {
    (void)state;
    struct judge judge = {0};
    ntapi_request *request = asking(NTAPI_DECISION_KIND_ALL, &judge);
    check_ok(ntapi_request_set_decision_handler(request, NTAPI_DECISION_KIND_ALL, forget, &judge, NULL));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    assert_null(ntapi_response_error(response));
    assert_int_equal(judge.calls, 2);
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void the_request_that_follows_can_be_changed(void **state) {
    (void)state;
    struct judge judge = {0};
    ntapi_request *request = asking(NTAPI_DECISION_KIND_REDIRECT, &judge);
    check_ok(ntapi_request_resume(request));
    while (judge.kept == NULL)
        ntapi_mailbox_run(ntapi_mailbox_current(), 0.1);
    assert_int_equal(ntapi_decision_get_kind(judge.kept), NTAPI_DECISION_KIND_REDIRECT);
    assert_int_equal(ntapi_response_status(ntapi_decision_response(judge.kept)), 307);
    assert_string_equal(ntapi_headers_get(ntapi_response_headers(ntapi_decision_response(judge.kept)), "location"),
                        "/bytes/500");
    assert_int_equal(ntapi_request_identifier(ntapi_decision_request(judge.kept)), ntapi_request_identifier(request));
    ntapi_http_request *next = ntapi_decision_http_request(judge.kept);
    char url[256];
    snprintf(url, sizeof url, "%s/headers", server("httpbin"));
    check_ok(ntapi_http_request_set_url(next, url));
    check_ok(ntapi_http_request_set_header(next, "X-Added", "1"));
    assert_int_equal(ntapi_decision_download(judge.kept, "/tmp/x"), NTAPI_STATUS_INVALID_STATE);
    check_ok(ntapi_decision_proceed(judge.kept));
    ntapi_decision_free(judge.kept);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    ntapi_json *json =
        ntapi_json_parse(ntapi_response_data(response, NULL), strlen(ntapi_response_data(response, NULL)), NULL);
    check_string(json, "headers.X-Added", "1");
    ntapi_json_free(json);
    ntapi_response_free(response);
    ntapi_request_free(request);
}

static void decide_by_hook(void *user_data, ntapi_decision *decision) {
    *(int *)user_data += ntapi_decision_get_kind(decision);
    check_ok(ntapi_decision_proceed(decision));
    ntapi_decision_free(decision);
}

static void a_client_is_asked_by_its_hook(void **state) {
    (void)state;
    int asked = 0;
    ntapi_client *own = client_of("httpbin");
    ntapi_hooks hooks = {.size = sizeof hooks, .decide = decide_by_hook, .decisions = 64};
    check_invalid(ntapi_client_set_hooks(own, &hooks, &asked, NULL));
    hooks.decisions = NTAPI_DECISION_KIND_ALL;
    check_ok(ntapi_client_set_hooks(own, &hooks, &asked, NULL));
    ntapi_response *response = perform(own, "redirect-to?url=/bytes/500", NULL);
    assert_int_equal(asked, NTAPI_DECISION_KIND_REDIRECT + NTAPI_DECISION_KIND_RESPONSE);
    ntapi_response_free(response);
    ntapi_client_free(own);
}

static void a_decision_is_taken_from_a_mailbox(void **state) {
    (void)state;
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
    ntapi_request *request = ntapi_client_create_request(client, "bytes/70", args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_DECISION | NTAPI_HANDLER_RESPONSE, &client));
    check_ok(ntapi_request_set_decision_kinds(request, NTAPI_DECISION_KIND_RESPONSE));
    check_ok(ntapi_request_resume(request));
    char path[256];
    snprintf(path, sizeof path, "%s/c-decided.bin", server("tmp"));
    bool is_over = false;
    int decisions = 0;
    while (!is_over) {
        struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
        assert_int_equal(poll(&fd, 1, (int)(PATIENCE * 1000)), 1);
        ntapi_event event;
        while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 1) {
            assert_ptr_equal(event.user_data, &client);
            if (event.handler == NTAPI_HANDLER_DECISION) {
                decisions++;
                assert_int_equal(ntapi_response_status(ntapi_decision_response(event.decision)), 200);
                check_ok(ntapi_decision_download(event.decision, path));
                ntapi_decision_free(event.decision);
            } else {
                is_over = true;
                assert_string_equal(ntapi_response_file(event.response), path);
                assert_int_equal(metric_of(event.response, "bytesDecoded"), 70);
                ntapi_response_free(event.response);
            }
        }
    }
    assert_int_equal(decisions, 1);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_is_cancelled),           cmocka_unit_test(a_response_becomes_a_download),
        cmocka_unit_test(each_kind_is_asked_once),           cmocka_unit_test(a_redirect_is_refused_or_cancelled),
        cmocka_unit_test(what_is_freed_unanswered_proceeds), cmocka_unit_test(the_request_that_follows_can_be_changed),
        cmocka_unit_test(a_client_is_asked_by_its_hook),     cmocka_unit_test(a_decision_is_taken_from_a_mailbox),
    };
    return cmocka_run_group_tests_name("decision", tests, open_client, close_client);
}
