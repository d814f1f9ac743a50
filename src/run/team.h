/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team as one member sees it, and the memory that the members share.
 *
 * Each member owns a block in its arena. All members of its node map the block:
 *
 *   head                           how many executions the owner has ended; how many members have
 *                                  left the team; data for the roll call; where the parts are
 *   S times  { line | window }     the signal line: the signal of lane 0, how many executions the
 *                                  owner has ended, and `shape`; and the short window, which begins
 *                                  in this line
 *   S times  { opening, signature }
 *                                  addresses of opened buffers; the call signature of this rank
 *
 * A block takes less than 48 KiB. A team that makes only short calls by plans with a single lane
 * and without messages needs no more memory. What other calls use are parts, which a member makes
 * when it first needs them:
 *
 *   windows   W times  long window         for calls that do not fit the short windows
 *   entries   W * p    segments            the opening of a v-collective: one entry for each peer
 *             W * p    pairs of contents   what this rank sends to and expects from each peer
 *   lanes     W times  (lanes - 1) lines   signals of lanes 1, 2 ...
 *   rings     W * p    words               for each lane a part: where the byte ring to each peer
 *                                          is, once it is made
 *
 * S is the number of slots, and W the number of windows, which may be less. Only the owner writes
 * to its block and its parts, with two exceptions: a member that leaves the team adds to the
 * owner's `leavers`, and a plan from a file may put bytes into the long window of another member.
 * For a member on another node this process keeps a mirror of that member's block in its own
 * memory. The messages that come from the member update the mirror (remote.h).
 *
 * Why no member waits for a part of another member: the owner stores the offset of the part in its
 * head, with release, before it begins the first execution that needs the part. A member reads a
 * window or an entry of the owner only after it has seen a signal, or the call, of the owner in
 * that execution, which the owner stored later. As long as the signals of lanes 1, 2 ... do not
 * exist, the owner has not begun the execution, so the signal that a member awaits is not there
 * yet. The words of a lane are made when the owner first sends a message on the lane. A receiver
 * that finds none waits as for a byte ring that is not made yet. Whether an execution uses the
 * short or the long windows depends only on the call and on the map (topo/map.h: what all ranks
 * know about the machine), so all members agree on it (choose/cache.c). If the owner cannot get the
 * memory, it breaks the team like a rank that cannot begin an execution for another reason.
 *
 * Calls of pairs: in an alltoallv, gatherv or scatterv no member knows all counts, so all of them
 * take the long windows. Yet most pieces of such calls are short. So in these calls, in teams of at
 * most TT_WORDS_MOST members, the first bytes of WIN (as many as tt_map.low_bytes, called low
 * bytes) lie in the short window, where they travel with the signal. The short window begins with a
 * word for each member: it contains the number of bytes that the owner has for that member, and the
 * number that the owner expects from that member. If the word contains both numbers, and the plan
 * opens neither IN nor OUT, the owner writes no segment entry for the member. No range of a plan
 * begins before byte low_bytes of WIN and ends after it, which the builder of plans checks.
 *
 * Long windows take most of the memory, and many teams make few long calls. So at first only the
 * address space of the windows is reserved. When a member begins an execution, it backs the part of
 * its window that its plan uses (win_bytes), unless an earlier execution that used the same window
 * has backed it already. What is backed stays backed until the windows are freed.
 *
 * `shape`, a word of the signal line, says that the owner has begun an execution, and contains a
 * fingerprint of the owner's call (struct tt_signal_line).
 *
 * Why no rank touches a page of a window that is not backed: the owner backs the pages before it
 * stores `shape`, and so before all its own steps and signals of the execution. Signals order a
 * step that reads the window of another member after the step in which the owner wrote the data. A
 * put may come earlier, and so the put waits until it sees the owner's `shape` of the same
 * execution. An owner's plan counts in win_bytes all bytes of the window that its own steps touch,
 * and the steps of other members touch no others: the prover checks this, for the algorithms in the
 * tests and for a plan file before it runs. If the owner gets no memory, it breaks the team before
 * it has stored `shape`, so no other member touches the window in this execution. A slow reader
 * still finds the pages: the owner frees the windows only after all members have left the team or
 * given it up.
 *
 * Executions: the k-th start on the team is execution k on every member and uses slot k % S and
 * window k % W. Its flags count from (k / W + 1) << 32, so a flag never falls. A member starts
 * execution k when every member on its node has ended all executions up to k - S: from that time
 * on, no member reads this slot for an older execution. If the member, in execution k, writes to a
 * part that exists only W times, it starts execution k when all have ended the executions up to
 * k - W. The member that writes decides this alone (set_depth in exec.c): other members read in
 * that part only what it has written in the same execution. A member publishes how many executions
 * it has ended in two places: beside every signal, in a line that the other members read anyway,
 * and in `head`, for members that wait for a rank which sends no more signals.
 */
#ifndef TT_TEAM_H
#define TT_TEAM_H

#include "fabric/fabric.h"
#include "run/channel.h"
#include "run/filling.h"
#include "plan/plan.h"
#include "run/signature.h"
#include "topo/map.h"

/* A signal line. `signal` is (k / W + 1) << 32 | flag value. `shape` is (k / W + 1) << 32 | a
 * fingerprint of this call and of all calls before it; a member stores it when it starts execution
 * k. Members compare `shape` when they wait for each other, and so find calls that do not match. */
struct tt_signal_line {
    /* stored with release: a reader that sees this value sees everything that was stored before
     * it */
    _Alignas(TT_LINE) _Atomic uint64_t signal;
    _Atomic uint64_t done; /* executions below this one have ended on the owner */
    _Atomic uint64_t shape;
    /* the first bytes of the short window, which continues in the next cache line */
    unsigned char window[TT_LINE - 24];
};
#define TT_WINDOW_AT offsetof(struct tt_signal_line, window)

/* Returns the bytes of a short window in a team of p ranks. Longer messages are faster in long
 * windows, where a processor that reads ahead does not touch the signal of the next slot. In teams
 * of up to TT_WORDS_MOST ranks, the words for all members fit in the short window, besides low
 * bytes. */
static inline int64_t tt_team_short_window(int p)
{
    return (p <= 32 ? 3 : 7) * TT_LINE - (int64_t)TT_WINDOW_AT;
}

/* The most members of a team in which calls of pairs use words (tt_team_word) and low bytes. */
#define TT_WORDS_MOST 64
static inline int64_t tt_team_words(int p)
{
    return p <= TT_WORDS_MOST ? tt_round_up(4 * (int64_t)p, 8) : 0;
}

/* Sets how many bytes of WIN lie in the short window (low_bytes), and how many of these in the
 * signal line (line_bytes), in calls of pairs. low_bytes is at most `most`. The caller has set
 * map->p. */
static inline void tt_team_divide(struct tt_map *map, int64_t most)
{
    int64_t words = tt_team_words(map->p), line = TT_LINE - (int64_t)TT_WINDOW_AT - words;
    map->low_bytes = words ? tt_min(tt_team_short_window(map->p) - words, most) : 0;
    map->line_bytes = tt_max(0, tt_min(line, map->low_bytes));
}

/* A word contains how many bytes its owner sends to another member, and how many it expects from
 * that member. TT_PAIR_UNFIT: the word contains no numbers. Either one of them is too large
 * (tt_pair_word), or the two members must also compare a hash of the types of their pieces (struct
 * tt_contents), for which a word has no room (make_words in access.c). */
#define TT_PAIR_UNFIT UINT32_MAX
static inline uint32_t tt_pair_word(int64_t sent, int64_t expected)
{
    bool fits = sent < UINT16_MAX && expected < UINT16_MAX;
    return fits ? (uint32_t)sent << 16 | (uint32_t)expected : TT_PAIR_UNFIT;
}
/* Sets the two numbers of bytes that a word contains: bytes[TT_IN] to those sent, bytes[TT_OUT] to
 * those expected. */
static inline void tt_pair_bytes(uint32_t word, int64_t bytes[2])
{
    bytes[TT_IN] = word >> 16;
    bytes[TT_OUT] = word & UINT16_MAX;
}
/* Returns whether two words, those that two members have for each other, contain numbers which
 * match. */
static inline bool tt_pair_agrees(uint32_t one, uint32_t other)
{
    return one != TT_PAIR_UNFIT && other == (one << 16 | one >> 16);
}

/* The parts of a member's memory that it makes when it first needs them. */
enum tt_team_part {
    TT_PART_WINDOWS,
    TT_PART_ENTRIES,
    TT_PART_LANES,
    TT_PART_RINGS, /* of lane 0; those of the other lanes follow */
    TT_PARTS = TT_PART_RINGS + TT_LANES
};

/* The begin of a member's block: what other members and the roll call read about the member. */
struct tt_head {
    _Alignas(TT_LINE) _Atomic uint64_t done;
    _Atomic uint32_t leavers; /* how many members will not touch this block again */
    /* For the roll call (roll.h): the blocks of all teams of a rank form a list that begins with
     * the block of the world. Only the owner writes these fields, when it makes a team and when it
     * frees one. `ranks` is stored last; it is 0 in a block that belongs to no team. */
    _Atomic int32_t ranks, me;
    _Atomic int16_t slots_log2, windows_log2;
    _Atomic uint64_t id;
    _Atomic int32_t line_stride, opening; /* the same values as in struct tt_block */
    /* offset of the next block of this rank in the segment; 0: there is none */
    _Atomic int64_t next;
    /* offsets of the parts in the segment; 0: not made yet. In cache lines of their own, because
     * they hardly ever change. */
    _Alignas(TT_LINE) _Atomic int64_t part[TT_PARTS];
};
/* The signal lines begin after an odd number of cache lines, as they are an odd number apart. */
_Static_assert(sizeof(struct tt_head) == 3 * TT_LINE, "line_stride() counts on it");

/* The buffers that a rank opens in an execution. The rank writes the addresses and sizes before its
 * first signal. `owed` is for the roll call (tt_exec_owe): 1 + the number of an execution whose
 * request the program of this rank has not completed. If the slot now belongs to another execution,
 * `owed` means nothing. */
struct tt_opening {
    _Alignas(TT_LINE) tt_address at[3]; /* the addresses of IN, OUT and TMP */
    int64_t bytes[3];
    _Atomic uint64_t owed;
};

_Static_assert(sizeof(struct tt_opening) == TT_LINE, "layout() counts on it");

/* The memory that a rank opens to one peer in a v-collective. A rank with neighbours writes the
 * entries of its neighbours only, so an entry may be older than its slot's execution. */
struct tt_segment_opening {
    tt_address at[2]; /* the addresses in IN and OUT */
    int64_t bytes[2];
    uint64_t begun; /* 1 + the number of the execution that this entry belongs to */
};

/* Where everything is in a member's memory, equal on all members. A mirror has everything that a
 * block has, except the short windows, and also the signals of lanes 1, 2 ... and one segment entry
 * in each slot: the member's entry for this rank. */
struct tt_block {
    int64_t line, line_stride; /* the line of slot 0; the distance to the next slot's line */
    int64_t opening;           /* S openings, each followed by a struct tt_call_signature */
    int64_t lanes;             /* in a mirror: W * (TT_LANES - 1) lines */
    int64_t bytes;
    /* ---- in the part of the long windows ---- */
    int64_t window, window_stride; /* the first long window; the distance to the next one */
    /* ---- in the part of the entries; in a mirror, in its block ---- */
    int64_t segments; /* W * peers segment entries */
    int64_t peers;    /* how many peers have an entry: p; in a mirror only this rank */
    int64_t contents; /* W * p pairs of struct tt_contents; not in a mirror */
};

/* Where the block of a member, or its mirror, is, and where the signals of its lanes 1, 2 ... are
 * (NULL: not known yet). */
struct tt_view {
    char *at;
    const struct tt_block *layout;
    char *lanes;
};

struct tt_remote_teams;
struct tt_remote;

/* The state of a team on this rank. FREED: the user has freed the team. DEPARTED: the user has
 * freed the team, and this rank touches no block of other members any more (settle.h). */
enum tt_team_state { TT_TEAM_USED, TT_TEAM_FREED, TT_TEAM_DEPARTED };

/* The two kinds of windows of a team. */
enum tt_windows { TT_SHORT_WINDOWS, TT_LONG_WINDOWS };

/* Invariants (tt_team_valid):
 * - window[TT_SHORT_WINDOWS][r] is set for each member r of this node; window[TT_LONG_WINDOWS][r]
 *   is set too if this rank has found the long windows of r; both point to the window of
 *   execution 0;
 * - every member of this node has ended all executions below all_done;
 * - this rank has ended all executions below my_done; next is the number of the next execution to
 *   start; all_done <= my_done <= next;
 * - slots and windows (S and W) are powers of two; windows <= slots <= TT_SLOTS; windows is
 *   2^windows_log2;
 * - running[k % S] is execution k or NULL;
 * - queued executions have higher numbers than running ones, until the team is broken. */
struct tt_team {
    struct tt_fabric *fabric;
    uint64_t id;                        /* equal on all members; no other team of the job has it */
    struct tt_team *ring, *ring_before; /* the client's teams: a circular list */
    /* world: the client's first team. busy: in the world, the first of the client's busy teams
     * (tt_team_add_busy). next_busy: the next of them. */
    struct tt_team *world, *busy, *next_busy;
    bool is_busy;
    bool walks_busy; /* in the world: tt_team_each_busy is going through the busy teams */
    struct tt_map map;
    int me;
    int *job_rank;        /* by member: its rank in the job */
    int *node;            /* the same array as map.node; NULL: all members are on one node */
    int local;            /* the number of members on this node, this rank included */
    struct tt_view *view; /* by member: where its block or mirror is */
    /* by kind of window and member: the first window; NULL: not known yet, or on another node */
    char **window[2];
    bool finds_windows;       /* some member's long windows are not known yet */
    int64_t offset;           /* offset of this rank's block in the segment */
    struct tt_remote *remote; /* state of remote members; NULL: there are none */
    /* the state that the client's teams share; NULL: the ranks of the job are threads */
    struct tt_remote_teams *remote_teams;
    tutti_context *context; /* advanced while somebody waits on the team; NULL: none */
    struct tt_block layout;
    uint64_t slots, windows; /* S and W: the number of slots, and of windows */
    int windows_log2;
    uint64_t next, my_done, all_done;
    /* 1 + the number of the last execution that this rank has ended without comparing its counts,
     * because its partners compare the counts (only_gives in exec.c); 0: there was none */
    uint64_t given;
    struct tt_exec *running[TT_SLOTS];
    /* by slot: whether this rank has ended the execution in the slot although an earlier execution
     * is still under way, so that my_done does not count it yet */
    bool ended[TT_SLOTS];
    struct tt_exec *queue, **queue_end;
    /* the execution of calls without a plan (tt_exec_note); NULL: there was no such call yet */
    struct tt_exec *note;
    /* by window and lane: 2 * p ends of channels to members of this node. A plan mostly uses few
     * lanes, and sends messages to few members, so each array and each end is allocated at its
     * first use. NULL: no plan has sent a message yet. */
    struct tt_end ***ends;
    /* Small pieces of shared memory (tt_team_take) are cut from chunks: the offset of the newest
     * chunk, 0 if there is none; and the offsets of the next piece and of the end of the chunk. */
    int64_t chunk, piece, chunk_end;
    uint64_t published
        /* by slot: the fingerprint of the call that the slot's tt_call_signature describes */
        [TT_SLOTS];
    struct tt_filling fill;     /* how this rank fills its windows */
    int64_t backed[TT_WINDOWS]; /* the bytes of each long window of this rank that are backed */
    uint32_t failures;          /* the job's count of failures when this rank last looked */
    enum tt_team_state state;
    bool left;           /* some member has left the team or the job */
    int culprit;         /* the rank of the job that caused `broken`; -1: unknown */
    uint64_t events;     /* events on `context` that advancing this team has handled */
    uint32_t looks;      /* how often tt_team_check was called; at intervals it compares calls */
    int64_t compared_ns; /* when is_time_to_compare last returned true */
    uint32_t history;    /* fingerprint of all calls of this rank on the team so far */
    tutti_status broken; /* not OK: every call on this team fails with this */
    char broken_text[384];
    int revoked_by;   /* 1 + the rank of the job that has revoked the team; 0: nobody has */
    int traced_calls; /* number of nested calls under way that tt_trace_call_begin recorded */
    bool reported;    /* some call on this team, or tutti_advance, returned the error */
    /* the team is broken, and this rank touches no block of other members any more */
    bool given_up;
    /* all living members have given the team up: nobody touches this rank's block */
    bool deserted;
    char *bounce; /* scratch for operands that are not loadable */
    int64_t bounce_bytes;
};

bool tt_team_valid(const struct tt_team *t);

/* Returns the bytes of one long window. */
int64_t tt_team_window(void);
/* Return the number of slots, and the number of windows, of a team of p ranks. crowded: the ranks
 * of the job are on one node and share processors. In such a job a rank makes as many calls as it
 * can while it has the processor, so there are more slots. */
int64_t tt_team_slots(int p, bool crowded);
int64_t tt_team_windows(int p);

/* Allocates this rank's block for a team of p members in its arena, and sets *offset to its offset
 * in the segment. Errors: MEMORY, LIMIT. */
tutti_status tt_team_block(struct tt_fabric *f, int p, int64_t *offset);
/* Allocates a block that is large enough for a team of any size up to p. */
tutti_status tt_team_block_upto(struct tt_fabric *f, int p, int64_t *offset);
/* Returns the id of the n-th team that is made from the team with id `of`. `first` is the rank that
 * the new team's first member has in the team `of`. */
uint64_t tt_team_id(uint64_t of, uint64_t n, int first);
/* Initializes a team of p members; this rank is member `me`. Copies job_rank[p]. blocks[p] are the
 * offsets of the members' blocks; blocks[me] comes from tt_team_block. Errors: MEMORY; then the
 * memory to which *t points is freed, but not the block. */
tutti_status tt_team_init(struct tt_team *t, struct tt_fabric *f, int p, int me,
                          const int *job_rank, const int64_t *blocks);
/* Gives a team the blocks of its members, instead of those with which it was initialized. */
void tt_team_place(struct tt_team *t, const int64_t *blocks);
/* Makes a part of this rank's memory, unless it is made already. Windows are not backed yet, and
 * their contents are undefined; all other parts are 0. Errors: MEMORY, LIMIT. */
tutti_status tt_team_provide(struct tt_team *t, enum tt_team_part part);
/* Takes a piece of shared memory, which begins at a cache line and is freed with the team's block.
 * Its contents are undefined. Sets *offset to its offset in the segment. Errors: MEMORY, LIMIT. */
tutti_status tt_team_take(struct tt_team *t, int64_t bytes, int64_t *offset);
/* Finds the signals of lanes 1, 2 ... of a member of this node. NULL: they are not made yet. */
char *tt_team_find_lanes(struct tt_team *t, int rank);
/* Find the long windows of one member of this node, and of all members of this node. Return false
 * if such a member has not made them yet. */
bool tt_team_find_window(struct tt_team *t, int rank);
bool tt_team_find_windows(struct tt_team *t);
/* Adds the team to the list that the roll call reads, once its id is known. The world must be the
 * first team in the list. */
void tt_team_list(struct tt_team *t);
/* Removes the team from the list that the roll call reads, before the team is freed. */
void tt_team_unlist(struct tt_team *t);
/* Breaks the team here because rank `by` of the job has revoked it. */
void tt_team_revoke(struct tt_team *t, int by);
/* Breaks the team because the members agreed that it is broken. `gone` is a member that has failed
 * or left, or -1. The error names this member, unless this rank knows a cause that was recorded.
 * From now on this rank touches no block of the other members. Executions in flight end with
 * PEER. */
void tt_team_give_up(struct tt_team *t, int gone);
/* Updates the world team, which was made before the ranks met, with the facts on which the ranks
 * agreed and with the offsets of their blocks. The world has had no execution yet. */
void tt_team_met(struct tt_team *t);
/* Adds 1 to the `leavers` of each member on this node: this rank will not touch their blocks any
 * more. Does nothing if the team was given up, or if this rank has departed already. */
void tt_team_depart(struct tt_team *t);
/* Frees the team's memory without waiting for anybody. `shared`: also frees the block and byte
 * rings that other members mapped. */
void tt_team_release(struct tt_team *t, bool shared);

/* Puts a team into the circular list of the client's teams, in which `other` is. */
void tt_team_enter_ring(struct tt_team *t, struct tt_team *other);
/* Takes a team out of the lists of the client's teams. */
void tt_team_leave_ring(struct tt_team *t);
/* Records that the team is busy: executions of it may be under way for which no call of this thread
 * waits; or the user has freed the team, and this rank has not left it yet; or the team is broken
 * by an error that no call has returned; or a mismatch is suspected (tt_remote_doubts). A rank that
 * waits on one team advances the client's busy teams, too, because it must not keep their members
 * waiting. It does not look at the other teams, so that calls do not become slower the more teams
 * there are. A team stays busy until tt_team_each_busy finds that none of this holds any more. */
void tt_team_add_busy(struct tt_team *t);
/* Calls each(team, arg) for all busy teams of the client of `t`. `each` may delete its team. */
typedef void tt_team_fn(struct tt_team *t, void *arg);
void tt_team_each_busy(struct tt_team *t, tt_team_fn *each, void *arg);

/* Advances all executions in flight. An error ends the executions concerned and is not returned
 * here. */
void tt_team_advance(struct tt_team *t);
/* Advances this team and the client's busy teams. */
void tt_team_advance_all(struct tt_team *t);
/* Checks the team for a caller that waits and has just found no progress: looks for members that
 * have failed, and for members that have left although this rank still waits for them. At
 * intervals, or at once if `long_wait`, also compares the calls of the members. Sets t->broken if a
 * fault is found. Returns whether the calls were compared this time. */
bool tt_team_check(struct tt_team *t, bool long_wait);
/* Returns whether member r, for which this rank waits, has left the team or the client. If so,
 * marks member r as failed for all ranks, unless another member has failed already: that failure
 * may be the reason why member r left, and the next check of the team finds it. */
bool tt_team_miss(struct tt_team *t, int r);
/* Breaks the team with `status` and the text of tutti_error(). Unless the cause is the failure of
 * another member (PEER), also marks this rank as failed in the job's page, so that the other ranks
 * find the failure. */
void tt_team_break(struct tt_team *t, tutti_status status);
/* Returns the error that broke the team and sets its text again. The error counts as reported
 * now. */
tutti_status tt_team_error(struct tt_team *t);

/* Returns the signal line of a member in a slot, in its block or its mirror. */
static inline struct tt_signal_line *tt_team_line(const struct tt_team *t, int rank, int slot)
{
    const struct tt_view *v = &t->view[rank];
    return (struct tt_signal_line *)(v->at + v->layout->line + slot * v->layout->line_stride);
}

/* Returns the slot that an execution uses. */
static inline int tt_team_slot(const struct tt_team *t, uint64_t number)
{
    return (int)(number & (t->slots - 1));
}

/* Returns the index of the window that the execution in a slot uses. */
static inline int tt_team_window_of(const struct tt_team *t, int slot)
{
    return slot & (int)(t->windows - 1);
}

/* Returns what is added to the values of an execution's signals: (number / W + 1) << 32. */
static inline uint64_t tt_team_base(const struct tt_team *t, uint64_t number)
{
    return ((number >> t->windows_log2) + 1) << 32;
}

/* Returns whether the member is on another node. */
static inline bool tt_team_is_remote(const struct tt_team *t, int rank)
{
    return t->view[rank].layout != &t->layout;
}

static inline struct tt_head *tt_team_head(const struct tt_team *t, int rank)
{
    return (struct tt_head *)t->view[rank].at;
}

static inline _Atomic uint64_t *tt_team_done(const struct tt_team *t, int rank)
{
    return &((struct tt_head *)t->view[rank].at)->done;
}

/* Returns the signal word of a lane of a member in a slot. NULL: it does not exist yet. */
static inline _Atomic uint64_t *tt_team_signal(struct tt_team *t, int rank, int slot, uint32_t lane)
{
    if (tt_likely(lane == 0)) return &tt_team_line(t, rank, slot)->signal;
    char *lanes = t->view[rank].lanes;
    if (tt_unlikely(!lanes) && !(lanes = tt_team_find_lanes(t, rank))) return NULL;
    int64_t i = tt_team_window_of(t, slot) * (TT_LANES - 1) + (int64_t)lane - 1;
    return (_Atomic uint64_t *)(lanes + i * TT_LINE);
}

/* Returns k / W + 1 for the execution k that member `rank` has begun last in the slot, where W is
 * the number of windows (tt_team_base). This number rises with each execution in the slot. */
static inline uint64_t tt_team_begun_last(const struct tt_team *t, int rank, int slot)
{
    const struct tt_signal_line *line = tt_team_line(t, rank, slot);
    return atomic_load_explicit(&line->shape, memory_order_acquire) >> 32;
}

static inline struct tt_opening *tt_team_opening(const struct tt_team *t, int rank, int slot)
{
    const struct tt_view *v = &t->view[rank];
    return (struct tt_opening *)(v->at + v->layout->opening + slot * 2 * TT_LINE);
}

static inline struct tt_call_signature *tt_team_signature(const struct tt_team *t, int rank,
                                                          int slot)
{
    return (struct tt_call_signature *)(tt_team_opening(t, rank, slot) + 1);
}

/* Returns a part of a member of this node; NULL: the member has not made it yet. */
static inline char *tt_team_part(const struct tt_team *t, int rank, int part)
{
    int64_t at = atomic_load_explicit(&tt_team_head(t, rank)->part[part], memory_order_acquire);
    return at ? tt_fabric_at(t->fabric, at) : NULL;
}

/* Returns the segment entry of `rank` for `peer`. If `rank` is on this node, its entries must have
 * been made. A mirror holds only the entry for this rank. */
static inline struct tt_segment_opening *tt_team_segment(const struct tt_team *t, int rank,
                                                         int slot, int peer)
{
    const struct tt_view *v = &t->view[rank];
    char *in = tt_team_is_remote(t, rank) ? v->at : tt_team_part(t, rank, TT_PART_ENTRIES);
    int64_t i = tt_team_window_of(t, slot) * v->layout->peers + (v->layout->peers > 1 ? peer : 0);
    return (struct tt_segment_opening *)(in + v->layout->segments) + i;
}

/* Returns the word of `rank`, a member of this node, for `peer` in a call of pairs. The team must
 * have words. */
static inline uint32_t *tt_team_word(const struct tt_team *t, int rank, int slot, int peer)
{
    return (uint32_t *)tt_team_line(t, rank, slot)->window + peer;
}

/* Returns whether this rank and `rank` have words for each other in calls of pairs. */
static inline bool tt_team_has_words(const struct tt_team *t, int rank)
{
    return t->map.low_bytes > 0 && !tt_team_is_remote(t, rank);
}

/* Returns whether the words of this rank and `rank` in the slot say that their pieces for each
 * other match. */
static inline bool tt_team_words_agree(const struct tt_team *t, int slot, int rank)
{
    return tt_team_has_words(t, rank) &&
           tt_pair_agrees(*tt_team_word(t, t->me, slot, rank), *tt_team_word(t, rank, slot, t->me));
}

/* Returns what `rank` has for `peer` and expects from `peer` in a call with contents: two entries,
 * IN and OUT. If `rank` is on another node, `peer` must be this rank, and the entries are those of
 * the call that `rank` sent last. */
static inline struct tt_contents *tt_team_contents(const struct tt_team *t, int rank, int slot,
                                                   int peer)
{
    if (tt_team_is_remote(t, rank)) return tt_team_signature(t, rank, slot)->contents;
    char *at = tt_team_part(t, rank, TT_PART_ENTRIES) + t->layout.contents;
    return (struct tt_contents *)at + 2 * ((int64_t)tt_team_window_of(t, slot) * t->map.p + peer);
}

/* Returns the word of `rank` that holds the offset of its byte ring to `peer`; the word is 0 if the
 * ring is not made yet. Returns NULL if `rank` has not made the words of the lane yet. */
static inline _Atomic uint64_t *tt_team_ring(const struct tt_team *t, int rank, int slot,
                                             uint32_t lane, int peer)
{
    char *words = tt_team_part(t, rank, TT_PART_RINGS + (int)lane);
    int64_t i = (int64_t)tt_team_window_of(t, slot) * t->map.p + peer;
    return words ? (_Atomic uint64_t *)words + i : NULL;
}

#endif
