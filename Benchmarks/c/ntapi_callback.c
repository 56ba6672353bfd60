/*
 * ntapi_callback.c - ours, with callbacks on the main thread; each handler begins the next request.
 */
#include "ntapi_common.h"

/** Where the work stands; only the main thread touches it. */
typedef struct work {
    const options *options;
    ntapi_client *client;
    ntapi_args *args;
    ntapi_mailbox *mailbox;
    long begun, done, count;
} work;

static void finished(void *user_data, const ntapi_response *response);

static void begin(work *work) {
    work->begun++;
    ntapi_request_free(ntapi_client_begin(work->client, work->options->path, work->args, finished, work, NULL));
}

static void finished(void *user_data, const ntapi_response *response) {
    work *work = user_data;
    response_check(response, work->options);
    work->done++;
    if (work->begun < work->count)
        begin(work);
    if (work->done == work->count)
        ntapi_mailbox_stop(work->mailbox);
}

static void run(work *work, long count) {
    work->begun = work->done = 0;
    work->count = count;
    for (long i = 0; i < work->options->concurrency && work->begun < count; i++)
        begin(work);
    ntapi_mailbox_run(work->mailbox, -1);
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    work work = {.options = &options, .client = client_create(&options), .args = args_create(&options)};
    work.mailbox = ntapi_mailbox_main();

    hang(&options);
    run(&work, options.warmup);
    meters_start();
    run(&work, options.count);
    meters_report(work.done);

    ntapi_mailbox_free(work.mailbox);
    ntapi_args_free(work.args);
    ntapi_client_free(work.client);
    return 0;
}
