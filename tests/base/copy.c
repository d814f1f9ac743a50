/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies are complete and touch nothing else, wherever within their pages source and destination
 * lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

enum { PAGE = 4096, MOST = 9000, ROOM = MOST + 3 * PAGE };

typedef void copy_fn(void *to, const void *from, size_t n);

static void checked_copy(copy_fn *copy, char *to, const char *from, size_t n)
{
    static char expected[ROOM];
    memset(to, 'x', ROOM);
    memset(expected, 'x', ROOM);
    memcpy(expected + PAGE, from, n);
    copy(to + PAGE, from, n);
    assert_memory_equal(to, expected, ROOM);
}

static void at_all_places(copy_fn *copy)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 2047, 2048, 2049, 4096, MOST};
    static _Alignas(PAGE) char from[ROOM], to[ROOM + PAGE];
    for (int i = 0; i < ROOM; i++) from[i] = (char)(i * 7 + i / 251);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int i = 0; i < 130; i++)
            for (int k = 0; k < 3; k++) checked_copy(copy, to + i, from + k * 33, sizes[s]);
}

static void memcpy_quick(void *to, const void *from, size_t n)
{
    tt_memcpy(to, from, n);
}

static void copies_are_whole(void **state)
{
    (void)state;
    at_all_places(memcpy_quick);
    at_all_places(tt_memcpy_near);
    at_all_places(tt_stream);
}

/* The linker uses __wrap_tt_memcpy_near in place of tt_memcpy_near, so that the test can count the
 * calls. */
static int near;
void __real_tt_memcpy_near(void *to, const void *from, size_t n);
void __wrap_tt_memcpy_near(void *to, const void *from, size_t n);

void __wrap_tt_memcpy_near(void *to, const void *from, size_t n)
{
    near++;
    __real_tt_memcpy_near(to, from, n);
}

static void expect_near(int behind, size_t n, int expected)
{
    static _Alignas(PAGE) char from[ROOM], to[ROOM + PAGE];
    near = 0;
    tt_memcpy(to + behind, from, n);
    assert_int_equal(near, expected);
}

static void only_long_copies_just_behind_go_otherwise(void **state)
{
    (void)state;
    static const struct {
        int behind;
        size_t n;
        int near;
    } copies[] = {{0, 2048, 0}, {1, 2048, 1},  {63, 2048, 1},       {64, 2048, 0},
                  {1, 2047, 0}, {63, 2047, 0}, {PAGE - 1, 2048, 0}, {15, MOST, 1}};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        expect_near(copies[i].behind, copies[i].n, copies[i].near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_whole),
                                       cmocka_unit_test(only_long_copies_just_behind_go_otherwise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
