/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements between the living members of a team, failed or not: accord.h's steps, carried by
 * messages between the clients' contexts 0, on one machine and between machines alike.
 *
 * A message says which agreement it belongs to: the team's id and how many there have been on that
 * team. One that comes before it was asked for here is kept until it is; one of an agreement that
 * has ended here is dropped.
 */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include "msg/msg.h"
#include "run/accord.h"
#include "run/team.h"

struct tt_agree; /* of a client */

/* any: one of the client's teams, which lasts as long as the agreements do. */
tutti_status tt_agree_open(struct tt_msg *msg, struct tt_team *any, struct tt_agree **agree);
void tt_agree_close(struct tt_agree *agree);

/* The call of a member. The agreement combines them by OR, so that all members notice different
 * calls alike. A member adds BROKEN if the team does not work any more. */
enum tt_agree_what { TT_AGREE_VALUE = 1, TT_AGREE_SHRINK = 2, TT_AGREE_BROKEN = 4 };

enum { TT_AGREE_OWN = 2 }; /* words that each member brings to a shrink */

/* Collective over the living members of the team; blocks. Combines value by AND; with
 * TT_AGREE_SHRINK each member brings own[TT_AGREE_OWN], and those of all that are not gone are in
 * tt_accord_own(*accord). The accord is the same on all members that get one, and is freed with
 * tt_free. If members are gone or the team is broken at any of them, it is given up here
 * (tt_team_give_up) before anybody is told that this rank knows; accord->settled tells that all
 * have done so. Errors: PEER (this rank itself counts as failed), MISMATCH (others called something
 * else; on all alike), MEMORY, LIMIT (this rank cannot take part, and counts as failed from now
 * on). */
tutti_status tt_agree(struct tt_agree *agree, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord);

/* Breaks the team for all members, here at once. Errors: MEMORY, LIMIT; of sending. */
tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *team);
/* The team has its id now: it may have been revoked before that. */
void tt_agree_know(struct tt_agree *agree, struct tt_team *team);

#endif
