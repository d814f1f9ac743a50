/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams with members on several nodes. Members of one node communicate through shared memory;
 * members of two nodes send messages instead:
 *
 *   signal        one message to each remote member. The handler at the receiver stores it in the
 *                 mirror of the sender, where it is awaited like any other signal
 *   send, recv    one message each, matched in order by (execution, pair, lane); messages that come
 *                 before their recv are kept
 *   put, get      puts and gets of the message layer (msg), with the keys that come with the first
 *                 signal of an execution whose plan opens buffers
 *   copy, reduce  operands that lie at a remote member are fetched first
 *
 * A member may send in execution k once it knows that the receiver has ended execution k - S, where
 * S is the number of slots. The sender learns this from the receiver's `done` (the number of
 * executions that it has ended), which is in every message. A member that only receives sends its
 * `done` separately, every S / 2 executions or when asked. So the messages that wait at a receiver
 * are bounded by what its team sends in S executions.
 *
 * Why no sender waits for ever: the sender has itself ended execution k - S before it began
 * execution k in the same slot, so no member needs anything of execution k to end execution k - S.
 * By induction over k, every member that advances ends execution k - S.
 *
 * A message for an execution that this rank has not begun is kept until the execution begins,
 * because an older execution may still use the slot. Messages for teams that this rank has not made
 * yet are kept, too. Messages for teams that are gone are dropped: a member leaves a team only when
 * everything that its plans need has come.
 *
 * The thread that uses context 0 handles all of these messages.
 */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "msg/msg.h"
#include "run/exec.h"

/* Registers the message handlers that the teams of a client share. Only for jobs of processes.
 * Errors: MEMORY. */
tutti_status tt_remote_open(struct tt_fabric *f, struct tt_msg *msg,
                            struct tt_remote_teams **remote_teams);
/* Notifies the remote members with which this rank has exchanged messages that it has left or
 * broken the team, so that none of them waits for an answer (settle.h). */
void tt_remote_depart(struct tt_team *t);
/* Calls tt_remote_depart for all teams of the client, then waits until all messages have been sent.
 * If a rank has failed, the wait is limited to 0.5 s. */
void tt_remote_leave(struct tt_remote_teams *remote_teams);
/* Frees *remote_teams and all that belongs to it. Call this after `msg` of tt_remote_open is
 * closed. */
void tt_remote_close(struct tt_remote_teams *remote_teams);

/* Lets the team handle messages from now on. All members must pass the same id, which none of them
 * has used for another team: the greatest of the values that tt_remote_next_id returns on the
 * members. */
void tt_remote_add(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id);
/* If this rank has used the id for no other team, does what tt_remote_add does; else returns false.
 * May be called again with a greater id, if another member could not use this one. */
bool tt_remote_claim(struct tt_remote_teams *remote_teams, struct tt_team *t, uint32_t id);
uint32_t tt_remote_next_id(const struct tt_remote_teams *remote_teams); /* returns 0 for NULL */

/* ---- Members of this node whose memory the system does not let others access (served.c) ---- */

/* Lets other ranks ask for bytes of buffers that executions of the client's teams have opened.
 * `world` is one of these teams, and leads to all of them (struct tt_team.ring). */
void tt_served_open(struct tt_msg *msg, struct tt_team *world);
/* Records that the system refused an access of a step of the lane: from now on the exec asks the
 * owners of the memory instead. Returns AGAIN: the step is to be tried again. Errors: MEMORY,
 * SYSTEM. */
tutti_status tt_served_refused(struct tt_exec *exec, uint32_t lane);
/* Starts a put or get that the system refused: messages carry the data, and m->complete is set when
 * the access is done. */
tutti_status tt_served_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                             struct tt_message *m);
/* Asks the sender to send the bytes of the first message in the queue of `end`, the receiver's end
 * of a channel: the system did not let this rank read them from the sender's memory. */
tutti_status tt_served_receive(struct tt_exec *exec, struct tt_end *end);

/* ---- For a team with members on other nodes (t->remote) ---- */

/* Send a signal to those receivers (a rank, TT_ALL, or a set) that are remote, in two steps, so
 * that either all of them or none get the signal. The first step, tt_remote_may_signal, returns
 * AGAIN while this rank may not send to some of them yet. */
tutti_status tt_remote_may_signal(struct tt_exec *exec, const struct tt_plain *s);
tutti_status tt_remote_signal(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s);

/* The steps send, recv, put and get with a remote peer. */
extern const struct tt_reach tt_reach_remote;
/* Fetches the operands of a step that lie in the memory of remote ranks, and changes *s to name the
 * copies. AGAIN: some operands have not come yet. */
tutti_status tt_remote_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s);
/* Frees the copies that tt_remote_fetch made, once the step is done. */
void tt_remote_fetched(struct tt_exec *exec, uint32_t lane);

/* Handles the messages that came for an execution before this rank began it. */
void tt_remote_begin(struct tt_exec *exec);
/* Releases what an ended execution used, and sends `done` to the members that need it. */
void tt_remote_end(struct tt_exec *exec);
/* Withdraws the recvs of an execution that failed, and cancels its operations. Returns true while
 * the network or another process still uses the buffers of the execution: then the caller must
 * advance the exec and call this again. */
bool tt_remote_fail(struct tt_exec *exec);
/* Releases the memory that the execution registered or fetched. */
void tt_remote_release(struct tt_exec *exec);
/* Call this before an exec is freed. Operations of the exec that are still under way will end
 * without it. Releases the memory that the exec registered or fetched. */
void tt_remote_forget(struct tt_exec *exec);
/* Returns whether the execution waits for member `rank` to complete an operation, or to allow the
 * next message to it. Awaits and shared memory do not count. */
bool tt_remote_waits_for(const struct tt_exec *exec, int rank);

/* After a long wait: sends the call signature of the execution to the remote members for which it
 * waits. */
void tt_remote_send_call(struct tt_exec *exec);
/* Returns whether a call of pairs (tt_coll_pairs) has ended in which counts may differ without this
 * rank noticing: a member on another node that expects nothing from this rank finds only later what
 * this rank sent to it. */
bool tt_remote_has_pairs(const struct tt_team *t);
/* This rank asks a member of another node to compare the earlier calls of both (remote-compare.c)
 * if it sees that some of them differ, but not which. tt_remote_end_doubt breaks the team if a
 * member that was asked has left, or has not answered in time. */
void tt_remote_end_doubt(struct tt_team *t);
/* Returns whether this rank has asked a member of another node which of the earlier calls
 * differ. */
bool tt_remote_doubts(const struct tt_team *t);
/* Makes the last comparison (settle.h) with this remote rank, after this rank's last call on the
 * team: sends that call to the remote rank. The remote rank compares the call when it has made as
 * many calls as this rank, and then answers. AGAIN: the remote rank has not answered yet. PEER: the
 * remote rank left before it made as many calls as this rank. Other errors are not returned: a call
 * that cannot be sent is not compared. */
tutti_status tt_remote_settle(struct tt_team *t, int rank);
/* Sends this rank's last call to this remote rank, once. The remote rank compares the call when it
 * has made as many calls as this rank. */
void tt_remote_compare(struct tt_team *t, int rank);
/* Returns whether the rank has notified this rank that it has left the team. */
bool tt_remote_has_left(const struct tt_team *t, int rank);
/* Returns whether a message of the remote rank has come that says which buffers the remote rank
 * opens to this rank in execution `number`. */
bool tt_remote_has_opened(const struct tt_team *t, int rank, uint64_t number);
/* Notifies the remote members with which this rank has exchanged messages, and which have not left
 * the team, that the team broke because of rank t->culprit of the job. */
void tt_remote_broke(struct tt_team *t);

#endif
