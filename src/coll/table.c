/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all algorithms, and what is the same for all of them: nothing to do for an empty
 * message, only a copy for a single rank.
 */
#include "coll/coll-util.h"

#include <string.h>

#define ROW(name) &tt_##name,
const struct tt_algorithm *const tt_algorithms[] = {TT_ALGORITHMS(ROW) NULL};

const struct tt_algorithm *tt_algorithm_find(enum tt_coll coll, const char *name)
{
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        if ((*a)->coll == coll && strcmp((*a)->name, name) == 0) return *a;
    return NULL;
}

/* No data to move between ranks: a single rank, or nothing in it (in the v-forms it is seen later,
 * since counts are a rank's own). */
static bool is_alone(const struct tt_call *call, const struct tt_map *map)
{
    bool empty = call->n == 0 && call->coll != TT_COLL_barrier && !tt_call_segments(call);
    return map->p == 1 || empty;
}

static struct tt_span alone_bytes(const struct tt_call *call, int64_t *from)
{
    *from = call->in_displs ? call->in_displs[0] * call->sz : 0;
    if (call->coll == TT_COLL_barrier || call->coll == TT_COLL_bcast) return (struct tt_span){0};
    if (!call->out_displs) return (struct tt_span){.len = tt_call_bytes(call)};
    return (struct tt_span){call->out_displs[0] * call->sz, call->out_counts[0] * call->sz};
}

void tt_algorithm_build(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase)
{
    tt_phase(b, phase);
    tt_algorithm_steps(algorithm, b, call, map, me, phase);
}

void tt_algorithm_steps(const struct tt_algorithm *algorithm, struct tt_builder *b,
                        const struct tt_call *call, const struct tt_map *map, int me, int phase)
{
    if (!is_alone(call, map)) {
        algorithm->build(b, call, map, me, phase);
    } else if (phase == 0) {
        int64_t from;
        struct tt_span to = alone_bytes(call, &from);
        tt_copy_in(b, call, to.off, from, to.len);
    }
}

static struct tt_count count_alone(const struct tt_call *call)
{
    int64_t from, len = call->in_place ? 0 : alone_bytes(call, &from).len;
    return (struct tt_count){.copied = len, .steps = len > 0};
}

struct tt_count tt_algorithm_count(const struct tt_algorithm *algorithm, const struct tt_call *call,
                                   const struct tt_map *map)
{
    struct tt_count most = {0};
    if (is_alone(call, map)) return count_alone(call);
    if (algorithm->count) return algorithm->count(call, map);
    for (int r = 0; r < map->p; r++) tt_count_raise(&most, algorithm->count_rank(call, map, r));
    return most;
}

struct tt_count tt_algorithm_count_rank(const struct tt_algorithm *algorithm,
                                        const struct tt_call *call, const struct tt_map *map,
                                        int me)
{
    return is_alone(call, map) ? count_alone(call) : algorithm->count_rank(call, map, me);
}

struct tt_plan *tt_algorithm_plan_with(struct tt_builder *b, const struct tt_algorithm *algorithm,
                                       const struct tt_call *call, const struct tt_map *map, int me)
{
    tt_builder_reset(b, map->p, me, call, algorithm->name);
    for (int phase = 0; phase < tt_algorithm_phases(algorithm, call, map); phase++)
        tt_algorithm_build(algorithm, b, call, map, me, phase);
    return tt_builder_finish(b);
}

struct tt_plan *tt_algorithm_plan(const struct tt_algorithm *algorithm, const struct tt_call *call,
                                  const struct tt_map *map, int me)
{
    struct tt_builder *b = tt_builder_new(map->p, me, call, algorithm->name);
    if (!b) return NULL;
    struct tt_plan *plan = tt_algorithm_plan_with(b, algorithm, call, map, me);
    tt_builder_free(b);
    return plan;
}
