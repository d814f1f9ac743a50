/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between sim.c (ranks), step.c (their steps), parcel.c and flags.c (what is under way), and wire.c
 * and both.c (how long that takes).
 */
#ifndef TT_SIM_INSIDE_H
#define TT_SIM_INSIDE_H

#include "sim/queue.h"
#include "sim/sim.h"

enum tt_parcel_kind { TT_PARCEL_SEND, TT_PARCEL_PUT, TT_PARCEL_GET, TT_PARCEL_SIGNAL };

/* A message under way. `from` and `to` are where its bytes go from and to; of a get, `to` started
 * it. */
struct tt_parcel {
    int from, to;
    uint8_t kind, lane, step; /* lane of who started it; step: how far it has come, see wire.c */
    uint32_t value; /* of a signal; else the start's id and instance: its place in the lane */
    int64_t bytes;
    int64_t since; /* when it was posted; once it waits for its receive: when it came */
    struct tt_route route;
    uint32_t next; /* in the receiver's list, or the free list */
};

/* A start that is waited for: when it was or will be complete. */
#define TT_NEVER INT64_MAX

struct tt_sim_lane {
    struct tt_iter iter;
    struct tt_plain step;
    bool has_step, ended, fetched; /* fetched: the operands of this step that were elsewhere */
    int gets;                      /* of them, under way */
    int64_t now, begun;            /* begun: when it came to this step */
    int64_t due; /* of the event that will wake it; TT_NEVER while it waits for something else */
    int64_t *complete; /* TT_IN_FLIGHT for each start: when it is, as far as known */
    void *memory;
};

struct tt_sim_rank {
    struct tt_plan *plan;
    struct tt_sim_lane *lane;
    int phase, lanes_left;
    /* By TT_CAME and TT_POSTED: the lists' ends, 0 where they are empty. */
    uint32_t met[2], met_last[2];
    int64_t send_free, recv_free, sent;
    int64_t copy_free; /* until then it copies to or from another of its node */
    int64_t busy;      /* loggp: until then its processor is engaged with messages */
};

struct tt_sim {
    const struct tt_sim_job *job;
    struct tt_sim_rank *rank;
    struct tt_queue queue;
    struct tt_parcel *parcel; /* place 0 is none */
    uint32_t parcels, parcel_room, free_parcel;
    struct tt_flags *flags;
    int64_t *link_free;
    struct tt_port *port; /* two of each rank; NULL: it sends and receives as if it did one alone */
    struct tt_sim_result result;
    int64_t clock;
    int ended;
    tutti_status status;
};

/* Events: what. */
enum { TT_EVENT_LANE, TT_EVENT_PARCEL, TT_EVENT_PORT };

void tt_sim_at(struct tt_sim *sim, int64_t time, uint32_t what, uint32_t who);
void tt_sim_out_of_memory(struct tt_sim *sim);
void tt_sim_end_lane(struct tt_sim *sim, struct tt_sim_rank *rank, struct tt_sim_lane *l);

/* ---- parcel.c ---- */

/* A parcel's place; 0: no memory. Pointers to parcels are good until the next. */
uint32_t tt_parcel_new(struct tt_sim *sim, const struct tt_parcel *parcel);
void tt_parcel_free(struct tt_sim *sim, uint32_t place);

/* Of a rank: parcels that no receive has met yet, and receives that no parcel has met. */
enum { TT_CAME, TT_POSTED };
void tt_parcels_add(struct tt_sim *sim, struct tt_sim_rank *rank, int which, uint32_t place);
/* Takes out the first from that rank and lane; 0: there is none. */
uint32_t tt_parcels_take(struct tt_sim *sim, struct tt_sim_rank *rank, int which, int from,
                         int lane);

/* ---- wire.c ---- */

tutti_status tt_wire_begin(struct tt_sim *sim);
/* Puts a parcel on its way at sim->clock; when it has left is told by tt_sim_left, when it has come
 * by tt_sim_came. */
void tt_wire_send(struct tt_sim *sim, uint32_t place);
/* Its event: goes on. */
void tt_wire_step(struct tt_sim *sim, uint32_t place);

/* ---- both.c: tt_wire_send where both ways at once are slower, and the event of a port ---- */

bool tt_both_ways(const struct tt_model *model);
bool tt_both_begin(struct tt_sim *sim);
void tt_both_send(struct tt_sim *sim, uint32_t place);
void tt_both_step(struct tt_sim *sim, uint32_t number);

/* ---- step.c ---- */

/* Goes through the steps of a lane until one has to wait. */
void tt_sim_run_lane(struct tt_sim *sim, struct tt_sim_rank *rank, int lane);
void tt_sim_wake(struct tt_sim *sim, struct tt_sim_rank *rank, int lane, int64_t time);
/* A signal that came is seen from sim->clock on. */
void tt_sim_seen(struct tt_sim *sim, uint32_t place);
#define TT_SEEN 255 /* the step of such a signal's parcel */

/* Called by wire.c and both.c: when it has left, when it has come. */
void tt_sim_left(struct tt_sim *sim, uint32_t place, int64_t time);
void tt_sim_came(struct tt_sim *sim, uint32_t place, int64_t time);

/* ---- flags.c: the highest value that a lane has signalled to a rank ---- */

struct tt_flag {
    uint64_t key; /* 0: free */
    uint32_t value;
    uint32_t wanted; /* by a lane of the reader that sleeps: its number + 1, else 0 */
};
/* The flag of `lane` of `writer` as `reader` sees it; made when first asked for. NULL: no
 * memory. */
struct tt_flag *tt_flag(struct tt_sim *sim, int writer, int lane, int reader);
void tt_flags_free(struct tt_sim *sim);

#endif
