/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulations give exactly the times of the algorithms' formulas: in the textbook's model, and link
 * by link on suitable networks with cut-through and hops that take no time. Link by link, a formula
 * holds only where no two messages need a link at the same time.
 */
#include <stdio.h>
#include <string.h>

#include "../brief.h"
#include "coll/coll-util.h"
#include "simulated.h"

static void meets_formula(const char *problem, const char *algorithm, const struct tt_model *model)
{
    struct outcome o = simulated(problem, algorithm, model);
    if (o.formula_ps < 0 || o.time_ps != o.formula_ps)
        fail_msg("%s by %s: %lld ps, formula %lld", problem, algorithm, (long long)o.time_ps,
                 (long long)o.formula_ps);
}

static void meets_it_both_ways(const char *problem, const char *algorithm)
{
    meets_formula(problem, algorithm, &model_simple);
    meets_formula(problem, algorithm, &model_links);
}

static void has_none(const char *problem, const char *algorithm, const struct tt_model *model)
{
    assert_int_equal(simulated(problem, algorithm, model).formula_ps, -1);
}

/* ---- Total exchange ---- */

static void rings(void **state)
{
    (void)state;
    struct tt_model all_ports = model_simple, all_links = model_links;
    all_ports.all_ports = all_links.all_ports = true;
    for (int p = 2; p <= 64; p += brief(1, 5)) {
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/1000/p%d@ring:%d", p, p);
        meets_it_both_ways(text, "ring");
        meets_it_both_ways(text, "ring-both");
        meets_formula(text, "ring-both", &all_ports);
        if (p > 2) /* two ranks have one link in each direction */
            meets_formula(text, "ring-both", &all_links);
    }
}

static void on_grid(const char *kind, const char *extents, int p)
{
    char text[64];
    snprintf(text, sizeof text, "alltoall/u8/100/p%d@%s:%s", p, kind, extents);
    meets_it_both_ways(text, "mesh");
}

static void meshes_and_tori(void **state)
{
    (void)state;
    static const char *const kinds[] = {"mesh", "torus"};
    static const struct {
        const char *extents;
        int p;
    } oblong[] = {
        {"7", 7},           {"3x5", 15},         {"2x9", 18},          {"8x1x3", 24},
        {"2x3x4", 24},      {"5x4x3", 60},       {"3x4x5x2", 120},     {"2x3x2x3x2", 72},
        {"4x2x2x3x3", 144}, {"2x2x3x2x2x2", 96}, {"3x2x2x2x2x4", 192},
    };
    for (int k = 0; k < 2; k++) {
        for (int e = 2; e <= brief(16, 9); e++) {
            char square[24];
            snprintf(square, sizeof square, "%dx%d", e, e);
            on_grid(kinds[k], square, e * e);
        }
        for (size_t i = 0; i < sizeof oblong / sizeof *oblong; i++)
            on_grid(kinds[k], oblong[i].extents, oblong[i].p);
    }
}

static void hypercubes(void **state)
{
    (void)state;
    for (int d = 1; d <= brief(10, 7); d++) {
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/16/p%d@hypercube:%d", 1 << d, d);
        meets_it_both_ways(text, "hypercube");
        meets_it_both_ways(text, "pairwise");
    }
}

/* Checks the formulas of algorithms for alltoall on any number of ranks, in the textbook's model
 * only, because on a network messages may share links. */
static void exchanges_of_any_number(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"pairwise", "bruck", "mesh", "ring", "ring-both"};
    struct tt_model copies = model_simple;
    copies.tr_ps = 70;
    for (int p = 2; p <= 64; p += brief(1, 5)) {
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/1001/p%d", p);
        for (int a = 0; a < 5; a++) meets_formula(text, algorithms[a], &model_simple);
        for (int a = 0; a < 4; a++) meets_formula(text, algorithms[a], &copies);
        has_none(text, "ring-both", &copies);
        snprintf(text, sizeof text, "alltoall/u8/1/p%d", p); /* of each block, one half is empty */
        meets_formula(text, "ring-both", &model_simple);
    }
}

/* Checks that hypercube is faster than pairwise for messages of fewer bytes than m* = t_s (p - 1 -
 * log2 p) / (t_w (p/2 log2 p - p + 1)), and slower for more. t_s is the start-up time of a message,
 * and t_w the time of a byte. */
static void small_blocks_go_by_dimensions(void **state)
{
    (void)state;
    for (int64_t d = 2; d <= brief(10, 7); d++) {
        int64_t p = 1 << d, over = model_simple.ts_ps * (p - 1 - d);
        int64_t under = model_simple.tw_ps * (p / 2 * d - p + 1), m = over / under;
        for (int64_t bytes = m - (over % under == 0); bytes <= m + 1; bytes++) {
            char text[64];
            snprintf(text, sizeof text, "alltoall/u8/%d/p%d", (int)bytes, (int)p);
            int64_t by_dimensions = simulated(text, "hypercube", &model_simple).time_ps;
            int64_t pairwise = simulated(text, "pairwise", &model_simple).time_ps;
            if (bytes * under < over) assert_true(by_dimensions < pairwise);
            if (bytes * under == over) assert_int_equal(by_dimensions, pairwise);
            if (bytes * under > over) assert_true(by_dimensions > pairwise);
        }
    }
}

/* Compares times that were worked out by hand with the simulation. */
static void figures_by_hand(void **state)
{
    (void)state;
    assert_int_equal(simulated("alltoall/u8/1000/p4@ring:4", "ring", &model_simple).time_ps,
                     3 * 1000000 + (3 + 2 + 1) * 1000 * 1000);
    assert_int_equal(simulated("alltoall/u8/1000/p5@ring:5", "ring-both", &model_simple).time_ps,
                     4 * 1000000 + 6 * 1000 * 1000);
    assert_int_equal(simulated("alltoall/u8/1000/p16@torus:4x4", "mesh", &model_links).time_ps,
                     6 * 1000000 + 48 * 1000 * 1000);
    assert_int_equal(
        simulated("alltoall/u8/1000/p8@hypercube:3", "hypercube", &model_links).time_ps,
        3 * 1000000 + 12 * 1000 * 1000);
    assert_int_equal(simulated("alltoall/u8/1000/p8@hypercube:3", "pairwise", &model_links).time_ps,
                     7 * 1000000 + 7 * 1000 * 1000);
}

/* Checks the total traffic of an alltoall by `ring` on a network that is a ring of p ranks: m (p -
 * 1) p / 2 bytes for each rank, where m is the bytes of a block. The traffic is evenly distributed
 * over p links. */
static void a_ring_carries_what_it_must(void **state)
{
    (void)state;
    struct outcome o = simulated("alltoall/u8/1000/p9@ring:9", "ring", &model_links);
    assert_int_equal(o.bytes, 1000 * 8 * 9 / 2 * 9);
    assert_int_equal(o.max_link_bytes, 1000 * 8 * 9 / 2);
    assert_int_equal(o.steps, 8);
}

/* ---- The other collectives ---- */

/* Models of the textbook's kind: the cost of a reduced byte (gamma) is below or above that of a
 * byte that is sent; rearranging costs something (t_r) or nothing; and sending and receiving at
 * once costs more or not. */
static const struct tt_model simples[] = {
    {.kind = TT_MODEL_simple, .ts_ps = 1000000, .tw_ps = 1000},
    {.kind = TT_MODEL_simple, .ts_ps = 1000000, .tw_ps = 1000, .gamma_ps = 300, .tr_ps = 2000},
    {.kind = TT_MODEL_simple, .ts_ps = 10000, .tw_ps = 1000, .gamma_ps = 2900, .tr_ps = 50},
    {.kind = TT_MODEL_simple, .tw_ps = 1000, .gamma_ps = 1400},
    {.kind = TT_MODEL_simple, .ts_ps = 10000, .tw_ps = 1000, .tw_both_ps = 1700, .gamma_ps = 1400},
    {.kind = TT_MODEL_simple, .tw_ps = 1000, .tw_both_ps = 2000, .gamma_ps = 1400, .tr_ps = 400},
};
enum {
    SIMPLES = 6,
    /* in the first ONE_WAY models of simples[], sending and receiving at once costs no more
     * (tw_both_ps is 0) */
    ONE_WAY = 4,
    CHEAP = 2 /* in the first CHEAP models a reduction costs less than a transfer */
};

/* Compares formula and simulation for a problem, in which "%d" stands for the number of ranks,
 * under the first `models` models of simples[]. */
static void meets_it_for(const char *problem, const char *algorithm, int p, int models)
{
    char text[96];
    snprintf(text, sizeof text, problem, p);
    for (int i = 0; i < models; i++) meets_formula(text, algorithm, &simples[i]);
}

/* Compares formula and simulation for a problem, in which "%d" stands for the number of ranks and
 * "%s" for `keys` (keys of a problem string, as in "/slice=16"), under the first `models` models of
 * simples[]. */
static void meets_it_with(const char *problem, const char *keys, const char *algorithm, int p,
                          int models)
{
    char text[96];
    snprintf(text, sizeof text, problem, p, keys);
    meets_it_for(text, algorithm, p, models);
}

static bool is_power_of_two(int p)
{
    return (p & (p - 1)) == 0;
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p += brief(1, 5)) {
        meets_it_for("barrier/p%d", "dissemination", p, SIMPLES);
        meets_it_for("barrier/p%d", "flat", p, SIMPLES);
        meets_it_for("bcast/u8/1001/p%d/root=1", "binomial", p, SIMPLES);
        meets_it_for("bcast/u8/1001/p%d/slice=64", "binomial", p, ONE_WAY);
        meets_it_for("allgather/u8/1001/p%d", "ring", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d/inplace=1", "ring", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d", "bruck", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d", "circulant", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d/inplace=1", "circulant", p, SIMPLES);
        meets_it_for("reduce_scatter_block/f64/sum/1K/p%d", "circulant", p, SIMPLES);
        meets_it_for("reduce_scatter_block/f64/sum/1K/p%d/inplace=1", "circulant", p, SIMPLES);
        meets_it_for("bcast/u8/1001/p%d/root=1", "chain", p, SIMPLES);
        meets_it_for("bcast/u8/6400/p%d/slice=64", "chain", p, ONE_WAY);
        meets_it_for("reduce/f64/sum/8000/p%d/root=1", "chain", p, SIMPLES);
        meets_it_for("reduce/f64/sum/8000/p%d/slice=400", "chain", p, ONE_WAY);
        meets_it_for("reduce/f64/sum/8000/p%d/slice=400/order=rank", "chain", p, ONE_WAY);
        meets_it_for("reduce/u8/sum/1001/p%d", "binomial", p, 1);
        for (int in_place = 0; in_place < 2; in_place++) {
            const char *where = in_place ? "/inplace=1" : "";
            meets_it_with("scan/f64/sum/8000/p%d%s", where, "chain", p, SIMPLES);
            meets_it_with("scan/f64/sum/8000/p%d/slice=400%s", where, "chain", p, ONE_WAY);
            meets_it_with("exscan/f64/sum/8000/p%d%s", where, "chain", p, SIMPLES);
            meets_it_with("exscan/f64/sum/8000/p%d/slice=400%s", where, "chain", p, ONE_WAY);
        }
        meets_it_for("gather/u8/1001/p%d/root=1", "linear", p, SIMPLES);
        meets_it_for("gather/u8/1001/p%d/radix=2/inplace=1", "linear", p, SIMPLES);
        meets_it_for("scatter/u8/1001/p%d/root=1", "linear", p, SIMPLES);
        meets_it_for("scatter/u8/1001/p%d/radix=2/inplace=1", "linear", p, SIMPLES);
        meets_it_for("scatter/u8/1001/p%d/root=1", "binomial", p, SIMPLES);
        meets_it_for("scatter/u8/9/p%d/inplace=1", "binomial", p, SIMPLES);
        meets_it_for("allreduce/u8/sum/1001/p%d", "doubling", p,
                     is_power_of_two(p) ? SIMPLES : ONE_WAY);
        meets_it_for("allreduce/u8/sum/1001/p%d", "multiplying", p,
                     is_power_of_two(p) ? SIMPLES : ONE_WAY);
        meets_it_for("allreduce/u8/sum/1001/p%d/radix=3", "multiplying", p, ONE_WAY);
        meets_it_for("allreduce/u8/sum/1001/p%d/radix=32", "multiplying", p, ONE_WAY);
    }
}

static void even_numbers(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p += brief(2, 6)) {
        meets_it_for("allgather/u8/1001/p%d", "neighbour", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d/inplace=1", "neighbour", p, SIMPLES);
    }
}

static void blocks_that_are_equal(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p += brief(1, 5)) {
        char text[64];
        snprintf(text, sizeof text, "allreduce/f32/sum/%d/p%%d", 4 * 13 * p);
        meets_it_for(text, "ring", p, SIMPLES);
        meets_it_for(text, "circulant", p, SIMPLES);
        strcat(text, "/inplace=1");
        meets_it_for(text, "circulant", p, SIMPLES);
    }
}

static void powers_of_two(void **state)
{
    (void)state;
    for (int p = 2; p <= 64; p *= 2) {
        meets_it_for("bcast/u8/6400/p%d/root=1", "scatter-allgather", p, SIMPLES);
        meets_it_for("reduce/f64/sum/8000/p%d/root=1", "binomial", p, SIMPLES);
        meets_it_for("scan/u8/sum/1001/p%d", "doubling", p, CHEAP);
        meets_it_for("scan/u8/sum/1001/p%d/inplace=1", "doubling", p, CHEAP);
        meets_it_for("exscan/u8/sum/1001/p%d", "doubling", p + 1, CHEAP);
        meets_it_for("exscan/u8/sum/1001/p%d/inplace=1", "doubling", p + 1, CHEAP);
        meets_it_for("allgather/u8/1001/p%d", "doubling", p, SIMPLES);
        meets_it_for("allgather/u8/1001/p%d/inplace=1", "doubling", p, SIMPLES);
        meets_it_for("gather/u8/1001/p%d/root=1", "binomial", p, SIMPLES);
        meets_it_for("gather/u8/1/p%d", "binomial", p, SIMPLES);
        meets_it_for("gather/u8/1001/p%d/slice=100/inplace=1", "binomial", p, SIMPLES);
        meets_it_for("reduce_scatter_block/f64/sum/1K/p%d", "halving", p, SIMPLES);
        meets_it_for("reduce_scatter_block/f64/sum/1K/p%d/inplace=1", "halving", p, SIMPLES);
        meets_it_for("reduce/f64/sum/64K/p%d/root=1", "halving", p, SIMPLES);
        meets_it_for("reduce/f64/sum/64K/p%d/slice=1K", "halving", p, SIMPLES);
        meets_it_for("allreduce/f64/sum/64K/p%d", "halving", p, SIMPLES);
        meets_it_for("allreduce/f64/sum/64K/p%d/slice=1K", "halving", p, SIMPLES);
    }
}

static void full_trees(void **state)
{
    (void)state;
    static const int full[] = {2, 3, 7, 15, 31, 63};
    for (int i = 0; i < 6; i++) {
        meets_it_for("reduce/f64/sum/64K/p%d/slice=1K", "prt", full[i], ONE_WAY);
        meets_it_for("reduce/f64/sum/1K/p%d/root=1", "prt", full[i], ONE_WAY);
        meets_it_for("allreduce/f64/sum/64K/p%d/slice=1K", "prt", full[i], ONE_WAY);
        meets_it_for("reduce/f64/sum/64K/p%d/slice=1K", "in-order", full[i], ONE_WAY);
        meets_it_for("reduce/f64/sum/1K/p%d/order=rank", "in-order", full[i], ONE_WAY);
        meets_it_for("bcast/u8/64K/p%d/slice=1K/root=1", "tree", full[i], ONE_WAY);
        meets_it_for("reduce/f64/sum/64K/p%d/slice=1K/root=1", "tree", full[i], ONE_WAY);
        meets_it_for("allreduce/f64/sum/64K/p%d/slice=1K", "tree", full[i], ONE_WAY);
    }
    meets_it_for("reduce/f64/sum/64K/p%d/slice=1K/root=7/order=rank", "in-order", 15, ONE_WAY);
    meets_it_for("reduce/f64/sum/64K/p%d/slice=1K/root=26/order=rank/radix=3", "in-order", 40,
                 ONE_WAY);
    static const int ternary[] = {4, 13, 40};
    for (int i = 0; i < 3; i++) {
        char text[96];
        snprintf(text, sizeof text, "allreduce/f64/sum/64K/p%%d/slice=1K@tree:3x%d", ternary[i]);
        meets_it_for(text, "tree", ternary[i], ONE_WAY);
        strcat(text, "+reduce");
        meets_it_for(text, "tree", ternary[i], ONE_WAY);
        snprintf(text, sizeof text, "bcast/u8/64K/p%%d/slice=1K@tree:3x%d", ternary[i]);
        meets_it_for(text, "tree", ternary[i], ONE_WAY);
    }
}

/* Returns whether the textbook does not cover the algorithm. The reasons are shared memory, puts,
 * trees that are drawn by a hash, nodes of different sizes, and two trees whose messages use a port
 * in the order in which they come (two_trees_use_the_full_bandwidth checks bounds for these). */
static bool is_none_of_the_textbook(const struct tt_algorithm *a)
{
    static const char *const names[] = {"flat",    "direct", "window",   "exchange",
                                        "forward", "parts",  "two-tree", "split"};
    if (strcmp(a->name, "logical") == 0 || strcmp(a->name, "composed") == 0) return true;
    for (int i = 0; i < 8 && a->coll != TT_COLL_barrier; i++)
        if (strcmp(a->name, names[i]) == 0) return true;
    return false;
}

/* Checks that an algorithm has a formula if it uses messages only and blocks are equal. */
static void who_has_one(void **state)
{
    (void)state;
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        bool unequal = (*a)->coll == TT_COLL_allgatherv || tt_coll_pairs((*a)->coll) ||
                       (*a)->coll == TT_COLL_reduce_scatter;
        bool none = is_none_of_the_textbook(*a) || unequal;
        if (((*a)->time != NULL) == none)
            fail_msg("%s: %s", (*a)->name, (*a)->time ? "has a formula" : "has none");
    }
}

/* Checks that algorithms give no formula for problems in which ranks do different things at the
 * same time, so that no simple formula would be exact. */
static void what_has_none(void **state)
{
    (void)state;
    has_none("bcast/u8/6401/p8", "scatter-allgather", &simples[0]);
    has_none("bcast/u8/6400/p6", "scatter-allgather", &simples[0]);
    has_none("bcast/u8/6400/p8/slice=64", "binomial", &simples[4]);
    has_none("reduce/f64/sum/8000/p6", "binomial", &simples[1]);
    has_none("reduce/f64/sum/8000/p8/slice=800", "binomial", &simples[0]);
    has_none("allreduce/f64/sum/64K/p8/slice=1K", "prt", &simples[0]);
    has_none("allreduce/f64/sum/64K/p7/slice=1K", "prt", &simples[4]);
    has_none("allreduce/f64/sum/64K/p8/slice=1K", "tree", &simples[0]);
    has_none("reduce/f64/sum/64K/p15/slice=1K/root=3", "in-order", &simples[0]);
    has_none("reduce/f64/sum/64K/p8/slice=1K", "in-order", &simples[0]);
    has_none("bcast/u8/64K/p7/slice=1K/root=1@tree:2x7", "tree", &simples[0]);
    has_none("allreduce/f64/sum/64K/p6", "halving", &simples[0]);
    has_none("allreduce/f64/sum/65544/p8", "halving", &simples[0]);
    has_none("allreduce/f64/sum/8000/p6", "doubling", &simples[4]);
    has_none("allreduce/f64/sum/8000/p5", "multiplying", &simples[4]);
    has_none("allreduce/f64/sum/8000/p7", "ring", &simples[0]);
    has_none("allreduce/f64/sum/8000/p7", "circulant", &simples[0]);
    has_none("bcast/u8/6401/p8/slice=64", "chain", &simples[0]);
    has_none("reduce/f64/sum/6400/p8/root=3/order=rank", "chain", &simples[0]);
    has_none("bcast/u8/6400/p8/slice=64", "chain", &simples[4]);
    has_none("gather/u8/10/p6", "binomial", &simples[0]);
    has_none("scan/f64/sum/8000/p6", "doubling", &simples[0]);
    has_none("scan/f64/sum/8000/p8", "doubling", &simples[3]);
    has_none("exscan/f64/sum/8000/p8", "doubling", &simples[0]);
    has_none("scan/f64/sum/8008/p6/slice=400", "chain", &simples[0]);
    has_none("exscan/f64/sum/8000/p6/slice=400", "chain", &simples[4]);
    has_none("allgather/u8/10/p6", "doubling", &simples[0]);
}

/* Returns the time by `two-tree` for q slices of 1000 bytes in each tree, divided by the time of a
 * message of one slice. */
static int64_t messages_by_two_trees(const char *coll, int p, int q)
{
    char text[64];
    snprintf(text, sizeof text, "%s/%d/p%d/slice=1000", coll, 2 * 1000 * q, p);
    int64_t message = simples[0].ts_ps + 1000 * simples[0].tw_ps;
    return tt_div_up(simulated(text, "two-tree", &simples[0]).time_ps, message);
}

/* Checks the bounds of Sanders, Speck, Traff 2009, in which the unit is the time of a message of
 * one slice. A bcast of 2q slices takes 2q units and about 2 log2 p more. A reduction may take some
 * more, because a rank waits for the slices of both children. But a reduce of a long vector takes
 * hardly longer than one message of its length, and an allreduce hardly longer than two. A binary
 * tree takes twice as long. */
static void two_trees_use_the_full_bandwidth(void **state)
{
    (void)state;
    for (int p = 2; p <= 65; p += brief(1, 5)) {
        for (int q = 1; q <= 32; q *= 2) {
            int64_t took = messages_by_two_trees("bcast/u8", p, q);
            assert_in_range(took, 2 * q, 2 * q + 2 * tt_log2_up(p) + 1);
        }
        if (p % 8 > 1) continue;
        assert_in_range(messages_by_two_trees("reduce/u8/sum", p, 256), 512, 512 + 512 / 10);
        assert_in_range(messages_by_two_trees("allreduce/u8/sum", p, 256), 1024, 1024 + 1024 / 10);
    }
}

/* Compares formulas with simulations link by link. On hypercubes, the messages of trees and
 * halvings follow edges. If each rank sends to the rank at a fixed distance (the ring of
 * scatter-allgather, bruck, circulant, dissemination), no two E-cube routes share a link. On a ring
 * every message goes to the neighbour. */
static void on_networks(void **state)
{
    (void)state;
    static const char *const cubes[][2] = {
        {"allreduce/f64/sum/16K", "doubling"},
        {"allreduce/f64/sum/16K", "halving"},
        {"reduce/f64/sum/16K", "halving"},
        {"reduce/f64/sum/16K", "binomial"},
        {"reduce_scatter_block/f64/sum/1K", "halving"},
        {"gather/u8/1000", "binomial"},
        {"bcast/u8/1000", "binomial"},
        {"bcast/u8/6400", "scatter-allgather"},
        {"alltoall/u8/1000", "bruck"},
        {"barrier", "dissemination"},
        {"allgather/u8/1000", "circulant"},
        {"allgather/u8/1000", "doubling"},
        {"reduce_scatter_block/f64/sum/1K", "circulant"},
        {"allreduce/f64/sum/48K", "circulant"},
    };
    struct tt_model model = model_links;
    model.gamma_ps = 700;
    for (int d = 1; d <= 6; d++) {
        for (size_t i = 0; i < sizeof cubes / sizeof *cubes; i++) {
            char text[96];
            snprintf(text, sizeof text, "%s/p%d@hypercube:%d", cubes[i][0], 1 << d, d);
            meets_formula(text, cubes[i][1], &model);
        }
    }
    for (int p = 2; p <= 64; p += brief(1, 5)) {
        char text[96];
        snprintf(text, sizeof text, "allgather/u8/1001/p%d@ring:%d", p, p);
        meets_formula(text, "ring", &model);
        if (p % 2 == 0) meets_formula(text, "neighbour", &model);
        snprintf(text, sizeof text, "allreduce/f32/sum/%d/p%d@ring:%d", 4 * 13 * p, p, p);
        meets_formula(text, "ring", &model);
        snprintf(text, sizeof text, "bcast/u8/6400/p%d/root=1/slice=64@ring:%d", p, p);
        meets_formula(text, "chain", &model);
        snprintf(text, sizeof text, "reduce/f64/sum/6400/p%d/root=1/slice=64@ring:%d", p, p);
        meets_formula(text, "chain", &model);
    }
}

/* ---- Any network ---- */

/* Models with links: start-ups are cheap or expensive, and reductions cheaper or more expensive
 * than the transfer for which they wait. */
static const struct tt_model linked[] = {
    {.kind = TT_MODEL_links, .ts_ps = 1000000, .tw_ps = 1000},
    {.kind = TT_MODEL_links, .ts_ps = 200000000, .tw_ps = 1000},
    {.kind = TT_MODEL_links, .tw_ps = 1000, .gamma_ps = 300},
    {.kind = TT_MODEL_links, .ts_ps = 1000000, .tw_ps = 1000, .gamma_ps = 3000, .tr_ps = 200},
    {.kind = TT_MODEL_links, .ts_ps = 50000000, .tw_ps = 1000, .gamma_ps = 900},
    {.kind = TT_MODEL_links, .ts_ps = 1000000, .tw_ps = 1000, .all_ports = true},
};
enum { LINKED = 6, ONE_PORT = 5 };

/* Checks that the formula of `tree` holds exactly on tree networks, where messages go up and down
 * the links and no two of them need the same link. */
static void trees_link_by_link(void **state)
{
    (void)state;
    static const struct {
        int k, p;
    } trees[] = {{1, 2}, {1, 5}, {2, 3}, {2, 7}, {2, 15}, {3, 4}, {3, 13}, {4, 5}, {4, 21}, {7, 8}};
    static const char *const problems[] = {"reduce/f64/sum/%s/p%d%s@tree:%dx%d",
                                           "allreduce/f64/sum/%s/p%d%s@tree:%dx%d",
                                           "bcast/f64/%s/p%d%s@tree:%dx%d"};
    static const char *const sizes[][2] = {
        {"8", ""}, {"64K", ""}, {"1M", ""}, {"64K", "/slice=4K"}, {"8K", "/slice=4K"}};
    int cases = 0;
    for (int t = 0; t < 10; t++)
        for (int i = 0; i < 3; i++)
            for (int s = 0; s < 5; s++)
                for (int m = 0; m < ONE_PORT; m++) {
                    if (!sampled(&cases, 7)) continue;
                    char text[96];
                    int p = trees[t].p;
                    snprintf(text, sizeof text, problems[i], sizes[s][0], p, sizes[s][1],
                             trees[t].k, p);
                    meets_formula(text, "tree", &linked[m]);
                }
}

/* Checks that no simulation is faster than the formula. Messages that share a link take longer,
 * because the formula knows no links. */
static void is_no_quicker(const char *problem, const struct tt_algorithm *a)
{
    for (int m = 0; m < LINKED; m++) {
        struct outcome o = simulated(problem, a->name, &linked[m]);
        if (o.time_ps < o.formula_ps)
            fail_msg("%s by %s, model %d: %lld ps, less than its formula's %lld", problem, a->name,
                     m, (long long)o.time_ps, (long long)o.formula_ps);
    }
}

static void no_quicker_by(const struct tt_algorithm *a, const char *problem, const char *network,
                          int p)
{
    static int cases;
    char text[96];
    snprintf(text, sizeof text, problem, p);
    snprintf(text + strlen(text), sizeof text - strlen(text), "@%s", network);
    if (a->time && applies(text, a) && sampled(&cases, 7)) is_no_quicker(text, a);
}

static void none_is_quicker_than_its_formula(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        int p;
    } networks[] = {{"ring:8", 8},     {"ring:7", 7},       {"mesh:4x4", 16},    {"mesh:2x3", 6},
                    {"torus:4x4", 16}, {"torus:2x3x2", 12}, {"hypercube:3", 8},  {"tree:2x7", 7},
                    {"tree:2x10", 10}, {"tree:4x5", 5},     {"fattree:4x4", 16}, {"tree:3x13", 13}};
    static const char *const problems[] = {"barrier/p%d",
                                           "bcast/u8/64K/p%d",
                                           "bcast/u8/64K/p%d/slice=4K",
                                           "reduce/f64/sum/1000/p%d",
                                           "reduce/f64/sum/64K/p%d/slice=4K",
                                           "allreduce/f64/sum/1000/p%d",
                                           "allreduce/f64/sum/64K/p%d/slice=4K",
                                           "reduce_scatter_block/f64/sum/1000/p%d",
                                           "gather/u8/1000/p%d",
                                           "allgather/u8/1000/p%d",
                                           "alltoall/u8/1000/p%d"};
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++)
        for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
            for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
                no_quicker_by(*a, problems[i], networks[n].network, networks[n].p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(rings),
        cmocka_unit_test(meshes_and_tori),
        cmocka_unit_test(hypercubes),
        cmocka_unit_test(exchanges_of_any_number),
        cmocka_unit_test(small_blocks_go_by_dimensions),
        cmocka_unit_test(a_ring_carries_what_it_must),
        cmocka_unit_test(any_number_of_ranks),
        cmocka_unit_test(even_numbers),
        cmocka_unit_test(blocks_that_are_equal),
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(full_trees),
        cmocka_unit_test(who_has_one),
        cmocka_unit_test(what_has_none),
        cmocka_unit_test(two_trees_use_the_full_bandwidth),
        cmocka_unit_test(on_networks),
        cmocka_unit_test(trees_link_by_link),
        cmocka_unit_test(none_is_quicker_than_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
