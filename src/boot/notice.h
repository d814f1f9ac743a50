/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notices: what the ranks of one node know of a rank that failed or left, said to the ranks of
 * other nodes.
 *
 * Each node has an inbox: a listening socket that all ranks of the node hold. A notice is a TCP
 * connection to it that carries one record. It arrives without anybody's help: the kernels accept
 * it and keep it, also when its sender has ended since. The first rank of the node that waits for
 * anything takes it and stores it in the job's page, where all ranks of the node see it. A rank
 * that waits for nobody needs no notice.
 *
 * Why no survivor waits for ever for a rank that has turned to recovery. Let F be a rank that
 * failed, let W wait in a team of which F is a member, and let X be the living rank that W waits
 * for, which has left the call because it saw the failure.
 *
 * 1. X stored the failure in the page of its node before its team broke. If W is on that node, its
 * next look at the page
 *    breaks its team, too.
 * 2. Else X sent a notice to W's node before its call returned (tt_watch_tell), unless the page
 * said that this was done. The
 *    page says so only when some rank of the node has handed the notices for all other nodes to the
 *    kernel. So if that rank died before, X has sent them itself. W waits, so W, or another rank of
 *    its node, takes the notice out of the inbox.
 * 3. If X died before it sent the notice, X is a failed rank too, and W watches it, because W waits
 * for it. When W finds that,
 *    the team breaks at W, and W is the next to send notices.
 * 4. A node that is told tells all others likewise. So once one living rank that waits knows of a
 * failure, all nodes learn of it,
 *    whoever dies meanwhile: the argument of reliable broadcast (Cachin, Guerraoui, Rodrigues,
 *    "Introduction to Reliable and Secure Distributed Programming", Springer 2011, section 3.3).
 * 5. A notice names a rank of a client and no team, and every team that has this rank as a member
 * breaks at its next look. So
 *    teams of subsets, and nodes with any number of members, need nothing of their own.
 * 6. A notice may overtake what F sent before it failed. Then a call ends with an error that might
 * have succeeded, which a failure
 *    may always cause. For a rank that left in order it may not, so a notice about that only begins
 *    the time after which whoever still waits for the rank misses it (watch.c).
 * 7. A notice may be lost, where a network drops packets for longer than TUTTI_PEER_TIMEOUT. W then
 * asks X: a rank that waits
 *    long sends what it calls to those that it waits for (tt_far_tell), and a rank whose team is
 *    broken answers with the cause.
 *
 * A rank that one rank takes for dead, because no answer comes, is taken for dead by all, and by
 * itself if the notice reaches it: else two ranks could exclude each other, and the others wait for
 * both. Notices of ranks that count as failed are refused, so in a cut network each half goes on by
 * itself, also after the cable is mended.
 *
 * Up to TT_NOTICE_ALL nodes a node tells all others. Beyond, it tells those whose distance is a
 * power of 2, in both directions, which pass it on: the binomial graph of Angskun, Bosilca,
 * Dongarra, "Binomial graph: a scalable and fault-tolerant logical network topology", ISPA 2007. It
 * stays connected whichever 2 log2(nodes) - 1 nodes pass nothing on.
 */
#ifndef TT_NOTICE_H
#define TT_NOTICE_H

#include "boot/card.h"

enum { TT_NOTICE_ALL = 64 };

/* Where the notices for a node go. */
struct tt_inbox {
    uint64_t
        token; /* drawn at random, known to the ranks of the job: without it a notice is refused */
    uint16_t port; /* 0: the node has none */
    uint8_t addresses;
    uint8_t address[TT_CARD_ADDRESSES][16];
};

/* Whether node `from` tells node `to` itself. */
bool tt_notice_goes(int from, int to, int nodes);

/* Begins to send a notice. It goes on by tt_notice_advance, and is given up after so many seconds.
 * Without memory or descriptors nothing is sent. Any thread. */
void tt_notice_send(const struct tt_inbox *to, const struct tt_notice *notice, int timeout_s);
/* Moves on the notices of this process that are not sent yet; whether some are left. */
bool tt_notice_advance(void);
/* Does this until all are sent, or until the given time (tt_clock_ns). */
void tt_notice_flush(int64_t until_ns);

/* Notes in the job's page what a notice says, unless a rank says it that counts as failed. */
void tt_notice_note(struct tt_job_page *job, const struct tt_notice *notice);

/* Where a node's inbox is by its terms. */
void tt_inbox_of_terms(struct tt_inbox *inbox, const struct tt_terms *terms);
/* Makes an inbox. Errors: LIMIT, SYSTEM. */
tutti_status tt_inbox_open(int *fd);
/* The port that it listens on, in any process that holds it; 0: it is none. */
uint16_t tt_inbox_port(int fd);
/* The next notice that has come; false: none. Whatever else came is dropped. */
bool tt_inbox_take(int fd, uint64_t token, struct tt_notice *notice);

#endif
