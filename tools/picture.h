/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes pictures of simulations.
 */
#ifndef TT_TOOLS_PICTURE_H
#define TT_TOOLS_PICTURE_H

#include "draw/picture.h"
#include "problem.h"

/* Simulates the case and records the events of the ranks first .. last in a picture. If the result
 * is OK, the caller frees the picture and the result of the simulation. Errors: those of
 * tt_simulate and of tt_picture_network; LIMIT if there are more messages than can be drawn. If the
 * network is too large to draw, the picture lacks it and a message is printed, but this is no
 * error. */
tutti_status tt_case_picture(const struct tt_case *c, const struct tt_algorithm *algorithm,
                             const struct tt_model *model, int first, int last,
                             struct tt_picture *picture, struct tt_sim_result *result);

/* Returns the algorithm of this name; or, if `name` is NULL, the one that the library would choose.
 * Returns NULL after printing an error. */
const struct tt_algorithm *tt_case_algorithm(struct tt_case *c, const char *command,
                                             const char *name);

#endif
