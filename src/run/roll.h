/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call: who is in which call since when, who is outside the library, who is stopped, dead,
 * or has left.
 *
 * It is read from the job's memory by whoever can read that: a rank that waits too long
 * (TUTTI_WATCHDOG), the launcher (a time limit, SIGQUIT), or a process of the same user from
 * outside (tutti ps). The ranks are not asked and not held up. What they wait for is in their lines
 * (activity.h); how far they are in each team is in the team's blocks, whatever they do. What is
 * read may change meanwhile, and may be wrong where a rank is broken: every number is checked
 * before it is used.
 */
#ifndef TT_ROLL_H
#define TT_ROLL_H

#include <stdio.h>

#include "run/team.h"

/* Where a job's memory is read. */
struct tt_source {
    /* Copies n bytes from byte `at` of the memory; false: they cannot be read. */
    bool (*fetch)(const struct tt_source *source, int64_t at, void *to, size_t n);
    uintptr_t base; /* for fetch: where the memory is in a process, ... */
    int64_t bytes;
    int handle; /* ... and a descriptor, or that process */
};
/* Reads from this process' own mapping. */
struct tt_source tt_source_mapped(const struct tt_segment *segment);

/* A team as one of its members has it. */
struct tt_roll_team {
    uint64_t id;
    int rank, size; /* the member, in the job; members */
    uint64_t begun, done;
    bool has_last; /* what it called last of those done, and of those begun */
    bool has_now;
    struct tt_what last, now;
};

struct tt_roll_rank {
    int pid;    /* 0: not known */
    char state; /* of the process, as in /proc/PID/stat; 0: there is none, or it is not on this
                   machine */
    bool here;
    bool waits; /* `is` says for what */
    struct tt_activity is;
    int teams, first; /* in the roll's teams */
};

/* The roll of one client. */
struct tt_roll {
    struct tt_job_page *job; /* a copy */
    struct tt_common *common;
    int64_t now_ns;
    struct tt_roll_rank *rank;
    struct tt_roll_team *team;
    int teams, room;
    uint64_t about; /* the team that is asked about */
};

/* A copy of the job's page, to be freed. Errors: BOOT (it is none, or of another version), MEMORY.
 */
tutti_status tt_roll_page(const struct tt_source *source, struct tt_job_page **page);
/* Clients that some rank has not left. */
int tt_roll_clients(const struct tt_job_page *page);
/* The roll of the client at this place of the page, which is borrowed. Errors: MEMORY. */
tutti_status tt_roll_read(const struct tt_source *source, struct tt_job_page *page, int place,
                          struct tt_roll *roll);
void tt_roll_free(struct tt_roll *roll);

/* How a process stands by its number: a letter of /proc/PID/stat; 0: there is none. */
char tt_roll_process(int pid);

/* ---- In words ---- */

/* "in bcast(n=5 of f64, root 2) on the world (call 3)", "outside the library; ...", into a buffer
 * of n bytes; returns it. */
char *tt_roll_doing(const struct tt_roll *roll, int rank, char *buffer, size_t n);
/* "rank 3", or "ranks 0-2,5", of those of `size` that are picked. */
char *tt_roll_names(const bool *picked, int size, char *buffer, size_t n);
/* Like tt_roll_doing, with the time that the rank has waited and the ranks that it waits for. */
char *tt_roll_whole(const struct tt_roll *roll, int rank, char *buffer, size_t n);
/* A line for all ranks that do the same, each after `before`. */
void tt_roll_print(const struct tt_roll *roll, const char *before, FILE *out);

/* Prints `heading` and the roll of every client of the job on stderr, in one write. */
void tt_roll_call(const struct tt_segment *segment, const char *heading);
/* A rank that has waited too long: struct tt_fabric's call_roll. */
void tt_roll_call_waiting(struct tt_fabric *f, const struct tt_waiting *waiting);

#endif
