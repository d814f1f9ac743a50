/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Appends steps to growing arrays, which build-pack.c then packs into one block. An algorithm never
 * sees an error: the builder keeps it, and tt_builder_finish returns it. A *vary entry* (struct
 * tt_vary, plan.h) says how a step changes with the turns of its loops.
 */
#include "plan/build-inside.h"

#include <limits.h>
#include <string.h>

#define NO_LOOP UINT32_MAX

static bool grow(struct tt_builder *b, struct array *a, size_t n)
{
    size_t room = a->room ? a->room : 32;
    while (room < a->n + n) room *= 2;
    if (room > UINT32_MAX) {
        b->error = "more than a plan can hold";
        return false;
    }
    char *data = tt_realloc(a->data, room * a->sz);
    if (!data) {
        b->error = "out of memory";
        return false;
    }
    a->data = data;
    a->room = room;
    return true;
}

/* Makes room for n more elements at the end of an array. Returns the place, which the caller fills;
 * NULL if there is no memory. */
static inline void *extend(struct tt_builder *b, struct array *a, size_t n)
{
    if (tt_unlikely(a->n + n > a->room) && !grow(b, a, n)) return NULL;
    char *place = a->data + a->n * a->sz;
    a->n += n;
    return place;
}

static bool append(struct tt_builder *b, struct array *a, const void *elements, size_t n)
{
    void *place = extend(b, a, n);
    if (place && n) memcpy(place, elements, n * a->sz);
    return place != NULL;
}

static void each_array(struct tt_builder *b, void (*what)(struct array *, size_t sz))
{
    what(&b->steps, sizeof(struct tt_step));
    what(&b->ranges, sizeof(struct tt_range));
    what(&b->shapes, sizeof(struct tt_shape));
    what(&b->varies, sizeof(struct tt_vary));
    what(&b->ranks, sizeof(int32_t));
    what(&b->exchanges, sizeof(struct tt_exchange));
    what(&b->entries, sizeof(struct tt_entry));
    what(&b->homes, sizeof(uint32_t));
}

static void array_empty(struct array *a, size_t sz)
{
    a->n = 0;
    a->sz = sz;
}

static void array_free(struct array *a, size_t sz)
{
    (void)sz;
    tt_free(a->data);
}

void tt_builder_reset(struct tt_builder *b, int p, int me, const struct tt_call *call,
                      const char *algorithm)
{
    each_array(b, array_empty);
    b->plan = (struct tt_plan){.p = p,
                               .me = me,
                               .coll = call->coll,
                               .algorithm = algorithm,
                               .type = call->type,
                               .op = call->op,
                               .lanes = 1,
                               .segments = tt_call_segments(call)};
    b->depth = b->dead = 0;
    b->entries_taken = 0;
    b->value_base = 0;
    b->leaves_phase = false;
    b->scratch = b->lane_tmp = 0;
    b->uses_window = false;
    b->last_dropped = true; /* no step exists yet that tt_tail or tt_from could change */
    b->part = NULL;
    b->part_tmp = 0;
    b->low = 0;
    b->error = NULL;
    b->lacks = tt_memory_lacks();
    b->name_is_lent = false;
}

void tt_builder_name_is_lent(struct tt_builder *b)
{
    b->name_is_lent = true;
}

struct tt_builder *tt_builder_new(int p, int me, const struct tt_call *call, const char *algorithm)
{
    struct tt_builder *b = tt_calloc(1, sizeof *b);
    if (!b) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a plan");
        return NULL;
    }
    tt_builder_reset(b, p, me, call, algorithm);
    return b;
}

void tt_builder_free(struct tt_builder *b)
{
    if (!b) return;
    each_array(b, array_free);
    tt_free(b);
}

void tt_builder_divide(struct tt_builder *b, int64_t bytes)
{
    b->low = bytes;
}

void tt_builder_fail(struct tt_builder *b, const char *why)
{
    b->error = why;
}

/* ---- Steps ---- */

static struct tt_step *last_step(struct tt_builder *b)
{
    return (struct tt_step *)b->steps.data + b->steps.n - 1;
}

static struct tt_lane *lane(struct tt_builder *b)
{
    return &b->plan.lane[b->plan.lanes - 1];
}

/* Returns the turns after the first turn of the i-th of the open loops around the last step, where
 * the innermost loop is number 0. */
static int64_t turns_after_first(const struct tt_builder *b, int i)
{
    const struct tt_step *steps = (const struct tt_step *)b->steps.data;
    return (int64_t)steps[b->loop[b->depth - 1 - i]].value - 1;
}

/* Notes whether the flag value of the last step, a signal or await, leaves the values of its phase
 * in the last turn of its loops. The value of the first turn may be below those of the phase, if
 * the step begins in a later turn. */
static void note_value(struct tt_builder *b)
{
    const struct tt_step *s = last_step(b);
    const struct tt_vary *varies = (const struct tt_vary *)b->varies.data;
    int64_t last = (int32_t)(s->value - b->value_base);
    for (int i = 0; i < b->depth && s->vary; i++)
        last += tt_max(varies[s->vary].inc[i], 0) * turns_after_first(b, i);
    b->leaves_phase |= last >= TT_PHASE_VALUES;
}

/* Appends a step. The function is inline so that the step is written to its place directly. */
static inline void step(struct tt_builder *b, const struct tt_step *s)
{
    struct tt_step *place = b->dead ? NULL : extend(b, &b->steps, 1);
    b->last_dropped = !place;
    if (!place) return;
    *place = *s;
    lane(b)->n++;
    if (s->kind == TT_SIGNAL || s->kind == TT_AWAIT) note_value(b);
}

/* Converts a range of the subteam for which the plan is being built (b->part), if there is one, to
 * a range of the team. Sets the rank of the range to TT_SELF if the range belongs to this rank. */
static struct tt_range settled(struct tt_builder *b, struct tt_range r, int64_t len)
{
    if (b->part) r = tt_build_range(b, r);
    if (r.rank == b->plan.me) r.rank = TT_SELF;
    if (r.buf != TT_WIN) return r;
    b->uses_window |= r.rank == TT_SELF;
    if (r.off < b->low && r.off + len > b->low) b->error = "a range that is in both windows";
    return r;
}

/* Appends a step with ranges. Returns false if the step was dropped, for example because its length
 * is 0. */
static inline bool ranged(struct tt_builder *b, struct tt_step s, const struct tt_range *r,
                          uint32_t n)
{
    b->last_dropped = true;
    if (b->dead || s.len <= 0) return false;
    s.first = (uint32_t)b->ranges.n;
    s.nops = n;
    struct tt_range *to = extend(b, &b->ranges, n);
    if (!to) return false;
    for (uint32_t i = 0; i < n; i++) to[i] = settled(b, r[i], s.len);
    if (n > b->plan.operands) b->plan.operands = n;
    step(b, &s);
    return !b->last_dropped;
}

static tt_started started(struct tt_builder *b)
{
    uint32_t *home = extend(b, &b->homes, 1);
    if (home) *home = b->depth ? b->loop[b->depth - 1] : NO_LOOP;
    return lane(b)->starts++;
}

int64_t tt_builder_steps(const struct tt_builder *b)
{
    return b->error ? -1 : (int64_t)b->steps.n;
}

tt_started tt_builder_starts(const struct tt_builder *b)
{
    return b->plan.lane[b->plan.lanes - 1].starts;
}

static bool loop_is_open(const struct tt_builder *b, uint32_t loop)
{
    for (int d = 0; d < b->depth; d++)
        if (b->loop[d] == loop) return true;
    return loop == NO_LOOP;
}

static tt_started start(struct tt_builder *b, enum tt_kind kind, int peer, const struct tt_range *r,
                        uint32_t n, int64_t len)
{
    struct tt_step s = {.kind = (uint8_t)kind,
                        .peer = tt_build_rank(b, peer),
                        .value = lane(b)->starts,
                        .len = len};
    if (!ranged(b, s, r, n)) return TT_DROPPED;
    return started(b);
}

tt_started tt_send(struct tt_builder *b, int peer, struct tt_range from, int64_t len)
{
    return start(b, TT_SEND, peer, &from, 1, len);
}

tt_started tt_recv(struct tt_builder *b, int peer, struct tt_range to, int64_t len)
{
    return start(b, TT_RECV, peer, &to, 1, len);
}

tt_started tt_put(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len)
{
    return start(b, TT_PUT, to.rank, (struct tt_range[]){to, from}, 2, len);
}

tt_started tt_get(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len)
{
    return start(b, TT_GET, from.rank, (struct tt_range[]){to, from}, 2, len);
}

void tt_wait_ago(struct tt_builder *b, tt_started id, int ago)
{
    tt_assert(ago >= 0 && ago < TT_IN_FLIGHT);
    b->last_dropped = true;
    if (id == TT_DROPPED || b->error) return;
    uint32_t home = ((const uint32_t *)b->homes.data)[id];
    step(b, &(struct tt_step){
                .kind = TT_WAIT, .value = id, .sub = (uint8_t)ago, .first = loop_is_open(b, home)});
}

void tt_wait(struct tt_builder *b, tt_started id)
{
    tt_wait_ago(b, id, 0);
}

void tt_signal_set(struct tt_builder *b, const int32_t *ranks, uint32_t n, uint32_t value)
{
    struct tt_step s = {.kind = TT_SIGNAL,
                        .peer = TT_SET,
                        .value = b->value_base + value,
                        .first = (uint32_t)b->ranks.n,
                        .nops = n};
    b->last_dropped = true;
    if (n == 0 || b->dead || !append(b, &b->ranks, ranks, n)) return;
    int32_t *set = (int32_t *)b->ranks.data + s.first;
    for (uint32_t i = 0; i < n; i++) set[i] = tt_build_rank(b, set[i]);
    step(b, &s);
}

/* Appends a signal to all other members of the subteam b->part. */
static void signal_part(struct tt_builder *b, uint32_t value)
{
    const struct tt_subteam *part = b->part;
    struct tt_step s = {.kind = TT_SIGNAL,
                        .peer = TT_SET,
                        .value = b->value_base + value,
                        .first = (uint32_t)b->ranks.n,
                        .nops = (uint32_t)part->p - 1};
    b->last_dropped = true;
    if (part->p == 1 || b->dead) return;
    int32_t *set = extend(b, &b->ranks, s.nops);
    for (int r = 0; set && r < part->p; r++)
        if (r != part->me) *set++ = part->member[r];
    if (set) step(b, &s);
}

void tt_signal(struct tt_builder *b, int peer, uint32_t value)
{
    b->last_dropped = true;
    if (peer == TT_ALL && b->part) {
        signal_part(b, value);
        return;
    }
    if (peer == TT_ALL && b->plan.p == 1) return;
    step(b, &(struct tt_step){
                .kind = TT_SIGNAL, .peer = tt_build_rank(b, peer), .value = b->value_base + value});
}

void tt_await_lane(struct tt_builder *b, int writer, int writers_lane, uint32_t value)
{
    step(b, &(struct tt_step){.kind = TT_AWAIT,
                              .peer = tt_build_rank(b, writer),
                              .sub = (uint8_t)writers_lane,
                              .value = b->value_base + value});
}

void tt_await(struct tt_builder *b, int writer, uint32_t value)
{
    tt_await_lane(b, writer, b->part ? (int)b->plan.lanes - 1 : 0, value);
}

void tt_copy(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len)
{
    ranged(b, (struct tt_step){.kind = TT_COPY, .len = len}, (struct tt_range[]){to, from}, 2);
}

void tt_combine(struct tt_builder *b, struct tt_range to, const struct tt_range *from, int k,
                int64_t len)
{
    struct tt_step s = {.kind = TT_REDUCE, .len = len};
    b->last_dropped = true;
    if (b->dead || len <= 0) return;
    s.first = (uint32_t)b->ranges.n;
    s.nops = (uint32_t)k + 1;
    struct tt_range *r = extend(b, &b->ranges, s.nops);
    if (!r) return;
    r[0] = settled(b, to, len);
    for (int i = 0; i < k; i++) r[i + 1] = settled(b, from[i], len);
    if (s.nops > b->plan.operands) b->plan.operands = s.nops;
    step(b, &s);
}

/* ---- Loops ---- */

void tt_loop(struct tt_builder *b, uint32_t turns)
{
    if (b->dead || turns == 0) {
        b->dead++;
        return;
    }
    if (b->depth == TT_DEPTH) {
        b->error = "loops nest too deep";
        return;
    }
    if (turns > TT_TURNS) b->error = "a loop with more than 2^30 turns";
    b->loop[b->depth++] = (uint32_t)b->steps.n;
    b->plan.loops = true;
    step(b, &(struct tt_step){.kind = TT_LOOP, .value = turns});
    b->last_dropped = true;
}

void tt_end(struct tt_builder *b)
{
    if (b->dead) {
        b->dead--;
        return;
    }
    if (b->depth == 0) {
        b->error = "an end without a loop";
        return;
    }
    uint32_t back = (uint32_t)b->steps.n - b->loop[--b->depth];
    step(b, &(struct tt_step){.kind = TT_END, .value = back});
    b->last_dropped = true;
}

static uint16_t shape(struct tt_builder *b, const struct tt_shape *s)
{
    if (b->shapes.n == 0) append(b, &b->shapes, &(struct tt_shape){0}, 1);
    if (b->shapes.n > UINT16_MAX) b->error = "a plan with more than 65535 shapes of ranges";
    const struct tt_shape *all = (const struct tt_shape *)b->shapes.data;
    for (size_t i = 1; i < b->shapes.n; i++)
        if (memcmp(&all[i], s, sizeof *s) == 0) return (uint16_t)i;
    uint16_t index = (uint16_t)b->shapes.n;
    append(b, &b->shapes, s, 1);
    return index;
}

struct tt_range tt_moving(struct tt_builder *b, struct tt_range r, int64_t inner, int64_t outer)
{
    struct tt_shape s = shape_of(b, r);
    s.step[0] = inner;
    s.step[1] = outer;
    r.shape = shape(b, &s);
    return r;
}

struct tt_range tt_rotating(struct tt_builder *b, struct tt_range r, int64_t by, int mod, int phase)
{
    struct tt_shape s = shape_of(b, r);
    s.step[0] = by;
    s.mod = mod;
    s.phase = phase;
    r.shape = shape(b, &s);
    return r;
}

struct tt_range tt_strided(struct tt_builder *b, struct tt_range r, int64_t block, int64_t stride)
{
    struct tt_shape s = shape_of(b, r);
    s.block = block;
    s.stride = stride;
    r.shape = shape(b, &s);
    return r;
}

/* Removes the last vary entry if it equals one of the few entries before it, and lets the step that
 * uses it use the earlier entry. This saves memory, because the steps of a loop often vary in the
 * same few ways, one after the other. Entry 0 means "does not vary". */
static void fold_varies(struct tt_builder *b)
{
    enum { BEFORE = 3 };
    const struct tt_vary *all = (const struct tt_vary *)b->varies.data;
    size_t n = b->varies.n, last = n - 1;
    for (size_t i = last; n > 2 && i-- > 1 && last - i <= BEFORE;) {
        if (memcmp(&all[last], &all[i], sizeof *all) != 0) continue;
        ((struct tt_step *)b->steps.data)[b->varied].vary = (uint16_t)i;
        b->varies.n--;
        return;
    }
}

/* Returns the vary entry of the last step, and makes it if there is none. No other step uses this
 * entry, so the caller may change it. */
static struct tt_vary *vary(struct tt_builder *b)
{
    struct tt_step *s = last_step(b);
    if (s->vary == 0) {
        struct tt_vary none = {.tail = -1};
        if (b->varies.n == 0) append(b, &b->varies, &none, 1);
        fold_varies(b);
        if (b->varies.n > UINT16_MAX) b->error = "a plan with more than 65535 varying steps";
        s->vary = (uint16_t)b->varies.n;
        b->varied = b->steps.n - 1;
        append(b, &b->varies, &none, 1);
    }
    return (struct tt_vary *)b->varies.data + s->vary;
}

void tt_tail(struct tt_builder *b, int64_t len)
{
    tt_tail_at(b, len, 0, 0);
}

void tt_tail_at(struct tt_builder *b, int64_t len, int mod, int phase)
{
    if (b->last_dropped || b->error) return;
    struct tt_vary *v = vary(b);
    v->tail = len;
    v->tail_mod = mod;
    v->tail_phase = phase;
}

void tt_from(struct tt_builder *b, uint32_t turn)
{
    if (!b->last_dropped && !b->error) vary(b)->from = turn;
}

void tt_per_turn(struct tt_builder *b, int inc, int outer)
{
    if (b->last_dropped || b->error) return;
    struct tt_vary *v = vary(b);
    v->inc[0] = inc;
    v->inc[1] = outer;
    note_value(b);
}

/* ---- Lanes, phases, exchanges and scratch ---- */

void tt_lane(struct tt_builder *b)
{
    if (b->plan.lanes == TT_LANES) {
        b->error = "a plan with too many lanes";
        return;
    }
    b->plan.lanes++;
    b->last_dropped = true;
    b->homes.n = 0;
    b->scratch = b->lane_tmp = b->plan.tmp_bytes;
    lane(b)->first = (uint32_t)b->steps.n;
}

void tt_phase(struct tt_builder *b, int phase)
{
    if ((uint32_t)phase > UINT32_MAX / TT_PHASE_VALUES) b->error = "more than 256 phases";
    if (phase > 0 && b->leaves_phase)
        b->error = "a phase, before the last one, with more than 2^24 flag values";
    b->leaves_phase = false;
    b->value_base = (uint32_t)phase * TT_PHASE_VALUES;
    b->scratch = b->lane_tmp;
}

void tt_open(struct tt_builder *b, uint32_t buffers)
{
    for (uint32_t buf = 0; buf < TT_BUFFERS; buf++)
        if (buffers >> buf & 1) b->plan.opens |= 1u << (b->part ? b->part->at[buf].buf : buf);
}

void tt_entry(struct tt_builder *b, const struct tt_entry *entry)
{
    if (entry->len > 0 && !b->dead) append(b, &b->entries, entry, 1);
}

void tt_exchange(struct tt_builder *b, const struct tt_exchange *how)
{
    if (b->part) b->error = "a generator in a part of the team";
    tt_assert(how->window >= 1 && how->window <= TT_IN_FLIGHT && how->chunk > 0);
    struct tt_exchange x = *how;
    x.first = b->entries_taken;
    x.n = (uint32_t)b->entries.n - x.first;
    b->entries_taken = (uint32_t)b->entries.n;
    b->last_dropped = true;
    if (x.n == 0 || b->dead) return;
    struct tt_step s = {
        .kind = TT_EXCHANGE, .first = (uint32_t)b->exchanges.n, .value = lane(b)->starts};
    if (!append(b, &b->exchanges, &x, 1)) return;
    if (b->plan.operands < 2) b->plan.operands = 2;
    started(b);
    step(b, &s);
}

struct tt_range tt_scratch(struct tt_builder *b, int64_t bytes)
{
    struct tt_range r = tt_own(TT_TMP, b->scratch - (b->part ? b->part_tmp : 0));
    b->scratch += tt_round_up(bytes, TT_LINE);
    b->plan.tmp_bytes = tt_max(b->plan.tmp_bytes, b->scratch);
    return r;
}
