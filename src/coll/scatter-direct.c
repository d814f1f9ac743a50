/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatter `direct`: all other ranks copy their pieces out of the root's own buffer at the same
 * time.
 *
 *     root  IN [to 0][to 1][to 2] ====> OUT of 1
 *                                 ====> OUT of 2 ...    one copy, and an answer
 *
 * A rank's answer says that it has its piece; after all answers the root may change its buffer
 * again.
 * Source: single-copy scatter by cross-memory attach.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t bytes = tt_call_bytes(call);
    tt_copy_at_root(b, call->root, map, me, !call->in_place, tt_own(TT_OUT, 0),
                    tt_at(TT_IN, call->root, me * bytes), bytes);
}

const struct tt_algorithm tt_scatter_direct = {
    .coll = TT_COLL_scatter,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w L",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};
