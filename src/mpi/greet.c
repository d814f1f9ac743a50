/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, at the end of MPI_Init, whether all ranks have this library.
 *
 * A rank without it makes none of our calls. So a collective of the host could end on no rank, and
 * a message to such a rank would lie there until the program receives it by mistake. What remains
 * is the host's name service (MPI_Publish_name): the launcher keeps the names, and nobody waits.
 * Each name is published by one rank:
 *
 *  1. Rank 0 publishes its name.
 *  2. Another rank looks for the name of rank 0. If it finds that, it publishes its own name, and
 *     then waits for the name "all" and does what this says. If it does not find it for some time,
 *     it gives up: for this rank, Tutti is off.
 *  3. Rank 0 looks for the names of the others. When it has found all, it publishes "all" with the
 *     value "yes". If no further name comes for some time, or a rank has given up, the value is
 *     "no".
 *
 * All ranks that have the library come to the same answer, however slow one of them is. If rank 0
 * publishes "yes", it has found all names, so no rank had given up, and a rank that has published
 * its name only waits for "all". If it publishes "no", a rank either finds that or has given up.
 * If rank 0 has no library, "all" is never published, and all others give up. Only time that passes
 * without any progress leads to "no"; the host's MPI_Init returns on all ranks at about the same
 * time, because the ranks exchange their addresses there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/greet.h"
#include "mpi/team.h"

/* How long a rank waits for a name. */
enum { LATE_SECONDS = 20 };

static const char lacks[] = "does not have this library; the program runs without Tutti (are all "
                            "ranks under `tutti mpi`? For Open MPI on several hosts: mpirun -x "
                            "LD_PRELOAD)";

static struct {
    const char *job; /* tells the names of this job from those of others that the launcher knows */
    int rank, ranks;
} here;

/* ---- Names ---- */

/* The longest name of a rank, or of the answer. */
enum { NAME = 512 };

/* `rank`: -1 for the answer. A name has no space, which MPICH's launcher takes for its end. */
static void name_of(int rank, char name[NAME])
{
    if (rank < 0)
        snprintf(name, NAME, "tutti-%s-all", here.job);
    else
        snprintf(name, NAME, "tutti-%s-%d", here.job, rank);
}

static bool publish(int rank, const char *value)
{
    char name[NAME];
    MPI_Info none = MPI_INFO_NULL;
    name_of(rank, name);
    return tt_host.Publish_name(name, none, value) == MPI_SUCCESS;
}

/* Returns the first letter of the value; 0: the name is not published. */
static char look(int rank)
{
    char name[NAME], value[MPI_MAX_PORT_NAME] = "";
    MPI_Info none = MPI_INFO_NULL;
    name_of(rank, name);
    return tt_host.Lookup_name(name, none, value) == MPI_SUCCESS ? value[0] : '\0';
}

/* Waits for a name. Returns what `look` does. Looks so seldom that the launcher, which answers all
 * ranks, answers at most ten thousand times a second. `seconds`: 0 for ever. */
static char wait_for(int rank, int seconds)
{
    const int64_t pause_ns = 100000 * (int64_t)here.ranks, second_ns = 1000000000;
    const struct timespec pause = {.tv_sec = pause_ns / second_ns, .tv_nsec = pause_ns % second_ns};
    int64_t began_ns = tt_mpi_now_ns();
    char found;
    while (!(found = look(rank))) {
        if (seconds && tt_mpi_now_ns() - began_ns > seconds * second_ns) break;
        nanosleep(&pause, NULL);
    }
    return found;
}

/* ---- The steps ---- */

/* Rank 0 finds the answer for all. */
static bool answer(void)
{
    int r = 1;
    while (r < here.ranks && wait_for(r, LATE_SECONDS) == 'h') r++;
    bool all = r == here.ranks;
    if (!all) tt_mpi_say("off on all ranks: rank %d %s", r, lacks);
    return publish(-1, all ? "yes" : "no") && all;
}

/* A rank gives up because rank 0 does not have the library. The first of the ranks in a row that
 * have it says so. The others give it time to give up too. */
static bool give_up(void)
{
    (void)publish(here.rank, "lost");
    if (here.rank == 1 || !wait_for(here.rank - 1, 1)) tt_mpi_say("off: rank 0 %s", lacks);
    return false;
}

static bool ask(void)
{
    if (!wait_for(0, LATE_SECONDS)) return give_up();
    return publish(here.rank, "here") && wait_for(-1, 0) == 'y';
}

/* ---- The host ---- */

/* Returns a text that no other job of the same launcher has. NULL: the launcher is not known to
 * have names. Equal on all ranks. */
static const char *job_name(void)
{
#ifdef MPICH
    MPI_Comm parent = tt_handle.no_comm;
    tt_host.Comm_get_parent(&parent); /* spawned jobs have the launcher of their parents */
    return getenv("PMI_FD") && parent == tt_handle.no_comm ? "" : NULL;
#else
    return getenv("OMPI_MCA_orte_hnp_uri") ? getenv("PMIX_NAMESPACE") : NULL;
#endif
}

/* The host tells an error handler of a name that it does not find, some hosts that of the world,
 * others that of MPI_COMM_SELF. */
static void swap_handlers(MPI_Errhandler handler[2], bool restores)
{
    MPI_Comm comm[] = {tt_handle.world, tt_handle.self};
    for (int i = 0; i < 2; i++) {
        if (!restores) tt_host.Comm_get_errhandler(comm[i], &handler[i]);
        tt_host.Comm_set_errhandler(comm[i], restores ? handler[i] : MPI_ERRORS_RETURN);
        if (restores) tt_host.Errhandler_free(&handler[i]);
    }
}

bool tt_mpi_greet(void)
{
    MPI_Errhandler handler[2];
    tt_host.Comm_rank(tt_handle.world, &here.rank);
    tt_host.Comm_size(tt_handle.world, &here.ranks);
    here.job = job_name();
    if (here.ranks == 1) return true;
    if (!here.job) {
        tt_mpi_meet(tt_handle.world, NULL,
                    "this rank still waits in MPI_Init for other ranks; if some of them are not "
                    "under `tutti mpi`, it will wait for ever");
        return true;
    }
    swap_handlers(handler, false);
    bool all = here.rank == 0 ? publish(0, "here") && answer() : ask();
    swap_handlers(handler, true);
    return all;
}
