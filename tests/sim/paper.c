/* SPDX-License-Identifier: BSD-3-Clause */
#include "paper.h"

#include <stdlib.h>

#include "plan/network.h"

const struct tt_model paper_simple = {.kind = TT_MODEL_simple, .ts_ps = 1000000, .tw_ps = 1000};
const struct tt_model paper_links = {.kind = TT_MODEL_links, .ts_ps = 1000000, .tw_ps = 1000};

static struct outcome run(const struct tt_paper *p)
{
    struct tt_sim_result r;
    if (tt_paper_run(p, &r) != TUTTI_OK) fail_msg("%s", tutti_error());
    struct outcome outcome = {.time_ps = r.time_ps,
                              .formula_ps = tt_paper_formula_ps(p),
                              .messages = r.messages,
                              .steps = r.steps,
                              .bytes = r.bytes,
                              .max_link_bytes = r.max_link_bytes};
    if (p->map->p <= 61) assert_int_equal(tt_paper_messages(p), r.messages); /* exact up to here */
    tt_sim_free(&r);
    return outcome;
}

struct outcome paper(const char *text, const char *algorithm, const struct tt_model *model)
{
    struct tt_problem problem;
    struct tt_problem_error error;
    struct tt_net net = {.nodes = 0};
    if (tt_problem_parse(text, &problem, &error) != TUTTI_OK) fail_msg("%s: %s", text, error.text);
    int *node = calloc((size_t)problem.p, sizeof *node);
    struct tt_map map = {.cores = 1};
    assert_int_equal(tt_problem_apart(&problem, &map, node, &net), TUTTI_OK);
    struct tt_paper p = {.algorithm = tt_algorithm_find(problem.call.coll, algorithm),
                         .problem = &problem,
                         .map = &map,
                         .model = model};
    assert_non_null(p.algorithm);
    struct outcome outcome = run(&p);
    tt_net_free(&net);
    free(node);
    return outcome;
}
