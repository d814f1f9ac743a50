/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting. Each step comes through the iterator, and its bytes are added where they are sent,
 * received, reduced or copied.
 */
#include "plan/count.h"

/* Counts bytes that `reader` takes from `writer`; both may be the same rank. */
static void moved(struct tt_count *count, int writer, int reader, int64_t len)
{
    count[writer].sent += len;
    count[reader].received += len;
}

static int owner(const struct tt_plan *plan, const struct tt_range *r)
{
    return r->rank == TT_SELF ? plan->me : r->rank;
}

/* Counts the operands that belong to other ranks as one message each. Returns how many there
 * are. */
static uint32_t far_operands(const struct tt_plan *plan, const struct tt_plain *s,
                             struct tt_count *count)
{
    uint32_t far = 0;
    for (uint32_t k = 1; k < s->nops; k++) {
        if (s->range[k].rank == TT_SELF) continue;
        moved(count, owner(plan, &s->range[k]), plan->me, s->len);
        far++;
    }
    count[plan->me].messages += far;
    return far;
}

static void one_sided(const struct tt_plan *plan, const struct tt_plain *s, struct tt_count *count)
{
    moved(count, owner(plan, &s->range[1]), owner(plan, &s->range[0]), s->len);
    count[plan->me].messages++;
}

static void add_step(const struct tt_plan *plan, const struct tt_plain *s, struct tt_count *count)
{
    struct tt_count *mine = &count[plan->me];
    mine->steps++;
    switch (s->kind) {
    case TT_SEND:
        mine->sent += s->len;
        mine->messages++;
        break;
    case TT_RECV: mine->received += s->len; break;
    case TT_PUT:
    case TT_GET: one_sided(plan, s, count); break;
    case TT_COPY:
        if (far_operands(plan, s, count) == 0) mine->copied += s->len;
        break;
    case TT_REDUCE:
        if (far_operands(plan, s, count) == 0 && s->nops == 2) mine->copied += s->len;
        mine->reduced += (int64_t)(s->nops - 2) * s->len;
        break;
    case TT_WAIT:
    case TT_SIGNAL:
    case TT_AWAIT:
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
}

static tutti_status add_lane(const struct tt_plan *plan, int lane, struct tt_count *count)
{
    struct tt_iter iter;
    struct tt_plain step;
    void *memory = tt_alloc(tt_iter_bytes(plan, lane));
    if (!memory) return tt_fail(TUTTI_ERR_MEMORY, "no memory to count a plan");
    tt_iter_begin(&iter, plan, lane, memory);
    while (tt_iter_next(&iter, &step)) add_step(plan, &step, count);
    tt_free(memory);
    return TUTTI_OK;
}

tutti_status tt_count_plan(const struct tt_plan *plan, struct tt_count *count)
{
    for (uint32_t lane = 0; lane < plan->lanes; lane++) TT_TRY(add_lane(plan, (int)lane, count));
    return TUTTI_OK;
}

tutti_status tt_count_plans(const struct tt_plan *const *plans, int p, struct tt_count *count)
{
    for (int r = 0; r < p; r++) count[r] = (struct tt_count){0};
    for (int r = 0; r < p; r++) TT_TRY(tt_count_plan(plans[r], count));
    return TUTTI_OK;
}

struct tt_count tt_count_worst(const struct tt_count *count, int p)
{
    struct tt_count worst = {0};
#define RAISE(field) worst.field = tt_max(worst.field, count[r].field);
    for (int r = 0; r < p; r++) {
        TT_COUNT_FIELDS(RAISE)
    }
#undef RAISE
    return worst;
}

struct tt_count tt_count_sum(const struct tt_count *count, int p)
{
    struct tt_count sum = {0};
#define ADD(field) sum.field += count[r].field;
    for (int r = 0; r < p; r++) {
        TT_COUNT_FIELDS(ADD)
    }
#undef ADD
    return sum;
}
