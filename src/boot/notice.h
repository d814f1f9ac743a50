/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notices: a rank of one node informs the ranks of other nodes about a rank that failed or left.
 *
 * Each node has an inbox: a listening socket that all ranks of the node hold. A notice is a TCP
 * connection to the inbox that carries one record. It arrives without any action of the receiving
 * ranks: the kernel of their host accepts the connection and keeps the record, even if the sender
 * ends meanwhile. The first rank of the node that waits for anything takes the record and stores it
 * in the job's page, where all ranks of the node see it. A rank that waits for no rank needs no
 * notice.
 *
 * Why no survivor waits for ever for a rank that has turned to recovery. Let F be a rank that
 * failed. Let W wait in a team of which F is a member. Let X be the living rank that W waits for; X
 * has left the call because it saw the failure.
 *
 * 1. X stored the failure in the page of its node before its team broke. If W is on that node, its
 *    next look at the page breaks its team, too.
 * 2. Otherwise X sent a notice to W's node before its call returned (tt_watch_notify), unless the
 *    page of X's node said that a rank had sent it. The page says so only when a rank of the node
 *    has handed the notices to the kernel, for every node to which it sends notices and which it
 *    could reach within a fifth of a second. That rank tries the other nodes again later. If it
 *    died before the page said so, X has sent the notices itself. W waits, so W, or another rank of
 *    its node, takes the notice out of the inbox.
 * 3. If X died before it sent the notice, X is a failed rank too, and W watches it, because W waits
 *    for it. When W finds that X has failed, the team breaks at W, and W is the next to send
 *    notices.
 * 4. A node that receives a notice sends notices to all other nodes in the same way. So once one
 *    living rank that waits has found a failure, all nodes receive a notice of it, whichever ranks
 *    die meanwhile: the argument of reliable broadcast (Cachin, Guerraoui, Rodrigues, "Introduction
 *    to Reliable and Secure Distributed Programming", Springer 2011, section 3.3).
 * 5. A notice names a rank of a client and no team, and every team that has this rank as a member
 *    breaks at its next look. So teams of subsets, and nodes with any number of members, need no
 *    rules of their own.
 * 6. A notice may overtake messages that F sent before it failed. In that case a call that might
 *    have succeeded ends with an error; any failure may cause that. A rank that left properly must
 *    not cause errors in this way, so a notice that a rank has left only starts a delay; a rank
 *    that still waits for the left rank after the delay reports it as missing (watch.c).
 * 7. A notice may be lost if a network drops packets for longer than TUTTI_PEER_TIMEOUT. W then
 *    asks X: a rank that waits long sends its call to the ranks that it waits for
 *    (tt_remote_send_call), and a rank whose team is broken answers with the cause.
 *
 * If one rank marks another rank as failed because it does not answer, all ranks mark it as failed,
 * and so does the marked rank itself if the notice reaches it. Otherwise two ranks could exclude
 * each other, and the other ranks would wait for both. Notices from ranks that are marked as failed
 * are refused. So if a network is cut in two, each half goes on by itself, even after the network
 * is repaired.
 *
 * In a job of up to TT_NOTICE_ALL nodes, a node sends its notices to all other nodes. In a larger
 * job it sends them to the nodes whose numbers differ from its own by a power of 2, in both
 * directions and modulo the number of nodes, and these nodes pass them on: the binomial graph of
 * Angskun, Bosilca, Dongarra, "Binomial graph: a scalable and fault-tolerant logical network
 * topology", ISPA 2007. This graph stays connected even if any 2 log2(nodes) - 1 nodes pass nothing
 * on.
 */
#ifndef TT_NOTICE_H
#define TT_NOTICE_H

#include "boot/address-record.h"

/* In a job of at most this many nodes, each node sends its notices to all other nodes. */
enum { TT_NOTICE_ALL = 64 };

/* The address of a node's inbox. */
struct tt_inbox {
    uint64_t token; /* random, known to the ranks of the job only: a notice without it is refused */
    uint16_t port;  /* 0: the node has no inbox */
    uint8_t addresses;
    uint8_t address[TT_RECORD_ADDRESSES][16];
};

/* Returns whether node `from` sends notices to node `to` directly, in a job of `nodes` nodes. */
bool tt_notice_goes(int from, int to, int nodes);

/* Starts to send a notice; tt_notice_advance goes on with sending. After timeout_s seconds, gives
 * up. Sends nothing if there is no memory or no descriptor. Any thread. */
void tt_notice_send(const struct tt_inbox *to, const struct tt_notice *notice, int timeout_s);
/* Advances the notices of this process that are not sent yet. Returns whether some of them are
 * still not sent. */
bool tt_notice_advance(void);
/* Calls tt_notice_advance until all notices are sent, or until the given time (tt_clock_ns). */
void tt_notice_flush(int64_t until_ns);

/* Records a notice in the job's page, unless its sender counts as failed. */
void tt_notice_note(struct tt_job_page *job, const struct tt_notice *notice);

/* Sets the address of a node's inbox from the terms that the node has published. */
void tt_inbox_of_terms(struct tt_inbox *inbox, const struct tt_terms *terms);
/* Makes an inbox and stores its descriptor. Errors: LIMIT, SYSTEM. */
tutti_status tt_inbox_open(int *fd);
/* Returns the port on which the inbox listens, in any process that has its descriptor; 0: fd is no
 * inbox. */
uint16_t tt_inbox_port(int fd);
/* Takes the next notice that has come to the inbox. Returns false if there is none. Discards
 * records that are no notices, or do not carry the inbox's `token` (struct tt_inbox). If the record
 * is a question (notice->asks), *asker is the connection over which to answer, which the caller
 * closes; else *asker is -1. */
bool tt_inbox_take(int fd, uint64_t token, struct tt_notice *notice, int *asker);

#endif
