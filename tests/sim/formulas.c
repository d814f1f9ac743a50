/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The textbook's times (Grama et al., section 4.5) come out exactly: under its own model, and again link by link,
 * with cut-through and no time for a hop, which only does where no two messages want a link at once.
 */
#include <stdio.h>

#include "paper.h"

static void meets_formula(const char *problem, const char *algorithm, const struct tt_model *model)
{
    struct outcome o = paper(problem, algorithm, model);
    if (o.formula_ps < 0 || o.time_ps != o.formula_ps)
        fail_msg("%s by %s: %lld ps, formula %lld", problem, algorithm, (long long)o.time_ps,
                 (long long)o.formula_ps);
}

static void meets_it_both_ways(const char *problem, const char *algorithm)
{
    meets_formula(problem, algorithm, &paper_simple);
    meets_formula(problem, algorithm, &paper_links);
}

static void rings(void **state)
{
    (void)state;
    struct tt_model all_ports = paper_simple, all_links = paper_links;
    all_ports.all_ports = all_links.all_ports = true;
    for (int p = 2; p <= 64; p++) {
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/1000/p%d@ring:%d", p, p);
        meets_it_both_ways(text, "ring");
        meets_it_both_ways(text, "ring-both");
        meets_formula(text, "ring-both", &all_ports);
        if (p > 2)
            meets_formula(text, "ring-both", &all_links); /* two ranks have one link each way */
    }
}

static void meshes_and_tori(void **state)
{
    (void)state;
    static const char *const grids[] = {"mesh", "torus"};
    for (int g = 0; g < 2; g++) {
        for (int e = 2; e <= 16; e++) {
            char text[64];
            snprintf(text, sizeof text, "alltoall/u8/100/p%d@%s:%dx%d", e * e, grids[g], e, e);
            meets_it_both_ways(text, "mesh");
        }
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/100/p120@%s:3x4x5x2", grids[g]);
        meets_it_both_ways(text, "mesh");
    }
}

static void hypercubes(void **state)
{
    (void)state;
    for (int d = 1; d <= 10; d++) {
        char text[64];
        snprintf(text, sizeof text, "alltoall/u8/16/p%d@hypercube:%d", 1 << d, d);
        meets_it_both_ways(text, "hypercube");
        meets_it_both_ways(text, "pairwise");
    }
}

/* The figures themselves, worked out by hand, against both. */
static void figures_by_hand(void **state)
{
    (void)state;
    assert_int_equal(paper("alltoall/u8/1000/p4@ring:4", "ring", &paper_simple).time_ps,
                     3 * 1000000 + (3 + 2 + 1) * 1000 * 1000);
    assert_int_equal(paper("alltoall/u8/1000/p5@ring:5", "ring-both", &paper_simple).time_ps,
                     4 * 1000000 + 6 * 1000 * 1000);
    assert_int_equal(paper("alltoall/u8/1000/p16@torus:4x4", "mesh", &paper_links).time_ps,
                     6 * 1000000 + 48 * 1000 * 1000);
    assert_int_equal(paper("alltoall/u8/1000/p8@hypercube:3", "hypercube", &paper_links).time_ps,
                     3 * 1000000 + 12 * 1000 * 1000);
    assert_int_equal(paper("alltoall/u8/1000/p8@hypercube:3", "pairwise", &paper_links).time_ps,
                     7 * 1000000 + 7 * 1000 * 1000);
}

/* All traffic of the ring: m (p - 1) p / 2 for each of p ranks; over p links, evenly. */
static void a_ring_carries_what_it_must(void **state)
{
    (void)state;
    struct outcome o = paper("alltoall/u8/1000/p9@ring:9", "ring", &paper_links);
    assert_int_equal(o.bytes, 1000 * 8 * 9 / 2 * 9);
    assert_int_equal(o.max_link_bytes, 1000 * 8 * 9 / 2);
    assert_int_equal(o.steps, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(rings),
        cmocka_unit_test(meshes_and_tori),
        cmocka_unit_test(hypercubes),
        cmocka_unit_test(a_ring_carries_what_it_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
