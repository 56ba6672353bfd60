/* The system calls that Swift's Glibc module does not import, as typed static-inline wrappers. */
#ifndef NTAPI_CNTAPISYSTEM_SHIM_H
#define NTAPI_CNTAPISYSTEM_SHIM_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* Whether the calling thread is the one that fork or exec began the process with. */
static inline bool ntapi_system_is_main_thread(void) {
#ifdef __linux__
    return syscall(SYS_gettid) == getpid();
#else
    return pthread_main_np() != 0;
#endif
}

/* Names the calling thread for debuggers; at most 15 bytes on Linux. */
static inline void ntapi_system_set_thread_name(const char *name) {
#ifdef __linux__
    prctl(PR_SET_NAME, name, 0, 0, 0);
#else
    pthread_setname_np(name);
#endif
}

/* The clock that never jumps. */
static inline uint64_t ntapi_system_monotonic_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The calendar: seconds since 1970-01-01 00:00 UTC. */
static inline double ntapi_system_calendar_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Makes waits on the condition measure their time by a clock that never jumps, where the system can. */
static inline void ntapi_system_condattr_use_monotonic_clock(pthread_condattr_t *attributes) {
#ifdef __linux__
    pthread_condattr_setclock(attributes, CLOCK_MONOTONIC);
#else
    (void)attributes;
#endif
}

/* Waits until signalled (0) or until the monotonic clock reads so many nanoseconds (ETIMEDOUT). */
static inline int ntapi_system_cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
    if (deadline == UINT64_MAX) {
        return pthread_cond_wait(condition, mutex);
    }
    struct timespec time;
#ifdef __linux__
    time.tv_sec = (time_t)(deadline / 1000000000u);
    time.tv_nsec = (long)(deadline % 1000000000u);
    return pthread_cond_timedwait(condition, mutex, &time);
#else
    uint64_t now = ntapi_system_monotonic_nanoseconds();
    uint64_t left = deadline > now ? deadline - now : 0;
    time.tv_sec = (time_t)(left / 1000000000u);
    time.tv_nsec = (long)(left % 1000000000u);
    return pthread_cond_timedwait_relative_np(condition, mutex, &time);
#endif
}

#ifdef __linux__
static inline uint32_t ntapi_system_atomic_load(const uint32_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Waits while the counter is what was seen, at most until the monotonic clock reads so many nanoseconds. */
static inline void ntapi_system_futex_wait(uint32_t *counter, uint32_t seen, uint64_t deadline) {
    struct timespec time = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    syscall(SYS_futex, counter, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline == UINT64_MAX ? NULL : &time, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

/* Counts on, and wakes everyone who waits. */
static inline void ntapi_system_futex_wake(uint32_t *counter) {
    __atomic_add_fetch(counter, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, counter, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
#endif

/* libntapi.so is linked with cmake/fork_gate.c, other programs are not. */
#ifdef __linux__
void ntapi_prepare_forks(void);
extern bool ntapi_fork_gate_close(void) __attribute__((weak));
extern void ntapi_fork_gate_open(bool in_child) __attribute__((weak));
#endif

/* Whether cmake/fork_gate.c is linked: in libntapi.so, but not in Swift programs, nor with a sanitizer. */
static inline bool ntapi_system_has_fork_gate(void) {
#ifdef __linux__
    return ntapi_fork_gate_close != NULL;
#else
    return false;
#endif
}

/* Keeps other threads from the locks of Swift's runtime until ntapi_system_open_runtime; false while one of them has
 * one. */
static inline bool ntapi_system_close_runtime(void) {
#ifdef __linux__
    return ntapi_fork_gate_close == NULL || ntapi_fork_gate_close();
#else
    return true;
#endif
}

static inline void ntapi_system_open_runtime(bool in_child) {
    (void)in_child;
#ifdef __linux__
    if (ntapi_fork_gate_open != NULL) {
        ntapi_fork_gate_open(in_child);
    }
#endif
}

/* Whether a host may set cookies for a domain that is a part of its name: 1, 0, or -1 when there is no list of public
   suffixes. The list is that of libpsl, which is in the process where libcurl checks cookies with it: whatever version
   that is, these two functions are the same since 0.3. Nothing is loaded. */
static inline int ntapi_system_may_set_cookies(const char *host, const char *domain) {
#ifdef RTLD_DEFAULT
    void *everything = RTLD_DEFAULT;
#else
    /* The C library has it for GNU sources only. */
    void *everything = NULL;
#endif
    const void *(*builtin)(void) = (const void *(*)(void))dlsym(everything, "psl_builtin");
    int (*acceptable)(const void *, const char *, const char *) =
        (int (*)(const void *, const char *, const char *))dlsym(everything, "psl_is_cookie_domain_acceptable");
    const void *list = builtin != NULL && acceptable != NULL ? builtin() : NULL;
    return list != NULL ? acceptable(list, host, domain) : -1;
}

/* The C library has it for GNU sources only. */
#if defined(__linux__) && !defined(F_OFD_SETLK)
#define F_OFD_SETLK 37
#endif

/* Locks an open file, or unlocks it, for all of its descriptors: 0, or an errno. */
static inline int ntapi_system_set_file_lock(int descriptor, bool locks) {
#ifdef F_OFD_SETLK
    struct flock lock = {0};
    lock.l_type = locks ? F_WRLCK : F_UNLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
#else
    return flock(descriptor, locks ? LOCK_EX | LOCK_NB : LOCK_UN) == 0 ? 0 : errno;
#endif
}

static inline int ntapi_system_lock_file(int descriptor) {
    return ntapi_system_set_file_lock(descriptor, true);
}

static inline void ntapi_system_unlock_file(int descriptor) {
    ntapi_system_set_file_lock(descriptor, false);
}

/* Waits until a file's content, or a folder's, is on the disk: 0, or an errno. */
static inline int ntapi_system_sync(int descriptor) {
#ifdef __APPLE__
    /* fsync alone leaves it to the disk's own cache. */
    if (fcntl(descriptor, F_FULLFSYNC) == 0) {
        return 0;
    }
#endif
    while (fsync(descriptor) != 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static inline void ntapi_system_close_wakeup(int descriptor) {
    if (descriptor >= 0) {
        close(descriptor);
    }
}

#ifdef __linux__
/* A descriptor that can be made readable and unreadable again; -1 when there is none to have. */
static inline int ntapi_system_make_wakeup(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static inline void ntapi_system_signal_wakeup(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static inline void ntapi_system_clear_wakeup(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
    }
}
#else
#include <sys/event.h>

static inline int ntapi_system_make_wakeup(void) {
    int descriptor = kqueue();
    struct kevent change;
    EV_SET(&change, 1, EVFILT_USER, EV_ADD, 0, 0, NULL);
    if (descriptor >= 0) {
        kevent(descriptor, &change, 1, NULL, 0, NULL);
    }
    return descriptor;
}

static inline void ntapi_system_signal_wakeup(int descriptor) {
    struct kevent change;
    EV_SET(&change, 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    kevent(descriptor, &change, 1, NULL, 0, NULL);
}

static inline void ntapi_system_clear_wakeup(int descriptor) {
    struct kevent changes[2];
    EV_SET(&changes[0], 1, EVFILT_USER, EV_DELETE, 0, 0, NULL);
    EV_SET(&changes[1], 1, EVFILT_USER, EV_ADD, 0, 0, NULL);
    kevent(descriptor, changes, 2, NULL, 0, NULL);
}
#endif

#endif
