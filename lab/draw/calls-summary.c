/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups calls of the same kind, and prints the tables of a run as text.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "draw/calls.h"
#include "draw/svg.h"

/* ---- Calls of the same kind ---- */

static int order_of(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_shapes(const struct tt_call_bar *x, const struct tt_call_bar *y)
{
    int order = order_of(x->coll, y->coll);
    if (!order) order = order_of(x->team, y->team);
    if (!order) order = order_of(x->bytes, y->bytes);
    if (!order) order = order_of(x->type, y->type);
    if (!order) order = order_of(x->op, y->op);
    if (!order) order = order_of(x->root, y->root);
    return order ? order : order_of(x->algorithm, y->algorithm);
}

static int by_shape(const void *a, const void *b)
{
    const struct tt_call_sample *x = a, *y = b;
    int order = compare_shapes(x->bar, y->bar);
    if (!order) order = order_of(x->group->late, y->group->late);
    return order ? order : order_of(x->group->begin_ps, y->group->begin_ps);
}

static int by_wait(const void *a, const void *b)
{
    const struct tt_call_shape *x = a, *y = b;
    int order = order_of(y->waited_ps, x->waited_ps);
    if (!order) order = order_of(y->time_ps, x->time_ps);
    return order ? order : order_of(x->begin_ps, y->begin_ps);
}

static void add_sample(struct tt_call_shape *shape, const struct tt_call_group *group, int64_t same)
{
    shape->n++;
    shape->time_ps += group->longest_ps;
    shape->waited_ps += group->waited_ps;
    shape->blocked |= group->blocked;
    shape->shortest_ps = tt_min(shape->shortest_ps, group->longest_ps);
    shape->longest_ps = tt_max(shape->longest_ps, group->longest_ps);
    shape->begin_ps = tt_min(shape->begin_ps, group->begin_ps);
    if ((group->n < 2 && !group->missing) || same <= shape->late_n) return;
    shape->late = group->late;
    shape->late_n = same;
}

/* Makes the entries of shape[]: each is the sum of those samples (one for each execution) that have
 * this shape. Returns the number of shapes. The samples must be sorted by shape, and the samples of
 * a shape by the rank that came late. */
static int64_t add_samples(const struct tt_call_sample *sample, int64_t n,
                           struct tt_call_shape *shape)
{
    int64_t shapes = 0, same = 0;
    for (int64_t i = 0; i < n; i++) {
        bool fresh = i == 0 || compare_shapes(sample[i].bar, sample[i - 1].bar) != 0;
        bool other = fresh || sample[i].group->late != sample[i - 1].group->late;
        if (fresh)
            shape[shapes++] = (struct tt_call_shape){
                .bar = sample[i].bar, .shortest_ps = INT64_MAX, .begin_ps = INT64_MAX, .late = -1};
        same = other ? 1 : same + 1;
        add_sample(&shape[shapes - 1], sample[i].group, same);
    }
    return shapes;
}

tutti_status tt_calls_shapes(const struct tt_calls *c, struct tt_call_shape **shape, int64_t *n)
{
    struct tt_call_sample *sample = tt_calloc((size_t)c->groups + 1, sizeof *sample);
    *n = 0;
    *shape = tt_calloc((size_t)c->groups + 1, sizeof **shape);
    if (!sample || !*shape) {
        tt_free(sample);
        tt_free(*shape);
        *shape = NULL;
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the calls of a run");
    }
    for (int64_t g = 0; g < c->groups; g++)
        sample[g] = (struct tt_call_sample){&c->group[g], &c->bar[c->group[g].first]};
    if (c->groups) qsort(sample, (size_t)c->groups, sizeof *sample, by_shape);
    *n = add_samples(sample, c->groups, *shape);
    if (*n) qsort(*shape, (size_t)*n, sizeof **shape, by_wait);
    tt_free(sample);
    return TUTTI_OK;
}

static int by_waited(const void *a, const void *b)
{
    const struct tt_call_group *x = *(struct tt_call_group *const *)a;
    const struct tt_call_group *y = *(struct tt_call_group *const *)b;
    int order = order_of(y->waited_ps, x->waited_ps);
    return order ? order : order_of(x->begin_ps, y->begin_ps);
}

int64_t tt_calls_longest(const struct tt_calls *c, int64_t most, const struct tt_call_group **found)
{
    const struct tt_call_group **all =
        tt_calloc((size_t)c->groups + 1, sizeof(const struct tt_call_group *));
    int64_t n = tt_min(most, c->groups);
    if (!all) return 0;
    for (int64_t g = 0; g < c->groups; g++) all[g] = &c->group[g];
    if (c->groups) qsort(all, (size_t)c->groups, sizeof(const struct tt_call_group *), by_waited);
    if (n) memcpy(found, all, (size_t)n * sizeof(const struct tt_call_group *));
    tt_free(all);
    return n;
}

/* ---- Text ---- */

/* Prints the text in a column of `wide` characters, aligned at the right. If `wide` is negative,
 * the column has -`wide` characters, and the text is aligned at the left. */
static void column(FILE *out, int wide, const char *text)
{
    int letters = 0;
    for (const char *at = text; *at; at++) letters += (*at & 0xc0) != 0x80;
    int blank = (int)tt_max(0, (wide < 0 ? -wide : wide) - letters);
    fprintf(out, "%*s%s%*s  ", wide < 0 ? 0 : blank, "", text, wide < 0 ? blank : 0, "");
}

static void time_column(FILE *out, int64_t ps)
{
    char text[32];
    column(out, 9, ps ? tt_svg_time_text(text, (double)ps) : "0");
}

__attribute__((format(printf, 3, 4))) static void text_column(FILE *out, int wide,
                                                              const char *format, ...)
{
    char text[128];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    column(out, wide, text);
}

static void rank_line(const struct tt_call_rank *r, int64_t whole_ps, FILE *out)
{
    int64_t until = r->ended || !r->last_ps ? whole_ps : r->last_ps;
    text_column(out, 5, "%d", r->rank);
    text_column(out, 7, "%" PRId64, r->calls);
    time_column(out, r->in_ps);
    time_column(out, tt_max(0, until - r->in_ps));
    time_column(out, r->waited_ps);
    time_column(out, r->caused_ps);
    text_column(out, 9, "%" PRId64, r->came_late);
    fprintf(out, "%s\n", tt_calls_end_text(r));
}

static void print_ranks(const struct tt_calls *c, int64_t whole_ps, int most, FILE *out)
{
    fprintf(out, "\n rank    calls   in calls    outside     waited  caused to   came late\n"
                 "                                                  wait\n");
    for (int64_t i = 0; i < c->ranks && i < most; i++) rank_line(&c->rank[i], whole_ps, out);
    if (c->ranks > most) fprintf(out, "  ... and %" PRId64 " more\n", c->ranks - most);
}

static void shape_line(const struct tt_calls *c, const struct tt_call_shape *s, FILE *out)
{
    char text[96];
    text_column(out, 6, "%" PRId64, s->n);
    column(out, -32, tt_calls_text(c, s->bar, text, sizeof text));
    column(out, -14, c->name[s->bar->algorithm]);
    column(out, -14, c->team[s->bar->team].label);
    time_column(out, s->shortest_ps);
    time_column(out, s->time_ps / s->n);
    time_column(out, s->longest_ps);
    column(out, 11,
           s->waited_ps ? tt_svg_time_text(text, (double)s->waited_ps)
                        : tt_calls_no_wait_text(s->blocked));
    if (s->late_n) fprintf(out, "rank %d (%" PRId64 " of %" PRId64 ")", s->late, s->late_n, s->n);
    fputc('\n', out);
}

static void print_shapes(const struct tt_calls *c, int most, FILE *out)
{
    struct tt_call_shape *shape;
    int64_t n;
    if (tt_calls_shapes(c, &shape, &n) != TUTTI_OK) return;
    fprintf(out, "\n times  %-32s  %-14s  %-14s  %9s  %9s  %9s  %11s  came late\n", "call", "by",
            "team", "shortest", "mean", "longest", "waited");
    for (int64_t i = 0; i < n && i < most; i++) shape_line(c, &shape[i], out);
    if (n > most) fprintf(out, "  ... and %" PRId64 " more\n", n - most);
    tt_free(shape);
}

static void print_longest(const struct tt_calls *c, FILE *out)
{
    enum { MOST = 8 };
    const struct tt_call_group *found[MOST];
    int64_t n = tt_calls_longest(c, MOST, found);
    char text[96], when[32], number[TT_CALLS_COUNT];
    fprintf(out, "\nThe calls that were waited in most:\n");
    for (int64_t i = 0; i < n && found[i]->waited_ps > 0; i++) {
        const struct tt_call_group *g = found[i];
        const struct tt_call_bar *bar = &c->bar[g->first];
        time_column(out, g->waited_ps);
        fprintf(out, "%s, %s of %s, at %s: ", tt_calls_text(c, bar, text, sizeof text),
                tt_calls_number_text(bar, number), c->team[bar->team].label,
                tt_svg_time_text(when, (double)g->begin_ps));
        if (g->missing)
            fprintf(out, "rank %d %s\n", g->late, tt_calls_missing_text(c, g));
        else
            fprintf(out, "rank %d came late, %s behind the one before\n", g->late,
                    tt_svg_time_text(when, (double)g->late_ps));
    }
}

void tt_calls_lost(const struct tt_calls *c, int ranks, char *text, size_t n)
{
    int64_t steps = 0, calls = c->left_out, silent = ranks, broken = 0;
    for (int64_t i = 0; i < c->ranks; i++) {
        steps += c->rank[i].lost_steps;
        calls += c->rank[i].lost_calls;
        broken += c->rank[i].cut;
        silent -= c->rank[i].said && (i == 0 || c->rank[i].rank != c->rank[i - 1].rank);
    }
    size_t at = 0;
    text[0] = '\0';
    if (steps || calls)
        at += (size_t)snprintf(text, n, "not recorded: %" PRId64 " calls, %" PRId64 " steps", calls,
                               steps);
    if (silent > 0 && at < n)
        at += (size_t)snprintf(text + at, n - at, "%s%" PRId64 " of %d ranks have no trace",
                               at ? "; " : "", silent, ranks);
    if (broken && at < n)
        snprintf(text + at, n - at, "%sthe files of %" PRId64 " ranks are cut off", at ? "; " : "",
                 broken);
}

void tt_calls_clocks(const struct tt_calls *c, char *text, size_t n)
{
    char error[32];
    if (c->clocks < 2)
        snprintf(text, n, "one clock");
    else if (c->clock_error_ps < 0)
        snprintf(text, n, "%d clocks, put together by the time of day", c->clocks);
    else
        snprintf(text, n, "%d clocks, put together by the calls to %s", c->clocks,
                 tt_svg_time_text(error, (double)c->clock_error_ps));
}

void tt_calls_summary(const struct tt_calls *c, int ranks, int64_t whole_ps, int most, FILE *out)
{
    char time[32], clocks[96], lost[160];
    tt_calls_clocks(c, clocks, sizeof clocks);
    tt_calls_lost(c, ranks, lost, sizeof lost);
    fprintf(out, "%d ranks, %" PRId64 " collectives of %" PRId64 " team%s in %s (%s)\n", ranks,
            c->groups, c->teams, c->teams == 1 ? "" : "s", tt_svg_time_text(time, (double)whole_ps),
            clocks);
    if (lost[0]) fprintf(out, "%s\n", lost);
    print_ranks(c, whole_ps, most, out);
    print_shapes(c, most, out);
    print_longest(c, out);
}
