/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan is while it is built: arrays that still grow.
 */
#ifndef TT_BUILD_INSIDE_H
#define TT_BUILD_INSIDE_H

#include "plan/plan.h"

/* A growing array of elements of sz bytes. */
struct array {
    char *data;
    size_t n, room, sz;
};

struct tt_builder {
    struct tt_plan plan; /* its scalars; the arrays follow */
    struct array steps, ranges, shapes, varies, ranks, exchanges, entries;
    struct array homes;      /* of each start of the lane: the innermost loop's step, or NO_LOOP */
    uint32_t loop[TT_DEPTH]; /* the open loops' steps */
    int depth, dead;         /* dead: depth of loops of 0 turns being skipped */
    bool last_dropped, name_is_lent;
    uint32_t entries_taken; /* by exchanges so far */
    uint32_t value_base;    /* of flag values in this phase */
    int64_t scratch;        /* bytes of TMP that it uses so far: each phase begins anew */
    int64_t lane_tmp;       /* where that of the lane begins, behind those before */
    size_t varied;          /* the last step that varies: it alone has the last entry of varies */
    const struct tt_subteam *part; /* NULL: the whole team */
    int64_t part_tmp;              /* where its TMP begins */
    const char *error;
};

/* ---- build-part.c: what is the part's, as the team's ---- */

/* A rank; not of TT_ALL, TT_SET and TT_SELF. */
static inline int tt_build_rank(const struct tt_builder *b, int rank)
{
    return b->part && rank >= 0 ? b->part->member[rank] : rank;
}
struct tt_range tt_build_range(const struct tt_builder *b, struct tt_range r);

static inline struct tt_shape shape_of(const struct tt_builder *b, struct tt_range r)
{
    return r.shape ? ((const struct tt_shape *)b->shapes.data)[r.shape] : (struct tt_shape){0};
}

#endif
