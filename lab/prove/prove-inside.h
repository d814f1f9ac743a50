/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of the prover share. A *part* is one rank's share of one execution.
 * Its lanes run until they block, in any order; the result does not depend on the order.
 *
 * Happens-before: each lane has a clock index and a time. The time grows with each event of the
 * lane for which other lanes can wait. `seen->t[i]` is the latest time of clock i of which the lane
 * knows that it is over. An access that ended at time t of clock i happened before the lane's
 * present step if and only if t <= seen->t[i] (tt_prove_before).
 *
 * Values: the value of a byte is a node (struct tt_node, which says from which inputs the byte was
 * computed) and a byte number within that node. Byte x of an interval has the value of byte x +
 * shift of the interval's node.
 *
 * A function that returns bool or a pointer returns false or NULL when the proof is over, because
 * it found a fault or memory ran out. Its caller then returns false or NULL as well.
 */
#ifndef TT_PLAN_PROVE_INSIDE_H
#define TT_PLAN_PROVE_INSIDE_H

#include "prove/prove.h"

/* ---- Clocks ---- */

struct tt_vclock {
    /* how many pointers refer to this clock; t[] may be changed only while there is one */
    uint32_t refs;
    uint32_t t[];
};

struct tt_moment {
    /* for each clock: the latest time of which the lane knows that it is over */
    struct tt_vclock *seen;
    uint32_t clock, time; /* the lane's own clock and time */
};

/* ---- Values ---- */

enum tt_node_kind {
    TT_NODE_UNDER_WAY, /* bytes that a transfer is still writing */
    TT_NODE_GARBAGE,   /* the content of a buffer before anybody wrote to it */
    TT_NODE_INPUT,     /* a rank's input */
    /* several nodes (the kids), combined from left to right: byte x of this node is computed from
     * byte x of each kid */
    TT_NODE_REDUCED
};

struct tt_node {
    uint8_t kind, buf; /* buf: the buffer that held the garbage */
    /* the lowest and the highest rank whose input the value contains; for garbage, the rank that
     * owns the buffer */
    int32_t first, last;
    /* the execution to which the input or buffer belongs; -1 for garbage in a window */
    int32_t execution;
    uint32_t kids, n; /* the operands are tt_prover.kids[kids .. kids + n - 1] */
    uint32_t next;    /* the next node in the same bucket of the hash table */
    uint64_t hash;
};

/* A run: consecutive bytes whose values are the bytes coord .. coord + len - 1 of one node. */
struct tt_proof_run {
    int64_t len, coord;
    uint32_t node;
};
struct tt_runs {
    struct tt_proof_run *at;
    uint32_t n, room, next; /* next: the index of the run whose bytes are combined next */
};

/* ---- Memory ---- */

/* An access of a step to memory. `end` is the time of `clock` at which the access was over, or
 * TT_UNDER_WAY while the access goes on. */
#define TT_UNDER_WAY UINT32_MAX
struct tt_proof_access {
    uint32_t clock, end;
    uint32_t part, at;
    uint8_t lane;
};
struct tt_proof_reader {
    uint32_t access, next;
};

/* An interval: the bytes from `off` up to the `off` of the next interval. `write` is the access
 * that wrote their value (0: none did yet), and `reads` is the list of the accesses that have read
 * it since. */
struct tt_interval {
    int64_t off, shift;
    uint32_t node, write, reads;
};

struct tt_proof_extent {
    int64_t begin, end;
};

/* A buffer of `bytes` bytes, which the intervals cover without gaps. spans: the pieces of the
 * buffer that may be accessed; NULL if the whole buffer may be. */
struct tt_memory {
    struct tt_interval *at;
    uint32_t n, room, hint;
    int64_t bytes;
    struct tt_proof_extent *spans;
    uint32_t spans_n;
    int32_t rank, execution;
    uint8_t buf;
};

/* The place of a step's range in memory: blocks of `block` bytes, whose begins are `stride` bytes
 * apart, `len` bytes in all. A range without a stride is a single block. */
struct tt_place {
    struct tt_memory *memory;
    int64_t off, len, block, stride;
};

/* ---- Execution ---- */

struct tt_proof_message {
    struct tt_proof_message *next; /* the next message in the channel */
    struct tt_proof_lane *lane, *waiter;
    struct tt_moment posted; /* the moment at which a send was posted */
    struct tt_place place;
    /* the matching receive or send; NULL if it is not posted yet */
    struct tt_proof_message *partner;
    uint32_t at;
    int peer;
    bool is_send;
};

/* The messages from a lane of one rank to another rank that still wait for their partners, in
 * order. All of them are sends, or all are receives. */
struct tt_channel {
    /* stands for execution, lane, sender and receiver; 0 if this entry of the table is free */
    uint64_t key;
    struct tt_proof_message *head, *tail;
};

/* A signal that a lane has given. left: how many ranks have not awaited the signal yet; negative if
 * the prover does not count them. */
struct tt_given {
    uint32_t value, n;
    int32_t peer, left;
    const int32_t *set;
    struct tt_moment when;
};

/* One instance of a step that starts a message or a transfer. A step in a loop has an instance,
 * with a number, in each turn of the loop. */
struct tt_begun {
    uint64_t instance;
    struct tt_proof_message *message;
    uint32_t access, at;
    bool under_way;
};

enum tt_lane_state { TT_LANE_IDLE, TT_LANE_READY, TT_LANE_BLOCKED, TT_LANE_DONE };

struct tt_proof_lane {
    struct tt_part *part;
    struct tt_iter iter;
    struct tt_plain step; /* the step that the lane does or is blocked on */
    struct tt_moment now;
    uint32_t born; /* the time of the lane's clock when the lane started */
    int index;
    enum tt_lane_state state;
    bool blocked;                  /* `step` has been tried, and is not done yet */
    struct tt_proof_lane *next;    /* the next lane in the queue, or among the waiters of a lane */
    struct tt_proof_lane *waiters; /* lanes that await this lane's flag */
    struct tt_given *given;
    uint32_t given_n, given_room;
    /* for each step that starts a message or a transfer: its last TT_IN_FLIGHT instances. Instance
     * i of the step with the number `id` has the index id * TT_IN_FLIGHT + i % TT_IN_FLIGHT */
    struct tt_begun *begun;
    /* for each step that starts a message or a transfer (index: its id): 1 + the number of the last
     * instance that the lane has started; 0 if it has started none */
    uint64_t *counts;
    uint32_t under_way;
    /* for each rank: the lane's time when it first awaited a signal of that rank; NULL if the plan
     * accesses no opened buffers */
    uint32_t *opened;
};

enum tt_part_state { TT_PART_IDLE, TT_PART_RUNNING, TT_PART_ENDED };

struct tt_part {
    const struct tt_plan *plan;
    const struct tt_call *call;
    int rank, execution;
    enum tt_part_state state;
    int lanes_left;
    uint32_t input; /* the struct tt_node of the rank's input */
    int64_t in_at;  /* the offset of the input in OUT, if it is there; otherwise -1 */
    struct tt_memory memory[TT_WIN];
    struct tt_proof_lane *lane;
    struct tt_moment end;
};

struct tt_pool_chunk;
struct tt_proof_pool {
    struct tt_pool_chunk *first, *current;
    void *freed[40];
};

struct tt_prover {
    const struct tt_proof_case *problem;
    struct tt_proof *proof;
    tutti_status status; /* any other value than TUTTI_OK ends the proof */
    int p, lanes, slots_in_flight, held;
    uint32_t width; /* the number of entries of a vector clock */
    struct tt_proof_pool pool;
    /* the part of a rank in an execution has the index execution * p + rank */
    struct tt_part *parts;
    struct tt_proof_lane *head, *tail, *running;
    uint32_t ended; /* the number of parts that have ended */

    struct tt_part **reference; /* for each execution: the part that ended first */
    struct tt_memory *windows;  /* the window of a rank in a slot has the index slot * p + rank */
    int64_t win_bytes;

    struct tt_vclock **user; /* for each rank: the clock of the thread that calls the collectives */
    struct tt_vclock **all;  /* for each execution: the join of the clocks of its ended parts */
    uint32_t *ends;          /* for each execution: the number of ranks that have ended it */
    uint32_t *times;         /* for each clock: its latest time */
    int *next_start;         /* for each rank: the execution that it starts next */

    /* The memory of these arrays stays for the next proof. The index 0 of accesses and readers
     * stands for "none". The node with the index 0 is that of bytes that a transfer is still
     * writing; a bucket of the hash table with 0 is empty. */
    struct tt_proof_access *accesses;
    struct tt_proof_reader *readers;
    struct tt_node *nodes;
    uint32_t *kids, *buckets;
    /* for each node: the set of the ranks whose input it contains, a bit mask of set_words words */
    uint64_t *sets;
    uint32_t accesses_n, accesses_room, readers_n, readers_room, nodes_n, nodes_room, kids_n,
        kids_room, sets_room, buckets_n, set_words;
    struct tt_channel *channels;
    uint32_t channels_n, channels_room;
    struct tt_runs *operands; /* for each operand of the current reduction: its runs */
    uint32_t operands_room;
    struct tt_runs result, compared;
    struct tt_proof_run *one; /* for each operand: the run that is combined now */
};

/* Memory that lasts until the end of the proof (prove-memory.c). */
void *tt_prove_alloc(struct tt_prover *p, size_t bytes); /* does not set the memory to 0 */
void *tt_prove_zalloc(struct tt_prover *p, size_t bytes);
void tt_prove_release(struct tt_prover *p, void *memory, size_t bytes);
void tt_prove_pool_reset(struct tt_prover *p);
void tt_prove_pool_free(struct tt_prover *p);
/* Returns the array, after moving it if necessary, with room for at least n elements. The array
 * stays for the next proof. */
void *tt_prove_grow(struct tt_prover *p, void *array, uint32_t *room, uint32_t n, size_t sz);
bool tt_prove_no_memory(struct tt_prover *p); /* records that memory ran out, and returns false */

/* These two functions make a new vector clock and give up a reference to one. */
struct tt_vclock *tt_prove_clock_new(struct tt_prover *p);
void tt_prove_clock_drop(struct tt_prover *p, struct tt_vclock *clock);
/* Adds to *seen all times that were known at the moment `other`, and the moment itself. */
bool tt_prove_join(struct tt_prover *p, struct tt_vclock **seen, const struct tt_moment *other);
bool tt_prove_join_all(struct tt_prover *p, struct tt_vclock **seen, const struct tt_vclock *other);
/* Returns the present moment of the lane, for other lanes to join by tt_prove_join, and advances
 * the lane's time. The caller owns a reference to moment.seen. */
struct tt_moment tt_prove_moment(struct tt_proof_lane *lane);
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

/* Prepares the table of values for a proof. tt_prove_leaf makes a struct tt_node of the given kind,
 * such as the input of a rank in an execution, and returns the index of the node. */
bool tt_prove_values_begin(struct tt_prover *p);
uint32_t tt_prove_leaf(struct tt_prover *p, enum tt_node_kind kind, int buf, int rank,
                       int execution);
/* Returns the index of the struct tt_node for the bytes one[0] op one[1] op ... op one[k - 1], k >=
 * 2. If these operands must not be combined, or memory runs out, records that, which ends the
 * proof, and returns 0. */
uint32_t tt_prove_combine(struct tt_prover *p, const struct tt_proof_run *one, uint32_t k);
static inline const uint64_t *tt_prove_set(const struct tt_prover *p, uint32_t node)
{
    return p->sets + (size_t)node * p->set_words;
}

/* tt_prove_runs_add appends a run to a list of runs. tt_prove_memory_set makes a buffer of `bytes`
 * bytes, all of which have the value `node`. */
bool tt_prove_runs_add(struct tt_prover *p, struct tt_runs *runs, struct tt_proof_run run);
bool tt_prove_memory_set(struct tt_prover *p, struct tt_memory *m, int64_t bytes, uint32_t node);
/* Records an access by the running lane's step, and returns its index; 0 if the proof is over. The
 * access is over when the step is done. If under_way is true, it goes on until the wait for the
 * step. */
uint32_t tt_prove_access(struct tt_prover *p, bool under_way);
static inline bool tt_prove_before(const struct tt_prover *p, uint32_t access,
                                   const struct tt_moment *now)
{
    const struct tt_proof_access *a = &p->accesses[access];
    return a->end <= tt_prove_known(now, a->clock);
}
/* Copies the values of a place into *runs without recording an access. */
bool tt_prove_peek(struct tt_prover *p, const struct tt_place *place, struct tt_runs *runs);
/* Records that `access` reads a place, reports a race if there is one, and copies the values into
 * *runs. */
bool tt_prove_load(struct tt_prover *p, const struct tt_place *place, uint32_t access,
                   struct tt_runs *runs);
/* Records that `access` writes a place, and reports a race if there is one. tt_prove_store sets the
 * values. */
bool tt_prove_claim(struct tt_prover *p, const struct tt_place *place, uint32_t access);
bool tt_prove_store(struct tt_prover *p, const struct tt_place *place, const struct tt_runs *runs);
/* Checks at the end of a part that all accesses of other ranks to this buffer are surely over. */
bool tt_prove_quiet(struct tt_prover *p, struct tt_part *part, struct tt_memory *m);

/* tt_prove_buffers sets up the buffers of a part, and tt_prove_place finds where the range of a
 * step lies in memory, and checks that the step may access it (prove-call.c). */
bool tt_prove_buffers(struct tt_prover *p, struct tt_part *part);
bool tt_prove_place(struct tt_prover *p, const struct tt_range *range, int64_t len, bool write,
                    struct tt_place *place);
/* Checks a part that has ended: its buffers and its result. */
bool tt_prove_result(struct tt_prover *p, struct tt_part *part);

/* Returns a lane, other than the message's own, on which the peer has posted a send or receive that
 * would match the message; -1 if there is none. The error message names this lane. */
int tt_prove_other_lane(struct tt_prover *p, const struct tt_proof_message *message);
static inline struct tt_part *tt_prove_part(const struct tt_prover *p, int execution, int rank)
{
    return &p->parts[execution * p->p + rank];
}

/* Reports of faults (prove-report.c). These functions end the proof and return false. */
__attribute__((format(printf, 3, 4), cold)) bool
tt_prove_fault(struct tt_prover *p, enum tt_fault fault, const char *format, ...);
/* Reports a fault that was found at the end of a part, and not at the running step. */
__attribute__((format(printf, 4, 5), cold)) bool tt_prove_fault_at_end(struct tt_prover *p,
                                                                       const struct tt_part *part,
                                                                       enum tt_fault fault,
                                                                       const char *format, ...);
/* Reports a race: `access` reads or writes bytes [off, off + len) of m. It conflicts with the
 * earlier access `other`, which in some timing is not over when `access` begins. */
__attribute__((cold)) bool tt_prove_race(struct tt_prover *p, const struct tt_memory *m,
                                         int64_t off, int64_t len, uint32_t access, bool write,
                                         uint32_t other, bool other_writes);
__attribute__((cold)) bool tt_prove_stuck(struct tt_prover *p);
enum { TT_PROVE_STEP_TEXT = 256 };
/* These functions write a description into the buffer `text` (of `size` bytes), and return text.
 * They describe step number `at` (in plan->steps) of the part's plan, such as "step 2" or, if the
 * plans come from a file, "step 2 at FILE:7:3"; a range of bytes, such as "OUT[8..16) of rank 1"; a
 * value; and a set of ranks. */
char *tt_prove_say_step(const struct tt_prover *p, char text[TT_PROVE_STEP_TEXT],
                        const struct tt_part *part, uint32_t at);
char *tt_prove_say_bytes(const struct tt_prover *p, char *text, size_t size,
                         const struct tt_memory *m, int64_t off, int64_t len);
char *tt_prove_say_value(const struct tt_prover *p, char *text, size_t size,
                         struct tt_proof_run run);
char *tt_prove_say_ranks(char *text, size_t size, const uint64_t *set, int p, bool absent);

#endif
