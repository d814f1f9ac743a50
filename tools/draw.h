/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw`. draw.c reads the arguments; picture.h makes the picture from a simulation, or
 * draw-trace.c from traces; draw-write.c writes the picture to a file.
 */
#ifndef TT_TOOLS_DRAW_H
#define TT_TOOLS_DRAW_H

#include "draw/picture.h"
#include "problem.h"

#define TT_DRAW_WHATS(X)                                                                           \
    X(time) X(tree) X(network) X(routes) X(steps) X(traffic) X(plan) X(calls) X(summary) X(costs)
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
    bool png; /* convert the SVG to PNG */
    enum tt_scheme scheme;
    enum tt_draw_what what;
    int first, last; /* the ranks that the space-time diagram shows */
    int from, to;    /* the ranks at the two ends of the route to draw; -1 if not given */
    struct tt_picture picture;
    struct tt_net *net;                   /* the network of the picture; NULL if there is none */
    const struct tt_case *c;              /* NULL if the picture comes from a trace */
    const struct tt_algorithm *algorithm; /* NULL if the picture comes from a trace */
    const struct tt_model *model;
};

/* Reads n paths, each a file or a folder of rank-R.json and rank-R.part, into a picture of one
 * execution of the job, or of all executions if `execution` is -1. Refuses to read the file
 * `output`, to which the picture will be written. The caller frees the picture if the result is
 * TT_EXIT_OK. Returns an exit code after printing the error. */
int tt_draw_read(const char *const *paths, int n, int64_t execution, const char *output,
                 struct tt_picture *picture);
/* Returns the format that the ending of the path stands for. It is SVG for the ending .png, because
 * a PNG is made from an SVG, and for the path "-". Returns TT_DRAW_FORMATS_N if the ending is
 * unknown. Sets *png to whether the path ends in .png. */
enum tt_draw_format tt_draw_format_of(const char *path, bool *png);
/* Writes to draw->output the text that `print` prints, converted to PNG if draw->png. Writes
 * nothing if `print` returns an error, and replaces an existing regular file only when the new file
 * is complete. Returns false after printing the error. */
bool tt_draw_put(const struct tt_draw *draw, tutti_status (*print)(void *arg, FILE *out),
                 void *arg);
/* Draws this machine with `ranks` ranks, or, if `ranks` is 0, with as many as `tutti run` would
 * start. Returns an exit code after printing the error. */
int tt_draw_machine(const struct tt_draw *draw, int ranks);
/* Draws the predicted times of all algorithms of the problem's collective by the number of bytes,
 * and, if `measured` is not NULL, the times that `tutti bench --json` wrote to that file. Returns
 * an exit code after printing the error. */
int tt_draw_costs(const struct tt_draw *draw, const char *problem, const char *measured);
/* Writes draw->picture to draw->output. Returns an exit code after printing the error. */
int tt_draw_write(struct tt_draw *draw);

#endif
