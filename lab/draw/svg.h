/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts that all pictures in SVG share: a frame with title and style, text, arrows, legends,
 * scales.
 *
 * Colours are classes of the style, whose values come from palette.h, so that a picture follows the
 * reader's light or dark scheme. These are the main classes, and the properties that they set:
 *
 *     of lines    message, signal, between, edge, axis: stroke and fill, with the same colour, so
 *                 that an arrow and its head, which is filled, can be one path; line: stroke
 *     of bars     send, put, recv, get, signal-bar, copy, reduce, read, write, wait, await: fill
 *     of loads    h0 .. h8: stroke; f0 .. f8: fill; h0 and f0 stand for 0 bytes
 *     of routes   r0 .. r7: stroke and fill; d0 .. d3: dashes
 *     of text     title, minor, small; a text without a class has the usual size
 */
#ifndef TT_DRAW_SVG_H
#define TT_DRAW_SVG_H

#include "draw/palette.h"
#include "draw/picture.h"

enum { TT_SVG_LOADS = 8, TT_SVG_MARGIN = 16, TT_SVG_TOP = 58 };

/* Opens the picture, `width` by `height` points, and writes title and subtitle at the top
 * (TT_SVG_TOP points high). If the subtitle `about` is wider than the picture, it is broken at a
 * comma into two lines. */
void tt_svg_open(const char *title, const char *about, double width, double height,
                 enum tt_scheme scheme, FILE *out);
/* Opens the picture like tt_svg_open, with a subtitle that describes its problem, algorithm and
 * model. */
void tt_svg_begin(const struct tt_picture *picture, const char *what, double width, double height,
                  FILE *out);
void tt_svg_end(FILE *out);
/* Writes text with &, < and > escaped. class: a class of texts, or "" for plain text. anchor: the
 * part of the text that is at x: "start", "middle" or "end". */
void tt_svg_text(double x, double y, const char *class, const char *anchor, const char *text,
                 FILE *out);

/* Writes the text, escaped, as a <title> element: a viewer shows it as a tooltip of the element
 * that contains it. */
void tt_svg_tip(const char *text, FILE *out);

/* Estimates the width of a text of this font size, in points. */
double tt_svg_text_width(const char *text, double size);

/* ---- Lines ---- */

/* Writes the data of a path (the value of its attribute d): a line from (x0, y0) to (x1, y1) with a
 * filled head of `size` points at its end. There is no head if `size` is 0, and a smaller one if
 * the line is short. */
void tt_svg_arrow(double x0, double y0, double x1, double y1, double size, FILE *out);

/* ---- Legends ---- */

/* A legend, whose entries stand side by side on as many lines as they need between `left` and
 * `right`. (x, y) is the place at which the next entry begins; at first, x is `left`. */
struct tt_svg_legend {
    double left, right, x, y;
    FILE *out; /* if NULL, nothing is written, and y shows how high the legend would be */
};

/* tt_svg_key writes an entry of a legend: a sign of the class (a bar, a line, an arrow, a circle or
 * the mark of a late rank) and its meaning. */
enum tt_svg_sign { TT_SVG_BAR, TT_SVG_LINE, TT_SVG_ARROW, TT_SVG_CIRCLE, TT_SVG_MARK };
void tt_svg_key(struct tt_svg_legend *legend, enum tt_svg_sign sign, const char *class,
                const char *name);

/* Returns an array with the node of each rank, which the caller frees. Returns NULL if the problem
 * does not name nodes or there is no memory; pictures then do not show nodes. */
int *tt_picture_nodes(const struct tt_picture *picture);

/* ---- Numbers for readers: up to four digits and a unit; the functions return the buffer ---- */

/* Writes a time such as "12.5 µs", and returns the buffer. */
char *tt_svg_time_text(char buffer[32], double ps);
/* Writes a size such as "1.5 KiB", and returns the buffer. */
char *tt_svg_bytes_text(char buffer[32], double bytes);
/* Returns a round step (1, 2 or 5 times a power of ten) of which about `parts` make `whole`. */
double tt_svg_round_step(double whole, int parts);

/* Returns the class of a load of `bytes` if the largest load is `most`: 0 for no load; otherwise
 * one of the classes 1 .. TT_SVG_LOADS, which divide the range up to the largest load into equal
 * parts. */
int tt_svg_load(int64_t bytes, int64_t most);
/* Draws the legend of the classes of loads. present: bit k is set if class k occurs. If more than
 * one class occurs besides class 0, the whole scale is drawn. */
void tt_svg_load_legend(double x, double y, unsigned present, int64_t most, const char *of,
                        FILE *out);

#endif
