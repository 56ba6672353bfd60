/*
 * ntapi_files.c - ours with files.
 *
 *   download-file  to `file`
 *   upload-file    POST of `file`
 */
#include <sys/stat.h>

#include "ntapi_common.h"

/** Makes a request, frees its args, which may be NULL, and returns the answer. */
static ntapi_response *ask(ntapi_client *client, const char *path, ntapi_args *args) {
    ntapi_response *response = ntapi_client_perform(client, path, args);
    ntapi_args_free(args);
    return response;
}

static void download(ntapi_client *client, const options *options) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_download(args, options->file);
    ntapi_response *response = ask(client, options->path, args);
    if (ntapi_response_error(response) != NULL)
        fail("%s", ntapi_error_message(ntapi_response_error(response)));
    ntapi_response_free(response);
    struct stat file;
    if (stat(options->file, &file) != 0 || file.st_size != options->bytes)
        fail("the file is not whole");
}

static void upload(ntapi_client *client, const options *options) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_file(args, options->file, NULL);
    ntapi_response *response = ask(client, options->path, args);
    response_check(response, options);
    ntapi_response_free(response);
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    ntapi_client *client = client_create(&options);
    /* Something small first, so that the memory at rest is that of a client which has been used. */
    ntapi_response_free(ask(client, options.warm, NULL));

    meters_start();
    for (long i = 0; i < options.count; i++) {
        if (options_are(&options, "download-file"))
            download(client, &options);
        else
            upload(client, &options);
    }
    meters_report(options.count);

    ntapi_client_free(client);
    return 0;
}
