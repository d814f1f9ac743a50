/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of agreements on their way, between agree.c and msg.
 *
 * One that comes before the agreement it belongs to was asked for here is kept until it is; one of
 * an agreement that has ended here is dropped. To tell the two apart, how many agreements each team
 * has had stays known when the team has gone.
 */
#ifndef TT_LETTER_H
#define TT_LETTER_H

#include "run/agree.h"

struct tt_letter_head {
    uint64_t team;
    uint32_t number; /* of the agreement on that team, from 1 */
    uint16_t kind;   /* enum tt_accord_kind, or ... */
    uint16_t rank;   /* in the team, of the sender */
    uint32_t print;  /* of all calls of the sender on the team; 0: the team is broken there */
    uint32_t unused;
};
/* ... no part of an agreement, number being 0: the sender has revoked the team; or wants to know
 * whether the receiver is there, which it learns from msg alone. */
enum { TT_LETTER_REVOKE = TT_ACCORD_KINDS, TT_LETTER_PROBE };

/* On its way out, or come in and not looked at yet. */
struct tt_letter {
    struct tt_letter *next, **link;
    struct tt_agree *agree;
    struct tt_letter_head head;
    int from; /* rank of the job */
    int uses; /* on its way out: to so many, and whoever made it */
    int words;
    uint64_t word[];
};

struct tt_agree_count {
    uint64_t team;
    uint32_t number; /* agreements that have begun here */
    bool under_way;  /* the last one */
};

struct tt_agree {
    struct tt_msg *msg;
    struct tt_team *any;
    struct tt_letter *in, **in_end; /* in the order of coming */
    struct tt_letter *coming;       /* too long for a packet: the rest is still to come */
    struct tt_letter *out;
    struct tt_agree_count *counts;
    int n, room;
    bool lost; /* a message, for want of memory: the others may wait for an answer to it */
};

/* NULL: MEMORY. It goes when it is sent and released. */
struct tt_letter *tt_letter_new(struct tt_agree *agree, const struct tt_letter_head *head,
                                int words);
/* To a member. One that is gone gets none. Errors: of msg, but PEER. */
tutti_status tt_letter_send(const struct tt_team *t, struct tt_letter *l, int r);
void tt_letter_release(struct tt_letter *l);
/* One that has come, read or not. */
void tt_letter_drop(struct tt_letter *l);

/* Finds the count of a team's agreements, or makes one of 0. *count is valid until the next call.
 * Errors: MEMORY. */
tutti_status tt_agree_count_of(struct tt_agree *agree, uint64_t team,
                               struct tt_agree_count **count);

#endif
