/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans run on paper: by discrete events, in whole picoseconds. The same steps that are proven and
 * run are read through the same iterator; only what a message costs is a model.
 *
 *     simple    the textbook's: a message of m bytes takes t_s + t_w m from post to end, at a rank
 *               one is sent and one received at a time; the way does not matter. Where bytes move
 *               out of and into a rank at once, each takes t_w' there (tw_both; t_w to 2 t_w), so
 *               its messages are sent and received at changing rates
 *     loggp     Alexandrov et al. 1995: overhead o of the processor for each message at each end
 *               (not of who is read by a get or written by a put), gap g between messages and G for
 *               each byte of them at each end, latency L between
 *     links     t_s, then link by link over the network's routes: a link carries one message at a
 *               time in each direction, t_w m for each; cut-through (the head goes on after t_h) or
 *               store-and-forward (the whole must have come)
 *
 * Where ranks share nodes (tt_sim_job.node), a message within one touches no network under any
 * model: it is copied by the rank that sends, puts or reads, in near_tw m, one at a time there, and
 * near_ts later it is seen.
 *
 * A signal is a message of 8 bytes; a put goes from who puts, a get from who is read to who reads,
 * and so does an operand or source X@r. A send is complete when its last byte has left, a receive
 * when it has come and was posted. Copying costs t_r, reducing gamma for each byte and operand but
 * the first. Waiting costs nothing. Where the network's adapters reduce (tt_net.reduces) gamma is
 * not counted. What happens at the same picosecond happens in the order in which it was found out,
 * so results never differ.
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

/* Times in picoseconds, of a message or of a byte. */
struct tt_model {
    enum tt_model_kind kind;
    int64_t ts_ps, tw_ps, tr_ps, gamma_ps; /* t_s; t_w, t_r, gamma: of a byte */
    int64_t tw_both_ps;                    /* simple, one port: t_w'; t_w where it is less */
    int64_t hop_ps;                        /* links: t_h */
    int64_t o_ps, g_ps, big_g_ps, l_ps;    /* loggp: o, g, L of a message; G of a byte */
    int64_t near_ts_ps, near_tw_ps;        /* within a node: t_s and t_w */
    bool stores;                           /* links: store-and-forward */
    bool node_ports; /* simple, loggp: the ranks of a node share the port to the network */
    bool all_ports;  /* links, simple: any number are sent and received at once */
};

/* Something that happened: a step of a lane, from when the lane came to it until it went on; or a
 * message, from its post until it has come. */
struct tt_sim_deed {
    enum tt_kind kind; /* of a message: TT_SEND, TT_PUT, TT_GET or TT_SIGNAL */
    int rank, lane;    /* of a message: where its bytes come from; the lane of who started it */
    int peer;          /* of a message: where they go; of a step: -1 if it has none */
    int64_t begin_ps, end_ps, bytes;
};

struct tt_sim_job {
    const struct tt_model *model;
    const struct tt_net *net; /* of `links`: rank r sits at its r-th member */
    const int *node;          /* of each rank; NULL: they share none */
    int p, phases;
    struct tt_plan *(*plan)(void *arg, int rank, int phase); /* NULL: see tutti_error */
    void *arg;
    /* Now and then: how many ranks have ended, of p; and messages so far. May be NULL. */
    void (*progress)(void *arg, int ended, int64_t messages);
    /* Each step when the lane has gone on, each message when it has come (as far as the wire knows:
     * its end may lie a little ahead). May be NULL. */
    void (*step)(void *arg, const struct tt_sim_deed *deed);
    void (*message)(void *arg, const struct tt_sim_deed *deed);
};

struct tt_sim_result {
    int64_t time_ps;  /* when the last rank has ended */
    int64_t messages; /* signals, puts and gets among them */
    int64_t steps;    /* the most messages that a rank sends, without signals */
    int64_t bytes;    /* sent, without those of signals */
    int64_t links;    /* of the network; 0 without */
    int64_t max_link_bytes, total_link_bytes;
    int64_t *link_bytes; /* of each link, by its number (tt_hop.link); NULL without a network */
    int64_t link_room;   /* how many numbers there are */
};

/* The longest time that can be reckoned with, in picoseconds. Nothing may take as long by
 * itself. */
#define TT_SIM_LONGEST (INT64_MAX / 2)

/* Runs all to the end. Errors: LIMIT: beyond TT_SIM_LONGEST, or bytes on the links beyond 63 bits;
 * ARG: a plan that stops for ever, or with a step that is none (tutti_error says which rank waits
 * for what); MEMORY; and what `plan` fails with. The result is freed by tt_sim_free. */
tutti_status tt_sim(const struct tt_sim_job *job, struct tt_sim_result *result);
void tt_sim_free(struct tt_sim_result *result);

#endif
