/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: measures what a call, a step and a message cost besides the moving of bytes.
 */
#ifndef TT_TOOLS_CALIBRATE_JOBS_H
#define TT_TOOLS_CALIBRATE_JOBS_H

#include "base/machine.h"

/* Runs small jobs, and sets the numbers of the model that tt_calibrate_memory does not set, so that
 * the model predicts the times of these jobs. Returns false if no numbers do so, with the reason in
 * `why`; or after printing an error, with an empty `why`. */
bool tt_calibrate_jobs(struct tt_machine *machine, char why[TT_MACHINE_WHY]);

#endif
