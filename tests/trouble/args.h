/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes from a call, as the planner has it (struct tt_call), the arguments with which a user
 * makes this call. The two differ for a gatherv or scatterv: a user passes this rank's count, and
 * at the root the counts of all ranks, and the library makes the four arrays of the struct from
 * these.
 */
#ifndef TESTS_TROUBLE_ARGS_H
#define TESTS_TROUBLE_ARGS_H

#include "api/api.h"

static inline struct tt_args args_of(const struct tt_call *call)
{
    struct tt_args args = {.call = *call};
    bool gathers = call->coll == TT_COLL_gatherv, scatters = call->coll == TT_COLL_scatterv;
    if (!gathers && !scatters) return args;
    args.n = gathers ? call->in_counts[call->root] : call->out_counts[call->root];
    args.counts = gathers ? call->out_counts : call->in_counts;
    args.displs = gathers ? call->out_displs : call->in_displs;
    return args;
}

#endif
