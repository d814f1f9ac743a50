/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dependences in the plans of all ranks, for Graphviz: the steps of a lane in their order, an
 * edge for each message from its send to the wait for its receive, and for each signal to the step
 * that awaits it.
 */
#ifndef TT_DRAW_GRAPH_H
#define TT_DRAW_GRAPH_H

#include <stdio.h>

#include "plan/plan.h"

enum { TT_GRAPH_STEPS = 4000 };

/* Writes plans[0 .. p-1]. Returns TUTTI_OK; TUTTI_ERR_LIMIT for TT_GRAPH_STEPS steps or more;
 * ERR_MEMORY. */
tutti_status tt_plan_graph(struct tt_plan *const *plans, int p, FILE *out);

#endif
