/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's end of the job, and the two fabrics whose ranks share one address space.
 */
#include "fabric/fabric.h"

#include <string.h>

static tutti_status read_here(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                              void *to, tt_address from, int64_t len)
{
    (void)self;
    (void)rank;
    tt_memcpy(to, tt_fabric_reach(f, from), (size_t)len);
    return TUTTI_OK;
}

static tutti_status write_here(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               tt_address to, const void *from, int64_t len)
{
    (void)self;
    (void)rank;
    tt_memcpy(tt_fabric_reach(f, to), from, (size_t)len);
    return TUTTI_OK;
}

const struct tt_fabric_ops tt_fabric_self = {
    .name = "self", .read = read_here, .write = write_here};
const struct tt_fabric_ops tt_fabric_thread = {
    .name = "thread", .read = read_here, .write = write_here};

static const struct tt_fabric_ops *ops_for(const struct tt_job_page *job)
{
    if (job->size == 1) return &tt_fabric_self;
    return job->threads ? &tt_fabric_thread : &tt_fabric_shm;
}

/* The machines that the job is on; where it is one, those that it is said to behave as. */
static tutti_status map_nodes(struct tt_fabric *f)
{
    if (f->job->nodes == 1) return tt_fabric_nodes(f->size, &f->node, &f->nodes);
    if (tt_setting("TUTTI_NODES"))
        return tt_fail(TUTTI_ERR_ARG, "TUTTI_NODES is for jobs on one machine, this one is on %d",
                       f->job->nodes);
    f->node = tt_alloc((size_t)f->size * sizeof *f->node);
    if (!f->node) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the nodes of %d ranks", f->size);
    for (int r = 0; r < f->size; r++) f->node[r] = f->job->rank[r].node;
    f->nodes = f->job->nodes;
    return TUTTI_OK;
}

static tutti_status note_forbidden(struct tt_fabric *f)
{
    if (f->mapped) return TUTTI_OK;
    f->forbidden = tt_calloc((size_t)f->size, sizeof *f->forbidden);
    if (f->forbidden) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for what may be done to %d ranks", f->size);
}

void tt_fabric_forbid(struct tt_fabric *f, int rank, int accesses)
{
    if (f->forbidden) atomic_fetch_or(&f->forbidden[rank], (unsigned char)accesses);
}

tutti_status tt_fabric_init(struct tt_fabric *f, const struct tt_seat *seat)
{
    struct tt_job_page *job = tt_segment_page(&seat->segment);
    *f = (struct tt_fabric){.ops = ops_for(job),
                            .segment = &seat->segment,
                            .job = job,
                            .common = seat->common,
                            .client = seat->number,
                            .me = seat->rank,
                            .size = job->size,
                            .nodes = 1,
                            .mapped = job->threads || job->size == 1,
                            .direct = true,
                            .reads = true,
                            .writes = true,
                            .one_kernel = true,
                            .cores = tt_usable_cores(),
                            .eager_most = tt_setting_alike(TT_ALIKE_EAGER),
                            .watchdog_ns = tt_setting_seconds("TUTTI_WATCHDOG")};
    f->patience = tt_patience_for(job->arenas, f->cores);
    tt_wait_register(job);
    tutti_status status = map_nodes(f);
    if (status == TUTTI_OK) status = note_forbidden(f);
    if (status == TUTTI_OK) status = tt_arena_init(&f->arena, seat);
    if (status == TUTTI_OK) status = tt_fault_wrap(f);
    if (status == TUTTI_OK) status = tt_trace_wrap(f);
    if (status != TUTTI_OK) tt_fabric_close(f);
    return status;
}

void tt_fabric_close(struct tt_fabric *f)
{
    if (f->ops && f->ops->close) f->ops->close(f->ops, f);
    tt_arena_release(&f->arena);
    tt_free(f->node);
    tt_free((void *)f->forbidden);
    f->forbidden = NULL;
    f->node = NULL;
    f->ops = NULL;
}

void tt_fabric_ring(struct tt_fabric *f, const int *ranks, int n)
{
    if (n < 0) tt_job_wake_all(f->job);
    for (int i = 0; i < n; i++) tt_job_wake(f->job, ranks[i], 0);
}
