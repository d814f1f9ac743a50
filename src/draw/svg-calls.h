/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the picture of calls and the tables below it.
 */
#ifndef TT_DRAW_SVG_CALLS_H
#define TT_DRAW_SVG_CALLS_H

#include "draw/calls.h"

/* Which of the colours r0 .. r7 a collective has. */
int tt_svg_call_colour(const char *coll);

/* Ranks, and calls: each execution of a short run, those that are alike together of a longer one.
 */
double tt_svg_call_tables_height(const struct tt_calls *calls);
void tt_svg_call_tables(const struct tt_calls *calls, int64_t whole_ps, double y, FILE *out);

#endif
