/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti bench`: runs every problem with every size and algorithm that the user asks for, one case
 * after the other. In a job that a launcher has started, this is done by rank 0.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench-job.h"
#include "bench-random.h"
#include "launch.h"
#include "coll/coll.h"
#include "command.h"
#include "json.h"
#include "problem.h"
#include "write.h"

enum {
    OPTION_SIZES = 256,
    OPTION_THREADS,
    OPTION_JSON,
    OPTION_ITERATIONS,
    OPTION_TIME,
    OPTION_BATCH,
    OPTION_PLAN,
    OPTION_RANDOM,
    OPTION_SEED,
    OPTION_GAPS,
    OPTION_REVERSED,
    OPTION_BESIDE,
    OPTION_NODES,
    OPTION_IDENTITIES
};

struct bench_arguments {
    int argc; /* the arguments as they were given */
    char **argv, **problem;
    int problems;
    const char *algorithm, *json, *plan;
    struct tt_plan_row row; /* the plans of the plan file */
    /* the sizes to run, from first_bytes to last_bytes; 0 if each problem is run with its own
     * size */
    int64_t first_bytes, last_bytes;
    int64_t time_ns, batch_ns, iterations;
    /* random_ns: how long to verify random problems; 0: --random was not given */
    int64_t random_ns, seed;
    bool gaps, reversed, beside, identities;
    int threads;       /* struct tt_bench_case */
    const char *nodes; /* the value of --nodes; NULL if the ranks are on one node */
    /* the launcher's job whose ranks run the cases; NULL: ranks are started for each case */
    struct tt_bench_job *job;
};

/* The results of the cases so far. */
struct bench_outcome {
    const struct bench_arguments *a;
    cJSON *rows;
    bool table; /* print the table; false if JSON goes to stdout */
    bool failed;
    int measured; /* how many cases of the current problem were measured */
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME|all", 0,
     "time this algorithm, or each (default: the one that the library chooses)", 0},
    {"plan", OPTION_PLAN, "FILE", 0, TT_PLAN_OPTION_HELP, 0},
    {"sizes", OPTION_SIZES, "FIRST:LAST", 0,
     "time with BYTES from FIRST to LAST, doubled each time, as in 8:4M", 0},
    {"threads", OPTION_THREADS, "N", OPTION_ARG_OPTIONAL,
     "make the ranks threads of one process, or of processes with N threads each", 0},
    {"gaps", OPTION_GAPS, NULL, 0,
     "verify a call on a derived type, with gaps between the elements", 0},
    {"reversed", OPTION_REVERSED, NULL, 0, "call on a team with the ranks in reverse order", 0},
    {"beside", OPTION_BESIDE, NULL, 0,
     "start twice the ranks, and call on two teams of every other rank at the same time", 0},
    {"nodes", OPTION_NODES, "N,N...", 0,
     "have ranks that are processes behave as on several nodes, by TUTTI_NODES", 0},
    {"identities", OPTION_IDENTITIES, NULL, 0,
     "verify the call also against other collectives, as an allreduce against a reduce and a bcast",
     0},
    {"json", OPTION_JSON, "FILE|-", 0,
     "write the rows as a JSON array to FILE (-: standard output, instead of the table)", 0},
    {"iterations", OPTION_ITERATIONS, "N", 0,
     "time N calls, instead of calls for the seconds of --time", 0},
    {"time", OPTION_TIME, "S", 0, "time each row for about S seconds (default: 0.3)", 0},
    {"batch", OPTION_BATCH, "S", 0,
     "time batches of calls that take about S seconds (default: 0.001); shorter ones are disturbed "
     "less often on a busy machine",
     0},
    {"random", OPTION_RANDOM, "S", 0,
     "instead of a PROBLEM, verify problems that are drawn at random, for about S seconds, and "
     "stop "
     "at the first wrong result",
     0},
    {"seed", OPTION_SEED, "N", 0, "draw other problems (default: 1)", 0},
    {0},
};

static void read_sizes(const struct argp_state *state, struct bench_arguments *a, const char *text)
{
    const char *colon = strchr(text, ':');
    const char *end = text + strlen(text), *first_end = colon ? colon : end;
    if (!tt_parse_size(text, first_end, &a->first_bytes) || a->first_bytes < 1 ||
        !tt_parse_size(colon ? colon + 1 : text, end, &a->last_bytes) ||
        a->last_bytes < a->first_bytes || a->last_bytes > INT64_C(1) << 40)
        argp_error(state, "--sizes: '%s' is not FIRST:LAST, as in 8:4M", text);
}

static void read_threads(const struct argp_state *state, struct bench_arguments *a,
                         const char *text)
{
    a->threads =
        text ? (int)tt_arg_number(state, "--threads", text, 1, TT_LAUNCH_RANKS) : TT_BENCH_ALL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case OPTION_SIZES: read_sizes(state, a, arg); return 0;
    case OPTION_THREADS: read_threads(state, a, arg); return 0;
    case OPTION_GAPS: a->gaps = true; return 0;
    case OPTION_REVERSED: a->reversed = true; return 0;
    case OPTION_BESIDE: a->beside = true; return 0;
    case OPTION_NODES: a->nodes = arg; return 0;
    case OPTION_IDENTITIES: a->identities = true; return 0;
    case OPTION_JSON: a->json = arg; return 0;
    case OPTION_ITERATIONS:
        a->iterations = tt_arg_number(state, "--iterations", arg, 1, 1 << 30);
        return 0;
    case OPTION_TIME: a->time_ns = tt_arg_seconds(state, "--time", arg); return 0;
    case OPTION_BATCH: a->batch_ns = tt_arg_seconds(state, "--batch", arg); return 0;
    case OPTION_PLAN: a->plan = arg; return 0;
    case OPTION_RANDOM: a->random_ns = tt_arg_seconds(state, "--random", arg); return 0;
    case OPTION_SEED: a->seed = tt_arg_number(state, "--seed", arg, 0, INT32_MAX); return 0;
    case ARGP_KEY_ARGS:
        a->problem = state->argv + state->next;
        a->problems = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (a->random_ns && (a->problems || a->plan))
            argp_error(state, "--random: draws its problems itself, and takes none");
        if (a->nodes && a->threads)
            argp_error(state, "--nodes: with --threads, set TUTTI_NODES for the whole command");
        if (!a->problems && !a->plan && !a->random_ns)
            argp_error(state, "the problem is missing (as in allreduce/f64/sum/1M/p16)");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- One case: a row of the table ---- */

static bool wants_all(const struct bench_arguments *a)
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

/* Shows the name of the current case when the case begins, and erases it when the case ends. Does
 * nothing unless stderr is a terminal. */
static void show_progress(const char *problem, const char *algorithm, bool begins)
{
    if (!isatty(STDERR_FILENO)) return;
    if (begins)
        fprintf(stderr, "%s %s ...", problem, algorithm ? algorithm : "");
    else
        fprintf(stderr, "\r\033[K");
}

/* Reports that an algorithm does not apply: as a row of the table if the user asked for all
 * algorithms, otherwise as an error. */
static void take_refusal(struct bench_outcome *o, const char *problem, struct tt_bench_result *r,
                         const char *algorithm)
{
    snprintf(r->algorithm, sizeof r->algorithm, "%s", algorithm ? algorithm : "-");
    if (wants_all(o->a)) {
        if (o->table) print_row(problem, r);
        return;
    }
    o->failed = true;
    if (algorithm && *algorithm != '@')
        fprintf(stderr, "tutti bench: %s: --algorithm %s does not apply: %s\n", problem, algorithm,
                r->why);
    else
        fprintf(stderr, "tutti bench: %s: %s\n", problem, r->why);
}

static bool run_job(const struct bench_arguments *a, const struct tt_bench_case *c,
                    struct tt_bench_result *result)
{
    *result = (struct tt_bench_result){0};
    return c->threads == TT_BENCH_ALL ? tt_bench_threads(c, result)
                                      : tt_bench_processes(a->job, c, result);
}

static void run_case(struct bench_outcome *o, const struct tt_problem *problem,
                     const char *algorithm)
{
    char text[TT_PROBLEM_TEXT];
    struct tt_bench_result result;
    struct tt_bench_case c = {.problem = *problem,
                              .algorithm = algorithm,
                              .time_ns = o->a->time_ns,
                              .batch_ns = o->a->batch_ns,
                              .iterations = o->a->iterations,
                              .gaps = o->a->gaps,
                              .reversed = o->a->reversed,
                              .beside = o->a->beside,
                              .identities = o->a->identities,
                              .threads = o->a->threads};
    tt_problem_print(problem, text);
    show_progress(text, algorithm, true);
    bool good = run_job(o->a, &c, &result);
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

/* ---- All cases ---- */

static void run_algorithms(struct bench_outcome *o, const struct tt_problem *problem)
{
    if (!wants_all(o->a)) {
        run_case(o, problem, o->a->algorithm);
        return;
    }
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll == problem->call.coll) run_case(o, problem, (*a)->name);
    }
}

static bool has_sizes(const struct bench_arguments *a, const struct tt_problem *problem)
{
    return a->first_bytes > 0 && problem->call.coll != TT_COLL_barrier;
}

static void run_sizes(struct bench_outcome *o, struct tt_problem problem)
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

/* Returns which part of a problem cannot be timed in jobs that this command starts, as a text for
 * an error; NULL if all of it can. */
static const char *unfit(const struct tt_problem *problem)
{
    if (problem->map[0] && !tt_network_is_one(problem->map))
        return "a map of nodes: all ranks are on this machine (TUTTI_NODES=4,2 has them behave as "
               "on "
               "several)";
    if (problem->p > TT_LAUNCH_RANKS) return "that many ranks (4096 is the most)";
    _Static_assert(TT_LAUNCH_RANKS == 4096, "the text above");
    return NULL;
}

/* Returns whether at least one of the sizes that the user gave is a multiple of the size of the
 * problem's type; otherwise prints an error. */
static bool sizes_fit(const struct bench_arguments *a, const char *text,
                      const struct tt_problem *problem)
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

/* Returns whether the plan file can be parsed for the problem; otherwise prints the error. */
static bool plans_fit(const struct bench_arguments *a, const struct tt_problem *problem)
{
    struct tt_plan_row row = {.file = a->row.file};
    bool good = tt_plan_row_make(&row, "tutti bench", problem);
    /* `a` owns the file, so tt_plan_row_close must not close it */
    row.file = (struct tt_plan_file){0};
    tt_plan_row_close(&row);
    return good;
}

static bool open_problem(const struct bench_arguments *a, const char *text,
                         struct tt_problem *problem)
{
    char with[TT_PROBLEM_TEXT];
    bool opened = a->job ? tt_problem_open_in_job("tutti bench", problem, text, a->job->ranks, with)
                         : tt_problem_open("tutti bench", problem, text);
    if (!opened) return false;
    const char *why = a->job ? NULL : unfit(problem);
    if (why) fprintf(stderr, "tutti bench: %s: cannot be timed with %s\n", text, why);
    if (why || !sizes_fit(a, text, problem)) return false;
    if (a->plan) return plans_fit(a, problem);
    if (!a->algorithm || wants_all(a)) return true;
    return tt_algorithm_named("tutti bench", problem->call.coll, a->algorithm) != NULL;
}

/* Checks all problems before the first of them runs, also that the results are not written to a
 * file that is read. */
static bool all_fit(const struct bench_arguments *a)
{
    struct tt_problem problem;
    for (int i = 0; i < a->problems; i++) {
        if (!open_problem(a, a->problem[i], &problem) ||
            !tt_write_spares("tutti bench", a->json, problem.map, NULL))
            return false;
    }
    return tt_write_apart("tutti bench", a->json, a->plan);
}

/* Runs one problem with each of its sizes and algorithms. If no algorithm applies, this is an
 * error, even with --algorithm all. */
static void run_problem(struct bench_outcome *o, const char *text)
{
    struct tt_problem problem;
    if (!open_problem(o->a, text, &problem)) return;
    o->measured = 0;
    run_sizes(o, problem);
    if (o->measured > 0 || o->failed) return;
    fprintf(stderr, "tutti bench: %s: no algorithm applies\n", text);
    o->failed = true;
}

static int run_all(const struct bench_arguments *a)
{
    struct bench_outcome o = {.a = a, .table = !a->json || strcmp(a->json, "-") != 0};
    if (a->json) o.rows = cJSON_CreateArray();
    if (o.table)
        printf("%-34s %-14s %12s %12s %12s %10s\n", "problem", "algorithm", "min us", "median us",
               "p99 us", "iterations");
    for (int i = 0; i < a->problems; i++) run_problem(&o, a->problem[i]);
    if (a->json && !tt_json_write("tutti bench", o.rows, a->json)) o.failed = true;
    return o.failed ? TT_EXIT_FAILED : TT_EXIT_OK;
}

static int bench_problems(const struct bench_arguments *a)
{
    if (!all_fit(a)) return TT_EXIT_USAGE;
    if (a->json && !tt_write_try("tutti bench", a->json)) return TT_EXIT_FAILED;
    return run_all(a);
}

/* ---- A plan file ---- */

/* Returns the name by which the ranks open the plan file: @ and a path. The path is that of the
 * file, or of a copy in memory if the file cannot be opened again (standard input) or its path has
 * a comma, which separates the entries of TUTTI_ALGORITHM. Returns NULL after printing the
 * error. */
static char *name_of_plan(const struct bench_arguments *a)
{
    char *name = NULL;
    const char *text = a->row.file.text;
    if (strcmp(a->plan, "-") != 0 && !strchr(a->plan, ','))
        return asprintf(&name, "@%s", a->plan) < 0 ? NULL : name;
    int fd = memfd_create("tutti-plan", 0);
    ssize_t n = (ssize_t)strlen(text);
    if (fd >= 0 && write(fd, text, (size_t)n) == n && asprintf(&name, "@/proc/self/fd/%d", fd) >= 0)
        return name;
    perror("tutti bench: a copy of the plan file");
    return NULL;
}

/* Opens the plan file. If the user gives no problem, uses the problem that the file names. */
static int bench_plan(struct bench_arguments *a)
{
    const char *problem = a->problems ? a->problem[0] : NULL;
    char *name = NULL;
    int code = TT_EXIT_USAGE;
    if (tt_plan_or_algorithm("tutti bench", a->plan, a->algorithm) &&
        tt_plan_row_open(&a->row, "tutti bench", a->plan, &problem)) {
        char *one[] = {(char *)problem};
        if (a->problems == 0) {
            a->problem = one;
            a->problems = 1;
        }
        name = name_of_plan(a);
        a->algorithm = name;
        code = name ? bench_problems(a) : TT_EXIT_FAILED;
    }
    free(name);
    tt_plan_row_close(&a->row);
    return code;
}

/* ---- Random problems ---- */

/* Sets TUTTI_NODES, so that the ranks of the jobs that are started from now on behave as if they
 * were on these nodes; or, if `nodes` is NULL, unsets it. */
static bool use_nodes(const char *nodes)
{
    int failed = nodes ? setenv("TUTTI_NODES", nodes, 1) : unsetenv("TUTTI_NODES");
    if (failed) perror("tutti bench: TUTTI_NODES");
    return !failed;
}

/* Prints a case as the arguments of `tutti bench` that repeat the case. */
static void print_case(FILE *file, const struct tt_bench_case *c, const char *nodes)
{
    char text[TT_PROBLEM_TEXT];
    if (c->threads == TT_BENCH_ALL) fprintf(file, "--threads ");
    if (c->threads > 0 && c->threads < TT_BENCH_ALL) fprintf(file, "--threads=%d ", c->threads);
    fprintf(file, "%s%s%s%s", c->gaps ? "--gaps " : "", c->reversed ? "--reversed " : "",
            c->beside ? "--beside " : "", c->identities ? "--identities " : "");
    if (nodes) fprintf(file, "--nodes %s ", nodes);
    if (c->algorithm) fprintf(file, "--algorithm %s ", c->algorithm);
    fprintf(file, "%s\n", tt_problem_print(&c->problem, text));
    fflush(file);
}

/* Verifies problem i of the seed. Prints it first, so that the last line of the output names the
 * problem if the program hangs or dies. If the drawn algorithm does not apply, the library chooses
 * the algorithm. */
static bool run_drawn(const struct bench_arguments *a, uint64_t i)
{
    struct tt_drawn drawn;
    struct tt_bench_result result;
    char text[TT_PROBLEM_TEXT];
    tt_bench_draw(&drawn, (uint64_t)a->seed, i);
    const char *nodes = drawn.nodes[0] && !a->threads ? drawn.nodes : NULL;
    struct tt_bench_case c = {.algorithm = drawn.algorithm,
                              .iterations = 1,
                              .gaps = drawn.gaps,
                              .reversed = drawn.reversed,
                              .beside = drawn.beside && !nodes,
                              .identities = true,
                              .threads = a->threads ? a->threads : drawn.threads};
    if (!use_nodes(nodes)) return false;
    if (!tt_problem_open("tutti bench", &c.problem, tt_problem_print(&drawn.problem, text)))
        return false;
    print_case(stdout, &c, nodes);
    bool good = run_job(a, &c, &result);
    if (good && result.refused && c.algorithm) {
        c.algorithm = NULL;
        good = run_job(a, &c, &result);
    }
    if (good && result.refused) fprintf(stderr, "tutti bench: %s: %s\n", text, result.why);
    if (good && !result.refused) return true;
    fprintf(stderr, "tutti bench: repeat with: tutti bench --iterations 1 ");
    print_case(stderr, &c, nodes);
    return false;
}

static int bench_random(const struct bench_arguments *a)
{
    int64_t end = tt_clock_ns() + a->random_ns;
    uint64_t i = 0;
    bool good = true;
    while (good && tt_clock_ns() < end) good = run_drawn(a, i++);
    if (good) printf("%" PRIu64 " problems of seed %" PRId64 " are right\n", i, a->seed);
    return good ? TT_EXIT_OK : TT_EXIT_FAILED;
}

/* ---- Command ---- */

static int bench(struct bench_arguments *a)
{
    return a->plan ? bench_plan(a) : bench_problems(a);
}

/* Parses the arguments of the process into *a. Exits after an error, which it prints. */
static void read_arguments(struct bench_arguments *a)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM...\n--plan FILE [PROBLEM...]\n--random S",
        .doc = "Starts a problem's ranks, verifies its results, and times it: batches of calls "
               "without a barrier, each call with other buffers, each batch by its slowest rank. "
               "If a launcher has started the command as the ranks of a job, as in mpirun -n 8 "
               "tutti bench allreduce/f64/sum/64K, these ranks are timed: the problem "
               "needs no /pRANKS, and rank 0 prints.\v" TT_PROBLEM_HELP,
    };
    tt_arg_parse(&argp, a->argc, a->argv, 0, a);
}

/* Returns which option makes no sense in a launcher's job, and why; NULL: all make sense. */
static const char *misplaced(const struct bench_arguments *a)
{
    if (a->threads) return "--threads: the ranks are the processes that the launcher has started";
    if (a->beside) return "--beside: it starts twice the ranks, but the launcher has started them";
    if (a->nodes) return "--nodes: set TUTTI_NODES for all ranks instead";
    if (a->random_ns) return "--random: it also draws the number of ranks";
    if (a->plan && (strcmp(a->plan, "-") == 0 || strchr(a->plan, ',')))
        return "--plan: each rank opens the file, so its path must have no comma and not be -";
    return NULL;
}

/* Runs the command as rank 0 of a launcher's job. */
static int lead(struct tt_bench_job *job, void *arg)
{
    struct bench_arguments *a = arg;
    read_arguments(a);
    const char *why = misplaced(a);
    a->job = job;
    if (!why) return bench(a);
    fprintf(stderr, "tutti bench: not in a job that a launcher has started: %s\n", why);
    return TT_EXIT_USAGE;
}

int tt_bench_main(int argc, char **argv)
{
    struct bench_arguments arguments = {
        .argc = argc, .argv = argv, .time_ns = 300000000, .seed = 1};
    int code;
    if (tt_bench_as_rank(lead, &arguments, &code)) return code;
    read_arguments(&arguments);
    if (arguments.random_ns) return bench_random(&arguments);
    if (arguments.nodes && !use_nodes(arguments.nodes)) return TT_EXIT_FAILED;
    return bench(&arguments);
}
