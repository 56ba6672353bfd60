/*
 * ntapi_common.h - what our C clients share: how the client is made and how a response is checked.
 */
#ifndef NTAPI_COMMON_H
#define NTAPI_COMMON_H

#include <ntapi.h>

#include "bench.h"

/** Makes a client for the options' server. */
ntapi_client *client_create(const options *options);

/** The args of each request: none for parsed bodies, the raw data option otherwise. Free it. */
ntapi_args *args_create(const options *options);

/** Begins the `hanging` requests that the slow server never answers; returns when it has them all. */
void hang(const options *options);

/** Ends the process unless the response has status 200 and the right body. */
void response_check(const ntapi_response *response, const options *options);

#endif
