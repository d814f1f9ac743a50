/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the basic elements of a type lie in memory. Types that users derive are layouts.
 *
 * A layout is a list of fields. A field is a number of consecutive elements of another layout. The
 * basic types are layouts without fields, so that the code below need not distinguish them.
 */
#ifndef TT_LAYOUT_H
#define TT_LAYOUT_H

#include <stdatomic.h>

#include "base/base.h"

struct tt_field {
    int64_t offset, count;
    struct tt_layout *inner; /* the layout of the elements, to which the field holds a reference */
};

/* The hash of a sequence of basic types. Equal sequences have equal hashes, however they were
 * built. `power` depends on the length of the sequence only; it serves to compute the hash of two
 * sequences that follow each other. */
struct tt_signature {
    uint64_t hash, power;
};

/* Invariants (tt_layout_valid): all numbers are within +-2^41, and the extent and the packed size
 * are positive; begin < end; packed is the sum over the fields of count * inner->packed, or the
 * size of a basic type; no byte belongs to two fields (tt_layout_end refuses layouts in which one
 * does). If the extent is smaller than end - begin, consecutive elements interleave.
 *
 * The lower bound does not say where data lie; it only serves to compute the bounds of other types.
 * A field whose elements are `solid` (the member below) is kept as a field of bytes (U8). A field
 * that begins where the field before it ends, with the same inner layout, is joined with it. */
struct tt_layout {
    atomic_int refs;    /* the number of references to the layout; unused in basic types */
    int64_t packed;     /* bytes of the basic elements, without gaps */
    int64_t lower;      /* the lower bound */
    int64_t extent;     /* the distance from one element to the next */
    int64_t begin, end; /* the first used byte of an element; one past the last used byte */
    int64_t blocks;     /* how many separate pieces of memory (blocks) an element consists of */
    /* consecutive elements are one piece of memory, equal to their packed form */
    bool solid;
    bool flat;          /* all fields are fields of bytes */
    tutti_type uniform; /* the only basic type in the layout; TUTTI_TYPES if there are several */
    struct tt_signature signature;
    /* levels of nesting; number of fields; number of fields for which there is room */
    int depth, n, room;
    struct tt_field *field;
};

bool tt_layout_valid(const struct tt_layout *layout);

/* Returns whether n elements are one piece of memory, equal to their packed form. This piece begins
 * l->begin bytes after the address of the first element. */
static inline bool tt_layout_in_a_row(const struct tt_layout *l, int64_t n)
{
    return l->solid || (l->flat && l->n == 1 && (n == 1 || l->extent == l->packed));
}

/* ---- Making a layout: begin, add each field in the order of the packed form, end ---- */

/* Returns a layout with room for n fields; NULL: there is no memory. */
struct tt_layout *tt_layout_begin(int n);
/* Adds a field of `count` elements of `inner`, and takes a reference to `inner`. Does nothing if
 * the count is 0. Returns false if the layout gets too large; the caller can then only drop the
 * layout. */
bool tt_layout_add(struct tt_layout *layout, int64_t offset, int64_t count,
                   struct tt_layout *inner);
/* Completes the layout, which may move. Errors: ARG (bounds, no elements, fields that overlap),
 * LIMIT (nested too deep), MEMORY; on an error the function drops *layout and sets it to NULL. */
tutti_status tt_layout_end(struct tt_layout **layout, int64_t lower, int64_t extent);

/* Makes the layout of a struct. Returns TUTTI_OK; ERR_ARG (the text names the field and the
 * reason); TUTTI_ERR_LIMIT; ERR_MEMORY. The caller drops the layout. */
tutti_status tt_layout_new(int n, const tutti_field *fields, int64_t extent,
                           struct tt_layout **layout);
/* Releases a layout that tt_layout_hold returned. */
void tt_layout_drop(struct tt_layout *layout);

/* Copy n elements between the user's memory and their packed form. Gaps are neither read nor
 * written. */
void tt_layout_pack(const struct tt_layout *layout, char *packed, const char *user, int64_t n);
void tt_layout_unpack(const struct tt_layout *layout, const char *packed, char *user, int64_t n);

/* ---- By type (type-user.c) ---- */

/* Returns the layout of a type; NULL: `type` is no type. The layout lasts until the type is freed,
 * so the caller must make sure that the type is not freed meanwhile. Takes no lock. */
struct tt_layout *tt_layout_find(tutti_type type);
/* Does the same as tt_layout_find, but the layout lasts until the caller drops it. */
struct tt_layout *tt_layout_hold(tutti_type type);

/* Enters a layout in the table of types as a new type, which owns the layout; sets *type. If the
 * table is full (LIMIT), drops the layout. */
tutti_status tt_layout_enter(struct tt_layout *layout, tutti_type *type);

/* Returns the number that stands for the type in a call whose plan moves packed bytes, as elements
 * of one byte. No type has this number. It is equal for layouts that pack n elements to the same
 * sequence of basic types. */
tutti_type tt_layout_sequence(const struct tt_layout *layout, int64_t n);
/* Returns a hash of the sequence of basic types in n elements. Equal sequences have equal hashes,
 * however they are divided into elements. Takes constant time if the layout has one basic type
 * only. */
uint32_t tt_layout_hash(const struct tt_layout *layout, int64_t n);
/* The number that stands for the type in an alltoallw, which has a type for each rank. No call of
 * tt_layout_sequence returns it. */
#define TT_TYPE_EACH ((tutti_type)(2 * TUTTI_TYPE_USER_END))
/* The number that stands for the type of an alltoallw in which a rank neither sends nor expects any
 * element. */
#define TT_TYPE_NONE ((tutti_type)(2 * TUTTI_TYPE_USER_END + 1))
/* The neighbourhood collectives. In a call of one of them, a number stands for the type:
 * TT_TYPE_NEIGHBORS + TT_NEIGHBOR_allgather and so on. tt_type_neighbors returns the name of the
 * collective for which the number stands; NULL: `type` is none of these numbers. */
#define TT_NEIGHBOR_LIST(X) X(allgather) X(allgatherv) X(alltoall) X(alltoallv) X(alltoallw)
enum tt_neighbor {
#define TT_NEIGHBOR_ENUM(name) TT_NEIGHBOR_##name,
    TT_NEIGHBOR_LIST(TT_NEIGHBOR_ENUM)
#undef TT_NEIGHBOR_ENUM
};
#define TT_TYPE_NEIGHBORS ((tutti_type)(2 * TUTTI_TYPE_USER_END + 2))
const char *tt_type_neighbors(tutti_type type);
/* Returns a number for the comparison of calls. It is equal on all ranks whose types pack to the
 * same sequence of basic types. */
tutti_type tt_type_shape(tutti_type type);

#endif
