/*
 * ntapi_hold.c - ours with thousands of requests in flight at once.
 *
 *   hold    the slow server has all of them; the memory is read; it answers; none may be lost
 *   cancel  the slow server has all of them; each is cancelled, which is what is measured; each handler must be called
 */
#include <stdio.h>
#include <stdlib.h>

#include "ntapi_common.h"

typedef struct work {
    options options;
    ntapi_client *client;
    ntapi_mailbox *mailbox;
    ntapi_request **requests;
    long ended;
} work;

static void count_end(work *work) {
    if (++work->ended == work->options.count)
        ntapi_mailbox_stop(work->mailbox);
}

static void answered(void *user_data, const ntapi_response *response) {
    work *work = user_data;
    response_check(response, &work->options);
    count_end(work);
}

static void cancelled(void *user_data, const ntapi_response *response) {
    if (ntapi_error_code(ntapi_response_error(response)) != NTAPI_CODE_CANCELLED)
        fail("not cancelled");
    count_end(user_data);
}

/** Performs one request that is answered at once, or when the slow server has all the others. */
static void ask(const work *work, const char *path) {
    ntapi_response *response = ntapi_client_perform(work->client, path, NULL);
    response_check(response, &work->options);
    ntapi_response_free(response);
}

int main(int argc, char **argv) {
    work work = {.options = options_read(argc, argv), .mailbox = ntapi_mailbox_main()};
    work.client = client_create(&work.options);
    long count = work.options.count;
    work.requests = calloc((size_t)count, sizeof *work.requests);
    if (work.requests == NULL)
        fail("out of memory");
    bool is_cancel = options_are(&work.options, "cancel");
    ask(&work, "anything");
    if (!is_cancel)
        meters_start();

    for (long i = 0; i < count; i++) {
        work.requests[i] = ntapi_client_begin(work.client, is_cancel ? "hang" : "hold", NULL,
                                              is_cancel ? cancelled : answered, &work, NULL);
    }
    char path[64];
    snprintf(path, sizeof path, "arrived/%ld", count);
    ask(&work, path);

    if (is_cancel) {
        meters_start();
        for (long i = 0; i < count; i++)
            ntapi_request_cancel(work.requests[i]);
    } else {
        report_number("held_rss_kb", (double)memory_kb("VmRSS"));
        ask(&work, "release");
    }
    if (work.ended < count)
        ntapi_mailbox_run(work.mailbox, -1);
    meters_report(work.ended);
    return 0;
}
