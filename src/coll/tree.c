/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that goes up and down a tree in slices. In each turn an inner rank receives one slice from
 * every child at once and combines them with its own slice in one pass. A rank waits for the sends
 * of a turn in the next turn.
 */
#include "coll/tree.h"

#include "topo/net.h"

/* ---- Shapes ---- */

struct tt_tree tt_tree_binomial(const struct tt_call *call, const struct tt_map *map, int base,
                                int me)
{
    (void)call;
    int p = map->p, v = tt_after(p, me, p - base), low = v & -v;
    struct tt_tree t = {.parent = v ? tt_after(p, v - low, base) : -1};
    for (int64_t bit = 1; (v == 0 || bit < low) && v + bit < p; bit *= 2)
        t.child[t.children++] = tt_after(p, v + (int)bit, base);
    return t;
}

static int radix(const struct tt_call *call)
{
    return call->radix > 0 ? call->radix : 2;
}

const char *tt_refuse_radix(const struct tt_call *call, const struct tt_map *map)
{
    (void)map;
    return radix(call) > TT_CHILDREN ? "needs a radix of at most 32" : NULL;
}

/* Returns the neighbours of `me` in a tree that is made by cutting, with ranks counted from `base`.
 * The ranks of a subtree are a run [lo, hi), whose first rank is the root of the subtree. The other
 * ranks of the run are cut into k runs, whose first ranks are the children of this root. */
struct tt_tree tt_tree_radix(const struct tt_call *call, const struct tt_map *map, int base, int me)
{
    int p = map->p, v = tt_after(p, me, p - base), lo = 0, hi = p, k = radix(call);
    struct tt_tree t = {.parent = -1};
    while (lo != v) {
        int64_t first = lo + 1, rest = hi - first, part = ((v - first + 1) * k - 1) / rest;
        t.parent = tt_after(p, lo, base);
        lo = (int)(first + rest * part / k);
        hi = (int)(first + rest * (part + 1) / k);
    }
    for (int part = 0; part < k; part++) {
        int64_t first = lo + 1, rest = hi - first;
        int64_t child = first + rest * part / k, end = first + rest * (part + 1) / k;
        if (child < end) t.child[t.children++] = tt_after(p, (int)child, base);
    }
    return t;
}

/* A run [lo, hi) of ranks, of which `head` is the one that passes on what the others have. */
struct ordered_run {
    int lo, hi, head;
};

/* Cuts the ranks lo .. hi-1 into `parts` runs of about equal length, and leaves out the empty ones.
 * The head of each run is chosen so that half of the k children of the head come before it. Returns
 * the number of runs. */
static int cut_run(int lo, int hi, int parts, int k, struct ordered_run *to)
{
    int n = 0;
    for (int64_t i = 0, all = hi - lo; i < parts; i++) {
        int first = (int)(lo + all * i / parts), end = (int)(lo + all * (i + 1) / parts);
        if (first < end)
            to[n++] = (struct ordered_run){first, end,
                                           first + (int)((int64_t)(end - first - 1) * (k / 2) / k)};
    }
    return n;
}

/* Cuts the ranks of a run, except its head, into at most k runs, none of which has ranks on both
 * sides of the head. There is at least one run on each side that has ranks, even if k is 1. Stores
 * the runs in to[] in rank order, and returns their number. */
static int runs_below(const struct ordered_run *run, int k, struct ordered_run *to)
{
    int64_t before = run->head - run->lo, rest = run->hi - run->lo - 1;
    int first = rest ? (int)((k * before + rest / 2) / rest) : 0;
    if (before > 0) first = tt_max(1, first);
    if (before < rest) first = tt_min(first, tt_max(k - 1, before > 0));
    int n = cut_run(run->lo, run->head, first, k, to);
    return n + cut_run(run->head + 1, run->hi, tt_max(k - first, 1), k, to + n);
}

struct tt_tree tt_tree_in_order(const struct tt_call *call, const struct tt_map *map, int base,
                                int me)
{
    struct ordered_run run = {0, map->p, base}, below[TT_CHILDREN + 1];
    struct tt_tree t = {.parent = -1};
    int n = runs_below(&run, radix(call), below);
    while (run.head != me) {
        int i = 0;
        while (me >= below[i].hi) i++;
        t.parent = run.head;
        run = below[i];
        n = runs_below(&run, radix(call), below);
    }
    for (int i = 0; i < n; i++) t.child[t.children++] = below[i].head;
    return t;
}

static bool has_tree(const struct tt_map *map)
{
    return map->net && map->net->kind == TT_NET_tree;
}

const char *tt_refuse_network(const struct tt_call *call, const struct tt_map *map)
{
    bool wide = has_tree(map) && map->net->extent[0] >= TT_CHILDREN;
    return wide ? "needs a tree of at most 31 children" : tt_refuse_radix(call, map);
}

/* Returns the neighbours of `me` in the tree that is numbered breadth first from `base`. With k =
 * 2, the children of number 0 are 1 and 2, the children of 1 are 3 and 4, and so on. */
static struct tt_tree breadth_first(const struct tt_call *call, int p, int base, int me)
{
    int v = tt_after(p, me, p - base), k = radix(call);
    struct tt_tree t = {.parent = v ? tt_after(p, (v - 1) / k, base) : -1};
    for (int64_t child = (int64_t)v * k + 1; child <= (int64_t)v * k + k && child < p; child++)
        t.child[t.children++] = tt_after(p, (int)child, base);
    return t;
}

/* Returns the neighbours of `me` in the tree of the network with the root `base`: the parent is the
 * neighbour on the route to the base, and the other neighbours are the children. */
struct tt_tree tt_tree_network(const struct tt_call *call, const struct tt_map *map, int base,
                               int me)
{
    const struct tt_net *net = map->net;
    if (!has_tree(map)) return breadth_first(call, map->p, base, me);
    int node = tt_net_node(net, me);
    struct tt_tree t = {.parent = -1};
    struct tt_route route = tt_route(node, tt_net_node(net, base));
    struct tt_hop hop;
    if (tt_route_next(net, &route, &hop)) t.parent = tt_net_rank(net, hop.to);
    for (int port = 0; port < net->ports; port++) {
        int to = tt_net_neighbour(net, node, port);
        if (to >= 0 && tt_net_rank(net, to) != t.parent)
            t.child[t.children++] = tt_net_rank(net, to);
    }
    return t;
}

/* Returns whether operands come to the base (the root of the tree) by two chains, one of the ranks
 * before it and one of the ranks after it, so that they can be combined in rank order. */
static bool is_two_chains(const struct tt_call *call)
{
    return call->coll == TT_COLL_reduce && !call->commutes;
}

static struct tt_tree two_chains(int p, int base, int me)
{
    struct tt_tree t = {.parent = me < base ? me + 1 : me > base ? me - 1 : -1};
    if (me <= base && me > 0) t.child[t.children++] = me - 1;
    if (me >= base && me < p - 1) t.child[t.children++] = me + 1;
    return t;
}

struct tt_tree tt_tree_chain(const struct tt_call *call, const struct tt_map *map, int base, int me)
{
    int p = map->p, v = tt_after(p, me, p - base);
    if (is_two_chains(call)) return two_chains(p, base, me);
    struct tt_tree t = {.parent = v ? tt_after(p, me, p - 1) : -1, .children = v < p - 1};
    t.child[0] = tt_after(p, me, 1);
    return t;
}

/* ---- Up ---- */

static bool has_out(const struct tt_call *call, int me)
{
    return call->coll != TT_COLL_reduce || me == call->root;
}

/* Returns whether operands come in rank order up the tree, whatever its root is. */
static bool is_in_order(tt_tree_fn *shape)
{
    return shape == tt_tree_chain || shape == tt_tree_in_order;
}

/* base_of returns the root of the tree. hands_on returns whether that rank, `base`, must send the
 * result on to the root of the collective. */
static int base_of(const struct tt_call *call, tt_tree_fn *shape)
{
    bool any = call->commutes || is_in_order(shape);
    return call->coll == TT_COLL_reduce && any ? call->root : 0;
}

static bool hands_on(const struct tt_call *call, int base)
{
    return call->coll == TT_COLL_reduce && base != call->root;
}

/* Returns how many children come before this rank in rank order; 0 if operands need not stay in
 * that order. */
static int children_before(const struct tt_call *call, const struct tt_tree *t, int me)
{
    int n = 0;
    while (!call->commutes && n < t->children && t->child[n] < me) n++;
    return n;
}

/* Combines into `to` this turn's slice of this rank, which is `mine`, and those that its children
 * send, which are the reductions of their subtrees. The first `before` children come before this
 * rank in rank order. */
static void combine(struct tt_builder *b, const struct tt_slices *s, const struct tt_tree *t,
                    int before, struct tt_range mine, struct tt_range to)
{
    struct tt_range operand[1 + TT_CHILDREN];
    tt_started recv[TT_CHILDREN];
    operand[before] = mine;
    for (int c = 0; c < t->children; c++) {
        struct tt_range *come = &operand[c < before ? c : 1 + c];
        *come = tt_scratch(b, s->len);
        recv[c] = tt_recv(b, t->child[c], *come, s->len);
        if (s->tail != s->len) tt_tail(b, s->tail);
    }
    for (int c = 0; c < t->children; c++) tt_wait(b, recv[c]);
    tt_combine(b, to, operand, 1 + t->children, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
}

static tt_started send_slice(struct tt_builder *b, const struct tt_slices *s, int peer,
                             struct tt_range from)
{
    tt_started send = tt_send(b, peer, from, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
    return send;
}

static void recv_slice(struct tt_builder *b, const struct tt_slices *s, int peer,
                       struct tt_range to)
{
    tt_started recv = tt_recv(b, peer, to, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
    tt_wait(b, recv);
}

void tt_tree_reduce_part(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                         int me, int base, tt_tree_fn *shape, struct tt_span part, int64_t slice)
{
    /* If the tree has another root, the root of the collective sends its input up the tree and then
     * receives the result. */
    bool again = hands_on(call, base) && me == call->root;
    struct tt_tree t = shape(call, map, base, me);
    int to = t.parent >= 0 ? t.parent : hands_on(call, base) ? call->root : -1;
    struct tt_slices s = tt_slices(part.len, tt_slice_bytes(call, slice), call->sz);
    struct tt_range mine = tt_slice(b, &s, tt_own(TT_IN, part.off)), own = mine,
                    out = tt_slice(b, &s, tt_own(TT_OUT, part.off));
    tt_started send = 0;
    if (t.children > 0)
        own = has_out(call, me) && !again ? out : tt_half(b, &s, tt_scratch(b, 2 * s.len));
    tt_slices_begin(b, &s);
    if (t.children > 0) combine(b, &s, &t, children_before(call, &t, me), mine, own);
    if (to >= 0) {
        send = send_slice(b, &s, to, own);
        tt_wait_ago(b, send, s.turns > 1 && !again);
    }
    if (again) recv_slice(b, &s, base, out);
    tt_slices_end(b, &s);
    if (to >= 0 && s.turns > 1 && !again) tt_wait_ago(b, send, 1);
}

/* Returns the whole message. */
static struct tt_span whole(const struct tt_call *call)
{
    return (struct tt_span){0, tt_call_bytes(call)};
}

void tt_tree_reduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                    int me, tt_tree_fn *shape, int64_t slice)
{
    tt_tree_reduce_part(b, call, map, me, base_of(call, shape), shape, whole(call), slice);
}

/* ---- Down ---- */

void tt_tree_bcast_part(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                        int me, int base, tt_tree_fn *shape, struct tt_span part, int64_t slice)
{
    struct tt_tree t = shape(call, map, base, me);
    struct tt_slices s = tt_slices(part.len, tt_slice_bytes(call, slice), call->sz);
    struct tt_range out = tt_slice(b, &s, tt_own(TT_OUT, part.off));
    tt_started send[TT_CHILDREN];
    tt_slices_begin(b, &s);
    if (t.parent >= 0) recv_slice(b, &s, t.parent, out);
    /* Sends to the largest subtree first: the subtrees of a binomial tree grow with the number of
     * the child. */
    for (int c = t.children - 1; c >= 0; c--) send[c] = send_slice(b, &s, t.child[c], out);
    for (int c = t.children - 1; c >= 0; c--) tt_wait_ago(b, send[c], s.turns > 1);
    tt_slices_end(b, &s);
    for (int c = t.children - 1; c >= 0 && s.turns > 1; c--) tt_wait_ago(b, send[c], 1);
}

void tt_tree_bcast(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                   int me, int base, tt_tree_fn *shape, int64_t slice)
{
    tt_tree_bcast_part(b, call, map, me, base, shape, whole(call), slice);
}

/* ---- Times of full trees ---- */

/* A full tree: `depth`, the levels below its root; `q`, the number of slices; `k`, the children of
 * each inner rank; `message`, the time of a message; `bytes`, the part of that time that its bytes
 * take. */
struct full {
    int64_t depth, q, k, message, bytes;
};

/* Fills in *f. Returns false if the formulas of times below do not hold: if the tree is not full,
 * its slices are not equal, a rank can send several messages at a time (c->all_ports), or a rank
 * that sends and receives at once is slower at both. */
static bool full(const struct tt_call *call, const struct tt_map *map, const struct tt_costs *c,
                 int base, tt_tree_fn *shape, int64_t slice, struct full *f)
{
    struct tt_slices s = tt_slices(tt_call_bytes(call), tt_slice_bytes(call, slice), call->sz);
    bool network = shape == tt_tree_network && has_tree(map);
    *f = (struct full){.q = s.turns, .k = network ? map->net->extent[0] : radix(call)};
    f->k = shape == tt_tree_chain ? 1 : tt_min(f->k, map->p - 1);
    f->bytes = c->tw * s.len;
    f->message = c->ts + f->bytes;
    int64_t n = 1;
    for (int64_t width = f->k; n < map->p; width *= f->k, f->depth++) n += width;
    if (network && (base > 0 || map->net->ranks < map->net->nodes)) return false;
    if (shape == tt_tree_chain && is_two_chains(call) && base > 0 && base < map->p - 1)
        return false;
    if (shape == tt_tree_in_order && f->k * base % (map->p - 1) != 0) return false;
    /* With several slices a rank sends and receives at once. The formulas hold only if a byte then
     * takes no longer than at a rank that only sends or only receives (tw_both equal to tw). */
    bool full_duplex = s.turns == 1 || c->tw_both == c->tw;
    return n == map->p && s.tail == s.len && !c->all_ports && full_duplex;
}

/* Returns the time of a reduce. A rank receives one slice from each child, and reduces these while
 * it receives the next ones. If several messages to a rank can start at the same time
 * (c->starts_side_by_side), the start-up time counts once for the slices of all children. After the
 * first turn, each turn takes as long as the slowest of three activities: the parent receives the
 * bytes of all children, a child starts and sends its next message, or the parent reduces. */
int64_t tt_tree_reduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                               const struct tt_costs *c, tt_tree_fn *shape, int64_t slice)
{
    struct full f;
    int base = base_of(call, shape);
    if (hands_on(call, base) || !full(call, map, c, base, shape, slice, &f)) return -1;
    bool beside = c->starts_side_by_side;
    int64_t in = beside ? c->ts + f.k * f.bytes : f.k * f.message;
    int64_t next = beside ? tt_max(f.k * f.bytes, f.message) : in;
    int64_t reduction = f.k * c->gamma * (tt_call_bytes(call) / f.q);
    return f.depth * (in + reduction) + (f.q - 1) * tt_max(next, reduction);
}

/* Returns the time of a bcast. A rank sends a slice to one child after the other. The child that
 * gets the slice last begins the next level, and so decides the time. */
int64_t tt_tree_bcast_time_ps(const struct tt_call *call, const struct tt_map *map,
                              const struct tt_costs *c, int base, tt_tree_fn *shape, int64_t slice)
{
    struct full f;
    if (!full(call, map, c, base, shape, slice, &f)) return -1;
    return (f.depth + f.q - 1) * f.k * f.message;
}

/* ---- Up and down ---- */

int tt_tree_allreduce_phases(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    (void)map;
    return 2;
}

void tt_tree_allreduce(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                       int me, int phase, tt_tree_fn *shape, int64_t slice)
{
    if (phase == 0)
        tt_tree_reduce(b, call, map, me, shape, slice);
    else
        tt_tree_bcast(b, call, map, me, 0, shape, slice);
}

int64_t tt_tree_allreduce_time_ps(const struct tt_call *call, const struct tt_map *map,
                                  const struct tt_costs *c, tt_tree_fn *shape, int64_t slice)
{
    int64_t up = tt_tree_reduce_time_ps(call, map, c, shape, slice);
    return up < 0 ? -1 : up + tt_tree_bcast_time_ps(call, map, c, 0, shape, slice);
}
