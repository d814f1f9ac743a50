/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the version of the PMIx library, or the reason why there is none. It is linked with a
 * pmix.c compiled as on a system without libpmix-dev.
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
