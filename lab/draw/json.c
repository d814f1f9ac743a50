/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a picture as JSON; docs/laboratory.md describes the format.
 */
#include "draw/json.h"

#include <inttypes.h>

#include "draw/picture.h"
#include "plan/words.h"

void tt_json_string(const char *text, FILE *out)
{
    fputc('"', out);
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ' || c == '<')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void string_or_null(const char *text, FILE *out)
{
    if (*text)
        tt_json_string(text, out);
    else
        fputs("null", out);
}

static void steps(const struct tt_picture *picture, FILE *out)
{
    fprintf(out, "\"events\": [");
    for (int64_t i = 0; i < picture->steps.n; i++) {
        const struct tt_sim_event *d = &picture->steps.at[i];
        fprintf(out, "%s\n[%d,%d,\"%s\",%" PRId64 ",%" PRId64 ",%d,%" PRId64 "]", i ? "," : "",
                d->rank, d->lane, tt_word(&tt_step_words, (int)d->kind), d->begin_ps, d->end_ps,
                (int)tt_max(d->peer, -1), d->bytes);
    }
    fprintf(out, "],\n\"events_left_out\": %" PRId64 ",\n", picture->steps.left_out);
}

static void messages(const struct tt_picture *picture, FILE *out)
{
    fprintf(out, "\"messages\": [");
    for (int64_t i = 0; i < picture->messages.n; i++) {
        const struct tt_sim_event *d = &picture->messages.at[i];
        fprintf(out, "%s\n[%d,%d,\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 "]", i ? "," : "",
                d->rank, d->peer, tt_word(&tt_step_words, (int)d->kind), d->begin_ps, d->end_ps,
                d->bytes);
    }
    fprintf(out, "],\n\"messages_left_out\": %" PRId64 ",\n", picture->messages.left_out);
}

static void traffic(const struct tt_picture *picture, FILE *out)
{
    int n = picture->groups;
    fprintf(out, "\"traffic\": {\"groups\": %d, \"bytes\": [", n);
    for (int row = 0; row < n; row++) {
        fprintf(out, "%s\n[", row ? "," : "");
        for (int column = 0; column < n; column++)
            fprintf(out, "%s%" PRId64, column ? "," : "", picture->traffic[row * n + column]);
        fprintf(out, "]");
    }
    fprintf(out, "]},\n");
}

static void tree(const struct tt_picture *picture, FILE *out)
{
    if (!picture->edges) {
        fprintf(out, "\"tree\": null,\n");
        return;
    }
    fprintf(out, "\"tree\": {\"kind\": \"logical\", \"edges\": [");
    for (int i = 0; i < picture->edges; i++)
        fprintf(out, "%s[%d,%d]", i ? "," : "", picture->edge[i][0], picture->edge[i][1]);
    fprintf(out, "]},\n");
}

/* ---- Calls of a run ---- */

static void call_ranks(const struct tt_calls *c, FILE *out)
{
    fprintf(out, "\"ranks\": [");
    for (int64_t i = 0; i < c->ranks; i++) {
        const struct tt_call_rank *r = &c->rank[i];
        fprintf(out, "%s\n{\"rank\": %d, \"client\": %d, \"node\": %d, \"pid\": %d, \"host\": ",
                i ? "," : "", r->rank, r->client, r->node, r->pid);
        tt_json_string(r->host, out);
        fprintf(out, ", \"end\": ");
        string_or_null(tt_calls_end_text(r), out);
        fprintf(out,
                ", \"last\": %" PRId64 ", \"in\": %" PRId64 ", \"waited\": %" PRId64
                ", \"caused\": %" PRId64 ", \"calls\": %" PRId64 ", \"came_late\": %" PRId64
                ", \"lost_steps\": %d, \"lost_calls\": %d}",
                r->last_ps, r->in_ps, r->waited_ps, r->caused_ps, r->calls, r->came_late,
                r->lost_steps, r->lost_calls);
    }
    fprintf(out, "],\n");
}

static void call_teams(const struct tt_calls *c, FILE *out)
{
    fprintf(out, "\"teams\": [");
    for (int64_t t = 0; t < c->teams; t++) {
        fprintf(out, "%s{\"label\": ", t ? "," : "");
        tt_json_string(c->team[t].label, out);
        fprintf(out, ", \"size\": %d, \"client\": %d}", c->team[t].size, c->team[t].client);
    }
    fprintf(out, "],\n\"names\": [");
    for (int i = 0; i < c->names; i++) {
        fputs(i ? "," : "", out);
        tt_json_string(c->name[i], out);
    }
    fprintf(out, "],\n");
}

static void call_bars(const struct tt_calls *c, FILE *out)
{
    fprintf(out, "\"bars\": [");
    for (int64_t i = 0; i < c->bars; i++) {
        const struct tt_call_bar *b = &c->bar[i];
        fprintf(out,
                "%s\n[%d,%d,%" PRId64 ",%d,%d,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%" PRId64
                ",%" PRId64 ",%d,%" PRId64 ",%d]",
                i ? "," : "", b->rank, b->team, b->execution, b->coll, b->algorithm, b->type, b->op,
                b->bytes, b->begin_ps, b->end_ps, b->root, b->blocks ? b->begin_ps : b->blocked_ps,
                b->waited_ps, b->late, b->n, (b->open ? 1 : 0) + (b->status ? 2 : 0));
    }
    fprintf(out, "],\n\"groups\": [");
    for (int64_t g = 0; g < c->groups; g++) {
        const struct tt_call_group *group = &c->group[g];
        fprintf(out,
                "%s\n[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                ",%" PRId64 ",%" PRId64 ",%d,%d]",
                g ? "," : "", group->first, group->n, group->begin_ps, group->shortest_ps,
                group->median_ps, group->longest_ps, group->waited_ps, group->late_ps, group->late,
                (group->missing ? 1 : 0) + (group->open ? 2 : 0));
    }
    fprintf(out, "]");
}

static void calls(const struct tt_picture *picture, FILE *out)
{
    const struct tt_calls *c = &picture->calls;
    char text[200];
    if (!c->bars) {
        fprintf(out, "\"calls\": null,\n");
        return;
    }
    fprintf(out, "\"calls\": {\"clocks\": ");
    tt_calls_clocks(c, text, sizeof text);
    tt_json_string(text, out);
    fprintf(out, ", \"lost\": ");
    tt_calls_lost(c, picture->ranks, text, sizeof text);
    string_or_null(text, out);
    fprintf(out, ",\n");
    call_ranks(c, out);
    call_teams(c, out);
    call_bars(c, out);
    fprintf(out, "},\n");
}

/* ---- The network ---- */

static const char *const kinds[] = {
#define NAME(name) #name,
    TT_NET_LIST(NAME)
#undef NAME
};

static void shape(const struct tt_picture_net *net, FILE *out)
{
    const char *before = "";
    fprintf(out, "{\"text\": ");
    tt_json_string(net->text, out);
    fprintf(out, ", \"kind\": \"%s\", \"extent\": [", kinds[net->kind]);
    for (int d = 0; d < net->dims; d++) fprintf(out, "%s%d", d ? "," : "", net->extent[d]);
    fprintf(out, "], \"nodes\": %d, \"missing\": [", net->nodes);
    for (int v = 0; v < net->nodes; v++)
        if (net->vertex[v].rank == -1) {
            fprintf(out, "%s%d", before, v);
            before = ",";
        }
    fprintf(out, "],\n\"slices\": %d, \"vertices\": [", net->slices);
    for (int v = 0; v < net->vertices; v++) {
        const struct tt_picture_vertex *at = &net->vertex[v];
        fprintf(out, "%s[%.6g,%.6g,%d,%d]", v ? "," : "", at->x, at->y, at->slice, at->rank);
    }
    fprintf(out, "],\n");
}

static void loads(const struct tt_picture_net *net, FILE *out)
{
    fprintf(out, "\"links\": [");
    for (int64_t i = 0; i < net->links; i++)
        fprintf(out, "%s[%d,%d,%" PRId64 "]", i ? "," : "", net->link[i].from, net->link[i].to,
                net->link[i].bytes);
    fprintf(out, "],\n\"max_link_bytes\": %" PRId64 ", \"mean_link_bytes\": %.17g,\n\"routes\": [",
            net->max_link_bytes, net->mean_link_bytes);
    for (int i = 0; i < net->routes; i++) {
        fprintf(out, "%s[", i ? "," : "");
        for (const int *v = net->route[i]; *v >= 0; v++)
            fprintf(out, "%s%d", v > net->route[i] ? "," : "", *v);
        fprintf(out, "]");
    }
    fprintf(out, "]}");
}

void tt_picture_json(const struct tt_picture *picture, FILE *out)
{
    fprintf(out, "{\n\"tutti\": \"picture 2\", \"problem\": ");
    tt_json_string(picture->problem, out);
    fprintf(out, ", \"algorithm\": ");
    tt_json_string(picture->algorithm, out);
    fprintf(out, ",\n\"source\": \"%s\", \"model\": ", picture->run ? "run" : "simulation");
    string_or_null(picture->model, out);
    fprintf(out, ", \"ranks\": %d, \"time_ps\": %" PRId64 ",\n", picture->ranks, picture->time_ps);
    steps(picture, out);
    messages(picture, out);
    traffic(picture, out);
    tree(picture, out);
    calls(picture, out);
    fprintf(out, "\"network\": ");
    if (picture->net.vertices) {
        shape(&picture->net, out);
        loads(&picture->net, out);
    } else {
        fprintf(out, "null");
    }
    fprintf(out, "\n}\n");
}
