/*
 * bench.h - what all C clients of the benchmarks share: the command line, the meters, the report, the checks.
 *
 *   client WORKLOAD BASE_URL COUNT CONCURRENCY [name=value...]
 *
 * A client makes COUNT requests, CONCURRENCY at once, checks each response and prints one line of JSON. The first
 * request that fails ends it with status 1.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

/** What the command line asks for. */
typedef struct options {
    const char *workload; /* "parsed": parse JSON and read one field; "raw": count the bytes; more in some clients */
    const char *base;     /* the server, without a slash at the end */
    const char *path;     /* path=   of the resource, without a slash at the start */
    const char *warm;     /* warm=   path of a small resource for the warm-up of the clients that move files */
    const char *ca;       /* ca=     the CA file to trust, for https */
    const char *file;     /* file=   what is uploaded, or where a download is put */
    const char *slow;     /* slow=   the server that does not answer */
    const char *http;     /* http=   "2" offers HTTP/2; HTTP/1.1 otherwise */
    const char *scope;    /* scope=  "call" or "attempt": ours has an interceptor of that scope, which passes all on */
    const char *shared;   /* shared= "limit", "token" or "cache": ours has it from a store in memory */
    long observed;        /* observed= 1: ours has an observer of everything */
    long count;           /* requests to make */
    long concurrency;     /* how many of them at once */
    long warmup;          /* warmup= requests made before the meters run */
    long hanging;         /* hanging= requests that stay unanswered meanwhile */
    long bytes;           /* bytes=  size of each body */
    long expect;          /* expect= the number that the JSON holds at meta.total */
    long threads;         /* threads= network threads of ours; 0 is what is usual */
} options;

/** Reads the command line, or says how it should be and ends the process. */
options options_read(int argc, char **argv);

/** Whether the bodies are parsed. */
bool options_parsed(const options *options);

/** A base URL and a path together. The text lives until the process ends. */
const char *join_url(const char *base, const char *path);

/** Whether the workload has that name. */
bool options_are(const options *options, const char *workload);

/** Starts the meters; call it when the warm-up is over. */
void meters_start(void);

/** Stops the meters and prints the report; `done` requests were made and found right. */
void meters_report(long done);

/** Memory of this process in KB, from a line of /proc/self/status: "VmRSS", "VmHWM". */
long memory_kb(const char *name);

/** Adds a number to the report. */
void report_number(const char *name, double value);

/** Ends the process with a message and status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
