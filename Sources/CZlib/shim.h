/* zlib, as Swift imports it. */
#ifndef NTAPI_CZLIB_SHIM_H
#define NTAPI_CZLIB_SHIM_H

#include <zlib.h>

/* inflateInit2, a macro. */
static inline int ntapi_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
