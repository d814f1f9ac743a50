/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured choice: whether the host or Tutti does the calls of a *shape* on a communicator. A
 * shape is a collective, with an operation of the program or not, and a power of two of bytes. Its
 * first calls are a *trial*: the host and Tutti share them, in a fixed order, every rank
 * records when they began and ended, and then the ranks decide together. The decision is kept
 * as long as the communicator lives. The files here know no MPI, no team and no clock; team.c calls
 * them.
 *
 * MPI forbids that a rank is in another collective than the others, so all ranks must take the same
 * side at the same call. They do, because each step depends only on what is equal on all ranks:
 *
 *  1. The ranks of a communicator make its collective calls in the same order (MPI 4.0, 6.14), and
 *     the shape of a call is computed from what MPI wants to be equal on all ranks. So, at a given
 *     call, all ranks have counted the same number of calls of its shape.
 *  2. Which side has the call depends on this number alone: not on times, memory, or errors.
 *  3. At the call behind the trial, Tutti combines the times of all ranks (the maximum of
 *     each number). Every rank computes the decision from the same combined numbers. If a rank had
 *     no memory for its times, the numbers say so, and the host gets the shape on all ranks.
 *  4. A communicator may inherit decisions of another one with the same ranks. The call that makes
 *     its team is the same on all ranks; there the first rank sends the decisions that it has, and
 *     the others take these, whatever they have themselves.
 *
 * Waiting for late ranks must not be measured. The ranks of a node have the same clock, so the cost
 * of a call is the time from when the last rank began it to when the last rank ended it. Clocks of
 * several hosts cannot be compared. There, the cost is the time of the rank that waited least; but
 * in a rooted collective, in which some ranks may leave before the data have arrived anywhere, it
 * is the time of the rank that waited longest.
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
    TT_MPI_MEASURED = 16,                    /* calls of a trial whose times are kept */
    TT_MPI_NUMBERS = 2 * TT_MPI_MEASURED + 1 /* what a rank contributes to a decision */
};

/* The times that were measured for a shape, in nanoseconds. */
struct tt_mpi_trial {
    int64_t began[TT_MPI_MEASURED], ended[TT_MPI_MEASURED];
    int64_t host_ns, tutti_ns; /* of one call, when it is decided */
};

/* Values of `calls` that are no number of calls. */
enum { TT_MPI_FOR_HOST = 254, TT_MPI_FOR_TUTTI = 255 };

/* The shapes of a communicator. All zero: none was called yet. */
struct tt_mpi_trials {
    unsigned char calls[TT_MPI_SHAPES]; /* of a shape, in its trial; then its decision */
    struct tt_mpi_map kept;             /* shapes + 1: their struct tt_mpi_trial */
};

/* Which side has the next call of a shape. */
enum tt_mpi_next { TT_MPI_NEXT_HOST, TT_MPI_NEXT_TUTTI, TT_MPI_NEXT_DECIDE };

/* The number of a shape. `bytes`: what a call moves, as all ranks know it; 0: they do not. */
static inline int tt_mpi_shape_of(enum tt_mpi_index index, bool user, int64_t bytes)
{
    int magnitude = bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
    if (magnitude >= TT_MPI_MAGNITUDES) magnitude = TT_MPI_MAGNITUDES - 1;
    return ((int)index + user * TT_MPI_INDEXES) * TT_MPI_MAGNITUDES + magnitude;
}
/* Whether ranks may leave a call of this shape before others have begun it. */
bool tt_mpi_shape_rooted(int shape);

/* Returns the side that has the next call of a shape, which is not decided yet. */
enum tt_mpi_next tt_mpi_next_of(const struct tt_mpi_trials *all, int shape);
/* Begins the next call of a shape. Returns the number under which its times are recorded; -1: they
 * are not, because the call warms a side up. */
int tt_mpi_trial_begin(struct tt_mpi_trials *all, int shape);
/* Records the times of a call under the number that tt_mpi_trial_begin returned. */
void tt_mpi_trial_record(struct tt_mpi_trials *all, int shape, int number, int64_t began_ns,
                         int64_t ended_ns);

/* Stores what this rank contributes to the decision. The maximum over the ranks goes to
 * tt_mpi_trial_decide. `one_clock`: the ranks' clocks can be compared. */
void tt_mpi_trial_numbers(const struct tt_mpi_trials *all, int shape, bool one_clock,
                          int64_t numbers[TT_MPI_NUMBERS]);
void tt_mpi_trial_decide(struct tt_mpi_trials *all, int shape, bool one_clock,
                         const int64_t numbers[TT_MPI_NUMBERS]);

/* A decision, as it goes from rank to rank. */
struct tt_mpi_decision {
    int32_t shape, tutti;
    int64_t host_ns, tutti_ns;
};
/* Returns the decision on a shape, which has been made. */
struct tt_mpi_decision tt_mpi_trial_decision(const struct tt_mpi_trials *all, int shape);
void tt_mpi_trial_adopt(struct tt_mpi_trials *all, const struct tt_mpi_decision *decision);

/* Frees what was measured. */
void tt_mpi_trials_free(struct tt_mpi_trials *all);

/* Decisions that other communicators with the same ranks can inherit. `group` stands for the ranks
 * and their order. The caller holds a lock. */
void tt_mpi_trial_remember(uint64_t group, const struct tt_mpi_decision *decision);
/* Copies the decisions of a group, at most n, and returns how many there are. */
int tt_mpi_trial_recall(uint64_t group, struct tt_mpi_decision *decision, int n);

#endif
