/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti sim`: simulates the plans of a problem under a model of the network.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/simulate.h"
#include "command.h"
#include "json.h"
#include "model.h"
#include "picture.h"
#include "problem.h"
#include "write.h"

enum { OPTION_JSON = 256, OPTION_TRACE, OPTION_PLAN };

struct sim_arguments {
    const char *text, *algorithms, *json, *trace, *plan;
    struct tt_model_options model_options;
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME,...|all", 0, "simulate these (default: all that apply)", 0},
    {"plan", OPTION_PLAN, "FILE", 0, TT_PLAN_OPTION_HELP, 0},
    {"json", OPTION_JSON, "FILE", 0,
     "write the results as a JSON array to FILE instead of the table (-: standard output)", 0},
    {"trace", OPTION_TRACE, "FILE", 0,
     "write what each rank does when, for Perfetto or `tutti draw --trace`, to FILE; for one "
     "algorithm (default: the one that the library would choose)",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sim_arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithms = arg; return 0;
    case OPTION_JSON: a->json = arg; return 0;
    case OPTION_TRACE: a->trace = arg; return 0;
    case OPTION_PLAN: a->plan = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->text) argp_error(state, "'%s': only one problem at a time", arg);
        a->text = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->text && !a->plan)
            argp_error(state, "the problem is missing (as in alltoall/u8/1K/p16@torus:4x4)");
        return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model_options; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- One algorithm ---- */

struct sim_run {
    const char *name;
    int64_t expected; /* the expected number of messages; -1 if it is not known */
    struct timespec begun;
    double next; /* progress is shown next when this many seconds have passed since the begin */
    bool terminal, shown;
};

/* On a terminal, progress is first shown after a second, and each line replaces the one before.
 * Otherwise the first line is printed after FIRST seconds, and each further line when twice as much
 * time has passed as at the line before, so that a log stays short. */
enum { FIRST = 5 };

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

/* Prints "[=====>        ]  40 %, ". */
static void print_bar(double part)
{
    enum { WIDTH = 24 };
    char bar[WIDTH + 1] = "";
    int done = (int)(part * WIDTH);
    memset(bar, ' ', WIDTH);
    memset(bar, '=', (size_t)done);
    if (done < WIDTH) bar[done] = '>';
    fprintf(stderr, "[%s] %3.0f %%, ", bar, 100 * part);
}

static void print_bar_line(const struct sim_run *run, double seconds, int64_t messages)
{
    double n = (double)messages;
    fprintf(stderr, "\r\033[K%s ", run->name);
    if (run->expected > 0) print_bar(fmin(1, n / (double)run->expected));
    fprintf(stderr, "%.2f million messages a second", 1e-6 * n / seconds);
    if (run->expected > messages && messages > 0)
        fprintf(stderr, ", %.0f s left", seconds * ((double)run->expected / n - 1));
}

static void print_log_line(const struct sim_run *run, double seconds, int64_t messages)
{
    fprintf(stderr, "tutti sim: %s: %.1f million messages", run->name, 1e-6 * (double)messages);
    if (run->expected > 0)
        fprintf(stderr, " of %.1f (%.0f %%)", 1e-6 * (double)run->expected,
                100 * fmin(1, (double)messages / (double)run->expected));
    fprintf(stderr, " after %.0f s\n", seconds);
}

static void progress(void *arg, int ended, int64_t messages)
{
    struct sim_run *run = arg;
    double seconds = seconds_since(&run->begun);
    (void)ended;
    if (seconds < run->next) return;
    run->next = run->terminal ? seconds + 0.1 : 2 * seconds;
    if (run->terminal)
        print_bar_line(run, seconds, messages);
    else
        print_log_line(run, seconds, messages);
    run->shown = run->terminal;
}

static struct tt_simulation simulation_of(const struct sim_arguments *a, const struct tt_case *c,
                                          const struct tt_algorithm *algorithm)
{
    return (struct tt_simulation){.algorithm = algorithm,
                                  .file = tt_plan_row_file(algorithm),
                                  .problem = &c->problem,
                                  .map = &c->map,
                                  .model = &a->model_options.model};
}

static tutti_status simulate(const struct sim_arguments *a, const struct tt_case *c,
                             const struct tt_algorithm *algorithm, struct tt_sim_result *result)
{
    struct tt_simulation simulation = simulation_of(a, c, algorithm);
    bool terminal = isatty(STDERR_FILENO);
    struct sim_run run = {
        .name = algorithm->name, .terminal = terminal, .next = terminal ? 1 : FIRST};
    simulation.progress = progress;
    simulation.arg = &run;
    run.expected = tt_simulation_messages(&simulation);
    clock_gettime(CLOCK_MONOTONIC, &run.begun);
    tutti_status status = tt_simulate(&simulation, result);
    if (run.shown) fprintf(stderr, "\r\033[K");
    return status;
}

/* ---- Results ---- */

static int64_t formula_ps(const struct sim_arguments *a, const struct tt_case *c,
                          const struct tt_algorithm *algorithm)
{
    struct tt_simulation simulation = simulation_of(a, c, algorithm);
    return tt_simulation_formula_ps(&simulation);
}

static double mean_link(const struct tt_sim_result *r)
{
    return r->links ? (double)r->total_link_bytes / (double)r->links : 0;
}

static void add_row(cJSON *rows, const struct sim_arguments *a, const struct tt_case *c,
                    const struct tt_algorithm *algorithm, const struct tt_sim_result *r)
{
    int64_t formula = formula_ps(a, c, algorithm);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "problem", a->text);
    cJSON_AddStringToObject(row, "algorithm", algorithm->name);
    cJSON_AddStringToObject(row, "model", tt_model_name(a->model_options.model.kind));
    cJSON_AddNumberToObject(row, "ranks", c->map.p);
    cJSON_AddNumberToObject(row, "time_ps", (double)r->time_ps);
    if (formula >= 0)
        cJSON_AddNumberToObject(row, "formula_ps", (double)formula);
    else
        cJSON_AddNullToObject(row, "formula_ps");
    cJSON_AddNumberToObject(row, "messages", (double)r->messages);
    cJSON_AddNumberToObject(row, "steps", (double)r->steps);
    cJSON_AddNumberToObject(row, "max_link_bytes", (double)r->max_link_bytes);
    cJSON_AddNumberToObject(row, "mean_link_bytes", mean_link(r));
    cJSON_AddItemToArray(rows, row);
}

static void print_row(const struct sim_arguments *a, const struct tt_case *c,
                      const struct tt_algorithm *algorithm, const struct tt_sim_result *r)
{
    int64_t formula = formula_ps(a, c, algorithm);
    char predicted[32] = "-", off[32] = "-";
    if (formula >= 0) {
        snprintf(predicted, sizeof predicted, "%.6f", 1e-6 * (double)formula);
        snprintf(off, sizeof off, "%.6f", 1e-6 * (double)(r->time_ps - formula));
    }
    printf("%-18s %14.6f %14s %12s %12" PRId64 " %8" PRId64, algorithm->name,
           1e-6 * (double)r->time_ps, predicted, off, r->messages, r->steps);
    if (r->links) printf(" %14" PRId64 " %14.1f", r->max_link_bytes, mean_link(r));
    printf("\n");
    fflush(stdout); /* the simulation for the next row may take long */
}

static void print_head(const struct sim_arguments *a)
{
    printf("%-18s %14s %14s %12s %12s %8s", "algorithm", "time us", "formula us", "difference",
           "messages", "steps");
    if (a->model_options.model.kind == TT_MODEL_links)
        printf(" %14s %14s", "max link bytes", "mean");
    printf("\n");
    fflush(stdout);
}

/* Prints nine numbers of links: how many carried no bytes; how many carried up to 1/8 of the bytes
 * of the fullest link; how many carried more than that and up to 2/8; and so on. */
static void print_loads(const struct tt_case *c, const struct tt_sim_result *r)
{
    enum { PARTS = 8 };
    const struct tt_net *net = c->map.net;
    int64_t part[PARTS + 1] = {0};
    if (r->max_link_bytes == 0) return;
    for (int64_t i = 0; i < r->link_room; i++) {
        if (tt_net_neighbour(net, (int)(i / net->ports), (int)(i % net->ports)) < 0) continue;
        double share = (double)r->link_bytes[i] / (double)r->max_link_bytes;
        part[(int)ceil(share * PARTS)]++;
    }
    printf("    links by load, from none to the fullest:");
    for (int i = 0; i <= PARTS; i++) printf(" %" PRId64, part[i]);
    printf("\n");
}

/* ---- All algorithms ---- */

static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
    return false;
}

/* Returns whether the algorithm exists and applies; if not, prints the error. */
static bool can_run(const struct tt_case *c, const char *name)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    const struct tt_algorithm *a = tt_algorithm_named("tutti sim", call.coll, name);
    const char *why = a ? a->refuse(&call, &c->map) : NULL;
    if (why) fprintf(stderr, "tutti sim: %s does not apply: it %s\n", name, why);
    return a && !why;
}

static bool can_run_all(const struct sim_arguments *a, const struct tt_case *c)
{
    char name[64];
    const char *at = a->algorithms;
    for (;;) {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)tt_min((int64_t)n, sizeof name), at);
        if (!can_run(c, name)) return false;
        if (!at[n]) return true;
        at += n + 1;
    }
}

static tutti_status print_trace(void *picture, FILE *out)
{
    tt_picture_trace(picture, out);
    return TUTTI_OK;
}

/* Simulates the plans of an algorithm and writes a trace of the simulation. */
static tutti_status simulate_traced(const struct sim_arguments *a, const struct tt_case *c,
                                    const struct tt_algorithm *algorithm,
                                    struct tt_sim_result *result)
{
    struct tt_picture picture;
    TT_TRY(
        tt_case_picture(c, algorithm, &a->model_options.model, 0, c->map.p - 1, &picture, result));
    bool written = tt_write_whole("tutti sim", a->trace, print_trace, &picture);
    tt_picture_free(&picture);
    if (written) return TUTTI_OK;
    tt_sim_free(result);
    return tt_fail(TUTTI_ERR_SYSTEM, "no trace is written");
}

static int run_one(const struct sim_arguments *a, const struct tt_case *c,
                   const struct tt_algorithm *algorithm, cJSON *rows)
{
    struct tt_sim_result result;
    bool table = !a->json || strcmp(a->json, "-") != 0;
    tutti_status status =
        a->trace ? simulate_traced(a, c, algorithm, &result) : simulate(a, c, algorithm, &result);
    if (status != TUTTI_OK) {
        fprintf(stderr, "tutti sim: %s: %s\n", algorithm->name, tutti_error());
        return status == TUTTI_ERR_LIMIT ? TT_EXIT_USAGE : TT_EXIT_FAILED;
    }
    if (table) print_row(a, c, algorithm, &result);
    if (table && result.links) print_loads(c, &result);
    if (rows) add_row(rows, a, c, algorithm, &result);
    tt_sim_free(&result);
    return TT_EXIT_OK;
}

/* Returns whether an algorithm that the user did not name applies and can be simulated in
 * reasonable time. If it applies but takes too long, prints a message. */
static bool is_worthwhile(const struct sim_arguments *a, const struct tt_case *c,
                          const struct tt_algorithm *algorithm)
{
    const int64_t most = INT64_C(1) << 30;
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    if (algorithm->refuse(&call, &c->map)) return false;
    struct tt_simulation simulation = simulation_of(a, c, algorithm);
    int64_t messages = tt_simulation_messages(&simulation);
    if (messages <= most) return true;
    fprintf(stderr, "tutti sim: %s is left out: it has %.1e messages (--algorithm %s runs it)\n",
            algorithm->name, (double)messages, algorithm->name);
    return false;
}

/* If there are very many ranks and the user names no algorithm, prints which algorithms will be
 * simulated, because each may take long. */
static void announce(const struct sim_arguments *a, const struct tt_case *c)
{
    enum { MANY = 65536 };
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    if (a->algorithms || c->map.p < MANY) return;
    fprintf(stderr,
            "tutti sim: %d ranks, one algorithm after the other (--algorithm picks):", c->map.p);
    for (const struct tt_algorithm *const *at = tt_algorithms; *at; at++)
        if ((*at)->coll == call.coll && !(*at)->refuse(&call, &c->map))
            fprintf(stderr, " %s", (*at)->name);
    fprintf(stderr, "\n");
}

static int run_all(const struct sim_arguments *a, const struct tt_case *c, cJSON *rows)
{
    bool all = !a->algorithms || strcmp(a->algorithms, "all") == 0;
    int code = TT_EXIT_OK;
    announce(a, c);
    for (const struct tt_algorithm *const *at = tt_algorithms; *at && code == TT_EXIT_OK; at++) {
        if ((*at)->coll != c->problem.call.coll) continue;
        if (all ? is_worthwhile(a, c, *at) : listed(a->algorithms, (*at)->name))
            code = run_one(a, c, *at, rows);
    }
    return code;
}

/* Simulates the plans of a plan file (`row`); or, if `row` is NULL, all algorithms that the user
 * asks for. */
static int run_rows(const struct sim_arguments *a, const struct tt_case *c,
                    const struct tt_algorithm *row)
{
    cJSON *rows = a->json ? cJSON_CreateArray() : NULL;
    if (!a->json || strcmp(a->json, "-") != 0) print_head(a);
    int code = row ? run_one(a, c, row, rows) : run_all(a, c, rows);
    if (rows && code == TT_EXIT_OK && !tt_json_write("tutti sim", rows, a->json))
        return TT_EXIT_FAILED;
    if (rows && code != TT_EXIT_OK) cJSON_Delete(rows);
    return code;
}

/* Makes sure that a single algorithm is simulated, because a trace contains only one. If the user
 * names none, takes the one that the library would choose, or the plan file that TUTTI_ALGORITHM
 * names (c->row). Returns false after printing the
 * error. */
static bool one_algorithm(struct sim_arguments *a, struct tt_case *c)
{
    const struct tt_algorithm *algorithm;
    if (a->algorithms && !strchr(a->algorithms, ',') && strcmp(a->algorithms, "all") != 0)
        return true;
    if (a->algorithms) {
        fprintf(stderr, "tutti sim: --trace wants one algorithm\n");
        return false;
    }
    algorithm = tt_case_algorithm(c, "tutti sim", NULL);
    if (algorithm && !algorithm->plans) a->algorithms = algorithm->name;
    return algorithm != NULL;
}

static int check_and_run(struct sim_arguments *a, struct tt_case *c, struct tt_plan_row *row)
{
    if (!tt_model_settle(&a->model_options, c, "tutti sim", a->text)) return TT_EXIT_USAGE;
    if (row && !tt_plan_row_make(row, "tutti sim", &c->problem)) return TT_EXIT_USAGE;
    if (a->trace && !row && !one_algorithm(a, c)) return TT_EXIT_USAGE;
    if (a->algorithms && strcmp(a->algorithms, "all") != 0 && !can_run_all(a, c))
        return TT_EXIT_USAGE;
    if (a->json && a->trace && strcmp(a->json, "-") == 0 && strcmp(a->trace, "-") == 0) {
        fprintf(stderr, "tutti sim: --json and --trace cannot both go to standard output\n");
        return TT_EXIT_USAGE;
    }
    if (!tt_write_apart("tutti sim", a->json, a->plan) ||
        !tt_write_apart("tutti sim", a->trace, a->plan) ||
        !tt_write_apart("tutti sim", a->trace, a->json) ||
        !tt_write_spares("tutti sim", a->json, c->problem.map, NULL) ||
        !tt_write_spares("tutti sim", a->trace, c->problem.map, NULL))
        return TT_EXIT_USAGE;
    if (a->json && !tt_write_try("tutti sim", a->json)) return TT_EXIT_FAILED;
    if (a->trace && !tt_write_try("tutti sim", a->trace)) return TT_EXIT_FAILED;
    if (!row && c->row.p > 0) row = &c->row;
    return run_rows(a, c, row ? &row->row : NULL);
}

static int simulate_problem(struct sim_arguments *a, struct tt_plan_row *row)
{
    struct tt_case c;
    if (!tt_case_apart(&c, "tutti sim", a->text)) return TT_EXIT_USAGE;
    int code = check_and_run(a, &c, row);
    tt_case_close(&c);
    return code;
}

static int simulate_file(struct sim_arguments *a)
{
    struct tt_plan_row row;
    int code = TT_EXIT_USAGE;
    if (tt_plan_row_open(&row, "tutti sim", a->plan, &a->text)) code = simulate_problem(a, &row);
    tt_plan_row_close(&row);
    return code;
}

int tt_sim_main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&tt_model_argp, 0, NULL, 1}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .args_doc = "PROBLEM[@NETWORK]\n--plan FILE [PROBLEM[@NETWORK]]",
        .doc = "Simulates the plans of a collective, each rank on a node of its own unless the "
               "problem ends with @nodes:..., and prints how long it would take; beside it the "
               "time by the textbook's formula, where there is one.\v" TT_PROBLEM_HELP
               " " TT_NETWORK_HELP " Exit status: 0 done, 1 failed, 2 wrong usage.",
    };
    struct sim_arguments a = {.model_options = tt_model_default};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    if (!tt_plan_or_algorithm("tutti sim", a.plan, a.algorithms)) return TT_EXIT_USAGE;
    return a.plan ? simulate_file(&a) : simulate_problem(&a, NULL);
}
