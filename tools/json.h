/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes JSON arrays, and prints objects.
 */
#ifndef TT_JSON_H
#define TT_JSON_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/* Writes the array of rows, one on each line, to the file `path`, or to standard output if the path
 * is "-". Frees the array. The file is opened only when the whole text is in memory. Returns false
 * after printing the error. */
bool tt_json_write(cJSON *rows, const char *path);
/* Prints an object to standard output, and frees it. Returns false after printing the error. */
bool tt_json_print(cJSON *object);

/* Returns whether the file `path` can be written; if not, prints the error. A command calls this
 * before a long computation whose result it will write to the file. An existing file keeps its
 * contents; a file that did not exist is created empty. */
bool tt_json_writable(const char *path);

#endif
