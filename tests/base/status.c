/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every status has a text. The cause of an error belongs to its thread, and a new cause may contain
 * the text of the last one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/base.h"

static void every_status_has_its_text(void **state)
{
    (void)state;
    assert_string_equal(tutti_status_text(TUTTI_OK), "done");
    assert_string_equal(tutti_status_text(TUTTI_ERR_SYSTEM), "the system refused");
    for (int i = TUTTI_OK; i <= TUTTI_ERR_SYSTEM; i++) {
        assert_true(strlen(tutti_status_text((tutti_status)i)) > 0);
    }
    assert_string_equal(tutti_status_text((tutti_status)-1), "not a status");
    assert_string_equal(tutti_status_text((tutti_status)1000), "not a status");
}

static void version_is_the_header_s(void **state)
{
    (void)state;
    assert_string_equal(tutti_version(), TUTTI_VERSION);
    assert_memory_equal(tutti_build(), TUTTI_VERSION "/", sizeof TUTTI_VERSION);
    assert_int_equal(strlen(tutti_build()), strlen(TUTTI_VERSION "/1a2b3c4d"));
}

static void *fail_elsewhere(void *text_before)
{
    strcpy(text_before, tutti_error());
    (void)tt_fail(TUTTI_ERR_ARG, "another thread's");
    return NULL;
}

static void cause_belongs_to_its_thread(void **state)
{
    (void)state;
    assert_string_equal(tutti_error(), "");
    assert_int_equal(tt_fail(TUTTI_ERR_PEER, "rank %d died", 3), TUTTI_ERR_PEER);
    pthread_t thread;
    char before[600] = "not yet run";
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, before), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(before, "");
    assert_string_equal(tutti_error(), "rank 3 died");
}

static void cause_may_be_framed(void **state)
{
    (void)state;
    (void)tt_fail(TUTTI_ERR_ARG, "inner");
    (void)tt_fail(TUTTI_ERR_ARG, "while outer: %s", tutti_error());
    assert_string_equal(tutti_error(), "while outer: inner");
}

static void an_error_can_be_undone(void **state)
{
    (void)state;
    (void)tt_fail(TUTTI_ERR_ARG, "the user's");
    (void)tt_fail(TUTTI_ERR_PEER, "handled");
    tt_error_undo();
    assert_string_equal(tutti_error(), "the user's");
    (void)tt_fail(TUTTI_ERR_PEER, "handled, too");
    tt_error_undo();
    assert_string_equal(tutti_error(), "the user's");
}

static void errno_is_reported(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_int_equal(tt_fail_errno(TUTTI_ERR_SYSTEM, "open %s", "x"), TUTTI_ERR_SYSTEM);
    assert_string_equal(tutti_error(), "open x: No such file or directory");
}

static void long_cause_is_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    errno = ENOENT;
    (void)tt_fail_errno(TUTTI_ERR_ARG, "%s", text);
    assert_true(strlen(tutti_error()) > 400 && strlen(tutti_error()) < sizeof text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_text),   cmocka_unit_test(version_is_the_header_s),
        cmocka_unit_test(cause_belongs_to_its_thread), cmocka_unit_test(cause_may_be_framed),
        cmocka_unit_test(an_error_can_be_undone),      cmocka_unit_test(errno_is_reported),
        cmocka_unit_test(long_cause_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
