/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti's client in this process, and the teams of communicators.
 *
 * A communicator gets a team late: at a call that Tutti is to do, after a number of calls that
 * Tutti could have done, so that a communicator that is seldom used costs nothing. Before that, the
 * communicator inherits the decisions (trial.h) on communicators with the same ranks. If these
 * decisions leave all its shapes to the host (the program's MPI), it never gets a team. No function
 * that makes communicators is wrapped. All ranks make the team at the same call, because MPI
 * guarantees that they make the same collective calls in the same order, and because Tutti decides
 * only by what MPI guarantees to be equal on all ranks. Whether a communicator has ranks of another
 * world (spawned, connected) is equal on all ranks, too: each member of such a communicator sees
 * ranks that are not of its own world.
 */
#include <ctype.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/locale.h"
#include "mpi/buffered.h"
#include "mpi/drain.h"
#include "mpi/drive.h"
#include "mpi/kept.h"
#include "mpi/meet.h"
#include "mpi/team.h"
#include "mpi/type.h"

/* MPI_COMM_WORLD has a team from its first call on. Another communicator gets a team after
 * CALLS_BEFORE_TEAM calls, or after CALLS_IF_ALL if Tutti is to take every call (TUTTI_MPI=take).
 * To make a team takes as long as some hundred short calls, which must be little compared with what
 * the program does on the communicator. To inherit decisions takes as long as a few calls, and
 * happens after CALLS_BEFORE_INHERITING. Every BYTES_OF_A_CALL bytes that a call moves count as one
 * more call. */
enum {
    CALLS_BEFORE_TEAM = 500,
    CALLS_IF_ALL = 3,
    CALLS_BEFORE_INHERITING = 100,
    BYTES_OF_A_CALL = 4096
};
/* How many persistent calls may have teams of their own at the same time. The number is limited
 * because each team takes memory. */
enum { MOST_PREPARED = 256 };
/* If another rank died, a rank waits so many seconds for the launcher to end the job. Without
 * Tutti, a rank that waits for a dead rank waits until the launcher ends it, and the job is to end
 * in the same way with Tutti. */
enum { LAST_SECONDS = 10 };

static struct {
    tutti_client *client; /* NULL: Tutti is off */
    /* a duplicate of the world, on which there are no messages but those of buffered.h */
    MPI_Comm own;
    MPI_Group group; /* the group of the world */
    int rank, ranks;
    int *node; /* of each rank: the lowest rank that shares its memory; NULL: all ranks share it */
    atomic_int tags;
    atomic_int prepared; /* how many persistent calls have teams */
    struct tt_mpi_place place;
    struct tt_mpi_kept known; /* decisions of earlier programs; the same on all ranks */
    struct tt_mpi_kept made;  /* decisions of this program; guarded by tt_mpi_lock */
} job;

/* ---- Nodes ---- */

/* Returns whether n ranks of the world are on one node. `ranks`: these ranks; NULL: 0, 1, 2 ... */
static bool on_one_node(int n, const int *ranks)
{
    for (int i = 1; job.node && i < n; i++)
        if (job.node[ranks ? ranks[i] : i] != job.node[ranks ? ranks[0] : 0]) return false;
    return true;
}

/* Records on which nodes the members of a communicator are, because decisions depend on that.
 * `ranks`: the members' ranks in the world; NULL: 0, 1, 2 ... */
static void find_layout(struct tt_mpi_comm *record, const int *ranks)
{
    record->one_node = on_one_node(record->members, ranks);
    record->layout[0] = '\0';
    record->keeps = !job.node || tt_mpi_nodes_of(record->members, ranks, job.node, record->layout);
}

/* The host on which a rank runs, as a hash of its name, and the processors that the rank may use.
 */
struct rank_place {
    uint64_t host;
    cpu_set_t processors;
};

/* Sets job.place.cores, the number of processors that a decision in the file of decisions (kept.h)
 * is valid for: the number of processors in the set, but at most `ranks`. */
static void set_cores(const cpu_set_t *processors, int ranks)
{
    int n = CPU_COUNT(processors);
    job.place.cores = n < ranks ? n : ranks;
}

/* Sets the node of each rank, and counts the processors of the first node. */
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

/* Finds the node of each rank. Returns whether that succeeded, the same on all ranks. */
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

static const char *set_up_client(const struct tt_mpi_all *all, struct tt_mpi_flights *flights)
{
    int level = MPI_THREAD_SINGLE;
    bool drains = all->undriven && !all->one_node;
    tt_host.Query_thread(&level);
    bool ok = tt_mpi_tutti.client_sleep(job.client, 1000) == TUTTI_OK &&
              (level < MPI_THREAD_MULTIPLE || tt_mpi_tutti.client_share(job.client) == TUTTI_OK);
    if (!ok) return tt_mpi_tutti.error();
    const char *why = tt_mpi_drive_open(job.client, flights, !all->one_node);
    if (!why && (drains || (flights && flights->threaded))) why = tt_mpi_drain_open(job.client);
    if (why) return why;
    if (!tt_mpi_read_types()) return "no memory for the table of types";
    return all->undriven ? tt_mpi_buffered_open(job.client, job.own, all->host) : NULL;
}

static void close_communicators(void)
{
    tt_host.Group_free(&job.group);
    tt_handle.own = tt_handle.no_comm;
    tt_host.Comm_free(&job.own);
    free(job.node);
    job.node = NULL;
}

/* Makes the host's progress stop advancing the client, and then ends the client. */
static tutti_status close_client(void)
{
    tutti_client *client = job.client;
    tt_mpi_buffered_close();
    tt_mpi_drain_close();
    tt_mpi_drive_close();
    job.client = NULL;
    return tt_mpi_tutti.finalize(client);
}

/* Makes the client of this rank. Returns NULL, or why it cannot be made. */
static const char *make_client(const struct tt_mpi_all *all, struct tt_mpi_flights *flights)
{
    if (tt_mpi_tutti.init_with(tt_mpi_gather_all, &job.own, job.rank, job.ranks, &job.client) ==
        TUTTI_OK)
        return set_up_client(all, flights);
    job.client = NULL;
    return tt_mpi_tutti.error();
}

/* Fills in the versions of Tutti and of the host. They are stored with each decision that is kept
 * for later programs. */
static void find_place(void)
{
    snprintf(job.place.version, sizeof job.place.version, "%s", TUTTI_VERSION);
    tt_mpi_host_name(job.place.host, sizeof job.place.host);
    locale_t former = tt_locale_enter();
    for (char *at = job.place.host; *at; at++)
        *at = isspace((unsigned char)*at) ? '-' : (char)tolower((unsigned char)*at);
    tt_locale_leave(former);
}

/* Reads the decisions of earlier programs at rank 0, which all_begin then sends to all ranks. */
static void read_known(void)
{
    if (tt_mpi_setting.mode != TT_MPI_ON) return;
    find_place();
    if (job.rank == 0) tt_mpi_kept_read(&job.place, &job.known);
}

/* The result of a rank's attempt to make its client. The ranks combine their results by MPI_BOR, a
 * bitwise "or". */
struct rank_result {
    /* fails: 1 if the rank has no client; known: how many decisions of earlier programs rank 0 has
     * read from the file (kept.h), and 0 on other ranks */
    int32_t fails, known;
};

/* Returns whether all ranks have a client. If so, sends the decisions that rank 0 has read to all
 * ranks. `why`: why this rank has no client; NULL: it has one. */
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

/* Makes the clients, on all ranks or none. Returns whether they are made. */
static bool make_clients(const struct tt_mpi_all *all, struct tt_mpi_flights *flights)
{
    if (!find_nodes(all)) return false;
    const char *why = make_client(all, flights);
    read_known();
    if (all_begin(why, all)) return true;
    if (job.client && close_client() != TUTTI_OK) tt_mpi_say("%s", tt_mpi_tutti.error());
    return false;
}

bool tt_mpi_begin(const struct tt_mpi_all *all, struct tt_mpi_flights *flights)
{
    tt_host.Comm_rank(tt_handle.world, &job.rank);
    tt_host.Comm_size(tt_handle.world, &job.ranks);
    if (!tt_mpi_duplicate(tt_handle.world, &job.own)) return false;
    tt_host.Comm_set_errhandler(job.own, tt_handle.errors_return);
    tt_handle.own = job.own;
    tt_host.Comm_group(tt_handle.world, &job.group);
    bool begun = make_clients(all, flights);
    if (!begun) close_communicators();
    return begun;
}

/* ---- End ---- */

void tt_mpi_end(void)
{
    if (!job.client) return;
    tt_depth++;
    /* Another rank may need this rank's progress until all ranks have come to this function. */
    tt_mpi_meet(job.own, tt_mpi_tutti.context_at(job.client, 0), NULL);
    /* The host would complain about messages of buffered.h that this rank has not received. */
    if (tt_mpi_buffers) tt_mpi_clear_host();
    if (close_client() != TUTTI_OK) tt_mpi_say("%s", tt_mpi_tutti.error());
    if (job.rank == 0) tt_mpi_kept_write(&job.place, &job.made);
    close_communicators();
    tt_depth--;
}

/* ---- Teams ---- */

/* Allocates room for n ranks. Ends the process if there is none: a rank that decided alone to leave
 * a communicator to the host would make the others wait for ever. */
static int *room_for_ranks(int n)
{
    int *ranks = malloc((size_t)n * sizeof *ranks);
    if (ranks) return ranks;
    tt_mpi_say("no memory for the %d ranks of a communicator", n);
    abort();
}

/* Finds the members' ranks in the world. False: some members are of another world. */
static bool world_ranks(MPI_Comm comm, int n, int *ranks)
{
    MPI_Group group;
    int *own = room_for_ranks(n);
    bool found = tt_host.Comm_group(comm, &group) == MPI_SUCCESS;
    for (int i = 0; found && i < n; i++) own[i] = i;
    if (found) {
        found = tt_host.Group_translate_ranks(group, n, own, job.group, ranks) == MPI_SUCCESS;
        tt_host.Group_free(&group);
    }
    for (int i = 0; found && i < n; i++) found = ranks[i] != MPI_UNDEFINED;
    free(own);
    return found;
}

/* Returns a hash of n ranks in their order. `ranks`: these ranks; NULL: 0, 1, 2 ... */
static uint64_t group_of(int n, const int *ranks)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint32_t)(ranks ? ranks[i] : i)) * UINT64_C(0x100000001b3) + (hash >> 29);
    return hash;
}

/* The data that the first rank of a communicator sends to its other ranks when they inherit
 * decisions, and when they make the team. The decisions are those on communicators with the same
 * ranks, and those of earlier programs on communicators of the same number of ranks. The tag
 * identifies the team while it is made: if another team is made at the same time, and a rank is a
 * member of both teams, the two teams have different tags. A rank uses a tag again after TAGS
 * teams, because Tutti remembers each tag with which a list of ranks has made a team. */
enum { INHERITED = 64, TAGS = 4096 };
struct inheritance {
    int32_t tag, decisions;
    struct tt_mpi_decision decision[INHERITED];
};

/* Returns whether a decision of an earlier program is for communicators like this one: with the
 * same number of ranks, which are spread over nodes in the same way. */
static bool holds(const struct tt_mpi_keep *known, const struct tt_mpi_comm *record)
{
    return record->keeps && known->ranks == record->members &&
           strcmp(known->layout, record->layout) == 0;
}

/* Adds to `all` the decisions of earlier programs on those shapes for which `all` has no decision
 * yet. */
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

/* Sends the decisions of the communicator's first rank to all its ranks, which adopt them. Returns
 * a tag for a team. Collective over the communicator. */
static int inherit(MPI_Comm comm, struct tt_mpi_comm *record)
{
    struct inheritance all = {0};
    if (record->rank == 0) {
        unsigned number =
            (unsigned)atomic_fetch_add_explicit(&job.tags, 1, memory_order_relaxed) % TAGS;
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

/* Finds the members' ranks in the world, unless they are found already. False: some members are of
 * another world; record->left is then the reason for which the host does all calls. All ranks of
 * the communicator get the same answer. */
static bool find_members(MPI_Comm comm, struct tt_mpi_comm *record)
{
    if (record->world) return true;
    int n = record->members, *ranks = room_for_ranks(n);
    if (!world_ranks(comm, n, ranks)) {
        free(ranks);
        record->left = TT_MPI_LEFT_FOREIGN;
        return false;
    }
    record->world = ranks;
    record->group = group_of(n, ranks);
    find_layout(record, ranks);
    return true;
}

/* Prints why this rank has no team for a communicator, once in a process: if memory is short, other
 * communicators get no team either. */
static void say_no_team(int members)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
        tt_mpi_say(
            "no team for a communicator of %d ranks, so the program's MPI does its calls: %s",
            members, tt_mpi_tutti.error());
}

/* Makes a team of the communicator's ranks. Returns it on all ranks, or NULL on all ranks.
 * Collective over the communicator. */
static tutti_team *make_team(MPI_Comm comm, struct tt_mpi_comm *record)
{
    tutti_team *team = NULL;
    int tag = inherit(comm, record), everywhere = 0;
    tutti_status status = tt_mpi_tutti.team_of(tt_mpi_tutti.world(job.client), record->world,
                                               record->members, tag, &team);
    int made = status == TUTTI_OK;
    if (!made) say_no_team(record->members);
    tt_mpi_drain(status);
    if (tt_host.Allreduce(&made, &everywhere, 1, tt_handle.integer, tt_handle.min, comm) ==
            MPI_SUCCESS &&
        everywhere)
        return team;
    if (made) tt_mpi_drain(tt_mpi_tutti.team_free(team));
    return NULL;
}

/* Gives the communicator a team, or records in record->left why it never gets one. */
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

/* Returns whether one more persistent call may have a team. The first rank of the communicator
 * decides for all, because ranks free their requests in different orders and so count differently.
 */
static bool may_prepare(const struct tt_mpi_call *call)
{
    int may = atomic_load_explicit(&job.prepared, memory_order_relaxed) < MOST_PREPARED;
    return tt_host.Bcast(&may, 1, tt_handle.integer, 0, call->comm) == MPI_SUCCESS && may;
}

/* Makes a team for one persistent call. Returns whether there is one; if not, call->choice says
 * why. */
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

/* Frees a team, if the client still exists. Waits for no other rank. */
static void free_team(tutti_team *team)
{
    if (!job.client) return;
    tt_mpi_drain(tt_mpi_tutti.team_free(team));
}

void tt_mpi_drop_prepared(tutti_team *team)
{
    atomic_fetch_sub_explicit(&job.prepared, 1, memory_order_relaxed);
    free_team(team);
}

/* Returns whether the communicator has a team, and sets call->team to it. Makes the team if
 * `before` calls have been left to the host and this call is blocking (MPI_COMM_WORLD gets its team
 * at once); otherwise adds `weight` to the number of these calls. */
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

/* The number of a collective in trials (tt_mpi_index), by the number of its function
 * (tt_mpi_number). */
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

/* Returns whether Tutti does a call whose shape is decided: not if Tutti is not faster, or if the
 * communicator has no team yet. */
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

/* Stores in most[] the maximum over all ranks of each of n numbers. False: call->status is the
 * error. */
static bool combine(struct tt_mpi_call *call, const int64_t *own, int64_t *most, int n)
{
    call->status = tt_mpi_tutti.allreduce(call->record->team, own, most, n, TUTTI_I64, TUTTI_MAX);
    tt_mpi_drain(call->status);
    return call->status == TUTTI_OK;
}

/* Keeps a decision for the next program, if this is rank 0 of the world. The caller holds the lock.
 */
static void keep_decision(const struct tt_mpi_comm *record, struct tt_mpi_decision decision)
{
    struct tt_mpi_keep keep = {.decision = decision, .ranks = record->members};
    memcpy(keep.layout, record->layout, sizeof keep.layout);
    if (job.rank == 0 && record->keeps) tt_mpi_kept_add(&job.made, &keep);
}

/* Ends the trial of this call's shape: the ranks combine their times and make the decision. */
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

/* Lets the ranks meet in a barrier before a run, so that no rank is still in an earlier call.
 */
static void meet_before_run(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    tt_host.Barrier(call->comm);
    record->met_ns = record->one_node ? 0 : tt_mpi_now_ns();
}

/* Adopts the decision of an earlier program on this shape, if the call is the first one of its
 * shape on MPI_COMM_WORLD, and returns whether there is such a decision. All ranks have the same
 * decisions of earlier programs, and so agree. Other communicators inherit these decisions after
 * some calls, or at the latest when they get a team. */
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

/* Lets the communicator inherit decisions once, when enough calls show that it is not short-lived.
 * Does nothing for MPI_COMM_WORLD: it has a team from its first call on, so its `calls` stays 0. */
static void inherit_early(struct tt_mpi_call *call)
{
    struct tt_mpi_comm *record = call->record;
    if (record->inherits || record->calls < CALLS_BEFORE_INHERITING) return;
    record->inherits = true;
    if (find_members(call->comm, record)) (void)inherit(call->comm, record);
}

/* Begins a call whose shape is not decided: gives it to the side whose turn it is in the trial, or
 * ends the trial and follows the decision. Returns whether Tutti does the call. */
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
        /* the decision was made just now, or when the team was made */
        if (decided(call)) return for_tutti(call, bytes);
    }
    bool meets;
    trials->clocked[call->function] = TT_MPI_CLOCKED;
    call->measured = tt_mpi_trial_begin(trials, call->shape, &meets);
    if (meets) meet_before_run(call);
    /* If Tutti does the call, its time began in tt_mpi_known, before Tutti read the arguments,
     * unless the call repeats the one before (again.h). If the host does the call, its time begins
     * here: when the trial has decided for the host, Tutti hardly reads any arguments (left.h). */
    if (call->measured >= 0) call->read_ns = tt_mpi_now_ns();
    bool has_begun = next == TT_MPI_NEXT_TUTTI && call->began_ns > 0;
    if (!has_begun) call->began_ns = call->read_ns;
    return next == TT_MPI_NEXT_TUTTI || leave(call, TT_MPI_LEFT_EARLY);
}

/* Returns whether Tutti does the call; if not, call->choice says why. If the communicator needs a
 * team now, or if the trial of the call's shape has ended, the function first makes the team or the
 * decision. */
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

void tt_mpi_measured(struct tt_mpi_call *call, int64_t ended_ns)
{
    struct tt_mpi_comm *record = call->record;
    tt_mpi_trial_record(record->trials, call->shape, call->measured,
                        call->began_ns - record->met_ns, ended_ns - record->met_ns);
}

void tt_mpi_drop(struct tt_mpi_comm *record)
{
    tt_mpi_trials_free(record->trials);
    for (int i = 0; i < TT_MPI_INDEXES; i++) free(record->again[i].all.count);
    free(record->world);
    if (record->team && job.client && record->team != tt_mpi_tutti.world(job.client))
        free_team(record->team);
}

/* ---- Errors ---- */

static int code_of(tutti_status status)
{
    switch (status) {
    case TUTTI_ERR_ARG:
    case TUTTI_ERR_MISMATCH: return MPI_ERR_ARG;
    case TUTTI_ERR_MEMORY:
    case TUTTI_ERR_LIMIT: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_OTHER;
    }
}

/* Returns whether a call that ends with this status has usually broken its team: the calls that
 * follow on the team return the same status and text. */
static bool breaks(tutti_status status)
{
    return status != TUTTI_ERR_ARG && status != TUTTI_ERR_TYPE && status != TUTTI_ERR_UNSUPPORTED;
}

/* The moment until which this process waits for the launcher to end the job; 0: no call of this
 * process has failed for a reason that concerns other communicators, too. */
static _Atomic int64_t last_ns;

/* Returns whether this rank may count as failed in all its teams from now on, because of an error
 * of its own. It does not if it lacked memory before the collective began. The preparation of a
 * persistent call breaks no team if it lacks memory. */
static bool gives_up(const struct tt_mpi_call *call)
{
    if (call->status == TUTTI_ERR_MISMATCH) return true;
    return call->status != TUTTI_ERR_PEER && breaks(call->status) && !call->prepares;
}

/* The first error counts: threads whose calls fail at the same time agree on one moment. */
int64_t tt_mpi_last_ns(const struct tt_mpi_call *call)
{
    bool peer = call->status == TUTTI_ERR_PEER;
    int64_t now = tt_mpi_now_ns(), before = 0;
    int64_t last = peer ? now + LAST_SECONDS * INT64_C(1000000000) : now;
    if (!peer && !gives_up(call)) return now;
    return atomic_compare_exchange_strong(&last_ns, &before, last) || !peer ? last : before;
}

/* Waits until the launcher ends this process, or until tt_mpi_last_ns. */
static void wait_for_end(const struct tt_mpi_call *call)
{
    const int64_t end = tt_mpi_last_ns(call);
    const struct timespec pause = {.tv_nsec = 1000000};
    while (tt_mpi_now_ns() < end) {
        tt_mpi_drive_host(NULL);
        nanosleep(&pause, NULL);
    }
}

/* Records that a call has failed. Returns whether an earlier call on the communicator had broken
 * the team. Does nothing and returns false for a persistent call, which has a team of its own. */
static bool fails_again(const struct tt_mpi_call *call)
{
    if (call->prepares || !call->record) return false;
    bool before = atomic_load_explicit(&call->record->failed, memory_order_relaxed);
    if (breaks(call->status))
        atomic_store_explicit(&call->record->failed, true, memory_order_relaxed);
    return before;
}

int tt_mpi_failed(const struct tt_mpi_call *call, const char *earlier)
{
    const char *text = earlier                        ? earlier
                       : call->code == MPI_ERR_NO_MEM ? "no memory for the data of this call"
                                                      : tt_mpi_tutti.error();
    bool again = fails_again(call);
    if (!earlier && !again) wait_for_end(call);
    if (text[0])
        tt_mpi_say("%s: %s%s", tt_mpi_names[call->function],
                   again ? "an earlier call on this communicator has failed: " : "", text);
    int code = code_of(call->status), depth = tt_depth;
    tt_depth = 0; /* the handler may jump out of this function, and tt_depth would stay as it is */
    if (call->comm != tt_handle.no_comm) tt_host.Comm_call_errhandler(call->comm, code);
    tt_depth = depth;
    return code;
}
