#include "interceptors.h"

#include <errno.h>
#include <time.h>

void interceptor_init(interceptor *self) {
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/** Waits for a change. Returns false if none comes. The caller holds the lock. */
static bool wait_for_change(interceptor *self) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += (time_t)PATIENCE;
    return pthread_cond_timedwait(&self->changed, &self->lock, &limit) != ETIMEDOUT;
}

void interceptor_finish(interceptor *self) {
    pthread_mutex_lock(&self->lock);
    while (self->destroys < self->added && wait_for_change(self))
        continue;
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(self->destroys, self->added);
    if (self->expected_ends >= 0)
        assert_int_equal(self->ends, self->expected_ends);
    assert_true(self->ends == 0 || self->ended_passage == self->passage);
    assert_int_equal(self->wrong, 0);
    assert_null(self->kept);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

static void add(interceptor *self, int *count, int number) {
    pthread_mutex_lock(&self->lock);
    *count += number;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void interceptor_intercept(void *user_data, ntapi_interception *interception) {
    interceptor *self = user_data;
    bool is_answer = ntapi_interception_response(interception) != NULL;
    add(self, &self->inside, 1);
    add(self, is_answer ? &self->responses : &self->requests, 1);
    expect(self, self->destroys == 0);
    expect(self, !is_answer || self->passage == ntapi_interception_passage(interception)->identifier);
    self->passage = ntapi_interception_passage(interception)->identifier;
    interceptor_step *step = is_answer ? self->response : self->request;
    if (step != NULL) {
        step(self, interception);
    } else {
        expect(self, ntapi_interception_proceed(interception) == NTAPI_STATUS_OK);
        ntapi_interception_free(interception);
    }
    add(self, &self->inside, -1);
}

void interceptor_end(void *user_data, uint64_t passage) {
    interceptor *self = user_data;
    expect(self, self->inside == 0);
    expect(self, self->destroys == 0);
    self->ended_passage = passage;
    add(self, &self->ends, 1);
}

void interceptor_destroy(void *user_data) {
    interceptor *self = user_data;
    add(self, &self->destroys, 1);
}

/** A new interceptor that calls these functions. */
static ntapi_interceptor *create(ntapi_interceptor_scope scope, interceptor *self) {
    self->added++;
    return ntapi_interceptor_create(scope, interceptor_intercept, interceptor_end, self, interceptor_destroy);
}

void add_to_client(ntapi_client *client, ntapi_interceptor_scope scope, interceptor *self) {
    ntapi_interceptor *made = create(scope, self);
    check_ok(ntapi_client_add_interceptor(client, made));
    ntapi_interceptor_free(made);
}

void add_to_class(ntapi_class *class_handle, ntapi_interceptor_scope scope, interceptor *self) {
    ntapi_interceptor *made = create(scope, self);
    check_ok(ntapi_class_add_interceptor(class_handle, made));
    ntapi_interceptor_free(made);
}

void add_to_configuration(ntapi_configuration *configuration, ntapi_interceptor_scope scope, interceptor *self) {
    ntapi_interceptor *made = create(scope, self);
    check_ok(ntapi_configuration_add_interceptor(configuration, made));
    ntapi_interceptor_free(made);
}

void add_to_args(ntapi_args *args, ntapi_interceptor_scope scope, interceptor *self) {
    ntapi_interceptor *made = create(scope, self);
    check_ok(ntapi_args_interceptor(args, made));
    ntapi_interceptor_free(made);
}

void note(interceptor *self, const char *format, ...) {
    va_list values;
    va_start(values, format);
    size_t used = strlen(self->log);
    vsnprintf(self->log + used, sizeof self->log - used, format, values);
    va_end(values);
}

void expect(interceptor *self, bool is_right) {
    if (!is_right)
        add(self, &self->wrong, 1);
}

void send_on(interceptor *self, ntapi_interception *interception) {
    expect(self, ntapi_interception_send(interception) == NTAPI_STATUS_OK);
    ntapi_interception_free(interception);
}

void keep(interceptor *self, ntapi_interception *interception) {
    pthread_mutex_lock(&self->lock);
    self->kept = interception;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void forget(interceptor *self, ntapi_interception *interception) {
    (void)self;
    ntapi_interception_free(interception);
}

ntapi_interception *kept_by(interceptor *self) {
    pthread_mutex_lock(&self->lock);
    while (self->kept == NULL && wait_for_change(self))
        continue;
    ntapi_interception *kept = self->kept;
    self->kept = NULL;
    pthread_mutex_unlock(&self->lock);
    assert_non_null(kept);
    return kept;
}
