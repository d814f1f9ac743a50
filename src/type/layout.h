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

/* Of a sequence of basic types; equal ones have equal hashes however they are put together. */
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
/* Gives up one hold. */
void tt_layout_drop(struct tt_layout *layout);

/* Copies n elements between the user's memory and their packed form, gaps untouched. */
void tt_layout_pack(const struct tt_layout *layout, char *packed, const char *user, int64_t n);
void tt_layout_unpack(const struct tt_layout *layout, const char *packed, char *user, int64_t n);

/* ---- By type (type-user.c) ---- */

/* NULL if it is no type. The answer holds until the type is freed, which whoever uses it must not
 * let happen meanwhile; takes no lock. */
struct tt_layout *tt_layout_find(tutti_type type);
/* The same, held: lasts until it is dropped. */
struct tt_layout *tt_layout_hold(tutti_type type);

/* What stands in a call for bytes whose n elements have this layout: a number that is no type, with
 * elements of one byte, equal for layouts that pack to the same sequence of basic types. */
tutti_type tt_layout_sequence(const struct tt_layout *layout, int64_t n);
/* The same number on all ranks whose types pack alike: for calls that are matched. */
tutti_type tt_type_shape(tutti_type type);

#endif
