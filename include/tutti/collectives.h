/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: collectives. tutti.h includes this file, and states what holds for all functions.
 */
#ifndef TUTTI_COLLECTIVES_H
#define TUTTI_COLLECTIVES_H

#include <stdint.h>

#include <tutti/client.h>
#include <tutti/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program passes TUTTI_IN_PLACE as `in` if the input lies in `out`, where the result replaces the
 * input. Either all ranks of the team pass TUTTI_IN_PLACE or none; in reduce, gather(v) and
 * scatter(v) only the root may, and in alltoall(v, w) each rank decides for itself. In gather(v)
 * and allgather(v) the input lies at the rank's own place in `out`. In scatter(v) the root's `out`
 * holds all pieces. In reduce_scatter(_block) `out` has room for the whole input; the library
 * stores the rank's block of the result at its beginning and leaves the rest undefined. In
 * alltoall(v, w) `out` with its counts and displacements is also the input; the library packs it
 * into memory of its own first. bcast, barrier and the neighbourhood collectives do not accept
 * TUTTI_IN_PLACE. */
#ifdef __cplusplus
#define TUTTI_IN_PLACE (reinterpret_cast<const void *>(1))
#else
#define TUTTI_IN_PLACE ((const void *)1)
#endif

/* Flags of tutti_X_init. All ranks must pass the same flags. */
enum {
    TUTTI_REQUEST_DEFAULT = 0, /* none of the following */
    /* Combine operands in rank order even if the operation commutes. */
    TUTTI_REQUEST_IN_ORDER = 1,
    /* Every rank's buffers are memory from tutti_alloc, so that peers load from them. */
    TUTTI_REQUEST_SHARED = 2
};

/*
 * The collectives, each in three forms that run the same plan:
 *
 *   tutti_X(team, ...)                        blocks until this rank's part is done
 *   tutti_iX(team, ..., &request)             starts the collective and returns; the caller
 *                                             completes it with tutti_wait or tutti_test, then
 *                                             frees the request
 *   tutti_X_init(team, ..., flags, &request)  prepares the collective; the caller starts it with
 *                                             tutti_start as often as it wants
 *
 * Collective: every rank of the team calls the same collectives (or starts the same requests) in
 * the same order, with the same root, type, operation, flags and, except in alltoallv, alltoallw,
 * gatherv, scatterv and neighbourhood collectives, the same counts. Preparing a request is local,
 * unless TUTTI_ALGORITHM forces an algorithm before which the ranks exchange their counts
 * (alltoallv, alltoallw, gatherv, scatterv): then it is collective and blocks. A team may have any
 * number of collectives in flight, completed in any order. At least thirty-two of them advance at
 * the same time (fewer on teams of more than 32 ranks), and later ones wait inside the library.
 * When a collective has completed, this rank's output is valid and the buffers belong to the caller
 * again. Only the completion of a barrier says something about the other ranks. From start to
 * completion the library borrows all buffers: the caller may read inputs but not write them, and
 * must not touch outputs. A request keeps the addresses of its buffers, and copies of counts and
 * displacements. Counts and displacements must not be negative, not even those of empty pieces.
 * After PEER or MISMATCH other members may still read inputs and write outputs of collectives that
 * were in flight, until they see the error too (within a second). A buffer may be NULL if nothing
 * is read from it or written to it. `in` and `out` must not overlap, but elements of derived types
 * may interleave. Results have the same bits on every rank, and in every run with the same number
 * and placement of ranks and the same algorithms.
 *
 * One thread per team at a time; threads that use different teams at the same time need different
 * clients, or one that they share (tutti_client_share).
 *
 * All forms return ARG (the text names the argument and the fault: null, negative, overflow,
 * overlap, a root outside the team, an unknown type or operation), TYPE, MEMORY, LIMIT and
 * UNSUPPORTED. UNSUPPORTED means that TUTTI_ALGORITHM forces an algorithm that does not apply to
 * the call, or, in a nonblocking form, one before which the ranks exchange their counts. After ARG,
 * TYPE and UNSUPPORTED this rank has started nothing (except if a buffer is not valid memory, see
 * below), and ranks whose arguments are right wait for this rank. MEMORY, LIMIT and SYSTEM from a
 * blocking or nonblocking form break the team, and the other members get PEER. Calls that wait also
 * return PEER, with the rank and the cause, and MISMATCH, with both calls: "rank 1 called bcast(n=5
 * of f64, root 2) where rank 0 called bcast(n=5 of f64, root 1)".
 *
 * If a buffer is not valid memory and another rank accesses it by a system call, the call returns
 * ARG with the name of the argument, the team breaks, and the other members get an error that names
 * the rank. In all other cases a wrong pointer ends the process, as usual.
 *
 * Calls of different members match if collective, root, n or counts, type, operation and the order
 * of operands are equal. If calls do not match, all members get MISMATCH from that call, from a
 * later call on the team, or from tutti_finalize. The team breaks as soon as any two members find
 * that a call differs, and the text names that call. So a member that is still in an earlier call,
 * in which all members agreed, may get MISMATCH from that earlier call. The outputs of the earlier
 * call are undefined then. If a rank sends something else in an alltoallv, alltoallw, gatherv,
 * scatterv or neighbourhood collective than the receiver expects, these two ranks get MISMATCH;
 * other members, whose own pieces match, may get OK. As in MPI, the sequences of basic types of a
 * piece must be equal at both ranks, whatever types they pass: two elements of a type of two I32
 * match four I32, but not two I64.
 */

/* Returns only after every rank of the team has called it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_barrier(tutti_team *team);
/* Copies buffer[0..n-1] of the root to all ranks. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_bcast(tutti_team *team, void *buffer, int64_t n,
                                                    tutti_type type, int root);
/* Stores in out[i] at the root: in[i] of rank 0 op in[i] of rank 1 op ... The other ranks' `out` is
 * ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, tutti_op op,
                                                     int root);
/* Does the same as tutti_reduce, but every rank gets the result. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allreduce(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type, tutti_op op);
/* Reduces in[0..p*n-1] of all p ranks and stores block r of the result at rank r: out[i] =
 * in[r*n+i] of rank 0 op in[r*n+i] of rank 1 op ..., for i < n. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_block(tutti_team *team, const void *in,
                                                                   void *out, int64_t n,
                                                                   tutti_type type, tutti_op op);
/* Does the same as tutti_reduce_scatter_block, with blocks of counts[0], counts[1], ... elements,
 * which follow each other in `in`. All ranks pass the same counts. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter(tutti_team *team, const void *in,
                                                             void *out, const int64_t *counts,
                                                             tutti_type type, tutti_op op);
/* Stores in[0..n-1] of each rank r in out[r*n .. r*n+n-1] at the root. The other ranks' `out` is
 * ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gather(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, int root);
/* Does the same as tutti_gather, but every rank gets the result. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgather(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type);
/* Stores the counts[r] elements of rank r's `in` in out[displs[r] .. displs[r]+counts[r]-1], for
 * every r. All ranks pass the same counts; each rank may pass displacements of its own. The pieces
 * must not overlap. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgatherv(tutti_team *team, const void *in,
                                                         void *out, const int64_t *counts,
                                                         const int64_t *displs, tutti_type type);
/* Stores in[r*n .. r*n+n-1] of the root in out[0..n-1] at each rank r. The other ranks' `in` is
 * ignored. If the root passes TUTTI_IN_PLACE, its `out` holds the elements for all ranks and stays
 * as it is. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatter(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, int root);
/* Stores the n elements of each rank r's `in` in out[displs[r] .. displs[r]+counts[r]-1] at the
 * root. n of rank r equals counts[r] of the root. The other ranks' `out`, counts and displs are
 * ignored and may be NULL. The pieces must not overlap. If the root passes TUTTI_IN_PLACE, its own
 * piece lies at its place in `out`, and its n is not used. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gatherv(tutti_team *team, const void *in, int64_t n,
                                                      void *out, const int64_t *counts,
                                                      const int64_t *displs, tutti_type type,
                                                      int root);
/* Stores in[displs[r] .. displs[r]+counts[r]-1] of the root in out[0..n-1] at each rank r. n of
 * rank r equals counts[r] of the root. The other ranks' `in`, counts and displs are ignored and may
 * be NULL. The pieces may overlap. If the root passes TUTTI_IN_PLACE, its `out` holds all pieces
 * and stays as it is, and its n is not used. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatterv(tutti_team *team, const void *in,
                                                       const int64_t *counts, const int64_t *displs,
                                                       void *out, int64_t n, tutti_type type,
                                                       int root);
/* Stores in out[i] at each rank r: in[i] of rank 0 op ... op in[i] of rank r. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scan(tutti_team *team, const void *in, void *out,
                                                   int64_t n, tutti_type type, tutti_op op);
/* Stores in out[i] at each rank r > 0: in[i] of rank 0 op ... op in[i] of rank r-1. Nothing is
 * stored at rank 0, whose `out` is ignored unless the call is in place. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_exscan(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, tutti_op op);
/* Sends n elements to each rank: at rank s, out[r*n .. r*n+n-1] = in[s*n .. s*n+n-1] of rank r. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoall(tutti_team *team, const void *in, void *out,
                                                       int64_t n, tutti_type type);
/* Sends in[in_displs[r] .. in_displs[r]+in_counts[r]-1] to rank r, and stores the elements that
 * rank r sends in out[out_displs[r] .. out_displs[r]+out_counts[r]-1]. out_counts[r] at rank s
 * equals in_counts[s] at rank r. Input pieces may overlap, output pieces must not. If `in` is
 * TUTTI_IN_PLACE, the other in_... arguments are ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallv(tutti_team *team, const void *in,
                                                        const int64_t *in_counts,
                                                        const int64_t *in_displs, void *out,
                                                        const int64_t *out_counts,
                                                        const int64_t *out_displs, tutti_type type);
/* Does the same as tutti_alltoallv, with a type for each rank and displacements in bytes. Sends to
 * rank r the in_counts[r] elements of in_types[r] that begin in_displs[r] bytes into `in`. Stores
 * what rank r sends as out_counts[r] elements of out_types[r] that begin out_displs[r] bytes into
 * `out`. The pieces that this rank sends to rank r must pack to the same sequence of basic types as
 * those that rank r expects; if not, the two ranks get MISMATCH. A type whose count is 0 is
 * ignored. Output pieces must not overlap. If `in` is TUTTI_IN_PLACE, `out` with its lists is also
 * the input; the other in_... arguments are then ignored, and other ranks need not do the same.
 * Types may be freed after the call, also while a request lives. */
TUTTI_API TUTTI_MUST_CHECK tutti_status
tutti_alltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                const int64_t *in_displs, const tutti_type *in_types, void *out,
                const int64_t *out_counts, const int64_t *out_displs, const tutti_type *out_types);
/* The neighbourhood collectives, on a team that tutti_team_cart or tutti_team_graph made (else:
 * ARG) or on a duplicate of one. Each rank sends a piece to each of its destinations and receives a
 * piece from each of its sources, in the order of tutti_team_destinations and tutti_team_sources.
 * The library ignores pieces for TUTTI_NO_RANK and their entries in the lists. A sender and a
 * receiver must give their piece the same sequence of basic types. If a rank has another rank as a
 * neighbour several times, their pieces match in the order of the lists. In a grid, if a rank sends
 * a piece to its lower neighbour in a dimension, that neighbour receives it as the piece from its
 * higher neighbour. TUTTI_IN_PLACE is not allowed.
 *
 * Sends in[0..n-1] to each destination, and stores the n elements of source i in
 * out[i*n .. i*n+n-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgather(tutti_team *team, const void *in,
                                                                 void *out, int64_t n,
                                                                 tutti_type type);
/* Sends in[0..n-1] to each destination, and stores the counts[i] elements of source i in
 * out[displs[i] .. displs[i]+counts[i]-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgatherv(tutti_team *team, const void *in,
                                                                  int64_t n, void *out,
                                                                  const int64_t *counts,
                                                                  const int64_t *displs,
                                                                  tutti_type type);
/* Sends in[i*n .. i*n+n-1] to destination i, and stores the n elements of source i in
 * out[i*n .. i*n+n-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoall(tutti_team *team, const void *in,
                                                                void *out, int64_t n,
                                                                tutti_type type);
/* Sends in[in_displs[i] .. in_displs[i]+in_counts[i]-1] to destination i, and stores the elements
 * of source i in out[out_displs[i] .. out_displs[i]+out_counts[i]-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type);
/* Does the same as tutti_neighbor_alltoallv, with a type for each piece and displacements in bytes,
 * as in tutti_alltoallw. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types);

/* Nonblocking forms. *request is started; the caller owns it, completes it and frees it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibarrier(tutti_team *team, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n,
                                                     tutti_type type, int root,
                                                     tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, tutti_op op,
                                                      int root, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallreduce(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_op op, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter_block(tutti_team *team,
                                                                    const void *in, void *out,
                                                                    int64_t n, tutti_type type,
                                                                    tutti_op op,
                                                                    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              tutti_type type, tutti_op op,
                                                              tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_igather(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, int root,
                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgather(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgatherv(tutti_team *team, const void *in,
                                                          void *out, const int64_t *counts,
                                                          const int64_t *displs, tutti_type type,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscatter(tutti_team *team, const void *in, void *out,
                                                       int64_t n, tutti_type type, int root,
                                                       tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_igatherv(tutti_team *team, const void *in, int64_t n,
                                                       void *out, const int64_t *counts,
                                                       const int64_t *displs, tutti_type type,
                                                       int root, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscatterv(tutti_team *team, const void *in,
                                                        const int64_t *counts,
                                                        const int64_t *displs, void *out, int64_t n,
                                                        tutti_type type, int root,
                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscan(tutti_team *team, const void *in, void *out,
                                                    int64_t n, tutti_type type, tutti_op op,
                                                    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iexscan(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, tutti_op op,
                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoall(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type,
                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_allgather(tutti_team *team, const void *in,
                                                                  void *out, int64_t n,
                                                                  tutti_type type,
                                                                  tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_allgatherv(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoall(tutti_team *team, const void *in,
                                                                 void *out, int64_t n,
                                                                 tutti_type type,
                                                                 tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, tutti_request **request);

/* Persistent forms. *request is prepared, not started, and belongs to the caller. Local, does not
 * block, unless TUTTI_ALGORITHM forces an algorithm before which the ranks exchange their
 * counts. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_barrier_init(tutti_team *team, unsigned flags,
                                                           tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_bcast_init(tutti_team *team, void *buffer, int64_t n,
                                                         tutti_type type, int root, unsigned flags,
                                                         tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          tutti_op op, int root, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allreduce_init(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             tutti_op op, unsigned flags,
                                                             tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_block_init(tutti_team *team,
                                                                        const void *in, void *out,
                                                                        int64_t n, tutti_type type,
                                                                        tutti_op op, unsigned flags,
                                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_init(tutti_team *team, const void *in,
                                                                  void *out, const int64_t *counts,
                                                                  tutti_type type, tutti_op op,
                                                                  unsigned flags,
                                                                  tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gather_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          int root, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgather_init(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             unsigned flags,
                                                             tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgatherv_init(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              const int64_t *displs,
                                                              tutti_type type, unsigned flags,
                                                              tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatter_init(tutti_team *team, const void *in,
                                                           void *out, int64_t n, tutti_type type,
                                                           int root, unsigned flags,
                                                           tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gatherv_init(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, int root, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatterv_init(
    tutti_team *team, const void *in, const int64_t *counts, const int64_t *displs, void *out,
    int64_t n, tutti_type type, int root, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scan_init(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type, tutti_op op,
                                                        unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_exscan_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          tutti_op op, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoall_init(tutti_team *team, const void *in,
                                                            void *out, int64_t n, tutti_type type,
                                                            unsigned flags,
                                                            tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallv_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, unsigned flags,
    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallw_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgather_init(tutti_team *team,
                                                                      const void *in, void *out,
                                                                      int64_t n, tutti_type type,
                                                                      unsigned flags,
                                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgatherv_init(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoall_init(tutti_team *team,
                                                                     const void *in, void *out,
                                                                     int64_t n, tutti_type type,
                                                                     unsigned flags,
                                                                     tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallv_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, unsigned flags,
    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallw_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, unsigned flags, tutti_request **request);

/* A request is under way from tutti_start (or tutti_iX) until its owner has completed it: until
 * tutti_wait has returned, or tutti_test or tutti_request_check has returned anything but AGAIN.
 * Whether a request is under way therefore does not depend on other ranks or on their speed.
 * Functions of requests return ARG for a request that was freed. One thread per team at a time.
 *
 * Starts a request that is not under way. Collective over the team, as the collective itself; does
 * not block. Errors: ARG (request is NULL or under way). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_start(tutti_request *request);
/* Advances the request, and everything else that the client's teams have in flight, so that two
 * ranks may test requests of two teams in different orders. Returns OK if the request is complete,
 * AGAIN if it is not. If the request is not under way, the function returns OK if it was never
 * started, else the status with which it completed last. Does not block; but if there are more
 * ranks than processors, a loop of tests lets other ranks run between the tests. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_test(tutti_request *request);
/* Does what tutti_test does, but advances nothing. A program with many requests advances all of
 * them once, by tutti_advance of context 0, and then looks at each of them by this function. Local,
 * does not block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_request_check(tutti_request *request);
/* Blocks until the request is complete, and advances everything else that the client's teams have
 * in flight. If the request is not under way, the function returns at once, like tutti_test. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_wait(tutti_request *request);
/* Frees a request that is not under way. NULL is allowed. Errors: ARG (under way). Local. */
TUTTI_API tutti_status tutti_request_free(tutti_request *request);

#ifdef __cplusplus
}
#endif

#endif
