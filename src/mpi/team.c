/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti's client in this process, and the teams of communicators.
 *
 * A communicator gets a team late: at the k-th call that Tutti could do, so that communicators that
 * are used once cost nothing. No function that makes communicators is wrapped. Which call is the
 * k-th is the same on all ranks, because MPI guarantees that they make the same collective calls in
 * the same order, and because Tutti decides only by what MPI guarantees to be equal on all ranks.
 * Whether a communicator has ranks of another world (spawned, connected) is such a thing, too: then
 * every member sees ranks that are not of its own world.
 *
 * While Tutti waits it drives the host, since another rank may be waiting for a message that the
 * host of this rank has yet to send.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/team.h"
#include "mpi/type.h"

/* The world has a team from its first call on; another communicator after so many calls. */
enum { CALLS_BEFORE_TEAM = 3 };
/* How long a rank waits for the end of the job when another rank died. */
enum { LAST_SECONDS = 10 };

static struct {
    tutti_client *client; /* NULL: Tutti is off */
    MPI_Comm own;         /* a duplicate of the world, on which there are no messages */
    MPI_Group group;      /* of the world */
    int rank, ranks;
    atomic_int tags;
    int (*progress)(void); /* of Open MPI */
} job;

/* ---- Progress ---- */

/* MPI_Iprobe drives MPICH, but not on a communicator of one rank. */
static void drive_host(void *arg)
{
    int found;
    (void)arg;
    tt_depth++;
    if (job.progress)
        job.progress();
    else
        tt_host.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job.own, &found, MPI_STATUS_IGNORE);
    tt_depth--;
}

/* ---- Beginning ---- */

static int allgather(const void *in, void *out, size_t bytes, void *arg)
{
    (void)arg;
    return tt_host.Allgather(in, (int)bytes, tt_handle.byte, out, (int)bytes, tt_handle.byte,
                             job.own) != MPI_SUCCESS;
}

/* Whether all ranks are on one node, which is so on all ranks or none. */
static bool one_node(void)
{
    MPI_Comm node;
    int ranks = 0;
    MPI_Info none = MPI_INFO_NULL;
    if (tt_host.Comm_split_type(job.own, MPI_COMM_TYPE_SHARED, job.rank, none, &node) !=
        MPI_SUCCESS)
        return false;
    tt_host.Comm_size(node, &ranks);
    tt_host.Comm_free(&node);
    return ranks == job.ranks;
}

/* Returns NULL if `why` is NULL on all ranks. Otherwise one rank prints its reason. */
static bool all_agree(const char *why)
{
    int first = why ? job.rank : job.ranks, least = 0;
    if (tt_host.Allreduce(&first, &least, 1, tt_handle.integer, tt_handle.min, job.own) !=
        MPI_SUCCESS)
        return false;
    if (least == job.rank) tt_mpi_say("off on all ranks: rank %d: %s", job.rank, why);
    return least == job.ranks;
}

static const char *set_up_client(void)
{
    int level = MPI_THREAD_SINGLE;
    job.progress = (int (*)(void))tt_mpi_host_symbol("opal_progress");
    tt_host.Query_thread(&level);
    bool ok = tt_mpi_tutti.client_hook(job.client, drive_host, NULL, 200, 32) == TUTTI_OK &&
              tt_mpi_tutti.client_sleep(job.client, 1000) == TUTTI_OK &&
              (level < MPI_THREAD_MULTIPLE || tt_mpi_tutti.client_share(job.client) == TUTTI_OK);
    if (!ok) return tt_mpi_tutti.error();
    return tt_mpi_read_types() ? NULL : "no memory for the table of types";
}

static void close_communicators(void)
{
    tt_host.Group_free(&job.group);
    tt_host.Comm_free(&job.own);
}

/* Makes the client, on all ranks or none. */
static bool make_client(void)
{
    if (!all_agree(one_node() ? NULL : "the ranks are on several hosts") ||
        !all_agree(tt_mpi_load()))
        return false;
    const char *why = NULL;
    tutti_status status = tt_mpi_tutti.init_with(allgather, NULL, job.rank, job.ranks, &job.client);
    if (status != TUTTI_OK) {
        job.client = NULL;
        why = tt_mpi_tutti.error();
    } else {
        why = set_up_client();
    }
    if (all_agree(why)) return true;
    if (job.client) tt_mpi_tutti.finalize(job.client);
    job.client = NULL;
    return false;
}

bool tt_mpi_begin(void)
{
    if (tt_host.Comm_dup(tt_handle.world, &job.own) != MPI_SUCCESS) return false;
    tt_host.Comm_group(tt_handle.world, &job.group);
    tt_host.Comm_rank(job.own, &job.rank);
    tt_host.Comm_size(job.own, &job.ranks);
    bool begun = make_client();
    if (!begun) close_communicators();
    return begun;
}

/* ---- End ---- */

/* A rank that leaves Tutti must not be needed by others any more. The ranks therefore meet first;
 * and while a rank waits for the others, it drives Tutti. */
static void meet(void)
{
    MPI_Request request;
    int met = 0, events;
    if (tt_host.Ibarrier(job.own, &request) != MPI_SUCCESS) return;
    tutti_context *context = tt_mpi_tutti.context_at(job.client, 0);
    const struct timespec pause = {.tv_nsec = 100000};
    for (int looks = 0; !met; looks++) {
        if (tt_host.Test(&request, &met, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
        if (context) tt_mpi_tutti.advance(context, &events);
        if (!met && looks > 1000) nanosleep(&pause, NULL);
    }
}

void tt_mpi_end(void)
{
    if (!job.client) return;
    tt_depth++;
    meet();
    tutti_client *client = job.client;
    job.client = NULL;
    if (tt_mpi_tutti.finalize(client) != TUTTI_OK) tt_mpi_say("%s", tt_mpi_tutti.error());
    close_communicators();
    tt_depth--;
}

/* ---- Teams ---- */

/* Finds the members' ranks in the world. False: some are of another world. */
static bool world_ranks(MPI_Comm comm, int n, int *ranks)
{
    MPI_Group group;
    int *own = malloc((size_t)n * sizeof *own);
    bool found = own && tt_host.Comm_group(comm, &group) == MPI_SUCCESS;
    for (int i = 0; found && i < n; i++) own[i] = i;
    if (found) {
        found = tt_host.Group_translate_ranks(group, n, own, job.group, ranks) == MPI_SUCCESS;
        tt_host.Group_free(&group);
    }
    for (int i = 0; found && i < n; i++) found = ranks[i] != MPI_UNDEFINED;
    free(own);
    return found;
}

/* The tag that the members use to make their team: no other team that has a common member with this
 * one, and is made at the same time, has it. */
static int tag_of(MPI_Comm comm, int leader)
{
    unsigned number = (unsigned)atomic_fetch_add_explicit(&job.tags, 1, memory_order_relaxed);
    int tag = (int)((number * (unsigned)job.ranks + (unsigned)leader) & INT32_MAX);
    tt_host.Bcast(&tag, 1, tt_handle.integer, 0, comm);
    return tag;
}

/* Makes a team of the communicator's ranks. Collective over the communicator: on all or none. */
static tutti_team *make_team(MPI_Comm comm, int n, const int *ranks)
{
    tutti_team *team = NULL;
    if (!ranks) return NULL;
    int tag = tag_of(comm, ranks[0]), made, everywhere = 0;
    made = tt_mpi_tutti.team_of(tt_mpi_tutti.world(job.client), ranks, n, tag, &team) == TUTTI_OK;
    if (tt_host.Allreduce(&made, &everywhere, 1, tt_handle.integer, tt_handle.min, comm) ==
            MPI_SUCCESS &&
        everywhere)
        return team;
    if (made) tt_mpi_tutti.team_free(team);
    return NULL;
}

/* Gives the communicator a team, or says why it never gets one. */
static void give_team(MPI_Comm comm, struct tt_mpi_comm *record)
{
    int n = record->members, *ranks = malloc((size_t)n * sizeof *ranks);
    if (!ranks || !world_ranks(comm, n, ranks)) {
        record->left = TT_MPI_LEFT_FOREIGN;
    } else {
        record->team = make_team(comm, n, ranks);
        if (!record->team) record->left = TT_MPI_LEFT_TEAM;
    }
    free(ranks);
}

static bool leave(struct tt_mpi_call *call, enum tt_mpi_choice why)
{
    call->choice = why;
    return false;
}

bool tt_mpi_known(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record =
        call->comm == tt_handle.no_comm ? NULL : tt_mpi_comm_of(call->comm);
    if (!record || !job.client) return leave(call, TT_MPI_LEFT_WRONG);
    call->record = record;
    if (tt_mpi_setting.left[call->function]) return leave(call, TT_MPI_LEFT_SETTING);
    if (record->inter) return leave(call, TT_MPI_LEFT_INTER);
    if (record->members == 1) return leave(call, TT_MPI_LEFT_ALONE);
    return record->left == TT_MPI_TAKEN || leave(call, record->left);
}

bool tt_mpi_ready(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    call->choice = TT_MPI_TAKEN;
    if (!record->team) {
        if (call->comm == tt_handle.world)
            record->team = tt_mpi_tutti.world(job.client);
        else if (record->calls++ < CALLS_BEFORE_TEAM)
            return leave(call, TT_MPI_LEFT_EARLY);
        else
            give_team(call->comm, record);
    }
    call->team = record->team;
    return record->team || leave(call, record->left);
}

void tt_mpi_drop(struct tt_mpi_comm *record)
{
    if (record->team && job.client && record->team != tt_mpi_tutti.world(job.client))
        tt_mpi_tutti.team_free(record->team);
}

/* ---- Errors ---- */

/* With the host alone, a rank that waits for a dead one waits until the launcher ends it. So that
 * the job ends in the same way, this rank gives the launcher time. */
static void wait_for_end(void)
{
    time_t end = time(NULL) + LAST_SECONDS;
    const struct timespec pause = {.tv_nsec = 1000000};
    while (time(NULL) < end) {
        drive_host(NULL);
        nanosleep(&pause, NULL);
    }
}

static int code_of(tutti_status status)
{
    switch (status) {
    case TUTTI_ERR_ARG: return MPI_ERR_ARG;
    case TUTTI_ERR_MEMORY:
    case TUTTI_ERR_LIMIT: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_OTHER;
    }
}

int tt_mpi_failed(struct tt_mpi_call *call)
{
    if (call->status == TUTTI_ERR_PEER) wait_for_end();
    tt_mpi_say("MPI_%s: %s", tt_mpi_names[call->function], tt_mpi_tutti.error());
    int code = code_of(call->status);
    tt_host.Comm_call_errhandler(call->comm, code);
    return code;
}
