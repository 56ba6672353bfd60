/*
 * qt.cpp - callbacks in Qt's event loop. A QSocketNotifier watches the main thread's mailbox. So handlers run on the
 * main thread, which is the default, and may use widgets.
 *
 *   qt http://127.0.0.1:PORT
 */
#include <QCoreApplication>
#include <QSocketNotifier>
#include <cstdio>
#include <ntapi.h>

static int unanswered;
static int failures;

static void on_weather(void *, const ntapi_response *response) {
    const ntapi_error *error = ntapi_response_error(response);
    const ntapi_json *json = ntapi_response_json(response);
    if (error != nullptr) {
        std::fprintf(stderr, "error: %s\n", ntapi_error_message(error));
        failures++;
    } else {
        std::printf("%s: %.1f °C\n", ntapi_json_string(json, "name"), ntapi_json_double(json, "main.temp", 0));
    }
    if (--unanswered == 0)
        QCoreApplication::exit(failures == 0 ? 0 : 1);
}

int main(int argc, char **argv) {
    QCoreApplication app(argc, argv);
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s BASE_URL\n", argv[0]);
        return 2;
    }
    ntapi_client *client = ntapi_client_create(nullptr, argv[1]);
    if (client == nullptr) {
        std::fprintf(stderr, "error: the URL is not UTF-8\n");
        return 1;
    }
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* errors are printed above */

    /* These lines are the whole integration. */
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    QSocketNotifier notifier(ntapi_mailbox_fd(mailbox), QSocketNotifier::Read);
    QObject::connect(&notifier, &QSocketNotifier::activated, [mailbox] { ntapi_mailbox_drain(mailbox); });

    for (const char *city : {"Oslo", "Madrid", "Cairo"}) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_url(args, "q", city);
        ntapi_args_url(args, "appid", "demo");
        ntapi_args_url(args, "units", "metric");
        unanswered++;
        ntapi_request_free(ntapi_client_begin(client, "data/2.5/weather", args, on_weather, nullptr, nullptr));
        ntapi_args_free(args);
    }
    int status = app.exec();

    notifier.setEnabled(false);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
    return status;
}
