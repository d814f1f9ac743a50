/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that Tutti does. Each function first looks at its arguments: whether one is
 * wrong, which the host (the program's MPI) is to report, and whether Tutti can do the call. It
 * decides only by what MPI guarantees to be equal on all ranks: the communicator, the collective,
 * the root, the operation, and the type of a reduction. It never decides by addresses or layouts.
 * The function then asks for the team (tt_mpi_ready), which may leave the call to the host by its
 * shape (trial.h). If tt_mpi_ready returns true, Tutti does the call on all ranks, and errors are
 * errors of the call.
 *
 * The functions tt_mpi_do_... return false if the host does the call.
 */
#include <stdlib.h>

#include "mpi/take.h"

static bool wrong(struct tt_mpi_call *call)
{
    call->choice = TT_MPI_LEFT_WRONG;
    return false;
}

static bool is_root(struct tt_mpi_call *call, int root)
{
    return root == call->record->rank;
}

/* Returns whether Tutti does calls on this communicator, and the root is one of its ranks. False:
 * call->choice says why not. */
static bool begins(struct tt_mpi_call *call, int root)
{
    if (!tt_mpi_known(call)) return false;
    return (root >= 0 && root < call->record->members) || wrong(call);
}

static bool well(const struct tt_mpi_call *call)
{
    return call->status == TUTTI_OK && call->code == MPI_SUCCESS;
}

/* ---- Buffers ---- */

static void *element(const struct tt_mpi_side *side, int64_t i)
{
    return (char *)side->buffer + i * side->layout.extent;
}

/* Returns the data of a buffer as bytes without gaps: the buffer itself, or a packed copy. NULL:
 * there was an error, or the buffer is NULL. */
static const void *data_of(struct tt_mpi_call *call, const struct tt_mpi_side *side)
{
    if (side->layout.bytes) return side->buffer;
    void *room = tt_mpi_room(call, side->bytes);
    if (room) tt_mpi_collect(call, &side->layout, side->buffer, side->count, room);
    return room;
}

/* Returns where Tutti stores the data for a buffer: the buffer itself, or memory from which
 * `deliver` unpacks them into the buffer. */
static void *target_of(struct tt_mpi_call *call, const struct tt_mpi_side *side)
{
    return side->layout.bytes ? side->buffer : tt_mpi_room(call, side->bytes);
}

static void deliver(struct tt_mpi_call *call, const struct tt_mpi_side *side, const void *from)
{
    if (!side->layout.bytes && well(call))
        tt_mpi_deliver(call, &side->layout, from, side->count, side->buffer);
}

/* Returns the input, or a copy of it if it overlaps with the output. Tutti refuses buffers that
 * overlap. MPI forbids them, too, but Open MPI accepts them and computes what such a program
 * expects. */
static const void *apart(struct tt_mpi_call *call, const void *in, int64_t in_bytes,
                         const void *out, int64_t out_bytes)
{
    const char *a = in, *b = out;
    if (in_bytes == 0 || out_bytes == 0 || a + in_bytes <= b || b + out_bytes <= a) return in;
    void *copy = tt_mpi_room(call, in_bytes);
    if (copy) tt_mpi_collect(call, &tt_mpi_bytes, in, in_bytes, copy);
    return copy;
}

/* Returns whether the host refuses calls whose input and output have the same address. */
static bool refuses_same_buffer(void)
{
#ifdef MPICH
    return true;
#else
    return false;
#endif
}

/* Returns whether the host refuses a call because its input and its output, which have the same
 * type and count, are at the same address. Must not be called if types or counts differ: the data
 * may then lie apart, for example if both buffers are MPI_BOTTOM and the types have absolute
 * addresses. MPICH does such calls. If one rank left such a call to MPICH, the other ranks would
 * wait for this rank in Tutti. */
static bool same_buffer(const void *in, const void *out, int64_t bytes)
{
    return refuses_same_buffer() && in == out && bytes > 0;
}

/* Records the number of elements that Tutti's function gets, and the bytes of its buffers, for
 * later calls that are like this one (again.h). */
static void pass(struct tt_mpi_call *call, int64_t n, int64_t in_bytes, int64_t out_bytes)
{
    call->plain.n = n > 0 ? n : -1;
    call->plain.in_bytes = in_bytes;
    call->plain.out_bytes = out_bytes;
}

/* ---- Barrier and bcast ---- */

bool tt_mpi_do_barrier(struct tt_mpi_call *call)
{
    if (!tt_mpi_known(call) || !tt_mpi_ready(call, 0)) return false;
    if (well(call)) call->status = TT_MPI_RUN(call, barrier, call->team);
    call->plain = (struct tt_mpi_plain){0};
    return true;
}

bool tt_mpi_do_bcast(struct tt_mpi_call *call, void *buffer, int64_t count, MPI_Datatype type,
                     int root)
{
    struct tt_mpi_side side;
    if (!begins(call, root) || !tt_mpi_side_of(call, &side, buffer, count, type)) return false;
    if (buffer == MPI_IN_PLACE) return wrong(call);
    if (!tt_mpi_ready(call, side.bytes)) return false;
    const void *data = is_root(call, root) ? data_of(call, &side) : target_of(call, &side);
    if (!well(call)) return true;
    bool roots = is_root(call, root);
    pass(call, side.bytes, roots ? side.bytes : 0, roots ? 0 : side.bytes);
    call->status =
        TT_MPI_RUN(call, bcast, call->team, (void *)(uintptr_t)data, side.bytes, TUTTI_U8, root);
    if (!is_root(call, root)) deliver(call, &side, data);
    return true;
}

/* ---- Reductions ---- */

/* The buffers of a reduction: the elements that this rank contributes (`in`), and the elements that
 * it stores (`out`). */
struct reduced {
    struct tt_mpi_reduction r;
    struct tt_mpi_side in, out;
    int64_t bytes;    /* the bytes that each rank contributes: the same number on all ranks */
    const void *from; /* from: the input for Tutti; to: the output of Tutti */
    void *to;
    bool in_place;
};

/* Makes Tutti use a buffer where it lies, including gaps between values. The predefined pairs
 * (MPI_DOUBLE_INT) have gaps, and Tutti reduces them without packing. */
static void use_unpacked(struct tt_mpi_side *side)
{
    side->bytes = side->count * side->layout.extent;
    side->layout.bytes = true;
}

/* Reads the arguments of a reduction of n elements, of which this rank stores `stored`; -1: it
 * stores none. With MPI_IN_PLACE as sendbuf, the input is in recvbuf. */
static bool read_reduction(struct tt_mpi_call *call, struct reduced *d, const void *sendbuf,
                           void *recvbuf, int64_t n, int64_t stored, MPI_Datatype type, MPI_Op op)
{
    if (!tt_mpi_reduction_of(call, &d->r, type, op)) return false;
    d->in_place = sendbuf == MPI_IN_PLACE;
    if (!tt_mpi_side_with(call, &d->in, d->in_place ? recvbuf : sendbuf, n, &d->r.layout))
        return false;
    if (stored < 0) {
        if (d->in_place) return wrong(call);
    } else {
        if (recvbuf == MPI_IN_PLACE ||
            !tt_mpi_side_with(call, &d->out, recvbuf, stored, &d->r.layout))
            return wrong(call);
        if (!d->in_place && same_buffer(sendbuf, recvbuf, d->out.bytes)) return wrong(call);
    }
    d->bytes = d->in.bytes;
    call->user = d->r.user;
    if (!d->r.packed) {
        use_unpacked(&d->in);
        use_unpacked(&d->out);
    }
    return true;
}

/* Makes the operation ready for Tutti. A nonblocking or persistent call still needs an operation of
 * the program when this function's caller has returned. */
static bool bind(struct tt_mpi_call *call, struct tt_mpi_reduction *r)
{
    return r->user && call->later ? tt_mpi_hold_reduction(call, r) : tt_mpi_reduction_bind(call, r);
}

/* Makes the buffers and the operation ready for Tutti. `here`: whether this rank stores a result.
 * Returns false if there was an error. */
static bool prepare(struct tt_mpi_call *call, struct reduced *d, bool here)
{
    d->to = here ? target_of(call, &d->out) : NULL;
    if (!d->in_place) {
        d->from = data_of(call, &d->in);
        if (here && well(call)) d->from = apart(call, d->from, d->in.bytes, d->to, d->out.bytes);
    } else {
        d->from = TUTTI_IN_PLACE;
        if (well(call) && d->r.packed)
            tt_mpi_collect(call, &d->in.layout, d->in.buffer, d->in.count, d->to);
    }
    return well(call) && bind(call, &d->r);
}

/* Makes the buffers and the operation of a reduce_scatter ready for Tutti, as `prepare` does for
 * other reductions. In place, its input is longer than its output, and the rest of the buffer must
 * stay as it is, so the input is copied. */
static bool prepare_scattered(struct tt_mpi_call *call, struct reduced *d)
{
    if (!d->in_place) return prepare(call, d, true);
    void *copy = tt_mpi_room(call, d->in.bytes);
    d->from = copy;
    d->to = target_of(call, &d->out);
    if (!well(call)) return false;
    if (d->r.packed)
        tt_mpi_collect(call, &d->in.layout, d->in.buffer, d->in.count, copy);
    else
        tt_mpi_collect(call, &tt_mpi_bytes, d->in.buffer, d->in.bytes, copy);
    return well(call) && bind(call, &d->r);
}

/* Ends a reduction of n elements, or of n elements for each rank. `here`: whether this rank stores
 * a result. */
static bool finish(struct tt_mpi_call *call, struct reduced *d, int64_t n, bool here,
                   tutti_status status)
{
    call->status = status;
    if (!d->in_place) pass(call, n, d->in.bytes, here ? d->out.bytes : 0);
    call->plain.type = d->r.type;
    call->plain.op = d->r.op;
    if (!call->later) tt_mpi_reduction_release(&d->r);
    if (here && d->r.packed) deliver(call, &d->out, d->to);
    return true;
}

bool tt_mpi_do_reduce(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                      MPI_Datatype type, MPI_Op op, int root)
{
    struct reduced d = {0};
    if (!begins(call, root)) return false;
    bool here = is_root(call, root);
    if (!read_reduction(call, &d, sendbuf, recvbuf, count, here ? count : -1, type, op))
        return false;
    if (here && sendbuf == recvbuf && d.in.bytes > 0) return wrong(call);
    if (!tt_mpi_ready(call, d.bytes)) return false;
    if (!prepare(call, &d, here)) return true;
    return finish(
        call, &d, count, here,
        TT_MPI_RUN(call, reduce, call->team, d.from, d.to, count, d.r.type, d.r.op, root));
}

/* Does a scan or an allreduce: a reduction in which every rank stores as many elements as it
 * contributes. */
static bool reduce_everywhere(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                              int64_t count, MPI_Datatype type, MPI_Op op, bool scan)
{
    struct reduced d = {0};
    if (!tt_mpi_known(call) ||
        !read_reduction(call, &d, sendbuf, recvbuf, count, count, type, op) ||
        !tt_mpi_ready(call, d.bytes))
        return false;
    if (!prepare(call, &d, true)) return true;
    return finish(
        call, &d, count, true,
        scan ? TT_MPI_RUN(call, scan, call->team, d.from, d.to, count, d.r.type, d.r.op)
             : TT_MPI_RUN(call, allreduce, call->team, d.from, d.to, count, d.r.type, d.r.op));
}

bool tt_mpi_do_allreduce(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                         int64_t count, MPI_Datatype type, MPI_Op op)
{
    return reduce_everywhere(call, sendbuf, recvbuf, count, type, op, false);
}

bool tt_mpi_do_scan(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                    MPI_Datatype type, MPI_Op op)
{
    return reduce_everywhere(call, sendbuf, recvbuf, count, type, op, true);
}

/* Does an exscan, in which rank 0 stores nothing. */
bool tt_mpi_do_exscan(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf, int64_t count,
                      MPI_Datatype type, MPI_Op op)
{
    struct reduced d = {0};
    if (!tt_mpi_known(call)) return false;
    bool in_place = sendbuf == MPI_IN_PLACE, here = call->record->rank > 0 || in_place;
    if (same_buffer(sendbuf, recvbuf, count)) return wrong(call);
    if (!read_reduction(call, &d, sendbuf, recvbuf, count, here ? count : -1, type, op) ||
        !tt_mpi_ready(call, d.bytes))
        return false;
    if (!prepare(call, &d, here)) return true;
    /* MPICH refuses a call whose input and output have the same address, also on rank 0, where
     * exscan stores nothing. So rank 0 has to compare the two addresses in each call. A call that
     * is done at once because it repeats a kept one (again.h) would skip this: buffers are not
     * compared there if one of them is not used. Therefore rank 0 keeps no call in a program that
     * runs with MPICH. */
    bool compares = refuses_same_buffer() && call->record->rank == 0;
    return finish(call, &d, compares ? -1 : count, call->record->rank > 0,
                  TT_MPI_RUN(call, exscan, call->team, d.from, d.to, count, d.r.type, d.r.op));
}

bool tt_mpi_do_reduce_scatter_block(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                                    int64_t count, MPI_Datatype type, MPI_Op op)
{
    struct reduced d = {0};
    int64_t n;
    if (!tt_mpi_known(call)) return false;
    if (count < 0 || __builtin_mul_overflow(count, call->record->members, &n)) return wrong(call);
    if (!read_reduction(call, &d, sendbuf, recvbuf, n, count, type, op) ||
        !tt_mpi_ready(call, d.bytes))
        return false;
    if (!prepare_scattered(call, &d)) return true;
    return finish(
        call, &d, count, true,
        TT_MPI_RUN(call, reduce_scatter_block, call->team, d.from, d.to, count, d.r.type, d.r.op));
}

/* Stores the counts of all p ranks in n[], and returns their sum; -1: a count is negative, or the
 * sum too large. */
static int64_t read_counts(struct tt_mpi_counts list, int p, int64_t *n)
{
    int64_t sum = 0;
    for (int r = 0; r < p; r++) {
        n[r] = tt_mpi_at(list, r);
        if (n[r] < 0 || __builtin_add_overflow(sum, n[r], &sum)) return -1;
    }
    return sum;
}

bool tt_mpi_do_reduce_scatter(struct tt_mpi_call *call, const void *sendbuf, void *recvbuf,
                              struct tt_mpi_counts counts, MPI_Datatype type, MPI_Op op)
{
    struct reduced d = {0};
    if (!tt_mpi_known(call)) return false;
    if (!counts.at) return wrong(call);
    int p = call->record->members;
    int64_t *n = tt_mpi_room(call, p * (int64_t)sizeof *n);
    if (!n) return true;
    int64_t all = read_counts(counts, p, n);
    if (all < 0) return wrong(call);
    if (!read_reduction(call, &d, sendbuf, recvbuf, all, n[call->record->rank], type, op) ||
        !tt_mpi_ready(call, d.bytes))
        return false;
    if (!prepare_scattered(call, &d)) return true;
    return finish(call, &d, -1, true,
                  TT_MPI_RUN(call, reduce_scatter, call->team, d.from, d.to, n, d.r.type, d.r.op));
}

/* ---- Equal pieces ---- */

/* The two buffers of a call: one piece, and the pieces of all ranks. All pieces have `n` bytes. */
struct moved {
    struct tt_mpi_side one;    /* what this rank sends in a gather, or receives in a scatter */
    struct tt_mpi_side pieces; /* what the root receives in a gather, or sends in a scatter */
    int64_t n;
    bool in_place; /* this rank's piece is one of `pieces`, and `one` is not used */
};

/* Reads the arguments of the buffer that has a piece for each rank. */
static bool read_pieces(struct tt_mpi_call *call, struct moved *d, const void *buffer,
                        int64_t count, MPI_Datatype type)
{
    int64_t n;
    if (buffer == MPI_IN_PLACE || count < 0 ||
        __builtin_mul_overflow(count, call->record->members, &n))
        return wrong(call);
    if (!tt_mpi_side_of(call, &d->pieces, buffer, n, type)) return false;
    d->n = d->pieces.bytes / call->record->members;
    return true;
}

static bool read_one(struct tt_mpi_call *call, struct moved *d, const void *buffer, int64_t count,
                     MPI_Datatype type)
{
    return buffer == MPI_IN_PLACE ? wrong(call)
                                  : tt_mpi_side_of(call, &d->one, buffer, count, type);
}

/* Reads the arguments of both buffers, at a rank that uses both. */
static bool read_both(struct tt_mpi_call *call, struct moved *d, const void *one, int64_t count,
                      MPI_Datatype type, const void *pieces, int64_t counts, MPI_Datatype types)
{
    d->in_place = one == MPI_IN_PLACE;
    if (!read_pieces(call, d, pieces, counts, types)) return false;
    if (d->in_place) return true;
    if (!read_one(call, d, one, count, type)) return false;
    const char *own = (const char *)((uintptr_t)pieces + (uintptr_t)(call->record->rank * d->n));
    bool alike = count == counts && type == types;
    return (d->one.bytes == d->n && !(alike && same_buffer(one, own, d->n))) || wrong(call);
}

/* Returns this rank's input to a gather whose result is stored at `to`. */
static const void *gathered_from(struct tt_mpi_call *call, const struct moved *d, void *to)
{
    if (d->in_place) {
        const struct tt_mpi_side *s = &d->pieces;
        int64_t each = s->count / call->record->members, me = call->record->rank;
        if (!s->layout.bytes && well(call))
            tt_mpi_collect(call, &s->layout, element(s, me * each), each, (char *)to + me * d->n);
        return TUTTI_IN_PLACE;
    }
    const void *from = data_of(call, &d->one);
    return well(call) ? apart(call, from, d->n, to, d->pieces.bytes) : NULL;
}

bool tt_mpi_do_allgather(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                         MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                         MPI_Datatype recvtype)
{
    struct moved d = {0};
    if (!tt_mpi_known(call) ||
        !read_both(call, &d, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) ||
        !tt_mpi_ready(call, d.n))
        return false;
    void *to = target_of(call, &d.pieces);
    const void *from = well(call) ? gathered_from(call, &d, to) : NULL;
    if (!well(call)) return true;
    if (!d.in_place) pass(call, d.n, d.n, d.pieces.bytes);
    call->status = TT_MPI_RUN(call, allgather, call->team, from, to, d.n, TUTTI_U8);
    deliver(call, &d.pieces, to);
    return true;
}

bool tt_mpi_do_gather(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                      MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                      MPI_Datatype recvtype, int root)
{
    struct moved d = {0};
    if (!begins(call, root)) return false;
    bool here = is_root(call, root);
    if (here ? !read_both(call, &d, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)
             : !read_one(call, &d, sendbuf, sendcount, sendtype))
        return false;
    if (!tt_mpi_ready(call, here ? d.n : d.one.bytes)) return false;
    void *to = here ? target_of(call, &d.pieces) : NULL;
    const void *from = !well(call) ? NULL
                       : here      ? gathered_from(call, &d, to)
                                   : data_of(call, &d.one);
    if (!well(call)) return true;
    int64_t n = here ? d.n : d.one.bytes;
    if (!d.in_place) pass(call, n, n, here ? d.pieces.bytes : 0);
    call->status = TT_MPI_RUN(call, gather, call->team, from, to, n, TUTTI_U8, root);
    if (here) deliver(call, &d.pieces, to);
    return true;
}

/* Does a scatter at its root. In place, the root's own piece stays where it is, and Tutti gets the
 * buffer of the pieces as its output. */
static void scatter_at_root(struct tt_mpi_call *call, const struct moved *d, int root)
{
    const void *from = data_of(call, &d->pieces);
    void *to = d->in_place ? NULL : target_of(call, &d->one);
    if (well(call) && !d->in_place) from = apart(call, from, d->pieces.bytes, to, d->n);
    if (!well(call)) return;
    if (d->in_place) {
        to = (void *)(uintptr_t)from;
        from = TUTTI_IN_PLACE;
    }
    if (!d->in_place) pass(call, d->n, d->pieces.bytes, d->n);
    call->status = TT_MPI_RUN(call, scatter, call->team, from, to, d->n, TUTTI_U8, root);
    if (!d->in_place) deliver(call, &d->one, to);
}

bool tt_mpi_do_scatter(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                       MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                       MPI_Datatype recvtype, int root)
{
    struct moved d = {0};
    if (!begins(call, root)) return false;
    bool here = is_root(call, root);
    if (here ? !read_both(call, &d, recvbuf, recvcount, recvtype, sendbuf, sendcount, sendtype)
             : !read_one(call, &d, recvbuf, recvcount, recvtype))
        return false;
    if (!tt_mpi_ready(call, here ? d.n : d.one.bytes)) return false;
    if (here) {
        scatter_at_root(call, &d, root);
        return true;
    }
    void *to = target_of(call, &d.one);
    if (!well(call)) return true;
    pass(call, d.one.bytes, 0, d.one.bytes);
    call->status = TT_MPI_RUN(call, scatter, call->team, NULL, to, d.one.bytes, TUTTI_U8, root);
    deliver(call, &d.one, to);
    return true;
}

bool tt_mpi_do_alltoall(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                        MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                        MPI_Datatype recvtype)
{
    struct moved in = {0}, out = {0};
    if (!tt_mpi_known(call) || !read_pieces(call, &out, recvbuf, recvcount, recvtype)) return false;
    bool in_place = sendbuf == MPI_IN_PLACE;
    if (!in_place && !read_pieces(call, &in, sendbuf, sendcount, sendtype)) return false;
    bool alike = sendcount == recvcount && sendtype == recvtype;
    if (!in_place && (in.n != out.n || (alike && same_buffer(sendbuf, recvbuf, out.n))))
        return wrong(call);
    if (!tt_mpi_ready(call, out.n)) return false;
    void *to = target_of(call, &out.pieces);
    const void *from = TUTTI_IN_PLACE;
    if (!in_place || !out.pieces.layout.bytes)
        from = data_of(call, in_place ? &out.pieces : &in.pieces);
    if (well(call) && !in_place) from = apart(call, from, in.pieces.bytes, to, out.pieces.bytes);
    if (!well(call)) return true;
    if (!in_place) pass(call, out.n, in.pieces.bytes, out.pieces.bytes);
    call->status = TT_MPI_RUN(call, alltoall, call->team, from, to, out.n, TUTTI_U8);
    deliver(call, &out.pieces, to);
    return true;
}
