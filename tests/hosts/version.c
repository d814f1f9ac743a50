/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Says the version of PMIx's library, or why there is none. Linked with a pmix.c of its own, that
 * was compiled as where there is no libpmix-dev.
 */
#include <stdio.h>

#include "boot/pmix.h"

int main(void)
{
    const char *version;
    if (tt_pmix_version(&version) != TUTTI_OK) {
        printf("%s\n", tutti_error());
        return 1;
    }
    printf("%s\n", version);
    return 0;
}
