/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates a run of an algorithm: gives the simulator the plan of each rank, one phase (a part of
 * the plan, see coll.h) at a time.
 */
#ifndef TT_SIM_SIMULATE_H
#define TT_SIM_SIMULATE_H

#include "coll/coll.h"
#include "text/plan-file.h"
#include "text/problem.h"
#include "sim/sim.h"

struct tt_simulation {
    /* the algorithm to simulate, which must apply to the problem */
    const struct tt_algorithm *algorithm;
    /* the plan file from which the plans come; NULL if they come from none */
    const struct tt_plan_file *file;
    const struct tt_problem *problem;
    const struct tt_map *map; /* the map of the ranks, with the network if the model needs one */
    const struct tt_model *model;
    /* Called from time to time with the number of ranks that have ended and the number of messages
     * so far. May be NULL. */
    void (*progress)(void *arg, int ended, int64_t messages);
    /* These functions are called as `step` and `message` of struct tt_sim_job. They may be NULL. */
    void (*step)(void *arg, const struct tt_sim_event *event);
    void (*message)(void *arg, const struct tt_sim_event *event);
    void *arg;
};

/* Runs the simulation. Errors: those of tt_sim, and ERR_MEMORY. The caller frees the result with
 * tt_sim_free. */
tutti_status tt_simulate(const struct tt_simulation *simulation, struct tt_sim_result *result);

/* Returns an estimate of the number of messages, from the plans of at most 61 ranks; -1 if there is
 * no memory. */
int64_t tt_simulation_messages(const struct tt_simulation *simulation);

/* Returns the time in picoseconds that the algorithm's formula for its cost gives; -1 if there is
 * no formula for this problem and model. */
int64_t tt_simulation_formula_ps(const struct tt_simulation *simulation);

#endif
