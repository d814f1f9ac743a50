/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands behind the public handles.
 */
#ifndef TT_API_H
#define TT_API_H

#include <tutti/message.h>

#include "base/handle.h"
#include "boot/boot.h"
#include "choose/cache.h"
#include "msg/msg.h"
#include "run/agree.h"
#include "run/far.h"
#include "topo/net.h"

struct tutti_team {
    struct tt_handle head;
    struct tt_team run;
    struct tt_cache cache;
    tutti_client *client;
    tutti_team *next;
    tutti_plan *plans; /* those not freed */
    uint64_t
        *gone; /* members that failed, as last agreed, one bit each; NULL: nothing was agreed */
    uint64_t shrinks; /* that gave a team */
};

struct tutti_client {
    struct tt_handle head;
    struct tt_seat seat;
    struct tt_fabric fabric;
    struct tt_net net; /* TUTTI_NETWORK, of the world; empty without */
    bool owns_seat;    /* it came from boot; else the segment is that of tutti_threads */
    tutti_team *teams; /* the world is the last */
    tutti_team *world;
    struct tt_msg *msg;
    struct tt_helper *helper[TUTTI_CONTEXTS]; /* of each context; NULL: none */
    struct tt_far *far;                       /* NULL: the job is on one node */
    struct tt_agree *agree;
};

struct tutti_plan {
    struct tt_handle head;
    struct tt_packed *packed; /* of a derived type; else NULL */
    tutti_team *team;
    struct tt_prepared *prepared;
    struct tt_exec *exec;
    struct tt_call call;
    bool under_way; /* started, and its owner has not completed it: by tutti_wait or tutti_test */
    struct tt_what what;      /* of a derived type, which others with the same plan need not use */
    tutti_plan *next, **link; /* in the team's list; what points to this one */
    int64_t *counts;          /* its own; NULL: none */
};

/* A team of members job_rank[p], whose blocks are at `blocks`. */
tutti_status tt_team_new(tutti_client *client, int p, int me, const int *job_rank,
                         const int64_t *blocks, tutti_team **team);
/* shared: see tt_team_release. */
void tt_team_delete(tutti_team *team, bool shared);

/* Stops those that run. */
void tt_helpers_end(tutti_client *client);

/* Whatever state it is in. */
void tt_plan_delete(tutti_plan *plan);

/* A collective as it was asked for. */
struct tt_request {
    struct tt_call call;
    const void *in;
    void *out;
};

/* Checks all but the buffers, and sets what follows from it. Errors: ARG, TYPE. */
tutti_status tt_request_check(const tutti_team *team, struct tt_request *rq);
/* Both buffers lie where the other ranks map them. Errors: ARG. */
tutti_status tt_request_shared(const tutti_team *team, const struct tt_request *rq);
/* Returns the name of the call's last buffer, for error messages. */
static inline const char *tt_request_out(const struct tt_request *rq)
{
    return rq->call.coll == TT_COLL_bcast ? "buffer" : "out";
}

/* The three forms. */
tutti_status tt_request_run(tutti_team *team, struct tt_request *rq);
tutti_status tt_request_start(tutti_team *team, struct tt_request *rq, tutti_plan **plan);
tutti_status tt_request_plan(tutti_team *team, struct tt_request *rq, unsigned flags,
                             tutti_plan **plan);

#endif
