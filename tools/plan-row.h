/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of a plan file, which subcommands use like an algorithm: those of the option --plan,
 * and those of the file that TUTTI_ALGORITHM names.
 */
#ifndef TT_TOOLS_PLAN_ROW_H
#define TT_TOOLS_PLAN_ROW_H

#include "coll/coll.h"
#include "text/plan-file.h"

/* The plans of a plan file, and a row like those in the table of algorithms (`row`), so that
 * subcommands use the plans like an algorithm. */
struct tt_plan_row {
    struct tt_algorithm row;
    char name[TT_PLAN_FILE_NAME]; /* to which row.name points */
    struct tt_plan_file file;
    struct tt_plan **plans; /* NULL before tt_plan_row_make */
    int p;
};

#define TT_PLAN_OPTION_HELP                                                                        \
    "take the plans in FILE (-: standard input) instead of those of an algorithm; without a "      \
    "PROBLEM, the problem is that of FILE"

/* Opens the file. If *problem is NULL, sets it to the problem that the file names. Returns false
 * after printing the error. The caller calls tt_plan_row_close at the end, also after an error. */
bool tt_plan_row_open(struct tt_plan_row *row, const char *command, const char *path,
                      const char **problem);
/* Parses the plans of all ranks of the problem. Returns false after printing the error. */
bool tt_plan_row_make(struct tt_plan_row *row, const char *command,
                      const struct tt_problem *problem);
/* Opens the plan file that TUTTI_ALGORITHM names for the collective, and sets row->row, but makes
 * no plans. The setting must name a file for the collective (tt_choose_file). In all else the
 * function does the same as tt_plan_row_open. */
bool tt_plan_row_named(struct tt_plan_row *row, const char *command, enum tt_coll coll);
/* Opens the plan file that TUTTI_ALGORITHM names for the collective of the problem, and makes its
 * plans; row->p is 0 if the setting names none. In all else the function does the same as
 * tt_plan_row_make. */
bool tt_plan_row_forced(struct tt_plan_row *row, const char *command,
                        const struct tt_problem *problem);
void tt_plan_row_close(struct tt_plan_row *row);
/* Returns the plan file from which an algorithm has its plans; NULL if it has them from none. */
static inline const struct tt_plan_file *tt_plan_row_file(const struct tt_algorithm *algorithm)
{
    if (!algorithm->plans) return NULL;
    return &tt_container_of((struct tt_algorithm *)algorithm, struct tt_plan_row, row)->file;
}
/* Returns false, after printing an error, if both an algorithm and a plan file are given. */
bool tt_plan_or_algorithm(const char *command, const char *plan, const char *algorithm);

#endif
