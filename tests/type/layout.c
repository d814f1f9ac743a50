/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived types: what the library packs and unpacks, compared with the typemap, for types of each
 * kind and for random types nested in each other; bounds; and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "type/layout.h"
#include "type/typemap.h"

/* ---- Packing ---- */

static unsigned char *filled(int64_t bytes, struct tt_random *random)
{
    unsigned char *memory = malloc((size_t)tt_max(bytes, 1));
    assert_non_null(memory);
    for (int64_t i = 0; i < bytes; i++) memory[i] = (unsigned char)tt_random_next(random);
    return memory;
}

/* Packs n elements, and unpacks other data over them. The memory has exactly the bytes that the
 * elements span, so that a sanitizer notices accesses beyond it. */
static void check_packing(const struct typemap *map, int64_t n, struct tt_random *random)
{
    const struct tt_layout *layout = tt_layout_find(map->type);
    int64_t low = tt_min(typemap_begin(map, n), 0), high = tt_max(typemap_end(map, n), 0);
    unsigned char *user = filled(high - low, random), *other = filled(n * map->n, random);
    unsigned char *packed = filled(n * map->n, random), *expected = malloc((size_t)(high - low));
    assert_non_null(expected);
    tt_layout_pack(layout, (char *)packed, (char *)user - low, n);
    memcpy(expected, user, (size_t)(high - low));
    for (int64_t i = 0; i < n * map->n; i++) {
        int64_t at = i / map->n * map->extent + map->at[i % map->n] - low;
        assert_int_equal(packed[i], user[at]);
        expected[at] = other[i];
    }
    tt_layout_unpack(layout, (const char *)other, (char *)user - low, n);
    if (!typemap_overlaps(map, n)) assert_memory_equal(user, expected, (size_t)(high - low));
    free(user);
    free(other);
    free(packed);
    free(expected);
}

static void check_map(const struct typemap *map, struct tt_random *random)
{
    assert_true(tt_layout_valid(tt_layout_find(map->type)));
    assert_int_equal(tutti_type_size(map->type), map->n);
    assert_int_equal(tutti_type_lower(map->type), map->lower);
    assert_int_equal(tutti_type_extent(map->type), map->extent);
    assert_int_equal(tt_layout_find(map->type)->begin, typemap_begin(map, 1));
    assert_int_equal(tt_layout_find(map->type)->end, typemap_end(map, 1));
    check_packing(map, 1, random);
    check_packing(map, 3, random);
}

static void check_made(tutti_status status, struct typemap *map)
{
    struct tt_random random;
    assert_int_equal(status, TUTTI_OK);
    tt_random_seed(&random, 5);
    check_map(map, &random);
    typemap_free(map);
}

static void each_kind_packs_by_its_definition(void **state)
{
    (void)state;
    static const int64_t blocks[] = {2, 0, 1, 3}, displs[] = {7, -90, -4, 0};
    static const int64_t before[] = {-40, -80, -9, -20}, bytes[] = {64, -90, -9, 3};
    static const int64_t sizes[] = {4, 3, 5}, parts[] = {2, 2, 3}, starts[] = {1, 0, 2};
    struct typemap base, map;
    (void)typemap_basic(TUTTI_F64, &base);
    check_made(typemap_indexed(&base, 4, blocks, displs, 8, &map), &map);
    check_made(typemap_indexed(&base, 4, blocks, before, 8, &map), &map);
    check_made(typemap_indexed(&base, 4, blocks, bytes, 1, &map), &map);
    check_made(typemap_subarray(&base, 3, sizes, parts, starts, TUTTI_ORDER_C, &map), &map);
    check_made(typemap_subarray(&base, 3, sizes, parts, starts, TUTTI_ORDER_FORTRAN, &map), &map);
    check_made(typemap_subarray(&base, 1, sizes, sizes, displs + 3, TUTTI_ORDER_C, &map), &map);
    check_made(typemap_resized(&base, -16, 24, &map), &map);
    check_made(typemap_resized(&base, 100, 3, &map), &map);
    check_made(typemap_vector(&base, 4, 2, 3, &map), &map);
    typemap_free(&base);
}

/* Checks MPI's example for resized types: the bounds of a type that is made of resized elements
 * follow from the lower bound and the extent that tutti_type_resized has set, and not from those of
 * the data. */
static void bounds_enter_into_bounds(void **state)
{
    (void)state;
    tutti_type resized, row, blocks;
    int64_t ones[] = {1, 2}, displs[] = {-3, 5};
    assert_int_equal(tutti_type_lower(TUTTI_F64), 0);
    assert_int_equal(tutti_type_lower((tutti_type)-1), 0);
    assert_int_equal(tutti_type_resized(TUTTI_I32, -3, 10, &resized), TUTTI_OK);
    assert_int_equal(tutti_type_vector(3, 1, 2, resized, &row), TUTTI_OK);
    assert_int_equal(tutti_type_lower(row), -3);
    assert_int_equal(tutti_type_extent(row), 50);
    assert_int_equal(tutti_type_indexed(2, ones, displs, resized, &blocks), TUTTI_OK);
    assert_int_equal(tutti_type_lower(blocks), -33);
    assert_int_equal(tutti_type_extent(blocks), 100);
    assert_int_equal(tutti_type_free(resized), TUTTI_OK);
    assert_int_equal(tutti_type_free(row), TUTTI_OK);
    assert_int_equal(tutti_type_free(blocks), TUTTI_OK);
}

static void random_nests_pack_by_their_definition(void **state)
{
    enum { ROUNDS = 3000, LEVELS = 6, MOST_BYTES = 2000 };
    struct tt_random random;
    int nested = 0, overlapped = 0;
    (void)state;
    tt_random_seed(&random, 17);
    for (int i = 0; i < ROUNDS; i++) {
        struct typemap map;
        (void)typemap_basic(i % 2 ? TUTTI_I32 : TUTTI_F64, &map);
        for (int level = 0; level < LEVELS && map.n < MOST_BYTES; level++) {
            bool wrapped = typemap_wrap(&map, &random);
            nested += wrapped;
            overlapped += !wrapped;
        }
        check_map(&map, &random);
        typemap_free(&map);
    }
    assert_true(nested > ROUNDS && overlapped > ROUNDS / 100);
}

/* ---- Pieces that are contiguous are joined ---- */

static const struct tt_layout *layout_of(tutti_status status, const tutti_type *type)
{
    assert_int_equal(status, TUTTI_OK);
    return tt_layout_find(*type);
}

static void contiguous_fields_are_joined(void **state)
{
    (void)state;
    static const int64_t ones[] = {1, 1, 1, 1}, displs[] = {2, 3, 4, 9};
    static const int64_t sizes[] = {3, 4, 5}, parts[] = {2, 4, 5}, starts[] = {1, 0, 0};
    static const tutti_field fields[] = {{0, 1, TUTTI_I32}, {4, 1, TUTTI_F32}, {8, 2, TUTTI_I8}};
    tutti_type type, wrapped;
    const struct tt_layout *l =
        layout_of(tutti_type_indexed(4, ones, displs, TUTTI_F64, &type), &type);
    assert_int_equal(l->n, 2);
    assert_int_equal(l->blocks, 2);
    assert_int_equal(l->field[0].count, 24);
    l = layout_of(tutti_type_resized(type, 0, 200, &wrapped), &wrapped);
    assert_true(l->flat && l->n == 2);
    assert_int_equal(tutti_type_free(wrapped), TUTTI_OK);
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
    l = layout_of(tutti_type_subarray(3, sizes, parts, starts, TUTTI_ORDER_C, TUTTI_F64, &type),
                  &type);
    assert_true(l->flat && l->n == 1 && l->field[0].count == 2 * 4 * 5 * 8);
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
    l = layout_of(tutti_type_struct(3, fields, 10, &type), &type);
    assert_true(l->solid && l->uniform == TUTTI_TYPES);
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
    l = layout_of(tutti_type_indexed(3, ones, displs, TUTTI_F64, &type), &type);
    assert_false(l->solid); /* the data do not begin where the element begins */
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
}

/* Makes the type of a part of an array of n dimensions, and frees the type. The fastest dimension
 * has size 3, of which the part has 2. Each other dimension has `size`, of which the part has
 * `part`. */
static tutti_status part_of(int n, int64_t size, int64_t part)
{
    enum { MOST = 40 };
    int64_t sizes[MOST], parts[MOST], starts[MOST] = {0};
    tutti_type type;
    assert_in_range(n, 1, MOST);
    for (int d = 0; d < n; d++) sizes[d] = d > 0 ? size : 3, parts[d] = d > 0 ? part : 2;
    tutti_status status =
        tutti_type_subarray(n, sizes, parts, starts, TUTTI_ORDER_FORTRAN, TUTTI_I8, &type);
    if (status == TUTTI_OK) assert_int_equal(tutti_type_free(type), TUTTI_OK);
    return status;
}

static void only_levels_that_remain_count_as_nested(void **state)
{
    (void)state;
    const int64_t ones[33] = {[0 ... 32] = 1}, twos[33] = {[0 ... 32] = 2}, zeros[33] = {0};
    tutti_type type, wrapped;
    assert_int_equal(part_of(32, 2, 2), TUTTI_OK);
    assert_int_equal(part_of(33, 2, 2), TUTTI_ERR_LIMIT);
    assert_non_null(strstr(tutti_error(), "nested more than 32 deep"));
    assert_int_equal(part_of(38, 2, 1), TUTTI_OK);
    assert_int_equal(part_of(40, 1, 1), TUTTI_OK);
    const int64_t *const sizes[] = {ones, twos, twos}, *const parts[] = {ones, ones, twos};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            tutti_type_subarray(33, sizes[i], parts[i], zeros, TUTTI_ORDER_C, TUTTI_I8, &type),
            TUTTI_OK);
        assert_int_equal(tt_layout_find(type)->depth, 1);
        assert_int_equal(tutti_type_free(type), TUTTI_OK);
    }
    assert_int_equal(tutti_type_vector(2, 1, 2, TUTTI_I8, &type), TUTTI_OK);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(tutti_type_resized(type, 0, 4 + i, &wrapped), TUTTI_OK);
        assert_int_equal(tutti_type_free(type), TUTTI_OK);
        type = wrapped;
    }
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
}

/* Checks that types that pack to the same sequence have the same signature, however they are
 * made. */
static void equal_sequences_have_equal_signatures(void **state)
{
    (void)state;
    static const int64_t blocks[] = {3, 2, 1}, displs[] = {-7, 0, 5}, six[] = {6}, four[] = {4};
    static const int64_t size[] = {3, 4}, part[] = {2, 3}, start[] = {0, 1};
    tutti_type types[4];
    assert_int_equal(tutti_type_indexed(3, blocks, displs, TUTTI_I16, &types[0]), TUTTI_OK);
    assert_int_equal(tutti_type_hindexed(1, six, four, TUTTI_I16, &types[1]), TUTTI_OK);
    assert_int_equal(tutti_type_subarray(2, size, part, start, TUTTI_ORDER_C, TUTTI_I16, &types[2]),
                     TUTTI_OK);
    assert_int_equal(tutti_type_resized(types[0], 0, 400, &types[3]), TUTTI_OK);
    for (int i = 1; i < 4; i++) assert_int_equal(tt_type_shape(types[i]), tt_type_shape(types[0]));
    for (int i = 0; i < 4; i++) assert_int_equal(tutti_type_free(types[i]), TUTTI_OK);
}

/* ---- Elements that interleave ---- */

/* Tries `count` columns, `extent` bytes apart, each of which has `rows` values, `stride` values
 * apart. The library must accept the type just if no two values overlap. */
static bool try_columns(int64_t count, int64_t extent, int64_t rows, int64_t stride)
{
    static const int64_t begin = 0;
    struct typemap value, column, narrow, columns;
    assert_int_equal(typemap_basic(TUTTI_I32, &value), TUTTI_OK);
    assert_int_equal(typemap_vector(&value, rows, 1, stride, &column), TUTTI_OK);
    assert_int_equal(typemap_resized(&column, 0, extent, &narrow), TUTTI_OK);
    tutti_status status = typemap_struct(&narrow, 1, &count, &begin, 1000, &columns);
    bool apart = !typemap_overlaps(&columns, 1);
    assert_int_equal(status, apart ? TUTTI_OK : TUTTI_ERR_ARG);
    if (!apart) columns.type = TUTTI_TYPES;
    typemap_free(&columns);
    typemap_free(&narrow);
    typemap_free(&column);
    typemap_free(&value);
    return apart;
}

static void columns_may_interleave(void **state)
{
    (void)state;
    int apart = 0, all = 0;
    for (int64_t count = 1; count < 6; count++)
        for (int64_t extent = 1; extent < 40; extent++)
            for (int64_t rows = 1; rows < 5; rows++)
                for (int64_t stride = 1; stride < 10; stride++, all++)
                    apart += try_columns(count, extent, rows, stride);
    assert_true(apart > all / 10 && apart < all * 9 / 10);
}

/* The columns of a matrix of 10^10 values, in two parts. A list of the values would not fit into
 * memory. */
static void many_columns_take_no_memory(void **state)
{
    (void)state;
    enum { ROWS = 100000, HALF = ROWS / 2 };
    tutti_type column, narrow, half, all;
    assert_int_equal(tutti_type_vector(ROWS, 1, ROWS, TUTTI_F64, &column), TUTTI_OK);
    assert_int_equal(tutti_type_resized(column, 0, 8, &narrow), TUTTI_OK);
    tutti_field field = {0, HALF, narrow};
    assert_int_equal(tutti_type_struct(1, &field, (int64_t)HALF * 8, &half), TUTTI_OK);
    field = (tutti_field){0, 2, half};
    assert_int_equal(tutti_type_struct(1, &field, (int64_t)ROWS * ROWS * 8, &all), TUTTI_OK);
    assert_int_equal(tutti_type_size(all), (size_t)ROWS * ROWS * 8);
    const tutti_type made[] = {column, narrow, half, all};
    for (int i = 0; i < 4; i++) assert_int_equal(tutti_type_free(made[i]), TUTTI_OK);
}

/* ---- What is refused ---- */

static void refused(tutti_status status, const char *words)
{
    assert_int_equal(status, TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), words)) fail_msg("'%s' is not in '%s'", words, tutti_error());
}

static void wrong_blocks_are_refused(void **state)
{
    (void)state;
    tutti_type type = TUTTI_F64;
    static const int64_t blocks[] = {2, 1}, displs[] = {0, 5}, negative[] = {2, -1};
    static const int64_t none[] = {0, 0}, overlap[] = {0, 1};
    static const int64_t far[] = {0, INT64_MAX / 4}, low[] = {INT64_MIN, 0};
    static const int64_t many[] = {1, INT64_MAX};
    refused(tutti_type_indexed(2, NULL, displs, TUTTI_F64, &type), "blocks is NULL");
    refused(tutti_type_indexed(2, blocks, NULL, TUTTI_F64, &type), "displs is NULL");
    refused(tutti_type_indexed(2, blocks, displs, TUTTI_F64, NULL), "type is NULL");
    refused(tutti_type_indexed(0, blocks, displs, TUTTI_F64, &type), "n is 0, not at least 1");
    refused(tutti_type_hindexed(-1, blocks, displs, TUTTI_F64, &type), "n is -1");
    refused(tutti_type_indexed(2, blocks, displs, (tutti_type)50, &type), "base: type 50");
    refused(tutti_type_indexed(2, negative, displs, TUTTI_F64, &type),
            "blocks[1] is -1, not at least 0");
    refused(tutti_type_hindexed(2, none, displs, TUTTI_F64, &type), "no elements");
    refused(tutti_type_indexed(2, blocks, overlap, TUTTI_F64, &type), "overlap");
    refused(tutti_type_indexed(2, blocks, far, TUTTI_F64, &type), "block 1 makes the type too");
    refused(tutti_type_hindexed(2, blocks, far, TUTTI_F64, &type), "at most 2^40 bytes");
    refused(tutti_type_hindexed(2, blocks, low, TUTTI_F64, &type), "block 0 makes the type too");
    refused(tutti_type_indexed(2, many, displs, TUTTI_F64, &type), "block 1 makes the type too");
    assert_int_equal(type, TUTTI_F64);
}

static void wrong_parts_are_refused(void **state)
{
    (void)state;
    tutti_type type = TUTTI_F64;
    static const int64_t sizes[] = {4, 5}, parts[] = {2, 5}, starts[] = {2, 0};
    static const int64_t zero[] = {0, 1}, negative[] = {-1, 0}, more[] = {2, 6}, late[] = {3, 0};
    static const int64_t huge[] = {INT64_MAX, INT64_MAX}, last[] = {INT64_MAX - 1, 0};
    const tutti_order c = TUTTI_ORDER_C;
    refused(tutti_type_subarray(2, NULL, parts, starts, c, TUTTI_I8, &type), "sizes is NULL");
    refused(tutti_type_subarray(2, sizes, NULL, starts, c, TUTTI_I8, &type), "parts is NULL");
    refused(tutti_type_subarray(2, sizes, parts, NULL, c, TUTTI_I8, &type), "starts is NULL");
    refused(tutti_type_subarray(2, sizes, parts, starts, c, TUTTI_I8, NULL), "type is NULL");
    refused(tutti_type_subarray(0, sizes, parts, starts, c, TUTTI_I8, &type), "n is 0");
    refused(tutti_type_subarray(2, sizes, parts, starts, (tutti_order)7, TUTTI_I8, &type),
            "order is 7, neither TUTTI_ORDER_C nor TUTTI_ORDER_FORTRAN");
    refused(tutti_type_subarray(2, sizes, parts, starts, c, (tutti_type)-5, &type), "type -5");
    refused(tutti_type_subarray(2, zero, parts, starts, c, TUTTI_I8, &type), "dimension 0");
    refused(tutti_type_subarray(2, sizes, zero, starts, c, TUTTI_I8, &type), "dimension 0");
    refused(tutti_type_subarray(2, sizes, parts, negative, c, TUTTI_I8, &type), "from -1");
    refused(tutti_type_subarray(2, sizes, more, starts, c, TUTTI_I8, &type),
            "dimension 1: 6 elements from 0 are not inside an array of 5");
    refused(tutti_type_subarray(2, sizes, parts, late, c, TUTTI_I8, &type),
            "dimension 0: 2 elements from 3 are not inside an array of 4");
    refused(tutti_type_subarray(2, huge, parts, last, c, TUTTI_I8, &type), "not inside");
    refused(tutti_type_subarray(2, huge, parts, starts, c, TUTTI_I8, &type),
            "dimension 1 makes the type too large");
    assert_int_equal(type, TUTTI_F64);
}

static void wrong_bounds_are_refused(void **state)
{
    (void)state;
    tutti_type type = TUTTI_F64, freed;
    assert_int_equal(tutti_type_resized(TUTTI_F64, 0, 16, &freed), TUTTI_OK);
    assert_int_equal(tutti_type_free(freed), TUTTI_OK);
    refused(tutti_type_resized(freed, 0, 8, &type), "nor an existing derived type");
    refused(tutti_type_resized(TUTTI_F64, 0, 0, &type), "extent is not in 1..2^40: 0");
    refused(tutti_type_resized(TUTTI_F64, 0, -8, &type), "extent is not in 1..2^40: -8");
    refused(tutti_type_resized(TUTTI_F64, 0, INT64_MAX, &type), "extent is not in 1..2^40");
    refused(tutti_type_resized(TUTTI_F64, INT64_MIN, 8, &type), "lower is not in -2^40..2^40");
    refused(tutti_type_resized(TUTTI_F64, INT64_MAX, 8, &type), "lower is not in -2^40..2^40");
    refused(tutti_type_resized(TUTTI_F64, 0, 8, NULL), "type is NULL");
    assert_int_equal(type, TUTTI_F64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_packs_by_its_definition),
        cmocka_unit_test(bounds_enter_into_bounds),
        cmocka_unit_test(random_nests_pack_by_their_definition),
        cmocka_unit_test(contiguous_fields_are_joined),
        cmocka_unit_test(only_levels_that_remain_count_as_nested),
        cmocka_unit_test(equal_sequences_have_equal_signatures),
        cmocka_unit_test(columns_may_interleave),
        cmocka_unit_test(many_columns_take_no_memory),
        cmocka_unit_test(wrong_blocks_are_refused),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(wrong_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
