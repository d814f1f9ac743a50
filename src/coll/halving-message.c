/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distribution of recursive halving by messages: in each turn a slice goes out to each partner,
 * one comes in from each, and those before them are reduced meanwhile, across steps and into the
 * collection.
 */
#include "coll/halving.h"

/* ---- Turns ---- */

static struct tt_range behind(struct tt_range at, int64_t off)
{
    at.off += off;
    return at;
}

static struct tt_range source(const struct tt_flow *flow, const struct tt_turn *turn, int g)
{
    const struct tt_halving *h = flow->h;
    /* A place's own input goes out as it is; later only what has been reduced. */
    bool input = turn->step == TT_HALVING_PAIR || (turn->step == 0 && h->mate < 0);
    int64_t off = turn->peer[g].out.off;
    return input ? tt_own(TT_IN, off) : behind(flow->from, off);
}

static struct tt_range *rooms(struct tt_flow *flow)
{
    return flow->room[flow->turns % 2];
}

static void begin(struct tt_flow *flow, const struct tt_turn *turn)
{
    flow->turns++;
    flow->now = *turn;
    for (int g = 0; g < turn->n; g++) {
        const struct tt_turn_peer *peer = &turn->peer[g];
        bool straight = turn->step == TT_HALVING_STRAIGHT;
        struct tt_range to = straight ? behind(flow->to, peer->in.off) : rooms(flow)[g];
        if (peer->to >= 0)
            flow->sent[g] = tt_send(flow->b, peer->to, source(flow, turn, g), peer->out.len);
        if (peer->from >= 0) flow->received[g] = tt_recv(flow->b, peer->from, to, peer->in.len);
    }
}

/* The turn under way is over. */
static void finish(struct tt_flow *flow)
{
    const struct tt_turn *now = &flow->now;
    for (int g = 0; g < now->n; g++)
        if (now->peer[g].from >= 0) tt_wait(flow->b, flow->received[g]);
    for (int g = 0; g < now->n; g++)
        if (now->peer[g].to >= 0) tt_wait(flow->b, flow->sent[g]);
}

/* All partners bring the same slice, or none brings any. */
static void reduce(struct tt_flow *flow, const struct tt_turn *turn, const struct tt_range *from)
{
    if (turn->n > 0 && turn->peer[0].from >= 0 && turn->step != TT_HALVING_STRAIGHT)
        tt_halving_reduce(flow->b, flow->h, turn->step, turn->peer[0].in, from);
}

void tt_flow_turn(struct tt_flow *flow, const struct tt_turn *next)
{
    const struct tt_range *from = rooms(flow);
    struct tt_turn done = flow->now;
    finish(flow);
    begin(flow, next);
    reduce(flow, &done, from);
}

void tt_flow_end(struct tt_flow *flow)
{
    finish(flow);
    reduce(flow, &flow->now, rooms(flow));
    flow->now = (struct tt_turn){.n = 0};
}

/* ---- Steps ---- */

static void cut(const struct tt_halving *h, const struct tt_swap *swap, int i, struct tt_span *list)
{
    if (swap->collects)
        tt_halving_cut(h, tt_halving_kept(h, i, swap->step), h->s, list);
    else
        tt_halving_list(h, i, swap->step, h->s, list);
}

static void set_turns(const struct tt_halving *h, const struct tt_swap *swap, struct tt_turn *turns)
{
    struct tt_span out[TT_HALVING_SLICES], in[TT_HALVING_SLICES];
    int step = swap->collects ? TT_HALVING_STRAIGHT : swap->step;
    for (int j = 0; j < h->s; j++) turns[j] = (struct tt_turn){.step = step, .n = swap->n};
    for (int g = 0; g < swap->n; g++) {
        const struct tt_swap_peer *peer = &swap->peer[g];
        cut(h, swap, peer->out, out);
        cut(h, swap, peer->in, in);
        for (int j = 0; j < h->s; j++)
            turns[j].peer[g] = (struct tt_turn_peer){peer->to, peer->from, out[j], in[j]};
    }
}

void tt_flow_swap(struct tt_flow *flow, const struct tt_swap *swap)
{
    struct tt_turn turns[TT_HALVING_SLICES];
    set_turns(flow->h, swap, turns);
    for (int j = 0; j < flow->h->s; j++) tt_flow_turn(flow, &turns[j]);
}

/* One with one peer. */
static struct tt_turn turn_of(int to, struct tt_span out, int from, struct tt_span in)
{
    return (struct tt_turn){.step = TT_HALVING_STRAIGHT,
                            .n = 1,
                            .peer = {{.to = to, .from = from, .out = out, .in = in}}};
}

void tt_flow_exchange(struct tt_flow *flow, int to, const struct tt_span *out, int from,
                      const struct tt_span *in)
{
    for (int j = 0; j < flow->h->s; j++) {
        struct tt_turn turn = turn_of(to, out[j], from, in[j]);
        tt_flow_turn(flow, &turn);
    }
}

struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at)
{
    return (struct tt_flow){.b = b, .h = h, .from = at, .to = at};
}

/* Step k of the distribution, or the pair's. The rep that has a mate gives of its own half only,
 * the mate of the other. */
static struct tt_swap swap_of(const struct tt_halving *h, int k)
{
    struct tt_swap swap = {.step = k};
    if (k == TT_HALVING_PAIR) {
        int mine = h->rep ? h->i : h->i ^ 1;
        swap.peer[swap.n++] = (struct tt_swap_peer){h->mate, h->mate, mine ^ 1, mine};
        return swap;
    }
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        bool gives = tt_halving_giver(h, h->i, i, k) == h->me;
        swap.peer[swap.n++] =
            (struct tt_swap_peer){gives ? tt_halving_rep(h, i) : -1,
                                  h->rep ? tt_halving_giver(h, i, h->i, k) : -1, i, h->i};
    }
    return swap;
}

/* Steps of the distribution: a rank that does not go on gives once. */
static int steps(const struct tt_halving *h)
{
    return h->rep ? h->m : 1;
}

static int64_t longest_slice(const struct tt_halving *h, int k)
{
    int64_t longest = 0;
    struct tt_span list[TT_HALVING_SLICES];
    tt_halving_list(h, h->rep ? h->i : h->i ^ 1, k, h->s, list);
    for (int j = 0; j < h->s; j++) longest = tt_max(longest, list[j].len);
    return longest;
}

/* A later step's slices may be one element longer than half of the longest, never more than it. */
static void make_rooms(struct tt_flow *flow)
{
    const struct tt_halving *h = flow->h;
    int n = h->rep ? tt_halving_partners(h, 0) : 1;
    for (int half = 0; half < 2; half++)
        for (int g = 0; g < n; g++) {
            int k = g == 0 && h->mate >= 0 ? TT_HALVING_PAIR : 0;
            flow->room[half][g] = tt_scratch(flow->b, longest_slice(h, k) + h->call->sz);
        }
}

struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h)
{
    struct tt_flow flow = tt_flow_at(b, h, tt_halving_acc(h, h->me, 0));
    tt_halving_room(b, h);
    make_rooms(&flow);
    for (int k = h->mate >= 0 ? TT_HALVING_PAIR : 0; k < steps(h); k++) {
        struct tt_swap swap = swap_of(h, k);
        tt_flow_swap(&flow, &swap);
    }
    return flow;
}

/* ---- The gather ---- */

/* Step k of it; whether this rank is at its end then. */
static bool gather_step(const struct tt_halving *h, int at, int k, struct tt_swap *swap)
{
    int head = h->i;
    *swap = (struct tt_swap){.step = k, .collects = true};
    for (int g = 0; g < tt_halving_partners(h, k); g++) {
        int i = tt_halving_partner(h, h->i, k, g);
        if ((i ^ at) < (head ^ at)) head = i;
        swap->peer[swap->n++] = (struct tt_swap_peer){-1, tt_halving_rep(h, i), i, i};
    }
    if (head == h->i) return false;
    int to = head == at ? h->root : tt_halving_rep(h, head);
    swap->n = 1;
    swap->peer[0] = (struct tt_swap_peer){to, -1, h->i, h->i};
    return true;
}

int tt_halving_gather(const struct tt_halving *h, struct tt_swap *swap)
{
    int at = tt_halving_place(h, h->root), n = 0;
    bool ends = false;
    for (int k = h->m - 1; k >= 0 && !ends; k--) ends = gather_step(h, at, k, &swap[n++]);
    return n;
}

/* ---- Costs ---- */

static void count_turn(struct tt_count *c, const struct tt_turn *t)
{
    for (int g = 0; g < t->n; g++) {
        int64_t out = t->peer[g].to >= 0 ? t->peer[g].out.len : 0;
        int64_t in = t->peer[g].from >= 0 ? t->peer[g].in.len : 0;
        c->sent += out;
        c->received += in;
        c->messages += out > 0;
        c->steps += 2 * (out > 0) + 2 * (in > 0);
        if (t->step == TT_HALVING_STRAIGHT) continue;
        c->reduced += in;
        c->steps += g == 0 && in > 0; /* the reduction of all */
    }
}

void tt_flow_swap_count(struct tt_count *c, const struct tt_halving *h, const struct tt_swap *swap)
{
    struct tt_turn turns[TT_HALVING_SLICES];
    set_turns(h, swap, turns);
    for (int j = 0; j < h->s; j++) count_turn(c, &turns[j]);
}

struct tt_count tt_halving_flow_count(const struct tt_halving *h)
{
    struct tt_count c = {0};
    for (int k = h->mate >= 0 ? TT_HALVING_PAIR : 0; k < steps(h); k++) {
        struct tt_swap swap = swap_of(h, k);
        tt_flow_swap_count(&c, h, &swap);
    }
    return c;
}

void tt_flow_count(struct tt_count *c, const struct tt_halving *h, const struct tt_span *out,
                   const struct tt_span *in)
{
    struct tt_span none = {0};
    for (int j = 0; j < h->s; j++) {
        struct tt_turn turn =
            turn_of(out ? 0 : -1, out ? out[j] : none, in ? 0 : -1, in ? in[j] : none);
        count_turn(c, &turn);
    }
}
