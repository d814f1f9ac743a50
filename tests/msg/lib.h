/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the tests of messages: ranks that are threads of one process (`program threads N`),
 * processes (`tutti run -n N program`) or N threads of each process (`tutti run -n N program nested
 * N`), payloads whose bytes identify their message, and functions that wait and meanwhile advance
 * all contexts.
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

/* State of one rank. */
struct rank {
    tutti_client *client;
    tutti_team *team;
    int p, me, contexts;
    tutti_context *context[MOST_CONTEXTS];
    struct tt_random random;
    tutti_status expected; /* a status that tutti_advance may return besides TUTTI_OK */
    int seen;              /* how often tutti_advance returned a status other than TUTTI_OK */
    int idle;              /* how many times in a row `advance` has now found nothing to do */
};

typedef void rank_fn(struct rank *r);

/* Calls fn on every rank, with the given number of contexts. Returns the exit code for main. */
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
/* Advances all contexts once. Aborts on a status other than TUTTI_OK and r->expected. If it has
 * found nothing to do for long, it sleeps for a moment, because other tests want the processor. */
void advance(struct rank *r);
/* Advances all contexts until *value equals `wanted`; aborts if *value gets larger. */
void until(struct rank *r, const int *value, int wanted);
/* Calls a barrier, and advances all contexts until the barrier is complete. */
void meet(struct rank *r);

/* word_of returns word i of the payload with this seed, in words of eight bytes. byte_of returns
 * byte i of the same payload. */
static inline uint64_t word_of(uint64_t seed, int64_t i)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 31;
}
static inline unsigned char byte_of(uint64_t seed, int64_t i)
{
    uint64_t word = word_of(seed, i / 8);
    unsigned char bytes[sizeof word];
    memcpy(bytes, &word, sizeof word);
    return bytes[i % 8];
}
void fill(void *memory, int64_t bytes, uint64_t seed);
bool is_filled(const void *memory, int64_t bytes, uint64_t seed);

/* How often `count` was called, and the last status that it got. */
struct completed {
    int n;
    tutti_status status;
};
void count(tutti_context *context, void *arg, tutti_status status);

#endif
