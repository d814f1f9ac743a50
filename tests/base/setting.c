/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings are read once and checked; sizes are parsed and printed exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/settings.h"

static void first_look_counts(void **state)
{
    (void)state;
    setenv("TUTTI_TEST_ONCE", "one", 1);
    assert_string_equal(tt_setting("TUTTI_TEST_ONCE"), "one");
    setenv("TUTTI_TEST_ONCE", "two", 1);
    assert_string_equal(tt_setting("TUTTI_TEST_ONCE"), "one");
}

static void empty_is_unset(void **state)
{
    (void)state;
    setenv("TUTTI_TEST_EMPTY", "", 1);
    assert_null(tt_setting("TUTTI_TEST_EMPTY"));
    unsetenv("TUTTI_TEST_UNSET");
    assert_null(tt_setting("TUTTI_TEST_UNSET"));
    assert_int_equal(tt_setting_int("TUTTI_TEST_UNSET", 7, 0, 10), 7);
}

static int64_t number(const char *name, const char *value)
{
    setenv(name, value, 1);
    return tt_setting_int(name, 42, -100, 1 << 20);
}

static void numbers_are_checked(void **state)
{
    (void)state;
    assert_int_equal(number("TUTTI_TEST_A", "64K"), 65536);
    assert_int_equal(number("TUTTI_TEST_B", "-7"), -7);
    assert_int_equal(number("TUTTI_TEST_C", "2M"), 42);
    assert_int_equal(number("TUTTI_TEST_D", "-101"), 42);
    assert_int_equal(number("TUTTI_TEST_E", "12x"), 42);
    assert_int_equal(number("TUTTI_TEST_F", "-"), 42);
    assert_int_equal(number("TUTTI_TEST_G", "1M"), 1 << 20);
}

static void sizes_are_parsed_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: the text is refused */
    } cases[] = {
        {"0", 0},
        {"1500", 1500},
        {"64K", 65536},
        {"4M", 4194304},
        {"3G", 3221225472},
        {"", -1},
        {"K", -1},
        {"1KK", -1},
        {"1k", -1},
        {"1 ", -1},
        {" 1", -1},
        {"-1", -1},
        {"1.5M", -1},
        {"0x10", -1},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", -1},
        {"9007199254740992K", -1},
        {"99999999999999999999", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        int64_t value = -1;
        bool whole = tt_parse_size(text, text + strlen(text), &value);
        assert_int_equal(whole, cases[i].value >= 0);
        assert_int_equal(value, cases[i].value);
    }
}

static void sizes_end_where_given(void **state)
{
    (void)state;
    const char *text = "64K/p4";
    int64_t value;
    assert_true(tt_parse_size(text, text + 3, &value));
    assert_int_equal(value, 65536);
    assert_true(tt_parse_size(text, text + 2, &value));
    assert_int_equal(value, 64);
    assert_false(tt_parse_size(text, text + 4, &value));
}

static void sizes_print_exactly(void **state)
{
    (void)state;
    static const int64_t values[] = {0,     1,       1023,    1024,       1025,     1536,
                                     65536, 4194304, 4194305, 3221225472, INT64_MAX};
    char buffer[24];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        int64_t value = -1;
        tt_print_size(buffer, values[i]);
        assert_true(tt_parse_size(buffer, buffer + strlen(buffer), &value));
        assert_int_equal(value, values[i]);
    }
    assert_string_equal(tt_print_size(buffer, 65536), "64K");
    assert_string_equal(tt_print_size(buffer, 1536), "1536");
    assert_string_equal(tt_print_size(buffer, INT64_MIN + 1), "-9223372036854775807");
}

static void table_has_the_settings(void **state)
{
    (void)state;
    assert_non_null(tt_setting_known("TUTTI_EAGER"));
    assert_null(tt_setting_known("TUTTI_EAGRE"));
    assert_null(tt_setting_known("EAGER"));
    assert_true(tt_setting_is_expected("TUTTI_EAGER"));
    assert_true(tt_setting_is_expected("TUTTI_ROOT"));
    assert_true(tt_setting_is_expected("TUTTI_TEST_X"));
    assert_true(tt_setting_is_expected("HOME"));
    assert_false(tt_setting_is_expected("TUTTI_EAGRE"));
    assert_false(tt_setting_is_expected("TUTTI_"));
    assert_false(tt_setting_is_expected("TUTTI_ROOTS"));
}

static void values_are_in_force_or_not(void **state)
{
    (void)state;
    setenv("TUTTI_EAGER", "4K", 1);
    setenv("TUTTI_RING", "2M", 1);
    setenv("TUTTI_WINDOW", "x", 1);
    setenv("TUTTI_LOG", "anything", 1);
    unsetenv("TUTTI_SPINS");
    assert_true(tt_setting_in_force(tt_setting_known("TUTTI_EAGER")));
    assert_false(tt_setting_in_force(tt_setting_known("TUTTI_RING")));
    assert_false(tt_setting_in_force(tt_setting_known("TUTTI_WINDOW")));
    assert_true(tt_setting_in_force(tt_setting_known("TUTTI_LOG")));
    assert_false(tt_setting_in_force(tt_setting_known("TUTTI_SPINS")));
}

static void nearest(const char *text, const char *expected)
{
    static const char *const words[] = {"ring", "bench", "halving", "list", "sim"};
    const char *found = tt_nearest(text, words, sizeof words / sizeof *words);
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
}

static void nearest_word_is_found(void **state)
{
    (void)state;
    nearest("rign", "ring");
    nearest("halvin", "halving");
    nearest("benchmark", "bench");
    nearest("lis", "list");
    nearest("simulate", "sim");
    nearest("xyzzy", NULL);
    nearest("", NULL);
    nearest("si", "sim");
    nearest("a_word_that_is_longer_than_thirty_two_letters", NULL);
    assert_null(tt_nearest("ring", NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_look_counts),      cmocka_unit_test(empty_is_unset),
        cmocka_unit_test(numbers_are_checked),    cmocka_unit_test(sizes_are_parsed_whole),
        cmocka_unit_test(sizes_end_where_given),  cmocka_unit_test(sizes_print_exactly),
        cmocka_unit_test(table_has_the_settings), cmocka_unit_test(values_are_in_force_or_not),
        cmocka_unit_test(nearest_word_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
