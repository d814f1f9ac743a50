/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one memory object of a job on one machine: a sparse memfd (or, for the threads of one process,
 * anonymous memory), mapped whole by every rank.
 *
 *   0        the job page: who is there, who failed, who sleeps
 *   page_bytes        rank 0's arena  \  each rank allocates in its own arena only (arena.h), so that
 *   + arena_bytes     rank 1's arena  /  there is no lock in shared memory for a dead rank to hold
 *   ...
 *
 * Sparse: an arena costs what is allocated in it. It has no name anywhere, so it goes with the last
 * process that maps it.
 */
#ifndef TT_SEGMENT_H
#define TT_SEGMENT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/base.h"

#define TT_JOB_MAGIC 0x0069747475745401u
#define TT_JOB_CPUS 1024 /* processors beyond are not counted */

/* How a rank stands with the job. Only upwards; one that left is failed only if it is missed
 * (tt_job_miss). */
enum tt_rank_state { TT_RANK_ABSENT, TT_RANK_JOINED, TT_RANK_LEFT, TT_RANK_FAILED };

/* Why a rank failed. */
enum tt_cause {
    TT_CAUSE_NONE,
    TT_CAUSE_SIGNAL,
    TT_CAUSE_EXIT,
    TT_CAUSE_STATUS,
    TT_CAUSE_LEFT,
    TT_CAUSE_ALIKE
};

/* Lines of one rank of the job, whatever machine it is on. `arena` is which of the segment's is its; -1: it is on another
 * machine. `sleeping` is written by the rank itself (1 before it sleeps on `doorbell`),
 * `doorbell` by whoever wakes it. pid is set by the rank when it joins, and by the launcher when it starts it. */
struct tt_job_rank {
    _Alignas(TT_LINE) _Atomic uint32_t state;
    _Atomic uint32_t sleeping;
    _Atomic uint32_t doorbell;
    _Atomic int32_t pid;
    int32_t arena;
    _Atomic uint32_t cause;     /* enum tt_cause, set before state becomes FAILED */
    _Atomic int32_t cause_code; /* signal number, exit code, tutti_status or tt_alike */
    _Atomic uint64_t probe;     /* address of a word holding TT_JOB_MAGIC, to try reading it */
    char version[24];           /* of the library in that rank */
    _Atomic int64_t mail;       /* offset of its first post box (msg/ring.h); 0: none yet */
};

/* Invariants: `failures` is raised after a rank's state became FAILED, so whoever sees it raised
 * finds the rank. sleepers >= number of ranks with sleeping == 1. */
struct tt_job_page {
    uint64_t magic;
    char version[24]; /* of the library that made the job */
    int32_t size;     /* of the job */
    int32_t threads;  /* the ranks are threads of one process */
    int64_t page_bytes, arena_bytes;
    int64_t stamp; /* when it was made: no two of a machine have the same */
    _Alignas(TT_LINE) _Atomic uint32_t failures;
    _Atomic uint32_t first;    /* 1 + the rank that failed before the others did; 0: none */
    _Atomic uint32_t fences;   /* some rank has no membarrier: signallers must fence */
    _Atomic uint32_t no_cma;   /* some rank cannot read some other's memory */
    _Atomic int32_t read_cost; /* tt_cma_cost() of rank 0 */
    _Alignas(TT_LINE) _Atomic uint32_t sleepers;
    _Alignas(TT_LINE) _Atomic uint32_t joined; /* ranks that came ... */
    _Atomic uint32_t ready;                    /* ... and have tried what works here */
    _Atomic uint64_t cpus[TT_JOB_CPUS / 64];   /* those that some rank may run on */
    _Atomic int64_t alike[TT_ALIKES]; /* 1 + what the first rank that came has set; 0: none came */
    struct tt_job_rank rank[];
};

struct tt_segment {
    char *base;
    int64_t bytes;
    int fd; /* -1 for anonymous memory */
};

static inline struct tt_job_page *tt_segment_page(const struct tt_segment *s)
{
    return (struct tt_job_page *)s->base;
}

/* Makes and maps the memory of a job of `size` ranks, its page filled in. Of processes: a memfd,
 * close-on-exec. Errors: MEMORY, LIMIT, SYSTEM, each saying what the system refused. */
tutti_status tt_segment_create(struct tt_segment *s, int size, bool threads);
/* Maps the memory behind fd for a rank, after checking that it is such a job. Errors: BOOT, LIMIT (which
 * the others are told). Takes the descriptor over, and sets close-on-exec. */
tutti_status tt_segment_attach(struct tt_segment *s, int fd, int rank);
void tt_segment_close(struct tt_segment *s);

int64_t tt_segment_arena(const struct tt_segment *s, int rank); /* offset of its first byte */

/* Marks a rank failed (unless it left) and wakes all sleepers. By the rank itself, by the launcher
 * that saw it end, or by a peer that found its process gone; any thread; the first cause stays. */
void tt_job_fail(struct tt_job_page *job, int rank, enum tt_cause cause, int code);
/* The rank leaves, unless it failed; whoever waits for it shall look. */
void tt_job_leave(struct tt_job_page *job, int rank);
/* A rank that left is still needed by somebody: that is a failure after all. */
void tt_job_miss(struct tt_job_page *job, int rank);
/* The failed rank to name: the one that did first, since others fail because of it; -1: none. */
static inline int tt_job_first_failed(const struct tt_job_page *job)
{
    return (int)atomic_load(&job->first) - 1;
}
/* "rank 3 died: signal 9 (Killed)", into a buffer of n bytes; returns it. */
char *tt_job_cause_text(const struct tt_job_page *job, int rank, char *buffer, size_t n);
/* Wakes a rank that sleeps, or every one. */
void tt_job_wake(struct tt_job_page *job, int rank);
void tt_job_wake_all(struct tt_job_page *job);

#endif
