/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command `tutti`: finds the subcommand and calls it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "command.h"

#define VERSION_TEXT "tutti " TUTTI_VERSION
const char *argp_program_version = VERSION_TEXT;

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *does; /* NULL: not for people */
} commands[] = {
    {"run", tt_run_main, "run a program as several ranks"},
    {"ps", tt_ps_main, "show the jobs on this machine, and what each rank waits for"},
    {"bench", tt_bench_main, "time a collective, and verify its results"},
    {"check", tt_check_main, "prove algorithms right"},
    {"plan", tt_plan_main, "print the plan of a collective"},
    {"sim", tt_sim_main, "run a collective on paper, on a network"},
    {"draw", tt_draw_main, "draw a collective: when, where and along which ways"},
    {"list", tt_list_main, "list the algorithms"},
    {"info", tt_info_main, "tell what this machine has and allows"},
    {"bench-rank", tt_bench_rank_main, NULL},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static char *help_text(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *help = NULL;
    size_t n;
    FILE *memory = open_memstream(&help, &n);
    if (!memory) return NULL;
    fprintf(memory, "Commands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].does) fprintf(memory, "  %-7s %s\n", commands[i].name, commands[i].does);
    }
    fprintf(memory, "\n'tutti COMMAND --help' tells more of one; 'man tutti' tells all.");
    fclose(memory);
    return help;
}

static void no_such_command(const struct argp_state *state, const char *name)
{
    const char *names[COMMANDS];
    size_t n = 0;
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].does) names[n++] = commands[i].name;
    }
    const char *nearest = tt_nearest(name, names, n);
    if (nearest)
        argp_error(state, "there is no command '%s'; did you mean '%s'?", name, nearest);
    else
        argp_error(state, "there is no command '%s'", name);
}

/* The first argument is the command; what follows is its own. */
struct chosen {
    const struct command *command;
    int at;
    bool help; /* 'tutti help COMMAND' */
};

static const struct command *command_of(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
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
        if (!chosen->command) argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* With one of them closed, a file opened later would become our stdout. */
static void open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

/* What was printed has to have arrived: a full disk is a failure. */
static int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fprintf(stderr, "tutti: cannot write the output\n");
    return code == TT_EXIT_OK ? TT_EXIT_FAILED : code;
}

/* Whether it starts ranks, of which the first warns of variables that are no settings. */
static bool has_ranks(const struct command *command)
{
    return command->main == tt_run_main || command->main == tt_bench_main ||
           command->main == tt_bench_rank_main;
}

static int help_with(const struct command *command, char *name)
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
    argp_err_exit_status = TT_EXIT_USAGE;
    tt_arg_parse(&argp, argc, argv, ARGP_IN_ORDER, &chosen);
    snprintf(name, sizeof name, "tutti %s", chosen.command->name);
    argv[chosen.at] = name;
    if (chosen.help) return finish_output(help_with(chosen.command, name));
    if (!has_ranks(chosen.command)) tt_settings_check();
    return finish_output(chosen.command->main(argc - chosen.at, argv + chosen.at));
}
