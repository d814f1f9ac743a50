/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The planner's choice on several nodes. For every collective, map and size the planner finds an
 * algorithm that applies. Where ranks share nodes and data are small, the planner chooses
 * "composed" or "logical". Where ranks are distributed over the nodes in turn, it never chooses an
 * algorithm that ignores nodes.
 */
#include "plans.h"

#include <string.h>

#include "choose/choose.h"

static const struct tt_algorithm *chosen(enum tt_coll coll, int64_t n, const struct tt_map *map)
{
    struct tt_problem problem = plans_problem(coll, map->p, n);
    struct tt_choice choice = {.algorithm = NULL};
    struct tt_call call = problem.call;
    if (tt_choose(&call, map, NULL, &choice, NULL) != TUTTI_OK)
        fail_msg("%s of %lld on %d ranks: %s", tt_coll_name(coll), (long long)n, map->p,
                 tutti_error());
    assert_null(choice.algorithm->refuse(&call, map));
    return choice.algorithm;
}

/* Checks the choice for a long reproducible sum, whose reduction takes long: an algorithm in which
 * each rank does a part of the reduction. */
static void long_sums_are_shared(void **state)
{
    (void)state;
    for (int cost = 0; cost < 4; cost++) {
        struct tt_problem problem = plans_problem(TT_COLL_allreduce, 4, 1 << 17);
        struct tt_map map = plans_map(4);
        struct tt_choice a = {.algorithm = NULL};
        map.read_cost = cost;
        problem.call.type = TUTTI_BINNED;
        problem.call.sz = (int64_t)tutti_type_size(TUTTI_BINNED);
        assert_int_equal(tt_choose(&problem.call, &map, NULL, &a, NULL), TUTTI_OK);
        assert_string_not_equal(a.algorithm->name, "flat");
        problem.call.n = 1;
        assert_int_equal(tt_choose(&problem.call, &map, NULL, &a, NULL), TUTTI_OK);
        assert_string_equal(a.algorithm->name, "flat");
    }
}

static void something_applies(void **state)
{
    (void)state;
    int node[PLANS_RANKS];
    for (int p = 2; p <= 33; p++)
        for (int which = 0; which < PLANS_NODES; which++)
            for (int coll = 0; coll < TT_COLLS; coll++)
                for (int64_t n = 1; n < 1 << 20; n *= 32) {
                    struct tt_map map = plans_nodes(p, which, node);
                    (void)chosen((enum tt_coll)coll, n, &map);
                    plans_window(&map, 64);
                    (void)chosen((enum tt_coll)coll, n, &map);
                }
}

static bool minds_nodes(enum tt_coll coll)
{
    bool minds = false;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
        minds = minds || ((*a)->coll == coll && plans_span_nodes(*a));
    return minds;
}

/* Checks that for a call of one element an algorithm is chosen that considers nodes, if the
 * collective has such an algorithm. */
static void small_ones_mind_nodes(void **state)
{
    (void)state;
    int node[] = {0, 0, 0, 0, 1, 1, 2, 3};
    struct tt_map map = plans_map(8);
    map.nodes = 4;
    map.node = node;
    for (int coll = 0; coll < TT_COLLS; coll++) {
        bool counts = coll == TT_COLL_allgatherv || tt_coll_pairs(coll);
        const struct tt_algorithm *a = chosen((enum tt_coll)coll, 1, &map);
        if (!counts && minds_nodes((enum tt_coll)coll) && !plans_span_nodes(a))
            fail_msg("%s %s", tt_coll_name((enum tt_coll)coll), a->name);
    }
}

static void dealt_out_ranks_need_it_more(void **state)
{
    (void)state;
    int node[] = {0, 1, 0, 1, 0, 1, 0, 1};
    struct tt_map map = plans_map(8);
    map.nodes = 2;
    map.node = node;
    for (int64_t n = 1; n < 1 << 20; n *= 32) {
        assert_true(plans_span_nodes(chosen(TT_COLL_allgather, n, &map)));
        assert_true(plans_span_nodes(chosen(TT_COLL_allreduce, n, &map)));
        assert_true(plans_span_nodes(chosen(TT_COLL_bcast, n, &map)));
    }
}

static void ranks_on_their_own_have_nothing_to_share(void **state)
{
    (void)state;
    int node[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct tt_map map = plans_map(8);
    map.nodes = 8;
    map.node = node;
    static const struct {
        enum tt_coll coll;
        int64_t most; /* `few` is chosen up to so many bytes, and `many` for more */
        const char *few, *many;
    } rows[] = {{TT_COLL_allreduce, 64 << 10, "doubling", "halving"},
                {TT_COLL_bcast, 512 << 10, NULL, "two-tree"},
                {TT_COLL_reduce, 64 << 10, "binomial", "halving"},
                {TT_COLL_allgather, 16 << 10, "bruck", "neighbour"},
                {TT_COLL_reduce_scatter_block, 32 << 10, "circulant", "halving"},
                {TT_COLL_alltoall, 8 << 10, "bruck", "pairwise"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; rows[i].few && k < 2; k++)
            assert_string_equal(chosen(rows[i].coll, k ? rows[i].most / 8 : 1, &map)->name,
                                rows[i].few);
        assert_string_equal(chosen(rows[i].coll, rows[i].most / 8 + 1, &map)->name, rows[i].many);
        assert_string_equal(chosen(rows[i].coll, 1 << 20, &map)->name, rows[i].many);
    }
    assert_string_equal(chosen(TT_COLL_bcast, 8 << 10, &map)->name, "binomial");
    assert_string_equal(chosen(TT_COLL_bcast, (8 << 10) + 1, &map)->name, "scatter-allgather");
    assert_string_equal(chosen(TT_COLL_bcast, 64 << 10, &map)->name, "scatter-allgather");
    map.p = map.nodes = 7;
    assert_string_equal(chosen(TT_COLL_allgather, 8 << 10, &map)->name, "bruck");
    assert_string_equal(chosen(TT_COLL_allgather, (8 << 10) + 1, &map)->name, "ring");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 1 << 20, &map)->name, "circulant");
    map.p = map.nodes = 4;
    assert_string_equal(chosen(TT_COLL_allreduce, (64 << 10) - 1, &map)->name, "halving");
    assert_string_equal(chosen(TT_COLL_allreduce, 64 << 10, &map)->name, "ring");
}

/* Checks the choice for scans where ranks are distributed over the nodes in turn. A composed scan
 * passes all inputs on in that case, so it suits only small inputs, on few nodes or on nodes of
 * many ranks. */
static void scans_of_dealt_out_ranks_are_composed_if_small(void **state)
{
    (void)state;
    static const struct {
        int p, nodes;
        int64_t bytes;
        const char *name;
    } cases[] = {{16, 2, 512, "composed"}, {16, 2, 520, "doubling"}, {16, 4, 512, "composed"},
                 {32, 8, 64, "composed"},  {32, 8, 72, "doubling"},  {16, 8, 8, "doubling"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int node[PLANS_RANKS];
        struct tt_map map = plans_map(cases[i].p);
        for (int r = 0; r < map.p; r++) node[r] = r % cases[i].nodes;
        map.nodes = cases[i].nodes;
        map.node = node;
        assert_string_equal(chosen(TT_COLL_scan, cases[i].bytes / 8, &map)->name, cases[i].name);
        assert_string_equal(chosen(TT_COLL_exscan, cases[i].bytes / 8, &map)->name, cases[i].name);
    }
}

/* Checks the choice where each rank has a processor: a root must not copy the pieces of all ranks
 * one after the other, and no rank reduces the whole long vectors of all ranks, also if reading
 * costs somewhat more than storing. */
static void processors_share_the_work(void **state)
{
    (void)state;
    static const struct {
        enum tt_coll coll;
        const char *name;
    } long_ones[] = {{TT_COLL_scatter, "direct"},
                     {TT_COLL_gather, "direct"},
                     {TT_COLL_alltoall, "direct"},
                     {TT_COLL_reduce, "window"},
                     {TT_COLL_scan, "window"},
                     {TT_COLL_exscan, "window"},
                     {TT_COLL_reduce_scatter_block, "direct"},
                     {TT_COLL_allgather, "flat"},
                     {TT_COLL_bcast, "flat"}};
    struct tt_map map = plans_map(16);
    map.mapped = false;
    map.reads = map.writes = true;
    map.read_cost = 2;
    map.cores = 16;
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++) {
        const struct tt_algorithm *a = chosen(long_ones[i].coll, 1 << 17, &map);
        assert_string_equal(a->name, long_ones[i].name);
        bool hands_on = strcmp(long_ones[i].name, "window") == 0;
        assert_string_equal(chosen(long_ones[i].coll, 1, &map)->name, hands_on ? "window" : "flat");
    }
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 19, &map)->name, "halving");
    struct tt_map large = plans_map(40);
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 10, &large)->name, "flat");
    assert_string_equal(chosen(TT_COLL_scan, 1 << 10, &large)->name, "doubling");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 1 << 14, &map)->name, "halving");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 17, &map)->name, "halving");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 19, &map)->name, "direct");
    map.read_cost = 9;
    assert_string_equal(chosen(TT_COLL_scatter, 1 << 17, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 1 << 17, &map)->name, "halving");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 19, &map)->name, "halving");
    map.read_cost = 2;
    map.cores = 15;
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 17, &map)->name, "flat");
}

/* Checks the choice for a long alltoall on ranks that have a processor each. On few ranks,
 * algorithms in which a rank copies from its own buffer are faster, because its caches hold its own
 * buffer more often than the buffers of other ranks. On up to eight ranks, exchanges in pairs do
 * not hinder each other. */
static void long_alltoalls_depend_on_the_ranks(void **state)
{
    (void)state;
    static const struct {
        int p;
        int64_t bytes;
        const char *name;
    } cases[] = {{4, 64 << 10, "exchange"}, {4, 4 << 20, "exchange"}, {8, 64 << 10, "pairwise"},
                 {8, 4 << 20, "pairwise"},  {16, 8 << 10, "flat"},    {16, 96 << 10, "exchange"},
                 {16, 128 << 10, "direct"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_map map = plans_map(cases[i].p);
        map.mapped = false;
        map.read_cost = 2;
        const struct tt_algorithm *a = chosen(TT_COLL_alltoall, cases[i].bytes / 8, &map);
        assert_string_equal(a->name, cases[i].name);
    }
}

/* Checks the choice where ranks take turns on the processors. A long gather or scatter by `flat`
 * then copies each byte twice, one copy after the other, so `direct` is chosen. A bcast by `flat`
 * copies the bytes into the window once for all ranks, so it is still chosen. */
static void turns_make_single_copies_better(void **state)
{
    (void)state;
    struct tt_map map = plans_map(4);
    map.mapped = false;
    map.reads = map.writes = true;
    map.read_cost = 3;
    map.cores = 4;
    assert_string_equal(chosen(TT_COLL_gather, 1 << 20, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_scatter, 1 << 20, &map)->name, "flat");
    map.cores = 2;
    assert_string_equal(chosen(TT_COLL_gather, 1 << 20, &map)->name, "direct");
    assert_string_equal(chosen(TT_COLL_gather, 16 << 10, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_gather, (16 << 10) + 1, &map)->name, "direct");
    assert_string_equal(chosen(TT_COLL_scatter, 1 << 20, &map)->name, "direct");
    assert_string_equal(chosen(TT_COLL_scatter, 16 << 10, &map)->name, "direct");
    assert_string_equal(chosen(TT_COLL_scatter, 1 << 10, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_bcast, 1 << 20, &map)->name, "flat");
}

/* Checks the choice where ranks share processors and reading is cheap. A bcast or an allgather on
 * many ranks nevertheless uses windows: without them, all ranks would read from the root, or all
 * ranks from each other. In a reduce_scatter_block, `halving` moves half as many bytes as `flat`,
 * and suits powers of two. */
static void cheap_reading_is_no_reason_to_read_all(void **state)
{
    (void)state;
    static const struct {
        enum tt_coll coll;
        int p;
        int64_t bytes;
        const char *name;
    } cases[] = {{TT_COLL_bcast, 4, 128 << 10, "flat"},
                 {TT_COLL_bcast, 4, 256 << 10, "split"},
                 {TT_COLL_bcast, 8, 256 << 10, "flat"},
                 {TT_COLL_allgather, 4, 64 << 10, "direct"},
                 {TT_COLL_allgather, 8, 64 << 10, "flat"},
                 {TT_COLL_allgatherv, 8, 64 << 10, "flat"},
                 {TT_COLL_alltoall, 4, 16 << 10, "flat"},
                 {TT_COLL_alltoall, 4, 512 << 10, "exchange"},
                 {TT_COLL_alltoall, 4, 1 << 20, "direct"},
                 {TT_COLL_alltoall, 16, 64 << 10, "direct"},
                 {TT_COLL_reduce_scatter_block, 4, 96 << 10, "flat"},
                 {TT_COLL_reduce_scatter_block, 4, 128 << 10, "halving"},
                 {TT_COLL_reduce_scatter_block, 6, 128 << 10, "flat"},
                 {TT_COLL_reduce_scatter_block, 12, 128 << 10, "halving"},
                 {TT_COLL_reduce_scatter_block, 8, 64 << 10, "halving"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_map map = plans_map(cases[i].p);
        map.cores = 2;
        map.read_cost = 1;
        map.mapped = false;
        map.reads = map.writes = true;
        assert_string_equal(chosen(cases[i].coll, cases[i].bytes / 8, &map)->name, cases[i].name);
        map.mapped = true;
        bool shares = cases[i].coll == TT_COLL_bcast && cases[i].bytes > 64 << 10;
        if (shares) assert_string_equal(chosen(cases[i].coll, 1 << 20, &map)->name, "direct");
    }
}

/* Checks that for long calls two ranks choose an algorithm that copies each byte once, also if
 * reading another rank's memory costs somewhat more than storing. Through windows each byte would
 * be copied twice, and in a gather or scatter the root alone would make one of the two copies of
 * all data. In a bcast with a single copy, each of the two ranks copies half of the data. */
static void two_ranks_share_a_copy(void **state)
{
    (void)state;
    struct tt_map map = plans_map(2);
    map.mapped = false;
    map.reads = map.writes = true;
    map.cores = 2;
    for (map.read_cost = 1; map.read_cost <= 3; map.read_cost++) {
        bool dear = map.read_cost > 2;
        const char *direct = dear ? "flat" : "direct", *split = dear ? "flat" : "split",
                   *exchange = dear ? "flat" : "exchange";
        assert_string_equal(chosen(TT_COLL_gather, 64 << 10, &map)->name, direct);
        assert_string_equal(chosen(TT_COLL_scatter, 64 << 10, &map)->name, direct);
        assert_string_equal(chosen(TT_COLL_bcast, 256 << 10, &map)->name, split);
        assert_string_equal(chosen(TT_COLL_allgather, 16 << 10, &map)->name, exchange);
        assert_string_equal(chosen(TT_COLL_allgather, 512 << 10, &map)->name, direct);
        assert_string_equal(chosen(TT_COLL_alltoall, 4 << 10, &map)->name,
                            map.read_cost == 1 ? "exchange" : "flat");
        assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 32 << 10, &map)->name, direct);
        assert_string_equal(chosen(TT_COLL_allgather, 1 << 10, &map)->name, "flat");
        assert_string_equal(chosen(TT_COLL_scan, 1 << 10, &map)->name, "flat");
        assert_string_equal(chosen(TT_COLL_gather, 1 << 10, &map)->name, "flat");
        assert_string_equal(chosen(TT_COLL_bcast, 1 << 10, &map)->name, "flat");
    }
    map.writes = false;
    map.read_cost = 2;
    assert_string_equal(chosen(TT_COLL_bcast, 256 << 10, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 32 << 10, &map)->name, "direct");
    map.reads = false;
    assert_string_equal(chosen(TT_COLL_allgather, 16 << 10, &map)->name, "flat");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 32 << 10, &map)->name, "flat");
}

/* Checks that containers of one machine (map.one_kernel) are distinguished from nodes on a network:
 * between containers whose ranks take turns on the processors, the logical tree is chosen up to
 * larger sizes than between nodes on a network. */
static void few_nodes_are_distinguished_from_containers(void **state)
{
    (void)state;
    int node[] = {0, 0, 0, 0, 1, 1, 2, 3};
    struct tt_map map = plans_map(8);
    map.nodes = 4;
    map.node = node;
    assert_string_equal(chosen(TT_COLL_bcast, 1 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_bcast, (1 << 10) + 1, &map)->name, "composed");
    assert_string_equal(chosen(TT_COLL_allreduce, 32 << 10, &map)->name, "composed");
    map.one_kernel = true;
    map.cores = 2;
    assert_string_equal(chosen(TT_COLL_bcast, 32 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_bcast, 4 << 20, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_reduce, 32 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_reduce, 4 << 20, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 10, &map)->name, "composed");
    assert_string_equal(chosen(TT_COLL_allreduce, 256 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_allreduce, (256 << 10) + 1, &map)->name, "halving");
}

/* Sets the nodes of 16 ranks: the first node has `first` ranks, and each further node `each`; the
 * ranks of a node are adjacent. */
static void fill_nodes(struct tt_map *map, int node[16], int first, int each)
{
    for (int r = 0; r < 16; r++) node[r] = r < first ? 0 : 1 + (r - first) / each;
    map->node = node;
    map->nodes = node[15] + 1;
}

/* Checks that the logical tree is chosen on up to eight containers with up to eight ranks each, if
 * the ranks take turns on the processors. For an allreduce it is chosen only if no container has
 * more than twice as many ranks as another one. */
static void several_containers_have_a_logical_tree(void **state)
{
    (void)state;
    int node[16];
    struct tt_map map = plans_map(16);
    map.one_kernel = true;
    map.cores = 2;
    fill_nodes(&map, node, 8, 8);
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 20, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 20, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 10, &map)->name, "composed");
    assert_string_equal(chosen(TT_COLL_bcast, 2 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_bcast, 1 << 10, &map)->name, "composed");
    assert_string_equal(chosen(TT_COLL_bcast, 64 << 10, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_bcast, (64 << 10) + 1, &map)->name, "binomial");
    fill_nodes(&map, node, 8, 2);
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 20, &map)->name, "logical");
    assert_string_equal(chosen(TT_COLL_allreduce, 1 << 20, &map)->name, "ring");
    fill_nodes(&map, node, 9, 7);
    assert_string_equal(chosen(TT_COLL_reduce, 1 << 20, &map)->name, "composed");
}

/* Checks that on containers where each rank has a processor, algorithms are chosen in which all
 * ranks copy at the same time. */
static void containers_with_many_processors_share_the_work(void **state)
{
    (void)state;
    int node[16];
    static const struct {
        enum tt_coll coll;
        int64_t bytes;
        const char *few, *several; /* the algorithm on two containers, and the one on eight */
    } cases[] = {{TT_COLL_allreduce, 4 << 10, "composed", "composed"},
                 {TT_COLL_allreduce, 64 << 10, "parts", "doubling"},
                 {TT_COLL_allreduce, 128 << 10, "halving", "halving"},
                 {TT_COLL_bcast, 64 << 10, "logical", "two-tree"},
                 {TT_COLL_bcast, 1 << 20, "two-tree", "two-tree"},
                 {TT_COLL_reduce, 8 << 10, "composed", "composed"},
                 {TT_COLL_reduce, 256 << 10, "two-tree", "two-tree"},
                 {TT_COLL_reduce, 1 << 20, "halving", "halving"},
                 {TT_COLL_reduce_scatter_block, 2 << 10, "composed", "composed"},
                 {TT_COLL_reduce_scatter_block, 8 << 10, "circulant", "circulant"},
                 {TT_COLL_reduce_scatter_block, 64 << 10, "halving", "halving"},
                 {TT_COLL_allgather, 8 << 10, "composed", "composed"},
                 {TT_COLL_allgather, 64 << 10, "neighbour", "neighbour"},
                 {TT_COLL_alltoall, 2 << 10, "composed", "composed"},
                 {TT_COLL_alltoall, 4 << 10, "pairwise", "composed"},
                 {TT_COLL_alltoall, 8 << 10, "pairwise", "pairwise"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_map map = plans_map(16);
        map.one_kernel = true;
        map.cores = 16;
        fill_nodes(&map, node, 8, 8);
        assert_string_equal(chosen(cases[i].coll, cases[i].bytes / 8, &map)->name, cases[i].few);
        fill_nodes(&map, node, 2, 2);
        assert_string_equal(chosen(cases[i].coll, cases[i].bytes / 8, &map)->name,
                            cases[i].several);
    }
}

/* Checks that a reduce_scatter of 512 bytes and more does not go through leaders if each node is a
 * machine of its own and has several ranks. Between two containers whose ranks take turns, it does
 * not go through leaders if the number of ranks is a power of two. */
static void long_reduce_scatters_avoid_leaders(void **state)
{
    (void)state;
    int node[16];
    struct tt_map map = plans_map(16);
    fill_nodes(&map, node, 8, 8);
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 64, &map)->name, "parts");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 63, &map)->name, "composed");
    map.one_kernel = true;
    map.cores = 2;
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 8 << 10, &map)->name, "halving");
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 4 << 10, &map)->name, "composed");
    fill_nodes(&map, node, 4, 4);
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 8 << 10, &map)->name, "composed");
    map.one_kernel = false;
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 8 << 10, &map)->name, "parts");
    fill_nodes(&map, node, 1, 5);
    assert_string_equal(chosen(TT_COLL_reduce_scatter_block, 8 << 10, &map)->name, "composed");
}

/* Checks that all ranks of a node take part in a long allgather between nodes if each node is a
 * machine of its own and has several adjacent ranks. */
static void long_allgathers_share_the_traffic(void **state)
{
    (void)state;
    int node[16];
    struct tt_map map = plans_map(16);
    fill_nodes(&map, node, 8, 8);
    assert_string_equal(chosen(TT_COLL_allgather, 8 << 10, &map)->name, "parts");
    assert_string_equal(chosen(TT_COLL_allgather, (8 << 10) - 1, &map)->name, "composed");
    fill_nodes(&map, node, 1, 5);
    assert_string_equal(chosen(TT_COLL_allgather, 8 << 10, &map)->name, "ring");
    fill_nodes(&map, node, 4, 4);
    map.one_kernel = true;
    map.cores = 2;
    assert_string_equal(chosen(TT_COLL_allgather, 8 << 10, &map)->name, "ring");
}

/* Checks that several ranks of each node take part in an allreduce between machines if each has
 * several ranks and none has more than twice as many as another one, for any number of machines and
 * any order of the ranks. On other nodes, a ring is chosen for long vectors if the ranks of each
 * node are adjacent. */
static void long_allreduces_share_the_traffic(void **state)
{
    (void)state;
    static const struct {
        int first, each; /* ranks of the first node, and of each further node, of 16 */
        const char *name;
    } cases[] = {{8, 8, "parts"}, {6, 5, "parts"}, {4, 3, "parts"},    {2, 2, "parts"},
                 {4, 2, "parts"}, {7, 3, "ring"},  {1, 3, "ring"},     {1, 15, "composed"},
                 {5, 4, "parts"}, {4, 4, "parts"}, {11, 5, "composed"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int node[16];
        struct tt_map map = plans_map(16);
        fill_nodes(&map, node, cases[i].first, cases[i].each);
        assert_string_equal(chosen(TT_COLL_allreduce, 64 << 10, &map)->name, cases[i].name);
        bool parts = strcmp(cases[i].name, "parts") == 0;
        assert_string_equal(chosen(TT_COLL_allreduce, 512, &map)->name,
                            parts ? "parts" : "composed");
        assert_string_equal(chosen(TT_COLL_allreduce, 511, &map)->name, "composed");
        map.one_kernel = true;
        map.cores = 2;
        assert_string_not_equal(chosen(TT_COLL_allreduce, 512, &map)->name, "parts");
    }
}

/* Checks that ranks that are dealt out to machines in turn choose `parts`, also on more machines
 * than the table counts at a time; but not if one machine has a single rank. */
static void dealt_out_allreduces_share_the_traffic(void **state)
{
    (void)state;
    enum { NODES = 300 };
    static int node[2 * NODES];
    struct tt_map map = plans_map(2 * NODES);
    map.node = node;
    for (int r = 0; r < 2 * NODES; r++) node[r] = r % NODES;
    for (map.nodes = 2; map.nodes <= NODES; map.nodes += 149) {
        map.p = 2 * map.nodes;
        for (int r = 0; r < map.p; r++) node[r] = r % map.nodes;
        assert_string_equal(chosen(TT_COLL_allreduce, 512, &map)->name, "parts");
        map.p--;
        assert_string_not_equal(chosen(TT_COLL_allreduce, 512, &map)->name, "parts");
    }
}

/* Checks that a long bcast and reduce pass along a chain of up to 24 ranks, if the ranks of each
 * machine are adjacent; but not between containers of one machine. */
static void long_vectors_pass_along_a_chain(void **state)
{
    (void)state;
    enum { LEAST = (2 << 20) / 8 }; /* of a bcast; half as much of a reduce */
    static const enum tt_coll colls[] = {TT_COLL_bcast, TT_COLL_reduce};
    for (int i = 0; i < 2; i++) {
        int node[PLANS_RANKS];
        struct tt_map map = plans_map(24);
        map.node = node;
        map.nodes = 3;
        for (int r = 0; r < 24; r++) node[r] = r / 8;
        assert_string_equal(chosen(colls[i], LEAST >> i, &map)->name, "chain");
        assert_string_equal(chosen(colls[i], (LEAST >> i) - 1, &map)->name, "composed");
        for (int r = 0; r < 24; r++) node[r] = r % 3;
        assert_string_equal(chosen(colls[i], LEAST, &map)->name, "composed");
        for (int r = 0; r < 25; r++) node[r] = r / 9;
        map.p = 25;
        assert_string_equal(chosen(colls[i], LEAST, &map)->name, "composed");
        for (int r = 0; r < 8; r++) node[r] = r / 3;
        map.p = 8;
        map.one_kernel = true;
        map.cores = 2;
        assert_string_not_equal(chosen(colls[i], LEAST, &map)->name, "chain");
    }
}

static int64_t most_messages(const struct tt_problem *problem, const struct tt_map *map)
{
    struct plans all;
    assert_true(plans_make(&all, &tt_bcast_logical, problem, map));
    int64_t messages = plans_worst(&all).messages;
    plans_free(&all);
    return messages;
}

/* Checks that a long bcast between nodes is cut into longer slices if the nodes are containers of
 * one machine and share its processors. */
static void slices_are_long_where_nodes_share_processors(void **state)
{
    (void)state;
    int node[] = {0, 0, 0, 0, 1, 1, 2, 3};
    struct tt_problem problem = plans_problem(TT_COLL_bcast, 8, 128 << 10);
    struct tt_map map = plans_map(8);
    map.nodes = 4;
    map.node = node;
    plans_window(&map, 1 << 20);
    map.one_kernel = true;
    int64_t short_slices = most_messages(&problem, &map);
    map.cores = 2;
    assert_int_equal(most_messages(&problem, &map) * 8, short_slices);
    map.one_kernel = false;
    assert_int_equal(most_messages(&problem, &map), short_slices);
}

/* Checks where the choice for an alltoall on a hypercube of p = 2^d ranks changes from `hypercube`
 * to `pairwise`: at the length at which both take the same time by the formulas of Grama et al.
 * (section 4.5), where a message takes t_s = 1 us, and t_w = 1 ns for each byte. The elements have
 * 8 bytes. */
static void the_crossover_on_hypercubes_is_found(void **state)
{
    (void)state;
    for (int d = 2; d <= 6; d++) {
        char text[32];
        snprintf(text, sizeof text, "hypercube:%d", d);
        struct tt_net net = plans_network(text);
        struct tt_map map = plans_map(net.ranks);
        map.net = &net;
        int64_t p = net.ranks, meet = 1000 * (p - 1 - d) / (p / 2 * d - p + 1);
        assert_string_equal(chosen(TT_COLL_alltoall, meet / 8, &map)->name, "hypercube");
        assert_string_equal(chosen(TT_COLL_alltoall, meet / 8 + 1, &map)->name, "pairwise");
        assert_string_not_equal(chosen(TT_COLL_allreduce, 1, &map)->name, "hypercube");
        tt_net_free(&net);
    }
}

/* Checks that the mean of the counts decides which algorithm does an allgatherv or a
 * reduce_scatter, as the count does for an allgather or a reduce_scatter_block. */
static void means_of_counts_choose(void **state)
{
    (void)state;
    struct tt_map map = plans_map(4);
    map.read_cost = 1;
    map.cores = 2;
    map.mapped = false;
    for (int64_t n = 1; n < 1 << 20; n *= 2) {
        int64_t counts[] = {0, 3 * n, n, 0}, displs[] = {0, 0, 3 * n, 4 * n};
        struct tt_problem gather = plans_problem(TT_COLL_allgatherv, 4, 0);
        struct tt_problem reduce = plans_problem(TT_COLL_reduce_scatter, 4, 0);
        struct tt_choice a = {.algorithm = NULL};
        gather.call.out_counts = reduce.call.out_counts = counts;
        gather.call.out_displs = displs;
        reduce.call.n = 4 * n;
        assert_int_equal(tt_choose(&gather.call, &map, NULL, &a, NULL), TUTTI_OK);
        assert_string_equal(a.algorithm->name, chosen(TT_COLL_allgather, n, &map)->name);
        assert_string_equal(a.algorithm->name, n * gather.call.sz <= 32 << 10 ? "flat" : "direct");
        assert_int_equal(tt_choose(&reduce.call, &map, NULL, &a, NULL), TUTTI_OK);
        assert_string_equal(a.algorithm->name, chosen(TT_COLL_reduce_scatter_block, n, &map)->name);
        assert_string_equal(a.algorithm->name, n * reduce.call.sz <= 96 << 10 ? "flat" : "halving");
    }
}

/* Checks that between nodes, too, the mean of the counts decides which algorithm does an
 * allgatherv. */
static void means_of_counts_choose_between_nodes(void **state)
{
    (void)state;
    static const struct {
        int on_node;
        int64_t mean; /* the mean of the counts, in bytes */
        const char *name;
    } cases[] = {{4, 8, "composed"},
                 {4, (64 << 10) - 8, "composed"},
                 {4, 64 << 10, "parts"},
                 {1, 64 << 10, "bruck"},
                 {1, (64 << 10) + 8, "ring"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int node[8];
        int64_t n = cases[i].mean / 8, counts[8] = {8 * n}, displs[8] = {0};
        struct tt_map map = plans_map(8);
        struct tt_problem problem = plans_problem(TT_COLL_allgatherv, 8, 0);
        struct tt_choice a = {.algorithm = NULL};
        for (int r = 0; r < 8; r++) node[r] = r / cases[i].on_node;
        map.nodes = 8 / cases[i].on_node;
        map.node = node;
        problem.call.out_counts = counts;
        problem.call.out_displs = displs;
        assert_int_equal(problem.call.sz, 8);
        assert_int_equal(tt_choose(&problem.call, &map, NULL, &a, NULL), TUTTI_OK);
        assert_string_equal(a.algorithm->name, cases[i].name);
    }
}

/* Checks that a short alltoall goes through the leaders of the nodes, and on up to eight nodes with
 * up to eight ranks each also a longer one. */
static void short_exchanges_go_through_leaders(void **state)
{
    (void)state;
    static const struct {
        int nodes, on_node;
        int64_t most; /* bytes up to which `composed` is chosen */
    } cases[] = {{4, 4, (8 << 10) - 8},
                 {8, 2, (8 << 10) - 8},
                 {2, 8, (8 << 10) - 8},
                 {16, 2, 512},
                 {2, 16, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int node[PLANS_RANKS];
        struct tt_map map = plans_map(cases[i].nodes * cases[i].on_node);
        for (int r = 0; r < map.p; r++) node[r] = r / cases[i].on_node;
        map.nodes = cases[i].nodes;
        map.node = node;
        assert_string_equal(chosen(TT_COLL_alltoall, cases[i].most / 8, &map)->name, "composed");
        assert_string_equal(chosen(TT_COLL_alltoall, cases[i].most / 8 + 1, &map)->name,
                            "pairwise");
    }
}

/* Checks that the choice between machines depends on the speed of their links, on up to 128 ranks;
 * and that a speed that is not known and a slow link lead to the same choice. Messages start as by
 * RDMA on fast links, and as by TCP on all others. */
static void the_speed_of_links_decides(void **state)
{
    (void)state;
    static const struct {
        enum tt_coll coll;
        int64_t n;
        const char *slow, *medium, *fast; /* 10, 25 and 100 Gbit/s */
    } cases[] = {{TT_COLL_allgather, 64 << 10, "parts", "ring", "ring"},
                 {TT_COLL_reduce_scatter_block, 1 << 10, "parts", "parts", "halving"},
                 {TT_COLL_bcast, 8 << 10, "composed", "logical", "two-tree"},
                 {TT_COLL_reduce, 16 << 10, "composed", "composed", "halving"},
                 {TT_COLL_alltoall, 512, "composed", "hypercube", "pairwise"},
                 {TT_COLL_gather, 512, "composed", "composed", "linear"}};
    /* three speeds for each of the columns above */
    static const int speeds[] = {1000, 10000, 15999, 16000, 25000, 49999, 50000, 100000, 400000};
    static int node[130];
    for (int r = 0; r < 130; r++) node[r] = r / 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_map map = plans_map(16);
        map.node = node;
        map.nodes = 8;
        assert_string_equal(chosen(cases[i].coll, cases[i].n, &map)->name, cases[i].slow);
        for (size_t k = 0; k < sizeof speeds / sizeof *speeds; k++) {
            const char *const names[] = {cases[i].slow, cases[i].medium, cases[i].fast};
            map.link = (struct tt_machine_link){speeds[k], k / 3 == 2 ? 2000 : 0};
            assert_string_equal(chosen(cases[i].coll, cases[i].n, &map)->name, names[k / 3]);
        }
        map.p = 130;
        map.nodes = 65;
        const char *large = chosen(cases[i].coll, cases[i].n, &map)->name;
        map.link = (struct tt_machine_link){0};
        assert_string_equal(chosen(cases[i].coll, cases[i].n, &map)->name, large);
    }
    struct tt_map most = plans_map(128);
    most.node = node;
    most.nodes = 64;
    const char *slow = chosen(TT_COLL_allgather, 64 << 10, &most)->name;
    most.link.mbit = 100000;
    assert_string_not_equal(chosen(TT_COLL_allgather, 64 << 10, &most)->name, slow);
}

/* Checks that the time in which a message starts decides about calls of up to 16 KiB if the link is
 * not slow, and the speed alone about longer calls and on slow links. */
static void the_start_of_messages_decides(void **state)
{
    (void)state;
    static const struct {
        enum tt_coll coll;
        int64_t n;
        const char *name[3][2]; /* 10, 25 and 100 Gbit/s; messages start as by TCP, as by RDMA */
    } cases[] = {
        {TT_COLL_bcast,
         (16 << 10) / 8,
         {{"composed", "composed"}, {"logical", "composed"}, {"logical", "composed"}}},
        {TT_COLL_bcast,
         (64 << 10) / 8,
         {{"composed", "composed"}, {"logical", "logical"}, {"two-tree", "two-tree"}}},
        {TT_COLL_reduce,
         (16 << 10) / 8 + 1,
         {{"composed", "composed"}, {"composed", "composed"}, {"halving", "halving"}}},
        {TT_COLL_alltoall,
         (4 << 10) / 8,
         {{"composed", "composed"}, {"hypercube", "pairwise"}, {"hypercube", "pairwise"}}},
    };
    static const int speeds[] = {10000, 25000, 100000};
    static const int starts[][3] = {{0, 8001, 23000}, {1, 2000, 8000}};
    int node[16];
    for (int r = 0; r < 16; r++) node[r] = r / 2;
    struct tt_map map = plans_map(16);
    map.node = node;
    map.nodes = 8;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 3 * 2 * 3; k++) {
            map.link = (struct tt_machine_link){speeds[k / 6], starts[k / 3 % 2][k % 3]};
            assert_string_equal(chosen(cases[i].coll, cases[i].n, &map)->name,
                                cases[i].name[k / 6][k / 3 % 2]);
        }
}

/* Lets each allocation of a choice fail once, which must be an error. If a rank could not find out
 * whether an algorithm applies and chose another one than the other ranks, the team would break
 * with a mismatch. */
static void a_choice_without_memory_is_an_error(void **state)
{
    (void)state;
    int node[] = {0, 0, 0, 0, 1, 1, 2, 3}, lacks = 0;
    struct tt_map map = plans_map(8);
    map.nodes = 4;
    map.node = node;
    for (int coll = 0; coll < TT_COLLS; coll++) {
        struct tt_problem problem = plans_problem((enum tt_coll)coll, 8, 1);
        const struct tt_algorithm *usual = chosen((enum tt_coll)coll, 1, &map);
        struct tt_choice a = {.algorithm = NULL};
        enum tt_chosen_by by = TT_CHOSEN_FORCED;
        tutti_status status = TUTTI_ERR_MEMORY;
        int failed = -1;
        for (; status == TUTTI_ERR_MEMORY; failed++) {
            tt_memory_fail_at(failed + 1);
            status = tt_choose(&problem.call, &map, NULL, &a, &by);
            tt_memory_fail_at(-1);
        }
        assert_int_equal(status, TUTTI_OK);
        assert_int_equal(by, TT_CHOSEN_TABLE);
        if (a.algorithm != usual)
            fail_msg("%s %s, not %s", tt_coll_name((enum tt_coll)coll), a.algorithm->name,
                     usual->name);
        assert_true(failed > 0 || !usual->composition);
        lacks += failed;
    }
    assert_true(lacks > 0);
}

/* Checks that a piece lies in the low part of a window or after it, and that a plan is refused in
 * which a piece crosses the end of the low part. */
static void ranges_are_low_or_high(void **state)
{
    (void)state;
    static const struct {
        int64_t offset, bytes;
        bool good;
    } cases[] = {{0, 8, true},  {0, 16, true},  {8, 8, true},
                 {16, 8, true}, {8, 16, false}, {0, 17, false}};
    const struct tt_call call = plans_problem(TT_COLL_gatherv, 2, 1).call;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_builder *b = tt_builder_new(2, 0, &call, "apart");
        assert_non_null(b);
        tt_builder_divide(b, 16);
        tt_copy(b, tt_own(TT_WIN, cases[i].offset), tt_own(TT_IN, 0), cases[i].bytes);
        struct tt_plan *plan = tt_builder_finish(b);
        assert_int_equal(plan != NULL, cases[i].good);
        tt_plan_free(plan);
        tt_builder_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sums_are_shared),
        cmocka_unit_test(something_applies),
        cmocka_unit_test(small_ones_mind_nodes),
        cmocka_unit_test(dealt_out_ranks_need_it_more),
        cmocka_unit_test(ranks_on_their_own_have_nothing_to_share),
        cmocka_unit_test(scans_of_dealt_out_ranks_are_composed_if_small),
        cmocka_unit_test(few_nodes_are_distinguished_from_containers),
        cmocka_unit_test(several_containers_have_a_logical_tree),
        cmocka_unit_test(containers_with_many_processors_share_the_work),
        cmocka_unit_test(long_reduce_scatters_avoid_leaders),
        cmocka_unit_test(long_allreduces_share_the_traffic),
        cmocka_unit_test(long_allgathers_share_the_traffic),
        cmocka_unit_test(dealt_out_allreduces_share_the_traffic),
        cmocka_unit_test(long_vectors_pass_along_a_chain),
        cmocka_unit_test(slices_are_long_where_nodes_share_processors),
        cmocka_unit_test(the_crossover_on_hypercubes_is_found),
        cmocka_unit_test(processors_share_the_work),
        cmocka_unit_test(long_alltoalls_depend_on_the_ranks),
        cmocka_unit_test(turns_make_single_copies_better),
        cmocka_unit_test(cheap_reading_is_no_reason_to_read_all),
        cmocka_unit_test(two_ranks_share_a_copy),
        cmocka_unit_test(means_of_counts_choose),
        cmocka_unit_test(means_of_counts_choose_between_nodes),
        cmocka_unit_test(short_exchanges_go_through_leaders),
        cmocka_unit_test(the_speed_of_links_decides),
        cmocka_unit_test(the_start_of_messages_decides),
        cmocka_unit_test(a_choice_without_memory_is_an_error),
        cmocka_unit_test(ranges_are_low_or_high),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
