/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes strings in JSON.
 */
#ifndef TT_DRAW_JSON_H
#define TT_DRAW_JSON_H

#include <stdio.h>

/* Writes text in quotes. A < becomes \u003c, so that the JSON can be embedded in an HTML page. */
void tt_json_string(const char *text, FILE *out);

#endif
