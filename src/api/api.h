/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures behind the public handles, and the functions that the files of this folder share.
 */
#ifndef TT_API_H
#define TT_API_H

#include <tutti/message.h>

#include "base/handle.h"
#include "boot/boot.h"
#include "choose/measure.h"
#include "msg/msg.h"
#include "recover/agree.h"
#include "run/remote.h"
#include "topo/cart.h"
#include "topo/net.h"

/* The neighbours that a rank gave to tutti_team_graph: first the sources, then the destinations. */
struct tt_graph {
    int sources, destinations;
    int rank[];
};

/* The object behind a `tutti_team *`. `run` is the part of the team that src/run uses. */
struct tutti_team {
    struct tt_handle head;
    struct tt_team run;
    struct tt_cache cache;
    tutti_client *client;
    /* next: the next team in the client's list; link: the pointer that points to this team */
    tutti_team *next, **link;
    tutti_request *requests; /* requests that are not freed */
    /* the members that had failed at the last agreement, one bit for each member; NULL: there was
     * no agreement */
    uint64_t *gone;
    bool lists;       /* tutti_team_of was called on this team */
    uint64_t shrinks; /* how many teams tutti_team_shrink has made from this team */
    /* cart: the grid of a team from tutti_team_cart; graph: this rank's neighbours in a team from
     * tutti_team_graph; else NULL */
    struct tt_cart *cart;
    struct tt_graph *graph;
};

/* The object behind a `tutti_client *`. */
struct tutti_client {
    struct tt_handle head;
    struct tt_seat seat;
    struct tt_fabric fabric;
    struct tt_net net; /* the network in TUTTI_NETWORK, for the world; empty if that is not set */
    /* true: the seat came from tt_boot_attach, and the client calls tt_boot_detach when it ends;
     * false: threads.c owns the shared memory of the seat */
    bool owns_seat;
    /* all teams, the world last; also freed teams, until this rank has left them */
    tutti_team *teams;
    int freed;         /* how many of the teams the user has freed */
    uint32_t failures; /* the job's count of failures when tutti_advance last looked at all teams */
    tutti_team *world;
    struct tt_msg *msg;
    struct tt_helper *helper[TUTTI_CONTEXTS]; /* the helper thread of each context; NULL: none */
    /* the teams whose members exchange messages between nodes (run/remote.h); NULL: a job of
     * threads */
    struct tt_remote_teams *remote_teams;
    struct tt_agree *agree;
    struct tt_lock *lock; /* for a client that threads share; else NULL */
    int64_t tested_ns;    /* when tutti_test last returned AGAIN (only if ranks share processors) */
};

/* Returns the lock that a call on context `c` takes, or NULL if it takes none. Each context other
 * than context 0 belongs to one thread, even if threads share the client. */
#define TT_CONTEXT_LOCK(c)                                                                         \
    (tt_msg_client(c)->lock && tt_msg_index(c) == 0 ? tt_msg_client(c)->lock : NULL)

/* The object behind a `tutti_request *`: a collective that is started or prepared. */
struct tutti_request {
    struct tt_handle head;
    struct tt_packed *packed; /* for a call that packs its elements (packed.h); else NULL */
    tutti_team *team;
    struct tt_prepared *prepared;
    struct tt_exec *exec;
    struct tt_call call;
    bool under_way; /* started, and not yet completed by tutti_wait, tutti_test or
                     * tutti_request_check */
    /* The signature of a call with a derived type. It belongs to this request alone, although
     * `prepared` may be shared. */
    struct tt_call_signature signature;
    /* next: the next request in the team's list; link: the pointer that points to this request */
    tutti_request *next, **link;
    int64_t *counts; /* the request's own copy of counts and displacements; NULL: it has no copy */
};

/* Makes a client for the rank that has the seat, and meets the other ranks. If `owns`, the client
 * calls tt_boot_detach when it ends. After an error, the rank has left the seat. Errors: those of
 * tutti_init. */
tutti_status tt_client_join(struct tt_seat *seat, bool owns, tutti_client **made);

/* Makes a team of p members, in which this rank is number `me`. Member r is rank job_rank[r] of the
 * job, and blocks[r] is the offset of its block in the segment. Errors: MEMORY. */
tutti_status tt_team_new(tutti_client *client, int p, int me, const int *job_rank,
                         const int64_t *blocks, tutti_team **team);
/* Deletes a team without waiting for other ranks. If `shared`, also frees the shared memory of this
 * rank that other members of the team have mapped. */
void tt_team_delete(tutti_team *team, bool shared);

/* Continues to leave the teams that the user has freed (run/settle.h), and deletes each team that
 * this rank has left. */
void tt_teams_leave(tutti_client *client);

/* Stops the helper threads of the client's contexts. */
void tt_helpers_end(tutti_client *client);

/* Runs the collective `coll`, which has no root, on n integers of 8 bytes, as one step of the
 * public function that `as` names. An allreduce computes the maximum. */
tutti_status tt_team_step(tutti_team *team, enum tt_signature_other as, enum tt_coll coll,
                          const void *in, void *out, int64_t n);

/* Frees a request in any state, even one that is under way. */
void tt_request_delete(tutti_request *request);

/* The arguments of a collective call. */
struct tt_args {
    struct tt_call call;
    const void *in;
    void *out;
    /* A user-defined operation as the user gave it; 0: the operation is built-in. tt_args_check
     * copies a user-defined operation from call.op to this member. If tutti_op_bind made this
     * operation from another one and an argument, tt_args_check stores the other one in call.op. So
     * all operations that were made from one operation share its plans. */
    tutti_op op;
    /* The arguments of a gatherv or scatterv as the user gave them: `n` is this rank's count;
     * `counts` and `displs` are those of all ranks, and valid at the root only. In a
     * neighbor_allgather(v) or neighbor_alltoall, `n` is the number of elements that this rank
     * sends to each neighbour. */
    int64_t n;
    const int64_t *counts, *displs;
    /* false: the call is nonblocking, so the ranks must not exchange counts before it starts */
    bool may_wait;
    /* an alltoall(v, w) in place: `in` is `out`, so elements are packed even if their type is
     * basic */
    bool exchanges_in_place;
    /* typed: the call is an alltoallw, which runs as an alltoallv of the type TT_TYPE_EACH with
     * displacements in bytes. in_types[r] is the type of the elements that this rank sends to rank
     * r, and out_types[r] that of the elements from rank r. one_type: the type that all these
     * entries have; TT_TYPE_EACH: they may differ. */
    bool typed;
    const tutti_type *in_types, *out_types;
    tutti_type one_type;
    /* For a neighbourhood collective, which is like an alltoallw with any number of pieces for each
     * rank: in_n pieces, of which piece i goes to rank in_ranks[i], and out_n pieces, of which
     * piece i comes from rank out_ranks[i]. NULL: any other call, in which piece r goes to or comes
     * from rank r. If a rank sends several pieces to another rank, the k-th of them in the sender's
     * list matches the k-th piece from the sender in the receiver's list. If `crossed` (in a grid),
     * entries 2i and 2i + 1 of the receiver's list are exchanged before lists are compared. */
    const int *in_ranks, *out_ranks;
    int in_n, out_n;
    bool crossed;
    /* In a gatherv or scatterv, tt_args_check makes the lists of counts and displacements in `call`
     * from `n`, `counts` and `displs`. This is the memory of these lists; NULL: it has made none.
     * The caller of tt_args_check frees this memory with tt_free when no call uses it any more,
     * also if the check failed. */
    int64_t *lists;
};

/* Checks all arguments except the buffers, and completes args->call. Errors: ARG, TYPE, MEMORY. */
tutti_status tt_args_check(const tutti_team *team, struct tt_args *args);
/* Sets *in and *out to the ranges, in bytes from the start of each buffer, in which the pieces of a
 * checked call lie. *in is empty for a call in place. Both ranges are empty for a collective
 * without pieces, such as reduce_scatter. */
void tt_args_stretch(const tutti_team *team, const struct tt_call *call, struct tt_stretch *in,
                     struct tt_stretch *out);
/* Makes the plan of an alltoallv, gatherv or scatterv by an algorithm that needs more than this
 * rank's counts (tt_algorithm.first). The ranks first exchange the counts that the algorithm needs.
 * The caller ends its use of the plan with tt_prepared_drop. The team breaks if a rank sends a
 * piece that differs from what its receiver expects. Errors: UNSUPPORTED (the call must not wait
 * for other ranks), MISMATCH, MEMORY, and those of tt_collective_run. */
tutti_status tt_counts_prepare(tutti_team *team, const struct tt_args *args,
                               const struct tt_as_given *given,
                               const struct tt_algorithm *algorithm, struct tt_prepared **prepared);
/* Makes the plan of a checked call with counts, or takes the plan of an earlier call that was given
 * the same arguments (`given`; choose/cache.h). The caller ends its use of the plan with
 * tt_prepared_drop. Errors: those of tt_prepare. */
tutti_status tt_prepare_given(tutti_team *team, const struct tt_call *call,
                              const struct tt_as_given *given, struct tt_prepared **prepared);
/* Checks that the buffers lie in memory that the other ranks map, except for buffers that this rank
 * ignores. The call need not be checked before, but call.in_place must be set. Errors: ARG. */
tutti_status tt_args_shared(const tutti_team *team, const struct tt_args *args);
/* Returns the name of the call's output buffer (`out` in struct tt_args), for error messages. */
static inline const char *tt_args_out(const struct tt_args *args)
{
    return args->call.coll == TT_COLL_bcast ? "buffer" : "out";
}

/* The three forms of a collective: blocking, nonblocking, persistent. */
tutti_status tt_collective_run(tutti_team *team, struct tt_args *args);
tutti_status tt_collective_start(tutti_team *team, struct tt_args *args, tutti_request **request);
tutti_status tt_collective_init(tutti_team *team, struct tt_args *args, unsigned flags,
                                tutti_request **request);

#endif
