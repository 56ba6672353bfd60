/* fork in each wait of a request. The child does not touch the request, and in the parent it continues. */
#include "interceptors.h"

#include <sys/wait.h>
#include <unistd.h>

enum wait {
    EXCHANGE,
    PAUSE,
    RATE_LIMIT,
    TOKEN,
    OTHER_TOKEN,
    REDIRECT,
    RESPONSE,
    RETRY,
    CHALLENGE,
    CACHE,
    CALL_INTERCEPTOR,
    ATTEMPT_INTERCEPTOR,
    ANSWER_INTERCEPTOR,
    DATA_HANDLER,
    WAITS
};

/** A request that waits, and what it waits for. */
typedef struct scene {
    enum wait wait;
    ntapi_client *client;
    ntapi_manual_clock *clock;
    ntapi_request *request;
    witness seen;
    interceptor interceptor;
    sem_t asked;    /* posted when the program is asked */
    sem_t may_read; /* lets the data handler return */
    ntapi_decision *decision;
    ntapi_refresh *refresh;
} scene;

static void keep_decision(void *user_data, ntapi_decision *decision) {
    scene *self = user_data;
    self->decision = decision;
    sem_post(&self->asked);
}

static void keep_refresh(void *user_data, ntapi_refresh *refresh) {
    scene *self = user_data;
    self->refresh = refresh;
    sem_post(&self->asked);
}

static void block(void *user_data, const char *bytes, size_t length) {
    (void)bytes, (void)length;
    scene *self = user_data;
    sem_post(&self->asked);
    while (sem_wait(&self->may_read) != 0)
        continue;
}

static void keep_interception(interceptor *self, ntapi_interception *interception) {
    scene *owner = (scene *)((char *)self - offsetof(scene, interceptor));
    self->kept = interception;
    sem_post(&owner->asked);
}

/** Adds an answer to a rule. The value may be NULL. */
static void answer(ntapi_stub_rule *rule, int status, const char *name, const char *value, double delay) {
    char line[200];
    const char *headers[] = {line, NULL};
    ntapi_stub_answer made = {
        .size = sizeof made, .status = status, .body = "body", .content_type = "text/plain", .delay = delay};
    if (value != NULL) {
        snprintf(line, sizeof line, "%s: %s", name, value);
        made.headers = headers;
    }
    check_ok(ntapi_stub_rule_answer(rule, &made, NULL));
}

static ntapi_stub *stub_for(enum wait wait) {
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *other = ntapi_stub_on(stub, "GET", "other");
    answer(other, 200, NULL, NULL, 0);
    ntapi_stub_rule_free(other);
    ntapi_stub_rule *rule = ntapi_stub_on(stub, "GET", "way");
    if (wait == PAUSE || wait == RETRY)
        answer(rule, 503, NULL, NULL, 0);
    if (wait == OTHER_TOKEN)
        answer(rule, 401, NULL, NULL, 0);
    if (wait == REDIRECT)
        answer(rule, 302, "Location", "/other", 0);
    else if (wait == CHALLENGE)
        answer(rule, 401, "WWW-Authenticate", "Basic realm=r", 0);
    else
        answer(rule, 200, "Cache-Control", "max-age=60", wait == EXCHANGE ? 5 : 0);
    ntapi_stub_rule_free(rule);
    return stub;
}

static ntapi_client *cached_client(void) {
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_EPHEMERAL, NULL);
    ntapi_cache *cache = ntapi_cache_create(1 << 20, 0, NULL);
    check_ok(ntapi_configuration_set_cache(configuration, cache));
    ntapi_client *client = ntapi_client_create_with_configuration(NULL, "https://api.example", configuration);
    ntapi_cache_free(cache);
    ntapi_configuration_free(configuration);
    return client;
}

/** Makes the requests of the client wait at that place. */
static void set_up_client(scene *self) {
    if (self->wait == RATE_LIMIT) {
        ntapi_rate_limiter *limiter = ntapi_rate_limiter_create(1, 4, 1, 60);
        check_ok(ntapi_rate_limiter_pause(limiter, 4));
        check_ok(ntapi_client_set_rate_limiter(self->client, limiter));
        ntapi_rate_limiter_free(limiter);
    }
    if (self->wait == TOKEN || self->wait == OTHER_TOKEN) {
        ntapi_authenticator *authenticator = ntapi_authenticator_create(NULL, keep_refresh, self, NULL, NULL);
        if (self->wait == OTHER_TOKEN)
            check_ok(ntapi_authenticator_set_token(authenticator, "old", -1));
        check_ok(ntapi_client_set_authenticator(self->client, authenticator));
        ntapi_authenticator_free(authenticator);
    }
    if (self->wait >= CALL_INTERCEPTOR && self->wait <= ANSWER_INTERCEPTOR) {
        if (self->wait == ANSWER_INTERCEPTOR) {
            self->interceptor.request = send_on;
            self->interceptor.response = keep_interception;
        } else {
            self->interceptor.request = keep_interception;
        }
        bool is_call = self->wait == CALL_INTERCEPTOR;
        add_to_client(self->client, is_call ? NTAPI_INTERCEPTOR_SCOPE_CALL : NTAPI_INTERCEPTOR_SCOPE_ATTEMPT,
                      &self->interceptor);
    }
}

/** Begins the request, and returns when it waits. */
static void begin_scene(scene *self, enum wait wait) {
    memset(self, 0, sizeof *self);
    self->wait = wait;
    witness_init(&self->seen);
    interceptor_init(&self->interceptor);
    self->interceptor.expected_ends = -1;
    sem_init(&self->asked, 0, 0);
    sem_init(&self->may_read, 0, 0);
    self->client = cached_client();
    self->clock = ntapi_manual_clock_create(0);
    ntapi_stub *stub = stub_for(wait);
    check_ok(ntapi_client_set_log_flags(self->client, NTAPI_LOG_NONE));
    check_ok(ntapi_client_set_stub(self->client, stub));
    check_ok(ntapi_client_set_clock(self->client, self->clock));
    ntapi_stub_free(stub);
    set_up_client(self);
    ntapi_args *args = background();
    check_ok(ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""));
    if (wait == PAUSE || wait == RETRY) {
        ntapi_retry_policy policy = NTAPI_RETRY_POLICY_INIT;
        policy.attempts = 2;
        policy.base = wait == PAUSE ? 3 : 0.001;
        check_ok(ntapi_args_retry(args, &policy));
    }
    self->request = ntapi_client_create_request(self->client, "way", args);
    ntapi_args_free(args);
    check_ok(ntapi_request_set_handler(self->request, witness_response, &self->seen, witness_destroy));
    static const int kinds[WAITS] = {
        [REDIRECT] = NTAPI_DECISION_KIND_REDIRECT, [RESPONSE] = NTAPI_DECISION_KIND_RESPONSE,
        [RETRY] = NTAPI_DECISION_KIND_RETRY,       [CHALLENGE] = NTAPI_DECISION_KIND_CHALLENGE,
        [CACHE] = NTAPI_DECISION_KIND_CACHE,
    };
    if (kinds[wait] != 0)
        check_ok(ntapi_request_set_decision_handler(self->request, kinds[wait], keep_decision, self, NULL));
    if (wait == DATA_HANDLER)
        check_ok(ntapi_request_set_data_handler(self->request, block, self, NULL));
    check_ok(ntapi_request_resume(self->request));
    if (wait == EXCHANGE || wait == PAUSE || wait == RATE_LIMIT)
        check_ok(ntapi_manual_clock_wait_for_sleepers(self->clock, 1, PATIENCE));
    else
        while (sem_wait(&self->asked) != 0)
            continue;
}

/** Lets the request continue. */
static void go_on(scene *self) {
    if (self->decision != NULL)
        check_ok(ntapi_decision_proceed(self->decision));
    if (self->refresh != NULL)
        check_ok(ntapi_refresh_succeed(self->refresh, "new", -1));
    if (self->interceptor.kept != NULL)
        check_ok(ntapi_interception_proceed(self->interceptor.kept));
    if (self->wait == RETRY)
        check_ok(ntapi_manual_clock_wait_for_sleepers(self->clock, 1, PATIENCE));
    check_ok(ntapi_manual_clock_advance(self->clock, 6));
    sem_post(&self->may_read);
}

static void free_what_was_asked(scene *self) {
    ntapi_decision_free(self->decision);
    ntapi_refresh_free(self->refresh);
    ntapi_interception_free(self->interceptor.kept);
    self->interceptor.kept = NULL;
    ntapi_request_free(self->request);
    ntapi_client_free(self->client);
    ntapi_manual_clock_free(self->clock);
}

/** In the child: returns 0 if nothing that it does reaches the request, and its own request succeeds. */
static int leave_it_alone(scene *self) {
    if (ntapi_request_wait(self->request, 1) != NTAPI_STATUS_INVALID_STATE)
        return 1;
    if (ntapi_request_suspend(self->request) == NTAPI_STATUS_OK ||
        ntapi_request_resume(self->request) == NTAPI_STATUS_OK ||
        ntapi_request_cancel(self->request) == NTAPI_STATUS_OK)
        return 2;
    ntapi_client_cancel_all(self->client);
    if (self->decision != NULL && ntapi_decision_proceed(self->decision) == NTAPI_STATUS_OK)
        return 3;
    if (self->refresh != NULL)
        ntapi_refresh_succeed(self->refresh, "new", -1);
    if (self->interceptor.kept != NULL && ntapi_interception_proceed(self->interceptor.kept) == NTAPI_STATUS_OK)
        return 4;
    if (ntapi_client_drain(self->client, 1) != 0)
        return 5;
    ntapi_client *client = ntapi_client_create(NULL, server("fault"));
    ntapi_response *response = ntapi_client_perform(client, "ok", NULL);
    int status = ntapi_response_status(response);
    ntapi_response_free(response);
    ntapi_client_free(client);
    free_what_was_asked(self);
    if (status != 200)
        return 6;
    return self->seen.responses == 0 && self->seen.destroys == 0 && self->interceptor.destroys == 0 ? 0 : 7;
}

static void a_fork_in_a_wait_changes_nothing(void **state) {
    (void)state;
    for (int wait = 0; wait < WAITS; wait++) {
        static scene scene; /* outlives a failed test, whose request continues */
        begin_scene(&scene, (enum wait)wait);
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm((unsigned)PATIENCE);
            _exit(leave_it_alone(&scene));
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("wait %d: the child ended with status %#x", wait, (unsigned)status);
        go_on(&scene);
        check_ok(ntapi_request_wait(scene.request, PATIENCE));
        witness_wait(&scene.seen, 1);
        witness_check_once(&scene.seen);
        int expected = wait == CHALLENGE ? 401 : 200;
        assert_int_equal(ntapi_response_status(scene.seen.response), expected);
        free_what_was_asked(&scene);
        witness_free(&scene.seen);
        interceptor_finish(&scene.interceptor);
        sem_destroy(&scene.asked);
        sem_destroy(&scene.may_read);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fork_in_a_wait_changes_nothing)};
    server("fault"); /* read before the children need it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
