/*
 * libcurl_common.c - slots: a handle, its buffer, its options, its check.
 */
#include "libcurl_common.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A buffer beyond MOST_KEPT is freed after use: nobody keeps 256 MB for the next response. */
enum { FIRST_ROOM = 4096, MOST_KEPT = 1 << 20 };

static size_t append(char *bytes, size_t size, size_t count, void *user_data) {
    slot *slot = user_data;
    size_t length = size * count;
    if (slot->room - slot->used < length) {
        size_t room = slot->room == 0 ? FIRST_ROOM : slot->room;
        while (room - slot->used < length)
            room *= 2;
        char *moved = realloc(slot->bytes, room);
        if (moved == NULL)
            return 0;
        slot->bytes = moved;
        slot->room = room;
    }
    memcpy(slot->bytes + slot->used, bytes, length);
    slot->used += length;
    return length;
}

void slot_create(slot *slot) {
    *slot = (struct slot){.easy = curl_easy_init()};
    if (slot->easy == NULL)
        fail("curl_easy_init failed");
}

void slot_destroy(slot *slot) {
    curl_easy_cleanup(slot->easy);
    free(slot->bytes);
}

void slot_prepare(slot *slot, const options *options, const char *url) {
    CURL *easy = slot->easy;
    curl_easy_reset(easy);
    slot->used = 0;
    if (slot->room > MOST_KEPT) {
        free(slot->bytes);
        slot->bytes = NULL;
        slot->room = 0;
    }
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (options->ca != NULL) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca);
        if (strcmp(options->http, "2") == 0)
            curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        else
            curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
}

/** The number at meta.total, read from a tree that is built and freed as any program with jansson does. */
static long total_of(const slot *slot) {
    json_error_t error;
    json_t *root = json_loadb(slot->bytes, slot->used, 0, &error);
    if (root == NULL)
        fail("not JSON: %s", error.text);
    long total = (long)json_integer_value(json_object_get(json_object_get(root, "meta"), "total"));
    json_decref(root);
    return total;
}

void slot_check(const slot *slot, const options *options, CURLcode result) {
    if (result != CURLE_OK)
        fail("libcurl: %s", curl_easy_strerror(result));
    long status = 0;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        fail("status %ld", status);
    if (slot->used != (size_t)options->bytes)
        fail("%zu bytes instead of %ld", slot->used, options->bytes);
    if (options_parsed(options) && total_of(slot) != options->expect)
        fail("meta.total is not %ld", options->expect);
}
