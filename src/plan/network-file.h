/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network in a file. The file holds the same text as a network string, on any number of lines.
 * Blanks are ignored, and # begins a comment.
 */
#ifndef TT_PLAN_NETWORK_FILE_H
#define TT_PLAN_NETWORK_FILE_H

#include "plan/reader.h"

enum { TT_NETWORK_FILE_MOST = 1 << 20 };

/* A network that was read from a file: `text` is the network without blanks and comments, `whole`
 * the file as it is. tt_network_file_free frees both. */
struct tt_network_file {
    char *text, *whole;
};

/* Reads a file of at most TT_NETWORK_FILE_MOST bytes. Returns TUTTI_OK; ERR_ARG if the file cannot
 * be read, is not a regular text file or is too large; ERR_MEMORY. On an error it sets error->text,
 * but not error->at. */
tutti_status tt_network_file_read(const char *path, struct tt_network_file *file,
                                  struct tt_reader_error *error);
/* Converts the index of a character in file->text to its line and column in the file, both from
 * 1. */
void tt_network_file_place(const struct tt_network_file *file, size_t at, int *line, int *column);
void tt_network_file_free(struct tt_network_file *file);

#endif
