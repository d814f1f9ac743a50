/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call, the list of what each rank does: in which call it is and since when, or whether it
 * is outside the library, stopped, dead, or has left.
 *
 * Any process that can read the job's memory can read the roll: a rank that waits too long
 * (TUTTI_WATCHDOG), the launcher (at a time limit, or on SIGQUIT), or a process of the same user
 * (tutti ps). The ranks are not asked and are not delayed. The activity line of a rank
 * (job/activity.h) says what the rank waits for. The rank's block of each team says which calls the
 * rank has made on the team. The memory may change while it is read, and a faulty rank may have
 * corrupted it: every number is checked before it is used.
 */
#ifndef TT_ROLL_H
#define TT_ROLL_H

#include <stdio.h>

#include "fabric/waiting.h"
#include "run/team.h"

/* A way to read a job's memory. */
struct tt_source {
    /* Copies n bytes from byte `at` of the memory. Returns false if they cannot be read. */
    bool (*fetch)(const struct tt_source *source, int64_t at, void *to, size_t n);
    uintptr_t base; /* for fetch: the address of the memory in a process */
    int64_t bytes;
    int handle; /* for fetch: a file descriptor, or the pid of the process */
};

/* A call on a team. `number` counts from 0. */
struct tt_roll_call {
    uint64_t number;
    struct tt_call_signature signature;
};

/* The state of one member in one team. */
struct tt_roll_team {
    uint64_t id;
    /* rank: the member's rank in the job; size: the number of members of the team */
    int rank, size;
    uint64_t begun, done;
    /* how many calls of the member ended with an error and do not count as completed (see below) */
    uint64_t failures;
    /* A call is completed if it has ended and the program has completed its request, if it has one.
     *
     *   completed     1 + the number of the last completed call; 0: there is none, or no slot has
     *                 one any more
     *   last          the last completed call, if has_last is true: its slot still holds it
     *   now           the oldest call that a slot still holds and whose request is under way, if
     *                 has_now is true
     *   failed        the last call that failed
     *   newest        the call that the rank has begun last; is_in: the rank has not returned from
     *                 it; owes_newest: it belongs to a request under way */
    uint64_t completed;
    bool has_last, has_now, is_in, owes_newest;
    struct tt_call_signature last, newest;
    struct tt_roll_call now, failed;
};

/* The state of one rank. */
struct tt_roll_rank {
    int pid;    /* 0: not known */
    char state; /* a letter (tt_roll_process); 0: no process, or the rank is on another host */
    bool here;
    /* how many requests the rank has started and its program has not completed */
    uint32_t requests;
    bool waits; /* the rank waits, and `is` says for what */
    struct tt_activity is;
    int64_t ended_ns; /* when its last collective ended, on team `ended_team`; 0: not known */
    uint64_t ended_team;
    /* if the rank waits in a call of another client: 1 + the number of that client; else 0.
     * elsewhere_doing: the kind of that call */
    uint64_t elsewhere;
    enum tt_doing elsewhere_doing;
    int teams, first; /* the number of its teams, and the first of them in the roll's `team` */
};

/* The roll of one client. */
struct tt_roll {
    struct tt_job_page *job; /* a copy */
    struct tt_common *common;
    int64_t now_ns;
    struct tt_roll_rank *rank;
    struct tt_roll_team *team;
    int teams, room;
    uint64_t about; /* id of the team on which the asking rank waits; 0: the world */
    bool silent;    /* ranks of other hosts did not answer the question what they do */
};

/* Makes a copy of the job's page, which the caller frees. Errors: BOOT (the memory holds no page of
 * a job), VERSION, MEMORY. */
tutti_status tt_roll_page(const struct tt_source *source, struct tt_job_page **page);
/* Returns the number of clients that exist: those that at least one rank has not left yet. */
int tt_roll_clients(const struct tt_job_page *page);
/* Reads the roll of the client at index `place` of the page. The roll borrows the page. Errors:
 * MEMORY. */
tutti_status tt_roll_read(const struct tt_source *source, struct tt_job_page *page, int place,
                          struct tt_roll *roll);
void tt_roll_free(struct tt_roll *roll);

/* Returns the state of a rank's process: a letter of /proc/PID/stat; 0: there is no such process,
 * or the rank has not published its pid; TT_ROLL_UNSEEN: the rank's pid is a number of a PID
 * namespace other than the one that /proc shows, so the process with this number in /proc is not
 * the rank. */
enum { TT_ROLL_UNSEEN = '?' };
char tt_roll_process(const struct tt_job_rank *rank);

/* ---- Text ---- */

/* Writes what the rank does into a buffer of n bytes, such as "in bcast(n=5 of f64, root 2) on the
 * world (call 3)" or "outside the library; ...". Returns the buffer. */
char *tt_roll_doing(const struct tt_roll *roll, int rank, char *buffer, size_t n);
/* Writes the names of the ranks r < size with picked[r], such as "rank 3" or "ranks 0-2,5". Returns
 * the buffer. */
char *tt_roll_names(const bool *picked, int size, char *buffer, size_t n);
/* Writes what the rank does, for how long it has waited and for which ranks. Returns the buffer. */
char *tt_roll_whole(const struct tt_roll *roll, int rank, char *buffer, size_t n);

/* Prints `heading` and the roll of every client of the job on stderr, in one write. */
void tt_roll_call(const struct tt_segment *segment, const char *heading);
/* Prints the roll for a rank that has waited too long; this is the call_roll of struct tt_fabric.
 * In a job on several hosts it asks the other hosts, for at most a second. */
void tt_roll_call_waiting(struct tt_fabric *f, const struct tt_waiting *waiting);
/* Sends the roll of this node's ranks over the connection; this is the answer_roll of struct
 * tt_fabric. */
void tt_roll_answer(struct tt_fabric *f, int connection);

#endif
