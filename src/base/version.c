/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The version of the library, and the version that the processes of a job compare.
 */
#include "base/base.h"

#include <library-build.h>
#include <stdio.h>

const char *tutti_version(void)
{
    return TUTTI_VERSION;
}

char *tt_version(char text[TT_VERSION])
{
    snprintf(text, TT_VERSION, "%s/%s", tutti_version(), TT_LIBRARY_BUILD);
    return text;
}
