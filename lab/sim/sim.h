/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates plans by discrete events, in whole picoseconds. The simulator gets the steps of a plan
 * by the same iterator as the prover and the library. How long a message takes depends on a model:
 *
 *     simple    as in textbooks: a message of m bytes takes a start-up time t_s, and a time t_w for
 *               each byte: t_s + t_w m from post to end; a rank sends one message and receives one
 *               at a time; distance does not matter. Where a rank sends and receives at once, each
 *               byte takes t_w' instead (tw_both; between t_w and 2 t_w), so the rate of a message
 *               changes while it is under way
 *     loggp     Alexandrov et al. 1995: overhead o of the processor for each message at each end
 *               (but not at the passive side of a get or put), gap g between messages and G for
 *               each byte of them at each end, latency L between the ends
 *     links     t_s, then link by link along the network's routes: a link carries one message at a
 *               time in each direction, and each message takes t_w m on it; with cut-through the
 *               head goes on to the next link after t_h, with store-and-forward when the whole
 *               message has come
 *
 * Where ranks share nodes (tt_sim_job.node), a message within a node touches no network under any
 * model. The rank that sends, puts or reads copies it in near_tw m, one message at a time, and the
 * message is seen near_ts later.
 *
 * A signal is a message of 8 bytes. A put is a message from the rank that puts. A get is a message
 * from the rank that is read to the rank that reads, and so is an operand or source X@r (buffer X
 * of another rank r). A send is complete when its last byte has left; a receive is complete when it
 * is posted and its message has come. Copying costs t_r for each byte. Reducing costs gamma for
 * each byte of each operand, except for the first operand. Reducing costs nothing where the
 * network's adapters reduce (tt_net.reduces). Waiting costs nothing.
 *
 * Events of the same picosecond happen in the order in which they were scheduled, so results are
 * reproducible.
 */
#ifndef TT_SIM_SIM_H
#define TT_SIM_SIM_H

#include "plan/plan.h"
#include "topo/net.h"

#define TT_MODEL_LIST(X) X(simple) X(loggp) X(links)
enum tt_model_kind {
#define TT_MODEL_ENUM(name) TT_MODEL_##name,
    TT_MODEL_LIST(TT_MODEL_ENUM)
#undef TT_MODEL_ENUM
        TT_MODELS
};

/* The times of a model in picoseconds, each for a message or for a byte. */
struct tt_model {
    enum tt_model_kind kind;
    int64_t ts_ps, tw_ps, tr_ps, gamma_ps; /* t_s of a message; t_w, t_r, gamma of a byte */
    /* model simple with one port: t_w'; a value below t_w stands for t_w */
    int64_t tw_both_ps;
    int64_t hop_ps;                     /* links: t_h, the time of the head for a link */
    int64_t o_ps, g_ps, big_g_ps, l_ps; /* loggp: o, g, L of a message; G of a byte */
    int64_t near_ts_ps, near_tw_ps;     /* within a node: t_s of a message, t_w of a byte */
    bool stores;                        /* links: store-and-forward instead of cut-through */
    bool node_ports; /* simple, loggp: the ranks of a node share one port to the network */
    bool all_ports;  /* simple, links: a rank sends and receives any number of messages at once */
};

/* A trace event: a step of a lane, from the time at which the lane came to the step until the lane
 * went on; or a message, from its post until it has come. */
struct tt_sim_event {
    /* the kind of the step; for a message, TT_SEND, TT_PUT, TT_GET or TT_SIGNAL */
    enum tt_kind kind;
    /* for a message, the rank from which its bytes come, and the lane that started it */
    int rank, lane;
    /* for a message, the rank to which its bytes go; for a step, -1 if it has no peer */
    int peer;
    int64_t begin_ps, end_ps, bytes;
};

struct tt_sim_job {
    const struct tt_model *model;
    /* the network for the model `links`. Nodes may be missing in it (topo/net.h): rank r is the
     * r-th of the nodes that it has, counted from 0 */
    const struct tt_net *net;
    const int *node; /* for each rank: its node; NULL if each rank is on a node of its own */
    int p, phases;
    /* Returns the plan for one phase of the rank; NULL on an error. The phases are consecutive
     * parts of the algorithm's plan (coll.h). The simulator frees the plan. */
    struct tt_plan *(*plan)(void *arg, int rank, int phase);
    /* Writes to `text` the place in a file from which step number `step` (in plan->steps) of the
     * rank's plan comes, such as "FILE:7:3"; "" if it is not known. Returns text. NULL: the plans
     * come from no file. Error messages show the place. */
    char *(*place)(void *arg, int rank, uint32_t step, char *text, size_t size);
    void *arg;
    /* Called from time to time with the number of ranks that have ended and the number of messages
     * so far. May be NULL. */
    void (*progress)(void *arg, int ended, int64_t messages);
    /* Called for each step when its lane goes on, and for each message when its end is known, which
     * may be a little before this end. May be NULL. */
    void (*step)(void *arg, const struct tt_sim_event *event);
    void (*message)(void *arg, const struct tt_sim_event *event);
};

struct tt_sim_result {
    int64_t time_ps;  /* the time at which the last rank ends */
    int64_t messages; /* number of messages, including signals, puts and gets */
    int64_t steps;    /* the largest number of messages that a rank sends, signals not counted */
    int64_t bytes;    /* bytes sent, without those of signals */
    int64_t links;    /* the number of links of the network; 0 without a network */
    int64_t max_link_bytes, total_link_bytes;
    /* for each link (index: tt_hop.link): the bytes that it carried; NULL without a network */
    int64_t *link_bytes;
    int64_t link_room; /* number of entries of link_bytes */
};

/* The longest time that can be simulated, in picoseconds. A single step or message may not take
 * longer than this, either. */
#define TT_SIM_LONGEST (INT64_MAX / 2)

/* Simulates all phases of all ranks (job->phases) to the end. Returns TUTTI_OK, and then
 * tt_sim_free frees the result. Errors: TUTTI_ERR_LIMIT if the time exceeds TT_SIM_LONGEST or a sum
 * of bytes does not fit in 63 bits; ERR_ARG if ranks wait for ever, a plan does not wait for one of
 * its transfers, or it has an unknown step (tutti_error() names the rank and the step); ERR_MEMORY,
 * also when job->plan returns NULL. */
tutti_status tt_sim(const struct tt_sim_job *job, struct tt_sim_result *result);
void tt_sim_free(struct tt_sim_result *result);

#endif
