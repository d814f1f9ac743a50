/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbering of cases: the case number is a mixed-radix number, in which each digit selects the
 * value of one parameter.
 */
#include "check-cases.h"

#include <stdio.h>
#include <string.h>

#include "plan/network.h"

enum { ALL_ROOTS = 9, GENEROUS = 1 << 20 };

/* ---- The values that the digits select ---- */

enum { NODE_MAPS = 12, WRITTEN = 10 };
static const struct machine {
    bool direct, mapped;
    int64_t win_bytes;
} machines[] = {
    {true, true, GENEROUS}, {true, false, GENEROUS}, {false, false, GENEROUS},
    {true, true, 64},       {false, false, 64},      {false, false, 100},
};
enum { MACHINES = sizeof machines / sizeof *machines };

/* Writes a torus of p nodes, with a dimension of size 2 for each factor 2 of p, and one dimension
 * for the remaining factor. */
static void print_grid(char *map, size_t size, int p)
{
    size_t used = (size_t)snprintf(map, size, "torus");
    const char *between = ":";
    for (; p % 2 == 0; p /= 2, between = "x")
        used += (size_t)snprintf(map + used, size - used, "%s2", between);
    if (p > 1 || *between == ':') snprintf(map + used, size - used, "%s%d", between, p);
}

/* Writes a network of the kind that the algorithm is made for. */
static void print_network(char *map, size_t size, const struct tt_algorithm *algorithm, int p)
{
    if (strcmp(algorithm->name, "tree") == 0)
        snprintf(map, size, "tree:%dx%d", 1 + p % 4, p);
    else
        print_grid(map, size, p);
}

/* Writes a map of nodes of uneven sizes. Each node gets share/12 of the ranks that are left, and at
 * least one: with share = 6, 16 ranks make nodes of 8, 4, 2, 1 and 1. Appends `dealt` to the map:
 * "", or TT_DEALT if the ranks are dealt out to the nodes in turn. */
static void print_uneven(char *map, size_t size, int p, int share, const char *dealt)
{
    size_t used = (size_t)snprintf(map, size, "nodes");
    const char *between = ":";
    for (int n; p > 0; p -= n, between = ",") {
        n = (int)tt_max(1, p * share / 12);
        used += (size_t)snprintf(map + used, size - used, "%s%d", between, n);
    }
    snprintf(map + used, size - used, "%s", dealt);
}

/* Writes map number `which`. Map 0 is a single node, for which nothing is written; 1: two nodes of
 * about the same size; 2: one rank alone and the others on a second node; 3: nodes of three ranks;
 * 4: a network of the algorithm's kind; 5 to 8: nodes of uneven sizes, with the ranks dealt out in
 * turn in 6 and 8; 9: each rank on a node of its own. The maps from WRITTEN on deal the ranks out
 * to two or three nodes; the option --scattered stands for them, and nothing is written. Fewer than
 * three ranks are always on a single node. */
static void print_map(char *map, size_t size, const struct tt_algorithm *algorithm, int p,
                      int which)
{
    map[0] = '\0';
    if (p < 3) return;
    if (which == 1) snprintf(map, size, "nodes:%d,%d", p / 2, p - p / 2);
    if (which == 2) snprintf(map, size, "nodes:1,%d", p - 1);
    if (which == 3 && p % 3) snprintf(map, size, "nodes:3*%d,%d", p / 3, p % 3);
    if (which == 3 && p % 3 == 0) snprintf(map, size, "nodes:3*%d", p / 3);
    if (which == 4) print_network(map, size, algorithm, p);
    if (which == 5) print_uneven(map, size, p, 6, "");
    if (which == 6) print_uneven(map, size, p, 5, TT_DEALT);
    if (which == 7) print_uneven(map, size, p, 9, "");
    if (which == 8) print_uneven(map, size, p, 2, TT_DEALT);
    if (which == 9) snprintf(map, size, "nodes:1*%d", p);
}

/* ---- Networks for algorithms that need one: complete ones, and some with missing nodes ---- */

enum { NETWORKS = 10 };

/* Sets side[] to the sides of a nearly square rectangle of at least n places. */
static void sides(int n, int side[2])
{
    side[0] = 1;
    while (side[0] * side[0] < n) side[0]++;
    side[1] = (n + side[0] - 1) / side[0];
}

/* Returns the largest factor of p that is not greater than the square root of p. */
static int factor_of(int p)
{
    int factor = 1;
    for (int a = 1; a <= p / a; a++)
        if (p % a == 0) factor = a;
    return factor;
}

static bool is_connected(const char *map)
{
    struct tt_net net;
    bool connected = tt_network_parse(map, &net, NULL) == TUTTI_OK;
    if (connected) tt_net_free(&net);
    return connected;
}

/* Writes a network about a fifth of whose nodes are missing. Tries successive seeds until the
 * remaining nodes are connected. */
static void print_random(char *map, size_t size, int p, const char *kind, int depth, int seed)
{
    int side[2], most = seed + 1000;
    sides((p + p / 4 + depth) / depth, side);
    int holes = side[0] * side[1] * depth - p;
    do {
        snprintf(map, size, "%s:%dx%dx%d-random(%d,%d)", kind, side[0], side[1], depth, holes,
                 seed);
    } while (++seed < most && !is_connected(map));
}

static void print_members(char *map, size_t size, int p, int which)
{
    int factor = factor_of(p);
    size_t used;
    switch (which) {
    case 0: print_grid(map, size, p); return;
    case 1: snprintf(map, size, "mesh:%dx%d", p / factor, factor); return;
    case 2: snprintf(map, size, "tree:2x%d", p); return;
    case 3:
        print_grid(map, size, p + 1);
        used = strlen(map);
        snprintf(map + used, size - used, "-hole(%d)", p / 2);
        return;
    case 4: snprintf(map, size, "torus:%dx%d-wall(x=1)", p / factor + 1, factor); return;
    case 5: print_random(map, size, p, "mesh", 1, 1); return;
    default: print_random(map, size, p, "torus", which % 2 ? 3 : 1, which * 1000); return;
    }
}

/* Returns whether the algorithm needs a network, that is, whether it refuses a machine that has
 * everything else that an algorithm may ask for. */
static bool needs_network(const struct tt_algorithm *algorithm)
{
    const struct tt_call call = {
        .coll = algorithm->coll, .type = TUTTI_I32, .op = TUTTI_SUM, .commutes = true, .sz = 4};
    const struct tt_map map = {.p = 2,
                               .cores = 2,
                               .win_bytes = GENEROUS,
                               .reads = true,
                               .writes = true,
                               .mapped = true,
                               .nodes = 1};
    return algorithm->refuse(&call, &map) != NULL;
}

static const tutti_type types[] = {TUTTI_I32, TUTTI_I8, TUTTI_C128};
static const int32_t radices[] = {0, 3, 4, 8}, lanes[] = {0, 2, 8};
enum { TYPES = 3, SLICES = 4, RADICES = 4, GRAPHS = 4, LANE_COUNTS = 3 };

/* Returns the number of elements for digit `which`. The number is smaller for a collective that
 * moves this many elements for each pair of ranks. */
static int64_t count_at(enum tt_coll coll, int p, int which)
{
    const int64_t per_rank[] = {0, 1, p - 1, p, 3 * p + 2, 7 * p + 3};
    const int64_t per_pair[] = {0, 1, 2, 3, 5, 7};
    bool pairs = coll == TT_COLL_alltoall || tt_coll_pairs(coll) || coll == TT_COLL_allgather ||
                 coll == TT_COLL_allgatherv || coll == TT_COLL_gather || coll == TT_COLL_scatter ||
                 coll == TT_COLL_reduce_scatter_block || coll == TT_COLL_reduce_scatter;
    return pairs ? per_pair[which] : per_rank[which];
}
enum { COUNTS = 6 };

static int roots(enum tt_coll coll, int p)
{
    if (!tt_coll_has_root(coll)) return 1;
    return p <= ALL_ROOTS ? p : 3;
}

static int32_t root_at(int p, int which)
{
    const int some[] = {0, p / 2, p - 1};
    return p <= ALL_ROOTS ? which : some[which];
}

/* ---- The digits ---- */

enum digit {
    MAP,
    MACHINE,
    COUNT,
    SLICE,
    TYPE,
    PLACE,
    ORDER,
    ROOT,
    SKEW,
    GAPS,
    RADIX,
    GRAPH,
    LANES,
    DIGITS
};

static void sizes_of(const struct tt_algorithm *algorithm, int p, uint64_t size[DIGITS])
{
    enum tt_coll coll = algorithm->coll;
    bool v = coll == TT_COLL_allgatherv || tt_coll_pairs(coll);
    bool data = coll != TT_COLL_barrier;
    size[MAP] = needs_network(algorithm) ? NETWORKS : p < 3 ? 1 : NODE_MAPS;
    size[MACHINE] = MACHINES;
    size[COUNT] = data ? COUNTS : 1;
    size[SLICE] = data ? SLICES : 1;
    size[TYPE] = data ? TYPES : 1;
    size[PLACE] = tt_coll_has_place(coll) ? 2 : 1;
    size[ORDER] = tt_coll_has_op(coll) ? 2 : 1;
    size[ROOT] = (uint64_t)roots(coll, p);
    size[SKEW] = v || coll == TT_COLL_reduce_scatter ? TT_SKEWS : 1;
    size[GAPS] = v ? 2 : 1;
    size[RADIX] = RADICES;
    size[GRAPH] = coll == TT_COLL_alltoallv ? GRAPHS : 1;
    size[LANES] = coll == TT_COLL_reduce || coll == TT_COLL_allreduce ? LANE_COUNTS : 1;
}

static uint64_t product(const uint64_t size[DIGITS])
{
    uint64_t all = 1;
    for (int d = 0; d < DIGITS; d++) all *= size[d];
    return all;
}

uint64_t tt_check_cases(const struct tt_algorithm *algorithm, int p)
{
    uint64_t size[DIGITS];
    sizes_of(algorithm, p, size);
    return product(size);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* Returns the i-th number below `all` in an order that visits each number once, and in which
 * consecutive numbers are far apart: steps of about 0.618 `all` (the golden section), modulo
 * `all`. */
static uint64_t scattered(uint64_t i, uint64_t all)
{
    uint64_t step = (uint64_t)((double)all * 0.6180339887) | 1;
    while (gcd(step, all) != 1) step++;
    return i % all * step % all;
}

static void digits_of(uint64_t number, const uint64_t size[DIGITS], int digit[DIGITS])
{
    for (int d = 0; d < DIGITS; d++) {
        digit[d] = (int)(number % size[d]);
        number /= size[d];
    }
}

/* Returns the neighbours for digit `which`: none; those in a grid or torus that is as square as p
 * allows; or those in a random graph, in which a rank has a third of the ranks as neighbours on
 * average. */
static struct tt_problem_graph graph_of(int p, int which)
{
    struct tt_problem_graph graph = {.kind = (enum tt_graph_kind)which, .dims = 2, .dim = {p, 1}};
    for (int n = 2; n * n <= p; n++)
        if (p % n == 0) graph.dim[0] = p / n, graph.dim[1] = n;
    if (which == TT_GRAPH_none) return (struct tt_problem_graph){0};
    if (which != TT_GRAPH_random) return graph;
    return (struct tt_problem_graph){.kind = graph.kind, .dims = 1, .dim = {(p + 2) / 3}};
}

static struct tt_problem problem_of(enum tt_coll coll, int p, const int digit[DIGITS])
{
    struct tt_problem problem = {.p = p, .skew = (enum tt_skew)digit[SKEW], .seed = 1};
    struct tt_call *call = &problem.call;
    *call = (struct tt_call){.coll = coll,
                             .type = types[digit[TYPE]],
                             .op = TUTTI_SUM,
                             .commutes = digit[ORDER] == 0,
                             .in_place = digit[PLACE] == 1,
                             .root = root_at(p, digit[ROOT]),
                             .sz = (int64_t)tutti_type_size(types[digit[TYPE]]),
                             .radix = radices[digit[RADIX]],
                             .lanes = lanes[digit[LANES]]};
    problem.graph = graph_of(p, digit[GRAPH]);
    call->slice = digit[SLICE] * call->sz;
    if (coll == TT_COLL_barrier) return problem;
    problem.n = count_at(coll, p, digit[COUNT]);
    if (!tt_call_counts(call)) call->n = problem.n;
    return problem;
}

struct tt_check_case tt_check_case(const struct tt_algorithm *algorithm, int p, uint64_t i)
{
    uint64_t size[DIGITS];
    int digit[DIGITS];
    sizes_of(algorithm, p, size);
    digits_of(scattered(i, product(size)), size, digit);
    const struct machine *machine = &machines[digit[MACHINE]];
    struct tt_check_case c = {.algorithm = algorithm,
                              .problem = problem_of(algorithm->coll, p, digit),
                              .win_bytes = machine->win_bytes,
                              .direct = machine->direct,
                              .mapped = machine->mapped,
                              .gaps = digit[GAPS] == 1};
    if (needs_network(algorithm)) {
        print_members(c.problem.map, sizeof c.problem.map, p, digit[MAP]);
        return c;
    }
    c.scattered = digit[MAP] < WRITTEN ? 0 : digit[MAP] - WRITTEN + 2;
    print_map(c.problem.map, sizeof c.problem.map, algorithm, p, digit[MAP]);
    return c;
}

char *tt_check_case_text(const struct tt_check_case *c, char *buffer, size_t size)
{
    char problem[TT_PROBLEM_TEXT], scattered[32] = "";
    if (c->scattered) snprintf(scattered, sizeof scattered, " --scattered %d", c->scattered);
    snprintf(buffer, size, "%s --algorithm %s --window %ld%s%s%s%s",
             tt_problem_print(&c->problem, problem), c->algorithm->name, (long)c->win_bytes,
             c->direct ? "" : " --indirect", c->direct && !c->mapped ? " --unmapped" : "",
             c->gaps ? " --gaps" : "", scattered);
    return buffer;
}
