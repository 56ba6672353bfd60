/*
 * No byte of one request gets into another. Many requests run at once, over HTTP/1.1 and HTTP/2, with and without TLS.
 * The body of each request has its own mark in each line, and so has a header. Each request is paused in one of several
 * ways, and ends in one of several ways; most end in the middle. A request must receive only its own bytes, whether
 * they were compressed or not. An echo shows what was sent: the request's own headers, cookies, credentials and body,
 * or none.
 *
 *   test_isolation SECONDS [SEED]
 *
 * The seed determines the requests; how the threads interleave depends on the machine.
 */
#include "session.h"
#include "support.h"

#include <time.h>

/* The first clients of a host have their own headers, cookies and connections. One of them prefers HTTP/2. The last
 * two have equal headers, and share connections and handles. The last one does not decompress. */
enum { CLIENTS = 4, OWNERS = 2 };

enum { LIVE = 20, MARKS = 16, LINE = 20, SIZE = 200000, ECHO = 30000, LONGEST_ECHO = 2 * ECHO };

/* The last host has no TLS. So a handle with remains of a TLS transfer might be used for a plain one. */
static const char *const hosts[] = {"nginx_tls", "nginx_narrow", "nginx_tls1", "nginx"};
enum { HOSTS = sizeof hosts / sizeof *hosts };

enum pause { NOT_PAUSED, SUSPENDED, SLOW, UNDECIDED, PAUSES };
enum end { WHOLE, CANCELLED_IN_HANDLER, CANCELLED_OUTSIDE, TIMED_OUT, CANCELLED_PAUSED, ENDS };
enum credentials { NO_CREDENTIALS, BASIC, BEARER, DIGEST, CREDENTIALS };
static const char *const pauses[] = {"not paused", "suspended", "slow", "undecided"};
static const char *const ends[] = {"whole", "cancelled in its handler", "cancelled", "timed out", "cancelled paused"};
static const char *const credentials[] = {"no credentials", "basic", "bearer", "digest"};

struct item {
    int host, client, mark;
    enum pause pause;
    enum end end;
    enum credentials credentials; /* of an echo */
    bool is_echo, is_empty, is_streamed;
    const char *folder; /* of a file */
    char *echo;         /* what has arrived of it, with a NUL */
    size_t where;       /* after how many bytes it is paused or cancelled */
    ntapi_request *request;
    ntapi_decision *decision;
    struct timespec begun;
    double patience; /* seconds after which the main thread resumes or cancels it */
    /* With the lock: */
    size_t received;
    int foreign, responses, destroys;
    bool is_touched;
    char sample[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static ntapi_client *clients[HOSTS][CLIENTS];
static uint64_t seed;
static double seconds = 3;
static int violations, begun, whole;
static unsigned state;

static unsigned dice(unsigned sides) {
    return (unsigned)rand_r(&state) % sides;
}

static void nap(unsigned microseconds) {
    nanosleep(&(struct timespec){.tv_nsec = (long)microseconds * 1000}, NULL);
}

static double age(const struct item *item) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - item->begun.tv_sec) + (double)(now.tv_nsec - item->begun.tv_nsec) / 1e9;
}

/* Marked bodies. */

/** A line of LINE bytes: the mark and the line's offset. */
static void write_line(char line[LINE + 1], int mark, size_t offset) {
    snprintf(line, LINE + 1, "mark %02d %011zu\n", mark, offset);
}

static void notice(struct item *item, const char *bytes, size_t length) {
    if (item->foreign++ == 0)
        snprintf(item->sample, sizeof item->sample, "%.*s", (int)(length < 40 ? length : 40), bytes);
}

/** Each byte of a file's body is known. */
static void check_file(struct item *item, const char *bytes, size_t length) {
    char line[LINE + 1];
    for (size_t done = 0; done < length;) {
        size_t offset = item->received + done, inside = offset % LINE;
        size_t count = LINE - inside < length - done ? LINE - inside : length - done;
        write_line(line, item->mark, offset - inside);
        if (memcmp(line + inside, bytes + done, count) != 0) {
            notice(item, bytes + done, length - done);
            return;
        }
        done += count;
    }
}

/** Fails unless the echo has a header with this value, or one that begins with it. NULL means that there is no such
 * header.
 *  @param name the end of its name; HTTP/2 has other capitals. */
static void check_sent(struct item *item, const char *name, const char *value) {
    char end[64];
    snprintf(end, sizeof end, "%s\", \"", name);
    const char *sent = strstr(item->echo, end);
    bool is_right = value != NULL && sent != NULL && strncmp(sent + strlen(end), value, strlen(value)) == 0;
    if (!is_right && (value != NULL || sent != NULL))
        notice(item, sent == NULL ? name : sent, strlen(sent == NULL ? name : sent));
}

static void encode_base64(char *text, const char *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i + 3 <= length; i += 3) {
        unsigned group = (unsigned)(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
        for (int shift = 18; shift >= 0; shift -= 6)
            *text++ = digits[group >> shift & 63];
    }
    *text = '\0';
}

static void check_credentials(struct item *item) {
    char plain[16], encoded[32], value[64];
    switch (item->credentials) {
    case BASIC:
        snprintf(plain, sizeof plain, "mark %02d:pass", item->mark);
        encode_base64(encoded, plain, strlen(plain));
        snprintf(value, sizeof value, "Basic %s\"", encoded);
        break;
    case BEARER:
        snprintf(value, sizeof value, "Bearer mark-%02d\"", item->mark);
        break;
    default:
        snprintf(value, sizeof value, "Digest username=\\\"mark %02d\\\"", item->mark);
        break;
    }
    check_sent(item, "uthorization", item->credentials == NO_CREDENTIALS ? NULL : value);
}

/** An echo has the request's headers and body as JSON. It must not have a mark of another request or client. */
static void check_echo(struct item *item, bool is_whole) {
    char own[16], client[16], size[32];
    snprintf(own, sizeof own, "mark %02d", item->mark);
    snprintf(client, sizeof client, "owner-%d-%d", item->host, item->client);
    for (const char *at = item->echo; *at != '\0'; at++) {
        bool is_mark = strncmp(at, "mark ", 5) == 0 && strlen(at) >= strlen(own);
        bool is_owner = strncmp(at, "owner-", 6) == 0 && strlen(at) >= strlen(client);
        if ((is_mark && strncmp(at, own, strlen(own)) != 0) || (is_owner && strncmp(at, client, strlen(client)) != 0)) {
            notice(item, at, strlen(at));
            return;
        }
    }
    if (!is_whole)
        return;
    snprintf(size, sizeof size, "\"size\": %d", item->is_empty ? 0 : ECHO);
    if (strstr(item->echo, size) == NULL)
        notice(item, "a body of another length was sent", 33);
    check_sent(item, "ncoding", item->client == CLIENTS - 1 ? NULL : "");
    check_credentials(item);
}

static void keep_echo(struct item *item, const char *bytes, size_t length) {
    if (item->received + length > LONGEST_ECHO) {
        notice(item, "a long echo", 11);
        return;
    }
    memcpy(item->echo + item->received, bytes, length);
    item->echo[item->received + length] = '\0';
}

static void receive(struct item *item, const char *bytes, size_t length) {
    pthread_mutex_lock(&lock);
    if (item->is_echo)
        keep_echo(item, bytes, length);
    else
        check_file(item, bytes, length);
    item->received += length;
    pthread_mutex_unlock(&lock);
}

/* The callbacks. */

static void on_data(void *context, const char *bytes, size_t length) {
    struct item *item = context;
    receive(item, bytes, length);
    if (item->received < item->where)
        return;
    if (item->end == CANCELLED_IN_HANDLER)
        ntapi_request_cancel(item->request);
    else if (item->pause == SUSPENDED && !item->is_touched)
        ntapi_request_suspend(item->request);
    else if (item->pause == SLOW)
        nap(4000);
    item->is_touched = true;
}

static void on_progress(void *context, int64_t bytes, int64_t total) {
    struct item *item = context;
    (void)total;
    if (item->pause == SUSPENDED && !item->is_touched && (size_t)bytes >= item->where) {
        item->is_touched = true;
        ntapi_request_suspend(item->request);
    }
}

static void on_decision(void *context, ntapi_decision *decision) {
    struct item *item = context;
    pthread_mutex_lock(&lock);
    item->decision = decision;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_response(void *context, const ntapi_response *response) {
    struct item *item = context;
    size_t length = 0;
    const char *bytes = ntapi_response_data(response, &length);
    if (!item->is_streamed && bytes != NULL && length > 0 && ntapi_response_status(response) == 200)
        receive(item, bytes, length);
    pthread_mutex_lock(&lock);
    item->responses++;
    const char *header = ntapi_headers_get(ntapi_response_headers(response), "X-Mark");
    char own[64];
    snprintf(own, sizeof own, "/%s/%02d.txt", item->folder, item->mark);
    if (!item->is_echo && header != NULL && strcmp(header, own) != 0)
        notice(item, header, strlen(header));
    bool is_whole = ntapi_response_error(response) == NULL;
    whole += is_whole;
    if (item->is_echo)
        check_echo(item, is_whole);
    else if (is_whole && item->received != SIZE)
        notice(item, "of another length", 17);
    pthread_mutex_unlock(&lock);
}

static void on_destroy(void *context) {
    pthread_mutex_lock(&lock);
    ((struct item *)context)->destroys++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Requests. */

static ntapi_args *args_of(const struct item *item) {
    ntapi_args *args = background();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    char mark[16];
    snprintf(mark, sizeof mark, "mark %02d", item->mark);
    if (item->is_echo)
        check_ok(ntapi_args_header(args, "X-Own", mark));
    char user[16];
    snprintf(user, sizeof user, item->credentials == BEARER ? "mark-%02d" : "mark %02d", item->mark);
    if (item->credentials == BASIC)
        check_ok(ntapi_args_basic_auth(args, user, "pass"));
    if (item->credentials == BEARER)
        check_ok(ntapi_args_bearer(args, user));
    if (item->credentials == DIGEST)
        check_ok(ntapi_args_digest_auth(args, user, "pass"));
    if (item->is_echo)
        check_ok(ntapi_args_method(args, "POST"));
    if (item->is_echo && !item->is_empty) {
        static char body[ECHO + 1];
        for (size_t offset = 0; offset < ECHO; offset += LINE)
            write_line(body + offset, item->mark, offset);
        check_ok(ntapi_args_data(args, body, ECHO, "text/plain"));
    }
    if (item->end == TIMED_OUT)
        check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, 0.002 + dice(40) / 1000.0));
    return args;
}

/** The command of a request. With Digest, it sometimes goes to a place that does not ask for credentials. */
static const char *command_of(const struct item *item, char command[static 64]) {
    if (item->credentials == DIGEST && dice(4) == 0)
        return dice(2) == 0 ? "404" : "500";
    if (item->credentials == DIGEST)
        return "guarded";
    if (item->is_echo)
        return "echo";
    snprintf(command, 64, "%s/%02d.txt", item->folder, item->mark);
    return command;
}

static struct item *new_item(void) {
    struct item *item = calloc(1, sizeof *item);
    item->host = (int)dice(HOSTS);
    item->client = (int)dice(CLIENTS);
    item->mark = (int)dice(MARKS);
    item->is_echo = dice(3) == 0;
    if (item->is_echo) {
        item->echo = calloc(1, LONGEST_ECHO + 1);
        item->credentials = (enum credentials)dice(CREDENTIALS);
        item->is_empty = dice(3) == 0;
    }
    item->folder = dice(2) == 0 ? "marked" : "packed";
    item->is_streamed = dice(3) != 0;
    item->pause = (enum pause)dice(PAUSES);
    item->end = (enum end)dice(ENDS);
    item->where = dice(SIZE);
    item->patience = dice(60) / 1000.0;
    clock_gettime(CLOCK_MONOTONIC, &item->begun);
    char command[64];
    ntapi_args *args = args_of(item);
    item->request = ntapi_client_create_request(clients[item->host][item->client], command_of(item, command), args);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_handler(item->request, on_response, item, on_destroy));
    if (item->is_streamed)
        check_ok(ntapi_request_set_data_handler(item->request, on_data, item, NULL));
    else
        check_ok(ntapi_request_set_download_progress(item->request, on_progress, item, NULL));
    if (item->pause == UNDECIDED)
        check_ok(
            ntapi_request_set_decision_handler(item->request, NTAPI_DECISION_KIND_RESPONSE, on_decision, item, NULL));
    begun++;
    return item;
}

/** Resumes or cancels a request when its time has come. The caller holds the lock. */
static void push(struct item *item) {
    if (age(item) < item->patience)
        return;
    ntapi_decision *decision = item->decision;
    item->decision = NULL;
    pthread_mutex_unlock(&lock);
    if (item->end == CANCELLED_OUTSIDE || item->end == CANCELLED_PAUSED)
        ntapi_request_cancel(item->request);
    if (item->end != CANCELLED_PAUSED)
        ntapi_request_resume(item->request);
    if (decision != NULL && item->end != CANCELLED_PAUSED)
        ntapi_decision_proceed(decision);
    ntapi_decision_free(decision);
    pthread_mutex_lock(&lock);
}

static void check(struct item *item) {
    bool is_once = item->responses == 1 && item->destroys == 1;
    if ((item->foreign > 0 || !is_once) && violations++ < 20)
        printf("%s: %s of mark %02d from %s, client %d, %s, %s, %s, %s, %zu bytes: «%s»\n",
               is_once ? "foreign" : "not exactly once",
               !item->is_echo   ? item->folder
               : item->is_empty ? "empty echo"
                                : "echo",
               item->mark, hosts[item->host], item->client, credentials[item->credentials],
               item->is_streamed ? "streamed" : "in memory", pauses[item->pause], ends[item->end], item->received,
               item->sample);
    ntapi_decision_free(item->decision);
    ntapi_request_free(item->request);
    free(item->echo);
    free(item);
}

static void run(void) {
    struct item *live[LIVE] = {NULL};
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct item watch = {.begun = start};
    int count = 0;
    pthread_mutex_lock(&lock);
    for (bool begins = true; begins || count > 0;) {
        begins = age(&watch) < seconds && violations < 20;
        for (int i = 0; i < LIVE; i++) {
            if (live[i] == NULL && begins) {
                pthread_mutex_unlock(&lock);
                live[i] = new_item();
                check_ok(ntapi_request_resume(live[i]->request));
                pthread_mutex_lock(&lock);
                count++;
            } else if (live[i] != NULL && live[i]->destroys > 0) {
                check(live[i]);
                live[i] = NULL;
                count--;
            } else if (live[i] != NULL) {
                push(live[i]);
                assert_true(age(live[i]) < PATIENCE);
            }
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&changed, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
}

static ntapi_client *owner(int host, int number) {
    ntapi_configuration *configuration = ephemeral();
    /* By default, a body that goes to a handler uses HTTP/1.1. */
    if (number > 0 && host < 2)
        set_string(configuration, NTAPI_DEFAULT_HTTP_VERSION, "2");
    char header[64], cookie[160];
    snprintf(header, sizeof header, "{\"X-Owner\":\"owner-%d-%d\"}", host, number);
    set_json(configuration, NTAPI_DEFAULT_ADDITIONAL_HEADERS, header);
    ntapi_client *client = session_of(hosts[host], configuration);
    ntapi_configuration_free(configuration);
    snprintf(cookie, sizeof cookie, "{\"name\":\"o\",\"value\":\"owner-%d-%d\",\"domain\":\"%s\",\"path\":\"/\"}", host,
             number, strstr(server(hosts[host]), "localhost") != NULL ? "localhost" : "127.0.0.1");
    ntapi_json *json = ntapi_json_parse(cookie, strlen(cookie), NULL);
    check_ok(ntapi_cookie_storage_set(ntapi_client_cookies(client), json, NULL));
    ntapi_json_free(json);
    return client;
}

static ntapi_client *client_without_owner(int host, bool decompresses) {
    ntapi_client *client = client_of(hosts[host]);
    ntapi_defaults *defaults = ntapi_client_defaults(client);
    check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, server("ca")));
    check_ok(ntapi_defaults_set_bool(defaults, NTAPI_DEFAULT_DECOMPRESSION, decompresses));
    return client;
}

static void no_byte_of_one_request_is_in_another(void **context) {
    (void)context;
    state = (unsigned)seed;
    for (int host = 0; host < HOSTS; host++)
        for (int i = 0; i < CLIENTS; i++)
            clients[host][i] = i < OWNERS ? owner(host, i) : client_without_owner(host, i == OWNERS);
    run();
    for (int host = 0; host < HOSTS; host++)
        for (int i = 0; i < CLIENTS; i++)
            ntapi_client_free(clients[host][i]);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    printf("%d requests, %d of them whole, %d violations, seed %llu\n", begun, whole, violations,
           (unsigned long long)seed);
    assert_true(whole > 0);
    assert_int_equal(violations, 0);
}

/* ---- Connections ---- */

enum { MOST = 4 };

/** Two sessions with one server. The first one has a connection that the second one must not use. */
struct pair {
    const char *what, *server;
    const char *first[MOST][2], *second[MOST][2]; /* settings; "@" and an entry of the table of servers */
    ntapi_code code;                              /* of the second */
};

static ntapi_client *session_with(const char *name, const char *const settings[MOST][2]) {
    ntapi_configuration *configuration = ephemeral();
    for (int i = 0; i < MOST && settings[i][0] != NULL; i++) {
        const char *value = settings[i][1];
        if (*value == '@')
            value = server(value + 1);
        set_string(configuration, settings[i][0], value);
    }
    ntapi_defaults *defaults = ntapi_configuration_defaults(configuration);
    if (settings[0][0] == NULL || strcmp(settings[0][0], NTAPI_DEFAULT_CA_FILE) != 0)
        check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_CA_FILE, server("ca")));
    if (settings[0][0] == NULL || strcmp(settings[0][0], NTAPI_DEFAULT_PROXY) != 0)
        check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_PROXY, ""));
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server(name), configuration);
    ntapi_configuration_free(configuration);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    return client;
}

static void a_connection_is_used_by_those_who_could_have_made_it(void **context) {
    (void)context;
    static const struct pair pairs[] = {
        {"a tunnel without the proxy's password",
         "fault_tls",
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"},
          {NTAPI_DEFAULT_PROXY_USER, "proxyuser"},
          {NTAPI_DEFAULT_PROXY_PASSWORD, "proxypass"}},
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"}},
         NTAPI_CODE_NETWORK},
        {"a tunnel with another password",
         "fault_tls",
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"},
          {NTAPI_DEFAULT_PROXY_USER, "proxyuser"},
          {NTAPI_DEFAULT_PROXY_PASSWORD, "proxypass"}},
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"},
          {NTAPI_DEFAULT_PROXY_USER, "proxyuser"},
          {NTAPI_DEFAULT_PROXY_PASSWORD, "wrong"}},
         NTAPI_CODE_NETWORK},
        {"a plain request without the proxy's password",
         "fault",
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"},
          {NTAPI_DEFAULT_PROXY_USER, "proxyuser"},
          {NTAPI_DEFAULT_PROXY_PASSWORD, "proxypass"}},
         {{NTAPI_DEFAULT_PROXY, "@proxy_auth"}},
         NTAPI_CODE_HTTP_ERROR},
        {"no client certificate",
         "tls_client",
         {{NTAPI_DEFAULT_CLIENT_CERTIFICATE, "@client_cert"}, {NTAPI_DEFAULT_CLIENT_KEY, "@client_key"}},
         {{0}},
         NTAPI_CODE_TLS},
        {"TLS 1.3",
         "tls_client",
         {{NTAPI_DEFAULT_CLIENT_CERTIFICATE, "@client_cert"}, {NTAPI_DEFAULT_CLIENT_KEY, "@client_key"}},
         {{NTAPI_DEFAULT_CLIENT_CERTIFICATE, "@client_cert"},
          {NTAPI_DEFAULT_CLIENT_KEY, "@client_key"},
          {NTAPI_DEFAULT_TLS_MINIMUM_VERSION, "1.3"}},
         NTAPI_CODE_TLS},
        {"another store",
         "fault_tls",
         {{0}},
         {{NTAPI_DEFAULT_CA_FILE, "/etc/ssl/certs/ca-certificates.crt"}},
         NTAPI_CODE_TLS},
        {"another pin",
         "fault_tls",
         {{NTAPI_DEFAULT_PINNED_PUBLIC_KEYS, "@pin"}},
         {{NTAPI_DEFAULT_PINNED_PUBLIC_KEYS, "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}},
         NTAPI_CODE_TLS},
        {"any pin",
         "fault_tls",
         {{0}},
         {{NTAPI_DEFAULT_PINNED_PUBLIC_KEYS, "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}},
         NTAPI_CODE_TLS},
        {"another interface",
         "fault_tls",
         {{0}},
         {{NTAPI_DEFAULT_NETWORK_INTERFACE, "host!203.0.113.1"}},
         NTAPI_CODE_NETWORK},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *pair = &pairs[i];
        ntapi_client *first = session_with(pair->server, pair->first);
        ntapi_client *second = session_with(pair->server, pair->second);
        for (int round = 0; round < 2; round++) {
            ntapi_response *response = perform(first, "ok", background());
            assert_int_equal(code_of(response), NTAPI_CODE_NONE);
            ntapi_response_free(response);
            response = perform(second, "ok", background());
            if (code_of(response) != pair->code && wrong++ < 20)
                print_error("%s: %d: %s\n", pair->what, ntapi_response_status(response),
                            ntapi_error_message(ntapi_response_error(response)));
            ntapi_response_free(response);
        }
        ntapi_client_free(first);
        ntapi_client_free(second);
    }
    /* A request's permission is not valid for another request of the same client. */
    ntapi_client *client = session_with("tls_self_signed", (const char *const[MOST][2]){{0}});
    for (int round = 0; round < 2; round++) {
        ntapi_args *args = background();
        check_ok(ntapi_args_option(args, NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE, ""));
        ntapi_response *response = perform(client, "ok", args);
        assert_int_equal(code_of(response), NTAPI_CODE_NONE);
        ntapi_response_free(response);
        response = perform(client, "ok", background());
        assert_int_equal(code_of(response), NTAPI_CODE_TLS);
        ntapi_response_free(response);
    }
    ntapi_client_free(client);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    if (argc > 1)
        seconds = strtod(argv[1], NULL);
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000 + 7;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_connection_is_used_by_those_who_could_have_made_it),
                                       cmocka_unit_test(no_byte_of_one_request_is_in_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
