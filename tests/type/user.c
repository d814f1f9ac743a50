/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User-defined operations: the table that holds them, and how they are called: operands in rank
 * order, and `out` only where the public header allows it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "type/type.h"

enum { USER_OPS = TUTTI_OP_USER_END - TUTTI_OP_USER };

/* ---- An operation that does not commute: composition of the maps x -> a x + b, modulo 2^64 ----
 */

struct map {
    uint64_t a, b;
};

static struct map then(struct map first, struct map second)
{
    return (struct map){second.a * first.a, second.a * first.b + second.b};
}

static bool overlap(const void *a, const void *b, size_t bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + bytes && y < x + bytes;
}

/* Composes maps. Sets *arg if the library has not called this function as it promises. */
static void compose(const void *left, const void *right, void *out, size_t n, tutti_type type,
                    void *arg)
{
    const struct map *first = left, *second = right;
    size_t bytes = n * sizeof *first;
    bool apart = !overlap(out, left, bytes) && !overlap(out, right, bytes);
    if (n < 1 || bytes > TUTTI_OP_BLOCK) *(bool *)arg = true;
    if (type != TUTTI_C128 || !(out == left || out == right || apart)) *(bool *)arg = true;
    for (size_t i = 0; i < n; i++) ((struct map *)out)[i] = then(first[i], second[i]);
}

enum { K = 17, N = 1500 };
static struct map maps[K][N], work[K + 1][N];

static void check_composition(tutti_op op, int k, size_t n, int alias)
{
    const void *in[K];
    memcpy(work, maps, sizeof maps);
    for (int j = 0; j < k; j++) in[j] = work[j];
    struct map *out = work[alias < 0 ? K : alias];
    tt_reduce(out, in, k, n, TUTTI_C128, op);
    for (size_t i = 0; i < n; i++) {
        struct map want = maps[0][i];
        for (int j = 1; j < k; j++) want = then(want, maps[j][i]);
        assert_memory_equal(&out[i], &want, sizeof want);
    }
    for (int j = 0; j < k; j++) {
        if (j != alias) assert_memory_equal(work[j], maps[j], sizeof maps[j]);
    }
}

static void operands_come_in_order(void **state)
{
    (void)state;
    struct tt_random random;
    tt_random_seed(&random, 3);
    for (int i = 0; i < K * N; i++) {
        maps[i / N][i % N] = (struct map){tt_random_next(&random) | 1, tt_random_next(&random)};
    }
    static const size_t lengths[] = {0, 1, 2, 511, 512, 513, N};
    bool broken = false;
    for (int commutes = 0; commutes < 2; commutes++) {
        tutti_op op;
        assert_int_equal(tutti_op_create(compose, commutes, &broken, &op), TUTTI_OK);
        for (int k = 1; k <= K; k++) {
            for (int i = 0; i < 7; i++) {
                for (int alias = -1; alias < k; alias++)
                    check_composition(op, k, lengths[i], alias);
            }
        }
        assert_int_equal(tutti_op_free(op), TUTTI_OK);
    }
    assert_false(broken);
}

/* ---- Operands and results at any address ---- */

enum { OPERANDS = 3, LONGEST = 4 * TUTTI_OP_BLOCK, SHIFTS = 16 };

/* Returns the alignment that tutti_op_fn promises for elements of this size. */
static size_t alignment_of(size_t sz)
{
    size_t align = 16;
    while (sz % align) align /= 2;
    return align;
}

/* Subtracts the bytes of `right` from the bytes of `left`, which is not associative, but shows the
 * order of three operands. Sets *arg if an address is not aligned. */
static void subtract(const void *left, const void *right, void *out, size_t n, tutti_type type,
                     void *arg)
{
    const unsigned char *a = left, *b = right;
    size_t sz = tutti_type_size(type), bits = (size_t)left | (size_t)right | (size_t)out;
    if (bits % alignment_of(sz)) *(bool *)arg = true;
    for (size_t i = 0; i < n * sz; i++) ((unsigned char *)out)[i] = (unsigned char)(a[i] - b[i]);
}

/* Reduces operands that begin at multiples of 16. Only operand `shifted` lies `shift` bytes
 * further; OPERANDS: the result does. The result replaces operand `alias`; -1: it replaces none. */
static void check_shifted(tutti_op op, tutti_type type, size_t n, size_t shift, int shifted,
                          int alias)
{
    static _Alignas(16) unsigned char memory[OPERANDS + 1][LONGEST + SHIFTS];
    const void *in[OPERANDS];
    unsigned char *at[OPERANDS + 1], former[OPERANDS];
    size_t bytes = n * tutti_type_size(type);
    for (int j = 0; j <= OPERANDS; j++) {
        at[j] = memory[j] + (j == shifted ? shift : 0);
        for (size_t i = 0; i < bytes; i++) at[j][i] = (unsigned char)(i * 7 + (size_t)j * 31);
    }
    for (int j = 0; j < OPERANDS; j++) in[j] = at[j];
    unsigned char *out = at[alias < 0 ? OPERANDS : alias];
    out[bytes] = 0xa5;
    tt_reduce(out, in, OPERANDS, n, type, op);
    assert_int_equal(out[bytes], 0xa5);
    for (size_t i = 0; i < bytes; i++) {
        for (int j = 0; j < OPERANDS; j++) former[j] = (unsigned char)(i * 7 + (size_t)j * 31);
        assert_int_equal(out[i], (unsigned char)(former[0] - former[1] - former[2]));
        for (int j = 0; j < OPERANDS; j++)
            if (j != alias) assert_int_equal(at[j][i], former[j]);
    }
}

static void check_alignment(tutti_type type, tutti_op op)
{
    size_t sz = tutti_type_size(type);
    const size_t lengths[] = {1, 3, (LONGEST - 100) / sz};
    for (int i = 0; i < 3; i++)
        for (size_t shift = 0; shift < SHIFTS; shift += i < 2 ? 1 : 8)
            for (int alias = -1; alias < OPERANDS; alias++)
                for (int shifted = 0; shifted <= OPERANDS; shifted++)
                    check_shifted(op, type, lengths[i], shift, shifted, alias);
}

/* Folds operands in a way that needs memory: they are not aligned. */
static void *fold_copies(void *arg)
{
    static _Alignas(16) char memory[3][TUTTI_OP_BLOCK + 16];
    const void *in[] = {memory[0] + 8, memory[1]};
    tt_reduce(memory[2], in, 2, TUTTI_OP_BLOCK / 16, TUTTI_U128, *(tutti_op *)arg);
    return NULL;
}

static void a_small_stack_suffices(void **state)
{
    bool broken = false;
    tutti_op op;
    pthread_t thread;
    pthread_attr_t attributes;
    (void)state;
    assert_int_equal(tutti_op_create(subtract, 0, &broken, &op), TUTTI_OK);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 48 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, fold_copies, &op), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
}

static void operands_are_aligned(void **state)
{
    static const int64_t sizes[] = {3, 12, 24, 48, TUTTI_OP_BLOCK + 16};
    bool broken = false;
    tutti_op op;
    (void)state;
    assert_int_equal(tutti_op_create(subtract, 0, &broken, &op), TUTTI_OK);
    check_alignment(TUTTI_U8, op);
    check_alignment(TUTTI_F64, op);
    check_alignment(TUTTI_U128, op);
    check_alignment(TUTTI_C160, op);
    for (int i = 0; i < 5; i++) {
        tutti_type type;
        const tutti_field field = {.count = sizes[i], .type = TUTTI_U8};
        assert_int_equal(tutti_type_struct(1, &field, sizes[i], &type), TUTTI_OK);
        check_alignment(type, op);
        assert_int_equal(tutti_type_free(type), TUTTI_OK);
    }
    assert_false(broken);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
}

/* ---- The table ---- */

static void nothing(const void *left, const void *right, void *out, size_t n, tutti_type type,
                    void *arg)
{
    (void)left, (void)right, (void)out, (void)n, (void)type, (void)arg;
}

static void created_ones_live_until_freed(void **state)
{
    (void)state;
    tutti_op yes, no;
    assert_int_equal(tutti_op_create(nothing, 1, NULL, &yes), TUTTI_OK);
    assert_int_equal(tutti_op_create(nothing, 0, NULL, &no), TUTTI_OK);
    assert_true(tt_op_commutes(yes));
    assert_false(tt_op_commutes(no));
    assert_null(tt_op_refuse(yes, TUTTI_BOOL));
    assert_null(tt_reduce_lookup(TUTTI_F64, yes));
    assert_int_equal(tutti_op_free(yes), TUTTI_OK);
    assert_non_null(tt_op_refuse(yes, TUTTI_BOOL));
    assert_null(tt_op_refuse(no, TUTTI_BOOL));
    assert_int_equal(tutti_op_free(no), TUTTI_OK);
}

static void wrong_calls_are_reported(void **state)
{
    (void)state;
    tutti_op op = TUTTI_MAX;
    assert_int_equal(tutti_op_create(NULL, 1, NULL, &op), TUTTI_ERR_ARG);
    assert_string_equal(tutti_error(), "tutti_op_create: fn is null");
    assert_int_equal(op, TUTTI_MAX);
    assert_int_equal(tutti_op_create(nothing, 1, NULL, NULL), TUTTI_ERR_ARG);
    assert_string_equal(tutti_error(), "tutti_op_create: op is null");
    static const int wrong[] = {-1, TUTTI_SUM, TUTTI_OPS, TUTTI_OP_USER, TUTTI_OP_USER_END};
    for (int i = 0; i < 5; i++) assert_int_equal(tutti_op_free((tutti_op)wrong[i]), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "256 is not a live user-defined operation"));
}

static void table_fills_and_empties(void **state)
{
    (void)state;
    tutti_op ops[USER_OPS], more = TUTTI_SUM;
    for (int i = 0; i < USER_OPS; i++) {
        assert_int_equal(tutti_op_create(nothing, 1, NULL, &ops[i]), TUTTI_OK);
        assert_int_equal(ops[i], TUTTI_OP_USER + i);
    }
    assert_int_equal(tutti_op_create(nothing, 1, NULL, &more), TUTTI_ERR_LIMIT);
    assert_int_equal(more, TUTTI_SUM);
    assert_non_null(strstr(tutti_error(), "192"));
    assert_int_equal(tutti_op_free(ops[100]), TUTTI_OK);
    assert_int_equal(tutti_op_create(nothing, 1, NULL, &more), TUTTI_OK);
    assert_int_equal(more, ops[100]);
    for (int i = 0; i < USER_OPS; i++) assert_int_equal(tutti_op_free(ops[i]), TUTTI_OK);
}

/* ---- Threads that create, use and free operations at the same time ---- */

static void add_arg(const void *left, const void *right, void *out, size_t n, tutti_type type,
                    void *arg)
{
    (void)type;
    for (size_t i = 0; i < n; i++) {
        ((int64_t *)out)[i] =
            ((const int64_t *)left)[i] + ((const int64_t *)right)[i] + *(int64_t *)arg;
    }
}

static void *create_use_free(void *arg)
{
    int64_t a = 1, b = 2, out, wrong = 0;
    const void *in[] = {&a, &b};
    for (int i = 0; i < 500; i++) {
        tutti_op op;
        if (tutti_op_create(add_arg, 1, arg, &op) != TUTTI_OK) return arg;
        tt_reduce(&out, in, 2, 1, TUTTI_I64, op);
        wrong += out != 3 + *(int64_t *)arg;
        if (tutti_op_free(op) != TUTTI_OK) return arg;
    }
    return wrong ? arg : NULL;
}

static void threads_share_the_table(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int64_t args[THREADS];
    for (int i = 0; i < THREADS; i++) {
        args[i] = 1000 * i;
        assert_int_equal(pthread_create(&threads[i], NULL, create_use_free, &args[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

/* ---- Bound operations ---- */

static void bound_ones_have_their_own_argument(void **state)
{
    int64_t zero = 0, ten = 10, a = 1, b = 2, out;
    const void *in[] = {&a, &b};
    tutti_op op, bound, again;
    (void)state;
    assert_int_equal(tutti_op_create(add_arg, 1, &zero, &op), TUTTI_OK);
    assert_int_equal(tutti_op_bind(op, &ten, &bound), TUTTI_OK);
    assert_int_equal(tutti_op_bind(bound, &a, &again), TUTTI_OK);
    assert_int_equal(tt_op_base(again), op);
    assert_string_equal(tt_op_name(again), tt_op_name(op));
    assert_null(tt_op_refuse(bound, TUTTI_I64));
    assert_true(tt_op_commutes(bound));
    tt_reduce(&out, in, 2, 1, TUTTI_I64, bound);
    assert_int_equal(out, 13);
    tt_reduce(&out, in, 2, 1, TUTTI_I64, again);
    assert_int_equal(out, 4);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
    tt_reduce(&out, in, 2, 1, TUTTI_I64, bound);
    assert_int_equal(out, 13);
    assert_int_equal(tutti_op_free(bound), TUTTI_OK);
    assert_int_equal(tutti_op_free(bound), TUTTI_ERR_ARG);
    assert_non_null(strstr(tt_op_refuse(bound, TUTTI_I64), "not a live operation"));
    assert_int_equal(tutti_op_free((tutti_op)(again + 1)), TUTTI_ERR_ARG);
    assert_int_equal(tutti_op_free(again), TUTTI_OK);
}

static void wrong_bindings_are_reported(void **state)
{
    tutti_op op, bound = TUTTI_MAX;
    (void)state;
    assert_int_equal(tutti_op_create(nothing, 1, NULL, &op), TUTTI_OK);
    assert_int_equal(tutti_op_bind(op, NULL, NULL), TUTTI_ERR_ARG);
    assert_string_equal(tutti_error(), "tutti_op_bind: bound is null");
    assert_int_equal(tutti_op_bind(TUTTI_SUM, NULL, &bound), TUTTI_ERR_ARG);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
    assert_int_equal(tutti_op_bind(op, NULL, &bound), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "64 is not a live user-defined operation"));
    assert_int_equal(bound, TUTTI_MAX);
}

static void bindings_run_out(void **state)
{
    enum { BOUND = 65536 };
    static tutti_op bound[BOUND];
    tutti_op op, more = TUTTI_SUM;
    (void)state;
    assert_int_equal(tutti_op_create(nothing, 0, NULL, &op), TUTTI_OK);
    for (int i = 0; i < BOUND; i++) {
        assert_int_equal(tutti_op_bind(op, NULL, &bound[i]), TUTTI_OK);
        assert_true(bound[i] > TUTTI_OP_USER_END && bound[i] < TUTTI_OP_BOUND_END);
    }
    assert_int_equal(tutti_op_bind(op, NULL, &more), TUTTI_ERR_LIMIT);
    assert_non_null(strstr(tutti_error(), "65536"));
    for (int i = 0; i < BOUND; i++) assert_int_equal(tutti_op_free(bound[i]), TUTTI_OK);
    assert_int_equal(tutti_op_bind(op, NULL, &more), TUTTI_OK);
    assert_false(tt_op_commutes(more));
    assert_int_equal(tutti_op_free(more), TUTTI_OK);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_come_in_order),
        cmocka_unit_test(operands_are_aligned),
        cmocka_unit_test(a_small_stack_suffices),
        cmocka_unit_test(created_ones_live_until_freed),
        cmocka_unit_test(wrong_calls_are_reported),
        cmocka_unit_test(table_fills_and_empties),
        cmocka_unit_test(threads_share_the_table),
        cmocka_unit_test(bound_ones_have_their_own_argument),
        cmocka_unit_test(wrong_bindings_are_reported),
        cmocka_unit_test(bindings_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
