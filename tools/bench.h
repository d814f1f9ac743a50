/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types and functions that `tutti bench` shares with the ranks it starts. Each case (a problem
 * and an algorithm) runs as a job of its own, so that a case that fails does not stop the others;
 * but if a launcher has started the command as the ranks of a job, this job runs all cases.
 */
#ifndef TT_BENCH_H
#define TT_BENCH_H

#include "base/base.h"
#include "text/problem.h"

enum { TT_BENCH_ALL = INT32_MAX };

struct tt_bench_case {
    struct tt_problem problem; /* if it has a user-defined operation, the handle is valid in this
                                * process only */
    const char *algorithm;     /* the algorithm to force, or @ and the path of a plan file; NULL:
                                * the library chooses */
    int64_t time_ns;           /* about how long to measure */
    int64_t batch_ns;          /* about how long a batch of calls takes; 0 for the default */
    int64_t iterations;        /* how many calls to time, whatever time_ns is; 0: time_ns decides */
    bool gaps;     /* verify a call with a derived type, whose elements have gaps between them */
    bool reversed; /* call on a team that has the ranks in reverse order */
    bool apart;    /* call on a team of its own, because the job runs other cases before or after */
    /* call on two teams at the same time: one has the even ranks, the other the odd ranks */
    bool beside;
    bool identities; /* verify the call also against other collectives */
    /* how many ranks are threads of the same process: 0: each rank is a process; TT_BENCH_ALL: all
     * are threads of this process */
    int threads;
};

/* The result of a case. Rank 0 writes it. */
struct tt_bench_result {
    bool done;
    bool refused; /* the algorithm does not apply; `why` is the reason */
    char algorithm[32];
    char why[TT_PROBLEM_TEXT];
    /* times of one call; the time of a batch is that of its slowest rank */
    double min_us, median_us, p99_us;
    int64_t iterations;
};

/* Prepares this process for a case, before any of its ranks starts: creates the user-defined
 * operation if the problem has one, and forces the algorithm. Returns false after printing the
 * error. Each successful call needs one call of tt_bench_end, which undoes what tt_bench_begin has
 * done. */
bool tt_bench_begin(struct tt_bench_case *c);
void tt_bench_end(const struct tt_bench_case *c);

/* Runs one rank of a case: verifies the algorithm's result, then times it. Collective over the
 * client's job. Only the result of rank 0 is used. Returns true with result->refused if the
 * algorithm does not apply, or if a rank has no memory for the buffers. Returns false after
 * printing the error. Other ranks may then still be in the case, and wait for this rank, so it must
 * finalize the client: their calls end with an error then. */
bool tt_bench_rank(tutti_client *client, const struct tt_bench_case *c,
                   struct tt_bench_result *result);

/* ---- bench-data.c: inputs that every rank can compute for every other rank, so that each rank can
 * compute the expected output by itself. Numbers that are added or multiplied are small and whole,
 * so that the result has the same bits in whatever order the operands are combined. ---- */

/* One rank's view of a case: the call, its sizes, and the team to call on. */
struct tt_bench {
    const struct tt_bench_case *c;
    tutti_team *team;
    struct tt_call call; /* the call of this rank, counts included */
    int64_t *room;
    /* the counts and displacements of the pieces for neighbours, and then of the pieces from
     * neighbours; NULL if the problem is no neighbourhood collective */
    int64_t *pieces;
    struct tt_net net;          /* the network of the problem, if it has one */
    const struct tt_net *outer; /* the job's own network, which `net` replaces during the case */
    int p, me;
    int64_t in_bytes, out_bytes;
};

/* The number of bytes after each buffer that a call must leave unchanged. */
enum { TT_BENCH_CANARY = 64 };

/* Sets b->in_bytes and b->out_bytes, the bytes that this rank reads and writes, from b->call. */
void tt_bench_sizes(struct tt_bench *b);
/* Fills the buffers for a call, including the TT_BENCH_CANARY bytes after each of them. */
void tt_bench_fill(const struct tt_bench *b, char *in, char *out);
/* Returns whether input, output and canaries are right after the call. Returns false after printing
 * the first wrong byte. */
bool tt_bench_verify(const struct tt_bench *b, const char *in, const char *out);

/* Returns whether two results of the same number of bytes have equal values. If not, prints which
 * byte differs first; the message names the result `found` by `what`. */
bool tt_bench_same(const struct tt_bench *b, const char *what, const char *found,
                   const char *expected, int64_t bytes);

/* The user-defined operation of problems: associative but not commutative, and defined for elements
 * of any bits. */
tutti_op_fn tt_bench_op;

/* ---- bench-identity.c ---- */

/* Makes the call of `b` on its team with these buffers. */
typedef tutti_status tt_bench_call_fn(const struct tt_bench *b, const char *in, char *out);

/* Makes calls of other collectives, and compares their results with the result `out` that the call
 * of the case gave this rank; and, by `call`, makes the call of the case with other inputs and on
 * another team. Collective over the team. *right is false if a result differs; the first difference
 * is printed. */
tutti_status tt_bench_identities(const struct tt_bench *b, tt_bench_call_fn *call, const char *in,
                                 const char *out, bool *right);

/* ---- bench-pool.c: buffers that are used in turn, together larger than the caches ---- */

struct tt_pool {
    int64_t n;
    int64_t in_stride, out_stride; /* bytes from one buffer to the next */
    char *in, *out;
};

/* Allocates the buffers of one rank. Returns false if there is not enough memory; *least is then
 * how many bytes the rank needs. The caller frees the buffers with tt_pool_close. */
bool tt_pool_open(struct tt_pool *pool, const struct tt_bench *b, int64_t *least);
void tt_pool_close(struct tt_pool *pool);

#endif
