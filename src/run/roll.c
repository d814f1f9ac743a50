/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call: writes what each rank does as text, and prints it or sends it to another host.
 */
#include "run/roll.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/locale.h"
#include "boot/inboxes.h"
#include "boot/question.h"

enum { TEXT_SIZE = 640, NAMES_SIZE = 160 };

/* ---- Text in a buffer ---- */

struct roll_text {
    char *at;
    size_t left;
    bool several; /* the text is about several ranks */
};

static const char *it_has(const struct roll_text *t)
{
    return t->several ? "they have" : "it has";
}

__attribute__((format(printf, 2, 3))) static void add(struct roll_text *t, const char *format, ...)
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
    struct roll_text t = {.at = buffer, .left = n};
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

/* If several teams have the same members (picked[]), adds which of them team `id` is: its number in
 * the order in which their first member made them. */
static void add_number(struct roll_text *t, const struct tt_roll *roll, uint64_t id,
                       const bool *picked)
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
    /* The list begins with the team that was made last, so the numbers count backwards. */
    if (n > 1 && mine > 0) add(t, " (no. %d of %d)", n - mine + 1, n);
    tt_free(other);
}

static void add_team(struct roll_text *t, const struct tt_roll *roll, uint64_t id)
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

static void add_call(struct roll_text *t, const struct tt_roll *roll,
                     const struct tt_call_signature *signature, uint64_t team, uint64_t number)
{
    char call[TT_SIGNATURE_TEXT];
    add(t, "%s on ", signature ? tt_signature_text(signature, call, sizeof call) : "a collective");
    add_team(t, roll, team);
    add(t, " (call %llu)", (unsigned long long)number + 1);
}

/* Returns whether the text already names a call of the rank on this team. */
static bool is_named(const struct tt_roll_rank *r, const struct tt_roll_team *team)
{
    if (!r->waits) return team->is_in;
    return r->is.doing == TT_DOING_COLLECTIVE && r->is.team == team->id;
}

/* Returns whether the call that the text already names belongs to a request. */
static bool names_request(const struct tt_roll *roll, const struct tt_roll_rank *r)
{
    struct tt_call_signature call;
    memcpy(&call, r->is.signature, sizeof call);
    if (r->waits) return r->is.doing == TT_DOING_COLLECTIVE && !(call.flags & TT_SIGNATURE_BLOCKS);
    bool owes = false;
    for (int i = r->first; i < r->first + r->teams; i++)
        owes = owes || (roll->team[i].is_in && roll->team[i].owes_newest);
    return owes;
}

/* Adds the requests that the rank has started and its program has not completed, except a request
 * that the text already names. Names the call of one of these requests if a slot still holds the
 * call. */
static void add_requests(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_roll_team *one = NULL;
    uint32_t named = names_request(roll, r), requests = r->requests - named;
    for (int i = r->first; i < r->first + r->teams; i++)
        if (roll->team[i].has_now && !is_named(r, &roll->team[i])) one = &roll->team[i];
    if (r->requests <= named) return;
    add(t, ", %u request%s under way", requests, requests > 1 ? "s" : "");
    if (!one) return;
    add(t, requests > 1 ? ", one of them " : ": ");
    add_call(t, roll, &one->now.signature, one->id, one->now.number);
}

/* Returns whether the program of the rank may have completed a collective even if no slot holds a
 * completed one. */
static bool may_have_completed(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    bool may = false;
    for (int i = r->first; i < r->first + r->teams; i++)
        may = may || roll->team[i].done > r->requests;
    return may;
}

/* Chooses the team whose last call is printed: the team that the roll call is about, else the
 * world, else any team on which the rank has called something. */
static const struct tt_roll_team *team_to_print(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_roll_team *best = NULL;
    for (int i = r->first; i < r->first + r->teams; i++) {
        const struct tt_roll_team *t = &roll->team[i];
        if (t->completed > 0 &&
            (!best || t->id == roll->about || (t->id == 0 && best->id != roll->about)))
            best = t;
    }
    return best;
}

/* Adds that the rank waits in a call of another client, if it does. Returns whether it does. */
static bool add_elsewhere(struct roll_text *t, const struct tt_roll_rank *r)
{
    if (r->elsewhere)
        add(t, "in %s of client %llu",
            r->elsewhere_doing == TT_DOING_INIT ? "tutti_init" : "a call",
            (unsigned long long)r->elsewhere - 1);
    return r->elsewhere != 0;
}

/* Adds the call that the rank is in, for a rank that has not waited there long enough to publish
 * what it waits for. Returns false if the rank is in no collective. */
static bool add_short_call(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    for (int i = r->first; i < r->first + r->teams; i++) {
        const struct tt_roll_team *team = &roll->team[i];
        if (!team->is_in) continue;
        add(t, "in ");
        add_call(t, roll, &team->newest, team->id, team->begun - 1);
        add_requests(t, roll, rank);
        return true;
    }
    return false;
}

/* Adds to the text a call of the rank that failed, if there is one: a call on the team that the
 * roll call is about, or else a call on any team. */
static void add_failed(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_roll_team *of = NULL;
    for (int i = r->first; i < r->first + r->teams; i++) {
        const struct tt_roll_team *team = &roll->team[i];
        if (team->failures && (!of || team->id == roll->about)) of = team;
    }
    if (!of) return;
    add(t, "; ");
    add_call(t, roll, &of->failed.signature, of->id, of->failed.number);
    add(t, " failed");
}

static void add_outside(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_roll_team *team = team_to_print(roll, rank);
    if (!roll->rank[rank].elsewhere && add_short_call(t, roll, rank)) return;
    if (!add_elsewhere(t, &roll->rank[rank])) add(t, "outside the library");
    add_requests(t, roll, rank);
    add_failed(t, roll, rank);
    if (!team && !may_have_completed(roll, rank)) add(t, "; %s completed no collective", it_has(t));
    if (!team) return;
    add(t, t->several ? "; they last completed " : "; it last completed ");
    add_call(t, roll, team->has_last ? &team->last : NULL, team->id, team->completed - 1);
}

static void add_waiting(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    static const char *const names[] = {[TT_DOING_INIT] = "tutti_init",
                                        [TT_DOING_AGREE] = "tutti_team_agree of ",
                                        [TT_DOING_SHRINK] = "tutti_team_shrink of ",
                                        [TT_DOING_TEAM_OF] = "tutti_team_of",
                                        [TT_DOING_MESSAGES] = "tutti_advance_wait",
                                        [TT_DOING_FINALIZE] = "tutti_finalize"};
    const struct tt_activity *is = &roll->rank[rank].is;
    struct tt_call_signature signature;
    memcpy(&signature, is->signature, sizeof signature);
    add(t, "in ");
    if (is->doing == TT_DOING_COLLECTIVE)
        add_call(t, roll, &signature, is->team, is->number);
    else
        add(t, "%s", names[is->doing]);
    if (is->doing == TT_DOING_AGREE || is->doing == TT_DOING_SHRINK) add_team(t, roll, is->team);
    add_requests(t, roll, rank);
}

/* Adds the text of a cause, without "rank 3 " at its beginning (if `rank` is 3). */
static void add_cause(struct roll_text *t, int rank, const char *text)
{
    char begin[32];
    size_t n = (size_t)snprintf(begin, sizeof begin, "rank %d ", rank);
    add(t, "%s", strncmp(text, begin, n) == 0 ? text + n : text);
}

/* Adds the cause of a rank's failure. A rank may have failed with an error, after which its process
 * ended; then adds both causes. */
static void add_failure(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    char text[TEXT_SIZE];
    const struct tt_rank_status *its = tt_common_rank_status(roll->job, roll->common, rank),
                                *process = &roll->job->rank[rank].rank_status;
    add_cause(t, rank, tt_common_cause_text(roll->job, roll->common, rank, text, sizeof text));
    if (its == process || !tt_cause_ends(tt_rank_cause(process))) return;
    add(t, "; ");
    add_cause(t, rank, tt_job_cause_text(roll->job, rank, text, sizeof text));
}

/* Adds the error that every call of the rank returns, for a rank that counts as failed although its
 * process goes on. */
static void add_status(struct roll_text *t, const struct tt_roll *roll, int rank)
{
    const struct tt_rank_status *its = tt_common_rank_status(roll->job, roll->common, rank);
    add(t, "%s calls fail: %s; ", t->several ? "their" : "its",
        tutti_status_text((tutti_status)tt_rank_code(its)));
}

/* Returns a text if the process is gone or has ended, else NULL. `state` is also 0 while the
 * process has not published its pid, so `pid` is tested, too. several: the text is about several
 * ranks. */
static const char *process_fault(const struct tt_roll_rank *r, bool several)
{
    if (r->pid > 0 && r->state == 0)
        return several ? "their processes are gone" : "its process is gone";
    if (r->state != 'Z' && r->state != 'X') return NULL;
    return several ? "their processes have ended" : "its process has ended";
}

/* Returns whether the rank's process runs on this node and may make calls, even if all of them
 * fail: after an error such as a mismatch the rank counts as failed, although its process goes
 * on. */
static bool is_active(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_rank_status *process = &roll->job->rank[rank].rank_status;
    enum tt_rank_state state = tt_common_state(roll->job, roll->common, rank);
    if (!r->here || process_fault(r, false)) return false;
    if (state != TT_RANK_FAILED) return state != TT_RANK_LEFT;
    return atomic_load(&process->state) != TT_RANK_FAILED &&
           tt_rank_cause(tt_common_rank_status(roll->job, roll->common, rank)) == TT_CAUSE_STATUS;
}

/* Returns the time at which the rank completed the collective that its text names as its last one,
 * or 0 if that is not known. */
static int64_t outside_since(const struct tt_roll *roll, int rank)
{
    const struct tt_roll_rank *r = &roll->rank[rank];
    const struct tt_roll_team *last = r->here && !r->waits ? team_to_print(roll, rank) : NULL;
    bool in = false;
    for (int i = r->first; i < r->first + r->teams; i++) in = in || roll->team[i].is_in;
    /* Returns 0 also if the collective that ended last belongs to a request that is under way. */
    if (!last || in || last->id != r->ended_team || last->completed < last->done) return 0;
    if (!is_active(roll, rank)) return 0;
    return r->ended_ns;
}

static bool is_waiting(const struct tt_roll *roll, int rank)
{
    return roll->rank[rank].waits && is_active(roll, rank);
}

/* Writes what the rank does. several: the text is about several ranks that do the same. */
static char *doing(const struct tt_roll *roll, int rank, bool several, char *buffer, size_t n)
{
    struct roll_text t = {buffer, n, several};
    const struct tt_roll_rank *r = &roll->rank[rank];
    enum tt_rank_state state = tt_common_state(roll->job, roll->common, rank);
    const char *host = roll->job->rank[rank].host,
               *fault = r->here ? process_fault(r, several) : NULL;
    if (r->state == 'T' || r->state == 't') add(&t, "stopped, as by SIGSTOP; ");
    if (state == TT_RANK_FAILED && is_active(roll, rank)) add_status(&t, roll, rank);
    if (state == TT_RANK_FAILED && !is_active(roll, rank))
        add_failure(&t, roll, rank);
    else if (state == TT_RANK_LEFT)
        add(&t, "left by tutti_finalize");
    else if (!r->here)
        add(&t,
            roll->silent ? "no answer: stopped, or host %s cannot be reached"
                         : "on host %s: not seen from here",
            host[0] ? host : "?");
    else if (fault)
        add(&t, "%s", fault);
    else if (is_waiting(roll, rank))
        add_waiting(&t, roll, rank);
    else if (state == TT_RANK_ABSENT)
        add(&t, "%snot in tutti_init yet", add_elsewhere(&t, r) ? "; " : "");
    else
        add_outside(&t, roll, rank);
    return buffer;
}

char *tt_roll_doing(const struct tt_roll *roll, int rank, char *buffer, size_t n)
{
    return doing(roll, rank, false, buffer, n);
}

/* ---- All ranks ---- */

/* Ranks that do the same. They are printed in one line. */
struct group {
    const struct tt_roll *roll;
    const char *text; /* by rank: what the rank does, in TEXT_SIZE bytes */
    bool *members, *awaited;
    /* how long the ranks have waited, or have been outside the library; most_ns -1: not known */
    int64_t least_ns, most_ns;
    bool waits;  /* the ranks of the group wait */
    bool others; /* the group waits for more ranks than its activity lines can name */
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
    bool waits = is_waiting(g->roll, rank);
    g->waits = g->waits || waits;
    int64_t since_ns = waits ? r->is.since_ns : outside_since(g->roll, rank);
    if (since_ns == 0) return;
    int64_t ns = tt_max(0, g->roll->now_ns - since_ns);
    g->least_ns = tt_min(g->least_ns, ns);
    g->most_ns = tt_max(g->most_ns, ns);
    for (int i = 0; waits && i < TT_ACTIVITY_NAMED && i < r->is.waits; i++)
        if (r->is.waits_for[i] >= 0 && r->is.waits_for[i] < size)
            g->awaited[r->is.waits_for[i]] = true;
    g->others = g->others || (waits && r->is.waits > TT_ACTIVITY_NAMED);
}

/* Removes the members of the group from `awaited` if the group also waits for ranks outside of it:
 * the text then names only the ranks outside. Otherwise the members wait only for each other and
 * remain in `awaited`. */
static void leave_out_members(struct group *g)
{
    int size = g->roll->job->size, outside = 0;
    for (int r = 0; r < size; r++) outside += g->awaited[r] && !g->members[r];
    for (int r = 0; r < size && outside > 0; r++) g->awaited[r] = g->awaited[r] && !g->members[r];
}

/* Writes how long the group has waited, or how long ago its last collective ended. */
static char *time_text(const struct group *g, char *text, size_t n)
{
    double least = (double)g->least_ns / 1e9, most = (double)g->most_ns / 1e9;
    const char *before = g->waits ? "for " : "", *after = g->waits ? "" : " ago";
    text[0] = '\0';
    if (g->most_ns >= 0 && most - least < 0.1)
        snprintf(text, n, ", %s%.1f s%s", before, most, after);
    else if (g->most_ns >= 0)
        snprintf(text, n, ", %s%.1f to %.1f s%s", before, least, most, after);
    return text;
}

static void print_group(struct group *g, const char *before, FILE *out)
{
    char names[NAMES_SIZE], time[64], text[TEXT_SIZE];
    int size = g->roll->job->size, first = 0;
    while (!g->members[first]) first++;
    bool several = count_picked(g->members, size) > 1;
    fprintf(out, "%s%s: %s", before, tt_roll_names(g->members, size, names, sizeof names),
            doing(g->roll, first, several, text, sizeof text));
    fprintf(out, "%s", time_text(g, time, sizeof time));
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
        g->waits = g->others = false;
        for (int k = r; k < size; k++) {
            if (printed[k] || strcmp(text_of(g, k), text_of(g, r)) != 0) continue;
            printed[k] = true;
            join(g, k);
        }
        print_group(g, before, out);
    }
}

/* Prints one line for each group of ranks that do the same. Each line begins with `before`. node:
 * prints only the ranks of this node; -1: those of all nodes. */
static void print(const struct tt_roll *roll, int node, const char *before, FILE *out)
{
    size_t size = (size_t)roll->job->size;
    char *text = tt_calloc(size, TEXT_SIZE);
    bool *flags = tt_calloc(3 * size, sizeof *flags);
    struct group g = {.roll = roll, .text = text, .members = flags, .awaited = flags + size};
    for (size_t r = 0; text && flags && r < size; r++) {
        flags[2 * size + r] = node >= 0 && roll->job->rank[r].node != node;
        if (!flags[2 * size + r]) tt_roll_doing(roll, (int)r, text + r * TEXT_SIZE, TEXT_SIZE);
    }
    if (text && flags) print_groups(&g, flags + 2 * size, before, out);
    tt_free(text);
    tt_free(flags);
}

char *tt_roll_whole(const struct tt_roll *roll, int rank, char *buffer, size_t n)
{
    char names[NAMES_SIZE], time[64];
    tt_roll_doing(roll, rank, buffer, n);
    struct roll_text t = {.at = buffer + strlen(buffer), .left = n - strlen(buffer)};
    bool *flags = tt_calloc(2 * (size_t)roll->job->size, sizeof *flags);
    struct group g = {.roll = roll,
                      .members = flags,
                      .awaited = flags + roll->job->size,
                      .least_ns = INT64_MAX,
                      .most_ns = -1};
    if (flags) {
        join(&g, rank);
        add(&t, "%s", time_text(&g, time, sizeof time));
        if (count_picked(g.awaited, roll->job->size) > 0)
            add(&t, "; waits for %s%s",
                tt_roll_names(g.awaited, roll->job->size, names, sizeof names),
                g.others ? " and more" : "");
    }
    tt_free(flags);
    return buffer;
}

/* ---- All clients ---- */

/* A part of the roll call: the ranks of one node, or of all nodes (node -1). */
struct roll_part {
    struct tt_source source;
    struct tt_job_page *page; /* a copy */
    uint64_t about;           /* the team on which the asking rank waits; 0: the world */
    bool silent;              /* ranks of other hosts did not answer */
    int node;
};

static void print_client(const struct roll_part *p, int place, FILE *out)
{
    struct tt_roll roll;
    uint64_t number = atomic_load(&tt_common_at(p->page, place)->number);
    if (!number || tt_roll_read(&p->source, p->page, place, &roll) != TUTTI_OK) return;
    roll.about = p->about;
    roll.silent = p->silent;
    if (tt_roll_clients(p->page) > 1)
        fprintf(out, "tutti:   client %llu:\n", (unsigned long long)number - 1);
    print(&roll, p->node, "tutti:   ", out);
    tt_roll_free(&roll);
}

static void print_part(const struct roll_part *p, FILE *out)
{
    for (int i = 0; i < TT_CLIENTS; i++) print_client(p, i, out);
    if (tt_roll_clients(p->page) == 0)
        fprintf(out, "tutti:   no rank has called tutti_init, or all have left\n");
}

/* ---- Several hosts ---- */

enum { ANSWER_NS = 1000000000 };

static void print_host(const struct tt_job_page *page, int node, FILE *out)
{
    int r = 0;
    while (r < page->size - 1 && page->rank[r].node != node) r++;
    fprintf(out, "tutti:  host %s:\n", page->rank[r].host[0] ? page->rank[r].host : "?");
}

/* Where the answers of other nodes are printed, and the part of the roll that this node reads. */
struct hosts {
    struct roll_part mine;
    FILE *out;
};

/* Prints the answer of another node, `text`; or, if `text` is NULL, what this node knows of the
 * ranks of that node. asked: the node was asked. */
static void print_answer(void *arg, int node, bool asked, const char *text)
{
    const struct hosts *all = arg;
    struct roll_part p = all->mine;
    print_host(p.page, node, all->out);
    p.node = node;
    p.silent = asked;
    if (text)
        fputs(text, all->out);
    else
        print_part(&p, all->out);
}

static void print_all(struct tt_fabric *f, struct roll_part *p, FILE *out)
{
    struct hosts all = {*p, NULL};
    char *text = NULL;
    size_t n = 0;
    all.out = f && f->job->nodes > 1 ? open_memstream(&text, &n) : NULL;
    bool several = all.out && tt_inboxes_ask(f, tt_clock_ns() + ANSWER_NS, print_answer, &all);
    if (several) p->node = f->job->rank[f->me].node;
    if (several) print_host(p->page, p->node, out);
    print_part(p, out);
    if (all.out && fclose(all.out) == 0 && several) fputs(text, out);
    free(text);
}

/* ---- Printing or sending the roll ---- */

/* Copies memory that other ranks may be writing. Copies each word whole; the caller checks that
 * words which belong together are consistent. ThreadSanitizer must ignore this function: it does
 * race, and the caller checks the result. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static void
copy_words(void *to, const void *from, size_t n)
{
    const volatile uint64_t *word = from;
    size_t i = 0;
    for (; i + sizeof *word <= n; i += sizeof *word) {
        uint64_t one = *word++;
        __builtin_memcpy((char *)to + i, &one, sizeof one);
    }
    for (const volatile char *byte = (const volatile char *)word; i < n; i++)
        ((char *)to)[i] = *byte++;
}

static bool fetch_mapped(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    const struct tt_segment segment = {.base = (char *)s->base, .bytes = s->bytes};
    if (at % 8 || !tt_segment_holds(&segment, at, (int64_t)n)) return false;
    copy_words(to, (const char *)s->base + at, n);
    return true;
}

/* Returns a source that reads this process' own mapping. */
static struct tt_source source_mapped(const struct tt_segment *segment)
{
    return (struct tt_source){
        .fetch = fetch_mapped, .base = (uintptr_t)segment->base, .bytes = segment->bytes};
}

/* Returns the roll as text (*n bytes, for free()); NULL: no memory. With `f`, asks other hosts.
 * about: the team on which the asking rank waits. node: only the ranks of this node; -1: all. */
static char *compose(const struct tt_segment *segment, struct tt_fabric *f, const char *heading,
                     uint64_t about, int node, size_t *n)
{
    char *text = NULL;
    struct roll_part p = {.source = source_mapped(segment), .about = about, .node = node};
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    if (heading) fprintf(out, "tutti: %s\n", heading);
    if (tt_roll_page(&p.source, &p.page) == TUTTI_OK) {
        print_all(f, &p, out);
        tt_free(p.page);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static void call(const struct tt_segment *segment, struct tt_fabric *f, const char *heading,
                 uint64_t about)
{
    size_t n = 0;
    char *text = compose(segment, f, heading, about, -1, &n);
    ssize_t written = text ? write(STDERR_FILENO, text, n) : 0;
    (void)written; /* the error cannot be reported: stderr is what failed */
    free(text);
}

void tt_roll_call(const struct tt_segment *segment, const char *heading)
{
    call(segment, NULL, heading, 0);
}

void tt_roll_call_waiting(struct tt_fabric *f, const struct tt_waiting *waiting)
{
    char heading[160];
    const char *host = f->job->rank[f->me].host;
    double waited = (double)(tt_clock_ns() - waiting->is.moved_ns) / 1e9;
    locale_t former = tt_locale_enter(); /* prints the setting as it must be written */
    snprintf(heading, sizeof heading,
             "[rank %d] has waited for %.1f s (TUTTI_WATCHDOG=%g)%s%.64s: roll call", f->me, waited,
             (double)f->watchdog_ns / 1e9, host[0] ? " on " : "", host);
    tt_locale_leave(former);
    call(f->segment, f, heading, waiting->is.team);
}

/* Sends the roll over the connection, and records that the roll was called now: ranks of this node
 * whose waits the answer shows need not call the roll themselves. */
void tt_roll_answer(struct tt_fabric *f, int connection)
{
    size_t n = 0;
    char *text = compose(f->segment, NULL, NULL, 0, f->job->rank[f->me].node, &n);
    for (int i = 0; i < TT_CLIENTS; i++)
        atomic_store(&tt_common_at(f->job, i)->called_ns, tt_clock_ns());
    tt_question_answer(connection, text ? text : "", text ? n : 0);
    free(text);
}
