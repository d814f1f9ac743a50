/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: clients. A client is how a process joins and leaves a job. tutti.h includes this file, and
 * states what holds for all functions.
 */
#ifndef TUTTI_CLIENT_H
#define TUTTI_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <tutti/status.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * If the process has closed its standard input, output or error, the call opens /dev/null in its
 * place, so that no file of the library gets its descriptor number.
 *
 * If the launcher of this host is killed, its ranks end, too, also those that are in no call: they
 * get SIGTERM, and then SIGKILL. A launcher that speaks PMIx cannot send these signals any more, so
 * the library sends them from tutti_init on, a second apart, until the process ends.
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
 * If the last of the calls fails on some ranks only, the other ranks wait for up to
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
 * this rank, or has failed or left, or until no member of any team has made progress for five
 * seconds. It does not wait until members finalize. After a barrier or an allreduce it does not
 * wait. If this rank leaves before another rank makes one call too many, only that other rank gets
 * an error. Errors:
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
 * spins, and longer while it yields the processor (Waiting in docs/tuning.md of the sources). With
 * first = 200 and every = 32, a hook does not make short calls slower.
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
 *     UNSUPPORTED  the ranks of the team are on several nodes or in several PID namespaces; no
 *                  thread was started
 *     BOOT         a rank cannot open the memory that rank 0 has made (/proc/PID/fd forbids it); no
 *                  thread was started
 *     MISMATCH     the calls on the team do not match (no thread was started), or the failed thread
 *                  with the lowest rank in this process got MISMATCH from tutti_finalize
 *     MEMORY, LIMIT, SYSTEM, PEER */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_threads(tutti_team *team, int n,
                                                           tutti_thread_fn *fn, void *arg);

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

#ifdef __cplusplus
}
#endif

#endif
