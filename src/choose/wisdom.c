/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wisdom of a job: which line decides for a call.
 */
#include "choose/wisdom.h"

#include <stdio.h>
#include <string.h>

enum { SIZES = 63 };

int tt_size_class(int64_t bytes)
{
    int log2 = 3;
    while (log2 < SIZES - 1 && INT64_C(1) << log2 < bytes) log2++;
    return log2;
}

/* Returns how many ranks from r on are on the node of rank r. */
static int run_from(const struct tt_map *map, int r)
{
    int n = 1;
    while (r + n < map->p && map->node[r + n] == map->node[r]) n++;
    return n;
}

/* Writes how many ranks are on each node of the map, in the order of the ranks; or, if the text has
 * no room for that and all nodes have equally many ranks, "4*64" (64 nodes of 4 ranks). Returns
 * false if neither is possible, or the ranks of a node are not adjacent. */
static bool print_layout(const struct tt_map *map, char text[TT_WISDOM_LAYOUT])
{
    size_t used = 0;
    int runs = 0;
    bool fits = true, equal = true;
    text[0] = '\0';
    if (tt_map_one_node(map)) return true;
    for (int r = 0, n, first = run_from(map, 0); r < map->p; r += n, runs++) {
        n = run_from(map, r);
        equal = equal && n == first;
        fits = fits && used + 16 <= TT_WISDOM_LAYOUT;
        if (fits) used += (size_t)sprintf(text + used, "%s%d", r ? "," : "", n);
    }
    if (!fits && equal) sprintf(text, "%d*%d", map->p / runs, runs);
    return (fits || equal) && runs == map->nodes;
}

static enum tt_reach_word reach_of(const struct tt_map *map)
{
    if (!tt_map_one_node(map)) return map->one_kernel ? TT_REACH_kernel : TT_REACH_window;
    return map->mapped ? TT_REACH_load : map->reads ? TT_REACH_read : TT_REACH_window;
}

bool tt_wisdom_place(const struct tt_call *call, const struct tt_map *map, struct tt_wise *wise,
                     char layout[TT_WISDOM_LAYOUT])
{
    bool barrier = call->coll == TT_COLL_barrier, reduces = tt_coll_has_op(call->coll);
    if (map->p < 2 || map->net || tt_call_counts(call) || !print_layout(map, layout)) return false;
    *wise = (struct tt_wise){.bytes = barrier ? 0 : tt_call_bytes(call),
                             .p = map->p,
                             .cores = (int32_t)tt_max(1, tt_min(map->cores, map->p)),
                             .layout = tt_wisdom_hash(layout),
                             .coll = (uint8_t)call->coll,
                             .type = TT_WISE_NONE,
                             .op = TT_WISE_NONE,
                             .reach = (uint8_t)reach_of(map)};
    if (!barrier && (unsigned)call->type < TUTTI_TYPES) wise->type = (uint8_t)call->type;
    if (reduces && (unsigned)call->op < TUTTI_OPS) wise->op = (uint8_t)call->op;
    return true;
}

const struct tt_algorithm *tt_wisdom_algorithm(const struct tt_wise *wise)
{
    uint32_t i = 0;
    while (tt_algorithms[i] && i < wise->algorithm) i++;
    const struct tt_algorithm *a = tt_algorithms[i];
    return a && (uint8_t)a->coll == wise->coll ? a : NULL;
}

/* Returns how well a line fits the call whose properties are `place`, up to 3; 0: not at all. */
static int fit(const struct tt_wise *line, const struct tt_wise *place)
{
    if (line->coll != place->coll || line->p != place->p || line->cores != place->cores ||
        line->layout != place->layout || line->reach != place->reach ||
        tt_size_class(line->bytes) != tt_size_class(place->bytes))
        return 0;
    if (line->type != place->type || line->op != place->op) return 1;
    return line->bytes != place->bytes ? 2 : 3;
}

/* Returns whether the algorithm refuses the call with the parameters of the line. */
static bool is_refused(const struct tt_wise *line, const struct tt_algorithm *a,
                       const struct tt_call *call, const struct tt_map *map)
{
    struct tt_call tuned = *call;
    tt_tune(&tuned, line->slice, line->radix, line->lanes);
    return a->refuse(&tuned, map) != NULL;
}

const struct tt_wise *tt_wisdom_find(const struct tt_call *call, const struct tt_map *map)
{
    struct tt_wise place;
    char layout[TT_WISDOM_LAYOUT];
    const struct tt_wise *best = NULL;
    int best_fit = 0;
    if (!map->wisdom || call->as || !tt_wisdom_place(call, map, &place, layout)) return NULL;
    for (uint32_t i = 0; i < map->wisdom->n; i++) {
        const struct tt_wise *line = &map->wisdom->line[i];
        int fits = fit(line, &place);
        const struct tt_algorithm *a = fits > best_fit ? tt_wisdom_algorithm(line) : NULL;
        if (!a || is_refused(line, a, call, map)) continue;
        best = line;
        best_fit = fits;
    }
    return best;
}
