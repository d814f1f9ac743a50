/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of calls in a trial, what a decision is computed from, and the decisions that are
 * remembered.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/trial.h"

/* ---- The order of calls ---- */

/* The blocks of a trial, one behind the other: calls that warm a side up, and then calls whose
 * times are recorded. The host comes first, so that a program that makes a few calls of a shape
 * loses nothing. Tutti needs a long warm-up: its first call makes a plan, and each of the next ones
 * uses another slot of the team, whose memory the system provides when it is first touched. The
 * sides have blocks rather than single calls, because the calls of a program's loop follow each
 * other on one side later, too. */
static const struct block {
    bool tutti;
    int warm, recorded;
} block[] = {{false, 2, 4}, {true, 34, 4}, {false, 1, 4}, {true, 1, 4}};

enum { BLOCKS = sizeof block / sizeof block[0], OF_A_SIDE = TT_MPI_MEASURED / 2, OUTLIERS = 2 };

/* The place of a call in a trial. */
struct trial_place {
    int block;  /* BLOCKS: behind the last one */
    int number; /* under which its times are recorded; -1: they are not */
};

static struct trial_place place_of(int call)
{
    struct trial_place at = {.number = -1};
    int recorded = 0;
    for (; at.block < BLOCKS; at.block++) {
        const struct block *b = &block[at.block];
        if (call < b->warm + b->recorded) {
            if (call >= b->warm) at.number = recorded + call - b->warm;
            break;
        }
        call -= b->warm + b->recorded;
        recorded += b->recorded;
    }
    return at;
}

enum tt_mpi_next tt_mpi_next_of(const struct tt_mpi_trials *all, int shape)
{
    int at = place_of(all->calls[shape]).block;
    if (at == BLOCKS) return TT_MPI_NEXT_DECIDE;
    return block[at].tutti ? TT_MPI_NEXT_TUTTI : TT_MPI_NEXT_HOST;
}

int tt_mpi_trial_begin(struct tt_mpi_trials *all, int shape)
{
    return place_of(all->calls[shape]++).number;
}

bool tt_mpi_shape_rooted(int shape)
{
    switch ((enum tt_mpi_index)(shape / TT_MPI_MAGNITUDES % TT_MPI_INDEXES)) {
    case TT_MPI_INDEX_Bcast:
    case TT_MPI_INDEX_Reduce:
    case TT_MPI_INDEX_Gather:
    case TT_MPI_INDEX_Gatherv:
    case TT_MPI_INDEX_Scatter:
    case TT_MPI_INDEX_Scatterv:
    case TT_MPI_INDEX_Scan:
    case TT_MPI_INDEX_Exscan: return true;
    default: return false;
    }
}

/* ---- What is measured ---- */

static struct tt_mpi_trial *trial_of(const struct tt_mpi_trials *all, int shape)
{
    const int64_t *at = tt_mpi_map_find(&all->kept, (uint64_t)shape + 1);
    return at ? (struct tt_mpi_trial *)(intptr_t)*at : NULL;
}

/* Returns the trial of a shape, which is made if there is none. NULL: there is no memory. */
static struct tt_mpi_trial *make_trial(struct tt_mpi_trials *all, int shape)
{
    struct tt_mpi_trial *trial = trial_of(all, shape);
    if (trial) return trial;
    trial = calloc(1, sizeof *trial);
    if (!trial || tt_mpi_map_set(&all->kept, (uint64_t)shape + 1, (intptr_t)trial)) return trial;
    free(trial);
    return NULL;
}

void tt_mpi_trial_record(struct tt_mpi_trials *all, int shape, int number, int64_t began_ns,
                         int64_t ended_ns)
{
    struct tt_mpi_trial *trial = make_trial(all, shape);
    if (!trial) return;
    trial->began[number] = began_ns;
    trial->ended[number] = ended_ns;
}

/* The numbers are: for each recorded call, with one clock when it began and ended; otherwise minus
 * how long it took, and how long it took. The last number is 1 if times are missing. */
void tt_mpi_trial_numbers(const struct tt_mpi_trials *all, int shape, bool one_clock,
                          int64_t numbers[TT_MPI_NUMBERS])
{
    const struct tt_mpi_trial *trial = trial_of(all, shape);
    bool missing = !trial;
    for (int i = 0; i < TT_MPI_MEASURED; i++) {
        int64_t began = trial ? trial->began[i] : 0, ended = trial ? trial->ended[i] : 0;
        missing = missing || ended == 0;
        numbers[2 * i] = one_clock ? began : began - ended;
        numbers[2 * i + 1] = one_clock ? ended : ended - began;
    }
    numbers[2 * TT_MPI_MEASURED] = missing;
}

static int64_t cost_of(const int64_t *numbers, int shape, bool one_clock)
{
    if (one_clock) return numbers[1] - numbers[0];
    return tt_mpi_shape_rooted(shape) ? numbers[1] : -numbers[0];
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The mean of a side's costs without the largest ones: something else may have run then. */
static int64_t mean_of(int64_t cost[OF_A_SIDE])
{
    int64_t sum = 0;
    qsort(cost, OF_A_SIDE, sizeof *cost, compare);
    for (int i = 0; i < OF_A_SIDE - OUTLIERS; i++) sum += cost[i];
    return sum / (OF_A_SIDE - OUTLIERS);
}

void tt_mpi_trial_decide(struct tt_mpi_trials *all, int shape, bool one_clock,
                         const int64_t numbers[TT_MPI_NUMBERS])
{
    int64_t cost[2][OF_A_SIDE];
    int n[2] = {0}, number = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < block[b].recorded; i++, number++)
            cost[block[b].tutti][n[block[b].tutti]++] =
                cost_of(numbers + 2 * number, shape, one_clock);
    struct tt_mpi_decision d = {
        .shape = shape, .host_ns = mean_of(cost[0]), .tutti_ns = mean_of(cost[1])};
    d.tutti = numbers[2 * TT_MPI_MEASURED] == 0 && d.tutti_ns <= d.host_ns;
    tt_mpi_trial_adopt(all, &d);
}

/* ---- Decisions ---- */

struct tt_mpi_decision tt_mpi_trial_decision(const struct tt_mpi_trials *all, int shape)
{
    const struct tt_mpi_trial *trial = trial_of(all, shape);
    struct tt_mpi_decision d = {.shape = shape, .tutti = all->calls[shape] == TT_MPI_FOR_TUTTI};
    if (trial) {
        d.host_ns = trial->host_ns;
        d.tutti_ns = trial->tutti_ns;
    }
    return d;
}

void tt_mpi_trial_adopt(struct tt_mpi_trials *all, const struct tt_mpi_decision *decision)
{
    struct tt_mpi_trial *trial = make_trial(all, decision->shape);
    all->calls[decision->shape] = decision->tutti ? TT_MPI_FOR_TUTTI : TT_MPI_FOR_HOST;
    if (!trial) return; /* the report then lacks the costs */
    trial->host_ns = decision->host_ns;
    trial->tutti_ns = decision->tutti_ns;
}

void tt_mpi_trials_free(struct tt_mpi_trials *all)
{
    for (int shape = 0; all->kept.n > 0 && shape < TT_MPI_SHAPES; shape++) {
        free(trial_of(all, shape));
        tt_mpi_map_remove(&all->kept, (uint64_t)shape + 1);
    }
    free(all->kept.entry);
    memset(all, 0, sizeof *all);
}

/* The last decisions. A program has few different groups of ranks that come again. */
static struct {
    struct {
        uint64_t group;
        struct tt_mpi_decision decision;
    } entry[1024];
    unsigned n;
} remembered;

enum { REMEMBERED = sizeof remembered.entry / sizeof remembered.entry[0] };

void tt_mpi_trial_remember(uint64_t group, const struct tt_mpi_decision *decision)
{
    unsigned n = remembered.n < REMEMBERED ? remembered.n : REMEMBERED, i = 0;
    while (i < n && (remembered.entry[i].group != group ||
                     remembered.entry[i].decision.shape != decision->shape))
        i++;
    if (i == n) i = remembered.n++ % REMEMBERED;
    remembered.entry[i].group = group;
    remembered.entry[i].decision = *decision;
}

int tt_mpi_trial_recall(uint64_t group, struct tt_mpi_decision *decision, int n)
{
    int found = 0;
    unsigned all = remembered.n < REMEMBERED ? remembered.n : REMEMBERED;
    for (unsigned i = 0; i < all && found < n; i++)
        if (remembered.entry[i].group == group) decision[found++] = remembered.entry[i].decision;
    return found;
}
