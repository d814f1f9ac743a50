/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the program's calls: one row for each shape of call, found by a hash of the shape. A
 * program makes few different shapes: sizes are counted by their magnitude (up to a factor of two),
 * all derived types have one name, all operations of the program have one name, and all
 * communicators without a name count as one. So the memory stays small however many calls, types
 * and communicators the program makes.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/shim.h"

/* ---- Maps ---- */

static bool grow(struct tt_mpi_map *map)
{
    struct tt_mpi_map larger = {.size = map->size ? 2 * map->size : 64, .n = map->n};
    larger.entry = calloc(larger.size, sizeof *larger.entry);
    if (!larger.entry) return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->entry[i].handle) *tt_mpi_map_entry(&larger, map->entry[i].handle) = map->entry[i];
    free(map->entry);
    *map = larger;
    return true;
}

bool tt_mpi_map_set(struct tt_mpi_map *map, uint64_t handle, int64_t number)
{
    if (2 * (map->n + 1) > map->size && !grow(map)) return false;
    struct tt_mpi_entry *entry = tt_mpi_map_entry(map, handle);
    map->n += !entry->handle;
    *entry = (struct tt_mpi_entry){handle, number};
    return true;
}

void tt_mpi_map_remove(struct tt_mpi_map *map, uint64_t handle)
{
    if (!tt_mpi_map_find(map, handle)) return;
    size_t i = (size_t)(tt_mpi_map_entry(map, handle) - map->entry);
    map->entry[i].handle = 0;
    map->n--;
    /* A search ends at a free entry, so the entries after the removed one are inserted again. */
    while (map->entry[i = (i + 1) & (map->size - 1)].handle) {
        struct tt_mpi_entry moved = map->entry[i];
        map->entry[i].handle = 0;
        *tt_mpi_map_entry(map, moved.handle) = moved;
    }
}

/* ---- Texts ---- */

enum { TEXTS = 256 };

static char texts[TEXTS][TT_MPI_NAME]; /* the first is "" */
static int texts_n = 1;

int tt_mpi_text(const char *text)
{
    for (int i = 0; i < texts_n; i++)
        if (strncmp(texts[i], text, TT_MPI_NAME - 1) == 0) return i;
    if (texts_n == TEXTS) return 0;
    strncpy(texts[texts_n], text, TT_MPI_NAME - 1);
    return texts_n++;
}

/* ---- Rows ---- */

struct counted {
    struct tt_mpi_shape shape;
    int magnitude;
    int64_t calls, bytes, least, most, ns, starts;
    struct tt_mpi_costs costs;
};

static struct {
    struct counted *row;
    int n, size;
    struct tt_mpi_map of_shape; /* from a hash of shape and magnitude to the index of the row */
} all;

static uint64_t hash_of(const struct tt_mpi_shape *s, int magnitude)
{
    const int word[] = {s->function,  s->ranks,       s->communicator, s->type,
                        s->operation, (int)s->choice, magnitude};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        hash = (hash ^ (uint32_t)word[i]) * UINT64_C(0x100000001b3) + (hash >> 29);
    return hash ? hash : 1;
}

static bool is_row(const struct counted *row, const struct tt_mpi_shape *shape, int magnitude)
{
    return row->magnitude == magnitude && memcmp(&row->shape, shape, sizeof *shape) == 0;
}

static struct counted *add_row(const struct tt_mpi_shape *shape, int magnitude, uint64_t hash)
{
    if (all.n == all.size) {
        int size = all.size ? 2 * all.size : 64;
        struct counted *row = realloc(all.row, (size_t)size * sizeof *row);
        if (!row) return NULL;
        all.row = row;
        all.size = size;
    }
    if (!tt_mpi_map_set(&all.of_shape, hash, all.n)) return NULL;
    struct counted *row = &all.row[all.n++];
    *row = (struct counted){.shape = *shape, .magnitude = magnitude, .least = INT64_MAX};
    return row;
}

/* Returns the row of a shape and magnitude, which is added if there is none; NULL: there is no
 * memory. If two shapes have the same hash, the second one gets the next free hash. */
static struct counted *row_of(const struct tt_mpi_shape *shape, int magnitude)
{
    uint64_t hash = hash_of(shape, magnitude);
    for (const int64_t *at; (at = tt_mpi_map_find(&all.of_shape, hash)); hash += 1 + !(hash + 1))
        if (is_row(&all.row[*at], shape, magnitude)) return &all.row[*at];
    return add_row(shape, magnitude, hash);
}

void tt_mpi_count(enum tt_mpi_counted what, const struct tt_mpi_shape *shape, int64_t bytes,
                  int64_t ns, const struct tt_mpi_costs *costs)
{
    int magnitude = bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
    struct counted *row = row_of(shape, magnitude);
    if (row && what == TT_MPI_START) row->starts++;
    if (!row || what == TT_MPI_START) return;
    row->calls++;
    row->bytes += bytes;
    row->ns += ns;
    if (bytes < row->least) row->least = bytes;
    if (bytes > row->most) row->most = bytes;
    if (!costs) return;
    row->costs.host_ns = costs->host_ns;
    row->costs.tutti_ns = costs->tutti_ns;
    row->costs.saved_ns += costs->saved_ns;
}

struct tt_mpi_row *tt_mpi_rows(size_t *n)
{
    struct tt_mpi_row *rows = calloc((size_t)all.n + 1, sizeof *rows);
    if (!rows) return NULL;
    *n = (size_t)all.n;
    for (int i = 0; i < all.n; i++) {
        const struct counted *c = &all.row[i];
        rows[i] = (struct tt_mpi_row){.function = c->shape.function,
                                      .ranks = c->shape.ranks,
                                      .magnitude = c->magnitude,
                                      .choice = (int32_t)c->shape.choice,
                                      .calls = c->calls,
                                      .bytes = c->bytes,
                                      .least = c->least,
                                      .most = c->most,
                                      .ns = c->ns,
                                      .starts = c->starts,
                                      .costs = c->costs};
        memcpy(rows[i].communicator, texts[c->shape.communicator], TT_MPI_NAME);
        memcpy(rows[i].type, texts[c->shape.type], TT_MPI_NAME);
        memcpy(rows[i].operation, texts[c->shape.operation], TT_MPI_NAME);
    }
    return rows;
}
