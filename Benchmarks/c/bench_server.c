/*
 * bench_server.c - a server for what nginx cannot do: requests that stay unanswered until they are released, and
 * uploads that are counted and thrown away. One thread, epoll.
 *
 *   bench_server LISTENING_DESCRIPTOR FILE
 *
 *   GET  /hang        never answered
 *   GET  /hold        answered after /release
 *   GET  /arrived/N   answered when N of those wait
 *   GET  /release     answers all of /hold, then itself
 *   POST /upload      answered when the body, whose length must be given, has arrived
 *   GET  /anything    answered at once
 *
 * Each answer is the JSON of FILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_ROOM = 4096, ANSWER_ROOM = 8192, EVENTS = 512, DISCARD = 1 << 20 };

typedef enum phase { READING, HANGING, HELD, COUNTING, UPLOADING } phase;

/** One connection, in the list of all. */
typedef struct peer {
    struct peer *next, *previous;
    int descriptor;
    phase phase;
    long wanted;         /* COUNTING: how many must wait */
    long long remaining; /* UPLOADING: bytes of the body to come */
    size_t used;
    char *head; /* only while a request is being read: ten thousand that wait need no buffers */
} peer;

static peer all = {.next = &all, .previous = &all};
static long waiting;            /* how many peers are HANGING or HELD */
static long awaited = LONG_MAX; /* no peer that is COUNTING wants less */
static int poller;

static char answer_text[ANSWER_ROOM];
static size_t answer_length;
static const char GO_ON[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* Closes with a reset: ten thousand clients that left would keep their ports for a minute otherwise, and the next ten
 * thousand would find none. */
static void close_peer(peer *peer) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(peer->descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    waiting -= peer->phase == HANGING || peer->phase == HELD;
    peer->next->previous = peer->previous;
    peer->previous->next = peer->next;
    close(peer->descriptor);
    free(peer->head);
    free(peer);
}

/** A few thousand bytes always fit into the buffer of a socket whose peer waits for them. */
static void say(const peer *peer, const char *text, size_t length) {
    if (send(peer->descriptor, text, length, MSG_NOSIGNAL) != (ssize_t)length && errno != EPIPE && errno != ECONNRESET)
        perror("send");
}

static void answer(peer *peer) {
    waiting -= peer->phase == HANGING || peer->phase == HELD;
    peer->phase = READING;
    say(peer, answer_text, answer_length);
}

/** Answers those who asked to be told when enough are waiting. Looks at all peers only when there is one: this is
 * called with every request, and a server that is late with its connections makes clients give up. */
static void tell_arrived(void) {
    if (waiting < awaited)
        return;
    awaited = LONG_MAX;
    for (peer *peer = all.next; peer != &all; peer = peer->next) {
        if (peer->phase == COUNTING && waiting >= peer->wanted)
            answer(peer);
        else if (peer->phase == COUNTING && peer->wanted < awaited)
            awaited = peer->wanted;
    }
}

static void release(void) {
    for (peer *peer = all.next; peer != &all; peer = peer->next) {
        if (peer->phase == HELD)
            answer(peer);
    }
}

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void wait_for(peer *peer, phase phase) {
    peer->phase = phase;
    waiting++;
}

/** Begins the upload whose head ends at `body`; part of its body may have come with it. */
static void begin_upload(peer *peer, const char *body) {
    const char *length = strcasestr(peer->head, "\r\ncontent-length:");
    size_t here = peer->used - (size_t)(body - peer->head);
    peer->phase = UPLOADING;
    peer->remaining = (length == NULL ? 0 : strtoll(length + 17, NULL, 10)) - (long long)here;
    if (strcasestr(peer->head, "\r\nexpect: 100-continue") != NULL)
        say(peer, GO_ON, sizeof GO_ON - 1);
    if (peer->remaining <= 0)
        answer(peer);
}

static void serve(peer *peer, const char *body) {
    const char *head = peer->head;
    if (begins(head, "POST /upload ") || begins(head, "PUT /upload ")) {
        begin_upload(peer, body);
    } else if (begins(head, "GET /hang ")) {
        wait_for(peer, HANGING);
    } else if (begins(head, "GET /hold ")) {
        wait_for(peer, HELD);
    } else if (begins(head, "GET /arrived/")) {
        peer->phase = COUNTING;
        peer->wanted = strtol(head + 13, NULL, 10);
        awaited = peer->wanted < awaited ? peer->wanted : awaited;
    } else {
        if (begins(head, "GET /release "))
            release();
        answer(peer);
    }
    free(peer->head);
    peer->head = NULL;
    peer->used = 0;
    tell_arrived();
}

static void read_head(peer *peer) {
    if (peer->head == NULL && (peer->head = malloc(HEAD_ROOM)) == NULL)
        return close_peer(peer);
    ssize_t count = recv(peer->descriptor, peer->head + peer->used, HEAD_ROOM - 1 - peer->used, 0);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0)
        return close_peer(peer);
    peer->used += (size_t)count;
    peer->head[peer->used] = '\0';
    const char *end = strstr(peer->head, "\r\n\r\n");
    if (end != NULL)
        serve(peer, end + 4);
    else if (peer->used == HEAD_ROOM - 1)
        close_peer(peer);
}

/** MSG_TRUNC makes the kernel drop the bytes instead of copying them. */
static void discard(peer *peer) {
    size_t most = peer->remaining > 0 && peer->remaining < DISCARD ? (size_t)peer->remaining : DISCARD;
    ssize_t count = recv(peer->descriptor, NULL, most, MSG_TRUNC);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0)
        return close_peer(peer);
    peer->remaining -= count;
    if (peer->phase == UPLOADING && peer->remaining <= 0)
        answer(peer);
}

static void accept_all(int listener) {
    int descriptor;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        peer *added = calloc(1, sizeof *added);
        if (added == NULL) {
            close(descriptor);
            continue;
        }
        *added = (peer){.next = all.next, .previous = &all, .descriptor = descriptor};
        all.next->previous = added;
        all.next = added;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = added};
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
    }
}

/** Makes the one answer from the file. */
static bool read_answer(const char *path) {
    char body[ANSWER_ROOM / 2];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t length = fread(body, 1, sizeof body - 1, file);
    fclose(file);
    body[length] = '\0';
    answer_length = (size_t)snprintf(
        answer_text, sizeof answer_text,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", length, body);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3 || !read_answer(argv[2])) {
        fprintf(stderr, "usage: %s LISTENING_DESCRIPTOR FILE\n", argv[0]);
        return 2;
    }
    int listener = (int)strtol(argv[1], NULL, 10);
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = NULL};
    if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &listening) < 0) {
        perror("epoll");
        return 1;
    }
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            peer *peer = events[i].data.ptr;
            if (peer == NULL)
                accept_all(listener);
            else if (peer->phase == READING)
                read_head(peer);
            else
                discard(peer);
        }
    }
}
