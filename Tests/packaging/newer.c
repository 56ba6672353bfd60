/*
 * A program of a later version, with the library of today. check_frozen.py compiles it against headers whose structs
 * have three members more at their end: later_1, later_2 and later_3. The library refuses a struct with a value in one
 * of them, and says which struct it is.
 */
#include <stdio.h>
#include <string.h>

#include "ntapi.h"
#include "ntapi_store.h"
#include "ntapi_testing.h"

static int failures;

static void check_at(int line, const char *what, bool is_right) {
    if (is_right)
        return;
    failures++;
    fprintf(stderr, "line %d: %s\n", line, what);
}
#define check(condition) check_at(__LINE__, #condition, condition)

/** Whether an error names this struct and says what to do. Frees the error. */
static bool is_refused(const ntapi_error *error, const char *name) {
    const char *message = ntapi_error_message(error);
    char expected[128];
    snprintf(expected, sizeof expected, "%s has a value in a member that libntapi %s does not know", name,
             ntapi_version());
    bool is_right = ntapi_error_code(error) == NTAPI_CODE_INVALID_REQUEST && strstr(message, expected) != NULL &&
                    strstr(message, "leave that member 0, or use a newer libntapi") != NULL;
    if (!is_right)
        fprintf(stderr, "%s: %s\n", name, message);
    return is_right;
}

static bool frees_as_refused(ntapi_error *error, const char *name) {
    bool is_right = is_refused(error, name);
    ntapi_error_free(error);
    return is_right;
}

static void refresh(void *user_data, ntapi_refresh *refresh) {
    (void)user_data;
    ntapi_refresh_free(refresh);
}

/** Whether the client's requests fail because of this struct. */
static bool fails_by(ntapi_client *client, const ntapi_args *args, const char *name) {
    ntapi_response *response = ntapi_client_perform(client, "a", args);
    bool is_right = is_refused(ntapi_response_error(response), name);
    ntapi_response_free(response);
    return is_right;
}

static void hooks(ntapi_client *client) {
    ntapi_hooks hooks = {.size = sizeof hooks, .later_2 = &failures};
    check(ntapi_client_set_hooks(client, &hooks, NULL, NULL) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(fails_by(client, NULL, "ntapi_hooks"));
    hooks.later_2 = NULL;
    check(ntapi_client_set_hooks(client, &hooks, NULL, NULL) == NTAPI_STATUS_OK);
}

static void retry_policy(ntapi_client *client) {
    ntapi_args *args = ntapi_args_create();
    ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
    check(ntapi_args_retry(args, &policy) == NTAPI_STATUS_OK);
    policy.later_3 = &failures;
    check(ntapi_args_retry(args, &policy) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(fails_by(client, args, "ntapi_retry_policy"));
    ntapi_args_free(args);
}

static void stub_answer(ntapi_client *client, ntapi_stub *stub) {
    ntapi_error *error = NULL;
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, "a");
    ntapi_stub_answer answer = {.size = sizeof answer, .later_1 = &failures};
    check(ntapi_stub_rule_answer(rule, &answer, &error) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(frees_as_refused(error, "ntapi_stub_answer"));
    check(fails_by(client, NULL, "ntapi_stub_answer"));
    ntapi_stub_rule_free(rule);
}

static void authenticator_options(void) {
    ntapi_error *error = NULL;
    ntapi_authenticator_options options = {.size = sizeof options, .later_3 = &failures};
    check(ntapi_authenticator_create(&options, refresh, NULL, NULL, &error) == NULL);
    check(frees_as_refused(error, "ntapi_authenticator_options"));
}

static void protection_space(void) {
    ntapi_error *error = NULL;
    ntapi_credential_storage *storage = ntapi_credential_storage_create(NULL);
    ntapi_protection_space space = {.size = sizeof space,
                                    .scheme = "https",
                                    .host = "a.test",
                                    .port = 443,
                                    .authentication = NTAPI_AUTHENTICATION_BASIC,
                                    .later_2 = &failures};
    check(ntapi_credential_storage_set(storage, &space, "ann", "x", &error) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(frees_as_refused(error, "ntapi_protection_space"));
    check(ntapi_credential_storage_get(storage, &space, &error) == NULL);
    check(frees_as_refused(error, "ntapi_protection_space"));
    check(ntapi_credential_storage_remove(storage, &space, NULL, &error) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(frees_as_refused(error, "ntapi_protection_space"));
    ntapi_credential_storage_free(storage);
}

struct day {
    double day;
};

static void fields(void) {
    static const ntapi_field end = NTAPI_FIELD_END;
    ntapi_custom_date_format format = {.size = sizeof format, .name = "day 1", .later_1 = &failures};
    ntapi_field fields[] = {NTAPI_FIELD_DOUBLE(struct day, day, "day", NTAPI_FIELD_FLAG_REQUIRED), end};
    struct day day = {1};
    ntapi_error *error = NULL;
    fields[0].later_3 = &failures;
    check(ntapi_json_encode(fields, &day, sizeof day, &error) == NULL);
    check(frees_as_refused(error, "field 0: ntapi_field"));
    const ntapi_field dates[] = {NTAPI_FIELD_CUSTOM_DATE(struct day, day, "day", 0, &format), end};
    check(ntapi_json_encode(dates, &day, sizeof day, &error) == NULL);
    check(frees_as_refused(error, "field \"day\": ntapi_custom_date_format"));
}

static void limits(void) {
    ntapi_rate_limit limits[] = {NTAPI_RATE_LIMIT_INIT, NTAPI_RATE_LIMIT_INIT};
    limits[0].requests = limits[1].requests = 1;
    ntapi_rate_limiter_options options = {.size = sizeof options, .limits = limits, .limit_count = 2};
    ntapi_error *error = NULL;
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, NULL);
    check(limiter != NULL);
    ntapi_rate_limiter_free(limiter);
    options.later_1 = &failures;
    check(ntapi_rate_limiter_create_with(&options, &error) == NULL);
    check(frees_as_refused(error, "ntapi_rate_limiter_options"));
    options.later_1 = NULL;
    /* The library goes from one limit to the next by the limits' own size. */
    limits[1].later_3 = &failures;
    check(ntapi_rate_limiter_create_with(&options, &error) == NULL);
    check(frees_as_refused(error, "ntapi_rate_limit"));
    const ntapi_store_functions functions = {.size = sizeof functions, .later_2 = &failures};
    check(ntapi_store_create(&functions, NULL, NULL, &error) == NULL);
    check(frees_as_refused(error, "ntapi_store_functions"));
}

static void tokens(void) {
    ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, refresh, NULL, NULL, NULL);
    ntapi_store *store = ntapi_memory_store_create(NULL);
    ntapi_token_sharing sharing = {.size = sizeof sharing, .store = store, .key = "a"};
    ntapi_token token = {.size = sizeof token, .text = "a"};
    ntapi_error *error = NULL;
    check(ntapi_authenticator_share(authenticator, &sharing, NULL) == NTAPI_STATUS_OK);
    check(ntapi_authenticator_set_token_with(authenticator, &token) == NTAPI_STATUS_OK);
    sharing.later_1 = &failures;
    check(ntapi_authenticator_share(authenticator, &sharing, &error) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(frees_as_refused(error, "ntapi_token_sharing"));
    token.later_1 = &failures;
    check(ntapi_authenticator_set_token_with(authenticator, &token) == NTAPI_STATUS_INVALID_ARGUMENT);
    ntapi_store_free(store);
    ntapi_authenticator_free(authenticator);
}

static void caches(void) {
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    ntapi_store *store = ntapi_memory_store_create(NULL);
    ntapi_cache_sharing sharing = {.size = sizeof sharing, .store = store, .key = "a"};
    ntapi_error *error = NULL;
    check(ntapi_cache_share(cache, &sharing, NULL) == NTAPI_STATUS_OK);
    sharing.later_1 = &failures;
    check(ntapi_cache_share(cache, &sharing, &error) == NTAPI_STATUS_INVALID_ARGUMENT);
    check(frees_as_refused(error, "ntapi_cache_sharing"));
    ntapi_store_free(store);
    ntapi_cache_free(cache);
}

int main(void) {
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_client *client = ntapi_client_create(NULL, "https://api.test");
    check(ntapi_client_set_stub(client, stub) == NTAPI_STATUS_OK);
    hooks(client);
    retry_policy(client);
    stub_answer(client, stub);
    authenticator_options();
    protection_space();
    fields();
    limits();
    tokens();
    caches();
    ntapi_client_free(client);
    ntapi_stub_free(stub);
    return failures == 0 ? 0 : 1;
}
