/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti sim`: runs the plans of a problem on paper, under a model of the network.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "choose/paper.h"
#include "command.h"
#include "json.h"
#include "plan/words.h"
#include "problem.h"

enum {
    OPTION_MODEL = 256,
    OPTION_TS,
    OPTION_TW,
    OPTION_TW_BOTH,
    OPTION_TR,
    OPTION_GAMMA,
    OPTION_HOP,
    OPTION_STORE,
    OPTION_PORTS,
    OPTION_LATENCY,
    OPTION_OVERHEAD,
    OPTION_GAP,
    OPTION_BYTE_GAP,
    OPTION_JSON
};

struct arguments {
    const char *text, *algorithms, *json;
    struct tt_model model;
};

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME,...|all", 0, "these (default: all that apply)", 0},
    {"model", OPTION_MODEL, "simple|loggp|links", 0,
     "what a message costs (default: links where the problem has a network, else simple)", 0},
    {"json", OPTION_JSON, "FILE", 0, "rows of results to FILE (-: standard output)", 0},
    {NULL, 0, NULL, 0, "Times are written 1us, 0.5ns, 20ps. Of simple and links:", 1},
    {"ts", OPTION_TS, "TIME", 0, "start-up of a message (default 1us)", 1},
    {"tw", OPTION_TW, "TIME", 0, "of a byte (default 1ns)", 1},
    {"tw-both", OPTION_TW_BOTH, "TIME", 0,
     "simple, one port: of a byte where a rank sends and receives at once (--tw to 2 of it; "
     "default --tw)",
     1},
    {"tr", OPTION_TR, "TIME", 0, "of a byte that is copied (default 0)", 1},
    {"gamma", OPTION_GAMMA, "TIME", 0, "of a byte that is reduced (default 0)", 1},
    {"ports", OPTION_PORTS, "one|all", 0,
     "messages a rank sends at once, and receives at once (default one)", 1},
    {NULL, 0, NULL, 0, "Of links:", 2},
    {"hop", OPTION_HOP, "TIME", 0, "the head of a message takes over a link (default 0)", 2},
    {"store-and-forward", OPTION_STORE, NULL, 0, "a message goes on when all of it has come", 2},
    {NULL, 0, NULL, 0, "Of loggp:", 3},
    {"latency", OPTION_LATENCY, "TIME", 0, "L (default 1us)", 3},
    {"overhead", OPTION_OVERHEAD, "TIME", 0, "o, at each end (default 200ns)", 3},
    {"gap", OPTION_GAP, "TIME", 0, "g, between messages (default 200ns)", 3},
    {"byte-gap", OPTION_BYTE_GAP, "TIME", 0, "G, of a byte (default 0.1ns)", 3},
    {0},
};

static int64_t arg_time(const struct argp_state *state, const char *option, const char *text)
{
    static const struct {
        const char *name;
        double ps;
    } units[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"", 0}};
    char *end;
    double value = strtod(text, &end);
    size_t unit = 0, n = sizeof units / sizeof *units;
    while (unit < n && strcmp(units[unit].name, end) != 0) unit++;
    double ps = unit < n ? value * units[unit].ps : -1;
    bool bare = unit == n - 1 && value != 0;
    if (end == text || unit == n || bare || !(ps >= 0) || ps > 1e15)
        argp_error(state, "%s: '%s' is not a time up to 1000 s, as in 1us, 0.5ns, 20ps", option,
                   text);
    if (ps != floor(ps))
        argp_error(state, "%s: '%s' is not a whole number of picoseconds", option, text);
    return (int64_t)ps;
}

static int arg_word(const struct argp_state *state, const char *option, const char *text,
                    const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0) return i;
    char list[64];
    struct tt_words there = {words, n};
    argp_error(state, "%s: '%s' is none of %s", option, text,
               tt_words_list(&there, list, sizeof list));
    return 0;
}

static const char *const models[] = {
#define NAME(name) #name,
    TT_MODEL_LIST(NAME)
#undef NAME
};

static int64_t *time_of(struct tt_model *model, int key, const char **name)
{
    switch (key) {
    case OPTION_TS: *name = "--ts"; return &model->ts_ps;
    case OPTION_TW: *name = "--tw"; return &model->tw_ps;
    case OPTION_TW_BOTH: *name = "--tw-both"; return &model->tw_both_ps;
    case OPTION_TR: *name = "--tr"; return &model->tr_ps;
    case OPTION_GAMMA: *name = "--gamma"; return &model->gamma_ps;
    case OPTION_HOP: *name = "--hop"; return &model->hop_ps;
    case OPTION_LATENCY: *name = "--latency"; return &model->l_ps;
    case OPTION_OVERHEAD: *name = "--overhead"; return &model->o_ps;
    case OPTION_GAP: *name = "--gap"; return &model->g_ps;
    case OPTION_BYTE_GAP: *name = "--byte-gap"; return &model->big_g_ps;
    default: return NULL;
    }
}

static error_t parse_model(struct arguments *a, int key, const char *arg, struct argp_state *state)
{
    static const char *const ports[] = {"one", "all"};
    const char *name;
    int64_t *time = time_of(&a->model, key, &name);
    if (time) {
        *time = arg_time(state, name, arg);
        return 0;
    }
    switch (key) {
    case OPTION_MODEL:
        a->model.kind = (enum tt_model_kind)arg_word(state, "--model", arg, models, TT_MODELS);
        return 0;
    case OPTION_PORTS:
        a->model.all_ports = arg_word(state, "--ports", arg, ports, 2) == 1;
        return 0;
    case OPTION_STORE: a->model.stores = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithms = arg; return 0;
    case OPTION_JSON: a->json = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->text) argp_error(state, "only one problem at a time");
        a->text = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which problem? (as in alltoall/u8/1K/p16@torus:4x4)");
        return 0;
    default: return parse_model(a, key, arg, state);
    }
}

/* ---- One algorithm ---- */

struct run {
    const char *name;
    int64_t expected; /* messages; -1: not known */
    struct timespec begun;
    bool shown;
};

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

/* [=====>        ] */
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

static void progress(void *arg, int ended, int64_t messages)
{
    struct run *run = arg;
    double seconds = seconds_since(&run->begun), n = (double)messages;
    (void)ended;
    if (seconds < 1 || messages == 0 || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K%s ", run->name);
    if (run->expected > 0) print_bar(fmin(1, n / (double)run->expected));
    fprintf(stderr, "%.2f million messages a second", 1e-6 * n / seconds);
    if (run->expected > messages)
        fprintf(stderr, ", %.0f s left", seconds * ((double)run->expected / n - 1));
    run->shown = true;
}

static struct tt_paper paper_of(const struct arguments *a, const struct tt_case *c,
                                const struct tt_algorithm *algorithm)
{
    return (struct tt_paper){
        .algorithm = algorithm, .problem = &c->problem, .map = &c->map, .model = &a->model};
}

static tutti_status simulate(const struct arguments *a, const struct tt_case *c,
                             const struct tt_algorithm *algorithm, struct tt_sim_result *result)
{
    struct tt_paper paper = paper_of(a, c, algorithm);
    struct run run = {.name = algorithm->name};
    paper.progress = progress;
    paper.arg = &run;
    run.expected = isatty(STDERR_FILENO) ? tt_paper_messages(&paper) : -1;
    clock_gettime(CLOCK_MONOTONIC, &run.begun);
    tutti_status status = tt_paper_run(&paper, result);
    if (run.shown) fprintf(stderr, "\r\033[K");
    return status;
}

/* ---- Results ---- */

static int64_t formula_ps(const struct arguments *a, const struct tt_case *c,
                          const struct tt_algorithm *algorithm)
{
    struct tt_paper paper = paper_of(a, c, algorithm);
    return tt_paper_formula_ps(&paper);
}

static double mean_link(const struct tt_sim_result *r)
{
    return r->links ? (double)r->total_link_bytes / (double)r->links : 0;
}

static void add_row(cJSON *rows, const struct arguments *a, const struct tt_case *c,
                    const struct tt_algorithm *algorithm, const struct tt_sim_result *r)
{
    int64_t formula = formula_ps(a, c, algorithm);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "problem", a->text);
    cJSON_AddStringToObject(row, "algorithm", algorithm->name);
    cJSON_AddStringToObject(row, "model", models[a->model.kind]);
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

static void print_row(const struct arguments *a, const struct tt_case *c,
                      const struct tt_algorithm *algorithm, const struct tt_sim_result *r)
{
    int64_t formula = formula_ps(a, c, algorithm);
    char told[32] = "-", off[32] = "-";
    if (formula >= 0) {
        snprintf(told, sizeof told, "%.6f", 1e-6 * (double)formula);
        snprintf(off, sizeof off, "%.6f", 1e-6 * (double)(r->time_ps - formula));
    }
    printf("%-18s %14.6f %14s %12s %12" PRId64 " %8" PRId64, algorithm->name,
           1e-6 * (double)r->time_ps, told, off, r->messages, r->steps);
    if (r->links) printf(" %14" PRId64 " %14.1f", r->max_link_bytes, mean_link(r));
    printf("\n");
}

static void print_head(const struct arguments *a)
{
    printf("%-18s %14s %14s %12s %12s %8s", "algorithm", "time us", "formula us", "difference",
           "messages", "steps");
    if (a->model.kind == TT_MODEL_links) printf(" %14s %14s", "max link bytes", "mean");
    printf("\n");
}

/* How many links carried how much of what the fullest did. */
static void print_loads(const struct tt_case *c, const struct tt_sim_result *r)
{
    enum { PARTS = 8 };
    const struct tt_net *net = c->map.net;
    int64_t part[PARTS + 1] = {0};
    if (r->max_link_bytes == 0) return;
    for (int64_t i = 0; i < r->link_room; i++) {
        if (tt_net_neighbour(net, (int)(i / net->ports), (int)(i % net->ports)) < 0) continue;
        part[(r->link_bytes[i] * PARTS + r->max_link_bytes - 1) / r->max_link_bytes]++;
    }
    printf("    links by load, from none to the fullest:");
    for (int i = 0; i <= PARTS; i++) printf(" %" PRId64, part[i]);
    printf("\n");
}

/* ---- All that were asked for ---- */

static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
    return false;
}

/* Whether it is there, and applies; else tells. */
static bool can_run(const struct tt_case *c, const char *name)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    const struct tt_algorithm *a = tt_algorithm_named("tutti sim", call.coll, name);
    const char *why = a ? a->refuse(&call, &c->map) : NULL;
    if (why) fprintf(stderr, "tutti sim: %s does not apply: it %s\n", name, why);
    return a && !why;
}

static bool can_run_all(const struct arguments *a, const struct tt_case *c)
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

static int run_one(const struct arguments *a, const struct tt_case *c,
                   const struct tt_algorithm *algorithm, cJSON *rows)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    struct tt_sim_result result;
    bool table = !a->json || strcmp(a->json, "-") != 0;
    if (algorithm->refuse(&call, &c->map)) return TT_EXIT_OK;
    if (simulate(a, c, algorithm, &result) != TUTTI_OK) {
        fprintf(stderr, "tutti sim: %s: %s\n", algorithm->name, tutti_error());
        return TT_EXIT_FAILED;
    }
    if (table) print_row(a, c, algorithm, &result);
    if (table && result.links) print_loads(c, &result);
    if (rows) add_row(rows, a, c, algorithm, &result);
    tt_sim_free(&result);
    return TT_EXIT_OK;
}

static int run_all(const struct arguments *a, const struct tt_case *c)
{
    bool all = !a->algorithms || strcmp(a->algorithms, "all") == 0;
    int code = TT_EXIT_OK;
    cJSON *rows = a->json ? cJSON_CreateArray() : NULL;
    if (!a->json || strcmp(a->json, "-") != 0) print_head(a);
    for (const struct tt_algorithm *const *at = tt_algorithms; *at && code == TT_EXIT_OK; at++) {
        if ((*at)->coll != c->problem.call.coll) continue;
        if (all || listed(a->algorithms, (*at)->name)) code = run_one(a, c, *at, rows);
    }
    if (rows && code == TT_EXIT_OK && !tt_json_write(rows, a->json)) return TT_EXIT_FAILED;
    if (rows && code != TT_EXIT_OK) cJSON_Delete(rows);
    return code;
}

/* Whether what one byte costs while others go the other way is said where it can be; else tells. */
static bool both_ways_fit(const struct tt_model *model)
{
    bool one = model->kind == TT_MODEL_simple && !model->all_ports;
    if (model->tw_both_ps == 0) return true;
    if (!one) fprintf(stderr, "tutti sim: --tw-both is of --model simple with --ports one\n");
    if (one && (model->tw_both_ps < model->tw_ps || model->tw_both_ps > 2 * model->tw_ps)) {
        fprintf(stderr, "tutti sim: --tw-both is from --tw to twice as much\n");
        return false;
    }
    return one;
}

/* A simulation counts picoseconds in 64 bits. Bytes and starts of one rank may not come near that. */
static bool can_be_counted(const struct arguments *a, const struct tt_case *c)
{
    const struct tt_model *m = &a->model;
    const struct tt_problem *problem = &c->problem;
    double byte_ps =
        (double)m->tw_ps + (double)m->tr_ps + (double)m->gamma_ps + (double)m->big_g_ps;
    double start_ps =
        (double)m->ts_ps + (double)m->hop_ps + (double)m->l_ps + (double)m->o_ps + (double)m->g_ps;
    double bytes = (double)problem->n * (double)problem->call.sz;
    if (problem->p * (bytes * byte_ps + start_ps) < 1e18) return true;
    fprintf(stderr, "tutti sim: %s: would take more than the ten days that can be simulated\n",
            a->text);
    return false;
}

static int check_and_run(struct arguments *a, const struct tt_case *c, bool modelled)
{
    if (!modelled && c->map.net) a->model.kind = TT_MODEL_links;
    if (!both_ways_fit(&a->model)) return TT_EXIT_USAGE;
    if (a->model.kind == TT_MODEL_links && !c->map.net) {
        fprintf(stderr, "tutti sim: --model links wants a network, as in %s@torus:...\n", a->text);
        return TT_EXIT_USAGE;
    }
    if (!can_be_counted(a, c)) return TT_EXIT_USAGE;
    if (a->algorithms && strcmp(a->algorithms, "all") != 0 && !can_run_all(a, c))
        return TT_EXIT_USAGE;
    return a->json && !tt_json_writable(a->json) ? TT_EXIT_FAILED : run_all(a, c);
}

int tt_sim_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM[@NETWORK]",
        .doc = "Runs the plans of a collective on paper, each rank on a node of its own, and tells "
               "how long "
               "it would take; beside it what the textbook's formula says, where there is "
               "one.\v" TT_PROBLEM_HELP " " TT_NETWORK_HELP
               " Exit status: 0 done, 1 failed, 2 wrong usage.",
    };
    struct arguments a = {.model = {.kind = TT_MODELS,
                                    .ts_ps = 1000000,
                                    .tw_ps = 1000,
                                    .l_ps = 1000000,
                                    .o_ps = 200000,
                                    .g_ps = 200000,
                                    .big_g_ps = 100}};
    struct tt_case c;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    bool modelled = a.model.kind != TT_MODELS;
    if (!modelled) a.model.kind = TT_MODEL_simple;
    if (!tt_case_apart(&c, argv[0], a.text)) return TT_EXIT_USAGE;
    int code = check_and_run(&a, &c, modelled);
    tt_case_close(&c);
    return code;
}
