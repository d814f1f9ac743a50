/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last comparison of calls on a team.
 *
 * Beside the signals of each execution stands a fingerprint of all calls so far, so it is enough to
 * compare the fingerprints of the last execution. Let N be the number of calls that this rank has
 * made, S the number of slots and W that of windows. Once a member has begun execution N - 1, this
 * rank can read the member's fingerprint of that execution, in shared memory or in a mirror. The
 * fingerprint stays there: only execution N - 1 + S uses the slot again, and that execution begins
 * after this rank has ended N - 1. A member that has begun execution N - 1 + S has made more calls
 * than this rank; that member, not this rank, gets an error, which says that this rank left.
 * Execution N - 1 + W may replace the counts and contents that a member stores once for each
 * window. But then one of the two ranks has compared them in execution N - 1, which both ranks have
 * ended, and the functions of this file do not compare them (are_replaced in compare.c).
 *
 * Why all members get the error. Let the calls of two members differ. If both members settle
 * (tt_team_settle), each waits until the other has begun as many calls as it has itself, so both
 * compare the same execution: the first member waits, and the second member finds the fingerprint
 * of the first. If instead one of the two waits within a call for something that the other never
 * does, its wait compares the calls, too, and the team breaks, which ends the wait of the member
 * that settles.
 *
 * Why the wait ends. This rank waits for calls that the members must make anyway, and not for
 * members to settle. A member that never makes these calls dies, leaves, or makes no progress until
 * the time limit has passed. A member on another node that has finished its own comparison may free
 * the team before this rank's question arrives; it notifies this rank before that
 * (tt_remote_depart). If the last call ends only after every member has begun that call, the call
 * itself has compared the fingerprints, and this rank waits for nothing.
 *
 * Calls under way. The above does not need that execution N - 1 has ended, only that it has begun.
 * While execution N - 1 waits for a slot, this rank advances earlier executions, and compares
 * nothing yet. Members whose calls match can meanwhile end their own calls with the data of this
 * rank. The time limit of the wait counts during this phase, too. The fingerprint does not contain
 * the counts that two ranks have for each other in a v-collective. One of the two ranks compares
 * these counts before it ends the execution: the rank that begins the execution later, or in a
 * gatherv or scatterv the rank that gets a piece. So the functions of this file have to compare the
 * counts of each execution that this rank or the member has not ended. The slots of both ranks
 * still hold these counts: this rank has made no call after the last one, and a member uses a slot
 * again only after it has ended the execution that used the slot before.
 *
 * A member that finds a difference breaks the team before it leaves the job. Its counts may be gone
 * when another rank compares them, so a rank that has compared everything checks once more whether
 * the team is broken.
 *
 * Calls under way when a member leaves. A member that finds no difference leaves, perhaps with its
 * last calls under way. This breaks the team with PEER at the ranks that have not compared their
 * last calls yet, and the counts of two of these ranks may differ. But the member left after all
 * members had begun its last call. So on one node all that is to be compared is in shared memory,
 * and it stays there until this rank has left the client, too (arena.h): each rank compares it
 * without waiting (compare_begun). So both ranks whose counts differ find the difference. If the
 * member left because its time limit had passed, or if a member died, perhaps not all members have
 * begun the call; then this rank compares what it can read. Between nodes a rank knows only what
 * has come by messages, and does not wait for more once the team is broken.
 */
#include "run/settle.h"

#include "fabric/waiting.h"
#include "run/compare.h"
#include "run/exec.h"
#include "run/remote.h"

/* the time between two looks of a rank that waits, in nanoseconds; it has to look, because a rank
 * that begins a call does not wake it */
#define LOOK_NS 1000000

/* ---- Whether there is anything to compare ---- */

/* Returns whether every rank needs data or a signal of every other rank, directly or through other
 * ranks, so that no rank can complete the call before all ranks have begun it. The comparisons
 * within such a call have compared the calls of all ranks. */
static bool binds_all(const struct tt_call_signature *w)
{
    switch ((enum tt_coll)w->coll) {
    case TT_COLL_barrier: return true;
    case TT_COLL_allreduce:
    case TT_COLL_reduce_scatter_block:
    case TT_COLL_allgather:
    case TT_COLL_alltoall: return w->n > 0;
    default: return w->coll == TT_SIGNATURE_AGREE || w->coll == TT_SIGNATURE_SHRINK;
    }
}

static bool is_settled(const struct tt_team *t)
{
    if (t->map.p == 1 || t->next == 0) return true;
    if (t->my_done != t->next || tt_remote_has_pairs(t) || tt_remote_doubts(t)) return false;
    if (t->given > t->all_done) return false;
    return binds_all(tt_team_signature(t, t->me, tt_team_slot(t, t->next - 1)));
}

/* ---- Members of this node ---- */

static tutti_status left_early(const struct tt_team *t, int r)
{
    char mine[TT_SIGNATURE_TEXT];
    tt_signature_text(tt_team_signature(t, t->me, tt_team_slot(t, t->next - 1)), mine, sizeof mine);
    return tt_fail(TUTTI_ERR_PEER, "rank %d left the team without the call of rank %d: %s",
                   t->job_rank[r], t->job_rank[t->me], mine);
}

/* Returns the first execution that this rank or member r has not ended; if both have ended all, the
 * last one. If r is on another node, only the executions of this rank count. The calls before need
 * no comparison, because one of the two ranks has compared their counts when it ended them. */
static uint64_t first_to_compare(const struct tt_team *t, int r)
{
    uint64_t first = t->my_done;
    if (!tt_team_is_remote(t, r)) {
        uint64_t theirs = atomic_load_explicit(tt_team_done(t, r), memory_order_acquire);
        if (theirs < first) first = theirs;
    }
    return first < t->next ? first : t->next - 1;
}

/* Compares what this rank and the member have for each other in the calls that one of the two ranks
 * has not ended, and in the last call. The caller has found equal fingerprints of the last call, so
 * the member has begun the last call and all calls before, and they are the same calls as this
 * rank's. This conclusion requires that no call of this rank waits for a slot. Otherwise the slot
 * of the last call would hold an older call, and equal fingerprints of that older call would not
 * show that the member has begun the later calls. Therefore find_behind compares nothing while
 * calls wait. In tutti_team_agree no call waits either: it compares calls only after its own call,
 * the last in the queue, has ended (tt_exec_note), and no other thread uses the team meanwhile. */
static tutti_status compare_pairs(struct tt_team *t, int r)
{
    tutti_status status = TUTTI_OK;
    tt_assert(!t->queue);
    for (uint64_t k = first_to_compare(t, r); k < t->next && status == TUTTI_OK; k++) {
        status = tt_compare_pair(t, k, r);
        /* If both ranks have ended the execution meanwhile, one of them has compared the counts,
         * and the slot of the member may hold a later call already. */
        if (status != TUTTI_OK && k < first_to_compare(t, r)) status = TUTTI_OK;
    }
    return status;
}

/* Compares the calls of this rank with those of a member of this node. Returns AGAIN if the member
 * has not begun the last call yet, or has failed: the next check of the team finds the failure and
 * its cause. The state of the member is read before its fingerprint, so that a member which has
 * begun the call and left is seen to have begun it. */
static tutti_status compare_local(struct tt_team *t, int r)
{
    const uint64_t last = t->next - 1;
    const int slot = tt_team_slot(t, last);
    const struct tt_fabric *f = t->fabric;
    enum tt_rank_state state = tt_common_state(f->job, f->common, t->job_rank[r]);
    uint64_t mine =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&tt_team_line(t, r, slot)->shape, memory_order_acquire);
    if (mark >> 32 == mine >> 32)
        return mark == mine ? compare_pairs(t, r) : tt_compare_mismatch(t, last, r);
    if (mark >> 32 > mine >> 32) return TUTTI_OK;
    return state == TT_RANK_LEFT ? left_early(t, r) : TUTTI_AGAIN;
}

static tutti_status compare_remote(struct tt_team *t, int r)
{
    tutti_status status = tt_remote_settle(t, r);
    return status == TUTTI_ERR_PEER ? left_early(t, r) : status;
}

/* ---- All members ---- */

/* This struct says what this rank still waits for. `queued` is the number of its own calls that
 * wait for a slot. If this is 0, `n` is the number of members that have not begun the last call,
 * and first[] has the job ranks of the first of them, at most TT_ACTIVITY_NAMED. */
struct behind {
    const struct tt_team *team;
    uint64_t queued;
    int n, first[TT_ACTIVITY_NAMED];
};

static bool waits(const struct behind *b)
{
    return b->n > 0 || b->queued > 0;
}

/* Sets *b to what this rank still waits for, and compares this rank's calls with those of the
 * members that have begun the last call. *status is the error that was found with a member, else
 * OK. */
static void find_behind(struct tt_team *t, struct behind *b, tutti_status *status)
{
    *status = TUTTI_OK;
    b->n = 0;
    b->queued = t->queue ? t->next - t->queue->number : 0;
    for (int r = 0; r < t->map.p && b->queued == 0 && *status == TUTTI_OK; r++) {
        if (r == t->me) continue;
        tutti_status one = tt_team_is_remote(t, r) ? compare_remote(t, r) : compare_local(t, r);
        if (one > TUTTI_AGAIN) *status = one;
        if (one != TUTTI_AGAIN) continue;
        if (b->n < TT_ACTIVITY_NAMED) b->first[b->n] = t->job_rank[r];
        b->n++;
    }
}

/* Publishes for the roll call which members this rank waits for. */
static void fill_behind(const void *arg, struct tt_activity *is)
{
    const struct behind *b = arg;
    is->team = b->team->id;
    for (int i = 0; i < b->n && i < TT_ACTIVITY_NAMED; i++) tt_waiting_name(is, b->first[i]);
    is->waits = b->n;
}

/* Waits until every member has made as many calls as this rank, or a call differs, or the time
 * *until_ns has passed. Sets *until_ns to a later time whenever a member has made progress. */
static tutti_status wait_for_members(struct tt_team *t, int64_t *until_ns, enum tt_doing doing)
{
    struct tt_wait wait;
    struct behind b = {.team = t};
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = doing, .fill = fill_behind, .arg = &b};
    tutti_status status = TUTTI_OK;
    struct behind before = {.n = 0};
    tt_wait_begin(&wait, &t->fabric->policy, t->fabric->job, t->fabric->me);
    while (find_behind(t, &b, &status), status == TUTTI_OK) {
        int64_t now_ns = tt_clock_ns();
        bool moved = b.n < before.n || b.queued < before.queued;
        before = b;
        if (moved) *until_ns = now_ns + TT_SETTLE_NS;
        if (!waits(&b) || now_ns > *until_ns) break;
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

/* Compares the calls of this rank with those of the members of this node. To members of other nodes
 * this rank only sends its last call: those members compare the call later, and a member that finds
 * a mismatch breaks the team. */
tutti_status tt_team_compare(struct tt_team *t)
{
    tutti_status status = TUTTI_OK;
    if (t->broken != TUTTI_OK || t->next == 0) return TUTTI_OK;
    for (int r = 0; r < t->map.p && status != TUTTI_ERR_MISMATCH; r++) {
        if (r == t->me) continue;
        if (tt_team_is_remote(t, r))
            tt_remote_compare(t, r);
        else
            status = compare_local(t, r);
    }
    if (status != TUTTI_ERR_MISMATCH) return TUTTI_OK;
    tt_team_break(t, status);
    return tt_team_error(t);
}

/* Returns whether the rank has left in order or exited with code 0. */
static bool ended_well(const struct tt_rank_status *rank_status)
{
    enum tt_cause cause = tt_rank_cause(rank_status);
    return cause == TT_CAUSE_LEFT || (cause == TT_CAUSE_EXIT && tt_rank_code(rank_status) == 0);
}

/* Returns whether member r is on this node and has ended in order without beginning this rank's
 * last call. */
static bool lacks_call(const struct tt_team *t, int r)
{
    const struct tt_fabric *f = t->fabric;
    const int slot = tt_team_slot(t, t->next - 1);
    const struct tt_rank_status *rank_status =
        tt_common_rank_status(f->job, f->common, t->job_rank[r]);
    if (r == t->me || tt_team_is_remote(t, r) || !ended_well(rank_status)) return false;
    return atomic_load(&tt_team_line(t, r, slot)->shape) >> 32 <
           atomic_load(&tt_team_line(t, t->me, slot)->shape) >> 32;
}

/* Compares this rank's calls with those of the members after the team broke: the last call, and the
 * calls that this rank or the member has not ended. Leaves out calls that one of the two has not
 * begun. */
static tutti_status compare_begun(const struct tt_team *t)
{
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < t->map.p; r++)
        for (uint64_t k = first_to_compare(t, r); k < t->next && status == TUTTI_OK; k++)
            status = tt_compare_call(t, k, r);
    return status;
}

/* Returns whether the team broke because a member left, while this rank may still read the blocks
 * of the members. */
static bool lost_leaver(const struct tt_team *t)
{
    const struct tt_fabric *f = t->fabric;
    if (t->broken != TUTTI_ERR_PEER || t->culprit < 0 || t->next == 0) return false;
    if (t->state == TT_TEAM_DEPARTED || t->given_up) return false;
    return tt_rank_cause(tt_common_rank_status(f->job, f->common, t->culprit)) == TT_CAUSE_LEFT;
}

/* Returns the error of a team that broke while this rank was in no call: a mismatch, or PEER for a
 * member that left without making a call that this rank has made. If this rank finds the mismatch
 * only now, it breaks the team, which marks this rank as failed. A rank with this mark does not
 * count as having left when it leaves, so the members still read its counts (keeps_counts in
 * compare.c). */
static tutti_status return_broken(struct tt_team *t)
{
    if (t->reported) return TUTTI_OK;
    if (t->broken == TUTTI_ERR_MISMATCH) return tt_team_error(t);
    tutti_status status = lost_leaver(t) ? compare_begun(t) : TUTTI_OK;
    if (status != TUTTI_OK) {
        tt_team_break(t, status);
        t->reported = true;
        return status;
    }
    for (int r = 0; r < t->map.p && t->next > 0; r++)
        if (lacks_call(t, r)) return left_early(t, r);
    return TUTTI_OK;
}

tutti_status tt_team_settle(struct tt_team *t, int64_t *until_ns, enum tt_doing doing)
{
    if (t->state == TT_TEAM_DEPARTED) return t->broken == TUTTI_OK ? TUTTI_OK : return_broken(t);
    tt_team_check(t, false);
    if (t->broken != TUTTI_OK) return return_broken(t);
    if (is_settled(t)) return TUTTI_OK;
    tutti_status status = wait_for_members(t, until_ns, doing);
    if (status == TUTTI_OK) tt_team_check(t, true);
    if (t->broken != TUTTI_OK) return return_broken(t);
    if (status != TUTTI_ERR_MISMATCH) return status;
    tt_team_break(t, status);
    return tt_team_error(t);
}

/* ---- Freeing a team ---- */

void tt_team_begin_leaving(struct tt_team *t)
{
    t->state = TT_TEAM_FREED;
    tt_team_add_busy(t);
    /* If there is no memory for the execution, tt_exec_begin_note breaks the team. */
    if (t->broken == TUTTI_OK) (void)tt_exec_begin_note(t, TT_SIGNATURE_FREE);
}

/* Compares this rank's last call with those of the members. Returns false if some members have not
 * made that call yet. A member that has left the job without making that call counts as departed,
 * which is no error while a team is freed. */
static bool has_settled(struct tt_team *t)
{
    struct behind b = {.team = t};
    tutti_status status;
    if (is_settled(t)) return true;
    find_behind(t, &b, &status);
    if (status == TUTTI_ERR_MISMATCH) tt_team_break(t, status);
    return status != TUTTI_OK || !waits(&b);
}

/* Does the steps of freeing a team up to the departure (steps 1 to 3 in settle.h), as far as
 * possible without waiting. Returns true once this rank has departed. */
static bool try_depart(struct tt_team *t)
{
    if (t->state == TT_TEAM_DEPARTED) return true;
    if (t->my_done != t->next) tt_team_advance(t);
    if (t->broken == TUTTI_OK && (t->my_done != t->next || !has_settled(t))) return false;
    tt_team_depart(t);
    tt_remote_depart(t);
    t->state = TT_TEAM_DEPARTED;
    return true;
}

/* Returns whether no member of this node touches this rank's block any more. */
static bool is_alone(const struct tt_team *t)
{
    return atomic_load(&tt_team_head(t, t->me)->leavers) >= (uint32_t)t->local - 1;
}

bool tt_team_try_leave(struct tt_team *t, bool *shared)
{
    tt_team_check(t, false);
    if (!try_depart(t)) return false;
    *shared = t->deserted || is_alone(t);
    if (t->broken == TUTTI_ERR_MISMATCH && !t->reported) return false;
    return *shared || t->broken != TUTTI_OK;
}

static void try_leave_other(struct tt_team *t, void *arg)
{
    bool shared;
    if (t != arg && t->state == TT_TEAM_FREED) (void)tt_team_try_leave(t, &shared);
}

void tt_team_try_leave_all(struct tt_team *t)
{
    tt_team_each_busy(t, try_leave_other, t);
}
