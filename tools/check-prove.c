/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds the plans of all ranks for a case and gives them to the prover.
 */
#include "check-cases.h"

#include <string.h>

#include "run/team.h"

enum { KINDS = 8, EXECUTIONS = 16 };

/* The plans, calls and nodes of the p ranks of a case. */
struct ranks {
    int p;
    size_t room_n; /* how many elements of `room`, the memory for counts and displacements, one rank
                    * has */
    struct tt_plan **plans;
    struct tt_call *calls;
    int *node;
    int64_t *room;
    struct tt_net net; /* the problem's network */
};

struct tt_checker {
    struct tt_prover *prover;
    struct tt_builder *builder;
    struct ranks kind[KINDS];
};

struct tt_checker *tt_checker_new(void)
{
    struct tt_call none = {.coll = TT_COLL_barrier};
    struct tt_checker *checker = tt_calloc(1, sizeof *checker);
    if (!checker) return NULL;
    checker->prover = tt_prover_new();
    checker->builder = tt_builder_new(1, 0, &none, "none");
    if (checker->prover && checker->builder) return checker;
    tt_checker_free(checker);
    return NULL;
}

static void forget_plans(struct ranks *ranks)
{
    for (int r = 0; r < ranks->p && ranks->plans; r++) {
        tt_plan_free(ranks->plans[r]);
        ranks->plans[r] = NULL;
    }
}

static void free_ranks(struct ranks *ranks)
{
    forget_plans(ranks);
    tt_free(ranks->plans);
    tt_free(ranks->calls);
    tt_free(ranks->node);
    tt_free(ranks->room);
    tt_net_free(&ranks->net);
    *ranks = (struct ranks){.p = 0};
}

void tt_checker_free(struct tt_checker *checker)
{
    if (!checker) return;
    tt_prover_free(checker->prover);
    tt_builder_free(checker->builder);
    for (int i = 0; i < KINDS; i++) free_ranks(&checker->kind[i]);
    tt_free(checker);
}

static bool make_ranks(struct ranks *ranks, const struct tt_check_case *c)
{
    int p = c->problem.p;
    size_t room = tt_problem_room(&c->problem);
    forget_plans(ranks);
    if (ranks->p == p && ranks->room_n >= room) return true;
    free_ranks(ranks);
    ranks->p = p;
    ranks->room_n = room;
    ranks->plans = tt_calloc((size_t)p, sizeof *ranks->plans);
    ranks->calls = tt_calloc((size_t)p, sizeof *ranks->calls);
    ranks->node = tt_calloc((size_t)p, sizeof *ranks->node);
    ranks->room = tt_calloc((size_t)p, room * sizeof *ranks->room);
    if (ranks->plans && ranks->calls && ranks->node && ranks->room) return true;
    (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for %d ranks", p);
    free_ranks(ranks);
    return false;
}

/* Moves the pieces apart, so that there is a gap of one element before each piece, also before the
 * first. */
static void spread(int64_t *displs, int p)
{
    for (int r = 0; r < p; r++) displs[r] += r + 1;
}

static struct tt_call call_of(const struct ranks *ranks, const struct tt_check_case *c, int r)
{
    int p = c->problem.p;
    int64_t *room = ranks->room + ranks->room_n * (size_t)r;
    struct tt_call call = tt_problem_call(&c->problem, r, room);
    if (c->gaps && call.out_displs) spread(room + p, p);
    if (c->gaps && call.in_displs) spread(room + 3 * p, p);
    /* Only the root decides whether it calls in place. */
    if (tt_coll_is_roots(call.coll)) call.in_place &= r == call.root;
    return call;
}

static struct tt_map map_of(struct ranks *ranks, const struct tt_check_case *c)
{
    struct tt_map map = {.cores = c->problem.p,
                         .win_bytes = c->win_bytes,
                         .reads = c->direct,
                         .writes = c->direct,
                         .mapped = c->mapped};
    tt_problem_map(&c->problem, &map, ranks->node);
    /* about half of the window at most is for low bytes, so that small windows have high bytes,
     * too */
    tt_team_divide(&map, c->win_bytes / 16 * 8);
    tt_net_free(&ranks->net);
    if (tt_problem_net(&c->problem, &ranks->net) == TUTTI_OK && ranks->net.nodes > 0)
        map.net = &ranks->net;
    if (!c->scattered) return map;
    map.nodes = c->scattered;
    map.node = ranks->node;
    for (int r = 0; r < map.p; r++) ranks->node[r] = r % c->scattered;
    return map;
}

static const char *refused(struct ranks *ranks, const struct tt_check_case *c, struct tt_map *map)
{
    *map = map_of(ranks, c);
    struct tt_call call = call_of(ranks, c, 0);
    return c->algorithm->refuse(&call, map);
}

const char *tt_check_refused(struct tt_checker *checker, const struct tt_check_case *c)
{
    struct tt_map map;
    if (!make_ranks(&checker->kind[0], c)) return tutti_error();
    return refused(&checker->kind[0], c, &map);
}

static bool build(struct tt_checker *checker, struct ranks *ranks, const struct tt_check_case *c,
                  const struct tt_map *map)
{
    for (int r = 0; r < ranks->p; r++) {
        ranks->calls[r] = call_of(ranks, c, r);
        ranks->plans[r] =
            tt_algorithm_plan_with(checker->builder, c->algorithm, &ranks->calls[r], map, r);
        if (!ranks->plans[r]) return false;
        const char *invalid = tt_plan_invalid(ranks->plans[r], NULL);
        if (invalid) {
            (void)tt_fail(TUTTI_ERR_ARG, "rank %d's plan is malformed: %s", r, invalid);
            return false;
        }
    }
    return true;
}

static enum tt_check_result prove(struct tt_checker *checker, const struct tt_proof_case *problem,
                                  struct tt_proof *proof)
{
    if (tt_prove(checker->prover, problem, proof) != TUTTI_OK) return TT_CHECK_FAILED;
    return proof->fault == TT_FAULT_NONE ? TT_CHECK_PROVEN : TT_CHECK_REFUTED;
}

static struct tt_proof_execution execution_of(const struct ranks *ranks)
{
    return (struct tt_proof_execution){(const struct tt_plan *const *)ranks->plans, ranks->calls};
}

enum tt_check_result tt_check_prove(struct tt_checker *checker, const struct tt_check_case *c,
                                    int times, int in_flight, struct tt_proof *proof,
                                    const char **why)
{
    struct ranks *ranks = &checker->kind[0];
    struct tt_proof_execution executions[EXECUTIONS];
    struct tt_map map;
    if (!make_ranks(ranks, c)) return TT_CHECK_FAILED;
    *why = refused(ranks, c, &map);
    if (*why) return TT_CHECK_REFUSED;
    if (!build(checker, ranks, c, &map)) return TT_CHECK_FAILED;
    for (int k = 0; k < times; k++) executions[k] = execution_of(ranks);
    return prove(checker,
                 &(struct tt_proof_case){.p = ranks->p,
                                         .executions = times,
                                         .in_flight = in_flight,
                                         .execution = executions,
                                         .map = &map,
                                         .file = c->file},
                 proof);
}

enum tt_check_result tt_check_sequence(struct tt_checker *checker,
                                       const struct tt_check_case *cases, int kinds,
                                       const int *order, int n, int in_flight,
                                       struct tt_proof *proof)
{
    struct tt_proof_execution executions[EXECUTIONS];
    struct tt_map map = {.p = 0};
    tt_assert(kinds <= KINDS && n <= EXECUTIONS);
    for (int i = 0; i < kinds; i++) {
        struct ranks *ranks = &checker->kind[i];
        if (!make_ranks(ranks, &cases[i])) return TT_CHECK_FAILED;
        map = map_of(ranks, &cases[i]);
        if (!build(checker, ranks, &cases[i], &map)) return TT_CHECK_FAILED;
    }
    for (int k = 0; k < n; k++) executions[k] = execution_of(&checker->kind[order[k]]);
    return prove(checker,
                 &(struct tt_proof_case){.p = map.p,
                                         .executions = n,
                                         .in_flight = in_flight,
                                         .execution = executions,
                                         .map = &map},
                 proof);
}
