/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that are recognised at once as Tutti's, because they are like the last call of the
 * collective that Tutti did on the communicator. Most programs repeat calls that differ in nothing
 * but their buffers, and to read all arguments of a call takes about as long as Tutti needs for a
 * few bytes. So the record of a communicator keeps, for each collective except alltoallw and
 * reduce_scatter, the arguments of the last call that Tutti did, and the arguments that this
 * library passed to Tutti's function for that call. If the next call agrees with them, Tutti's
 * function is called at once. Lists are compared entry by entry, and kept only on small
 * communicators.
 *
 * All ranks still do the same, because Tutti would do a call that agrees in any case: it has the
 * same shape, and a decision for Tutti holds for as long as the communicator exists (trial.h).
 * Handles must mean what they meant before, so a call is kept only if its types and its operation
 * are predefined. A call is not kept, or does not agree, if a buffer is MPI_IN_PLACE or MPI_BOTTOM,
 * if two buffers overlap, or if data have to be packed: in these cases take.c reads all arguments.
 *
 * The calls of a trial (trial.h) are not done at once, but they are recorded and compared, too: to
 * read the arguments of a call that repeats the one before does not count as time of Tutti, because
 * Tutti would not read them if it did all calls of the shape. If there is a report, no call is done
 * at once, because the report is made from the arguments.
 *
 * MPI forbids that several threads are in collectives of a communicator at the same time. So only
 * one thread at a time uses what the record keeps.
 */
#ifndef TT_MPI_AGAIN_H
#define TT_MPI_AGAIN_H

#include "mpi/buffered.h"
#include "mpi/later.h"

/* Records a call that Tutti has just done, if later calls can be recognised by it. */
#define tt_mpi_keep_again TT_MPI_OWN(keep_again)
void tt_mpi_keep_again(const struct tt_mpi_call *call, enum tt_mpi_index index,
                       struct tt_mpi_key key);

/* Returns the record of a communicator if Tutti can do a call at once that agrees with a kept one.
 * NULL: the arguments of the call must be read. */
static inline struct tt_mpi_comm *tt_mpi_repeats(MPI_Comm comm)
{
    struct tt_mpi_comm *record = tt_last.record;
    if (!record || tt_last.handle != TT_MPI_KEY(comm) ||
        tt_last.removed != atomic_load_explicit(&tt_removed, memory_order_acquire))
        return NULL;
    bool can =
        !tt_mpi_buffers_are() && atomic_load_explicit(&record->started, memory_order_acquire) == 0;
    return can ? record : NULL;
}

static inline bool tt_mpi_is_usable(const void *buffer, int64_t bytes)
{
    return buffer != MPI_IN_PLACE && (buffer || bytes == 0);
}

/* Returns whether a buffer's lists agree with those that are kept. */
static inline bool tt_mpi_list_agrees(const struct tt_mpi_kept_lists *kept, int pieces,
                                      struct tt_mpi_counts counts, struct tt_mpi_counts displs)
{
    if (!counts.at || !displs.at) return false;
    for (int r = 0; r < pieces; r++)
        if (tt_mpi_at(counts, r) != kept->count[r] || tt_mpi_at(displs, r) != kept->displ[r])
            return false;
    return true;
}

/* Returns whether the lists of a call agree with those that are kept, or both calls have none. */
static inline bool tt_mpi_lists_agree(const struct tt_mpi_again *again, struct tt_mpi_key key)
{
    if (!key.counts.at || !key.displs.at) return again->pieces == 0;
    return again->pieces > 0 &&
           tt_mpi_list_agrees(&again->all, again->pieces, key.counts, key.displs) &&
           (!again->in.count ||
            tt_mpi_list_agrees(&again->in, again->pieces, key.in_counts, key.in_displs));
}

/* Returns whether a call agrees with the one that is recorded. */
static inline bool tt_mpi_agrees(const struct tt_mpi_again *again, struct tt_mpi_key key,
                                 const void *in, const void *out)
{
    const struct tt_mpi_plain *plain = &again->plain;
    const char *a = in, *b = out;
    return again->key.count == key.count && again->key.type == key.type &&
           again->key.op == key.op && again->key.root == key.root &&
           again->key.all_count == key.all_count && again->key.all_type == key.all_type &&
           tt_mpi_is_usable(in, plain->in_bytes) && tt_mpi_is_usable(out, plain->out_bytes) &&
           (plain->in_bytes == 0 || plain->out_bytes == 0 || a + plain->in_bytes <= b ||
            b + plain->out_bytes <= a) &&
           tt_mpi_lists_agree(again, key);
}

/* Macros that make the struct tt_mpi_key of a call: ONE for a call with a count and a type; TWO for
 * one with a second count and type (ALL_N, ALL_T), which this rank uses only if ALL is true; LISTS
 * for one with lists instead of the second count; TWO_LISTS for one with lists instead of both
 * counts; OP for one with an operation. */
#define TT_MPI_KEY_ONE(N, T, ROOT)                                                                 \
    ((struct tt_mpi_key){.count = N, .type = TT_MPI_KEY(T), .root = ROOT})
#define TT_MPI_KEY_TWO(N, T, ALL, ALL_N, ALL_T, ROOT)                                              \
    ((struct tt_mpi_key){.count = N,                                                               \
                         .type = TT_MPI_KEY(T),                                                    \
                         .all_count = ALL ? ALL_N : 0,                                             \
                         .all_type = ALL ? TT_MPI_KEY(ALL_T) : 0,                                  \
                         .root = ROOT})
#define TT_MPI_KEY_LISTS(N, T, ALL, COUNTS, DISPLS, ALL_T, ROOT)                                   \
    ((struct tt_mpi_key){.count = N,                                                               \
                         .type = TT_MPI_KEY(T),                                                    \
                         .all_type = ALL ? TT_MPI_KEY(ALL_T) : 0,                                  \
                         .root = ROOT,                                                             \
                         .counts = {ALL ? COUNTS : NULL, sizeof *(COUNTS)},                        \
                         .displs = {ALL ? DISPLS : NULL, sizeof *(DISPLS)}})
#define TT_MPI_KEY_TWO_LISTS(SN, SD, ST, RN, RD, RT)                                               \
    ((struct tt_mpi_key){.type = TT_MPI_KEY(ST),                                                   \
                         .all_type = TT_MPI_KEY(RT),                                               \
                         .counts = TT_MPI_LIST(RN),                                                \
                         .displs = TT_MPI_LIST(RD),                                                \
                         .in_counts = TT_MPI_LIST(SN),                                             \
                         .in_displs = TT_MPI_LIST(SD)})
#define TT_MPI_KEY_OP(N, T, OP, ROOT)                                                              \
    ((struct tt_mpi_key){.count = N, .type = TT_MPI_KEY(T), .op = TT_MPI_KEY(OP), .root = ROOT})

/* clang-format off */
/* For each function of MPI: TT_MPI_AGAIN_X(F, A, RECORD, arguments of MPI_X) is F(the number of the
 * collective, the key of the call, its input, its output, a call of Tutti's function). A is the
 * struct tt_mpi_again that is kept, and RECORD the record of the communicator. */
#define TT_MPI_AGAIN_Barrier(F, A, RECORD, COMM) \
    F(TT_MPI_INDEX_Barrier, (struct tt_mpi_key){0}, NULL, NULL, tt_mpi_tutti.barrier(RECORD->team))
#define TT_MPI_AGAIN_Bcast(F, A, RECORD, B, N, T, ROOT, COMM) \
    F(TT_MPI_INDEX_Bcast, TT_MPI_KEY_ONE(N, T, ROOT), B, B, \
      tt_mpi_tutti.bcast(RECORD->team, B, A->plain.n, TUTTI_U8, ROOT))
#define TT_MPI_AGAIN_OUT(A, R) (A->plain.out_bytes ? R : NULL)
#define TT_MPI_AGAIN_IN(A, S) (A->plain.in_bytes ? S : NULL)
#define TT_MPI_AGAIN_REDUCED(NAME, A, RECORD, S, R, ...) \
    tt_mpi_tutti.NAME(RECORD->team, S, TT_MPI_AGAIN_OUT(A, R), A->plain.n, A->plain.type, \
                      A->plain.op, ##__VA_ARGS__)
#define TT_MPI_AGAIN_MOVED(NAME, A, RECORD, S, R, ...) \
    tt_mpi_tutti.NAME(RECORD->team, TT_MPI_AGAIN_IN(A, S), TT_MPI_AGAIN_OUT(A, R), A->plain.n, \
                      TUTTI_U8, ##__VA_ARGS__)
#define TT_MPI_AGAIN_Reduce(F, A, RECORD, S, R, N, T, OP, ROOT, COMM) \
    F(TT_MPI_INDEX_Reduce, TT_MPI_KEY_OP(N, T, OP, ROOT), S, R, \
      TT_MPI_AGAIN_REDUCED(reduce, A, RECORD, S, R, ROOT))
#define TT_MPI_AGAIN_Allreduce(F, A, RECORD, S, R, N, T, OP, COMM) \
    F(TT_MPI_INDEX_Allreduce, TT_MPI_KEY_OP(N, T, OP, 0), S, R, \
      TT_MPI_AGAIN_REDUCED(allreduce, A, RECORD, S, R))
#define TT_MPI_AGAIN_Scan(F, A, RECORD, S, R, N, T, OP, COMM) \
    F(TT_MPI_INDEX_Scan, TT_MPI_KEY_OP(N, T, OP, 0), S, R, \
      TT_MPI_AGAIN_REDUCED(scan, A, RECORD, S, R))
#define TT_MPI_AGAIN_Exscan(F, A, RECORD, S, R, N, T, OP, COMM) \
    F(TT_MPI_INDEX_Exscan, TT_MPI_KEY_OP(N, T, OP, 0), S, R, \
      TT_MPI_AGAIN_REDUCED(exscan, A, RECORD, S, R))
#define TT_MPI_AGAIN_Reduce_scatter_block(F, A, RECORD, S, R, N, T, OP, COMM) \
    F(TT_MPI_INDEX_Reduce_scatter_block, TT_MPI_KEY_OP(N, T, OP, 0), S, R, \
      TT_MPI_AGAIN_REDUCED(reduce_scatter_block, A, RECORD, S, R))
#define TT_MPI_AGAIN_Allgather(F, A, RECORD, S, SN, ST, R, RN, RT, COMM) \
    F(TT_MPI_INDEX_Allgather, TT_MPI_KEY_TWO(SN, ST, true, RN, RT, 0), S, R, \
      TT_MPI_AGAIN_MOVED(allgather, A, RECORD, S, R))
#define TT_MPI_AGAIN_Alltoall(F, A, RECORD, S, SN, ST, R, RN, RT, COMM) \
    F(TT_MPI_INDEX_Alltoall, TT_MPI_KEY_TWO(SN, ST, true, RN, RT, 0), S, R, \
      TT_MPI_AGAIN_MOVED(alltoall, A, RECORD, S, R))
#define TT_MPI_AGAIN_Gather(F, A, RECORD, S, SN, ST, R, RN, RT, ROOT, COMM) \
    F(TT_MPI_INDEX_Gather, TT_MPI_KEY_TWO(SN, ST, ROOT == RECORD->rank, RN, RT, ROOT), S, R, \
      TT_MPI_AGAIN_MOVED(gather, A, RECORD, S, R, ROOT))
#define TT_MPI_AGAIN_Scatter(F, A, RECORD, S, SN, ST, R, RN, RT, ROOT, COMM) \
    F(TT_MPI_INDEX_Scatter, TT_MPI_KEY_TWO(RN, RT, ROOT == RECORD->rank, SN, ST, ROOT), S, R, \
      TT_MPI_AGAIN_MOVED(scatter, A, RECORD, S, R, ROOT))
#define TT_MPI_AGAIN_N(A) (A->pieces ? A->all.n : NULL)
#define TT_MPI_AGAIN_AT(A) (A->pieces ? A->all.at : NULL)
#define TT_MPI_AGAIN_Gatherv(F, A, RECORD, S, SN, ST, R, RN, D, RT, ROOT, COMM) \
    F(TT_MPI_INDEX_Gatherv, TT_MPI_KEY_LISTS(SN, ST, ROOT == RECORD->rank, RN, D, RT, ROOT), S, R, \
      tt_mpi_tutti.gatherv(RECORD->team, S, A->plain.n, TT_MPI_AGAIN_OUT(A, R), TT_MPI_AGAIN_N(A), \
                           TT_MPI_AGAIN_AT(A), TUTTI_U8, ROOT))
#define TT_MPI_AGAIN_Scatterv(F, A, RECORD, S, SN, D, ST, R, RN, RT, ROOT, COMM) \
    F(TT_MPI_INDEX_Scatterv, TT_MPI_KEY_LISTS(RN, RT, ROOT == RECORD->rank, SN, D, ST, ROOT), S, \
      R, \
      tt_mpi_tutti.scatterv(RECORD->team, TT_MPI_AGAIN_IN(A, S), TT_MPI_AGAIN_N(A), \
                            TT_MPI_AGAIN_AT(A), R, A->plain.n, TUTTI_U8, ROOT))
#define TT_MPI_AGAIN_Allgatherv(F, A, RECORD, S, SN, ST, R, RN, D, RT, COMM) \
    F(TT_MPI_INDEX_Allgatherv, TT_MPI_KEY_LISTS(SN, ST, true, RN, D, RT, 0), S, R, \
      tt_mpi_tutti.allgatherv(RECORD->team, S, R, A->all.n, A->all.at, TUTTI_U8))
#define TT_MPI_AGAIN_Alltoallv(F, A, RECORD, S, SN, SD, ST, R, RN, RD, RT, COMM) \
    F(TT_MPI_INDEX_Alltoallv, TT_MPI_KEY_TWO_LISTS(SN, SD, ST, RN, RD, RT), S, R, \
      tt_mpi_tutti.alltoallv(RECORD->team, TT_MPI_AGAIN_IN(A, S), A->in.n, A->in.at, \
                             TT_MPI_AGAIN_OUT(A, R), A->all.n, A->all.at, TUTTI_U8))
/* Calls of these collectives are not kept: they have lists of types, or a list without
 * displacements. */
#define TT_MPI_AGAIN_Alltoallw(...)
#define TT_MPI_AGAIN_Reduce_scatter(...)
#define TT_MPI_AGAIN_Bcast_c TT_MPI_AGAIN_Bcast
#define TT_MPI_AGAIN_Reduce_c TT_MPI_AGAIN_Reduce
#define TT_MPI_AGAIN_Allreduce_c TT_MPI_AGAIN_Allreduce
#define TT_MPI_AGAIN_Scan_c TT_MPI_AGAIN_Scan
#define TT_MPI_AGAIN_Exscan_c TT_MPI_AGAIN_Exscan
#define TT_MPI_AGAIN_Reduce_scatter_block_c TT_MPI_AGAIN_Reduce_scatter_block
#define TT_MPI_AGAIN_Allgather_c TT_MPI_AGAIN_Allgather
#define TT_MPI_AGAIN_Alltoall_c TT_MPI_AGAIN_Alltoall
#define TT_MPI_AGAIN_Gather_c TT_MPI_AGAIN_Gather
#define TT_MPI_AGAIN_Scatter_c TT_MPI_AGAIN_Scatter
#define TT_MPI_AGAIN_Gatherv_c TT_MPI_AGAIN_Gatherv
#define TT_MPI_AGAIN_Scatterv_c TT_MPI_AGAIN_Scatterv
#define TT_MPI_AGAIN_Allgatherv_c TT_MPI_AGAIN_Allgatherv
#define TT_MPI_AGAIN_Alltoallv_c TT_MPI_AGAIN_Alltoallv
#define TT_MPI_AGAIN_Alltoallw_c TT_MPI_AGAIN_Alltoallw
#define TT_MPI_AGAIN_Reduce_scatter_c TT_MPI_AGAIN_Reduce_scatter
/* clang-format on */

#endif
