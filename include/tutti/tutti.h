/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: collective communication between processes and threads.
 *
 * A program is started as several ranks (`tutti run -n 8 ./app`). Each rank calls tutti_init, and
 * after that the ranks of a team call the same collectives in the same order:
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
 * The comment above each function states what the function does, the shapes and units of its
 * arguments, its errors, who owns what and until when, which thread may call it, whether all ranks
 * must call it (collective) or one rank may (local), and whether it blocks. Unless a comment says
 * otherwise, counts and displacements are in elements and sizes are in bytes, a function sets its
 * output arguments only on TUTTI_OK, and the library keeps no pointer that it was given after the
 * function has returned. Functions of the program that the library calls must return: they must not
 * end by longjmp, by a C++ exception, or, except for a tutti_thread_fn, by pthread_exit. While the
 * program uses the library, it must not close file descriptors that it did not open.
 *
 * status.h lists the status codes, type.h the types and operations, and message.h declares
 * point-to-point messages.
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

/* The version of this header. */
#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
#define TUTTI_VERSION "0.1.0"

/* Returns the version of the library that is loaded; TUTTI_VERSION is the version of this header.
 * The text is static. Local, any thread, does not block. */
TUTTI_API const char *tutti_version(void);

/* ---- Clients ------------------------------------------------------------------------------- */

typedef struct tutti_client tutti_client; /* one independent user of the library in a process */
typedef struct tutti_context
    tutti_context; /* a unit of progress, advanced by one thread at a time */
typedef struct tutti_endpoint tutti_endpoint; /* (client, rank, context): where messages go */
typedef struct tutti_team tutti_team;         /* ranks that call collectives together */
typedef struct tutti_request tutti_request;   /* a started or prepared collective */

/* Joins the job that the environment names (`tutti run` sets TUTTI_RANK, TUTTI_SIZE and TUTTI_JOB),
 * or a job of one rank if the environment names none. Collective over the job; blocks until all
 * ranks have called it. The client belongs to the caller until tutti_finalize.
 *
 * A process may hold several clients. The k-th call on every rank makes client k of the job. Each
 * client has its own world, teams, contexts, dispatch ids and memory, and different threads may use
 * different clients at the same time. A client fails if its calls do not match, or if a rank leaves
 * it while other ranks still need that rank; the other clients then go on working. But a rank whose
 * process dies has failed in all clients. A process may finalize its clients in any order, and may
 * make more clients afterwards, even if it has finalized all of them. If nobody launched the job,
 * each client is a job of one rank, also inside tutti_threads. A child process of such a process
 * may make clients of its own, but cannot use those of its parent.
 *
 * The library numbers the calls of several threads in the order in which they arrive. Threads that
 * make clients at the same time must therefore make them in the same order on every rank. If one
 * rank calls tutti_init and another rank never does, the call returns PEER when that other rank
 * ends; on several hosts, the first client may wait for TUTTI_BOOT_TIMEOUT instead. Any thread.
 * Errors:
 *
 *     ARG       client is NULL, or this process is a child of the process that joined the job of
 *               a launcher
 *     LIMIT     the job already has 16 clients that some rank has not finalized; all ranks get it
 *     PEER      a rank died before it called tutti_init, or could not make its client
 *     MISMATCH  an environment variable that must be the same on all ranks differs
 *     BOOT, VERSION, MEMORY, SYSTEM */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_init(tutti_client **client);

/* Gathers `bytes` bytes from each rank: on every rank, stores the `in` of rank r in `out`, from
 * byte r * bytes on, and returns 0. Blocks until it has done so. Any other value means that it
 * failed. If the call fails at one rank, the calls of the other ranks and all later calls must
 * still return: with an error, or with the bytes that the ranks pass. */
typedef int tutti_allgather_fn(const void *in, void *out, size_t bytes, void *arg);

/* Joins a job whose ranks the caller knows, without a launcher that Tutti knows: the ranks find
 * each other by calls of `allgather` alone, which may use any library or launcher: MPI_Allgather,
 * sockets, files. `arg` is the last argument of `allgather`; this process is rank `rank` of `size`
 * ranks. The variables of launchers in the environment are ignored. The client works like a client
 * of tutti_init: ranks of one host share memory, and ranks of several hosts use a network.
 *
 * Collective over the job; blocks. All ranks make the same calls of `allgather` in the same order,
 * and with equal `bytes`. There are a few calls for the first client and, if the job is on several
 * hosts, a few for each further client. The calls come from the calling thread, and none after this
 * function has returned. If a rank cannot go on, it makes one more call, so that all ranks return.
 * If the last of the calls fails on some ranks only, the ranks on which it succeeds wait for up to
 * TUTTI_BOOT_TIMEOUT seconds (300 unless set), and return BOOT or PEER.
 *
 * A process belongs to one job. Each further call, with the same rank and size, makes a further
 * client of the job; tutti_init returns ARG in this process. One thread of the process at a time.
 * Errors:
 *
 *     ARG   a pointer is NULL, size < 1 (the function then makes no call of `allgather`), the rank
 *           is not in 0 .. size - 1, or the process has joined another job
 *     BOOT  the allgather failed or returned wrong bytes, or another rank could not go on; the text
 *           names the rank and its error
 *     and those of tutti_init */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_init_with(tutti_allgather_fn *allgather, void *arg,
                                                        int rank, int size, tutti_client **client);

/* Leaves the client and frees it with all its teams, requests, contexts and memory. When a process
 * has finalized its last client, it leaves the job; it disconnects from a launcher that speaks PMIx
 * only when it ends. The function first stops the helper threads of the client's contexts. Calls
 * that are still in flight on a team are compared as described below, but not completed: the team
 * then fails for the members that still need this rank. The function drops work that was posted to
 * a context and has not run. It waits for ranks that go on and have not received the messages that
 * this rank sent to them (tutti/message.h, Leaving).
 *
 * This function reports calls that do not match, unless an earlier call has reported them. Some
 * calls on a team do not make this rank wait for all members: a bcast, reduce, gather(v),
 * scatter(v), scan or alltoallv, a call with n = 0, or a call that is still in flight. If the last
 * call on a team was one of these, the function waits until each member has made as many calls as
 * this rank, or has failed or left, or until no member has made progress for five seconds. It does
 * not wait until members finalize. After a barrier or an allreduce it does not wait. If this rank
 * leaves before another rank makes one call too many, only that other rank gets an error. Errors:
 *
 *     MISMATCH  calls did not match, and no call has returned this before; also printed to stderr
 *     PEER      a member has left without making the calls that this rank has made
 *     ARG       the client was finalized before, or belongs to the parent of this process
 *
 * After MISMATCH and PEER the client is freed; after ARG nothing was done. client may be NULL. No
 * other thread may be inside the library with this client.
 *
 * The library refuses a handle (client, team, request, context, endpoint, region) that is used
 * after the handle or its client was freed. Functions then return ARG, or NULL, -1 or 0 if they
 * return no status. The library recognises such a handle until eight more of its kind (64 for
 * requests) have been freed; after that the handle may be taken for a newer one.
 *
 * A thread that calls the library needs a stack of 128 KiB, besides the stack of those functions of
 * the program that the library calls.
 *
 * After fork the child must not use its parent's handles: calls with them return ARG and do nothing
 * to the job. The child cannot join the job either. It may read the memory that it shares with its
 * parent, start another program (fork and execve, vfork, posix_spawn, system), run jobs of threads
 * (tutti_threads), and exit in any way. */
TUTTI_API tutti_status tutti_finalize(tutti_client *client);

/* A function that the library calls while a call of a client waits (tutti_client_hook). It must
 * return, and must not call the library with this client, which is in the middle of a call. It may
 * use other clients. */
typedef void tutti_hook_fn(void *arg);

/* Sets a function, the hook, that the library calls while a call of the client waits (collectives,
 * tutti_wait, tutti_advance_wait, calls that make a team, tutti_team_agree, tutti_finalize). By the
 * hook another library in the process makes progress, for example the MPI library under which Tutti
 * runs. A waiting call calls hook(arg) after it has looked `first` times in vain for what it waits
 * for, after each `every` further looks in vain, and before each sleep. A call that finds what it
 * waits for within `first` looks does not call the hook. A look takes some 10 ns while the call
 * spins, and longer while it yields the processor (docs/tuning.md, Waiting). With first = 200 and
 * every = 32, a hook does not make short calls slower.
 *
 * hook = NULL removes the hook, and the other arguments are ignored. The client keeps `hook` and
 * `arg` until the hook is removed or replaced, or until the client is finalized. tutti_init does
 * not call the hook, and neither do the helpers of contexts (tutti_helper_start). The hook runs on
 * the thread that waits; if several threads of the program wait, it may run on several threads at
 * once. Local, does not block; no other thread may be inside the library with this client. Errors:
 * ARG (the client is no live one; first or every is less than 1). Open MPI's opal_progress_register
 * is the counterpart, by which waiting calls of MPI call a function. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_client_hook(tutti_client *client, tutti_hook_fn *hook,
                                                          void *arg, int first, int every);

/* The longest sleep of a client for which tutti_client_sleep has set no shorter one, in
 * microseconds. */
#define TUTTI_SLEEP_MOST_US 50000

/* Sets the longest sleep of a waiting call of the client to `longest_us` microseconds. After a
 * sleep the call looks again and calls the hook; it also wakes up when what it waits for has come.
 * With 0, calls never sleep, and only yield the processor. The kernel may add some 50 microseconds
 * to each sleep. Local, does not block; no other thread may be inside the library with this client.
 * Errors: ARG (the client is no live one; longest_us is not in 0 .. TUTTI_SLEEP_MOST_US). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_client_sleep(tutti_client *client, int longest_us);

/* Lets several threads of this rank use the client at the same time. Calls that the library
 * otherwise allows to one thread per client, or to one per team, may then come from several threads
 * if they concern different teams. For example, two threads may wait for two teams, and each rank
 * may do so in an order of its own, as with MPI_THREAD_MULTIPLE. A team, a request, or a context
 * other than context 0 may still be used by only one thread at a time. Threads that make teams at
 * the same time call tutti_team_of with different tags. Of the other functions that make a team,
 * and of tutti_team_agree, only one call of a client may be under way at a time.
 *
 * The client gets a lock. A call takes the lock, and releases it whenever it waits, so a thread
 * that waits keeps no other thread from making calls. Handlers of messages to context 0, and
 * functions of user-defined operations, run with the lock held. Calls take a little longer, and a
 * waiting call looks less often for what it waits for. Sharing cannot be ended. Other ranks need
 * not share their clients. Local, does not block; no other thread may be inside the library with
 * this client. A second call has no effect. Errors: ARG (the client is no live one), MEMORY. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_client_share(tutti_client *client);

/* The function that each thread of tutti_threads runs. The client belongs to the library. The
 * function may end its thread by pthread_exit, but nobody may cancel the thread while it is inside
 * the library. */
typedef void tutti_thread_fn(tutti_client *client, void *arg);

/* Runs fn in n new threads of this process, which form a job of n ranks. The collectives and their
 * guarantees are the same as between processes. The library finalizes each thread's client when fn
 * returns or the thread ends. Blocks until all threads have ended. Local, any thread. Errors: ARG
 * (n < 1, or fn is NULL), MEMORY, LIMIT (no more threads or address space). Otherwise, if threads
 * could not join or leave the job, the function returns the error of the thread with the lowest
 * rank among them (an error of tutti_init or tutti_finalize). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_threads(int n, tutti_thread_fn *fn, void *arg);

/* Runs fn in n new threads of this process, which form one job with the threads of all other ranks
 * of the team. The threads are full members of the new job: each has its rank, its client, its
 * teams and its contexts. The ranks of the new job are numbered in the order of the team: first the
 * n threads of its rank 0, then those of its rank 1, and so on; n may differ between the ranks. Two
 * threads of one process read and write each other's buffers by plain loads and stores.
 *
 * The new job is independent of the team's job, of its settings TUTTI_NODES and TUTTI_NETWORK, and
 * of TUTTI_TRACE. If a process ends, all its threads have failed. The threads must not use the
 * caller's client, unless it is shared; the library does not advance that client while the calling
 * thread waits. The library finalizes each thread's client when fn returns or the thread ends.
 * Blocks until all threads of this process have ended; those of other processes may still run.
 * Collective over the team. One thread per team. Errors:
 *
 *     ARG          on some rank n < 1 or fn is NULL; no thread was started
 *     UNSUPPORTED  the ranks of the team are on several nodes; no thread was started
 *     BOOT         a rank cannot open the memory that rank 0 has made (/proc/PID/fd forbids it); no
 *                  thread was started
 *     MISMATCH     the calls on the team do not match (no thread was started), or the failed thread
 *                  with the lowest rank in this process got MISMATCH from tutti_finalize
 *     MEMORY, LIMIT, SYSTEM, PEER */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_threads(tutti_team *team, int n,
                                                           tutti_thread_fn *fn, void *arg);

/* ---- Teams --------------------------------------------------------------------------------- */

/* Returns the team of all ranks of the job, which belongs to the client. Local, any thread. */
TUTTI_API tutti_team *tutti_world(tutti_client *client);

/* Return this process' rank in the team, and the number of ranks in the team. Local, any thread. */
TUTTI_API int tutti_rank(const tutti_team *team);
TUTTI_API int tutti_size(const tutti_team *team);

/* This paragraph holds for all functions that make a team from a team. If the arguments of one rank
 * are wrong, all ranks get the error of that rank, with a text that names the rank, and the old
 * team goes on working. Only a rank whose `team` is no live team returns alone; the other ranks
 * wait for it, and get MISMATCH or PEER when it makes another call on the team or leaves.
 *
 * Makes one team for each colour. The ranks of a team are ordered by key, then by their rank in
 * `team`. A rank with a negative colour takes part and gets *part = NULL. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. Errors: ARG (part is NULL),
 * MEMORY, LIMIT, PEER, MISMATCH. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_split(tutti_team *team, int color, int key,
                                                         tutti_team **part);

/* Makes a team of the same ranks in the same order. The two teams are independent: calls on one of
 * them do not count as calls on the other. The new team has the grid or the graph of `team`.
 * Collective over `team`; blocks; all ranks return the same status. The caller frees the team.
 * Errors: ARG, MEMORY, LIMIT, PEER, MISMATCH. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_dup(tutti_team *team, tutti_team **part);

/* Kinds of memory domains: memory to which some processors are closer than others. */
typedef enum tutti_domain {
    TUTTI_DOMAIN_NODE, /* the ranks that share memory */
    TUTTI_DOMAIN_NUMA, /* a NUMA domain of a node: the processors next to a part of its memory */
    TUTTI_DOMAIN_L3    /* the processors that share an L3 cache */
} tutti_domain;

/* Makes one team for each memory domain; its ranks are ordered by key, then by rank in `team`. A
 * rank belongs to the NUMA domain or L3 cache that has all processors on which the calling thread
 * may run (`tutti run` and other launchers bind ranks). Ranks whose processors are in several such
 * domains belong to none of them, and form one more team on each node. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. One thread per team. Errors:
 *
 *     ARG          part is NULL, or the domain is unknown or not the same on all ranks
 *     UNSUPPORTED  on some host the library finds no hwloc, or hwloc knows no such domain;
 *                  TUTTI_DOMAIN_NODE always works
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_split_domain(tutti_team *team,
                                                                tutti_domain domain, int key,
                                                                tutti_team **part);

/* Makes a team of the n ranks of `team` that ranks[] lists: ranks[i] becomes rank i of the new
 * team. Only these ranks call this function, and all with the same list and tag; the other ranks of
 * `team` take no part, and may have failed. The call does not belong to the order of collectives on
 * `team`. A rank may make several teams one after the other, also teams of different ranks; in this
 * case there must be no circle of ranks in which each waits for the next one. Calls with different
 * tags are independent: two threads of a rank that make teams at the same time pass different tags.
 * Blocks until all ranks of the list have called it, and advances context 0 and the client's teams.
 * Collective over the listed ranks, which return the same status, except as stated below. The
 * caller frees the team. One thread per client. The ranks meet by an agreement as in
 * tutti_team_agree, with a few messages for each rank; the call is MPI_Comm_create_group of MPI 3
 * (Dinan et al., "Noncollective communicator creation in MPI", EuroMPI 2011). Errors:
 *
 *     ARG       n is not in 1 .. size of the team, ranks is NULL, an entry is no rank of the team
 *               or is in the list twice, or this rank is not in the list: only this rank returns,
 *               and the others wait until it makes the right call or leaves
 *     ARG       part is NULL at some rank: all ranks of the list return
 *     MISMATCH  two ranks that wait for each other passed different lists with the same tag; all
 *               ranks of these lists that make such a call return it. The old team goes on
 *               working, but this tag does not work any more on it for these ranks
 *     PEER      a rank of the list has failed or left, or this rank counts as failed
 *     MEMORY, LIMIT */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_of(tutti_team *team, const int *ranks, int n,
                                                      int tag, tutti_team **part);

/* Frees a team that another function of this file made. The caller must have freed the team's
 * requests. All members call this function, at any time: it waits for no other rank, so ranks may
 * free several teams in different orders. The other members may still read this rank's memory. So
 * the library frees that memory later, when all members have called this function: in a call that
 * makes a team or advances context 0, or in tutti_finalize. NULL is allowed. Errors: ARG (the team
 * is the world, or has requests); PEER, MISMATCH (the team is broken; it is freed all the same). If
 * the calls on the team turn out later not to match, tutti_advance or tutti_finalize returns
 * MISMATCH. One thread per team. */
TUTTI_API tutti_status tutti_team_free(tutti_team *team);

/* ---- Teams with neighbours ----
 *
 * A team may have neighbours: its ranks form a Cartesian grid or a graph. This does not change the
 * collectives of the team. The functions that ask for neighbours are local and do not block; any
 * thread may call them. Errors: ARG (the team has no grid, or no neighbours at all; an argument is
 * NULL or out of range). */

/* The most dimensions that a grid has. */
#define TUTTI_CART_DIMS 32
/* Stands in the place of a rank if there is no such rank. */
#define TUTTI_NO_RANK (-1)

/* How a grid is numbered. */
typedef enum tutti_cart_order {
    TUTTI_CART_LAST_FASTEST,  /* as arrays in C, and as in MPI: rank 1 has coordinates ..., 0, 1 */
    TUTTI_CART_FIRST_FASTEST, /* as arrays in Fortran: rank 1 has coordinates 1, 0, ... */
    /* The ranks of each node form a block of the grid, so that few neighbours are on other nodes.
     * A rank may get another number than in the old team. If the nodes do not hold equally many
     * ranks, or no such block divides the grid, this is the same as TUTTI_CART_LAST_FASTEST. */
    TUTTI_CART_NODES
} tutti_cart_order;

/* Replaces each 0 in dims[0..n-1] so that the product of all dims is p. The result has the least
 * sum that is possible (72 ranks in 2 dimensions: 9x8), and the new dimensions do not ascend.
 * Local, any thread, does not block. Errors: ARG (p < 1; n is not in 1 .. TUTTI_CART_DIMS; dims is
 * NULL or has a negative number; the product of the given dimensions does not divide p, or is not p
 * if all are given). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_dims(int p, int n, int *dims);

/* Makes a team whose ranks form a grid of n dimensions with dims[0] * ... * dims[n-1] places. The
 * new team has the first ranks of `team`, one for each place. A rank that is left over takes part
 * and gets *part = NULL. periodic[i] is 1 if the last and the first coordinate of dimension i are
 * neighbours, else 0. If periodic is NULL, no dimension is periodic. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. One thread per team. Errors:
 *
 *     ARG  n is not in 1 .. TUTTI_CART_DIMS, a dimension is less than 1, the grid has more places
 *          than the team has ranks, periodic[i] is neither 0 nor 1, the order is unknown, or a
 *          pointer is NULL; or the ranks passed different n, dims, periodic or order
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_cart(tutti_team *team, int n, const int *dims,
                                                        const int *periodic, tutti_cart_order order,
                                                        tutti_team **part);

/* Returns the grid of the team: the number of dimensions in *n, and up to TUTTI_CART_DIMS entries
 * of dims and periodic. Each of the three pointers may be NULL. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_grid(const tutti_team *team, int *n, int *dims,
                                                        int *periodic);
/* tutti_cart_coords stores the coordinates of a rank of the team, one for each dimension.
 * tutti_cart_rank stores the rank at the given coordinates. In a periodic dimension a coordinate
 * may have any value. In other dimensions it may lie outside of the grid; *rank is then
 * TUTTI_NO_RANK. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_coords(const tutti_team *team, int rank,
                                                          int *coords);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_rank(const tutti_team *team, const int *coords,
                                                        int *rank);
/* Returns the partners of this rank in a shift by `distance` (which may be negative) in dimension
 * `dim`: this rank sends to *destination and receives from *source. TUTTI_NO_RANK stands for places
 * outside of the grid. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_shift(const tutti_team *team, int dim,
                                                         int distance, int *source,
                                                         int *destination);

/* Makes a team of the same ranks in the same order, in which this rank receives from the ranks in
 * sources[] and sends to the ranks in destinations[]. The entries are ranks of `team`; a rank may
 * occur several times, and may be this rank. Each rank has to name this rank as often in its
 * destinations as this rank names it in its sources. A list of 0 entries may be NULL. Collective
 * over `team`; blocks; all ranks return the same status. The caller frees the team. One thread per
 * team. Errors:
 *
 *     ARG  a number of entries is negative, an entry is no rank of the team, a pointer is NULL, or
 *          the lists of two ranks contradict each other
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_graph(tutti_team *team, int sources_n,
                                                         const int *sources, int destinations_n,
                                                         const int *destinations,
                                                         tutti_team **part);

/* tutti_team_sources lists the ranks from which this rank receives, and tutti_team_destinations
 * those to which it sends. In a graph, they are the lists that this rank gave. In a grid of d
 * dimensions, both lists have 2 * d entries. Entry 2i is the neighbour with the lower coordinate i,
 * and entry 2i + 1 that with the higher one. TUTTI_NO_RANK stands for a missing neighbour. Stores
 * the first n entries in ranks, and the length of the list in *count if count is not NULL. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_sources(const tutti_team *team, int *ranks,
                                                           int n, int *count);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_destinations(const tutti_team *team, int *ranks,
                                                                int n, int *count);

/* ---- Recovery ----
 *
 * When a member of a team dies, collectives in flight on the team end with TUTTI_ERR_PEER at every
 * member that waits for it, and so do collectives that the members start later. Teams without that
 * member go on. The members that are left can agree on what to do, and go on as a new team:
 *
 *     int64_t good = work(team) == TUTTI_OK;     TUTTI_OK on some ranks, TUTTI_ERR_PEER on others
 *     tutti_team_agree(team, &good, NULL);       did it work everywhere?
 *     if (!good) {
 *         tutti_team_shrink(team, &rest);
 *         tutti_team_free(team);                 only if it is not the world
 *         team = rest;                           with which to do the work once more
 *     }
 *
 * An error other than a peer's failure would occur again on the new team. docs/recovery.md has a
 * whole program, which ends in that case.
 *
 * The launcher must let the other ranks live when a rank dies: `tutti run --on-failure=continue`.
 *
 * tutti_advance (message.h) reports a broken team once, or not at all if a call on the team has
 * reported it before, so that messages go on working. Calls on the team report the error each time.
 *
 * tutti_team_agree and tutti_team_shrink are collective over the living members, whether the team
 * has failed or not; all members call them in the same order. They block until all living members
 * have called them, whichever member dies meanwhile, and they advance context 0 and the client's
 * teams. A member that leaves the job (tutti_finalize) without calling them counts as failed. If a
 * collective returns MEMORY, LIMIT, SYSTEM or MISMATCH to a rank, that rank counts as failed in all
 * teams of the client from then on. The library has reported to the other members that the rank
 * cannot go on; if the rank itself calls tutti_team_agree or tutti_team_shrink, it gets PEER. The
 * method and its proof are in src/recover/accord.h; the calls are those of user-level failure
 * mitigation for MPI (Bland, Bouteiller, Herault, Bosilca, Dongarra, IJHPCA 27(3), 2013). */

/* Combines *value of all members by bitwise AND and returns the result in *value. The result
 * contains the value of every member that returns OK; it may or may not contain that of a member
 * that died meanwhile. All members that return OK get the same result and the same set of failed
 * members, even those that die right afterwards. The set contains every member whose failure
 * PEER has reported to any member before. *failed receives the number of failed members if failed
 * is not NULL; tutti_team_failed lists them. One thread per team. Errors:
 *
 *     PEER      this rank counts as failed
 *     MISMATCH  other members called tutti_team_shrink; or they called a collective or
 *               tutti_team_free on a team that had not failed, and the team is broken now
 *     ARG       value is NULL: this rank took part with the value 0
 *     LIMIT     the team has more than 65535 members
 *     MEMORY */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_agree(tutti_team *team, int64_t *value,
                                                         int *failed);

/* Makes a team of the members that have not failed, in their old order, after an agreement on which
 * members have failed. If no member has failed, the new team is a copy. A member that dies after
 * the agreement belongs to the new team, and the first call on that team returns PEER; the members
 * can shrink that team again. If one member has no memory for the new team, no member gets one. The
 * caller frees the new team. The caller also frees the old team, after the requests of the old
 * team. Errors: ARG (part is NULL), PEER, MISMATCH, MEMORY, LIMIT; if one member gets ARG, MEMORY
 * or LIMIT, all members do. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_shrink(tutti_team *team, tutti_team **part);

/* Breaks the team for all its members: collectives that they have in flight on it, or start later,
 * end with PEER ("rank 2 revoked the team"). tutti_team_agree, tutti_team_shrink and
 * tutti_team_failed still work. A rank calls this function if it stops taking part in the
 * collectives of a team that has no failed member, for example because of a failure in another
 * team. Otherwise the members would wait for this rank. Local, does not block; the other members
 * notice it when they next call the library. Errors: ARG, MEMORY, LIMIT. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_revoke(tutti_team *team);

/* Lists the members of the team on whose failure the last successful tutti_team_agree or
 * tutti_team_shrink has agreed. The list is empty if there was no such call. It contains ranks of
 * the team, in ascending order. Stores the first n of these ranks in ranks, and the length of the
 * list in *count if count is not NULL. Errors: ARG. Local, does not block. One thread per team. */
TUTTI_API tutti_status tutti_team_failed(const tutti_team *team, int *ranks, int n, int *count);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Allocates memory in which all ranks of this node can read buffers directly, without a system
 * call. The memory is page-aligned and zeroed; tutti_free or tutti_finalize frees it. Errors: ARG
 * (memory is NULL, or bytes is 0 or more than INT64_MAX), MEMORY, LIMIT (the job's shared memory is
 * used up). Local, one thread per client at a time, does not block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alloc(tutti_client *client, size_t bytes,
                                                    void **memory);
/* Frees memory of tutti_alloc. No collective in flight may use the memory, and no request that uses
 * it may be started again. NULL is allowed. Errors: ARG (the memory is not from tutti_alloc of this
 * client). Local, one thread per client at a time, does not block. */
TUTTI_API tutti_status tutti_free(tutti_client *client, void *memory);

/* ---- Collectives --------------------------------------------------------------------------- */

/* A program passes TUTTI_IN_PLACE as `in` if the input lies in `out`, where the result replaces the
 * input. Either all ranks of the team pass TUTTI_IN_PLACE or none; in reduce, gather(v) and
 * scatter(v) only the root may, and in alltoall(v, w) each rank decides for itself. In gather(v)
 * and allgather(v) the input lies at the rank's own place in `out`. In scatter(v) the root's `out`
 * holds all pieces. In reduce_scatter(_block) `out` has room for the whole input; the library
 * stores the rank's block of the result at its beginning and leaves the rest undefined. In
 * alltoall(v, w) `out` with its counts and displacements is also the input; the library packs it
 * into memory of its own first. bcast, barrier and the neighbourhood collectives do not accept
 * TUTTI_IN_PLACE. */
#ifdef __cplusplus
#define TUTTI_IN_PLACE (reinterpret_cast<const void *>(1))
#else
#define TUTTI_IN_PLACE ((const void *)1)
#endif

/* Flags of tutti_X_init. All ranks must pass the same flags. */
enum {
    TUTTI_REQUEST_DEFAULT = 0, /* none of the following */
    /* Combine operands in rank order even if the operation commutes. */
    TUTTI_REQUEST_IN_ORDER = 1,
    /* Every rank's buffers are memory from tutti_alloc, so that peers load from them. */
    TUTTI_REQUEST_SHARED = 2
};

/*
 * The collectives, each in three forms that run the same plan:
 *
 *   tutti_X(team, ...)                        blocks until this rank's part is done
 *   tutti_iX(team, ..., &request)             starts the collective and returns; the caller
 *                                             completes it with tutti_wait or tutti_test, then
 *                                             frees the request
 *   tutti_X_init(team, ..., flags, &request)  prepares the collective; the caller starts it with
 *                                             tutti_start as often as it wants
 *
 * Collective: every rank of the team calls the same collectives (or starts the same requests) in
 * the same order, with the same root, type, operation, flags and, except in alltoallv, alltoallw,
 * gatherv, scatterv and neighbourhood collectives, the same counts. Preparing a request is local,
 * unless TUTTI_ALGORITHM forces an algorithm before which the ranks exchange their counts
 * (alltoallv, alltoallw, gatherv, scatterv): then it is collective and blocks. A team may have any
 * number of collectives in flight, completed in any order. At least thirty-two of them advance at
 * the same time (fewer on teams of more than 32 ranks), and later ones wait inside the library.
 * When a collective has completed, this rank's output is valid and the buffers belong to the caller
 * again. Only the completion of a barrier says something about the other ranks. From start to
 * completion the library borrows all buffers: the caller may read inputs but not write them, and
 * must not touch outputs. A request keeps the addresses of its buffers, and copies of counts and
 * displacements. Counts and displacements must not be negative, not even those of empty pieces.
 * After PEER or MISMATCH other members may still read inputs and write outputs of collectives that
 * were in flight, until they see the error too (within a second). A buffer may be NULL if nothing
 * is read from it or written to it. `in` and `out` must not overlap, but elements of derived types
 * may interleave. Results have the same bits on every rank, and in every run with the same number
 * and placement of ranks and the same algorithms.
 *
 * One thread per team at a time; threads that use different teams at the same time need different
 * clients, or one that they share (tutti_client_share).
 *
 * All forms return ARG (the text names the argument and the fault: null, negative, overflow,
 * overlap, a root outside the team, an unknown type or operation), TYPE, MEMORY, LIMIT and
 * UNSUPPORTED. UNSUPPORTED means that TUTTI_ALGORITHM forces an algorithm that does not apply to
 * the call, or, in a nonblocking form, one before which the ranks exchange their counts. After ARG,
 * TYPE and UNSUPPORTED this rank has started nothing (except if a buffer is not valid memory, see
 * below), and ranks whose arguments are right wait for this rank. MEMORY, LIMIT and SYSTEM from a
 * blocking or nonblocking form break the team, and the other members get PEER. Calls that wait also
 * return PEER, with the rank and the cause, and MISMATCH, with both calls: "rank 1 called bcast(n=5
 * of f64, root 2) where rank 0 called bcast(n=5 of f64, root 1)".
 *
 * If a buffer is not valid memory and another rank accesses it by a system call, the call returns
 * ARG with the name of the argument, the team breaks, and the other members get an error that names
 * the rank. In all other cases a wrong pointer ends the process, as usual.
 *
 * Calls of different members match if collective, root, n or counts, type, operation and the order
 * of operands are equal. If calls do not match, all members get MISMATCH from that call, from a
 * later call on the team, or from tutti_finalize. The team breaks as soon as any two members find
 * that a call differs, and the text names that call. So a member that is still in an earlier call,
 * in which all members agreed, may get MISMATCH from that earlier call. The outputs of the earlier
 * call are undefined then. If a rank sends something else in an alltoallv, alltoallw, gatherv,
 * scatterv or neighbourhood collective than the receiver expects, these two ranks get MISMATCH;
 * other members, whose own pieces match, may get OK. As in MPI, the sequences of basic types of a
 * piece must be equal at both ranks, whatever types they pass: two elements of a type of two I32
 * match four I32, but not two I64.
 */

/* Returns only after every rank of the team has called it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_barrier(tutti_team *team);
/* Copies buffer[0..n-1] of the root to all ranks. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_bcast(tutti_team *team, void *buffer, int64_t n,
                                                    tutti_type type, int root);
/* Stores in out[i] at the root: in[i] of rank 0 op in[i] of rank 1 op ... The other ranks' `out` is
 * ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, tutti_op op,
                                                     int root);
/* Does the same as tutti_reduce, but every rank gets the result. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allreduce(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type, tutti_op op);
/* Reduces in[0..p*n-1] of all p ranks and stores block r of the result at rank r: out[i] =
 * in[r*n+i] of rank 0 op in[r*n+i] of rank 1 op ..., for i < n. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_block(tutti_team *team, const void *in,
                                                                   void *out, int64_t n,
                                                                   tutti_type type, tutti_op op);
/* Like tutti_reduce_scatter_block, with blocks of counts[0], counts[1], ... elements, which follow
 * each other in `in`. All ranks pass the same counts. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter(tutti_team *team, const void *in,
                                                             void *out, const int64_t *counts,
                                                             tutti_type type, tutti_op op);
/* Stores in[0..n-1] of each rank r in out[r*n .. r*n+n-1] at the root. The other ranks' `out` is
 * ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gather(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, int root);
/* Does the same as tutti_gather, but every rank gets the result. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgather(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type);
/* Stores the counts[r] elements of rank r's `in` in out[displs[r] .. displs[r]+counts[r]-1], for
 * every r. All ranks pass the same counts; each rank may pass displacements of its own. The pieces
 * must not overlap. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgatherv(tutti_team *team, const void *in,
                                                         void *out, const int64_t *counts,
                                                         const int64_t *displs, tutti_type type);
/* Stores in[r*n .. r*n+n-1] of the root in out[0..n-1] at each rank r. The other ranks' `in` is
 * ignored. If the root passes TUTTI_IN_PLACE, its `out` holds the elements for all ranks and stays
 * as it is. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatter(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, int root);
/* Stores the n elements of each rank r's `in` in out[displs[r] .. displs[r]+counts[r]-1] at the
 * root. n of rank r equals counts[r] of the root. The other ranks' `out`, counts and displs are
 * ignored and may be NULL. The pieces must not overlap. If the root passes TUTTI_IN_PLACE, its own
 * piece lies at its place in `out`, and its n is not used. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gatherv(tutti_team *team, const void *in, int64_t n,
                                                      void *out, const int64_t *counts,
                                                      const int64_t *displs, tutti_type type,
                                                      int root);
/* Stores in[displs[r] .. displs[r]+counts[r]-1] of the root in out[0..n-1] at each rank r. n of
 * rank r equals counts[r] of the root. The other ranks' `in`, counts and displs are ignored and may
 * be NULL. The pieces may overlap. If the root passes TUTTI_IN_PLACE, its `out` holds all pieces
 * and stays as it is, and its n is not used. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatterv(tutti_team *team, const void *in,
                                                       const int64_t *counts, const int64_t *displs,
                                                       void *out, int64_t n, tutti_type type,
                                                       int root);
/* Stores in out[i] at each rank r: in[i] of rank 0 op ... op in[i] of rank r. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scan(tutti_team *team, const void *in, void *out,
                                                   int64_t n, tutti_type type, tutti_op op);
/* Stores in out[i] at each rank r > 0: in[i] of rank 0 op ... op in[i] of rank r-1. Nothing is
 * stored at rank 0, whose `out` is ignored unless the call is in place. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_exscan(tutti_team *team, const void *in, void *out,
                                                     int64_t n, tutti_type type, tutti_op op);
/* Sends n elements to each rank: at rank s, out[r*n .. r*n+n-1] = in[s*n .. s*n+n-1] of rank r. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoall(tutti_team *team, const void *in, void *out,
                                                       int64_t n, tutti_type type);
/* Sends in[in_displs[r] .. in_displs[r]+in_counts[r]-1] to rank r, and stores the elements that
 * rank r sends in out[out_displs[r] .. out_displs[r]+out_counts[r]-1]. out_counts[r] at rank s
 * equals in_counts[s] at rank r. Input pieces may overlap, output pieces must not. If `in` is
 * TUTTI_IN_PLACE, the other in_... arguments are ignored. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallv(tutti_team *team, const void *in,
                                                        const int64_t *in_counts,
                                                        const int64_t *in_displs, void *out,
                                                        const int64_t *out_counts,
                                                        const int64_t *out_displs, tutti_type type);
/* Does the same as tutti_alltoallv, with a type for each rank and displacements in bytes. Sends to
 * rank r the in_counts[r] elements of in_types[r] that begin in_displs[r] bytes into `in`. Stores
 * what rank r sends as out_counts[r] elements of out_types[r] that begin out_displs[r] bytes into
 * `out`. The pieces that this rank sends to rank r must pack to the same sequence of basic types as
 * those that rank r expects; if not, the two ranks get MISMATCH. A type whose count is 0 is
 * ignored. Output pieces must not overlap. If `in` is TUTTI_IN_PLACE, `out` with its lists is also
 * the input; the other in_... arguments are then ignored, and other ranks need not do the same.
 * Types may be freed after the call, also while a request lives. */
TUTTI_API TUTTI_MUST_CHECK tutti_status
tutti_alltoallw(tutti_team *team, const void *in, const int64_t *in_counts,
                const int64_t *in_displs, const tutti_type *in_types, void *out,
                const int64_t *out_counts, const int64_t *out_displs, const tutti_type *out_types);
/* The neighbourhood collectives, on a team that tutti_team_cart or tutti_team_graph made (else:
 * ARG) or on a duplicate of one. Each rank sends a piece to each of its destinations and receives a
 * piece from each of its sources, in the order of tutti_team_destinations and tutti_team_sources.
 * The library ignores pieces for TUTTI_NO_RANK and their entries in the lists. A sender and a
 * receiver must give their piece the same sequence of basic types. If a rank has another rank as a
 * neighbour several times, their pieces match in the order of the lists. In a grid, if a rank sends
 * a piece to its lower neighbour in a dimension, that neighbour receives it as the piece from its
 * higher neighbour. TUTTI_IN_PLACE is not allowed.
 *
 * Sends in[0..n-1] to each destination, and stores the n elements of source i in
 * out[i*n .. i*n+n-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgather(tutti_team *team, const void *in,
                                                                 void *out, int64_t n,
                                                                 tutti_type type);
/* Sends in[0..n-1] to each destination, and stores the counts[i] elements of source i in
 * out[displs[i] .. displs[i]+counts[i]-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgatherv(tutti_team *team, const void *in,
                                                                  int64_t n, void *out,
                                                                  const int64_t *counts,
                                                                  const int64_t *displs,
                                                                  tutti_type type);
/* Sends in[i*n .. i*n+n-1] to destination i, and stores the n elements of source i in
 * out[i*n .. i*n+n-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoall(tutti_team *team, const void *in,
                                                                void *out, int64_t n,
                                                                tutti_type type);
/* Sends in[in_displs[i] .. in_displs[i]+in_counts[i]-1] to destination i, and stores the elements
 * of source i in out[out_displs[i] .. out_displs[i]+out_counts[i]-1]. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type);
/* Does the same as tutti_neighbor_alltoallv, with a type for each piece and displacements in bytes,
 * as tutti_alltoallw. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types);

/* Nonblocking forms. *request is started; the caller owns it, completes it and frees it. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibarrier(tutti_team *team, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n,
                                                     tutti_type type, int root,
                                                     tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, tutti_op op,
                                                      int root, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallreduce(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_op op, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter_block(tutti_team *team,
                                                                    const void *in, void *out,
                                                                    int64_t n, tutti_type type,
                                                                    tutti_op op,
                                                                    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ireduce_scatter(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              tutti_type type, tutti_op op,
                                                              tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_igather(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, int root,
                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgather(tutti_team *team, const void *in,
                                                         void *out, int64_t n, tutti_type type,
                                                         tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iallgatherv(tutti_team *team, const void *in,
                                                          void *out, const int64_t *counts,
                                                          const int64_t *displs, tutti_type type,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscatter(tutti_team *team, const void *in, void *out,
                                                       int64_t n, tutti_type type, int root,
                                                       tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_igatherv(tutti_team *team, const void *in, int64_t n,
                                                       void *out, const int64_t *counts,
                                                       const int64_t *displs, tutti_type type,
                                                       int root, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscatterv(tutti_team *team, const void *in,
                                                        const int64_t *counts,
                                                        const int64_t *displs, void *out, int64_t n,
                                                        tutti_type type, int root,
                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iscan(tutti_team *team, const void *in, void *out,
                                                    int64_t n, tutti_type type, tutti_op op,
                                                    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_iexscan(tutti_team *team, const void *in, void *out,
                                                      int64_t n, tutti_type type, tutti_op op,
                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoall(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type,
                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ialltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_allgather(tutti_team *team, const void *in,
                                                                  void *out, int64_t n,
                                                                  tutti_type type,
                                                                  tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_allgatherv(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoall(tutti_team *team, const void *in,
                                                                 void *out, int64_t n,
                                                                 tutti_type type,
                                                                 tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoallv(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_ineighbor_alltoallw(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, tutti_request **request);

/* Persistent forms. *request is prepared, not started, and belongs to the caller. Local, does not
 * block, unless TUTTI_ALGORITHM forces an algorithm before which the ranks exchange their
 * counts. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_barrier_init(tutti_team *team, unsigned flags,
                                                           tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_bcast_init(tutti_team *team, void *buffer, int64_t n,
                                                         tutti_type type, int root, unsigned flags,
                                                         tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          tutti_op op, int root, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allreduce_init(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             tutti_op op, unsigned flags,
                                                             tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_block_init(tutti_team *team,
                                                                        const void *in, void *out,
                                                                        int64_t n, tutti_type type,
                                                                        tutti_op op, unsigned flags,
                                                                        tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_reduce_scatter_init(tutti_team *team, const void *in,
                                                                  void *out, const int64_t *counts,
                                                                  tutti_type type, tutti_op op,
                                                                  unsigned flags,
                                                                  tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gather_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          int root, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgather_init(tutti_team *team, const void *in,
                                                             void *out, int64_t n, tutti_type type,
                                                             unsigned flags,
                                                             tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_allgatherv_init(tutti_team *team, const void *in,
                                                              void *out, const int64_t *counts,
                                                              const int64_t *displs,
                                                              tutti_type type, unsigned flags,
                                                              tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatter_init(tutti_team *team, const void *in,
                                                           void *out, int64_t n, tutti_type type,
                                                           int root, unsigned flags,
                                                           tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_gatherv_init(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, int root, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scatterv_init(
    tutti_team *team, const void *in, const int64_t *counts, const int64_t *displs, void *out,
    int64_t n, tutti_type type, int root, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_scan_init(tutti_team *team, const void *in, void *out,
                                                        int64_t n, tutti_type type, tutti_op op,
                                                        unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_exscan_init(tutti_team *team, const void *in,
                                                          void *out, int64_t n, tutti_type type,
                                                          tutti_op op, unsigned flags,
                                                          tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoall_init(tutti_team *team, const void *in,
                                                            void *out, int64_t n, tutti_type type,
                                                            unsigned flags,
                                                            tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallv_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, unsigned flags,
    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_alltoallw_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgather_init(tutti_team *team,
                                                                      const void *in, void *out,
                                                                      int64_t n, tutti_type type,
                                                                      unsigned flags,
                                                                      tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_allgatherv_init(
    tutti_team *team, const void *in, int64_t n, void *out, const int64_t *counts,
    const int64_t *displs, tutti_type type, unsigned flags, tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoall_init(tutti_team *team,
                                                                     const void *in, void *out,
                                                                     int64_t n, tutti_type type,
                                                                     unsigned flags,
                                                                     tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallv_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs, void *out,
    const int64_t *out_counts, const int64_t *out_displs, tutti_type type, unsigned flags,
    tutti_request **request);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_neighbor_alltoallw_init(
    tutti_team *team, const void *in, const int64_t *in_counts, const int64_t *in_displs,
    const tutti_type *in_types, void *out, const int64_t *out_counts, const int64_t *out_displs,
    const tutti_type *out_types, unsigned flags, tutti_request **request);

/* A request is under way from tutti_start (or tutti_iX) until its owner has completed it: until
 * tutti_wait has returned, or tutti_test or tutti_request_check has returned anything but AGAIN.
 * Whether a request is under way therefore does not depend on other ranks or on their speed.
 * Functions of requests return ARG for a request that was freed. One thread per team at a time.
 *
 * Starts a request that is not under way. Collective over the team, as the collective itself; does
 * not block. Errors: ARG (request is NULL or under way). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_start(tutti_request *request);
/* Advances the request, and everything else that the client's teams have in flight, so that two
 * ranks may test requests of two teams in different orders. Returns OK if the request is complete,
 * AGAIN if it is not. If the request is not under way, the function returns OK if it was never
 * started, else the status with which it completed last. Does not block; but if there are more
 * ranks than processors, a loop of tests lets other ranks run between the tests. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_test(tutti_request *request);
/* Does what tutti_test does, but advances nothing. A program with many requests advances all of
 * them once, by tutti_advance of context 0, and then looks at each of them by this function. Local,
 * does not block. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_request_check(tutti_request *request);
/* Blocks until the request is complete, and advances everything else that the client's teams have
 * in flight. If the request is not under way, the function returns at once, like tutti_test. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_wait(tutti_request *request);
/* Frees a request that is not under way. NULL is allowed. Errors: ARG (under way). Local. */
TUTTI_API tutti_status tutti_request_free(tutti_request *request);

#ifdef __cplusplus
}
#endif

#endif
