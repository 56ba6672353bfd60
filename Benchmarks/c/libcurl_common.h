/*
 * libcurl_common.h - what the programs that use libcurl directly share: a body buffer, the options of a transfer, and
 * the check of a response. They are written as a careful C program would be: handles are pooled, buffers kept, no
 * option is set that is not needed.
 */
#ifndef LIBCURL_COMMON_H
#define LIBCURL_COMMON_H

#include <curl/curl.h>
#include <stddef.h>

#include "bench.h"

/** One easy handle with the buffer its body goes to; both are used for one transfer after the other. */
typedef struct slot {
    CURL *easy;
    char *bytes;
    size_t used, room;
} slot;

/** Makes the handle of a slot. */
void slot_create(slot *slot);

/** Frees handle and buffer. */
void slot_destroy(slot *slot);

/** Resets the slot's handle and sets what a GET of `url` needs. */
void slot_prepare(slot *slot, const options *options, const char *url);

/** Ends the process unless the transfer went well, with status 200 and the right body. */
void slot_check(const slot *slot, const options *options, CURLcode result);

#endif
