/* Challenges of servers and proxies, and the answers to them. */
#include "support.h"

/** A handler's answers, and the decisions that it got. */
struct judge {
    const char *user, *password;
    bool trusts, for_session;
    int calls, failures;
    ntapi_challenge_kind challenge;
    char scheme[16], realm[64], host[64], reason[256], certificate[64];
    int port, certificates;
};

static void keep(char *to, size_t size, const char *text) {
    snprintf(to, size, "%s", text == NULL ? "(none)" : text);
}

static void decide(void *user_data, ntapi_decision *decision) {
    struct judge *judge = user_data;
    judge->calls++;
    assert_int_equal(ntapi_decision_get_kind(decision), NTAPI_DECISION_KIND_CHALLENGE);
    const ntapi_challenge *challenge = ntapi_decision_challenge(decision);
    const ntapi_response *response = ntapi_decision_response(decision);
    if (challenge->kind == NTAPI_CHALLENGE_KIND_SERVER)
        assert_int_equal(ntapi_response_status(response), 401);
    else
        assert_null(response); /* there is no response before TLS; the response to CONNECT is the proxy's */
    judge->challenge = challenge->kind;
    judge->failures = challenge->failures;
    judge->port = challenge->port;
    judge->certificates = (int)challenge->certificate_count;
    keep(judge->scheme, sizeof judge->scheme, challenge->scheme);
    keep(judge->realm, sizeof judge->realm, challenge->realm);
    keep(judge->host, sizeof judge->host, challenge->host);
    keep(judge->reason, sizeof judge->reason, challenge->reason);
    keep(judge->certificate, sizeof judge->certificate, judge->certificates > 0 ? challenge->certificates[0] : NULL);
    if (judge->trusts) {
        check_too_late(ntapi_decision_use_credential(decision, "a", "b", NTAPI_PERSISTENCE_NONE));
        check_ok(ntapi_decision_trust(decision, judge->for_session));
        check_too_late(ntapi_decision_trust(decision, judge->for_session));
    } else if (judge->user != NULL) {
        check_too_late(ntapi_decision_trust(decision, false));
        check_invalid(ntapi_decision_use_credential(decision, NULL, "b", NTAPI_PERSISTENCE_NONE));
        check_invalid(ntapi_decision_use_credential(decision, "a\n", "b", NTAPI_PERSISTENCE_NONE));
        check_ok(
            ntapi_decision_use_credential(decision, judge->user, judge->password,
                                          judge->for_session ? NTAPI_PERSISTENCE_FOR_SESSION : NTAPI_PERSISTENCE_NONE));
    }
    ntapi_decision_free(decision);
}

static ntapi_client *asking(const char *name, struct judge *judge) {
    ntapi_client *client = client_of(name);
    ntapi_hooks hooks = {.size = sizeof hooks, .decide = decide, .decisions = NTAPI_DECISION_KIND_CHALLENGE};
    check_ok(ntapi_client_set_hooks(client, &hooks, judge, NULL));
    return client;
}

static void a_server_asks(void **state) {
    (void)state;
    struct judge judge = {.user = "user", .password = "p\xc3\xa4ssword", .for_session = true};
    ntapi_client *client = asking("nginx", &judge);
    for (int i = 0; i < 3; i++)
        ntapi_json_free(fetch(client, "auth/small.json", NULL));
    assert_int_equal(judge.calls, 1);
    assert_int_equal(judge.challenge, NTAPI_CHALLENGE_KIND_SERVER);
    assert_string_equal(judge.scheme, "Basic");
    assert_string_equal(judge.realm, "test");
    assert_string_equal(judge.host, "127.0.0.1");
    assert_true(judge.port > 0);
    assert_string_equal(judge.certificate, "(none)");
    ntapi_client_free(client);

    judge = (struct judge){.user = "ann", .password = "pw"};
    client = asking("fault", &judge);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_form(args, "a", "b"));
    ntapi_json *seen = fetch(client, "digest/SHA-256?user=ann&password=pw", args);
    check_string(seen, "body", "a=b");
    ntapi_json_free(seen);
    assert_string_equal(judge.scheme, "Digest");
    ntapi_client_free(client);
}

static void it_is_asked_again_and_not_for_ever(void **state) {
    (void)state;
    struct judge judge = {.user = "user", .password = "wrong"};
    ntapi_client *client = asking("nginx", &judge);
    ntapi_response *response = perform(client, "auth/small.json", NULL);
    assert_int_equal(ntapi_response_status(response), 401);
    ntapi_response_free(response);
    assert_int_equal(judge.calls, 2);
    assert_int_equal(judge.failures, 1);
    judge.user = NULL;
    response = perform(client, "auth/small.json", NULL);
    assert_int_equal(ntapi_response_status(response), 401);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static void a_proxy_asks(void **state) {
    (void)state;
    char words[128];
    keep(words, sizeof words, server("proxy_credentials"));
    char *colon = strchr(words, ':');
    *colon = '\0';
    struct judge judge = {.user = words, .password = colon + 1};
    ntapi_client *client = asking("fault_tls", &judge);
    check_ok(ntapi_defaults_set_string(ntapi_client_defaults(client), NTAPI_DEFAULT_PROXY, server("proxy_auth")));
    check_ok(ntapi_defaults_set_string(ntapi_client_defaults(client), NTAPI_DEFAULT_CA_FILE, server("ca")));
    ntapi_json_free(fetch(client, "echo", NULL));
    assert_int_equal(judge.calls, 1);
    assert_int_equal(judge.challenge, NTAPI_CHALLENGE_KIND_PROXY);
    assert_string_equal(judge.reason, server("proxy_auth"));
    ntapi_client_free(client);
}

static void a_certificate_is_shown(void **state) {
    (void)state;
    struct judge judge = {.trusts = true, .for_session = true};
    ntapi_client *client = asking("tls_self_signed", &judge);
    for (int i = 0; i < 3; i++)
        ntapi_json_free(fetch(client, "echo", NULL));
    assert_int_equal(judge.calls, 1);
    assert_int_equal(judge.challenge, NTAPI_CHALLENGE_KIND_CERTIFICATE);
    assert_int_equal(judge.certificates, 1);
    assert_non_null(strstr(judge.certificate, "-----BEGIN CERTIFICATE-----"));
    assert_non_null(strstr(judge.reason, "certificate"));
    assert_string_equal(judge.scheme, "(none)");
    ntapi_client_free(client);

    judge = (struct judge){.trusts = false};
    client = asking("tls_self_signed", &judge);
    check_error(perform(client, "echo", NULL), NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_TLS);
    assert_int_equal(judge.calls, 1);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_asks),
        cmocka_unit_test(it_is_asked_again_and_not_for_ever),
        cmocka_unit_test(a_proxy_asks),
        cmocka_unit_test(a_certificate_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
