#include "support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char *server(const char *name) {
    static json_t *table;
    if (table == NULL) {
        const char *text = getenv("NTAPI_TEST_SERVERS");
        table = text != NULL ? json_loads(text, 0, NULL) : NULL;
        if (table == NULL)
            fail_msg("no servers: run python3 Tests/servers/run.py -- ctest --test-dir build");
    }
    const char *value = json_string_value(json_object_get(table, name));
    if (value == NULL)
        fail_msg("NTAPI_TEST_SERVERS has no \"%s\"", name);
    return value;
}

ntapi_client *client_of(const char *name) {
    ntapi_client *client = ntapi_client_create(NULL, server(name));
    assert_non_null(client);
    return client;
}

ntapi_client *stubbed_client(void) {
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    const ntapi_stub_answer given = {.size = sizeof given, .body = "1", .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &given, NULL));
    ntapi_stub_rule_free(rule);
    check_ok(ntapi_client_set_stub(client, stub));
    ntapi_stub_free(stub);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    return client;
}

void witness_init(witness *self) {
    memset(self, 0, sizeof *self);
    self->first = -1;
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void witness_free(witness *self) {
    ntapi_response_free(self->response);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

void witness_response(void *user_data, const ntapi_response *response) {
    witness *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->responses++;
    self->thread = pthread_self();
    if (self->response == NULL)
        self->response = ntapi_response_retain(response);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void witness_progress(void *user_data, int64_t bytes, int64_t total) {
    witness *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->progresses++;
    self->out_of_order += self->responses > 0;
    if (self->first < 0)
        self->first = bytes;
    self->shrinking += bytes < self->last;
    self->last = bytes;
    self->total = total;
    pthread_mutex_unlock(&self->lock);
}

void witness_destroy(void *user_data) {
    witness *self = user_data;
    pthread_mutex_lock(&self->lock);
    self->destroys++;
    self->early_destroys += self->responses == 0;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void witness_wait(witness *self, int destroys) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += (time_t)PATIENCE;
    pthread_mutex_lock(&self->lock);
    int result = 0;
    while (self->destroys < destroys && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&self->changed, &self->lock, &limit);
    int reached = self->destroys;
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(reached, destroys);
}

void witness_check_once(witness *self) {
    pthread_mutex_lock(&self->lock);
    int responses = self->responses, destroys = self->destroys;
    int out_of_order = self->out_of_order + self->early_destroys;
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(responses, 1);
    assert_int_equal(destroys, 1);
    assert_int_equal(out_of_order, 0);
}

ntapi_code witness_code(witness *self) {
    assert_non_null(self->response);
    return code_of(self->response);
}

void brake_init(brake *self, ntapi_request *request) {
    memset(self, 0, sizeof *self);
    assert_non_null(request);
    self->request = request;
    sem_init(&self->pulled, 0, 0);
}

void brake_pull(void *user_data, int64_t bytes, int64_t total) {
    (void)total;
    brake *self = user_data;
    if (bytes == 0 || self->is_pulled || ntapi_request_suspend(self->request) != NTAPI_STATUS_OK)
        return;
    self->is_pulled = true;
    sem_post(&self->pulled);
}

void brake_free(brake *self) {
    ntapi_request_free(self->request);
    sem_destroy(&self->pulled);
}

ntapi_args *background(void) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    return args;
}

ntapi_args *split_query(const char *command, const ntapi_args *args, char path[static 256]) {
    char query[256] = "", *rest = query;
    size_t length = strcspn(command, "?");
    assert_true(strlen(command) < 256);
    snprintf(path, 256, "%.*s", (int)length, command);
    if (command[length] == '?')
        snprintf(query, sizeof query, "%s", command + length + 1);
    ntapi_args *all = ntapi_args_create();
    for (char *pair = strtok_r(rest, "&", &rest); pair != NULL; pair = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(pair, '=');
        assert_non_null(value);
        *value = '\0';
        check_ok(ntapi_args_url(all, pair, value + 1));
    }
    if (args != NULL)
        check_ok(ntapi_args_append(all, args));
    return all;
}

void begin(ntapi_client *client, const char *command, const ntapi_args *args, witness *self) {
    char path[256];
    ntapi_args *all = split_query(command, args, path);
    ntapi_request *request = ntapi_client_begin(client, path, all, witness_response, self, witness_destroy);
    assert_non_null(request);
    ntapi_request_free(request);
    ntapi_args_free(all);
}

void begin_on(ntapi_thread thread, ntapi_client *client, const char *command, witness *self) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, thread));
    begin(client, command, args, self);
    ntapi_args_free(args);
}

ntapi_response *perform(ntapi_client *client, const char *command, ntapi_args *args) {
    char path[256];
    ntapi_args *all = split_query(command, args, path);
    ntapi_response *response = ntapi_client_perform(client, path, all);
    ntapi_args_free(all);
    ntapi_args_free(args);
    assert_non_null(response);
    return response;
}

ntapi_json *fetch(ntapi_client *client, const char *command, ntapi_args *args) {
    ntapi_response *response = perform(client, command, args);
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL)
        fail_msg("%s: %s: %s", command, ntapi_error_code_name(error), ntapi_error_message(error));
    ntapi_json *json = ntapi_json_get(ntapi_response_json(response), "");
    ntapi_response_free(response);
    assert_non_null(json);
    return json;
}

ntapi_code code_of(const ntapi_response *response) {
    return ntapi_error_code(ntapi_response_error(response));
}

void check_new_text(char *text, const char *expected) {
    assert_non_null(text);
    assert_string_equal(text, expected);
    ntapi_text_free(text);
}

void check_new_header(ntapi_headers *headers, const char *name, const char *expected) {
    const char *value = ntapi_headers_get(headers, name);
    if (expected == NULL)
        assert_null(value);
    else
        assert_string_equal(value, expected);
    ntapi_headers_free(headers);
}

double metric(const ntapi_request *request, const char *path) {
    ntapi_json *metrics = ntapi_request_metrics(request);
    double value = ntapi_json_bool(metrics, path, false) ? 1 : ntapi_json_double(metrics, path, -1);
    ntapi_json_free(metrics);
    return value;
}

double metric_of(const ntapi_response *response, const char *path) {
    return metric(ntapi_response_request(response), path);
}

void check_string(const ntapi_json *json, const char *path, const char *expected) {
    const char *found = ntapi_json_string(json, path);
    if (found == NULL)
        fail_msg("no string at %s in %s", path, ntapi_json_text(json));
    assert_string_equal(found, expected);
}

void check_error(ntapi_response *response, ntapi_error_domain domain, ntapi_code code) {
    const ntapi_error *error = ntapi_response_error(response);
    if (error == NULL)
        fail_msg("no error, code %d was expected", code);
    if (ntapi_error_code(error) != code)
        fail_msg("\"%s\" (%s) instead of code %d", ntapi_error_code_name(error), ntapi_error_message(error), code);
    check_error_name(response, domain, ntapi_error_code_name(error));
}

void check_error_name(ntapi_response *response, ntapi_error_domain domain, const char *name) {
    const ntapi_error *error = ntapi_response_error(response);
    if (error == NULL)
        fail_msg("no error, \"%s\" was expected", name);
    assert_string_equal(ntapi_error_code_name(error), name);
    assert_int_equal(ntapi_error_get_details(error)->domain, domain);
    assert_true(strlen(ntapi_error_message(error)) > 0);
    ntapi_response_free(response);
}

void check_recorded(const char *token, const char *numbers) {
    char text[96], found[32] = "";
    snprintf(text, sizeof text, "seen?token=%s", token);
    ntapi_client *client = client_of("fault");
    ntapi_json *seen = fetch(client, text, NULL);
    for (size_t i = 0; i < ntapi_json_count(seen, "requests") && i + 1 < sizeof found; i++) {
        snprintf(text, sizeof text, "requests[%zu].args.n", i);
        const char *number = ntapi_json_string(seen, text);
        found[i] = number != NULL ? *number : '?';
    }
    assert_string_equal(found, numbers);
    ntapi_json_free(seen);
    ntapi_client_free(client);
}

void on_new_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

const char *nobody(void) {
    /* A bound socket that does not listen. Connections to it are refused, and nobody else can take the port. */
    static char url[64];
    if (url[0] == '\0') {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    }
    return url;
}

void temporary_file(char path[static 64], const void *bytes, size_t length) {
    snprintf(path, 64, "/tmp/ntapi-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}
