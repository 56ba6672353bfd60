/* jansson, as Swift imports it: for programs that want a tree of it, or give one. */
#ifndef NTAPI_CJANSSON_SHIM_H
#define NTAPI_CJANSSON_SHIM_H

#include <jansson.h>

/* JSON_REAL_PRECISION, a macro with a parameter. */
static inline size_t ntapi_jansson_real_precision(size_t digits) {
    return JSON_REAL_PRECISION(digits);
}

#endif
