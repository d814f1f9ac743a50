/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of all ranks for one problem, for the tests of the algorithms.
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
#include "plan/count.h"
#include "plan/network.h"
#include "text/problem.h"

struct plans {
    int p;
    struct tt_call *calls;
    int64_t *room;
    struct tt_plan **plans;
    char text[TT_PROBLEM_TEXT]; /* the problem in words, for messages */
};

/* Returns a problem that sums n elements of type f64 and has the usual value for everything
 * else. */
struct tt_problem plans_problem(enum tt_coll coll, int p, int64_t n);
/* Returns the map of one node with p ranks and p cores, where each rank can read and write the
 * memory of all others. */
struct tt_map plans_map(int p);
/* Sets the bytes of a window, and how many of them are low (tt_map.low_bytes). */
void plans_window(struct tt_map *map, int64_t bytes);

/* Returns a map with several nodes. `which`, from 0 to PLANS_NODES - 1, selects nodes of uneven or
 * even size, of one rank or several, with adjacent ranks or not. */
enum { PLANS_NODES = 8, PLANS_RANKS = 64 };
struct tt_map plans_nodes(int p, int which, int node[PLANS_RANKS]);

/* Networks without switches, complete or with nodes missing. The list ends with NULL. */
extern const char *const plans_networks[];
struct tt_net plans_network(const char *text);
/* Returns whether the algorithm refuses maps without a network. */
bool plans_need_network(const struct tt_algorithm *algorithm);

/* Makes the plans of all ranks. Returns false if the algorithm refuses the problem. Fails the test
 * if a plan is invalid or cannot be built. */
bool plans_make(struct plans *all, const struct tt_algorithm *algorithm,
                const struct tt_problem *problem, const struct tt_map *map);
void plans_free(struct plans *all);
/* Returns whether the algorithm works differently within a node and between nodes. */
bool plans_span_nodes(const struct tt_algorithm *algorithm);
/* Returns whether the algorithm takes as its radix any power of two up to 16. Depending on the
 * algorithm, the radix is the number of ranks that exchange data at once, the arity of a tree, or
 * the number of messages under way. */
bool plans_exchanges(const struct tt_algorithm *algorithm);
/* Returns the costs of all ranks, as their plans show them (plan/count.h). The caller frees them
 * with tt_free. */
struct tt_count *plans_counts(const struct plans *all);
/* Returns, for each member of struct tt_count, the largest value that it has for any rank. */
struct tt_count plans_worst(const struct plans *all);

#endif
