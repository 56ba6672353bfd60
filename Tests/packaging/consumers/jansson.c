/* A user's program with jansson: makes args from a tree, and a tree from a document. Needs no server. */
#include <ntapi_jansson.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    json_t *tree = json_pack("{s:i}", "days", 5);
    ntapi_args *args = ntapi_args_create();
    bool is_taken = ntapi_args_jansson(args, tree) == NTAPI_STATUS_OK;
    ntapi_json *json = ntapi_json_from_jansson(tree);
    json_decref(tree);
    tree = ntapi_json_to_jansson(json, NULL);
    char *text = json_dumps(tree, JSON_COMPACT);
    printf("jansson %s: %s\n", JANSSON_VERSION, text);
    free(text);
    json_decref(tree);
    ntapi_json_free(json);
    ntapi_args_free(args);
    return is_taken ? 0 : 1;
}
