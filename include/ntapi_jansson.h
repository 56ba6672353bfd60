/*
 * ntapi_jansson.h - JSON as json_t *, for programs that use jansson themselves. Optional: ntapi.h alone reads JSON by
 * path. Link with -lntapi -ljansson: pkg-config --cflags --libs ntapi jansson, or in CMake
 * find_package(ntapi REQUIRED COMPONENTS jansson) and the target ntapi::jansson.
 *
 *   json_t *order = json_pack("{s:s, s:i}", "city", "London", "days", 5);
 *   ntapi_args_jansson(args, order);
 *   json_decref(order);
 *
 *   ntapi_response *response = ntapi_client_perform(client, "orders", args);
 *   const json_t *tree = ntapi_response_jansson(response);
 *   printf("%s\n", json_string_value(json_object_get(tree, "id")));
 *   ntapi_response_free(response);     (the tree goes with it)
 *
 * Trees follow the rules of all JSON here, which docs/json.md lists: an integer beyond 64 bits is a real, \u0000 stands
 * in strings (json_string_length), and nothing nests deeper than 2,048 levels.
 *
 * Hooks and handlers that give or take an ntapi_json work on trees, too. A hook that parses JSON ends like this:
 *
 *   json_t *tree = json_loadb(bytes, length, JSON_ALLOW_NUL, &problem);
 *   ntapi_json *json = ntapi_json_from_jansson(tree);
 *   json_decref(tree);
 *   return json;
 */
#ifndef NTAPI_JANSSON_H
#define NTAPI_JANSSON_H

#include <jansson.h>

#include "ntapi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The body as a jansson tree, built when it is first asked for.
 *  Any threads may read the tree at once. It must not be changed: json_deep_copy makes one that may be.
 *  @param response the response.
 *  @returns the tree, borrowed until the response is freed; NULL where ntapi_response_json is NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
json_t *ntapi_response_jansson(const ntapi_response *response);

/** Sets a jansson tree as the body, application/json; the default method becomes POST. As ntapi_args_json.
 *  @param args the list.
 *  @param tree the value, copied; NULL suppresses. One that contains itself or has more than 2,048 levels is refused.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_jansson(ntapi_args *args, const json_t *tree);

/** Sets or removes a default. As ntapi_defaults_set.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param tree the value, copied; NULL removes. One that contains itself or has more than 2,048 levels is refused.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set_jansson(ntapi_defaults *defaults, const char *key, const json_t *tree);

/** The value at a path of a JSON document as a jansson tree of your own: of metrics, cookies, a default, say.
 *  @param json the document.
 *  @param path the path, borrowed for the call; NULL is the whole document.
 *  @returns the tree, new: end it with json_decref. NULL when nothing is there.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
json_t *ntapi_json_to_jansson(const ntapi_json *json, const char *path);

/** Makes a JSON document from a jansson tree: for a hook that parses JSON, a provider of a default, a stub's answer.
 *  @param tree the tree, copied.
 *  @returns the document, new; NULL for NULL, and for a tree that contains itself or has more than 2,048 levels.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_json_from_jansson(const json_t *tree);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_JANSSON_H */
