/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An execution from its start to its end: the slot that it needs, what it publishes to the other
 * members, and the wait for it. step.c does the steps.
 */
#include "run/remote.h"
#include "run/settle.h"

#include <string.h>

#include "fabric/waiting.h"
#include "plan/words.h"
#include "run/compare.h"
#include "run/exec.h"

/* ---- Tracing ---- */

/* The trace events of a call: what is called and when it begins, when its caller waits for it, and
 * when it ends. Only execs that are traced use this. */

/* Returns the name of the element type of a call; "" for a call without elements, such as a
 * barrier. */
static const char *type_of(const struct tt_call_signature *signature)
{
    if (signature->coll == TT_COLL_barrier || signature->coll >= TT_COLLS) return "";
    bool basic = signature->element == 0 && signature->type >= 0 && signature->type < TUTTI_TYPES;
    return basic ? tt_word(&tt_type_words, signature->type) : "derived";
}

/* Returns the bytes of one element; 0: not known. */
static int64_t size_of(const struct tt_call_signature *signature)
{
    if (signature->element > 0) return signature->element;
    if (*type_of(signature) == '\0' || signature->type < 0 || signature->type >= TUTTI_TYPES)
        return 0;
    return (int64_t)tutti_type_size((tutti_type)signature->type);
}

static const char *op_of(const struct tt_exec *exec, const struct tt_call_signature *signature)
{
    if (signature->coll >= TT_COLLS || !tt_coll_has_op(exec->plan->coll)) return "";
    return signature->op >= 0 && signature->op < TUTTI_OPS ? tt_word(&tt_op_words, signature->op)
                                                           : TT_OP_USER_WORD;
}

/* traced_begin, traced_wait and traced_end report to the wrappers (fabric/trace.c, fabric/tally.c)
 * that the call begins, that its caller waits for it, and that it has ended. */
static void traced_begin(struct tt_exec *exec)
{
    static const struct tt_call_signature none;
    const struct tt_team *t = exec->team;
    const struct tt_call_signature *signature = exec->signature ? exec->signature : &none;
    enum tt_coll coll = exec->plan->coll;
    int64_t sz = size_of(signature);
    struct tt_traced_call call = {
        .key = exec,
        .team = t->id,
        .execution = exec->number,
        .team_size = t->map.p,
        .team_me = t->me,
        .coll = exec->signature ? tt_signature_name(signature) : tt_coll_name(coll),
        .algorithm = exec->plan->algorithm,
        .type = type_of(signature),
        .op = op_of(exec, signature),
        .root = tt_coll_has_root(coll) ? t->job_rank[signature->root] : -1,
        .bytes = signature->n * sz,
        .n = sz > 0 ? signature->n : -1,
        .blocks = exec->blocks};
    t->fabric->ops->began(t->fabric->ops, t->fabric, &call);
}

static void traced_wait(struct tt_exec *exec)
{
    struct tt_fabric *f = exec->team->fabric;
    f->ops->waits(f->ops, f, exec);
}

static void traced_end(struct tt_exec *exec)
{
    struct tt_fabric *f = exec->team->fabric;
    f->ops->ended(f->ops, f, exec, exec->status);
}

void tt_trace_call_begin(struct tt_team *t, enum tt_signature_other call, uint64_t execution)
{
    const struct tt_fabric_ops *ops = t->fabric->ops;
    const struct tt_call_signature signature = {.coll = (int16_t)call};
    struct tt_traced_call traced = {.key = &t->traced_calls,
                                    .team = t->id,
                                    .execution = execution,
                                    .team_size = t->map.p,
                                    .team_me = t->me,
                                    .coll = tt_signature_name(&signature),
                                    .algorithm = "tutti",
                                    .type = "",
                                    .op = "",
                                    .root = -1,
                                    .n = -1,
                                    .blocks = true};
    if (ops->did && t->traced_calls++ == 0) ops->began(ops, t->fabric, &traced);
}

void tt_trace_call_end(struct tt_team *t, tutti_status status)
{
    const struct tt_fabric_ops *ops = t->fabric->ops;
    if (ops->did && --t->traced_calls == 0) ops->ended(ops, t->fabric, &t->traced_calls, status);
}

/* ---- Making an exec ---- */

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
        /* A message that was never started counts as complete, so that a wait for it ends. */
        for (uint32_t k = 0; k < plan->lane[i].starts * TT_IN_FLIGHT; k++)
            exec->lane[i].messages[k].complete = true;
        at += tt_round_up((int64_t)lane_bytes(plan, (int)i), 8);
    }
}

/* Returns whether the scratch (TMP) of the exec lies in the segment. Scratch that other ranks read
 * must lie there, so that they can load from it. If ranks are threads, all scratch lies in the
 * segment, because other ranks also read messages directly from scratch. The segment lasts until
 * all ranks have ended. So a reader that has not noticed yet that a rank failed and left can still
 * read the scratch of that rank. */
static bool is_shared(const struct tt_exec *exec)
{
    const struct tt_job_page *job = exec->team->fabric->job;
    return exec->plan->opens & 1 << TT_TMP || job->threads || job->nested;
}

/* If other members may still access the scratch, scratch in the segment stays allocated as long as
 * the client (arena.h), and private scratch is parked. */
static void free_scratch(struct tt_exec *exec)
{
    struct tt_fabric *f = exec->team->fabric;
    char *scratch = exec->buffer[TT_TMP];
    bool reachable = tt_exec_is_reachable(exec);
    if (exec->tmp_offset >= 0 && !reachable) tt_arena_put(&f->arena, exec->tmp_offset);
    if (exec->tmp_offset >= 0 || !scratch) return;
    if (reachable)
        tt_fabric_park(f, (struct tt_parked *)(scratch + tt_parked_at(exec->bytes[TT_TMP])),
                       scratch);
    else
        tt_free(scratch);
}

static tutti_status make_scratch(struct tt_exec *exec)
{
    int64_t bytes = exec->plan->tmp_bytes;
    exec->tmp_offset = -1;
    exec->bytes[TT_TMP] = bytes;
    if (bytes == 0) return TUTTI_OK;
    if (is_shared(exec)) {
        TT_TRY(tt_arena_take(&exec->team->fabric->arena, bytes, &exec->tmp_offset));
        exec->buffer[TT_TMP] = tt_fabric_at(exec->team->fabric, exec->tmp_offset);
        return TUTTI_OK;
    }
    exec->buffer[TT_TMP] = tt_alloc((size_t)tt_parked_at(bytes) + sizeof(struct tt_parked));
    if (exec->buffer[TT_TMP]) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld bytes of scratch", (long long)bytes);
}

/* ---- Windows ---- */

static bool touches_windows(const struct tt_plan *plan)
{
    uint32_t i = 0;
    while (i < plan->ranges_n && plan->ranges[i].buf != TT_WIN) i++;
    return i < plan->ranges_n;
}

static bool touches_own(const struct tt_plan *plan)
{
    uint32_t i = 0;
    while (i < plan->ranges_n && plan->ranges[i].rank == TT_SELF) i++;
    return i == plan->ranges_n;
}

/* Returns whether the exec takes the fast path (`plain` in exec.h) once it knows all windows that
 * it may read. */
static bool may_be_plain(const struct tt_exec *exec)
{
    return !exec->traced && !exec->team->remote && !exec->served && !exec->plan->is_put_into;
}

/* Finds the long windows of the other members. Once all windows are known, the exec takes the fast
 * path if nothing else forbids that (see `plain` in exec.h). */
static void find_windows(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (t->finds_windows && !tt_team_find_windows(t)) return;
    exec->finds_windows = false;
    exec->plain = may_be_plain(exec);
}

static tutti_status set_windows(struct tt_exec *exec, enum tt_windows windows)
{
    const struct tt_plan *plan = exec->plan;
    struct tt_team *t = exec->team;
    bool reaches = windows == TT_LONG_WINDOWS && touches_windows(plan);
    exec->window = t->window[reaches ? TT_LONG_WINDOWS : TT_SHORT_WINDOWS];
    exec->window_stride = reaches ? t->layout.window_stride : t->layout.line_stride;
    exec->low_bytes = reaches && exec->pairs ? t->map.low_bytes : 0;
    exec->window_bytes = reaches && plan->win_bytes > exec->low_bytes
                             ? tt_min(plan->win_bytes, t->map.win_bytes)
                             : 0;
    exec->finds_windows = reaches;
    exec->is_long = reaches;
    exec->low_window = t->window[TT_SHORT_WINDOWS];
    if (reaches) exec->plain = false;
    if (plan->lanes > 1) TT_TRY(tt_team_provide(t, TT_PART_LANES));
    if (plan->segments) TT_TRY(tt_team_provide(t, TT_PART_ENTRIES));
    if (reaches) TT_TRY(tt_team_provide(t, TT_PART_WINDOWS));
    if (reaches) find_windows(exec);
    return TUTTI_OK;
}

struct tt_exec *tt_exec_new(struct tt_team *team, const struct tt_plan *plan,
                            enum tt_windows windows)
{
    size_t more = team->remote ? sizeof(struct tt_exec_remote) : 0;
    size_t words = team->map.low_bytes > 0 && tt_coll_pairs(plan->coll) ? (size_t)team->map.p : 0;
    struct tt_exec *exec = tt_calloc(1, exec_bytes(plan) + more + words * sizeof(uint32_t));
    if (!exec) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to run a plan");
        return NULL;
    }
    exec->team = team;
    exec->plan = plan;
    exec->op = plan->op;
    exec->element = tutti_type_size(plan->type);
    exec->reduce = tt_reduce_lookup(plan->type, plan->op);
    exec->own = touches_own(plan);
    exec->traced = team->fabric->ops->did != NULL;
    exec->pairs = tt_coll_pairs(plan->coll);
    exec->plain = may_be_plain(exec);
    if (team->remote) exec->remote = (struct tt_exec_remote *)((char *)exec + exec_bytes(plan));
    if (words) exec->words.word = (uint32_t *)((char *)exec + exec_bytes(plan) + more);
    exec->looks = team->fabric->policy.spins > 0 ? 16 : 1;
    place_lanes(exec);
    if (set_windows(exec, windows) == TUTTI_OK && make_scratch(exec) == TUTTI_OK) return exec;
    tt_free(exec);
    return NULL;
}

void tt_exec_free(struct tt_exec *exec)
{
    if (!exec) return;
    tt_assert(exec->state == TT_EXEC_IDLE);
    if (exec->remote) tt_remote_forget(exec);
    if (!exec->team->remote) tt_free(exec->remote);
    free_scratch(exec);
    tt_free(exec);
}

/* ---- Starting and ending ---- */

static bool runs_in(const struct tt_team *t, const struct tt_exec *exec, uint64_t slot)
{
    return exec->state == TT_EXEC_RUNNING && (exec->number & (t->slots - 1)) == slot &&
           exec->number >= t->my_done && exec->number < t->next;
}

bool tt_team_valid(const struct tt_team *t)
{
    bool valid = t->all_done <= t->my_done && t->my_done <= t->next && t->windows <= t->slots &&
                 t->slots <= TT_SLOTS && (t->slots & (t->slots - 1)) == 0 &&
                 t->windows == UINT64_C(1) << t->windows_log2;
    uint64_t last = 0;
    for (int r = 0; r < t->map.p; r++)
        valid = valid && (tt_team_is_remote(t, r) || t->window[TT_SHORT_WINDOWS][r]);
    for (uint64_t s = 0; s < t->slots; s++) {
        if (!t->running[s]) continue;
        valid = valid && runs_in(t, t->running[s], s);
        if (t->running[s]->number > last) last = t->running[s]->number;
    }
    for (const struct tt_exec *e = t->broken ? NULL : t->queue; e; last = e->number, e = e->next)
        valid = valid && e->state == TT_EXEC_QUEUED && (e->number > last || last == 0);
    return valid;
}

/* Returns whether this rank, in the execution, writes to memory that exists once for each window
 * and not once for each slot. This is the long window, the signals of lanes other than lane 0, the
 * segment entries of a v-collective, and the byte rings. */
static bool writes_by_window(const struct tt_exec *exec)
{
    const struct tt_plan *plan = exec->plan;
    bool messages = false;
    for (uint32_t i = 0; i < plan->lanes; i++) messages = messages || plan->lane[i].starts > 0;
    return exec->window_bytes > 0 || plan->lanes > 1 || messages ||
           (plan->segments && !tt_access_words_suffice(exec));
}

/* Sets exec->depth: how many executions may be under way when this one begins, this one included.
 * It is the number of windows if this rank writes to memory that exists once for each window;
 * otherwise it is the number of slots. */
static __attribute__((noinline)) void set_depth(struct tt_exec *exec)
{
    const struct tt_team *t = exec->team;
    if (exec->plan->segments) tt_access_find_partners(exec);
    exec->depth = writes_by_window(exec) ? t->windows : t->slots;
}

/* Finds out how many executions the members on this node have ended. Reads the count beside a
 * member's last signal first, as its line is probably in the cache, and the member's newest count
 * only if need be. Returns whether all have ended enough executions for this execution to begin. */
static bool all_have_ended(struct tt_team *t, const struct tt_exec *exec)
{
    const uint64_t number = exec->number, depth = exec->depth;
    uint64_t least = UINT64_MAX;
    int last = tt_team_slot(t, number - 1);
    for (int r = 0; r < t->map.p; r++) {
        if (tt_team_is_remote(t, r)) continue;
        uint64_t done = atomic_load_explicit(&tt_team_line(t, r, last)->done, memory_order_acquire);
        if (done + depth <= number)
            done = atomic_load_explicit(tt_team_done(t, r), memory_order_acquire);
        if (done < least) least = done;
    }
    t->all_done = least;
    return least + depth > number;
}

static inline bool slot_is_free(struct tt_team *t, const struct tt_exec *exec)
{
    if (t->running[exec->number & (t->slots - 1)]) return false;
    return tt_likely(exec->number < t->all_done + exec->depth) || all_have_ended(t, exec);
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

/* Publishes the call of this rank, for the error message of a member that finds a mismatch. */
static void publish_signature(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_call_signature *signature = tt_team_signature(t, t->me, exec->slot);
    t->published[exec->slot] = exec->shape;
    *signature = *exec->signature;
    if (exec->blocks) signature->flags |= TT_SIGNATURE_BLOCKS;
}

/* Publishes whether the caller of an execution waits for it, if that has changed since the
 * execution began. A member that reports a mismatch may read the signature meanwhile, but does not
 * use the flag TT_SIGNATURE_BLOCKS, which changes here. ThreadSanitizer must ignore that race. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static __attribute__((noinline)) void
publish_blocks(struct tt_team *t, uint64_t number, bool blocks)
{
    int slot = tt_team_slot(t, number);
    struct tt_call_signature *signature = tt_team_signature(t, t->me, slot);
    if (!(signature->flags & TT_SIGNATURE_BLOCKS) == !blocks) return;
    signature->flags ^= TT_SIGNATURE_BLOCKS;
    t->published[slot] ^= TT_SHAPE_BLOCKS;
}

/* Prefetches a line that this rank will write. Other ranks have read the line last, so without the
 * prefetch the first store would wait for the line. */
static inline void prefetch_to_write(void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(char *)line)); /* a processor without this instruction ignores it */
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Does what only some executions need at their beginning. This is not in run() itself, so that
 * plain executions pay for one test only. A member that puts into this rank's window may sleep
 * until it sees `shape`, which run() has stored with release. */
static __attribute__((noinline)) void begin_other(struct tt_exec *exec)
{
    const struct tt_team *t = exec->team;
    if (exec->plan->is_put_into) tt_fabric_signalled(t->fabric, t->job_rank, t->map.p);
    if (exec->finds_windows) find_windows(exec);
    if (t->remote) tt_remote_begin(exec);
    if (exec->traced) traced_begin(exec);
}

static __attribute__((noinline)) void end_other(struct tt_exec *exec)
{
    if (exec->team->remote) {
        tt_remote_end(exec);
        /* A message for this execution may have broken the team; else the status is OK. */
        exec->status = exec->team->broken;
    }
    if (exec->traced) traced_end(exec);
}

static void fail(struct tt_exec *exec, tutti_status status);

/* Backs the window of an execution that begins. Returns false if there is no memory; the execution
 * has failed then. */
static __attribute__((noinline)) bool back_window(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    const struct tt_block *b = &t->layout;
    int64_t windows = atomic_load(&tt_team_head(t, t->me)->part[TT_PART_WINDOWS]);
    int64_t bytes = tt_round_up(b->window + exec->window_bytes, 4096);
    int window = tt_team_window_of(t, exec->slot);
    tutti_status status =
        tt_arena_back(&t->fabric->arena, windows + window * b->window_stride, bytes);
    if (status == TUTTI_OK) t->backed[window] = bytes - b->window;
    if (status == TUTTI_OK) return true;
    if (exec->traced) traced_begin(exec);
    fail(exec, status);
    return false;
}

/* Adds `more` to the number of requests of this rank that are under way. Calls of one client do not
 * overlap, so no other thread stores the number at the same time. */
static void count_request(const struct tt_team *t, int more)
{
    _Atomic uint32_t *requests = &t->fabric->common->rank[t->fabric->me].requests;
    uint32_t now = atomic_load_explicit(requests, memory_order_relaxed) + (uint32_t)more;
    atomic_store_explicit(requests, now, memory_order_relaxed);
}

static _Atomic uint64_t *owed_in(const struct tt_exec *exec)
{
    return &tt_team_opening(exec->team, exec->team->me, exec->slot)->owed;
}

void tt_exec_owe(struct tt_exec *exec)
{
    exec->owed = true;
    tt_team_add_busy(exec->team);
    count_request(exec->team, 1);
}

/* The roll call reads in `owed` of a slot (struct tt_opening) for which execution the program has
 * not completed the request yet. This function clears `owed` only if it still has the number of
 * this execution: a newer one may have the slot now. An execution that failed may never have had a
 * slot. */
void tt_exec_settle_debt(struct tt_exec *exec)
{
    if (!exec->owed) return;
    exec->owed = false;
    count_request(exec->team, -1);
    if (exec->status == TUTTI_OK &&
        atomic_load_explicit(owed_in(exec), memory_order_relaxed) == exec->number + 1)
        atomic_store_explicit(owed_in(exec), 0, memory_order_relaxed);
}

static __attribute__((noinline)) void publish_owed(const struct tt_exec *exec)
{
    atomic_store_explicit(owed_in(exec), exec->number + 1, memory_order_relaxed);
}

/* Finds where the low bytes of WIN, which are in the short window, lie in the slot of the
 * execution. */
static void find_low(struct tt_exec *exec)
{
    const struct tt_team *t = exec->team;
    exec->low_at = exec->slot * t->layout.line_stride + tt_team_words(t->map.p);
    exec->low = exec->low_window[t->me] + exec->low_at;
}

/* Begins the execution in its slot. The call and the openings are written, and the window is
 * backed, before `shape` is stored with release. So a member that has seen `shape` or a signal of
 * this execution finds all of them. */
static void run(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    exec->slot = (int)(exec->number & (t->slots - 1));
    const int64_t window = (int64_t)(exec->number & (t->windows - 1));
    if (tt_unlikely(exec->window_bytes > t->backed[window]) && !back_window(exec)) return;
    exec->state = TT_EXEC_RUNNING;
    exec->base = ((exec->number >> t->windows_log2) + 1) << 32;
    exec->line = tt_team_line(t, t->me, exec->slot);
    exec->window_at = (exec->is_long ? window : exec->slot) * exec->window_stride;
    exec->buffer[TT_WIN] = exec->window[t->me] + exec->window_at;
    if (tt_unlikely(exec->low_bytes > 0)) find_low(exec);
    exec->words.agreed = 0;
    t->running[exec->slot] = exec;
    begin_lanes(exec);
    if (t->published[exec->slot] != exec->shape) publish_signature(exec);
    if (tt_unlikely(exec->owed)) publish_owed(exec);
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
    if (exec->traced) traced_begin(exec);
}

/* Removes the execution from the queue of its team, if it is there. If the team is broken, the
 * execution may be anywhere in the queue, because the program waits for its calls in any order. */
static void dequeue(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    struct tt_exec **link = &t->queue;
    while (*link && *link != exec) link = &(*link)->next;
    if (!*link) return;
    *link = exec->next;
    if (!*link) t->queue_end = link;
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
    if (tt_unlikely(exec->depth == 0)) set_depth(exec);
    exec->number = t->next++;
    if (t->queue || !slot_is_free(t, exec))
        enqueue(t, exec);
    else
        run(exec);
    tt_assert(tt_team_valid(t) && tt_exec_valid(exec));
}

/* Records that an execution has ended: raises my_done to the first execution that has not ended,
 * and publishes my_done. */
static void count_end(struct tt_team *t, uint64_t number)
{
    t->ended[number & (t->slots - 1)] = true;
    for (bool *ended; *(ended = &t->ended[t->my_done & (t->slots - 1)]); t->my_done++)
        *ended = false;
    atomic_store_explicit(tt_team_done(t, t->me), t->my_done, memory_order_release);
    /* An older execution is still under way, so `my_done` does not show that this one has ended:
     * publishes that the caller does not wait for this one any more. */
    if (tt_unlikely(number >= t->my_done)) publish_blocks(t, number, false);
}

/* Publishes when a collective of this rank last ended, for the roll call. */
static __attribute__((noinline)) void publish_end(const struct tt_team *t)
{
    struct tt_member *member = &t->fabric->common->rank[t->fabric->me];
    atomic_store_explicit(&member->ended_team, t->id, memory_order_relaxed);
    atomic_store_explicit(&member->ended_ns, tt_clock_ns(), memory_order_relaxed);
}

/* Compares the counts that this rank and member r have for each other, if the member has begun the
 * execution. In an alltoallv two members may both believe that they exchange no data with each
 * other, and then neither waits for the other. A member's counts stay in the slot until both
 * members have ended the execution, so the member that begins the execution later finds the counts
 * of the other member. */
static tutti_status compare_pair(const struct tt_exec *exec, int r)
{
    const struct tt_team *t = exec->team;
    if (r == t->me || tt_team_is_remote(t, r)) return TUTTI_OK;
    uint64_t mark =
        atomic_load_explicit(&tt_team_line(t, r, exec->slot)->shape, memory_order_acquire);
    if (mark >> 32 != exec->base >> 32) return TUTTI_OK; /* the member has not begun */
    if (mark == exec->mark && tt_team_words_agree(t, exec->slot, r)) return TUTTI_OK;
    return tt_compare_call(t, exec->number, r);
}

/* Returns whether this rank only gives pieces: the root of a scatterv, or a rank other than the
 * root in a gatherv. Such a rank compares no counts with its partners, because this would cost a
 * cache miss for each partner in each call. Instead, the rank that gets a piece compares the counts
 * of both ranks: it awaits a signal of the rank that gives the piece, even if the piece is empty.
 * In the algorithm `composed`, each rank has compared its count with the root's before (coll.h). */
static bool only_gives(const struct tt_exec *exec)
{
    const struct tt_call *c = exec->call;
    bool is_root = exec->team->me == c->root;
    return (c->coll == TT_COLL_scatterv && is_root) || (c->coll == TT_COLL_gatherv && !is_root);
}

static tutti_status compare_pairs(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    const struct tt_neighbors *n = exec->call->neighbors;
    const struct tt_partners partners = exec->partners;
    if (exec->words.others && exec->words.agreed == exec->words.others) return TUTTI_OK;
    if (only_gives(exec)) {
        if (t->given <= exec->number) t->given = exec->number + 1;
        return TUTTI_OK;
    }
    for (int i = 0; !n && i < partners.n; i++) TT_TRY(compare_pair(exec, partners.first + i));
    for (int i = 0; n && i < n->to_n; i++) TT_TRY(compare_pair(exec, n->to[i]));
    for (int i = 0; n && i < n->from_n; i++) TT_TRY(compare_pair(exec, n->from[i]));
    return TUTTI_OK;
}

static void complete(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    exec->state = TT_EXEC_IDLE;
    t->running[exec->slot] = NULL;
    count_end(t, exec->number);
    tt_assert(tt_team_valid(t));
    if (tt_unlikely(!exec->plain)) end_other(exec);
    if (tt_unlikely(t->fabric->watchdog_ns != 0)) publish_end(t);
    /* Wakes ranks that wait for this slot, since they may be asleep. */
    if (t->map.p > 1 && tt_signalled(t->fabric->job, t->fabric->fences))
        tt_fabric_ring(t->fabric, t->job_rank, t->map.p);
}

/* Publishes for the roll call, which reads the job's memory, that the execution has failed. The
 * slot is not used again, because the team is broken. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static void
publish_failed(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (exec->state != TT_EXEC_RUNNING) return; /* the execution has no slot */
    struct tt_call_signature *signature = tt_team_signature(t, t->me, exec->slot);
    signature->flags |= TT_SIGNATURE_FAILED;
}

static void fail(struct tt_exec *exec, tutti_status status)
{
    struct tt_team *t = exec->team;
    tt_team_break(t, status);
    publish_failed(exec);
    /* While the buffers of the exec are still in use, the exec stays RUNNING, and tt_exec_advance
     * calls this function again. */
    if (exec->remote && tt_remote_fail(exec)) return;
    exec->status = t->broken;
    exec->state = TT_EXEC_IDLE;
    for (uint64_t s = 0; s < t->slots; s++)
        if (t->running[s] == exec) t->running[s] = NULL;
    dequeue(exec);
    tt_assert(tt_team_valid(t));
    if (exec->traced) traced_end(exec);
}

/* ---- Progress ---- */

/* Ends the execution if it failed, or if nothing is left to do. The execution must not complete
 * while data or signals to other nodes are still being sent: once the program has the result, it
 * might not call the library again for a long time. */
static void settle(struct tt_exec *exec, tutti_status status)
{
    bool is_moving = tt_unlikely(exec->remote != NULL) && exec->remote->moving;
    bool over = exec->lanes_left == 0 && !exec->ends && !is_moving;
    if (tt_unlikely(exec->pairs) && over && status <= TUTTI_AGAIN) status = compare_pairs(exec);
    if (tt_unlikely(status > TUTTI_AGAIN))
        fail(exec, status);
    else if (over)
        complete(exec);
}

/* Runs a queued execution if its slot is free. */
static bool try_to_run(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (t->queue != exec || !slot_is_free(t, exec)) return false;
    dequeue(exec);
    run(exec);
    return exec->state == TT_EXEC_RUNNING;
}

void tt_exec_advance(struct tt_exec *exec)
{
    struct tt_team *t = exec->team;
    if (exec->state == TT_EXEC_IDLE) return;
    tt_assert(tt_exec_valid(exec));
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

/* Returns whether a step of this kind, if it is not done, waits for its peer. A put waits until its
 * peer has begun the call. */
static bool waits_for_peer(enum tt_kind kind)
{
    return kind == TT_AWAIT || kind == TT_PUT;
}

/* Returns the member for which the lane waits; -1: the lane waits for no member. */
static int lane_waits_for(const struct tt_exec *exec, const struct tt_lane_run *lane)
{
    if (lane->ended) return -1;
    if (lane->iter.unrolls)
        return lane->has_step && waits_for_peer(lane->step.kind) ? lane->step.peer : -1;
    const struct tt_step *s = &exec->plan->steps[lane->iter.at];
    return lane->iter.at < lane->iter.end && waits_for_peer(s->kind) ? s->peer : -1;
}

bool tt_exec_waits_for(const struct tt_exec *exec, int rank)
{
    struct tt_team *t = exec->team;
    if (exec->state == TT_EXEC_QUEUED)
        return !tt_team_is_remote(t, rank) &&
               atomic_load(tt_team_done(t, rank)) + exec->depth <= exec->number;
    for (uint32_t i = 0; i < exec->plan->lanes; i++)
        if (lane_waits_for(exec, &exec->lane[i]) == rank) return true;
    for (const struct tt_end *end = exec->ends; end; end = end->next)
        if (end->first && end->peer == t->job_rank[rank]) return true;
    return exec->remote && tt_remote_waits_for(exec, rank);
}

/* Returns a number that stands for the steps at which the lanes are. It changes when a lane goes on
 * to another step, but not within a step `exchange`, and is never 0. The caller compares the
 * numbers of two looks to see whether the execution made progress. */
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

/* The state of an execution when a waiting caller last looked. place: the number that place()
 * returned, or 0 as long as the caller has not called place(). events: how many events the team had
 * handled (tt_team.events). */
struct progress {
    uint64_t place, events;
};

/* Pauses between two looks of a rank whose execution waits for a slot that a slower rank has not
 * left. The waiting rank is as many calls ahead of the slower rank as there are slots, or windows,
 * so it has time. Each look takes cache lines away from the slower rank, which writes them in each
 * call. In a pause of a microsecond or a few, the slower rank ends some calls, and the waiting rank
 * can then make several calls without a look. Ranks that share processors yield instead of pausing.
 * If several threads share the client, the rank does not pause either, because it would keep the
 * other threads from the client. */
static void pause_for_slot(const struct tt_exec *exec, const struct tt_wait *wait)
{
    enum { PAUSES = 64 };
    const struct tt_team *t = exec->team;
    const struct tt_wait_policy *policy = wait->policy;
    if (t->queue != exec || t->my_done != exec->number) return;
    if (policy->spins == 0 || policy->lock || wait->yielded > 0) return;
    for (int i = 0; i < PAUSES; i++) tt_relax();
}

/* Waits once more, as the wait policy says. Data arrives over a network in parts, so this function
 * does not yield after one part: its caller looks for the next part at once. An execution that made
 * progress waits for something else now, so the wait policy starts again from its beginning. To
 * keep short waits cheap, the steps of the lanes are compared (place()) only when the rank is about
 * to sleep. */
static void wait_more(const struct tt_exec *exec, struct tt_wait *wait, struct progress *seen)
{
    struct progress now = {seen->place, exec->team->events};
    if (tt_unlikely(tt_wait_is_late(wait))) now.place = place(exec);
    bool moved = now.events != seen->events || (seen->place && now.place != seen->place);
    if (tt_unlikely(moved))
        tt_wait_afresh(wait);
    else
        tt_wait_more(wait);
    if (tt_unlikely(exec->state == TT_EXEC_QUEUED) && !moved) pause_for_slot(exec, wait);
    *seen = now;
}

/* Fills in for the roll call what the execution waits for. */
static void fill_waiting(const void *arg, struct tt_activity *is)
{
    const struct tt_exec *exec = arg;
    const struct tt_team *t = exec->team;
    _Static_assert(sizeof *exec->signature == sizeof is->signature, "it is copied whole");
    is->team = t->id;
    is->number = exec->number;
    memcpy(is->signature, exec->signature, sizeof is->signature);
    if (!exec->owed) {
        struct tt_call_signature *signature = (struct tt_call_signature *)is->signature;
        signature->flags |= TT_SIGNATURE_BLOCKS;
    }
    for (int r = 0; r < t->map.p; r++)
        if (r != t->me && tt_exec_waits_for(exec, r)) tt_waiting_name(is, t->job_rank[r]);
}

/* Continues a wait that has become long: from now on the roll call shows what this rank waits for.
 * This is a separate function so that a short wait does not pay for the publishing. */
static __attribute__((noinline)) void wait_long(struct tt_exec *exec, struct tt_wait *wait,
                                                struct progress *seen)
{
    struct tt_team *t = exec->team;
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = TT_DOING_COLLECTIVE, .fill = fill_waiting, .arg = exec};
    /* Data for other executions does not count as progress of this one; only its own steps do. */
    uint64_t before = place(exec);
    while (tt_team_advance_all(t), exec->state != TT_EXEC_IDLE) {
        uint64_t now = place(exec);
        tt_waiting_look(&waiting, now != before);
        before = now;
        wait_more(exec, wait, seen);
        tt_team_check(t, tt_wait_is_long(wait));
        tt_team_try_leave_all(t);
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
        if (tt_unlikely(!exec->blocks) && exec->state == TT_EXEC_RUNNING)
            publish_blocks(t, exec->number, true);
        if (tt_unlikely(exec->traced)) traced_wait(exec);
        if (tt_unlikely(t->fabric->policy.lock != NULL)) tt_team_add_busy(t);
        tt_wait_begin(&wait, &t->fabric->policy, t->fabric->job, t->fabric->me);
        while (tt_team_advance_all(t), exec->state != TT_EXEC_IDLE) {
            wait_more(exec, &wait, &seen);
            if (tt_likely(!tt_team_check(t, tt_wait_is_long(&wait)))) continue;
            wait_long(exec, &wait, &seen);
            break;
        }
        if (tt_unlikely(wait.announced)) tt_wait_done(&wait);
    }
    return tt_likely(exec->status == TUTTI_OK) ? TUTTI_OK : tt_team_error(t);
}
