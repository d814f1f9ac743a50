/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How bytes and signals travel between the ranks of a job.
 *
 * What all fabrics here share is memory that every rank maps (segment.h): signals are stores to
 * it, and waiting is wait.h. They differ in the few functions of the table below: how a rank
 * gets at memory of another that lies outside the segment.
 *
 *   self, thread   everything is in one address space: plain loads and stores
 *   shm            processes: process_vm_readv and writev (CMA), where the system allows them
 *
 * A wrapper (fault.c, trace.c) stands before another fabric and passes on what it does not alter.
 */
#ifndef TT_FABRIC_H
#define TT_FABRIC_H

#include "fabric/arena.h"
#include "fabric/wait.h"

/* A buffer as told to others: an offset in the segment, or an address of its owner. */
typedef uint64_t tt_address;
#define TT_ADDRESS_IN_SEGMENT (1ull << 63)

struct tt_fabric;
struct tt_watch; /* boot/watch.h */

/* A thing done, for a trace. */
struct tt_deed {
    const char *name;             /* static text, as the next two, which are of the collective */
    const char *call, *algorithm; /* NULL: none */
    int64_t begin_ns, bytes;
    int peer;       /* in the job; -1: none */
    uint32_t value; /* of a flag; of a start or its wait: its id */
    uint32_t lane;
    uint64_t execution;
    const void *key; /* of the call that it is a step of; NULL: of none */
};

/* A collective of which an execution begins, for a trace. Texts are static or are copied. */
struct tt_traced_call {
    const void *key; /* of no other call that is under way */
    uint64_t team, execution;
    int team_size, team_me;
    const char *coll, *algorithm, *type, *op; /* type, op: "" where there is none */
    int root;                                 /* in the job; -1: there is none */
    int64_t bytes, n;                         /* n: elements; -1: not known */
    bool blocks;                              /* its caller waits from the start on */
};

/* rank: in the job. Preconditions: 0 <= rank < size, not me; [from, from + len) is a buffer that
 * its owner opened and that stays so during the call; len > 0. They return when the bytes are
 * there. Errors: PEER (its memory is gone), SYSTEM (also: what it gave is no memory), ARG (what
 * this rank gave is none), UNSUPPORTED (the system forbids it, from now on: its owner has to be
 * asked instead). `self` is the table itself: a wrapper's is the beginning
 * of the wrapper. */
struct tt_fabric_ops {
    const char *name;
    tutti_status (*read)(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank, void *to,
                         tt_address from, int64_t len);
    tutti_status (*write)(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                          tt_address to, const void *from, int64_t len);
    /* Before each signal of this rank is given: a wrapper may delay it, or make the rank fail. NULL
     * where nobody listens. */
    tutti_status (*signalling)(const struct tt_fabric_ops *self, struct tt_fabric *f);
    /* After each step of a plan: what it was, since when, and how many bytes. NULL likewise. */
    void (*did)(const struct tt_fabric_ops *self, struct tt_fabric *f, const struct tt_deed *deed);
    /* A call begins; its caller waits for it; it ends. They are there where `did` is. */
    void (*began)(const struct tt_fabric_ops *self, struct tt_fabric *f,
                  const struct tt_traced_call *call);
    void (*waits)(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key);
    void (*ended)(const struct tt_fabric_ops *self, struct tt_fabric *f, const void *key,
                  tutti_status status);
    void (*close)(const struct tt_fabric_ops *self, struct tt_fabric *f);
};

/* One rank's end. */
struct tt_fabric {
    const struct tt_fabric_ops *ops;
    const struct tt_segment *segment;
    struct tt_job_page *job;
    struct tt_common *common; /* what the ranks share of this client */
    int me, size;
    /* Which node each rank of the job is on; NULL: all on one. What TUTTI_NODES=4,2,1,1 says where
     * it is set, though memory is shared: then plans are made, and run, as between machines. */
    int *node; /* its own */
    int nodes;
    int client;         /* its number in the job, from 0: the same on all ranks of the client */
    bool direct;        /* read and write work between every pair of ranks */
    bool reads, writes; /* ... of this machine: the one, the other */
    bool mapped;        /* every buffer of every rank can be reached by plain loads */
    int read_cost;      /* struct tt_map's */
    int read_percent;   /* struct tt_cost's, of this machine ... */
    bool streams;       /* ... likewise */
    bool fences;        /* signallers must fence: no membarrier */
    bool one_kernel;    /* under which all ranks run, on one machine or in containers of it */
    int cores;          /* that the ranks may use together; until they have met, this one's */
    int64_t eager_most; /* bytes of a message that go through the ring; longer ones are read */
    /* For each rank, the TT_ACCESSES that were found to be forbidden. NULL if all memory is
     * mapped. */
    _Atomic unsigned char *forbidden;
    struct tt_patience patience;
    struct tt_arena arena;
    struct tt_watch *watch; /* of the peers' processes; NULL: the launcher watches them */
    int64_t watchdog_ns;    /* TUTTI_WATCHDOG; 0: none */
    /* Prints who is missing, when this wait has lasted that long; NULL: nobody does. */
    void (*call_roll)(struct tt_fabric *f, const struct tt_waiting *waiting);
};

/* Readies f for the rank that has this seat, which it uses but does not own. The fabric is
 * self, thread or shm by what the job is; then the wrappers that TUTTI_FAULT and TUTTI_TRACE ask
 * for. What can be known only together (direct) is settled by boot. */
tutti_status tt_fabric_init(struct tt_fabric *f, const struct tt_seat *seat);
void tt_fabric_close(struct tt_fabric *f);

/* Reads TUTTI_NODES for a job of `size` ranks. *node is allocated, or NULL if there is one node.
 * Errors: ARG (the text is malformed, or its ranks do not sum up to `size`), MEMORY. */
tutti_status tt_fabric_nodes(int size, int **node, int *nodes);

/* Ways of reaching into another rank's memory by the system. */
enum tt_access { TT_READS = 1, TT_WRITES = 2, TT_ACCESSES = TT_READS | TT_WRITES };

/* Whether this way to a rank of this machine works, as far as is known. Any thread. */
static inline bool tt_fabric_may(const struct tt_fabric *f, int rank, enum tt_access access)
{
    return !f->forbidden ||
           !(atomic_load_explicit(&f->forbidden[rank], memory_order_relaxed) & access);
}
/* It does not, from now on. Any thread. */
void tt_fabric_forbid(struct tt_fabric *f, int rank, int accesses);

/* Whether the rank's arena lies in this segment: it is on this machine, whatever `node` says. */
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

/* The address to tell others of a local buffer. */
static inline tt_address tt_fabric_tell(const struct tt_fabric *f, const void *memory)
{
    int64_t offset = (const char *)memory - f->segment->base;
    if (offset >= 0 && offset < f->segment->bytes) return (uint64_t)offset | TT_ADDRESS_IN_SEGMENT;
    return (uint64_t)(uintptr_t)memory;
}

/* Where another rank's buffer can be loaded from, or NULL: then read and write. */
static inline void *tt_fabric_reach(const struct tt_fabric *f, tt_address address)
{
    if (address & TT_ADDRESS_IN_SEGMENT)
        return tt_fabric_at(f, (int64_t)(address & ~TT_ADDRESS_IN_SEGMENT));
    return f->mapped ? (void *)(uintptr_t)address : NULL;
}

/* Rings for context 0 of job ranks[0..n-1], if they sleep, after a release store; n < 0: for
 * everybody. */
void tt_fabric_ring(struct tt_fabric *f, const int *ranks, int n);

static inline void tt_fabric_signalled(struct tt_fabric *f, const int *ranks, int n)
{
    if (tt_signalled(f->job, f->fences)) tt_fabric_ring(f, ranks, n);
}

/* Does the same for one context of a rank. */
static inline void tt_fabric_signalled_context(struct tt_fabric *f, int rank, int context)
{
    if (tt_signalled(f->job, f->fences)) tt_job_wake(f->job, rank, tt_bell_of(context));
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

/* Put themselves before f->ops, if TUTTI_FAULT or TUTTI_TRACE ask for it. */
tutti_status tt_fault_wrap(struct tt_fabric *f);
tutti_status tt_trace_wrap(struct tt_fabric *f);

/* The cost of reading 64 KiB of another process; each field is at least 1. */
struct tt_cost {
    int times;    /* what the same takes through shared memory by stores, rounded down */
    int percent;  /* of what it takes there by stores or by tt_stream, whichever is better ... */
    bool streams; /* ... which is the latter */
};
/* The ns that another process took to copy 64 KiB that were stored, and streamed; 0: it could
 * not. */
struct tt_taking {
    int64_t stored, streamed;
};
enum { TT_COST_BYTES = 128 << 10 };
/* It is measured, or what TUTTI_READ_COST says. In three steps, some 200 us together: one writes a
 * block of shared memory, then another one, of another process, takes it and tells how long that
 * was, then the first one writes it once more. block NULL or nothing told: there is no other one,
 * and its own cache stands for theirs. */
void tt_cost_begin(char *block);
struct tt_taking tt_cost_take(const char *block);
struct tt_cost tt_cost_end(char *block, struct tt_taking taking);
/* Returns the cost in a job without other processes, between threads. */
int tt_cost_alone(void);
/* Returns the TT_ACCESSES that this process has to the memory of a rank of its job; it tries them
 * on the rank's probe word. */
int tt_cma_works(const struct tt_job_page *job, int rank);
/* Returns in words what forbids this access on this machine; NULL: nothing that is known. */
const char *tt_cma_forbidden(enum tt_access access);

extern const struct tt_fabric_ops tt_fabric_self, tt_fabric_thread, tt_fabric_shm;

#endif
