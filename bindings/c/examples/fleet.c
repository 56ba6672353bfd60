/*
 * fleet.c - ten requests a second, for all processes together: start it several times, in any language.
 *
 *   fleet http://127.0.0.1:PORT redis://127.0.0.1:6379 [REQUESTS]
 */
#include <ntapi_redis.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t ended;

static void show(void *user_data, const ntapi_response *response) {
    const ntapi_error *error = ntapi_response_error(response);
    printf("request %ld: %s\n", (long)(intptr_t)user_data, error == NULL ? "done" : ntapi_error_message(error));
    fflush(stdout);
    sem_post(&ended);
}

static int complain(ntapi_error *error) {
    fprintf(stderr, "error: %s\n", ntapi_error_message(error));
    ntapi_error_free(error);
    return 1;
}

/** A limiter of ten requests a second, whose store is freed with it. */
static ntapi_rate_limiter *make_limiter(const char *url, ntapi_error **error) {
    const ntapi_redis_options server = {.size = sizeof server, .url = url};
    ntapi_store *store = ntapi_redis_store_create(&server, error);
    if (store == NULL)
        return NULL;
    ntapi_rate_limit limit = NTAPI_RATE_LIMIT_INIT;
    limit.requests = 10;
    const ntapi_rate_limiter_options options = {
        .size = sizeof options, .limits = &limit, .limit_count = 1, .store = store, .key = "fleet"};
    ntapi_rate_limiter *limiter = ntapi_rate_limiter_create_with(&options, error);
    ntapi_store_free(store);
    return limiter;
}

int main(int argc, char **argv) {
    long count = argc > 3 ? strtol(argv[3], NULL, 10) : 100;
    if (argc < 3 || argc > 4 || count < 1 || count > 100000) {
        fprintf(stderr, "usage: fleet URL STORE [REQUESTS]\n");
        return 2;
    }
    ntapi_error *error = NULL;
    ntapi_rate_limiter *limiter = make_limiter(argv[2], &error);
    if (limiter == NULL)
        return complain(error);
    ntapi_client *client = ntapi_client_create(NULL, argv[1]);
    if (ntapi_client_set_rate_limiter(client, limiter) != NTAPI_STATUS_OK)
        return 1;
    ntapi_rate_limiter_free(limiter);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_thread(args, NTAPI_HANDLER_ALL, NTAPI_THREAD_BACKGROUND);

    sem_init(&ended, 0, 0);
    for (long number = 1; number <= count; number++)
        ntapi_request_free(ntapi_client_begin(client, "echo", args, show, (void *)(intptr_t)number, NULL));
    for (long number = 1; number <= count; number++)
        sem_wait(&ended);

    ntapi_args_free(args);
    ntapi_client_free(client);
    return 0;
}
