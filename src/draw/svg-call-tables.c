/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables below a picture of calls: where the time of each rank went, and who was waited for in
 * which calls.
 *
 */
#include <inttypes.h>

#include "draw/svg-calls.h"
#include "draw/svg.h"

enum { LINE = 17, EACH = 24, MOST = 16, WIDTH = 1128 };

struct table {
    const struct tt_calls *calls;
    FILE *out;
    double y;
};

static void left(const struct table *t, double x, const char *class, const char *text)
{
    tt_svg_text(x, t->y, class, "start", text, t->out);
}

static void right(const struct table *t, double x, const char *class, const char *text)
{
    tt_svg_text(x, t->y, class, "end", text, t->out);
}

static void time_at(const struct table *t, double x, int64_t ps)
{
    char text[32];
    right(t, x, "minor", ps ? tt_svg_time_text(text, (double)ps) : "0");
}

static void count_at(const struct table *t, double x, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, n);
    right(t, x, "minor", text);
}

static void rule(struct table *t)
{
    fprintf(t->out, "<path class=\"line\" d=\"M%d %.1fh%d\"/>\n", TT_SVG_MARGIN, t->y + 5, WIDTH);
    t->y += LINE + 3;
}

static void tell_more(struct table *t, int64_t n, int64_t most, const char *what)
{
    char text[96];
    if (n <= most) return;
    snprintf(text, sizeof text, "and %" PRId64 " more %s: --what summary prints all", n - most,
             what);
    left(t, TT_SVG_MARGIN, "minor", text);
    t->y += LINE;
}

/* ---- Ranks ---- */

static void rank_line(struct table *t, const struct tt_call_rank *r, int64_t whole_ps)
{
    char text[48];
    int64_t until = r->ended || !r->last_ps ? whole_ps : r->last_ps;
    if (r->client)
        snprintf(text, sizeof text, "rank %d, client %d", r->rank, r->client);
    else
        snprintf(text, sizeof text, "rank %d", r->rank);
    left(t, TT_SVG_MARGIN, "minor", text);
    count_at(t, 176, r->calls);
    time_at(t, 280, r->in_ps);
    time_at(t, 400, tt_max(0, until - r->in_ps));
    time_at(t, 530, r->waited_ps);
    count_at(t, 640, r->came_last);
    time_at(t, 790, r->caused_ps);
    left(t, 820, "end-text", tt_calls_end_text(r));
    t->y += LINE;
}

static void ranks(struct table *t, int64_t whole_ps)
{
    const struct tt_calls *c = t->calls;
    left(t, TT_SVG_MARGIN, "strong", "Where the time of each rank went");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN, "minor", "rank");
    right(t, 176, "minor", "calls");
    right(t, 280, "minor", "in calls");
    right(t, 400, "minor", "in the application");
    right(t, 530, "minor", "waited for others");
    right(t, 640, "minor", "came last");
    right(t, 790, "minor", "others waited for it");
    rule(t);
    for (int64_t i = 0; i < c->ranks && i < MOST; i++) rank_line(t, &c->rank[i], whole_ps);
    tell_more(t, c->ranks, MOST, "ranks");
}

/* ---- Calls ---- */

static void call_names(const struct table *t, const struct tt_call_bar *bar)
{
    const struct tt_calls *c = t->calls;
    char text[96];
    fprintf(t->out, "<rect class=\"call r%d\" x=\"%d\" y=\"%.1f\" width=\"10\" height=\"10\"/>\n",
            tt_svg_call_colour(c->name[bar->coll]), TT_SVG_MARGIN, t->y - 9);
    left(t, TT_SVG_MARGIN + 16, "minor", tt_calls_text(c, bar, text, sizeof text));
    left(t, 262, "minor", c->name[bar->algorithm]);
    snprintf(text, sizeof text, "%.24s", c->team[bar->team].label);
    left(t, 372, "minor", text);
}

/* Who came last, and how much later than the one before. */
static void late(const struct table *t, const struct tt_call_group *g)
{
    char text[96], by[32];
    snprintf(text, sizeof text, "rank %d never came", g->late);
    if (g->missing) left(t, 880, "end-text", text);
    if (g->n < 2 || g->missing) return;
    snprintf(text, sizeof text, "rank %d, by %s", g->late,
             g->late_ps ? tt_svg_time_text(by, (double)g->late_ps) : "0");
    left(t, 880, "minor", text);
}

static void group_line(struct table *t, const struct tt_call_group *g)
{
    const struct tt_call_bar *bar = &t->calls->bar[g->first];
    call_names(t, bar);
    count_at(t, 560, bar->execution);
    time_at(t, 640, g->begin_ps);
    time_at(t, 720, g->shortest_ps);
    time_at(t, 790, g->median_ps);
    time_at(t, 860, g->longest_ps);
    late(t, g);
    time_at(t, 1144, g->waited_ps);
    if (g->open && !g->missing) right(t, 1066, "end-text", "not ended");
    t->y += LINE;
}

static void groups(struct table *t)
{
    const struct tt_calls *c = t->calls;
    left(t, TT_SVG_MARGIN, "strong", "The calls, and who came last to them");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN + 16, "minor", "call");
    left(t, 262, "minor", "by");
    left(t, 372, "minor", "team");
    right(t, 560, "minor", "execution");
    right(t, 640, "minor", "began");
    right(t, 720, "minor", "shortest");
    right(t, 790, "minor", "median");
    right(t, 860, "minor", "longest");
    left(t, 880, "minor", "came last");
    right(t, 1144, "minor", "waited in all");
    rule(t);
    for (int64_t g = 0; g < c->groups; g++) group_line(t, &c->group[g]);
}

static void shape_line(struct table *t, const struct tt_call_shape *s)
{
    char text[64];
    call_names(t, s->bar);
    count_at(t, 560, s->n);
    time_at(t, 720, s->shortest_ps);
    time_at(t, 790, s->time_ps / s->n);
    time_at(t, 860, s->longest_ps);
    snprintf(text, sizeof text, "rank %d, %" PRId64 " time%s", s->late, s->late_n,
             s->late_n == 1 ? "" : "s");
    if (s->late_n) left(t, 880, "minor", text);
    time_at(t, 1144, s->waited_ps);
    t->y += LINE;
}

static void shapes(struct table *t)
{
    struct tt_call_shape *shape;
    int64_t n;
    if (tt_calls_shapes(t->calls, &shape, &n) != TUTTI_OK) return;
    left(t, TT_SVG_MARGIN, "strong", "The calls, those that are alike together");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN + 16, "minor", "call");
    left(t, 262, "minor", "by");
    left(t, 372, "minor", "team");
    right(t, 560, "minor", "times");
    right(t, 720, "minor", "shortest");
    right(t, 790, "minor", "mean");
    right(t, 860, "minor", "longest");
    left(t, 880, "minor", "most often last");
    right(t, 1144, "minor", "waited in all");
    rule(t);
    for (int64_t i = 0; i < n && i < EACH; i++) shape_line(t, &shape[i]);
    tell_more(t, n, EACH, "kinds of calls");
    tt_free(shape);
}

/* ---- Both ---- */

static double lines_of(const struct tt_calls *c)
{
    struct tt_call_shape *shape;
    int64_t n = c->groups;
    if (c->groups > EACH && tt_calls_shapes(c, &shape, &n) == TUTTI_OK) tt_free(shape);
    return (double)(tt_min(c->ranks, MOST + 1) + tt_min(n, EACH + 1));
}

double tt_svg_call_tables_height(const struct tt_calls *calls)
{
    return lines_of(calls) * LINE + 2 * (2 * LINE + 5) + 24 + LINE;
}

void tt_svg_call_tables(const struct tt_calls *calls, int64_t whole_ps, double y, FILE *out)
{
    struct table t = {calls, out, y};
    ranks(&t, whole_ps);
    t.y += LINE;
    if (calls->groups > EACH)
        shapes(&t);
    else
        groups(&t);
}
