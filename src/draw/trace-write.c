/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture as a trace: each rank a process, each lane a thread, steps as complete events, messages as
 * flows from a step of the sender to one of the receiver.
 */
#include <inttypes.h>

#include "draw/json.h"
#include "draw/picture.h"
#include "plan/words.h"

static void print_us(const char *name, int64_t ps, FILE *out)
{
    fprintf(out, ",\"%s\":%" PRId64 ".%06" PRId64, name, ps / 1000000, ps % 1000000);
}

static void head(const struct tt_picture *picture, FILE *out)
{
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tutti\":\"trace 1\",\"problem\":");
    tt_json_string(picture->problem, out);
    fprintf(out, ",\"algorithm\":");
    tt_json_string(picture->algorithm, out);
    fprintf(out, ",\"model\":");
    tt_json_string(picture->model, out);
    fprintf(out,
            ",\"source\":\"%s\",\"ranks\":%d,\"time_ps\":%" PRId64 ",\"deeds_left_out\":%" PRId64
            ",\"trips_left_out\":%" PRId64 "},\n\"traceEvents\":[\n",
            picture->run ? "run" : "simulation", picture->ranks, picture->time_ps,
            picture->deeds.left_out, picture->trips.left_out);
}

static void step(const struct tt_sim_deed *d, FILE *out)
{
    fprintf(out, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d",
            tt_word(&tt_step_words, (int)d->kind), d->rank, d->lane);
    print_us("ts", d->begin_ps, out);
    print_us("dur", d->end_ps - d->begin_ps, out);
    fprintf(out, ",\"args\":{\"bytes\":%" PRId64 ",\"peer\":%d}}", d->bytes, d->peer);
}

static void flow(const struct tt_sim_deed *d, int64_t id, FILE *out)
{
    const char *name = tt_word(&tt_step_words, (int)d->kind);
    fprintf(out,
            ",\n{\"name\":\"%s\",\"cat\":\"message\",\"ph\":\"s\",\"id\":%" PRId64
            ",\"pid\":%d,\"tid\":%d",
            name, id, d->rank, d->lane);
    print_us("ts", d->begin_ps, out);
    fprintf(out, ",\"args\":{\"bytes\":%" PRId64 ",\"peer\":%d}}", d->bytes, d->peer);
    fprintf(out,
            ",\n{\"name\":\"%s\",\"cat\":\"message\",\"ph\":\"f\",\"bp\":\"e\",\"id\":%" PRId64
            ",\"pid\":%d,\"tid\":%d",
            name, id, d->peer, d->lane);
    print_us("ts", d->end_ps, out);
    fprintf(out, "}");
}

void tt_picture_trace(const struct tt_picture *picture, FILE *out)
{
    head(picture, out);
    for (int r = 0; r < picture->ranks; r++)
        fprintf(out,
                "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
                "\"args\":{\"name\":\"rank %d\"}}",
                r ? ",\n" : "", r, r);
    for (int64_t i = 0; i < picture->deeds.n; i++) step(&picture->deeds.at[i], out);
    for (int64_t i = 0; i < picture->trips.n; i++) flow(&picture->trips.at[i], i + 1, out);
    fprintf(out, "\n]}\n");
}
