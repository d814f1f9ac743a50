/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wisdom in force in a job: which algorithms were measured to be the fastest. The wisdom is
 * plain data that rank 0 reads from its file (choose/wisdom.h), and that all other ranks get when
 * the ranks meet.
 */
#ifndef TT_WISDOM_DATA_H
#define TT_WISDOM_DATA_H

#include "base/base.h"

/* The word for how the ranks of a team reach each other's buffers. load: by plain loads. read: by
 * system calls. window: not at all, so data pass through windows. kernel: the ranks are on several
 * nodes (containers) under one kernel. */
#define TT_REACH_LIST(X) X(load) X(read) X(window) X(kernel)
enum tt_reach_word {
#define TT_REACH_ENUM(name) TT_REACH_##name,
    TT_REACH_LIST(TT_REACH_ENUM)
#undef TT_REACH_ENUM
        TT_REACH_WORDS
};

/* A line of wisdom: the fastest algorithm for calls of a shape. Invariants (tt_wise_valid): no
 * number is negative, p >= 2, cores >= 1, the radix and the number of lanes are each 0 or a number
 * that a user may set, and `reach` is an enum tt_reach_word. choose/wisdom.c defines the meanings
 * of `coll`, `type`, `op` and `algorithm`, and ignores a line with a number that has no meaning. */
struct tt_wise {
    /* the bytes that a rank contributes; in an alltoall, scatter, reduce_scatter or
     * reduce_scatter_block: to each rank */
    int64_t bytes;
    /* slice: bytes of a slice; radix: branching of trees; 0: the algorithm's own value */
    int64_t slice;
    int32_t radix;
    int32_t p, cores; /* p: ranks of the team; cores: processors for these ranks, at most p */
    uint32_t layout;  /* a hash of how the ranks are spread over nodes; 0: one node */
    /* type and op are TT_WISE_NONE if the collective has no type or operation */
    uint8_t coll, type, op;
    uint8_t reach;
    uint16_t algorithm; /* its index in tt_algorithms */
    uint16_t lanes;     /* the most lanes (struct tt_call); 0: the algorithm's own number */
};
enum { TT_WISE_NONE = UINT8_MAX, TT_WISDOM_MOST = 128 };

struct tt_wisdom {
    uint32_t n;
    struct tt_wise line[TT_WISDOM_MOST];
};

static inline bool tt_wise_valid(const struct tt_wise *w)
{
    bool radix = w->radix == 0 || (w->radix >= TT_RADIX_LEAST && w->radix <= TT_RADIX_MOST);
    return w->bytes >= 0 && w->slice >= 0 && radix && w->lanes <= TT_LANES_MOST && w->p >= 2 &&
           w->cores >= 1 && w->reach < TT_REACH_WORDS;
}

#endif
