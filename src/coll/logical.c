/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slices that go up and down the logical tree. The flags work as follows; in turn i a lane raises
 * its flag to i + 1.
 *
 *  - Up: a rank signals its local root that slice i is in its window, and the local root signals
 *    its node that it has read slice i. So a rank puts slice i into a half of its window only after
 *    slice i - 2, which was in the same half, has been read.
 *  - Down: the local root signals that slice i is in its window, and the other ranks of the node
 *    signal that they have read it.
 *  - In an allreduce, lane 0 of a local root also signals lane 1 of the same rank that slice i of
 *    its own input has been read (at the top of the tree: that the sum is there). Nothing may be
 *    received into OUT before that, because OUT may be the same buffer as IN. The other ranks of
 *    the node need no such signal: when a result arrives, their slice has been read.
 */
#include "coll/logical.h"

/* The length of a slice in bytes, if the call does not say: SLICE, or, if the nodes are containers
 * of one host that has fewer processors than ranks, LONG_SLICE. On such a host the nodes do not
 * work at the same time, and for each slice the ranks have to take turns on the processors. FEW: a
 * WIN, or a message, of at most this many bytes is laid out without regard to cache lines. */
enum { SLICE = 32 << 10, LONG_SLICE = 256 << 10, FEW = 1024 };

static const char needs_adjacent[] =
    "needs nodes of adjacent ranks where operands must stay in rank order";

/* How the tree carries a call: the tree, the slices, and their places in WIN. */
struct logical_layout {
    struct tt_logical tree;
    struct tt_slices s;
    /* a rank with children on other nodes does not combine their operands; its local root does */
    bool forwards;
    int slots;        /* how many slices that go up lie side by side in a half of a window */
    int64_t up, down; /* where the slices going up and down begin in WIN */
};

/* The work of one rank in the tree. */
struct logical_part {
    const struct logical_layout *layout;
    struct tt_logical_place at;
    int me, others;   /* others: the number of other ranks of its node */
    const int *rank;  /* the ranks of its node (others + 1 entries) */
    bool local, both; /* local: a local root; both: lane 0 goes up, and lane 1 down */
};

/* ---- The layout ---- */

static int root_of(const struct tt_call *call)
{
    return tt_coll_has_root(call->coll) ? call->root : -1;
}

/* Returns the length of the longest slice for which WIN (of `win` bytes) has room, if it is divided
 * into `halves` (1 or 2) equal parts. Each part holds w->slots slices if the call sends data up the
 * tree, and one more slice if the call sends data down. */
static int64_t room(const struct tt_call *call, const struct logical_layout *w, int64_t win,
                    unsigned directions, int halves)
{
    int64_t parts = halves * ((directions & TT_UP ? w->slots : 0) + (directions & TT_DOWN ? 1 : 0));
    int64_t free = win > FEW ? win - 2 * TT_LINE : win;
    return free / parts / call->sz * call->sz;
}

static int64_t slice_on(const struct tt_map *map)
{
    return map->one_kernel && map->p > map->cores ? LONG_SLICE : SLICE;
}

static void cut(const struct tt_call *call, const struct tt_map *map, unsigned directions,
                struct logical_layout *w)
{
    int64_t bytes = tt_call_bytes(call), wanted = tt_slice_bytes(call, slice_on(map));
    int64_t once = room(call, w, map->win_bytes, directions, 1);
    int64_t half = room(call, w, map->win_bytes, directions, 2);
    bool shares = w->tree.nodes.n < map->p; /* some node has two ranks */
    if (bytes <= tt_min(wanted, shares ? once : wanted))
        w->s = (struct tt_slices){bytes, bytes, 1};
    else
        w->s = tt_slices(bytes, shares ? tt_min(wanted, half) : wanted, call->sz);
    bool lines = map->win_bytes > FEW; /* a small WIN is used without alignment */
    int64_t above = (w->s.turns > 1 ? 2 : 1) * w->slots * w->s.len;
    w->up = lines && bytes > FEW ? TT_WIN_LINE : 0;
    w->down = w->up + (directions & TT_UP ? lines ? tt_round_up(above, TT_LINE) : above : 0);
}

static const char *layout_of(const struct tt_call *call, const struct tt_map *map,
                             unsigned directions, struct logical_layout *w)
{
    *w = (struct logical_layout){.slots = 1, .forwards = directions & TT_UP && !call->commutes};
    if (!tt_logical_of(map, root_of(call), w->forwards, &w->tree)) return tt_needs_memory;
    if (w->forwards) w->slots += w->tree.most_children;
    if (directions) cut(call, map, directions, w);
    return NULL;
}

const char *tt_logical_refuse(const struct tt_call *call, const struct tt_map *map,
                              unsigned directions)
{
    struct logical_layout w;
    const char *why = layout_of(call, map, directions, &w);
    if (why) return why;
    int64_t least = tt_min(tt_call_bytes(call), call->sz);
    int largest = tt_nodes_size(&w.tree.nodes, w.tree.identified);
    if (w.tree.nodes.n < map->p && directions &&
        room(call, &w, map->win_bytes, directions, 2) < least)
        why = tt_needs_window;
    else if ((int64_t)largest * w.slots + TT_LOGICAL_CHILDREN + 1 > TT_OPERANDS)
        why = tt_needs_fewer;
    else if (w.forwards && !w.tree.nodes.adjacent)
        why = needs_adjacent;
    tt_logical_free(&w.tree);
    return why;
}

static struct logical_part part_of(const struct logical_layout *w, unsigned directions, int me)
{
    struct logical_part part = {.layout = w, .at = tt_logical_place(&w->tree, me), .me = me};
    part.local = part.at.local == me;
    part.others = tt_nodes_size(&w->tree.nodes, part.at.node) - 1;
    part.rank = tt_nodes_ranks(&w->tree.nodes, part.at.node);
    part.both = directions == (TT_UP | TT_DOWN);
    return part;
}

/* Signals the other ranks of the node (if `others`) and this rank itself (if `self`). */
static void signal_node(struct tt_builder *b, const struct logical_part *part, bool others,
                        bool self)
{
    int32_t set[TT_OPERANDS];
    uint32_t n = 0;
    for (int i = 0; i <= part->others; i++)
        if (part->rank[i] == part->me ? self : others) set[n++] = part->rank[i];
    tt_signal_set(b, set, n, 1);
    if (part->layout->s.turns > 1) tt_per_turn(b, 1, 0);
}

/* Awaits the flags that the other ranks of the node raise in the lane. In a loop, turn i awaits i +
 * `value`; turns before `from` await nothing. */
static void await_node(struct tt_builder *b, const struct logical_part *part, int lane,
                       uint32_t value, uint32_t from)
{
    for (int i = 0; i <= part->others; i++) {
        if (part->rank[i] == part->me) continue;
        tt_await_lane(b, part->rank[i], lane, value);
        if (part->layout->s.turns > 1) tt_per_turn(b, 1, 0);
        if (from > 0) tt_from(b, from);
    }
}

static void await_one(struct tt_builder *b, const struct logical_part *part, int writer, int lane,
                      uint32_t value, uint32_t from)
{
    tt_await_lane(b, writer, lane, value);
    if (part->layout->s.turns > 1) tt_per_turn(b, 1, 0);
    if (from > 0) tt_from(b, from);
}

static void tail(struct tt_builder *b, const struct logical_part *part)
{
    const struct tt_slices *s = &part->layout->s;
    if (s->tail != s->len) tt_tail(b, s->tail);
}

/* Returns where slice number `slot` lies in the window of `rank`. The slices that go up in this
 * turn lie side by side in one half of the window. */
static struct tt_range up_window(struct tt_builder *b, const struct logical_part *part, int rank,
                                 int slot)
{
    const struct logical_layout *w = part->layout;
    struct tt_range r = tt_at(TT_WIN, rank, w->up + slot * w->s.len);
    return w->s.turns > 1 ? tt_rotating(b, r, w->slots * w->s.len, 2, 0) : r;
}

/* ---- Up ---- */

/* A list of operands, in the order of their first ranks. An operand is the input of one rank, or
 * the combined inputs of several. */
struct operands {
    int n;
    int first[TT_OPERANDS];
    struct tt_range range[TT_OPERANDS];
};

static void add_operand(struct operands *o, int first, struct tt_range range)
{
    int at = o->n++;
    for (; at > 0 && o->first[at - 1] > first; at--) {
        o->first[at] = o->first[at - 1];
        o->range[at] = o->range[at - 1];
    }
    o->first[at] = first;
    o->range[at] = range;
}

/* Returns how many operands the local root `rank` sends to its parent. */
static int runs_of(const struct logical_part *part, int rank)
{
    return rank == part->layout->tree.global ? part->layout->tree.runs : 1;
}

static int first_of(const struct logical_part *part, int rank, int run)
{
    return part->layout->forwards ? tt_logical_first(&part->layout->tree, rank, run) : rank;
}

/* Receives this turn's slices of the children into scratch. */
static void receive(struct tt_builder *b, const struct logical_part *part, struct operands *o)
{
    tt_started recv[TT_LOGICAL_CHILDREN + 2];
    const struct tt_slices *s = &part->layout->s;
    int n = 0;
    for (int c = 0; c < part->at.children; c++) {
        int child = part->at.child[c];
        for (int run = 0; run < runs_of(part, child); run++) {
            struct tt_range to = tt_scratch(b, s->len);
            recv[n++] = tt_recv(b, child, to, s->len);
            tail(b, part);
            add_operand(o, first_of(part, child, run), to);
        }
    }
    for (int i = 0; i < n; i++) tt_wait(b, recv[i]);
}

/* Combines into `to` the operands from number `at` on whose first rank is below `end`. Returns the
 * number of the first operand that is left. */
static int combine(struct tt_builder *b, const struct logical_part *part, struct tt_range to,
                   const struct operands *o, int at, int end)
{
    int n = 0;
    while (at + n < o->n && o->first[at + n] < end) n++;
    tt_combine(b, to, o->range + at, n, part->layout->s.len);
    tail(b, part);
    return at + n;
}

static void copy(struct tt_builder *b, const struct logical_part *part, struct tt_range to,
                 struct tt_range from)
{
    tt_slice_copy(b, &part->layout->s, to, from);
}

/* Writes the slice of a rank that is not the local root into its window: one sum, or, if the layout
 * `forwards`, the operands of the rank and of its children side by side. */
static void offer(struct tt_builder *b, const struct logical_part *part, struct operands *o,
                  struct tt_range in)
{
    const struct logical_layout *w = part->layout;
    if (w->s.turns > 2) await_one(b, part, part->at.local, 0, (uint32_t)-1, 2);
    if (o->n == 0 || w->forwards) {
        copy(b, part, up_window(b, part, TT_SELF, 0), in);
        for (int c = 0; c < o->n; c++)
            copy(b, part, up_window(b, part, TT_SELF, 1 + c), o->range[c]);
    } else {
        add_operand(o, part->me, in);
        combine(b, part, up_window(b, part, TT_SELF, 0), o, 0, INT32_MAX);
    }
    tt_slice_signal(b, &w->s, part->at.local, 1, 1);
}

/* Adds to the list all operands that the other ranks of the node have in their windows. */
static void add_windows(struct tt_builder *b, const struct logical_part *part, struct operands *o)
{
    for (int i = 0; i <= part->others; i++) {
        int r = part->rank[i];
        if (r == part->me) continue;
        add_operand(o, r, up_window(b, part, r, 0));
        if (!part->layout->forwards) continue;
        struct tt_logical_place at = tt_logical_place(&part->layout->tree, r);
        for (int c = 0; c < at.children; c++)
            add_operand(o, first_of(part, at.child[c], 0), up_window(b, part, r, 1 + c));
    }
}

/* Combines, at the local root, the operands of this turn from its node and from its children, with
 * its own slice `in`, into sum[0]. Only the global root may need two sums, if operands stay in rank
 * order (tree.runs): sum[0] for the ranks before the node of the call's root, and sum[1] for the
 * ranks after this node. */
static void take(struct tt_builder *b, const struct logical_part *part, struct operands *o,
                 struct tt_range in, const struct tt_range *sum)
{
    bool two = runs_of(part, part->me) == 2;
    await_node(b, part, 0, 1, 0);
    add_windows(b, part, o);
    if (o->n == 0) return;
    add_operand(o, part->me, in);
    int at = combine(b, part, sum[0], o, 0, two ? first_of(part, part->me, 1) : INT32_MAX);
    if (two) combine(b, part, sum[1], o, at, INT32_MAX);
    bool again = part->layout->s.turns > 2 && part->others > 0;
    if (again || part->both) signal_node(b, part, again, part->both);
}

/* Returns whether this rank sends its input from where it lies, because it is alone on its node and
 * has no children. If it does so in an allreduce, its lane 0 signals its lane 1 in turn i that
 * slice i - 1 has been sent: the rank waits for the send of a slice one turn later. */
static bool sends_input(const struct logical_part *part)
{
    return part->local && part->others == 0 && part->at.children == 0;
}

static void send_up(struct tt_builder *b, const struct logical_part *part,
                    const struct tt_range *from, tt_started *sent)
{
    const struct tt_slices *s = &part->layout->s;
    int runs = runs_of(part, part->me);
    for (int i = 0; i < runs; i++) {
        sent[i] = tt_send(b, part->at.parent, from[i], s->len);
        tail(b, part);
    }
    for (int i = 0; i < runs; i++) tt_wait_ago(b, sent[i], s->turns > 1);
    if (!part->both || !sends_input(part)) return;
    tt_signal(b, part->me, s->turns > 1 ? 0 : 1);
    if (s->turns == 1) return;
    tt_per_turn(b, 1, 0);
    tt_from(b, 1);
}

static void end_up(struct tt_builder *b, const struct logical_part *part, const tt_started *sent)
{
    const struct tt_slices *s = &part->layout->s;
    if (!part->local || part->at.parent < 0 || s->turns == 1) return;
    for (int i = 0; i < runs_of(part, part->me); i++) tt_wait_ago(b, sent[i], 1);
    if (part->both && sends_input(part)) tt_signal(b, part->me, s->turns);
}

static void up(struct tt_builder *b, const struct logical_part *part)
{
    const struct tt_slices *s = &part->layout->s;
    struct operands o = {.n = 0};
    tt_started sent[2] = {0};
    struct tt_range in = tt_slice(b, s, tt_own(TT_IN, 0)), sum[2];
    bool passes = part->local && part->at.parent >= 0;
    for (int i = 0; i < runs_of(part, part->me); i++)
        sum[i] = sends_input(part) && passes ? in
                 : passes                    ? tt_half(b, s, tt_scratch(b, 2 * s->len))
                                             : tt_slice(b, s, tt_own(TT_OUT, 0));
    tt_slices_begin(b, s);
    receive(b, part, &o);
    if (part->local)
        take(b, part, &o, in, sum);
    else
        offer(b, part, &o, in);
    if (passes) send_up(b, part, sum, sent);
    tt_slices_end(b, s);
    end_up(b, part, sent);
}

/* ---- Down ---- */

/* Receives a slice from the parent into OUT. */
static void receive_down(struct tt_builder *b, const struct logical_part *part, struct tt_range out)
{
    if (part->both) await_one(b, part, part->me, 0, 1, 0);
    if (part->at.parent < 0) return;
    tt_started recv = tt_recv(b, part->at.parent, out, part->layout->s.len);
    tail(b, part);
    tt_wait(b, recv);
}

static void fill(struct tt_builder *b, const struct logical_part *part, struct tt_range win,
                 struct tt_range out)
{
    if (part->others == 0) return;
    if (part->layout->s.turns > 2) await_node(b, part, part->both, (uint32_t)-1, 2);
    copy(b, part, win, out);
    signal_node(b, part, true, false);
}

static void drain(struct tt_builder *b, const struct logical_part *part, struct tt_range win,
                  struct tt_range out)
{
    await_one(b, part, part->at.local, part->both, 1, 0);
    copy(b, part, out, win);
    if (part->layout->s.turns > 2) tt_slice_signal(b, &part->layout->s, part->at.local, 1, 1);
}

static void down(struct tt_builder *b, const struct logical_part *part)
{
    const struct tt_slices *s = &part->layout->s;
    tt_started sent[TT_LOGICAL_CHILDREN + 1];
    struct tt_range out = tt_slice(b, s, tt_own(TT_OUT, 0));
    struct tt_range win = tt_half(b, s, tt_at(TT_WIN, part->at.local, part->layout->down));
    tt_slices_begin(b, s);
    if (part->local) {
        receive_down(b, part, out);
        fill(b, part, win, out);
    } else {
        drain(b, part, win, out);
    }
    for (int c = 0; c < part->at.children; c++) {
        sent[c] = tt_send(b, part->at.child[c], out, s->len);
        tail(b, part);
    }
    for (int c = 0; c < part->at.children; c++) tt_wait_ago(b, sent[c], s->turns > 1);
    tt_slices_end(b, s);
    for (int c = 0; c < part->at.children && s->turns > 1; c++) tt_wait_ago(b, sent[c], 1);
}

/* ---- A barrier: signals only ---- */

static void await_children(struct tt_builder *b, const struct logical_part *part)
{
    for (int c = 0; c < part->at.children; c++) tt_await(b, part->at.child[c], 1);
}

/* Appends a barrier. Flag value 1 goes up the tree. Value 2 goes down, to the children and to the
 * other ranks of the node with one signal. */
static void only_signals(struct tt_builder *b, const struct logical_part *part)
{
    int32_t set[TT_OPERANDS + TT_LOGICAL_CHILDREN];
    uint32_t n = 0;
    await_children(b, part);
    if (part->local)
        for (int i = 0; i <= part->others; i++)
            if (part->rank[i] != part->me) tt_await(b, set[n++] = part->rank[i], 1);
    if (part->at.parent >= 0) {
        tt_signal(b, part->at.parent, 1);
        tt_await(b, part->at.parent, 2);
    }
    for (int c = 0; c < part->at.children; c++) set[n++] = part->at.child[c];
    tt_signal_set(b, set, n, 2);
}

/* ---- The plan of a rank ---- */

void tt_logical_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me, unsigned directions)
{
    struct logical_layout w;
    const char *why = layout_of(call, map, directions, &w);
    if (why) {
        tt_builder_fail(b, why);
        return;
    }
    struct logical_part part = part_of(&w, directions, me);
    if (!directions) only_signals(b, &part);
    if (directions & TT_UP) up(b, &part);
    if (part.both) tt_lane(b);
    if (directions & TT_DOWN) down(b, &part);
    tt_logical_free(&w.tree);
}
