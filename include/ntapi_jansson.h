/*
 * ntapi_jansson.h - JSON as json_t *, for programs that use jansson themselves. Optional: ntapi.h is enough to read
 * JSON.
 *
 *   json_t *tree = ntapi_json_to_jansson(ntapi_response_json(response), "list[0]");
 *   ...
 *   json_decref(tree);
 */
#ifndef NTAPI_JANSSON_H
#define NTAPI_JANSSON_H

#include <jansson.h>

#include "ntapi.h"

#endif /* NTAPI_JANSSON_H */
