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

/* The parts of a traceparent: 00-TRACE-SPAN-FLAGS. */
static void print_identifiers(const trace *trace) {
    printf("\"trace\": \"%.32s\", \"parent\": \"%.16s\", \"span\": \"%.16s\"", trace->attempt + 3, trace->request + 36,
           trace->attempt + 36);
}

/* A URL may hold secrets, so the span has the command, which has none. */
static void print_span(const ntapi_observation *attempt, const trace *trace) {
    printf("{\"name\": \"%s\", \"command\": \"%s\", \"attempt\": %d, \"reason\": \"%s\", ", attempt->method,
           attempt->command, attempt->attempt, attempt->reason);
    if (attempt->error != NULL)
        printf("\"error\": \"%s\", ", ntapi_error_code_name(attempt->error));
    else
        printf("\"status\": %d, ", attempt->status);
    printf("\"reused\": %s, \"seconds\": %.6f, ", attempt->connection_reused ? "true" : "false", attempt->seconds);
    print_identifiers(trace);
    printf("}\n");
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
    int events =
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
