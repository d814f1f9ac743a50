/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One member's part in an agreement, as a pure function: (state, event) -> (state, what to send).
 * It knows no wire and no clock; agree.c carries what it says, and a test explores all that can
 * happen to it.
 *
 * What is agreed on, an accord, is words of 64 bits. Word 0 is combined by AND, all others by OR:
 * word 1 is what was called, then come the members that are gone, one bit each, and then words of
 * which each member fills its own.
 *
 *     member            leader: the lowest member that is not known to be gone
 *        | --- COME ----> |     here I am, this is mine
 *        | <-- PROPOSE -- |     when all the living have come: the sum of it
 *        | --- HELD ----> |
 *        | <-- DECIDE --- |     when all the living hold it
 *        | --- KNOWN ---> |
 *        | <-- END ------ |     when all the living know that it is decided
 *
 * When the leader is gone, the next one asks again for the step it is at itself, and proposes what
 * it holds if it holds something. Who knows the decision and loses its leader tells all others
 * (RELAY) and ends, and so does whoever is told so.
 *
 * Needed: who is taken for gone is gone, for good, and who is gone is sooner or later known to be
 * (a perfect failure detector: the job's page, kept by who is the parent of the ranks); messages
 * between two living members arrive, in any order. Then, however many members go and whenever:
 *
 * Uniform agreement: nobody ends with another accord than anybody else, those included that died
 * afterwards. Let c be the first leader by number that knows its proposal A to be decided. It heard
 * HELD of every member that was not gone. A leader d > c exists only once c is gone, so d lived
 * then and held A, from c; and it holds A still: a member takes a proposal only of a higher leader
 * than before, and of those between c and d the same has been said, by induction. So d proposes A
 * or nothing else.
 *
 * Validity: value is the AND, words the OR, of contributions of members, among them those of all
 * that end: a first proposal is made when every member has come that is not gone. Members in the
 * set of the gone are gone: only who found one so, put it in.
 *
 * Termination: a leader waits only for members that are not gone, each of which answers, or is
 * found to be gone. Who ends because it was told END leaves nobody behind who would need it: all
 * the living know the decision then, and each of them is told END too or, losing its leader, ends
 * by itself. Who ends by RELAY has sent it to all, before. So nobody ever asks a member that has
 * ended for anything, and a member that returned may do what it likes: it need not even look at its
 * messages.
 *
 * The scheme is the hierarchical uniform consensus of Guerraoui, found in Cachin, Guerraoui,
 * Rodrigues, "Introduction to Reliable and Secure Distributed Programming" (Springer 2011), section
 * 5.2, with a gathering of contributions before it, and its reliable broadcast of decisions made
 * lazy (section 3.3 there) by a third round, so that it costs 6 (p - 1) messages where nobody dies
 * in it. That agreement in this place is to be uniform, and what it is for: Bland, Bouteiller,
 * Herault, Bosilca, Dongarra, "Post-failure recovery of MPI communication capability", IJHPCA
 * 27(3), 2013; Buntinas, "Scalable distributed consensus to support MPI fault tolerance", IPDPS
 * 2012, has the same three rounds over a tree.
 */
#ifndef TT_ACCORD_H
#define TT_ACCORD_H

#include "base/base.h"

enum tt_accord_kind {
    TT_ACCORD_COME, /* with the accord so far */
    TT_ACCORD_PROPOSE,
    TT_ACCORD_HELD,
    TT_ACCORD_DECIDE,
    TT_ACCORD_KNOWN,
    TT_ACCORD_END,
    TT_ACCORD_RELAY,
    TT_ACCORD_KINDS
};
static inline bool tt_accord_carries(enum tt_accord_kind kind)
{
    return kind == TT_ACCORD_COME || kind == TT_ACCORD_PROPOSE || kind == TT_ACCORD_RELAY;
}

enum tt_accord_level { TT_ACCORD_CALLED, TT_ACCORD_HOLDS, TT_ACCORD_KNOWS, TT_ACCORD_ENDED };

/* What this member, as the leader, knows to have received from another member. At each level the
 * leader waits until all members have sent more than that level. */
enum tt_accord_told { TT_TOLD_NOTHING, TT_TOLD_COME, TT_TOLD_HELD, TT_TOLD_KNOWN };

/* Plain data of tt_accord_bytes(), to be copied as it is. Invariants: leader is the lowest member
 * with !gone; from < 0 while level is CALLED; gone[me] is false. */
struct tt_accord {
    int p, me, words;
    int leader;
    int from; /* whose proposal is held */
    enum tt_accord_level level;
    bool settled;    /* ended, and every living member knew the decision before */
    bool excluded;   /* ended without one: another member takes this one for gone */
    uint64_t word[]; /* the accord; then a byte told and a byte gone for each member */
};

/* A message to send: the accord, if the kind carries one, to member `to` or to all members that are
 * not gone. */
enum { TT_SAY_ALL = -1, TT_SAY_NOTHING = -2 };
struct tt_say {
    int to;
    enum tt_accord_kind kind;
};

/* The size of an accord in which each member has so many words of its own, which follow each other
 * in the order of members. */
static inline int tt_accord_sets(int p)
{
    return (int)tt_div_up(p, 64);
}
static inline int tt_accord_words(int p, int own)
{
    return 2 + tt_accord_sets(p) + own * p;
}
static inline size_t tt_accord_bytes(int p, int words)
{
    return sizeof(struct tt_accord) + (size_t)words * sizeof(uint64_t) + 2 * (size_t)p;
}

static inline unsigned char *tt_accord_told(struct tt_accord *a)
{
    return (unsigned char *)(a->word + a->words);
}
static inline unsigned char *tt_accord_gone(struct tt_accord *a)
{
    return tt_accord_told(a) + a->p;
}
static inline uint64_t *tt_accord_own(struct tt_accord *a)
{
    return a->word + 2 + tt_accord_sets(a->p);
}
/* Whether an accord has it that a member is gone. */
static inline bool tt_accord_has_gone(const uint64_t *word, int r)
{
    return word[2 + r / 64] >> (r % 64) & 1;
}

/* Member me of p begins: the words are zero but for value and what; the caller fills in its own
 * before the next. */
void tt_accord_init(struct tt_accord *a, int p, int me, int words, uint64_t value, uint64_t what);
struct tt_say tt_accord_start(struct tt_accord *a);
/* Member r was found to be gone. To be told once it is known, also between init and start. */
struct tt_say tt_accord_lose(struct tt_accord *a, int r);
/* A message of member r; word[words] where the kind carries an accord. */
struct tt_say tt_accord_hear(struct tt_accord *a, int r, enum tt_accord_kind kind,
                             const uint64_t *word);

#endif
