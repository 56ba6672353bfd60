/* interceptors.h - an interceptor that does what a test wants, and records what it saw. */
#ifndef NTAPI_TEST_INTERCEPTORS_H
#define NTAPI_TEST_INTERCEPTORS_H

#include "support.h"

typedef struct interceptor interceptor;

/** Answers an interception and frees it. Runs on a background worker, so it asserts nothing. */
typedef void interceptor_step(interceptor *self, ntapi_interception *interception);

struct interceptor {
    interceptor_step *request;  /* what it does on the way in; NULL proceeds */
    interceptor_step *response; /* what it does on the way back; NULL proceeds */
    const char *name;           /* for the steps */
    int times;                  /* for the steps */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int added, requests, responses, ends, destroys;
    int expected_ends;      /* negative: any number */
    int inside;             /* calls of the intercept function that have not returned */
    int wrong;              /* mistakes found by a step or a callback */
    uint64_t passage;       /* of the last call */
    uint64_t ended_passage; /* of the last end */
    char log[512];
    ntapi_interception *kept;
};

void interceptor_init(interceptor *self);

/** Waits until the interceptor is destroyed as often as it was added, and checks what it saw. */
void interceptor_finish(interceptor *self);

/* The library's callbacks. */
void interceptor_intercept(void *self, ntapi_interception *interception);
void interceptor_end(void *self, uint64_t passage);
void interceptor_destroy(void *self);

void add_to_client(ntapi_client *client, ntapi_interceptor_scope scope, interceptor *self);
void add_to_class(ntapi_class *class_handle, ntapi_interceptor_scope scope, interceptor *self);
void add_to_configuration(ntapi_configuration *configuration, ntapi_interceptor_scope scope, interceptor *self);
void add_to_args(ntapi_args *args, ntapi_interceptor_scope scope, interceptor *self);

/** Appends to the log. */
void note(interceptor *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Counts a mistake if `is_right` is false. */
void expect(interceptor *self, bool is_right);

/* Steps of interceptors. */
void send_on(interceptor *self, ntapi_interception *interception);
void keep(interceptor *self, ntapi_interception *interception);
void forget(interceptor *self, ntapi_interception *interception);

/** Waits for the interception that the step `keep` has kept. The caller frees it. */
ntapi_interception *kept_by(interceptor *self);

#endif
