/*
 * libcurl_files.c - files with curl_easy_perform.
 *
 *   download-file  to `file`, with libcurl's own fwrite
 *   upload-file    POST of `file`, with libcurl's own fread
 */
#include <stdio.h>

#include "libcurl_common.h"

static void check(CURL *easy, CURLcode result) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (result != CURLE_OK || status != 200)
        fail("%s, status %ld", curl_easy_strerror(result), status);
}

static FILE *open_file(const options *options, const char *mode) {
    FILE *file = fopen(options->file, mode);
    if (file == NULL)
        fail("cannot open %s", options->file);
    return file;
}

static void download(slot *slot, const options *options, const char *url) {
    FILE *file = open_file(options, "wb");
    slot_prepare(slot, options, url);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, NULL);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, file);
    check(slot->easy, curl_easy_perform(slot->easy));
    if (ftell(file) != options->bytes || fclose(file) != 0)
        fail("the file is not whole");
}

static void upload(slot *slot, const options *options, const char *url) {
    FILE *file = open_file(options, "rb");
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    headers = curl_slist_append(headers, "Expect:");
    slot_prepare(slot, options, url);
    curl_easy_setopt(slot->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)options->bytes);
    curl_easy_setopt(slot->easy, CURLOPT_READDATA, file);
    curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, headers);
    check(slot->easy, curl_easy_perform(slot->easy));
    curl_off_t sent = 0;
    curl_easy_getinfo(slot->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (sent != (curl_off_t)options->bytes)
        fail("%lld bytes sent", (long long)sent);
    curl_slist_free_all(headers);
    fclose(file);
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    const char *url = join_url(options.base, options.path);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    slot slot;
    slot_create(&slot);
    /* Something small first, so that the memory at rest is that of a client which has been used. */
    slot_prepare(&slot, &options, join_url(options.base, options.warm));
    check(slot.easy, curl_easy_perform(slot.easy));

    meters_start();
    for (long i = 0; i < options.count; i++) {
        if (options_are(&options, "download-file"))
            download(&slot, &options, url);
        else
            upload(&slot, &options, url);
    }
    meters_report(options.count);

    slot_destroy(&slot);
    return 0;
}
