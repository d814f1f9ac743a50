/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rankings that a client knows: which algorithms take the least predicted times. They are plain
 * data that the ranks of a node share when they meet; choose/estimate.h gives them their meaning.
 */
#ifndef TT_RANKINGS_DATA_H
#define TT_RANKINGS_DATA_H

#include "base/base.h"

enum {
    TT_RANKED = 6,
    TT_RANKED_SIZES = 48,
    TT_RANKINGS_MOST = 128,
    TT_RANKINGS_GIVEN = 96, /* so many of them may come from a file */
    TT_RANKINGS_KINDS = 64
};

/* All that a ranking depends on, besides the model and the library. Two shapes are equal if their
 * bytes are. */
struct tt_ranking_shape {
    int64_t window, eager, slice; /* bytes: of a window, of the longest short message, of a slice */
    int32_t radix, p, cores;
    uint8_t coll;
    uint8_t shared; /* whether all buffers can be read by plain loads */
    uint8_t reach;  /* how ranks reach each other's buffers (TT_REACHES_...) */
    uint8_t unused; /* 0 */
};
_Static_assert(sizeof(struct tt_ranking_shape) == 40, "there is no room between the members");

enum { TT_REACHES_READ = 1, TT_REACHES_WRITE = 2, TT_REACHES_LOAD = 4 };

/* The algorithms with the least times, the fastest first, as indices of tt_algorithms + 1, by the
 * logarithm of the bytes. A place is TT_NOT_RANKED until a call needs it, because all algorithms
 * before it do not apply to that call; TT_NOTHING_RANKED: there are no more. */
enum { TT_NOT_RANKED = 0, TT_NOTHING_RANKED = UINT8_MAX };
struct tt_ranking {
    struct tt_ranking_shape shape;
    uint32_t computed; /* places that this process has computed */
    uint8_t best[TT_RANKED_SIZES][TT_RANKED];
};

/* Invariants: 0 <= given <= n <= TT_RANKINGS_MOST; the first `given` shapes come from a file, and
 * stay as long as the rankings do. */
struct tt_rankings {
    int64_t eager; /* 1 + the longest short message; 0: it was not looked up yet */
    int32_t n, given;
    uint32_t computed;               /* in all rankings; those that were forgotten count, too */
    uint32_t forgotten;              /* how many times a ranking took the place of an older one */
    uint8_t last[TT_RANKINGS_KINDS]; /* by the kind of call: 1 + the ranking found last; 0: none */
    struct tt_ranking ranking[TT_RANKINGS_MOST];
};

#endif
