/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective as it was called, and what must come out of it.
 *
 * The same on all ranks: everything but the four count and displacement arrays (the counts of a
 * reduce_scatter are), and in_place of a reduce or gather. An algorithm may look at all of it to
 * build; whether it applies, and which one is chosen, depends on the common part only.
 *
 * Buffers: IN and OUT are the caller's. bcast has one buffer, OUT on every rank, which at the root
 * holds the input. In place, IN *is* OUT (for gather and allgather(v): the rank's own piece of it);
 * a plan may differ only in what its rank does in its own buffers, so an algorithm must be right
 * both ways or refuse in_place calls. reduce_scatter(_block) in place: all of the input, at the
 * beginning of which the rank's own block of the result replaces it; what is behind that block then
 * is undefined.
 */
#ifndef TT_PLAN_CALL_H
#define TT_PLAN_CALL_H

#include "base/base.h"

/* X(name, takes an operation, has a root) */
#define TT_COLL_LIST(X)                                                                            \
    X(barrier, 0, 0)                                                                               \
    X(bcast, 0, 1)                                                                                 \
    X(reduce, 1, 1)                                                                                \
    X(allreduce, 1, 0)                                                                             \
    X(reduce_scatter_block, 1, 0)                                                                  \
    X(reduce_scatter, 1, 0)                                                                        \
    X(gather, 0, 1)                                                                                \
    X(allgather, 0, 0)                                                                             \
    X(allgatherv, 0, 0)                                                                            \
    X(alltoall, 0, 0)                                                                              \
    X(alltoallv, 0, 0)

enum tt_coll {
#define TT_COLL_ENUM(name, op, root) TT_COLL_##name,
    TT_COLL_LIST(TT_COLL_ENUM)
#undef TT_COLL_ENUM
        TT_COLLS
};

/* In bytes and ranks. Invariants: n * sz and all byte offsets fit in 63 bits; the arrays are
 * NULL but for allgatherv (out_*), alltoallv (all four) and reduce_scatter (out_counts), where they
 * have p entries. */
struct tt_call {
    enum tt_coll coll;
    tutti_type type;
    tutti_op op;
    bool
        commutes; /* operands may be combined, and segments of an exchange put, out of rank order */
    bool in_place;
    bool shared; /* all buffers can be read by plain loads */
    int8_t as;   /* part of a call that is no collective: enum tt_what_other; 0: its own */
    int32_t root;
    int64_t n;     /* elements a rank contributes (alltoall, reduce_scatter_block: to each rank);
                    * v-forms: 0, but reduce_scatter: the sum of out_counts */
    int64_t sz;    /* bytes of an element */
    int64_t slice; /* bytes of a pipeline slice or chunk, multiple of sz; 0: the algorithm's own */
    int32_t radix; /* of trees and exchanges; 0: the algorithm's own */
    uint64_t seed; /* of random orders */
    const int64_t *in_counts, *in_displs, *out_counts, *out_displs; /* elements */
};

static inline int64_t tt_call_bytes(const struct tt_call *call)
{
    return call->n * call->sz;
}

/* Whether OUT@r and IN@r mean "the segment at r that is meant for me". */
static inline bool tt_call_segments(const struct tt_call *call)
{
    return call->coll == TT_COLL_allgatherv || call->coll == TT_COLL_alltoallv;
}

/* Whether there is a count for each rank. */
static inline bool tt_call_counts(const struct tt_call *call)
{
    return tt_call_segments(call) || call->coll == TT_COLL_reduce_scatter;
}

/* Whether each rank ends with its own block of the reduction. */
static inline bool tt_call_scatters(const struct tt_call *call)
{
    return call->coll == TT_COLL_reduce_scatter_block || call->coll == TT_COLL_reduce_scatter;
}

/* The block of rank r in the input of a reduce_scatter(_block): where it begins (p: where all end)
 * and how long it is, in bytes. */
int64_t tt_call_block_at(const struct tt_call *call, int r);
static inline int64_t tt_call_block_bytes(const struct tt_call *call, int r)
{
    return (call->out_counts ? call->out_counts[r] : call->n) * call->sz;
}

/* Only the root has an output, and may alone be in place. */
static inline bool tt_coll_is_roots(enum tt_coll coll)
{
    return coll == TT_COLL_reduce || coll == TT_COLL_gather;
}

const char *tt_coll_name(enum tt_coll coll);
/* Whether it can be done in place. */
bool tt_coll_has_place(enum tt_coll coll);
bool tt_coll_has_op(enum tt_coll coll);
bool tt_coll_has_root(enum tt_coll coll);

#endif
