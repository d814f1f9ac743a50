/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The few things that several algorithms cut alike: blocks, slices, and the ranks' places in WIN.
 */
#ifndef TT_COLL_UTIL_H
#define TT_COLL_UTIL_H

#include "coll/coll.h"

enum {
    TT_WIN_LINE = 48,  /* WIN's first bytes, which travel with the signal */
    TT_OPERANDS = 1024 /* ranks whose inputs one step reduces, at most */
};

/* Reasons to refuse that several algorithms share. */
extern const char tt_needs_node[], tt_needs_direct[], tt_needs_window[], tt_needs_order[],
    tt_needs_fewer[];
/* NULL where every rank can read every other's WIN, and at least `bytes` of it. */
const char *tt_refuse_window(const struct tt_map *map, int64_t bytes);
/* For rows. NULL: always; where WIN holds the message, or an element in either half; where every
 * rank can read and write every other's opened buffers. */
const char *tt_refuse_never(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_halves(const struct tt_call *call, const struct tt_map *map);
const char *tt_refuse_direct(const struct tt_call *call, const struct tt_map *map);

/* ---- Blocks: n elements in k parts whose sizes differ by at most one ---- */

struct tt_span {
    int64_t off, len; /* bytes */
};
struct tt_span tt_block(const struct tt_call *call, int k, int i);
/* Where rank r's piece of an allgather(v) lies in OUT. */
struct tt_span tt_piece(const struct tt_call *call, int r);
/* The blocks of an alltoall(v): to rank r, in IN, and from rank r, in OUT. */
struct tt_span tt_block_to(const struct tt_call *call, int r);
struct tt_span tt_block_from(const struct tt_call *call, int r);
/* Of all this rank knows: what formulas for unequal blocks go by. */
int64_t tt_largest_block(const struct tt_call *call, int p);
int tt_log2_up(int p);    /* least l with 2^l >= p */
int tt_pow2_below(int p); /* greatest power of two <= p */

/* ---- Slices: bytes worked through in `turns` of `len`, the last of `tail` ----
 * One turn is no loop. The step functions are those of plan.h, moved or counted on each turn. */

struct tt_slices {
    int64_t len, tail;
    uint32_t turns;
};
/* len is made a multiple of `unit`, and at least that. */
struct tt_slices tt_slices(int64_t bytes, int64_t len, int64_t unit);
/* For a message that passes through the two halves of WIN, the first at *base, in multiples of
 * `unit` (which WIN has room for twice, or once if that is all); in one turn it has all of WIN. */
struct tt_slices tt_window_slices(const struct tt_call *call, const struct tt_map *map,
                                  int64_t bytes, int64_t unit, int64_t *base);
/* The length of a slice when the call does not say. */
int64_t tt_slice_bytes(const struct tt_call *call, int64_t otherwise);

void tt_slices_begin(struct tt_builder *b, const struct tt_slices *s);
void tt_slices_end(struct tt_builder *b, const struct tt_slices *s);
/* The range's slice of this turn, and the half of a buffer for it. */
struct tt_range tt_slice(struct tt_builder *b, const struct tt_slices *s, struct tt_range r);
struct tt_range tt_half(struct tt_builder *b, const struct tt_slices *s, struct tt_range r);
void tt_slice_signal(struct tt_builder *b, const struct tt_slices *s, int peer, uint32_t value,
                     int inc);
void tt_slice_await(struct tt_builder *b, const struct tt_slices *s, int writer, uint32_t value,
                    int inc);
void tt_slice_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                   struct tt_range from);

/* Pieces of different lengths that end in the same turn: s cuts the longest, shorter ones begin
 * later. */
int64_t tt_late_turns(const struct tt_slices *s, int64_t bytes);
/* This turn's slice of such a piece. */
struct tt_range tt_late(struct tt_builder *b, const struct tt_slices *s, struct tt_range r,
                        int64_t bytes);
int64_t tt_late_len(const struct tt_slices *s, int64_t bytes);
/* Of the step just appended, which is one of such a piece: when it begins and how it ends. */
void tt_late_turn(struct tt_builder *b, const struct tt_slices *s, int64_t bytes);
/* A piece's slice, between the caller's buffer and WIN, whose range is taken as it is. */
void tt_late_copy(struct tt_builder *b, const struct tt_slices *s, struct tt_range to,
                  struct tt_range from, int64_t bytes);

/* IN through the halves of WIN to the root, who says in the end of a turn that it has read its
 * slice. */
void tt_window_fill(struct tt_builder *b, const struct tt_slices *s, int root, int64_t base);

/* ---- All ranks ---- */

/* `from` of rank 0 op that of rank 1 ...; this rank's operand is `mine`. */
void tt_combine_all(struct tt_builder *b, int p, int me, struct tt_range to, struct tt_range from,
                    struct tt_range mine, int64_t len);
/* Awaits `value` of every other rank, the next one first. */
void tt_await_all(struct tt_builder *b, int p, int me, uint32_t value);
/* The k-th rank after me. */
static inline int tt_after(int p, int me, int k)
{
    return (int)(((int64_t)me + k) % p);
}

/* OUT <- IN, unless they are the same. */
void tt_copy_in(struct tt_builder *b, const struct tt_call *call, int64_t to, int64_t from,
                int64_t len);

/* ---- Costs ---- */

/* The larger, field by field. */
void tt_count_raise(struct tt_count *most, struct tt_count other);
void tt_count_add(struct tt_count *sum, struct tt_count other);

#endif
