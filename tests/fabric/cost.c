/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests how a rank computes the cost of reading from the times of copies, which the ranks measure
 * when a job starts, and how it finds out whether it can read at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "fabric/fabric.h"

/* Two processors that share no cache: plain stores wait 14 us for the lines that another processor
 * has read. */
static const struct tt_cost_times apart = {.reading = 5000,
                                           .copy = 600,
                                           .taking = {.stored = 3500, .streamed = 3300},
                                           .storing = 14000,
                                           .streaming = 1700};
/* Two processors that share a cache. */
static const struct tt_cost_times together = {.reading = 5800,
                                              .copy = 1200,
                                              .taking = {.stored = 1600, .streamed = 3200},
                                              .storing = 6600,
                                              .streaming = 2800};

static void slow_stores_are_avoided(void **state)
{
    (void)state;
    struct tt_cost cost = tt_cost_judge(&apart, -1);
    assert_true(cost.stores_slow && cost.streams);
    /* A read takes 7,900 ns: 3,500 to take the lines from the other processor, and 4,400 more for
     * the kernel. After the read the owner writes its buffer again by plain stores. These take
     * 14,000 ns, which is 10,700 ns more than moving the bytes by non-temporal stores (tt_stream)
     * takes. So a read costs 18,600 ns, compared with the 3,300 ns of tt_stream. The ratio is
     * rounded up if its fraction is a quarter or more. */
    assert_int_equal(cost.times, (4 * 18600 + 3 * 3300) / (4 * 3300));
    assert_int_equal(cost.stored_times, 1);
    assert_int_equal(cost.percent, 100 * 7900 / 3300);
}

/* Checks that plain stores fill the windows if they take at most three times as long as
 * non-temporal stores (tt_stream), since the lines of windows have mostly left the other
 * processor's caches. */
static void other_stores_are_kept(void **state)
{
    (void)state;
    struct tt_cost cost = tt_cost_judge(&together, -1);
    assert_true(!cost.stores_slow && cost.streams);
    /* a read takes 6,200 ns, at least three quarters of the 6,600 ns of plain stores, so the cost
     * of reading is 2 */
    assert_int_equal(cost.times, 2);
    assert_int_equal(cost.stored_times, 1);
}

static void three_times_is_the_limit(void **state)
{
    (void)state;
    struct tt_cost_times times = apart;
    times.storing = 3 * times.taking.streamed;
    assert_false(tt_cost_judge(&times, -1).stores_slow);
    /* a read takes 7,900 ns, at least three quarters of the 9,900 ns of plain stores, so the cost
     * of reading is 2 */
    assert_int_equal(tt_cost_judge(&times, -1).times, 2);
    times.storing++;
    assert_true(tt_cost_judge(&times, -1).stores_slow);
    /* a read, and writing the buffer again, take 14,501 ns, 4.4 times as long as the 3,300 ns of
     * non-temporal stores, so the cost of reading is 5 */
    assert_int_equal(tt_cost_judge(&times, -1).times, 5);
}

/* Checks that the cost of reading is 1 if reading takes less than three quarters of the time
 * through windows, and at least 2 otherwise. */
static void three_quarters_is_cheap(void **state)
{
    (void)state;
    struct tt_cost_times times = {.reading = 7500,
                                  .copy = 600,
                                  .taking = {.stored = 600, .streamed = 9000},
                                  .storing = 10000,
                                  .streaming = 9000};
    assert_int_equal(tt_cost_judge(&times, -1).times, 2);
    times.reading--;
    assert_int_equal(tt_cost_judge(&times, -1).times, 1);
    times.reading = 22499;
    assert_int_equal(tt_cost_judge(&times, -1).times, 2);
    times.reading++;
    assert_int_equal(tt_cost_judge(&times, -1).times, 3);
}

static void the_setting_decides(void **state)
{
    (void)state;
    struct tt_cost plain = tt_cost_judge(&apart, 0), past = tt_cost_judge(&together, 1);
    assert_false(plain.stores_slow);
    /* a read, and writing the buffer again, take 18,600 ns, 1.33 times as long as the 14,000 ns of
     * plain stores, so the cost of reading is 2 */
    assert_int_equal(plain.times, 2);
    assert_int_equal(plain.stored_times, 1);
    assert_true(past.stores_slow);
    /* a read takes 6,200 ns, 1.94 times as long as the 3,200 ns of non-temporal stores */
    assert_int_equal(past.times, 2);
    assert_int_equal(past.stored_times, 1);
}

/* Checks the cost in a process that has no other process to measure with, so that its own cache
 * stands for the cache of another processor. */
static void one_process_compares_with_its_own_cache(void **state)
{
    (void)state;
    const struct tt_cost_times alone = {.reading = 4800, .copy = 1200};
    struct tt_cost cost = tt_cost_judge(&alone, -1);
    assert_true(!cost.stores_slow && !cost.streams);
    assert_int_equal(cost.times, 4);
    assert_int_equal(cost.percent, 400);
}

/* Checks that a rank finds that it can access a process by its pid only if the process has the
 * value that the rank has published, and the pid is of its own PID namespace. Here both ranks have
 * the pid of this process. */
static void another_process_is_not_the_rank(void **state)
{
    static _Atomic uint64_t word = 5;
    struct tt_job_page *job = calloc(1, sizeof *job + 2 * sizeof job->rank[0]);
    (void)state;
    assert_non_null(job);
    for (int r = 0; r < 2; r++) {
        tt_segment_set_process(&job->rank[r], getpid());
        atomic_store(&job->rank[r].probe, (uint64_t)(uintptr_t)&word);
        atomic_store(&job->rank[r].probe_value, 5);
    }
    if (tt_cma_works(job, 1, 0) != TT_ACCESSES) {
        free(job);
        skip();
    }
    atomic_store(&job->rank[1].probe_value, 6);
    assert_int_equal(tt_cma_works(job, 1, 0), 0);
    atomic_store(&job->rank[1].probe_value, 5);
    atomic_fetch_add(&job->rank[1].pid_space, 1);
    assert_int_equal(tt_cma_works(job, 1, 0), 0);
    assert_int_equal(word, 5);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_stores_are_avoided),
        cmocka_unit_test(other_stores_are_kept),
        cmocka_unit_test(three_times_is_the_limit),
        cmocka_unit_test(three_quarters_is_cheap),
        cmocka_unit_test(the_setting_decides),
        cmocka_unit_test(one_process_compares_with_its_own_cache),
        cmocka_unit_test(another_process_is_not_the_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
