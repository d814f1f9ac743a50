/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the program's calls: one row for each shape of call, found by a hash of the shape. A
 * program makes few different shapes: sizes are counted by their magnitude (up to a factor of two),
 * all derived types have one name, and all operations of the program have one name.
 *
 * A program may name a communicator after calls on it. So each communicator has rows of its own
 * until its name is asked for, when it is freed or the report is written. Its rows are then added
 * to those of all freed communicators with this name, and communicators without a name count as
 * one. So the memory grows with the communicators that live at the same time and with the names
 * that the program gives, and not with the calls, types and communicators that it makes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
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

/* Returns the key to try next, if something else has the key `hash` in a map. */
static uint64_t next_of(uint64_t hash)
{
    return hash + 1 ? hash + 1 : 1;
}

/* ---- Texts ---- */

/* The texts but "", whose number is 0. The number of text[i] is i + 1. */
static struct {
    char (*text)[TT_MPI_NAME];
    int n, size;
    struct tt_mpi_map of_hash; /* from a hash of a text to its index in `text` */
} texts;

static int add_text(const char *text, uint64_t hash)
{
    if (texts.n == texts.size) {
        int size = texts.size ? 2 * texts.size : 64;
        char(*larger)[TT_MPI_NAME] = realloc(texts.text, (size_t)size * sizeof *larger);
        if (!larger) return 0;
        texts.text = larger;
        texts.size = size;
    }
    if (!tt_mpi_map_set(&texts.of_hash, hash, texts.n)) return 0;
    strcpy(texts.text[texts.n], text);
    return ++texts.n;
}

int tt_mpi_text(const char *text)
{
    if (!*text) return 0;
    uint64_t hash = tt_hash(TT_HASH_BEGIN, text, strlen(text));
    if (!hash) hash = 1;
    for (const int64_t *at; (at = tt_mpi_map_find(&texts.of_hash, hash)); hash = next_of(hash))
        if (strcmp(texts.text[*at], text) == 0) return (int)*at + 1;
    return add_text(text, hash);
}

static void write_text(int number, char text[TT_MPI_NAME])
{
    strcpy(text, number > 0 ? texts.text[number - 1] : "");
}

/* ---- Rows ---- */

struct counted {
    struct tt_mpi_shape shape;
    uint64_t hash; /* the key of the row in of_shape */
    int magnitude;
    int64_t calls, bytes, least, most, ns, starts;
    struct tt_mpi_costs costs;
};

struct row_table {
    struct counted *row;
    int n, size;
    struct tt_mpi_map of_shape; /* from a hash of shape and magnitude to the index of the row */
};
static struct row_table live;  /* the rows of communicators that are not freed */
static struct row_table freed; /* the rows of communicators that are freed, by name */

static uint64_t hash_of(const struct tt_mpi_shape *s, int magnitude)
{
    const int word[] = {(int)s->handle, (int)(s->handle >> 32), s->function,
                        s->ranks,       s->communicator,        s->type,
                        s->operation,   (int)s->choice,         magnitude};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        hash = (hash ^ (uint32_t)word[i]) * UINT64_C(0x100000001b3) + (hash >> 29);
    return hash ? hash : 1;
}

static bool is_row(const struct counted *row, const struct tt_mpi_shape *shape, int magnitude)
{
    return row->magnitude == magnitude && memcmp(&row->shape, shape, sizeof *shape) == 0;
}

static struct counted *add_row(struct row_table *t, const struct tt_mpi_shape *shape, int magnitude,
                               uint64_t hash)
{
    if (t->n == t->size) {
        int size = t->size ? 2 * t->size : 64;
        struct counted *row = realloc(t->row, (size_t)size * sizeof *row);
        if (!row) return NULL;
        t->row = row;
        t->size = size;
    }
    if (!tt_mpi_map_set(&t->of_shape, hash, t->n)) return NULL;
    struct counted *row = &t->row[t->n++];
    *row =
        (struct counted){.shape = *shape, .hash = hash, .magnitude = magnitude, .least = INT64_MAX};
    return row;
}

/* Returns the row of a shape and magnitude, which is added if there is none; NULL: there is no
 * memory. If two shapes have the same hash, the second one gets the next free hash. When the first
 * one is removed, the second one is no longer found, and gets another row. That does no harm, as
 * the report adds up equal rows. */
static struct counted *row_of(struct row_table *t, const struct tt_mpi_shape *shape, int magnitude)
{
    uint64_t hash = hash_of(shape, magnitude);
    for (const int64_t *at; (at = tt_mpi_map_find(&t->of_shape, hash)); hash = next_of(hash))
        if (is_row(&t->row[*at], shape, magnitude)) return &t->row[*at];
    return add_row(t, shape, magnitude, hash);
}

/* Removes row i of a table. The last row takes its place. */
static void remove_row(struct row_table *t, int i)
{
    tt_mpi_map_remove(&t->of_shape, t->row[i].hash);
    if (i == --t->n) return;
    t->row[i] = t->row[t->n];
    *tt_mpi_map_find(&t->of_shape, t->row[i].hash) = i;
}

void tt_mpi_count(enum tt_mpi_counted what, const struct tt_mpi_shape *shape, int64_t bytes,
                  int64_t ns, const struct tt_mpi_costs *costs)
{
    int magnitude = bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
    struct counted *row = row_of(shape->handle ? &live : &freed, shape, magnitude);
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

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds a row of a communicator that is freed to the row of its name. */
static void add_freed(const struct counted *c)
{
    struct counted *sum = row_of(&freed, &c->shape, c->magnitude);
    if (!sum) return;
    sum->calls += c->calls;
    sum->bytes += c->bytes;
    sum->ns += c->ns;
    sum->starts += c->starts;
    if (c->least < sum->least) sum->least = c->least;
    sum->most = larger(sum->most, c->most);
    sum->costs.host_ns = larger(sum->costs.host_ns, c->costs.host_ns);
    sum->costs.tutti_ns = larger(sum->costs.tutti_ns, c->costs.tutti_ns);
    sum->costs.saved_ns += c->costs.saved_ns;
}

int tt_mpi_count_freed(uint64_t handle, const char *name)
{
    int number = tt_mpi_text(name);
    for (int i = live.n - 1; i >= 0; i--) {
        struct counted *c = &live.row[i];
        if (c->shape.handle != handle) continue;
        c->shape.handle = 0;
        c->shape.communicator = number;
        add_freed(c);
        remove_row(&live, i);
    }
    return number;
}

static struct tt_mpi_row report_row(const struct counted *c)
{
    struct tt_mpi_row row = {.function = c->shape.function,
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
    write_text(c->shape.communicator, row.communicator);
    write_text(c->shape.type, row.type);
    write_text(c->shape.operation, row.operation);
    return row;
}

struct tt_mpi_row *tt_mpi_rows(size_t *n, tt_mpi_name_fn *name_of)
{
    struct tt_mpi_row *rows = calloc((size_t)(live.n + freed.n) + 1, sizeof *rows);
    if (!rows) return NULL;
    *n = 0;
    for (int i = 0; i < freed.n; i++) rows[(*n)++] = report_row(&freed.row[i]);
    for (int i = 0; i < live.n; i++) {
        rows[*n] = report_row(&live.row[i]);
        name_of(live.row[i].shape.handle, rows[(*n)++].communicator);
    }
    return rows;
}
