/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of the builder of a plan. The arrays of the plan grow while it is built. plan.h
 * explains the words: a *vary entry* (struct tt_vary) says how a step changes with the turns of its
 * loops, a *shape* (struct tt_shape) how a range moves with them. TMP is the scratch of the rank,
 * and WIN its window.
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
    struct tt_plan plan; /* only the scalars of the plan are set; its arrays follow below */
    struct array steps, ranges, shapes, varies, ranks, exchanges, entries;
    /* for each step of the lane that starts a transfer: the index of the innermost loop around it,
     * or NO_LOOP */
    struct array homes;
    uint32_t loop[TT_DEPTH]; /* the indices of the steps that begin the open loops */
    /* `depth` counts the open loops that are in the plan. A loop of 0 turns and all loops inside it
     * are left out of the plan, and the builder skips their steps: `dead` counts the open loops of
     * this kind, and is 0 if there are none */
    int depth, dead;
    bool last_dropped, name_is_lent;
    bool uses_window;       /* a range lies in this rank's WIN */
    uint32_t entries_taken; /* the number of entries that belong to exchanges appended so far */
    uint32_t value_base;    /* is added to the flag values of this phase (tt_phase) */
    bool leaves_phase;      /* a flag value of this phase belongs to the values of the next phase */
    int64_t scratch;        /* bytes of TMP that the current phase uses so far */
    /* where the TMP of the current lane begins, after that of earlier lanes */
    int64_t lane_tmp;
    size_t varied;                 /* index of the only step that uses the last entry of varies */
    const struct tt_subteam *part; /* the subteam for which steps are appended; NULL: the whole
                                    * team */
    int64_t part_tmp;              /* where the TMP of the subteam begins */
    int64_t low;                   /* byte of WIN that no range may cross (tt_builder_divide) */
    const char *error;
    uint64_t lacks; /* how many allocations of this thread had failed when this plan was begun */
};

/* ---- build-part.c: converts ranks and ranges of the subteam b->part to those of the team ---- */

/* Converts a rank of the subteam for which the plan is being built (b->part), if there is one, to a
 * rank of the team. TT_ALL, TT_SET and TT_SELF stay as they are. */
static inline int tt_build_rank(const struct tt_builder *b, int rank)
{
    return b->part && rank >= 0 ? b->part->member[rank] : rank;
}
/* Converts a range of the subteam b->part, which must be there, to a range of the team. */
struct tt_range tt_build_range(const struct tt_builder *b, struct tt_range r);

static inline struct tt_shape shape_of(const struct tt_builder *b, struct tt_range r)
{
    return r.shape ? ((const struct tt_shape *)b->shapes.data)[r.shape] : (struct tt_shape){0};
}

#endif
