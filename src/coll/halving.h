/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recursive halving: who is whose partner, which part of the vector is kept, and in what order its
 * slices go. Shared by reduce, allreduce and reduce_scatter(_block) `halving` and gather
 * `binomial`.
 *
 * The vector is q blocks, q the greatest power of two <= p. Place i (0..q-1) exchanges with i ^ 2^k
 * in step k, keeps half of what it has, and gives the other half; after log2 q steps it has one
 * block. p > q: of the first 2(p-q) ranks, each pair shares a place. Each of the two reduces one
 * half of both inputs; the one whose half has what the place keeps in step 0 goes on as the place's
 * `rep`, and what the place gives of the other half comes from the `other`. So nothing is moved to
 * merge them.
 *
 *     p = 6:   ranks  0 1   2 3   4   5        reps 0, 3, 4, 5
 *              places  0     1    2   3        others 1, 2
 *
 * Place i ends with block bitreverse(i). Where each rank has a block of its own (reduce_scatter,
 * gather) a place's block is what its ranks have, as unequal as it may be; and where operands need
 * not stay in rank order, or there are none, places are numbered in reverse bit order, so that each
 * keeps its own.
 *
 * With radix 2^w, one step does w such halvings at once: i keeps 2^-w of what it has, and gives a
 * part to each of the 2^w - 1 places that differ from it in those w bits, in any of them. The last
 * step has what is left of the log2 q bits. Who has which block does not depend on the radix.
 *
 *     q = 8, radix 4:   step 0   0<>1<>2<>3  4<>5<>6<>7    each keeps 2 of 8 blocks
 *                       step 1   0<>4  1<>5  2<>6  3<>7               1
 *
 * Each part goes in `s` slices, in such an order that what is given in the next step comes first,
 * and within that what is given in the step after it (order 'list' below): then slices travel, are
 * reduced, and can be passed on while those after them still travel. All ranks cut alike:
 *
 *     values of flags:  1 my input is there;  2 + round s + slice: a round for each part that is
 *                       given
 *                       in each step, then one for each step of the collection;  the end of both.
 */
#ifndef TT_COLL_HALVING_H
#define TT_COLL_HALVING_H

#include "coll/coll-util.h"

enum { TT_HALVING_SLICES = 64, TT_HALVING_RADIX = 16 };

struct tt_halving {
    const struct tt_call *call;
    int p, me;
    int q, l;     /* places: 2^l */
    int w, m;     /* halvings of a step but the last; steps */
    int pairs;    /* p - q */
    int s;        /* slices of a part, a power of 2^w, so that a slice's parts are slices */
    int i;        /* my place */
    bool rep;     /* I stand for it */
    int mate;     /* the other rank of my place, or -1 */
    bool reduces; /* not all ranks have the vector in an OUT */
    int root;     /* who has, or -1 */
    bool own;     /* blocks are those of the ranks */
    bool turned;  /* places are numbered in reverse bit order */
};

struct tt_halving tt_halving(const struct tt_call *call, const struct tt_map *map, int me);
int tt_halving_place(const struct tt_halving *h, int rank);
int tt_halving_rep(const struct tt_halving *h, int i);
int tt_halving_other(const struct tt_halving *h, int i);   /* -1 if there is none */
bool tt_halving_paired(const struct tt_halving *h, int i); /* whether there is one */
/* Of own blocks: the place that ends with that of place i, which ends with its. */
int tt_halving_holder(const struct tt_halving *h, int i);
/* Of the block that this rank's place ends with, the rank that gets part `side`, 0 or 1 (-1:
 * none). */
int tt_halving_taker(const struct tt_halving *h, int side);
/* The block of a rank, and its n slices. */
struct tt_span tt_halving_block(const struct tt_halving *h, int rank);
void tt_halving_block_cut(const struct tt_halving *h, int rank, int n, struct tt_span *list);
/* Who supplies what place i gives place `to` in step k. */
int tt_halving_giver(const struct tt_halving *h, int i, int to, int k);
/* What is reduced: in a step, or before step 0 by the two ranks of a place. Nothing in the
 * collection. */
enum { TT_HALVING_PAIR = -1, TT_HALVING_STRAIGHT = -2 };

/* The partners of a place in step k: how many, and which one gets the g-th part that it gives. To
 * that one, it is the g-th too. */
int tt_halving_partners(const struct tt_halving *h, int k);
int tt_halving_partner(const struct tt_halving *h, int i, int k, int g);

/* What place i has after step k, or of a pair the rep after the pair's: n blocks from `at`. */
struct tt_run {
    int at, n;
};
struct tt_run tt_halving_kept(const struct tt_halving *h, int i, int k);
struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_run run);
/* The same in n slices, in the order in which they are given on; n a power of two <= 64. */
void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list);
/* The run in n ascending slices, likewise. */
void tt_halving_cut(const struct tt_halving *h, struct tt_run run, int n, struct tt_span *list);
/* What place i has before round t of the collection, in the order in which it got it. */
void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list);

/* The value that says: the g-th part given in step k is there up to this slice; what I collected
 * before round t is (t = m: all). */
uint32_t tt_halving_given(const struct tt_halving *h, int k, int g, int slice);
uint32_t tt_halving_collected(const struct tt_halving *h, int t, int slice);

/* Where rank r has what it reduced: in OUT, or in TMP from its half on. */
struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off);
/* The last step's results go to where they belong at once: OUT of a reduce_scatter. */
bool tt_halving_is_home(const struct tt_halving *h);
/* Takes that TMP, before any other scratch. */
void tt_halving_room(struct tt_builder *b, const struct tt_halving *h);
/* acc <- mine op those of all partners, of step k or of the pair, in order of ranks. `theirs`, in
 * the order of the partners, may be NULL: where they are. */
void tt_halving_reduce(struct tt_builder *b, const struct tt_halving *h, int k, struct tt_span span,
                       const struct tt_range *theirs);

/* ---- By direct access (halving-direct.c): one node, map.direct ---- */

bool tt_halving_is_direct(const struct tt_map *map);
/* All but the last step. Afterwards step m-1 can be done slice by slice:
 * tt_halving_await, tt_halving_reduce. */
void tt_halving_distribute(struct tt_builder *b, const struct tt_halving *h);
void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice);
/* Signals the partners of step k. */
void tt_halving_post(struct tt_builder *b, const struct tt_halving *h, int k, uint32_t value);
/* Tells everyone whose buffers I read, and waits for everyone who read mine. */
void tt_halving_close(struct tt_builder *b, const struct tt_halving *h);

/* ---- By messages (halving-message.c) ---- */

/* One turn with all partners at once: to each a slice, from each a slice; both may be missing (rank
 * -1, or no bytes). */
struct tt_turn {
    int step; /* where what comes in is reduced; STRAIGHT: it goes to its place as it is */
    int n;
    struct tt_turn_peer {
        int to, from;
        struct tt_span out, in;
    } peer[TT_HALVING_RADIX];
};

/* Turns for all slices of a step: to and from each partner, what this place has after the step, or
 * in the collection had before the round: of the distribution in its order, of the collection
 * ascending. */
struct tt_swap {
    int step;
    bool collects;
    int n;
    struct tt_swap_peer {
        int to, from; /* ranks, or -1 */
        int out, in;  /* places */
    } peer[TT_HALVING_RADIX];
};

struct tt_flow {
    struct tt_builder *b;
    const struct tt_halving *h;
    struct tt_range room[2][TT_HALVING_RADIX]; /* slices come in to these in turn */
    struct tt_range from,
        to; /* where byte 0 of what goes straight would be, here and when it came */
    int turns;
    struct tt_turn now; /* under way */
    tt_started sent[TT_HALVING_RADIX], received[TT_HALVING_RADIX];
};
/* Nothing is under way, and what goes straight goes from and to `at`. */
struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at);
/* All of the distribution; its last slice is still to be reduced. */
struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h);
/* Waits for the turn under way, starts the next, and reduces what has come in meanwhile. */
void tt_flow_turn(struct tt_flow *flow, const struct tt_turn *next);
/* A turn for each of h->s slices: of `out` straight to one rank, of `in` from another, or nothing
 * where it is -1. */
void tt_flow_exchange(struct tt_flow *flow, int to, const struct tt_span *out, int from,
                      const struct tt_span *in);
void tt_flow_swap(struct tt_flow *flow, const struct tt_swap *swap);
void tt_flow_end(struct tt_flow *flow);

enum { TT_HALVING_SWAPS = 34 };
/* What this rank does in the gather of all places' blocks to the root, along a tree in which one
 * takes from k - 1 at once (radix k), and in which one rank of each place takes part, at the root's
 * the root; in order, and how many. */
int tt_halving_gather(const struct tt_halving *h, struct tt_swap *swap);

/* ---- Costs ---- */

/* By messages: of the distribution, and of so many rounds of the collection at tw a byte; -1 where
 * not all ranks do alike. Formulas in picoseconds. */
int64_t tt_halving_time_ps(const struct tt_halving *h, const struct tt_costs *c, int rounds,
                           int64_t tw);

/* Of the distribution (direct: the opening and closing signals too), for rank h->me. */
struct tt_count tt_halving_direct_count(const struct tt_halving *h);
struct tt_count tt_halving_flow_count(const struct tt_halving *h);
void tt_flow_swap_count(struct tt_count *c, const struct tt_halving *h, const struct tt_swap *swap);
/* Of a collection's exchange of s slices each way; either list may be NULL. */
void tt_flow_count(struct tt_count *c, const struct tt_halving *h, const struct tt_span *out,
                   const struct tt_span *in);
/* How many slices of a list have bytes. */
int64_t tt_halving_filled(const struct tt_span *list, int n);

#endif
