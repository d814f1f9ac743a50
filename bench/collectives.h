/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that are timed: how each is called (port.h), how much memory a call takes, and
 * which results it must have.
 */
#ifndef BENCH_COLLECTIVES_H
#define BENCH_COLLECTIVES_H

#include "measure.h"
#include "port.h"

enum { MAX_RANKS = 1024 };

/* Returns the value that a rank writes at index i of the half of its pool from which inputs are
 * taken. The values are whole numbers, so sums over 1,000 ranks are exact. */
static double value(int rank, int64_t i)
{
    return (double)(rank + 1) + (double)(i & 1023);
}

static int me, p;

struct collective {
    const char *name;
    void (*call)(const double *in, double *out, int64_t n);
    /* Returns the value that must be at out[i] after a call on blocks of n elements whose inputs
     * start at index `at`. */
    double (*expected)(int64_t at, int64_t i, int64_t n);
    int64_t (*in_blocks)(void), (*out_blocks)(void); /* how many blocks of n elements a rank passes
                                                      * and gets */
};

static int64_t none(void)
{
    return 0;
}

static int64_t one(void)
{
    return 1;
}

static int64_t each(void)
{
    return p;
}

static int64_t one_at_root(void)
{
    return me == 0;
}

static int64_t one_beyond_root(void)
{
    return me != 0;
}

static int64_t each_at_root(void)
{
    return me == 0 ? p : 0;
}

static void call_barrier(const double *in, double *out, int64_t n)
{
    (void)in;
    (void)out;
    (void)n;
    port_barrier();
}

/* Calls a bcast. The root's buffer is an input; the buffers of the other ranks are outputs. */
static void call_bcast(const double *in, double *out, int64_t n)
{
    port_bcast(me == 0 ? (double *)in : out, n, 0);
}

static void call_reduce(const double *in, double *out, int64_t n)
{
    port_reduce(in, out, n, 0);
}

static double of_root(int64_t at, int64_t i, int64_t n)
{
    (void)n;
    return value(0, at + i);
}

static double of_sum(int64_t at, int64_t i, int64_t n)
{
    (void)n;
    return p * value(0, at + i) + (double)p * (p - 1) / 2;
}

static double of_allgather(int64_t at, int64_t i, int64_t n)
{
    return value((int)(i / n), at + i % n);
}

static double of_alltoall(int64_t at, int64_t i, int64_t n)
{
    return value((int)(i / n), at + me * n + i % n);
}

/* The counts and displacements for the collectives that take such lists: n elements from and to
 * each rank, without gaps. They are written again when n changes. */
static struct {
    int64_t n;
    port_count counts[MAX_RANKS], displs[MAX_RANKS];
} lists = {.n = -1};

static void make_list(int64_t n)
{
    if (n == lists.n) return;
    lists.n = n;
    for (int r = 0; r < p; r++) {
        lists.counts[r] = (port_count)n;
        lists.displs[r] = (port_count)(r * n);
    }
}

static void call_gather(const double *in, double *out, int64_t n)
{
    port_gather(in, out, n, 0);
}

static void call_scatter(const double *in, double *out, int64_t n)
{
    port_scatter(in, out, n, 0);
}

static void call_reduce_scatter(const double *in, double *out, int64_t n)
{
    make_list(n);
    port_reduce_scatter(in, out, lists.counts);
}

static void call_allgatherv(const double *in, double *out, int64_t n)
{
    make_list(n);
    port_allgatherv(in, n, out, lists.counts, lists.displs);
}

static void call_gatherv(const double *in, double *out, int64_t n)
{
    make_list(n);
    port_gatherv(in, n, out, lists.counts, lists.displs, 0);
}

static void call_scatterv(const double *in, double *out, int64_t n)
{
    make_list(n);
    port_scatterv(in, lists.counts, lists.displs, out, n, 0);
}

static void call_alltoallv(const double *in, double *out, int64_t n)
{
    make_list(n);
    port_alltoallv(in, out, lists.counts, lists.displs);
}

static double of_block(int64_t at, int64_t i, int64_t n)
{
    return of_sum(at, me * n + i, n);
}

static double of_scatter(int64_t at, int64_t i, int64_t n)
{
    return value(0, at + me * n + i);
}

/* Returns the sum over the ranks below `ranks` of the i-th element of their inputs, which begin at
 * index `at` of the first half of their pools. */
static double of_prefix(int ranks, int64_t at, int64_t i)
{
    return ranks * value(0, at + i) + (double)ranks * (ranks - 1) / 2;
}

static double of_scan(int64_t at, int64_t i, int64_t n)
{
    (void)n;
    return of_prefix(me + 1, at, i);
}

static double of_exscan(int64_t at, int64_t i, int64_t n)
{
    (void)n;
    return of_prefix(me, at, i);
}

static const struct collective collectives[] = {
    {"allreduce", port_allreduce, of_sum, one, one},
    {"reduce", call_reduce, of_sum, one, one_at_root},
    {"alltoall", port_alltoall, of_alltoall, each, each},
    {"allgather", port_allgather, of_allgather, one, each},
    {"bcast", call_bcast, of_root, one_at_root, one_beyond_root},
    {"barrier", call_barrier, of_root, none, none},
    {"reduce_scatter_block", port_reduce_scatter_block, of_block, each, one},
    {"reduce_scatter", call_reduce_scatter, of_block, each, one},
    {"gather", call_gather, of_allgather, one, each_at_root},
    {"scatter", call_scatter, of_scatter, each_at_root, one},
    {"allgatherv", call_allgatherv, of_allgather, one, each},
    {"gatherv", call_gatherv, of_allgather, one, each_at_root},
    {"scatterv", call_scatterv, of_scatter, each_at_root, one},
    {"alltoallv", call_alltoallv, of_alltoall, each, each},
    {"scan", port_scan, of_scan, one, one},
    {"exscan", port_exscan, of_exscan, one, one_beyond_root},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* Returns the collective whose name is at the beginning of a text such as "allreduce:8,4096", and
 * sets *sizes to what follows the colon. */
static const struct collective *find_collective(const char *list, const char **sizes)
{
    size_t length = strcspn(list, ":");
    int i = 0;
    while (i < COLLECTIVES && (strlen(collectives[i].name) != length ||
                               strncmp(collectives[i].name, list, length) != 0)) {
        i++;
    }
    if (i == COLLECTIVES || list[length] != ':') die("not a collective and its sizes: %s", list);
    *sizes = list + length + 1;
    return &collectives[i];
}

/* Fills the output of a call on blocks of n elements with a value that is no result. */
static void clear_output(const struct collective *coll, double *out, int64_t n)
{
    for (int64_t i = 0; i < coll->out_blocks() * n; i++) out[i] = -1;
}

/* Returns the index of an element of the output that is wrong after a call whose inputs start at
 * index 0; -1: all are right. */
static int64_t wrong_at(const struct collective *coll, const double *out, int64_t n)
{
    for (int64_t i = 0; i < coll->out_blocks() * n; i++)
        if (out[i] != coll->expected(0, i, n)) return i;
    return -1;
}

#endif
