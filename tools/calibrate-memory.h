/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: what moving bytes costs.
 */
#ifndef TT_TOOLS_CALIBRATE_MEMORY_H
#define TT_TOOLS_CALIBRATE_MEMORY_H

#include "base/machine.h"

/* Measures the tables of the model, and the numbers `line` and `take`, between this process and
 * processes that it forks and ends. Returns false after printing the error. */
bool tt_calibrate_memory(struct tt_machine *machine);

#endif
