/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective as it was called, and what its result must be.
 *
 * All ranks pass the same arguments, except for the four count and displacement arrays (which are
 * equal on all ranks only in a reduce_scatter) and in_place of a reduce, gather(v) or scatter(v).
 * An algorithm may use all arguments to build a plan. Whether it applies, and which one is chosen,
 * may depend only on the arguments that are equal on all ranks.
 *
 * A gatherv or scatterv is an alltoallv in which only the pieces to or from the root are not empty:
 * all ranks have all four arrays, and each rank knows its own counts only.
 *
 * Buffers: IN and OUT are the caller's. A bcast has one buffer, which is OUT on every rank; at the
 * root it holds the input. In place, IN *is* OUT (for gather and allgather(v), the rank's own piece
 * of OUT). in_place may only change what a rank does in its own buffers, so an algorithm must be
 * right with and without in_place, or refuse calls in place. A reduce_scatter(_block) in place has
 * its whole input in OUT; the rank's own block of the result replaces the beginning of the input,
 * and the contents of OUT after that block are undefined. The root of a scatter in place has all
 * pieces in OUT, and its own piece stays where it is. The root of a gatherv or scatterv in place
 * has a count of 0 for itself, so its own piece stays where it is, too. In these two collectives IN
 * and OUT are separate buffers even in a call in place.
 */
#ifndef TT_PLAN_CALL_H
#define TT_PLAN_CALL_H

#include "base/base.h"

/* The elements that a rank has in a buffer:
 *
 *     NONE       nothing
 *     ONE        n elements
 *     ALL        n elements for each rank, or for each rank a block with a length of its own
 *     BLOCK      its own block of a reduce_scatter(_block)
 *     LIST       pieces with counts and displacements
 *     NOT_FIRST  n elements, except for rank 0, which has nothing
 *     ROOT_...   the root has what the rest of the name says, and the other ranks have nothing */
enum tt_holding {
    TT_HAS_NONE,
    TT_HAS_ONE,
    TT_HAS_ALL,
    TT_HAS_BLOCK,
    TT_HAS_LIST,
    TT_HAS_NOT_FIRST,
    TT_HAS_ROOT_ONE,
    TT_HAS_ROOT_ALL
};

/* The ranks that may call in place. */
enum tt_may_place { TT_IN_PLACE_NOBODY, TT_IN_PLACE_ALL, TT_IN_PLACE_ROOT };

/* The table of collectives: X(name, takes an operation, has a root, who may call in place, what
 * IN holds, what OUT holds) */
#define TT_COLL_LIST(X)                                                                            \
    X(barrier, 0, 0, NOBODY, NONE, NONE)                                                           \
    X(bcast, 0, 1, NOBODY, NONE, ONE)                                                              \
    X(reduce, 1, 1, ROOT, ONE, ROOT_ONE)                                                           \
    X(allreduce, 1, 0, ALL, ONE, ONE)                                                              \
    X(reduce_scatter_block, 1, 0, ALL, ALL, BLOCK)                                                 \
    X(reduce_scatter, 1, 0, ALL, ALL, BLOCK)                                                       \
    X(gather, 0, 1, ROOT, ONE, ROOT_ALL)                                                           \
    X(allgather, 0, 0, ALL, ONE, ALL)                                                              \
    X(allgatherv, 0, 0, ALL, LIST, LIST)                                                           \
    X(alltoall, 0, 0, NOBODY, ALL, ALL)                                                            \
    X(alltoallv, 0, 0, NOBODY, LIST, LIST)                                                         \
    X(scatter, 0, 1, ROOT, ROOT_ALL, ONE)                                                          \
    X(scan, 1, 0, ALL, ONE, ONE)                                                                   \
    X(exscan, 1, 0, ALL, ONE, NOT_FIRST)                                                           \
    X(gatherv, 0, 1, ROOT, LIST, LIST)                                                             \
    X(scatterv, 0, 1, ROOT, LIST, LIST)

enum tt_coll {
#define TT_COLL_ENUM(name, ...) TT_COLL_##name,
    TT_COLL_LIST(TT_COLL_ENUM)
#undef TT_COLL_ENUM
        TT_COLLS
};

/* The neighbours of one rank in a neighbourhood collective: the ranks to which it sends pieces
 * (`to`) and from which it gets pieces (`from`), without the rank itself; each neighbour once, in
 * ascending order. The lists of two ranks agree: r is in `to` of s if and only if s is in `from` of
 * r. */
struct tt_neighbors {
    const int32_t *to, *from;
    int32_t to_n, from_n;
};

/* Returns the index of rank r in a list of neighbours; -1: r is not in the list. */
static inline int tt_neighbor_find(const int32_t *ranks, int n, int r)
{
    int first = 0, last = n;
    while (first < last) {
        int middle = (first + last) / 2;
        if (ranks[middle] < r)
            first = middle + 1;
        else
            last = middle;
    }
    return first < n && ranks[first] == r ? first : -1;
}

/* The contents of the pieces that a rank has for another rank, or expects from another rank. Calls
 * have contents if the plan moves bytes and the ranks may use types of their own. `bytes` is the
 * sum of the packed bytes of all these pieces. `type` is their type as the user named it, for error
 * messages (TT_TYPE_EACH: the pieces have several types). `hash` is a hash of the basic types of
 * which the pieces consist, piece by piece. The contents that one rank sends match those that
 * another rank expects if bytes and hash are equal: this is MPI's rule that type signatures must
 * match. All members are 0 if there are no pieces. */
struct tt_contents {
    int64_t bytes;
    int32_t type;
    uint32_t hash;
};

/* The counts of all ranks in an alltoallv, gatherv or scatterv: count() returns how many elements
 * rank `from` has for rank `to`. In a gatherv or scatterv, one of the two must be the root. This
 * structure is a member of a larger one, in which count() finds the counts. */
struct tt_all_counts {
    int64_t (*count)(const struct tt_all_counts *all, int from, int to);
};

/* Invariants (tt_call_valid): n * sz and all byte offsets fit in 63 bits. The arrays have p
 * entries in the collectives that use them, and are NULL in all others: allgatherv (out_*),
 * alltoallv, gatherv and scatterv (all four), reduce_scatter (out_counts). */
struct tt_call {
    enum tt_coll coll;
    tutti_type type;
    tutti_op op;
    /* reductions may combine operands out of rank order, and an alltoall may move its pieces in any
     * order */
    bool commutes;
    bool in_place;
    bool shared; /* all buffers can be read by plain loads */
    bool steady; /* the plan must not depend on what earlier calls measured (choose/measure.h) */
    /* 0 for a collective that the user calls. If the call is one step of another operation, such as
     * tutti_team_split or the exchange of counts before an alltoallv: the number of that operation
     * in enum tt_signature_other. */
    int8_t as;
    int32_t root;
    int64_t n;  /* elements that a rank contributes (alltoall, reduce_scatter_block: to each
                    * rank); 0 in v-forms; the sum of out_counts in reduce_scatter */
    int64_t sz; /* bytes of an element */
    /* bytes of a slice or chunk of a pipeline, a multiple of sz; 0: the algorithm's own choice */
    int64_t slice;
    int32_t radix; /* branching of trees and exchanges; 0: the algorithm's own choice */
    int32_t lanes; /* the most lanes, in algorithms with a lane for each slice; 0: as for radix */
    uint64_t seed; /* seed of random orders */
    const int64_t *in_counts, *in_displs, *out_counts, *out_displs; /* in elements */
    /* The neighbours of this rank, if the call is a neighbourhood collective: an alltoallv in which
     * each rank knows its neighbours and has counts of 0 for all ranks but its neighbours and
     * itself. Each rank has lists of its own, but either all ranks have lists or none has. NULL:
     * any other call. */
    const struct tt_neighbors *neighbors;
    /* The counts of all ranks, in an alltoallv whose ranks have exchanged their counts before, or
     * in a gatherv or scatterv whose root has sent its counts to all ranks. NULL: any other
     * call. */
    const struct tt_all_counts *all_counts;
    /* The largest count of all ranks, in an alltoallv whose ranks have exchanged the counts of
     * their longest pieces before: no rank sends or expects a piece of more elements. Equal on all
     * ranks. 0: any other call, or all pieces are empty. */
    int64_t longest;
    /* The contents of the pieces in a call of pairs, if `type` does not determine them: an entry
     * for each rank, or for each neighbour. No plan depends on them. NULL: any other call. */
    const struct tt_contents *in_contents, *out_contents;
};

bool tt_call_valid(const struct tt_call *call, int p);

/* Returns the contents of the pieces that this rank has for rank r or, if `out`, of those that it
 * expects from rank r. The call must have contents. */
struct tt_contents tt_call_contents(const struct tt_call *call, bool out, int r);

static inline int64_t tt_call_bytes(const struct tt_call *call)
{
    return call->n * call->sz;
}

/* Returns the mean of out_counts in bytes. The call must have out_counts. */
static inline int64_t tt_call_mean_bytes(const struct tt_call *call, int p)
{
    int64_t n = 0;
    for (int r = 0; r < p; r++) n += call->out_counts[r];
    return n / p * call->sz;
}

/* Returns whether the collective's calls are *calls of pairs*: each rank knows only its own counts,
 * and each two ranks compare the counts that they have for each other. */
static inline bool tt_coll_pairs(enum tt_coll coll)
{
    return coll == TT_COLL_alltoallv || coll == TT_COLL_gatherv || coll == TT_COLL_scatterv;
}

/* Returns whether, in the plan, OUT@r and IN@r (the buffers of rank r) mean "the segment at r that
 * is meant for this rank". */
static inline bool tt_call_segments(const struct tt_call *call)
{
    return call->coll == TT_COLL_allgatherv || tt_coll_pairs(call->coll);
}

/* A set of the collectives whose calls have a count for each rank, with a bit for each
 * collective. */
#define TT_COUNTING                                                                                \
    (1u << TT_COLL_allgatherv | 1u << TT_COLL_alltoallv | 1u << TT_COLL_gatherv |                  \
     1u << TT_COLL_scatterv | 1u << TT_COLL_reduce_scatter)
/* Returns whether the call has a count for each rank. */
static inline bool tt_call_counts(const struct tt_call *call)
{
    return TT_COUNTING >> call->coll & 1;
}

/* Returns whether each rank gets its own block of the result of a reduction. */
static inline bool tt_call_scatters(const struct tt_call *call)
{
    return call->coll == TT_COLL_reduce_scatter_block || call->coll == TT_COLL_reduce_scatter;
}

/* Returns the number n of inputs that the reduction at rank `me` of p ranks combines: those of
 * ranks 0 .. n - 1. */
static inline int tt_call_reduces(const struct tt_call *call, int p, int me)
{
    return call->coll == TT_COLL_scan ? me + 1 : call->coll == TT_COLL_exscan ? me : p;
}

/* Sets the slice, the radix and the lanes of the call to these values, which come from TUTTI_SLICE,
 * TUTTI_RADIX and TUTTI_LANES or from a line of wisdom, unless the call itself sets them. */
static inline void tt_tune(struct tt_call *call, int64_t slice, int64_t radix, int64_t lanes)
{
    if (call->coll == TT_COLL_barrier) slice = lanes = 0; /* a barrier has no bytes */
    if (call->slice == 0 && call->sz > 0) call->slice = slice / call->sz * call->sz;
    if (call->radix == 0) call->radix = (int32_t)radix;
    if (call->lanes == 0) call->lanes = (int32_t)lanes;
}

/* tt_call_block_at returns where the block of rank r begins in the input of a
 * reduce_scatter(_block), in bytes; for r == p, where the last block ends. tt_call_block_bytes
 * returns the length of this block in bytes or, for an allgather(v), that of the piece of rank r in
 * the result. */
int64_t tt_call_block_at(const struct tt_call *call, int r);
static inline int64_t tt_call_block_bytes(const struct tt_call *call, int r)
{
    return (call->out_counts ? call->out_counts[r] : call->n) * call->sz;
}

/* tt_call_in_bytes and tt_call_out_bytes return how many bytes rank `me` of p ranks has in IN and
 * in OUT. In place, OUT also has room for the input, which begins tt_call_place bytes after the
 * start of OUT. All three functions return 0 for buffers of kind LIST, whose pieces have their own
 * places. */
int64_t tt_call_in_bytes(const struct tt_call *call, int p, int me);
int64_t tt_call_out_bytes(const struct tt_call *call, int p, int me);
int64_t tt_call_place(const struct tt_call *call, int me);
/* Returns the bytes of OUT that the result fills, from the start of OUT. */
int64_t tt_call_result_bytes(const struct tt_call *call, int p, int me);

/* Returns whether only the root may call in place, because the root alone has a buffer for the
 * result or for the pieces of all ranks. */
bool tt_coll_is_roots(enum tt_coll coll);
/* Returns whether rank `me` ignores the address that the user passes for OUT (if `out`) or for IN,
 * whatever the counts are. The call need not be checked before. */
bool tt_call_ignores(const struct tt_call *call, bool out, int me);
const char *tt_coll_name(enum tt_coll coll);
/* Returns whether the collective can be done in place. */
bool tt_coll_has_place(enum tt_coll coll);
bool tt_coll_has_op(enum tt_coll coll);
bool tt_coll_has_root(enum tt_coll coll);

/* In traces, the agreements of a team (tutti_team_agree and _shrink) have numbers from here on, so
 * that they differ from the numbers of the team's executions. An agreement cannot have the number
 * of an execution, because a broken team has agreements, but no executions. */
#define TT_TRACED_AGREEMENTS (INT64_C(1) << 40)

#endif
