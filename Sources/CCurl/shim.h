/* The part of libcurl that Swift cannot import: variadic functions, as typed static-inline wrappers. */
#ifndef NTAPI_CCURL_SHIM_H
#define NTAPI_CCURL_SHIM_H

#include <curl/curl.h>

#endif
