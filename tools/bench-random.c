/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the parts of a problem one after the other. Collectives, types, operations and algorithms
 * come from their tables, so a new row of a table needs no change here.
 */
#include "bench-random.h"

#include <stdio.h>
#include <string.h>

#include "coll/coll.h"
#include "type/type.h"

/* PAGE: the bytes of a page. BEYOND: a number of bytes that does not fit in a window, so that the
 * data pass through the window in slices. MOST: the most bytes that all ranks together exchange. */
enum { PAGE = 4096, BEYOND = 300 << 10, MOST = 8 << 20 };

static int below(struct tt_random *random, int n)
{
    return (int)tt_random_below(random, (uint64_t)n);
}

static int draw_ranks(struct tt_random *random)
{
    if (below(random, 25) == 0) return 32 << below(random, 2);
    return 1 + below(random, 17);
}

/* Draws the number of elements: 0; 1; a prime number; as many as fill a page, or one more or less;
 * or so many that their bytes do not fit in a window. */
static int64_t draw_count(struct tt_random *random, int64_t sz)
{
    static const int64_t primes[] = {2, 3, 5, 7, 13, 31, 127, 509, 2039, 8191};
    int64_t page = PAGE / sz;
    switch (below(random, 6)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return page - 1 + below(random, 3);
    case 3: return BEYOND / sz + below(random, 1000);
    default: return primes[below(random, sizeof primes / sizeof *primes)];
    }
}

/* Returns n, or a smaller number if all ranks together would exchange more than MOST bytes when
 * each of the p ranks sends n elements to each rank. */
static int64_t limited(int64_t n, int64_t sz, int p)
{
    return tt_min(n, tt_max(1, MOST / (sz * p * p)));
}

/* Draws an operation that the type supports, or a user-defined operation, which supports every
 * type. */
static void draw_operation(struct tt_call *c, struct tt_random *random)
{
    int op;
    do op = below(random, TUTTI_OPS + 1);
    while (op < TUTTI_OPS && tt_op_refuse((tutti_op)op, c->type));
    c->op = op < TUTTI_OPS ? (tutti_op)op : TUTTI_OP_USER;
    c->commutes = op < TUTTI_OPS && below(random, 4) > 0;
}

/* Draws the neighbours of an alltoallv: a random graph, or a grid or torus of all ranks. */
static void draw_graph(struct tt_problem *problem, struct tt_random *random)
{
    struct tt_problem_graph *g = &problem->graph;
    *g = (struct tt_problem_graph){.kind = TT_GRAPH_random, .dims = 1};
    g->dim[0] = 1 + below(random, problem->p);
    int dims = 1 + below(random, TT_GRAPH_DIMS), dim[TT_GRAPH_DIMS] = {0};
    if (below(random, 2) || tutti_cart_dims(problem->p, dims, dim) != TUTTI_OK) return;
    g->kind = below(random, 2) ? TT_GRAPH_grid : TT_GRAPH_torus;
    g->dims = dims;
    memcpy(g->dim, dim, sizeof dim);
}

static void draw_call(struct tt_problem *problem, struct tt_random *random)
{
    static const int32_t radices[] = {0, 0, 2, 3, 4, 8};
    struct tt_call *c = &problem->call;
    c->commutes = true;
    if (c->coll == TT_COLL_barrier) return;
    c->type = (tutti_type)below(random, TUTTI_TYPES);
    c->sz = (int64_t)tutti_type_size(c->type);
    if (tt_coll_has_op(c->coll)) draw_operation(c, random);
    problem->n = limited(draw_count(random, c->sz), c->sz, problem->p);
    if (tt_call_counts(c))
        problem->skew = (enum tt_skew)below(random, TT_SKEWS);
    else
        c->n = problem->n;
    if (tt_coll_has_root(c->coll)) c->root = below(random, problem->p);
    if (tt_coll_has_place(c->coll)) c->in_place = below(random, 2);
    if (below(random, 3) == 0) c->slice = c->sz * (1 + below(random, 1000));
    c->radix = radices[below(random, sizeof radices / sizeof *radices)];
    if (below(random, 3) == 0) c->lanes = 1 + below(random, TT_LANES_MOST);
    if (c->coll == TT_COLL_alltoallv && problem->p > 1 && below(random, 2) == 0)
        draw_graph(problem, random);
}

static const char *draw_algorithm(enum tt_coll coll, struct tt_random *random)
{
    int n = 0;
    const char *name = NULL;
    if (below(random, 3) == 0) return NULL;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == coll && below(random, ++n) == 0) name = (*a)->name;
    return name;
}

/* Draws the sizes of two to four nodes; the last node gets the ranks that are left. */
static void draw_nodes(struct tt_drawn *drawn, struct tt_random *random)
{
    int left = drawn->problem.p, at = 0;
    for (int node = 0; left > 0; node++) {
        int n = node == 3 ? left : 1 + below(random, node == 0 ? left - 1 : left);
        at += snprintf(drawn->nodes + at, sizeof drawn->nodes - (size_t)at, "%s%d", node ? "," : "",
                       n);
        left -= n;
    }
}

void tt_bench_draw(struct tt_drawn *drawn, uint64_t seed, uint64_t i)
{
    struct tt_random random;
    tt_random_seed(&random, seed * 1000003 + i);
    enum tt_coll coll = (enum tt_coll)below(&random, TT_COLLS);
    drawn->problem = (struct tt_problem){.call = {.coll = coll}, .seed = 1 + i};
    drawn->problem.p = draw_ranks(&random);
    draw_call(&drawn->problem, &random);
    drawn->algorithm = draw_algorithm(coll, &random);
    drawn->gaps = below(&random, 4) == 0;
    drawn->reversed = below(&random, 4) == 0;
    drawn->beside = drawn->problem.p <= 17 && below(&random, 6) == 0;
    drawn->nodes[0] = '\0';
    if (drawn->problem.p > 1 && below(&random, 3) == 0) draw_nodes(drawn, &random);
    drawn->threads = !drawn->nodes[0] && below(&random, 3) == 0 ? 1 + below(&random, 6) : 0;
}
