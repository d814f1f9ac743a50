/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a job find each other: each rank maps the job's memory, publishes that it has
 * joined, waits for the other ranks, and tries whether it can access their memory.
 */
#ifndef TT_BOOT_H
#define TT_BOOT_H

#include "boot/directory.h"
#include "fabric/fabric.h"

/* Takes a seat for one more client in the job that the environment names (TUTTI_RANK, TUTTI_SIZE,
 * TUTTI_JOB, or PMIx), or in the job of `gather` if that is not NULL. All clients of this process
 * in such a job share its memory. If there is no such job, makes a job of one rank. Errors: BOOT,
 * VERSION, LIMIT, ARG (this process is a child of the process that joined, or has joined another
 * job), and those of tt_segment_create and tt_segment_attach. Any thread. */
tutti_status tt_boot_attach(struct tt_seat *seat, const struct tt_gather *gather);
/* Releases the memory that tt_boot_attach mapped, after the rank has left the seat. `status` is an
 * error if the client could not be made; if the client was the job's first, nodes that still wait
 * for this node get the error. Any thread. */
void tt_boot_detach(struct tt_seat *seat, tutti_status status);

/* Warns if a launcher has started this process without PMIx, as the first one of several, so that
 * they do not form a job. `each` says what each process does instead: "is a job of one rank". */
void tt_boot_warn_of_many(const char *each);

/* Collective over the job: blocks until all ranks have called it. Sets those members of *f on which
 * the ranks agree, among them f->everywhere, f->fences, f->cores, f->policy (the wait policy),
 * f->one_kernel and the costs of reading. Errors: PEER if a rank failed before, MISMATCH if a
 * must-match setting (TT_MUST_MATCH_LIST) of this rank differs from that of another rank, and those
 * of tt_watch_open and tt_machines_agree. */
tutti_status tt_boot_meet(struct tt_fabric *f);

/* ---- Jobs on several nodes ---- */

/* Collective over the job, after the ranks have met. In a job on several nodes, publishes the
 * network address of this rank's client; a rank without an address (bytes 0) must call it, too. In
 * every job, takes a copy of the rankings that the first rank of the node has read, and leaves PMIx
 * if TUTTI_DETACH asks for that. Errors: BOOT, MEMORY, LIMIT. */
tutti_status tt_boot_show(struct tt_fabric *f, const void *address, size_t bytes);
/* A request for the network address of another rank. To be zeroed before the first call of
 * tt_boot_address or tt_boot_context_address. */
struct tt_asked {
    struct tt_reply *reply;
    /* the time by which the launcher's server must answer; if it has not answered by then, the rank
     * that this request is about is marked as failed */
    int64_t until_ns;
    /* the time at which to ask again for an address that the server does not know yet */
    int64_t again_ns;
    /* the last answer was from before this client was made, so the next request gets the value from
     * the server itself (`anew` in directory.h) */
    bool anew;
    int64_t pause_ns; /* the last pause before asking again */
    bool refused;     /* there is no address, and no further request is made */
};
/* Stores the address of another rank in address[TT_WIRE_ADDRESS]. The first call asks the
 * launcher's server and gives it a moment to answer; later calls check for the answer. AGAIN: there
 * is no answer yet. Errors: PEER (the rank has no address, or the server has not answered for
 * TUTTI_PEER_TIMEOUT; in the second case the rank is marked as failed). */
tutti_status tt_boot_address(struct tt_fabric *f, int rank, struct tt_asked *asked, void *address,
                             size_t *bytes);
/* Publishes the address of a context of this rank's client. The context is not context 0, whose
 * address tt_boot_show publishes. Does nothing in a job on one node, and where other ranks cannot
 * ask for the address (tt_records_put_context). Errors: BOOT. */
tutti_status tt_boot_show_context(const struct tt_fabric *f, int context, const void *address,
                                  size_t bytes);
/* Stores the address of a context of another rank, other than context 0, in
 * address[TT_WIRE_ADDRESS], and its length in *bytes. AGAIN: the server has not answered, or does
 * not know the context yet. No other error is returned. */
tutti_status tt_boot_context_address(const struct tt_fabric *f, int rank, int context,
                                     struct tt_asked *asked, void *address, size_t *bytes);
/* Cancels a request to the server. */
void tt_boot_address_end(struct tt_asked *asked);

#endif
