/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the plan files that subcommands use instead of an algorithm.
 */
#include "plan-row.h"

#include <stdio.h>

#include "choose/choose.h"
#include "choose/plan-file.h"

static const char *never_refuses(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    (void)map;
    return NULL;
}

static bool say_error(const char *command)
{
    fprintf(stderr, "%s: %s\n", command, tutti_error());
    return false;
}

bool tt_plan_row_open(struct tt_plan_row *row, const char *command, const char *path,
                      const char **problem)
{
    *row = (struct tt_plan_row){.p = 0};
    if (tt_plan_file_open(&row->file, path) != TUTTI_OK) return say_error(command);
    if (!*problem && row->file.has_problem) *problem = row->file.problem;
    if (*problem) return true;
    fprintf(stderr,
            "%s: the problem is missing: %s has no line `problem ...` (as in problem "
            "allreduce/f64/sum/8/p4); "
            "add one, or give the problem to the command\n",
            command, row->file.name);
    return false;
}

/* Sets row->row, except for the plans. Returns false if the file has no plan for rank 0. */
static bool describe(struct tt_plan_row *row)
{
    enum tt_coll coll;
    if (!tt_plan_file_name(&row->file, &coll, row->name)) return false;
    row->row = (struct tt_algorithm){.coll = coll,
                                     .name = row->name,
                                     .applies = "where the plans are proven for the call",
                                     .cost = "that of the plans",
                                     .source = row->file.name,
                                     .refuse = never_refuses};
    return true;
}

bool tt_plan_row_make(struct tt_plan_row *row, const char *command,
                      const struct tt_problem *problem)
{
    int64_t *room = tt_calloc(tt_problem_room(problem) + 1, sizeof *room);
    row->plans = tt_calloc((size_t)problem->p, sizeof *row->plans);
    bool good = room && row->plans;
    if (good) {
        struct tt_call call = tt_problem_call(problem, 0, room);
        good = tt_plan_file_plans(&row->file, &call, problem->p, row->plans) && describe(row);
    } else {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for the plans of %d ranks", problem->p);
    }
    tt_free(room);
    if (!good) return say_error(command);
    row->p = problem->p;
    row->row.plans = (const struct tt_plan *const *)row->plans;
    return true;
}

/* Opens the plan file that TUTTI_ALGORITHM names for the collective; row->file.text is NULL if it
 * names none. Returns false after printing the error. */
static bool open_named(struct tt_plan_row *row, const char *command, enum tt_coll coll)
{
    const struct tt_call call = {.coll = coll};
    char path[TT_PLAN_PATH];
    *row = (struct tt_plan_row){.p = 0};
    if (tt_choose_file(&call, path) != TUTTI_OK) return say_error(command);
    if (!path[0]) return true;
    const char *why = tt_plan_from_file_refused(path);
    if (!why && tt_plan_file_open(&row->file, path) == TUTTI_OK) return true;
    fprintf(stderr, "%s: TUTTI_ALGORITHM=%s=@%s: %s\n", command, tt_coll_name(coll), path,
            why ? why : tutti_error());
    return false;
}

bool tt_plan_row_named(struct tt_plan_row *row, const char *command, enum tt_coll coll)
{
    if (!open_named(row, command, coll)) return false;
    if (describe(row) && row->row.coll == coll) return true;
    fprintf(stderr, "%s: TUTTI_ALGORITHM=%s=@%s: the file has no plan of rank 0 for %s\n", command,
            tt_coll_name(coll), row->file.name, tt_coll_name(coll));
    return false;
}

bool tt_plan_row_forced(struct tt_plan_row *row, const char *command,
                        const struct tt_problem *problem)
{
    return open_named(row, command, problem->call.coll) &&
           (!row->file.text || tt_plan_row_make(row, command, problem));
}

void tt_plan_row_close(struct tt_plan_row *row)
{
    for (int r = 0; r < row->p; r++) tt_plan_free(row->plans[r]);
    tt_free(row->plans);
    tt_plan_file_close(&row->file);
    *row = (struct tt_plan_row){.p = 0};
}

bool tt_plan_or_algorithm(const char *command, const char *plan, const char *algorithm)
{
    if (!plan || !algorithm) return true;
    fprintf(stderr, "%s: --plan and --algorithm cannot both be given\n", command);
    return false;
}
