/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An algorithm run on paper: its plans, a phase of a rank at a time, given to the simulator.
 */
#ifndef TT_CHOOSE_PAPER_H
#define TT_CHOOSE_PAPER_H

#include "coll/coll.h"
#include "plan/problem.h"
#include "sim/sim.h"

struct tt_paper {
    const struct tt_algorithm *algorithm; /* applies */
    const struct tt_problem *problem;
    const struct tt_map *map; /* with its network where the model wants one */
    const struct tt_model *model;
    /* Now and then: how many ranks have ended, and messages so far. May be NULL. */
    void (*progress)(void *arg, int ended, int64_t messages);
    /* See tt_sim_job. May be NULL. */
    void (*step)(void *arg, const struct tt_sim_deed *deed);
    void (*message)(void *arg, const struct tt_sim_deed *deed);
    void *arg;
};

/* Errors: those of tt_sim. The result is freed by tt_sim_free. */
tutti_status tt_paper_run(const struct tt_paper *paper, struct tt_sim_result *result);

/* How many messages there will be, by the plans of some ranks; -1: no memory to tell. */
int64_t tt_paper_messages(const struct tt_paper *paper);

/* Returns the time by the algorithm's formula; -1 if it has none. */
int64_t tt_paper_formula_ps(const struct tt_paper *paper);

#endif
