/* Rate limits that limiters share through a store. */
#include <pthread.h>
#include <semaphore.h>

#include "ntapi_testing.h"
#include "support.h"

/** A store whose script is answered by another thread, or inside of the call. */
typedef struct tale {
    const char *problem; /* why the store fails; NULL means that it replies */
    bool is_elsewhere;   /* whether another thread answers */
    const char *reply[2];
    size_t count; /* the number of texts in the reply */
    pthread_t thread;
    ntapi_store_call *call;
    int asked;
    char script[40];
    char key[40];
    int64_t numbers[7];
    sem_t ended;
} tale;

static void answer(tale *told, ntapi_store_call *call) {
    if (told->problem != NULL)
        check_ok(ntapi_store_call_fail(call, told->problem));
    else
        check_ok(ntapi_store_call_reply(call, told->reply, told->count));
    assert_int_equal(ntapi_store_call_reply(call, told->reply, 2), NTAPI_STATUS_INVALID_ARGUMENT);
    assert_int_equal(ntapi_store_call_fail(call, NULL), NTAPI_STATUS_INVALID_ARGUMENT);
}

static void *answer_here(void *told) {
    answer(told, ((tale *)told)->call);
    return NULL;
}

static void run(void *user_data, const char *script, const char *lua, const char *const *keys, size_t key_count,
                const char *const *arguments, size_t argument_count, ntapi_store_call *call) {
    tale *told = user_data;
    assert_int_equal(key_count, 3);
    assert_int_equal(argument_count, 7);
    assert_non_null(strstr(lua, "redis.call('TIME')"));
    snprintf(told->script, sizeof told->script, "%s", script);
    snprintf(told->key, sizeof told->key, "%s", keys[0]);
    for (size_t i = 0; i < argument_count; i++)
        told->numbers[i] = strtoll(arguments[i], NULL, 10);
    told->asked++;
    told->call = call;
    if (told->is_elsewhere)
        assert_int_equal(pthread_create(&told->thread, NULL, answer_here, told), 0);
    else
        answer(told, call);
}

static void end(void *user_data) {
    sem_post(&((tale *)user_data)->ended);
}

static ntapi_client *open_client(ntapi_rate_limiter *limiter, ntapi_manual_clock *clock) {
    ntapi_client *client = stubbed_client();
    check_ok(ntapi_client_set_clock(client, clock));
    check_ok(ntapi_client_set_rate_limiter(client, limiter));
    return client;
}

static ntapi_rate_limiter *limiter_of(ntapi_store *store, ntapi_store_substitute substitute) {
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 10;
    const ntapi_rate_limiter_options options = {.size = sizeof options,
                                                .limits = &limit,
                                                .limit_count = 1,
                                                .store = store,
                                                .key = "partner",
                                                .on_failure = substitute};
    ntapi_error *error = NULL;
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, &error);
    assert_null(error);
    return limiter;
}

static ntapi_code perform_code(ntapi_client *client) {
    ntapi_response *response = ntapi_client_perform(client, "x", NULL);
    ntapi_code code = code_of(response);
    ntapi_response_free(response);
    return code;
}

static void a_store_gets_the_script_and_answers(void **state) {
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        tale told = {.is_elsewhere = elsewhere, .reply = {"1", "0"}, .count = 2};
        assert_int_equal(sem_init(&told.ended, 0, 0), 0);
        const ntapi_store_functions functions = {.size = sizeof functions, .run = run};
        ntapi_store *store = ntapi_store_create(&functions, &told, end, NULL);
        ntapi_rate_limiter *limiter = limiter_of(store, NTAPI_STORE_SUBSTITUTE_CLOSED);
        ntapi_store_free(store);
        ntapi_client *client = open_client(limiter, NULL);
        ntapi_rate_limiter_free(limiter);
        assert_int_equal(perform_code(client), NTAPI_CODE_NONE);
        if (elsewhere)
            pthread_join(told.thread, NULL);
        assert_string_equal(told.script, "ntapi.permits.1");
        assert_string_equal(told.key, "ntapi:1:{partner}:limit");
        const int64_t expected[] = {told.numbers[0], 1, 0, 0, 0, 100000, 1};
        assert_memory_equal(told.numbers, expected, sizeof expected);
        assert_int_equal(told.asked, 1);
        assert_int_equal(sem_trywait(&told.ended), -1);
        ntapi_client_free(client);
        sem_wait(&told.ended);
        sem_destroy(&told.ended);
    }
}

static void permits_of_a_batch_serve_later_requests(void **state) {
    (void)state;
    tale told = {.reply = {"3", "0"}, .count = 2};
    assert_int_equal(sem_init(&told.ended, 0, 0), 0);
    const ntapi_store_functions functions = {.size = sizeof functions, .run = run};
    ntapi_store *store = ntapi_store_create(&functions, &told, end, NULL);
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 10;
    limit.burst = 3;
    const ntapi_rate_limiter_options options = {
        .size = sizeof options, .limits = &limit, .limit_count = 1, .store = store, .key = "partner", .batch = 3};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    ntapi_store_free(store);
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    ntapi_client *client = open_client(limiter, clock);
    ntapi_rate_limiter_free(limiter);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(perform_code(client), NTAPI_CODE_NONE);
        assert_int_equal(told.asked, 1 + i / 3);
        assert_int_equal(told.numbers[2], 2);
    }
    ntapi_client_free(client);
    ntapi_manual_clock_free(clock);
    sem_wait(&told.ended);
    sem_destroy(&told.ended);
}

static char line[200];
static sem_t written;

static void keep_line(void *user_data, ntapi_log level, const char *message) {
    (void)user_data;
    assert_int_equal(level, NTAPI_LOG_WARN);
    snprintf(line, sizeof line, "%s", message);
    sem_post(&written);
}

static void a_store_that_fails_is_told_by_request_and_log(void **state) {
    (void)state;
    const struct {
        const char *problem;
        size_t count;
        ntapi_store_substitute substitute;
        ntapi_code code;
        const char *line;
    } rows[] = {
        {"no route", 0, NTAPI_STORE_SUBSTITUTE_CLOSED, NTAPI_CODE_STORE_FAILED, "requests fail: no route"},
        {NULL, 1, NTAPI_STORE_SUBSTITUTE_CLOSED, NTAPI_CODE_STORE_FAILED,
         "requests fail: its reply is not two numbers: [x]"},
        {"no route", 0, NTAPI_STORE_SUBSTITUTE_OPEN, NTAPI_CODE_NONE, "requests start without a limit: no route"},
        {"no route", 0, NTAPI_STORE_SUBSTITUTE_LOCAL, NTAPI_CODE_NONE, "this process keeps the limit alone: no route"},
        {"no route", 0, NTAPI_STORE_SUBSTITUTE_NONE, NTAPI_CODE_NONE, "this process keeps the limit alone: no route"},
    };
    assert_int_equal(sem_init(&written, 0, 0), 0);
    ntapi_log_set_sink(keep_line, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tale told = {.problem = rows[i].problem, .reply = {"x"}, .count = rows[i].count};
        assert_int_equal(sem_init(&told.ended, 0, 0), 0);
        const ntapi_store_functions functions = {.size = sizeof functions, .run = run};
        ntapi_store *store = ntapi_store_create(&functions, &told, end, NULL);
        ntapi_rate_limiter *limiter = limiter_of(store, rows[i].substitute);
        ntapi_store_free(store);
        ntapi_client *client = open_client(limiter, NULL);
        ntapi_rate_limiter_free(limiter);
        assert_int_equal(perform_code(client), rows[i].code);
        ntapi_client_free(client);
        sem_wait(&told.ended);
        sem_destroy(&told.ended);
        sem_wait(&written);
        const char *expected = "the rate limit \"partner\": the store has failed, so ";
        assert_memory_equal(line, expected, strlen(expected));
        assert_string_equal(line + strlen(expected), rows[i].line);
    }
    ntapi_log_set_sink(NULL, NULL, NULL);
    sem_destroy(&written);
}

static void count(void *user_data, const ntapi_response *response) {
    assert_null(ntapi_response_error(response));
    ++*(int *)user_data;
}

static void limiters_share_a_store_in_memory(void **state) {
    (void)state;
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    ntapi_store *store = ntapi_memory_store_create(clock);
    ntapi_rate_limiter *limiters[2];
    ntapi_client *clients[2];
    ntapi_request *requests[2];
    int done = 0;
    for (int i = 0; i < 2; i++) {
        limiters[i] = limiter_of(store, NTAPI_STORE_SUBSTITUTE_CLOSED);
        clients[i] = open_client(limiters[i], clock);
    }
    assert_int_equal(perform_code(clients[0]), NTAPI_CODE_NONE);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_CURRENT));
    for (int i = 0; i < 2; i++) {
        requests[i] = ntapi_client_begin(clients[i], "x", args, count, &done, NULL);
        check_ok(ntapi_manual_clock_wait_for_sleepers(clock, (size_t)i + 1, PATIENCE));
    }
    ntapi_args_free(args);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(done, i);
        assert_int_equal(ntapi_rate_limiter_waiting(limiters[i]), 1);
        check_ok(ntapi_manual_clock_advance(clock, 0.1));
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        assert_int_equal(ntapi_rate_limiter_waiting(limiters[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        ntapi_request_free(requests[i]);
        ntapi_client_free(clients[i]);
        ntapi_rate_limiter_free(limiters[i]);
    }
    ntapi_store_free(store);
    ntapi_manual_clock_free(clock);
    assert_int_equal(done, 2);
}

static void refused(const ntapi_rate_limiter_options *options, const char *why) {
    ntapi_error *error = NULL;
    assert_null(ntapi_rate_limiter_create_with(options, &error));
    assert_non_null(error);
    if (strstr(ntapi_error_message(error), why) == NULL)
        fail_msg("%s is not in: %s", why, ntapi_error_message(error));
    ntapi_error_free(error);
    assert_null(ntapi_rate_limiter_create_with(options, NULL));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    tale told = {0};
    assert_int_equal(sem_init(&told.ended, 0, 0), 0);
    ntapi_store_functions functions = {.size = sizeof functions};
    assert_null(ntapi_store_create(NULL, &told, end, NULL));
    assert_null(ntapi_store_create(&functions, &told, end, NULL));
    functions = (ntapi_store_functions){.run = run};
    assert_null(ntapi_store_create(&functions, &told, end, NULL));
    for (int i = 0; i < 3; i++)
        assert_int_equal(sem_trywait(&told.ended), 0);
    sem_destroy(&told.ended);
    assert_null(ntapi_memory_store_create((ntapi_manual_clock *)&told));

    ntapi_store *store = ntapi_memory_store_create(NULL);
    ntapi_rate_limit limits[] = {NTAPI_RATE_LIMIT_INIT, NTAPI_RATE_LIMIT_INIT};
    limits[0].requests = limits[1].requests = 10;
    const ntapi_rate_limiter_options right = {.size = sizeof right, .limits = limits, .limit_count = 2};
    ntapi_rate_limiter_options wrong = right;
    refused(NULL, "options is NULL");
    wrong.size = 0;
    refused(&wrong, "the size of ntapi_rate_limiter_options is 0");
    wrong = right, wrong.limits = NULL;
    refused(&wrong, "limits is NULL, but limit_count is 2");
    wrong = right, wrong.limit_count = 0;
    refused(&wrong, "there is none");
    wrong = right, wrong.key = "a";
    refused(&wrong, "there is a key, but no store");
    wrong = right, wrong.store = store;
    refused(&wrong, "key is NULL or not UTF-8");
    wrong = right, wrong.store = (ntapi_store *)&told;
    refused(&wrong, "a store");
    wrong = right, wrong.store = store, wrong.key = "{";
    refused(&wrong, "must have 1 to 200 bytes");
    wrong = right, wrong.store = store, wrong.key = "a", wrong.store_timeout = -1;
    refused(&wrong, "timeout is -1");
    wrong = right, wrong.store = store, wrong.key = "a", wrong.on_failure = (ntapi_store_substitute)9;
    refused(&wrong, "on_failure is no ntapi_store_substitute");
    wrong = right, wrong.store = store, wrong.key = "a", wrong.batch = -1;
    refused(&wrong, "batch is -1");
    wrong.batch = 2;
    refused(&wrong, "batch is 2: it must be at most the smallest burst");
    limits[1].burst = 0;
    refused(&right, "burst is 0");
    limits[1].size = 0;
    refused(&right, "the size of ntapi_rate_limit is 0");
    ntapi_store_free(store);
}

static void several_limits_at_once(void **state) {
    (void)state;
    ntapi_manual_clock *clock = ntapi_manual_clock_create(-1);
    ntapi_rate_limit limits[] = {NTAPI_RATE_LIMIT_INIT, NTAPI_RATE_LIMIT_INIT};
    limits[0].requests = 10;
    limits[1].requests = 1, limits[1].seconds = 60;
    const ntapi_rate_limiter_options options = {.size = sizeof options, .limits = limits, .limit_count = 2};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    ntapi_client *client = open_client(limiter, clock);
    assert_int_equal(perform_code(client), NTAPI_CODE_NONE);
    int done = 0;
    ntapi_request *request = ntapi_client_begin(client, "x", NULL, count, &done, NULL);
    check_ok(ntapi_manual_clock_wait_for_sleepers(clock, 1, PATIENCE));
    assert_true(ntapi_manual_clock_next_wake(clock) == 60);
    check_ok(ntapi_manual_clock_advance(clock, 60));
    check_ok(ntapi_request_wait(request, PATIENCE));
    assert_int_equal(done, 1);
    ntapi_request_free(request);
    ntapi_client_free(client);
    ntapi_rate_limiter_free(limiter);
    ntapi_manual_clock_free(clock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_gets_the_script_and_answers),
        cmocka_unit_test(permits_of_a_batch_serve_later_requests),
        cmocka_unit_test(a_store_that_fails_is_told_by_request_and_log),
        cmocka_unit_test(limiters_share_a_store_in_memory),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(several_limits_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
