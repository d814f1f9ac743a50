/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Valid traces: a trace that is written reads back as the same picture, and the messages of a real
 * run are found.
 */
#include "drawn.h"

#include <stdlib.h>
#include <string.h>

/* Checks that a picture that is written as a trace and read again is the same picture. */
static void there_and_back(void **state)
{
    static const char *const cases[][2] = {
        {"bcast/u8/1K/p8/root=3", "binomial"},    {"allreduce/f64/sum/64K/p8", "halving"},
        {"alltoall/u8/1K/p16@torus:4x4", "mesh"}, {"allreduce/f64/sum/64K/p6", "prt"},
        {"barrier/p5", "dissemination"},          {"bcast/u8/1/p1", "binomial"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct drawn *d = drawn(cases[i][0], cases[i][1]);
        struct tt_picture back;
        struct tt_trace_error error;
        char *trace = printed(tt_picture_trace, &d->picture);
        if (tt_trace_read(&back, trace, strlen(trace), &error) != TUTTI_OK)
            fail_msg("%s: %d:%d: %s", cases[i][0], error.line, error.column, error.text);
        char *before = printed(tt_picture_json, &d->picture),
             *after = printed(tt_picture_json, &back);
        assert_string_equal(before, after);
        free(before);
        free(after);
        free(trace);
        tt_picture_free(&back);
        drawn_free(d);
    }
    (void)state;
}

/* ---- Real runs, written by hand ---- */

struct trace_event {
    const char *name;
    int rank;
    const char *ts, *dur; /* decimal numbers, as the file has them */
    int bytes, peer, value, execution;
    const char *call, *algorithm; /* NULL: the event does not have this */
};

/* Returns the events as a JSON array. The caller frees it. */
static char *written(const struct trace_event *event, int n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (int i = 0; i < n; i++) {
        const struct trace_event *e = &event[i];
        fprintf(out, "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"ts\":%s,\"dur\":%s,",
                i ? ",\n" : "[", e->name, e->rank, e->ts, e->dur);
        if (e->call)
            fprintf(out, "\"args\":{\"call\":\"%s\",\"algorithm\":\"%s\",", e->call, e->algorithm);
        fprintf(out, "%s\"bytes\":%d,\"peer\":%d,\"value\":%d,\"execution\":%d}}",
                e->call ? "" : "\"args\":{", e->bytes, e->peer, e->value, e->execution);
    }
    fprintf(out, "]");
    assert_int_equal(fclose(out), 0);
    return text;
}

static void add(struct tt_trace *trace, const char *text)
{
    struct tt_trace_error error;
    if (tt_trace_add(trace, text, strlen(text), &error) != TUTTI_OK)
        fail_msg("%d:%d: %s", error.line, error.column, error.text);
}

/* Returns the picture of two files: one with the first `split` events, and one with the other
 * events. */
static struct tt_picture run(const struct trace_event *event, int split, int n, int64_t execution)
{
    struct tt_trace trace;
    struct tt_picture picture;
    char *one = written(event, split), *other = written(event + split, n - split);
    tt_trace_begin(&trace);
    add(&trace, one);
    add(&trace, other);
    if (tt_trace_end(&trace, execution, &picture) != TUTTI_OK) fail_msg("%s", tutti_error());
    tt_trace_free(&trace);
    free(one);
    free(other);
    return picture;
}

static void message_is(const struct tt_picture *p, int64_t i, struct tt_sim_event wanted)
{
    const struct tt_sim_event *message = &p->messages.at[i];
    assert_true(i < p->messages.n);
    assert_int_equal(message->kind, wanted.kind);
    assert_int_equal(message->rank, wanted.rank);
    assert_int_equal(message->peer, wanted.peer);
    assert_int_equal(message->bytes, wanted.bytes);
    assert_int_equal(message->begin_ps, wanted.begin_ps);
    assert_int_equal(message->end_ps, wanted.end_ps);
}

/* Checks how messages are matched: the second send matches the second receive, whose wait comes
 * first. A message ends with the wait of its receiver. */
static void messages(void **state)
{
    static const struct trace_event events[] = {
        {"send", 0, "100.000", "1.0", 10, 1, 0, 4, NULL, NULL},
        {"send", 0, "102.5", "0.001", 20, 1, 1, 4, NULL, NULL},
        {"wait", 0, "103", "1", 0, -1, 0, 4, NULL, NULL},
        {"recv", 1, "101", "0.5", 10, 0, 7, 4, NULL, NULL},
        {"recv", 1, "102", "0.5", 20, 0, 8, 4, NULL, NULL},
        {"wait", 1, "103", "2.000001", 0, -1, 8, 4, NULL, NULL},
        {"wait", 1, "106", "1", 0, -1, 7, 4, NULL, NULL},
    };
    struct tt_picture p = run(events, 3, 7, -1);
    assert_true(p.run);
    assert_int_equal(p.ranks, 2);
    assert_int_equal(p.steps.n, 7);
    assert_int_equal(p.messages.n, 2);
    message_is(&p, 0, (struct tt_sim_event){TT_SEND, 0, 0, 1, 0, 7000000, 10});
    message_is(&p, 1, (struct tt_sim_event){TT_SEND, 0, 0, 1, 2500000, 5000001, 20});
    assert_int_equal(p.time_ps, 7000000);
    assert_int_equal(p.edges, 1);
    tt_picture_free(&p);
    (void)state;
}

/* Checks how awaits are matched. Rank 1 awaits flag value 2 of rank 0. Its await matches the signal
 * with value 3, which goes to all ranks, and neither the signal with value 1 nor the one to rank 2
 * only. */
static void flags(void **state)
{
    static const struct trace_event events[] = {
        {"signal", 0, "1", "1", 0, 1, 1, 0, NULL, NULL},
        {"signal", 0, "3", "1", 0, 2, 2, 0, NULL, NULL},
        {"signal", 0, "5", "1", 0, -1, 3, 0, NULL, NULL},
        {"await", 1, "2", "9", 0, 0, 2, 0, NULL, NULL},
        {"await", 2, "2", "2.5", 0, 0, 2, 0, NULL, NULL},
    };
    struct tt_picture p = run(events, 3, 5, -1);
    assert_int_equal(p.messages.n, 2);
    message_is(&p, 0, (struct tt_sim_event){TT_SIGNAL, 0, 0, 2, 2000000, 3500000, 8});
    message_is(&p, 1, (struct tt_sim_event){TT_SIGNAL, 0, 0, 1, 4000000, 10000000, 8});
    assert_int_equal(p.traffic[1], 0);
    tt_picture_free(&p);
    (void)state;
}

/* Checks which trace events become transfers in the picture. A read during a get belongs to that
 * get, and is no transfer of its own. A read during a reduction is a transfer of its own. Every
 * other read is ignored. */
static void one_sided(void **state)
{
    static const struct trace_event events[] = {
        {"get", 0, "0", "2", 64, 1, 0, 0, NULL, NULL},
        {"read", 0, "0.5", "1", 64, 1, 0, 0, NULL, NULL},
        {"wait", 0, "2", "1", 0, -1, 0, 0, NULL, NULL},
        {"reduce", 0, "3", "4", 32, -1, 0, 0, NULL, NULL},
        {"read", 0, "4", "1", 32, 1, 0, 0, NULL, NULL},
        {"read", 0, "9", "1", 5, 1, 0, 0, NULL, NULL},
        {"put", 1, "8", "1", 16, 0, 3, 0, NULL, NULL},
        {"write", 1, "8.5", "0.1", 16, 0, 0, 0, NULL, NULL},
        {"wait", 1, "10", "2", 0, -1, 3, 0, NULL, NULL},
    };
    struct tt_picture p = run(events, 6, 9, -1);
    assert_int_equal(p.steps.n, 5);
    assert_int_equal(p.messages.n, 3);
    message_is(&p, 0, (struct tt_sim_event){TT_GET, 1, 0, 0, 0, 3000000, 64});
    message_is(&p, 1, (struct tt_sim_event){TT_GET, 1, 0, 0, 4000000, 5000000, 32});
    message_is(&p, 2, (struct tt_sim_event){TT_PUT, 1, 0, 0, 8000000, 12000000, 16});
    assert_int_equal(p.traffic[2], 112);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that a picture of one of several executions has the times and names of that execution. */
static void executions(void **state)
{
    static const struct trace_event events[] = {
        {"copy", 0, "10", "1", 1, -1, 0, 0, "bcast", "flat"},
        {"reduce", 0, "20", "3", 2, -1, 0, 1, "reduce", "prt"},
        {"copy", 1, "30", "1", 1, -1, 0, 0, "bcast", "flat"},
    };
    struct tt_picture p = run(events, 2, 3, 1);
    assert_int_equal(p.ranks, 2);
    assert_int_equal(p.steps.n, 1);
    assert_int_equal(p.steps.at[0].begin_ps, 0);
    assert_int_equal(p.time_ps, 3000000);
    assert_string_equal(p.problem, "reduce");
    assert_string_equal(p.algorithm, "prt");
    tt_picture_free(&p);
    p = run(events, 2, 3, -1);
    assert_int_equal(p.steps.n, 3);
    assert_string_equal(p.problem, "");
    assert_int_equal(p.time_ps, 21000000);
    tt_picture_free(&p);
    (void)state;
}

/* Checks times of a machine that has been running for years: the number of microseconds is so large
 * that a double cannot hold all of its decimals. */
static void long_uptime(void **state)
{
    static const struct trace_event events[] = {
        {"copy", 0, "999999999999999.123456", "0.000001", 1, -1, 0, 0, NULL, NULL},
        {"copy", 0, "999999999999999.123457", "0.5", 1, -1, 0, 0, NULL, NULL},
    };
    struct tt_picture p = run(events, 1, 2, -1);
    assert_int_equal(p.steps.at[1].begin_ps - p.steps.at[0].begin_ps, 1);
    assert_int_equal(p.steps.at[0].end_ps, p.steps.at[1].begin_ps);
    assert_int_equal(p.steps.at[1].end_ps - p.steps.at[1].begin_ps, 500000);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that the text of a problem in a trace file, which may contain any characters, is escaped
 * in the JSON and in the SVG of the picture. */
static void names(void **state)
{
    static const char text[] =
        "{\"otherData\":{\"tutti\":\"trace 2\",\"problem\":\"</script><b>&\\u0001\\n\\\"\xff\","
        "\"algorithm\":\"a\\\\b\",\"ranks\":1},\"traceEvents\":[]}";
    struct tt_picture p;
    struct tt_trace_error error;
    assert_int_equal(tt_trace_read(&p, text, sizeof text - 1, &error), TUTTI_OK);
    char *json = printed(tt_picture_json, &p), left_out[200], *svg = NULL;
    size_t n;
    assert_null(strchr(json, '<'));
    assert_non_null(strstr(json, "\\u003c/script>\\u003cb>&\\u0001\\u000a\\\"?\""));
    FILE *memory = open_memstream(&svg, &n);
    tt_svg_time(&p, 0, 0, left_out, memory);
    fclose(memory);
    assert_non_null(strstr(svg, "&lt;/script&gt;&lt;b&gt;&amp;\"?"));
    free(json);
    free(svg);
    tt_picture_free(&p);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(messages),
        cmocka_unit_test(flags),          cmocka_unit_test(one_sided),
        cmocka_unit_test(executions),     cmocka_unit_test(long_uptime),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
