/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the settings of this process that have no effect.
 */
#include "api/warn.h"

#include <stdio.h>

#include "type/kernels.h"
#include "type/type.h"

void tt_warn_check(tt_setting_warn_fn *fn, void *arg)
{
    char text[400];
    const char *isa = tt_setting("TUTTI_ISA");
    tt_settings_check(fn, arg);
    if (!isa || !tt_setting_accepts(tt_setting_known("TUTTI_ISA"), isa) || tt_kernels_find(isa))
        return;
    snprintf(text, sizeof text,
             "TUTTI_ISA=%s is not supported by this processor or build: using %s", isa,
             tt_reduce_isa());
    fn(arg, text);
}
