/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the tests of plan texts: printing a plan to a string, and the check that a plan parses
 * from its text.
 */
#ifndef TEXT_UTIL_H
#define TEXT_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

/* Returns the plan as text. The caller frees it. */
static inline char *printed(const struct tt_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tt_plan_print(plan, out);
    fclose(out);
    return text;
}

static inline char *unrolled(const struct tt_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(tt_plan_print_unrolled(plan, out), TUTTI_OK);
    fclose(out);
    return text;
}

static inline struct tt_plan *parsed(const char *text)
{
    struct tt_text_error error;
    struct tt_plan *plan = tt_plan_parse(text, &error);
    if (!plan) fail_msg("line %d, column %d: %s\n%s", error.line, error.column, error.text, text);
    return plan;
}

/* Checks that the plan's text parses to an equal plan, and that both plans print and unroll to
 * equal texts. */
static inline void comes_back(const struct tt_plan *plan)
{
    char *text = printed(plan);
    struct tt_plan *back = parsed(text);
    char *again = printed(back);
    assert_string_equal(text, again);
    if (!tt_plan_equal(plan, back)) fail_msg("not equal:\n%s", text);
    free(again);
    free(text);
    text = unrolled(plan);
    again = unrolled(back);
    assert_string_equal(text, again);
    free(again);
    free(text);
    tt_plan_free(back);
}

#endif
