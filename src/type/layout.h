/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the basic elements of a type lie: what is behind the types that users derive.
 *
 * A layout is a list of fields, each some elements of another layout in a row. The basic types are
 * layouts too, without fields, so that nothing below has to tell them apart.
 */
#ifndef TT_LAYOUT_H
#define TT_LAYOUT_H

#include <stdatomic.h>

#include "base/base.h"

struct tt_field {
    int64_t offset, count;
    struct tt_layout *inner; /* held */
};

/* The hash of a sequence of basic types. Equal sequences have equal hashes, however they were
 * built. */
struct tt_signature {
    uint64_t hash, power;
};

/* Invariants: all below 2^41; 0 <= begin < end; packed = the sum over the fields of count *
 * inner->packed, or the size of a basic type; no byte belongs to two fields. An extent below
 * end - begin lets elements in a row interleave. */
struct tt_layout {
    atomic_int refs;    /* of basic ones: unused */
    int64_t packed;     /* bytes of the basic elements alone */
    int64_t extent;     /* from one element to the next */
    int64_t begin, end; /* of the bytes that an element has */
    int64_t blocks;     /* pieces of memory that an element is made of */
    bool solid;         /* elements in a row are one piece of memory, packed as it is */
    tutti_type uniform; /* the only basic type in it, or TUTTI_TYPES */
    struct tt_signature signature;
    int depth, n;
    struct tt_field *field;
};

/* Errors: ARG (says which field and why), LIMIT (nested too deep), MEMORY. */
tutti_status tt_layout_new(int n, const tutti_field *fields, int64_t extent,
                           struct tt_layout **layout);
/* Releases a layout that tt_layout_hold returned. */
void tt_layout_drop(struct tt_layout *layout);

/* Copies n elements between the user's memory and their packed form, gaps untouched. */
void tt_layout_pack(const struct tt_layout *layout, char *packed, const char *user, int64_t n);
void tt_layout_unpack(const struct tt_layout *layout, const char *packed, char *user, int64_t n);

/* ---- By type (type-user.c) ---- */

/* Returns the layout of a type; NULL if it is no type. The layout lasts until the type is freed, so
 * the caller must not let that happen meanwhile. Takes no lock. */
struct tt_layout *tt_layout_find(tutti_type type);
/* Like tt_layout_find, but the layout lasts until the caller drops it. */
struct tt_layout *tt_layout_hold(tutti_type type);

/* Returns the number that stands for the type in a call on packed bytes. It is no type, its
 * elements have one byte, and it is equal for layouts that pack n elements to the same sequence of
 * basic types. */
tutti_type tt_layout_sequence(const struct tt_layout *layout, int64_t n);
/* Returns a number that is equal on all ranks whose types pack alike, for the comparison of
 * calls. */
tutti_type tt_type_shape(tutti_type type);

#endif
