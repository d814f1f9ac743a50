/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes that share no memory and meet by a socket: what each test of the wire is played by.
 * Each case has fresh ones, so that the program itself never loads UCX.
 */
#ifndef TESTS_FABRIC_PAIR_H
#define TESTS_FABRIC_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/wire.h"

/* What must hold in either process; where it does not, that process ends, and with it the test. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,                \
                tutti_error());                                                                    \
        exit(1);                                                                                   \
    } while (0)

struct side {
    int me; /* 0 or 1 */
    int fd; /* of the socket to the other */
    const struct tt_wire_ops *ops;
    struct tt_wire *wire;
    struct tt_port *port;
    struct tt_link *link;
    int lost; /* how often it was called */
    tutti_status why;
};

/* Runs `play` in two processes; both must end well, but one that is to be killed: it (0 or 1; else
 * -1) must die of SIGKILL. `names`: of two network namespaces to be in, or NULL. False if anything
 * went otherwise. */
typedef void pair_fn(struct side *side);
bool pair_play(pair_fn *play, int killed, char *const *names);

/* Wire and port. */
void pair_open(struct side *side, tt_wire_arrive_fn *arrive, void *arg);
/* The link to the other's port. */
void pair_link(struct side *side);
/* All three. */
void pair_meet(struct side *side, tt_wire_arrive_fn *arrive, void *arg);
void pair_close(struct side *side);
/* In up to a second, if the other does not take what was sent. */
void pair_close_port(struct side *side);
/* Gives the other bytes and takes as many, advancing meanwhile. */
void pair_swap(struct side *side, const void *mine, void *other, size_t bytes);
/* Both are here. */
void pair_sync(struct side *side);

/* One goes on when the other says so; neither advances. */
void pair_tell(struct side *side);
void pair_wait(struct side *side);

/* What is under way: how many `done` are still to come, and how many came with an error. */
struct tally {
    int left, over, failed;
};
void tally_done(void *arg, tutti_status status);
/* Counts what a starting function returned. */
void tally_begun(struct tally *tally, tutti_status status);
void tally_wait(struct side *side, struct tally *tally);

/* Bytes that tell which packet or place they belong to. */
void pattern_fill(void *memory, size_t bytes, uint64_t seed);
bool pattern_holds(const void *memory, size_t bytes, uint64_t seed);

#endif
