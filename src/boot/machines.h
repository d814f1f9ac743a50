/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job that a launcher with PMIx started, on one node or several: how its ranks get their memory,
 * and how the nodes agree.
 *
 *     node 0: ranks 0-3             node 1: ranks 4-5
 *     +---------------------+       +---------------------+
 *     | segment, made by 0  |       | segment, made by 4  |     on each: counters in the job's page
 *     +---------------------+       +---------------------+
 *               \___________ PMIx ___________/                  terms, a fence, records when wanted
 */
#ifndef TT_MACHINES_H
#define TT_MACHINES_H

#include "boot/address-record.h"
#include "fabric/fabric.h"

/* Does the work of tt_boot_attach for such a job. */
tutti_status tt_machines_attach(struct tt_segment *segment, int *rank);
/* Ends this process' use of the PMIx server when its last client ends. If `status` is an error,
 * nodes that still wait for this one get it. Does nothing in another kind of job. */
void tt_machines_leave(tutti_status status);
/* Uses the server again for another client. Errors: BOOT. */
tutti_status tt_machines_return(void);
/* Whether this process is in such a job, and `job` is its memory. */
bool tt_machines_has(const struct tt_job_page *job);

/* Collective over a job on several nodes, after the ranks of each node have met with the outcome
 * `status`. Compares the terms of all nodes, and sets f->everywhere, read_cost, cores and
 * policy (the wait policy) for the whole job, and one_kernel. Errors: BOOT, VERSION, MISMATCH, PEER
 * (the ranks of another node cannot go on). */
tutti_status tt_machines_agree(struct tt_fabric *f, tutti_status status);
/* Collective, after tt_machines_agree: publishes this rank's address record, with the host's
 * addresses, `port` and the network address `wire` (bytes 0: none). Errors: BOOT, LIMIT, MEMORY. */
tutti_status tt_machines_show(struct tt_fabric *f, uint16_t port, const void *wire, size_t bytes);

/* With TUTTI_DETACH=1, after the address records were published: fetches those of all other nodes
 * and leaves PMIx for good. Errors: BOOT, MEMORY. */
tutti_status tt_machines_detach(const struct tt_fabric *f);

/* Asks for the address records of a rank, and reads that of a client once the reply has come;
 * client TT_ANY_CLIENT: one of them. */
struct tt_reply *tt_machines_ask_record(const struct tt_fabric *f, int rank);
tutti_status tt_machines_end_record(int client, struct tt_reply *reply, int rank,
                                    struct tt_address_record *record);
/* Removes the address record of this rank's client with that number from those that are published,
 * because the client has ended. */
void tt_machines_hide(int client);

/* Publish and ask for a further context of the job's first client. The contexts of later clients
 * are not published. */
tutti_status tt_machines_show_context(const struct tt_fabric *f, int context, const void *wire,
                                      size_t bytes);
struct tt_reply *tt_machines_ask_context(const struct tt_fabric *f, int rank, int context);

/* Start to send a notice (notice.h) to the other nodes; take the notices that have come and record
 * them in the job's page. For a client on several nodes. */
void tt_machines_notify(struct tt_fabric *f, const struct tt_notice *notice);
void tt_machines_take_notices(struct tt_fabric *f);
/* The inbox of this node, which becomes readable when a notice has come; -1: there is none. */
int tt_machines_inbox(const struct tt_fabric *f);

/* Asks all other nodes that have living ranks what their ranks do, waits for the answers until the
 * given time (tt_clock_ns), and then calls `fn` for each other node in order, with the text of its
 * answer, or NULL; `asked`: it was asked. Returns false and calls nothing if this is no job on
 * several nodes, they have not met yet, or there is no memory. */
typedef void tt_answer_fn(void *arg, int node, bool asked, const char *text);
bool tt_machines_ask(struct tt_fabric *f, int64_t until_ns, tt_answer_fn *fn, void *arg);

/* TUTTI_PEER_TIMEOUT: how many seconds a host or server may be silent. TUTTI_BOOT_TIMEOUT: how many
 * seconds all ranks have to come. */
int tt_machines_peer_timeout(void);

#endif
