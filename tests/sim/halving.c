/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The claims of pipelined halving (CN101206588) in comparison with the pipelined tree, on 2 to 1024
 * ranks, where gamma is the cost of a reduced byte, beta that of a byte that is sent, and beta'
 * that of a byte that is sent while one is received. gamma is less or more than beta', and links
 * are between full duplex (beta' = beta) and half duplex (beta' = 2 beta). With 512 ranks every
 * second of these costs is tried, and with 1024 every fourth.
 */
#include <stdio.h>

#include "brief.h"
#include "simulated.h"

enum { BETA = 1000, LENGTH = 1 << 20, SLICE = 16 << 10, SLICES = 32 };

/* Costs in ps: of a reduced byte, of a byte that is sent while one is received, and of a
 * message. */
struct cost {
    int64_t gamma, both, ts;
};

static const struct cost costs[] = {
    {500, 1000, 0},  {500, 2000, 0},  {1500, 2000, 0},     {1500, 1000, 0},
    {4000, 1000, 0}, {4000, 2000, 0}, {500, 2000, 100000}, {4000, 1500, 100000},
};
enum { COSTS = 8 };

static int64_t time_ps(const char *coll, const char *algorithm, int p, struct cost c)
{
    struct tt_model model = {.kind = TT_MODEL_simple,
                             .ts_ps = c.ts,
                             .tw_ps = BETA,
                             .tw_both_ps = c.both,
                             .gamma_ps = c.gamma};
    char text[96];
    snprintf(text, sizeof text, "%s/f64/sum/%d/p%d/slice=%d", coll, LENGTH, p, SLICE);
    return simulated(text, algorithm, &model).time_ps;
}

/* ---- Halving ---- */

/* Returns the time that the method claims. The method has two phases, the distribution and the
 * collection of the data. The claim is (p-1)/p LENGTH times the sum of two times: that of a byte in
 * the first phase, and that of a byte in the second phase (`collection`). */
static int64_t claimed(int p, struct cost c, int64_t collection)
{
    return LENGTH / p * (p - 1) * (tt_max(c.gamma, c.both) + collection);
}

/* Returns the time by which the simulation exceeds the claim. This is at most the time of one slice
 * of the first step: messages and reductions of a step overlap with those of the next step, whose
 * messages have half the size. */
static int64_t one_slice(int p, struct cost c, int64_t collection)
{
    int64_t first = LENGTH / 2 / SLICES, last = LENGTH / p / SLICES;
    return tt_min(c.both, tt_max(0, 2 * c.gamma - c.both)) * (first - last) +
           tt_max(0, tt_min(c.gamma, c.both) - collection) * last;
}

/* Simulates the collective by pipelined halving, compares the time with the claim, and returns the
 * time. `collection` is the time of a byte in the second phase. If messages have no start-up cost
 * (ts), the time must exceed the claim by exactly the excess that one_slice computes: at most the
 * time of one slice of the first step. Otherwise the time must lie between the claim and the claim
 * plus this excess plus one start-up for each slice of each step of both phases. */
static int64_t keeps_its_claim(const char *coll, int p, struct cost c, int64_t collection)
{
    int64_t time = time_ps(coll, "halving", p, c), turns = 0;
    int64_t least = claimed(p, c, collection), most = least + one_slice(p, c, collection);
    for (int q = 1; q < p; q *= 2) turns += 2 * SLICES;
    if (time < least || time > most + turns * c.ts || (c.ts == 0 && time != most))
        fail_msg("%s on %d, gamma %lld, both ways %lld: %lld, not %lld to %lld", coll, p,
                 (long long)c.gamma, (long long)c.both, (long long)time, (long long)least,
                 (long long)most);
    return time;
}

/* ---- The tree ---- */

/* Returns the time of the busiest rank of the tree while data go up; L is LENGTH. With 8 or more
 * ranks there are inner ranks with two children: such a rank receives 2 L bytes, sends L bytes
 * while it receives, and reduces 2 L bytes. With 4 ranks only the root has two children, and it
 * sends nothing up; with 2 ranks the root has one child. */
static int64_t up(int p, struct cost c)
{
    if (p == 2) return LENGTH * tt_max(c.gamma, BETA);
    return LENGTH * tt_max(2 * c.gamma, p == 4 ? 2 * BETA : BETA + c.both);
}

/* Returns the time of the busiest rank while data go down. With 8 or more ranks it receives LENGTH
 * and sends twice that. With 4 ranks it is the root, which sends LENGTH to each of two children,
 * and with 2 ranks the root, which has one child. */
static int64_t down(int p, struct cost c)
{
    if (p <= 4) return LENGTH * (int64_t)BETA * (p / 2);
    return LENGTH * (BETA + c.both);
}

static void compare(int p, struct cost c)
{
    int64_t reduce = time_ps("reduce", "prt", p, c), allreduce = time_ps("allreduce", "prt", p, c);
    assert_true(reduce >= up(p, c));
    assert_true(allreduce >= up(p, c) + down(p, c));
    /* With half-duplex links, the tree takes at least 3 LENGTH BETA for a reduce and 6 LENGTH BETA
     * for an allreduce, the times with which the source compares the method. */
    if (p >= 8 && c.both == 2 * BETA) assert_true(reduce >= 3LL * LENGTH * BETA);
    if (p >= 8 && c.both == 2 * BETA) assert_true(allreduce >= 6LL * LENGTH * BETA);
    assert_true(keeps_its_claim("allreduce", p, c, c.both) < allreduce);
    /* With 2 or 4 ranks, no rank of the tree has both a parent and two children, and the tree may
     * be faster for a reduce. */
    bool tree = p <= 4 && up(p, c) < claimed(p, c, BETA);
    assert_int_equal(keeps_its_claim("reduce", p, c, BETA) > reduce, tree);
}

static void halving_keeps_its_claims_and_the_tree_takes_longer(void **state)
{
    (void)state;
    for (int p = 2; p <= brief(1024, 64); p *= 2) {
        int step = p <= 256 ? 1 : p / 256;
        for (int i = step - 1; i < COSTS; i += step) compare(p, costs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_keeps_its_claims_and_the_tree_takes_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
