/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A problem: which collective, of what, on how many ranks, as one string that the command, tests,
 * bug reports and traces share:
 *
 *     COLL[/TYPE[/OP]/BYTES]/pN[/key=value...][@MAP]
 *
 *     allreduce/f64/sum/1M/p16     alltoallv/u8/64K/p64/skew=zipf     barrier/p16
 *     bcast/f32/8/p9/root=3@nodes:4,4,1
 *
 * BYTES is what one rank contributes (to each other rank, for exchanges and
 * reduce_scatter(_block)), a multiple of the type; K M G are 1024s. OP `user` is a user-defined
 * operation that does not commute. The keys:
 *
 *     root=R        bcast, reduce, gather; otherwise 0
 *     slice=BYTES   of a pipeline; otherwise the algorithm's own
 *     radix=K       branching of trees, partners at once of exchanges; otherwise the algorithm's
 *                   own
 *     order=rank    operands are combined in rank order; order=any: user's may be in any; of
 *                   exchanges: `exchange` begins with rank 0 and goes on in rank order, not at
 *                   random
 *     inplace=1     where the collective can be
 *     seed=N        of whatever is drawn at random
 *     skew=WORD     counts of the v-forms and reduce_scatter: equal (as without), uniform (drawn
 *                   from 0 to twice BYTES), zipf (the k-th rank in a drawn order gets a share of
 *                   1/k), zero (about half of them are zero)
 *
 * MAP is nodes:4,4,1 (ranks 0-3 on one node, 4-7 on the next, 8 alone); 4*16 stands for 16 of 4;
 * nodes:4,4,1+dealt deals the ranks out one by one to the nodes that have room (0 3 5 7 on the
 * first, 1 4 6 8 on the next, 2 alone); or a network with as many members, as in torus:4x4 (see
 * plan/network.h).
 */
#ifndef TT_PLAN_PROBLEM_H
#define TT_PLAN_PROBLEM_H

#include <stdio.h>

#include "plan/call.h"
#include "plan/network.h"
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

struct tt_problem {
    struct tt_call call; /* the arrays of the v-forms are NULL */
    int p;
    int64_t n; /* elements a rank contributes; the v-forms' average but for skew=zero */
    enum tt_skew skew;
    uint64_t seed;
    char map[TT_PROBLEM_MAP]; /* what follows the @; "" if nothing does */
};

#define tt_problem_error tt_reader_error

/* TUTTI_OK, or ERR_ARG with *error filled in (if not NULL); *problem is set only on OK. */
tutti_status tt_problem_parse(const char *text, struct tt_problem *problem,
                              struct tt_problem_error *error);
/* The shortest string that parses to the same problem; returns buffer. */
char *tt_problem_print(const struct tt_problem *problem, char buffer[TT_PROBLEM_TEXT]);
/* Shows the message, the string (of a long one a part), and a caret under the place. */
void tt_problem_complain(FILE *file, const char *text, const struct tt_problem_error *error);

/* How many int64_t tt_problem_call wants. */
size_t tt_problem_room(const struct tt_problem *problem);
/* The call of rank `me`. For the v-forms with counts drawn from the seed, out_counts[r] of `me`
 * being in_counts[me] of r; displacements without gaps. They lie in `room`, which must outlive the
 * call. */
struct tt_call tt_problem_call(const struct tt_problem *problem, int me, int64_t *room);
/* Fills node[0..p-1] and sets map->p, nodes and node; the rest of *map is left. */
void tt_problem_map(const struct tt_problem *problem, struct tt_map *map, int *node);
/* The network of the problem, which the caller frees; *net stays empty, and OK, where it has none.
 * MEMORY. */
tutti_status tt_problem_net(const struct tt_problem *problem, struct tt_net *net);
/* For simulations: the ranks on the nodes that the problem says, else each on one of its own, with
 * puts and gets between them; map->net is set to `net` if there is a network. */
tutti_status tt_problem_apart(const struct tt_problem *problem, struct tt_map *map, int *node,
                              struct tt_net *net);

#endif
