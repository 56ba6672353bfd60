/*
 * ntapi_pull.c - ours without callbacks: responses are taken from a mailbox, many in a call, and as many requests are
 * begun anew.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "ntapi_common.h"

enum { ROOM = 64 };

static void begin(ntapi_client *client, const options *options, const ntapi_args *args) {
    ntapi_request *request = ntapi_client_create_request(client, options->path, args);
    if (ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE, NULL) != NTAPI_STATUS_OK)
        abort();
    ntapi_request_resume(request);
    ntapi_request_free(request);
}

static void run(ntapi_client *client, const options *options, const ntapi_args *args, ntapi_mailbox *mailbox,
                long count) {
    struct pollfd descriptor = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    long begun = 0;
    for (; begun < options->concurrency && begun < count; begun++)
        begin(client, options, args);
    for (long done = 0; done < count;) {
        if (poll(&descriptor, 1, -1) < 0)
            fail("poll: %s", strerror(errno));
        ntapi_event events[ROOM];
        size_t taken;
        while ((taken = ntapi_mailbox_take(mailbox, events, sizeof *events, ROOM)) > 0) {
            for (size_t i = 0; i < taken; i++) {
                response_check(events[i].response, options);
                ntapi_response_free(events[i].response);
                if (begun < count) {
                    begin(client, options, args);
                    begun++;
                }
            }
            done += (long)taken;
        }
    }
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    ntapi_client *client = client_create(&options);
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = args_create(&options);
    if (args == NULL)
        args = ntapi_args_create();
    ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox);

    run(client, &options, args, mailbox, options.warmup);
    meters_start();
    run(client, &options, args, mailbox, options.count);
    meters_report(options.count);

    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return 0;
}
