/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this rank keeps about members on other nodes, and the layout of the messages between them.
 * Only the files that implement remote.h include this.
 */
#ifndef TT_REMOTE_INSIDE_H
#define TT_REMOTE_INSIDE_H

#include "msg/transfer.h"
#include "run/remote.h"

/* ---- Message layout ---- */

enum { TT_NO_LANE = 0xff }; /* the message carries no signal, only the call signature */
/* SIGNATURE: a struct tt_call_signature follows the header. ASKS: the receiver is to answer with
 * its `done`. SETTLES: the question, or the answer, belongs to tt_remote_settle. EARLIER: the
 * message names a call that the sender has made, because earlier calls did not match
 * (remote-compare.c); its `value` is 1 in the last such message. */
enum tt_remote_flag {
    TT_REMOTE_SIGNATURE = 1,
    TT_REMOTE_ASKS = 2,
    TT_REMOTE_SETTLES = 4,
    TT_REMOTE_EARLIER = 8
};
#define TT_REMOTE_LEFT UINT64_MAX /* the `done` of a rank that has left the team */

/* Stands before every message. With 24 bytes of data the message still fits one line of a byte
 * ring. */
struct tt_remote_head {
    uint32_t team, from; /* from: the sender's rank in the team */
    /* of the execution. In a CREDIT message: the sender's `done`, or what it asks for */
    uint64_t number;
    uint32_t behind;  /* `number` minus the sender's `done` */
    uint32_t history; /* low half of the sender's `mark` */
    uint32_t value;   /* of the signal */
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

/* The payload of a signal: the buffers that the sender opens to the receiver. The keys of the
 * buffers whose bits are set in `keyed` follow in order. */
struct tt_remote_opening {
    int64_t offset[3], bytes[3]; /* IN OUT TMP: offset in the region of the key; size */
    uint32_t keyed, keys;
    tutti_key key[];
};

/* Notifies a member that the team is broken because of rank `rank` of the job. If a rank found
 * out what is wrong with the calls, the payload is its text. */
struct tt_remote_broken {
    uint64_t team;
    int32_t rank, cause, code;
    int32_t zero;
};

/* Added to the offsets of buffers that remote ranks open, so that an address is never 0. */
#define TT_REMOTE_ADDRESS (1ull << 62)

/* ---- State of this rank ---- */

/* A message that cannot be handled yet: its execution has not begun here, or it holds data for a
 * recv that is not posted. */
struct tt_arrival {
    struct tt_arrival *next;
    struct tt_remote_packet packet;
    bool data, credit;
    bool ready;   /* its payload is here, or is held by `pending` */
    bool dropped; /* to be freed as soon as it is ready */
    int64_t bytes;
    tutti_pending *pending;            /* of long data: the message, which is received later */
    char *copy;                        /* of short data; owned by the arrival */
    struct tt_remote_opening *opening; /* owned by the arrival */
    struct tt_team *team;              /* NULL: not made yet, or gone */
    int rank;                          /* the sender's rank in the job */
};

struct tt_arrivals {
    struct tt_arrival *first, **end;
};

/* An operation that has been started, with the memory that it moves. It is listed in
 * exec->remote->moving while exec is not NULL. */
struct tt_operation {
    struct tt_remote_teams *remote_teams;
    /* all: list of all operations; next: list of spare ones */
    struct tt_operation *all, *next;
    struct tt_operation *before, *after; /* neighbours in the execution's list */
    struct tt_exec *exec;                /* NULL: the execution does not need it any more */
    /* completes with this operation; NULL: an operand or a signal */
    struct tt_message *message;
    int *left;   /* count of operand pieces to come; NULL: not an operand */
    int peer;    /* rank in the team */
    bool takes;  /* it writes to memory of this rank */
    bool opened; /* it moves bytes to or from a buffer that the peer opened */
    bool closed; /* the peer has closed that buffer: the operation never completes */
    char *at;
    int64_t len;
    void *payload;               /* owned by the operation */
    struct tt_transfer transfer; /* of a message: what the message layer and the wire need */
};

/* What this rank knows of a remote member, and the messages to and from it that wait. */
struct tt_mirror {
    struct tt_mirror *next; /* the next mirror of the team */
    int rank;               /* rank in the team */
    tutti_endpoint *to;
    char *block;    /* laid out like the member's block (struct tt_block) */
    uint64_t done;  /* the member has ended all executions below this one */
    uint64_t asked; /* this rank has asked the member about executions below this one */
    /* 1 + the last execution that it asks leave to begin; 0: it asks for nothing */
    uint64_t wanted;
    bool fresh;       /* a message came from it since it was last sent this rank's my_done */
    bool sent_broken; /* it was notified that the team is broken */
    bool doubted;     /* it was asked which earlier call did not match */
    /* it asks to be notified when this rank has made as many calls */
    bool settles;
    /* this rank has sent it its last call and asked the same */
    bool named_last;
    bool settled; /* it has answered that */
    /* after it left: the low bits of the number of calls that it made */
    uint32_t left_after;
    /* by slot: the fingerprint whose call the member knows */
    uint64_t sent_shape[TT_WINDOWS];
    /* by slot: 1 + the last execution whose opening it was sent */
    uint64_t opened[TT_WINDOWS];
    /* by slot: 1 + the last execution whose opening came from it */
    uint64_t opens[TT_WINDOWS];
    /* 1 + the last execution in which a step of this rank sent it something; 0: none yet */
    uint64_t sent;
    /* by slot: 1 + the last execution whose call it was sent */
    uint64_t named[TT_WINDOWS];
    struct tt_remote_opening *opening[TT_WINDOWS]; /* by slot: its opening, with keys */
    struct tt_arrivals early;                      /* messages for executions that have not begun */
    struct tt_arrivals arrived;                    /* data for which no recv is posted */
    /* by lane, and then by slot: the ends at which recvs wait for its data; NULL: none yet */
    struct tt_end *ends[TT_LANES];
};

/* The state of a team that has remote members. */
struct tt_remote {
    struct tt_team *next; /* the next of the client's teams with remote members */
    uint32_t id;
    /* a call of pairs (tt_coll_pairs) has ended; some member may know of a mismatch that this rank
     * does not know of */
    bool pairs;
    struct tt_block layout;
    char *blank;               /* the mirror, all zero, for members from which nothing has come */
    struct tt_mirror **mirror; /* by member; NULL: none yet */
    struct tt_mirror *mirrors;
    int early;      /* the number of messages in the `early` lists of all mirrors */
    int kept;       /* the number of messages in their `arrived` lists */
    int wanting;    /* the number of mirrors with `wanted` set */
    uint64_t swept; /* the my_done that was last sent to members that did not ask for it */
    /* The first member that was asked which earlier call did not match: when the wait for it ends
     * (0: none was asked), its rank, and the execution in which the difference showed. */
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
    struct tt_arrivals early; /* messages for teams that are not made here yet */
    uint32_t next_id;
    int64_t under_way;                       /* messages that are not sent yet */
    struct tt_operation *operations, *spare; /* all operations; those not in use */
};

/* ---- Mirrors (remote-signal.c) ---- */

/* Makes and frees the state of a team's remote members. `layout` is that of a mirror. Errors:
 * MEMORY. */
tutti_status tt_remote_new(struct tt_team *t, const struct tt_block *layout);
void tt_remote_free(struct tt_team *t);
/* The view of a remote member that has no mirror yet: all zero. */
struct tt_view tt_remote_unknown(const struct tt_team *t);
/* Returns the member's mirror and makes it if there is none. NULL: no memory. */
struct tt_mirror *tt_mirror_of(struct tt_team *t, int rank);

/* Appends to a list; drops all messages of a list. */
void tt_arrivals_append(struct tt_arrivals *list, struct tt_arrival *a);
void tt_arrivals_drop(struct tt_remote_teams *remote_teams, struct tt_arrivals *list);
void tt_arrival_free(struct tt_remote_teams *remote_teams,
                     struct tt_arrival *a); /* discards its data */

/* The part of a buffer that the members together may access: bytes begin to end - 1. */
struct tt_opened {
    int64_t begin, end;
};
/* Returns that part of a buffer of this rank, which the plan must open. */
struct tt_opened tt_remote_opened(const struct tt_exec *exec, int buffer);

/* ---- Sending (remote.c) ---- */

/* Finds the member's mirror, and whether this execution may send to it. AGAIN: not yet; the member
 * has been asked to answer when it may. Errors: MEMORY. */
tutti_status tt_remote_may_send(struct tt_exec *exec, int rank, struct tt_mirror **m);
/* Writes the signature of this rank's call `number` as the member gets it: with what the two ranks
 * have for each other, in a call with contents. */
void tt_remote_sign(const struct tt_team *t, struct tt_mirror *m, uint64_t number,
                    const struct tt_call_signature *signature, struct tt_remote_packet *packet);
/* Fills in the header of a message of this execution to the member. Returns the header's bytes. */
size_t tt_remote_head(struct tt_exec *exec, struct tt_mirror *m, struct tt_remote_packet *packet);
/* ---- Sending besides data (remote-signal.c) ---- */

/* Asks a member to send its `done` when it has ended all executions that must end before this
 * one. */
tutti_status tt_remote_ask(struct tt_team *t, struct tt_mirror *m, uint64_t number);
/* Sends the member the call of an execution under way, unless it has been sent already or the
 * member cannot take it now. */
void tt_remote_name(struct tt_exec *exec, struct tt_mirror *m);
/* The handler of messages that say that a team is broken. */
void tt_remote_take_broken(tutti_context *context, const tutti_message *message,
                           tutti_receive *receive, void *arg);
/* Sends a message without payload. Nobody is notified when it has been sent. */
tutti_status tt_remote_post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                            size_t bytes);
/* The network's connection to the member broke. Marks the member as failed, unless a watch will
 * find out whether it has left. */
void tt_remote_lost(struct tt_team *t, int rank);
/* Sends the member how many executions this rank has ended; this also answers its question, if it
 * asked one. */
void tt_remote_credit(struct tt_team *t, struct tt_mirror *m);
/* Whether the member has left the team without making the call of this execution. */
static inline bool tt_remote_lacks(const struct tt_exec *exec, const struct tt_mirror *m)
{
    return m->done == TT_REMOTE_LEFT && (int32_t)(m->left_after - (uint32_t)(exec->number + 1)) < 0;
}
/* Whether the member has left the client without making the call of this execution. */
bool tt_remote_left_before(const struct tt_exec *exec, const struct tt_mirror *m);

/* ---- Comparing calls (remote-compare.c) ---- */

/* Whether this rank has begun the execution, and no later one in its slot. */
bool tt_remote_is_last(const struct tt_team *t, uint64_t number);
/* The member's fingerprint of this execution differs from this rank's. Breaks the team, or first
 * asks the member which earlier call did not match. */
void tt_remote_disagrees(struct tt_team *t, struct tt_mirror *m, uint64_t number);
/* The member, which asks this, has sent one of its last calls, which is in its mirror now. */
void tt_remote_take_earlier(struct tt_team *t, const struct tt_mirror *m,
                            const struct tt_remote_packet *packet);

/* ---- What is known of a member (remote-signal.c) ---- */

/* Takes over the opening that the message may carry, and then stores its signal in the mirror,
 * where it is awaited. */
void tt_remote_signalled(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
/* Whether the bytes are a valid opening. */
bool tt_remote_is_opening(const struct tt_remote_opening *o, int64_t bytes);
/* Starts a put or get by messages or by the network (access.c). */
tt_reach_fn tt_remote_access;

/* ---- Receiving (remote.c) ---- */

/* Makes an operation of `len` bytes at `at` to or from a member, and lists it with the execution.
 * NULL: no memory. tt_operation_free gives it back for reuse. */
struct tt_operation *tt_operation_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                        char *at, int64_t len);
void tt_operation_free(struct tt_operation *x);
/* Removes it from its execution's list: the execution does not need it any more. */
void tt_operation_unlist(struct tt_operation *x);
/* Sends the message of an operation: the header, and x->len bytes at x->at. OK: it was sent. AGAIN:
 * the operation completes later. Other errors: those of tt_msg_transfer. */
tutti_status tt_operation_send(struct tt_operation *x, const struct tt_mirror *m, int dispatch,
                               const struct tt_remote_packet *packet, size_t header_bytes);
/* Handles the status of the attempt to start the operation. */
tutti_status tt_operation_started(struct tt_operation *x, tutti_status status);
/* The completion callback of an operation, which is `arg`. */
void tt_remote_moved(tutti_context *context, void *arg, tutti_status status);

#endif
