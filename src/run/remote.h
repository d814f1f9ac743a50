/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is kept of members on other nodes, and how what they send each other looks; between the
 * files of far.h.
 */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "run/far.h"

/* ---- On the network ---- */

enum { TT_NO_LANE = 0xff }; /* no signal, but what is called */
/* `what` follows; answer with your done; the question, or the answer, is that of tt_far_settle. */
enum tt_far_flag { TT_FAR_WHAT = 1, TT_FAR_ASKS = 2, TT_FAR_SETTLES = 4 };
#define TT_FAR_LEFT UINT64_MAX /* done of a rank that has left the team */

/* Before every message: with 24 bytes of data it still is one line of a ring. */
struct tt_far_head {
    uint32_t team, from; /* a rank of the team */
    uint64_t number;     /* of the execution; of CREDIT: done, or what is asked for */
    uint32_t behind;     /* number - done of the sender */
    uint32_t history;    /* low half of its mark */
    uint32_t value;      /* of the signal */
    uint8_t lane, flags;
    uint8_t zero[2];
};

struct tt_far_packet {
    struct tt_far_head head;
    unsigned char what[sizeof(struct tt_what)];
};
_Static_assert(sizeof(struct tt_far_head) == 32, "goes over the network");
_Static_assert(sizeof(struct tt_far_packet) <= TUTTI_HEADER_BYTES, "goes before a message");

/* The payload of a signal: what its giver opens for who gets it. Keys of those named in `keyed`, in
 * order. */
struct tt_far_opening {
    int64_t offset[3], bytes[3]; /* IN OUT TMP: in the region of the key */
    uint32_t keyed, keys;
    tutti_key key[];
};

/* That a team does not work any more, because of this rank of the job. Where calls on the team did
 * not match, the payload is the text that says how. */
struct tt_far_broken {
    uint64_t team;
    int32_t rank, cause, code;
    int32_t zero;
};

/* Added to the offsets of opened buffers of far ranks, so that they are not 0. */
#define TT_FAR_ADDRESS (1ull << 62)

/* ---- Here ---- */

/* A message that waits: for its execution to begin, or, of those with data, for its recv. */
struct tt_arrival {
    struct tt_arrival *next;
    struct tt_far_packet packet;
    bool data, credit;
    bool ready;   /* its payload is here, or pending */
    bool dropped; /* to be freed when it is ready */
    int64_t bytes;
    tutti_pending *pending;
    struct tt_far_opening *opening; /* its own */
    struct tt_team *team;           /* NULL: not made yet, or gone */
    int rank;                       /* of the job */
};

struct tt_arrivals {
    struct tt_arrival *first, **end;
};

/* Something started, with the memory that it moves. Listed in exec->abroad->moving while exec is
 * not NULL. */
struct tt_transfer {
    struct tt_far *far;
    struct tt_transfer *all, *next;     /* of the client's; of those spare, or posted */
    struct tt_transfer *before, *after; /* of the execution's */
    struct tt_exec *exec;               /* NULL: nobody wants to know any more */
    struct tt_message *message;         /* complete with it; NULL: of an operand, or a signal */
    int *left;                          /* operands to come; NULL: other */
    int peer;                           /* in the team */
    uint32_t lane;
    bool takes;  /* it writes to memory of this rank */
    bool posted; /* a recv whose message has not come */
    bool opened; /* to or from a buffer that the peer opened ... */
    bool closed; /* ... and has closed: it will never be complete */
    bool counts; /* among those under way, which are waited for before the rank leaves */
    char *at;
    int64_t len;
    void *payload; /* its own */
};

struct tt_mirror {
    struct tt_mirror *next; /* of the team's */
    int rank;               /* in the team */
    tutti_endpoint *to;
    char *block;
    uint64_t done;   /* executions below this have ended there */
    uint64_t asked;  /* executions below this were asked for */
    uint64_t wanted; /* 1 + the last that it wants to begin; 0: it does not wait */
    bool fresh;      /* something has come since my done was told */
    bool told_broken;
    bool settles;              /* it wants to hear when this rank has made as many calls */
    bool named_last;           /* it was sent this rank's last call, and the question ... */
    bool settled;              /* ... and has answered */
    uint32_t left_after;       /* of one that left: how many calls it made, their lowest bits */
    uint64_t told[TT_SLOTS];   /* fingerprints whose text it has in the slot */
    uint64_t opened[TT_SLOTS]; /* 1 + the last execution whose opening I gave it */
    uint64_t opens[TT_SLOTS];  /* 1 + the last whose opening it gave me */
    uint64_t named[TT_SLOTS];  /* 1 + the last of which I told it what is called */
    struct tt_far_opening *opening[TT_SLOTS]; /* with its keys */
    struct tt_arrivals early;                 /* for executions that have not begun */
    struct tt_arrivals arrived;               /* data without a recv */
    struct tt_transfer *posted, **posted_end; /* recvs without data */
};

struct tt_remote {
    struct tt_team *next; /* of the client's */
    uint32_t id;
    bool pairs; /* an alltoallv has ended, of which some member may know what this rank does not */
    struct tt_block layout;
    char *blank;               /* the mirror of who has not been heard of: nothing */
    struct tt_mirror **mirror; /* of each member; NULL: none yet */
    struct tt_mirror *mirrors;
    int early;      /* messages in all `early` */
    int wanting;    /* mirrors that are wanted of */
    uint64_t swept; /* my_done, when it was last told to those that ask for nothing */
};

struct tt_far {
    struct tt_fabric *f;
    struct tt_msg *msg;
    tutti_context *context;
    struct tt_team *teams;
    struct tt_arrivals early; /* for teams that are not made here yet */
    uint32_t next_id;
    int64_t under_way;                     /* messages that are not sent yet */
    struct tt_transfer *transfers, *spare; /* all; those that are not used */
};

/* ---- Mirrors (mirror.c) ---- */

tutti_status tt_remote_new(struct tt_team *t, const struct tt_block *layout);
void tt_remote_free(struct tt_team *t);
/* Gives up all that has come and waits. */
void tt_remote_drop(struct tt_team *t);
struct tt_view tt_remote_unknown(const struct tt_team *t);
/* Makes it if it is not there; NULL: no memory. */
struct tt_mirror *tt_mirror_of(struct tt_team *t, int rank);

void tt_arrivals_append(struct tt_arrivals *list, struct tt_arrival *a);
void tt_arrivals_drop(struct tt_far *far, struct tt_arrivals *list);
void tt_arrival_free(struct tt_far *far, struct tt_arrival *a); /* its data are given up */

/* A new or used one, all zero but `far`; NULL: no memory. It goes back when it is complete. */
struct tt_transfer *tt_transfer_new(struct tt_far *far);
void tt_transfer_free(struct tt_transfer *x);
void tt_transfer_list(struct tt_transfer *x, struct tt_exec *exec);
/* Nobody wants to know of it any more. */
void tt_transfer_unlist(struct tt_transfer *x);

/* From which byte of a buffer to which one members may touch anything. */
struct tt_opened {
    int64_t begin, end;
};
struct tt_opened tt_far_opened(const struct tt_exec *exec, int buffer);

/* ---- Sending (far-signal.c) ---- */

/* AGAIN while this execution may not send to the rank; asks it. */
tutti_status tt_far_may_send(struct tt_exec *exec, int rank, struct tt_mirror **m);
/* Fills in the header of a message of the execution to this member; returns its bytes. */
size_t tt_far_head(struct tt_exec *exec, struct tt_mirror *m, struct tt_far_packet *packet);
/* A message without payload, of which nobody wants to know more. */
tutti_status tt_far_post(struct tt_team *t, struct tt_mirror *m, int dispatch, const void *head,
                         size_t bytes);
/* Handles the status of sending to a member: PEER is a failure unless the member has left. */
tutti_status tt_far_sent(struct tt_team *t, int rank, tutti_status status);
void tt_far_lost(struct tt_team *t, int rank);
void tt_far_credit(struct tt_team *t, struct tt_mirror *m);
/* Whether the member has left the client without making the call of this execution. */
bool tt_far_left_before(const struct tt_exec *exec, const struct tt_mirror *m);
/* Sends to the member what this rank calls in an execution under way, unless it knows. */
void tt_far_name(struct tt_exec *exec, struct tt_mirror *m);

/* ---- What is known of a member (far-known.c) ---- */

/* Notes what is called there, in an execution that has begun here. False: that is of no use any
 * more, since the slot belongs to a newer one, or is not what this rank calls, and the team
 * breaks. */
bool tt_far_admits(struct tt_team *t, struct tt_mirror *m, const struct tt_far_packet *packet);
/* Whether this rank has begun the execution, and no later one in its slot. */
bool tt_far_is_last(const struct tt_team *t, uint64_t number);
/* Stores the signal where it is awaited, after the opening that it may bring, which is taken
 * over. */
void tt_far_signalled(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
bool tt_far_is_opening(const struct tt_far_opening *o, int64_t bytes);
/* Executions below `done` have. */
void tt_far_ended(struct tt_mirror *m, uint64_t done);

/* ---- Receiving (far.c, far-move.c) ---- */

/* Data for an execution that has begun; true: the arrival was taken over. */
bool tt_far_data(struct tt_team *t, struct tt_mirror *m, struct tt_arrival *a);
/* The execution has ended: data that came for it and were not received make a mismatch. */
void tt_far_leftover(struct tt_exec *exec);
/* The recv that the message is for; NULL: none yet. It is no longer posted. */
struct tt_transfer *tt_far_match(struct tt_mirror *m, const struct tt_far_head *head);
/* Whether a message of so many bytes is given to it: else the team breaks. */
bool tt_far_fits(struct tt_team *t, struct tt_transfer *x, int64_t bytes);
/* One of `len` bytes at `at` with a member, listed. NULL: no memory. */
struct tt_transfer *tt_transfer_begin(struct tt_exec *exec, struct tt_message *m, int peer,
                                      char *at, int64_t len);
/* Handles the status of the attempt to start the transfer. */
tutti_status tt_transfer_started(struct tt_transfer *x, tutti_status status);
/* Completion of a transfer, which is `arg`. */
void tt_far_moved(tutti_context *context, void *arg, tutti_status status);

#endif
