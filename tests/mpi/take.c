/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares the results of all blocking collectives with what one rank computes alone: with every
 * predefined type and operation, in place and not, with types that have gaps and differ from rank
 * to rank, and with operations of the program. The program runs on any number of ranks. Each part
 * is repeated, because the first calls on a communicator are left to the host MPI. Compiled with
 * NONBLOCKING, the program calls the nonblocking collectives instead; compiled with PERSISTENT
 * also, it prepares, starts and frees persistent collectives.
 */
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, N = 37, TIMES = 6 };

static MPI_Comm comm;
static int p, me, turns = TIMES;
static bool all_taken;
/* Whether the program makes only calls that Tutti does: MPICH 4.0.2 fails in persistent collectives
 * that are left to it. */
#if defined PERSISTENT && !defined OPEN_MPI
static const bool only_tutti = true;
#else
static const bool only_tutti = false;
#endif

#define EXPECT(CONDITION, ...)                                                                     \
    do {                                                                                           \
        if (!(CONDITION)) {                                                                        \
            fprintf(stderr, "take.c:%d: rank %d of %d: not so: %s; ", __LINE__, me, p,             \
                    #CONDITION);                                                                   \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

/* ---- Nonblocking and persistent calls ---- */

#if defined PERSISTENT && defined OPEN_MPI
#include <mpi-ext.h>
#define PREPARE(NAME, ...) MPIX_##NAME##_init(__VA_ARGS__)
#elif defined PERSISTENT
#define PREPARE(NAME, ...) MPI_##NAME##_init(__VA_ARGS__)
#endif

#ifdef NONBLOCKING
static MPI_Request begun[2];

/* Completes the call that has begun, each time in another one of four ways, of which the last also
 * completes a message. */
static int complete(int code)
{
    static int calls;
    int done = 0, in = -1, out = calls, index;
#ifdef PERSISTENT
    MPI_Status status;
    if (calls % 2) EXPECT(MPI_Wait(begun, &status) == MPI_SUCCESS, "an inactive request");
    if (calls % 3)
        MPI_Start(begun);
    else
        MPI_Startall(1, begun);
#endif
    switch (calls++ % 4) {
    case 0: MPI_Wait(begun, MPI_STATUS_IGNORE); break;
    case 1:
        while (!done) MPI_Test(begun, &done, MPI_STATUS_IGNORE);
        break;
    case 2:
        while (!done) MPI_Request_get_status(begun[0], &done, MPI_STATUS_IGNORE);
        begun[1] = MPI_REQUEST_NULL;
        MPI_Waitany(2, begun, &index, MPI_STATUS_IGNORE);
        EXPECT(index == 0, "request %d", index);
        break;
    default:
        MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &begun[1]);
        MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
        MPI_Status two[2];
        MPI_Waitall(2, begun, two);
        EXPECT(in == out, "%d", in);
    }
#ifdef PERSISTENT
    EXPECT(begun[0] != MPI_REQUEST_NULL, "the request is not freed");
    MPI_Waitany(1, begun, &index, &status);
    EXPECT(index == MPI_UNDEFINED, "the request is not active");
    MPI_Request_free(begun);
#endif
    EXPECT(begun[0] == MPI_REQUEST_NULL, "the request is freed");
    return code;
}

#ifdef PERSISTENT
#define BEGIN(NAME, LOWER, ...) complete(PREPARE(NAME, __VA_ARGS__, MPI_INFO_NULL, begun))
#else
#define BEGIN(NAME, LOWER, ...) complete(MPI_I##LOWER(__VA_ARGS__, begun))
#endif
#define MPI_Barrier(...) BEGIN(Barrier, barrier, __VA_ARGS__)
#define MPI_Bcast(...) BEGIN(Bcast, bcast, __VA_ARGS__)
#define MPI_Reduce(...) BEGIN(Reduce, reduce, __VA_ARGS__)
#define MPI_Allreduce(...) BEGIN(Allreduce, allreduce, __VA_ARGS__)
#define MPI_Scan(...) BEGIN(Scan, scan, __VA_ARGS__)
#define MPI_Exscan(...) BEGIN(Exscan, exscan, __VA_ARGS__)
#define MPI_Reduce_scatter(...) BEGIN(Reduce_scatter, reduce_scatter, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) BEGIN(Reduce_scatter_block, reduce_scatter_block, __VA_ARGS__)
#define MPI_Gather(...) BEGIN(Gather, gather, __VA_ARGS__)
#define MPI_Gatherv(...) BEGIN(Gatherv, gatherv, __VA_ARGS__)
#define MPI_Scatter(...) BEGIN(Scatter, scatter, __VA_ARGS__)
#define MPI_Scatterv(...) BEGIN(Scatterv, scatterv, __VA_ARGS__)
#define MPI_Allgather(...) BEGIN(Allgather, allgather, __VA_ARGS__)
#define MPI_Allgatherv(...) BEGIN(Allgatherv, allgatherv, __VA_ARGS__)
#define MPI_Alltoall(...) BEGIN(Alltoall, alltoall, __VA_ARGS__)
#define MPI_Alltoallv(...) BEGIN(Alltoallv, alltoallv, __VA_ARGS__)
#define MPI_Alltoallw(...) BEGIN(Alltoallw, alltoallw, __VA_ARGS__)
#endif

/* Makes blocking calls, because only these make the team of a communicator. */
static void warm_up(void)
{
    for (int i = 0; i < 4; i++) (MPI_Barrier)(comm);
}

/* ---- Reductions of predefined types ---- */

/* Returns element i of a rank: small numbers, some of them equal and some 0, with which no
 * operation overflows. */
static int value(int rank, int i)
{
    return (rank * 7 + i * 5 + rank * i) % 4;
}

#define ADD(a, b) ((a) + (b))
#define TIMES_(a, b) ((a) * (b))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST_(a, b) ((a) > (b) ? (a) : (b))
#define AND(a, b) ((a) && (b))
#define OR(a, b) ((a) || (b))
#define XOR(a, b) (!(a) != !(b))
#define BITS_AND(a, b) ((a) & (b))
#define BITS_OR(a, b) ((a) | (b))
#define BITS_XOR(a, b) ((a) ^ (b))

/* Compares allreduce, reduce, scan and reduce_scatter_block of one type and operation with the same
 * operation done by this rank alone, in the order of the ranks. */
#define CHECK(T, TYPE, OP, COMBINE)                                                                \
    do {                                                                                           \
        static T in[N * MOST], out[N * MOST], all[N * MOST], upto[N * MOST];                       \
        for (int i = 0; i < N * p; i++) {                                                          \
            in[i] = (T)value(me, i);                                                               \
            all[i] = (T)value(0, i);                                                               \
            for (int r = 1; r < p; r++) {                                                          \
                if (r == me) upto[i] = all[i];                                                     \
                all[i] = (T)COMBINE(all[i], (T)value(r, i));                                       \
            }                                                                                      \
        }                                                                                          \
        MPI_Allreduce(in, out, N, TYPE, OP, comm);                                                 \
        for (int i = 0; i < N; i++) EXPECT(out[i] == all[i], "%s %s [%d]", #TYPE, #OP, i);         \
        MPI_Reduce(in, out, N, TYPE, OP, p - 1, comm);                                             \
        for (int i = 0; i < N && me == p - 1; i++)                                                 \
            EXPECT(out[i] == all[i], "%s %s [%d]", #TYPE, #OP, i);                                 \
        MPI_Exscan(in, out, N, TYPE, OP, comm);                                                    \
        for (int i = 0; i < N && me > 0; i++)                                                      \
            EXPECT(out[i] == upto[i], "%s %s [%d]", #TYPE, #OP, i);                                \
        memcpy(out, in, sizeof in);                                                                \
        MPI_Scan(MPI_IN_PLACE, out, N, TYPE, OP, comm);                                            \
        for (int i = 0; i < N; i++)                                                                \
            EXPECT(out[i] == (me ? (T)COMBINE(upto[i], in[i]) : in[i]), "%s %s", #TYPE, #OP);      \
        MPI_Reduce_scatter_block(in, out, N, TYPE, OP, comm);                                      \
        for (int i = 0; i < N; i++)                                                                \
            EXPECT(out[i] == all[me * N + i], "%s %s [%d]", #TYPE, #OP, i);                        \
    } while (0)

#define CHECK_NUMBER(T, TYPE)                                                                      \
    CHECK(T, TYPE, MPI_SUM, ADD);                                                                  \
    CHECK(T, TYPE, MPI_PROD, TIMES_);                                                              \
    CHECK(T, TYPE, MPI_MIN, LEAST);                                                                \
    CHECK(T, TYPE, MPI_MAX, MOST_)
#define CHECK_LOGIC(T, TYPE)                                                                       \
    CHECK(T, TYPE, MPI_LAND, AND);                                                                 \
    CHECK(T, TYPE, MPI_LOR, OR);                                                                   \
    CHECK(T, TYPE, MPI_LXOR, XOR)
#define CHECK_BITS(T, TYPE)                                                                        \
    CHECK(T, TYPE, MPI_BAND, BITS_AND);                                                            \
    CHECK(T, TYPE, MPI_BOR, BITS_OR);                                                              \
    CHECK(T, TYPE, MPI_BXOR, BITS_XOR)
#define CHECK_INTEGER(T, TYPE)                                                                     \
    CHECK_NUMBER(T, TYPE);                                                                         \
    CHECK_LOGIC(T, TYPE);                                                                          \
    CHECK_BITS(T, TYPE)

static void integers(void)
{
    CHECK_INTEGER(signed char, MPI_SIGNED_CHAR);
    CHECK_INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    CHECK_INTEGER(short, MPI_SHORT);
    CHECK_INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    CHECK_INTEGER(int, MPI_INT);
    CHECK_INTEGER(unsigned, MPI_UNSIGNED);
    CHECK_INTEGER(long, MPI_LONG);
    CHECK_INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    CHECK_INTEGER(long long, MPI_LONG_LONG);
    CHECK_INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
}

static void sized_integers(void)
{
    CHECK_INTEGER(int8_t, MPI_INT8_T);
    CHECK_INTEGER(int16_t, MPI_INT16_T);
    CHECK_INTEGER(int32_t, MPI_INT32_T);
    CHECK_INTEGER(int64_t, MPI_INT64_T);
    CHECK_INTEGER(uint8_t, MPI_UINT8_T);
    CHECK_INTEGER(uint16_t, MPI_UINT16_T);
    CHECK_INTEGER(uint32_t, MPI_UINT32_T);
    CHECK_INTEGER(uint64_t, MPI_UINT64_T);
    CHECK_NUMBER(MPI_Aint, MPI_AINT);
    CHECK_NUMBER(MPI_Offset, MPI_OFFSET);
    CHECK_NUMBER(MPI_Count, MPI_COUNT);
    CHECK_BITS(unsigned char, MPI_BYTE);
    CHECK_LOGIC(bool, MPI_C_BOOL);
}

static void others(void)
{
    CHECK_NUMBER(float, MPI_FLOAT);
    CHECK_NUMBER(double, MPI_DOUBLE);
    CHECK_NUMBER(long double, MPI_LONG_DOUBLE);
    CHECK_NUMBER(int, MPI_INTEGER);
    CHECK_NUMBER(float, MPI_REAL);
    CHECK_NUMBER(double, MPI_DOUBLE_PRECISION);
    CHECK_LOGIC(int, MPI_LOGICAL);
    CHECK(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, ADD);
    CHECK(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, TIMES_);
    CHECK(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, ADD);
    CHECK(float complex, MPI_COMPLEX, MPI_PROD, TIMES_);
    CHECK(double complex, MPI_DOUBLE_COMPLEX, MPI_SUM, ADD);
}

/* Compares reductions of pairs of a value and an index: the least or greatest value; among equal
 * values the lowest index. */
#define CHECK_PAIR(T, INDEX, TYPE)                                                                 \
    do {                                                                                           \
        struct pair {                                                                              \
            T value;                                                                               \
            INDEX index;                                                                           \
        } in[N], least[N], most[N];                                                                \
        for (int i = 0; i < N; i++) {                                                              \
            in[i].value = (T)value(me, i);                                                         \
            in[i].index = (INDEX)me;                                                               \
        }                                                                                          \
        MPI_Allreduce(in, least, N, TYPE, MPI_MINLOC, comm);                                       \
        memcpy(most, in, sizeof in);                                                               \
        MPI_Reduce(me == p - 1 ? MPI_IN_PLACE : most, most, N, TYPE, MPI_MAXLOC, p - 1, comm);     \
        MPI_Bcast(most, N, TYPE, p - 1, comm);                                                     \
        for (int i = 0; i < N; i++) {                                                              \
            int low = 0, high = 0;                                                                 \
            for (int r = 1; r < p; r++) {                                                          \
                if (value(r, i) < value(low, i)) low = r;                                          \
                if (value(r, i) > value(high, i)) high = r;                                        \
            }                                                                                      \
            EXPECT(least[i].value == value(low, i) && least[i].index == low, "%s", #TYPE);         \
            EXPECT(most[i].value == value(high, i) && most[i].index == high, "%s", #TYPE);         \
        }                                                                                          \
    } while (0)

static void pairs(void)
{
    CHECK_PAIR(int, int, MPI_2INT);
    CHECK_PAIR(short, int, MPI_SHORT_INT);
    CHECK_PAIR(long, int, MPI_LONG_INT);
    CHECK_PAIR(float, int, MPI_FLOAT_INT);
    CHECK_PAIR(double, int, MPI_DOUBLE_INT);
    CHECK_PAIR(long double, int, MPI_LONG_DOUBLE_INT);
    CHECK_PAIR(int, int, MPI_2INTEGER);
    CHECK_PAIR(float, float, MPI_2REAL);
    CHECK_PAIR(double, double, MPI_2DOUBLE_PRECISION);
}

/* ---- Moving data ---- */

/* How a rank describes ints in memory: element i begins at i * step ints, and what lies between
 * elements must not change. Every second rank has gaps, and a rank uses different descriptions in
 * different calls. */
struct ints {
    MPI_Datatype type;
    int step;
};
static struct ints plain, row, gaps;

enum { UNTOUCHED = -77, ROOM = 4 * N * MOST * MOST };
static int from[ROOM], to[ROOM];

/* Returns how many ints at the beginning of a buffer are set before a call and checked after it.
 * They are more than all pieces of all ranks, gaps included. */
static int room(void)
{
    return 4 * N * p * p;
}

static int word(int rank, int i)
{
    return rank * 100000 + i;
}

static struct ints shape_of(int turn)
{
    if ((me + turn) % 2) return gaps;
    return turn % 4 < 2 ? plain : row;
}

static void clear(void)
{
    for (int i = 0, n = room(); i < n; i++) from[i] = to[i] = UNTOUCHED;
}

/* Stores n elements of a rank, beginning with its element `first`, at element `place` of a buffer.
 */
static void put(int *buffer, struct ints s, int place, int rank, int first, int n)
{
    for (int i = 0; i < n; i++) buffer[(place + i) * s.step] = word(rank, first + i);
}

/* Checks that n elements of a rank, beginning with its element `first`, are at element `place` of a
 * buffer, and that the ints between them have not changed. */
static void expect(const int *buffer, struct ints s, int place, int rank, int first, int n)
{
    for (int i = 0; i < n; i++) {
        int at = (place + i) * s.step;
        EXPECT(buffer[at] == word(rank, first + i), "element %d of rank %d is %d", first + i, rank,
               buffer[at]);
        for (int k = 1; k < s.step; k++) EXPECT(buffer[at + k] == UNTOUCHED, "gap of %d", at);
    }
}

static void expect_untouched(const int *buffer, int first)
{
    for (int i = first, n = room(); i < n; i++) EXPECT(buffer[i] == UNTOUCHED, "buffer[%d]", i);
}

static void check_bcast(int turn, int n)
{
    struct ints s = shape_of(turn);
    for (int root = 0; root < p; root++) {
        clear();
        if (me == root) put(to, s, 0, root, 0, n);
        MPI_Bcast(to, n, s.type, root, comm);
        expect(to, s, 0, root, 0, n);
        expect_untouched(to, n * s.step);
    }
}

static void check_gather(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    for (int root = 0; root < p; root++) {
        clear();
        bool in_place = me == root && turn % 3 == 0;
        put(in_place ? to : from, in_place ? r : s, in_place ? me * n : 0, me, 0, n);
        MPI_Gather(in_place ? MPI_IN_PLACE : from, n, s.type, to, n, r.type, root, comm);
        for (int k = 0; k < p && me == root; k++) expect(to, r, k * n, k, 0, n);
        expect_untouched(to, me == root ? p * n * r.step : 0);
    }
}

static void check_scatter(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    for (int root = 0; root < p; root++) {
        clear();
        bool in_place = me == root && turn % 3 == 0;
        if (me == root) put(from, s, 0, root, 0, p * n);
        MPI_Scatter(from, n, s.type, in_place ? MPI_IN_PLACE : to, n, r.type, root, comm);
        if (!in_place) expect(to, r, 0, root, me * n, n);
        expect_untouched(to, in_place ? 0 : n * r.step);
        if (me == root) expect(from, s, 0, root, 0, p * n);
    }
}

static void check_allgather(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    bool in_place = turn % 3 == 0;
    clear();
    put(in_place ? to : from, in_place ? r : s, in_place ? me * n : 0, me, 0, n);
    MPI_Allgather(in_place ? MPI_IN_PLACE : from, n, s.type, to, n, r.type, comm);
    for (int k = 0; k < p; k++) expect(to, r, k * n, k, 0, n);
    expect_untouched(to, p * n * r.step);
}

static void check_alltoall(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    bool in_place = turn % 3 == 0;
    clear();
    put(in_place ? to : from, in_place ? r : s, 0, me, 0, p * n);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : from, n, s.type, to, n, r.type, comm);
    for (int k = 0; k < p; k++) expect(to, r, k * n, k, me * n, n);
    expect_untouched(to, p * n * r.step);
}

/* ---- Pieces of different lengths ---- */

/* The pieces of a call: rank r has r % 3 * n elements, which begin at start[r], with a gap before
 * them. Pieces of higher ranks come first. */
static int count[MOST], start[MOST];

static int length(int rank, int n)
{
    return rank % 3 * n;
}

/* Sets the pieces, and returns where the last one ends. */
static int lay_out(int n)
{
    int at = 0;
    for (int r = p - 1; r >= 0; r--) {
        count[r] = length(r, n);
        start[r] = at + 2;
        at = start[r] + count[r];
    }
    return at;
}

static void check_gatherv(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    int end = lay_out(n);
    for (int root = 0; root < p; root++) {
        clear();
        bool in_place = me == root && turn % 3 == 0;
        put(in_place ? to : from, in_place ? r : s, in_place ? start[me] : 0, me, 0, count[me]);
        MPI_Gatherv(in_place ? MPI_IN_PLACE : from, count[me], s.type, to,
                    me == root ? count : NULL, me == root ? start : NULL, r.type, root, comm);
        for (int k = 0; k < p && me == root; k++) expect(to, r, start[k], k, 0, count[k]);
        expect_untouched(to, me == root ? end * r.step : 0);
        EXPECT(to[0] == UNTOUCHED && to[r.step] == UNTOUCHED, "before the first piece");
    }
}

static void check_scatterv(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    lay_out(n);
    for (int root = 0; root < p; root++) {
        clear();
        bool in_place = me == root && turn % 3 == 0;
        for (int k = 0; k < p && me == root; k++) put(from, s, start[k], k, 5, count[k]);
        MPI_Scatterv(from, me == root ? count : NULL, me == root ? start : NULL, s.type,
                     in_place ? MPI_IN_PLACE : to, count[me], r.type, root, comm);
        if (!in_place) expect(to, r, 0, me, 5, count[me]);
        expect_untouched(to, in_place ? 0 : count[me] * r.step);
    }
}

static void check_allgatherv(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    bool in_place = turn % 3 == 0;
    int end = lay_out(n);
    clear();
    put(in_place ? to : from, in_place ? r : s, in_place ? start[me] : 0, me, 0, count[me]);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : from, count[me], s.type, to, count, start, r.type,
                   comm);
    for (int k = 0; k < p; k++) expect(to, r, start[k], k, 0, count[k]);
    expect_untouched(to, end * r.step);
}

/* Checks an allgatherv whose pieces overlap on the even ranks: where two pieces overlap, the data
 * of the higher rank must remain. */
static void check_overlap(void)
{
    int n[MOST], at[MOST];
    clear();
    put(from, plain, 0, me, 0, 4);
    for (int r = 0; r < p; r++) {
        n[r] = 4;
        at[r] = me % 2 ? 4 * r : 2 * r;
    }
    MPI_Allgatherv(from, 4, MPI_INT, to, n, at, MPI_INT, comm);
    for (int r = 0; r < p; r++) expect(to, plain, at[r], r, 0, r < p - 1 && me % 2 == 0 ? 2 : 4);
}

/* Checks an alltoallv in which ranks i and j send each other (i + j) % 3 * n elements, equally many
 * in both directions, so that it can be done in place. */
static void check_alltoallv(int turn, int n)
{
    struct ints s = shape_of(turn), r = shape_of(turn + 1);
    bool in_place = turn % 3 == 0;
    int at = 1;
    clear();
    for (int k = 0; k < p; k++) {
        count[k] = (me + k) % 3 * n;
        start[k] = at;
        put(in_place ? to : from, in_place ? r : s, at, me, 1000 * k, count[k]);
        at += count[k] + 1;
    }
    MPI_Alltoallv(in_place ? MPI_IN_PLACE : from, count, start, s.type, to, count, start, r.type,
                  comm);
    for (int k = 0; k < p; k++) expect(to, r, start[k], k, 1000 * me, count[k]);
    expect_untouched(to, at * r.step);
}

/* Checks an alltoallw in which each pair of ranks has its own type. */
static void check_alltoallw(int turn, int n)
{
    MPI_Datatype sent[MOST], got[MOST];
    int sent_at[MOST], got_at[MOST], at = 0;
    clear();
    for (int k = 0; k < p; k++) {
        struct ints s = shape_of(turn + k), r = shape_of(turn + k / 2);
        count[k] = (me + k) % 3 * n;
        sent[k] = s.type;
        got[k] = r.type;
        sent_at[k] = got_at[k] = at * (int)sizeof(int);
        put(from + at, s, 0, me, 1000 * k, count[k]);
        at += 2 * count[k] + 1;
    }
    MPI_Alltoallw(from, count, sent_at, sent, to, count, got_at, got, comm);
    for (int k = 0; k < p; k++)
        expect(to + got_at[k] / (int)sizeof(int), shape_of(turn + k / 2), 0, k, 1000 * me,
               count[k]);
}

static void moves(int turn, int n)
{
    check_bcast(turn, n);
    check_gather(turn, n);
    check_scatter(turn, n);
    check_allgather(turn, n);
    check_alltoall(turn, n);
    check_gatherv(turn, n);
    check_scatterv(turn, n);
    check_allgatherv(turn, n);
    check_alltoallv(turn, n);
    check_alltoallw(turn, n);
}

/* ---- Operations of the program ---- */

/* The function x -> a x + b modulo 1009. The operation is to apply one function after the other,
 * which is associative, but not commutative. */
struct affine {
    int a, b;
};

static struct affine then(struct affine x, struct affine y)
{
    return (struct affine){x.a * y.a % 1009, (x.b * y.a + y.b) % 1009};
}

static struct affine affine_of(int rank, int i)
{
    return (struct affine){(rank * 31 + i) % 100 + 2, (rank * 17 + 3 * i) % 1000};
}

/* The distance between elements in memory, in pairs of ints, for the operation of the program. */
static int step_of_user;

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct affine *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        y[i * step_of_user] = then(x[i * step_of_user], y[i * step_of_user]);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) ((double *)inout)[i] += ((double *)in)[i];
}

/* A value that instructions load only from addresses that are multiples of 16. */
struct wide {
    _Alignas(16) double x[2];
};

static void add_wide(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct wide *a = in, *b = inout;
    (void)type;
    EXPECT((uintptr_t)in % 16 == 0 && (uintptr_t)inout % 16 == 0, "%p %p", in, inout);
    for (int i = 0; i < *n; i++)
        for (int k = 0; k < 2; k++) b[i].x[k] += a[i].x[k];
}

static void expect_composed(const struct affine *got, int step, int first, int n, int ranks)
{
    for (int i = 0; i < n; i++) {
        struct affine all = affine_of(0, first + i);
        for (int r = 1; r < ranks; r++) all = then(all, affine_of(r, first + i));
        EXPECT(got[i * step].a == all.a && got[i * step].b == all.b, "element %d: %d %d", i,
               got[i * step].a, got[i * step].b);
        for (int k = 1; k < step; k++) EXPECT(got[i * step + k].a == UNTOUCHED, "gap");
    }
}

enum { MANY = 3000 };

static void check_composed(MPI_Datatype type, MPI_Op op, int step, int n)
{
    static struct affine in[2 * MANY], out[2 * MANY];
    step_of_user = step;
    for (int turn = 0; turn < 4; turn++) {
        bool in_place = turn == 3;
        for (int i = 0; i < 2 * MANY; i++) in[i].a = out[i].a = UNTOUCHED;
        for (int i = 0; i < n; i++) in[i * step] = affine_of(me, i);
        if (in_place) memcpy(out, in, sizeof in);
        const void *send = in_place ? MPI_IN_PLACE : in;
        int ranks = p;
        if (turn == 0) MPI_Reduce(send, out, n, type, op, p / 2, comm);
        if (turn == 1 || in_place) MPI_Allreduce(send, out, n, type, op, comm);
        if (turn == 2) MPI_Scan(send, out, n, type, op, comm);
        if (turn == 0 && me != p / 2) continue;
        if (turn == 2) ranks = me + 1;
        expect_composed(out, step, 0, n, ranks);
    }
    for (int i = 0; i < n; i++) in[i * step] = affine_of(me, i);
    int each = n / p;
    MPI_Reduce_scatter_block(in, out, each, type, op, comm);
    expect_composed(out, step, me * each, each, p);
}

static void expect_wide(const struct wide *got, int first, int n, int ranks)
{
    for (int i = 0; i < n; i++) {
        int all = 0;
        for (int r = 0; r < ranks; r++) all += value(r, first + i);
        EXPECT(got[i].x[0] == all && got[i].x[1] == -all, "element %d", i);
    }
}

/* Checks reductions by an operation of the program whose values need aligned memory. */
static void check_wide(int n)
{
    static struct wide in[MANY], out[MANY];
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_wide, 1, &op);
    for (int i = 0; i < n; i++) in[i] = (struct wide){{value(me, i), -value(me, i)}};
    MPI_Allreduce(in, out, n, type, op, comm);
    expect_wide(out, 0, n, p);
    MPI_Reduce(in, out, n, type, op, p / 2, comm);
    if (me == p / 2) expect_wide(out, 0, n, p);
    MPI_Scan(in, out, n, type, op, comm);
    expect_wide(out, 0, n, me + 1);
    MPI_Exscan(in, out, n, type, op, comm);
    if (me > 0) expect_wide(out, 0, n, me);
    MPI_Reduce_scatter_block(in, out, n / p, type, op, comm);
    expect_wide(out, me * (n / p), n / p, p);
    for (int r = 0; r < p; r++) count[r] = n / p;
    MPI_Reduce_scatter(in, out, count, type, op, comm);
    expect_wide(out, me * (n / p), n / p, p);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void users(int n)
{
    MPI_Datatype pair, wide;
    MPI_Op op, sum;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 2 * sizeof(struct affine), &wide);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&wide);
    MPI_Op_create(compose, 0, &op);
    MPI_Op_create(add, 1, &sum);
    check_composed(pair, op, 1, n);
    /* This check is left out if the host MPI may do some of the calls: MPICH 4.0.2 writes after the
     * end of its own memory in a reduce_scatter_block of a type with gaps. */
    if (all_taken) check_composed(wide, op, 2, n);
    static double x[MANY], y[MANY];
    for (int i = 0; i < n; i++) x[i] = value(me, i);
    MPI_Allreduce(x, y, n, MPI_DOUBLE, sum, comm);
    for (int i = 0; i < n; i++) {
        double all = 0;
        for (int r = 0; r < p; r++) all += value(r, i);
        EXPECT(y[i] == all, "element %d", i);
    }
    MPI_Op_free(&op);
    MPI_Op_free(&sum);
    MPI_Type_free(&pair);
    MPI_Type_free(&wide);
}

/* Checks reduce_scatter, also in place, where the part of the buffer after the result must stay as
 * it is. */
static void check_reduce_scatter(int n)
{
    static int in[N * MOST], out[N * MOST];
    int all = 0, before = 0;
    for (int r = 0; r < p; r++) {
        count[r] = length(r, n);
        if (r < me) before += count[r];
        all += count[r];
    }
    for (int place = 0; place < 2; place++) {
        for (int i = 0; i < all; i++) in[i] = out[i] = word(me, i);
        MPI_Reduce_scatter(place ? MPI_IN_PLACE : in, out, count, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < all; i++) {
            int sum = i < count[me] ? 0 : word(me, i);
            for (int r = 0; r < p && i < count[me]; r++) sum += word(r, before + i);
            EXPECT(out[i] == sum, "element %d is %d, not %d", i, out[i], sum);
        }
    }
}

/* ---- All of it ---- */

static void make_shapes(void)
{
    plain = (struct ints){MPI_INT, 1};
    gaps.step = 2;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps.type);
    MPI_Type_commit(&gaps.type);
    /* row.type is a type of one int that is made of MPI_INT by MPI_Type_dup, MPI_Type_contiguous
     * and MPI_Type_dup. */
    MPI_Datatype copy, one;
    row.step = 1;
    MPI_Type_dup(MPI_INT, &copy);
    MPI_Type_contiguous(1, copy, &one);
    MPI_Type_dup(one, &row.type);
    MPI_Type_commit(&row.type);
    MPI_Type_free(&copy);
    MPI_Type_free(&one);
}

static void check_users(void)
{
    users(1);
    users(MANY / 3);
    for (int n = 1; n < 10; n++) check_wide(n);
    check_wide(MANY);
}

static void check_all(void)
{
    for (int turn = 0; turn < turns; turn++) {
        MPI_Barrier(comm);
        moves(turn, turn % 2 ? N : 1);
        check_reduce_scatter(N);
    }
    moves(1, 0);
    if (all_taken) check_overlap();
    check_users();
    integers();
    sized_integers();
    others();
    pairs();
}

/* take [TURNS]: runs all parts. With TURNS, every part is repeated TURNS times, and pieces do not
 * overlap, since the host MPI may do some of the calls. */
int main(int argc, char **argv)
{
    int rank, ranks;
    all_taken = argc == 1;
    if (argc > 1) turns = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_shapes();
    for (int kind = 0; kind < 3; kind++) {
        /* A copy of the world, the world in reverse order, and the world without its last rank. */
        if (kind == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (kind == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        if (kind == 2) MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1, rank, &comm);
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &p);
        warm_up();
        if (p > 1 || !only_tutti) check_all();
        MPI_Comm_free(&comm);
    }
    MPI_Type_free(&gaps.type);
    MPI_Type_free(&row.type);
    if (rank == 0) printf("all results are right\n");
    MPI_Finalize();
    return 0;
}
