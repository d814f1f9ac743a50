/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the simulator share: sim.c has the ranks, their steps, and the
 * messages and signals under way; wire.c has the time that messages take.
 */
#ifndef TT_SIM_INSIDE_H
#define TT_SIM_INSIDE_H

#include "sim/queue.h"
#include "sim/sim.h"

enum tt_sim_message_kind { TT_SIM_SEND, TT_SIM_PUT, TT_SIM_GET, TT_SIM_SIGNAL };

/* A message under way. Its bytes go from rank `from` to rank `to`. A get is started by rank
 * `to`. */
struct tt_sim_message {
    int from, to;
    uint8_t kind, lane, step; /* lane: the starter's; step: the stage of the message, see wire.c */
    uint32_t value; /* a signal's value; otherwise the index of the start in lane->complete */
    int64_t bytes;
    int64_t since; /* when it was posted; when it came, once it waits for its receive */
    struct tt_route route;
    uint32_t next; /* the next in the receiver's list or in the free list */
};

/* The completion time of a start that is not known yet. */
#define TT_NEVER INT64_MAX

struct tt_sim_lane {
    struct tt_iter iter;
    struct tt_plain step;
    bool has_step, ended, fetched; /* fetched: the operands of other ranks have come */
    int gets;                      /* number of operands of other ranks under way */
    int64_t now, begun;            /* begun: when the lane came to this step */
    int64_t due;       /* the time of the event that wakes it; TT_NEVER if there is none */
    int64_t *complete; /* by start, TT_IN_FLIGHT for each id: its completion time or TT_NEVER */
    void *memory;
};

struct tt_sim_rank {
    struct tt_plan *plan;
    struct tt_sim_lane *lane;
    int phase, lanes_left;
    /* the first and the last entry of the lists TT_CAME and TT_POSTED; 0: the list is empty */
    uint32_t met[2], met_last[2];
    int64_t send_free, recv_free, sent;
    int64_t copy_free; /* until then the rank copies to or from another of its node */
    int64_t busy;      /* loggp: until then its processor works on messages */
};

struct tt_sim {
    const struct tt_sim_job *job;
    struct tt_sim_rank *rank;
    struct tt_queue queue;
    struct tt_sim_message *message; /* index 0 means none */
    uint32_t messages, message_room, free_message;
    struct tt_flags *flags;
    int64_t *link_free;
    struct tt_sim_port *port; /* two for each rank; NULL: sending does not slow down receiving */
    struct tt_sim_result result;
    int64_t clock;
    int ended;
    tutti_status status;
};

/* The kinds of events (tt_event.what). */
enum { TT_EVENT_LANE, TT_EVENT_MESSAGE, TT_EVENT_PORT };

void tt_sim_at(struct tt_sim *sim, int64_t time, uint32_t what, uint32_t who);

/* ---- wire.c ---- */

tutti_status tt_wire_begin(struct tt_sim *sim);
/* Sends a message at time sim->clock. tt_sim_left is called with the time at which it has left, and
 * tt_sim_came with the time at which it has come. */
void tt_wire_send(struct tt_sim *sim, uint32_t place);
/* Handles an event of a message: it goes on to its next stage. */
void tt_wire_step(struct tt_sim *sim, uint32_t place);
/* Handles an event of a port, where sending and receiving at once is slower. */
void tt_both_step(struct tt_sim *sim, uint32_t number);

/* ---- sim.c ---- */

/* Called by wire.c with the time at which a message has left or has come. */
void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time);
void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time);

#endif
