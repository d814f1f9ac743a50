/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: measures how long it takes to move bytes.
 */
#ifndef TT_TOOLS_CALIBRATE_MEMORY_H
#define TT_TOOLS_CALIBRATE_MEMORY_H

#include "base/machine.h"

/* Measures the tables of the model, and its numbers `line` (how long it takes until another
 * processor sees a signal) and `take` (how long it takes to read a signal that another processor
 * gave). Does so in this process and in processes that it forks and ends. Returns false after
 * printing the error. */
bool tt_calibrate_memory(struct tt_machine *machine);

#endif
