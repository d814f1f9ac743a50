/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strings in JSON.
 */
#ifndef TT_DRAW_JSON_H
#define TT_DRAW_JSON_H

#include <stdio.h>

/* Quoted; with < written as \u003c, so that JSON can stand in a page. */
void tt_json_string(const char *text, FILE *out);

#endif
