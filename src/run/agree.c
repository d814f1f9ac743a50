/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries the messages of agreements, and tells their state machine who is gone.
 */
#include "run/agree.h"

#include <string.h>

struct head {
    uint64_t team;
    uint32_t number; /* of the agreement on that team, from 1 */
    uint16_t kind;   /* enum tt_accord_kind, or ... */
    uint16_t rank;
};
enum {
    REVOKE = TT_ACCORD_KINDS
}; /* ... no part of an agreement: the rank has revoked the team; number is 0 */

/* On its way out, or come in and not looked at yet. */
struct letter {
    struct letter *next, **link;
    struct head head;
    int from; /* rank of the job */
    int uses; /* on its way out: to so many */
    int words;
    uint64_t word[];
};

/* How many agreements of a team have begun here. Stays when the team has gone: somebody may still send. */
struct count {
    uint64_t team;
    uint32_t number;
    bool under_way;
};

struct tt_agree {
    struct tt_msg *msg;
    struct tt_team *any;
    struct letter *in, **in_end; /* in the order of coming */
    struct letter *out;
    struct count *counts;
    int n, room;
    bool lost; /* a message, for want of memory */
};

/* ---- Letters ---- */

static struct letter *new_letter(const struct head *head, int from, int words)
{
    struct letter *l = tt_calloc(1, sizeof *l + (size_t)words * sizeof *l->word);
    if (!l) return NULL;
    l->head = *head;
    l->from = from;
    l->words = words;
    return l;
}

static void drop(struct letter *l)
{
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
    tt_free(l);
}

static void keep(struct tt_agree *agree, struct letter *l)
{
    l->link = agree->in_end;
    *agree->in_end = l;
    agree->in_end = &l->next;
}

static void drop_in(struct tt_agree *agree, struct letter *l)
{
    if (!l->next) agree->in_end = l->link;
    drop(l);
}

static struct count *find_count(const struct tt_agree *agree, uint64_t team)
{
    for (int i = 0; i < agree->n; i++)
        if (agree->counts[i].team == team) return &agree->counts[i];
    return NULL;
}

static bool is_over(const struct tt_agree *agree, const struct head *head)
{
    const struct count *c = find_count(agree, head->team);
    return c && head->kind != REVOKE &&
           (head->number < c->number || (head->number == c->number && !c->under_way));
}

/* ---- Coming in ---- */

/* An accord is as long as its team is large; nobody knows better before the team is known here. */
static bool is_sound(const tutti_message *m, struct head *head)
{
    int64_t most = tt_accord_words(UINT16_MAX, TT_AGREE_OWN) * (int64_t)sizeof(uint64_t);
    if (m->header_bytes != sizeof *head || m->bytes < 0 || m->bytes > most || m->bytes % 8)
        return false;
    memcpy(head, m->header, sizeof *head);
    return head->kind <= REVOKE &&
           (m->bytes > 0) == tt_accord_carries((enum tt_accord_kind)head->kind);
}

/* ---- Revoking ---- */

static void revoked(struct tt_team *t, const struct head *head, int from)
{
    if (head->rank < t->map.p && t->job_rank[head->rank] == from) tt_team_revoke(t, from);
}

static struct tt_team *find_team(const struct tt_agree *agree, uint64_t id)
{
    struct tt_team *t = agree->any;
    do
        if (t->id == id) return t;
    while ((t = t->ring) != agree->any);
    return NULL;
}

void tt_agree_know(struct tt_agree *agree, struct tt_team *team)
{
    for (struct letter *l = agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != team->id || l->head.kind != REVOKE) continue;
        revoked(team, &l->head, l->from);
        drop_in(agree, l);
    }
}

/* ---- */

struct coming {
    struct tt_agree *agree;
    struct letter *letter;
};

static void has_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    struct coming *coming = arg;
    if (status == TUTTI_OK)
        keep(coming->agree, coming->letter);
    else
        tt_free(coming->letter);
    if (status != TUTTI_OK && status != TUTTI_ERR_PEER) coming->agree->lost = true;
    tt_free(coming);
}

/* What is too long for a packet comes later. */
static void fetch(struct tt_agree *agree, struct letter *l, tutti_receive *receive)
{
    struct coming *coming = tt_alloc(sizeof *coming);
    if (!coming) {
        agree->lost = true;
        tt_free(l);
        return;
    }
    *coming = (struct coming){agree, l};
    *receive = (tutti_receive){
        .to = l->word, .count = l->words, .type = TUTTI_U64, .done = has_come, .arg = coming};
}

/* Without memory for it the message is lost, and the next agreement here fails: see `lost`. */
static void hear(tutti_context *context, const tutti_message *m, tutti_receive *receive, void *arg)
{
    (void)context;
    struct head head;
    struct tt_agree *agree = arg;
    if (!is_sound(m, &head) || is_over(agree, &head)) return;
    struct tt_team *t = head.kind == REVOKE ? find_team(agree, head.team) : NULL;
    if (t) {
        revoked(t, &head, m->rank);
        return;
    }
    struct letter *l = new_letter(&head, m->rank, (int)(m->bytes / (int64_t)sizeof(uint64_t)));
    if (!l) {
        agree->lost = true;
        return;
    }
    if (m->bytes > 0 && !m->data) {
        fetch(agree, l, receive);
        return;
    }
    if (m->bytes > 0) memcpy(l->word, m->data, (size_t)m->bytes);
    keep(agree, l);
}

/* ---- Going out ---- */

static void has_gone(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)status;
    struct letter *l = arg;
    if (--l->uses == 0) drop(l);
}

/* One agreement under way. */
struct meeting {
    struct tt_agree *agree;
    struct tt_team *team;
    struct tt_accord *accord;
    tutti_context *context;
    struct head head; /* of what is sent */
    uint64_t *word;   /* of what has come, as long as it is here */
    uint32_t failures;
    int events;
    tutti_status status;
};

static tutti_status send_to(struct tt_agree *agree, const struct tt_team *t, struct letter *l,
                            int r)
{
    tutti_send send = {.dispatch = TT_DISPATCH_AGREE,
                       .header = &l->head,
                       .header_bytes = sizeof l->head,
                       .data = l->word,
                       .count = l->words,
                       .type = TUTTI_U64,
                       .sent = has_gone,
                       .arg = l};
    TT_TRY(tt_msg_endpoint(agree->msg, t->job_rank[r], 0, &send.to));
    l->uses++;
    tutti_status status = tt_msg_send(tt_msg_context(agree->msg, 0), &send);
    if (status != TUTTI_OK) l->uses--;
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

static bool is_meant(const struct meeting *m, struct tt_say say, int r)
{
    if (say.to != TT_SAY_ALL) return say.to == r;
    return r != m->accord->me && !tt_accord_gone(m->accord)[r];
}

/* In use until the caller has_gone it. */
static struct letter *new_out(struct tt_agree *agree, const struct head *head, int words)
{
    struct letter *l = new_letter(head, 0, words);
    if (!l) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message of an agreement");
        return NULL;
    }
    l->link = &agree->out;
    l->next = agree->out;
    if (l->next) l->next->link = &l->next;
    agree->out = l;
    l->uses = 1;
    return l;
}

static tutti_status send_out(struct meeting *m, struct tt_say say)
{
    struct tt_accord *a = m->accord;
    tutti_status status = TUTTI_OK;
    m->head.kind = (uint16_t)say.kind;
    struct letter *l = new_out(m->agree, &m->head, tt_accord_carries(say.kind) ? a->words : 0);
    if (!l) return TUTTI_ERR_MEMORY;
    memcpy(l->word, a->word, (size_t)l->words * sizeof *l->word);
    for (int r = 0; r < a->p && status == TUTTI_OK; r++)
        if (is_meant(m, say, r)) status = send_to(m->agree, m->team, l, r);
    has_gone(NULL, l, TUTTI_OK);
    return status;
}

tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *t)
{
    tutti_status status = TUTTI_OK;
    struct head head = {.team = t->id, .kind = REVOKE, .rank = (uint16_t)t->me};
    tt_team_revoke(t, t->job_rank[t->me]);
    struct letter *l = new_out(agree, &head, 0);
    if (!l) return TUTTI_ERR_MEMORY;
    for (int r = 0; r < t->map.p && status == TUTTI_OK; r++)
        if (r != t->me) status = send_to(agree, t, l, r);
    has_gone(NULL, l, TUTTI_OK);
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

/* Who knows the decision touches nothing of a broken team any more, and only then says that it knows. */
static void carry_out(struct meeting *m, struct tt_say say)
{
    struct tt_accord *a = m->accord;
    bool knows = a->level >= TT_ACCORD_KNOWS && !a->excluded;
    if (knows && !m->team->given_up && is_broken(a)) tt_team_give_up(m->team);
    if (say.to != TT_SAY_NOTHING && m->status == TUTTI_OK) m->status = send_out(m, say);
}

/* An accord of another length is one of another call: what they have in common shows it. */
static void read_letter(struct meeting *m, const struct letter *l)
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

static void read_letters(struct meeting *m)
{
    for (struct letter *l = m->agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != m->head.team || l->head.number > m->head.number) continue;
        if (l->head.number == m->head.number) read_letter(m, l);
        drop_in(m->agree, l);
    }
}

static enum tt_rank_state state_of(const struct meeting *m, int r)
{
    const struct tt_team *t = m->team;
    return tt_common_state(t->fabric->job, t->fabric->common, t->job_rank[r]);
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

static void go_on(struct meeting *m)
{
    if (is_failed(m)) {
        char text[160];
        int me = m->team->job_rank[m->team->me];
        tt_common_cause_text(m->team->fabric->job, m->team->fabric->common, me, text, sizeof text);
        m->status = tt_fail(TUTTI_ERR_PEER, "this rank counts as failed: %s", text);
        return;
    }
    if (m->agree->lost) m->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
    (void)tt_msg_advance(m->context,
                         &m->events); /* what is wrong with other messages is not told here */
    read_letters(m);
    look_for_gone(m);
}

/* What this rank has said is gone before it goes: nobody can ask it again. */
static bool is_done(const struct meeting *m)
{
    return m->status != TUTTI_OK || (m->accord->level == TT_ACCORD_ENDED && !m->agree->out);
}

static void meet(struct meeting *m)
{
    struct tt_wait wait;
    struct tt_team *t = m->team;
    start(m);
    tt_wait_begin(&wait, &t->fabric->patience, t->fabric->job, t->fabric->me);
    while (go_on(m), !is_done(m)) {
        tt_team_advance_all(t);
        tt_wait_more(&wait);
        tt_team_check(t, tt_wait_is_long(&wait));
    }
    tt_wait_done(&wait);
}

/* Who left without coming is missed: it failed, for everybody. */
static void miss_gone(const struct meeting *m)
{
    for (int r = 0; r < m->accord->p; r++)
        if (tt_accord_has_gone(m->accord->word, r) && state_of(m, r) == TT_RANK_LEFT)
            tt_common_miss(m->team->fabric->job, m->team->fabric->common, m->team->job_rank[r]);
}

static tutti_status outcome(const struct meeting *m)
{
    struct tt_accord *a = m->accord;
    if (m->status != TUTTI_OK) return m->status;
    if (a->excluded)
        return tt_fail(TUTTI_ERR_PEER, "this rank counts as failed: other members have lost it");
    miss_gone(m);
    uint64_t what = a->word[1] & ~(uint64_t)TT_AGREE_BROKEN;
    if (what == TT_AGREE_VALUE || what == TT_AGREE_SHRINK) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "some members called tutti_team_agree and others tutti_team_shrink");
}

/* ---- From outside ---- */

static tutti_status count_for(struct tt_agree *agree, uint64_t team, struct count **count)
{
    *count = find_count(agree, team);
    if (*count) return TUTTI_OK;
    if (agree->n == agree->room) {
        int room = 2 * agree->room + 8;
        struct count *all = tt_realloc(agree->counts, (size_t)room * sizeof *all);
        if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
        agree->counts = all;
        agree->room = room;
    }
    *count = &agree->counts[agree->n++];
    **count = (struct count){.team = team};
    return TUTTI_OK;
}

static tutti_status prepare(struct meeting *m, enum tt_agree_what what, uint64_t value,
                            const uint64_t *own)
{
    struct count *count;
    int p = m->team->map.p, words = tt_accord_words(p, own ? TT_AGREE_OWN : 0);
    if (p > UINT16_MAX) return tt_fail(TUTTI_ERR_LIMIT, "a team of %d members cannot agree", p);
    TT_TRY(count_for(m->agree, m->team->id, &count));
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
    m->head =
        (struct head){.team = m->team->id, .number = count->number, .rank = (uint16_t)m->team->me};
    return TUTTI_OK;
}

tutti_status tt_agree(struct tt_agree *agree, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord)
{
    struct meeting m = {.agree = agree, .team = team, .context = tt_msg_context(agree->msg, 0)};
    m.status = prepare(&m, what, value, own);
    if (m.status == TUTTI_OK) {
        meet(&m);
        find_count(agree, team->id)->under_way = false;
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

tutti_status tt_agree_open(struct tt_msg *msg, struct tt_team *any, struct tt_agree **agree)
{
    struct tt_agree *a = tt_calloc(1, sizeof *a);
    if (!a) return tt_fail(TUTTI_ERR_MEMORY, "no memory for agreements");
    a->msg = msg;
    a->any = any;
    a->in_end = &a->in;
    tutti_status status = tt_msg_dispatch(msg, TT_DISPATCH_AGREE, hear, a);
    if (status == TUTTI_OK)
        *agree = a;
    else
        tt_free(a);
    return status;
}

void tt_agree_close(struct tt_agree *agree)
{
    if (!agree) return;
    while (agree->in) drop_in(agree, agree->in);
    while (agree->out) drop(agree->out);
    tt_free(agree->counts);
    tt_free(agree);
}
