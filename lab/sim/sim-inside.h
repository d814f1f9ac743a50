/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the simulator share: sim.c simulates the ranks, their steps, and
 * the messages and signals under way; wire.c computes how long messages take.
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
    /* lane: that of the step that started the message; step: the stage of the message (wire.c) */
    uint8_t kind, lane, step;
    /* the value of a signal; for other messages, the index of the start in lane->complete */
    uint32_t value;
    int64_t bytes;
    /* when the message was posted; later, while it waits for its receive, when it came */
    int64_t since;
    struct tt_route route;
    uint32_t next; /* the next in the receiver's list or in the free list */
};

/* Stands for a completion time that is not known yet, and for the time of an event that is not
 * scheduled. */
#define TT_NEVER INT64_MAX

struct tt_sim_lane {
    struct tt_iter iter;
    struct tt_plain step;
    /* fetched: all operands of the step that belong to other ranks have come */
    bool has_step, ended, fetched;
    int gets;           /* the number of operands of other ranks that are under way */
    int64_t now, begun; /* now: the lane's time; begun: when the lane came to `step` */
    int64_t due;        /* the time of the event that continues the lane; TT_NEVER: there is none */
    /* by started step, TT_IN_FLIGHT for each id: its completion time or TT_NEVER */
    int64_t *complete;
    void *memory;
};

struct tt_sim_rank {
    struct tt_plan *plan;
    struct tt_sim_lane *lane;
    int phase, lanes_left;
    /* the indices of the first and the last message of the lists TT_CAME and TT_POSTED; 0: none */
    uint32_t met[2], met_last[2];
    int64_t send_free, recv_free, sent;
    /* until this time the rank copies data to or from another rank of its node */
    int64_t copy_free;
    int64_t busy; /* loggp: until this time the rank's processor works on messages */
};

struct tt_sim {
    const struct tt_sim_job *job;
    struct tt_sim_rank *rank;
    struct tt_queue queue;
    struct tt_sim_message *message; /* the array of all messages; index 0 means none */
    uint32_t messages, message_room, free_message;
    struct tt_flags *flags;
    int64_t *link_free;
    /* two for each rank, for sends and receives; NULL: the model has no tw_both */
    struct tt_sim_port *port;
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
/* Handles an event of a message: the message goes on to its next stage. */
void tt_wire_step(struct tt_sim *sim, uint32_t place);
/* Handles an event of a port. There are such events only in the model with tw_both, in which a rank
 * is slower while it sends and receives at once. */
void tt_both_step(struct tt_sim *sim, uint32_t number);

/* ---- sim.c ---- */

/* wire.c calls these with the time at which a message has left its sender or has come to its
 * receiver. */
void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time);
void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time);

#endif
