/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rounds of an exchange between neighbours (forward.h).
 */
#include "coll/forward.h"

/* The link to one neighbour, with the messages of the current round. */
struct tt_forward_link {
    int peer;
    int64_t in, out; /* bytes */
    struct tt_range in_at, out_at;
    tt_started recv, send;
};

const char *tt_forward_refuse(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return map->p == 1 ? NULL : tt_forest_refuse(map->net, map->p);
}

/* ---- Copies: neighbouring ones are merged into one ---- */

static void copy_now(struct tt_forward *f)
{
    struct tt_growing *c = &f->copy;
    tt_copy(f->builder, c->to, c->from, c->len);
    c->len = 0;
}

static bool follows(struct tt_range r, int64_t len, struct tt_range next)
{
    return r.buf == next.buf && r.off + len == next.off;
}

static void copy(struct tt_forward *f, struct tt_range to, struct tt_range from, int64_t len)
{
    struct tt_growing *c = &f->copy;
    if (len == 0) return;
    if (c->len > 0 && follows(c->to, c->len, to) && follows(c->from, c->len, from)) {
        c->len += len;
        return;
    }
    copy_now(f);
    *c = (struct tt_growing){to, from, len};
}

void tt_forward_take(struct tt_forward *f, struct tt_range from, int64_t len)
{
    copy(f, f->packed, from, len);
    f->packed.off += len;
}

/* ---- Messages ---- */

/* Returns the bytes that go from rank `from` to its neighbour `to` in round t. */
static int64_t flow(const struct tt_forward *f, int from, int to, int t)
{
    int64_t bytes = 0;
    for (int s = 0; s < f->forest.p; s++)
        if (tt_forest_passes(&f->forest, s, from, to, t)) bytes += f->ops->bytes(f, s, to);
    return bytes;
}

/* Returns whether the message that comes from rank `from` in round t can be received in its final
 * place. It can if this rank keeps all bytes of the message (it may also forward them), and the
 * pieces of the message lie side by side in OUT. If so, sets *at to their place. */
static bool is_kept_whole(const struct tt_forward *f, int from, int t, struct tt_range *at)
{
    struct tt_span all = {0, 0};
    for (int s = 0; s < f->forest.p; s++) {
        struct tt_span piece = tt_piece(f->call, s);
        if (!tt_forest_passes(&f->forest, s, from, f->me, t)) continue;
        if (f->ops->bytes(f, s, f->me) != piece.len) return false;
        if (piece.len == 0) continue;
        if (all.len == 0) all.off = piece.off;
        if (all.off + all.len != piece.off) return false;
        all.len += piece.len;
    }
    *at = tt_own(TT_OUT, all.off);
    return true;
}

static void receive(struct tt_forward *f, struct tt_forward_link *l, int t, struct tt_range *room)
{
    l->in = flow(f, l->peer, f->me, t);
    if (l->in == 0) return;
    if (!is_kept_whole(f, l->peer, t, &l->in_at)) {
        l->in_at = *room;
        room->off += l->in;
    }
    l->recv = tt_recv(f->builder, l->peer, l->in_at, l->in);
}

/* Packs the message for a neighbour at *room, and moves *room behind it. If the whole message
 * already lies in one piece, it is sent from there without a copy. */
static void pack(struct tt_forward *f, struct tt_forward_link *l, int t, struct tt_range *room)
{
    f->packed = l->out_at = *room;
    for (int s = 0; s < f->forest.p; s++)
        if (tt_forest_passes(&f->forest, s, f->me, l->peer, t)) f->ops->pack(f, s, l->peer);
    l->out = f->packed.off - room->off;
    if (f->copy.len == l->out) {
        l->out_at = f->copy.from;
        f->copy.len = 0;
        return;
    }
    copy_now(f);
    *room = f->packed;
}

static void send(struct tt_forward *f, struct tt_forward_link *l, int t, struct tt_range *room)
{
    pack(f, l, t, room);
    if (l->out > 0) l->send = tt_send(f->builder, l->peer, l->out_at, l->out);
}

static void wait(struct tt_forward *f, const struct tt_forward_link *l)
{
    if (l->in > 0) tt_wait(f->builder, l->recv);
    if (l->out > 0) tt_wait(f->builder, l->send);
}

/* Copies this rank's pieces of a message to OUT. The piece for this rank comes first in the data of
 * each source. */
static void keep(struct tt_forward *f, const struct tt_forward_link *l, int t)
{
    struct tt_range from = l->in_at;
    if (l->in == 0 || from.buf == TT_OUT) return;
    for (int s = 0; s < f->forest.p; s++) {
        if (!tt_forest_passes(&f->forest, s, l->peer, f->me, t)) continue;
        struct tt_span piece = tt_piece(f->call, s);
        f->place[s] = from.off;
        copy(f, tt_own(TT_OUT, piece.off), from, piece.len);
        from.off += f->ops->bytes(f, s, f->me);
    }
}

static void play_round(struct tt_forward *f, int t)
{
    struct tt_range in = f->in[t % 2], out = f->out;
    for (int i = 0; i < f->links; i++) receive(f, &f->link[i], t, &in);
    for (int i = 0; i < f->links; i++) send(f, &f->link[i], t, &out);
    for (int i = 0; i < f->links; i++) wait(f, &f->link[i]);
    for (int i = 0; i < f->links; i++) keep(f, &f->link[i], t);
    copy_now(f);
}

/* ---- A rank ---- */

/* Takes scratch: twice the most bytes that a round receives, because the data of two rounds are
 * kept, and once the most bytes that a round sends. */
static void find_room(struct tt_forward *f)
{
    int64_t most_in = 0, most_out = 0;
    for (int t = 1; t <= f->forest.deepest; t++) {
        int64_t in = 0, out = 0;
        for (int i = 0; i < f->links; i++) {
            in += flow(f, f->link[i].peer, f->me, t);
            out += flow(f, f->me, f->link[i].peer, t);
        }
        most_in = tt_max(most_in, in);
        most_out = tt_max(most_out, out);
    }
    f->in[0] = tt_scratch(f->builder, most_in);
    f->in[1] = tt_scratch(f->builder, most_in);
    f->out = tt_scratch(f->builder, most_out);
}

static void find_links(struct tt_forward *f)
{
    f->links = 0;
    for (const struct tt_neighbour *n = tt_forest_neighbours(&f->forest, f->me); n->rank >= 0; n++)
        f->link[f->links++].peer = n->rank;
}

static void play(struct tt_forward *f)
{
    struct tt_span piece = tt_piece(f->call, f->me);
    find_links(f);
    find_room(f);
    if (!f->call->in_place)
        copy(f, tt_own(TT_OUT, piece.off), tt_own(TT_IN, f->ops->own(f)), piece.len);
    copy_now(f);
    for (int t = 1; t <= f->forest.deepest; t++) play_round(f, t);
}

static bool begin(struct tt_forward *f, const struct tt_net *net)
{
    f->link = tt_alloc((size_t)net->ports * sizeof *f->link);
    f->place = tt_alloc((size_t)net->ranks * sizeof *f->place);
    return tt_forest_make(&f->forest, net, f->me, f->ops->lists) && f->link && f->place;
}

static void end(struct tt_forward *f)
{
    tt_forest_free(&f->forest);
    tt_free(f->link);
    tt_free(f->place);
}

void tt_forward_build(struct tt_builder *b, const struct tt_forward_ops *ops,
                      const struct tt_call *call, const struct tt_map *map, int me)
{
    struct tt_forward f = {.ops = ops, .call = call, .me = me, .builder = b};
    if (begin(&f, map->net))
        play(&f);
    else
        tt_builder_fail(b, "out of memory");
    end(&f);
}
