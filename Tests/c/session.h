/* session.h - clients with a configuration, and its settings. */
#ifndef NTAPI_TEST_SESSION_H
#define NTAPI_TEST_SESSION_H

#include "ntapi.h"

/** A client of a test server, which ignores proxies of the environment and trusts the test CA. */
ntapi_client *session_of(const char *name, ntapi_configuration *configuration);

ntapi_configuration *ephemeral(void);

void set_string(ntapi_configuration *configuration, const char *key, const char *value);
void set_number(ntapi_configuration *configuration, const char *key, double value);
void set_json(ntapi_configuration *configuration, const char *key, const char *text);

/** Performs a command with that configuration, and frees the configuration. The caller frees the response. */
ntapi_response *response_with(ntapi_configuration *configuration, const char *name, const char *command);

/** Does the same, and returns the code of the error, or NULL. */
ntapi_code code_with(ntapi_configuration *configuration, const char *name, const char *command);

#endif
