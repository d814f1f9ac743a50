/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the pictures in SVG have in common: a frame with title and style, text, scales.
 *
 * Colours are classes, so that a picture follows the reader's light or dark scheme; they are told apart by
 * colour-blind people too (Okabe and Ito 2008), and loads by brightness alone.
 */
#ifndef TT_DRAW_SVG_H
#define TT_DRAW_SVG_H

#include "draw/picture.h"

enum { TT_SVG_LOADS = 8, TT_SVG_MARGIN = 16, TT_SVG_TOP = 58 };

/* Opens the picture, `width` by `height` points, and writes title and subtitle at the top (TT_SVG_TOP points high). */
void tt_svg_begin(const struct tt_picture *picture, const char *what, double width, double height,
                  FILE *out);
void tt_svg_end(FILE *out);
/* With &, < and > escaped; class "" for plain text, anchor "start", "middle" or "end". */
void tt_svg_text(double x, double y, const char *class, const char *anchor, const char *text,
                 FILE *out);

/* The node of each rank, freed by the caller; NULL: the problem does not say (or no memory), and nothing is marked. */
int *tt_picture_nodes(const struct tt_picture *picture);

/* "12.5 us": for people; returns buffer. */
char *tt_svg_time_text(char buffer[32], double ps);
char *tt_svg_bytes_text(char buffer[32], double bytes);
/* A round step (1, 2 or 5 times a power of ten) of which about `parts` make `whole`. */
double tt_svg_round_step(double whole, int parts);

/* Of which class a load is: 0 for none, else 1 .. TT_SVG_LOADS, in equal parts of the greatest. */
int tt_svg_load(int64_t bytes, int64_t most);
/* What the classes stand for; returns its width. */
double tt_svg_load_legend(double x, double y, int64_t most, const char *of, FILE *out);

#endif
