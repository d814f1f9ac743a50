/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests what the ranks conclude from the times in which they moved memory when they met.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
    /* The kernel's and taking: 7,900 ns. Giving, when the buffer is written again: 10,700 ns. */
    assert_int_equal(cost.times, (4 * 18600 + 3 * 3300) / (4 * 3300)); /* against streaming */
    assert_int_equal(cost.stored_times, 1);
    assert_int_equal(cost.percent, 100 * 7900 / 3300);
}

/* Somewhat slower stores are kept, since lines of windows have mostly left the other caches. */
static void other_stores_are_kept(void **state)
{
    (void)state;
    struct tt_cost cost = tt_cost_judge(&together, -1);
    assert_true(!cost.stores_slow && cost.streams);
    assert_int_equal(cost.times, 2); /* 6,200 against 6,600 ns */
    assert_int_equal(cost.stored_times, 1);
}

static void three_times_is_the_limit(void **state)
{
    (void)state;
    struct tt_cost_times times = apart;
    times.storing = 3 * times.taking.streamed;
    assert_false(tt_cost_judge(&times, -1).stores_slow);
    assert_int_equal(tt_cost_judge(&times, -1).times, 2); /* 7,900 against 9,900 ns */
    times.storing++;
    assert_true(tt_cost_judge(&times, -1).stores_slow);
    assert_int_equal(tt_cost_judge(&times, -1).times, 5); /* 14,501 against 3,300 ns are 4 */
}

/* Reading costs 1 if it takes less than three quarters of the time, and else at least 2. */
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
    assert_int_equal(plain.times, 2); /* 18,600 against 14,000 ns */
    assert_int_equal(plain.stored_times, 1);
    assert_true(past.stores_slow);
    assert_int_equal(past.times, 2); /* 6,200 against 3,200 ns */
    assert_int_equal(past.stored_times, 1);
}

/* Without another process, its own cache stands for the other's. */
static void one_process_compares_with_its_own_cache(void **state)
{
    (void)state;
    const struct tt_cost_times alone = {.reading = 4800, .copy = 1200};
    struct tt_cost cost = tt_cost_judge(&alone, -1);
    assert_true(!cost.stores_slow && !cost.streams);
    assert_int_equal(cost.times, 4);
    assert_int_equal(cost.percent, 400);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
