/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a prediction. predict.c decides which rank does what and when, predict-message.c
 * which message a rank takes, predict-step.c how long a step takes, predict-wire.c how long
 * messages to other nodes take, and predict-repeat.c which turns of loops are skipped.
 */
#ifndef TT_PREDICT_INSIDE_H
#define TT_PREDICT_INSIDE_H

#include "choose/spent.h"
#include "coll/coll.h"

#define TT_PREDICT_NEVER INT64_MAX
#define TT_PREDICT_LATEST (INT64_MAX / 2) /* no clock goes on beyond this time */

/* The times at which a lane raised its flag, in the order of the values. value: call << 32 | flag
 * value, where the first call is 0. */
struct tt_flag_log {
    struct tt_raise {
        uint64_t value;
        int64_t time_ps;
    } * raise;
    int n, room;
};

/* tt_sent is a message from one rank to another. tt_follow_channel is the queue of messages from a
 * lane of one rank to the same lane of another rank; its i-th message is for the i-th receive. */
struct tt_sent {
    /* at_ps: when the receiver can see it; taken_ps: when the receiver took it; TT_PREDICT_NEVER:
     * not yet. Before the receiver has taken a message from another node, taken_ps is the time at
     * which the sender began to send it. */
    int64_t len, at_ps, taken_ps;
    bool rendezvous;
    bool early; /* the receiver found the message before posting a receive, and put it aside */
};
struct tt_follow_channel {
    struct tt_sent *sent;
    int n, room, posted; /* n: messages sent; posted: receives posted */
    int read;            /* how many entries from the start of `sent` were taken or put aside */
};

/* A receive that was posted. */
struct tt_posted {
    struct tt_follow_channel *channel;
    int index, from;
    struct tt_range to;
    int64_t len;
    bool taken;
};

/* A started send or receive that a wait step may wait for. */
struct tt_under_way {
    struct tt_follow_channel *channel; /* NULL: the send or receive is complete */
    /* index: the number of its message in the channel; posted: for a receive, its number in the
     * rank's list `posted`; else -1 */
    int index, posted;
};

struct tt_follow_lane {
    struct tt_iter iter;
    struct tt_plain step;
    /* for each step of the lane that starts sends or receives: the last TT_IN_FLIGHT sends or
     * receives that the step has started */
    struct tt_under_way *started;
    void *memory;
    bool has_step, ended;
};

/* The state of a rank: the step at which each lane is, and what the rank waits for. */
struct tt_follow {
    struct tt_call own; /* the call of this rank, whose counts may be known to it alone */
    struct tt_plan *plan;
    int64_t bytes[TT_BUFFERS]; /* the bytes of each of its buffers; 0 for its window */
    struct tt_follow_lane *lane;
    struct tt_posted *posted;
    int posted_n, posted_room, posted_taken; /* posted_taken: how many receives at the beginning of
                                              * the list `posted` have got their messages */
    int me, core, call;
    /* done: the steps that it has done in all calls; counted: the steps of a call, counted only if
     * the prediction has limits */
    int64_t done, counted;
    bool in_call, over;
    int64_t ready_ps; /* when the rank may be able to go on; TT_PREDICT_NEVER: only after another
                       * rank has done something */
    int64_t since_ps; /* since when the rank waits; -1: it does not wait */
    uint64_t awaits;  /* the ranks (1 << rank) whose flags its lanes wait for */
    /* for each buffer: the smallest range of bytes that holds all that this call has touched */
    struct tt_touched {
        int64_t first, end;
    } touched[TT_BUFFERS];
    int64_t spent[TT_SPENT_N], (*spent_by)[TT_SPENT_N]; /* the time spent until now, and until the
                                                         * end of each call */
    int64_t *ended_ps;                                  /* for each call: when the rank ended it;
                                                         * TT_PREDICT_NEVER: not yet */
};

/* A processor, whose n ranks take turns: the ranks on[first], on[first + 1] and so on (struct
 * tt_predictor). The processors `host` up to `host_end` - 1 belong to the same machine. */
struct tt_core {
    int64_t now_ps;
    int64_t worked_ps; /* for how long its ranks have done anything but wait */
    int64_t alone_ps;  /* what worked_ps would be if no other processor moved bytes */
    int64_t late_ps;   /* how much later than by a cache line its ranks see what others did */
    int first, n, at;  /* at: which of the n ranks runs, counted from 0 */
    int host, host_end;
};

/* The flags of a lane that a rank on another node has sent to this rank, with the times at which
 * this rank can take them, in the order of their values. `taken`: how many of them it has
 * taken. */
struct tt_wire_flag {
    struct tt_flag_log log;
    int taken;
};

enum { TT_LAST_SENT = 4 };
/* The state of all ranks when the leader began an earlier turn of its loop. The leader is the rank
 * whose turns are compared (struct tt_predictor). If a later state equals this one except for a
 * shift in time, turns and flag values, the predictor skips the turns that repeat
 * (predict-repeat.c). */
struct tt_saved {
    int64_t now_ps, steps;
    uint32_t turns;
    uint64_t waiters[2];
    uint64_t *asked;
    struct tt_core core[TT_PREDICT_RANKS];
    int64_t busy_until_ps[TT_PREDICT_RANKS];
    struct tt_follow *rank;
    struct tt_saved_lane {
        struct tt_follow_lane lane;
        int raised; /* how many times the lane's flag was raised */
    } * lane;       /* one for each lane of each rank, at the place of its flag in tt_predictor */
    struct tt_saved_channel {
        int n, posted, read;
        struct tt_sent last[TT_LAST_SENT]; /* the last message of the channel comes first */
    } * channel;                           /* one for each pair of ranks and lane; NULL: there was
                                            * no message yet */
};

struct tt_predictor {
    const struct tt_machine *machine;
    const struct tt_map *map;
    const struct tt_call *call; /* if is_own is true: one call for each rank; otherwise a single
                                 * call, the same on all ranks */
    struct tt_follow *rank;
    struct tt_core *core;
    struct tt_flag_log *flag;          /* one for each lane of each rank */
    struct tt_follow_channel *channel; /* one for each pair of ranks and lane; NULL: no plan has
                                        * messages */
    /* the longest time until a rank of this node sees what another one has done (tt_line_near) */
    int64_t line_most_ps;
    int p, cores, lanes, calls, slots;
    int host_cores; /* how many processors each machine has, counting also those without ranks */
    uint8_t core_of[TT_PREDICT_RANKS];
    struct tt_follow *on[TT_PREDICT_RANKS]; /* the ranks, ordered by their processors */
    int ended;                              /* how many calls all ranks have ended */
    int64_t steps, skipped, eager_most;     /* skipped: how many of the steps were skipped */
    /* Sets of ranks (1 << rank). waiters[0]: the ranks that wait until all ranks have ended an
     * earlier call. waiters[1]: those that wait for a message. waiters[2 + r]: those that wait for
     * a flag of rank r. */
    uint64_t waiters[TT_PREDICT_RANKS + 2];
    /* for each processor: when one of its ranks may be able to go on; TT_PREDICT_NEVER: not before
     * another processor has done something. tt_follow_ready sets these times. */
    int64_t ready_ps[TT_PREDICT_RANKS];
    int64_t busy_until_ps[TT_PREDICT_RANKS]; /* for each processor: until when it copies, reduces or
                                              * reads */
    struct tt_last_time {
        int64_t len, time_ps;
    } last[TT_MACHINE_TABLES_N]; /* for each table: the length for which it was last used, and the
                                  * time that it gave */
    /* For predict-repeat.c. leader: the rank whose turns are looked at (NULL: no turns are
     * skipped); leads: its first lane that was in a loop when it last began a turn. outer, inner:
     * the turns of the outer and inner loop of this lane. turns: how many turns it has begun since
     * it entered the loop, or since turns were last skipped. asked: for each pair of ranks and
     * lane, the last flag value that this lane of the first rank awaited from the same lane of
     * the second. */
    struct tt_follow *leader;
    const struct tt_follow_lane *leads;
    uint32_t outer, inner, turns;
    uint64_t *asked;
    struct tt_saved saved;
    uint8_t winner[2 * TT_PREDICT_RANKS];
    int places;
    int64_t most_ps, some_steps, most_steps; /* the limits of the prediction (tt_limits) */
    int64_t least_ps;                        /* no call takes less; 0: not known */
    int64_t guess_ps; /* the time of a call, guessed before two calls have ended; 0: not guessed */
    int64_t look_at;  /* after this many steps, the time is next compared with most_ps */
    bool more;        /* the time is above most_ps */
    /* For ranks on several nodes (predict-wire.c). hosts: the node of each rank; NULL: all ranks
     * are on one node. signal_ps: the time of a message without data. link_ps: the time in which a
     * link moves LINK_BYTES bytes; 0: the link does not limit messages. out_free_ps, in_free_ps:
     * from when on the link of a node is free for messages out of the node and into it;
     * out_busy_ps, in_busy_ps: how long the link moves all messages so far; the index is the first
     * rank of the node. wire_until_ps: when the last of these messages, signals and
     * acknowledgements arrives. */
    const int *hosts;
    int64_t signal_ps, link_ps, wire_eager;
    int64_t out_free_ps[TT_PREDICT_RANKS], in_free_ps[TT_PREDICT_RANKS];
    int64_t out_busy_ps[TT_PREDICT_RANKS], in_busy_ps[TT_PREDICT_RANKS];
    int64_t wire_until_ps;
    struct tt_wire_flag *wire_flag; /* one for each pair of ranks and lane; NULL: no signal went to
                                     * another node yet */
    bool is_own;
    bool loads;        /* buffers of other ranks are read by plain loads */
    bool streams;      /* ranks fill windows by stores that bypass the caches */
    bool rings_stream; /* ranks fill the rings of messages by stores that bypass the caches */
    tutti_status status;
};

static inline struct tt_core *tt_core_of(const struct tt_predictor *s, const struct tt_follow *r)
{
    return &s->core[r->core];
}

/* Returns whether two ranks are on different nodes. */
static inline bool tt_is_apart(const struct tt_predictor *s, int a, int b)
{
    return tt_unlikely(s->hosts != NULL) && s->hosts[a] != s->hosts[b];
}

static inline struct tt_under_way *tt_under_way_of(struct tt_follow_lane *lane,
                                                   const struct tt_plain *step)
{
    return &lane->started[step->value * TT_IN_FLIGHT + step->instance % TT_IN_FLIGHT];
}

static inline int64_t tt_machine_number(const struct tt_predictor *s, enum tt_machine_number which)
{
    return s->machine->number[which];
}

/* Makes room for one more element after the first n of *array. If there is no memory, sets
 * s->status and returns false. */
static inline bool tt_predict_room(struct tt_predictor *s, void **array, int n, int *room,
                                   size_t size)
{
    if (n < *room) return true;
    int more = (int)tt_max(16, 2 * (int64_t)*room);
    void *grown = tt_realloc(*array, (size_t)more * size);
    if (!grown) s->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a prediction");
    if (!grown) return false;
    *array = grown;
    *room = more;
    return true;
}

/* Adds a time to the rank's processor and to what the rank spent. Gives the prediction up if the
 * time is TT_MACHINE_LONGEST or longer, or if the processor's clock is beyond TT_PREDICT_LATEST. So
 * no time overflows: a clock moves on by less than INT64_MAX - TT_PREDICT_LATEST. */
static inline void tt_spend(struct tt_predictor *s, struct tt_follow *r, enum tt_spent what,
                            int64_t ps)
{
    int64_t now = tt_core_of(s, r)->now_ps;
    if (tt_unlikely(ps >= TT_MACHINE_LONGEST || now > TT_PREDICT_LATEST))
        s->status = tt_fail(TUTTI_ERR_UNSUPPORTED, "it takes too long to predict its time");
    tt_core_of(s, r)->now_ps += ps;
    tt_core_of(s, r)->worked_ps += ps;
    tt_core_of(s, r)->alone_ps += ps;
    r->spent[what] += ps;
}

/* ---- predict-message.c: each function returns false if its step cannot be done yet ---- */

bool tt_message_send(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step);
bool tt_message_recv(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step);
bool tt_message_wait(struct tt_predictor *s, struct tt_follow *r, int lane,
                     const struct tt_plain *step);
/* Lets rank r, which waits, take one message for which it has posted a receive, even if the rank
 * does not wait for a message now. Returns false if no such message has arrived. */
bool tt_message_take_any(struct tt_predictor *s, struct tt_follow *r);

/* ---- predict-wire.c ---- */

/* Places the ranks on processors. If they are on several nodes, also sets the members of *s that
 * say what messages between nodes cost. */
void tt_wire_place(struct tt_predictor *s);
void tt_wire_close(struct tt_predictor *s);
/* Returns the index of what belongs to this lane of a pair of ranks. */
static inline int tt_pair_lane(const struct tt_predictor *s, int one, int other, int lane)
{
    return (one * s->p + other) * s->lanes + lane;
}

/* Returns the time at which the receiver can take a message to another node whose transfer begins
 * at `begin`. */
int64_t tt_wire_arrives(struct tt_predictor *s, int from, int to, int64_t len, int64_t begin);
/* Returns the longest time, over all links and both directions, for which a link moves the messages
 * of a call. */
int64_t tt_wire_for_call(const struct tt_predictor *s);
/* Returns the time from when the receiver can take a long message until its sender gets the
 * acknowledgement. */
int64_t tt_wire_acknowledged(const struct tt_predictor *s, int64_t len);
/* Sends the signal to its receivers on other nodes. Returns false after an error. */
bool tt_wire_signal(struct tt_predictor *s, struct tt_follow *r, int lane,
                    const struct tt_plain *step);
/* Returns the record of the flags that rank `from` has sent from this lane to rank `to` on another
 * node; NULL after an error. */
struct tt_wire_flag *tt_wire_flag(struct tt_predictor *s, int from, int to, int lane);
/* Takes all signals in `flag` that have arrived, and adds the time that this takes to the rank. */
void tt_wire_take_signals(struct tt_predictor *s, struct tt_follow *r, struct tt_wire_flag *flag);
/* Returns whether the step accesses memory of its own node only. If not, records the error
 * UNSUPPORTED in s->status. */
bool tt_wire_reaches(struct tt_predictor *s, const struct tt_follow *r,
                     const struct tt_plain *step);

/* ---- predict-repeat.c ---- */

/* Skips turns of loops, if the ranks repeat what they did. It is called after the leader has done a
 * step at the time `now_ps`. Returns true if turns have been skipped, so that all clocks have
 * changed. It skips so few steps that s->steps is at most most_steps. */
bool tt_repeat_skip(struct tt_predictor *s, int64_t now_ps, int64_t most_steps);

/* ---- predict-step.c: each function adds the time of a step, or of a part of a step, to the rank's
 * processor and to what the rank spent ---- */

void tt_step_moves(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step);
/* Takes a message that has arrived: copies it out of the ring, or reads it where it lies. */
void tt_step_takes(struct tt_predictor *s, struct tt_follow *r, const struct tt_posted *posted,
                   const struct tt_sent *sent);
/* Copies a message out of the ring and puts it aside, because no receive has been posted for it. */
void tt_step_keeps(struct tt_predictor *s, struct tt_follow *r, int from,
                   const struct tt_sent *sent);
/* Copies a short message into the ring. */
void tt_step_sends(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step);
/* tt_step_sends_apart sends a message to another node, and tt_step_takes_apart takes a message from
 * another node. */
void tt_step_sends_apart(struct tt_predictor *s, struct tt_follow *r, const struct tt_plain *step);
void tt_step_takes_apart(struct tt_predictor *s, struct tt_follow *r,
                         const struct tt_posted *posted);

#endif
