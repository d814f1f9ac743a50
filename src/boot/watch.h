/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out that a rank has died or left, in jobs in which no launcher of Tutti does so.
 *
 *   on this host      its process, by a pidfd, which becomes readable when it has ended; or, if it
 *                     is in another PID namespace, by a socket that exists until it has ended
 *   on another host   a TCP connection to its process that carries no data. The kernel of its host
 *                     answers for the process, even if it computes for hours: if the process dies,
 *                     the connection is reset; if the rank leaves properly, the connection is
 *                     closed; and if its host is cut off, the keep-alive probes of this host's
 *                     kernel get no answer
 *
 * Only a rank that waits long watches other ranks, and only those that it waits for. It records in
 * the job's page what it finds. Jobs of `tutti run` and jobs of the threads of one process need no
 * watching: f->watch is NULL in them, and these functions return at once. The ranks of a nested job
 * (tutti_team_threads) watch each other, whoever launched their processes.
 */
#ifndef TT_WATCH_H
#define TT_WATCH_H

#include "fabric/fabric.h"

/* Prepares this rank to watch other ranks and, in a job on several nodes, to be watched by them.
 * Errors: MEMORY, LIMIT, SYSTEM. */
tutti_status tt_watch_open(struct tt_fabric *f);
/* Ends all watches, and closes this rank's port properly, so that ranks that watch this rank see
 * that it left and did not die. */
void tt_watch_close(struct tt_fabric *f);
/* With TUTTI_WATCHDOG, in a job on several nodes: starts a thread that answers the questions of
 * other nodes for the roll call until tt_watch_close. Call this when the ranks have met. If the
 * system has no thread left, only ranks that wait answer. */
void tt_watch_answer(struct tt_fabric *f);
/* Returns the port at which other ranks watch this rank; 0: none. */
uint16_t tt_watch_port(const struct tt_fabric *f);
/* Returns the port at which other ranks watch this process until it ends; 0: none, because no
 * client of this process was on several nodes yet. Any thread. */
uint16_t tt_watch_process_port(void);

/* Watches `rank`, because this rank waits for it. Call this again and again while this rank waits,
 * in any thread; only the first call takes long. When the connection of `rank` has ended, data that
 * it sent before get half a second to arrive. If this rank still waits for `rank` after that,
 * `rank` is marked as failed. */
void tt_watch(struct tt_fabric *f, int rank);
/* Watches the processes of other ranks while this rank waits in tutti_init for ranks of other nodes
 * to come to the client. It watches the processes of all ranks of this node. If the job has had a
 * client before, it also watches the processes of this rank's share of the ranks of other nodes. To
 * be called again and again while this rank waits, and only while one thread uses the client. */
void tt_watch_comers(struct tt_fabric *f);
/* Does what tt_watch_comers does, but watches only `rank`, even if tt_watch_comers lets another
 * rank of this node watch it. */
void tt_watch_comer(struct tt_fabric *f, int rank);
/* Ends the watches of ranks of other nodes that tt_watch_comers and tt_watch_comer have begun. To
 * be called when these ranks have come, or when this rank waits no longer. */
void tt_watch_came(struct tt_fabric *f);

/* Begins to find out why the network's connection to `rank` has broken. Later calls of
 * tt_watch_look find either that the process of `rank` has ended, or that it cannot be reached any
 * more. If this rank cannot watch `rank` (f->watch is NULL, or there is no memory), marks `rank` as
 * failed with the cause LOST, unless a cause is known; if `rank` is on this node, first waits until
 * the launcher has had time to record a cause (tt_fabric_await_record). Any thread. */
void tt_watch_lost(struct tt_fabric *f, int rank);
/* Returns whether tt_watch_lost was called for some rank and the cause is not known yet. If so,
 * tt_watch_look must be called soon. */
bool tt_watch_seeks(const struct tt_fabric *f);

/* Notifies the ranks of other nodes of all failures that are recorded on this node (notice.h).
 * Returns when the notices to all nodes have been sent, but after a fifth of a second at most;
 * later calls of tt_watch_look go on with sending. Any thread. */
void tt_watch_notify(struct tt_fabric *f);
/* Notifies the ranks of other nodes that this rank leaves the client, or, if this rank has failed,
 * of all failures. */
void tt_watch_leave(struct tt_fabric *f);

/* Checks the ranks that this rank watches, if the last check was at least 50 ms ago. Any thread;
 * does not block. */
void tt_watch_look(struct tt_fabric *f);

#endif
