/*
 * libuv.c - callbacks in a libuv loop, as below Node. The main thread's mailbox is one more descriptor of the loop. So
 * handlers run on the main thread, which is the default, and may use what belongs to the loop.
 *
 *   libuv http://127.0.0.1:PORT
 */
#include <ntapi.h>
#include <stdio.h>
#include <uv.h>

/** What the program's handlers need. */
struct app {
    uv_poll_t watcher;
    int unanswered;
    int failures;
};

static void drain(uv_poll_t *watcher, int status, int events) {
    (void)status;
    (void)events;
    ntapi_mailbox_drain(watcher->data);
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
        uv_close((uv_handle_t *)&app->watcher, NULL); /* nothing else is watched: the loop ends */
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

    /* These lines are the whole integration. */
    struct app app = {0};
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    app.watcher.data = mailbox;
    uv_poll_init(uv_default_loop(), &app.watcher, ntapi_mailbox_fd(mailbox));
    uv_poll_start(&app.watcher, UV_READABLE, drain);

    ask(client, "Oslo", &app);
    ask(client, "Madrid", &app);
    ask(client, "Cairo", &app);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);

    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    uv_loop_close(uv_default_loop());
    return app.failures == 0 ? 0 : 1;
}
