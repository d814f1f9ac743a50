/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An execution from its start to its end: the slot it needs, what is told to the others, and
 * waiting. The steps themselves are done in step.c.
 */
#include "run/far.h"

#include <string.h>

/* ---- Making ---- */

static size_t lane_bytes(const struct tt_plan *plan, int lane)
{
    return tt_iter_bytes(plan, lane) +
           plan->lane[lane].starts * TT_IN_FLIGHT * sizeof(struct tt_message);
}

static size_t exec_bytes(const struct tt_plan *plan)
{
    size_t bytes = sizeof(struct tt_exec) + plan->lanes * sizeof(struct tt_lane_run);
    for (uint32_t i = 0; i < plan->lanes; i++)
        bytes += (size_t)tt_round_up((int64_t)lane_bytes(plan, (int)i), 8);
    return bytes;
}

static void place_lanes(struct tt_exec *exec)
{
    const struct tt_plan *plan = exec->plan;
    char *at = (char *)&exec->lane[plan->lanes];
    for (uint32_t i = 0; i < plan->lanes; i++) {
        exec->lane[i].memory = at;
        exec->lane[i].messages = (struct tt_message *)(at + tt_iter_bytes(plan, (int)i));
        /* A wait for what vanished finds it complete. */
        for (uint32_t k = 0; k < plan->lane[i].starts * TT_IN_FLIGHT; k++)
            exec->lane[i].messages[k].complete = true;
        at += tt_round_up((int64_t)lane_bytes(plan, (int)i), 8);
    }
}

/* Scratch that others read lies in the segment, where they reach it by loads. So does that of
 * threads, whose messages are read where they lie: the segment lasts until all have ended, so who
 * has failed and left takes nothing away from a reader that has not noticed yet. */
static bool is_shared(const struct tt_exec *exec)
{
    return exec->plan->opens & 1 << TT_TMP || exec->team->fabric->job->threads;
}

static tutti_status make_scratch(struct tt_exec *exec)
{
    int64_t bytes = exec->plan->tmp_bytes;
    exec->tmp_offset = -1;
    exec->bytes[TT_TMP] = bytes;
    if (bytes == 0) return TUTTI_OK;
    if (is_shared(exec)) {
        TT_TRY(tt_arena_alloc(&exec->team->fabric->arena, bytes, &exec->tmp_offset));
        exec->buffer[TT_TMP] = tt_fabric_at(exec->team->fabric, exec->tmp_offset);
        return TUTTI_OK;
    }
    exec->buffer[TT_TMP] = tt_alloc((size_t)bytes);
    if (exec->buffer[TT_TMP]) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of scratch", (long long)bytes);
}

struct tt_exec *tt_exec_new(struct tt_team *team, const struct tt_plan *plan)
{
    size_t more = team->remote ? sizeof(struct tt_abroad) : 0;
    struct tt_exec *exec = tt_calloc(1, exec_bytes(plan) + more);
    if (!exec) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to run a plan");
        return NULL;
    }
    exec->team = team;
    exec->plan = plan;
    exec->reduce = tt_reduce_lookup(plan->type, plan->op);
    exec->traced = team->fabric->ops->did != NULL;
    exec->pairs = plan->coll == TT_COLL_alltoallv;
    exec->plain = !exec->traced && !team->remote && !exec->pairs;
    if (team->remote) exec->abroad = (struct tt_abroad *)((char *)exec + exec_bytes(plan));
    exec->looks = team->fabric->patience.spins > 0 ? 16 : 1;
    place_lanes(exec);
    if (make_scratch(exec) == TUTTI_OK) return exec;
    tt_free(exec);
    return NULL;
}

void tt_exec_free(struct tt_exec *exec)
{
    if (!exec) return;
    tt_assert(exec->state == TT_EXEC_IDLE);
    if (exec->abroad) tt_far_forget(exec);
    if (!exec->team->remote) tt_free(exec->abroad);
    if (exec->tmp_offset >= 0)
        tt_arena_free(&exec->team->fabric->arena, exec->tmp_offset);
    else
        tt_free(exec->buffer[TT_TMP]);
    tt_free(exec);
}

/* ---- Calls without a plan ---- */

/* An agreement and a shrink tell each other apart by themselves, alike on all members (agree.c), so
 * they count as the same here. */
static const struct tt_what *what_of_note(enum tt_what_other what)
{
    enum { AGREE = 0x1e3779b1, FREE = 0x15ebca6b };
    static const struct tt_what agree = {.coll = TT_WHAT_AGREE, .print = AGREE},
                                shrink = {.coll = TT_WHAT_SHRINK, .print = AGREE},
                                leave = {.coll = TT_WHAT_FREE, .print = FREE};
    return what == TT_WHAT_AGREE ? &agree : what == TT_WHAT_SHRINK ? &shrink : &leave;
}

static struct tt_exec *note_of(struct tt_team *t)
{
    static const struct tt_plan nothing = {.coll = TT_COLL_barrier, .algorithm = "none"};
    if (t->note) return t->note;
    t->note = tt_exec_new(t, &nothing);
    if (t->note) t->note->traced = false;
    return t->note;
}

tutti_status tt_exec_note(struct tt_team *t, enum tt_what_other what)
{
    struct tt_exec *exec = note_of(t);
    if (!exec) {
        tt_team_break(t, TUTTI_ERR_MEMORY);
        return TUTTI_ERR_MEMORY;
    }
    exec->what = what_of_note(what);
    exec->shape = (uint64_t)what << 32 | exec->what->print;
    tt_exec_start(exec);
    return tt_exec_wait(exec);
}

/* ---- Starting and ending ---- */

/* Looks how far the others on this node are: beside their last signal first, for that line is at
 * hand. */
static bool all_have_ended(struct tt_team *t, uint64_t number)
{
    uint64_t least = UINT64_MAX;
    int last = tt_team_slot(t, number - 1);
    for (int r = 0; r < t->map.p; r++) {
        if (tt_team_is_far(t, r)) continue;
        uint64_t done = atomic_load_explicit(&tt_team_line(t, r, last)->done, memory_order_acquire);
        if (done + t->slots <= number)
            done = atomic_load_explicit(tt_team_done(t, r), memory_order_acquire);
        if (done < least) least = done;
    }
    t->all_done = least;
    return least + t->slots > number;
}

static inline bool slot_is_free(struct tt_team *t, uint64_t number)
{
    if (t->running[number & (t->slots - 1)]) return false;
    return tt_likely(number < t->all_done + t->slots) || all_have_ended(t, number);
}

static void begin_lanes(struct tt_exec *exec)
{
    const struct tt_plan *plan = exec->plan;
    exec->lanes_left = plan->lanes;
    for (uint32_t i = 0; i < plan->lanes; i++) {
        struct tt_lane_run *lane = &exec->lane[i];
        tt_iter_begin(&lane->iter, plan, (int)i, lane->memory);
        lane->has_step = lane->ended = false;
    }
}

/* Tells the others what is called here, for when they find that it does not match. */
static void tell_what(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    t->told[exec->slot] = exec->shape;
    *tt_team_what(t, t->me, exec->slot) = *exec->what;
}

/* Asks for a line that this rank will write: others read it last, so without this the first store
 * would wait for it. */
static inline void prefetch_to_write(void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(char *)line)); /* where it is unknown, it does nothing */
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Plain executions need none of this, so that they pay for one test only. */
static __attribute__((noinline)) void begin_other(struct tt_exec *exec)
{
    if (exec->team->remote) tt_far_begin(exec);
    if (exec->traced) tt_traced_begin(exec);
}

static __attribute__((noinline)) void end_other(struct tt_exec *exec)
{
    if (exec->team->remote) {
        tt_far_end(exec);
        exec->status = exec->team->broken; /* by what came for it and should not have */
    }
    if (exec->traced) tt_traced_end(exec);
}

static void run(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    exec->state = TT_EXEC_RUNNING;
    exec->slot = tt_team_slot(t, exec->number);
    exec->base = ((exec->number >> t->slots_log2) + 1) << 32;
    exec->line = tt_team_line(t, t->me, exec->slot);
    exec->buffer[TT_WIN] = (char *)exec->line->window;
    t->running[exec->slot] = exec;
    begin_lanes(exec);
    if (t->told[exec->slot] != exec->shape) tell_what(exec);
    if (exec->plan->opens || exec->plan->segments) tt_access_open(exec);
    t->history = (t->history ^ (uint32_t)exec->shape) * 0x9e3779b1u;
    exec->mark = exec->base | t->history;
    atomic_store_explicit(&exec->line->shape, exec->mark, memory_order_release);
    prefetch_to_write(tt_team_line(t, t->me, (int)((exec->number + 1) & (t->slots - 1))));
    if (tt_unlikely(!exec->plain)) begin_other(exec);
}

static void enqueue(struct tt_team *t, struct tt_exec *exec)
{
    exec->state = TT_EXEC_QUEUED;
    exec->next = NULL;
    *t->queue_end = exec;
    t->queue_end = &exec->next;
    if (exec->traced) tt_traced_begin(exec);
}

static void dequeue(struct tt_team *t)
{
    t->queue = t->queue->next;
    if (!t->queue) t->queue_end = &t->queue;
}

void tt_exec_start(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    exec->status = TUTTI_OK;
    exec->ends = NULL;
    if (tt_unlikely(t->broken != TUTTI_OK)) {
        exec->status = t->broken;
        return;
    }
    exec->number = t->next++;
    if (t->queue || !slot_is_free(t, exec->number))
        enqueue(t, exec);
    else
        run(exec);
}

/* Raises my_done over all executions that have ended, and tells it. */
static void count_end(struct tt_team *t, uint64_t number)
{
    t->ended |= 1u << (number - t->my_done);
    while (t->ended & 1) {
        t->ended >>= 1;
        t->my_done++;
    }
    atomic_store_explicit(tt_team_done(t, t->me), t->my_done, memory_order_release);
}

/* Two members of which neither gives the other anything, as it believes, wait for nothing of each
 * other. What they say of each other lies in the slot until both have ended the execution, so
 * whoever began it later finds what the other one said. */
static tutti_status compare_pairs(const struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < t->map.p && status == TUTTI_OK; r++)
        if (r != t->me && !tt_team_is_far(t, r)) status = tt_step_compare(exec, r);
    return status;
}

static void complete(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    exec->state = TT_EXEC_IDLE;
    t->running[exec->slot] = NULL;
    count_end(t, exec->number);
    if (tt_unlikely(!exec->plain)) end_other(exec);
    /* A rank may wait for this slot, asleep. */
    if (tt_unlikely(t->map.p > 1)) tt_fabric_signalled(t->fabric, t->job_rank, t->map.p);
}

static void fail(struct tt_exec *exec, tutti_status status)
{
    struct tt_team *t = exec->team;
    tt_team_break(t, status);
    if (exec->abroad && tt_far_fail(exec)) return; /* and again at the next look */
    exec->status = t->broken;
    exec->state = TT_EXEC_IDLE;
    for (int s = 0; s < TT_SLOTS; s++)
        if (t->running[s] == exec) t->running[s] = NULL;
    if (t->queue == exec) dequeue(t);
    if (exec->traced) tt_traced_end(exec);
}

/* ---- Progress ---- */

/* Data or signals are not on their way to other nodes yet: once its caller has the result it may
 * not advance anything for long. */
static inline bool is_moving(const struct tt_exec *exec)
{
    return tt_unlikely(exec->abroad != NULL) && exec->abroad->moving;
}

static inline void end(struct tt_exec *exec)
{
    tutti_status status = tt_unlikely(exec->pairs) ? compare_pairs(exec) : TUTTI_OK;
    if (tt_likely(status == TUTTI_OK))
        complete(exec);
    else
        fail(exec, status);
}

static void settle(struct tt_exec *exec, tutti_status status)
{
    if (tt_unlikely(status > TUTTI_AGAIN))
        fail(exec, status);
    else if (exec->lanes_left == 0 && !exec->ends && !is_moving(exec))
        end(exec);
}

/* Runs a queued execution if its slot is free. */
static bool try_to_run(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (t->queue != exec || !slot_is_free(t, exec->number)) return false;
    dequeue(t);
    run(exec);
    return true;
}

void tt_exec_advance(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (exec->state == TT_EXEC_IDLE) return;
    if (tt_unlikely(t->broken != TUTTI_OK)) {
        fail(exec, t->broken);
        return;
    }
    if (tt_unlikely(exec->state == TT_EXEC_QUEUED) && !try_to_run(exec)) return;
    tutti_status status = exec->ends ? tt_step_messages(exec) : TUTTI_OK;
    if (status == TUTTI_OK) status = tt_step_lanes(exec);
    settle(exec, status);
}

bool tt_exec_steps(struct tt_exec *exec, uint32_t lane, int steps)
{
    tutti_status status;
    if (exec->state == TT_EXEC_QUEUED && !try_to_run(exec)) return false;
    if (exec->state != TT_EXEC_RUNNING) return false;
    int done = tt_step_some(exec, lane, steps, &status);
    if (status <= TUTTI_AGAIN && exec->ends) status = tt_step_messages(exec);
    settle(exec, status);
    return done > 0 || exec->state == TT_EXEC_IDLE;
}

/* ---- Waiting ---- */

/* Returns the member for whose flag the lane waits; -1: the lane waits for no flag. */
static int lane_waits_for(const struct tt_exec *exec, const struct tt_lane_run *lane)
{
    if (lane->ended) return -1;
    if (lane->iter.unrolls)
        return lane->has_step && lane->step.kind == TT_AWAIT ? lane->step.peer : -1;
    const struct tt_step *s = &exec->plan->steps[lane->iter.at];
    return lane->iter.at < lane->iter.end && s->kind == TT_AWAIT ? s->peer : -1;
}

bool tt_exec_waits_for(const struct tt_exec *exec, int rank)
{
    struct tt_team *t = exec->team;
    if (exec->state == TT_EXEC_QUEUED)
        return !tt_team_is_far(t, rank) &&
               atomic_load(tt_team_done(t, rank)) + t->slots <= exec->number;
    for (uint32_t i = 0; i < exec->plan->lanes; i++)
        if (lane_waits_for(exec, &exec->lane[i]) == rank) return true;
    for (const struct tt_end *end = exec->ends; end; end = end->next)
        if (end->first && end->peer == t->job_rank[rank]) return true;
    return exec->abroad && tt_far_waits_for(exec, rank);
}

/* Another number after each step of a lane, but for those within a generated exchange; never 0. */
static uint64_t place(const struct tt_exec *exec)
{
    uint64_t sum = 1;
    for (uint32_t i = 0; i < exec->plan->lanes; i++) {
        const struct tt_iter *iter = &exec->lane[i].iter;
        sum += iter->at;
        for (int k = 0; iter->unrolls && k < iter->depth; k++)
            sum += (uint64_t)iter->loop[k].turn << 16 * (TT_DEPTH - k);
    }
    return sum;
}

/* Where an execution that is waited for was seen last; place 0: it was not looked for yet. */
struct progress {
    uint64_t place, events;
};

/* Data arrives over a network in parts: after one part the caller looks for the next at once,
 * instead of yielding. An execution that made progress waits for something else now, so that the
 * wait policy starts anew; the caller finds out before it would sleep. */
static void wait_more(const struct tt_exec *exec, struct tt_wait *wait, struct progress *seen)
{
    struct progress now = {seen->place, exec->team->events};
    if (tt_unlikely(tt_wait_is_late(wait))) now.place = place(exec);
    bool moved = now.events != seen->events || (seen->place && now.place != seen->place);
    if (tt_unlikely(moved))
        tt_wait_afresh(wait);
    else
        tt_wait_more(wait);
    *seen = now;
}

/* Publishes for the roll call what the execution waits for. */
static void fill_waiting(const void *arg, struct tt_activity *is)
{
    const struct tt_exec *exec = arg;
    const struct tt_team *t = exec->team;
    _Static_assert(sizeof *exec->what == sizeof is->what, "it is copied whole");
    is->team = t->id;
    is->number = exec->number;
    memcpy(is->what, exec->what, sizeof is->what);
    for (int r = 0; r < t->map.p; r++)
        if (r != t->me && tt_exec_waits_for(exec, r)) tt_waiting_name(is, t->job_rank[r]);
}

/* The rest of a wait that has become long: from now on others may see what is waited for. Apart, so
 * that a wait that ends soon pays nothing for it. */
static __attribute__((noinline)) void wait_long(struct tt_exec *exec, struct tt_wait *wait,
                                                struct progress *seen)
{
    struct tt_team *t = exec->team;
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = TT_DOING_COLLECTIVE, .fill = fill_waiting, .arg = exec};
    /* Data for other executions is no progress of this one, so only its steps count. */
    uint64_t before = place(exec);
    while (tt_team_advance_all(t), exec->state != TT_EXEC_IDLE) {
        uint64_t now = place(exec);
        tt_waiting_look(&waiting, now != before);
        before = now;
        wait_more(exec, wait, seen);
        tt_team_check(t, tt_wait_is_long(wait));
    }
    tt_waiting_end(&waiting);
}

tutti_status tt_exec_wait(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_wait wait;
    tt_exec_advance(exec);
    if (exec->state != TT_EXEC_IDLE) {
        struct progress seen = {.events = t->events};
        if (tt_unlikely(exec->traced)) tt_traced_wait(exec);
        tt_wait_begin(&wait, &t->fabric->patience, t->fabric->job, t->fabric->me);
        while (tt_team_advance_all(t), exec->state != TT_EXEC_IDLE) {
            wait_more(exec, &wait, &seen);
            if (tt_likely(!tt_team_check(t, tt_wait_is_long(&wait)))) continue;
            wait_long(exec, &wait, &seen);
            break;
        }
        tt_wait_done(&wait);
    }
    return tt_likely(exec->status == TUTTI_OK) ? TUTTI_OK : tt_team_error(t);
}
