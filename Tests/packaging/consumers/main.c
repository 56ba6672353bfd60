/* A user's program: makes a request that cannot be built, which needs no server, and prints the error. */
#include <ntapi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    ntapi_client *client = ntapi_client_create(NULL, "http://localhost");
    ntapi_args *args = ntapi_args_create();
    ntapi_args_header(args, "X-Bad", "two\r\nlines");
    ntapi_response *response = ntapi_client_perform(client, "", args);
    const ntapi_error *error = ntapi_response_error(response);
    bool expected = ntapi_error_code(error) == NTAPI_CODE_INVALID_REQUEST;
    printf("ntapi %s: %s\n", ntapi_version(), error != NULL ? ntapi_error_message(error) : "no error");
    ntapi_response_free(response);
    ntapi_args_free(args);
    ntapi_client_free(client);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", NTAPI_VERSION_MAJOR, NTAPI_VERSION_MINOR, NTAPI_VERSION_PATCH);
    return expected && strcmp(ntapi_version(), version) == 0 ? 0 : 1;
}
