/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated problems, each rank on a node of its own.
 */
#ifndef TESTS_SIM_SIMULATED_H
#define TESTS_SIM_SIMULATED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/simulate.h"

struct outcome {
    int64_t time_ps, formula_ps, messages, steps, bytes, max_link_bytes;
};
/* The models of the tests (sim/sim.h), without and with the links of a network. In both models, t_s
 * (the start-up time of a message) is 1 us, t_w (the time of a byte) is 1 ns, and all other costs
 * are 0. */
extern const struct tt_model model_simple, model_links;

/* Returns whether the algorithm applies to the problem. */
bool applies(const char *problem, const struct tt_algorithm *algorithm);
/* Simulates the problem. Fails the test if that is impossible. */
struct outcome simulated(const char *problem, const char *algorithm, const struct tt_model *model);

#endif
