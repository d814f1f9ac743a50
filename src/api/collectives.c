/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives in their three forms: each fills in a request, X_of, and hands it on.
 */
#include "api/api.h"

static inline struct tt_request barrier_of(void)
{
    return (struct tt_request){.call = {.commutes = true, .coll = TT_COLL_barrier}};
}

tutti_status tutti_barrier(tutti_team *team)
{
    struct tt_request rq = barrier_of();
    return tt_request_run(team, &rq);
}

tutti_status tutti_ibarrier(tutti_team *team, tutti_plan **plan)
{
    struct tt_request rq = barrier_of();
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_barrier(tutti_team *team, unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = barrier_of();
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request bcast_of(void *buffer, int64_t n, tutti_type type, int root)
{
    return (struct tt_request){
        .call = {.commutes = true, .coll = TT_COLL_bcast, .n = n, .type = type, .root = root},
        .out = buffer};
}

tutti_status tutti_bcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root)
{
    struct tt_request rq = bcast_of(buffer, n, type, root);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                          tutti_plan **plan)
{
    struct tt_request rq = bcast_of(buffer, n, type, root);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_bcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                              unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = bcast_of(buffer, n, type, root);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request reduce_of(const void *in, void *out, int64_t n, tutti_type type,
                                          tutti_op op, int root)
{
    return (struct tt_request){.call = {.commutes = true,
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
    struct tt_request rq = reduce_of(in, out, n, type, op, root);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ireduce(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           tutti_op op, int root, tutti_plan **plan)
{
    struct tt_request rq = reduce_of(in, out, n, type, op, root);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_reduce(tutti_team *team, const void *in, void *out, int64_t n,
                               tutti_type type, tutti_op op, int root, unsigned flags,
                               tutti_plan **plan)
{
    struct tt_request rq = reduce_of(in, out, n, type, op, root);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request allreduce_of(const void *in, void *out, int64_t n, tutti_type type,
                                             tutti_op op)
{
    return (struct tt_request){
        .call = {.commutes = true, .coll = TT_COLL_allreduce, .n = n, .type = type, .op = op},
        .in = in,
        .out = out};
}

tutti_status tutti_allreduce(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type, tutti_op op)
{
    struct tt_request rq = allreduce_of(in, out, n, type, op);
    return tt_request_run(team, &rq);
}

tutti_status tutti_iallreduce(tutti_team *team, const void *in, void *out, int64_t n,
                              tutti_type type, tutti_op op, tutti_plan **plan)
{
    struct tt_request rq = allreduce_of(in, out, n, type, op);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_allreduce(tutti_team *team, const void *in, void *out, int64_t n,
                                  tutti_type type, tutti_op op, unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = allreduce_of(in, out, n, type, op);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request reduce_scatter_block_of(const void *in, void *out, int64_t n,
                                                        tutti_type type, tutti_op op)
{
    return (struct tt_request){.call = {.commutes = true,
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
    struct tt_request rq = reduce_scatter_block_of(in, out, n, type, op);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ireduce_scatter_block(tutti_team *team, const void *in, void *out, int64_t n,
                                         tutti_type type, tutti_op op, tutti_plan **plan)
{
    struct tt_request rq = reduce_scatter_block_of(in, out, n, type, op);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_reduce_scatter_block(tutti_team *team, const void *in, void *out, int64_t n,
                                             tutti_type type, tutti_op op, unsigned flags,
                                             tutti_plan **plan)
{
    struct tt_request rq = reduce_scatter_block_of(in, out, n, type, op);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request reduce_scatter_of(const void *in, void *out, const int64_t *counts,
                                                  tutti_type type, tutti_op op)
{
    return (struct tt_request){.call = {.commutes = true,
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
    struct tt_request rq = reduce_scatter_of(in, out, counts, type, op);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ireduce_scatter(tutti_team *team, const void *in, void *out,
                                   const int64_t *counts, tutti_type type, tutti_op op,
                                   tutti_plan **plan)
{
    struct tt_request rq = reduce_scatter_of(in, out, counts, type, op);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_reduce_scatter(tutti_team *team, const void *in, void *out,
                                       const int64_t *counts, tutti_type type, tutti_op op,
                                       unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = reduce_scatter_of(in, out, counts, type, op);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request gather_of(const void *in, void *out, int64_t n, tutti_type type,
                                          int root)
{
    return (struct tt_request){
        .call = {.commutes = true, .coll = TT_COLL_gather, .n = n, .type = type, .root = root},
        .in = in,
        .out = out};
}

tutti_status tutti_gather(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                          int root)
{
    struct tt_request rq = gather_of(in, out, n, type, root);
    return tt_request_run(team, &rq);
}

tutti_status tutti_igather(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type,
                           int root, tutti_plan **plan)
{
    struct tt_request rq = gather_of(in, out, n, type, root);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_gather(tutti_team *team, const void *in, void *out, int64_t n,
                               tutti_type type, int root, unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = gather_of(in, out, n, type, root);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request allgather_of(const void *in, void *out, int64_t n, tutti_type type)
{
    return (struct tt_request){
        .call = {.commutes = true, .coll = TT_COLL_allgather, .n = n, .type = type},
        .in = in,
        .out = out};
}

tutti_status tutti_allgather(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type)
{
    struct tt_request rq = allgather_of(in, out, n, type);
    return tt_request_run(team, &rq);
}

tutti_status tutti_iallgather(tutti_team *team, const void *in, void *out, int64_t n,
                              tutti_type type, tutti_plan **plan)
{
    struct tt_request rq = allgather_of(in, out, n, type);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_allgather(tutti_team *team, const void *in, void *out, int64_t n,
                                  tutti_type type, unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = allgather_of(in, out, n, type);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request allgatherv_of(const void *in, void *out, const int64_t *counts,
                                              const int64_t *displs, tutti_type type)
{
    return (struct tt_request){.call = {.commutes = true,
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
    struct tt_request rq = allgatherv_of(in, out, counts, displs, type);
    return tt_request_run(team, &rq);
}

tutti_status tutti_iallgatherv(tutti_team *team, const void *in, void *out, const int64_t *counts,
                               const int64_t *displs, tutti_type type, tutti_plan **plan)
{
    struct tt_request rq = allgatherv_of(in, out, counts, displs, type);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_allgatherv(tutti_team *team, const void *in, void *out,
                                   const int64_t *counts, const int64_t *displs, tutti_type type,
                                   unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = allgatherv_of(in, out, counts, displs, type);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request alltoall_of(const void *in, void *out, int64_t n, tutti_type type)
{
    return (struct tt_request){
        .call = {.commutes = true, .coll = TT_COLL_alltoall, .n = n, .type = type},
        .in = in,
        .out = out};
}

tutti_status tutti_alltoall(tutti_team *team, const void *in, void *out, int64_t n, tutti_type type)
{
    struct tt_request rq = alltoall_of(in, out, n, type);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ialltoall(tutti_team *team, const void *in, void *out, int64_t n,
                             tutti_type type, tutti_plan **plan)
{
    struct tt_request rq = alltoall_of(in, out, n, type);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_alltoall(tutti_team *team, const void *in, void *out, int64_t n,
                                 tutti_type type, unsigned flags, tutti_plan **plan)
{
    struct tt_request rq = alltoall_of(in, out, n, type);
    return tt_request_plan(team, &rq, flags, plan);
}

static inline struct tt_request alltoallv_of(const void *in, const int64_t *in_counts,
                                             const int64_t *in_displs, void *out,
                                             const int64_t *out_counts, const int64_t *out_displs,
                                             tutti_type type)
{
    return (struct tt_request){.call = {.commutes = true,
                                        .coll = TT_COLL_alltoallv,
                                        .type = type,
                                        .in_counts = in_counts,
                                        .in_displs = in_displs,
                                        .out_counts = out_counts,
                                        .out_displs = out_displs},
                               .in = in,
                               .out = out};
}

tutti_status tutti_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                             const int64_t *in_displs, void *out, const int64_t *out_counts,
                             const int64_t *out_displs, tutti_type type)
{
    struct tt_request rq =
        alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_request_run(team, &rq);
}

tutti_status tutti_ialltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                              const int64_t *in_displs, void *out, const int64_t *out_counts,
                              const int64_t *out_displs, tutti_type type, tutti_plan **plan)
{
    struct tt_request rq =
        alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_request_start(team, &rq, plan);
}

tutti_status tutti_plan_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                                  const int64_t *in_displs, void *out, const int64_t *out_counts,
                                  const int64_t *out_displs, tutti_type type, unsigned flags,
                                  tutti_plan **plan)
{
    struct tt_request rq =
        alltoallv_of(in, in_counts, in_displs, out, out_counts, out_displs, type);
    return tt_request_plan(team, &rq, flags, plan);
}
