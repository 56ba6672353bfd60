/*
 * Disturbances do not change the result of a request. Each request is made once without disturbance. Then many of them
 * are made at once, again and again, while threads disturb them at random moments. Status, bytes and checksum must be
 * the same, and each response handler must run exactly once.
 *
 *   test_relation SECONDS [SEED [DISTURBANCES [ONLY]]]
 *
 * The seed determines requests and disturbances. How the threads interleave depends on the machine. DISTURBANCES is a
 * list such as "suspend,fork", or a list of those to leave out, "-suspend,fork"; by default, all are used. ONLY names
 * ways and hosts, such as "upload file,data,nginx_tls".
 */
#include "session.h"
#include "support.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIVE = 24, DISTURBERS = 3, CLIENTS = 4, LIMITED = 2 };

/* The disturbances. */
enum { SUSPEND, PRIORITY, READ, OTHERS, CACHE, LOG, FORK, SIGNAL, SLOW, NESTED, DISTURBANCES };
static const char *const names[DISTURBANCES] = {"suspend", "priority", "read",   "others", "cache",
                                                "log",     "fork",     "signal", "slow",   "nested"};
static bool disturbs[DISTURBANCES];

/* How a request is made. */
enum way { DATA, STREAMED, DOWNLOAD, UPLOAD_BYTES, UPLOAD_FILE, UPLOAD_STREAM, WAYS };
static const char *const way_names[WAYS] = {"data",         "streamed",    "download",
                                            "upload bytes", "upload file", "upload stream"};

static const char *const hosts[] = {"nginx", "nginx_tls", "nginx_tls1", "nginx_narrow"};
static const char *const downloads[] = {"small.json", "big-100k.json", "gzip/big-100k.json", "pattern-8M.bin", "404"};
enum { HOSTS = sizeof hosts / sizeof *hosts, FILES = sizeof downloads / sizeof *downloads, UPLOAD_SIZE = 300000 };

/** What must be the same each time. */
struct outcome {
    int status;
    ntapi_code code;
    uint64_t bytes, checksum;
};

struct target {
    int host, file; /* of `downloads`; an upload has -1 */
    enum way way;
    struct outcome expected;
};

struct item {
    struct target *target;
    int client;
    char path[64]; /* of a download */
    size_t left;   /* of an upload that is pulled */
    ntapi_request *request;
    struct outcome seen;
    int responses, destroys;
    int users; /* disturbers that have it */
    struct timespec begun;
};

static struct target targets[HOSTS * (FILES * 3 + 3)];
static int target_count;
static char *upload, upload_path[64], folder[] = "/tmp/ntapi-relation-XXXXXX";
static ntapi_client *clients[HOSTS][CLIENTS];
static uint64_t seed;
static const char *only; /* which ways and hosts are used; NULL means all */

/* Protects the items, and the requests of other threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct item *live[LIVE];
static int violations, completed;
static bool is_over;
static _Thread_local unsigned state;

static unsigned dice(unsigned sides) {
    return (unsigned)rand_r(&state) % sides;
}

static void digest(struct outcome *outcome, const char *bytes, size_t length) {
    if (outcome->bytes == 0)
        outcome->checksum = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        outcome->checksum = (outcome->checksum ^ (unsigned char)bytes[i]) * 1099511628211u;
    outcome->bytes += length;
}

static void digest_file(struct outcome *outcome, const char *path) {
    static _Thread_local char buffer[65536];
    FILE *file = fopen(path, "rb");
    for (size_t count; file != NULL && (count = fread(buffer, 1, sizeof buffer, file)) > 0;)
        digest(outcome, buffer, count);
    if (file != NULL)
        fclose(file);
}

static void pause_for(unsigned microseconds) {
    struct timespec time = {.tv_nsec = (long)microseconds * 1000};
    nanosleep(&time, NULL);
}

/* The callbacks. */

static void take_response(struct item *item, const ntapi_response *response) {
    struct outcome *seen = &item->seen;
    seen->status = ntapi_response_status(response);
    seen->code = code_of(response);
    const char *path = ntapi_response_file(response);
    size_t length = 0;
    const char *bytes = ntapi_response_data(response, &length);
    if (path != NULL) {
        digest_file(seen, path);
        unlink(path);
    } else if (bytes != NULL && length > 0) {
        digest(seen, bytes, length);
    }
}

static void disturb_handler(struct item *item) {
    state = (unsigned)(seed ^ (uintptr_t)item) + (unsigned)item->seen.bytes;
    if (disturbs[SLOW] && dice(10) == 0)
        pause_for(dice(3000));
    if (disturbs[NESTED] && dice(40) == 0) {
        /* Two data handlers may hold both connections of the limited client. Then it has none for their requests. */
        int client = item->client == LIMITED ? 0 : item->client;
        ntapi_response_free(ntapi_client_perform(clients[item->target->host][client], "ping", NULL));
    }
}

static void on_response(void *context, const ntapi_response *response) {
    struct item *item = context;
    disturb_handler(item);
    take_response(item, response);
    pthread_mutex_lock(&lock);
    item->responses++;
    pthread_mutex_unlock(&lock);
}

static void on_data(void *context, const char *bytes, size_t length) {
    struct item *item = context;
    disturb_handler(item);
    digest(&item->seen, bytes, length);
}

static void on_progress(void *context, int64_t bytes, int64_t total) {
    (void)bytes, (void)total;
    disturb_handler(context);
}

static void on_destroy(void *context) {
    pthread_mutex_lock(&lock);
    ((struct item *)context)->destroys++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static ptrdiff_t pull(void *context, void *buffer, size_t capacity) {
    struct item *item = context;
    size_t count = item->left < capacity ? item->left : capacity;
    memcpy(buffer, upload + (UPLOAD_SIZE - item->left), count);
    item->left -= count;
    return (ptrdiff_t)count;
}

static bool rewind_pull(void *context) {
    ((struct item *)context)->left = UPLOAD_SIZE;
    return true;
}

/* Requests. */

static struct item *new_item(struct target *target, int client, unsigned number) {
    struct item *item = calloc(1, sizeof *item);
    item->target = target;
    item->client = client;
    item->left = UPLOAD_SIZE;
    snprintf(item->path, sizeof item->path, "%s/%u", folder, number);
    clock_gettime(CLOCK_MONOTONIC, &item->begun);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    if (target->way == DOWNLOAD)
        check_ok(ntapi_args_download(args, item->path));
    if (target->way == UPLOAD_BYTES)
        check_ok(ntapi_args_data(args, upload, UPLOAD_SIZE, "text/plain"));
    if (target->way == UPLOAD_FILE)
        check_ok(ntapi_args_file(args, upload_path, "text/plain"));
    if (target->way == UPLOAD_STREAM)
        check_ok(ntapi_args_stream(args, pull, rewind_pull, UPLOAD_SIZE, "text/plain", item, NULL));
    const char *command = target->file < 0 ? "upload" : downloads[target->file];
    item->request = ntapi_client_create_request(clients[target->host][client], command, args);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_handler(item->request, on_response, item, on_destroy));
    if (target->way == STREAMED)
        check_ok(ntapi_request_set_data_handler(item->request, on_data, item, NULL));
    if (number % 3 == 0)
        check_ok(ntapi_request_set_download_progress(item->request, on_progress, item, NULL));
    return item;
}

static bool is_same(const struct outcome *left, const struct outcome *right) {
    return left->status == right->status && left->code == right->code && left->bytes == right->bytes &&
           left->checksum == right->checksum;
}

static void complain(const struct item *item, const char *what) {
    const struct target *target = item->target;
    const struct outcome *wanted = &target->expected, *seen = &item->seen;
    violations++;
    if (violations > 20)
        return;
    ntapi_response *response = ntapi_request_response(item->request);
    const char *message = ntapi_error_message(ntapi_response_error(response));
    printf(
        "%s: %s of %s from %s, client %d: %d, code %d, %llu bytes instead of %d, code %d, %llu bytes; %d responses, %d "
        "destroys%s%s\n",
        what, way_names[target->way], target->file < 0 ? "upload" : downloads[target->file], hosts[target->host],
        item->client, seen->status, seen->code, (unsigned long long)seen->bytes, wanted->status, wanted->code,
        (unsigned long long)wanted->bytes, item->responses, item->destroys, message ? ": " : "",
        message ? message : "");
    ntapi_response_free(response);
}

static void check(struct item *item) {
    if (item->responses != 1 || item->destroys != 1)
        complain(item, "not exactly once");
    else if (!is_same(&item->seen, &item->target->expected))
        complain(item, "another outcome");
    completed++;
    ntapi_request_free(item->request);
    free(item);
}

/** Makes each request once, undisturbed. */
static void make_targets(void) {
    for (int host = 0; host < HOSTS; host++) {
        for (int way = 0; way < WAYS; way++) {
            bool is_wanted =
                only == NULL || (strstr(only, way_names[way]) != NULL && strstr(only, hosts[host]) != NULL);
            for (int file = 0; file < FILES && is_wanted; file++) {
                if (way >= UPLOAD_BYTES && file > 0)
                    break;
                struct target *target = &targets[target_count++];
                target->host = host;
                target->way = (enum way)way;
                target->file = way >= UPLOAD_BYTES ? -1 : file;
                struct item *item = new_item(target, 0, 1);
                check_ok(ntapi_request_resume(item->request));
                check_ok(ntapi_request_wait(item->request, PATIENCE));
                target->expected = item->seen;
                int status = file == FILES - 1 ? 404 : 200;
                if (item->seen.status != status || (item->seen.code != NTAPI_CODE_NONE) != (status == 404) ||
                    item->seen.bytes == 0)
                    complain(item, "wrong in peace");
                check(item);
            }
        }
    }
}

static ntapi_client *new_client(int host, int kind) {
    if (kind == 0) {
        ntapi_client *client = client_of(hosts[host]);
        check_ok(ntapi_defaults_set_string(ntapi_client_defaults(client), NTAPI_DEFAULT_CA_FILE, server("ca")));
        return client;
    }
    ntapi_configuration *configuration = ephemeral();
    if (kind == LIMITED)
        set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 2);
    if (kind == 3) {
        set_json(configuration, NTAPI_DEFAULT_RETRY, "{\"attempts\":3}");
        set_string(configuration, NTAPI_DEFAULT_HTTP_VERSION, "1.1");
    }
    ntapi_client *client = session_of(hosts[host], configuration);
    ntapi_configuration_free(configuration);
    return client;
}

/* The disturbers. */

static void do_nothing(int number) {
    (void)number;
}

static void swallow(void *context, ntapi_log level, const char *message) {
    (void)context, (void)level, (void)message;
}

static void disturb_request(ntapi_request *request, int kind) {
    if (kind == PRIORITY)
        ntapi_request_set_priority(request, dice(11) / 10.0);
    if (kind == READ) {
        ntapi_request_get_state(request);
        ntapi_json_free(ntapi_request_metrics(request));
        ntapi_request_received_status(request);
        ntapi_response_free(ntapi_request_response(request));
    }
    if (kind == SUSPEND) {
        for (unsigned cycles = 1 + dice(4); cycles > 0; cycles--) {
            ntapi_request_suspend(request);
            if (dice(2) == 0)
                pause_for(dice(2000));
            if (dice(8) != 0)
                ntapi_request_resume(request);
        }
    }
}

static void disturb_others(int host) {
    ntapi_client *client = new_client(host, (int)dice(2));
    ntapi_request *request = ntapi_client_begin(client, "big-100k.json", NULL, NULL, NULL, NULL);
    if (dice(2) == 0)
        pause_for(dice(2000));
    switch (dice(3)) {
    case 0:
        ntapi_request_cancel(request);
        break;
    case 1:
        ntapi_client_close(client);
        break;
    default:
        break;
    }
    ntapi_request_free(request);
    ntapi_client_free(client);
}

static void fork_for_a_moment(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    while (child > 0 && waitpid(child, NULL, 0) < 0)
        ;
}

/** Two disturbers may use one request at the same time. */
static void with_live(int kind) {
    pthread_mutex_lock(&lock);
    struct item *item = live[dice(LIVE)];
    if (item != NULL)
        item->users++;
    pthread_mutex_unlock(&lock);
    if (item == NULL)
        return;
    disturb_request(item->request, kind);
    pthread_mutex_lock(&lock);
    item->users--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *disturb(void *number) {
    state = (unsigned)seed + 77u * (unsigned)(uintptr_t)number;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        int kind = (int)dice(DISTURBANCES), host = (int)dice(HOSTS), client = (int)dice(CLIENTS);
        if (disturbs[kind]) {
            switch (kind) {
            case SUSPEND:
            case PRIORITY:
            case READ:
                with_live(kind);
                break;
            case OTHERS:
                disturb_others(host);
                break;
            case CACHE:
                ntapi_cache_clear(ntapi_client_cache(clients[host][client]));
                break;
            case LOG:
                ntapi_client_set_log_flags(clients[host][client], (int)dice(2) ? NTAPI_LOG_ALL : NTAPI_LOG_NONE);
                break;
            case FORK:
                if (dice(8) == 0)
                    fork_for_a_moment();
                break;
            case SIGNAL:
                kill(getpid(), SIGUSR1);
                break;
            default:
                break;
            }
        }
        pause_for(dice(400));
    }
    return NULL;
}

/* The run. */

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/** Takes requests that have ended, and resumes those that a disturber has left suspended. */
static void collect(void) {
    for (int i = 0; i < LIVE; i++) {
        struct item *item = live[i];
        if (item == NULL)
            continue;
        double age = seconds_since(&item->begun);
        if (item->destroys > 0) {
            if (item->users > 0)
                continue;
            live[i] = NULL;
            check(item);
        } else if (age > PATIENCE) {
            complain(item, "held for ever");
            live[i] = NULL;
        } else if (age > 0.2) {
            ntapi_request_resume(item->request);
        }
    }
}

static bool any_left(void) {
    for (int i = 0; i < LIVE; i++)
        if (live[i] != NULL)
            return true;
    return false;
}

static void wait_a_moment(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&changed, &lock, &until);
}

static void run(double seconds) {
    pthread_t threads[DISTURBERS];
    for (uintptr_t i = 0; i < DISTURBERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, disturb, (void *)(i + 1)), 0);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    state = (unsigned)seed;
    unsigned number = 1;
    pthread_mutex_lock(&lock);
    while (any_left() || seconds_since(&start) < seconds) {
        bool begins = seconds_since(&start) < seconds && violations < 20;
        for (int i = 0; i < LIVE && begins; i++) {
            if (live[i] != NULL)
                continue;
            struct target *target = &targets[dice((unsigned)target_count)];
            /* Large files must not take most of the time. */
            if (target->file == 3 && dice(8) != 0)
                continue;
            live[i] = new_item(target, (int)dice(CLIENTS), ++number);
            pthread_mutex_unlock(&lock);
            ntapi_request_resume(live[i]->request);
            pthread_mutex_lock(&lock);
        }
        wait_a_moment();
        collect();
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < DISTURBERS; i++)
        pthread_join(threads[i], NULL);
}

static void choose(const char *list) {
    bool excludes = list != NULL && *list == '-';
    for (int i = 0; i < DISTURBANCES; i++) {
        bool is_named = list != NULL && strstr(list, names[i]) != NULL;
        disturbs[i] = list == NULL || is_named != excludes;
    }
}

static double seconds = 3;

static void outcomes_stay_the_same(void **context) {
    (void)context;
    assert_non_null(mkdtemp(folder));
    upload = malloc(UPLOAD_SIZE);
    for (size_t i = 0; i < UPLOAD_SIZE; i++)
        upload[i] = (char)('a' + (i * i / 7 + i) % 26);
    temporary_file(upload_path, upload, UPLOAD_SIZE);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = do_nothing}, NULL);
    ntapi_log_set_sink(swallow, NULL, NULL);
    for (int host = 0; host < HOSTS; host++)
        for (int kind = 0; kind < CLIENTS; kind++)
            clients[host][kind] = new_client(host, kind);
    bool all[DISTURBANCES];
    memcpy(all, disturbs, sizeof all);
    memset(disturbs, 0, sizeof disturbs);
    make_targets();
    memcpy(disturbs, all, sizeof all);
    assert_int_equal(violations, 0);
    run(seconds);
    for (int host = 0; host < HOSTS; host++)
        for (int kind = 0; kind < CLIENTS; kind++)
            ntapi_client_free(clients[host][kind]);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    unlink(upload_path);
    rmdir(folder);
    free(upload);
    printf("%d requests, %d violations, seed %llu\n", completed, violations, (unsigned long long)seed);
    assert_int_equal(violations, 0);
}

int main(int argc, char **argv) {
    if (argc > 1)
        seconds = strtod(argv[1], NULL);
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid();
    choose(argc > 3 ? argv[3] : NULL);
    only = argc > 4 ? argv[4] : NULL;
    printf("seed %llu, disturbances:", (unsigned long long)seed);
    for (int i = 0; i < DISTURBANCES; i++)
        if (disturbs[i])
            printf(" %s", names[i]);
    printf("\n");
    fflush(stdout);
    const struct CMUnitTest tests[] = {cmocka_unit_test(outcomes_stay_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
