/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits for what in the plans of all ranks, for Graphviz: the steps of a lane in their order,
 * each message from its send to the wait for it, each signal to who awaits it.
 */
#ifndef TT_DRAW_GRAPH_H
#define TT_DRAW_GRAPH_H

#include <stdio.h>

#include "plan/plan.h"

enum { TT_GRAPH_STEPS = 4000 };

/* plans[0 .. p-1]. LIMIT: more than TT_GRAPH_STEPS steps; MEMORY. */
tutti_status tt_plan_graph(struct tt_plan *const *plans, int p, FILE *out);

#endif
