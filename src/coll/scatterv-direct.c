/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scatterv `direct`: all other ranks copy their pieces out of the root's own buffer at the same
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
    struct tt_span mine = tt_block_from(call, call->root);
    /* To another rank the root opens only the segment of IN for that rank, from byte 0 on. The
     * root itself uses the offset of its piece in IN. */
    int64_t at = me == call->root ? tt_block_to(call, me).off : 0;
    tt_copy_at_root(b, call->root, map, me, true, tt_own(TT_OUT, mine.off),
                    tt_at(TT_IN, call->root, at), mine.len);
}

const struct tt_algorithm tt_scatterv_direct = {
    .coll = TT_COLL_scatterv,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w max(L_0 ... L_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_reads,
    .build = build,
};
