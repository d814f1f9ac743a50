/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes teams whose ranks are arranged in a grid or in a graph, and answers questions about the
 * neighbours of a rank in them.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/team-make.h"

_Static_assert(TUTTI_CART_DIMS == TT_CART_DIMS, "the public limit is that of topo/cart.h");

/* ---- Grids ---- */

static tutti_status check_dims_n(int n)
{
    if (n >= 1 && n <= TUTTI_CART_DIMS) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "n is %d (allowed: 1 to %d dimensions)", n, TUTTI_CART_DIMS);
}

tutti_status tutti_cart_dims(int p, int n, int *dims)
{
    if (p < 1) return tt_fail(TUTTI_ERR_ARG, "p is %d (allowed: 1 or more)", p);
    TT_TRY(check_dims_n(n));
    if (!dims) return tt_fail(TUTTI_ERR_ARG, "dims is NULL");
    for (int i = 0; i < n; i++)
        if (dims[i] < 0)
            return tt_fail(TUTTI_ERR_ARG, "dims[%d] is %d (allowed: 0 or more)", i, dims[i]);
    if (tt_cart_balance(p, n, dims)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG,
                   "no grid with the dimensions that are not 0 has exactly %d places", p);
}

/* Checks the arguments of a grid, and stores them in *cart. */
static tutti_status read_grid(const tutti_team *team, struct tt_cart *cart, int n, const int *dims,
                              const int *periodic, tutti_cart_order order)
{
    TT_TRY(check_dims_n(n));
    if (!dims) return tt_fail(TUTTI_ERR_ARG, "dims is NULL");
    if ((unsigned)order > TUTTI_CART_NODES)
        return tt_fail(TUTTI_ERR_ARG,
                       "order is %d (known: TUTTI_CART_LAST_FASTEST, _FIRST_FASTEST, _NODES)",
                       (int)order);
    *cart = (struct tt_cart){.n = n, .first_fastest = order == TUTTI_CART_FIRST_FASTEST};
    for (int i = 0; i < n; i++) {
        int wraps = periodic ? periodic[i] : 0;
        if (dims[i] < 1)
            return tt_fail(TUTTI_ERR_ARG, "dims[%d] is %d (allowed: 1 or more)", i, dims[i]);
        if (wraps != 0 && wraps != 1)
            return tt_fail(TUTTI_ERR_ARG, "periodic[%d] is %d (allowed: 0 and 1)", i, wraps);
        cart->dims[i] = dims[i];
        cart->periodic[i] = wraps;
    }
    int places = tt_cart_places(cart), p = team->run.map.p;
    if (places >= 1 && places <= p) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "the grid has more places than the team has ranks (allowed: %d)",
                   p);
}

static uint64_t hash(uint64_t h, int value)
{
    return (h ^ (uint32_t)value) * 0x100000001b3u;
}

/* Describes the grid in the wish, so that the ranks can compare their grids, which have to be
 * equal. A grid that fits into a team has fewer than 32 dimensions larger than 1, so its
 * description fits into wish->text. */
static void describe_grid(struct tt_wish *wish, const struct tt_cart *cart, tutti_cart_order order)
{
    size_t room = sizeof wish->text, at = 0;
    wish->terms = hash(hash(0xcbf29ce484222325u, cart->n), (int)order);
    at += (size_t)snprintf(wish->text, room, "dims ");
    for (int i = 0; i < cart->n; i++) {
        wish->terms = hash(hash(wish->terms, cart->dims[i]), cart->periodic[i]);
        at += (size_t)snprintf(wish->text + at, room - at, "%s%d", i ? "x" : "", cart->dims[i]);
    }
    at += (size_t)snprintf(wish->text + at, room - at, ", periodic ");
    for (int i = 0; i < cart->n; i++)
        at += (size_t)snprintf(wish->text + at, room - at, "%d", cart->periodic[i]);
    snprintf(wish->text + at, room - at, ", order %d", (int)order);
}

/* Records in the wish that this rank wants its place in the grid. A rank outside of the grid wants
 * no team. */
static tutti_status wish_place(const tutti_team *team, const struct tt_cart *cart,
                               tutti_cart_order order, struct tt_wish *wish)
{
    int block = -1, me = team->run.me;
    if (order == TUTTI_CART_NODES && !tt_cart_block_rank(cart, &team->run.map, me, &block))
        return tt_fail(TUTTI_ERR_MEMORY, "no memory to arrange nodes in a grid");
    wish->color = me < tt_cart_places(cart) ? 0 : -1;
    wish->key = block >= 0 ? block : me;
    return TUTTI_OK;
}

tutti_status tutti_team_cart(tutti_team *team, int n, const int *dims, const int *periodic,
                             tutti_cart_order order, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock, tutti_team_cart(team, n, dims, periodic, order, part));
    struct tt_wish wish = {.color = -1};
    struct tt_cart *cart = tt_alloc(sizeof *cart);
    tutti_status status = cart ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for a grid");
    if (!part) tt_wish_refuse(&wish, "part is NULL");
    if (status == TUTTI_OK) status = read_grid(team, cart, n, dims, periodic, order);
    if (status == TUTTI_OK) status = wish_place(team, cart, order, &wish);
    tt_wish_wrong(&wish, status);
    if (wish.status == TUTTI_OK) describe_grid(&wish, cart, order);
    status = tt_team_make(team, TT_SIGNATURE_CART, &wish, part);
    if (status == TUTTI_OK && *part)
        (*part)->cart = cart;
    else
        tt_free(cart);
    return status;
}

/* ---- Questions about a grid ---- */

static tutti_status check_grid(const tutti_team *team)
{
    TT_TRY_HANDLE(team);
    return team->cart ? TUTTI_OK
                      : tt_fail(TUTTI_ERR_ARG, "the team has no grid: tutti_team_cart makes one");
}

tutti_status tutti_cart_grid(const tutti_team *team, int *n, int *dims, int *periodic)
{
    TT_TRY(check_grid(team));
    const struct tt_cart *cart = team->cart;
    if (n) *n = cart->n;
    for (int i = 0; i < cart->n; i++) {
        if (dims) dims[i] = cart->dims[i];
        if (periodic) periodic[i] = cart->periodic[i];
    }
    return TUTTI_OK;
}

tutti_status tutti_cart_coords(const tutti_team *team, int rank, int *coords)
{
    TT_TRY(check_grid(team));
    int p = team->run.map.p;
    if (rank < 0 || rank >= p)
        return tt_fail(TUTTI_ERR_ARG, "rank is %d (allowed: 0 to %d)", rank, p - 1);
    if (!coords) return tt_fail(TUTTI_ERR_ARG, "coords is NULL");
    tt_cart_coords(team->cart, rank, coords);
    return TUTTI_OK;
}

tutti_status tutti_cart_rank(const tutti_team *team, const int *coords, int *rank)
{
    TT_TRY(check_grid(team));
    if (!coords || !rank) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", coords ? "rank" : "coords");
    *rank = tt_cart_rank(team->cart, coords);
    return TUTTI_OK;
}

tutti_status tutti_cart_shift(const tutti_team *team, int dim, int distance, int *source,
                              int *destination)
{
    TT_TRY(check_grid(team));
    const struct tt_cart *cart = team->cart;
    if (dim < 0 || dim >= cart->n)
        return tt_fail(TUTTI_ERR_ARG, "dim is %d (allowed: 0 to %d)", dim, cart->n - 1);
    if (distance == INT_MIN)
        return tt_fail(TUTTI_ERR_ARG, "distance is %d (allowed: %d or more)", distance,
                       INT_MIN + 1);
    if (!source || !destination)
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", source ? "destination" : "source");
    *source = tt_cart_shift(cart, team->run.me, dim, -distance);
    *destination = tt_cart_shift(cart, team->run.me, dim, distance);
    return TUTTI_OK;
}

/* ---- Graphs ---- */

static tutti_status check_list(const tutti_team *team, const char *name, const int *ranks, int n)
{
    int p = team->run.map.p;
    if (n < 0) return tt_fail(TUTTI_ERR_ARG, "%s_n is %d (allowed: 0 or more)", name, n);
    if (n > 0 && !ranks) return tt_fail(TUTTI_ERR_ARG, "%s is NULL, %s_n is %d", name, name, n);
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= p)
            return tt_fail(TUTTI_ERR_ARG, "%s[%d] is %d (allowed: 0 to %d)", name, i, ranks[i],
                           p - 1);
    return TUTTI_OK;
}

static struct tt_graph *copy_graph(int sources_n, const int *sources, int destinations_n,
                                   const int *destinations)
{
    size_t n = (size_t)sources_n, m = (size_t)destinations_n;
    struct tt_graph *graph = tt_alloc(sizeof *graph + (n + m) * sizeof *graph->rank);
    if (!graph) return NULL;
    graph->sources = sources_n;
    graph->destinations = destinations_n;
    if (n > 0) memcpy(graph->rank, sources, n * sizeof *sources);
    if (m > 0) memcpy(graph->rank + n, destinations, m * sizeof *destinations);
    return graph;
}

/* Compares how often each member names this rank as a destination with how often this rank names
 * the member as a source. Refuses the wish if the two numbers differ. A member whose arguments are
 * wrong sends -1, and its numbers are not compared. `sent` and `named` are scratch of p zeros
 * each. */
static tutti_status compare_lists(tutti_team *team, const struct tt_graph *graph,
                                  struct tt_wish *wish, int64_t *sent, int64_t *named)
{
    int p = team->run.map.p;
    for (int r = 0; r < p && wish->status != TUTTI_OK; r++) sent[r] = -1;
    for (int i = 0; wish->status == TUTTI_OK && i < graph->destinations; i++)
        sent[graph->rank[graph->sources + i]]++;
    TT_TRY(tt_team_step(team, TT_SIGNATURE_GRAPH, TT_COLL_alltoall, sent, named, 1));
    if (wish->status != TUTTI_OK) return TUTTI_OK;
    memset(sent, 0, (size_t)p * sizeof *sent);
    for (int i = 0; i < graph->sources; i++) sent[graph->rank[i]]++;
    for (int r = 0; r < p; r++)
        if (named[r] >= 0 && named[r] != sent[r])
            tt_wish_refuse(wish,
                           "sources names rank %d of the team %lld times, but that rank names this "
                           "one %lld times in destinations (allowed: equally often)",
                           r, (long long)sent[r], (long long)named[r]);
    return TUTTI_OK;
}

static tutti_status compare(tutti_team *team, const struct tt_graph *graph, struct tt_wish *wish)
{
    size_t p = (size_t)team->run.map.p;
    int64_t *counts = tt_calloc(2 * p, sizeof *counts);
    if (!counts) {
        tutti_status status = tt_fail(TUTTI_ERR_MEMORY, "no memory to make a team");
        tt_team_break(&team->run, status);
        return status;
    }
    tutti_status status = compare_lists(team, graph, wish, counts, counts + p);
    tt_free(counts);
    return status;
}

tutti_status tutti_team_graph(tutti_team *team, int sources_n, const int *sources,
                              int destinations_n, const int *destinations, tutti_team **part)
{
    TT_TRY_HANDLE(team);
    TT_LOCKED(team->client->lock,
              tutti_team_graph(team, sources_n, sources, destinations_n, destinations, part));
    struct tt_wish wish = {.color = 0};
    struct tt_graph *graph = NULL;
    if (!part) tt_wish_refuse(&wish, "part is NULL");
    tt_wish_wrong(&wish, check_list(team, "sources", sources, sources_n));
    tt_wish_wrong(&wish, check_list(team, "destinations", destinations, destinations_n));
    if (wish.status == TUTTI_OK) {
        graph = copy_graph(sources_n, sources, destinations_n, destinations);
        if (!graph) tt_wish_wrong(&wish, tt_fail(TUTTI_ERR_MEMORY, "no memory for neighbours"));
    }
    tt_trace_call_begin(&team->run, TT_SIGNATURE_GRAPH, team->run.next);
    tutti_status status = compare(team, graph, &wish);
    if (status == TUTTI_OK) status = tt_team_make(team, TT_SIGNATURE_GRAPH, &wish, part);
    tt_trace_call_end(&team->run, status);
    if (status == TUTTI_OK)
        (*part)->graph = graph;
    else
        tt_free(graph);
    return status;
}

/* ---- Neighbours in grids and graphs ---- */

static tutti_status list(const tutti_team *team, bool sources, int *ranks, int n, int *count)
{
    TT_TRY_HANDLE(team);
    const struct tt_graph *g = team->graph;
    const struct tt_cart *cart = team->cart;
    if (!g && !cart)
        return tt_fail(TUTTI_ERR_ARG, "the team has no neighbours: tutti_team_cart and "
                                      "tutti_team_graph make teams that have");
    if (n < 0 || (n > 0 && !ranks))
        return tt_fail(TUTTI_ERR_ARG,
                       n < 0 ? "n is %d (allowed: 0 or more)" : "ranks is NULL, n is %d", n);
    int all = cart ? 2 * cart->n : sources ? g->sources : g->destinations;
    for (int i = 0; i < n && i < all; i++)
        ranks[i] = cart ? tt_cart_shift(cart, team->run.me, i / 2, i % 2 ? 1 : -1)
                        : g->rank[sources ? i : g->sources + i];
    if (count) *count = all;
    return TUTTI_OK;
}

tutti_status tutti_team_sources(const tutti_team *team, int *ranks, int n, int *count)
{
    return list(team, true, ranks, n, count);
}

tutti_status tutti_team_destinations(const tutti_team *team, int *ranks, int n, int *count)
{
    return list(team, false, ranks, n, count);
}
