/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One member's part in an agreement of the members of a team, as a pure function: (state, event) ->
 * (state, what to send). It uses no network and no clock. agree.c has the messages sent, and a test
 * explores all that can happen to a member.
 *
 * An accord is the value on which the members agree: words of 64 bits. Word 0 is combined by AND,
 * all others by OR. Word 1 says which functions the members called (enum tt_agree_what). The next
 * words have one bit for each member, which is set if that member is gone: it has failed or left.
 * Each of the remaining words belongs to one member, which sets it.
 *
 *     member            leader: the lowest member that is not known to be gone
 *        | --- COME ----> |     here I am, with my words
 *        | <-- PROPOSE -- |     when all living members have come: the combination of their words
 *        | --- HELD ----> |
 *        | <-- DECIDE --- |     when all living members hold it
 *        | --- KNOWN ---> |
 *        | <-- END ------ |     when all living members know that it is decided
 *
 * When the leader is gone, the next leader repeats the step that it has reached itself. If it holds
 * a proposal, it proposes the same accord. A member that knows the decision and loses its leader
 * sends the decision to all other members (RELAY) and ends; a member that receives RELAY does the
 * same.
 *
 * Assumptions. A member that another member takes for gone is gone for good, and every member that
 * is gone is sooner or later known to be gone (a perfect failure detector: the job's page, which
 * the parent of the ranks keeps). Messages between two living members arrive, in any order. Under
 * these assumptions the following holds, however many members die or leave, and whenever:
 *
 * Uniform agreement: no two members end with different accords, including members that die
 * afterwards. Let c be the first leader by number that knows its proposal A to be decided. It
 * received HELD from every member that was not gone. A member d > c becomes leader only when c is
 * gone. So d was not gone when c received HELD, and had accepted A. And d still holds A: a member
 * accepts a proposal only from a higher leader than before, and the leaders between c and d
 * proposed A as well, by induction. So d proposes nothing but A.
 *
 * Validity: word 0 is the AND, and each other word the OR, of contributions of members. Every
 * member that ends with the accord has contributed, because a first proposal is made only when
 * every member that is not gone has come. Every member whose bit is set is gone, because only a
 * member that found it to be gone has set the bit.
 *
 * Termination: a leader waits only for members that are not gone, and each of them answers or is
 * found to be gone. When a member ends because of END, no other member needs it any more: all
 * living members know the decision then, and each of them also receives END, or loses its leader
 * and ends by itself. A member that ends by RELAY has sent the decision to all others before. So no
 * member ever needs an answer of a member that has ended, and a member whose call has returned need
 * not read its messages.
 *
 * The scheme is the hierarchical uniform consensus of Guerraoui, found in Cachin, Guerraoui,
 * Rodrigues, "Introduction to Reliable and Secure Distributed Programming" (Springer 2011), section
 * 5.2, with a gathering of contributions before it. Its reliable broadcast of decisions is made
 * lazy (section 3.3 of the book) by a third round, so that an agreement of p members costs 6 (p -
 * 1) messages if none of them dies during it. Why such an agreement must be uniform, and what it is
 * for: Bland, Bouteiller, Herault, Bosilca, Dongarra, "Post-failure recovery of MPI communication
 * capability", IJHPCA 27(3), 2013. Buntinas, "Scalable distributed consensus to support MPI fault
 * tolerance", IPDPS 2012, has the same three rounds over a tree.
 */
#ifndef TT_ACCORD_H
#define TT_ACCORD_H

#include "base/base.h"

/* The kinds of messages, as in the picture above. */
enum tt_accord_kind {
    TT_ACCORD_COME, /* carries the sender's accord so far */
    TT_ACCORD_PROPOSE,
    TT_ACCORD_HELD,
    TT_ACCORD_DECIDE,
    TT_ACCORD_KNOWN,
    TT_ACCORD_END,
    TT_ACCORD_RELAY,
    TT_ACCORD_KINDS
};
/* Returns whether messages of this kind carry the accord. */
static inline bool tt_accord_carries(enum tt_accord_kind kind)
{
    return kind == TT_ACCORD_COME || kind == TT_ACCORD_PROPOSE || kind == TT_ACCORD_RELAY;
}

/* How far a member is. CALLED: it has no proposal yet. HOLDS: it holds a proposal. KNOWS: it knows
 * that the proposal is decided. ENDED: it needs no more messages. */
enum tt_accord_level { TT_ACCORD_CALLED, TT_ACCORD_HOLDS, TT_ACCORD_KNOWS, TT_ACCORD_ENDED };

/* The last answer that a leader has received from another member. A leader goes from its level
 * (enum tt_accord_level) to the next one when, for every member that is not gone, this value is
 * greater, as a number, than the leader's level. */
enum tt_accord_received {
    TT_RECEIVED_NOTHING,
    TT_RECEIVED_COME,
    TT_RECEIVED_HELD,
    TT_RECEIVED_KNOWN
};

/* The state of a member: plain data of tt_accord_bytes(), which may be copied as it is. Invariants
 * (tt_accord_valid): until `level` is ENDED, `leader` is the lowest member that is not gone; `from`
 * is negative while `level` is CALLED; gone[me] is false. */
struct tt_accord {
    int p, me, words;
    int leader;
    int from; /* the member whose proposal this member holds; -1: it holds none */
    enum tt_accord_level level;
    bool settled; /* this member has ended after every living member knew the decision */
    /* this member has ended without an accord, because another member takes it for gone */
    bool excluded;
    uint64_t word[]; /* the accord; after it the arrays tt_accord_received and tt_accord_gone */
};

bool tt_accord_valid(struct tt_accord *accord);

/* A message to send to member `to`, or, for TT_SAY_ALL, to all members that are not gone. The
 * message carries the accord if tt_accord_carries(kind). TT_SAY_NOTHING: there is no message. */
enum { TT_SAY_ALL = -1, TT_SAY_NOTHING = -2 };
struct tt_say {
    int to;
    enum tt_accord_kind kind;
};

/* tt_accord_sets returns how many words have one bit for each of p members. tt_accord_words returns
 * the number of all words of an accord of p members, each of which contributes `own` words.
 * tt_accord_bytes returns the bytes of a struct tt_accord with an accord of `words` words. */
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

/* Return arrays with a byte for each member. The bytes of tt_accord_received say which answer came
 * last from the member (enum tt_accord_received). Those of tt_accord_gone say whether the member is
 * gone. */
static inline unsigned char *tt_accord_received(struct tt_accord *a)
{
    return (unsigned char *)(a->word + a->words);
}
static inline unsigned char *tt_accord_gone(struct tt_accord *a)
{
    return tt_accord_received(a) + a->p;
}
/* Returns the words that the members contribute, in the order of the members. */
static inline uint64_t *tt_accord_own(struct tt_accord *a)
{
    return a->word + 2 + tt_accord_sets(a->p);
}
/* Returns whether the accord `word` says that member r is gone. */
static inline bool tt_accord_has_gone(const uint64_t *word, int r)
{
    return word[2 + r / 64] >> (r % 64) & 1;
}

/* Initializes the state of member `me` of p. `value` is word 0 of the accord, `what` is word 1, and
 * the other words become zero; the caller fills in its own words (tt_accord_own) before it calls
 * another function. */
void tt_accord_init(struct tt_accord *a, int p, int me, int words, uint64_t value, uint64_t what);
/* Begins the agreement, after tt_accord_init. This function and the next two return the message to
 * send; its `to` is TT_SAY_NOTHING if there is none. */
struct tt_say tt_accord_start(struct tt_accord *a);
/* Handles the event that member r is gone. The caller calls this as soon as it knows, also between
 * tt_accord_init and tt_accord_start. */
struct tt_say tt_accord_lose(struct tt_accord *a, int r);
/* Handles a message from member r. If messages of this kind carry an accord, word[words] holds it.
 */
struct tt_say tt_accord_receive(struct tt_accord *a, int r, enum tt_accord_kind kind,
                                const uint64_t *word);

#endif
