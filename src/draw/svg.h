/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the pictures in SVG have in common: a frame with title and style, text, arrows, legends,
 * scales.
 *
 * Colours are classes of the style, whose values come from palette.h, so that a picture follows the
 * reader's light or dark scheme. A class of a line has the same colour as stroke and as fill, so
 * that the head of an arrow, which is filled, is part of the same path:
 *
 *     lines   trip signal between edge axis line   stroke and head
 *     bars    send put recv get signal-bar copy reduce read write wait await   fill
 *     loads   h0 .. h8 stroke, f0 .. f8 fill; 0: nothing
 *     routes  r0 .. r7 stroke, d0 .. d3 dashes
 *     text    title, minor, small, or none of them
 */
#ifndef TT_DRAW_SVG_H
#define TT_DRAW_SVG_H

#include "draw/palette.h"
#include "draw/picture.h"

enum { TT_SVG_LOADS = 8, TT_SVG_MARGIN = 16, TT_SVG_TOP = 58 };

/* Opens the picture, `width` by `height` points, and writes title and subtitle at the top
 * (TT_SVG_TOP points high). `about` is cut at a comma into two lines where it is wider than the
 * picture. */
void tt_svg_open(const char *title, const char *about, double width, double height,
                 enum tt_scheme scheme, FILE *out);
/* The same with a subtitle that says what the picture is of. */
void tt_svg_begin(const struct tt_picture *picture, const char *what, double width, double height,
                  FILE *out);
void tt_svg_end(FILE *out);
/* With &, < and > escaped; class "" for plain text, anchor "start", "middle" or "end". */
void tt_svg_text(double x, double y, const char *class, const char *anchor, const char *text,
                 FILE *out);

/* About how many points wide a text of this size is. */
double tt_svg_text_width(const char *text, double size);

/* ---- Lines ---- */

/* The data of a path (what stands in d="..."): a line from (x0, y0) to (x1, y1) with a filled head
 * of `size` points at its end (0: none). A short line has a smaller head. */
void tt_svg_arrow(double x0, double y0, double x1, double y1, double size, FILE *out);

/* ---- Legends ---- */

/* An entry of a legend, its text at the height y: a bar, a line, or an arrow of the class, and what
 * it stands for. Returns where the next one begins. */
enum tt_svg_sign { TT_SVG_BAR, TT_SVG_LINE, TT_SVG_ARROW, TT_SVG_CIRCLE };
double tt_svg_key(double x, double y, enum tt_svg_sign sign, const char *class, const char *name,
                  FILE *out);

/* The node of each rank, freed by the caller; NULL: the problem does not say (or no memory), and
 * nothing is marked. */
int *tt_picture_nodes(const struct tt_picture *picture);

/* ---- Numbers for people: up to four digits and a unit; they return the buffer ---- */

/* "12.5 µs" */
char *tt_svg_time_text(char buffer[32], double ps);
/* "1.5 KiB" */
char *tt_svg_bytes_text(char buffer[32], double bytes);
/* A round step (1, 2 or 5 times a power of ten) of which about `parts` make `whole`. */
double tt_svg_round_step(double whole, int parts);

/* Of which class a load is: 0 for none, else 1 .. TT_SVG_LOADS, in equal parts of the greatest. */
int tt_svg_load(int64_t bytes, int64_t most);
/* What the classes of loads stand for. present: bit k is set where there is one of class k; of the
 * scale all classes are shown where there is more than one. */
void tt_svg_load_legend(double x, double y, unsigned present, int64_t most, const char *of,
                        FILE *out);

#endif
