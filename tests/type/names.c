/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of types and operations, and which operations are defined for which types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "type/type.h"
#include "type/wide.h"

static void types_have_names_and_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < TUTTI_TYPES; i++) {
        const char *name = tt_type_name((tutti_type)i);
        assert_int_equal(tt_type_parse(name, strlen(name)), i);
        assert_int_equal(tt_type_parse(name, strlen(name) - 1), TUTTI_TYPES);
        assert_true(tutti_type_size((tutti_type)i) > 0);
    }
    assert_string_equal(tt_type_name(TUTTI_F64), "f64");
    assert_string_equal(tt_type_name(TUTTI_BOOL), "bool");
    assert_string_equal(tt_type_name(TUTTI_F32_I32), "f32_i32");
    assert_int_equal(tutti_type_size(TUTTI_BF16), 2);
    assert_int_equal(tutti_type_size(TUTTI_C128), 16);
    assert_int_equal(tutti_type_size(TUTTI_TYPES), 0);
    assert_int_equal(tutti_type_size((tutti_type)-1), 0);
    assert_string_equal(tt_type_name(TUTTI_TYPES), "?");
}

/* Checks that the alias of a C type has the size of that type, and is signed exactly if that type
 * is. */
#define CHECK_INTEGER(name, type)                                                                  \
    do {                                                                                           \
        _Static_assert((TUTTI_##name) < TUTTI_TYPES, "a constant");                                \
        assert_int_equal(tutti_type_size(TUTTI_##name), sizeof(type));                             \
        assert_int_equal(tt_type_name(TUTTI_##name)[0], (type)-1 < (type)1 ? 'i' : 'u');           \
    } while (0)

static void integers_of_c_have_names(void **state)
{
    (void)state;
    CHECK_INTEGER(CHAR, char);
    CHECK_INTEGER(SIGNED_CHAR, signed char);
    CHECK_INTEGER(UNSIGNED_CHAR, unsigned char);
    CHECK_INTEGER(BYTE, unsigned char);
    CHECK_INTEGER(SHORT, short);
    CHECK_INTEGER(UNSIGNED_SHORT, unsigned short);
    CHECK_INTEGER(INT, int);
    CHECK_INTEGER(UNSIGNED, unsigned);
    CHECK_INTEGER(UNSIGNED_INT, unsigned int);
    CHECK_INTEGER(LONG, long);
    CHECK_INTEGER(UNSIGNED_LONG, unsigned long);
    CHECK_INTEGER(LONG_LONG, long long);
    CHECK_INTEGER(UNSIGNED_LONG_LONG, unsigned long long);
    CHECK_INTEGER(SIZE_T, size_t);
    CHECK_INTEGER(PTRDIFF_T, ptrdiff_t);
    CHECK_INTEGER(INTPTR_T, intptr_t);
    CHECK_INTEGER(UINTPTR_T, uintptr_t);
    CHECK_INTEGER(INTMAX_T, intmax_t);
    CHECK_INTEGER(UINTMAX_T, uintmax_t);
    CHECK_INTEGER(INT8_T, int8_t);
    CHECK_INTEGER(INT16_T, int16_t);
    CHECK_INTEGER(INT32_T, int32_t);
    CHECK_INTEGER(INT64_T, int64_t);
    CHECK_INTEGER(UINT8_T, uint8_t);
    CHECK_INTEGER(UINT16_T, uint16_t);
    CHECK_INTEGER(UINT32_T, uint32_t);
    CHECK_INTEGER(UINT64_T, uint64_t);
}

static void other_numbers_of_c_have_names(void **state)
{
    (void)state;
    assert_string_equal(tt_type_name(TUTTI_FLOAT), "f32");
    assert_string_equal(tt_type_name(TUTTI_DOUBLE), "f64");
    assert_string_equal(tt_type_name(TUTTI_FLOAT_COMPLEX), "c64");
    assert_string_equal(tt_type_name(TUTTI_DOUBLE_COMPLEX), "c128");
    assert_int_equal(tutti_type_size(TUTTI_FLOAT), sizeof(float));
    assert_int_equal(tutti_type_size(TUTTI_DOUBLE), sizeof(double));
    assert_int_equal(tutti_type_size(TUTTI_FLOAT_COMPLEX), sizeof(float _Complex));
    assert_int_equal(tutti_type_size(TUTTI_DOUBLE_COMPLEX), sizeof(double _Complex));
    assert_int_equal(tutti_type_size(TUTTI_LONG_DOUBLE), sizeof(long double));
    assert_int_equal(tutti_type_size(TUTTI_LONG_DOUBLE_COMPLEX), sizeof(long double _Complex));
    assert_int_equal(tutti_type_size(TUTTI_I128), sizeof(tt_i128));
    assert_int_equal(tutti_type_size(TUTTI_U128), sizeof(tt_u128));
}

/* Checks that the library's name for a pair type of MPI, such as TUTTI_SHORT_INT, stands for a type
 * with the size and the extent of this C struct. */
#define CHECK_PAIR(name, value_type)                                                               \
    do {                                                                                           \
        struct {                                                                                   \
            value_type value;                                                                      \
            int index;                                                                             \
        } pair;                                                                                    \
        assert_int_equal(tutti_type_size(TUTTI_##name), sizeof pair);                              \
        assert_int_equal(tutti_type_extent(TUTTI_##name), sizeof pair);                            \
    } while (0)

static void pairs_of_c_have_names(void **state)
{
    (void)state;
    CHECK_PAIR(SHORT_INT, short);
    CHECK_PAIR(2INT, int);
    CHECK_PAIR(LONG_INT, long);
    CHECK_PAIR(FLOAT_INT, float);
    CHECK_PAIR(DOUBLE_INT, double);
    CHECK_PAIR(LONG_DOUBLE_INT, long double);
    assert_string_equal(tt_type_name(TUTTI_SHORT_INT), "i16_i32");
    assert_string_equal(tt_type_name(TUTTI_DOUBLE_INT), "f64_i32");
}

static void types_of_fortran_have_names(void **state)
{
    (void)state;
    static const struct {
        tutti_type type;
        const char *name;
    } all[] = {
        {TUTTI_LOGICAL, "i32"},
        {TUTTI_LOGICAL1, "i8"},
        {TUTTI_LOGICAL2, "i16"},
        {TUTTI_LOGICAL4, "i32"},
        {TUTTI_LOGICAL8, "i64"},
        {TUTTI_CHARACTER, "u8"},
        {TUTTI_INTEGER, "i32"},
        {TUTTI_INTEGER16, "i128"},
        {TUTTI_REAL, "f32"},
        {TUTTI_REAL16, "f128"},
        {TUTTI_DOUBLE_PRECISION, "f64"},
        {TUTTI_COMPLEX, "c64"},
        {TUTTI_COMPLEX16, "c128"},
        {TUTTI_COMPLEX32, "c256"},
        {TUTTI_2INTEGER, "i32_i32"},
        {TUTTI_2REAL, "f32_f32"},
        {TUTTI_2DOUBLE_PRECISION, "f64_f64"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_string_equal(tt_type_name(all[i].type), all[i].name);
}

static void only_whole_names_are_types(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "?", "f6", "f644", "F64", "double", " f64", "sum"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tt_type_parse(wrong[i], strlen(wrong[i])), TUTTI_TYPES);
        if (strcmp(wrong[i], "sum") == 0) continue;
        assert_int_equal(tt_op_parse(wrong[i], strlen(wrong[i])), TUTTI_OPS);
    }
    assert_int_equal(tt_type_parse("f64/sum", 3), TUTTI_F64);
}

static void operations_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < TUTTI_OP_USER_END; i++) {
        bool exists = i < TUTTI_OPS || i >= TUTTI_OP_USER;
        const char *name = tt_op_name((tutti_op)i);
        assert_int_equal(strcmp(name, "?") == 0, !exists);
        assert_int_equal(tt_op_parse(name, strlen(name)), exists ? i : TUTTI_OPS);
    }
    assert_string_equal(tt_op_name(TUTTI_MAXLOC), "maxloc");
    assert_string_equal(tt_op_name((tutti_op)(TUTTI_OP_USER + 7)), "user7");
    assert_int_equal(tt_op_parse("user192", 7), TUTTI_OPS);
    assert_int_equal(tt_op_parse("user", 4), TUTTI_OPS);
    assert_string_equal(tt_op_name((tutti_op)-1), "?");
    assert_string_equal(tt_op_name(TUTTI_OP_USER_END), "?");
}

/* Which operations are defined: a row for each type and a column for each operation, in the order
 * of their lists. */
static const char *const defined[TUTTI_TYPES] = {
    /*            sum prod min max  land lor lxor  band bor bxor  minloc maxloc */
    [TUTTI_I8] = "++++"
                 "+++"
                 "+++"
                 "..",
    [TUTTI_I16] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_I32] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_I64] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_U8] = "++++"
                 "+++"
                 "+++"
                 "..",
    [TUTTI_U16] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_U32] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_U64] = "++++"
                  "+++"
                  "+++"
                  "..",
    [TUTTI_F16] = "++++"
                  "..."
                  "..."
                  "..",
    [TUTTI_BF16] = "++++"
                   "..."
                   "..."
                   "..",
    [TUTTI_F32] = "++++"
                  "..."
                  "..."
                  "..",
    [TUTTI_F64] = "++++"
                  "..."
                  "..."
                  "..",
    [TUTTI_C64] = "++.."
                  "..."
                  "..."
                  "..",
    [TUTTI_C128] = "++.."
                   "..."
                   "..."
                   "..",
    [TUTTI_BOOL] = "...."
                   "+++"
                   "..."
                   "..",
    [TUTTI_I32_I32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_I64_I64] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_F32_I32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_F64_I64] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_I16_I32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_I64_I32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_F64_I32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_BINNED] = "+..."
                     "..."
                     "..."
                     "..",
    [TUTTI_I128] = "++++"
                   "+++"
                   "+++"
                   "..",
    [TUTTI_U128] = "++++"
                   "+++"
                   "+++"
                   "..",
    [TUTTI_F32_F32] = "...."
                      "..."
                      "..."
                      "++",
    [TUTTI_F64_F64] = "...."
                      "..."
                      "..."
                      "++",
#if TT_HAS_F80
    [TUTTI_F80] = "++++"
                  "..."
                  "..."
                  "..",
    [TUTTI_C160] = "++.."
                   "..."
                   "..."
                   "..",
    [TUTTI_F80_I32] = "...."
                      "..."
                      "..."
                      "++",
#else
    [TUTTI_F80] = "...."
                  "..."
                  "..."
                  "..",
    [TUTTI_C160] = "...."
                   "..."
                   "..."
                   "..",
    [TUTTI_F80_I32] = "...."
                      "..."
                      "..."
                      "..",
#endif
#if TT_HAS_F128
    [TUTTI_F128] = "++++"
                   "..."
                   "..."
                   "..",
    [TUTTI_C256] = "++.."
                   "..."
                   "..."
                   "..",
    [TUTTI_F128_I32] = "...."
                       "..."
                       "..."
                       "++",
#else
    [TUTTI_F128] = "...."
                   "..."
                   "..."
                   "..",
    [TUTTI_C256] = "...."
                   "..."
                   "..."
                   "..",
    [TUTTI_F128_I32] = "...."
                       "..."
                       "..."
                       "..",
#endif
};

static void pairings_are_as_listed(void **state)
{
    (void)state;
    for (int type = 0; type < TUTTI_TYPES; type++) {
        for (int op = 0; op < TUTTI_OPS; op++) {
            bool is_defined = defined[type][op] == '+';
            assert_int_equal(tt_op_refuse((tutti_op)op, (tutti_type)type) == NULL, is_defined);
            assert_int_equal(tt_reduce_lookup((tutti_type)type, (tutti_op)op) != NULL, is_defined);
        }
    }
}

static void refusals_name_the_cause(void **state)
{
    (void)state;
    assert_string_equal(
        tt_op_refuse(TUTTI_BXOR, TUTTI_F64),
        "bxor is not defined for f64 (defined for it: sum prod min max, and user-defined "
        "operations)");
    assert_string_equal(
        tt_op_refuse(TUTTI_MAX, TUTTI_BINNED),
        "max is not defined for binned (defined for it: sum, and user-defined operations)");
    assert_string_equal(
        tt_op_refuse(TUTTI_MIN, TUTTI_C64),
        "min is not defined for c64 (defined for it: sum prod, and user-defined operations)");
    assert_string_equal(tt_op_refuse(TUTTI_SUM, TUTTI_F64_I32),
                        "sum is not defined for f64_i32 (defined for it: minloc maxloc, and "
                        "user-defined operations)");
    assert_string_equal(tt_op_refuse(TUTTI_MINLOC, TUTTI_I8),
                        "minloc is not defined for i8 (defined for it: sum prod min max land lor "
                        "lxor band bor bxor, and user-defined operations)");
    assert_string_equal(tt_op_refuse(TUTTI_SUM, TUTTI_TYPES), "33 is not a type");
    assert_string_equal(tt_op_refuse(TUTTI_SUM, (tutti_type)-1), "-1 is not a type");
    assert_string_equal(tt_op_refuse(TUTTI_OPS, TUTTI_F64), "12 is not an operation");
    assert_string_equal(tt_op_refuse(TUTTI_OP_BOUND_END, TUTTI_F64),
                        "33554432 is not an operation");
    assert_string_equal(tt_op_refuse((tutti_op)(TUTTI_OP_USER_END + TUTTI_OP_USER), TUTTI_F64),
                        "user0 (320) is not a live operation: never created, or freed");
    assert_string_equal(tt_op_refuse(TUTTI_OP_USER, TUTTI_F64),
                        "user0 (64) is not a live operation: never created, or freed");
}

static void built_in_operations_commute(void **state)
{
    (void)state;
    for (int op = 0; op < TUTTI_OPS; op++) assert_true(tt_op_commutes((tutti_op)op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names_and_sizes),
        cmocka_unit_test(integers_of_c_have_names),
        cmocka_unit_test(other_numbers_of_c_have_names),
        cmocka_unit_test(pairs_of_c_have_names),
        cmocka_unit_test(only_whole_names_are_types),
        cmocka_unit_test(operations_have_names),
        cmocka_unit_test(pairings_are_as_listed),
        cmocka_unit_test(refusals_name_the_cause),
        cmocka_unit_test(built_in_operations_commute),
        cmocka_unit_test(types_of_fortran_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
