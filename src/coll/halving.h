/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recursive halving: which rank has which partners, which part of the vector each rank keeps, and
 * in which order slices are sent. The algorithms reduce, allreduce and reduce_scatter(_block)
 * `halving` and gather `binomial` share it.
 *
 * The vector is q blocks, where q is the greatest power of two <= p. There are q places. In step k,
 * place i (0 .. q-1) exchanges with place i ^ 2^k: it keeps half of what it has, and gives the
 * other half. These log2 q steps are the reduce-scatter phase, after which a place has one block.
 * In an allreduce an allgather among the same partners in reverse order follows, and in a reduce a
 * gather to the root; either one is called the gather phase here.
 *
 * If p > q, the first 2(p-q) ranks form pairs, and the two ranks of a pair share a place. Each of
 * the two reduces one half of both inputs. One of the two halves contains the part that the place
 * keeps in step 0. The rank that has reduced this half goes on and represents the place; it is
 * called `rep`. The rank that has reduced the other half, called the `other`, sends the part of it
 * that the place gives in step 0. So no data are moved to merge the two halves.
 *
 *     p = 6:   ranks  0 1   2 3   4   5        reps 0, 3, 4, 5
 *              places  0     1    2   3        others 1, 2
 *
 * Place i ends with block bitreverse(i). In reduce_scatter and gather each rank has a block of its
 * own; then the block of a place is the blocks of its ranks, which may be unequal. If operands need
 * not stay in rank order, or nothing is reduced, the places are numbered in reverse bit order, so
 * that each place ends with its own block.
 *
 * With radix 2^w, one step does w such halvings at once: place i keeps 2^-w of what it has, and
 * gives one part to each of the 2^w - 1 places that differ from it in any of those w bits. The last
 * step does what is left of the log2 q halvings. The radix does not change who ends with which
 * block.
 *
 *     q = 8, radix 4:   step 0   0<>1<>2<>3  4<>5<>6<>7    each keeps 2 of 8 blocks
 *                       step 1   0<>4  1<>5  2<>6  3<>7               1
 *
 * Each part is sent in `s` slices. First come the slices that the receiver gives in the next step,
 * and among those first the ones that are given in the step after it, and so on (tt_halving_list
 * below). So a slice can be reduced and passed on while later slices still travel. All ranks cut
 * the vector in the same way. Flags have these values:
 *
 *     1                       my input is there
 *     2 + round * s + slice   that slice is there; each step has one round for each part that is
 *                             given, and after the last step the gather phase has one round for
 *                             each of its steps
 *     the values after these  the whole vector is there; I no longer use your buffers
 */
#ifndef TT_COLL_HALVING_H
#define TT_COLL_HALVING_H

#include "coll/coll-util.h"

/* The most slices of a part, and the highest radix. */
enum { TT_HALVING_SLICES = 64, TT_HALVING_RADIX = 16 };

struct tt_halving {
    const struct tt_call *call;
    int p, me;
    int q, l;     /* q: the number of places; q = 2^l */
    int w, m;     /* w: halvings in each step but the last; m: the number of steps */
    int pairs;    /* number of pairs: p - q */
    int s;        /* slices of a part: a power of 2^w, so that they divide evenly among the parts of
                   * the next step */
    int i;        /* my place */
    bool rep;     /* this rank is the rep of its place */
    int mate;     /* the rank that shares my place; -1: there is none */
    bool reduces; /* the call is no allreduce: on some ranks, OUT has no room for the whole
                   * vector */
    int root;     /* the only rank whose OUT has room for the vector, or -1 */
    bool own;     /* each rank has a block of its own */
    bool turned;  /* places are numbered in reverse bit order */
};

/* Returns what recursive halving has to know about rank `me` in this call: its place, its mate, the
 * numbers of steps and slices, and so on. */
struct tt_halving tt_halving(const struct tt_call *call, const struct tt_map *map, int me);
/* Return the place of a rank, and the rank that is the rep of place i. */
int tt_halving_place(const struct tt_halving *h, int rank);
int tt_halving_rep(const struct tt_halving *h, int i);
/* Returns, if each rank has a block of its own, the place that has the block of place i after the
 * reduce-scatter phase. It may be i itself; if not, place i has the block of that place. */
int tt_halving_holder(const struct tt_halving *h, int i);
/* Returns the rank that owns part `side` of the block with which this rank's place ends; -1: there
 * is no such part. The block belongs to one rank, the rep of a place (part 0), or to the two ranks
 * of a pair: part 0 to the rep and part 1 to the other. */
int tt_halving_taker(const struct tt_halving *h, int side);
/* Return the block of a rank, and the same block cut into n slices. */
struct tt_span tt_halving_block(const struct tt_halving *h, int rank);
void tt_halving_block_cut(const struct tt_halving *h, int rank, int n, struct tt_span *list);
/* Two more values of a step number, besides 0 .. m-1. PAIR is the reduction by the two ranks of a
 * place, before step 0. STRAIGHT stands for a step that only moves data, as in the gather phase. */
enum { TT_HALVING_PAIR = -1, TT_HALVING_STRAIGHT = -2 };

/* Return the number of partners of a place in step k, and the partner that gets the g-th part that
 * place i gives. For that partner, place i is the g-th partner too. */
int tt_halving_partners(const struct tt_halving *h, int k);
int tt_halving_partner(const struct tt_halving *h, int i, int k, int g);

/* A run of n blocks, beginning with block `at`. tt_halving_kept returns the run that place i has
 * after step k; after step PAIR, this is the half that the rep of place i has reduced. */
struct tt_halving_run {
    int at, n;
};
struct tt_halving_run tt_halving_kept(const struct tt_halving *h, int i, int k);
/* Converts a run of blocks to bytes of the vector. */
struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_halving_run run);
/* Lists the part that place i has after step k: n slices, in the order in which later steps give
 * them; n is a power of two <= 64. */
void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list);
/* Lists the part that place i has before round t of the gather phase: n slices, in the order in
 * which place i received them. */
void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list);

/* Returns the flag value which says that, of the slices that this rank has before round t of the
 * gather phase, those up to `slice` are ready. t = m stands for the end of the phase, when the rank
 * has the whole vector. */
uint32_t tt_halving_gathered(const struct tt_halving *h, int t, int slice);

/* Returns the range in which rank r keeps the vector after reducing it, from byte `off` of the
 * vector on. The range is in its OUT or its TMP. The TMP holds only a part of the vector: at a rank
 * of a pair, the half that the rank reduces; at other ranks, the part that the rank keeps in step
 * 0. */
struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off);
/* Returns whether the last step writes its result directly to the final place, the OUT of a
 * reduce_scatter. */
bool tt_halving_is_home(const struct tt_halving *h);
/* Appends the reduction of step k (or of the pair) for `span`: it combines this rank's operand and
 * those of all partners, in rank order, into tt_halving_acc, or into OUT if tt_halving_is_home.
 * `theirs` lists the operands of the partners, in the order of the partners. If it is NULL, these
 * operands are read where they lie. */
void tt_halving_reduce(struct tt_builder *b, const struct tt_halving *h, int k, struct tt_span span,
                       const struct tt_range *theirs);

/* ---- By direct access: one node, map.reads ---- */

/* Returns whether the ranks use direct access; otherwise they use messages. */
bool tt_halving_is_direct(const struct tt_map *map);
/* Appends the reduce-scatter phase except for its last step, m-1. The caller does that step slice
 * by slice, with tt_halving_await and tt_halving_reduce. */
void tt_halving_first_steps(struct tt_builder *b, const struct tt_halving *h);
/* Awaits the signals of all partners of step k that they have the slice ready. */
void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice);
/* Signals `value` to the partners of step k. */
void tt_halving_post(struct tt_builder *b, const struct tt_halving *h, int k, uint32_t value);
/* Signals all ranks whose buffers this rank has used, and awaits the signals of all ranks that have
 * used this rank's buffers. */
void tt_halving_close(struct tt_builder *b, const struct tt_halving *h);

/* ---- By messages ---- */

/* One turn with all partners at once: a slice is sent to each and a slice is received from each.
 * Either may be missing (rank -1, or no bytes). */
struct tt_turn {
    int step; /* the step in which the received slices are reduced; STRAIGHT: they are stored where
               * they belong, without a reduction */
    int n;    /* number of partners */
    struct tt_turn_peer {
        int to, from; /* the ranks to send to and to receive from; -1: there is none */
        struct tt_span out, in;
    } peer[TT_HALVING_RADIX];
};

/* A series of turns, one for each slice, which do step number `step` of the reduce-scatter phase
 * or, if `gathers`, move the parts of this step back in the gather phase. In either phase, a rank
 * sends the part of the vector that the place `out` has after this step, and receives the part that
 * the place `in` has after this step. In the reduce-scatter phase the slices are in the order of
 * tt_halving_list, and in the gather phase they are in ascending order. */
struct tt_swap {
    int step;
    bool gathers; /* the turns are part of the gather phase */
    int n;        /* number of partners */
    struct tt_swap_peer {
        int to, from; /* the ranks to send to and to receive from; -1: there is none */
        int out, in;  /* the places whose parts are sent and received */
    } peer[TT_HALVING_RADIX];
};

struct tt_flow {
    struct tt_builder *b;
    const struct tt_halving *h;
    struct tt_range room[2][TT_HALVING_RADIX]; /* slices are received into room[0] and room[1]
                                                * alternately */
    struct tt_range from,
        to;    /* byte 0 of the vector, in the buffer that slices are sent from (`from`), and in the
                * buffer that STRAIGHT slices are received into (`to`); either may lie before the
                * buffer's beginning */
    int turns; /* turns started so far */
    struct tt_turn now; /* the turn that has started */
    tt_started sent[TT_HALVING_RADIX], received[TT_HALVING_RADIX];
};
/* Returns a flow in which no turn has started. A flow is a series of turns, in each of which slices
 * travel while those of the turn before are reduced. Turns with the step STRAIGHT send from `at`
 * and receive to `at`. */
struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at);
/* Appends the whole reduce-scatter phase by messages, except that its last slice has still to be
 * reduced: the caller goes on with other turns, or with tt_flow_end. */
struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h);
/* Waits for the turn that was started last, starts `next`, and then reduces what the former turn
 * has received. */
void tt_flow_turn(struct tt_flow *flow, const struct tt_turn *next);
/* Appends one turn, without a reduction, for each of h->s slices: the turn sends the slice of `out`
 * to rank `to`, and receives the slice of `in` from rank `from`. If `to` or `from` is -1, nothing
 * is sent or received. */
void tt_flow_exchange(struct tt_flow *flow, int to, const struct tt_span *out, int from,
                      const struct tt_span *in);
/* Appends the turns of a swap. */
void tt_flow_swap(struct tt_flow *flow, const struct tt_swap *swap);
/* Waits for the turn that was started last, and reduces what it has received. */
void tt_flow_end(struct tt_flow *flow);

/* More than the number of swaps of any rank in a gather, which has one swap for each step and one
 * for a pair. */
enum { TT_HALVING_SWAPS = 34 };
/* Sets the swaps of this rank in the gather of the blocks of all places to the root, in order, and
 * returns their number. The gather follows a tree in which a rank receives from k - 1 others at
 * once (radix k). One rank of each place takes part; at the root's place it is the root. */
int tt_halving_gather(const struct tt_halving *h, struct tt_swap *swap);

/* ---- Costs ---- */

/* Returns the time of the reduce-scatter phase by messages and of `rounds` rounds of the gather
 * phase, which take `tw` for each byte; -1: the ranks do not all do the same amount of work. */
int64_t tt_halving_time_ps(const struct tt_halving *h, const struct tt_costs *c, int rounds,
                           int64_t tw);

#endif
