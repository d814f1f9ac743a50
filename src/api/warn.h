/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which settings of this process have no effect.
 */
#ifndef TT_API_WARN_H
#define TT_API_WARN_H

#include "base/settings.h"

/* Calls fn(arg, text) for each warning that this process has: those of tt_settings_check(), and one
 * about instructions that this processor lacks. */
void tt_warn_check(tt_setting_warn_fn *fn, void *arg);

#endif
