/* SPDX-License-Identifier: BSD-3-Clause
 *
 * transpose: transposes a square table, with as many ranks as `tutti run` starts.
 *
 *     tutti run -n 4 transpose IN OUT
 *     tutti run -n 4 transpose --size N OUT
 *
 * Rank i holds rows A[i]. Block [i, j] holds those columns of these rows that become rows of rank
 * j. One alltoallv exchanges all blocks, and each block is transposed where it has arrived:
 *
 *     rank 0   [0,0] [0,1] [0,2]              [0,0] [1,0] [2,0]   each block
 *     rank 1   [1,0] [1,1] [1,2]   exchange   [0,1] [1,1] [2,1]   transposed, side by side
 *     rank 2   [2,0] [2,1] [2,2]              [0,2] [1,2] [2,2]   in the rank's rows
 *
 * Block [i, j] has rows(i) * rows(j) fields, as many as block [j, i]. So two ranks send each other
 * the same amount, even if p does not divide n.
 */
#include "transpose.h"

#include "../bar.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TROUBLE = 2 };

static const char help[] =
    "Usage: transpose IN OUT\n"
    "  or:  transpose --size N OUT\n"
    "Transposes a square table, n lines of n fields with blanks or tabs between, in parallel:\n\n"
    "    tutti run -n 4 transpose IN OUT\n\n"
    "With --size the table has N lines of N numbers, which count the fields.\n"
    "OUT has tabs between the fields, and may be IN. A field has at most 63 bytes; there are at\n"
    "most as many ranks as lines. Exit status: 0, or 2 if something went wrong.\n";

bool table_fail(struct table *table, const char *format, ...)
{
    if (table->error[0]) return false;
    va_list list;
    va_start(list, format);
    vsnprintf(table->error, sizeof table->error, format, list);
    va_end(list);
    return false;
}

void table_progress(const struct table *table, const char *what, int64_t done, int64_t total)
{
    if (table->me == 0) bar_show(what, done, total);
}

/* Returns whether a collective succeeded, and prints the error if not. After a failed collective
 * there are no more collectives, so each rank prints its own error. */
bool table_did(const struct table *table, tutti_status status)
{
    if (status == TUTTI_OK) return true;
    bar_clear();
    fprintf(stderr, "transpose: rank %d: %s\n", table->me, tutti_error());
    return false;
}

bool table_agree(struct table *table, bool ok)
{
    int32_t mine = ok ? table->p : table->me, first;
    if (!table_did(table, tutti_allreduce(table->team, &mine, &first, 1, TUTTI_I32, TUTTI_MIN))) {
        return false;
    }
    if (first < table->p) bar_clear();
    if (first == table->me) fprintf(stderr, "transpose: %s\n", table->error);
    return first == table->p;
}

/* Sets n on all ranks. Rank 0 determines it, so that all ranks use the same n. */
static bool measure(struct table *table)
{
    const char *what = table->in ? table->in : "--size";
    if (table->me == 0 && table->in) table->n = input_width(table);
    if (!table_did(table, tutti_bcast(table->team, &table->n, 1, TUTTI_I64, 0))) return false;
    if (table->n > 0 && table->n < table->p) {
        table_fail(table, "%s: %d ranks for %lld rows, and each must have one", what, table->p,
                   (long long)table->n);
    }
    return table_agree(table, table->n >= table->p);
}

static bool divide(struct table *table)
{
    size_t p = (size_t)table->p;
    table->first = calloc(p + 1, sizeof *table->first);
    table->sizes = calloc(p, sizeof *table->sizes);
    table->offsets = calloc(p, sizeof *table->offsets);
    if (!table->first || !table->sizes || !table->offsets) return false;
    for (int r = 0; r <= table->p; r++) table->first[r] = table->n * r / table->p;
    size_t fields = (size_t)(table_rows(table, table->me) * table->n);
    table->rows = calloc(fields, sizeof *table->rows);
    table->blocks = calloc(fields, sizeof *table->blocks);
    return table->rows && table->blocks;
}

static bool prepare(struct table *table)
{
    return divide(table) || table_fail(table, "rank %d is out of memory", table->me);
}

/* Copies the rows block by block: for each rank r, the fields of this rank's rows that are in rank
 * r's columns. */
static void regroup(struct table *table)
{
    field *to = table->blocks;
    int64_t rows = table_rows(table, table->me);
    for (int r = 0; r < table->p; r++) {
        int64_t columns = table_rows(table, r);
        for (int64_t i = 0; i < rows; i++, to += columns) {
            memcpy(to, table->rows + i * table->n + table->first[r], (size_t)columns * sizeof *to);
        }
    }
}

/* Copies the blocks into this rank's rows: row i of the block from rank r becomes column first[r] +
 * i. */
static void transpose_blocks(struct table *table)
{
    const field *from = table->blocks;
    int64_t rows = table_rows(table, table->me);
    for (int64_t column = 0; column < table->n; column++) {
        for (int64_t j = 0; j < rows; j++, from++) {
            memcpy(table->rows + j * table->n + column, from, sizeof *from);
        }
    }
}

/* Exchanges and transposes the blocks. regroup has copied the rows to `blocks`, so the blocks are
 * sent from there and received in the memory of `rows`. Then the two arrays are swapped: the
 * received blocks are in `blocks`, and are transposed into `rows`. */
static bool exchange(struct table *table)
{
    int64_t row = table_rows(table, table->me) * FIELD;
    regroup(table);
    for (int r = 0; r < table->p; r++) {
        table->sizes[r] = row * table_rows(table, r);
        table->offsets[r] = row * table->first[r];
    }
    if (!table_did(table, tutti_alltoallv(table->team, table->blocks, table->sizes, table->offsets,
                                          table->rows, table->sizes, table->offsets, TUTTI_U8))) {
        return false;
    }
    field *arrived = table->rows;
    table->rows = table->blocks;
    table->blocks = arrived;
    transpose_blocks(table);
    return true;
}

static bool fill(struct table *table)
{
    if (table->in) return input_read(table);
    input_make(table);
    return true;
}

static int transpose(struct table *table)
{
    bool ok = measure(table) && table_agree(table, prepare(table)) &&
              table_agree(table, fill(table)) && exchange(table) && output_write(table);
    if (!ok) output_drop(table);
    bar_clear();
    free(table->first);
    free(table->sizes);
    free(table->offsets);
    free(table->rows);
    free(table->blocks);
    return ok ? 0 : TROUBLE;
}

/* Prints the usage, on rank 0 only. */
static int tell_usage(const struct table *table, bool asked)
{
    if (table->me == 0) fputs(help, asked ? stdout : stderr);
    return asked ? 0 : TROUBLE;
}

/* Reads the arguments. Returns false if they are wrong. */
static bool parse(struct table *table, int argc, char **argv)
{
    char *end = "";
    bool makes = argc == 4 && strcmp(argv[1], "--size") == 0;
    if (argc != 3 && !makes) return false;
    if (makes) table->n = strtoll(argv[2], &end, 10);
    table->in = makes ? NULL : argv[1];
    table->out = argv[argc - 1];
    return !makes || (!*end && table->n >= 1 && table->n <= N_MAX);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "transpose: %s\n", tutti_error());
        return TROUBLE;
    }
    struct table table = {.team = tutti_world(client)};
    table.me = tutti_rank(table.team);
    table.p = tutti_size(table.team);
    int status;
    if (parse(&table, argc, argv))
        status = transpose(&table);
    else
        status = tell_usage(&table, argc == 2 && strcmp(argv[1], "--help") == 0);
    tutti_finalize(client);
    return status;
}
