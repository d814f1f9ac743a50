/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flags. Turn i of a lane raises it to i + 1. Up, a rank tells its local root that slice i is in
 * its window, and the local root tells its node that it has read it: so a half of a window is
 * filled again only after the slice two before was read. Down it is the other way round. Of an
 * allreduce a local root also tells itself, in lane 1, that its own slice i is read (at the top:
 * that the sum is there), before which nothing may come into OUT, which may be IN; on the node's
 * others that is known from the result having come at all.
 */
#include "coll/logical.h"

enum { SLICE = 32 << 10, FEW = 1024 };

static const char needs_memory[] = "finds no memory to look at the nodes";
static const char needs_adjacent[] =
    "needs nodes of adjacent ranks where operands must stay in rank order";

/* How the tree carries this call. */
struct way {
    struct tt_logical tree;
    struct tt_slices s;
    bool forwards;    /* operands of its children to the local root, uncombined */
    int slots;        /* slices side by side in a half of a window, up */
    int64_t up, down; /* in WIN */
};

/* One rank's part. */
struct part {
    const struct way *way;
    struct tt_logical_place at;
    int me, others;   /* others: ranks of its node besides it */
    const int *rank;  /* of its node, others + 1 */
    bool local, both; /* both: lane 1 goes down */
};

/* ---- The way ---- */

static int root_of(const struct tt_call *call)
{
    return tt_coll_has_root(call->coll) ? call->root : -1;
}

/* The largest slice for which WIN has room in `halves` parts. */
static int64_t room(const struct tt_call *call, const struct way *w, int64_t win, unsigned ways,
                    int halves)
{
    int64_t parts = halves * ((ways & TT_UP ? w->slots : 0) + (ways & TT_DOWN ? 1 : 0));
    int64_t free = win > FEW ? win - 2 * TT_LINE : win;
    return free / parts / call->sz * call->sz;
}

static void cut(const struct tt_call *call, const struct tt_map *map, unsigned ways, struct way *w)
{
    int64_t bytes = tt_call_bytes(call), wanted = tt_slice_bytes(call, SLICE);
    int64_t once = room(call, w, map->win_bytes, ways, 1);
    int64_t half = room(call, w, map->win_bytes, ways, 2);
    bool shares = w->tree.nodes.n < map->p; /* some node has two ranks */
    if (bytes <= tt_min(wanted, shares ? once : wanted))
        w->s = (struct tt_slices){bytes, bytes, 1};
    else
        w->s = tt_slices(bytes, shares ? tt_min(wanted, half) : wanted, call->sz);
    bool lines = map->win_bytes > FEW; /* else it is packed */
    int64_t above = (w->s.turns > 1 ? 2 : 1) * w->slots * w->s.len;
    w->up = lines && bytes > FEW ? TT_WIN_LINE : 0;
    w->down = w->up + (ways & TT_UP ? lines ? tt_round_up(above, TT_LINE) : above : 0);
}

static const char *way_of(const struct tt_call *call, const struct tt_map *map, unsigned ways,
                          struct way *w)
{
    *w = (struct way){.slots = 1, .forwards = ways & TT_UP && !call->commutes};
    if (!tt_logical_of(map, root_of(call), w->forwards, &w->tree)) return needs_memory;
    if (w->forwards) w->slots += w->tree.most_children;
    if (ways) cut(call, map, ways, w);
    return NULL;
}

const char *tt_logical_refuse(const struct tt_call *call, const struct tt_map *map, unsigned ways)
{
    struct way w;
    const char *why = way_of(call, map, ways, &w);
    if (why) return why;
    int64_t least = tt_min(tt_call_bytes(call), call->sz);
    int largest = tt_nodes_size(&w.tree.nodes, w.tree.identified);
    if (w.tree.nodes.n < map->p && ways && room(call, &w, map->win_bytes, ways, 2) < least)
        why = tt_needs_window;
    else if ((int64_t)largest * w.slots + TT_LOGICAL_CHILDREN + 1 > TT_OPERANDS)
        why = tt_needs_fewer;
    else if (w.forwards && !w.tree.nodes.adjacent)
        why = needs_adjacent;
    tt_logical_free(&w.tree);
    return why;
}

static struct part part_of(const struct way *w, unsigned ways, int me)
{
    struct part part = {.way = w, .at = tt_logical_place(&w->tree, me), .me = me};
    part.local = part.at.local == me;
    part.others = tt_nodes_size(&w->tree.nodes, part.at.node) - 1;
    part.rank = tt_nodes_ranks(&w->tree.nodes, part.at.node);
    part.both = ways == (TT_UP | TT_DOWN);
    return part;
}

/* To every other rank of the node, and `self` to this one too. */
static void tell_node(struct tt_builder *b, const struct part *part, bool others, bool self)
{
    int32_t set[TT_OPERANDS];
    uint32_t n = 0;
    for (int i = 0; i <= part->others; i++)
        if (part->rank[i] == part->me ? self : others) set[n++] = part->rank[i];
    tt_signal_set(b, set, n, 1);
    if (part->way->s.turns > 1) tt_per_turn(b, 1, 0);
}

/* That the others' flags are at the turn's number plus `value`, from `from` on. */
static void await_node(struct tt_builder *b, const struct part *part, int lane, uint32_t value,
                       uint32_t from)
{
    for (int i = 0; i <= part->others; i++) {
        if (part->rank[i] == part->me) continue;
        tt_await_lane(b, part->rank[i], lane, value);
        if (part->way->s.turns > 1) tt_per_turn(b, 1, 0);
        if (from > 0) tt_from(b, from);
    }
}

static void await_one(struct tt_builder *b, const struct part *part, int writer, int lane,
                      uint32_t value, uint32_t from)
{
    tt_await_lane(b, writer, lane, value);
    if (part->way->s.turns > 1) tt_per_turn(b, 1, 0);
    if (from > 0) tt_from(b, from);
}

static void tail(struct tt_builder *b, const struct part *part)
{
    const struct tt_slices *s = &part->way->s;
    if (s->tail != s->len) tt_tail(b, s->tail);
}

/* The half of a window for slices going up: of `rank`, the slice at a slot. */
static struct tt_range up_window(struct tt_builder *b, const struct part *part, int rank, int slot)
{
    const struct way *w = part->way;
    struct tt_range r = tt_at(TT_WIN, rank, w->up + slot * w->s.len);
    return w->s.turns > 1 ? tt_rotating(b, r, w->slots * w->s.len, 2, 0) : r;
}

/* ---- Up ---- */

/* Runs of operands that lie together at a rank; kept in the order of their first ranks. */
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

/* How many it sends up. */
static int runs_of(const struct part *part, int rank)
{
    return rank == part->way->tree.global ? part->way->tree.runs : 1;
}

static int first_of(const struct part *part, int rank, int run)
{
    return part->way->forwards ? tt_logical_first(&part->way->tree, rank, run) : rank;
}

/* This turn's slices of the children, in scratch. */
static void receive(struct tt_builder *b, const struct part *part, struct operands *o)
{
    tt_started recv[TT_LOGICAL_CHILDREN + 2];
    const struct tt_slices *s = &part->way->s;
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

/* The operands whose ranks are below `end`, from the at-th on; returns where they end. */
static int combine(struct tt_builder *b, const struct part *part, struct tt_range to,
                   const struct operands *o, int at, int end)
{
    int n = 0;
    while (at + n < o->n && o->first[at + n] < end) n++;
    tt_combine(b, to, o->range + at, n, part->way->s.len);
    tail(b, part);
    return at + n;
}

static void copy(struct tt_builder *b, const struct part *part, struct tt_range to,
                 struct tt_range from)
{
    tt_slice_copy(b, &part->way->s, to, from);
}

/* Not the local root: into the window, one sum or operands side by side. */
static void offer(struct tt_builder *b, const struct part *part, struct operands *o,
                  struct tt_range in)
{
    const struct way *w = part->way;
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

/* All that the node's other ranks have in their windows. */
static void add_windows(struct tt_builder *b, const struct part *part, struct operands *o)
{
    for (int i = 0; i <= part->others; i++) {
        int r = part->rank[i];
        if (r == part->me) continue;
        add_operand(o, r, up_window(b, part, r, 0));
        if (!part->way->forwards) continue;
        struct tt_logical_place at = tt_logical_place(&part->way->tree, r);
        for (int c = 0; c < at.children; c++)
            add_operand(o, first_of(part, at.child[c], 0), up_window(b, part, r, 1 + c));
    }
}

/* The local root: the sum of this turn, of all below it, or of each run. */
static void take(struct tt_builder *b, const struct part *part, struct operands *o,
                 struct tt_range in, const struct tt_range *sum)
{
    bool two = runs_of(part, part->me) == 2;
    await_node(b, part, 0, 1, 0);
    add_windows(b, part, o);
    if (o->n == 0) return;
    add_operand(o, part->me, in);
    int at = combine(b, part, sum[0], o, 0, two ? first_of(part, part->me, 1) : INT32_MAX);
    if (two) combine(b, part, sum[1], o, at, INT32_MAX);
    bool again = part->way->s.turns > 2 && part->others > 0;
    if (again || part->both) tell_node(b, part, again, part->both);
}

/* A rank that is alone and has nothing below sends its input as it lies: what it tells itself is
 * that the slice before has left. */
static bool sends_input(const struct part *part)
{
    return part->local && part->others == 0 && part->at.children == 0;
}

static void send_up(struct tt_builder *b, const struct part *part, const struct tt_range *from,
                    tt_started *sent)
{
    const struct tt_slices *s = &part->way->s;
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

static void end_up(struct tt_builder *b, const struct part *part, const tt_started *sent)
{
    const struct tt_slices *s = &part->way->s;
    if (!part->local || part->at.parent < 0 || s->turns == 1) return;
    for (int i = 0; i < runs_of(part, part->me); i++) tt_wait_ago(b, sent[i], 1);
    if (part->both && sends_input(part)) tt_signal(b, part->me, s->turns);
}

static void up(struct tt_builder *b, const struct part *part)
{
    const struct tt_slices *s = &part->way->s;
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

/* From above, into OUT. */
static void receive_down(struct tt_builder *b, const struct part *part, struct tt_range out)
{
    if (part->both) await_one(b, part, part->me, 0, 1, 0);
    if (part->at.parent < 0) return;
    tt_started recv = tt_recv(b, part->at.parent, out, part->way->s.len);
    tail(b, part);
    tt_wait(b, recv);
}

static void fill(struct tt_builder *b, const struct part *part, struct tt_range win,
                 struct tt_range out)
{
    if (part->others == 0) return;
    if (part->way->s.turns > 2) await_node(b, part, part->both, (uint32_t)-1, 2);
    copy(b, part, win, out);
    tell_node(b, part, true, false);
}

static void drain(struct tt_builder *b, const struct part *part, struct tt_range win,
                  struct tt_range out)
{
    await_one(b, part, part->at.local, part->both, 1, 0);
    copy(b, part, out, win);
    if (part->way->s.turns > 2) tt_slice_signal(b, &part->way->s, part->at.local, 1, 1);
}

static void down(struct tt_builder *b, const struct part *part)
{
    const struct tt_slices *s = &part->way->s;
    tt_started sent[TT_LOGICAL_CHILDREN + 1];
    struct tt_range out = tt_slice(b, s, tt_own(TT_OUT, 0));
    struct tt_range win = tt_half(b, s, tt_at(TT_WIN, part->at.local, part->way->down));
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

/* ---- Nothing but signals: a barrier ---- */

static void await_children(struct tt_builder *b, const struct part *part)
{
    for (int c = 0; c < part->at.children; c++) tt_await(b, part->at.child[c], 1);
}

/* Up with 1, down with 2: to the node's others and to the children at once. */
static void only_signals(struct tt_builder *b, const struct part *part)
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

/* ---- The whole ---- */

void tt_logical_build(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                      int me, unsigned ways)
{
    struct way w;
    const char *why = way_of(call, map, ways, &w);
    if (why) {
        tt_builder_fail(b, why);
        return;
    }
    struct part part = part_of(&w, ways, me);
    if (!ways) only_signals(b, &part);
    if (ways & TT_UP) up(b, &part);
    if (part.both) tt_lane(b);
    if (ways & TT_DOWN) down(b, &part);
    tt_logical_free(&w.tree);
}

/* ---- Costs ---- */

/* Slices that the local root reads in the windows of its node's others, and that this rank has in
 * its own. */
static int64_t windows(const struct part *part)
{
    int64_t n = part->others;
    for (int i = 0; part->way->forwards && i <= part->others; i++)
        if (part->rank[i] != part->me)
            n += tt_logical_place(&part->way->tree, part->rank[i]).children;
    return n;
}

/* Messages that a rank takes each turn. */
static int64_t streams(const struct part *part)
{
    int64_t n = 0;
    for (int c = 0; c < part->at.children; c++) n += runs_of(part, part->at.child[c]);
    return n;
}

static struct tt_count take_count(const struct part *part, int64_t bytes)
{
    int64_t q = part->way->s.turns, far = windows(part), combines = !sends_input(part);
    int64_t tells = part->both || (q > 2 && part->others > 0), runs = runs_of(part, part->me);
    int64_t sends = part->at.parent >= 0 ? runs : 0;
    return (struct tt_count){.sent = sends * bytes,
                             .received = far * bytes,
                             .reduced = (far + streams(part) - runs + 1) * bytes,
                             .messages = (far + sends) * q,
                             .steps = (part->others + combines * runs + tells + 2 * sends) * q};
}

static struct tt_count offer_count(const struct part *part, int64_t bytes)
{
    int64_t q = part->way->s.turns, children = part->at.children, slots = 1;
    bool copies = part->way->forwards || children == 0;
    if (part->way->forwards) slots += children;
    return (struct tt_count){.sent = slots * bytes,
                             .reduced = copies ? 0 : children * bytes,
                             .copied = copies ? slots * bytes : 0,
                             .steps = (slots + 1) * q + tt_max(q - 2, 0)};
}

static struct tt_count up_count(const struct part *part, int64_t bytes)
{
    struct tt_count c = part->local ? take_count(part, bytes) : offer_count(part, bytes);
    c.received += streams(part) * bytes;
    c.steps += 2 * streams(part) * part->way->s.turns;
    return c;
}

static struct tt_count down_count(const struct part *part, int64_t bytes)
{
    int64_t q = part->way->s.turns, children = part->at.children, others = part->others;
    int64_t receives = part->at.parent >= 0, fills = others > 0;
    struct tt_count c = {.sent = children * bytes,
                         .received = receives * bytes,
                         .messages = children * q,
                         .steps = 2 * children * q};
    if (part->local) {
        c.sent += others * bytes;
        c.copied = fills * bytes;
        c.steps += (2 * receives + part->both + 2 * fills) * q + others * tt_max(q - 2, 0);
    } else {
        c.messages += q;
        c.steps += (q > 2 ? 3 : 2) * q;
    }
    return c;
}

static struct tt_count signals_count(const struct part *part)
{
    int64_t below = part->at.children + (part->local ? part->others : 0);
    return (struct tt_count){.steps = below + (below > 0) + 2 * (part->at.parent >= 0)};
}

struct tt_count tt_logical_count(const struct tt_call *call, const struct tt_map *map,
                                 unsigned ways)
{
    struct way w;
    struct tt_count most = {0};
    if (way_of(call, map, ways, &w)) return most;
    for (int r = 0; r < map->p; r++) {
        struct part part = part_of(&w, ways, r);
        struct tt_count mine = ways ? (struct tt_count){0} : signals_count(&part);
        if (ways & TT_UP) tt_count_add(&mine, up_count(&part, tt_call_bytes(call)));
        if (ways & TT_DOWN) tt_count_add(&mine, down_count(&part, tt_call_bytes(call)));
        tt_count_raise(&most, mine);
    }
    tt_logical_free(&w.tree);
    return most;
}
