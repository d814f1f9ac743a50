/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures of simulations, and their way to a file.
 */
#ifndef TT_TOOLS_PICTURE_H
#define TT_TOOLS_PICTURE_H

#include "draw/picture.h"
#include "problem.h"

/* Runs the case on paper and keeps what happened, of ranks first .. last; the picture is freed by
 * the caller on OK, as is the result. Errors: those of tt_paper_run, LIMIT: more messages than can
 * be drawn, and those of tt_picture_network but LIMIT, which is told. */
tutti_status tt_case_picture(const struct tt_case *c, const struct tt_algorithm *algorithm,
                             const struct tt_model *model, int first, int last,
                             struct tt_picture *picture, struct tt_sim_result *result);

/* The algorithm named, or else the one that would be chosen; NULL: it told why not. */
const struct tt_algorithm *tt_case_algorithm(const struct tt_case *c, const char *command,
                                             const char *name);

/* Writes what `print` prints to the file `path` ("-": standard output), whole or not at all; false
 * when it told why that failed. */
bool tt_write_whole(const char *command, const char *path, void (*print)(void *arg, FILE *out),
                    void *arg);

#endif
