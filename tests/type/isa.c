/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which kernels are used: the best that the processor supports, unless TUTTI_ISA names others. A
 * value that is not supported is reported and has no effect.
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

#include "type/kernels.h"

/* Starts a child process in which TUTTI_ISA is `wanted`. Stores in `name` the name of the kernels
 * that the child uses, and checks that the child computes a correct sum. */
static void isa_in_use(const char *wanted, char *name, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TUTTI_ISA", wanted, 1);
        const char *isa = tt_reduce_isa();
        int32_t a = 3, b = 4, sum = 0;
        const void *in[] = {&a, &b};
        tt_reduce(&sum, in, 2, 1, TUTTI_I32, TUTTI_SUM);
        bool whole = write(ends[1], isa, strlen(isa)) == (ssize_t)strlen(isa);
        _exit(whole && sum == 7 ? 0 : 1);
    }
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ssize_t got = read(ends[0], name, size - 1);
    assert_true(got > 0);
    name[got] = 0;
    close(ends[0]);
}

static const char *best(void)
{
    if (tt_kernels_find("avx512")) return "avx512";
    return tt_kernels_find("avx2") ? "avx2" : "base";
}

static void setting_is_obeyed(void **state)
{
    (void)state;
    static const char *const isas[] = {"base", "avx2", "avx512"};
    char name[16];
    for (int i = 0; i < 3; i++) {
        isa_in_use(isas[i], name, sizeof name);
        assert_string_equal(name, tt_kernels_find(isas[i]) ? isas[i] : best());
    }
}

static void best_is_the_default(void **state)
{
    (void)state;
    char name[16];
    isa_in_use("", name, sizeof name);
    assert_string_equal(name, best());
    isa_in_use("mmx", name, sizeof name);
    assert_string_equal(name, best());
}

static void lookup_gives_the_kernel_in_use(void **state)
{
    (void)state;
    const struct tt_kernels *kernels = tt_kernels_find(tt_reduce_isa());
    assert_non_null(kernels);
    assert_ptr_equal(tt_reduce_lookup(TUTTI_F64, TUTTI_SUM), kernels->fn[TUTTI_F64][TUTTI_SUM]);
    assert_null(tt_reduce_lookup(TUTTI_TYPES, TUTTI_SUM));
    assert_null(tt_reduce_lookup(TUTTI_F64, TUTTI_OPS));
    assert_non_null(tt_kernels_find("base"));
    assert_null(tt_kernels_find("mmx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_is_obeyed),
        cmocka_unit_test(best_is_the_default),
        cmocka_unit_test(lookup_gives_the_kernel_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
