/*
 * support.h - for all C tests: the table of servers, a witness of a request's callbacks, and small checks.
 *
 * Tests wait only for events. If an event never comes, the test fails after a long time (PATIENCE).
 */
#ifndef NTAPI_TEST_SUPPORT_H
#define NTAPI_TEST_SUPPORT_H

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ntapi.h"
#include "ntapi_testing.h"

/** How many seconds a test waits for something that is usually immediate. Enough for a busy machine. */
#define PATIENCE 120.0

/** An idle timeout in seconds that also holds on a busy machine, and a longer pause. */
#define IDLE_TIMEOUT 6.0
#define LONGER_THAN_IDLE 7.0

/** An entry of NTAPI_TEST_SERVERS. If it is missing, the test fails with a message. */
const char *server(const char *name);

/** A new client whose base URL is that server. */
ntapi_client *client_of(const char *name);

/** A new client that writes no log. A stub answers each request with the JSON 1. */
ntapi_client *stubbed_client(void);

/** Records what a request's callbacks did. Its functions have the signatures of the library's callbacks. */
typedef struct witness {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int responses;
    int destroys;
    int progresses;
    int early_destroys;       /* before the response: right for all handlers but that of the response */
    int out_of_order;         /* progress after the response */
    int shrinking;            /* progress calls with less than the one before */
    int64_t first, last;      /* bytes of the first and of the last progress call */
    int64_t total;            /* total of the last progress call */
    pthread_t thread;         /* that the response handler ran on */
    ntapi_response *response; /* kept by the witness */
} witness;

void witness_init(witness *self);
void witness_free(witness *self);
void witness_response(void *self, const ntapi_response *response);
void witness_progress(void *self, int64_t bytes, int64_t total);
void witness_destroy(void *self);

/** Waits until destroy, the last callback, has been called that many times. Runs no mailbox. */
void witness_wait(witness *self, int destroys);

/** Fails unless the response handler and destroy ran exactly once, in order. */
void witness_check_once(witness *self);

/** The error code of the witnessed response; NTAPI_CODE_NONE if there was no error. */
ntapi_code witness_code(witness *self);

/** Args that let all handlers run on a background worker. */
ntapi_args *background(void);

/** Suspends a request at the first call of its progress handler. */
typedef struct brake {
    ntapi_request *request;
    sem_t pulled; /* posted then */
    bool is_pulled;
} brake;

void brake_init(brake *self, ntapi_request *request);
void brake_pull(void *self, int64_t bytes, int64_t total);

/** Also frees the request, which must have ended. */
void brake_free(brake *self);

/** Splits a command such as "late?ms=20" into its path, and args that begin with its query. Appends the given args. */
ntapi_args *split_query(const char *command, const ntapi_args *args, char path[static 256]);

/** Begins a request with the witness as its handler, and frees the request's handle. The command may have a query. */
void begin(ntapi_client *client, const char *command, const ntapi_args *args, witness *self);

/** Does the same, with the response handler on a given thread. */
void begin_on(ntapi_thread thread, ntapi_client *client, const char *command, witness *self);

/** Performs a request, and frees args, which may be NULL. The command may have a query. */
ntapi_response *perform(ntapi_client *client, const char *command, ntapi_args *args);

/** Performs a request that must succeed, frees args, and returns the response's JSON. */
ntapi_json *fetch(ntapi_client *client, const char *command, ntapi_args *args);

/** The code of a response's error; NTAPI_CODE_NONE if there is none. */
ntapi_code code_of(const ntapi_response *response);

/** Fails unless a new text equals the expected one. Frees it. */
void check_new_text(char *text, const char *expected);

/** Fails unless a header has the expected value, or is missing if that is NULL. Frees the header lines. */
void check_new_header(ntapi_headers *headers, const char *name, const char *expected);

/** A number of a request as it is now, by its path in ntapi_request_metrics. 1 means true; negative means that there
 * is none. */
double metric(const ntapi_request *request, const char *path);

/** Does the same for the request of a response. */
double metric_of(const ntapi_response *response, const char *path);

/** Fails unless the string at the path equals the expected one. */
void check_string(const ntapi_json *json, const char *path, const char *expected);

/** Fails unless a response's error has that code and domain. Frees the response. */
void check_error(ntapi_response *response, ntapi_error_domain domain, ntapi_code code);

/** Does the same for a code with that name. */
void check_error_name(ntapi_response *response, ntapi_error_domain domain, const char *name);

/** Fails unless the fault server's /record has got requests with these one-digit ?n= under a token, in this order. */
void check_recorded(const char *token, const char *numbers);

/** Runs a function on a new thread and waits for its end. */
void on_new_thread(void *(*function)(void *), void *argument);

/** A URL on this machine where nothing listens. */
const char *nobody(void);

/** A new temporary file with that content; the caller removes it. */
void temporary_file(char path[static 64], const void *bytes, size_t length);

#define check_ok(call) assert_int_equal((call), NTAPI_STATUS_OK)
#define check_invalid(call) assert_int_equal((call), NTAPI_STATUS_INVALID_ARGUMENT)
#define check_too_late(call) assert_int_equal((call), NTAPI_STATUS_INVALID_STATE)

#endif
