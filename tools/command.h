/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the command `tutti` share. A subcommand is a function like main:
 * its argv[0] is "tutti NAME" and its result is the exit code.
 */
#ifndef TT_COMMAND_H
#define TT_COMMAND_H

#include <argp.h>
#include <stdio.h>

#include "base/base.h"
#include "text/problem.h"

/* The exit codes of all subcommands except `run`, which has those of tools/launch.h. */
enum { TT_EXIT_OK, TT_EXIT_FAILED, TT_EXIT_USAGE };

int tt_run_main(int argc, char **argv);
int tt_bench_main(int argc, char **argv);
int tt_check_main(int argc, char **argv);
int tt_plan_main(int argc, char **argv);
int tt_calibrate_main(int argc, char **argv);
int tt_explain_main(int argc, char **argv);
int tt_tune_main(int argc, char **argv);
int tt_list_main(int argc, char **argv);
int tt_info_main(int argc, char **argv);
int tt_mpi_main(int argc, char **argv);
int tt_ps_main(int argc, char **argv);
int tt_sim_main(int argc, char **argv);
int tt_draw_main(int argc, char **argv);
/* Runs one rank of a benchmark. Only `tutti bench` starts this subcommand. */
int tt_bench_rank_main(int argc, char **argv);

struct tt_command {
    const char *name;
    int (*main)(int argc, char **argv);
    /* the text about the subcommand in the help; NULL if neither the help nor a manual page names
     * it */
    const char *does;
};

/* ---- option.c ---- */

/* Calls argp_parse for the arguments of a subcommand, with three additions: -h means --help; a long
 * option may begin with one dash, as in -np 4; and the error for an unknown option suggests the
 * option with the most similar name. Pass ARGP_IN_ORDER in flags if the arguments of another
 * program follow. Changes argv. */
void tt_arg_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);
/* Rewrites the arguments from argv[from] on, as tt_arg_parse does before it parses. The parser of a
 * subcommand calls this when options of the subcommand follow the arguments of another program, as
 * in `tutti run -n 2 ./a : -n 3 ./b`: tt_arg_parse has rewritten only the arguments before ./a.
 * to_first_word: stops at the first word that is not an option, because it is again the name of
 * another program. */
void tt_arg_prepare(const struct argp_state *state, int from, bool to_first_word);
/* Prints the help (ARGP_HELP_STD_HELP, ...) and ends the process. */
void tt_arg_help(const struct argp_state *state, unsigned flags);
/* Flushes the output and reports an error if it could not be written, for example to a full disk.
 * Returns the exit code: `code`, or TT_EXIT_FAILED after such an error if `code` is TT_EXIT_OK. */
int tt_arg_finish(int code);

/* ---- manual.c ---- */

/* Prints the manual page of the command `name`, "tutti" or "tutti COMMAND", from the same options
 * and texts as its --help, in the format of man(7). Comments of the form
 *     .\" more: PLACE
 * mark where docs/man/page inserts the text that only the manual page has. */
void tt_manual_print(const struct argp *argp, const char *name, FILE *out);
/* Sets the subcommands that the manual pages name; an entry without a name ends the list. */
void tt_manual_commands(const struct tt_command *list);

/* ---- argument.c ---- */

/* Returns the whole number in text, which may have a suffix such as K. If it is not within
 * least..most, prints an error by argp_error, with `option` as the option's name, and exits. */
int64_t tt_arg_number(const struct argp_state *state, const char *option, const char *text,
                      int64_t least, int64_t most);
/* Returns the seconds in text as ns. Fractions are allowed; 0 is not. Errors as in
 * tt_arg_number. */
int64_t tt_arg_seconds(const struct argp_state *state, const char *option, const char *text);

/* Returns whether the command may keep what it measures: in `output`, the file of the option
 * --output; or, if that is NULL, in the file that the setting `file` names; or, if neither is
 * given, in the cache folder. If a setting other than `except` (which may be NULL) changes the
 * times, they may not be kept in the cache folder, where later jobs find them: then prints the
 * error. */
bool tt_arg_keeps_times(const char *command, const char *output, const char *file,
                        const char *except);

#endif
