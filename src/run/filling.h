/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank fills its windows: by plain stores, or by stores that bypass the caches.
 *
 * Plain stores to lines that another rank has read wait until that rank's cache gives up the lines.
 * Between processors that share no cache this takes several times as long as storing past the
 * caches. The ranks measure both when they meet (fabric/cost.c). But a process may be moved to
 * another processor, and a host may move the processors of a virtual machine. So a team measures
 * again: from time to time, in a trial, it stores some pieces by each kind of stores, and goes on
 * with the better kind. No other rank needs to know, because the bytes are the same.
 */
#ifndef TT_RUN_FILLING_H
#define TT_RUN_FILLING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TT_FILLING_PIECE = 8 << 10,  /* the most bytes of a piece that is timed */
    TT_FILLING_TRIES = 5,        /* pieces that a trial stores by each kind of stores */
    TT_FILLING_EVERY = 16 << 20, /* bytes that are stored from one trial to the next */
};

struct tt_filling {
    bool past;  /* windows are filled by stores that bypass the caches; else by plain stores */
    bool fixed; /* `past` never changes, and nothing is timed */
    /* bytes until the next trial; calls that store too few bytes for a trial do not count */
    int64_t left;
    uint32_t tried; /* pairs of pieces that this trial has timed */
    /* By kind of stores (plain, past the caches): the longest and the second longest time that a
     * piece of this trial took, in nanoseconds. */
    int64_t longest[2][2];
};

/* Returns the state of a new team. slow: plain stores were slow when the ranks met, so windows are
 * filled past the caches. fixed: the team measures nothing and never changes the kind. */
struct tt_filling tt_filling(bool slow, bool fixed);

/* Stores the next n bytes of `what` into a window. past: by stores that bypass the caches. */
typedef void tt_filling_store(void *what, bool past, int64_t n);
/* Stores n bytes into a window. No element (of `element` bytes) is divided between two calls of
 * `store`. During a trial, stores the first two pieces by different kinds of stores, and times
 * both. */
void tt_filling_all(struct tt_filling *f, tt_filling_store *store, void *what, int64_t n,
                    int64_t element);

#endif
