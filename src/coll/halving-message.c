/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distribution of recursive halving by messages: in each turn a slice goes out, a slice comes in,
 * and the one before it is reduced meanwhile, across steps and into the collection.
 */
#include "coll/halving.h"

/* ---- Turns ---- */

static struct tt_range behind(struct tt_range at, int64_t off)
{
    at.off += off;
    return at;
}

static struct tt_range source(const struct tt_flow *flow, const struct tt_turn *turn)
{
    const struct tt_halving *h = flow->h;
    /* A place's own input goes out as it is; later only what has been reduced. */
    bool input = turn->step == TT_HALVING_PAIR || (turn->step == 0 && h->mate < 0);
    return input ? tt_own(TT_IN, turn->out.off) : behind(flow->from, turn->out.off);
}

static struct tt_range *room(struct tt_flow *flow)
{
    return &flow->room[flow->turns % 2];
}

static void begin(struct tt_flow *flow, struct tt_turn turn)
{
    bool straight = turn.step == TT_HALVING_STRAIGHT;
    flow->turns++;
    flow->now = turn;
    struct tt_range to = straight ? behind(flow->to, turn.in.off) : *room(flow);
    if (turn.to >= 0) flow->sent = tt_send(flow->b, turn.to, source(flow, &turn), turn.out.len);
    if (turn.from >= 0) flow->received = tt_recv(flow->b, turn.from, to, turn.in.len);
}

/* The turn under way is over; returns it. */
static struct tt_turn finish(struct tt_flow *flow)
{
    if (flow->now.from >= 0) tt_wait(flow->b, flow->received);
    if (flow->now.to >= 0) tt_wait(flow->b, flow->sent);
    return flow->now;
}

static void reduce(struct tt_flow *flow, const struct tt_turn *turn, struct tt_range from)
{
    if (turn->from >= 0 && turn->step != TT_HALVING_STRAIGHT)
        tt_halving_reduce(flow->b, flow->h, turn->step, turn->in, &from);
}

void tt_flow_turn(struct tt_flow *flow, struct tt_turn next)
{
    struct tt_range from = *room(flow);
    struct tt_turn done = finish(flow);
    begin(flow, next);
    reduce(flow, &done, from);
}

void tt_flow_end(struct tt_flow *flow)
{
    struct tt_range from = *room(flow);
    struct tt_turn done = finish(flow);
    reduce(flow, &done, from);
    flow->now = (struct tt_turn){.to = -1, .from = -1, .step = TT_HALVING_STRAIGHT};
}

/* ---- Steps ---- */

struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at)
{
    return (struct tt_flow){.b = b,
                            .h = h,
                            .from = at,
                            .to = at,
                            .now = {.to = -1, .from = -1, .step = TT_HALVING_STRAIGHT}};
}

void tt_flow_exchange(struct tt_flow *flow, int step, int to, const struct tt_span *out, int from,
                      const struct tt_span *in)
{
    for (int j = 0; j < flow->h->s; j++)
        tt_flow_turn(flow, (struct tt_turn){to, from, out[j], in[j], step});
}

/* The two halves of step 0, mine first: of a pair the other's is the one that is given. */
static void halves(const struct tt_halving *h, struct tt_span *mine, struct tt_span *theirs)
{
    int i = h->rep ? h->i : h->i ^ 1;
    tt_halving_list(h, i, 0, h->s, mine);
    tt_halving_list(h, i ^ 1, 0, h->s, theirs);
}

static int64_t longest_slice(const struct tt_halving *h)
{
    int64_t longest = 0;
    struct tt_span mine[TT_HALVING_SLICES], theirs[TT_HALVING_SLICES];
    halves(h, mine, theirs);
    for (int j = 0; j < h->s; j++) longest = tt_max(longest, mine[j].len);
    return longest;
}

struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_span out[TT_HALVING_SLICES], in[TT_HALVING_SLICES];
    struct tt_flow flow = tt_flow_at(b, h, tt_halving_acc(h, h->me, 0));
    tt_halving_room(b, h);
    /* A later step's slices may be one element longer than half of the longest, never more than it. */
    for (int k = 0; k < 2; k++) flow.room[k] = tt_scratch(b, longest_slice(h) + h->call->sz);
    halves(h, in, out);
    if (h->mate >= 0) tt_flow_exchange(&flow, TT_HALVING_PAIR, h->mate, out, h->mate, in);
    if (!h->rep) {
        /* What the place gives in step 0 is what this rank has reduced. */
        tt_flow_exchange(&flow, TT_HALVING_STRAIGHT, tt_halving_rep(h, h->i ^ 1), in, -1, in);
        return flow;
    }
    for (int k = 0; k < h->m; k++) {
        int partner = h->i ^ 1 << k;
        tt_halving_list(h, h->i, k, h->s, in);
        tt_halving_list(h, partner, k, h->s, out);
        tt_flow_exchange(&flow, k, k == 0 && h->mate >= 0 ? -1 : tt_halving_rep(h, partner), out,
                         tt_halving_giver(h, partner, k), in);
    }
    return flow;
}

/* ---- The gather ---- */

int tt_halving_gather(const struct tt_halving *h, struct tt_move *move)
{
    int at = tt_halving_place(h, h->root), n = 0;
    for (int k = h->m - 1; k >= 0; k--) {
        int from_root = h->i ^ at, partner = h->i ^ 1 << k;
        if (from_root >> k & 1) {
            int to = partner == at ? h->root : tt_halving_rep(h, partner);
            move[n++] = (struct tt_move){to, -1, tt_halving_kept(h, h->i, k)};
            return n;
        }
        move[n++] =
            (struct tt_move){-1, tt_halving_rep(h, partner), tt_halving_kept(h, partner, k)};
    }
    return n;
}

void tt_flow_moves(struct tt_flow *flow, const struct tt_move *move, int n)
{
    struct tt_span list[TT_HALVING_SLICES];
    for (int i = 0; i < n; i++) {
        tt_halving_cut(flow->h, move[i].run, flow->h->s, list);
        tt_flow_exchange(flow, TT_HALVING_STRAIGHT, move[i].to, list, move[i].from, list);
    }
}

/* ---- Costs ---- */

static void count_out(struct tt_count *c, const struct tt_halving *h, const struct tt_span *list)
{
    int64_t filled = tt_halving_filled(list, h->s);
    for (int j = 0; j < h->s; j++) c->sent += list[j].len;
    c->messages += filled;
    c->steps += 2 * filled;
}

static void count_in(struct tt_count *c, const struct tt_halving *h, const struct tt_span *list)
{
    for (int j = 0; j < h->s; j++) {
        c->received += list[j].len;
        c->reduced += list[j].len;
    }
    c->steps += 3 * tt_halving_filled(list, h->s);
}

struct tt_count tt_halving_flow_count(const struct tt_halving *h)
{
    struct tt_count c = {0};
    struct tt_span out[TT_HALVING_SLICES], in[TT_HALVING_SLICES];
    halves(h, in, out);
    if (h->mate >= 0) {
        count_out(&c, h, out);
        count_in(&c, h, in);
    }
    if (!h->rep) count_out(&c, h, in);
    for (int k = 0; k < h->m && h->rep; k++) {
        tt_halving_list(h, h->i, k, h->s, in);
        tt_halving_list(h, h->i ^ 1 << k, k, h->s, out);
        if (k > 0 || h->mate < 0) count_out(&c, h, out);
        count_in(&c, h, in);
    }
    return c;
}

void tt_flow_count(struct tt_count *c, const struct tt_halving *h, const struct tt_span *out,
                   const struct tt_span *in)
{
    if (out) count_out(c, h, out);
    for (int j = 0; in && j < h->s; j++) {
        c->received += in[j].len;
        c->steps += in[j].len > 0 ? 2 : 0;
    }
}

void tt_flow_moves_count(struct tt_count *c, const struct tt_halving *h, const struct tt_move *move,
                         int n)
{
    struct tt_span list[TT_HALVING_SLICES];
    for (int i = 0; i < n; i++) {
        tt_halving_cut(h, move[i].run, h->s, list);
        tt_flow_count(c, h, move[i].to >= 0 ? list : NULL, move[i].from >= 0 ? list : NULL);
    }
}
