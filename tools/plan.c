/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti plan`: prints what the ranks of a problem would do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/choose.h"
#include "command.h"
#include "plan/text.h"
#include "problem.h"

enum { OPTION_UNROLLED = 256 };

struct arguments {
    const char *text, *algorithm;
    int64_t rank; /* -1: all */
    bool unrolled;
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME", 0, "the plan of this one (default: the one that would be used)", 0},
    {"rank", 'r', "R", 0, "the plan of this rank (default: those of all)", 0},
    {"unrolled", OPTION_UNROLLED, NULL, 0, "step by step, without loops", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case 'r': a->rank = tt_arg_number(state, "--rank", arg, 0, TT_PROBLEM_RANKS - 1); return 0;
    case OPTION_UNROLLED: a->unrolled = true; return 0;
    case ARGP_KEY_ARG:
        if (a->text) argp_error(state, "only one problem at a time");
        a->text = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which problem? (as in allreduce/f64/sum/1M/p16)");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool print_rank(const struct arguments *a, const struct tt_case *c, int rank)
{
    struct tt_call call = tt_problem_call(&c->problem, rank, c->room);
    struct tt_plan *plan = tt_algorithm_plan(c->algorithm, &call, &c->map, rank);
    if (!plan) {
        fprintf(stderr, "tutti plan: %s\n", tutti_error());
        return false;
    }
    bool printed = true;
    if (!a->unrolled)
        tt_plan_print(plan, stdout);
    else
        printed = tt_plan_print_unrolled(plan, stdout) == TUTTI_OK;
    tt_plan_free(plan);
    return printed;
}

static int print(const struct arguments *a, const struct tt_case *c)
{
    if (a->rank >= c->problem.p) {
        fprintf(stderr, "tutti plan: there is no rank %d: the problem has %d ranks\n", (int)a->rank,
                c->problem.p);
        return TT_EXIT_USAGE;
    }
    int first = a->rank < 0 ? 0 : (int)a->rank, last = a->rank < 0 ? c->problem.p - 1 : first;
    for (int rank = first; rank <= last; rank++) {
        if (!print_rank(a, c, rank)) return TT_EXIT_FAILED;
        if (rank < last) printf("\n");
    }
    return TT_EXIT_OK;
}

int tt_plan_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM",
        .doc =
            "Prints the plan of a collective: what each rank does, step by step.\v" TT_PROBLEM_HELP,
    };
    struct arguments arguments = {.rank = -1};
    struct tt_case c;
    tt_arg_parse(&argp, argc, argv, 0, &arguments);
    if (!tt_case_open(&c, argv[0], arguments.text, arguments.algorithm)) return TT_EXIT_USAGE;
    int code = print(&arguments, &c);
    tt_case_close(&c);
    return code;
}
