/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank calls, in the terms of its user: for the message when the calls of the ranks do not
 * match, and for whoever asks what a rank is doing.
 */
#ifndef TT_WHAT_H
#define TT_WHAT_H

#include "plan/call.h"

/* Flags of a call. TT_WHAT_IN_ORDER: operands are combined in rank order. TT_WHAT_COUNTS: there is
 * a count for each rank, and `counts` holds the first of them. */
enum tt_what_flag {
    TT_WHAT_IN_ORDER = 1,
    TT_WHAT_IN_PLACE = 2,
    TT_WHAT_SHARED = 4,
    TT_WHAT_COUNTS = 8
};

/* Calls on a team that are no collectives with buffers: behind those in tt_what.coll. */
enum tt_what_other {
    TT_WHAT_SPLIT = TT_COLLS,
    TT_WHAT_AGREE,
    TT_WHAT_SHRINK,
    TT_WHAT_FREE,
    TT_WHAT_KINDS
};

enum { TT_WHAT_FIRST = 4 };

/* Plain data that other ranks read, in shared memory and in messages; one cache line.
 * `coll` is an enum tt_coll, or an enum tt_what_other, which has no arguments.
 * `n` is what the user gave for n; where there are counts it is their sum. `element` is how many
 * bytes an element of a derived type packs to, 0 for a basic type; `type` then is what all of them
 * consist of. `print` is the fingerprint that is equal on all ranks whose calls match. */
struct tt_what {
    int16_t coll;
    uint16_t flags;
    int32_t type, op, root;
    int64_t n;
    uint32_t print;
    int32_t element;
    int64_t counts[TT_WHAT_FIRST];
};
_Static_assert(sizeof(struct tt_what) == TT_LINE, "layout() counts on it");

/* The call on a team of p ranks. */
struct tt_what tt_what_of(const struct tt_call *call, int p, uint32_t print);

/* "reduce", "team_split". */
const char *tt_what_name(const struct tt_what *what);

enum { TT_WHAT_TEXT = 192 };
/* "reduce(n=5 of f64, sum, root 2)", into a buffer of n bytes; returns it. Whatever *what holds. */
char *tt_what_text(const struct tt_what *what, char *buffer, size_t n);

/* "f64", or what a derived type consists of, likewise. */
char *tt_what_type(const struct tt_what *what, char *buffer, size_t n);

#endif
