/* Clients, their args, closing and draining, and each hook. */
#include "support.h"

#include <stdatomic.h>

static void a_client_has_args_of_its_own(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *args = ntapi_args_create(), *more = ntapi_args_create();
    check_ok(ntapi_args_url(args, "appid", "1"));
    check_ok(ntapi_args_header(args, "X-Who", "client"));
    check_ok(ntapi_client_set_args(client, args));
    check_ok(ntapi_args_url(args, "late", "not copied"));
    check_ok(ntapi_args_url(more, "q", "2"));
    check_ok(ntapi_args_header(more, "X-Who", "request"));
    ntapi_json *seen = fetch(client, "echo", more);
    check_string(seen, "target", "/echo?appid=1&q=2");
    check_string(seen, "header[\"x-who\"]", "request");
    ntapi_json_free(seen);
    ntapi_args *copy = ntapi_client_args(client);
    assert_int_equal(ntapi_args_count(copy), 2);
    check_ok(ntapi_args_url(copy, "more", "3"));
    assert_int_equal(ntapi_args_count(copy), 3);
    check_ok(ntapi_client_set_args(client, NULL));
    seen = fetch(client, "echo", NULL);
    check_string(seen, "target", "/echo");
    ntapi_json_free(seen);
    assert_null(ntapi_client_args(NULL));
    ntapi_args *none = ntapi_client_args(client);
    assert_int_equal(ntapi_args_count(none), 0);
    ntapi_args_free(none);
    check_ok(ntapi_client_set_args(client, copy));
    ntapi_args_free(copy);
    seen = fetch(client, "echo", NULL);
    check_string(seen, "target", "/echo?appid=1&more=3");
    ntapi_json_free(seen);
    check_invalid(ntapi_client_set_args(NULL, args));
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void a_client_tells_its_base_url(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test/v1");
    check_new_text(ntapi_client_base_url(client), "https://api.test/v1");
    ntapi_client_free(client);
    ntapi_class *class_handle = ntapi_class_create("Urls", NULL);
    client = ntapi_client_create(class_handle, NULL);
    assert_null(ntapi_client_base_url(client));
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(class_handle), NTAPI_DEFAULT_BASE_URL, "https://b.test"));
    check_new_text(ntapi_client_base_url(client), "https://b.test");
    ntapi_client_free(client);
    ntapi_class_free(class_handle);
    assert_null(ntapi_client_base_url(NULL));
}

/** Requests the link of a page. Returns the request as the fault server saw it. */
static ntapi_json *follow(ntapi_client *client, const char *target, ntapi_args *args) {
    char link[200];
    snprintf(link, sizeof link, "<%s>; rel=next", target);
    ntapi_args *first = ntapi_args_create();
    check_ok(ntapi_args_url(first, "Link", link));
    ntapi_response *page = perform(client, "headers", first);
    check_ok(ntapi_args_base_url(args, ntapi_response_link(page, "next")));
    ntapi_response_free(page);
    return fetch(client, "", args);
}

static void the_secrets_of_a_client_stay_on_its_origin(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *own = ntapi_args_create();
    check_ok(ntapi_args_url(own, "appid", "s3cret"));
    check_ok(ntapi_args_url(own, "units", "metric"));
    check_ok(ntapi_args_bearer(own, "s3cret"));
    check_ok(ntapi_args_header(own, "X-Mine", "s3cret"));
    check_ok(ntapi_args_mark_secret(own));
    check_ok(ntapi_client_set_args(client, own));
    ntapi_args_free(own);
    static const char headers[] = "{\"X-Api-Key\": \"s3cret\", \"X-App\": \"plain\"}";
    ntapi_json *value = ntapi_json_parse(headers, strlen(headers), NULL);
    check_ok(ntapi_defaults_set(ntapi_client_defaults(client), NTAPI_DEFAULT_ADDITIONAL_HEADERS, value));
    ntapi_json_free(value);

    char url[128];
    snprintf(url, sizeof url, "%s/echo?page=2", server("fault_other"));
    ntapi_json *seen = follow(client, url, ntapi_args_create());
    check_string(seen, "listener", "fault_other");
    check_string(seen, "target", "/echo?page=2&units=metric");
    check_string(seen, "header[\"x-app\"]", "plain");
    assert_null(strstr(ntapi_json_text(seen), "s3cret"));
    ntapi_json_free(seen);

    /* Args of the request itself are sent. */
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_bearer(args, "mine"));
    seen = follow(client, url, args);
    check_string(seen, "header.authorization", "Bearer mine");
    ntapi_json_free(seen);

    /* The client's own origin gets everything, once. */
    seen = follow(client, "/echo?appid=s3cret&page=2&units=metric", ntapi_args_create());
    check_string(seen, "target", "/echo?appid=s3cret&page=2&units=metric");
    check_string(seen, "header.authorization", "Bearer s3cret");
    check_string(seen, "header[\"x-mine\"]", "s3cret");
    check_string(seen, "header[\"x-api-key\"]", "s3cret");
    ntapi_json_free(seen);
    ntapi_client_free(client);
}

static void base_url_and_command_are_joined(void **state) {
    (void)state;
    const char *joins[][3] = {{"", "echo", "/echo"},          {"/", "/echo", "/echo"},
                              {"/echo", "", "/echo"},         {"/echo", NULL, "/echo"},
                              {"/echo/", "a/b", "/echo/a/b"}, {"/echo?k=1", "a", "/echo/a?k=1"},
                              {"/echo", "a", "/echo/a"}};
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        char url[128];
        snprintf(url, sizeof url, "%s%s", server("fault"), joins[i][0]);
        ntapi_client *client = ntapi_client_create(NULL, url);
        ntapi_response *response = ntapi_client_perform(client, joins[i][1], NULL);
        check_string(ntapi_response_json(response), "target", joins[i][2]);
        ntapi_response_free(response);
        ntapi_client_free(client);
    }
}

static void close_cancels_and_refuses(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness running[3], refused;
    for (int i = 0; i < 3; i++) {
        witness_init(&running[i]);
        begin(client, "hold", NULL, &running[i]);
    }
    check_ok(ntapi_client_close(client));
    check_ok(ntapi_client_close(client));
    witness_init(&refused);
    begin(client, "ok", NULL, &refused);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    for (int i = 0; i < 3; i++) {
        witness_wait(&running[i], 1);
        witness_check_once(&running[i]);
        assert_int_equal(witness_code(&running[i]), NTAPI_CODE_CANCELLED);
        witness_free(&running[i]);
    }
    witness_wait(&refused, 1);
    witness_check_once(&refused);
    assert_int_not_equal(witness_code(&refused), NTAPI_CODE_NONE);
    witness_free(&refused);
    ntapi_response *response = perform(client, "ok", NULL);
    assert_non_null(ntapi_response_error(response));
    ntapi_response_free(response);
    check_invalid(ntapi_client_close(NULL));
    ntapi_client_free(client);
}

/** The calls of the hooks for a session's end and its metrics. */
struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int responses, invalidations, transactions, destroyed;
    bool in_order;
};

static void told_change(struct told *self, int *count, int by) {
    pthread_mutex_lock(&self->lock);
    *count += by;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void told_wait(struct told *self, const int *count) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += (time_t)PATIENCE;
    pthread_mutex_lock(&self->lock);
    while (*count == 0 && pthread_cond_timedwait(&self->changed, &self->lock, &limit) == 0)
        ;
    assert_int_equal(*count, 1);
    pthread_mutex_unlock(&self->lock);
}

static void tell_response(void *user_data, const ntapi_response *response) {
    struct told *self = user_data;
    (void)response;
    told_change(self, &self->responses, 1);
}

static void tell_invalidation(void *user_data) {
    struct told *self = user_data;
    self->in_order = self->responses == 3;
    told_change(self, &self->invalidations, 1);
}

static void tell_metrics(void *user_data, ntapi_request *request, const ntapi_json *metrics) {
    struct told *self = user_data;
    assert_int_equal(ntapi_request_identifier(request), 1);
    assert_int_equal(ntapi_json_int(metrics, "redirects", -1), 1);
    assert_int_equal(ntapi_json_int(metrics, "transactions[0].status", -1), 302);
    assert_int_equal(ntapi_json_int(metrics, "transactions[1].status", -1), 200);
    assert_true(ntapi_json_double(metrics, "transactions[1].total", -1) > 0);
    assert_string_equal(ntapi_json_string(metrics, "transactions[1].method"), "GET");
    told_change(self, &self->transactions, (int)ntapi_json_count(metrics, "transactions"));
}

static void tell_destroy(void *user_data) {
    struct told *self = user_data;
    told_change(self, &self->destroyed, 1);
}

static void the_end_of_a_session_is_told(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
        ntapi_client *client = client_of("fault");
        ntapi_hooks hooks = {.size = sizeof hooks, .session_invalidated = tell_invalidation};
        check_ok(ntapi_client_set_hooks(client, &hooks, &told, tell_destroy));
        ntapi_args *args = ntapi_args_create();
        ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND);
        ntapi_request *last = ntapi_client_begin(client, "hold", args, tell_response, &told, NULL);
        for (int i = 0; i < 2; i++)
            ntapi_request_free(ntapi_client_begin(client, "ok", args, tell_response, &told, NULL));
        if (how == 0)
            check_ok(ntapi_client_finish_and_invalidate(client));
        else
            check_ok(how == 1 ? ntapi_client_invalidate_and_cancel(client) : ntapi_client_close(client));
        ntapi_response *refused = ntapi_client_perform(client, "ok", NULL);
        assert_int_equal(code_of(refused), NTAPI_CODE_INVALID_REQUEST);
        ntapi_response_free(refused);
        if (how == 0) {
            assert_int_equal(told.invalidations, 0);
            check_ok(ntapi_request_cancel(last));
        }
        assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
        assert_int_equal(told.invalidations, 1);
        assert_true(told.in_order);
        check_ok(ntapi_client_invalidate_and_cancel(client));
        ntapi_request_free(last);
        ntapi_args_free(args);
        ntapi_client_free(client);
        told_wait(&told, &told.destroyed);
        assert_int_equal(told.invalidations, 1);
    }
    check_invalid(ntapi_client_finish_and_invalidate(NULL));
    check_invalid(ntapi_client_invalidate_and_cancel(NULL));
}

static void metrics_of_every_exchange(void **state) {
    (void)state;
    struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    ntapi_client *client = client_of("httpbin");
    ntapi_hooks hooks = {.size = sizeof hooks, .metrics_collected = tell_metrics};
    check_ok(ntapi_client_set_hooks(client, &hooks, &told, NULL));
    ntapi_response_free(perform(client, "redirect/1", NULL));
    assert_int_equal(told.transactions, 2);
    ntapi_client_free(client);
    /* The metrics are also there without a hook. */
    client = client_of("httpbin");
    ntapi_response *response = perform(client, "redirect/1", NULL);
    ntapi_json *metrics = ntapi_request_metrics(ntapi_response_request(response));
    tell_metrics(&told, ntapi_response_request(response), metrics);
    assert_int_equal(told.transactions, 4);
    assert_int_equal(ntapi_json_get_type(metrics, "transactions[0].error"), NTAPI_JSON_TYPE_NULL);
    ntapi_json_free(metrics);
    ntapi_response_free(response);
    ntapi_client_free(client);
    assert_null(ntapi_request_metrics(NULL));
}

static void cancel_all_leaves_the_client_usable(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness running;
    witness_init(&running);
    begin(client, "hold", NULL, &running);
    assert_int_equal(ntapi_client_drain(client, 0), 1);
    check_ok(ntapi_client_cancel_all(client));
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_wait(&running, 1);
    assert_int_equal(witness_code(&running), NTAPI_CODE_CANCELLED);
    witness_free(&running);
    ntapi_json_free(fetch(client, "ok", NULL));
    check_invalid(ntapi_client_cancel_all(NULL));
    assert_true(ntapi_client_drain(NULL, 0) == SIZE_MAX);
    ntapi_client_free(client);
}

static void a_freed_client_finishes_its_requests(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    begin(client, "late?ms=20", NULL, &seen);
    ntapi_client_free(client);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    witness_free(&seen);
}

/** The interim responses of a request. */
struct informed {
    int status, count;
    char link[64];
};

static void inform(void *user_data, ntapi_request *request, int status, const ntapi_headers *headers) {
    struct informed *informed = user_data;
    assert_true(ntapi_request_identifier(request) >= 1);
    informed->status = status;
    informed->count++;
    snprintf(informed->link, sizeof informed->link, "%s", ntapi_headers_at(headers, 0, NULL));
}

static void interim_answers_come_before_the_answer(void **state) {
    (void)state;
    struct informed informed = {0};
    ntapi_client *client = client_of("fault");
    ntapi_hooks hooks = {.size = sizeof hooks, .information = inform};
    check_ok(ntapi_client_set_hooks(client, &hooks, &informed, NULL));
    ntapi_response_free(perform(client, "early-hints", NULL));
    assert_int_equal(informed.status, 103);
    assert_string_equal(informed.link, "</style.css>; rel=preload");
    ntapi_response_free(perform(client, "ok", NULL));
    assert_int_equal(informed.count, 1);
    ntapi_client_free(client);
}

/** What the hooks saw, and what they answer. */
struct hooked {
    pthread_t builder, starter;
    int args_built, requests_built, started, completed, parsed, logged, mapped, destroys;
    int calls_after_destroy;
    uint64_t started_identifier, completed_identifier;
    char command[64], url[256];
    int parse_mode; /* 0: parse, 1: error, 2: nothing */
};

static void build_args(void *user_data, const char *command, ntapi_args *args) {
    struct hooked *self = user_data;
    self->args_built++;
    self->builder = pthread_self();
    snprintf(self->command, sizeof self->command, "%s", command);
    char *sign = ntapi_args_get_option(args, "sign");
    if (sign != NULL)
        check_ok(ntapi_args_url(args, "signature", sign));
    ntapi_text_free(sign);
}

static void build_request(void *user_data, ntapi_http_request *http_request) {
    struct hooked *self = user_data;
    self->requests_built++;
    char *built = ntapi_http_request_url(http_request);
    snprintf(self->url, sizeof self->url, "%s", built);
    ntapi_text_free(built);
    check_new_text(ntapi_http_request_method(http_request), "GET");
    check_invalid(ntapi_http_request_set_method(http_request, "A B"));
    check_invalid(ntapi_http_request_set_method(http_request, NULL));
    check_new_text(ntapi_http_request_method(http_request), "GET");
    check_ok(ntapi_http_request_set_method(http_request, "DELETE"));
    check_new_text(ntapi_http_request_method(http_request), "DELETE");
    ntapi_headers *before = ntapi_http_request_headers(http_request);
    check_ok(ntapi_http_request_set_header(http_request, "X-GONE", NULL));
    check_new_header(ntapi_http_request_headers(http_request), "X-Gone", NULL);
    check_new_header(before, "x-gone", "1");
    check_invalid(ntapi_http_request_set_header(http_request, "X-Hook", "a\r\nb"));
    check_ok(ntapi_http_request_set_header(http_request, "X-Hook", "yes"));
    char url[300];
    snprintf(url, sizeof url, "%s&hook=1", self->url);
    check_invalid(ntapi_http_request_set_url(http_request, "file:///etc/hostname"));
    check_invalid(ntapi_http_request_set_url(http_request, NULL));
    check_ok(ntapi_http_request_set_url(http_request, url));
    check_new_text(ntapi_http_request_url(http_request), url);
}

static void started(void *user_data, ntapi_request *request) {
    struct hooked *self = user_data;
    self->started++;
    self->starter = pthread_self();
    self->started_identifier = ntapi_request_identifier(request);
}

static void completed(void *user_data, ntapi_request *request, const ntapi_response *response) {
    struct hooked *self = user_data;
    self->completed++;
    self->completed_identifier = ntapi_request_identifier(request);
    self->calls_after_destroy += self->destroys > 0;
    assert_int_equal(ntapi_response_status(response), 200);
}

static ntapi_json *parse_json(void *user_data, const void *bytes, size_t length, ntapi_error **error) {
    struct hooked *self = user_data;
    self->parsed++;
    if (self->parse_mode == 0)
        return ntapi_json_parse(bytes, length, error);
    if (self->parse_mode == 1)
        *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_JSON, "mine", "not my JSON", false);
    if (self->parse_mode == 3) {
        /* The first attempt to parse fails, the second one does not. */
        assert_null(ntapi_json_parse("x", 1, error));
        return ntapi_json_parse(bytes, length, NULL);
    }
    return NULL;
}

static void write_log(void *user_data, ntapi_log level, const char *message) {
    struct hooked *self = user_data;
    (void)level;
    assert_non_null(message);
    self->logged++;
}

static ntapi_error *map_service_error(void *user_data, const ntapi_response *response) {
    struct hooked *self = user_data;
    self->mapped++;
    const ntapi_json *json = ntapi_response_json(response);
    const char *code = ntapi_json_string(json, "args.fail");
    return code != NULL ? ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, "the service says no", false) : NULL;
}

static void hooked_destroy(void *user_data) {
    ((struct hooked *)user_data)->destroys++;
}

static void every_hook_is_called_in_its_place(void **state) {
    (void)state;
    struct hooked hooked = {0};
    ntapi_hooks hooks = {
        .size = sizeof hooks,
        .build_args = build_args,
        .build_request = build_request,
        .started = started,
        .completed = completed,
        .parse_json = parse_json,
        .write_log = write_log,
        .map_service_error = map_service_error,
    };
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &hooked, hooked_destroy));
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_INFO));

    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, "sign", "abc"));
    check_ok(ntapi_args_header(args, "X-Gone", "1"));
    ntapi_json *seen = fetch(client, "echo", args);
    check_string(seen, "method", "DELETE");
    check_string(seen, "target", "/echo?signature=abc&hook=1");
    check_string(seen, "header[\"x-hook\"]", "yes");
    assert_null(ntapi_json_string(seen, "header[\"x-gone\"]"));
    ntapi_json_free(seen);
    assert_string_equal(hooked.command, "echo");
    assert_true(pthread_equal(hooked.builder, pthread_self()));
    assert_true(pthread_equal(hooked.starter, pthread_self()));
    assert_int_equal(hooked.args_built, 1);
    assert_int_equal(hooked.requests_built, 1);
    assert_int_equal(hooked.started, 1);
    assert_int_equal(hooked.completed, 1);
    assert_int_equal(hooked.parsed, 1);
    assert_int_equal(hooked.mapped, 1);
    assert_int_equal(hooked.logged, 2);
    assert_true(hooked.started_identifier > 0);
    assert_true(hooked.started_identifier == hooked.completed_identifier);
    assert_int_equal(hooked.destroys, 0);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    check_ok(ntapi_client_set_hooks(client, NULL, NULL, NULL));
    assert_int_equal(hooked.destroys, 1);
    assert_int_equal(hooked.calls_after_destroy, 0);
    ntapi_client_free(client);
}

static void leave(void *user_data, const char *command, ntapi_args *args) {
    (void)command;
    check_ok(ntapi_args_base_url(args, user_data));
}

static void a_hook_takes_no_secrets_to_another_origin(void **state) {
    (void)state;
    char other[128];
    snprintf(other, sizeof other, "%s/echo", server("fault_other"));
    const ntapi_hooks hooks = {.size = sizeof hooks, .build_args = leave};
    ntapi_client *client = client_of("fault");
    ntapi_args *own = ntapi_args_create();
    check_ok(ntapi_args_bearer(own, "s3cret"));
    check_ok(ntapi_args_url(own, "units", "metric"));
    check_ok(ntapi_client_set_args(client, own));
    ntapi_args_free(own);
    check_ok(ntapi_client_set_hooks(client, &hooks, other, NULL));
    ntapi_json *seen = fetch(client, "echo", NULL);
    check_string(seen, "listener", "fault_other");
    check_string(seen, "target", "/echo?units=metric");
    assert_null(ntapi_json_string(seen, "header.authorization"));
    ntapi_json_free(seen);
    ntapi_client_free(client);
}

/** Frees a client without requests. A worker may still hold the client, so the hooks are removed first. */
static void end(ntapi_client *client, struct hooked *hooked) {
    check_ok(ntapi_client_set_hooks(client, NULL, NULL, NULL));
    assert_int_equal(hooked->destroys, 1);
    ntapi_client_free(client);
}

static void service_errors_are_mapped(void **state) {
    (void)state;
    struct hooked hooked = {0};
    ntapi_hooks hooks = {.size = sizeof hooks, .map_service_error = map_service_error};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &hooked, hooked_destroy));
    ntapi_response *response = perform(client, "echo?fail=quota", NULL);
    assert_int_equal(ntapi_response_status(response), 200);
    assert_string_equal(ntapi_error_message(ntapi_response_error(response)), "the service says no");
    assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->http_status, 200);
    check_error_name(response, NTAPI_ERROR_DOMAIN_SERVICE, "quota");
    assert_int_equal(hooked.mapped, 1);

    /* The hook gets an HTTP error with JSON, and may leave it unchanged. It does not get a network error. */
    check_error(perform(client, "status/500", NULL), NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    assert_int_equal(hooked.mapped, 2);
    check_error(perform(client, "close/in-body", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    assert_int_equal(hooked.mapped, 2);
    end(client, &hooked);
}

/** The errors that the hook map_error got, and whether it replaces them. */
struct mapping {
    atomic_int asked;
    ntapi_code code;
    bool keeps;
};

static ntapi_error *map_error(void *user_data, const ntapi_error *error, const ntapi_response *response) {
    struct mapping *self = user_data;
    self->asked++;
    self->code = ntapi_error_code(error);
    assert_int_equal(ntapi_error_code(ntapi_response_error(response)), self->code);
    return self->keeps ? NULL : ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "mapped", "another one", true);
}

static const char *code_for(ntapi_client *client, const char *command) {
    ntapi_response *response = perform(client, command, NULL);
    const char *code = ntapi_error_code_name(ntapi_response_error(response));
    ntapi_response_free(response);
    return code;
}

static void a_status_has_a_code(void **state) {
    (void)state;
    const char *missing = ntapi_code_register("no such city"), *http = ntapi_code_register("HTTP error");
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_error_code(client, 404, "no such city"));
    check_ok(ntapi_client_set_error_code(client, 409, "taken"));
    assert_ptr_equal(code_for(client, "status/404"), missing);
    assert_ptr_equal(code_for(client, "status/409"), ntapi_code_register("taken"));
    assert_ptr_equal(code_for(client, "status/410"), http);
    ntapi_response *response = perform(client, "status/404", NULL);
    assert_int_equal(ntapi_error_code(ntapi_response_error(response)), NTAPI_CODE_CUSTOM);
    assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->domain, NTAPI_ERROR_DOMAIN_HTTP);
    assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->http_status, 404);
    ntapi_response_free(response);
    check_ok(ntapi_client_set_error_code(client, 404, NULL));
    assert_ptr_equal(code_for(client, "status/404"), http);
    check_invalid(ntapi_client_set_error_code(client, 299, "never an error"));
    check_invalid(ntapi_client_set_error_code(client, 404, "\xff"));
    check_invalid(ntapi_client_set_error_code(NULL, 404, "no such city"));
    ntapi_client_free(client);
}

static void every_error_is_mapped(void **state) {
    (void)state;
    struct mapping mapping = {0};
    ntapi_hooks hooks = {.size = sizeof hooks, .map_error = map_error};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &mapping, NULL));
    ntapi_response *response = perform(client, "status/503", NULL);
    assert_int_equal(ntapi_error_get_details(ntapi_response_error(response))->http_status, 503);
    assert_true(ntapi_error_get_details(ntapi_response_error(response))->is_retryable);
    check_error_name(response, NTAPI_ERROR_DOMAIN_SERVICE, "mapped");
    assert_int_equal(mapping.code, NTAPI_CODE_HTTP_ERROR);
    check_error_name(perform(client, "reset/before", NULL), NTAPI_ERROR_DOMAIN_SERVICE, "mapped");
    assert_int_equal(mapping.code, NTAPI_CODE_NETWORK);
    check_error_name(perform(client, "{unfilled}", NULL), NTAPI_ERROR_DOMAIN_SERVICE, "mapped");
    assert_int_equal(mapping.code, NTAPI_CODE_INVALID_REQUEST);
    assert_int_equal(mapping.asked, 3);

    /* It is also called once for a cancelled request, and never for a successful one. */
    witness seen;
    witness_init(&seen);
    ntapi_args *args = background();
    ntapi_request *request = ntapi_client_create_request(client, "stall/before", args);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_cancel(request));
    witness_wait(&seen, 1);
    witness_check_once(&seen);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CUSTOM);
    assert_int_equal(mapping.code, NTAPI_CODE_CANCELLED);
    assert_int_equal(mapping.asked, 4);
    ntapi_json_free(fetch(client, "ok", NULL));
    mapping.keeps = true;
    check_error(perform(client, "reset/before", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    assert_int_equal(mapping.asked, 5);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_free(&seen);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void parsing_may_fail_or_give_nothing(void **state) {
    (void)state;
    struct hooked hooked = {.parse_mode = 1};
    ntapi_hooks hooks = {.size = sizeof hooks, .parse_json = parse_json};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &hooked, hooked_destroy));
    check_error_name(perform(client, "ok", NULL), NTAPI_ERROR_DOMAIN_JSON, "mine");
    hooked.parse_mode = 2;
    ntapi_response *response = perform(client, "ok", NULL);
    assert_null(ntapi_response_error(response));
    assert_null(ntapi_response_json(response));
    ntapi_response_free(response);
    /* If there are both a document and an error, the document counts. Neither of them leaks. */
    hooked.parse_mode = 3;
    size_t documents = ntapi_live_handles(NTAPI_HANDLE_KIND_JSON), errors = ntapi_live_handles(NTAPI_HANDLE_KIND_ERROR);
    response = perform(client, "ok", NULL);
    assert_null(ntapi_response_error(response));
    assert_non_null(ntapi_response_json(response));
    ntapi_response_free(response);
    assert_int_equal(ntapi_live_handles(NTAPI_HANDLE_KIND_JSON), documents);
    assert_int_equal(ntapi_live_handles(NTAPI_HANDLE_KIND_ERROR), errors);
    end(client, &hooked);
}

/** Reads and changes each part of a built request. */
static void configure(void *user_data, ntapi_http_request *http) {
    double *priority = user_data;
    size_t length = 0;
    assert_int_equal(ntapi_http_request_get_body_kind(http), NTAPI_BODY_KIND_BYTES);
    check_new_text(ntapi_http_request_body(http, &length), "old");
    assert_int_equal(length, 3);
    check_invalid(ntapi_http_request_set_body(http, NULL, 1));
    check_invalid(ntapi_http_request_set_body(NULL, "a", 1));
    check_ok(ntapi_http_request_set_body(http, "n\0w", 3));
    char *body = ntapi_http_request_body(http, &length);
    assert_memory_equal(body, "n\0w", 4);
    ntapi_text_free(body);

    assert_true(ntapi_http_request_timeout(http, NTAPI_CLOCK_IDLE) == 5);
    assert_true(ntapi_http_request_timeout(http, NTAPI_CLOCK_QUEUE) < 0);
    check_invalid(ntapi_http_request_set_timeout(http, NTAPI_CLOCK_IDLE, 0));
    check_ok(ntapi_http_request_set_timeout(http, NTAPI_CLOCK_IDLE, 7.5));
    check_ok(ntapi_http_request_set_timeout(http, NTAPI_CLOCK_TOTAL, -1));
    assert_true(ntapi_http_request_timeout(http, NTAPI_CLOCK_IDLE) == 7.5);
    assert_true(ntapi_http_request_timeout(http, NTAPI_CLOCK_TOTAL) < 0);

    assert_int_equal(ntapi_http_request_cache_policy(http), NTAPI_CACHE_POLICY_NO_STORE);
    check_invalid(ntapi_http_request_set_cache_policy(http, (ntapi_cache_policy)9));
    check_invalid(ntapi_http_request_set_cache_policy(http, NTAPI_CACHE_POLICY_NONE));
    check_ok(ntapi_http_request_set_cache_policy(http, NTAPI_CACHE_POLICY_RELOAD_REVALIDATING));
    assert_int_equal(ntapi_http_request_cache_policy(http), NTAPI_CACHE_POLICY_RELOAD_REVALIDATING);
    assert_int_equal(ntapi_http_request_cache_policy(NULL), NTAPI_CACHE_POLICY_NONE);

    check_new_text(ntapi_http_request_option(http, "mine"), "yes");
    assert_null(ntapi_http_request_option(http, NTAPI_OPTION_RAW_DATA));
    check_ok(ntapi_http_request_set_option(http, "mine", NULL));
    assert_null(ntapi_http_request_option(http, "mine"));
    check_ok(ntapi_http_request_set_option(http, NTAPI_OPTION_RAW_DATA, ""));
    check_new_text(ntapi_http_request_option(http, NTAPI_OPTION_RAW_DATA), "");

    assert_true(ntapi_http_request_priority(http) == 0.5);
    check_invalid(ntapi_http_request_set_priority(http, 1.5));
    check_ok(ntapi_http_request_set_priority(http, *priority));
    assert_true(ntapi_http_request_priority(http) == *priority);

    int found = 0;
    const char *name, *value;
    ntapi_headers *headers = ntapi_http_request_headers(http);
    for (size_t i = 0; (value = ntapi_headers_at(headers, i, &name)) != NULL; i++)
        found += strcmp(name, "X-Mine") == 0 && strcmp(value, "1") == 0;
    ntapi_headers_free(headers);
    assert_int_equal(found, 1);
}

static void everything_of_a_built_request_can_be_changed(void **state) {
    (void)state;
    double priority = 0.75;
    ntapi_hooks hooks = {.size = sizeof hooks, .build_request = configure};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &priority, NULL));
    ntapi_args *args = background();
    check_ok(ntapi_args_data(args, "old", 3, "text/plain"));
    check_ok(ntapi_args_header(args, "X-Mine", "1"));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, 5));
    check_ok(ntapi_args_cache_policy(args, NTAPI_CACHE_POLICY_NO_STORE));
    check_ok(ntapi_args_option(args, "mine", "yes"));
    ntapi_request *request = ntapi_client_create_request(client, "mirror", args);
    assert_true(ntapi_request_priority(request) == 0.75);
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_response *response = ntapi_request_response(request);
    size_t length = 0;
    assert_null(ntapi_response_error(response));
    assert_memory_equal(ntapi_response_data(response, &length), "n\0w", 4);
    assert_int_equal(length, 3);
    assert_null(ntapi_response_json(response));
    ntapi_response_free(response);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

/** The calls of the transfer hooks, in order: s, r and d. Calls of the request's own handlers are S, R and D. */
struct watching {
    char events[4096];
    size_t count;
    char data[4096];
    size_t length;
    int64_t sent, received;
    ntapi_progress_fn given;
};

static void note(struct watching *self, char event) {
    if (self->count + 1 < sizeof self->events)
        self->events[self->count++] = event;
}

static void upload_progressed(void *user_data, ntapi_request *request, int64_t bytes, int64_t total) {
    struct watching *self = user_data;
    assert_true(ntapi_request_identifier(request) > 0 && total == 2000);
    self->sent = bytes;
    note(self, 's');
}

static void download_progressed(void *user_data, ntapi_request *request, int64_t bytes, int64_t total) {
    struct watching *self = user_data;
    assert_true(ntapi_request_identifier(request) > 0 && total >= -1);
    self->received = bytes;
    note(self, 'r');
}

static void data_received(void *user_data, ntapi_request *request, const void *bytes, size_t length) {
    struct watching *self = user_data;
    assert_true(ntapi_request_identifier(request) > 0 && self->length + length <= sizeof self->data);
    memcpy(self->data + self->length, bytes, length);
    self->length += length;
    note(self, 'd');
}

static void own_progress(void *user_data, int64_t bytes, int64_t total) {
    (void)bytes, (void)total;
    note(user_data, 'S');
}

static void set_progress(void *user_data, ntapi_request *request) {
    struct watching *self = user_data;
    check_ok(ntapi_request_set_upload_progress(request, self->given, self, NULL));
}

static void every_transfer_is_seen(void **state) {
    (void)state;
    struct watching seen = {.given = own_progress};
    ntapi_hooks hooks = {.size = sizeof hooks,
                         .upload_progressed = upload_progressed,
                         .download_progressed = download_progressed,
                         .data_received = data_received,
                         .started = set_progress};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &seen, NULL));
    char body[2000];
    memset(body, 'x', sizeof body);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_data(args, body, sizeof body, "text/plain"));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    ntapi_response *response = ntapi_client_perform(client, "mirror", args);
    size_t length = 0;
    assert_null(ntapi_response_error(response));
    /* The hooks only watch: the response still has the body. */
    assert_memory_equal(ntapi_response_data(response, &length), body, sizeof body);
    assert_int_equal(length, sizeof body);
    assert_int_equal(seen.length, sizeof body);
    assert_memory_equal(seen.data, body, sizeof body);
    assert_true(seen.sent == 2000 && seen.received == 2000);
    /* The hook `started` has set the progress handlers. Each of them runs after the client's hook. */
    for (size_t i = 0; i < seen.count; i++)
        assert_true((seen.events[i] == 's') == (seen.events[i + 1] == 'S'));
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static ntapi_http_request *kept;

static void keep(void *user_data, ntapi_http_request *http_request) {
    (void)user_data;
    kept = http_request;
}

static void a_built_request_ends_with_its_hook(void **state) {
    (void)state;
    ntapi_hooks hooks = {.size = sizeof hooks, .build_request = keep};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
    ntapi_json_free(fetch(client, "ok", NULL));
    assert_non_null(kept);
    assert_null(ntapi_http_request_url(kept));
    assert_null(ntapi_http_request_method(kept));
    check_invalid(ntapi_http_request_set_url(kept, "http://127.0.0.1"));
    ntapi_client_free(client);
}

static void replaced_hooks_are_called_no_more(void **state) {
    (void)state;
    struct hooked hooked = {0};
    ntapi_hooks hooks = {.size = sizeof hooks, .completed = completed};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_hooks(client, &hooks, &hooked, hooked_destroy));
    witness seen;
    witness_init(&seen);
    begin(client, "late?ms=30", NULL, &seen);
    assert_int_equal(hooked.destroys, 0); /* the client still uses them */
    check_ok(ntapi_client_set_hooks(client, NULL, NULL, NULL));
    assert_int_equal(hooked.destroys, 1);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    witness_wait(&seen, 1);
    assert_int_equal(hooked.completed, 0);
    assert_int_equal(hooked.calls_after_destroy, 0);
    witness_free(&seen);

    /* If hooks are refused, their user data is destroyed, too. */
    check_invalid(ntapi_client_set_hooks(NULL, &hooks, &hooked, hooked_destroy));
    assert_int_equal(hooked.destroys, 2);
    hooks.size = 0;
    check_invalid(ntapi_client_set_hooks(client, &hooks, &hooked, hooked_destroy));
    assert_int_equal(hooked.destroys, 3);
    check_invalid(ntapi_client_set_hooks(NULL, NULL, NULL, NULL));
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interim_answers_come_before_the_answer),
        cmocka_unit_test(a_client_has_args_of_its_own),
        cmocka_unit_test(a_client_tells_its_base_url),
        cmocka_unit_test(the_secrets_of_a_client_stay_on_its_origin),
        cmocka_unit_test(base_url_and_command_are_joined),
        cmocka_unit_test(close_cancels_and_refuses),
        cmocka_unit_test(the_end_of_a_session_is_told),
        cmocka_unit_test(metrics_of_every_exchange),
        cmocka_unit_test(cancel_all_leaves_the_client_usable),
        cmocka_unit_test(a_freed_client_finishes_its_requests),
        cmocka_unit_test(every_hook_is_called_in_its_place),
        cmocka_unit_test(a_hook_takes_no_secrets_to_another_origin),
        cmocka_unit_test(service_errors_are_mapped),
        cmocka_unit_test(a_status_has_a_code),
        cmocka_unit_test(every_error_is_mapped),
        cmocka_unit_test(everything_of_a_built_request_can_be_changed),
        cmocka_unit_test(every_transfer_is_seen),
        cmocka_unit_test(parsing_may_fail_or_give_nothing),
        cmocka_unit_test(a_built_request_ends_with_its_hook),
        cmocka_unit_test(replaced_hooks_are_called_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
