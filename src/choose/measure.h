/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_CHOICE=measure: the first calls of a shape time the algorithms that are worth it
 * (tt_candidates) on the real team, and the fastest one runs from then on.
 *
 * How all ranks agree. A trial belongs to a shape and a team, and counts the calls of that shape on
 * that team. The i-th call runs candidate i mod n, so that a disturbance hits all candidates alike,
 * and after n * TT_TRIAL_ROUNDS calls the trial is over. In the next call of the shape, before it
 * does anything else, the ranks exchange their times: an allreduce takes the maximum over the ranks
 * for each call, so all ranks decide from the same numbers. This works because
 *
 * - the candidates depend only on what all ranks know alike: the call, the map, the wisdom and the
 *   model of rank 0;
 * - all ranks make the same blocking calls on a team in the same order, so their counts are equal
 *   in the same call, and a trial begins and ends in the same call on all ranks. Which shapes get a
 *   trial, of which a team has TT_TRIALS at most, follows from that order, too;
 * - a shape consists of what the ranks compare in a call. Some ranks have to pack their elements,
 *   because of their derived types or addresses, and other ranks do not. So a call that packs
 *   belongs to the shape of its packed elements, which is the shape that the call has on ranks that
 *   do not pack. With a user-defined operation this is not possible: the plan is for the type that
 *   this rank passed, because the operation gets this type, and two calls with one type may have
 *   two types on another rank. So these calls are not measured;
 * - only calls that block are measured. A rank may prepare a request, or begin one, before or
 *   after another rank has come to the call that decides, and it must not wait there. So requests
 *   take no part in trials: each gets a plan of its own, not the cached plan, and its algorithm is
 *   chosen as if nothing were measured (tt_call.steady). If a rank begins a request where another
 *   one makes a call that blocks, both get MISMATCH during a trial, because only the second one
 *   comes to the barrier; later they get it if their algorithms differ.
 *
 * If a rank fails before the exchange, it breaks the team, as in any other call.
 *
 * Before each timed call the ranks meet in a barrier. Otherwise the time of a call would contain
 * the wait for a rank that comes late from its own work.
 */
#ifndef TT_MEASURE_H
#define TT_MEASURE_H

#include "choose/cache.h"

enum { TT_TRIAL_CANDIDATES = 6, TT_TRIAL_ROUNDS = 8, TT_TRIALS = 32 };

/* Invariants (tt_trial_valid): 2 <= n <= TT_TRIAL_CANDIDATES; 0 <= calls <= n * TT_TRIAL_ROUNDS;
 * best is -1 until the trial is decided; then 0 <= best < n and calls == n * TT_TRIAL_ROUNDS. */
struct tt_trial {
    struct tt_call call; /* the first call of the trial, as if it were not in place */
    int n, calls, best;
    struct tt_choice candidate[TT_TRIAL_CANDIDATES];
    struct tt_prepared *prepared[TT_TRIAL_CANDIDATES][2]; /* for each candidate: its plan for calls
                                                           * in place ([1]) and for other calls
                                                           * ([0]) */
    int64_t begin_ns;                                     /* when the call that is running began */
    int64_t ns[TT_TRIAL_CANDIDATES * TT_TRIAL_ROUNDS];    /* the time of each call; when the trial
                                                           * is decided: the maximum over the
                                                           * ranks */
};

static inline bool tt_trial_valid(const struct tt_trial *t)
{
    bool over = t->calls == t->n * TT_TRIAL_ROUNDS;
    return t->n >= 2 && t->n <= TT_TRIAL_CANDIDATES && t->calls >= 0 &&
           t->calls <= t->n * TT_TRIAL_ROUNDS &&
           (t->best == -1 || (over && t->best >= 0 && t->best < t->n));
}

struct tt_trials {
    int n;
    struct tt_trial *trial[TT_TRIALS];
};

/* Finds the trial of the call's shape, or begins one. NULL: there is nothing to measure. Errors:
 * MEMORY. */
tutti_status tt_trial_find(struct tt_cache *cache, struct tt_team *team, const struct tt_call *call,
                           struct tt_trial **trial);
/* Returns whether the ranks have to exchange the times trial->ns[0 .. *n - 1] now, and then to
 * decide. */
bool tt_trial_is_over(const struct tt_trial *trial, int *n);
/* Decides which candidate is the fastest. trial->ns must hold the maxima over the ranks. Logs the
 * result on rank 0. */
void tt_trial_decide(struct tt_trial *trial, const struct tt_team *team);
/* Sets *prepared to the plan for this call. Before the trial is decided, this is the plan of the
 * next candidate, and the caller gives it up after the call (tt_prepared_drop). Afterwards it is
 * the plan of the fastest candidate, which the cache owns, so the caller does not give it up.
 * Errors: those of tt_prepare. */
tutti_status tt_trial_plan(struct tt_trial *trial, struct tt_cache *cache, struct tt_team *team,
                           const struct tt_call *call, struct tt_prepared **prepared);
/* Record that a timed call begins, and that it has ended. */
void tt_trial_begin(struct tt_trial *trial);
void tt_trial_end(struct tt_trial *trial);
/* Adds the results of the decided trials to the file of the wisdom, and frees all trials. */
void tt_trials_release(struct tt_cache *cache, const struct tt_team *team);

#endif
