/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out which ranks came late to which calls, and makes the names of teams and calls for tables
 * and pictures.
 */
#include "draw/calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"
#include "plan/call.h"

void tt_calls_free(struct tt_calls *calls)
{
    tt_free(calls->bar);
    tt_free(calls->group);
    tt_free(calls->rank);
    tt_free(calls->team);
    tt_free(calls->name);
    *calls = (struct tt_calls){.bars = 0};
}

/* ---- Groups ---- */

static int by_execution(const void *a, const void *b)
{
    const struct tt_call_bar *x = a, *y = b;
    if (x->team != y->team) return x->team < y->team ? -1 : 1;
    if (x->execution != y->execution) return x->execution < y->execution ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    if (x->end_ps != y->end_ps) return x->end_ps < y->end_ps ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_group(const void *a, const void *b)
{
    const struct tt_call_bar *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return by_execution(a, b);
}

static int by_begin(const void *a, const void *b)
{
    const struct tt_call_group *x = a, *y = b;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static bool together(const struct tt_call_bar *x, const struct tt_call_bar *y)
{
    return x->team == y->team && x->execution == y->execution;
}

/* Sorts the bars (calls) by team and execution, makes a group of the bars of each execution, and
 * then sorts the groups by their begin. */
static tutti_status make_groups(struct tt_calls *c)
{
    c->group = tt_calloc((size_t)c->bars + 1, sizeof *c->group);
    if (!c->group) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the calls of a run");
    if (c->bars) qsort(c->bar, (size_t)c->bars, sizeof *c->bar, by_execution);
    for (int64_t i = 0; i < c->bars; i++) {
        const struct tt_call_bar *bar = &c->bar[i];
        bool fresh = i == 0 || !together(bar, bar - 1);
        if (fresh)
            c->group[c->groups++] = (struct tt_call_group){.first = i, .begin_ps = INT64_MAX};
        struct tt_call_group *group = &c->group[c->groups - 1];
        group->n++;
        group->begin_ps = tt_min(group->begin_ps, bar->begin_ps);
    }
    if (c->groups) qsort(c->group, (size_t)c->groups, sizeof *c->group, by_begin);
    for (int64_t g = 0; g < c->groups; g++)
        for (int64_t i = 0; i < c->group[g].n; i++)
            c->bar[c->group[g].first + i].group = (int32_t)g;
    if (c->bars) qsort(c->bar, (size_t)c->bars, sizeof *c->bar, by_group);
    for (int64_t i = c->bars - 1; i >= 0; i--) c->group[c->bar[i].group].first = i;
    return TUTTI_OK;
}

/* ---- Late ranks ---- */

static int by_arrival(const void *a, const void *b)
{
    const struct tt_call_bar *x = *(struct tt_call_bar *const *)a,
                             *y = *(struct tt_call_bar *const *)b;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the index of the last of the calls order[0..n-1] that began at or before the time
 * `until`; 0 if there is none. order[] is sorted by begin. */
static int64_t last_before(struct tt_call_bar *const *order, int64_t n, int64_t until)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (order[middle]->begin_ps <= until)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* Returns a member of the team that did not come to this execution. Returns -1 if all members came,
 * or if the trace of the absent member may be incomplete. The members of the team and the bars of
 * the execution are both in rank order. */
static int missing_of(const struct tt_calls *c, const struct tt_call_group *group)
{
    const struct tt_call_team *team = &c->team[c->bar[group->first].team];
    const struct tt_call_group *all = &c->group[team->largest];
    int client = team->client;
    for (int64_t i = 0; group->n < all->n && i < all->n; i++) {
        int rank = c->bar[all->first + i].rank;
        if (i < group->n && c->bar[group->first + i].rank == rank) continue;
        const struct tt_call_rank *said = tt_calls_rank(c, rank, client);
        return said && said->said && !said->lost_calls && !said->cut ? rank : -1;
    }
    return -1;
}

/* Records that the ranks in the call waited for rank `missing`, which never came, for as long as
 * they were blocked. */
static void wait_in_vain(struct tt_calls *c, struct tt_call_group *group, int missing)
{
    group->missing = true;
    group->late = missing;
    group->late_ps = 0;
    for (int64_t i = group->first; i < group->first + group->n; i++) {
        struct tt_call_bar *bar = &c->bar[i];
        int64_t from = tt_calls_blocked_from(bar), waited = from >= 0 ? bar->end_ps - from : 0;
        group->waited_ps += waited - bar->waited_ps;
        group->worst_ps = tt_max(group->worst_ps, waited);
        bar->waited_ps = waited;
        bar->late = missing;
    }
}

/* Sets group->late to the rank for which the other ranks waited longest in all, or, if no rank
 * waited, to the rank that came last. caused_ps[i] is how long all ranks together waited for the
 * rank of order[i]. */
static void find_late_one(struct tt_call_group *group, struct tt_call_bar *const *order,
                          const int64_t *caused_ps)
{
    int64_t late = group->n - 1;
    for (int64_t i = late; i >= 0; i--)
        if (caused_ps[i] > caused_ps[late]) late = i;
    group->late = order[late]->rank;
    if (late > 0) group->late_ps = order[late]->begin_ps - order[late - 1]->begin_ps;
}

/* Computes for each call of the group how long its rank waited and for which rank. order[] has the
 * calls in the order of their begin. Sets caused_ps[i], for each of them, to the time that all
 * ranks together waited for the rank of order[i]. */
static void find_waits(struct tt_call_group *group, struct tt_call_bar *const *order,
                       int64_t *caused_ps)
{
    memset(caused_ps, 0, (size_t)group->n * sizeof *caused_ps);
    for (int64_t i = 0; i < group->n; i++) {
        struct tt_call_bar *bar = order[i];
        int64_t place = last_before(order, group->n, bar->end_ps);
        const struct tt_call_bar *late = order[place];
        int64_t from = tt_calls_blocked_from(bar);
        bar->late = late->rank;
        bar->waited_ps = from >= 0 ? tt_max(0, tt_min(late->begin_ps, bar->end_ps) - from) : 0;
        caused_ps[place] += bar->waited_ps;
        group->waited_ps += bar->waited_ps;
        group->worst_ps = tt_max(group->worst_ps, bar->waited_ps);
        group->end_ps = tt_max(group->end_ps, bar->end_ps);
        group->open |= bar->open;
        group->blocked |= from >= 0;
    }
    find_late_one(group, order, caused_ps);
}

static void find_lengths(struct tt_call_group *group, struct tt_call_bar *const *order,
                         int64_t *length)
{
    for (int64_t i = 0; i < group->n; i++) length[i] = order[i]->end_ps - order[i]->begin_ps;
    qsort(length, (size_t)group->n, sizeof *length, by_length);
    group->shortest_ps = length[0];
    group->median_ps = length[group->n / 2];
    group->longest_ps = length[group->n - 1];
}

static tutti_status find_late(struct tt_calls *c)
{
    size_t most = 1;
    for (int64_t g = 0; g < c->groups; g++) most = (size_t)tt_max((int64_t)most, c->group[g].n);
    struct tt_call_bar **order = tt_calloc(most, sizeof(struct tt_call_bar *));
    int64_t *length = tt_calloc(most, sizeof *length);
    for (int64_t g = 0; order && length && g < c->groups; g++) {
        struct tt_call_group *group = &c->group[g];
        for (int64_t i = 0; i < group->n; i++) order[i] = &c->bar[group->first + i];
        qsort(order, (size_t)group->n, sizeof(struct tt_call_bar *), by_arrival);
        find_waits(group, order, length);
        find_lengths(group, order, length);
        int missing = missing_of(c, group);
        if (missing >= 0) wait_in_vain(c, group, missing);
    }
    bool good = order && length;
    tt_free(order);
    tt_free(length);
    return good ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for the calls of a run");
}

/* ---- Ranks ---- */

static int by_rank(const void *a, const void *b)
{
    const struct tt_call_rank *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->client > y->client) - (x->client < y->client);
}

const struct tt_call_rank *tt_calls_rank(const struct tt_calls *calls, int rank, int client)
{
    struct tt_call_rank key = {.rank = rank, .client = client};
    if (!calls->ranks) return NULL;
    return bsearch(&key, calls->rank, (size_t)calls->ranks, sizeof key, by_rank);
}

static struct tt_call_rank *rank_of(struct tt_calls *c, int rank, int team)
{
    return (struct tt_call_rank *)tt_calls_rank(c, rank, c->team[team].client);
}

/* Adds a call to the sums of its rank. A nonblocking call adds only the time for which its caller
 * was blocked. */
static void add_up(struct tt_calls *c, const struct tt_call_bar *bar)
{
    struct tt_call_rank *rank = rank_of(c, bar->rank, bar->team);
    struct tt_call_rank *late = rank_of(c, bar->late, bar->team);
    int64_t from = tt_calls_blocked_from(bar);
    if (rank) {
        rank->calls++;
        rank->in_ps += from >= 0 ? bar->end_ps - from : 0;
        rank->waited_ps += bar->waited_ps;
    }
    if (late && late != rank) late->caused_ps += bar->waited_ps;
}

static void sum_up(struct tt_calls *c)
{
    for (int64_t i = 0; i < c->bars; i++) add_up(c, &c->bar[i]);
    for (int64_t g = 0; g < c->groups; g++) {
        const struct tt_call_group *group = &c->group[g];
        struct tt_call_rank *late = rank_of(c, group->late, c->bar[group->first].team);
        if (late && group->n > 1) late->came_late++;
    }
}

/* ---- Teams ---- */

/* Returns whether there are more than three ranks and their numbers grow in equal steps, as in 0,
 * 2, 4, 6. `of` has one call of each of the n ranks. */
static bool are_even(const struct tt_call_bar *of, int64_t n)
{
    for (int64_t i = 2; i < n; i++)
        if (of[i].rank - of[i - 1].rank != of[1].rank - of[0].rank) return false;
    return n > 3;
}

/* Writes for example "ranks 0-3", "ranks 0, 2, ..., 8" or, for 9 ranks, "ranks 0, 1, 5, ...
 * (9)". */
static void name_members(struct tt_call_team *t, const struct tt_call_bar *of, int64_t n)
{
    size_t at, most = sizeof t->label;
    if (n > 1 && of[n - 1].rank - of[0].rank == n - 1) {
        snprintf(t->label, most, "ranks %d-%d", of[0].rank, of[n - 1].rank);
        return;
    }
    if (are_even(of, n)) {
        snprintf(t->label, most, "ranks %d, %d, ..., %d", of[0].rank, of[1].rank, of[n - 1].rank);
        return;
    }
    at = (size_t)snprintf(t->label, most, n == 1 ? "rank" : "ranks");
    for (int64_t i = 0; i < n; i++) {
        if (at > most - 24) {
            snprintf(t->label + at, most - at, ", ... (%lld)", (long long)n);
            return;
        }
        at += (size_t)snprintf(t->label + at, most - at, "%s %d", i ? "," : "", of[i].rank);
    }
}

/* Makes the name of a team from its members, which are the ranks of the execution in which the most
 * ranks took part. */
static void name_team(struct tt_calls *c, int64_t team)
{
    struct tt_call_team *t = &c->team[team];
    const struct tt_call_group *group = &c->group[t->largest];
    char label[sizeof t->label];
    bool called = c->groups > 0 && c->bar[group->first].team == team;
    if (t->id == 0)
        snprintf(t->label, sizeof t->label, "world");
    else if (called)
        name_members(t, &c->bar[group->first], group->n);
    if (t->client == 0) return;
    snprintf(label, sizeof label, "client %d: %.30s", t->client, t->label);
    memcpy(t->label, label, sizeof label);
}

/* If several teams have the name of team `first`, appends #1, #2, ... to their names, in the order
 * in which the trace lists them. */
static void number_alike(struct tt_calls *c, int64_t first)
{
    char label[sizeof c->team[0].label];
    int n = 1;
    memcpy(label, c->team[first].label, sizeof label);
    for (int64_t t = first + 1; t < c->teams && label[0]; t++) {
        if (strcmp(c->team[t].label, label) != 0) continue;
        snprintf(c->team[t].label, sizeof label, "%.32s #%d", label, ++n);
    }
    if (n > 1) snprintf(c->team[first].label, sizeof label, "%.32s #1", label);
}

static void name_teams(struct tt_calls *c)
{
    for (int64_t g = 0; g < c->groups; g++) {
        struct tt_call_team *t = &c->team[c->bar[c->group[g].first].team];
        bool first = c->bar[c->group[t->largest].first].team != c->bar[c->group[g].first].team;
        if (first || c->group[g].n > c->group[t->largest].n) t->largest = g;
    }
    for (int64_t t = 0; t < c->teams; t++) name_team(c, t);
    for (int64_t t = 0; t < c->teams; t++) number_alike(c, t);
}

bool tt_calls_valid(const struct tt_calls *calls)
{
    bool valid = true;
    for (int64_t i = 1; i < calls->bars; i++) {
        const struct tt_call_bar *a = &calls->bar[i - 1], *b = &calls->bar[i];
        valid = valid && (a->group != b->group ? a->group < b->group : a->rank <= b->rank);
    }
    for (int64_t i = 1; i < calls->groups; i++)
        valid = valid && calls->group[i - 1].begin_ps <= calls->group[i].begin_ps;
    for (int64_t i = 1; i < calls->ranks; i++) {
        const struct tt_call_rank *a = &calls->rank[i - 1], *b = &calls->rank[i];
        valid = valid && (a->rank != b->rank ? a->rank < b->rank : a->client <= b->client);
    }
    return valid;
}

tutti_status tt_calls_end(struct tt_calls *calls)
{
    if (calls->ranks) qsort(calls->rank, (size_t)calls->ranks, sizeof *calls->rank, by_rank);
    TT_TRY(make_groups(calls));
    name_teams(calls);
    TT_TRY(find_late(calls));
    sum_up(calls);
    tt_assert(tt_calls_valid(calls));
    return TUTTI_OK;
}

/* ---- Texts about calls and ranks ---- */

char *tt_calls_count_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT])
{
    text[0] = '\0';
    if (bar->n > 0)
        snprintf(text, TT_CALLS_COUNT, "n=%lld", (long long)bar->n);
    else if (bar->bytes > 0)
        tt_svg_bytes_text(text, (double)bar->bytes);
    return text;
}

int64_t tt_calls_number(const struct tt_call_bar *bar)
{
    return bar->execution % TT_TRACED_AGREEMENTS;
}

char *tt_calls_number_text(const struct tt_call_bar *bar, char text[TT_CALLS_COUNT])
{
    bool agreement = bar->execution >= TT_TRACED_AGREEMENTS;
    snprintf(text, TT_CALLS_COUNT, "%s %" PRId64, agreement ? "agreement" : "execution",
             tt_calls_number(bar));
    return text;
}

char *tt_calls_text(const struct tt_calls *calls, const struct tt_call_bar *bar, char *text,
                    size_t n)
{
    char count[TT_CALLS_COUNT];
    const char *type = calls->name[bar->type], *op = calls->name[bar->op];
    tt_calls_count_text(bar, count);
    snprintf(text, n, "%s%s%s%s%s%s%s", calls->name[bar->coll], count[0] ? " " : "", count,
             *type ? " " : "", type, *op ? " " : "", op);
    if (bar->root < 0) return text;
    size_t at = strlen(text);
    snprintf(text + at, n - at, ", root %d", bar->root);
    return text;
}

const char *tt_calls_end_text(const struct tt_call_rank *rank)
{
    /* the status is a text such as "rank 2 died: ...", in which the cause follows the number */
    const char *what = strchr(rank->rank_status, ' ');
    if (rank->said && rank->ended) return rank->cut ? "the rest of its trace is missing" : "";
    if (rank->runs) return "runs";
    if (what && strncmp(rank->rank_status, "rank ", 5) == 0) what = strchr(what + 1, ' ');
    if (what) return what + 1;
    return rank->said ? "ended without tutti_finalize" : "has no trace";
}

const char *tt_calls_missing_text(const struct tt_calls *calls, const struct tt_call_group *group)
{
    int client = calls->team[calls->bar[group->first].team].client;
    const struct tt_call_rank *rank = tt_calls_rank(calls, group->late, client);
    return rank && rank->runs ? "has not come" : "never came";
}
