/*
 * A look-up that hangs must not delay other requests, its own timeout, a cancel, or the end of the process. Runs with
 * slow_resolver preloaded, which never resolves "stuck.invalid".
 */
#include "support.h"

#include <time.h>

/** Far longer than anything that does not wait for the look-up, and far shorter than the look-up. In seconds. */
static const double SOON = 60;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void its_own_timeout_ends_it(void **state) {
    (void)state;
    ntapi_client *client = ntapi_client_create(NULL, "http://stuck.invalid");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_CONNECT, 0.1));
    double begun = now();
    ntapi_response *response = ntapi_client_perform(client, "", args);
    assert_true(ntapi_error_code(ntapi_response_error(response)) == NTAPI_CODE_TIMEOUT);
    assert_true(now() - begun < SOON);
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void others_go_on_and_cancel_ends_it(void **state) {
    (void)state;
    ntapi_client *stuck = ntapi_client_create(NULL, "http://stuck.invalid");
    ntapi_client *client = client_of("fault");
    witness seen;
    witness_init(&seen);
    double begun = now();
    begin(stuck, "", NULL, &seen);
    ntapi_response *response = perform(client, "ok", NULL);
    assert_null(ntapi_response_error(response));
    ntapi_response_free(response);
    check_ok(ntapi_client_cancel_all(stuck));
    assert_int_equal(ntapi_client_drain(stuck, SOON), 0);
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    assert_true(now() - begun < SOON);
    witness_free(&seen);
    ntapi_client_free(client);
    ntapi_client_free(stuck);
}

/** Some versions of libcurl have fewer threads than these forty look-ups that hang. */
static void other_names_are_looked_up_meanwhile(void **state) {
    (void)state;
    enum { COUNT = 40 };
    char url[64];
    snprintf(url, sizeof url, "http://localhost%s", strrchr(server("fault"), ':'));
    ntapi_client *stuck = ntapi_client_create(NULL, "http://stuck.invalid");
    ntapi_client *client = ntapi_client_create(NULL, url);
    ntapi_args *args = background();
    witness seen, other;
    witness_init(&seen);
    witness_init(&other);
    for (int i = 0; i < COUNT; i++)
        begin(stuck, "", args, &seen);
    begin(client, "ok", args, &other);
    ntapi_args_free(args);
    witness_wait(&other, 1);
    assert_int_equal(witness_code(&other), NTAPI_CODE_NONE);
    check_ok(ntapi_client_cancel_all(stuck));
    witness_wait(&seen, COUNT);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    witness_free(&seen);
    witness_free(&other);
    ntapi_client_free(client);
    ntapi_client_free(stuck);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_timeout_ends_it),
        cmocka_unit_test(others_go_on_and_cancel_ends_it),
        cmocka_unit_test(other_names_are_looked_up_meanwhile),
    };
    /* ctest checks that the process ends in time, although look-ups still hang at its exit. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
