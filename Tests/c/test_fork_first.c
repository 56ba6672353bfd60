/* fork while other threads use a part of the library for the first time. The child can use that part, too.
 *
 * Each type, constant or table of the library is created only once. If a program forks while another thread creates
 * one, the child could get half of it. So each trial is a process of its own.
 *
 *   test_fork_first 200         so many trials; NTAPI_SEED repeats them
 *   test_fork_first trial SEED  one of them */
#include "child.h"
#include "session.h"
#include "support.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/** The fork comes at most this many seconds after the start of the threads. Their first requests take about as long. */
#define LATEST 0.006
/** A child and its parent need some milliseconds. After this many seconds they count as hanging. */
#define HANGS_AFTER 60

/* The scenes. Each one uses a part of the library, and returns whether it worked. */

static bool is_well(ntapi_response *response) {
    bool well = ntapi_response_status(response) == 200 && ntapi_response_error(response) == NULL;
    ntapi_response_free(response);
    return well;
}

static bool performs(void) {
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    bool well = is_well(ntapi_client_perform(client, "ok", NULL));
    ntapi_client_free(client);
    return well;
}

/** Begins a request whose handlers run on workers, waits for its end, and frees everything. */
static bool ends_well(ntapi_client *client, ntapi_request *request) {
    bool well = ntapi_request_resume(request) == NTAPI_STATUS_OK &&
                ntapi_request_wait(request, HANGS_AFTER) == NTAPI_STATUS_OK && is_well(ntapi_request_response(request));
    ntapi_request_free(request);
    ntapi_client_free(client);
    return well;
}

static bool begins(void) {
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    ntapi_args *args = background();
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    ntapi_args_free(args);
    return ends_well(client, request);
}

static bool downloads(void) {
    char path[] = "/tmp/ntapi-fork-XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return false;
    close(file);
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    ntapi_args *args = background();
    ntapi_args_download(args, path);
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    ntapi_args_free(args);
    bool well = ends_well(client, request);
    unlink(path);
    return well;
}

static bool caches(void) {
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server("fault"), configuration);
    ntapi_configuration_free(configuration);
    ntapi_args *args = background();
    ntapi_args_url(args, "h-Cache-Control", "max-age=100");
    char token[32];
    snprintf(token, sizeof token, "fork-%d", (int)getpid());
    ntapi_args_url(args, "token", token);
    bool well = is_well(ntapi_client_perform(client, "cached", args));
    ntapi_response *again = ntapi_client_perform(client, "cached", args);
    well = well && ntapi_response_get_source(again) == NTAPI_SOURCE_CACHE;
    well = is_well(again) && well;
    ntapi_args_free(args);
    ntapi_client_free(client);
    return well;
}

static void ignore_value(void *user_data, const ntapi_json *value) {
    (void)user_data, (void)value;
}

static bool streams(void) {
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    ntapi_args *args = background();
    ntapi_args_url_int(args, "count", 5);
    ntapi_request *request = ntapi_client_create_request(client, "lines", args);
    ntapi_args_free(args);
    ntapi_request_set_json_lines_handler(request, ignore_value, NULL, NULL);
    return ends_well(client, request);
}

static void pass_on(void *user_data, ntapi_interception *interception) {
    (void)user_data;
    ntapi_interception_proceed(interception);
    ntapi_interception_free(interception);
}

static bool intercepts(void) {
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    ntapi_interceptor *interceptor =
        ntapi_interceptor_create(NTAPI_INTERCEPTOR_SCOPE_ATTEMPT, pass_on, NULL, NULL, NULL);
    ntapi_args *args = background();
    ntapi_args_interceptor(args, interceptor);
    ntapi_interceptor_free(interceptor);
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    ntapi_args_free(args);
    return ends_well(client, request);
}

struct city {
    char *name;
    double temperature;
};

static const ntapi_field city_fields[] = {
    NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_END,
};

static bool decodes(void) {
    const char *text = "{\"name\": \"Z\\u00fcrich\", \"main\": {\"temp\": 8.5}, \"more\": [1, true, null]}";
    ntapi_error *error = NULL;
    ntapi_json *wrong = ntapi_json_parse("{", 1, &error);
    bool well = wrong == NULL && ntapi_error_code(error) == NTAPI_CODE_INVALID_JSON;
    ntapi_error_free(error);
    ntapi_json *json = ntapi_json_parse(text, strlen(text), NULL);
    struct city city = {0};
    ntapi_decoded *decoded = ntapi_json_decode(json, city_fields, &city, sizeof city, NULL);
    ntapi_json *again = ntapi_json_encode(city_fields, &city, sizeof city, NULL);
    well = well && decoded != NULL && city.temperature == 8.5 && ntapi_json_double(again, "main.temp", 0) == 8.5;
    ntapi_json_free(again);
    ntapi_decoded_free(decoded);
    ntapi_json_free(json);
    return well;
}

/** Uses parts that begin no request. */
static bool prepares(void) {
    ntapi_class *class_handle = ntapi_class_create("Forked", NULL);
    ntapi_client *client = ntapi_client_create(class_handle, "http://127.0.0.1:9");
    bool well = ntapi_defaults_set_number(ntapi_class_defaults(class_handle), "days", 3) == NTAPI_STATUS_OK;
    ntapi_json *days = ntapi_defaults_get(ntapi_client_defaults(client), "days");
    well = well && ntapi_json_int(days, "", 0) == 3;
    ntapi_json_free(days);
    const char *list = "[[\"url\", \"q\", \"London\"], [\"timeout\", 5], [\"json\", {\"a\": [1.5]}]]";
    ntapi_args *args = ntapi_args_create();
    well = well && ntapi_args_append_json(args, list, strlen(list), NULL) == NTAPI_STATUS_OK;
    ntapi_request *request = ntapi_client_create_request(client, "never", args);
    char *described = ntapi_describe(request);
    well = well && described != NULL && ntapi_request_curl_command(request) != NULL;
    well = well && ntapi_code_register("forked") != NULL;
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    well = well && ntapi_mailbox_fd(mailbox) >= 0;
    ntapi_mailbox_free(mailbox);
    ntapi_text_free(described);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_client_free(client);
    ntapi_class_free(class_handle);
    return well;
}

static bool stubs(void) {
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "cities");
    ntapi_stub_answer answer = {
        .size = sizeof answer, .status = 200, .body = "[\"Bern\"]", .content_type = "application/json"};
    bool well = ntapi_stub_rule_answer(rule, &answer, NULL) == NTAPI_STATUS_OK;
    ntapi_client *client = ntapi_client_create(NULL, "http://stub.test");
    well = well && ntapi_client_set_stub(client, stub) == NTAPI_STATUS_OK;
    well = is_well(ntapi_client_perform(client, "cities", NULL)) && well;
    ntapi_client_free(client);
    ntapi_stub_rule_free(rule);
    ntapi_stub_free(stub);
    return well;
}

typedef bool scene(void);

static scene *const scenes[] = {performs, begins, downloads, caches, streams, intercepts, decodes, prepares, stubs};
enum { SCENES = sizeof scenes / sizeof *scenes, THREADS = 3 };

/* One trial. */

struct trial {
    scene *chosen[THREADS];
    double pause;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *play(void *chosen) {
    return (*(scene **)chosen)() ? NULL : chosen;
}

/** Forks this thread after the pause. The child plays all scenes. Returns the exit status of the child. */
static int fork_later(const struct trial *trial) {
    /* A real wait would be longer than asked for, so this loops. */
    for (double end = now() + trial->pause; now() < end;)
        continue;
    double begun = now();
    pid_t child = fork();
    if (child < 0)
        return 101;
    if (child == 0) {
        alarm(HANGS_AFTER);
        for (int i = 0; i < THREADS; i++) {
            if (!trial->chosen[i]())
                _exit(10 + i);
        }
        _exit(performs() ? 0 : 10 + THREADS);
    }
    if (now() - begun > 1)
        fprintf(stderr, "the fork took %.3f s\n", now() - begun);
    return end_of_child(child);
}

static void *fork_on_thread(void *argument) {
    struct trial *trial = argument;
    return (void *)(intptr_t)fork_later(trial);
}

/** Plays scenes on threads, and forks from the main thread or from another thread. */
static int run_trial(unsigned seed) {
    alarm(2 * HANGS_AFTER);
    struct trial trial = {.pause = LATEST * (double)rand_r(&seed) / (double)RAND_MAX};
    bool on_thread = rand_r(&seed) % 2;
    pthread_t threads[THREADS], forking;
    for (int i = 0; i < THREADS; i++)
        trial.chosen[i] = scenes[(unsigned)rand_r(&seed) % SCENES];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, play, &trial.chosen[i]) != 0)
            return 102;
    }
    void *result = NULL;
    if (!on_thread)
        result = (void *)(intptr_t)fork_later(&trial);
    else if (pthread_create(&forking, NULL, fork_on_thread, &trial) != 0 || pthread_join(forking, &result) != 0)
        return 103;
    int status = (int)(intptr_t)result;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        if (result != NULL)
            status = 20 + i;
    }
    return status;
}

static int trials;

static void the_child_can_do_what_was_begun(void **state) {
    (void)state;
    const char *given = getenv("NTAPI_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL) ^ (unsigned)getpid();
    print_message("seed %u\n", seed);
    int failures = 0;
    for (int i = 0; i < trials; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", (unsigned)rand_r(&seed));
        const char *arguments[] = {"trial", number, NULL};
        int status = run_child(arguments, NULL);
        if (status != 0) {
            print_message("trial %s: status %d%s\n", number, status,
                          status == 1000 + SIGALRM ? ", the child or its parent hangs" : "");
            failures++;
        }
    }
    if (failures > 0)
        fail_msg("%d of %d trials failed", failures, trials);
}

int main(int argc, char **argv) {
    server("fault"); /* read before the children need it */
    if (argc == 3 && strcmp(argv[1], "trial") == 0)
        return run_trial((unsigned)strtoul(argv[2], NULL, 10));
    trials = argc > 1 ? atoi(argv[1]) : 200;
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_child_can_do_what_was_begun)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
