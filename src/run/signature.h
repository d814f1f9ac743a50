/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The call signature: a call as its user made it. The library uses it for the error message when
 * the calls of the ranks do not match, and for the roll call.
 */
#ifndef TT_SIGNATURE_H
#define TT_SIGNATURE_H

#include "plan/call.h"

/* Flags of a call. TT_SIGNATURE_IN_ORDER: operands are combined in rank order. TT_SIGNATURE_COUNTS:
 * the call has a count for each rank, and `counts` holds the first TT_SIGNATURE_FIRST of them.
 * TT_SIGNATURE_PLAN_FILE: a plan file gives the schedule, and `print` depends on the file.
 * TT_SIGNATURE_BLOCKS is set only for the roll call: in the slot of an execution, it says that the
 * caller waits for the execution; in the activity line that a rank publishes while it waits
 * (fabric/waiting.h), it says that the call is no request. TT_SIGNATURE_CONTENTS: two ranks compare
 * the contents of their pieces for each other. TT_SIGNATURE_FAILED is set only in the slot of an
 * execution, for the roll call: the execution ended with an error, so the roll call does not count
 * the call as completed. */
enum tt_signature_flag {
    TT_SIGNATURE_IN_ORDER = 1,
    TT_SIGNATURE_IN_PLACE = 2,
    TT_SIGNATURE_SHARED = 4,
    TT_SIGNATURE_COUNTS = 8,
    TT_SIGNATURE_PLAN_FILE = 16,
    TT_SIGNATURE_BLOCKS = 32,
    TT_SIGNATURE_CONTENTS = 64,
    TT_SIGNATURE_FAILED = 128
};

/* Calls on a team that are no collectives with buffers. In tt_call_signature.coll they follow the
 * collectives. */
enum tt_signature_other {
    TT_SIGNATURE_SPLIT = TT_COLLS,
    TT_SIGNATURE_AGREE,
    TT_SIGNATURE_SHRINK,
    TT_SIGNATURE_FREE,
    TT_SIGNATURE_DUP,
    TT_SIGNATURE_DOMAIN,
    TT_SIGNATURE_CART,
    TT_SIGNATURE_GRAPH,
    TT_SIGNATURE_THREADS,
    TT_SIGNATURE_COUNTING, /* the exchange of all counts before an alltoallv */
    TT_SIGNATURE_GATHERV,  /* the root of a gatherv sends its counts to all ranks */
    TT_SIGNATURE_SCATTERV, /* the root of a scatterv sends its counts to all ranks */
    TT_SIGNATURE_MEASURE,  /* a barrier, or an exchange of measured times (choose/measure.h) */
    TT_SIGNATURE_KINDS
};

enum { TT_SIGNATURE_FIRST = 4 };

/* A call signature: plain data of one cache line that other ranks read in shared memory and in
 * messages. `coll` is an enum tt_coll, or an enum tt_signature_other, which has no arguments; only
 * TT_SIGNATURE_GATHERV and TT_SIGNATURE_SCATTERV have a root. `n` is the user's argument n, or the
 * sum of the counts if there are counts. `form` distinguishes the collectives that run the plan of
 * an alltoallv: 0 for alltoallv itself and for all other collectives, 1 for alltoallw, 2 + enum
 * tt_neighbor for a neighbourhood collective. `contents` is set only in messages between nodes:
 * what the sender has for the receiver and expects from the receiver. `element` is the packed size
 * in bytes of an element of a derived type, or 0 for a basic type; for a derived type, `type` is
 * the basic type of which it consists, or a hash of its layout if it has several basic types.
 * `print` is the fingerprint that is equal on all ranks whose calls match. */
struct tt_call_signature {
    int16_t coll;
    uint8_t flags, form;
    int32_t type, op, root;
    int64_t n;
    uint32_t print;
    int32_t element;
    union {
        int64_t counts[TT_SIGNATURE_FIRST];
        struct tt_contents contents[2]; /* of IN and OUT */
    };
};
_Static_assert(sizeof(struct tt_call_signature) == TT_LINE, "layout() counts on it");

/* Returns the signature of a call on a team of p ranks. `print` is the fingerprint of the call. */
struct tt_call_signature tt_signature_of(const struct tt_call *call, int p, uint32_t print);

/* Returns the name of the call: "reduce", "team_split". */
const char *tt_signature_name(const struct tt_call_signature *signature);

enum { TT_SIGNATURE_TEXT = 192 };
/* Writes "reduce(n=5 of f64, sum, root 2)" into a buffer of n bytes and returns it. Safe whatever
 * *signature holds. */
char *tt_signature_text(const struct tt_call_signature *signature, char *buffer, size_t n);

/* Returns whether the call is a neighbourhood collective. */
bool tt_signature_neighbors(const struct tt_call_signature *signature);

/* Writes how many elements of which type the contents have, such as "n=5 of i32"; if the size of an
 * element is not known, how many bytes. `element` is the size of an element of the type, if that is
 * a derived type with several basic types; else 0. Returns the buffer. */
char *tt_signature_contents(const struct tt_contents *contents, int32_t element, char *buffer,
                            size_t n);

/* Writes the name of the argument that holds the count of a piece, in brackets: " (in_counts[2])".
 * If `sends` is true, it is the count of the piece that a rank sends to rank `index` of the team;
 * else of the piece that the rank expects from rank `index`. The text is empty for the sender in a
 * gatherv and for the receiver in a scatterv, because their count is the argument n, which the text
 * of the call already names. It is also empty in a neighbourhood collective, because several pieces
 * may go to the same rank. Returns the buffer. */
const char *tt_signature_argument(const struct tt_call_signature *signature, bool sends, int index,
                                  char *text, size_t n);

/* Writes the element type: "f64", or a description of a derived type. Returns the buffer. */
char *tt_signature_type(const struct tt_call_signature *signature, char *buffer, size_t n);

#endif
