/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With tt_memory_fail_at exactly the chosen allocation fails, whichever function makes it. An
 * allocation of size 0 succeeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <pthread.h>
#include <string.h>

#include "base/base.h"

static void *by_alloc(void)
{
    return tt_alloc(10);
}
static void *by_calloc(void)
{
    return tt_calloc(2, 5);
}
static void *by_realloc(void)
{
    return tt_realloc(NULL, 10);
}
static void *by_lines(void)
{
    return tt_alloc_lines(10);
}
static void *by_strdup(void)
{
    return tt_strdup("ten bytes");
}
static void *(*const ways[])(void) = {by_alloc, by_calloc, by_realloc, by_lines, by_strdup};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void chosen_one_fails(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        tt_memory_fail_at(i);
        for (int way = 0; way < WAYS; way++) {
            void *memory = ways[way]();
            assert_int_equal(memory == NULL, way == i);
            tt_free(memory);
        }
    }
}

static void never_means_never(void **state)
{
    (void)state;
    tt_memory_fail_at(0);
    tt_memory_fail_at(-1);
    for (int way = 0; way < WAYS; way++) {
        void *memory = ways[way]();
        assert_non_null(memory);
        tt_free(memory);
    }
}

enum { THREADS = 4, EACH = 1000 };

static void *count_failures(void *failures)
{
    for (int i = 0; i < EACH; i++) {
        void *memory = tt_alloc(1);
        *(int *)failures += memory == NULL;
        tt_free(memory);
    }
    return NULL;
}

static void one_thread_of_many_fails_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int failures[THREADS] = {0};
    tt_memory_fail_at(THREADS * EACH / 2);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_failures, &failures[i]), 0);
    }
    int sum = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        sum += failures[i];
    }
    tt_memory_fail_at(-1);
    assert_int_equal(sum, 1);
}

static void nothing_is_something(void **state)
{
    (void)state;
    void *some[] = {tt_alloc(0), tt_calloc(0, 8), tt_calloc(8, 0), tt_alloc_lines(0),
                    tt_realloc(NULL, 0)};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        assert_non_null(some[i]);
        tt_free(some[i]);
    }
    tt_free(NULL);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    assert_null(tt_alloc_lines(SIZE_MAX));
    assert_null(tt_alloc_lines(SIZE_MAX - 3));
}

static void lines_are_lines(void **state)
{
    (void)state;
    unsigned char *memory = tt_alloc_lines(100);
    assert_int_equal((uintptr_t)memory % TT_LINE, 0);
    for (int i = 0; i < 100; i++) assert_int_equal(memory[i], 0);
    tt_free(memory);
}

/* Checks that tt_memory_left, the memory that is left on the machine, does not include memory that
 * is mapped and used. The kernel keeps freed pages in lists of each processor, up to an eighth of
 * the memory, and counts them neither as free nor as used. Other processes may give memory back in
 * the meantime. Therefore the test maps more and more, up to half of what is left, until what is
 * left has fallen by 256 MiB. */
static void test_left(void **state)
{
    enum { PIECES = 64 };
    char *piece[PIECES];
    int64_t before = tt_memory_left(), least = before;
    size_t n = (size_t)before / 2 / PIECES;
    int pieces = 0;
    (void)state;
    assert_true(before > 0);
    while (pieces < PIECES && before - least < (256 << 20)) {
        piece[pieces] = mmap(NULL, n, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        assert_true(piece[pieces++] != MAP_FAILED);
        int64_t left = tt_memory_left();
        least = left < least ? left : least;
    }
    while (pieces > 0) munmap(piece[--pieces], n);
    assert_true(before - least >= (256 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_left),
        cmocka_unit_test(chosen_one_fails),
        cmocka_unit_test(never_means_never),
        cmocka_unit_test(nothing_is_something),
        cmocka_unit_test(one_thread_of_many_fails_once),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(lines_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
