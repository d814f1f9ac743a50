/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the algorithm that runs a call. It depends only on the part of the call that is
 * equal on all ranks, and on the map. So all ranks choose the same algorithm without communication.
 */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "choose/estimate.h"
#include "choose/wisdom.h"

/* The source that has chosen an algorithm. The sources are asked in this order: TUTTI_ALGORITHM,
 * the wisdom, what the first calls of the job measured (measure.h), the predicted times, a
 * table. */
enum tt_chosen_by {
    TT_CHOSEN_FORCED,
    TT_CHOSEN_WISDOM,
    TT_CHOSEN_MEASURED,
    TT_CHOSEN_ESTIMATE,
    TT_CHOSEN_TABLE
};

/* Sets *choice, and *by (if not NULL) to what chose the algorithm. The caller sets the parameters
 * of the call by tt_choice_tune before it makes a plan. `kept` keeps rankings from call to call
 * (tt_estimate); NULL: nothing is kept. Errors:
 *
 *     UNSUPPORTED  TUTTI_ALGORITHM forces an algorithm that does not apply (the message says
 *                  why), or no algorithm applies
 *     ARG          TUTTI_ALGORITHM names an unknown algorithm or collective, or names a
 *                  collective twice
 *     MEMORY       memory was short, so that another rank may choose another algorithm */
tutti_status tt_choose(const struct tt_call *call, const struct tt_map *map,
                       struct tt_rankings *kept, struct tt_choice *choice, enum tt_chosen_by *by);
/* Sets the slice, the radix and the lanes of the call to those of the choice, unless the call has
 * its own. */
static inline void tt_choice_tune(const struct tt_choice *choice, struct tt_call *call)
{
    tt_tune(call, choice->with.slice, choice->with.radix, choice->with.lanes);
}
/* Writes the parameters that are not 0, each after `before`: with the text ", " as in
 * ", slice=64K, lanes=2". Returns `text`. */
enum { TT_PARAMETERS_TEXT = 96 };
char *tt_parameters_print(const struct tt_parameters *with, const char *before,
                          char text[TT_PARAMETERS_TEXT]);
const char *tt_chosen_text(enum tt_chosen_by by);

/* Checks the names in TUTTI_ALGORITHM. Errors: ARG (there is no such collective or algorithm, or a
 * collective is named twice). */
tutti_status tt_choose_check(void);

/* Lists the algorithms that are worth measuring for a call. The algorithm that is chosen without
 * measuring comes first, with the parameters that are chosen; the others get their own. With a
 * model of the machine, the others are those whose predicted time is less than twice the least
 * predicted time, the fastest first; without a model, they are those that some row of a table
 * names. Writes at most `most` algorithms that apply, and returns how many; 0: no algorithm
 * applies, or the choice is forced, or the wisdom has a line for the call. */
int tt_candidates(const struct tt_call *call, const struct tt_map *map, struct tt_rankings *kept,
                  struct tt_choice *candidate, int most);
/* Writes to `path` the path of the plan file that TUTTI_ALGORITHM gives for the call's collective
 * (COLLECTIVE=@PATH), or "" if it gives none. Errors: ARG as in tt_choose, which returns
 * UNSUPPORTED for a collective with a plan file. */
enum { TT_PLAN_PATH = 4096 };
tutti_status tt_choose_file(const struct tt_call *call, char path[TT_PLAN_PATH]);
/* If the ranks have to exchange something before the plan of the call is made (tt_algorithm.first),
 * sets *first to the algorithm that tt_choose chooses, else to NULL. The exchange consists of other
 * collectives, with the signatures TT_SIGNATURE_COUNTING, TT_SIGNATURE_GATHERV and
 * TT_SIGNATURE_SCATTERV. If *first is `forward`, which sends the data of an alltoallv along the
 * links of a network, tt_choose also chooses `forward` for the allgather and the alltoall of this
 * exchange, so that the exchange uses only these links, too. Errors: MEMORY as in tt_choose. */
tutti_status tt_choose_first(const struct tt_call *call, const struct tt_map *map,
                             const struct tt_algorithm **first);
/* Overrides TUTTI_ALGORITHM. `text` is a list such as "allreduce=ring,bcast=flat"; a name alone
 * stands for all collectives that have such an algorithm. NULL: the environment decides again.
 * `text` must stay valid until the next call. No thread may choose an algorithm during this
 * call. */
void tt_choose_force(const char *text);

#endif
