/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings are read once and checked; sizes are parsed and printed exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings.h"

static void first_look_counts(void **state)
{
    (void)state;
    setenv("TUTTI_TEST_ONCE", "one", 1);
    assert_string_equal(tt_setting("TUTTI_TEST_ONCE"), "one");
    setenv("TUTTI_TEST_ONCE", "two", 1);
    assert_string_equal(tt_setting("TUTTI_TEST_ONCE"), "one");
}

/* ---- A fork while another thread looks up a setting ---- */

static _Atomic(pid_t) slow; /* the process in which getenv("TUTTI_TEST_SLOW") does not return */
static sem_t inside;

/* Replaces getenv of the C library for the whole program. */
char *getenv(const char *name)
{
    char *(*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "getenv");
    if (strcmp(name, "TUTTI_TEST_SLOW") == 0) sem_post(&inside);
    while (strcmp(name, "TUTTI_TEST_SLOW") == 0 && atomic_load(&slow) == getpid()) usleep(1000);
    return next(name);
}

static void *look_up_slowly(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)(tt_setting("TUTTI_TEST_SLOW") == NULL);
}

static void children_can_look_up(void **state)
{
    (void)state;
    pthread_t thread;
    int status;
    assert_int_equal(sem_init(&inside, 0, 0), 0);
    atomic_store(&slow, getpid());
    assert_int_equal(pthread_create(&thread, NULL, look_up_slowly, NULL), 0);
    while (sem_wait(&inside) != 0) {
    }
    setenv("TUTTI_TEST_CHILD", "seen", 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const char *seen = tt_setting("TUTTI_TEST_CHILD");
        _exit(tt_setting("TUTTI_TEST_SLOW") || !seen || strcmp(seen, "seen") != 0);
    }
    atomic_store(&slow, 0);
    pthread_join(thread, NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A program that sets its process title overwrites the memory of the environment. */
static void values_are_copied(void **state)
{
    (void)state;
    static char entry[] = "TUTTI_TEST_COPIED=folder";
    assert_int_equal(putenv(entry), 0);
    assert_string_equal(tt_setting("TUTTI_TEST_COPIED"), "folder");
    memset(strchr(entry, '=') + 1, 'x', 6);
    assert_string_equal(tt_setting("TUTTI_TEST_COPIED"), "folder");
}

static void ignore(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

/* The check reads all settings, so this must be the last test. */
static void check_reads_all(void **state)
{
    (void)state;
    setenv("TUTTI_REPORT", "before", 1);
    unsetenv("TUTTI_DETACH");
    tt_settings_check(ignore, NULL);
    setenv("TUTTI_REPORT", "after", 1);
    setenv("TUTTI_DETACH", "1", 1);
    assert_string_equal(tt_setting("TUTTI_REPORT"), "before");
    assert_null(tt_setting("TUTTI_DETACH"));
}

static void empty_is_unset(void **state)
{
    (void)state;
    setenv("TUTTI_TEST_EMPTY", "", 1);
    assert_null(tt_setting("TUTTI_TEST_EMPTY"));
    unsetenv("TUTTI_TEST_UNSET");
    assert_null(tt_setting("TUTTI_TEST_UNSET"));
}

static int64_t number(const char *name, const char *value)
{
    setenv(name, value, 1);
    return tt_setting_int_or(name, 42);
}

static void numbers_are_checked(void **state)
{
    (void)state;
    assert_int_equal(number("TUTTI_SLICE", "64K"), 65536);
    assert_int_equal(number("TUTTI_SPINS", "-7"), 42);
    assert_int_equal(number("TUTTI_YIELDS", "12x"), 42);
    assert_int_equal(number("TUTTI_RADIX", "1"), 42);
    assert_int_equal(number("TUTTI_READ_COST", "1001"), 42);
    assert_int_equal(number("TUTTI_FILL", "1"), 1);
    unsetenv("TUTTI_BOOT_TIMEOUT");
    setenv("TUTTI_PEER_TIMEOUT", "abc", 1);
    assert_int_equal(tt_setting_int("TUTTI_BOOT_TIMEOUT"), 300);
    assert_int_equal(tt_setting_int("TUTTI_PEER_TIMEOUT"), 10);
    setenv("TUTTI_WATCHDOG", "1.5", 1);
    assert_int_equal(tt_setting_seconds("TUTTI_WATCHDOG"), 1500000000);
    setenv("TUTTI_CHOICE", "measure", 1);
    assert_int_equal(tt_setting_word("TUTTI_CHOICE"), 3);
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

static bool accepts(const char *name, const char *value)
{
    return tt_setting_accepts(tt_setting_known(name), value);
}

static void values_are_accepted_or_not(void **state)
{
    (void)state;
    assert_true(accepts("TUTTI_EAGER", "4K"));
    assert_false(accepts("TUTTI_RING", "2M"));
    assert_false(accepts("TUTTI_WINDOW", "x"));
    assert_true(accepts("TUTTI_WATCHDOG", "0.5"));
    assert_false(accepts("TUTTI_WATCHDOG", "-1"));
    assert_false(accepts("TUTTI_WATCHDOG", "nan"));
    assert_false(accepts("TUTTI_WATCHDOG", "soon"));
    assert_true(accepts("TUTTI_CHOICE", "table"));
    assert_false(accepts("TUTTI_CHOICE", "tabl"));
    assert_false(accepts("TUTTI_CHOICE", "table,measure"));
    assert_true(accepts("TUTTI_LOG", "boot,choice"));
    assert_true(accepts("TUTTI_LOG", ",boot,"));
    assert_false(accepts("TUTTI_LOG", "boot,choices"));
    assert_false(accepts("TUTTI_ISA", "avx"));
    assert_true(accepts("TUTTI_TRACE", "anything"));
}

static void expect_values(const char *name, const char *expected)
{
    char text[200];
    assert_string_equal(tt_setting_values(tt_setting_known(name), text, sizeof text), expected);
}

static void values_are_described(void **state)
{
    (void)state;
    expect_values("TUTTI_PEER_TIMEOUT", "a whole number from 2 to 3600");
    expect_values("TUTTI_RING", "a whole number from 4K to 1M");
    expect_values("TUTTI_WATCHDOG", "a number of seconds from 0 to 1000000000");
    expect_values("TUTTI_CHOICE", "one of auto, table, estimate, measure");
    expect_values("TUTTI_LOG", "a list of choice, boot, fabric");
    expect_values("TUTTI_TRACE", "");
}

/* Checks that the table's default of each setting is accepted: the library uses it instead of a
 * wrong value. */
static void defaults_are_accepted(void **state)
{
    (void)state;
    for (int i = 0; i < tt_settings_n; i++) {
        const struct tt_known_setting *s = &tt_settings[i];
        if (s->kind == TT_SETTING_SECONDS ||
            (s->kind == TT_SETTING_WORD && !strchr(s->otherwise, ' ')))
            assert_true(tt_setting_accepts(s, s->otherwise));
        int64_t value;
        if (tt_parse_size(s->otherwise, s->otherwise + strlen(s->otherwise), &value))
            assert_true(tt_setting_accepts(s, s->otherwise));
    }
}

static void warnings_of_other_ranks_are_added(void **state)
{
    (void)state;
    struct tt_warnings mine = {2, {{11, 5, 1}, {22, 5, 2}}};
    const struct tt_warnings theirs = {3, {{33, 0, 4}, {22, 3, 2}, {11, 7, 1}}};
    tt_warnings_add(&mine, &theirs);
    assert_int_equal(mine.n, 2);
    assert_int_equal(mine.warning[0].first, 5);
    assert_int_equal(mine.warning[0].ranks, 2);
    assert_int_equal(mine.warning[1].first, 3);
    assert_int_equal(mine.warning[1].ranks, 4);
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
        cmocka_unit_test(first_look_counts),
        cmocka_unit_test(children_can_look_up),
        cmocka_unit_test(values_are_copied),
        cmocka_unit_test(empty_is_unset),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(sizes_are_parsed_whole),
        cmocka_unit_test(sizes_end_where_given),
        cmocka_unit_test(sizes_print_exactly),
        cmocka_unit_test(table_has_the_settings),
        cmocka_unit_test(values_are_accepted_or_not),
        cmocka_unit_test(values_are_described),
        cmocka_unit_test(defaults_are_accepted),
        cmocka_unit_test(warnings_of_other_ranks_are_added),
        cmocka_unit_test(nearest_word_is_found),
        cmocka_unit_test(check_reads_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
