/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the command `tutti` share. A subcommand is a function like main, called with
 * argv[0] = "tutti NAME", whose result is the exit code.
 */
#ifndef TT_COMMAND_H
#define TT_COMMAND_H

#include <argp.h>

#include "base/base.h"
#include "plan/problem.h"

/* Exit codes of every subcommand but `run`, whose are in boot/launch.h. */
enum { TT_EXIT_OK, TT_EXIT_FAILED, TT_EXIT_USAGE };

int tt_run_main(int argc, char **argv);
int tt_bench_main(int argc, char **argv);
int tt_check_main(int argc, char **argv);
int tt_plan_main(int argc, char **argv);
int tt_list_main(int argc, char **argv);
int tt_info_main(int argc, char **argv);
int tt_ps_main(int argc, char **argv);
int tt_sim_main(int argc, char **argv);
int tt_draw_main(int argc, char **argv);
/* A rank of a benchmark, started by `tutti bench` only. */
int tt_bench_rank_main(int argc, char **argv);

/* ---- option.c ---- */

/* argp_parse, for the arguments of a subcommand: takes -h for --help and long options with one
 * dash, as in -np 4, and answers an option that is not there with the name of the nearest. flags:
 * ARGP_IN_ORDER where a program's arguments follow. Changes argv. */
void tt_arg_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);
/* The same for what follows argv[from], where a parser goes on by itself; to_first_word: what is
 * behind the first word that is no option is somebody else's. */
void tt_arg_prepare(const struct argp_state *state, int from, bool to_first_word);

/* ---- argument.c ---- */

/* The whole number in text, from least to most; else tells by argp_error, for which `option` is the
 * option's name, and exits. */
int64_t tt_arg_number(const struct argp_state *state, const char *option, const char *text,
                      int64_t least, int64_t most);
/* Seconds in ns, more than 0; fractions are allowed. */
int64_t tt_arg_seconds(const struct argp_state *state, const char *option, const char *text);

#endif
