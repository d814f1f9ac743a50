/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes plans as GOAL, the group operation assembly language of the simulator LogGOPSim (Hoefler,
 * Siebert, Lumsdaine 2009). A GOAL text lists for each rank its sends, receives and calculations,
 * and which of them wait for which.
 *
 *     rank 0 {
 *       l1: send 8b to 1 tag 0 cpu 0
 *       l2: recv 8b from 1 tag 0 cpu 0
 *       l2 irequires l1                       begins after l1 has begun
 *       l3: calc 100 cpu 0                    nanoseconds
 *       l3 requires l2                        begins after l2 has ended
 *     }
 *
 * GOAL has messages only. A signal becomes a message of 8 bytes, whose receive stands at the step
 * that awaits the signal. A put becomes a message, and no operation of the target waits for its
 * receive. A get, or an operand of another rank, becomes a message of 8 bytes that asks for the
 * data and a message that carries them. The tag stands for the kind of the message and the lane;
 * cpu is the number of the lane.
 */
#ifndef TT_DRAW_GOAL_H
#define TT_DRAW_GOAL_H

#include <stdio.h>

#include "plan/plan.h"

/* Writes plans[0 .. p-1], the plans of all ranks. copy_ps is the time to copy a byte, and reduce_ps
 * the time to reduce a byte of an operand, in picoseconds. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_plan_goal(struct tt_plan *const *plans, int p, int64_t copy_ps, int64_t reduce_ps,
                          FILE *out);

#endif
