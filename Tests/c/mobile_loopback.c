/*
 * Preloaded by the tests of allowsCellularAccess. It makes the loopback interface a mobile one: the library reads this
 * from /sys/class/net/lo/uevent.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "INTERFACE=lo\nIFINDEX=1\nDEVTYPE=wwan\n";

/* A descriptor from which the text can be read; -1 for any other file. */
static int uevent(const char *path) {
    int ends[2];
    if (strcmp(path, "/sys/class/net/lo/uevent") != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    ssize_t count = write(ends[1], text, sizeof text - 1);
    close(ends[1]);
    return count == sizeof text - 1 ? ends[0] : -1;
}

static int open_file(const char *name, const char *path, int flags, mode_t mode) {
    int descriptor = uevent(path);
    if (descriptor >= 0)
        return descriptor;
    int (*system_open)(const char *, int, ...);
    *(void **)&system_open = dlsym(RTLD_NEXT, name);
    return system_open(path, flags, mode);
}

static mode_t mode_of(int flags, va_list list) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_file("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_file("open64", path, flags, mode);
}
