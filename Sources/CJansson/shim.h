/* jansson, as Swift imports it: for programs that want a tree of it, or give one. */
#ifndef NTAPI_CJANSSON_SHIM_H
#define NTAPI_CJANSSON_SHIM_H

#include <jansson.h>

#endif
