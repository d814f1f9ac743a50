/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the dependences in the plans of all ranks as a graph for Graphviz: the steps of a lane in
 * their order, an edge for each message from its send to the wait for its receive, and an edge for
 * each signal to the step that awaits it.
 */
#ifndef TT_DRAW_GRAPH_H
#define TT_DRAW_GRAPH_H

#include <stdio.h>

#include "plan/plan.h"

enum { TT_GRAPH_STEPS = 4000 };

/* Writes the graph of plans[0 .. p-1]. Returns TUTTI_OK; TUTTI_ERR_LIMIT if the plans have
 * TT_GRAPH_STEPS steps or more; or ERR_MEMORY. */
tutti_status tt_plan_graph(struct tt_plan *const *plans, int p, FILE *out);

#endif
