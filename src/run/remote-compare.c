/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares the calls of this rank with those of members on other nodes.
 *
 * Each message of an execution carries a fingerprint of all calls that its sender has made. If the
 * fingerprint differs from this rank's although both ranks make the same call now, an earlier call
 * did not match, in which the two ranks exchanged nothing. The error shall name that earlier call,
 * but neither rank knows what the other rank called. So this rank sends the member its last calls,
 * as many as the team has slots, and the member compares these calls with its own. The member then
 * breaks the team with an error that names both calls, and the member's notice brings the text to
 * this rank. Until the notice comes, this rank drops what comes from the member. If no answer
 * comes, because the member is outside the library, the error says only that earlier calls did not
 * match.
 */
#include "run/remote.h"

#include <string.h>

#include "run/compare.h"
#include "run/remote-inside.h"

/* How long this rank waits for the member that compares the earlier calls, in nanoseconds. This is
 * less than TT_SETTLE_NS, so that tutti_finalize still reports the error. */
#define DOUBT_NS INT64_C(3000000000)

/* Sends a message without a payload and without a signal. Breaks the team if the message cannot be
 * sent, because a member may wait for it. */
static void post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                 size_t bytes)
{
    tutti_status status = tt_remote_post(t, m, dispatch, head, bytes);
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_team_break(t, status);
}

bool tt_remote_is_last(const struct tt_team *t, uint64_t number)
{
    const struct tt_signal_line *line = tt_team_line(t, t->me, tt_team_slot(t, number));
    uint64_t mark = atomic_load_explicit(&line->shape, memory_order_relaxed);
    return mark >> 32 == tt_team_base(t, number) >> 32;
}

/* ---- Earlier calls ---- */

/* Sends the member the signature of call k of this rank, one of the last calls. `last`: no further
 * call follows. */
static void name_earlier(struct tt_team *t, struct tt_mirror *m, uint64_t k, bool last)
{
    const int slot = tt_team_slot(t, k);
    uint64_t mark =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    struct tt_remote_packet packet = {
        .head = {.team = t->remote->id,
                 .from = (uint32_t)t->me,
                 .number = k,
                 .behind = k > t->my_done ? (uint32_t)(k - t->my_done) : 0,
                 .history = (uint32_t)mark,
                 .value = last,
                 .lane = TT_NO_LANE,
                 .flags = TT_REMOTE_SIGNATURE | TT_REMOTE_EARLIER}};
    tt_remote_sign(t, m, k, tt_team_signature(t, t->me, slot), &packet);
    post(t, m, TT_DISPATCH_RUN, &packet, sizeof packet);
}

/* Asks the member to compare its earlier calls with those of this rank: sends this rank's calls up
 * to `number`, as far as they are still in their slots. */
static void doubt(struct tt_team *t, struct tt_mirror *m, uint64_t number)
{
    struct tt_remote *remote = t->remote;
    m->doubted = true;
    if (!remote->doubt_ns) {
        remote->doubt_ns = tt_clock_ns() + DOUBT_NS;
        remote->doubted = m->rank;
        remote->doubtful = number;
        tt_team_add_busy(t);
    }
    for (uint64_t k = number - tt_min(number, t->slots - 1); k <= number; k++)
        if (tt_remote_is_last(t, k)) name_earlier(t, m, k, k == number);
}

void tt_remote_take_earlier(struct tt_team *t, const struct tt_mirror *m,
                            const struct tt_remote_packet *packet)
{
    if (packet->head.value && t->broken == TUTTI_OK)
        tt_team_break(t, tt_compare_mismatch(t, packet->head.number, m->rank));
}

void tt_remote_disagrees(struct tt_team *t, struct tt_mirror *m, uint64_t number)
{
    int slot = tt_team_slot(t, number);
    struct tt_exec *exec = t->running[slot];
    if (!tt_compare_knows(t, number, m->rank) && m->done != TT_REMOTE_LEFT) {
        /* Clears the member's fingerprint, so that no other function finds the difference on this
         * rank before the member has compared the calls. */
        atomic_store_explicit(&tt_team_line(t, m->rank, slot)->shape, 0, memory_order_relaxed);
        doubt(t, m, number);
        return;
    }
    if (exec && exec->number == number) tt_remote_send_signature(exec, m);
    tt_team_break(t, tt_compare_mismatch(t, number, m->rank));
}

bool tt_remote_doubts(const struct tt_team *t)
{
    return t->remote && t->remote->doubt_ns != 0;
}

void tt_remote_end_doubt(struct tt_team *t)
{
    const struct tt_remote *remote = t->remote;
    if (!remote->doubt_ns || t->broken != TUTTI_OK ||
        (tt_clock_ns() < remote->doubt_ns && !tt_remote_has_left(t, remote->doubted)))
        return;
    tt_team_break(t, tt_compare_mismatch(t, remote->doubtful, remote->doubted));
}

/* ---- The last comparison ---- */

/* Asks the member for permission to send it this rank's last call. */
static void ask(struct tt_team *t, struct tt_mirror *m)
{
    tutti_status status = tt_remote_ask(t, m, t->next - 1);
    if (tt_unlikely(status > TUTTI_AGAIN)) tt_team_break(t, status);
}

/* Returns by how much `number` exceeds the number of executions that have ended on this rank; 0: it
 * does not. */
static uint32_t behind(const struct tt_team *t, uint64_t number)
{
    return number > t->my_done ? (uint32_t)(number - t->my_done) : 0;
}

/* Sends the member this rank's last call on the team, which has begun. This rank does not wait for
 * the message to arrive. */
static void send_last_signature(struct tt_team *t, struct tt_mirror *m)
{
    const int slot = tt_team_slot(t, t->next - 1);
    uint64_t mark =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    struct tt_remote_packet packet = {.head = {.team = t->remote->id,
                                               .from = (uint32_t)t->me,
                                               .number = t->next - 1,
                                               .behind = behind(t, t->next - 1),
                                               .history = (uint32_t)mark,
                                               .lane = TT_NO_LANE,
                                               .flags = TT_REMOTE_SIGNATURE}};
    tt_remote_sign(t, m, t->next - 1, tt_team_signature(t, t->me, slot), &packet);
    post(t, m, TT_DISPATCH_RUN, &packet, sizeof packet);
}

/* Returns whether a step of this rank has sent the member something in a call that the member may
 * not have compared with its own yet: in one of the last t->slots calls, or in a call that the
 * member has not ended, as far as this rank knows. */
static bool was_sent_to(const struct tt_team *t, int rank)
{
    const struct tt_mirror *m = t->remote->mirror[rank];
    return m && m->sent && (m->sent + t->slots > t->next || m->sent > m->done);
}

/* Returns whether this rank compares its last call with this member. In small teams each member
 * compares with all other members. In large teams it compares with the members at distances 1, 2, 4
 * ...; these pairs connect all members. A rank also compares with the members to which it has sent
 * something, because it may have waited for none of them, and might leave before one of them makes
 * a call that does not match. It need not compare with the members that have sent something to it:
 * each of them has also sent its call, or a notice that it has left. After a call of pairs a rank
 * compares with all members, because it may have sent any member something that this member does
 * not expect. */
static bool is_partner(const struct tt_team *t, int rank)
{
    enum { FEW = 8 };
    int up = (rank - t->me + t->map.p) % t->map.p, down = t->map.p - up;
    bool connects = (up & (up - 1)) == 0 || (down & (down - 1)) == 0;
    return connects || t->map.p <= FEW || t->remote->pairs || was_sent_to(t, rank);
}

void tt_remote_compare(struct tt_team *t, int rank)
{
    const int slot = tt_team_slot(t, t->next - 1);
    struct tt_mirror *m = is_partner(t, rank) ? tt_mirror_of(t, rank) : NULL;
    if (!m || m->done == TT_REMOTE_LEFT || m->signature_sent[slot] == t->next) return;
    if (t->next - 1 >= m->done + t->slots) {
        if (m->asked < t->next) ask(t, m);
        return;
    }
    m->signature_sent[slot] = t->next;
    send_last_signature(t, m);
}

/* Asks the receiver to answer when it has ended all calls that this rank has made. A message with
 * TT_REMOTE_ASKS asks for permission to begin execution `number`. The receiver gives it when it has
 * ended execution `number` - S (S: the number of slots). So `number` is here the number of this
 * rank's last call, plus S. */
static void ask_last(struct tt_team *t, struct tt_mirror *m)
{
    const uint64_t number = t->next - 1 + t->slots;
    struct tt_remote_head head = {.team = t->remote->id,
                                  .from = (uint32_t)t->me,
                                  .number = number,
                                  .behind = behind(t, number),
                                  .flags = TT_REMOTE_ASKS | TT_REMOTE_SETTLES};
    m->named_last = true;
    post(t, m, TT_DISPATCH_CREDIT, &head, sizeof head);
}

/* Returns the state of the rank. If the rank has left, first handles the messages that the rank
 * sent before. */
static enum tt_rank_state state_of(struct tt_team *t, int rank)
{
    const struct tt_fabric *f = t->fabric;
    enum tt_rank_state state = tt_common_state(f->job, f->common, t->job_rank[rank]);
    if (state == TT_RANK_LEFT) tt_team_advance(t);
    return state;
}

/* Returns the size in bytes of the first message that this rank expects from the member in an
 * execution and that has not come; 0: there is no such message. */
static int64_t missing(const struct tt_exec *exec, const struct tt_mirror *m)
{
    for (int lane = 0; lane < TT_LANES; lane++) {
        const struct tt_message *first = m->ends[lane] ? m->ends[lane][exec->slot].first : NULL;
        if (first) return first->left;
    }
    return 0;
}

/* Returns whether a message of the member has come and has not been handled yet. Messages of calls
 * that this rank has not made do not count: while this rank leaves, such messages stay in the
 * list. */
static bool has_unhandled(const struct tt_team *t, const struct tt_mirror *m)
{
    const struct tt_arrival *a = m->early.first;
    while (a && a->packet.head.number >= t->next) a = a->next;
    return a != NULL;
}

/* Returns MISMATCH if the member has ended a call of pairs without sending a message that this rank
 * expects in it. The member has answered that it has ended all calls that this rank has made. The
 * messages of a link arrive in order, so all messages of the member in these calls have come before
 * this answer, and a message that is missing was never sent. When the member compares this rank's
 * last call, it finds the mismatch, too, but its notice may come only after this rank has left.
 * AGAIN: messages of the member are not handled yet. */
static tutti_status compare_ended(const struct tt_team *t, const struct tt_mirror *m)
{
    if (has_unhandled(t, m)) return TUTTI_AGAIN;
    for (uint64_t k = t->my_done; k < t->next; k++) {
        const struct tt_exec *exec = t->running[tt_team_slot(t, k)];
        bool runs = exec && exec->number == k && exec->pairs;
        int64_t expected = runs && k < m->done && m->done != TT_REMOTE_LEFT ? missing(exec, m) : 0;
        if (expected > 0) return tt_compare_uneven(t, k, m->rank, t->me, 0, expected);
    }
    return TUTTI_OK;
}

bool tt_remote_has_pairs(const struct tt_team *t)
{
    return t->remote && t->remote->pairs;
}

tutti_status tt_remote_settle(struct tt_team *t, int rank)
{
    struct tt_mirror *m = t->remote->mirror[rank];
    if (m && m->doubted) return TUTTI_AGAIN;
    if (!is_partner(t, rank)) return TUTTI_OK;
    if (!(m = tt_mirror_of(t, rank))) return TUTTI_OK;
    if (m->settled) return compare_ended(t, m);
    enum tt_rank_state state = state_of(t, rank);
    if (m->done == TT_REMOTE_LEFT)
        return (int32_t)(m->left_after - (uint32_t)t->next) < 0 ? TUTTI_ERR_PEER : TUTTI_OK;
    if (state == TT_RANK_LEFT) return TUTTI_OK;
    if (m->named_last || state == TT_RANK_FAILED) return TUTTI_AGAIN;
    /* As in any execution, this rank may send the call only when the member has ended the execution
     * that used the same slot before. */
    if (t->next - 1 >= m->done + t->slots) {
        if (m->asked < t->next) ask(t, m);
        return TUTTI_AGAIN;
    }
    send_last_signature(t, m);
    ask_last(t, m);
    return TUTTI_AGAIN;
}
