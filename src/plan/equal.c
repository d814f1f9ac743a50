/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares two plans. A step may refer to entries of the plan's tables, for example to a set of
 * ranks. Such an entry is compared when the step is compared, so it does not matter at which index
 * of its table it is.
 */
#include "plan/plan.h"

#include <string.h>

static bool same_shape(const struct tt_shape *a, const struct tt_shape *b)
{
    return a->step[0] == b->step[0] && a->step[1] == b->step[1] && a->mod == b->mod &&
           a->phase == b->phase && a->block == b->block && a->stride == b->stride;
}

static const struct tt_shape *shape_of(const struct tt_plan *plan, const struct tt_range *r)
{
    static const struct tt_shape neither = {0};
    return r->shape ? &plan->shapes[r->shape] : &neither;
}

static struct tt_vary vary_of(const struct tt_plan *plan, const struct tt_step *s)
{
    return s->vary ? plan->varies[s->vary] : (struct tt_vary){.tail = -1};
}

static bool same_vary(struct tt_vary a, struct tt_vary b)
{
    return a.inc[0] == b.inc[0] && a.inc[1] == b.inc[1] && a.from == b.from && a.tail == b.tail &&
           a.tail_mod == b.tail_mod && a.tail_phase == b.tail_phase;
}

static bool same_ranges(const struct tt_plan *a, const struct tt_step *sa, const struct tt_plan *b,
                        const struct tt_step *sb)
{
    const struct tt_range *ra = a->ranges + sa->first, *rb = b->ranges + sb->first;
    for (uint32_t k = 0; k < sa->nops; k++) {
        if (ra[k].off != rb[k].off || ra[k].rank != rb[k].rank || ra[k].buf != rb[k].buf ||
            !same_shape(shape_of(a, &ra[k]), shape_of(b, &rb[k])))
            return false;
    }
    return true;
}

static bool same_entries(const struct tt_entry *a, const struct tt_entry *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].mine != b[i].mine || a[i].theirs != b[i].theirs || a[i].len != b[i].len ||
            a[i].peer != b[i].peer)
            return false;
    }
    return true;
}

static bool same_exchange(const struct tt_plan *a, const struct tt_step *sa,
                          const struct tt_plan *b, const struct tt_step *sb)
{
    const struct tt_exchange *xa = &a->exchanges[sa->first], *xb = &b->exchanges[sb->first];
    return xa->order == xb->order && xa->window == xb->window && xa->seed == xb->seed &&
           xa->chunk == xb->chunk && xa->n == xb->n && xa->from == xb->from &&
           same_entries(a->entries + xa->first, b->entries + xb->first, xa->n);
}

static bool same_set(const struct tt_plan *a, const struct tt_step *sa, const struct tt_plan *b,
                     const struct tt_step *sb)
{
    return memcmp(a->ranks + sa->first, b->ranks + sb->first, sa->nops * sizeof *a->ranks) == 0;
}

/* Compares the operands that step.first stands for. In some kinds of steps it is an index into one
 * of the plan's tables, whose entries are compared; in the others it is a number. */
static bool same_operands(const struct tt_plan *a, const struct tt_step *sa,
                          const struct tt_plan *b, const struct tt_step *sb)
{
    if (sa->kind == TT_EXCHANGE) return same_exchange(a, sa, b, sb);
    if (sa->kind == TT_SIGNAL && sa->peer == TT_SET) return same_set(a, sa, b, sb);
    return sa->nops ? same_ranges(a, sa, b, sb) : sa->first == sb->first;
}

static bool same_step(const struct tt_plan *a, const struct tt_step *sa, const struct tt_plan *b,
                      const struct tt_step *sb)
{
    return sa->kind == sb->kind && sa->sub == sb->sub && sa->peer == sb->peer &&
           sa->nops == sb->nops && sa->len == sb->len && sa->value == sb->value &&
           same_vary(vary_of(a, sa), vary_of(b, sb)) && same_operands(a, sa, b, sb);
}

static bool same_header(const struct tt_plan *a, const struct tt_plan *b)
{
    return a->coll == b->coll && a->p == b->p && a->me == b->me &&
           strcmp(a->algorithm, b->algorithm) == 0 && a->type == b->type && a->op == b->op &&
           a->lanes == b->lanes && a->opens == b->opens && a->operands == b->operands &&
           a->segments == b->segments && a->loops == b->loops && a->tmp_bytes == b->tmp_bytes &&
           a->win_bytes == b->win_bytes && a->steps_n == b->steps_n;
}

bool tt_plan_equal(const struct tt_plan *a, const struct tt_plan *b)
{
    if (!same_header(a, b)) return false;
    for (uint32_t i = 0; i < a->lanes; i++) {
        if (a->lane[i].first != b->lane[i].first || a->lane[i].n != b->lane[i].n ||
            a->lane[i].starts != b->lane[i].starts)
            return false;
    }
    for (uint32_t i = 0; i < a->steps_n; i++)
        if (!same_step(a, &a->steps[i], b, &b->steps[i])) return false;
    return true;
}
