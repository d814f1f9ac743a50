/* SPDX-License-Identifier: BSD-3-Clause */
#include "accord-world.h"

#include <string.h>

static size_t member_bytes(int p, int words)
{
    return (tt_accord_bytes(p, words) + 7) / 8 * 8;
}

static size_t packet_bytes(int words)
{
    return sizeof(struct packet) + (size_t)words * sizeof(uint64_t);
}

size_t world_bytes(int p, int words)
{
    return sizeof(struct world) + (size_t)p * member_bytes(p, words) +
           (size_t)(p * p * QUEUE) * packet_bytes(words);
}

struct tt_accord *world_member(struct world *w, int m)
{
    return (struct tt_accord *)((char *)w->data +
                                (size_t)m * member_bytes((int)w->p, (int)w->words));
}

static struct packet *packet_at(struct world *w, int from, int to, int i)
{
    char *queues = (char *)w->data + w->p * member_bytes((int)w->p, (int)w->words);
    size_t at = (size_t)((from * (int)w->p + to) * QUEUE + i);
    return (struct packet *)(queues + at * packet_bytes((int)w->words));
}

static uint64_t value_of(int m)
{
    return ~(UINT64_C(1) << m);
}

static uint64_t own_of(int m)
{
    return 1000 + (uint64_t)m;
}

void world_init(struct world *w, int p, bool own, int deaths)
{
    int words = tt_accord_words(p, own ? 1 : 0);
    memset(w, 0, world_bytes(p, words));
    *w = (struct world){.p = (uint32_t)p, .words = (uint32_t)words, .deaths = (uint32_t)deaths};
    for (int m = 0; m < p; m++) {
        struct tt_accord *a = world_member(w, m);
        w->alive[m] = 1;
        tt_accord_init(a, p, m, words, value_of(m), 1);
        if (own) tt_accord_own(a)[m] = own_of(m);
    }
}

/* ---- The events that can happen next ---- */

static int deliveries(struct world *w, int m, struct event *events)
{
    int n = 0;
    for (int from = 0; from < (int)w->p; from++)
        for (int i = 0; i < QUEUE && packet_at(w, from, m, i)->kind; i++)
            events[n++] = (struct event){DELIVER, m, from, i};
    return n;
}

static int detections(struct world *w, enum mutant mutant, int m, struct event *events)
{
    int n = 0;
    struct tt_accord *a = world_member(w, m);
    if (a->level == TT_ACCORD_ENDED || mutant == NO_DETECTION) return 0;
    for (int r = 0; r < (int)w->p; r++) {
        bool wake = !w->alive[r] || (mutant == FALSE_ALARMS && r == 0 && w->deaths > 0);
        if (r != m && wake && !tt_accord_gone(a)[r]) events[n++] = (struct event){DETECT, m, r, 0};
    }
    return n;
}

int world_events(struct world *w, enum mutant mutant, struct event *events, int *living)
{
    int n = 0;
    for (int m = 0; m < (int)w->p; m++) {
        if (!w->alive[m]) continue;
        if (w->begun[m])
            n += deliveries(w, m, events + n);
        else
            events[n++] = (struct event){BEGIN, m, 0, 0};
        n += detections(w, mutant, m, events + n);
    }
    *living = n;
    for (int m = 0; m < (int)w->p && w->deaths > 0; m++)
        if (w->alive[m]) events[n++] = (struct event){DIE, m, 0, 0};
    return n;
}

/* ---- The properties that the protocol promises ---- */

static const char *check_validity(struct world *w, int m, const uint64_t *word)
{
    if (!(~word[0] >> m & 1)) return "a member's own contribution is missing";
    for (int r = 0; r < (int)w->p; r++) {
        bool has_come = ~word[0] >> r & 1, gone = tt_accord_has_gone(word, r);
        if (gone && w->alive[r]) return "a living member is said to be gone";
        if (!gone && !has_come) return "a contribution is missing";
        if (!gone && (int)w->words > tt_accord_words((int)w->p, 0) &&
            word[w->words - w->p + (uint32_t)r] != own_of(r))
            return "a member's own word is wrong";
    }
    return NULL;
}

static const char *check_settled(struct world *w, const struct tt_accord *a)
{
    for (int r = 0; r < (int)w->p && a->settled; r++)
        if (w->alive[r] && world_member(w, r)->level < TT_ACCORD_KNOWS)
            return "settled, and a living member does not know";
    return NULL;
}

static const char *check_ended(struct world *w, int m)
{
    struct tt_accord *a = world_member(w, m);
    if (a->excluded) return "a living member is excluded";
    if (w->decided++ == 0) memcpy(w->decision, a->word, w->words * sizeof *a->word);
    if (memcmp(w->decision, a->word, w->words * sizeof *a->word) != 0)
        return "two members end with different accords";
    const char *wrong = check_settled(w, a);
    return wrong ? wrong : check_validity(w, m, a->word);
}

const char *world_check_end(struct world *w)
{
    for (int m = 0; m < (int)w->p; m++)
        if (w->alive[m] && world_member(w, m)->level != TT_ACCORD_ENDED)
            return "a living member waits for ever";
    return NULL;
}

/* ---- Carrying out an event ---- */

static void clear_queue(struct world *w, int from, int to)
{
    for (int i = 0; i < QUEUE; i++)
        memset(packet_at(w, from, to, i), 0, packet_bytes((int)w->words));
}

/* Clears the messages to member m, which nobody reads any more, so that two states that differ only
 * in such messages have equal bytes and count as one state. */
static void clear_queues_to(struct world *w, int m)
{
    for (int from = 0; from < (int)w->p; from++) clear_queue(w, from, m);
}

static const char *send_to(struct world *w, int from, int to, enum tt_accord_kind kind)
{
    struct tt_accord *a = world_member(w, from);
    int i = 0;
    if (!w->alive[to] || world_member(w, to)->level == TT_ACCORD_ENDED) return NULL;
    while (i < QUEUE && packet_at(w, from, to, i)->kind) i++;
    if (i == QUEUE) return "more messages than expected";
    struct packet *packet = packet_at(w, from, to, i);
    packet->kind = 1 + (uint64_t)kind;
    if (tt_accord_carries(kind)) memcpy(packet->word, a->word, w->words * sizeof *a->word);
    return NULL;
}

static const char *carry_out(struct world *w, enum mutant mutant, int m, struct tt_say say);

static const char *hear_early(struct world *w, enum mutant mutant, int m)
{
    const char *wrong = NULL;
    struct tt_accord *a = world_member(w, m);
    for (int r = 0; r < (int)w->p && !wrong; r++)
        if (r != m) wrong = carry_out(w, mutant, m, tt_accord_receive(a, r, TT_ACCORD_HELD, NULL));
    return wrong;
}

static const char *carry_out(struct world *w, enum mutant mutant, int m, struct tt_say say)
{
    const char *wrong = NULL;
    struct tt_accord *a = world_member(w, m);
    if (mutant == END_TOO_EARLY && say.kind == TT_ACCORD_DECIDE) a->level = TT_ACCORD_ENDED;
    for (int r = 0; r < (int)w->p && !wrong; r++) {
        bool meant = say.to == r || (say.to == TT_SAY_ALL && r != m && !tt_accord_gone(a)[r]);
        if (meant && !(mutant == RELAYS_LOST && say.kind == TT_ACCORD_RELAY))
            wrong = send_to(w, m, r, say.kind);
    }
    if (!wrong && say.to != TT_SAY_NOTHING && say.kind == TT_ACCORD_PROPOSE &&
        mutant == HELD_TOO_EARLY)
        wrong = hear_early(w, mutant, m);
    return wrong;
}

static struct tt_say deliver(struct world *w, struct event e)
{
    size_t bytes = packet_bytes((int)w->words);
    struct packet *packet = packet_at(w, e.other, e.who, e.index);
    struct tt_say say = tt_accord_receive(world_member(w, e.who), e.other,
                                          (enum tt_accord_kind)(packet->kind - 1), packet->word);
    for (int i = e.index; i + 1 < QUEUE; i++)
        memcpy(packet_at(w, e.other, e.who, i), packet_at(w, e.other, e.who, i + 1), bytes);
    memset(packet_at(w, e.other, e.who, QUEUE - 1), 0, bytes);
    return say;
}

static struct tt_say detect(struct world *w, enum mutant mutant, struct event e)
{
    struct tt_accord *a = world_member(w, e.who);
    if (mutant == FORGETS && a->level == TT_ACCORD_HOLDS) {
        a->level = TT_ACCORD_CALLED;
        a->from = -1;
    }
    clear_queue(w, e.other, e.who);
    return tt_accord_lose(a, e.other);
}

static const char *die(struct world *w, int m)
{
    w->alive[m] = 0;
    w->deaths--;
    clear_queues_to(w, m);
    return NULL;
}

const char *world_do(struct world *w, enum mutant mutant, struct event e)
{
    struct tt_accord *a = world_member(w, e.who);
    struct tt_say say = {.to = TT_SAY_NOTHING};
    enum tt_accord_level before = a->level;
    switch (e.what) {
    case DELIVER: say = deliver(w, e); break;
    case DETECT:
        say = detect(w, mutant, e);
        if (!w->begun[e.who]) say.to = TT_SAY_NOTHING;
        break;
    case BEGIN:
        w->begun[e.who] = 1;
        say = tt_accord_start(a);
        break;
    case DIE: return die(w, e.who);
    }
    const char *wrong = carry_out(w, mutant, e.who, say);
    if (wrong || before == TT_ACCORD_ENDED || a->level != TT_ACCORD_ENDED) return wrong;
    clear_queues_to(w, e.who);
    return check_ended(w, e.who);
}
