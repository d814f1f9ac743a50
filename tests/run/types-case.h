/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective on a derived type: its buffers, the call in its three forms (blocking,
 * nonblocking, persistent), and the expected result, compared byte for byte including the gaps.
 */
#ifndef TYPES_CASE_H
#define TYPES_CASE_H

#include "api/api.h"

enum { WORDS = 5, MOST_RANKS = 16 };

/* The contents of an element, independent of its layout in memory. */
struct value {
    uint64_t w[WORDS];
};

/* Kinds of elements: columns of WORDS numbers of a matrix, structs { i32, f64 }, and WORDS numbers
 * in a row. Each has two layouts in memory, one at even and one at odd ranks. */
enum kind { COLUMNS, PAIRS, ROWS, KINDS };

enum mode { BLOCKING, NONBLOCKING, PERSISTENT };

struct types_rank {
    tutti_client *client;
    tutti_team *team;
    int p, me, cases;
};

struct shape {
    enum tt_coll coll;
    enum kind kind;
    int64_t n;
    int root;
    bool in_place, user_op;
    unsigned flags;
};

struct one {
    struct types_rank *rank;
    struct shape shape;
    tutti_type type;
    int64_t room, extent; /* elements per buffer; bytes from one element to the next */
    int64_t bytes;        /* bytes of each buffer */
    char *in, *out, *expected;
    int64_t in_counts[MOST_RANKS], in_displs[MOST_RANKS];
    int64_t out_counts[MOST_RANKS], out_displs[MOST_RANKS];
    tutti_request *request;
};

extern tutti_op types_op[KINDS]; /* operations that compose elements of each kind; they do not
                                  * commute */
void types_make_ops(void);

void must(tutti_status status, const struct one *one, const char *what);

struct one *one_new(struct types_rank *rank, struct shape shape);
void one_free(struct one *one);
/* Writes the inputs of this round and fills the outputs with canaries. */
void one_fill(struct one *one, int round);
void one_call(struct one *one, enum mode mode);
void one_check(struct one *one, int round);
/* Returns whether the algorithm accepts the call. */
bool one_applies(const struct one *one, const struct tt_algorithm *algorithm);

#endif
