/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all ranks of a team know alike of the machine under them, and the only thing besides the
 * call that an algorithm may look at.
 */
#ifndef TT_TOPO_MAP_H
#define TT_TOPO_MAP_H

#include "base/base.h"

struct tt_net;

/* Invariants: p >= 1; node == NULL means that all ranks share one node; otherwise node[r] is in
 * 0..nodes-1. WIN is shared within a node only. direct: every pair of ranks of one node can read
 * and write each other's opened buffers (IN@r, OUT@r). mapped: it does so by plain loads. */
struct tt_map {
    int p;
    int cores;         /* processors for the ranks of one node: p > cores is oversubscription */
    int64_t win_bytes; /* of a rank, in one slot */
    bool direct;
    bool mapped;
    bool near; /* the nodes are containers of one machine: no cable limits what goes between them */
    bool rdma; /* direct access reaches other nodes too: puts and gets over the network */
    /* The cost of reading 64 KiB in the owner's memory, in multiples of that by shared memory. */
    int read_cost;
    int nodes;
    const int *node;
    const struct tt_net *net; /* what joins the ranks, each a node of it; NULL: not known */
};

static inline bool tt_map_one_node(const struct tt_map *map)
{
    return map->node == NULL || map->nodes <= 1;
}

static inline bool tt_map_same_node(const struct tt_map *map, int a, int b)
{
    return map->node == NULL || map->node[a] == map->node[b];
}

#endif
