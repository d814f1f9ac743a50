/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrong arguments: each call returns an error at once, the message says what was wrong, and
 * everything still works afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tutti/tutti.h>

#include "api/api.h"

static tutti_client *client;
static tutti_team *team;

/* Checks the status, and that the message contains the word. */
static void refused(tutti_status got, tutti_status want, const char *word)
{
    assert_int_equal(got, want);
    if (!strstr(tutti_error(), word)) fail_msg("'%s' is not in: %s", word, tutti_error());
}

static void still_works(void)
{
    double one = 1, sum = 0;
    assert_int_equal(tutti_allreduce(team, &one, &sum, 1, TUTTI_F64, TUTTI_SUM), TUTTI_OK);
    assert_true(sum == 1);
}

static void test_reductions(void **state)
{
    double x[4] = {0}, y[4];
    (void)state;
    refused(tutti_allreduce(NULL, x, y, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "team");
    refused(tutti_allreduce(team, NULL, y, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "in is NULL");
    refused(tutti_allreduce(team, x, NULL, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_allreduce(team, x, (void *)TUTTI_IN_PLACE, 1, TUTTI_F64, TUTTI_SUM),
            TUTTI_ERR_ARG, "out is TUTTI_IN_PLACE");
    refused(tutti_bcast(team, (void *)TUTTI_IN_PLACE, 1, TUTTI_F64, 0), TUTTI_ERR_ARG,
            "buffer is TUTTI_IN_PLACE");
    refused(tutti_allreduce(team, x, y, -1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "negative");
    refused(tutti_allreduce(team, x, y, INT64_MAX / 4, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG,
            "too large");
    refused(tutti_allreduce(team, x, y, 1, (tutti_type)77, TUTTI_SUM), TUTTI_ERR_ARG, "type 77");
    refused(tutti_allreduce(team, x, y, 1, TUTTI_F64, (tutti_op)40), TUTTI_ERR_ARG, "40");
    refused(tutti_allreduce(team, x, y, 1, TUTTI_F64, TUTTI_OP_USER), TUTTI_ERR_ARG, "user");
    refused(tutti_allreduce(team, x, y, 1, TUTTI_F64, TUTTI_BXOR), TUTTI_ERR_TYPE, "bxor");
    refused(tutti_allreduce(team, x, x + 1, 2, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "overlap");
    refused(tutti_reduce(team, x, y, 1, TUTTI_F64, TUTTI_SUM, 1), TUTTI_ERR_ARG, "root 1");
    refused(tutti_bcast(team, x, 1, TUTTI_F64, -1), TUTTI_ERR_ARG, "root -1");
    still_works();
}

static void test_scatter(void **state)
{
    double x[4] = {7, 8}, y[4] = {0};
    tutti_request *request;
    (void)state;
    refused(tutti_scatter(NULL, x, y, 1, TUTTI_F64, 0), TUTTI_ERR_ARG, "team");
    refused(tutti_scatter(team, NULL, y, 1, TUTTI_F64, 0), TUTTI_ERR_ARG, "in is NULL");
    refused(tutti_scatter(team, x, NULL, 1, TUTTI_F64, 0), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_scatter(team, x, y, -1, TUTTI_F64, 0), TUTTI_ERR_ARG, "negative");
    refused(tutti_scatter(team, x, y, INT64_MAX / 4, TUTTI_F64, 0), TUTTI_ERR_ARG, "too large");
    refused(tutti_scatter(team, x, y, 1, TUTTI_F64, 1), TUTTI_ERR_ARG, "root 1 is not in");
    refused(tutti_scatter(team, x, x + 1, 2, TUTTI_F64, 0), TUTTI_ERR_ARG, "overlap");
    refused(tutti_scatter(team, x, (void *)TUTTI_IN_PLACE, 1, TUTTI_F64, 0), TUTTI_ERR_ARG,
            "allowed only as in");
    refused(tutti_iscatter(team, x, y, 1, TUTTI_F64, 0, NULL), TUTTI_ERR_ARG, "request is NULL");
    refused(tutti_scatter_init(team, x, y, 1, TUTTI_F64, 0, 64, &request), TUTTI_ERR_ARG,
            "unknown bits 0x40");
    assert_int_equal(tutti_scatter(team, x, y, 2, TUTTI_F64, 0), TUTTI_OK);
    assert_true(y[0] == 7 && y[1] == 8);
    assert_int_equal(tutti_scatter(team, TUTTI_IN_PLACE, x, 2, TUTTI_F64, 0), TUTTI_OK);
    assert_true(x[0] == 7 && x[1] == 8);
    assert_int_equal(tutti_scatter(team, NULL, NULL, 0, TUTTI_F64, 0), TUTTI_OK);
    still_works();
}

static void test_scans(void **state)
{
    double x[4] = {7, 8}, y[4] = {5};
    tutti_request *request;
    (void)state;
    refused(tutti_scan(team, NULL, y, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "in is NULL");
    refused(tutti_scan(team, x, NULL, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_scan(team, x, x + 1, 2, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "overlap");
    refused(tutti_scan(team, x, y, 1, TUTTI_F64, TUTTI_BXOR), TUTTI_ERR_TYPE, "bxor");
    refused(tutti_scan(team, x, y, -1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "negative");
    refused(tutti_exscan(NULL, x, y, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "team");
    refused(tutti_exscan(team, NULL, y, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG, "in is NULL");
    refused(tutti_scan(team, x, (void *)TUTTI_IN_PLACE, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG,
            "allowed only as in");
    refused(tutti_exscan(team, TUTTI_IN_PLACE, NULL, 1, TUTTI_F64, TUTTI_SUM), TUTTI_ERR_ARG,
            "out is NULL");
    refused(tutti_iexscan(team, x, y, 1, TUTTI_F64, TUTTI_SUM, NULL), TUTTI_ERR_ARG,
            "request is NULL");
    refused(tutti_scan_init(team, x, y, 1, TUTTI_F64, TUTTI_SUM, 64, &request), TUTTI_ERR_ARG,
            "unknown bits 0x40");
    assert_int_equal(tutti_scan(team, x, y, 2, TUTTI_F64, TUTTI_SUM), TUTTI_OK);
    assert_true(y[0] == 7 && y[1] == 8);
    assert_int_equal(tutti_exscan(team, x, NULL, 2, TUTTI_F64, TUTTI_SUM), TUTTI_OK);
    y[0] = 5;
    assert_int_equal(tutti_exscan(team, x, y, 2, TUTTI_F64, TUTTI_SUM), TUTTI_OK);
    assert_true(y[0] == 5); /* rank 0 gets nothing from an exscan */
    still_works();
}

static void test_exchanges(void **state)
{
    const tutti_type i64 = TUTTI_I64;
    int64_t x[8] = {0}, y[8], c[1] = {2}, d[1] = {0}, bad[1] = {-1}, far[1] = {INT64_MAX};
    int64_t beyond[1] = {INT64_MAX / 8 - 100}; /* the number of bytes still fits in 64 bits, but no
                                                * address is so large */
    (void)state;
    refused(tutti_alltoall(team, TUTTI_IN_PLACE, NULL, 1, TUTTI_I64), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_alltoallv(team, TUTTI_IN_PLACE, NULL, NULL, y, c, NULL, TUTTI_I64), TUTTI_ERR_ARG,
            "out_displs is NULL");
    refused(tutti_alltoallv(team, TUTTI_IN_PLACE, NULL, NULL, y, bad, d, TUTTI_I64), TUTTI_ERR_ARG,
            "out_counts[0] or out_displs[0] is negative");
    refused(tutti_alltoallv(team, TUTTI_IN_PLACE, NULL, NULL, NULL, c, d, TUTTI_I64), TUTTI_ERR_ARG,
            "out is NULL");
    refused(tutti_alltoallw(team, TUTTI_IN_PLACE, NULL, NULL, NULL, y, c, far, &i64), TUTTI_ERR_ARG,
            "out_counts[0] and out_displs[0] overflow");
    refused(tutti_alltoallw(team, TUTTI_IN_PLACE, NULL, NULL, NULL, y, c, d, NULL), TUTTI_ERR_ARG,
            "out_types is NULL");
    refused(tutti_alltoallv(team, x, c, NULL, y, c, d, TUTTI_I64), TUTTI_ERR_ARG, "NULL");
    refused(tutti_alltoallv(team, x, bad, d, y, c, d, TUTTI_I64), TUTTI_ERR_ARG, "negative");
    refused(tutti_alltoallv(team, x, c, far, y, c, d, TUTTI_I64), TUTTI_ERR_ARG, "overflow");
    refused(tutti_alltoallv(team, x, c, beyond, y, c, d, TUTTI_I64), TUTTI_ERR_ARG, "overflow");
    refused(tutti_alltoallv(team, x, c, d, y, c, beyond, TUTTI_I64), TUTTI_ERR_ARG, "overflow");
    refused(tutti_alltoallv(team, x, c, d, y, d, d, TUTTI_I64), TUTTI_ERR_ARG, "in_counts[0] is 2");
    refused(tutti_alltoallv(team, x, c, d, x + 1, c, d, TUTTI_I64), TUTTI_ERR_ARG, "overlap");
    refused(tutti_allgatherv(team, x, x, c, d, TUTTI_I64), TUTTI_ERR_ARG, "overlap");
    assert_int_equal(tutti_alltoallv(team, x, c, d, x + 2, c, d, TUTTI_I64), TUTTI_OK);
    assert_int_equal(tutti_allgatherv(team, TUTTI_IN_PLACE, NULL, d, d, TUTTI_I64), TUTTI_OK);
    refused(tutti_allgatherv(team, x, (void *)TUTTI_IN_PLACE, c, d, TUTTI_I64), TUTTI_ERR_ARG,
            "allowed only as in");
    refused(tutti_allgatherv(team, x, y, c, bad, TUTTI_I64), TUTTI_ERR_ARG, "negative");
    refused(tutti_allgatherv(team, NULL, y, c, d, TUTTI_I64), TUTTI_ERR_ARG, "in is NULL");
    still_works();
}

static void test_blocks(void **state)
{
    int64_t x[8] = {1, 2, 3}, y[8], c[1] = {2}, bad[1] = {-1}, much[1] = {INT64_MAX / 4};
    (void)state;
    refused(tutti_reduce_scatter_block(team, NULL, y, 1, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "in is NULL");
    refused(tutti_reduce_scatter_block(team, x, y, -1, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "negative");
    refused(tutti_reduce_scatter_block(team, x, x + 1, 2, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "overlap");
    refused(tutti_reduce_scatter_block(team, x, y, 1, TUTTI_F64, TUTTI_BXOR), TUTTI_ERR_TYPE,
            "bxor");
    refused(tutti_reduce_scatter(team, x, y, NULL, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "counts is NULL");
    refused(tutti_reduce_scatter(team, x, y, bad, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG, "negative");
    refused(tutti_reduce_scatter(team, x, y, much, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "overflow");
    refused(tutti_reduce_scatter(team, x, NULL, c, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG,
            "out is NULL");
    refused(tutti_reduce_scatter(team, x, x, c, TUTTI_I64, TUTTI_SUM), TUTTI_ERR_ARG, "overlap");
    refused(tutti_gather(team, x, y, 1, TUTTI_I64, 1), TUTTI_ERR_ARG, "root 1");
    refused(tutti_gather(team, x, NULL, 1, TUTTI_I64, 0), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_gather(team, NULL, y, 1, TUTTI_I64, 0), TUTTI_ERR_ARG, "in is NULL");
    tutti_request *request = NULL;
    refused(tutti_reduce_scatter_init(team, x, y, c, TUTTI_I64, TUTTI_SUM, TUTTI_REQUEST_SHARED,
                                      &request),
            TUTTI_ERR_ARG, "in is not memory from tutti_alloc");
    refused(tutti_bcast_init(team, &x, 1, TUTTI_F64, 0, TUTTI_REQUEST_SHARED, &request),
            TUTTI_ERR_ARG, "buffer is not memory from tutti_alloc");
    still_works();
    assert_int_equal(tutti_reduce_scatter(team, x, y, c, TUTTI_I64, TUTTI_SUM), TUTTI_OK);
    assert_true(y[0] == 1 && y[1] == 2);
    assert_int_equal(tutti_gather(team, x + 1, y, 2, TUTTI_I64, 0), TUTTI_OK);
    assert_true(y[0] == 2 && y[1] == 3);
}

/* Replaces the type by a struct that consists of this type and, after a gap, a byte, so that the
 * two fields cannot be joined. */
static tutti_status nest(int level, tutti_type *type)
{
    tutti_field f[2] = {{0, 1, *type}, {9 + 2 * level, 1, TUTTI_U8}};
    return tutti_type_struct(2, f, 100, type);
}

static void test_types(void **state)
{
    tutti_type type, pair, column = TUTTI_F64;
    tutti_field f[2] = {{0, 1, TUTTI_I32}, {8, 1, TUTTI_F64}};
    tutti_field wrong[] = {{INT64_MIN, 1, TUTTI_I32}, {0, -1, TUTTI_I32},
                           {0, 1, (tutti_type)40},    {0, INT64_MAX, TUTTI_F64},
                           {INT64_MAX, 1, TUTTI_F64}, {5, 1, TUTTI_I32},
                           {15, 1, TUTTI_I8}};
    static const char *const words[] = {"too large", "field 0: count", "type 40", "too large",
                                        "too large", "overlap",        "overlap"};
    (void)state;
    refused(tutti_type_struct(2, NULL, 16, &type), TUTTI_ERR_ARG, "fields is NULL");
    refused(tutti_type_struct(2, f, 16, NULL), TUTTI_ERR_ARG, "type is NULL");
    refused(tutti_type_struct(0, f, 16, &type), TUTTI_ERR_ARG, "n is 0");
    refused(tutti_type_struct(2, f, 0, &type), TUTTI_ERR_ARG, "extent");
    refused(tutti_type_struct(1, &(tutti_field){0, 0, TUTTI_I8}, 1, &type), TUTTI_ERR_ARG,
            "no elements");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_field fields[] = {wrong[i], f[1]};
        refused(tutti_type_struct(2, fields, 16, &type), TUTTI_ERR_ARG, words[i]);
    }
    refused(tutti_type_vector(0, 1, 1, TUTTI_F64, &type), TUTTI_ERR_ARG, "0 blocks");
    refused(tutti_type_vector(2, 3, 2, TUTTI_F64, &type), TUTTI_ERR_ARG, "overlap");
    refused(tutti_type_vector(2, 1, INT64_MAX, TUTTI_F64, &type), TUTTI_ERR_ARG, "too large");
    /* A vector of one block does not use the stride. */
    assert_int_equal(tutti_type_vector(1, 3, INT64_MAX, TUTTI_F64, &type), TUTTI_OK);
    assert_int_equal(tutti_type_extent(type), 24);
    assert_int_equal(tutti_type_free(type), TUTTI_OK);
    refused(tutti_type_vector(2, 1, 2, (tutti_type)40, &type), TUTTI_ERR_ARG, "type 40");
    refused(tutti_type_vector(2, 1, 2, TUTTI_F64, NULL), TUTTI_ERR_ARG, "type is NULL");
    refused(tutti_type_free(TUTTI_F64), TUTTI_ERR_ARG, "not a live derived type");
    assert_int_equal(tutti_type_struct(2, f, 16, &pair), TUTTI_OK);
    assert_int_equal(tutti_type_size(pair), 12);
    assert_int_equal(tutti_type_extent(pair), 16);
    assert_int_equal(tutti_type_free(pair), TUTTI_OK);
    refused(tutti_type_free(pair), TUTTI_ERR_ARG, "not a live derived type");
    refused(tutti_type_vector(2, 1, 2, pair, &type), TUTTI_ERR_ARG, "type");
    assert_int_equal(tutti_type_size(pair), 0);
    for (int i = 0; i < 32; i++) assert_int_equal(nest(i, &column), TUTTI_OK);
    refused(nest(32, &column), TUTTI_ERR_LIMIT, "deep");
}

static void ignore(const void *left, const void *right, void *out, size_t n, tutti_type type,
                   void *arg)
{
    (void)left, (void)right, (void)out, (void)n, (void)type, (void)arg;
}

static void test_calls_of_types(void **state)
{
    char x[64] = {0}, y[64];
    int64_t far[1] = {1ll << 59}, one[1] = {1}, none[1] = {0};
    tutti_field f[2] = {{0, 1, TUTTI_I32}, {8, 1, TUTTI_F64}};
    tutti_type pair, many, freed;
    tutti_op op;
    (void)state;
    assert_int_equal(tutti_op_create(ignore, 0, NULL, &op), TUTTI_OK);
    assert_int_equal(tutti_type_struct(2, f, 16, &pair), TUTTI_OK);
    assert_int_equal(tutti_type_vector(10000, 1, 2, TUTTI_F64, &many), TUTTI_OK);
    assert_int_equal(tutti_type_vector(2, 1, 2, TUTTI_F64, &freed), TUTTI_OK);
    refused(tutti_allreduce(team, x, y, 1, freed, TUTTI_BXOR), TUTTI_ERR_TYPE, "bxor");
    assert_int_equal(tutti_type_free(freed), TUTTI_OK);
    refused(tutti_allreduce(team, x, y, 1, freed, TUTTI_SUM), TUTTI_ERR_ARG, "live derived");
    refused(tutti_allreduce(team, x, y, 1, pair, TUTTI_SUM), TUTTI_ERR_TYPE, "elements differ");
    refused(tutti_allreduce(team, x, y, 1, many, op), TUTTI_ERR_ARG, "80000 bytes are too large");
    refused(tutti_bcast(NULL, x, 1, pair, 0), TUTTI_ERR_ARG, "team is NULL");
    refused(tutti_bcast(team, NULL, 1, pair, 0), TUTTI_ERR_ARG, "buffer is NULL");
    refused(tutti_bcast(team, x, 1, pair, 3), TUTTI_ERR_ARG, "root 3");
    refused(tutti_bcast(team, x, -1, pair, 0), TUTTI_ERR_ARG, "negative");
    refused(tutti_bcast(team, x, INT64_MAX / 8, pair, 0), TUTTI_ERR_ARG, "too large");
    refused(tutti_allgather(team, NULL, y, 1, pair), TUTTI_ERR_ARG, "in is NULL");
    refused(tutti_alltoall(team, TUTTI_IN_PLACE, NULL, 1, pair), TUTTI_ERR_ARG, "out is NULL");
    refused(tutti_allgatherv(team, x, y, one, far, pair), TUTTI_ERR_ARG, "out is too large");
    refused(tutti_alltoallv(team, x, one, NULL, y, one, none, pair), TUTTI_ERR_ARG, "NULL");
    assert_int_equal(tutti_allgatherv(team, NULL, NULL, none, none, pair), TUTTI_OK);
    assert_int_equal(tutti_type_free(pair), TUTTI_OK);
    assert_int_equal(tutti_type_free(many), TUTTI_OK);
    assert_int_equal(tutti_op_free(op), TUTTI_OK);
    still_works();
}

static void test_requests(void **state)
{
    double x = 1, y = 0;
    tutti_request *request = NULL;
    (void)state;
    refused(tutti_allreduce_init(team, &x, &y, 1, TUTTI_F64, TUTTI_SUM, 64, &request),
            TUTTI_ERR_ARG, "flags");
    refused(
        tutti_allreduce_init(team, &x, &y, 1, TUTTI_F64, TUTTI_SUM, TUTTI_REQUEST_SHARED, &request),
        TUTTI_ERR_ARG, "in is not memory from tutti_alloc");
    refused(tutti_bcast_init(team, &x, 1, TUTTI_F64, 0, TUTTI_REQUEST_SHARED, &request),
            TUTTI_ERR_ARG, "buffer is not memory from tutti_alloc");
    refused(tutti_allreduce_init(team, &x, &y, 1, TUTTI_F64, TUTTI_SUM, 0, NULL), TUTTI_ERR_ARG,
            "request is NULL");
    refused(tutti_start(NULL), TUTTI_ERR_ARG, "NULL");
    refused(tutti_test(NULL), TUTTI_ERR_ARG, "NULL");
    refused(tutti_wait(NULL), TUTTI_ERR_ARG, "NULL");
    assert_null(request);
    assert_int_equal(tutti_request_free(NULL), TUTTI_OK);
    assert_int_equal(tutti_allreduce_init(team, &x, &y, 1, TUTTI_F64, TUTTI_SUM, 0, &request),
                     TUTTI_OK);
    assert_int_equal(tutti_test(request), TUTTI_OK);
    assert_true(y == 0);
    assert_int_equal(tutti_start(request), TUTTI_OK);
    assert_int_equal(tutti_wait(request), TUTTI_OK);
    assert_true(y == 1);
    assert_int_equal(tutti_request_free(request), TUTTI_OK);
}

static void test_memory(void **state)
{
    void *memory = NULL;
    int here;
    (void)state;
    refused(tutti_alloc(client, 0, &memory), TUTTI_ERR_ARG, "bytes is 0");
    refused(tutti_alloc(client, SIZE_MAX, &memory), TUTTI_ERR_ARG, "bytes is 18446744073709551615");
    refused(tutti_alloc(client, 8, NULL), TUTTI_ERR_ARG, "memory is NULL");
    refused(tutti_alloc(NULL, 8, &memory), TUTTI_ERR_ARG, "client is NULL");
    assert_null(strstr(tutti_error(), "memory"));
    refused(tutti_alloc(client, ((size_t)1 << 50) + 1, &memory), TUTTI_ERR_LIMIT,
            "no 1125899906842625 bytes of shared memory");
    refused(tutti_alloc(client, INT64_MAX, &memory), TUTTI_ERR_LIMIT,
            "no 9223372036854775807 bytes of shared memory");
    refused(tutti_free(client, &here), TUTTI_ERR_ARG, "tutti_alloc");
    assert_int_equal(tutti_alloc(client, 10000, &memory), TUTTI_OK);
    for (int i = 0; i < 10000; i++) assert_int_equal(((char *)memory)[i], 0);
    memset(memory, 1, 10000);
    assert_int_equal(tutti_free(client, memory), TUTTI_OK);
    refused(tutti_free(client, memory), TUTTI_ERR_ARG, "tutti_alloc");
    assert_int_equal(tutti_free(client, NULL), TUTTI_OK);
}

static int worked[3];

static void note(tutti_context *context, void *arg)
{
    (void)context;
    for (int i = 0; i < 3; i++)
        if (worked[i] == 0) {
            worked[i] = *(int *)arg;
            return;
        }
}

static void test_contexts(void **state)
{
    tutti_context *more[TUTTI_CONTEXTS];
    tutti_endpoint *e, *again;
    int one = 1, two = 2, events = 0;
    (void)state;
    refused(tutti_contexts(client, 0, more), TUTTI_ERR_ARG, "n is 0");
    refused(tutti_contexts(client, TUTTI_CONTEXTS, more), TUTTI_ERR_LIMIT, "at most");
    assert_int_equal(tutti_contexts(client, 2, more), TUTTI_OK);
    assert_ptr_equal(tutti_context_at(client, 2), more[1]);
    assert_null(tutti_context_at(client, 3));
    assert_int_equal(tutti_post(more[0], note, &one), TUTTI_OK);
    assert_int_equal(tutti_post(more[0], note, &two), TUTTI_OK);
    assert_int_equal(tutti_advance(more[0], &events), TUTTI_OK);
    assert_int_equal(events, 2);
    assert_int_equal(worked[0], 1);
    assert_int_equal(worked[1], 2);
    refused(tutti_endpoint_to(client, 1, 0, &e), TUTTI_ERR_ARG, "rank 1");
    refused(tutti_endpoint_to(client, 0, 64, &e), TUTTI_ERR_ARG, "context 64");
    assert_int_equal(tutti_endpoint_to(client, 0, 5, &e), TUTTI_OK);
    assert_int_equal(tutti_endpoint_to(client, 0, 5, &again), TUTTI_OK);
    assert_ptr_equal(e, again);
    assert_int_equal(tutti_endpoint_context(e), 5);
}

static void test_teams(void **state)
{
    tutti_team *part = NULL;
    (void)state;
    refused(tutti_team_free(team), TUTTI_ERR_ARG, "world");
    refused(tutti_team_split(team, 0, 0, NULL), TUTTI_ERR_ARG, "part");
    assert_int_equal(tutti_team_split(team, -1, 0, &part), TUTTI_OK);
    assert_null(part);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tutti_team_split(team, 3, 0, &part), TUTTI_OK);
        assert_int_equal(tutti_size(part), 1);
        assert_int_equal(tutti_barrier(part), TUTTI_OK);
        assert_int_equal(tutti_team_free(part), TUTTI_OK);
    }
    still_works();
}

/* Makes a type of each kind, each from the previous one. */
static tutti_status make_types(void)
{
    const int64_t blocks[2] = {1, 1}, displs[2] = {-5, 2}, sizes[2] = {3, 4}, parts[2] = {2, 3};
    tutti_type indexed = TUTTI_TYPES, part = TUTTI_TYPES, resized = TUTTI_TYPES;
    tutti_status status = tutti_type_indexed(2, blocks, displs, TUTTI_F64, &indexed);
    if (status == TUTTI_OK)
        status = tutti_type_subarray(2, sizes, parts, blocks, TUTTI_ORDER_FORTRAN, indexed, &part);
    if (status == TUTTI_OK) status = tutti_type_resized(part, -8, 4000, &resized);
    if (indexed != TUTTI_TYPES) assert_int_equal(tutti_type_free(indexed), TUTTI_OK);
    if (part != TUTTI_TYPES) assert_int_equal(tutti_type_free(part), TUTTI_OK);
    if (resized != TUTTI_TYPES) assert_int_equal(tutti_type_free(resized), TUTTI_OK);
    return status;
}

/* Uses a nested derived type in a call, which needs memory for a plan and for types. */
static tutti_status use_types(tutti_team *world)
{
    double m[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sums[8] = {0};
    int64_t counts[1] = {1}, displs[1] = {1};
    tutti_field f[2] = {{0, 2, TUTTI_F64}, {24, 1, TUTTI_F64}};
    tutti_type inner, type;
    tutti_request *request;
    tutti_status status = tutti_type_struct(2, f, 32, &inner);
    if (status != TUTTI_OK) return status;
    status = tutti_type_vector(1, 1, 1, inner, &type);
    tutti_type_free(inner);
    if (status != TUTTI_OK) return status;
    status = tutti_iallreduce(world, m, sums, 2, type, TUTTI_SUM, &request);
    if (status == TUTTI_OK) {
        status = tutti_wait(request);
        tutti_request_free(request);
    }
    if (status == TUTTI_OK) status = tutti_allgatherv(world, m, sums, counts, displs, type);
    if (status == TUTTI_OK) assert_true(sums[1] == 2 && sums[2] == 0 && sums[5] == 2);
    tutti_type_free(type);
    return status;
}

/* Makes teams of all kinds, and frees one of them. */
static tutti_status use_teams(tutti_team *world)
{
    int one = 1, zero = 0;
    tutti_team *part = NULL, *line = NULL, *graph = NULL, *copy = NULL;
    tutti_status status = tutti_team_split(world, 0, 0, &part);
    if (status == TUTTI_OK) status = tutti_team_dup(part, &copy);
    if (status == TUTTI_OK) status = tutti_team_cart(part, 1, &one, NULL, TUTTI_CART_NODES, &line);
    if (status == TUTTI_OK) status = tutti_team_dup(line, &copy);
    if (status == TUTTI_OK) status = tutti_team_graph(part, 1, &zero, 1, &zero, &graph);
    if (status == TUTTI_OK) status = tutti_team_dup(graph, &copy);
    if (status == TUTTI_OK) status = tutti_team_free(graph);
    assert_true(status != TUTTI_OK || tutti_team_sources(copy, &one, 1, NULL) == TUTTI_OK);
    return status;
}

/* Checks that a client reports TUTTI_ERR_MEMORY and nothing breaks, whichever of its allocations
 * fails. */
static void test_no_memory(void **state)
{
    double x = 1, y;
    tutti_client *c;
    int failed = 0;
    (void)state;
    for (int64_t i = 0;; i++) {
        uint64_t lacks = tt_memory_lacks();
        tt_memory_fail_at(i);
        tutti_status status = tutti_init(&c);
        if (status == TUTTI_OK) {
            status = tutti_allreduce(tutti_world(c), &x, &y, 1, TUTTI_F64, TUTTI_SUM);
            if (status == TUTTI_OK) status = use_teams(tutti_world(c));
            if (status == TUTTI_OK) status = make_types();
            if (status == TUTTI_OK) status = use_types(tutti_world(c));
            tt_memory_fail_at(-1);
            assert_int_equal(tutti_finalize(c), TUTTI_OK);
        }
        tt_memory_fail_at(-1);
        if (status == TUTTI_OK && tt_memory_lacks() == lacks) break;
        if (status == TUTTI_OK) continue; /* what could not be kept is made again */
        assert_int_equal(status, TUTTI_ERR_MEMORY);
        failed++;
    }
    assert_true(failed > 5);
}

/* Makes a call whose first allocation fails, and expects MEMORY. */
#define LACKS_MEMORY(call)                                                                         \
    do {                                                                                           \
        tt_memory_fail_at(0);                                                                      \
        tutti_status got = (call);                                                                 \
        tt_memory_fail_at(-1);                                                                     \
        refused(got, TUTTI_ERR_MEMORY, "no memory");                                               \
    } while (0)

/* Checks that a call that lacks memory breaks its team only if it is not persistent, because
 * preparing a call is local. Threads share the client, so an assertion fails if a call breaks the
 * team without holding the client's lock. */
static void test_broken_teams(void **state)
{
    int one = 1;
    double x = 1, y[2] = {0};
    tutti_client *c;
    tutti_team *line, *copy;
    tutti_request *r;
    (void)state;
    assert_int_equal(tutti_init(&c), TUTTI_OK);
    assert_int_equal(tutti_client_share(c), TUTTI_OK);
    assert_int_equal(tutti_team_cart(tutti_world(c), 1, &one, &one, TUTTI_CART_LAST_FASTEST, &line),
                     TUTTI_OK);
    assert_int_equal(tutti_team_dup(line, &copy), TUTTI_OK);
    LACKS_MEMORY(tutti_neighbor_allgather_init(line, &x, y, 1, TUTTI_F64, 0, &r));
    LACKS_MEMORY(tutti_allreduce_init(line, &x, y, 1, TUTTI_F64, TUTTI_SUM, 0, &r));
    assert_int_equal(tutti_neighbor_allgather(line, &x, y, 1, TUTTI_F64), TUTTI_OK);
    assert_true(y[0] == 1 && y[1] == 1);
    LACKS_MEMORY(tutti_ineighbor_allgather(line, &x, y, 1, TUTTI_F64, &r));
    LACKS_MEMORY(tutti_iallreduce(copy, &x, y, 1, TUTTI_F64, TUTTI_SUM, &r));
    assert_int_equal(tutti_barrier(line), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_barrier(copy), TUTTI_ERR_MEMORY);
    assert_int_equal(tutti_finalize(c), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),     cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scans),          cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_blocks),         cmocka_unit_test(test_types),
        cmocka_unit_test(test_calls_of_types), cmocka_unit_test(test_requests),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_teams),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_broken_teams),
    };
    if (tutti_init(&client) != TUTTI_OK) return 1;
    team = tutti_world(client);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return tutti_finalize(client) != TUTTI_OK || failed;
}
