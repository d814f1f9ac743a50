/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the problem and the algorithm from the command line, and prints an error if they are wrong.
 */
#include "problem.h"

#include <stdio.h>
#include <string.h>

#include "choose/choose.h"
#include "command.h"
#include "job/wait.h"
#include "run/team.h"

bool tt_problem_open(struct tt_problem *problem, const char *text)
{
    struct tt_problem_error error;
    if (tt_problem_parse(text, problem, &error) == TUTTI_OK) {
        tt_tune(&problem->call, tt_setting_must_match(TT_MUST_MATCH_SLICE),
                tt_setting_must_match(TT_MUST_MATCH_RADIX));
        return true;
    }
    tt_problem_complain(stderr, text, &error);
    return false;
}

const struct tt_algorithm *tt_algorithm_named(const char *command, enum tt_coll coll,
                                              const char *name)
{
    const struct tt_algorithm *found = tt_algorithm_find(coll, name);
    if (found) return found;
    fprintf(stderr, "%s: %s has no algorithm '%s'; it has:", command, tt_coll_name(coll), name);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        if ((*a)->coll == coll) fprintf(stderr, " %s", (*a)->name);
    }
    fprintf(stderr, "\n");
    return NULL;
}

static bool pick(struct tt_case *c, const char *command, const char *name)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    if (!name) {
        if (tt_choose(&call, &c->map, NULL, &c->algorithm, &c->by) == TUTTI_OK) {
            if (c->by == TT_CHOSEN_WISDOM)
                tt_wisdom_tune(tt_wisdom_find(&call, &c->map), &c->problem.call);
            return true;
        }
        fprintf(stderr, "%s: %s\n", command, tutti_error());
        return false;
    }
    c->algorithm = tt_algorithm_named(command, c->problem.call.coll, name);
    if (!c->algorithm) return false;
    const char *why = c->algorithm->refuse(&call, &c->map);
    if (why) fprintf(stderr, "%s: %s does not apply here: it %s\n", command, name, why);
    return !why;
}

/* Fills in the map of the machine, assuming processes that can read each other's memory, as on most
 * machines. */
static bool fill_map(struct tt_case *c, const char *command)
{
    c->map = (struct tt_map){.cores = tt_usable_cores(),
                             .win_bytes = tt_team_window(),
                             .direct = true,
                             .read_cost = tt_cost_alone()};
    char why[TT_MACHINE_WHY];
    tt_machine_decide(&c->machine, NULL, why);
    if (c->machine.use != TT_MACHINE_UNKNOWN) c->map.machine = &c->machine.model;
    c->map.estimates = c->machine.use == TT_MACHINE_ESTIMATE;
    tt_wisdom_load(c->problem.p, &c->wisdom);
    if (c->wisdom.n > 0) c->map.wisdom = &c->wisdom;
    tt_problem_map(&c->problem, &c->map, c->node);
    tutti_status status = tt_problem_net(&c->problem, &c->net);
    if (status != TUTTI_OK) fprintf(stderr, "%s: %s\n", command, tutti_error());
    if (c->net.nodes > 0) c->map.net = &c->net;
    return status == TUTTI_OK;
}

static bool make_room(struct tt_case *c, const char *command)
{
    c->node = tt_calloc((size_t)c->problem.p, sizeof *c->node);
    c->room = tt_calloc(tt_problem_room(&c->problem) + 1, sizeof *c->room);
    if (c->node && c->room) return true;
    fprintf(stderr, "%s: no memory for %d ranks\n", command, c->problem.p);
    return false;
}

bool tt_case_open(struct tt_case *c, const char *command, const char *text, const char *algorithm)
{
    *c = (struct tt_case){0};
    if (!tt_problem_open(&c->problem, text)) return false;
    if (make_room(c, command) && fill_map(c, command) && pick(c, command, algorithm)) return true;
    tt_case_close(c);
    return false;
}

bool tt_case_apart(struct tt_case *c, const char *command, const char *text)
{
    *c = (struct tt_case){0};
    if (!tt_problem_open(&c->problem, text)) return false;
    c->map.cores = 1;
    c->map.win_bytes = tt_team_window(); /* window of ranks that share a node */
    if (make_room(c, command)) {
        if (tt_problem_apart(&c->problem, &c->map, c->node, &c->net) == TUTTI_OK) return true;
        fprintf(stderr, "%s: %s\n", command, tutti_error());
    }
    tt_case_close(c);
    return false;
}

void tt_case_close(struct tt_case *c)
{
    tt_net_free(&c->net);
    tt_free(c->node);
    tt_free(c->room);
    *c = (struct tt_case){0};
}
