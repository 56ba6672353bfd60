/* tour_threads.c - a step of the tour: a handler on each kind of thread. */
#include "tour.h"

#include <pthread.h>
#include <stdio.h>

static _Thread_local const char *thread_name = "a worker thread of the library";

static void print_thread(void *asked_for, const ntapi_response *response) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock); /* these handlers run on four threads */
    if (succeeded(response, NULL))
        printf("   %-10s ran on %s\n", (const char *)asked_for, thread_name);
    pthread_mutex_unlock(&lock);
}

static void begin_and_free(ntapi_client *client, ntapi_args *args, char *asked_for) {
    ntapi_request *request = ntapi_client_begin(client, "echo", args, print_thread, asked_for, NULL);
    ntapi_request_wait(request, -1);
    ntapi_request_free(request);
    ntapi_args_free(args);
}

static void *thread_with_a_mailbox(void *client) {
    thread_name = "the thread that began it";
    ntapi_args *args = ntapi_args_create();
    ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_CURRENT);
    begin_and_free(client, args, "current"); /* waiting runs the thread's mailbox */
    return NULL;
}

static void *run_job(void *job) {
    thread_name = "the executor's thread";
    ntapi_job_run(job);
    return NULL;
}

/** An executor: gets each job and runs it anywhere, here on a new thread. */
static void submit(void *thread, ntapi_job *job) {
    pthread_create(thread, NULL, run_job, job);
}

void threads(ntapi_client *client) {
    heading(8, "A handler on each kind of thread");
    thread_name = "the main thread";
    begin_and_free(client, ntapi_args_create(), "main");

    ntapi_args *args = ntapi_args_create();
    ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_BACKGROUND);
    begin_and_free(client, args, "background");

    pthread_t thread;
    pthread_create(&thread, NULL, thread_with_a_mailbox, client);
    pthread_join(thread, NULL);

    ntapi_executor *executor = ntapi_executor_create(submit, &thread, NULL);
    args = ntapi_args_create();
    ntapi_args_executor(args, NTAPI_HANDLER_RESPONSE, executor);
    begin_and_free(client, args, "executor");
    pthread_join(thread, NULL);
    ntapi_executor_free(executor);
}
