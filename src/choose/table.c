/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables that choose an algorithm by collective, ranks and bytes, and their conditions. The
 * first row that fits and whose algorithm applies is chosen. The limits in the tables come from
 * measurements of all algorithms on machines of two and of 16 cores; see docs/tuning.md.
 */
#include "choose/table.h"

#include "topo/net.h"

#define ANY INT64_MAX
#define ANY_RANKS INT32_MAX
#define ANY_COST INT32_MAX

struct row {
    const struct tt_algorithm *algorithm;
    int64_t most_bytes; /* the most bytes that a rank contributes; in an alltoall, for each rank */
    int most_ranks;
    /* The highest cost of reading the buffers of other ranks (cost_of). A row with such a limit
     * fits only if ranks can read these buffers. */
    int most_cost;
};

/* Limits for the cost of reading other ranks' buffers. FREE: the ranks share the buffers, so no
 * access needs the kernel. Up to CHEAP, one copy of a large message by the kernel takes less time
 * than two copies through windows. Up to FAIR, the copy by the kernel takes less time only in some
 * collectives: in an alltoall on more than two ranks, where each rank makes both copies through
 * windows itself; in a gather or scatter, where the root makes one of the two copies of all
 * pieces; and on two ranks in most other collectives. In a bcast on two ranks, each rank can make
 * half of the copy by the kernel. In an allgather, and in an alltoall where reading is cheap,
 * `exchange` is often the fastest: each rank copies out of its own buffer, which its caches hold
 * if it has just used the buffer. */
#define FREE 0
#define CHEAP 1
#define FAIR 2

_Static_assert(TT_TABLE_DEAREST == FAIR + 1, "all greater costs are alike");

/* On more ranks than this, algorithms in which each rank waits for the rank before it (`window`)
 * are not chosen for short vectors. They were measured on up to 16 ranks. */
enum { MEASURED = 32 };

static const struct row table[] = {
    {&tt_barrier_flat, ANY, 64, ANY_COST},
    {&tt_barrier_dissemination, ANY, ANY_RANKS, ANY_COST},
    {&tt_bcast_flat, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_bcast_flat, 96 << 10, 2, ANY_COST},
    {&tt_bcast_split, ANY, 2, FAIR},
    {&tt_bcast_direct, ANY, ANY_RANKS, FREE},
    {&tt_bcast_flat, 128 << 10, ANY_RANKS, ANY_COST},
    {&tt_bcast_split, ANY, 4, CHEAP},
    {&tt_bcast_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_flat, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_reduce_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allreduce_flat, 64 << 10, 2, ANY_COST},
    {&tt_allreduce_flat, 32 << 10, 4, ANY_COST},
    {&tt_allreduce_flat, 16 << 10, 8, ANY_COST},
    {&tt_allreduce_flat, 4 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_window, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_allreduce_flat, ANY, 2, ANY_COST},
    {&tt_allreduce_window, ANY, 12, ANY_COST},
    {&tt_allreduce_window, 256 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_direct, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_flat, 96 << 10, 2, ANY_COST},
    {&tt_reduce_scatter_block_direct, ANY, 2, FAIR},
    {&tt_reduce_scatter_block_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_flat, 96 << 10, 2, ANY_COST},
    {&tt_reduce_scatter_direct, ANY, 2, FAIR},
    {&tt_reduce_scatter_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_gather_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_gather_direct, ANY, 2, FAIR},
    {&tt_gather_direct, ANY, ANY_RANKS, FREE},
    {&tt_gather_flat, 128 << 10, ANY_RANKS, ANY_COST},
    {&tt_gather_direct, ANY, ANY_RANKS, FAIR},
    {&tt_gather_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allgather_flat, 24 << 10, 2, ANY_COST},
    {&tt_allgather_exchange, 2 << 20, 2, FAIR},
    {&tt_allgather_direct, ANY, 2, FAIR},
    {&tt_allgather_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_allgather_direct, ANY, ANY_RANKS, FREE},
    {&tt_allgather_direct, ANY, 4, CHEAP},
    {&tt_allgather_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allgatherv_flat, 24 << 10, 2, ANY_COST},
    {&tt_allgatherv_exchange, 2 << 20, 2, FAIR},
    {&tt_allgatherv_direct, ANY, 2, FAIR},
    {&tt_allgatherv_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_allgatherv_direct, ANY, ANY_RANKS, FREE},
    {&tt_allgatherv_direct, ANY, 4, CHEAP},
    {&tt_allgatherv_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 12 << 10, 2, ANY_COST},
    {&tt_alltoall_exchange, 512 << 10, 2, CHEAP},
    {&tt_alltoall_flat, 256 << 10, 2, ANY_COST},
    {&tt_alltoall_flat, 4 << 10, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 16 << 10, 8, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, FREE},
    {&tt_alltoall_exchange, 512 << 10, 8, CHEAP},
    {&tt_alltoall_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_alltoall_flat, 16 << 10, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 64 << 10, 8, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, FAIR},
    {&tt_alltoall_flat, 128 << 10, 8, ANY_COST},
    {&tt_alltoall_flat, ANY, 4, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoallv_mixed, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoallv_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_scatter_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_scatter_direct, ANY, ANY_RANKS, FAIR},
    {&tt_scatter_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_scan_flat, ANY, 2, ANY_COST},
    {&tt_scan_window, ANY, MEASURED, ANY_COST},
    {&tt_scan_doubling, 16 << 10, ANY_RANKS, ANY_COST},
    {&tt_scan_window, ANY, ANY_RANKS, ANY_COST},
    {&tt_scan_chain, ANY, ANY_RANKS, ANY_COST},
    {&tt_exscan_flat, ANY, 2, ANY_COST},
    {&tt_exscan_window, ANY, MEASURED, ANY_COST},
    {&tt_exscan_doubling, 16 << 10, ANY_RANKS, ANY_COST},
    {&tt_exscan_window, ANY, ANY_RANKS, ANY_COST},
    {&tt_exscan_chain, ANY, ANY_RANKS, ANY_COST},
    {&tt_gatherv_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_scatterv_flat, ANY, ANY_RANKS, ANY_COST},
};

/* The rows that come before those of `table` for teams of MANY ranks or more, if each rank has a
 * processor and the call is not made with TUTTI_REQUEST_SHARED. In a gather or a scatter through
 * windows, the root copies piece after piece; by `direct` all ranks copy at the same time, each its
 * own piece, so `direct` is faster also where its copy costs more. Where every rank reads the same
 * bytes, as in a bcast, the bytes that one rank has copied into its window are in a cache that all
 * ranks share, so no row for such a collective has `direct`. In a reduce by `window` no rank reads
 * all vectors, and most ranks begin the next call while others are still busy with this one. By
 * `halving` no rank reads all vectors either; but the ranks copy what they have reduced, so for
 * long vectors `direct` is faster. */
enum { MANY = 4 };
static const struct row roomy[] = {
    {&tt_bcast_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_flat, 8 << 10, 4, ANY_COST},
    {&tt_reduce_window, 256 << 10, 4, ANY_COST},
    {&tt_reduce_halving, ANY, 4, ANY_COST},
    {&tt_reduce_window, 2 << 20, MEASURED, ANY_COST},
    {&tt_reduce_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_halving, ANY, ANY_RANKS, ANY_COST},
    {&tt_allreduce_flat, 1 << 10, 8, ANY_COST},
    {&tt_allreduce_flat, 512, ANY_RANKS, ANY_COST},
    {&tt_allreduce_window, 512 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_halving, 2 << 20, ANY_RANKS, ANY_COST},
    {&tt_allreduce_direct, ANY, ANY_RANKS, FAIR},
    {&tt_allreduce_halving, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_flat, 32 << 10, 4, ANY_COST},
    {&tt_reduce_scatter_block_flat, 8 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_halving, 512 << 10, 8, ANY_COST},
    {&tt_reduce_scatter_block_halving, 128 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_direct, ANY, ANY_RANKS, FAIR},
    {&tt_reduce_scatter_block_halving, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_flat, 32 << 10, 4, ANY_COST},
    {&tt_reduce_scatter_flat, 8 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_halving, 512 << 10, 8, ANY_COST},
    {&tt_reduce_scatter_halving, 256 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_direct, ANY, ANY_RANKS, FAIR},
    {&tt_reduce_scatter_halving, ANY, ANY_RANKS, ANY_COST},
    {&tt_gather_flat, 32 << 10, 8, ANY_COST},
    {&tt_gather_flat, 8 << 10, ANY_RANKS, ANY_COST},
    {&tt_gather_direct, ANY, ANY_RANKS, FAIR},
    {&tt_scatter_flat, 32 << 10, 4, ANY_COST},
    {&tt_scatter_flat, 8 << 10, ANY_RANKS, ANY_COST},
    {&tt_scatter_direct, ANY, ANY_RANKS, FAIR},
    {&tt_allgather_flat, 128 << 10, 4, ANY_COST},
    {&tt_allgather_exchange, 2 << 20, 4, FAIR},
    {&tt_allgather_ring, ANY, 4, FAIR},
    {&tt_allgather_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allgatherv_flat, 128 << 10, 4, ANY_COST},
    {&tt_allgatherv_exchange, 2 << 20, 4, FAIR},
    {&tt_allgatherv_ring, ANY, 4, FAIR},
    {&tt_allgatherv_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 16 << 10, 8, ANY_COST},
    {&tt_alltoall_flat, 8 << 10, ANY_RANKS, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, FREE},
    {&tt_alltoall_exchange, ANY, 4, FAIR},
    {&tt_alltoall_pairwise, ANY, 8, FAIR},
    {&tt_alltoall_exchange, 96 << 10, ANY_RANKS, FAIR},
    {&tt_alltoall_direct, ANY, ANY_RANKS, FAIR},
    {&tt_scan_flat, 4 << 10, 4, ANY_COST},
};

/* The rows that come before those of `table` for teams of HALVED ranks or more, and for teams of
 * MANY ranks or more whose number is a power of two; but not if ranks load from each other's
 * buffers. By `halving` a rank moves half of the bytes that it moves by `flat`. If the number of
 * ranks is no power of two, `halving` has extra messages, which on few ranks take as long as it
 * saves. */
enum { HALVED = 12 };
static const struct row halved[] = {
    {&tt_reduce_scatter_block_flat, 96 << 10, 4, ANY_COST},
    {&tt_reduce_scatter_block_flat, 48 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_halving, ANY, ANY_RANKS, FAIR},
    {&tt_reduce_scatter_flat, 96 << 10, 4, ANY_COST},
    {&tt_reduce_scatter_flat, 48 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_halving, ANY, ANY_RANKS, FAIR},
};

static bool is_power_of_two(int n)
{
    return (n & (n - 1)) == 0;
}

/* Returns whether `halved` comes first: in large teams in which ranks do not load from others'
 * buffers. */
static bool is_halved(const struct tt_call *call, const struct tt_map *map)
{
    bool suits = map->p >= HALVED || (map->p >= MANY && is_power_of_two(map->p));
    return suits && !call->shared && !map->mapped;
}

/* Returns whether `roomy` comes first: MANY ranks or more, a processor for each, buffers not
 * shared. */
static bool is_roomy(const struct tt_call *call, const struct tt_map *map)
{
    return !call->shared && map->p >= MANY && map->p <= map->cores;
}

/* Limits for the rows of `spread`, below. */
enum { FEW = 4, SEVERAL = 8, SMALL = 8, LARGE = 24, SIMULATED = 128 };

/* Returns whether the ranks of each node are adjacent. */
static bool is_adjacent(const struct tt_map *map)
{
    int runs = 1;
    for (int r = 1; r < map->p; r++) runs += map->node[r] != map->node[r - 1];
    return runs <= map->nodes;
}

static bool is_adjacent_cube(const struct tt_map *map)
{
    return is_adjacent(map) && is_power_of_two(map->p);
}

/* Returns whether the ranks of a node together send many more messages in a recursive doubling than
 * a ring of all nodes has rounds. */
static bool doubling_is_dear(const struct tt_map *map)
{
    int64_t p = map->p, rounds = 0;
    while (INT64_C(1) << rounds < p) rounds++;
    return p * rounds >= 2 * (int64_t)map->nodes * map->nodes;
}

/* Sets *least and *most to the lengths of the shortest and of the longest run of adjacent ranks of
 * one node. */
static void run_lengths(const struct tt_map *map, int *least, int *most)
{
    int length = 0;
    *least = map->p;
    *most = 0;
    for (int r = 0; r < map->p; r++) {
        length++;
        if (r + 1 < map->p && map->node[r + 1] == map->node[r]) continue;
        *least = (int)tt_min(*least, length);
        *most = (int)tt_max(*most, length);
        length = 0;
    }
}

/* Sets *least and *most to how many ranks the smallest and the largest node have. If the ranks of
 * the nodes are not adjacent, the function counts the ranks of AT_ONCE nodes at a time, because it
 * allocates no memory. */
static void node_sizes(const struct tt_map *map, int *least, int *most)
{
    enum { AT_ONCE = 4096 };
    run_lengths(map, least, most);
    if (is_adjacent(map)) return;
    *least = map->p;
    *most = 0;
    for (int first = 0; first < map->nodes; first += AT_ONCE) {
        int ranks[AT_ONCE] = {0}, n = (int)tt_min(AT_ONCE, map->nodes - first);
        for (int r = 0; r < map->p; r++) {
            int k = map->node[r] - first;
            if (k >= 0 && k < n) ranks[k]++;
        }
        for (int k = 0; k < n; k++) {
            if (ranks[k] > 0) *least = (int)tt_min(*least, ranks[k]);
            *most = (int)tt_max(*most, ranks[k]);
        }
    }
}

/* Returns whether each node has several ranks, and no node has more than twice as many ranks as
 * another one. By `parts` most ranks can then send to other nodes at the same time, and on each
 * node they share the work. */
static bool has_parts(const struct tt_map *map)
{
    int least, most;
    node_sizes(map, &least, &most);
    return least >= 2 && most <= 2 * least;
}

static bool is_one_kernel(const struct tt_map *map)
{
    return map->one_kernel;
}

/* Returns whether `parts` suits the nodes, and each node has a machine of its own. Between
 * containers of one machine, `parts` saves nothing in an allgather or reduce_scatter, because it
 * also copies more within each node. */
static bool has_adapters(const struct tt_map *map)
{
    return !map->one_kernel && has_parts(map);
}

/* Returns whether the nodes are machines of their own, and a chain of all ranks comes to each of
 * them once. Then 2 MiB pass along a chain of up to LARGE ranks in less time than by `composed`,
 * whose leaders send each byte twice. A longer chain takes too long to begin. */
static bool suits_chain(const struct tt_map *map)
{
    return !map->one_kernel && is_adjacent(map) && map->p <= LARGE;
}

/* Returns whether the nodes are machines of their own, and the ranks are not more than those for
 * which the rows with this condition were simulated. */
static bool is_simulated(const struct tt_map *map)
{
    return !map->one_kernel && map->p <= SIMULATED;
}

static bool is_small(const struct tt_map *map)
{
    return is_simulated(map) && map->p <= SMALL && is_adjacent(map);
}

static bool is_large(const struct tt_map *map)
{
    return is_simulated(map) && map->p > LARGE && is_adjacent(map);
}

/* Returns whether there are so many nodes that a ring of their leaders takes long to pass on a
 * short message. */
static bool is_wide(const struct tt_map *map)
{
    return is_simulated(map) && map->nodes > FEW && is_adjacent(map);
}

static bool has_equal_nodes(const struct tt_map *map)
{
    int least, most;
    node_sizes(map, &least, &most);
    return is_simulated(map) && least == most;
}

static bool lacks_parts(const struct tt_map *map)
{
    return is_simulated(map) && is_adjacent(map) && !has_parts(map);
}

static bool is_dealt(const struct tt_map *map)
{
    return is_simulated(map) && !is_adjacent(map);
}

/* Returns whether all ranks may pass 4 MiB along a chain: the nodes are machines of their own, and
 * the chain comes to each of them once. */
static bool suits_long_chain(const struct tt_map *map)
{
    return is_simulated(map) && is_adjacent(map);
}

/* Returns whether `parts` suits the nodes, for shorter vectors than has_adapters says, and whether
 * the root of a long gather or scatter may exchange a message with each rank. If the nodes are very
 * uneven, the root waits for the ranks of one node after the other. */
static bool has_simulated_parts(const struct tt_map *map)
{
    return is_simulated(map) && has_parts(map);
}

/* Returns whether the nodes are containers of one machine, and the ranks take turns on its
 * processors. */
static bool is_crowded_kernel(const struct tt_map *map)
{
    return map->one_kernel && map->p > map->cores;
}

static bool is_crowded_cube(const struct tt_map *map)
{
    return is_crowded_kernel(map) && is_adjacent_cube(map);
}

static bool is_adjacent_crowd(const struct tt_map *map)
{
    return is_crowded_kernel(map) && is_adjacent(map);
}

/* Returns whether the nodes are containers of one machine, on whose processors the ranks take
 * turns; the ranks of each node are adjacent; and no node has more than twice as many ranks as
 * another one. */
static bool is_even_crowd(const struct tt_map *map)
{
    int least, most;
    node_sizes(map, &least, &most);
    return is_adjacent_crowd(map) && most <= 2 * least;
}

/* Returns whether the nodes are containers of one machine, and each rank has a processor. */
static bool is_roomy_kernel(const struct tt_map *map)
{
    return map->one_kernel && map->p <= map->cores;
}

static bool is_roomy_cube(const struct tt_map *map)
{
    return is_roomy_kernel(map) && is_adjacent_cube(map);
}

static bool has_roomy_parts(const struct tt_map *map)
{
    return is_roomy_kernel(map) && has_parts(map);
}

static bool is_cube(const struct tt_map *map)
{
    return is_power_of_two(map->p);
}

/* The rows come from three sources. Those for containers of one machine, for up to SEVERAL nodes
 * with up to SEVERAL ranks each, and those for a single rank on each node come from measurements
 * between network namespaces of a machine (bench/results), with two processors, and with a
 * processor for each of 16 ranks. The rows with a least speed of the link, those whose condition
 * includes is_simulated, and those for an allreduce come from simulations of up to SIMULATED ranks
 * on networks of 1, 10, 25 and 100 Gbit/s in which the ranks of a node share an adapter
 * (bench/results/simulated.md). The other rows come from simulations in which a message between
 * nodes costs ten times as much as a message within a node. In the measurements, a message of few
 * bytes takes as long as sending some 20 KB, so the rows that come from them choose algorithms with
 * few messages up to 64 KiB. In the simulations of the other rows, a message of few bytes takes as
 * long as sending 1 KB. Between the namespaces, the time of a short message depends on how often a
 * rank waits for another one. Over cables of 1 and 10 Gbit/s, and from some 64 KiB on, the time
 * also depends on the bytes on the busiest cable. An allreduce by `parts` takes at most about as
 * long as by `composed` if the ranks of a node share an adapter, because they share the work within
 * the node; if each rank has an adapter, it takes a fraction of that time. If one node has more
 * than twice as many ranks as another, most of its ranks have no part, and for long vectors a ring
 * takes less time. If the nodes are containers of one machine, between which no cable limits the
 * messages, the processors are busy with copying. Where ranks take turns on the processors, the
 * tree of `logical` was measured to be the fastest for most sizes, on up to SEVERAL nodes with up
 * to SEVERAL ranks each. Where each rank has a processor, those algorithms are faster in which all
 * ranks copy at the same time.
 *
 * The speed of the link decides whether an algorithm should consider the nodes. A link of 100
 * Gbit/s moves a byte in less time than a processor copies one. Then algorithms that ignore nodes
 * are faster for long vectors, because `composed` and `parts` copy each byte several times within a
 * node. On a slow link the bytes between nodes take nearly all of the time. The least speeds lie
 * between those of usual links: MEDIUM between 10 and 25 Gbit/s, and FAST between 25 and 100.
 *
 * The time of a call of up to SHORT bytes depends more on the start-up time of a message than on
 * the speed. The rows for FAST links come from a network on which messages start as fast as by
 * RDMA, and those for MEDIUM links from one on which they start as by TCP. So on a link of either
 * speed, the start-up time decides which of these rows a short call uses. Simulations on links of
 * 100 Gbit/s with start-up times of 1.6 to 60 us give QUICK_NS: up to 7 us the rows for FAST links
 * are the better ones, and from 12 us on the others. If the start-up time is not known, the ranks
 * do not use RDMA. */
enum { MEDIUM = 16000, FAST = 50000 }; /* values of least_mbit */
enum { SHORT = 16 << 10, QUICK_NS = 8000 };
struct spread_row {
    const struct tt_algorithm *algorithm;
    int64_t least_bytes, most_bytes;
    int most_nodes;
    int most_on_node; /* the most ranks of a node */
    bool shares;      /* true: some node must have several ranks; false: no node may have several */
    bool (*fits)(const struct tt_map *map); /* a further condition; NULL: there is none */
    /* The least speed of a node's link. A row with such a speed is for at most SIMULATED ranks; 0:
     * the row is for any speed, also if the speed is not known. */
    int least_mbit;
};

static const struct spread_row spread[] = {
    {&tt_barrier_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_barrier_dissemination, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_bcast_logical, 8 << 10, ANY, FEW, FEW, true, is_one_kernel, 0},
    {&tt_bcast_logical, 16 << 10, 512 << 10, SEVERAL, SEVERAL, true, is_crowded_kernel, 0},
    {&tt_bcast_binomial, 512 << 10, ANY, SEVERAL, SEVERAL, true, is_adjacent_crowd, 0},
    {&tt_bcast_logical, 8 << 10, 256 << 10, 2, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_bcast_two_tree, 32 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_bcast_scatter_allgather, 128 << 10, 4 << 20, ANY_RANKS, ANY_RANKS, true, is_large, FAST},
    {&tt_bcast_binomial, 32 << 10, 128 << 10, FEW, FEW, true, NULL, FAST},
    {&tt_bcast_two_tree, 64 << 10, 1 << 20, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_bcast_composed, 4 << 10, 256 << 10, ANY_RANKS, ANY_RANKS, true, NULL, FAST},
    {&tt_bcast_binomial, 32 << 10, 256 << 10, ANY_RANKS, ANY_RANKS, true, is_large, MEDIUM},
    {&tt_bcast_logical, 0, 128 << 10, ANY_RANKS, ANY_RANKS, true, NULL, MEDIUM},
    {&tt_bcast_logical, 0, 512, ANY_RANKS, ANY_RANKS, true, is_simulated, 0},
    {&tt_bcast_chain, 512 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_small, 0},
    {&tt_bcast_chain, 4 << 20, ANY, ANY_RANKS, ANY_RANKS, true, suits_long_chain, 0},
    {&tt_bcast_logical, 4 << 10, 8 << 10, FEW, FEW, true, is_simulated, 0},
    {&tt_bcast_logical, 256 << 10, ANY, 2, ANY_RANKS, true, NULL, 0},
    {&tt_bcast_chain, 2 << 20, ANY, ANY_RANKS, ANY_RANKS, true, suits_chain, 0},
    {&tt_bcast_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_bcast_binomial, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_bcast_binomial, 0, ANY, 2, ANY_RANKS, false, is_one_kernel, 0},
    {&tt_bcast_binomial, 0, ANY, FEW, ANY_RANKS, false, is_crowded_kernel, 0},
    {&tt_bcast_two_tree, 0, ANY, ANY_RANKS, ANY_RANKS, false, is_roomy_kernel, 0},
    {&tt_bcast_scatter_allgather, 0, 512 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_bcast_two_tree, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_logical, 8 << 10, ANY, FEW, FEW, true, is_crowded_kernel, 0},
    {&tt_reduce_logical, 16 << 10, ANY, SEVERAL, SEVERAL, true, is_crowded_kernel, 0},
    {&tt_reduce_logical, 8 << 10, 128 << 10, FEW, FEW, true, is_roomy_kernel, 0},
    {&tt_reduce_two_tree, 32 << 10, 384 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_halving, 384 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_two_tree, 512 << 10, 1 << 20, ANY_RANKS, ANY_RANKS, true, suits_chain, FAST},
    {&tt_reduce_two_tree, 1 << 20, ANY, ANY_RANKS, ANY_RANKS, true, is_large, FAST},
    {&tt_reduce_composed, 4 << 10, 16 << 10, FEW, FEW, true, NULL, FAST},
    {&tt_reduce_two_tree, 4 << 10, 16 << 10, ANY_RANKS, ANY_RANKS, true, is_large, FAST},
    {&tt_reduce_two_tree, 8 << 10, 16 << 10, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_reduce_halving, 16 << 10, 512 << 10, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_reduce_composed, 0, 8 << 10, 2, ANY_RANKS, true, NULL, MEDIUM},
    {&tt_reduce_logical, 0, 8 << 10, ANY_RANKS, ANY_RANKS, true, NULL, MEDIUM},
    {&tt_reduce_composed, 16 << 10, 32 << 10, ANY_RANKS, ANY_RANKS, true, is_simulated, 0},
    {&tt_reduce_logical, 0, 512, ANY_RANKS, ANY_RANKS, true, is_simulated, 0},
    {&tt_reduce_chain, 512 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_small, 0},
    {&tt_reduce_chain, 4 << 20, ANY, ANY_RANKS, ANY_RANKS, true, suits_long_chain, 0},
    {&tt_reduce_logical, 8 << 10, 64 << 10, FEW, FEW, true, NULL, 0},
    {&tt_reduce_chain, 1 << 20, ANY, ANY_RANKS, ANY_RANKS, true, suits_chain, 0},
    {&tt_reduce_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_reduce_binomial, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allreduce_logical, 16 << 10, 2 << 20, FEW, FEW, true, is_crowded_kernel, 0},
    {&tt_allreduce_logical, 16 << 10, ANY, SEVERAL, SEVERAL, true, is_even_crowd, 0},
    {&tt_allreduce_halving, 96 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_cube, 0},
    {&tt_allreduce_ring, 512 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_allreduce_parts, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_equal_nodes, FAST},
    {&tt_allreduce_doubling, 4 << 10, 16 << 10, ANY_RANKS, ANY_RANKS, true, lacks_parts, FAST},
    {&tt_allreduce_ring, 32 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_small, FAST},
    {&tt_allreduce_parts, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_adapters, 0},
    {&tt_allreduce_halving, 128 << 10, 4 << 20, FEW, FEW, true, is_crowded_cube, 0},
    {&tt_allreduce_logical, 16 << 10, 64 << 10, FEW, FEW, true, is_roomy_kernel, 0},
    {&tt_allreduce_parts, 8 << 10, 96 << 10, 2, ANY_RANKS, true, has_roomy_parts, 0},
    {&tt_allreduce_doubling, 8 << 10, 96 << 10, SEVERAL, FEW, true, is_roomy_kernel, 0},
    {&tt_allreduce_parts, 512 << 10, ANY, 2, ANY_RANKS, true, has_parts, 0},
    {&tt_allreduce_composed, 0, ANY, 2, ANY_RANKS, true, NULL, 0},
    {&tt_allreduce_ring, 512 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, 0},
    {&tt_allreduce_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_allreduce_doubling, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allreduce_ring, 512 << 10, ANY, FEW, ANY_RANKS, false, NULL, 0},
    {&tt_allreduce_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_block_halving, 64 << 10, ANY, 2, ANY_RANKS, true, is_crowded_cube, 0},
    {&tt_reduce_scatter_block_composed, 0, 2 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_scatter_block_circulant, 0, 8 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel,
     0},
    {&tt_reduce_scatter_block_halving, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_cube, 0},
    {&tt_reduce_scatter_block_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_scatter_block_halving, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_reduce_scatter_block_halving, 128 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_small,
     MEDIUM},
    {&tt_reduce_scatter_block_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_dealt, MEDIUM},
    {&tt_reduce_scatter_block_parts, 512, ANY, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_reduce_scatter_block_parts, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_adapters, 0},
    {&tt_reduce_scatter_block_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_reduce_scatter_block_circulant, 0, 32 << 10, 8, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_block_circulant, 0, 16 << 10, 16, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_block_circulant, 0, 4 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_block_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, is_cube, 0},
    {&tt_reduce_scatter_block_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_halving, 64 << 10, ANY, 2, ANY_RANKS, true, is_crowded_cube, 0},
    {&tt_reduce_scatter_composed, 0, 2 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_scatter_circulant, 0, 8 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_scatter_halving, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_cube, 0},
    {&tt_reduce_scatter_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_reduce_scatter_halving, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_reduce_scatter_halving, 128 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_small, MEDIUM},
    {&tt_reduce_scatter_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_dealt, MEDIUM},
    {&tt_reduce_scatter_parts, 512, ANY, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_reduce_scatter_parts, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_adapters, 0},
    {&tt_reduce_scatter_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_reduce_scatter_circulant, 0, 32 << 10, 8, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_circulant, 0, 16 << 10, 16, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_circulant, 0, 4 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_reduce_scatter_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, is_cube, 0},
    {&tt_reduce_scatter_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_gather_linear, 4 << 10, ANY, SEVERAL, SEVERAL, true, NULL, FAST},
    {&tt_gather_logical, 0, 64, ANY_RANKS, ANY_RANKS, true, is_large, 0},
    {&tt_gather_linear, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_gather_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_gather_binomial, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allgather_neighbour, 12 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_allgather_ring, 8 << 10, ANY, FEW, ANY_RANKS, true, NULL, FAST},
    {&tt_allgather_neighbour, 4 << 10, 16 << 10, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_allgather_circulant, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_dealt, MEDIUM},
    {&tt_allgather_composed, 0, 8 << 10, 2, ANY_RANKS, true, NULL, MEDIUM},
    {&tt_allgather_doubling, 0, 512, ANY_RANKS, ANY_RANKS, true, is_adjacent_cube, MEDIUM},
    {&tt_allgather_neighbour, 0, 32 << 10, ANY_RANKS, ANY_RANKS, true, is_small, MEDIUM},
    {&tt_allgather_ring, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, MEDIUM},
    {&tt_allgather_composed, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_large, 0},
    {&tt_allgather_parts, 1 << 10, 8 << 10, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_allgather_ring, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, lacks_parts, 0},
    {&tt_allgather_doubling, 0, 64, ANY_RANKS, ANY_RANKS, true, is_wide, 0},
    {&tt_allgather_parts, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_adapters, 0},
    {&tt_allgather_ring, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, 0},
    {&tt_allgather_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_allgather_bruck, 0, 16 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allgather_neighbour, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allgather_bruck, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_allgatherv_ring, 16 << 10, ANY, FEW, ANY_RANKS, true, NULL, FAST},
    {&tt_allgatherv_ring, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, FAST},
    {&tt_allgatherv_bruck, 0, 512, ANY_RANKS, ANY_RANKS, true, is_large, MEDIUM},
    {&tt_allgatherv_ring, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, MEDIUM},
    {&tt_allgatherv_ring, 16 << 10, ANY, ANY_RANKS, ANY_RANKS, true, lacks_parts, 0},
    {&tt_allgatherv_circulant, 0, 64, ANY_RANKS, ANY_RANKS, true, is_wide, 0},
    {&tt_allgatherv_parts, 1 << 10, 32 << 10, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_allgatherv_parts, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_adapters, 0},
    {&tt_allgatherv_ring, 64 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent, 0},
    {&tt_allgatherv_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_allgatherv_bruck, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_alltoall_pairwise, 3 << 10, ANY, 2, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_alltoall_composed, 0, 4 << 10, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_alltoall_pairwise, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_roomy_kernel, 0},
    {&tt_alltoall_pairwise, 4 << 10, ANY, ANY_RANKS, ANY_RANKS, true, NULL, FAST},
    {&tt_alltoall_hypercube, 0, 16 << 10, FEW, FEW, true, NULL, MEDIUM},
    {&tt_alltoall_hypercube, 0, 4 << 10, ANY_RANKS, ANY_RANKS, true, has_equal_nodes, MEDIUM},
    {&tt_alltoall_bruck, 0, 64, ANY_RANKS, ANY_RANKS, true, is_wide, 0},
    {&tt_alltoall_pairwise, 8 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_equal_nodes, 0},
    {&tt_alltoall_composed, 0, 16 << 10, FEW, FEW, true, NULL, 0},
    {&tt_alltoall_composed, 0, 8 << 10, SEVERAL, SEVERAL, true, NULL, 0},
    {&tt_alltoall_composed, 0, 512, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_alltoall_bruck, 0, 8 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_scatter_linear, 4 << 10, ANY, SEVERAL, SEVERAL, true, NULL, FAST},
    {&tt_scatter_logical, 0, 64, ANY_RANKS, ANY_RANKS, true, is_large, 0},
    {&tt_scatter_linear, 32 << 10, ANY, ANY_RANKS, ANY_RANKS, true, has_simulated_parts, 0},
    {&tt_scatter_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_scatter_binomial, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_scatter_binomial, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_scan_doubling, 0, 16 << 10, ANY_RANKS, ANY_RANKS, true, lacks_parts, MEDIUM},
    {&tt_scan_doubling, 512, 128 << 10, ANY_RANKS, ANY_RANKS, true, NULL, FAST},
    {&tt_scan_composed, 0, 256 << 10, ANY_RANKS, ANY_RANKS, true, is_large, MEDIUM},
    {&tt_scan_composed, 0, 128 << 10, ANY_RANKS, ANY_RANKS, true, is_wide, 0},
    {&tt_scan_composed, 0, 64 << 10, ANY_RANKS, ANY_RANKS, true, is_adjacent, 0},
    {&tt_scan_composed, 0, 512, FEW, ANY_RANKS, true, NULL, 0},
    {&tt_scan_composed, 0, 64, ANY_RANKS, ANY_RANKS, true, doubling_is_dear, 0},
    {&tt_scan_doubling, 0, 64 << 10, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_scan_chain, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_scan_doubling, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_scan_chain, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_exscan_doubling, 0, 16 << 10, ANY_RANKS, ANY_RANKS, true, lacks_parts, MEDIUM},
    {&tt_exscan_doubling, 512, 128 << 10, ANY_RANKS, ANY_RANKS, true, NULL, FAST},
    {&tt_exscan_composed, 0, 256 << 10, ANY_RANKS, ANY_RANKS, true, is_large, MEDIUM},
    {&tt_exscan_composed, 0, 128 << 10, ANY_RANKS, ANY_RANKS, true, is_wide, 0},
    {&tt_exscan_composed, 0, 64 << 10, ANY_RANKS, ANY_RANKS, true, is_adjacent, 0},
    {&tt_exscan_composed, 0, 512, FEW, ANY_RANKS, true, NULL, 0},
    {&tt_exscan_composed, 0, 64, ANY_RANKS, ANY_RANKS, true, doubling_is_dear, 0},
    {&tt_exscan_doubling, 0, 64 << 10, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_exscan_chain, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_exscan_doubling, 0, 64 << 10, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_exscan_chain, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_gatherv_linear, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_gatherv_linear, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
    {&tt_scatterv_linear, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL, 0},
    {&tt_scatterv_linear, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL, 0},
};

/* Returns the bytes by which a row is chosen. All ranks know all counts of an allgatherv and of a
 * reduce_scatter, so the mean of the counts decides, as if all ranks had this count. In calls
 * without counts, n decides. */
static int64_t bytes_of(const struct tt_call *call, int p)
{
    bool all_known = call->coll == TT_COLL_allgatherv || call->coll == TT_COLL_reduce_scatter;
    return all_known && call->out_counts ? tt_call_mean_bytes(call, p) : tt_call_bytes(call);
}

/* Returns whether, by this algorithm, each rank would reduce all of a long vector of elements that
 * take long to reduce. */
static bool repeats_work(const struct tt_algorithm *a, const struct tt_call *call, int64_t bytes)
{
    return a == &tt_allreduce_flat && call->type == TUTTI_BINNED && bytes > 64 << 10;
}

/* Returns whether the two copies of a byte through shared memory take twice as long as one copy.
 * They do in a gather or scatter if the ranks take turns on the processors, because no rank then
 * copies out while another one copies in. In a bcast, for example, the second copy takes less time:
 * all ranks copy out what one rank has copied in, and find these bytes in a cache. */
static bool copies_follow(const struct tt_call *call, const struct tt_map *map)
{
    bool single = call->coll == TT_COLL_gather || call->coll == TT_COLL_scatter;
    return single && map->cores > 0 && map->p > map->cores;
}

/* Returns the cost by which a row is chosen. On several nodes, most buffers are on other nodes,
 * which counts as the highest cost. */
static int cost_of(const struct tt_call *call, const struct tt_map *map)
{
    if (!map->reads || !tt_map_one_node(map)) return ANY_COST;
    if (call->shared || map->mapped) return FREE;
    return copies_follow(call, map) ? CHEAP : map->read_cost;
}

static const struct tt_algorithm *find_row(const struct row *rows, size_t n,
                                           const struct tt_call *call, const struct tt_map *map)
{
    int64_t bytes = bytes_of(call, map->p);
    int cost = cost_of(call, map);
    for (const struct row *r = rows; r < rows + n; r++) {
        if (r->algorithm->coll != call->coll || bytes > r->most_bytes || map->p > r->most_ranks ||
            cost > r->most_cost || repeats_work(r->algorithm, call, bytes))
            continue;
        if (!r->algorithm->refuse(call, map)) return r->algorithm;
    }
    return NULL;
}

static const struct tt_algorithm *choose_row(const struct tt_call *call, const struct tt_map *map)
{
    const struct tt_algorithm *a = NULL;
    if (is_roomy(call, map)) a = find_row(roomy, sizeof roomy / sizeof *roomy, call, map);
    if (!a && is_halved(call, map)) a = find_row(halved, sizeof halved / sizeof *halved, call, map);
    return a ? a : find_row(table, sizeof table / sizeof *table, call, map);
}

/* Returns whether no node has more than `most` ranks. */
static bool is_sparse(const struct tt_map *map, int most)
{
    int ranks[SEVERAL] = {0};
    if (most == ANY_RANKS) return true;
    for (int r = 0; r < map->p; r++)
        if (map->nodes > SEVERAL || ++ranks[map->node[r]] > most) return false;
    return true;
}

/* Returns the speed of the link by which a row for a call of so many bytes is chosen; 0: only rows
 * for any speed fit. */
static int speed_of(const struct tt_map *map, int64_t bytes)
{
    const struct tt_machine_link *link = &map->link;
    if (!is_simulated(map)) return 0;
    if (link->mbit < MEDIUM || bytes > SHORT) return link->mbit;
    return link->start_ns > 0 && link->start_ns <= QUICK_NS ? FAST : MEDIUM;
}

static bool spread_fits(const struct spread_row *r, const struct tt_call *call, int64_t bytes,
                        const struct tt_map *map)
{
    return r->algorithm->coll == call->coll && bytes >= r->least_bytes && bytes <= r->most_bytes &&
           map->nodes <= r->most_nodes && r->shares == (map->nodes < map->p) &&
           is_sparse(map, r->most_on_node) && speed_of(map, bytes) >= r->least_mbit &&
           (!r->fits || r->fits(map));
}

/* Returns the algorithm for several nodes without a known network; NULL: no row fits. On a known
 * network other algorithms are used. */
static const struct tt_algorithm *choose_spread(const struct tt_call *call,
                                                const struct tt_map *map)
{
    if (tt_map_one_node(map) || map->net) return NULL;
    int64_t bytes = bytes_of(call, map->p);
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
        if (spread_fits(&spread[i], call, bytes, map) && !spread[i].algorithm->refuse(call, map))
            return spread[i].algorithm;
    return NULL;
}

/* The costs on a known network, as in the model of `tutti sim`: 1 us for a message, and 1 ns for
 * each of its bytes. */
static const struct tt_costs network_costs = {.ts = 1000000, .tw = 1000, .tw_both = 1000};

/* Chooses on a hypercube with a rank at each node, where the formulas of both algorithms are exact:
 * `hypercube` sends fewer messages, and `pairwise` fewer bytes. If a message costs t_s and each of
 * its bytes t_w, both take equally long on p > 2 ranks with blocks of
 *
 *     t_s (p - 1 - log2 p) / (t_w (p/2 log2 p - p + 1)) bytes */
static const struct tt_algorithm *choose_network(const struct tt_call *call,
                                                 const struct tt_map *map)
{
    const struct tt_algorithm *few = &tt_alltoall_hypercube, *direct = &tt_alltoall_pairwise;
    const struct tt_net *net = map->net;
    if (!net || net->kind != TT_NET_hypercube || net->ranks != net->nodes || map->p < 2)
        return NULL;
    if (call->coll != TT_COLL_alltoall || few->refuse(call, map)) return NULL;
    return few->time(call, map, &network_costs) <= direct->time(call, map, &network_costs) ? few
                                                                                           : direct;
}

static const struct tt_algorithm *choose_any(const struct tt_call *call, const struct tt_map *map)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == call->coll && !(*a)->refuse(call, map)) return *a;
    return NULL;
}

const struct tt_algorithm *tt_table_choose(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_map by_messages = *map;
    by_messages.rdma = false;
    const struct tt_algorithm *a = choose_network(call, &by_messages);
    if (!a) a = choose_spread(call, &by_messages);
    if (!a) a = choose_row(call, &by_messages);
    if (!a) a = choose_any(call, &by_messages);
    return a ? a : choose_any(call, map);
}

static bool has_row(const struct row *rows, size_t n, const struct tt_algorithm *a)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].algorithm == a) return true;
    return false;
}

bool tt_table_names(const struct tt_algorithm *a, const struct tt_map *map)
{
    if (tt_map_one_node(map))
        return has_row(table, sizeof table / sizeof *table, a) ||
               has_row(halved, sizeof halved / sizeof *halved, a) ||
               has_row(roomy, sizeof roomy / sizeof *roomy, a);
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
        if (spread[i].algorithm == a) return true;
    return false;
}
