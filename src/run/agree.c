/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements: carries out what their state machine says, and tells it who is gone.
 */
#include "run/letter.h"

#include "run/exec.h"
#include "run/settle.h"

#include <string.h>

#define APART_NS INT64_C(2000000000)

/* One agreement under way. */
struct meeting {
    struct tt_agree *agree;
    struct tt_team *team;
    struct tt_accord *accord;
    tutti_context *context;
    struct tt_letter_head head; /* of what is sent */
    uint64_t *word;             /* of what has come, as long as it is here */
    uint32_t failures;
    bool probed;      /* the leader has asked after those that do not come */
    bool told;        /* what broke the team was reported before this agreement */
    int64_t apart_ns; /* since when a letter is kept whose sender made other calls; 0: none */
    int events;
    tutti_status status;
};

static bool is_meant(const struct meeting *m, struct tt_say say, int r)
{
    if (say.to != TT_SAY_ALL) return say.to == r;
    return r != m->accord->me && !tt_accord_gone(m->accord)[r];
}

static tutti_status send_out(struct meeting *m, struct tt_say say)
{
    struct tt_accord *a = m->accord;
    tutti_status status = TUTTI_OK;
    m->head.kind = (uint16_t)say.kind;
    struct tt_letter *l =
        tt_letter_new(m->agree, &m->head, tt_accord_carries(say.kind) ? a->words : 0);
    if (!l) return TUTTI_ERR_MEMORY;
    memcpy(l->word, a->word, (size_t)l->words * sizeof *l->word);
    for (int r = 0; r < a->p && status == TUTTI_OK; r++)
        if (is_meant(m, say, r)) status = tt_letter_send(m->team, l, r);
    tt_letter_release(l);
    return status;
}

/* ---- The agreement ---- */

static bool is_broken(const struct tt_accord *a)
{
    if (a->word[1] & TT_AGREE_BROKEN) return true;
    for (int i = 0; i < tt_accord_sets(a->p); i++)
        if (a->word[2 + i]) return true;
    return false;
}

/* A member that knows the decision stops to touch a broken team, and only then sends that it
 * knows. */
static void carry_out(struct meeting *m, struct tt_say say)
{
    struct tt_accord *a = m->accord;
    bool knows = a->level >= TT_ACCORD_KNOWS && !a->excluded;
    if (knows && !m->team->given_up && is_broken(a)) tt_team_give_up(m->team);
    if (say.to != TT_SAY_NOTHING && m->status == TUTTI_OK) m->status = send_out(m, say);
}

/* An accord of another length is one of another call: what they have in common shows it. */
static void read_letter(struct meeting *m, const struct tt_letter *l)
{
    struct tt_accord *a = m->accord;
    enum tt_accord_kind kind = (enum tt_accord_kind)l->head.kind;
    int r = l->head.rank, least = tt_accord_words(a->p, 0);
    if (r >= a->p || r == a->me || m->team->job_rank[r] != l->from) return;
    if (l->words > 0 && l->words < least) return;
    memset(m->word, 0, (size_t)a->words * sizeof *m->word);
    memcpy(m->word, l->word, (size_t)tt_min(a->words, l->words) * sizeof *m->word);
    carry_out(m, tt_accord_hear(a, r, kind, m->word));
}

/* Before this agreement its sender and this rank did not call the same. Once the team is broken
 * that is no mismatch: a failure meets the members in different calls. */
static bool is_apart(const struct meeting *m, const struct tt_letter_head *head)
{
    return head->print && m->head.print && head->print != m->head.print &&
           m->team->broken == TUTTI_OK;
}

static void read_letters(struct meeting *m)
{
    for (struct tt_letter *l = m->agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != m->head.team || l->head.number > m->head.number) continue;
        if (l->head.number == m->head.number && is_apart(m, &l->head)) {
            if (m->apart_ns == 0) m->apart_ns = tt_clock_ns();
            continue;
        }
        if (l->head.number == m->head.number) read_letter(m, l);
        tt_letter_drop(l);
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

/* After the letters were read: who left may have said all before. */
static void look_for_gone(struct meeting *m)
{
    uint32_t failures = atomic_load(&m->team->fabric->job->failures);
    if (failures == m->failures) return;
    m->failures = failures;
    for (int r = 0; r < m->accord->p; r++)
        if (is_gone(m, r)) carry_out(m, tt_accord_lose(m->accord, r));
}

/* Nothing is to be said before the start. */
static void start(struct meeting *m)
{
    m->failures = atomic_load(&m->team->fabric->job->failures);
    for (int r = 0; r < m->accord->p; r++)
        if (is_gone(m, r)) (void)tt_accord_lose(m->accord, r);
    carry_out(m, tt_accord_start(m->accord));
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

/* The calls do not match, and this call is the first that can say so. */
static bool is_mismatch(const struct meeting *m)
{
    return m->team->broken == TUTTI_ERR_MISMATCH && !m->told;
}

static void go_on(struct meeting *m)
{
    if (is_failed(m)) {
        m->status = is_mismatch(m) ? tt_team_error(m->team) : counts_as_failed(m->team->fabric);
        return;
    }
    if (m->agree->lost) m->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
    /* Errors of other messages are returned elsewhere. */
    (void)tt_msg_advance(m->context, &m->events);
    read_letters(m);
    look_for_gone(m);
}

/* This rank stays until all its messages have left: afterwards nobody can ask it again. */
static bool is_done(const struct meeting *m)
{
    return m->status != TUTTI_OK || (m->accord->level == TT_ACCORD_ENDED && !m->agree->out);
}

/* If a rank on another node has left or died, the leader may notice it only by sending a message to
 * it. All other members have sent a message to the member that they wait for. */
static void probe(struct meeting *m)
{
    struct tt_accord *a = m->accord;
    const struct tt_team *t = m->team;
    struct tt_letter_head head = m->head;
    if (m->probed || a->leader != a->me || a->level != TT_ACCORD_CALLED) return;
    m->probed = true;
    head.kind = TT_LETTER_PROBE;
    struct tt_letter *l = tt_letter_new(m->agree, &head, 0);
    for (int r = 0; l && r < a->p && m->status == TUTTI_OK; r++)
        if (r != a->me && !tt_accord_told(a)[r] && !tt_fabric_shares(t->fabric, t->job_rank[r]))
            m->status = tt_letter_send(t, l, r);
    if (l) tt_letter_release(l);
}

/* The leader waits for those that have not come, the others wait for the leader. */
static void fill_waiting(const void *arg, struct tt_activity *is)
{
    const struct meeting *m = arg;
    struct tt_accord *a = m->accord;
    const int *job_rank = m->team->job_rank;
    is->team = m->team->id;
    if (a->leader != a->me && a->leader >= 0 && a->leader < a->p)
        tt_waiting_name(is, job_rank[a->leader]);
    for (int r = 0; a->leader == a->me && r < a->p; r++)
        if (r != a->me && !tt_accord_told(a)[r] && !tt_accord_gone(a)[r])
            tt_waiting_name(is, job_rank[r]);
}

/* Usually the comparison of calls names what was called; if not in time, this much is known. */
static void look_for_others(struct meeting *m)
{
    tutti_status status = tt_team_compare(m->team);
    bool late = m->apart_ns && tt_clock_ns() > m->apart_ns + APART_NS;
    if (status == TUTTI_OK && late && m->team->broken == TUTTI_OK) {
        status = tt_fail(TUTTI_ERR_MISMATCH, "the members came to team_agree() or team_shrink() "
                                             "after calls that did not match");
        tt_team_break(m->team, status);
    }
}

static void meet(struct meeting *m)
{
    struct tt_wait wait;
    struct tt_team *t = m->team;
    struct tt_waiting waiting = {
        .fabric = t->fabric, .doing = TT_DOING_AGREE, .fill = fill_waiting, .arg = m};
    start(m);
    tt_wait_begin(&wait, &t->fabric->patience, t->fabric->job, t->fabric->me);
    while (go_on(m), !is_done(m)) {
        tt_team_advance_all(t);
        tt_wait_more(&wait);
        if (!tt_team_check(t, tt_wait_is_long(&wait))) continue;
        probe(m);
        look_for_others(m);
        tt_waiting_look(&waiting, false);
    }
    tt_wait_done(&wait);
    tt_waiting_end(&waiting);
}

/* A member that left without taking part has failed, for all members. */
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
    if (a->excluded)
        return tt_fail(TUTTI_ERR_PEER, "this rank counts as failed: other members have lost it");
    /* A member may be gone because the calls did not match. */
    (void)tt_team_check(m->team, false);
    if (is_mismatch(m)) return tt_team_error(m->team);
    miss_gone(m);
    uint64_t what = a->word[1] & ~(uint64_t)TT_AGREE_BROKEN;
    if (what == TT_AGREE_VALUE || what == TT_AGREE_SHRINK) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "some members called tutti_team_agree and others tutti_team_shrink");
}

/* ---- From outside ---- */

static tutti_status prepare(struct meeting *m, enum tt_agree_what what, uint64_t value,
                            const uint64_t *own)
{
    struct tt_agree_count *count;
    int p = m->team->map.p, words = tt_accord_words(p, own ? TT_AGREE_OWN : 0);
    if (p > UINT16_MAX) return tt_fail(TUTTI_ERR_LIMIT, "a team of %d members cannot agree", p);
    TT_TRY(tt_agree_count_of(m->agree, m->team->id, &count));
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
    m->head = (struct tt_letter_head){.team = m->team->id,
                                      .number = count->number,
                                      .rank = (uint16_t)m->team->me,
                                      .print = broken ? 0 : m->team->history | 1};
    return TUTTI_OK;
}

static void end_count(const struct meeting *m)
{
    struct tt_agree_count *count;
    if (tt_agree_count_of(m->agree, m->team->id, &count) == TUTTI_OK) count->under_way = false;
}

/* The agreement takes its place in the order of calls, unless the team is broken. */
static tutti_status note(struct tt_team *t, enum tt_agree_what what)
{
    tt_team_check(t, false);
    if (t->broken != TUTTI_OK) return TUTTI_OK;
    tutti_status status = tt_exec_note(t, what == TT_AGREE_SHRINK ? TT_WHAT_SHRINK : TT_WHAT_AGREE);
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

tutti_status tt_agree(struct tt_agree *agree, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord)
{
    struct meeting m = {.agree = agree,
                        .team = team,
                        .context = tt_msg_context(agree->msg, 0),
                        .told = team->broken != TUTTI_OK && team->reported};
    m.status = note(team, what);
    if (m.status == TUTTI_OK) m.status = prepare(&m, what, value, own);
    if (m.status == TUTTI_OK) {
        meet(&m);
        end_count(&m);
    }
    tutti_status status = m.status == TUTTI_OK ? outcome(&m) : m.status;
    if (m.status != TUTTI_OK && m.status != TUTTI_ERR_PEER) tt_team_break(team, m.status);
    tt_free(m.word);
    if (status == TUTTI_OK)
        *accord = m.accord;
    else
        tt_free(m.accord);
    return status;
}
