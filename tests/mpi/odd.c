/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd PART: does unusual things that MPI allows, or that Open MPI and MPICH accept. With Tutti they
 * must have the same effects as without. Each rank prints how many results were wrong, which odd.sh
 * compares.
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 200, TRIES = 12 };
static int me, p, wrong;

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

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
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
    int data = 1, refused = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < TRIES; i++)
        refused += MPI_Exscan(&data, &data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    printf("refused %d\n", refused);
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

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"deletes", deletes}, {"jumps", jumps}, {"late", late}, {"same", same}, {"frees", frees}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) parts[i].run();
    printf("wrong %d\n", wrong);
    MPI_Finalize();
    return 0;
}
