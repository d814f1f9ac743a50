/* SPDX-License-Identifier: BSD-3-Clause
 *
 * later PART [ARGUMENT]: tests nonblocking collectives that are in flight while the program does
 * something else. Each part is an MPI program that ends with the word "done" if all went well. With
 * the argument "multiple", it runs with MPI_THREAD_MULTIPLE.
 */
#include <dlfcn.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* The functions of persistent collectives belong to MPI 4, or to an extension of Open MPI. */
#ifdef OPEN_MPI
#define PREPARE(NAME, ...) MPIX_##NAME##_init(__VA_ARGS__)
#else
#define PREPARE(NAME, ...) MPI_##NAME##_init(__VA_ARGS__)
#endif

/* ---- Many in flight ---- */

enum { FLYING = 90, LONGEST = 3000 };

static struct {
    int in[LONGEST], out[LONGEST];
} flight[FLYING];
static MPI_Request request[FLYING];

static int length_of(int i)
{
    return i % 7 ? i + 1 : LONGEST;
}

/* Starts call i: a sum, a bcast, or a barrier. The type of the bcast has gaps, and is freed at
 * once. */
static void take_off(int i, MPI_Comm comm)
{
    int n = length_of(i);
    for (int k = 0; k < n; k++) {
        flight[i].in[k] = me + i + k;
        flight[i].out[k] = i % 3 == 1 && me == i % p ? 1000 * i + k : -1;
    }
    if (i % 3 == 0) {
        MPI_Iallreduce(flight[i].in, flight[i].out, n, MPI_INT, MPI_SUM, comm, &request[i]);
    } else if (i % 3 == 1) {
        MPI_Datatype gaps;
        MPI_Type_vector((n + 1) / 2, 1, 2, MPI_INT, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Ibcast(flight[i].out, 1, gaps, i % p, comm, &request[i]);
        MPI_Type_free(&gaps);
    } else {
        MPI_Ibarrier(comm, &request[i]);
    }
}

static void land(int i)
{
    int n = length_of(i);
    for (int k = 0; k < n; k++) {
        int at = flight[i].out[k];
        if (i % 3 == 0) EXPECT(at == p * (p - 1) / 2 + p * (i + k));
        if (i % 3 == 1 && me != i % p) EXPECT(at == (k % 2 ? -1 : 1000 * i + k));
    }
}

/* Tests calls on three communicators, one of which is freed while they are in flight. Blocking
 * calls run among them, and the calls are completed in another order than they were started. */
static void many(void)
{
    MPI_Comm comm[3] = {world};
    for (int round = 0; round < 8; round++) {
        int found, sum = 0, at[FLYING];
        for (int c = 1; c < 3; c++) {
            MPI_Comm_dup(world, &comm[c]);
            warm_up(comm[c]);
        }
        for (int i = 0; i < FLYING; i++) {
            take_off(i, comm[i % 3 ? i / 3 % 3 : 0]);
            if (i % 10 == 5) MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm[i / 10 % 3]);
            if (i % 10 == 5) EXPECT(sum == p * (p - 1) / 2);
        }
        MPI_Comm_free(&comm[1]);
        if (round % 2 == 0)
            for (int i = FLYING - 1; i >= 0; i--) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        for (int left = round % 2 ? FLYING : 0; left > 0; left -= found)
            MPI_Waitsome(FLYING, request, &found, at, MPI_STATUSES_IGNORE);
        for (int i = 0; i < FLYING; i++) land(i);
        MPI_Comm_free(&comm[2]);
    }
}

/* ---- Attributes of types ---- */

static int copied, deleted;

static int refuse_copy(MPI_Datatype type, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)type, (void)key, (void)extra, (void)value, (void)copy, (void)flag;
    copied++;
    return MPI_ERR_OTHER;
}

static int count_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* Tests that a call in flight, whose type the program frees, does not copy the attributes of the
 * type, and that the attributes are deleted once. */
static void attributes(void)
{
    int key;
    warm_up(world);
    MPI_Type_create_keyval(refuse_copy, count_delete, &key, NULL);
    for (int i = 0; i < 8; i++) {
        MPI_Datatype gaps;
        MPI_Request call;
        int data[] = {me ? -1 : i, -1, me ? -1 : i + 1};
        MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Type_set_attr(gaps, key, NULL);
        int prepares = i % 2;
        if (prepares) PREPARE(Bcast, data, 1, gaps, 0, world, MPI_INFO_NULL, &call);
        if (prepares) MPI_Start(&call);
        if (!prepares) MPI_Ibcast(data, 1, gaps, 0, world, &call);
        MPI_Type_free(&gaps);
        MPI_Wait(&call, MPI_STATUS_IGNORE);
        if (prepares) MPI_Request_free(&call);
        EXPECT(data[0] == i && data[1] == -1 && data[2] == i + 1);
        EXPECT(copied == 0 && deleted == i + 1);
    }
    MPI_Type_free_keyval(&key);
}

/* ---- Operations of the program ---- */

/* The function x -> a x + b modulo 1009. One operation applies one function after the other, which
 * is associative but not commutative; another one adds both members, and commutes. */
struct linear {
    int a, b;
};

enum { USED = 48, LINEAR = 600 };

static struct {
    struct linear in[2 * LINEAR], out[2 * LINEAR];
    MPI_Datatype type; /* the handle of the type, which the program has freed */
    int step;          /* how many pairs lie between the beginnings of two elements */
    int each[64];      /* the counts of a reduce_scatter */
} used[USED];

static struct linear apply(int commutes, struct linear x, struct linear y)
{
    if (commutes) return (struct linear){(x.a + y.a) % 1009, (x.b + y.b) % 1009};
    return (struct linear){x.a * y.a % 1009, (x.b * y.a + y.b) % 1009};
}

static struct linear linear_of(int i, int rank, int k)
{
    return (struct linear){(rank * 31 + 7 * i + k) % 100 + 2, (rank * 17 + i + 3 * k) % 1000};
}

/* Combines elements. Makes the calls of MPI that a function of the program may make, and one that
 * makes the host's progress run, which must not advance Tutti now. */
static void apply_all(int commutes, const struct linear *x, struct linear *y, int n,
                      MPI_Datatype type)
{
    MPI_Aint lower, extent;
    int i = 0, size, found;
    while (i < USED && used[i].type != type) i++;
    EXPECT(i < USED);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_size(type, &size);
    EXPECT(size == sizeof *x && lower == 0 && extent == used[i].step * (MPI_Aint)sizeof *x);
    MPI_Iprobe(MPI_ANY_SOURCE, 9, world, &found, MPI_STATUS_IGNORE);
    EXPECT(!found);
    for (int k = 0; k < n; k++, x += used[i].step, y += used[i].step) *y = apply(commutes, *x, *y);
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply_all(0, in, inout, *n, *type);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply_all(1, in, inout, *n, *type);
}

static void never(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
    EXPECT(!"the operation of a call is still that of the call");
}

/* Returns how many elements call i has for each rank. */
static int each_of(int i)
{
    return (i % 4 ? i + 1 : LINEAR) / p;
}

static void fill_linear(int i, int round)
{
    memset(used[i].out, -1, sizeof used[i].out);
    for (int k = 0; k < p * each_of(i); k++)
        used[i].in[k * used[i].step] = linear_of(i, me, k + round);
}

/* Starts reduction i, or prepares it. Frees its operation and its type, which may have gaps, at
 * once. Then makes an operation, which may get the handle of the one that was freed. */
static void use(int i, int prepares)
{
    int *each = used[i].each, n = p * each_of(i), commutes = i / 6 % 2;
    void *in = used[i].in, *out = used[i].out;
    MPI_Datatype pair, type;
    MPI_Op op, other;
    MPI_Request *call = &request[i];
    used[i].step = i % 5 ? 1 + i / 12 % 2 : 1;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    if (i % 5)
        MPI_Type_create_resized(pair, 0, used[i].step * (MPI_Aint)sizeof(struct linear), &type);
    else
        MPI_Type_dup(pair, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(commutes ? add : compose, commutes, &op);
    used[i].type = type;
    for (int r = 0; r < p; r++) each[r] = n / p;
    fill_linear(i, 0);
#define USE(NAME, LOWER, ...)                                                                      \
    (prepares ? PREPARE(NAME, in, out, __VA_ARGS__, world, MPI_INFO_NULL, call)                    \
              : MPI_I##LOWER(in, out, __VA_ARGS__, world, call))
    if (i % 6 == 0) USE(Allreduce, allreduce, n, type, op);
    if (i % 6 == 1) USE(Reduce, reduce, n, type, op, i % p);
    if (i % 6 == 2) USE(Scan, scan, n, type, op);
    if (i % 6 == 3) USE(Exscan, exscan, n, type, op);
    if (i % 6 == 4) USE(Reduce_scatter_block, reduce_scatter_block, n / p, type, op);
    if (i % 6 == 5) USE(Reduce_scatter, reduce_scatter, each, type, op);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
    EXPECT(op == MPI_OP_NULL);
    MPI_Op_create(never, 1, &other);
    if (i % 2) MPI_Op_free(&other);
}

static void check_use(int i, int round)
{
    int n = i % 6 < 4 ? p * each_of(i) : each_of(i), first = i % 6 < 4 ? 0 : me * n;
    int ranks = i % 6 == 2 ? me + 1 : i % 6 == 3 ? me : p;
    if ((i % 6 == 1 && me != i % p) || ranks == 0) n = 0;
    for (int k = 0; k < 2 * LINEAR; k++) {
        struct linear all = {-1, -1}, got = used[i].out[k];
        int at = k / used[i].step + first + round;
        if (k % used[i].step == 0 && k / used[i].step < n) all = linear_of(i, 0, at);
        for (int r = 1; r < ranks && all.b >= 0; r++)
            all = apply(i / 6 % 2, all, linear_of(i, r, at));
        EXPECT(got.a == all.a && got.b == all.b);
    }
}

/* Completes all calls. Rank 0 completes them when the other ranks have completed theirs, so its
 * part of the calls is done while it waits in the host. */
static void complete_used(int round)
{
    int token = 1;
    for (int r = 1; me == 0 && r < p; r++)
        MPI_Recv(&token, 1, MPI_INT, r, 6, world, MPI_STATUS_IGNORE);
    MPI_Waitall(USED, request, MPI_STATUSES_IGNORE);
    if (me > 0) MPI_Send(&token, 1, MPI_INT, 0, 6, world);
    for (int i = 0; i < USED; i++) check_use(i, round);
}

/* Tests reductions by operations of the program, of which all are in flight together. */
static void operations(void)
{
    warm_up(world);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < USED; i++) use(i, 0);
        complete_used(0);
    }
    for (int i = 0; i < USED; i++) use(i, 1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < USED; i++) fill_linear(i, round);
        MPI_Startall(USED, request);
        complete_used(round);
    }
    for (int i = 0; i < USED; i++) MPI_Request_free(&request[i]);
}

/* ---- The host drives Tutti ---- */

/* Tests that the host MPI drives Tutti: rank 0 starts a call and waits for messages, which the
 * other ranks send when their calls have ended. They begin their calls when rank 0 waits, so rank
 * 0's part of the call is done while it waits in the host. */
static void driven(void)
{
    enum { N = 1 << 18 };
    int *in = malloc((size_t)N * sizeof *in), *out = malloc((size_t)N * sizeof *out), token = 1;
    warm_up(world);
    for (int turn = 0; turn < 40; turn++) {
        int n = turn % 2 ? N : 4, kind = turn / 2 % 4;
        MPI_Request call;
        if (me > 0) MPI_Recv(&token, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) in[i] = me + i;
        if (kind == 0) MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, world, &call);
        if (kind == 1) MPI_Ialltoall(in, n / p, MPI_INT, out, n / p, MPI_INT, world, &call);
        if (kind == 2) MPI_Ibcast(in, n, MPI_INT, p - 1, world, &call);
        if (kind == 3) MPI_Ibarrier(world, &call);
        for (int r = 1; me == 0 && r < p; r++) MPI_Send(&token, 1, MPI_INT, r, 1, world);
        for (int r = 1; me == 0 && r < p; r++)
            MPI_Recv(&token, 1, MPI_INT, r, 2, world, MPI_STATUS_IGNORE);
        MPI_Wait(&call, MPI_STATUS_IGNORE);
        if (me > 0) MPI_Send(&token, 1, MPI_INT, 0, 2, world);
        if (kind == 0) EXPECT(out[n - 1] == p * (p - 1) / 2 + p * (n - 1));
        if (kind == 1)
            for (int r = 0; r < p; r++) EXPECT(n < p || out[r * (n / p)] == r + me * (n / p));
        if (kind == 2) EXPECT(in[n - 1] == p - 1 + n - 1);
    }
    free(in);
    free(out);
}

/* ---- Lists of requests ---- */

/* Completes the requests of a list, by a different function each time. Returns whether all are
 * complete. */
static int complete_some(int way, int n, MPI_Request *list)
{
    MPI_Status status[4];
    int done = 0, some[4], index;
    if (way == 0) MPI_Waitall(n, list, status);
    if (way == 1) MPI_Waitany(n, list, &index, status);
    if (way == 2) MPI_Waitsome(n, list, &index, some, status);
    if (way == 3) MPI_Testall(n, list, &done, status);
    if (way == 4) MPI_Testany(n, list, &index, &done, status);
    if (way == 5) MPI_Testsome(n, list, &index, some, status);
    if (way == 6) MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
    if (way == 7) MPI_Request_get_status(list[1], &done, status);
    if (way == 7 && done) MPI_Waitall(n, list, status);
    for (int i = 0; i < n; i++)
        if (list[i] != MPI_REQUEST_NULL) return 0;
    return 1;
}

/* Tests functions that complete several requests. The list has a collective that rank 0 begins
 * late, because rank 0 first waits for a message of the last rank; another collective; a receive;
 * and an entry without a request. */
static void lists(void)
{
    enum { WAYS = 8, N = 5000 };
    static int in[N], out[N];
    warm_up(world);
    for (int turn = 0; turn < 3 * WAYS; turn++) {
        int got = -1, word = turn;
        MPI_Request list[4] = {MPI_REQUEST_NULL};
        for (int i = 0; i < N; i++) in[i] = me + i + turn;
        if (me == 0) MPI_Recv(&got, 1, MPI_INT, p - 1, 4, world, MPI_STATUS_IGNORE);
        MPI_Iallreduce(in, out, N, MPI_INT, MPI_SUM, world, &list[1]);
        MPI_Irecv(&got, 1, MPI_INT, (me + p - 1) % p, 5, world, &list[2]);
        MPI_Ibarrier(world, &list[3]);
        if (me == p - 1) MPI_Send(&word, 1, MPI_INT, 0, 4, world);
        MPI_Send(&word, 1, MPI_INT, (me + 1) % p, 5, world);
        while (!complete_some(turn % WAYS, 4, list)) {
        }
        EXPECT(got == turn && out[N - 1] == p * (p - 1) / 2 + p * (N - 1 + turn));
    }
}

/* ---- Counts of type MPI_Count ---- */

#if MPI_VERSION >= 4
static void wide(void)
{
    static MPI_Count one[64];
    static MPI_Aint at[64], at_bytes[64];
    static MPI_Datatype ints[64];
    int in[64], out[64], sum;
    MPI_Request call, kept[2];
    warm_up(world);
    for (int r = 0; r < p; r++) {
        one[r] = 1;
        at[r] = r;
        at_bytes[r] = r * (MPI_Aint)sizeof(int);
        ints[r] = MPI_INT;
        in[r] = 100 * me + r;
    }
    MPI_Allreduce_init_c(in, &sum, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &kept[0]);
    MPI_Alltoallw_init_c(in, one, at_bytes, ints, out, one, at_bytes, ints, world, MPI_INFO_NULL,
                         &kept[1]);
    for (int round = 0; round < 4; round++) {
        for (int way = 0; way < 2; way++) {
            memset(out, -1, sizeof out);
            sum = -1;
            if (way == 0) MPI_Iallreduce_c(in, &sum, 1, MPI_INT, MPI_SUM, world, &call);
            if (way == 0) MPI_Wait(&call, MPI_STATUS_IGNORE);
            if (way == 0)
                MPI_Ialltoallv_c(in, one, at, MPI_INT, out, one, at, MPI_INT, world, &call);
            if (way == 0) MPI_Wait(&call, MPI_STATUS_IGNORE);
            if (way == 1) MPI_Startall(2, kept);
            if (way == 1) MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
            EXPECT(sum == 100 * p * (p - 1) / 2);
            for (int r = 0; r < p; r++) EXPECT(out[r] == 100 * r + me);
        }
    }
    for (int i = 0; i < 2; i++) MPI_Request_free(&kept[i]);
}
#endif

/* ---- Looks ---- */

static long looked;

/* Counts a run of the host's progress, which calls this function each time that it runs. */
static int count_look(void)
{
    looked++;
    return 0;
}

/* Makes the host's progress call count_look, or not any more. */
static void count_looks(int counts)
{
#ifdef OPEN_MPI
    int (*change)(int (*)(void)) = (int (*)(int (*)(void)))dlsym(
        RTLD_DEFAULT, counts ? "opal_progress_register" : "opal_progress_unregister");
    EXPECT(change);
    change(count_look);
#else
    extern int (*before_poll)(void) __attribute__((weak)); /* of yield.c, if it is linked */
    EXPECT(&before_poll);
    before_poll = counts ? count_look : NULL;
#endif
}

/* Tests that the host's progress advances Tutti once each time that it runs, however many calls are
 * in flight. The calls of rank 0 cannot end while the other ranks wait for its message. `path`: the
 * library of advances.c, the argument after "looks" on the command line. */
static void looks(const char *path)
{
    int token = 1, found;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library);
    const long *advances = dlsym(library, "advances");
    EXPECT(advances);
    warm_up(world);
    if (me > 0) MPI_Recv(&token, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
    for (int i = 0; i < FLYING; i++) take_off(i, world);
    count_looks(1);
    long before = *advances;
    looked = 0;
    for (int i = 0; me == 0 && i < 100; i++) MPI_Iprobe(1, 7, world, &found, MPI_STATUS_IGNORE);
    EXPECT(me > 0 || looked >= 100);
    EXPECT(me > 0 || *advances - before == looked);
    count_looks(0);
    for (int r = 1; me == 0 && r < p; r++) MPI_Send(&token, 1, MPI_INT, r, 1, world);
    MPI_Waitall(FLYING, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < FLYING; i++) land(i);
}

#ifndef OPEN_MPI
/* Tests whether MPICH's progress has called Tutti, which begins this in MPI_Init: if the argument
 * after "replaced" on the command line is "yes". */
static void replaced(const char *expected)
{
    extern atomic_bool polled_by_tutti __attribute__((weak)); /* of yield.c */
    EXPECT(&polled_by_tutti);
    EXPECT(polled_by_tutti == (strcmp(expected, "yes") == 0));
}
#endif

/* ---- Persistent calls ---- */

enum { KEPT = 5, ROUNDS = 12 };

/* Stores the input of call i for a round, and fills its output with a value that is no result. */
static void fill(int i, int round)
{
    for (int k = 0; k < length_of(i); k++) {
        flight[i].in[k] = me + i + k + round;
        flight[i].out[k] = i % 3 == 1 && me == 0 ? 1000 * i + k + round : -1;
    }
}

/* Prepares call i: a sum, a bcast whose type has gaps and is freed at once, or a barrier. */
static void prepare(int i, MPI_Comm comm)
{
    int n = length_of(i);
    MPI_Datatype gaps;
    MPI_Type_vector((n + 1) / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (i % 3 == 0)
        PREPARE(Allreduce, flight[i].in, flight[i].out, n, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                &request[i]);
    else if (i % 3 == 1)
        PREPARE(Bcast, flight[i].out, 1, gaps, 0, comm, MPI_INFO_NULL, &request[i]);
    else
        PREPARE(Barrier, comm, MPI_INFO_NULL, &request[i]);
    MPI_Type_free(&gaps);
}

static void check(int i, int round)
{
    for (int k = 0; k < length_of(i); k++) {
        int at = flight[i].out[k];
        if (i % 3 == 0) EXPECT(at == p * (p - 1) / 2 + p * (i + k + round));
        if (i % 3 == 1 && me > 0) EXPECT(at == (k % 2 ? -1 : 1000 * i + k + round));
    }
}

/* Tests persistent calls, which each rank starts in an order of its own, among blocking calls and
 * together with persistent messages. The communicator is freed before the first start. */
static void persistent(void)
{
    MPI_Comm comm;
    MPI_Request all[KEPT + 2];
    int token = 0, got, sum, index, done, next = (me + 1) % p, before = (me + p - 1) % p;
    MPI_Comm_dup(world, &comm);
    for (int i = 0; i < KEPT; i++) prepare(i, comm);
    MPI_Comm_free(&comm);
    MPI_Send_init(&token, 1, MPI_INT, next, 5, world, &all[KEPT]);
    MPI_Recv_init(&got, 1, MPI_INT, before, 5, world, &all[KEPT + 1]);
    for (int round = 0; round < ROUNDS; round++) {
        token = me + round;
        for (int i = 0; i < KEPT; i++) {
            fill(i, round);
            all[i] = request[(i + me + round) % KEPT]; /* in another order on each rank */
        }
        if (round % 2)
            MPI_Startall(KEPT + 2, all);
        else
            for (int i = 0; i < KEPT + 2; i++) MPI_Start(&all[i]);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, world);
        EXPECT(sum == p * (p - 1) / 2);
        if (round % 3 == 0) {
            MPI_Waitall(KEPT + 2, all, MPI_STATUSES_IGNORE);
        } else if (round % 3 == 1) {
            for (int i = 0; i < KEPT + 2; i++)
                MPI_Waitany(KEPT + 2, all, &index, MPI_STATUS_IGNORE);
        } else {
            for (done = 0; !done;) MPI_Testall(KEPT + 2, all, &done, MPI_STATUSES_IGNORE);
        }
        MPI_Waitany(KEPT + 2, all, &index, MPI_STATUS_IGNORE);
        EXPECT(index == MPI_UNDEFINED && got == before + round);
        for (int i = 0; i < KEPT; i++) check(i, round);
    }
    for (int i = me; i < me + KEPT + 2; i++) MPI_Request_free(&all[i % (KEPT + 2)]);
}

/* Tests that persistent calls are done even if Tutti can make no more teams for them. Every second
 * call is freed at once, and the other 300 still exist when the program ends. */
static void prepared(void)
{
    MPI_Request kept;
    for (int i = 0; i < 600; i++) {
        PREPARE(Allreduce, &me, flight[0].out, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &kept);
        MPI_Start(&kept);
        MPI_Wait(&kept, MPI_STATUS_IGNORE);
        EXPECT(flight[0].out[0] == p * (p - 1) / 2);
        if (i % 2) MPI_Request_free(&kept);
    }
}

/* ---- Threads ---- */

static MPI_Comm shared;
static MPI_Request handed;

/* Waits for the call `handed`, and then sends the other ranks a message to go on. */
static void *wait_and_tell(void *arg)
{
    int token = 1;
    (void)arg;
    MPI_Wait(&handed, MPI_STATUS_IGNORE);
    for (int r = 1; r < p; r++) MPI_Send(&token, 1, MPI_INT, r, 3, world);
    return NULL;
}

/* Some ranks complete a nonblocking call before a blocking one, and other ranks after it. */
static void mixed(void)
{
    for (int turn = 0; turn < 50; turn++) {
        int data = turn, one = 1, sum = 0;
        MPI_Request request;
        MPI_Ibcast(&data, 1, MPI_INT, 0, world, &request);
        if (me % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        if (me % 2 == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(sum == p);
    }
}

/* Tests that at rank 0 one thread can wait in a barrier while another thread waits for a call on
 * the same communicator. The other ranks enter the barrier when this call has ended. */
static void crossed(void)
{
    enum { N = 1 << 15 };
    static int in[N], out[N];
    pthread_t other;
    int level, token;
    MPI_Query_thread(&level);
    EXPECT(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_dup(world, &shared);
    warm_up(shared);
    for (int turn = 0; turn < 100; turn++) {
        int n = turn % 2 ? N : 1;
        for (int i = 0; i < n; i++) in[i] = me + turn;
        MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, shared, &handed);
        if (me == 0) pthread_create(&other, NULL, wait_and_tell, NULL);
        if (me > 0) {
            MPI_Recv(&token, 1, MPI_INT, 0, 3, world, MPI_STATUS_IGNORE);
            MPI_Wait(&handed, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(shared);
        if (me == 0) pthread_join(other, NULL);
        EXPECT(out[n - 1] == p * (p - 1) / 2 + p * turn);
    }
    MPI_Comm_free(&shared);
}

/* How often a thread makes its calls. A thread that waits in MPICH sleeps with MPICH's lock
 * (yield.c), for which other threads wait meanwhile. */
#ifdef OPEN_MPI
enum { TURNS = 300 };
#else
enum { TURNS = 40 };
#endif

static void add_ints(void *in, void *inout, int *n, MPI_Datatype *type)
{
    EXPECT(*type == MPI_INT);
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

/* Runs in a thread: makes blocking and nonblocking calls in turn on the thread's communicator. */
static void *work(void *arg)
{
    MPI_Comm own = *(MPI_Comm *)arg;
    int two[2] = {me, 1}, sums[4], all = 0;
    int least = 0;
    MPI_Request kept;
    PREPARE(Allreduce, &me, &least, 1, MPI_INT, MPI_MIN, own, MPI_INFO_NULL, &kept);
    for (int i = 0; i < TURNS; i++) {
        MPI_Request call[3];
        MPI_Op sum = MPI_SUM;
        if (i % 2) MPI_Op_create(add_ints, 1, &sum);
        MPI_Iallreduce(two, sums, 2, MPI_INT, sum, own, &call[0]);
        if (i % 2) MPI_Op_free(&sum);
        MPI_Ibarrier(own, &call[1]);
        if (i % 3) MPI_Allreduce(&me, &all, 1, MPI_INT, MPI_MAX, own);
        MPI_Iscan(two, sums + 2, 2, MPI_INT, MPI_SUM, own, &call[2]);
        least = -1;
        MPI_Start(&kept);
        MPI_Wait(&kept, MPI_STATUS_IGNORE);
        EXPECT(least == 0);
        MPI_Waitall(3, call, MPI_STATUSES_IGNORE);
        EXPECT(sums[0] == p * (p - 1) / 2 && sums[1] == p && sums[3] == me + 1);
        EXPECT(i % 3 == 0 || all == p - 1);
    }
    MPI_Request_free(&kept);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    MPI_Comm comm[3];
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(world, &comm[i]);
        warm_up(comm[i]);
    }
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, work, &comm[i]);
    work(&comm[2]);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) MPI_Comm_free(&comm[i]);
}

/* ---- Errors ---- */

static int handled;

/* An error handler that calls functions of MPI, as a program may. */
static void handler(MPI_Comm *comm, int *code, ...)
{
    int found, size;
    (void)code;
    MPI_Comm_size(*comm, &size);
    MPI_Iprobe(MPI_ANY_SOURCE, 9, world, &found, MPI_STATUS_IGNORE);
    EXPECT(!found);
    handled++;
}

static jmp_buf before;

static void jumping(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(before, 1);
}

static void refused_bcast(MPI_Comm comm, int persistent)
{
    static int word;
    MPI_Request call;
    if (setjmp(before)) {
        handled++;
        return;
    }
    if (persistent) PREPARE(Bcast, &word, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &call);
    if (!persistent) MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &call);
}

/* Tests that an error handler can jump out of a call that fails before it begins. Tutti must take
 * the calls after it as if the call had not failed (later.sh counts them). */
static void refused(const char *path)
{
    MPI_Comm comm;
    MPI_Errhandler own;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library);
    int *refuses = dlsym(library, "refuses");
    EXPECT(refuses);
    MPI_Comm_dup(world, &comm);
    warm_up(comm);
    MPI_Comm_create_errhandler(jumping, &own);
    MPI_Comm_set_errhandler(comm, own);
    *refuses = 1;
    refused_bcast(comm, 0);
    refused_bcast(comm, 1);
    *refuses = 0;
    EXPECT(handled == 2);
    for (int i = 0; i < 5; i++) MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

enum { FAILING = 8, FAILURES = 200 };

/* Runs in a thread: starts and frees persistent calls that fail each time. Open MPI frees a
 * request when the program has completed it with an error, so a call can fail only once there. */
static void *fail_often(void *arg)
{
    MPI_Request *call = arg;
    MPI_Status status[FAILING];
#ifdef OPEN_MPI
    MPI_Startall(FAILING, call);
    for (int i = 0; i < FAILING; i++) EXPECT(MPI_Wait(&call[i], status) != MPI_SUCCESS);
#else
    for (int i = 0; i < FAILURES; i++) {
        EXPECT(MPI_Startall(FAILING, call) == MPI_SUCCESS);
        /* MPICH completes the calls up to the first that has failed */
        while (MPI_Waitall(FAILING, call, status) != MPI_SUCCESS) {
        }
    }
    for (int i = 0; i < FAILING; i++) {
        MPI_Start(&call[i]);
        EXPECT(MPI_Wait(&call[i], status) != MPI_SUCCESS);
        MPI_Request_free(&call[i]);
    }
#endif
    return NULL;
}

/* Tests that persistent calls can fail in two threads at the same time. */
static void refused_threads(const char *path)
{
    int out[2][FAILING];
    MPI_Request call[2][FAILING];
    pthread_t other;
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library);
    int *refuses = dlsym(library, "refuses");
    EXPECT(refuses);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < FAILING; i++)
            PREPARE(Allreduce, &me, &out[t][i], 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL,
                    &call[t][i]);
    *refuses = 1;
    pthread_create(&other, NULL, fail_often, call[0]);
    fail_often(call[1]);
    pthread_join(other, NULL);
    *refuses = 0;
}

/* Tests different counts at the ranks: the error must be reported when the program waits for the
 * call. */
static void mismatch(void)
{
    int in[4] = {0}, out[4];
    MPI_Comm comm;
    MPI_Errhandler own;
    MPI_Request call;
    MPI_Comm_dup(world, &comm);
    warm_up(comm);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Iallreduce(in, out, 1 + me % 2, MPI_INT, MPI_SUM, comm, &call);
    EXPECT(handled == 0);
    EXPECT(MPI_Wait(&call, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    EXPECT(handled == 1 && call == MPI_REQUEST_NULL);
}

/* Tests different counts at the ranks in a persistent call: the error must be reported when the
 * program waits for the call. Over MPICH with MPI_THREAD_MULTIPLE, this calls no error handler. */
static void unlike(void)
{
    int in[4] = {0}, out[4], level;
    MPI_Comm comm;
    MPI_Errhandler own;
    MPI_Request call;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    PREPARE(Allreduce, in, out, 1 + me % 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &call);
    EXPECT(MPI_Start(&call) == MPI_SUCCESS);
    EXPECT(handled == 0);
    int code = MPI_Wait(&call, MPI_STATUS_IGNORE), kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    EXPECT(kind == MPI_ERR_ARG);
    MPI_Query_thread(&level);
#ifndef OPEN_MPI
    EXPECT(handled == (level < MPI_THREAD_MULTIPLE));
#else
    EXPECT(handled == 1);
#endif
}

/* Kills the last rank when it has started persistent calls, and lets the other ranks wait for these
 * calls. */
static void die_started(void)
{
    static int in[1 << 16], out[1 << 16];
    MPI_Request call[2];
    PREPARE(Allreduce, in, out, 1 << 16, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &call[0]);
    PREPARE(Barrier, world, MPI_INFO_NULL, &call[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Startall(2, call);
        if (round == 2 && me == p - 1) raise(SIGKILL);
        MPI_Waitall(2, call, MPI_STATUSES_IGNORE);
    }
}

/* Kills the last rank before it starts nonblocking calls, and lets the other ranks wait for these
 * calls. */
static void die(void)
{
    static int in[1 << 16], out[1 << 16];
    MPI_Request call[2];
    warm_up(world);
    if (me == p - 1) raise(SIGKILL);
    MPI_Iallreduce(in, out, 1 << 16, MPI_INT, MPI_SUM, world, &call[0]);
    MPI_Ibarrier(world, &call[1]);
    MPI_Waitall(2, call, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : "";
    begin(&argc, &argv,
          strstr(part, "threads") || strcmp(part, "crossed") == 0 ||
              strcmp(argument, "multiple") == 0);
    if (strcmp(part, "many") == 0) many();
    if (strcmp(part, "attributes") == 0) attributes();
    if (strcmp(part, "operations") == 0) operations();
    if (strcmp(part, "driven") == 0) driven();
    if (strcmp(part, "lists") == 0) lists();
#if MPI_VERSION >= 4
    if (strcmp(part, "wide") == 0) wide();
#endif
#ifndef OPEN_MPI
    if (strcmp(part, "replaced") == 0) replaced(argument);
#endif
    if (strcmp(part, "looks") == 0) looks(argv[2]);
    if (strcmp(part, "crossed") == 0) crossed();
    if (strcmp(part, "mixed") == 0) mixed();
    if (strcmp(part, "threads") == 0) threads();
    if (strcmp(part, "mismatch") == 0) mismatch();
    if (strcmp(part, "refused") == 0) refused(argv[2]);
    if (strcmp(part, "refused-threads") == 0) refused_threads(argv[2]);
    if (strcmp(part, "persistent") == 0) persistent();
    if (strcmp(part, "prepared") == 0) prepared();
    if (strcmp(part, "unlike") == 0) unlike();
    if (strcmp(part, "die-started") == 0) die_started();
    if (strcmp(part, "die") == 0) die();
    MPI_Finalize();
    if (me == 0) printf("done\n");
    return 0;
}
