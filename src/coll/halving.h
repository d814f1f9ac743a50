/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recursive halving: who is whose partner, which part of the vector is kept, and in what order its
 * slices go. Shared by reduce, allreduce and reduce_scatter(_block) `halving` and gather `binomial`.
 *
 * The vector is q blocks, q the greatest power of two <= p. Place i (0..q-1) exchanges with i ^ 2^k
 * in step k, keeps half of what it has, and gives the other half; after log2 q steps it has one
 * block. p > q: of the first 2(p-q) ranks, each pair shares a place. Each of the two reduces one half
 * of both inputs; the one with the half that the place keeps in step 0 goes on as the place's
 * `rep`, and what the place gives in step 0 comes from the `other`. So nothing is moved to merge them.
 *
 *     p = 6:   ranks  0 1   2 3   4   5        reps 0, 3, 4, 5
 *              places  0     1    2   3        others 1, 2
 *
 * Place i ends with block bitreverse(i). Where each rank has a block of its own (reduce_scatter, gather)
 * a place's block is what its ranks have, as unequal as it may be; and where operands need not stay in
 * rank order, or there are none, places are numbered in reverse bit order, so that each keeps its own.
 *
 * Each half goes in `s` slices, in such an order that what is given in the next step comes first, and
 * within that what is given in the step after it (order 'list' below): then slices travel, are
 * reduced, and can be passed on while those after them still travel. All ranks cut alike:
 *
 *     values of flags:  1 my input is there;  2 + step s + slice, steps 0..m-1 of the distribution,
 *                       m..2m-1 of the collection;  the end of both.
 */
#ifndef TT_COLL_HALVING_H
#define TT_COLL_HALVING_H

#include "coll/coll-util.h"

enum { TT_HALVING_SLICES = 64 };

struct tt_halving {
    const struct tt_call *call;
    int p, me;
    int q, m;     /* places; steps: q = 2^m */
    int pairs;    /* p - q */
    int s;        /* slices of a half, a power of two >= 2 */
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
/* Of the block that this rank's place ends with, the rank that gets part `side`, 0 or 1 (-1: none). */
int tt_halving_taker(const struct tt_halving *h, int side);
/* The block of a rank, and its n slices. */
struct tt_span tt_halving_block(const struct tt_halving *h, int rank);
void tt_halving_block_cut(const struct tt_halving *h, int rank, int n, struct tt_span *list);
/* Who supplies what place i gives in step k. */
int tt_halving_giver(const struct tt_halving *h, int i, int k);

/* What place i has after step k: n blocks from `at`; after step -1, all. */
struct tt_run {
    int at, n;
};
struct tt_run tt_halving_kept(const struct tt_halving *h, int i, int k);
struct tt_span tt_halving_span(const struct tt_halving *h, struct tt_run run);
/* What place i keeps in step k, in n slices, in order; n a power of two <= 64. */
void tt_halving_list(const struct tt_halving *h, int i, int k, int n, struct tt_span *list);
/* The run in n ascending slices, likewise. */
void tt_halving_cut(const struct tt_halving *h, struct tt_run run, int n, struct tt_span *list);
/* What place i has before round t of the collection, in the order in which it got it. */
void tt_halving_held(const struct tt_halving *h, int i, int t, int n, struct tt_span *list);

static inline uint32_t tt_halving_value(const struct tt_halving *h, int step, int slice)
{
    return (uint32_t)(2 + step * h->s + slice);
}

/* Where rank r has what it reduced: in OUT, or in TMP from its half on. */
struct tt_range tt_halving_acc(const struct tt_halving *h, int r, int64_t off);
/* The last step's results go to where they belong at once: OUT of a reduce_scatter. */
bool tt_halving_is_home(const struct tt_halving *h);
/* Takes that TMP, before any other scratch. */
void tt_halving_room(struct tt_builder *b, const struct tt_halving *h);
/* acc <- mine op theirs, of step k, or of the pair (k = -1). `theirs` may be NULL: where they are. */
void tt_halving_reduce(struct tt_builder *b, const struct tt_halving *h, int k, struct tt_span span,
                       const struct tt_range *theirs);

/* ---- By direct access (halving-direct.c): one node, map.direct ---- */

bool tt_halving_is_direct(const struct tt_map *map);
/* All but the last step. Afterwards step m-1 can be done slice by slice:
 * tt_halving_await, tt_halving_reduce. */
void tt_halving_distribute(struct tt_builder *b, const struct tt_halving *h);
void tt_halving_await(struct tt_builder *b, const struct tt_halving *h, int k, int slice);
/* Tells everyone whose buffers I read, and waits for everyone who read mine. */
void tt_halving_close(struct tt_builder *b, const struct tt_halving *h);

/* ---- By messages (halving-message.c) ---- */

/* One turn: a slice out, a slice in; both may be missing (rank -1, or no bytes). */
struct tt_turn {
    int to, from;
    struct tt_span out, in;
    int step; /* where what comes in is reduced; STRAIGHT: it goes to its place as it is */
};
enum { TT_HALVING_PAIR = -1, TT_HALVING_STRAIGHT = -2 };

struct tt_flow {
    struct tt_builder *b;
    const struct tt_halving *h;
    struct tt_range room[2]; /* slices come in to these in turn */
    struct tt_range from,
        to; /* where byte 0 of what goes straight would be, here and when it came */
    int turns;
    struct tt_turn now; /* under way */
    tt_started sent, received;
};
/* Nothing is under way, and what goes straight goes from and to `at`. */
struct tt_flow tt_flow_at(struct tt_builder *b, const struct tt_halving *h, struct tt_range at);
/* All of the distribution; its last slice is still to be reduced. */
struct tt_flow tt_halving_flow(struct tt_builder *b, const struct tt_halving *h);
/* Waits for the turn under way, starts the next, and reduces what has come in meanwhile. */
void tt_flow_turn(struct tt_flow *flow, struct tt_turn next);
/* A turn for each of h->s slices: of `out` to one rank, of `in` from another, or nothing where it is -1. */
void tt_flow_exchange(struct tt_flow *flow, int step, int to, const struct tt_span *out, int from,
                      const struct tt_span *in);
void tt_flow_end(struct tt_flow *flow);

/* A run moved in the gather: to one rank, or from one (else -1). */
struct tt_move {
    int to, from;
    struct tt_run run;
};
enum { TT_HALVING_MOVES = 34 };
/* What this rank does in the binomial gather of all places' blocks to the root, of which one rank of
 * each place takes part, at the root's the root; in order, and how many. */
int tt_halving_gather(const struct tt_halving *h, struct tt_move *move);
void tt_flow_moves(struct tt_flow *flow, const struct tt_move *move, int n);
void tt_flow_moves_count(struct tt_count *c, const struct tt_halving *h, const struct tt_move *move,
                         int n);

/* ---- Costs ---- */

/* Of the distribution (direct: the opening and closing signals too), for rank h->me. */
struct tt_count tt_halving_direct_count(const struct tt_halving *h);
struct tt_count tt_halving_flow_count(const struct tt_halving *h);
/* Of a collection's exchange of s slices each way; either list may be NULL. */
void tt_flow_count(struct tt_count *c, const struct tt_halving *h, const struct tt_span *out,
                   const struct tt_span *in);
/* How many slices of a list have bytes. */
int64_t tt_halving_filled(const struct tt_span *list, int n);

#endif
