/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of messages share: ranks that are threads of one process (`program threads N`) or
 * processes (`tutti run -n N program`), payloads that tell whose they are, and waiting that goes on
 * advancing.
 */
#ifndef TESTS_MSG_LIB_H
#define TESTS_MSG_LIB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/message.h>

#include "base/base.h"

enum { MOST_CONTEXTS = 4 };

/* One rank's view. */
struct rank {
    tutti_client *client;
    tutti_team *team;
    int p, me, contexts;
    tutti_context *context[MOST_CONTEXTS];
    struct tt_random random;
    tutti_status expected; /* that advancing may return besides OK ... */
    int seen;              /* ... and how often it did */
};

typedef void rank_fn(struct rank *r);

/* Calls fn on every rank; what main is to return. Ranks have `contexts` contexts. */
int run_ranks(int argc, char **argv, int contexts, rank_fn *fn);
extern bool ranks_are_threads;

#define check(condition, ...)                                                                      \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                    \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, " (%s)\n", tutti_error());                                                 \
        abort();                                                                                   \
    } while (0)
#define must(call) check((call) == TUTTI_OK, "failed")

tutti_endpoint *endpoint(struct rank *r, int rank, int context);
/* Advances all contexts once; none may fail but with what is expected. */
void advance(struct rank *r);
/* Advances until *value is `wanted`. */
void until(struct rank *r, const int *value, int wanted);
/* A barrier, during which contexts are advanced. */
void meet(struct rank *r);

/* The i-th byte of a payload of this seed. */
static inline unsigned char byte_of(uint64_t seed, int64_t i)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)(i >> 3) * 0xbf58476d1ce4e5b9u;
    return (unsigned char)((x ^ x >> 31) >> (i & 7) * 8);
}
void fill(void *memory, int64_t bytes, uint64_t seed);
bool is_filled(const void *memory, int64_t bytes, uint64_t seed);

/* Counts calls, and holds the last status. */
struct told {
    int n;
    tutti_status status;
};
void count(tutti_context *context, void *arg, tutti_status status);

#endif
