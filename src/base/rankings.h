/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rankings that a client has: the algorithms with the least predicted times, for each
 * collective and size. They are plain data that the ranks of a node share when they meet;
 * choose/estimate.h explains them.
 */
#ifndef TT_RANKINGS_DATA_H
#define TT_RANKINGS_DATA_H

#include "base/base.h"

enum {
    TT_RANKED = 6,          /* the most algorithms that a ranking has for a size */
    TT_RANKED_SIZES = 48,   /* the sizes of a ranking: 2^0 .. 2^47 bytes */
    TT_RANKINGS_MOST = 128, /* the most rankings that a client has */
    TT_RANKINGS_GIVEN = 96, /* the most rankings that may come from a file */
    TT_RANKINGS_KINDS = 64  /* the entries of `last` in struct tt_rankings */
};

/* All numbers on which a ranking depends, besides the machine model and the version of the library.
 * Two shapes are equal if all their bytes are equal. */
struct tt_ranking_shape {
    /* the bytes of a window, of the longest eager message, and of a slice */
    int64_t window, eager, slice;
    /* 0: all ranks are on one node; else a hash of the nodes of all ranks and of the call's number
     * of lanes, which is never 0. If two different distributions of ranks over nodes have the same
     * hash, which is very unlikely, they count as equal. */
    uint64_t nodes;
    int32_t radix, p, cores;
    uint8_t coll;
    uint8_t shared; /* whether all buffers can be read by plain loads */
    uint8_t reach;  /* how ranks reach each other's buffers (TT_REACHES_...) */
    uint8_t cost;   /* the cost of reading another rank's memory, as far as the ranking depends on
                     * it (choose/estimate.c) */
};
_Static_assert(sizeof(struct tt_ranking_shape) == 48, "there is no room between the members");

enum { TT_REACHES_READ = 1, TT_REACHES_WRITE = 2, TT_REACHES_LOAD = 4 };

/* The ranking of one shape. best[i] holds the algorithms with the least times, the fastest first,
 * for calls of about 2^i bytes. An entry is 1 + the index of the algorithm in tt_algorithms. An
 * entry is computed when a call needs it, which is when no algorithm before it applies to the call.
 * TT_NOT_RANKED: the entry is not computed yet. TT_NOTHING_RANKED: there are no more algorithms. */
enum { TT_NOT_RANKED = 0, TT_NOTHING_RANKED = UINT8_MAX };
struct tt_ranking {
    struct tt_ranking_shape shape;
    uint32_t computed; /* entries of `best` that this process has computed; 0 for ranks on several
                        * nodes, whose rankings no file keeps */
    uint8_t best[TT_RANKED_SIZES][TT_RANKED];
    /* with[i]: how the parameters of the algorithm in best[i][0] are set. 0: the algorithm chooses
     * them, as it always does on one node; 1 + k: tt_parameters_try sets one of them to value
     * number k */
    uint8_t with[TT_RANKED_SIZES];
};

/* The first `given` rankings come from a file, and are not replaced by other rankings. Invariants
 * (tt_rankings_valid): 0 <= given <= TT_RANKINGS_GIVEN; given <= n <= TT_RANKINGS_MOST; last[i] <=
 * n; rankings are replaced only if there is no free place: forgotten == 0 or n ==
 * TT_RANKINGS_MOST. */
struct tt_rankings {
    int32_t n, given;
    /* how many entries this process has computed in all rankings for ranks on one node, including
     * rankings that were replaced later */
    uint32_t computed;
    uint32_t forgotten; /* how many times a new ranking replaced an older one */
    /* for each collective two entries, for shapes whose `shared` is 0, and whose `shared` is 1: 1 +
     * the index of the ranking that was found last for such a shape; 0: none was found yet */
    uint8_t last[TT_RANKINGS_KINDS];
    struct tt_ranking ranking[TT_RANKINGS_MOST];
};

static inline bool tt_rankings_valid(const struct tt_rankings *r)
{
    bool valid = r->given >= 0 && r->given <= TT_RANKINGS_GIVEN && r->given <= r->n &&
                 r->n <= TT_RANKINGS_MOST && (r->forgotten == 0 || r->n == TT_RANKINGS_MOST);
    for (int i = 0; i < TT_RANKINGS_KINDS; i++) valid = valid && r->last[i] <= r->n;
    return valid;
}

#endif
