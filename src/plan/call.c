/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names and properties of the collectives, from the list in call.h.
 */
#include "plan/call.h"

#include "plan/words.h"

static const char *const names[] = {
#define NAME(name, ...) #name,
    TT_COLL_LIST(NAME)
#undef NAME
};

const struct tt_words tt_coll_words = {names, TT_COLLS};

static const struct {
    bool op, root;
    enum tt_may_place place;
    enum tt_holding in, out;
} rows[] = {
#define ROW(name, op, root, place, in, out)                                                        \
    {op, root, TT_IN_PLACE_##place, TT_HAS_##in, TT_HAS_##out},
    TT_COLL_LIST(ROW)
#undef ROW
};

const char *tt_coll_name(enum tt_coll coll)
{
    return tt_word(&tt_coll_words, (int)coll);
}

bool tt_coll_has_op(enum tt_coll coll)
{
    return (unsigned)coll < TT_COLLS && rows[coll].op;
}

bool tt_coll_has_root(enum tt_coll coll)
{
    return (unsigned)coll < TT_COLLS && rows[coll].root;
}

bool tt_coll_has_place(enum tt_coll coll)
{
    return (unsigned)coll < TT_COLLS && rows[coll].place != TT_IN_PLACE_NOBODY;
}

bool tt_coll_is_roots(enum tt_coll coll)
{
    return (unsigned)coll < TT_COLLS && rows[coll].place == TT_IN_PLACE_ROOT;
}

bool tt_call_ignores(const struct tt_call *call, bool out, int me)
{
    bool scatters = call->coll == TT_COLL_scatter || call->coll == TT_COLL_scatterv;
    if (call->coll == TT_COLL_exscan) return out && me == 0 && !call->in_place;
    return tt_coll_is_roots(call->coll) && out != scatters && me != call->root;
}

struct tt_contents tt_call_contents(const struct tt_call *call, bool out, int r)
{
    const struct tt_contents *all = out ? call->out_contents : call->in_contents;
    const struct tt_neighbors *n = call->neighbors;
    if (!n) return all[r];
    int i = tt_neighbor_find(out ? n->from : n->to, out ? n->from_n : n->to_n, r);
    return i < 0 ? (struct tt_contents){0, 0, 0} : all[i];
}

/* ---- Sizes ---- */

static int64_t extent_bytes(const struct tt_call *call, enum tt_holding extent, int p, int me)
{
    switch (extent) {
    case TT_HAS_NONE:
    case TT_HAS_LIST: break;
    case TT_HAS_ONE: return tt_call_bytes(call);
    case TT_HAS_NOT_FIRST: return me > 0 ? tt_call_bytes(call) : 0;
    case TT_HAS_ALL: return tt_call_block_at(call, p);
    case TT_HAS_BLOCK: return tt_call_block_bytes(call, me);
    case TT_HAS_ROOT_ONE: return me == call->root ? tt_call_bytes(call) : 0;
    case TT_HAS_ROOT_ALL: return me == call->root ? p * tt_call_bytes(call) : 0;
    }
    return 0;
}

int64_t tt_call_in_bytes(const struct tt_call *call, int p, int me)
{
    return extent_bytes(call, rows[call->coll].in, p, me);
}

int64_t tt_call_result_bytes(const struct tt_call *call, int p, int me)
{
    return extent_bytes(call, rows[call->coll].out, p, me);
}

int64_t tt_call_out_bytes(const struct tt_call *call, int p, int me)
{
    int64_t out = tt_call_result_bytes(call, p, me);
    return call->in_place ? tt_max(out, tt_call_in_bytes(call, p, me)) : out;
}

int64_t tt_call_place(const struct tt_call *call, int me)
{
    bool gathers = call->coll == TT_COLL_gather || call->coll == TT_COLL_allgather;
    return gathers ? me * tt_call_bytes(call) : 0;
}

int64_t tt_call_block_at(const struct tt_call *call, int r)
{
    int64_t at = 0;
    if (!call->out_counts) return r * tt_call_bytes(call);
    for (int i = 0; i < r; i++) at += call->out_counts[i];
    return at * call->sz;
}

/* Returns whether elements [first, first + n) begin and end at offsets that fit in 63 bits. */
static bool fits(int64_t first, int64_t n, int64_t sz)
{
    int64_t end;
    return first >= 0 && n >= 0 && !__builtin_add_overflow(first, n, &end) &&
           !__builtin_mul_overflow(end, sz, &end);
}

static bool all_fit(const int64_t *counts, const int64_t *displs, int p, int64_t sz)
{
    bool fit = true;
    for (int r = 0; counts && r < p; r++) fit = fit && fits(displs ? displs[r] : 0, counts[r], sz);
    return fit;
}

/* Returns whether the n ranks are in ascending order and all are ranks of a team of p. */
static bool ascend(const int32_t *ranks, int n, int p)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= p || (i > 0 && ranks[i] <= ranks[i - 1])) return false;
    return true;
}

static bool neighbors_valid(const struct tt_call *call, int p)
{
    const struct tt_neighbors *n = call->neighbors;
    return !n || (call->coll == TT_COLL_alltoallv && ascend(n->to, n->to_n, p) &&
                  ascend(n->from, n->from_n, p));
}

bool tt_call_valid(const struct tt_call *call, int p)
{
    bool in = tt_coll_pairs(call->coll);
    return neighbors_valid(call, p) && !call->in_counts == !in && !call->in_displs == !in &&
           !call->out_counts == !tt_call_counts(call) &&
           !call->out_displs == !tt_call_segments(call) && fits(0, call->n, call->sz) &&
           all_fit(call->in_counts, call->in_displs, p, call->sz) &&
           all_fit(call->out_counts, call->out_displs, p, call->sz);
}
