/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the settings of this process that have no effect.
 */
#ifndef TT_API_WARN_H
#define TT_API_WARN_H

#include "base/settings.h"

/* Calls fn(arg, text) for each warning about settings: those of tt_settings_check(), and one if
 * TUTTI_ISA names instructions that this processor or this build lacks. */
void tt_warn_check(tt_setting_warn_fn *fn, void *arg);

#endif
