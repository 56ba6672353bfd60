/*
 * ntapi_files.c - ours with files.
 *
 *   upload-file    POST of `file`
 */
#include "ntapi_common.h"

static void ask(ntapi_client *client, const char *path, const ntapi_args *args, const options *options) {
    ntapi_response *response = ntapi_client_perform(client, path, args);
    response_check(response, options);
    ntapi_response_free(response);
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    ntapi_client *client = client_create(&options);
    /* Something small first, so that the memory at rest is that of a client which has been used. */
    ask(client, options.warm, NULL, &options);

    meters_start();
    for (long i = 0; i < options.count; i++) {
        ntapi_args *args = ntapi_args_create();
        ntapi_args_file(args, options.file, NULL);
        ask(client, options.path, args, &options);
        ntapi_args_free(args);
    }
    meters_report(options.count);

    ntapi_client_free(client);
    return 0;
}
