/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of a problem in the form that another simulator needs: flat lists of acts, and routes.
 * C++ code includes this header.
 */
#ifndef BENCH_SIMGRID_PLAN_H
#define BENCH_SIMGRID_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of acts. The comments list the members of struct peer_act that each kind uses. WAIT
 * blocks until the start with the number `start` is complete, and AWAIT until the peer has
 * signalled at least `value`. COPY and REDUCE take time. All other kinds return at once. */
enum peer_kind {
    PEER_SEND,   /* peer, bytes, start: complete when the message has left */
    PEER_RECV,   /* peer, start */
    PEER_PUT,    /* peer, bytes, start: complete when the data is at the peer */
    PEER_GET,    /* peer, bytes, start: the peer has no act for this */
    PEER_WAIT,   /* start: a number that was not started counts as complete */
    PEER_SIGNAL, /* peer, value */
    PEER_AWAIT,  /* peer, value */
    PEER_COPY,   /* bytes */
    PEER_REDUCE  /* bytes: the total of all operands but the first */
};

struct peer_act {
    enum peer_kind kind;
    int peer;
    uint32_t start; /* a number below peer_acts.starts, free for reuse after its WAIT */
    uint32_t value;
    int64_t bytes;
};

/* The acts of one rank, in order. */
struct peer_acts {
    struct peer_act *act;
    size_t n, room;
    uint32_t starts;
};

struct peer_problem;
/* Opens the problem for simulation. Returns NULL after printing the error. */
struct peer_problem *peer_problem_open(const char *text, const char *algorithm);
void peer_problem_close(struct peer_problem *problem);
int peer_ranks(const struct peer_problem *problem);
/* Fills *acts with the acts of the rank. Returns false after printing the error. The caller frees
 * acts->act in either case. */
bool peer_acts_of(const struct peer_problem *problem, int rank, struct peer_acts *acts);

bool peer_has_network(const struct peer_problem *problem);
/* Returns a number that is larger than all link numbers. Each number is a link in one direction. */
int64_t peer_link_room(const struct peer_problem *problem);
/* Writes the links from one rank to another, in order, to link[0..room-1]; returns how many there
 * are. */
int peer_route(const struct peer_problem *problem, int from, int to, int64_t *link, int room);

#ifdef __cplusplus
}
#endif

#endif
