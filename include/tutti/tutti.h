/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: collective communication between processes and threads.
 *
 * A program is started as several ranks (`tutti run -n 8 ./app`), each calls tutti_init, and from
 * then on the ranks of a team call the same collectives in the same order:
 *
 *     tutti_client *client;
 *     tutti_init(&client);
 *     tutti_team *world = tutti_world(client);
 *     double mine = tutti_rank(world), sum;
 *     tutti_allreduce(world, &mine, &sum, 1, TUTTI_F64, TUTTI_SUM);
 *     tutti_finalize(client);
 *
 * Started without a launcher, the same program is a job of one rank.
 *
 * Every function says below what it does, the shapes and units of its arguments, its errors, who
 * owns what and until when, which thread may call it, whether all ranks must (collective) or one
 * may (local), and whether it blocks. Where nothing is said: counts are elements, displacements
 * are elements, sizes are bytes; a function sets its output arguments only on TUTTI_OK; the library
 * keeps no pointer it was given after it returns.
 *
 * What calls return is in status.h, types and operations are in type.h; messages, for who wants
 * them, in message.h.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <stddef.h>
#include <stdint.h>

#include <tutti/status.h>
#include <tutti/type.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
#define TUTTI_VERSION "0.1.0"

/* The version of the library that runs, as TUTTI_VERSION is that of the header. Local, any
 * thread, does not block; the text is static. */
TUTTI_API const char *tutti_version(void);

/* ---- Clients ------------------------------------------------------------------------------- */

typedef struct tutti_client tutti_client; /* one independent user of the library in a process */
typedef struct tutti_context
    tutti_context; /* a unit of progress, advanced by one thread at a time */
typedef struct tutti_endpoint tutti_endpoint; /* (client, rank, context): where messages go */
typedef struct tutti_team tutti_team;         /* ranks that call collectives together */
typedef struct tutti_plan tutti_plan;         /* a collective prepared for given buffers */

/* Joins the job that the environment names (as `tutti run` sets it: TUTTI_RANK, TUTTI_SIZE,
 * TUTTI_JOB), or a job of one rank if it names none. Collective over the job, blocks until all
 * ranks have come. The client belongs to the caller until tutti_finalize.
 *
 * A process may hold several clients, made by several calls: the k-th call of every rank makes
 * client k of the job. Each has a world, teams, contexts, dispatch ids and memory of its own, and
 * different clients may be used by different threads at the same time; what fails one (calls that
 * do not match, a rank that leaves it while it is needed) leaves the others working, but a rank
 * whose process dies is dead in all. They are finalized in any order, and more may be made after
 * that, also when none is left. In a job of one that nobody launched each is a job of its own, also
 * inside tutti_threads.
 *
 * Calls of several threads are numbered as they come, so threads that make clients at once must
 * agree among themselves that they do it in the same order on every rank. Where one rank calls it
 * and another never does, the call returns when that other one ends (PEER). Errors: ARG (client is
 * NULL; or this process is a child of the one that joined), BOOT, VERSION, MEMORY, LIMIT (of the
 * job 16 clients exist that some rank has not finalized: then on all ranks), SYSTEM, PEER (a rank
 * died before it came, or could not make its client), MISMATCH (a variable that must be the same on
 * all ranks is not). Any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_init(tutti_client **client);

/* Leaves the client and frees it with all its teams, plans, contexts and memory; with the last one
 * the process leaves the job (a launcher that speaks PMIx is told when it ends, by exit or
 * returning from main). Helper threads of its contexts are stopped first. Calls still in flight
 * make it fail the team for the other ranks. Work that was posted to a context and has not been
 * done is dropped. Waits for those that go on and have not taken the messages that were sent to
 * them (tutti/message.h, Leaving).
 *
 * This is where calls that do not match are told at the latest. Where the last call on a team is
 * one in which this rank need not wait for all members (of a bcast, reduce, gather, an
 * alltoallv, or one with n = 0), it waits now until they have made as many calls as it has
 * itself, or have failed, or left, or none of them got on for five seconds. It does not wait for
 * them to finalize, nor at all after a barrier or an allreduce. A rank that left before another
 * one made a call hears nothing of that; the other one does. Errors, after which the client is
 * gone all the same: MISMATCH (no call has returned it before; it is printed to stderr as well),
 * PEER (a member has left without making the calls of this rank). And, nothing being done: ARG (it
 * was finalized already; or this process is a child of the one that made it).
 * client may be NULL. No other thread may be inside the library with this client.
 *
 * A handle (client, team, plan, context, endpoint, region) that is used after its end, of its own
 * or with the client, is refused with ARG, by functions that return no status with NULL, -1 or 0.
 * The library recognises such a handle until eight more of its kind (of plans: 64) were freed after
 * it; later the handle may be taken for a newer one.
 *
 * After fork the child may use none of its parent's handles: calls with them are ARG, and do
 * nothing to the job; nor may it join the job itself. It may read the memory that it shares with
 * its parent, start another program (fork and execve, vfork, posix_spawn, system), make jobs of
 * threads (tutti_threads), and exit as it likes. */
TUTTI_API tutti_status tutti_finalize(tutti_client *client);

/* What each thread of tutti_threads runs; `client` belongs to the library. */
typedef void tutti_thread_fn(tutti_client *client, void *arg);

/* Runs fn in n new threads of this process, which form a job of n ranks of their own: the same
 * library, collectives and guarantees, with threads for processes. Blocks until all have returned.
 * Errors: ARG (n < 1, null fn), MEMORY, LIMIT; of the first thread for which
 * tutti_finalize, which follows fn, has one: MISMATCH, PEER. Local, any thread. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_threads(int n, tutti_thread_fn *fn, void *arg);

/* ---- Teams --------------------------------------------------------------------------------- */

/* The team of all ranks of the job. It belongs to the client. Local, any thread. */
TUTTI_API tutti_team *tutti_world(tutti_client *client);

/* This process' rank in the team, and the number of its ranks. Local, any thread. */
TUTTI_API int tutti_rank(const tutti_team *team);
TUTTI_API int tutti_size(const tutti_team *team);

/* Makes one team for each colour, its ranks ordered by key, then by rank in `team`. A negative
 * colour takes part but gets *part = NULL. Collective over `team`, blocks; every rank gets the same
 * status. The caller frees the team. Errors: ARG, MEMORY, LIMIT, PEER. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_split(tutti_team *team, int color, int key,
                                                         tutti_team **part);

/* Frees a team made by tutti_team_split, whose plans were freed before. Collective over that team:
 * blocks until all its members have called it, since they may still read this rank's memory; on a
 * failed team it does not wait. NULL is allowed. Errors: ARG (the world team, live plans), PEER,
 * MISMATCH (found as by tutti_finalize). */
TUTTI_API tutti_status tutti_team_free(tutti_team *team);

/* ---- Recovery ----
 *
 * When a member dies, what its teams have in flight ends with TUTTI_ERR_PEER at every member that
 * waits for it, and so does what they start later; teams without it go on. Those that are left may
 * then agree on what to do, and go on as a team of their own:
 *
 *     int64_t good = work(team) == TUTTI_OK;     else TUTTI_ERR_PEER; some ranks may have succeeded
 *     tutti_team_agree(team, &good, NULL);       did it everywhere?
 *     if (!good) {
 *         tutti_team_shrink(team, &rest);
 *         tutti_team_free(team);                 unless it is the world
 *         team = rest;                           and once more
 *     }
 *
 * An error that is no peer's failure would come again on the new team: docs/recovery.md has a whole
 * program, which ends then.
 *
 * Who starts the program must let the others live when a rank dies: `tutti run
 * --on-failure=continue`.
 *
 * tutti_advance (message.h) tells of a team only once that it broke, and not at all after a call on
 * the team has; so it goes on working for those that are left, while calls on the team go on
 * telling it.
 *
 * Both calls are collective over the living members, on a healthy team as on a failed one, and are
 * made in the same order by all; they block until all those have come, or failed too, whatever dies
 * meanwhile, and advance context 0 and the client's teams. A member that leaves the job
 * (tutti_finalize) without coming counts as failed. So does, for good and in all teams of the
 * client, one whose own call of any collective ended with MEMORY, LIMIT, SYSTEM or MISMATCH: the
 * others were told that it cannot go on; it cannot take part itself (PEER). The method and its
 * proof are in src/run/accord.h; the calls are those of user-level failure mitigation for MPI
 * (Bland, Bouteiller, Herault, Bosilca, Dongarra, IJHPCA 27(3), 2013). */

/* Agrees on *value: in, this rank's; out, the bitwise AND of all values given, among them those of
 * all members that return OK (one that died on the way may be in it or not). The same for all that
 * return, even those that die right after it, and with it the members that have failed: how many in
 * *failed, if it is not NULL; tutti_team_failed tells which. Who of them had been reported to any
 * of the members by PEER before is among them. Errors: ARG, PEER (this rank counts as failed),
 * MISMATCH (others called tutti_team_shrink, which is told to all; or a collective, or
 * tutti_team_free, on a team that had not failed: then the team is broken, as by any calls that do
 * not match), MEMORY. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_agree(tutti_team *team, int64_t *value,
                                                         int *failed);

/* Makes a team of the members that have not failed, agreed on as above, in their old order; of a
 * healthy team a copy. One that died after that was agreed on is a member of it, and the first call
 * there says so: shrink again. If a member has no memory for it, nobody gets a team. The caller
 * frees the team; the old one as well, with its plans before: where members have failed, that waits
 * for nobody. Errors: ARG, PEER, MISMATCH, MEMORY, LIMIT; if one member has MEMORY or LIMIT, so
 * have all. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_shrink(tutti_team *team, tutti_team **part);

/* Breaks the team for all its members: what they have in flight on it, and what they start later,
 * ends with PEER ("rank 2 revoked the team"), but for the three calls above and below. For who
 * leaves the collectives of a team because of a failure elsewhere: of a team without failed members
 * nobody knows that it will not come any more. Also where nothing failed. Errors: ARG, MEMORY,
 * LIMIT. Local, does not block: the others learn it when they next call the library. One thread per
 * team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_revoke(tutti_team *team);

/* The ranks in the team of its failed members, in ascending order, as agreed on by the last
 * tutti_team_agree or tutti_team_shrink that succeeded on it: none before. The first n into ranks,
 * how many there are into *count, if it is not NULL. Errors: ARG. Local, does not block. */
TUTTI_API tutti_status tutti_team_failed(const tutti_team *team, int *ranks, int n, int *count);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Memory that the other ranks on this machine map: buffers in it are read by them directly, without
 * a system call. Page-aligned, zeroed. Errors: ARG (0 bytes, or more than INT64_MAX), MEMORY,
 * LIMIT. Freed by tutti_free, or with the client. Local, one thread per client at a time, does not
 * block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alloc(tutti_client *client, size_t bytes,
                                                    void **memory);
/* Not while something in flight uses the memory, nor before a plan of it is started again. NULL is
 * allowed. Errors: ARG (not from tutti_alloc of this client). */
TUTTI_API tutti_status tutti_free(tutti_client *client, void *memory);

/* ---- Collectives --------------------------------------------------------------------------- */

/* Given as `in`: the input is found in `out`, where the result replaces it. All ranks of the team
 * must do so alike, except in reduce and gather, where it is the root's own affair. For gather and
 * allgather(v) the input lies at the rank's own place in `out`. For reduce_scatter(_block) `out`
 * has room for all of the input; the rank's block of the result comes to its beginning, and the
 * rest is undefined then. Not for bcast, barrier and alltoall(v). */
#define TUTTI_IN_PLACE ((const void *)1)

/* Flags of tutti_plan_*, the same on all ranks. */
enum {
    TUTTI_PLAN_DEFAULT = 0,
    TUTTI_PLAN_IN_ORDER = 1, /* combine operands in rank order though the operation commutes */
    TUTTI_PLAN_SHARED = 2 /* every rank's buffers are memory from tutti_alloc: peers load from it */
};

/*
 * The collectives, each in three forms that run the same plan:
 *
 *   tutti_X(team, ...)                 blocks until this rank's part is done;
 *   tutti_iX(team, ..., &plan)         starts it and returns: complete it with tutti_wait (or
 *                                      tutti_test), then free the plan;
 *   tutti_plan_X(team, ..., flags, &plan)  prepares it: start it with tutti_start, as often as
 *                                          wanted.
 *
 * Collective: every rank of the team calls the same collectives (or starts the same plans) in the
 * same order, with the same root, type, operation, flags and, but for alltoallv, counts; making a
 * plan is local. Any number may be in flight on one team (thirty-two advance at once, later ones
 * wait their turn inside the library), completed in any order. Completing one means: this rank's
 * output is there and its buffers are the caller's again; it says nothing of other ranks, but for
 * barrier. From start to completion the library borrows all buffers: inputs may be read but not
 * written, outputs not touched. A plan keeps the addresses of its buffers, and copies of counts and
 * displacements. After PEER or MISMATCH other members may still read the inputs and write the
 * outputs of what was in flight, until they see the error too (within a second). Buffers may be
 * NULL where nothing is to be read or written. `in` and `out` must not overlap. Results have the
 * same bits on every rank, and the same from run to run.
 *
 * One thread per team at a time; different teams from different threads need different clients.
 *
 * Errors of all forms: ARG (says which argument and why: null, negative, overflow, overlap, root
 * outside the team, no such type or operation), TYPE, MEMORY, LIMIT; of waiting: PEER (names the
 * rank and the cause), MISMATCH (names both calls: "rank 1 called bcast(n=5 of f64, root 2)
 * where rank 0 called bcast(n=5 of f64, root 1)").
 *
 * A buffer that is no memory is an error (ARG, naming the argument) where it is noticed, which it
 * is when others read or write it by a system call; it ends the team then, and its owner is named
 * to the others. Elsewhere it ends the process, as any wrong pointer does.
 *
 * All members hear of calls that do not match, by that call, a later one on the team, or
 * tutti_finalize: those that differ in collective, root, n or counts, type, operation, or in the
 * order of operands. Of an alltoallv in which a rank sends another one more or less than that
 * expects, both are.
 */

/* Returns only after every rank of the team has called it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_barrier(tutti_team *team);
/* buffer[0..n-1] of the root to all ranks. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_bcast(tutti_team *team, void *buffer, int64_t n,
                                                    tutti_type type, int root);
/* out[i] at the root = in[i] of rank 0 op in[i] of rank 1 op ...; `out` is ignored elsewhere. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, tutti_op op,
                                                     int root);
/* The same, at every rank. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allreduce(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type, tutti_op op);
/* Of the reduction of all ranks' in[0..p*n-1], block r to rank r: out[i] = in[r*n+i] of rank 0 op
 * in[r*n+i] of rank 1 op ..., i < n. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_block(tutti_team *team, const void *in,
                                                                   void *out, int64_t n,
                                                                   tutti_type type, tutti_op op);
/* The same with blocks of counts[0], counts[1] ... elements, one after the other in `in`; counts[p]
 * is the same on all ranks. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter(tutti_team *team, const void *in,
                                                             void *out, const int64_t *counts,
                                                             tutti_type type, tutti_op op);
/* out[r*n .. r*n+n-1] at the root = in[0..n-1] of rank r, for every r; `out` is ignored
 * elsewhere. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gather(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, int root);
/* The same, at every rank. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgather(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type);
/* out[displs[r] .. +counts[r]-1] = in of rank r, which has counts[r] elements. counts[p] is the
 * same on all ranks; displs[p] may differ; the pieces must not overlap. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgatherv(tutti_team *team, const void *in,
                                                         void *out, const int64_t *counts,
                                                         const int64_t *displs, tutti_type type);
/* out[r*n .. r*n+n-1] = in[me*n .. me*n+n-1] of rank r: n elements to each rank. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoall(tutti_team *team, const void *in, void *out,
                                                       int64_t n, tutti_type type);
/* Sends in[in_displs[r] .. +in_counts[r]-1] to rank r, puts what comes from r to out[out_displs[r]
 * .. +out_counts[r]-1]. out_counts[r] here = in_counts[me] at r. Displacements of several ranks
 * may name the same input; output pieces must not overlap. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallv(tutti_team *team, const void *in,
                                                        const int64_t *in_counts,
                                                        const int64_t *in_displs, void *out,
                                                        const int64_t *out_counts,
                                                        const int64_t *out_displs, tutti_type type);

/* Nonblocking forms. *plan is started, and the caller's: wait for it, then free it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibarrier(tutti_team *team, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n,
                                                     tutti_type type, int root, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, tutti_op op,
                                                      int root, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallreduce(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_op op, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter_block(tutti_team *team,
                                                                    const void *in, void *out,
                                                                    int64_t n, tutti_type type,
                                                                    tutti_op op, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              tutti_type type, tutti_op op,
                                                              tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_igather(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, int root,
                                                      tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgather(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgatherv(tutti_team *team, const void *in,
                                                          void *out, const int64_t *counts,
                                                          const int64_t *displs, tutti_type type,
                                                          tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoall(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type,
                                                        tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, tutti_plan **plan);

/* Plans: prepared, not started. Local, does not block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_barrier(tutti_team *team, unsigned flags,
                                                           tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_bcast(tutti_team *team, void *buffer, int64_t n,
                                                         tutti_type type, int root, unsigned flags,
                                                         tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_reduce(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          tutti_op op, int root, unsigned flags,
                                                          tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_allreduce(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             tutti_op op, unsigned flags,
                                                             tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_reduce_scatter_block(tutti_team *team,
                                                                        const void *in, void *out,
                                                                        int64_t n, tutti_type type,
                                                                        tutti_op op, unsigned flags,
                                                                        tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_reduce_scatter(tutti_team *team, const void *in,
                                                                  void *out, const int64_t *counts,
                                                                  tutti_type type, tutti_op op,
                                                                  unsigned flags,
                                                                  tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_gather(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          int root, unsigned flags,
                                                          tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_allgather(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             unsigned flags, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_allgatherv(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              const int64_t *displs,
                                                              tutti_type type, unsigned flags,
                                                              tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_plan_alltoall(tutti_team *team, const void *in,
                                                            void *out, int64_t n, tutti_type type,
                                                            unsigned flags, tutti_plan **plan);
TUTTI_API TUTTI_MUST_CHECK tutti_status
tutti_plan_alltoallv(tutti_team *team, const void *in, const int64_t *in_counts,
                     const int64_t *in_displs, void *out, const int64_t *out_counts,
                     const int64_t *out_displs, tutti_type type, unsigned flags, tutti_plan **plan);

/* A plan is under way from tutti_start (or tutti_iX) until its owner has completed it: until
 * tutti_wait has returned, or tutti_test something else than AGAIN. That depends on nothing that
 * other ranks do, or how quickly.
 *
 * Starts a plan that is not under way. Collective in the sense above, does not block. Errors: ARG
 * (null, under way). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_start(tutti_plan *plan);
/* Moves it on; OK when it is complete, AGAIN when not. Of a plan that is not under way: OK at once
 * if it was never started, else what completing it returned last. Does not block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_test(tutti_plan *plan);
/* Blocks until it is complete, moving on whatever else the team has in flight. Of a plan that is
 * not under way it returns at once, as tutti_test does. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_wait(tutti_plan *plan);
/* Frees a plan that is not under way; NULL is allowed. Errors: ARG (under way). Local. */
TUTTI_API tutti_status tutti_plan_free(tutti_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
