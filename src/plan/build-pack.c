/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finishing a plan: the builder's arrays are copied one after the other into one block of memory.
 */
#include "plan/build-inside.h"

#include <string.h>

/* Returns the greatest offset in WIN at which a range with a shape ends, over all turns. Rotation
 * and stride are counted; a move without rotation is not. The text of a plan may contain any
 * numbers: an end beyond 64 bits is cut to 64 bits, and tt_plan_invalid refuses the plan. */
static int64_t reach(const struct tt_builder *b, const struct tt_range *r, int64_t len)
{
    struct tt_shape s = shape_of(b, *r);
    __int128 end = r->off;
    if (s.mod > 0) end += (__int128)(s.mod - 1) * s.step[0];
    end += s.block > 0 ? (__int128)(len / s.block - 1) * s.stride + s.block : len;
    return end < INT64_MAX ? (int64_t)end : INT64_MAX;
}

static void measure_window(struct tt_builder *b)
{
    const struct tt_step *s = (const struct tt_step *)b->steps.data;
    const struct tt_range *ranges = (const struct tt_range *)b->ranges.data;
    for (size_t i = 0; i < b->steps.n; i++)
        for (uint32_t k = 0; s[i].kind != TT_SIGNAL && k < s[i].nops; k++) {
            const struct tt_range *r = &ranges[s[i].first + k];
            if (r->buf == TT_WIN && r->shape && r->rank == TT_SELF)
                b->plan.win_bytes = tt_max(b->plan.win_bytes, reach(b, r, s[i].len));
        }
}

static void *pack(struct array *a, char **at)
{
    char *to = *at;
    if (a->n) memcpy(to, a->data, a->n * a->sz);
    *at += tt_round_up((int64_t)(a->n * a->sz), 8);
    return to;
}

static size_t packed_bytes(const struct tt_builder *b)
{
    const struct array *all[] = {&b->steps, &b->ranges,    &b->shapes, &b->varies,
                                 &b->ranks, &b->exchanges, &b->entries};
    size_t bytes = (size_t)tt_round_up(sizeof(struct tt_plan), 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        bytes += (size_t)tt_round_up((int64_t)(all[i]->n * all[i]->sz), 8);
    return bytes + (b->name_is_lent ? strlen(b->plan.algorithm) + 1 : 0);
}

static void pack_all(struct tt_builder *b, struct tt_plan *plan, char *at)
{
    plan->steps_n = (uint32_t)b->steps.n;
    plan->ranges_n = (uint32_t)b->ranges.n;
    plan->shapes_n = (uint32_t)b->shapes.n;
    plan->varies_n = (uint32_t)b->varies.n;
    plan->ranks_n = (uint32_t)b->ranks.n;
    plan->exchanges_n = (uint32_t)b->exchanges.n;
    plan->entries_n = (uint32_t)b->entries.n;
    plan->steps = pack(&b->steps, &at);
    plan->ranges = pack(&b->ranges, &at);
    plan->shapes = pack(&b->shapes, &at);
    plan->varies = pack(&b->varies, &at);
    plan->ranks = pack(&b->ranks, &at);
    plan->exchanges = pack(&b->exchanges, &at);
    plan->entries = pack(&b->entries, &at);
    if (b->name_is_lent) plan->algorithm = strcpy(at, b->plan.algorithm);
}

struct tt_plan *tt_builder_finish(struct tt_builder *b)
{
    if (b->depth || b->dead) b->error = "a loop without an end";
    if (b->error) {
        (void)tt_fail(b->starved ? TUTTI_ERR_MEMORY : TUTTI_ERR_LIMIT, "cannot build a plan: %s",
                      b->error);
        return NULL;
    }
    if (b->shapes.n) measure_window(b);
    size_t bytes = packed_bytes(b);
    struct tt_plan *plan = tt_alloc(bytes);
    if (!plan) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan of %zu bytes", bytes);
        return NULL;
    }
    *plan = b->plan;
    plan->bytes = (int64_t)bytes;
    pack_all(b, plan, (char *)plan + tt_round_up(sizeof *plan, 8));
    return plan;
}

void tt_plan_free(struct tt_plan *plan)
{
    tt_free(plan);
}

/* Converts a pointer into the plan's block to a pointer to the same place in the copy's block.
 * Returns any other pointer, such as one to static text, unchanged. */
static const void *moved(const struct tt_plan *plan, const struct tt_plan *copy, const void *at)
{
    uintptr_t offset = (uintptr_t)at - (uintptr_t)plan;
    return offset <= (uintptr_t)plan->bytes ? (const char *)copy + offset : at;
}

struct tt_plan *tt_plan_copy(const struct tt_plan *plan)
{
    struct tt_plan *copy = tt_alloc((size_t)plan->bytes);
    if (!copy) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan of %lld bytes",
                      (long long)plan->bytes);
        return NULL;
    }
    memcpy(copy, plan, (size_t)plan->bytes);
    copy->algorithm = moved(plan, copy, plan->algorithm);
    copy->steps = moved(plan, copy, plan->steps);
    copy->ranges = moved(plan, copy, plan->ranges);
    copy->shapes = moved(plan, copy, plan->shapes);
    copy->varies = moved(plan, copy, plan->varies);
    copy->ranks = moved(plan, copy, plan->ranks);
    copy->exchanges = moved(plan, copy, plan->exchanges);
    copy->entries = moved(plan, copy, plan->entries);
    return copy;
}
