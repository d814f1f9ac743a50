/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing JSON.
 */
#ifndef TT_JSON_H
#define TT_JSON_H

#include <stdbool.h>

#include <cjson/cJSON.h>

/* Writes the array of rows, one a line, to the file `path` ("-": stdout), whole or not at all, and
 * frees it; false when it said why that failed. */
bool tt_json_write(cJSON *rows, const char *path);

/* Whether `path` can be written, told before what is to be written takes its time to come; else
 * says why. A file that is there keeps what it holds; one that was not there is there afterwards,
 * empty. */
bool tt_json_writable(const char *path);

#endif
