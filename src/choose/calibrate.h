/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A brief calibration, for a job that may choose algorithms by estimate or by measuring, where no
 * model of the machine is known. The calibration takes at most about 50 ms if the processors are
 * free, so it is coarser than `tutti calibrate`.
 */
#ifndef TT_CALIBRATE_H
#define TT_CALIBRATE_H

#include "base/machine.h"

/* Measures a model and keeps it in the file. `demanded`: if other programs disturbed the
 * measurement, or the file cannot be written, the model is used for this job only; TUTTI_LOG=boot
 * says so. Otherwise such a model is not used, and nothing is measured if it could not be kept: no
 * job should take this time again and again. Returns false if there is no model, with the reason in
 * `why`. Starts a thread, and ends it. */
bool tt_calibrate_briefly(const char *path, bool demanded, struct tt_machine *machine,
                          char why[TT_MACHINE_WHY]);

#endif
