/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulated.h"

#include <stdlib.h>

#include "plan/network.h"

const struct tt_model model_simple = {.kind = TT_MODEL_simple, .ts_ps = 1000000, .tw_ps = 1000};
const struct tt_model model_links = {.kind = TT_MODEL_links, .ts_ps = 1000000, .tw_ps = 1000};

static struct outcome run(const struct tt_simulation *p)
{
    struct tt_sim_result r;
    if (tt_simulate(p, &r) != TUTTI_OK) fail_msg("%s", tutti_error());
    struct outcome outcome = {.time_ps = r.time_ps,
                              .formula_ps = tt_simulation_formula_ps(p),
                              .messages = r.messages,
                              .steps = r.steps,
                              .bytes = r.bytes,
                              .max_link_bytes = r.max_link_bytes};
    /* For up to 61 ranks the predicted number of messages is exact. */
    if (p->map->p <= 61) assert_int_equal(tt_simulation_messages(p), r.messages);
    tt_sim_free(&r);
    return outcome;
}

/* A problem with its network and its map. */
struct setting {
    struct tt_problem problem;
    struct tt_net net;
    struct tt_map map;
    int *node;
};

static void open_setting(struct setting *s, const char *text)
{
    struct tt_problem_error error;
    *s = (struct setting){.map = {.cores = 1}};
    if (tt_problem_parse(text, &s->problem, &error) != TUTTI_OK)
        fail_msg("%s: %s", text, error.text);
    s->node = calloc((size_t)s->problem.p, sizeof *s->node);
    assert_int_equal(tt_problem_apart(&s->problem, &s->map, s->node, &s->net), TUTTI_OK);
}

static void close_setting(struct setting *s)
{
    tt_net_free(&s->net);
    free(s->node);
}

bool applies(const char *text, const struct tt_algorithm *algorithm)
{
    struct setting s;
    open_setting(&s, text);
    int64_t *room = calloc(tt_problem_room(&s.problem) + 1, sizeof *room);
    struct tt_call call = tt_problem_call(&s.problem, 0, room);
    bool applies = algorithm->coll == call.coll && !algorithm->refuse(&call, &s.map);
    free(room);
    close_setting(&s);
    return applies;
}

struct outcome simulated(const char *text, const char *algorithm, const struct tt_model *model)
{
    struct setting s;
    open_setting(&s, text);
    struct tt_simulation p = {.algorithm = tt_algorithm_find(s.problem.call.coll, algorithm),
                              .problem = &s.problem,
                              .map = &s.map,
                              .model = model};
    assert_non_null(p.algorithm);
    struct outcome outcome = run(&p);
    close_setting(&s);
    return outcome;
}
