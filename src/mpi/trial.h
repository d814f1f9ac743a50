/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured choice: whether the host (the program's MPI) or Tutti does the calls of a *shape* on
 * a communicator. A shape is a collective, with an operation of the program or not, and a power of
 * two of bytes. The first calls of a shape are a *trial*: the host and Tutti each do some of them,
 * in a fixed order; every rank records when each call began and ended, and at the end of the trial
 * the ranks decide together. The decision is kept as long as the communicator exists, and for the
 * next program. trial.c and trial.h use no MPI, no team and no clock; team.c calls them.
 *
 * MPI forbids that a rank is in another collective than the other ranks, so all ranks must give the
 * same call to the same side (the host or Tutti). They do, because each step depends only on what
 * is equal on all ranks:
 *
 *  1. The ranks of a communicator make its collective calls in the same order (MPI 4.0, 6.14), and
 *     the shape of a call is computed from what MPI requires to be equal on all ranks. So, at a
 *     given call, all ranks have counted the same number of calls of its shape.
 *  2. Which side does the call depends on this number alone: not on times, memory, or errors.
 *  3. At the first call after the trial, Tutti combines numbers of all ranks (the maximum of each),
 *     twice. Every rank computes the decision from the same combined numbers. If a rank had no
 *     memory for its times, the numbers show it, and the host gets the shape on all ranks.
 *  4. A communicator may inherit decisions of another communicator with the same ranks, at calls
 *     that are the same on all ranks. The first rank then sends its decisions, and the other ranks
 *     adopt these, whatever decisions they have themselves. A decision that the communicator
 *     already has is never changed.
 *  5. A program may use decisions of an earlier program (kept.h). Rank 0 gives them to all ranks
 *     when MPI begins, before the first call of a shape.
 *
 * The ranks compare *runs*: several consecutive calls on one side, like the calls of a loop in a
 * program. In a loop of rooted collectives some ranks run ahead of others, and the loop is as fast
 * as its slowest rank, although each rank may find its data ready. So the cost of a run is the time
 * that its slowest rank spent in its calls. Time that a rank waits for late ranks must not count,
 * since the program causes it. So, if a rank ended a call after the last rank had begun that call,
 * only the time from this beginning on counts. If the rank ended the call earlier, it waited for no
 * late rank, and the whole call counts.
 *
 * The ranks' times must be comparable. The ranks of a node have the same clock. The ranks of
 * several nodes count from the barrier in which they last met: they meet before each run anyway, so
 * that no rank is still in the run before.
 */
#ifndef TT_MPI_TRIAL_H
#define TT_MPI_TRIAL_H

#include "mpi/shim.h"

/* The numbers of the collectives that Tutti does: TT_MPI_INDEX_Barrier ... */
#define TT_MPI_INDEX_ROW(F, NAME, ...) TT_MPI_INDEX_##NAME,
enum tt_mpi_index {
    TT_MPI_BARRIER(TT_MPI_INDEX_ROW, ) TT_MPI_MEMBERS(TT_MPI_INDEX_ROW, , int, int) TT_MPI_INDEXES
};
#undef TT_MPI_INDEX_ROW

enum {
    TT_MPI_MAGNITUDES = 42,
    TT_MPI_SHAPES = 2 * TT_MPI_INDEXES * TT_MPI_MAGNITUDES,
    TT_MPI_RUNS = 6,      /* runs of both sides together; the sides alternate */
    TT_MPI_RUN_MOST = 32, /* calls of a run, at most */
    /* calls of a trial whose times are kept, at most */
    TT_MPI_TIMED = TT_MPI_RUNS * TT_MPI_RUN_MOST
};

/* The times that were measured for a shape, in nanoseconds. */
struct tt_mpi_trial {
    struct tt_mpi_times *times; /* when its calls began and ended; NULL: no call was timed, or the
                                 * decision is made */
    int64_t host_ns, tutti_ns;  /* what one call costs, once the decision is made */
};

/* How many calls after a call of a trial are timed from their beginning. The calls of other shapes
 * may come between those of a trial. */
enum { TT_MPI_CLOCKED = 8 };

/* Values of tt_mpi_trials.calls that stand for a decision and not for a number of calls. */
enum { TT_MPI_FOR_HOST = 65534, TT_MPI_FOR_TUTTI = 65535 };

/* The trials and decisions of a communicator, by shape. All zero: no shape was called yet. */
struct tt_mpi_trials {
    /* by shape: how many calls of its trial were made; after the trial, the decision */
    uint16_t calls[TT_MPI_SHAPES];
    struct tt_mpi_map kept; /* from the number of a shape + 1 to the shape's struct tt_mpi_trial */
    /* by function (enum tt_mpi_number): how many of its next calls read the clock when they begin.
     * Whether a call belongs to a trial is known only after its arguments have been read. A call of
     * a trial sets this to TT_MPI_CLOCKED, because the next calls probably belong to it, too. */
    unsigned char clocked[TT_MPI_N];
};

/* Returns the times that were measured for a shape; NULL: none were measured. */
static inline struct tt_mpi_trial *tt_mpi_trial_of(const struct tt_mpi_trials *all, int shape)
{
    const int64_t *at = tt_mpi_map_find(&all->kept, (uint64_t)shape + 1);
    return at ? (struct tt_mpi_trial *)(intptr_t)*at : NULL;
}

/* The side that does the next call of a shape. DECIDE: the trial has ended, and a decision is to be
 * made. */
enum tt_mpi_next { TT_MPI_NEXT_HOST, TT_MPI_NEXT_TUTTI, TT_MPI_NEXT_DECIDE };

/* Returns the number of a shape. `user`: a reduction by an operation of the program. `bytes`: what
 * a call moves; 0: not all ranks know it. */
static inline int tt_mpi_shape_of(enum tt_mpi_index index, bool user, int64_t bytes)
{
    int magnitude = bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
    if (magnitude >= TT_MPI_MAGNITUDES) magnitude = TT_MPI_MAGNITUDES - 1;
    return ((int)index + user * TT_MPI_INDEXES) * TT_MPI_MAGNITUDES + magnitude;
}
/* Returns how many calls a run of this shape has: 8, or TT_MPI_RUN_MOST if the shape may be one of
 * short calls in which some ranks only send and others only receive. In a loop of such calls the
 * senders run ahead until the memory for their messages is full. Only then does the loop run at the
 * speed of its slowest rank, which is to be measured. */
int tt_mpi_trial_run(int shape);
/* Returns which side does the next call of a shape that is not decided yet. Returns DECIDE if all
 * calls of the trial have been made, so that the decision has to be made first. */
enum tt_mpi_next tt_mpi_next_of(const struct tt_mpi_trials *all, int shape);
/* Counts one more call of a shape, which now begins. Returns the number under which its times are
 * to be recorded; -1: they are not recorded, because the call only warms a side up. Sets *meets to
 * true if the ranks have to meet in a barrier before this call: it is the first of the calls that
 * warm a side up for a run. */
int tt_mpi_trial_begin(struct tt_mpi_trials *all, int shape, bool *meets);
/* Records the times of a call under the number that tt_mpi_trial_begin returned. */
void tt_mpi_trial_record(struct tt_mpi_trials *all, int shape, int number, int64_t began_ns,
                         int64_t ended_ns);

/* First of three steps to a decision: stores when this rank began each call of the trial. The
 * maximum over the ranks is when the last rank began the call. */
void tt_mpi_trial_began(const struct tt_mpi_trials *all, int shape, int64_t began[TT_MPI_TIMED]);
/* Second step: stores what each run cost this rank, and as the last number whether times are
 * missing. `last_began`: the maxima of the first step. */
void tt_mpi_trial_costs(const struct tt_mpi_trials *all, int shape,
                        const int64_t last_began[TT_MPI_TIMED], int64_t costs[TT_MPI_RUNS + 1]);
/* Third step: makes the decision. `costs`: the numbers of the second step, of which each is the
 * maximum over the ranks. Other communicators of the same group of ranks can inherit the decision.
 * The caller holds a lock.
 */
void tt_mpi_trial_decide(struct tt_mpi_trials *all, int shape, uint64_t group,
                         const int64_t costs[TT_MPI_RUNS + 1]);

/* A decision, as ranks send it to each other: the side (`tutti`: 1 for Tutti, 0 for the host), and
 * what a call costs on both sides. */
struct tt_mpi_decision {
    int32_t shape, tutti;
    int64_t host_ns, tutti_ns;
};
/* Returns the decision on a shape, which has been made. */
static inline struct tt_mpi_decision tt_mpi_trial_decision(const struct tt_mpi_trials *all,
                                                           int shape)
{
    const struct tt_mpi_trial *trial = tt_mpi_trial_of(all, shape);
    struct tt_mpi_decision d = {.shape = shape, .tutti = all->calls[shape] == TT_MPI_FOR_TUTTI};
    if (trial) {
        d.host_ns = trial->host_ns;
        d.tutti_ns = trial->tutti_ns;
    }
    return d;
}
/* Stores a decision, unless there is one on its shape already. The first decision on a shape is
 * never replaced, because ranks remember calls that are left to the host by it (left.h). */
void tt_mpi_trial_adopt(struct tt_mpi_trials *all, const struct tt_mpi_decision *decision);

/* Frees all times and forgets all decisions of a communicator. */
void tt_mpi_trials_free(struct tt_mpi_trials *all);

/* Remembers a decision, so that other communicators with the same ranks can inherit it. `group`: a
 * hash of the ranks in their order. The caller holds a lock. */
void tt_mpi_trial_remember(uint64_t group, const struct tt_mpi_decision *decision);
/* Copies the remembered decisions of a group, at most n, and returns how many it has copied. */
int tt_mpi_trial_recall(uint64_t group, struct tt_mpi_decision *decision, int n);

#endif
