/* A session has its own connections, which are closed with it. */
#include "session.h"
#include "support.h"

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

static int entries(const char *folder) {
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    int count = 0;
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count;
}

static int descriptors(void) {
    return entries("/proc/self/fd");
}

static int threads(void) {
    return entries("/proc/self/task");
}

/* Waits for a value to fall, because something ends soon on another thread. */
static void check_falls_to(int (*count)(void), int expected) {
    for (int i = 0; i < PATIENCE * 1000 && count() > expected; i++)
        poll(NULL, 0, 1);
    assert_true(count() <= expected);
}

static ntapi_client *new_session(void) {
    ntapi_configuration *configuration = ephemeral();
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    return client;
}

/** The server's number of the connection that a request uses. */
static int64_t connection_of(ntapi_client *client) {
    ntapi_json *seen = fetch(client, "echo", NULL);
    int64_t number = ntapi_json_int(seen, "connection", -1);
    ntapi_json_free(seen);
    assert_true(number >= 0);
    return number;
}

/** Does the same for a request on the network thread. */
static int64_t connection_of_begun(ntapi_client *client) {
    witness seen;
    witness_init(&seen);
    begin_on(NTAPI_THREAD_BACKGROUND, client, "echo", &seen);
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    int64_t number = ntapi_json_int(ntapi_response_json(seen.response), "connection", -1);
    assert_true(number >= 0);
    witness_free(&seen);
    return number;
}

static void sessions_share_no_connection(void **state) {
    (void)state;
    int64_t (*const ways[])(ntapi_client *) = {connection_of, connection_of_begun};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ntapi_client *plain = client_of("fault"), *other = client_of("fault");
        ntapi_client *first = new_session(), *second = new_session();
        int64_t of_first = ways[i](first), of_second = ways[i](second), of_plain = ways[i](plain);
        assert_true(of_first != of_second && of_first != of_plain && of_second != of_plain);
        assert_int_equal(ways[i](first), of_first);
        assert_int_equal(ways[i](second), of_second);
        /* Clients without a configuration share the process's connections. */
        assert_int_equal(ways[i](other), of_plain);
        ntapi_client_free(first);
        ntapi_client_free(second);
        ntapi_client_free(plain);
        ntapi_client_free(other);
    }
}

/** Makes a session open connections in every way. Keeps one of its responses. */
static ntapi_response *open_connections(ntapi_client *client) {
    enum { COUNT = 5 };
    witness seen[COUNT];
    for (int i = 0; i < COUNT; i++) {
        witness_init(&seen[i]);
        begin_on(NTAPI_THREAD_BACKGROUND, client, "late?ms=20", &seen[i]);
    }
    ntapi_response *response = ntapi_client_perform(client, "ok", NULL);
    assert_int_equal(code_of(response), NTAPI_CODE_NONE);
    for (int i = 0; i < COUNT; i++) {
        witness_wait(&seen[i], 1);
        assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
        witness_free(&seen[i]);
    }
    return response;
}

static ntapi_status (*const endings[])(ntapi_client *) = {
    ntapi_client_close,
    ntapi_client_finish_and_invalidate,
    ntapi_client_invalidate_and_cancel,
};

static void a_closed_session_closes_its_connections(void **state) {
    (void)state;
    for (int round = 0, before = 0; round < 4; round++) {
        ntapi_client *client = new_session();
        ntapi_response *response = open_connections(client);
        assert_true(descriptors() > before + 6);
        check_ok(endings[round % 3](client));
        assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
        /* The first round is also the library's first use, which opens descriptors that stay. */
        if (round == 0)
            before = descriptors();
        assert_int_equal(descriptors(), before);
        ntapi_response_free(response);
        ntapi_client_free(client);
        assert_int_equal(descriptors(), before);
    }
}

static void a_freed_session_closes_its_connections(void **state) {
    (void)state;
    int before = descriptors();
    ntapi_client *client = new_session();
    ntapi_response *response = open_connections(client);
    ntapi_client_free(client);
    ntapi_response_free(response);
    check_falls_to(descriptors, before);
}

static void what_runs_when_a_session_is_freed_completes(void **state) {
    (void)state;
    enum { COUNT = 8 };
    int before = descriptors();
    witness seen[COUNT];
    ntapi_client *client = new_session();
    for (int i = 0; i < COUNT; i++) {
        witness_init(&seen[i]);
        begin_on(NTAPI_THREAD_BACKGROUND, client, "late?ms=50", &seen[i]);
    }
    ntapi_client_free(client);
    for (int i = 0; i < COUNT; i++) {
        witness_wait(&seen[i], 1);
        witness_check_once(&seen[i]);
        assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
        witness_free(&seen[i]);
    }
    check_falls_to(descriptors, before);
}

/** Ended sessions leave nothing behind, and an idle session uses no thread. */
static void many_sessions_cost_little(void **state) {
    (void)state;
    enum { ALIVE = 100, PASSING = 300 };
    int before = descriptors(), threads_before = threads();
    ntapi_client *alive[ALIVE];
    for (int i = 0; i < ALIVE; i++) {
        alive[i] = new_session();
        ntapi_response_free(perform(alive[i], "ok", NULL));
    }
    assert_true(threads() <= threads_before + 1);
    for (int i = 0; i < PASSING; i++) {
        ntapi_client *client = new_session();
        if (i % 2 == 0)
            ntapi_response_free(perform(client, "ok", NULL));
        else
            connection_of_begun(client);
        ntapi_client_free(client);
    }
    for (int i = 0; i < ALIVE; i++)
        ntapi_client_free(alive[i]);
    check_falls_to(descriptors, before);
    check_falls_to(threads, threads_before);
}

/** A session with one connection sends its uploads one after the other. */
static void uploads_over_one_connection(void **state) {
    (void)state;
    enum { UPLOADS = 6, SIZE = 200000 };
    static char photo[SIZE];
    memset(photo, 'x', SIZE);
    char path[64];
    temporary_file(path, photo, SIZE);
    ntapi_configuration *configuration = ephemeral();
    set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, 1);
    ntapi_client *client = session_of("fault", configuration);
    ntapi_configuration_free(configuration);
    ntapi_args *args = background();
    check_ok(ntapi_args_file(args, path, NULL));
    witness seen[UPLOADS];
    for (int i = 0; i < UPLOADS; i++) {
        witness_init(&seen[i]);
        begin(client, "echo", args, &seen[i]);
    }
    for (int i = 0; i < UPLOADS; i++) {
        witness_wait(&seen[i], 1);
        assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
        const ntapi_json *echo = ntapi_response_json(seen[i].response);
        assert_int_equal(strlen(ntapi_json_string(echo, "body")), SIZE);
        int64_t first = ntapi_json_int(ntapi_response_json(seen[0].response), "connection", -1);
        assert_int_equal(ntapi_json_int(echo, "connection", -2), first);
    }
    for (int i = 0; i < UPLOADS; i++)
        witness_free(&seen[i]);
    ntapi_args_free(args);
    ntapi_client_free(client);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_session_closes_its_connections),
        cmocka_unit_test(a_freed_session_closes_its_connections),
        cmocka_unit_test(what_runs_when_a_session_is_freed_completes),
        cmocka_unit_test(sessions_share_no_connection),
        cmocka_unit_test(many_sessions_cost_little),
        cmocka_unit_test(uploads_over_one_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
