/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan while it is being built: its arrays still grow.
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
    struct tt_plan plan; /* only its scalars; the arrays follow below */
    struct array steps, ranges, shapes, varies, ranks, exchanges, entries;
    struct array homes;      /* by start of the lane: index of its innermost loop's step, or
                              * NO_LOOP */
    uint32_t loop[TT_DEPTH]; /* the indices of the open loops' steps */
    int depth, dead;         /* dead: how deep inside a loop of 0 turns, whose steps are skipped */
    bool last_dropped, name_is_lent;
    uint32_t entries_taken; /* the number of entries that belong to exchanges appended so far */
    uint32_t value_base;    /* added to the flag values of this phase */
    int64_t scratch;        /* bytes of TMP that the plan uses so far; each phase begins anew */
    int64_t lane_tmp;       /* where the lane's TMP begins, behind that of earlier lanes */
    size_t varied;          /* the only step that uses the last entry of varies */
    const struct tt_subteam *part; /* NULL while the plan is built for the whole team */
    int64_t part_tmp;              /* where the TMP of the part begins */
    int64_t low;                   /* as in tt_builder_divide */
    const char *error;
    bool starved; /* the error is that memory is short */
};

/* ---- build-part.c: converts ranks and ranges of the part to those of the team ---- */

/* Converts a rank; TT_ALL, TT_SET and TT_SELF stay as they are. */
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
