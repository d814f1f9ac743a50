/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cartesian grids of ranks.
 *
 * The dimensions with the least sum are found by trying divisors. The arithmetic mean of k numbers
 * is at least their geometric mean, so k numbers with product q have at least the sum k * q^(1/k).
 * The search skips every choice that by this bound cannot become better than the best result so
 * far. It begins with the divisors just above q^(1/k), and its first results are therefore nearly
 * the best.
 */
#include "topo/cart.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "topo/nodes.h"

bool tt_cart_valid(const struct tt_cart *cart)
{
    bool valid = cart->n >= 1 && cart->n <= TT_CART_DIMS;
    for (int i = 0; valid && i < cart->n; i++) valid = cart->dims[i] >= 1;
    return valid && tt_cart_places(cart) >= 1;
}

int tt_cart_places(const struct tt_cart *cart)
{
    int places = 1;
    for (int i = 0; i < cart->n; i++)
        if (__builtin_mul_overflow(places, cart->dims[i], &places)) return -1;
    return places;
}

/* ---- Balanced dimensions ---- */

/* The most divisors that a number of 31 bits has. */
enum { DIVISORS_MOST = 1600 };

struct cart_search {
    int divisor[DIVISORS_MOST]; /* the divisors of the product of dims, in ascending order */
    int divisors;
    int now[TT_CART_DIMS], best[TT_CART_DIMS];
    int64_t least; /* the sum of best */
};

static void find_divisors(struct cart_search *s, int q)
{
    int large[DIVISORS_MOST / 2 + 1], n = 0;
    s->divisors = 0;
    for (int d = 1; d <= q / d; d++) {
        if (q % d != 0) continue;
        s->divisor[s->divisors++] = d;
        if (d != q / d) large[n++] = q / d;
    }
    while (n > 0) s->divisor[s->divisors++] = large[--n];
}

/* Chooses dimensions now[i .. n-1] whose product is q, none of them larger than `most`. If the sum
 * of all n dimensions is less than that of the best choice so far, keeps the choice in `best`.
 * `sum` is the sum of now[0 .. i-1]. */
static void search_dims(struct cart_search *s, int i, int n, int q, int most, int64_t sum)
{
    double root = pow(q, 1.0 / (n - i));
    if ((double)sum + (n - i) * root > (double)s->least - 0.5) return;
    if (i == n - 1) {
        if (q > most) return;
        s->now[i] = q;
        s->least = sum + q;
        memcpy(s->best, s->now, sizeof s->best);
        return;
    }
    for (int k = 0; k < s->divisors && s->divisor[k] <= most; k++) {
        int d = s->divisor[k];
        if (d < root - 1e-6 || q % d != 0) continue;
        if ((double)(sum + d) > (double)s->least) return;
        s->now[i] = d;
        search_dims(s, i + 1, n, q / d, d, sum + d);
    }
}

bool tt_cart_balance(int p, int n, int *dims)
{
    int open = 0;
    for (int i = 0; i < n; i++) {
        if (dims[i] == 0)
            open++;
        else if (dims[i] < 0 || p % dims[i] != 0)
            return false;
        else
            p /= dims[i];
    }
    if (open == 0) return p == 1;
    struct cart_search s = {.least = INT64_MAX};
    find_divisors(&s, p);
    search_dims(&s, 0, open, p, p, 0);
    for (int i = 0, k = 0; i < n; i++)
        if (dims[i] == 0) dims[i] = s.best[k++];
    return true;
}

/* ---- Places and ranks ---- */

/* Returns the i-th dimension in the order in which ranks are numbered. Consecutive ranks differ in
 * the last dimension of this order. */
static int dim_at(const struct tt_cart *cart, int i)
{
    return cart->first_fastest ? cart->n - 1 - i : i;
}

void tt_cart_coords(const struct tt_cart *cart, int rank, int *coords)
{
    tt_assert(tt_cart_valid(cart));
    for (int i = cart->n - 1; i >= 0; i--) {
        int d = dim_at(cart, i);
        coords[d] = rank % cart->dims[d];
        rank /= cart->dims[d];
    }
}

/* Returns coordinate `at` of dimension `dim`, taken modulo the size of the dimension if this is
 * periodic; -1: it is outside of the grid. */
static int fold(const struct tt_cart *cart, int dim, int64_t at)
{
    int64_t size = cart->dims[dim];
    if (cart->periodic[dim]) at = (at % size + size) % size;
    return at < 0 || at >= size ? -1 : (int)at;
}

int tt_cart_rank(const struct tt_cart *cart, const int *coords)
{
    int rank = 0;
    tt_assert(tt_cart_valid(cart));
    for (int i = 0; i < cart->n; i++) {
        int d = dim_at(cart, i), at = fold(cart, d, coords[d]);
        if (at < 0) return -1;
        rank = rank * cart->dims[d] + at;
    }
    return rank;
}

int tt_cart_shift(const struct tt_cart *cart, int rank, int dim, int distance)
{
    int coords[TT_CART_DIMS];
    tt_cart_coords(cart, rank, coords);
    coords[dim] = fold(cart, dim, coords[dim] + (int64_t)distance);
    return coords[dim] < 0 ? -1 : tt_cart_rank(cart, coords);
}

/* ---- A block for each node ---- */

/* The search for the form of a block that puts the fewest pairs of neighbours into different
 * blocks. */
struct block_search {
    const struct tt_cart *cart;
    int now[TT_CART_DIMS], best[TT_CART_DIMS];
    /* how many pairs of neighbours the form `best` puts into different blocks; INT64_MAX: no form
     * is found yet */
    int64_t least;
};

/* Returns how many pairs of neighbours in direction `dim` are in different blocks, if blocks have
 * `block` places in this direction. */
static int64_t pairs_cut(const struct tt_cart *cart, int dim, int block)
{
    int blocks = cart->dims[dim] / block;
    int borders = blocks == 1 ? 0 : blocks - !cart->periodic[dim];
    return (int64_t)borders * (tt_cart_places(cart) / cart->dims[dim]);
}

/* Chooses the sizes now[i], now[i + 1] ... of a block, each a divisor of its dimension, so that
 * their product is `left`. Keeps the choice in `best` if it separates fewer pairs of neighbours
 * than `best`. `cut` is how many pairs the sizes now[0 .. i-1] separate. */
static void search_block(struct block_search *s, int i, int left, int64_t cut)
{
    const struct tt_cart *c = s->cart;
    if (cut >= s->least) return;
    if (i == c->n) {
        if (left > 1) return;
        s->least = cut;
        memcpy(s->best, s->now, sizeof s->best);
        return;
    }
    for (int d = tt_min(left, c->dims[i]); d >= 1; d--) {
        if (left % d != 0 || c->dims[i] % d != 0) continue;
        s->now[i] = d;
        search_block(s, i + 1, left / d, cut + pairs_cut(c, i, d));
    }
}

/* Returns the number of members that each node holds; 0: the nodes hold different numbers. */
static int equal_share(const struct tt_nodes *nodes)
{
    int share = tt_nodes_size(nodes, 0);
    for (int k = 1; k < nodes->n; k++)
        if (tt_nodes_size(nodes, k) != share) return 0;
    return share;
}

static int place_in_block(const struct tt_cart *cart, const int *block, int node, int index)
{
    struct tt_cart outer = {.n = cart->n}, inner = {.n = cart->n};
    int at[TT_CART_DIMS], in[TT_CART_DIMS];
    outer.first_fastest = inner.first_fastest = cart->first_fastest;
    for (int i = 0; i < cart->n; i++) {
        inner.dims[i] = block[i];
        outer.dims[i] = cart->dims[i] / block[i];
    }
    tt_cart_coords(&outer, node, at);
    tt_cart_coords(&inner, index, in);
    for (int i = 0; i < cart->n; i++) at[i] = at[i] * block[i] + in[i];
    return tt_cart_rank(cart, at);
}

bool tt_cart_block_rank(const struct tt_cart *cart, const struct tt_map *map, int me, int *rank)
{
    struct tt_nodes nodes;
    struct block_search s = {.cart = cart, .least = INT64_MAX};
    *rank = -1;
    if (tt_cart_places(cart) != map->p || tt_map_one_node(map)) return true;
    if (!tt_nodes_of(map, &nodes)) return false;
    int share = equal_share(&nodes), node = nodes.of[me], index = 0;
    while (tt_nodes_ranks(&nodes, node)[index] != me) index++;
    if (share > 0) search_block(&s, 0, share, 0);
    if (s.least < INT64_MAX) *rank = place_in_block(cart, s.best, node, index);
    tt_nodes_free(&nodes);
    return true;
}
