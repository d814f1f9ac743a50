/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce `window`: reductions go through the windows of a node, along a tree if the vector is
 * short, and along a chain if it is long. Each rank combines its input with the windows of its
 * children into its own window, and signals its parent. WIN@1 is the window of rank 1.
 *
 *     short     1  IN -> WIN
 *               2      WIN@1 op IN op WIN@3 -> WIN        root 0: OUT <- IN op WIN@2 op ...
 *               3  IN -> WIN
 *
 *     long      3  IN -> WIN
 *               2      IN op WIN@3 -> WIN
 *               1                  IN op WIN@2 -> WIN     root 0: OUT <- IN op WIN@1
 *
 * No rank reads more windows than it has children, whereas the root of `flat` reads the windows of
 * all ranks. In a tree the root has the result after a signal for each level. In a chain it takes a
 * signal for each rank, but each rank reads and reduces each byte once, and the ranks work on
 * successive slices, or successive calls, at the same time. If operands must stay in rank order,
 * two chains meet at the root. A message that is larger than the window goes in slices through its
 * two halves; a rank refills a half when its parent has signalled that it has read that half.
 * Source: trees in order (Sanders, Speck, Traeff 2009) and the pipelined chain of message-passing
 * reductions, through the shared buffer of shared-memory collectives.
 */
#include "coll/tree.h"

/* A vector of up to this many bytes goes along a tree: the signals then take longer than the
 * copying, and in a tree fewer signals follow one another than in a chain. */
enum { SHORT = 2 << 10 };

static bool is_short(const struct tt_call *call)
{
    return tt_call_bytes(call) <= SHORT;
}

static const char *refuse(const struct tt_call *call, const struct tt_map *map)
{
    const char *why = is_short(call) ? tt_refuse_radix(call, map) : NULL;
    return why ? why : tt_refuse_halves(call, map);
}

static void build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                  int me, int phase)
{
    (void)phase;
    int64_t base;
    tt_tree_fn *shape = is_short(call) ? tt_tree_in_order : tt_tree_chain;
    struct tt_tree t = shape(call, map, call->root, me);
    struct tt_slices s = tt_window_slices(call, map, tt_call_bytes(call), call->sz, &base);
    struct tt_range win = tt_half(b, &s, tt_own(TT_WIN, base));
    tt_slices_begin(b, &s);
    tt_window_pass(b, &s, win, me, t.child, t.children, t.parent);
    if (t.children == 1 && s.turns > 2) tt_slice_signal(b, &s, t.child[0], 2, 2);
    if (t.children > 1 && s.turns > 2) tt_slice_signal(b, &s, TT_ALL, 2, 2);
    tt_slices_end(b, &s);
}

const struct tt_algorithm tt_reduce_window = {
    .coll = TT_COLL_reduce,
    .name = "window",
    .applies = "one node",
    .cost = "short: log2(p) (t_s + 2 gamma L); long: (p-2+q) (t_s + (t_w + gamma) L/q)",
    .source = "trees in order, pipelined chain; through shared memory",
    .refuse = refuse,
    .build = build,
};
