/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out that a rank is gone, in jobs where no launcher of Tutti does.
 *
 *   on this host      its process, by a pidfd, which becomes readable when it has ended
 *   on another host   a TCP connection to it that carries no data. Its kernel answers for it, even
 *                     if it computes for hours: a process that died resets the connection, one
 *                     that left in order closes it, and from a host that is cut off the kernel's
 *                     own probes get no answer
 *
 * Only a rank that waits long watches others, and only those that it waits for. It records what it
 * finds in the job's page. Jobs of `tutti run` and of the threads of one process need none of this:
 * f->watch is NULL there, and these functions return at once. The ranks of a nested job
 * (tutti_team_threads) watch each other, whoever launched their processes.
 */
#ifndef TT_WATCH_H
#define TT_WATCH_H

#include "fabric/fabric.h"

/* Prepares to watch and, in a job on several nodes, to be watched. Errors: MEMORY, LIMIT,
 * SYSTEM. */
tutti_status tt_watch_open(struct tt_fabric *f);
/* Leaves in order: ranks that watch this one see that it left and did not die. */
void tt_watch_close(struct tt_fabric *f);
/* With TUTTI_WATCHDOG, in a job on several nodes: from now until tt_watch_close a thread answers
 * the questions of other nodes for the roll call. To be called when the ranks have met. Without
 * resources for a thread, only ranks that wait answer. */
void tt_watch_answer(struct tt_fabric *f);
/* The port at which this rank is watched; 0: none. */
uint16_t tt_watch_port(const struct tt_fabric *f);
/* The port at which this process is watched until it ends; 0: none, because no client was on
 * several nodes yet. Any thread. */
uint16_t tt_watch_process_port(void);

/* This rank waits for that rank of its job. Called again and again while it does, by any thread;
 * cheap after the first time. When the rank's connection has ended, what it sent before gets half a
 * second to arrive. If this rank still waits for it after that, the rank is marked as failed. */
void tt_watch(struct tt_fabric *f, int rank);
/* This rank waits in tutti_init until the ranks of other nodes come to the client. To be called
 * again and again while it does. Finds out that a process has ended: of any rank of this node, and,
 * if the job has had a client before, of the ranks of other nodes that this rank looks after. Only
 * one thread uses the client yet. */
void tt_watch_comers(struct tt_fabric *f);
/* As tt_watch_comers, this rank waits in tutti_init, but for one rank only. It finds out that the
 * process of this rank has ended, even if another rank of this node looks after it. */
void tt_watch_comer(struct tt_fabric *f, int rank);
/* The ranks have come, or this rank waits no longer: ends those watches of other nodes' ranks. */
void tt_watch_came(struct tt_fabric *f);

/* The network's connection to that rank has broken. Either its process has ended, which the next
 * looks find out, or it cannot be reached any more. If nobody watches here, waits for what the
 * launcher records (tt_fabric_await_record). Any thread. */
void tt_watch_lost(struct tt_fabric *f, int rank);
/* Whether tt_watch_lost was called for some rank and the cause is not known yet; then tt_watch_look
 * must be called soon. */
bool tt_watch_seeks(const struct tt_fabric *f);

/* Notifies the ranks of other nodes of all failures that this node knows (notice.h). Returns when
 * all nodes that can be reached have been notified; a broken network delays that by at most a fifth
 * of a second. Any thread. */
void tt_watch_notify(struct tt_fabric *f);
/* This rank leaves the client: notifies the ranks of other nodes of that, or, if this rank has
 * failed, of all failures. */
void tt_watch_leave(struct tt_fabric *f);

/* Checks the ranks that are watched, if the last check was at least 50 ms ago. Any thread; does not
 * block. */
void tt_watch_look(struct tt_fabric *f);

#endif
