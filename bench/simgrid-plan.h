/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of a problem as another simulator wants them: flat lists of acts, and routes. This is
 * read from C++.
 */
#ifndef BENCH_SIMGRID_PLAN_H
#define BENCH_SIMGRID_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each done at once but WAIT (until the start of that number is complete), AWAIT (until the peer
 * has signalled at least `value`), COPY and REDUCE (which take their time). */
enum peer_kind {
    PEER_SEND,   /* peer, bytes, start: complete when it has left */
    PEER_RECV,   /* peer, start */
    PEER_PUT,    /* peer, bytes, start: complete when it has come */
    PEER_GET,    /* peer, which sends without knowing it; bytes, start */
    PEER_WAIT,   /* start; one that was not started is complete */
    PEER_SIGNAL, /* peer, value */
    PEER_AWAIT,  /* peer, value */
    PEER_COPY,   /* bytes */
    PEER_REDUCE  /* bytes: of each operand but the first */
};

struct peer_act {
    enum peer_kind kind;
    int peer;
    uint32_t start; /* a number below peer_acts.starts, used again when it was waited for */
    uint32_t value;
    int64_t bytes;
};

/* What a rank does, in order. */
struct peer_acts {
    struct peer_act *act;
    size_t n, room;
    uint32_t starts;
};

struct peer_problem;
/* NULL: it has told on stderr why not. */
struct peer_problem *peer_problem_open(const char *text, const char *algorithm);
void peer_problem_close(struct peer_problem *problem);
int peer_ranks(const struct peer_problem *problem);
/* False: it has told on stderr why not. The caller frees acts->act, also then. */
bool peer_acts_of(const struct peer_problem *problem, int rank, struct peer_acts *acts);

bool peer_has_network(const struct peer_problem *problem);
/* Numbers of links are below this; each is of one direction. */
int64_t peer_link_room(const struct peer_problem *problem);
/* The links from a rank to another, in order, into link[0..room-1]; how many there are. */
int peer_route(const struct peer_problem *problem, int from, int to, int64_t *link, int room);

#ifdef __cplusplus
}
#endif

#endif
