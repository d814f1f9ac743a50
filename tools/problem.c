/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the problem and the algorithm from the command line, and prints an error if they are wrong.
 */
#include "problem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "choose/choose.h"
#include "choose/plan-file.h"
#include "choose/rankings.h"
#include "command.h"
#include "job/wait.h"
#include "run/team.h"

static bool is_file(const char *name)
{
    struct stat is;
    return stat(name, &is) == 0 && S_ISREG(is.st_mode);
}

/* Returns the value that a setting has in the job with this record, or for this process if `job` is
 * NULL. In the record, a setting is stored as 1 + its value (struct tt_common). */
static int64_t setting_in(const struct tt_common *job, enum tt_must_match which)
{
    if (!job) return tt_setting_must_match(which);
    return tt_max(0, atomic_load(&job->must_match[which]) - 1);
}

/* Parses `text`, and applies the settings of the job with this record, or those of this process if
 * `job` is NULL. Returns false after printing the error. */
static bool open_in(const char *command, struct tt_problem *problem, const char *text,
                    const struct tt_common *job)
{
    struct tt_problem_error error;
    if (tt_problem_parse(text, problem, &error) == TUTTI_OK) {
        tt_tune(&problem->call, setting_in(job, TT_MUST_MATCH_SLICE),
                setting_in(job, TT_MUST_MATCH_RADIX), setting_in(job, TT_MUST_MATCH_LANES));
        return true;
    }
    tt_problem_complain(stderr, command, text, &error);
    if (is_file(text))
        fputs("(a file has this name; check, sim, draw and bench read a plan with --plan FILE)\n",
              stderr);
    return false;
}

bool tt_problem_open(const char *command, struct tt_problem *problem, const char *text)
{
    return open_in(command, problem, text, NULL);
}

char *tt_problem_add_ranks(const char *text, int ranks, char with[TT_PROBLEM_TEXT])
{
    const char *key = strchr(text, '=');
    size_t at = strcspn(text, "@");
    for (const char *p = text; (p = strstr(p, "/p")) != NULL; p++) {
        if (p[2] < '0' || p[2] > '9') continue;
        snprintf(with, TT_PROBLEM_TEXT, "%s", text);
        return with;
    }
    if (key)
        for (at = (size_t)(key - text); at > 0 && text[at] != '/';) at--;
    snprintf(with, TT_PROBLEM_TEXT, "%.*s/p%d%s", (int)at, text, ranks, text + at);
    return with;
}

bool tt_problem_open_in_job(const char *command, struct tt_problem *problem, const char *text,
                            int ranks, char with[TT_PROBLEM_TEXT])
{
    if (!tt_problem_open(command, problem, tt_problem_add_ranks(text, ranks, with))) return false;
    if (problem->p == ranks && !problem->map[0]) return true;
    fprintf(stderr,
            "%s: %s: a launcher has started this command as %d rank%s: the problem may name no "
            "other number of ranks, and no map\n",
            command, text, ranks, ranks == 1 ? "" : "s");
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

/* Picks the plans of the plan file that TUTTI_ALGORITHM names, if it names one, and proves them as
 * a program would. Returns false after printing the error. */
static bool pick_file(struct tt_case *c, const char *command, const struct tt_call *call)
{
    struct tt_lab_answer answer;
    if (!tt_plan_row_forced(&c->row, command, &c->problem)) return false;
    if (c->row.p == 0) return true;
    tt_lab_provide(tutti_lab_plan);
    c->algorithm = &c->row.row;
    c->by = TT_CHOSEN_FORCED;
    if (tt_plan_from_file(c->row.file.name, call, &c->map, 0, &answer) == TUTTI_OK) {
        tt_plan_free(answer.plan);
        return true;
    }
    fprintf(stderr, "%s: %s\n", command, tutti_error());
    return false;
}

/* Picks the algorithm of this name, or the one that the library would choose if `name` is NULL. */
static bool pick(struct tt_case *c, const char *command, const char *name)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    c->given = c->problem.call;
    if (!name && !pick_file(c, command, &call)) return false;
    if (c->algorithm) return true;
    if (!name) {
        struct tt_choice choice;
        if (tt_choose(&call, &c->map, c->rankings, &choice, &c->by) == TUTTI_OK) {
            c->algorithm = choice.algorithm;
            c->with = choice.with;
            tt_choice_tune(&choice, &c->problem.call);
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

static void map_what_is_known(struct tt_case *c)
{
    if (c->machine.use != TT_MACHINE_UNKNOWN) c->map.machine = &c->machine.model;
    c->map.estimates = c->machine.use == TT_MACHINE_ESTIMATE;
    if (c->wisdom.n > 0) c->map.wisdom = &c->wisdom;
}

/* If the library would choose by estimate, loads the stored rankings of the algorithms. If there is
 * no memory, does nothing, because rankings only save time. */
static void find_rankings(struct tt_case *c)
{
    if (!c->map.estimates) return;
    c->rankings = tt_calloc(1, sizeof *c->rankings);
    if (c->rankings) tt_rankings_load(&c->machine.model, c->problem.p, c->rankings);
}

/* Returns whether ranks on this machine would have this kind of access to each other's memory. */
static bool allows(enum tt_access access)
{
    return tt_setting_int("TUTTI_CMA") != 0 && !tt_cma_forbidden(access);
}

/* Fills in the nodes of the ranks. If the problem names nodes, each of them counts as a machine
 * like this one. Otherwise the nodes are those of TUTTI_NODES, with which ranks on this machine
 * behave as if they were on several nodes. */
static tutti_status fill_nodes(struct tt_case *c)
{
    int *node, nodes;
    tt_problem_map(&c->problem, &c->map, c->node);
    if (c->map.node) c->map.cores *= c->map.nodes;
    if (c->problem.map[0]) return TUTTI_OK;
    TT_TRY(tt_fabric_nodes(c->problem.p, &node, &nodes));
    if (!node) return TUTTI_OK;
    memcpy(c->node, node, (size_t)c->problem.p * sizeof *node);
    tt_free(node);
    c->map.nodes = nodes;
    c->map.node = c->node;
    return TUTTI_OK;
}

/* Fills in the map that ranks of a job on this machine would have. */
static bool fill_map(struct tt_case *c, const char *command)
{
    c->map = (struct tt_map){.cores = tt_usable_cores(),
                             .win_bytes = tt_team_window(),
                             .eager = tt_setting_must_match(TT_MUST_MATCH_EAGER),
                             .reads = allows(TT_READS),
                             .writes = allows(TT_WRITES),
                             .read_cost = tt_cost_alone()};
    char why[TT_MACHINE_WHY];
    tt_machine_decide(&c->machine, NULL, why);
    c->map.link = c->machine.link;
    tt_wisdom_load(c->problem.p, &c->wisdom);
    map_what_is_known(c);
    find_rankings(c);
    tutti_status status = fill_nodes(c);
    tt_team_divide(&c->map, c->map.win_bytes);
    if (status == TUTTI_OK) status = tt_problem_net(&c->problem, &c->net);
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

/* Returns whether these values, which a job has stored in its memory, are possible. The program of
 * the job may have overwritten them by mistake, because it can write to this memory, too. */
static bool is_sound(const struct tt_map *map, const struct tt_machine_in_force *machine,
                     const struct tt_wisdom *wisdom)
{
    if (!tt_map_valid(map) || map->cores < 1 || map->read_cost < 0) return false;
    if (map->link.mbit < 0 || map->link.start_ns < 0) return false;
    if (machine->use > TT_MACHINE_ESTIMATE || wisdom->n > TT_WISDOM_MOST) return false;
    if (machine->use != TT_MACHINE_UNKNOWN && !tt_machine_valid(&machine->model)) return false;
    for (uint32_t i = 0; i < wisdom->n; i++)
        if (!tt_wise_valid(&wisdom->line[i])) return false;
    return true;
}

/* Fills in the map of the world of a client in a running job, from the record of this client in the
 * job's memory (`common`). Returns false after printing the error. */
static bool fill_map_of(struct tt_case *c, const char *command, const struct tt_common *common)
{
    const struct tt_world_facts *world = &common->world;
    c->map = (struct tt_map){.p = c->problem.p,
                             .cores = world->cores,
                             .win_bytes = world->win_bytes,
                             .eager = setting_in(common, TT_MUST_MATCH_EAGER),
                             .reads = world->reads,
                             .writes = world->writes,
                             .mapped = world->mapped,
                             .one_kernel = world->one_kernel,
                             .rdma = world->rdma,
                             .read_cost = world->read_cost,
                             .link = world->link,
                             .measures = common->machine.measures,
                             .nodes = world->nodes,
                             .node = world->nodes > 1 ? c->node : NULL};
    tt_team_divide(&c->map, c->map.win_bytes);
    for (int r = 0; r < c->problem.p; r++) c->node[r] = common->rank[r].node;
    c->machine = common->machine;
    c->wisdom = common->wisdom;
    map_what_is_known(c);
    tt_choose_force(world->algorithm);
    if (is_sound(&c->map, &c->machine, &c->wisdom)) return true;
    fprintf(stderr, "%s: what the job has stored in its memory makes no sense\n", command);
    return false;
}

bool tt_case_open(struct tt_case *c, const char *command, const char *text, const char *algorithm,
                  const struct tt_common *job)
{
    *c = (struct tt_case){0};
    if (!open_in(command, &c->problem, text, job)) return false;
    bool filled =
        make_room(c, command) && (job ? fill_map_of(c, command, job) : fill_map(c, command));
    bool picked = filled && pick(c, command, algorithm);
    /* the caller may free the record, and with it the value of TUTTI_ALGORITHM */
    if (job) tt_choose_force(NULL);
    if (!picked) tt_case_close(c);
    return picked;
}

bool tt_case_apart(struct tt_case *c, const char *command, const char *text)
{
    *c = (struct tt_case){0};
    if (!tt_problem_open(command, &c->problem, text)) return false;
    c->map.cores = 1;
    c->map.win_bytes = tt_team_window(); /* the window of a team whose ranks share a node */
    if (make_room(c, command)) {
        if (tt_problem_apart(&c->problem, &c->map, c->node, &c->net) == TUTTI_OK) return true;
        fprintf(stderr, "%s: %s\n", command, tutti_error());
    }
    tt_case_close(c);
    return false;
}

struct tt_call tt_case_given(const struct tt_case *c)
{
    struct tt_call call = tt_problem_call(&c->problem, 0, c->room);
    call.slice = c->given.slice;
    call.radix = c->given.radix;
    call.lanes = c->given.lanes;
    return call;
}

void tt_case_close(struct tt_case *c)
{
    if (c->rankings) tt_rankings_keep(&c->machine.model, c->rankings);
    tt_free(c->rankings);
    tt_plan_row_close(&c->row);
    tt_net_free(&c->net);
    tt_free(c->node);
    tt_free(c->room);
    *c = (struct tt_case){0};
}
