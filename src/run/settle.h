/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Before a rank gives up a team: whether the calls that it made there match those of all members.
 *
 * Most mismatches are found within a call, by whoever waits for another rank there. What is left
 * are calls in which a rank waits for nobody, or not for all: the root of a broadcast, a leaf of a
 * reduction, an alltoallv with counts of 0. Where such a call is a rank's last on the team, this is
 * where it hears.
 */
#ifndef TT_SETTLE_H
#define TT_SETTLE_H

#include "run/team.h"

/* How long a rank waits for members that have not made the calls yet, counted from the last time
 * that one of them got on. */
#define TT_SETTLE_NS INT64_C(5000000000)

/* Compares this rank's calls with those of the members, and returns once all of them have made as
 * many: or failed, or left, or none got on for limit_ns. Errors: MISMATCH; PEER, where a member has
 * left the team or the job without making them. OK for a team that has failed and said so, and for
 * one with calls in flight. `doing` is what the roll call says this rank does meanwhile. */
tutti_status tt_team_settle(struct tt_team *t, int64_t limit_ns, enum tt_doing doing);

/* Compares the calls that this rank has made so far with those of members that have made as many,
 * and waits for nobody. MISMATCH: of the team, which is broken now. */
tutti_status tt_team_compare(struct tt_team *t);

#endif
