/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured choice: whether the host or Tutti does the calls of a *shape* on a communicator. A
 * shape is a collective, with an operation of the program or not, and a power of two of bytes. Its
 * first calls are a *trial*: the host and Tutti share them, in a fixed order, every rank
 * records when they began and ended, and then the ranks decide together. The decision is kept
 * as long as the communicator lives, and for the next program. The files here know no MPI, no team
 * and no clock; team.c calls them.
 *
 * MPI forbids that a rank is in another collective than the others, so all ranks must take the same
 * side at the same call. They do, because each step depends only on what is equal on all ranks:
 *
 *  1. The ranks of a communicator make its collective calls in the same order (MPI 4.0, 6.14), and
 *     the shape of a call is computed from what MPI wants to be equal on all ranks. So, at a given
 *     call, all ranks have counted the same number of calls of its shape.
 *  2. Which side has the call depends on this number alone: not on times, memory, or errors.
 *  3. At the call behind the trial, Tutti combines numbers of all ranks (the maximum of each),
 *     twice. Every rank computes the decision from the same combined numbers. If a rank had
 *     no memory for its times, the numbers say so, and the host gets the shape on all ranks.
 *  4. A communicator may inherit decisions of another one with the same ranks. The calls at which
 *     it does are the same on all ranks; there the first rank sends the decisions that it has, and
 *     the others take these, whatever they have themselves. A decision that the communicator has
 *     already is never changed.
 *  5. A program may use decisions of an earlier one (kept.h). Rank 0 gives them to all ranks when
 *     MPI begins, before the first call of a shape.
 *
 * The ranks compare *runs*, which are calls in a row on one side, because the calls of a program's
 * loop follow each other, too. In a loop of rooted collectives some ranks run ahead of others, and
 * the loop is as fast as its slowest rank, although each rank may find its data ready. So the cost
 * of a run is the time that its slowest rank spent in its calls. Time that a rank waits for late
 * ranks must not count, since the program causes it: if a rank ended a call after the last rank had
 * begun it, only the time from then on counts. If it ended before, it waited for no late rank, and
 * the whole call counts.
 *
 * The ranks' times must be comparable. The ranks of a node have the same clock. Ranks of several
 * hosts count from the last time that they met: they meet before each run anyway, so that no rank
 * is still behind in the run before.
 */
#ifndef TT_MPI_TRIAL_H
#define TT_MPI_TRIAL_H

#include "mpi/shim.h"

/* The collectives that Tutti does, by number: TT_MPI_INDEX_Barrier ... */
#define TT_MPI_INDEX_ROW(F, NAME, ...) TT_MPI_INDEX_##NAME,
enum tt_mpi_index {
    TT_MPI_BARRIER(TT_MPI_INDEX_ROW, ) TT_MPI_MEMBERS(TT_MPI_INDEX_ROW, , int, int) TT_MPI_INDEXES
};
#undef TT_MPI_INDEX_ROW

enum {
    TT_MPI_MAGNITUDES = 42,
    TT_MPI_SHAPES = 2 * TT_MPI_INDEXES * TT_MPI_MAGNITUDES,
    TT_MPI_RUN = 8,                         /* calls of a run */
    TT_MPI_RUNS = 6,                        /* of both sides, in turn */
    TT_MPI_TIMED = TT_MPI_RUNS * TT_MPI_RUN /* calls of a trial whose times are kept */
};

/* The times that were measured for a shape, in nanoseconds. */
struct tt_mpi_trial {
    struct tt_mpi_times *times; /* of its calls, until it is decided */
    int64_t host_ns, tutti_ns;  /* of one call, when it is decided */
};

/* Values of `calls` that are no number of calls. */
enum { TT_MPI_FOR_HOST = 254, TT_MPI_FOR_TUTTI = 255 };

/* The shapes of a communicator. All zero: none was called yet. */
struct tt_mpi_trials {
    unsigned char calls[TT_MPI_SHAPES]; /* of a shape, in its trial; then its decision */
    struct tt_mpi_map kept;             /* shapes + 1: their struct tt_mpi_trial */
};

/* Returns what was measured for a shape; NULL: nothing. */
static inline struct tt_mpi_trial *tt_mpi_trial_of(const struct tt_mpi_trials *all, int shape)
{
    const int64_t *at = tt_mpi_map_find(&all->kept, (uint64_t)shape + 1);
    return at ? (struct tt_mpi_trial *)(intptr_t)*at : NULL;
}

/* Which side has the next call of a shape. */
enum tt_mpi_next { TT_MPI_NEXT_HOST, TT_MPI_NEXT_TUTTI, TT_MPI_NEXT_DECIDE };

/* The number of a shape. `bytes`: what a call moves, as all ranks know it; 0: they do not. */
static inline int tt_mpi_shape_of(enum tt_mpi_index index, bool user, int64_t bytes)
{
    int magnitude = bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
    if (magnitude >= TT_MPI_MAGNITUDES) magnitude = TT_MPI_MAGNITUDES - 1;
    return ((int)index + user * TT_MPI_INDEXES) * TT_MPI_MAGNITUDES + magnitude;
}
/* Returns the side that has the next call of a shape, which is not decided yet. */
enum tt_mpi_next tt_mpi_next_of(const struct tt_mpi_trials *all, int shape);
/* Begins the next call of a shape. Returns the number under which its times are recorded; -1: they
 * are not, because the call warms a side up. *meets: the ranks meet first, because a run begins, or
 * the calls before it. */
int tt_mpi_trial_begin(struct tt_mpi_trials *all, int shape, bool *meets);
/* Records the times of a call under the number that tt_mpi_trial_begin returned. */
void tt_mpi_trial_record(struct tt_mpi_trials *all, int shape, int number, int64_t began_ns,
                         int64_t ended_ns);

/* A decision takes three steps. First, each rank stores when it began each call; the maximum over
 * the ranks is when the last rank began it. */
void tt_mpi_trial_began(const struct tt_mpi_trials *all, int shape, int64_t began[TT_MPI_TIMED]);
/* Then it stores what each of its runs cost, and as the last number whether times are missing. */
void tt_mpi_trial_costs(const struct tt_mpi_trials *all, int shape,
                        const int64_t last_began[TT_MPI_TIMED], int64_t costs[TT_MPI_RUNS + 1]);
/* The maximum of these over the ranks decides. Other communicators of the group can inherit the
 * decision. The caller holds a lock. */
void tt_mpi_trial_decide(struct tt_mpi_trials *all, int shape, uint64_t group,
                         const int64_t costs[TT_MPI_RUNS + 1]);

/* A decision, as it goes from rank to rank. */
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
/* Follows a decision from now on, unless there is one on its shape. The first one holds, because
 * ranks remember calls that are left to the host by it (left.h). */
void tt_mpi_trial_adopt(struct tt_mpi_trials *all, const struct tt_mpi_decision *decision);

/* Frees what was measured. */
void tt_mpi_trials_free(struct tt_mpi_trials *all);

/* Decisions that other communicators with the same ranks can inherit. `group` stands for the ranks
 * and their order. The caller holds a lock. */
void tt_mpi_trial_remember(uint64_t group, const struct tt_mpi_decision *decision);
/* Copies the decisions of a group, at most n, and returns how many there are. */
int tt_mpi_trial_recall(uint64_t group, struct tt_mpi_decision *decision, int n);

#endif
