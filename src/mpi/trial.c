/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of calls in a trial, what a decision is computed from, and the decisions that are
 * remembered.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/trial.h"

/* ---- The order of calls ---- */

/* The blocks of a trial, in their order. All calls of a block are done by one side: by Tutti if
 * `tutti`, else by the host. If `runs` is false, the block consists of `warm` calls, which only
 * warm the side up. If `runs` is true, it consists of a few calls to warm up (the function warm_of
 * says how many), and then of a run: the calls whose times are recorded. The host comes first, so
 * that a program that makes a few calls of a shape loses nothing. Tutti needs a long warm-up: its
 * first call makes a plan, and each of the next calls uses another slot of the team, whose memory
 * the system provides when it is first touched. */
static const struct block {
    bool tutti, runs;
    int warm;
} block[] = {{false, false, 6}, {true, false, 34}, {false, true, 0}, {true, true, 0},
             {false, true, 0},  {true, true, 0},   {false, true, 0}, {true, true, 0}};

/* The number of calls that warm a side up before a run: SHORT_WARM before a short run, LONG_WARM
 * before a run of TT_MPI_RUN_MOST calls. Long runs are for calls in which senders run ahead of
 * receivers until the memory for their messages is full. This memory must be full before the run
 * begins. */
enum { SHORT_WARM = 2, LONG_WARM = 40 };

enum { BLOCKS = sizeof block / sizeof block[0], OF_A_SIDE = TT_MPI_RUNS / 2 };
_Static_assert(6 + 34 + TT_MPI_RUNS * (LONG_WARM + TT_MPI_RUN_MOST) < TT_MPI_FOR_HOST,
               "all calls of a trial are counted in tt_mpi_trials.calls");

/* The place of a call in a trial. */
struct trial_place {
    /* the index in block[] of the part of the trial to which the call belongs; BLOCKS: the trial
     * has ended */
    int block;
    /* the number under which the times of the call are recorded; -1: they are not recorded */
    int number;
    bool first; /* whether the call is the first of its block */
};

int tt_mpi_trial_run(int shape)
{
    enum { RUN = 8, SHORT_MAGNITUDE = 10 }; /* SHORT_MAGNITUDE: calls of fewer than 1024 bytes */
    int magnitude = shape % TT_MPI_MAGNITUDES;
    int index = shape / TT_MPI_MAGNITUDES % TT_MPI_INDEXES;
    /* no rank knows how long the pieces of the others are; they may be short */
    if (index == TT_MPI_INDEX_Gatherv || index == TT_MPI_INDEX_Scatterv) return TT_MPI_RUN_MOST;
    if (magnitude == 0 || magnitude > SHORT_MAGNITUDE) return RUN;
    switch (index) {
    case TT_MPI_INDEX_Bcast:
    case TT_MPI_INDEX_Reduce:
    case TT_MPI_INDEX_Gather:
    case TT_MPI_INDEX_Scatter:
    case TT_MPI_INDEX_Scan:
    case TT_MPI_INDEX_Exscan: return TT_MPI_RUN_MOST;
    default: return RUN;
    }
}

/* Returns how many calls of a block only warm a side up: those before the block's run, or all of
 * them if the block has no run. `run` is the number of calls of a run. */
static int warm_of(const struct block *b, int run)
{
    if (!b->runs) return b->warm;
    return run == TT_MPI_RUN_MOST ? LONG_WARM : SHORT_WARM;
}

/* Returns where in the trial of a shape the call with the number `call` is: the first call of the
 * shape is call 0. */
static struct trial_place place_of(int shape, int call)
{
    int run = tt_mpi_trial_run(shape);
    struct trial_place at = {.number = -1};
    int recorded = 0;
    for (; at.block < BLOCKS; at.block++) {
        const struct block *b = &block[at.block];
        int warm = warm_of(b, run), calls = warm + (b->runs ? run : 0);
        if (call < calls) {
            if (call >= warm) at.number = recorded + call - warm;
            at.first = call == 0;
            break;
        }
        call -= calls;
        recorded += calls - warm;
    }
    return at;
}

enum tt_mpi_next tt_mpi_next_of(const struct tt_mpi_trials *all, int shape)
{
    int at = place_of(shape, all->calls[shape]).block;
    if (at == BLOCKS) return TT_MPI_NEXT_DECIDE;
    return block[at].tutti ? TT_MPI_NEXT_TUTTI : TT_MPI_NEXT_HOST;
}

int tt_mpi_trial_begin(struct tt_mpi_trials *all, int shape, bool *meets)
{
    struct trial_place at = place_of(shape, all->calls[shape]++);
    *meets = at.first && block[at.block].runs;
    return at.number;
}

/* ---- What is measured ---- */

struct tt_mpi_times {
    int64_t began[TT_MPI_TIMED], ended[TT_MPI_TIMED];
};

/* Returns the record of a shape's times, and makes it if there is none. NULL: there is no memory.
 */
static struct tt_mpi_trial *make_trial(struct tt_mpi_trials *all, int shape)
{
    struct tt_mpi_trial *trial = tt_mpi_trial_of(all, shape);
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
    if (!trial->times) trial->times = calloc(1, sizeof *trial->times);
    if (!trial->times) return;
    trial->times->began[number] = began_ns;
    trial->times->ended[number] = ended_ns;
}

/* Returns the times of a shape's calls; NULL: this rank has recorded none. */
static const struct tt_mpi_times *times_of(const struct tt_mpi_trials *all, int shape)
{
    const struct tt_mpi_trial *trial = tt_mpi_trial_of(all, shape);
    return trial ? trial->times : NULL;
}

void tt_mpi_trial_began(const struct tt_mpi_trials *all, int shape, int64_t began[TT_MPI_TIMED])
{
    const struct tt_mpi_times *times = times_of(all, shape);
    for (int i = 0; i < TT_MPI_TIMED; i++) began[i] = times ? times->began[i] : 0;
}

void tt_mpi_trial_costs(const struct tt_mpi_trials *all, int shape,
                        const int64_t last_began[TT_MPI_TIMED], int64_t costs[TT_MPI_RUNS + 1])
{
    const struct tt_mpi_times *times = times_of(all, shape);
    int run = tt_mpi_trial_run(shape);
    memset(costs, 0, (TT_MPI_RUNS + 1) * sizeof *costs);
    costs[TT_MPI_RUNS] = !times;
    for (int i = 0; times && i < TT_MPI_RUNS * run; i++) {
        int64_t ended = times->ended[i];
        if (ended == 0) costs[TT_MPI_RUNS] = 1;
        costs[i / run] += ended - (ended > last_began[i] ? last_began[i] : times->began[i]);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the cost of the median run of a side, because another program may have disturbed one of
 * the runs. */
static int64_t median_of(int64_t cost[OF_A_SIDE])
{
    qsort(cost, OF_A_SIDE, sizeof *cost, compare);
    return cost[OF_A_SIDE / 2];
}

/* Returns whether Tutti is so much faster than the host that it gets the shape. Between nearly
 * equal costs, chance would decide; and the costs leave out the short time in which Tutti
 * recognises a call (again.h), which the host does not need. */
static bool is_faster(int64_t tutti, int64_t host)
{
    return tutti <= host - host / 20;
}

static void forget_times(struct tt_mpi_trial *trial)
{
    if (!trial) return;
    free(trial->times);
    trial->times = NULL;
}

void tt_mpi_trial_decide(struct tt_mpi_trials *all, int shape, uint64_t group,
                         const int64_t costs[TT_MPI_RUNS + 1])
{
    int64_t cost[2][OF_A_SIDE];
    int n[2] = {0}, run = 0;
    for (int b = 0; b < BLOCKS; b++)
        if (block[b].runs) cost[block[b].tutti][n[block[b].tutti]++] = costs[run++];
    int64_t host = median_of(cost[0]), tutti = median_of(cost[1]), calls = tt_mpi_trial_run(shape);
    struct tt_mpi_decision d = {.shape = shape,
                                .tutti = costs[TT_MPI_RUNS] == 0 && is_faster(tutti, host),
                                .host_ns = host / calls,
                                .tutti_ns = tutti / calls};
    forget_times(tt_mpi_trial_of(all, shape));
    tt_mpi_trial_adopt(all, &d);
    tt_mpi_trial_remember(group, &d);
}

/* ---- Decisions ---- */

void tt_mpi_trial_adopt(struct tt_mpi_trials *all, const struct tt_mpi_decision *decision)
{
    if (all->calls[decision->shape] >= TT_MPI_FOR_HOST) return;
    struct tt_mpi_trial *trial = make_trial(all, decision->shape);
    all->calls[decision->shape] = decision->tutti ? TT_MPI_FOR_TUTTI : TT_MPI_FOR_HOST;
    if (!trial) return; /* without memory, only the costs in the report are missing */
    trial->host_ns = decision->host_ns;
    trial->tutti_ns = decision->tutti_ns;
}

void tt_mpi_trials_free(struct tt_mpi_trials *all)
{
    for (int shape = 0; all->kept.n > 0 && shape < TT_MPI_SHAPES; shape++) {
        forget_times(tt_mpi_trial_of(all, shape));
        free(tt_mpi_trial_of(all, shape));
        tt_mpi_map_remove(&all->kept, (uint64_t)shape + 1);
    }
    free(all->kept.entry);
    memset(all, 0, sizeof *all);
}

/* The most recent decisions, from which new communicators inherit. A program has few different
 * groups of ranks for which it makes communicators repeatedly. */
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
