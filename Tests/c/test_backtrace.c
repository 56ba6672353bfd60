/* Backtraces of a callback go through the library to the calling function, and to the start of a thread. */
#define _GNU_SOURCE /* dladdr */
#include "support.h"

#include <dlfcn.h>
#include <execinfo.h>

#define MOST_FRAMES 200

/** The return addresses from a place to the start of its thread. */
typedef struct trace {
    void *frames[MOST_FRAMES];
    int count;
} trace;

__attribute__((noinline)) static void take(trace *self) {
    self->count = backtrace(self->frames, MOST_FRAMES);
}

/** A response handler's trace. */
typedef struct seen {
    trace trace;
    sem_t ended;
} seen;

static void handler(void *self, const ntapi_response *response) {
    (void)response;
    take(&((seen *)self)->trace);
}

static void destroyed(void *self) {
    sem_post(&((seen *)self)->ended);
}

static bool is_of_library(void *address) {
    union {
        ntapi_client *(*function)(ntapi_class *, const char *);
        void *address;
    } any = {ntapi_client_create};
    Dl_info of_address, of_library;
    return dladdr(address, &of_address) != 0 && dladdr(any.address, &of_library) != 0 &&
           of_address.dli_fbase == of_library.dli_fbase;
}

/** Fails unless a handler's trace passes the library and then continues like the other one after its own function. */
static void check_goes_on(const trace *inner, const trace *outer) {
    int common = outer->count - 2; /* without take and its caller */
    assert_true(common > 0);
    assert_true(inner->count > common);
    for (int i = 1; i <= common; i++)
        assert_ptr_equal(inner->frames[inner->count - i], outer->frames[outer->count - i]);
    int of_library = 0;
    for (int i = 0; i < inner->count - common; i++)
        of_library += is_of_library(inner->frames[i]);
    assert_true(of_library > 0);
}

/** Begins a request whose handler runs on that thread. */
static void begin_taking(ntapi_client *client, ntapi_thread thread, seen *self) {
    assert_int_equal(sem_init(&self->ended, 0, 0), 0);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_ALL, thread));
    ntapi_request_free(ntapi_client_begin(client, "ok", args, handler, self, destroyed));
    ntapi_args_free(args);
}

static void a_trace_on_the_main_thread_leads_to_main(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    trace outer;
    seen inner = {0};
    take(&outer);
    begin_taking(client, NTAPI_THREAD_MAIN, &inner);
    assert_int_equal(ntapi_client_drain(client, PATIENCE), 0);
    check_goes_on(&inner.trace, &outer);
    sem_destroy(&inner.ended);
    ntapi_client_free(client);
}

static void *take_here(void *outer) {
    take(outer);
    return NULL;
}

static void a_trace_on_a_worker_leads_to_the_start_of_the_thread(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    trace outer;
    seen inner = {0};
    on_new_thread(take_here, &outer);
    begin_taking(client, NTAPI_THREAD_BACKGROUND, &inner);
    assert_int_equal(sem_wait(&inner.ended), 0);
    check_goes_on(&inner.trace, &outer);
    sem_destroy(&inner.ended);
    ntapi_client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_on_the_main_thread_leads_to_main),
        cmocka_unit_test(a_trace_on_a_worker_leads_to_the_start_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
