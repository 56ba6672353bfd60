/*
 * ntapi_perform.c - ours, one blocking call after the other.
 */
#include "ntapi_common.h"

static void run(ntapi_client *client, const ntapi_args *args, const options *options, long count) {
    for (long i = 0; i < count; i++) {
        ntapi_response *response = ntapi_client_perform(client, options->path, args);
        response_check(response, options);
        ntapi_response_free(response);
    }
}

int main(int argc, char **argv) {
    options options = options_read(argc, argv);
    ntapi_client *client = client_create(&options);
    ntapi_args *args = args_create(&options);

    hang(&options);
    run(client, args, &options, options.warmup);
    meters_start();
    run(client, args, &options, options.count);
    meters_report(options.count);

    ntapi_args_free(args);
    ntapi_client_free(client);
    return 0;
}
