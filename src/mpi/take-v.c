/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives in which each rank's piece has its own length: allgatherv, gatherv, scatterv,
 * alltoallv and alltoallw. For Tutti the pieces are bytes. If no type of a buffer's pieces has
 * gaps, the pieces are used where they are; otherwise they are packed, one after the other. As the
 * ranks do not know each other's counts, all calls of gatherv on a communicator have one shape
 * (trial.h), however long the pieces are. The same holds for scatterv, alltoallv and alltoallw.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/take-v.h"

/* A buffer of a call with a piece for each rank. */
struct lengths {
    char *buffer;
    struct tt_mpi_layout *layout; /* the layout of each piece */
    int64_t *count;               /* elements of each piece */
    int64_t *place;               /* where each piece begins in `buffer`, in bytes */
    /* for Tutti: the bytes of each piece, and where it begins in the memory that Tutti uses */
    int64_t *n, *at;
    int64_t all;  /* bytes of all pieces */
    bool lie;     /* Tutti uses the pieces where they are in `buffer` */
    bool shifted; /* `buffer` is not the program's buffer, but where the first piece begins */
};

static bool wrong(struct tt_mpi_call *call)
{
    call->choice = TT_MPI_LEFT_WRONG;
    return false;
}

/* Returns whether Tutti may do this call of a rooted collective. False: call->choice says why not.
 */
static bool begins(struct tt_mpi_call *call, int root)
{
    if (!tt_mpi_known(call) || tt_mpi_lost(call)) return false;
    return (root >= 0 && root < call->record->members) || wrong(call);
}

static bool well(const struct tt_mpi_call *call)
{
    return call->status == TUTTI_OK && call->code == MPI_SUCCESS;
}

/* ---- Reading the arguments ---- */

static bool allocate(struct tt_mpi_call *call, struct lengths *s)
{
    int64_t p = call->record->members;
    bool copies = call->copies;
    s->count = tt_mpi_room(call, 4 * p * (int64_t)sizeof *s->count);
    s->layout = tt_mpi_room(call, p * (int64_t)sizeof *s->layout);
    /* tt_mpi_room has set `copies`, which says that data are copied or packed: these are no data */
    call->copies = copies;
    if (!s->count || !s->layout) return false;
    s->place = s->count + p;
    s->n = s->place + p;
    s->at = s->n + p;
    return true;
}

/* If a displacement is negative, or the buffer is MPI_BOTTOM, moves the beginning of the buffer to
 * the first piece, because Tutti accepts neither. The displacements then count from there. */
static void shift(struct lengths *s, int p)
{
    int64_t least = s->buffer || s->all == 0 ? 0 : INT64_MAX;
    for (int r = 0; r < p; r++)
        if (s->n[r] > 0 && s->place[r] < least) least = s->place[r];
    s->buffer = (char *)((uintptr_t)s->buffer + (uintptr_t)least);
    s->shifted = least != 0;
    for (int r = 0; r < p; r++) {
        s->place[r] = s->n[r] > 0 ? s->place[r] - least : 0;
        s->at[r] = s->place[r];
    }
}

/* Computes the other members of *s from count, place and layout. False: a count is wrong. */
static bool measure(struct tt_mpi_call *call, struct lengths *s)
{
    int p = call->record->members;
    s->lie = true;
    s->all = 0;
    for (int r = 0; r < p; r++) {
        if (s->count[r] < 0 || __builtin_mul_overflow(s->count[r], s->layout[r].size, &s->n[r]) ||
            __builtin_add_overflow(s->all, s->n[r], &s->all))
            return wrong(call);
        if (s->n[r] == 0) continue;
        s->lie = s->lie && s->layout[r].bytes;
        /* MPI_BOTTOM is the address 0, where no data can be. */
        if (!s->buffer && s->place[r] == 0 && s->layout[r].relative) return wrong(call);
    }
    shift(s, p);
    return true;
}

/* Reads the arguments of pieces of one type, whose displacements are in elements. */
static bool read_pieces(struct tt_mpi_call *call, struct lengths *s, const void *buffer,
                        struct tt_mpi_counts counts, struct tt_mpi_counts displs, MPI_Datatype type)
{
    struct tt_mpi_layout layout;
    if (buffer == MPI_IN_PLACE || !counts.at || !displs.at || !tt_mpi_layout_of(type, &layout))
        return wrong(call);
    if (!allocate(call, s)) return true;
    s->buffer = (char *)(uintptr_t)buffer;
    for (int r = 0; r < call->record->members; r++) {
        s->layout[r] = layout;
        s->count[r] = tt_mpi_at(counts, r);
        s->place[r] = s->count[r] ? tt_mpi_at(displs, r) * layout.extent : 0;
    }
    return measure(call, s);
}

/* Reads the arguments of pieces whose types differ, and whose displacements are in bytes. */
static bool read_typed(struct tt_mpi_call *call, struct lengths *s, const void *buffer,
                       struct tt_mpi_counts counts, struct tt_mpi_counts displs,
                       const MPI_Datatype *types)
{
    if (buffer == MPI_IN_PLACE || !counts.at || !displs.at || !types) return wrong(call);
    if (!allocate(call, s)) return true;
    s->buffer = (char *)(uintptr_t)buffer;
    for (int r = 0; r < call->record->members; r++) {
        s->count[r] = tt_mpi_at(counts, r);
        s->place[r] = tt_mpi_at(displs, r);
        s->layout[r] = (struct tt_mpi_layout){0};
        if (s->count[r] && !tt_mpi_layout_of(types[r], &s->layout[r])) return wrong(call);
    }
    return measure(call, s);
}

/* ---- Data ---- */

/* Sets s->at for memory in which the pieces follow each other without gaps. */
static void line_up(struct lengths *s, int p)
{
    int64_t at = 0;
    for (int r = 0; r < p; r++) {
        s->at[r] = at;
        at += s->n[r];
    }
}

static void *packed(struct tt_mpi_call *call, struct lengths *s)
{
    int p = call->record->members;
    char *room = tt_mpi_room(call, s->all);
    line_up(s, p);
    for (int r = 0; room && well(call) && r < p; r++)
        tt_mpi_collect(call, &s->layout[r], s->buffer + s->place[r], s->count[r], room + s->at[r]);
    return room;
}

/* Returns whether each piece begins where the piece before it ends, or later. */
static bool ascend(const struct lengths *s, int p)
{
    int64_t end = 0;
    for (int r = 0; r < p; r++) {
        if (s->n[r] == 0) continue;
        if (s->at[r] < end) return false;
        end = s->at[r] + s->n[r];
    }
    return true;
}

/* Returns where Tutti stores the pieces: in the buffer, or in memory from which `deliver` takes
 * them. Tutti refuses pieces that overlap. MPI forbids them, too, but the hosts store them in the
 * order of the ranks, and so does `deliver`. */
static void *target_of(struct tt_mpi_call *call, struct lengths *s)
{
    s->lie = s->lie && ascend(s, call->record->members);
    if (s->lie) return s->buffer;
    line_up(s, call->record->members);
    return tt_mpi_room(call, s->all);
}

static void deliver(struct tt_mpi_call *call, const struct lengths *s, const char *from)
{
    for (int r = 0; !s->lie && well(call) && r < call->record->members; r++)
        tt_mpi_deliver(call, &s->layout[r], from + s->at[r], s->count[r], s->buffer + s->place[r]);
}

/* Returns the number of bytes from the beginning of the buffer to the end of its last piece. */
static int64_t reach_of(const struct lengths *s, int p)
{
    int64_t most = 0;
    for (int r = 0; r < p; r++)
        if (s->n[r] > 0 && s->at[r] + s->n[r] > most) most = s->at[r] + s->n[r];
    return most;
}

static bool overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes)
{
    return a_bytes > 0 && b_bytes > 0 && (const char *)a < (const char *)b + b_bytes &&
           (const char *)b < (const char *)a + a_bytes;
}

/* Returns the data of a buffer as bytes without gaps: the buffer itself, or a packed copy if the
 * buffer has gaps or overlaps with the `reach` bytes at `other`. */
static const void *single(struct tt_mpi_call *call, const struct tt_mpi_side *side,
                          const void *other, int64_t reach)
{
    if (side->layout.bytes && !overlap(side->buffer, side->bytes, other, reach))
        return side->buffer;
    void *room = tt_mpi_room(call, side->bytes);
    if (room) tt_mpi_collect(call, &side->layout, side->buffer, side->count, room);
    return room;
}

/* ---- The calls ---- */

/* Returns this rank's input to a gather whose result is stored at `to`. */
static const void *gathered_from(struct tt_mpi_call *call, const struct tt_mpi_side *own,
                                 const struct lengths *s, bool in_place, char *to)
{
    int me = call->record->rank;
    if (!well(call)) return NULL;
    if (!in_place) return single(call, own, to, reach_of(s, call->record->members));
    if (!s->lie)
        tt_mpi_collect(call, &s->layout[me], s->buffer + s->place[me], s->count[me],
                       to + s->at[me]);
    return TUTTI_IN_PLACE;
}

/* Reads the arguments of this rank's own piece into `own`, at a rank that has also read the pieces
 * of all ranks, `s`. False: an argument is wrong, or this rank's piece has another length in `s`.
 */
static bool read_both(struct tt_mpi_call *call, struct tt_mpi_side *own, struct lengths *s,
                      const void *buffer, int64_t count, MPI_Datatype type)
{
    if (buffer == MPI_IN_PLACE) return true;
    if (!tt_mpi_side_of(call, own, buffer, count, type)) return false;
    return !well(call) || own->bytes == s->n[call->record->rank] || wrong(call);
}

/* Returns whether Tutti uses the pieces where they are, and gets the program's buffer. */
static bool as_given(const struct lengths *s)
{
    return s->lie && !s->shifted;
}

/* Records what a rank passed to Tutti's function, if it passed the program's own buffers (again.h).
 * `own` is the rank's own piece, and `s` the pieces of all ranks, if this rank has read them. */
static void pass(struct tt_mpi_call *call, const struct tt_mpi_side *own, const struct lengths *s,
                 bool sends)
{
    int64_t all = s->count ? reach_of(s, call->record->members) : 0;
    if (own->bytes == 0 || (s->count && !as_given(s))) return;
    call->plain = (struct tt_mpi_plain){.n = own->bytes,
                                        .in_bytes = sends ? all : own->bytes,
                                        .out_bytes = sends ? own->bytes : all};
}

bool tt_mpi_do_allgatherv(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                          MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                          struct tt_mpi_counts displs, MPI_Datatype recvtype)
{
    struct tt_mpi_side own = {0};
    struct lengths s = {0};
    if (!tt_mpi_known(call) || !read_pieces(call, &s, recvbuf, recvcounts, displs, recvtype) ||
        !read_both(call, &own, &s, sendbuf, sendcount, sendtype) || !tt_mpi_ready(call, s.all))
        return false;
    if (!well(call)) return true;
    char *to = target_of(call, &s);
    const void *from = gathered_from(call, &own, &s, sendbuf == MPI_IN_PLACE, to);
    if (!well(call)) return true;
    call->status = TT_MPI_RUN(call, allgatherv, call->team, from, to, s.n, s.at, TUTTI_U8);
    pass(call, &own, &s, false);
    deliver(call, &s, to);
    return true;
}

bool tt_mpi_do_gatherv(struct tt_mpi_call *call, const void *sendbuf, int64_t sendcount,
                       MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                       struct tt_mpi_counts displs, MPI_Datatype recvtype, int root)
{
    struct tt_mpi_side own = {0};
    struct lengths s = {0};
    if (!begins(call, root)) return false;
    bool here = call->record->rank == root, in_place = sendbuf == MPI_IN_PLACE;
    if (in_place && !here) return wrong(call);
    if (here && !read_pieces(call, &s, recvbuf, recvcounts, displs, recvtype)) return false;
    if (here ? !read_both(call, &own, &s, sendbuf, sendcount, sendtype)
             : !tt_mpi_side_of(call, &own, sendbuf, sendcount, sendtype))
        return false;
    if (!tt_mpi_ready(call, 0)) return false;
    char *to = here && well(call) ? target_of(call, &s) : NULL;
    const void *from = !well(call) ? NULL
                       : here      ? gathered_from(call, &own, &s, in_place, to)
                                   : single(call, &own, NULL, 0);
    if (!well(call)) return true;
    call->status =
        TT_MPI_RUN(call, gatherv, call->team, from, own.bytes, to, s.n, s.at, TUTTI_U8, root);
    pass(call, &own, &s, false);
    if (here) deliver(call, &s, to);
    return true;
}

/* Does a scatterv at its root. In place, the root's own piece stays where it is, and Tutti gets the
 * buffer of the pieces as its output. */
static void scatterv_at_root(struct tt_mpi_call *call, struct lengths *s,
                             const struct tt_mpi_side *own, bool in_place, int root)
{
    int p = call->record->members;
    void *to = NULL;
    if (!in_place) to = own->layout.bytes ? own->buffer : tt_mpi_room(call, own->bytes);
    bool lie = s->lie && (in_place || !overlap(s->buffer, reach_of(s, p), to, own->bytes));
    const void *from = lie ? s->buffer : packed(call, s);
    if (!well(call)) return;
    if (in_place) {
        to = (void *)(uintptr_t)from;
        from = TUTTI_IN_PLACE;
    }
    call->status =
        TT_MPI_RUN(call, scatterv, call->team, from, s->n, s->at, to, own->bytes, TUTTI_U8, root);
    if (!in_place && well(call) && !own->layout.bytes)
        tt_mpi_deliver(call, &own->layout, to, own->count, own->buffer);
}

static void scatterv_elsewhere(struct tt_mpi_call *call, const struct tt_mpi_side *own, int root)
{
    void *to = own->layout.bytes ? own->buffer : tt_mpi_room(call, own->bytes);
    if (!well(call)) return;
    call->status =
        TT_MPI_RUN(call, scatterv, call->team, NULL, NULL, NULL, to, own->bytes, TUTTI_U8, root);
    if (well(call) && !own->layout.bytes)
        tt_mpi_deliver(call, &own->layout, to, own->count, own->buffer);
}

bool tt_mpi_do_scatterv(struct tt_mpi_call *call, const void *sendbuf,
                        struct tt_mpi_counts sendcounts, struct tt_mpi_counts displs,
                        MPI_Datatype sendtype, void *recvbuf, int64_t recvcount,
                        MPI_Datatype recvtype, int root)
{
    struct tt_mpi_side own = {0};
    struct lengths s = {0};
    if (!begins(call, root)) return false;
    bool here = call->record->rank == root, in_place = recvbuf == MPI_IN_PLACE;
    if (in_place && !here) return wrong(call);
    if (here && !read_pieces(call, &s, sendbuf, sendcounts, displs, sendtype)) return false;
    if (here ? !read_both(call, &own, &s, recvbuf, recvcount, recvtype)
             : !tt_mpi_side_of(call, &own, recvbuf, recvcount, recvtype))
        return false;
    if (!tt_mpi_ready(call, 0)) return false;
    if (!well(call)) return true;
    if (here)
        scatterv_at_root(call, &s, &own, in_place, root);
    else
        scatterv_elsewhere(call, &own, root);
    pass(call, &own, &s, true);
    return true;
}

/* Does an alltoallv or alltoallw. The caller has read the arguments into `in` and `out`. In place,
 * the output buffer is also the input. If Tutti cannot store the pieces directly into that buffer,
 * the input is first packed into other memory. */
static bool exchange(struct tt_mpi_call *call, struct lengths *in, struct lengths *out,
                     bool in_place)
{
    if (!tt_mpi_ready(call, 0)) return false;
    if (!well(call)) return true;
    int p = call->record->members;
    char *to = target_of(call, out);
    const void *from = TUTTI_IN_PLACE;
    if (in_place && !out->lie)
        from = packed(call, out);
    else if (!in_place)
        from = in->lie && !overlap(in->buffer, reach_of(in, p), to, reach_of(out, p))
                   ? in->buffer
                   : packed(call, in);
    if (!well(call)) return true;
    if (in_place) *in = *out;
    call->status =
        TT_MPI_RUN(call, alltoallv, call->team, from, in->n, in->at, to, out->n, out->at, TUTTI_U8);
    if (!in_place && as_given(in) && as_given(out))
        call->plain =
            (struct tt_mpi_plain){.in_bytes = reach_of(in, p), .out_bytes = reach_of(out, p)};
    deliver(call, out, to);
    return true;
}

bool tt_mpi_do_alltoallv(struct tt_mpi_call *call, const void *sendbuf,
                         struct tt_mpi_counts sendcounts, struct tt_mpi_counts sdispls,
                         MPI_Datatype sendtype, void *recvbuf, struct tt_mpi_counts recvcounts,
                         struct tt_mpi_counts rdispls, MPI_Datatype recvtype)
{
    struct lengths in = {0}, out = {0};
    bool in_place = sendbuf == MPI_IN_PLACE;
    if (!tt_mpi_known(call) || tt_mpi_lost(call) ||
        !read_pieces(call, &out, recvbuf, recvcounts, rdispls, recvtype) ||
        (!in_place && !read_pieces(call, &in, sendbuf, sendcounts, sdispls, sendtype)))
        return false;
    return exchange(call, &in, &out, in_place);
}

bool tt_mpi_do_alltoallw(struct tt_mpi_call *call, const void *sendbuf,
                         struct tt_mpi_counts sendcounts, struct tt_mpi_counts sdispls,
                         const MPI_Datatype *sendtypes, void *recvbuf,
                         struct tt_mpi_counts recvcounts, struct tt_mpi_counts rdispls,
                         const MPI_Datatype *recvtypes)
{
    struct lengths in = {0}, out = {0};
    bool in_place = sendbuf == MPI_IN_PLACE;
    if (!tt_mpi_known(call) || tt_mpi_lost(call) ||
        !read_typed(call, &out, recvbuf, recvcounts, rdispls, recvtypes) ||
        (!in_place && !read_typed(call, &in, sendbuf, sendcounts, sdispls, sendtypes)))
        return false;
    return exchange(call, &in, &out, in_place);
}
