/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A problem says which collective is done, with which data and on how many ranks. It is one string
 * that the command, tests, bug reports and traces share:
 *
 *     COLL[/TYPE[/OP]/BYTES]/pN[/key=value...][@MAP]
 *
 *     allreduce/f64/sum/1M/p16     alltoallv/u8/64K/p64/skew=zipf     barrier/p16
 *     bcast/f32/8/p9/root=3@nodes:4,4,1
 *
 * BYTES is the number of bytes that one rank contributes (in an alltoall(v), scatter(v) or
 * reduce_scatter(_block): to each rank). It is a multiple of the type's size; K, M and G are powers
 * of 1024. OP `user` is a user-defined operation that does not commute. The keys are:
 *
 *     root=R        root of a bcast, reduce, gather(v) or scatter(v); without the key 0
 *     slice=BYTES   slice of a pipeline; without the key the algorithm decides
 *     radix=K       branching of trees, simultaneous partners of exchanges; without the key the
 *                   algorithm decides
 *     lanes=N       the most slices on which an algorithm for several nodes works at the same time,
 *                   each in a lane of the plan; without the key the algorithm decides
 *     order=rank    operands are combined in rank order; the algorithm `exchange` for alltoall(v)
 *                   serves the ranks from 0 on in rank order instead of in random order
 *     order=any     operands of a user-defined operation may be combined in any order
 *     inplace=1     in place, where the collective allows it
 *     seed=N        seed of whatever is drawn at random
 *     skew=WORD     counts of the v-forms and reduce_scatter: equal (the default), uniform (drawn
 *                   from 0 to twice BYTES), zipf (the k-th rank in a drawn order gets a share of
 *                   1/k), zero (about half of the counts are zero)
 *     graph=WORD    an alltoallv is a neighbourhood collective, tutti_neighbor_alltoallv. The word
 *                   is grid:4x3 (the ranks lie in a grid, the last coordinate growing fastest, and
 *                   their neighbours are those one step away), torus:4x3 (the same, and each
 *                   dimension is closed to a ring), or random:3 (each rank sends to three others on
 *                   average, drawn from the seed)
 *
 * MAP is one of
 *
 *     nodes:4,4,1          ranks 0-3 on one node, 4-7 on the next, 8 alone
 *     nodes:4*16           16 nodes of 4 ranks each
 *     nodes:4,4,1+dealt    the ranks are dealt out one by one to the nodes that have room:
 *                          0 3 5 7 on the first, 1 4 6 8 on the next, 2 alone
 *     torus:4x4            or another network with as many nodes as ranks (see plan/network.h)
 */
#ifndef TT_PLAN_PROBLEM_H
#define TT_PLAN_PROBLEM_H

#include <stdio.h>

#include "plan/call.h"
#include "plan/network.h"
#include "plan/words.h"
#include "topo/map.h"

enum { TT_PROBLEM_RANKS = 1 << 20, TT_PROBLEM_MAP = 256, TT_PROBLEM_TEXT = 512 };

#define TT_DEALT "+dealt"

#define TT_SKEW_LIST(X) X(equal) X(uniform) X(zipf) X(zero)
enum tt_skew {
#define TT_SKEW_ENUM(name) TT_SKEW_##name,
    TT_SKEW_LIST(TT_SKEW_ENUM)
#undef TT_SKEW_ENUM
        TT_SKEWS
};

#define TT_GRAPH_LIST(X) X(grid) X(torus) X(random)
enum tt_graph_kind {
    TT_GRAPH_none,
#define TT_GRAPH_ENUM(name) TT_GRAPH_##name,
    TT_GRAPH_LIST(TT_GRAPH_ENUM)
#undef TT_GRAPH_ENUM
};

enum { TT_GRAPH_DIMS = 4 };
/* The neighbours of the ranks: a grid or torus of `dims` dimensions, or a random graph, whose
 * degree is dim[0]. */
struct tt_problem_graph {
    enum tt_graph_kind kind;
    int dims, dim[TT_GRAPH_DIMS];
};

struct tt_problem {
    /* the call without everything that differs between ranks: for example, the arrays of the
     * v-forms are NULL here */
    struct tt_call call;
    int p;
    /* BYTES as a number of elements. In the v-forms and in reduce_scatter, the counts that are
     * drawn are n on average, but with skew=zero n / 2. */
    int64_t n;
    enum tt_skew skew;
    struct tt_problem_graph graph;
    uint64_t seed;
    char map[TT_PROBLEM_MAP]; /* the text after the @; "" if there is none */
};

#define tt_problem_error tt_reader_error

/* Parses a problem. Returns TUTTI_OK; or ERR_ARG, with *error filled in unless `error` is NULL.
 * *problem is set only if the result is TUTTI_OK. */
tutti_status tt_problem_parse(const char *text, struct tt_problem *problem,
                              struct tt_problem_error *error);
/* Writes the shortest string that parses to the same problem. Returns buffer. */
char *tt_problem_print(const struct tt_problem *problem, char buffer[TT_PROBLEM_TEXT]);
/* Prints the name of the command, the message, the string (a part of it if it is long), and a caret
 * below the place of the error. */
void tt_problem_complain(FILE *file, const char *command, const char *text,
                         const struct tt_problem_error *error);

/* Returns how many elements the array `room` of tt_problem_call must have. */
size_t tt_problem_room(const struct tt_problem *problem);
/* Returns the call of rank `me`. The counts of the v-forms and of reduce_scatter are drawn from the
 * seed, so that out_counts[r] of rank `me` equals in_counts[me] of rank r; displacements leave no
 * gaps. The arrays and everything else that belongs to the rank are in `room`. The result may be
 * used as long as `room` and *problem exist. */
struct tt_call tt_problem_call(const struct tt_problem *problem, int me, int64_t *room);
/* Fills node[0..p-1], and sets map->p, map->nodes and map->node, which points to `node` (NULL with
 * one node). The other members of *map stay as they are. */
void tt_problem_map(const struct tt_problem *problem, struct tt_map *map, int *node);
/* Makes the network of the problem, which the caller frees. If the problem has no network, *net is
 * empty and the result is TUTTI_OK. Errors: those of tt_network_parse. */
tutti_status tt_problem_net(const struct tt_problem *problem, struct tt_net *net);
/* Makes the map for simulations. If the problem's map lists nodes, the ranks are on these nodes.
 * Otherwise each rank is on a node of its own, with puts and gets between the nodes. If the problem
 * has a network, map->net is set to `net`, which the caller frees. Errors: those of
 * tt_network_parse. */
tutti_status tt_problem_apart(const struct tt_problem *problem, struct tt_map *map, int *node,
                              struct tt_net *net);

#endif
