/* The system calls that Swift's Glibc module does not import, as typed static-inline wrappers. */
#ifndef NTAPI_CSYSTEM_SHIM_H
#define NTAPI_CSYSTEM_SHIM_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __linux__
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

#endif
