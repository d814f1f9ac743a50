/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Late transfers. The shared-memory transport completes a put or a get when it is started. Other
 * transports complete it at any time before its wait, in any order, and perhaps never if the plan
 * does not wait for it. A plan that is wrong with such timings fails in the test once its transfers
 * are moved.
 */
#ifndef TESTS_RUN_DELAY_H
#define TESTS_RUN_DELAY_H

#include "plan/plan.h"

/* Returns a plan with loops unrolled and with each put and get moved to a random place between its
 * start and its wait. The caller frees it with tt_plan_free. Returns NULL if the plan waits for a
 * step that was not started, or if it is too long. */
struct tt_plan *delay(const struct tt_plan *plan, const struct tt_call *call,
                      struct tt_random *random);

#endif
