/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predicts how long a call takes by an algorithm, on one or several nodes, under the machine model.
 * All ranks' plans are followed step by step, over a few calls in a row without a barrier in
 * between, as in a program that calls again and again; the time is that from one call to the next.
 *
 * The prediction is made of whole numbers only, and depends on its arguments alone. So all ranks
 * with the same model and map get the same time.
 *
 * The predictor knows how long each copy and reduction takes, by size and by where its data lie;
 * when other ranks see a signal; which rank waits for which; that ranks that share a processor take
 * turns; that processors that move bytes at the same time slow each other down; and when messages
 * between nodes arrive (predict-wire.c). It does not know the contents of the caches: buffers of
 * the program count as in no cache until the call has touched them.
 */
#ifndef TT_PREDICT_H
#define TT_PREDICT_H

#include "choose/spent.h"
#include "coll/coll.h"

struct tt_prediction {
    int64_t time_ps;           /* the time of a call */
    int64_t spent[TT_SPENT_N]; /* how the rank that ends last spends this time; the sum is about
                                * time_ps */
    int64_t followed;          /* how many steps of ranks were followed, one by one, to predict it,
                                * counting each try of a rank that has to wait */
};

/* Predicts the time of a call by an algorithm that applies. Errors:
 *
 *     UNSUPPORTED  no time can be predicted, and the message says why: there is no model; there are
 *                  several nodes, and the model has no network; the plan accesses memory of another
 *                  node; each rank knows only its own counts; or there are more than
 *                  TT_PREDICT_RANKS ranks, or too many steps
 *     MEMORY */
tutti_status tt_predict(const struct tt_algorithm *algorithm, const struct tt_call *call,
                        const struct tt_map *map, struct tt_prediction *prediction);
/* Limits for the prediction of a time that is compared with others. */
struct tt_limits {
    int64_t most_ps;    /* the prediction may stop as soon as the time is known to be longer */
    int64_t some_steps; /* after so many followed steps, the prediction ends with the second call */
    int64_t most_steps; /* after so many followed steps, the time is guessed from what was done so
                         * far if not even two calls have ended */
};
/* Predicts the time of a call that is compared with others. If the prediction has stopped because
 * the time is more than most_ps, prediction->time_ps is TT_PREDICT_MORE; then, and if the time is
 * guessed, only `followed` is set of the other members. Returns UNSUPPORTED also if too few steps
 * were followed to guess the time. */
#define TT_PREDICT_MORE INT64_MAX
tutti_status tt_predict_up_to(const struct tt_algorithm *algorithm, const struct tt_call *call,
                              const struct tt_map *map, const struct tt_limits *limits,
                              struct tt_prediction *prediction);
/* Predicts the time if the calls of all ranks are known, as in a tool that gets the whole problem
 * as text: call[r] is the call of rank r, with its own counts. */
tutti_status tt_predict_calls(const struct tt_algorithm *algorithm, const struct tt_call *call,
                              const struct tt_map *map, struct tt_prediction *prediction);
const char *tt_spent_text(enum tt_spent spent);

/* Equal counts for all ranks, and the displacements that belong to them. */
struct tt_equal_counts {
    int64_t count[TT_PREDICT_RANKS], displ[TT_PREDICT_RANKS];
};
/* If the collective has a count for each rank, and there are at most TT_PREDICT_RANKS ranks, gives
 * the call equal counts, which lie in *equal. (In a reduce_scatter they may differ by one.)
 * call->n: the elements of a rank, or in a reduce_scatter those of all ranks. */
void tt_give_equal_counts(struct tt_call *call, struct tt_equal_counts *equal, int p);

/* Returns the map with which the plan of an algorithm is made: the map of the team, but with short
 * windows (run/team.h) if they suffice, and sets *is_short to whether they do. The result depends
 * only on properties of the call and the team that all ranks know. An algorithm that does not apply
 * with short windows gets the long ones, so the choice of the algorithm does not depend on the
 * windows. */
struct tt_map tt_plan_map(const struct tt_algorithm *algorithm, const struct tt_call *call,
                          const struct tt_map *map, bool *is_short);

#endif
