/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_ALGORITHM=COLLECTIVE=@FILE: the schedule of a plan file runs in a program. The lab, which
 * is loaded when the first plan file is named, parses and proves the schedule (plan/lab.h).
 */
#ifndef TT_PLAN_FILE_CHOICE_H
#define TT_PLAN_FILE_CHOICE_H

#include "plan/lab.h"

/* Gets from the lab the plan that the file has for rank `me`. All errors name the file:
 *
 *     UNSUPPORTED  the schedule is refuted for this call on this map, the collective takes no plan
 *                  file, or the lab cannot be loaded
 *     ARG          the text is wrong, or is for another call
 *     SYSTEM       the file cannot be read
 *     MEMORY */
tutti_status tt_plan_from_file(const char *path, const struct tt_call *call,
                               const struct tt_map *map, int me, struct tt_lab_answer *answer);

/* Returns NULL, or why programs refuse to read a plan from this path. */
const char *tt_plan_from_file_refused(const char *path);

/* For programs that are linked with the lab: sets the function of the lab that makes plans, so that
 * the lab is not loaded. Call it before the first plan file is used. */
void tt_lab_provide(tt_lab_plan *plan);

#endif
