/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of agreements. A message that arrives before this rank has called its agreement is
 * kept until then. The number of agreements on each team is kept, because it distinguishes a
 * message that arrives early from one of an agreement that has ended.
 */
#ifndef TT_AGREE_MESSAGE_H
#define TT_AGREE_MESSAGE_H

#include "msg/msg.h"
#include "recover/accord.h"
#include "run/team.h"

/* how many words each member contributes to a shrink or to a meeting (tt_agree_meet) */
enum { TT_AGREE_OWN = 2 };

/* The header of a message. */
struct tt_agree_message_head {
    uint64_t team;
    uint32_t number; /* the number of the agreement on that team, from 1 */
    uint16_t kind;   /* enum tt_accord_kind, or a further kind (see below) */
    uint16_t rank;   /* the sender's rank in the team */
    /* the fingerprint of all calls of the sender on the team; 0: its team is broken */
    uint32_t print;
    /* ASK (see below): the number of the sender's call; DIFFERS: that of the receiver's call */
    uint32_t question;
    /* ASK: the id of the team that the sender is making; DIFFERS: the number of the sender's call;
     * END: the two ranks whose lists of members differed, as in tt_agree_count.different; REVOKE:
     * the rank of the job that has revoked the team */
    uint64_t list;
};
/* Further kinds of messages, which are not part of the state machine. REVOKE: the sender has
 * revoked the team, or has received REVOKE from another member; `number` is 0. PROBE: the sender
 * wants to find out whether the receiver still exists, which the message layer reports; the
 * receiver ignores the message. In ASK and DIFFERS, `team` is the key of tt_agree_meet. ASK: the
 * sender has waited long for the receiver. DIFFERS: the sender waits for the receiver, too, but
 * with another list of members. END: the sender ends this agreement, and all later ones of this
 * team id, with MISMATCH. */
enum {
    TT_AGREE_MESSAGE_REVOKE = TT_ACCORD_KINDS,
    TT_AGREE_MESSAGE_PROBE,
    TT_AGREE_MESSAGE_ASK,
    TT_AGREE_MESSAGE_DIFFERS,
    TT_AGREE_MESSAGE_END,
    TT_AGREE_MESSAGE_KINDS
};

/* A message that is being sent, or that has come and has not been handled yet. */
struct tt_agree_message {
    struct tt_agree_message *next, **link;
    struct tt_agree *agree;
    struct tt_agree_message_head head;
    int from; /* the sender's rank in the job */
    int uses; /* for a message to send: sends under way, plus 1 while tt_agree_message_send runs */
    int words;
    uint64_t word[];
};

/* How many agreements there have been on a team. For tt_agree_meet there is such a count for each
 * id of a call, and one for each key with different lists; both have it as `team`. */
struct tt_agree_count {
    struct tt_agree_count *next; /* the next one in the same bucket */
    uint64_t team;
    uint64_t of;     /* for tt_agree_meet: the old team's id | 1; 0: this is a team's own count */
    uint32_t number; /* agreements that have begun at this rank */
    uint32_t ended;  /* the value of `deleted` when its team was deleted; 0: the team exists */
    bool under_way;  /* the last agreement has not ended */
    /* for a key of tt_agree_meet: the two ranks of the job whose lists of members differed, the
     * first of them shifted left by 32 bits; 0: no lists differed */
    uint64_t different;
};

/* The counts, in a hash table with a power of two of buckets. The counts of a team that is deleted
 * are kept until TT_AGREE_LATER more teams are deleted, because messages of agreements that have
 * ended may still arrive. */
enum { TT_AGREE_LATER = 256 };
struct tt_agree_counts {
    struct tt_agree_count **bucket; /* NULL: there was no count yet */
    uint32_t buckets, n;
    uint32_t deleted; /* 1 + how many teams were deleted that had counts */
};

/* A call of tt_agree_meet that is under way, and the key of its messages ASK and DIFFERS. */
struct tt_agree_meeting {
    uint64_t key;
    struct tt_agree_meeting *next;
};

/* The agreements of a client. */
struct tt_agree {
    struct tt_msg *msg;
    struct tt_team *any;
    struct tt_agree_message *in, **in_end; /* messages to handle, in order of arrival */
    /* messages longer than a packet, whose last bytes have not arrived yet */
    struct tt_agree_message *coming;
    struct tt_agree_message *out;
    struct tt_agree_counts counts;
    struct tt_agree_meeting *meetings; /* the calls of tt_agree_meet that are under way */
    uint32_t questions; /* the number of the last question that this rank has asked */
    bool lost; /* a message was lost for lack of memory, so its sender may wait for ever for an
                * answer */
};

/* Returns whether to send a message to member r. */
typedef bool tt_agree_meant_fn(const void *arg, int r);
/* Sends a message to the other members r for which is_meant(arg, r) is true (NULL: to all of them),
 * and keeps a copy of it until all its sends have completed. accord: the message carries its words;
 * NULL: the message carries none. Sends nothing to a member that is gone, which is no error.
 * Errors: MEMORY, and those of tt_msg_send, except for PEER. */
tutti_status tt_agree_message_send(struct tt_agree *agree, const struct tt_team *t,
                                   const struct tt_agree_message_head *head,
                                   const struct tt_accord *accord, tt_agree_meant_fn *is_meant,
                                   const void *arg);
/* Removes a message from the list `in` and frees it. */
void tt_agree_message_drop(struct tt_agree_message *l);

/* Returns the count with this id or key; NULL: there is none. */
static inline struct tt_agree_count *tt_agree_count_find(const struct tt_agree *agree,
                                                         uint64_t team)
{
    const struct tt_agree_counts *all = &agree->counts;
    struct tt_agree_count *c = all->bucket ? all->bucket[team & (all->buckets - 1)] : NULL;
    while (c && c->team != team) c = c->next;
    return c;
}
/* Finds the count with this id or key, or makes one that is 0. Errors: MEMORY. */
tutti_status tt_agree_count_of(struct tt_agree *agree, uint64_t team, uint64_t of,
                               struct tt_agree_count **count);
/* Forgets a team that this rank deletes: drops the messages about it, and, somewhat later, its
 * counts. lists: tt_agree_meet was called with it as the old team. */
void tt_agree_forget(struct tt_agree *agree, uint64_t team, bool lists);

/* ---- State of a client ---- */

/* Makes the state for the agreements of a client. `any` is one of the client's teams; it must live
 * as long as `agree`. */
tutti_status tt_agree_open(struct tt_msg *msg, struct tt_team *any, struct tt_agree **agree);
/* Frees the state. Call this after `msg` is closed. */
void tt_agree_close(struct tt_agree *agree);

/* Breaks the team: on this rank at once, and on the other members when a message arrives. Errors:
 * MEMORY, LIMIT, and those of sending. */
tutti_status tt_agree_revoke(struct tt_agree *agree, struct tt_team *team);
/* Applies the revocations that arrived earlier to a team that has just got its id. */
void tt_agree_know(struct tt_agree *agree, struct tt_team *team);

#endif
