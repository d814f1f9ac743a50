/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inboxes of the nodes of a job by PMIx or by the caller's allgather: each node has one if the
 * job has several nodes (notice.h). All ranks of a node hold the descriptor of their node's inbox,
 * and know the addresses of the inboxes of all nodes. A process joins only one such job.
 */
#ifndef TT_INBOXES_H
#define TT_INBOXES_H

#include "boot/notice.h"
#include "fabric/fabric.h"

/* ---- Making them (machines.c) ---- */

/* Makes room for the addresses of at most `nodes` inboxes. Returns whether there is memory. */
bool tt_inboxes_make(int nodes);
/* Opens the inbox of this node, and draws its token. Errors: LIMIT, SYSTEM. */
tutti_status tt_inboxes_open(void);
/* tt_inboxes_held returns the descriptor of this node's inbox, so that the rank that has opened it
 * can pass it to the other ranks; -1: there is none. tt_inboxes_hold stores the descriptor that
 * another rank has got; -1: the job has one node. */
int tt_inboxes_held(void);
void tt_inboxes_hold(int fd);
/* Closes this rank's descriptor, and forgets all inboxes. */
void tt_inboxes_close(void);
/* tt_inboxes_describe stores the token and the port of this node's inbox in the terms that this
 * node publishes. tt_inboxes_learn stores the address of a node's inbox from the node's terms. */
void tt_inboxes_describe(struct tt_terms *terms);
void tt_inboxes_learn(int node, const struct tt_terms *terms);

/* ---- Sending and taking: for a client on several nodes ---- */

/* Starts to send a notice to the other nodes. */
void tt_inboxes_notify(struct tt_fabric *f, const struct tt_notice *notice);
/* Records in the job's page the notices that have come, and answers the questions that have come.
 */
void tt_inboxes_take(struct tt_fabric *f);
/* Returns the descriptor of this node's inbox, which becomes readable when a notice has come; -1:
 * there is none. */
int tt_inboxes_fd(const struct tt_fabric *f);

/* Asks all other nodes that have living ranks what their ranks do, and waits for the answers until
 * until_ns (tt_clock_ns). Calls `fn` for each other node in order, with the text of the node's
 * answer, or NULL; `asked`: the node was asked, because it has living ranks. Returns false and
 * calls nothing if this is no job on several nodes, the nodes have not met yet, or there is no
 * memory. */
typedef void tt_answer_fn(void *arg, int node, bool asked, const char *text);
bool tt_inboxes_ask(struct tt_fabric *f, int64_t until_ns, tt_answer_fn *fn, void *arg);

#endif
