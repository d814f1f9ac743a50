/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange: the transpose of a square table of text. The rows are divided among the ranks as
 * evenly as possible, so that sizes differ by at most one. There is one file for each step:
 *
 *   input.c      each rank parses its own rows
 *   transpose.c  one alltoallv exchanges blocks, which are regrouped before and transposed after
 *   output.c     each rank writes its rows of the result, which appears complete or not at all
 *
 * table_fail records a failure of one rank. table_agree makes the failure known to all ranks before
 * the next collective, so that all ranks end together and one message gives the reason.
 */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <tutti/tutti.h>

enum { FIELD = 64, N_MAX = 1 << 20 };

typedef char field[FIELD]; /* text, then at least one zero byte */

struct table {
    tutti_team *team;
    int me, p;
    const char *in; /* NULL: a table of numbers is made */
    const char *out;
    int64_t n;                  /* lines, and fields in each; p <= n */
    int64_t *first;             /* rank r has rows first[r] .. first[r + 1] - 1; first[p] is n */
    int64_t *sizes, *offsets;   /* bytes and offsets of the p pieces to send or write */
    field *rows;                /* this rank's rows, n fields each, one after the other */
    field *blocks;              /* as many fields as `rows`, in blocks to or from each rank */
    bool began;                 /* the file named `part` exists, and this job has created it */
    char part[PATH_MAX];        /* name of the output until it is complete */
    char error[PATH_MAX + 256]; /* first failure of this rank; "" if there was none */
};

/* Records a failure of this rank unless one is recorded already. Always returns false. */
bool table_fail(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns whether `ok` is true on all ranks; if not, the lowest rank that failed prints its error.
 * Collective. */
bool table_agree(struct table *table, bool ok);
/* Returns whether the status of a collective is OK; prints the error if not. */
bool table_did(const struct table *table, tutti_status status);

/* Shows how far rank 0 is, on a terminal. */
void table_progress(const struct table *table, const char *what, int64_t done, int64_t total);

static inline int64_t table_rows(const struct table *table, int r)
{
    return table->first[r + 1] - table->first[r];
}

/* Returns the number of fields in the first line; 0 for failure. Local. */
int64_t input_width(struct table *table);
/* Writes into each field of this rank's rows the number of the field, counted row by row over the
 * whole table. Local. */
void input_make(struct table *table);
/* Reads this rank's rows. Local. If several ranks fail, the lowest of them has found the first
 * wrong line. */
bool input_read(struct table *table);

/* Writes the rows of all ranks. Collective. */
bool output_write(struct table *table);
/* Removes an output that is not complete. Local. */
void output_drop(struct table *table);

#endif
