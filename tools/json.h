/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes JSON arrays, and prints objects.
 */
#ifndef TT_JSON_H
#define TT_JSON_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/* Writes the array of rows, one on each line, to the file `path`, as tt_write_whole does. Frees the
 * array. Returns false after printing the error, which begins with the name of the command. */
bool tt_json_write(const char *command, cJSON *rows, const char *path);
/* Prints an object to standard output, and frees it. Returns false after printing the error. */
bool tt_json_print(cJSON *object);

#endif
