/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cartesian grids: the balanced dimensions, compared with all other possibilities; which rank has
 * which place; shifts; and the numbering by which each node has a block of the grid.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "topo/cart.h"

/* Returns the least sum of n numbers whose product is q, by trying all. */
static int64_t least_sum(int q, int n)
{
    int64_t least = INT64_MAX;
    if (n == 1) return q;
    for (int d = 1; d <= q; d++)
        if (q % d == 0) least = tt_min(least, d + least_sum(q / d, n - 1));
    return least;
}

static void sums_are_least(void **state)
{
    (void)state;
    for (int p = 1; p <= 200; p++)
        for (int n = 1; n <= 4; n++) {
            int dims[4] = {0}, product = 1;
            int64_t sum = 0;
            assert_true(tt_cart_balance(p, n, dims));
            for (int i = 0; i < n; i++) {
                product *= dims[i];
                sum += dims[i];
                if (i > 0) assert_true(dims[i] <= dims[i - 1]);
            }
            assert_int_equal(product, p);
            assert_int_equal(sum, least_sum(p, n));
        }
}

static void balanced(int p, int n, int *dims, const int *expected)
{
    assert_true(tt_cart_balance(p, n, dims));
    assert_memory_equal(dims, expected, (size_t)n * sizeof *dims);
}

static void some_dims_are_given(void **state)
{
    (void)state;
    balanced(72, 2, (int[]){0, 0}, (int[]){9, 8});
    balanced(72, 3, (int[]){0, 2, 0}, (int[]){6, 2, 6});
    balanced(7, 2, (int[]){0, 0}, (int[]){7, 1});
    balanced(6, 2, (int[]){2, 3}, (int[]){2, 3});
    balanced(1, 3, (int[]){0, 0, 0}, (int[]){1, 1, 1});
    balanced(INT_MAX, 2, (int[]){0, 0}, (int[]){INT_MAX, 1}); /* INT_MAX is a prime number */
    balanced(2095133040, 2, (int[]){0, 0}, (int[]){46189, 45360});
}

static void impossible_dims(void **state)
{
    (void)state;
    int dims[3] = {0, 5, 0};
    assert_false(tt_cart_balance(72, 3, dims));
    assert_true(dims[0] == 0 && dims[1] == 5 && dims[2] == 0);
    assert_false(tt_cart_balance(6, 2, (int[]){2, 2}));
    assert_false(tt_cart_balance(6, 2, (int[]){-2, 0}));
    assert_false(tt_cart_balance(6, 2, (int[]){3, 4}));
}

/* Checks that the search stays short for numbers with very many divisors and for many
 * dimensions. */
static void large_searches_end(void **state)
{
    (void)state;
    static const int numbers[] = {2095133040, 1 << 30, 1396755360, 1162261467, 2147483646};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (int n = 1; n <= TT_CART_DIMS; n++) {
            int dims[TT_CART_DIMS] = {0}, product = 1;
            assert_true(tt_cart_balance(numbers[i], n, dims));
            for (int k = 0; k < n; k++) product *= dims[k];
            assert_int_equal(product, numbers[i]);
        }
}

static void ranks_and_places(void **state)
{
    (void)state;
    struct tt_cart cart = {.n = 3, .dims = {2, 3, 4}, .periodic = {false, true, false}};
    for (int order = 0; order < 2; order++) {
        cart.first_fastest = order;
        assert_true(tt_cart_valid(&cart));
        for (int r = 0; r < 24; r++) {
            int c[3];
            tt_cart_coords(&cart, r, c);
            assert_int_equal(r,
                             order ? c[0] + 2 * (c[1] + 3 * c[2]) : (c[0] * 3 + c[1]) * 4 + c[2]);
            assert_int_equal(tt_cart_rank(&cart, c), r);
            c[1] -= 6;
            assert_int_equal(tt_cart_rank(&cart, c), r);
            c[2] += 4;
            assert_int_equal(tt_cart_rank(&cart, c), -1);
        }
    }
    cart.dims[0] = 0;
    assert_false(tt_cart_valid(&cart));
    cart.dims[0] = 1 << 30;
    assert_int_equal(tt_cart_places(&cart), -1);
    assert_false(tt_cart_valid(&cart));
}

static void shifts(void **state)
{
    (void)state;
    struct tt_cart cart = {.n = 2, .dims = {3, 4}, .periodic = {true, false}};
    assert_int_equal(tt_cart_shift(&cart, 5, 0, 1), 9);
    assert_int_equal(tt_cart_shift(&cart, 9, 0, 1), 1);
    assert_int_equal(tt_cart_shift(&cart, 1, 0, -1), 9);
    assert_int_equal(tt_cart_shift(&cart, 1, 0, INT_MAX), 1 + 4 * (INT_MAX % 3));
    assert_int_equal(tt_cart_shift(&cart, 5, 1, 2), 7);
    assert_int_equal(tt_cart_shift(&cart, 5, 1, 3), -1);
    assert_int_equal(tt_cart_shift(&cart, 5, 1, INT_MIN), -1);
    assert_int_equal(tt_cart_shift(&cart, 5, 1, INT_MAX), -1);
}

/* ---- A block for each node ---- */

/* Returns the number of pairs of neighbours on different nodes; -1: the members do not have each
 * place of the grid exactly once. */
static int cut_of(const struct tt_cart *cart, const struct tt_map *map)
{
    int node_at[64], cut = 0;
    memset(node_at, -1, sizeof node_at);
    for (int r = 0; r < map->p; r++) {
        int at;
        assert_true(tt_cart_block_rank(cart, map, r, &at));
        if (at < 0 || at >= map->p || node_at[at] >= 0) return -1;
        node_at[at] = map->node[r];
    }
    for (int r = 0; r < map->p; r++)
        for (int d = 0; d < cart->n; d++) {
            int next = tt_cart_shift(cart, r, d, 1);
            cut += next >= 0 && node_at[next] != node_at[r];
        }
    return cut;
}

static void blocks_of_nodes(void **state)
{
    (void)state;
    int node[64];
    struct tt_cart cart = {.n = 2, .dims = {4, 4}};
    struct tt_map map = {.p = 16, .nodes = 4, .node = node};
    for (int order = 0; order < 2; order++) {
        cart.first_fastest = order;
        for (int r = 0; r < 16; r++) node[r] = r / 4;
        assert_int_equal(cut_of(&cart, &map), 8); /* two lines divide the grid, and each separates 4
                                                   * pairs */
        for (int r = 0; r < 16; r++) node[r] = r % 4;
        assert_int_equal(cut_of(&cart, &map), 8);
    }
    cart = (struct tt_cart){.n = 3, .dims = {4, 4, 4}};
    map = (struct tt_map){.p = 64, .nodes = 8, .node = node};
    for (int r = 0; r < 64; r++) node[r] = r * 5 % 8;
    assert_int_equal(cut_of(&cart, &map), 3 * 16);
}

static void no_block(void **state)
{
    (void)state;
    int node[16], rank;
    struct tt_cart cart = {.n = 2, .dims = {4, 4}};
    struct tt_map map = {.p = 16, .nodes = 2, .node = node};
    for (int r = 0; r < 16; r++) node[r] = r < 7;
    /* The nodes have 7 and 9 members, not equally many, so no member gets a place. */
    assert_int_equal(cut_of(&cart, &map), -1);
    map.nodes = 4;
    for (int r = 0; r < 16; r++) node[r] = r / 4;
    map.p = 12;
    cart.dims[1] = 3;
    assert_int_equal(cut_of(&cart, &map), 8); /* each node has a column of 4 */
    cart.dims[0] = 2, cart.dims[1] = 6;
    assert_int_equal(cut_of(&cart, &map), 4); /* each node has a block of 2x2 */
    cart.dims[0] = 1, cart.dims[1] = 11;
    assert_true(tt_cart_block_rank(&cart, &map, 0, &rank) && rank == -1);
    map.node = NULL, map.nodes = 1, cart.dims[1] = 12;
    assert_true(tt_cart_block_rank(&cart, &map, 0, &rank) && rank == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_least),   cmocka_unit_test(some_dims_are_given),
        cmocka_unit_test(impossible_dims),  cmocka_unit_test(large_searches_end),
        cmocka_unit_test(ranks_and_places), cmocka_unit_test(shifts),
        cmocka_unit_test(blocks_of_nodes),  cmocka_unit_test(no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
