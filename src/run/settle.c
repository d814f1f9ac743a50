/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last comparison of calls on a team.
 *
 * A fingerprint of all calls so far stands beside the signals of each execution, so it is enough to
 * compare the last one: let N be the number of calls that this rank has made. Once a member has
 * begun execution N - 1, its fingerprint of it is there, in shared memory or by a message, and
 * stays: the slot is used again by execution N - 1 + S only, which begins after this rank has ended
 * N - 1. A member that has got so far has made more calls than this rank, and it is that member
 * which then hears that this rank left.
 *
 * Why all hear of it. Let two members differ. If both come here, each waits until the other has
 * begun as many calls, so both compare the same execution: whoever is first waits, whoever is
 * second finds the fingerprint of the first. If one of them waits within a call for what the other
 * never does, this one finds it there, and the team breaks, which ends the wait here.
 *
 * Why it ends. It waits for calls that were to be made anyway, and not for members to come here. A
 * member that never makes them dies, leaves, or does nothing for the time of the limit. A member on
 * another node that has finished its own comparison may free the team before this rank's question
 * arrives; it notifies this rank before that (tt_far_depart). And nothing
 * at all is waited for where the last call was one that ends only after every member has begun it:
 * then it has been compared.
 */
#include "run/settle.h"

#include "run/exec.h"
#include "run/far.h"

#define LOOK_NS 1000000 /* who begins a call wakes nobody, so a sleeper looks by itself */

/* ---- Whether there is anything to compare ---- */

/* A call that no rank can complete before all have begun it. What was compared on the way from rank
 * to rank then links each with each. */
static bool binds_all(const struct tt_what *w)
{
    switch ((enum tt_coll)w->coll) {
    case TT_COLL_barrier: return true;
    case TT_COLL_allreduce:
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_allgather:
    case TT_COLL_alltoall: return w->n > 0;
    default: return w->coll == TT_WHAT_AGREE || w->coll == TT_WHAT_SHRINK;
    }
}

static bool is_settled(const struct tt_team *t)
{
    if (t->map.p == 1 || t->next == 0 || t->my_done != t->next) return true;
    if (tt_far_has_pairs(t)) return false;
    return binds_all(tt_team_what(t, t->me, tt_team_slot(t, t->next - 1)));
}

/* ---- Members of this node ---- */

static tutti_status left_early(const struct tt_team *t, int r)
{
    char mine[TT_WHAT_TEXT];
    tt_what_text(tt_team_what(t, t->me, tt_team_slot(t, t->next - 1)), mine, sizeof mine);
    return tt_fail(TUTTI_ERR_PEER, "rank %d left the team without the call of rank %d: %s",
                   t->job_rank[r], t->job_rank[t->me], mine);
}

/* AGAIN: it has not begun the last call yet, or has failed: that breaks the team at the next look,
 * which says why. Its state is looked at first, so that a member which has begun the call and left
 * is seen to have begun it. */
static tutti_status compare_near(struct tt_team *t, int r)
{
    const uint64_t last = t->next - 1;
    const int slot = tt_team_slot(t, last);
    const struct tt_fabric *f = t->fabric;
    enum tt_rank_state state = tt_common_state(f->job, f->common, t->job_rank[r]);
    uint64_t mine =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&tt_team_line(t, r, slot)->shape, memory_order_acquire);
    if (mark >> 32 == mine >> 32)
        return mark == mine ? tt_step_pair(t, last, r) : tt_step_mismatch(t, last, r);
    if (mark >> 32 > mine >> 32) return TUTTI_OK;
    return state == TT_RANK_LEFT ? left_early(t, r) : TUTTI_AGAIN;
}

static tutti_status compare_far(struct tt_team *t, int r)
{
    tutti_status status = tt_far_settle(t, r);
    return status == TUTTI_ERR_PEER ? left_early(t, r) : status;
}

/* ---- All of them ---- */

/* The members that have not begun the last call: how many, and the first of them. */
struct behind {
    const struct tt_team *team;
    int n, first[TT_ACTIVITY_NAMED];
};

/* *status: what is wrong with the other members. */
static void find_behind(struct tt_team *t, struct behind *b, tutti_status *status)
{
    *status = TUTTI_OK;
    b->n = 0;
    for (int r = 0; r < t->map.p && *status == TUTTI_OK; r++) {
        if (r == t->me) continue;
        tutti_status one = tt_team_is_far(t, r) ? compare_far(t, r) : compare_near(t, r);
        if (one > TUTTI_AGAIN) *status = one;
        if (one != TUTTI_AGAIN) continue;
        if (b->n < TT_ACTIVITY_NAMED) b->first[b->n] = t->job_rank[r];
        b->n++;
    }
}

/* For the roll call. */
static void fill_behind(const void *arg, struct tt_activity *is)
{
    const struct behind *b = arg;
    is->team = b->team->id;
    for (int i = 0; i < b->n && i < TT_ACTIVITY_NAMED; i++) tt_waiting_name(is, b->first[i]);
    is->waits = b->n;
}

/* Until all members have got as far, or one differs, or none gets on. */
static tutti_status wait_for_members(struct tt_team *t, int64_t limit_ns, enum tt_doing doing)
{
    struct tt_wait wait;
    struct behind b = {.team = t};
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = doing, .fill = fill_behind, .arg = &b};
    tutti_status status;
    int before = t->map.p;
    int64_t end_ns = tt_clock_ns() + limit_ns;
    tt_wait_begin(&wait, &t->fabric->patience, t->fabric->job, t->fabric->me);
    while (find_behind(t, &b, &status), b.n > 0 && status == TUTTI_OK) {
        int64_t now_ns = tt_clock_ns();
        bool moved = b.n < before;
        if (moved) end_ns = now_ns + limit_ns;
        before = b.n;
        if (now_ns > end_ns) break;
        wait.until_ns = now_ns + LOOK_NS;
        tt_wait_more(&wait);
        tt_team_advance_all(t);
        if (tt_team_check(t, tt_wait_is_long(&wait))) tt_waiting_look(&waiting, moved);
        if (t->broken != TUTTI_OK) break;
    }
    tt_wait_done(&wait);
    tt_waiting_end(&waiting);
    return status;
}

/* Far members answer later; a mismatch that they find breaks the team then. */
tutti_status tt_team_compare(struct tt_team *t)
{
    tutti_status status = TUTTI_OK;
    if (t->broken != TUTTI_OK || t->next == 0) return TUTTI_OK;
    for (int r = 0; r < t->map.p && status != TUTTI_ERR_MISMATCH; r++) {
        if (r == t->me) continue;
        if (tt_team_is_far(t, r))
            tt_far_compare(t, r);
        else
            status = compare_near(t, r);
    }
    if (status != TUTTI_ERR_MISMATCH) return TUTTI_OK;
    tt_team_break(t, status);
    return tt_team_error(t);
}

/* A member left and has not begun this rank's last call, as far as this rank can see. */
static bool lacks_call(const struct tt_team *t, int r)
{
    const struct tt_fabric *f = t->fabric;
    const int slot = tt_team_slot(t, t->next - 1);
    const struct tt_fate *fate = tt_common_fate(f->job, f->common, t->job_rank[r]);
    if (r == t->me || tt_team_is_far(t, r) || atomic_load(&fate->cause) != TT_CAUSE_LEFT)
        return false;
    return atomic_load(&tt_team_line(t, r, slot)->shape) >> 32 <
           atomic_load(&tt_team_line(t, t->me, slot)->shape) >> 32;
}

/* Returns the error of a team that broke while this rank was in no call: a mismatch, or a member
 * that left without making a call that this rank has made. */
static tutti_status tell_broken(struct tt_team *t)
{
    if (t->reported) return TUTTI_OK;
    if (t->broken == TUTTI_ERR_MISMATCH) return tt_team_error(t);
    for (int r = 0; r < t->map.p && t->next > 0; r++)
        if (lacks_call(t, r)) return left_early(t, r);
    return TUTTI_OK;
}

tutti_status tt_team_settle(struct tt_team *t, int64_t limit_ns, enum tt_doing doing)
{
    tt_team_check(t, false);
    if (t->broken != TUTTI_OK) return tell_broken(t);
    if (is_settled(t)) return TUTTI_OK;
    tutti_status status = wait_for_members(t, limit_ns, doing);
    if (t->broken != TUTTI_OK) return tell_broken(t);
    if (status != TUTTI_ERR_MISMATCH) return status;
    tt_team_break(t, status);
    return tt_team_error(t);
}
