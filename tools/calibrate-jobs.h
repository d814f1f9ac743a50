/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: measures what a call, a step and a message cost besides the moving of bytes.
 */
#ifndef TT_TOOLS_CALIBRATE_JOBS_H
#define TT_TOOLS_CALIBRATE_JOBS_H

#include "base/machine.h"

/* Sets the numbers of the model that tt_calibrate_memory does not set. It runs small jobs, and sets
 * the numbers so that the model predicts the times of these jobs. If no numbers do so, returns
 * false with the reason in `why`. After printing an error, returns false with an empty `why`. */
bool tt_calibrate_jobs(struct tt_machine *machine, char why[TT_MACHINE_WHY]);

#endif
