/*
 * tracing.c - a span for each attempt of a request, and the header traceparent (W3C Trace Context), which lets the
 * server's spans continue the trace. It needs no tracing library: each span is printed as a line of JSON.
 *
 *   tracing http://127.0.0.1:PORT [TRACEPARENT]
 */
#include <ntapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is kept of a request while it runs. */
typedef struct trace {
    char *request; /* the traceparent of the request: the parent of its attempts */
    char *attempt; /* of the attempt that runs */
} trace;

/* A URL may hold secrets, so the span has the command, which has none. */
struct span {
    const char *name, *command, *reason, *error, *trace, *parent, *span;
    int attempt, status;
    bool is_reused;
    double seconds;
};

static const ntapi_field span_fields[] = {
    NTAPI_FIELD_STRING(struct span, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, command, "command", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_INT(struct span, attempt, "attempt", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, reason, "reason", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_INT(struct span, status, "status", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, error, "error", NTAPI_FIELD_FLAG_OPTIONAL),
    NTAPI_FIELD_BOOL(struct span, is_reused, "reused", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct span, seconds, "seconds", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, trace, "trace", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, parent, "parent", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct span, span, "span", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_END,
};

/* Without an answer the status is 0. The library writes the JSON, because a command may have any character. */
static void print_span(const ntapi_observation *attempt, const trace *trace) {
    char name[33], parent[17], own[17]; /* the parts of a traceparent: 00-TRACE-SPAN-FLAGS */
    snprintf(name, sizeof name, "%s", trace->attempt + 3);
    snprintf(parent, sizeof parent, "%s", trace->request + 36);
    snprintf(own, sizeof own, "%s", trace->attempt + 36);
    const struct span span = {.name = attempt->method,
                              .command = attempt->command,
                              .attempt = attempt->attempt,
                              .reason = attempt->reason,
                              .status = attempt->status,
                              .error = attempt->error != NULL ? ntapi_error_code_name(attempt->error) : NULL,
                              .is_reused = attempt->connection_reused,
                              .seconds = attempt->seconds,
                              .trace = name,
                              .parent = parent,
                              .span = own};
    ntapi_json *json = ntapi_json_encode(span_fields, &span, sizeof span, NULL);
    printf("%s\n", ntapi_json_text(json));
    ntapi_json_free(json);
}

/* Called with each event, for one request one after the other. */
static void observe(void *incoming, ntapi_observation *observed) {
    trace *trace = observed->context;
    switch (observed->event) {
    case NTAPI_OBSERVED_BEGUN:
        trace = calloc(1, sizeof *trace);
        if (trace == NULL)
            abort();
        /* A server would take the traceparent of the request that it works for, from its own thread's data. */
        trace->request = ntapi_traceparent(incoming);
        observed->context = trace;
        break;
    case NTAPI_OBSERVED_ATTEMPT_BEGINS:
        trace->attempt = ntapi_traceparent(trace->request);
        if (ntapi_observation_add_header(observed, "traceparent", trace->attempt) != NTAPI_STATUS_OK)
            fprintf(stderr, "error: the server does not get the trace\n");
        break;
    case NTAPI_OBSERVED_ATTEMPT_ENDS:
        print_span(observed, trace);
        ntapi_text_free(trace->attempt);
        break;
    case NTAPI_OBSERVED_ENDED:
        ntapi_text_free(trace->request);
        free(trace);
        break;
    default:
        break;
    }
}

static int failures;

static void get(ntapi_client *client, const char *command, const char *city) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", city);
    ntapi_args_url(args, "appid", "demo");
    ntapi_response *response = ntapi_client_perform(client, command, args);
    const ntapi_error *error = ntapi_response_error(response);
    if (error != NULL) {
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
        failures++;
    }
    ntapi_response_free(response);
    ntapi_args_free(args);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s BASE_URL [TRACEPARENT]\n", argv[0]);
        return 2;
    }
    ntapi_client *client = ntapi_client_create(NULL, argv[1]);
    if (client == NULL) {
        fprintf(stderr, "error: the URL is not UTF-8\n");
        return 1;
    }
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* errors are printed above */
    ntapi_observed_events events =
        NTAPI_OBSERVED_BEGUN | NTAPI_OBSERVED_ATTEMPT_BEGINS | NTAPI_OBSERVED_ATTEMPT_ENDS | NTAPI_OBSERVED_ENDED;
    ntapi_observer *observer = ntapi_observer_create(events, observe, argc > 2 ? argv[2] : NULL, NULL);
    if (ntapi_client_add_observer(client, observer) != NTAPI_STATUS_OK)
        failures++;
    ntapi_observer_free(observer);

    get(client, "data/2.5/weather", "London");
    get(client, "data/2.5/weather", "Tokyo");
    ntapi_client_free(client);
    return failures == 0 ? 0 : 1;
}
