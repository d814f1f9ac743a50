/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives in their three forms: each function fills in the arguments (NAME_of) and passes
 * them on.
 */
#include "api/api.h"
#include "type/layout.h"

static inline struct tt_args barrier_of(void)
{
    return (struct tt_args){.call = {.commutes = true, .coll = TT_COLL_barrier}};
}

tutti_status tutti_barrier(tutti_team *team)
{
    struct tt_args args = barrier_of();
    return tt_collective_run(team, &args);
}

tutti_status tutti_ibarrier(tutti_team *team, tutti_request **request)
{
    struct tt_args args = barrier_of();
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_barrier_init(tutti_team *team, unsigned flags, tutti_request **request)
{
    struct tt_args args = barrier_of();
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args bcast_of(void *buffer, int64_t n, tutti_type type, int root)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_bcast, .n = n, .type = type, .root = root},
        .out = buffer};
}

tutti_status tutti_bcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root)
{
    struct tt_args args = bcast_of(buffer, n, type, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                          tutti_request **request)
{
    struct tt_args args = bcast_of(buffer, n, type, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_bcast_init(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                              unsigned flags, tutti_request **request)
{
    struct tt_args args = bcast_of(buffer, n, type, root);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args reduce_of(const void *in, void *out, int64_t n, tutti_type type,
                                       tutti_op op, int root)
{
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_reduce,
                                     .n = n,
                                     .type = type,
                                     .op = op,
                                     .root = root},
                            .in = in,
                            .out = out};
}

tutti_status tutti_reduce(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                          tutti_op op, int root)
{
    struct tt_args args = reduce_of(in, out, n, type, op, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ireduce(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           tutti_op op, int root, tutti_request **request)
{
    struct tt_args args = reduce_of(in, out, n, type, op, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_reduce_init(tutti_team *team, const void *in, void *out, int64_t n,
                               tutti_type type, tutti_op op, int root, unsigned flags,
                               tutti_request **request)
{
    struct tt_args args = reduce_of(in, out, n, type, op, root);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args allreduce_of(const void *in, void *out, int64_t n, tutti_type type,
                                          tutti_op op)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_allreduce, .n = n, .type = type, .op = op},
        .in = in,
        .out = out};
}

tutti_status tutti_allreduce(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type, tutti_op op)
{
    struct tt_args args = allreduce_of(in, out, n, type, op);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iallreduce(tutti_team *team, const void *in, void *out, int64_t n,
                              tutti_type type, tutti_op op, tutti_request **request)
{
    struct tt_args args = allreduce_of(in, out, n, type, op);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_allreduce_init(tutti_team *team, const void *in, void *out, int64_t n,
                                  tutti_type type, tutti_op op, unsigned flags,
                                  tutti_request **request)
{
    struct tt_args args = allreduce_of(in, out, n, type, op);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args reduce_scatter_block_of(const void *in, void *out, int64_t n,
                                                     tutti_type type, tutti_op op)
{
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_reduce_scatter_block,
                                     .n = n,
                                     .type = type,
                                     .op = op},
                            .in = in,
                            .out = out};
}

tutti_status tutti_reduce_scatter_block(tutti_team *team, const void *in, void *out, int64_t n,
                                        tutti_type type, tutti_op op)
{
    struct tt_args args = reduce_scatter_block_of(in, out, n, type, op);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ireduce_scatter_block(tutti_team *team, const void *in, void *out, int64_t n,
                                         tutti_type type, tutti_op op, tutti_request **request)
{
    struct tt_args args = reduce_scatter_block_of(in, out, n, type, op);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_reduce_scatter_block_init(tutti_team *team, const void *in, void *out, int64_t n,
                                             tutti_type type, tutti_op op, unsigned flags,
                                             tutti_request **request)
{
    struct tt_args args = reduce_scatter_block_of(in, out, n, type, op);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args reduce_scatter_of(const void *in, void *out, const int64_t *counts,
                                               tutti_type type, tutti_op op)
{
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_reduce_scatter,
                                     .type = type,
                                     .op = op,
                                     .out_counts = counts},
                            .in = in,
                            .out = out};
}

tutti_status tutti_reduce_scatter(tutti_team *team, const void *in, void *out,
                                  const int64_t *counts, tutti_type type, tutti_op op)
{
    struct tt_args args = reduce_scatter_of(in, out, counts, type, op);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ireduce_scatter(tutti_team *team, const void *in, void *out,
                                   const int64_t *counts, tutti_type type, tutti_op op,
                                   tutti_request **request)
{
    struct tt_args args = reduce_scatter_of(in, out, counts, type, op);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_reduce_scatter_init(tutti_team *team, const void *in, void *out,
                                       const int64_t *counts, tutti_type type, tutti_op op,
                                       unsigned flags, tutti_request **request)
{
    struct tt_args args = reduce_scatter_of(in, out, counts, type, op);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args gather_of(const void *in, void *out, int64_t n, tutti_type type,
                                       int root)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_gather, .n = n, .type = type, .root = root},
        .in = in,
        .out = out};
}

tutti_status tutti_gather(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                          int root)
{
    struct tt_args args = gather_of(in, out, n, type, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_igather(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           int root, tutti_request **request)
{
    struct tt_args args = gather_of(in, out, n, type, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_gather_init(tutti_team *team, const void *in, void *out, int64_t n,
                               tutti_type type, int root, unsigned flags, tutti_request **request)
{
    struct tt_args args = gather_of(in, out, n, type, root);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args allgather_of(const void *in, void *out, int64_t n, tutti_type type)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_allgather, .n = n, .type = type},
        .in = in,
        .out = out};
}

tutti_status tutti_allgather(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type)
{
    struct tt_args args = allgather_of(in, out, n, type);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iallgather(tutti_team *team, const void *in, void *out, int64_t n,
                              tutti_type type, tutti_request **request)
{
    struct tt_args args = allgather_of(in, out, n, type);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_allgather_init(tutti_team *team, const void *in, void *out, int64_t n,
                                  tutti_type type, unsigned flags, tutti_request **request)
{
    struct tt_args args = allgather_of(in, out, n, type);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args allgatherv_of(const void *in, void *out, const int64_t *counts,
                                           const int64_t *displs, tutti_type type)
{
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_allgatherv,
                                     .type = type,
                                     .out_counts = counts,
                                     .out_displs = displs},
                            .in = in,
                            .out = out};
}

tutti_status tutti_allgatherv(tutti_team *team, const void *in, void *out, const int64_t *counts,
                              const int64_t *displs, tutti_type type)
{
    struct tt_args args = allgatherv_of(in, out, counts, displs, type);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iallgatherv(tutti_team *team, const void *in, void *out, const int64_t *counts,
                               const int64_t *displs, tutti_type type, tutti_request **request)
{
    struct tt_args args = allgatherv_of(in, out, counts, displs, type);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_allgatherv_init(tutti_team *team, const void *in, void *out,
                                   const int64_t *counts, const int64_t *displs, tutti_type type,
                                   unsigned flags, tutti_request **request)
{
    struct tt_args args = allgatherv_of(in, out, counts, displs, type);
    return tt_collective_init(team, &args, flags, request);
}

/* Describes an alltoall. In place, the output is also the input: the library packs the input before
 * it unpacks the result into the same memory. alltoallv_of and alltoallw_of do the same. */
static inline struct tt_args alltoall_of(const void *in, void *out, int64_t n, tutti_type type)
{
    bool place = in == TUTTI_IN_PLACE;
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_alltoall, .n = n, .type = type},
        .in = place ? out : in,
        .out = out,
        .exchanges_in_place = place};
}

tutti_status tutti_alltoall(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type)
{
    struct tt_args args = alltoall_of(in, out, n, type);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ialltoall(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type, tutti_request **request)
{
    struct tt_args args = alltoall_of(in, out, n, type);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_alltoall_init(tutti_team *team, const void *in, void *out, int64_t n,
                                 tutti_type type, unsigned flags, tutti_request **request)
{
    struct tt_args args = alltoall_of(in, out, n, type);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args alltoallv_of(const void *in, const int64_t *in_counts,
                                          const int64_t *in_displs, void *out,
                                          const int64_t *out_counts, const int64_t *out_displs,
                                          tutti_type type)
{
    bool place = in == TUTTI_IN_PLACE;
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_alltoallv,
                                     .type = type,
                                     .in_counts = place ? out_counts : in_counts,
                                     .in_displs = place ? out_displs : in_displs,
                                     .out_counts = out_counts,
                                     .out_displs = out_displs},
                            .in = place ? out : in,
                            .out = out,
                            .exchanges_in_place = place};
}

tutti_status tutti_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                             const int64_t *in_displs, void *out, const int64_t *out_counts,
                             const int64_t *out_displs, tutti_type type)
{
    struct tt_args args = alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ialltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                              const int64_t *in_displs, void *out, const int64_t *out_counts,
                              const int64_t *out_displs, tutti_type type, tutti_request **request)
{
    struct tt_args args = alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_alltoallv_init(tutti_team *team, const void *in, const int64_t *in_counts,
                                  const int64_t *in_displs, void *out, const int64_t *out_counts,
                                  const int64_t *out_displs, tutti_type type, unsigned flags,
                                  tutti_request **request)
{
    struct tt_args args = alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args alltoallw_of(const void *in, const int64_t *in_counts,
                                          const int64_t *in_displs, const tutti_type *in_types,
                                          void *out, const int64_t *out_counts,
                                          const int64_t *out_displs, const tutti_type *out_types)
{
    bool place = in == TUTTI_IN_PLACE;
    return (struct tt_args){.call = {.commutes = true,
                                     .coll = TT_COLL_alltoallv,
                                     .type = TT_TYPE_EACH,
                                     .in_counts = place ? out_counts : in_counts,
                                     .in_displs = place ? out_displs : in_displs,
                                     .out_counts = out_counts,
                                     .out_displs = out_displs},
                            .in = place ? out : in,
                            .out = out,
                            .exchanges_in_place = place,
                            .typed = true,
                            .in_types = place ? out_types : in_types,
                            .out_types = out_types,
                            .one_type = TT_TYPE_EACH};
}

tutti_status tutti_alltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                             const int64_t *in_displs, const tutti_type *in_types, void *out,
                             const int64_t *out_counts, const int64_t *out_displs,
                             const tutti_type *out_types)
{
    struct tt_args args =
        alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types);
    return tt_collective_run(team, &args);
}

tutti_status tutti_ialltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                              const int64_t *in_displs, const tutti_type *in_types, void *out,
                              const int64_t *out_counts, const int64_t *out_displs,
                              const tutti_type *out_types, tutti_request **request)
{
    struct tt_args args =
        alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_alltoallw_init(tutti_team *team, const void *in, const int64_t *in_counts,
                                  const int64_t *in_displs, const tutti_type *in_types, void *out,
                                  const int64_t *out_counts, const int64_t *out_displs,
                                  const tutti_type *out_types, unsigned flags,
                                  tutti_request **request)
{
    struct tt_args args =
        alltoallw_of(in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args scatter_of(const void *in, void *out, int64_t n, tutti_type type,
                                        int root)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_scatter, .n = n, .type = type, .root = root},
        .in = in,
        .out = out};
}

tutti_status tutti_scatter(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           int root)
{
    struct tt_args args = scatter_of(in, out, n, type, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iscatter(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                            int root, tutti_request **request)
{
    struct tt_args args = scatter_of(in, out, n, type, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_scatter_init(tutti_team *team, const void *in, void *out, int64_t n,
                                tutti_type type, int root, unsigned flags, tutti_request **request)
{
    struct tt_args args = scatter_of(in, out, n, type, root);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args scan_of(const void *in, void *out, int64_t n, tutti_type type,
                                     tutti_op op)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_scan, .n = n, .type = type, .op = op},
        .in = in,
        .out = out};
}

tutti_status tutti_scan(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                        tutti_op op)
{
    struct tt_args args = scan_of(in, out, n, type, op);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iscan(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                         tutti_op op, tutti_request **request)
{
    struct tt_args args = scan_of(in, out, n, type, op);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_scan_init(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type, tutti_op op, unsigned flags, tutti_request **request)
{
    struct tt_args args = scan_of(in, out, n, type, op);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args exscan_of(const void *in, void *out, int64_t n, tutti_type type,
                                       tutti_op op)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_exscan, .n = n, .type = type, .op = op},
        .in = in,
        .out = out};
}

tutti_status tutti_exscan(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                          tutti_op op)
{
    struct tt_args args = exscan_of(in, out, n, type, op);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iexscan(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           tutti_op op, tutti_request **request)
{
    struct tt_args args = exscan_of(in, out, n, type, op);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_exscan_init(tutti_team *team, const void *in, void *out, int64_t n,
                               tutti_type type, tutti_op op, unsigned flags,
                               tutti_request **request)
{
    struct tt_args args = exscan_of(in, out, n, type, op);
    return tt_collective_init(team, &args, flags, request);
}

/* Returns this rank's count in a gatherv or scatterv: 0 in place, where the argument n may have any
 * value. */
static inline int64_t own_n(const void *in, int64_t n)
{
    return in == TUTTI_IN_PLACE ? 0 : n;
}

static inline struct tt_args gatherv_of(const void *in, int64_t n, void *out, const int64_t *counts,
                                        const int64_t *displs, tutti_type type, int root)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_gatherv, .type = type, .root = root},
        .in = in,
        .out = out,
        .n = own_n(in, n),
        .counts = counts,
        .displs = displs};
}

tutti_status tutti_gatherv(tutti_team *team, const void *in, int64_t n, void *out,
                           const int64_t *counts, const int64_t *displs, tutti_type type, int root)
{
    struct tt_args args = gatherv_of(in, n, out, counts, displs, type, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_igatherv(tutti_team *team, const void *in, int64_t n, void *out,
                            const int64_t *counts, const int64_t *displs, tutti_type type, int root,
                            tutti_request **request)
{
    struct tt_args args = gatherv_of(in, n, out, counts, displs, type, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_gatherv_init(tutti_team *team, const void *in, int64_t n, void *out,
                                const int64_t *counts, const int64_t *displs, tutti_type type,
                                int root, unsigned flags, tutti_request **request)
{
    struct tt_args args = gatherv_of(in, n, out, counts, displs, type, root);
    return tt_collective_init(team, &args, flags, request);
}

static inline struct tt_args scatterv_of(const void *in, const int64_t *counts,
                                         const int64_t *displs, void *out, int64_t n,
                                         tutti_type type, int root)
{
    return (struct tt_args){
        .call = {.commutes = true, .coll = TT_COLL_scatterv, .type = type, .root = root},
        .in = in,
        .out = out,
        .n = own_n(in, n),
        .counts = counts,
        .displs = displs};
}

tutti_status tutti_scatterv(tutti_team *team, const void *in, const int64_t *counts,
                            const int64_t *displs, void *out, int64_t n, tutti_type type, int root)
{
    struct tt_args args = scatterv_of(in, counts, displs, out, n, type, root);
    return tt_collective_run(team, &args);
}

tutti_status tutti_iscatterv(tutti_team *team, const void *in, const int64_t *counts,
                             const int64_t *displs, void *out, int64_t n, tutti_type type, int root,
                             tutti_request **request)
{
    struct tt_args args = scatterv_of(in, counts, displs, out, n, type, root);
    return tt_collective_start(team, &args, request);
}

tutti_status tutti_scatterv_init(tutti_team *team, const void *in, const int64_t *counts,
                                 const int64_t *displs, void *out, int64_t n, tutti_type type,
                                 int root, unsigned flags, tutti_request **request)
{
    struct tt_args args = scatterv_of(in, counts, displs, out, n, type, root);
    return tt_collective_init(team, &args, flags, request);
}
