/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a picture as a trace: each rank is a process, each lane a thread, each step a complete
 * event, each message a flow (an arrow) from a step of the sender to a step of the receiver. In a
 * real run, the calls are events, too, which contain their steps. Overlapping calls are put on
 * different tracks, and the number of a thread is 8 times the track plus the lane, so that the
 * events of a thread nest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "draw/json.h"
#include "draw/picture.h"
#include "plan/words.h"

enum { LINES = 512 };

static void print_us(const char *name, int64_t ps, FILE *out)
{
    fprintf(out, ",\"%s\":%" PRId64 ".%06" PRId64, name, ps / 1000000, ps % 1000000);
}

static void print_text(const char *name, const char *text, FILE *out)
{
    fprintf(out, ",\"%s\":", name);
    tt_json_string(text, out);
}

static void head(const struct tt_picture *picture, FILE *out)
{
    const struct tt_calls *calls = &picture->calls;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tutti\":\"trace 2\"");
    print_text("problem", picture->problem, out);
    print_text("algorithm", picture->algorithm, out);
    print_text("model", picture->model, out);
    fprintf(out,
            ",\"source\":\"%s\",\"ranks\":%d,\"time_ps\":%" PRId64 ",\"events_left_out\":%" PRId64
            ",\"messages_left_out\":%" PRId64,
            picture->run ? "run" : "simulation", picture->ranks, picture->time_ps,
            picture->steps.left_out, picture->messages.left_out);
    if (calls->ranks || calls->bars)
        fprintf(out, ",\"calls_left_out\":%" PRId64 ",\"clocks\":%d,\"clock_error_ps\":%" PRId64,
                calls->left_out, calls->clocks, calls->clock_error_ps);
    fprintf(out, "},\n\"traceEvents\":[\n");
}

/* ---- Ranks and teams ---- */

static void process(const struct tt_picture *picture, int rank, FILE *out)
{
    const struct tt_call_rank *said = tt_calls_rank(&picture->calls, rank, 0);
    char name[128];
    if (said && said->said)
        snprintf(name, sizeof name, "rank %d (%s, pid %d)", rank, said->host, said->pid);
    else
        snprintf(name, sizeof name, "rank %d", rank);
    fprintf(out, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":",
            rank ? ",\n" : "", rank);
    tt_json_string(name, out);
    fprintf(out, "}}");
    if (picture->calls.ranks)
        fprintf(out,
                ",\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"args\":{"
                "\"sort_index\":%d}}",
                rank, rank);
}

/* Writes the facts that a rank reported, and how it ended. A rank that has a trace but did not end
 * in an orderly way gets an instant event, which viewers show as a mark. */
static void rank_info(const struct tt_call_rank *r, FILE *out)
{
    const char *end = tt_calls_end_text(r);
    fprintf(out,
            ",\n{\"name\":\"rank\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"client\":%d,\"node\":%d,"
            "\"os_pid\":%d,\"ended\":%d,\"runs\":%d,\"cut\":%d,\"silent\":%d,\"lost_steps\":%d,"
            "\"lost_calls\":%d",
            r->rank, r->client, r->node, r->pid, r->ended, r->runs, r->cut, !r->said, r->lost_steps,
            r->lost_calls);
    print_us("last", r->last_ps, out);
    print_text("host", r->host, out);
    fprintf(out, "}}");
    if (r->rank_status[0]) {
        fprintf(out, ",\n{\"name\":\"rank_status\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"of\":%d",
                r->rank, r->rank);
        print_text("rank_status", r->rank_status, out);
        fprintf(out, "}}");
    }
    if (!end[0] || !r->said) return;
    fprintf(out, ",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":%d,\"tid\":0", r->rank);
    print_us("ts", r->last_ps, out);
    print_text("name", end, out);
    fprintf(out, "}");
}

static void teams(const struct tt_calls *calls, FILE *out)
{
    for (int64_t t = 0; t < calls->teams; t++) {
        const struct tt_call_team *team = &calls->team[t];
        fprintf(out,
                ",\n{\"name\":\"team\",\"ph\":\"M\",\"pid\":0,\"args\":{\"team\":%" PRId64
                ",\"id\":\"%016" PRIx64 "\",\"size\":%d,\"client\":%d",
                t, team->id, team->size, team->client);
        print_text("label", team->label, out);
        fprintf(out, "}}");
    }
}

/* ---- Lines: the threads of the trace ---- */

static void name_line(int rank, int line, FILE *out)
{
    int track = line / TT_LANES, lane = line % TT_LANES;
    fprintf(out,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":"
            "\"",
            rank, line);
    if (lane)
        fprintf(out, "lane %d", lane);
    else
        fprintf(out, "calls");
    if (track) fprintf(out, ", overlapping %d", track);
    fprintf(out, "\"}}");
}

/* Writes the name of each line (thread) that has at least one call or step. */
static void name_lines(const struct tt_picture *p, FILE *out)
{
    uint8_t *used = tt_calloc((size_t)p->ranks, LINES);
    if (!used) return; /* there is no memory; only the names will be missing */
    for (int64_t i = 0; i < p->calls.bars; i++)
        used[(int64_t)p->calls.bar[i].rank * LINES + p->calls.bar[i].track * TT_LANES] = 1;
    for (int64_t i = 0; i < p->steps.n; i++)
        if (p->steps.at[i].lane < LINES)
            used[(int64_t)p->steps.at[i].rank * LINES + p->steps.at[i].lane] = 1;
    for (int64_t i = 0; i < (int64_t)p->ranks * LINES; i++)
        if (used[i]) name_line((int)(i / LINES), (int)(i % LINES), out);
    tt_free(used);
}

/* ---- Events ---- */

static void call(const struct tt_calls *c, const struct tt_call_bar *bar, FILE *out)
{
    char text[96];
    fprintf(out, ",\n{\"ph\":\"X\",\"cat\":\"call\",\"pid\":%d,\"tid\":%d", bar->rank,
            bar->track * TT_LANES);
    print_text("name", tt_calls_text(c, bar, text, sizeof text), out);
    print_us("ts", bar->begin_ps, out);
    print_us("dur", bar->end_ps - bar->begin_ps, out);
    fprintf(out, ",\"args\":{\"team\":%d,\"execution\":%" PRId64 ",\"bytes\":%" PRId64, bar->team,
            bar->execution, bar->bytes);
    print_text("members", c->team[bar->team].label, out);
    print_text("call", c->name[bar->coll], out);
    print_text("algorithm", c->name[bar->algorithm], out);
    print_text("type", c->name[bar->type], out);
    print_text("op", c->name[bar->op], out);
    if (bar->n >= 0) fprintf(out, ",\"n\":%" PRId64, bar->n);
    if (bar->root >= 0) fprintf(out, ",\"root\":%d", bar->root);
    if (bar->blocked_ps >= 0) print_us("blocked", bar->blocked_ps, out);
    fprintf(out, ",\"blocks\":%d,\"open\":%d,\"status\":%u", bar->blocks, bar->open, bar->status);
    if (bar->waited_ps > 0) {
        fprintf(out, ",\"waited_for\":%d", bar->late);
        print_us("waited_us", bar->waited_ps, out);
    }
    fprintf(out, "}}");
}

static void step(const struct tt_sim_event *d, FILE *out)
{
    fprintf(out, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d",
            tt_word(&tt_step_words, (int)d->kind), d->rank, d->lane);
    print_us("ts", d->begin_ps, out);
    print_us("dur", d->end_ps - d->begin_ps, out);
    fprintf(out, ",\"args\":{\"bytes\":%" PRId64 ",\"peer\":%d}}", d->bytes, d->peer);
}

/* Returns the last step of the thread `lane` of this rank that began at or before the time; NULL if
 * there is none. Steps are sorted by rank, lane and time. */
static const struct tt_sim_event *last_begun(const struct tt_picture *p, int rank, int lane,
                                             int64_t time_ps)
{
    int64_t low = 0, high = p->steps.n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const struct tt_sim_event *d = &p->steps.at[middle];
        bool behind = d->rank != rank   ? d->rank > rank
                      : d->lane != lane ? d->lane > lane
                                        : d->begin_ps > time_ps;
        if (behind)
            high = middle;
        else
            low = middle + 1;
    }
    const struct tt_sim_event *found = low ? &p->steps.at[low - 1] : NULL;
    return found && found->rank == rank && found->lane == lane ? found : NULL;
}

/* The thread and the time to which one end of an arrow is attached. When another rank reads data,
 * the owner of the data may be between two steps; the arrow is then attached to the earlier
 * step. */
struct hold {
    int line;
    int64_t time_ps;
};

static struct hold hold_of(const struct tt_picture *p, int rank, int lane, int64_t time_ps)
{
    struct hold hold = {lane, time_ps};
    int64_t best = -1;
    if (!p->calls.bars) return hold;
    for (int line = lane; line < LINES && best < time_ps; line += TT_LANES) {
        const struct tt_sim_event *d = last_begun(p, rank, line, time_ps);
        if (!d || tt_min(d->end_ps, time_ps) <= best) continue;
        best = tt_min(d->end_ps, time_ps);
        hold = (struct hold){line, best};
    }
    return hold;
}

/* Writes one end of the arrow of a message: the sender's end, or the receiver's if `ends` is true.
 * If the rank at this end was between two steps when it sent or received the message, the arrow is
 * attached to the end of the earlier step (hold_of), and "at" gives the time of sending or
 * receiving. */
static void flow_end(const struct tt_picture *p, const struct tt_sim_event *d, int64_t id,
                     bool ends, FILE *out)
{
    int rank = ends ? d->peer : d->rank;
    int64_t time = ends ? d->end_ps : d->begin_ps;
    struct hold hold = hold_of(p, rank, d->lane, time);
    fprintf(out,
            ",\n{\"name\":\"%s\",\"cat\":\"message\",\"ph\":\"%s\",\"id\":%" PRId64
            ",\"pid\":%d,\"tid\":%d",
            tt_word(&tt_step_words, (int)d->kind), ends ? "f\",\"bp\":\"e" : "s", id, rank,
            hold.line);
    print_us("ts", hold.time_ps, out);
    if (!ends)
        fprintf(out, ",\"args\":{\"bytes\":%" PRId64 ",\"peer\":%d", d->bytes, d->peer);
    else if (hold.time_ps != time)
        fprintf(out, ",\"args\":{\"peer\":%d", d->rank);
    if (hold.time_ps != time) print_us("at", time, out);
    fprintf(out, ends && hold.time_ps == time ? "}" : "}}");
}

void tt_picture_trace(const struct tt_picture *picture, FILE *out)
{
    const struct tt_calls *calls = &picture->calls;
    head(picture, out);
    for (int r = 0; r < picture->ranks; r++) process(picture, r, out);
    for (int64_t i = 0; i < calls->ranks; i++) rank_info(&calls->rank[i], out);
    teams(calls, out);
    if (calls->bars) name_lines(picture, out);
    for (int64_t i = 0; i < calls->bars; i++) call(calls, &calls->bar[i], out);
    for (int64_t i = 0; i < picture->steps.n; i++) step(&picture->steps.at[i], out);
    for (int64_t i = 0; i < 2 * picture->messages.n; i++)
        flow_end(picture, &picture->messages.at[i / 2], i / 2 + 1, i % 2, out);
    fprintf(out, "\n]}\n");
}
