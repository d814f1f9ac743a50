/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of choice.sh: calls collectives and checks their results.
 *
 *     choice counts       5 allreduces on the world, and 700 on each of two other communicators
 *     choice mixed SEED [CALLS]
 *                         random calls on three communicators
 *     choice left         allreduces and gathers on two ranks; half of them move 8 bytes, which the
 *                         test leaves to the host MPI, and half move 16 to 31 bytes
 *     choice reads        calls with lists of counts; to read a list takes 1,000 seconds by the
 *                         clock of libtutti_mpi.so
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 2048, RANKS = 8, CALLS = 9000 };

static int me, p, in[MOST], out[MOST * RANKS], lengths[RANKS], places[RANKS];

#define EXPECT(CONDITION)                                                                          \
    do {                                                                                           \
        if (!(CONDITION)) {                                                                        \
            fprintf(stderr, "choice.c:%d: rank %d: not so: %s\n", __LINE__, me, #CONDITION);       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void counts(void)
{
    double x = 1, y;
    for (int i = 0; i < 5; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0; c < 2; c++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < 700; i++) {
            MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, comm);
            EXPECT(y == p);
        }
        MPI_Comm_free(&comm);
    }
}

/* Makes one call of n ints, of the collective that `kind` (0 to 7) selects, and checks the result.
 * Int i of rank r is r + i + call. */
static void one_call(MPI_Comm comm, int kind, int n, int call)
{
    int rank, ranks, sum = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int root = call % ranks;
    for (int r = 0; r < ranks; r++) {
        sum += r;
        lengths[r] = n;
        places[r] = r * n;
    }
    for (int i = 0; i < n; i++) in[i] = rank + i + call;
    switch (kind) {
    case 0: MPI_Barrier(comm); return;
    case 1:
        MPI_Bcast(in, n, MPI_INT, root, comm);
        for (int i = 0; i < n; i++) EXPECT(in[i] == root + i + call);
        return;
    case 2:
        MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < n; i++) EXPECT(out[i] == sum + ranks * (i + call));
        return;
    case 3:
        MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
        for (int i = 0; i < n && rank == root; i++) EXPECT(out[i] == sum + ranks * (i + call));
        return;
    case 4: MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm); break;
    case 5: MPI_Allgatherv(in, n, MPI_INT, out, lengths, places, MPI_INT, comm); break;
    case 6:
        MPI_Gatherv(in, n, MPI_INT, out, lengths, places, MPI_INT, root, comm);
        if (rank != root) return;
        break;
    default:
        for (int r = 0; r < ranks; r++) memcpy(out + r * n, in, sizeof(int) * (size_t)n);
        MPI_Alltoall(MPI_IN_PLACE, n, MPI_INT, out, n, MPI_INT, comm);
    }
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < n; i++) EXPECT(out[r * n + i] == r + i + call);
}

static void mixed(unsigned seed, int calls)
{
    unsigned own = seed + 77u * (unsigned)me;
    MPI_Comm comm[3] = {MPI_COMM_WORLD};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm[1]);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &comm[2]);
    for (int call = 0; call < calls; call++) {
        int which = (int)(next(&seed) % 4) % 3, kind = (int)(next(&seed) % 8);
        int n = next(&seed) % 2 ? 1 : 1024;
        if (next(&own) % 128 == 0) usleep(next(&own) % 400);
        one_call(comm[which], kind, n, call);
    }
    MPI_Comm_free(&comm[1]);
    MPI_Comm_free(&comm[2]);
}

/* Makes an allreduce (a sum or maximum) of n elements, and checks the result. */
static void reduce_some(int n, MPI_Datatype type, MPI_Op op)
{
    double x[3] = {me + 1, me + 2, me + 3}, y[3] = {0};
    int i[4] = {me + 1, me + 2, me + 3, me + 4}, j[4] = {0}, real = type == MPI_DOUBLE;
    MPI_Allreduce(real ? (void *)x : i, real ? (void *)y : j, n, type, op, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++) EXPECT((real ? y[k] : j[k]) == (op == MPI_SUM ? 3 + 2 * k : 2 + k));
}

/* Makes a gather of n doubles from each rank, and checks the result. At the other
 * ranks, the receive count, which is significant only at the root, has another value. */
static void gather_some(int n, int root)
{
    double x[2] = {me, me + 10}, y[4] = {0};
    if (me == root)
        MPI_Gather(x, 2 * n, MPI_FLOAT, y, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
    else
        MPI_Gather(x, n, MPI_DOUBLE, y, 3 - n, MPI_DOUBLE, root, MPI_COMM_WORLD);
    for (int r = 0; me == root && r < p; r++)
        for (int k = 0; k < n; k++) EXPECT(y[r * n + k] == r + 10 * k);
}

static void left(void)
{
    for (int i = 0; i < 40; i++) {
        reduce_some(1, MPI_DOUBLE, MPI_SUM);
        reduce_some(2, MPI_DOUBLE, MPI_SUM);
        reduce_some(2, MPI_INT, MPI_SUM);
        reduce_some(4, MPI_INT, MPI_SUM);
        reduce_some(1, MPI_DOUBLE, MPI_MAX);
        reduce_some(3, MPI_DOUBLE, MPI_SUM);
        for (int n = 1; n <= 2; n++) gather_some(n, i / 2 % 2);
        for (int n = 1; n <= 2; n++) gather_some(n, i % 2);
    }
}

/* ---- A list of counts that takes long to read ---- */

enum { PAGE = 1 << 16, READ_SECONDS = 1000 };

static long read_seconds; /* how long lists have been read so far */
static int *slow;         /* memory for lists, to which all access is forbidden before a call */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    Dl_info caller;
    long code = syscall(SYS_clock_gettime, clock, time);
    if (read_seconds && dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
        strstr(caller.dli_fname, "libtutti_mpi"))
        time->tv_sec += read_seconds;
    return (int)code;
}

/* Handles the first access to the list in a call. A second access without permission, to other
 * memory, ends the program. */
static void on_read(int number)
{
    read_seconds += READ_SECONDS;
    if (mprotect(slow, PAGE, PROT_READ | PROT_WRITE)) abort();
    signal(number, SIG_DFL);
}

/* Lets the next access to the list take long. */
static void slow_down(void)
{
    EXPECT(mprotect(slow, PAGE, PROT_NONE) == 0);
    signal(SIGSEGV, on_read);
}

/* Makes the calls of one trial for each of three kinds: a reduce_scatter, allgathervs with the same
 * lists, and allgathervs with two lists by turns. */
static void reads(void)
{
    enum { TRIAL = 110, LONG = 64 };
    static double x[2 * LONG + 1], y[4 * LONG];
    slow = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(slow != MAP_FAILED);
    for (int i = 0; i < 3 * TRIAL; i++) {
        int kind = i / TRIAL, n = kind == 2 ? LONG : 1, displs[2] = {0, 2 * LONG};
        for (int r = 0; r < 2; r++) slow[r] = n + (kind == 2 && (i + r) % 2);
        int own = slow[me], first = slow[0];
        for (int k = 0; k < 2 * LONG; k++) x[k] = me + 1, y[k] = y[k + 2 * LONG] = 0;
        slow_down();
        if (kind == 0) {
            MPI_Reduce_scatter(x, y, slow, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            EXPECT(y[0] == 3);
        } else {
            MPI_Allgatherv(x, own, MPI_DOUBLE, y, slow, displs, MPI_DOUBLE, MPI_COMM_WORLD);
            EXPECT(y[0] == 1 && y[first - 1] == 1 && y[2 * LONG] == 2);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    if (strcmp(argv[1], "counts") == 0)
        counts();
    else if (strcmp(argv[1], "left") == 0)
        left();
    else if (strcmp(argv[1], "reads") == 0)
        reads();
    else
        mixed((unsigned)atoi(argv[2]), argc > 3 ? atoi(argv[3]) : CALLS);
    if (me == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
