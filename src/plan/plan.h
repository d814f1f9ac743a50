/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan: one rank's part of a collective, as plain data.
 *
 *   plan = lanes; a lane = steps done in order; a step names ranges of symbolic buffers.
 *
 * For an 8-byte allreduce of two ranks, rank 0's plan (`flat`) prints as
 *
 *   lane 0
 *     copy WIN[0] <- IN[0] len 8
 *     signal all 1
 *     await 1 1
 *     reduce OUT[0] <- IN[0] sum WIN@1[0] len 8
 *
 * It is run (run/), proven (prove.h), counted (count.h), printed and parsed (text.h); all of them
 * read it through the one iterator below, which unrolls loops and generators.
 *
 * What the steps mean is in docs/plan.md; here is how they are stored:
 *
 *   steps[]   32 bytes each, the lanes one after the other
 *   ranges[]  16 bytes each, the operands: step.first, step.nops. All ranges of a step have the
 *             same length in bytes, step.len. copy, put, get: [0] = destination, [1] = source;
 *             reduce: [0] = destination, [1..] = operands in rank order; send, recv: [0].
 *   shapes[]  for the few ranges that are strided or move with a loop; shape 0 is "neither"
 *   varies[]  for the few steps whose flag value or length changes with the turn; 0 is "none"
 *   ranks[]   sets of ranks
 */
#ifndef TT_PLAN_H
#define TT_PLAN_H

#include "base/base.h"
#include "plan/call.h"

enum tt_buffer { TT_IN, TT_OUT, TT_TMP, TT_WIN, TT_BUFFERS };

/* Starting steps come first: they have an id, and a wait. */
enum tt_kind {
    TT_SEND,
    TT_RECV,
    TT_PUT,
    TT_GET,
    TT_WAIT,
    TT_SIGNAL,
    TT_AWAIT,
    TT_COPY,
    TT_REDUCE,
    TT_LOOP,    /* ... to the END of the same depth, `value` turns; never seen by a reader */
    TT_END,     /* likewise */
    TT_EXCHANGE /* a generator; likewise */
};

static inline bool tt_kind_starts(enum tt_kind kind)
{
    return kind <= TT_GET;
}

enum {
    TT_SELF = -1,       /* range.rank: this rank's own buffer */
    TT_ALL = -1,        /* signal.peer: every other rank of the team */
    TT_SET = -2,        /* signal.peer: ranks[first .. first+nops-1] */
    TT_LANES = 8,       /* at most, of a plan */
    TT_DEPTH = 2,       /* of loops */
    TT_IN_FLIGHT = 4,   /* instances of one starting step that may be under way: wait -0 .. -3 */
    TT_SLOTS = 32,      /* executions of a team that advance at once */
    TT_SIGNAL_BYTES = 8 /* of the message that a signal is on a network, in models */
};

/* len bytes from off; buf of rank (TT_SELF: mine). IN@r, OUT@r and TMP@r of another rank r may be
 * touched only after an await of a signal of r, and if r's plan opens them. In a v-collective
 * (tt_call_segments) the offset in OUT@r (alltoallv: and IN@r) counts from the segment there that
 * is meant for me. */
struct tt_range {
    int64_t off;
    int32_t rank;
    uint16_t shape;
    uint8_t buf;
};

/* In turn i of the innermost loop and j of the next one out, the range starts at
 *     off + ((i + phase) mod (mod ? mod : infinity)) * step[0] + j * step[1]
 * and if block > 0 consists of len/block blocks of that many bytes, `stride` bytes apart. */
struct tt_shape {
    int64_t step[TT_DEPTH];
    int32_t mod, phase;
    int64_t block, stride;
};

/* In turn i, j: the flag value is value + i*inc[0] + j*inc[1]; the step vanishes while i < from;
 * the length is `tail` if tail >= 0 and this is the last turn of the innermost loop (tail_mod > 0:
 * a turn with (i + tail_phase) % tail_mod == tail_mod - 1). Vanished starts count as instances. */
struct tt_vary {
    int32_t inc[TT_DEPTH];
    uint32_t from;
    int32_t tail_mod, tail_phase;
    int64_t tail;
};

/*         peer                      value                    sub           first, nops
 * send    receiver                  id                       -             range
 * recv    sender                    id                       -             range
 * put get owner of the far range    id                       -             2 ranges
 * wait    -                         id of the started step   turns ago     first: 1 while the loop
 *                                                                          of that step is open
 * signal  rank, TT_ALL or TT_SET    flag value raised to     -             the set
 * await   the writer                flag value reached       its lane      -
 * copy    -                         -                        -             2 ranges
 * reduce  -                         -                        -             1 + k ranges
 * loop    -                         turns (> 0)              -             -
 * end     -                         steps back to its loop   -             -
 * exchange -                        id of its puts           -             exchanges[first]
 */
struct tt_step {
    uint8_t kind;
    uint8_t sub;
    uint16_t vary;
    int32_t peer;
    uint32_t first;
    uint32_t nops;
    int64_t len;
    uint32_t value;
};

/* The generator of total exchanges by put: in rounds over `n` entries, in an order drawn from
 * `seed` (TT_ORDER_RANDOM), starting after this rank (TT_ORDER_SHIFT) or with rank 0
 * (TT_ORDER_RANK), at most `chunk` bytes of an entry a round, `window` puts under way; finished
 * entries leave the list. It ends when all its puts are complete. The data of entry e goes from
 * `from`[e.mine] to OUT@peer[e.theirs]. */
enum tt_order { TT_ORDER_SHIFT, TT_ORDER_RANDOM, TT_ORDER_RANK };
struct tt_entry {
    int64_t mine, theirs, len;
    int32_t peer;
};
struct tt_exchange {
    enum tt_order order;
    uint32_t window; /* 1..TT_IN_FLIGHT */
    uint64_t seed;
    int64_t chunk;
    uint32_t first, n; /* entries[] */
    uint8_t from;      /* TT_IN or TT_OUT */
};

struct tt_lane {
    uint32_t first, n; /* steps */
    uint32_t starts;   /* ids used: 0 .. starts-1 */
};

/* Everything in one block of memory, freed by tt_plan_free; read-only once built.
 * Invariants (tt_plan_valid): 1 <= lanes <= TT_LANES; every index inside its array; loops nest, at
 * most TT_DEPTH deep; ids of a lane's starting steps ascend from 0; own ranges have rank TT_SELF;
 * lengths > 0 outside of loops; a range rotates inside a second loop only if the inner loop's turns
 * are a multiple of its mod; len and tail are multiples of a range's block. */
struct tt_plan {
    int32_t p, me;
    enum tt_coll coll;
    const char *algorithm; /* static text; of a parsed plan in this block */
    tutti_type type;       /* of reduce steps */
    tutti_op op;
    uint32_t lanes;
    uint32_t opens;    /* bit mask of 1 << TT_IN, TT_OUT, TT_TMP: what others may touch */
    uint32_t operands; /* most ranges of any step */
    bool segments;     /* the opening is one entry a peer */
    bool loops;
    int64_t tmp_bytes;
    int64_t win_bytes; /* used of the slot's window */
    int64_t bytes;     /* of this block */
    uint32_t steps_n, ranges_n, shapes_n, varies_n, ranks_n, exchanges_n, entries_n;
    const struct tt_step *steps;
    const struct tt_range *ranges;
    const struct tt_shape *shapes;
    const struct tt_vary *varies;
    const int32_t *ranks;
    const struct tt_exchange *exchanges;
    const struct tt_entry *entries;
    struct tt_lane lane[TT_LANES];
};

void tt_plan_free(struct tt_plan *plan);
/* NULL, or what is wrong with the structure (not the meaning: that is prove.h). */
const char *tt_plan_invalid(const struct tt_plan *plan);

/* ---- Building (build.c) ----
 * An algorithm appends steps; errors (no memory, too many lanes) are kept until the end. Steps of
 * length 0 outside loops are dropped, and a wait for one with them. */

struct tt_builder;
struct tt_builder *tt_builder_new(int p, int me, const struct tt_call *call, const char *algorithm);
/* NULL when something failed (tutti_error tells). The builder can be used again after
 * tt_builder_reset. */
struct tt_plan *tt_builder_finish(struct tt_builder *b);
void tt_builder_reset(struct tt_builder *b, int p, int me, const struct tt_call *call,
                      const char *algorithm);
/* The algorithm's name is not static: the plan shall have a copy. */
void tt_builder_name_is_lent(struct tt_builder *b);
void tt_builder_free(struct tt_builder *b);
/* It cannot be built, by lack of what `why` (static text) says. */
void tt_builder_fail(struct tt_builder *b, const char *why);

/* A part of the team as a team of its own: rank r of it is member[r]; its IN, OUT and WIN begin at
 * at[X] of the team's buffers, the same on all members where others touch it, its TMP behind the
 * scratch taken so far. */
struct tt_subteam {
    int p, me;
    const int *member;
    struct tt_range at[TT_BUFFERS]; /* .buf and .off; of TMP the .buf is TMP */
};
/* Until tt_subteam_end whatever is appended is of the part: ranks, TT_ALL and buffers are the
 * part's; so an algorithm builds the same steps for a part as for a team. Flag values and TMP are
 * the team's, so each part has phases of its own. Without generators; `part` is lent till the
 * end. */
void tt_subteam_begin(struct tt_builder *b, const struct tt_subteam *part);
void tt_subteam_end(struct tt_builder *b);

/* Ranges. The plain ones need no builder. */
static inline struct tt_range tt_own(enum tt_buffer buf, int64_t off)
{
    return (struct tt_range){.off = off, .rank = TT_SELF, .buf = (uint8_t)buf};
}
/* X@rank; rank == this plan's rank gives its own. */
static inline struct tt_range tt_at(enum tt_buffer buf, int rank, int64_t off)
{
    return (struct tt_range){.off = off, .rank = rank, .buf = (uint8_t)buf};
}
/* The range moved by `step` bytes each turn of the innermost loop, `outer` each turn of the
 * next. */
struct tt_range tt_moving(struct tt_builder *b, struct tt_range r, int64_t step, int64_t outer);
/* At ((i + phase) mod mod) * step instead: a rotating buffer. */
struct tt_range tt_rotating(struct tt_builder *b, struct tt_range r, int64_t step, int mod,
                            int phase);
struct tt_range tt_strided(struct tt_builder *b, struct tt_range r, int64_t block, int64_t stride);

/* A started step, to be waited for. */
typedef uint32_t tt_started;

/* The next lane begins; lane 0 has begun. Its TMP lies behind that of all before. */
void tt_lane(struct tt_builder *b);
/* From now on flag values are counted from phase * TT_PHASE_VALUES, so that the phases of an
 * algorithm, each built without knowing the others, never use a value twice; and TMP is given out
 * anew, so nothing in it lasts from one phase to the next. */
#define TT_PHASE_VALUES (1u << 24)
void tt_phase(struct tt_builder *b, int phase);
void tt_open(struct tt_builder *b, uint32_t buffers);
tt_started tt_send(struct tt_builder *b, int peer, struct tt_range from, int64_t len);
tt_started tt_recv(struct tt_builder *b, int peer, struct tt_range to, int64_t len);
/* `to` (put) or `from` (get) belongs to another rank. */
tt_started tt_put(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
tt_started tt_get(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
void tt_wait(struct tt_builder *b, tt_started started);
/* For the instance started `ago` turns ago, 0..3; see docs/plan.md. */
void tt_wait_ago(struct tt_builder *b, tt_started started, int ago);
void tt_signal(struct tt_builder *b, int peer, uint32_t value); /* peer: rank or TT_ALL */
void tt_signal_set(struct tt_builder *b, const int32_t *ranks, uint32_t n, uint32_t value);
/* The writer's lane 0; in a part, its lane of the number of the one being built. */
void tt_await(struct tt_builder *b, int writer, uint32_t value);
void tt_await_lane(struct tt_builder *b, int writer, int lane, uint32_t value);
void tt_copy(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
/* to <- from[0] op from[1] op ...; k >= 1. `to` may be the same range as one of them. */
void tt_combine(struct tt_builder *b, struct tt_range to, const struct tt_range *from, int k,
                int64_t len);
void tt_loop(struct tt_builder *b, uint32_t turns); /* 0 turns: its steps are dropped */
void tt_end(struct tt_builder *b);
/* Of the step just appended (nothing if it was dropped): its length in the last turn ... */
void tt_tail(struct tt_builder *b, int64_t len);
/* ... or in the turns with (i + phase) % mod == mod - 1 ... */
void tt_tail_at(struct tt_builder *b, int64_t len, int mod, int phase);
/* ... the first turn in which it is done ... */
void tt_from(struct tt_builder *b, uint32_t turn);
/* ... and what its flag value grows by each turn, inner and outer. */
void tt_per_turn(struct tt_builder *b, int inc, int outer);
/* Entries, and the exchange of all that were appended since the last one. */
void tt_entry(struct tt_builder *b, const struct tt_entry *entry);
void tt_exchange(struct tt_builder *b, const struct tt_exchange *how);
/* Bytes of private scratch, a line-aligned new piece; its first byte as a range. */
struct tt_range tt_scratch(struct tt_builder *b, int64_t bytes);

/* ---- Reading (iter.c): the one way to see the steps ---- */

/* A step as it is done: never a loop, end or generator; lengths > 0. `range` and `set` point into
 * the plan or the iterator and last until the next tt_iter_next. */
struct tt_plain {
    enum tt_kind kind;
    int32_t peer;
    uint32_t value;    /* flag value; id of a started or waited-for step */
    uint32_t lane;     /* await: the writer's */
    uint64_t instance; /* start, wait: the how-manieth start of this id, from 0 */
    uint32_t nops;
    int64_t len;
    const struct tt_range *range; /* offsets resolved; shape matters for block and stride only */
    const int32_t *set;           /* signal TT_SET: nops ranks */
    uint32_t at;                  /* index of the step in plan->steps, for reports */
};

struct tt_iter {
    const struct tt_plan *plan;
    uint32_t at, end;
    int lane, depth;
    struct {
        uint32_t begin, turn, turns;
    } loop[TT_DEPTH];
    uint64_t *instances;      /* starts so far, by id; NULL in plans without loops */
    struct tt_range *scratch; /* plan->operands */
    struct tt_generator *generator;
    bool generating, unrolls;
};

/* Bytes (a multiple of 8) that tt_iter_begin wants at `memory` (aligned to 8) for a lane of this
 * plan. */
size_t tt_iter_bytes(const struct tt_plan *plan, int lane);
void tt_iter_begin_unrolled(struct tt_iter *iter, void *memory);
static inline void tt_iter_begin(struct tt_iter *iter, const struct tt_plan *plan, int lane,
                                 void *memory)
{
    iter->plan = plan;
    iter->at = plan->lane[lane].first;
    iter->end = iter->at + plan->lane[lane].n;
    iter->lane = lane;
    iter->unrolls = plan->loops || plan->exchanges_n;
    if (iter->unrolls) tt_iter_begin_unrolled(iter, memory);
}
/* Of a plan with loops or generators. */
bool tt_iter_next_unrolled(struct tt_iter *iter, struct tt_plain *step);

/* A stored step as it is. */
static inline void tt_iter_plain(const struct tt_plan *plan, const struct tt_step *s,
                                 struct tt_plain *out)
{
    out->kind = (enum tt_kind)s->kind;
    out->peer = s->peer;
    out->value = s->value;
    out->lane = s->sub;
    out->instance = 0;
    out->nops = s->nops;
    out->len = s->len;
    out->range = plan->ranges + s->first;
    out->set = plan->ranks + s->first;
}

/* The next step, or false at the lane's end. */
static inline bool tt_iter_next(struct tt_iter *iter, struct tt_plain *step)
{
    if (tt_unlikely(iter->unrolls)) return tt_iter_next_unrolled(iter, step);
    if (iter->at == iter->end) return false;
    step->at = iter->at;
    tt_iter_plain(iter->plan, &iter->plan->steps[iter->at++], step);
    return true;
}

#endif
