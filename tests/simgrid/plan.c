/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts plans to flat lists of acts with the iterator that all readers of plans use. Plans of
 * more than one lane are refused.
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "coll/coll.h"
#include "text/problem.h"

struct peer_problem {
    struct tt_problem problem;
    struct tt_net net;
    struct tt_map map;
    const struct tt_algorithm *algorithm;
    int *node;     /* the array behind map.node */
    int64_t *room; /* working memory for tt_problem_call */
};

static bool reported(const char *what, const char *why)
{
    fprintf(stderr, "simgrid-peer: %s: %s\n", what, why);
    return false;
}

/* ---- The problem ---- */

static bool parse(struct peer_problem *p, const char *text)
{
    struct tt_problem_error error;
    if (tt_problem_parse(text, &p->problem, &error) == TUTTI_OK) return true;
    tt_problem_complain(stderr, "simgrid", text, &error);
    return false;
}

/* Places each rank on a node of its own, as `tutti sim` does. */
static bool place(struct peer_problem *p)
{
    p->node = tt_calloc((size_t)p->problem.p, sizeof *p->node);
    p->room = tt_calloc(tt_problem_room(&p->problem) + 1, sizeof *p->room);
    if (!p->node || !p->room) return reported("memory", "there is none");
    p->map.cores = 1;
    if (tt_problem_apart(&p->problem, &p->map, p->node, &p->net) == TUTTI_OK) return true;
    return reported("network", tutti_error());
}

static bool pick(struct peer_problem *p, const char *name)
{
    struct tt_call call = tt_problem_call(&p->problem, 0, p->room);
    p->algorithm = tt_algorithm_find(call.coll, name);
    if (!p->algorithm) return reported(name, "there is no such algorithm");
    const char *why = p->algorithm->refuse(&call, &p->map);
    if (why) fprintf(stderr, "simgrid-peer: %s does not apply: it %s\n", name, why);
    return !why;
}

struct peer_problem *peer_problem_open(const char *text, const char *algorithm)
{
    struct peer_problem *p = tt_calloc(1, sizeof *p);
    if (p && parse(p, text) && place(p) && pick(p, algorithm)) return p;
    peer_problem_close(p);
    return NULL;
}

void peer_problem_close(struct peer_problem *problem)
{
    if (!problem) return;
    tt_net_free(&problem->net);
    tt_free(problem->node);
    tt_free(problem->room);
    tt_free(problem);
}

int peer_ranks(const struct peer_problem *problem)
{
    return problem->problem.p;
}

/* ---- Steps ---- */

static bool append(struct peer_acts *acts, struct peer_act act)
{
    if (acts->n == acts->room) {
        size_t room = acts->room ? 2 * acts->room : 64;
        struct peer_act *more = realloc(acts->act, room * sizeof *more);
        if (!more) return reported("memory", "there is none");
        acts->act = more;
        acts->room = room;
    }
    acts->act[acts->n++] = act;
    return true;
}

static bool append_signals(struct peer_acts *acts, const struct tt_plan *plan,
                           const struct tt_plain *s)
{
    struct peer_act act = {.kind = PEER_SIGNAL, .peer = s->peer, .value = s->value};
    if (s->peer >= 0) return append(acts, act);
    uint32_t n = s->peer == TT_ALL ? (uint32_t)plan->p - 1 : s->nops;
    for (uint32_t i = 0; i < n; i++) {
        act.peer = s->peer == TT_ALL ? (plan->me + 1 + (int)i) % plan->p : s->set[i];
        if (!append(acts, act)) return false;
    }
    return true;
}

/* Appends a get for each operand in another rank's memory, and then a wait for each of these gets.
 * The copy or reduction follows. */
static bool append_operands(struct peer_acts *acts, const struct tt_plain *s, uint32_t first_start)
{
    bool good = true;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 1; i < s->nops && good; i++) {
            struct peer_act act = {.kind = pass ? PEER_WAIT : PEER_GET,
                                   .peer = s->range[i].rank,
                                   .start = first_start + i,
                                   .bytes = s->len};
            if (act.peer != TT_SELF) good = append(acts, act);
        }
    }
    return good;
}

static bool append_work(struct peer_acts *acts, const struct tt_plain *s, uint32_t first_start)
{
    struct peer_act act = {.kind = PEER_REDUCE, .bytes = s->len * (s->nops - 2)};
    if (s->kind == TT_COPY)
        act =
            (struct peer_act){.kind = PEER_COPY, .bytes = s->range[1].rank == TT_SELF ? s->len : 0};
    return append_operands(acts, s, first_start) && append(acts, act);
}

/* Appends the acts of a step. A transfer that a step starts has a number, which is made of the
 * step's id and the instance (how many transfers with this id were started before). The gets for
 * the operands of a copy or reduction have greater numbers than all these transfers. */
static bool append_step(struct peer_acts *acts, const struct tt_plan *plan,
                        const struct tt_plain *s)
{
    static const enum peer_kind kinds[] = {
        [TT_SEND] = PEER_SEND, [TT_RECV] = PEER_RECV, [TT_PUT] = PEER_PUT,
        [TT_GET] = PEER_GET,   [TT_WAIT] = PEER_WAIT, [TT_AWAIT] = PEER_AWAIT};
    struct peer_act act = {.peer = s->peer, .bytes = s->len, .value = s->value};
    act.start = s->value * TT_IN_FLIGHT + (uint32_t)(s->instance % TT_IN_FLIGHT);
    if (s->kind == TT_SIGNAL) return append_signals(acts, plan, s);
    if (s->kind == TT_COPY || s->kind == TT_REDUCE)
        return append_work(acts, s, plan->lane[0].starts * TT_IN_FLIGHT);
    act.kind = kinds[s->kind];
    return append(acts, act);
}

static bool append_lane(struct peer_acts *acts, const struct tt_plan *plan)
{
    struct tt_iter iter;
    struct tt_plain step;
    void *memory = malloc(tt_iter_bytes(plan, 0) + 8);
    bool good = memory || reported("memory", "there is none");
    if (good) tt_iter_begin(&iter, plan, 0, memory);
    while (good && tt_iter_next(&iter, &step)) good = append_step(acts, plan, &step);
    free(memory);
    return good;
}

bool peer_acts_of(const struct peer_problem *problem, int rank, struct peer_acts *acts)
{
    struct tt_call call = tt_problem_call(&problem->problem, rank, problem->room);
    struct tt_plan *plan = tt_algorithm_plan(problem->algorithm, &call, &problem->map, rank);
    *acts = (struct peer_acts){.n = 0};
    if (!plan) return reported("plan", tutti_error());
    acts->starts = plan->lane[0].starts * TT_IN_FLIGHT + plan->operands;
    bool good = plan->lanes == 1 || reported("plan", "it has more than one lane");
    good = good && append_lane(acts, plan);
    tt_plan_free(plan);
    return good;
}

/* ---- Routes ---- */

bool peer_has_network(const struct peer_problem *problem)
{
    return problem->map.net != NULL;
}

int64_t peer_link_room(const struct peer_problem *problem)
{
    return (int64_t)problem->net.vertices * problem->net.ports;
}

int peer_route(const struct peer_problem *problem, int from, int to, int64_t *link, int room)
{
    const struct tt_net *net = &problem->net;
    struct tt_route route = tt_route(tt_net_node(net, from), tt_net_node(net, to));
    struct tt_hop hop;
    int n = 0;
    for (; tt_route_next(net, &route, &hop); n++)
        if (n < room) link[n] = hop.link;
    return n;
}
