/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wisdom in force in a job: which algorithms were measured to be the fastest. It is plain data
 * that rank 0 reads from its file (choose/wisdom.h) and that all other ranks get when they meet.
 */
#ifndef TT_WISDOM_DATA_H
#define TT_WISDOM_DATA_H

#include "base/base.h"

/* How the ranks of a team reach each other's buffers: by loads, by the system, or only through
 * windows. The ranks of the last kind are on several nodes under one kernel. */
#define TT_REACH_LIST(X) X(load) X(read) X(window) X(kernel)
enum tt_reach_word {
#define TT_REACH_ENUM(name) TT_REACH_##name,
    TT_REACH_LIST(TT_REACH_ENUM)
#undef TT_REACH_ENUM
        TT_REACH_WORDS
};

/* Invariants (tt_wise_valid): no number is negative, p >= 2, cores >= 1, a radix is one that a user
 * may set, and `reach` is one of the words above. choose/wisdom.c gives `coll`, `type`, `op` and
 * `algorithm` their meaning, and ignores a line whose numbers have none. */
struct tt_wise {
    int64_t bytes; /* that a rank contributes, as in a problem string */
    int64_t slice; /* bytes of a slice, and the radix; 0: the algorithm's own */
    int32_t radix;
    int32_t p, cores;       /* cores: processors for these ranks, at most p */
    uint32_t layout;        /* a hash of how the ranks are spread over nodes; 0: one node */
    uint8_t coll, type, op; /* type and op are TT_WISE_NONE where the collective has none */
    uint8_t reach;
    uint32_t algorithm; /* its place in tt_algorithms */
};
enum { TT_WISE_NONE = UINT8_MAX, TT_WISDOM_MOST = 128 };

struct tt_wisdom {
    uint32_t n;
    struct tt_wise line[TT_WISDOM_MOST];
};

static inline bool tt_wise_valid(const struct tt_wise *w)
{
    bool radix = w->radix == 0 || (w->radix >= TT_RADIX_LEAST && w->radix <= TT_RADIX_MOST);
    return w->bytes >= 0 && w->slice >= 0 && radix && w->p >= 2 && w->cores >= 1 &&
           w->reach < TT_REACH_WORDS;
}

#endif
