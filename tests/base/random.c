/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The random generators return the published numbers, and numbers below n are in range and evenly
 * distributed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"

static void xoshiro_gives_the_published_numbers(void **state)
{
    (void)state;
    static const uint64_t published[] = {11520, 0, 1509978240, 1215971899390074240u};
    struct tt_random random = {{1, 2, 3, 4}};
    for (int i = 0; i < 4; i++) assert_true(tt_random_next(&random) == published[i]);
}

static void splitmix_gives_the_published_numbers(void **state)
{
    (void)state;
    struct tt_random random;
    tt_random_seed(&random, 1234567);
    assert_true(random.s[0] == 6457827717110365317u);
    assert_true(random.s[1] == 3203168211198807973u);
    assert_true(random.s[2] == 9817491932198370423u);
    assert_true(random.s[3] == 4593380528125082431u);
}

static void draws_are_below_n_and_even(void **state)
{
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    struct tt_random random;
    tt_random_seed(&random, 1);
    int64_t count[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = tt_random_below(&random, N);
        assert_true(x < N);
        count[x]++;
    }
    for (int i = 0; i < N; i++) assert_in_range(count[i], DRAWS / N - 600, DRAWS / N + 600);
    for (int i = 0; i < 100; i++) assert_int_equal(tt_random_below(&random, 1), 0);
    uint64_t half = UINT64_C(1) << 63;
    for (int i = 0; i < 100; i++) assert_true(tt_random_below(&random, half + 1) <= half);
}

static void clock_goes_forward(void **state)
{
    (void)state;
    int64_t before = tt_clock_ns();
    int64_t after = tt_clock_ns();
    assert_true(before > 0 && after >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xoshiro_gives_the_published_numbers),
        cmocka_unit_test(splitmix_gives_the_published_numbers),
        cmocka_unit_test(draws_are_below_n_and_even),
        cmocka_unit_test(clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
