/*
 * A program of the first release that has this interface. It is compiled against the headers beside it, which stay as
 * that release had them, and runs with the library of today: check_frozen.py does both. It uses each struct, each macro
 * and the enums, without a network. It never changes.
 */
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntapi.h"
#include "ntapi_testing.h"

static int failures;

/** Also in a release build. */
static void check_at(int line, const char *what, bool is_right) {
    if (is_right)
        return;
    failures++;
    fprintf(stderr, "line %d: %s\n", line, what);
}
#define check(condition) check_at(__LINE__, #condition, condition)

/** What its callbacks have seen. */
struct seen {
    atomic_int built, started, completed, metrics, logged, passages, ends, decided, events, refreshed;
    sem_t destroyed;
};

static void destroy(void *user_data) {
    sem_post(&((struct seen *)user_data)->destroyed);
}

static bool is_text(char *text, const char *expected) {
    bool is_right = text != NULL && strcmp(text, expected) == 0;
    ntapi_text_free(text);
    return is_right;
}

/* Hooks */

static void build_args(void *user_data, const char *command, ntapi_args *args) {
    struct seen *seen = user_data;
    check(strlen(command) > 0);
    check(ntapi_args_header(args, "X-Built", "1") == NTAPI_STATUS_OK);
    seen->built++;
}

static void build_request(void *user_data, ntapi_http_request *request) {
    struct seen *seen = user_data;
    char *method = ntapi_http_request_method(request);
    check(strcmp(method, "GET") == 0 || strcmp(method, "POST") == 0);
    ntapi_text_free(method);
    ntapi_headers *headers = ntapi_http_request_headers(request);
    check(strcmp(ntapi_headers_get(headers, "x-built"), "1") == 0);
    ntapi_headers_free(headers);
    check(ntapi_http_request_timeout(request, NTAPI_CLOCK_IDLE) == 60);
    check(ntapi_http_request_cache_policy(request) == NTAPI_CACHE_POLICY_PROTOCOL);
    check(ntapi_http_request_cache_policy(NULL) == NTAPI_CACHE_POLICY_NONE);
    seen->built++;
}

static void started(void *user_data, ntapi_request *request) {
    check(ntapi_request_get_state(request) != NTAPI_REQUEST_STATE_NONE);
    ((struct seen *)user_data)->started++;
}

static void collected(void *user_data, ntapi_request *request, const ntapi_json *metrics) {
    check(request != NULL && ntapi_json_get_type(metrics, "transactions") == NTAPI_JSON_TYPE_ARRAY);
    ((struct seen *)user_data)->metrics++;
}

static void completed(void *user_data, ntapi_request *request, const ntapi_response *response) {
    check(ntapi_request_identifier(request) > 0 && response != NULL);
    ((struct seen *)user_data)->completed++;
}

static void write_log(void *user_data, ntapi_log level, const char *message) {
    check((level & NTAPI_LOG_ALL) != 0 && message != NULL);
    ((struct seen *)user_data)->logged++;
}

static ntapi_error *map_error(void *user_data, const ntapi_error *error, const ntapi_response *response) {
    (void)user_data, (void)error, (void)response;
    return NULL;
}

static void decide(void *user_data, ntapi_decision *decision) {
    struct seen *seen = user_data;
    seen->decided++;
    check(ntapi_decision_get_kind(decision) == NTAPI_DECISION_KIND_CHALLENGE);
    const ntapi_challenge *challenge = ntapi_decision_challenge(decision);
    check(challenge->size >= sizeof *challenge && challenge->kind == NTAPI_CHALLENGE_KIND_SERVER);
    check(strcmp(challenge->realm, "members") == 0 && strcmp(challenge->scheme, "Basic") == 0);
    check(challenge->failures == 0 && challenge->certificate_count == 0);
    const ntapi_protection_space *space = challenge->space;
    check(space->size >= sizeof *space && space->port == 443 && !space->is_proxy);
    check(strcmp(space->host, "api.test") == 0 && space->authentication == NTAPI_AUTHENTICATION_BASIC);
    check(ntapi_decision_use_credential(decision, "ann", "secret", NTAPI_PERSISTENCE_NONE) == NTAPI_STATUS_OK);
    ntapi_decision_free(decision);
}

/* Interceptors */

static void intercept(void *user_data, ntapi_interception *interception) {
    struct seen *seen = user_data;
    const ntapi_passage *passage = ntapi_interception_passage(interception);
    check(passage->size >= sizeof *passage && passage->identifier > 0 && passage->number == 1);
    check(strcmp(passage->reason, "first") == 0 && passage->is_own_origin);
    seen->passages++;
    if (ntapi_interception_response(interception) == NULL)
        check(ntapi_interception_send(interception) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

static void ended(void *user_data, uint64_t identifier) {
    (void)identifier;
    ((struct seen *)user_data)->ends++;
}

/* Structs of JSON */

static bool read_day(void *user_data, const char *text, double *seconds) {
    *seconds = atoi(text + *(size_t *)user_data) * 86400.0;
    return strncmp(text, "day ", 4) == 0;
}

static bool write_day(void *user_data, double seconds, char *text, size_t capacity) {
    (void)user_data;
    return (size_t)snprintf(text, capacity, "day %d", (int)(seconds / 86400)) < capacity;
}

static size_t word = 4;
static const ntapi_custom_date_format days = {sizeof days, "day 3", read_day, write_day, &word};

struct place {
    const char *name;
};
static const ntapi_field place_fields[] = {NTAPI_FIELD_STRING(struct place, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
                                           NTAPI_FIELD_END};

struct city {
    bool big, loose;
    int id;
    uint16_t zone;
    double height;
    const char *name, *url;
    double since, day;
    struct place country;
    struct place *twins;
    size_t twin_count;
    int *codes;
    size_t code_count;
};
static const ntapi_field city_fields[] = {
    NTAPI_FIELD_BOOL(struct city, big, "big", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_BOOL(struct city, loose, "loose", NTAPI_FIELD_FLAG_LOOSE_BOOLEAN),
    NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_FLAG_NUMBER_IN_STRING),
    NTAPI_FIELD_UINT(struct city, zone, "zone", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct city, height, "height", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_URL(struct city, url, "url", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DATE(struct city, since, "since", NTAPI_FIELD_FLAG_REQUIRED, NTAPI_DATE_FORMAT_ISO8601),
    NTAPI_FIELD_CUSTOM_DATE(struct city, day, "day", NTAPI_FIELD_FLAG_REQUIRED, &days),
    NTAPI_FIELD_OBJECT(struct city, country, "country", NTAPI_FIELD_FLAG_REQUIRED, place_fields),
    NTAPI_FIELD_ARRAY(struct city, twins, twin_count, "twins", NTAPI_FIELD_FLAG_REQUIRED, place_fields),
    NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_INT, struct city, codes, code_count, "codes", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_END,
};

static const char city_json[] =
    "{\"big\":true,\"loose\":\"1\",\"id\":\"7\",\"zone\":65535,\"height\":2.5,\"name\":\"Oslo\",\"url\":"
    "\"https://o.test/\",\"since\":\"1970-01-02\",\"day\":\"day 3\",\"country\":{\"name\":\"Norway\"},"
    "\"twins\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"codes\":[1,2,3]}";

static void fill_a_struct(const ntapi_response *response) {
    struct city city = {0};
    ntapi_error *error = NULL;
    ntapi_decoded *decoded = ntapi_response_decode(response, city_fields, &city, sizeof city, &error);
    check(error == NULL && decoded != NULL);
    check(city.big && city.loose && city.id == 7 && city.zone == 65535 && city.height == 2.5);
    check(strcmp(city.name, "Oslo") == 0 && strcmp(city.url, "https://o.test/") == 0);
    check(city.since == 86400 && city.day == 3 * 86400.0 && strcmp(city.country.name, "Norway") == 0);
    check(city.twin_count == 2 && strcmp(city.twins[1].name, "b") == 0);
    check(city.code_count == 3 && city.codes[2] == 3);
    ntapi_json *json = ntapi_json_encode(city_fields, &city, sizeof city, &error);
    check(json != NULL && strcmp(ntapi_json_string(json, "day"), "day 3") == 0);
    ntapi_json_free(json);
    ntapi_decoded_free(decoded);
}

/* Tokens */

static void refresh(void *user_data, ntapi_refresh *refresh) {
    ((struct seen *)user_data)->refreshed++;
    check(ntapi_refresh_succeed(refresh, "fresh", -1) == NTAPI_STATUS_OK);
}

/* Events */

static void on_event(void *user_data, const ntapi_server_event *event) {
    struct seen *seen = user_data;
    check(event->size >= sizeof *event && strcmp(event->type, "news") == 0 && event->length == 5);
    check(strcmp(event->data, "hello") == 0 && strcmp(event->last_event_id, "9") == 0);
    seen->events++;
}

static bool match(void *user_data, const ntapi_stub_request *request) {
    (void)user_data;
    check(request->size >= sizeof *request && strcmp(request->method, "GET") == 0 && request->length == 0);
    return strstr(request->url, "/events") != NULL;
}

static ntapi_stub *make_stub(void) {
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "city");
    ntapi_json *json = ntapi_json_parse(city_json, strlen(city_json), NULL);
    ntapi_stub_answer failed = {.size = sizeof failed, .fault = NTAPI_STUB_FAULT_NO_CONNECTION};
    ntapi_stub_answer answer = {.size = sizeof answer, .json = json};
    check(ntapi_stub_rule_answer(rule, &failed, NULL) == NTAPI_STATUS_OK);
    check(ntapi_stub_rule_answer(rule, &answer, NULL) == NTAPI_STATUS_OK);
    ntapi_json_free(json);
    ntapi_stub_rule_free(rule);
    rule = ntapi_stub_on(stub, NULL, "members");
    static const char *const asks[] = {"WWW-Authenticate: Basic realm=\"members\"", NULL};
    ntapi_stub_answer ask = {.size = sizeof ask, .status = 401, .headers = asks};
    ntapi_stub_answer welcome = {.size = sizeof welcome, .body = "in", .length = 2, .content_type = "text/plain"};
    check(ntapi_stub_rule_answer(rule, &ask, NULL) == NTAPI_STATUS_OK);
    check(ntapi_stub_rule_answer(rule, &welcome, NULL) == NTAPI_STATUS_OK);
    ntapi_stub_rule_free(rule);
    rule = ntapi_stub_on(stub, NULL, NULL);
    ntapi_stub_answer events = {.size = sizeof events,
                                .body = "id: 9\nevent: news\ndata: hello\n\n",
                                .content_type = "text/event-stream",
                                .piece_size = 7};
    ntapi_stub_answer over = {.size = sizeof over, .status = 204};
    check(ntapi_stub_rule_match(rule, match, NULL, NULL) == NTAPI_STATUS_OK);
    check(ntapi_stub_rule_answer(rule, &events, NULL) == NTAPI_STATUS_OK);
    check(ntapi_stub_rule_answer(rule, &over, NULL) == NTAPI_STATUS_OK);
    ntapi_stub_rule_free(rule);
    return stub;
}

/** A request that is tried twice, with all hooks, an interceptor and a struct. */
static void perform(ntapi_client *client, struct seen *seen) {
    ntapi_interceptor *interceptor =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_CALL, intercept, ended, seen, destroy);
    check(ntapi_client_add_interceptor(client, interceptor) == NTAPI_STATUS_OK);
    ntapi_args *args = ntapi_args_create();
    ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    policy.base = 0;
    check(ntapi_args_retry(args, &policy) == NTAPI_STATUS_OK);
    check(ntapi_args_url(args, "q", "Oslo") == NTAPI_STATUS_OK);
    ntapi_response *response = ntapi_client_perform(client, "city", args);
    check(ntapi_response_error(response) == NULL && ntapi_response_status(response) == 200);
    check(ntapi_response_get_source(response) == NTAPI_SOURCE_NETWORK);
    fill_a_struct(response);
    ntapi_json *metrics = ntapi_request_metrics(ntapi_response_request(response));
    check(ntapi_json_int(metrics, "retries", -1) == 1 && ntapi_json_count(metrics, "transactions") == 2);
    check(ntapi_json_int(metrics, "progress.bytesDecoded", -1) == (int64_t)strlen(city_json));
    ntapi_json_free(metrics);
    ntapi_response_free(response);
    ntapi_args_free(args);
    check(seen->built == 2 && seen->started == 1 && seen->completed == 1 && seen->metrics == 1 && seen->passages == 2);
    check(ntapi_client_remove_interceptor(client, interceptor) == NTAPI_STATUS_OK);
    check(ntapi_client_remove_interceptor(client, interceptor) == NTAPI_STATUS_INVALID_STATE);
    ntapi_interceptor_free(interceptor);
}

/** An error outlives its response, and says what it is. */
static void fail(ntapi_client *client) {
    ntapi_response *response = ntapi_client_perform(client, "nowhere", NULL);
    ntapi_error *error = ntapi_error_retain(ntapi_response_error(response));
    ntapi_response_free(response);
    const ntapi_error_details *details = ntapi_error_get_details(error);
    check(details->size >= sizeof *details && details->clock == NTAPI_CLOCK_NONE && details->retry_after < 0);
    check(details->failure == NTAPI_FAILURE_NONE && ntapi_error_code(error) == NTAPI_CODE_NO_STUB);
    ntapi_error_free(error);
}

/** Events that are taken from a mailbox, into room that is larger than the struct. */
static void take(ntapi_client *client) {
    struct {
        ntapi_event event;
        uint64_t later;
    } room[2] = {{{0}, 5}};
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, "") == NTAPI_STATUS_OK);
    check(ntapi_client_begin_event(client, "members", args, mailbox, room) != NULL);
    ntapi_args_free(args);
    struct pollfd waiting = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    size_t count = 0;
    while ((count = ntapi_mailbox_take(mailbox, &room[0].event, sizeof *room, 2)) == 0)
        poll(&waiting, 1, -1);
    const ntapi_event *event = &room[0].event;
    check(count == 1 && event->size >= sizeof *event && room[0].later == 0);
    check(event->handler == NTAPI_HANDLER_RESPONSE && event->user_data == room && event->error == NULL);
    check(event->status == 200 && event->length == 2 && strcmp(event->body, "in") == 0 && event->contents == 0);
    check(event->data == NULL && event->decision == NULL && event->bytes == 0 && event->total == 0);
    ntapi_response_free(event->response);
    ntapi_mailbox_free(mailbox);
}

static void stream(ntapi_client *client, struct seen *seen) {
    ntapi_args *args = ntapi_args_create();
    check(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND) == NTAPI_STATUS_OK);
    ntapi_request *request = ntapi_client_create_request(client, "events", args);
    check(ntapi_request_set_server_event_handler(request, on_event, seen, destroy) == NTAPI_STATUS_OK);
    ntapi_headers *none = ntapi_request_received_headers(request);
    check(none != NULL && ntapi_headers_at(none, 0, NULL) == NULL);
    ntapi_headers_free(none);
    check(ntapi_request_resume(request) == NTAPI_STATUS_OK);
    check(ntapi_request_wait(request, 60) == NTAPI_STATUS_OK);
    check(seen->events == 1);
    ntapi_request_free(request);
    ntapi_args_free(args);
}

static void store_a_credential(void) {
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    const ntapi_protection_space space = {
        sizeof space, "https", "api.test", 443, "members", NTAPI_AUTHENTICATION_DIGEST, false};
    check(ntapi_credential_storage_set(storage, &space, "ann", "secret", NULL) == NTAPI_STATUS_OK);
    ntapi_json *found = ntapi_credential_storage_get(storage, &space, NULL);
    check(ntapi_json_count(found, NULL) == 1 && strcmp(ntapi_json_string(found, "[0].user"), "ann") == 0);
    ntapi_json_free(found);
    ntapi_credential_storage_free(storage);
}

static void authenticate(ntapi_client *client, struct seen *seen) {
    static const int statuses[] = {401};
    static const char *const origins[] = {"https://other.test"};
    ntapi_authenticator_options options = {sizeof options, "X-Token", "", statuses, 1, origins, 1, 5};
    ntapi_authenticator *authenticator = ntapi_authenticator_create(&options, refresh, seen, destroy, NULL);
    check(ntapi_client_set_authenticator(client, authenticator) == NTAPI_STATUS_OK);
    ntapi_response_free(ntapi_client_perform(client, "members", NULL));
    check(seen->refreshed == 1 && is_text(ntapi_authenticator_token(authenticator), "fresh"));
    check(ntapi_client_set_authenticator(client, NULL) == NTAPI_STATUS_OK);
    ntapi_authenticator_free(authenticator);
}

int main(void) {
    struct seen seen = {0};
    sem_init(&seen.destroyed, 0, 0);
    check(NTAPI_VERSION_NUMBER >= 2000 && strlen(ntapi_version()) >= 5);
    ntapi_stub *stub = make_stub();
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    check(is_text(ntapi_client_base_url(client), "https://api.test"));
    check(ntapi_client_set_stub(client, stub) == NTAPI_STATUS_OK);
    ntapi_hooks hooks = {.size = sizeof hooks,
                         .build_args = build_args,
                         .build_request = build_request,
                         .started = started,
                         .metrics_collected = collected,
                         .completed = completed,
                         .write_log = write_log,
                         .map_error = map_error,
                         .decide = decide,
                         .decisions = NTAPI_DECISION_KIND_CHALLENGE};
    check(ntapi_client_set_hooks(client, &hooks, &seen, destroy) == NTAPI_STATUS_OK);
    check(ntapi_client_set_log_flags(client, NTAPI_LOG_INFO | NTAPI_LOG_ERROR) == NTAPI_STATUS_OK);
    perform(client, &seen);
    fail(client);
    take(client);
    check(seen.decided == 1 && seen.logged > 0);
    stream(client, &seen);
    store_a_credential();
    authenticate(client, &seen);
    ntapi_args *args = ntapi_client_args(client);
    check(ntapi_args_count(args) == 0);
    ntapi_args_free(args);
    check(ntapi_client_close(client) == NTAPI_STATUS_OK);
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    check(ntapi_drain(60) == 0);
    check(ntapi_live_handles(NTAPI_HANDLE_KIND_ANY) == 0);
    /* Of the interceptor, the events, the authenticator and the hooks. */
    for (int i = 0; i < 4; i++)
        sem_wait(&seen.destroyed);
    if (failures == 0)
        puts("all as it was");
    return failures == 0 ? 0 : 1;
}
