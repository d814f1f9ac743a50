/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processors to which `tutti run` binds ranks, on synthetic machines: the exact sets for some
 * machines and jobs, and properties that hold for all.
 */
#include "launch-places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static hwloc_topology_t machine(const char *text)
{
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, text), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    return topology;
}

static hwloc_bitmap_t set_named(const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    assert_non_null(set);
    assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
    return set;
}

/* ---- Exact sets for some machines ---- */

/* The cases. A member that is NULL has the value of the previous case. */
static const struct {
    const char *machine, *allowed, *taken;
    int ranks;
    struct tt_binding binding;
    const char *sets; /* the processors of each rank, as "0;1;2-3", or why ranks are not bound */
} cases[] = {
    /* Two cores: ranks take the cores in turn, also when there are more ranks than cores. */
    {"core:2 pu:1", "0-1", "", 1, {0}, "0"},
    {NULL, NULL, NULL, 2, {0}, "0;1"},
    {NULL, NULL, NULL, 3, {0}, "0;1"},
    {NULL, NULL, NULL, 5, {TT_BIND_CORE, 0, 0}, "0;1"},
    {NULL, NULL, NULL, 2, {TT_BIND_NONE, 0, 0}, "--bind none"},
    {NULL, "1", "", 2, {0}, "1"},
    /* Beside another job: ranks are bound to the processors that are free, and, if these are too
     * few, also to processors of that job. */
    {NULL, "0-1", "0", 1, {0}, "1"},
    {NULL, NULL, NULL, 2, {0}, "1;0"},
    {NULL, NULL, NULL, 1, {TT_BIND_CORE, 0, 0}, "1"},
    {NULL, NULL, NULL, 2, {TT_BIND_CORE, 0, 0}, "1;0"},
    {NULL, NULL, "0-1", 1, {0}, "0"},
    {NULL, NULL, NULL, 3, {0}, "0;1"},
    {NULL, NULL, NULL, 3, {TT_BIND_CORE, 0, 0}, "0;1"},
    /* Hyperthreads: first one rank per core. */
    {"core:4 pu:2", "0-7", "", 4, {0}, "0-1;2-3;4-5;6-7"},
    {NULL, NULL, NULL, 5, {0}, "0;2;4;6;1"},
    {NULL, NULL, NULL, 8, {0}, "0;2;4;6;1;3;5;7"},
    {NULL, NULL, NULL, 9, {0}, "0;2;4;6;1;3;5;7"},
    {NULL, NULL, NULL, 5, {TT_BIND_CORE, 0, 0}, "0-1;2-3;4-5;6-7"},
    {NULL, NULL, NULL, 3, {TT_BIND_THREAD, 0, 0}, "0;2;4"},
    {NULL, "1,3-7", "", 2, {0}, "1;3"},
    {NULL, NULL, NULL, 5, {0}, "1;3;4;6;5"},
    /* Another job has taken a processor of a core. Ranks get the processors of the other cores, and
     * the processor that is left on this core only if the others do not suffice. */
    {NULL, "0-7", "3", 3, {0}, "0-1;4-5;6-7"},
    {NULL, NULL, NULL, 4, {0}, "0;4;6;1"},
    {NULL, NULL, NULL, 7, {0}, "0;4;6;1;5;7;2"},
    {NULL, NULL, NULL, 7, {TT_BIND_CORE, 0, 0}, "0-1;4-5;6-7;2-3"},
    {NULL, NULL, "0,2,4,6", 5, {0}, "0;2;4;6;1"},
    /* Ranks with several threads get adjacent cores. If there are too few cores, they get adjacent
     * processors; if there are too few processors, they get an even share of them. */
    {"core:8 pu:2", "0-15", "", 2, {TT_BIND_DEFAULT, 0, 3}, "0-5;6-11"},
    {NULL, NULL, NULL, 3, {TT_BIND_DEFAULT, 0, 3}, "0-2;3-5;6-8"},
    {NULL, NULL, NULL, 3, {TT_BIND_DEFAULT, 0, 8}, "0-4;5-9;10-14"},
    {NULL, NULL, NULL, 3, {TT_BIND_CORE, 0, 8}, "0-3;4-7;8-11"},
    {NULL, NULL, NULL, 1, {TT_BIND_DEFAULT, 0, 100}, "0-15"},
    {NULL, NULL, NULL, 17, {TT_BIND_CORE, 0, 4}, "0-1;2-3;4-5;6-7;8-9;10-11;12-13;14-15"},
    {NULL, NULL, "4", 2, {TT_BIND_DEFAULT, 0, 3}, "0-3,6-7;8-13"},
    {NULL, NULL, "0-11", 2, {TT_BIND_DEFAULT, 0, 3}, "12-14;0-1,15"},
    /* NUMA nodes and packages: filled one after the other, or in turn. */
    {"package:2 numa:2 core:4 pu:1", "0-15", "", 3, {0}, "0;1;2"},
    {NULL, NULL, NULL, 5, {TT_BIND_DEFAULT, TT_MAP_NUMA, 0}, "0;4;8;12;1"},
    {NULL, NULL, NULL, 5, {TT_BIND_DEFAULT, TT_MAP_PACKAGE, 0}, "0;8;1;9;2"},
    {NULL, NULL, NULL, 5, {TT_BIND_NUMA, TT_MAP_CORE, 0}, "0-3;0-3;0-3;0-3;4-7"},
    {NULL, NULL, NULL, 3, {TT_BIND_NUMA, TT_MAP_NUMA, 0}, "0-3;4-7;8-11"},
    {NULL, NULL, NULL, 3, {TT_BIND_PACKAGE, TT_MAP_PACKAGE, 0}, "0-7;8-15;0-7"},
    {NULL, NULL, NULL, 3, {TT_BIND_NUMA, TT_MAP_PACKAGE, 0}, "0-3;8-11;0-3"},
    {NULL, NULL, NULL, 3, {TT_BIND_CORE, TT_MAP_NUMA, 2}, "0-1;4-5;8-9"},
    {NULL, NULL, NULL, 5, {TT_BIND_CORE, TT_MAP_NUMA, 3}, "0-2;4-6;8-10;12-14;3,7,11"},
    {NULL, "1,6-9", "", 4, {TT_BIND_NUMA, TT_MAP_NUMA, 0}, "1;6-7;8-9;6-7"},
    {NULL, "0-15", "0-4", 4, {TT_BIND_DEFAULT, TT_MAP_NUMA, 0}, "5;8;12;6"},
    {NULL, NULL, NULL, 12, {TT_BIND_DEFAULT, TT_MAP_NUMA, 0}, "5;8;12;6;9;13;7;10;14;11;15;0"},
    /* Memory that belongs to the whole machine does not count as a NUMA node to map to. */
    {"[numa] package:2 [numa] core:2 pu:1",
     "0-3",
     "",
     3,
     {TT_BIND_NUMA, TT_MAP_NUMA, 0},
     "0-1;2-3;0-1"},
    /* Machines with only one NUMA node, without packages, or without cores. */
    {"core:2 pu:1", "0-1", "", 2, {TT_BIND_PACKAGE, TT_MAP_PACKAGE, 0}, "0-1;0-1"},
    {"pu:3", "0-2", "", 4, {0}, "0;1;2"},
    {NULL, "7", "", 4, {0}, "hwloc finds no processor"},
};

static void expect_sets(hwloc_topology_t topology, const struct tt_places_wish *wish,
                        const char *wanted)
{
    char text[400] = "";
    struct tt_places places;
    assert_true(tt_places_make(&places, topology, wish));
    for (int i = 0; i < places.n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s", i ? ";" : "");
        used = strlen(text);
        hwloc_bitmap_list_snprintf(text + used, sizeof text - used, places.set[i]);
    }
    assert_string_equal(places.n ? text : places.unbound, wanted);
    tt_places_free(&places);
}

static void some_machines(void **state)
{
    (void)state;
    const char *at = NULL, *allowed = NULL, *taken = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].machine) at = cases[i].machine;
        if (cases[i].allowed) allowed = cases[i].allowed;
        if (cases[i].taken) taken = cases[i].taken;
        hwloc_topology_t topology = machine(at);
        hwloc_bitmap_t may = set_named(allowed), has = set_named(taken);
        const struct tt_places_wish wish = {may, has, cases[i].binding, cases[i].ranks};
        print_message("case %zu: %s, %s, taken %s, %d ranks\n", i, at, allowed, taken, wish.ranks);
        expect_sets(topology, &wish, cases[i].sets);
        hwloc_bitmap_free(may);
        hwloc_bitmap_free(has);
        hwloc_topology_destroy(topology);
    }
}

/* ---- Properties for all machines ---- */

/* Returns how many objects of a type have processors in the set. */
static int count(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t set)
{
    int n = 0;
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_obj_by_type(topology, type, at)))
        n += hwloc_bitmap_intersects(at->cpuset, set);
    return n;
}

/* Checks the properties: every set consists of processors that are allowed. Ranks have different
 * sets while there are enough processors. By default no processor of another job is used if the
 * free cores suffice. */
static void check_any(hwloc_topology_t topology, const struct tt_places_wish *wish)
{
    struct tt_places places;
    bool usual = wish->binding.bind == TT_BIND_DEFAULT;
    bool apart = usual || wish->binding.bind <= TT_BIND_CORE;
    int cores = count(topology, HWLOC_OBJ_CORE, wish->allowed);
    int taken = count(topology, HWLOC_OBJ_CORE, wish->taken);
    hwloc_bitmap_t all = hwloc_bitmap_alloc();
    assert_true(tt_places_make(&places, topology, wish));
    bool fits = wish->ranks * (int64_t)tt_max(1, wish->binding.cores) <= cores - taken;
    assert_true(places.n > 0);
    for (int i = 0; i < places.n; i++) {
        assert_false(hwloc_bitmap_iszero(places.set[i]));
        assert_true(hwloc_bitmap_isincluded(places.set[i], wish->allowed));
        assert_false(usual && fits && hwloc_bitmap_intersects(places.set[i], wish->taken));
        assert_false(apart && hwloc_bitmap_intersects(places.set[i], all));
        hwloc_bitmap_or(all, all, places.set[i]);
    }
    assert_true(places.n == wish->ranks || places.n >= cores);
    if (usual && wish->ranks <= cores - taken && wish->binding.cores <= 1)
        assert_int_equal(count(topology, HWLOC_OBJ_CORE, all), wish->ranks);
    hwloc_bitmap_free(all);
    tt_places_free(&places);
}

static void any_machine(void **state)
{
    (void)state;
    static const char *const machines[] = {"core:1 pu:1",
                                           "core:6 pu:1",
                                           "core:4 pu:2",
                                           "package:2 core:3 pu:2",
                                           "numa:3 core:2 pu:1",
                                           "package:2 numa:2 core:4 pu:4",
                                           "pu:5"};
    struct tt_random random;
    tt_random_seed(&random, 15);
    hwloc_topology_t made[7];
    for (int i = 0; i < 7; i++) made[i] = machine(machines[i]);
    for (int turn = 0; turn < 4000; turn++) {
        hwloc_topology_t topology = made[turn % 7];
        int processors = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
        hwloc_bitmap_t allowed = hwloc_bitmap_alloc(), taken = hwloc_bitmap_alloc();
        for (int i = 0; i < processors; i++) {
            if (tt_random_below(&random, 4)) hwloc_bitmap_set(allowed, (unsigned)i);
            if (turn % 3 && tt_random_below(&random, 5) == 0) hwloc_bitmap_set(taken, (unsigned)i);
        }
        hwloc_bitmap_set(allowed, (unsigned)(tt_random_below(&random, (uint64_t)processors)));
        hwloc_bitmap_and(taken, taken, allowed);
        const struct tt_places_wish wish = {
            allowed,
            taken,
            {(enum tt_bind)(turn % 2 ? 0 : 2 + tt_random_below(&random, 4)),
             (enum tt_map_by)(tt_random_below(&random, 3)), (int)(tt_random_below(&random, 4))},
            (int)(1 + tt_random_below(&random, 20))};
        check_any(topology, &wish);
        hwloc_bitmap_free(allowed);
        hwloc_bitmap_free(taken);
    }
    for (int i = 0; i < 7; i++) hwloc_topology_destroy(made[i]);
}

/* ---- The printed text ---- */

static void printed(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *set, *text;
    } texts[] = {{"core:2 pu:1", "1", "processor 1 (core 1)"},
                 {"core:2 pu:2", "0-1", "processors 0-1 (core 0)"},
                 {"core:2 pu:2", "1-2", "processors 1-2 (cores 0-1)"},
                 {"package:2 core:2 pu:1", "2", "processor 2 (core 2, package 1)"},
                 {"numa:2 core:2 pu:1", "0-3", "processors 0-3 (cores 0-3, NUMA nodes 0-1)"},
                 {"pu:2", "1", "processor 1"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[200];
        hwloc_topology_t topology = machine(texts[i].machine);
        hwloc_bitmap_t set = set_named(texts[i].set);
        tt_places_print(topology, set, text, sizeof text);
        assert_string_equal(text, texts[i].text);
        hwloc_bitmap_free(set);
        hwloc_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(some_machines),
                                       cmocka_unit_test(any_machine), cmocka_unit_test(printed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
