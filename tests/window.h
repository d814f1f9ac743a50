/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the window that a plan uses, from its steps with the loops unrolled.
 */
#ifndef TESTS_WINDOW_H
#define TESTS_WINDOW_H

#include "plan/plan.h"

static inline int64_t window_of_step(const struct tt_plan *plan, const struct tt_plain *step)
{
    int64_t most = 0;
    bool has_ranges =
        tt_kind_starts(step->kind) || step->kind == TT_COPY || step->kind == TT_REDUCE;
    for (uint32_t k = 0; has_ranges && k < step->nops; k++) {
        const struct tt_range *r = &step->range[k];
        if (r->buf != TT_WIN || r->rank != TT_SELF) continue;
        struct tt_shape s = r->shape ? plan->shapes[r->shape] : (struct tt_shape){.block = 0};
        int64_t span = s.block ? (step->len / s.block - 1) * s.stride + s.block : step->len;
        most = tt_max(most, r->off + span);
    }
    return most;
}

/* Returns how many bytes of the rank's own window (WIN) the steps of the plan use, counted from the
 * begin of the window to the last byte used; -1 if there is no memory to unroll the loops. */
static inline int64_t window_unrolled(const struct tt_plan *plan)
{
    int64_t most = 0;
    for (int lane = 0; lane < (int)plan->lanes; lane++) {
        struct tt_iter iter;
        struct tt_plain step;
        void *memory = tt_alloc(tt_iter_bytes(plan, lane) + 8);
        if (!memory) return -1;
        tt_iter_begin(&iter, plan, lane, memory);
        while (tt_iter_next(&iter, &step)) most = tt_max(most, window_of_step(plan, &step));
        tt_free(memory);
    }
    return most;
}

#endif
