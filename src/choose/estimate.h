/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice by estimate: the algorithm with the least predicted time. Algorithms are ranked by
 * their times for a call that stands for all calls of a collective with about as many bytes: the
 * next power of two of bytes, of doubles that are summed, or of plain bytes. So what is chosen for
 * a call does not depend on the calls before it.
 */
#ifndef TT_ESTIMATE_H
#define TT_ESTIMATE_H

#include "coll/coll.h"

enum { TT_RANKED = 6, TT_RANKED_SIZES = 48 };

/* The algorithms with the least times, the fastest first, as indices of tt_algorithms + 1. A place
 * is TT_NOT_RANKED until a call needs it, because all algorithms before it do not apply to that
 * call; TT_NOTHING_RANKED: there are no more. By collective, by whether the buffers are loadable,
 * and by the logarithm of the bytes. */
enum { TT_NOT_RANKED = 0, TT_NOTHING_RANKED = UINT8_MAX };
struct tt_rankings {
    uint8_t best[TT_COLLS][2][TT_RANKED_SIZES][TT_RANKED];
};

/* Returns the first of the ranked algorithms that applies to the call; NULL: no time can be
 * predicted (predict.h), or none of the ranked algorithms applies. `kept` keeps the rankings of a
 * team; NULL: nothing is kept. */
const struct tt_algorithm *tt_estimate(struct tt_rankings *kept, const struct tt_call *call,
                                       const struct tt_map *map);
/* Adds to the n candidates the other algorithms whose predicted time for this call is less than
 * twice the least one, the fastest first, as long as there are fewer than `most`. Returns how many
 * candidates there are then; 0: no time can be predicted. */
int tt_estimate_near(const struct tt_call *call, const struct tt_map *map,
                     const struct tt_algorithm **candidate, int n, int most);

#endif
