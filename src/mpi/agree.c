/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out whether the ranks have the same settings, and what else they must know of each other
 * before Tutti starts.
 *
 * The ranks combine their bits by a bitwise or. For a number that must be the same on all ranks,
 * each rank contributes the number and its complement. The combined number and the combined
 * complement have a bit in common if and only if two ranks have different numbers.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/host-name.h"
#include "mpi/agree.h"
#include "mpi/meet.h"

/* A number that must be the same on all ranks, and its complement, both combined over the ranks by
 * a bitwise or. */
struct number_bits {
    uint64_t in, out;
};

/* The bits that each rank contributes. */
struct rank_bits {
    uint32_t modes;         /* 1 << the mode of the rank (enum tt_mpi_mode) */
    unsigned char reports;  /* whether the rank wants a report */
    unsigned char measures; /* whether TUTTI_CHOICE of the rank is `measure` */
    unsigned char fails;    /* whether the rank cannot load libtutti.so */
    /* whether the progress of the rank's MPI calls no functions that a library registers */
    unsigned char undriven;
    unsigned char unpushed;  /* whether nothing can push nonblocking calls of Tutti at the rank */
    struct number_bits list; /* a hash of Tutti's sources and of the list in TUTTI_MPI */
    struct number_bits host; /* a hash that is equal on ranks that can share memory */
    cpu_set_t processors;    /* processors that the rank may use */
};

static struct number_bits bits_of(uint64_t number)
{
    return (struct number_bits){.in = number, .out = ~number};
}

static bool is_same(struct number_bits number)
{
    return (number.in & number.out) == 0;
}

/* Returns a number that differs between ranks with different builds of Tutti, or with different
 * lists of functions in TUTTI_MPI. */
static uint64_t list_number(void)
{
    uint64_t hash = tt_hash(TT_HASH_BEGIN, tt_mpi_setting.build, strlen(tt_mpi_setting.build));
    return tt_hash(hash, tt_mpi_setting.left, sizeof tt_mpi_setting.left);
}

static uint64_t host_number(void)
{
    struct tt_host_name name;
    tt_host_name(&name);
    return tt_hash(TT_HASH_BEGIN, &name, sizeof name);
}

/* ---- What differs ---- */

/* The least and the greatest number that any rank has, each with a rank that has it. */
struct extremes {
    int64_t least, most;
    int least_rank, most_rank;
};

/* Returns the extremes of the numbers of all ranks. Collective over the world. */
static struct extremes extremes_of(int64_t number, int rank)
{
    const int64_t unit = INT64_C(1) << 24;
    int64_t own[] = {number * unit + rank, -(number * unit) + rank}, all[2] = {0};
    (void)tt_mpi_combine(own, all, 2, tt_handle.wide, tt_handle.min, tt_handle.world);
    return (struct extremes){.least = all[0] >> 24,
                             .least_rank = (int)(all[0] & (unit - 1)),
                             .most = -(all[1] >> 24),
                             .most_rank = (int)(all[1] & (unit - 1))};
}

static void say_unknown(void)
{
    const char *text = getenv("TUTTI_MPI");
    tt_mpi_say("off: TUTTI_MPI is '%s' (known: on, take, off, count, or a list like -bcast,-scan)",
               text ? text : "");
}

static enum tt_mpi_mode refuse_modes(enum tt_mpi_mode mode, int rank)
{
    static const char *const text[] = {"off", "in doubt", "on", "take", "count"};
    const struct extremes modes = extremes_of(mode, rank);
    if (rank == 0)
        tt_mpi_say("off on all ranks: rank %d is %s, and rank %d is %s (TUTTI_MPI)",
                   modes.least_rank, text[modes.least], modes.most_rank, text[modes.most]);
    return TT_MPI_OFF;
}

static enum tt_mpi_mode refuse_lists(int rank)
{
    const struct extremes lists = extremes_of((int64_t)(list_number() >> 30), rank);
    if (rank == 0)
        tt_mpi_say("off on all ranks: ranks %d and %d leave different functions to their MPI "
                   "(TUTTI_MPI), or have different builds of Tutti",
                   lists.least_rank, lists.most_rank);
    return TT_MPI_OFF;
}

/* ---- Agreeing ---- */

/* Returns whether this rank can do nonblocking calls. In most modes it does none, and
 * tt_mpi_pushable, which tries it out in the host's library, must not be called. */
static bool may_push(void)
{
    return tt_mpi_setting.mode == TT_MPI_TAKE && tt_mpi_pushable();
}

/* Returns the bits of this rank. `why`: why it cannot load libtutti.so; NULL: it can. */
static struct rank_bits own_bits(const char *why)
{
    struct rank_bits own = {.modes = 1u << tt_mpi_setting.mode,
                            .reports = tt_mpi_setting.report,
                            .measures = tt_mpi_setting.measures,
                            .fails = why != NULL,
                            .undriven = !tt_mpi_drivable(),
                            .unpushed = !may_push(),
                            .list = bits_of(list_number()),
                            .host = bits_of(host_number())};
    /* If the system call fails, own.processors stays empty. */
    (void)sched_getaffinity(0, sizeof own.processors, &own.processors);
    return own;
}

enum tt_mpi_mode tt_mpi_agree(struct tt_mpi_all *all)
{
    int rank = 0;
    const enum tt_mpi_mode mode = tt_mpi_setting.mode;
    const char *why = tt_mpi_takes(mode) ? tt_mpi_load() : NULL;
    const struct rank_bits own = own_bits(why);
    struct rank_bits any;
    tt_host.Comm_rank(tt_handle.world, &rank);
    if (!tt_mpi_combine(&own, &any, sizeof own, tt_handle.byte, tt_handle.bor, tt_handle.world))
        return TT_MPI_OFF;
    bool same = any.modes == own.modes;
    if (tt_mpi_setting.unknown && (rank == 0 || !same)) say_unknown();
    if (!same) return refuse_modes(mode, rank);
    if (!tt_mpi_takes(mode)) return mode;
    if (!is_same(any.list)) return refuse_lists(rank);
    if (any.fails && !tt_mpi_all_can(why, tt_handle.world)) return TT_MPI_OFF;
    tt_mpi_setting.report = any.reports;
    tt_mpi_setting.measures = any.measures;
    *all = (struct tt_mpi_all){.one_node = is_same(any.host),
                               .undriven = any.undriven,
                               .pushes = !any.unpushed,
                               .host = own.host.in,
                               .own_processors = own.processors,
                               .processors = any.processors};
    return mode;
}
