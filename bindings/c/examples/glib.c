/*
 * glib.c - callbacks in a GLib main loop: GTK, GStreamer, D-Bus and the like. The main thread's mailbox is one more
 * source of the loop. So handlers run on the main thread, which is the default, and may use widgets.
 *
 *   glib http://127.0.0.1:PORT
 */
#include <glib-unix.h>
#include <ntapi.h>

/** What the program's handlers need. */
struct app {
    GMainLoop *loop;
    ntapi_client *client;
    int unanswered;
    int failures;
};

static gboolean drain(gint fd, GIOCondition condition, gpointer mailbox) {
    (void)fd;
    (void)condition;
    ntapi_mailbox_drain(mailbox);
    return G_SOURCE_CONTINUE;
}

static void finish_one(struct app *app) {
    if (--app->unanswered == 0)
        g_main_loop_quit(app->loop);
}

static void on_weather(void *user_data, const ntapi_response *response) {
    struct app *app = user_data;
    const ntapi_error *error = ntapi_response_error(response);
    const ntapi_json *json = ntapi_response_json(response);
    if (error != NULL) {
        g_printerr("error: %s\n", ntapi_error_message(error));
        app->failures++;
    } else {
        g_print("%s: %s, %.1f °C\n", ntapi_json_string(json, "name"), ntapi_json_string(json, "weather[0].description"),
                ntapi_json_double(json, "main.temp", 0));
    }
    finish_one(app);
}

static gboolean ask(gpointer user_data) {
    struct app *app = user_data;
    const char *const cities[] = {"Oslo", "Madrid", "Cairo"};
    for (gsize i = 0; i < G_N_ELEMENTS(cities); i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_url(args, "q", cities[i]);
        ntapi_args_url(args, "appid", "demo");
        ntapi_args_url(args, "units", "metric");
        ntapi_request_free(ntapi_client_begin(app->client, "data/2.5/weather", args, on_weather, app, NULL));
        ntapi_args_free(args);
        app->unanswered++;
    }
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        g_printerr("usage: %s BASE_URL\n", argv[0]);
        return 2;
    }
    struct app app = {.loop = g_main_loop_new(NULL, FALSE), .client = ntapi_client_create(NULL, argv[1])};
    if (app.client == NULL) {
        g_printerr("error: the URL is not UTF-8\n");
        g_main_loop_unref(app.loop);
        return 1;
    }
    ntapi_client_set_log_flags(app.client, NTAPI_LOG_NONE); /* errors are printed above */

    /* These two lines are the whole integration. */
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    guint source = g_unix_fd_add(ntapi_mailbox_fd(mailbox), G_IO_IN, drain, mailbox);

    g_idle_add(ask, &app);
    g_main_loop_run(app.loop);

    g_source_remove(source);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(app.client);
    g_main_loop_unref(app.loop);
    return app.failures == 0 ? 0 : 1;
}
