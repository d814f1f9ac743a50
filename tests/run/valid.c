/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions tt_..._valid, which debug builds call, notice when an invariant is broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "choose/measure.h"
#include "draw/picture.h"
#include "job/arena.h"
#include "msg/inside.h"
#include "plan/call.h"
#include "recover/accord.h"
#include "run/exec.h"
#include "sim/queue.h"
#include "topo/map.h"
#include "topo/net.h"
#include "type/layout.h"

static void maps_and_calls(void **state)
{
    (void)state;
    int node[] = {0, 1, 1};
    struct tt_map map = {.p = 3, .nodes = 2, .node = node};
    assert_true(tt_map_valid(&map));
    node[2] = 2;
    assert_false(tt_map_valid(&map));
    node[2] = 1;
    map.low_bytes = 8;
    assert_false(tt_map_valid(&map));
    map.win_bytes = 16;
    assert_true(tt_map_valid(&map));
    map.line_bytes = 9;
    assert_false(tt_map_valid(&map));
    map.line_bytes = 8;

    int64_t counts[] = {1, 2, 3}, displs[] = {0, 1, 3};
    struct tt_call call = {
        .coll = TT_COLL_allgatherv, .sz = 8, .out_counts = counts, .out_displs = displs};
    assert_true(tt_call_valid(&call, 3));
    call.out_displs = NULL;
    assert_false(tt_call_valid(&call, 3));
    call.out_displs = displs;
    displs[1] = INT64_MAX / 8;
    assert_false(tt_call_valid(&call, 3));
}

/* Checks tt_pair_agrees, which compares the words of two members: the function must return true
 * exactly if each member sends what the other one expects, and no number of bytes is too large for
 * a word. */
static void words_of_pairs(void **state)
{
    (void)state;
    const int64_t bytes[] = {0, 1, 255, 256, 65534, 65535, 65536, INT64_MAX};
    const int n = sizeof bytes / sizeof *bytes;
    for (int i = 0; i < n * n * n * n; i++) {
        int64_t sent = bytes[i % n], expected = bytes[i / n % n];
        int64_t theirs = bytes[i / n / n % n], they_expect = bytes[i / n / n / n];
        bool small = tt_max(tt_max(sent, expected), tt_max(theirs, they_expect)) < 65535;
        bool equal = sent == they_expect && expected == theirs;
        assert_int_equal(
            tt_pair_agrees(tt_pair_word(sent, expected), tt_pair_word(theirs, they_expect)),
            small && equal);
    }
}

static void networks(void **state)
{
    (void)state;
    int node[] = {0, 2}, rank[] = {0, -1, 1};
    struct tt_net net = {.nodes = 3, .vertices = 3, .ranks = 2, .node = node, .rank = rank};
    assert_true(tt_net_valid(&net));
    rank[2] = 0;
    assert_false(tt_net_valid(&net));
}

static void stores(void **state)
{
    (void)state;
    struct tt_extent holes[] = {{0, 4096, -1}, {8192, 12288, -1}}, pieces[] = {{4096, 8192, 1}};
    struct tt_store store = {.holes = {holes, 2, 2}, .pieces = {pieces, 1, 1}, .granted = 12288};
    assert_true(tt_store_valid(&store));
    holes[1].begin = 4096; /* the holes touch each other */
    assert_false(tt_store_valid(&store));
    holes[1].begin = 8192;
    store.granted = 8192;
    assert_false(tt_store_valid(&store));
}

static void accords(void **state)
{
    (void)state;
    uint64_t memory[64];
    struct tt_accord *a = (struct tt_accord *)memory;
    assert_true(tt_accord_bytes(3, tt_accord_words(3, 0)) <= sizeof memory);
    tt_accord_init(a, 3, 1, tt_accord_words(3, 0), 1, 0);
    (void)tt_accord_start(a);
    assert_true(tt_accord_valid(a));
    tt_accord_gone(a)[0] = 1; /* member 0 is gone, but still the leader */
    assert_false(tt_accord_valid(a));
    tt_accord_gone(a)[0] = 0;
    a->from = 0; /* member 0 is the leader, but holds no proposal */
    assert_false(tt_accord_valid(a));
}

static void executions(void **state)
{
    (void)state;
    static struct tt_team team;
    struct tt_exec exec = {.team = &team, .state = TT_EXEC_RUNNING, .slot = 1, .number = 5};
    team.slots = 4;
    team.windows = 2;
    team.windows_log2 = 1;
    team.my_done = team.all_done = 5;
    team.next = 6;
    team.running[1] = &exec;
    assert_true(tt_exec_valid(&exec) && tt_team_valid(&team));
    team.my_done = 6; /* counts execution 5, which still runs, as ended */
    assert_false(tt_team_valid(&team));
    team.my_done = 5;
    team.windows = 8; /* more windows than slots */
    team.windows_log2 = 3;
    assert_false(tt_team_valid(&team));
    team.windows = 3; /* no power of two */
    assert_false(tt_team_valid(&team));
    exec.slot = 2;
    assert_false(tt_exec_valid(&exec));
}

static void trials_and_rankings(void **state)
{
    (void)state;
    struct tt_trial trial = {.n = 2, .calls = 2 * TT_TRIAL_ROUNDS, .best = 1};
    assert_true(tt_trial_valid(&trial));
    trial.best = 2; /* there is no such candidate */
    assert_false(tt_trial_valid(&trial));
    trial.best = 1;
    trial.calls--; /* decided too early */
    assert_false(tt_trial_valid(&trial));
    trial.best = -1;
    assert_true(tt_trial_valid(&trial));
    trial.n = 1;
    assert_false(tt_trial_valid(&trial));

    static struct tt_rankings rankings = {.n = 2, .given = 1, .last = {0, 2}};
    assert_true(tt_rankings_valid(&rankings));
    rankings.n = 1; /* last[1] names a ranking that does not exist */
    assert_false(tt_rankings_valid(&rankings));
    rankings.n = 2;
    rankings.given = 3;
    assert_false(tt_rankings_valid(&rankings));
    rankings.given = 1;
    rankings.forgotten = 1; /* a ranking was replaced although there was room */
    assert_false(tt_rankings_valid(&rankings));
}

static void job_pages(void **state)
{
    (void)state;
    struct tt_segment segment;
    assert_int_equal(tt_segment_create(&segment, 2, true), TUTTI_OK);
    struct tt_job_page *job = tt_segment_page(&segment);
    struct tt_rank_status *status = &job->rank[1].rank_status;
    assert_true(tt_job_page_valid(job));
    job->rank[1].arena = 0; /* ranks 0 and 1 have the same arena */
    assert_false(tt_job_page_valid(job));
    job->rank[1].arena = 1;
    int64_t backed = atomic_exchange(&job->backed, job->whole_bytes); /* beyond the grants */
    assert_false(tt_job_page_valid(job));
    atomic_store(&job->backed, backed);
    atomic_store(&status->announced, TT_RANK_LEFT); /* the rank has not left */
    assert_false(tt_rank_status_valid(status) || tt_job_page_valid(job));
    atomic_store(&status->state, TT_RANK_LEFT); /* the change of its state is not counted */
    assert_true(tt_rank_status_valid(status));
    assert_false(tt_job_page_valid(job));
    atomic_store(&job->failures, 1);
    assert_true(tt_job_page_valid(job));
    atomic_store(&status->state, TT_RANK_FAILED); /* the failure has no cause and no order */
    assert_false(tt_rank_status_valid(status) || tt_job_page_valid(job));
    tt_segment_close(&segment);
}

static void queues_of_messages(void **state)
{
    (void)state;
    static struct tt_transfer entry;
    static char data[8];
    entry.packet.header = entry.header;
    entry.packet.data = data;
    entry.whole = &entry;
    entry.lent = true;
    entry.left = 8;
    assert_true(tt_transfer_valid(&entry));
    entry.lent = false; /* the data are neither lent nor a copy that the entry owns */
    assert_false(tt_transfer_valid(&entry));

    static struct tt_byte_ring ring;
    struct tt_end end = {.ring = &ring, .sending = true, .position = 8};
    assert_false(tt_end_valid(&end));
    atomic_store(&ring.head, 8);
    assert_true(tt_end_valid(&end));

    struct tt_out out = {.cells = 4, .position = 4, .limit = 4};
    assert_true(tt_out_valid(&out));
    out.position++;
    assert_false(tt_out_valid(&out));
}

static void events(void **state)
{
    (void)state;
    struct tt_queue queue = {.n = 0};
    for (int i = 0; i < 10; i++)
        assert_true(tt_queue_put(&queue, (struct tt_event){.time = 7 * i % 10}));
    assert_true(tt_queue_valid(&queue));
    queue.last++;
    assert_false(tt_queue_valid(&queue));
    queue.last--;
    queue.n++;
    assert_false(tt_queue_valid(&queue));
    tt_queue_free(&queue);
}

static void layouts(void **state)
{
    (void)state;
    const tutti_field fields[] = {{.offset = 0, .count = 3, .type = TUTTI_I32}};
    struct tt_layout *layout;
    assert_int_equal(tt_layout_new(1, fields, 16, &layout), TUTTI_OK);
    assert_true(tt_layout_valid(layout));
    layout->packed++;
    assert_false(tt_layout_valid(layout));
    tt_layout_drop(layout);
}

static void pictures(void **state)
{
    (void)state;
    struct tt_sim_event message = {.kind = TT_SEND, .rank = 0, .peer = 1, .end_ps = 5, .bytes = 8};
    struct tt_picture picture = {
        .ranks = 2, .groups = 2, .per_group = 1, .messages = {.at = &message, .n = 1}};
    assert_true(tt_picture_valid(&picture));
    message.peer = 2;
    assert_false(tt_picture_valid(&picture));

    struct tt_call_bar bars[] = {{.group = 0, .rank = 1}, {.group = 0, .rank = 2}};
    struct tt_calls calls = {.bar = bars, .bars = 2};
    assert_true(tt_calls_valid(&calls));
    bars[0].group = 1;
    assert_false(tt_calls_valid(&calls));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_and_calls),
        cmocka_unit_test(words_of_pairs),
        cmocka_unit_test(networks),
        cmocka_unit_test(stores),
        cmocka_unit_test(accords),
        cmocka_unit_test(executions),
        cmocka_unit_test(trials_and_rankings),
        cmocka_unit_test(job_pages),
        cmocka_unit_test(queues_of_messages),
        cmocka_unit_test(events),
        cmocka_unit_test(layouts),
        cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
