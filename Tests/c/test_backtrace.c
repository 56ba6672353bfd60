/* A backtrace of a callback goes through the library to the calling function, or to the start of a thread. A
 * debugger finds the calling function's name. */
#define _GNU_SOURCE /* dladdr */
#include "support.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>

#define MOST_FRAMES 200

/** The return addresses from here to the start of the thread. */
typedef struct trace {
    void *frames[MOST_FRAMES];
    int count;
} trace;

__attribute__((noinline)) static void take(trace *self) {
    self->count = backtrace(self->frames, MOST_FRAMES);
}

/** The trace of a response handler. */
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

/** Fails unless a handler's trace passes the library, and then continues as the outer trace does after its own
 * function. */
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

/* Not static but exported by this program, so that dladdr finds their names. */
void this_waits(ntapi_client *client, seen *self);
void this_performs(ntapi_client *client, seen *self);

__attribute__((noinline)) void this_waits(ntapi_client *client, seen *self) {
    ntapi_args *args = ntapi_args_create();
    ntapi_request *request = ntapi_client_begin(client, "ok", args, handler, self, destroyed);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    ntapi_args_free(args);
}

/** The first request's handler already waits in the mailbox. So it runs inside of the second request. */
__attribute__((noinline)) void this_performs(ntapi_client *client, seen *self) {
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    struct pollfd waiting = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    ntapi_request_free(ntapi_client_begin(client, "ok", NULL, handler, self, destroyed));
    assert_int_equal(poll(&waiting, 1, (int)(PATIENCE * 1000)), 1);
    assert_int_equal(self->trace.count, 0);
    ntapi_response_free(ntapi_client_perform(client, "ok", NULL));
    ntapi_mailbox_free(mailbox);
}

static bool names(const trace *trace, const char *function) {
    Dl_info found;
    for (int i = 0; i < trace->count; i++)
        if (dladdr(trace->frames[i], &found) != 0 && found.dli_sname != NULL && strcmp(found.dli_sname, function) == 0)
            return true;
    return false;
}

static void a_trace_names_the_function_that_waits(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    seen waited = {0}, performed = {0};
    assert_int_equal(sem_init(&waited.ended, 0, 0), 0);
    assert_int_equal(sem_init(&performed.ended, 0, 0), 0);
    this_waits(client, &waited);
    assert_int_equal(sem_wait(&waited.ended), 0);
    assert_true(names(&waited.trace, "this_waits"));
    this_performs(client, &performed);
    assert_int_equal(sem_wait(&performed.ended), 0);
    assert_true(names(&performed.trace, "this_performs"));
    sem_destroy(&waited.ended);
    sem_destroy(&performed.ended);
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
        cmocka_unit_test(a_trace_names_the_function_that_waits),
        cmocka_unit_test(a_trace_on_a_worker_leads_to_the_start_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
