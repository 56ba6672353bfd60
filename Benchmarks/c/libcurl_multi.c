/*
 * libcurl_multi.c - the reference for many at once: curl_multi_perform and curl_multi_poll, with jansson or without
 * parsing ("parsed", "raw").
 */
#include <stdlib.h>

#include "libcurl_common.h"

/** Where the work stands. */
typedef struct work {
    CURLM *multi;
    const options *options;
    const char *url;
    slot *slots;
    long begun, done, count;
} work;

static void begin(work *work, slot *slot) {
    slot_prepare(slot, work->options, work->url);
    curl_multi_add_handle(work->multi, slot->easy);
    work->begun++;
}

/** Takes what has finished, and begins as many anew while some are left. Returns how many had finished. */
static int take_finished(work *work) {
    int taken = 0;
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(work->multi, &left)) != NULL) {
        slot *slot = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        curl_multi_remove_handle(work->multi, slot->easy);
        slot_check(slot, work->options, result);
        work->done++;
        taken++;
        if (work->begun < work->count)
            begin(work, slot);
    }
    return taken;
}

static void run(work *work, long count) {
    work->begun = work->done = 0;
    work->count = count;
    for (long i = 0; i < work->options->concurrency && work->begun < count; i++)
        begin(work, &work->slots[i]);
    while (work->done < count) {
        int running;
        curl_multi_perform(work->multi, &running);
        /* What was begun anew goes out before the wait, or the wait would be cut short by its timer. */
        if (take_finished(work) == 0)
            curl_multi_poll(work->multi, NULL, 0, 1000, NULL);
    }
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    work work = {.multi = curl_multi_init(), .options = &options, .url = join_url(options.base, options.path)};
    work.slots = calloc((size_t)options.concurrency, sizeof *work.slots);
    if (work.slots == NULL)
        fail("out of memory");
    for (long i = 0; i < options.concurrency; i++)
        slot_create(&work.slots[i]);
    /* The cache of connections follows the number of handles by itself, but only in steps; a good program sets it. */
    curl_multi_setopt(work.multi, CURLMOPT_MAXCONNECTS, options.concurrency);

    run(&work, options.warmup);
    meters_start();
    run(&work, options.count);
    meters_report(work.done);

    for (long i = 0; i < options.concurrency; i++)
        slot_destroy(&work.slots[i]);
    curl_multi_cleanup(work.multi);
    free(work.slots);
    return 0;
}
