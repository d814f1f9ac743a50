/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice by estimate: the algorithm with the least predicted time. But the table (table.h)
 * comes from measured times, and predicted times are wrong by some 20 %. So the algorithm that the
 * table chooses is left only for one with a predicted time that is less by a fifth
 * (TT_ESTIMATE_FAVOUR).
 *
 * Algorithms are ranked by their times for a call that stands for all calls of a collective with
 * about as many bytes: it has the next power of two of bytes, and sums doubles, or moves plain
 * bytes if the collective has no operation. So what is chosen for a call does not depend on the
 * calls before it. The algorithm that is favoured is that of the table for this stand-in. If it
 * wins, the call runs by the table's choice for the call itself.
 *
 * Why all ranks of a team choose alike. A place in a ranking is a function of the model, the shape
 * (struct tt_ranking_shape) and the places before it, and all of these are the same on all ranks of
 * a team. Some places may come from a file (choose/rankings.h), and a file can be wrong, or change
 * between two reads. But a file has rankings of teams on one node only, and on each node one rank
 * reads a file, once, and gives what it has found to all ranks of the node when they meet. So all
 * ranks of a team begin with the same places (with none, if the team is on several nodes), and
 * compute the same algorithm for a place that is missing. A rank never drops a ranking that it was
 * given. If it drops one that it has computed, it computes the same ranking again when it needs it.
 */
#ifndef TT_ESTIMATE_H
#define TT_ESTIMATE_H

#include "base/rankings.h"
#include "coll/coll.h"

/* The predicted time of the algorithm that the table chooses is ranked as if it were shorter by
 * this part: a fifth. */
enum { TT_ESTIMATE_FAVOUR = 5 };

/* Returns the first of the ranked algorithms that applies to the call; NULL: no time can be
 * predicted (predict.h), none of the ranked algorithms applies, or memory was short
 * (tt_memory_lacks). What was computed while memory was short is not kept. `kept` holds the
 * rankings that were computed before under the machine model of this map, for any teams of the
 * process, and gets what is computed now; NULL: nothing is kept. */
const struct tt_algorithm *tt_estimate(struct tt_rankings *kept, const struct tt_call *call,
                                       const struct tt_map *map);
/* Adds to the n candidates the other algorithms whose predicted time for this call is less than
 * twice the least predicted time, the fastest first, as long as there are fewer than `most`
 * candidates. Returns the new number of candidates; 0: no time can be predicted. */
int tt_estimate_near(const struct tt_call *call, const struct tt_map *map,
                     const struct tt_algorithm **candidate, int n, int most);

#endif
