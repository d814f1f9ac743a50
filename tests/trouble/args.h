/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arguments that a user passes for a call of a plan. In a gatherv or scatterv the user passes
 * this rank's count, and only the root passes the counts of all ranks; the library makes from these
 * the four arrays that the call has.
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
