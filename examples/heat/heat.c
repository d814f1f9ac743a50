/* SPDX-License-Identifier: BSD-3-Clause
 *
 * heat: how heat spreads on a square plate whose upper edge is hot. Each rank has a tile of the
 * plate, with a border of one cell around it. Before each step, a neighbourhood collective stores
 * the outer cells of the neighbours' tiles in this border.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tutti/tutti.h>

struct tile {
    int64_t row, column, rows, columns; /* place of the tile on the plate, and its size */
    tutti_team *grid;                   /* NULL: the tile is the whole plate */
};

enum { MOST = 1000000 }; /* the largest size, and the largest number of steps */
static int64_t size = 256, steps = 500;

static void must(tutti_status status)
{
    if (status != TUTTI_OK) fprintf(stderr, "heat: %s\n", tutti_error()), exit(2);
}

/* Makes a cold tile with its border; the upper edge of the plate has 100 degrees. */
static double *cold(const struct tile *t)
{
    double *cells = calloc((size_t)((t->rows + 2) * (t->columns + 2)), sizeof *cells);
    if (!cells) perror("heat"), exit(2);
    for (int64_t j = 0; t->row == 0 && j < t->columns + 2; j++) cells[j] = 100;
    return cells;
}

static void step(const struct tile *t, const double *from, double *to)
{
    int64_t w = t->columns + 2;
    for (int64_t i = 1; i <= t->rows; i++)
        for (int64_t at = i * w + 1; at <= i * w + t->columns; at++)
            to[at] = 0.2 * (from[at] + from[at - w] + from[at + w] + from[at - 1] + from[at + 1]);
}

/* Exchanges outer cells with the tiles above, below, left and right; displacements are in bytes. */
static void exchange(const struct tile *t, double *cells, tutti_type column)
{
    int64_t h = t->rows, c = t->columns, cell = sizeof *cells, line = (c + 2) * cell;
    int64_t counts[] = {c, c, 1, 1};
    int64_t outer[] = {line + cell, h * line + cell, line + cell, line + c * cell};
    int64_t border[] = {cell, (h + 1) * line + cell, line, line + (c + 1) * cell};
    tutti_type types[] = {TUTTI_F64, TUTTI_F64, column, column};
    must(tutti_neighbor_alltoallw(t->grid, cells, counts, outer, types, cells, counts, border,
                                  types));
}

static void show_progress(const struct tile *t, int64_t done)
{
    if (!t->grid || tutti_rank(t->grid) || !isatty(STDERR_FILENO)) return;
    int filled = (int)(40 * done / steps);
    if (filled > 40 * (done - 1) / steps)
        fprintf(stderr, "\r[%-*.*s]%s", 40, filled, "########################################",
                done == steps ? "\n" : "");
}

/* Does all steps. The caller frees the result. */
static double *run(const struct tile *t)
{
    tutti_type column;
    double *now = cold(t), *next = cold(t), *other;
    must(tutti_type_vector(t->rows, 1, t->columns + 2, TUTTI_F64, &column));
    for (int64_t i = 0; i < steps; i++, other = now, now = next, next = other) {
        show_progress(t, i + 1);
        if (t->grid) exchange(t, now, column);
        step(t, now, next);
    }
    tutti_type_free(column);
    free(next);
    return now;
}

/* Calculates the whole plate on this rank alone. Returns how many cells of the tile differ. */
static int64_t compare(const struct tile *t)
{
    double *mine = run(t), *all = run(&(struct tile){.rows = size, .columns = size});
    int64_t differ = 0, w = t->columns + 2;
    for (int64_t i = 1; i <= t->rows; i++)
        for (int64_t j = 1; j <= t->columns; j++)
            differ += mine[i * w + j] != all[(t->row + i) * (size + 2) + t->column + j];
    free(mine), free(all);
    return differ;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    struct tile t;
    int help = argc == 2 && !strcmp(argv[1], "--help"), wrong = 0, dims[2] = {0, 0}, at[2];
    char *end;
    opterr = 0; /* getopt prints nothing: rank 0 prints one error for all ranks */
    for (int o; (o = getopt(argc, argv, "n:s:")) != -1; wrong |= o == '?' || *end)
        if (o != '?') *(o == 'n' ? &size : &steps) = strtoll(optarg, &end, 10);
    must(tutti_init(&client));
    must(tutti_cart_dims(tutti_size(tutti_world(client)), 2, dims));
    if (wrong || optind < argc || steps < 1 || steps > MOST || size < dims[0] || size > MOST) {
        if (tutti_rank(tutti_world(client)) == 0)
            fprintf(help ? stdout : stderr,
                    "Usage: heat [-n SIZE (%d to %d)] [-s STEPS (1 to %d)]\n", dims[0], MOST, MOST);
        return tutti_finalize(client), help ? 0 : 2;
    }
    must(tutti_team_cart(tutti_world(client), 2, dims, NULL, TUTTI_CART_LAST_FASTEST, &t.grid));
    must(tutti_cart_coords(t.grid, tutti_rank(t.grid), at));
    t.row = size * at[0] / dims[0], t.rows = size * (at[0] + 1) / dims[0] - t.row;
    t.column = size * at[1] / dims[1], t.columns = size * (at[1] + 1) / dims[1] - t.column;
    int64_t mine = compare(&t), differ;
    must(tutti_allreduce(t.grid, &mine, &differ, 1, TUTTI_I64, TUTTI_SUM));
    if (tutti_rank(t.grid) == 0)
        printf("%lld cells differ from the serial result\n", (long long)differ);
    must(tutti_finalize(client));
    return differ != 0;
}
