/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw`: pictures of a collective, run on paper or in truth.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "model.h"
#include "picture.h"

enum { OPTION_WHAT = 256, OPTION_RANKS, OPTION_FROM, OPTION_TO, OPTION_TRACE, OPTION_EXECUTION };

struct arguments {
    const char *text, *algorithm, *output;
    struct tt_model model;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "an .svg or a .json (default: SVG to standard output)", 0},
    {"algorithm", 'a', "NAME", 0, "by this one (default: the one that would be used)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'a': a->algorithm = arg; return 0;
    case 'o': a->output = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->text) argp_error(state, "only one problem at a time");
        a->text = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which problem? (as in allreduce/f64/sum/64K/p8)");
        return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_json(void *picture, FILE *out)
{
    tt_picture_json(picture, out);
}

static void print_time(void *picture, FILE *out)
{
    char left_out[200];
    tt_svg_time(picture, 0, INT32_MAX - 64, left_out, out);
    if (left_out[0]) fprintf(stderr, "tutti draw: %s\n", left_out);
}

static int draw(const struct arguments *a, const struct tt_case *c)
{
    const struct tt_algorithm *algorithm = tt_case_algorithm(c, "tutti draw", a->algorithm);
    struct tt_picture picture;
    struct tt_sim_result result;
    if (!algorithm) return TT_EXIT_USAGE;
    if (tt_case_picture(c, algorithm, &a->model, &picture, &result) != TUTTI_OK) {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    size_t n = strlen(a->output);
    bool json = n > 5 && strcmp(a->output + n - 5, ".json") == 0;
    bool written =
        tt_write_whole("tutti draw", a->output, json ? print_json : print_time, &picture);
    tt_picture_free(&picture);
    tt_sim_free(&result);
    return written ? TT_EXIT_OK : TT_EXIT_FAILED;
}

int tt_draw_main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&tt_model_argp, 0, NULL, 1}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .args_doc = "PROBLEM[@NETWORK]",
        .doc = "Draws a collective that is run on paper.\v" TT_PROBLEM_HELP " " TT_NETWORK_HELP
               " Exit status: 0 done, 1 failed, 2 wrong usage.",
    };
    struct arguments a = {.model = tt_model_default, .output = "-"};
    struct tt_case c;
    int code = TT_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!tt_case_apart(&c, argv[0], a.text)) return TT_EXIT_USAGE;
    if (tt_model_settle(&a.model, &c, argv[0], a.text)) code = draw(&a, &c);
    tt_case_close(&c);
    return code;
}
