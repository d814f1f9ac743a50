/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job that a launcher with PMIx started, on one machine or on several: where its memory comes
 * from, and how the machines agree.
 *
 *     machine 0: ranks 0-3          machine 1: ranks 4-5
 *     +---------------------+       +---------------------+
 *     | segment, made by 0  |       | segment, made by 4  |     on each: counters in the job's page
 *     +---------------------+       +---------------------+
 *               \___________ PMIx ___________/                  terms, a fence, cards when wanted
 */
#ifndef TT_MACHINES_H
#define TT_MACHINES_H

#include "boot/card.h"
#include "fabric/fabric.h"

/* Does the work of tt_boot_attach for such a job. */
tutti_status tt_machines_attach(struct tt_segment *segment, int *rank);
/* The last client of this process ends: the server is left. status: why it cannot go on, which
 * those machines are told that wait for it. In another job nothing. */
void tt_machines_leave(tutti_status status);
/* There is another client after all. Errors: BOOT. */
tutti_status tt_machines_return(void);
/* Whether this process is in such a job, whose memory this is. */
bool tt_machines_has(const struct tt_job_page *job);

/* Collective over a job on several machines, whose ranks have met on each, with `status` as
 * outcome: compares the terms, settles f->direct, read_cost, cores and patience for all of them,
 * and one_kernel. Errors: BOOT, VERSION, MISMATCH, PEER (ranks of another machine cannot go on). */
tutti_status tt_machines_agree(struct tt_fabric *f, tutti_status status);
/* Collective, after it: tells this rank's card, with the machine's addresses, `port`, and what it
 * can be reached by over the wire; bytes 0: nothing. Errors: BOOT. */
tutti_status tt_machines_show(struct tt_fabric *f, uint16_t port, const void *wire, size_t bytes);

/* The part of it that puts the card. */
tutti_status tt_machines_put_card(const struct tt_fabric *f, uint16_t port, const void *wire,
                                  size_t bytes);

/* With TUTTI_DETACH=1, after the cards were shown: fetches those of all others and leaves PMIx for
 * good. Errors: BOOT, MEMORY. */
tutti_status tt_machines_detach(const struct tt_fabric *f);

/* The card of a rank: asked for, and read when it came. */
struct tt_pmix_reply *tt_machines_ask_card(const struct tt_fabric *f, int rank);
tutti_status tt_machines_end_card(const struct tt_fabric *f, struct tt_pmix_reply *reply, int rank,
                                  struct tt_card *card);
/* This rank's client of that number has ended: its card need not be shown any more. */
void tt_machines_hide(int client);

/* Where a further context of the job's first client is: told, and asked for. Of another client
 * nothing is told. */
tutti_status tt_machines_show_context(const struct tt_fabric *f, int context, const void *wire,
                                      size_t bytes);
struct tt_pmix_reply *tt_machines_ask_context(const struct tt_fabric *f, int rank, int context);

/* Sends a notice (notice.h) to the other machines, or begins to; takes those that have come, and
 * notes what they say in the job's page. Of a client on several machines. */
void tt_machines_tell(struct tt_fabric *f, const struct tt_notice *notice);
void tt_machines_hear(struct tt_fabric *f);

/* Addresses of this machine's interfaces that are up, loopback only where there is no other; how
 * many. */
int tt_machines_addresses(uint8_t address[TT_CARD_ADDRESSES][16]);
/* A number for the kernel that runs here, the same in all of its namespaces; 0: not known. */
uint64_t tt_machines_kernel(void);
/* How many processors hosts of one kernel use that told of so many: each of some for itself, or all
 * of the same. */
int tt_machines_cores(int told);

/* Seconds that a machine or a server may be silent: TUTTI_PEER_TIMEOUT; and that all ranks have for
 * coming: TUTTI_BOOT_TIMEOUT. */
int tt_machines_peer_timeout(void);
int tt_machines_boot_timeout(void);

#endif
