/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives by name, out of the one list in call.h.
 */
#include "plan/call.h"

#include "plan/words.h"

static const char *const names[] = {
#define NAME(name, op, root) #name,
    TT_COLL_LIST(NAME)
#undef NAME
};

const struct tt_words tt_coll_words = {names, TT_COLLS};

const char *tt_coll_name(enum tt_coll coll)
{
    return tt_word(&tt_coll_words, (int)coll);
}

bool tt_coll_has_op(enum tt_coll coll)
{
    static const bool has[] = {
#define HAS(name, op, root) op,
        TT_COLL_LIST(HAS)
#undef HAS
    };
    return (unsigned)coll < TT_COLLS && has[coll];
}

bool tt_coll_has_root(enum tt_coll coll)
{
    static const bool has[] = {
#define HAS(name, op, root) root,
        TT_COLL_LIST(HAS)
#undef HAS
    };
    return (unsigned)coll < TT_COLLS && has[coll];
}

bool tt_coll_has_place(enum tt_coll coll)
{
    return tt_coll_has_op(coll) || coll == TT_COLL_gather || coll == TT_COLL_allgather ||
           coll == TT_COLL_allgatherv;
}

int64_t tt_call_block_at(const struct tt_call *call, int r)
{
    int64_t at = 0;
    if (!call->out_counts) return r * tt_call_bytes(call);
    for (int i = 0; i < r; i++) at += call->out_counts[i];
    return at * call->sz;
}
