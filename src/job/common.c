/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of clients in the job page. It has no lock that a dead rank could hold. A client is
 * "settled" when the ranks have decided which entry of the table it gets.
 *
 * latest_client is (1 + k) << 8 | (1 + index), where k is the newest client that was settled, and
 * `index` that of its entry. 0 in the place of 1 + index means that no entry was free, so client k
 * is refused to all ranks. A rank that wants to join client k sees one of three cases:
 *
 *     latest older than k   k is not settled: the rank picks a free entry and tries to settle it
 *                           by compare-and-swap
 *     latest is k           the rank takes the entry that was settled, and writes 1 + k to its
 *                           `number`
 *     latest newer than k   the rank finds the entry by its `number`; if there is none, k was
 *                           refused
 *
 * Why all ranks get the same entry:
 *
 * 1. Each rank asks for clients 0, 1, 2 ... in order, and has taken k before it asks for k + 1. So
 *    when k + 1 is settled, k is settled too, and the number of k's entry is written, at least by
 *    the rank that settled k + 1.
 * 2. An entry is freed when every rank of the node has left it. A rank that still asks for k has
 *    not left its entry, so k's entry still exists. A rank writes a number only before it leaves
 *    the entry, so it either is the first to write the number, or overwrites it with the same
 *    number.
 * 3. So an entry whose number is 0 is free, or was settled for the latest client a moment ago. In
 *    the second case a rank that considers the entry free fails in its compare-and-swap, since
 *    latest_client has changed since the rank read it.
 *
 * A rank that died cannot leave, so its entries stay taken. The other ranks cannot make new clients
 * without it either.
 */
#include "job/common.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

struct tt_common *tt_common_at(const struct tt_job_page *job, int i)
{
    return (struct tt_common *)((char *)(uintptr_t)job + job->common_at + i * job->common_bytes);
}

static int find(const struct tt_job_page *job, uint64_t number)
{
    int i = 0;
    while (i < TT_CLIENTS && atomic_load(&tt_common_at(job, i)->number) != number) i++;
    return i;
}

struct tt_common *tt_common_find(const struct tt_job_page *job, int number)
{
    int i = find(job, (uint64_t)number + 1);
    return i < TT_CLIENTS ? tt_common_at(job, i) : NULL;
}

/* Makes one attempt to find or make the entry of the client with this number. Returns false if
 * another rank changed the entries meanwhile, and the caller must try again. */
static bool settle(struct tt_job_page *job, uint64_t number, struct tt_common **common)
{
    uint64_t latest = atomic_load(&job->latest_client);
    int i = find(job, number), none = find(job, 0);
    *common = i < TT_CLIENTS ? tt_common_at(job, i) : NULL;
    if (*common || latest >> 8 > number) return true;
    if (latest >> 8 < number) {
        uint64_t mine = number << 8 | (none < TT_CLIENTS ? (uint64_t)none + 1 : 0);
        if (!atomic_compare_exchange_strong(&job->latest_client, &latest, mine)) return false;
        latest = mine;
    }
    if ((latest & 255) == 0) return true;
    *common = tt_common_at(job, (int)(latest & 255) - 1);
    atomic_store(&(*common)->number, number);
    return true;
}

tutti_status tt_seat_take(struct tt_seat *seat, const struct tt_segment *segment, int rank,
                          int number)
{
    struct tt_job_page *job = tt_segment_page(segment);
    *seat = (struct tt_seat){.segment = *segment, .rank = rank, .number = number};
    while (!settle(job, (uint64_t)number + 1, &seat->common)) continue;
    if (!seat->common)
        return tt_fail(TUTTI_ERR_LIMIT,
                       "a job has at most %d clients that some rank has not finalized yet: "
                       "finalize one first",
                       TT_CLIENTS);
    atomic_fetch_add(&job->rank[rank].clients, 1);
    return TUTTI_OK;
}

/* ---- Failures ---- */

/* Adds 1 to the count of changes of ranks' states, and wakes all sleepers, so that they look at the
 * states. Records then that this state of the rank is announced. */
static void announce_change(struct tt_job_page *job, struct tt_rank_status *rank_status)
{
    uint32_t state = atomic_load(&rank_status->state),
             before = atomic_load(&rank_status->announced);
    atomic_fetch_add(&job->failures, 1);
    tt_job_wake_all(job);
    while (before < state && !atomic_compare_exchange_weak(&rank_status->announced, &before, state))
        continue;
    tt_assert(tt_rank_status_valid(rank_status) && tt_job_page_valid(job));
}

static void announce_again(struct tt_job_page *job, struct tt_rank_status *rank_status)
{
    uint32_t state = atomic_load(&rank_status->state);
    if (state >= TT_RANK_LEFT && atomic_load(&rank_status->announced) < state)
        announce_change(job, rank_status);
}

void tt_common_announce(struct tt_job_page *job, struct tt_common *common, int rank)
{
    announce_again(job, &job->rank[rank].rank_status);
    announce_again(job, &common->rank[rank].rank_status);
}

/* Stores the team of a failure, unless there is none. Returns whether the team that is stored is
 * this one. */
static bool store_team(struct tt_rank_status *rank_status, uint64_t team)
{
    uint64_t stored = 0;
    if (team == TT_NO_TEAM) return false;
    return atomic_compare_exchange_strong(&rank_status->team, &stored, team + 1) ||
           stored == team + 1;
}

/* Records a failure in five steps: team, failure, order, state, announcement. Others wait for the
 * last two, and the process that reports may be killed between any two steps. So nothing is
 * reserved for the first report: each report makes all steps, until one has announced the failure.
 *
 * Why this is right, however many reports are made at a time, and wherever some of them stop:
 *
 * 1. `team`, `failure` and `order` change once, from 0, by a compare-and-swap. So all reports
 *    continue the same record, and no rank ever reads another cause, code or order once it has read
 *    one of them. A step that a report finds done needs no second value.
 * 2. `failure` holds cause and code in one word, so they come from one report. It says that `team`
 *    counts only if the report with this failure found its own team there, and `team` does not
 *    change after that. So a team that a report stored before it was killed is not taken for the
 *    team of another failure. If two threads fail on two teams at the same moment, the failure may
 *    belong to no team; then the members of both teams return PEER.
 * 3. Each report stores FAILED after the three words are set, and announces after it has stored
 *    FAILED. So a rank that reads FAILED finds the three words, and a thread that reads the new
 *    count of changes finds FAILED. To store FAILED or to announce twice does no harm.
 * 4. A report returns only when the failure is announced. If the process that reports is killed
 *    before that, the next report of the same failed rank announces the failure. Such a report
 *    comes from the launcher, which reports each process that ends, or from a rank that waits for
 *    the failed rank and watches it. */
static void fail(struct tt_job_page *job, struct tt_rank_status *rank_status, enum tt_cause cause,
                 int code, uint64_t team)
{
    uint64_t none = 0, failure = (uint64_t)(uint32_t)code << 32 | (uint64_t)cause;
    uint32_t first = 0;
    if (atomic_load(&rank_status->announced) == TT_RANK_FAILED) return;
    if (store_team(rank_status, team)) failure |= TT_FAILURE_ON_TEAM;
    atomic_compare_exchange_strong(&rank_status->failure, &none, failure);
    if (atomic_load(&rank_status->order) == 0)
        atomic_compare_exchange_strong(&rank_status->order, &first,
                                       atomic_fetch_add(&job->order, 1) + 1);
    atomic_store(&rank_status->state, TT_RANK_FAILED);
    announce_change(job, rank_status);
}

void tt_job_fail(struct tt_job_page *job, int rank, enum tt_cause cause, int code)
{
    fail(job, &job->rank[rank].rank_status, cause, code, TT_NO_TEAM);
}

static void fail_here(struct tt_job_page *job, struct tt_common *common, int rank,
                      const struct tt_failure *failure)
{
    struct tt_rank_status *rank_status = &common->rank[rank].rank_status;
    if (atomic_load(&rank_status->state) != TT_RANK_LEFT)
        fail(job, rank_status, failure->cause, failure->code, failure->team);
}

void tt_common_fail(struct tt_job_page *job, struct tt_common *common, int rank,
                    enum tt_cause cause, int code)
{
    fail_here(job, common, rank, &(struct tt_failure){cause, code, TT_NO_TEAM, NULL});
}

void tt_common_miss(struct tt_job_page *job, struct tt_common *common, int rank)
{
    fail(job, &common->rank[rank].rank_status, TT_CAUSE_LEFT, 0, TT_NO_TEAM);
}

static uint32_t ranks_here(const struct tt_job_page *job)
{
    uint32_t n = 0;
    for (int r = 0; r < job->size; r++) n += job->rank[r].arena >= 0;
    return n;
}

/* Clears an entry that all ranks have left. Ranks that look for a free entry read only its number,
 * so the number is cleared last. */
static void clear(struct tt_job_page *job, struct tt_common *common)
{
    const size_t from = offsetof(struct tt_common, gone);
    memset((char *)common + from, 0, (size_t)job->common_bytes - from);
    atomic_store(&common->number, 0);
}

void tt_common_left(struct tt_job_page *job, struct tt_common *common, int rank)
{
    struct tt_rank_status *rank_status = &common->rank[rank].rank_status;
    uint32_t joined = TT_RANK_JOINED;
    atomic_compare_exchange_strong(&rank_status->state, &joined, TT_RANK_LEFT);
    announce_change(job, rank_status);
}

void tt_common_leave(struct tt_job_page *job, struct tt_common *common, int rank)
{
    struct tt_rank_status *rank_status = &common->rank[rank].rank_status;
    uint32_t joined = TT_RANK_JOINED, here = ranks_here(job);
    atomic_compare_exchange_strong(&rank_status->state, &joined, TT_RANK_LEFT);
    atomic_fetch_sub(&job->rank[rank].clients, 1);
    announce_change(job, rank_status);
    if (atomic_fetch_add(&common->gone, 1) + 1 == here) clear(job, common);
}

/* Waits until the rank that is writing the text of the error `finding` has written it, but for at
 * most a second. The caller may mark a rank as failed only after that, so that every rank that sees
 * the failure can read the text. */
static void await_reason(const struct tt_finding *finding)
{
    int64_t until_ns = tt_clock_ns() + INT64_C(1000000000);
    while (atomic_load(&finding->state) == TT_FINDING_WRITING && tt_clock_ns() < until_ns)
        sched_yield();
}

static bool is_about(const struct tt_finding *finding, uint64_t team)
{
    return atomic_load_explicit(&finding->state, memory_order_acquire) == TT_FINDING_THERE &&
           finding->team == team;
}

/* Publishes why the team does not work any more; only the first text for a team is kept.
 *
 * If a rank dies while it writes its reason, the state stays WRITING and no rank reads the text. In
 * this case the other ranks report the death of the rank instead. */
static void give_reason(struct tt_common *common, uint64_t team, const char *text)
{
    for (int i = 0; i < TT_FINDINGS; i++) {
        struct tt_finding *finding = &common->finding[i];
        uint32_t none = TT_FINDING_NONE;
        if (!atomic_compare_exchange_strong(&finding->state, &none, TT_FINDING_WRITING)) {
            await_reason(finding);
            if (is_about(finding, team)) return;
            continue;
        }
        finding->team = team;
        snprintf(finding->text, sizeof finding->text, "%s", text);
        atomic_store_explicit(&finding->state, TT_FINDING_THERE, memory_order_release);
        return;
    }
}

static const char *reason_for(const struct tt_common *common, uint64_t team)
{
    for (int i = 0; i < TT_FINDINGS; i++)
        if (is_about(&common->finding[i], team)) return common->finding[i].text;
    return NULL;
}

/* ---- Failures that other ranks report ---- */

void tt_common_believe(struct tt_job_page *job, struct tt_common *common, int rank,
                       const struct tt_failure *failure)
{
    if (failure->team != TT_NO_TEAM && failure->why && failure->why[0])
        give_reason(common, failure->team, failure->why);
    switch (failure->cause) {
    case TT_CAUSE_NONE: return;
    case TT_CAUSE_LEFT: tt_common_miss(job, common, rank); return;
    case TT_CAUSE_SIGNAL:
    case TT_CAUSE_EXIT:
    case TT_CAUSE_ABSENT:
    case TT_CAUSE_GONE:
    case TT_CAUSE_SILENT: tt_job_fail(job, rank, failure->cause, failure->code); return;
    case TT_CAUSE_STATUS:
    case TT_CAUSE_SETTING:
    case TT_CAUSE_LOST: fail_here(job, common, rank, failure); return;
    }
}

void tt_common_fail_on(struct tt_job_page *job, struct tt_common *common, int rank, int status,
                       uint64_t team, const char *why)
{
    struct tt_failure failure = {TT_CAUSE_STATUS, status, team, why};
    tt_common_believe(job, common, rank, &failure);
}

struct tt_failure tt_common_failure(const struct tt_job_page *job, const struct tt_common *common,
                                    int rank)
{
    const struct tt_rank_status *its = tt_common_rank_status(job, common, rank);
    uint64_t word = atomic_load(&its->failure);
    struct tt_failure failure = {.cause = (enum tt_cause)(word & TT_FAILURE_CAUSE),
                                 .code = (int)(int32_t)(word >> 32),
                                 .team = TT_NO_TEAM};
    if (word & TT_FAILURE_ON_TEAM) failure.team = atomic_load(&its->team) - 1;
    failure.why = reason_for(common, failure.team);
    return failure;
}

/* ---- The status of a rank ---- */

/* Reads the status of the process before the status in the client, so that a rank whose process
 * ended after it left the client is seen as LEFT, not as FAILED. */
enum tt_rank_state tt_common_state(const struct tt_job_page *job, const struct tt_common *common,
                                   int rank)
{
    bool ended = atomic_load(&job->rank[rank].rank_status.state) == TT_RANK_FAILED;
    const struct tt_member *member = &common->rank[rank];
    uint32_t state = atomic_load(&member->rank_status.state);
    bool left = state == TT_RANK_LEFT || atomic_load(&member->left_ns);
    return ended && !left ? TT_RANK_FAILED : (enum tt_rank_state)state;
}

const struct tt_rank_status *tt_common_rank_status(const struct tt_job_page *job,
                                                   const struct tt_common *common, int rank)
{
    const struct tt_rank_status *its = &common->rank[rank].rank_status,
                                *process = &job->rank[rank].rank_status;
    uint32_t here = atomic_load(&its->order), everywhere = atomic_load(&process->order);
    bool left = tt_rank_cause(its) == TT_CAUSE_LEFT;
    return here && (left || !everywhere || here < everywhere) ? its : process;
}

int tt_common_first_failed(const struct tt_job_page *job, const struct tt_common *common)
{
    int first = -1;
    uint32_t least = UINT32_MAX;
    for (int r = 0; r < job->size; r++) {
        if (tt_common_state(job, common, r) != TT_RANK_FAILED) continue;
        uint32_t order = atomic_load(&tt_common_rank_status(job, common, r)->order);
        if (order >= least) continue;
        first = r;
        least = order;
    }
    return first;
}

bool tt_cause_ends(enum tt_cause cause)
{
    switch (cause) {
    case TT_CAUSE_SIGNAL:
    case TT_CAUSE_EXIT:
    case TT_CAUSE_ABSENT:
    case TT_CAUSE_GONE:
    case TT_CAUSE_SILENT: return true;
    case TT_CAUSE_NONE:
    case TT_CAUSE_STATUS:
    case TT_CAUSE_SETTING:
    case TT_CAUSE_LOST:
    case TT_CAUSE_LEFT: break;
    }
    return false;
}

int tt_job_first_ended(const struct tt_job_page *job)
{
    int first = -1;
    uint32_t least = UINT32_MAX;
    for (int r = 0; r < job->size; r++) {
        const struct tt_rank_status *its = &job->rank[r].rank_status;
        if (atomic_load(&its->state) != TT_RANK_FAILED) continue;
        uint32_t order = atomic_load(&its->order);
        if (!tt_cause_ends(tt_rank_cause(its)) || order >= least) continue;
        first = r;
        least = order;
    }
    return first;
}

enum { WHO = 32 + TT_JOB_HOST };

/* Writes "rank 3 on h2"; "rank 3" if the job is on one node. */
static void name_rank(const struct tt_job_page *job, int rank, char who[WHO])
{
    const char *host = job->rank[rank].host;
    snprintf(who, WHO, "rank %d%s%s", rank, host[0] ? " on " : "", host);
}

/* Writes that a rank cannot be reached, and why. The code of the cause LOST says which rank's host
 * has no network address (enum tt_cause). A code from another host may be no rank. */
static void unreachable_text(const struct tt_job_page *job, const struct tt_rank_status *its,
                             int rank, char *buffer, size_t n)
{
    char why[96] = "the connection to it is lost";
    int code = tt_rank_code(its), cut_off = code - 1;
    const char *whose = "";
    bool silent = tt_rank_cause(its) == TT_CAUSE_SILENT, has = cut_off >= 0 && cut_off < job->size;
    if (has && cut_off != rank) whose = job->rank[cut_off].host;
    if (silent)
        snprintf(why, sizeof why, "no answer for %d s", code);
    else if (has)
        snprintf(why, sizeof why, "%s has no network address", whose[0] ? whose : "its host");
    char who[WHO];
    name_rank(job, rank, who);
    snprintf(buffer, n, "%s cannot be reached: %s", who, why);
}

static char *cause_text(const struct tt_job_page *job, const struct tt_rank_status *rank_status,
                        int rank, char *buffer, size_t n)
{
    int code = tt_rank_code(rank_status);
    char who[WHO];
    name_rank(job, rank, who);
    switch (tt_rank_cause(rank_status)) {
    case TT_CAUSE_NONE: snprintf(buffer, n, "rank %d is alive", rank); break;
    case TT_CAUSE_SIGNAL:
        snprintf(buffer, n, "rank %d died: signal %d (%s)", rank, code, strsignal(code));
        break;
    case TT_CAUSE_EXIT:
        snprintf(buffer, n, "rank %d exited with code %d%s", rank, code,
                 code == 0 ? " without tutti_finalize" : "");
        break;
    case TT_CAUSE_ABSENT:
        snprintf(buffer, n, "rank %d exited with code 0 without tutti_init", rank);
        break;
    case TT_CAUSE_STATUS:
        snprintf(buffer, n, "rank %d cannot go on: %s", rank,
                 tutti_status_text((tutti_status)code));
        break;
    case TT_CAUSE_SETTING:
        snprintf(buffer, n, "rank %d has %s set otherwise than another rank", rank,
                 tt_setting_must_match_name((enum tt_must_match)code));
        break;
    case TT_CAUSE_GONE: snprintf(buffer, n, "%s is gone: its process ended", who); break;
    case TT_CAUSE_LOST:
    case TT_CAUSE_SILENT: unreachable_text(job, rank_status, rank, buffer, n); break;
    case TT_CAUSE_LEFT:
        snprintf(buffer, n, "rank %d left the job while it was still needed", rank);
        break;
    }
    return buffer;
}

char *tt_common_cause_text(const struct tt_job_page *job, const struct tt_common *common, int rank,
                           char *buffer, size_t n)
{
    return cause_text(job, tt_common_rank_status(job, common, rank), rank, buffer, n);
}

char *tt_job_cause_text(const struct tt_job_page *job, int rank, char *buffer, size_t n)
{
    return cause_text(job, &job->rank[rank].rank_status, rank, buffer, n);
}

/* ---- Warnings about settings ---- */

/* Returns the entry of the warning with this id; the first rank that asks for an id stores it in a
 * free entry. An id is stored once and never changes, and all ranks look through the entries in the
 * same order, so no id gets two entries. NULL: other warnings have taken all entries. */
static struct tt_common_warning *warning_of(struct tt_common *common, uint64_t id)
{
    for (int i = 0; i < TT_WARNINGS; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&common->warning[i].id, &found, id) || found == id)
            return &common->warning[i];
    }
    return NULL;
}

void tt_common_warn(const struct tt_job_page *job, struct tt_common *common, int rank,
                    const struct tt_warnings *warnings)
{
    for (int i = 0; i < warnings->n; i++) {
        struct tt_common_warning *entry = warning_of(common, warnings->warning[i].id);
        if (!entry) continue;
        int32_t most = atomic_load(&entry->backward), mine = job->size - rank;
        while (most < mine && !atomic_compare_exchange_weak(&entry->backward, &most, mine))
            continue;
        atomic_fetch_add(&entry->ranks, 1);
    }
}

void tt_common_warnings(const struct tt_job_page *job, const struct tt_common *common,
                        struct tt_warnings *all)
{
    all->n = 0;
    for (int i = 0; i < TT_WARNINGS; i++) {
        const struct tt_common_warning *entry = &common->warning[i];
        uint64_t id = atomic_load(&entry->id);
        if (id)
            all->warning[all->n++] = (struct tt_warning){
                id, job->size - atomic_load(&entry->backward), atomic_load(&entry->ranks)};
    }
}
