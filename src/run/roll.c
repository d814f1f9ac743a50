/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll in words.
 */
#include "run/roll.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_SIZE = 640, NAMES_SIZE = 160 };

/* ---- Text in a buffer ---- */

struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)tt_min(n, (int64_t)t->left - 1);
    t->at += used;
    t->left -= used;
}

static int count_picked(const bool *picked, int size)
{
    int n = 0;
    for (int r = 0; r < size; r++) n += picked[r];
    return n;
}

char *tt_roll_names(const bool *picked, int size, char *buffer, size_t n)
{
    struct text t = {buffer, n};
    const char *comma = "";
    add(&t, "%s ", count_picked(picked, size) == 1 ? "rank" : "ranks");
    for (int r = 0; r < size; r++) {
        int first = r;
        while (r < size && picked[r]) r++;
        if (r == first) continue;
        if (t.left < 32) {
            add(&t, ",...");
            break;
        }
        add(&t, r == first + 1 ? "%s%d" : "%s%d-%d", comma, first, r - 1);
        comma = ",";
    }
    return buffer;
}

/* ---- What a rank does ---- */

static void pick_members(const struct tt_roll *roll, uint64_t id, bool *picked, int *size)
{
    *size = 0;
    for (int i = 0; i < roll->teams; i++) {
        if (roll->team[i].id != id) continue;
        picked[roll->team[i].rank] = true;
        *size = roll->team[i].size;
    }
}

/* By its members, where all of them are seen. */
/* Which of several teams of the same members it is, by the list of the first of them. */
static void add_number(struct text *t, const struct tt_roll *roll, uint64_t id, const bool *picked)
{
    int first = 0, n = 0, mine = 0, size, ranks = roll->job->size;
    bool *other = tt_calloc((size_t)ranks, sizeof *other);
    while (first < ranks - 1 && !picked[first]) first++;
    const struct tt_roll_rank *r = &roll->rank[first];
    for (int i = r->first; other && i < r->first + r->teams; i++) {
        if (roll->team[i].id == 0) continue;
        memset(other, 0, (size_t)ranks * sizeof *other);
        pick_members(roll, roll->team[i].id, other, &size);
        if (memcmp(other, picked, (size_t)ranks * sizeof *other) != 0) continue;
        n++;
        if (roll->team[i].id == id) mine = n;
    }
    if (n > 1 && mine > 0) add(t, " (no. %d of %d)", n - mine + 1, n); /* the last made is first */
    tt_free(other);
}

static void add_team(struct text *t, const struct tt_roll *roll, uint64_t id)
{
    int size, ranks = roll->job->size;
    char names[NAMES_SIZE];
    bool *picked = id ? tt_calloc((size_t)ranks, sizeof *picked) : NULL;
    if (picked) pick_members(roll, id, picked, &size);
    if (!id)
        add(t, "the world");
    else if (!picked || size == 0)
        add(t, "a team");
    else if (count_picked(picked, ranks) == size)
        add(t, "the team of %s", tt_roll_names(picked, ranks, names, sizeof names));
    else
        add(t, "a team of %d ranks", size);
    if (picked) add_number(t, roll, id, picked);
    tt_free(picked);
}

static void add_call(struct text *t, const struct tt_roll *roll, const struct tt_what *what,
                     uint64_t team, uint64_t number)
{
    char call[TT_WHAT_TEXT];
    add(t, "%s on ", what ? tt_what_text(what, call, sizeof call) : "a collective");
    add_team(t, roll, team);
    add(t, " (call %llu)", (unsigned long long)number + 1);
}

/* Adds the collectives that the rank has started and not ended, except the one that it waits in. */
static void add_requests(struct text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    uint64_t requests = 0;
    const struct tt_roll_team *one = NULL;
    for (int i = r->first; i < r->first + r->teams; i++) {
        const struct tt_roll_team *team = &roll->team[i];
        bool in = r->waits && r->is.doing == TT_DOING_COLLECTIVE && r->is.team == team->id &&
                  r->is.number < team->begun;
        requests += team->begun - team->done - (in && team->begun > team->done);
        if (!in && team->has_now) one = team;
    }
    if (requests == 0) return;
    add(t, ", %llu request%s under way", (unsigned long long)requests, requests > 1 ? "s" : "");
    if (!one) return;
    add(t, requests > 1 ? ", one of them " : ": ");
    add_call(t, roll, &one->now, one->id, one->done);
}

/* The team that is asked about, else the world, else any that has called something. */
static const struct tt_roll_team *team_to_tell(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_roll_team *best = NULL;
    for (int i = r->first; i < r->first + r->teams; i++) {
        const struct tt_roll_team *t = &roll->team[i];
        if (t->done > 0 &&
            (!best || t->id == roll->about || (t->id == 0 && best->id != roll->about)))
            best = t;
    }
    return best;
}

static void add_outside(struct text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_team *team = team_to_tell(roll, rank);
    add(t, "outside the library");
    add_requests(t, roll, rank);
    if (!team) {
        add(t, "; it has completed no collective");
        return;
    }
    add(t, "; it last completed ");
    add_call(t, roll, team->has_last ? &team->last : NULL, team->id, team->done - 1);
}

static void add_waiting(struct text *t, const struct tt_roll *roll, int rank)
{
    static const char *const names[] = {[TT_DOING_INIT] = "tutti_init",
                                        [TT_DOING_AGREE] = "tutti_team_agree or _shrink of ",
                                        [TT_DOING_TEAM_FREE] = "tutti_team_free of ",
                                        [TT_DOING_MESSAGES] = "tutti_advance_wait",
                                        [TT_DOING_FINALIZE] = "tutti_finalize"};
    const struct tt_activity *is = &roll->rank[rank].is;
    struct tt_what what;
    memcpy(&what, is->what, sizeof what);
    add(t, "in ");
    if (is->doing == TT_DOING_COLLECTIVE)
        add_call(t, roll, &what, is->team, is->number);
    else
        add(t, "%s", names[is->doing]);
    if (is->doing == TT_DOING_AGREE || is->doing == TT_DOING_TEAM_FREE) add_team(t, roll, is->team);
    add_requests(t, roll, rank);
}

/* Without the "rank 3 " that it begins with. */
static void add_failure(struct text *t, const struct tt_roll *roll, int rank)
{
    char text[TEXT_SIZE], begin[32];
    tt_common_cause_text(roll->job, roll->common, rank, text, sizeof text);
    size_t n = (size_t)snprintf(begin, sizeof begin, "rank %d ", rank);
    add(t, "%s", strncmp(text, begin, n) == 0 ? text + n : text);
}

/* A process that is not there is seen so only from the same namespace of processes; then `state` is
 * 0, too, if its number was not told yet. */
static const char *process_fault(const struct tt_roll_rank *r)
{
    if (r->pid > 0 && r->state == 0) return "its process is gone";
    return r->state == 'Z' || r->state == 'X' ? "its process has ended" : NULL;
}

static bool is_waiting(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    return r->here && r->waits && !process_fault(r) &&
           tt_common_state(roll->job, roll->common, rank) <= TT_RANK_JOINED;
}

char *tt_roll_doing(const struct tt_roll *roll, int rank, char *buffer, size_t n)
{
    struct text t = {buffer, n};
    const struct tt_roll_rank *r = &roll->rank[rank];
    enum tt_rank_state state = tt_common_state(roll->job, roll->common, rank);
    const char *host = roll->job->rank[rank].host, *fault = r->here ? process_fault(r) : NULL;
    if (r->state == 'T' || r->state == 't') add(&t, "stopped, as by SIGSTOP; ");
    if (state == TT_RANK_FAILED)
        add_failure(&t, roll, rank);
    else if (state == TT_RANK_LEFT)
        add(&t, "has left (tutti_finalize)");
    else if (!r->here)
        add(&t, "on host %s: not seen from here", host[0] ? host : "?");
    else if (fault)
        add(&t, "%s", fault);
    else if (is_waiting(roll, rank))
        add_waiting(&t, roll, rank);
    else if (state == TT_RANK_ABSENT)
        add(&t, "has not come to tutti_init");
    else
        add_outside(&t, roll, rank);
    return buffer;
}

/* ---- All of them ---- */

/* Ranks that do the same: a line. */
struct group {
    const struct tt_roll *roll;
    const char *text; /* TEXT_SIZE for each rank */
    bool *members, *awaited;
    int64_t least_ns, most_ns; /* how long they have waited; most_ns -1: none waits */
    bool others;               /* more are waited for than are named */
};

static const char *text_of(const struct group *g, int rank)
{
    return g->text + (size_t)rank * TEXT_SIZE;
}

static void join(struct group *g, int rank)
{
    const struct tt_roll_rank *r = &g->roll->rank[rank];
    int size = g->roll->job->size;
    g->members[rank] = true;
    if (!is_waiting(g->roll, rank)) return;
    int64_t ns = tt_max(0, g->roll->now_ns - r->is.since_ns);
    g->least_ns = tt_min(g->least_ns, ns);
    g->most_ns = tt_max(g->most_ns, ns);
    for (int i = 0; i < TT_ACTIVITY_NAMED && i < r->is.waits; i++)
        if (r->is.waits_for[i] >= 0 && r->is.waits_for[i] < size)
            g->awaited[r->is.waits_for[i]] = true;
    g->others = g->others || r->is.waits > TT_ACTIVITY_NAMED;
}

/* Ranks that wait for each other are not the missing ones, unless there are no others. */
static void leave_out_members(struct group *g)
{
    int size = g->roll->job->size, outside = 0;
    for (int r = 0; r < size; r++) outside += g->awaited[r] && !g->members[r];
    for (int r = 0; r < size && outside > 0; r++) g->awaited[r] = g->awaited[r] && !g->members[r];
}

static void print_group(struct group *g, const char *before, FILE *out)
{
    char names[NAMES_SIZE];
    int size = g->roll->job->size, first = 0;
    while (!g->members[first]) first++;
    fprintf(out, "%s%s: %s", before, tt_roll_names(g->members, size, names, sizeof names),
            text_of(g, first));
    double least = (double)g->least_ns / 1e9, most = (double)g->most_ns / 1e9;
    if (g->most_ns >= 0 && most - least < 0.1)
        fprintf(out, ", for %.1f s", most);
    else if (g->most_ns >= 0)
        fprintf(out, ", for %.1f to %.1f s", least, most);
    leave_out_members(g);
    if (count_picked(g->awaited, size) > 0)
        fprintf(out, "; wait%s for %s%s", count_picked(g->members, size) == 1 ? "s" : "",
                tt_roll_names(g->awaited, size, names, sizeof names), g->others ? " and more" : "");
    fputc('\n', out);
}

static void print_groups(struct group *g, bool *printed, const char *before, FILE *out)
{
    int size = g->roll->job->size;
    for (int r = 0; r < size; r++) {
        if (printed[r]) continue;
        memset(g->members, 0, (size_t)size);
        memset(g->awaited, 0, (size_t)size);
        g->least_ns = INT64_MAX;
        g->most_ns = -1;
        g->others = false;
        for (int k = r; k < size; k++) {
            if (printed[k] || strcmp(text_of(g, k), text_of(g, r)) != 0) continue;
            printed[k] = true;
            join(g, k);
        }
        print_group(g, before, out);
    }
}

void tt_roll_print(const struct tt_roll *roll, const char *before, FILE *out)
{
    size_t size = (size_t)roll->job->size;
    char *text = tt_calloc(size, TEXT_SIZE);
    bool *flags = tt_calloc(3 * size, sizeof *flags);
    struct group g = {.roll = roll, .text = text, .members = flags, .awaited = flags + size};
    for (size_t r = 0; text && flags && r < size; r++)
        tt_roll_doing(roll, (int)r, text + r * TEXT_SIZE, TEXT_SIZE);
    if (text && flags) print_groups(&g, flags + 2 * size, before, out);
    tt_free(text);
    tt_free(flags);
}

char *tt_roll_whole(const struct tt_roll *roll, int rank, char *buffer, size_t n)
{
    char names[NAMES_SIZE];
    const struct tt_roll_rank *r = &roll->rank[rank];
    tt_roll_doing(roll, rank, buffer, n);
    struct text t = {buffer + strlen(buffer), n - strlen(buffer)};
    bool *flags = tt_calloc(2 * (size_t)roll->job->size, sizeof *flags);
    struct group g = {.roll = roll, .members = flags, .awaited = flags + roll->job->size};
    if (flags && is_waiting(roll, rank)) {
        join(&g, rank);
        add(&t, ", for %.1f s", (double)tt_max(0, roll->now_ns - r->is.since_ns) / 1e9);
        if (count_picked(g.awaited, roll->job->size) > 0)
            add(&t, "; waits for %s%s",
                tt_roll_names(g.awaited, roll->job->size, names, sizeof names),
                g.others ? " and more" : "");
    }
    tt_free(flags);
    return buffer;
}

/* ---- On stderr ---- */

int tt_roll_clients(const struct tt_job_page *page)
{
    int n = 0;
    for (int i = 0; i < TT_CLIENTS; i++) n += atomic_load(&tt_common_at(page, i)->number) != 0;
    return n;
}

static void print_client(const struct tt_source *source, struct tt_job_page *page, int place,
                         uint64_t about, FILE *out)
{
    struct tt_roll roll;
    uint64_t number = atomic_load(&tt_common_at(page, place)->number);
    if (!number || tt_roll_read(source, page, place, &roll) != TUTTI_OK) return;
    roll.about = about;
    if (tt_roll_clients(page) > 1)
        fprintf(out, "tutti:   client %llu:\n", (unsigned long long)number - 1);
    tt_roll_print(&roll, "tutti:   ", out);
    tt_roll_free(&roll);
}

static void call(const struct tt_segment *segment, const char *heading, uint64_t about)
{
    char *text = NULL;
    size_t n = 0;
    struct tt_job_page *page;
    struct tt_source source = tt_source_mapped(segment);
    FILE *out = open_memstream(&text, &n);
    if (!out) return;
    fprintf(out, "tutti: %s\n", heading);
    if (tt_roll_page(&source, &page) == TUTTI_OK) {
        for (int i = 0; i < TT_CLIENTS; i++) print_client(&source, page, i, about, out);
        if (tt_roll_clients(page) == 0)
            fprintf(out, "tutti:   no rank has called tutti_init, or all have left\n");
        tt_free(page);
    }
    if (fclose(out) == 0) {
        ssize_t written = write(STDERR_FILENO, text, n);
        (void)written; /* nowhere is left to complain to */
    }
    free(text);
}

void tt_roll_call(const struct tt_segment *segment, const char *heading)
{
    call(segment, heading, 0);
}

void tt_roll_call_waiting(struct tt_fabric *f, const struct tt_waiting *waiting)
{
    char heading[160];
    const char *host = f->job->rank[f->me].host;
    double waited = (double)(tt_clock_ns() - waiting->is.moved_ns) / 1e9;
    snprintf(heading, sizeof heading,
             "[rank %d] has waited for %.1f s (TUTTI_WATCHDOG=%g)%s%.64s: roll call", f->me, waited,
             (double)f->watchdog_ns / 1e9, host[0] ? " on " : "", host);
    call(f->segment, heading, waiting->is.team);
}
