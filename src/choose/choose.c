/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One plain table, by collective, ranks and bytes: of the rows that fit, the first whose
 * algorithm applies. The figures come from `tutti bench --algorithm all` on a machine of two
 * cores; see docs/choice.md.
 */
#include "choose/choose.h"

#include <string.h>

#include "plan/words.h"

#define ANY INT64_MAX
#define ANY_RANKS INT32_MAX
#define ANY_COST INT32_MAX

struct row {
    const struct tt_algorithm *algorithm;
    int64_t most_bytes; /* that a rank contributes (exchanges: to each rank) */
    int most_ranks;
    int most_cost; /* of reading the others' buffers: map->read_cost */
};

/* Up to this the kernel's way into another process is worth it for what is large. */
#define CHEAP 1

static const struct row table[] = {
    {&tt_barrier_flat, ANY, 64, ANY_COST},
    {&tt_barrier_dissemination, ANY, ANY_RANKS, ANY_COST},
    {&tt_bcast_flat, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_bcast_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_bcast_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_flat, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_reduce_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_reduce_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allreduce_flat, 64 << 10, 8, ANY_COST},
    {&tt_allreduce_flat, 4 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_window, 64 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_allreduce_flat, ANY, 4, ANY_COST},
    {&tt_allreduce_window, ANY, 12, ANY_COST},
    {&tt_allreduce_window, 256 << 10, ANY_RANKS, ANY_COST},
    {&tt_allreduce_direct, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_block_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_reduce_scatter_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_gather_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allgather_flat, 32 << 10, ANY_RANKS, ANY_COST},
    {&tt_allgather_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_allgather_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_allgatherv_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_allgatherv_flat, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 4 << 10, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 16 << 10, 8, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, CHEAP},
    {&tt_alltoall_flat, 16 << 10, ANY_RANKS, ANY_COST},
    {&tt_alltoall_flat, 128 << 10, 8, ANY_COST},
    {&tt_alltoall_flat, ANY, 4, ANY_COST},
    {&tt_alltoall_direct, ANY, ANY_RANKS, ANY_COST},
    {&tt_alltoallv_flat, ANY, ANY_RANKS, ANY_COST},
};

/* Whether they come in as few runs as there are nodes. */
static bool is_adjacent(const struct tt_map *map)
{
    int runs = 1;
    for (int r = 1; r < map->p; r++) runs += map->node[r] != map->node[r - 1];
    return runs <= map->nodes;
}

static bool is_adjacent_cube(const struct tt_map *map)
{
    return is_adjacent(map) && (map->p & (map->p - 1)) == 0;
}

static bool is_near(const struct tt_map *map)
{
    return map->near;
}

/* The rows for several nodes come from simulations in which a message between nodes costs ten times
 * as much as one within a node, and the ranks of a node share a port (docs/hierarchy.md has the
 * figures). The rows for few nodes of few ranks come from measurements on 4,2,1,1 over TCP
 * (docs/figures.md): there the number of times that a rank waits for another one decides, and, over
 * cables of 1 and 10 Gbit/s and from some 64 KiB on, the bytes on the busiest cable. */
enum { FEW = 4 }; /* nodes, or ranks of each */
struct spread_row {
    const struct tt_algorithm *algorithm;
    int64_t least_bytes, most_bytes;
    int most_nodes;
    int most_on_node;                       /* ranks */
    bool shares;                            /* some node has several ranks */
    bool (*fits)(const struct tt_map *map); /* besides; NULL: always */
};

static const struct spread_row spread[] = {
    {&tt_barrier_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_barrier_dissemination, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_bcast_logical, 2 << 10, 2 << 20, FEW, FEW, true, is_near},
    {&tt_bcast_logical, 2 << 10, 64 << 10, FEW, FEW, true, NULL},
    {&tt_bcast_logical, 256 << 10, ANY, 2, ANY_RANKS, true, NULL},
    {&tt_bcast_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_bcast_binomial, 0, 16 << 10, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_bcast_scatter_allgather, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_reduce_logical, 2 << 10, 2 << 20, FEW, FEW, true, is_near},
    {&tt_reduce_logical, 2 << 10, 64 << 10, FEW, FEW, true, NULL},
    {&tt_reduce_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_reduce_binomial, 0, 16 << 10, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_reduce_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_allreduce_logical, 2 << 10, 512 << 10, FEW, FEW, true, is_near},
    {&tt_allreduce_halving, 128 << 10, 4 << 20, FEW, FEW, true, is_adjacent_cube},
    {&tt_allreduce_logical, 2 << 10, 2 << 20, FEW, FEW, true, is_near},
    {&tt_allreduce_logical, 2 << 10, 64 << 10, FEW, FEW, true, NULL},
    {&tt_allreduce_composed, 0, ANY, 2, ANY_RANKS, true, NULL},
    {&tt_allreduce_ring, 512 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent},
    {&tt_allreduce_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_allreduce_doubling, 0, 16 << 10, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_allreduce_halving, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_reduce_scatter_block_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_reduce_scatter_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_gather_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_gather_binomial, 0, ANY, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_allgather_ring, 1 << 10, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent},
    {&tt_allgather_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_allgather_bruck, 0, 1 << 10, ANY_RANKS, ANY_RANKS, false, NULL},
    {&tt_allgatherv_ring, 0, ANY, ANY_RANKS, ANY_RANKS, true, is_adjacent},
    {&tt_allgatherv_composed, 0, ANY, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_alltoall_composed, 0, 16 << 10, FEW, FEW, true, NULL},
    {&tt_alltoall_composed, 0, 512, ANY_RANKS, ANY_RANKS, true, NULL},
    {&tt_alltoall_bruck, 0, 64, ANY_RANKS, ANY_RANKS, false, NULL},
};

static const char *override;

void tt_choose_force(const char *text)
{
    override = text;
}

static const struct tt_algorithm *find(enum tt_coll coll, const char *name, size_t length)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == coll && strlen((*a)->name) == length &&
            strncmp((*a)->name, name, length) == 0)
            return *a;
    return NULL;
}

static bool known_anywhere(const char *name, size_t length)
{
    for (int c = 0; c < TT_COLLS; c++)
        if (find((enum tt_coll)c, name, length)) return true;
    return false;
}

/* Whether each COLLECTIVE= names one, and none is named twice. */
static tutti_status check_named(const char *text)
{
    unsigned named = 0;
    for (size_t n; text && *text; text += n + (text[n] == ',')) {
        size_t key = strcspn(text, "=,");
        n = strcspn(text, ",");
        if (key == n) continue;
        int coll = tt_word_find(&tt_coll_words, text, key);
        if (coll < 0)
            return tt_fail(TUTTI_ERR_ARG,
                           "TUTTI_ALGORITHM: there is no collective '%.*s'; see `tutti list`",
                           (int)key, text);
        if (named >> coll & 1)
            return tt_fail(TUTTI_ERR_ARG, "TUTTI_ALGORITHM names %s twice",
                           tt_coll_name((enum tt_coll)coll));
        named |= 1u << coll;
    }
    return TUTTI_OK;
}

static const char *forcing(void)
{
    return override ? override : tt_setting("TUTTI_ALGORITHM");
}

/* The word that TUTTI_ALGORITHM has for a collective: COLLECTIVE=NAME, or a NAME for every
 * collective that has it. NULL if it has none. */
static const char *forced_name(enum tt_coll coll, size_t *length)
{
    const char *text = forcing(), *name = tt_coll_name(coll);
    while (text && *text) {
        size_t n = strcspn(text, ","), key = strcspn(text, "=,");
        bool alone = key == n;
        *length = alone ? n : n - key - 1;
        if (alone && (find(coll, text, n) || !known_anywhere(text, n))) return text;
        if (!alone && key == strlen(name) && strncmp(text, name, key) == 0) return text + key + 1;
        text += n + (text[n] == ',');
    }
    return NULL;
}

/* *algorithm stays NULL where nothing is forced. */
static tutti_status choose_forced(const struct tt_call *call, const struct tt_map *map,
                                  const struct tt_algorithm **algorithm)
{
    size_t length;
    TT_TRY(check_named(forcing()));
    const char *name = forced_name(call->coll, &length), *coll = tt_coll_name(call->coll);
    *algorithm = NULL;
    if (!name) return TUTTI_OK;
    const struct tt_algorithm *a = find(call->coll, name, length);
    if (!a)
        return tt_fail(TUTTI_ERR_ARG,
                       "TUTTI_ALGORITHM: there is no algorithm '%.*s' for %s; see `tutti list`",
                       (int)length, name, coll);
    const char *why = a->refuse(call, map);
    if (why)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "TUTTI_ALGORITHM forces %s for %s: it %s", a->name,
                       coll, why);
    *algorithm = a;
    return TUTTI_OK;
}

static const struct tt_algorithm *choose_row(const struct tt_call *call, const struct tt_map *map)
{
    int64_t bytes = tt_call_bytes(call);
    int cost = call->shared ? 1 : map->read_cost;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *r = &table[i];
        if (r->algorithm->coll != call->coll || bytes > r->most_bytes || map->p > r->most_ranks ||
            cost > r->most_cost)
            continue;
        if (!r->algorithm->refuse(call, map)) return r->algorithm;
    }
    return NULL;
}

/* Whether no node has more ranks than `most`. */
static bool is_sparse(const struct tt_map *map, int most)
{
    int ranks[FEW] = {0};
    if (most == ANY_RANKS) return true;
    for (int r = 0; r < map->p; r++)
        if (map->nodes > FEW || ++ranks[map->node[r]] > most) return false;
    return true;
}

static bool spread_fits(const struct spread_row *r, const struct tt_call *call,
                        const struct tt_map *map)
{
    int64_t bytes = tt_call_bytes(call);
    return r->algorithm->coll == call->coll && bytes >= r->least_bytes && bytes <= r->most_bytes &&
           map->nodes <= r->most_nodes && r->shares == (map->nodes < map->p) &&
           is_sparse(map, r->most_on_node) && (!r->fits || r->fits(map));
}

/* On several nodes that no network is known of: those have algorithms of their own. */
static const struct tt_algorithm *choose_spread(const struct tt_call *call,
                                                const struct tt_map *map)
{
    if (tt_map_one_node(map) || map->net) return NULL;
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
        if (spread_fits(&spread[i], call, map) && !spread[i].algorithm->refuse(call, map))
            return spread[i].algorithm;
    return NULL;
}

static const struct tt_algorithm *choose_any(const struct tt_call *call, const struct tt_map *map)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == call->coll && !(*a)->refuse(call, map)) return *a;
    return NULL;
}

tutti_status tt_choose(const struct tt_call *call, const struct tt_map *map,
                       const struct tt_algorithm **algorithm, bool *forced)
{
    const struct tt_algorithm *a;
    struct tt_map by_messages = *map; /* between nodes those that reach into memory come last */
    by_messages.rdma = false;
    TT_TRY(choose_forced(call, map, &a));
    if (forced) *forced = a != NULL;
    if (!a) a = choose_spread(call, &by_messages);
    if (!a) a = choose_row(call, &by_messages);
    if (!a) a = choose_any(call, &by_messages);
    if (!a) a = choose_any(call, map);
    if (!a)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "no algorithm for this %s on %d ranks",
                       tt_coll_name(call->coll), map->p);
    *algorithm = a;
    return TUTTI_OK;
}
