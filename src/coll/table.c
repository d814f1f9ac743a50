/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all algorithms, and what is the same for all of them: an empty message needs no
 * steps, and a single rank needs only a copy.
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

/* Returns whether no data moves between ranks, because there is only one rank or the message is
 * empty. In the v-forms each rank knows only its own counts, so the builder drops empty steps
 * instead. */
static bool is_alone(const struct tt_call *call, const struct tt_map *map)
{
    bool empty = call->n == 0 && call->coll != TT_COLL_barrier && !tt_call_segments(call);
    return map->p == 1 || empty;
}

static struct tt_span alone_bytes(const struct tt_call *call, int64_t *from)
{
    *from = call->in_displs ? call->in_displs[0] * call->sz : 0;
    if (call->coll == TT_COLL_barrier || call->coll == TT_COLL_bcast ||
        call->coll == TT_COLL_exscan)
        return (struct tt_span){0};
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
    tt_assert(tt_map_valid(map) && tt_call_valid(call, map->p));
    if (!is_alone(call, map)) {
        algorithm->build(b, call, map, me, phase);
    } else if (phase == 0) {
        int64_t from;
        struct tt_span to = alone_bytes(call, &from);
        tt_copy_in(b, call, to.off, from, to.len);
    }
}

struct tt_plan *tt_algorithm_plan_with(struct tt_builder *b, const struct tt_algorithm *algorithm,
                                       const struct tt_call *call, const struct tt_map *map, int me)
{
    if (algorithm->plans) return tt_plan_copy(algorithm->plans[me]);
    tt_builder_reset(b, map->p, me, call, algorithm->name);
    if (tt_coll_pairs(call->coll)) tt_builder_divide(b, map->low_bytes);
    for (int phase = 0; phase < tt_algorithm_phases(algorithm, call, map); phase++)
        tt_algorithm_build(algorithm, b, call, map, me, phase);
    struct tt_plan *plan = tt_builder_finish(b);
    tt_assert(!plan || !tt_plan_invalid(plan, NULL));
    return plan;
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
