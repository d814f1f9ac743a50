/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How bytes and signals move between the ranks of a node, and the interface that hides how.
 *
 * All fabrics share memory that every rank of the node maps (job/segment.h). Signals are stores to
 * that memory, and waiting is in job/wait.h. The fabrics differ only in the functions of the table
 * below: how a rank accesses memory of another rank that lies outside the segment.
 *
 *   self, thread   all ranks are in one address space: plain loads and stores
 *   shm            the ranks are processes: process_vm_readv and process_vm_writev (CMA), where the
 *                  system allows them. Ranks that are threads of this process are reached by plain
 *                  loads, without a call of these functions (tt_fabric_reach)
 *
 * A wrapper (fault.c, trace.c, tally.c) stands in front of another fabric and passes on what it
 * does not alter. "The ranks meet" below means the call of tt_boot_meet at the start of the job, in
 * which the ranks exchange what they must know of each other.
 */
#ifndef TT_FABRIC_H
#define TT_FABRIC_H

#include "job/arena.h"
#include "job/wait.h"

/* The address of a buffer as other ranks get it: an offset in the segment, or an address in the
 * owner's process. */
typedef uint64_t tt_address;
#define TT_ADDRESS_IN_SEGMENT (1ull << 63)

struct tt_fabric;
struct tt_waiting; /* waiting.h */
struct tt_watch;   /* boot/watch.h */
struct tt_tally;   /* tally.h */

/* A trace event: something that a rank did. */
struct tt_trace_record {
    const char *name; /* what the rank did, a static text */
    /* the collective for which the rank did it, and its algorithm, static texts; NULL: none */
    const char *call, *algorithm;
    int64_t begin_ns, bytes;
    int peer; /* rank in the job; -1: none */
    /* for a signal or await: the value of the flag; for the start of an operation, or the wait for
     * its end: the operation's id */
    uint32_t value;
    uint32_t lane;
    uint64_t execution;
    const void *key; /* the key of the call that the event is a step of; NULL: there is none */
};

/* Describes an execution of a collective that begins, for a trace. The texts are static, or the
 * function that gets them copies them. */
struct tt_traced_call {
    const void *key; /* differs from the keys of all other calls under way */
    uint64_t team, execution;
    int team_size, team_me;
    const char *coll, *algorithm, *type, *op; /* type, op: "" if there is none */
    int root;                                 /* rank in the job; -1: none */
    int64_t bytes, n;                         /* n: elements; -1: not known */
    bool blocks;                              /* the caller waits from the start on */
};

/* `read` copies from the memory of another rank of the job, and `write` copies to it. The bytes
 * [from, from + len) or [to, to + len) of the other rank lie in a buffer that its owner has opened
 * and keeps open during the call; len > 0. The functions return when the bytes are in place.
 * Errors: PEER (the other rank has failed or left, and its memory is gone), ARG (this rank's or the
 * other rank's buffer is no valid memory; tt_fabric_is_memory finds out which of the two; failures
 * of third ranks do not change this error), SYSTEM, UNSUPPORTED (the system forbids the access from
 * now on; the owner has to be asked to send the bytes). `self` is the table itself; the table of a
 * wrapper is the first member of the wrapper. */
struct tt_fabric_ops {
    const char *name;
    tutti_status (*read)(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank, void *to,
                         tt_address from, int64_t len);
    tutti_status (*write)(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                          tt_address to, const void *from, int64_t len);
    /* Called before this rank gives a signal. A wrapper may delay the signal or make the rank fail.
     * NULL: no wrapper needs it. */
    tutti_status (*signalling)(const struct tt_fabric_ops *self, struct tt_fabric *f);
    /* Called after each step of a plan. NULL: no wrapper needs it. */
    void (*did)(const struct tt_fabric_ops *self, struct tt_fabric *f,
                const struct tt_trace_record *event);
    /* Called when an execution begins, when its caller begins to wait for it, and when it ends. Not
     * NULL if `did` is not NULL. */
    void (*began)(const struct tt_fabric_ops *self, struct tt_fabric *f,
                  const struct tt_traced_call *call);
    void (*waits)(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key);
    void (*ended)(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key,
                  tutti_status status);
    void (*close)(const struct tt_fabric_ops *self, struct tt_fabric *f);
};

/* The record of memory that other ranks may still access (tt_fabric_park). `stamp` and `client` say
 * to which job and client the memory belongs. */
struct tt_parked {
    struct tt_parked *next;
    void *memory;
    int64_t stamp;
    int client;
};

/* The fabric as one rank sees it. */
struct tt_fabric {
    const struct tt_fabric_ops *ops;
    const struct tt_segment *segment;
    struct tt_job_page *job;
    struct tt_common *common; /* the part of the job's shared memory that belongs to this client */
    int me, size;
    /* The node of each rank of the job; NULL: all are on one node. If TUTTI_NODES=4,2,1,1 is set,
     * it divides the ranks of one node into several: plans are then made and run as between nodes,
     * although the ranks share memory. */
    int *node; /* owned by the fabric */
    int nodes;
    /* the client's number in the job, from 0: the same on all ranks of the client */
    int client;
    /* whether `read`, and whether `write`, works between all pairs of ranks of this node */
    bool reads, writes;
    /* the TT_ACCESSES that work between all ranks of a node, on each node of the job */
    int everywhere;
    bool mapped; /* plain loads reach every buffer of every rank */
    /* In a nested job, for each rank: whether it is a thread of this process, so that plain loads
     * reach its buffers. NULL in other jobs. Owned by the fabric. */
    bool *same_process;
    /* How many times as long it takes to read bytes from another rank's memory by a system call as
     * to move them through the windows; the same number on all ranks (`times` of struct tt_cost,
     * below). */
    int read_cost;
    /* The cost of such reading as it was measured on this node. read_stored_cost: the time of
     * reading divided by the time to move the bytes through shared memory that plain stores fill
     * (`stored_times` of struct tt_cost). read_percent: the time of reading in per cent of the time
     * to move the bytes through shared memory that plain stores fill, or stores past the caches if
     * these are faster (`percent`). */
    int read_stored_cost, read_percent;
    /* streams: stores past the caches (tt_stream) are faster than plain stores. stores_slow: the
     * windows are filled by tt_stream, and not by plain stores. */
    bool streams, stores_slow;
    /* the machine model of rank 0, which all ranks of the job use */
    struct tt_machine_in_force machine;
    bool fences;     /* signals need a fence (wait.h); true until the ranks have met */
    bool one_kernel; /* all ranks run under one kernel: on one host, perhaps in containers */
    /* processors that the ranks may use together, the same number on all ranks; before they have
     * met, those of this rank */
    int cores;
    /* Whether the ranks are on one node and share processors. All ranks have the same value. Before
     * the ranks have met, it is true if they are on one node, because a block that is large enough
     * for a crowded team is large enough for any other team (run/team.c). */
    bool crowded;
    /* If ranks may read each other's memory: the longest message, in bytes, that goes through the
     * byte ring. The receiver reads a longer one out of the sender's buffer. */
    int64_t eager_most;
    /* For each rank, the TT_ACCESSES that have turned out to be forbidden. NULL if all memory is
     * mapped. */
    _Atomic unsigned char *forbidden;
    struct tt_wait_policy policy;
    struct tt_arena arena;
    struct tt_tally *tally; /* what is counted for a report (tally.h); NULL: nothing */
    struct tt_watch *watch; /* watches the processes of the peers; NULL: the launcher does */
    int64_t watchdog_ns;    /* TUTTI_WATCHDOG; 0: off */
    /* Prints the roll call when a wait has lasted watchdog_ns; NULL: nothing is printed. */
    void (*call_roll)(struct tt_fabric *f, const struct tt_waiting *waiting);
    /* Answers another node's question what the ranks of this node do, and closes the connection;
     * NULL: there is no answer. */
    void (*answer_roll)(struct tt_fabric *f, int connection);
    /* measures a machine model if none is known; NULL: none is measured */
    tt_machine_measure *measure_machine;
    /* the wisdom of rank 0, which all ranks use; rank 0 sets it before the ranks meet */
    struct tt_wisdom wisdom;
    /* Reads the rankings that are known for this machine model and for teams of at most `ranks`
     * ranks. If the pointer is NULL, no rankings are known. In a job that chooses algorithms by
     * estimates, one rank of each node calls it. */
    void (*load_rankings)(const struct tt_machine *machine, int ranks,
                          struct tt_rankings *rankings);
    /* The rankings that all teams of the client use; NULL: the job does not estimate. Owned by the
     * fabric. */
    struct tt_rankings *rankings;
    /* Calls fn for the settings of this process that have no effect; NULL: nobody checks the
     * settings. */
    void (*check_settings)(tt_setting_warn_fn *fn, void *arg);
    struct tt_warnings warnings; /* this rank's warnings about its settings */
};

/* Sets up *f for the rank of this seat. The seat must stay valid; the fabric does not own it. The
 * kind of job decides between the fabrics self, thread and shm. The wrappers that TUTTI_FAULT,
 * TUTTI_TRACE and TUTTI_REPORT ask for are put in front. Members that depend on all ranks (such as
 * `reads`) get their final values later, when the ranks meet. */
tutti_status tt_fabric_init(struct tt_fabric *f, const struct tt_seat *seat);
void tt_fabric_close(struct tt_fabric *f);
/* Frees `memory`, which is from tt_alloc, only when no rank can access it any more. The caller uses
 * this for memory of an execution that has failed, or that this rank has not ended when it leaves
 * the client (tt_exec_is_reachable). *parked lies in the same memory, after its data, where
 * tt_parked_at says. Any thread may call this.
 *
 * A member that knows the address of the memory may access the memory until it notices that the
 * execution has failed. No time limit holds for that, because the system may suspend the member
 * just before its access. If the memory were freed and used again, the member would read wrong
 * data, and might return them with OK; or it would write into other data of this process.
 *
 * Only ranks of this node use the address, and a rank that leaves the client does so after its last
 * access. When all ranks of the node have left the client, its entry disappears from the job page.
 * So the memory is kept until the entry is gone. This process looks whenever it opens or closes a
 * fabric of the same job. In a job of threads of one process, the thread that closes its fabric
 * last finds the entry gone. Between processes, the memory may last until this process makes its
 * next client, like the pieces of the arena (arena.h), or until the process ends. */
void tt_fabric_park(const struct tt_fabric *f, struct tt_parked *parked, void *memory);
/* Returns the offset of the struct tt_parked in memory that may have to be parked. `bytes` bytes of
 * data lie before it. */
static inline int64_t tt_parked_at(int64_t bytes)
{
    return tt_round_up(bytes, _Alignof(struct tt_parked));
}

/* Kinds of access to another rank's memory by system calls, as bits. */
enum tt_access { TT_READS = 1, TT_WRITES = 2, TT_ACCESSES = TT_READS | TT_WRITES };

/* Returns whether this access to a rank of this node works, as far as this rank knows. Any
 * thread. */
static inline bool tt_fabric_may(const struct tt_fabric *f, int rank, enum tt_access access)
{
    return !f->forbidden ||
           !(atomic_load_explicit(&f->forbidden[rank], memory_order_relaxed) & access);
}
/* Records that these accesses do not work, from now on. Any thread. */
void tt_fabric_forbid(struct tt_fabric *f, int rank, int accesses);

/* Returns whether the rank's arena lies in this segment. If so, the rank shares memory with this
 * rank, even if TUTTI_NODES has put the two ranks on different simulated nodes. */
static inline bool tt_fabric_shares(const struct tt_fabric *f, int rank)
{
    return f->job->rank[rank].arena >= 0;
}

static inline bool tt_fabric_same_node(const struct tt_fabric *f, int rank)
{
    return !f->node || f->node[rank] == f->node[f->me];
}

static inline void *tt_fabric_at(const struct tt_fabric *f, int64_t offset)
{
    return f->segment->base + offset;
}

/* Returns the address of a local buffer in the form that other ranks need. */
static inline tt_address tt_fabric_address(const struct tt_fabric *f, const void *memory)
{
    int64_t offset = (const char *)memory - f->segment->base;
    if (offset >= 0 && offset < f->segment->bytes) return (uint64_t)offset | TT_ADDRESS_IN_SEGMENT;
    return (uint64_t)(uintptr_t)memory;
}

/* Returns whether plain loads reach every buffer of the rank. */
static inline bool tt_fabric_maps(const struct tt_fabric *f, int rank)
{
    return f->mapped || (f->same_process && f->same_process[rank]);
}

/* Returns where this rank can load the buffer of another rank from; NULL: it has to use read and
 * write. */
static inline void *tt_fabric_reach(const struct tt_fabric *f, int rank, tt_address address)
{
    if (address & TT_ADDRESS_IN_SEGMENT)
        return tt_fabric_at(f, (int64_t)(address & ~TT_ADDRESS_IN_SEGMENT));
    return tt_fabric_maps(f, rank) ? (void *)(uintptr_t)address : NULL;
}

/* Wakes the threads that sleep on context 0 of the ranks ranks[0..n-1] of the job, or of all ranks
 * if n < 0. The caller has stored the signal for which they sleep, with release. */
void tt_fabric_ring(struct tt_fabric *f, const int *ranks, int n);

static inline void tt_fabric_signalled(struct tt_fabric *f, const int *ranks, int n)
{
    if (tt_signalled(f->job, f->fences)) tt_fabric_ring(f, ranks, n);
}

/* Wakes the threads that sleep on one context of a rank. The caller has stored the signal for which
 * they sleep, with release. */
static inline void tt_fabric_signalled_context(struct tt_fabric *f, int rank, int context)
{
    if (tt_signalled(f->job, f->fences)) tt_job_wake(f->job, rank, tt_wake_word_of(context));
}

static inline tutti_status tt_fabric_read(struct tt_fabric *f, int rank, void *to, tt_address from,
                                          int64_t len)
{
    return f->ops->read(f->ops, f, rank, to, from, len);
}

static inline tutti_status tt_fabric_write(struct tt_fabric *f, int rank, tt_address to,
                                           const void *from, int64_t len)
{
    return f->ops->write(f->ops, f, rank, to, from, len);
}

/* Returns whether the kernel can read this rank's memory at `here` and, if `written`, write it.
 * Slow: for the text of an error only. */
bool tt_fabric_is_memory(char *here, int64_t len, bool written);

/* Waits until it is recorded how a rank of this node ended. The caller has noticed that the
 * connection to the rank, or its process, has ended. Only a launcher that watches the ranks records
 * how they end: if this rank watches the others itself (f->watch is not NULL), the function returns
 * at once. Otherwise it returns when the end of the rank is recorded or the rank has left the
 * client, or after 10 seconds. If the process still has its memory, or the guard (its parent) has
 * reaped the process without a record, the function returns after one second. */
void tt_fabric_await_record(const struct tt_fabric *f, int rank);

/* tt_fault_wrap, tt_trace_wrap and tt_tally_wrap put a wrapper in front of f->ops if TUTTI_FAULT,
 * TUTTI_TRACE or TUTTI_REPORT ask for it. */
tutti_status tt_fault_wrap(struct tt_fabric *f);
/* tt_fault_check checks the text of TUTTI_FAULT (ARG: a word is wrong), and tt_fabric_nodes_valid
 * the text of TUTTI_NODES. Neither checks whether the job has such ranks. */
tutti_status tt_fault_check(const char *text);
bool tt_fabric_nodes_valid(const char *text);
/* Reads TUTTI_NODES for a job of `size` ranks. Sets *nodes to the number of nodes. If there are
 * several, sets *node to an array in which entry r is the node of rank r, and which the caller
 * frees with tt_free; otherwise sets *node to NULL. Errors: ARG (the text is malformed, or its
 * ranks do not sum up to `size`), MEMORY. */
tutti_status tt_fabric_nodes(int size, int **node, int *nodes);
tutti_status tt_trace_wrap(struct tt_fabric *f);
/* Records in the traces of a rank how its process ended, unless the rank had finished its traces.
 * The launcher calls this after tt_job_fail for this rank. */
void tt_trace_ended(const struct tt_segment *segment, int rank);
tutti_status tt_tally_wrap(struct tt_fabric *f);

/* The cost of reading 64 KiB from another process, compared with moving them through shared memory.
 * Each number is at least 1. */
struct tt_cost {
    /* The time of reading divided by the time of moving the bytes through the windows of
     * collectives, as a whole number: 1 stands for a ratio below 0.75, 2 for one from 0.75 to 2.25,
     * 3 for one from 2.25 to 3.25, and so on. If plain stores are slow, the time of reading
     * contains the time in which the owner writes its memory again. In this case, unless
     * TUTTI_FILL=0, the number is at least TT_VERY_DEAR. */
    int times;
    /* The time of reading divided by the time of moving the bytes through shared memory that plain
     * stores fill, as a whole number: 1 stands for a ratio below 1.25, 2 for one from 1.25 to 2.25,
     * and so on. */
    int stored_times;
    /* The time of reading the other process's memory by a system call, in per cent of the time of
     * moving the bytes through shared memory. That memory is filled by plain stores or by stores
     * past the caches (tt_stream), whichever is faster. */
    int percent;
    bool streams; /* tt_stream is faster than plain stores */
    /* Whether tt_stream fills the windows, and not plain stores. TUTTI_FILL decides this. If it is
     * not set, tt_stream fills them if plain stores take more than three times as long as
     * tt_stream. If the difference is smaller, plain stores fill most windows faster, although they
     * were slower when measured: the block that is measured is still in the caches of the process
     * that has read it, whereas windows are filled in turn, and most of them have left these caches
     * when their turn comes. */
    bool stores_slow;
};
/* The ns that another process took to copy 64 KiB that were written by plain stores, and by
 * tt_stream; 0: it could not copy them. */
struct tt_taking {
    int64_t stored, streamed;
};
/* The ns that moving 64 KiB took in each way. `taking`, `storing` and `streaming` are 0 if there is
 * no other process. */
struct tt_cost_times {
    int64_t reading;         /* reading this process' own memory by a system call */
    int64_t copy;            /* copying this process' own memory by plain stores */
    struct tt_taking taking; /* another process copied what this process had written */
    /* this process wrote, by plain stores and by tt_stream, what another process had copied */
    int64_t storing, streaming;
};
/* Computes the cost from measured times. `fill` is TUTTI_FILL; -1: it is not set. */
struct tt_cost tt_cost_judge(const struct tt_cost_times *t, int fill);
enum { TT_COST_BYTES = 128 << 10 };
/* tt_cost_begin, tt_cost_take and tt_cost_end measure the cost. If TUTTI_READ_COST is set, `times`
 * and `stored_times` are its value, and `percent` is 100 times its value. The three steps take
 * about 200 us in all. One process writes a block of shared memory (begin). Another process copies
 * it and reports the times (take). The first process writes the block again and computes the cost
 * (end). If block is NULL or `taking` is 0, there is no other process, and only copies within this
 * process are measured. */
void tt_cost_begin(char *block);
struct tt_taking tt_cost_take(const char *block);
struct tt_cost tt_cost_end(char *block, struct tt_taking taking);
/* Measures between two threads of this process, for a job that has no other processes, and returns
 * `times` of struct tt_cost: how much longer reading takes than moving the bytes through windows.
 * Measures only in the first call; later ones return the same value. One thread at a time. */
int tt_cost_alone(void);
/* Returns the TT_ACCESSES that this process, which is rank `me`, has to the memory of a rank of its
 * job. Tries them on the rank's probe word. */
int tt_cma_works(const struct tt_job_page *job, int rank, int me);
/* Returns a text that says what forbids this access on this host; NULL: nothing known. */
const char *tt_cma_forbidden(enum tt_access access);

extern const struct tt_fabric_ops tt_fabric_shm;

#endif
