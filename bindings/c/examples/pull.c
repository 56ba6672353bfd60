/*
 * pull.c - no callbacks at all: requests deliver events to a mailbox, and the program takes them, many in a call. This
 * is the style for bindings of other languages and for programs that like their control flow in one place.
 *
 *   pull http://127.0.0.1:PORT
 */
#include <inttypes.h>
#include <ntapi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 16 };

/** A download that delivers its response and its progress as events. */
static ntapi_request *download(ntapi_client *client, ntapi_mailbox *mailbox, int64_t size, void *name) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url_int(args, "size", size);
    ntapi_args_option(args, NTAPI_OPTION_RAW_DATA, ""); /* the body is not JSON */
    ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox);
    ntapi_request *request = ntapi_client_create_request(client, "download", args);
    const ntapi_handlers handlers = NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_DOWNLOAD_PROGRESS;
    if (ntapi_request_set_events(request, handlers, name) != NTAPI_STATUS_OK)
        abort();
    ntapi_request_resume(request);
    ntapi_args_free(args);
    return request;
}

/** The results of the downloads. */
struct outcome {
    int finished;
    int failures;
};

static void show(const ntapi_event *event, struct outcome *outcome) {
    const char *name = event->user_data;
    if (event->handler == NTAPI_HANDLER_DOWNLOAD_PROGRESS) {
        printf("%-6s %9" PRId64 " of %9" PRId64 " bytes\n", name, event->bytes, event->total);
        return;
    }
    size_t length = 0;
    ntapi_response_data(event->response, &length);
    const ntapi_error *error = ntapi_response_error(event->response);
    if (error != NULL)
        fprintf(stderr, "error: %s: %s\n", name, ntapi_error_message(error));
    else
        printf("%-6s done: %zu bytes, status %d\n", name, length, ntapi_response_status(event->response));
    outcome->finished++;
    outcome->failures += error != NULL;
    ntapi_response_free(event->response); /* an event's response is yours */
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s BASE_URL\n", argv[0]);
        return 2;
    }
    ntapi_client *client = ntapi_client_create(NULL, argv[1]);
    if (client == NULL) {
        fprintf(stderr, "error: the URL is not UTF-8\n");
        return 1;
    }
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* errors are printed above */
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *requests[] = {
        download(client, mailbox, 1000, "small"),
        download(client, mailbox, 500000, "medium"),
        download(client, mailbox, 2000000, "large"),
    };

    struct outcome outcome = {0};
    while (outcome.finished < 3) {
        struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
        if (poll(&fd, 1, -1) < 0) {
            perror("poll");
            return 1;
        }
        ntapi_event events[ROOM];
        size_t count = ntapi_mailbox_take(mailbox, events, sizeof *events, ROOM);
        for (size_t i = 0; i < count; i++)
            show(&events[i], &outcome);
    }

    for (int i = 0; i < 3; i++)
        ntapi_request_free(requests[i]);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return outcome.failures == 0 ? 0 : 1;
}
