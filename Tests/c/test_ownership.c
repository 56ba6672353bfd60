/* Ownership across sections: destroy runs exactly once, even on failure; free may come in any order, twice, and in
 * callbacks. */
#include "support.h"

static int destroys;

static void count_destroy(void *user_data) {
    assert_ptr_equal(user_data, &destroys);
    __atomic_add_fetch(&destroys, 1, __ATOMIC_SEQ_CST);
}

static void ignore_response(void *user_data, const ntapi_response *response) {
    (void)user_data;
    (void)response;
}

static void ignore_progress(void *user_data, int64_t bytes, int64_t total) {
    (void)user_data;
    (void)bytes;
    (void)total;
}

static void ignore_log(void *user_data, ntapi_log level, const char *message) {
    (void)user_data;
    (void)level;
    (void)message;
}

static ptrdiff_t read_nothing(void *user_data, void *buffer, size_t capacity) {
    (void)user_data;
    (void)buffer;
    (void)capacity;
    return 0;
}

static ntapi_json *provide_nothing(void *user_data, const char *key) {
    (void)user_data;
    (void)key;
    return NULL;
}

static void destroy_runs_once_when_a_registration_fails(void **state) {
    (void)state;
    destroys = 0;
    assert_null(ntapi_client_begin(NULL, "", NULL, ignore_response, &destroys, count_destroy));
    assert_int_equal(destroys, 1);
    check_invalid(ntapi_request_set_handler(NULL, ignore_response, &destroys, count_destroy));
    assert_int_equal(destroys, 2);
    check_invalid(ntapi_request_set_upload_progress(NULL, ignore_progress, &destroys, count_destroy));
    assert_int_equal(destroys, 3);
    check_invalid(ntapi_request_set_download_progress(NULL, ignore_progress, &destroys, count_destroy));
    assert_int_equal(destroys, 4);
    check_invalid(ntapi_defaults_set_provider(NULL, "x", provide_nothing, &destroys, count_destroy));
    assert_int_equal(destroys, 5);
    check_invalid(ntapi_args_stream(NULL, read_nothing, NULL, 0, NULL, &destroys, count_destroy));
    assert_int_equal(destroys, 6);
    assert_null(ntapi_executor_create(NULL, &destroys, count_destroy));
    assert_int_equal(destroys, 7);
    ntapi_log_set_sink(NULL, &destroys, count_destroy);
    assert_int_equal(destroys, 8);
    ntapi_log_set_sink(ignore_log, &destroys, count_destroy);
    assert_int_equal(destroys, 8);
    ntapi_log_set_sink(NULL, NULL, NULL);
    assert_int_equal(destroys, 9);
    const ntapi_hooks hooks = {.size = sizeof hooks};
    check_invalid(ntapi_client_set_hooks(NULL, &hooks, &destroys, count_destroy));
    assert_int_equal(destroys, 10);
}

static void destroy_may_be_missing_and_so_may_the_handler(void **state) {
    (void)state;
    destroys = 0;
    ntapi_client *client = client_of("fault");
    ntapi_request *request = ntapi_client_begin(client, "ok", NULL, NULL, &destroys, count_destroy);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    assert_int_equal(destroys, 1);
    request = ntapi_client_begin(client, "ok", NULL, ignore_response, NULL, NULL);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    ntapi_client_free(client);
}

/** One handle of each kind. A request connects them all. */
enum { CLASS, CONFIGURATION, CLIENT, ARGS, MAILBOX, EXECUTOR, REQUEST, KINDS };
struct world {
    ntapi_class *class;
    ntapi_configuration *configuration;
    ntapi_client *client;
    ntapi_args *args;
    ntapi_mailbox *mailbox;
    ntapi_executor *executor;
    ntapi_request *request;
    witness seen;
};

static void run_at_once(void *user_data, ntapi_job *job) {
    (void)user_data;
    ntapi_job_run(job);
}

static void world_init(struct world *world, const char *command) {
    witness_init(&world->seen);
    world->class = ntapi_class_create("World", NULL);
    check_ok(ntapi_defaults_set_string(ntapi_class_defaults(world->class), NTAPI_DEFAULT_BASE_URL, server("fault")));
    world->configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    world->client = ntapi_client_create_with_configuration(world->class, NULL, world->configuration);
    const ntapi_hooks hooks = {.size = sizeof hooks};
    check_ok(ntapi_client_set_hooks(world->client, &hooks, &destroys, count_destroy));
    world->mailbox = ntapi_mailbox_create();
    world->executor = ntapi_executor_create(run_at_once, &destroys, count_destroy);
    world->args = ntapi_args_create();
    check_ok(ntapi_args_executor(world->args, NTAPI_HANDLER_RESPONSE, world->executor));
    check_ok(ntapi_args_mailbox(world->args, NTAPI_HANDLER_DOWNLOAD_PROGRESS, world->mailbox));
    world->request = ntapi_client_create_request(world->client, command, world->args);
    check_ok(ntapi_request_set_handler(world->request, witness_response, &world->seen, witness_destroy));
}

static void world_free(struct world *world, int kind) {
    switch (kind) {
    case CLASS:
        ntapi_class_free(world->class);
        break;
    case CONFIGURATION:
        ntapi_configuration_free(world->configuration);
        break;
    case CLIENT:
        ntapi_client_free(world->client);
        break;
    case ARGS:
        ntapi_args_free(world->args);
        break;
    case MAILBOX:
        ntapi_mailbox_free(world->mailbox);
        break;
    case EXECUTOR:
        ntapi_executor_free(world->executor);
        break;
    default:
        ntapi_request_free(world->request);
    }
}

static void handles_are_freed_in_any_order(void **state) {
    (void)state;
    /* Each kind is freed first in one round and last in another. Each handle is freed twice; the second time has no
     * effect. */
    for (int first = 0; first < KINDS; first++)
        for (int step = 1; step < KINDS; step++) {
            struct world world;
            destroys = 0;
            world_init(&world, "ok");
            check_ok(ntapi_request_resume(world.request));
            for (int i = 0; i < KINDS; i++) {
                int kind = (first + i * step) % KINDS; /* KINDS is prime: a permutation */
                world_free(&world, kind);
                world_free(&world, kind);
            }
            witness_wait(&world.seen, 1);
            witness_check_once(&world.seen);
            assert_int_equal(witness_code(&world.seen), NTAPI_CODE_NONE);
            assert_int_equal(ntapi_drain(PATIENCE), 0);
            witness_free(&world.seen);
        }
}

static void free_everything(void *user_data, const ntapi_response *response) {
    struct world *world = user_data;
    for (int kind = 0; kind < KINDS; kind++)
        world_free(world, kind);
    witness_response(&world->seen, response); /* it is borrowed for the whole call, whatever was freed */
}

static void destroy_world(void *user_data) {
    witness_destroy(&((struct world *)user_data)->seen);
}

static void handlers_may_free_everything(void **state) {
    (void)state;
    for (int thread = NTAPI_THREAD_MAIN; thread <= NTAPI_THREAD_CURRENT; thread++) {
        struct world world;
        destroys = 0;
        world_init(&world, "");
        ntapi_request_free(world.request);
        check_ok(ntapi_args_thread(world.args, NTAPI_HANDLER_ALL, (ntapi_thread)thread));
        world.request = ntapi_client_create_request(world.client, "ok", world.args);
        check_ok(ntapi_request_set_handler(world.request, free_everything, &world, destroy_world));
        check_ok(ntapi_request_resume(world.request));
        /* The request that was never resumed has already called destroy once. */
        assert_int_equal(ntapi_drain(PATIENCE), 0);
        witness_wait(&world.seen, 2);
        assert_int_equal(world.seen.responses, 1);
        assert_int_equal(witness_code(&world.seen), NTAPI_CODE_NONE);
        witness_free(&world.seen);
    }
}

static void free_in_destroy(void *user_data) {
    struct world *world = user_data;
    for (int kind = 0; kind < KINDS; kind++)
        world_free(world, kind);
    witness_destroy(&world->seen);
}

static void destroy_may_free_everything(void **state) {
    (void)state;
    struct world world;
    destroys = 0;
    world_init(&world, "ok");
    check_ok(ntapi_request_set_handler(world.request, ignore_response, &world, free_in_destroy));
    assert_int_equal(world.seen.destroys, 1); /* from the handler that was replaced */
    check_ok(ntapi_request_resume(world.request));
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_wait(&world.seen, 2);
    witness_free(&world.seen);
}

static void freed_handles_answer(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    ntapi_args_free(args);
    check_invalid(ntapi_args_url(args, "a", "b"));
    assert_int_equal(ntapi_args_count(args), 0);
    ntapi_args_free(args);

    ntapi_class *class = ntapi_class_create("Gone", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    ntapi_class_free(class);
    check_invalid(ntapi_defaults_set_bool(defaults, "x", true));
    assert_null(ntapi_class_defaults(class));

    ntapi_client *client = client_of("fault");
    ntapi_client_free(client);
    check_error(ntapi_client_perform(client, "ok", NULL), NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    assert_null(ntapi_client_begin(client, "ok", NULL, ignore_response, NULL, NULL));
}

static void handles_of_another_type_are_refused_and_kept(void **state) {
    (void)state;
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "a", "b"));
    ntapi_client_free((ntapi_client *)args);
    ntapi_json_free((ntapi_json *)args);
    ntapi_response_free((ntapi_response *)args);
    ntapi_request_free((ntapi_request *)args);
    assert_int_equal(ntapi_args_count(args), 1);
    check_error(ntapi_client_perform((ntapi_client *)args, "ok", NULL), NTAPI_ERROR_DOMAIN_REQUEST,
                NTAPI_CODE_INVALID_REQUEST);
    ntapi_args_free(args);
}

static void *free_at_once(void *handle) {
    ntapi_args_free(handle);
    return NULL;
}

static void freeing_from_two_threads_frees_once(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        ntapi_args *args = ntapi_args_create();
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_at_once, args), 0);
        assert_int_equal(ntapi_args_count(args), 0);
        ntapi_args_free(args);
        pthread_join(thread, NULL);
    }
}

/* Handles that some threads use, while others free them and put new ones in their places. */
enum { SHARED = 4, USERS = 4, ROUNDS = 20000 };
static ntapi_args *shared[SHARED];

static ntapi_args *list_with_destroy(void) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_stream(args, read_nothing, NULL, 0, NULL, &destroys, count_destroy));
    return args;
}

static void *use_and_replace(void *argument) {
    unsigned random = (unsigned)(uintptr_t)argument;
    size_t *made = calloc(1, sizeof *made);
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1103515245u + 12345u;
        ntapi_args **place = &shared[(random >> 16) % SHARED];
        ntapi_args *args = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        switch ((random >> 20) % 8) {
        case 0:
            ntapi_args_free(__atomic_exchange_n(place, list_with_destroy(), __ATOMIC_ACQ_REL));
            ++*made;
            break;
        case 1: /* Another thread may free it at the same moment: it must be freed once. */
            ntapi_args_free(args);
            break;
        case 2:
            ntapi_text_free(ntapi_describe(args));
            break;
        case 3:
            ntapi_request_free((ntapi_request *)args);
            break;
        default:
            /* This is a list or NULL. It must never be a list that another thread has only begun to make. */
            assert_true(ntapi_args_count(args) <= 1);
        }
    }
    return made;
}

static void handles_are_used_while_others_free_them(void **state) {
    (void)state;
    destroys = 0;
    for (int i = 0; i < SHARED; i++) {
        shared[i] = list_with_destroy();
    }
    pthread_t threads[USERS];
    for (uintptr_t i = 0; i < USERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_replace, (void *)(i * 7919 + 1)), 0);
    }
    size_t made = SHARED;
    for (int i = 0; i < USERS; i++) {
        void *count = NULL;
        pthread_join(threads[i], &count);
        made += *(size_t *)count;
        free(count);
    }
    for (int i = 0; i < SHARED; i++) {
        ntapi_args_free(shared[i]);
    }
    assert_int_equal(destroys, made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroy_runs_once_when_a_registration_fails),
        cmocka_unit_test(destroy_may_be_missing_and_so_may_the_handler),
        cmocka_unit_test(handles_are_freed_in_any_order),
        cmocka_unit_test(handlers_may_free_everything),
        cmocka_unit_test(destroy_may_free_everything),
        cmocka_unit_test(freed_handles_answer),
        cmocka_unit_test(handles_of_another_type_are_refused_and_kept),
        cmocka_unit_test(freeing_from_two_threads_frees_once),
        cmocka_unit_test(handles_are_used_while_others_free_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
