/* Responses that caches share through a store. */
#include <semaphore.h>
#include <stdint.h>
#include <unistd.h>

#include "ntapi_testing.h"
#include "support.h"

enum { PROCESSES = 3, VALUES = 20 };

/** A store that keeps values in a table, and gives turns to the processes. */
typedef struct table {
    struct {
        char key[300];
        void *value;
        size_t size;
    } values[VALUES];
    size_t count;
    pthread_mutex_t lock;
    sem_t records, ends;
} table;

static size_t find(table *self, const char *key) {
    size_t i = 0;
    while (i < self->count && strcmp(self->values[i].key, key) != 0)
        i++;
    return i;
}

/** Moves a value to another key. From NULL, it removes the value. */
static void move(table *self, const char *from, const char *to) {
    pthread_mutex_lock(&self->lock);
    size_t old = find(self, to);
    assert_in_range(old, 0, VALUES - 1);
    if (old == self->count)
        snprintf(self->values[self->count++].key, sizeof self->values[old].key, "%s", to);
    free(self->values[old].value);
    self->values[old].value = NULL;
    if (from != NULL) {
        size_t new = find(self, from);
        assert_in_range(new, 0, self->count - 1);
        self->values[old].value = self->values[new].value;
        self->values[old].size = self->values[new].size;
        self->values[new].value = NULL;
    }
    pthread_mutex_unlock(&self->lock);
}

static void run(void *user_data, const char *script, const char *lua, const char *const *keys, size_t key_count,
                const char *const *arguments, size_t argument_count, ntapi_store_call *call) {
    table *self = user_data;
    assert_non_null(strstr(lua, "'PX'"));
    assert_int_equal(argument_count, 3);
    assert_non_null(arguments[2]);
    assert_in_range(key_count, 2, 3);
    assert_non_null(strstr(keys[0], "ntapi:1:{partner:"));
    bool stores = strcmp(script, "ntapi.record.1") == 0;
    if (stores) {
        assert_string_equal(arguments[0], key_count == 3 ? "store" : "remove");
        move(self, key_count == 3 ? keys[2] : NULL, keys[0]);
    } else {
        assert_string_equal(script, "ntapi.turn.1");
    }
    const char *reply[] = {"done", "0"};
    check_ok(ntapi_store_call_reply(call, reply, 2));
    if (stores)
        sem_post(&self->records);
}

static void get(void *user_data, const char *key, ntapi_store_call *call) {
    table *self = user_data;
    pthread_mutex_lock(&self->lock);
    size_t i = find(self, key);
    bool is_there = i < self->count && self->values[i].value != NULL;
    check_ok(ntapi_store_call_reply_value(call, is_there ? self->values[i].value : NULL,
                                          is_there ? self->values[i].size : 0));
    pthread_mutex_unlock(&self->lock);
}

static void set(void *user_data, const char *key, const void *value, size_t size, double seconds,
                ntapi_store_call *call) {
    table *self = user_data;
    assert_in_range((int)seconds, 55, 60);
    pthread_mutex_lock(&self->lock);
    size_t i = find(self, key);
    assert_in_range(i, 0, VALUES - 1);
    snprintf(self->values[i].key, sizeof self->values[i].key, "%s", key);
    free(self->values[i].value);
    self->values[i].value = malloc(size + 1);
    memcpy(self->values[i].value, value, size);
    self->values[i].size = size;
    if (i == self->count)
        self->count++;
    pthread_mutex_unlock(&self->lock);
    check_ok(ntapi_store_call_reply_value(call, NULL, 0));
}

static void remove_value(void *user_data, const char *key, ntapi_store_call *call) {
    table *self = user_data;
    pthread_mutex_lock(&self->lock);
    size_t i = find(self, key);
    if (i < self->count) {
        free(self->values[i].value);
        self->values[i].value = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    check_ok(ntapi_store_call_reply_value(call, NULL, 0));
}

static void note_end(void *user_data) {
    sem_post(&((table *)user_data)->ends);
}

static ntapi_client *open_client(ntapi_store *store) {
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    const ntapi_cache_sharing sharing = {
        .size = sizeof sharing, .store = store, .key = "partner", .store_timeout = PATIENCE};
    check_ok(ntapi_cache_share(cache, &sharing, NULL));
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    check_ok(ntapi_defaults_set_string(ntapi_configuration_defaults(configuration), NTAPI_DEFAULT_PROXY, ""));
    check_ok(ntapi_configuration_set_cache(configuration, cache));
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server("fault"), configuration);
    ntapi_configuration_free(configuration);
    ntapi_cache_free(cache);
    return client;
}

static void wait_for(sem_t *signal) {
    while (sem_wait(signal) != 0) {
    }
}

static void new_name(char name[static 64]) {
    static int count;
    snprintf(name, 64, "shared-cache-%d-%d", (int)getpid(), count++);
}

static ntapi_response *get_page(ntapi_client *client, const char *name, const char *token) {
    ntapi_args *args = ntapi_args_create();
    if (token != NULL)
        check_ok(ntapi_args_bearer(args, token));
    check_ok(ntapi_args_url(args, "token", name));
    check_ok(ntapi_args_url(args, "h-Cache-Control", "max-age=60"));
    return perform(client, "cached", args);
}

static void expect_count(ntapi_client *client, const char *name, int expected) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", name));
    ntapi_response *response = perform(client, "count", args);
    assert_int_equal(ntapi_json_int(ntapi_response_json(response), "count", -1), expected);
    ntapi_response_free(response);
}

static void one_loads_for_all(void **state) {
    (void)state;
    char name[64];
    new_name(name);
    ntapi_store *store = ntapi_memory_store_create(NULL);
    ntapi_client *clients[PROCESSES];
    ntapi_request *requests[PROCESSES];
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", name));
    check_ok(ntapi_args_url(args, "h-Cache-Control", "max-age=60"));
    for (int i = 0; i < PROCESSES; i++) {
        clients[i] = open_client(store);
        requests[i] = ntapi_client_create_request(clients[i], "cached", args);
    }
    ntapi_store_free(store);
    for (int i = 0; i < PROCESSES; i++)
        check_ok(ntapi_request_resume(requests[i]));
    for (int i = 0; i < PROCESSES; i++) {
        check_ok(ntapi_request_wait(requests[i], PATIENCE));
        ntapi_response *response = ntapi_request_response(requests[i]);
        assert_int_equal(ntapi_response_status(response), 200);
        ntapi_response_free(response);
        ntapi_request_free(requests[i]);
    }
    expect_count(clients[0], name, 1);
    for (int i = 0; i < PROCESSES; i++)
        ntapi_client_free(clients[i]);
    ntapi_args_free(args);
}

static void a_store_of_the_program(void **state) {
    (void)state;
    char name[64];
    new_name(name);
    table shop = {.lock = PTHREAD_MUTEX_INITIALIZER};
    sem_init(&shop.records, 0, 0);
    sem_init(&shop.ends, 0, 0);
    const ntapi_store_functions functions = {
        .size = sizeof functions, .run = run, .get = get, .set = set, .remove = remove_value};
    ntapi_store *store = ntapi_store_create(&functions, &shop, note_end, NULL);
    ntapi_client *one = open_client(store), *other = open_client(store);
    ntapi_response_free(get_page(one, name, NULL));
    wait_for(&shop.records);
    ntapi_response *response = get_page(other, name, NULL);
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_CACHE);
    ntapi_response_free(response);
    expect_count(one, name, 1);
    /* A change of the resource removes the response for all. */
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "token", name));
    check_ok(ntapi_args_url(args, "h-Cache-Control", "max-age=60"));
    check_ok(ntapi_args_method(args, "POST"));
    ntapi_response_free(perform(other, "cached", args));
    wait_for(&shop.records);
    ntapi_client_free(one);
    one = open_client(store);
    ntapi_store_free(store);
    response = get_page(one, name, NULL);
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_NETWORK);
    ntapi_response_free(response);
    ntapi_client_free(one);
    ntapi_client_free(other);
    wait_for(&shop.ends);
    for (size_t i = 0; i < shop.count; i++)
        free(shop.values[i].value);
    sem_destroy(&shop.records);
    sem_destroy(&shop.ends);
}

/** Not a real cipher: it changes each byte, in a way that depends on the place. */
static void mix(void *user_data, const char *context, const void *value, size_t size, ntapi_store_call *call) {
    (void)user_data;
    assert_non_null(strstr(context, "ntapi:1:{partner:"));
    unsigned char *mixed = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        mixed[i] = ((const unsigned char *)value)[i] ^ (0x80 | (strlen(context) & 0x7F));
    check_ok(ntapi_store_call_reply_value(call, mixed, size));
    free(mixed);
}

static void drop_value(void *user_data, const char *context, const void *value, size_t size, ntapi_store_call *call) {
    (void)user_data, (void)context, (void)value, (void)size;
    check_ok(ntapi_store_call_fail(call, "not mine"));
}

/** The server of such a store cannot read it. So it also holds responses to requests with credentials. */
static void a_store_that_encrypts(void **state) {
    (void)state;
    char name[64];
    new_name(name);
    table shop = {.lock = PTHREAD_MUTEX_INITIALIZER};
    sem_init(&shop.records, 0, 0);
    sem_init(&shop.ends, 0, 0);
    ntapi_store_functions functions = {.size = sizeof functions,
                                       .run = run,
                                       .get = get,
                                       .set = set,
                                       .remove = remove_value,
                                       .encrypt = mix,
                                       .decrypt = mix};
    ntapi_store *store = ntapi_store_create(&functions, &shop, note_end, NULL);
    ntapi_client *one = open_client(store), *other = open_client(store);
    ntapi_response_free(get_page(one, name, "ann"));
    wait_for(&shop.records);
    ntapi_response *response = get_page(other, name, "ann");
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_CACHE);
    assert_non_null(ntapi_response_json(response));
    ntapi_response_free(response);
    response = get_page(other, name, "bob");
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_NETWORK);
    ntapi_response_free(response);
    wait_for(&shop.records);
    expect_count(one, name, 2);
    size_t seen = 0;
    pthread_mutex_lock(&shop.lock);
    for (size_t i = 0; i < shop.count; i++)
        for (size_t j = 0; shop.values[i].value != NULL && j < shop.values[i].size; j++, seen++)
            assert_in_range(((unsigned char *)shop.values[i].value)[j], 0x80, 0xFF);
    pthread_mutex_unlock(&shop.lock);
    assert_in_range(seen, 500, 100000);
    ntapi_client_free(other);
    ntapi_store_free(store);
    ntapi_client_free(one);
    wait_for(&shop.ends);
    /* A response that cannot be decrypted is loaded again. */
    functions.decrypt = drop_value;
    store = ntapi_store_create(&functions, &shop, note_end, NULL);
    one = open_client(store);
    response = get_page(one, name, "ann");
    assert_int_equal(ntapi_response_get_source(response), NTAPI_SOURCE_NETWORK);
    ntapi_response_free(response);
    ntapi_client_free(one);
    ntapi_store_free(store);
    wait_for(&shop.ends);
    functions.decrypt = NULL;
    ntapi_error *error = NULL;
    assert_null(ntapi_store_create(&functions, &shop, NULL, &error));
    assert_non_null(strstr(ntapi_error_message(error), "encrypt and decrypt"));
    ntapi_error_free(error);
    for (size_t i = 0; i < shop.count; i++)
        free(shop.values[i].value);
    sem_destroy(&shop.records);
    sem_destroy(&shop.ends);
}

/** A store that has only limits and tokens is not used for responses. */
static void a_store_without_values(void **state) {
    (void)state;
    char name[64];
    new_name(name);
    const ntapi_store_functions functions = {.size = sizeof functions, .run = run};
    ntapi_store *store = ntapi_store_create(&functions, NULL, NULL, NULL);
    ntapi_client *one = open_client(store), *other = open_client(store);
    ntapi_store_free(store);
    ntapi_response_free(get_page(one, name, NULL));
    ntapi_response_free(get_page(other, name, NULL));
    expect_count(one, name, 2);
    ntapi_client_free(one);
    ntapi_client_free(other);
}

static void refused(ntapi_cache *cache, const ntapi_cache_sharing *sharing, const char *why) {
    ntapi_error *error = NULL;
    check_invalid(ntapi_cache_share(cache, sharing, &error));
    assert_non_null(error);
    if (strstr(ntapi_error_message(error), why) == NULL)
        fail_msg("%s is not in: %s", why, ntapi_error_message(error));
    ntapi_error_free(error);
    check_invalid(ntapi_cache_share(cache, sharing, NULL));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    ntapi_store *store = ntapi_memory_store_create(NULL);
    const ntapi_cache_sharing right = {.size = sizeof right, .store = store, .key = "a"};
    refused((ntapi_cache *)store, &right, "cache");
    refused(cache, NULL, "sharing is NULL");
    const struct {
        ntapi_cache_sharing sharing;
        const char *why;
    } rows[] = {
        {{.store = store, .key = "a"}, "the size of ntapi_cache_sharing is 0"},
        {{.size = sizeof right, .key = "a"}, "store"},
        {{.size = sizeof right, .store = store}, "key is NULL"},
        {{.size = sizeof right, .store = store, .key = "a{"}, "no braces"},
        {{.size = sizeof right, .store = store, .key = "a", .store_timeout = -1}, "above 0 seconds"},
        {{.size = sizeof right, .store = store, .key = "a", .lease = 0.01}, "the store's lease is 0.01"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(cache, &rows[i].sharing, rows[i].why);
    check_invalid(ntapi_store_call_reply_value(NULL, "a", 1));
    check_invalid(ntapi_store_call_reply_value((ntapi_store_call *)store, "a", 1));
    ntapi_store_free(store);
    ntapi_cache_free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_loads_for_all),     cmocka_unit_test(a_store_of_the_program),
        cmocka_unit_test(a_store_that_encrypts), cmocka_unit_test(a_store_without_values),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
