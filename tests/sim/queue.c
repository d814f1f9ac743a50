/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events leave the queue in the order of their times, and those of the same time in the order in
 * which they entered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/queue.h"

static void events_come_in_order(void **state)
{
    (void)state;
    struct tt_queue queue = {.n = 0};
    struct tt_random random;
    struct tt_event e;
    int64_t last = 0, taken = 0, put = 0;
    tt_random_seed(&random, 5);
    for (int turn = 0; turn < 200000; turn++) {
        if (put == taken || tt_random_below(&random, 2)) {
            int64_t ahead = (int64_t)tt_random_below(&random, 1ull << tt_random_below(&random, 50));
            assert_true(tt_queue_put(&queue, (struct tt_event){last + ahead, 7, (uint32_t)put}));
            put++;
            continue;
        }
        assert_true(tt_queue_take(&queue, &e));
        assert_true(e.time >= last);
        last = e.time;
        taken++;
    }
    while (tt_queue_take(&queue, &e)) {
        assert_true(e.time >= last);
        last = e.time;
        taken++;
    }
    assert_int_equal(taken, put);
    assert_false(tt_queue_take(&queue, &e));
    tt_queue_free(&queue);
}

static void the_earliest_comes_first(void **state)
{
    (void)state;
    static const int64_t times[] = {9, 3, INT64_MAX / 2, 3, 0, 8, 3};
    static const uint32_t order[] = {4, 1, 3, 6, 5, 0, 2};
    struct tt_queue queue = {.n = 0};
    struct tt_event e;
    for (uint32_t i = 0; i < 7; i++)
        assert_true(tt_queue_put(&queue, (struct tt_event){times[i], 0, i}));
    for (int i = 0; i < 7; i++) {
        assert_true(tt_queue_take(&queue, &e));
        assert_int_equal(e.who, order[i]);
        assert_int_equal(e.time, times[order[i]]);
    }
    tt_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(the_earliest_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
