/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stage: set-up, scheduler and checks.
 */
#include "run/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "brief.h"
#include "fabric/fabric.h"
#include "run/delay.h"
#include "prove/prove.h"
#include "run/exec.h"
#include "run/props.h"

/* The stage searches for a rank that can do something (poke_one). After more than SWEEPS searches
 * in a row without success, all ranks count as stuck. One search is not enough, because a message
 * may be complete only after several searches. */
enum { SWEEPS = 5 };

/* One execution at one rank. */
struct act {
    struct tt_exec *exec;
    char *own_tmp; /* the buffer TMP that tt_exec_new allocated */
    struct props props;
    bool over;
};

struct stage_rank {
    struct tt_seat seat;
    struct tt_fabric fabric;
    struct tt_team team;
    struct tt_plan *late; /* the plan with late transfers; NULL: none */
    const struct tt_plan *plan;
    struct act *act; /* by the number of an execution: this rank's part in it */
    int begun, over; /* how many executions this rank has begun; those below `over` are complete */
};

struct stage_state {
    const struct stage_case *c;
    struct tt_segment segment;
    struct stage_rank *rank;
    struct tt_random random;
    uint64_t windows; /* number of windows of the team */
    int in_flight;
    bool late, eager;
    int *order; /* the ranks by priority, the first one highest */
};

const char *stage_result_name(enum stage_result result)
{
    static const char *const names[] = {
#define STAGE_NAME(name, text) text,
        STAGE_RESULT_LIST(STAGE_NAME)
#undef STAGE_NAME
    };
    return names[result];
}

void stage_open(void)
{
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%d", STAGE_WINDOW);
    setenv("TUTTI_WINDOW", bytes, 1);
    keep_freed_memory();
}

/* ---- The operation: (a, b) is the map x -> a x + b ---- */

struct stage_pair {
    uint64_t a, b;
};

static void compose_all(const void *left, const void *right, void *out, size_t n, tutti_type type,
                        void *arg)
{
    (void)type;
    (void)arg;
    for (size_t i = 0; i < n; i++) {
        struct stage_pair l, r;
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        struct stage_pair both = {l.a * r.a, l.a * r.b + l.b};
        memcpy((char *)out + i * sizeof both, &both, sizeof both);
    }
}

tutti_op stage_compose(void)
{
    static tutti_op op;
    if (op == 0 && tutti_op_create(compose_all, 0, NULL, &op) != TUTTI_OK) abort();
    return op;
}

/* ---- Setting up ---- */

static int below(struct stage_state *s, int n)
{
    return (int)tt_random_below(&s->random, (uint64_t)n);
}

static const struct tt_call_signature nothing = {.coll = -1};

static void set_up_act(struct stage_state *s, int r, struct act *a)
{
    struct stage_rank *k = &s->rank[r];
    const struct tt_call *c = &s->c->calls[r];
    props_make(&a->props, c, s->c->p, r, k->plan->tmp_bytes, &s->random);
    a->exec = tt_exec_new(&k->team, k->plan, TT_LONG_WINDOWS);
    if (!a->exec) abort();
    a->own_tmp = a->exec->buffer[TT_TMP];
    if (a->exec->tmp_offset < 0) a->exec->buffer[TT_TMP] = (char *)a->props.tmp.at;
    a->exec->looks = 1;
    a->exec->buffer[TT_OUT] = (char *)a->props.out.at;
    a->exec->buffer[TT_IN] = (char *)props_in(&a->props);
    a->exec->bytes[TT_IN] = a->props.in.bytes;
    a->exec->bytes[TT_OUT] = a->props.out.bytes;
    a->exec->call = tt_call_segments(c) ? c : NULL;
    a->exec->signature = &nothing;
    a->exec->shape = 1;
}

static void set_up_rank(struct stage_state *s, int r, const int *ranks, const int64_t *blocks)
{
    struct stage_rank *k = &s->rank[r];
    if (tt_team_init(&k->team, &k->fabric, s->c->p, r, ranks, blocks) != TUTTI_OK) abort();
    k->team.map.low_bytes = s->c->low_bytes; /* the plans were made for this value */
    k->team.slots = TT_PROOF_SLOTS;
    k->team.windows = s->windows;
    k->team.windows_log2 = __builtin_ctz((unsigned)s->windows);
    k->late = s->late ? delay(s->c->plans[r], &s->c->calls[r], &s->random) : NULL;
    k->plan = k->late ? k->late : s->c->plans[r];
    k->act = calloc((size_t)s->c->times, sizeof *k->act);
    if (!k->act) abort();
    for (int i = 0; i < s->c->times; i++) set_up_act(s, r, &k->act[i]);
    s->order[r] = r;
}

static void set_up(struct stage_state *s)
{
    size_t p = (size_t)s->c->p;
    int *ranks = calloc(p, sizeof *ranks);
    int64_t *blocks = calloc(p, sizeof *blocks);
    s->rank = calloc(p, sizeof *s->rank);
    s->order = calloc(p, sizeof *s->order);
    if (tt_segment_create(&s->segment, s->c->p, true) != TUTTI_OK) abort();
    if (!ranks || !blocks || !s->rank || !s->order) abort();
    for (int r = 0; r < s->c->p; r++) {
        if (tt_seat_take(&s->rank[r].seat, &s->segment, r, 0) != TUTTI_OK) abort();
        if (tt_fabric_init(&s->rank[r].fabric, &s->rank[r].seat) != TUTTI_OK) abort();
        s->rank[r].fabric.eager_most = s->eager ? 1 << 20 : 0;
        if (tt_team_block(&s->rank[r].fabric, s->c->p, &blocks[r]) != TUTTI_OK) abort();
        ranks[r] = r;
    }
    s->windows = TT_PROOF_SLOTS >> tt_random_below(&s->random, 2);
    for (int r = 0; r < s->c->p; r++) set_up_rank(s, r, ranks, blocks);
    free(ranks);
    free(blocks);
}

/* ---- Taking down ---- */

enum { PAGE = 4096, PAGES_MOST = TT_WINDOWS * (2 * STAGE_WINDOW / PAGE) + 1 };

/* Notes which pages of the memory were touched, or all if the system does not say so. Pages that
 * were never touched are zero. To compare them would map them, which would take much of the time of
 * a short run. A page that the system has swapped out may count as never touched. */
static void note_touched(const char *at, int64_t bytes, unsigned char *touched)
{
    if (bytes > (int64_t)PAGES_MOST * PAGE) abort();
    if (sysconf(_SC_PAGESIZE) != PAGE || mincore((void *)at, (size_t)bytes, touched) != 0)
        memset(touched, 1, PAGES_MOST);
}

/* Returns whether the part of the windows that the plans may not use is still zero. */
static bool windows_hold(const struct stage_state *s, int r)
{
    static const char zero[2 * STAGE_WINDOW];
    static unsigned char touched[PAGES_MOST];
    const struct tt_team *t = &s->rank[r].team;
    const char *windows = tt_team_part(t, r, TT_PART_WINDOWS);
    if (!windows) return true;
    int64_t stride = t->layout.window_stride, first = t->layout.window / PAGE * PAGE;
    note_touched(windows + first, t->layout.window - first + (int64_t)t->windows * stride, touched);
    for (int slot = 0; slot < (int)t->windows; slot++) {
        int64_t at = t->layout.window + slot * stride + s->c->win_bytes;
        int64_t end = at + STAGE_WINDOW - s->c->win_bytes;
        for (; at < end; at = tt_min(end, (at / PAGE + 1) * PAGE)) {
            int64_t n = tt_min(end, (at / PAGE + 1) * PAGE) - at;
            bool there = touched[(at - first) / PAGE] & 1;
            if (there && memcmp(windows + at, zero, (size_t)n) != 0) return false;
        }
    }
    return true;
}

static void take_down_act(struct act *a)
{
    a->exec->buffer[TT_TMP] = a->own_tmp;
    a->exec->state = TT_EXEC_IDLE;
    tt_exec_free(a->exec);
    props_free(&a->props);
}

static void take_down_rank(struct stage_state *s, int r)
{
    struct stage_rank *k = &s->rank[r];
    for (int i = 0; i < s->c->times; i++) take_down_act(&k->act[i]);
    free(k->act);
    tt_plan_free(k->late);
    tt_team_release(&k->team, false);
    tt_fabric_close(&k->fabric);
}

static void take_down(struct stage_state *s)
{
    for (int r = 0; r < s->c->p; r++) take_down_rank(s, r);
    free(s->rank);
    free(s->order);
    tt_segment_close(&s->segment);
}

/* ---- Check before the run: no range lies far outside its buffer, in other memory ---- */

static int64_t span(const struct tt_plan *plan, const struct tt_range *r, int64_t len)
{
    const struct tt_shape *s = &plan->shapes[r->shape];
    if (!r->shape || s->block <= 0) return len;
    return (len / s->block - 1) * s->stride + s->block;
}

static bool is_near(const struct props *x, const struct tt_plan *plan, const struct tt_range *r,
                    int64_t len)
{
    const int64_t bytes[] = {[TT_IN] = x->in.bytes,
                             [TT_OUT] = x->out.bytes,
                             [TT_TMP] = plan->tmp_bytes,
                             [TT_WIN] = STAGE_WINDOW};
    bool exact = r->buf == TT_WIN || (r->buf == TT_TMP && plan->opens & 1 << TT_TMP);
    int64_t margin = exact ? 0 : PROPS_MARGIN;
    /* The interpreter checks ranges of other ranks' buffers itself (run/access.c). */
    if (r->rank != TT_SELF && r->buf != TT_WIN) return true;
    return r->off >= -margin && r->off + span(plan, r, len) <= bytes[r->buf] + margin;
}

static bool lane_is_near(const struct props *x, const struct tt_plan *plan, int lane)
{
    struct tt_iter iter;
    struct tt_plain step;
    bool near = true;
    void *memory = calloc(1, tt_iter_bytes(plan, lane) + 1);
    if (!memory) abort();
    tt_iter_begin(&iter, plan, lane, memory);
    while (near && tt_iter_next(&iter, &step))
        for (uint32_t i = 0; step.kind != TT_SIGNAL && i < step.nops; i++)
            near = near && is_near(x, plan, &step.range[i], step.len);
    free(memory);
    return near;
}

static bool stays_near(const struct stage_state *s)
{
    for (int r = 0; r < s->c->p; r++)
        for (uint32_t lane = 0; lane < s->c->plans[r]->lanes; lane++)
            if (!lane_is_near(&s->rank[r].act[0].props, s->c->plans[r], (int)lane)) return false;
    return true;
}

/* ---- Running ---- */

static void begin(struct stage_rank *k)
{
    struct act *a = &k->act[k->begun++];
    props_fill(&a->props);
    tt_exec_start(a->exec);
}

static bool may_begin(const struct stage_state *s, const struct stage_rank *k)
{
    int next = k->begun;
    return next < s->c->times && (next < s->in_flight || k->act[next - s->in_flight].over);
}

static bool all_have_begun(const struct stage_state *s, int number)
{
    for (int r = 0; r < s->c->p; r++)
        if (s->rank[r].begun <= number) return false;
    return true;
}

/* Checks the result, as the caller would, and then reuses the buffers. */
static enum stage_result finish(struct stage_state *s, int r, int number)
{
    struct stage_rank *k = &s->rank[r];
    struct act *a = &k->act[number];
    const struct props *all[STAGE_RANKS];
    for (int i = 0; i < s->c->p; i++) all[i] = &s->rank[i].act[number].props;
    a->over = true;
    while (k->over < s->c->times && k->act[k->over].over) k->over++;
    if (a->exec->status != TUTTI_OK) return STAGE_ERROR;
    if (!props_right(&a->props, all)) return STAGE_WRONG;
    if (a->props.call->coll == TT_COLL_barrier && !all_have_begun(s, number)) return STAGE_WRONG;
    props_reuse(&a->props);
    return STAGE_GOOD;
}

/* Advances the first lane that can advance, beginning at a random lane, by at most three steps.
 * Returns whether a lane advanced or the execution has ended. */
static bool poke_act(struct stage_state *s, struct act *a)
{
    int lanes = (int)a->exec->plan->lanes, first = below(s, lanes);
    bool any = a->exec->state == TT_EXEC_IDLE;
    for (int i = 0; i < lanes && !any; i++)
        any = tt_exec_steps(a->exec, (uint32_t)((first + i) % lanes), 1 + below(s, 3));
    return any;
}

/* Lets rank r start an execution or advance one. Returns false if it can do neither. */
static bool poke(struct stage_state *s, int r, enum stage_result *result)
{
    struct stage_rank *k = &s->rank[r];
    int live = k->begun - k->over, first = live ? below(s, live) : 0;
    if (may_begin(s, k) && (live == 0 || below(s, 2))) {
        begin(k);
        return true;
    }
    for (int i = 0; i < live; i++) {
        int number = k->over + (first + i) % live;
        struct act *a = &k->act[number];
        if (a->over || !poke_act(s, a)) continue;
        if (a->exec->state == TT_EXEC_IDLE) *result = finish(s, r, number);
        return true;
    }
    return false;
}

static void shuffle(struct stage_state *s)
{
    for (int i = s->c->p - 1; i > 0; i--) {
        int k = below(s, i + 1), kept = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = kept;
    }
}

/* Lets one rank do something: the first rank, in the order of priority, that can. In one of eight
 * calls the search begins at a random place in that order instead. */
static bool poke_one(struct stage_state *s, enum stage_result *result)
{
    int first = below(s, 8) == 0 ? below(s, s->c->p) : 0;
    if (below(s, 24) == 0) shuffle(s);
    for (int i = 0; i < s->c->p; i++)
        if (poke(s, s->order[(first + i) % s->c->p], result)) return true;
    return false;
}

static bool all_over(const struct stage_state *s)
{
    for (int r = 0; r < s->c->p; r++)
        if (s->rank[r].over < s->c->times) return false;
    return true;
}

static enum stage_result play(struct stage_state *s)
{
    enum stage_result result = STAGE_GOOD;
    int idle = 0;
    shuffle(s);
    while (!all_over(s) && result == STAGE_GOOD) {
        idle = poke_one(s, &result) ? 0 : idle + 1;
        if (idle > SWEEPS) result = STAGE_STUCK;
    }
    return result;
}

static enum stage_result inspect(const struct stage_state *s)
{
    for (int r = 0; r < s->c->p; r++) {
        for (int i = 0; i < s->c->times; i++) {
            if (!props_margins_hold(&s->rank[r].act[i].props)) return STAGE_OUTSIDE;
            if (!props_still_reused(&s->rank[r].act[i].props)) return STAGE_LATE;
        }
        if (!windows_hold(s, r)) return STAGE_OUTSIDE;
    }
    return STAGE_GOOD;
}

enum stage_result stage_run(const struct stage_case *c, uint64_t seed)
{
    struct stage_state s = {.c = c};
    enum stage_result result = STAGE_OUTSIDE;
    tt_random_seed(&s.random, seed);
    s.late = seed % 2 == 1;
    s.eager = seed % 4 == 2;
    set_up(&s);
    s.in_flight = 1 + below(&s, c->in_flight);
    if (stays_near(&s)) {
        result = play(&s);
        if (result == STAGE_GOOD) result = inspect(&s);
    }
    take_down(&s);
    return result;
}
