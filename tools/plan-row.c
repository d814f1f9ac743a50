/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the plan files that subcommands use instead of an algorithm.
 */
#include "plan-row.h"

#include <stdio.h>

#include "choose/choose.h"

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

bool tt_plan_row_make(struct tt_plan_row *row, const char *command,
                      const struct tt_problem *problem)
{
    int64_t *room = tt_calloc(tt_problem_room(problem) + 1, sizeof *room);
    row->plans = tt_calloc((size_t)problem->p, sizeof *row->plans);
    bool good = room && row->plans;
    if (good) {
        struct tt_call call = tt_problem_call(problem, 0, room);
        good = tt_plan_file_plans(&row->file, &call, problem->p, row->plans);
    } else {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for the plans of %d ranks", problem->p);
    }
    tt_free(room);
    if (!good) return say_error(command);
    row->p = problem->p;
    row->row = (struct tt_algorithm){.coll = problem->call.coll,
                                     .name = row->plans[0]->algorithm,
                                     .applies = "where the plans are proven for the call",
                                     .cost = "that of the plans",
                                     .source = row->file.name,
                                     .refuse = never_refuses,
                                     .plans = (const struct tt_plan *const *)row->plans};
    return true;
}

bool tt_plan_row_forced(struct tt_plan_row *row, const char *command,
                        const struct tt_problem *problem)
{
    char path[TT_PLAN_PATH];
    *row = (struct tt_plan_row){.p = 0};
    if (tt_choose_file(&problem->call, path) != TUTTI_OK) return say_error(command);
    if (!path[0]) return true;
    if (tt_plan_file_open(&row->file, path) == TUTTI_OK)
        return tt_plan_row_make(row, command, problem);
    fprintf(stderr, "%s: TUTTI_ALGORITHM=%s=@%s: %s\n", command, tt_coll_name(problem->call.coll),
            path, tutti_error());
    return false;
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
