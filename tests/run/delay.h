/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Late transfers. On this fabric a put or a get is done when it is started; elsewhere it is done at
 * some time before its wait, in any order, and if nobody waits for it perhaps never. A plan whose
 * transfers stand at another such place shows that here.
 */
#ifndef TESTS_RUN_DELAY_H
#define TESTS_RUN_DELAY_H

#include "plan/plan.h"

/* The plan with loops unrolled and each put and get moved to a random place between its start and
 * its wait, to be freed by tt_plan_free. NULL if it waits for what was not started, or is too
 * long. */
struct tt_plan *delay(const struct tt_plan *plan, const struct tt_call *call,
                      struct tt_random *random);

#endif
