/* A user's program with libntapi-redis. It creates a store without a server: the store connects when it is needed. */
#include <ntapi_redis.h>
#include <stdio.h>

int main(void) {
    const ntapi_redis_options options = {.size = sizeof options, .url = "redis://127.0.0.1"};
    ntapi_error *error = NULL;
    ntapi_store *store = ntapi_redis_store_create(&options, &error);
    char *shown = ntapi_describe(store);
    printf("redis: %s\n", shown);
    ntapi_text_free(shown);
    ntapi_store_free(store);
    return error == NULL ? 0 : 1;
}
