/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cartesian grids of ranks: balanced dimensions, coordinates and ranks, and a numbering in which
 * the ranks of a node form a block of the grid.
 */
#ifndef TT_TOPO_CART_H
#define TT_TOPO_CART_H

#include "topo/map.h"

enum { TT_CART_DIMS = 32 };

/* Invariants (tt_cart_valid): 1 <= n <= TT_CART_DIMS, dims[i] >= 1, and the product of dims fits in
 * an int. */
struct tt_cart {
    int n;
    int dims[TT_CART_DIMS];
    bool periodic[TT_CART_DIMS];
    bool first_fastest; /* consecutive ranks differ in the first coordinate, not in the last */
};

bool tt_cart_valid(const struct tt_cart *cart);

/* Returns the number of places in the grid; -1: there are more than INT_MAX. */
int tt_cart_places(const struct tt_cart *cart);

/* Replaces each 0 in dims[0..n-1], n <= TT_CART_DIMS, by a dimension so that the product of all
 * dimensions is p > 0. Among all possibilities it takes the one with the least sum of the new
 * dimensions, and among those with equal sums the one whose largest dimension is least; the new
 * dimensions do not ascend. Returns false, and changes nothing, if there is no possibility. */
bool tt_cart_balance(int p, int n, int *dims);

/* tt_cart_coords sets the coordinates of a rank. tt_cart_rank returns the rank at the coordinates;
 * -1: they are outside of the grid. In a periodic dimension any coordinate is inside of the grid,
 * because it counts modulo the dimension. */
void tt_cart_coords(const struct tt_cart *cart, int rank, int *coords);
int tt_cart_rank(const struct tt_cart *cart, const int *coords);

/* Returns the rank at the place whose coordinate in dimension `dim` is larger by `distance`, which
 * may be negative; -1: that place is outside of the grid. */
int tt_cart_shift(const struct tt_cart *cart, int rank, int dim, int distance);

/* Finds the rank in the grid that member `me` of the map gets if the ranks of each node form a
 * block of the grid. A letter is a place of the grid, and stands for the node of its rank:
 *
 *     nodes of 4 ranks in a grid of 4x4      a a b b
 *                                            a a b b
 *                                            c c d d
 *                                            c c d d
 *
 * Among all forms of the block it takes the one with the fewest pairs of neighbours on different
 * nodes. All members of a map get different ranks, or all get -1: the grid does not have one place
 * for each member, all members are on one node, the nodes do not hold equally many members, or no
 * block of that many places divides the grid. Returns false if there is no memory. */
bool tt_cart_block_rank(const struct tt_cart *cart, const struct tt_map *map, int me, int *rank);

#endif
