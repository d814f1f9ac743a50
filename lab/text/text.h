/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints and parses plans as text. A printed plan is parsed to the same plan. docs/plan.md has the
 * grammar.
 */
#ifndef TT_PLAN_TEXT_H
#define TT_PLAN_TEXT_H

#include <stdio.h>

#include "plan/plan.h"

void tt_plan_print(const struct tt_plan *plan, FILE *out);
/* Prints the steps as they are done, with loops and exchanges unrolled: `%3.7` is transfer 7,
 * counted from 0, of those that the step `%3` starts in a loop or an exchange; transfer 0 is
 * printed as `%3`. This form cannot be parsed. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_plan_print_unrolled(const struct tt_plan *plan, FILE *out);
/* Prints one step as tt_iter_next returned it, without a newline, for messages about faults. */
void tt_plan_print_step(const struct tt_plan *plan, const struct tt_plain *step, FILE *out);

/* An error in a text. line and column count from 1. */
struct tt_text_error {
    int line, column;
    char text[400];
};

/* Parses a text that consists of one plan, which tt_plan_free frees. Returns NULL on an error,
 * which *error (if not NULL) and tutti_error() describe. A plan that is returned has passed
 * tt_plan_invalid. */
struct tt_plan *tt_plan_parse(const char *text, struct tt_text_error *error);
/* Parses a text of at most `most` plans, one after the other, into plans[]. Returns how many there
 * are. On an error returns -1 and frees the plans that it has parsed. */
int tt_plans_parse(const char *text, struct tt_plan **plans, int most, struct tt_text_error *error);

#endif
