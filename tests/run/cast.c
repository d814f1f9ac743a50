/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws random problems. Counts stay so small that every step of a plan affects some byte of the
 * result.
 */
#include "run/cast.h"

#include <stdio.h>
#include <stdlib.h>

#include "run/stage.h"
#include "run/team.h"

static int below(struct tt_random *random, int n)
{
    return (int)tt_random_below(random, (uint64_t)n);
}

static _Noreturn void give_up(const struct cast *cast, const char *why)
{
    fprintf(stderr, "%s: %s\n", cast->text, why);
    abort();
}

/* ---- The call ---- */

static int64_t draw_count(struct tt_random *random, int p)
{
    const int64_t counts[] = {1, p - 1, p, p + 1, 2 * p + 3, 13, 4 * p};
    return counts[below(random, sizeof counts / sizeof *counts)];
}

static void draw_operation(struct tt_problem *problem, struct tt_random *random)
{
    struct tt_call *c = &problem->call;
    c->commutes = true;
    c->op = TUTTI_SUM;
    c->type = below(random, 2) ? TUTTI_I32 : TUTTI_U64;
    if (tt_coll_has_op(c->coll) && below(random, 3) == 0) {
        c->type = TUTTI_I64_I64;
        c->op = stage_compose();
        c->commutes = false;
    }
    c->sz = (int64_t)tutti_type_size(c->type);
}

static void draw_problem(struct tt_problem *problem, enum tt_coll coll, int p,
                         struct tt_random *random)
{
    *problem = (struct tt_problem){.call = {.coll = coll}, .p = p, .seed = 1};
    draw_operation(problem, random);
    struct tt_call *c = &problem->call;
    problem->n = coll == TT_COLL_barrier ? 0 : draw_count(random, p);
    if (!tt_call_counts(c)) c->n = problem->n;
    if (tt_coll_has_root(coll)) c->root = below(random, p);
    if (tt_coll_has_place(coll)) c->in_place = below(random, 2);
    if (tt_call_counts(c)) problem->skew = (enum tt_skew)below(random, TT_SKEWS);
    if (coll != TT_COLL_barrier) c->slice = c->sz * (below(random, 2) ? 1 + below(random, 3) : 0);
}

static struct tt_map draw_map(int p, struct tt_random *random)
{
    const int64_t windows[] = {2 * p * 16 + 64, 512, STAGE_WINDOW};
    bool direct = below(random, 3) > 0;
    struct tt_map map = {.p = p,
                         .cores = below(random, 2) ? p : 1,
                         .win_bytes = windows[below(random, 3)],
                         .reads = direct,
                         .writes = direct,
                         .mapped = direct && below(random, 2),
                         .nodes = 1};
    if (below(random, 2)) tt_team_divide(&map, map.win_bytes);
    return map;
}

/* ---- The plans ---- */

/* Shifts the segments of OUT so that one unused element lies between each two of them. */
static void spread(struct tt_call *c, int p)
{
    int64_t *displs = (int64_t *)c->out_displs;
    for (int r = 0; r < p; r++) displs[r] += r;
}

static void build(struct cast *cast, const struct tt_algorithm *a, const struct tt_problem *problem,
                  bool gaps, int me)
{
    struct tt_call *c = &cast->calls[me];
    *c = tt_problem_call(problem, me, cast->room[me]);
    if (tt_coll_is_roots(c->coll) && me != c->root) c->in_place = false;
    if (gaps) spread(c, cast->p);
    cast->plans[me] = tt_algorithm_plan(a, c, &cast->map, me);
    if (!cast->plans[me]) give_up(cast, tutti_error());
    const char *wrong = tt_plan_invalid(cast->plans[me], NULL);
    if (wrong) give_up(cast, wrong);
}

static void describe(struct cast *cast, const struct tt_algorithm *a,
                     const struct tt_problem *problem, bool gaps)
{
    char text[TT_PROBLEM_TEXT];
    snprintf(cast->text, sizeof cast->text, "%s by %s, window %lld%s%s",
             tt_problem_print(problem, text), a->name, (long long)cast->map.win_bytes,
             cast->map.mapped  ? ", mapped"
             : cast->map.reads ? ", direct"
                               : "",
             gaps ? ", gaps" : "");
}

/* Gives the map a torus with two columns, in which the first node is missing, and also the second
 * one if p is even, so that p nodes are left. */
static void draw_network(struct cast *cast)
{
    char text[64];
    int rows = cast->p / 2 + 1;
    snprintf(text, sizeof text, "torus:2x%d-hole(0)%s", rows, cast->p % 2 ? "" : "-hole(1)");
    if (tt_network_parse(text, &cast->net, NULL) != TUTTI_OK) give_up(cast, text);
    cast->map.net = &cast->net;
}

/* Returns whether the algorithm refuses the problem both without a network and with one. If the
 * algorithm accepts the problem only with a network, the network stays in the map. */
static bool refused(struct cast *cast, const struct tt_algorithm *a,
                    const struct tt_problem *problem)
{
    if (!a->refuse(&problem->call, &cast->map)) return false;
    draw_network(cast);
    if (!a->refuse(&problem->call, &cast->map)) return false;
    tt_net_free(&cast->net);
    return true;
}

void cast_draw(struct cast *cast, const struct tt_algorithm *algorithm, struct tt_random *random,
               int most, int radix)
{
    struct tt_problem problem;
    int tries = 0;
    do {
        if (tries++ == 1000) give_up(cast, "refuses everything");
        cast->p = 2 + below(random, most - 1);
        cast->map = draw_map(cast->p, random);
        draw_problem(&problem, algorithm->coll, cast->p, random);
        problem.call.radix = radix;
        snprintf(cast->text, sizeof cast->text, "%s", algorithm->name);
        cast->net = (struct tt_net){.nodes = 0};
    } while (refused(cast, algorithm, &problem));
    bool gaps = tt_call_segments(&problem.call) && below(random, 2);
    describe(cast, algorithm, &problem, gaps);
    for (int r = 0; r < cast->p; r++) build(cast, algorithm, &problem, gaps, r);
}

void cast_free(struct cast *cast)
{
    for (int r = 0; r < cast->p; r++) tt_plan_free(cast->plans[r]);
    tt_net_free(&cast->net);
}
