/*
 * raw_socket.c - the limit that the kernel sets: the same bytes through plain sockets and epoll, with a fixed request
 * and no more HTTP than it takes to find the end of a response. Workload "raw" only.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

enum { ROOM = 1 << 18, EVENTS = 128 };

typedef struct connection {
    int descriptor;
    size_t received; /* bytes of the response so far */
    size_t expected; /* the whole response; 0 until its head has come */
} connection;

typedef struct work {
    const options *options;
    int poller;
    char request[1024];
    size_t length;
    connection *connections;
    long begun, done, count;
} work;

static char bytes[ROOM];

static int open_connection(const char *base) {
    char host[256], port[16];
    if (sscanf(base, "http://%255[^:/]:%15[0-9]", host, port) != 2)
        fail("not http://HOST:PORT: %s", base);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        fail("no such host: %s", host);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0 || connect(descriptor, found->ai_addr, found->ai_addrlen) < 0)
        fail("connect: %s", strerror(errno));
    freeaddrinfo(found);
    int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return descriptor;
}

static void begin(work *work, connection *connection) {
    connection->received = connection->expected = 0;
    work->begun++;
    if (send(connection->descriptor, work->request, work->length, MSG_NOSIGNAL) != (ssize_t)work->length)
        fail("send: %s", strerror(errno));
}

/** Reads what is there; the head is taken to come in one piece, which a server on the same machine keeps to. */
static void receive(work *work, connection *connection) {
    ssize_t count = recv(connection->descriptor, bytes, sizeof bytes - 1, MSG_DONTWAIT);
    if (count <= 0)
        fail("recv: %s", count == 0 ? "closed" : strerror(errno));
    if (connection->expected == 0) {
        bytes[count] = '\0';
        const char *end = strstr(bytes, "\r\n\r\n");
        if (end == NULL || strncmp(bytes, "HTTP/1.1 200 ", 13) != 0)
            fail("not a response with status 200");
        connection->expected = (size_t)(end - bytes) + 4 + (size_t)work->options->bytes;
    }
    connection->received += (size_t)count;
    if (connection->received < connection->expected)
        return;
    if (connection->received > connection->expected)
        fail("too many bytes");
    work->done++;
    if (work->begun < work->count)
        begin(work, connection);
}

static void run(work *work, long count) {
    work->begun = work->done = 0;
    work->count = count;
    for (long i = 0; i < work->options->concurrency && work->begun < count; i++)
        begin(work, &work->connections[i]);
    while (work->done < count) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(work->poller, events, EVENTS, -1);
        for (int i = 0; i < ready; i++)
            receive(work, events[i].data.ptr);
    }
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    if (options_parsed(&options))
        fail("this client only knows the workload raw");
    work work = {.options = &options, .poller = epoll_create1(0)};
    work.length = (size_t)snprintf(work.request, sizeof work.request,
                                   "GET /%s HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n", options.path);
    work.connections = calloc((size_t)options.concurrency, sizeof *work.connections);
    if (work.connections == NULL)
        fail("out of memory");
    for (long i = 0; i < options.concurrency; i++) {
        connection *connection = &work.connections[i];
        connection->descriptor = open_connection(options.base);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(work.poller, EPOLL_CTL_ADD, connection->descriptor, &event);
    }

    run(&work, options.warmup);
    meters_start();
    run(&work, options.count);
    meters_report(work.done);
    return 0;
}
