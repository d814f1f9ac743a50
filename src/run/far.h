/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams over several nodes: what is shared memory between members of one node is messages between
 * those of two.
 *
 *   signal        one message to each member on another node. The handler stores it into the mirror
 *                 of the one that gave it, from which it is awaited like any other
 *   send, recv    a message each, matched in order by (execution, pair, lane); early ones are put
 *                 off
 *   put, get      of msg, by the keys that come with the first signal of an execution whose plan
 *                 opens buffers
 *   copy, reduce  with operands there: they are got first
 *
 * A member may send in execution k once it knows that the receiver has ended k - S; that it learns
 * from the receiver's `done`, which travels with everything that one sends. Who only receives tells
 * it apart, every S / 2 executions or when asked. So what waits at a receiver is bounded by what
 * its team does in S executions.
 *
 * Why nobody waits for that forever: to end k - S nobody needs anything of k, for the sender has
 * ended k - S itself before it began k in the same slot; so by induction over k whoever advances
 * ends it.
 *
 * A message for an execution that this rank has not begun waits until then: the slot may still be
 * in use by an older one. Messages for teams that are not made here yet wait likewise; those for
 * teams that are gone are dropped, for a team is left only when all that its plans need has come.
 *
 * All of it is done by the thread that uses context 0.
 */
#ifndef TT_FAR_H
#define TT_FAR_H

#include "msg/msg.h"
#include "run/exec.h"

/* Opens what the teams of a client share: handlers, and endpoints of other ranks. Only in jobs of
 * processes. Errors: MEMORY. */
tutti_status tt_far_open(struct tt_fabric *f, struct tt_msg *msg, struct tt_far **far);
/* This rank gives up the team, or broke it: the far members that know it as a partner are notified,
 * so that none of them waits for an answer (settle.h). */
void tt_far_depart(struct tt_team *t);
/* Does this for all teams of the client, and returns when all messages are on their way. */
void tt_far_leave(struct tt_far *far);
/* After msg is closed. */
void tt_far_close(struct tt_far *far);

/* The team takes part from now on. All members give the same id, which none of them has given to
 * another team: the greatest of their tt_far_next_id. */
void tt_far_add(struct tt_far *far, struct tt_team *t, uint32_t id);
uint32_t tt_far_next_id(const struct tt_far *far); /* 0 of NULL */

/* ---- Members of this node whose memory the system forbids (served.c) ---- */

/* Peers may ask for what executions of the client's teams have open, of which this is one. */
void tt_served_open(struct tt_msg *msg, struct tt_team *world);
/* The lane's step was refused: members are asked from now on. AGAIN: so the step is to be tried
 * again. Errors: MEMORY. */
tutti_status tt_served_refused(struct tt_exec *exec, uint32_t lane);
/* A start that was refused: it is done by its peer; m->complete is set when it is. */
tutti_status tt_served_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                             struct tt_message *m);
/* The first message of a receiver's end, if it lacks its bytes: the sender is asked for them. */
tutti_status tt_served_receive(struct tt_exec *exec, struct tt_end *end);

/* ---- Of a team with members on other nodes (t->remote) ---- */

/* A signal to these (a rank, TT_ALL, or the set); in two steps, so that it is given to all or none:
 * AGAIN from the first if some may not be sent to yet. */
tutti_status tt_far_may_signal(struct tt_exec *exec, const struct tt_plain *s);
tutti_status tt_far_signal(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s);

/* Starts a send, recv, put or get with a far peer; m->complete is set when it is. AGAIN: not
 * yet. */
tutti_status tt_far_start(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                          struct tt_message *m);
/* For a step with operands of far ranks: gets them, and lets *s name them where they are then.
 * AGAIN: not here yet. */
tutti_status tt_far_fetch(struct tt_exec *exec, uint32_t lane, struct tt_plain *s);
/* The step is done. */
void tt_far_fetched(struct tt_exec *exec, uint32_t lane);

/* The execution begins: what has come for it is looked at. */
void tt_far_begin(struct tt_exec *exec);
/* It has ended. */
void tt_far_end(struct tt_exec *exec);
/* It failed. True: something still writes to its buffers, so that it must go on being advanced. */
bool tt_far_fail(struct tt_exec *exec);
/* Releases the memory that the execution registered or fetched. */
void tt_far_release(struct tt_exec *exec);
/* It is going to be freed in whatever state. */
void tt_far_forget(struct tt_exec *exec);
/* Whether it has something to do with this rank that is not complete, other than an await or what
 * shared memory does. */
bool tt_far_waits_for(const struct tt_exec *exec, int rank);

/* A long wait: those it waits for learn what is called here. */
void tt_far_tell(struct tt_exec *exec);
/* Whether only far members may know that counts of an alltoallv did not match: what was sent to one
 * that expects nothing is found there, later. */
bool tt_far_has_pairs(const struct tt_team *t);
/* The last comparison (settle.h), after the team's last call: what it was is sent to this far rank,
 * which compares it once it has made as many, and answers. AGAIN: it has not answered yet. PEER: it
 * has left before it made as many. Errors are not told apart: what cannot be sent is not
 * compared. */
tutti_status tt_far_settle(struct tt_team *t, int rank);
/* This rank's last call so far is sent to this far rank, once, which compares it when it has made
 * as many. */
void tt_far_compare(struct tt_team *t, int rank);
/* The rank has told that it left. */
bool tt_far_has_left(const struct tt_team *t, int rank);
/* Whether the far rank has sent which buffers it opens to this rank in this execution. */
bool tt_far_has_opened(const struct tt_team *t, int rank, uint64_t number);
/* The team broke, because of t->culprit: whoever has had to do with this rank in it learns that. */
void tt_far_broke(struct tt_team *t);

#endif
