/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges in which the ranks of a network send to their neighbours only. They go in rounds: the
 * data of each source goes down the tree of that source (forest.h), in round t over the links at
 * depth t of all trees. All pieces that a round sends over one link are one message, in the order
 * of their sources, so both ends know what it contains.
 *
 *     round 1    my own data         ->  each neighbour
 *     round 2    what I received     ->  the neighbours behind me in the tree of its source
 *
 * A rank starts all sends of a round before it waits for anything. So two neighbours that wait for
 * each other have both started their sends.
 */
#ifndef TT_COLL_FORWARD_H
#define TT_COLL_FORWARD_H

#include "coll/coll-util.h"
#include "coll/forest.h"

/* A copy that is not appended yet, because the next copy may extend it. */
struct tt_growing {
    struct tt_range to, from;
    int64_t len;
};

/* The state of one rank. */
struct tt_forward {
    const struct tt_forward_ops *ops;
    const struct tt_call *call;
    struct tt_forest forest;
    int me, links;
    struct tt_forward_link *link; /* one link for each neighbour */
    /* By source: the offset in TMP of the data of that source for this rank and for the ranks
     * behind this rank. */
    int64_t *place;
    struct tt_growing copy;
    struct tt_range in[2], out; /* places in TMP: received data of this round and of the one before,
                                 * and data to send */
    struct tt_range packed;     /* where the next bytes of the message being packed go */
    struct tt_builder *builder;
};

/* The functions in which the collectives differ. */
struct tt_forward_ops {
    bool lists; /* the functions read forest.behind */
    /* Returns the offset in IN of the data that this rank has for itself. */
    int64_t (*own)(const struct tt_forward *f);
    /* Returns how many bytes of source s are for v and the ranks behind v. */
    int64_t (*bytes)(const struct tt_forward *f, int s, int v);
    /* Passes the data of source s for v and the ranks behind v to tt_forward_take, piece by piece.
     * v is a neighbour behind this rank in the tree of s. */
    void (*pack)(struct tt_forward *f, int s, int v);
};

/* Returns NULL if the map has a network that such an exchange can use, else a static text that says
 * why not. */
const char *tt_forward_refuse(const struct tt_call *call, const struct tt_map *map);
/* Appends all rounds of rank `me`. */
void tt_forward_build(struct tt_builder *b, const struct tt_forward_ops *ops,
                      const struct tt_call *call, const struct tt_map *map, int me);
/* Appends `len` bytes at `from` to the message being packed. */
void tt_forward_take(struct tt_forward *f, struct tt_range from, int64_t len);

#endif
