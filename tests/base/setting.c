/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings are read once and checked; sizes are read and written exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

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
        int64_t value; /* -1: refused */
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

static void sizes_end_where_told(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_look_counts),    cmocka_unit_test(empty_is_unset),
        cmocka_unit_test(numbers_are_checked),  cmocka_unit_test(sizes_are_parsed_whole),
        cmocka_unit_test(sizes_end_where_told), cmocka_unit_test(sizes_print_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
