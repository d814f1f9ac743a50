/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes pictures of simulations and writes them to files.
 */
#ifndef TT_TOOLS_PICTURE_H
#define TT_TOOLS_PICTURE_H

#include "draw/picture.h"
#include "problem.h"

/* Simulates the case and records the events of the ranks first .. last in a picture. If OK, the
 * caller frees the picture and the result. Errors: those of tt_simulate; LIMIT: more messages than
 * can be drawn; those of tt_picture_network. A network too large to draw is not an error: the
 * picture lacks it, and a message is printed. */
tutti_status tt_case_picture(const struct tt_case *c, const struct tt_algorithm *algorithm,
                             const struct tt_model *model, int first, int last,
                             struct tt_picture *picture, struct tt_sim_result *result);

/* Returns the algorithm of this name, or the one that the library would choose if name is NULL.
 * Returns NULL after printing the error. */
const struct tt_algorithm *tt_case_algorithm(const struct tt_case *c, const char *command,
                                             const char *name);

/* Writes what `print` prints to the file `path` ("-": standard output). An existing regular file is
 * replaced only when the new file is complete. Returns false after printing the error. */
bool tt_write_whole(const char *command, const char *path, void (*print)(void *arg, FILE *out),
                    void *arg);

#endif
