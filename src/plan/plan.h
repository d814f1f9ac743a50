/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan is the program that one rank runs for a collective, stored as plain data. A plan has up to
 * TT_LANES lanes. A lane is a list of steps that are done in order. A step names ranges of symbolic
 * buffers.
 *
 * For an 8-byte allreduce of two ranks, rank 0's plan (`flat`) prints as
 *
 *   lane 0
 *     copy WIN[0] <- IN[0] len 8
 *     signal all 1
 *     await 1 1
 *     reduce OUT[0] <- IN[0] sum WIN@1[0] len 8
 *
 * This rank copies the 8 bytes of its input IN into its window WIN, raises its flag to 1 for all
 * ranks, waits until the flag of rank 1 is at least 1, and stores in its output OUT the sum of IN
 * and of the window of rank 1. The numbers in brackets are offsets in bytes.
 *
 * Plans are run (src/run), proven (lab/prove/prove.h), counted (count.h), printed and parsed
 * (lab/text/text.h). All code that needs the steps as they are done reads them through the iterator
 * below, which unrolls loops and generators (TT_EXCHANGE).
 *
 * docs/plan.md says what the steps mean. This header says how they are stored:
 *
 *   steps[]   32 bytes each, the lanes one after the other
 *   ranges[]  16 bytes each, the operands: step.first is the index of the first, step.nops is their
 *             number. All ranges of a step have the same length, step.len bytes. copy, put, get:
 *             [0] = destination, [1] = source; reduce: [0] = destination, [1..] = operands in rank
 *             order; send, recv: [0].
 *   shapes[]  how a range is strided, or moves with the turns of a loop; a range with shape 0 does
 *             neither
 *   varies[]  how a step's flag value or length changes with the turn of its loop; a step with
 *             entry 0 does not change
 *   ranks[]   the sets of ranks that signals go to
 */
#ifndef TT_PLAN_H
#define TT_PLAN_H

#include "base/base.h"
#include "plan/call.h"

enum tt_buffer { TT_IN, TT_OUT, TT_TMP, TT_WIN, TT_BUFFERS };

/* The four kinds that start a transfer come first. A step of these kinds has an id, by which a wait
 * step waits until the transfer is complete. */
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
    TT_LOOP,    /* does the steps up to its END in `value` turns; the iterator does not return it */
    TT_END,     /* ends the innermost LOOP; the iterator does not return it */
    TT_EXCHANGE /* a generator of puts and waits; the iterator returns these instead */
};

static inline bool tt_kind_starts(enum tt_kind kind)
{
    return kind <= TT_GET;
}

enum {
    TT_SELF = -1, /* range.rank: this rank's own buffer */
    TT_ALL = -1,  /* signal.peer: all ranks of the team but this one */
    TT_SET = -2,  /* signal.peer: ranks[first .. first+nops-1] */
    TT_LANES = 8, /* the most lanes of a plan */
    TT_DEPTH = 2, /* the deepest nesting of loops */
    /* The most turns of a loop. Flag values, of 32 bits, grow by up to two in each turn. */
    TT_TURNS = 1 << 30,
    /* A step that starts a transfer in a loop starts an instance in each turn. At most this many of
     * them are under way at a time, so a wait step names one of the last four. */
    TT_IN_FLIGHT = 4,
    TT_SLOTS = 128,     /* the most executions of a team that are in flight at a time */
    TT_WINDOWS = 32,    /* the most executions in flight that use long windows */
    TT_SIGNAL_BYTES = 8 /* the size of a signal's message on a network, in models */
};

/* A range: `len` bytes (of the step) from offset `off` in buffer `buf` of `rank` (TT_SELF: this
 * rank). A step may touch IN@r, OUT@r and TMP@r of another rank r only after an await of a signal
 * of r, and only if r's plan opens that buffer. In a v-collective (tt_call_segments), an offset in
 * OUT@r counts from the start of the segment at r that is meant for this rank. If, in addition,
 * each rank knows only its own counts (tt_coll_pairs), the same holds for an offset in IN@r. */
struct tt_range {
    int64_t off;
    int32_t rank;
    uint16_t shape;
    uint8_t buf;
    uint8_t unused; /* so that equal ranges are equal byte by byte */
};

/* How a range moves with loops, and its blocks. In turn i of the innermost loop and turn j of the
 * loop around it, the range starts at
 *
 *     off + ((i + phase) mod (mod ? mod : infinity)) * step[0] + j * step[1]
 *
 * If block > 0, the range consists of len / block blocks of `block` bytes each, whose starts are
 * `stride` bytes apart. */
struct tt_shape {
    int64_t step[TT_DEPTH];
    int32_t mod, phase;
    int64_t block, stride;
};

/* How a step changes in turn i of the innermost loop and turn j of the loop around it. The flag
 * value is value + i*inc[0] + j*inc[1]. The step is left out while i < from. If tail >= 0, the step
 * has another length, `tail`, in some turns: if tail_mod == 0, in the last turn of the innermost
 * loop; if tail_mod > 0, in the turns with (i + tail_phase) % tail_mod == tail_mod - 1. If the step
 * starts a transfer, a turn in which the step is left out or has length 0 still counts as an
 * instance (TT_IN_FLIGHT). */
struct tt_vary {
    int32_t inc[TT_DEPTH];
    uint32_t from;
    int32_t tail_mod, tail_phase;
    uint32_t unused; /* so that equal entries are equal byte by byte */
    int64_t tail;
};

/* The meaning of a step's fields, by its kind:
 *
 *         peer                      value                    sub           first, nops
 * send    receiver                  id                       -             range
 * recv    sender                    id                       -             range
 * put get owner of the range X@peer id                       -             2 ranges
 * wait    -                         id of the started step   turns ago     first: 0 if the wait is
 *                                                                          after the loop of that
 *                                                                          step, otherwise 1
 * signal  rank, TT_ALL or TT_SET    flag value raised to     -             the set
 * await   the writer                flag value reached       its lane      -
 * copy    -                         -                        -             2 ranges
 * reduce  -                         -                        -             1 + k ranges
 * loop    -                         turns (> 0)              -             -
 * end     -                         steps back to its loop   -             -
 * exchange -                        id of its puts           -             exchanges[first] */
struct tt_step {
    uint8_t kind;
    uint8_t sub;
    uint16_t vary;
    int32_t peer;
    uint32_t first;
    uint32_t nops;
    int64_t len;
    uint32_t value;
    uint32_t unused; /* so that equal steps are equal byte by byte */
};

/* The generator of a total exchange by puts. It works through its `n` entries in rounds. A round
 * puts at most `chunk` bytes of each entry that is not finished. The order of the entries starts
 * with the peer after this rank (TT_ORDER_SHIFT), is drawn from `seed` (TT_ORDER_RANDOM) or starts
 * with rank 0 (TT_ORDER_RANK). At most `window` puts are under way at a time, and all puts are
 * complete when the generator ends. The data of entry e goes from `from`[e.mine] to
 * OUT@peer[e.theirs]. */
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
    uint32_t first, n; /* the exchange's entries: entries[first .. first+n-1] */
    uint8_t from;      /* the buffer that the data come from: TT_IN or TT_OUT */
};

struct tt_lane {
    uint32_t first, n; /* the lane's steps: steps[first .. first+n-1] */
    uint32_t starts;   /* the number of ids used: 0 .. starts-1 */
};

/* A plan lies in one block of memory, which tt_plan_free frees, and is read-only once it is built.
 *
 * Invariants (tt_plan_invalid checks them): 1 <= lanes <= TT_LANES; every index is inside its
 * array; loops nest at most TT_DEPTH deep; the ids of the steps of a lane that start transfers
 * ascend from 0; this rank's own ranges have rank TT_SELF; lengths are > 0 outside of loops; inside
 * two loops, a range rotates (tt_shape.mod > 0) only if the turns of the inner loop are a multiple
 * of its mod; len and tail are multiples of a range's block. */
struct tt_plan {
    int32_t p, me;
    enum tt_coll coll;
    const char *algorithm; /* static text, or text within this block (tt_builder_name_is_lent) */
    tutti_type type;       /* the type that the reduce steps combine */
    tutti_op op;
    uint32_t lanes;
    /* set of the buffers that other ranks may touch: bits 1 << TT_IN, 1 << TT_OUT, 1 << TT_TMP */
    uint32_t opens;
    uint32_t operands; /* the largest number of ranges of a step */
    bool segments;     /* a v-collective, whose buffers have a segment for each peer (tt_range) */
    bool loops;
    /* another rank puts into this rank's window, and waits until this rank has begun the call. Only
     * the plans of a plan file have such puts */
    bool is_put_into;
    int64_t tmp_bytes;
    int64_t win_bytes; /* the bytes of the rank's window that the plan uses */
    int64_t bytes;     /* the size of this block */
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
/* Returns a copy that tt_plan_free frees; NULL: there is no memory, as tutti_error() says. */
struct tt_plan *tt_plan_copy(const struct tt_plan *plan);
/* Returns NULL, or static text that says what is wrong with the structure of the plan. Then sets
 * *step, unless `step` is NULL, to the index in plan->steps of the step that is wrong, or to -1 if
 * the fault belongs to no step. The function does not check what the plan computes; tt_prove
 * (lab/prove/prove.h) does. */
const char *tt_plan_invalid(const struct tt_plan *plan, int64_t *step);
/* Returns whether two plans are equal, step by step, with everything that the steps refer to. Names
 * are compared as text. It does not matter at which index of a table a plan keeps what a step
 * refers to. */
bool tt_plan_equal(const struct tt_plan *a, const struct tt_plan *b);

/* ---- Building (build.c) ----
 *
 * An algorithm appends steps. The builder keeps an error (no memory, too many lanes) until
 * tt_builder_finish returns it. The builder drops steps of length 0, together with the waits for
 * them. */

struct tt_builder;
struct tt_builder *tt_builder_new(int p, int me, const struct tt_call *call, const char *algorithm);
/* Returns the plan, or NULL if anything failed since the last reset; tutti_error() says why. The
 * builder can be used again after tt_builder_reset. */
struct tt_plan *tt_builder_finish(struct tt_builder *b);
void tt_builder_reset(struct tt_builder *b, int p, int me, const struct tt_call *call,
                      const char *algorithm);
/* Declares that the algorithm's name is not static text, so that the finished plan has to hold a
 * copy of the name. */
void tt_builder_name_is_lent(struct tt_builder *b);
void tt_builder_free(struct tt_builder *b);
/* Returns how many steps the plan has so far, or -1 if anything failed. */
int64_t tt_builder_steps(const struct tt_builder *b);
/* Makes tt_builder_finish fail: the plan cannot be built, because of `why` (static text). */
void tt_builder_fail(struct tt_builder *b, const char *why);

/* Makes tt_builder_finish fail if a range of WIN begins before this byte (tt_map.low_bytes) and
 * ends after it. */
void tt_builder_divide(struct tt_builder *b, int64_t bytes);

/* A part of the team that is treated as a team of its own. Rank r of the part is rank member[r] of
 * the team. The part's buffer X (IN, OUT or WIN) begins at offset at[X].off of the team's buffer
 * at[X].buf. These offsets must be equal on all members of the part for every buffer that other
 * members touch. The part's TMP begins after the scratch that the plan has taken so far. */
struct tt_subteam {
    int p, me;
    const int *member;
    /* indexed by buffer; only the members buf and off are used; at[TT_TMP].buf is TT_TMP */
    struct tt_range at[TT_BUFFERS];
};
/* Until tt_subteam_end, the builder takes all appended steps as steps of the subteam `part`: ranks,
 * TT_ALL and buffers mean those of the subteam. So an algorithm builds the same steps for a subteam
 * as for a team. Flag values and TMP are still the team's, so each subteam needs phases of its own
 * (tt_phase). A subteam cannot have generators. `part` must stay valid until tt_subteam_end. */
void tt_subteam_begin(struct tt_builder *b, const struct tt_subteam *part);
void tt_subteam_end(struct tt_builder *b);

/* tt_own and tt_at make ranges without a builder. tt_own returns the range from offset `off` in
 * this rank's buffer. */
static inline struct tt_range tt_own(enum tt_buffer buf, int64_t off)
{
    return (struct tt_range){.off = off, .rank = TT_SELF, .buf = (uint8_t)buf};
}
/* Returns the range from offset `off` in buffer X of a rank. The builder turns the plan's own rank
 * into TT_SELF. */
static inline struct tt_range tt_at(enum tt_buffer buf, int rank, int64_t off)
{
    return (struct tt_range){.off = off, .rank = rank, .buf = (uint8_t)buf};
}
/* Returns the range r, changed so that it moves by `step` bytes with each turn of the innermost
 * loop, and by `outer` bytes with each turn of the loop around it. */
struct tt_range tt_moving(struct tt_builder *b, struct tt_range r, int64_t step, int64_t outer);
/* Returns a range for a rotating buffer: in turn i it starts at off + ((i + phase) mod mod) *
 * step. */
struct tt_range tt_rotating(struct tt_builder *b, struct tt_range r, int64_t step, int mod,
                            int phase);
struct tt_range tt_strided(struct tt_builder *b, struct tt_range r, int64_t block, int64_t stride);

/* The number of a started step in its lane, by which the plan waits for the step later. */
typedef uint32_t tt_started;
#define TT_DROPPED UINT32_MAX /* the number of a step that the builder has dropped */
/* Returns how many numbered steps the lane has so far: steps that start a transfer (send, recv,
 * put, get) and exchanges. The next such step gets this number. */
tt_started tt_builder_starts(const struct tt_builder *b);

/* Begins the next lane; lane 0 has begun already. The TMP of the new lane lies after the TMP of all
 * earlier lanes. */
void tt_lane(struct tt_builder *b);
/* Begins a phase. From now on, flag values are counted from phase * TT_PHASE_VALUES. So two phases
 * of an algorithm never use the same value, although each phase is built independently. If a phase
 * uses more than TT_PHASE_VALUES values, the next phase cannot begin: the plan fails. It also fails
 * if it has more than 256 phases. tt_scratch gives out the lane's TMP from its start again, so
 * nothing in TMP lasts from one phase to the next. */
#define TT_PHASE_VALUES (1u << 24)
void tt_phase(struct tt_builder *b, int phase);
void tt_open(struct tt_builder *b, uint32_t buffers);
tt_started tt_send(struct tt_builder *b, int peer, struct tt_range from, int64_t len);
tt_started tt_recv(struct tt_builder *b, int peer, struct tt_range to, int64_t len);
/* Start a put and a get. `to` of a put and `from` of a get belong to another rank, and the other
 * range belongs to this rank. */
tt_started tt_put(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
tt_started tt_get(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
void tt_wait(struct tt_builder *b, tt_started started);
/* Appends a wait in a loop for the transfer that the step `started` has started `ago` turns before
 * this turn (0..3); see docs/plan.md. */
void tt_wait_ago(struct tt_builder *b, tt_started started, int ago);
void tt_signal(struct tt_builder *b, int peer, uint32_t value); /* peer: a rank or TT_ALL */
void tt_signal_set(struct tt_builder *b, const int32_t *ranks, uint32_t n, uint32_t value);
/* Await the flag of a lane of the writer. tt_await awaits the flag of the writer's lane 0 or,
 * between tt_subteam_begin and tt_subteam_end, of the writer's lane with the same number as the
 * lane that is being built. */
void tt_await(struct tt_builder *b, int writer, uint32_t value);
void tt_await_lane(struct tt_builder *b, int writer, int lane, uint32_t value);
void tt_copy(struct tt_builder *b, struct tt_range to, struct tt_range from, int64_t len);
/* Appends a reduction of k >= 1 ranges: `to` <- from[0] op from[1] op ... `to` may be the same
 * range as one of the operands. */
void tt_combine(struct tt_builder *b, struct tt_range to, const struct tt_range *from, int k,
                int64_t len);
/* Begins a loop of `turns` <= TT_TURNS turns, which tt_end ends. If `turns` is 0, the steps of the
 * loop are dropped. */
void tt_loop(struct tt_builder *b, uint32_t turns);
void tt_end(struct tt_builder *b);
/* The next four functions change the step that was appended last, and do nothing if that step was
 * dropped. tt_tail sets the length that this step has in the last turn of the innermost loop. */
void tt_tail(struct tt_builder *b, int64_t len);
/* Sets the length that the step appended last has in some turns of the innermost loop: in each turn
 * i for which (i + phase) % mod is mod - 1. */
void tt_tail_at(struct tt_builder *b, int64_t len, int mod, int phase);
/* Sets the first turn of the innermost loop in which the step appended last is done. */
void tt_from(struct tt_builder *b, uint32_t turn);
/* Sets by how much the flag value of the step appended last grows with each turn of the innermost
 * loop (`inc`) and of the loop around it (`outer`). */
void tt_per_turn(struct tt_builder *b, int inc, int outer);
/* tt_entry appends an entry. tt_exchange appends the exchange of all entries that were appended
 * since the last exchange; it ignores `first` and `n` of *how, and computes both. */
void tt_entry(struct tt_builder *b, const struct tt_entry *entry);
void tt_exchange(struct tt_builder *b, const struct tt_exchange *how);
/* Reserves `bytes` bytes of private scratch (TMP). Returns the range that begins there, at a
 * multiple of TT_LINE. */
struct tt_range tt_scratch(struct tt_builder *b, int64_t bytes);

/* ---- Reading (iter.c): the only way to read the steps as they are done ---- */

/* A step as it is done: never a loop, an end or a generator, and with a length > 0 where its kind
 * has one. `range` and `set` point into the plan or the iterator and are valid until the next call
 * of tt_iter_next. */
struct tt_plain {
    enum tt_kind kind;
    int32_t peer;
    uint32_t value; /* the flag value, or the id of the step that is started or waited for */
    uint32_t lane;  /* await: the writer's lane */
    /* in a step that starts a transfer or waits for one: the instance, which is the number of
     * earlier starts with the same id */
    uint64_t instance;
    uint32_t nops;
    int64_t len;
    /* The offsets of the ranges are those of this turn. So the shape of a range (struct tt_shape)
     * only says which blocks the range has: the members block and stride. */
    const struct tt_range *range;
    const int32_t *set; /* a signal with peer TT_SET: nops ranks */
    uint32_t at;        /* index of the step in plan->steps, for reports */
};

struct tt_iter {
    const struct tt_plan *plan;
    uint32_t at, end;
    int lane, depth;
    struct {
        uint32_t begin, turn, turns;
    } loop[TT_DEPTH];
    /* for each id, how many transfers the step with this id has started so far; NULL: the plan has
     * no loops */
    uint64_t *instances;
    struct tt_range *scratch; /* room for plan->operands ranges */
    struct tt_generator *generator;
    bool generating, unrolls;
};

/* Returns how many bytes tt_iter_begin needs at `memory` for this lane of the plan: a multiple of
 * 8. The address must be a multiple of 8, too. The caller owns that memory and keeps it until the
 * iterator is no longer used. */
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
/* Does what tt_iter_next does, but only for a plan with loops or generators. */
bool tt_iter_next_unrolled(struct tt_iter *iter, struct tt_plain *step);

/* Fills *out, except `at`, from a stored step, without resolving loops. */
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

/* Gets the next step. Returns false at the end of the lane. */
static inline bool tt_iter_next(struct tt_iter *iter, struct tt_plain *step)
{
    if (tt_unlikely(iter->unrolls)) return tt_iter_next_unrolled(iter, step);
    if (iter->at == iter->end) return false;
    step->at = iter->at;
    tt_iter_plain(iter->plan, &iter->plan->steps[iter->at++], step);
    return true;
}

#endif
