/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_ALGORITHM=COLLECTIVE=@FILE: the schedule of a plan file runs in a program. The laboratory
 * parses and proves it (plan/lab.h); it is loaded when the first plan file is named.
 */
#ifndef TT_PLAN_FILE_CHOICE_H
#define TT_PLAN_FILE_CHOICE_H

#include "plan/lab.h"

/* Gets from the laboratory the plan that the file has for rank `me`. The path of the file has n
 * characters. All errors name the file:
 *
 *     UNSUPPORTED  the schedule is refuted for this call on this map, the collective takes no plan
 *                  file, or the laboratory cannot be loaded
 *     ARG          the text is wrong, or is for another call
 *     SYSTEM       the file cannot be read
 *     MEMORY */
tutti_status tt_plan_from_file(const char *path, size_t n, const struct tt_call *call,
                               const struct tt_map *map, int me, struct tt_lab_answer *answer);

/* For programs that are linked with the laboratory: uses this function instead of loading it. Call
 * it before the first plan file is used. */
void tt_lab_provide(tt_lab_plan *plan);

#endif
