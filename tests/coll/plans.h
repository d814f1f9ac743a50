/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks' plans of one problem, as the tests of the algorithms want them.
 */
#ifndef TEST_COLL_PLANS_H
#define TEST_COLL_PLANS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "coll/coll.h"
#include "plan/network.h"
#include "plan/problem.h"

struct plans {
    int p;
    struct tt_call *calls;
    int64_t *room;
    struct tt_plan **plans;
    char text[TT_PROBLEM_TEXT]; /* which problem, for messages */
};

/* f64 sums unless it says otherwise. */
struct tt_problem plans_problem(enum tt_coll coll, int p, int64_t n);
/* One node of p ranks on as many cores, all of it readable directly. */
struct tt_map plans_map(int p);

/* Ranks on several nodes: uneven, even, one each, adjacent or not; 0 <= which < PLANS_NODES. */
enum { PLANS_NODES = 8, PLANS_RANKS = 64 };
struct tt_map plans_nodes(int p, int which, int node[PLANS_RANKS]);

/* Some that join their ranks directly, whole and with nodes missing; ends with NULL. */
extern const char *const plans_networks[];
struct tt_net plans_network(const char *text);
/* Whether the algorithm refuses where the network is not known. */
bool plans_need_network(const struct tt_algorithm *algorithm);

/* False if the algorithm refuses. Fails the test if a plan cannot be built or is not valid. */
bool plans_make(struct plans *all, const struct tt_algorithm *algorithm,
                const struct tt_problem *problem, const struct tt_map *map);
void plans_free(struct plans *all);
/* Whether it does one thing within a node and another between nodes. */
bool plans_span_nodes(const struct tt_algorithm *algorithm);
/* Whether the radix is the number of those who exchange at once, any power of two. */
bool plans_exchanges(const struct tt_algorithm *algorithm);
/* Fails where a rank's plan is not counted as the algorithm says of that rank, if it does. */
struct tt_count plans_worst(const struct plans *all, const struct tt_algorithm *algorithm,
                            const struct tt_map *map);

#endif
