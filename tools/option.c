/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as people type them: -h for help, long options with one dash (-np 4), and a suggestion of
 * the nearest name for an unknown option. argp does the rest.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { KEY_USAGE = 0x7000, KEY_MAN, MOST = 128 };

/* ---- Options of every subcommand ---- */

static const struct argp_option standard_options[] = {
    {"help", 'h', NULL, 0, "print this help", -1},
    {NULL, '?', NULL, OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short", -1},
    /* the build prints the manual pages by this option */
    {"man", KEY_MAN, NULL, OPTION_HIDDEN, NULL, -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0},
};

int tt_arg_finish(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fprintf(stderr, "tutti: cannot write the output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return code == TT_EXIT_OK ? TT_EXIT_FAILED : code;
}

/* Prints the help and exits, with TT_EXIT_FAILED if the help could not be written. argp itself
 * would exit with 0 then. */
void tt_arg_help(const struct argp_state *state, unsigned flags)
{
    argp_state_help(state, stdout, flags & ~(unsigned)ARGP_HELP_EXIT_OK);
    exit(tt_arg_finish(TT_EXIT_OK));
}

static error_t parse_standard(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case 'h':
    case '?': tt_arg_help(state, ARGP_HELP_STD_HELP); return 0;
    case KEY_USAGE: tt_arg_help(state, ARGP_HELP_USAGE); return 0;
    case KEY_MAN:
        tt_manual_print(state->root_argp, state->name, state->out_stream);
        exit(tt_arg_finish(TT_EXIT_OK));
    case 'V':
        fprintf(state->out_stream, "%s\n", argp_program_version);
        exit(tt_arg_finish(TT_EXIT_OK));
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp standard = {.options = standard_options, .parser = parse_standard};

/* ---- The known options ---- */

/* An option of a subcommand. Each alias of an option has an entry of its own. */
struct option_known {
    const char *name; /* the long name; NULL if the option has none */
    int key;
    bool takes, may; /* takes: the option takes a value; may: this value is optional */
};

struct options_known {
    struct option_known list[MOST];
    size_t n;
};

static bool is_last(const struct argp_option *o)
{
    return !o->name && !o->key && !o->doc && !o->group;
}

static void collect(struct options_known *known, const struct argp *argp)
{
    const struct argp_option *real = argp->options;
    for (const struct argp_option *o = argp->options; o && !is_last(o) && known->n < MOST; o++) {
        if (!(o->flags & OPTION_ALIAS)) real = o;
        if ((o->flags & OPTION_DOC) || (!o->name && !o->key)) continue;
        known->list[known->n++] = (struct option_known){o->name, o->key, real->arg != NULL,
                                                        (real->flags & OPTION_ARG_OPTIONAL) != 0};
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        collect(known, child->argp);
}

/* Finds a long option by its whole name or, unless `whole`, by a prefix, as getopt_long does. For
 * an ambiguous prefix this returns one of the options, and getopt later reports the error. */
static const struct option_known *find_long(const struct options_known *known, const char *name,
                                            size_t n, bool whole)
{
    const struct option_known *found = NULL;
    for (size_t i = 0; i < known->n; i++) {
        const char *other = known->list[i].name;
        if (!other || strncmp(other, name, n) != 0) continue;
        if (other[n] == '\0') return &known->list[i];
        if (!whole) found = &known->list[i];
    }
    return found;
}

static const struct option_known *find_short(const struct options_known *known, int letter)
{
    for (size_t i = 0; i < known->n; i++)
        if (known->list[i].key == letter && isgraph(letter)) return &known->list[i];
    return NULL;
}

/* ---- The arguments ---- */

static void unrecognized(const struct argp_state *state, const struct options_known *known,
                         const char *arg)
{
    const char *names[MOST];
    char option[64];
    size_t n = 0;
    snprintf(option, sizeof option, "%.*s", (int)strcspn(arg, "="), arg);
    const char *word = option + strspn(option, "-");
    for (size_t i = 0; i < known->n; i++)
        if (known->list[i].name) names[n++] = known->list[i].name;
    const char *nearest = strlen(word) > 1 ? tt_nearest(word, names, n) : NULL;
    if (nearest)
        argp_error(state, "there is no option '%s'; did you mean '--%s'?", option, nearest);
    else
        argp_error(state, "there is no option '%s'", option);
}

/* Gives an option a second dash: replaces "-np" by "--np", and "-np4" by "--np=4". `name` is the
 * length of the name (2 for "np"). The new text is never freed, because argv refers to it until the
 * process ends. */
static void add_dash(char **arg, size_t name)
{
    size_t n = strlen(*arg) + 3;
    char *with = tt_alloc(n);
    const char *rest = *arg + 1 + name;
    if (!with) return;
    snprintf(with, n, "-%.*s%s%s", (int)name + 1, *arg, isdigit((unsigned char)*rest) ? "=" : "",
             rest);
    *arg = with;
}

/* Returns how many arguments the long option at argv[0] occupies: 2 if its value is the next
 * argument, otherwise 1. Exits with an error if there is no such option. */
static int read_long(const struct argp_state *state, const struct options_known *known, char **argv)
{
    const char *name = argv[0] + 2;
    size_t n = strcspn(name, "=");
    const struct option_known *o = find_long(known, name, n, false);
    if (!o) unrecognized(state, known, argv[0]);
    return o && o->takes && !o->may && name[n] != '=' ? 2 : 1;
}

static int read_short(const struct argp_state *state, const struct options_known *known,
                      char **argv)
{
    for (const char *letter = argv[0] + 1; *letter; letter++) {
        const struct option_known *o = find_short(known, (unsigned char)*letter);
        if (!o) unrecognized(state, known, argv[0]);
        if (o && o->takes) return letter[1] || o->may ? 1 : 2;
    }
    return 1;
}

static int read_option(const struct argp_state *state, const struct options_known *known,
                       char **argv)
{
    const char *name = argv[0] + 1;
    bool one_dash = *name != '-';
    size_t n = strcspn(name, "=0123456789");
    if (one_dash && n > 1 && find_long(known, name, n, true)) {
        add_dash(&argv[0], n);
        one_dash = false;
    }
    return one_dash ? read_short(state, known, argv) : read_long(state, known, argv);
}

void tt_arg_prepare(const struct argp_state *state, int from, bool to_first_word)
{
    struct options_known known = {.n = 0};
    collect(&known, state->root_argp);
    for (int i = from; i < state->argc;) {
        char **at = &state->argv[i];
        bool option = at[0][0] == '-' && at[0][1];
        if (strcmp(at[0], "--") == 0 || (!option && to_first_word)) return;
        i += option ? read_option(state, &known, at) : 1;
    }
}

void tt_arg_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    struct argp whole = *argp;
    struct argp_child children[8] = {{0}};
    size_t n = 0;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        children[n++] = *child;
    tt_assert(n + 1 < sizeof children / sizeof children[0]);
    children[n] = (struct argp_child){.argp = &standard, .group = -1};
    whole.children = children;
    struct argp_state state = {.root_argp = &whole,
                               .argc = argc,
                               .argv = argv,
                               .name = argv[0],
                               .err_stream = stderr,
                               .out_stream = stdout};
    tt_arg_prepare(&state, 1, (flags & ARGP_IN_ORDER) != 0);
    argp_parse(&whole, argc, argv, flags | ARGP_NO_HELP, NULL, input);
}
