/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces that are cut off, damaged or invalid: the error has a position within the text, and
 * nothing worse happens.
 */
#include "drawn.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Reads a copy of exactly the text's size, so that sanitizers notice reads beyond its end. */
static tutti_status reading(const char *text, size_t n, struct tt_trace_error *error)
{
    struct tt_picture picture;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    tutti_status status = tt_trace_read(&picture, copy, n, error);
    if (status == TUTTI_OK) tt_picture_free(&picture);
    free(copy);
    return status;
}

static void place_is_inside(const char *text, size_t n, const struct tt_trace_error *error)
{
    const char *line = text;
    assert_true(error->line >= 1 && error->column >= 1);
    for (int i = 1; i < error->line; i++) {
        line = memchr(line, '\n', n - (size_t)(line - text));
        assert_non_null(line++);
    }
    assert_true((size_t)(line - text) + (size_t)error->column - 1 <= n);
    assert_true(strlen(error->text) > 0);
}

static char *small_trace(void)
{
    struct drawn *d = drawn("bcast/u8/16/p3", "binomial");
    char *text = printed(tt_picture_trace, &d->picture);
    drawn_free(d);
    return text;
}

static void cut_anywhere(void **state)
{
    char *text = small_trace();
    size_t whole = strlen(text);
    struct tt_trace_error error;
    while (isspace((unsigned char)text[whole - 1])) whole--;
    for (size_t n = 0; n < whole; n++) {
        assert_int_equal(reading(text, n, &error), TUTTI_ERR_ARG);
        place_is_inside(text, n, &error);
    }
    assert_int_equal(reading(text, whole, &error), TUTTI_OK);
    free(text);
    (void)state;
}

static void any_byte_another(void **state)
{
    static const char others[] = "\0\"\\{}[],:-9e.x\xff";
    char *text = small_trace();
    size_t n = strlen(text), refused = 0;
    struct tt_trace_error error;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof others - 1; k++) {
            char was = text[i];
            text[i] = others[k];
            tutti_status status = reading(text, n, &error);
            assert_true(status == TUTTI_OK || status == TUTTI_ERR_ARG);
            if (status == TUTTI_ERR_ARG && error.line) place_is_inside(text, n, &error);
            refused += status != TUTTI_OK;
            text[i] = was;
        }
    assert_true(refused > n);
    free(text);
    (void)state;
}

static void wrong_fields(void **state)
{
#define X_EVENT(fields) "[\n {\"name\":\"copy\",\"ph\":\"X\"," fields "}]"
#define FLOWS(fields) "{\"otherData\":{\"tutti\":\"trace 2\"},\"traceEvents\":[" fields "]}"
    static const struct {
        const char *text, *expected;
        int line, column;
    } cases[] = {
        {"", "a trace", 1, 1},
        {"nothing", "a trace", 1, 1},
        {"[", "an object", 1, 2},
        {"[] []", "nothing more", 1, 4},
        {"{}", "traceEvents", 1, 1},
        {"{\"traceEvents\":7}", "an array", 1, 16},
        {"[7]", "an object", 1, 2},
        {"[{}]", "\"ph\"", 1, 2},
        {"[{\"ph\":\"XX\"}]", "one letter", 1, 8},
        {"[{\"ph\":7}]", "a text", 1, 8},
        {"[{\"ph\":\"X\",}]", "a text", 1, 12},
        {"[{\"ph\":\"i\"},]", "an object", 1, 13},
        {X_EVENT("\"pid\":0,\"ts\":1"), "\"dur\"", 2, 2},
        {X_EVENT("\"pid\":0,\"dur\":1"), "\"ts\"", 2, 2},
        {X_EVENT("\"ts\":0,\"dur\":1"), "\"pid\"", 2, 2},
        {X_EVENT("\"pid\":-1"), "a rank", 2, 32},
        {X_EVENT("\"pid\":1.5"), "a rank", 2, 32},
        {X_EVENT("\"pid\":1048576"), "a rank", 2, 32},
        {X_EVENT("\"pid\":99999999999999999999999999"), "a rank", 2, 32},
        {X_EVENT("\"pid\":\"0\""), "a rank", 2, 32},
        {X_EVENT("\"tid\":512"), "a lane", 2, 32},
        {X_EVENT("\"ts\":-0.5"), "a time", 2, 31},
        {X_EVENT("\"ts\":1e99"), "a time", 2, 31},
        {X_EVENT("\"ts\":NaN"), "a time", 2, 31},
        {X_EVENT("\"ts\":1."), "a digit", 2, 33},
        {X_EVENT("\"ts\":1e"), "a digit", 2, 33},
        {X_EVENT("\"dur\":-1"), "a time", 2, 32},
        {X_EVENT("\"dur\":1e15"), "a time", 2, 32},
        {X_EVENT("\"args\":{\"bytes\":-1}"), "bytes", 2, 42},
        {X_EVENT("\"args\":{\"bytes\":1e18}"), "bytes", 2, 42},
        {X_EVENT("\"args\":{\"peer\":-3}"), "a rank", 2, 41},
        {X_EVENT("\"args\":{\"peer\":null}"), "a rank", 2, 41},
        {X_EVENT("\"args\":{\"value\":4294967296}"), "below 2^32", 2, 42},
        {X_EVENT("\"args\":{\"execution\":-1}"), "a whole number", 2, 46},
        {X_EVENT("\"other\":\"\\q\""), "escaped", 2, 36},
        {X_EVENT("\"other\":\"\\u12x4\""), "hexadecimal", 2, 39},
        {X_EVENT("\"other\":tru"), "a value", 2, 34},
        {"[{\"name\":\"cpoy\",\"ph\":\"X\",\"pid\":0,\"ts\":0,\"dur\":1}]", "an event named", 1,
         10},
        {"[{\"name\":\"loop\",\"ph\":\"X\",\"pid\":0,\"ts\":0,\"dur\":1}]", "an event named", 1,
         10},
        {"{\"otherData\":{\"tutti\":\"trace 3\"},\"traceEvents\":[]}", "trace 2", 1, 23},
        {"{\"otherData\":{\"ranks\":0},\"traceEvents\":[]}", "ranks", 1, 23},
        {"{\"otherData\":{\"source\":\"dream\"},\"traceEvents\":[]}", "simulation", 1, 24},
        {FLOWS(
             "{\"name\":\"send\",\"ph\":\"s\",\"pid\":0,\"id\":1,\"ts\":1,\"args\":{\"peer\":0}}"),
         "one beginning and one end", 1, 49},
        {FLOWS("{\"ph\":\"f\",\"pid\":0,\"id\":1,\"ts\":1}"), "one beginning and one end", 1, 49},
        {FLOWS(
             "{\"name\":\"wait\",\"ph\":\"s\",\"pid\":0,\"id\":1,\"ts\":1,\"args\":{\"peer\":0}}"),
         "a flow named", 1, 49},
        {FLOWS("{\"name\":\"send\",\"ph\":\"s\",\"pid\":0,\"id\":1,\"ts\":1}"), "\"peer\"", 1, 49},
        {FLOWS(
             "{\"name\":\"send\",\"ph\":\"s\",\"pid\":0,\"id\":1,\"ts\":2,\"args\":{\"peer\":1}},\n"
             "{\"ph\":\"f\",\"pid\":1,\"id\":1,\"ts\":1}"),
         "an end after the beginning", 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tt_trace_error error;
        assert_int_equal(reading(cases[i].text, strlen(cases[i].text), &error), TUTTI_ERR_ARG);
        if (!strstr(error.text, cases[i].expected) || error.line != cases[i].line ||
            error.column != cases[i].column)
            fail_msg("%s\n%d:%d: %s", cases[i].text, error.line, error.column, error.text);
    }
    (void)state;
}

static void deep(void **state)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 16);
    struct tt_trace_error error;
    int n = sprintf(text, "[{\"a\":");
    memset(text + n, '[', DEPTH);
    assert_int_equal(reading(text, (size_t)n + DEPTH, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, "less depth"));
    free(text);
    (void)state;
}

/* Checks that texts that are valid JSON, but not enough for a picture, are refused with the reason:
 * they have no events, they lack the trace of a rank or the execution that is asked for, or their
 * events span more than 50 days. */
static void not_enough(void **state)
{
#define COPY(rank, ts) "{\"name\":\"copy\",\"ph\":\"X\",\"pid\":" #rank ",\"ts\":" #ts ",\"dur\":1}"
    static const struct {
        const char *text, *reported;
        int64_t execution;
    } cases[] = {
        {"[]", "no events", -1},
        {"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]", "no events", -1},
        {"[" COPY(1, 1) "]", "of 2 ranks, rank 0 has no trace", -1},
        {"[" COPY(1048575, 1) "]", "1048575 have no trace, the first of them rank 0", -1},
        {"[" COPY(0, 1) "]", "no execution 7; the first is 0, the last 0", 7},
        {"[" COPY(0, 1) "," COPY(0, 900000000000000) "]", "more than 50 days", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tt_trace trace;
        struct tt_trace_error error;
        struct tt_picture picture;
        tt_trace_begin(&trace);
        assert_int_equal(tt_trace_add(&trace, cases[i].text, strlen(cases[i].text), &error),
                         TUTTI_OK);
        assert_int_equal(tt_trace_end(&trace, cases[i].execution, &picture), TUTTI_ERR_ARG);
        if (!strstr(tutti_error(), cases[i].reported)) fail_msg("%s", tutti_error());
        tt_trace_free(&trace);
    }
    (void)state;
}

/* Checks that a trace of a whole simulation cannot be combined with other files. */
static void two_files(void **state)
{
    static const char whole[] = "{\"otherData\":{\"tutti\":\"trace 2\"},\"traceEvents\":[]}";
    static const char *const pairs[][2] = {{whole, "[]"}, {"[]", whole}, {whole, whole}};
    for (int i = 0; i < 3; i++) {
        struct tt_trace trace;
        struct tt_trace_error error;
        tt_trace_begin(&trace);
        assert_int_equal(tt_trace_add(&trace, pairs[i][0], strlen(pairs[i][0]), &error), TUTTI_OK);
        assert_int_equal(tt_trace_add(&trace, pairs[i][1], strlen(pairs[i][1]), &error),
                         TUTTI_ERR_ARG);
        assert_non_null(strstr(error.text, "whole trace"));
        tt_trace_free(&trace);
    }
    (void)state;
}

static void no_memory(void **state)
{
    char *text = small_trace();
    static const char run[] = "[" COPY(0, 1) "," COPY(0, 2) "]";
    const char *const texts[] = {text, run};
    for (int i = 0; i < 2; i++) {
        tutti_status status = TUTTI_ERR_MEMORY;
        int tries = 0;
        for (; status == TUTTI_ERR_MEMORY; tries++) {
            struct tt_trace_error error;
            tt_memory_fail_at(tries);
            status = reading(texts[i], strlen(texts[i]), &error);
        }
        tt_memory_fail_at(-1);
        assert_int_equal(status, TUTTI_OK);
        assert_true(tries > 5);
    }
    free(text);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(any_byte_another),
        cmocka_unit_test(wrong_fields), cmocka_unit_test(deep),
        cmocka_unit_test(not_enough),   cmocka_unit_test(two_files),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
