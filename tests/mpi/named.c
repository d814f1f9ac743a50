/* SPDX-License-Identifier: BSD-3-Clause
 *
 * named PART: tests situations in which Tutti and the host MPI could disturb each other. Each part
 * is an MPI program that ends with the word "done" if all went well.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "parts.h"

/* Tests that the host MPI makes progress while a rank waits in Tutti's barrier. A receiver starts
 * to receive a long message before the barrier and completes it afterwards. The sender sends the
 * message before the barrier, and can only reach the barrier if the receiver's host makes progress.
 */
static void rendezvous(void)
{
    enum { N = 1 << 20 };
    int *data = malloc(N * sizeof *data), other = me ^ 1, got;
    MPI_Request request;
    MPI_Status status;
    warm_up(world);
    for (int turn = 0; turn < 8; turn++) {
        for (int i = 0; i < N; i++) data[i] = me == turn % 2 ? i + turn : -1;
        if (me == turn % 2) {
            MPI_Send(data, N, MPI_INT, other, turn, world);
            MPI_Barrier(world);
        } else if (me < 2) {
            MPI_Irecv(data, N, MPI_INT, other, turn, world, &request);
            MPI_Barrier(world);
            MPI_Wait(&request, &status);
            MPI_Get_count(&status, MPI_INT, &got);
            EXPECT(got == N && data[0] == turn && data[N - 1] == N - 1 + turn);
        } else {
            MPI_Barrier(world);
        }
        /* Ranks 0 and 1 send to each other before the allreduce, and complete the messages after
         * it. */
        int one = 1, sum;
        if (me < 2) MPI_Isend(data, N, MPI_INT, other, 99, world, &request);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        EXPECT(sum == p);
        if (me < 2) {
            int *in = malloc(N * sizeof *in);
            MPI_Recv(in, N, MPI_INT, other, 99, world, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            free(in);
        }
    }
    free(data);
}

/* Tests that all data of a call leave a rank even if the rank does not call Tutti again. The root
 * makes some bcasts, and then waits in the host MPI for an answer of each other rank, which that
 * rank sends when it has all data. The other ranks begin late. Each turn makes one bcast more than
 * the turn before. So between hosts, if the system has little room for packets (UCX_TCP_SNDBUF),
 * the last packet of some turn finds no room. */
static void drains(void)
{
    enum { TURNS = 100 };
    const struct timespec late = {.tv_nsec = 5000000};
    int data = 0, answer;
    warm_up(world);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Barrier(world);
        if (me > 0) nanosleep(&late, NULL);
        for (int call = 0; call <= turn; call++) {
            data = me == 0 ? call : -1;
            MPI_Bcast(&data, 1, MPI_INT, 0, world);
            EXPECT(data == call);
        }
        for (int r = 1; me == 0 && r < p; r++)
            MPI_Recv(&answer, 1, MPI_INT, r, 7, world, MPI_STATUS_IGNORE);
        if (me > 0) MPI_Send(&turn, 1, MPI_INT, 0, 7, world);
    }
}

/* Tests that a call does not wait for a packet that an earlier call could not send yet. The last
 * rank frees a communicator of all ranks, and so has a packet for rank 1, to which it may have no
 * connection yet. The connection cannot be set up at once, because rank 1 waits in the host MPI for
 * a message of the last rank. The last rank sends this message only after an allreduce of all ranks
 * but rank 1, so this allreduce must not wait for the packet. */
static void frees(void)
{
    int one = 1, sum, token = 5;
    MPI_Comm all, others;
    MPI_Comm_dup(world, &all);
    MPI_Comm_split(world, me == 1 ? MPI_UNDEFINED : 0, me, &others);
    for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    for (int i = 0; i < 10 && me != 1; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
    MPI_Comm_free(&all);
    if (me == 1) {
        MPI_Recv(&token, 1, MPI_INT, p - 1, 8, world, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
        EXPECT(sum == p - 1);
        if (me == p - 1) MPI_Send(&token, 1, MPI_INT, 1, 8, world);
        MPI_Comm_free(&others);
    }
}

/* Makes many bcasts from rank 0: on rank 0 in a second thread, on the other ranks in the main
 * thread. */
static void *give(void *comm)
{
    enum { CALLS = 100, N = 1500 };
    int data[N] = {0};
    for (int call = 0; call < CALLS; call++) {
        data[0] = data[N - 1] = me == 0 ? call : -1;
        MPI_Bcast(data, N, MPI_INT, 0, *(MPI_Comm *)comm);
        EXPECT(data[0] == call && data[N - 1] == call);
    }
    return NULL;
}

/* Tests that a call does not wait for the packets of another thread. On rank 0, a thread does
 * bcasts, whose packets have no room until the other ranks make these calls. They do so only after
 * they have received a message of rank 0's main thread, which first does a barrier. */
static void busy(void)
{
    const struct timespec late = {.tv_nsec = 20000000};
    int token = 3;
    pthread_t thread;
    MPI_Comm bcasts, barrier;
    MPI_Comm_dup(world, &bcasts);
    MPI_Comm_dup(world, &barrier);
    warm_up(bcasts);
    warm_up(barrier);
    if (me == 0) EXPECT(pthread_create(&thread, NULL, give, &bcasts) == 0);
    nanosleep(&late, NULL);
    MPI_Barrier(barrier);
    for (int r = 1; me == 0 && r < p; r++) MPI_Send(&token, 1, MPI_INT, r, 9, world);
    if (me == 0) EXPECT(pthread_join(thread, NULL) == 0);
    if (me > 0) MPI_Recv(&token, 1, MPI_INT, 0, 9, world, MPI_STATUS_IGNORE);
    if (me > 0) give(&bcasts);
    MPI_Comm_free(&bcasts);
    MPI_Comm_free(&barrier);
}

/* Tests with bcasts and gathers that all data of a call leave a rank even if the rank does not call
 * Tutti again, but waits in the host MPI. Each rank is the root in turn, each time on a new
 * communicator. */
static void relay(void)
{
    enum { N = 1 << 18 };
    static const int sizes[] = {1, 2000, N};
    int *data = calloc((size_t)N, sizeof *data), *all = calloc((size_t)(N * p), sizeof *all);
    for (int root = 0; root < p; root++) {
        MPI_Comm comm;
        MPI_Comm_dup(world, &comm);
        for (int call = 0; call < 9; call++) {
            int n = sizes[call % 3], answer = 0, mine = root * 100 + call;
            data[0] = data[n - 1] = me == root ? mine : -1;
            MPI_Bcast(data, n, MPI_INT, root, comm);
            EXPECT(data[0] == mine && data[n - 1] == mine);
            for (int r = 0; me == root && r < p - 1; r++)
                MPI_Recv(&answer, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, MPI_STATUS_IGNORE);
            if (me != root) MPI_Send(&mine, 1, MPI_INT, root, 5, world);
            data[0] = data[n - 1] = me;
            MPI_Gather(data, n, MPI_INT, all, n, MPI_INT, root, comm);
            for (int r = 0; me == root && r < p; r++) {
                EXPECT(all[r * n] == r && all[r * n + n - 1] == r);
                if (r != root) MPI_Send(&mine, 1, MPI_INT, r, 6, world);
            }
            if (me != root) MPI_Recv(&answer, 1, MPI_INT, root, 6, world, MPI_STATUS_IGNORE);
        }
        MPI_Comm_free(&comm);
    }
    free(data);
    free(all);
}

/* The communicators of two threads, each of which uses one of them. On even ranks the main thread
 * uses the first communicator, and on odd ranks the second one. */
static MPI_Comm pair[2];

static void *cross(void *arg)
{
    int which = (int)(size_t)arg;
    for (int i = 0; i < 300; i++) {
        int mine = me + i, sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair[which]);
        EXPECT(sum == p * (p - 1) / 2 + p * i);
        if (i % 50 == which) MPI_Barrier(pair[which]);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t other;
    int level;
    MPI_Query_thread(&level);
    EXPECT(level == MPI_THREAD_MULTIPLE);
    for (int round = 0; round < 3; round++) {
        MPI_Comm_dup(world, &pair[0]);
        MPI_Comm_dup(world, &pair[1]);
        EXPECT(pthread_create(&other, NULL, cross, (void *)(size_t)(1 - me % 2)) == 0);
        cross((void *)(size_t)(me % 2));
        pthread_join(other, NULL);
        MPI_Comm_free(&pair[me % 2]);
        MPI_Comm_free(&pair[1 - me % 2]);
    }
}

/* Runs in a thread: makes and frees communicators while other threads do so, too. */
static void *churn(void *arg)
{
    MPI_Comm own = *(MPI_Comm *)arg, comm;
    for (int i = 0; i < 12; i++) {
        MPI_Comm_split(own, i % 2 ? me / 2 : 0, -me, &comm);
        for (int k = 0; k < 8; k++) {
            int mine = 1, sum, size;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
            MPI_Comm_size(comm, &size);
            EXPECT(sum == size);
        }
        MPI_Comm_free(&comm);
    }
    return NULL;
}

static void churns(void)
{
    pthread_t thread[3];
    MPI_Comm comm[4];
    for (int i = 0; i < 4; i++) MPI_Comm_dup(world, &comm[i]);
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, churn, &comm[i]);
    churn(&comm[3]);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
}

/* Returns an amount of memory from a file of /proc/self, in KiB; -1: the file does not have it.
 * `name`: how its line begins, for example "VmRSS:" for the resident memory. */
static long memory_in(const char *file, const char *name)
{
    char line[256];
    size_t n = strlen(name);
    long kib = -1;
    FILE *status = fopen(file, "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, n) == 0) kib = atol(line + n);
    if (status) fclose(status);
    return kib;
}

/* Tests that communicators that are made, used until they have a team, and freed, leave no memory
 * allocated. */
static void many(void)
{
    MPI_Comm comm, few[4];
    long before = 0;
    for (int i = 0; i < 10000; i++) {
        MPI_Comm_dup(world, &comm);
        for (int k = 0; k < (i % 10 ? 1 : 5); k++) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
        if (i == 2000) before = memory_in("/proc/self/status", "VmRSS:");
    }
    EXPECT(memory_in("/proc/self/status", "VmRSS:") < before + 2048);
    /* The ranks free these communicators in different orders. */
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 4; i++) MPI_Comm_dup(world, &few[i]);
        for (int i = 0; i < 4; i++) warm_up(few[i]);
        for (int i = 0; i < 4; i++) {
            MPI_Comm_free(&few[(i + me + round) % 4]);
            MPI_Barrier(world);
        }
    }
    /* These communicators are never freed. */
    for (int i = 0; i < 4; i++) MPI_Comm_dup(world, &few[i]);
    warm_up(few[2]);
}

/* Returns this process' memory in KiB, of which the pages that the ranks share count in part. Pages
 * of files do not count: other processes of the machine may begin or end to share them. */
static long memory_own(void)
{
    static const char file[] = "/proc/self/smaps_rollup";
    return memory_in(file, "Pss_Anon:") + memory_in(file, "Pss_Shmem:");
}

/* Tests that a communicator takes at most 64 KiB of each rank's memory, beside that of the host,
 * until long data go through it, also if its calls send messages. */
static void little(void)
{
    enum { COMMS = 200, CALLS = 10, MOST = 64 };
    static MPI_Comm comm[COMMS];
    int sum;
    MPI_Comm_dup(world, &comm[0]);
    warm_up(comm[0]);
    for (int i = 1; i < COMMS; i++) MPI_Comm_dup(world, &comm[i]);
    long before = memory_own();
    for (int k = 0; k < CALLS; k++)
        for (int i = 1; i < COMMS; i++) {
            MPI_Barrier(comm[i]);
            MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm[i]);
            MPI_Bcast(&sum, 1, MPI_INT, 0, comm[i]);
        }
    MPI_Barrier(world);
    EXPECT(memory_own() - before <= (COMMS - 1) * MOST);
    MPI_Barrier(world);
    for (int i = 0; i < COMMS; i++) MPI_Comm_free(&comm[i]);
}

/* Makes a type of `n` ints in a row; if `wide` and with MPI 4, with a count of type MPI_Count. */
static void make_row(int n, int wide, MPI_Datatype *type)
{
#if MPI_VERSION >= 4
    if (wide) MPI_Type_contiguous_c(n, MPI_INT, type);
    if (wide) return;
#endif
    (void)wide;
    MPI_Type_contiguous(n, MPI_INT, type);
}

/* Tests that elements of a type that consists of several ints in a row are moved where they lie: a
 * limit leaves no memory for a copy. */
static void rows(int wide)
{
    enum { N = 1 << 22, ROW = 4 };
    int(*data)[ROW] = malloc(N * sizeof *data);
    MPI_Datatype four, row;
    struct rlimit limit;
    make_row(ROW, wide, &four);
    MPI_Type_dup(four, &row);
    MPI_Type_commit(&row);
    MPI_Type_free(&four);
    warm_up(world);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < ROW; k++) data[i][k] = me ? -1 : i + k;
    MPI_Bcast(data, 1000, row, 0, world);
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur =
        ((rlim_t)memory_in("/proc/self/status", "VmData:") << 10) + N * sizeof *data / 2;
    setrlimit(RLIMIT_DATA, &limit);
    MPI_Bcast(data, N, row, 0, world);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < ROW; k++) EXPECT(data[i][k] == i + k);
    MPI_Type_free(&row);
    free(data);
}

/* Tests calls on an intercommunicator between the processes of the world and processes that were
 * started later, and on the union of both groups. */
static void use_union(MPI_Comm between, int high)
{
    MPI_Comm all;
    int size, sum, one = 1, from = -1;
    MPI_Intercomm_merge(between, high, &all);
    MPI_Comm_size(all, &size);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
        EXPECT(sum == size && size > p);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
        EXPECT(sum == size - p);
        if (!high) from = me == 0 ? 7 : from;
        MPI_Bcast(&from, 1, MPI_INT, 0, all);
        EXPECT(from == 7);
    }
    MPI_Comm_free(&all);
}

static void spawn(char *self)
{
    MPI_Comm between;
    char part[] = "child", *arguments[] = {part, NULL};
    warm_up(world);
    MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, world, &between, MPI_ERRCODES_IGNORE);
    use_union(between, 0);
    MPI_Comm_disconnect(&between);
}

static void child(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    warm_up(world);
    use_union(parent, 1);
    MPI_Comm_disconnect(&parent);
}

/* Adds the bytes of elements of any size. */
static void add_bytes(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *n * size; i++) ((unsigned char *)inout)[i] += ((unsigned char *)in)[i];
}

/* Tests an operation of the program on elements of more sizes than Tutti can have types at a time
 * (4096), and then the first sizes again. */
static void sizes(void)
{
    enum { MOST = 4200 };
    static unsigned char in[MOST], out[MOST];
    MPI_Op op;
    MPI_Op_create(add_bytes, 1, &op);
    for (int i = 0; i < MOST; i++) in[i] = (unsigned char)(i + me);
    for (int turn = 0; turn < MOST + 100; turn++) {
        MPI_Datatype type;
        int last = turn % MOST;
        MPI_Type_contiguous(last + 1, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_Allreduce(in, out, 1, type, op, world);
        EXPECT(out[last] == (unsigned char)(p * last + p * (p - 1) / 2));
        MPI_Type_free(&type);
    }
    MPI_Op_free(&op);
}

/* Tests an intercommunicator between two halves of the world, and a communicator with a topology.
 */
static void groups(void)
{
    MPI_Comm half, between, grid;
    int circle = 1, sum, mine = me, size;
    MPI_Comm_split(world, me % 2, me, &half);
    MPI_Comm_size(half, &size);
    MPI_Intercomm_create(half, 0, world, 1 - me % 2, 3, &between);
    MPI_Cart_create(world, 1, &p, &circle, 1, &grid);
    for (int i = 0; i < 10; i++) {
        int expected = 0;
        for (int r = 1 - me % 2; r < p; r += 2) expected += r;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
        EXPECT(sum == expected);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, grid);
        EXPECT(sum == p * (p - 1) / 2);
        int two[2];
        MPI_Neighbor_allgather(&mine, 1, MPI_INT, two, 1, MPI_INT, grid);
        EXPECT(two[0] == (me + p - 1) % p && two[1] == (me + 1) % p);
    }
    MPI_Comm_free(&grid);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

/* Tests nonblocking collectives that are in flight while blocking ones run. */
static void mixed(void)
{
    int mine[4] = {me, 1, me, 1}, sums[4];
    MPI_Request request[2];
    warm_up(world);
    for (int i = 0; i < 50; i++) {
        MPI_Iallreduce(&mine[0], &sums[0], 1, MPI_INT, MPI_SUM, world, &request[0]);
        MPI_Allreduce(&mine[1], &sums[1], 1, MPI_INT, MPI_SUM, world);
        MPI_Ibarrier(world, &request[1]);
        MPI_Allreduce(&mine[2], &sums[2], 1, MPI_INT, MPI_SUM, world);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        EXPECT(sums[0] == p * (p - 1) / 2 && sums[1] == p && sums[2] == p * (p - 1) / 2);
    }
}

/* Tests a program whose last call is a bcast, in which the root does not wait for the other ranks,
 * while rank 1 comes late. */
static void leave(void)
{
    int x = me;
    warm_up(world);
    for (volatile long i = 0; me == 1 && i < 300000000; i++) {
    }
    MPI_Bcast(&x, 1, MPI_INT, 0, world);
    EXPECT(x == 0);
}

/* ---- Names of communicators, for a report ---- */

static MPI_Comm copy_of_world(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    return comm;
}

static void barriers(int n, MPI_Comm comm)
{
    for (int i = 0; i < n; i++) MPI_Barrier(comm);
}

/* Starts a persistent collective before and after the program names and frees its communicator. */
static void start_freed(void)
{
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    MPI_Request request;
    MPI_Comm comm = copy_of_world(), next;
    MPIX_Barrier_init(comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i > 0) continue;
        MPI_Comm_set_name(comm, "started");
        MPI_Comm_free(&comm);
        next = copy_of_world(); /* which may get the handle that is free now */
        barriers(1, next);
        MPI_Comm_set_name(next, "next");
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&next);
#endif
}

/* Names communicators after calls on them, at other times on each rank. */
static void renames(void)
{
    MPI_Comm kept = copy_of_world(), freed = copy_of_world(), none = copy_of_world();
    barriers(5, kept);
    MPI_Comm_set_name(kept, "kept, first");
    barriers(3, kept);
    if (me == 0) MPI_Comm_set_name(freed, "freed");
    barriers(4, freed);
    MPI_Comm_set_name(freed, "freed");
    MPI_Comm_free(&freed);
    barriers(2, none);
    MPI_Comm_free(&none);
    freed = copy_of_world(); /* another one with the same name */
    MPI_Comm_set_name(freed, "freed");
    barriers(7, freed);
    MPI_Comm_free(&freed);
    MPI_Comm_set_name(kept, "kept");
    start_freed();
}

/* Gives names to many communicators of all ranks, and at rank 0 to as many of its own. Then uses
 * types and operations for the first time, on a communicator that has a name and on the world. Some
 * names are as long as the host allows, and differ at their end only. */
static void many_names(void)
{
    enum { MANY = 400 };
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    double one = 1, most;
    long ones = 1, product;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%0*d", i < 3 ? MPI_MAX_OBJECT_NAME - 1 : 6, i);
        comm = copy_of_world();
        MPI_Comm_set_name(comm, name);
        barriers(2, comm);
        MPI_Comm_free(&comm);
        if (me > 0) continue;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        snprintf(name, sizeof name, "own %d", i);
        MPI_Comm_set_name(comm, name);
        barriers(1, comm);
        MPI_Comm_free(&comm);
    }
    comm = copy_of_world();
    MPI_Comm_set_name(comm, "last");
    MPI_Allreduce(&one, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(&ones, &product, 1, MPI_LONG, MPI_PROD, world);
}

/* Gives a communicator the name in the file that the command line names. */
static void name_in(const char *path)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    FILE *file = fopen(path, "rb");
    EXPECT(file && fread(name, 1, sizeof name - 1, file) > 0);
    fclose(file);
    MPI_Comm comm = copy_of_world();
    MPI_Comm_set_name(comm, name);
    barriers(1, comm);
}

/* A delete function of an attribute, which MPI_Finalize calls. Such a function may call MPI. */
static int delete_it(MPI_Comm comm, int key, void *value, void *state)
{
    int one = 1, sum;
    (void)comm, (void)key, (void)value, (void)state;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == p);
    return MPI_SUCCESS;
}

static void late(void)
{
    int key;
    warm_up(world);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_it, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    begin(&argc, &argv,
          strcmp(part, "threads") == 0 || strcmp(part, "churns") == 0 || strcmp(part, "busy") == 0);
    if (strcmp(part, "rendezvous") == 0) rendezvous();
    if (strcmp(part, "drains") == 0) drains();
    if (strcmp(part, "frees") == 0) frees();
    if (strcmp(part, "busy") == 0) busy();
    if (strcmp(part, "relay") == 0) relay();
    if (strcmp(part, "threads") == 0) threads();
    if (strcmp(part, "churns") == 0) churns();
    if (strcmp(part, "many") == 0) many();
    if (strcmp(part, "little") == 0) little();
    if (strcmp(part, "rows") == 0) rows(0);
    if (strcmp(part, "wide-rows") == 0) rows(1);
    if (strcmp(part, "sizes") == 0) sizes();
    if (strcmp(part, "spawn") == 0) spawn(argv[0]);
    if (strcmp(part, "child") == 0) child();
    if (strcmp(part, "groups") == 0) groups();
    if (strcmp(part, "mixed") == 0) mixed();
    if (strcmp(part, "leave") == 0) leave();
    if (strcmp(part, "late") == 0) late();
    if (strcmp(part, "renames") == 0) renames();
    if (strcmp(part, "many-names") == 0) many_names();
    if (strcmp(part, "name") == 0) name_in(argv[2]);
    MPI_Finalize();
    if (me == 0 && strcmp(part, "child") != 0) printf("done\n");
    return 0;
}
