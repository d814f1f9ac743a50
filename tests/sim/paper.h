/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems run on paper, each rank on a node of its own.
 */
#ifndef TESTS_SIM_PAPER_H
#define TESTS_SIM_PAPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "choose/paper.h"

struct outcome {
    int64_t time_ps, formula_ps, messages, steps, bytes, max_link_bytes;
};
/* t_s 1 us, t_w 1 ns, everything else 0. */
extern const struct tt_model paper_simple, paper_links;

/* Whether the algorithm applies to the problem. */
bool paper_applies(const char *problem, const struct tt_algorithm *algorithm);
/* Fails the test where it cannot be run. */
struct outcome paper(const char *problem, const char *algorithm, const struct tt_model *model);

#endif
