/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of a real run: a lane for each rank, time from left to right, a bar for each call. A
 * bar is pale while the rank waits for other ranks to enter the call, and has its full colour once
 * the last of them has entered it. The lane of a rank has up to ROWS rows, so that calls of
 * different teams, and calls that overlap, lie in different rows as far as possible. The time
 * between bars is spent in the application.
 */
#include "draw/calls.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "draw/svg.h"

static int call_colour(const char *coll);

/* ---- The tables ---- */

/* This section writes the tables below a picture of calls: where the time of each rank went, and
 * which ranks came late to which calls. */

enum { LINE = 17, EACH = 24, MOST = 16, WIDTH = 1128 };

struct svg_call_tables_table {
    const struct tt_calls *calls;
    FILE *out;
    double y;
};

static void left(const struct svg_call_tables_table *t, double x, const char *class,
                 const char *text)
{
    tt_svg_text(x, t->y, class, "start", text, t->out);
}

static void right(const struct svg_call_tables_table *t, double x, const char *class,
                  const char *text)
{
    tt_svg_text(x, t->y, class, "end", text, t->out);
}

static void time_at(const struct svg_call_tables_table *t, double x, int64_t ps)
{
    char text[32];
    right(t, x, "minor", ps ? tt_svg_time_text(text, (double)ps) : "0");
}

static void waited_at(const struct svg_call_tables_table *t, int64_t ps, bool blocked)
{
    char text[32];
    right(t, 1144, "minor",
          ps ? tt_svg_time_text(text, (double)ps) : tt_calls_no_wait_text(blocked));
}

static void count_at(const struct svg_call_tables_table *t, double x, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, n);
    right(t, x, "minor", text);
}

static void rule(struct svg_call_tables_table *t)
{
    fprintf(t->out, "<path class=\"line\" d=\"M%d %.1fh%d\"/>\n", TT_SVG_MARGIN, t->y + 5, WIDTH);
    t->y += LINE + 3;
}

static void write_more(struct svg_call_tables_table *t, int64_t n, int64_t most, const char *what)
{
    char text[96];
    if (n <= most) return;
    snprintf(text, sizeof text, "and %" PRId64 " more %s: --what summary prints all", n - most,
             what);
    left(t, TT_SVG_MARGIN, "minor", text);
    t->y += LINE;
}

/* ---- The table of ranks ---- */

static void rank_line(struct svg_call_tables_table *t, const struct tt_call_rank *r,
                      int64_t whole_ps)
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
    count_at(t, 640, r->came_late);
    time_at(t, 790, r->caused_ps);
    left(t, 820, r->runs ? "minor" : "end-text", tt_calls_end_text(r));
    t->y += LINE;
}

static void ranks(struct svg_call_tables_table *t, int64_t whole_ps)
{
    const struct tt_calls *c = t->calls;
    left(t, TT_SVG_MARGIN, "strong", "Where the time of each rank went");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN, "minor", "rank");
    right(t, 176, "minor", "calls");
    right(t, 280, "minor", "in calls");
    right(t, 400, "minor", "in the application");
    right(t, 530, "minor", "waited for others");
    right(t, 640, "minor", "came late");
    right(t, 790, "minor", "others waited for it");
    rule(t);
    for (int64_t i = 0; i < c->ranks && i < MOST; i++) rank_line(t, &c->rank[i], whole_ps);
    write_more(t, c->ranks, MOST, "ranks");
}

/* ---- The table of calls ---- */

static void call_names(const struct svg_call_tables_table *t, const struct tt_call_bar *bar)
{
    const struct tt_calls *c = t->calls;
    char text[96];
    fprintf(t->out, "<rect class=\"call r%d\" x=\"%d\" y=\"%.1f\" width=\"10\" height=\"10\"/>\n",
            call_colour(c->name[bar->coll]), TT_SVG_MARGIN, t->y - 9);
    left(t, TT_SVG_MARGIN + 16, "minor", tt_calls_text(c, bar, text, sizeof text));
    left(t, 262, "minor", c->name[bar->algorithm]);
    snprintf(text, sizeof text, "%.24s", c->team[bar->team].label);
    left(t, 372, "minor", text);
}

/* Writes which rank came late, and how much later it came than the rank before it. */
static void late(const struct svg_call_tables_table *t, const struct tt_call_group *g)
{
    char text[96], by[32];
    snprintf(text, sizeof text, "rank %d %s", g->late, tt_calls_missing_text(t->calls, g));
    if (g->missing) left(t, 880, "end-text", text);
    if (g->n < 2 || g->missing) return;
    snprintf(text, sizeof text, "rank %d, by %s", g->late,
             g->late_ps ? tt_svg_time_text(by, (double)g->late_ps) : "0");
    left(t, 880, "minor", text);
}

static void group_line(struct svg_call_tables_table *t, const struct tt_call_group *g)
{
    const struct tt_call_bar *bar = &t->calls->bar[g->first];
    call_names(t, bar);
    count_at(t, 560, tt_calls_number(bar));
    time_at(t, 640, g->begin_ps);
    time_at(t, 720, g->shortest_ps);
    time_at(t, 790, g->median_ps);
    time_at(t, 860, g->longest_ps);
    late(t, g);
    waited_at(t, g->waited_ps, g->blocked);
    if (g->open && !g->missing) right(t, 1066, "end-text", "not ended");
    t->y += LINE;
}

static void groups(struct svg_call_tables_table *t)
{
    const struct tt_calls *c = t->calls;
    left(t, TT_SVG_MARGIN, "strong", "The calls, and who came late to them");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN + 16, "minor", "call");
    left(t, 262, "minor", "by");
    left(t, 372, "minor", "team");
    right(t, 560, "minor", "execution");
    right(t, 640, "minor", "began");
    right(t, 720, "minor", "shortest");
    right(t, 790, "minor", "median");
    right(t, 860, "minor", "longest");
    left(t, 880, "minor", "came late");
    right(t, 1144, "minor", "waited in all");
    rule(t);
    for (int64_t g = 0; g < c->groups; g++) group_line(t, &c->group[g]);
}

static void shape_line(struct svg_call_tables_table *t, const struct tt_call_shape *s)
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
    waited_at(t, s->waited_ps, s->blocked);
    t->y += LINE;
}

static void shapes(struct svg_call_tables_table *t)
{
    struct tt_call_shape *shape;
    int64_t n;
    if (tt_calls_shapes(t->calls, &shape, &n) != TUTTI_OK) return;
    left(t, TT_SVG_MARGIN, "strong", "The calls, grouped by kind");
    t->y += LINE + 2;
    left(t, TT_SVG_MARGIN + 16, "minor", "call");
    left(t, 262, "minor", "by");
    left(t, 372, "minor", "team");
    right(t, 560, "minor", "times");
    right(t, 720, "minor", "shortest");
    right(t, 790, "minor", "mean");
    right(t, 860, "minor", "longest");
    left(t, 880, "minor", "most often late");
    right(t, 1144, "minor", "waited in all");
    rule(t);
    for (int64_t i = 0; i < n && i < EACH; i++) shape_line(t, &shape[i]);
    write_more(t, n, EACH, "kinds of calls");
    tt_free(shape);
}

/* ---- Both tables together ---- */

static double lines_of(const struct tt_calls *c)
{
    struct tt_call_shape *shape;
    int64_t n = c->groups;
    if (c->groups > EACH && tt_calls_shapes(c, &shape, &n) == TUTTI_OK) tt_free(shape);
    return (double)(tt_min(c->ranks, MOST + 1) + tt_min(n, EACH + 1));
}

/* Returns the height of the tables of ranks and of calls. In a short run, the table of calls has a
 * row for each execution; in a longer run, a row for all executions of equal calls. */
static double call_tables_height(const struct tt_calls *calls)
{
    return lines_of(calls) * LINE + 2 * (2 * LINE + 5) + 24 + LINE;
}

static void call_tables(const struct tt_calls *calls, int64_t whole_ps, double y, FILE *out)
{
    struct svg_call_tables_table t = {calls, out, y};
    ranks(&t, whole_ps);
    t.y += LINE;
    if (calls->groups > EACH)
        shapes(&t);
    else
        groups(&t);
}

enum { LEFT = 176, WIDE = 960, RIGHT = 24, ROWS = 4, LEGEND = 60, END_TEXT = 14, TWO_LINES = 28 };

enum { NONE = -1 };

struct svg_calls_row {
    int team;       /* the team of the last bar in the row, or NONE */
    bool several;   /* the row has bars of several teams */
    int64_t end_ps; /* the end of the last bar in the row */
    /* the right end of the last bar in the row; further right, nothing is drawn yet */
    double drawn;
};

struct view {
    const struct tt_picture *picture;
    const struct tt_calls *calls;
    FILE *out;
    int first, last, rows;
    /* lane, row: the heights of a rank and of a row; scale: the width of a picosecond */
    double lane, row, scale;
    /* the height, within a lane, of the text that says how the rank ended */
    double end_text;
    int32_t *row_of; /* for each bar (index in calls->bar[]): its row */
    int64_t drawn, left_out;
    unsigned kinds; /* bit mask of the colours (call_colour) that occur */
    bool waits, late, open, alone;
};

static double x_of(const struct view *v, int64_t ps)
{
    return LEFT + (double)ps * v->scale;
}

static double y_of(const struct view *v, int rank)
{
    return TT_SVG_TOP + (rank - v->first) * v->lane;
}

static bool shown(const struct view *v, int rank)
{
    return rank >= v->first && rank <= v->last;
}

/* Returns the number of the colour of a collective: 0 .. 7, for the classes r0 .. r7 (svg.h).
 * Collectives that often follow each other have very different colours. */
static int call_colour(const char *coll)
{
    static const struct {
        const char *begin;
        int colour;
    } of[] = {{"allreduce", 0}, {"bcast", 1},          {"barrier", 6}, {"alltoall", 3},
              {"allgather", 4}, {"reduce_scatter", 7}, {"reduce", 2},  {"", 5}};
    int i = 0;
    while (strncmp(coll, of[i].begin, strlen(of[i].begin)) != 0) i++;
    return of[i].colour;
}

static int colour_of(const struct view *v, const struct tt_call_bar *bar)
{
    return call_colour(v->calls->name[bar->coll]);
}

/* ---- Rows of a lane ---- */

/* Returns the row for a bar: a row of its team that is free when the call begins; otherwise a row
 * without bars; otherwise the row that becomes free first. Only the world team gets row 0. */
static int choose_row(const struct svg_calls_row row[ROWS], const struct tt_call_bar *bar,
                      bool world)
{
    int best = world ? 0 : 1;
    for (int i = 0; i < ROWS; i++)
        if (row[i].team == bar->team && row[i].end_ps <= bar->begin_ps) return i;
    for (int i = best; i < ROWS; i++)
        if (row[i].team == NONE) return i;
    for (int i = 1; i < ROWS; i++)
        if (row[i].end_ps < row[best].end_ps) best = i;
    return best;
}

/* Assigns a row to each bar. The bars are in the order of their begin. `row` has ROWS entries for
 * each rank. */
static void place_bars(struct view *v, struct svg_calls_row *row)
{
    const struct tt_calls *c = v->calls;
    v->rows = 1;
    for (int64_t i = 0; i < c->bars; i++) {
        const struct tt_call_bar *bar = &c->bar[i];
        if (!shown(v, bar->rank)) continue;
        struct svg_calls_row *rows = &row[(bar->rank - v->first) * ROWS];
        int at = choose_row(rows, bar, c->team[bar->team].id == 0);
        rows[at].several |= rows[at].team != NONE && rows[at].team != bar->team;
        rows[at].team = bar->team;
        rows[at].end_ps = tt_max(rows[at].end_ps, bar->end_ps);
        v->row_of[i] = at;
        v->rows = (int)tt_max(v->rows, at + 1);
    }
}

/* ---- Lanes ---- */

/* Returns whether all ranks are on one host; if so, the lanes do not name the host. */
static bool one_host(const struct view *v)
{
    const struct tt_calls *c = v->calls;
    for (int64_t i = 1; i < c->ranks; i++)
        if (c->rank[i].said && strcmp(c->rank[i].host, c->rank[0].host) != 0) return false;
    return true;
}

static void name_lane(const struct view *v, int rank, bool alone)
{
    char text[96];
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    double y = y_of(v, rank) + (v->lane - v->end_text) / 2;
    bool roomy = v->lane >= 30;
    snprintf(text, sizeof text, "rank %d", rank);
    if (v->lane < 14 && (rank - v->first) % 2) return;
    tt_svg_text(TT_SVG_MARGIN, y + (roomy ? -2 : 4), v->lane < 14 ? "small" : "", "start", text,
                v->out);
    if (!said || !said->said || !roomy) return;
    if (alone)
        snprintf(text, sizeof text, "pid %d", said->pid);
    else
        snprintf(text, sizeof text, "%.14s, pid %d", said->host, said->pid);
    tt_svg_text(TT_SVG_MARGIN, y + 12, "small minor", "start", text, v->out);
}

/* Writes beside each row the name of the team whose calls are in it, if the rank has several
 * rows. */
static void name_rows(const struct view *v, int rank, const struct svg_calls_row *row)
{
    for (int i = 0; i < v->rows && v->rows > 1 && v->row >= 9; i++) {
        char text[20];
        if (row[i].team == NONE) continue;
        snprintf(text, sizeof text, "%.19s",
                 row[i].several ? "several teams" : v->calls->team[row[i].team].label);
        tt_svg_text(LEFT - 6, y_of(v, rank) + 4 + (i + 0.5) * v->row + 3.5, "small minor", "end",
                    text, v->out);
    }
}

/* Draws the background of the lane: a bar from the start to the end of the rank, which shows time
 * in the application. The bars of calls are drawn over it later. Also draws a cross where a rank
 * ended in a disorderly way. */
static void lane(struct view *v, int rank)
{
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    double end = said && said->said && !said->ended && said->last_ps ? x_of(v, said->last_ps)
                                                                     : x_of(v, v->picture->time_ps);
    double top = y_of(v, rank) + 2;
    if (!said || said->said)
        fprintf(
            v->out,
            "<rect class=\"app\" x=\"%d\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"><title>rank "
            "%d: in the application where no call is</title></rect>\n",
            LEFT, top, fmax(end - LEFT, 0), v->lane - 4, rank);
    if (!said || said->runs || !tt_calls_end_text(said)[0]) return;
    if (!said->said) end = LEFT + 12;
    fprintf(v->out, "<path class=\"dead\" d=\"M%.1f %.1fl10 10m0 -10l-10 10\"/>\n", end - 5,
            y_of(v, rank) + v->lane - 15);
}

static const char *end_text(const struct view *v, int rank)
{
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    return said ? tt_calls_end_text(said) : "has no trace";
}

/* Writes under the bars how the rank ended. The text is to the right of the cross that marks the
 * end, or to its left if there is no room at the right. */
static void name_end(const struct view *v, int rank)
{
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    const char *text = end_text(v, rank);
    if (!text[0]) return;
    double end = said && said->said && said->last_ps ? x_of(v, said->last_ps) : LEFT + 12;
    bool right = end + 12 + tt_svg_text_width(text, 11) < LEFT + WIDE;
    const char *class = said && said->runs ? "minor" : "end-text";
    tt_svg_text(end + (right ? 10 : -10), y_of(v, rank) + v->lane - 6, class,
                right ? "start" : "end", text, v->out);
}

static void axis(const struct view *v)
{
    double whole = (double)v->picture->time_ps, step = tt_svg_round_step(whole, 8);
    double bottom = y_of(v, v->last + 1);
    char text[32];
    for (int i = 0; i * step <= whole * 1.0001; i++) {
        double x = LEFT + i * step * v->scale;
        fprintf(v->out, "<path class=\"line\" d=\"M%.1f %d V%.1f\"/>\n", x, TT_SVG_TOP, bottom + 5);
        tt_svg_text(x, bottom + 18, "minor", "middle", i ? tt_svg_time_text(text, i * step) : "0",
                    v->out);
    }
}

/* ---- Bars ---- */

static void tip(const struct view *v, const struct tt_call_bar *bar)
{
    char text[512], what[96], begin[32], lasted[32], waited[64] = "", number[TT_CALLS_COUNT];
    const struct tt_calls *c = v->calls;
    if (bar->waited_ps > 0)
        snprintf(waited, sizeof waited, "; waited %s for rank %d",
                 tt_svg_time_text(begin, (double)bar->waited_ps), bar->late);
    snprintf(text, sizeof text, "rank %d: %s, by %s, %s of %s; from %s, %s%s%s%s%s%s", bar->rank,
             tt_calls_text(c, bar, what, sizeof what), c->name[bar->algorithm],
             tt_calls_number_text(bar, number), c->team[bar->team].label,
             tt_svg_time_text(begin, (double)bar->begin_ps),
             tt_svg_time_text(lasted, (double)(bar->end_ps - bar->begin_ps)),
             bar->open ? ", it did not end" : "", waited,
             tt_calls_blocked_from(bar) < 0 ? "; nonblocking, its caller did not wait for it" : "",
             bar->status ? "; " : "",
             bar->status ? tutti_status_text((tutti_status)bar->status) : "");
    tt_svg_tip(text, v->out);
}

static void write_label(const struct view *v, double x, double y, const char *text)
{
    tt_svg_text(x, y, "small label", "start", text, v->out);
}

/* Returns the width of the label of a bar in DejaVu Sans. This is one of the widest fonts: a label
 * that is too long would be hidden by the next bar. Labels consist of small letters, digits and a
 * few signs. */
static double label_width(const char *text)
{
    static const unsigned char percent[] = {61, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98,
                                            64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53};
    double width = 0;
    for (; *text; text++)
        width += *text >= 'a' && *text <= 'z' ? percent[*text - 'a']
                 : *text == ' '               ? 32
                 : *text == '='               ? 84
                                              : 64;
    return 0.1 * width;
}

/* Writes the whole call in one line, or in two lines: "allreduce" above "n=5 tree". Returns false
 * if there is no room for either. */
static bool label_whole(const struct view *v, const struct tt_call_bar *bar, double x, double y,
                        double wide)
{
    const struct tt_calls *c = v->calls;
    char what[96], text[160], count[TT_CALLS_COUNT];
    const char *by = c->name[bar->algorithm];
    tt_calls_text(c, bar, what, sizeof what);
    snprintf(text, sizeof text, "%s%s%s", what, *by ? " by " : "", by);
    if (label_width(text) <= wide) {
        write_label(v, x, y, text);
        return true;
    }
    tt_calls_count_text(bar, count);
    snprintf(what, sizeof what, "%s%s%s", count, count[0] && *by ? " " : "", by);
    if (v->row < TWO_LINES || fmax(label_width(c->name[bar->coll]), label_width(what)) > wide)
        return false;
    write_label(v, x, y - 6, c->name[bar->coll]);
    write_label(v, x, y + 6, what);
    return true;
}

/* Writes the label of a bar: the whole call, or only the name of the collective, or nothing, as
 * there is room. */
static void label(const struct view *v, const struct tt_call_bar *bar, double x, double y,
                  double wide)
{
    const char *name = v->calls->name[bar->coll];
    if (label_whole(v, bar, x, y, wide)) return;
    if (label_width(name) <= wide) write_label(v, x, y, name);
}

/* Draws the bar of call i. A call that takes hardly any time is drawn as a thin mark. If several
 * such marks would lie on each other, only the first is drawn. */
static void bar(struct view *v, int64_t i, struct svg_calls_row *row)
{
    const struct tt_call_bar *b = &v->calls->bar[i];
    double x = x_of(v, b->begin_ps), wide = fmax(x_of(v, b->end_ps) - x, 1.2);
    double y = y_of(v, b->rank) + 4 + v->row_of[i] * v->row, high = v->row - 2;
    double waited = (double)b->waited_ps * v->scale;
    double from = b->blocks || b->blocked_ps < 0 ? x : x_of(v, b->blocked_ps);
    if (x + wide < row->drawn + 0.5) return;
    row->drawn = x + wide;
    v->drawn++;
    v->kinds |= 1u << colour_of(v, b);
    fprintf(v->out, "<g>");
    tip(v, b);
    fprintf(v->out,
            "<rect class=\"call r%d%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
            colour_of(v, b), b->open ? " open" : "", x, y, wide, high);
    if (waited >= 0.5) {
        fprintf(v->out,
                "<rect class=\"waited\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
                from, y + 1, waited, high - 2);
        v->waits = true;
    }
    fputs("</g>\n", v->out);
    v->open |= b->open;
    if (v->row >= 9) label(v, b, x + 4, y + high / 2 + 3.5, wide - 6);
}

/* Marks where the rank that came late entered the call, unless the other ranks waited so briefly
 * that the picture would not show it. */
static void mark_late(struct view *v, const struct tt_call_group *g)
{
    for (int64_t i = g->first; i < g->first + g->n; i++) {
        const struct tt_call_bar *b = &v->calls->bar[i];
        if (b->rank != g->late || !shown(v, b->rank)) continue;
        if ((double)g->worst_ps * v->scale < 3) return;
        double x = x_of(v, b->begin_ps), y = y_of(v, b->rank) + 3 + v->row_of[i] * v->row;
        fprintf(v->out, "<path class=\"came-late\" d=\"M%.2f %.2fl-4 -6h8z\"/>\n", x, y + 2);
        v->late = true;
        return;
    }
}

static void bars(struct view *v, struct svg_calls_row *row)
{
    const struct tt_calls *c = v->calls;
    for (int64_t i = 0; i < c->bars; i++) {
        if (!shown(v, c->bar[i].rank)) continue;
        if (v->drawn < TT_SVG_EVENTS)
            bar(v, i, &row[(c->bar[i].rank - v->first) * ROWS + v->row_of[i]]);
        else
            v->left_out++;
    }
    for (int64_t g = 0; g < c->groups; g++) mark_late(v, &c->group[g]);
}

/* ---- Legend ---- */

/* Draws the legend from y downwards and returns the y of its last line. If `out` is NULL, only
 * computes this y. */
static double legend(const struct view *v, double y, FILE *out)
{
    static const char *const names[] = {"allreduce", "bcast",       "reduce",  "alltoall",
                                        "allgather", "other calls", "barrier", "reduce_scatter"};
    struct tt_svg_legend l = {LEFT, LEFT + WIDE + RIGHT, LEFT, y, out};
    for (int k = 0; k < 8; k++) {
        char class[16];
        snprintf(class, sizeof class, "call r%d", k);
        if (v->kinds >> k & 1) tt_svg_key(&l, TT_SVG_BAR, class, names[k]);
    }
    if (v->waits) tt_svg_key(&l, TT_SVG_BAR, "r0 waited", "waits for others to come");
    tt_svg_key(&l, TT_SVG_BAR, "app", "in the application");
    if (v->late) tt_svg_key(&l, TT_SVG_MARK, "came-late", "came late");
    return l.y;
}

/* Returns the height of a legend that has every entry which the calls of the ranks in the picture
 * may need. */
static double legend_height(const struct view *v)
{
    struct view all = {.waits = true, .late = true};
    for (int64_t i = 0; i < v->calls->bars; i++)
        if (shown(v, v->calls->bar[i].rank)) all.kinds |= 1u << colour_of(v, &v->calls->bar[i]);
    return LEGEND + legend(&all, 0, NULL);
}

static void write_left_out(const struct view *v, char text[200])
{
    const struct tt_picture *p = v->picture;
    size_t at = 0;
    tt_calls_lost(v->calls, p->ranks, text, 200);
    at = strlen(text);
    if (v->first > 0 || v->last < p->ranks - 1)
        at += (size_t)snprintf(text + at, 200 - at, "%sranks %d to %d of %d are shown",
                               at ? "; " : "", v->first, v->last, p->ranks);
    if (v->left_out && at < 200)
        snprintf(text + at, 200 - at, "%s%" PRId64 " calls beyond the first %d are left out",
                 at ? "; " : "", v->left_out, TT_SVG_EVENTS);
}

/* ---- The whole picture ---- */

static void about(const struct view *v, char *text, size_t n)
{
    char time[32], clocks[96];
    const struct tt_calls *c = v->calls;
    tt_calls_clocks(c, clocks, sizeof clocks);
    snprintf(
        text, n,
        "a real run of %d rank%s%s%.40s, %" PRId64 " collectives of %" PRId64 " team%s in %s, %s",
        v->picture->ranks, v->picture->ranks == 1 ? "" : "s", v->alone && c->ranks ? " on " : "",
        v->alone && c->ranks ? c->rank[0].host : "", c->groups, c->teams, c->teams == 1 ? "" : "s",
        tt_svg_time_text(time, (double)v->picture->time_ps), clocks);
}

static void draw(struct view *v, struct svg_calls_row *row, char left_out[200])
{
    char text[256];
    int lanes = v->last - v->first + 1;
    v->row = lanes > 32 ? 9 : lanes > 16 ? 12 : lanes > 8 ? 19 : TWO_LINES;
    for (int r = v->first; r <= v->last; r++)
        if (end_text(v, r)[0]) v->end_text = END_TEXT;
    v->lane = fmax(v->rows * v->row + 8, lanes > 16 ? 0 : 36) + v->end_text;
    v->scale = WIDE / fmax((double)v->picture->time_ps, 1);
    double bottom = y_of(v, v->last + 1), table = bottom + legend_height(v);
    about(v, text, sizeof text);
    tt_svg_open("Which rank called what, and who came late", text, LEFT + WIDE + RIGHT,
                table + call_tables_height(v->calls) + 16, v->picture->scheme, v->out);
    for (int r = v->first; r <= v->last; r++) {
        lane(v, r);
        name_lane(v, r, v->alone);
        name_rows(v, r, &row[(r - v->first) * ROWS]);
    }
    axis(v);
    bars(v, row);
    for (int r = v->first; r <= v->last; r++) name_end(v, r);
    legend(v, bottom + 42, v->out);
    write_left_out(v, left_out);
    if (left_out[0]) tt_svg_text(TT_SVG_MARGIN, table + 4, "minor", "start", left_out, v->out);
    call_tables(v->calls, v->picture->time_ps, table + 26, v->out);
    tt_svg_end(v->out);
}

void tt_svg_calls(const struct tt_picture *picture, int first, int last, char left_out[200],
                  FILE *out)
{
    last = (int)tt_min(tt_min(last, first + TT_SVG_RANKS - 1), picture->ranks - 1);
    struct view v = {
        .picture = picture, .calls = &picture->calls, .out = out, .first = first, .last = last};
    int rows = (last - first + 1) * ROWS;
    struct svg_calls_row *row = tt_calloc((size_t)rows, sizeof *row);
    v.row_of = tt_calloc((size_t)picture->calls.bars + 1, sizeof *v.row_of);
    v.alone = one_host(&v);
    for (int i = 0; row && i < rows; i++)
        row[i] = (struct svg_calls_row){.team = NONE, .drawn = -1};
    if (row && v.row_of) {
        place_bars(&v, row);
        draw(&v, row, left_out);
    }
    tt_free(row);
    tt_free(v.row_of);
}
