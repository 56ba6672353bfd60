/* child.h - runs this program again in another process. It is started by exec, because a fork while threads run would
 * inherit their locks.
 */
#ifndef NTAPI_TEST_CHILD_H
#define NTAPI_TEST_CHILD_H

#include <sys/types.h>

enum { CHILD_WORDS = 16 };

/** Starts this program with those arguments, after its name, up to a NULL.
 *  @param variables "NAME=value", before those of this process, up to a NULL; may be NULL.
 *  @param output where to put a descriptor that reads its standard output; may be NULL. */
pid_t start_child(const char *const *arguments, const char *const *variables, int *output);

/** Waits for the end of a child. Returns its exit status, or 1000 plus the signal that ended it. */
int end_of_child(pid_t child);

/** Starts a child, waits for its end, and returns the same. */
int run_child(const char *const *arguments, const char *const *variables);

/** The next line of a child's output, without the line feed, in the caller's buffer. It is empty if there are no
 * more. */
const char *line_of_child(int output, char line[static 128]);

#endif
