/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting on a processor that others want.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiter_sleeps_where_others_calculate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
