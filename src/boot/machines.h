/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job whose ranks meet by PMIx or by the caller's allgather (directory.h), on one node or
 * several: how its ranks get their shared memory, and how the nodes agree.
 *
 *     node 0: ranks 0-3             node 1: ranks 4-5
 *     +---------------------+       +---------------------+
 *     | segment, made by 0  |       | segment, made by 4  |   in a node: counters in the job page
 *     +---------------------+       +---------------------+
 *               \___________ PMIx ___________/                between nodes: terms, address records
 *
 * The lowest rank of a node makes its segment. The ranks of a node meet by counters in the job page
 * (boot.c). After that, all nodes compare their terms, and each rank publishes its address record,
 * which other ranks fetch when they need it (records.h).
 */
#ifndef TT_MACHINES_H
#define TT_MACHINES_H

#include "boot/address-record.h"
#include "fabric/fabric.h"

/* Joins a job by PMIx or by the caller's allgather: maps the memory of this node, and stores this
 * process' rank. Errors: as tt_boot_attach. */
tutti_status tt_machines_attach(struct tt_segment *segment, int *rank);
/* Ends this process' use of the directory. Call this when the last client of the process ends.
 * Nodes that still wait for this node in the job's first client get an error: `status`, or BOOT if
 * `status` is OK. Does nothing if this process has joined no job by PMIx or by the caller's
 * allgather. */
void tt_machines_leave(tutti_status status);
/* Begins to use the directory again, for another client after tt_machines_leave. Errors: BOOT. */
tutti_status tt_machines_return(void);

/* Collective over a job on several nodes, after the ranks of each node have met; `status` is the
 * status of that meeting on this rank. Compares the terms of all nodes, and sets f->everywhere,
 * read_cost, cores and policy (the wait policy) for the whole job, and one_kernel. Errors: BOOT,
 * VERSION, MISMATCH, PEER (the ranks of another node cannot go on). */
tutti_status tt_machines_agree(struct tt_fabric *f, tutti_status status);
/* Collective, after tt_machines_agree: publishes this rank's address record. Besides the host's
 * addresses, it has `port`, at which other ranks watch this rank until it leaves the client, and
 * the network address `wire`, of `bytes` bytes (0: there is none). Errors: BOOT, LIMIT, MEMORY. */
tutti_status tt_machines_show(struct tt_fabric *f, uint16_t port, const void *wire, size_t bytes);

#endif
