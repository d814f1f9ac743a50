/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces. If a trace is refused, the error has a position. If it is accepted, the picture keeps its
 * invariants, can be drawn, and prints as valid JSON. The picture is then written as a trace; if
 * this trace is read and written again, its text stays the same.
 */
#include "draw/json-read.h"
#include "draw/picture.h"
#include "draw/trace.h"
#include "fuzz.h"

/* A picture of more than DRAWN ranks is not drawn, and one of more than WRITTEN ranks is not
 * written as a trace, because each rank takes at least one line. */
enum { DRAWN = 256, WRITTEN = 4096 };

static void is_reported(const char *text, size_t size, const struct tt_trace_error *error)
{
    fuzz_check(error->text[0] || tutti_error()[0], "nothing is said");
    if (error->line == 0) return; /* the error has no position */
    const char *at = text, *end = text + size;
    for (int line = 1; line < error->line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        fuzz_check(at, "there is no line %d", error->line);
        at++;
    }
    fuzz_check(error->column >= 1 && error->column <= end - at + 1, "column %d", error->column);
    fuzz_check(error->text[0], "nothing is said");
}

static void is_event(const struct tt_picture *picture, const struct tt_sim_event *event,
                     bool message)
{
    fuzz_check(event->rank >= 0 && event->rank < picture->ranks, "rank %d", event->rank);
    fuzz_check(event->peer >= (message ? 0 : -1) && event->peer < picture->ranks, "peer %d",
               event->peer);
    fuzz_check(event->begin_ps >= 0 && event->begin_ps <= event->end_ps, "from %lld to %lld",
               (long long)event->begin_ps, (long long)event->end_ps);
    fuzz_check(event->bytes >= 0, "%lld bytes", (long long)event->bytes);
}

static void is_bar(const struct tt_picture *picture, const struct tt_call_bar *bar)
{
    fuzz_check(bar->rank >= 0 && bar->rank < picture->ranks, "rank %d", bar->rank);
    fuzz_check(bar->begin_ps >= 0 && bar->begin_ps <= bar->end_ps, "from %lld to %lld",
               (long long)bar->begin_ps, (long long)bar->end_ps);
    fuzz_check(bar->waited_ps >= 0 && bar->waited_ps <= bar->end_ps - bar->begin_ps, "waited %lld",
               (long long)bar->waited_ps);
    fuzz_check(bar->team >= 0 && bar->team < picture->calls.teams, "team %d", bar->team);
    fuzz_check(bar->group >= 0 && bar->group < picture->calls.groups, "group %d", bar->group);
}

static void is_sound(const struct tt_picture *picture)
{
    for (int64_t i = 0; i < picture->calls.bars; i++) is_bar(picture, &picture->calls.bar[i]);
    fuzz_check(picture->ranks >= 1, "%d ranks", picture->ranks);
    for (int64_t i = 0; i < picture->steps.n; i++) is_event(picture, &picture->steps.at[i], false);
    for (int64_t i = 0; i < picture->messages.n; i++)
        is_event(picture, &picture->messages.at[i], true);
    for (int i = 0; i < picture->groups * picture->groups; i++)
        fuzz_check(picture->traffic[i] >= 0, "%lld bytes", (long long)picture->traffic[i]);
    for (int i = 0; i < picture->edges; i++)
        fuzz_check(picture->edge[i][0] >= 0 && picture->edge[i][0] < picture->ranks &&
                       picture->edge[i][1] >= 0 && picture->edge[i][1] < picture->ranks,
                   "edge %d", i);
}

static char *written(const struct tt_picture *picture, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out) abort();
    tt_picture_trace(picture, out);
    fclose(out);
    return text;
}

static void comes_back(const struct tt_picture *picture)
{
    struct tt_picture again;
    struct tt_trace_error error;
    size_t size, twice_size;
    char *text = written(picture, &size);
    tutti_status status = tt_trace_read(&again, text, size, &error);
    fuzz_check(status == TUTTI_OK, "line %d, column %d: %s\n%s", error.line, error.column,
               error.text, text);
    char *twice = written(&again, &twice_size);
    fuzz_check(size == twice_size && memcmp(text, twice, size) == 0, "%s\nbecame\n%s", text, twice);
    tt_picture_free(&again);
    free(text);
    free(twice);
}

static void is_json(const struct tt_picture *picture)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct tt_json json;
    if (!out) abort();
    tt_picture_json(picture, out);
    fclose(out);
    tt_json_begin(&json, text, size);
    fuzz_check(tt_json_skip(&json), "%s: %s", json.expected, json.wrong_at);
    tt_json_peek(&json);
    fuzz_check(json.at == json.end, "%s", json.at);
    free(text);
}

static void is_drawn(const struct tt_picture *picture)
{
    char *text = NULL, left_out[200];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    tt_svg_time(picture, 0, picture->ranks - 1, left_out, out);
    tt_svg_traffic(picture, out);
    if (picture->calls.bars) {
        tt_svg_calls(picture, 0, picture->ranks - 1, left_out, out);
        tt_calls_summary(&picture->calls, picture->ranks, picture->time_ps, 100, out);
    }
    if (picture->edges) {
        tt_picture_dot_tree(picture, out);
        tt_svg_tree(picture, out);
    }
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + !size); /* a copy without a 0 at the end */
    struct tt_picture picture;
    struct tt_trace_error error;
    if (!text) abort();
    if (size) memcpy(text, data, size);
    tutti_status status = tt_trace_read(&picture, text, size, &error);
    if (status != TUTTI_OK) {
        fuzz_check(status == TUTTI_ERR_ARG, "%d", (int)status);
        is_reported(text, size, &error);
    } else {
        is_sound(&picture);
        if (picture.ranks <= DRAWN) is_drawn(&picture);
        if (picture.ranks <= WRITTEN) {
            is_json(&picture);
            comes_back(&picture);
        }
        tt_picture_free(&picture);
    }
    free(text);
    return 0;
}
