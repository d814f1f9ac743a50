/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeing that a rank is gone, where no launcher of ours sees it for us.
 *
 *   on this machine     its process, by a pidfd: readable once it has ended
 *   on another one      a TCP connection to it that carries nothing. Its kernel answers for it,
 *                       though it computes for hours: a process that died resets the connection,
 *                       one that left in order closes it, and of a machine that is cut off no
 *                       answer comes to the kernel's own probes
 *
 * Only who waits long watches, and only those it waits for. What is found goes into the job's page.
 * Jobs of `tutti run` and of threads need none of it: f->watch is NULL there, and these functions
 * return at once.
 */
#ifndef TT_WATCH_H
#define TT_WATCH_H

#include "fabric/fabric.h"

/* Ready to watch and, where the job is on several machines, to be watched. Errors: MEMORY, LIMIT,
 * SYSTEM. */
tutti_status tt_watch_open(struct tt_fabric *f);
/* Leaves in order: those who watch this rank see that it left and did not die. */
void tt_watch_close(struct tt_fabric *f);
/* The port that this rank is watched at; 0: none. */
uint16_t tt_watch_port(const struct tt_fabric *f);
/* The port that tells whether this process has ended; 0: none, as no client was on several machines
 * yet. Any thread. */
uint16_t tt_watch_process_port(void);

/* This rank still waits for that one, of its job: said again and again while it does, by any
 * thread. Cheap after the first time. A rank whose connection ended is given a second for what it
 * sent before; if it is waited for beyond, it is marked failed. */
void tt_watch(struct tt_fabric *f, int rank);
/* The network's connection to that rank of another machine has broken. Its process has ended then,
 * which the next looks find out, or it cannot be reached any more. False: nobody watches here, so
 * the caller has to decide. Any thread. */
bool tt_watch_lost(struct tt_fabric *f, int rank);
/* Whether that is still to be found out of some rank: then tt_watch_look is to be called soon. */
bool tt_watch_seeks(const struct tt_fabric *f);

/* Notifies the ranks of other machines of all failures that this node knows (notice.h). Returns
 * when all machines that can be reached have been notified; a broken network delays that by a fifth
 * of a second. Any thread. */
void tt_watch_tell(struct tt_fabric *f);
/* This rank leaves the client in order, or failed: the same. */
void tt_watch_leave(struct tt_fabric *f);

/* Looks after those that are watched, if the last look is 50 ms ago. Any thread, does not block. */
void tt_watch_look(struct tt_fabric *f);

#endif
