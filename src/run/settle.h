/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaving a team, and the check before leaving that the calls of this rank on the team match those
 * of all members.
 *
 * Most mismatches are found within a call, by a rank that waits for another rank. But in some calls
 * a rank waits for no other rank, or not for all: at the root of a broadcast, at a leaf of a
 * reduction, in an alltoallv with counts of 0. If such a call is a rank's last call on the team,
 * the functions of this file find its mismatch.
 */
#ifndef TT_SETTLE_H
#define TT_SETTLE_H

#include "run/team.h"

/* How long a rank waits for members that have not made the calls yet, in nanoseconds, counted from
 * the last time that one of these members made progress. */
#define TT_SETTLE_NS INT64_C(5000000000)

/* Compares this rank's calls with those of the members. Returns once every member has made as many
 * calls as this rank, or has failed or left, or the time *until_ns has passed. If a member makes
 * progress while the function waits, it sets *until_ns to TT_SETTLE_NS from then. A rank that
 * settles several teams one after the other passes the same variable for all, so that it waits for
 * the silent members of all teams together no longer than for one of them.
 *
 * Calls may be under way; they are advanced meanwhile. Errors: MISMATCH; PEER if a member has left
 * the team or the job without making as many calls as this rank. Returns OK for a team whose error
 * was already reported. `doing` is what the roll call prints for this rank while it waits. */
tutti_status tt_team_settle(struct tt_team *t, int64_t *until_ns, enum tt_doing doing);

/* Compares the calls that this rank has made so far with those of members that have made equally
 * many calls; waits for nobody. Returns MISMATCH if some differ; the team is broken then. */
tutti_status tt_team_compare(struct tt_team *t);

/* ---- Freeing a team ----
 *
 * A rank that frees a team waits for nobody. It begins to leave, and each later call takes it as
 * far through these steps as is possible without waiting:
 *
 *   1. It publishes that it has freed the team: by an execution without steps, which begins when
 *      its slot is free.
 *   2. It compares its last call, which is that execution, with those of the members, once they
 *      have made as many calls as this rank.
 *   3. It departs: it adds 1 to the `leavers` of each member on its node.
 *   4. When all members on its node have departed, it frees its own block.
 *
 * Why no block is freed too early: a member touches the blocks of other members for the last time
 * when it departs, and the owner of a block waits until all have departed. Why two ranks may free
 * teams in different orders: no step of one team waits for a step of another team, and a rank tries
 * every team that it has freed. Why leaving ends: each step of a member waits only for earlier
 * steps of other members. If a member dies, the team breaks, and the remaining members depart
 * without comparing; the block of a broken team lasts as long as the client, unless all living
 * members have given the team up. */

/* Begins to leave the team: step 1. */
void tt_team_begin_leaving(struct tt_team *t);
/* Does the next steps of leaving, as far as possible without waiting. Returns true if all are done;
 * then the caller frees the team, and its block, too, if `*shared` is set. Returns false also for a
 * team that is broken by a mismatch which no call has returned yet. */
bool tt_team_try_leave(struct tt_team *t, bool *shared);
/* Calls tt_team_try_leave for all other teams of the client of `t` that the user has freed. Does
 * not free the memory of the teams that this rank has left; a later call does. */
void tt_team_try_leave_all(struct tt_team *t);

#endif
