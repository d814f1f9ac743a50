/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `tutti bench` and the ranks it starts share. Each case (a problem and an algorithm) is a job
 * of its own, so that one that fails takes no other with it.
 */
#ifndef TT_BENCH_H
#define TT_BENCH_H

#include "base/base.h"
#include "plan/problem.h"

struct tt_bench_case {
    struct tt_problem problem; /* a user-defined operation being one of this process */
    const char *algorithm;     /* to force; NULL: the library's choice */
    int64_t time_ns;           /* about how long to measure */
    int64_t iterations;        /* how many calls instead; 0: by the time */
};

/* Written by rank 0. */
struct tt_bench_result {
    bool done;
    bool refused; /* the algorithm does not apply: `why` */
    char algorithm[32];
    char why[TT_PROBLEM_TEXT];
    double min_us, median_us, p99_us; /* of a call, by the slowest rank of each batch */
    int64_t iterations;
};

/* Readies this process for a case: the operation and the algorithm. Before any rank begins. */
bool tt_bench_begin(struct tt_bench_case *c);
void tt_bench_end(const struct tt_bench_case *c);

/* What one rank does; collective over the client's job. False: it said what went wrong. */
bool tt_bench_rank(tutti_client *client, const struct tt_bench_case *c,
                   struct tt_bench_result *result);

/* ---- bench-data.c: inputs that are known everywhere, so that each rank can tell what must come
 * out of it. Numbers are small and whole where they are added or multiplied, so that every order
 * of combining has the same bits. ---- */

/* What a rank calls, its sizes, and the team to call on. */
struct tt_bench {
    const struct tt_bench_case *c;
    tutti_team *team;
    struct tt_call call; /* of this rank, counts included */
    int64_t *room;
    struct tt_net net;          /* of the problem, if it has one */
    const struct tt_net *outer; /* of the job, meanwhile */
    int p, me;
    int64_t in_bytes, out_bytes;
};

/* Bytes after each buffer that must stay as they are. */
enum { TT_BENCH_CANARY = 64 };

/* How many bytes this rank reads and writes. */
void tt_bench_sizes(struct tt_bench *b);
/* Fills the buffers as they must be before a call, canaries included. */
void tt_bench_fill(const struct tt_bench *b, char *in, char *out);
/* Whether they are as they must be after it; false: it said what is wrong. */
bool tt_bench_verify(const struct tt_bench *b, const char *in, const char *out);

/* The user-defined operation of problems: associative, not commuting, and any bits are a value. */
tutti_op_fn tt_bench_op;

/* ---- bench-pool.c: buffers to rotate through, more than the caches hold ---- */

struct tt_pool {
    int64_t n;
    int64_t in_stride, out_stride; /* from one to the next */
    char *in, *out;
};

/* False: said why. */
bool tt_pool_open(struct tt_pool *pool, const struct tt_bench *b);
void tt_pool_close(struct tt_pool *pool);

#endif
