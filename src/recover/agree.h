/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements between the living members of a team, whether the team is broken or not. An agreement
 * follows the state machine of accord.h. Its messages are sent between the contexts 0 of the
 * clients, within a node and between nodes alike.
 *
 * A message names its agreement: the id of the team, and the number of the agreement on that team.
 * A message that arrives before this rank has called the agreement is kept until then. A message of
 * an agreement that has ended at this rank is dropped.
 */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include "recover/message.h"

/* Which function a member called, as a bit: tutti_team_agree, tutti_team_shrink, or a call that
 * makes a team (tt_agree_meet). The agreement combines these by OR, so that all members notice
 * different calls in the same way. A member adds BROKEN if the team is broken at this member. */
enum tt_agree_what {
    TT_AGREE_VALUE = 1,
    TT_AGREE_SHRINK = 2,
    TT_AGREE_BROKEN = 4,
    TT_AGREE_MEET = 8
};

/* Runs an agreement. Collective over the living members of the team; blocks. Combines `value` by
 * AND. With TT_AGREE_SHRINK each member contributes own[TT_AGREE_OWN], and tt_accord_own(*accord)
 * has the words of all members that are not gone. The accord is equal on all members that get one;
 * the caller frees it with tt_free.
 *
 * If members are gone, or the team is broken at any member, this rank stops touching the team's
 * shared memory (tt_team_give_up) before it sends that it knows the decision. accord->settled says
 * that all living members have done so.
 *
 * Errors: PEER (this rank itself counts as failed), MISMATCH (members called different functions;
 * returned on all members), MEMORY, LIMIT (this rank cannot take part, and counts as failed from
 * now on). */
tutti_status tt_agree(struct tt_agree *agree, struct tt_team *team, enum tt_agree_what what,
                      uint64_t value, const uint64_t *own, struct tt_accord **accord);

/* Runs the agreement of ranks that meet to make a team. These ranks have nothing in common yet
 * except the list of the team's members. `team` is a team that each rank has made alone; its id is
 * computed from the list and `key`, and its blocks are not used. Each member contributes
 * own[TT_AGREE_OWN], as in a shrink. `old` is the old team; tt_agree_forget with its id ends the
 * memory of these calls. `key` is equal in calls that match, whatever their lists. *number receives
 * the number of this agreement among those with this id, which is equal on all members; 0: this
 * rank has contributed nothing.
 *
 * If a rank has revoked the old team, or does so now, this rank returns PEER. Other members may
 * return OK, and may then use what this rank has contributed.
 *
 * A member that has waited long asks the other ranks of its list whether they wait in a call with
 * the same key, but with a different list that contains this member, too. A question and its answer
 * carry numbers of the two calls, so messages that arrive after their call has ended have no
 * effect. When an answer arrives, both ranks have been waiting for each other, and neither call can
 * ever succeed. So both calls return MISMATCH, after they have notified all members of their lists,
 * whose calls return MISMATCH, too.
 *
 * Errors: those of tt_agree, and PEER (`old` is revoked). After MISMATCH this rank does not count
 * as failed. But all later meetings of this rank with this key return MISMATCH, too, and so do
 * those of any rank whose list has this rank: the ranks may have made different numbers of such
 * calls. */
tutti_status tt_agree_meet(struct tt_agree *agree, struct tt_team *team, const struct tt_team *old,
                           uint64_t key, const uint64_t *own, uint32_t *number,
                           struct tt_accord **accord);

#endif
