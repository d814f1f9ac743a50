/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates a case and makes a picture of it.
 */
#include "picture.h"

#include "choose/choose.h"
#include "sim/simulate.h"
#include "model.h"

/* Refuses pictures of more than 2^27 messages. Each message is at least one object of the picture,
 * so a larger problem is probably a typing error and would take hours. */
static tutti_status can_be_drawn(const struct tt_simulation *simulation)
{
    int64_t messages = tt_simulation_messages(simulation);
    if (messages <= INT64_C(1) << 27) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_LIMIT, "%.1e messages are too many for a picture", (double)messages);
}

static tutti_status run(const struct tt_case *c, const struct tt_algorithm *algorithm,
                        const struct tt_model *model, struct tt_picture *picture,
                        struct tt_sim_result *result)
{
    struct tt_simulation simulation = {.algorithm = algorithm,
                                       .file = tt_plan_row_file(algorithm),
                                       .problem = &c->problem,
                                       .map = &c->map,
                                       .model = model,
                                       .step = tt_picture_step,
                                       .message = tt_picture_message,
                                       .arg = picture};
    int root = tt_coll_has_root(c->problem.call.coll) ? c->problem.call.root : -1;
    TT_TRY(can_be_drawn(&simulation));
    TT_TRY(tt_simulate(&simulation, result));
    picture->time_ps = result->time_ps;
    tutti_status status = tt_picture_end(picture, root);
    if (status == TUTTI_OK && c->map.net) {
        status = tt_picture_network(picture, c->map.net, c->problem.map, result->link_bytes);
        if (status == TUTTI_ERR_LIMIT) fprintf(stderr, "tutti: the network: %s\n", tutti_error());
        if (status == TUTTI_ERR_LIMIT) status = TUTTI_OK;
    }
    if (status != TUTTI_OK) tt_sim_free(result);
    return status;
}

tutti_status tt_case_picture(const struct tt_case *c, const struct tt_algorithm *algorithm,
                             const struct tt_model *model, int first, int last,
                             struct tt_picture *picture, struct tt_sim_result *result)
{
    TT_TRY(tt_picture_begin(picture, c->map.p));
    picture->first = first;
    picture->last = last;
    tt_problem_print(&c->problem, picture->problem);
    snprintf(picture->algorithm, sizeof picture->algorithm, "%s", algorithm->name);
    snprintf(picture->model, sizeof picture->model, "%s", tt_model_name(model->kind));
    tutti_status status = run(c, algorithm, model, picture, result);
    if (status != TUTTI_OK) tt_picture_free(picture);
    return status;
}

const struct tt_algorithm *tt_case_algorithm(struct tt_case *c, const char *command,
                                             const char *name)
{
    const struct tt_algorithm *algorithm;
    struct tt_choice choice;
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    if (!name && !tt_plan_row_forced(&c->row, command, &c->problem)) return NULL;
    if (c->row.p > 0) return &c->row.row;
    if (!name) {
        if (tt_choose(&call, &c->map, NULL, &choice, NULL) == TUTTI_OK) {
            tt_choice_tune(&choice, &c->problem.call);
            return choice.algorithm;
        }
        fprintf(stderr, "%s: %s\n", command, tutti_error());
        return NULL;
    }
    algorithm = tt_algorithm_named(command, call.coll, name);
    const char *why = algorithm ? algorithm->refuse(&call, &c->map) : NULL;
    if (why) fprintf(stderr, "%s: %s does not apply: it %s\n", command, name, why);
    return why ? NULL : algorithm;
}
