/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The setup of a rank's fabric, and the two fabrics whose ranks share one address space.
 */
#include "fabric/fabric.h"

#include <string.h>

#include "base/process-lock.h"

/* ---- Simulated nodes ---- */

/* TUTTI_NODES makes ranks of one node behave as if they were on several nodes. */

/* Parses a number at *at that ends at one of `ends`, and moves *at to its end. 0: there is no
 * number, or it is above `most`. */
static int64_t number(const char **at, const char *ends, int most)
{
    size_t n = strcspn(*at, ends);
    int64_t value = 0;
    bool good = tt_parse_size(*at, *at + n, &value) && value <= most;
    *at += n;
    return good ? value : 0;
}

/* Reads one item of the text at *at, SIZE (a node of SIZE ranks) or SIZE*NODES (NODES such nodes),
 * and moves *at to the end of the item. Adds the number of these nodes to *nodes. The ranks from
 * `first` on are placed on them; node[r], unless `node` is NULL, becomes the node of rank r.
 * Returns how many ranks are placed; -1: the item is malformed, or has more than the size - first
 * ranks that are left. */
static int64_t place(const char **at, int first, int size, int *node, int *nodes)
{
    int64_t each = number(at, "*,", size), times = 1;
    if (**at == '*') {
        ++*at;
        times = number(at, ",", size);
    }
    if (each < 1 || times < 1 || each * times > size - first) return -1;
    for (int64_t i = 0; node && i < each * times; i++) node[first + i] = *nodes + (int)(i / each);
    *nodes += (int)times;
    return each * times;
}

static tutti_status place_all(const char *text, int size, int *node, int *nodes)
{
    const char *name = tt_setting_must_match_name(TT_MUST_MATCH_NODES), *at = text;
    int ranks = 0;
    for (bool more = true; more; at += more) {
        size_t begin = (size_t)(at - text);
        int64_t n = place(&at, ranks, size, node, nodes);
        if (n < 0)
            return tt_fail(TUTTI_ERR_ARG,
                           "%s=%.200s: expected the ranks of each node, as in 4,2,1,1 or 4*16, %d "
                           "together (at character %zu)",
                           name, text, size, begin + 1);
        ranks += (int)n;
        more = *at == ',';
    }
    if (ranks == size) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "%s=%.200s has room for %d ranks, the job has %d", name, text,
                   ranks, size);
}

bool tt_fabric_nodes_valid(const char *text)
{
    int64_t n = 0;
    int nodes = 0;
    for (bool more = true; more && n >= 0; text += more) {
        n = place(&text, 0, INT32_MAX, NULL, &nodes);
        more = *text == ',';
    }
    return n > 0;
}

tutti_status tt_fabric_nodes(int size, int **node, int *nodes)
{
    const char *text = tt_setting(tt_setting_must_match_name(TT_MUST_MATCH_NODES));
    *node = NULL;
    *nodes = 1;
    if (!text) return TUTTI_OK;
    int *made = tt_alloc((size_t)size * sizeof *made), n = 0;
    if (!made) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the nodes of %d ranks", size);
    tutti_status status = place_all(text, size, made, &n);
    if (status == TUTTI_OK && n > 1) {
        *node = made;
        *nodes = n;
        return TUTTI_OK;
    }
    tt_free(made);
    return status;
}

/* ---- The fabric ---- */

static tutti_status read_here(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                              void *to, tt_address from, int64_t len)
{
    (void)self;
    tt_memcpy(to, tt_fabric_reach(f, rank, from), (size_t)len);
    return TUTTI_OK;
}

static tutti_status write_here(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               tt_address to, const void *from, int64_t len)
{
    (void)self;
    tt_memcpy(tt_fabric_reach(f, rank, to), from, (size_t)len);
    return TUTTI_OK;
}

static const struct tt_fabric_ops fabric_self = {
    .name = "self", .read = read_here, .write = write_here};
static const struct tt_fabric_ops fabric_thread = {
    .name = "thread", .read = read_here, .write = write_here};

static const struct tt_fabric_ops *ops_for(const struct tt_job_page *job)
{
    if (job->size == 1) return &fabric_self;
    return job->threads ? &fabric_thread : &tt_fabric_shm;
}

/* Sets f->node and f->nodes. A job on several nodes has the nodes on which its ranks run. In a job
 * on one node, TUTTI_NODES may divide the ranks into several simulated nodes. A nested job (of
 * endpoints) is always on one node: TUTTI_NODES is only for the job that contains it. */
static tutti_status map_nodes(struct tt_fabric *f)
{
    if (f->job->nested) return TUTTI_OK;
    if (f->job->nodes == 1) return tt_fabric_nodes(f->size, &f->node, &f->nodes);
    if (tt_setting("TUTTI_NODES"))
        return tt_fail(TUTTI_ERR_ARG, "TUTTI_NODES is for jobs on one machine, this job is on %d",
                       f->job->nodes);
    f->node = tt_alloc((size_t)f->size * sizeof *f->node);
    if (!f->node) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the nodes of %d ranks", f->size);
    for (int r = 0; r < f->size; r++) f->node[r] = f->job->rank[r].node;
    f->nodes = f->job->nodes;
    return TUTTI_OK;
}

static tutti_status note_same_process(struct tt_fabric *f)
{
    if (!f->job->nested) return TUTTI_OK;
    f->same_process = tt_alloc((size_t)f->size * sizeof *f->same_process);
    if (!f->same_process)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the places of %d ranks", f->size);
    for (int r = 0; r < f->size; r++)
        f->same_process[r] = f->job->rank[r].process == f->job->rank[f->me].process;
    return TUTTI_OK;
}

static tutti_status note_forbidden(struct tt_fabric *f)
{
    if (f->mapped) return TUTTI_OK;
    f->forbidden = tt_calloc((size_t)f->size, sizeof *f->forbidden);
    if (f->forbidden) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for the access rights to %d ranks", f->size);
}

void tt_fabric_forbid(struct tt_fabric *f, int rank, int accesses)
{
    if (f->forbidden) atomic_fetch_or(&f->forbidden[rank], (unsigned char)accesses);
}

/* ---- Parked memory ---- */

static struct tt_process_lock parking = TT_PROCESS_LOCK;
static struct tt_parked *parked_all;

void tt_fabric_park(const struct tt_fabric *f, struct tt_parked *parked, void *memory)
{
    tt_process_lock(&parking);
    *parked = (struct tt_parked){parked_all, memory, f->job->stamp, f->client};
    atomic_thread_fence(memory_order_release); /* process-lock.h */
    parked_all = parked;
    tt_process_unlock(&parking);
}

/* Frees the parked memory of those clients of this job that all ranks of the node have left. */
static void free_forsaken(const struct tt_job_page *job)
{
    tt_process_lock(&parking);
    for (struct tt_parked **link = &parked_all, *parked; (parked = *link) != NULL;) {
        if (parked->stamp != job->stamp || tt_common_find(job, parked->client)) {
            link = &parked->next;
            continue;
        }
        *link = parked->next;
        tt_free(parked->memory);
    }
    tt_process_unlock(&parking);
}

/* ---- Opening and closing ---- */

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
                            .reads = true,
                            .writes = true,
                            .everywhere = TT_ACCESSES,
                            .fences = true,
                            .one_kernel = true,
                            .cores = tt_usable_cores(),
                            .eager_most = tt_setting_must_match(TT_MUST_MATCH_EAGER),
                            .watchdog_ns = tt_setting_seconds("TUTTI_WATCHDOG")};
    f->policy = tt_wait_policy_for(job->arenas, f->cores, false);
    f->policy.fences = true;
    free_forsaken(job);
    tutti_status status = map_nodes(f);
    f->crowded = f->nodes <= 1;
    if (status == TUTTI_OK) status = note_same_process(f);
    if (status == TUTTI_OK) status = note_forbidden(f);
    if (status == TUTTI_OK) status = tt_arena_init(&f->arena, seat);
    if (status == TUTTI_OK) status = tt_fault_wrap(f);
    if (status == TUTTI_OK) status = tt_trace_wrap(f);
    if (status == TUTTI_OK) status = tt_tally_wrap(f);
    if (status != TUTTI_OK) tt_fabric_close(f);
    return status;
}

void tt_fabric_close(struct tt_fabric *f)
{
    free_forsaken(f->job);
    if (f->ops && f->ops->close) f->ops->close(f->ops, f);
    tt_arena_release(&f->arena);
    tt_free(f->node);
    tt_free(f->same_process);
    tt_free(f->rankings);
    tt_free((void *)f->forbidden);
    f->forbidden = NULL;
    f->node = NULL;
    f->same_process = NULL;
    f->rankings = NULL;
    f->ops = NULL;
}

void tt_fabric_ring(struct tt_fabric *f, const int *ranks, int n)
{
    if (n < 0) tt_job_wake_all(f->job);
    for (int i = 0; i < n; i++) tt_job_wake(f->job, ranks[i], 0);
}
