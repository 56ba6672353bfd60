/*
 * A store on a Redis server: the real server of the tests, and false servers that send one text on each connection.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ntapi_redis.h"
#include "support.h"

#define HELLO "*4\r\n$5\r\nproto\r\n:2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
/* What a server replies when all is well: to HELLO, to SELECT, and twice to CLIENT SETINFO, which old servers do not
 * know. */
#define GREETING HELLO "+OK\r\n-ERR unknown\r\n-ERR unknown\r\n"

static ntapi_store *store_at(const char *url, double timeout) {
    const ntapi_redis_options options = {.size = sizeof options, .url = url, .timeout = timeout};
    ntapi_error *error = NULL;
    ntapi_store *store = ntapi_redis_store_create(&options, &error);
    if (error != NULL)
        fail_msg("%s", ntapi_error_message(error));
    return store;
}

static ntapi_store *real_store(void) {
    char url[200];
    snprintf(url, sizeof url, "unix://%s", server("redis"));
    return store_at(url, 0);
}

/** A client of a stub, with a limit in that store. Frees the store. If the store fails, requests fail. */
static ntapi_client *limited_client(ntapi_store *store, const char *key, double requests, double patience) {
    ntapi_client *client = stubbed_client();
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = requests;
    limit.burst = 2;
    const ntapi_rate_limiter_options options = {.size = sizeof options,
                                                .limits = &limit,
                                                .limit_count = 1,
                                                .store = store,
                                                .key = key,
                                                .store_timeout = patience,
                                                .on_failure = NTAPI_STORE_SUBSTITUTE_CLOSED};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    ntapi_store_free(store);
    check_ok(ntapi_client_set_rate_limiter(client, limiter));
    ntapi_rate_limiter_free(limiter);
    return client;
}

/** A name that no other run uses. */
static const char *new_key(void) {
    static char key[40];
    static int number;
    snprintf(key, sizeof key, "c %ld %d", (long)getpid(), ++number);
    return key;
}

static void check_answer(ntapi_client *client, const char *problem) {
    ntapi_response *response = ntapi_client_perform(client, "x", NULL);
    const ntapi_error *error = ntapi_response_error(response);
    if (problem == NULL && error != NULL)
        fail_msg("%s", ntapi_error_message(error));
    if (problem != NULL && (error == NULL || strstr(ntapi_error_message(error), problem) == NULL))
        fail_msg("%s is not in: %s", problem, error == NULL ? "no error" : ntapi_error_message(error));
    if (problem != NULL) {
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_STORE_FAILED);
        assert_null(strstr(ntapi_error_message(error), "s3cret"));
    }
    ntapi_response_free(response);
}

static void limits_are_kept_on_a_server(void **state) {
    (void)state;
    const char *key = new_key();
    ntapi_client *clients[] = {limited_client(real_store(), key, 100, PATIENCE),
                               limited_client(real_store(), key, 100, PATIENCE)};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < 12; i++)
        check_answer(clients[i % 2], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* Two requests start at once, and the other ten start 10 ms apart. */
    assert_true((double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9 >= 0.099);
    ntapi_client_free(clients[0]);
    ntapi_client_free(clients[1]);
}

/** A server that sends one text on each connection. */
typedef struct liar {
    int listener;
    char url[60];
    const char *text;
    size_t length;
    bool stays; /* it does not close the connection after the text */
    pthread_t thread;
} liar;

/** Waits for a command, and sends the reply. */
static bool has_sent(int file, const char *text, size_t length) {
    char ignored[4096];
    return read(file, ignored, sizeof ignored) > 0 && send(file, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static void *lie(void *given) {
    liar *self = given;
    for (int file; (file = accept(self->listener, NULL, NULL)) >= 0;) {
        size_t greeting = strncmp(self->text, GREETING, strlen(GREETING)) == 0 ? strlen(GREETING) : 0;
        const char *rest = self->text + greeting;
        bool goes_on = greeting == 0 || has_sent(file, self->text, greeting);
        char ignored[4096];
        if (goes_on && has_sent(file, rest, self->length - greeting) && self->stays)
            while (read(file, ignored, sizeof ignored) > 0) {
            }
        close(file);
    }
    return NULL;
}

static void liar_listen(liar *self) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(self->url, sizeof self->url, "redis://:secret@127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&self->thread, NULL, lie, self), 0);
}

static void liar_start(liar *self, const char *text, bool stays) {
    *self = (liar){.text = text, .length = strlen(text), .stays = stays};
    liar_listen(self);
}

static void liar_end(liar *self) {
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

static void servers_that_lie_fail_by_name(void **state) {
    (void)state;
    static char huge[(3 << 20) + 200], long_text[1 << 21];
    memset(long_text, 'x', sizeof long_text - 1);
    snprintf(huge, sizeof huge, GREETING "$3000000\r\n%s", long_text);
    const struct {
        const char *text, *problem;
    } rows[] = {
        {"", "Server closed the connection"},
        {"?what\r\n", "Protocol error"},
        {"-WRONGPASS invalid username-password pair\r\n", "WRONGPASS invalid username-password pair"},
        {"-ERR unknown command 'HELLO'\r\n", "unknown command"},
        {"-ERR unknown command `HELLO`, with args beginning with: `2`, `AUTH`, `default`, `s3cret`, \r\n",
         "unknown command `HELLO`"},
        {"*2\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n", "this is a Sentinel"},
        {"*2\r\n$4\r\nmode\r\n$7\r\ncluster\r\n", "part of a Redis Cluster"},
        {"*3\r\n:1\r\n:2\r\n$4\r\nmode\r\n-ERR DB index is out of range\r\n", "DB index is out of range"},
        {GREETING "+OK\r\n", "the reply is no array"},
        {GREETING "*-1\r\n", "the reply is no array"},
        {GREETING "*2\r\n:1\r\n+1\r\n", "the reply has something else than texts and whole numbers"},
        {GREETING "*1\r\n*1\r\n:1\r\n", "the reply has something else than texts and whole numbers"},
        {GREETING "*2\r\n$1\r\n1\r\n$-1\r\n", "the reply has something else than texts and whole numbers"},
        {GREETING "*2\r\n$1\r\n1\r\n$1\r\nx\r\n", "its reply is not two numbers: [1, x]"},
        {GREETING "*1\r\n$1\r\n\xff\r\n", "a value of its reply is NULL or not UTF-8"},
        {GREETING "*0\r\n", "its reply is not two numbers: []"},
        {GREETING "*3\r\n:1\r\n:0\r\n:0\r\n", "its reply is not two numbers: [1, 0, 0]"},
        {GREETING "*2\r\n:1\r\n:-5\r\n", "its reply is not two numbers: [1, -5]"},
        {GREETING "*2\r\n:0\r\n:0\r\n", "its reply does not fit the question: [0, 0]"},
        {GREETING "*2\r\n:4503599627370496\r\n:0\r\n", "its reply does not fit the question"},
        {GREETING "*2\r\n:1\r\n:5\r\n", "its reply does not fit the question"},
        {GREETING "*2\r\n:1\r\n:99999999999999999999\r\n", "Bad integer value"},
        {GREETING "*4000000000\r\n", "Multi-bulk length out of range"},
        {GREETING "$-7\r\n", "Bulk string length out of range"},
        {GREETING "-NOSCRIPT none\r\n-NOSCRIPT none\r\n", "NOSCRIPT none"},
        {GREETING "-READONLY You can't write against a read only replica.\r\n", "READONLY You can't write"},
        {GREETING "-LOADING Redis is loading the dataset in memory\r\n", "LOADING Redis is loading"},
        {huge, "its reply has more than 1 MB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int stays = 0; stays < 2; stays++) {
            liar server;
            if (*rows[i].text == '\0' && stays)
                continue;
            liar_start(&server, rows[i].text, stays);
            ntapi_client *client = limited_client(store_at(server.url, 0), "a", 100, PATIENCE);
            check_answer(client, rows[i].problem);
            ntapi_client_free(client);
            liar_end(&server);
        }
}

static void a_text_with_a_zero_byte_is_refused(void **state) {
    (void)state;
    static const char text[] = GREETING "*1\r\n$3\r\na\0b\r\n";
    liar server = {.text = text, .length = sizeof text - 1, .stays = true};
    liar_listen(&server);
    ntapi_client *client = limited_client(store_at(server.url, 0), "a", 100, PATIENCE);
    check_answer(client, "a text of the reply has a zero byte");
    ntapi_client_free(client);
    liar_end(&server);
}

static void a_reply_that_nobody_asked_for_ends_the_connection(void **state) {
    (void)state;
    /* The second reply answers no command. The next request makes a new connection. */
    liar server;
    liar_start(&server, GREETING "*2\r\n:1\r\n:0\r\n*2\r\n:9\r\n:0\r\n", true);
    ntapi_client *client = limited_client(store_at(server.url, 0), "a", 100, PATIENCE);
    for (int i = 0; i < 5; i++)
        check_answer(client, NULL);
    ntapi_client_free(client);
    liar_end(&server);
}

static void a_silent_server_fails(void **state) {
    (void)state;
    const struct {
        const char *text, *problem;
    } rows[] = {
        {"", "no connection in 0.2 seconds"},
        {HELLO, "no connection in 0.2 seconds"},
        {GREETING, "no reply in 0.2 seconds"},
        {GREETING "*2\r\n:1\r\n", "no reply in 0.2 seconds"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liar server;
        liar_start(&server, rows[i].text, true);
        ntapi_client *client = limited_client(store_at(server.url, 0.2), "a", 100, PATIENCE);
        check_answer(client, rows[i].problem);
        ntapi_client_free(client);
        liar_end(&server);
    }
}

static void no_password_is_in_a_message(void **state) {
    (void)state;
    ntapi_client *client = limited_client(store_at("redis://user:pass%20word@127.0.0.1:1/0", 0), "a", 100, PATIENCE);
    ntapi_response *response = ntapi_client_perform(client, "x", NULL);
    const char *message = ntapi_error_message(ntapi_response_error(response));
    assert_non_null(strstr(message, "127.0.0.1:1: Connection refused"));
    assert_null(strstr(message, "word"));
    assert_null(strstr(message, "user"));
    ntapi_response_free(response);
    ntapi_client_free(client);
}

#ifndef THREAD_SANITIZER
/* A child that is forked while threads run would inherit the sanitizer's locks. */
static void a_child_has_a_connection_of_its_own(void **state) {
    (void)state;
    ntapi_client *client = limited_client(real_store(), new_key(), 1000, PATIENCE);
    check_answer(client, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int n = 0; n < 3; n++) {
                ntapi_response *response = ntapi_client_perform(client, "x", NULL);
                if (ntapi_response_error(response) != NULL)
                    _exit(1);
                ntapi_response_free(response);
            }
            ntapi_client_free(client);
            _exit(0);
        }
        check_answer(client, NULL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    check_answer(client, NULL);
    ntapi_client_free(client);
}

#endif

static void count(void *user_data, const ntapi_response *response) {
    (void)response;
    sem_post(user_data);
}

static void a_store_may_be_freed_during_requests(void **state) {
    (void)state;
    sem_t done;
    assert_int_equal(sem_init(&done, 0, 0), 0);
    ntapi_args *args = background();
    for (int i = 0; i < 30; i++) {
        ntapi_client *client = limited_client(real_store(), new_key(), 1e6, PATIENCE);
        for (int n = 0; n < 4; n++)
            ntapi_request_free(ntapi_client_begin(client, "x", args, count, &done, NULL));
        ntapi_client_free(client);
    }
    ntapi_args_free(args);
    for (int i = 0; i < 120; i++)
        sem_wait(&done);
    sem_destroy(&done);
}

/* These keys were made with "openssl rand -base64 32". */
#define KEY "Zm2yKd4fQO7Gk8qXwTg3nqf1rQ0VQ9mZ1y2bJbI5u0E="
#define OTHER_KEY "q7o0C1c3v8WmV2hQk8pXyB5uZtqJ4l6rS9dYw1eTn2M="

/** A client with a cache and these keys, as another process has it. */
static ntapi_client *cached_client(const char *key, const char *encryption_keys) {
    char url[200];
    snprintf(url, sizeof url, "unix://%s", server("redis"));
    const ntapi_redis_options options = {.size = sizeof options, .url = url, .encryption_keys = encryption_keys};
    ntapi_store *store = ntapi_redis_store_create(&options, NULL);
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    const ntapi_cache_sharing sharing = {.size = sizeof sharing, .store = store, .key = key, .store_timeout = PATIENCE};
    check_ok(ntapi_cache_share(cache, &sharing, NULL));
    ntapi_store_free(store);
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    check_ok(ntapi_defaults_set_string(ntapi_configuration_defaults(configuration), NTAPI_DEFAULT_PROXY, ""));
    check_ok(ntapi_configuration_set_cache(configuration, cache));
    ntapi_cache_free(cache);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server("fault"), configuration);
    ntapi_configuration_free(configuration);
    return client;
}

/** Where Ann's response comes from. */
static ntapi_source source_of(ntapi_client *client, const char *key) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", key));
    check_ok(ntapi_args_url(args, "h-Cache-Control", "private, max-age=60"));
    check_ok(ntapi_args_bearer(args, "ann"));
    ntapi_response *response = perform(client, "cached", args);
    assert_int_equal(ntapi_response_status(response), 200);
    ntapi_source source = ntapi_response_get_source(response);
    ntapi_response_free(response);
    return source;
}

/** Does the same in a client that has stored nothing else. */
static ntapi_source source_of_page(const char *key, const char *encryption_keys) {
    ntapi_client *client = cached_client(key, encryption_keys);
    ntapi_source source = source_of(client, key);
    /* Waits until the store has the loaded response. */
    check_ok(ntapi_client_close(client));
    ntapi_client_free(client);
    return source;
}

/** With keys, processes share the responses of a user. */
static void a_server_that_cannot_read_it_has_the_responses_of_a_user(void **state) {
    (void)state;
    const char *key = new_key();
    assert_int_equal(source_of_page(key, KEY), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source_of_page(key, KEY), NTAPI_SOURCE_CACHE);
    assert_int_equal(source_of_page(key, OTHER_KEY " " KEY), NTAPI_SOURCE_CACHE);
    assert_int_equal(source_of_page(key, OTHER_KEY), NTAPI_SOURCE_NETWORK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(source_of_page(key, NULL), NTAPI_SOURCE_NETWORK);
}

/** A process that has used the library before it creates its store. It returns from main at once; or its child does. */
static int process_that_ends_at_once(const char *key, bool forks) {
    ntapi_client *other = stubbed_client();
    check_answer(other, NULL);
    ntapi_client_free(other);
    ntapi_client *client = cached_client(key, KEY);
    if (forks) {
        source_of(client, "parent");
        pid_t child = fork();
        if (child != 0)
            return end_of_child(child);
    }
    return source_of(client, key) == NTAPI_SOURCE_NETWORK ? 0 : 1;
}

/** Before it ends, it stores what it has loaded. */
static void what_a_process_has_loaded_at_its_end_is_there(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        const char *key = new_key(), *way = i < 5 ? "itself" : "child";
        assert_int_equal(run_child((const char *[]){key, way, NULL}, NULL), 0);
        assert_int_equal(source_of_page(key, KEY), NTAPI_SOURCE_CACHE);
#ifdef THREAD_SANITIZER
        if (i == 4)
            break; /* A child that is forked while threads run would inherit the sanitizer's locks. */
#endif
    }
}

static void refused(const ntapi_redis_options *options, const char *why) {
    ntapi_error *error = NULL;
    assert_null(ntapi_redis_store_create(options, &error));
    assert_non_null(error);
    if (strstr(ntapi_error_message(error), why) == NULL)
        fail_msg("%s is not in: %s", why, ntapi_error_message(error));
    assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
    ntapi_error_free(error);
    assert_null(ntapi_redis_store_create(options, NULL));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    const struct {
        const char *url, *why;
    } rows[] = {
        {NULL, "url is NULL"},
        {"", "has to begin with redis://"},
        {"redis.example", "has to begin with redis://"},
        {"http://user:secret@a", "has to begin with redis://"},
        {"redis://", "no host"},
        {"redis://a:0", "the port"},
        {"redis://a:70000", "the port"},
        {"redis://a:", "the port"},
        {"redis://a:5x", "the port"},
        {"redis://a: 5", "the port"},
        {"redis://[::1", "no host"},
        {"redis://[::1]5", "the port"},
        {"redis://:p%zz@a", "a % without"},
        {"redis://:p%2@a", "a % without"},
        {"redis://u%00:p@a", "a % without"},
        {"redis://:p/w@a", "has to be %2F"},
        {"redis://u:p/w@a", "has to be %2F"},
        {"redis://u:12/s3cret@a/0", "has to be %2F"},
        {"redis://u:p?w@a", "has to be %2F"},
        {"redis://u:p#w@a", "has to be %2F"},
        {"redis://a/x", "the database \"x\""},
        {"redis://a/99999999", "the database \"99999999\""},
        {"redis://a/1/2", "the database \"1/2\""},
        {"redis://a?db=1", "\"?db=1\""},
        {"redis://a#b", "\"#b\""},
        {"redis://user@a", "a username, but no password"},
        {"unix://a", "no path"},
        {"unix:///", "no path"},
        {"unix:///a?x=1", "\"?x=1\""},
        {"unix:///a?db=-1", "the database \"-1\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(&(ntapi_redis_options){.size = sizeof(ntapi_redis_options), .url = rows[i].url}, rows[i].why);
    refused(NULL, "options is NULL");
    const ntapi_redis_options right = {.size = sizeof right, .url = "rediss://a"};
    ntapi_redis_options wrong = right;
    const char *const keys[] = {"", "abc", KEY "x", KEY " " KEY "="};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        wrong.encryption_keys = keys[i];
        refused(&wrong, "encryption_keys");
    }
    /* A program that was compiled before there were keys. */
    wrong.size = offsetof(ntapi_redis_options, encryption_keys);
    ntapi_store *store = ntapi_redis_store_create(&wrong, NULL);
    assert_non_null(store);
    ntapi_store_free(store);
    wrong = right;
    wrong.size = 0;
    refused(&wrong, "the size of ntapi_redis_options");
    wrong = right, wrong.timeout = -1;
    refused(&wrong, "timeout is -1");
    wrong = right, wrong.username = "u";
    refused(&wrong, "a username, but no password");
    wrong = right, wrong.ca_file = "/nowhere";
    refused(&wrong, "the ca_file \"/nowhere\" cannot be read");
    wrong = right, wrong.client_key = "/nowhere";
    refused(&wrong, "belong together");
    wrong.client_certificate = "/nowhere";
    refused(&wrong, "the client_certificate \"/nowhere\" cannot be read");
    wrong = right, wrong.url = "redis://a", wrong.ca_file = "/nowhere";
    refused(&wrong, "not rediss:");
    struct {
        ntapi_redis_options known;
        const char *unknown;
    } newer = {right, "x"};
    newer.known.size = sizeof newer;
    refused(&newer.known, "a member that this libntapi-redis does not know");
    newer.unknown = NULL;
    ntapi_store_free(ntapi_redis_store_create(&newer.known, NULL));
}

int main(int argc, char **argv) {
    ntapi_log_set_flags(NTAPI_LOG_NONE);
    if (argc == 3)
        return process_that_ends_at_once(argv[1], strcmp(argv[2], "child") == 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_kept_on_a_server),
        cmocka_unit_test(servers_that_lie_fail_by_name),
        cmocka_unit_test(a_text_with_a_zero_byte_is_refused),
        cmocka_unit_test(a_reply_that_nobody_asked_for_ends_the_connection),
        cmocka_unit_test(a_silent_server_fails),
        cmocka_unit_test(no_password_is_in_a_message),
#ifndef THREAD_SANITIZER
        cmocka_unit_test(a_child_has_a_connection_of_its_own),
#endif
        cmocka_unit_test(a_store_may_be_freed_during_requests),
        cmocka_unit_test(a_server_that_cannot_read_it_has_the_responses_of_a_user),
        cmocka_unit_test(what_a_process_has_loaded_at_its_end_is_there),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
