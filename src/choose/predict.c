/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Follows the plans of all ranks, step by step. In each turn, the processor that can go on at the
 * earliest time does one step of one of its ranks. A rank that cannot go on says when it may be
 * able to, if that is known, or is woken by what another rank does.
 */
#include "choose/predict.h"

#include "choose/predict-wait.h"
#include "plan/count.h"
#include "run/team.h"

enum {
    STEPS_FEW = 2000,     /* if a call has more steps, on all ranks together, it is assumed to use
                           * its windows several times */
    LEAST_TURNS = 8,      /* no turns of a shorter loop are skipped */
    LOOK_STEPS = 256,     /* after every LOOK_STEPS steps, the time is compared with most_ps */
    STEPS_SOME = 20000,   /* after this many steps, the prediction ends when all ranks have ended
                           * two calls */
    STEPS_MOST = 1 << 19, /* after this many steps, the prediction is given up */
    CALLS = 6,            /* calls in a row that are followed; the first WARM of them do not
                           * count */
    WARM = 2,
    WORK_MARGIN = 16, /* takes_more subtracts a margin from the work for a call: this work divided
                       * by WORK_MARGIN */
    ROUNDS = 3        /* if a root runs ahead and ranks take turns, ROUNDS times as many calls are
                       * followed as there are slots */
};

_Static_assert(TT_PREDICT_RANKS <= 64, "tt_follow.awaits has a bit for each rank");

const char *tt_spent_text(enum tt_spent spent)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        TT_SPENT_LIST(TEXT)
#undef TEXT
    };
    return texts[spent];
}

/* ---- Waiting ---- */

/* Forgets what the rank waited for, before its lanes are tried again. */
static void wait_afresh(struct tt_predictor *s, struct tt_follow *r)
{
    uint64_t me = UINT64_C(1) << r->me;
    r->ready_ps = TT_PREDICT_NEVER;
    for (; r->awaits; r->awaits &= r->awaits - 1)
        *tt_waiters_for(s, __builtin_ctzll(r->awaits)) &= ~me;
    *tt_waiters_for(s, TT_A_MESSAGE) &= ~me;
    *tt_waiters_for(s, TT_ALL_RANKS) &= ~me;
}

/* ---- Flags ---- */

static struct tt_flag_log *flag_of(const struct tt_predictor *s, int rank, uint32_t lane)
{
    return &s->flag[rank * s->lanes + (int)lane];
}

static bool signal_flag(struct tt_predictor *s, struct tt_follow *r, int lane,
                        const struct tt_plain *step)
{
    struct tt_flag_log *log = flag_of(s, r->me, (uint32_t)lane);
    tt_resume(s, r, -1);
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
    if (!tt_predict_room(s, (void **)&log->raise, log->n, &log->room, sizeof *log->raise))
        return false;
    log->raise[log->n++] =
        (struct tt_raise){(uint64_t)r->call << 32 | step->value, tt_core_of(s, r)->now_ps};
    tt_wake(s, r, r->me);
    return !s->hosts || tt_wire_signal(s, r, lane, step);
}

/* Returns when the flag was raised to this value; TT_PREDICT_NEVER: not yet. The flag was mostly
 * raised to it recently, so the search goes back from the end, and doubles its distance each
 * time. */
static inline int64_t raised_at(const struct tt_flag_log *log, uint64_t value)
{
    int high = log->n, low = high, back = 1;
    if (low == 0 || log->raise[low - 1].value < value) return TT_PREDICT_NEVER;
    for (; low > 0 && log->raise[low - 1].value >= value; back *= 2) {
        high = low;
        low = (int)tt_max(0, low - back);
    }
    while (low < high) {
        int middle = (low + high) / 2;
        if (log->raise[middle].value >= value)
            high = middle;
        else
            low = middle + 1;
    }
    return low < log->n ? log->raise[low].time_ps : TT_PREDICT_NEVER;
}

/* Awaits a flag of a rank on another node, which comes in a message. */
static bool await_apart(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step)
{
    struct tt_wire_flag *flag = tt_wire_flag(s, step->peer, r->me, (int)step->lane);
    int64_t at = flag ? raised_at(&flag->log, (uint64_t)r->call << 32 | step->value) : 0;
    if (!flag) return false;
    if (at > tt_core_of(s, r)->now_ps) return tt_wait_until(s, r, step->peer, at);
    tt_resume(s, r, step->peer);
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
    tt_wire_take_signals(s, r, flag);
    return true;
}

static bool await_flag(struct tt_predictor *s, struct tt_follow *r, int lane,
                       const struct tt_plain *step)
{
    if (tt_unlikely(tt_is_apart(s, r->me, step->peer))) return await_apart(s, r, step);
    int64_t at =
        raised_at(flag_of(s, step->peer, step->lane), (uint64_t)r->call << 32 | step->value);
    int64_t line = tt_line_near(s, &s->rank[step->peer], r->me);
    if ((uint32_t)lane != step->lane) s->leader = NULL; /* only predict-repeat.c needs a leader */
    if (s->leader)
        s->asked[tt_pair_lane(s, r->me, step->peer, lane)] = (uint64_t)r->call << 32 | step->value;
    if (at == TT_PREDICT_NEVER) return tt_wait_until(s, r, step->peer, at);
    if (at + line > tt_core_of(s, r)->now_ps) return tt_wait_until(s, r, step->peer, at + line);
    bool waited = tt_resume(s, r, step->peer);
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
    if (!waited && line > 0) tt_spend(s, r, TT_SPENT_lines, tt_machine_number(s, TT_MACHINE_take));
    return true;
}

/* ---- Steps ---- */

/* Does the step. Returns false if the step cannot be done yet. */
static bool do_step(struct tt_predictor *s, struct tt_follow *r, int lane,
                    const struct tt_plain *step)
{
    switch (step->kind) {
    case TT_SEND: return tt_message_send(s, r, lane, step);
    case TT_RECV: return tt_message_recv(s, r, lane, step);
    case TT_WAIT: return tt_message_wait(s, r, lane, step);
    case TT_SIGNAL: return signal_flag(s, r, lane, step);
    case TT_AWAIT: return await_flag(s, r, lane, step);
    case TT_PUT:
    case TT_GET: tt_under_way_of(&r->lane[lane], step)->channel = NULL; /* fall through */
    case TT_COPY:
    case TT_REDUCE:
        if (s->hosts && !tt_wire_reaches(s, r, step)) return false;
        tt_resume(s, r, -1);
        tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
        tt_step_moves(s, r, step);
        return true;
    case TT_LOOP:
    case TT_END:
    case TT_EXCHANGE: break;
    }
    s->status = tt_fail(TUTTI_ERR_ARG, "the plan has a step of an unknown kind");
    return false;
}

/* Does the next step of the first lane that can go on. Returns false if no lane can. */
static bool try_lanes(struct tt_predictor *s, struct tt_follow *r)
{
    wait_afresh(s, r);
    for (uint32_t i = 0; i < r->plan->lanes; i++) {
        struct tt_follow_lane *lane = &r->lane[i];
        if (lane->ended) continue;
        if (!lane->has_step && !tt_iter_next(&lane->iter, &lane->step)) {
            lane->ended = true;
            return true;
        }
        lane->has_step = true;
        if (!do_step(s, r, (int)i, &lane->step)) continue;
        lane->has_step = false;
        r->done++;
        return true;
    }
    return tt_message_take_any(s, r);
}

/* ---- Calls ---- */

static void begin_lane(struct tt_follow_lane *lane, const struct tt_plan *plan, int i)
{
    for (uint32_t k = 0; k < plan->lane[i].starts * TT_IN_FLIGHT; k++)
        lane->started[k] = (struct tt_under_way){.posted = -1};
    tt_iter_begin(&lane->iter, plan, i, lane->memory);
    lane->has_step = lane->ended = false;
}

/* Begins the next call as soon as all ranks have ended the call that used its slot or window
 * before. */
static bool begin_call(struct tt_predictor *s, struct tt_follow *r)
{
    int before = r->call - s->slots;
    int64_t when = 0;
    for (int i = 0; i < s->p && before >= 0; i++) {
        int64_t ended = s->rank[i].ended_ps[before];
        if (ended == TT_PREDICT_NEVER) return tt_wait_until(s, r, TT_ALL_RANKS, ended);
        when = tt_max(when, ended + tt_line_between(s, &s->rank[i], r->me));
    }
    if (when > tt_core_of(s, r)->now_ps) return tt_wait_until(s, r, TT_ALL_RANKS, when);
    tt_resume(s, r, -1);
    tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_call));
    for (uint32_t i = 0; i < r->plan->lanes; i++) begin_lane(&r->lane[i], r->plan, (int)i);
    r->in_call = true;
    memset(r->touched, 0, sizeof r->touched);
    r->posted_n = r->posted_taken = 0;
    return true;
}

/* Counts the calls that all ranks have ended. */
static int count_ended(const struct tt_predictor *s)
{
    int n = s->calls;
    for (int r = 0; r < s->p; r++) n = (int)tt_min(n, s->rank[r].call);
    return n;
}

/* Ends the call if all lanes have ended. */
static void end_call(struct tt_predictor *s, struct tt_follow *r)
{
    for (uint32_t i = 0; i < r->plan->lanes; i++)
        if (!r->lane[i].ended) return;
    r->ended_ps[r->call++] = tt_core_of(s, r)->now_ps;
    r->in_call = false;
    r->over = r->call == s->calls;
    s->ended = count_ended(s);
    memcpy(r->spent_by[r->call - 1], r->spent, sizeof r->spent);
    tt_wake(s, r, TT_ALL_RANKS);
}

/* Lets the rank do one step, or begin its next call, if it can. */
static void follow(struct tt_predictor *s, struct tt_follow *r)
{
    bool began = r->in_call;
    s->steps++;
    if (!began) {
        wait_afresh(s, r);
        began = begin_call(s, r);
        if (began) r->ready_ps = 0;
        return;
    }
    if (!try_lanes(s, r)) return;
    r->ready_ps = 0;
    end_call(s, r);
}

/* ---- Processors ---- */

static struct tt_follow *rank_on(const struct tt_predictor *s, const struct tt_core *core, int i)
{
    return s->on[core->first + i];
}

/* Returns the time at which some rank of the processor may be able to go on; TT_PREDICT_NEVER: none
 * is. */
static int64_t find_ready(const struct tt_predictor *s, const struct tt_core *core)
{
    int64_t ready = TT_PREDICT_NEVER;
    const struct tt_follow *last = rank_on(s, core, core->at);
    if (!last->over && last->ready_ps <= core->now_ps) return core->now_ps;
    for (int i = 0; i < core->n; i++) {
        const struct tt_follow *r = rank_on(s, core, i);
        if (!r->over) ready = tt_min(ready, r->ready_ps);
    }
    return ready == TT_PREDICT_NEVER ? ready : tt_max(ready, core->now_ps);
}

static int64_t turn_ps(const struct tt_predictor *s, int ranks)
{
    int64_t look = s->hosts ? s->machine->network.look : 0;
    return look + tt_machine_number(s, ranks <= 2   ? TT_MACHINE_turn_2
                                       : ranks <= 4 ? TT_MACHINE_turn_4
                                                    : TT_MACHINE_turn_8);
}

/* Passes the processor on, rank after rank, until it comes to a rank that is ready. Each rank takes
 * its turn, also those that find nothing to do. */
static struct tt_follow *next_turn(struct tt_predictor *s, struct tt_core *core, int64_t ready)
{
    int64_t turn = turn_ps(s, core->n), round = turn * core->n;
    core->now_ps += (ready - core->now_ps) / round * round;
    for (;;) {
        core->at = (core->at + 1) % core->n;
        core->now_ps += turn;
        struct tt_follow *r = rank_on(s, core, core->at);
        if (!r->over && r->ready_ps <= core->now_ps) return r;
    }
}

/* Returns the rank that the processor runs next. */
static struct tt_follow *pick(struct tt_predictor *s, struct tt_core *core, int64_t ready)
{
    struct tt_follow *r = rank_on(s, core, core->at);
    if (!r->over && r->ready_ps <= core->now_ps) return r;
    if (core->n > 1) return next_turn(s, core, ready);
    core->now_ps = ready;
    return r;
}

/* Returns the most calls that a rank of the processor has ended, and counts a call under way as
 * ended. */
static int calls_of(const struct tt_predictor *s, const struct tt_core *core)
{
    int calls = 0;
    for (int i = 0; i < core->n; i++) calls = (int)tt_max(calls, rank_on(s, core, i)->call);
    return calls + (calls < s->calls);
}

/* Returns the work for one call: the greatest, over all processors, of the times that a processor
 * has worked on average for a call. A call under way counts as ended. */
static int64_t work_for_call(const struct tt_predictor *s)
{
    int64_t most = 0;
    for (int c = 0; c < s->cores; c++)
        most = tt_max(most, s->core[c].worked_ps / calls_of(s, &s->core[c]));
    return most;
}

/* Returns what work_for_call would return if processors that move bytes at the same time did not
 * slow each other down. This time hardly differs from call to call. If ranks send messages, a rank
 * that is in an early call may already have worked for messages of ranks that are in later calls,
 * so the work is divided by as many calls as any rank has begun. */
static int64_t alone_for_call(const struct tt_predictor *s)
{
    int64_t most = 0;
    int begun = 1;
    for (int c = 0; s->channel && c < s->cores; c++)
        begun = (int)tt_max(begun, calls_of(s, &s->core[c]));
    for (int c = 0; c < s->cores; c++) {
        int calls = s->channel ? begun : calls_of(s, &s->core[c]);
        most = tt_max(most, s->core[c].alone_ps / calls);
    }
    return most;
}

static int64_t end_of(const struct tt_predictor *s, int call, int *last)
{
    int64_t end = -1;
    for (int r = 0; r < s->p; r++) {
        if (s->rank[r].ended_ps[call] > end) *last = r;
        end = tt_max(end, s->rank[r].ended_ps[call]);
    }
    return end;
}

/* Returns how many of the first calls the prediction leaves out of the mean time of a call: WARM,
 * or as many as there are slots if more than CALLS calls are predicted. */
static int warm_calls(const struct tt_predictor *s)
{
    return s->calls > CALLS ? s->slots : WARM;
}

/* Returns whether no rank can begin call k + 2 before all ranks have ended call k. Each call then
 * takes at least half of the time between its begin on the first rank and its end on the last rank.
 * The function returns true only for calls of many steps, in two cases. Either a rank ends the
 * collective only after all ranks have begun it, as in most collectives. Or the data pass through
 * windows: a call of many steps uses each window several times, so a rank that fills windows has to
 * wait for the ranks that read them. */
static bool calls_follow(const struct tt_predictor *s)
{
    int begun = 0;
    for (int r = 0; r < s->p; r++) begun = (int)tt_max(begun, s->rank[r].call + 1);
    enum tt_coll coll = s->call->coll;
    bool ahead = tt_coll_has_root(coll) || coll == TT_COLL_scan || coll == TT_COLL_exscan;
    return s->steps / begun > STEPS_FEW && (!ahead || !s->channel);
}

/* Returns whether the prediction ends as soon as all ranks have ended two calls. */
static bool is_long(const struct tt_predictor *s)
{
    return s->steps > STEPS_SOME || s->steps - s->skipped > s->some_steps;
}

/* Returns a lower bound of the time at which the last of the timed calls (those after the warm-up)
 * ends. `begin` is the end of the last call that all ranks have ended. If the predictor is going to
 * follow all calls to their end, the bound is not below `now` either, because a call that has not
 * ended ends at `now` or later. */
static int64_t end_at_least(const struct tt_predictor *s, int64_t begin, int64_t now)
{
    int64_t some = tt_min(STEPS_SOME, s->some_steps);
    bool all = s->ended < s->calls && s->steps / s->ended * s->calls <= some;
    return all ? tt_max(begin, now) : begin;
}

/* Returns true if it is known at the time `now` that a call takes longer than most_ps. The work for
 * a call is compared with most_ps first, reduced by a margin (WORK_MARGIN), because it varies: in
 * one call a step finds its signal at once, and in another call the same step has to wait. The time
 * for which a link is busy does not vary. */
static bool takes_more(const struct tt_predictor *s, int64_t now)
{
    int ended = s->ended, warm = warm_calls(s), last;
    int64_t begin = ended > 0 ? end_of(s, ended - 1, &last) : 0, alone = alone_for_call(s);
    if (alone - alone / WORK_MARGIN > s->most_ps) return true;
    if (s->hosts && tt_wire_for_call(s) > s->most_ps) return true;
    if (calls_follow(s) && (now - begin) / 2 > s->most_ps) return true;
    /* A long prediction ends with the second call. The predicted time is then that of the second
     * call, which has taken now - begin so far. */
    if (ended == 1 && is_long(s)) return now - begin > s->most_ps;
    if (ended < warm) return false;
    int64_t time = end_at_least(s, begin, now) - end_of(s, warm - 1, &last);
    return time / (s->calls - warm) > s->most_ps;
}

/* Skips turns that repeat, but not beyond the number of steps at which the prediction may end. */
static void skip(struct tt_predictor *s, int64_t now)
{
    int64_t most = s->ended < 2 ? STEPS_MOST : STEPS_SOME;
    if (!tt_repeat_skip(s, now, most)) return;
    for (int c = 0; c < s->cores; c++) tt_follow_ready(s, c, find_ready(s, &s->core[c]));
}

static tutti_status fail_long(void)
{
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "it has too many steps to predict its time");
}

/* Guesses the time of a call, of which only a part was followed until `now`. The rank that is
 * furthest behind is assumed to go on at the same speed. Gives the prediction up if some rank has
 * done too few of its steps. */
static void guess(struct tt_predictor *s, int64_t now)
{
    enum { PART = 8 };
    int64_t done = 1, counted = 1;
    int last;
    if (s->ended == 1) now = tt_min(now, end_of(s, 0, &last));
    for (int i = 0; i < s->p; i++) {
        const struct tt_follow *r = &s->rank[i];
        if (r->done < r->counted / PART || now > INT64_MAX / (4 * PART)) s->status = fail_long();
        if (s->status != TUTTI_OK) return;
        if (r->counted * done <= counted * r->done) continue;
        counted = r->counted;
        done = tt_max(1, r->done);
    }
    s->guess_ps = tt_max(now / done * counted + now % done * counted / done, s->least_ps);
}

/* Lets the rank that can go on at the earliest time do one step. Returns false when there is
 * nothing more to follow. */
static bool follow_one(struct tt_predictor *s)
{
    int first = s->winner[1];
    struct tt_core *core = &s->core[first];
    int64_t now = s->ready_ps[first];
    if (now == TT_PREDICT_NEVER) return false;
    struct tt_follow *r = pick(s, core, now);
    follow(s, r);
    tt_follow_ready(s, first, find_ready(s, core));
    if (r == s->leader) skip(s, now);
    if (s->steps > STEPS_MOST) s->status = fail_long();
    if (s->steps - s->skipped > s->most_steps && s->ended < 2) {
        guess(s, now);
        return false;
    }
    if (s->steps >= s->look_at) {
        s->look_at = s->steps + LOOK_STEPS;
        s->more = takes_more(s, now);
        if (s->more) return false;
    }
    bool enough = is_long(s) && s->steps % 64 == 0 && s->ended >= 2;
    return s->status == TUTTI_OK && !enough;
}

/* ---- Beginning and end ---- */

static bool open_lane(struct tt_follow_lane *lane, const struct tt_plan *plan, int i)
{
    lane->memory = tt_alloc(tt_iter_bytes(plan, i) + 8);
    lane->started = tt_alloc((plan->lane[i].starts * TT_IN_FLIGHT + 1) * sizeof *lane->started);
    return lane->memory && lane->started;
}

static int64_t bytes_of(const struct tt_call *call, const int64_t *counts, int p)
{
    int64_t n = 0;
    for (int i = 0; counts && i < p; i++) n += counts[i];
    return n * call->sz;
}

/* Returns the bytes of a buffer whose pieces have counts. An allgatherv has one list for both
 * buffers. */
static int64_t list_bytes(const struct tt_predictor *s, const struct tt_follow *r, int buffer)
{
    const struct tt_call *c = &r->own;
    if (buffer == TT_OUT) return bytes_of(c, c->out_counts, s->p);
    if (c->in_counts) return bytes_of(c, c->in_counts, s->p);
    return c->out_counts ? c->out_counts[r->me] * c->sz : 0;
}

static int64_t buffer_bytes(const struct tt_predictor *s, const struct tt_follow *r, int buffer)
{
    if (buffer == TT_TMP) return r->plan->tmp_bytes;
    if (tt_call_segments(&r->own)) return list_bytes(s, r, buffer);
    return buffer == TT_IN ? tt_call_in_bytes(&r->own, s->p, r->me)
                           : tt_call_out_bytes(&r->own, s->p, r->me);
}

static bool open_rank(struct tt_predictor *s, const struct tt_algorithm *algorithm, int me)
{
    struct tt_follow *r = &s->rank[me];
    *r = (struct tt_follow){.me = me, .core = s->core_of[me], .since_ps = -1};
    r->own = s->call[s->is_own ? me : 0];
    r->own.in_place = false; /* only some ranks may call in place */
    r->plan = tt_algorithm_plan(algorithm, &r->own, s->map, me);
    if (!r->plan) s->status = tt_error_status();
    r->ended_ps = tt_alloc((size_t)s->calls * sizeof *r->ended_ps);
    r->spent_by = tt_calloc((size_t)s->calls, sizeof *r->spent_by);
    if (!r->plan || !r->ended_ps || !r->spent_by) return false;
    for (int i = TT_IN; i <= TT_TMP; i++) r->bytes[i] = buffer_bytes(s, r, i);
    for (int i = 0; i < s->calls; i++) r->ended_ps[i] = TT_PREDICT_NEVER;
    s->lanes = (int)tt_max(s->lanes, r->plan->lanes);
    r->lane = tt_calloc(r->plan->lanes, sizeof *r->lane);
    for (uint32_t i = 0; r->lane && i < r->plan->lanes; i++)
        if (!open_lane(&r->lane[i], r->plan, (int)i)) return false;
    return r->lane != NULL;
}

static void close_rank(struct tt_follow *r)
{
    for (uint32_t i = 0; r->lane && i < r->plan->lanes; i++) {
        tt_free(r->lane[i].memory);
        tt_free(r->lane[i].started);
    }
    tt_free(r->lane);
    tt_free(r->posted);
    tt_free(r->ended_ps);
    tt_free(r->spent_by);
    tt_plan_free(r->plan);
}

static void close_all(struct tt_predictor *s)
{
    for (int r = 0; s->rank && r < s->p; r++) close_rank(&s->rank[r]);
    for (int i = 0; s->flag && i < s->p * s->lanes; i++) tt_free(s->flag[i].raise);
    for (int i = 0; s->channel && i < s->p * s->p * s->lanes; i++) tt_free(s->channel[i].sent);
    tt_wire_close(s);
    tt_free(s->asked);
    tt_free(s->saved.asked);
    tt_free(s->saved.rank);
    tt_free(s->saved.lane);
    tt_free(s->saved.channel);
    tt_free(s->rank);
    tt_free(s->core);
    tt_free(s->flag);
    tt_free(s->channel);
}

/* Returns how many calls are followed. In a collective with a root that no rank answers, the root
 * runs ahead of the other ranks until it has used all slots; if the ranks take turns, the root does
 * so in each of its turns. So more calls are followed in a collective with a root if ranks take
 * turns. */
static int calls_for(const struct tt_predictor *s)
{
    bool ahead = tt_coll_has_root(s->call->coll) && s->p > s->cores;
    return ahead ? ROUNDS * s->slots : CALLS;
}

/* Returns whether each step in a loop is done with the same length in all turns but the first few
 * and the last one. */
static bool is_regular(const struct tt_plan *plan)
{
    for (uint32_t i = 1; i < plan->varies_n; i++)
        if (plan->varies[i].from > TT_IN_FLIGHT || plan->varies[i].tail_mod > 0) return false;
    return true;
}

/* Returns whether two calls have too many steps, counting the steps of all ranks. A prediction has
 * to follow at least two calls. */
static bool too_many_steps(const struct tt_predictor *s)
{
    int64_t steps = 0;
    for (int r = 0; r < s->p; r++)
        if (is_regular(s->rank[r].plan))
            steps += 2 * tt_plan_steps(s->rank[r].plan, TT_IN_FLIGHT + 1);
    return steps > STEPS_MOST;
}

/* Returns the turns of the longest loop of a plan. */
static uint32_t longest_loop(const struct tt_plan *plan)
{
    uint32_t turns = 0;
    for (uint32_t i = 0; i < plan->steps_n; i++)
        if (plan->steps[i].kind == TT_LOOP && plan->steps[i].value > turns)
            turns = plan->steps[i].value;
    return turns;
}

/* Sets s->leader to the rank whose plan has the longest loop, or to NULL if no turns will be
 * skipped, because no loop has LEAST_TURNS turns. Returns false if there is no memory. */
static bool open_leader(struct tt_predictor *s)
{
    uint32_t most = LEAST_TURNS - 1;
    size_t lanes = (size_t)(s->p * s->lanes), pairs = (size_t)s->p * lanes;
    for (int r = 0; r < s->p; r++) {
        uint32_t turns = longest_loop(s->rank[r].plan);
        if (turns > most) s->leader = &s->rank[r];
        most = turns > most ? turns : most;
    }
    if (!s->leader) return true;
    s->asked = tt_calloc(pairs, sizeof *s->asked);
    s->saved.asked = tt_calloc(pairs, sizeof *s->saved.asked);
    s->saved.rank = tt_calloc((size_t)s->p, sizeof *s->saved.rank);
    s->saved.lane = tt_calloc(lanes, sizeof *s->saved.lane);
    return s->asked && s->saved.asked && s->saved.rank && s->saved.lane;
}

/* Lets all processors begin at time 0. Where ranks take turns, a rank that finds nothing yet passes
 * the processor on, and tries again a round later. Processors do not take their turns in step, but
 * the predictor would let them, and a rank would find what another processor has done a moment
 * ago. So what happens on another processor counts as seen only a part of a turn later. A quarter
 * was found by comparing predicted and measured times on a machine with two processors. */
static void open_turns(struct tt_predictor *s)
{
    enum { PART = 4 };
    for (int c = 0; c < s->cores; c++) {
        if (s->core[c].n > 1) s->core[c].late_ps = turn_ps(s, s->core[c].n) / PART;
        s->line_most_ps =
            tt_max(s->line_most_ps, tt_machine_number(s, TT_MACHINE_line) + s->core[c].late_ps);
    }
    for (s->places = 2; s->places < s->cores;) s->places *= 2;
    for (int c = 0; c < s->places; c++) {
        s->ready_ps[c] = c < s->cores ? 0 : TT_PREDICT_NEVER;
        s->winner[s->places + c] = (uint8_t)c;
    }
    for (int c = s->places - 1; c >= 0; c--) tt_follow_ready(s, c, s->ready_ps[c]);
}

/* Returns how many calls a rank may have under way: as many as the team has slots, or, if the call
 * uses long windows, as many as a member of the team has long windows. In a large team the
 * predictor assumes fewer slots: it may follow ROUNDS times as many calls as there are slots
 * (calls_for), and these would have too many steps. */
static int slots_for(const struct tt_predictor *s)
{
    enum { STEPS_OF_CALL = 4 };
    bool crowded = !s->hosts && s->p > s->map->cores;
    int64_t windows = tt_team_windows(s->p), slots = tt_team_slots(s->p, crowded);
    if (s->map->win_bytes > tt_team_short_window(s->p)) slots = windows;
    while (slots > windows && ROUNDS * slots * s->p * STEPS_OF_CALL > STEPS_SOME) slots /= 2;
    return (int)slots;
}

static tutti_status open_all(struct tt_predictor *s, const struct tt_algorithm *algorithm)
{
    s->rank = tt_calloc((size_t)s->p, sizeof *s->rank);
    s->core = tt_calloc((size_t)s->p, sizeof *s->core);
    bool good = s->rank && s->core;
    if (good) tt_wire_place(s);
    s->slots = slots_for(s);
    s->calls = calls_for(s);
    s->loads = s->map->mapped || s->call->shared;
    for (int r = 0; good && r < s->p; r++) good = open_rank(s, algorithm, r);
    if (good) s->flag = tt_calloc((size_t)(s->p * s->lanes), sizeof *s->flag);
    if (good) open_turns(s);
    good = good && s->flag && open_leader(s);
    if (good && too_many_steps(s)) return fail_long();
    if (good || s->status != TUTTI_OK) return s->status;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a prediction");
}

/* Sets *prediction to the time from the end of one call to the end of the next, and how the rank
 * that ends last spent that time. If only few calls were followed, some ranks have already done
 * work for later calls before the measured time, which is then too short: ranks that take turns,
 * and ranks that send to a root. So the predicted time is never less than the work of a processor
 * or of a link for one call. */
static tutti_status sum_up(const struct tt_predictor *s, struct tt_prediction *prediction)
{
    int ended = s->ended, warm = warm_calls(s), last = 0;
    if (ended <= warm) warm = 1;
    if (ended < 2) return tt_fail(TUTTI_ERR_UNSUPPORTED, "the predictor found no end of its plan");
    int64_t begin = end_of(s, warm - 1, &last), n = ended - warm;
    int64_t time = (end_of(s, ended - 1, &last) - begin) / n;
    int64_t least = tt_max(work_for_call(s), tt_wire_for_call(s));
    *prediction = (struct tt_prediction){.time_ps = tt_max(time, least)};
    const struct tt_follow *r = &s->rank[last];
    for (int i = 0; i < TT_SPENT_N; i++)
        prediction->spent[i] = (r->spent_by[ended - 1][i] - r->spent_by[warm - 1][i]) / n;
    return TUTTI_OK;
}

static const char *unpredictable(const struct tt_map *map)
{
    if (!map->machine) return "there is no model of this machine (tutti calibrate makes one)";
    if (map->net) return "no times are predicted for a network that TUTTI_NETWORK describes";
    if (!tt_map_one_node(map) && !tt_machine_has_network(map->machine))
        return "the model does not say what messages between nodes cost: run tutti calibrate "
               "--network on two hosts (see man tutti-calibrate)";
    if (map->p > TT_PREDICT_RANKS) return "times are predicted for at most 64 ranks";
    return NULL;
}

/* ---- A lower bound ---- */

/* Returns for how many turns of its loops a step stands, if skip_turns is called after it. */
static int64_t weight_of(const struct tt_iter *iter)
{
    int64_t weight = 1;
    for (int d = 0; iter->unrolls && d < iter->depth; d++) {
        int64_t turn = iter->loop[d].turn, turns = iter->loop[d].turns;
        if (turn >= TT_IN_FLIGHT && turn + 1 < turns) weight *= turns - 1 - TT_IN_FLIGHT;
    }
    return weight;
}

/* Lets one turn of a loop stand for all turns but the first TT_IN_FLIGHT and the last: skips the
 * turns in between. */
static void skip_turns(struct tt_iter *iter)
{
    for (int d = 0; iter->unrolls && d < iter->depth; d++)
        if (iter->loop[d].turn >= TT_IN_FLIGHT && iter->loop[d].turn + 2 < iter->loop[d].turns)
            iter->loop[d].turn = iter->loop[d].turns - 2;
}

/* Adds what a step takes at least, whatever other ranks do, to the rank's processor. If the step
 * sends to another node, also adds what `weight` such messages take to the links. */
static void work_alone(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step,
                       int64_t weight)
{
    bool sends = step->kind == TT_SEND;
    bool moves = step->kind == TT_COPY || step->kind == TT_REDUCE || step->kind == TT_PUT ||
                 step->kind == TT_GET;
    bool apart = (sends || step->kind == TT_RECV) && tt_is_apart(s, r->me, step->peer);
    if (moves && (!s->hosts || tt_wire_reaches(s, r, step))) tt_step_moves(s, r, step);
    if (!apart) {
        tt_spend(s, r, TT_SPENT_calls, tt_machine_number(s, TT_MACHINE_step));
        return;
    }
    enum tt_machine_wire end = sends ? TT_MACHINE_wire_send : TT_MACHINE_wire_receive;
    tt_spend(s, r, TT_SPENT_wire, tt_machine_wire(s->machine, end, step->len));
    if (sends && step->len <= TT_PREDICT_LATEST / weight)
        (void)tt_wire_arrives(s, r->me, step->peer, step->len * weight, 0);
}

/* Adds what the steps of a lane take at least in a call. */
static void lane_alone(struct tt_predictor *s, struct tt_follow *r, int i)
{
    struct tt_follow_lane *lane = &r->lane[i];
    struct tt_core *core = tt_core_of(s, r);
    tt_iter_begin(&lane->iter, r->plan, i, lane->memory);
    while (s->status == TUTTI_OK && tt_iter_next(&lane->iter, &lane->step)) {
        int64_t before = core->alone_ps, weight = weight_of(&lane->iter);
        work_alone(s, r, &lane->step, weight);
        int64_t each = tt_max(0, core->alone_ps - before);
        if (each > (TT_PREDICT_LATEST - before) / weight) s->status = fail_long();
        core->alone_ps = s->status == TUTTI_OK ? before + each * weight : before;
        core->now_ps = s->busy_until_ps[r->core] = 0;
        r->counted += weight;
        skip_turns(&lane->iter);
    }
}

/* Forgets what lane_alone has added, but not the number of steps. */
static void forget_work(struct tt_predictor *s)
{
    for (int c = 0; c < s->cores; c++) s->core[c].alone_ps = s->core[c].worked_ps = 0;
    for (int r = 0; r < s->p; r++) memset(s->rank[r].spent, 0, sizeof s->rank[r].spent);
    memset(s->out_free_ps, 0, sizeof s->out_free_ps);
    memset(s->in_free_ps, 0, sizeof s->in_free_ps);
    memset(s->out_busy_ps, 0, sizeof s->out_busy_ps);
    memset(s->in_busy_ps, 0, sizeof s->in_busy_ps);
}

/* Sets s->least_ps to a time that no call falls below: the greatest work of a processor or link for
 * a call, if short buffers are in the caches and no other processor moves bytes. Counts the steps
 * of each rank in a call. Loops are not followed, so this takes little time even for long plans. If
 * the least time is above most_ps, by the margin that takes_more has, no step is followed. */
static void find_least(struct tt_predictor *s)
{
    for (int r = 0; r < s->p; r++)
        for (int i = TT_IN; i < TT_BUFFERS; i++)
            s->rank[r].touched[i] = (struct tt_touched){0, INT64_MAX};
    for (int r = 0; r < s->p; r++)
        for (int i = 0; i < (int)s->rank[r].plan->lanes; i++) lane_alone(s, &s->rank[r], i);
    if (s->hosts) s->least_ps = tt_wire_for_call(s);
    for (int c = 0; c < s->cores; c++) s->least_ps = tt_max(s->least_ps, s->core[c].alone_ps);
    forget_work(s);
    s->more = s->status == TUTTI_OK && s->least_ps - s->least_ps / WORK_MARGIN > s->most_ps;
}

static tutti_status predict(const struct tt_algorithm *algorithm, const struct tt_call *call,
                            bool is_own, const struct tt_map *map, const struct tt_limits *limits,
                            struct tt_prediction *prediction)
{
    bool is_short;
    const char *why = unpredictable(map);
    if (why) return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s", why);
    struct tt_map with = tt_plan_map(algorithm, call, map, &is_short);
    bool streams = TT_STREAMS && map->cores > 1;
    struct tt_predictor s = {.machine = map->machine,
                             .map = &with,
                             .call = call,
                             .is_own = is_own,
                             .eager_most = map->eager,
                             .most_ps = limits->most_ps,
                             .some_steps = limits->some_steps,
                             .most_steps = limits->most_steps,
                             .look_at = limits->most_ps < INT64_MAX ? 0 : INT64_MAX,
                             .p = map->p,
                             .lanes = 1,
                             .hosts = tt_map_one_node(map) ? NULL : map->node,
                             .streams = streams && tt_machine_streams(map->machine, TT_STORES_SLOW),
                             .rings_stream = streams && map->p <= map->cores &&
                                             tt_machine_streams(map->machine, 1)};
    s.status = open_all(&s, algorithm);
    bool limited = limits->most_ps < INT64_MAX || limits->most_steps < INT64_MAX;
    if (s.status == TUTTI_OK && limited) find_least(&s);
    while (!s.more && s.status == TUTTI_OK && follow_one(&s)) continue;
    if (s.more)
        prediction->time_ps = TT_PREDICT_MORE;
    else if (s.status == TUTTI_OK && s.guess_ps > 0)
        *prediction = (struct tt_prediction){.time_ps = s.guess_ps};
    else if (s.status == TUTTI_OK)
        s.status = sum_up(&s, prediction);
    prediction->followed = s.steps - s.skipped;
    close_all(&s);
    return s.status;
}

static const struct tt_limits no_limits = {INT64_MAX, INT64_MAX, INT64_MAX};

void tt_give_equal_counts(struct tt_call *call, struct tt_equal_counts *equal, int p)
{
    int64_t n = call->n, at = 0;
    if (!tt_call_counts(call) || p > TT_PREDICT_RANKS) return;
    bool whole = call->coll == TT_COLL_reduce_scatter; /* n is the sum of the counts */
    for (int r = 0; r < p; r++) {
        equal->displ[r] = at;
        at += equal->count[r] = whole ? n / p + (r < n % p) : n;
    }
    call->out_counts = equal->count;
    if (whole) return;
    call->out_displs = equal->displ;
    call->n = 0;
}

tutti_status tt_predict(const struct tt_algorithm *algorithm, const struct tt_call *call,
                        const struct tt_map *map, struct tt_prediction *prediction)
{
    if (tt_coll_pairs(call->coll))
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "each rank has counts of its own");
    return predict(algorithm, call, false, map, &no_limits, prediction);
}

tutti_status tt_predict_up_to(const struct tt_algorithm *algorithm, const struct tt_call *call,
                              const struct tt_map *map, const struct tt_limits *limits,
                              struct tt_prediction *prediction)
{
    return predict(algorithm, call, false, map, limits, prediction);
}

tutti_status tt_predict_calls(const struct tt_algorithm *algorithm, const struct tt_call *call,
                              const struct tt_map *map, struct tt_prediction *prediction)
{
    return predict(algorithm, call, true, map, &no_limits, prediction);
}

struct tt_map tt_plan_map(const struct tt_algorithm *algorithm, const struct tt_call *c,
                          const struct tt_map *map, bool *is_short)
{
    /* A composed plan uses a part of the window in each of its stages. So if the algorithm divides
     * the window, or the team is on several nodes, the call gets short windows only if its bytes
     * fit in a PARTS-th of the whole cache lines of a short window. In a composed allgather these
     * are the bytes of all ranks. */
    enum { PARTS = 4 };
    struct tt_map low = *map;
    bool composed = algorithm->composition != NULL;
    bool pieces = c->coll == TT_COLL_alltoall || c->coll == TT_COLL_scatter ||
                  (c->coll == TT_COLL_allgather && composed);
    const int64_t most = tt_team_short_window(map->p);
    low.win_bytes = tt_min(map->win_bytes, most);
    *is_short = false;
    /* A rank does not know all counts, so the windows must not depend on them (run/team.h). */
    if (tt_coll_pairs(c->coll)) return *map;
    *is_short = true;
    if (map->win_bytes <= most) return low;
    bool whole = tt_map_one_node(map) && !composed && !algorithm->divides;
    int64_t part = whole ? most : most / TT_LINE * TT_LINE / PARTS;
    int64_t room = part / (pieces || tt_call_scatters(c) ? map->p : 1);
    if (!tt_call_counts(c) && tt_call_bytes(c) <= room && !algorithm->refuse(c, &low)) return low;
    *is_short = false;
    return *map;
}
