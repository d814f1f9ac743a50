/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd PART: does unusual things that MPI allows, or that Open MPI and MPICH accept. With Tutti they
 * must have the same effects as without. Each rank prints how many results were wrong, which odd.sh
 * compares.
 */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MANY = 200, TRIES = 12 };
static int me, p, wrong, refused;

/* Calls collectives on a communicator, and counts wrong results. */
static void use(MPI_Comm comm)
{
    int rank, n;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < MANY; i++) {
        int sum, word = rank == n - 1 ? i : -1;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Bcast(&word, 1, MPI_INT, n - 1, comm);
        wrong += sum != n * (n - 1) / 2 || word != i;
    }
}

/* ---- A delete function of an attribute does collectives, while its communicator is freed ---- */

/* Calls collectives on the world. The last rank calls this function in `deletes`, and all other
 * ranks call it in the delete function of an attribute. */
static void meet(void)
{
    int one = 1, sum;
    for (int i = 0; i < TRIES; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != p;
    }
}

static int delete_it(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    meet();
    for (int i = 0; i < TRIES; i++) {
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    return MPI_SUCCESS;
}

/* Frees a communicator of all ranks but one, with an attribute whose delete function is delete_it.
 * The next communicator, of all ranks, gets the handle that was freed, but only on some ranks. */
static void deletes(void)
{
    int key;
    MPI_Comm part, next;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_it, &key, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, me < p - 1 ? 0 : MPI_UNDEFINED, me, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_set_attr(part, key, NULL);
        MPI_Comm_free(&part);
    } else {
        meet();
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &next);
    use(next);
    MPI_Comm_free(&next);
    MPI_Comm_free_keyval(&key);
}

/* ---- An error handler does not return ---- */

static jmp_buf before;
static int jumped;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    jumped++;
    longjmp(before, 1);
}

static void jumps(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int word = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    if (me == 0 && !setjmp(before)) MPI_Bcast(&word, 1, MPI_INT, -7, MPI_COMM_WORLD);
    if (me == 0 && !setjmp(before)) MPI_Comm_free(&world);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    use(MPI_COMM_WORLD);
}

/* ---- One rank makes calls with wrong handles, and gets errors. MPICH gives one of these handles,
 * that of a freed communicator, to the next communicator. ---- */

/* Makes wrong calls at the last rank, which return errors, or leave by longjmp. Meanwhile all other
 * ranks wait in a barrier. */
static void use_wrong(void)
{
    int data[2] = {0}, out[2];
    MPI_Comm comm, freed;
    MPI_Datatype no_type = (MPI_Datatype)(intptr_t)MPI_COMM_WORLD;
    MPI_Op no_op = (MPI_Op)(intptr_t)MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    freed = comm;
    use(comm);
    MPI_Comm_free(&comm);
    if (me == p - 1 && !setjmp(before)) refused += MPI_Barrier(freed) != MPI_SUCCESS;
    if (me == p - 1 && !setjmp(before))
        refused += MPI_Bcast(data, 1, no_type, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    if (me == p - 1 && !setjmp(before))
        refused += MPI_Allreduce(data, out, 2, MPI_INT, no_op, MPI_COMM_WORLD) != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm);
    use(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
}

static void handles(void)
{
    MPI_Errhandler handler;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use_wrong();
    printf("refused %d\n", refused);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    use_wrong();
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    printf("jumped %d\n", jumped);
}

/* ---- A type that is committed too late ---- */

static void late(void)
{
    int data[6] = {0}, class;
    MPI_Datatype type;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    for (int i = 0; i < TRIES; i++) {
        MPI_Error_class(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD), &class);
        wrong += class != MPI_ERR_TYPE;
    }
    use(MPI_COMM_WORLD);
    MPI_Type_commit(&type);
    for (int i = 0; i < TRIES; i++) {
        data[0] = data[3] = me == 0 ? i : -1;
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
        wrong += data[0] != i || data[3] != i || data[1] != 0;
    }
    MPI_Type_free(&type);
}

/* ---- MPICH refuses one buffer for input and output, also at a rank that gets no output ---- */

static void same(void)
{
    int data = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < TRIES; i++)
        refused += MPI_Exscan(&data, &data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    printf("refused %d\n", refused);
    use(MPI_COMM_WORLD);
}

/* ---- One rank passes one address for input and output, and its data lie apart ---- */

enum { MOST = 8, APART = 64 };

/* A buffer of ints that begins `offset` bytes after `at`. If `offset` is not 0, the type has this
 * offset, and otherwise the buffer is a plain one. */
struct placed {
    void *at;
    MPI_Datatype type;
};

static struct placed buffer_at(void *at, MPI_Aint offset)
{
    int one = 1;
    struct placed b = {at, MPI_INT};
    if (offset) {
        MPI_Datatype type;
        MPI_Type_create_hindexed(1, &one, &offset, MPI_INT, &type);
        MPI_Type_create_resized(type, 0, sizeof(int), &b.type);
        MPI_Type_free(&type);
        MPI_Type_commit(&b.type);
    }
    return b;
}

static void free_buffer(struct placed *b)
{
    if (b->type != MPI_INT) MPI_Type_free(&b->type);
}

/* Calls collectives with equal pieces, from s to d, whose elements are at `in` and `out`. */
static void move(struct placed s, struct placed d, int *in, int *out, int i)
{
    for (int r = 0; r < p; r++) in[r] = 100 * me + r + i;
    MPI_Allgather(s.at, 1, s.type, d.at, 1, d.type, MPI_COMM_WORLD);
    for (int r = 0; r < p; r++) wrong += out[r] != 100 * r + i;
    MPI_Alltoall(s.at, 1, s.type, d.at, 1, d.type, MPI_COMM_WORLD);
    for (int r = 0; r < p; r++) wrong += out[r] != 100 * r + me + i;
    MPI_Gather(s.at, 1, s.type, d.at, 1, d.type, 0, MPI_COMM_WORLD);
    for (int r = 0; me == 0 && r < p; r++) wrong += out[r] != 100 * r + i;
    MPI_Scatter(s.at, 1, s.type, d.at, 1, d.type, 0, MPI_COMM_WORLD);
    wrong += out[0] != me + i;
    in[0] = me == 0 ? i : -1;
    MPI_Bcast(s.at, 1, s.type, 0, MPI_COMM_WORLD);
    wrong += in[0] != i;
}

/* Moves data between two buffers. At rank 0, if `bottom` is set, the types have absolute addresses
 * and both buffers are MPI_BOTTOM; otherwise one type has an offset. */
static void apart(int bottom)
{
    int data[2 * APART];
    MPI_Aint in = 0, out = 0;
    MPI_Get_address(data, &in);
    MPI_Get_address(data + APART, &out);
    for (int i = 0; i < TRIES; i++) {
        struct placed s = buffer_at(data, 0), d = buffer_at(data + APART, 0);
        if (me == 0) s = bottom ? buffer_at(MPI_BOTTOM, in) : buffer_at(data, 0);
        if (me == 0) d = bottom ? buffer_at(MPI_BOTTOM, out) : buffer_at(data, out - in);
        move(s, d, data, data + APART, i);
        free_buffer(&s);
        free_buffer(&d);
    }
}

/* Makes calls in which, at the root or at rank 0, the buffer of all pieces is MPI_BOTTOM, and the
 * displacements are addresses. The memory is at such a low address that displacements of type int
 * suffice. If the system gives no such memory, does nothing on all ranks. */
static void addresses(void)
{
    void *hint = (void *)(uintptr_t)0x10000000;
    int *low = mmap(hint, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fits = low != MAP_FAILED && (uintptr_t)low / sizeof *low < INT_MAX - MOST, all_fit;
    MPI_Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int i = 0; all_fit && i < TRIES; i++) {
        int ones[MOST], displs[MOST], own = 100 * me + i, got = -1;
        int first = me == 0 ? (int)((uintptr_t)low / sizeof *low) : 0;
        int *base = me == 0 ? MPI_BOTTOM : low;
        for (int r = 0; r < p; r++) ones[r] = 1, displs[r] = first + r;
        memset(low, -1, MOST * sizeof *low);
        MPI_Gatherv(&own, 1, MPI_INT, base, ones, displs, MPI_INT, 0, MPI_COMM_WORLD);
        for (int r = 0; me == 0 && r < p; r++) wrong += low[r] != 100 * r + i;
        MPI_Allgatherv(&own, 1, MPI_INT, base, ones, displs, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < p; r++) wrong += low[r] != 100 * r + i;
        MPI_Scatterv(base, ones, displs, MPI_INT, &got, 1, MPI_INT, 0, MPI_COMM_WORLD);
        wrong += got != 100 * me + i;
    }
}

static void bottom(void)
{
    apart(1);
    apart(0);
    addresses();
}

/* ---- Calls have no elements, and a type that is not committed ---- */

/* Prints the class of the error of a call. */
static void show(const char *name, int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    printf("%s: class %d\n", name, class);
}

static void uncommitted(void)
{
    int in[MOST], out[MOST], none[MOST] = {0}, code;
    MPI_Datatype gaps, row, types[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_contiguous(2, MPI_INT, &row);
    types[0] = gaps, types[1] = row;
    for (int i = 0; i < 2; i++) {
        MPI_Datatype t = types[i];
        show("bcast", MPI_Bcast(in, 0, t, 0, MPI_COMM_WORLD));
        show("gather", MPI_Gather(in, 0, t, out, 0, t, 0, MPI_COMM_WORLD));
        show("scatter", MPI_Scatter(in, 0, t, out, 0, t, 0, MPI_COMM_WORLD));
        show("allgather", MPI_Allgather(in, 0, t, out, 0, t, MPI_COMM_WORLD));
        show("alltoall", MPI_Alltoall(in, 0, t, out, 0, t, MPI_COMM_WORLD));
        show("gatherv", MPI_Gatherv(in, 0, t, out, none, none, t, 0, MPI_COMM_WORLD));
        show("scatterv", MPI_Scatterv(in, none, none, t, out, 0, t, 0, MPI_COMM_WORLD));
        code = MPI_Allgatherv(in, 0, t, out, none, none, MPI_INT, MPI_COMM_WORLD);
        show("allgatherv", code);
        code = MPI_Alltoallv(in, none, none, t, out, none, none, t, MPI_COMM_WORLD);
        show("alltoallv", code);
        MPI_Type_free(&types[i]);
    }
    use(MPI_COMM_WORLD);
}

/* ---- The world cannot be freed ---- */

static void frees(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use(MPI_COMM_WORLD);
    if (me == 0) wrong += MPI_Comm_free(&world) == MPI_SUCCESS;
    use(MPI_COMM_WORLD);
}

/* ---- The program closes its standard input and output and opens them again ---- */

/* Returns whether a process has a descriptor of a process (pidfd). */
static int watches(int pid)
{
    char path[64], file[64];
    for (int fd = 0; fd < 256; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        ssize_t n = readlink(path, file, sizeof file - 1);
        file[n > 0 ? n : 0] = '\0';
        if (strstr(file, "pidfd")) return 1;
    }
    return 0;
}

/* The last rank waits in a barrier of Tutti for rank 0 until it watches the process of rank 0.
 * Meanwhile the numbers of the closed descriptors must stay free. If the system has no pidfds, rank
 * 0 comes after some seconds. */
static void reopens(void)
{
    int pid = getpid();
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    use(MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT, p - 1, MPI_COMM_WORLD);
    for (int i = 0; me == 0 && i < 2000 && !watches(pid); i++) usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += open("/dev/null", O_RDWR) != STDIN_FILENO;
    wrong += dup(STDIN_FILENO) != STDOUT_FILENO;
    use(MPI_COMM_WORLD);
    if (wrong) MPI_Abort(MPI_COMM_WORLD, 1); /* nobody sees what this rank prints */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"deletes", deletes}, {"jumps", jumps},     {"late", late},
                 {"same", same},       {"bottom", bottom},   {"frees", frees},
                 {"handles", handles}, {"reopens", reopens}, {"uncommitted", uncommitted}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) parts[i].run();
    printf("wrong %d\n", wrong);
    MPI_Finalize();
    return 0;
}
