/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs one member's part in agreements: drives the state machine of accord.h, sends the messages
 * that it asks for, and notifies it of members that are gone.
 */
#include "recover/agree.h"

#include <string.h>

#include "fabric/waiting.h"
#include "recover/message.h"
#include "run/exec.h"
#include "run/settle.h"

/* how long look_for_others searches for calls that do not match */
#define APART_NS INT64_C(2000000000)

/* One agreement under way. */
struct meeting {
    struct tt_agree *agree;
    struct tt_team *team;
    struct tt_accord *accord;
    tutti_context *context;
    struct tt_agree_message_head head; /* the header of messages of the state machine that this rank
                                        * sends */
    uint64_t *word;                    /* the accord of a message that is being handled */
    uint32_t failures;
    bool probed;   /* this rank, as the leader, has sent PROBE to members that have not come */
    bool reported; /* the error of the team was reported before this agreement */
    /* Since when, in nanoseconds, a message has waited because its sender and this rank made
     * different calls on the team before this agreement; 0: no message waits for this reason. */
    int64_t apart_ns;
    int events;
    tutti_status status;
    /* ---- for tt_agree_meet; otherwise entry.key is 0, and `old` is NULL ---- */
    const struct tt_team *old;     /* the old team */
    uint64_t of;                   /* the old team's id | 1, as in struct tt_agree_count */
    struct tt_agree_meeting entry; /* in the list of the client's meetings */
    /* the number of this call in its messages ASK and DIFFERS (recover/message.h); 0: it has none
     * yet */
    uint32_t question;
    bool asked;
    uint64_t different; /* as in struct tt_agree_count */
    bool ended;         /* this rank has sent END */
};

/* Whether to send what the state machine says to member r. */
struct audience {
    struct tt_accord *accord;
    int to;
};

static bool is_meant(const void *arg, int r)
{
    const struct audience *all = arg;
    return all->to == TT_SAY_ALL ? !tt_accord_gone(all->accord)[r] : all->to == r;
}

static tutti_status send_out(struct meeting *m, struct tt_say say)
{
    const struct audience all = {m->accord, say.to};
    m->head.kind = (uint16_t)say.kind;
    return tt_agree_message_send(m->agree, m->team, &m->head,
                                 tt_accord_carries(say.kind) ? m->accord : NULL, is_meant, &all);
}

/* ---- Lists that differ ---- */

/* Returns the number of the member whose rank in the job is job_rank; -1: no member. */
static int member_of(const struct meeting *m, int job_rank)
{
    int r = m->accord->p - 1;
    while (r >= 0 && m->team->job_rank[r] != job_rank) r--;
    return r;
}

static bool is_member(const void *arg, int r)
{
    const int *to = arg;
    return r == *to;
}

/* Sends a message without an accord to member `to`, or to all other members if `to` is negative. */
static void send_word(struct meeting *m, const struct tt_agree_message_head *head, int to)
{
    if (m->status != TUTTI_OK) return;
    m->status =
        tt_agree_message_send(m->agree, m->team, head, NULL, to < 0 ? NULL : is_member, &to);
}

static uint32_t question_of(struct meeting *m)
{
    if (!m->question) m->question = ++m->agree->questions;
    return m->question;
}

/* Asks all other members, once, whether they wait in a call with another list of members. */
static void ask(struct meeting *m)
{
    if (!m->entry.key || m->asked) return;
    m->asked = true;
    const struct tt_agree_message_head head = {.team = m->entry.key,
                                               .kind = TT_AGREE_MESSAGE_ASK,
                                               .question = question_of(m),
                                               .list = m->team->id};
    send_word(m, &head, -1);
}

/* Sends DIFFERS to member r: this rank waits for r, too, but with another list of members.
 * `question` is the number that r has given to its call. */
static void differ(struct meeting *m, int r, uint32_t question)
{
    const struct tt_agree_message_head head = {.team = m->entry.key,
                                               .kind = TT_AGREE_MESSAGE_DIFFERS,
                                               .question = question,
                                               .list = question_of(m)};
    send_word(m, &head, r);
}

/* Handles a question or an answer. Only a member without a proposal answers, because it still waits
 * for all members of its list to come. A member with a proposal no longer waits for any to come. A
 * rank that receives DIFFERS as the answer to its question sends DIFFERS back: only this shows the
 * other rank that this rank still waits in the call in which it asked. */
static void answer(struct meeting *m, const struct tt_agree_message *l)
{
    int r = member_of(m, l->from);
    if (r < 0 || m->different || m->accord->level != TT_ACCORD_CALLED) return;
    if (l->head.kind == TT_AGREE_MESSAGE_ASK) {
        if (l->head.list != m->team->id) differ(m, r, l->head.question);
    } else if (l->head.question == m->question) {
        differ(m, r, (uint32_t)l->head.list);
        m->different = (uint64_t)m->team->job_rank[m->accord->me] << 32 | (uint32_t)l->from;
    }
}

/* Handles the questions and answers with this meeting's key, and END. END stays in the list of
 * messages, because it concerns later calls, too. If this member holds a proposal, the sender of
 * END has taken part in this agreement. In this case its END is for a later agreement and does not
 * end this one. */
static void read_lists(struct meeting *m)
{
    bool may_end = m->accord->level == TT_ACCORD_CALLED && !m->different;
    for (struct tt_agree_message *l = m->agree->in, *next; m->entry.key && l; l = next) {
        const struct tt_agree_message_head *head = &l->head;
        next = l->next;
        if (head->kind == TT_AGREE_MESSAGE_END && head->team == m->team->id && may_end)
            m->different = head->list;
        if (head->team != m->entry.key) continue;
        answer(m, l);
        tt_agree_message_drop(l);
    }
}

/* Ends the meeting because two ranks have different lists of members: sends END to all other
 * members, unless this rank has sent it already. */
static void end_meeting(struct meeting *m)
{
    struct tt_agree_message_head head = m->head;
    if (m->ended) return;
    m->ended = true;
    head.kind = TT_AGREE_MESSAGE_END;
    head.list = m->different;
    send_word(m, &head, -1);
}

/* Ends the meeting because a rank has revoked the old team. Passes the revocation on to the other
 * members, which may not have received it, since a rank that dies may have sent it to some of them
 * only. They would wait for this rank. */
static void end_revoked(struct meeting *m)
{
    int by = m->old->revoked_by - 1;
    const struct tt_agree_message_head head = {.team = m->old->id,
                                               .kind = TT_AGREE_MESSAGE_REVOKE,
                                               .rank = (uint16_t)m->old->me,
                                               .list = (uint64_t)by};
    send_word(m, &head, -1);
    if (m->status == TUTTI_OK) m->status = tt_fail(TUTTI_ERR_PEER, "rank %d revoked the team", by);
}

static void enter(struct meeting *m)
{
    m->entry.next = m->agree->meetings;
    m->agree->meetings = &m->entry;
}

static void leave(struct meeting *m)
{
    struct tt_agree_meeting **link = &m->agree->meetings;
    while (*link != &m->entry) link = &(*link)->next;
    *link = m->entry.next;
    for (struct tt_agree_message *l = m->agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team == m->entry.key) tt_agree_message_drop(l);
    }
}

/* ---- The agreement ---- */

static bool is_broken(const struct tt_accord *a)
{
    if (a->word[1] & TT_AGREE_BROKEN) return true;
    for (int i = 0; i < tt_accord_sets(a->p); i++)
        if (a->word[2 + i]) return true;
    return false;
}

/* Returns the first member that has failed or left according to the decision; -1: no member has. */
static int first_gone(const struct meeting *m)
{
    for (int r = 0; r < m->accord->p; r++)
        if (tt_accord_has_gone(m->accord->word, r)) return r;
    return -1;
}

/* Sends the message that the state machine asks for. Before a member sends that it knows the
 * decision, it stops touching the blocks of a broken team. */
static void carry_out(struct meeting *m, struct tt_say say)
{
    struct tt_accord *a = m->accord;
    bool knows = a->level >= TT_ACCORD_KNOWS && !a->excluded;
    if (knows && !m->team->given_up && is_broken(a)) tt_team_give_up(m->team, first_gone(m));
    if (say.to != TT_SAY_NOTHING && m->status == TUTTI_OK) m->status = send_out(m, say);
}

/* Passes a message to the state machine. A member that called another function may send an accord
 * of another length; its word 1 still shows which function that member called (accord.h). */
static void read_message(struct meeting *m, const struct tt_agree_message *l)
{
    struct tt_accord *a = m->accord;
    enum tt_accord_kind kind = (enum tt_accord_kind)l->head.kind;
    int r = l->head.rank, least = tt_accord_words(a->p, 0);
    if (r >= a->p || r == a->me || m->team->job_rank[r] != l->from) return;
    if (l->words > 0 && l->words < least) return;
    memset(m->word, 0, (size_t)a->words * sizeof *m->word);
    memcpy(m->word, l->word, (size_t)tt_min(a->words, l->words) * sizeof *m->word);
    carry_out(m, tt_accord_receive(a, r, kind, m->word));
}

/* Returns whether the sender and this rank made different calls on the team before this agreement.
 * In a broken team this is no mismatch, because a failure ends the members' calls at different
 * places. */
static bool is_apart(const struct meeting *m, const struct tt_agree_message_head *head)
{
    return head->print && m->head.print && head->print != m->head.print &&
           m->team->broken == TUTTI_OK;
}

static void read_messages(struct meeting *m)
{
    for (struct tt_agree_message *l = m->agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != m->head.team || l->head.number > m->head.number ||
            l->head.kind == TT_AGREE_MESSAGE_END)
            continue;
        if (l->head.number == m->head.number && is_apart(m, &l->head)) {
            if (m->apart_ns == 0) m->apart_ns = tt_clock_ns();
            continue;
        }
        if (l->head.number == m->head.number) read_message(m, l);
        tt_agree_message_drop(l);
    }
}

static enum tt_rank_state state_of(const struct meeting *m, int r)
{
    const struct tt_fabric *f = m->team->fabric;
    return tt_common_state(f->job, f->common, m->team->job_rank[r]);
}

static bool is_gone(const struct meeting *m, int r)
{
    return r != m->accord->me && state_of(m, r) >= TT_RANK_LEFT;
}

/* Notifies the state machine of members that have failed or left. The caller first handles all
 * messages that have come, because a member that left may have sent all of its messages before. */
static void look_for_gone(struct meeting *m)
{
    uint32_t failures = atomic_load(&m->team->fabric->job->failures);
    if (failures == m->failures) return;
    m->failures = failures;
    for (int r = 0; r < m->accord->p; r++)
        if (is_gone(m, r)) carry_out(m, tt_accord_lose(m->accord, r));
}

/* Starts the state machine, after notifying it of the members that are gone. What tt_accord_lose
 * returns is ignored here, because nothing is sent before tt_accord_start. */
static void start(struct meeting *m)
{
    m->failures = atomic_load(&m->team->fabric->job->failures);
    for (int r = 0; r < m->accord->p; r++)
        if (is_gone(m, r)) (void)tt_accord_lose(m->accord, r);
    if (!m->different) carry_out(m, tt_accord_start(m->accord));
}

static bool is_failed(const struct meeting *m)
{
    return state_of(m, m->accord->me) == TT_RANK_FAILED;
}

static tutti_status counts_as_failed(const struct tt_fabric *f)
{
    char text[160];
    tt_common_cause_text(f->job, f->common, f->me, text, sizeof text);
    return tt_fail(TUTTI_ERR_PEER, "this rank counts as failed: %s", text);
}

/* Returns whether the team is broken by a mismatch that no call has returned yet. The present call
 * returns such a mismatch. */
static bool is_mismatch(const struct meeting *m)
{
    return m->team->broken == TUTTI_ERR_MISMATCH && !m->reported;
}

/* Advances the context. An error ends the agreement if it may concern messages of the agreement:
 * without memory, for example, this rank could not receive any of them. Other errors belong to
 * messages of the user; a later call returns them. */
static void advance_context(struct meeting *m)
{
    tutti_status status = tt_msg_advance(m->context, &m->events);
    if (tt_likely(status == TUTTI_OK)) return;
    if (!tt_msg_concerns_all(status)) {
        tt_error_undo();
        return;
    }
    tt_msg_error_returned(m->context);
    m->status = status;
}

static void go_on(struct meeting *m)
{
    if (is_failed(m)) {
        m->status = is_mismatch(m) ? tt_team_error(m->team) : counts_as_failed(m->team->fabric);
        return;
    }
    if (m->agree->lost) m->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
    advance_context(m);
    if (m->old && m->old->revoked_by && m->accord->level != TT_ACCORD_ENDED) {
        end_revoked(m);
        return;
    }
    read_lists(m);
    if (m->different) {
        end_meeting(m);
        return;
    }
    read_messages(m);
    look_for_gone(m);
}

/* Returns whether this rank may leave the agreement. It stays until all its messages have been
 * sent, because the members that need them cannot ask this rank for them after it has left. */
static bool is_done(const struct meeting *m)
{
    bool ended = m->accord->level == TT_ACCORD_ENDED || m->ended;
    return m->status != TUTTI_OK || (ended && !m->agree->out);
}

/* Returns whether member r is on another node and has not come. */
static bool is_missed(const void *arg, int r)
{
    const struct meeting *m = arg;
    return !tt_accord_received(m->accord)[r] &&
           !tt_fabric_shares(m->team->fabric, m->team->job_rank[r]);
}

/* Sends PROBE, once, to the members on other nodes that have not come, if this rank is the leader.
 * If such a rank has left or died, the leader may notice it only by sending a message to it.
 * Members that are not the leader need no probe: they have sent a message to the leader, for which
 * they wait. */
static void probe(struct meeting *m)
{
    struct tt_accord *a = m->accord;
    struct tt_agree_message_head head = m->head;
    if (m->probed || a->leader != a->me || a->level != TT_ACCORD_CALLED) return;
    if (m->status != TUTTI_OK) return;
    m->probed = true;
    head.kind = TT_AGREE_MESSAGE_PROBE;
    m->status = tt_agree_message_send(m->agree, m->team, &head, NULL, is_missed, m);
}

/* Lists the ranks that this rank waits for: the leader waits for the members that have not joined
 * the agreement, and all other members wait for the leader. */
static void fill_waiting(const void *arg, struct tt_activity *is)
{
    const struct meeting *m = arg;
    struct tt_accord *a = m->accord;
    const int *job_rank = m->team->job_rank;
    is->team = m->team->id;
    if (a->leader != a->me && a->leader >= 0 && a->leader < a->p)
        tt_waiting_name(is, job_rank[a->leader]);
    for (int r = 0; a->leader == a->me && r < a->p; r++)
        if (r != a->me && !tt_accord_received(a)[r] && !tt_accord_gone(a)[r])
            tt_waiting_name(is, job_rank[r]);
}

/* Compares the calls that the members made on the team; if some differ, the error names them. If a
 * message of the agreement shows a mismatch, but the comparison does not find it within APART_NS,
 * the error says only that the calls did not match. */
static void look_for_others(struct meeting *m)
{
    tutti_status status = tt_team_compare(m->team);
    bool late = m->apart_ns && tt_clock_ns() > m->apart_ns + APART_NS;
    if (status == TUTTI_OK && late && m->team->broken == TUTTI_OK) {
        status = tt_fail(TUTTI_ERR_MISMATCH, "the members called tutti_team_agree or "
                                             "tutti_team_shrink after calls that did not match");
        tt_team_break(m->team, status);
    }
}

static enum tt_doing doing_of(enum tt_agree_what what)
{
    if (what == TT_AGREE_MEET) return TT_DOING_TEAM_OF;
    return what == TT_AGREE_SHRINK ? TT_DOING_SHRINK : TT_DOING_AGREE;
}

static void meet(struct meeting *m, enum tt_agree_what what)
{
    struct tt_wait wait;
    struct tt_team *t = m->team;
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = doing_of(what), .fill = fill_waiting, .arg = m};
    start(m);
    tt_wait_begin(&wait, &t->fabric->policy, t->fabric->job, t->fabric->me);
    while (go_on(m), !is_done(m)) {
        tt_team_advance_all(t);
        tt_wait_more(&wait);
        if (!tt_team_check(t, tt_wait_is_long(&wait))) continue;
        probe(m);
        ask(m);
        look_for_others(m);
        tt_waiting_look(&waiting, false);
    }
    tt_wait_done(&wait);
    tt_waiting_end(&waiting);
}

/* Marks the members that left without taking part as failed, for all ranks. */
static void miss_gone(const struct meeting *m)
{
    const struct tt_fabric *f = m->team->fabric;
    for (int r = 0; r < m->accord->p; r++)
        if (tt_accord_has_gone(m->accord->word, r) && state_of(m, r) == TT_RANK_LEFT)
            tt_common_miss(f->job, f->common, m->team->job_rank[r]);
}

static tutti_status outcome(const struct meeting *m)
{
    struct tt_accord *a = m->accord;
    if (m->status != TUTTI_OK) return m->status;
    if (m->different)
        return tt_fail(TUTTI_ERR_MISMATCH,
                       "ranks %d and %d called tutti_team_of with the same tag and different lists",
                       (int)(m->different >> 32), (int)(uint32_t)m->different);
    if (a->excluded)
        return tt_fail(TUTTI_ERR_PEER,
                       "the other members excluded this rank, since they got no answer from it");
    /* A member may be gone because its calls did not match: this rank returns MISMATCH, too. */
    (void)tt_team_check(m->team, false);
    if (is_mismatch(m)) return tt_team_error(m->team);
    miss_gone(m);
    uint64_t what = a->word[1] & ~(uint64_t)TT_AGREE_BROKEN;
    if (what == TT_AGREE_VALUE || what == TT_AGREE_SHRINK || what == TT_AGREE_MEET) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "some members called tutti_team_agree and others tutti_team_shrink");
}

/* ---- Entry points ---- */

static tutti_status prepare(struct meeting *m, enum tt_agree_what what, uint64_t value,
                            const uint64_t *own)
{
    struct tt_agree_count *count;
    int p = m->team->map.p, words = tt_accord_words(p, own ? TT_AGREE_OWN : 0);
    if (p > UINT16_MAX)
        return tt_fail(TUTTI_ERR_LIMIT, "the team has %d members (allowed: at most %d)", p,
                       UINT16_MAX);
    TT_TRY(tt_agree_count_of(m->agree, m->team->id, m->of, &count));
    m->accord = tt_alloc(tt_accord_bytes(p, words));
    m->word = tt_alloc((size_t)words * sizeof *m->word);
    if (!m->accord || !m->word) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
    bool broken = m->team->broken != TUTTI_OK;
    tt_accord_init(m->accord, p, m->team->me, words, value,
                   (uint64_t)what | (broken ? TT_AGREE_BROKEN : 0));
    if (own)
        memcpy(tt_accord_own(m->accord) + TT_AGREE_OWN * m->team->me, own,
               TT_AGREE_OWN * sizeof *own);
    count->number++;
    count->under_way = true;
    m->head = (struct tt_agree_message_head){.team = m->team->id,
                                             .number = count->number,
                                             .rank = (uint16_t)m->team->me,
                                             .print = broken ? 0 : m->team->history | 1};
    return TUTTI_OK;
}

static void end_count(const struct meeting *m)
{
    struct tt_agree_count *count = tt_agree_count_find(m->agree, m->team->id);
    if (count) count->under_way = false;
}

/* Starts an execution without steps for this agreement, so that the agreement has its place in the
 * order of calls on the team. In a broken team there is no such order. */
static tutti_status note(struct tt_team *t, enum tt_agree_what what)
{
    tt_team_check(t, false);
    if (t->broken != TUTTI_OK) return TUTTI_OK;
    tutti_status status =
        tt_exec_note(t, what == TT_AGREE_SHRINK ? TT_SIGNATURE_SHRINK : TT_SIGNATURE_AGREE);
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

/* Runs an agreement with this rank's `value` and the words own[TT_AGREE_OWN] (NULL: none), unless
 * m->status is an error. On OK, the caller frees *accord. Errors except PEER break the team. */
static tutti_status agree(struct meeting *m, enum tt_agree_what what, uint64_t value,
                          const uint64_t *own, struct tt_accord **accord)
{
    if (m->status == TUTTI_OK) m->status = prepare(m, what, value, own);
    if (m->status == TUTTI_OK) {
        meet(m, what);
        end_count(m);
    }
    tutti_status status = m->status == TUTTI_OK ? outcome(m) : m->status;
    if (m->status != TUTTI_OK && m->status != TUTTI_ERR_PEER) tt_team_break(m->team, m->status);
    tt_free(m->word);
    if (status == TUTTI_OK)
        *accord = m->accord;
    else
        tt_free(m->accord);
    return status;
}

/* Records a trace event of the beginning of the call, with the number of the agreement, which is
 * the same on all members, also if the team is broken. */
static void trace_begin(struct tt_agree *a, struct tt_team *team, enum tt_signature_other call)
{
    const struct tt_agree_count *count = tt_agree_count_find(a, team->id);
    uint64_t number = count ? count->number : 0;
    tt_trace_call_begin(team, call, TT_TRACED_AGREEMENTS + number);
}

static struct meeting meeting_of(struct tt_agree *a, struct tt_team *team)
{
    return (struct meeting){.agree = a,
                            .team = team,
                            .context = tt_msg_context(a->msg, 0),
                            .reported = team->broken != TUTTI_OK && team->reported};
}

tutti_status tt_agree(struct tt_agree *a, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord)
{
    struct meeting m = meeting_of(a, team);
    trace_begin(a, team, what == TT_AGREE_SHRINK ? TT_SIGNATURE_SHRINK : TT_SIGNATURE_AGREE);
    m.status = note(team, what);
    tutti_status status = agree(&m, what, value, own, accord);
    tt_trace_call_end(team, status);
    return status;
}

tutti_status tt_agree_meet(struct tt_agree *a, struct tt_team *team, const struct tt_team *old,
                           uint64_t key, const uint64_t *own, uint32_t *number,
                           struct tt_accord **accord)
{
    struct meeting m = meeting_of(a, team);
    m.old = old;
    m.of = old->id | 1;
    m.entry.key = key | 1;
    struct tt_agree_count *count = tt_agree_count_find(a, m.entry.key);
    if (count) m.different = count->different;
    if (old->revoked_by) end_revoked(&m);
    enter(&m);
    tutti_status status = agree(&m, TT_AGREE_MEET, 0, own, accord);
    leave(&m);
    if (m.different && tt_agree_count_of(a, m.entry.key, m.of, &count) == TUTTI_OK)
        count->different = m.different;
    else if (m.different)
        a->lost = true; /* without a record, later calls with this key may wait for ever */
    *number = m.head.number;
    return status;
}
