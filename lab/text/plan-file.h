/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plan files. A plan file holds a schedule: the plans of all ranks, each written out, or one plan
 * in which the rank is a variable.
 *
 *     tutti plan 1                             the version of the format
 *     problem allreduce/f64/sum/8/p3           optional: what the plans do
 *     plan allreduce algorithm mine rank r of p type f64 op sum
 *     ...
 *
 * docs/plan.md describes the format. Errors begin with FILE:LINE:COLUMN.
 */
#ifndef TT_PLAN_FILE_H
#define TT_PLAN_FILE_H

#include "text/problem.h"
#include "text/text.h"

#define TT_PLAN_FILE_VERSION 1
enum { TT_PLAN_FILE_NAME = 48 }; /* bytes of an algorithm's name */

struct tt_plan_section; /* where a plan begins in the text, and whether it is for one rank or for
                         * any */

struct tt_plan_file {
    char *name; /* the name for error messages: the path, or "standard input" */
    char *text;
    uint64_t hash; /* a hash of the text */
    bool has_problem;
    char problem[TT_PROBLEM_TEXT]; /* the text of the line `problem` */
    int sections_n, end_line, end_column;
    struct tt_plan_section *sections;
};

/* Reads the file (standard input if `path` is "-"), and parses it up to the headers of the plans.
 * Returns ERR_ARG if the text is wrong, ERR_SYSTEM if the file cannot be read, or ERR_MEMORY;
 * tutti_error() says what is wrong, and where. If the result is OK, the caller frees the file with
 * tt_plan_file_close. */
tutti_status tt_plan_file_open(struct tt_plan_file *file, const char *path);
/* Does the same as tt_plan_file_open, but the contents of the plan file are `text`, which is
 * copied. Error messages show `name` instead of a path. */
tutti_status tt_plan_file_text(struct tt_plan_file *file, const char *name, const char *text);
void tt_plan_file_close(struct tt_plan_file *file);

/* Sets *coll and `name` to the collective and the name of the algorithm in the header of the plan
 * for rank 0. Returns false if there is no such plan. */
bool tt_plan_file_name(const struct tt_plan_file *file, enum tt_coll *coll,
                       char name[TT_PLAN_FILE_NAME]);
/* Parses the plan of rank `me` of p for this call. If the file has a plan for this rank and a plan
 * for any rank, the former is used. Returns NULL if the text is wrong, has no plan for the rank, or
 * has a plan for another call; tutti_error() says which. The caller frees the plan. */
struct tt_plan *tt_plan_file_plan(const struct tt_plan_file *file, const struct tt_call *call,
                                  int p, int me);
/* Parses the plans of all ranks into plans[0..p-1]. Returns false after an error, and frees the
 * plans that it has parsed. */
bool tt_plan_file_plans(const struct tt_plan_file *file, const struct tt_call *call, int p,
                        struct tt_plan **plans);

/* Writes to `text` where the statement begins from which step number `step` (in plan->steps) of
 * this rank's plan comes, such as "FILE:7:3"; "" if that cannot be found. The plan has been parsed
 * from the file before, for this call. Returns text. */
char *tt_plan_file_place(const struct tt_plan_file *file, const struct tt_call *call, int p, int me,
                         int64_t step, char *text, size_t size);

/* Prints the lines that come before the plans in a file. */
void tt_plan_file_print_head(const struct tt_problem *problem, FILE *out);

#endif
