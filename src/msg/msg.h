/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the contexts of a job's ranks: what stands behind tutti/message.h, which says
 * what each function does, and what `run` sends between machines by.
 *
 * A message goes through shared memory to a rank whose arena lies in this segment, over the wire
 * (fabric/wire.h) to the others. Ids of dispatch below TUTTI_DISPATCHES are the user's; the
 * library's own follow.
 */
#ifndef TT_MSG_H
#define TT_MSG_H

#include <tutti/message.h>

#include "fabric/fabric.h"

struct tt_msg; /* of a client */

/* The library's own dispatch ids. */
enum tt_dispatch_id {
    TT_DISPATCH_RUN = TUTTI_DISPATCHES, /* signals and messages of plans: run/far.c */
    TT_DISPATCH_DATA,
    TT_DISPATCH_CREDIT,
    TT_DISPATCH_BROKEN,
    TT_DISPATCH_AGREE, /* run/agree.c */
    TT_DISPATCH_MORE,  /* free */
    TT_DISPATCHES = TUTTI_DISPATCHES + 16
};

/* Messaging of the client whose fabric this is, with context 0. What it maps of others it finds in
 * the job's page and arenas; nothing is connected. Errors: MEMORY, LIMIT, and of a job on several
 * machines those of the wire. */
tutti_status tt_msg_open(struct tt_fabric *f, tutti_client *client, struct tt_msg **msg);
/* Collective, when the ranks have met, before anything is sent: takes over what they settled, and
 * tells where context 0 is. Errors: those of the wire, BOOT. */
tutti_status tt_msg_met(struct tt_msg *msg);
/* Blocks until what was accepted has been taken, or will never be (leave.c); then tells ranks on
 * other machines that this one leaves, so that they take the end of its connections for no
 * failure. */
void tt_msg_leave(struct tt_msg *msg);
/* Drops whatever is under way; no completion function is called. */
void tt_msg_close(struct tt_msg *msg);

tutti_status tt_msg_add_contexts(struct tt_msg *msg, int n, tutti_context **contexts);
tutti_context *tt_msg_context(struct tt_msg *msg, int index);
int tt_msg_index(const tutti_context *context);
tutti_client *tt_msg_client(const tutti_context *context);

/* As tutti_advance, but for teams; and an error is given again until tt_msg_told: collectives
 * advance contexts too, and have nobody to tell of messages. */
tutti_status tt_msg_advance(tutti_context *context, int *events);
void tt_msg_told(tutti_context *context);
/* What wakes who waits for this context besides its bell; NULL: nothing. */
const struct tt_alarm *tt_msg_alarm(const tutti_context *context);
/* Nothing ever came to this context, was posted to it, or had to wait in it, so that there is
 * nothing to advance: one load. */
bool tt_msg_is_idle(const tutti_context *context);

/* Where there are assertions: `what`, which waits, is not called by anything that this thread
 * advances of the client. */
#ifdef NDEBUG
static inline void tt_msg_outside(const struct tt_msg *msg, const char *what)
{
    (void)msg;
    (void)what;
}
#else
void tt_msg_outside(const struct tt_msg *msg, const char *what);
#endif

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
/* The same by messages alone, of memory at `address` of the owner, which has to be open there: else
 * ARG. */
tutti_status tt_msg_get_at(tutti_context *context, tutti_endpoint *owner, void *to,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg);
tutti_status tt_msg_put_at(tutti_context *context, tutti_endpoint *owner, const void *from,
                           uint64_t address, int64_t bytes, tutti_done_fn *done, void *arg);
/* Says whether peers may touch this memory now: of what they ask so. Asked by who advances context
 * 0. */
typedef bool tt_opened_fn(void *arg, uint64_t address, uint64_t bytes);
void tt_msg_opened(struct tt_msg *msg, tt_opened_fn *fn, void *arg);
tutti_status tt_msg_fence(tutti_context *context, tutti_endpoint *to, tutti_done_fn *done,
                          void *arg);

#endif
