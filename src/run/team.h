/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team as one member sees it, and what the members share.
 *
 * Each member owns a block in its arena, which all members map:
 *
 *   head                              executions ended here; members that have left the team; what
 * roll.c reads S times     { line | window }         lane 0's signal, and the window beginning in
 * its line S times     { opening, what }         addresses of opened buffers; what this rank calls
 *   S times     (lanes - 1) lines         signals of the other lanes
 *   S * p       segments                  the opening of a v-collective, one entry a peer
 *   S * lanes * p words                   where the ring to each peer is, once made
 *
 * Only the owner writes to it, but for its window, which plans may have others write. Of a member
 * on another node there is a mirror instead, in memory of this process, kept by the messages that
 * come from it (far.h).
 *
 * Executions: the k-th start on the team is execution k everywhere and uses slot k % S, with
 * flags counted from (k / S + 1) << 32, so a flag never falls. Execution k starts when every member
 * on this node has ended all executions up to k - S: then nobody reads this slot any more. How far
 * the others are is told twice: beside every signal (a line that is read anyway), and in `head`,
 * for those that wait for a rank that signals no more.
 */
#ifndef TT_TEAM_H
#define TT_TEAM_H

#include "fabric/fabric.h"
#include "msg/channel.h"
#include "plan/plan.h"
#include "run/what.h"
#include "topo/map.h"

/* A signal line. signal: (k / S + 1) << 32 | flag value. shape: likewise, with a fingerprint of
 * this call and all before it, stored when execution k starts, so that ranks whose calls do not
 * match find out, at the latest when they next wait for each other. */
struct tt_line {
    _Alignas(TT_LINE) _Atomic uint64_t signal; /* release; everything before it is seen with it */
    _Atomic uint64_t done;                     /* executions below this one have ended here */
    _Atomic uint64_t shape;
    unsigned char window[TT_LINE - 24]; /* the window's first bytes; it goes on behind */
};
#define TT_WINDOW_AT offsetof(struct tt_line, window)

struct tt_head {
    _Alignas(TT_LINE) _Atomic uint64_t done;
    _Atomic uint32_t leavers; /* members that will not touch this block again */
    /* For who calls the roll (roll.h): the teams of a rank form a list that begins with its world.
     * Only the owner writes it, when it makes a team and when it frees one. `ranks` is stored last,
     * and is 0 in a block of no team. */
    _Atomic int32_t ranks, me;
    _Atomic int32_t slots_log2;
    _Atomic uint64_t id;
    _Atomic int64_t line_stride, opening; /* struct tt_block's */
    _Atomic int64_t next; /* the next block of this rank in the segment; 0: it is the last */
};
_Static_assert(sizeof(struct tt_head) == TT_LINE, "layout() counts on it");

/* Opened buffers of an execution; written before the first signal. */
struct tt_opening {
    _Alignas(TT_LINE) tt_address at[3]; /* IN OUT TMP */
    int64_t bytes[3];
};

_Static_assert(sizeof(struct tt_opening) == TT_LINE, "layout() counts on it");

struct tt_segment_opening {
    tt_address at[2]; /* IN OUT */
    int64_t bytes[2];
};

/* Where things lie in a block, the same for all members; or in a mirror, without windows and rings,
 * and with one segment in each slot: that for this rank. */
struct tt_block {
    int64_t line, line_stride; /* of slot 0; from slot to slot */
    int64_t opening;           /* S of them, each followed by a tt_what */
    int64_t lanes;             /* S * (TT_LANES - 1) lines */
    int64_t segments;          /* S * peers */
    int64_t peers;             /* p, or 1 */
    int64_t rings;             /* S * TT_LANES * p words */
    int64_t bytes;
};

/* Where the block of a member, or its mirror, is found. */
struct tt_view {
    char *at;
    const struct tt_block *layout;
};

struct tt_far;
struct tt_remote;

/* Invariants: all_done <= my_done + ... : every member has ended executions below all_done; all
 * those of this rank below my_done have ended; running[k % S] is execution k or NULL; queued ones
 * have numbers >= those running; next is the number of the next start. */
struct tt_team {
    struct tt_fabric *fabric;
    uint64_t id;          /* the same on all members, and of no other team of the job */
    struct tt_team *ring; /* of all teams of the client, back to this one */
    struct tt_map map;
    int me;
    int *job_rank;            /* of each member */
    int *node;                /* map.node; NULL: all on one */
    int near;                 /* members on this node */
    struct tt_view *view;     /* of each member */
    int64_t offset;           /* of my block in the segment */
    struct tt_remote *remote; /* of the members on other nodes; NULL: there are none */
    struct tt_far *far;       /* of the client; NULL: its job is on one node */
    tutti_context *context;   /* moved on while somebody waits; NULL: none */
    struct tt_block layout;
    uint64_t
        slots; /* in use: a power of two, TT_SLOTS but for tests that want them used again soon */
    int slots_log2;
    uint64_t next, my_done, all_done;
    uint32_t ended; /* bit i: execution my_done + i has ended */
    struct tt_exec *running[TT_SLOTS];
    struct tt_exec *queue, **queue_end;
    struct tt_exec *note;    /* for calls without a plan; NULL: there was none */
    struct tt_end *ends;     /* 2 * S * lanes * p, made when first used */
    uint64_t told[TT_SLOTS]; /* fingerprints whose text stands in the slot's tt_what */
    uint32_t failures;       /* of the job, looked through */
    bool left;               /* a member has left the job */
    int culprit;             /* the rank of the job for which it broke */
    uint64_t events;         /* of the context, that collectives saw */
    uint32_t looks;          /* in vain, of those that wait */
    uint32_t history;        /* fingerprint of all that has run */
    tutti_status broken;     /* not OK: nothing works on this team any more */
    char broken_text[384];
    bool reported; /* a call on this team has told it, or tutti_advance has */
    bool given_up; /* broken, and this rank touches no other member's block any more */
    bool deserted; /* given up by all living members: nobody touches this rank's block */
    char *bounce;  /* for operands that cannot be loaded from */
    int64_t bounce_bytes;
};

/* The window of a rank in a slot (bytes, its first ones in the signal line). */
int64_t tt_team_window(void);

/* A team of p members. job_rank[p] is copied; blocks[p] are the members' offsets, of which
 * blocks[me] comes from tt_team_block of this rank. */
tutti_status tt_team_block(struct tt_fabric *f, int p, int64_t *offset);
/* A block for a team of any number of members up to p. */
tutti_status tt_team_block_upto(struct tt_fabric *f, int p, int64_t *offset);
/* The id of the n-th team made out of another one; `first` is its first member's rank there. */
uint64_t tt_team_id(uint64_t of, uint64_t n, int first);
tutti_status tt_team_init(struct tt_team *t, struct tt_fabric *f, int p, int me,
                          const int *job_rank, const int64_t *blocks);
/* From now on the team's id is known, and the roll call finds the team; until it is going to be
 * freed. The world first. */
void tt_team_list(struct tt_team *t);
void tt_team_unlist(struct tt_team *t);
/* The team does not work any more, because this rank of the job says so. */
void tt_team_revoke(struct tt_team *t, int by);
/* A team that does not work any more at some member: it is broken, and this rank will not touch it
 * again. What is in flight ends with PEER. */
void tt_team_give_up(struct tt_team *t);
/* Updates the world, which was made before the ranks met, with the settings that they agreed on and
 * with the places of their blocks. */
void tt_team_met(struct tt_team *t);
/* Tells the members that this rank will not touch their blocks any more; of a team given up it has
 * told. */
void tt_team_depart(struct tt_team *t);
/* Collective: the same, and returns when no member touches this rank's block any more, or with the
 * error of a broken team (which may be deserted). */
tutti_status tt_team_leave(struct tt_team *t);
/* Does not wait for anybody. `shared`: the memory that others mapped goes back to the arena too. */
void tt_team_release(struct tt_team *t, bool shared);

/* Into the ring of another team of the same client, and out of it. */
void tt_team_enter_ring(struct tt_team *t, struct tt_team *other);
void tt_team_leave_ring(struct tt_team *t);

/* Moves on everything in flight. Errors end the executions concerned, not this call. */
void tt_team_advance(struct tt_team *t);
/* Advances all teams of the client: a rank that waits in one team must not keep the members of
 * another team waiting. */
void tt_team_advance_all(struct tt_team *t);
/* Called by who waits, each time it has looked in vain: looks for members that failed, or left and
 * are waited for, and now and then (`long_wait`: now) for some that call something else; sets
 * t->broken. Returns whether it was now. */
bool tt_team_check(struct tt_team *t, bool long_wait);
/* The team does not work any more, because of what tutti_error() says. Told to the others unless
 * one of them is the cause. */
void tt_team_break(struct tt_team *t, tutti_status status);
/* The error again that broke the team, for who called: it is told now. */
tutti_status tt_team_error(struct tt_team *t);

static inline struct tt_line *tt_team_line(const struct tt_team *t, int rank, int slot)
{
    const struct tt_view *v = &t->view[rank];
    return (struct tt_line *)(v->at + v->layout->line + slot * v->layout->line_stride);
}

/* That an execution uses. */
static inline int tt_team_slot(const struct tt_team *t, uint64_t number)
{
    return (int)(number & (t->slots - 1));
}

static inline bool tt_team_is_far(const struct tt_team *t, int rank)
{
    return t->view[rank].layout != &t->layout;
}

static inline struct tt_head *tt_team_head(const struct tt_team *t, int rank)
{
    return (struct tt_head *)t->view[rank].at;
}

static inline _Atomic uint64_t *tt_team_done(const struct tt_team *t, int rank)
{
    return &tt_team_head(t, rank)->done;
}

/* The signal word of a lane. */
static inline _Atomic uint64_t *tt_team_signal(const struct tt_team *t, int rank, int slot,
                                               uint32_t lane)
{
    if (tt_likely(lane == 0)) return &tt_team_line(t, rank, slot)->signal;
    const struct tt_view *v = &t->view[rank];
    int64_t i = slot * (TT_LANES - 1) + (int64_t)lane - 1;
    return (_Atomic uint64_t *)(v->at + v->layout->lanes + i * TT_LINE);
}

static inline struct tt_opening *tt_team_opening(const struct tt_team *t, int rank, int slot)
{
    const struct tt_view *v = &t->view[rank];
    return (struct tt_opening *)(v->at + v->layout->opening + slot * 2 * TT_LINE);
}

static inline struct tt_what *tt_team_what(const struct tt_team *t, int rank, int slot)
{
    return (struct tt_what *)(tt_team_opening(t, rank, slot) + 1);
}

/* The entry of `rank`'s opening meant for `peer`; of a mirror there is that for this rank only. */
static inline struct tt_segment_opening *tt_team_segment(const struct tt_team *t, int rank,
                                                         int slot, int peer)
{
    const struct tt_view *v = &t->view[rank];
    int64_t i = slot * v->layout->peers + (v->layout->peers > 1 ? peer : 0);
    return (struct tt_segment_opening *)(v->at + v->layout->segments) + i;
}

static inline _Atomic uint64_t *tt_team_ring(const struct tt_team *t, int rank, int slot,
                                             uint32_t lane, int peer)
{
    const struct tt_view *v = &t->view[rank];
    int64_t i = ((int64_t)slot * TT_LANES + lane) * t->map.p + peer;
    return (_Atomic uint64_t *)(v->at + v->layout->rings) + i;
}

/* The first execution that has not begun here. */
uint64_t tt_team_begun(const struct tt_team *t);

#endif
