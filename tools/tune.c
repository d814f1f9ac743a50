/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti tune`: times, for each problem of a list, the algorithms that may be the fastest, and
 * records in a file which one was the fastest. Each candidate runs in a job of its own; but if a
 * launcher has started the command as the ranks of a job, this job runs all candidates, and rank 0
 * decides and writes.
 *
 * A problem is timed in rounds, in each of which every candidate runs once, so that a disturbance
 * affects all candidates. The median of a candidate's times counts. Then the fastest algorithm is
 * timed with other slices, radices and lanes, if its plan depends on them. The line of a problem is
 * added to the file when it is known, so that nothing is lost if the command is interrupted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "bench-job.h"
#include "command.h"
#include "job/wait.h"
#include "launch.h"
#include "problem.h"
#include "text/text.h"
#include "type/type.h"
#include "write.h"

enum { OPTION_SIZES = 256, OPTION_TIME, OPTION_STEP };
enum { ALGORITHMS = 8, CANDIDATES = 20, ROUNDS = 3, MARGIN = 3 };

struct tune_arguments {
    int argc; /* the arguments as they were given */
    char **argv, **problem;
    int problems, ranks;
    int64_t first_bytes, last_bytes, step, time_ns;
    const char *output;
    char wisdom[TT_FILE_PATH]; /* the file that TUTTI_WISDOM names; "": it names none */
};

/* An algorithm with its parameters, and the times in ps that it took in the rounds so far. */
struct tune_candidate {
    const struct tt_algorithm *algorithm;
    int64_t slice, time_ps[ROUNDS];
    int32_t radix, lanes;
    int timed;
};

struct tuning {
    const struct tune_arguments *a;
    /* the launcher's job whose ranks run the candidates; NULL: ranks are started for each */
    struct tt_bench_job *job;
    char path[TT_FILE_PATH];
    int at, of; /* at: the number of the current problem; of: the number of problems */
    struct tt_case c;
    struct tune_candidate candidate[CANDIDATES];
    int n;
    int kept; /* the number of lines that were added to the file */
    bool failed;
};

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0,
     "tune all collectives that can be tuned on N ranks (default: as many as processors, at least "
     "2)",
     0},
    {"sizes", OPTION_SIZES, "FIRST:LAST", 0,
     "with BYTES from FIRST to LAST that are a multiple of the type (default for --ranks: 8:4M; "
     "for a PROBLEM: its own bytes)",
     0},
    {"step", OPTION_STEP, "K", 0, "each size is K times as large as the one before (default 4)", 0},
    {"time", OPTION_TIME, "S", 0,
     "time each candidate for about S seconds in each of three rounds (default: 0.05)", 0},
    {"output", 'o', "FILE", 0,
     "add the lines to FILE (default: TUTTI_WISDOM, or, if no setting changes the times, the file "
     "of this kind of machine in the user's cache folder)",
     0},
    {0},
};

static void read_sizes(const struct argp_state *state, struct tune_arguments *a, const char *text)
{
    const char *colon = strchr(text, ':'), *end = text + strlen(text);
    if (!tt_parse_size(text, colon ? colon : end, &a->first_bytes) || a->first_bytes < 1 ||
        !tt_parse_size(colon ? colon + 1 : text, end, &a->last_bytes) ||
        a->last_bytes < a->first_bytes || a->last_bytes > INT64_C(1) << 40)
        argp_error(state, "--sizes: '%s' is not FIRST:LAST, as in 8:4M", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tune_arguments *a = state->input;
    switch (key) {
    case 'n': a->ranks = (int)tt_arg_number(state, "--ranks", arg, 2, TT_LAUNCH_RANKS); return 0;
    case OPTION_SIZES: read_sizes(state, a, arg); return 0;
    case OPTION_STEP: a->step = tt_arg_number(state, "--step", arg, 2, 1 << 20); return 0;
    case OPTION_TIME: a->time_ns = tt_arg_seconds(state, "--time", arg); return 0;
    case 'o':
        a->output = arg;
        if (strcmp(arg, "-") == 0)
            argp_error(state, "--output: lines are added to a file, not to standard output");
        return 0;
    case ARGP_KEY_ARG: a->problem[a->problems++] = arg; return 0;
    case ARGP_KEY_END:
        if (a->problems && a->ranks) argp_error(state, "--ranks: a PROBLEM has ranks of its own");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Candidates ---- */

/* Sets the parameters of the call to those of the candidate. */
static void set_parameters(struct tt_call *call, const struct tune_candidate *c)
{
    call->slice = c->slice / call->sz * call->sz;
    call->radix = c->radix;
    call->lanes = c->lanes;
}

/* Returns the algorithm with the parameters of the call, not timed yet. */
static struct tune_candidate candidate_of(const struct tt_algorithm *a, const struct tt_call *call)
{
    return (struct tune_candidate){
        .algorithm = a, .slice = call->slice, .radix = call->radix, .lanes = call->lanes};
}

static void find_candidates(struct tuning *t)
{
    struct tt_choice found[ALGORITHMS];
    struct tt_call call = tt_problem_call(&t->c.problem, 0, t->c.room);
    t->n = 0;
    int n = tt_candidates(&call, &t->c.map, t->c.rankings, found, ALGORITHMS);
    for (int i = 0; i < n; i++) {
        struct tt_call tuned = call;
        tt_choice_tune(&found[i], &tuned);
        t->candidate[t->n++] = candidate_of(found[i].algorithm, &tuned);
    }
}

/* Returns whether the plans of two candidates with the same algorithm are equal. Compares only
 * those of the first and of the last rank, which have different places in most trees and rings. */
static bool are_equal(const struct tuning *t, const struct tune_candidate *one,
                      const struct tune_candidate *other)
{
    bool equal = true;
    for (int k = 0; k < 2 && equal; k++) {
        int me = k ? t->c.problem.p - 1 : 0;
        struct tt_call a = tt_problem_call(&t->c.problem, me, t->c.room), b = a;
        set_parameters(&a, one);
        set_parameters(&b, other);
        equal = tt_parameters_same(one->algorithm, &a, &b, &t->c.map, me);
    }
    return equal;
}

/* Returns whether `new` has plans that no candidate with the same algorithm has. */
static bool is_new(const struct tuning *t, const struct tune_candidate *new)
{
    struct tt_call given = tt_problem_call(&t->c.problem, 0, t->c.room);
    set_parameters(&given, new);
    bool is_new = !new->algorithm->refuse(&given, &t->c.map);
    for (int i = 0; i < t->n && is_new; i++) {
        const struct tune_candidate *c = &t->candidate[i];
        is_new = c->algorithm != new->algorithm || !are_equal(t, c, new);
    }
    return is_new;
}

/* Adds candidates: the algorithm of `best` with its own parameters, and with other slices, radices
 * and lanes. A parameter that the user or the problem sets stays as it is. */
static void add_parameters(struct tuning *t, const struct tune_candidate *best)
{
    struct tt_call given = tt_problem_call(&t->c.problem, 0, t->c.room);
    for (int i = -1; i < TT_PARAMETERS_TRIES; i++) {
        struct tt_call call = given;
        if (i >= 0 && !tt_parameters_try(&call, i)) continue;
        struct tune_candidate new = candidate_of(best->algorithm, &call);
        if (t->n < CANDIDATES && is_new(t, &new)) t->candidate[t->n++] = new;
    }
}

/* ---- Timing ---- */

static bool time_once(struct tuning *t, struct tune_candidate *c)
{
    struct tt_bench_case bench = {
        .problem = t->c.problem, .algorithm = c->algorithm->name, .time_ns = t->a->time_ns};
    struct tt_bench_result result = {0};
    const double ps_of_us = 1e6;
    set_parameters(&bench.problem.call, c);
    if (!tt_bench_processes(t->job, &bench, &result)) return false;
    if (result.refused || c->timed == ROUNDS) return true;
    c->time_ps[c->timed++] = (int64_t)(result.median_us * ps_of_us);
    return true;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns the median time of the candidate; INT64_MAX if it could not be timed. */
static int64_t time_of(const struct tune_candidate *c)
{
    int64_t ps[ROUNDS];
    if (c->timed == 0) return INT64_MAX;
    memcpy(ps, c->time_ps, sizeof ps);
    qsort(ps, (size_t)c->timed, sizeof *ps, by_value);
    return ps[c->timed / 2];
}

static void show_progress(const struct tuning *t, const char *problem, int round, int i)
{
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K%d of %d: %s, round %d of %d, %s", t->at, t->of, problem, round + 1,
            ROUNDS, t->candidate[i].algorithm->name);
}

/* Times the candidates from number `first` on. Returns false after an error. */
static bool time_from(struct tuning *t, const char *problem, int first)
{
    bool good = true;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = first; i < t->n && good; i++) {
            show_progress(t, problem, round, i);
            good = time_once(t, &t->candidate[i]);
        }
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
    return good;
}

/* Returns the fastest candidate. But if no candidate is faster than the first one by more than
 * MARGIN per cent, returns the first, which would run without wisdom: a smaller difference may be
 * noise. */
static struct tune_candidate *best_of(struct tuning *t)
{
    struct tune_candidate *best = &t->candidate[0];
    int64_t least = time_of(best), hundred = 100;
    if (least < INT64_MAX) least -= least * MARGIN / hundred;
    for (int i = 1; i < t->n; i++) {
        if (time_of(&t->candidate[i]) >= least) continue;
        best = &t->candidate[i];
        least = time_of(best);
    }
    return best;
}

/* ---- Printing and recording the fastest ---- */

static char *name_of(const struct tune_candidate *c, char *text, size_t n)
{
    const struct tt_parameters with = {c->slice, c->radix, c->lanes};
    char parameters[TT_PARAMETERS_TEXT];
    snprintf(text, n, "%s%s", c->algorithm->name, tt_parameters_print(&with, "/", parameters));
    return text;
}

static void print_others(const struct tuning *t, const struct tune_candidate *best, char *text,
                         size_t n)
{
    size_t used = 0;
    char name[96];
    text[0] = '\0';
    for (int i = 0; i < t->n; i++) {
        const struct tune_candidate *c = &t->candidate[i];
        if (c == best || c->timed == 0 || used + sizeof name + 24 > n) continue;
        used += (size_t)snprintf(text + used, n - used, "%s%s:%.3f", used ? "," : "",
                                 name_of(c, name, sizeof name), 1e-6 * (double)time_of(c));
    }
}

static bool keep(struct tuning *t, const char *problem, const struct tune_candidate *best)
{
    struct tt_wisdom_line line = {.time_ps = time_of(best)};
    struct tt_call call = tt_problem_call(&t->c.problem, 0, t->c.room);
    char name[96];
    if (best->timed == 0 || !tt_wisdom_place(&call, &t->c.map, &line.wise, line.layout)) {
        fprintf(stderr, "tutti tune: %s: no candidate could be timed\n", problem);
        return false;
    }
    line.wise.slice = best->slice;
    line.wise.radix = best->radix;
    line.wise.lanes = (uint16_t)best->lanes;
    while (tt_algorithms[line.wise.algorithm] != best->algorithm) line.wise.algorithm++;
    print_others(t, best, line.others, sizeof line.others);
    printf("%-32s %-24s %12.3f  %s\n", problem, name_of(best, name, sizeof name),
           1e-6 * (double)line.time_ps, line.others);
    fflush(stdout);
    if (tt_wisdom_add(t->path, &line, 1) == TUTTI_OK) return t->kept++ >= 0;
    fprintf(stderr, "tutti tune: %s\n", tutti_error());
    return false;
}

/* ---- Problems ---- */

/* Returns why the nodes of the problem cannot be those of a line of wisdom; NULL if they can. */
static const char *refuse_nodes(struct tuning *t)
{
    struct tt_call call = tt_problem_call(&t->c.problem, 0, t->c.room);
    struct tt_wise wise;
    char layout[TT_WISDOM_LAYOUT];
    if (!t->job && (t->c.problem.map[0] || t->c.map.nodes > 1))
        return "ranks on several nodes must be started by a launcher, as in: mpirun -n 8 --host "
               "h1,h2 tutti tune PROBLEM (or by tutti run, with TUTTI_NODES)";
    if (tt_setting("TUTTI_NETWORK")) return "no line of wisdom has a network (TUTTI_NETWORK)";
    return tt_wisdom_place(&call, &t->c.map, &wise, layout)
               ? NULL
               : "no line of wisdom can name the nodes: the ranks of a node must follow each "
                 "other, and there must not be too many nodes";
}

/* Returns why the problem cannot be tuned; NULL if it can. */
static const char *refusal(struct tuning *t)
{
    const struct tt_problem *p = &t->c.problem;
    const struct tt_call *c = &p->call;
    if (tt_call_counts(c)) return "each rank has counts of its own, which no line of wisdom knows";
    if (c->in_place || c->root || p->seed || c->op >= TUTTI_OP_USER ||
        (tt_coll_has_op(c->coll) && !c->commutes))
        return "a line of wisdom has no root, order, place, seed or operation of a user";
    if (!t->job && p->p > TT_LAUNCH_RANKS) return "more ranks than `tutti run` starts on one host";
    return p->p < 2 ? "one rank has nothing to choose" : refuse_nodes(t);
}

static bool tune_open(struct tuning *t, const char *problem)
{
    find_candidates(t);
    if (t->n == 0) {
        fprintf(stderr, "tutti tune: %s: TUTTI_ALGORITHM forces the choice\n", problem);
        return false;
    }
    if (!time_from(t, problem, 0)) return false;
    int algorithms = t->n;
    add_parameters(t, best_of(t));
    return time_from(t, problem, algorithms) && keep(t, problem, best_of(t));
}

static void tune_problem(struct tuning *t, const char *problem)
{
    const struct tt_common *job = t->job ? t->job->client->seat.common : NULL;
    bool good = tt_case_open(&t->c, "tutti tune", problem, NULL, job);
    t->at++;
    if (!good) {
        t->failed = true;
        return;
    }
    t->c.map.wisdom = NULL;
    t->c.problem.call = t->c.given; /* the call without the parameters that the wisdom has set */
    const char *why = refusal(t);
    if (why) fprintf(stderr, "tutti tune: %s: %s\n", problem, why);
    if (why || !tune_open(t, problem)) t->failed = true;
    tt_case_close(&t->c);
}

/* Records, after printing the error, that no size of --sizes fits the type of the problem. */
static void refuse_sizes(struct tuning *t, const char *text, const struct tt_problem *problem)
{
    fprintf(
        stderr,
        "tutti tune: %s: none of the sizes of --sizes is a multiple of %s, which has %d bytes\n",
        text, tt_type_name(problem->call.type), (int)problem->call.sz);
    t->failed = true;
}

/* Tunes the problem with each size from `first` to `last` that is a multiple of its type. If
 * `first` is 0 or the problem has no size, tunes it only as it is. Returns the number of problems.
 * If `counts` is true, only counts them. */
static int each_size(struct tuning *t, const char *text, int64_t first, int64_t last, bool counts)
{
    struct tt_problem problem;
    char sized[TT_PROBLEM_TEXT];
    int n = 0;
    bool has_sizes = first > 0 && tt_problem_parse(text, &problem, NULL) == TUTTI_OK &&
                     problem.call.coll != TT_COLL_barrier;
    if (!has_sizes) {
        if (!counts) tune_problem(t, text);
        return 1;
    }
    for (int64_t bytes = first; bytes <= last; bytes *= t->a->step) {
        if (bytes % problem.call.sz) continue;
        problem.call.n = problem.n = bytes / problem.call.sz;
        if (!counts) tune_problem(t, tt_problem_print(&problem, sized));
        n++;
    }
    if (n == 0 && !counts) refuse_sizes(t, text, &problem);
    return n;
}

static const char *const usual[] = {"barrier",          "bcast/u8/8",
                                    "reduce/f64/sum/8", "allreduce/f64/sum/8",
                                    "gather/u8/8",      "scatter/u8/8",
                                    "allgather/u8/8",   "alltoall/u8/8",
                                    "scan/f64/sum/8",   "reduce_scatter_block/f64/sum/8"};

/* Tunes all problems of the command line; or, if there are none, the usual ones. Returns the number
 * of problems. If `counts` is true, only counts them. */
static int each_problem(struct tuning *t, bool counts)
{
    const struct tune_arguments *a = t->a;
    char text[TT_PROBLEM_TEXT];
    int n = 0, ranks = a->ranks ? a->ranks : (int)tt_max(2, tt_usable_cores());
    if (t->job) ranks = t->job->ranks;
    int64_t first = a->first_bytes ? a->first_bytes : 8;
    int64_t last = a->last_bytes ? a->last_bytes : 4 << 20;
    for (int i = 0; i < a->problems; i++) {
        const char *given = a->problem[i];
        if (t->job) given = tt_problem_add_ranks(given, ranks, text);
        n += each_size(t, given, a->first_bytes, a->last_bytes, counts);
    }
    for (size_t i = 0; !a->problems && i < sizeof usual / sizeof *usual; i++) {
        snprintf(text, sizeof text, "%s/p%d", usual[i], ranks);
        n += each_size(t, text, first, last, counts);
    }
    return n;
}

/* ---- Command ---- */

static const char doc[] =
    "Times the algorithms that are worth it for each PROBLEM in jobs of ranks on this machine, and "
    "keeps the fastest one in a text file of wisdom, from which later jobs choose. Without a "
    "PROBLEM: for all collectives. If a launcher has started the command as the ranks of a job, as "
    "in mpirun -n 8 tutti tune allreduce/f64/sum/64K, these ranks are timed: a PROBLEM needs no "
    "/pRANKS, and rank 0 prints and keeps. Nothing else should run meanwhile.\v" TT_PROBLEM_HELP
    " Exit status: 0 done, 1 some problem could not be tuned, 2 wrong usage.";

/* Returns whether lines about the nodes of the job may be kept. With TUTTI_NODES, ranks of one
 * machine behave as if they were on several, but their messages are faster. A line does not say so,
 * and jobs on real nodes with as many ranks would use it. So it is kept only in a file that the
 * user names. Returns false after printing the error. */
static bool keeps_nodes(const char *output)
{
    bool keeps = output || tt_setting("TUTTI_WISDOM") || !tt_setting("TUTTI_NODES");
    if (!keeps)
        fprintf(stderr, "tutti tune: TUTTI_NODES changes the times, and later jobs on real nodes "
                        "would use them: name a file by --output or TUTTI_WISDOM\n");
    return keeps;
}

/* Finds the path of the file to which the wisdom is written. Returns false, after printing the
 * error, if there is no such path or the file cannot be read and written. */
static bool find_output(const char *output, char path[TT_FILE_PATH])
{
    char why[TT_FILE_WHY] = "";
    if (!tt_arg_keeps_times("tutti tune", output, "TUTTI_WISDOM", NULL)) return false;
    if (output) {
        snprintf(path, TT_FILE_PATH, "%s", output);
    } else if (!tt_wisdom_path(path, why)) {
        fprintf(stderr, "tutti tune: there is no file to write: %s; --output names one\n", why);
        return false;
    }
    if (!tt_write_spares("tutti tune", path, NULL, "TUTTI_WISDOM")) return false;
    bool good = tt_file_try(path) == TUTTI_OK;
    if (!good) fprintf(stderr, "tutti tune: %s\n", tutti_error());
    if (good && !(good = tt_wisdom_takes_lines(path, why)))
        fprintf(stderr, "tutti tune: %s\n", why);
    return good;
}

/* Returns whether each argument PROBLEM is a problem that the ranks can run. Prints the error of
 * the first one that is not. */
static bool are_problems(const struct tuning *t)
{
    struct tt_problem problem;
    char with[TT_PROBLEM_TEXT];
    bool good = true;
    for (int i = 0; good && i < t->a->problems; i++) {
        const char *text = t->a->problem[i];
        good = t->job ? tt_problem_open_in_job("tutti tune", &problem, text, t->job->ranks, with)
                      : tt_problem_open("tutti tune", &problem, text);
    }
    return good;
}

/* Parses the arguments of the process into *a. Exits after an error, which it prints. */
static void read_arguments(struct tune_arguments *a)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[PROBLEM...]", .doc = doc};
    tt_arg_parse(&argp, a->argc, a->argv, 0, a);
    if (!a->output && a->wisdom[0]) a->output = a->wisdom;
}

/* Reads the arguments and tunes the problems, in jobs that this function starts or, if `job` is not
 * NULL, as rank 0 of that job. Returns the exit code. */
static int tune(struct tt_bench_job *job, void *arg)
{
    struct tuning t = {.a = arg, .job = job};
    read_arguments(arg);
    if (job && t.a->ranks) {
        fprintf(stderr, "tutti tune: not in a job that a launcher has started: --ranks: the "
                        "launcher has started the ranks\n");
        return TT_EXIT_USAGE;
    }
    if (!are_problems(&t)) return TT_EXIT_USAGE;
    if ((job && !keeps_nodes(t.a->output)) || !find_output(t.a->output, t.path))
        return TT_EXIT_FAILED;
    if (!job) setenv("TUTTI_WISDOM", "0", 1); /* the jobs that measure use no wisdom */
    t.of = each_problem(&t, true);
    printf("%-32s %-24s %12s  %s\n", "problem", "the fastest", "us", "others, us");
    each_problem(&t, false);
    printf(t.kept > 0 ? "written to %s\n" : "nothing was written to %s\n", t.path);
    return t.failed ? TT_EXIT_FAILED : TT_EXIT_OK;
}

/* Keeps the name of the file that TUTTI_WISDOM names, which is the default of --output. Then
 * switches the setting off, so that ranks do not warn if the file does not exist yet. */
static void take_wisdom(struct tune_arguments *a)
{
    const char *named = getenv("TUTTI_WISDOM"); /* tt_setting would keep the value */
    if (!named || !*named || strcmp(named, "0") == 0) return;
    snprintf(a->wisdom, sizeof a->wisdom, "%s", named);
    setenv("TUTTI_WISDOM", "0", 1);
}

int tt_tune_main(int argc, char **argv)
{
    struct tune_arguments a = {.argc = argc,
                               .argv = argv,
                               .problem = tt_calloc((size_t)argc, sizeof *a.problem),
                               .step = 4,
                               .time_ns = 50000000};
    if (!a.problem) return TT_EXIT_FAILED;
    take_wisdom(&a);
    int code;
    if (!tt_bench_as_rank(tune, &a, &code)) code = tune(NULL, &a);
    tt_free(a.problem);
    return code;
}
