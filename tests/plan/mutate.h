/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random single mutations of a plan: one thing changed that a programmer might have got wrong. What
 * comes out is structurally valid; whether it is still right is for the prover to say.
 */
#ifndef TESTS_PLAN_MUTATE_H
#define TESTS_PLAN_MUTATE_H

#include "plan/plan.h"

enum { MUTATE_TEXT = 80 };

/* A new plan, to be freed by tt_plan_free, and what was changed, as in "step 3: length 8 -> 12".
 * NULL if there is no memory, or nothing in the plan to change. */
struct tt_plan *mutate(const struct tt_plan *plan, struct tt_random *random, char *what,
                       size_t size);

#endif
