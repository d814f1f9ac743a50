/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The props of a stage: the buffers of one rank in one execution, their contents before the call,
 * and their expected contents after it.
 */
#ifndef TESTS_RUN_PROPS_H
#define TESTS_RUN_PROPS_H

#include "plan/plan.h"

/* Bytes around each buffer that nobody may write. */
enum { PROPS_MARGIN = 4096 };

/* A buffer between two margins. */
struct guarded {
    unsigned char *base, *at;
    int64_t bytes;
};

/* The buffers of one rank in one execution. `input` is a copy of what the call reads before it
 * writes: the contents of IN; at the root of a bcast the contents of OUT; in place the rank's own
 * part of OUT. */
struct props {
    const struct tt_call *call;
    int p, me;
    struct guarded in, out, tmp;
    unsigned char *input;
    int64_t input_bytes;
};

/* Allocates the buffers and draws the input. The buffers hold marker bytes until props_fill. */
void props_make(struct props *x, const struct tt_call *call, int p, int me, int64_t tmp_bytes,
                struct tt_random *random);
void props_free(struct props *x);

/* Puts the input into the buffers, as the caller does just before the call. */
void props_fill(struct props *x);
/* Returns the address that the call passes as IN. */
unsigned char *props_in(const struct props *x);
/* Returns whether IN is unchanged and OUT holds the result that the collective is defined to give.
 * all[r] are the props of rank r. */
bool props_right(const struct props *x, const struct props *const *all);
/* Overwrites the buffers, as a caller may do once the call is complete. */
void props_reuse(struct props *x);
/* Returns whether the library has written nothing to the buffers since props_reuse. */
bool props_still_reused(const struct props *x);
bool props_margins_hold(const struct props *x);

#endif
