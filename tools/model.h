/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options that say what a message costs, the same for every subcommand that simulates.
 */
#ifndef TT_TOOLS_MODEL_H
#define TT_TOOLS_MODEL_H

#include <argp.h>

#include "problem.h"
#include "sim/sim.h"

/* As a child of the subcommand's parser; its input is a struct tt_model that began as
 * tt_model_default. */
extern const struct argp tt_model_argp;
/* The kind is TT_MODELS until one is chosen. */
extern const struct tt_model tt_model_default;
/* Chooses where none was: links where the problem has a network, else simple. False: it told what
 * does not fit. */
bool tt_model_settle(struct tt_model *model, const struct tt_case *c, const char *command,
                     const char *text);
const char *tt_model_name(enum tt_model_kind kind);

#endif
