/* Which proxy a request uses: the one of the environment, which is read once, or the one of a setting. Each case is
 * a process. */
#include "child.h"
#include "session.h"
#include "support.h"

#include <unistd.h>

/** What the exit status of a child means. */
enum way { DIRECT, THROUGH, REFUSED, LOST };

/** The URL of a server or a proxy, by its placeholder in the cases. The last one does not exist. */
static const char *place(const char *word, char text[static 128]) {
    snprintf(text, 128, "%s", word);
    if (strcmp(word, "OPEN") == 0)
        snprintf(text, 128, "%s", server("proxy"));
    else if (strcmp(word, "GUARDED") == 0)
        snprintf(text, 128, "%s", server("proxy_auth"));
    else if (strcmp(word, "ADMITTING") == 0)
        snprintf(text, 128, "http://%s@%s", server("proxy_credentials"), server("proxy_auth") + strlen("http://"));
    else if (strcmp(word, "NOBODY") == 0)
        snprintf(text, 128, "%s", nobody());
    return text;
}

/** Runs in its own process. The arguments are a server, a URL where nothing listens, and settings as pairs of a name
 * and a value. */
static int child(char **argument) {
    ntapi_configuration *configuration = ephemeral();
    set_string(configuration, NTAPI_DEFAULT_CA_FILE, server("ca"));
    const char *name = *argument++, *elsewhere = *argument++;
    for (; argument[0] != NULL; argument += 2)
        set_string(configuration, argument[0], argument[1]);
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, server(name), configuration);
    check_ok(ntapi_client_set_log_flags(client, NTAPI_LOG_NONE));
    /* This comes too late: the environment was read when the client was made. */
    setenv("http_proxy", elsewhere, 1);
    setenv("https_proxy", elsewhere, 1);
    setenv("all_proxy", elsewhere, 1);
    ntapi_response *response = perform(client, "ok", NULL);
    const char *message = ntapi_error_message(ntapi_response_error(response));
    enum way way = LOST;
    if (ntapi_response_status(response) == 407 || (message != NULL && strstr(message, "407") != NULL))
        way = REFUSED;
    else if (ntapi_response_status(response) == 200)
        way = ntapi_headers_get(ntapi_response_headers(response), "Via") != NULL ? THROUGH : DIRECT;
    ntapi_response_free(response);
    ntapi_configuration_free(configuration);
    ntapi_client_free(client);
    return way;
}

struct situation {
    const char *server;
    const char *variables[3][2];
    const char *settings[3][2];
    enum way way;
};

/** Which way a request takes in a process with these variables, and with no others about proxies. */
static enum way way_in(const struct situation *it) {
    static const char *const none[] = {"http_proxy=", "https_proxy=", "HTTPS_PROXY=", "all_proxy=",
                                       "ALL_PROXY=",  "no_proxy=",    "NO_PROXY=",    "HTTP_PROXY="};
    enum { NONE = sizeof none / sizeof *none };
    char lines[3][160], values[3][128], text[128];
    const char *variables[3 + NONE + 1] = {0}, *arguments[9] = {it->server, nobody()};
    size_t count = 0, words = 2;
    for (; count < 3 && it->variables[count][0] != NULL; count++) {
        const char *value = place(it->variables[count][1], text);
        snprintf(lines[count], sizeof lines[count], "%s=%s", it->variables[count][0], value);
        variables[count] = lines[count];
    }
    memcpy(variables + count, none, sizeof none);
    for (size_t i = 0; i < 3 && it->settings[i][0] != NULL; i++) {
        arguments[words++] = it->settings[i][0];
        arguments[words++] = place(it->settings[i][1], values[i]);
    }
    return run_child(arguments, variables);
}

static void check(const struct situation *situations, size_t count) {
    for (size_t i = 0; i < count; i++) {
        enum way way = way_in(&situations[i]);
        if (way != situations[i].way)
            fail_msg("case %zu: %d, not %d", i, way, situations[i].way);
    }
}

static void of_the_environment(void **state) {
    (void)state;
    const struct situation situations[] = {
        {"fault", {{0}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "OPEN"}}, {{0}}, THROUGH},
        {"fault", {{"http_proxy", "GUARDED"}}, {{0}}, REFUSED},
        {"fault", {{"http_proxy", "ADMITTING"}}, {{0}}, THROUGH},
        /* A CGI server sets it from a request's Proxy header, so it is not a setting. */
        {"fault", {{"HTTP_PROXY", "NOBODY"}}, {{0}}, DIRECT},
        {"fault", {{"https_proxy", "NOBODY"}, {"HTTPS_PROXY", "NOBODY"}}, {{0}}, DIRECT},
        {"fault", {{"all_proxy", "OPEN"}}, {{0}}, THROUGH},
        {"fault", {{"ALL_PROXY", "OPEN"}}, {{0}}, THROUGH},
        {"fault", {{"http_proxy", "OPEN"}, {"all_proxy", "NOBODY"}}, {{0}}, THROUGH},
        {"fault_tls", {{"http_proxy", "NOBODY"}}, {{0}}, DIRECT},
        {"fault_tls", {{"https_proxy", "GUARDED"}}, {{0}}, REFUSED},
        {"fault_tls", {{"HTTPS_PROXY", "GUARDED"}}, {{0}}, REFUSED},
        {"fault_tls", {{"https_proxy", "ADMITTING"}, {"HTTPS_PROXY", "NOBODY"}}, {{0}}, DIRECT},
        {"fault_tls", {{"all_proxy", "GUARDED"}}, {{0}}, REFUSED},
        {"fault", {{"http_proxy", "NOBODY"}, {"no_proxy", "127.0.0.1"}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "NOBODY"}, {"NO_PROXY", "example.test,127.0.0.1"}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "NOBODY"}, {"no_proxy", "127.0.0.0/8"}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "NOBODY"}, {"no_proxy", "*.corp.example 10.0.0.0/33,127.1.2.3/8"}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "OPEN"}, {"no_proxy", "::/0"}}, {{0}}, THROUGH},
        {"fault_tls", {{"https_proxy", "NOBODY"}, {"no_proxy", "*"}}, {{0}}, DIRECT},
        {"fault", {{"http_proxy", "OPEN"}, {"no_proxy", "example.test"}, {"NO_PROXY", "*"}}, {{0}}, THROUGH},
    };
    check(situations, sizeof situations / sizeof *situations);
}

static void a_setting_wins(void **state) {
    (void)state;
    char user[64], *password;
    snprintf(user, sizeof user, "%s", server("proxy_credentials"));
    password = strchr(user, ':');
    *password++ = '\0';
    const struct situation situations[] = {
        /* A setting also replaces the environment's list of exceptions. */
        {"fault", {{"http_proxy", "NOBODY"}, {"no_proxy", "127.0.0.1"}}, {{NTAPI_DEFAULT_PROXY, "OPEN"}}, THROUGH},
        {"fault", {{"http_proxy", "NOBODY"}}, {{NTAPI_DEFAULT_PROXY, ""}}, DIRECT},
        {"fault_tls", {{"https_proxy", "NOBODY"}}, {{NTAPI_DEFAULT_PROXY, ""}}, DIRECT},
        {"fault", {{"http_proxy", "NOBODY"}}, {{NTAPI_DEFAULT_PROXY_EXCEPTIONS, "127.0.0.1"}}, DIRECT},
        {"fault", {{"http_proxy", "OPEN"}, {"no_proxy", "*"}}, {{NTAPI_DEFAULT_PROXY_EXCEPTIONS, ""}}, THROUGH},
        {"fault",
         {{"http_proxy", "GUARDED"}},
         {{NTAPI_DEFAULT_PROXY_USER, user}, {NTAPI_DEFAULT_PROXY_PASSWORD, password}},
         THROUGH},
    };
    check(situations, sizeof situations / sizeof *situations);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return child(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_environment),
        cmocka_unit_test(a_setting_wins),
    };
    return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
