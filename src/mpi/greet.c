/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, at the end of MPI_Init, whether all ranks have this library.
 *
 * A rank without the library makes none of our calls. So a collective of the MPI library that the
 * other ranks call here would never end, and a message to the rank without the library would wait
 * there until the program receives it by mistake. So the ranks use names, which one process
 * publishes and other processes look up, without waiting for each other. There are two places for
 * names: the host that a rank runs on (local-names.h), where a look takes microseconds, and the
 * name service of the launcher (MPI_Publish_name), which all hosts reach. (In this file a host is a
 * computer.) A rank looks on its own host first. If all ranks seem to run on one host, it asks the
 * launcher only after some time.
 *
 *  1. Rank 0 publishes its name on its host, and, when it begins to ask the launcher for other
 *     names, at the launcher, too.
 *  2. Another rank looks for the name of rank 0. If it finds this name, it publishes its own name
 *     in the same place, then waits for the name "all", and does what the value of "all" says. If
 *     it does not find the name of rank 0 for some time, it gives up: for this rank, Tutti is off.
 *  3. Rank 0 looks for the names of the other ranks. When it has found all of them, it publishes
 *     "all" with the value "yes" where it has published its own name. If no further name appears
 *     for some time, or a rank has given up, it publishes "all" with the value "no".
 *
 * All ranks that have the library come to the same answer, however slow one of them is. If rank 0
 * publishes "yes", it has found all names, so no rank had given up; and a rank that has published
 * its name waits for "all" and does nothing else. If rank 0 publishes "no", a rank either finds
 * "no" or has given up. If rank 0 has no library, "all" is never published, and all other ranks
 * give up. Only time that passes without any progress leads to "no"; MPI_Init returns on all ranks
 * at about the same time, because the ranks exchange their addresses in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/base.h"
#include "base/host-name.h"
#include "mpi/greet.h"
#include "mpi/local-names.h"
#include "mpi/meet.h"

/* LATE_SECONDS: how long a rank waits for a name (TUTTI_BOOT_TIMEOUT may shorten this).
 * PATIENCE_NS: if all ranks seem to run on one host, a rank does not ask the launcher before this
 * time has passed. PAUSE_NS: the least time that a rank sleeps before it looks at its own host
 * again. */
enum { LATE_SECONDS = 20, PATIENCE_NS = 20000000, PAUSE_NS = 50000 };

/* Between two looks, a rank sleeps for 1/PAUSES of the time that it has waited so far, but at least
 * PAUSE_NS. So a long wait takes little processor time, and the time until a name is noticed is at
 * most this part of the wait. */
enum { PAUSES = 64 };

static const char lacks[] = "does not have this library; the program runs without Tutti (are all "
                            "ranks under `tutti mpi`? For Open MPI on several hosts: mpirun -x "
                            "LD_PRELOAD)";

static struct {
    /* a part of every name that a rank of this job publishes at the launcher; names of other jobs
     * do not have it */
    const char *job;
    bool is_local; /* whether names on this host can be used; they contain `local_job`, which no
                      * other job has */
    uint64_t local_job;
    int rank, ranks;
    int64_t patient_until_ns; /* the launcher is not asked before this time */
    int late_seconds;         /* how long this rank waits for a name, in seconds */
} here;

/* The two places for names. */
enum name_place { ON_HOST = 1, AT_LAUNCHER = 2 };

/* ---- Names ---- */

/* The room for a name at the launcher, in bytes. */
enum { NAME = 512 };

/* Writes the name of a rank at the launcher; rank -1: the name "all". A name has no space, because
 * MPICH's launcher takes a space for the end of the name. */
static void name_of(int rank, char name[NAME])
{
    if (rank < 0)
        snprintf(name, NAME, "tutti-%s-all", here.job);
    else
        snprintf(name, NAME, "tutti-%s-%d", here.job, rank);
}

/* Writes the name under which a rank is found on this machine (local-names.h); rank -1: the name
 * "all". At the launcher a name has a value. On this machine a name only exists or does not exist,
 * so the value is the last part of the name. */
static void local_name_of(int rank, const char *value, char name[TT_MPI_LOCAL_NAME])
{
    snprintf(name, TT_MPI_LOCAL_NAME, "tutti-mpi-%" PRIx64 "-%d-%s", here.local_job, rank, value);
}

static bool publish_on_host(int rank, const char *value)
{
    char name[TT_MPI_LOCAL_NAME];
    local_name_of(rank, value, name);
    return here.is_local && tt_mpi_local_publish(name);
}

static bool publish_at_launcher(int rank, const char *value)
{
    char name[NAME];
    MPI_Info none = MPI_INFO_NULL;
    name_of(rank, name);
    return tt_host.Publish_name(name, none, value) == MPI_SUCCESS;
}

/* Publishes a name and its value at these places. Returns whether at least one of them has accepted
 * it. */
static bool publish(unsigned places, int rank, const char *value)
{
    bool on_host = places & ON_HOST && publish_on_host(rank, value);
    bool at_launcher = places & AT_LAUNCHER && publish_at_launcher(rank, value);
    return on_host || at_launcher;
}

/* Returns the first letter of the value of a rank's name; 0: the name is not published on this
 * host. */
static char look_on_host(int rank)
{
    static const char *const values[2][2] = {{"here", "lost"}, {"yes", "no"}};
    char name[TT_MPI_LOCAL_NAME];
    for (int i = 0; here.is_local && i < 2; i++) {
        const char *value = values[rank < 0][i];
        local_name_of(rank, value, name);
        if (tt_mpi_local_find(name)) return value[0];
    }
    return '\0';
}

static char look_at_launcher(int rank)
{
    char name[NAME], value[MPI_MAX_PORT_NAME] = "";
    MPI_Info none = MPI_INFO_NULL;
    name_of(rank, name);
    return tt_host.Lookup_name(name, none, value) == MPI_SUCCESS ? value[0] : '\0';
}

static void pause_for(int64_t ns)
{
    const int64_t second_ns = 1000000000;
    const struct timespec pause = {.tv_sec = ns / second_ns, .tv_nsec = ns % second_ns};
    nanosleep(&pause, NULL);
}

/* Waits for a name until `until_ns`; 0: for ever. Returns the first letter of its value, and in
 * *place where the name was found; 0: the name did not appear. The launcher has to answer all
 * ranks, so each rank asks so seldom that the launcher gets at most 10,000 questions a second. */
static char wait_until(int rank, int64_t until_ns, enum name_place *place)
{
    const int64_t begun_ns = tt_mpi_now_ns();
    int64_t now_ns, next_ns = here.patient_until_ns;
    char found;
    for (;;) {
        *place = ON_HOST;
        if ((found = look_on_host(rank))) return found;
        now_ns = tt_mpi_now_ns();
        *place = AT_LAUNCHER;
        if (now_ns >= next_ns && (found = look_at_launcher(rank))) return found;
        if (until_ns && now_ns > until_ns) return '\0';
        if (now_ns >= next_ns) next_ns = now_ns + 100000 * (int64_t)here.ranks;
        int64_t pause_ns = (now_ns - begun_ns) / PAUSES;
        pause_for(pause_ns > PAUSE_NS ? pause_ns : PAUSE_NS);
    }
}

static char wait_for(int rank, int seconds, enum name_place *place)
{
    const int64_t second_ns = 1000000000;
    return wait_until(rank, tt_mpi_now_ns() + seconds * second_ns, place);
}

/* ---- The steps ---- */

/* Waits for the names of ranks 1, 2 ... on this host, one after the other, until the time when this
 * rank asks the launcher. Returns how many ranks were found, rank 0 included. */
static int found_on_host(void)
{
    int r = 1;
    enum name_place place;
    while (r < here.ranks && tt_mpi_now_ns() < here.patient_until_ns &&
           wait_until(r, here.patient_until_ns - 1, &place) == 'h')
        r++;
    return r;
}

/* Finds out, at rank 0, whether all ranks have the library, and publishes the answer. Returns the
 * answer. */
static bool answer(void)
{
    unsigned places = ON_HOST;
    enum name_place place;
    if (!publish(ON_HOST, 0, "here")) here.patient_until_ns = 0;
    int r = found_on_host();
    if (r < here.ranks) places |= AT_LAUNCHER;
    if (places & AT_LAUNCHER) (void)publish(AT_LAUNCHER, 0, "here");
    while (r < here.ranks && wait_for(r, here.late_seconds, &place) == 'h') r++;
    bool all = r == here.ranks;
    if (!all) tt_mpi_say("off on all ranks: rank %d %s", r, lacks);
    const char *value = all ? "yes" : "no";
    return (publish(places, -1, value) || publish(AT_LAUNCHER, -1, value)) && all;
}

/* Publishes that this rank gives up, because rank 0 does not have the library. Returns false. One
 * line about rank 0 is enough, so a rank prints the line only if the rank before it is rank 0, or
 * has published no name within a second. */
static bool give_up(void)
{
    enum name_place place;
    (void)publish(ON_HOST | AT_LAUNCHER, here.rank, "lost");
    if (here.rank == 1 || !wait_for(here.rank - 1, 1, &place)) tt_mpi_say("off: rank 0 %s", lacks);
    return false;
}

static bool ask(void)
{
    enum name_place place;
    if (!wait_for(0, here.late_seconds, &place)) return give_up();
    if (!publish(place, here.rank, "here") && !publish(AT_LAUNCHER, here.rank, "here"))
        return false;
    return wait_until(-1, 0, &place) == 'y';
}

/* ---- The job, and its places for names ---- */

/* Returns a text that no other job of the same launcher has, equal on all ranks. NULL: this
 * launcher is not known to have a name service. */
static const char *job_name(void)
{
#ifdef MPICH
    MPI_Comm parent = tt_handle.no_comm;
    tt_host.Comm_get_parent(&parent); /* a spawned job has the same launcher as its parent */
    return getenv("PMI_FD") && parent == tt_handle.no_comm ? "" : NULL;
#else
    return getenv("OMPI_MCA_orte_hnp_uri") ? getenv("PMIX_NAMESPACE") : NULL;
#endif
}

/* Sets `text` to a text that all ranks of this job on this host have, and no other job on this host
 * has; "": there is none. Returns how many ranks of the job run on this host, as the launcher says;
 * 0: it does not say. */
static int local_ranks(char text[NAME])
{
    text[0] = '\0';
#ifdef MPICH
    struct ucred launcher;
    socklen_t size = sizeof launcher;
    const char *socket = getenv("PMI_FD"), *ranks = getenv("MPI_LOCALNRANKS");
    struct tt_host_name host; /* a launcher in another PID namespace may have the same pid */
    tt_host_name(&host);
    if (socket && getsockopt(atoi(socket), SOL_SOCKET, SO_PEERCRED, &launcher, &size) == 0 &&
        launcher.pid > 0)
        snprintf(text, NAME, "%ld %s", (long)launcher.pid, host.space);
#else
    const char *space = getenv("PMIX_NAMESPACE"), *launcher = getenv("OMPI_MCA_orte_hnp_uri");
    const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (space && launcher) snprintf(text, NAME, "%s %s", space, launcher);
#endif
    return ranks ? atoi(ranks) : 0;
}

static void find_places(void)
{
    char text[NAME];
    const char *timeout = getenv("TUTTI_BOOT_TIMEOUT");
    char *end = NULL;
    long seconds = timeout ? strtol(timeout, &end, 10) : 0;
    bool is_alone = local_ranks(text) == here.ranks;
    bool shortens = seconds > 0 && seconds < LATE_SECONDS && *end == '\0';
    here.late_seconds = shortens ? (int)seconds : LATE_SECONDS;
    here.is_local = text[0] != '\0';
    here.local_job = tt_hash(TT_HASH_BEGIN, text, strlen(text));
    here.patient_until_ns = here.is_local && is_alone ? tt_mpi_now_ns() + PATIENCE_NS : 0;
}

/* Sets the error handlers of MPI_COMM_WORLD and MPI_COMM_SELF to MPI_ERRORS_RETURN, or restores
 * them. If a name is not found, some MPIs call the error handler of MPI_COMM_WORLD, and others the
 * error handler of MPI_COMM_SELF. */
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
    find_places();
    swap_handlers(handler, false);
    bool all = here.rank == 0 ? answer() : ask();
    swap_handlers(handler, true);
    return all;
}
