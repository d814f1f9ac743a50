/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast `direct`: all other ranks copy the message out of the root's own buffer at the same
 * time.
 *
 *     root  OUT ====> OUT of 1
 *               ====> OUT of 2 ...      one copy, and an answer
 *
 * A rank's answer says that it has the message; after all answers the root may change its buffer
 * again.
 * Source: single-copy broadcast by cross-memory attach.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    tt_copy_at_root(b, call->root, map, me, false, tt_own(TT_OUT, 0), tt_at(TT_OUT, call->root, 0),
                    tt_call_bytes(call));
}

const struct tt_algorithm tt_bcast_direct = {
    .coll = TT_COLL_bcast,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w L",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};
