/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Building a plan for a subteam (b->part). An algorithm builds as if the subteam were the whole
 * team; only ranks and the beginnings of buffers are changed when steps are appended to the plan.
 */
#include "plan/build-inside.h"

void tt_subteam_begin(struct tt_builder *b, const struct tt_subteam *part)
{
    tt_assert(!b->part);
    b->part = part;
    b->part_tmp = b->scratch;
}

void tt_subteam_end(struct tt_builder *b)
{
    b->part = NULL;
}

struct tt_range tt_build_range(const struct tt_builder *b, struct tt_range r)
{
    const struct tt_range *at = &b->part->at[r.buf];
    r.rank = tt_build_rank(b, r.rank);
    r.off += r.buf == TT_TMP ? b->part_tmp : at->off;
    r.buf = at->buf;
    return r;
}
