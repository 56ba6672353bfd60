/* files.h - folders for one test, their files, and downloads into them. */
#ifndef NTAPI_TEST_FILES_H
#define NTAPI_TEST_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "ntapi.h"

/** A new folder. */
void make_folder(char path[static 64]);

/** The number of entries in a folder. */
int entries(const char *folder);

/** Whether bytes of a download are on disk already: a worker writes them when they have arrived. */
bool has_part(const char *folder);

/** Removes a folder and the file with that name. Fails if anything else is left there. */
void remove_folder(const char *folder, const char *name);

/** Removes a folder and everything in it. */
void remove_all(const char *folder);

/** The content of a file, with a NUL after it. The caller frees it. */
char *content(const char *folder, const char *name, size_t *length);

/** Fails unless a file equals one that nginx serves. */
void check_download(const char *folder, const char *name, const char *served);

/** Args of a download into that file, with all handlers on a background worker. */
ntapi_args *to_file(const char *folder, const char *name);

#endif
