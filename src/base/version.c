/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version that the processes of a job compare.
 */
#include "base/base.h"

#include <stdio.h>

char *tt_version(char text[TT_VERSION])
{
    snprintf(text, TT_VERSION, "%s", tutti_build());
    return text;
}
