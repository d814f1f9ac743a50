/* SPDX-License-Identifier: BSD-3-Clause */
#include "drawn.h"

#include <stdlib.h>

struct drawn *drawn(const char *text, const char *algorithm)
{
    struct tt_problem_error error;
    struct drawn *d = calloc(1, sizeof *d);
    assert_non_null(d);
    if (tt_problem_parse(text, &d->problem, &error) != TUTTI_OK)
        fail_msg("%s: %s", text, error.text);
    d->node = calloc((size_t)d->problem.p, sizeof *d->node);
    d->map.cores = 1;
    assert_int_equal(tt_problem_apart(&d->problem, &d->map, d->node, &d->net), TUTTI_OK);
    struct tt_model model = {.kind = d->map.net ? TT_MODEL_links : TT_MODEL_simple,
                             .ts_ps = 1000000,
                             .tw_ps = 1000,
                             .gamma_ps = 500};
    struct tt_simulation simulation = {.algorithm =
                                           tt_algorithm_find(d->problem.call.coll, algorithm),
                                       .problem = &d->problem,
                                       .map = &d->map,
                                       .model = &model,
                                       .step = tt_picture_step,
                                       .message = tt_picture_message,
                                       .arg = &d->picture};
    assert_non_null(simulation.algorithm);
    assert_int_equal(tt_picture_begin(&d->picture, d->problem.p), TUTTI_OK);
    tt_problem_print(&d->problem, d->picture.problem);
    snprintf(d->picture.algorithm, sizeof d->picture.algorithm, "%s", algorithm);
    if (tt_simulate(&simulation, &d->result) != TUTTI_OK) fail_msg("%s", tutti_error());
    int root = tt_coll_has_root(d->problem.call.coll) ? d->problem.call.root : -1;
    assert_int_equal(tt_picture_end(&d->picture, root), TUTTI_OK);
    return d;
}

void drawn_free(struct drawn *d)
{
    tt_picture_free(&d->picture);
    tt_sim_free(&d->result);
    tt_net_free(&d->net);
    free(d->node);
    free(d);
}

char *printed(void (*print)(const struct tt_picture *, FILE *), const struct tt_picture *picture)
{
    char *text = NULL;
    size_t n;
    FILE *memory = open_memstream(&text, &n);
    assert_non_null(memory);
    print(picture, memory);
    assert_int_equal(fclose(memory), 0);
    return text;
}
