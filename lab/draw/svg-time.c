/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The space-time diagram: a row for each rank, time from left to right. The steps of a lane are
 * bars. A message is a line from the row of the sender, at the time of its post, to the row of the
 * receiver, at the time of its arrival. In a pipelined collective, the line of a slice passes over
 * the bar of the step that reduces the slice before it, which shows that the two overlap in time.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "draw/svg.h"
#include "plan/words.h"

enum { LOOKS = 12, HEADS = 1500 };
enum { LEFT = 74, WIDE = 1040, RIGHT = 20, BOTTOM = 92, LINES = 512 };

struct svg_time_view {
    const struct tt_picture *picture;
    FILE *out;
    int first, last, lanes; /* lanes: the number of lanes of each rank */
    /* true: the steps that wait are drawn now; false: all other steps are drawn now */
    bool pale;
    bool heads;        /* messages have arrow heads, because there are not too many messages */
    bool *drawn;       /* for each look (an entry of the legend): whether the picture has it */
    double row, scale; /* row: the height of a rank; scale: the width of a picosecond */
    int *node;         /* for each rank: its node; NULL if the nodes are not known */
    /* for each lane: its row within a rank; lanes that no rank uses get no row */
    uint16_t at[LINES];
};

static double x_of(const struct svg_time_view *v, int64_t ps)
{
    return LEFT + (double)ps * v->scale;
}

static double y_of(const struct svg_time_view *v, int rank)
{
    return TT_SVG_TOP + (rank - v->first) * v->row;
}

static bool shown(const struct svg_time_view *v, int rank)
{
    return rank >= v->first && rank <= v->last;
}

/* ---- Rows and axis ---- */

static void rows(const struct svg_time_view *v)
{
    char name[32];
    int every = v->row < 11 ? 4 : 1;
    for (int r = v->first; r <= v->last; r++) {
        if ((r - v->first) % 2 == 0)
            fprintf(v->out,
                    "<rect class=\"row\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
                    LEFT, y_of(v, r), WIDE, v->row);
        snprintf(name, sizeof name, r == v->first ? "rank %d" : "%d", r);
        if ((r - v->first) % every == 0)
            tt_svg_text(LEFT - 8, y_of(v, r) + v->row / 2 + 4, v->row < 14 ? "small" : "", "end",
                        name, v->out);
    }
}

/* Draws a line wherever the next rank is on another node. */
static void borders(const struct svg_time_view *v)
{
    for (int r = v->first; v->node && r < v->last; r++)
        if (v->node[r] != v->node[r + 1])
            fprintf(v->out, "<path class=\"axis\" d=\"M16 %.1f H%d\"/>\n", y_of(v, r + 1),
                    LEFT + WIDE);
}

static void axis(const struct svg_time_view *v)
{
    double whole = (double)v->picture->time_ps, step = tt_svg_round_step(whole, 10);
    double bottom = y_of(v, v->last + 1);
    char text[32];
    for (int i = 0; i * step <= whole * 1.0001; i++) {
        double x = LEFT + i * step * v->scale;
        fprintf(v->out, "<path class=\"line\" d=\"M%.1f %d V%.1f\"/>\n", x, TT_SVG_TOP, bottom + 5);
        tt_svg_text(x, bottom + 18, "minor", "middle", i ? tt_svg_time_text(text, i * step) : "0",
                    v->out);
    }
    fprintf(v->out, "<path class=\"axis\" d=\"M%d %.1f H%d\"/>\n", LEFT, bottom, LEFT + WIDE);
}

/* ---- Steps and messages ---- */

/* The looks (style class and name in the legend) of bars and lines, in the order of the legend. */
static const struct svg_time_look {
    const char *class, *name;
    enum tt_svg_sign sign;
} looks[] = {
    {"reduce", "reduce", TT_SVG_BAR},
    {"copy", "copy", TT_SVG_BAR},
    {"send", "send", TT_SVG_BAR},
    {"recv", "receive", TT_SVG_BAR},
    {"put", "put", TT_SVG_BAR},
    {"get", "get", TT_SVG_BAR},
    {"signal-bar", "post a signal", TT_SVG_BAR},
    {"wait", "wait for a message", TT_SVG_BAR},
    {"await", "await a signal", TT_SVG_BAR},
    {"message", "message", TT_SVG_ARROW},
    {"far", "between nodes", TT_SVG_ARROW},
    {"signal", "signal", TT_SVG_ARROW},
};

enum { LOOK_SEND = 2, LOOK_MESSAGE = 9, LOOK_REMOTE, LOOK_SIGNAL };

static int look_of(enum tt_kind kind)
{
    switch (kind) {
    case TT_REDUCE: return 0;
    case TT_COPY: return 1;
    case TT_RECV: return 3;
    case TT_PUT: return 4;
    case TT_GET: return 5;
    case TT_SIGNAL: return 6;
    case TT_WAIT: return 7;
    case TT_AWAIT: return 8;
    default: return LOOK_SEND;
    }
}

/* Returns the style class of looks[look], and records that the picture has bars or lines of this
 * class, so that the legend shows the class. */
static const char *draw_as(const struct svg_time_view *v, int look)
{
    v->drawn[look] = true;
    return looks[look].class;
}

static void tip(const struct tt_sim_event *d, bool message, FILE *out)
{
    char begin[32], end[32], peer[32] = "";
    const char *word = tt_word(&tt_step_words, (int)d->kind);
    if (d->peer >= 0) snprintf(peer, sizeof peer, message ? " to %d" : " %d", d->peer);
    fprintf(out, "<title>%s%s%d: %s%s, %" PRId64 " bytes, %s to %s</title>", message ? "from " : "",
            message ? "" : "rank ", d->rank, word, peer, d->bytes,
            tt_svg_time_text(begin, (double)d->begin_ps), tt_svg_time_text(end, (double)d->end_ps));
}

static bool waits(enum tt_kind kind)
{
    return kind == TT_WAIT || kind == TT_AWAIT;
}

/* Draws the bar of a step. A step that takes hardly any time is drawn as a thin mark, or not at all
 * if it only waits. */
static void bar(const struct svg_time_view *v, const struct tt_sim_event *d)
{
    bool pale = waits(d->kind), works = d->kind == TT_COPY || d->kind == TT_REDUCE;
    double x = x_of(v, d->begin_ps), wide = x_of(v, d->end_ps) - x;
    double lane = v->row * 0.8 / v->lanes;
    double high = lane * (pale ? 0.5 : works ? 0.9 : 0.7);
    double y = y_of(v, d->rank) + v->row * 0.1 + v->at[d->lane % LINES] * lane + (lane - high) / 2;
    if (pale != v->pale || (pale && wide < 0.3)) return;
    fprintf(v->out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
            draw_as(v, look_of(d->kind)), x, y, fmax(wide, 1.2), high);
    tip(d, false, v->out);
    fputs("</rect>\n", v->out);
}

static bool is_remote(const struct svg_time_view *v, const struct tt_sim_event *d)
{
    return v->node && v->node[d->rank] != v->node[d->peer];
}

static void line(const struct svg_time_view *v, const struct tt_sim_event *d)
{
    double half = v->row / 2, head = v->heads ? fmin(v->row * 0.3, 7) : 0;
    int look = d->kind == TT_SIGNAL ? LOOK_SIGNAL : is_remote(v, d) ? LOOK_REMOTE : LOOK_MESSAGE;
    fprintf(v->out, "<path class=\"%s\" d=\"", draw_as(v, look));
    tt_svg_arrow(x_of(v, d->begin_ps), y_of(v, d->rank) + half, x_of(v, d->end_ps),
                 y_of(v, d->peer) + half, head, v->out);
    fputs("\">", v->out);
    tip(d, true, v->out);
    fputs("</path>\n", v->out);
}

/* Draws the first TT_SVG_EVENTS entries of the list that belong to ranks in the picture. Returns
 * how many were left out. */
static int64_t each(const struct svg_time_view *v, const struct tt_picture_list *list,
                    bool messages,
                    void (*draw)(const struct svg_time_view *, const struct tt_sim_event *))
{
    int64_t drawn = 0, left_out = list->left_out;
    for (int64_t i = 0; i < list->n; i++) {
        const struct tt_sim_event *d = &list->at[i];
        bool fits = shown(v, d->rank) && (!messages || shown(v, d->peer)) && drawn < TT_SVG_EVENTS;
        if (fits) draw(v, d);
        drawn += fits;
        left_out += !fits;
    }
    return left_out;
}

/* ---- Legend ---- */

/* Draws the legend, with those entries of looks[] that occur in the picture, on as many lines as
 * necessary. Returns the y of the last line. */
static double legend(const struct svg_time_view *v, double y)
{
    struct tt_svg_legend l = {LEFT, LEFT + WIDE + RIGHT, LEFT, y, v->out};
    for (int i = 0; i < LOOKS; i++) {
        bool within = i == LOOK_MESSAGE && v->drawn[LOOK_REMOTE];
        const char *name = within ? "message within a node" : looks[i].name;
        if (v->drawn[i]) tt_svg_key(&l, looks[i].sign, looks[i].class, name);
    }
    return l.y;
}

/* ---- The whole picture ---- */

/* Gives each lane that has a step a row in the picture. In the trace of a run, overlapping calls
 * have lanes of different numbers, which differ by multiples of 8. */
static void place_lanes(struct svg_time_view *v)
{
    bool used[LINES] = {false};
    for (int64_t i = 0; i < v->picture->steps.n; i++)
        used[v->picture->steps.at[i].lane % LINES] = true;
    v->lanes = 0;
    for (int i = 0; i < LINES; i++)
        if (used[i]) v->at[i] = (uint16_t)v->lanes++;
    v->lanes = (int)tt_max(v->lanes, 1);
}

static void write_left_out(const struct svg_time_view *v, int64_t steps, int64_t messages,
                           char text[200])
{
    const struct tt_picture *p = v->picture;
    char lost[100] = "";
    text[0] = '\0';
    steps += p->steps.left_out;
    messages += p->messages.left_out;
    if (!steps && !messages && v->first == 0 && v->last == p->ranks - 1) return;
    if (steps && messages)
        snprintf(lost, sizeof lost, "; %" PRId64 " steps and %" PRId64 " messages are left out",
                 steps, messages);
    else if (steps || messages)
        snprintf(lost, sizeof lost, "; %" PRId64 " of their %s are left out",
                 steps ? steps : messages, steps ? "steps" : "messages");
    snprintf(text, 200, "ranks %d to %d of %d are shown%s", v->first, v->last, p->ranks, lost);
}

void tt_svg_time(const struct tt_picture *picture, int first, int last, char left_out[200],
                 FILE *out)
{
    last = (int)tt_min(tt_min(last, first + TT_SVG_RANKS - 1), picture->ranks - 1);
    bool drawn[LOOKS] = {false};
    struct svg_time_view v = {
        .picture = picture, .out = out, .first = first, .last = last, .drawn = drawn};
    int rows_n = last - first + 1;
    place_lanes(&v);
    v.row = fmin(fmax(760.0 / rows_n, 10), 44);
    v.heads = v.row >= 11 && picture->messages.n <= HEADS;
    v.scale = WIDE / fmax((double)picture->time_ps, 1);
    double bottom = y_of(&v, last + 1);
    tt_svg_begin(picture, "Who does what when", LEFT + WIDE + RIGHT, bottom + BOTTOM, out);
    v.node = tt_picture_nodes(picture);
    rows(&v);
    borders(&v);
    axis(&v);
    v.pale = true;
    each(&v, &picture->steps, false, bar);
    v.pale = false;
    int64_t steps = each(&v, &picture->steps, false, bar);
    int64_t messages = each(&v, &picture->messages, true, line);
    bottom = legend(&v, bottom + 44);
    write_left_out(&v, steps, messages, left_out);
    if (left_out[0]) tt_svg_text(LEFT, bottom + 22, "minor", "start", left_out, out);
    tt_svg_end(out);
    tt_free(v.node);
}
