/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather `direct`: all other ranks put their pieces into the root's own buffer at the same time.
 *
 *     IN of 1 ====> OUT[1] root
 *     IN of 2 ====> OUT[2]          one copy, and an answer
 *
 * The root's signal says that its buffer is open. Each answer says that a piece is in place.
 * Source: single copy by cross-memory attach in message-passing libraries.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t bytes = tt_call_bytes(call);
    tt_copy_at_root(b, call->root, map, me, !call->in_place, tt_at(TT_OUT, call->root, me * bytes),
                    tt_own(TT_IN, 0), bytes);
}

const struct tt_algorithm tt_gather_direct = {
    .coll = TT_COLL_gather,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w L",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_writes,
    .build = build,
};
