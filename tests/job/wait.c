/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting on a processor that others want, and with a hook.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job/wait.h"

enum { SCHEDULING_WORDS = 12, SLICE_AT = 6 };

static _Atomic bool ends;

/* Returns this thread's time slice in ns; 0: the kernel does not know slices of threads. */
static uint64_t slice(void)
{
    uint32_t is[SCHEDULING_WORDS] = {0};
    uint64_t ns;
    assert_int_equal(syscall(SYS_sched_getattr, 0, is, sizeof is, 0), 0);
    memcpy(&ns, is + SLICE_AT, sizeof ns);
    return ns;
}

static void *calculates(void *arg)
{
    volatile uint64_t sum = 0;
    while (!atomic_load(&ends)) sum = sum + 1;
    return arg;
}

/* Binds this thread, and those that it starts, to one processor. */
static void bind_to_one(void)
{
    cpu_set_t all, one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* If another thread calculates on its processor, a waiter sleeps although its policy would let it
 * yield without end. Meanwhile it has a short time slice. It gets its old one back with the first
 * yield that is not long. */
static void a_waiter_sleeps_where_others_calculate(void **state)
{
    struct tt_job_page *job = calloc(1, sizeof *job + sizeof job->rank[0]);
    const struct tt_wait_policy policy = {.yields = INT_MAX, .can_sleep = true};
    struct tt_wait wait;
    const uint64_t before = slice();
    pthread_t other;
    (void)state;
    assert_non_null(job);
    bind_to_one();
    assert_int_equal(pthread_create(&other, NULL, calculates, NULL), 0);
    tt_wait_register(job);
    tt_wait_begin(&wait, &policy, job, 0);
    while (!wait.announced) tt_wait_more(&wait);
    assert_int_equal(atomic_load(&job->sleepers), 1);
    tt_wait_done(&wait);
    assert_int_equal(atomic_load(&job->sleepers), 0);
    assert_true(before == 0 || slice() < before);
    atomic_store(&ends, true);
    pthread_join(other, NULL);
    tt_wait_begin(&wait, &policy, job, 0);
    for (; slice() != before; tt_wait_afresh(&wait)) tt_wait_more(&wait);
    tt_wait_done(&wait);
    free(job);
}

/* ---- Hooks ---- */

static void count(void *arg)
{
    ++*(int *)arg;
}

/* Looks n times in vain, and returns how often the hook was called. */
static int look(struct tt_wait *wait, int n)
{
    int *calls = wait->policy->hook.arg, before = *calls;
    for (int i = 0; i < n; i++) tt_wait_more(wait);
    return *calls - before;
}

/* Begins a wait with 20 spins and 1000 yields on a job of one rank. */
static void begin_hooked(struct tt_wait *wait, struct tt_wait_policy *policy,
                         struct tt_job_page *job, int *calls, int first)
{
    *policy = (struct tt_wait_policy){.spins = 20, .yields = 1000, .exact = true};
    tt_wait_set_sleep(policy, 1000);
    tt_wait_set_hook(policy, (struct tt_wait_hook){count, calls, first, 10});
    tt_wait_begin(wait, policy, job, 0);
}

static struct tt_job_page *job_of_one(void)
{
    struct tt_job_page *job = calloc(1, sizeof *job + sizeof job->rank[0]);
    assert_non_null(job);
    tt_wait_register(job);
    return job;
}

/* The hook is called in the first look after `first` ones and then in every tenth, whether the wait
 * spins or yields, and however often the wait begins afresh. */
static void a_hook_comes_after_its_looks(void **state)
{
    struct tt_job_page *job = job_of_one();
    struct tt_wait_policy policy;
    struct tt_wait wait;
    int calls = 0;
    (void)state;
    for (int first = 1; first < 60; first += 7) {
        begin_hooked(&wait, &policy, job, &calls, first);
        assert_int_equal(look(&wait, first), 0);
        for (int i = 0; i < 9; i++) {
            assert_int_equal(look(&wait, 1), 1);
            assert_int_equal(look(&wait, 9), 0);
        }
        tt_wait_afresh(&wait);
        assert_int_equal(look(&wait, 100), 10);
        tt_wait_done(&wait);
    }
    begin_hooked(&wait, &policy, job, &calls, 20);
    for (int i = 0; i < 4; i++, tt_wait_afresh(&wait)) assert_int_equal(look(&wait, 5), 0);
    assert_int_equal(look(&wait, 1), 1);
    tt_wait_done(&wait);
    free(job);
}

/* Before each sleep comes one call, and it comes before the announcement. Without sleeps the wait
 * goes on to yield. */
static void a_hook_comes_before_each_sleep(void **state)
{
    struct tt_job_page *job = job_of_one();
    struct tt_wait_policy policy;
    struct tt_wait wait;
    int calls = 0;
    (void)state;
    begin_hooked(&wait, &policy, job, &calls, 1000000);
    policy.yields = 5;
    assert_int_equal(look(&wait, 25), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(look(&wait, 1), 1);
        assert_true(wait.announced);
        assert_int_equal(look(&wait, 1), 0); /* sleeps */
        assert_false(wait.announced);
    }
    tt_wait_done(&wait);
    begin_hooked(&wait, &policy, job, &calls, 1000000);
    policy.yields = 5;
    tt_wait_set_sleep(&policy, 0);
    assert_int_equal(look(&wait, 3000), 0);
    assert_false(wait.announced);
    tt_wait_set_hook(&policy, (struct tt_wait_hook){.call = NULL});
    assert_int_equal(policy.quiet, policy.spins);
    tt_wait_done(&wait);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hook_comes_after_its_looks),
        cmocka_unit_test(a_hook_comes_before_each_sleep),
        cmocka_unit_test(a_waiter_sleeps_where_others_calculate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
