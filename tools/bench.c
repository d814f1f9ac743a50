/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti bench`: every problem with every size and algorithm asked for, one case after the other.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench-job.h"
#include "boot/launch.h"
#include "coll/coll.h"
#include "command.h"
#include "json.h"
#include "problem.h"

enum { OPTION_SIZES = 256, OPTION_THREADS, OPTION_JSON, OPTION_ITERATIONS, OPTION_TIME };

struct arguments {
    char **problem;
    int problems;
    const char *algorithm, *json;
    int64_t first_bytes, last_bytes; /* 0: as the problem says */
    int64_t time_ns, iterations;
    bool threads;
};

/* What the cases have come to. */
struct outcome {
    const struct arguments *a;
    cJSON *rows;
    bool table; /* printed; not when JSON goes to the same place */
    bool failed;
    int measured; /* rows of the problem under way */
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME|all", 0, "this algorithm, or each (default: the one that is chosen)",
     0},
    {"sizes", OPTION_SIZES, "FIRST:LAST", 0, "with these BYTES and each doubling between", 0},
    {"threads", OPTION_THREADS, NULL, 0, "ranks are threads of one process", 0},
    {"json", OPTION_JSON, "FILE|-", 0, "write the rows as a JSON array", 0},
    {"iterations", OPTION_ITERATIONS, "N", 0, "how many calls are timed", 0},
    {"time", OPTION_TIME, "S", 0, "or how long, in seconds, for each row (default: 0.3)", 0},
    {0},
};

static void read_sizes(const struct argp_state *state, struct arguments *a, const char *text)
{
    const char *colon = strchr(text, ':');
    const char *end = text + strlen(text), *first_end = colon ? colon : end;
    if (!tt_parse_size(text, first_end, &a->first_bytes) || a->first_bytes < 1 ||
        !tt_parse_size(colon ? colon + 1 : text, end, &a->last_bytes) ||
        a->last_bytes < a->first_bytes || a->last_bytes > INT64_C(1) << 40)
        argp_error(state, "--sizes: '%s' is not FIRST:LAST, as in 8:4M", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case OPTION_SIZES: read_sizes(state, a, arg); return 0;
    case OPTION_THREADS: a->threads = true; return 0;
    case OPTION_JSON: a->json = arg; return 0;
    case OPTION_ITERATIONS:
        a->iterations = tt_arg_number(state, "--iterations", arg, 1, 1 << 30);
        return 0;
    case OPTION_TIME: a->time_ns = tt_arg_seconds(state, "--time", arg); return 0;
    case ARGP_KEY_ARGS:
        a->problem = state->argv + state->next;
        a->problems = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which problem? (as in allreduce/f64/sum/1M/p16)");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- One row ---- */

static bool wants_all(const struct arguments *a)
{
    return a->algorithm && strcmp(a->algorithm, "all") == 0;
}

static void print_row(const char *problem, const struct tt_bench_result *r)
{
    if (r->refused)
        printf("%-34s %-14s does not apply: %s\n", problem, r->algorithm, r->why);
    else
        printf("%-34s %-14s %12.3f %12.3f %12.3f %10" PRId64 "\n", problem, r->algorithm, r->min_us,
               r->median_us, r->p99_us, r->iterations);
    fflush(stdout);
}

static void add_row(cJSON *rows, const char *problem, const struct tt_bench_case *c,
                    const struct tt_bench_result *r)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddStringToObject(row, "algorithm", r->algorithm);
    cJSON_AddNumberToObject(row, "ranks", c->problem.p);
    cJSON_AddNumberToObject(row, "bytes", (double)(c->problem.n * c->problem.call.sz));
    cJSON_AddNumberToObject(row, "min_us", r->min_us);
    cJSON_AddNumberToObject(row, "median_us", r->median_us);
    cJSON_AddNumberToObject(row, "p99_us", r->p99_us);
    cJSON_AddNumberToObject(row, "iterations", (double)r->iterations);
    cJSON_AddItemToArray(rows, row);
}

/* The case under way, on a terminal only; erased again. */
static void show_progress(const char *problem, const char *algorithm, bool begins)
{
    if (!isatty(STDERR_FILENO)) return;
    if (begins)
        fprintf(stderr, "%s %s ...", problem, algorithm ? algorithm : "");
    else
        fprintf(stderr, "\r\033[K");
}

/* Of all algorithms some need not apply; the one that was asked for by its name must. */
static void take_refusal(struct outcome *o, const char *problem, struct tt_bench_result *r,
                         const char *algorithm)
{
    snprintf(r->algorithm, sizeof r->algorithm, "%s", algorithm ? algorithm : "-");
    if (wants_all(o->a)) {
        if (o->table) print_row(problem, r);
        return;
    }
    o->failed = true;
    if (algorithm)
        fprintf(stderr, "tutti bench: %s: --algorithm %s does not apply: %s\n", problem, algorithm,
                r->why);
    else
        fprintf(stderr, "tutti bench: %s: %s\n", problem, r->why);
}

static void run_case(struct outcome *o, const struct tt_problem *problem, const char *algorithm)
{
    char text[TT_PROBLEM_TEXT];
    struct tt_bench_result result = {0};
    struct tt_bench_case c = {.problem = *problem,
                              .algorithm = algorithm,
                              .time_ns = o->a->time_ns,
                              .iterations = o->a->iterations};
    tt_problem_print(problem, text);
    show_progress(text, algorithm, true);
    bool good = o->a->threads ? tt_bench_threads(&c, &result) : tt_bench_processes(&c, &result);
    show_progress(text, algorithm, false);
    o->failed = o->failed || !good;
    if (!good) return;
    if (result.refused) {
        take_refusal(o, text, &result, algorithm);
        return;
    }
    o->measured++;
    if (o->table) print_row(text, &result);
    if (o->rows) add_row(o->rows, text, &c, &result);
}

/* ---- All of them ---- */

static void run_algorithms(struct outcome *o, const struct tt_problem *problem)
{
    if (!wants_all(o->a)) {
        run_case(o, problem, o->a->algorithm);
        return;
    }
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll == problem->call.coll) run_case(o, problem, (*a)->name);
    }
}

static bool has_sizes(const struct arguments *a, const struct tt_problem *problem)
{
    return a->first_bytes > 0 && problem->call.coll != TT_COLL_barrier;
}

static void run_sizes(struct outcome *o, struct tt_problem problem)
{
    int64_t sz = problem.call.sz;
    if (!has_sizes(o->a, &problem)) {
        run_algorithms(o, &problem);
        return;
    }
    for (int64_t bytes = o->a->first_bytes; bytes <= o->a->last_bytes; bytes *= 2) {
        if (bytes % sz != 0) continue;
        problem.n = bytes / sz;
        if (!tt_call_counts(&problem.call)) problem.call.n = problem.n;
        run_algorithms(o, &problem);
    }
}

/* What cannot be had here; NULL: nothing. */
static const char *unfit(const struct tt_problem *problem)
{
    if (problem->map[0] && !tt_network_is_one(problem->map))
        return "a map of nodes: all ranks are on this machine (TUTTI_NODES=4,2 has them behave as "
               "on "
               "several)";
    if (problem->p > TT_LAUNCH_RANKS) return "that many ranks";
    return NULL;
}

/* Whether one of the sizes is a multiple of the problem's type; else says so. */
static bool sizes_fit(const struct arguments *a, const char *text, const struct tt_problem *problem)
{
    if (!has_sizes(a, problem)) return true;
    for (int64_t bytes = a->first_bytes; bytes <= a->last_bytes; bytes *= 2) {
        if (bytes % problem->call.sz == 0) return true;
    }
    fprintf(stderr,
            "tutti bench: %s: --sizes: none of %" PRId64 " and its doublings up to %" PRId64
            " is a multiple of the type's %" PRId64 " bytes\n",
            text, a->first_bytes, a->last_bytes, (int64_t)problem->call.sz);
    return false;
}

static bool open_problem(const struct arguments *a, const char *text, struct tt_problem *problem)
{
    if (!tt_problem_open(problem, text)) return false;
    const char *why = unfit(problem);
    if (why) fprintf(stderr, "tutti bench: %s: cannot be timed with %s\n", text, why);
    if (why || !sizes_fit(a, text, problem)) return false;
    if (!a->algorithm || wants_all(a)) return true;
    return tt_algorithm_named("tutti bench", problem->call.coll, a->algorithm) != NULL;
}

/* All problems are looked at before the first is run. */
static bool all_fit(const struct arguments *a)
{
    struct tt_problem problem;
    for (int i = 0; i < a->problems; i++) {
        if (!open_problem(a, a->problem[i], &problem)) return false;
    }
    return true;
}

/* With all algorithms too, one at least must have been measured. */
static void run_problem(struct outcome *o, const char *text)
{
    struct tt_problem problem;
    if (!open_problem(o->a, text, &problem)) return;
    o->measured = 0;
    run_sizes(o, problem);
    if (o->measured > 0 || o->failed) return;
    fprintf(stderr, "tutti bench: %s: no algorithm applies\n", text);
    o->failed = true;
}

static int run_all(const struct arguments *a)
{
    struct outcome o = {.a = a, .table = !a->json || strcmp(a->json, "-") != 0};
    if (a->json) o.rows = cJSON_CreateArray();
    if (o.table)
        printf("%-34s %-14s %12s %12s %12s %10s\n", "problem", "algorithm", "min us", "median us",
               "p99 us", "iterations");
    for (int i = 0; i < a->problems; i++) run_problem(&o, a->problem[i]);
    if (a->json && !tt_json_write(o.rows, a->json)) o.failed = true;
    return o.failed ? TT_EXIT_FAILED : TT_EXIT_OK;
}

int tt_bench_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM...",
        .doc = "Starts a problem's ranks, verifies its results, and times it: batches of calls "
               "without a "
               "barrier, each call with other buffers, each batch by its slowest "
               "rank.\v" TT_PROBLEM_HELP,
    };
    struct arguments arguments = {.time_ns = 300000000};
    tt_arg_parse(&argp, argc, argv, 0, &arguments);
    if (!all_fit(&arguments)) return TT_EXIT_USAGE;
    if (arguments.json && !tt_json_writable(arguments.json)) return TT_EXIT_FAILED;
    return run_all(&arguments);
}
