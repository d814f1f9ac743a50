/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the simulator share: sim.c simulates the ranks, their steps, and
 * the messages and signals under way; wire.c computes how long messages take.
 */
#ifndef TT_SIM_INSIDE_H
#define TT_SIM_INSIDE_H

#include "sim/queue.h"
#include "sim/share.h"
#include "sim/sim.h"

enum tt_sim_message_kind { TT_SIM_SEND, TT_SIM_PUT, TT_SIM_GET, TT_SIM_SIGNAL };

/* A message under way. Its bytes go from rank `from` to rank `to`. A get is started by rank
 * `to`. */
struct tt_sim_message {
    int from, to;
    /* lane: the lane whose step started the message; step: the stage of the message (wire.c) */
    uint8_t kind, lane, step;
    /* for a signal, its value; for other messages, the index in tt_sim_lane.complete[] of the step
     * that started the message */
    uint32_t value;
    int64_t bytes;
    /* the time at which the message was posted; or, while it waits for its receive, the time at
     * which it came */
    int64_t since;
    struct tt_route route;
    uint32_t next; /* the index of the next message in the receiver's list */
};

/* Stands for a completion time that is not known yet, and for the time of an event that is not
 * scheduled. */
#define TT_NEVER INT64_MAX
#define TT_NOTHING UINT32_MAX /* tt_sim_lane.awaited of a lane that waits for no message */

/* The iterator of a lane whose plan has loops or generators, and the step that it returned last. */
struct tt_sim_unrolled {
    struct tt_iter iter;
    struct tt_plain step;
};

/* The state of a lane is small, because the simulator is slow where the states of all ranks do not
 * fit in the caches. So it does not contain the step that the lane does. */
struct tt_sim_lane {
    /* now: the time up to which the lane is simulated; begun: when the lane came to its step */
    int64_t now, begun;
    /* the time of the event at which the lane goes on; TT_NEVER if there is none */
    int64_t due;
    /* the times at which the started messages (sends, receives, puts and gets) are complete, or
     * TT_NEVER. A plan without loops and generators has a time for each id. Otherwise the last
     * TT_IN_FLIGHT instances of each id have a time each: a step in a loop has an instance in each
     * turn */
    int64_t *complete;
    struct tt_sim_unrolled *unrolled; /* NULL: the plan has no loops and no generators */
    /* without `unrolled`: the indices in plan->steps of the next step and of the end of the lane */
    uint32_t at, end;
    /* the index in complete[] of the message for which the lane waits; TT_NOTHING: there is none */
    uint32_t awaited;
    int gets; /* how many operands of other ranks have not come yet */
    /* has_step: the lane has begun a step that it has not finished; fetched: all operands of the
     * step that belong to other ranks have come */
    bool has_step, ended, fetched;
};

/* A posted receive whose message has not come. It completes complete[start] of the lane. */
struct tt_sim_posted {
    bool there; /* false: there is no such receive */
    uint8_t lane;
    int32_t from;
    uint32_t start;
};

struct tt_sim_rank {
    struct tt_shared *shared; /* the plan of the current phase; NULL after the last phase */
    const struct tt_plan *plan;
    /* one block of memory, of `room` bytes, with all lanes and all that they point to */
    struct tt_sim_lane *lane;
    /* the ranks for which the numbers in the plan stand (share.h), in the same block; NULL: there
     * are none, and the plan is not changed */
    const int32_t *named;
    size_t room;
    int phase, lanes, lanes_left;
    /* The oldest of the posted receives whose message has not come, if it was posted when there
     * were no others. Most ranks have only one at a time. The others are in the list below. */
    struct tt_sim_posted posted;
    /* the indices of the first and the last message in each of the rank's two lists: messages that
     * have come but whose receive is not posted yet, and posted receives whose message has not
     * come; 0 if the list is empty */
    uint32_t met[2], met_last[2];
    int64_t send_free, recv_free, sent;
    /* the time until which the rank copies data to or from other ranks of its node */
    int64_t copy_free;
    /* in the model loggp: the time until which the rank's processor works on messages */
    int64_t busy;
};

struct tt_sim {
    const struct tt_sim_job *job;
    struct tt_sim_rank *rank;
    struct tt_shares shares;
    struct tt_queue queue;
    struct tt_sim_message *message; /* the array of all messages; index 0 means none */
    uint32_t messages, message_room;
    uint32_t *unused; /* the indices of the entries of message[] that are free */
    uint32_t unused_n;
    struct tt_flags *flags;
    int64_t *link_free;
    /* two ports for each rank, one for sends and one for receives; NULL, unless a byte takes longer
     * in the model (tw_both_ps > tw_ps) while its rank sends and receives at once */
    struct tt_sim_port *port;
    struct tt_sim_result result;
    /* The most bytes that a transfer to another node, or within a node, may move, and that the
     * operands of a copy or reduction may have together, so that their times fit in 64 bits. */
    int64_t most_far, most_near, most_worked;
    int64_t clock;
    int ended;
    tutti_status status;
};

/* The kinds of events (tt_event.what). */
enum { TT_EVENT_LANE, TT_EVENT_MESSAGE, TT_EVENT_PORT };

void tt_sim_at(struct tt_sim *sim, int64_t time, uint32_t what, uint32_t who);

/* ---- wire.c ---- */

tutti_status tt_wire_begin(struct tt_sim *sim);
/* Sends the message with the index `place` at time sim->clock. wire.c then calls tt_sim_left with
 * the time at which the message has left, and tt_sim_came with the time at which it has come. */
void tt_wire_send(struct tt_sim *sim, uint32_t place);
/* Handles the event at which a message goes on to its next stage. */
void tt_wire_step(struct tt_sim *sim, uint32_t place);
/* Handles an event of the port with this number. Ports have events only in the model with tw_both,
 * in which a rank is slower while it sends and receives at once. */
void tt_both_step(struct tt_sim *sim, uint32_t number);

/* ---- sim.c ---- */

/* wire.c calls these with the time at which a message has left its sender or has come to its
 * receiver. */
void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time);
void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time);

#endif
