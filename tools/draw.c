/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw`: draws pictures of a collective that is simulated, or of a real run from its trace.
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "launch.h"
#include "command.h"
#include "model.h"
#include "picture.h"
#include "write.h"
#include "png.h"

enum {
    OPTION_WHAT = 256,
    OPTION_RANKS,
    OPTION_FROM,
    OPTION_TO,
    OPTION_TRACE,
    OPTION_EXECUTION,
    OPTION_NETWORK,
    OPTION_SCHEME,
    OPTION_PLAN,
    OPTION_MEASURED
};

struct draw_arguments {
    /* words: the arguments that are no options: the problem, or the paths of the files of a
     * trace */
    const char *algorithm, *plan, **words;
    int words_n;
    bool trace;
    const char *network;  /* the value of --network: the network to draw with a trace */
    const char *measured; /* the file of measured times to draw beside the predicted ones */
    int64_t execution;
    int processes; /* the number of ranks to show on the machine; 0 if it was not given */
    struct tt_draw draw;
    struct tt_model_options model_options;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "write an .svg, .png, .html, .dot, .json, .trace.json or .goal (default: SVG to standard "
     "output)",
     0},
    {"scheme", OPTION_SCHEME, "light|dark", 0,
     "the surroundings of an .svg or .png (default: an .svg is for both, a .png for light)", 0},
    {"processes", 'n', "N", 0, "draw the machine with the ranks of `tutti run -n N`", 0},
    {"algorithm", 'a', "NAME", 0,
     "draw this algorithm (default: the one that the library would choose)", 0},
    {"plan", OPTION_PLAN, "FILE", 0, TT_PLAN_OPTION_HELP, 0},
    {"what", OPTION_WHAT, "WORD", 0,
     "what an .svg shows: calls, time, tree, network, routes, steps, traffic, costs (default: "
     "calls "
     "for a real run, else time); summary: a text about a real run; what a .dot shows: tree, "
     "network, "
     "plan (default: what there is, in this order)",
     0},
    {"measured", OPTION_MEASURED, "FILE", 0,
     "show the times in FILE, which `tutti bench` wrote as JSON, beside the predicted ones of "
     "costs (default: those of the wisdom)",
     0},
    {"ranks", OPTION_RANKS, "A-B", 0,
     "show these ranks in time and calls, 64 at most (default: the first)", 0},
    {"from", OPTION_FROM, "R", 0, "draw the routes that begin at this rank", 0},
    {"to", OPTION_TO, "R", 0,
     "draw the routes that end at this rank (default: some that have to go around missing nodes)",
     0},
    {"trace", OPTION_TRACE, "DIR|FILE", 0,
     "draw, instead of a problem, what the ranks of a real run wrote with TUTTI_TRACE=DIR, or what "
     "`tutti sim --trace FILE` wrote; more files may follow",
     0},
    {"execution", OPTION_EXECUTION, "N", 0,
     "draw only the calls of the run with this number, counted from 0 in each team (default: all)",
     0},
    {"network", OPTION_NETWORK, "NETWORK", 0,
     "the network that the ranks of the trace were in, as in torus:4x4", 0},
    {0},
};

static const char *const whats[] = {
#define NAME(name) #name,
    TT_DRAW_WHATS(NAME)
#undef NAME
};

static enum tt_draw_what arg_what(const struct argp_state *state, const char *text)
{
    for (int i = 0; i < TT_DRAW_DEFAULT; i++)
        if (strcmp(whats[i], text) == 0) return (enum tt_draw_what)i;
    argp_error(state,
               "--what: '%s' is none of time, tree, network, routes, steps, traffic, plan, calls, "
               "summary, "
               "costs",
               text);
    return TT_DRAW_DEFAULT;
}

static int arg_rank(const struct argp_state *state, const char *option, const char *text)
{
    return (int)tt_arg_number(state, option, text, 0, TT_PROBLEM_RANKS - 1);
}

static void arg_ranks(const struct argp_state *state, char *text, struct tt_draw *draw)
{
    char *dash = strchr(text, '-');
    if (dash == text || (dash && !dash[1]))
        argp_error(state, "--ranks: '%s' is neither a rank nor two of them, as in 0-7", text);
    if (dash) *dash = '\0';
    draw->first = arg_rank(state, "--ranks", text);
    draw->last = dash ? arg_rank(state, "--ranks", dash + 1) : draw->first;
    if (draw->first > draw->last) argp_error(state, "--ranks: %s is after %s", text, dash + 1);
}

static void arg_output(const struct argp_state *state, const char *path, struct tt_draw *draw)
{
    draw->output = path;
    draw->format = tt_draw_format_of(path, &draw->png);
    if (draw->format == TT_DRAW_FORMATS_N)
        argp_error(state,
                   "--output: '%s' ends in none of .svg .png .html .dot .json .trace.json .goal",
                   path);
}

static enum tt_scheme arg_scheme(const struct argp_state *state, const char *text)
{
    bool dark = strcmp(text, "dark") == 0;
    if (!dark && strcmp(text, "light") != 0)
        argp_error(state, "--scheme: '%s' is neither light nor dark", text);
    return dark ? TT_SCHEME_DARK : TT_SCHEME_LIGHT;
}

static void add_word(struct draw_arguments *a, const char *word)
{
    const char **words = realloc(a->words, (size_t)(a->words_n + 1) * sizeof *words);
    if (!words) abort();
    a->words = words;
    words[a->words_n++] = word;
}

/* Returns whether a word on the command line names a trace, so that --trace is not needed: it is an
 * existing folder, or an existing file that ends in .json or .part. */
static bool names_trace(const char *word)
{
    struct stat is;
    size_t n = strlen(word);
    if (stat(word, &is) != 0) return false;
    return S_ISDIR(is.st_mode) || (n > 5 && strcmp(word + n - 5, ".json") == 0) ||
           (n > 5 && strcmp(word + n - 5, ".part") == 0);
}

static bool is_machine(const struct draw_arguments *a)
{
    return a->words_n == 1 && !a->trace && strcmp(a->words[0], "machine") == 0;
}

/* Returns whether the user gives an option that makes sense only for a picture of a problem or a
 * trace. */
static bool has_problem_options(const struct draw_arguments *a)
{
    const struct tt_draw *d = &a->draw;
    return a->algorithm || d->what != TT_DRAW_DEFAULT || d->first > 0 ||
           d->last < TT_PROBLEM_RANKS || d->from >= 0 || d->to >= 0;
}

static error_t parse_end(const struct draw_arguments *a, struct argp_state *state)
{
    if (a->words_n == 0 && !a->plan)
        argp_error(state, "the problem is missing (as in allreduce/f64/sum/64K/p8, or 'machine')");
    if (a->processes && !is_machine(a)) argp_error(state, "-n: only a machine has processes");
    if (a->words_n > 1 && !a->trace)
        argp_error(state,
                   "only one problem at a time, not '%s' and '%s' (a trace is a folder, or a file "
                   "that ends in .json or .part)",
                   a->words[0], a->words[1]);
    if (is_machine(a) && has_problem_options(a))
        argp_error(state, "machine: only -n, --output and --scheme go with it");
    if (a->trace && a->algorithm) argp_error(state, "--algorithm cannot be given with a trace");
    bool costs = a->draw.what == TT_DRAW_costs;
    if (costs && (a->trace || a->plan || is_machine(a) || a->algorithm))
        argp_error(state, "--what costs is for a problem, and shows all algorithms");
    if (a->measured && !costs) argp_error(state, "--measured is for --what costs");
    if (a->plan && (a->trace || is_machine(a))) argp_error(state, "--plan is for a problem");
    if (a->network && !a->trace) argp_error(state, "--network wants --trace");
    if (a->execution >= 0 && !a->trace) argp_error(state, "--execution wants --trace");
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct draw_arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case OPTION_PLAN: a->plan = arg; return 0;
    case 'o': arg_output(state, arg, &a->draw); return 0;
    case OPTION_WHAT: a->draw.what = arg_what(state, arg); return 0;
    case OPTION_RANKS: arg_ranks(state, arg, &a->draw); return 0;
    case OPTION_FROM: a->draw.from = arg_rank(state, "--from", arg); return 0;
    case OPTION_TO: a->draw.to = arg_rank(state, "--to", arg); return 0;
    case OPTION_TRACE:
        a->trace = true;
        add_word(a, arg);
        return 0;
    case OPTION_EXECUTION:
        a->execution = tt_arg_number(state, "--execution", arg, 0, INT64_MAX / 16);
        return 0;
    case OPTION_MEASURED: a->measured = arg; return 0;
    case OPTION_NETWORK: a->network = arg; return 0;
    case OPTION_SCHEME: a->draw.scheme = arg_scheme(state, arg); return 0;
    case 'n': a->processes = (int)tt_arg_number(state, "-n", arg, 1, TT_LAUNCH_RANKS); return 0;
    case ARGP_KEY_ARG:
        a->trace |= strcmp(arg, "machine") != 0 && names_trace(arg);
        add_word(a, arg);
        return 0;
    case ARGP_KEY_END: return parse_end(a, state);
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model_options; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Making the picture ---- */

static int there_are(const struct tt_draw *draw)
{
    int ranks = draw->picture.ranks;
    int asked = (int)tt_max(draw->first, tt_max(draw->from, draw->to));
    if (asked < ranks) return TT_EXIT_OK;
    fprintf(stderr, "tutti draw: there is no rank %d: there are %d ranks\n", asked, ranks);
    return TT_EXIT_USAGE;
}

static int write_it(struct tt_draw *draw)
{
    draw->picture.scheme = draw->scheme;
    int code = there_are(draw);
    if (code == TT_EXIT_OK) code = tt_draw_write(draw);
    tt_picture_free(&draw->picture);
    return code;
}

static int draw_case(struct draw_arguments *a, struct tt_case *c, const struct tt_algorithm *row)
{
    struct tt_draw *draw = &a->draw;
    struct tt_sim_result result;
    draw->algorithm = row ? row : tt_case_algorithm(c, "tutti draw", a->algorithm);
    draw->c = c;
    draw->model = &a->model_options.model;
    draw->net = c->net.nodes > 0 ? &c->net : NULL;
    if (!draw->algorithm) return TT_EXIT_USAGE;
    if (!tt_write_apart("tutti draw", draw->output, a->plan) ||
        !tt_write_spares("tutti draw", draw->output, c->problem.map, NULL))
        return TT_EXIT_USAGE;
    if (!tt_write_try("tutti draw", draw->output)) return TT_EXIT_FAILED;
    /* A time diagram in SVG shows at most TT_SVG_RANKS ranks. Only the events of these ranks are
     * recorded, because the events of further ranks would use up the room. */
    bool time = draw->format == TT_DRAW_AS_svg &&
                (draw->what == TT_DRAW_time || draw->what == TT_DRAW_DEFAULT);
    int last = (int)tt_min(draw->last, time ? draw->first + TT_SVG_RANKS - 1 : draw->last);
    if (tt_case_picture(c, draw->algorithm, &a->model_options.model, draw->first, last,
                        &draw->picture, &result) != TUTTI_OK) {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    tt_sim_free(&result);
    return write_it(draw);
}

/* If the word is the name of a file or looks like one, prints that the file is no trace, or that
 * there is no such file. The caller then reads the word as the text of a problem, and prints what
 * is wrong with this text. */
static void refuse_file(const char *word)
{
    const char *end = strrchr(word, '.');
    bool is_path = word[0] == '/' || word[0] == '.' || !strchr(word, '/');
    for (int i = 0; i < TT_COLLS; i++) is_path = is_path && strcmp(word, tt_coll_name(i)) != 0;
    bool is_file = end && (strcmp(end, ".json") == 0 || strcmp(end, ".part") == 0);
    if (access(word, F_OK) == 0)
        fprintf(
            stderr,
            "tutti draw: %.200s: this file is no trace, which is a folder, or a file that ends in "
            ".json or .part (--trace reads any file); as a problem it is:\n",
            word);
    else if (is_path || is_file)
        fputs("tutti draw: there is no file or folder of this name; as a problem it is:\n", stderr);
}

/* Draws a problem that is simulated with the plans of a plan file (`row`), or with those of an
 * algorithm if `row` is NULL. */
static int draw_problem(struct draw_arguments *a, const char *text, struct tt_plan_row *row)
{
    struct tt_case c;
    int code = TT_EXIT_USAGE;
    if (!tt_case_apart(&c, "tutti draw", text)) return code;
    if (tt_model_settle(&a->model_options, &c, "tutti draw", text) &&
        (!row || tt_plan_row_make(row, "tutti draw", &c.problem)))
        code = draw_case(a, &c, row ? &row->row : NULL);
    tt_case_close(&c);
    return code;
}

static int draw_file(struct draw_arguments *a)
{
    struct tt_plan_row row;
    const char *text = a->words_n ? a->words[0] : NULL;
    int code = TT_EXIT_USAGE;
    if (!tt_plan_or_algorithm("tutti draw", a->plan, a->algorithm)) return code;
    if (tt_plan_row_open(&row, "tutti draw", a->plan, &text)) code = draw_problem(a, text, &row);
    tt_plan_row_close(&row);
    return code;
}

/* Returns the network that the problem of a traced simulation names; NULL if it names none.
 * Networks that are read from a file are ignored, because a trace must not make this command open
 * other files. */
static const char *network_of(const char *problem_text, struct tt_problem *problem)
{
    if (strstr(problem_text, "@file:")) return NULL;
    if (tt_problem_parse(problem_text, problem, NULL) != TUTTI_OK) return NULL;
    return tt_network_is_one(problem->map) ? problem->map : NULL;
}

/* Adds the network to the picture: the one that the user names (`named`), or else the network of
 * the traced problem. If the network does not have a node for each rank, returns an error if the
 * user has named the network, and otherwise adds no network. */
static tutti_status find_network(struct tt_draw *draw, const char *named, struct tt_net *net)
{
    struct tt_problem problem;
    const char *text = named ? named : network_of(draw->picture.problem, &problem);
    if (!text) return TUTTI_OK;
    TT_TRY(tt_network_parse(text, net, NULL));
    int ranks = draw->picture.ranks;
    if (net->ranks != ranks && named)
        return tt_fail(TUTTI_ERR_ARG, "--network: %s has %d nodes for %d ranks", text, net->ranks,
                       ranks);
    if (net->ranks != ranks) return TUTTI_OK;
    draw->net = net;
    tutti_status status = tt_picture_network(&draw->picture, net, text, NULL);
    return status == TUTTI_ERR_LIMIT ? TUTTI_OK : status;
}

static int draw_trace(struct draw_arguments *a)
{
    struct tt_draw *draw = &a->draw;
    struct tt_net net = {.nodes = 0};
    if (!tt_write_spares("tutti draw", draw->output, a->network, NULL)) return TT_EXIT_USAGE;
    int code = tt_draw_read(a->words, a->words_n, a->execution, draw->output, &draw->picture);
    if (code != TT_EXIT_OK) return code;
    tutti_status status = find_network(draw, a->network, &net);
    if (status == TUTTI_OK) {
        code = write_it(draw);
    } else {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        tt_picture_free(&draw->picture);
        code = status == TUTTI_ERR_ARG ? TT_EXIT_USAGE : TT_EXIT_FAILED;
    }
    tt_net_free(&net);
    return code;
}

static int draw_it(struct draw_arguments *a)
{
    if (a->draw.png && tt_png_there() != TUTTI_OK) {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    if (a->draw.what == TT_DRAW_costs) return tt_draw_costs(&a->draw, a->words[0], a->measured);
    if (is_machine(a)) return tt_draw_machine(&a->draw, a->processes);
    if (a->trace) return draw_trace(a);
    if (a->plan) return draw_file(a);
    refuse_file(a->words[0]);
    return draw_problem(a, a->words[0], NULL);
}

int tt_draw_main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&tt_model_argp, 0, NULL, 1}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .args_doc =
            "PROBLEM[@NETWORK]\n--plan FILE [PROBLEM[@NETWORK]]\n[--trace] DIR|FILE...\nmachine",
        .doc = "Draws a collective that is simulated, a real run that was traced, or this machine "
               "with ranks bound to it.\v"
               "An .html shows everything and can be looked around in; a .trace.json opens in "
               "Perfetto, a .goal is for LogGOPSim. " TT_PROBLEM_HELP " " TT_NETWORK_HELP
               " Exit status: 0 done, 1 failed, 2 wrong usage or a trace that cannot be read.",
    };
    struct draw_arguments a = {.model_options = tt_model_default,
                               .execution = -1,
                               .draw = {.output = "-",
                                        .what = TT_DRAW_DEFAULT,
                                        .last = TT_PROBLEM_RANKS,
                                        .from = -1,
                                        .to = -1}};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    if (a.draw.png && a.draw.scheme == TT_SCHEME_BOTH) a.draw.scheme = TT_SCHEME_LIGHT;
    int code = draw_it(&a);
    free(a.words);
    return code;
}
