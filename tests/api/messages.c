/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrong arguments of the functions of message.h: each call returns an error at once, the message
 * says what was wrong, nothing is started, and everything still works afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tutti/message.h>

static tutti_client *client, *other;
static tutti_context *context;
static tutti_endpoint *self, *stranger;
static int handled, done;

/* Checks the status, and that the message contains the word. */
static void refused(tutti_status got, tutti_status want, const char *word)
{
    assert_int_equal(got, want);
    if (!strstr(tutti_error(), word)) fail_msg("'%s' is not in: %s", word, tutti_error());
}

static void handle(tutti_context *c, const tutti_message *message, tutti_receive *receive,
                   void *arg)
{
    (void)c, (void)message, (void)receive, (void)arg;
    handled++;
}

static void finished(tutti_context *c, void *arg, tutti_status status)
{
    (void)c, (void)arg;
    assert_int_equal(status, TUTTI_OK);
    done++;
}

static void ignore_work(tutti_context *c, void *arg)
{
    (void)c, (void)arg;
}

/* Sends one message and checks that exactly one message arrives. */
static void still_works(void)
{
    handled = done = 0;
    assert_int_equal(tutti_message_immediate(context, self, 3, "x", 1, "y", 1), TUTTI_OK);
    assert_int_equal(tutti_fence(context, NULL, finished, NULL), TUTTI_OK);
    while (!done) assert_int_equal(tutti_advance_wait(context, -1, NULL), TUTTI_OK);
    assert_true(handled == 1 && done == 1);
}

static void test_contexts(void **state)
{
    tutti_context *c[TUTTI_CONTEXTS];
    (void)state;
    refused(tutti_contexts(NULL, 1, c), TUTTI_ERR_ARG, "client is NULL");
    refused(tutti_contexts(client, 1, NULL), TUTTI_ERR_ARG, "contexts is NULL");
    refused(tutti_contexts(client, 0, c), TUTTI_ERR_ARG, "n is 0");
    refused(tutti_contexts(client, -5, c), TUTTI_ERR_ARG, "n is -5");
    refused(tutti_contexts(client, INT32_MAX, c), TUTTI_ERR_LIMIT, "at most 64");
    refused(tutti_contexts(other, TUTTI_CONTEXTS, c), TUTTI_ERR_LIMIT, "at most 64");
    assert_int_equal(tutti_contexts(other, TUTTI_CONTEXTS - 1, c), TUTTI_OK);
    assert_ptr_equal(tutti_context_at(other, TUTTI_CONTEXTS - 1), c[TUTTI_CONTEXTS - 2]);
    refused(tutti_contexts(other, 1, c), TUTTI_ERR_LIMIT, "this one has 64");
    assert_null(tutti_context_at(NULL, 0));
    assert_null(tutti_context_at(client, -1));
    assert_null(tutti_context_at(client, 1));
    assert_null(tutti_context_at(other, TUTTI_CONTEXTS));
    refused(tutti_advance(NULL, NULL), TUTTI_ERR_ARG, "context is NULL");
    refused(tutti_post(NULL, ignore_work, NULL), TUTTI_ERR_ARG, "NULL");
    refused(tutti_post(context, NULL, NULL), TUTTI_ERR_ARG, "work is NULL");
    still_works();
}

static void test_endpoints(void **state)
{
    tutti_endpoint *e = NULL;
    (void)state;
    refused(tutti_endpoint_to(NULL, 0, 0, &e), TUTTI_ERR_ARG, "client");
    refused(tutti_endpoint_to(client, 0, 0, NULL), TUTTI_ERR_ARG, "endpoint is NULL");
    refused(tutti_endpoint_to(client, -1, 0, &e), TUTTI_ERR_ARG, "rank -1");
    refused(tutti_endpoint_to(client, 1, 0, &e), TUTTI_ERR_ARG, "rank 1");
    refused(tutti_endpoint_to(client, 0, -1, &e), TUTTI_ERR_ARG, "context -1");
    refused(tutti_endpoint_to(client, 0, TUTTI_CONTEXTS, &e), TUTTI_ERR_ARG, "context 64");
    assert_null(e);
    assert_int_equal(tutti_endpoint_rank(NULL), -1);
    assert_int_equal(tutti_endpoint_context(NULL), -1);
    tutti_endpoint *all[TUTTI_CONTEXTS];
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < TUTTI_CONTEXTS; i++) {
            assert_int_equal(tutti_endpoint_to(client, 0, i, &e), TUTTI_OK);
            assert_true(twice == 0 || e == all[i]);
            assert_int_equal(tutti_endpoint_rank(e), 0);
            assert_int_equal(tutti_endpoint_context(e), i);
            all[i] = e;
        }
    refused(tutti_dispatch(NULL, 1, handle, NULL), TUTTI_ERR_ARG, "client is NULL");
    refused(tutti_dispatch(client, -1, handle, NULL), TUTTI_ERR_ARG, "dispatch -1");
    refused(tutti_dispatch(client, TUTTI_DISPATCHES, handle, NULL), TUTTI_ERR_ARG, "dispatch 256");
    assert_int_equal(tutti_dispatch(client, 4, NULL, NULL), TUTTI_OK);
    still_works();
}

static void refuse_send(tutti_send send, tutti_status want, const char *word)
{
    refused(tutti_message_send(context, &send), want, word);
}

static void test_send(void **state)
{
    char header[TUTTI_HEADER_BYTES + 1] = {0};
    double x[2] = {0};
    const tutti_send good = {.to = self, .dispatch = 3, .data = x, .count = 2, .type = TUTTI_F64};
    tutti_send s;
    (void)state;
    refused(tutti_message_send(NULL, &good), TUTTI_ERR_ARG, "context is NULL");
    refused(tutti_message_send(context, NULL), TUTTI_ERR_ARG, "send is NULL");
    s = good, s.to = NULL;
    refuse_send(s, TUTTI_ERR_ARG, "send->to is NULL");
    s = good, s.to = stranger;
    refuse_send(s, TUTTI_ERR_ARG, "another client");
    s = good, s.dispatch = -1;
    refuse_send(s, TUTTI_ERR_ARG, "dispatch -1");
    s = good, s.dispatch = TUTTI_DISPATCHES;
    refuse_send(s, TUTTI_ERR_ARG, "dispatch 256");
    s = good, s.header = header, s.header_bytes = sizeof header;
    refuse_send(s, TUTTI_ERR_ARG, "128");
    s = good, s.header_bytes = 1;
    refuse_send(s, TUTTI_ERR_ARG, "header is NULL");
    s = good, s.data = NULL;
    refuse_send(s, TUTTI_ERR_ARG, "data is NULL");
    s = good, s.count = -1;
    refuse_send(s, TUTTI_ERR_ARG, "negative");
    s = good, s.count = INT64_MAX / 4;
    refuse_send(s, TUTTI_ERR_ARG, "large");
    s = good, s.type = (tutti_type)40;
    refused(tutti_message_send(context, &s), TUTTI_ERR_ARG, "type 40");
    still_works();
}

static void test_immediate(void **state)
{
    char bytes[TUTTI_IMMEDIATE_BYTES + 1] = {0};
    (void)state;
    refused(tutti_message_immediate(NULL, self, 3, NULL, 0, NULL, 0), TUTTI_ERR_ARG, "context");
    refused(tutti_message_immediate(context, NULL, 3, NULL, 0, NULL, 0), TUTTI_ERR_ARG, "to is");
    refused(tutti_message_immediate(context, stranger, 3, NULL, 0, NULL, 0), TUTTI_ERR_ARG,
            "another client");
    refused(tutti_message_immediate(context, self, -1, NULL, 0, NULL, 0), TUTTI_ERR_ARG, "-1");
    refused(tutti_message_immediate(context, self, 256, NULL, 0, NULL, 0), TUTTI_ERR_ARG, "256");
    refused(tutti_message_immediate(context, self, 3, bytes, 129, NULL, 0), TUTTI_ERR_ARG, "129");
    refused(tutti_message_immediate(context, self, 3, bytes, SIZE_MAX, NULL, 0), TUTTI_ERR_ARG,
            "header");
    refused(tutti_message_immediate(context, self, 3, NULL, 1, NULL, 0), TUTTI_ERR_ARG,
            "header is NULL");
    refused(tutti_message_immediate(context, self, 3, NULL, 0, NULL, 1), TUTTI_ERR_ARG,
            "data is NULL");
    refused(tutti_message_immediate(context, self, 3, NULL, 0, bytes, sizeof bytes), TUTTI_ERR_ARG,
            "513");
    refused(tutti_message_immediate(context, self, 3, bytes, 1, bytes, 512), TUTTI_ERR_ARG, "513");
    refused(tutti_message_immediate(context, self, 3, bytes, 1, bytes, SIZE_MAX), TUTTI_ERR_ARG,
            "512");
    still_works();
}

static tutti_pending *put_off;

static void put_it_off(tutti_context *c, const tutti_message *message, tutti_receive *receive,
                       void *arg)
{
    (void)c, (void)arg;
    put_off = message->pending;
    receive->put_off = 1;
}

/* Lets the handler of a message put off the receive. Checks that the message can still be received
 * after tutti_message_receive has refused wrong arguments. */
static void test_receive(void **state)
{
    static double sent[2] = {3, 4};
    double got[2] = {0};
    const tutti_receive good = {.to = got, .count = 2, .type = TUTTI_F64, .done = finished};
    tutti_receive r;
    (void)state;
    assert_int_equal(tutti_dispatch(client, 5, put_it_off, NULL), TUTTI_OK);
    const tutti_send send = {
        .to = self, .dispatch = 5, .data = sent, .count = 2, .type = TUTTI_F64};
    assert_int_equal(tutti_message_send(context, &send), TUTTI_OK);
    while (!put_off) assert_int_equal(tutti_advance_wait(context, -1, NULL), TUTTI_OK);
    refused(tutti_message_receive(NULL, put_off, &good), TUTTI_ERR_ARG, "context");
    refused(tutti_message_receive(context, NULL, &good), TUTTI_ERR_ARG, "pending");
    refused(tutti_message_receive(context, put_off, NULL), TUTTI_ERR_ARG, "receive is NULL");
    r = good, r.count = -1;
    refused(tutti_message_receive(context, put_off, &r), TUTTI_ERR_ARG, "negative");
    r = good, r.type = (tutti_type)40;
    refused(tutti_message_receive(context, put_off, &r), TUTTI_ERR_ARG, "type 40");
    done = 0;
    assert_int_equal(tutti_message_receive(context, put_off, &good), TUTTI_OK);
    while (!done) assert_int_equal(tutti_advance_wait(context, -1, NULL), TUTTI_OK);
    assert_true(got[0] == 3 && got[1] == 4);
    still_works();
}

static void test_regions(void **state)
{
    char memory[64];
    tutti_region *region = NULL;
    tutti_key key;
    (void)state;
    refused(tutti_region_register(NULL, memory, 1, &region), TUTTI_ERR_ARG, "client");
    refused(tutti_region_register(client, NULL, 1, &region), TUTTI_ERR_ARG, "memory");
    refused(tutti_region_register(client, memory, 1, NULL), TUTTI_ERR_ARG, "region");
    refused(tutti_region_register(client, memory, 0, &region), TUTTI_ERR_ARG, "0 bytes");
    refused(tutti_region_register(client, memory, SIZE_MAX, &region), TUTTI_ERR_ARG, "bytes");
    assert_null(region);
    assert_int_equal(tutti_region_free(NULL), TUTTI_OK);
    refused(tutti_region_key(NULL, &key), TUTTI_ERR_ARG, "region is NULL");
    assert_int_equal(tutti_region_register(client, memory, sizeof memory, &region), TUTTI_OK);
    refused(tutti_region_key(region, NULL), TUTTI_ERR_ARG, "key is NULL");
    assert_int_equal(tutti_region_free(region), TUTTI_OK);
    still_works();
}

/* Calls tutti_put or tutti_get, which differ in the constness of one pointer. */
static tutti_status move(int put, tutti_context *c, tutti_endpoint *owner, void *memory,
                         const tutti_key *key, int64_t offset, int64_t bytes)
{
    return put ? tutti_put(c, owner, memory, key, offset, bytes, finished, NULL)
               : tutti_get(c, owner, memory, key, offset, bytes, finished, NULL);
}

static void test_transfers(void **state)
{
    char memory[64] = {0}, here[64];
    tutti_region *region;
    tutti_key key, none = {{0}};
    (void)state;
    assert_int_equal(tutti_region_register(client, memory, sizeof memory, &region), TUTTI_OK);
    assert_int_equal(tutti_region_key(region, &key), TUTTI_OK);
    done = 0;
    for (int put = 0; put < 2; put++) {
        refused(move(put, NULL, self, here, &key, 0, 1), TUTTI_ERR_ARG, "NULL");
        refused(move(put, context, NULL, here, &key, 0, 1), TUTTI_ERR_ARG, "NULL");
        refused(move(put, context, self, here, NULL, 0, 1), TUTTI_ERR_ARG, "NULL");
        refused(move(put, context, self, NULL, &key, 0, 1), TUTTI_ERR_ARG, "NULL");
        refused(move(put, context, stranger, here, &key, 0, 1), TUTTI_ERR_ARG, "another client");
        refused(move(put, context, self, here, &none, 0, 1), TUTTI_ERR_ARG, "key");
        refused(move(put, context, self, here, &key, -1, 1), TUTTI_ERR_ARG, "region");
        refused(move(put, context, self, here, &key, 64, 1), TUTTI_ERR_ARG, "region");
        refused(move(put, context, self, here, &key, 1, 64), TUTTI_ERR_ARG, "region");
        refused(move(put, context, self, here, &key, 0, -1), TUTTI_ERR_ARG, "region");
        refused(move(put, context, self, here, &key, 1, INT64_MAX), TUTTI_ERR_ARG, "region");
        refused(move(put, context, self, here, &key, INT64_MAX, INT64_MAX), TUTTI_ERR_ARG,
                "region");
    }
    refused(tutti_fence(NULL, self, finished, NULL), TUTTI_ERR_ARG, "context is NULL");
    refused(tutti_fence(context, stranger, finished, NULL), TUTTI_ERR_ARG, "another client");
    assert_int_equal(tutti_advance(context, NULL), TUTTI_OK);
    assert_int_equal(done, 0);
    assert_int_equal(tutti_region_free(region), TUTTI_OK);
    still_works();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),  cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_send),      cmocka_unit_test(test_immediate),
        cmocka_unit_test(test_receive),   cmocka_unit_test(test_regions),
        cmocka_unit_test(test_transfers),
    };
    if (tutti_init(&client) != TUTTI_OK || tutti_init(&other) != TUTTI_OK) return 1;
    context = tutti_context_at(client, 0);
    if (tutti_dispatch(client, 3, handle, NULL) != TUTTI_OK ||
        tutti_endpoint_to(client, 0, 0, &self) != TUTTI_OK ||
        tutti_endpoint_to(other, 0, 0, &stranger) != TUTTI_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return tutti_finalize(other) != TUTTI_OK || tutti_finalize(client) != TUTTI_OK || failed;
}
