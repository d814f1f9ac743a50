/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the costs of a problem in the plans of its ranks, and prints them as a table.
 */
#ifndef TT_TOOLS_COUNTS_H
#define TT_TOOLS_COUNTS_H

#include "plan/count.h"
#include "problem.h"

/* Returns an array with the costs of the algorithm for each rank, counted in the plan of one rank
 * after the other. The caller frees the array with tt_free. Returns NULL after printing an
 * error. */
struct tt_count *tt_case_count(const struct tt_case *c, const char *command,
                               const struct tt_algorithm *algorithm);

/* Print the head of the table, and a row of the table. `cell` is the text of the first cell, which
 * is `wide` columns wide. */
void tt_counts_head(const char *cell, int wide);
void tt_counts_row(const char *cell, int wide, const struct tt_count *count);

#endif
