/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes, sends, receives and keeps the messages of agreements.
 */
#include "recover/message.h"

#include <string.h>

/* ---- Messages ---- */

static void enlist(struct tt_agree_message **list, struct tt_agree_message *l)
{
    l->link = list;
    l->next = *list;
    if (l->next) l->next->link = &l->next;
    *list = l;
}

static void unlist(struct tt_agree_message *l)
{
    *l->link = l->next;
    if (l->next) l->next->link = l->link;
}

static void keep(struct tt_agree *agree, struct tt_agree_message *l)
{
    l->next = NULL;
    l->link = agree->in_end;
    *agree->in_end = l;
    agree->in_end = &l->next;
}

void tt_agree_message_drop(struct tt_agree_message *l)
{
    if (!l->next) l->agree->in_end = l->link;
    unlist(l);
    tt_free(l);
}

static struct tt_agree_message *make(struct tt_agree *agree,
                                     const struct tt_agree_message_head *head, int from, int words)
{
    struct tt_agree_message *l = tt_calloc(1, sizeof *l + (size_t)words * sizeof *l->word);
    if (!l) return NULL;
    l->agree = agree;
    l->head = *head;
    l->from = from;
    l->words = words;
    return l;
}

/* ---- Agreements by number ---- */

static struct tt_agree_count **bucket_of(const struct tt_agree_counts *all, uint64_t team)
{
    return &all->bucket[team & (all->buckets - 1)];
}

typedef bool leaves_fn(const struct tt_agree_counts *all, const struct tt_agree_count *c);

/* Frees the counts for which leaves(all, count) is true. */
static void free_counts(struct tt_agree_counts *all, leaves_fn *leaves)
{
    for (uint32_t i = 0; i < all->buckets; i++)
        for (struct tt_agree_count **link = &all->bucket[i], *c; (c = *link) != NULL;) {
            if (!leaves(all, c)) {
                link = &c->next;
                continue;
            }
            *link = c->next;
            all->n--;
            tt_free(c);
        }
}

static bool is_old(const struct tt_agree_counts *all, const struct tt_agree_count *c)
{
    return c->ended && all->deleted - c->ended >= TT_AGREE_LATER;
}

static bool is_any(const struct tt_agree_counts *all, const struct tt_agree_count *c)
{
    (void)all;
    (void)c;
    return true;
}

/* Makes room for one more count: frees the counts of teams that were deleted long ago, and doubles
 * the number of buckets if the table is still more than half full. Without memory for that, the
 * table keeps its buckets. */
static void make_room(struct tt_agree_counts *all)
{
    enum { LEAST_BUCKETS = 16 };
    free_counts(all, is_old);
    if (all->n <= all->buckets / 2 && all->bucket) return;
    struct tt_agree_counts old = *all;
    uint32_t buckets = old.bucket ? 2 * old.buckets : LEAST_BUCKETS;
    struct tt_agree_count **bucket = tt_calloc(buckets, sizeof *bucket);
    if (!bucket) return;
    all->bucket = bucket;
    all->buckets = buckets;
    for (uint32_t i = 0; i < old.buckets; i++)
        for (struct tt_agree_count *c = old.bucket[i], *next; c; c = next) {
            next = c->next;
            c->next = *bucket_of(all, c->team);
            *bucket_of(all, c->team) = c;
        }
    tt_free(old.bucket);
}

tutti_status tt_agree_count_of(struct tt_agree *agree, uint64_t team, uint64_t of,
                               struct tt_agree_count **count)
{
    struct tt_agree_counts *all = &agree->counts;
    *count = tt_agree_count_find(agree, team);
    if (*count) return TUTTI_OK;
    if (all->n >= all->buckets) make_room(all);
    struct tt_agree_count *made = all->bucket ? tt_calloc(1, sizeof *made) : NULL;
    if (!made) return tt_fail(TUTTI_ERR_MEMORY, "no memory for an agreement");
    made->team = team;
    made->of = of;
    made->next = *bucket_of(all, team);
    *bucket_of(all, team) = made;
    all->n++;
    *count = made;
    return TUTTI_OK;
}

static void drop_messages(struct tt_agree *agree, uint64_t team)
{
    for (struct tt_agree_message *l = agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team == team) tt_agree_message_drop(l);
    }
}

static void end_count(struct tt_agree *agree, struct tt_agree_count *c)
{
    c->ended = agree->counts.deleted;
    drop_messages(agree, c->team);
}

void tt_agree_forget(struct tt_agree *agree, uint64_t team, bool lists)
{
    struct tt_agree_counts *all = &agree->counts;
    struct tt_agree_count *own = tt_agree_count_find(agree, team);
    if (own && own->of) return; /* the team was not completed: other calls have the same id */
    drop_messages(agree, team);
    if (!own && !lists) return;
    all->deleted++;
    if (own) end_count(agree, own);
    for (uint32_t i = 0; lists && i < all->buckets; i++)
        for (struct tt_agree_count *c = all->bucket[i]; c; c = c->next)
            if (c->of == (team | 1)) end_count(agree, c);
}

static bool is_over(const struct tt_agree *agree, const struct tt_agree_message_head *head)
{
    const struct tt_agree_count *c = tt_agree_count_find(agree, head->team);
    return c && head->kind < TT_ACCORD_KINDS &&
           (head->number < c->number || (head->number == c->number && !c->under_way));
}

/* ---- Sending ---- */

/* Ends one use of a message, and frees it after the last one. */
static void release(struct tt_agree_message *l)
{
    if (--l->uses > 0) return;
    unlist(l);
    tt_free(l);
}

static void has_gone(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)status;
    release(arg);
}

/* Sends the message to member r. A member that is gone is no error. */
static tutti_status send_to(const struct tt_team *t, struct tt_agree_message *l, int r)
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

tutti_status tt_agree_message_send(struct tt_agree *agree, const struct tt_team *t,
                                   const struct tt_agree_message_head *head,
                                   const struct tt_accord *accord, tt_agree_meant_fn *is_meant,
                                   const void *arg)
{
    tutti_status status = TUTTI_OK;
    struct tt_agree_message *l = make(agree, head, 0, accord ? accord->words : 0);
    if (!l) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a message of an agreement");
    if (accord) memcpy(l->word, accord->word, (size_t)l->words * sizeof *l->word);
    enlist(&agree->out, l);
    l->uses = 1;
    for (int r = 0; r < t->map.p && status == TUTTI_OK; r++)
        if (r != t->me && (!is_meant || is_meant(arg, r))) status = send_to(t, l, r);
    release(l);
    return status;
}

/* ---- Revoking ---- */

static void revoked(struct tt_team *t, const struct tt_agree_message_head *head, int from)
{
    bool is_member = head->rank < t->map.p && t->job_rank[head->rank] == from;
    if (is_member && head->list < (uint64_t)t->fabric->size) tt_team_revoke(t, (int)head->list);
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
    for (struct tt_agree_message *l = agree->in, *next; l; l = next) {
        next = l->next;
        if (l->head.team != team->id || l->head.kind != TT_AGREE_MESSAGE_REVOKE) continue;
        revoked(team, &l->head, l->from);
        tt_agree_message_drop(l);
    }
}

tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *t)
{
    int by = t->job_rank[t->me];
    struct tt_agree_message_head head = {.team = t->id,
                                         .kind = TT_AGREE_MESSAGE_REVOKE,
                                         .rank = (uint16_t)t->me,
                                         .list = (uint64_t)by};
    tt_team_revoke(t, by);
    return tt_agree_message_send(agree, t, &head, NULL, NULL, NULL);
}

/* ---- Receiving ---- */

/* Returns whether a message has a length and a kind that are possible, and copies its header to
 * *head. The length of an accord depends on the size of the team, which may not be known to this
 * rank yet, so the limit is that of the largest team. */
static bool is_sound(const tutti_message *m, struct tt_agree_message_head *head)
{
    int64_t most = tt_accord_words(UINT16_MAX, TT_AGREE_OWN) * (int64_t)sizeof(uint64_t);
    if (m->header_bytes != sizeof *head || m->bytes < 0 || m->bytes > most || m->bytes % 8)
        return false;
    memcpy(head, m->header, sizeof *head);
    return head->kind < TT_AGREE_MESSAGE_KINDS && head->kind != TT_AGREE_MESSAGE_PROBE &&
           (m->bytes > 0) == tt_accord_carries((enum tt_accord_kind)head->kind);
}

static void has_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    struct tt_agree_message *l = arg;
    unlist(l);
    if (status == TUTTI_OK) {
        keep(l->agree, l);
        return;
    }
    if (status != TUTTI_ERR_PEER) l->agree->lost = true;
    tt_free(l);
}

static void take(struct tt_agree_message *l, const tutti_message *m, tutti_receive *receive)
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

/* Returns whether to keep a message. Questions and answers (ASK, DIFFERS) that concern no call
 * under way are not kept. */
static bool is_wanted(const struct tt_agree *agree, const struct tt_agree_message_head *head)
{
    if (head->kind != TT_AGREE_MESSAGE_ASK && head->kind != TT_AGREE_MESSAGE_DIFFERS) return true;
    const struct tt_agree_meeting *m = agree->meetings;
    while (m && m->key != head->team) m = m->next;
    return m != NULL;
}

static void handle_packet(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                          void *arg)
{
    (void)context;
    struct tt_agree_message_head head;
    struct tt_agree *agree = arg;
    if (!is_sound(m, &head) || is_over(agree, &head) || !is_wanted(agree, &head)) return;
    struct tt_team *t = head.kind == TT_AGREE_MESSAGE_REVOKE ? find_team(agree, head.team) : NULL;
    if (t) {
        revoked(t, &head, m->rank);
        return;
    }
    struct tt_agree_message *l =
        make(agree, &head, m->rank, (int)(m->bytes / (int64_t)sizeof(uint64_t)));
    if (l)
        take(l, m, receive);
    else
        agree->lost = true;
}

/* ---- State of a client ---- */

tutti_status tt_agree_open(struct tt_msg *msg, struct tt_team *any, struct tt_agree **agree)
{
    struct tt_agree *a = tt_calloc(1, sizeof *a);
    if (!a) return tt_fail(TUTTI_ERR_MEMORY, "no memory for agreements");
    a->msg = msg;
    a->any = any;
    a->in_end = &a->in;
    a->counts.deleted = 1;
    tutti_status status = tt_msg_dispatch(msg, TT_DISPATCH_AGREE, handle_packet, a);
    if (status == TUTTI_OK)
        *agree = a;
    else
        tt_free(a);
    return status;
}

static void drop_all(struct tt_agree_message *l)
{
    for (struct tt_agree_message *next; l; l = next) {
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
    free_counts(&agree->counts, is_any);
    tt_free(agree->counts.bucket);
    tt_free(agree);
}
