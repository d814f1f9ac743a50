/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms. Each has a file of its own, with its row (struct tt_algorithm), and one word in
 * TT_ALGORITHMS.
 *
 * Every function of a row is pure: its result depends on its arguments alone. The row is the same
 * on all ranks, and so ranks that ask with the same arguments get the same decision.
 */
#ifndef TT_COLL_H
#define TT_COLL_H

#include "plan/plan.h"
#include "topo/map.h"

/* The unit costs that formulas of times are written in, in picoseconds:
 *
 *     ts       t_s, the start-up time of a message
 *     tw       t_w, for a byte that is moved
 *     tw_both  t_w', for a byte that is moved at a rank that sends and receives at once; equal to
 *              tw if that is no slower
 *     tr       t_r, for a byte that is rearranged (copied within a rank)
 *     gamma    for a byte that is reduced
 *
 * A rank sends one message and receives one message at a time, or any number if all_ports is
 * set. */
struct tt_costs {
    int64_t ts, tw, tw_both, tr, gamma;
    bool all_ports;
    bool starts_side_by_side; /* only the sender of a message spends t_s: if several ranks send to
                               * one rank, they spend t_s at the same time, and only the bytes of
                               * the messages arrive one after the other */
};

struct tt_composition;

/* The values name what the ranks of an alltoallv, gatherv or scatterv exchange before its plan is
 * made: nothing, all counts (tt_call.all_counts), or the length of the longest piece
 * (tt_call.longest; alltoallv only).
 *
 * In a gatherv or scatterv whose `first` is TT_FIRST_NOTHING, one rank of each pair gets a piece,
 * and the other rank gives it. In the plans, the rank that gets a piece, even an empty one, first
 * awaits a signal of the rank that gives the piece, and only then accesses memory of that rank. At
 * the signal, the rank that gets the piece compares the counts of the two ranks; the rank that
 * gives the piece compares them only if it, too, awaits a signal of the other rank. */
enum tt_first { TT_FIRST_NOTHING, TT_FIRST_COUNTS, TT_FIRST_LONGEST };

struct tt_algorithm {
    enum tt_coll coll;
    const char *name;    /* the algorithm's name in the command, in wisdom and in its file's name */
    const char *applies; /* when the algorithm applies, in words, for `tutti list` */
    /* The formula of the time, in the symbols of `tutti list --help`: t_s t_w gamma p m L q. */
    const char *cost;
    const char *source; /* the publication or practice that the algorithm comes from */
    /* Returns NULL if the algorithm applies, else a static text that says why not. It reads no
     * rank-local part of the call, so all ranks get the same answer. It works for any p >= 1. */
    const char *(*refuse)(const struct tt_call *call, const struct tt_map *map);
    /* Appends the steps of rank `me` in one phase, for p > 1 and n > 0. Errors are kept in the
     * builder. */
    void (*build)(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase);
    /* Returns the time in picoseconds by the formula of the source, for p > 1 and n > 0. The
     * simulated plan takes exactly this time. -1: the formula does not cover this case. NULL: there
     * is no formula. */
    int64_t (*time)(const struct tt_call *call, const struct tt_map *map,
                    const struct tt_costs *costs);
    /* Returns the number of phases, the parts of the plan that follow one another (tt_phase in
     * plan.h). Each phase is built without the others. NULL: there is 1 phase. */
    int (*phases)(const struct tt_call *call, const struct tt_map *map);
    enum tt_first first;
    /* the stages of an algorithm whose functions above are those of composed.h; NULL: the algorithm
     * has no stages */
    const struct tt_composition *composition;
    bool divides; /* Each rank divides its window into parts. A composition always does. */
    /* The plans of all ranks, which take the place of `build`, if this row was made from a plan
     * file. Such a row applies only to the call and the number of ranks for which the plans were
     * read. NULL: the row was not made from a plan file. */
    const struct tt_plan *const *plans;
};

/* All algorithms. A new one goes to the end, for two reasons: where nothing else decides, the first
 * algorithm that applies is chosen, and the test run-oracle, which changes plans at random, goes
 * through the algorithms in this order. */
#define TT_ALGORITHMS(X)                                                                           \
    X(barrier_flat)                                                                                \
    X(barrier_dissemination)                                                                       \
    X(bcast_flat)                                                                                  \
    X(bcast_direct)                                                                                \
    X(bcast_binomial)                                                                              \
    X(bcast_scatter_allgather)                                                                     \
    X(reduce_flat)                                                                                 \
    X(reduce_direct)                                                                               \
    X(reduce_halving)                                                                              \
    X(reduce_prt)                                                                                  \
    X(reduce_binomial)                                                                             \
    X(allreduce_flat)                                                                              \
    X(allreduce_window)                                                                            \
    X(allreduce_direct)                                                                            \
    X(allreduce_doubling)                                                                          \
    X(allreduce_ring)                                                                              \
    X(allreduce_halving)                                                                           \
    X(allreduce_prt)                                                                               \
    X(reduce_scatter_block_flat)                                                                   \
    X(reduce_scatter_block_halving)                                                                \
    X(reduce_scatter_flat)                                                                         \
    X(reduce_scatter_halving)                                                                      \
    X(gather_flat)                                                                                 \
    X(gather_binomial)                                                                             \
    X(allgather_flat)                                                                              \
    X(allgather_direct)                                                                            \
    X(allgather_ring)                                                                              \
    X(allgather_bruck)                                                                             \
    X(allgather_exchange)                                                                          \
    X(allgatherv_flat)                                                                             \
    X(allgatherv_direct)                                                                           \
    X(allgatherv_ring)                                                                             \
    X(allgatherv_bruck)                                                                            \
    X(allgatherv_exchange)                                                                         \
    X(alltoall_flat)                                                                               \
    X(alltoall_direct)                                                                             \
    X(alltoall_pairwise)                                                                           \
    X(alltoall_bruck)                                                                              \
    X(alltoall_exchange)                                                                           \
    X(alltoallv_flat)                                                                              \
    X(alltoallv_pairwise)                                                                          \
    X(alltoallv_exchange)                                                                          \
    X(alltoall_ring)                                                                               \
    X(alltoall_ring_both)                                                                          \
    X(alltoall_mesh)                                                                               \
    X(alltoall_hypercube)                                                                          \
    X(bcast_tree)                                                                                  \
    X(reduce_tree)                                                                                 \
    X(allreduce_tree)                                                                              \
    X(alltoall_forward)                                                                            \
    X(allgather_forward)                                                                           \
    X(allgatherv_forward)                                                                          \
    X(barrier_logical)                                                                             \
    X(bcast_logical)                                                                               \
    X(reduce_logical)                                                                              \
    X(allreduce_logical)                                                                           \
    X(barrier_composed)                                                                            \
    X(bcast_composed)                                                                              \
    X(reduce_composed)                                                                             \
    X(allreduce_composed)                                                                          \
    X(gather_composed)                                                                             \
    X(allgather_composed)                                                                          \
    X(allgatherv_composed)                                                                         \
    X(reduce_scatter_block_composed)                                                               \
    X(reduce_scatter_composed)                                                                     \
    X(alltoall_composed)                                                                           \
    X(allgather_neighbour)                                                                         \
    X(scatter_flat)                                                                                \
    X(scatter_direct)                                                                              \
    X(scatter_linear)                                                                              \
    X(scatter_binomial)                                                                            \
    X(scan_flat)                                                                                   \
    X(scan_doubling)                                                                               \
    X(scan_chain)                                                                                  \
    X(scan_window)                                                                                 \
    X(exscan_flat)                                                                                 \
    X(exscan_doubling)                                                                             \
    X(exscan_chain)                                                                                \
    X(exscan_window)                                                                               \
    X(gatherv_flat)                                                                                \
    X(gatherv_direct)                                                                              \
    X(gatherv_linear)                                                                              \
    X(scatterv_flat)                                                                               \
    X(scatterv_direct)                                                                             \
    X(scatterv_linear)                                                                             \
    X(allgather_circulant)                                                                         \
    X(allgatherv_circulant)                                                                        \
    X(reduce_scatter_block_circulant)                                                              \
    X(reduce_scatter_circulant)                                                                    \
    X(allreduce_circulant)                                                                         \
    X(bcast_chain)                                                                                 \
    X(reduce_chain)                                                                                \
    X(reduce_window)                                                                               \
    X(allreduce_multiplying)                                                                       \
    X(allreduce_parts)                                                                             \
    X(bcast_two_tree)                                                                              \
    X(reduce_two_tree)                                                                             \
    X(allreduce_two_tree)                                                                          \
    X(reduce_in_order)                                                                             \
    X(gather_linear)                                                                               \
    X(gather_direct)                                                                               \
    X(reduce_scatter_block_direct)                                                                 \
    X(reduce_scatter_direct)                                                                       \
    X(allgather_doubling)                                                                          \
    X(scatter_composed)                                                                            \
    X(gather_logical)                                                                              \
    X(scatter_logical)                                                                             \
    X(scan_composed)                                                                               \
    X(exscan_composed)                                                                             \
    X(bcast_split)                                                                                 \
    X(alltoallv_mixed)                                                                             \
    X(alltoallv_forward)                                                                           \
    X(alltoallv_padded)                                                                            \
    X(alltoallv_composed)                                                                          \
    X(gatherv_composed)                                                                            \
    X(scatterv_composed)                                                                           \
    X(reduce_scatter_block_parts)                                                                  \
    X(reduce_scatter_parts)                                                                        \
    X(allgather_parts)                                                                             \
    X(allgatherv_parts)
#define TT_DECLARE(name) extern const struct tt_algorithm tt_##name;
TT_ALGORITHMS(TT_DECLARE)

extern const struct tt_algorithm *const tt_algorithms[]; /* the table ends with NULL */

/* Returns the algorithm of that name for a collective, or NULL if there is none. */
const struct tt_algorithm *tt_algorithm_find(enum tt_coll coll, const char *name);

/* Returns the number of phases of the algorithm for this call: 1 if the row has no function
 * `phases`. */
static inline int tt_algorithm_phases(const struct tt_algorithm *algorithm,
                                      const struct tt_call *call, const struct tt_map *map)
{
    return algorithm->phases ? algorithm->phases(call, map) : 1;
}

/* Calls `build` of the row if more than one rank has something to do. Otherwise the plan is empty,
 * or holds the one copy that a single rank needs. */
void tt_algorithm_build(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase);

/* Appends the same steps as tt_algorithm_build to a phase that the caller has begun. */
void tt_algorithm_steps(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase);

/* Builds all phases into one plan, which the caller frees with tt_plan_free. NULL: an error, which
 * tutti_error describes. */
struct tt_plan *tt_algorithm_plan(const struct tt_algorithm *algorithm, const struct tt_call *call,
                                  const struct tt_map *map, int me);
/* Does the same as tt_algorithm_plan, but with a builder that the caller keeps, so that the arrays
 * of the builder need not grow again. */
struct tt_plan *tt_algorithm_plan_with(struct tt_builder *b, const struct tt_algorithm *algorithm,
                                       const struct tt_call *call, const struct tt_map *map,
                                       int me);

#endif
