/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The props of a stage: the buffers of one rank in one execution, what is in them before, and what
 * must be in them after.
 */
#ifndef TESTS_RUN_PROPS_H
#define TESTS_RUN_PROPS_H

#include "plan/plan.h"

/* Bytes around each buffer that must stay as they are. */
enum { PROPS_MARGIN = 4096 };

/* A buffer between two margins. */
struct guarded {
    unsigned char *base, *at;
    int64_t bytes;
};

/* Of one rank in one execution. `input` is what IN holds, or what OUT holds at the root of a bcast;
 * in place it is OUT's own part. */
struct props {
    const struct tt_call *call;
    int p, me;
    struct guarded in, out, tmp;
    unsigned char *input;
    int64_t input_bytes;
};

/* Draws the input; the buffers hold something else until props_fill. */
void props_make(struct props *x, const struct tt_call *call, int p, int me, int64_t tmp_bytes,
                struct tt_random *random);
void props_free(struct props *x);

/* As the caller does just before the call. */
void props_fill(struct props *x);
/* What the call gives as IN. */
unsigned char *props_in(const struct props *x);
/* Whether IN is untouched and OUT is what the definition says; all[r] are the other ranks'
 * props. */
bool props_right(const struct props *x, const struct props *const *all);
/* The caller uses its buffers for something else ... */
void props_reuse(struct props *x);
/* ... which must still be there later. */
bool props_still_reused(const struct props *x);
bool props_margins_hold(const struct props *x);

#endif
