/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state machine of an agreement; accord.h argues why it is right.
 */
#include "recover/accord.h"

#include <string.h>

static const struct tt_say nothing = {.to = TT_SAY_NOTHING};

static struct tt_say say(int to, enum tt_accord_kind kind)
{
    return (struct tt_say){.to = to, .kind = kind};
}

void tt_accord_init(struct tt_accord *a, int p, int me, int words, uint64_t value, uint64_t what)
{
    memset(a, 0, tt_accord_bytes(p, words));
    *a = (struct tt_accord){.p = p, .me = me, .words = words, .from = -1};
    a->word[0] = value;
    a->word[1] = what;
}

bool tt_accord_valid(struct tt_accord *a)
{
    const unsigned char *gone = tt_accord_gone(a);
    bool valid = !gone[a->me] && (a->from < 0 || a->level != TT_ACCORD_CALLED);
    if (a->level == TT_ACCORD_ENDED) return valid;
    for (int r = 0; r <= a->leader; r++) valid = valid && (r == a->leader) == !gone[r];
    return valid;
}

/* Returns `next`. Each public function that returns a message ends with a call of this function, in
 * which debug builds check that the state is valid. */
static struct tt_say checked(struct tt_accord *a, struct tt_say next)
{
    tt_assert(tt_accord_valid(a));
    (void)a;
    return next;
}

/* ---- The leader ---- */

static bool received_from_all(struct tt_accord *a, enum tt_accord_level level)
{
    const unsigned char *received = tt_accord_received(a), *gone = tt_accord_gone(a);
    for (int r = 0; r < a->p; r++)
        if (r != a->me && !gone[r] && received[r] <= (unsigned char)level) return false;
    return true;
}

static bool is_alone(struct tt_accord *a)
{
    const unsigned char *gone = tt_accord_gone(a);
    for (int r = 0; r < a->p; r++)
        if (r != a->me && !gone[r]) return false;
    return true;
}

static struct tt_say propose(struct tt_accord *a)
{
    a->from = a->me;
    return say(TT_SAY_ALL, TT_ACCORD_PROPOSE);
}

/* Proposes the combination of the words of all members that have come, and first sets the bits of
 * the members that are gone. */
static struct tt_say propose_first(struct tt_accord *a)
{
    const unsigned char *gone = tt_accord_gone(a);
    for (int r = 0; r < a->p; r++)
        if (gone[r]) a->word[2 + r / 64] |= UINT64_C(1) << (r % 64);
    return propose(a);
}

static struct tt_say go_up(struct tt_accord *a)
{
    a->level++;
    if (a->level == TT_ACCORD_HOLDS) return propose_first(a);
    if (a->level == TT_ACCORD_KNOWS) return say(TT_SAY_ALL, TT_ACCORD_DECIDE);
    a->settled = true;
    return say(TT_SAY_ALL, TT_ACCORD_END);
}

/* Moves the leader up as many levels (enum tt_accord_level) as the answers allow, and returns the
 * message of the level that it reaches. While other members are alive, this is at most one level,
 * because the leader needs their answers to this message before it can move up again. A leader that
 * is alone moves up to ENDED and sends nothing. */
static struct tt_say lead(struct tt_accord *a)
{
    struct tt_say last = nothing;
    if (a->level == TT_ACCORD_HOLDS && a->from != a->me) last = propose(a);
    while (a->level < TT_ACCORD_ENDED && received_from_all(a, a->level)) last = go_up(a);
    return is_alone(a) ? nothing : last;
}

/* ---- Any member ---- */

static struct tt_say relay(struct tt_accord *a)
{
    a->level = TT_ACCORD_ENDED;
    return say(TT_SAY_ALL, TT_ACCORD_RELAY);
}

static struct tt_say meet_leader(struct tt_accord *a)
{
    const unsigned char *gone = tt_accord_gone(a);
    a->leader = 0;
    while (gone[a->leader]) a->leader++;
    return a->leader == a->me ? lead(a) : say(a->leader, TT_ACCORD_COME);
}

struct tt_say tt_accord_start(struct tt_accord *a)
{
    return checked(a, meet_leader(a));
}

static struct tt_say lose(struct tt_accord *a, int r)
{
    unsigned char *gone = tt_accord_gone(a);
    if (gone[r] || r == a->me || a->level == TT_ACCORD_ENDED) return nothing;
    gone[r] = 1;
    if (a->level == TT_ACCORD_KNOWS && r == a->from) return relay(a);
    if (r == a->leader) return meet_leader(a);
    return a->leader == a->me ? lead(a) : nothing;
}

struct tt_say tt_accord_lose(struct tt_accord *a, int r)
{
    return checked(a, lose(a, r));
}

static void take(struct tt_accord *a, const uint64_t *word)
{
    memcpy(a->word, word, (size_t)a->words * sizeof *word);
}

static void add(struct tt_accord *a, const uint64_t *word)
{
    a->word[0] &= word[0];
    for (int i = 1; i < a->words; i++) a->word[i] |= word[i];
}

/* Handles COME from member r, with the words of r. A leader that already holds a proposal does not
 * add these words. */
static struct tt_say hear_come(struct tt_accord *a, int r, const uint64_t *word)
{
    unsigned char *received = tt_accord_received(a);
    if (received[r] == TT_RECEIVED_NOTHING) received[r] = TT_RECEIVED_COME;
    if (a->level == TT_ACCORD_CALLED) add(a, word);
    return a->leader == a->me ? lead(a) : nothing;
}

static struct tt_say hear_proposal(struct tt_accord *a, int r, const uint64_t *word)
{
    if (a->level > TT_ACCORD_HOLDS || r <= a->from) return nothing;
    take(a, word);
    a->level = TT_ACCORD_HOLDS;
    a->from = r;
    return say(r, TT_ACCORD_HELD);
}

/* Handles member r's answer to the message that this leader sent when it reached level `to`. */
static struct tt_say hear_answer(struct tt_accord *a, int r, enum tt_accord_level to,
                                 enum tt_accord_received received)
{
    if (a->from != a->me || a->level != to) return nothing;
    tt_accord_received(a)[r] = (unsigned char)received;
    return lead(a);
}

static struct tt_say hear_decision(struct tt_accord *a, int r)
{
    if (a->level != TT_ACCORD_HOLDS || a->from != r) return nothing;
    a->level = TT_ACCORD_KNOWS;
    return say(r, TT_ACCORD_KNOWN);
}

static struct tt_say hear_end(struct tt_accord *a, int r)
{
    if (a->level != TT_ACCORD_KNOWS || a->from != r) return nothing;
    a->level = TT_ACCORD_ENDED;
    a->settled = true;
    return nothing;
}

/* Ends the agreement for this member, because another member takes it for gone. A failure detector
 * can be wrong: in a network that was cut in two halves, each half takes the other half for gone. A
 * member that was left out must neither continue with the team nor wait for ever. */
static struct tt_say leave_out(struct tt_accord *a)
{
    a->level = TT_ACCORD_ENDED;
    a->excluded = true;
    return nothing;
}

static struct tt_say receive(struct tt_accord *a, int r, enum tt_accord_kind kind,
                             const uint64_t *word)
{
    if (tt_accord_gone(a)[r] || a->level == TT_ACCORD_ENDED) return nothing;
    if (tt_accord_carries(kind) && tt_accord_has_gone(word, a->me)) return leave_out(a);
    switch (kind) {
    case TT_ACCORD_COME: return hear_come(a, r, word);
    case TT_ACCORD_PROPOSE: return hear_proposal(a, r, word);
    case TT_ACCORD_HELD: return hear_answer(a, r, TT_ACCORD_HOLDS, TT_RECEIVED_HELD);
    case TT_ACCORD_DECIDE: return hear_decision(a, r);
    case TT_ACCORD_KNOWN: return hear_answer(a, r, TT_ACCORD_KNOWS, TT_RECEIVED_KNOWN);
    case TT_ACCORD_END: return hear_end(a, r);
    case TT_ACCORD_RELAY: take(a, word); return relay(a);
    case TT_ACCORD_KINDS: break;
    }
    return nothing;
}

struct tt_say tt_accord_receive(struct tt_accord *a, int r, enum tt_accord_kind kind,
                                const uint64_t *word)
{
    return checked(a, receive(a, r, kind, word));
}
