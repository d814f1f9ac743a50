/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as text: what is printed parses back to the same plan. The grammar is in docs/plan.md.
 */
#ifndef TT_PLAN_TEXT_H
#define TT_PLAN_TEXT_H

#include <stdio.h>

#include "plan/plan.h"

void tt_plan_print(const struct tt_plan *plan, FILE *out);
/* As it is done, step by step, loops and generators unrolled: `%3.7` is the instance 7 of step %3.
 * For reading only. OK, ERR_MEMORY. */
tutti_status tt_plan_print_unrolled(const struct tt_plan *plan, FILE *out);
/* One step as tt_iter_next gave it, without a newline; for reports. */
void tt_plan_print_step(const struct tt_plan *plan, const struct tt_plain *step, FILE *out);

/* Whether two plans are the same: step by step, and all that the steps refer to. Names are compared
 * as text; where in its tables a plan keeps a shape or a set does not matter. */
bool tt_plan_equal(const struct tt_plan *a, const struct tt_plan *b);

/* line and column from 1. */
struct tt_text_error {
    int line, column;
    char text[200];
};

/* The one plan that the text consists of, to be freed by tt_plan_free. NULL: *error (if not NULL)
 * and tutti_error tell why. What comes out satisfies tt_plan_invalid. */
struct tt_plan *tt_plan_parse(const char *text, struct tt_text_error *error);
/* Several, one after the other, into plans[0..most-1]. How many; -1 on an error, and then none. */
int tt_plans_parse(const char *text, struct tt_plan **plans, int most, struct tt_text_error *error);

#endif
