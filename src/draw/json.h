/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strings in JSON.
 */
#ifndef TT_DRAW_JSON_H
#define TT_DRAW_JSON_H

#include <stdio.h>

/* Quoted; what it stands for in JSON is the same in a script of a page, so `</` is written `<\/`. */
void tt_json_string(const char *text, FILE *out);

#endif
