/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command with a mistake, which MUTANT chooses. The linker puts these functions in the place of
 * the library's own (--wrap). The test of random problems must find each of these mistakes:
 *
 *     copy      copies of more than a page leave out their last byte
 *     reduce    reductions of more than five operands leave out the last one
 *     gather    the first byte at the root of a gather is one too large. Besides the check of
 *               gather itself, only the check that another collective has the same result as a
 *               combination with a gather (tools/bench-identity.c) can find this
 *     sum       16-bit sums are bitwise ORs, also in the serial reference, so only the check that
 *               calls are linear can find this
 *     order     the first byte of a scan is one too large on a team whose ranks have other numbers
 *               than in the job. Only the check with permuted ranks can find this, unless the team
 *               of the problem is such a team
 *     neighbor_allgather, ..., alltoallw
 *               the first byte that this collective receives is one too large
 *
 * With these values, `tutti calibrate` gets times that no machine can have:
 *
 *     line      a barrier of two ranks takes no longer than the exchange of a cache line on a busy
 *               machine
 *     fast      as `line`, and an allreduce by messages takes no time at all
 *
 * With other values of MUTANT, the command finds numbers that make no sense in the memory of a job:
 *
 *     cores     the map of its world
 *     wisdom    the number of lines of its wisdom
 *     line-of-wisdom    a line of its wisdom
 *     model     its model of the machine
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "bench-job.h"
#include "job/common.h"
#include "run/exec.h"
#include "run/roll.h"
#include "type/layout.h"
#include "type/type.h"

enum { PAGE = 4096, OPERANDS = 5 };

tutti_status __real_tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len);
tutti_status __wrap_tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len);
tutti_status __real_tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                                     int64_t len);
tutti_status __wrap_tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                                     int64_t len);

tutti_status __real_tutti_gather(tutti_team *team, const void *in, void *out, int64_t n,
                                 tutti_type type, int root);
tutti_status __wrap_tutti_gather(tutti_team *team, const void *in, void *out, int64_t n,
                                 tutti_type type, int root);

void __real_tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op);
void __wrap_tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op);
tt_reduce_fn *__real_tt_reduce_lookup(tutti_type type, tutti_op op);
tt_reduce_fn *__wrap_tt_reduce_lookup(tutti_type type, tutti_op op);

tutti_status __real_tt_collective_run(tutti_team *team, struct tt_args *args);
tutti_status __wrap_tt_collective_run(tutti_team *team, struct tt_args *args);

bool __real_tt_bench_processes(struct tt_bench_job *job, const struct tt_bench_case *c,
                               struct tt_bench_result *result);
bool __wrap_tt_bench_processes(struct tt_bench_job *job, const struct tt_bench_case *c,
                               struct tt_bench_result *result);

tutti_status __real_tt_roll_page(const struct tt_source *source, struct tt_job_page **page);
tutti_status __wrap_tt_roll_page(const struct tt_source *source, struct tt_job_page **page);

static bool is_mutant(const char *name)
{
    const char *mutant = getenv("MUTANT");
    return mutant && strcmp(mutant, name) == 0;
}

tutti_status __wrap_tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len)
{
    return __real_tt_access_copy(exec, range, len > PAGE && is_mutant("copy") ? len - 1 : len);
}

tutti_status __wrap_tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                                     int64_t len)
{
    return __real_tt_access_reduce(exec, range, n > OPERANDS && is_mutant("reduce") ? n - 1 : n,
                                   len);
}

tutti_status __wrap_tutti_gather(tutti_team *team, const void *in, void *out, int64_t n,
                                 tutti_type type, int root)
{
    tutti_status status = __real_tutti_gather(team, in, out, n, type, root);
    if (n > 0 && tutti_rank(team) == root && is_mutant("gather")) ++*(char *)out;
    return status;
}

static tutti_op wrong_op(tutti_type type, tutti_op op)
{
    bool sums = op == TUTTI_SUM && (type == TUTTI_I16 || type == TUTTI_U16);
    return sums && is_mutant("sum") ? TUTTI_BOR : op;
}

void __wrap_tt_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op)
{
    __real_tt_reduce(out, in, k, n, type, wrong_op(type, op));
}

tt_reduce_fn *__wrap_tt_reduce_lookup(tutti_type type, tutti_op op)
{
    return __real_tt_reduce_lookup(type, wrong_op(type, op));
}

/* Adds one to the first byte that an alltoallw or a collective of neighbours has received. */
static void spoil_piece(const struct tt_args *args, int pieces)
{
    for (int i = 0; i < pieces; i++) {
        if (args->call.out_counts[i] == 0) continue;
        ++((char *)args->out)[args->call.out_displs[i]];
        return;
    }
}

tutti_status __wrap_tt_collective_run(tutti_team *team, struct tt_args *args)
{
    const struct tt_args before = *args;
    int me = tutti_rank(team);
    tutti_status status = __real_tt_collective_run(team, args);
    const char *neighbors = tt_type_neighbors(before.call.type);
    if (status != TUTTI_OK) return status;
    if (before.typed && is_mutant(neighbors ? neighbors : "alltoallw"))
        spoil_piece(&before, neighbors ? before.out_n : tutti_size(team));
    bool moved = before.call.coll == TT_COLL_scan && team->run.job_rank[me] != me;
    if (moved && before.call.n > 0 && is_mutant("order")) ++*(char *)before.out;
    return status;
}

bool __wrap_tt_bench_processes(struct tt_bench_job *job, const struct tt_bench_case *c,
                               struct tt_bench_result *result)
{
    const double line_us = 0.1, turn_us = 2, message_us = 5;
    bool sends = c->algorithm && strcmp(c->algorithm, "doubling") == 0;
    if (!is_mutant("line") && !is_mutant("fast")) return __real_tt_bench_processes(job, c, result);
    result->min_us = c->problem.p == 2 ? line_us : turn_us * c->problem.p;
    if (sends) result->min_us = is_mutant("fast") ? 0 : message_us;
    return true;
}

static void spoil(struct tt_common *common)
{
    if (is_mutant("cores")) common->world.cores = -1;
    if (is_mutant("wisdom")) common->wisdom.n = UINT32_MAX;
    if (is_mutant("line-of-wisdom"))
        common->wisdom = (struct tt_wisdom){.n = 1, .line = {{.p = 4, .cores = 1, .radix = -1}}};
    if (is_mutant("model")) common->machine = (struct tt_machine_in_force){.use = TT_MACHINE_TABLE};
}

tutti_status __wrap_tt_roll_page(const struct tt_source *source, struct tt_job_page **page)
{
    tutti_status status = __real_tt_roll_page(source, page);
    if (status == TUTTI_OK)
        for (int i = 0; i < TT_CLIENTS; i++) spoil(tt_common_at(*page, i));
    return status;
}
