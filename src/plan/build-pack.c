/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finishing a plan: the builder's arrays are copied one after the other into one block of memory. A
 * *vary entry* (struct tt_vary, plan.h) says how a step changes with the turns of its loops; `tail`
 * is its second length. WIN is the window of a rank.
 */
#include "plan/build-inside.h"

#include <string.h>

/* The turns of the innermost loop in which a step has one of its two lengths (struct tt_vary): the
 * first and the last of these turns. There are none if last < first. */
struct pack_turns {
    int64_t first, last;
};

/* Returns the turns in which the step has the length `tail` of its vary entry, or, if `tails` is
 * false, those in which it has its usual length. The innermost loop has `turns` turns. */
static struct pack_turns turns_of(const struct tt_vary *v, int64_t turns, bool tails)
{
    struct pack_turns t = {v->from, turns - 1};
    /* in turn i the step has the length `tail` if (i + phase) % period is period - 1 */
    int64_t period = v->tail_mod > 0 ? v->tail_mod : turns;
    int64_t first = (t.first + v->tail_phase) % period, last = (t.last + v->tail_phase) % period;
    if (tails) {
        t.first += period - 1 - first;
        t.last -= (last + 1) % period;
    } else if (v->tail >= 0) {
        t.first += first == period - 1;
        t.last = period == 1 ? -1 : t.last - (last == period - 1);
    }
    return t;
}

/* Returns whether the iterator of the plan applies the shapes and vary entries (tt_iter_begin). In
 * a plan without loops and generators it takes each step as it is stored. */
static bool unrolls(const struct tt_builder *b)
{
    return b->plan.loops || b->exchanges.n;
}

/* Returns the greatest distance by which the innermost loop moves a range in these turns, in
 * bytes. */
static __int128 farthest(const struct tt_shape *s, const struct pack_turns *t)
{
    int64_t low = t->first + s->phase, high = t->last + s->phase;
    if (s->mod > 0) {
        bool wraps = low / s->mod != high / s->mod;
        low = wraps ? 0 : low % s->mod;
        high = wraps ? s->mod - 1 : high % s->mod;
    }
    return (__int128)s->step[0] * (s->step[0] > 0 ? high : low);
}

/* Raises win_bytes to the end of the part of WIN that a step of `len` bytes uses in these turns.
 * `outer` is the number of turns of the outer loop. The text of a plan may contain any numbers: an
 * end beyond 64 bits is cut to 64 bits, and tt_plan_invalid refuses the plan. */
static void measure_turns(struct tt_builder *b, const struct tt_step *step, int64_t len,
                          struct pack_turns t, int64_t outer)
{
    const struct tt_range *r = (const struct tt_range *)b->ranges.data + step->first;
    if (len <= 0 || t.first > t.last) return;
    for (const struct tt_range *last = r + step->nops; r < last; r++) {
        if (r->buf != TT_WIN || r->rank != TT_SELF) continue;
        struct tt_shape s = shape_of(b, *r);
        __int128 end = r->off;
        if (unrolls(b)) end += farthest(&s, &t);
        if (s.step[1] > 0) end += (__int128)s.step[1] * (outer - 1);
        end += s.block > 0 ? (__int128)(len / s.block - 1) * s.stride + s.block : len;
        if (end > b->plan.win_bytes) b->plan.win_bytes = end < INT64_MAX ? (int64_t)end : INT64_MAX;
    }
}

/* Sets win_bytes to the greatest end of all ranges in this rank's WIN, over all turns of all loops.
 * The result is exact, unless both the range of a step and the turns in which the step has the
 * length `tail` rotate (tt_shape.mod, tt_vary.tail_mod): then it may be too large. */
static void measure_window(struct tt_builder *b)
{
    const struct tt_vary *varies = (const struct tt_vary *)b->varies.data;
    const struct tt_step *s = (const struct tt_step *)b->steps.data;
    /* The turns of the loops around the step. A step at depth d (0: in no loop) uses turns[d + 1],
     * those of its innermost loop, and turns[d], those of the loop around that. The loop at depth d
     * (1: the outermost) has its turns in turns[d + 1]. turns[0] and turns[1] are always 1: they
     * stand in for the loops that a step at depth 0 or 1 does not have. */
    int64_t turns[TT_DEPTH + 2] = {1, 1};
    int depth = 0;
    if (!b->uses_window) return;
    for (size_t left = b->steps.n; left > 0; left--, s++) {
        if (s->kind == TT_LOOP) turns[1 + ++depth] = s->value;
        if (s->kind == TT_END) depth--;
        if (s->kind == TT_SIGNAL || s->nops == 0) continue;
        struct tt_vary v = s->vary && unrolls(b) ? varies[s->vary] : (struct tt_vary){0};
        if (!s->vary || depth == 0) v.tail = -1;
        int64_t inner = turns[1 + depth], outer = turns[depth];
        measure_turns(b, s, s->len, turns_of(&v, inner, false), outer);
        measure_turns(b, s, v.tail, turns_of(&v, inner, true), outer);
    }
}

/* Copies an array to *at, and moves *at behind it. The bytes up to the next multiple of 8 become 0,
 * so that equal plans are equal byte by byte. */
static void *pack(struct array *a, char **at)
{
    char *to = *at;
    if (a->n == 0) return to;
    size_t bytes = a->n * a->sz, whole = (bytes + 7) / 8 * 8;
    memcpy(to, a->data, bytes);
    memset(to + bytes, 0, whole - bytes);
    *at += whole;
    return to;
}

static size_t packed_bytes(const struct tt_builder *b)
{
    const struct array *all[] = {&b->steps, &b->ranges,    &b->shapes, &b->varies,
                                 &b->ranks, &b->exchanges, &b->entries};
    size_t bytes = (size_t)tt_round_up(sizeof(struct tt_plan), 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->n) bytes += (size_t)tt_round_up((int64_t)(all[i]->n * all[i]->sz), 8);
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
    if (!b->error && (b->depth || b->dead)) b->error = "a loop without an end";
    if (b->error) {
        bool starved = tt_memory_lacks() != b->lacks;
        (void)tt_fail(starved ? TUTTI_ERR_MEMORY : TUTTI_ERR_LIMIT, "cannot build a plan: %s",
                      b->error);
        return NULL;
    }
    measure_window(b);
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
