/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command `tutti`: finds the subcommand and calls it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/warn.h"
#include "command.h"

#define VERSION_TEXT "tutti " TUTTI_VERSION
const char *argp_program_version = VERSION_TEXT;

static const struct tt_command commands[] = {
    {"run", tt_run_main, "run a program as several ranks"},
    {"mpi", tt_mpi_main, "run an MPI program, with its collectives done by Tutti"},
    {"ps", tt_ps_main, "show the jobs on this machine, and what each rank waits for"},
    {"bench", tt_bench_main, "time a collective, and verify its results"},
    {"check", tt_check_main, "prove algorithms right"},
    {"plan", tt_plan_main, "print the plan of a collective"},
    {"sim", tt_sim_main, "simulate a collective on a network"},
    {"draw", tt_draw_main, "draw a collective: when, where and along which paths"},
    {"list", tt_list_main, "list the algorithms"},
    {"explain", tt_explain_main, "explain which algorithm runs, and why"},
    {"calibrate", tt_calibrate_main, "measure what steps of a plan cost on this machine"},
    {"tune", tt_tune_main, "measure which algorithms are the fastest, and keep it"},
    {"info", tt_info_main, "print what this machine has and allows"},
    {"bench-rank", tt_bench_rank_main, NULL},
    {0},
};

static char *help_text(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *help = NULL;
    size_t n;
    FILE *memory = open_memstream(&help, &n);
    if (!memory) return NULL;
    fprintf(memory, "Commands:\n");
    for (const struct tt_command *c = commands; c->name; c++) {
        if (c->does) fprintf(memory, "  %-9s %s\n", c->name, c->does);
    }
    fprintf(memory, "\n'tutti COMMAND --help' lists the options of a command; "
                    "'man tutti-COMMAND' describes it.");
    fclose(memory);
    return help;
}

static void no_such_command(const struct argp_state *state, const char *name)
{
    const char *names[sizeof commands / sizeof commands[0]];
    size_t n = 0;
    for (const struct tt_command *c = commands; c->name; c++) {
        if (c->does) names[n++] = c->name;
    }
    const char *nearest = tt_nearest(name, names, n);
    if (nearest)
        argp_error(state, "there is no command '%s'; did you mean '%s'?", name, nearest);
    else
        argp_error(state, "there is no command '%s'", name);
}

/* The command that the first argument names. The later arguments belong to that command. */
struct chosen {
    const struct tt_command *command;
    int at;
    bool help; /* the arguments were 'help COMMAND' */
};

static const struct tt_command *command_of(const char *name)
{
    for (const struct tt_command *c = commands; c->name; c++)
        if (strcmp(name, c->name) == 0) return c;
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct chosen *chosen = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (strcmp(arg, "help") == 0 && !chosen->help) {
            chosen->help = true;
            return 0;
        }
        chosen->command = command_of(arg);
        if (!chosen->command) no_such_command(state, arg);
        chosen->at = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (!chosen->command) tt_arg_help(state, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Opens /dev/null on those standard descriptors (0 to 2) that are closed; otherwise a file that is
 * opened later would become, for example, the standard output. As standard output, /dev/null is
 * opened for reading only, so that the command reports that it cannot write its output, as for a
 * full disk. The ranks of `tutti run` inherit this descriptor and get an error when they write, as
 * without a launcher. */
static void open_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

/* Returns whether the command starts ranks. If so, this process does not warn about unknown TUTTI_
 * variables, because the first rank does. */
static bool has_ranks(const struct tt_command *command)
{
    return command->main == tt_run_main || command->main == tt_bench_main ||
           command->main == tt_bench_rank_main || command->main == tt_calibrate_main ||
           command->main == tt_tune_main;
}

static void warn(void *arg, const char *text)
{
    (void)arg;
    tt_warn("%s", text);
}

static int help_with(const struct tt_command *command, char *name)
{
    char *argv[] = {name, "--help", NULL};
    return command->main(2, argv);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc = "Collective communication between processes: runs, times, proves and shows it.\v",
        .help_filter = help_text,
    };
    struct chosen chosen = {0};
    char name[32];
    open_standard_descriptors();
    tt_manual_commands(commands);
    argp_err_exit_status = TT_EXIT_USAGE;
    tt_arg_parse(&argp, argc, argv, ARGP_IN_ORDER, &chosen);
    snprintf(name, sizeof name, "tutti %s", chosen.command->name);
    argv[chosen.at] = name;
    if (chosen.help) return tt_arg_finish(help_with(chosen.command, name));
    if (!has_ranks(chosen.command)) tt_warn_check(warn, NULL);
    return tt_arg_finish(chosen.command->main(argc - chosen.at, argv + chosen.at));
}
