/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the call of a problem for one rank, with the counts of the v-forms, and the map of nodes.
 * Each count depends on (seed, from, to) alone, so that every rank can compute the counts of every
 * other rank without a table of p² numbers.
 */
#include "text/problem.h"

#include <stdlib.h>
#include <string.h>

/* Returns a random number below `limit`, which depends on the problem's seed and on `from` and `to`
 * alone. */
static int64_t drawn(const struct tt_problem *problem, int from, int to, int64_t limit)
{
    struct tt_random random;
    uint64_t pair = (uint64_t)from * TT_PROBLEM_RANKS + (uint64_t)to;
    tt_random_seed(&random, problem->seed * UINT64_C(0x9e3779b97f4a7c15) + pair);
    return (int64_t)tt_random_below(&random, (uint64_t)limit);
}

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

/* Returns the place of rank r in a random order of the ranks. The place is (a r + b) mod p, where a
 * and b are drawn from the problem's seed, and a and p have no common factor. */
static int place(const struct tt_problem *problem, int r)
{
    int p = problem->p;
    int a = 1 + (int)drawn(problem, 0, 0, p);
    int b = (int)drawn(problem, 0, 1, p);
    while (gcd(a, p) != 1) a++;
    return (int)(((int64_t)a * r + b) % p);
}

/* Returns the count of rank r with skew=zipf: n p (1/k) / (1/1 + ... + 1/p), rounded down, where k
 * is the place of the rank in a random order, counted from 1, and `harmonic` is the sum 1/1 + ... +
 * 1/p. */
static int64_t zipf(const struct tt_problem *problem, double harmonic, int r)
{
    double share = 1.0 / (harmonic * (1 + place(problem, r)));
    return (int64_t)(share * (double)problem->n * problem->p);
}

static double harmonic_sum(const struct tt_problem *problem)
{
    double sum = 0;
    if (problem->skew != TT_SKEW_zipf) return 1;
    for (int k = 1; k <= problem->p; k++) sum += 1.0 / k;
    return sum;
}

/* Returns whether the two ranks are next to each other in the grid or torus. */
static bool is_next_to(const struct tt_problem_graph *g, int from, int to)
{
    int steps = 0;
    for (int i = g->dims - 1; i >= 0; i--) {
        int n = g->dim[i], apart = abs(from % n - to % n);
        bool closed = g->kind == TT_GRAPH_torus && apart == n - 1;
        if (apart > 1 && !closed) return false;
        steps += apart > 0;
        from /= n;
        to /= n;
    }
    return steps == 1;
}

/* Returns whether rank `from` sends to rank `to` in a neighbourhood collective. No rank is its own
 * neighbour. */
static bool is_neighbor(const struct tt_problem *problem, int from, int to)
{
    const struct tt_problem_graph *g = &problem->graph;
    if (from == to) return false;
    if (g->kind != TT_GRAPH_random) return is_next_to(g, from, to);
    return drawn(problem, problem->p + from, to, problem->p - 1) < g->dim[0];
}

/* Returns whether the collective moves nothing from rank `from` to rank `to`: in a gatherv, if `to`
 * is not the root; in a scatterv, if `from` is not the root. In place, neither of these two
 * collectives moves anything from the root to itself. */
static bool is_apart(const struct tt_call *call, int from, int to)
{
    bool gathers = call->coll == TT_COLL_gatherv, scatters = call->coll == TT_COLL_scatterv;
    if (!gathers && !scatters) return false;
    return (gathers ? to : from) != call->root || (call->in_place && from == to);
}

/* Returns how many elements go from one rank to another. In an alltoallv or scatterv the count
 * depends on both ranks; with skew=zipf, on the receiver `to` alone. In an allgatherv or gatherv it
 * depends on the contributor `from` alone. In a reduce_scatter `from` is the number of the block,
 * on which alone the count depends. */
static int64_t count(const struct tt_problem *problem, double harmonic, int from, int to)
{
    enum tt_coll coll = problem->call.coll;
    bool gather = coll != TT_COLL_alltoallv && coll != TT_COLL_scatterv;
    if (is_apart(&problem->call, from, to)) return 0;
    if (problem->graph.kind && !is_neighbor(problem, from, to)) return 0;
    if (gather) to = 0;
    switch (problem->skew) {
    case TT_SKEW_uniform: return drawn(problem, from, to, 2 * problem->n + 1);
    case TT_SKEW_zipf: return zipf(problem, harmonic, gather ? from : to);
    case TT_SKEW_zero: return drawn(problem, from, to, 2) ? problem->n : 0;
    case TT_SKEW_equal:
    case TT_SKEWS: break;
    }
    return problem->n;
}

/* The counts of all ranks in an alltoallv, gatherv or scatterv. Each count is computed when it is
 * needed. */
struct skew_counts {
    struct tt_all_counts head;
    const struct tt_problem *problem;
    double harmonic;
};
enum { COUNTS_WORDS = sizeof(struct skew_counts) / sizeof(int64_t) };
_Static_assert(sizeof(struct skew_counts) % sizeof(int64_t) == 0, "it lies in the room");

static int64_t count_of_all(const struct tt_all_counts *all, int from, int to)
{
    const struct skew_counts *counts = (const struct skew_counts *)all;
    return count(counts->problem, counts->harmonic, from, to);
}

/* Returns the largest count that a piece of an alltoallv can have with the problem's skew. */
static int64_t limit(const struct tt_problem *problem, double harmonic)
{
    if (problem->skew == TT_SKEW_uniform) return 2 * problem->n;
    double share = 1.0 / harmonic;
    return problem->skew == TT_SKEW_zipf ? (int64_t)(share * (double)problem->n * problem->p)
                                         : problem->n;
}

/* Returns the count of the longest piece of any rank. On more than MANY ranks there are more than a
 * million pieces, so the longest is taken to be as long as the skew allows. */
static int64_t find_longest(const struct tt_problem *problem, double harmonic)
{
    enum { MANY = 1024 };
    int64_t longest = 0, most = limit(problem, harmonic);
    if (problem->p > MANY) return most;
    for (int from = 0; from < problem->p; from++)
        for (int to = 0; to < problem->p && longest < most; to++)
            longest = tt_max(longest, count(problem, harmonic, from, to));
    return longest;
}

static bool has_same_counts(const struct tt_problem *a, const struct tt_problem *b)
{
    return a->p == b->p && a->n == b->n && a->seed == b->seed && a->skew == b->skew &&
           memcmp(&a->graph, &b->graph, sizeof a->graph) == 0;
}

/* Returns the count of the longest piece of any rank in an alltoallv. A caller usually makes the
 * calls of all ranks one after the other, so the last result is kept. */
static int64_t longest_of(const struct tt_problem *problem, double harmonic)
{
    static _Thread_local struct {
        struct tt_problem problem;
        int64_t longest;
    } last;
    if (!has_same_counts(&last.problem, problem)) {
        last.longest = find_longest(problem, harmonic);
        last.problem = *problem;
    }
    return last.longest;
}

/* The number of elements of the array `room` (tt_problem_call) that a struct tt_neighbors takes.
 * The ranks of the neighbours come after it. */
enum { NEIGHBORS_WORDS = sizeof(struct tt_neighbors) / sizeof(int64_t) };
_Static_assert(sizeof(struct tt_neighbors) % sizeof(int64_t) == 0, "the ranks follow it");

size_t tt_problem_room(const struct tt_problem *problem)
{
    size_t arrays = tt_coll_pairs(problem->call.coll) ? 4 : tt_call_counts(&problem->call) ? 2 : 0;
    size_t graph = problem->graph.kind ? NEIGHBORS_WORDS + (size_t)problem->p : 0;
    size_t all = tt_coll_pairs(problem->call.coll) ? COUNTS_WORDS : 0;
    return arrays * (size_t)problem->p + graph + all;
}

static const struct tt_neighbors *neighbors(const struct tt_problem *problem, int me, int64_t *room)
{
    struct tt_neighbors *n = (struct tt_neighbors *)room;
    int32_t *to = (int32_t *)(n + 1), *from = to + problem->p;
    *n = (struct tt_neighbors){.to = to, .from = from};
    for (int r = 0; r < problem->p; r++) {
        if (is_neighbor(problem, me, r)) to[n->to_n++] = r;
        if (is_neighbor(problem, r, me)) from[n->from_n++] = r;
    }
    return n;
}

static void without_gaps(const int64_t *counts, int64_t *displs, int p)
{
    int64_t sum = 0;
    for (int r = 0; r < p; r++) {
        displs[r] = sum;
        sum += counts[r];
    }
}

struct tt_call tt_problem_call(const struct tt_problem *problem, int me, int64_t *room)
{
    struct tt_call call = problem->call;
    int p = problem->p;
    call.seed = problem->seed;
    if (!tt_call_counts(&call)) return call;
    double harmonic = harmonic_sum(problem);
    for (int r = 0; r < p; r++) room[r] = count(problem, harmonic, r, me);
    without_gaps(room, room + p, p);
    call.out_counts = room;
    if (call.coll == TT_COLL_reduce_scatter) {
        call.n = room[2 * p - 1] + room[p - 1];
        return call;
    }
    call.out_displs = room + p;
    if (call.coll == TT_COLL_allgatherv) return call;
    int64_t *in = room + 2 * (size_t)p;
    for (int r = 0; r < p; r++) in[r] = count(problem, harmonic, me, r);
    without_gaps(in, in + p, p);
    call.in_counts = in;
    call.in_displs = in + p;
    struct skew_counts *counts = (struct skew_counts *)(in + 2 * (size_t)p);
    *counts = (struct skew_counts){{count_of_all}, problem, harmonic};
    call.all_counts = &counts->head;
    if (call.coll != TT_COLL_alltoallv) return call;
    call.longest = longest_of(problem, harmonic);
    if (problem->graph.kind) call.neighbors = neighbors(problem, me, (int64_t *)(counts + 1));
    return call;
}

/* Reads the number at *at and moves *at past it. */
static int number(const char **at)
{
    size_t len = strspn(*at, "0123456789KMG");
    int64_t value = 0;
    tt_parse_size(*at, *at + len, &value);
    *at += len;
    return (int)value;
}

/* Reads SIZE or SIZE*NODES. Returns SIZE and sets *times to NODES, or to 1 if the text has no
 * NODES. */
static int sizes(const char **at, int *times)
{
    int size = number(at);
    *times = 1;
    if (**at == '*') {
        ++*at;
        *times = number(at);
    }
    return size;
}

/* Calls each(node, size, arg) for all nodes. Returns how many nodes there are. */
static int each_node(const char *text, void (*each)(int node, int size, void *arg), void *arg)
{
    const char *at = strchr(text, ':');
    int nodes = 0, times;
    while (at && (*at == ':' || *at == ',')) {
        at++;
        int size = sizes(&at, &times);
        for (int end = nodes + times; nodes < end; nodes++) each(nodes, size, arg);
    }
    return nodes;
}

struct skew_filling {
    int *node, p, r, row;
};

static void fill_node(int node, int size, void *arg)
{
    struct skew_filling *f = arg;
    for (int k = 0; k < size && f->r < f->p; k++) f->node[f->r++] = node;
}

/* Assigns the next rank (f->r) to the node if the node has room, that is, if its size is above
 * f->row, the number of ranks that it has already. */
static void deal(int node, int size, void *arg)
{
    struct skew_filling *f = arg;
    if (size > f->row && f->r < f->p) f->node[f->r++] = node;
}

void tt_problem_map(const struct tt_problem *problem, struct tt_map *map, int *node)
{
    struct skew_filling f = {.node = node, .p = problem->p};
    int nodes = 0;
    bool dealt = strstr(problem->map, TT_DEALT) != NULL;
    if (!tt_network_is_one(problem->map) && problem->map[0]) {
        if (!dealt) nodes = each_node(problem->map, fill_node, &f);
        for (; dealt && f.r < f.p && f.row < f.p; f.row++)
            nodes = each_node(problem->map, deal, &f);
    }
    while (f.r < problem->p) node[f.r++] = 0;
    map->p = problem->p;
    map->nodes = nodes ? nodes : 1;
    map->node = nodes > 1 ? node : NULL;
}

tutti_status tt_problem_net(const struct tt_problem *problem, struct tt_net *net)
{
    *net = (struct tt_net){.nodes = 0};
    return tt_network_is_one(problem->map) ? tt_network_parse(problem->map, net, NULL) : TUTTI_OK;
}

tutti_status tt_problem_apart(const struct tt_problem *problem, struct tt_map *map, int *node,
                              struct tt_net *net)
{
    TT_TRY(tt_problem_net(problem, net));
    tt_problem_map(problem, map, node);
    if (net->nodes > 0) map->net = net;
    if (problem->map[0] && !map->net) return TUTTI_OK;
    map->rdma = true;
    for (int r = 0; r < problem->p; r++) node[r] = r;
    map->nodes = problem->p;
    map->node = problem->p > 1 ? node : NULL;
    return TUTTI_OK;
}
