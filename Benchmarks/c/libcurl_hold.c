/*
 * libcurl_hold.c - thousands of requests in flight at once, with libcurl's multi interface.
 *
 *   hold    the slow server has all of them; the memory is read; it answers; none may be lost
 *   cancel  the slow server has all of them; each is taken back, which is what is measured
 */
#include <stdio.h>
#include <stdlib.h>

#include "libcurl_common.h"

typedef struct work {
    CURLM *multi;
    options options;
    long answered;
} work;

static void begin(const work *work, slot *slot, const char *path) {
    slot_prepare(slot, &work->options, join_url(work->options.base, path));
    curl_multi_add_handle(work->multi, slot->easy);
}

/** Waits until so many have been answered, well, since the last call. */
static void wait_for(work *work, long count) {
    work->answered = 0;
    while (work->answered < count) {
        int running, left;
        CURLMsg *message;
        curl_multi_perform(work->multi, &running);
        while ((message = curl_multi_info_read(work->multi, &left)) != NULL) {
            slot *slot = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
            slot_check(slot, &work->options, message->data.result);
            curl_multi_remove_handle(work->multi, slot->easy);
            work->answered++;
        }
        if (work->answered < count)
            curl_multi_poll(work->multi, NULL, 0, 1000, NULL);
    }
}

int main(int argc, char **argv) {
    work work = {.options = options_read(argc, argv)};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    work.multi = curl_multi_init();
    long count = work.options.count;
    slot *slots = calloc((size_t)count, sizeof *slots);
    slot control;
    if (slots == NULL)
        fail("out of memory");
    slot_create(&control);
    begin(&work, &control, "anything");
    wait_for(&work, 1);
    bool is_cancel = options_are(&work.options, "cancel");
    if (!is_cancel)
        meters_start();

    for (long i = 0; i < count; i++) {
        slot_create(&slots[i]);
        begin(&work, &slots[i], is_cancel ? "hang" : "hold");
    }
    char path[64];
    snprintf(path, sizeof path, "arrived/%ld", count);
    begin(&work, &control, path);
    wait_for(&work, 1);

    if (is_cancel) {
        meters_start();
        for (long i = 0; i < count; i++)
            curl_multi_remove_handle(work.multi, slots[i].easy);
    } else {
        report_number("held_rss_kb", (double)memory_kb("VmRSS"));
        begin(&work, &control, "release");
        wait_for(&work, count + 1);
    }
    meters_report(count);
    return 0;
}
