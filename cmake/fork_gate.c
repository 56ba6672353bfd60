/*
 * fork_gate.c - a fork waits until no thread holds a lock of Swift's runtime.
 *
 * The runtime makes a type, a conformance or a `static let` when it is first used, on any thread, and holds a lock
 * meanwhile. A child that is forked at that moment inherits the lock, but not the thread that would release it: the child
 * hangs at its own first use. The locks are inside libswiftCore.a, so the linker is told to call these functions in their
 * place (SwiftLibrary.cmake).
 *
 * The gate closes only at a moment when nobody is inside, and stays closed during the system call alone. So a thread that
 * waits at the gate may hold any other lock: nobody who is inside waits for it.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOSED 0x80000000u

/** How many threads are inside, and whether the gate is closed. */
static _Atomic unsigned gate;
/** How many of these locks the thread holds. */
static _Thread_local unsigned held __attribute__((tls_model("initial-exec")));
/** The thread that has closed the gate passes it. */
static _Thread_local bool is_forking __attribute__((tls_model("initial-exec")));

static void enter(void) {
    if (held++ > 0 || is_forking)
        return;
    unsigned seen = atomic_load(&gate);
    for (;;) {
        if ((seen & CLOSED) != 0) {
            syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
            seen = atomic_load(&gate);
        } else if (atomic_compare_exchange_weak(&gate, &seen, seen + 1)) {
            return;
        }
    }
}

static void leave(void) {
    if (--held == 0 && !is_forking)
        atomic_fetch_sub(&gate, 1);
}

/** Closes the gate for a fork of this thread: false when another thread is inside. */
bool ntapi_fork_gate_close(void) {
    unsigned own = held > 0 ? 1 : 0;
    if (!atomic_compare_exchange_strong(&gate, &own, own | CLOSED))
        return false;
    is_forking = true;
    return true;
}

/** Opens it after the fork. The child has this thread only. */
void ntapi_fork_gate_open(bool in_child) {
    is_forking = false;
    if (in_child)
        atomic_store(&gate, held > 0 ? 1 : 0);
    else
        atomic_fetch_and(&gate, ~CLOSED);
    syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/** In Sources/NTApiABI/Library.swift: registers the handlers of forks, which close and open the gate. */
void ntapi_prepare_forks(void);

/** Threads may use the library as soon as it is loaded, and fork. */
__attribute__((constructor)) static void prepare(void) {
    ntapi_prepare_forks();
}

/* What the runtime calls. */

int ntapi_gate_mutex_lock(pthread_mutex_t *mutex) {
    enter();
    int status = pthread_mutex_lock(mutex);
    if (status != 0)
        leave();
    return status;
}

int ntapi_gate_mutex_unlock(pthread_mutex_t *mutex) {
    int status = pthread_mutex_unlock(mutex);
    if (status == 0)
        leave();
    return status;
}

/* `static let` of Swift: once_slow(once_t &, void (*)(void *), void *). */

#define ONCE(prefix) prefix##_ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_

void ONCE(__real_)(void *once, void (*make)(void *), void *context);
void ONCE(__wrap_)(void *once, void (*make)(void *), void *context);

void ONCE(__wrap_)(void *once, void (*make)(void *), void *context) {
    enter();
    ONCE(__real_)(once, make, context);
    leave();
}

/* `static` inside a function of C++. */

int __cxa_guard_acquire(void *guard);
void __cxa_guard_release(void *guard);
int ntapi_gate_guard_acquire(void *guard);
void ntapi_gate_guard_release(void *guard);

int ntapi_gate_guard_acquire(void *guard) {
    enter();
    int is_first = __cxa_guard_acquire(guard);
    if (!is_first)
        leave();
    return is_first;
}

void ntapi_gate_guard_release(void *guard) {
    __cxa_guard_release(guard);
    leave();
}
