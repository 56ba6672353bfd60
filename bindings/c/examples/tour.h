/* tour.h - what the parts of the tour share. */
#ifndef TOUR_H
#define TOUR_H

#include <ntapi.h>

void heading(int number, const char *feature);

/** Counts a response and prints its error; true when it has none. `wanted` is the code of an error that the step
 * expects.
 */
bool succeeded(const ntapi_response *response, const char *wanted);

/** The last step. */
void threads(ntapi_client *client);

/** Gets any URL; returns the status of the program. */
int get(const char *url);

#endif
