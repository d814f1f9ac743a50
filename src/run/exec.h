/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The execution of a plan: start, advance, complete. An exec (struct tt_exec) is a plan bound to a
 * team and to buffers, and its state. Blocking, nonblocking and persistent calls all run as
 * executions.
 */
#ifndef TT_EXEC_H
#define TT_EXEC_H

#include <tutti/message.h>

#include "run/team.h"
#include "type/type.h"

/* The state of an exec. IDLE: not started, or complete. QUEUED: started, but its slot or window is
 * still in use. */
enum tt_exec_state { TT_EXEC_IDLE, TT_EXEC_QUEUED, TT_EXEC_RUNNING };

/* The state of one lane. `step` is the current step of a plan with loops; in a plan without loops,
 * iter.at is the index of the step. */
struct tt_lane_run {
    struct tt_iter iter;
    struct tt_plain step;
    void *memory;                /* the iterator's working memory */
    struct tt_message *messages; /* TT_IN_FLIGHT entries for each step that starts a transfer */
    bool has_step, ended;
    struct tt_fetch *fetch; /* the operands of the current step that are fetched from other nodes */
    /* how many bytes of the current reduction were done when the system refused an operand */
    int64_t resume;
    int64_t since_ns; /* if traced: when the current step was first tried; 0: not yet */
};

/* Additional state of an exec whose team has members on other nodes, or members on this node whose
 * memory the system does not let this rank access. */
struct tt_operation;
struct tt_exec_remote {
    struct tt_operation *moving; /* list of the operations under way */
    /* by buffer (IN, OUT, TMP): the buffer's registration with the network while the buffer is open
     * to other nodes */
    tutti_region *region[3];
    int64_t region_at[3]; /* by buffer: the byte of the buffer at which its region begins */
};

enum { TT_FETCHED = TT_BUFFERS }; /* index in tt_exec.buffer of operands that had to be fetched */

/* The partners of this rank in a call that opens segments and is no neighbourhood collective: the n
 * ranks from `first` on, which may include this rank. This rank may have pieces for its partners,
 * or expect pieces from them. In a gatherv or scatterv a rank other than the root has one partner,
 * the root. */
struct tt_partners {
    int first, n;
};

/* The words of a call of pairs (team.h). All calls of an exec have the same counts, so the first
 * call sets everything but `agreed`. In sets of members, bit r is for member r. */
struct tt_pair_words {
    uint32_t *word; /* this rank's word for each member; NULL: the team has none */
    /* The words contain everything that the partners compare. Whether this rank must write its
     * segment entries (struct tt_segment_opening), too, also depends on the plan and the team
     * (tt_access_words_suffice). */
    bool suffice;
    /* set of the partners other than this rank; 0: not set yet, or there are none */
    uint64_t others;
    /* set of the partners whose words have agreed with this rank's in this execution */
    uint64_t agreed;
};

/* A plan bound to a team and to buffers; the same exec can be started again and again. The caller
 * sets the members that precede `state` and then calls tt_exec_start; the caller must not change
 * these members until the state is IDLE again. Invariant (tt_exec_valid): RUNNING means
 * team->running[slot] == this. */
struct tt_exec {
    struct tt_team *team;
    const struct tt_plan *plan;
    char *buffer[TT_FETCHED + 1]; /* tt_exec_new sets TMP, each start sets WIN */
    /* the sizes with which IN, OUT and TMP are opened to other ranks */
    int64_t bytes[3];
    /* the plan's operation, or one that tutti_op_bind has made of it */
    tutti_op op;
    const struct tt_call *call; /* counts and displacements of a v-collective; else NULL */
    const struct tt_call_signature *signature; /* the call signature; lasts as long as the exec */
    uint64_t shape; /* fingerprint of the signature, equal on all ranks */
    /* ---- set by the execution ---- */
    enum tt_exec_state state;
    tutti_status status;
    uint64_t number, base; /* base: what is added to flag values (tt_team_base) */
    /* how many executions may be under way when this one begins, itself included; 0: not known
     * yet, because the exec was never started on a team that was not broken */
    uint64_t depth;
    /* the value of the member `shape` in the signal line (team.h) of a rank whose calls match:
     * `base` in the upper half, and the fingerprint of this call and all calls before it in the
     * lower half */
    uint64_t mark;
    int slot;
    int looks; /* how often an await looks at a flag before it returns AGAIN */
    uint32_t lanes_left;
    /* An exec is plain if it is not traced, its team has no remote members, no access was refused,
     * no member puts into this rank's window, and all windows that it may read are known. The steps
     * of a plain exec take the fast path. */
    bool traced, plain;
    bool own; /* the plan touches the buffers of this rank only, apart from messages and signals */
    /* some long window that the exec may read is not known yet, and must be found before the exec
     * reads it */
    bool finds_windows;
    bool blocks; /* the caller waits from the start on (tt_exec_block) */
    /* the execution belongs to a request that is under way (tt_exec_owe) */
    bool owed;
    /* this is a call of pairs (team.h): two members compare the counts that they have for each
     * other */
    bool pairs;
    struct tt_partners partners; /* in a call that opens segments; set from the first start on */
    struct tt_pair_words words;
    bool served;    /* the system refused an access: messages ask the owner instead (served.c) */
    int64_t resume; /* how many bytes were done when the system refused a reduction */
    struct tt_signal_line *line;
    bool is_long; /* the plan uses long windows */
    /* by member: the window that execution 0 would have, of the kind (short or long) that the plan
     * uses */
    char **window;
    int64_t window_stride; /* the distance between two windows */
    /* the distance from the window of execution 0 to the window of this execution */
    int64_t window_at;
    int64_t window_bytes; /* so many bytes of the long window must be backed */
    /* In a call of pairs, the low bytes: the bytes of WIN that are in the short window (team.h).
     * low_bytes: their number. low: their address at this rank. low_window: by member, the short
     * window of slot 0. low_at: the distance from that window to the low bytes of the execution. */
    int64_t low_bytes;
    char *low;
    char **low_window;
    int64_t low_at;
    size_t element;       /* bytes of an element of the plan's type */
    tt_reduce_fn *reduce; /* for the plan's type and operation; NULL if they are user-defined */
    int64_t tmp_offset;   /* offset of TMP in the segment; -1: private memory */
    struct tt_end *ends;  /* ends of channels with messages under way */
    struct tt_exec *next; /* the next exec in the queue of the team */
    /* NULL: the team is on one node, and the system has refused no access */
    struct tt_exec_remote *remote;
    struct tt_lane_run lane[];
};

static inline bool tt_exec_valid(const struct tt_exec *exec)
{
    return exec->state != TT_EXEC_RUNNING || exec->team->running[exec->slot] == exec;
}

/* Makes an exec for a plan, which must outlive it, and the parts of this rank's memory that the
 * plan needs. All members must give the same kind of windows; short ones have tt_team_short_window
 * bytes. The caller frees the exec with tt_exec_free. Returns NULL on failure; tutti_error() has
 * the cause (MEMORY, LIMIT). */
struct tt_exec *tt_exec_new(struct tt_team *team, const struct tt_plan *plan,
                            enum tt_windows windows);
/* Returns whether other members may still read or write the buffers of an exec that is not under
 * way any more: they may know the addresses, because the exec was started at least once when its
 * team was not broken, and the last execution has not succeeded. A plan ends only after the other
 * members have accessed this rank's buffers for the last time, because the buffers belong to the
 * program then. So nobody accesses them after an execution that has succeeded. On a broken team an
 * execution ends before it publishes anything. */
static inline bool tt_exec_is_reachable(const struct tt_exec *exec)
{
    return exec->depth > 0 && exec->status != TUTTI_OK;
}

/* Ends the execution, if one is under way, without waiting for other members: this rank leaves the
 * client, and does not advance the execution any more. */
static inline void tt_exec_abandon(struct tt_exec *exec)
{
    if (exec->state == TT_EXEC_IDLE) return;
    exec->state = TT_EXEC_IDLE;
    exec->status = TUTTI_ERR_PEER;
}

/* Frees an exec, which must be IDLE. NULL is allowed. */
void tt_exec_free(struct tt_exec *exec);

/* The bit of exec->shape that says that the caller waits for the execution from its start on. So a
 * blocking call and the same call as a request differ in `shape`, and a rank that changes from one
 * to the other publishes its call signature again, for the roll call. Members compare only the
 * lower half of `shape`, so the two calls still match. */
#define TT_SHAPE_BLOCKS (UINT64_C(1) << 63)
/* States that the caller waits for each execution of the exec from its start on. Call this once. */
static inline void tt_exec_block(struct tt_exec *exec)
{
    exec->blocks = true;
    exec->shape ^= TT_SHAPE_BLOCKS;
}

/* tt_exec_owe publishes for the roll call that the exec, which the caller starts next, belongs to a
 * request that is under way. tt_exec_settle_debt publishes that the program has completed the
 * request, which may be long after the execution has ended. */
void tt_exec_owe(struct tt_exec *exec);
void tt_exec_settle_debt(struct tt_exec *exec);

/* Starts the exec. If its slot is in use, queues it. If the team is broken, completes it at once
 * with the team's error. */
void tt_exec_start(struct tt_exec *exec);
/* Advances the exec as far as possible without waiting. */
void tt_exec_advance(struct tt_exec *exec);
/* Returns whether the exec waits for this member: for a flag or message of the member, or until the
 * member has ended the execution that used the same slot or window before. */
bool tt_exec_waits_for(const struct tt_exec *exec, int rank);
/* Blocks until the exec is complete; returns its status. */
tutti_status tt_exec_wait(struct tt_exec *exec);
/* Record in a trace a call that makes, frees or repairs teams, from its begin to its end. The trace
 * does not contain the executions that the call consists of, nor other calls that are made within
 * it. `execution` is the number of the call, equal on all members. */
void tt_trace_call_begin(struct tt_team *t, enum tt_signature_other call, uint64_t execution);
void tt_trace_call_end(struct tt_team *t, tutti_status status);

/* Runs an execution without steps for a call that is no collective with buffers (free, agree,
 * shrink), so that members that make another call find the mismatch as in any execution. Blocks
 * until the slot of the execution is free. Returns the error of a broken team. */
tutti_status tt_exec_note(struct tt_team *t, enum tt_signature_other signature);
/* Starts an execution without steps as tt_exec_note does, but waits neither for its slot nor for
 * its end. MEMORY: the execution could not be started, and the team is broken now. */
tutti_status tt_exec_begin_note(struct tt_team *t, enum tt_signature_other signature);

/* Does at most `steps` steps of one lane, for tests that explore every interleaving. Returns true
 * if it did anything. */
bool tt_exec_steps(struct tt_exec *exec, uint32_t lane, int steps);

/* ---- Between exec.c and step.c ---- */

/* How the steps send, recv, put and get reach their peer: through the memory that a node shares (in
 * step.c), or by messages to another node (tt_reach_remote in remote.c). Preconditions: the step is
 * of the kind that the function is for, its peer can be reached by these functions, and the
 * previous step with the same message has completed. OK: the step was started, and m->complete is
 * set when it is done, perhaps at once. AGAIN: the step could not be started yet. Other errors end
 * the execution. */
typedef tutti_status tt_reach_fn(struct tt_exec *exec, uint32_t lane, const struct tt_plain *s,
                                 struct tt_message *m);
struct tt_reach {
    tt_reach_fn *send, *recv;
    tt_reach_fn *access; /* for the steps put and get */
};

/* Advances all messages under way. A status above TUTTI_AGAIN, here and below, is an error that
 * ends the execution. */
tutti_status tt_step_messages(struct tt_exec *exec);
/* Advances all lanes as far as possible without waiting. */
tutti_status tt_step_lanes(struct tt_exec *exec);
/* Does up to `steps` steps of one lane. Returns how many were done, and in *status the status of
 * the last step. */
int tt_step_some(struct tt_exec *exec, uint32_t lane, int steps, tutti_status *status);

/* ---- access.c ---- */

/* Do a copy or reduction of `len` bytes; range[0] is the destination, the other ranges are
 * operands. Errors: those of the fabric; MISMATCH. UNSUPPORTED: the system forbids an access;
 * exec->resume is the byte at which a reduction stopped. */
tutti_status tt_access_copy(struct tt_exec *exec, const struct tt_range *range, int64_t len);
tutti_status tt_access_reduce(struct tt_exec *exec, const struct tt_range *range, uint32_t n,
                              int64_t len);
/* Sets exec->partners, before the exec is started for the first time, in a call that opens
 * segments. */
void tt_access_find_partners(struct tt_exec *exec);
/* Returns whether the words of a call of pairs contain everything that the partners need, so that
 * this rank need not write its segment entries (struct tt_segment_opening). */
bool tt_access_words_suffice(const struct tt_exec *exec);
/* Publishes the addresses and sizes of the buffers that the plan opens. */
void tt_access_open(struct tt_exec *exec);
/* Handles the status of moving bytes between `memory` of this rank and a buffer of rank `owner` of
 * the job. `written`: `memory` was to be written. If the status is ARG, one of the two addresses is
 * not mapped, or cannot be accessed in this way. If that is `memory`, sets an error text that names
 * the argument of the call in which it lies, and returns ARG. Otherwise, if a member of the team
 * has failed, returns PEER with the cause, because the owner may have freed its buffer after that.
 * Otherwise marks the owner as failed in this client, with the reason in tutti_error(), and returns
 * PEER. Returns any other status unchanged. */
tutti_status tt_access_blame(const struct tt_exec *exec, int owner, char *memory, int64_t len,
                             bool written, tutti_status status);
/* Returns whether a range of another rank is accessed by plain loads and stores, so that the fabric
 * does not trace the access. */
bool tt_access_is_loaded(const struct tt_exec *exec, const struct tt_range *r, int64_t len);

/* Returns the address of a range in one of this rank's own buffers. */
static inline char *tt_exec_own(const struct tt_exec *exec, const struct tt_range *r)
{
    if (tt_unlikely(r->off < exec->low_bytes && r->buf == TT_WIN)) return exec->low + r->off;
    return exec->buffer[r->buf] + r->off;
}

#endif
