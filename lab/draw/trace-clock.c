/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts the clocks of several hosts to one, without any time service. It uses the collectives in
 * which every rank needs data of every other rank: a rank leaves such a call only after all ranks
 * have entered it. So if clock b is ahead of clock a by `offset`, each execution of such a
 * collective gives
 *
 *     begin on b - offset <= end on a      and      begin on a <= end on b - offset
 *
 * where, on each clock, `begin` is the time at which the last of the ranks with this clock entered
 * the call, and `end` is the time at which the first of these ranks left it. All executions
 * together leave an interval for the offset. Its middle is taken as the offset, and half its length
 * is the error. If two clocks share no such call, their times of day are compared, which are as
 * exact as the hosts keep them.
 */
#include <stdlib.h>
#include <string.h>

#include "draw/trace.h"

/* An execution as the ranks with one clock have seen it: when the last of them entered the call,
 * and when the first of them left it. */
struct sight {
    uint64_t execution;
    int32_t team, clock;
    int64_t last_begin_ns, first_end_ns;
};

struct interval {
    int64_t least, most; /* in ns; most < least: no offset fits all executions */
};

static bool needs_all(const char *coll)
{
    static const char *const names[] = {"barrier",    "allreduce",      "allgather",
                                        "allgatherv", "reduce_scatter", "reduce_scatter_block",
                                        "alltoall",   "alltoallv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(coll, names[i]) == 0) return true;
    return false;
}

static int clock_of(const struct tt_trace *t, int rank)
{
    for (int64_t i = 0; i < t->said; i++)
        if (t->rank[i].rank == rank && t->rank[i].said) return t->rank[i].clock;
    return -1;
}

static int in_order(const void *a, const void *b)
{
    const struct sight *x = a, *y = b;
    if (x->team != y->team) return x->team < y->team ? -1 : 1;
    if (x->execution != y->execution) return x->execution < y->execution ? -1 : 1;
    return (x->clock > y->clock) - (x->clock < y->clock);
}

/* Merges entries for the same execution and clock into one. Returns how many entries are left. */
static int64_t merge(struct sight *s, int64_t n)
{
    int64_t kept = 0;
    if (n) qsort(s, (size_t)n, sizeof *s, in_order);
    for (int64_t i = 0; i < n; i++) {
        if (kept && in_order(&s[kept - 1], &s[i]) == 0) {
            s[kept - 1].last_begin_ns = tt_max(s[kept - 1].last_begin_ns, s[i].last_begin_ns);
            s[kept - 1].first_end_ns = tt_min(s[kept - 1].first_end_ns, s[i].first_end_ns);
        } else {
            s[kept++] = s[i];
        }
    }
    return kept;
}

static int64_t ns_of(int64_t us, int64_t ps)
{
    return us * 1000 + ps / 1000;
}

static int64_t see(const struct tt_trace *t, const int *clock, struct sight *sight)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->calls; i++) {
        const struct tt_trace_call *c = &t->call[i];
        if (c->open || c->status || clock[c->rank] < 0 || !needs_all(t->name[c->coll])) continue;
        sight[n++] =
            (struct sight){.execution = c->execution,
                           .team = c->team,
                           .clock = clock[c->rank],
                           .last_begin_ns = ns_of(c->us, c->ps),
                           .first_end_ns = ns_of(c->us, c->ps) + ns_of(c->dur_us, c->dur_ps)};
    }
    return merge(sight, n);
}

/* Narrows, for each clock, the interval of its possible offsets from clock 0. It uses the
 * executions in which both ranks with clock 0 and ranks with that clock took part. */
static void narrow(const struct sight *s, int64_t n, struct interval *of)
{
    for (int64_t i = 0, base = 0; i < n; i++) {
        if (s[i].team != s[base].team || s[i].execution != s[base].execution) base = i;
        if (s[base].clock != 0 || i == base) continue;
        struct interval *x = &of[s[i].clock];
        x->least = tt_max(x->least, s[i].last_begin_ns - s[base].first_end_ns);
        x->most = tt_min(x->most, s[i].first_end_ns - s[base].last_begin_ns);
    }
}

static int64_t wall_of(const struct tt_trace *t, int clock)
{
    for (int64_t i = 0; i < t->said; i++)
        if (t->rank[i].clock == clock) return t->rank[i].wall_ns;
    return 0;
}

/* Returns the largest error of an offset: half the length of its interval, limited to the latest
 * time that a picture can have. */
static int64_t error_ps(const struct interval *x)
{
    return tt_min((x->most - x->least) / 2, TT_TRACE_MOST_US * 1000) * 1000;
}

static void settle(struct tt_trace *t, const struct interval *of, int64_t *ahead_ns)
{
    t->clock_error_ps = 0;
    for (int c = 1; c < t->clocks; c++) {
        bool known =
            of[c].least <= of[c].most && of[c].least > INT64_MIN / 4 && of[c].most < INT64_MAX / 4;
        if (known) {
            ahead_ns[c] = of[c].least + (of[c].most - of[c].least) / 2;
            if (t->clock_error_ps >= 0)
                t->clock_error_ps = tt_max(t->clock_error_ps, error_ps(&of[c]));
        } else {
            ahead_ns[c] = wall_of(t, 0) - wall_of(t, c);
            t->clock_error_ps = -1;
        }
    }
}

/* Adds `ns` to a time. All times are converted to the clock that is furthest ahead. So `ns` is not
 * negative, and no time becomes negative. */
static void move(int64_t *us, int32_t *ps, int64_t ns)
{
    int64_t whole = ns / 1000, rest = ns % 1000 * 1000 + *ps;
    *us += whole + (rest < 0 ? -1 : rest / 1000000);
    *ps = (int32_t)(rest < 0 ? rest + 1000000 : rest % 1000000);
}

static void move_all(struct tt_trace *t, const int *clock, const int64_t *ahead_ns)
{
    int64_t up = 0;
    for (int c = 0; c < t->clocks; c++) up = tt_max(up, ahead_ns[c]);
    for (int64_t i = 0; i < t->events; i++) {
        int c = clock[t->event[i].rank];
        move(&t->event[i].us, &t->event[i].ps, up - (c >= 0 ? ahead_ns[c] : 0));
    }
    for (int64_t i = 0; i < t->calls; i++) {
        int c = clock[t->call[i].rank];
        int64_t by = up - (c >= 0 ? ahead_ns[c] : 0);
        move(&t->call[i].us, &t->call[i].ps, by);
        if (t->call[i].blocked) move(&t->call[i].blocked_us, &t->call[i].blocked_ps, by);
    }
    for (int64_t i = 0; i < t->said; i++) {
        int c = t->rank[i].clock;
        if (t->rank[i].said)
            move(&t->rank[i].last_us, &t->rank[i].last_ps, up - (c >= 0 ? ahead_ns[c] : 0));
    }
}

tutti_status tt_trace_align(struct tt_trace *t)
{
    int64_t ahead_ns[TT_TRACE_CLOCKS] = {0};
    struct interval of[TT_TRACE_CLOCKS];
    if (t->clocks < 2) return TUTTI_OK;
    int *clock = tt_calloc((size_t)t->ranks + 1, sizeof *clock);
    struct sight *sight = tt_calloc((size_t)t->calls + 1, sizeof *sight);
    bool good = clock && sight;
    for (int c = 0; c < TT_TRACE_CLOCKS; c++)
        of[c] = (struct interval){INT64_MIN / 2, INT64_MAX / 2};
    for (int r = 0; good && r < t->ranks; r++) clock[r] = clock_of(t, r);
    if (good) {
        narrow(sight, see(t, clock, sight), of);
        settle(t, of, ahead_ns);
        move_all(t, clock, ahead_ns);
    }
    tt_free(clock);
    tt_free(sight);
    return good ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory to put clocks together");
}
