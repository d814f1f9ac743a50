/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms: one file each, one word each in TT_ALGORITHMS.
 *
 * Every function is pure: what it gives depends on its arguments alone, and the row is the same on
 * all ranks, so that ranks that ask alike decide alike.
 */
#ifndef TT_COLL_H
#define TT_COLL_H

#include "plan/count.h"
#include "plan/plan.h"
#include "topo/map.h"

/* What formulas of times are in, in picoseconds: t_s of a message; t_w, t_r and gamma of a byte
 * that is moved, rearranged, reduced; t_w' of one that is moved at a rank that sends and receives
 * at once (t_w if that is no slower). A rank sends one message and receives one at a time, or any
 * number. */
struct tt_costs {
    int64_t ts, tw, tw_both, tr, gamma;
    bool all_ports;
    bool starts_side_by_side; /* t_s is counted at the sender alone: of messages that come to a rank
                               * together all start at once, and only their bytes come in turn */
};

struct tt_composition;

struct tt_algorithm {
    enum tt_coll coll;
    const char *name;    /* the word in the command, in wisdom, and in the file's name */
    const char *applies; /* in words, for `tutti list` */
    const char *cost;    /* in the symbols of docs/plan.md: t_s t_w gamma p m L q */
    const char *source;
    /* NULL if it applies, else why not. Looks at no rank-local part of the call; any p >= 1. */
    const char *(*refuse)(const struct tt_call *call, const struct tt_map *map);
    /* The most any rank does, field by field, as formulas for p > 1 and n > 0; compared with the
     * counted plans by the tests. NULL: the most of what `count_rank` says. */
    struct tt_count (*count)(const struct tt_call *call, const struct tt_map *map);
    /* What rank `me` does, likewise. NULL where nobody needs it: plans of several parts
     * (composed.h) are made of algorithms that tell. */
    struct tt_count (*count_rank)(const struct tt_call *call, const struct tt_map *map, int me);
    void (*build)(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase);
    /* The source's formula, as the plan keeps it exactly, p > 1 and n > 0; -1: not for this case.
     * NULL where there is none. */
    int64_t (*time)(const struct tt_call *call, const struct tt_map *map,
                    const struct tt_costs *costs);
    /* How many phases there are, each built alone; NULL: 1. */
    int (*phases)(const struct tt_call *call, const struct tt_map *map);
    /* Of a composed algorithm, whose functions are those of composed.h: its stages. Else NULL. */
    const struct tt_composition *composition;
};

/* All there are. New ones go to the end: where nothing else decides, the first that applies is
 * taken, and the mutants of docs/proof.md are numbered in this order. */
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
    X(alltoall_composed)
#define TT_DECLARE(name) extern const struct tt_algorithm tt_##name;
TT_ALGORITHMS(TT_DECLARE)

extern const struct tt_algorithm *const tt_algorithms[]; /* ends with NULL */

const struct tt_algorithm *tt_algorithm_find(enum tt_coll coll, const char *name);

static inline int tt_algorithm_phases(const struct tt_algorithm *algorithm,
                                      const struct tt_call *call, const struct tt_map *map)
{
    return algorithm->phases ? algorithm->phases(call, map) : 1;
}

/* The functions of the row where more than one rank has something to do; else nothing, or the copy
 * that a single rank needs. */
struct tt_count tt_algorithm_count(const struct tt_algorithm *algorithm, const struct tt_call *call,
                                   const struct tt_map *map);
/* Of a row that tells. */
struct tt_count tt_algorithm_count_rank(const struct tt_algorithm *algorithm,
                                        const struct tt_call *call, const struct tt_map *map,
                                        int me);
void tt_algorithm_build(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase);

/* The same in a phase that has begun already. */
void tt_algorithm_steps(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase);

/* Builds all phases into one plan. NULL: see tutti_error. */
struct tt_plan *tt_algorithm_plan(const struct tt_algorithm *algorithm, const struct tt_call *call,
                                  const struct tt_map *map, int me);
/* The same with a builder that is kept, whose arrays have grown already. */
struct tt_plan *tt_algorithm_plan_with(struct tt_builder *b, const struct tt_algorithm *algorithm,
                                       const struct tt_call *call, const struct tt_map *map,
                                       int me);

#endif
