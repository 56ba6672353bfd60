/*
 * libevent.c - callbacks in a libevent loop. The main thread's mailbox is one more event of the loop. So handlers run
 * on the main thread, which is the default, and may use what belongs to the loop.
 *
 *   libevent http://127.0.0.1:PORT
 */
#include <event2/event.h>
#include <ntapi.h>
#include <stdio.h>

/** What the program's handlers need. */
struct app {
    struct event_base *base;
    int unanswered;
    int failures;
};

static void drain(evutil_socket_t fd, short what, void *mailbox) {
    (void)fd;
    (void)what;
    ntapi_mailbox_drain(mailbox);
}

static void on_weather(void *user_data, const ntapi_response *response) {
    struct app *app = user_data;
    const ntapi_error *error = ntapi_response_error(response);
    const ntapi_json *json = ntapi_response_json(response);
    if (error != NULL) {
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
        app->failures++;
    } else {
        printf("%s: %.1f °C\n", ntapi_json_string(json, "name"), ntapi_json_double(json, "main.temp", 0));
    }
    if (--app->unanswered == 0)
        event_base_loopbreak(app->base);
}

static void ask(ntapi_client *client, const char *city, struct app *app) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", city);
    ntapi_args_url(args, "appid", "demo");
    ntapi_args_url(args, "units", "metric");
    app->unanswered++;
    ntapi_request_free(ntapi_client_begin(client, "data/2.5/weather", args, on_weather, app, NULL));
    ntapi_args_free(args);
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

    /* These lines are the whole integration. EV_PERSIST: the event stays after it was handled. */
    struct app app = {.base = event_base_new()};
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    struct event *readable = event_new(app.base, ntapi_mailbox_fd(mailbox), EV_READ | EV_PERSIST, drain, mailbox);
    event_add(readable, NULL);

    ask(client, "Oslo", &app);
    ask(client, "Madrid", &app);
    ask(client, "Cairo", &app);
    event_base_dispatch(app.base);

    event_free(readable);
    event_base_free(app.base);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return app.failures == 0 ? 0 : 1;
}
