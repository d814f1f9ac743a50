/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one memory object of a job on one machine: a memfd (or, for the threads of one process,
 * anonymous memory), mapped whole by every rank.
 *
 *   0             the job page: who is there, who failed, who sleeps; and what the ranks share of
 *                 each client
 *   first grain   grants: each belongs to one rank, which alone allocates in it (arena.h), so that
 *   ...           there is no lock in shared memory for a dead rank to hold
 *   end           not granted yet, and not there: address space only
 *   whole_bytes
 *
 * The mapping is as long as the memory that the machine could ever give. The file is only as long
 * as what ranks have been backed in it, and grows with that: a page beyond its end cannot be
 * touched by anybody. So whatever walks a whole mapping (a core dump, mlockall, a debugger, a
 * checkpointer) finds no more than the job has used. The memory of threads is PROT_NONE where
 * nothing is granted, to the same end.
 *
 * A grant is taken from the end by one compare-and-swap, and is never given back. The file has no
 * name anywhere, so it goes with the last process that maps it; it is left out of core dumps, whose
 * one rank would bring along what all ranks have.
 */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "fabric/activity.h"

#define TT_JOB_MAGIC 0x0069747475745401u
#define TT_JOB_CPUS 1024 /* processors beyond are not counted */
#define TT_JOB_HOST 64   /* bytes of a machine's name, with the 0 at its end; cut off beyond */

enum {
    TT_FINDING_TEXT = 384,
    TT_FINDINGS = 8       /* teams of a client of which is said why they do not work any more */
};                        /* bytes of two calls as text (run/what.h), with what is between them */
enum { TT_CLIENTS = 16 }; /* of a job at once; one counts until every rank has finalized it */

/* How a rank stands, only upwards. With the job, where its process counts: ABSENT, JOINED (it has
 * mapped this memory), FAILED (it has ended, however, or cannot go on). With a client: all four;
 * one that left is failed only if it is missed (tt_common_miss). */
enum tt_rank_state { TT_RANK_ABSENT, TT_RANK_JOINED, TT_RANK_LEFT, TT_RANK_FAILED };

/* Why a rank failed. */
enum tt_cause {
    TT_CAUSE_NONE,
    TT_CAUSE_SIGNAL,
    TT_CAUSE_EXIT,
    TT_CAUSE_STATUS,
    TT_CAUSE_LEFT,
    TT_CAUSE_ALIKE,
    TT_CAUSE_LOST,  /* its machine cannot be reached */
    TT_CAUSE_GONE,  /* its process is not there any more; nobody knows how it ended */
    TT_CAUSE_SILENT /* nothing came from its machine in time */
};

/* The status of a rank. cause, code and order are set before state becomes FAILED; the first cause
 * stays. If two ranks failed, the one with the lower order failed first. */
struct tt_fate {
    _Atomic uint32_t state, cause; /* enum tt_rank_state, enum tt_cause */
    _Atomic int32_t code;          /* signal number, exit code, tutti_status, tt_alike, seconds */
    _Atomic uint32_t order;        /* from 1 */
};

/* The wake word on which threads of a rank sleep. `sleeping` counts the threads that sleep or are
 * about to; a thread that wakes them increments `rung`. */
struct tt_bell {
    _Atomic uint32_t sleeping, rung;
};
/* The first is for collectives and context 0, the others are shared by the other contexts: so what
 * comes for one that a helper thread sleeps on wakes few others, and no collective wakes it. */
enum { TT_BELLS = 8 };

/* Lines of a rank of the job, whatever machine it is on. `arena` is its number among the ranks of
 * this machine; -1: it is on another one. pid is set by the rank when it joins, and by the launcher
 * when it starts it. */
struct tt_job_rank {
    _Alignas(TT_LINE) struct tt_bell bell[TT_BELLS];
    _Alignas(TT_LINE) struct tt_fate fate; /* of its process */
    _Atomic uint32_t clients;              /* that it is in: came to, and has not left */
    _Atomic int32_t pid;
    int32_t arena;
    int32_t node;           /* the machine that it is on, from 0 in the order of ranks */
    _Atomic uint64_t probe; /* address of a word holding TT_JOB_MAGIC, to try reading it */
    char version[24];       /* of the library in that rank */
    char host[TT_JOB_HOST]; /* the machine's name; empty where there is only one */
};

/* One rank in one client. Where its block of the world team lies, and its post box (msg/ring.h; 0:
 * none yet), is told before it joins. */
struct tt_member {
    struct tt_fate fate;
    _Atomic int64_t world, mail;
    struct tt_activity_line activity; /* of a rank on this machine */
    /* When a notice from another node said that it left in order; 0: none did. */
    _Atomic int64_t left_ns;
    _Atomic uint32_t noticed; /* this node has told all others that it failed (boot/notice.h) */
};

/* Why a team does not work any more, by the first rank of this machine that found out:
 * `state` goes from NONE over WRITING to THERE, and then the rest does not change any more. */
enum tt_finding_state { TT_FINDING_NONE, TT_FINDING_WRITING, TT_FINDING_THERE };
struct tt_finding {
    _Atomic uint32_t state; /* enum tt_finding_state */
    uint64_t team;
    char text[TT_FINDING_TEXT];
};

/* The data of one client that its ranks share (common.h); all are 0 while `number` is. */
struct tt_common {
    _Alignas(TT_LINE) _Atomic uint64_t number; /* 1 + the client's; 0: of none */
    _Atomic uint32_t gone; /* ranks of this machine that have left it for good */
    _Alignas(TT_LINE) _Atomic uint32_t joined; /* ranks that came ... */
    _Atomic uint32_t ready;                    /* ... and have tried what works here */
    _Atomic uint32_t forbidden; /* what of TT_ACCESSES some rank has not to some other's memory */
    _Atomic uint32_t settled;   /* ... and know what reading costs: ... */
    _Atomic int64_t block, taking_stored, taking_streamed; /* fabric.h; block 0: none */
    _Atomic int32_t read_cost, read_percent, streams;
    _Atomic int64_t called_ns; /* when a rank of this machine last called the roll; 0: never */
    _Atomic uint64_t cpus[TT_JOB_CPUS / 64]; /* those that some rank may run on */
    _Atomic int64_t alike[TT_ALIKES]; /* 1 + what the first rank that came has set; 0: none came */
    struct tt_finding finding[TT_FINDINGS];
    struct tt_member rank[];
};

/* Invariants: `failures` is raised after a rank's state became FAILED or LEFT, so whoever sees it
 * raised finds the rank. A thread that sleeps is counted in sleepers and in its bell's
 * `sleeping`. */
struct tt_job_page {
    uint64_t magic;
    char version[24]; /* of the library that made the job */
    int32_t size;     /* of the job */
    int32_t threads;  /* the ranks are threads of one process */
    int32_t arenas;   /* ranks on this machine */
    int32_t nodes;    /* machines that the job is on */
    int64_t page_bytes, whole_bytes;
    int64_t
        stamp; /* when it was made: no two of a machine have the same. On several: machine 0's */
    int64_t common_at, common_bytes; /* where the clients' lie, and how long one is */
    _Alignas(TT_LINE) _Atomic uint32_t failures;
    _Atomic uint32_t order;         /* of those that failed, the last */
    _Atomic uint32_t fences;        /* some rank has no membarrier: signallers must fence */
    _Atomic uint64_t latest_client; /* common.c */
    _Atomic int64_t end;            /* up to here it is granted */
    _Atomic int64_t backed;         /* no page from here on was ever backed; <= end */
    _Alignas(TT_LINE) _Atomic uint32_t sleepers;
    struct tt_job_rank rank[];
};

struct tt_store;

struct tt_segment {
    char *base;
    int64_t bytes;
    int fd; /* -1 for anonymous memory */
    struct tt_store
        *store; /* of this process' arena, if its clients share it (arena.h); else NULL */
};

static inline struct tt_job_page *tt_segment_page(const struct tt_segment *s)
{
    return (struct tt_job_page *)s->base;
}

/* Grants are so many bytes, or a multiple: a huge page has one owner. */
enum { TT_GRAIN = 2 << 20 };

/* Makes and maps the memory of a job of `size` ranks, its page filled in. Of processes: a memfd,
 * close-on-exec. Errors: MEMORY, LIMIT, SYSTEM, each saying what the system refused. */
tutti_status tt_segment_create(struct tt_segment *s, int size, bool threads);
/* Does the same for a job on several machines. This machine is node[me] and has memory for its own
 * ranks only. node[r] < nodes. */
tutti_status tt_segment_create_on(struct tt_segment *s, int size, const int *node, int nodes,
                                  int me);
/* Maps the memory behind fd for a rank, after checking that it is such a job. Errors: BOOT, LIMIT
 * (which the others are told). Takes the descriptor over, and sets close-on-exec. */
tutti_status tt_segment_attach(struct tt_segment *s, int fd, int rank);
/* Whether the page says what that of a job of this library's layout says, of whose memory so many
 * bytes are mapped, or in the file. Errors: BOOT. */
tutti_status tt_segment_check(const struct tt_job_page *job, int64_t bytes);
void tt_segment_close(struct tt_segment *s);
/* Keeps the descriptor, to attach again. */
void tt_segment_unmap(struct tt_segment *s);

/* Up to where memory is granted. Any thread of any rank, as the next two. */
static inline int64_t tt_segment_end(const struct tt_segment *s)
{
    return atomic_load(&tt_segment_page(s)->end);
}
/* Grants [*end, *end + bytes), zeroed and not backed yet, if *end is the end and so much is left;
 * bytes: a multiple of TT_GRAIN. AGAIN: others were granted some meanwhile, and *end is where it is
 * now. Errors: LIMIT, MEMORY. */
tutti_status tt_segment_grant(const struct tt_segment *s, int64_t *end, int64_t bytes);
/* Notes that pages up to `end` are backed. */
void tt_segment_backed(const struct tt_segment *s, int64_t end);
/* Whether these bytes lie where memory was handed out, so that they may be touched, whoever said
 * where they are. */
static inline bool tt_segment_holds(const struct tt_segment *s, int64_t offset, int64_t bytes)
{
    int64_t backed = atomic_load_explicit(&tt_segment_page(s)->backed, memory_order_relaxed);
    return offset >= 0 && bytes >= 0 && bytes <= backed && offset <= backed - bytes;
}

/* A rank's process has ended, however, or cannot go on: it fails in all clients that it has not
 * left, and will come to no other. Wakes all sleepers. By the rank itself, by the launcher that saw
 * it end, or by a peer that found it gone; any thread. */
void tt_job_fail(struct tt_job_page *job, int rank, enum tt_cause cause, int code);
/* Which bell a context's threads sleep on. */
static inline int tt_bell_of(int context)
{
    return context == 0 ? 0 : 1 + (context - 1) % (TT_BELLS - 1);
}
/* Wakes a rank's threads that sleep on this bell, or everybody on all. */
void tt_job_wake(struct tt_job_page *job, int rank, int bell);
void tt_job_wake_all(struct tt_job_page *job);

#endif
