/*
 * poll.c - callbacks in your own poll(2) loop. The mailbox has a file descriptor that is readable while callbacks
 * wait; draining it runs them, here, on this thread. No callback ever runs anywhere else.
 *
 *   poll http://127.0.0.1:PORT
 */
#include <ntapi.h>
#include <poll.h>
#include <stdio.h>

static int unanswered;
static int failures;

static void on_weather(void *user_data, const ntapi_response *response) {
    const char *asked = user_data;
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL) {
        fprintf(stderr, "error: %s: %s\n", asked, ntapi_error_message(error));
        failures++;
    } else {
        const ntapi_json *json = ntapi_response_json(response);
        printf("%5.1f °C  %s, after %.0f ms\n", ntapi_json_double(json, "main.temp", 0), asked,
               ntapi_response_elapsed(response) * 1000);
    }
    unanswered--;
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

    /* What all requests have in common: the client's own args. */
    ntapi_args *common = ntapi_args_create();
    ntapi_args_url(common, "appid", "demo");
    ntapi_args_url(common, "units", "metric");
    ntapi_args_mailbox(common, NTAPI_HANDLER_ALL, mailbox);
    if (ntapi_client_set_args(client, common) != NTAPI_STATUS_OK)
        return 1;
    ntapi_args_free(common);

    static char *const cities[] = {"London", "Zürich", "Tokyo", "Reykjavík", "Sydney"};
    for (size_t i = 0; i < sizeof cities / sizeof *cities; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_url(args, "q", cities[i]);
        /* The request continues when its handle is freed; its handler is called exactly once. */
        ntapi_request_free(ntapi_client_begin(client, "data/2.5/weather", args, on_weather, cities[i], NULL));
        ntapi_args_free(args);
        unanswered++;
    }

    /* Your loop: the mailbox is one of its descriptors. */
    struct pollfd fds[] = {{.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN}};
    while (unanswered > 0) {
        if (poll(fds, 1, -1) < 0) {
            perror("poll");
            return 1;
        }
        if (fds[0].revents & POLLIN)
            ntapi_mailbox_drain(mailbox);
    }

    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return failures == 0 ? 0 : 1;
}
