/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A problem and an algorithm as they are given to a subcommand, and the machine assumed under them.
 */
#ifndef TT_TOOLS_PROBLEM_H
#define TT_TOOLS_PROBLEM_H

#include "coll/coll.h"
#include "plan/problem.h"

/* For the ends of --help texts. */
#define TT_PROBLEM_HELP                                                                            \
    "A PROBLEM is COLLECTIVE[/TYPE[/OPERATION]/BYTES]/pRANKS[/KEY=VALUE...][@nodes:N,N...], as "   \
    "in "                                                                                          \
    "allreduce/f64/sum/1M/p16, bcast/u8/64K/p9/root=3, barrier/p4. BYTES is what one rank "        \
    "contributes (in an alltoall: to each other rank)."
#define TT_NETWORK_HELP                                                                            \
    "A NETWORK is ring:12, mesh:4x4, torus:8x8x8, hypercube:10, tree:2x1023, fattree:4x4x4 or "    \
    "dragonfly:2x4x2; nodes may be missing: torus:8x8-hole(3,3)-wall(x=5)-random(4,7)."

struct tt_case {
    struct tt_problem problem;
    struct tt_map map;
    const struct tt_algorithm *algorithm;
    int *node; /* map.node */
    struct tt_net net;
    int64_t *room; /* for tt_problem_call */
};

/* Parses `text`; false when it told what is wrong with it. */
bool tt_problem_open(struct tt_problem *problem, const char *text);
/* An algorithm of the collective by its name; NULL when it told which there are. */
const struct tt_algorithm *tt_algorithm_named(const char *command, enum tt_coll coll,
                                              const char *name);
/* The problem on this machine, and the algorithm of that name (NULL: the one that would be used).
 * False when it told why not. */
bool tt_case_open(struct tt_case *c, const char *command, const char *text, const char *algorithm);
/* The problem in a simulation, with no algorithm yet. */
bool tt_case_apart(struct tt_case *c, const char *command, const char *text);
void tt_case_close(struct tt_case *c);

#endif
