/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clients: how a rank joins a job and leaves it, how it waits, and memory that ranks share.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/report.h"
#include "api/warn.h"
#include "boot/watch.h"
#include "choose/calibrate.h"
#include "choose/rankings.h"
#include "plan/network.h"
#include "run/roll.h"
#include "run/settle.h"

static struct tt_handles clients = TT_HANDLES(tutti_client, 8);

/* ---- Joining ---- */

/* Makes the world team. It gets its long windows now, so that the first long calls on it find those
 * of the other ranks. The blocks of the other ranks are not known yet, so the team has this
 * rank's block in their places until tt_team_met. */
static tutti_status make_world(tutti_client *client)
{
    int64_t mine;
    int p = client->fabric.size, me = client->fabric.me;
    TT_TRY(tt_team_block(&client->fabric, p, &mine));
    atomic_store(&client->fabric.common->rank[me].world, mine);
    int *ranks = tt_alloc((size_t)p * sizeof *ranks);
    int64_t *blocks = tt_alloc((size_t)p * sizeof *blocks);
    for (int r = 0; ranks && blocks && r < p; r++) {
        ranks[r] = r;
        blocks[r] = mine;
    }
    tutti_status status = ranks && blocks
                              ? tt_team_new(client, p, me, ranks, blocks, &client->world)
                              : tt_fail(TUTTI_ERR_MEMORY, "no memory for the world");
    tt_free(ranks);
    tt_free(blocks);
    if (status != TUTTI_OK) return status;
    tt_team_list(&client->world->run);
    return tt_team_provide(&client->world->run, TT_PART_WINDOWS);
}

/* Ends the client. `status` is what tutti_finalize got when it compared the calls on the client's
 * teams, or the error because of which the client could not be made. tt_boot_detach passes an error
 * on to nodes that still wait for this node. */
static void destroy(tutti_client *client, tutti_status status)
{
    while (client->teams) tt_team_delete(client->teams, false);
    tt_msg_close(client->msg);
    tt_remote_close(client->remote_teams);
    tt_agree_close(client->agree);
    tt_watch_close(&client->fabric);
    if (client->fabric.ops) tt_fabric_close(&client->fabric);
    if (client->owns_seat) tt_boot_detach(&client->seat, status);
    tt_net_free(&client->net);
    tt_lock_free(client->lock);
    tt_handle_free(&clients, client);
}

/* Places the world's ranks in the network that TUTTI_NETWORK describes. Its nodes are processes, so
 * the threads of a nested job have no places in this network. */
static tutti_status lay_out(tutti_client *client)
{
    const char *name = tt_setting_must_match_name(TT_MUST_MATCH_NETWORK), *text = tt_setting(name);
    struct tt_reader_error error;
    int size = client->fabric.size;
    if (!text || client->fabric.job->nested) return TUTTI_OK;
    if (tt_network_parse(text, &client->net, &error) != TUTTI_OK)
        return tt_fail(TUTTI_ERR_ARG, "%s=%.200s: %.200s (at character %zu)", name, text,
                       error.text, error.at + 1);
    if (client->net.ranks != size)
        return tt_fail(TUTTI_ERR_ARG, "%s=%.200s has %d nodes for %d ranks", name, text,
                       client->net.ranks, size);
    client->world->run.map.net = &client->net;
    return TUTTI_OK;
}

/* Loads the wisdom. If the file that TUTTI_WISDOM names does not exist, warns of that in the first
 * client: the user may have misspelt the name. A job that measures makes the file. */
static void load_wisdom(struct tt_fabric *fabric)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const char *given = tt_setting("TUTTI_WISDOM"), *choice = tt_setting("TUTTI_CHOICE");
    bool measures = choice && strcmp(choice, "measure") == 0;
    bool named = given && *given && strcmp(given, "0") != 0;
    bool missing = named && access(given, F_OK) != 0 && errno == ENOENT;
    if (missing && !measures && !atomic_flag_test_and_set(&warned))
        tt_warn("TUTTI_WISDOM=%s: there is no such file, so there is no wisdom", given);
    tt_wisdom_load(fabric->size, &fabric->wisdom);
}

static tutti_status set_up(tutti_client *client)
{
    TT_TRY(tt_fabric_init(&client->fabric, &client->seat));
    client->fabric.call_roll = tt_roll_call_waiting;
    client->fabric.answer_roll = tt_roll_answer;
    TT_TRY(make_world(client));
    TT_TRY(lay_out(client));
    TT_TRY(tt_msg_open(&client->fabric, client, &client->msg));
    TT_TRY(tt_agree_open(client->msg, &client->world->run, &client->agree));
    if (!client->fabric.mapped || client->fabric.nodes > 1)
        TT_TRY(tt_remote_open(&client->fabric, client->msg, &client->remote_teams));
    tt_served_open(client->msg, &client->world->run);
    client->world->run.context = tt_msg_context(client->msg, 0);
    tt_remote_add(client->remote_teams, &client->world->run, 0);
    if (client->fabric.me == 0 && client->fabric.size > 1) load_wisdom(&client->fabric);
    client->fabric.measure_machine = tt_calibrate_briefly;
    client->fabric.load_rankings = tt_rankings_load;
    client->fabric.check_settings = tt_warn_check;
    TT_TRY(tt_boot_meet(&client->fabric));
    return tt_msg_met(client->msg);
}

/* Marks this rank as failed, so that no rank waits for it, and leaves the client. */
static void give_up(const struct tt_seat *seat, tutti_status status)
{
    struct tt_job_page *job = tt_segment_page(&seat->segment);
    if (status != TUTTI_ERR_PEER)
        tt_common_fail(job, seat->common, seat->rank, TT_CAUSE_STATUS, (int)status);
    tt_common_leave(job, seat->common, seat->rank);
}

static tutti_status cannot_join(struct tt_seat *seat, bool owns)
{
    give_up(seat, TUTTI_ERR_MEMORY);
    if (owns) tt_boot_detach(seat, TUTTI_ERR_MEMORY);
    return tt_fail(TUTTI_ERR_MEMORY, "no memory for a client");
}

tutti_status tt_client_join(struct tt_seat *seat, bool owns, tutti_client **made)
{
    tutti_client *client = tt_handle_new(&clients);
    if (!client) return cannot_join(seat, owns);
    client->seat = *seat;
    client->owns_seat = owns;
    tutti_status status = set_up(client);
    if (status != TUTTI_OK) {
        give_up(seat, status);
        destroy(client, status);
        return status;
    }
    client->fabric.policy.wake = tt_msg_wake_descriptor(tt_msg_context(client->msg, 0));
    tt_team_met(&client->world->run);
    tt_watch_answer(&client->fabric);
    *made = client;
    return TUTTI_OK;
}

/* Makes a client. If that succeeds, tutti_error() keeps its text, although some attempts may have
 * failed, such as that to find a launcher. */
static tutti_status init(const struct tt_gather *gather, tutti_client **client)
{
    struct tt_seat seat;
    char kept[TT_ERROR_TEXT];
    tt_error_keep(kept);
    TT_TRY(tt_boot_attach(&seat, gather));
    TT_TRY(tt_client_join(&seat, true, client));
    tt_error_restore(kept);
    return TUTTI_OK;
}

tutti_status tutti_init(tutti_client **client)
{
    return client ? init(NULL, client) : tt_fail(TUTTI_ERR_ARG, "client is NULL");
}

tutti_status tutti_init_with(tutti_allgather_fn *allgather, void *arg, int rank, int size,
                             tutti_client **client)
{
    const struct tt_gather gather = {allgather, arg, rank, size};
    if (!client || !allgather)
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", client ? "allgather" : "client");
    if (size < 1) return tt_fail(TUTTI_ERR_ARG, "size is %d, not at least 1", size);
    return init(&gather, client);
}

static bool in_flight(const tutti_client *client)
{
    for (const tutti_team *t = client->teams; t; t = t->next)
        if (t->run.my_done != t->run.next && t->run.broken == TUTTI_OK) return true;
    return false;
}

/* Compares this rank's calls on the team with those of the other members. If the user has freed the
 * team, tutti_team_free was this rank's last call: it began an execution without steps
 * (t->run.note), which shows the call to the other members. In this case the function first waits
 * for that execution to end, and then only a mismatch counts as an error. */
static tutti_status settle(tutti_team *t, int64_t *until_ns)
{
    tutti_status status = TUTTI_OK;
    bool freed = t->run.state != TT_TEAM_USED;
    if (freed && t->run.note && t->run.note->state != TT_EXEC_IDLE)
        status = tt_exec_wait(t->run.note);
    if (status == TUTTI_OK) status = tt_team_settle(&t->run, until_ns, TT_DOING_FINALIZE);
    return freed && status != TUTTI_ERR_MISMATCH ? TUTTI_OK : status;
}

/* Compares the calls on all teams of the client until this time. Sets *first to the first error,
 * unless it is set already, and stores its text in text[n]. */
static void settle_until(tutti_client *client, int64_t until_ns, tutti_status *first, char *text,
                         size_t n)
{
    for (tutti_team *t = client->teams; t; t = t->next) {
        tutti_status status = settle(t, &until_ns);
        if (status == TUTTI_OK || status == TUTTI_AGAIN || *first != TUTTI_OK) continue;
        *first = status;
        snprintf(text, n, "%s", tutti_error());
    }
}

/* Compares the calls on all teams of the client. Returns the first error, and stores its text in
 * text[n]. The members of some teams may never make the calls, so there is one time limit for all
 * teams together. This rank first looks at each team without waiting. This look asks members on
 * other nodes for their calls, so that their answers are there when the time limit has passed. */
static tutti_status settle_all(tutti_client *client, char *text, size_t n)
{
    tutti_status first = TUTTI_OK;
    settle_until(client, 0, &first, text, n);
    settle_until(client, tt_clock_ns() + TT_SETTLE_NS, &first, text, n);
    return first;
}

/* Returns the error from tutti_finalize, and logs it, because few programs check what
 * tutti_finalize returns and no later call could return the error. `text` is the text of the error
 * or, if the status is OK, that of tutti_error() before the call. */
static tutti_status return_last(tutti_status status, const char text[TT_ERROR_TEXT])
{
    tt_error_restore(text);
    if (status != TUTTI_OK) tt_log_error("tutti_finalize: %s: %s", tutti_status_text(status), text);
    return status;
}

/* Leaves the teams. A word of shared memory counts this rank's requests that are under way. After
 * this rank has left the client, another rank may reuse this memory. So the function subtracts all
 * requests from the count now. A request that is deleted later then does not access the count. */
static void leave_teams(tutti_client *client)
{
    for (tutti_team *t = client->teams; t; t = t->next) {
        for (tutti_request *r = t->requests; r; r = r->next) tt_exec_settle_debt(r->exec);
        tt_team_depart(&t->run);
    }
}

/* Stores the rankings that this rank has computed in the cache file, if it is the first rank of its
 * node. All ranks of a team compute the same rankings, so one rank of each node suffices. */
static void keep_rankings(const struct tt_fabric *f)
{
    if (f->rankings && f->job->rank[f->me].arena == 0)
        tt_rankings_keep(&f->machine.model, f->rankings);
}

tutti_status tutti_finalize(tutti_client *client)
{
    char text[TT_ERROR_TEXT];
    if (!client) return TUTTI_OK;
    TT_TRY_HANDLE(client);
    tt_error_keep(text);
    const struct tt_fabric *f = &client->fabric;
    tt_helpers_end(client);
    tt_wait_set_lock(&client->fabric.policy, NULL); /* no other thread uses the client any more */
    tutti_status status = settle_all(client, text, sizeof text);
    if (in_flight(client)) tt_common_fail(f->job, f->common, f->me, TT_CAUSE_LEFT, 0);
    leave_teams(client);
    tt_remote_leave(client->remote_teams);
    tt_msg_leave(client->msg);
    tt_watch_leave(&client->fabric);
    tt_common_leave(f->job, f->common, f->me);
    tt_report_write(client);
    keep_rankings(f);
    destroy(client, status);
    return return_last(status, text);
}

/* ---- Waiting ---- */

tutti_status tutti_client_hook(tutti_client *client, tutti_hook_fn *hook, void *arg, int first,
                               int every)
{
    TT_TRY_HANDLE(client);
    if (hook && (first < 1 || every < 1))
        return tt_fail(TUTTI_ERR_ARG, "%s is %d, not at least 1", first < 1 ? "first" : "every",
                       first < 1 ? first : every);
    tt_wait_set_hook(&client->fabric.policy, (struct tt_wait_hook){hook, arg, first, every});
    return TUTTI_OK;
}

tutti_status tutti_client_sleep(tutti_client *client, int longest_us)
{
    TT_TRY_HANDLE(client);
    if (longest_us < 0 || longest_us > TUTTI_SLEEP_MOST_US)
        return tt_fail(TUTTI_ERR_ARG, "longest_us is %d, not in 0 .. %d", longest_us,
                       TUTTI_SLEEP_MOST_US);
    tt_wait_set_sleep(&client->fabric.policy, longest_us * INT64_C(1000));
    return TUTTI_OK;
}

tutti_status tutti_client_share(tutti_client *client)
{
    TT_TRY_HANDLE(client);
    if (client->lock) return TUTTI_OK;
    client->lock = tt_lock_new();
    if (!client->lock) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a lock");
    tt_wait_set_lock(&client->fabric.policy, client->lock);
    return TUTTI_OK;
}

/* ---- Memory ---- */

tutti_status tutti_alloc(tutti_client *client, size_t bytes, void **memory)
{
    int64_t offset;
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_alloc(client, bytes, memory));
    if (!memory) return tt_fail(TUTTI_ERR_ARG, "memory is NULL");
    if (bytes == 0 || bytes > INT64_MAX)
        return tt_fail(TUTTI_ERR_ARG, "bytes is %zu (allowed: 1 to %lld)", bytes,
                       (long long)INT64_MAX);
    TT_TRY(tt_arena_alloc(&client->fabric.arena, (int64_t)bytes, &offset));
    *memory = tt_fabric_at(&client->fabric, offset);
    return TUTTI_OK;
}

tutti_status tutti_free(tutti_client *client, void *memory)
{
    if (!memory) return TUTTI_OK;
    TT_TRY_HANDLE(client);
    TT_LOCKED(client->lock, tutti_free(client, memory));
    intptr_t offset = (intptr_t)memory - (intptr_t)client->fabric.segment->base;
    if (tt_arena_free(&client->fabric.arena, offset)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "%p does not come from tutti_alloc", memory);
}
