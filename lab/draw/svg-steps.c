/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the steps of a collective on its network, as textbooks do. All messages that are posted at
 * the same time form a step, which has a picture of its own; each message is drawn as the links of
 * its route.
 */
#include <math.h>
#include <stdlib.h>

#include "draw/svg-view.h"

enum { ROW = 1040, PANEL = 250, TITLE = 22, STEPS = 16 };

struct steps {
    const struct tt_picture *picture;
    const struct tt_net *net;
    int64_t begin_ps[STEPS]; /* the times at which the steps are posted, in ascending order */
    int n;
    int64_t left_out;
};

static bool is_data(const struct tt_sim_event *message)
{
    return message->kind != TT_SIGNAL && message->bytes > 0;
}

static int earlier(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Finds the earliest STEPS times at which messages with data are posted, and counts the later
 * times. */
static tutti_status find_steps(struct steps *s)
{
    const struct tt_picture_list *messages = &s->picture->messages;
    int64_t n = 0, *time = tt_alloc((size_t)(messages->n + 1) * sizeof *time);
    if (!time)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for %lld messages", (long long)messages->n);
    for (int64_t i = 0; i < messages->n; i++)
        if (is_data(&messages->at[i])) time[n++] = messages->at[i].begin_ps;
    qsort(time, (size_t)n, sizeof *time, earlier);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && time[i] == time[i - 1]) continue;
        if (s->n < STEPS)
            s->begin_ps[s->n++] = time[i];
        else
            s->left_out++;
    }
    tt_free(time);
    return TUTTI_OK;
}

/* Draws a link with an arrow head, which lies just before the vertex `to`, or at the end of the
 * stub if the link is drawn as a stub. */
static void arrow(const struct tt_svg_view *v, int from, int to, int colour)
{
    struct tt_svg_spot a, b, stub;
    double side = fmin(v->step * 0.08, 4), back = v->node + 1, size = fmin(v->step * 0.16, 6.5);
    bool is_stub = tt_svg_is_stub(v->net, from, to, &stub);
    tt_svg_link(v, from, to, side, &a, &b);
    double length = fmax(hypot(b.x - a.x, b.y - a.y), 1e-9);
    double x = (b.x - a.x) / length, y = (b.y - a.y) / length;
    if (!is_stub) b = (struct tt_svg_spot){b.x - x * back, b.y - y * back};
    fprintf(v->out, "<path class=\"step r%d\" d=\"M%.1f %.1f L%.1f %.1f", colour, a.x, a.y, b.x,
            b.y);
    for (int k = -1; k <= 1; k += 2)
        fprintf(v->out, " M%.1f %.1f l%.1f %.1f", b.x, b.y, -size * (x - 0.55 * k * y),
                -size * (y + 0.55 * k * x));
    fprintf(v->out, "\"/>\n");
}

static void route(const struct tt_svg_view *v, const struct tt_net *net,
                  const struct tt_sim_event *message)
{
    struct tt_route route =
        tt_route(tt_net_node(net, message->rank), tt_net_node(net, message->peer));
    struct tt_hop hop;
    for (int at = route.at; tt_route_next(net, &route, &hop); at = hop.to) arrow(v, at, hop.to, 0);
}

static void title(const struct tt_svg_view *v, const struct steps *s, int step, int64_t messages,
                  int64_t least, int64_t most)
{
    char text[128], time[32], small[32], large[32];
    tt_svg_bytes_text(small, (double)least);
    tt_svg_bytes_text(large, (double)most);
    snprintf(text, sizeof text, "%d. at %s, %lld message%s of %s%s%s", step + 1,
             s->begin_ps[step] ? tt_svg_time_text(time, (double)s->begin_ps[step]) : "0",
             (long long)messages, messages == 1 ? "" : "s", small, least < most ? " to " : "",
             least < most ? large : "");
    tt_svg_text(v->origin.x + tt_svg_slice_width(v) / 2, v->origin.y - 6, "minor", "middle", text,
                v->out);
}

static void bare(const struct tt_svg_view *v)
{
    struct tt_svg_spot a, b;
    for (int64_t i = 0; i < v->net->links; i++) {
        tt_svg_link(v, v->net->link[i].from, v->net->link[i].to, 0, &a, &b);
        fprintf(v->out, "<path class=\"h0\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n", a.x, a.y, b.x, b.y);
    }
}

static void panel(const struct tt_svg_view *v, const struct steps *s, int step)
{
    int64_t messages = 0, least = INT64_MAX, most = 0;
    bare(v);
    for (int64_t i = 0; i < s->picture->messages.n; i++) {
        const struct tt_sim_event *message = &s->picture->messages.at[i];
        if (!is_data(message) || message->begin_ps != s->begin_ps[step]) continue;
        route(v, s->net, message);
        messages++;
        least = tt_min(least, message->bytes);
        most = tt_max(most, message->bytes);
    }
    tt_svg_vertices(v);
    title(v, s, step, messages, least, most);
}

static void write_left_out(const struct steps *s, char text[200])
{
    text[0] = '\0';
    if (s->left_out)
        snprintf(text, 200, "the first %d steps are shown; %lld are left out", s->n,
                 (long long)s->left_out);
}

tutti_status tt_svg_steps(const struct tt_picture *picture, const struct tt_net *net,
                          char left_out[200], FILE *out)
{
    struct steps s = {.picture = picture, .net = net};
    struct tt_svg_view v;
    char what[TT_PROBLEM_MAP + 64];
    TT_TRY(find_steps(&s));
    write_left_out(&s, left_out);
    tt_svg_view_begin(&v, &picture->net, out);
    v.step = fmin(fmin(PANEL / v.width, PANEL / v.height), 60);
    v.node = fmin(v.step * 0.27, 12);
    double wide = fmax(tt_svg_slice_width(&v), 245), high = tt_svg_slice_height(&v) + TITLE;
    int columns = (int)fmax(fmin(floor(ROW / wide), s.n), 1);
    columns = (int)tt_max(tt_div_up(s.n, tt_div_up(tt_max(s.n, 1), columns)), 1);
    snprintf(what, sizeof what, "The steps on %s", picture->net.text);
    tt_svg_begin(picture, what, fmax(columns * wide, 560) + 2 * TT_SVG_MARGIN,
                 TT_SVG_TOP + tt_div_up(tt_max(s.n, 1), columns) * high + 24, out);
    for (int i = 0; i < s.n; i++) {
        double middle = (wide - tt_svg_slice_width(&v)) / 2;
        v.origin = (struct tt_svg_spot){TT_SVG_MARGIN + i % columns * wide + middle,
                                        TT_SVG_TOP + TITLE + i / columns * high};
        panel(&v, &s, i);
    }
    tt_svg_text(TT_SVG_MARGIN, TT_SVG_TOP + tt_div_up(tt_max(s.n, 1), columns) * high + 12, "minor",
                "start", left_out, out);
    tt_svg_end(out);
    return TUTTI_OK;
}
