/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of a real run: a lane for each rank, time from left to right, a bar for each call. A
 * bar is pale while the rank waits for others to come, and full from when the last of them has.
 * Each team of a rank has a row of its own in the lane. What lies between bars is the application's
 * time.
 *
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "draw/svg-calls.h"
#include "draw/svg.h"

enum { LEFT = 176, WIDE = 960, RIGHT = 24, ROWS = 4, LEGEND = 60, END_TEXT = 14, TWO_LINES = 28 };

enum { NONE = -1 };

struct row {
    int team;       /* of the last bar on it, or NONE */
    bool several;   /* teams have bars on it */
    int64_t end_ps; /* of the last bar on it */
    double drawn;   /* right of here nothing is drawn yet */
};

struct view {
    const struct tt_picture *picture;
    const struct tt_calls *calls;
    FILE *out;
    int first, last, rows;
    double lane, row, scale; /* points a rank, a row, a ps */
    double end_text;         /* of a lane: for what became of its rank */
    int32_t *row_of;         /* of each bar */
    int64_t drawn, left_out;
    unsigned kinds; /* bits: colours that are there */
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

/* So that those that often stand beside each other differ most. */
int tt_svg_call_colour(const char *coll)
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
    return tt_svg_call_colour(v->calls->name[bar->coll]);
}

/* ---- Rows of a lane ---- */

/* That of its team if it is free, else a new one, else that which is free first. The world has the
 * first row for itself, as long as no more than ROWS of its calls are under way at once. */
static int choose_row(const struct row row[ROWS], const struct tt_call_bar *bar, bool world)
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

/* Bars come in the order of time. row has ROWS of each rank. */
static void place_bars(struct view *v, struct row *row)
{
    const struct tt_calls *c = v->calls;
    v->rows = 1;
    for (int64_t i = 0; i < c->bars; i++) {
        const struct tt_call_bar *bar = &c->bar[i];
        if (!shown(v, bar->rank)) continue;
        struct row *rows = &row[(bar->rank - v->first) * ROWS];
        int at = choose_row(rows, bar, c->team[bar->team].id == 0);
        rows[at].several |= rows[at].team != NONE && rows[at].team != bar->team;
        rows[at].team = bar->team;
        rows[at].end_ps = tt_max(rows[at].end_ps, bar->end_ps);
        v->row_of[i] = at;
        v->rows = (int)tt_max(v->rows, at + 1);
    }
}

/* ---- Lanes ---- */

/* All ranks on one machine need not say on which each. */
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

/* Which team a row is of, where there are several. */
static void name_rows(const struct view *v, int rank, const struct row *row)
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

/* The rank's life; what bars do not cover of it is the application's. */
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
    if (!said || !tt_calls_end_text(said)[0]) return;
    if (!said->said) end = LEFT + 12;
    fprintf(v->out, "<path class=\"dead\" d=\"M%.1f %.1fl10 10m0 -10l-10 10\"/>\n", end - 5,
            y_of(v, rank) + v->lane - 15);
}

static const char *end_text(const struct view *v, int rank)
{
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    return said ? tt_calls_end_text(said) : "has no trace";
}

/* Under the bars: right of where the cross is, where there is room, else left of it. */
static void name_end(const struct view *v, int rank)
{
    const struct tt_call_rank *said = tt_calls_rank(v->calls, rank, 0);
    const char *text = end_text(v, rank);
    if (!text[0]) return;
    double end = said && said->said && said->last_ps ? x_of(v, said->last_ps) : LEFT + 12;
    bool right = end + 12 + tt_svg_text_width(text, 11) < LEFT + WIDE;
    tt_svg_text(end + (right ? 10 : -10), y_of(v, rank) + v->lane - 6, "end-text",
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
    char what[96], begin[32], lasted[32], waited[32] = "";
    const struct tt_calls *c = v->calls;
    fprintf(v->out, "<title>rank %d: %s, by %s, execution %" PRId64 " of %s; from %s, %s%s",
            bar->rank, tt_calls_text(c, bar, what, sizeof what), c->name[bar->algorithm],
            bar->execution, c->team[bar->team].label,
            tt_svg_time_text(begin, (double)bar->begin_ps),
            tt_svg_time_text(lasted, (double)(bar->end_ps - bar->begin_ps)),
            bar->open ? ", it did not end" : "");
    if (bar->waited_ps > 0)
        fprintf(v->out, "; waited %s for rank %d", tt_svg_time_text(waited, (double)bar->waited_ps),
                bar->late);
    if (bar->status) fprintf(v->out, "; %s", tutti_status_text((tutti_status)bar->status));
    fputs("</title>", v->out);
}

static void write_label(const struct view *v, double x, double y, const char *text)
{
    tt_svg_text(x, y, "small label", "start", text, v->out);
}

/* The call in one line, or in two: "allreduce" over "n=5 tree". */
static bool label_whole(const struct view *v, const struct tt_call_bar *bar, double x, double y,
                        double wide)
{
    const struct tt_calls *c = v->calls;
    char what[96], text[160], count[TT_CALLS_COUNT];
    const char *by = c->name[bar->algorithm];
    tt_calls_text(c, bar, what, sizeof what);
    snprintf(text, sizeof text, "%s%s%s", what, *by ? " by " : "", by);
    if (tt_svg_text_width(text, 10) <= wide) {
        write_label(v, x, y, text);
        return true;
    }
    tt_calls_count_text(bar, count);
    snprintf(what, sizeof what, "%s%s%s", count, count[0] && *by ? " " : "", by);
    if (v->row < TWO_LINES ||
        fmax(tt_svg_text_width(c->name[bar->coll], 10), tt_svg_text_width(what, 10)) > wide)
        return false;
    write_label(v, x, y - 6, c->name[bar->coll]);
    write_label(v, x, y + 6, what);
    return true;
}

/* As much as there is room for. */
static void label(const struct view *v, const struct tt_call_bar *bar, double x, double y,
                  double wide)
{
    const char *name = v->calls->name[bar->coll];
    if (label_whole(v, bar, x, y, wide)) return;
    if (tt_svg_text_width(name, 10) <= wide) write_label(v, x, y, name);
}

/* A bar that takes hardly any time is still a mark; of those that lie on the same spot one stands
 * for all. */
static void bar(struct view *v, int64_t i, struct row *row)
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

/* A mark where the last came, if others waited for it visibly. */
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

static void bars(struct view *v, struct row *row)
{
    const struct tt_calls *c = v->calls;
    for (int64_t i = 0; i < c->bars; i++) {
        if (!shown(v, c->bar[i].rank)) continue;
        if (v->drawn < TT_SVG_DEEDS)
            bar(v, i, &row[(c->bar[i].rank - v->first) * ROWS + v->row_of[i]]);
        else
            v->left_out++;
    }
    for (int64_t g = 0; g < c->groups; g++) mark_late(v, &c->group[g]);
}

/* ---- Legend ---- */

static double key_box(const struct view *v, double x, double y, const char *class, const char *name)
{
    return tt_svg_key(x, y, TT_SVG_BAR, class, name, v->out);
}

static void legend(const struct view *v, double y)
{
    static const char *const names[] = {"allreduce", "bcast",       "reduce",  "alltoall",
                                        "allgather", "other calls", "barrier", "reduce_scatter"};
    double x = LEFT;
    for (int k = 0; k < 8; k++) {
        char class[16];
        snprintf(class, sizeof class, "call r%d", k);
        if (v->kinds >> k & 1) x = key_box(v, x, y, class, names[k]);
    }
    if (v->waits) x = key_box(v, x, y, "r0 waited", "waits for others to come");
    x = key_box(v, x, y, "app", "in the application");
    if (v->late) {
        fprintf(v->out, "<path class=\"came-late\" d=\"M%.1f %.1fl-4 -6h8z\"/>\n", x + 5, y - 1);
        tt_svg_text(x + 14, y, "minor", "start", "came last", v->out);
    }
}

static void tell_left_out(const struct view *v, char text[200])
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
                 at ? "; " : "", v->left_out, TT_SVG_DEEDS);
}

/* ---- The whole ---- */

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

static void draw(struct view *v, struct row *row, char left_out[200])
{
    char text[256];
    int lanes = v->last - v->first + 1;
    v->row = lanes > 32 ? 9 : lanes > 16 ? 12 : lanes > 8 ? 19 : TWO_LINES;
    for (int r = v->first; r <= v->last; r++)
        if (end_text(v, r)[0]) v->end_text = END_TEXT;
    v->lane = fmax(v->rows * v->row + 8, lanes > 16 ? 0 : 36) + v->end_text;
    v->scale = WIDE / fmax((double)v->picture->time_ps, 1);
    double bottom = y_of(v, v->last + 1), table = bottom + LEGEND;
    about(v, text, sizeof text);
    tt_svg_open("Which rank called what, and who came late", text, LEFT + WIDE + RIGHT,
                table + tt_svg_call_tables_height(v->calls) + 16, v->picture->scheme, v->out);
    for (int r = v->first; r <= v->last; r++) {
        lane(v, r);
        name_lane(v, r, v->alone);
        name_rows(v, r, &row[(r - v->first) * ROWS]);
    }
    axis(v);
    bars(v, row);
    for (int r = v->first; r <= v->last; r++) name_end(v, r);
    legend(v, bottom + 42);
    tell_left_out(v, left_out);
    if (left_out[0]) tt_svg_text(TT_SVG_MARGIN, table + 4, "minor", "start", left_out, v->out);
    tt_svg_call_tables(v->calls, v->picture->time_ps, table + 26, v->out);
    tt_svg_end(v->out);
}

void tt_svg_calls(const struct tt_picture *picture, int first, int last, char left_out[200],
                  FILE *out)
{
    last = (int)tt_min(tt_min(last, first + TT_SVG_RANKS - 1), picture->ranks - 1);
    struct view v = {
        .picture = picture, .calls = &picture->calls, .out = out, .first = first, .last = last};
    int rows = (last - first + 1) * ROWS;
    struct row *row = tt_calloc((size_t)rows, sizeof *row);
    v.row_of = tt_calloc((size_t)picture->calls.bars + 1, sizeof *v.row_of);
    v.alone = one_host(&v);
    for (int i = 0; row && i < rows; i++) row[i] = (struct row){.team = NONE, .drawn = -1};
    if (row && v.row_of) {
        place_bars(&v, row);
        draw(&v, row, left_out);
    }
    tt_free(row);
    tt_free(v.row_of);
}
