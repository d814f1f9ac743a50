/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the files that the user names. A path "-" stands for standard output.
 */
#ifndef TT_TOOLS_WRITE_H
#define TT_TOOLS_WRITE_H

#include <stdio.h>

#include "base/base.h"

/* Writes the text that `print` prints to the file `path`. Writes nothing if `print` returns an
 * error. Replaces an existing regular file by a new one with the same permissions, owner and group,
 * and only when the new one is complete: if writing fails, the old file stays. A file that cannot
 * be replaced but can be written, as in a folder that the user may not write, is overwritten
 * instead. Returns false after printing the error, which begins with the name of the command. */
bool tt_write_whole(const char *command, const char *path,
                    tutti_status (*print)(void *arg, FILE *out), void *arg);

/* Returns whether tt_write_whole could write the file; if not, prints the error. Leaves the file as
 * it is. A command calls this function before a long computation whose result it will write. */
bool tt_write_try(const char *command, const char *path);
/* Returns whether the paths stand for different files, or one of them is "-" or NULL; if not,
 * prints the error. A command calls this function for a file that it will write, and another file
 * that it reads or also writes. */
bool tt_write_apart(const char *command, const char *path, const char *other);
/* Returns whether tt_write_whole would write none of the files that the command may read because a
 * setting names them, or because the map of a problem does (file:PATH; `map` may be NULL); if not,
 * prints the error. `except`: a setting that may name the file, because the command writes the file
 * for it; or NULL. */
bool tt_write_spares(const char *command, const char *path, const char *map, const char *except);

#endif
