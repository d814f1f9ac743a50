/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan being run: start, advance, complete. Blocking, nonblocking and persistent calls are all
 * this.
 */
#ifndef TT_EXEC_H
#define TT_EXEC_H

#include <tutti/message.h>

#include "run/team.h"
#include "type/type.h"

enum tt_exec_state { TT_EXEC_IDLE, TT_EXEC_QUEUED, TT_EXEC_RUNNING };

/* A lane under way. Of a plan with loops: the step it is at, if it has one; of a straight plan
 * iter.at is the step. */
struct tt_lane_run {
    struct tt_iter iter;
    struct tt_plain step;
    void *memory;                /* of the iterator */
    struct tt_message *messages; /* TT_IN_FLIGHT for each id */
    bool has_step, ended;
    struct tt_fetch *fetch; /* operands of its step that are got from other nodes */
    int64_t resume;   /* bytes of its reduction that were done before an operand was refused */
    int64_t since_ns; /* where steps are traced: when this one was first tried; 0: it was not */
};

/* An exec has this if its team has members on other nodes, or members on this node whose memory the
 * system forbids to access. */
struct tt_transfer;
struct tt_abroad {
    struct tt_transfer *moving; /* under way */
    tutti_region *region[3];    /* IN OUT TMP, while they are open to other nodes: from ... */
    int64_t region_at[3];       /* ... this byte on */
};

enum { TT_FETCHED = TT_BUFFERS }; /* where operands are that had to be got */

/* Bound to buffers; reused from start to start. The caller sets what stands above the line before
 * tt_exec_start and leaves it alone until the state is IDLE again.
 * Invariants: RUNNING means team->running[slot] == this. */
struct tt_exec {
    struct tt_team *team;
    const struct tt_plan *plan;
    char *buffer[TT_FETCHED + 1]; /* WIN is filled in by the start; TMP by tt_exec_init */
    int64_t bytes[3];             /* of IN OUT TMP, as opened */
    const struct tt_call *call;   /* of a v-collective: counts and displacements; else NULL */
    const struct tt_what *what;   /* the call; lasts as long as the exec */
    uint64_t shape;               /* its fingerprint, the same on all ranks */
    /* ---- */
    enum tt_exec_state state;
    tutti_status status;
    uint64_t number, base; /* base: of flag values */
    uint64_t
        mark; /* base and fingerprint: what is in the line of every member that runs the same */
    int slot;
    int looks; /* at a flag before giving up the turn */
    uint32_t lanes_left;
    bool traced, plain; /* plain: its steps need nothing but to be done, neither traced nor sent */
    bool blocks;        /* its callers wait from the start on; for traces only */
    bool pairs;         /* an alltoallv: what each two say of each other is compared */
    bool served;        /* the system refused it something: members are asked (served.c) */
    int64_t resume;     /* of a reduction that was refused: struct tt_lane_run's */
    struct tt_line *line;
    tt_reduce_fn *reduce;     /* of the plan's type and operation; NULL for user-defined ones */
    int64_t tmp_offset;       /* of TMP in the segment; -1: private */
    struct tt_end *ends;      /* with messages under way */
    struct tt_exec *next;     /* in the queue */
    struct tt_abroad *abroad; /* NULL: the team is on one node, and nothing was refused */
    struct tt_lane_run lane[];
};

/* An exec for a plan, which must outlive it. NULL: see tutti_error (MEMORY, LIMIT). */
struct tt_exec *tt_exec_new(struct tt_team *team, const struct tt_plan *plan);
void tt_exec_free(struct tt_exec *exec);

/* Starts it, or queues it if its slot is taken, or ends it at once with the error of a broken
 * team. */
void tt_exec_start(struct tt_exec *exec);
/* Moves it on as far as it goes without waiting. */
void tt_exec_advance(struct tt_exec *exec);
/* Whether some lane waits for a flag or message of this member, or the slot for its end of an
 * execution before. */
bool tt_exec_waits_for(const struct tt_exec *exec, int rank);
/* Blocks until it is complete; returns its status. */
tutti_status tt_exec_wait(struct tt_exec *exec);
/* An execution without steps: this rank calls something here that is no collective with buffers,
 * and members that call another thing find that out as in any execution. Blocks until its slot is
 * free. Errors: those of a broken team. */
tutti_status tt_exec_note(struct tt_team *t, enum tt_what_other what);

/* At most `steps` steps of one lane, for schedulers that want every interleaving (tests). True if
 * anything was done. */
bool tt_exec_steps(struct tt_exec *exec, uint32_t lane, int steps);

/* ---- Between exec.c and step.c ---- */

/* The error that says what `rank` called where this one called something else, in execution
 * `number` or before. */
tutti_status tt_step_mismatch(const struct tt_team *t, uint64_t number, int rank);
/* The error that says that a rank sends, in an alltoallv, another number of bytes than its receiver
 * expects. */
tutti_status tt_step_uneven(const struct tt_team *t, uint64_t number, int from, int to,
                            int64_t sent, int64_t expected);
/* MISMATCH if `rank` and this one expect other counts of each other than they give, in an alltoallv
 * that is under way or has ended, else OK: also as long as that is not known. */
tutti_status tt_step_pair(const struct tt_team *t, uint64_t number, int rank);
/* MISMATCH if `rank` has started this execution as another call, else OK. */
tutti_status tt_step_compare(const struct tt_exec *exec, int rank);

/* Goes on with all messages under way; with all lanes; with a few steps of one lane, of which it
 * returns how many were done. A status above TUTTI_AGAIN ends the execution. */
tutti_status tt_step_messages(struct tt_exec *exec);
tutti_status tt_step_lanes(struct tt_exec *exec);
int tt_step_some(struct tt_exec *exec, uint32_t lane, int steps, tutti_status *status);

/* ---- Of traced.c: of an exec that is traced; begun twice is begun once ---- */

void tt_traced_begin(struct tt_exec *exec);
void tt_traced_wait(struct tt_exec *exec);
void tt_traced_end(struct tt_exec *exec);

/* ---- Of access.c: the ranges. range[0] is the destination. ---- Errors: those of the fabric.
 * UNSUPPORTED: the system forbids it; exec->resume says from where on. */

tutti_status tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len);
tutti_status tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                              int64_t len);
void tt_access_open(struct tt_exec *exec);
/* Names the argument if `status` concerns memory of this rank's own; returns other errors as they
 * are. */
tutti_status tt_access_blame(const struct tt_exec *exec, const char *memory, tutti_status status);
/* Where a range in an opened buffer of another rank is, checked against what that rank opened.
 * MISMATCH: outside. */
tutti_status tt_access_far(const struct tt_exec *exec, const struct tt_range *r, int64_t len,
                           tt_address *address);
/* Where byte `done` of a range lies in it, and how many of those that are left follow without a
 * gap. */
int64_t tt_access_run(const struct tt_exec *exec, const struct tt_range *r, int64_t done,
                      int64_t left, int64_t *run);
/* Whether a range of another rank of this node can be got neither by loads nor by the system. */
bool tt_access_is_forbidden(const struct tt_exec *exec, const struct tt_range *r, int64_t len);
/* Whether a range of another rank is reached by loads and stores, which no fabric sees. */
bool tt_access_is_loaded(const struct tt_exec *exec, const struct tt_range *r, int64_t len);

static inline char *tt_exec_own(const struct tt_exec *exec, const struct tt_range *r)
{
    return exec->buffer[r->buf] + r->off;
}

#endif
