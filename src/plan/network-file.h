/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network in a file: the same text, over as many lines as one likes. Blanks do not count, and #
 * begins a comment.
 */
#ifndef TT_PLAN_NETWORK_FILE_H
#define TT_PLAN_NETWORK_FILE_H

#include "plan/reader.h"

enum { TT_NETWORK_FILE_MOST = 1 << 20 };

/* text: without blanks and comments; whole: all that is in the file. Both are freed by
 * tt_network_file_free. */
struct tt_network_file {
    char *text, *whole;
};

/* ARG with *error filled in (but its place): the file cannot be read, is none, or too large; MEMORY
 * likewise. */
tutti_status tt_network_file_read(const char *path, struct tt_network_file *file,
                                  struct tt_reader_error *error);
/* Where character `at` of the text stands in the file, from 1. */
void tt_network_file_place(const struct tt_network_file *file, size_t at, int *line, int *column);
void tt_network_file_free(struct tt_network_file *file);

#endif
