/* The cache of a session: which responses come from it, which are shared, and where they are stored. */
#include <stdint.h>
#include <unistd.h>

#include "files.h"
#include "support.h"

/** A session of the fault server with the caller's cache. The cache may be NULL. */
static ntapi_client *session(ntapi_cache *cache) {
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    check_ok(ntapi_defaults_set_string(ntapi_configuration_defaults(configuration), NTAPI_DEFAULT_PROXY, ""));
    check_ok(ntapi_configuration_set_cache(configuration, cache));
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server("fault"), configuration);
    ntapi_configuration_free(configuration);
    return client;
}

/** The path of a folder that does not exist yet. */
static void new_folder(char path[static 256]) {
    static int count;
    snprintf(path, 256, "%s/c-cache-%d-%d", server("tmp"), (int)getpid(), count++);
}

/** A unique URL of a page with these parameters. */
static void new_page(char command[static 256], const char *parameters) {
    static int count;
    snprintf(command, 256, "cached?token=c-cache-%d-%d&%s", (int)getpid(), count++, parameters);
}

static ntapi_response *get(ntapi_client *client, const char *page, ntapi_cache_policy policy) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_cache_policy(args, policy));
    return perform(client, page, args);
}

/** Where the response for a page comes from under a policy. */
static ntapi_source source(ntapi_client *client, const char *page, ntapi_cache_policy policy) {
    ntapi_response *response = get(client, page, policy);
    assert_null(ntapi_response_error(response));
    ntapi_source found = ntapi_response_get_source(response);
    assert_int_equal(found != NTAPI_SOURCE_NETWORK, ntapi_headers_get(ntapi_response_headers(response), "Age") != NULL);
    ntapi_response_free(response);
    return found;
}

static void fresh_is_not_asked_for_again(void **state) {
    (void)state;
    char page[256];
    new_page(page, "h-Cache-Control=max-age=100&etag=x");
    ntapi_client *client = session(NULL);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_CACHE);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_RELOAD_REVALIDATING), NTAPI_SOURCE_VALIDATED_CACHE);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD), NTAPI_SOURCE_CACHE);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE), NTAPI_SOURCE_NETWORK);
    ntapi_client_free(client);
}

static void no_store_neither_reads_nor_writes(void **state) {
    (void)state;
    char page[256];
    new_page(page, "h-Cache-Control=max-age=100");
    ntapi_client *client = session(NULL);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_NO_STORE), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_NO_STORE), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_CACHE);
    ntapi_client_free(client);
}

/** Requests a page with up to two headers. */
static ntapi_response *get_with(ntapi_client *client, const char *page, const char *const headers[static 4]) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, ""));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    for (int index = 0; index < 4 && headers[index]; index += 2) {
        check_ok(ntapi_args_header(args, headers[index], headers[index + 1]));
    }
    return perform(client, page, args);
}

static void conditions_and_ranges_are_answered(void **state) {
    (void)state;
    const struct {
        const char *headers[4];
        ntapi_source source;
        int status, first, count;
    } cases[] = {
        {{"If-None-Match", "W/\"x1\""}, NTAPI_SOURCE_CACHE, 304, 0, 0},
        {{"If-None-Match", "\"x2\""}, NTAPI_SOURCE_CACHE, 200, 0, -1},
        {{"Range", "bytes=2-5"}, NTAPI_SOURCE_CACHE, 206, 2, 4},
        {{"Range", "bytes=2-5", "If-Range", "\"x1\""}, NTAPI_SOURCE_CACHE, 206, 2, 4},
        {{"Range", "bytes=2-5", "If-Range", "\"x2\""}, NTAPI_SOURCE_CACHE, 200, 0, -1},
        {{"Range", "bytes=100000-"}, NTAPI_SOURCE_CACHE, 416, 0, 0},
        {{"Range", "bytes=0-1,4-5"}, NTAPI_SOURCE_NETWORK, 200, 0, -2},
        {{"If-Match", "\"x1\""}, NTAPI_SOURCE_NETWORK, 200, 0, -2},
    };
    char page[256], range[64];
    new_page(page, "h-Cache-Control=max-age=100&etag=x");
    ntapi_client *client = session(NULL);
    ntapi_response *whole = get(client, page, NTAPI_CACHE_POLICY_PROTOCOL);
    size_t size = 0, count = 0;
    const char *all = ntapi_response_data(whole, &size);
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        ntapi_response *response = get_with(client, page, cases[index].headers);
        assert_null(ntapi_response_error(response));
        assert_int_equal(ntapi_response_status(response), cases[index].status);
        assert_int_equal(ntapi_response_get_source(response), cases[index].source);
        const char *data = ntapi_response_data(response, &count);
        if (cases[index].count != -2) { /* the server's response counts other requests */
            assert_int_equal(count, cases[index].count < 0 ? size : (size_t)cases[index].count);
            if (count > 0)
                assert_memory_equal(data, all + cases[index].first, count);
        }
        if (cases[index].status == 206) {
            snprintf(range, sizeof range, "bytes 2-5/%zu", size);
            assert_string_equal(ntapi_headers_get(ntapi_response_headers(response), "Content-Range"), range);
        }
        ntapi_response_free(response);
    }
    ntapi_response_free(whole);
    ntapi_client_free(client);
}

static void nothing_to_answer_with_is_an_error(void **state) {
    (void)state;
    char page[256];
    new_page(page, "");
    ntapi_client *client = session(NULL);
    ntapi_response *response = get(client, page, NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD);
    assert_int_equal(ntapi_response_status(response), 504);
    check_error(response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_NOT_CACHED);
    /* The status does not come from the server. */
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_cache_policy(args, NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD));
    check_ok(ntapi_args_option(args, NTAPI_OPTION_IGNORE_HTTP_ERRORS, ""));
    check_error(perform(client, page, args), NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_NOT_CACHED);
    ntapi_client_free(client);
}

static void a_cache_is_shared_and_emptied(void **state) {
    (void)state;
    char page[256], url[512];
    new_page(page, "h-Cache-Control=max-age=100");
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 1 << 20, NULL);
    assert_int_equal(ntapi_cache_capacity(cache, NTAPI_STORAGE_MEMORY), 1 << 20);
    assert_int_equal(ntapi_cache_capacity(cache, NTAPI_STORAGE_DISK), 0);
    ntapi_client *one = session(cache), *other = session(cache), *alone = session(NULL);
    assert_int_equal(source(one, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(other, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_CACHE);
    assert_int_equal(source(alone, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    assert_true(ntapi_cache_usage(cache, NTAPI_STORAGE_MEMORY) > 0);
    assert_int_equal(ntapi_cache_usage(ntapi_client_cache(other), NTAPI_STORAGE_MEMORY),
                     ntapi_cache_usage(cache, NTAPI_STORAGE_MEMORY));
    check_invalid(ntapi_cache_remove(cache, "nonsense"));
    ntapi_response *response = get(one, page, NTAPI_CACHE_POLICY_PROTOCOL);
    snprintf(url, sizeof url, "%s", ntapi_response_url(response));
    ntapi_response_free(response);
    check_ok(ntapi_cache_remove(cache, url));
    assert_int_equal(ntapi_cache_usage(cache, NTAPI_STORAGE_MEMORY), 0);
    assert_int_equal(source(one, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    check_ok(ntapi_cache_clear(ntapi_client_cache(one)));
    assert_int_equal(ntapi_cache_usage(cache, NTAPI_STORAGE_MEMORY), 0);
    /* The cache lives as long as it has an owner. */
    ntapi_cache_free(cache);
    assert_int_equal(source(one, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_NETWORK);
    assert_int_equal(source(other, page, NTAPI_CACHE_POLICY_PROTOCOL), NTAPI_SOURCE_CACHE);
    ntapi_client_free(one);
    ntapi_client_free(other);
    ntapi_client_free(alone);
}

static void save_says_when_it_failed(void **state) {
    (void)state;
    char page[256], folder[256], file[300];
    new_page(page, "h-Cache-Control=max-age=100");
    new_folder(folder);
    snprintf(file, sizeof file, "%s/below", folder);
    FILE *obstacle = fopen(folder, "w"); /* a file with the folder's name */
    assert_non_null(obstacle);
    fclose(obstacle);
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 1 << 20, file);
    ntapi_client *client = session(cache);
    source(client, page, NTAPI_CACHE_POLICY_PROTOCOL);
    ntapi_error *error = NULL;
    check_too_late(ntapi_cache_save(cache, &error));
    assert_non_null(strstr(ntapi_error_message(error), "not written"));
    ntapi_error_free(error);
    check_ok(ntapi_cache_save(cache, NULL)); /* there is nothing new to save */
    ntapi_cache_free(cache);
    check_invalid(ntapi_cache_save(NULL, NULL));
    ntapi_client_free(client);
}

static void on_disk_it_outlives_its_memory(void **state) {
    (void)state;
    char page[256], folder[256];
    new_page(page, "h-Cache-Control=max-age=100");
    new_folder(folder);
    for (int round = 0; round < 2; round++) {
        ntapi_cache *cache = ntapi_cache_create(1 << 20, 1 << 20, folder);
        ntapi_client *client = session(cache);
        assert_int_equal(source(client, page, NTAPI_CACHE_POLICY_PROTOCOL),
                         round == 0 ? NTAPI_SOURCE_NETWORK : NTAPI_SOURCE_CACHE);
        check_ok(ntapi_cache_save(cache, NULL));
        assert_true(ntapi_cache_usage(cache, NTAPI_STORAGE_DISK) > 0);
        assert_true(ntapi_cache_usage(cache, NTAPI_STORAGE_DISK) < ntapi_cache_capacity(cache, NTAPI_STORAGE_DISK));
        ntapi_cache_free(cache);
        ntapi_client_free(client);
    }
    ntapi_cache *cache = ntapi_cache_create(0, 1 << 20, folder);
    check_ok(ntapi_cache_clear(cache));
    assert_int_equal(ntapi_cache_usage(cache, NTAPI_STORAGE_DISK), 0);
    ntapi_cache_free(cache);
}

static void what_cannot_be_a_cache(void **state) {
    (void)state;
    assert_null(ntapi_cache_create(-1, 0, NULL));
    assert_null(ntapi_cache_create(0, -1, NULL));
    assert_null(ntapi_cache_create(0, 0, "relative"));
    ntapi_client *client = ntapi_client_create(NULL, NULL);
    assert_null(ntapi_client_cache(client));
    check_invalid(ntapi_cache_clear(ntapi_client_cache(client)));
    ntapi_client_free(client);
}

/** What a program answers to cache decisions, and what it saw. */
struct keeper {
    int calls;
    ntapi_storage proposed;
    ntapi_status (*answer)(ntapi_decision *decision);
};

static void keep(void *user_data, ntapi_decision *decision) {
    struct keeper *keeper = user_data;
    keeper->calls++;
    keeper->proposed = ntapi_decision_get_storage(decision);
    assert_int_equal(ntapi_decision_get_kind(decision), NTAPI_DECISION_KIND_CACHE);
    assert_int_equal(ntapi_response_status(ntapi_decision_response(decision)), 200);
    check_too_late(ntapi_decision_download(decision, "/x"));
    check_ok(keeper->answer(decision));
    check_too_late(ntapi_decision_store_in_memory(decision));
    ntapi_decision_free(decision);
}

static void the_program_says_what_is_stored(void **state) {
    (void)state;
    char folder[256];
    new_folder(folder);
    ntapi_status (*const answers[])(ntapi_decision *) = {ntapi_decision_proceed, ntapi_decision_refuse,
                                                         ntapi_decision_store_in_memory};
    for (int index = 0; index < 3; index++) {
        struct keeper keeper = {.answer = answers[index]};
        ntapi_cache *cache = ntapi_cache_create(1 << 20, 1 << 20, folder);
        check_ok(ntapi_cache_clear(cache));
        ntapi_client *client = session(cache);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_url(args, "token", folder));
        check_ok(ntapi_args_url(args, "h-Cache-Control", "max-age=100"));
        check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_CURRENT));
        ntapi_request *request = ntapi_client_create_request(client, "cached", args);
        check_ok(ntapi_request_set_decision_handler(request, NTAPI_DECISION_KIND_CACHE, keep, &keeper, NULL));
        check_ok(ntapi_request_resume(request));
        check_ok(ntapi_request_wait(request, PATIENCE));
        assert_int_equal(keeper.calls, 1);
        assert_int_equal(keeper.proposed, NTAPI_STORAGE_DISK);
        check_ok(ntapi_cache_save(cache, NULL));
        assert_int_equal(ntapi_cache_usage(cache, NTAPI_STORAGE_DISK) > 0, index == 0);
        assert_int_equal(ntapi_cache_usage(cache, NTAPI_STORAGE_MEMORY) > 0, index != 1);
        ntapi_request_free(request);
        ntapi_args_free(args);
        ntapi_client_free(client);
        ntapi_cache_free(cache);
    }
}

/** The number of entries in a folder; -1 if it does not exist. */
static int files_of(const char *folder) {
    return access(folder, F_OK) == 0 ? entries(folder) : -1;
}

static void nothing_is_written_after_close(void **state) {
    (void)state;
    enum { REQUESTS = 12, SIZE = 1 << 18 };
    char *body = malloc(SIZE + 1);
    memset(body, 'x', SIZE);
    body[0] = body[SIZE - 1] = '"';
    body[SIZE] = '\0';
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    const ntapi_stub_answer answer = {.size = sizeof answer,
                                      .headers = (const char *[]){"Cache-Control: max-age=100", NULL},
                                      .body = body,
                                      .content_type = "application/json"};
    check_ok(ntapi_stub_rule_answer(rule, &answer, NULL));
    ntapi_stub_rule_free(rule);
    /* Closes the client after none, one, two... of its requests have ended, while the others run. */
    for (int round = 0; round < 4 * REQUESTS; round++) {
        char folder[256];
        new_folder(folder);
        ntapi_cache *cache = ntapi_cache_create(0, 1 << 26, folder);
        ntapi_client *client = session(cache);
        check_ok(ntapi_client_set_stub(client, stub));
        ntapi_request *requests[REQUESTS];
        for (int i = 0; i < REQUESTS; i++) {
            char page[32];
            snprintf(page, sizeof page, "page/%d", i);
            ntapi_args *args = background();
            requests[i] = ntapi_client_begin(client, page, args, NULL, NULL, NULL);
            ntapi_args_free(args);
        }
        for (int i = 0; i < round % REQUESTS; i++)
            check_ok(ntapi_request_wait(requests[i], PATIENCE));
        check_ok(ntapi_client_close(client));
        int files = files_of(folder);
        if (files >= 0)
            remove_all(folder);
        assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
        check_ok(ntapi_cache_save(cache, NULL));
        if (files_of(folder) != -1)
            fail_msg("round %d: %d files at the close, and %d again", round, files, files_of(folder));
        for (int i = 0; i < REQUESTS; i++)
            ntapi_request_free(requests[i]);
        ntapi_client_free(client);
        ntapi_cache_free(cache);
    }
    ntapi_stub_free(stub);
    free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_after_close),
        cmocka_unit_test(fresh_is_not_asked_for_again),
        cmocka_unit_test(conditions_and_ranges_are_answered),
        cmocka_unit_test(nothing_to_answer_with_is_an_error),
        cmocka_unit_test(no_store_neither_reads_nor_writes),
        cmocka_unit_test(a_cache_is_shared_and_emptied),
        cmocka_unit_test(on_disk_it_outlives_its_memory),
        cmocka_unit_test(save_says_when_it_failed),
        cmocka_unit_test(what_cannot_be_a_cache),
        cmocka_unit_test(the_program_says_what_is_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
