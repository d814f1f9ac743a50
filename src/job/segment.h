/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared memory of the ranks of a job on one node: one memfd (or, for the threads of one
 * process, anonymous memory), which every rank maps as a whole.
 *
 *   0             the job page: the ranks' status, wake words, and the table of clients (common.h)
 *   multiple of   grants: each belongs to one rank, and only that rank allocates in it (arena.h),
 *   TT_GRAIN      so there is no lock in shared memory that a dead rank could hold
 *   end           not granted yet: address space without memory
 *   whole_bytes
 *
 * The mapping is as long as the memory that the host could ever provide, but at most 16 GiB for
 * each rank of the node. The file is only as long as the memory that ranks have backed, and grows
 * with it; no process can touch a page beyond the end of the file. Before this end there may be
 * pages without memory, which are free or reserved (arena.h). So a reader of the whole mapping (a
 * core dump, mlockall, a debugger, a checkpointer) finds no more memory than the job has used. In a
 * job of threads, memory that is not granted is PROT_NONE, for the same reason.
 *
 * A grant is taken from the end by one compare-and-swap and is never returned. The file has no
 * name, so it disappears with the last process that maps it or has its descriptor. The mapping of
 * the file is left out of core dumps; otherwise the dump of one rank would contain the memory of
 * all ranks.
 */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/file-id.h"
#include "base/machine.h"
#include "base/rankings.h"
#include "base/settings.h"
#include "base/wisdom.h"
#include "job/activity.h"

#define TT_JOB_MAGIC 0x0069747475745401u
/* processors with this number or a higher one are not counted */
#define TT_JOB_CPUS 1024
/* bytes of a host's name with the final 0; longer names are cut off */
#define TT_JOB_HOST 64

enum {
    /* bytes of an error text that describes the calls of two ranks that do not match
     * (run/signature.h) */
    TT_FINDING_TEXT = 384,
    /* bytes of TUTTI_ALGORITHM that struct tt_world_facts has room for */
    TT_FACTS_ALGORITHM = 256,
    /* bytes of the path of a trace: a folder (PATH_MAX), and a file name with the numbers of a
     * client and a rank */
    TT_TRACE_PATH = 4352,
    TT_FINDINGS = 8 /* the most teams of a client whose errors the page records */
};
/* the most clients of a job at a time; a client counts until every rank has finalized it */
enum { TT_CLIENTS = 16 };

/* The status of a rank, which only rises. The status of the rank's process is ABSENT, JOINED (it
 * has mapped this memory) or FAILED (it has ended, for whatever reason, or cannot go on). The
 * status in a client can be any of the four; a rank that has LEFT becomes FAILED only if another
 * rank still needs it (tt_common_miss). */
enum tt_rank_state { TT_RANK_ABSENT, TT_RANK_JOINED, TT_RANK_LEFT, TT_RANK_FAILED };

/* Why a rank failed. */
enum tt_cause {
    TT_CAUSE_NONE,
    TT_CAUSE_SIGNAL, /* a signal ended its process */
    /* its process exited: with an error code, or with code 0 but without tutti_finalize */
    TT_CAUSE_EXIT,
    TT_CAUSE_ABSENT,  /* its process exited with code 0 and never called tutti_init */
    TT_CAUSE_STATUS,  /* an error of the library, after which it cannot go on */
    TT_CAUSE_LEFT,    /* it left although another rank still needed it */
    TT_CAUSE_SETTING, /* one of its must-match settings differs from that of another rank */
    /* its node cannot be reached: the link to it has broken (code 0), or the host of rank
     * `code` - 1 has no network address */
    TT_CAUSE_LOST,
    TT_CAUSE_GONE,  /* its process has ended, and it is not known how */
    TT_CAUSE_SILENT /* nothing came from its node in time */
};

/* The status of a rank. All other fields but `announced` are set before state becomes FAILED. The
 * first failure stays. If two ranks failed, the one with the lower order failed first.
 *
 * Invariants (tt_rank_status_valid): announced <= state <= FAILED; announced != JOINED; if state is
 * FAILED, the cause in `failure` is not NONE, and order >= 1.
 *
 * The process that reports a failure may be killed between any two stores. So the next report of
 * the same rank completes what the first has left undone (common.c). */
struct tt_rank_status {
    _Atomic uint32_t state; /* enum tt_rank_state */
    /* the last state that was announced to all sleepers: LEFT or FAILED; 0: none was */
    _Atomic uint32_t announced;
    /* how the rank failed, in one word: code 32 bits | team counts 1 bit | cause 16 bits; 0: it has
     * not failed. tt_rank_cause and tt_rank_code read the word. */
    _Atomic uint64_t failure;
    /* 1 + the id of the team on which the rank got the error; it counts only if `failure` says
     * so */
    _Atomic uint64_t team;
    /* orders begin with 1, and some numbers may be left out; 0: the rank has not failed */
    _Atomic uint32_t order;
};
#define TT_NO_TEAM UINT64_MAX                /* no team has this id */
#define TT_FAILURE_CAUSE UINT64_C(0xffff)    /* the bits of `failure` with the cause */
#define TT_FAILURE_ON_TEAM UINT64_C(0x10000) /* the bit that says that `team` counts */

/* Returns why a rank failed; TT_CAUSE_NONE: it has not failed. */
static inline enum tt_cause tt_rank_cause(const struct tt_rank_status *status)
{
    return (enum tt_cause)(atomic_load(&status->failure) & TT_FAILURE_CAUSE);
}

/* Returns a number that depends on the cause: the signal, the exit code, the tutti_status, the
 * tt_must_match, the seconds in which nothing came, or the code of TT_CAUSE_LOST. */
static inline int tt_rank_code(const struct tt_rank_status *status)
{
    return (int)(int32_t)(atomic_load(&status->failure) >> 32);
}

/* The words only change from 0 or rise. So other threads may change them meanwhile: the words are
 * read in the reverse of the order in which a report stores them. */
static inline bool tt_rank_status_valid(const struct tt_rank_status *status)
{
    uint32_t announced = atomic_load(&status->announced), state = atomic_load(&status->state);
    bool recorded = tt_rank_cause(status) != TT_CAUSE_NONE && atomic_load(&status->order) > 0;
    return announced <= state && state <= TT_RANK_FAILED && announced != TT_RANK_JOINED &&
           (state < TT_RANK_FAILED || recorded);
}

/* The wake word on which threads of a rank sleep. `sleeping` counts the threads that sleep or are
 * about to sleep; a thread that wakes them increments `wakes`. */
struct tt_wake_word {
    _Atomic uint32_t sleeping, wakes;
};
/* The wake words of a rank. The first is for collectives and context 0; the other contexts share
 * the rest. So a signal for a context on which a helper thread sleeps wakes few other threads, and
 * collectives do not wake the helper thread. */
enum { TT_WAKE_WORDS = 8 };

/* The record of a rank of the job, on any node. `arena` is the rank's number among the ranks of
 * this node; -1: the rank is on another node. tt_segment_set_process sets pid and pid_space. The
 * rank calls this function when it joins. Before the rank has the memory, it is called by the
 * process that becomes the rank under `tutti run`, or, without a launcher of Tutti, by the rank
 * that has made the segment. */
struct tt_job_rank {
    _Alignas(TT_LINE) struct tt_wake_word wake_word[TT_WAKE_WORDS];
    _Alignas(TT_LINE) struct tt_rank_status rank_status; /* the status of its process */
    _Atomic uint32_t clients; /* the number of clients in which the rank has a seat */
    _Atomic int32_t pid;
    _Atomic uint64_t pid_space; /* the PID namespace of `pid`; 0: not known */
    /* the number in the name of a socket that exists as long as the process (boot/watch.c);
     * 0: there is none */
    _Atomic uint64_t socket;
    int32_t arena;
    int32_t process; /* in a nested job: the number of the process to which the thread belongs */
    /* the number of the rank's node; nodes are numbered from 0 in the order of their lowest
     * ranks */
    int32_t node;
    /* the address, in the rank's process, of a word by which other ranks try whether they can read
     * and write its memory, and the value of this word, which no other process has */
    _Atomic uint64_t probe, probe_value;
    char version[TT_VERSION]; /* version of the library in the rank's process */
    char host[TT_JOB_HOST];   /* the host's name; empty if the job is on one node */
};

/* The record of one rank in one client. Before the rank joins, it stores the offset of its block of
 * the world team in `world`, and that of its mailbox (msg/ring.h) in `mailbox`; 0: not stored
 * yet. */
struct tt_member {
    struct tt_rank_status rank_status;
    _Atomic int64_t world, mailbox;
    /* the offset of the path of the rank's trace, which has TT_TRACE_PATH bytes (fabric/trace.c);
     * 0: the rank writes no trace */
    _Atomic int64_t trace;
    /* what the rank waits for; used if the rank is on this node */
    struct tt_activity_line activity;
    int32_t node; /* the node of the rank in the map of the world; valid once world.known is 1 */
    /* when a notice came that this rank left properly; 0: no notice has come */
    _Atomic int64_t left_ns;
    /* when a collective of this rank last ended, and on which team; 0: none has ended, or the
     * setting TUTTI_WATCHDOG is 0, and then nothing is stored here */
    _Atomic int64_t ended_ns;
    _Atomic uint64_t ended_team;
    /* how many requests this rank has started that its program has not completed; stored by the
     * rank only */
    _Atomic uint32_t requests;
    /* 1: this node has notified all other nodes that this rank failed (boot/notice.h) */
    _Atomic uint32_t noticed;
};

/* The error because of which a team does not work any more. The first rank of this node that knows
 * the error records it. `state` goes from NONE to WRITING to THERE, and the record does not change
 * after that. */
enum tt_finding_state { TT_FINDING_NONE, TT_FINDING_WRITING, TT_FINDING_THERE };
struct tt_finding {
    _Atomic uint32_t state; /* enum tt_finding_state */
    uint64_t team;
    char text[TT_FINDING_TEXT];
};

/* The facts on which the choice of algorithms in a client's world depends, besides the machine
 * model and the wisdom. They are for a process that only reads the job's memory (tutti explain
 * --job). struct tt_map (topo/map.h) explains the members that have the same names there. The first
 * rank of a node writes the facts when all ranks have joined the client, and sets `known` last. */
struct tt_world_facts {
    _Atomic uint32_t known;
    int32_t cores, read_cost, nodes;
    int32_t reads, writes, mapped, one_kernel, rdma;
    struct tt_machine_link link;
    int64_t win_bytes;
    /* the setting TUTTI_ALGORITHM: the length of its value, and as many of its first entries as fit
     * into algorithm[] */
    int64_t algorithm_bytes;
    char algorithm[TT_FACTS_ALGORITHM];
};

/* An entry of the table of clients (common.h). All members are 0 while `number` is 0. */
struct tt_common {
    _Alignas(TT_LINE) _Atomic uint64_t number; /* 1 + the client's number; 0: unused */
    /* how many ranks of this node have left the client, and so do not access this entry any more */
    _Atomic uint32_t gone;
    /* the counters of the three rounds in which the ranks of this node join the client (boot.c);
     * joined: ranks that have published their pids and probe words */
    _Alignas(TT_LINE) _Atomic uint32_t joined;
    /* second round: ranks that have tried to access the memory of all ranks */
    _Atomic uint32_t ready;
    /* the kinds of access (bits of enum tt_access: reading, writing) to another rank's memory that
     * do not work for some rank */
    _Atomic uint32_t forbidden;
    _Atomic uint32_t fences; /* 1: some rank needs a fence after every signal (wait.h) */
    /* the counter of the third round: how many ranks of this node have decided whether they need a
     * fence, and have set `fences` if so; when all have, `fences` is final */
    _Atomic uint32_t settled;
    /* Two ranks of the node measure what it costs to read another rank's memory. block: the offset
     * of the memory that one rank fills for this (tt_cost_begin); 0: there is none. taking_stored
     * and taking_streamed: the ns in which the second rank copied what the first had written by
     * plain stores, and by stores past the caches (struct tt_taking) */
    _Atomic int64_t block, taking_stored, taking_streamed;
    _Atomic int32_t read_cost, read_stored_cost, read_percent, streams, stores_slow;
    /* the machine model and the wisdom of rank 0, which writes them before it adds 1 to `joined`;
     * on nodes without rank 0 they stay empty */
    struct tt_machine_in_force machine;
    struct tt_wisdom wisdom;
    /* offset of the struct tt_rankings that the first rank of this node has read; 0: none */
    _Atomic int64_t rankings;
    struct tt_world_facts world;
    _Atomic int64_t called_ns; /* when a rank of this node last printed the roll call; 0: never */
    _Atomic uint64_t cpus[TT_JOB_CPUS / 64]; /* processors that at least one rank may use */
    /* the least number of processors that a rank has found in `cpus`, limited by its cgroup's
     * quota; 0: no rank has looked yet */
    _Atomic int32_t cores;
    /* for each must-match setting: 1 + the value of the first rank that has stored its value; 0: no
     * rank has */
    _Atomic int64_t must_match[TT_MUST_MATCH_SETTINGS];
    /* the warnings about settings that ranks of this node have (common.h) */
    struct tt_common_warning {
        _Atomic uint64_t id;      /* 0: the entry is free */
        _Atomic int32_t backward; /* the job's size - the lowest rank that has the warning */
        _Atomic int32_t ranks;    /* the number of ranks that have the warning */
    } warning[TT_WARNINGS];
    struct tt_finding finding[TT_FINDINGS];
    struct tt_member rank[];
};

/* `failures` is incremented after the state of a rank became FAILED or LEFT, and before this state
 * counts as announced, so a thread that sees the new count finds the rank. A thread that sleeps is
 * counted in `sleepers` and in the `sleeping` of its wake word (tt_wait_valid).
 *
 * Invariants (tt_job_page_valid): 1 <= arenas <= size; the table of clients ends at or before
 * page_bytes; page_bytes <= backed <= end <= whole_bytes; the ranks of this node have the arenas
 * 0 .. arenas-1 in ascending order; rank[r].node is in 0 .. nodes-1; each rank's status is valid;
 * if a state is announced, failures > 0. */
struct tt_job_page {
    uint64_t magic;
    char version[TT_VERSION]; /* version of the library that made the job */
    int32_t size;             /* ranks of the job */
    int32_t threads;          /* 1: the ranks are threads of one process; else 0 */
    /* The ranks are threads of several processes, and the job was made inside another job
     * (tutti_team_threads), so no launcher watches the processes for this job. */
    int32_t nested;
    int32_t arenas; /* ranks on this node */
    int32_t nodes;  /* nodes of the job */
    int64_t page_bytes, whole_bytes;
    /* The time at which the page was made, which differs between all jobs of a node. In a job on
     * several nodes, the lowest rank of each node replaces it by the stamp of node 0. */
    int64_t stamp;
    int64_t common_at, common_bytes; /* offset of the table of clients, and bytes of one entry */
    _Alignas(TT_LINE) _Atomic uint32_t failures;
    _Atomic uint32_t order; /* the greatest `order` that a report has taken for a rank */
    /* the number of the client that was the last to get an entry in the table, and the index of
     * this entry, in the form that common.c describes */
    _Atomic uint64_t latest_client;
    _Atomic int64_t end;    /* end of the granted memory */
    _Atomic int64_t backed; /* no page at or after this offset was ever backed */
    _Alignas(TT_LINE) _Atomic uint32_t sleepers;
    struct tt_job_rank rank[];
};

/* Other threads may change the page meanwhile. What rises is read after what must not exceed it. */
static inline bool tt_job_page_valid(const struct tt_job_page *job)
{
    int64_t backed = atomic_load(&job->backed), end = atomic_load(&job->end);
    bool valid = job->arenas >= 1 && job->arenas <= job->size && job->page_bytes <= backed &&
                 job->common_at + TT_CLIENTS * job->common_bytes <= job->page_bytes &&
                 backed <= end && end <= job->whole_bytes;
    int arenas = 0;
    for (int r = 0; r < job->size; r++) {
        const struct tt_job_rank *rank = &job->rank[r];
        bool announced = atomic_load(&rank->rank_status.announced) != 0;
        valid = valid && tt_rank_status_valid(&rank->rank_status) && rank->node >= 0 &&
                rank->node < job->nodes && (rank->arena == -1 || rank->arena == arenas++) &&
                (!announced || atomic_load(&job->failures) > 0);
    }
    return valid && arenas == job->arenas;
}

struct tt_store;

struct tt_segment {
    char *base;
    int64_t bytes;
    int fd;                 /* -1 for anonymous memory */
    struct tt_file_id file; /* the file of `fd` when this memory was mapped (tt_segment_file) */
    /* the store of this process' arena, if its clients share it (arena.h); else NULL */
    struct tt_store *store;
};

static inline struct tt_job_page *tt_segment_page(const struct tt_segment *s)
{
    return (struct tt_job_page *)s->base;
}

/* The size of a grant is a multiple of this number, the size of a huge page. So no two ranks share
 * a huge page. */
enum { TT_GRAIN = 2 << 20 };

/* Creates and maps the memory of a job of `size` ranks and fills in its page. Unless `threads`, the
 * memory is a memfd with close-on-exec. Errors: MEMORY, LIMIT, SYSTEM, each with a text that says
 * what the system refused. */
tutti_status tt_segment_create(struct tt_segment *s, int size, bool threads);
/* Creates the memory of one node of a job on several nodes. Rank r of the job is on node node[r] <
 * nodes. The memory is for the ranks of node[me] only. */
tutti_status tt_segment_create_on(struct tt_segment *s, int size, const int *node, int nodes,
                                  int me);
/* Maps the memory of the descriptor fd for a rank, and checks that it is a job of this library.
 * Takes over the descriptor and sets close-on-exec. Errors: BOOT, LIMIT. If the whole memory cannot
 * be mapped (LIMIT), marks the rank as failed, so that the other ranks do not wait for it. */
tutti_status tt_segment_attach(struct tt_segment *s, int fd, int rank);
/* Checks that the page is the page of a job with this library's layout. `bytes` is the length of
 * the mapping or of the file. Errors: BOOT. */
tutti_status tt_segment_check(const struct tt_job_page *job, int64_t bytes);
/* Records the process of a rank. `pid` is the number of the process in the PID namespace of the
 * caller. One process at a time may call this function for a rank. */
void tt_segment_set_process(struct tt_job_rank *rank, pid_t pid);
/* Returns the PID namespace of this process if /proc shows the processes of this namespace by their
 * numbers in it; else 0. */
uint64_t tt_segment_proc_space(void);

/* Returns the number by which the process of a rank can refer to the process of another rank of its
 * node in system calls: kill, process_vm_readv and the like. Returns 0 if there is no such number:
 * the ranks are in different PID namespaces, a namespace is not known, or the other rank has not
 * published its pid. In another namespace, a process that is not the rank may have the number that
 * the rank has in its own. `me` must be the record of a rank that has joined.
 *
 * The other rank may change its record meanwhile, since it replaces what its launcher has recorded.
 * tt_segment_set_process stores a pid of 0 before it changes the namespace. So if this function
 * reads the same pid twice, the namespace that it has read between is the one of this pid, or the
 * process has the same pid in both namespaces. */
static inline pid_t tt_segment_pid(const struct tt_job_rank *of, const struct tt_job_rank *me)
{
    pid_t pid = atomic_load(&of->pid);
    uint64_t space = atomic_load(&of->pid_space);
    bool is_known = space != 0 && space == atomic_load(&me->pid_space);
    return is_known && atomic_load(&of->pid) == pid ? pid : 0;
}

void tt_segment_close(struct tt_segment *s);
/* Unmaps the memory but keeps the descriptor, so that tt_segment_attach can map the memory
 * again. */
void tt_segment_unmap(struct tt_segment *s);

/* Returns the descriptor of the memory's file, or -1 with errno EBADF if the program has closed it.
 * The number may then be that of a file of the program, which the library must leave alone. Not for
 * anonymous memory. */
int tt_segment_file(const struct tt_segment *s);

/* Returns the end of the granted memory. Any thread of any rank may call this function,
 * tt_segment_grant and tt_segment_backed. */
static inline int64_t tt_segment_end(const struct tt_segment *s)
{
    return atomic_load(&tt_segment_page(s)->end);
}
/* Grants the bytes from *end to *end + bytes, which are zero and not backed yet, if *end is the
 * current end; `bytes` must be a multiple of TT_GRAIN. AGAIN: other ranks were granted memory
 * meanwhile, and *end is the new end. `wanted`: how many bytes the caller needs; error texts name
 * this number. Errors: LIMIT, MEMORY. */
tutti_status tt_segment_grant(const struct tt_segment *s, int64_t *end, int64_t bytes,
                              int64_t wanted);
/* Records that pages up to `end` are backed. */
void tt_segment_backed(const struct tt_segment *s, int64_t end);
/* Returns whether these bytes end at or before job->backed. Everything before that offset lies
 * within the file, so such bytes may be touched even if the offset comes from a broken rank. */
static inline bool tt_segment_holds(const struct tt_segment *s, int64_t offset, int64_t bytes)
{
    int64_t backed = atomic_load_explicit(&tt_segment_page(s)->backed, memory_order_relaxed);
    return offset >= 0 && bytes >= 0 && bytes <= backed && offset <= backed - bytes;
}

/* Records that a rank's process has ended, for whatever reason, or cannot go on. The rank counts as
 * failed in all clients that it has not left, and in later ones. Wakes all sleepers. Called by the
 * rank itself, by the launcher that saw its process end, or by another rank that found that it is
 * gone. Any thread. */
void tt_job_fail(struct tt_job_page *job, int rank, enum tt_cause cause, int code);
/* Returns the index of the wake word on which a context's threads sleep. */
static inline int tt_wake_word_of(int context)
{
    return context == 0 ? 0 : 1 + (context - 1) % (TT_WAKE_WORDS - 1);
}
/* tt_job_wake wakes the threads of a rank that sleep on one of its wake words; tt_job_wake_all
 * wakes all sleeping threads of all ranks. */
void tt_job_wake(struct tt_job_page *job, int rank, int wake_word);
void tt_job_wake_all(struct tt_job_page *job);

#endif
