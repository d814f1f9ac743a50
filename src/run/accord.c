/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agreement's steps; accord.h argues why they are right.
 */
#include "run/accord.h"

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

/* ---- As leader ---- */

static bool all_have_told(struct tt_accord *a, enum tt_accord_level level)
{
    const unsigned char *told = tt_accord_told(a), *gone = tt_accord_gone(a);
    for (int r = 0; r < a->p; r++)
        if (r != a->me && !gone[r] && told[r] <= (unsigned char)level) return false;
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

/* The sum of what has come, and who is gone. */
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

/* Goes as far as the others have. With somebody to hear it, what is said is the only thing to say:
 * the answers are still to come. */
static struct tt_say lead(struct tt_accord *a)
{
    struct tt_say last = nothing;
    if (a->level == TT_ACCORD_HOLDS && a->from != a->me) last = propose(a);
    while (a->level < TT_ACCORD_ENDED && all_have_told(a, a->level)) last = go_up(a);
    return is_alone(a) ? nothing : last;
}

/* ---- As anybody ---- */

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
    return meet_leader(a);
}

struct tt_say tt_accord_lose(struct tt_accord *a, int r)
{
    unsigned char *gone = tt_accord_gone(a);
    if (gone[r] || r == a->me || a->level == TT_ACCORD_ENDED) return nothing;
    gone[r] = 1;
    if (a->level == TT_ACCORD_KNOWS && r == a->from) return relay(a);
    if (r == a->leader) return meet_leader(a);
    return a->leader == a->me ? lead(a) : nothing;
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

/* A leader that holds a proposal already adds nothing to it. */
static struct tt_say hear_come(struct tt_accord *a, int r, const uint64_t *word)
{
    unsigned char *told = tt_accord_told(a);
    if (told[r] == TT_TOLD_NOTHING) told[r] = TT_TOLD_COME;
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

/* An answer to the step this leader is at. */
static struct tt_say hear_answer(struct tt_accord *a, int r, enum tt_accord_level to,
                                 enum tt_accord_told told)
{
    if (a->from != a->me || a->level != to) return nothing;
    tt_accord_told(a)[r] = (unsigned char)told;
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

/* Where the detector is not what it should be (two halves of a cut network), some take others for
 * gone that are not: these must not go on as if they were still of the team, nor wait for ever. */
static struct tt_say leave_out(struct tt_accord *a)
{
    a->level = TT_ACCORD_ENDED;
    a->excluded = true;
    return nothing;
}

struct tt_say tt_accord_hear(struct tt_accord *a, int r, enum tt_accord_kind kind,
                             const uint64_t *word)
{
    if (tt_accord_gone(a)[r] || a->level == TT_ACCORD_ENDED) return nothing;
    if (tt_accord_carries(kind) && tt_accord_has_gone(word, a->me)) return leave_out(a);
    switch (kind) {
    case TT_ACCORD_COME: return hear_come(a, r, word);
    case TT_ACCORD_PROPOSE: return hear_proposal(a, r, word);
    case TT_ACCORD_HELD: return hear_answer(a, r, TT_ACCORD_HOLDS, TT_TOLD_HELD);
    case TT_ACCORD_DECIDE: return hear_decision(a, r);
    case TT_ACCORD_KNOWN: return hear_answer(a, r, TT_ACCORD_KNOWS, TT_TOLD_KNOWN);
    case TT_ACCORD_END: return hear_end(a, r);
    case TT_ACCORD_RELAY: take(a, word); return relay(a);
    case TT_ACCORD_KINDS: break;
    }
    return nothing;
}
