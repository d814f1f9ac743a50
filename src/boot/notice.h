/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notices: a rank of one node informs the ranks of other nodes about a rank that failed or left.
 *
 * Each node has an inbox: a listening socket that all ranks of the node hold. A notice is a TCP
 * connection to it that carries one record. It arrives without any action of the receiver: the
 * kernels accept it and keep it, even if its sender has ended since. The first rank of the node
 * that waits for anything takes it and stores it in the job's page, where all ranks of the node see
 * it. A rank that waits for nobody needs no notice.
 *
 * Why no survivor waits for ever for a rank that has turned to recovery. Let F be a rank that
 * failed. Let W wait in a team of which F is a member. Let X be the living rank that W waits for; X
 * has left the call because it saw the failure.
 *
 * 1. X stored the failure in the page of its node before its team broke. If W is on that node, its
 *    next look at the page breaks its team, too.
 * 2. Otherwise X sent a notice to W's node before its call returned (tt_watch_notify), unless the
 *    page said that this was done. The page says so only when some rank of the node has handed the
 *    notices for all other nodes to the kernel. So if that rank died before, X has sent them
 *    itself. W waits, so W, or another rank of its node, takes the notice out of the inbox.
 * 3. If X died before it sent the notice, X is a failed rank too, and W watches it, because W waits
 *    for it. When W finds that X has failed, the team breaks at W, and W is the next to send
 *    notices.
 * 4. A node that receives a notice sends notices to all others in the same way. So once one living
 *    rank that waits knows of a failure, all nodes learn of it, whoever dies meanwhile: the
 *    argument of reliable broadcast (Cachin, Guerraoui, Rodrigues, "Introduction to Reliable and
 *    Secure Distributed Programming", Springer 2011, section 3.3).
 * 5. A notice names a rank of a client and no team, and every team that has this rank as a member
 *    breaks at its next look. So teams of subsets, and nodes with any number of members, need no
 *    rules of their own.
 * 6. A notice may overtake what F sent before it failed. Then a call that might have succeeded ends
 *    with an error, which a failure may always cause. A rank that left in order must not cause
 *    that, so a notice about it only starts a delay; a rank that still waits for it afterwards
 *    reports it as missing (watch.c).
 * 7. A notice may be lost if a network drops packets for longer than TUTTI_PEER_TIMEOUT. W then
 *    asks X: a rank that waits long sends its call to the ranks that it waits for
 *    (tt_remote_send_call), and a rank whose team is broken answers with the cause.
 *
 * If one rank takes another for dead because no answer comes, all ranks do, and so does that rank
 * itself if the notice reaches it. Otherwise two ranks could exclude each other, and the others
 * would wait for both. Notices of ranks that count as failed are refused. So if a network is cut in
 * two, each half goes on by itself, even after the network is repaired.
 *
 * In a job of up to TT_NOTICE_ALL nodes, a node sends its notices to all others. In a larger job it
 * sends them to the nodes whose distance is a power of 2, in both directions, and those pass them
 * on: the binomial graph of Angskun, Bosilca, Dongarra, "Binomial graph: a scalable and
 * fault-tolerant logical network topology", ISPA 2007. It stays connected whichever 2 log2(nodes) -
 * 1 nodes pass nothing on.
 */
#ifndef TT_NOTICE_H
#define TT_NOTICE_H

#include "boot/address-record.h"

/* In a job of at most this many nodes, each node sends its notices to all others. */
enum { TT_NOTICE_ALL = 64 };

/* The address of a node's inbox. */
struct tt_inbox {
    uint64_t token; /* random, known to the ranks of the job only: a notice without it is refused */
    uint16_t port;  /* 0: the node has none */
    uint8_t addresses;
    uint8_t address[TT_RECORD_ADDRESSES][16];
};

/* Whether node `from` sends notices to node `to` itself. */
bool tt_notice_goes(int from, int to, int nodes);

/* Starts to send a notice; tt_notice_advance continues. It is given up after timeout_s seconds.
 * Without memory or descriptors nothing is sent. Any thread. */
void tt_notice_send(const struct tt_inbox *to, const struct tt_notice *notice, int timeout_s);
/* Advances the notices of this process that are not sent yet. Returns whether some are left. */
bool tt_notice_advance(void);
/* Calls tt_notice_advance until all are sent, or until the given time (tt_clock_ns). */
void tt_notice_flush(int64_t until_ns);

/* Records a notice in the job's page, unless its sender counts as failed. */
void tt_notice_note(struct tt_job_page *job, const struct tt_notice *notice);

/* Fills in a node's inbox from its terms. */
void tt_inbox_of_terms(struct tt_inbox *inbox, const struct tt_terms *terms);
/* Makes an inbox. Errors: LIMIT, SYSTEM. */
tutti_status tt_inbox_open(int *fd);
/* The port that the inbox listens on, in any process that holds it; 0: it is no inbox. */
uint16_t tt_inbox_port(int fd);
/* Takes the next notice that has come. Returns false if there is none. Discards everything else
 * that came. If it is a question (notice->asks), *asker is the connection over which to answer,
 * which the caller closes; else -1. */
bool tt_inbox_take(int fd, uint64_t token, struct tt_notice *notice, int *asker);

#endif
