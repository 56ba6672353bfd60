/* jansson, with the variadic and macro parts that Swift cannot import as typed static-inline wrappers. */
#ifndef NTAPI_CJANSSON_SHIM_H
#define NTAPI_CJANSSON_SHIM_H

#include <jansson.h>

#endif
