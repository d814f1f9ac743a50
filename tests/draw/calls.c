/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads traces of runs that are written by hand, and checks what is found in them: which rank came
 * late to a call, how long each rank waited for which other rank, the teams, the differences of the
 * clocks, and ranks that never came. Also reads trace files that are cut off or invalid.
 */
#include "drawn.h"

#include <stdlib.h>
#include <string.h>

#include "draw/json-read.h"
#include "fabric/trace-part.h"

/* ---- Runs written by hand ---- */

struct calls_call {
    int rank;
    double begin, end, blocked; /* microseconds; blocked: when the caller began to wait, negative:
                                 * at `begin` */
    const char *coll;
    int team, execution, root; /* root: the rank of the root; -1: no root */
};

static void print_call(FILE *out, const struct calls_call *c)
{
    fprintf(out,
            ",{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"%s\",\"pid\":%d,\"tid\":0,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"team\":%d,\"execution\":%d,\"bytes\":8,\"call\":\"%s\","
            "\"algorithm\":\"flat\"",
            c->coll, c->rank, c->begin, c->end - c->begin, c->team, c->execution, c->coll);
    if (c->root >= 0) fprintf(out, ",\"root\":%d", c->root);
    if (c->blocked >= 0) fprintf(out, ",\"blocked\":%.3f", c->blocked);
    fprintf(out, ",\"blocks\":%d}}", c->blocked < 0);
}

/* Returns the text of a rank's trace file: its description, its teams 0 (the world) and 1, and its
 * calls. The caller frees the text. */
static __attribute__((noinline)) char *file_of(int rank, int ranks, const char *more,
                                               const struct calls_call *call, int n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out,
            "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"run\":7,\"ranks\":%d,"
            "\"last\":900.5,\"host\":\"here\"%s}},{\"name\":\"team\",\"ph\":\"M\",\"pid\":%d,"
            "\"args\":{\"team\":0,\"id\":\"0\"}},{\"name\":\"team\",\"ph\":\"M\",\"pid\":%d,"
            "\"args\":{\"team\":1,\"id\":\"%d\"}}",
            rank, ranks, more, rank, rank, 10 + rank % 2);
    for (int i = 0; i < n; i++)
        if (call[i].rank == rank) print_call(out, &call[i]);
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

/* Writes the text of a trace file for each of the ranks 0 .. ranks - 1 (file_of), and returns the
 * picture that is made from all these texts. more[r] is added to the description of rank r. */
static struct tt_picture run(int ranks, const char *const *more, const struct calls_call *call,
                             int n)
{
    struct tt_trace trace;
    struct tt_picture picture;
    tt_trace_begin(&trace);
    for (int r = 0; r < ranks; r++) {
        char *text = file_of(r, ranks, more ? more[r] : ",\"ended\":1", call, n);
        add(&trace, text);
        free(text);
    }
    if (tt_trace_end(&trace, -1, &picture) != TUTTI_OK) fail_msg("%s", tutti_error());
    tt_trace_free(&trace);
    return picture;
}

static const struct tt_call_bar *bar_of(const struct tt_picture *p, int group, int rank)
{
    const struct tt_call_group *g = &p->calls.group[group];
    for (int64_t i = g->first; i < g->first + g->n; i++)
        if (p->calls.bar[i].rank == rank) return &p->calls.bar[i];
    fail_msg("rank %d has no call in group %d", rank, group);
    return NULL;
}

static void waits(const struct tt_picture *p, int group, int rank, int us, int late)
{
    const struct tt_call_bar *bar = bar_of(p, group, rank);
    assert_int_equal(bar->waited_ps, us * INT64_C(1000000));
    if (us) assert_int_equal(bar->late, late);
}

/* ---- Ranks that come late ---- */

/* Checks a call in which each rank waits until the last one has begun it. */
static void all_wait_for_the_last(void **state)
{
    static const struct calls_call calls[] = {{0, 100, 145, -1, "allreduce", 0, 0, -1},
                                              {1, 110, 140, -1, "allreduce", 0, 0, -1},
                                              {2, 130, 150, -1, "allreduce", 0, 0, -1}};
    struct tt_picture p = run(3, NULL, calls, 3);
    const struct tt_call_group *g = p.calls.group;
    assert_int_equal(p.calls.groups, 1);
    waits(&p, 0, 0, 30, 2);
    waits(&p, 0, 1, 20, 2);
    waits(&p, 0, 2, 0, -1);
    assert_int_equal(g->late, 2);
    assert_int_equal(g->late_ps, 20000000);
    assert_int_equal(g->waited_ps, 50000000);
    assert_int_equal(g->worst_ps, 30000000);
    assert_int_equal(g->shortest_ps, 20000000);
    assert_int_equal(g->median_ps, 30000000);
    assert_int_equal(g->longest_ps, 45000000);
    assert_int_equal(p.time_ps, 50000000);
    assert_int_equal(p.calls.rank[2].caused_ps, 50000000);
    assert_int_equal(p.calls.rank[2].came_late, 1);
    assert_int_equal(p.calls.rank[0].in_ps, 45000000);
    assert_string_equal(p.calls.team[g->n ? p.calls.bar[0].team : 0].label, "world");
    tt_picture_free(&p);
    (void)state;
}

/* Checks a broadcast, in which the root waits for no rank, and a leaf that has finished was not
 * delayed by a leaf that came later. So the root counts as late, and not the leaf that came
 * last. */
static void nobody_waits_for_who_comes_afterwards(void **state)
{
    static const struct calls_call calls[] = {{0, 20, 22, -1, "bcast", 0, 0, 0},
                                              {1, 10, 25, -1, "bcast", 0, 0, 0},
                                              {2, 90, 91, -1, "bcast", 0, 0, 0}};
    struct tt_picture p = run(3, NULL, calls, 3);
    waits(&p, 0, 0, 0, -1);
    waits(&p, 0, 1, 10, 0);
    waits(&p, 0, 2, 0, -1);
    assert_int_equal(p.calls.group[0].late, 0);
    assert_int_equal(p.calls.group[0].late_ps, 10000000);
    assert_int_equal(p.calls.rank[0].came_late, 1);
    assert_int_equal(p.calls.rank[2].came_late, 0);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that the time of a nonblocking call during which its caller computes does not count as
 * waiting. */
static void who_calculates_does_not_wait(void **state)
{
    static const struct calls_call calls[] = {{0, 0, 60, 45, "allreduce", 0, 0, -1},
                                              {1, 0, 60, 55, "allreduce", 0, 0, -1},
                                              {2, 50, 60, -1, "allreduce", 0, 0, -1}};
    struct tt_picture p = run(3, NULL, calls, 3);
    waits(&p, 0, 0, 5, 2);
    waits(&p, 0, 1, 0, -1);
    assert_int_equal(p.calls.rank[0].in_ps, 15000000);
    assert_true(p.calls.group[0].blocked);
    tt_picture_free(&p);
    (void)state;
}

/* Returns the summary of a run. The caller frees it. */
static __attribute__((noinline)) char *summary_of(const struct tt_picture *p)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tt_calls_summary(&p->calls, p->ranks, p->time_ps, 10, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Checks a nonblocking call that is complete before any rank waits for it: no rank waited for the
 * rank that came late. Instead of a time of 0 the summary prints that the call is nonblocking. */
static void nobody_waits_in_a_nonblocking_call(void **state)
{
    enum { NEVER = 1000 };
    static const struct calls_call calls[] = {{0, 0, 60, NEVER, "barrier", 0, 0, -1},
                                              {1, 50, 60, NEVER, "barrier", 0, 0, -1},
                                              {0, 70, 80, -1, "bcast", 0, 1, 0},
                                              {1, 70, 80, -1, "bcast", 0, 1, 0}};
    struct tt_picture p = run(2, NULL, calls, 4);
    char *text = summary_of(&p);
    assert_int_equal(p.calls.group[0].late_ps, 50000000);
    assert_int_equal(p.calls.group[0].waited_ps, 0);
    assert_false(p.calls.group[0].blocked);
    assert_int_equal(tt_calls_blocked_from(bar_of(&p, 0, 0)), -1);
    assert_true(p.calls.group[1].blocked);
    const char *said = strstr(text, "nonblocking");
    if (!said || strncmp(said, "nonblocking  rank 1 (1 of 1)", 28) != 0) fail_msg("%s", text);
    assert_null(strstr(said + 1, "nonblocking"));
    free(text);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that the calls of two teams of two ranks each are kept apart, although both teams have an
 * execution 0: a rank waits only for the other rank of its team. */
static void teams_are_apart(void **state)
{
    static const struct calls_call calls[] = {{0, 0, 50, -1, "barrier", 1, 0, -1},
                                              {1, 30, 32, -1, "barrier", 1, 0, -1},
                                              {2, 40, 50, -1, "barrier", 1, 0, -1},
                                              {3, 30, 32, -1, "barrier", 1, 0, -1}};
    struct tt_picture p = run(4, NULL, calls, 4);
    assert_int_equal(p.calls.groups, 2);
    assert_int_equal(p.calls.group[0].n, 2);
    waits(&p, 0, 0, 40, 2);
    waits(&p, 1, 1, 0, -1);
    assert_string_equal(p.calls.team[bar_of(&p, 0, 0)->team].label, "ranks 0, 2");
    assert_string_equal(p.calls.team[bar_of(&p, 1, 1)->team].label, "ranks 1, 3");
    tt_picture_free(&p);
    (void)state;
}

/* Checks that a message is matched within its team, even if another team has a message between the
 * same ranks in an execution with the same number. */
static void messages_stay_in_their_team(void **state)
{
    static const char *const texts[] = {
        "[{\"name\":\"send\",\"ph\":\"X\",\"pid\":0,\"ts\":1,\"dur\":1,\"args\":{\"team\":0,"
        "\"execution\":0,\"peer\":1,\"bytes\":8}},{\"name\":\"send\",\"ph\":\"X\",\"pid\":0,\"ts\":"
        "5,"
        "\"dur\":1,\"args\":{\"team\":1,\"execution\":0,\"peer\":1,\"bytes\":16}}]",
        "[{\"name\":\"recv\",\"ph\":\"X\",\"pid\":1,\"ts\":6,\"dur\":1,\"args\":{\"team\":1,"
        "\"execution\":0,\"peer\":0,\"bytes\":16}}]"};
    struct tt_trace trace;
    struct tt_picture p;
    tt_trace_begin(&trace);
    add(&trace, texts[0]);
    add(&trace, texts[1]);
    assert_int_equal(tt_trace_end(&trace, -1, &p), TUTTI_OK);
    assert_int_equal(p.messages.n, 1);
    assert_int_equal(p.messages.at[0].bytes, 16);
    assert_int_equal(p.messages.at[0].begin_ps, 4000000);
    tt_trace_free(&trace);
    tt_picture_free(&p);
    (void)state;
}

/* ---- Ranks that never come ---- */

static const struct calls_call survivors[] = {{0, 0, 5, -1, "barrier", 0, 0, -1},
                                              {1, 0, 5, -1, "barrier", 0, 0, -1},
                                              {2, 0, 5, -1, "barrier", 0, 0, -1},
                                              {0, 10, 60, -1, "barrier", 0, 1, -1},
                                              {2, 20, 60, -1, "barrier", 0, 1, -1}};

static void the_dead_are_waited_for(void **state)
{
    static const char *const more[] = {",\"ended\":1", ",\"ended\":0", ",\"ended\":1"};
    struct tt_picture p = run(3, more, survivors, 5);
    assert_true(p.calls.group[1].missing);
    assert_int_equal(p.calls.group[1].late, 1);
    waits(&p, 1, 0, 50, 1);
    waits(&p, 1, 2, 40, 1);
    assert_string_equal(tt_calls_end_text(&p.calls.rank[1]), "ended without tutti_finalize");
    assert_int_equal(p.calls.rank[1].last_ps, 900500000);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that a rank whose later calls were not recorded does not count as missing. */
static void who_lost_calls_is_not_missing(void **state)
{
    static const char *const more[] = {",\"ended\":1", ",\"ended\":1,\"lost_calls\":4",
                                       ",\"ended\":1"};
    char text[160];
    struct tt_picture p = run(3, more, survivors, 5);
    assert_false(p.calls.group[1].missing);
    waits(&p, 1, 0, 10, 2);
    tt_calls_lost(&p.calls, 3, text, sizeof text);
    assert_string_equal(text, "not recorded: 4 calls, 0 steps");
    tt_picture_free(&p);
    (void)state;
}

/* ---- Clocks ---- */

/* Checks how the clocks of two hosts are put together. The clock of rank 1 is 1000 s ahead. The
 * times of the calls show this difference, except for an error of a few microseconds. */
static void clocks_go_together_by_the_calls(void **state)
{
    static const char *const more[] = {",\"ended\":1,\"clock\":\"a\"",
                                       ",\"ended\":1,\"clock\":\"b\""};
    static const struct calls_call calls[] = {{0, 100, 150, -1, "allreduce", 0, 0, -1},
                                              {1, 1e9 + 120, 1e9 + 140, -1, "allreduce", 0, 0, -1},
                                              {0, 200, 206, -1, "barrier", 0, 1, -1},
                                              {1, 1e9 + 200, 1e9 + 206, -1, "barrier", 0, 1, -1},
                                              {0, 300, 301, -1, "bcast", 0, 2, 0},
                                              {1, 1e9 + 390, 1e9 + 391, -1, "bcast", 0, 2, 0}};
    char text[96];
    struct tt_picture p = run(2, more, calls, 6);
    assert_int_equal(p.calls.clocks, 2);
    assert_int_equal(p.calls.clock_error_ps, 6000000);
    assert_int_equal(bar_of(&p, 0, 1)->begin_ps - bar_of(&p, 0, 0)->begin_ps, 20000000);
    assert_int_equal(bar_of(&p, 2, 1)->begin_ps - bar_of(&p, 2, 0)->begin_ps, 90000000);
    tt_calls_clocks(&p.calls, text, sizeof text);
    assert_string_equal(text, "2 clocks, put together by the calls to 6 µs");
    tt_picture_free(&p);
    (void)state;
}

static void without_calls_the_time_of_day_has_to_do(void **state)
{
    static const char *const more[] = {
        ",\"ended\":1,\"clock\":\"a\",\"wall_ns\":1700000000000000000",
        ",\"ended\":1,\"clock\":\"b\",\"wall_ns\":1699999000000000000"};
    static const struct calls_call calls[] = {{0, 300, 301, -1, "bcast", 0, 2, 0},
                                              {1, 1e9 + 390, 1e9 + 391, -1, "bcast", 0, 2, 0}};
    struct tt_picture p = run(2, more, calls, 2);
    assert_int_equal(p.calls.clock_error_ps, -1);
    assert_int_equal(bar_of(&p, 0, 1)->begin_ps - bar_of(&p, 0, 0)->begin_ps, 90000000);
    tt_picture_free(&p);
    (void)state;
}

/* Checks that the trace of a picture, when it is read, gives the same picture again, also if the
 * clocks differ by most of the 50 days that a picture may span. */
static void a_written_trace_is_read_again(void **state)
{
    static const char *const more[] = {
        ",\"ended\":1,\"clock\":\"a\",\"wall_ns\":1700000000000000000",
        ",\"ended\":1,\"clock\":\"b\",\"wall_ns\":1704000000000000000"};
    static const struct calls_call calls[] = {{0, 300, 301, -1, "bcast", 0, 2, 0},
                                              {1, 390, 391, -1, "bcast", 0, 2, 0}};
    struct tt_picture p = run(2, more, calls, 2), again;
    struct tt_trace_error error = {0};
    char *text = printed(tt_picture_trace, &p);
    assert_int_equal(p.time_ps, 4000000000091000000);
    tutti_status status = tt_trace_read(&again, text, strlen(text), &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, TUTTI_OK);
    assert_int_equal(again.time_ps, p.time_ps);
    tt_picture_free(&again);
    tt_picture_free(&p);
    free(text);
    (void)state;
}

/* ---- Files that are cut off or invalid ---- */

/* Checks that an array that ends too early is read up to its last complete event. */
static void cut_files(void **state)
{
    char *whole = file_of(0, 1, ",\"ended\":1", survivors, 5);
    size_t n = strlen(whole), first = (size_t)(strstr(whole, ",{\"name\":\"team\"") - whole);
    int taken = 0;
    for (size_t k = 0; k < n; k++) {
        struct tt_trace trace;
        struct tt_trace_error error;
        char *cut = malloc(k ? k : 1);
        memcpy(cut, whole, k);
        tt_trace_begin(&trace);
        tutti_status status = tt_trace_add(&trace, cut, k, &error);
        assert_int_equal(status, k < first ? TUTTI_ERR_ARG : TUTTI_OK);
        if (status == TUTTI_OK) assert_true(trace.rank[0].cut);
        taken = (int)trace.calls;
        tt_trace_free(&trace);
        free(cut);
    }
    assert_int_equal(taken, 2);
    free(whole);
    (void)state;
}

static void fill_part(struct tt_part_head *head, struct tt_part_entry *e)
{
    memcpy(head->magic, TT_PART_MAGIC, sizeof TT_PART_MAGIC);
    head->run = 7;
    head->ranks = 2;
    head->rank = 1;
    head->entries = 4;
    head->last_ns = 9000;
    memcpy(head->host, "here", 5);
    e[0].kind = TT_PART_TEAM;
    e[0].made.size = 2;
    e[0].made.me = 1;
    e[1].kind = TT_PART_CALL;
    e[1].peer = -1;
    e[1].time.begin_ns = 1000;
    e[1].blocks = true;
    e[2].kind = TT_PART_NAMES;
    memcpy(e[2].names.coll, "barrier", 8);
    e[3].kind = TT_PART_STEP;
    e[3].peer = 0;
    e[3].time.begin_ns = 2000;
    e[3].time.end_ns = 3000;
    memcpy(e[3].name, "await", 6);
}

/* Prints a part, which is the file of the trace events that one rank has recorded
 * (fabric/trace-part.h), as JSON, which must be valid, and reads this text as a trace. Returns the
 * status: the trace is either valid or refused. */
static tutti_status read_part(const void *part, size_t n, struct tt_trace *trace)
{
    char *text = NULL;
    size_t size;
    struct tt_json json;
    struct tt_trace_error error;
    FILE *out = open_memstream(&text, &size);
    tt_part_print(part, n, TT_PART_LOST, out);
    assert_int_equal(fclose(out), 0);
    tt_json_begin(&json, text, size);
    assert_true(tt_json_skip(&json));
    tutti_status status = tt_trace_add(trace, text, size, &error);
    free(text);
    return status;
}

/* Checks that a call of a dead rank that was under way extends to the last time that the rank
 * recorded. */
static void a_dead_ranks_part(void **state)
{
    struct {
        struct tt_part_head head;
        struct tt_part_entry entry[4];
    } part = {.head = {.pid = 1}};
    struct tt_trace trace;
    fill_part(&part.head, part.entry);
    assert_true(tt_part_is_one(&part, sizeof part));
    tt_trace_begin(&trace);
    assert_int_equal(read_part(&part, sizeof part, &trace), TUTTI_OK);
    assert_int_equal(trace.calls, 1);
    assert_int_equal(trace.events, 1);
    assert_true(trace.call[0].open && trace.call[0].blocks);
    assert_int_equal(trace.call[0].dur_us, 8);
    assert_false(trace.rank[0].ended);
    tt_trace_free(&trace);
    (void)state;
}

/* Checks that a part (read_part explains the word) in which any one byte is changed is either read
 * or refused, even if its end is missing too, and that no byte outside its memory is accessed. */
static void any_part(void **state)
{
    static const unsigned char others[] = {0, 1, 4, 5, 0x22, 0x7f, 0x80, 0xff};
    size_t n = sizeof(struct tt_part_head) + 4 * sizeof(struct tt_part_entry);
    unsigned char *part = aligned_alloc(64, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof others; k++) {
            struct tt_trace trace;
            memset(part, 0, n);
            fill_part((struct tt_part_head *)part,
                      (struct tt_part_entry *)(part + sizeof(struct tt_part_head)));
            part[i] = others[k];
            if (!tt_part_is_one(part, n)) continue;
            tt_trace_begin(&trace);
            tutti_status status = read_part(part, n - (i % 3) * 40, &trace);
            assert_true(status == TUTTI_OK || status == TUTTI_ERR_ARG);
            tt_trace_free(&trace);
        }
    assert_false(tt_part_is_one(part, sizeof(struct tt_part_head) - 1));
    free(part);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_wait_for_the_last),
        cmocka_unit_test(nobody_waits_for_who_comes_afterwards),
        cmocka_unit_test(who_calculates_does_not_wait),
        cmocka_unit_test(nobody_waits_in_a_nonblocking_call),
        cmocka_unit_test(teams_are_apart),
        cmocka_unit_test(messages_stay_in_their_team),
        cmocka_unit_test(the_dead_are_waited_for),
        cmocka_unit_test(who_lost_calls_is_not_missing),
        cmocka_unit_test(clocks_go_together_by_the_calls),
        cmocka_unit_test(without_calls_the_time_of_day_has_to_do),
        cmocka_unit_test(a_written_trace_is_read_again),
        cmocka_unit_test(cut_files),
        cmocka_unit_test(a_dead_ranks_part),
        cmocka_unit_test(any_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
