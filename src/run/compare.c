/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comparing the calls of two ranks, and the texts of the errors that say how they differ.
 */
#include "run/compare.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "run/remote.h"
#include "run/roll.h"

/* Returns the member's k-th call as long as its slot holds it; else NULL. */
static const struct tt_call_signature *signature_of(const struct tt_team *t, int rank, uint64_t k)
{
    int slot = tt_team_slot(t, k);
    const struct tt_signal_line *line = tt_team_line(t, rank, slot);
    uint64_t mark = atomic_load_explicit(&line->shape, memory_order_acquire);
    return mark >> 32 == tt_team_base(t, k) >> 32 ? tt_team_signature(t, rank, slot) : NULL;
}

static bool differs(const struct tt_team *t, int peer, uint64_t k)
{
    const struct tt_call_signature *theirs = signature_of(t, peer, k),
                                   *mine = signature_of(t, t->me, k);
    return theirs && mine && theirs->print != mine->print;
}

char *tt_compare_which_team(const struct tt_team *t, char *text, size_t n)
{
    int other = 0;
    char names[64];
    bool *picked = tt_calloc((size_t)t->fabric->size, sizeof *picked);
    for (int r = 0; r < t->map.p && picked; r++) {
        picked[t->job_rank[r]] = true;
        other += t->job_rank[r] != r;
    }
    text[0] = '\0';
    if (other > 0)
        snprintf(text, n, " (on the team of %s; a root is a rank of the team)",
                 tt_roll_names(picked, t->fabric->size, names, sizeof names));
    tt_free(picked);
    return text;
}

/* Returns the number of the first call, up to execution `now`, in which the calls of the member and
 * of this rank are known to differ, or `now` if no such call is known. */
static uint64_t first_difference(const struct tt_team *t, uint64_t now, int peer)
{
    uint64_t k = now >= t->slots ? now - t->slots + 1 : 0;
    while (k < now && !differs(t, peer, k)) k++;
    return k;
}

bool tt_compare_knows(const struct tt_team *t, uint64_t number, int rank)
{
    return differs(t, rank, first_difference(t, number, rank));
}

/* Returns MISMATCH with a text that does not name the calls that differ, because they are older
 * than the calls of the member that this rank still knows. */
static tutti_status differed_earlier(const struct tt_team *t, uint64_t now, int peer)
{
    char mine[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT];
    tt_signature_text(tt_team_signature(t, t->me, tt_team_slot(t, now)), mine, sizeof mine);
    return tt_fail(
        TUTTI_ERR_MISMATCH, "rank %d called %s after calls that did not match those of rank %d%s",
        t->job_rank[t->me], mine, t->job_rank[peer], tt_compare_which_team(t, team, sizeof team));
}

/* The error names the first call that differs, in execution `now` or before. A rank that waits for
 * nobody in a call may notice a mismatch only in a later call. If both calls have the same text,
 * they differ in counts that the text does not show, or in the algorithm, because a setting differs
 * between the ranks. */
tutti_status tt_compare_mismatch(const struct tt_team *t, uint64_t now, int peer)
{
    uint64_t k = first_difference(t, now, peer);
    char theirs[TT_SIGNATURE_TEXT], mine[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT];
    int one = t->job_rank[peer], me = t->job_rank[t->me];
    int slot = tt_team_slot(t, k);
    if (!differs(t, peer, k)) return differed_earlier(t, now, peer);
    tt_signature_text(tt_team_signature(t, peer, slot), theirs, sizeof theirs);
    tt_signature_text(tt_team_signature(t, t->me, slot), mine, sizeof mine);
    if (strcmp(theirs, mine) != 0)
        return tt_fail(TUTTI_ERR_MISMATCH, "rank %d called %s where rank %d called %s%s", one,
                       theirs, me, mine, tt_compare_which_team(t, team, sizeof team));
    enum tt_coll coll = (enum tt_coll)tt_team_signature(t, t->me, slot)->coll;
    bool counts = coll == TT_COLL_allgatherv || coll == TT_COLL_reduce_scatter;
    return tt_fail(TUTTI_ERR_MISMATCH, "ranks %d and %d called %s, but %s%s", one, me, mine,
                   counts ? "with different counts or by different algorithms"
                          : "by different algorithms (is TUTTI_ALGORITHM the same on all ranks?)",
                   tt_compare_which_team(t, team, sizeof team));
}

/* Converts bytes to elements of the user's type, which may be derived or basic. */
static long long elements(const struct tt_call_signature *w, int64_t bytes)
{
    int64_t sz = w->element;
    if (sz == 0 && (unsigned)w->type < TUTTI_TYPES)
        sz = (int64_t)tutti_type_size((tutti_type)w->type);
    return sz > 0 ? bytes / sz : bytes;
}

tutti_status tt_compare_uneven(const struct tt_team *t, uint64_t number, int from, int to,
                               int64_t sent, int64_t expected)
{
    const struct tt_call_signature *w = tt_team_signature(t, t->me, tt_team_slot(t, number));
    enum tt_coll coll = (enum tt_coll)w->coll;
    char type[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT], out[32], in[32];
    int giver = t->job_rank[from], taker = t->job_rank[to];
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "%s: rank %d sends rank %d n=%lld of %s%s where rank %d expects n=%lld%s%s",
                   tt_coll_pairs(coll) ? tt_signature_name(w) : "an exchange", giver, taker,
                   elements(w, sent), tt_signature_type(w, type, sizeof type),
                   tt_signature_argument(w, true, to, out, sizeof out), taker,
                   elements(w, expected), tt_signature_argument(w, false, from, in, sizeof in),
                   tt_compare_which_team(t, team, sizeof team));
}

/* Returns whether the counts of member r can still be read. A member of this node that has left the
 * job may have freed the memory of its counts. In this case r or this rank has compared the counts
 * before r left. */
static bool keeps_counts(const struct tt_team *t, int r)
{
    const struct tt_fabric *f = t->fabric;
    return tt_team_is_remote(t, r) ||
           tt_common_state(f->job, f->common, t->job_rank[r]) != TT_RANK_LEFT;
}

/* Returns MISMATCH for a call in which the contents that member `from` sends to member `to` are not
 * those that `to` expects. If the descriptions of both are equal, the pieces differ in how they are
 * divided or ordered, and the error says so. */
static tutti_status unlike(const struct tt_team *t, uint64_t number, int from, int to,
                           const struct tt_contents *sent, const struct tt_contents *expected)
{
    const struct tt_call_signature *w = tt_team_signature(t, t->me, tt_team_slot(t, number));
    char one[TT_SIGNATURE_TEXT], other[TT_SIGNATURE_TEXT], team[TT_WHICH_TEXT], out[32], in[32];
    int giver = t->job_rank[from], taker = t->job_rank[to];
    tt_signature_contents(sent, sent->type == w->type ? w->element : 0, one, sizeof one);
    tt_signature_contents(expected, expected->type == w->type ? w->element : 0, other,
                          sizeof other);
    bool alike = strcmp(one, other) == 0;
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "%s: rank %d sends rank %d %s%s where rank %d expects %s%s%s%s",
                   tt_signature_name(w), giver, taker, one,
                   tt_signature_argument(w, true, to, out, sizeof out), taker, other,
                   tt_signature_argument(w, false, from, in, sizeof in),
                   alike ? ", but divided or ordered in another way" : "",
                   tt_compare_which_team(t, team, sizeof team));
}

static bool same_contents(const struct tt_contents *a, const struct tt_contents *b)
{
    return a->hash == b->hash && a->bytes == b->bytes;
}

/* Returns whether a later execution has replaced the entries (segment entries or contents) that
 * this rank and member r wrote for each other in this execution. The slots may then still hold the
 * calls of this execution, because there may be more slots than windows, and entries exist only
 * once for each window. There is nothing left to compare: both ranks have ended this execution
 * before the later one began, and one of them has compared the entries. A mirror has an entry for
 * each slot, so a remote member's entry is not replaced before its call is. */
static bool are_replaced(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    return !tt_team_is_remote(t, r) && (tt_team_segment(t, t->me, slot, r)->begun > number + 1 ||
                                        tt_team_segment(t, r, slot, t->me)->begun > number + 1);
}

/* Compares the contents of the pieces that this rank and member r have for each other. If the
 * member is on another node, its contents came with each of its messages in this execution. */
static tutti_status compare_contents(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    if (tt_team_begun_last(t, r, slot) != tt_team_base(t, number) >> 32) return TUTTI_OK;
    const struct tt_contents *theirs = tt_team_contents(t, r, slot, t->me);
    const struct tt_contents *mine = tt_team_contents(t, t->me, slot, r);
    bool sent = same_contents(&mine[TT_IN], &theirs[TT_OUT]);
    if ((sent && same_contents(&theirs[TT_IN], &mine[TT_OUT])) || !keeps_counts(t, r) ||
        are_replaced(t, number, r))
        return TUTTI_OK;
    if (!sent) return unlike(t, number, t->me, r, &mine[TT_IN], &theirs[TT_OUT]);
    return unlike(t, number, r, t->me, &theirs[TT_IN], &mine[TT_OUT]);
}

/* Sets how many bytes `rank` has for the peer (in bytes[TT_IN]) and expects from the peer (in
 * bytes[TT_OUT]), in the call that is in the slot. words: the two ranks have words for each other
 * (tt_team_word). */
static void bytes_of_pair(const struct tt_team *t, int rank, int slot, int peer, bool words,
                          int64_t bytes[2])
{
    uint32_t word = words ? *tt_team_word(t, rank, slot, peer) : TT_PAIR_UNFIT;
    if (word != TT_PAIR_UNFIT)
        tt_pair_bytes(word, bytes);
    else
        memcpy(bytes, tt_team_segment(t, rank, slot, peer)->bytes, 2 * sizeof *bytes);
}

/* Returns whether this rank and member r may have pieces for each other in this call of pairs. If
 * not, the words and segment entries that the two ranks have for each other may belong to an
 * earlier call, and must not be compared. In a gatherv or scatterv, one of the two ranks must be
 * the root. In a neighbourhood collective, this rank must have written an entry for r in this
 * execution; then r has written one, too. */
static bool are_partners(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    const struct tt_call_signature *w = tt_team_signature(t, t->me, slot);
    if (tt_coll_has_root((enum tt_coll)w->coll)) return t->me == w->root || r == w->root;
    return !tt_signature_neighbors(w) || tt_team_segment(t, t->me, slot, r)->begun == number + 1;
}

/* Compares the numbers of bytes that this rank and member r have for each other. */
static tutti_status compare_bytes(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    int64_t mine[2], theirs[2];
    bool words = tt_team_has_words(t, r);
    bytes_of_pair(t, t->me, slot, r, words, mine);
    bytes_of_pair(t, r, slot, t->me, words, theirs);
    bool same = theirs[TT_OUT] == mine[TT_IN] && theirs[TT_IN] == mine[TT_OUT];
    if (tt_likely(same) || !keeps_counts(t, r) || are_replaced(t, number, r)) return TUTTI_OK;
    if (theirs[TT_OUT] != mine[TT_IN])
        return tt_compare_uneven(t, number, t->me, r, mine[TT_IN], theirs[TT_OUT]);
    return tt_compare_uneven(t, number, r, t->me, theirs[TT_IN], mine[TT_OUT]);
}

/* Reads the counts that both ranks published for each other when they began the call. The execution
 * may have ended on this rank. If the words of the two ranks (tt_team_word) agree, the function
 * looks at nothing else. */
tutti_status tt_compare_pair(const struct tt_team *t, uint64_t number, int r)
{
    int slot = tt_team_slot(t, number);
    const struct tt_call_signature *w = tt_team_signature(t, t->me, slot);
    if (!tt_coll_pairs((enum tt_coll)w->coll) || r == t->me) return TUTTI_OK;
    if (tt_team_words_agree(t, slot, r) || !are_partners(t, number, r)) return TUTTI_OK;
    if (tt_unlikely(w->flags & TT_SIGNATURE_CONTENTS)) return compare_contents(t, number, r);
    if (tt_team_is_remote(t, r) && !tt_remote_has_opened(t, r, number)) return TUTTI_OK;
    return compare_bytes(t, number, r);
}

tutti_status tt_compare_call(const struct tt_team *t, uint64_t number, int rank)
{
    const int slot = tt_team_slot(t, number);
    const uint64_t begun = tt_team_base(t, number) >> 32;
    uint64_t mine =
        atomic_load_explicit(&tt_team_line(t, t->me, slot)->shape, memory_order_relaxed);
    uint64_t mark = atomic_load_explicit(&tt_team_line(t, rank, slot)->shape, memory_order_acquire);
    if (mine >> 32 != begun || mark >> 32 != begun) return TUTTI_OK;
    return mark == mine ? tt_compare_pair(t, number, rank) : tt_compare_mismatch(t, number, rank);
}
