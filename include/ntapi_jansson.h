/*
 * ntapi_jansson.h - JSON as json_t *, for programs that use jansson themselves. Optional: ntapi.h alone reads JSON by
 * path. Link with -lntapi -ljansson: pkg-config --cflags --libs ntapi jansson, or in CMake
 * find_package(ntapi REQUIRED COMPONENTS jansson) and the target ntapi::jansson.
 *
 *     json_t *order = json_pack("{s:s, s:i}", "city", "London", "days", 5);
 *     ntapi_args_jansson(args, order);
 *     json_decref(order);
 *
 *     ntapi_response *response = ntapi_client_perform(client, "orders", args);
 *     const json_t *tree = ntapi_response_jansson(response);
 *     printf("%s\n", json_string_value(json_object_get(tree, "id")));
 *     ntapi_response_free(response);     (the tree goes with it)
 *
 * Trees follow the rules of all JSON here, which docs/json.md lists: an integer beyond 64 bits is a real, \u0000 stands
 * in strings (json_string_length), and nothing nests deeper than 2,048 levels. A tree that contains itself or is
 * deeper is refused. The rules of ntapi.h hold here, too.
 *
 * Hooks and handlers that give or take an ntapi_json work on trees, too. A hook that parses JSON ends like this:
 *
 *     json_t *tree = json_loadb(bytes, length, JSON_ALLOW_NUL, &problem);
 *     ntapi_json *json = ntapi_json_from_jansson(tree);
 *     json_decref(tree);
 *     return json;
 */
#ifndef NTAPI_JANSSON_H
#define NTAPI_JANSSON_H

#include <jansson.h>

#include "ntapi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== 1. Trees =================================================================================================== */

/** The body as a tree, built when it is first asked for, borrowed until the response is freed; NULL where
 *  ntapi_response_json is NULL. Several threads may read it at once. It must not be changed: json_deep_copy makes
 *  one that may be. */
json_t *ntapi_response_jansson(const ntapi_response *response);

/** Sets a tree (copied) as the body, as ntapi_args_json. NULL suppresses. */
ntapi_status ntapi_args_jansson(ntapi_args *args, const json_t *tree);

/** Sets a default to a tree (copied), as ntapi_defaults_set. NULL removes it. */
NTAPI_CHECKED ntapi_status ntapi_defaults_set_jansson(ntapi_defaults *defaults, const char *key, const json_t *tree);

/** The value at a path of a JSON document as your own tree, for example of metrics, cookies or a default.
 *  @returns new: end it with json_decref. NULL when nothing is there. */
NTAPI_NEW json_t *ntapi_json_to_jansson(const ntapi_json *json, const char *path);

/** Makes a JSON document from a tree (copied): for a hook that parses JSON, the provider of a default, a stub's
 *  answer. */
NTAPI_NEW ntapi_json *ntapi_json_from_jansson(const json_t *tree);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_JANSSON_H */
