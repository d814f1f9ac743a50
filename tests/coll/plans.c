/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds the plans of all ranks, checks their structure, and counts the bytes, messages and steps
 * of each rank.
 */
#include "plans.h"

#include <string.h>

#include "run/team.h"

struct tt_problem plans_problem(enum tt_coll coll, int p, int64_t n)
{
    struct tt_problem problem = {
        .call = {.coll = coll, .type = TUTTI_F64, .op = TUTTI_SUM, .commutes = true, .sz = 8},
        .p = p,
        .n = n,
        .seed = 1};
    if (!tt_call_counts(&problem.call)) problem.call.n = n;
    return problem;
}

void plans_window(struct tt_map *map, int64_t bytes)
{
    map->win_bytes = bytes;
    tt_team_divide(map, bytes / 16 * 8);
}

struct tt_map plans_map(int p)
{
    struct tt_map map = {
        .p = p, .cores = p, .reads = true, .writes = true, .mapped = true, .nodes = 1};
    plans_window(&map, 128 << 10);
    return map;
}

/* Distributes the ranks: each node gets `share` twelfths of the ranks that are left, and at least
 * one. */
static void cut_nodes(int p, int share, int *node)
{
    for (int r = 0, k = 0; r < p; k++)
        for (int n = (int)tt_max(1, (p - r) * share / 12); n > 0 && r < p; n--) node[r++] = k;
}

static void draw_nodes(int p, bool adjacent, int *node)
{
    struct tt_random random;
    tt_random_seed(&random, (uint64_t)p);
    for (int r = 0, k = 0; r < p; r++) {
        if (r > 0 && tt_random_below(&random, 3) == 0) k++;
        node[r] = adjacent ? k : (int)tt_random_below(&random, 1 + (uint64_t)p / 3);
    }
}

struct tt_map plans_nodes(int p, int which, int node[PLANS_RANKS])
{
    struct tt_map map = plans_map(p);
    assert_in_range(p, 1, PLANS_RANKS);
    switch (which) {
    case 0: cut_nodes(p, 1, node); break; /* small nodes, most of one rank */
    case 1: cut_nodes(p, 5, node); break; /* p = 20: nodes of 8, 5, 2, 2, 1, 1 and 1 ranks */
    case 2: cut_nodes(p, 6, node); break; /* each node has half of the ranks that are left */
    case 3: cut_nodes(p, 9, node); break; /* one large node and a few small ones */
    case 4: draw_nodes(p, true, node); break;
    case 5: draw_nodes(p, false, node); break;
    case 6: /* nodes of one rank come first */
        for (int r = 0; r < p; r++) node[r] = (int)tt_min(r, p / 2);
        break;
    default:
        for (int r = 0; r < p; r++) node[r] = r % 3;
    }
    map.nodes = p < 3 ? 3 : p;
    map.node = node;
    return map;
}

const char *const plans_networks[] = {"ring:2",
                                      "mesh:5",
                                      "torus:3x3",
                                      "tree:2x7",
                                      "hypercube:3-hole(5)",
                                      "mesh:3x3-hole(1,1)",
                                      "torus:3x3-hole(1,1)",
                                      "torus:4x4-wall(x=1)",
                                      "torus:3x3x2-random(4,1)",
                                      NULL};

struct tt_net plans_network(const char *text)
{
    struct tt_net net;
    struct tt_reader_error error;
    if (tt_network_parse(text, &net, &error) != TUTTI_OK) fail_msg("%s: %s", text, error.text);
    return net;
}

bool plans_need_network(const struct tt_algorithm *algorithm)
{
    struct tt_problem problem = plans_problem(algorithm->coll, 2, 1);
    struct tt_map map = plans_map(2);
    return algorithm->refuse(&problem.call, &map) != NULL;
}

static void describe(struct plans *all, const struct tt_algorithm *a,
                     const struct tt_problem *problem)
{
    char buffer[TT_PROBLEM_TEXT];
    snprintf(all->text, sizeof all->text, "%s %.400s", a->name, tt_problem_print(problem, buffer));
}

bool plans_make(struct plans *all, const struct tt_algorithm *algorithm,
                const struct tt_problem *problem, const struct tt_map *map)
{
    int p = map->p;
    if (algorithm->refuse(&problem->call, map)) return false;
    describe(all, algorithm, problem);
    all->p = p;
    size_t room = tt_problem_room(problem);
    all->calls = tt_calloc((size_t)p, sizeof *all->calls);
    all->plans = tt_calloc((size_t)p, sizeof(struct tt_plan *));
    all->room = tt_calloc((size_t)p * room + 1, sizeof *all->room);
    assert_true(all->calls && all->plans && all->room);
    for (int r = 0; r < p; r++) {
        all->calls[r] = tt_problem_call(problem, r, all->room + (size_t)r * room);
        if (tt_coll_is_roots(problem->call.coll) && r != problem->call.root)
            all->calls[r].in_place = false;
        all->plans[r] = tt_algorithm_plan(algorithm, &all->calls[r], map, r);
        if (!all->plans[r]) fail_msg("%s rank %d: %s", all->text, r, tutti_error());
        const char *wrong = tt_plan_invalid(all->plans[r], NULL);
        if (wrong) fail_msg("%s rank %d: %s", all->text, r, wrong);
    }
    return true;
}

void plans_free(struct plans *all)
{
    for (int r = 0; r < all->p; r++) tt_plan_free(all->plans[r]);
    tt_free(all->plans);
    tt_free(all->calls);
    tt_free(all->room);
}

bool plans_span_nodes(const struct tt_algorithm *algorithm)
{
    return strcmp(algorithm->name, "logical") == 0 || strcmp(algorithm->name, "composed") == 0 ||
           strcmp(algorithm->name, "parts") == 0;
}

bool plans_exchanges(const struct tt_algorithm *algorithm)
{
    bool gathers = algorithm->coll == TT_COLL_gather && !strcmp(algorithm->name, "binomial");
    return gathers || !strcmp(algorithm->name, "halving") ||
           !strcmp(algorithm->name, "multiplying") || !strcmp(algorithm->name, "in-order") ||
           !strcmp(algorithm->name, "linear");
}

struct tt_count *plans_counts(const struct plans *all)
{
    struct tt_count *count = tt_calloc((size_t)all->p, sizeof *count);
    assert_non_null(count);
    assert_int_equal(tt_count_plans((const struct tt_plan *const *)all->plans, all->p, count),
                     TUTTI_OK);
    return count;
}

struct tt_count plans_worst(const struct plans *all)
{
    struct tt_count *count = plans_counts(all);
    struct tt_count worst = tt_count_worst(count, all->p);
    tt_free(count);
    return worst;
}
