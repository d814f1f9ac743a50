/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions that several algorithms share: cutting a message into blocks and slices, passing slices
 * through WIN, and steps that concern all ranks.
 */
#ifndef TT_COLL_UTIL_H
#define TT_COLL_UTIL_H

#include "coll/coll.h"

enum {
    TT_WIN_LINE = 48,  /* the first bytes of WIN, which lie in the cache line of the signal and
                        * travel with it */
    TT_OPERANDS = 1024 /* the most ranks whose inputs one step can reduce */
};

/* How a window is divided among several ranks, for pieces whose length only their sender and their
 * receiver know. Each rank has `tiny` bytes in the cache line of the signal, `low` bytes in the
 * short window, which travel with the signal, and `high` bytes in the long window. A piece lies in
 * the first of these three places that it fits into, and not in the window if it fits into none. */
struct tt_parts {
    /* Where in WIN the ranks' bytes begin: `low_at` for `low`, and `high_at` for `high`. Those of
     * `tiny` begin at 0. */
    int64_t tiny, low, low_at, high, high_at;
};
struct tt_parts tt_parts_of(const struct tt_map *map, int pieces);
/* Returns the number of the part of rank `owner`'s window through which the piece between `owner`
 * and rank r passes: 0 .. p - 2, because `owner` has no part for itself. */
static inline int tt_part_of(int p, int owner, int r)
{
    return (r - owner + p) % p - 1;
}
/* Returns where in the window the piece with the part number i (tt_part_of) lies, which has `len`
 * bytes; -1: it is too long for the window. */
static inline int64_t tt_part_at(const struct tt_parts *parts, int i, int64_t len)
{
    if (len <= parts->tiny) return i * parts->tiny;
    if (len <= parts->low) return parts->low_at + i * parts->low;
    return len <= parts->high ? parts->high_at + i * parts->high : -1;
}

/* A piece that is longer than `high` may still go through the window, in slices. One rank copies
 * them alternately into the two halves of the piece's place in the long window, and the other rank
 * copies them out. This is faster than reading the other rank's buffer where such reading is very
 * dear (TT_VERY_DEAR) or forbidden, unless the slices are short or many. The last slice has `tail`
 * bytes. */
struct tt_part_slices {
    int n; /* the number of slices; 0: the piece is copied from buffer to buffer */
    int64_t len, tail;
};
/* Returns the slices of a piece of `len` bytes that fits into no place of `parts`. Both ranks that
 * know the length get the same answer. `may` is map->reads or map->writes: whether the piece may be
 * copied from buffer to buffer. */
struct tt_part_slices tt_part_slices(const struct tt_parts *parts, const struct tt_call *call,
                                     const struct tt_map *map, bool may, int64_t len);
/* Returns the offset in the window of slice j of the piece with the part number i (tt_part_of).
 * Even slices go into the first half of the piece's place in the long window, odd ones into the
 * second half. */
static inline int64_t tt_part_slice_at(const struct tt_parts *parts, const struct tt_part_slices *s,
                                       int i, int j)
{
    return parts->high_at + i * parts->high + j % 2 * s->len;
}
static inline int64_t tt_part_slice_len(const struct tt_part_slices *s, int j)
{
    return j < s->n - 1 ? s->len : s->tail;
}

/* Reasons to refuse a call, each given by several algorithms. */
extern const char tt_needs_node[], tt_needs_window[], tt_needs_order[], tt_needs_fewer[],
    tt_needs_memory[];
/* Returns NULL if every rank can read at least `bytes` of every other rank's WIN, else the
 * reason. */
const char *tt_refuse_window(const struct tt_map *map, int64_t bytes);
/* Each of these functions can be the member `refuse` of a row (coll.h). Each returns NULL in these
 * cases, else the reason:
 *
 *     tt_refuse_never   always
 *     tt_refuse_halves  WIN holds the whole message, or each half of it holds at least one element
 *     tt_refuse_reads   every rank can read every other rank's opened buffers
 *     tt_refuse_writes  every rank can write every other rank's opened buffers
 *     tt_refuse_reads_and_writes  every rank can read and write them
 *     tt_refuse_reads_of_all  every rank can read them, and one step can reduce the inputs of all
 *                       ranks */
const char *tt_refuse_never(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_halves(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_reads(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_writes(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_reads_and_writes(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_reads_of_all(const struct tt_call *call, const struct tt_map *map);

/* ---- Blocks: n elements in k parts whose sizes differ by at most one ---- */

struct tt_span {
    int64_t off, len; /* the offset and the length, in bytes */
};
/* Returns part i of the message cut into k parts. */
struct tt_span tt_block(const struct tt_call *call, int k, int i);
/* Returns the place in OUT of the piece of rank r, in a gather or an allgather(v). */
struct tt_span tt_piece(const struct tt_call *call, int r);
/* Return the blocks of an alltoall(v): the one for rank r, in IN, and the one from rank r, in
 * OUT. */
struct tt_span tt_block_to(const struct tt_call *call, int r);
struct tt_span tt_block_from(const struct tt_call *call, int r);
int tt_log2_up(int p);    /* the least l with 2^l >= p */
int tt_pow2_below(int p); /* the greatest power of two <= p */

/* ---- Slices: a message as `turns` slices of `len` bytes, the last of `tail` bytes ----
 *
 * If there is one turn, the plan has no loop. The functions tt_slice_... append the step of plan.h
 * with the same name, with a range that moves, or a flag value that grows, from turn to turn. */

struct tt_slices {
    int64_t len, tail;
    uint32_t turns; /* UINT32_MAX stands for any larger number, too: no plan has a loop of so many
                     * turns */
};
/* Cuts `bytes` bytes into slices of `len` bytes. First rounds `len` down to a multiple of `unit`,
 * but not below `unit`. */
struct tt_slices tt_slices(int64_t bytes, int64_t len, int64_t unit);
/* Returns slices for a message that passes through the two halves of WIN; the first half begins at
 * *base. The length of a slice is a multiple of `unit`. The caller has checked that WIN has room
 * for two units, or for the whole message. A message that goes in one turn may use all of WIN. */
struct tt_slices tt_window_slices(const struct tt_call *call, const struct tt_map *map,
                                  int64_t bytes, int64_t unit, int64_t *base);
/* Returns the slice length that the call asks for, or `otherwise` if it asks for none. If the data
 * of the call would have more than TT_SLICES such slices, returns a greater length. A slice uses
 * one or two flag values, and some algorithms have a few slices more, so a phase of a plan has
 * enough values (TT_PHASE_VALUES). */
#define TT_SLICES ((int64_t)TT_PHASE_VALUES / 16)
int64_t tt_slice_bytes(const struct tt_call *call, int64_t otherwise);

/* Begin and end the loop over the slices. If there is one turn, these functions append nothing. */
void tt_slices_begin(struct tt_builder *b, const struct tt_slices *s);
void tt_slices_end(struct tt_builder *b, const struct tt_slices *s);
/* tt_slice returns the slice of range r that belongs to this turn. tt_half is for a buffer that
 * holds two slices: it returns r in even turns, and the range one slice further in odd turns. */
struct tt_range tt_slice(struct tt_builder *b, const struct tt_slices *s, struct tt_range r);
struct tt_range tt_half(struct tt_builder *b, const struct tt_slices *s, struct tt_range r);
/* tt_slice_signal and tt_slice_await append a signal and an await, whose flag value is `value` in
 * the first turn and grows by `inc` with each turn. tt_slice_copy appends a copy of this turn's
 * slice. */
void tt_slice_signal(struct tt_builder *b, const struct tt_slices *s, int peer, uint32_t value,
                     int inc);
void tt_slice_await(struct tt_builder *b, const struct tt_slices *s, int writer, uint32_t value,
                    int inc);
void tt_slice_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                   struct tt_range from);

/* Pieces of different lengths share one loop: `s` cuts the longest piece, and shorter pieces begin
 * in a later turn, so that all pieces end in the last turn. tt_late_copy copies this turn's slice
 * of one of these pieces, which has `bytes` bytes. A range in WIN is used as it is; a range in
 * another buffer is moved with the turns. */
void tt_late_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                  struct tt_range from, int64_t bytes);
/* Combines, as tt_combine_all does, this turn's slices of the pieces of all ranks, each of which
 * has `bytes` bytes and may begin in a later turn (tt_late_copy). The range `from` is the same in
 * every turn, and the other ranges are moved with the turns. */
void tt_late_combine(struct tt_builder *b, const struct tt_slices *s, int p, int me,
                     struct tt_range to, struct tt_range from, struct tt_range mine, int64_t bytes);

/* Appends the steps of a rank that is not the root in a flat reduce or gather. The rank copies IN,
 * slice by slice, into the two halves of its WIN in turn, and signals the root. The first half
 * begins at byte `base`. Before the rank fills a half again, it awaits the root's signal that the
 * root has read the slice in that half. */
void tt_window_fill(struct tt_builder *b, const struct tt_slices *s, int root, int64_t base);
/* Appends the steps of a rank that is not the root in a flat bcast or scatter. The rank copies
 * `from`, the place in the root's WIN of this turn's slice, to OUT, and, if there are more than two
 * turns, signals the root that it has read the slice. */
void tt_window_drain(struct tt_builder *b, const struct tt_slices *s, int root,
                     struct tt_range from);
/* Awaits, before the root of a flat bcast or scatter fills a half of its WIN again, the signals of
 * all other ranks that they have read the slice in that half. */
void tt_window_await_read(struct tt_builder *b, const struct tt_slices *s, int p, int root);
/* Appends the steps of one turn of rank `me` where reductions go from window to window. `before`
 * names n other ranks, less than TT_OPERANDS, in rank order. The rank awaits their signals, and
 * combines its IN with what they have in their windows, in rank order. It puts the result into its
 * own window `win`, for the rank `next`, and in turn j raises its flag to 2 j + 1. If `next` is -1,
 * it puts the result into its OUT. Before the ranks `before` fill the same half of their windows
 * again, they await that the flag of `me` is 2 j + 2. The caller raises the flag to this value when
 * `me` no longer reads slice j in their windows. */
void tt_window_pass(struct tt_builder *b, const struct tt_slices *s, struct tt_range win, int me,
                    const int *before, int n, int next);

/* ---- All ranks ---- */

/* Appends the reduction of the ranges `from` of all ranks, in rank order, into `to`. The operand of
 * this rank is `mine` instead. */
void tt_combine_all(struct tt_builder *b, int p, int me, struct tt_range to, struct tt_range from,
                    struct tt_range mine, int64_t len);
/* Awaits `value` from every other rank, beginning with rank me + 1. */
void tt_await_all(struct tt_builder *b, int p, int me, uint32_t value);
/* Appends the steps by which every rank but the root copies one piece from `from` to `to`, all at
 * the same time. One of these ranges is in the root's buffer, and the other one in a buffer of the
 * copying rank. The root opens its buffer, and awaits the signals of all other ranks that their
 * copies are done. If `own`, the root also copies a piece from `from` to `to` within its own
 * buffers. */
void tt_copy_at_root(struct tt_builder *b, int root, const struct tt_map *map, int me, bool own,
                     struct tt_range to, struct tt_range from, int64_t len);
/* Returns the k-th rank after `me`, modulo p. */
static inline int tt_after(int p, int me, int k)
{
    return (int)(((int64_t)me + k) % p);
}

/* The ranks that exchange pieces with rank `me` in an alltoallv: its neighbours if the call names
 * them, else all ranks but itself. */
struct tt_peers {
    const int32_t *list; /* NULL: the peers are all ranks but me */
    int n, first;        /* list[first] is the first neighbour after me */
    int p, me;
};
/* Return the ranks to which this rank sends a piece, and those from which it receives one. */
struct tt_peers tt_peers_to(const struct tt_call *call, int p, int me);
struct tt_peers tt_peers_from(const struct tt_call *call, int p, int me);
/* Returns the k-th of the peers, counted from rank me + 1 on. */
static inline int tt_peer(const struct tt_peers *peers, int k)
{
    if (!peers->list) return tt_after(peers->p, peers->me, k + 1);
    return peers->list[tt_after(peers->n, peers->first, k)];
}
/* Signals `value` to the peers whose piece is not empty. On one node, unless the call names
 * neighbours, all ranks get the signal, because that is a single store. `block` is tt_block_to if
 * the peers are from tt_peers_to, and tt_block_from if they are from tt_peers_from. */
void tt_signal_peers(struct tt_builder *b, const struct tt_call *call, const struct tt_map *map,
                     const struct tt_peers *peers,
                     struct tt_span (*block)(const struct tt_call *, int), uint32_t value);
/* Awaits `value` from the peers whose piece is not empty. `block` is tt_block_to if the peers are
 * from tt_peers_to, and tt_block_from if they are from tt_peers_from. */
void tt_await_peers(struct tt_builder *b, const struct tt_call *call, const struct tt_peers *peers,
                    struct tt_span (*block)(const struct tt_call *, int), uint32_t value);

/* ---- Messages under way ----
 *
 * A rank that exchanges a message with each of many ranks has at most `most` of these messages
 * under way: as many as the radix of the call says, up to TT_BOUNDED, or four if the call has no
 * radix. So the memory that pending messages take does not grow with the number of ranks. */

enum { TT_BOUNDED = 32 };
struct tt_bounded {
    int most, n; /* n: messages started so far */
    tt_started started[TT_BOUNDED];
};
struct tt_bounded tt_bounded(const struct tt_call *call);
/* tt_bounded_room waits until one more message may start. The caller then starts the message and
 * adds it with tt_bounded_add. */
void tt_bounded_room(struct tt_builder *b, const struct tt_bounded *messages);
void tt_bounded_add(struct tt_bounded *messages, tt_started started);
/* Waits for all messages that are still under way. */
void tt_bounded_end(struct tt_builder *b, const struct tt_bounded *messages);

/* Copies `len` bytes from IN to OUT, unless the call is in place. */
void tt_copy_in(struct tt_builder *b, const struct tt_call *call, int64_t to, int64_t from,
                int64_t len);

#endif
