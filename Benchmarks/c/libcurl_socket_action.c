/*
 * libcurl_socket_action.c - the reference beside many that hang: curl_multi_socket_action over epoll, with jansson or
 * without parsing ("parsed", "raw"), while `hanging` requests to the slow server stay unanswered.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "libcurl_common.h"

enum { EVENTS = 128 };

typedef struct work {
    CURLM *multi;
    const options *options;
    const char *url;
    int poller;
    double deadline; /* when libcurl wants to be called, in seconds; negative: never */
    slot *slots;
    long begun, done, count;
} work;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/** What libcurl wants to wait for on a socket. A number kept with the socket says that epoll knows it already. */
static int watch(CURL *easy, curl_socket_t socket, int what, void *user_data, void *known) {
    (void)easy;
    work *work = user_data;
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(work->poller, EPOLL_CTL_DEL, socket, NULL), 0;
    struct epoll_event event = {.data.fd = socket};
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    epoll_ctl(work->poller, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
    if (known == NULL)
        curl_multi_assign(work->multi, socket, work);
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *user_data) {
    (void)multi;
    work *work = user_data;
    work->deadline = milliseconds < 0 ? -1 : now() + (double)milliseconds / 1e3;
    return 0;
}

static void begin(work *work, slot *slot) {
    slot_prepare(slot, work->options, work->url);
    curl_multi_add_handle(work->multi, slot->easy);
    work->begun++;
}

static void take_finished(work *work) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(work->multi, &left)) != NULL) {
        slot *slot = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        curl_multi_remove_handle(work->multi, slot->easy);
        slot_check(slot, work->options, result);
        work->done++;
        if (work->begun < work->count)
            begin(work, slot);
    }
}

/** One turn of the loop: waits for sockets or the timer, and tells libcurl. */
static void turn(work *work) {
    struct epoll_event events[EVENTS];
    int running;
    int milliseconds = -1;
    if (work->deadline >= 0) {
        double left = work->deadline - now();
        milliseconds = left <= 0 ? 0 : (int)(left * 1e3) + 1;
    }
    int ready = milliseconds == 0 ? 0 : epoll_wait(work->poller, events, EVENTS, milliseconds);
    for (int i = 0; i < ready; i++) {
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(work->multi, events[i].data.fd, what, &running);
    }
    if (work->deadline >= 0 && work->deadline <= now()) {
        work->deadline = -1;
        curl_multi_socket_action(work->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

static void run(work *work, long count) {
    work->begun = work->done = 0;
    work->count = count;
    for (long i = 0; i < work->options->concurrency && work->begun < count; i++)
        begin(work, &work->slots[i]);
    while (work->done < count) {
        turn(work);
        take_finished(work);
    }
}

/** Begins those that hang, and one that is answered when the server has them all. */
static void hang(work *work) {
    const options *options = work->options;
    if (options->hanging == 0)
        return;
    const char *url = join_url(options->slow, "hang");
    for (long i = 0; i < options->hanging; i++) {
        slot *hanging = malloc(sizeof *hanging);
        if (hanging == NULL)
            fail("out of memory");
        slot_create(hanging);
        slot_prepare(hanging, options, url);
        curl_multi_add_handle(work->multi, hanging->easy);
    }
    char path[64];
    snprintf(path, sizeof path, "arrived/%ld", options->hanging);
    work->url = join_url(options->slow, path);
    run(work, 1);
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    work work = {.multi = curl_multi_init(), .options = &options, .deadline = -1};
    work.poller = epoll_create1(0);
    work.slots = calloc((size_t)options.concurrency, sizeof *work.slots);
    if (work.slots == NULL)
        fail("out of memory");
    for (long i = 0; i < options.concurrency; i++)
        slot_create(&work.slots[i]);
    curl_multi_setopt(work.multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(work.multi, CURLMOPT_SOCKETDATA, &work);
    curl_multi_setopt(work.multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(work.multi, CURLMOPT_TIMERDATA, &work);
    curl_multi_setopt(work.multi, CURLMOPT_MAXCONNECTS, options.concurrency + options.hanging + 1);

    hang(&work);
    work.url = join_url(options.base, options.path);
    run(&work, options.warmup);
    meters_start();
    run(&work, options.count);
    meters_report(work.done);
    return 0; /* what hangs ends with the process */
}
