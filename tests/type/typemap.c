/* SPDX-License-Identifier: BSD-3-Clause */
#include "type/typemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct typemap empty_map(void)
{
    return (struct typemap){.type = TUTTI_TYPES, .lower = INT64_MAX, .extent = 0};
}

static void add_element(struct typemap *map, const struct typemap *base, int64_t offset)
{
    map->at = realloc(map->at, (size_t)(map->n + base->n) * sizeof *map->at);
    if (!map->at) abort();
    for (int64_t k = 0; k < base->n; k++) map->at[map->n++] = offset + base->at[k];
}

static void add_block(struct typemap *map, const struct typemap *base, int64_t offset,
                      int64_t count)
{
    for (int64_t i = 0; i < count; i++) add_element(map, base, offset + i * base->extent);
}

/* Extends the bounds of the map to a block of `count` elements. `extent` holds the upper bound
 * until all blocks have been added. */
static void reach(struct typemap *map, const struct typemap *base, int64_t offset, int64_t count)
{
    int64_t lower = offset + base->lower, upper = lower + count * base->extent;
    if (count == 0) return;
    if (map->lower == INT64_MAX) map->extent = upper;
    map->lower = tt_min(map->lower, lower);
    map->extent = tt_max(map->extent, upper);
}

tutti_status typemap_basic(tutti_type type, struct typemap *map)
{
    *map = empty_map();
    map->type = type;
    map->lower = 0;
    map->n = map->extent = (int64_t)tutti_type_size(type);
    map->at = malloc((size_t)map->n * sizeof *map->at);
    if (!map->at) abort();
    for (int64_t k = 0; k < map->n; k++) map->at[k] = k;
    return TUTTI_OK;
}

tutti_status typemap_vector(const struct typemap *base, int64_t count, int64_t block,
                            int64_t stride, struct typemap *map)
{
    *map = empty_map();
    for (int64_t i = 0; i < count; i++) {
        add_block(map, base, i * stride * base->extent, block);
        reach(map, base, i * stride * base->extent, block);
    }
    map->extent -= map->lower;
    return tutti_type_vector(count, block, stride, base->type, &map->type);
}

tutti_status typemap_indexed(const struct typemap *base, int n, const int64_t *blocks,
                             const int64_t *displs, int64_t unit, struct typemap *map)
{
    *map = empty_map();
    for (int i = 0; i < n; i++) {
        add_block(map, base, displs[i] * unit, blocks[i]);
        reach(map, base, displs[i] * unit, blocks[i]);
    }
    map->extent -= map->lower;
    return unit == 1 ? tutti_type_hindexed(n, blocks, displs, base->type, &map->type)
                     : tutti_type_indexed(n, blocks, displs, base->type, &map->type);
}

/* Walks over the whole array in the order of memory, and adds the elements that are in the part. */
tutti_status typemap_subarray(const struct typemap *base, int n, const int64_t *sizes,
                              const int64_t *parts, const int64_t *starts, tutti_order order,
                              struct typemap *map)
{
    int64_t all = 1;
    *map = empty_map();
    for (int d = 0; d < n; d++) all *= sizes[d];
    for (int64_t i = 0; i < all; i++) {
        bool inside = true;
        int64_t rest = i;
        for (int k = 0; k < n; k++) {
            int d = order == TUTTI_ORDER_C ? n - 1 - k : k;
            int64_t index = rest % sizes[d];
            rest /= sizes[d];
            inside = inside && index >= starts[d] && index < starts[d] + parts[d];
        }
        if (inside) add_element(map, base, i * base->extent);
    }
    map->lower = 0;
    map->extent = all * base->extent;
    return tutti_type_subarray(n, sizes, parts, starts, order, base->type, &map->type);
}

tutti_status typemap_resized(const struct typemap *base, int64_t lower, int64_t extent,
                             struct typemap *map)
{
    *map = empty_map();
    add_element(map, base, 0);
    map->lower = lower;
    map->extent = extent;
    return tutti_type_resized(base->type, lower, extent, &map->type);
}

enum { MOST_FIELDS = 4 };

tutti_status typemap_struct(const struct typemap *base, int n, const int64_t *counts,
                            const int64_t *offsets, int64_t extent, struct typemap *map)
{
    tutti_field fields[MOST_FIELDS];
    *map = empty_map();
    for (int i = 0; i < n; i++) {
        fields[i] = (tutti_field){offsets[i], counts[i], base->type};
        add_block(map, base, offsets[i], counts[i]);
    }
    map->lower = 0;
    map->extent = extent;
    return tutti_type_struct(n, fields, extent, &map->type);
}

/* ---- Overlaps and bounds ---- */

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool typemap_overlaps(const struct typemap *map, int64_t n)
{
    bool found = false;
    int64_t bytes = n * map->n, *all = malloc((size_t)tt_max(bytes, 1) * sizeof *all);
    if (!all) abort();
    for (int64_t i = 0; i < bytes; i++) all[i] = i / map->n * map->extent + map->at[i % map->n];
    qsort(all, (size_t)bytes, sizeof *all, by_place);
    for (int64_t i = 1; i < bytes; i++) found = found || all[i] == all[i - 1];
    free(all);
    return found;
}

int64_t typemap_begin(const struct typemap *map, int64_t n)
{
    int64_t begin = INT64_MAX;
    for (int64_t k = 0; k < map->n; k++) begin = tt_min(begin, map->at[k]);
    return begin + tt_min(0, (n - 1) * map->extent);
}

int64_t typemap_end(const struct typemap *map, int64_t n)
{
    int64_t end = INT64_MIN;
    for (int64_t k = 0; k < map->n; k++) end = tt_max(end, map->at[k] + 1);
    return end + tt_max(0, (n - 1) * map->extent);
}

void typemap_free(struct typemap *map)
{
    if (map->type >= TUTTI_TYPE_USER && tutti_type_free(map->type) != TUTTI_OK) abort();
    free(map->at);
    *map = empty_map();
}

/* ---- Types of a random kind ---- */

static int64_t between(struct tt_random *random, int64_t least, int64_t most)
{
    return least + (int64_t)tt_random_below(random, (uint64_t)(most - least + 1));
}

static tutti_status random_indexed(const struct typemap *base, struct tt_random *r,
                                   struct typemap *map)
{
    int64_t blocks[MOST_FIELDS], displs[MOST_FIELDS], at = between(r, -9, 3);
    int n = (int)between(r, 1, MOST_FIELDS);
    bool by_bytes = between(r, 0, 1), reverse = between(r, 0, 1);
    int64_t unit = by_bytes ? 1 : base->extent, scale = by_bytes ? base->extent : 1;
    for (int i = 0; i < n; i++) {
        int k = reverse ? n - 1 - i : i;
        blocks[k] = between(r, i == 0, 3);
        displs[k] = at * scale + (by_bytes ? 4 * between(r, 0, 1) : 0);
        at += blocks[k] + between(r, between(r, 0, 9) ? 0 : -1, 2);
    }
    return typemap_indexed(base, n, blocks, displs, unit, map);
}

static tutti_status random_subarray(const struct typemap *base, struct tt_random *r,
                                    struct typemap *map)
{
    int64_t sizes[3], parts[3], starts[3];
    int n = (int)between(r, 1, 3);
    for (int d = 0; d < n; d++) {
        sizes[d] = between(r, 1, 4);
        parts[d] = between(r, 1, sizes[d]);
        starts[d] = between(r, 0, sizes[d] - parts[d]);
    }
    return typemap_subarray(base, n, sizes, parts, starts,
                            between(r, 0, 1) ? TUTTI_ORDER_C : TUTTI_ORDER_FORTRAN, map);
}

static tutti_status random_struct(const struct typemap *base, struct tt_random *r,
                                  struct typemap *map)
{
    int64_t counts[MOST_FIELDS], offsets[MOST_FIELDS], at = 4 * between(r, -9, 3);
    int n = (int)between(r, 1, MOST_FIELDS);
    for (int i = 0; i < n; i++) {
        counts[i] = between(r, i == 0, 3);
        offsets[i] = at;
        at += counts[i] * base->extent + 4 * between(r, between(r, 0, 9) ? 0 : -1, 2);
    }
    return typemap_struct(base, n, counts, offsets, 4 * between(r, 1, 50), map);
}

static tutti_status random_kind(const struct typemap *base, struct tt_random *r,
                                struct typemap *map)
{
    int64_t block = between(r, 1, 3);
    switch (between(r, 0, 4)) {
    case 0: return typemap_vector(base, between(r, 1, 3), block, block + between(r, 0, 2), map);
    case 1: return random_indexed(base, r, map);
    case 2: return random_subarray(base, r, map);
    case 3:
        return typemap_resized(base, 4 * between(r, -5, 5),
                               between(r, 0, 2) ? base->extent : 4 * between(r, 1, 20), map);
    default: return random_struct(base, r, map);
    }
}

bool typemap_wrap(struct typemap *map, struct tt_random *random)
{
    struct typemap made;
    tutti_status status = random_kind(map, random, &made);
    bool overlaps = typemap_overlaps(&made, 1);
    if ((status == TUTTI_OK) == overlaps || (status != TUTTI_OK && status != TUTTI_ERR_ARG)) {
        fprintf(stderr, "a type of %lld bytes, which %s: status %d: %s\n", (long long)made.n,
                overlaps ? "overlaps" : "does not overlap", (int)status, tutti_error());
        abort();
    }
    if (status == TUTTI_OK) {
        typemap_free(map);
        *map = made;
    } else {
        made.type = TUTTI_TYPES;
        typemap_free(&made);
    }
    return status == TUTTI_OK;
}
