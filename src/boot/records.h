/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The address records of a job whose ranks meet by PMIx or by the caller's allgather. An address
 * record says how a client of a rank can be reached (address-record.h). Each rank publishes those
 * of its clients in the directory (directory.h), and the other ranks ask for them when they need
 * them.
 *
 * A PMIx server keeps every key for as long as the job runs, and the PMIx library sends all keys of
 * its process again with each commit and each fence that collects data. If each of Tutti's clients
 * had keys of its own, the cost of a client would grow with the number of clients before it. So
 * each rank has one key for the address records of all its clients that have not ended. A value
 * contains the numbers of its clients: a reader that gets an older value asks anew (directory.h).
 */
#ifndef TT_RECORDS_H
#define TT_RECORDS_H

#include "boot/address-record.h"
#include "boot/directory.h"
#include "fabric/fabric.h"

/* Adds an address record of this rank's client number `client` to the list that this rank
 * publishes, and publishes the list. Where values need a fence (directory.h), the caller runs it.
 * Errors: BOOT, LIMIT (too many clients have not ended), MEMORY. */
tutti_status tt_records_put(int client, const struct tt_address_record *record);
/* Removes the address record of this rank's client number `client`, which has ended, from the list
 * that this rank publishes with its next client. */
void tt_records_hide(int client);

/* tt_records_ask asks for the address records of a rank; NULL: the ranks of this job have none, or
 * there is no memory. When the reply has come, tt_records_end reads from it the record of one
 * client, or, for TT_ANY_CLIENT, of any client. It returns AGAIN if the records are older than the
 * client: the caller then asks anew (directory.h). Errors: PEER (the rank has left the client),
 * BOOT. */
struct tt_reply *tt_records_ask(const struct tt_fabric *f, int rank, bool anew);
tutti_status tt_records_end(int client, struct tt_reply *reply, int rank,
                            struct tt_address_record *record);

/* With TUTTI_DETACH=1: fetches the address records of the ranks of all other nodes, and leaves PMIx
 * for good. Call this after the fence that follows tt_records_put. Does nothing without the
 * setting. Errors: BOOT, MEMORY. */
tutti_status tt_records_detach(const struct tt_fabric *f);

/* tt_records_put_context publishes the address of a context other than context 0, if the client is
 * the job's first one, values need no fence (`at_once`), and this rank has not left PMIx; otherwise
 * it does nothing. tt_records_ask_context asks for this address; NULL: the address cannot be asked
 * for. */
tutti_status tt_records_put_context(const struct tt_fabric *f, int context, const void *wire,
                                    size_t bytes);
struct tt_reply *tt_records_ask_context(const struct tt_fabric *f, int rank, int context);

#endif
