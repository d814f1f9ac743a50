/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Letters: made, sent, heard, kept.
 */
#include "run/letter.h"

#include <string.h>

static void enlist(struct tt_letter **list, struct tt_letter *l)
{
    l->link = list;
    l->next = *list;
    if (l->next) l->next->link = &l->next;
    *list = l;
}

static void unlist(struct tt_letter *l)
{
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
}

static void keep(struct tt_agree *agree, struct tt_letter *l)
{
    l->next = NULL;
    l->link = agree->in_end;
    *agree->in_end = l;
    agree->in_end = &l->next;
}

void tt_letter_drop(struct tt_letter *l)
{
    if (!l->next) l->agree->in_end = l->link;
    unlist(l);
    tt_free(l);
}

static struct tt_letter *make(struct tt_agree *agree, const struct tt_letter_head *head, int from,
                              int words)
{
    struct tt_letter *l = tt_calloc(1, sizeof *l + (size_t)words * sizeof *l->word);
    if (!l) return NULL;
    l->agree = agree;
    l->head = *head;
    l->from = from;
    l->words = words;
    return l;
}

/* ---- Agreements by number ---- */

static struct tt_agree_count *find_count(const struct tt_agree *agree, uint64_t team)
{
    for (int i = 0; i < agree->n; i++)
        if (agree->counts[i].team == team) return &agree->counts[i];
    return NULL;
}

tutti_status tt_agree_count_of(struct tt_agree *agree, uint64_t team, struct tt_agree_count **count)
{
    *count = find_count(agree, team);
    if (*count) return TUTTI_OK;
    if (agree->n == agree->room) {
        int room = 2 * agree->room + 8;
        struct tt_agree_count *all = tt_realloc(agree->counts, (size_t)room * sizeof *all);
        if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
        agree->counts = all;
        agree->room = room;
    }
    *count = &agree->counts[agree->n++];
    **count = (struct tt_agree_count){.team = team};
    return TUTTI_OK;
}

static bool is_over(const struct tt_agree *agree, const struct tt_letter_head *head)
{
    const struct tt_agree_count *c = find_count(agree, head->team);
    return c && head->kind != TT_LETTER_REVOKE &&
           (head->number < c->number || (head->number == c->number && !c->under_way));
}

/* ---- Revoking ---- */

static void revoked(struct tt_team *t, const struct tt_letter_head *head, int from)
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
    for (struct tt_letter *l = agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != team->id || l->head.kind != TT_LETTER_REVOKE) continue;
        revoked(team, &l->head, l->from);
        tt_letter_drop(l);
    }
}

tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *t)
{
    tutti_status status = TUTTI_OK;
    struct tt_letter_head head = {.team = t->id, .kind = TT_LETTER_REVOKE, .rank = (uint16_t)t->me};
    tt_team_revoke(t, t->job_rank[t->me]);
    struct tt_letter *l = tt_letter_new(agree, &head, 0);
    if (!l) return TUTTI_ERR_MEMORY;
    for (int r = 0; r < t->map.p && status == TUTTI_OK; r++)
        if (r != t->me) status = tt_letter_send(t, l, r);
    tt_letter_release(l);
    return status;
}

/* ---- Coming in ---- */

/* An accord is as long as its team is large; nobody knows better before the team is known here. */
static bool is_sound(const tutti_message *m, struct tt_letter_head *head)
{
    int64_t most = tt_accord_words(UINT16_MAX, TT_AGREE_OWN) * (int64_t)sizeof(uint64_t);
    if (m->header_bytes != sizeof *head || m->bytes < 0 || m->bytes > most || m->bytes % 8)
        return false;
    memcpy(head, m->header, sizeof *head);
    return head->kind <= TT_LETTER_REVOKE &&
           (m->bytes > 0) == tt_accord_carries((enum tt_accord_kind)head->kind);
}

static void has_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    struct tt_letter *l = arg;
    unlist(l);
    if (status == TUTTI_OK) {
        keep(l->agree, l);
        return;
    }
    if (status != TUTTI_ERR_PEER) l->agree->lost = true;
    tt_free(l);
}

static void take(struct tt_letter *l, const tutti_message *m, tutti_receive *receive)
{
    if (m->bytes > 0 && !m->data) {
        enlist(&l->agree->coming, l);
        *receive = (tutti_receive){
            .to = l->word, .count = l->words, .type = TUTTI_U64, .done = has_come, .arg = l};
        return;
    }
    if (m->bytes > 0) memcpy(l->word, m->data, (size_t)m->bytes);
    keep(l->agree, l);
}

static void hear(tutti_context *context, const tutti_message *m, tutti_receive *receive, void *arg)
{
    (void)context;
    struct tt_letter_head head;
    struct tt_agree *agree = arg;
    if (!is_sound(m, &head) || is_over(agree, &head)) return;
    struct tt_team *t = head.kind == TT_LETTER_REVOKE ? find_team(agree, head.team) : NULL;
    if (t) {
        revoked(t, &head, m->rank);
        return;
    }
    struct tt_letter *l = make(agree, &head, m->rank, (int)(m->bytes / (int64_t)sizeof(uint64_t)));
    if (l)
        take(l, m, receive);
    else
        agree->lost = true;
}

/* ---- Going out ---- */

void tt_letter_release(struct tt_letter *l)
{
    if (--l->uses > 0) return;
    unlist(l);
    tt_free(l);
}

static void has_gone(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)status;
    tt_letter_release(arg);
}

struct tt_letter *tt_letter_new(struct tt_agree *agree, const struct tt_letter_head *head,
                                int words)
{
    struct tt_letter *l = make(agree, head, 0, words);
    if (!l) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a message of an agreement");
        return NULL;
    }
    enlist(&agree->out, l);
    l->uses = 1;
    return l;
}

tutti_status tt_letter_send(const struct tt_team *t, struct tt_letter *l, int r)
{
    struct tt_msg *msg = l->agree->msg;
    tutti_send send = {.dispatch = TT_DISPATCH_AGREE,
                       .header = &l->head,
                       .header_bytes = sizeof l->head,
                       .data = l->word,
                       .count = l->words,
                       .type = TUTTI_U64,
                       .sent = has_gone,
                       .arg = l};
    TT_TRY(tt_msg_endpoint(msg, t->job_rank[r], 0, &send.to));
    l->uses++;
    tutti_status status = tt_msg_send(tt_msg_context(msg, 0), &send);
    if (status != TUTTI_OK) l->uses--;
    return status == TUTTI_ERR_PEER ? TUTTI_OK : status;
}

/* ---- Of a client ---- */

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

static void drop_all(struct tt_letter *l)
{
    for (struct tt_letter *next; l; l = next) {
        next = l->next;
        tt_free(l);
    }
}

void tt_agree_close(struct tt_agree *agree)
{
    if (!agree) return;
    drop_all(agree->in);
    drop_all(agree->coming);
    drop_all(agree->out);
    tt_free(agree->counts);
    tt_free(agree);
}
