/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a job find each other: each maps the job's memory, says that it is there, waits
 * for the others, and tries what works between them.
 */
#ifndef TT_BOOT_H
#define TT_BOOT_H

#include "fabric/fabric.h"

/* A seat for one more client in the job that the environment names (TUTTI_RANK, TUTTI_SIZE,
 * TUTTI_JOB), whose memory the clients of this process share; or the only one in a job of one.
 * Errors: BOOT, VERSION, ARG (in a child of the process that joined), LIMIT, and those of the
 * segment. Any thread. */
tutti_status tt_boot_attach(struct tt_seat *seat);
/* Gives back the memory that attaching gave, after the seat was left. Any thread. */
void tt_boot_detach(struct tt_seat *seat);

/* Collective over the job: blocks until all ranks have come; settles f->direct, fences, what
 * reading costs, cores, patience and one_kernel. Errors: PEER if a rank failed before, MISMATCH if
 * this one has settings of TT_ALIKE_LIST otherwise. */
tutti_status tt_boot_meet(struct tt_fabric *f);

/* ---- Of a job on several machines ---- */

/* After the ranks have met, collective over the job: what this rank's client can be reached by over
 * the wire. A rank that has nothing (bytes 0) comes too. On one machine nothing. Errors: BOOT. */
tutti_status tt_boot_show(struct tt_fabric *f, const void *address, size_t bytes);
/* An address that is asked for; all 0 before. */
struct tt_asked {
    struct tt_pmix_reply *reply;
    int64_t until_ns; /* the job's server answers before, or the rank's machine is cut off */
    int64_t again_ns; /* when to ask again for what it does not know yet */
    int64_t pause_ns; /* before, the last time */
    bool refused;
};
/* Stores the address of another rank in address[TT_WIRE_ADDRESS]. The first call asks the job's
 * server and gives it a moment to answer; later calls look for the answer. AGAIN: there is no
 * answer yet. Errors: PEER (the server does not know the rank, or has not answered for
 * TUTTI_PEER_TIMEOUT; the rank has failed then). */
tutti_status tt_boot_address(struct tt_fabric *f, int rank, struct tt_asked *asked, void *address,
                             size_t *bytes);
/* Tells where another context of this rank's client is; on one machine nothing. Errors: BOOT. */
tutti_status tt_boot_show_context(const struct tt_fabric *f, int context, const void *address,
                                  size_t bytes);
/* Does the same for a further context of another rank. AGAIN: the server has not answered, or does
 * not know the context yet. */
tutti_status tt_boot_context_address(const struct tt_fabric *f, int rank, int context,
                                     struct tt_asked *asked, void *address, size_t *bytes);
/* Cancels a question to the server. */
void tt_boot_address_end(struct tt_asked *asked);

#endif
