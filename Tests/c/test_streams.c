/* Bodies that are read as JSON lines or server-sent events, with handlers or piece by piece. */
#include "support.h"

#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static const char *const lines[] = {"{\"n\":1}", "[2,\"é€𝄞\"]", "\"three\"", "null", "{\"last\":true}"};
static const char *const events[] = {"message|first|1", "münze|é\n€𝄞|1", "message||2"};

/** The calls of a handler, each as a line of text. */
struct told {
    witness seen;
    char *texts[4096];
    int count;
    int destroys;
    int limit; /* after this many calls, the request is cancelled */
    ntapi_request *request;
};

static void told_init(struct told *self) {
    memset(self, 0, sizeof *self);
    witness_init(&self->seen);
}

static void told_free(struct told *self) {
    for (int i = 0; i < self->count; i++)
        free(self->texts[i]);
    witness_free(&self->seen);
}

static void add(struct told *self, const char *text) {
    assert_true(self->count < 4096);
    self->seen.out_of_order += self->seen.responses > 0 || self->destroys > 0;
    self->texts[self->count++] = strdup(text);
    if (self->count == self->limit)
        check_ok(ntapi_request_cancel(self->request));
}

static void take_json(void *user_data, const ntapi_json *value) {
    add(user_data, ntapi_json_text(value));
}

static void event_text(const ntapi_server_event *event, char text[static 256]) {
    assert_int_equal(event->size, sizeof *event);
    assert_int_equal(strlen(event->data), event->length);
    snprintf(text, 256, "%s|%s|%s", event->type, event->data, event->last_event_id);
}

static void take_event(void *user_data, const ntapi_server_event *event) {
    char text[256];
    event_text(event, text);
    add(user_data, text);
}

static void told_destroy(void *user_data) {
    struct told *self = user_data;
    self->destroys++;
}

static void check_told(const struct told *self, const char *const *expected, size_t count) {
    assert_int_equal(self->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(self->texts[i], expected[i]);
}

/** A suspended request for a command that may have a query. Its handlers run in the background. */
static ntapi_request *make(ntapi_client *client, const char *command) {
    char path[256];
    ntapi_args *background = ntapi_args_create();
    check_ok(ntapi_args_thread(background, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    ntapi_args *args = split_query(command, background, path);
    ntapi_request *request = ntapi_client_create_request(client, path, args);
    assert_non_null(request);
    ntapi_args_free(background);
    ntapi_args_free(args);
    return request;
}

static void run(struct told *self, ntapi_client *client, const char *command, bool of_events) {
    self->request = make(client, command);
    check_ok(ntapi_request_set_handler(self->request, witness_response, &self->seen, witness_destroy));
    if (of_events)
        check_ok(ntapi_request_set_server_event_handler(self->request, take_event, self, told_destroy));
    else
        check_ok(ntapi_request_set_json_lines_handler(self->request, take_json, self, told_destroy));
    check_ok(ntapi_request_resume(self->request));
    witness_wait(&self->seen, 1);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_check_once(&self->seen);
    assert_int_equal(self->destroys, 1);
    ntapi_request_free(self->request);
}

/** A unique token. */
static const char *token(void) {
    static char text[32];
    static int count;
    snprintf(text, sizeof text, "c%d.%d", (int)getpid(), count++);
    return text;
}

/* ---- Handlers ---- */

static void lines_are_told_however_they_are_cut(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    for (int at = -1; at <= 55; at++) {
        char command[64];
        snprintf(command, sizeof command, at < 0 ? "split/lines?each=%d" : "split/lines?at=%d", at < 0 ? 1 : at);
        struct told told;
        told_init(&told);
        run(&told, client, command, false);
        assert_int_equal(witness_code(&told.seen), NTAPI_CODE_NONE);
        check_told(&told, lines, 5);
        told_free(&told);
    }
    ntapi_client_free(client);
}

static void events_are_told_however_they_are_cut(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    for (int at = -1; at <= 110; at += 3) {
        char command[64];
        snprintf(command, sizeof command, at < 0 ? "split/events?each=%d&token=%s" : "split/events?at=%d&token=%s",
                 at < 0 ? 1 : at, token());
        struct told told;
        told_init(&told);
        run(&told, client, command, true);
        assert_int_equal(witness_code(&told.seen), NTAPI_CODE_NONE);
        assert_int_equal(ntapi_response_status(told.seen.response), 204);
        check_told(&told, events, 3);
        told_free(&told);
    }
    ntapi_client_free(client);
}

static void a_bad_line_is_an_error(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    struct told told;
    told_init(&told);
    run(&told, client, "lines?bad=3&hold=1", false);
    const ntapi_error *error = ntapi_response_error(told.seen.response);
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_JSON);
    assert_non_null(strstr(ntapi_error_message(error), "line 3"));
    assert_int_equal(told.count, 2);
    told_free(&told);
    ntapi_client_free(client);
}

static void a_stream_goes_on_over_connections(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    const char *const ends[] = {"close", "reset", "mid"};
    for (int i = 0; i < 3; i++) {
        char command[96], own[32];
        snprintf(own, sizeof own, "%s", token());
        snprintf(command, sizeof command, "events?token=%s&end=%s&per=4&total=6", own, ends[i]);
        struct told told;
        told_init(&told);
        run(&told, client, command, true);
        assert_int_equal(witness_code(&told.seen), NTAPI_CODE_NONE);
        assert_int_equal(told.count, 6);
        assert_string_equal(told.texts[5], "message|{\"n\":6}|6");
        told_free(&told);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_url(args, "token", own));
        ntapi_json *seen = fetch(client, "seen", args);
        assert_int_equal(ntapi_json_int(seen, "count", 0), 3);
        assert_int_equal(ntapi_json_get_type(seen, "requests[0].header[\"last-event-id\"]"), NTAPI_JSON_TYPE_ABSENT);
        check_string(seen, "requests[1].header[\"last-event-id\"]", "4");
        check_string(seen, "requests[2].header[\"last-event-id\"]", "6");
        ntapi_json_free(seen);
    }
    ntapi_client_free(client);
}

static void a_cancel_in_a_handler_is_the_last_word(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    const char *const commands[] = {"lines?count=1000", "events?per=5&retry=100000"};
    for (int i = 0; i < 2; i++) {
        struct told told;
        told_init(&told);
        told.limit = 3;
        char command[96];
        snprintf(command, sizeof command, "%s&token=%s", commands[i], token());
        run(&told, client, command, i == 1);
        assert_int_equal(witness_code(&told.seen), NTAPI_CODE_CANCELLED);
        assert_int_equal(told.count, 3);
        told_free(&told);
    }
    ntapi_client_free(client);
}

static void options_say_how_long_to_try(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    char command[96];
    snprintf(command, sizeof command, "events?fails=9&token=%s", token());
    struct told told;
    told_init(&told);
    told.request = make(client, command);
    ntapi_request_free(told.request);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_MAXIMUM_FAILURES, "1"));
    check_ok(ntapi_client_set_args(client, args));
    ntapi_args_free(args);
    run(&told, client, command, true);
    assert_int_equal(witness_code(&told.seen), NTAPI_CODE_HTTP_ERROR);
    assert_int_equal(ntapi_response_status(told.seen.response), 503);
    told_free(&told);
    ntapi_client_free(client);
}

/* ---- Each connection behaves like a request ---- */

/** The credentials of a stream's connections, and which of them is next. */
struct owner {
    ntapi_client *client;
    const char *name;
    int refreshes, asked;
};

static void refresh_token(void *user_data, ntapi_refresh *refresh) {
    struct owner *owner = user_data;
    owner->refreshes++;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", owner->name));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_BYPASS_AUTHENTICATION, ""));
    ntapi_json *answer = fetch(owner->client, "token/issue", args);
    check_ok(ntapi_refresh_succeed(refresh, ntapi_json_string(answer, "token"), -1));
    ntapi_json_free(answer);
}

static void answer_challenge(void *user_data, ntapi_decision *decision) {
    struct owner *owner = user_data;
    owner->asked++;
    if (ntapi_decision_challenge(decision)->kind == NTAPI_CHALLENGE_KIND_CERTIFICATE)
        check_ok(ntapi_decision_trust(decision, false));
    else
        check_ok(ntapi_decision_use_credential(decision, "ann", "pw", false));
    ntapi_decision_free(decision);
}

/** Reads all nine events of a command. Returns the server's record of the token. */
static ntapi_json *read_all(ntapi_client *client, const char *command, const char *own) {
    struct told told;
    told_init(&told);
    run(&told, client, command, true);
    assert_int_equal(witness_code(&told.seen), NTAPI_CODE_NONE);
    assert_int_equal(told.count, 9);
    told_free(&told);
    ntapi_client *other = client_of("fault");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", own));
    ntapi_json *seen = fetch(other, "seen", args);
    ntapi_client_free(other);
    return seen;
}

static void each_connection_has_a_token(void **state) {
    (void)state;
    for (int once = 0; once < 2; once++) {
        char own[32], command[128];
        snprintf(own, sizeof own, "%s", token());
        struct owner owner = {.client = client_of("fault"), .name = own};
        ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, refresh_token, &owner, NULL, NULL);
        check_ok(ntapi_client_set_authenticator(owner.client, authenticator));
        snprintf(command, sizeof command, "events?token=%s&name=%s%s", own, own, once == 1 ? "&once=1" : "");
        ntapi_json *seen = read_all(owner.client, command, own);
        assert_int_equal(ntapi_json_int(seen, "count", 0), once == 1 ? 7 : 4);
        assert_int_equal(owner.refreshes, once == 1 ? 4 : 1);
        char last[64];
        snprintf(last, sizeof last, "Bearer %s-%d", own, once == 1 ? 4 : 1);
        check_string(seen, once == 1 ? "requests[6].header.authorization" : "requests[3].header.authorization", last);
        ntapi_json_free(seen);
        ntapi_authenticator_free(authenticator);
        ntapi_client_free(owner.client);
    }
}

static void each_connection_has_what_was_answered(void **state) {
    (void)state;
    char own[32], command[256];
    const char *const servers[] = {"fault", "fault_tls"};
    for (int i = 0; i < 2; i++) {
        snprintf(own, sizeof own, "%s", token());
        struct owner owner = {.client = client_of(servers[i])};
        check_ok(ntapi_defaults_set(ntapi_client_defaults(owner.client), NTAPI_DEFAULT_CA_FILE, NULL));
        ntapi_hooks hooks = {
            .size = sizeof hooks, .decide = answer_challenge, .decisions = NTAPI_DECISION_KIND_CHALLENGE};
        check_ok(ntapi_client_set_hooks(owner.client, &hooks, &owner, NULL));
        snprintf(command, sizeof command, "events?token=%s%s", own, i == 0 ? "&unless=Basic YW5uOnB3" : "&whole=1");
        ntapi_json *seen = read_all(owner.client, command, own);
        assert_int_equal(owner.asked, 1);
        assert_int_equal(ntapi_json_int(seen, "count", 0), i == 0 ? 5 : 4);
        if (i == 0)
            check_string(seen, "requests[4].header.authorization", "Basic YW5uOnB3");
        ntapi_json_free(seen);
        ntapi_client_free(owner.client);
    }
}

static void redirects_count_for_one_connection(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_MAXIMUM_REDIRECTS, "1"));
    check_ok(ntapi_client_set_args(client, args));
    ntapi_args_free(args);
    char own[32], command[256];
    snprintf(own, sizeof own, "%s", token());
    snprintf(command, sizeof command, "redirect/to?url=%s/events?token=%s", server("fault"), own);
    ntapi_json_free(read_all(client, command, own));
    ntapi_client_free(client);
}

/* ---- Piece by piece ---- */

static ntapi_event next_event(ntapi_mailbox *mailbox) {
    ntapi_event event = {0};
    while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 0) {
        struct pollfd entry = {ntapi_mailbox_fd(mailbox), POLLIN, 0};
        assert_int_equal(poll(&entry, 1, (int)(PATIENCE * 1000)), 1);
    }
    return event;
}

static ntapi_request *begin_pull(ntapi_client *client, const char *command, ntapi_mailbox *mailbox,
                                 ntapi_data_format format) {
    char path[256];
    ntapi_args *place = ntapi_args_create();
    check_ok(ntapi_args_mailbox(place, NTAPI_HANDLER_ALL, mailbox));
    ntapi_args *args = split_query(command, place, path);
    ntapi_request *request = ntapi_client_create_request(client, path, args);
    ntapi_args_free(place);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_DATA, NULL));
    check_ok(ntapi_request_set_data_format(request, format));
    check_ok(ntapi_request_resume(request));
    return request;
}

static void lines_are_pulled(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *request = begin_pull(client, "split/lines?each=1", mailbox, NTAPI_DATA_FORMAT_JSON_LINES);
    int count = 0;
    ntapi_event event;
    while ((event = next_event(mailbox)).handler == NTAPI_HANDLER_DATA) {
        assert_null(ntapi_data_next_server_event(NULL));
        for (const ntapi_json *value; (value = ntapi_data_next_json(event.data)) != NULL; count++)
            assert_string_equal(ntapi_json_text(value), lines[count]);
        assert_null(ntapi_data_next_json(event.data));
        ntapi_data_free(event.data);
        assert_null(ntapi_data_next_json(event.data));
    }
    assert_int_equal(count, 5);
    assert_int_equal(event.handler, NTAPI_HANDLER_RESPONSE);
    assert_int_equal(code_of(event.response), NTAPI_CODE_NONE);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static ntapi_error *map_message(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const char *message = ntapi_json_string(ntapi_response_json(response), "message");
    return ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, "refused", message, false);
}

/** Checks that the response has the service's error instead of events, and the body. */
static void check_refused(const ntapi_response *response, int status) {
    const ntapi_error *error = ntapi_response_error(response);
    assert_int_equal(ntapi_response_status(response), status);
    assert_string_equal(ntapi_error_code_name(error), "refused");
    assert_string_equal(ntapi_error_message(error), "quota");
    assert_int_equal(ntapi_json_int(ntapi_response_json(response), "status", 0), status);
    assert_non_null(strstr(ntapi_response_data(response, NULL), "quota"));
}

static void an_answer_in_place_of_events_is_the_services_error(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    const ntapi_hooks hooks = {.size = sizeof hooks, .map_service_error = map_message};
    check_ok(ntapi_client_set_hooks(client, &hooks, NULL, NULL));
    const int statuses[] = {200, 400};
    for (int i = 0; i < 2; i++) {
        char command[64];
        snprintf(command, sizeof command, "status/%d?message=quota", statuses[i]);
        struct told told;
        told_init(&told);
        run(&told, client, command, true);
        check_refused(told.seen.response, statuses[i]);
        assert_int_equal(told.count, 0);
        told_free(&told);

        ntapi_mailbox *mailbox = ntapi_mailbox_create();
        ntapi_request *request = begin_pull(client, command, mailbox, NTAPI_DATA_FORMAT_SERVER_EVENTS);
        ntapi_event event;
        while ((event = next_event(mailbox)).handler == NTAPI_HANDLER_DATA) {
            assert_null(ntapi_data_next_server_event(event.data));
            ntapi_data_free(event.data);
        }
        check_refused(event.response, statuses[i]);
        ntapi_response_free(event.response);
        ntapi_request_free(request);
        ntapi_mailbox_free(mailbox);
    }
    ntapi_client_free(client);
}

/* A piece that is freed unread is skipped. But an element that begins in it is read whole. */
static void pieces_that_nobody_reads_are_passed_over(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    /* These are more lines than fit into a piece. Otherwise, a slow client could find all of them in the first one. */
    ntapi_request *request = begin_pull(client, "lines?count=50000", mailbox, NTAPI_DATA_FORMAT_JSON_LINES);
    ntapi_event event = next_event(mailbox);
    assert_int_equal(event.handler, NTAPI_HANDLER_DATA);
    ntapi_data_free(event.data);
    const char *last = NULL;
    char text[64] = "";
    while ((event = next_event(mailbox)).handler == NTAPI_HANDLER_DATA) {
        for (const ntapi_json *value; (value = ntapi_data_next_json(event.data)) != NULL; last = text)
            snprintf(text, sizeof text, "%s", ntapi_json_text(value));
        ntapi_data_free(event.data);
    }
    assert_int_equal(code_of(event.response), NTAPI_CODE_NONE);
    assert_non_null(last);
    assert_string_equal(last, "{\"n\":50000}");
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void events_are_pulled_over_connections(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    char command[96];
    snprintf(command, sizeof command, "events?end=mid&token=%s", token());
    ntapi_request *request = begin_pull(client, command, mailbox, NTAPI_DATA_FORMAT_SERVER_EVENTS);
    int count = 0;
    ntapi_event event;
    while ((event = next_event(mailbox)).handler == NTAPI_HANDLER_DATA) {
        for (const ntapi_server_event *found; (found = ntapi_data_next_server_event(event.data)) != NULL;) {
            char text[256], expected[64];
            count++;
            event_text(found, text);
            snprintf(expected, sizeof expected, "message|{\"n\":%d}|%d", count, count);
            assert_string_equal(text, expected);
        }
        ntapi_data_free(event.data);
    }
    assert_int_equal(count, 9);
    assert_int_equal(ntapi_response_status(event.response), 204);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void a_piece_is_what_it_was_asked_to_be(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *request = begin_pull(client, "split/lines", mailbox, NTAPI_DATA_FORMAT_BYTES);
    ntapi_event event = next_event(mailbox);
    assert_null(ntapi_data_next_json(event.data));
    assert_null(ntapi_data_next_server_event(event.data));
    check_too_late(ntapi_request_set_data_format(request, NTAPI_DATA_FORMAT_JSON_LINES));
    check_too_late(ntapi_request_set_json_lines_handler(request, take_json, NULL, NULL));
    check_too_late(ntapi_request_set_server_event_handler(request, take_event, NULL, NULL));
    ntapi_data_free(event.data);
    ntapi_request_cancel(request);
    while ((event = next_event(mailbox)).handler == NTAPI_HANDLER_DATA)
        ntapi_data_free(event.data);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    request = make(client, "");
    check_invalid(ntapi_request_set_data_format(request, (ntapi_data_format)9));
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

/* ---- Memory ---- */

/** The highest memory usage of this process so far, in KB. */
static long peak(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kilobytes = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kilobytes;
}

/* ---- Connecting again and again ---- */

#define CONNECTIONS 6000

struct reader {
    ntapi_stub *stub;
    ntapi_request *request;
    int connections, events, wrong;
    size_t handles, bytes; /* after the first thousand connections */
    size_t handles_later, bytes_later;
};

/** How many bytes the program has allocated and not freed. */
static size_t allocated(void) {
#ifdef SANITIZED
    return 0;
#else
    return mallinfo2().uordblks;
#endif
}

/** Each response has one event. Its number is also in a header. */
static void answer_with_number(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply) {
    (void)request;
    struct reader *self = user_data;
    char line[64];
    snprintf(line, sizeof line, "X-Number: %d", ++self->connections);
    const char *const headers[] = {line, NULL};
    ntapi_stub_answer answer = {.size = sizeof answer, .headers = headers, .content_type = "text/event-stream"};
    answer.body = "retry: 0\ndata: x\n\n";
    answer.status = self->connections > CONNECTIONS ? 204 : 200;
    ntapi_stub_rule_answer(reply, &answer, NULL);
    check_ok(ntapi_stub_forget_requests(self->stub));
}

static void read_headers(void *user_data, const ntapi_server_event *event) {
    (void)event;
    struct reader *self = user_data;
    ntapi_headers *headers = ntapi_request_received_headers(self->request);
    const char *number = ntapi_headers_get(headers, "X-Number");
    self->events++;
    self->wrong += number == NULL || atoi(number) != self->events;
    ntapi_headers_free(headers);
    if (self->events != 1000 && self->events != CONNECTIONS)
        return;
    *(self->events == 1000 ? &self->handles : &self->handles_later) = ntapi_live_handles(NTAPI_HANDLE_KIND_ANY);
    *(self->events == 1000 ? &self->bytes : &self->bytes_later) = allocated();
}

static void thousands_of_connections_keep_nothing(void **state) {
    (void)state;
    struct reader reader = {.stub = ntapi_stub_create()};
    ntapi_stub_rule *rule = ntapi_stub_on(reader.stub, NULL, NULL);
    check_ok(ntapi_stub_rule_answer_with(rule, answer_with_number, &reader, NULL));
    ntapi_stub_rule_free(rule);
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    check_ok(ntapi_client_set_stub(client, reader.stub));
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    check_ok(ntapi_client_set_clock(client, clock));
    ntapi_args *args = background();
    reader.request = ntapi_client_create_request(client, "events", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_server_event_handler(reader.request, read_headers, &reader, NULL));
    check_ok(ntapi_request_resume(reader.request));
    for (int pause = 0; pause < CONNECTIONS; pause++) {
        check_ok(ntapi_manual_clock_wait_for_sleepers(clock, 1, PATIENCE));
        check_ok(ntapi_manual_clock_advance(clock, 1));
    }
    check_ok(ntapi_request_wait(reader.request, PATIENCE));
    assert_int_equal(reader.events, CONNECTIONS);
    assert_int_equal(reader.wrong, 0);
    assert_int_equal(reader.handles_later, reader.handles);
    /* Even a few bytes for each connection would add up to more. */
    assert_true(reader.bytes_later < reader.bytes + CONNECTIONS * 8);
    ntapi_request_free(reader.request);
    ntapi_client_free(client);
    ntapi_manual_clock_free(clock);
    ntapi_stub_free(reader.stub);
}

/* With a sanitizer, reading bytes is slow, and the limit of memory does not hold. */
#ifdef SANITIZED
#define LARGE (INT64_C(64) << 20)
#else
#define LARGE (INT64_C(1) << 30)
#endif

struct slow {
    int64_t bytes;
};

static void take_slowly(void *user_data, const char *bytes, size_t length) {
    struct slow *self = user_data;
    self->bytes += (int64_t)length;
    /* Reads each byte twice, which is far slower than the loopback interface. */
    int sum = 0;
    for (int round = 0; round < 2; round++)
        for (const volatile char *byte = bytes; byte < bytes + length; byte++)
            sum |= *byte;
    assert_int_equal(sum, 0);
}

/** Sends a body of a GB (LARGE), or of NTAPI_STREAM_BYTES bytes, through a slow handler.
 * @param begin a command, to which the size is appended.
 * @param unit the unit of that size, in bytes. */
static void takes_little_memory(const char *begin, int64_t unit) {
    const char *wish = getenv("NTAPI_STREAM_BYTES");
    int64_t size = wish != NULL ? atoll(wish) : LARGE;
    ntapi_client *client = client_of("fault");
    /* Before the measurement, allocate everything that is allocated only once. */
    char command[64];
    for (int round = 0; round < 2; round++) {
        snprintf(command, sizeof command, "%s%lld", begin, (long long)((round == 0 ? 1 << 23 : size) / unit));
        long before = peak();
        struct slow slow = {0};
        witness seen;
        witness_init(&seen);
        ntapi_request *request = make(client, command);
        check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
        check_ok(ntapi_request_set_data_handler(request, take_slowly, &slow, NULL));
        check_ok(ntapi_request_resume(request));
        while (ntapi_request_wait(request, PATIENCE) == NTAPI_STATUS_TIMED_OUT)
            continue;
        witness_wait(&seen, 1);
        assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
        assert_int_equal(slow.bytes, round == 0 ? 1 << 23 : size);
        if (round == 1) {
            print_message("%s: %lld MB took %ld KB\n", begin, (long long)(size >> 20), peak() - before);
#ifndef SANITIZED
            assert_true(peak() - before <= 4096); /* it may be below 0: the kernel counts pages in batches */
#endif
        }
        witness_free(&seen);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
}

static void a_large_body_takes_little_memory(void **state) {
    (void)state;
    takes_little_memory("zeros?size=", 1);
}

/** Only a thousandth of the body comes over the network. Decoded data must not pile up. */
static void a_large_compressed_body_takes_little_memory(void **state) {
    (void)state;
    takes_little_memory("gzip-bomb?mib=", 1 << 20);
}

/* ---- Codings ---- */

static void count(void *user_data, const char *bytes, size_t length) {
    (void)bytes;
    *(size_t *)user_data += length;
}

/** A body that goes to a handler is decoded like a body in memory. It also detects more: several members, and a
 * deflate body that is cut off. */
static void a_coded_body_is_decoded_on_its_way(void **state) {
    (void)state;
    static const struct {
        const char *name, *problem;
    } cases[] = {{"gzip", NULL},
                 {"x-gzip", NULL},
                 {"deflate", NULL},
                 {"raw-deflate", NULL},
                 {"identity", NULL},
                 {"none", NULL},
                 {"twice", NULL},
                 {"members", NULL},
                 {"empty", NULL},
                 {"corrupt", "cannot be decompressed"},
                 {"bad-crc", "incorrect data check"},
                 {"truncated", "cut short"},
                 {"no-trailer", "cut short"},
                 {"cut-deflate", "cut short"},
                 {"cut-members", "cut short"},
                 {"trailing", "follows the end"},
                 {"plain-as-gzip", "incorrect header check"},
                 {"gzip-as-deflate", "cannot be decompressed"},
                 {"br", "'br', and cannot be decoded: to get it as it is, set decompression to false"},
                 {"unknown", "'magic', and cannot be decoded: to get it as it is, set decompression to false"}};
    ntapi_client *client = client_of("fault");
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i / 2].name, *problem = cases[i / 2].problem;
        char command[64];
        snprintf(command, sizeof command, "encoding/%s?chunked=%d", name, (int)(i % 2));
        size_t length = 0;
        witness seen;
        witness_init(&seen);
        ntapi_request *request = make(client, command);
        check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
        check_ok(ntapi_request_set_data_handler(request, count, &length, NULL));
        check_ok(ntapi_request_resume(request));
        witness_wait(&seen, 1);
        const char *message = ntapi_error_message(ntapi_response_error(seen.response));
        if (problem == NULL && message != NULL)
            print_error("%s: %s\n", command, message);
        assert_true((problem == NULL) == (message == NULL));
        if (problem == NULL)
            assert_int_equal(length, strcmp(name, "empty") == 0 ? 0 : 1321);
        else if (strstr(message, problem) == NULL)
            fail_msg("%s: %s", command, message);
        witness_free(&seen);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_connections_keep_nothing),
        cmocka_unit_test(a_large_body_takes_little_memory),
        cmocka_unit_test(a_large_compressed_body_takes_little_memory),
        cmocka_unit_test(a_coded_body_is_decoded_on_its_way),
        cmocka_unit_test(lines_are_told_however_they_are_cut),
        cmocka_unit_test(events_are_told_however_they_are_cut),
        cmocka_unit_test(a_bad_line_is_an_error),
        cmocka_unit_test(a_stream_goes_on_over_connections),
        cmocka_unit_test(a_cancel_in_a_handler_is_the_last_word),
        cmocka_unit_test(options_say_how_long_to_try),
        cmocka_unit_test(each_connection_has_a_token),
        cmocka_unit_test(each_connection_has_what_was_answered),
        cmocka_unit_test(redirects_count_for_one_connection),
        cmocka_unit_test(lines_are_pulled),
        cmocka_unit_test(pieces_that_nobody_reads_are_passed_over),
        cmocka_unit_test(an_answer_in_place_of_events_is_the_services_error),
        cmocka_unit_test(events_are_pulled_over_connections),
        cmocka_unit_test(a_piece_is_what_it_was_asked_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
