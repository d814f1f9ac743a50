/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text that names a call when the calls of the ranks do not match. It uses the terms of the
 * public API.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "run/signature.h"

static void expect_on(const struct tt_call *call, int p, const char *expected)
{
    char text[TT_SIGNATURE_TEXT];
    struct tt_call_signature signature = tt_signature_of(call, p, 7);
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), expected);
}

static void expect(struct tt_call call, const char *expected)
{
    expect_on(&call, 3, expected);
}

static void plain_calls(void **state)
{
    (void)state;
    struct tt_call c = {.commutes = true, .type = TUTTI_F64, .op = TUTTI_SUM, .n = 5, .root = 2};
    static const char *const texts[TT_COLLS] = {
        [TT_COLL_barrier] = "barrier()",
        [TT_COLL_bcast] = "bcast(n=5 of f64, root 2)",
        [TT_COLL_reduce] = "reduce(n=5 of f64, sum, root 2)",
        [TT_COLL_allreduce] = "allreduce(n=5 of f64, sum)",
        [TT_COLL_reduce_scatter_block] = "reduce_scatter_block(n=5 of f64, sum)",
        [TT_COLL_gather] = "gather(n=5 of f64, root 2)",
        [TT_COLL_allgather] = "allgather(n=5 of f64)",
        [TT_COLL_alltoall] = "alltoall(n=5 of f64)",
        [TT_COLL_alltoallv] = "alltoallv(f64)",
        [TT_COLL_scatter] = "scatter(n=5 of f64, root 2)",
        [TT_COLL_scan] = "scan(n=5 of f64, sum)",
        [TT_COLL_exscan] = "exscan(n=5 of f64, sum)",
        [TT_COLL_gatherv] = "gatherv(f64, root 2)",
        [TT_COLL_scatterv] = "scatterv(f64, root 2)"};
    for (int i = 0; i < TT_COLLS; i++) {
        c.coll = (enum tt_coll)i;
        if (texts[i]) expect(c, texts[i]);
    }
}

static void flags(void **state)
{
    (void)state;
    struct tt_call c = {
        .coll = TT_COLL_allreduce, .commutes = true, .type = TUTTI_I32, .op = TUTTI_MAX, .n = 1};
    struct tt_call ordered = c, placed = c, shared = c;
    ordered.commutes = false;
    placed.in_place = true;
    shared.shared = true;
    expect(c, "allreduce(n=1 of i32, max)");
    expect(ordered, "allreduce(n=1 of i32, max, in rank order)");
    expect(placed, "allreduce(n=1 of i32, max, in place)");
    expect(shared, "allreduce(n=1 of i32, max, shared)");
}

static void counts(void **state)
{
    (void)state;
    static const int64_t few[] = {1, 0, 3}, many[] = {1, 2, 3, 4, 5, 6};
    struct tt_call c = {.coll = TT_COLL_allgatherv, .type = TUTTI_U8, .out_counts = few};
    expect(c, "allgatherv(counts=1,0,3 of u8)");
    c.out_counts = many;
    expect_on(&c, 6, "allgatherv(counts=1,2,3,4,... (21 in all) of u8)");
    c.coll = TT_COLL_reduce_scatter;
    c.commutes = true;
    expect_on(&c, 4, "reduce_scatter(counts=1,2,3,4 of u8, sum)");
}

static void derived_types(void **state)
{
    (void)state;
    char text[TT_SIGNATURE_TEXT];
    struct tt_call c = {.coll = TT_COLL_bcast, .type = TUTTI_F64, .n = 2};
    struct tt_call_signature signature = tt_signature_of(&c, 3, 7);
    signature.element = 24;
    assert_string_equal(tt_signature_text(&signature, text, sizeof text),
                        "bcast(n=2 of a derived type of 3 f64, root 0)");
    signature.type = TUTTI_TYPE_USER_END + 0x77;
    assert_string_equal(tt_signature_text(&signature, text, sizeof text),
                        "bcast(n=2 of a derived type of 24 bytes (layout 0000077), root 0)");
}

/* Checks the names of internal collectives: one that is part of tutti_team_split is named
 * team_split, whichever collective it is. */
static void other_calls(void **state)
{
    (void)state;
    char text[TT_SIGNATURE_TEXT];
    struct tt_call call = {.coll = TT_COLL_allgather, .as = TT_SIGNATURE_SPLIT, .n = 4};
    struct tt_call_signature signature = tt_signature_of(&call, 3, 7);
    assert_true(signature.print == 7);
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "team_split()");
    signature = (struct tt_call_signature){.coll = TT_SIGNATURE_FREE};
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "team_free()");
    call.as = TT_SIGNATURE_CART;
    signature = tt_signature_of(&call, 3, 7);
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "team_cart()");
    call = (struct tt_call){
        .coll = TT_COLL_bcast, .as = TT_SIGNATURE_GATHERV, .type = TUTTI_I64, .n = 6, .root = 2};
    signature = tt_signature_of(&call, 3, 7);
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "gatherv(root 2)");
    call.as = TT_SIGNATURE_SCATTERV;
    signature = tt_signature_of(&call, 3, 7);
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "scatterv(root 2)");
}

/* Checks that no call signature leads to a bad access. A signature that another rank wrote, or is
 * just writing, may hold anything, and the buffer for the text may be short. */
static void anything(void **state)
{
    (void)state;
    char text[TT_SIGNATURE_TEXT];
    unsigned char byte[sizeof(struct tt_call_signature)];
    struct tt_call_signature signature = {.coll = TT_SIGNATURE_KINDS};
    assert_string_equal(tt_signature_text(&signature, text, sizeof text), "something else");
    for (int i = 0; i < 256; i++) {
        memset(byte, i, sizeof byte);
        memcpy(&signature, byte, sizeof signature);
        for (int coll = -1; coll <= TT_SIGNATURE_KINDS; coll++) {
            signature.coll = (int16_t)coll;
            assert_in_range(strlen(tt_signature_text(&signature, text, sizeof text)), 1,
                            sizeof text - 1);
            assert_in_range(strlen(tt_signature_text(&signature, text, 9)), 1, 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_calls), cmocka_unit_test(other_calls),   cmocka_unit_test(flags),
        cmocka_unit_test(counts),      cmocka_unit_test(derived_types), cmocka_unit_test(anything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
