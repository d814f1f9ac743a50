/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading arguments: a wrong one is told with what would be right.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

int64_t tt_arg_number(const struct argp_state *state, const char *option, const char *text,
                      int64_t least, int64_t most)
{
    int64_t value;
    if (!tt_parse_size(text, text + strlen(text), &value) || value < least || value > most)
        argp_error(state, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option,
                   text, least, most);
    return value;
}

int64_t tt_arg_seconds(const struct argp_state *state, const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1e9)
        argp_error(state, "%s: '%s' is not a number of seconds, more than 0", option, text);
    return (int64_t)fmax(value * 1e9, 1);
}

/* ---- Options ---- */

enum { OPTIONS_MOST = 96 };

/* The options of a command and of those it has in common with others. */
struct options {
    const struct argp_option *at[OPTIONS_MOST];
    size_t n;
};

static void gather(struct options *all, const struct argp *argp)
{
    const struct argp_option *o = argp->options;
    for (; o && (o->name || o->key || o->doc || o->group); o++)
        if (o->name && all->n < OPTIONS_MOST) all->at[all->n++] = o;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        gather(all, child->argp);
}

/* As getopt_long takes it: a beginning is enough. NULL: there is none such. */
static const struct argp_option *find_long(const struct options *all, const char *text, size_t n)
{
    for (size_t i = 0; i < all->n; i++)
        if (strncmp(all->at[i]->name, text, n) == 0) return all->at[i];
    return NULL;
}

static const struct argp_option *find_short(const struct options *all, char letter)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i]->key == letter) return all->at[i];
    return NULL;
}

static bool is_argps_own(const char *text, size_t n)
{
    static const char *const own[] = {"help", "usage", "version"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (n > 0 && strncmp(own[i], text, n) == 0) return true;
    return false;
}

static void no_such_option(const struct options *all, const char *command, const char *text,
                           size_t n)
{
    const char *names[OPTIONS_MOST + 2] = {"help", "version"};
    char name[64];
    size_t count = 2;
    for (size_t i = 0; i < all->n; i++) names[count++] = all->at[i]->name;
    snprintf(name, sizeof name, "%.*s", (int)tt_min((int64_t)n, 60), text);
    const char *nearest = tt_nearest(name, names, count);
    fprintf(stderr, "%s: there is no option '--%s'", command, name);
    if (nearest) fprintf(stderr, "; did you mean '--%s'?", nearest);
    fprintf(stderr, "\nTry `%s --help' for more information.\n", command);
    exit(argp_err_exit_status);
}

/* Whether the word after this option is its value. */
static bool takes_next(const struct options *all, const char *command, const char *word)
{
    const struct argp_option *option;
    if (word[1] != '-') {
        option = find_short(all, word[1]);
        return option && option->arg && !word[2];
    }
    size_t n = strcspn(word + 2, "=");
    option = find_long(all, word + 2, n);
    if (!option && !is_argps_own(word + 2, n)) no_such_option(all, command, word + 2, n);
    return option && option->arg && !word[2 + n] && !(option->flags & OPTION_ARG_OPTIONAL);
}

void tt_arg_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    struct options all = {.n = 0};
    gather(&all, argp);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' && flags & ARGP_IN_ORDER) break;
        if (argv[i][0] != '-' || !argv[i][1]) continue;
        if (strcmp(argv[i], "-h") == 0 && !find_short(&all, 'h')) argv[i] = "--help";
        i += takes_next(&all, argv[0], argv[i]);
    }
    argp_parse(argp, argc, argv, flags, NULL, input);
}
