/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the options for the cost of a message, and checks that the model fits the problem.
 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/words.h"

enum {
    OPTION_MODEL = 512,
    OPTION_TS,
    OPTION_TW,
    OPTION_TW_BOTH,
    OPTION_TR,
    OPTION_GAMMA,
    OPTION_NEAR_TS,
    OPTION_NEAR_TW,
    OPTION_HOP,
    OPTION_STORE,
    OPTION_PORTS,
    OPTION_LATENCY,
    OPTION_OVERHEAD,
    OPTION_GAP,
    OPTION_BYTE_GAP
};

static const struct argp_option options[] = {
    {"model", OPTION_MODEL, "simple|loggp|links", 0,
     "what a message costs (default: links where the problem has a network, else simple)", 0},
    {NULL, 0, NULL, 0,
     "Options of the models simple and links (times are written 1us, 0.5ns, 20ps):", 1},
    {"ts", OPTION_TS, "TIME", 0, "the start-up time of a message (default 1us)", 1},
    {"tw", OPTION_TW, "TIME", 0, "the time for a byte that is sent (default 1ns)", 1},
    {"tw-both", OPTION_TW_BOTH, "TIME", 0,
     "the time for a byte while a rank with one port sends and receives at once, under `simple`: "
     "from --tw to twice as much (default --tw)",
     1},
    {"tr", OPTION_TR, "TIME", 0, "the time for a byte that is copied, under any model (default 0)",
     1},
    {"gamma", OPTION_GAMMA, "TIME", 0,
     "the time for a byte that is reduced, under any model (default 0)", 1},
    {"near-ts", OPTION_NEAR_TS, "TIME", 0,
     "the start-up time of a message within a node, if the problem ends with @nodes:..., under "
     "any model (default 100ns)",
     1},
    {"near-tw", OPTION_NEAR_TW, "TIME", 0,
     "the time for a byte that is copied within a node (default 0.1ns)", 1},
    {"ports", OPTION_PORTS, "one|all|node", 0,
     "how many messages a rank sends at once, and receives at once (default one); node: all ranks "
     "of a node share one",
     1},
    {NULL, 0, NULL, 0, "Options of the model links:", 2},
    {"hop", OPTION_HOP, "TIME", 0,
     "the time that the head of a message takes over a link (default 0)", 2},
    {"store-and-forward", OPTION_STORE, NULL, 0,
     "a node passes a message on when all of it has come (default: when its head has)", 2},
    {NULL, 0, NULL, 0, "Options of the model loggp:", 3},
    {"latency", OPTION_LATENCY, "TIME", 0, "the latency L of the network (default 1us)", 3},
    {"overhead", OPTION_OVERHEAD, "TIME", 0,
     "the overhead o: the processor's time for a message at each end (default 200ns)", 3},
    {"gap", OPTION_GAP, "TIME", 0,
     "the gap g: the time between two messages of a rank (default 200ns)", 3},
    {"byte-gap", OPTION_BYTE_GAP, "TIME", 0,
     "the gap G: the time for a byte of a long message (default 0.1ns)", 3},
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
    bool decimal =
        /* the number consists of digits and points only: strtod would also accept blanks, signs, 0x
         * and exponents */
        strspn(text, "0123456789.") == strcspn(text, "numps");
    if (end == text || !decimal || unit == n || bare || !(ps >= 0) || ps > 1e15)
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
    case OPTION_NEAR_TS: *name = "--near-ts"; return &model->near_ts_ps;
    case OPTION_NEAR_TW: *name = "--near-tw"; return &model->near_tw_ps;
    case OPTION_HOP: *name = "--hop"; return &model->hop_ps;
    case OPTION_LATENCY: *name = "--latency"; return &model->l_ps;
    case OPTION_OVERHEAD: *name = "--overhead"; return &model->o_ps;
    case OPTION_GAP: *name = "--gap"; return &model->g_ps;
    case OPTION_BYTE_GAP: *name = "--byte-gap"; return &model->big_g_ps;
    default: return NULL;
    }
}

/* The bit of an option in the set `given` of struct tt_model_options. */
static uint32_t bit_of(int key)
{
    return 1U << (key - OPTION_MODEL);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char *const ports[] = {"one", "all", "node"};
    struct tt_model_options *costs = state->input;
    struct tt_model *model = &costs->model;
    const char *name;
    int64_t *time = time_of(model, key, &name);
    if (key >= OPTION_MODEL && key <= OPTION_BYTE_GAP) costs->given |= bit_of(key);
    if (time) {
        *time = arg_time(state, name, arg);
        return 0;
    }
    switch (key) {
    case OPTION_MODEL:
        model->kind = (enum tt_model_kind)arg_word(state, "--model", arg, models, TT_MODELS);
        return 0;
    case OPTION_PORTS: {
        int word = arg_word(state, "--ports", arg, ports, 3);
        model->all_ports = word == 1;
        model->node_ports = word == 2;
        return 0;
    }
    case OPTION_STORE: model->stores = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tt_model_argp = {.options = options, .parser = parse};

const struct tt_model_options tt_model_default = {.model = {.kind = TT_MODELS,
                                                            .tw_both_ps = -1,
                                                            .ts_ps = 1000000,
                                                            .tw_ps = 1000,
                                                            .near_ts_ps = 100000,
                                                            .near_tw_ps = 100,
                                                            .l_ps = 1000000,
                                                            .o_ps = 200000,
                                                            .g_ps = 200000,
                                                            .big_g_ps = 100}};

enum { SIMPLE = 1 << TT_MODEL_simple, LOGGP = 1 << TT_MODEL_loggp, LINKS = 1 << TT_MODEL_links };

/* Returns whether the option belongs to the model in use. `of` is a bit mask of the models that
 * have the option. If the model in use does not have it, prints the error. */
static bool belongs(const struct tt_model *model, unsigned of, const char *option,
                    const char *command)
{
    if (of & 1U << model->kind) return true;
    fprintf(stderr, "%s: %s is not an option of --model %s, which computes the times here\n",
            command, option, tt_model_name(model->kind));
    return false;
}

/* Returns whether the chosen model uses each option that the user has given. */
static bool options_belong(const struct tt_model_options *costs, const char *command)
{
    static const struct {
        int key;
        unsigned of;
        const char *name;
    } rows[] = {{OPTION_TS, SIMPLE | LINKS, "--ts"},  {OPTION_TW, SIMPLE | LINKS, "--tw"},
                {OPTION_HOP, LINKS, "--hop"},         {OPTION_STORE, LINKS, "--store-and-forward"},
                {OPTION_LATENCY, LOGGP, "--latency"}, {OPTION_OVERHEAD, LOGGP, "--overhead"},
                {OPTION_GAP, LOGGP, "--gap"},         {OPTION_BYTE_GAP, LOGGP, "--byte-gap"}};
    const struct tt_model *model = &costs->model;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (costs->given & bit_of(rows[i].key) &&
            !belongs(model, rows[i].of, rows[i].name, command))
            return false;
    if (model->node_ports && !belongs(model, SIMPLE | LOGGP, "--ports node", command)) return false;
    return !model->all_ports || belongs(model, SIMPLE | LINKS, "--ports all", command);
}

/* Returns whether the options fit the nodes of the problem: some options need nodes with several
 * ranks. If they do not fit, prints the error. */
static bool has_nodes(const struct tt_model_options *costs, const struct tt_case *c,
                      const char *command, const char *text)
{
    const char *option = costs->given & bit_of(OPTION_NEAR_TS)   ? "--near-ts"
                         : costs->given & bit_of(OPTION_NEAR_TW) ? "--near-tw"
                         : costs->model.node_ports               ? "--ports node"
                                                                 : NULL;
    if (!option || c->map.nodes < c->map.p) return true;
    fprintf(stderr, "%s: %s wants nodes with several ranks, as in %s@nodes:4,4\n", command, option,
            text);
    return false;
}

/* Checks --tw-both, the time of a byte while the rank also transfers in the other direction. It is
 * allowed with the simple model and one port for each rank, and must be from --tw to twice --tw.
 * Returns true if the option was not given or is right; otherwise prints the error and returns
 * false. */
static bool both_directions_fit(const struct tt_model *model, const char *command)
{
    bool one = model->kind == TT_MODEL_simple && !model->all_ports && !model->node_ports;
    if (model->tw_both_ps < 0) return true;
    if (!one)
        fprintf(stderr, "%s: --tw-both is only for --model simple with --ports one\n", command);
    if (one && (model->tw_both_ps < model->tw_ps || model->tw_both_ps > 2 * model->tw_ps)) {
        fprintf(stderr, "%s: --tw-both must be from --tw to twice as much\n", command);
        return false;
    }
    return one;
}

/* Returns whether the simulated time and the times by formulas surely fit in 64 bits, in which they
 * are counted in picoseconds. If not, prints the error. The time is estimated from above: as if
 * each of the p ranks sent one message with all of its n elements, one rank after the other, and as
 * if all costs of the model, also those of other kinds of models, applied to each message. This
 * estimate must be well below the limit of 64 bits. The simulated time may be much shorter, because
 * most ranks send at the same time. */
static bool can_be_counted(const struct tt_model *m, const struct tt_case *c, const char *command,
                           const char *text)
{
    enum { MOST_DAYS = 10 };
    const double day_ps = 86400e12;
    const struct tt_problem *problem = &c->problem;
    double byte_ps = (double)m->tw_ps + (double)m->tr_ps + (double)m->gamma_ps +
                     (double)m->big_g_ps + (double)m->near_tw_ps;
    double start_ps = (double)m->ts_ps + (double)m->hop_ps + (double)m->l_ps + (double)m->o_ps +
                      (double)m->g_ps + (double)m->near_ts_ps;
    double bytes = (double)problem->n * (double)problem->call.sz;
    double days = problem->p * (bytes * byte_ps + start_ps) / day_ps;
    if (days <= MOST_DAYS) return true;
    fprintf(stderr,
            "%s: %s: if one rank after the other sent its data, this would take %.1f days under "
            "the model; at most %d are allowed: take fewer bytes, fewer ranks or shorter times\n",
            command, text, days, MOST_DAYS);
    return false;
}

/* Returns a node's link in the model, if the user has given the time of a byte; else the link that
 * is known without it. */
static struct tt_machine_link link_of(const struct tt_model_options *costs, const struct tt_case *c)
{
    const struct tt_model *model = &costs->model;
    bool loggp = model->kind == TT_MODEL_loggp;
    int64_t byte_ps = loggp ? model->big_g_ps : model->tw_ps;
    int64_t start_ps = loggp ? model->l_ps + 2 * model->o_ps : model->ts_ps;
    if (!(costs->given & bit_of(loggp ? OPTION_BYTE_GAP : OPTION_TW))) return c->map.link;
    return (struct tt_machine_link){.mbit = (int32_t)(8000000 / tt_max(byte_ps, 1)),
                                    .start_ns =
                                        (int32_t)tt_max(1, tt_min(INT32_MAX, start_ps / 1000))};
}

bool tt_model_settle(struct tt_model_options *costs, struct tt_case *c, const char *command,
                     const char *text)
{
    struct tt_model *model = &costs->model;
    if (model->kind == TT_MODELS) model->kind = c->map.net ? TT_MODEL_links : TT_MODEL_simple;
    if (!options_belong(costs, command) || !has_nodes(costs, c, command, text) ||
        !both_directions_fit(model, command))
        return false;
    if (model->kind == TT_MODEL_links && !c->map.net) {
        fprintf(stderr, "%s: --model links wants a network, as in %s@torus:...\n", command, text);
        return false;
    }
    c->map.link = link_of(costs, c);
    return can_be_counted(model, c, command, text);
}

const char *tt_model_name(enum tt_model_kind kind)
{
    return models[kind];
}
