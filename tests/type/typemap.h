/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived types with their typemap: the place of every byte in the order of the packed form,
 * computed from the definitions of the types, byte by byte and without any code of the library.
 */
#ifndef TEST_TYPE_TYPEMAP_H
#define TEST_TYPE_TYPEMAP_H

#include <stdbool.h>
#include <stdint.h>

#include <tutti/type.h>

#include "base/base.h"

struct typemap {
    tutti_type type;       /* the handle that the library returned */
    int64_t n;             /* bytes of an element */
    int64_t lower, extent; /* lower bound and extent by MPI's definition */
    int64_t *at;           /* byte k lies at[k] bytes into the element */
};

/* The maker functions call the library, and return its status. They set *map even if the library
 * refuses the type. The caller frees *map, and passes only valid counts and sizes. */
tutti_status typemap_basic(tutti_type type, struct typemap *map);
tutti_status typemap_vector(const struct typemap *base, int64_t count, int64_t block,
                            int64_t stride, struct typemap *map);
/* Displacements are in units of `unit` bytes: 1 for tutti_type_hindexed, and the extent of the base
 * for tutti_type_indexed. */
tutti_status typemap_indexed(const struct typemap *base, int n, const int64_t *blocks,
                             const int64_t *displs, int64_t unit, struct typemap *map);
tutti_status typemap_subarray(const struct typemap *base, int n, const int64_t *sizes,
                              const int64_t *parts, const int64_t *starts, tutti_order order,
                              struct typemap *map);
tutti_status typemap_resized(const struct typemap *base, int64_t lower, int64_t extent,
                             struct typemap *map);
/* Makes a struct of which all fields have the type of the base. */
tutti_status typemap_struct(const struct typemap *base, int n, const int64_t *counts,
                            const int64_t *offsets, int64_t extent, struct typemap *map);
/* Replaces the type of the map by a random type that contains it. Returns false, and leaves *map as
 * it was, if the library refused the type because fields overlap, and they do overlap. Aborts if
 * the library refuses any other type, or accepts fields that overlap. */
bool typemap_wrap(struct typemap *map, struct tt_random *random);
/* Returns whether n elements, `extent` bytes apart, share bytes. */
bool typemap_overlaps(const struct typemap *map, int64_t n);
/* Return the offset of the first byte that n > 0 elements use, and the offset after the last
 * byte. */
int64_t typemap_begin(const struct typemap *map, int64_t n);
int64_t typemap_end(const struct typemap *map, int64_t n);
void typemap_free(struct typemap *map);

#endif
