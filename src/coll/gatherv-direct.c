/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv `direct`: all other ranks put their pieces into the root's own buffer at the same time.
 *
 *     IN of 1 ====> OUT[1] root
 *     IN of 2 ====> OUT[2]          one copy, and an answer
 *
 * The root's signal says that its buffer is open. Each answer says that a piece is in place; a rank
 * whose piece is empty answers too, so that the root compares the counts with all ranks.
 * Source: single-copy gather by cross-memory attach.
 */
#include "coll/coll-util.h"

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    struct tt_span mine = tt_block_to(call, call->root);
    /* An offset in the root's OUT counts, at another rank, from the start of the segment that the
     * root has for that rank. So such a rank puts its piece at offset 0, and the root itself uses
     * the offset of its own piece in OUT. */
    int64_t at = me == call->root ? tt_block_from(call, me).off : 0;
    tt_copy_at_root(b, call->root, map, me, true, tt_at(TT_OUT, call->root, at),
                    tt_own(TT_IN, mine.off), mine.len);
}

const struct tt_algorithm tt_gatherv_direct = {
    .coll = TT_COLL_gatherv,
    .name = "direct",
    .applies = "one node, direct access; or RDMA",
    .cost = "2 t_s + t_w max(L_0 ... L_(p-1))",
    .source = "single copy by cross-memory attach",
    .refuse = tt_refuse_writes,
    .build = build,
};
