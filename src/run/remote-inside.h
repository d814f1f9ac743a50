/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mirrors that this rank keeps of members on other nodes, and the layout of the messages
 * between them. Only the files that implement remote.h include this file. The `done` of a rank
 * (`my_done` of this rank) is the number of the first execution on a team that the rank has not
 * ended yet.
 */
#ifndef TT_REMOTE_INSIDE_H
#define TT_REMOTE_INSIDE_H

#include "msg/transfer.h"
#include "run/remote.h"

/* ---- Message layout ---- */

enum { TT_NO_LANE = 0xff }; /* the message carries no signal, only the call signature */
/* Flags of a message. SIGNATURE: a struct tt_call_signature follows the header. ASKS: the receiver
 * is to answer with its `done` (the number of executions that it has ended). SETTLES: the message
 * with TT_REMOTE_ASKS, or the answer to such a message, belongs to tt_remote_settle. EARLIER: the
 * message contains an earlier call of the sender, because the earlier calls of sender and receiver
 * did not match (remote-compare.c); its `value` is 1 in the last such message. */
enum tt_remote_flag {
    TT_REMOTE_SIGNATURE = 1,
    TT_REMOTE_ASKS = 2,
    TT_REMOTE_SETTLES = 4,
    TT_REMOTE_EARLIER = 8
};
#define TT_REMOTE_LEFT UINT64_MAX /* the `done` of a rank that has left the team */

/* The fixed part of the header of every message. With this header, a message with 24 bytes of data
 * still fits in one cell of a packet ring (msg/ring.h). */
struct tt_remote_head {
    uint32_t team, from; /* from: the sender's rank in the team */
    /* the number of the execution. In a message to TT_DISPATCH_CREDIT: the sender's `done`; or, if
     * TT_REMOTE_ASKS is set, the number of the execution that the sender wants to begin */
    uint64_t number;
    uint32_t behind; /* `number` minus the sender's `done` */
    /* fingerprint of all calls that the sender has made on the team, up to execution `number`: the
     * low half of `mark` in struct tt_exec */
    uint32_t history;
    uint32_t value; /* value of the signal */
    uint8_t lane, flags;
    uint8_t zero[2];
};

/* The header of a message. `signature` is present only with TT_REMOTE_SIGNATURE. */
struct tt_remote_packet {
    struct tt_remote_head head;
    unsigned char signature[sizeof(struct tt_call_signature)];
};
_Static_assert(sizeof(struct tt_remote_head) == 32, "goes over the network");
_Static_assert(sizeof(struct tt_remote_packet) <= TUTTI_HEADER_BYTES, "goes before a message");

/* The payload of the first signal of an execution: the buffers that the sender opens to the
 * receiver. `keyed` has a bit for each buffer that has a key (1 << TT_IN, ...); `key` has the keys
 * of these buffers, in the order of the enum tt_buffer. */
struct tt_remote_opening {
    /* of IN, OUT and TMP, the part that the receiver may access: where it begins in the region to
     * which the key belongs, and its size */
    int64_t offset[3], bytes[3];
    uint32_t keyed, keys;
    tutti_key key[];
};

/* The header of the message that a team is broken because of rank `rank` of the job. If a text is
 * recorded for the failure of that rank (has_reason in team.c), the payload is this text. */
struct tt_remote_broken {
    uint64_t team;
    int32_t rank, cause, code;
    int32_t zero;
};

/* The address of a buffer that a remote member has opened is this number plus the offset of the
 * buffer in its registered region. So the address is never 0, which stands for a buffer that is not
 * opened. */
#define TT_REMOTE_ADDRESS (1ull << 62)

/* ---- State of this rank ---- */

/* A message that cannot be handled yet: this rank has not begun the execution, or the message holds
 * data for a recv that is not posted. */
struct tt_arrival {
    struct tt_arrival *next;
    struct tt_remote_packet packet;
    bool data, credit;
    bool ready;   /* its payload has arrived, or is held by `pending` */
    bool dropped; /* to be freed as soon as the payload is ready */
    int64_t bytes;
    tutti_pending *pending;            /* long data: the message, which is received later */
    char *copy;                        /* short data; owned by the arrival */
    struct tt_remote_opening *opening; /* owned by the arrival */
    struct tt_team *team;              /* NULL: the team is not made yet, or was freed */
    int rank;                          /* the sender's rank in the job */
};

struct tt_arrivals {
    struct tt_arrival *first, **end;
};

/* An operation that has been started, with the memory that it moves. The operation is listed in
 * exec->remote->moving while exec is not NULL. */
struct tt_operation {
    struct tt_remote_teams *remote_teams;
    /* all: the next one in the list of all operations; next: the next one in the list of spare
     * operations */
    struct tt_operation *all, *next;
    struct tt_operation *before, *after; /* the previous and the next operation of the execution */
    struct tt_exec *exec; /* NULL: the execution does not need the operation any more */
    /* the message that completes with this operation; NULL: the operation is a signal or fetches an
     * operand */
    struct tt_message *message;
    /* number of operand pieces that have not come; NULL: the operation fetches no operand */
    int *left;
    int peer;    /* rank in the team */
    bool takes;  /* the operation writes to memory of this rank */
    bool opened; /* the operation moves bytes to or from a buffer that the peer opened */
    /* the peer has closed its buffer, or does not send its message, because its execution has
     * failed: the operation never completes */
    bool closed;
    char *at;
    int64_t len;
    void *payload; /* owned by the operation */
    /* what the message layer and the wire need, if the operation is a message */
    struct tt_transfer transfer;
};

/* The state of a remote member on this rank, and the messages to and from that member that wait.
 * "The member" is always the remote one. */
struct tt_mirror {
    struct tt_mirror *next; /* the next mirror of the team */
    int rank;               /* rank in the team */
    tutti_endpoint *to;
    char *block;   /* laid out like the member's block (struct tt_block) */
    uint64_t done; /* the member has ended all executions below this one */
    /* 1 + the last execution for which this rank has asked the member for its `done`; 0: none */
    uint64_t asked;
    /* 1 + the last execution that the member has asked for permission to begin; 0: the member has
     * asked for none, or this rank has answered */
    uint64_t wanted;
    bool fresh;       /* the member has sent a message since this rank last sent it `my_done` */
    bool sent_broken; /* the member was notified that the team is broken */
    bool doubted;     /* the member was asked which earlier call did not match */
    /* the member has asked for permission (`wanted`) in tt_remote_settle, so the answer must have
     * the flag TT_REMOTE_SETTLES */
    bool settles;
    /* in tt_remote_settle, this rank has sent the member its last call, and has asked the member to
     * answer once the member has ended as many calls as this rank has made */
    bool named_last;
    bool settled; /* the member has answered tt_remote_settle */
    /* the low 32 bits of the number of calls that the member made, once it has left the team */
    uint32_t left_after;
    /* by slot: the fingerprint of the call whose signature this rank has sent to the member */
    uint64_t sent_shape[TT_WINDOWS];
    /* by slot: 1 + the last execution whose opening this rank has sent to the member */
    uint64_t opened[TT_WINDOWS];
    /* by slot: 1 + the last execution whose opening has come from the member */
    uint64_t opens[TT_WINDOWS];
    /* 1 + the last execution in which a step of this rank sent the member something; 0: none yet */
    uint64_t sent;
    /* by slot: 1 + the last execution whose call signature this rank has sent to the member */
    uint64_t signature_sent[TT_WINDOWS];
    struct tt_remote_opening *opening[TT_WINDOWS]; /* by slot: the member's opening, with keys */
    /* messages for executions that this rank has not begun; messages whose payload has not arrived
     * (`coming` counts these); and messages that came after one of these */
    struct tt_arrivals early;
    int coming;
    struct tt_arrivals arrived; /* data for which no recv is posted */
    /* by lane, and within it by slot: the ends at which recvs wait for data of the member; NULL:
     * none yet */
    struct tt_end *ends[TT_LANES];
};

/* The state of a team that has remote members. */
struct tt_remote {
    struct tt_team *next; /* the next of the client's teams with remote members */
    uint32_t id;
    /* a call of pairs (tt_coll_pairs) has ended, so some member may have found a mismatch of which
     * this rank has no sign */
    bool pairs;
    struct tt_block layout;
    /* an empty mirror (all zero), for all members from which nothing has come */
    char *blank;
    struct tt_mirror **mirror; /* by member; NULL: none yet */
    struct tt_mirror *mirrors;
    int early;      /* the number of messages in the `early` lists of all mirrors */
    int kept;       /* the number of messages in the `arrived` lists of all mirrors */
    int wanting;    /* the number of mirrors with `wanted` set */
    uint64_t swept; /* the value of my_done that was last sent to members that did not ask for it */
    /* The first member that was asked which earlier call did not match: the time at which the wait
     * for its answer ends (0: no member was asked), its rank, and the execution in which the
     * difference showed. */
    int64_t doubt_ns;
    int doubted;
    uint64_t doubtful;
};

/* The state that the teams of a client share. */
struct tt_remote_teams {
    struct tt_fabric *f;
    struct tt_msg *msg;
    tutti_context *context;
    struct tt_team *teams;
    struct tt_arrivals early; /* messages for teams that this rank has not made yet */
    uint32_t next_id;
    int64_t under_way; /* number of messages that are not sent yet */
    /* list of all operations; list of those that are not in use */
    struct tt_operation *operations, *spare;
};

/* ---- Mirrors (remote-signal.c) ---- */

/* Make and free the state of a team's remote members. `layout` is the layout of a mirror. Errors:
 * MEMORY. */
tutti_status tt_remote_new(struct tt_team *t, const struct tt_block *layout);
void tt_remote_free(struct tt_team *t);
/* Returns the view (struct tt_view) of a remote member that has no mirror yet: that of a mirror
 * which is all zero. */
struct tt_view tt_remote_unknown(const struct tt_team *t);
/* Returns the member's mirror. Makes the mirror if the member has none. NULL: no memory. */
struct tt_mirror *tt_mirror_of(struct tt_team *t, int rank);

/* Append a message to a list; drop all messages of a list. */
void tt_arrivals_append(struct tt_arrivals *list, struct tt_arrival *a);
void tt_arrivals_drop(struct tt_remote_teams *remote_teams, struct tt_arrivals *list);
void tt_arrival_free(struct tt_remote_teams *remote_teams,
                     struct tt_arrival *a); /* frees the message and discards its data */

/* The part of a buffer that the members together may access: bytes begin to end - 1. */
struct tt_opened {
    int64_t begin, end;
};
/* Returns the part of a buffer of this rank that the members together may access. The plan must
 * open the buffer. */
struct tt_opened tt_remote_opened(const struct tt_exec *exec, int buffer);

/* ---- Sending (remote.c) ---- */

/* Finds the member's mirror (struct tt_mirror), and whether this execution may send to the member.
 * AGAIN: this execution may not send yet, and this rank has asked the member to report when it has
 * ended enough executions; or the member has left the team without making this call. Errors:
 * MEMORY. */
tutti_status tt_remote_may_send(struct tt_exec *exec, int rank, struct tt_mirror **m);
/* Writes the signature of this rank's call `number` into a packet to the member. In a call with
 * contents, the signature contains what the two ranks have for each other. */
void tt_remote_sign(const struct tt_team *t, struct tt_mirror *m, uint64_t number,
                    const struct tt_call_signature *signature, struct tt_remote_packet *packet);
/* Fills in the header of a message of this execution to the member. Returns the header's bytes. */
size_t tt_remote_head(struct tt_exec *exec, struct tt_mirror *m, struct tt_remote_packet *packet);
/* ---- Sending besides data (remote-signal.c) ---- */

/* Asks a member to send its `done` when it has ended all executions that must end before this rank
 * may send to it in execution `number`. */
tutti_status tt_remote_ask(struct tt_team *t, struct tt_mirror *m, uint64_t number);
/* Sends the member the call signature of an execution under way, unless it was sent already or this
 * rank may not send to the member yet (tt_remote_may_send). */
void tt_remote_send_signature(struct tt_exec *exec, struct tt_mirror *m);
/* Handles a message that says that a team is broken. */
void tt_remote_take_broken(tutti_context *context, const tutti_message *message,
                           tutti_receive *receive, void *arg);
/* Sends a message without payload to the handler `dispatch`: only a header, `bytes` bytes at
 * `head`. No step waits until the message has been sent. */
tutti_status tt_remote_post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                            size_t bytes);
/* Handles the end of the network's connection to the member. Marks the member as failed, unless a
 * watch (boot/watch.h) will find out whether it has left. */
void tt_remote_lost(struct tt_team *t, int rank);
/* Sends the member how many executions this rank has ended. If the member has asked for that
 * number, this is the answer. */
void tt_remote_credit(struct tt_team *t, struct tt_mirror *m);
/* Returns whether the member has left the team without making the call of this execution. */
static inline bool tt_remote_lacks(const struct tt_exec *exec, const struct tt_mirror *m)
{
    return m->done == TT_REMOTE_LEFT && (int32_t)(m->left_after - (uint32_t)(exec->number + 1)) < 0;
}
/* Returns whether the member has left the team without making the call of this execution, and has
 * also left the client or failed. */
bool tt_remote_left_before(const struct tt_exec *exec, const struct tt_mirror *m);

/* ---- Comparing calls (remote-compare.c) ---- */

/* Returns whether this rank has begun execution `number`, and no later execution in the same
 * slot. */
bool tt_remote_is_last(const struct tt_team *t, uint64_t number);
/* Handles a fingerprint of the member that differs from this rank's in execution `number`. Breaks
 * the team, or first asks the member which earlier call did not match. */
void tt_remote_disagrees(struct tt_team *t, struct tt_mirror *m, uint64_t number);
/* Handles a message with an earlier call of the member, which this rank compares with its own call
 * of the same number. The caller has stored the member's call in the mirror. Breaks the team after
 * the last such message. */
void tt_remote_take_earlier(struct tt_team *t, const struct tt_mirror *m,
                            const struct tt_remote_packet *packet);

/* ---- What is known of a member (remote-signal.c) ---- */

/* If the message carries an opening, stores it in the mirror, which owns the opening from now on.
 * Then stores the signal in the mirror, where steps await it. Compares the counts of the two ranks
 * if this rank has begun the execution, and no later one in the same slot. */
void tt_remote_signalled(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
/* Returns whether the payload of so many bytes is a valid opening. */
bool tt_remote_is_opening(const struct tt_remote_opening *o, int64_t bytes);
/* Starts a put or get by messages or by the network (access.c). */
tt_reach_fn tt_remote_access;

/* ---- Receiving (remote.c) ---- */

/* Makes an operation that moves `len` bytes between `at` and a member, and lists it with the
 * execution. NULL: no memory. tt_operation_free makes the operation available for reuse. */
struct tt_operation *tt_operation_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                        char *at, int64_t len);
void tt_operation_free(struct tt_operation *x);
/* Removes the operation from the list of its execution, which does not need the operation any
 * more. */
void tt_operation_unlist(struct tt_operation *x);
/* Sends the message of an operation: the header, and x->len bytes at x->at. OK: it was sent. AGAIN:
 * the operation completes later. Other errors: those of tt_msg_transfer. */
tutti_status tt_operation_send(struct tt_operation *x, const struct tt_mirror *m, int dispatch,
                               const struct tt_remote_packet *packet, size_t header_bytes);
/* Handles the status that the attempt to start the operation returned. After an error the operation
 * ends, with one exception: ARG for a buffer that the peer opened says that the peer has failed or
 * left and so has closed the buffer. Then the operation gets `closed` and stays in the list of its
 * execution, until the execution ends because of the lost peer. Returns OK if the operation was
 * started, in the case of the exception, and for PEER, because other code reports lost ranks; else
 * returns the status. */
tutti_status tt_operation_started(struct tt_operation *x, tutti_status status);
/* The completion callback of operations; `arg` is the operation. */
void tt_remote_moved(tutti_context *context, void *arg, tutti_status status);

#endif
