/*
 * bench.c - the command line, the meters and the report.
 */
#include "bench.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct rusage usage_before;
static struct timespec wall_before;
static char extra[512];

void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

/** The value of a "name=value" argument, or NULL when it is another one. */
static const char *value_of(const char *argument, const char *name) {
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static long number(const char *text) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0)
        fail("not a number: %s", text);
    return value;
}

static void read_option(options *options, const char *argument) {
    struct {
        const char *name, **text;
        long *number;
    } known[] = {
        {"path", &options->path, NULL},       {"warm", &options->warm, NULL},
        {"ca", &options->ca, NULL},           {"file", &options->file, NULL},
        {"slow", &options->slow, NULL},       {"http", &options->http, NULL},
        {"warmup", NULL, &options->warmup},   {"hanging", NULL, &options->hanging},
        {"bytes", NULL, &options->bytes},     {"expect", NULL, &options->expect},
        {"threads", NULL, &options->threads}, {"observed", NULL, &options->observed},
        {"scope", &options->scope, NULL},     {"shared", &options->shared, NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *value = value_of(argument, known[i].name);
        if (value == NULL)
            continue;
        if (known[i].text != NULL)
            *known[i].text = value;
        else
            *known[i].number = number(value);
        return;
    }
    fail("unknown option: %s", argument);
}

options options_read(int argc, char **argv) {
    if (argc < 5)
        fail("usage: %s WORKLOAD BASE_URL COUNT CONCURRENCY [name=value...]", argv[0]);
    options options = {.workload = argv[1], .base = argv[2], .path = "", .http = "1.1"};
    options.count = number(argv[3]);
    options.concurrency = number(argv[4]);
    options.warmup = -1;
    for (int i = 5; i < argc; i++)
        read_option(&options, argv[i]);
    if (options.count < 1 || options.concurrency < 1)
        fail("COUNT and CONCURRENCY are at least 1");
    if (options.warmup < 0)
        options.warmup = 2 * options.concurrency;
    return options;
}

bool options_parsed(const options *options) {
    return !options_are(options, "raw");
}

bool options_are(const options *options, const char *workload) {
    return strcmp(options->workload, workload) == 0;
}

const char *join_url(const char *base, const char *path) {
    size_t room = strlen(base) + strlen(path) + 2;
    char *url = malloc(room);
    if (url == NULL)
        fail("out of memory");
    snprintf(url, room, "%s/%s", base, path);
    return url;
}

long memory_kb(const char *name) {
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL)
        fail("no /proc");
    char line[256];
    long value = -1;
    size_t length = strlen(name);
    while (value < 0 && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtol(line + length + 1, NULL, 10);
    }
    fclose(status);
    return value;
}

void report_number(const char *name, double value) {
    size_t used = strlen(extra);
    snprintf(extra + used, sizeof extra - used, ",\"%s\":%.9g", name, value);
}

static double seconds(struct timeval after, struct timeval before) {
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_usec - before.tv_usec) / 1e6;
}

/* Processor time of this process's threads, by their numbers. */
static struct {
    long thread;
    double seconds;
} threads_before[256];
static size_t thread_count;

/* Calls back with each thread and its processor time so far. */
static void each_thread(void (*found)(long thread, double seconds)) {
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL)
        fail("no /proc");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300];
        double nanoseconds;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%lf", &nanoseconds) == 1)
            found(strtol(entry->d_name, NULL, 10), nanoseconds / 1e9);
        fclose(file);
    }
    closedir(folder);
}

static void remember(long thread, double seconds) {
    if (thread_count < sizeof threads_before / sizeof *threads_before) {
        threads_before[thread_count].thread = thread;
        threads_before[thread_count++].seconds = seconds;
    }
}

static double busiest;

static void compare(long thread, double seconds) {
    for (size_t i = 0; i < thread_count; i++)
        if (threads_before[i].thread == thread)
            seconds -= threads_before[i].seconds;
    busiest = seconds > busiest ? seconds : busiest;
}

void meters_start(void) {
    each_thread(remember);
    report_number("idle_rss_kb", (double)memory_kb("VmRSS"));
    clock_gettime(CLOCK_MONOTONIC, &wall_before);
    getrusage(RUSAGE_SELF, &usage_before);
}

void meters_report(long done) {
    struct rusage after;
    struct timespec now;
    getrusage(RUSAGE_SELF, &after);
    clock_gettime(CLOCK_MONOTONIC, &now);
    each_thread(compare);
    report_number("busiest_seconds", busiest);
    double user = seconds(after.ru_utime, usage_before.ru_utime);
    double system = seconds(after.ru_stime, usage_before.ru_stime);
    double wall = (double)(now.tv_sec - wall_before.tv_sec) + (double)(now.tv_nsec - wall_before.tv_nsec) / 1e9;
    /* ru_maxrss would count the program that started this one; VmHWM begins with exec. */
    printf("{\"requests\":%ld,\"ok\":%ld,\"cpu_seconds\":%.6f,\"user_seconds\":%.6f,\"wall_seconds\":%.6f,"
           "\"max_rss_kb\":%ld%s}\n",
           done, done, user + system, user, wall, memory_kb("VmHWM"), extra);
    fflush(stdout);
}
