/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti check`: proves the plans of one problem, or of many cases of all algorithms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check-run.h"
#include "command.h"
#include "job/wait.h"
#include "problem.h"
#include "run/team.h"

enum {
    OPTION_CASES = 256,
    OPTION_THREADS,
    OPTION_WINDOW,
    OPTION_INDIRECT,
    OPTION_UNMAPPED,
    OPTION_GAPS,
    OPTION_SCATTERED,
    OPTION_PLAN,
    RANKS = 33,
    MOST_RANKS = 4096,
    ALGORITHMS = 256
};

struct check_arguments {
    const char *what, *algorithm, *plan;
    /* has_ranks: the option -p was given; one_machine: an option for a single problem was given */
    bool has_ranks, one_machine;
    int first_p, last_p, threads, scattered;
    int64_t cases, window;
    bool indirect, unmapped, gaps;
};

static const struct argp_option options[] = {
    {"ranks", 'p', "N[..M]", 0, "prove for these numbers of ranks (default: 1..33)", 0},
    {"algorithm", 'a', "NAME", 0, "prove only this algorithm", 0},
    {"plan", OPTION_PLAN, "FILE", 0, TT_PLAN_OPTION_HELP, 0},
    {"cases", OPTION_CASES, "N", 0, "prove at most N cases of an algorithm and number of ranks", 0},
    {"threads", OPTION_THREADS, "N", 0, "prove with N threads (default: as many as processors)", 0},
    {NULL, 0, NULL, 0, "The machine under one PROBLEM:", 1},
    {"window", OPTION_WINDOW, "BYTES", 0,
     "a rank's window has so many bytes (default: TUTTI_WINDOW, or 128K)", 1},
    {"indirect", OPTION_INDIRECT, NULL, 0, "ranks cannot read each other's buffers", 1},
    {"unmapped", OPTION_UNMAPPED, NULL, 0, "ranks cannot read each other's buffers by plain loads",
     1},
    {"gaps", OPTION_GAPS, NULL, 0,
     "there are gaps between the pieces of an allgatherv, alltoallv, gatherv or scatterv", 1},
    {"scattered", OPTION_SCATTERED, "N", 0,
     "rank r is on node r mod N; for a PROBLEM that names no nodes", 1},
    {0},
};

static void parse_ranks(struct check_arguments *a, const char *text, struct argp_state *state)
{
    const char *end = text + strlen(text), *dots = strstr(text, ".."), *second = text;
    int64_t first = 0, last = 0;
    if (dots) second = dots + 2;
    if (!tt_parse_size(text, dots ? dots : end, &first) || !tt_parse_size(second, end, &last) ||
        first < 1 || last < first || last > MOST_RANKS)
        argp_error(state, "-p: '%s' is not a number of ranks or a range N..M within 1..%d", text,
                   MOST_RANKS);
    a->has_ranks = true;
    a->first_p = (int)first;
    a->last_p = (int)last;
}

static error_t parse_machine(struct check_arguments *a, int key, const char *arg,
                             struct argp_state *state)
{
    a->one_machine = true;
    switch (key) {
    case OPTION_WINDOW: a->window = tt_arg_number(state, "--window", arg, 0, INT64_MAX); return 0;
    case OPTION_INDIRECT: a->indirect = true; return 0;
    case OPTION_UNMAPPED: a->unmapped = true; return 0;
    case OPTION_SCATTERED:
        a->scattered = (int)tt_arg_number(state, "--scattered", arg, 2, MOST_RANKS);
        return 0;
    case OPTION_GAPS: a->gaps = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check_arguments *a = state->input;
    switch (key) {
    case 'p': parse_ranks(a, arg, state); return 0;
    case 'a': a->algorithm = arg; return 0;
    case OPTION_PLAN: a->plan = arg; return 0;
    case OPTION_CASES: a->cases = tt_arg_number(state, "--cases", arg, 1, INT32_MAX); return 0;
    case OPTION_THREADS: a->threads = (int)tt_arg_number(state, "--threads", arg, 1, 64); return 0;
    case ARGP_KEY_ARG:
        if (a->what) argp_error(state, "'%s': only one problem at a time", arg);
        a->what = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->what && !a->plan) a->what = "all";
        return 0;
    case ARGP_KEY_INIT:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
    case ARGP_KEY_NO_ARGS: return 0;
    default: return parse_machine(a, key, arg, state);
    }
}

/* ---- One problem ---- */

static bool check_one(struct tt_checker *checker, const struct tt_check_case *c)
{
    const char *why = "";
    struct tt_proof proof = {.steps = 0};
    enum tt_check_result result = tt_check_prove(checker, c, 2, 2, &proof, &why);
    printf("%-18s ", c->algorithm->name);
    switch (result) {
    case TT_CHECK_PROVEN:
        printf("proven: twice in flight, %lu steps, %lu accesses, %lu values\n",
               (unsigned long)proof.steps, (unsigned long)proof.accesses,
               (unsigned long)proof.values);
        break;
    case TT_CHECK_REFUTED:
        printf("refuted: %s\n    %s\n", tt_fault_text(proof.fault), proof.text);
        break;
    case TT_CHECK_REFUSED: printf("does not apply: it %s\n", why); break;
    case TT_CHECK_FAILED: printf("failed: %s\n", tutti_error()); break;
    }
    return result == TT_CHECK_PROVEN || result == TT_CHECK_REFUSED;
}

/* Proves a case with the plans of a plan file, or with those of each algorithm that the user asks
 * for. */
static int check_case(const struct check_arguments *a, struct tt_check_case *c)
{
    struct tt_checker *checker = tt_checker_new();
    if (!checker) {
        fprintf(stderr, "tutti check: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    bool good = !c->algorithm || check_one(checker, c);
    for (const struct tt_algorithm *const *at = tt_algorithms; *at && !a->plan; at++) {
        if ((*at)->coll != c->problem.call.coll) continue;
        if (a->algorithm && strcmp((*at)->name, a->algorithm) != 0) continue;
        c->algorithm = *at;
        good &= check_one(checker, c);
    }
    tt_checker_free(checker);
    return good ? TT_EXIT_OK : TT_EXIT_FAILED;
}

/* Returns whether the options for the machine fit the problem; if not, prints the error. */
static bool machine_fits(const struct check_arguments *a, const struct tt_problem *problem)
{
    bool maps_twice = a->scattered && problem->map[0];
    bool no_gaps = a->gaps && !tt_call_segments(&problem->call);
    if (maps_twice)
        fprintf(stderr, "tutti check: --scattered: the problem has nodes of its own, @%s\n",
                problem->map);
    else if (no_gaps)
        fprintf(stderr,
                "tutti check: --gaps: only allgatherv, alltoallv, gatherv and scatterv have pieces "
                "with gaps between them, and %s has none\n",
                tt_coll_name(problem->call.coll));
    return !maps_twice && !no_gaps;
}

static int check_problem(const struct check_arguments *a, struct tt_plan_row *row)
{
    struct tt_check_case c = {.win_bytes = a->window,
                              .direct = !a->indirect,
                              .mapped = !a->indirect && !a->unmapped,
                              .gaps = a->gaps,
                              .scattered = a->scattered};
    if (!tt_problem_open("tutti check", &c.problem, a->what) || !machine_fits(a, &c.problem))
        return TT_EXIT_USAGE;
    if (a->algorithm && !tt_algorithm_named("tutti check", c.problem.call.coll, a->algorithm))
        return TT_EXIT_USAGE;
    if (row && !tt_plan_row_make(row, "tutti check", &c.problem)) return TT_EXIT_USAGE;
    if (row) c.algorithm = &row->row;
    if (row) c.file = &row->file;
    return check_case(a, &c);
}

/* Proves the plans of a file, for the problem that the user or the file names. */
static int check_file(struct check_arguments *a)
{
    struct tt_plan_row row;
    int code = TT_EXIT_USAGE;
    if (tt_plan_row_open(&row, "tutti check", a->plan, &a->what)) code = check_problem(a, &row);
    tt_plan_row_close(&row);
    return code;
}

/* ---- Many cases of many algorithms ---- */

/* Writes to to[] the algorithms of the collective, or of all collectives if `coll` is -1. If the
 * user gives a name, only algorithms of this name are written. Returns their number. */
static int chosen(const struct check_arguments *a, int coll, const struct tt_algorithm **to)
{
    int n = 0;
    for (const struct tt_algorithm *const *at = tt_algorithms; *at && n < ALGORITHMS; at++)
        if ((coll < 0 || (int)(*at)->coll == coll) &&
            (!a->algorithm || strcmp((*at)->name, a->algorithm) == 0))
            to[n++] = *at;
    return n;
}

static void print_tally(const struct tt_check_job *job, const struct tt_check_tally *tally)
{
    for (int i = 0; i < job->n; i++)
        printf("%-11s %-18s %8lu cases%s\n", tt_coll_name(job->algorithms[i]->coll),
               job->algorithms[i]->name, (unsigned long)tally->by_algorithm[i],
               tally->by_algorithm[i] ? "" : ": it applied to none");
    printf("%lu cases proven, and %lu sequences of plans, on %d to %d ranks; %lu steps\n",
           (unsigned long)tally->cases, (unsigned long)tally->sequences, job->first_p, job->last_p,
           (unsigned long)tally->steps);
    if (tally->refuted) printf("%lu refuted\n", (unsigned long)tally->refuted);
    if (tally->failed) printf("%lu could not be proven\n", (unsigned long)tally->failed);
}

static int check_all(const struct check_arguments *a, int coll)
{
    const struct tt_algorithm *algorithms[ALGORITHMS];
    uint64_t by_algorithm[ALGORITHMS] = {0};
    struct tt_check_tally tally = {.by_algorithm = by_algorithm};
    struct tt_check_job job = {.algorithms = algorithms,
                               .n = chosen(a, coll, algorithms),
                               .first_p = a->first_p,
                               .last_p = a->last_p,
                               .most = a->cases,
                               .threads = a->threads ? a->threads : tt_usable_cores(),
                               .progress = isatty(STDERR_FILENO)};
    if (job.n == 0) {
        if (coll < 0)
            fprintf(stderr, "tutti check: there is no algorithm '%s'; `tutti list` lists them\n",
                    a->algorithm);
        else /* prints an error with the names that exist */
            tt_algorithm_named("tutti check", (enum tt_coll)coll, a->algorithm);
        return TT_EXIT_USAGE;
    }
    if (tt_check_run(&job, &tally) != TUTTI_OK) {
        fprintf(stderr, "tutti check: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    print_tally(&job, &tally);
    return tally.refuted || tally.failed || tally.cases == 0 ? TT_EXIT_FAILED : TT_EXIT_OK;
}

static int coll_named(const char *name)
{
    for (int coll = 0; coll < TT_COLLS; coll++)
        if (strcmp(tt_coll_name((enum tt_coll)coll), name) == 0) return coll;
    return -1;
}

int tt_check_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[PROBLEM|COLLECTIVE|all]\n--plan FILE [PROBLEM]",
        .doc = "Proves that plans are right: the right result, the same bits on every rank, no "
               "deadlock, no race, nothing touched that may not be. `all`, or no word at all, "
               "proves every algorithm on many cases, for each number of ranks, which takes many "
               "minutes.\v" TT_PROBLEM_HELP " Exit status: 0 proven, 1 refuted, 2 wrong usage.",
    };
    struct check_arguments a = {.first_p = 1, .last_p = RANKS, .window = tt_team_window()};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    if (!tt_plan_or_algorithm("tutti check", a.plan, a.algorithm)) return TT_EXIT_USAGE;
    int coll = a.what ? coll_named(a.what) : -1;
    bool many = a.what && (coll >= 0 || strcmp(a.what, "all") == 0);
    if (many && a.plan)
        fprintf(stderr, "tutti check: --plan is for a single PROBLEM\n");
    else if (many && a.one_machine)
        fprintf(stderr, "tutti check: the options of the machine are for a single PROBLEM\n");
    else if (!many && (a.has_ranks || a.cases))
        fprintf(
            stderr,
            "tutti check: a PROBLEM names its ranks, and is a single case: use --ranks and --cases "
            "without one\n");
    else if (a.plan)
        return check_file(&a);
    else
        return many ? check_all(&a, coll) : check_problem(&a, NULL);
    return TT_EXIT_USAGE;
}
