/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks, slices, and steps that several algorithms share.
 */
#include "coll/coll-util.h"

const char tt_needs_node[] = "needs all ranks on one node";
const char tt_needs_window[] = "needs a larger window";
const char tt_needs_order[] = "would combine operands out of rank order";
const char tt_needs_fewer[] = "reduces the inputs of at most 1024 ranks in one step";
const char tt_needs_memory[] = "has no memory for the table of nodes";

const char *tt_refuse_window(const struct tt_map *map, int64_t bytes)
{
    if (map->p == 1) return NULL;
    if (!tt_map_one_node(map)) return tt_needs_node;
    return map->win_bytes < bytes ? tt_needs_window : NULL;
}

/* Returns the parts of a window for `pieces` ranks. If a part has more than a cache line in the
 * long window (`high`), it begins and ends at the boundary of a cache line there. */
struct tt_parts tt_parts_of(const struct tt_map *map, int pieces)
{
    int64_t n = tt_max(pieces, 1), tiny = map->line_bytes / n / 8 * 8;
    int64_t high_at = map->low_bytes ? tt_round_up(map->low_bytes, TT_LINE) + TT_WIN_LINE : 0;
    int64_t high = tt_max(map->win_bytes - high_at, 0) / n;
    return (struct tt_parts){.tiny = tiny,
                             .low = (map->low_bytes - n * tiny) / n / 8 * 8,
                             .low_at = n * tiny,
                             .high = high > TT_LINE ? high / TT_LINE * TT_LINE : high,
                             .high_at = high_at};
}

/* A piece goes in slices only if reading the other rank's buffer is very dear or forbidden. Slices
 * of less than LEAST bytes spend too much of their time on signals. A plan has steps for each
 * slice, so a piece has at most MOST slices. */
struct tt_part_slices tt_part_slices(const struct tt_parts *parts, const struct tt_call *call,
                                     const struct tt_map *map, bool may, int64_t len)
{
    enum { LEAST = 16 << 10, MOST = 64 };
    struct tt_part_slices s = {.len = parts->high / 2};
    bool dear = !map->mapped && (!may || map->read_cost >= TT_VERY_DEAR);
    if (s.len > TT_LINE) s.len = s.len / TT_LINE * TT_LINE;
    if (!dear || s.len < tt_slice_bytes(call, LEAST) || len > MOST * s.len) return s;
    s.n = (int)((len + s.len - 1) / s.len);
    s.tail = len - (s.n - 1) * s.len;
    return s;
}

const char *tt_refuse_never(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    (void)map;
    return NULL;
}

const char *tt_refuse_halves(const struct tt_call *call, const struct tt_map *map)
{
    return tt_refuse_window(map, tt_min(tt_call_bytes(call), 2 * call->sz));
}

/* Returns NULL if ranks can access each other's opened buffers, else the reason. On one node `may`
 * says whether they can, and `needs` is the reason if not. Between nodes they can by RDMA. */
static const char *refuse_access(const struct tt_map *map, bool may, const char *needs)
{
    if (map->p == 1) return NULL;
    if (!tt_map_one_node(map)) return map->rdma ? NULL : tt_needs_node;
    return may ? NULL : needs;
}

const char *tt_refuse_reads(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return refuse_access(map, map->reads,
                         "needs buffers that peers can read directly (CMA or threads)");
}

const char *tt_refuse_writes(const struct tt_call *call, const struct tt_map *map)
{
    (void)call;
    return refuse_access(map, map->writes,
                         "needs buffers that peers can write directly (CMA or threads)");
}

const char *tt_refuse_reads_and_writes(const struct tt_call *call, const struct tt_map *map)
{
    const char *why = tt_refuse_reads(call, map);
    return why ? why : tt_refuse_writes(call, map);
}

const char *tt_refuse_reads_of_all(const struct tt_call *call, const struct tt_map *map)
{
    return map->p > TT_OPERANDS ? tt_needs_fewer : tt_refuse_reads(call, map);
}

/* ---- Blocks ---- */

struct tt_span tt_block(const struct tt_call *call, int k, int i)
{
    int64_t each = call->n / k, more = call->n % k;
    return (struct tt_span){.off = (each * i + tt_min(i, more)) * call->sz,
                            .len = (each + (i < more)) * call->sz};
}

static struct tt_span part(const struct tt_call *call, const int64_t *counts, const int64_t *displs,
                           int r)
{
    if (!counts) return (struct tt_span){r * tt_call_bytes(call), tt_call_bytes(call)};
    return (struct tt_span){displs[r] * call->sz, counts[r] * call->sz};
}

struct tt_span tt_piece(const struct tt_call *call, int r)
{
    return part(call, call->out_counts, call->out_displs, r);
}

struct tt_span tt_block_to(const struct tt_call *call, int r)
{
    return part(call, call->in_counts, call->in_displs, r);
}

struct tt_span tt_block_from(const struct tt_call *call, int r)
{
    return part(call, call->out_counts, call->out_displs, r);
}

int tt_log2_up(int p)
{
    return p > 1 ? 32 - __builtin_clz((unsigned)p - 1) : 0;
}

int tt_pow2_below(int p)
{
    return p > 1 ? 1 << (31 - __builtin_clz((unsigned)p)) : 1;
}

/* ---- Slices ---- */

struct tt_slices tt_slices(int64_t bytes, int64_t len, int64_t unit)
{
    len = tt_max(len / unit * unit, unit);
    if (bytes <= len) return (struct tt_slices){.len = bytes, .tail = bytes, .turns = 1};
    int64_t turns = tt_div_up(bytes, len);
    return (struct tt_slices){.len = len,
                              .tail = bytes - (turns - 1) * len,
                              .turns = (uint32_t)tt_min(turns, UINT32_MAX)};
}

int64_t tt_slice_bytes(const struct tt_call *call, int64_t otherwise)
{
    if (call->slice <= 0) return otherwise;
    int64_t least = tt_round_up(tt_div_up(tt_call_bytes(call), TT_SLICES), call->sz);
    return tt_max(call->slice, least);
}

struct tt_slices tt_window_slices(const struct tt_call *call, const struct tt_map *map,
                                  int64_t bytes, int64_t unit, int64_t *base)
{
    /* A message of more than FEW bytes begins after the first TT_WIN_LINE bytes of WIN, at a cache
     * line. A shorter one begins at 0, because the first bytes travel with the signal. OVERLAPPED
     * is the length of a slice if there is a processor for each rank, so that the ranks can work at
     * the same time. */
    enum { FEW = 1024, OVERLAPPED = 32 << 10 };
    *base = bytes > FEW && map->win_bytes - TT_WIN_LINE >= 2 * unit ? TT_WIN_LINE : 0;
    int64_t room = map->win_bytes - *base;
    bool overlap = map->p <= map->cores && bytes > 2 * OVERLAPPED;
    int64_t wanted = tt_slice_bytes(call, overlap ? OVERLAPPED : room);
    if (bytes <= tt_min(room, wanted)) return (struct tt_slices){bytes, bytes, 1};
    return tt_slices(bytes, tt_min(room / 2, wanted), unit);
}

void tt_slices_begin(struct tt_builder *b, const struct tt_slices *s)
{
    if (s->turns > 1) tt_loop(b, s->turns);
}

void tt_slices_end(struct tt_builder *b, const struct tt_slices *s)
{
    if (s->turns > 1) tt_end(b);
}

struct tt_range tt_slice(struct tt_builder *b, const struct tt_slices *s, struct tt_range r)
{
    return s->turns > 1 ? tt_moving(b, r, s->len, 0) : r;
}

struct tt_range tt_half(struct tt_builder *b, const struct tt_slices *s, struct tt_range r)
{
    return s->turns > 1 ? tt_rotating(b, r, s->len, 2, 0) : r;
}

void tt_slice_signal(struct tt_builder *b, const struct tt_slices *s, int peer, uint32_t value,
                     int inc)
{
    tt_signal(b, peer, value);
    if (s->turns > 1) tt_per_turn(b, inc, 0);
}

void tt_slice_await(struct tt_builder *b, const struct tt_slices *s, int writer, uint32_t value,
                    int inc)
{
    tt_await(b, writer, value);
    if (s->turns > 1) tt_per_turn(b, inc, 0);
}

void tt_slice_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                   struct tt_range from)
{
    tt_copy(b, to, from, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
}

static int64_t late_turns(const struct tt_slices *s, int64_t bytes)
{
    return bytes > 0 ? tt_div_up(bytes, s->len) : 0;
}

/* Returns the range of this turn's slice of a piece that lies at r, has `bytes` bytes, and may
 * begin in a later turn than the longest piece (tt_late_copy). */
static struct tt_range late(struct tt_builder *b, const struct tt_slices *s, struct tt_range r,
                            int64_t bytes)
{
    int all = (int)s->turns, own = (int)late_turns(s, bytes);
    if (own == 0 || own == all) return tt_slice(b, s, r);
    return tt_rotating(b, r, s->len, all, own);
}

/* Returns the length for a step that copies or combines, in each turn, one slice of a piece of
 * `bytes` bytes: the length of a slice, or, if there is only one turn, of the whole piece. */
static int64_t late_len(const struct tt_slices *s, int64_t bytes)
{
    return s->turns > 1 && bytes > 0 ? s->len : bytes;
}

/* Sets, for the step just appended, the turn in which a piece of `bytes` bytes begins, and the
 * length of its last slice. A shorter piece begins later, so that all end in the last turn. */
static void late_turn(struct tt_builder *b, const struct tt_slices *s, int64_t bytes)
{
    int64_t late = s->turns - late_turns(s, bytes);
    if (bytes == 0) return;
    if (bytes % s->len && s->turns > 1) tt_tail(b, bytes % s->len);
    if (late > 0) tt_from(b, (uint32_t)late);
}

void tt_late_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                  struct tt_range from, int64_t bytes)
{
    if (bytes == 0) return;
    if (to.buf != TT_WIN) to = late(b, s, to, bytes);
    if (from.buf != TT_WIN) from = late(b, s, from, bytes);
    tt_copy(b, to, from, late_len(s, bytes));
    late_turn(b, s, bytes);
}

void tt_late_combine(struct tt_builder *b, const struct tt_slices *s, int p, int me,
                     struct tt_range to, struct tt_range from, struct tt_range mine, int64_t bytes)
{
    if (bytes == 0) return;
    tt_combine_all(b, p, me, late(b, s, to, bytes), from, late(b, s, mine, bytes),
                   late_len(s, bytes));
    late_turn(b, s, bytes);
}

void tt_window_fill(struct tt_builder *b, const struct tt_slices *s, int root, int64_t base)
{
    tt_slices_begin(b, s);
    if (s->turns > 2) {
        tt_slice_await(b, s, root, (uint32_t)-1, 1);
        tt_from(b, 2);
    }
    tt_slice_copy(b, s, tt_half(b, s, tt_own(TT_WIN, base)), tt_slice(b, s, tt_own(TT_IN, 0)));
    tt_slice_signal(b, s, root, 1, 1);
    tt_slices_end(b, s);
}

void tt_window_drain(struct tt_builder *b, const struct tt_slices *s, int root,
                     struct tt_range from)
{
    tt_slices_begin(b, s);
    tt_slice_await(b, s, root, 1, 1);
    tt_slice_copy(b, s, tt_slice(b, s, tt_own(TT_OUT, 0)), from);
    if (s->turns > 2) tt_slice_signal(b, s, root, 1, 1);
    tt_slices_end(b, s);
}

/* Combines into `to` this turn's slices of rank `me`, from IN, and of n other ranks, from their
 * windows. `win` is the place of the slice in each window. */
static void combine_windows(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                            struct tt_range win, int me, const int *rank, int n)
{
    struct tt_range operand[TT_OPERANDS];
    int at = 0;
    while (at < n && rank[at] < me) at++;
    for (int i = 0; i < n; i++) {
        operand[i + (i >= at)] = win;
        operand[i + (i >= at)].rank = rank[i];
    }
    operand[at] = tt_slice(b, s, tt_own(TT_IN, 0));
    tt_combine(b, to, operand, n + 1, s->len);
    if (s->tail != s->len) tt_tail(b, s->tail);
}

void tt_window_pass(struct tt_builder *b, const struct tt_slices *s, struct tt_range win, int me,
                    const int *before, int n, int next)
{
    for (int i = 0; i < n; i++) tt_slice_await(b, s, before[i], 1, 2);
    if (next >= 0 && s->turns > 2) {
        tt_slice_await(b, s, next, (uint32_t)-2, 2);
        tt_from(b, 2);
    }
    struct tt_range to = next >= 0 ? win : tt_slice(b, s, tt_own(TT_OUT, 0));
    combine_windows(b, s, to, win, me, before, n);
    if (next >= 0) tt_slice_signal(b, s, next, 1, 2);
}

void tt_window_await_read(struct tt_builder *b, const struct tt_slices *s, int p, int root)
{
    for (int k = 1; k < p && s->turns > 2; k++) {
        tt_slice_await(b, s, tt_after(p, root, k), (uint32_t)-1, 1);
        tt_from(b, 2);
    }
}

/* ---- All ranks ---- */

void tt_combine_all(struct tt_builder *b, int p, int me, struct tt_range to, struct tt_range from,
                    struct tt_range mine, int64_t len)
{
    struct tt_range operand[TT_OPERANDS];
    for (int r = 0; r < p; r++) {
        operand[r] = r == me ? mine : from;
        if (r != me) operand[r].rank = r;
    }
    tt_combine(b, to, operand, p, len);
}

void tt_await_all(struct tt_builder *b, int p, int me, uint32_t value)
{
    for (int k = 1; k < p; k++) tt_await(b, tt_after(p, me, k), value);
}

void tt_copy_at_root(struct tt_builder *b, int root, const struct tt_map *map, int me, bool own,
                     struct tt_range to, struct tt_range from, int64_t len)
{
    bool puts = to.rank == root;
    if (me == root) {
        tt_open(b, 1 << (puts ? to.buf : from.buf));
        tt_signal(b, TT_ALL, 1);
        if (own) tt_copy(b, to, from, len);
        tt_await_all(b, map->p, me, 1);
    } else {
        tt_await(b, root, 1);
        tt_wait(b, puts ? tt_put(b, to, from, len) : tt_get(b, to, from, len));
        tt_signal(b, root, 1);
    }
}

/* ---- Messages under way ---- */

struct tt_bounded tt_bounded(const struct tt_call *call)
{
    enum { OUTSTANDING = 4 };
    return (struct tt_bounded){.most = call->radix > 0 ? (int)tt_min(call->radix, TT_BOUNDED)
                                                       : OUTSTANDING};
}

void tt_bounded_room(struct tt_builder *b, const struct tt_bounded *messages)
{
    if (messages->n >= messages->most) tt_wait(b, messages->started[messages->n % messages->most]);
}

void tt_bounded_add(struct tt_bounded *messages, tt_started started)
{
    messages->started[messages->n++ % messages->most] = started;
}

void tt_bounded_end(struct tt_builder *b, const struct tt_bounded *messages)
{
    for (int i = (int)tt_max(0, messages->n - messages->most); i < messages->n; i++)
        tt_wait(b, messages->started[i % messages->most]);
}

/* ---- Copies ---- */

void tt_copy_in(struct tt_builder *b, const struct tt_call *call, int64_t to, int64_t from,
                int64_t len)
{
    if (!call->in_place) tt_copy(b, tt_own(TT_OUT, to), tt_own(TT_IN, from), len);
}

static struct tt_peers peers_in(const int32_t *list, int n, int p, int me)
{
    struct tt_peers peers = {list, n, 0, p, me};
    while (peers.first < n && list[peers.first] < me) peers.first++;
    return peers;
}

struct tt_peers tt_peers_to(const struct tt_call *call, int p, int me)
{
    const struct tt_neighbors *n = call->neighbors;
    return n ? peers_in(n->to, n->to_n, p, me) : (struct tt_peers){NULL, p - 1, 0, p, me};
}

struct tt_peers tt_peers_from(const struct tt_call *call, int p, int me)
{
    const struct tt_neighbors *n = call->neighbors;
    return n ? peers_in(n->from, n->from_n, p, me) : (struct tt_peers){NULL, p - 1, 0, p, me};
}

void tt_signal_peers(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                     const struct tt_peers *peers,
                     struct tt_span (*block)(const struct tt_call *, int), uint32_t value)
{
    uint32_t n = 0;
    if (!peers->list && tt_map_one_node(map)) {
        tt_signal(b, TT_ALL, value);
        return;
    }
    int32_t *set = tt_alloc(((size_t)peers->n + 1) * sizeof *set);
    if (!set) tt_builder_fail(b, "there is no memory for a set of ranks");
    for (int k = 0; set && k < peers->n; k++)
        if (block(call, tt_peer(peers, k)).len > 0) set[n++] = tt_peer(peers, k);
    if (set) tt_signal_set(b, set, n, value);
    tt_free(set);
}

void tt_await_peers(struct tt_builder *b, const struct tt_call *call, const struct tt_peers *peers,
                    struct tt_span (*block)(const struct tt_call *, int), uint32_t value)
{
    for (int k = 0; k < peers->n; k++)
        if (block(call, tt_peer(peers, k)).len > 0) tt_await(b, tt_peer(peers, k), value);
}
