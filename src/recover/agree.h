/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements between the living members of a team, whether the team is broken or not. They follow
 * the state machine of accord.h; messages between the clients' contexts 0 carry them, within a node
 * and between nodes alike.
 *
 * A message names the agreement that it belongs to: the id of the team, and the number of the
 * agreement on that team. A message that comes before this rank has called the agreement is kept
 * until it does. A message of an agreement that has ended here is dropped.
 */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include "msg/msg.h"
#include "recover/accord.h"
#include "run/team.h"

struct tt_agree; /* one for each client */

/* `any` is one of the client's teams; it must live as long as `agree`. */
tutti_status tt_agree_open(struct tt_msg *msg, struct tt_team *any, struct tt_agree **agree);
/* To be called after msg is closed. */
void tt_agree_close(struct tt_agree *agree);

/* What a member calls. The agreement combines these by OR, so that all members notice different
 * calls in the same way. A member adds BROKEN if the team is broken there. */
enum tt_agree_what {
    TT_AGREE_VALUE = 1,
    TT_AGREE_SHRINK = 2,
    TT_AGREE_BROKEN = 4,
    TT_AGREE_MEET = 8
};

enum { TT_AGREE_OWN = 2 }; /* words that each member contributes to a shrink */

/* Collective over the living members of the team; blocks. Combines `value` by AND. With
 * TT_AGREE_SHRINK each member contributes own[TT_AGREE_OWN], and tt_accord_own(*accord) has the
 * words of all members that are not gone. The accord is equal on all members that get one; the
 * caller frees it with tt_free.
 *
 * If members are gone, or the team is broken at any member, this rank gives it up (tt_team_give_up)
 * before it sends that it knows the decision. accord->settled says that all members have done so.
 *
 * Errors: PEER (this rank itself counts as failed), MISMATCH (others called something else;
 * returned on all members), MEMORY, LIMIT (this rank cannot take part, and counts as failed from
 * now on). */
tutti_status tt_agree(struct tt_agree *agree, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord);

/* The agreement of ranks that meet to make a team: they have nothing in common yet but the list of
 * its members. `team` is a team that each of them has made alone; its id is computed from the list
 * and `key`, and its blocks do not matter. Each member contributes own[TT_AGREE_OWN], as in a
 * shrink. `key` is equal in calls that match, but for their lists. *number receives the number of
 * agreements that there have been with this id, which is equal on all members.
 *
 * A member that has waited long asks the others whether they wait in a call with the same key, and
 * with another list that has this member, too. A question and its answer carry numbers of the two
 * calls, so messages that arrive after their call mean nothing. When an answer arrives, both ranks
 * have been waiting for each other, and neither call can ever end: so both return MISMATCH, and
 * send that to all members of their lists.
 *
 * Errors: as of tt_agree. After MISMATCH this rank does not count as failed, but all later meetings
 * with this key, and those of any rank that lists it there, return MISMATCH, too: the ranks may
 * have called different numbers of them. */
tutti_status tt_agree_meet(struct tt_agree *agree, struct tt_team *team, uint64_t key,
                           const uint64_t *own, uint32_t *number, struct tt_accord **accord);

/* Breaks the team for all members, on this rank at once. Errors: MEMORY, LIMIT, and those of
 * sending. */
tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *team);
/* The team now has its id: applies revocations of it that came before that. */
void tt_agree_know(struct tt_agree *agree, struct tt_team *team);

#endif
