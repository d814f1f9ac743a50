/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeats collectives, so that Tutti recognises them by the last one that it did (again.h), and
 * changes one thing after the other in between: a count, a type, an operation, the root, a buffer,
 * the communicator. Each rank prints how many results were wrong, which odd.sh compares.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 500, MOST = 4, RANKS = 8 };
static int me, p, wrong;

static void expect(int value, int wanted)
{
    wrong += value != wanted;
}

/* Makes MANY allreduces that differ only in their numbers: element k of call i is the sum of rank +
 * i + k over the ranks. */
static void sums(MPI_Comm comm, int count)
{
    int rank, n, in[MOST], out[MOST];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < count; k++) in[k] = rank + i + k, out[k] = -1;
        MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
        for (int k = 0; k < count; k++) expect(out[k], n * (n - 1) / 2 + n * (i + k));
    }
}

/* Makes calls each of which differs from the call before in its type, operation, count or buffers.
 */
static void differs(void)
{
    int one = 1, most = me, all, both[2] = {me, me};
    float f = (float)me, sum;
    sums(MPI_COMM_WORLD, 1);
    MPI_Allreduce(&f, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect((int)sum, p * (p - 1) / 2);
    MPI_Allreduce(&most, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    expect(all, p - 1);
    sums(MPI_COMM_WORLD, 2);
    MPI_Allreduce(both, both + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(both[1], p * (p - 1) / 2);
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(one, p);
    sums(MPI_COMM_WORLD, 1);
}

/* Makes each rooted collective many times with this root. The program calls this function with one
 * root and then with another one. */
static void roots(int root)
{
    int all[RANKS], piece, word, sum;
    for (int i = 0; i < MANY; i++) {
        piece = me + i;
        memset(all, -1, sizeof all);
        MPI_Gather(&piece, 1, MPI_INT, me == root ? all : NULL, 1, MPI_INT, root, MPI_COMM_WORLD);
        for (int r = 0; r < p; r++) expect(all[r], me == root ? r + i : -1);
        for (int r = 0; r < p; r++) all[r] = 2 * r + i;
        MPI_Scatter(me == root ? all : NULL, 1, MPI_INT, &piece, 1, MPI_INT, root, MPI_COMM_WORLD);
        expect(piece, 2 * me + i);
        word = me == root ? i : -1;
        MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
        expect(word, i);
        sum = -1;
        MPI_Reduce(&me, me == root ? &sum : NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        expect(sum, me == root ? p * (p - 1) / 2 : -1);
    }
    all[me] = me;
    MPI_Gather(me == root ? MPI_IN_PLACE : &all[me], 1, MPI_INT, all, 1, MPI_INT, root,
               MPI_COMM_WORLD);
    for (int r = 0; me == root && r < p; r++) expect(all[r], r);
    MPI_Scatter(all, 1, MPI_INT, me == root ? MPI_IN_PLACE : &piece, 1, MPI_INT, root,
                MPI_COMM_WORLD);
    if (me != root) expect(piece, me);
}

/* Makes collectives without a root and without lists of counts many times. */
static void others(void)
{
    int in[RANKS], out[RANKS], last;
    for (int i = 0; i < MANY; i++) {
        for (int r = 0; r < p; r++) in[r] = me * p + r + i;
        MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < p; r++) expect(out[r], r * p + me + i);
        MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < p; r++) expect(out[r], r * p + i);
        MPI_Scan(&me, &last, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(last, me * (me + 1) / 2);
        last = -1;
        MPI_Exscan(&me, &last, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(last, me > 0 ? me * (me - 1) / 2 : -1);
        MPI_Reduce_scatter_block(in, &last, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(last, p * (p - 1) / 2 * p + p * (me + i));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Pieces with lists: rank r has count[r] numbers, which begin displ[r] numbers after (or before)
 * the middle of the memory. The numbers that belong to no piece must keep their value. */
enum { NUMBERS = 64 };
struct listed {
    int count[RANKS], displ[RANKS], memory[NUMBERS];
};

static int *middle_of(struct listed *s)
{
    return s->memory + NUMBERS / 2;
}

static struct listed listed_at(int first, int step, int begin)
{
    struct listed s;
    for (int r = 0; r < p; r++) s.count[r] = 1 + (r + first) % 2, s.displ[r] = begin + step * r;
    return s;
}

/* Sets all numbers of the memory to -1. If `pieces`, then sets number k of the piece of rank r to
 * 100 * i + 10 * r + k, where i is the number of a call. */
static void fill(struct listed *s, int i, int pieces)
{
    memset(s->memory, -1, sizeof s->memory);
    for (int r = 0; pieces && r < p; r++)
        for (int k = 0; k < s->count[r]; k++) middle_of(s)[s->displ[r] + k] = 100 * i + 10 * r + k;
}

/* Checks that the memory holds what `fill` stores with the same i and `pieces`. */
static void compare(const struct listed *s, int i, int pieces)
{
    struct listed wanted = *s;
    fill(&wanted, i, pieces);
    expect(memcmp(s->memory, wanted.memory, sizeof s->memory), 0);
}

/* Calls alltoallv `times` times with the counts and displacements of `in` and `out`. All numbers
 * that rank a sends to rank b are 10 * a + b, plus 100 for each call before. */
static void exchange(struct listed in, struct listed out, int times)
{
    for (int i = 0; i < times; i++) {
        struct listed wanted = out;
        fill(&wanted, i, 0);
        fill(&out, i, 0);
        for (int r = 0; r < p; r++)
            for (int k = 0; k < in.count[r]; k++) {
                middle_of(&in)[in.displ[r] + k] = 100 * i + 10 * me + r;
                middle_of(&wanted)[out.displ[r] + k] = 100 * i + 10 * r + me;
            }
        MPI_Alltoallv(middle_of(&in), in.count, in.displ, MPI_INT, middle_of(&out), out.count,
                      out.displ, MPI_INT, MPI_COMM_WORLD);
        expect(memcmp(out.memory, wanted.memory, sizeof out.memory), 0);
    }
}

/* Makes exchanges in which the displacements of the output, those of the input, or the counts
 * change and then change back. The pieces lie with and without gaps between them, and partly before
 * the address that is passed as the buffer. */
static void exchanges(void)
{
    struct listed first = listed_at(me, 3, 0);
    exchange(first, first, MANY);
    exchange(first, listed_at(me, 3, 1), 3);
    exchange(listed_at(me, 3, 1), first, 3);
    exchange(listed_at(me + 1, 3, 0), listed_at(me + 1, 3, 0), 3);
    exchange(first, listed_at(me, 2, -5), 3);
    exchange(listed_at(me, 2, -5), first, 3);
    exchange(first, first, MANY);
}

/* Makes exchanges in which each rank but rank 0 sends two numbers to rank 0, and rank 0 sends none.
 * Then makes an exchange in place, in which rank 0 also sends two numbers to each other rank. MPI
 * ignores the input counts and displacements of a call in place, so the call passes those of the
 * exchanges before it. */
static void in_place_of_none(void)
{
    int sends[RANKS], gets[RANKS], displs[RANKS], in[2 * RANKS], out[2 * RANKS];
    for (int i = 0; i <= MANY; i++) {
        for (int r = 0; r < p; r++) {
            sends[r] = me != 0 && r == 0 ? 2 : 0;
            gets[r] = me == 0 && r != 0 ? 2 : 0;
            displs[r] = 2 * r;
        }
        for (int k = 0; k < 2 * p; k++) in[k] = out[k] = 100 * me + k;
        if (i == MANY) break;
        MPI_Alltoallv(in, sends, displs, MPI_INT, out, gets, displs, MPI_INT, MPI_COMM_WORLD);
        for (int k = 0; k < 2 * p; k++)
            expect(out[k], me == 0 && k > 1 ? 100 * (k / 2) + k % 2 : 100 * me + k);
    }
    for (int r = 0; r < p; r++) gets[r] = (me == 0) != (r == 0) ? 2 : 0;
    MPI_Alltoallv(MPI_IN_PLACE, sends, displs, MPI_INT, out, gets, displs, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < 2 * p; k++) {
        int gotten = (me == 0) != (k < 2);
        expect(out[k], gotten ? 100 * (k / 2) + (me == 0 ? k % 2 : 2 * me + k) : 100 * me + k);
    }
}

/* Calls gatherv, scatterv and allgatherv `times` times with the counts and displacements of `s`. */
static void with_lists(struct listed s, int root, int times)
{
    int own[2], n = s.count[me], *all = middle_of(&s);
    for (int i = 0; i < times; i++) {
        for (int k = 0; k < 2; k++) own[k] = 100 * i + 10 * me + k;
        fill(&s, i, 0);
        MPI_Gatherv(own, n, MPI_INT, me == root ? all : NULL, me == root ? s.count : NULL,
                    me == root ? s.displ : NULL, MPI_INT, root, MPI_COMM_WORLD);
        compare(&s, i, me == root);
        fill(&s, i, 0);
        MPI_Allgatherv(own, n, MPI_INT, all, s.count, s.displ, MPI_INT, MPI_COMM_WORLD);
        compare(&s, i, 1);
        own[0] = own[1] = -1;
        fill(&s, i + 1, 1);
        MPI_Scatterv(me == root ? all : NULL, me == root ? s.count : NULL,
                     me == root ? s.displ : NULL, MPI_INT, own, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int k = 0; k < 2; k++) expect(own[k], k < n ? 100 * (i + 1) + 10 * me + k : -1);
    }
}

/* Makes collectives with lists in which the counts, the displacements or the root change, and then
 * change back. The pieces lie with and without gaps between them, in descending order, and partly
 * before the address that is passed as the buffer. One call is in place. */
static void lists(int root)
{
    struct listed first = listed_at(0, 3, 0), other = first, in_place = first;
    with_lists(first, root, MANY);
    other.count[(root + 1) % p] = 3 - other.count[(root + 1) % p];
    with_lists(other, root, 3);
    with_lists(first, root, 3);
    with_lists(listed_at(1, 3, 0), root, 3);
    with_lists(listed_at(1, 3, 1), root, 3);
    with_lists(listed_at(0, -3, 3 * p), root, 3);
    with_lists(listed_at(0, 2, -5), root, 3);
    with_lists(first, root, MANY);
    with_lists(first, p - 1 - root, 3);
    fill(&in_place, 7, 1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, middle_of(&in_place), in_place.count, in_place.displ,
                   MPI_INT, MPI_COMM_WORLD);
    compare(&in_place, 7, 1);
    with_lists(first, root, 3);
}

/* Sends two of three numbers, by turns with a type without a gap and with a type that has one. Each
 * type is freed, so the next one may get its handle. */
static void types(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Datatype type;
        int words[3] = {me, me, me}, gap = i % 2;
        if (gap)
            MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        else
            MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(words, 1, type, p - 1, MPI_COMM_WORLD);
        MPI_Type_free(&type);
        expect(words[0], p - 1);
        expect(words[1], gap ? me : p - 1);
        expect(words[2], gap ? p - 1 : me);
    }
}

/* Moves n pairs of a predefined type with a gap (MPI_DOUBLE_INT), which Tutti packs. The program
 * calls this function with few pairs, and with so many that the packed bytes fit into no buffer of
 * a fixed size. */
static void pairs(int n)
{
    enum { PAIRS = 400 };
    static struct pair {
        double value;
        int index;
    } one[PAIRS], all[RANKS * PAIRS], got[RANKS * PAIRS];
    int counts[RANKS], displs[RANKS];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < n; k++) one[k] = (struct pair){me + i + k, me};
        for (int k = 0; k < p * n; k++) all[k] = (struct pair){me + i, k}, got[k].index = -1;
        MPI_Allgather(one, n, MPI_DOUBLE_INT, got, n, MPI_DOUBLE_INT, MPI_COMM_WORLD);
        for (int k = 0; k < p * n; k++)
            expect(got[k].index == k / n && got[k].value == k / n + i + k % n, 1);
        MPI_Gather(one, n, MPI_DOUBLE_INT, got, n, MPI_DOUBLE_INT, i % 2, MPI_COMM_WORLD);
        for (int k = 0; me == i % 2 && k < p * n; k++) expect(got[k].index, k / n);
        MPI_Alltoall(all, n, MPI_DOUBLE_INT, got, n, MPI_DOUBLE_INT, MPI_COMM_WORLD);
        for (int k = 0; k < p * n; k++)
            expect(got[k].index == me * n + k % n && got[k].value == k / n + i, 1);
        MPI_Scatter(all, n, MPI_DOUBLE_INT, got, n, MPI_DOUBLE_INT, 0, MPI_COMM_WORLD);
        for (int k = 0; k < n; k++) expect(got[k].index == me * n + k && got[k].value == i, 1);
        for (int r = 0; r < p; r++) counts[r] = n, displs[r] = r * n;
        MPI_Scatterv(all, counts, displs, MPI_DOUBLE_INT, got, n, MPI_DOUBLE_INT, 0,
                     MPI_COMM_WORLD);
        for (int k = 0; k < n; k++) expect(got[k].index == me * n + k && got[k].value == i, 1);
        MPI_Allgatherv(one, n, MPI_DOUBLE_INT, got, counts, displs, MPI_DOUBLE_INT, MPI_COMM_WORLD);
        for (int k = 0; k < p * n; k++)
            expect(got[k].index == k / n && got[k].value == k / n + i + k % n, 1);
        MPI_Bcast(one, n, MPI_DOUBLE_INT, 1, MPI_COMM_WORLD);
        for (int k = 0; k < n; k++) expect(one[k].index == 1 && one[k].value == 1 + i + k, 1);
    }
}

/* Makes and frees communicators, so that the next one may get the handle of the last one. The order
 * of the ranks alternates. */
static void communicators(void)
{
    for (int i = 0; i < 6; i++) {
        MPI_Comm comm;
        int rank, word;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -me : me, &comm);
        MPI_Comm_rank(comm, &rank);
        for (int k = 0; k < MANY; k++) {
            word = rank == 0 ? k : -1;
            MPI_Bcast(&word, 1, MPI_INT, 0, comm);
            expect(word, k);
        }
        sums(comm, 1);
        MPI_Comm_free(&comm);
    }
}

/* Makes blocking calls while a nonblocking one is in flight, and while a buffer for messages is
 * attached. */
static void around(void)
{
    char buffer[1000 + MPI_BSEND_OVERHEAD], *back;
    int size, word = me == 0 ? 7 : -1, got = -1;
    MPI_Request request;
    sums(MPI_COMM_WORLD, 1);
    MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    sums(MPI_COMM_WORLD, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(word, 7);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(&me, 1, MPI_INT, (me + 1) % p, 1, MPI_COMM_WORLD);
    sums(MPI_COMM_WORLD, 1);
    MPI_Recv(&got, 1, MPI_INT, (me + p - 1) % p, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got, (me + p - 1) % p);
    MPI_Buffer_detach(&back, &size);
    sums(MPI_COMM_WORLD, 1);
}

/* Passes a communicator handle that was never set to the first collective of the program: the host
 * MPI must report the error. */
static void no_communicator(void)
{
    int one = 1, sum;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, (MPI_Comm)0) == MPI_SUCCESS, 0);
}

/* Passes wrong arguments after right ones: the host MPI must report them. Over MPICH only equal
 * buffers are tried, since Debian's MPICH does not check other arguments, and crashes. */
static void mistakes(void)
{
    int one = 1, sum;
    sums(MPI_COMM_WORLD, 1);
#ifdef MPICH
    expect(MPI_Exscan(&one, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, 0);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, p);
#else
    expect(MPI_Allreduce(&one, &sum, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, 0);
    expect(MPI_Allreduce(&one, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
           0);
    expect(MPI_Bcast(&one, 1, MPI_INT, p, MPI_COMM_WORLD) == MPI_SUCCESS, 0);
#endif
    sums(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    no_communicator();
    differs();
    pairs(5);
    pairs(400);
    roots(0);
    roots(p - 1);
    roots(0);
    others();
    lists(0);
    lists(p - 1);
    exchanges();
    in_place_of_none();
    types();
    communicators();
    around();
    mistakes();
    printf("wrong %d\n", wrong);
    MPI_Finalize();
    return 0;
}
