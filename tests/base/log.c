/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines that reach stderr: they are complete and name the rank; only the topics that TUTTI_LOG
 * names are logged; a wrong topic is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/* Runs `body` in a child process with these settings, and stores its stderr in text[size]. */
static void stderr_of(void (*body)(void), const char *rank, const char *log, char *text,
                      size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TUTTI_JOB", "3", 1); /* TUTTI_JOB makes the process a rank, so that lines have the
                                      * rank's number */
        setenv("TUTTI_RANK", rank, 1);
        setenv("TUTTI_LOG", log, 1);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < size - 1; used += (size_t)got) {
        got = read(ends[0], text + used, size - 1 - used);
        assert_true(got >= 0);
    }
    text[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void log_line(void)
{
    tt_log("chose %s", "ring");
    tt_warn("no %d", 3);
}

static void lines_name_the_rank(void **state)
{
    (void)state;
    char text[256];
    stderr_of(log_line, "5", "", text, sizeof text);
    assert_string_equal(text, "tutti: [rank 5] chose ring\n"
                              "tutti: [rank 5] warning: no 3\n");
    stderr_of(log_line, "", "", text, sizeof text);
    assert_string_equal(text, "tutti: chose ring\ntutti: warning: no 3\n");
}

static void say_what_is_on(void)
{
    if (tt_log_on(TT_LOG_choice)) tt_log("choice");
    if (tt_log_on(TT_LOG_boot)) tt_log("boot");
    if (tt_log_on(TT_LOG_fabric)) tt_log("fabric");
}

static void only_what_was_named_is_on(void **state)
{
    (void)state;
    char text[512];
    stderr_of(say_what_is_on, "", "", text, sizeof text);
    assert_string_equal(text, "");
    stderr_of(say_what_is_on, "", "fabric,choice", text, sizeof text);
    assert_string_equal(text, "tutti: choice\ntutti: fabric\n");
    stderr_of(say_what_is_on, "", "choices,boot", text, sizeof text);
    assert_string_equal(text, "tutti: boot\n");
}

static void log_long_line(void)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    tt_log("%s", text);
}

static void long_line_still_ends(void **state)
{
    (void)state;
    char text[6000];
    stderr_of(log_long_line, "1", "", text, sizeof text);
    assert_true(strlen(text) > 500);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void fail_an_assertion(void)
{
    tt_assert_failed("a < b", "there.c", 12);
}

static void failed_assertion_is_reported(void **state)
{
    (void)state;
    char text[256];
    stderr_of(fail_an_assertion, "", "", text, sizeof text);
    assert_non_null(strstr(text, "there.c:12: "));
    assert_non_null(strstr(text, "a < b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_the_rank),
        cmocka_unit_test(only_what_was_named_is_on),
        cmocka_unit_test(long_line_still_ends),
        cmocka_unit_test(failed_assertion_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
