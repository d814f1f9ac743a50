/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How ranks wait in a prediction, and when they go on. The functions are in a header because every
 * step calls them.
 */
#ifndef TT_PREDICT_WAIT_H
#define TT_PREDICT_WAIT_H

#include "choose/predict-inside.h"

/* A rank waits for one of these, or for the flag of another rank, which is then given by its number
 * (0 or more). */
enum { TT_A_MESSAGE = -1, TT_ALL_RANKS = -2 };

/* ---- Whose turn it is ---- */

/* Sets the time from which on the processor has something to do. The winners of a tournament among
 * the processors show which of them comes first: place i holds the winner of places 2i and 2i + 1,
 * and the processors themselves begin at place `places`. If two times are equal, the processor with
 * the smaller number wins. */
static inline void tt_follow_ready(struct tt_predictor *s, int core, int64_t ready)
{
    s->ready_ps[core] = ready;
    for (int i = (core + s->places) / 2; i > 0; i /= 2) {
        int a = s->winner[2 * i], b = s->winner[2 * i + 1], before = s->winner[i];
        s->winner[i] = (uint8_t)(s->ready_ps[b] < s->ready_ps[a] ? b : a);
        if (before == s->winner[i] && before != core) return; /* no winner above changes */
    }
}

/* ---- Waiting ---- */

/* Returns how long it takes until rank `other` of the same node can see what `r` has done. If ranks
 * take turns on its processor, this is longer than a cache line takes (late_ps). */
static inline int64_t tt_line_near(const struct tt_predictor *s, const struct tt_follow *r,
                                   int other)
{
    int core = s->rank[other].core;
    return core == r->core ? 0 : tt_machine_number(s, TT_MACHINE_line) + s->core[core].late_ps;
}

/* Returns how long it takes until rank `other` of any node can see what `r` has done. If it is on
 * another node, this is the time of a message without data. */
static inline int64_t tt_line_between(const struct tt_predictor *s, const struct tt_follow *r,
                                      int other)
{
    return tt_is_apart(s, r->me, other) ? s->signal_ps : tt_line_near(s, r, other);
}

/* Returns the address of the set of ranks (1 << rank) that wait for `what`: a rank, TT_A_MESSAGE or
 * TT_ALL_RANKS. A rank in the set whose since_ps is negative does not wait any more. */
static inline uint64_t *tt_waiters_for(struct tt_predictor *s, int what)
{
    return &s->waiters[what - TT_ALL_RANKS];
}

/* Records that the processor may have something to do from `when` on. */
static inline void tt_ready_from(struct tt_predictor *s, int core, int64_t when)
{
    if (when < s->ready_ps[core]) tt_follow_ready(s, core, tt_max(when, s->core[core].now_ps));
}

/* Makes the ranks that wait for `what` try again, at the time at which they can see what `r` has
 * done. */
static inline void tt_wake(struct tt_predictor *s, const struct tt_follow *r, int what)
{
    int64_t now = tt_core_of(s, r)->now_ps;
    for (uint64_t left = *tt_waiters_for(s, what); left; left &= left - 1) {
        struct tt_follow *other = &s->rank[__builtin_ctzll(left)];
        int64_t when = now + tt_line_between(s, r, other->me);
        if (other->since_ps < 0 || when >= other->ready_ps) continue;
        other->ready_ps = when;
        tt_ready_from(s, other->core, when);
    }
}

/* Makes one rank try again at the time `when`, if it waits for `what`. */
static inline void tt_wake_one(struct tt_predictor *s, int rank, int what, int64_t when)
{
    struct tt_follow *r = &s->rank[rank];
    bool waits = r->since_ps >= 0 && (*tt_waiters_for(s, what) & UINT64_C(1) << rank);
    if (!waits || when >= r->ready_ps) return;
    r->ready_ps = when;
    tt_ready_from(s, r->core, when);
}

/* Records that the rank waits for `what`, and cannot go on before `when`. Returns false. */
static inline bool tt_wait_until(struct tt_predictor *s, struct tt_follow *r, int what,
                                 int64_t when)
{
    if (r->since_ps < 0) r->since_ps = tt_core_of(s, r)->now_ps;
    if (what >= 0) r->awaits |= UINT64_C(1) << what;
    *tt_waiters_for(s, what) |= UINT64_C(1) << r->me;
    r->ready_ps = tt_min(r->ready_ps, when);
    return false;
}

/* Ends the wait of a rank that goes on, and records how the rank spent the wait. If `other` is a
 * rank (-1: none), the last part of the wait was the time in which the cache line or the message of
 * that rank arrived. The rest was waiting or, if ranks share the processor, the turns of other
 * ranks. Returns whether the rank has waited. */
static inline bool tt_resume(struct tt_predictor *s, struct tt_follow *r, int other)
{
    if (r->since_ps < 0) return false;
    int64_t waited = tt_core_of(s, r)->now_ps - r->since_ps;
    bool apart = other >= 0 && tt_is_apart(s, r->me, other);
    bool near = other >= 0 && s->rank[other].core != r->core;
    int64_t arrival = apart ? s->signal_ps : near ? tt_machine_number(s, TT_MACHINE_line) : 0;
    int64_t line = tt_min(waited, arrival);
    r->spent[apart ? TT_SPENT_wire : TT_SPENT_lines] += line;
    r->spent[tt_core_of(s, r)->n > 1 ? TT_SPENT_turns : TT_SPENT_waits] += waited - line;
    r->since_ps = -1;
    return true;
}

#endif
