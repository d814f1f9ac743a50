/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the contexts of a job's ranks. This is the implementation of tutti/message.h,
 * which documents each function. Plans (src/run) use it, too, for their messages and signals
 * between nodes.
 *
 * A message to a rank whose arena lies in this rank's segment goes through shared memory. A message
 * to any other rank goes over the network (fabric/wire.h). Dispatch ids below TUTTI_DISPATCHES
 * belong to the user; the ids from TUTTI_DISPATCHES on belong to the library.
 */
#ifndef TT_MSG_H
#define TT_MSG_H

#include <tutti/message.h>

#include "fabric/fabric.h"

struct tt_msg; /* the messaging state of one client */

/* The dispatch ids that the library uses for itself. */
enum tt_dispatch_id {
    TT_DISPATCH_RUN = TUTTI_DISPATCHES, /* this and the next three serve plans: run/remote.c */
    TT_DISPATCH_DATA,
    TT_DISPATCH_CREDIT,
    TT_DISPATCH_BROKEN,
    TT_DISPATCH_AGREE, /* messages of the agreement protocol: recover/message.c */
    TT_DISPATCH_MORE,  /* the first unused id */
    TT_DISPATCHES = TUTTI_DISPATCHES + 16
};

/* Opens messaging for the client that this fabric belongs to, and makes context 0. Connects to
 * nobody: the call finds the shared memory of other ranks through the job page and their arenas.
 * Errors: MEMORY, LIMIT, and in a job on several nodes those of the wire. */
tutti_status tt_msg_open(struct tt_fabric *f, tutti_client *client, struct tt_msg **msg);
/* Finishes the setup after the ranks have met (tt_boot_meet) and before anything is sent. Adopts
 * the settings on which the ranks agreed, and publishes the network address of context 0.
 * Collective. Errors: those of the wire, BOOT. */
tutti_status tt_msg_met(struct tt_msg *msg);
/* Blocks until the targets have received every message that this client accepted, except those that
 * will never be received (leave.c). Then notifies ranks on other nodes that this rank leaves, so
 * that they do not take the end of its connections for a failure. */
void tt_msg_leave(struct tt_msg *msg);
/* Frees everything and abandons what is under way; calls no completion function. */
void tt_msg_close(struct tt_msg *msg);

tutti_status tt_msg_add_contexts(struct tt_msg *msg, int n, tutti_context **contexts);
tutti_context *tt_msg_context(struct tt_msg *msg, int index);
int tt_msg_index(const tutti_context *context);
tutti_client *tt_msg_client(const tutti_context *context);

/* Does the same as tutti_advance, but does not advance teams. Each call returns the same error
 * again until tt_msg_error_returned is called: collectives advance contexts too, and their callers
 * cannot report an error of a message. */
tutti_status tt_msg_advance(tutti_context *context, int *events);
/* Returns whether an error of tt_msg_advance may concern every message of the context, as a lack of
 * memory or an error of the system does. Other errors are those of a user's message. */
static inline bool tt_msg_concerns_all(tutti_status status)
{
    return status == TUTTI_ERR_MEMORY || status == TUTTI_ERR_LIMIT || status == TUTTI_ERR_SYSTEM;
}
void tt_msg_error_returned(tutti_context *context);
/* Returns the wake descriptor on which a waiter for this context must sleep in addition to the wake
 * word; NULL: there is none. */
const struct tt_wake_descriptor *tt_msg_wake_descriptor(const tutti_context *context);
/* Returns whether nothing has ever arrived at this context, been posted to it or been started in
 * it, so that there is nothing to advance. Costs one load. */
bool tt_msg_is_idle(const tutti_context *context);

/* Returns whether all packets of the context have left this process (tutti_drain). */
bool tt_msg_is_drained(const tutti_context *context);

/* Checks that this thread is not inside a handler, completion function or posted work of this
 * client: these must not call a function that waits. The check is called as the argument of
 * tt_assert. Returns true; if the check fails, it ends the process and says why. `what` names the
 * waiting function that was called. */
bool tt_msg_outside(const struct tt_msg *msg, const char *what);

tutti_status tt_msg_dispatch(struct tt_msg *msg, int id, tutti_message_fn *fn, void *arg);
tutti_status tt_msg_endpoint(struct tt_msg *msg, int rank, int context, tutti_endpoint **endpoint);
int tt_msg_rank(const tutti_endpoint *endpoint);
int tt_msg_context_of(const tutti_endpoint *endpoint);
tutti_status tt_msg_post(tutti_context *context, tutti_work_fn *work, void *arg);
tutti_status tt_msg_send(tutti_context *context, const tutti_send *send);
tutti_status tt_msg_immediate(tutti_context *context, tutti_endpoint *to, int dispatch,
                              const void *header, size_t header_bytes, const void *data,
                              size_t bytes);
tutti_status tt_msg_receive(tutti_context *context, tutti_pending *pending,
                            const tutti_receive *receive);
tutti_status tt_msg_region(struct tt_msg *msg, void *memory, size_t bytes, tutti_region **region);
tutti_status tt_msg_region_free(tutti_region *region);
tutti_status tt_msg_region_key(const tutti_region *region, tutti_key *key);
tutti_status tt_msg_get(tutti_context *context, tutti_endpoint *owner, void *to,
                        const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                        void *arg);
tutti_status tt_msg_put(tutti_context *context, tutti_endpoint *owner, const void *from,
                        const tutti_key *key, int64_t offset, int64_t bytes, tutti_done_fn *done,
                        void *arg);
/* Get or put bytes of the owner's memory as tt_msg_get and tt_msg_put do, but without a key, and
 * only by messages. `address` is an address in the owner's memory. The owner's memory must be open
 * to its peers when the message arrives there (tt_opened_fn); otherwise the operation ends with
 * ARG. */
tutti_status tt_msg_get_at(tutti_context *context, tutti_endpoint *owner, void *to,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg);
tutti_status tt_msg_put_at(tutti_context *context, tutti_endpoint *owner, const void *from,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg);
/* Returns whether peers may access these bytes of this rank's memory now. tt_msg_opened registers
 * such a function for accesses by tt_msg_get_at and tt_msg_put_at; the thread that advances the
 * receiving context calls it. */
typedef bool tt_opened_fn(void *arg, uint64_t address, uint64_t bytes);
void tt_msg_opened(struct tt_msg *msg, tt_opened_fn *fn, void *arg);
tutti_status tt_msg_fence(tutti_context *context, tutti_endpoint *to, tutti_done_fn *done,
                          void *arg);

#endif
