/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts that all ranks of a team know about the machine on which they run. To choose a plan, an
 * algorithm may use only these facts and the call.
 */
#ifndef TT_TOPO_MAP_H
#define TT_TOPO_MAP_H

#include "base/machine.h"

struct tt_net;
struct tt_wisdom; /* base/wisdom.h */

/* Invariants (tt_map_valid):
 *
 *  - p >= 1
 *  - node == NULL: all ranks share one node; otherwise node[r] is in 0 .. nodes-1
 *  - line_bytes <= low_bytes <= win_bytes
 *
 * WIN (a member's window) is shared within a node only. reads, writes: ranks of the same node can
 * read, or write, each other's opened buffers (IN@r, OUT@r in a plan); mapped: they can do both,
 * with plain loads and stores. */
struct tt_map {
    int p;
    int cores; /* processors of all nodes that have ranks; p > cores means oversubscription */
    int64_t win_bytes; /* bytes of the window (WIN) that a rank has in one execution */
    /* In an alltoallv, gatherv or scatterv, the first low_bytes bytes of WIN are in the short
     * window, which is next to the signals, and the other bytes in the long window. A range that a
     * step uses must be in one of the two. */
    int64_t low_bytes;
    int64_t line_bytes; /* how many of the first low_bytes bytes are in the signal's cache line */
    int64_t eager;      /* the most bytes of a message that does not wait for its receive */
    bool reads, writes;
    bool mapped;
    bool one_kernel; /* the nodes are containers of one host, so no cable limits the traffic between
                * them */
    bool rdma;       /* reads and writes reach other nodes too, by gets and puts over the network */
    /* The time to read 64 KiB directly from another rank's memory, divided by the time to move them
     * through windows, as a whole number: 1 stands for a ratio below 0.75, 2 for one from 0.75 to
     * 2.25, 3 for one from 2.25 to 3.25, and so on. On some machines, plain stores to memory that
     * another rank has read take more than TT_STORES_SLOW times as long as stores past the caches.
     * There, the time to read includes the extra time of the owner's next stores to this memory,
     * and the number is at least TT_VERY_DEAR, unless TUTTI_FILL=0 makes ranks fill windows by
     * plain stores. */
    int read_cost;
    /* a node's link to other nodes; not known if the nodes are containers of one host */
    struct tt_machine_link link;
    int nodes;
    const int *node;
    const struct tt_machine *machine; /* what the steps of a plan cost; NULL: not known */
    bool estimates; /* leave the table where `machine` predicts clearly less time */
    bool measures;  /* the first calls of a shape measure algorithms (choose/measure.h) */
    const struct tt_wisdom *wisdom; /* what earlier programs measured; NULL: nothing */
    const struct tt_net *net; /* the network that joins the ranks, each of which is a node of it;
                               * NULL: not known */
};

static inline bool tt_map_valid(const struct tt_map *map)
{
    bool valid =
        map->p >= 1 && map->line_bytes <= map->low_bytes && map->low_bytes <= map->win_bytes;
    for (int r = 0; map->node && r < map->p; r++)
        valid = valid && map->node[r] >= 0 && map->node[r] < map->nodes;
    return valid;
}

static inline bool tt_map_one_node(const struct tt_map *map)
{
    return map->node == NULL || map->nodes <= 1;
}

static inline bool tt_map_same_node(const struct tt_map *map, int a, int b)
{
    return map->node == NULL || map->node[a] == map->node[b];
}

#endif
