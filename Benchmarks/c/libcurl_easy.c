/*
 * libcurl_easy.c - the reference for one at a time: curl_easy_perform with one handle used again and again.
 */
#include "libcurl_common.h"

static void run(slot *slot, const options *options, const char *url, long count) {
    for (long i = 0; i < count; i++) {
        slot_prepare(slot, options, url);
        slot_check(slot, options, curl_easy_perform(slot->easy));
    }
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    const char *url = join_url(options.base, options.path);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    slot slot;
    slot_create(&slot);

    run(&slot, &options, url, options.warmup);
    meters_start();
    run(&slot, &options, url, options.count);
    meters_report(options.count);

    slot_destroy(&slot);
    return 0;
}
