/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams with members on several nodes. Members of one node communicate through shared memory;
 * members of two nodes send messages instead:
 *
 *   signal        one message to each remote member. The handler at the receiver stores it in the
 *                 mirror of the sender, where it is awaited like any other signal
 *   send, recv    one message each, matched in order by (execution, pair, lane); messages that come
 *                 before their recv are kept
 *   put, get      those of msg, with the keys that come with the first signal of an execution whose
 *                 plan opens buffers
 *   copy, reduce  operands that lie at a remote member are fetched first
 *
 * A member may send in execution k once it knows that the receiver has ended k - S. It learns that
 * from the receiver's `done`, which is in every message. A member that only receives sends its
 * `done` separately, every S / 2 executions or when asked. So the messages that wait at a receiver
 * are bounded by what its team sends in S executions.
 *
 * Why nobody waits for ever for this: the sender has itself ended k - S before it began k in the
 * same slot, so no member needs anything of k to end k - S. By induction over k, every member that
 * advances ends k - S.
 *
 * A message for an execution that this rank has not begun is kept until it begins, because an older
 * execution may still use the slot. Messages for teams that are not made here yet are kept, too.
 * Messages for teams that are gone are dropped: a member leaves a team only when everything that
 * its plans need has come.
 *
 * The thread that uses context 0 does all of this.
 */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "msg/msg.h"
#include "run/exec.h"

/* Registers the message handlers that the teams of a client share. Only for jobs of processes.
 * Errors: MEMORY. */
tutti_status tt_remote_open(struct tt_fabric *f, struct tt_msg *msg,
                            struct tt_remote_teams **remote_teams);
/* This rank has left or broken the team. Notifies the remote members with which it has exchanged
 * messages, so that none of them waits for an answer (settle.h). */
void tt_remote_depart(struct tt_team *t);
/* Calls tt_remote_depart for all teams of the client, then waits until all messages have been sent.
 * If a rank has failed, the wait is limited to 0.5 s. */
void tt_remote_leave(struct tt_remote_teams *remote_teams);
/* Frees everything. To be called after msg is closed. */
void tt_remote_close(struct tt_remote_teams *remote_teams);

/* The team handles messages from now on. All members must pass the same id, which none of them has
 * used for another team: the greatest of their tt_remote_next_id. */
void tt_remote_add(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id);
/* Does the same if this rank has used the id for no other team; else returns false. May be called
 * again with a greater id, if another member could not use this one. */
bool tt_remote_claim(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id);
uint32_t tt_remote_next_id(const struct tt_remote_teams *remote_teams); /* returns 0 for NULL */

/* ---- Members of this node whose memory the system does not let others access (served.c) ---- */

/* Lets peers ask for bytes that executions of the client's teams have open. `world` is one of these
 * teams. */
void tt_served_open(struct tt_msg *msg, struct tt_team *world);
/* The system refused a step of the lane: from now on the exec asks the members instead. Returns
 * AGAIN: the step is to be tried again. Errors: MEMORY, SYSTEM. */
tutti_status tt_served_refused(struct tt_exec *exec, uint32_t lane);
/* Starts a put or get that the system refused: messages carry it, and m->complete is set when it is
 * done. */
tutti_status tt_served_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                             struct tt_message *m);
/* Asks the sender for the first message of a receiver's end, whose bytes this rank could not
 * read. */
tutti_status tt_served_receive(struct tt_exec *exec, struct tt_end *end);

/* ---- For a team with members on other nodes (t->remote) ---- */

/* Signals to the remote ones of the receivers (a rank, TT_ALL, or the set), in two steps, so that
 * either all or none get it. tt_remote_may_signal returns AGAIN while some of them may not be sent
 * to yet. */
tutti_status tt_remote_may_signal(struct tt_exec *exec, const struct tt_plain *s);
tutti_status tt_remote_signal(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s);

/* The steps send, recv, put and get with a remote peer. */
extern const struct tt_reach tt_reach_remote;
/* Fetches those operands of a step that lie at remote ranks, and changes *s to name the copies.
 * AGAIN: some are still to come. */
tutti_status tt_remote_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s);
/* Frees the copies, once the step is done. */
void tt_remote_fetched(struct tt_exec *exec, uint32_t lane);

/* The execution begins: handles the messages that have come for it. */
void tt_remote_begin(struct tt_exec *exec);
/* The execution has ended: releases what it used and sends `done` to the members that need it. */
void tt_remote_end(struct tt_exec *exec);
/* The execution failed. Returns true while something still writes to its buffers: then the caller
 * must advance it and call this again. */
bool tt_remote_fail(struct tt_exec *exec);
/* Releases the memory that the execution registered or fetched. */
void tt_remote_release(struct tt_exec *exec);
/* Detaches all operations from the execution, which is going to be freed in whatever state. */
void tt_remote_forget(struct tt_exec *exec);
/* Whether the execution waits for this rank to complete an operation, or to give leave to send to
 * it. Awaits and shared memory do not count. */
bool tt_remote_waits_for(const struct tt_exec *exec, int rank);

/* After a long wait: sends the call of this rank to the remote members that the execution waits
 * for. */
void tt_remote_send_call(struct tt_exec *exec);
/* Whether a call of pairs (tt_coll_pairs) has ended whose counts may not have matched, so that only
 * remote members know: a member that expects nothing from this rank finds later what this rank sent
 * it. */
bool tt_remote_has_pairs(const struct tt_team *t);
/* Breaks the team if a member was asked which earlier call did not match, and does not answer. */
void tt_remote_end_doubt(struct tt_team *t);
/* Whether a member was asked that. */
bool tt_remote_doubts(const struct tt_team *t);
/* The last comparison (settle.h), after the team's last call: sends that call to this remote rank,
 * which compares it once it has made as many calls, and answers. AGAIN: the rank has not answered
 * yet. PEER: it left before it made as many calls. Other errors are not returned: a call that
 * cannot be sent is not compared. */
tutti_status tt_remote_settle(struct tt_team *t, int rank);
/* Sends this rank's last call to this remote rank, once. The receiver compares it when it has made
 * as many calls. */
void tt_remote_compare(struct tt_team *t, int rank);
/* Whether the rank has notified this one that it left. */
bool tt_remote_has_left(const struct tt_team *t, int rank);
/* Whether the remote rank has sent which buffers it opens to this rank in this execution. */
bool tt_remote_has_opened(const struct tt_team *t, int rank, uint64_t number);
/* The team broke because of t->culprit: notifies the remote members that know this rank as a
 * partner. */
void tt_remote_broke(struct tt_team *t);

#endif
