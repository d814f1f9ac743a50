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
 * A ranking is computed in the first call of a shape, so it has a limited effort: a number of
 * steps that are followed, which is the same on all ranks. The algorithms share it. If it does not
 * suffice to follow an algorithm to the end of its second call, its time is guessed from the part
 * that was followed, or the algorithm is left out of the ranking. So the choice is not always the
 * algorithm with the least time that tt_predict predicts.
 *
 * On several nodes whose ranks have a processor each, the estimate also chooses the slice, the
 * radix or the number of lanes of the first algorithm of a ranking. It predicts the time for each
 * value of tt_parameters_try, and takes the best one if the algorithm's own parameters are
 * predicted to take clearly longer.
 *
 * Why all ranks of a team choose alike. A place in a ranking, and the parameters of the algorithm
 * at the first place, are a function of the model, the shape (struct tt_ranking_shape) and the
 * places before it, and all of these are the same on all ranks of a team. Some places may come from
 * a file (choose/rankings.h), and a file can be wrong, or change between two reads. But a file has
 * rankings of teams on one node only, and on each node one rank reads a file, once, and gives what
 * it has found to all ranks of the node when they meet. So all ranks of a team begin with the same
 * places (with none, if the team is on several nodes), and compute the same algorithm for a place
 * that is missing. A rank never drops a ranking that it was given. If it drops one that it has
 * computed, it computes the same ranking again when it needs it.
 */
#ifndef TT_ESTIMATE_H
#define TT_ESTIMATE_H

#include "base/rankings.h"
#include "coll/coll.h"

/* The predicted time of the algorithm that the table chooses is ranked as if it were shorter by
 * this part: a fifth. An algorithm gets other parameters than its own only if its predicted time
 * with them is shorter by this part. */
enum { TT_ESTIMATE_FAVOUR = 5 };

/* Values of the parameters of an algorithm. 0: that of the call, or else the algorithm's own. */
struct tt_parameters {
    int64_t slice;
    int32_t radix, lanes;
};

/* An algorithm, with the parameters with which it runs a call. */
struct tt_choice {
    const struct tt_algorithm *algorithm;
    struct tt_parameters with;
};

/* Sets one parameter of the call to value number i (0 <= i < TT_PARAMETERS_TRIES) of those that are
 * worth trying: four slices, four radices and four numbers of lanes. Returns false, and leaves the
 * call as it is, if the call sets this parameter itself, or if the slice is not shorter than the
 * data. */
enum { TT_PARAMETERS_TRIES = 12 };
bool tt_parameters_try(struct tt_call *call, int i);
/* Returns whether the plans of rank `me` by the algorithm are equal in two calls of this rank that
 * differ only in their parameters. If there is no memory for a plan, returns true. */
bool tt_parameters_same(const struct tt_algorithm *a, const struct tt_call *one,
                        const struct tt_call *other, const struct tt_map *map, int me);

/* Returns the first of the ranked algorithms that applies to the call; NULL: no time can be
 * predicted (predict.h), none of the ranked algorithms applies, or memory was short
 * (tt_memory_lacks). What was computed while memory was short is not kept. `kept` holds the
 * rankings that were computed before under the machine model of this map, for any teams of the
 * process, and gets what is computed now; NULL: nothing is kept. If `with` is not NULL, sets *with
 * to the parameters that the algorithm gets. */
const struct tt_algorithm *tt_estimate(struct tt_rankings *kept, const struct tt_call *call,
                                       const struct tt_map *map, struct tt_parameters *with);
/* Adds to the n candidates the other algorithms whose predicted time for this call is less than
 * twice the least predicted time, the fastest first, as long as there are fewer than `most`
 * candidates. They get their own parameters. Returns the new number of candidates; 0: no time can
 * be predicted. */
int tt_estimate_near(const struct tt_call *call, const struct tt_map *map,
                     struct tt_choice *candidate, int n, int most);

#endif
