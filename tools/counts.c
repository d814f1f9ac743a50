/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts what the plans of a problem cost each rank.
 */
#include "counts.h"

#include <inttypes.h>
#include <stdio.h>

static bool count_rank(const struct tt_case *c, const struct tt_algorithm *algorithm, int me,
                       struct tt_count *count)
{
    struct tt_call call = tt_problem_call(&c->problem, me, c->room);
    struct tt_plan *plan = tt_algorithm_plan(algorithm, &call, &c->map, me);
    bool counted = plan && tt_count_plan(plan, count) == TUTTI_OK;
    tt_plan_free(plan);
    return counted;
}

struct tt_count *tt_case_count(const struct tt_case *c, const char *command,
                               const struct tt_algorithm *algorithm)
{
    int p = c->problem.p;
    struct tt_count *count = tt_calloc((size_t)p, sizeof *count);
    if (!count) (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for %d ranks", p);
    for (int r = 0; count && r < p; r++) {
        if (count_rank(c, algorithm, r, count)) continue;
        tt_free(count);
        count = NULL;
    }
    if (!count) fprintf(stderr, "%s: %s\n", command, tutti_error());
    return count;
}

void tt_counts_head(const char *cell, int wide)
{
    printf("%-*s", wide, cell);
#define NAME(field) printf(" %12s", #field);
    TT_COUNT_FIELDS(NAME)
#undef NAME
    printf("\n");
}

static void print_number(int64_t n)
{
    if (n < TT_COUNT_MOST)
        printf(" %12" PRId64, n);
    else
        printf(" %12s", "too many");
}

void tt_counts_row(const char *cell, int wide, const struct tt_count *count)
{
    printf("%-*s", wide, cell);
#define NUMBER(field) print_number(count->field);
    TT_COUNT_FIELDS(NUMBER)
#undef NUMBER
    printf("\n");
    fflush(stdout); /* the costs of the next row may take long to count */
}
