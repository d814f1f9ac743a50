/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the prover share. A *part* is one rank's share of one execution; its lanes run
 * until they block, in any order (the result does not depend on it).
 *
 * Happens-before: lane l has a clock index and a time, which grows with whatever others can wait
 * for. `seen->t[i]` is the latest time of clock i that is known to be over. An access that ended at
 * time t of clock i is ordered before now iff t <= seen->t[i] (tt_prove_before).
 *
 * Values: byte x of an interval is byte x + shift of its node.
 *
 * A function that returns bool or a pointer returns false or NULL when the proof is over, because a
 * fault was found or memory ran out; whoever calls it returns likewise.
 */
#ifndef TT_PLAN_PROVE_INSIDE_H
#define TT_PLAN_PROVE_INSIDE_H

#include "plan/prove.h"

/* ---- Clocks (prove-clock.c) ---- */

struct tt_vclock {
    uint32_t refs; /* who holds it; changed only when there is one */
    uint32_t t[];
};

struct tt_moment {
    struct tt_vclock *seen; /* of others */
    uint32_t clock, time;   /* its own */
};

/* ---- Values (prove-value.c) ---- */

enum tt_node_kind {
    TT_NODE_UNDER_WAY, /* what a transfer is writing */
    TT_NODE_GARBAGE,   /* what was in a buffer before */
    TT_NODE_INPUT,     /* a rank's input */
    TT_NODE_REDUCED    /* children, combined from the left; all at the same byte */
};

struct tt_node {
    uint8_t kind, buf;   /* buf: of garbage */
    int32_t first, last; /* input: its rank, twice; reduced: the run of ranks if it is one */
    int32_t execution;   /* -1: of a window's garbage */
    uint32_t kids, n;    /* in prover.kids */
    uint32_t next;       /* of the same hash */
    uint64_t hash;
};

/* Consecutive bytes of one node. */
struct tt_run {
    int64_t len, coord;
    uint32_t node;
};
struct tt_runs {
    struct tt_run *at;
    uint32_t n, room, next; /* next: to be combined */
};

/* ---- Memory (prove-memory.c) ---- */

/* A step's access to memory. end: the time of `clock` at which it is over, UNDER_WAY until then. */
#define TT_UNDER_WAY UINT32_MAX
struct tt_access {
    uint32_t clock, end;
    uint32_t part, at;
    uint8_t lane;
};
struct tt_reader {
    uint32_t access, next;
};

/* [off, off of the next one): its value, the access that wrote it (0: nobody yet), and those that
 * read it since. */
struct tt_interval {
    int64_t off, shift;
    uint32_t node, write, reads;
};

struct tt_extent {
    int64_t begin, end;
};

/* A buffer of `bytes` bytes; intervals cover it. spans: where it may be touched, if not all of
 * it. */
struct tt_memory {
    struct tt_interval *at;
    uint32_t n, room, hint;
    int64_t bytes;
    struct tt_extent *spans;
    uint32_t spans_n;
    int32_t rank, execution;
    uint8_t buf;
};

/* A resolved range: block == len if it is plain. */
struct tt_place {
    struct tt_memory *memory;
    int64_t off, len, block, stride;
};

/* ---- Execution ---- */

struct tt_message {
    struct tt_message *next; /* in its channel */
    struct tt_lane_run *lane, *waiter;
    struct tt_moment posted; /* of a send */
    struct tt_place place;
    struct tt_message *partner; /* NULL until matched */
    uint32_t at;
    int peer;
    bool is_send;
};

/* Messages between two lanes that wait for their partners: all sends or all receives. */
struct tt_channel {
    uint64_t key; /* 0: free */
    struct tt_message *head, *tail;
};

/* A signal given. left: how many are still to await it; negative: not counted. */
struct tt_given {
    uint32_t value, n;
    int32_t peer, left;
    const int32_t *set;
    struct tt_moment when;
};

/* An instance of a starting step. */
struct tt_begun {
    uint64_t instance;
    struct tt_message *message;
    uint32_t access, at;
    bool under_way;
};

enum tt_lane_state { TT_LANE_IDLE, TT_LANE_READY, TT_LANE_BLOCKED, TT_LANE_DONE };

struct tt_lane_run {
    struct tt_part *part;
    struct tt_iter iter;
    struct tt_plain step; /* being done, or blocked on */
    struct tt_moment now;
    uint32_t born; /* its time at the start */
    int index;
    enum tt_lane_state state;
    bool blocked;                /* `step` is still to be done */
    struct tt_lane_run *next;    /* in the queue, or among the waiters of a lane */
    struct tt_lane_run *waiters; /* for this lane's flag */
    struct tt_given *given;
    uint32_t given_n, given_room;
    struct tt_begun *begun; /* TT_IN_FLIGHT for each id */
    uint64_t *counts;       /* instances so far, by id */
    uint32_t under_way;
    uint32_t *opened; /* by rank: when this lane first awaited it; NULL if not needed */
};

enum tt_part_state { TT_PART_IDLE, TT_PART_RUNNING, TT_PART_ENDED };

struct tt_part {
    const struct tt_plan *plan;
    const struct tt_call *call;
    int rank, execution;
    enum tt_part_state state;
    int lanes_left;
    uint32_t input; /* node */
    int64_t in_at;  /* in place: where in OUT; -1: not in place */
    struct tt_memory memory[TT_WIN];
    struct tt_lane_run *lane;
    struct tt_moment end;
};

struct tt_pool_chunk;
struct tt_pool {
    struct tt_pool_chunk *first, *current;
    void *freed[40];
};

struct tt_prover {
    const struct tt_proof_case *problem;
    struct tt_proof *proof;
    tutti_status status; /* not TUTTI_OK: over */
    int p, lanes, slots_in_flight, held;
    uint32_t width; /* of vector clocks */
    struct tt_pool pool;
    struct tt_part *parts; /* execution * p + rank */
    struct tt_lane_run *head, *tail, *running;
    uint32_t ended; /* parts */

    struct tt_part **reference; /* by execution: the first that ended */
    struct tt_memory *windows;  /* slot * p + rank */
    int64_t win_bytes;

    struct tt_vclock **user; /* by rank: what the caller's thread has seen */
    struct tt_vclock **all;  /* by execution: after all have ended it */
    uint32_t *ends;          /* by execution: how many have ended it */
    uint32_t *times;         /* by clock: the latest */
    int *next_start;         /* by rank: the execution */

    /* These outlive the proof; entry 0 is "none". */
    struct tt_access *accesses;
    struct tt_reader *readers;
    struct tt_node *nodes;
    uint32_t *kids, *buckets;
    uint64_t *sets; /* set_words a node: the ranks in it */
    uint32_t accesses_n, accesses_room, readers_n, readers_room, nodes_n, nodes_room, kids_n,
        kids_room, sets_room, buckets_n, set_words;
    struct tt_channel *channels;
    uint32_t channels_n, channels_room;
    struct tt_runs *operands; /* of a reduction */
    uint32_t operands_room;
    struct tt_runs result, compared;
    struct tt_run *one; /* of each operand */
};

/* prove-pool.c: memory until the end of the proof. */
void *tt_prove_alloc(struct tt_prover *p, size_t bytes); /* not zeroed */
void *tt_prove_zalloc(struct tt_prover *p, size_t bytes);
void tt_prove_release(struct tt_prover *p, void *memory, size_t bytes);
void tt_prove_pool_reset(struct tt_prover *p);
void tt_prove_pool_free(struct tt_prover *p);
/* The array with room for at least n elements; also outlives the proof. */
void *tt_prove_grow(struct tt_prover *p, void *array, uint32_t *room, uint32_t n, size_t sz);
bool tt_prove_no_memory(struct tt_prover *p); /* false */

/* prove-clock.c */
struct tt_vclock *tt_prove_clock_new(struct tt_prover *p);
struct tt_vclock *tt_prove_clock_copy(struct tt_prover *p, const struct tt_vclock *clock);
void tt_prove_clock_drop(struct tt_prover *p, struct tt_vclock *clock);
/* *seen now knows all that `other` knew, and itself. */
bool tt_prove_join(struct tt_prover *p, struct tt_vclock **seen, const struct tt_moment *other);
bool tt_prove_join_all(struct tt_prover *p, struct tt_vclock **seen, const struct tt_vclock *other);
/* Now, for others to join; they own the reference. */
struct tt_moment tt_prove_moment(struct tt_lane_run *lane);
static inline uint32_t tt_prove_known(const struct tt_moment *now, uint32_t clock)
{
    return clock == now->clock ? now->time : now->seen->t[clock];
}
static inline uint32_t tt_prove_clock_of(const struct tt_prover *p, const struct tt_part *part,
                                         int lane)
{
    uint32_t slot = (uint32_t)(part->execution % p->slots_in_flight);
    return (slot * (uint32_t)p->p + (uint32_t)part->rank) * (uint32_t)p->lanes + (uint32_t)lane;
}

/* prove-value.c */
bool tt_prove_values_begin(struct tt_prover *p);
uint32_t tt_prove_leaf(struct tt_prover *p, enum tt_node_kind kind, int buf, int rank,
                       int execution);
/* The node of one[0] op one[1] op ..., k of them, k >= 2; 0 if the proof is over. */
uint32_t tt_prove_combine(struct tt_prover *p, const struct tt_run *one, uint32_t k);
static inline const uint64_t *tt_prove_set(const struct tt_prover *p, uint32_t node)
{
    return p->sets + (size_t)node * p->set_words;
}

/* prove-memory.c */
bool tt_prove_runs_add(struct tt_prover *p, struct tt_runs *runs, struct tt_run run);
bool tt_prove_memory_set(struct tt_prover *p, struct tt_memory *m, int64_t bytes, uint32_t node);
/* An access of the running lane's step: over at once, or under way. 0 if the proof is over. */
uint32_t tt_prove_access(struct tt_prover *p, bool under_way);
static inline bool tt_prove_before(const struct tt_prover *p, uint32_t access,
                                   const struct tt_moment *now)
{
    const struct tt_access *a = &p->accesses[access];
    return a->end <= tt_prove_known(now, a->clock);
}
/* Reads the values of a place into *runs; no access. */
bool tt_prove_peek(struct tt_prover *p, const struct tt_place *place, struct tt_runs *runs);
/* The same, as a read by `access`. */
bool tt_prove_load(struct tt_prover *p, const struct tt_place *place, uint32_t access,
                   struct tt_runs *runs);
/* The write by `access`, whose values are stored later. */
bool tt_prove_claim(struct tt_prover *p, const struct tt_place *place, uint32_t access);
bool tt_prove_store(struct tt_prover *p, const struct tt_place *place, const struct tt_runs *runs);
/* Whether nobody else's access is left when the part ends. */
bool tt_prove_quiet(struct tt_prover *p, struct tt_part *part, struct tt_memory *m);

/* prove-place.c */
bool tt_prove_buffers(struct tt_prover *p, struct tt_part *part);
bool tt_prove_place(struct tt_prover *p, const struct tt_range *range, int64_t len, bool write,
                    struct tt_place *place);
int64_t tt_prove_in_bytes(const struct tt_call *call, int p, int rank);
int64_t tt_prove_out_bytes(const struct tt_call *call, int p, int rank);

/* prove-message.c */
bool tt_prove_channels_begin(struct tt_prover *p);
/* Posts the running lane's send or receive. */
struct tt_message *tt_prove_post(struct tt_prover *p, const struct tt_place *place);
/* Whether such a message waits between these ranks on some other lane; -1 or the lane. */
int tt_prove_other_lane(struct tt_prover *p, const struct tt_message *message);

/* prove-step.c */
enum tt_outcome { TT_STEP_DONE, TT_STEP_BLOCKED, TT_STEP_OVER };
enum tt_outcome tt_prove_step(struct tt_prover *p, struct tt_lane_run *lane);

/* prove-result.c: of a part that has ended. */
bool tt_prove_result(struct tt_prover *p, struct tt_part *part);

/* prove.c */
void tt_prove_ready(struct tt_prover *p, struct tt_lane_run *lane);
static inline struct tt_part *tt_prove_part(const struct tt_prover *p, int execution, int rank)
{
    return &p->parts[execution * p->p + rank];
}

/* prove-report.c: end the proof; return false. */
__attribute__((format(printf, 3, 4), cold)) bool
tt_prove_fault(struct tt_prover *p, enum tt_fault fault, const char *format, ...);
/* At the end of a part instead of at the running step. */
__attribute__((format(printf, 4, 5), cold)) bool tt_prove_fault_at_end(struct tt_prover *p,
                                                                       const struct tt_part *part,
                                                                       enum tt_fault fault,
                                                                       const char *format, ...);
/* [off, off + len) of m is touched by `access` while `other` is not ordered before it. */
__attribute__((cold)) bool tt_prove_race(struct tt_prover *p, const struct tt_memory *m,
                                         int64_t off, int64_t len, uint32_t access, bool write,
                                         uint32_t other, bool other_writes);
__attribute__((cold)) bool tt_prove_stuck(struct tt_prover *p);
/* "rank 1's OUT[8..16)", "elements ...": into text, of `size` bytes; returns text. */
char *tt_prove_say_bytes(const struct tt_prover *p, char *text, size_t size,
                         const struct tt_memory *m, int64_t off, int64_t len);
char *tt_prove_say_value(const struct tt_prover *p, char *text, size_t size, struct tt_run run);
char *tt_prove_say_ranks(char *text, size_t size, const uint64_t *set, int p, bool absent);

#endif
