/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams made from a team: duplicates, grids, graphs, memory domains. Every rank checks its own
 * result, and in the cases with wrong arguments every rank expects the same error.
 *
 *     arranged threads P      P threads
 *     arranged processes      a rank of a job
 *     arranged domains        a rank of a job; HWLOC_SYNTHETIC describes one processor for each
 *                             NUMA domain and L3 cache, and processors 0 and 1 may be used
 *     arranged lacking        as `domains`, but rank 1 sees a machine without caches
 */
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <tutti/tutti.h>

enum { RANKS_MOST = 64 };

static void check(int good, tutti_team *team, const char *what)
{
    if (good) return;
    fprintf(stderr, "rank %d: %s (%s)\n", tutti_rank(team), what, tutti_error());
    abort();
}

static void must(tutti_status status, tutti_team *team, const char *what)
{
    check(status == TUTTI_OK, team, what);
}

/* ---- Duplicates ---- */

static void try_dup(tutti_team *world)
{
    tutti_team *copy = NULL, *reverse, *again;
    int me = tutti_rank(world), p = tutti_size(world);
    int64_t mine = me, sum = 0;
    must(tutti_team_dup(world, &copy), world, "dup");
    check(tutti_rank(copy) == me && tutti_size(copy) == p, world, "a copy has the same ranks");
    /* A call on the copy is in flight during a call on the world. The two calls must not disturb
     * each other. */
    tutti_request *request;
    must(tutti_iallreduce(copy, &mine, &sum, 1, TUTTI_I64, TUTTI_SUM, &request), world, "start");
    must(tutti_barrier(world), world, "barrier");
    must(tutti_wait(request), world, "wait");
    must(tutti_request_free(request), world, "request_free");
    check(sum == (int64_t)p * (p - 1) / 2, world, "the sum on a copy");
    must(tutti_team_split(world, 0, -me, &reverse), world, "split");
    must(tutti_team_dup(reverse, &again), world, "dup of a team in another order");
    check(tutti_rank(again) == p - 1 - me, world, "the order of a copy");
    must(tutti_team_free(again), world, "free");
    must(tutti_team_free(reverse), world, "free");
    must(tutti_team_free(copy), world, "free");
}

/* ---- Grids ---- */

/* Checks that each rank has the neighbours that tutti_cart_shift returns, and, by an alltoall, that
 * any two ranks are each other's neighbours equally often. */
static void check_neighbours(tutti_team *grid, int dims_n)
{
    int64_t out[RANKS_MOST] = {0}, in[RANKS_MOST], expected[RANKS_MOST] = {0};
    int to[2 * TUTTI_CART_DIMS], from[2 * TUTTI_CART_DIMS], n, m;
    must(tutti_team_destinations(grid, to, 2 * TUTTI_CART_DIMS, &n), grid, "destinations");
    must(tutti_team_sources(grid, from, 2 * TUTTI_CART_DIMS, &m), grid, "sources");
    check(n == m && n == 2 * dims_n, grid, "how many neighbours a rank has");
    for (int i = 0; i < n; i++) {
        int lower, higher;
        must(tutti_cart_shift(grid, i / 2, 1, &lower, &higher), grid, "shift");
        check(to[i] == (i % 2 ? higher : lower) && from[i] == to[i], grid, "neighbours and shift");
        if (to[i] >= 0) out[to[i]]++;
        if (from[i] >= 0) expected[from[i]]++;
    }
    must(tutti_alltoall(grid, out, in, 1, TUTTI_I64), grid, "alltoall");
    int p = tutti_size(grid);
    check(memcmp(in, expected, (size_t)p * sizeof *in) == 0, grid, "neighbours are mutual");
}

static void check_places(tutti_team *grid, const int *dims, tutti_cart_order order)
{
    for (int r = 0; r < tutti_size(grid); r++) {
        int c[2], back;
        must(tutti_cart_coords(grid, r, c), grid, "coords");
        must(tutti_cart_rank(grid, c, &back), grid, "rank");
        check(back == r, grid, "the rank at the coordinates of a rank");
        bool first = order == TUTTI_CART_FIRST_FASTEST;
        check(r == (first ? c[0] + c[1] * dims[0] : c[0] * dims[1] + c[1]), grid, "the order");
        c[0] = dims[0];
        must(tutti_cart_rank(grid, c, &back), grid, "rank");
        check(back == TUTTI_NO_RANK, grid, "a place outside of the grid");
    }
}

/* Tries a grid with as many places as the world has ranks, and a grid that is shorter by one in the
 * first dimension, from which some ranks are left out. */
static void try_grid(tutti_team *world, tutti_cart_order order)
{
    int p = tutti_size(world), me = tutti_rank(world), dims[2] = {0, 0}, periodic[2] = {0, 1};
    must(tutti_cart_dims(p, 2, dims), world, "dims");
    check(dims[0] * dims[1] == p && dims[0] >= dims[1], world, "the product of dims");
    for (int lines = dims[0]; lines >= 1 && lines >= dims[0] - 1; lines--) {
        tutti_team *grid = world, *copy;
        int d[2] = {lines, dims[1]}, n = 0, got[2], wraps[2];
        must(tutti_team_cart(world, 2, d, periodic, order, &grid), world, "cart");
        check((grid != NULL) == (me < d[0] * d[1]), world, "who is in the grid");
        if (!grid) continue;
        check(order == TUTTI_CART_NODES || tutti_rank(grid) == me, world, "ranks keep their order");
        must(tutti_cart_grid(grid, &n, got, wraps), world, "grid");
        check(n == 2 && memcmp(got, d, sizeof d) == 0 && wraps[0] == 0 && wraps[1] == 1, world,
              "the grid of a team");
        check_places(grid, d, order);
        check_neighbours(grid, 2);
        must(tutti_team_dup(grid, &copy), world, "dup of a grid");
        must(tutti_team_free(grid), world, "free");
        check_neighbours(copy, 2);
        must(tutti_team_free(copy), world, "free");
    }
}

/* Checks TUTTI_CART_NODES on a line of all ranks. If all nodes have equally many ranks, the ranks
 * of each node must be adjacent on the line, so that only one pair of neighbours is split between
 * each node and the next. *cases counts the calls in which this was checked. */
static void try_nodes(tutti_team *world, int *cases)
{
    tutti_team *node, *line;
    int p = tutti_size(world), from, to;
    must(tutti_team_split_domain(world, TUTTI_DOMAIN_NODE, 0, &node), world, "split by node");
    int64_t mine = tutti_size(node), range[2] = {mine, -mine}, most[2];
    must(tutti_allreduce(world, range, most, 2, TUTTI_I64, TUTTI_MAX), world, "allreduce");
    must(tutti_team_cart(world, 1, &p, NULL, TUTTI_CART_NODES, &line), world, "a line");
    if (most[0] == -most[1]) {
        int64_t name = tutti_rank(world), of[RANKS_MOST], at[RANKS_MOST], cut = 0, all;
        must(tutti_bcast(node, &name, 1, TUTTI_I64, 0), world, "bcast");
        must(tutti_allgather(line, &name, at, 1, TUTTI_I64), world, "allgather");
        must(tutti_allgather(world, &name, of, 1, TUTTI_I64), world, "allgather");
        must(tutti_cart_shift(line, 0, 1, &from, &to), world, "shift");
        cut = to != TUTTI_NO_RANK && at[to] != name;
        must(tutti_allreduce(world, &cut, &all, 1, TUTTI_I64, TUTTI_SUM), world, "allreduce");
        check(all == p / tutti_size(node) - 1, world, "neighbours on other nodes");
        ++*cases;
    }
    must(tutti_team_free(line), world, "free");
    must(tutti_team_free(node), world, "free");
}

/* ---- Graphs ---- */

/* Tries a graph in which rank r sends to ranks 2r and 2r + 1, modulo p, and twice to itself. */
static void try_graph(tutti_team *world)
{
    int p = tutti_size(world), me = tutti_rank(world), n = 0, count;
    int to[4] = {2 * me % p, (2 * me + 1) % p, me, me}, from[2 * RANKS_MOST], got[2 * RANKS_MOST];
    tutti_team *graph, *copy, *empty;
    for (int r = 0; r < p; r++)
        for (int k = 0; k < 2; k++)
            if ((2 * r + k) % p == me) from[n++] = r;
    from[n++] = me;
    from[n++] = me;
    must(tutti_team_graph(world, n, from, 4, to, &graph), world, "graph");
    check(tutti_rank(graph) == me && tutti_size(graph) == p, world, "the ranks of a graph");
    must(tutti_team_dup(graph, &copy), world, "dup of a graph");
    must(tutti_team_free(graph), world, "free");
    must(tutti_team_sources(copy, got, 2 * RANKS_MOST, &count), world, "sources");
    check(count == n && memcmp(got, from, (size_t)n * sizeof *got) == 0, world, "the sources");
    got[2] = -7;
    must(tutti_team_destinations(copy, got, 2, &count), world, "two destinations");
    check(count == 4 && memcmp(got, to, 2 * sizeof *got) == 0 && got[2] == -7, world,
          "the first destinations");
    must(tutti_team_graph(world, 0, NULL, 0, NULL, &empty), world, "a graph without edges");
    must(tutti_team_sources(empty, NULL, 0, &count), world, "no sources");
    check(count == 0, world, "how many sources");
    must(tutti_team_free(empty), world, "free");
    must(tutti_team_free(copy), world, "free");
}

/* ---- Wrong arguments at one rank ---- */

enum wrong {
    SPLIT_PART,
    DUP_PART,
    DOMAIN_PART,
    DOMAIN_UNKNOWN,
    DOMAIN_OTHER,
    CART_PART,
    CART_DIMS,
    CART_NO_DIMS,
    CART_TOO_LARGE,
    CART_OVERFLOW,
    CART_ZERO,
    CART_PERIODIC,
    CART_ORDER,
    CART_OTHER_DIMS,
    CART_OTHER_ORDER,
    CART_OTHER_PERIODIC,
    GRAPH_PART,
    GRAPH_SOURCE,
    GRAPH_DESTINATION,
    GRAPH_NEGATIVE,
    GRAPH_NULL,
    GRAPH_ONE_SIDED,
    WRONGS
};

/* The end of the error text; %d stands for the rank that passes the wrong argument. */
static const char *const wrong_texts[WRONGS] = {
    [SPLIT_PART] = "rank %d: part is NULL",
    [DUP_PART] = "rank %d: part is NULL",
    [DOMAIN_PART] = "rank %d: part is NULL",
    [DOMAIN_UNKNOWN] = "rank %d: domain is 9 (known: TUTTI_DOMAIN_NODE, _NUMA, _L3)",
    [DOMAIN_OTHER] = "called team_split_domain(TUTTI_DOMAIN_NODE)",
    [CART_PART] = "rank %d: part is NULL",
    [CART_DIMS] = "rank %d: n is 33 (allowed: 1 to 32 dimensions)",
    [CART_NO_DIMS] = "rank %d: dims is NULL",
    [CART_TOO_LARGE] = "rank %d: the grid has more places than the team has ranks (allowed: ",
    [CART_OVERFLOW] = "rank %d: the grid has more places than the team has ranks (allowed: ",
    [CART_ZERO] = "rank %d: dims[1] is 0 (allowed: 1 or more)",
    [CART_PERIODIC] = "rank %d: periodic[1] is 2 (allowed: 0 and 1)",
    [CART_ORDER] = "rank %d: order is -1 (known: TUTTI_CART_LAST_FASTEST, ",
    [CART_OTHER_DIMS] = "called team_cart(dims 1x1, periodic 00, order 0)",
    [CART_OTHER_ORDER] = ", periodic 00, order 1)",
    [CART_OTHER_PERIODIC] = ", periodic 01, order 0)",
    [GRAPH_PART] = "rank %d: part is NULL",
    [GRAPH_SOURCE] = "rank %d: sources[0] is -1 (allowed: 0 to ",
    [GRAPH_DESTINATION] = "rank %d: destinations[0] is 1000 (allowed: 0 to ",
    [GRAPH_NEGATIVE] = "rank %d: sources_n is -1 (allowed: 0 or more)",
    [GRAPH_NULL] = "rank %d: destinations is NULL, destinations_n is 1",
    [GRAPH_ONE_SIDED] = "times in destinations (allowed: equally often)",
};

static tutti_status wrong_grid(tutti_team *world, enum wrong wrong, bool odd, tutti_team **part)
{
    int p = tutti_size(world), dims[TUTTI_CART_DIMS + 1] = {p, 1}, periodic[2] = {0, 0}, n = 2;
    tutti_cart_order order = TUTTI_CART_LAST_FASTEST;
    if (odd && wrong == CART_DIMS) n = TUTTI_CART_DIMS + 1;
    if (odd && wrong == CART_TOO_LARGE) dims[1] = 2;
    if (odd && wrong == CART_OVERFLOW) dims[0] = dims[1] = INT_MAX;
    if (odd && wrong == CART_ZERO) dims[1] = 0;
    if (odd && wrong == CART_OTHER_DIMS) dims[0] = 1;
    if (odd && (wrong == CART_PERIODIC || wrong == CART_OTHER_PERIODIC))
        periodic[1] = wrong == CART_PERIODIC ? 2 : 1;
    if (odd && wrong == CART_ORDER) order = (tutti_cart_order)-1;
    if (odd && wrong == CART_OTHER_ORDER) order = TUTTI_CART_FIRST_FASTEST;
    return tutti_team_cart(world, n, odd && wrong == CART_NO_DIMS ? NULL : dims, periodic, order,
                           odd && wrong == CART_PART ? NULL : part);
}

static tutti_status wrong_graph(tutti_team *world, enum wrong wrong, bool odd, tutti_team **part)
{
    int me = tutti_rank(world), from = me, to = me;
    if (odd && wrong == GRAPH_SOURCE) from = -1;
    if (odd && wrong == GRAPH_DESTINATION) to = 1000;
    if (odd && wrong == GRAPH_ONE_SIDED) to = (me + 1) % tutti_size(world);
    return tutti_team_graph(world, odd && wrong == GRAPH_NEGATIVE ? -1 : 1, &from, 1,
                            odd && wrong == GRAPH_NULL ? NULL : &to,
                            odd && wrong == GRAPH_PART ? NULL : part);
}

static tutti_status wrong_domain(tutti_team *world, enum wrong wrong, bool odd, tutti_team **part)
{
    tutti_domain domain = wrong == DOMAIN_OTHER ? TUTTI_DOMAIN_NUMA : TUTTI_DOMAIN_NODE;
    if (odd) domain = wrong == DOMAIN_UNKNOWN ? (tutti_domain)9 : TUTTI_DOMAIN_NODE;
    return tutti_team_split_domain(world, domain, 0, odd && wrong == DOMAIN_PART ? NULL : part);
}

static tutti_status call_wrong(tutti_team *world, enum wrong wrong, bool odd, tutti_team **part)
{
    if (wrong == SPLIT_PART) return tutti_team_split(world, 0, 0, odd ? NULL : part);
    if (wrong == DUP_PART) return tutti_team_dup(world, odd ? NULL : part);
    if (wrong <= DOMAIN_OTHER) return wrong_domain(world, wrong, odd, part);
    if (wrong <= CART_OTHER_PERIODIC) return wrong_grid(world, wrong, odd, part);
    return wrong_graph(world, wrong, odd, part);
}

/* Makes each kind of error at rank `odd`: all ranks get the error, and the team still works. */
static void try_wrong(tutti_team *world, int odd)
{
    for (enum wrong wrong = 0; wrong < WRONGS; wrong++) {
        char text[160];
        tutti_team *part = world;
        /* An error whose text names no rank needs two ranks that differ, so a single rank cannot
         * make it. */
        if (tutti_size(world) == 1 && strchr(wrong_texts[wrong], '%') == NULL) continue;
        tutti_status status = call_wrong(world, wrong, tutti_rank(world) == odd, &part);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, wrong_texts[wrong], odd);
#pragma GCC diagnostic pop
        check(status == TUTTI_ERR_ARG, world, text);
        check(strstr(tutti_error(), text) != NULL, world, text);
        check(part == world, world, "an error sets no part");
        must(tutti_barrier(world), world, "a barrier after the error");
    }
}

/* ---- Wrong questions ---- */

#define REFUSED(call, why)                                                                         \
    check((call) == TUTTI_ERR_ARG && strstr(tutti_error(), why), world, #call)

static void try_questions(tutti_team *world)
{
    int n = 0, p = tutti_size(world), c[1], lower, higher;
    tutti_team *line;
    REFUSED(tutti_cart_grid(world, &n, NULL, NULL), "tutti_team_cart");
    REFUSED(tutti_cart_coords(world, 0, c), "no grid");
    REFUSED(tutti_cart_rank(world, c, &n), "no grid");
    REFUSED(tutti_cart_shift(world, 0, 1, &lower, &higher), "no grid");
    REFUSED(tutti_team_sources(world, &n, 1, NULL), "tutti_team_graph");
    REFUSED(tutti_team_destinations(world, &n, 1, NULL), "no neighbours");
    must(tutti_team_cart(world, 1, &p, NULL, TUTTI_CART_LAST_FASTEST, &line), world, "line");
    must(tutti_cart_grid(line, NULL, NULL, NULL), world, "no answer is wanted");
    REFUSED(tutti_cart_coords(line, p, c), "rank is");
    REFUSED(tutti_cart_coords(line, -1, c), "rank is -1");
    REFUSED(tutti_cart_coords(line, 0, NULL), "coords");
    REFUSED(tutti_cart_rank(line, NULL, &n), "coords");
    REFUSED(tutti_cart_rank(line, c, NULL), "rank");
    REFUSED(tutti_cart_shift(line, 1, 1, &lower, &higher), "dim is 1 (allowed: 0 to 0)");
    REFUSED(tutti_cart_shift(line, -1, 1, &lower, &higher), "dim is -1");
    REFUSED(tutti_cart_shift(line, 0, INT_MIN, &lower, &higher), "distance");
    REFUSED(tutti_cart_shift(line, 0, 1, NULL, &higher), "source");
    REFUSED(tutti_cart_shift(line, 0, 1, &lower, NULL), "destination");
    REFUSED(tutti_team_sources(line, NULL, 2, NULL), "ranks is NULL");
    REFUSED(tutti_team_sources(line, c, -1, NULL), "n is -1");
    must(tutti_team_free(line), world, "free");
    int dims[2] = {0, 4};
    REFUSED(tutti_cart_dims(0, 2, dims), "p is 0");
    REFUSED(tutti_cart_dims(6, 0, dims), "n is 0");
    REFUSED(tutti_cart_dims(6, 2, NULL), "dims is NULL");
    REFUSED(tutti_cart_dims(6, 2, dims), "exactly 6 places");
    check(dims[0] == 0, world, "an error changes no dims");
    dims[0] = 2, dims[1] = 1;
    REFUSED(tutti_cart_dims(6, 2, dims), "exactly 6 places");
    dims[1] = -1;
    REFUSED(tutti_cart_dims(6, 2, dims), "dims[1] is -1");
}

/* ---- Memory domains ---- */

/* Checks teams of the ranks of a node: they are on one host, and without TUTTI_NODES all ranks of a
 * host are on one node. */
static void try_node(tutti_team *world)
{
    tutti_team *node;
    struct utsname host, first;
    must(tutti_team_split_domain(world, TUTTI_DOMAIN_NODE, -tutti_rank(world), &node), world,
         "split by node");
    check(uname(&host) == 0, world, "uname");
    first = host;
    int64_t lowest = tutti_rank(world), ends[2];
    must(tutti_bcast(node, &first.nodename, sizeof first.nodename, TUTTI_U8, 0), world, "bcast");
    check(strcmp(first.nodename, host.nodename) == 0, world, "the ranks of a node");
    must(tutti_allreduce(node, &lowest, &ends[0], 1, TUTTI_I64, TUTTI_MAX), world, "max");
    if (tutti_rank(node) == 0) check(ends[0] == tutti_rank(world), world, "the order by key");
    must(tutti_team_free(node), world, "free");
}

static void run_on(int processor, tutti_team *world)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < 2; i++)
        if (processor < 0 || processor == i) CPU_SET(i, &set);
    check(sched_setaffinity(0, sizeof set, &set) == 0, world, "bind");
}

/* Binds rank r to processor 0 or 1, or to both, and checks the teams of memory domains. */
static void try_domains(tutti_team *world)
{
    int me = tutti_rank(world), p = tutti_size(world);
    run_on(me % 3 == 2 ? -1 : me % 3, world);
    for (tutti_domain domain = TUTTI_DOMAIN_NUMA; domain <= TUTTI_DOMAIN_L3; domain++) {
        tutti_team *part;
        must(tutti_team_split_domain(world, domain, 0, &part), world, "split by domain");
        check(tutti_size(part) == (p - me % 3 + 2) / 3, world, "how many ranks a domain has");
        check(tutti_rank(part) == me / 3, world, "the order of ranks in a domain");
        must(tutti_team_free(part), world, "free");
    }
}

static void try_lacking(tutti_team *world)
{
    tutti_team *part = NULL;
    if (tutti_rank(world) == 1) setenv("HWLOC_SYNTHETIC", "core:2 pu:1", 1);
    check(tutti_team_split_domain(world, TUTTI_DOMAIN_L3, 0, &part) == TUTTI_ERR_UNSUPPORTED, world,
          "a host without caches");
    check(strstr(tutti_error(), "rank 1: hwloc knows no L3 cache on this host") != NULL, world,
          "its text");
    must(tutti_team_split_domain(world, TUTTI_DOMAIN_NUMA, 0, &part), world, "split by domain");
    must(tutti_team_free(part), world, "free");
}

/* ---- Jobs ---- */

static void try_all(tutti_client *client, void *arg)
{
    tutti_team *world = tutti_world(client);
    int cases = 0, p = tutti_size(world);
    (void)arg;
    try_dup(world);
    for (tutti_cart_order order = 0; order <= TUTTI_CART_NODES; order++) try_grid(world, order);
    try_nodes(world, &cases);
    try_graph(world);
    for (int odd = 0; odd < p; odd++) try_wrong(world, odd);
    try_questions(world);
    try_node(world);
    must(tutti_barrier(world), world, "barrier");
    if (tutti_rank(world) == 0) printf("%d ranks: grid of nodes compared %d times\n", p, cases);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc == 3 && strcmp(argv[1], "threads") == 0)
        return tutti_threads(atoi(argv[2]), try_all, NULL) != TUTTI_OK;
    if (argc != 2) return 7;
    if (tutti_init(&client) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error()), 1;
    if (strcmp(argv[1], "domains") == 0)
        try_domains(tutti_world(client));
    else if (strcmp(argv[1], "lacking") == 0)
        try_lacking(tutti_world(client));
    else
        try_all(client, NULL);
    return tutti_finalize(client) != TUTTI_OK;
}
