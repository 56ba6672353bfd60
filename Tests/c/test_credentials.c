/* Stored credentials: what a storage contains, and how the requests of a session use it. */
#include "child.h"
#include "files.h"
#include "session.h"
#include "support.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define RIGHT "p\xc3\xa4ssword"

/** A handler's answers, and the decisions that it got. */
struct judge {
    const char *user, *password;
    ntapi_persistence persistence;
    int calls, failures;
};

static void decide(void *user_data, ntapi_decision *decision) {
    struct judge *judge = user_data;
    judge->calls++;
    const ntapi_challenge *challenge = ntapi_decision_challenge(decision);
    judge->failures = challenge->failures;
    assert_string_equal(challenge->space->scheme, "http");
    assert_int_equal(challenge->space->is_proxy, challenge->kind == NTAPI_CHALLENGE_KIND_PROXY);
    if (judge->user != NULL) {
        check_invalid(ntapi_decision_use_credential(decision, judge->user, judge->password, (ntapi_persistence)7));
        check_ok(ntapi_decision_use_credential(decision, judge->user, judge->password, judge->persistence));
    }
    ntapi_decision_free(decision);
}

/** A session with a storage, or without one. Frees the configuration. */
static ntapi_client *asking(const char *name, ntapi_credential_storage *storage, struct judge *judge) {
    ntapi_configuration *configuration = ephemeral();
    check_ok(ntapi_configuration_set_credential_storage(configuration, storage));
    ntapi_client *client = session_of(name, configuration);
    ntapi_configuration_free(configuration);
    ntapi_hooks hooks = {.size = sizeof hooks, .decide = decide, .decisions = NTAPI_DECISION_KIND_CHALLENGE};
    check_ok(ntapi_client_set_hooks(client, &hooks, judge, NULL));
    return client;
}

/** The protection space of a server. */
static ntapi_protection_space space_of(const char *name, const char *realm, ntapi_authentication authentication,
                                       bool is_proxy) {
    int port = atoi(strrchr(server(name), ':') + 1);
    return (ntapi_protection_space){
        sizeof(ntapi_protection_space), "http", "127.0.0.1", port, realm, authentication, is_proxy};
}

static int status_of(ntapi_client *client, const char *command) {
    ntapi_response *response = perform(client, command, NULL);
    int status = ntapi_response_status(response);
    ntapi_response_free(response);
    return status;
}

static size_t count_of(ntapi_credential_storage *storage) {
    ntapi_json *all = ntapi_credential_storage_get(storage, NULL, NULL);
    assert_non_null(all);
    size_t count = ntapi_json_count(all, NULL);
    ntapi_json_free(all);
    return count;
}

static void what_is_set_is_found(ntapi_credential_storage *storage) {
    const ntapi_protection_space space = {sizeof space, "HTTPS", "H.test", 443, "members", NTAPI_AUTHENTICATION_BASIC,
                                          false};
    const ntapi_protection_space other = {sizeof other, "https", "h.test", 443, NULL, NTAPI_AUTHENTICATION_DIGEST,
                                          false};
    check_ok(ntapi_credential_storage_set(storage, &space, "ann", "a", NULL));
    check_ok(ntapi_credential_storage_set(storage, &space, "bob", "b", NULL));
    check_ok(ntapi_credential_storage_set(storage, &other, "c:d", "c", NULL));
    ntapi_json *found = ntapi_credential_storage_get(storage, &space, NULL);
    assert_int_equal(ntapi_json_count(found, NULL), 2);
    check_string(found, "[0].user", "ann");
    check_string(found, "[0].scheme", "https");
    check_string(found, "[0].host", "h.test");
    check_string(found, "[0].realm", "members");
    check_string(found, "[0].authentication", "basic");
    assert_int_equal(ntapi_json_int(found, "[0].port", 0), 443);
    assert_false(ntapi_json_bool(found, "[0].isProxy", true));
    ntapi_json_free(found);
    check_ok(ntapi_credential_storage_set_default(storage, &space, "bob", "new", NULL));
    found = ntapi_credential_storage_get(storage, &space, NULL);
    check_string(found, "[0].user", "bob");
    check_string(found, "[0].password", "new");
    ntapi_json_free(found);
    ntapi_error *error = NULL;
    check_invalid(ntapi_credential_storage_set(storage, &space, "a:b", "c", &error));
    assert_non_null(strstr(ntapi_error_message(error), "colon"));
    ntapi_error_free(error);
    check_invalid(ntapi_credential_storage_set(storage, &space, "a\n", "c", NULL));
    check_invalid(ntapi_credential_storage_set(storage, NULL, "a", "c", NULL));
    check_invalid(ntapi_credential_storage_set(storage, &space, NULL, "c", NULL));
    check_invalid(ntapi_credential_storage_set(storage, &space, "a", NULL, NULL));
    assert_int_equal(count_of(storage), 3);
    check_ok(ntapi_credential_storage_remove(storage, &space, "nobody", NULL));
    check_ok(ntapi_credential_storage_remove(storage, &space, "bob", NULL));
    assert_int_equal(count_of(storage), 2);
    check_ok(ntapi_credential_storage_remove(storage, &space, NULL, NULL));
    assert_int_equal(count_of(storage), 1);
    check_ok(ntapi_credential_storage_clear(storage, NULL));
    assert_int_equal(count_of(storage), 0);
}

static void in_memory_and_in_a_file(void **state) {
    (void)state;
    char folder[64], path[128];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/credentials", folder);
    ntapi_credential_storage *memory = ntapi_credential_storage_create(NULL);
    ntapi_credential_storage *file = ntapi_credential_storage_create(path);
    what_is_set_is_found(memory);
    what_is_set_is_found(file);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    ntapi_credential_storage_free(file);
    ntapi_credential_storage_free(memory);
    remove_all(folder);
    assert_null(ntapi_credential_storage_create("relative"));
    const ntapi_protection_space impossible[] = {
        {0, "http", "h", 80, NULL, NTAPI_AUTHENTICATION_BASIC, false},
        {sizeof *impossible, "ftp", "h", 21, NULL, NTAPI_AUTHENTICATION_BASIC, false},
        {sizeof *impossible, "http", "", 80, NULL, NTAPI_AUTHENTICATION_BASIC, false},
        {sizeof *impossible, "http", "h", 0, NULL, NTAPI_AUTHENTICATION_BASIC, false},
        {sizeof *impossible, "http", "h", 80, NULL, (ntapi_authentication)0, false},
        {sizeof *impossible, NULL, "h", 80, NULL, NTAPI_AUTHENTICATION_BASIC, false},
        {sizeof *impossible, "http", "h", 80, "\xff", NTAPI_AUTHENTICATION_BASIC, false},
    };
    memory = ntapi_credential_storage_create(NULL);
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        ntapi_error *error = NULL;
        check_invalid(ntapi_credential_storage_set(memory, &impossible[i], "a", "b", &error));
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_INVALID_REQUEST);
        ntapi_error_free(error);
        assert_null(ntapi_credential_storage_get(memory, &impossible[i], NULL));
    }
    ntapi_credential_storage_free(memory);
}

static void a_damaged_file_is_an_error(void **state) {
    (void)state;
    char path[64];
    temporary_file(path, "damage\n", 7);
    ntapi_credential_storage *storage = ntapi_credential_storage_create(path);
    const ntapi_protection_space space = space_of("nginx", "test", NTAPI_AUTHENTICATION_BASIC, false);
    ntapi_error *error = NULL;
    assert_null(ntapi_credential_storage_get(storage, NULL, &error));
    assert_non_null(strstr(ntapi_error_message(error), "is damaged"));
    assert_non_null(strstr(ntapi_error_message(error), path));
    ntapi_error_free(error);
    error = NULL;
    check_too_late(ntapi_credential_storage_set(storage, &space, "user", "secret", &error));
    assert_non_null(strstr(ntapi_error_message(error), "is damaged"));
    assert_null(strstr(ntapi_error_message(error), "secret"));
    ntapi_error_free(error);
    /* The damaged file is ignored, and the program is asked. */
    struct judge judge = {.user = "user", .password = RIGHT, .persistence = NTAPI_PERSISTENCE_PERMANENT};
    ntapi_client *client = asking("nginx", storage, &judge);
    assert_int_equal(status_of(client, "auth/small.json"), 200);
    assert_int_equal(judge.calls, 1);
    ntapi_client_free(client);
    ntapi_credential_storage_free(storage);
    unlink(path);

    storage = ntapi_credential_storage_create("/proc/no/credentials");
    error = NULL;
    check_too_late(ntapi_credential_storage_set(storage, &space, "user", "secret", &error));
    assert_non_null(strstr(ntapi_error_message(error), "/proc/no"));
    ntapi_error_free(error);
    ntapi_credential_storage_free(storage);
}

static void a_server_is_answered(void **state) {
    (void)state;
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    const ntapi_protection_space basic = space_of("nginx", "test", NTAPI_AUTHENTICATION_BASIC, false);
    const ntapi_protection_space digest =
        space_of("fault", "the \"SHA-256\" realm", NTAPI_AUTHENTICATION_DIGEST, false);
    check_ok(ntapi_credential_storage_set(storage, &basic, "user", RIGHT, NULL));
    check_ok(ntapi_credential_storage_set(storage, &digest, "ann", "pw", NULL));
    struct judge judge = {0};
    ntapi_client *client = asking("nginx", storage, &judge);
    assert_int_equal(status_of(client, "auth/small.json"), 200);
    ntapi_client_free(client);
    client = asking("fault", storage, &judge);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_form(args, "a", "b"));
    ntapi_json *seen = fetch(client, "digest/SHA-256?user=ann&password=pw", args);
    check_string(seen, "body", "a=b");
    ntapi_json_free(seen);
    ntapi_client_free(client);
    assert_int_equal(judge.calls, 0);

    /* The refused credential stays stored, and the program is asked. */
    check_ok(ntapi_credential_storage_set(storage, &basic, "user", "wrong", NULL));
    judge = (struct judge){.user = "user", .password = RIGHT};
    client = asking("nginx", storage, &judge);
    assert_int_equal(status_of(client, "auth/small.json"), 200);
    assert_int_equal(judge.calls, 1);
    assert_int_equal(judge.failures, 1);
    ntapi_client_free(client);
    assert_int_equal(count_of(storage), 2);

    /* First without a storage, then a client without a configuration. */
    judge = (struct judge){0};
    client = asking("nginx", NULL, &judge);
    assert_null(ntapi_client_credential_storage(client));
    assert_int_equal(status_of(client, "auth/small.json"), 401);
    assert_int_equal(judge.calls, 1);
    ntapi_client_free(client);
    client = client_of("nginx");
    assert_null(ntapi_client_credential_storage(client));
    ntapi_client_free(client);
    ntapi_credential_storage_free(storage);
}

static void a_proxy_is_answered(void **state) {
    (void)state;
    char words[128];
    snprintf(words, sizeof words, "%s", server("proxy_credentials"));
    char *colon = strchr(words, ':');
    *colon = '\0';
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    const ntapi_protection_space space = space_of("proxy_auth", NULL, NTAPI_AUTHENTICATION_BASIC, true);
    check_ok(ntapi_credential_storage_set(storage, &space, words, colon + 1, NULL));
    static const char *const servers[] = {"fault", "fault_tls"};
    for (size_t i = 0; i < 2; i++) {
        struct judge judge = {0};
        ntapi_client *client = asking(servers[i], storage, &judge);
        ntapi_defaults *defaults = ntapi_client_defaults(client);
        check_ok(ntapi_defaults_set_string(defaults, NTAPI_DEFAULT_PROXY, server("proxy_auth")));
        ntapi_json_free(fetch(client, "echo", NULL));
        assert_int_equal(judge.calls, 0);
        ntapi_client_free(client);
    }
    ntapi_credential_storage_free(storage);
}

static void a_redirect_takes_nothing_along(void **state) {
    (void)state;
    char target[256];
    snprintf(target, sizeof target, "%s/digest/MD5?user=ann&password=pw", server("fault_other"));
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    const ntapi_protection_space here = space_of("fault", "here", NTAPI_AUTHENTICATION_BASIC, false);
    const ntapi_protection_space there =
        space_of("fault_other", "the \"MD5\" realm", NTAPI_AUTHENTICATION_DIGEST, false);
    check_ok(ntapi_credential_storage_set(storage, &here, "ann", "pw", NULL));
    static const int statuses[] = {401, 200};
    for (int i = 0; i < 2; i++) {
        struct judge judge = {0};
        ntapi_client *client = asking("fault", storage, &judge);
        ntapi_args *args = ntapi_args_create();
        check_ok(ntapi_args_url(args, "with", "Basic realm=\"here\""));
        check_ok(ntapi_args_url(args, "unless", "Basic YW5uOnB3"));
        check_ok(ntapi_args_url(args, "url", target));
        ntapi_response *response = perform(client, "challenge", args);
        assert_int_equal(ntapi_response_status(response), statuses[i]);
        assert_int_equal(judge.calls, i == 0 ? 1 : 0);
        ntapi_response_free(response);
        ntapi_client_free(client);
        check_ok(ntapi_credential_storage_set(storage, &there, "ann", "pw", NULL));
    }
    ntapi_credential_storage_free(storage);
}

static void an_answer_may_be_kept(void **state) {
    (void)state;
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    struct judge judge = {.user = "user", .password = "wrong", .persistence = NTAPI_PERSISTENCE_PERMANENT};
    ntapi_client *client = asking("nginx", storage, &judge);
    assert_int_equal(status_of(client, "auth/small.json"), 401);
    assert_int_equal(count_of(storage), 0);
    judge = (struct judge){.user = "user", .password = RIGHT, .persistence = NTAPI_PERSISTENCE_PERMANENT};
    assert_int_equal(status_of(client, "auth/small.json"), 200);
    assert_int_equal(count_of(storage), 1);
    ntapi_client_free(client);
    client = asking("nginx", storage, &judge);
    assert_int_equal(status_of(client, "auth/small.json"), 200);
    assert_int_equal(judge.calls, 1);
    assert_int_equal(count_of(ntapi_client_credential_storage(client)), 1);
    ntapi_client_free(client);
    ntapi_credential_storage_free(storage);
}

static void *set_many(void *argument) {
    const ntapi_protection_space space = space_of("nginx", "test", NTAPI_AUTHENTICATION_BASIC, false);
    for (int i = 0; i < 20; i++) {
        char user[64];
        snprintf(user, sizeof user, "%lu-%d", (unsigned long)pthread_self(), i);
        check_ok(ntapi_credential_storage_set(argument, &space, user, "x", NULL));
    }
    return NULL;
}

static void two_threads_lose_nothing(void **state) {
    (void)state;
    char folder[64], path[128];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/c", folder);
    ntapi_credential_storage *storage = ntapi_credential_storage_create(path);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, set_many, storage), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(count_of(storage), 40);
    ntapi_credential_storage_free(storage);
    remove_all(folder);
}

/** Runs in a process with its own home folder. Stores a credential in the shared storage, or finds it there. */
static int child(const char *what) {
    ntapi_credential_storage *storage = ntapi_credential_storage_shared();
    const ntapi_protection_space space = space_of("nginx", "test", NTAPI_AUTHENTICATION_BASIC, false);
    if (strcmp(what, "set") == 0)
        check_ok(ntapi_credential_storage_set(storage, &space, "user", RIGHT, NULL));
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_DEFAULT, NULL);
    ntapi_client *client = session_of("nginx", configuration);
    int status = status_of(client, "auth/small.json");
    ntapi_client_free(client);
    ntapi_configuration_free(configuration);
    ntapi_credential_storage_free(storage);
    return status == 200 ? 0 : 1;
}

static void the_programs_outlives_the_process(void **state) {
    (void)state;
    char folder[64], data[128];
    make_folder(folder);
    snprintf(data, sizeof data, "XDG_DATA_HOME=%s", folder);
    const char *const variables[] = {data, NULL};
    const char *const words[] = {"find", "set", "find"};
    for (int i = 0; i < 3; i++) {
        const char *const arguments[] = {"child", words[i], NULL};
        assert_int_equal(run_child(arguments, variables), i == 0 ? 1 : 0);
    }
    remove_all(folder);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "child") == 0)
        return child(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory_and_in_a_file),        cmocka_unit_test(a_damaged_file_is_an_error),
        cmocka_unit_test(a_server_is_answered),           cmocka_unit_test(a_proxy_is_answered),
        cmocka_unit_test(a_redirect_takes_nothing_along), cmocka_unit_test(an_answer_may_be_kept),
        cmocka_unit_test(two_threads_lose_nothing),       cmocka_unit_test(the_programs_outlives_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
