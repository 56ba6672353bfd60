/*
 * The thread of a link waits for calls and for the server. Its state goes from DOWN to CONNECTING, GREETING and UP,
 * and back to DOWN when something fails. It connects when there is a call.
 *
 * hiredis is used without its asynchronous side, which stops the process (`assert`) when a server sends a reply that
 * nobody asked for, and whose timeout starts anew with everything that is written.
 */
#ifdef NTAPI_REDIS

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

enum {
    MOST_CALLS = 1000,         /* that wait for a reply */
    MOST_ELEMENTS = 1000,      /* of an array in a reply */
    MOST_BYTES = 1 << 20,      /* of a reply */
    LONGEST_PAUSE = 1000,      /* milliseconds between two failed attempts to connect */
    GREETING_COMMANDS = 4,     /* HELLO, SELECT, CLIENT SETINFO twice */
    GREETINGS_THAT_MATTER = 2, /* the first of them; older servers do not know CLIENT SETINFO */
};

/* ===== Calls ====================================================================================================== */

typedef struct call {
    struct call *next;
    redis_link_reply_fn reply;       /* of a script */
    redis_link_value_fn value_reply; /* of another command */
    void *context;
    int64_t sent; /* when, in milliseconds */
    bool has_lua; /* whether EVAL was sent, with the script; EVALSHA has only its digest */
    char digest[41];
    char *lua; /* NULL for another command */
    /* The words of the command, in `text`; the first two of a script are set when it is sent. */
    int word_count;
    const char **words;
    size_t *sizes; /* of the words; NULL if they are texts */
    char *text;
    /* The outcome: texts of a script, or at most one value. */
    char **values;
    size_t value_count, value_size;
    char *problem;
} call;

typedef struct queue {
    call *first, *last;
} queue;

static void append(queue *calls, call *added) {
    added->next = NULL;
    if (calls->last == NULL)
        calls->first = added;
    else
        calls->last->next = added;
    calls->last = added;
}

static void append_all(queue *calls, queue *added) {
    if (added->first == NULL)
        return;
    if (calls->last == NULL)
        calls->first = added->first;
    else
        calls->last->next = added->first;
    calls->last = added->last;
    *added = (queue){0};
}

static call *take_first(queue *calls) {
    call *first = calls->first;
    if (first != NULL) {
        calls->first = first->next;
        if (calls->first == NULL)
            calls->last = NULL;
    }
    return first;
}

static void free_call(call *given) {
    free(given->lua);
    free(given->words);
    free(given->sizes);
    free(given->text);
    for (size_t i = 0; i < given->value_count; i++)
        free(given->values[i]);
    free(given->values);
    free(given->problem);
    free(given);
}

/** The call of a script. Returns NULL without memory. */
static call *make_script(const char *lua, const char *const *keys, size_t key_count, const char *const *arguments,
                         size_t argument_count, redis_link_reply_fn reply, void *context) {
    call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    size_t size = 24;
    for (size_t i = 0; i < key_count; i++)
        size += strlen(keys[i]) + 1;
    for (size_t i = 0; i < argument_count; i++)
        size += strlen(arguments[i]) + 1;
    made->reply = reply;
    made->context = context;
    made->lua = strdup(lua);
    made->words = calloc(3 + key_count + argument_count, sizeof *made->words);
    made->text = malloc(size);
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (made->lua == NULL || made->words == NULL || made->text == NULL ||
        EVP_Digest(lua, strlen(lua), digest, NULL, EVP_sha1(), NULL) != 1) {
        free_call(made);
        return NULL;
    }
    for (int i = 0; i < 20; i++)
        snprintf(made->digest + 2 * i, 3, "%02x", digest[i]);
    char *end = made->text;
    made->word_count = 2;
    made->words[made->word_count++] = end;
    end += snprintf(end, 24, "%zu", key_count) + 1;
    for (size_t i = 0; i < key_count; i++) {
        made->words[made->word_count++] = end;
        end = stpcpy(end, keys[i]) + 1;
    }
    for (size_t i = 0; i < argument_count; i++) {
        made->words[made->word_count++] = end;
        end = stpcpy(end, arguments[i]) + 1;
    }
    return made;
}

/** The call of another command, whose words may be any bytes. Returns NULL without memory. */
static call *make_command(int count, const char *const *words, const size_t *sizes, redis_link_value_fn reply,
                          void *context) {
    call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += sizes[i];
    made->value_reply = reply;
    made->context = context;
    made->words = calloc((size_t)count, sizeof *made->words);
    made->sizes = calloc((size_t)count, sizeof *made->sizes);
    made->text = malloc(size + 1);
    if (made->words == NULL || made->sizes == NULL || made->text == NULL) {
        free_call(made);
        return NULL;
    }
    char *end = made->text;
    for (; made->word_count < count; made->word_count++) {
        int i = made->word_count;
        made->words[i] = end;
        made->sizes[i] = sizes[i];
        if (sizes[i] > 0)
            memcpy(end, words[i], sizes[i]);
        end += sizes[i];
    }
    return made;
}

static void fail_reply(const call *ended, const char *problem) {
    if (ended->reply != NULL)
        ended->reply(ended->context, NULL, 0, problem);
    else
        ended->value_reply(ended->context, NULL, 0, problem);
}

static void answer(call *ended) {
    if (ended->problem != NULL)
        fail_reply(ended, ended->problem);
    else if (ended->reply != NULL)
        ended->reply(ended->context, (const char *const *)ended->values, ended->value_count, "");
    else
        ended->value_reply(ended->context, ended->values == NULL ? NULL : ended->values[0], ended->value_size, NULL);
    free_call(ended);
}

/* ===== The link =================================================================================================== */

typedef enum state { DOWN, CONNECTING, GREETING, UP } state;

struct redis_link {
    redis_address address;
    int64_t timeout; /* milliseconds */
    redis_link_options tls_options;
    char *version;
    redis_cipher *cipher; /* NULL without keys */

    pthread_mutex_t lock; /* of what follows, up to the thread's own */
    int references;       /* the program's, and the thread's */
    queue waiting;
    int call_count; /* that have no reply */
    bool has_thread, is_over;
    unsigned generation; /* of the process that has the thread */
    int wake[2];         /* a pipe; a byte wakes the thread */

    /* The thread's own. */
    SSL_CTX *tls;
    state state;
    redisContext *redis;
    SSL *connection;   /* belongs to `redis` */
    bool has_answered; /* whether this connection has answered a call */
    bool has_output;
    bool is_reading; /* whether TLS has to read before it can write */
    int greetings;   /* replies that are still to come */
    size_t received; /* bytes since the last whole reply */
    int64_t deadline, next_attempt;
    int failures;
    unsigned random;
    char problem[256];
    queue unsent, sent, ended;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ===== Forks and the exit ========================================================================================= */

/* A thread holds this gate for reading while it uses OpenSSL, hiredis or a link's lock. A fork takes it for writing: so in
 * the child none of their locks is taken, and no state is half written. Once OpenSSL frees what it has, no thread uses it. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static unsigned generation;
static bool is_exiting;

static void before_fork(void) {
    pthread_rwlock_wrlock(&gate);
}

static void after_fork(void) {
    pthread_rwlock_unlock(&gate);
}

static void in_child(void) {
    gate = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    generation++;
}

static void close_gate(void) {
    pthread_rwlock_wrlock(&gate);
    is_exiting = true;
    pthread_rwlock_unlock(&gate);
}

static void watch_process(void) {
    /* At the exit, the library tells the stores what it has to, and its function for that may be an older one, which runs
     * later than one that is registered now. So an OpenSSL of our own must not clean up at the exit. If libcurl uses it, too,
     * its function is the oldest, and calls ours first. */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    OPENSSL_atexit(close_gate);
    pthread_atfork(before_fork, after_fork, in_child);
}

/** On the thread of a link. It does not return when the process exits. */
static void enter(void) {
    pthread_rwlock_rdlock(&gate);
    if (!is_exiting)
        return;
    pthread_rwlock_unlock(&gate);
    for (;;)
        pause();
}

static void leave(void) {
    pthread_rwlock_unlock(&gate);
}

/* ===== The connection ============================================================================================= */

static void fail_calls(redis_link *link, queue *calls, const char *problem) {
    for (call *each = calls->first; each != NULL; each = each->next)
        each->problem = redis_text("%s: %s", link->address.name, problem);
    append_all(&link->ended, calls);
}

/** Closes the connection. What was sent fails, because nobody knows whether it was run. */
static void drop(redis_link *link, const char *problem) {
    snprintf(link->problem, sizeof link->problem, "%s", problem);
    if (link->redis != NULL)
        redisFree(link->redis);
    link->redis = NULL;
    link->connection = NULL;
    link->has_output = link->is_reading = false;
    link->received = 0;
    fail_calls(link, &link->sent, link->problem);
    if (!link->has_answered) {
        /* The next calls fail at once, until it may be tried again. After an answer it is tried at once. */
        fail_calls(link, &link->unsent, link->problem);
        int64_t longest = link->failures < 5 ? 50 << link->failures : LONGEST_PAUSE;
        link->failures++;
        link->next_attempt = now() + longest / 2 + rand_r(&link->random) % (longest / 2 + 1);
    }
    link->has_answered = false;
    link->state = DOWN;
}

static void drop_broken(redis_link *link) {
    const char *problem = link->connection == NULL ? NULL : redis_tls_problem(link->connection);
    char text[sizeof link->redis->errstr + 8];
    snprintf(text, sizeof text, "%s%s",
             problem == NULL ? "" : "TLS: ", problem == NULL ? link->redis->errstr : problem);
    drop(link, text);
}

/** Returns whether there is still a connection. */
static bool command(redis_link *link, int count, const char **words, const size_t *sizes) {
    if (redisAppendCommandArgv(link->redis, count, words, sizes) != REDIS_OK) {
        drop_broken(link);
        return false;
    }
    link->has_output = true;
    return true;
}

static void greet(redis_link *link) {
    const redis_address *address = &link->address;
    char database[12];
    snprintf(database, sizeof database, "%d", address->database);
    const char *hello[] = {"HELLO", "2", "AUTH", address->username == NULL ? "default" : address->username,
                           address->password};
    const char *select[] = {"SELECT", database};
    const char *name[] = {"CLIENT", "SETINFO", "LIB-NAME", "ntapi"};
    const char *version[] = {"CLIENT", "SETINFO", "LIB-VER", link->version};
    link->state = GREETING;
    link->greetings = GREETING_COMMANDS;
    if (command(link, address->password == NULL ? 2 : 5, hello, NULL) && command(link, 2, select, NULL) &&
        command(link, 4, name, NULL))
        command(link, 4, version, NULL);
}

static void begin_tls(redis_link *link) {
    char *problem = NULL;
    if (link->tls == NULL)
        link->tls = redis_tls_create(&link->tls_options, &problem);
    SSL *connection = link->tls == NULL ? NULL : redis_tls_connection(link->tls, link->address.host);
    if (connection == NULL) {
        drop(link, problem == NULL ? "no memory for TLS" : problem);
        free(problem);
        return;
    }
    link->connection = connection;
    if (redisInitiateSSL(link->redis, connection) != REDIS_OK) {
        drop_broken(link);
        SSL_free(connection);
    }
}

static void finish_connecting(redis_link *link) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->redis->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        drop(link, strerror(error == 0 ? errno : error));
        return;
    }
    if (link->address.port != 0) {
        int yes = 1;
        setsockopt(link->redis->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        redisEnableKeepAlive(link->redis);
    }
    if (link->address.uses_tls)
        begin_tls(link);
    if (link->redis != NULL)
        greet(link);
}

/** Outside the gate, because a resolver may take its time. */
static redisContext *open_connection(const redis_address *address) {
    redisOptions options = {.options = REDIS_OPT_NONBLOCK};
#ifdef REDIS_OPT_SET_SOCK_CLOEXEC
    options.options |= REDIS_OPT_SET_SOCK_CLOEXEC;
#endif
    if (address->port == 0)
        REDIS_OPTIONS_SET_UNIX(&options, address->host);
    else
        REDIS_OPTIONS_SET_TCP(&options, address->host, address->port);
    redisContext *redis = redisConnectWithOptions(&options);
    if (redis != NULL && redis->fd != REDIS_INVALID_FD)
        fcntl(redis->fd, F_SETFD, FD_CLOEXEC);
    return redis;
}

static void start_connecting(redis_link *link, redisContext *redis) {
    link->redis = redis;
    if (redis == NULL) {
        drop(link, "no memory");
    } else if (redis->err != 0) {
        drop_broken(link);
    } else {
        redis->reader->maxelements = MOST_ELEMENTS;
        link->state = CONNECTING;
        link->deadline = now() + link->timeout;
    }
}

/* ===== Replies ==================================================================================================== */

/** What is wrong with a server that says hello; NULL if nothing is. */
static const char *problem_with(const redisReply *hello) {
    for (size_t i = 0; i + 1 < hello->elements; i += 2) {
        const redisReply *name = hello->element[i], *value = hello->element[i + 1];
        if (name->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING || strcmp(name->str, "mode") != 0)
            continue;
        if (strcmp(value->str, "sentinel") == 0)
            return "this is a Sentinel, which keeps no data: give the address of the server itself";
        if (strcmp(value->str, "cluster") == 0)
            return "this server is part of a Redis Cluster, which is not supported: give one that is not";
    }
    return NULL;
}

static void read_greeting(redis_link *link, const redisReply *reply) {
    int number = GREETING_COMMANDS - link->greetings--;
    if (number < GREETINGS_THAT_MATTER && reply->type == REDIS_REPLY_ERROR) {
        drop(link, reply->str);
        return;
    }
    const char *problem = number == 0 ? problem_with(reply) : NULL;
    if (problem != NULL) {
        drop(link, problem);
    } else if (link->greetings == 0) {
        link->state = UP;
    }
}

static bool begins(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

/** A new text, or NULL and what is wrong. */
static char *read_value(const redisReply *element, const char **problem) {
    char *value = NULL;
    *problem = "no memory";
    if (element->type == REDIS_REPLY_INTEGER)
        value = redis_text("%lld", element->integer);
    else if (element->type != REDIS_REPLY_STRING)
        *problem = "the reply has something else than texts and whole numbers";
    else if (memchr(element->str, 0, element->len) != NULL)
        *problem = "a text of the reply has a zero byte";
    else
        value = strdup(element->str);
    if (value != NULL)
        *problem = NULL;
    return value;
}

/** Keeps the values that a script has replied with. Returns what is wrong with them, or NULL. */
static const char *read_values(call *asked, const redisReply *reply) {
    const char *problem = NULL;
    if (reply->type != REDIS_REPLY_ARRAY)
        return "the reply is no array";
    asked->values = calloc(reply->elements + 1, sizeof *asked->values);
    if (asked->values == NULL)
        return "no memory";
    while (problem == NULL && asked->value_count < reply->elements) {
        char *value = read_value(reply->element[asked->value_count], &problem);
        if (value != NULL)
            asked->values[asked->value_count++] = value;
    }
    return problem;
}

/** The same for a command that replies with bytes, or with nothing of interest. */
static const char *read_bytes(call *asked, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_STRING)
        return reply->type == REDIS_REPLY_ARRAY ? "the reply is an array" : NULL;
    asked->values = calloc(1, sizeof *asked->values);
    char *value = malloc(reply->len + 1);
    if (asked->values == NULL || value == NULL) {
        free(value);
        return "no memory";
    }
    memcpy(value, reply->str, reply->len + 1); /* hiredis ends it with a zero byte */
    asked->values[0] = value;
    asked->value_count = 1;
    asked->value_size = reply->len;
    return NULL;
}

/** Keeps the outcome of a call. */
static void read_outcome(redis_link *link, call *asked, const redisReply *reply) {
    const char *problem;
    if (reply->type == REDIS_REPLY_ERROR)
        problem = reply->str;
    else
        problem = asked->lua != NULL ? read_values(asked, reply) : read_bytes(asked, reply);
    if (problem != NULL)
        asked->problem = redis_text("%s: %s", link->address.name, problem);
}

/** Some servers repeat the arguments of a command that they do not know: one may be the password. */
static void hide_arguments(redisReply *reply) {
    char *arguments = reply->type == REDIS_REPLY_ERROR ? strstr(reply->str, ", with args beginning with") : NULL;
    if (arguments != NULL)
        *arguments = '\0';
}

static void read_reply(redis_link *link, redisReply *reply) {
    hide_arguments(reply);
    if (link->state == GREETING) {
        read_greeting(link, reply);
        return;
    }
    call *asked = take_first(&link->sent);
    if (asked == NULL) {
        drop(link, reply->type == REDIS_REPLY_ERROR ? reply->str : "it has sent a reply that nobody asked for");
        return;
    }
    link->has_answered = true;
    link->failures = 0;
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    if (is_error && asked->lua != NULL && !asked->has_lua && begins(reply->str, "NOSCRIPT")) {
        asked->has_lua = true;
        append(&link->unsent, asked);
        return;
    }
    read_outcome(link, asked, reply);
    append(&link->ended, asked);
    /* A server that is a replica now: its name may lead to the new primary. */
    if (is_error && begins(reply->str, "READONLY"))
        drop(link, reply->str);
}

static void receive(redis_link *link) {
    do {
        ERR_clear_error();
        size_t before = link->redis->reader->len;
        if (redisBufferRead(link->redis) != REDIS_OK) {
            drop_broken(link);
            return;
        }
        link->received += link->redis->reader->len - before;
        void *reply = NULL;
        int status;
        while ((status = redisGetReplyFromReader(link->redis, &reply)) == REDIS_OK && reply != NULL) {
            link->received = 0;
            read_reply(link, reply);
            freeReplyObject(reply);
            if (link->redis == NULL)
                return;
        }
        if (status != REDIS_OK) {
            drop_broken(link);
            return;
        }
        if (link->received > MOST_BYTES) {
            drop(link, "its reply has more than 1 MB");
            return;
        }
    } while (link->connection != NULL && SSL_pending(link->connection) > 0);
}

static void send_output(redis_link *link) {
    int done = 0;
    ERR_clear_error();
    if (redisBufferWrite(link->redis, &done) != REDIS_OK) {
        drop_broken(link);
        return;
    }
    link->has_output = !done;
    link->is_reading = !done && link->connection != NULL && SSL_want_read(link->connection);
}

static void send_calls(redis_link *link) {
    while (link->state == UP && link->unsent.first != NULL) {
        call *next = take_first(&link->unsent);
        if (next->lua != NULL) {
            next->words[0] = next->has_lua ? "EVAL" : "EVALSHA";
            next->words[1] = next->has_lua ? next->lua : next->digest;
        }
        next->sent = now();
        append(&link->sent, next);
        command(link, next->word_count, next->words, next->sizes);
    }
}

/* ===== The thread ================================================================================================= */

/** When the thread has to look again, in milliseconds of `now`; 0 if never. */
static int64_t next_moment(const redis_link *link) {
    if (link->state == CONNECTING || link->state == GREETING)
        return link->deadline;
    return link->sent.first == NULL ? 0 : link->sent.first->sent + link->timeout;
}

/** Connects, sends, and gives up a connection on which nothing comes. */
static void move_on(redis_link *link) {
    int64_t moment = next_moment(link);
    if (moment != 0 && now() >= moment) {
        char text[60];
        snprintf(text, sizeof text, "no %s in %g seconds", link->state == UP ? "reply" : "connection",
                 (double)link->timeout / 1000);
        drop(link, text);
    }
    if (link->state == DOWN && link->unsent.first != NULL) {
        if (now() < link->next_attempt) {
            fail_calls(link, &link->unsent, link->problem);
        } else {
            leave();
            redisContext *redis = open_connection(&link->address);
            enter();
            start_connecting(link, redis);
        }
    }
    send_calls(link);
    if (link->has_output && !link->is_reading)
        send_output(link);
}

static void wait_and_receive(redis_link *link) {
    struct pollfd files[] = {{.fd = link->wake[0], .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    if (link->redis != NULL)
        files[1].fd = link->redis->fd;
    if (link->state == CONNECTING || (link->has_output && !link->is_reading))
        files[1].events |= POLLOUT;
    int64_t moment = next_moment(link), time = now();
    leave();
    poll(files, 2, moment == 0 ? -1 : moment > time ? (int)(moment - time) : 0);
    char ignored[64];
    while (files[0].revents != 0 && read(link->wake[0], ignored, sizeof ignored) > 0) {
    }
    enter();
    if (files[1].revents == 0 || link->redis == NULL)
        return;
    if (link->state == CONNECTING) {
        finish_connecting(link);
        return;
    }
    link->is_reading = false;
    if (files[1].revents & ~POLLOUT)
        receive(link);
}

/** Answers the calls that have ended, outside the gate: the program may do what it likes, also fork. Returns false in a
 *  child that it has forked. There, this is the only thread, and nothing of the link is its own. */
static bool answer_ended(redis_link *link) {
    unsigned before = generation;
    int count = 0;
    queue ended = link->ended;
    link->ended = (queue){0};
    for (const call *each = ended.first; each != NULL; each = each->next)
        count++;
    if (count == 0)
        return true;
    pthread_mutex_lock(&link->lock);
    link->call_count -= count;
    pthread_mutex_unlock(&link->lock);
    leave();
    for (call *each; (each = take_first(&ended)) != NULL;)
        answer(each);
    enter();
    return generation == before;
}

/** Takes the calls that wait. Returns whether there may be more. */
static bool take_calls(redis_link *link) {
    pthread_mutex_lock(&link->lock);
    append_all(&link->unsent, &link->waiting);
    bool is_over = link->is_over;
    pthread_mutex_unlock(&link->lock);
    return !is_over;
}

static void release(redis_link *link);

static void *run_thread(void *given) {
    redis_link *link = given;
    enter();
    bool is_child = false;
    while (!is_child && take_calls(link)) {
        move_on(link);
        is_child = !answer_ended(link);
        if (!is_child)
            wait_and_receive(link);
    }
    if (!is_child) {
        drop(link, "the store was freed");
        fail_calls(link, &link->unsent, link->problem);
        if (answer_ended(link))
            release(link);
    }
    leave();
    return NULL;
}

/** Without signals: the program's handlers run on its own threads, and a closed connection sends SIGPIPE. */
static bool start_thread(redis_link *link) {
    if (pipe(link->wake) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(link->wake[i], F_SETFD, FD_CLOEXEC);
        fcntl(link->wake[i], F_SETFL, O_NONBLOCK);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool has_started = pthread_create(&thread, NULL, run_thread, link) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_started) {
        pthread_detach(thread);
        return true;
    }
    close(link->wake[0]);
    close(link->wake[1]);
    return false;
}

static void close_link(redis_link *link) {
    if (link->redis != NULL)
        redisFree(link->redis);
    link->redis = NULL;
    link->connection = NULL;
    SSL_CTX_free(link->tls);
    link->tls = NULL;
    queue *all[] = {&link->waiting, &link->unsent, &link->sent, &link->ended};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (call *each; (each = take_first(all[i])) != NULL;)
            free_call(each);
    if (link->has_thread) {
        close(link->wake[0]);
        close(link->wake[1]);
    }
}

/** In a child, calls and connection are the parent's. The child's own begin here. */
static void forget_parent(redis_link *link) {
    close_link(link);
    link->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    link->references = 1;
    link->call_count = link->failures = 0;
    link->has_thread = link->has_answered = link->has_output = link->is_reading = false;
    link->received = 0;
    link->state = DOWN;
    link->next_attempt = 0;
    link->generation = generation;
}

/** On a thread of the program. */
static void enter_link(redis_link *link) {
    pthread_rwlock_rdlock(&gate);
    if (link->generation == generation)
        return;
    pthread_rwlock_unlock(&gate);
    pthread_rwlock_wrlock(&gate);
    if (link->generation != generation)
        forget_parent(link);
    pthread_rwlock_unlock(&gate);
    pthread_rwlock_rdlock(&gate);
}

static void release(redis_link *link) {
    pthread_mutex_lock(&link->lock);
    bool is_last = --link->references == 0;
    pthread_mutex_unlock(&link->lock);
    if (!is_last)
        return;
    close_link(link);
    pthread_mutex_destroy(&link->lock);
    redis_address_free(&link->address);
    free((char *)link->tls_options.ca_file);
    free((char *)link->tls_options.client_certificate);
    free((char *)link->tls_options.client_key);
    free(link->version);
    redis_cipher_free(link->cipher);
    free(link);
}

/* ===== What the header declares =================================================================================== */

static char *copied(const char *text) {
    return text == NULL ? NULL : strdup(text);
}

redis_link *redis_link_create(const redis_link_options *options, char **problem) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_process);
    redis_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    pthread_rwlock_rdlock(&gate);
    pthread_mutex_init(&link->lock, NULL);
    link->references = 1;
    link->generation = generation;
    link->random = (unsigned)now() ^ (unsigned)getpid() ^ (unsigned)(uintptr_t)link;
    link->tls_options.ca_file = copied(options->ca_file);
    link->tls_options.client_certificate = copied(options->client_certificate);
    link->tls_options.client_key = copied(options->client_key);
    link->version = copied(options->version);
    *problem = is_exiting ? redis_text("the process exits") : redis_address_read(&link->address, options);
    if (*problem == NULL && link->address.uses_tls)
        link->tls = redis_tls_create(&link->tls_options, problem);
    if (*problem == NULL && options->encryption_keys != NULL) {
        link->cipher = redis_cipher_create(options->encryption_keys, problem);
        if (link->cipher == NULL && *problem == NULL)
            *problem = redis_text("no memory");
    }
    if (*problem != NULL) {
        release(link);
        link = NULL;
    } else if (options->timeout == 0) {
        link->timeout = 5000;
    } else {
        link->timeout = options->timeout < 0.001 ? 1 : (int64_t)(options->timeout * 1000);
    }
    leave();
    return link;
}

void redis_link_free(redis_link *link) {
    if (link == NULL)
        return;
    enter_link(link);
    pthread_mutex_lock(&link->lock);
    link->is_over = true;
    if (link->has_thread)
        (void)!write(link->wake[1], "", 1);
    pthread_mutex_unlock(&link->lock);
    if (!is_exiting)
        release(link);
    leave();
}

const char *redis_link_name(const redis_link *link) {
    return link->address.name;
}

bool redis_link_encrypts(const redis_link *link) {
    return link->cipher != NULL;
}

void *redis_link_encrypt(redis_link *link, const char *place, const void *value, size_t size, size_t *made_size) {
    enter_link(link);
    void *made = is_exiting ? NULL : redis_cipher_encrypt(link->cipher, place, value, size, made_size);
    leave();
    return made;
}

void *redis_link_decrypt(redis_link *link, const char *place, const void *made, size_t made_size, size_t *size) {
    enter_link(link);
    void *value = is_exiting ? NULL : redis_cipher_decrypt(link->cipher, place, made, made_size, size);
    leave();
    return value;
}

/** Begins a call, or answers it with what is in the way. Takes it; NULL means no memory. */
static void start_call(redis_link *link, call *made, const call *kind) {
    const char *problem = NULL;
    pthread_mutex_lock(&link->lock);
    if (!link->has_thread && !is_exiting) {
        link->references++;
        link->has_thread = start_thread(link);
        if (!link->has_thread)
            link->references--;
    }
    if (is_exiting)
        problem = "the process exits";
    else if (made == NULL)
        problem = "no memory";
    else if (!link->has_thread)
        problem = "its thread cannot be started: no memory or file descriptors are left";
    else if (link->call_count == MOST_CALLS)
        problem = "too many calls wait for a reply of the store";
    if (problem == NULL) {
        link->call_count++;
        append(&link->waiting, made);
        (void)!write(link->wake[1], "", 1);
    }
    pthread_mutex_unlock(&link->lock);
    leave();
    if (problem == NULL)
        return;
    fail_reply(kind, problem);
    if (made != NULL)
        free_call(made);
}

void redis_link_run(redis_link *link, const char *lua, const char *const *keys, size_t key_count,
                    const char *const *arguments, size_t argument_count, redis_link_reply_fn reply, void *context) {
    enter_link(link);
    call *made = is_exiting ? NULL : make_script(lua, keys, key_count, arguments, argument_count, reply, context);
    start_call(link, made, &(call){.reply = reply, .context = context});
}

static void start_command(redis_link *link, int count, const char *const *words, const size_t *sizes,
                          redis_link_value_fn reply, void *context) {
    enter_link(link);
    call *made = is_exiting ? NULL : make_command(count, words, sizes, reply, context);
    start_call(link, made, &(call){.value_reply = reply, .context = context});
}

void redis_link_get(redis_link *link, const char *key, redis_link_value_fn reply, void *context) {
    const char *words[] = {"GET", key};
    const size_t sizes[] = {3, strlen(key)};
    start_command(link, 2, words, sizes, reply, context);
}

void redis_link_set(redis_link *link, const char *key, const void *value, size_t size, double seconds,
                    redis_link_value_fn reply, void *context) {
    char time[24];
    /* Redis refuses 0, and what does not fit. */
    double milliseconds = seconds * 1000 < 1 ? 1 : seconds < 1e9 ? seconds * 1000 : 1e12;
    snprintf(time, sizeof time, "%.0f", milliseconds);
    const char *words[] = {"SET", key, value, "PX", time};
    const size_t sizes[] = {3, strlen(key), size, 2, strlen(time)};
    start_command(link, 5, words, sizes, reply, context);
}

void redis_link_remove(redis_link *link, const char *key, redis_link_value_fn reply, void *context) {
    const char *words[] = {"DEL", key};
    const size_t sizes[] = {3, strlen(key)};
    start_command(link, 2, words, sizes, reply, context);
}

#endif
