/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti plan`: prints the plans of the ranks of a problem.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/choose.h"
#include "command.h"
#include "counts.h"
#include "text/plan-file.h"
#include "problem.h"

enum { OPTION_UNROLLED = 256, OPTION_COUNTS };

struct plan_arguments {
    const char *text, *algorithm;
    int64_t rank; /* the rank whose plan is printed; -1 for the plans of all ranks */
    bool unrolled, counts;
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME", 0,
     "print the plan of this algorithm (default: the one that the library would choose)", 0},
    {"rank", 'r', "R", 0, "print the plan of this rank (default: those of all)", 0},
    {"unrolled", OPTION_UNROLLED, NULL, 0, "print each step, without loops", 0},
    {"counts", OPTION_COUNTS, NULL, 0,
     "print what the plans cost each rank, the most of any rank, and the sum, instead of their "
     "steps",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct plan_arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case 'r': a->rank = tt_arg_number(state, "--rank", arg, 0, TT_PROBLEM_RANKS - 1); return 0;
    case OPTION_UNROLLED: a->unrolled = true; return 0;
    case OPTION_COUNTS: a->counts = true; return 0;
    case ARGP_KEY_ARG:
        if (a->text) argp_error(state, "'%s': only one problem at a time", arg);
        a->text = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the problem is missing (as in allreduce/f64/sum/1M/p16)");
        return 0;
    case ARGP_KEY_END:
        if (a->unrolled && a->counts)
            argp_error(state, "--counts and --unrolled cannot both be given");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool print_rank(const struct plan_arguments *a, const struct tt_case *c, int rank)
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

/* Prints what ranks first .. last send, receive, reduce and so on (struct tt_count). To know this
 * of one rank, the function reads the plans of all ranks: when a rank reads bytes from the memory
 * of another rank, the owner of the memory counts as their sender, but the step is in the reader's
 * plan. */
static int print_counts(const struct plan_arguments *a, const struct tt_case *c, int first,
                        int last)
{
    enum { WIDE = 8 };
    struct tt_count *count = tt_case_count(c, "tutti plan", c->algorithm);
    if (!count) return TT_EXIT_FAILED;
    printf("# %s algorithm %s\n", a->text, c->algorithm->name);
    tt_counts_head("rank", WIDE);
    for (int r = first; r <= last; r++) {
        char name[16];
        snprintf(name, sizeof name, "%d", r);
        tt_counts_row(name, WIDE, &count[r]);
    }
    if (a->rank < 0) {
        struct tt_count most = tt_count_worst(count, c->problem.p);
        struct tt_count sum = tt_count_sum(count, c->problem.p);
        tt_counts_row("most", WIDE, &most);
        tt_counts_row("sum", WIDE, &sum);
    }
    tt_free(count);
    return TT_EXIT_OK;
}

static int print(const struct plan_arguments *a, const struct tt_case *c)
{
    if (a->rank >= c->problem.p) {
        fprintf(stderr, "tutti plan: there is no rank %d: the problem has %d ranks\n", (int)a->rank,
                c->problem.p);
        return TT_EXIT_USAGE;
    }
    int first = a->rank < 0 ? 0 : (int)a->rank, last = a->rank < 0 ? c->problem.p - 1 : first;
    if (a->counts) return print_counts(a, c, first, last);
    if (!a->unrolled) tt_plan_file_print_head(&c->problem, stdout);
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
        .doc = "Prints the plan of a collective: what each rank does, step by step. Without "
               "options it prints a plan file, which check, sim, draw and bench "
               "read.\v" TT_PROBLEM_HELP,
    };
    struct plan_arguments arguments = {.rank = -1};
    struct tt_case c;
    tt_arg_parse(&argp, argc, argv, 0, &arguments);
    if (!tt_case_open(&c, argv[0], arguments.text, arguments.algorithm, NULL)) return TT_EXIT_USAGE;
    int code = print(&arguments, &c);
    tt_case_close(&c);
    return code;
}
