/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random single mutations of a plan: each changes one thing that a programmer might have got wrong.
 * The result is structurally valid. The prover has to decide whether it is still correct.
 */
#ifndef TESTS_PLAN_MUTATE_H
#define TESTS_PLAN_MUTATE_H

#include "plan/plan.h"

enum { MUTATE_TEXT = 80 };

/* Returns a new plan, which the caller frees with tt_plan_free. `what` says what was changed, as in
 * "step 3: length 8 -> 12". Returns NULL if there is no memory or nothing in the plan can be
 * changed. */
struct tt_plan *mutate(const struct tt_plan *plan, struct tt_random *random, char *what,
                       size_t size);

#endif
