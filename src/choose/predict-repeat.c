/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Skips turns of loops that repeat. A long vector goes through a plan slice by slice: each turn of
 * a loop does the same for the next slice. After some turns, the ranks are in step: each turn takes
 * as long as the one before. Then nothing new happens until a loop comes to its last turn.
 *
 * When a rank that leads, the leader, begins a turn, the state of all ranks is compared with an
 * earlier state. If the two states are equal, except for a shift in time, in turns and in the
 * values of flags, then all that follows depends on the same numbers, and so it repeats with the
 * same shift, as long as each loop is in the middle: neither in its first turns, which may leave
 * steps out, nor in its last one, which may be shorter. What lies between the two states is a
 * period. A number of periods is passed at once, and times, values and turns are shifted by as
 * many. The prediction stays the same, to the picosecond.
 *
 * The argument needs these properties, which `periods` checks:
 *
 *     - Each time on which a later event depends lies as far from the begin of the turn as in the
 *       earlier state, or so far back that every rank can see by now what happened then. A rank
 *       that is not in a loop waits for a flag that nobody has raised in the period, so its times
 *       stay as they are.
 *     - The values that a rank awaits grow as fast as the values to which the flag is raised.
 *       Otherwise the rank would come to await a value that is not there yet.
 *     - No rank has sent a message or signal to another node in the period, or taken one, and none
 *       has arrived. The next one arrives after the periods that are passed. So what goes between
 *       nodes is the same as in the earlier state, and its times stay as they are. Most long loops
 *       are within nodes: nodes move slices through windows, and long messages to each other.
 *     - Ranges that return to their first place after some turns (tt_rotating in plan.h) begin at
 *       the same place as in the earlier state, and steps whose length varies have the same length.
 *
 * One property is not checked, but assumed, and the tests check it for all algorithms: a range that
 * moves on with the turns stays in the cache, or out of it (predict-step.c), as it was.
 */
#include <string.h>

#include "choose/predict-inside.h"

enum {
    /* No period begins before this turn: in the first turns, a wait for a transfer that an earlier
     * turn has started may do nothing, because there was no such turn. */
    FIRST_TURNS = TT_IN_FLIGHT,
    /* Each saved state is compared with the state at the begin of every following turn, until it is
     * replaced: after PERIOD turns, plus a quarter of the turns before it was saved. So states that
     * are saved later are kept longer, and longer periods are found, too. */
    PERIOD = 4
};

/* ---- The state ---- */

static uint32_t turn_of(const struct tt_iter *iter, int depth)
{
    return iter->depth > depth ? iter->loop[depth].turn : 0;
}

/* Returns the number of pairs of ranks, times the number of lanes. */
static int pair_lanes(const struct tt_predictor *s)
{
    return s->p * s->p * s->lanes;
}

static void save_channels(struct tt_predictor *s)
{
    size_t n = (size_t)pair_lanes(s);
    if (!s->saved.channel) s->saved.channel = tt_calloc(n, sizeof *s->saved.channel);
    for (size_t i = 0; s->saved.channel && i < n; i++) {
        const struct tt_follow_channel *c = &s->channel[i];
        struct tt_saved_channel *to = &s->saved.channel[i];
        to->n = c->n;
        to->posted = c->posted;
        to->read = c->read;
        for (int k = 0; k < TT_LAST_SENT && k < c->n; k++) to->last[k] = c->sent[c->n - 1 - k];
    }
}

static void save(struct tt_predictor *s, int64_t now)
{
    s->saved.now_ps = now;
    s->saved.steps = s->steps;
    s->saved.turns = s->turns;
    s->saved.waiters[0] = s->waiters[0];
    s->saved.waiters[1] = s->waiters[1];
    memcpy(s->saved.asked, s->asked, (size_t)pair_lanes(s) * sizeof *s->asked);
    memcpy(s->saved.core, s->core, (size_t)s->cores * sizeof *s->core);
    memcpy(s->saved.busy_until_ps, s->busy_until_ps, sizeof s->busy_until_ps);
    for (int i = 0; i < s->p; i++) {
        const struct tt_follow *r = &s->rank[i];
        s->saved.rank[i] = *r;
        for (int k = 0; k < (int)r->plan->lanes; k++)
            s->saved.lane[i * s->lanes + k] =
                (struct tt_saved_lane){r->lane[k], s->flag[i * s->lanes + k].n};
    }
    if (s->channel) save_channels(s);
}

/* Returns whether `time` is as far from `now` as `before` was from the time of the saved state.
 * Times that have passed count as equal. */
static bool alike_time(const struct tt_predictor *s, int64_t before, int64_t time, int64_t now)
{
    if (before == TT_PREDICT_NEVER || time == TT_PREDICT_NEVER) return before == time;
    return tt_max(before - s->saved.now_ps, 0) == tt_max(time - now, 0);
}

/* Compares the log of flag i, the flag of a lane of a rank. */
static bool alike_flag(const struct tt_predictor *s, int i, int64_t now)
{
    const struct tt_flag_log *log = &s->flag[i];
    int64_t line = s->line_most_ps;
    int was = s->saved.lane[i].raised, n = log->n;
    if (n == was) return true;
    if (was == 0 || log->raise[was - 1].value >> 32 != log->raise[n - 1].value >> 32) return false;
    const struct tt_raise *a = &log->raise[was - 1], *b = &log->raise[n - 1];
    uint64_t grown = b->value - a->value;
    for (; b->time_ps + line > now; a--, b--) {
        if (a < log->raise || b->value - a->value != grown ||
            b->time_ps - now != a->time_ps - s->saved.now_ps)
            return false;
    }
    return a < log->raise || a->time_ps + line <= s->saved.now_ps;
}

/* Returns whether a message can still change what a rank does: it was not taken, or its sender
 * cannot know yet that it was taken. */
static bool is_live(const struct tt_predictor *s, const struct tt_sent *sent, int64_t now)
{
    return sent->taken_ps == TT_PREDICT_NEVER || sent->taken_ps + s->line_most_ps > now;
}

static bool alike_message(const struct tt_predictor *s, const struct tt_sent *before,
                          const struct tt_sent *sent, int64_t now)
{
    bool taken = sent->taken_ps != TT_PREDICT_NEVER;
    return before->len == sent->len && before->rendezvous == sent->rendezvous &&
           before->early == sent->early && alike_time(s, before->at_ps, sent->at_ps, now) &&
           taken == (before->taken_ps != TT_PREDICT_NEVER) &&
           (!taken || sent->taken_ps - now == before->taken_ps - s->saved.now_ps);
}

/* Returns whether a channel is as it was in the saved state, but for the shift. A channel without
 * messages in the period counts as equal. */
static bool alike_channel(const struct tt_predictor *s, int i, int64_t now)
{
    const struct tt_follow_channel *c = &s->channel[i];
    const struct tt_saved_channel *was = &s->saved.channel[i];
    if (c->n - was->n != c->posted - was->posted || c->n - was->n != c->read - was->read)
        return false;
    for (int k = 0; c->n > was->n && k < c->n; k++) {
        const struct tt_sent *sent = &c->sent[c->n - 1 - k];
        bool lives = is_live(s, sent, now);
        if (k == TT_LAST_SENT || k >= was->n) return !lives;
        if (lives != is_live(s, &was->last[k], s->saved.now_ps)) return false;
        if (!lives) return true;
        if (!alike_message(s, &was->last[k], sent, now)) return false;
    }
    return true;
}

static bool alike_channels(const struct tt_predictor *s, int64_t now)
{
    if (!s->channel) return true;
    for (int i = 0; i < pair_lanes(s); i++)
        if (!alike_channel(s, i, now)) return false;
    return true;
}

static uint64_t last_value(const struct tt_flag_log *log, int n)
{
    return n > 0 ? log->raise[n - 1].value : 0;
}

/* Returns whether the values that ranks await have grown like the flags since the state was saved:
 * each awaited value is the same as then, or has grown as much as the flag for which its rank
 * waits. */
static bool alike_asked(const struct tt_predictor *s)
{
    int lanes = s->p * s->lanes;
    for (int i = 0; i < lanes; i++) {
        const struct tt_flag_log *log = &s->flag[i];
        uint64_t grown = last_value(log, log->n) - last_value(log, s->saved.lane[i].raised);
        for (int k = i; k < s->p * lanes; k += lanes) {
            uint64_t asked = s->asked[k] - s->saved.asked[k];
            if (asked != 0 && asked != grown) return false;
        }
    }
    return true;
}

/* Returns whether everything in the plan that depends on the number of a turn is the same in `turn`
 * and `turns` turns later. */
static bool is_whole(const struct tt_plan *plan, uint32_t turn, uint32_t turns)
{
    for (uint32_t i = 1; i < plan->shapes_n; i++)
        if (plan->shapes[i].mod > 0 && turns % (uint32_t)plan->shapes[i].mod != 0) return false;
    for (uint32_t i = 1; i < plan->varies_n; i++) {
        const struct tt_vary *v = &plan->varies[i];
        if (v->from > turn || (v->tail_mod > 0 && turns % (uint32_t)v->tail_mod != 0)) return false;
    }
    return turn >= FIRST_TURNS;
}

/* Returns how many periods the lane of a rank can pass; 0: none, or the lane differs from the saved
 * state by more than the turns of its loops. */
static int64_t lane_periods(const struct tt_predictor *s, int rank, int lane)
{
    const struct tt_follow_lane *now = &s->rank[rank].lane[lane];
    const struct tt_follow_lane *was = &s->saved.lane[rank * s->lanes + lane].lane;
    const struct tt_iter *a = &was->iter, *b = &now->iter;
    int64_t most = INT64_MAX;
    if (now->ended != was->ended || now->has_step != was->has_step || a->at != b->at) return 0;
    if (now->ended || !b->unrolls) return most;
    if (a->depth != b->depth || b->generating) return 0;
    for (int d = 0; d < b->depth; d++) {
        uint32_t turn = b->loop[d].turn, before = a->loop[d].turn;
        if (turn == before) continue;
        if (turn < before || most != INT64_MAX || turn + 2 > b->loop[d].turns ||
            !is_whole(s->rank[rank].plan, before, turn - before))
            return 0;
        most = (b->loop[d].turns - 2 - turn) / (turn - before);
    }
    return most;
}

/* Returns how many periods all lanes of a rank can pass. */
static int64_t rank_periods(const struct tt_predictor *s, int rank)
{
    int64_t most = INT64_MAX;
    for (int i = 0; i < (int)s->rank[rank].plan->lanes && most > 0; i++)
        most = tt_min(most, lane_periods(s, rank, i));
    return most;
}

static bool alike_flags(const struct tt_predictor *s, int rank, int64_t now)
{
    for (int i = rank * s->lanes; i < (rank + 1) * s->lanes; i++)
        if (!alike_flag(s, i, now)) return false;
    return true;
}

/* Compares a rank with its saved state. In the period, it may not have sent a message or signal to
 * another node, nor taken one: each of them takes time. A rank that waits for a fixed time still
 * waits for the same time (next_apart). */
static bool alike_rank(const struct tt_predictor *s, int rank, int64_t now)
{
    const struct tt_follow *a = &s->saved.rank[rank], *b = &s->rank[rank];
    if (a->call != b->call || a->in_call != b->in_call || a->over != b->over) return false;
    if (a->spent[TT_SPENT_wire] != b->spent[TT_SPENT_wire]) return false;
    if (b->over) return true;
    for (int i = 0; i < TT_BUFFERS; i++)
        if (a->touched[i].first != b->touched[i].first) return false;
    bool ready = a->ready_ps == b->ready_ps || alike_time(s, a->ready_ps, b->ready_ps, now);
    return a->awaits == b->awaits && ready &&
           (a->since_ps == b->since_ps || b->since_ps - now == a->since_ps - s->saved.now_ps);
}

static bool alike_core(const struct tt_predictor *s, int core, int64_t now)
{
    const struct tt_core *a = &s->saved.core[core], *b = &s->core[core];
    return a->at == b->at &&
           (a->now_ps == b->now_ps || b->now_ps - now == a->now_ps - s->saved.now_ps) &&
           alike_time(s, s->saved.busy_until_ps[core], s->busy_until_ps[core], now);
}

/* Lowers *next to the time of an event, or to `now` if the event was in the period. An event before
 * the period counts for nothing. */
static void come_to(const struct tt_predictor *s, int64_t time, int64_t now, int64_t *next)
{
    if (time > s->saved.now_ps) *next = tt_min(*next, tt_max(time, now));
}

/* Does this for the arrivals and acknowledgements of the messages of a channel. If the messages are
 * short, they arrive one after the other, so the search ends at the first one before the period. */
static void come_to_messages(const struct tt_predictor *s, const struct tt_follow_channel *c,
                             int64_t now, int64_t *next)
{
    for (int k = c->n - 1; k >= 0; k--) {
        const struct tt_sent *sent = &c->sent[k];
        if (sent->at_ps == TT_PREDICT_NEVER) continue;
        if (!sent->rendezvous && sent->at_ps <= s->saved.now_ps) return;
        come_to(s, sent->at_ps, now, next);
        if (sent->rendezvous)
            come_to(s, sent->at_ps + tt_wire_acknowledged(s, sent->len), now, next);
    }
}

/* Does the same for the arrivals of a lane's signals. */
static void come_to_signals(const struct tt_predictor *s, const struct tt_flag_log *log,
                            int64_t now, int64_t *next)
{
    for (int k = log->n - 1; k >= 0 && log->raise[k].time_ps > s->saved.now_ps; k--)
        come_to(s, log->raise[k].time_ps, now, next);
}

/* Returns the time of the next event after `now` that does not move with the turns of the loops: a
 * message, an acknowledgement or a signal of another node arrives, or a rank goes on that has
 * waited for such an event, or for the end of an earlier call, since before the period. Returns
 * `now` if there was such an event in the period. */
static int64_t next_apart(const struct tt_predictor *s, int64_t now)
{
    int64_t next = TT_PREDICT_LATEST;
    for (int r = 0; r < s->p; r++)
        if (s->rank[r].ready_ps == s->saved.rank[r].ready_ps)
            come_to(s, s->rank[r].ready_ps, now, &next);
    if (s->wire_until_ps <= s->saved.now_ps) return next;
    for (int i = 0; i < pair_lanes(s); i++) {
        bool apart = tt_is_apart(s, i / s->lanes / s->p, i / s->lanes % s->p);
        if (apart && s->channel) come_to_messages(s, &s->channel[i], now, &next);
        if (apart && s->wire_flag) come_to_signals(s, &s->wire_flag[i].log, now, &next);
    }
    return next;
}

/* Returns how many periods all ranks can pass at once, before the next event that does not move
 * with them; 0 or less: none, or the state differs from the saved state by more than a shift. */
static int64_t periods(const struct tt_predictor *s, int64_t now)
{
    int64_t most = INT64_MAX;
    if (now - s->saved.now_ps < s->line_most_ps) return 0;
    for (int c = 0; c < s->cores; c++)
        if (!alike_core(s, c, now)) return 0;
    for (int r = 0; r < s->p && most > 0; r++) most = tt_min(most, rank_periods(s, r));
    for (int r = 0; r < s->p && most > 0; r++)
        if (!alike_rank(s, r, now) || !alike_flags(s, r, now)) return 0;
    if (s->waiters[0] != s->saved.waiters[0] || s->waiters[1] != s->saved.waiters[1]) return 0;
    if (most == 0 || !alike_asked(s) || !alike_channels(s, now)) return 0;
    return tt_min(most, (next_apart(s, now) - now) / (now - s->saved.now_ps) - 1);
}

/* ---- Passing ---- */

/* Shifts a time by `by`. A time that did not change in the period stays, because it belongs to a
 * rank that waits. A time before `past` stays, because no rank depends on it any more. */
static void pass_time(int64_t before, int64_t *time, int64_t past, int64_t by)
{
    if (*time != before && *time != TT_PREDICT_NEVER && *time >= past) *time += by;
}

static void pass_channel(const struct tt_predictor *s, int i, int64_t now, int64_t by)
{
    const struct tt_follow_channel *c = &s->channel[i];
    if (c->n == s->saved.channel[i].n) return;
    for (int k = 0; k < TT_LAST_SENT && k < c->n; k++) {
        struct tt_sent *sent = &c->sent[c->n - 1 - k];
        bool lives = is_live(s, sent, now);
        if (sent->at_ps >= now) sent->at_ps += by;
        if (lives && sent->taken_ps != TT_PREDICT_NEVER) sent->taken_ps += by;
    }
}

/* Continues the log of the flag as it will be n periods later: appends the entries that were
 * made in the last period, and the last entry before it, shifted in time and in value. The log gets
 * no entries for the periods in between, because at the shifted time every rank can see what was
 * raised in them. */
static bool pass_flag(struct tt_predictor *s, int flag, int64_t n, int64_t by)
{
    struct tt_flag_log *log = &s->flag[flag];
    int was = s->saved.lane[flag].raised, end = log->n;
    uint64_t grown = last_value(log, end) - last_value(log, was);
    for (int i = tt_max(0, was - 1); i < end && end > was; i++) {
        if (!tt_predict_room(s, (void **)&log->raise, log->n, &log->room, sizeof *log->raise))
            return false;
        log->raise[log->n++] = (struct tt_raise){log->raise[i].value + (uint64_t)n * grown,
                                                 log->raise[i].time_ps + by};
    }
    return true;
}

static void pass_lane(const struct tt_follow_lane *was, struct tt_follow_lane *lane, uint32_t n)
{
    for (int d = 0; d < lane->iter.depth && lane->iter.unrolls; d++)
        lane->iter.loop[d].turn += n * (lane->iter.loop[d].turn - was->iter.loop[d].turn);
    if (lane->has_step) lane->step.value += n * (lane->step.value - was->step.value);
}

static void pass_rank(struct tt_predictor *s, int rank, int64_t n, int64_t now, int64_t by)
{
    const struct tt_follow *was = &s->saved.rank[rank];
    struct tt_follow *r = &s->rank[rank];
    for (int i = 0; i < TT_SPENT_N; i++) r->spent[i] += n * (r->spent[i] - was->spent[i]);
    r->done += n * (r->done - was->done);
    pass_time(was->ready_ps, &r->ready_ps, now, by);
    pass_time(was->since_ps, &r->since_ps, 0, by);
    for (int i = 0; i < TT_BUFFERS; i++)
        r->touched[i].end += n * (r->touched[i].end - was->touched[i].end);
    for (int i = 0; i < (int)r->plan->lanes; i++)
        pass_lane(&s->saved.lane[rank * s->lanes + i].lane, &r->lane[i], (uint32_t)n);
}

static bool pass(struct tt_predictor *s, int64_t n, int64_t now)
{
    int64_t by = n * (now - s->saved.now_ps);
    for (int r = 0; r < s->p; r++) pass_rank(s, r, n, now, by);
    for (int i = 0; i < s->p * s->lanes; i++)
        if (!pass_flag(s, i, n, by)) return false;
    for (int c = 0; c < s->cores; c++) {
        const struct tt_core *was = &s->saved.core[c];
        s->core[c].worked_ps += n * (s->core[c].worked_ps - was->worked_ps);
        s->core[c].alone_ps += n * (s->core[c].alone_ps - was->alone_ps);
        pass_time(was->now_ps, &s->core[c].now_ps, 0, by);
        pass_time(s->saved.busy_until_ps[c], &s->busy_until_ps[c], now, by);
    }
    for (int i = 0; s->channel && i < pair_lanes(s); i++) pass_channel(s, i, now, by);
    int64_t skipped = n * (s->steps - s->saved.steps);
    s->steps += skipped;
    s->skipped += skipped;
    return true;
}

/* Returns the first lane of the leader that is in a loop; NULL: none is. */
static const struct tt_follow_lane *looping_lane(const struct tt_follow *leader)
{
    for (uint32_t i = 0; leader->in_call && i < leader->plan->lanes; i++) {
        const struct tt_follow_lane *lane = &leader->lane[i];
        if (!lane->ended && lane->iter.unrolls && lane->iter.depth > 0) return lane;
    }
    return NULL;
}

/* Returns whether the leader has begun another turn. In another loop, turns are counted anew. */
static bool begins_turn(struct tt_predictor *s)
{
    const struct tt_follow_lane *lane = looping_lane(s->leader);
    if (!lane) return false;
    uint32_t outer = turn_of(&lane->iter, 0), inner = turn_of(&lane->iter, 1);
    if (lane == s->leads && outer == s->outer && inner == s->inner) return false;
    if (lane != s->leads || outer < s->outer) s->turns = 0;
    s->leads = lane;
    s->outer = outer;
    s->inner = inner;
    return true;
}

bool tt_repeat_skip(struct tt_predictor *s, int64_t now, int64_t most_steps)
{
    if (!begins_turn(s)) return false;
    if (s->channel && !s->saved.channel) s->turns = 0; /* the saved state has no messages */
    int64_t steps = s->steps - s->saved.steps, n = s->turns > 0 ? periods(s, now) : 0;
    if (n > 0) n = tt_min(n, (most_steps - s->steps) / steps);
    if (n > 0) n = tt_min(n, (TT_PREDICT_LATEST - now) / tt_max(1, now - s->saved.now_ps));
    if (n > 0) s->turns = 0;
    if (n > 0) return pass(s, n, now);
    if (s->turns == 0 || s->turns - s->saved.turns >= PERIOD + s->saved.turns / 4) save(s, now);
    s->turns++;
    return false;
}
