/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti's client in this process, and the teams of communicators.
 *
 * A communicator gets a team late: at a call that Tutti is to do, behind a number of calls that it
 * could have done, so that communicators that are used seldom cost nothing. Before that it inherits
 * the decisions on communicators with the same ranks. If the host has all its shapes by them, it
 * never gets a team. No function that makes communicators is wrapped. All ranks make the team at
 * the same call, because MPI guarantees that they make the same collective calls in the same order,
 * and because Tutti decides only by what MPI guarantees to be equal on all ranks.
 * Whether a communicator has ranks of another world (spawned, connected) is such a thing, too: then
 * every member sees ranks that are not of its own world.
 *
 * While Tutti waits it drives the host, since another rank may be waiting for a message that the
 * host of this rank has yet to send. Between hosts, what a call of Tutti has sent may need further
 * progress when the call has returned, for example to connect; so the host drives Tutti there while
 * the program waits in the host. On one node a call leaves nothing behind.
 */
#include <ctype.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/buffered.h"
#include "mpi/kept.h"
#include "mpi/meet.h"
#include "mpi/team.h"
#include "mpi/type.h"

/* The world has a team from its first call on; another communicator after so many calls, fewer if
 * Tutti is to take everything. To make a team takes as long as some hundred short calls, which must
 * be little compared with what the program does on the communicator. To inherit decisions takes as
 * long as a few calls. A long call counts as one more for so many bytes. */
enum {
    CALLS_BEFORE_TEAM = 500,
    CALLS_IF_ALL = 3,
    CALLS_BEFORE_INHERITING = 100,
    BYTES_OF_A_CALL = 4096
};
/* So many persistent calls have teams at the same time: each team takes memory. */
enum { MOST_PREPARED = 256 };
/* How long a rank waits for the end of the job when another rank died. */
enum { LAST_SECONDS = 10 };

static struct {
    tutti_client *client; /* NULL: Tutti is off */
    MPI_Comm own;         /* a duplicate of the world, on which there are no messages */
    MPI_Group group;      /* of the world */
    int rank, ranks;
    int *node; /* of each rank, by the lowest rank that shares its memory; NULL: there is one */
    atomic_int tags;
    atomic_int prepared;   /* teams of persistent calls */
    int (*progress)(void); /* of Open MPI */
    /* Functions of Open MPI, by which its progress begins and ceases to call a function. */
    int (*register_progress)(int (*function)(void)), (*unregister_progress)(int (*function)(void));
    bool registered;                /* the host's progress drives Tutti */
    tutti_context *context;         /* that it advances then */
    bool spread;                    /* between hosts, also if no call is in flight */
    struct tt_mpi_flights *flights; /* NULL: there are none */
    struct tt_mpi_place place;
    struct tt_mpi_kept known; /* decisions of earlier programs; the same on all ranks */
    struct tt_mpi_kept made;  /* by this program; guarded by tt_mpi_lock */
} job;

/* ---- Progress ---- */

/* Whether Tutti, in which this thread waits, drives the host, which must not drive Tutti then. */
static __thread bool driving __attribute__((tls_model("initial-exec")));

/* MPI_Improbe drives MPICH, but not on a communicator of one rank, nor if it finds a message
 * (buffered.h). */
static int probe_host(void)
{
    int found = 0;
    MPI_Message message;
    tt_host.Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, job.own, &found, &message, MPI_STATUS_IGNORE);
    if (found) tt_host.Mrecv(NULL, 0, tt_handle.byte, &message, MPI_STATUS_IGNORE);
    return found;
}

int tt_mpi_push_host(void)
{
    tt_depth++;
    int events = job.progress ? job.progress() : probe_host();
    tt_depth--;
    return events;
}

/* A look handles a part of what has arrived. Open MPI says how much that was; other ranks may send
 * more all the time. MPICH says whether it was a message of hand_over. With each look that handles
 * all that it may, UCX handles one more next time, up to 16, so it gets through its queue. */
void tt_mpi_clear_host(void)
{
    enum { LOOKS = 64, BLIND = 16 };
    if (job.progress)
        for (int looks = 0; looks < LOOKS && tt_mpi_push_host() > 0; looks++) {
        }
    else
        for (int looks = 0; looks < BLIND; looks++)
            if (tt_mpi_push_host() > 0) looks = 0;
}

static void drive_host(void *arg)
{
    (void)arg;
    driving = true;
    (void)tt_mpi_push_host();
    driving = false;
}

/* Open MPI's progress calls this. It advances Tutti once, however many calls are in flight, so that
 * a look takes time in proportion to their number. An error is for the next call on the team that
 * it concerns. */
static int drive_tutti(void)
{
    int events = 0;
    if (driving) return 0;
    bool flying = job.flights && atomic_load_explicit(&job.flights->n, memory_order_relaxed) > 0;
    if ((flying || job.spread) && tt_mpi_tutti.advance(job.context, &events) != TUTTI_OK)
        events = 0;
    return events + (flying ? job.flights->push() : 0);
}

bool tt_mpi_drivable(void)
{
    static bool looked;
    if (!looked) {
        job.progress = (int (*)(void))tt_mpi_host_symbol("opal_progress");
        job.register_progress =
            (__typeof__(job.register_progress))tt_mpi_host_symbol("opal_progress_register");
        job.unregister_progress =
            (__typeof__(job.unregister_progress))tt_mpi_host_symbol("opal_progress_unregister");
        looked = true;
    }
    return job.progress && job.register_progress && job.unregister_progress;
}

/* ---- Nodes ---- */

/* Whether these members of the world are on one node; NULL: 0, 1, 2 ... */
static bool on_one_node(int n, const int *ranks)
{
    for (int i = 1; job.node && i < n; i++)
        if (job.node[ranks ? ranks[i] : i] != job.node[ranks ? ranks[0] : 0]) return false;
    return true;
}

/* Says on which nodes the members of a communicator are, which decisions depend on; NULL: these are
 * 0, 1, 2 ... */
static void find_layout(struct tt_mpi_comm *record, const int *ranks)
{
    record->one_node = on_one_node(record->members, ranks);
    record->layout[0] = '\0';
    record->keeps = !job.node || tt_mpi_nodes_of(record->members, ranks, job.node, record->layout);
}

/* Where a rank runs. */
struct rank_place {
    uint64_t host;
    cpu_set_t processors;
};

/* At most one processor for each rank of a node. */
static void set_cores(const cpu_set_t *processors, int ranks)
{
    int n = CPU_COUNT(processors);
    job.place.cores = n < ranks ? n : ranks;
}

/* Numbers the nodes, and finds the processors of the first one. */
static void number_nodes(const struct rank_place *place)
{
    int ranks = 0;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int r = 0; r < job.ranks; r++) {
        int first = 0;
        while (place[first].host != place[r].host) first++;
        job.node[r] = first;
        if (first > 0) continue;
        CPU_OR(&all, &all, &place[r].processors);
        ranks++;
    }
    set_cores(&all, ranks);
}

/* Finds the node of each rank, on all ranks or none. */
static bool find_nodes(const struct tt_mpi_all *all)
{
    if (all->one_node) {
        set_cores(&all->processors, job.ranks);
        return true;
    }
    const struct rank_place own = {.host = all->host, .processors = all->own_processors};
    struct rank_place *place = malloc((size_t)job.ranks * sizeof *place);
    job.node = malloc((size_t)job.ranks * sizeof *job.node);
    const char *why = place && job.node ? NULL : "no memory for the nodes of the ranks";
    bool found =
        tt_mpi_all_can(why, job.own) && tt_mpi_gather_all(&own, place, sizeof own, &job.own) == 0;
    if (found) number_nodes(place);
    free(place);
    return found;
}

/* ---- Beginning ---- */

static const char *set_up_client(const struct tt_mpi_all *all)
{
    int level = MPI_THREAD_SINGLE;
    tt_host.Query_thread(&level);
    bool ok = tt_mpi_tutti.client_hook(job.client, drive_host, NULL, 200, 32) == TUTTI_OK &&
              tt_mpi_tutti.client_sleep(job.client, 1000) == TUTTI_OK &&
              (level < MPI_THREAD_MULTIPLE || tt_mpi_tutti.client_share(job.client) == TUTTI_OK);
    if (!ok) return tt_mpi_tutti.error();
    job.context = tt_mpi_tutti.context_at(job.client, 0);
    job.spread = !all->one_node;
    if (tt_mpi_drivable() && (job.spread || job.flights)) {
        job.registered = job.register_progress(drive_tutti) == 0;
        if (!job.registered) return "the MPI cannot drive Tutti now";
    }
    if (!tt_mpi_read_types()) return "no memory for the table of types";
    return all->undriven ? tt_mpi_buffered_open(job.client, job.own) : NULL;
}

static void close_communicators(void)
{
    tt_host.Group_free(&job.group);
    tt_handle.own = tt_handle.no_comm;
    tt_host.Comm_free(&job.own);
    free(job.node);
    job.node = NULL;
}

/* Ends the client. The host no longer drives it. */
static tutti_status close_client(void)
{
    tutti_client *client = job.client;
    tt_mpi_buffered_close();
    if (job.registered) job.unregister_progress(drive_tutti);
    job.registered = false;
    job.context = NULL;
    job.client = NULL;
    return tt_mpi_tutti.finalize(client);
}

/* Makes the client of this rank. Returns NULL, or why it cannot be made. */
static const char *make_client(const struct tt_mpi_all *all)
{
    if (tt_mpi_tutti.init_with(tt_mpi_gather_all, &job.own, job.rank, job.ranks, &job.client) ==
        TUTTI_OK)
        return set_up_client(all);
    job.client = NULL;
    return tt_mpi_tutti.error();
}

/* Fills in where the job's decisions are made. */
static void find_place(void)
{
    snprintf(job.place.version, sizeof job.place.version, "%s", tt_mpi_tutti.version());
    tt_mpi_host_name(job.place.host, sizeof job.place.host);
    for (char *at = job.place.host; *at; at++)
        *at = isspace((unsigned char)*at) ? '-' : (char)tolower((unsigned char)*at);
}

/* Rank 0 reads the decisions of earlier programs. */
static void read_known(void)
{
    if (tt_mpi_setting.mode != TT_MPI_ON) return;
    find_place();
    if (job.rank == 0) tt_mpi_kept_read(&job.place, &job.known);
}

/* The ranks tell each other this when they have made their clients. */
struct rank_result {
    int32_t fails, known; /* whether the rank has no client; how many decisions rank 0 has read */
};

/* Returns whether all ranks have a client. They have the decisions that rank 0 has read, then. */
static bool all_begin(const char *why, const struct tt_mpi_all *all)
{
    const struct rank_result own = {.fails = why != NULL, .known = job.known.n};
    struct rank_result any;
    if (!tt_mpi_combine(&own, &any, sizeof own, tt_handle.byte, tt_handle.bor, job.own))
        return false;
    if (any.fails) return tt_mpi_all_can(why, job.own);
    if (all->undriven) tt_mpi_buffered_meet();
    int bytes = any.known * (int)sizeof job.known.entry[0];
    job.known.n = any.known == 0 || tt_mpi_give(job.known.entry, bytes, job.own) ? any.known : 0;
    return true;
}

/* Makes the clients, on all ranks or none. */
static bool make_clients(const struct tt_mpi_all *all)
{
    if (!find_nodes(all)) return false;
    const char *why = make_client(all);
    read_known();
    if (all_begin(why, all)) return true;
    if (job.client && close_client() != TUTTI_OK) tt_mpi_say("%s", tt_mpi_tutti.error());
    return false;
}

bool tt_mpi_begin(const struct tt_mpi_all *all, struct tt_mpi_flights *flights)
{
    job.flights = flights;
    tt_host.Comm_rank(tt_handle.world, &job.rank);
    tt_host.Comm_size(tt_handle.world, &job.ranks);
    if (all->undriven && !all->one_node) {
        if (job.rank == 0)
            tt_mpi_say("off on all ranks: the ranks are on several hosts, and this MPI cannot "
                       "drive Tutti");
        return false;
    }
    if (!tt_mpi_duplicate(tt_handle.world, &job.own)) return false;
    tt_host.Comm_set_errhandler(job.own, tt_handle.errors_return);
    tt_handle.own = job.own;
    tt_host.Comm_group(tt_handle.world, &job.group);
    bool begun = make_clients(all);
    if (!begun) close_communicators();
    return begun;
}

/* ---- End ---- */

void tt_mpi_end(void)
{
    if (!job.client) return;
    tt_depth++;
    /* A rank that leaves Tutti must not be needed by others any more. */
    tt_mpi_meet(job.own, tt_mpi_tutti.context_at(job.client, 0), NULL);
    if (close_client() != TUTTI_OK) tt_mpi_say("%s", tt_mpi_tutti.error());
    if (job.rank == 0) tt_mpi_kept_write(&job.place, &job.made);
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

/* Returns what stands for these ranks in this order; NULL: 0, 1, 2 ... */
static uint64_t group_of(int n, const int *ranks)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint32_t)(ranks ? ranks[i] : i)) * UINT64_C(0x100000001b3) + (hash >> 29);
    return hash;
}

/* The first rank of a communicator sends this to the others when they inherit decisions, and when
 * the team is made. The tag: no other team that has a common member with this one, and is made at
 * the same time, has it. The decisions are those on communicators with the same ranks, and those of
 * earlier programs on communicators of as many ranks. */
enum { INHERITED = 64 };
struct inheritance {
    int32_t tag, decisions;
    struct tt_mpi_decision decision[INHERITED];
};

/* Whether a decision of an earlier program holds for this communicator, which has a team. */
static bool holds(const struct tt_mpi_keep *known, const struct tt_mpi_comm *record)
{
    return record->keeps && known->ranks == record->members &&
           strcmp(known->layout, record->layout) == 0;
}

/* Adds the decisions of earlier programs on shapes that have none yet. */
static void inherit_known(struct inheritance *all, const struct tt_mpi_comm *record)
{
    for (int k = 0; k < job.known.n && all->decisions < INHERITED; k++) {
        const struct tt_mpi_decision *known = &job.known.entry[k].decision;
        int i = 0;
        while (i < all->decisions && all->decision[i].shape != known->shape) i++;
        if (i == all->decisions && holds(&job.known.entry[k], record))
            all->decision[all->decisions++] = *known;
    }
}

/* Adopts the decisions of the communicator's first rank. Returns a tag for a team. Collective. */
static int inherit(MPI_Comm comm, struct tt_mpi_comm *record)
{
    struct inheritance all = {0};
    if (record->rank == 0) {
        unsigned number = (unsigned)atomic_fetch_add_explicit(&job.tags, 1, memory_order_relaxed);
        all.tag = (int)((number * (unsigned)job.ranks + (unsigned)record->world[0]) & INT32_MAX);
        tt_mpi_lock();
        all.decisions = tt_mpi_trial_recall(record->group, all.decision, INHERITED);
        tt_mpi_unlock();
        inherit_known(&all, record);
    }
    tt_host.Bcast(&all, sizeof all, tt_handle.byte, 0, comm);
    for (int i = 0; i < all.decisions; i++) tt_mpi_trial_adopt(record->trials, &all.decision[i]);
    return all.tag;
}

/* Finds who the members of a communicator are, once. False: some are of another world, and the
 * record says so. */
static bool find_members(MPI_Comm comm, struct tt_mpi_comm *record)
{
    if (record->world) return true;
    int n = record->members, *ranks = malloc((size_t)n * sizeof *ranks);
    if (!ranks || !world_ranks(comm, n, ranks)) {
        free(ranks);
        record->left = TT_MPI_LEFT_FOREIGN;
        return false;
    }
    record->world = ranks;
    record->group = group_of(n, ranks);
    find_layout(record, ranks);
    return true;
}

/* Makes a team of the communicator's ranks. Collective over the communicator: on all or none. */
static tutti_team *make_team(MPI_Comm comm, struct tt_mpi_comm *record)
{
    tutti_team *team = NULL;
    int tag = inherit(comm, record), made, everywhere = 0;
    made = tt_mpi_tutti.team_of(tt_mpi_tutti.world(job.client), record->world, record->members, tag,
                                &team) == TUTTI_OK;
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
    if (!find_members(comm, record)) return;
    record->team = make_team(comm, record);
    if (!record->team) record->left = TT_MPI_LEFT_TEAM;
}

static bool leave(struct tt_mpi_call *call, enum tt_mpi_choice why)
{
    call->choice = why;
    return false;
}

static void give_world(struct tt_mpi_comm *record)
{
    record->team = tt_mpi_tutti.world(job.client);
    record->group = group_of(record->members, NULL);
    find_layout(record, NULL);
}

/* Whether there may be one more team of a persistent call. Ranks free their requests in different
 * orders, so that only the first rank of the communicator decides, for all. */
static bool may_prepare(const struct tt_mpi_call *call)
{
    int may = atomic_load_explicit(&job.prepared, memory_order_relaxed) < MOST_PREPARED;
    return tt_host.Bcast(&may, 1, tt_handle.integer, 0, call->comm) == MPI_SUCCESS && may;
}

/* Makes a team for a persistent call alone. */
static bool has_own_team(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    if (!may_prepare(call)) return leave(call, TT_MPI_LEFT_TEAM);
    if (!find_members(call->comm, record)) return leave(call, record->left);
    call->team = make_team(call->comm, record);
    if (!call->team) return leave(call, TT_MPI_LEFT_TEAM);
    atomic_fetch_add_explicit(&job.prepared, 1, memory_order_relaxed);
    return true;
}

void tt_mpi_drop_prepared(tutti_team *team)
{
    atomic_fetch_sub_explicit(&job.prepared, 1, memory_order_relaxed);
    if (job.client) tt_mpi_tutti.team_free(team);
}

/* Whether the communicator has a team, perhaps from now on; it is in call->team then. */
static bool has_team(struct tt_mpi_call *call, int64_t weight, int64_t before)
{
    struct tt_mpi_comm *record = call->record;
    if (!record->team) {
        if (call->comm == tt_handle.world) {
            give_world(record);
        } else if (record->calls < before || call->later) {
            record->calls += weight;
            return leave(call, TT_MPI_LEFT_EARLY);
        } else {
            give_team(call->comm, record);
        }
    }
    call->team = record->team;
    return record->team || leave(call, record->left);
}

/* ---- The measured choice ---- */

/* The numbers of the collectives, by tt_mpi_number. */
#define INDEX_ROW(F, NAME, ...) [TT_MPI_##NAME] = TT_MPI_INDEX_##NAME,
#define INDEX_ROW_C(F, NAME, ...) [TT_MPI_##NAME##_c] = TT_MPI_INDEX_##NAME,
static const unsigned char index_of[TT_MPI_N] = {TT_MPI_BARRIER(INDEX_ROW, ) TT_MPI_MEMBERS(
    INDEX_ROW, , int, int) TT_MPI_MEMBERS(INDEX_ROW_C, , int, int)};

static bool decided(const struct tt_mpi_call *call)
{
    return call->record->trials->calls[call->shape] >= TT_MPI_FOR_HOST;
}

static bool for_host(const struct tt_mpi_call *call)
{
    return call->record->trials->calls[call->shape] == TT_MPI_FOR_HOST;
}

static int64_t weight_of(int64_t bytes)
{
    return 1 + bytes / BYTES_OF_A_CALL;
}

/* Whether Tutti does a call whose shape is decided. */
static bool for_tutti(struct tt_mpi_call *call, int64_t bytes)
{
    if (for_host(call)) return leave(call, TT_MPI_LEFT_SLOWER);
    return has_team(call, weight_of(bytes), CALLS_BEFORE_TEAM);
}

static void set_shape(struct tt_mpi_call *call, int64_t bytes)
{
    call->shape = tt_mpi_shape_of(index_of[call->function], call->user, bytes);
}

bool tt_mpi_lost(struct tt_mpi_call *call)
{
    if (tt_mpi_setting.mode == TT_MPI_TAKE) return false;
    set_shape(call, 0);
    return for_host(call) && !leave(call, TT_MPI_LEFT_SLOWER);
}

/* Stores the greatest of each number. False: call->status is the error. */
static bool combine(struct tt_mpi_call *call, const int64_t *own, int64_t *most, int n)
{
    call->status = tt_mpi_tutti.allreduce(call->record->team, own, most, n, TUTTI_I64, TUTTI_MAX);
    return call->status == TUTTI_OK;
}

/* Keeps a decision for the next program. The caller holds the lock. */
static void keep_decision(const struct tt_mpi_comm *record, struct tt_mpi_decision decision)
{
    struct tt_mpi_keep keep = {.decision = decision, .ranks = record->members};
    memcpy(keep.layout, record->layout, sizeof keep.layout);
    if (job.rank == 0 && record->keeps) tt_mpi_kept_add(&job.made, &keep);
}

/* Ends the trial of this call's shape. */
static void decide(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    int64_t began[TT_MPI_TIMED], last_began[TT_MPI_TIMED];
    int64_t own[TT_MPI_RUNS + 1], costs[TT_MPI_RUNS + 1];
    tt_mpi_trial_began(record->trials, call->shape, began);
    if (!combine(call, began, last_began, TT_MPI_TIMED)) return;
    tt_mpi_trial_costs(record->trials, call->shape, last_began, own);
    if (!combine(call, own, costs, TT_MPI_RUNS + 1)) return;
    tt_mpi_lock();
    tt_mpi_trial_decide(record->trials, call->shape, record->group, costs);
    keep_decision(record, tt_mpi_trial_decision(record->trials, call->shape));
    tt_mpi_unlock();
}

/* The ranks meet before a run, so that none of them is still in the calls before it. */
static void meet_before_run(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    tt_host.Barrier(call->comm);
    record->met_ns = record->one_node ? 0 : tt_mpi_now_ns();
}

/* Whether an earlier program decided on this shape, which is called for the first time. All ranks
 * know the same decisions, and so find the same one. Teams of other communicators inherit them. */
static bool is_known(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    if (call->comm != tt_handle.world || record->trials->calls[call->shape] > 0) return false;
    if (job.known.n > 0 && !record->team) give_world(record);
    for (int k = 0; k < job.known.n; k++) {
        const struct tt_mpi_keep *known = &job.known.entry[k];
        if (known->decision.shape != call->shape || !holds(known, record)) continue;
        tt_mpi_trial_adopt(record->trials, &known->decision);
        return true;
    }
    return false;
}

/* Lets the communicator inherit decisions when it is clear that it does not live shortly. The world
 * has none to inherit, and knows those of earlier programs. */
static void inherit_early(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    if (record->inherits || record->calls < CALLS_BEFORE_INHERITING) return;
    record->inherits = true;
    if (find_members(call->comm, record)) (void)inherit(call->comm, record);
}

/* A call in a trial, or the one that ends it. */
static bool try(struct tt_mpi_call *call, int64_t bytes)
{
    struct tt_mpi_trials *trials = call->record->trials;
    if (is_known(call)) return for_tutti(call, bytes);
    enum tt_mpi_next next = tt_mpi_next_of(trials, call->shape);
    if (next != TT_MPI_NEXT_HOST) {
        inherit_early(call);
        if (decided(call)) return for_tutti(call, bytes);
        if (!has_team(call, weight_of(bytes), CALLS_BEFORE_TEAM)) return false;
        if (next == TT_MPI_NEXT_DECIDE) decide(call);
        if (call->status != TUTTI_OK) return true;
        if (decided(call)) return for_tutti(call, bytes); /* now, or as inherited with the team */
    }
    bool meets;
    call->measured = tt_mpi_trial_begin(trials, call->shape, &meets);
    if (meets) meet_before_run(call);
    if (call->measured >= 0) call->began_ns = tt_mpi_now_ns();
    return next == TT_MPI_NEXT_TUTTI || leave(call, TT_MPI_LEFT_EARLY);
}

/* Whether Tutti does the call. */
static bool is_taken(struct tt_mpi_call *call, int64_t bytes)
{
    if (call->prepares) return has_own_team(call);
    if (tt_mpi_setting.mode == TT_MPI_TAKE) return has_team(call, 1, CALLS_IF_ALL);
    set_shape(call, bytes);
    return decided(call) ? for_tutti(call, bytes) : try(call, bytes);
}

bool tt_mpi_ready(struct tt_mpi_call *call, int64_t bytes)
{
    call->choice = TT_MPI_TAKEN;
    bool taken = is_taken(call, bytes);
    if (taken && tt_mpi_buffers_are())
        tt_mpi_buffered_hand_over(call->record->members, call->record->world);
    return taken;
}

void tt_mpi_measured(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    tt_mpi_trial_record(record->trials, call->shape, call->measured,
                        call->began_ns - record->met_ns, tt_mpi_now_ns() - record->met_ns);
}

void tt_mpi_drop(struct tt_mpi_comm *record)
{
    tt_mpi_trials_free(record->trials);
    free(record->world);
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

int tt_mpi_failed(const struct tt_mpi_call *call, const char *earlier)
{
    if (!earlier && call->status == TUTTI_ERR_PEER) wait_for_end();
    tt_mpi_say("%s: %s", tt_mpi_names[call->function], earlier ? earlier : tt_mpi_tutti.error());
    int code = code_of(call->status), depth = tt_depth;
    tt_depth = 0; /* the handler may jump out of the call, and nothing would set it back */
    if (call->comm != tt_handle.no_comm) tt_host.Comm_call_errhandler(call->comm, code);
    tt_depth = depth;
    return code;
}
