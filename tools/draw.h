/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw`: from what was asked for (draw.c), over a picture of a simulation (picture.h) or of
 * traces (draw-trace.c), to a file (draw-write.c).
 */
#ifndef TT_TOOLS_DRAW_H
#define TT_TOOLS_DRAW_H

#include "draw/picture.h"
#include "problem.h"

#define TT_DRAW_WHATS(X)                                                                           \
    X(time) X(tree) X(network) X(routes) X(steps) X(traffic) X(plan) X(calls) X(summary)
enum tt_draw_what {
#define TT_DRAW_ENUM(name) TT_DRAW_##name,
    TT_DRAW_WHATS(TT_DRAW_ENUM)
#undef TT_DRAW_ENUM
        TT_DRAW_DEFAULT
};

#define TT_DRAW_FORMATS(X) X(svg) X(html) X(dot) X(json) X(trace) X(goal)
enum tt_draw_format {
#define TT_DRAW_ENUM(name) TT_DRAW_AS_##name,
    TT_DRAW_FORMATS(TT_DRAW_ENUM)
#undef TT_DRAW_ENUM
        TT_DRAW_FORMATS_N
};

struct tt_draw {
    const char *output;
    enum tt_draw_format format;
    bool png; /* of what is an SVG first */
    enum tt_scheme scheme;
    enum tt_draw_what what;
    int first, last; /* ranks of the space-time diagram */
    int from, to;    /* of a route; -1: not said */
    struct tt_picture picture;
    struct tt_net *net;                   /* NULL: none */
    const struct tt_case *c;              /* NULL: a trace */
    const struct tt_algorithm *algorithm; /* likewise */
    const struct tt_model *model;
};

/* A folder of rank-R.json and rank-R.part, or files; exit code, having told what is wrong. */
int tt_draw_read(const char *const *paths, int n, int64_t execution, struct tt_picture *picture);
/* The format that the name asks for; TT_DRAW_FORMATS_N: none. */
enum tt_draw_format tt_draw_format_of(const char *path);
/* Prints to the output, as a PNG if that is wanted, whole or not at all; false: it told why not. */
bool tt_draw_put(const struct tt_draw *draw, void (*print)(void *arg, FILE *out), void *arg);
/* This machine with so many ranks (0: as many as `tutti run` would start); exit code. */
int tt_draw_machine(const struct tt_draw *draw, int ranks);
/* Exit code. */
int tt_draw_write(struct tt_draw *draw);

#endif
