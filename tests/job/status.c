/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The status of a rank when the process that reports it is killed between any two instructions: the
 * next report must complete the record and wake the sleepers.
 *
 * A child process makes the first report, one instruction at a time (ptrace). After each
 * instruction that has changed the job page, the test copies the page, since a kill at this point
 * would leave it so. Then the test makes the next report in each of these copies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/common.h"

enum { RANKS = 2, FIRST_TEAM = 0, NEXT_TEAM = 9, STATES_MOST = 64, CANNOT_TRACE = 77 };

static struct tt_segment segment;
static struct tt_job_page *job;
static struct tt_common *common;
static char *states[STATES_MOST]; /* copies of the job page */
static int n_states;

typedef void report_fn(void);

static void keep_state(void)
{
    size_t bytes = (size_t)job->page_bytes;
    if (n_states > 0 && memcmp(states[n_states - 1], job, bytes) == 0) return;
    assert_true(n_states < STATES_MOST);
    states[n_states] = malloc(bytes);
    assert_non_null(states[n_states]);
    memcpy(states[n_states++], job, bytes);
}

/* Makes the page of a job whose ranks have joined, and on which a thread of rank 0 sleeps. */
static void make_job(void)
{
    assert_int_equal(tt_segment_create(&segment, RANKS, false), TUTTI_OK);
    job = tt_segment_page(&segment);
    common = tt_common_at(job, 0);
    atomic_store(&common->number, 1);
    for (int r = 0; r < RANKS; r++) {
        atomic_store(&job->rank[r].rank_status.state, TT_RANK_JOINED);
        atomic_store(&common->rank[r].rank_status.state, TT_RANK_JOINED);
    }
    atomic_store(&job->rank[0].wake_word[0].sleeping, 1);
}

static pid_t start(report_fn *report)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) return pid;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(CANNOT_TRACE);
    raise(SIGSTOP);
    report();
    _exit(0);
}

/* Collects the states in which a kill during the report may leave the page. */
static void collect_states(report_fn *report)
{
    int status;
    make_job();
    pid_t pid = start(report);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    while (WIFSTOPPED(status)) {
        keep_state();
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT_TRACE) skip();
    assert_true(n_states > 1);
}

static void forget_states(void)
{
    while (n_states > 0) free(states[--n_states]);
    tt_segment_close(&segment);
}

/* Puts the page into state i and makes the next report. */
static void report_in(int i, report_fn *report)
{
    memcpy(job, states[i], (size_t)job->page_bytes);
    report();
}

static void assert_announced(void)
{
    assert_true(atomic_load(&job->failures) > 0);
    assert_true(atomic_load(&job->rank[0].wake_word[0].wakes) > 0);
}

/* ---- A process that ends ---- */

static void end_unseen(void)
{
    tt_job_fail(job, 1, TT_CAUSE_GONE, 7);
}

static void end_by_exit(void)
{
    tt_job_fail(job, 1, TT_CAUSE_EXIT, 3);
}

static void process_end_is_reported_again(void **state)
{
    (void)state;
    collect_states(end_unseen);
    for (int i = 0; i < n_states; i++) {
        report_in(i, end_by_exit);
        assert_int_equal(tt_common_state(job, common, 1), TT_RANK_FAILED);
        struct tt_failure failure = tt_common_failure(job, common, 1);
        assert_int_equal(failure.cause, i > 0 ? TT_CAUSE_GONE : TT_CAUSE_EXIT);
        assert_int_equal(failure.code, i > 0 ? 7 : 3);
        assert_true(failure.team == TT_NO_TEAM);
        assert_int_equal(tt_common_first_failed(job, common), 1);
        assert_announced();
    }
    forget_states();
}

/* ---- An error on a team ---- */

static void err_on_first_team(void)
{
    tt_common_fail_on(job, common, 1, TUTTI_ERR_ARG, FIRST_TEAM, NULL);
}

static void err_on_next_team(void)
{
    tt_common_fail_on(job, common, 1, TUTTI_ERR_MISMATCH, NEXT_TEAM, NULL);
}

/* The error must not get the team of the error that the killed process has reported. */
static void error_is_reported_again(void **state)
{
    (void)state;
    collect_states(err_on_first_team);
    for (int i = 0; i < n_states; i++) {
        report_in(i, err_on_next_team);
        assert_int_equal(tt_common_state(job, common, 1), TT_RANK_FAILED);
        struct tt_failure failure = tt_common_failure(job, common, 1);
        assert_int_equal(failure.cause, TT_CAUSE_STATUS);
        if (failure.code == TUTTI_ERR_ARG)
            assert_true(failure.team == FIRST_TEAM);
        else if (failure.team != TT_NO_TEAM)
            assert_true(failure.code == TUTTI_ERR_MISMATCH && failure.team == NEXT_TEAM);
        assert_announced();
    }
    assert_int_equal(tt_common_failure(job, common, 1).code, TUTTI_ERR_ARG);
    forget_states();
}

static void end_is_reported_after_error(void **state)
{
    (void)state;
    collect_states(err_on_first_team);
    for (int i = 0; i < n_states; i++) {
        report_in(i, end_by_exit);
        assert_int_equal(tt_common_state(job, common, 1), TT_RANK_FAILED);
        struct tt_failure failure = tt_common_failure(job, common, 1);
        assert_true(failure.team == (failure.cause == TT_CAUSE_STATUS ? FIRST_TEAM : TT_NO_TEAM));
        assert_announced();
    }
    forget_states();
}

/* ---- Sleepers ---- */

static void leave(void)
{
    tt_common_left(job, common, 1);
}

static void announce(void)
{
    tt_common_announce(job, common, 1);
}

static void announces_after(report_fn *report)
{
    collect_states(report);
    for (int i = 0; i < n_states; i++) {
        report_in(i, announce);
        if (tt_common_state(job, common, 1) >= TT_RANK_LEFT) assert_announced();
        uint32_t failures = atomic_load(&job->failures);
        announce();
        assert_int_equal(atomic_load(&job->failures), failures);
    }
    assert_announced();
    forget_states();
}

static void changes_are_announced(void **state)
{
    (void)state;
    announces_after(leave);
    announces_after(end_unseen);
    announces_after(err_on_first_team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_end_is_reported_again),
        cmocka_unit_test(error_is_reported_again),
        cmocka_unit_test(end_is_reported_after_error),
        cmocka_unit_test(changes_are_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
