/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges in which members of a network talk to their neighbours alone, in rounds: what a source
 * sends goes down its tree (forest.h), in round t over the links at depth t of all trees. A round's
 * pieces for a neighbour are one message, in the order of their sources, so both ends know what is
 * in it.
 *
 *     round 1    my own         ->  each neighbour
 *     round 2    what came      ->  those behind me in the tree of its source
 *
 * Sends are started before anything is waited for: neighbours that wait for each other have both
 * sent.
 */
#ifndef TT_COLL_FORWARD_H
#define TT_COLL_FORWARD_H

#include "coll/coll-util.h"
#include "coll/forest.h"

/* A copy that may still grow. */
struct tt_growing {
    struct tt_range to, from;
    int64_t len;
};

/* One rank's part. */
struct tt_forward {
    const struct tt_forward_ops *ops;
    const struct tt_call *call;
    struct tt_forest forest;
    int me, links;
    struct tt_forward_link *link; /* to each neighbour */
    /* Of each source: where in TMP lies what came of it, for this rank and those behind. */
    int64_t *place;
    struct tt_growing copy;
    struct tt_range in[2], out; /* TMP for what comes in two rounds, and goes in one */
    struct tt_range packed;     /* where the next bytes of a message go */
    struct tt_builder *builder; /* NULL: only counted */
    struct tt_count count;
};

/* What differs between the collectives. */
struct tt_forward_ops {
    /* Where in IN lies what this rank has for itself. */
    int64_t (*own)(const struct tt_forward *f);
    /* How much of what s sends is for v and those behind it. */
    int64_t (*bytes)(const struct tt_forward *f, int s, int v);
    /* Names it, piece by piece, to tt_forward_take; v is a neighbour behind this rank. */
    void (*pack)(struct tt_forward *f, int s, int v);
};

const char *tt_forward_refuse(const struct tt_call *call, const struct tt_map *map);
void tt_forward_build(struct tt_builder *b, const struct tt_forward_ops *ops,
                      const struct tt_call *call, const struct tt_map *map, int me);
/* By the same walk, of all ranks; zeros if there is no memory for it. */
struct tt_count tt_forward_count(const struct tt_forward_ops *ops, const struct tt_call *call,
                                 const struct tt_map *map);
/* The next bytes of the message that is packed. */
void tt_forward_take(struct tt_forward *f, struct tt_range from, int64_t len);

#endif
