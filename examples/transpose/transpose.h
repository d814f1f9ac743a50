/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Total exchange: the transpose of a square table of text whose rows are spread over the ranks as
 * evenly as possible, sizes differing by at most one. One file a step:
 *
 *   input.c      each rank parses its own rows
 *   transpose.c  one alltoallv exchanges blocks, which are regrouped before and transposed after
 *   output.c     each rank writes its rows of the result, which appears whole or not at all
 *
 * What fails on one rank is recorded with table_fail and becomes common knowledge in table_agree,
 * before the next collective, so that all ranks end together and one message says why.
 */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <tutti/tutti.h>

enum { FIELD = 64, N_MAX = 1 << 20 };

typedef char field[FIELD]; /* text, then zero bytes, at least one */

struct table {
    tutti_team *team;
    int me, p;
    const char *in, *out;
    int64_t n;                  /* lines, and fields of each; p <= n */
    int64_t *first;             /* rank r has rows first[r] .. first[r + 1] - 1; first[p] is n */
    int64_t *sizes, *offsets;   /* of the p pieces that are sent or written, in bytes */
    field *rows;                /* this rank's, n fields each, one after the other */
    field *blocks;              /* as many fields, to or from each rank in turn */
    bool began;                 /* a file named `part` is there, and ours */
    char part[PATH_MAX];        /* what the output is called until it is whole */
    char error[PATH_MAX + 256]; /* the first thing that failed on this rank; "" if nothing did */
};

/* Always false. */
bool table_fail(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether `ok` on all ranks; if not, the lowest rank that failed says why. Collective. */
bool table_agree(struct table *table, bool ok);
/* Turns the status of a collective into success, or says why it failed. */
bool table_did(const struct table *table, tutti_status status);

static inline int64_t table_rows(const struct table *table, int r)
{
    return table->first[r + 1] - table->first[r];
}

/* How many fields the first line has; 0 for failure. Local. */
int64_t input_width(struct table *table);
/* Fills this rank's rows. Local; of all ranks that fail, the lowest has seen the first wrong
 * line. */
bool input_read(struct table *table);

/* Writes the rows of all ranks. Collective. */
bool output_write(struct table *table);
/* Leaves nothing of an output that did not become whole. Local. */
void output_drop(struct table *table);

#endif
