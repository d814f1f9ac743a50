/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options for the cost of a message, which are the same for every subcommand that simulates.
 */
#ifndef TT_TOOLS_MODEL_H
#define TT_TOOLS_MODEL_H

#include <argp.h>

#include "problem.h"
#include "sim/sim.h"

/* A model, and which of its options the user has given: a set of options, whose bits model.c
 * defines. */
struct tt_model_options {
    struct tt_model model;
    uint32_t given;
};

/* The parser of the options for a model, to be used as a child of the subcommand's parser. Its
 * input is a struct tt_model_options that is initialised as tt_model_default. */
extern const struct argp tt_model_argp;
/* The default costs. The kind is TT_MODELS, which stands for none, until tt_model_settle chooses
 * one. */
extern const struct tt_model_options tt_model_default;
/* If the user has not chosen a model, chooses `links` if the problem has a network, otherwise
 * `simple`. Returns false, after printing the error, if model, options and problem do not fit
 * together. `text` is the problem as the user wrote it, for the message. If the user has given the
 * time of a byte, the map gets a node's link from the model, for the choice of algorithms. */
bool tt_model_settle(struct tt_model_options *costs, struct tt_case *c, const char *command,
                     const char *text);
const char *tt_model_name(enum tt_model_kind kind);

#endif
