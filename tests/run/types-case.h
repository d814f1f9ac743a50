/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective of a derived type: its buffers, the call in its three forms, and what must have
 * come out, byte for byte, the gaps included.
 */
#ifndef TYPES_CASE_H
#define TYPES_CASE_H

#include "api/api.h"

enum { WORDS = 5, MOST_RANKS = 16 };

/* What an element holds, whatever it looks like in memory. */
struct value {
    uint64_t w[WORDS];
};

/* Two kinds of elements: columns of a matrix, of WORDS numbers, and structs { i32, f64 }. Ranks
 * lay both out in two ways, the odd ones otherwise than the even. */
enum kind { COLUMNS, PAIRS, KINDS };

enum mode { BLOCKING, NONBLOCKING, PERSISTENT };

struct rank {
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
    struct rank *rank;
    struct shape shape;
    tutti_type type;
    int64_t room, extent; /* elements that a buffer has room for, from one to the next */
    int64_t bytes;        /* of a buffer */
    char *in, *out, *expected;
    int64_t in_counts[MOST_RANKS], in_displs[MOST_RANKS];
    int64_t out_counts[MOST_RANKS], out_displs[MOST_RANKS];
    tutti_plan *plan;
};

extern tutti_op types_op[KINDS]; /* composes elements; does not commute */
void types_make_ops(void);

void must(tutti_status status, const struct one *one, const char *what);

struct one *one_new(struct rank *rank, struct shape shape);
void one_free(struct one *one);
/* New inputs, and outputs that hold nothing but canaries. */
void one_fill(struct one *one, int round);
void one_call(struct one *one, enum mode mode);
void one_check(struct one *one, int round);
/* Whether the algorithm would take the call. */
bool one_applies(const struct one *one, const struct tt_algorithm *algorithm);

#endif
