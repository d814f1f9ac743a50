/* SPDX-License-Identifier: BSD-3-Clause
 *
 * around PART: runs one of the MPI programs of the test around.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int me, p;

/* The registrations for membarrier(2) that the process had when it made its first thread; -1: the
 * kernel does not say (before Linux 6.3). */
static long registered = -2; /* -2: the process has made no thread yet */

static long registrations(void)
{
    enum { GET_REGISTRATIONS = 1 << 9 };
    return syscall(SYS_membarrier, GET_REGISTRATIONS, 0, 0);
}

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Replaces pthread_create. The program exports it, so the host MPI calls it, too. Before the first
 * thread is made, it stores the process's registrations for membarrier(2) in `registered`. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    if (registered == -2) registered = registrations();
    return ((create_fn *)dlsym(RTLD_NEXT, "pthread_create"))(thread, attr, run, arg);
}

/* Prints at rank 0 whether the process had registered for membarrier(2) before it had a second
 * thread. */
static void registers(void)
{
    enum { REGISTER_GLOBAL_EXPEDITED = 1 << 2 };
    if (registered == -2) registered = registrations();
    if (me > 0) return;
    if (registered < 0)
        puts("unknown");
    else
        puts(registered & REGISTER_GLOBAL_EXPEDITED ? "registered early" : "not registered early");
}

/* Makes and frees many communicators, in an order that differs between the ranks. */
static void many(void)
{
    MPI_Comm comm, few[3];
    for (int i = 0; i < 10000; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 100 == 0) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &few[i]);
    for (int i = 0; i < 3; i++) MPI_Barrier(few[i]);
    for (int i = 0; i < 3; i++) MPI_Comm_free(&few[(i + me) % 3]);
    /* These communicators are never freed. */
    for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &few[i]);
    MPI_Barrier(few[1]);
}

/* Writes and reads a file by MPI-IO, which calls collectives inside the host MPI. */
static void file(void)
{
    MPI_File f;
    double x = me, y = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(f, me, &x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(f, (me + 1) % p, &y, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
    if (y != (me + 1) % p) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* An error handler for errors that the host MPI finds in the arguments of a call. */
static void handled(MPI_Comm *comm, int *code, ...)
{
    int kind;
    (void)comm;
    MPI_Error_class(*code, &kind);
    if (me == 0) printf("handler: class %d\n", kind);
}

static void errors(void)
{
    MPI_Errhandler handler;
    int in = 0, out = 0, codes[4], kind;
    MPI_Comm_create_errhandler(handled, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    codes[0] = MPI_Allreduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD);
    codes[1] = MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD);
    codes[2] = MPI_Bcast(&in, 1, MPI_INT, p, MPI_COMM_WORLD);
    codes[3] = MPI_Barrier(MPI_COMM_NULL);
    for (int i = 0; i < 4 && me == 0; i++) {
        MPI_Error_class(codes[i], &kind);
        printf("call %d: class %d\n", i, kind);
    }
}

static int naps; /* how often this process has slept for a short time */

typedef int nap_fn(const struct timespec *, struct timespec *);

/* Replaces nanosleep, also for Tutti, and counts the calls. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    naps++;
    return ((nap_fn *)dlsym(RTLD_NEXT, "nanosleep"))(time, left);
}

/* Calls collectives on a communicator on which all calls have matched, after calls on another
 * communicator of the same ranks did not, until a call fails. It does not wait for the launcher
 * first, because no rank has died. */
static void fail_elsewhere(MPI_Comm other)
{
    int before = naps;
    if (dlsym(RTLD_DEFAULT, "nanosleep") != (void *)nanosleep) MPI_Abort(MPI_COMM_WORLD, 1);
    while (MPI_Barrier(other) == MPI_SUCCESS) continue;
    if (naps != before) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Passes different counts to an allreduce. Tutti finds this error. Which rank gets it first depends
 * on the timing. Later calls on the communicator fail, too, and so do calls on others. */
static void mismatch(void)
{
    MPI_Comm other;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    for (int i = 0; i < 6; i++) MPI_Barrier(other);
    double in[8] = {0}, out[8];
    int code = MPI_SUCCESS, kind = 0;
    MPI_Comm_create_errhandler(handled, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 3 && code == MPI_SUCCESS; i++)
        code = MPI_Allreduce(in, out, me == 1 ? 5 : 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_ARG) MPI_Abort(MPI_COMM_WORLD, 1);
    fprintf(stderr, "argument: %d\n", kind);
    if (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    fail_elsewhere(other);
}

static void die(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Attach and detach a buffer for messages; with MPI 4 and if `wide`, by the functions with a size
 * of type MPI_Count. */
static void attach(void *room, int size, int wide)
{
#if MPI_VERSION >= 4
    if (wide) MPI_Buffer_attach_c(room, size);
    if (wide) return;
#endif
    (void)wide;
    MPI_Buffer_attach(room, size);
}

static void detach(int wide)
{
    void *room;
    int size;
#if MPI_VERSION >= 4
    MPI_Count bytes;
    if (wide) MPI_Buffer_detach_c(&room, &bytes);
    if (wide) return;
#endif
    (void)wide;
    MPI_Buffer_detach(&room, &size);
}

/* Makes rank p - 2 send messages to rank p - 1 in rounds, each of which ends with a barrier on
 * `comm`. The buffer has room for the messages of one round. So when both ranks have left the
 * barrier, the messages that rank p - 1 has received must no longer need room. The messages are
 * started in one of three ways. */
static void send_buffered(MPI_Comm comm, int wide)
{
    enum { MESSAGES = 40, INTS = 20000, ROUNDS = 30, BYTES = INTS * (int)sizeof(int) };
    static int data[INTS];
    int size = MESSAGES * (BYTES + MPI_BSEND_OVERHEAD);
    int from = p - 2, to = p - 1;
    void *room = malloc((size_t)size);
    MPI_Request request, kept;
    if (me >= from) attach(room, size, wide);
    MPI_Bsend_init(data, INTS, MPI_INT, to, 0, MPI_COMM_WORLD, &kept);
    for (int i = 0; i < ROUNDS; i++) {
        for (int m = 0; m < MESSAGES && me == to; m++)
            MPI_Recv(data, INTS, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int m = 0; m < MESSAGES && me == from; m++) {
            if (i % 3 == 0) MPI_Bsend(data, INTS, MPI_INT, to, 0, MPI_COMM_WORLD);
            if (i % 3 == 1) MPI_Ibsend(data, INTS, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
            if (i % 3 == 2) MPI_Start(&kept);
            if (i % 3 > 0) MPI_Wait(i % 3 == 1 ? &request : &kept, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(comm);
    }
    MPI_Request_free(&kept);
    if (me >= from) detach(wide);
    free(room);
}

/* Sends messages from an attached buffer (send_buffered) in three cases: with barriers of all
 * ranks; with barriers on a communicator of only the two ranks that exchange messages, in which
 * their order is reversed; and with barriers of all ranks and a buffer whose size is an MPI_Count.
 */
static void buffered(void)
{
    MPI_Comm two;
    send_buffered(MPI_COMM_WORLD, 0);
    MPI_Comm_split(MPI_COMM_WORLD, me >= p - 2, -me, &two);
    if (me >= p - 2) send_buffered(two, 0);
    MPI_Comm_free(&two);
    MPI_Barrier(MPI_COMM_WORLD);
    send_buffered(MPI_COMM_WORLD, 1);
}

static void call(void)
{
    double x = 1, y;
    for (int i = 0; i < 4; i++) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Prints whether this process has a socket with the name of a rank (src/mpi/local-names.h). */
static void nameless(void)
{
    struct sockaddr_un name;
    int named = 0;
    for (int fd = 3; fd < 256; fd++) {
        socklen_t size = sizeof name;
        memset(&name, 0, sizeof name);
        named += getsockname(fd, (struct sockaddr *)&name, &size) == 0 &&
                 name.sun_family == AF_UNIX && strncmp(name.sun_path + 1, "tutti-mpi-", 10) == 0;
    }
    puts(named ? "a name" : "no name");
}

/* Sends a message to the rank `to`, receives one from any rank, and sleeps until both are done. */
static void exchange_asleep(int to, int *token, int *got)
{
    MPI_Request both[2];
    int done = 0;
    MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(token, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &both[1]);
    while (!done) {
        MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
        if (!done) usleep(2000);
    }
}

/* Runs a job in which only rank `lacking` does not have the library, with calls of all kinds, also
 * receives from any rank and with any tag. If a call of one rank met the previous or the next call
 * of another rank, a result would be wrong. Rank `lacking` leaves MPI_Init seconds before the other
 * ranks. So all ranks begin with an exchange of messages in which they sleep and do not poll all
 * the time. */
static void lacks(int lacking)
{
    int sum = 0, token = me, got = -1;
    MPI_Request call;
    if ((me == lacking) == (getenv("LD_PRELOAD") != NULL)) MPI_Abort(MPI_COMM_WORLD, 2);
    exchange_asleep((me + 1) % p, &token, &got);
    if (got != (me + p - 1) % p) MPI_Abort(MPI_COMM_WORLD, 4);
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&token, 1, MPI_INT, (me + 1) % p, i, &got, 1, MPI_INT, MPI_ANY_SOURCE,
                     MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &call);
        MPI_Wait(&call, MPI_STATUS_IGNORE);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != p * (p - 1) / 2 || got != (me + p - 1) % p) MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (me == 0) printf("rank 0 has the sums\n");
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    /* Loads a second MPI, which the program does not call. */
    if (strcmp(part, "second") == 0 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) return 9;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    if (strcmp(part, "many") == 0) many();
    if (strcmp(part, "buffered") == 0) buffered();
    if (strcmp(part, "file") == 0) file();
    if (strcmp(part, "errors") == 0) errors();
    if (strcmp(part, "mismatch") == 0) mismatch();
    if (strcmp(part, "die") == 0) die();
    if (strcmp(part, "registers") == 0) registers();
    if (strcmp(part, "nameless") == 0) nameless();
    if (strcmp(part, "lacks") == 0) lacks(atoi(argv[2]));
    if (strcmp(part, "second") == 0 || strcmp(part, "call") == 0) call();
    MPI_Finalize();
    return 0;
}
