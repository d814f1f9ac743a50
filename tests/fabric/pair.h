/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes that share no memory and communicate over a socket, for the tests of the network
 * transport. Each test case starts two new processes, so that the program itself never loads UCX.
 */
#ifndef TESTS_FABRIC_PAIR_H
#define TESTS_FABRIC_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/wire.h"

/* Checks a condition in either process. If it does not hold, the process exits with 1 and the test
 * fails. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,                \
                tutti_error());                                                                    \
        exit(1);                                                                                   \
    } while (0)

struct side {
    int me; /* 0 or 1 */
    int fd; /* the socket to the other process */
    const struct tt_wire_ops *ops;
    struct tt_wire *wire;
    struct tt_port *port;
    struct tt_link *link;
    int lost; /* how often link_lost was called, and with which status */
    tutti_status why;
};

/* Runs `play` in two processes, and returns whether both ended well. If `killed` is 0 or 1, that
 * process must be ended by SIGKILL; -1: neither. `names` holds the names of two network namespaces
 * for the processes, or is NULL. */
typedef void pair_fn(struct side *side);
bool pair_play(pair_fn *play, int killed, char *const *names);

/* Opens the transport and a port. */
void pair_open(struct side *side, tt_wire_arrive_fn *arrive, void *arg);
/* Opens a link to the port of the other process. */
void pair_link(struct side *side);
/* Opens the transport, a port and the link. */
void pair_meet(struct side *side, tt_wire_arrive_fn *arrive, void *arg);
void pair_close(struct side *side);
/* Closes the port; waits up to a second if the other side does not take what was sent. */
void pair_close_port(struct side *side);
/* Sends bytes to the other process over the socket and receives as many, and advances the port
 * meanwhile. */
void pair_swap(struct side *side, const void *mine, void *other, size_t bytes);
/* Returns when both processes have called this function. */
void pair_sync(struct side *side);

/* pair_wait returns when the other process calls pair_signal; neither advances the port. */
void pair_signal(struct side *side);
void pair_wait(struct side *side);

/* Operations: `left` are under way, `over` have completed, of which `failed` with an error. */
struct tally {
    int left, over, failed;
};
/* Start an operation. They return the status of the start, which the caller passes to tally_begun.
 * When an operation completes later, *tally counts it. Each of these functions allocates a struct
 * for its operation, which is freed when the operation has ended. */
tutti_status tally_send(struct side *side, struct tt_link *link, const void *head,
                        size_t head_bytes, const void *data, size_t data_bytes,
                        struct tally *tally);
tutti_status tally_get(struct side *side, void *to, uint64_t from, struct tt_wire_key *key,
                       size_t bytes, struct tally *tally);
tutti_status tally_put(struct side *side, uint64_t to, const void *from, struct tt_wire_key *key,
                       size_t bytes, struct tally *tally);
/* Counts an operation that is complete. */
void tally_done(struct tally *tally, tutti_status status);
void tally_begun(struct tally *tally, tutti_status status);
void tally_wait(struct side *side, struct tally *tally);

/* pattern_fill writes bytes that depend on the seed; pattern_holds returns whether the memory
 * contains the bytes of this seed. Tests use a different seed for each packet, or for each piece of
 * memory. */
void pattern_fill(void *memory, size_t bytes, uint64_t seed);
bool pattern_holds(const void *memory, size_t bytes, uint64_t seed);

#endif
