/* Tokens that authenticators share through a store, and refresh tokens. */
#include <stdatomic.h>
#include <unistd.h>

#include "ntapi_testing.h"
#include "files.h"
#include "support.h"

enum { PROCESSES = 2 };

/** Authenticators that stand for processes, and the fault server's tokens that they share. */
typedef struct fleet {
    char name[64];
    ntapi_client *clients[PROCESSES];
    ntapi_authenticator *authenticators[PROCESSES];
    atomic_int refreshes;
} fleet;

static ntapi_response *ask(const fleet *self, ntapi_client *client, const char *command, bool with_token) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url(args, "name", self->name));
    if (!with_token)
        check_ok(ntapi_args_option(args, NTAPI_OPTION_BYPASS_AUTHENTICATION, ""));
    ntapi_response *response = ntapi_client_perform(client, command, args);
    ntapi_args_free(args);
    return response;
}

static void expect_status(const fleet *self, int process, const char *command, int status) {
    ntapi_response *response = ask(self, self->clients[process], command, strcmp(command, "token/use") == 0);
    assert_int_equal(ntapi_response_status(response), status);
    ntapi_response_free(response);
}

/** The refresh token of token number n is "rN". */
static void refresh_token(void *user_data, ntapi_refresh *refresh) {
    fleet *self = user_data;
    int number = ++self->refreshes;
    char expected[20], next[20];
    snprintf(expected, sizeof expected, "r%d", number - 1);
    snprintf(next, sizeof next, "r%d", number);
    if (number == 1)
        assert_null(ntapi_refresh_refresh_token(refresh));
    else
        assert_string_equal(ntapi_refresh_refresh_token(refresh), expected);
    ntapi_response *response = ask(self, ntapi_refresh_client(refresh), "token/issue", false);
    const ntapi_token token = {.size = sizeof token,
                               .text = ntapi_json_string(ntapi_response_json(response), "token"),
                               .lifetime = 3600,
                               .refresh_token = next};
    check_ok(ntapi_refresh_succeed_with(refresh, &token));
    assert_null(ntapi_refresh_refresh_token(refresh));
    check_invalid(ntapi_refresh_succeed_with(refresh, &token));
    ntapi_response_free(response);
}

static void open_fleet(fleet *self, const ntapi_token_sharing *sharing) {
    static int count = 0;
    *self = (fleet){0};
    snprintf(self->name, sizeof self->name, "shared%ld-%d", (long)getpid(), ++count);
    for (int i = 0; i < PROCESSES; i++) {
        self->clients[i] = client_of("fault");
        self->authenticators[i] = ntapi_authenticator_create(NULL, refresh_token, self, NULL, NULL);
        check_ok(ntapi_authenticator_share(self->authenticators[i], sharing, NULL));
        check_ok(ntapi_client_set_authenticator(self->clients[i], self->authenticators[i]));
    }
}

static void close_fleet(fleet *self) {
    for (int i = 0; i < PROCESSES; i++) {
        ntapi_client_free(self->clients[i]);
        ntapi_authenticator_free(self->authenticators[i]);
    }
}

/** Waits until a file contains this text. Before that, another process may still read the old token. */
static void wait_for_text(const char *path, const char *text) {
    char content[4096] = "";
    time_t end = time(NULL) + (time_t)PATIENCE;
    while (strstr(content, text) == NULL) {
        assert_true(time(NULL) <= end);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        content[fread(content, 1, sizeof content - 1, file)] = '\0';
        fclose(file);
    }
}

/** @param path the path of the store's file; NULL for a store in memory. */
static void one_refresh_for_all_in(ntapi_store *store, const char *path) {
    const ntapi_token_sharing sharing = {.size = sizeof sharing, .store = store, .key = "partner"};
    fleet shop;
    open_fleet(&shop, &sharing);
    ntapi_store_free(store);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < PROCESSES; i++) {
            expect_status(&shop, i, "token/use", 200);
            assert_int_equal(shop.refreshes, round);
        }
        expect_status(&shop, 0, "token/expire", 200);
    }
    /* The program sets a new token, for all processes. */
    ntapi_response *response = ask(&shop, shop.clients[0], "token/issue", false);
    const ntapi_token token = {
        .size = sizeof token, .text = ntapi_json_string(ntapi_response_json(response), "token"), .refresh_token = "r3"};
    check_ok(ntapi_authenticator_set_token_with(shop.authenticators[0], &token));
    expect_status(&shop, 0, "token/use", 200);
    if (path != NULL)
        wait_for_text(path, token.text);
    for (int i = 0; path != NULL && i < PROCESSES; i++)
        expect_status(&shop, i, "token/use", 200);
    assert_int_equal(shop.refreshes, 3);
    ntapi_response_free(response);
    close_fleet(&shop);
}

static void one_refresh_for_all(void **state) {
    (void)state;
    one_refresh_for_all_in(ntapi_memory_store_create(NULL), NULL);
    char folder[] = "/tmp/ntapi-tokens-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tokens.json", folder);
    one_refresh_for_all_in(ntapi_file_store_create(path), path);
    unlink(path);
    remove_folder(folder, "tokens.json.lock");
    assert_null(ntapi_file_store_create(NULL));
    assert_null(ntapi_file_store_create(""));
    assert_null(ntapi_file_store_create("\xff"));
}

static void fail_call(void *user_data, const char *script, const char *lua, const char *const *keys, size_t key_count,
                      const char *const *arguments, size_t argument_count, ntapi_store_call *call) {
    (void)user_data;
    assert_string_equal(script, "ntapi.token.1");
    assert_non_null(strstr(lua, "redis.call('TIME')"));
    assert_int_equal(key_count, 1);
    assert_string_equal(keys[0], "ntapi:1:{partner}:token");
    assert_in_range(argument_count, 4, 6);
    assert_non_null(arguments[argument_count - 1]);
    check_ok(ntapi_store_call_fail(call, "no route"));
}

static void while_the_store_fails(void **state) {
    (void)state;
    const ntapi_store_functions functions = {.size = sizeof functions, .run = fail_call};
    const struct {
        ntapi_store_substitute substitute;
        ntapi_code code;
    } rows[] = {
        {NTAPI_STORE_SUBSTITUTE_NONE, NTAPI_CODE_STORE_FAILED},
        {NTAPI_STORE_SUBSTITUTE_CLOSED, NTAPI_CODE_STORE_FAILED},
        {NTAPI_STORE_SUBSTITUTE_LOCAL, NTAPI_CODE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ntapi_store *store = ntapi_store_create(&functions, NULL, NULL, NULL);
        const ntapi_token_sharing sharing = {.size = sizeof sharing,
                                             .store = store,
                                             .key = "partner",
                                             .store_timeout = PATIENCE,
                                             .on_failure = rows[i].substitute,
                                             .lease = 1};
        fleet shop;
        open_fleet(&shop, &sharing);
        ntapi_store_free(store);
        ntapi_response *response = ask(&shop, shop.clients[0], "token/use", true);
        assert_int_equal(ntapi_error_code(ntapi_response_error(response)), rows[i].code);
        ntapi_response_free(response);
        close_fleet(&shop);
    }
}

static void refused(ntapi_authenticator *authenticator, const ntapi_token_sharing *sharing, const char *why) {
    ntapi_error *error = NULL;
    check_invalid(ntapi_authenticator_share(authenticator, sharing, &error));
    assert_non_null(error);
    if (strstr(ntapi_error_message(error), why) == NULL)
        fail_msg("%s is not in: %s", why, ntapi_error_message(error));
    ntapi_error_free(error);
    check_invalid(ntapi_authenticator_share(authenticator, sharing, NULL));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, refresh_token, NULL, NULL, NULL);
    ntapi_store *store = ntapi_memory_store_create(NULL);
    const ntapi_token_sharing right = {.size = sizeof right, .store = store, .key = "a"};
    refused((ntapi_authenticator *)store, &right, "authenticator");
    refused(authenticator, NULL, "sharing is NULL");
    const struct {
        ntapi_token_sharing sharing;
        const char *why;
    } rows[] = {
        {{.store = store, .key = "a"}, "the size of ntapi_token_sharing is 0"},
        {{.size = sizeof right, .key = "a"}, "store"},
        {{.size = sizeof right, .store = store}, "key is NULL"},
        {{.size = sizeof right, .store = store, .key = "a{"}, "no braces"},
        {{.size = sizeof right, .store = store, .key = "a", .store_timeout = -1}, "above 0 seconds"},
        {{.size = sizeof right, .store = store, .key = "a", .lease = 0.01}, "the store's lease is 0.01"},
        {{.size = sizeof right, .store = store, .key = "a", .on_failure = NTAPI_STORE_SUBSTITUTE_OPEN},
         "local or closed, not open"},
        {{.size = sizeof right, .store = store, .key = "a", .on_failure = (ntapi_store_substitute)7},
         "on_failure is no ntapi_store_substitute"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(authenticator, &rows[i].sharing, rows[i].why);
    ntapi_token token = {.size = sizeof token};
    check_invalid(ntapi_authenticator_set_token_with(authenticator, &token));
    check_invalid(ntapi_authenticator_set_token_with(authenticator, NULL));
    token.text = "a";
    token.refresh_token = "\xff";
    check_invalid(ntapi_authenticator_set_token_with(authenticator, &token));
    token.refresh_token = NULL;
    token.size = 0;
    check_invalid(ntapi_authenticator_set_token_with(authenticator, &token));
    ntapi_store_free(store);
    ntapi_authenticator_free(authenticator);
}

/* Without the store, each process would refresh a token that the server accepts only once. */
static void without_the_sharing_that_was_asked_for_requests_fail(void **state) {
    (void)state;
    ntapi_store *store = ntapi_memory_store_create(NULL);
    const ntapi_token_sharing right = {.size = sizeof right, .store = store, .key = "a"};
    ntapi_token_sharing wrong = right;
    wrong.key = "a{";
    fleet shop;
    open_fleet(&shop, &right);
    expect_status(&shop, 0, "token/use", 200);
    check_invalid(ntapi_authenticator_share(shop.authenticators[0], &wrong, NULL));
    for (int round = 0; round < 2; round++) {
        ntapi_response *response = ask(&shop, shop.clients[0], "token/use", true);
        assert_int_equal(ntapi_error_code(ntapi_response_error(response)), NTAPI_CODE_INVALID_REQUEST);
        const char *message = ntapi_error_message(ntapi_response_error(response));
        assert_non_null(strstr(message, "ntapi_authenticator_share"));
        assert_non_null(strstr(message, "no braces"));
        ntapi_response_free(response);
        expect_status(&shop, 0, "token/expire", 200);
    }
    check_ok(ntapi_authenticator_share(shop.authenticators[0], &right, NULL));
    expect_status(&shop, 0, "token/use", 200);
    ntapi_store_free(store);
    close_fleet(&shop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refresh_for_all),
        cmocka_unit_test(while_the_store_fails),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(without_the_sharing_that_was_asked_for_requests_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
