/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses between the two providers of the directory.
 */
#include "boot/directory.h"

const struct tt_directory *tt_directory(void)
{
    return tt_directory_is_gathered() ? &tt_directory_gathered : &tt_directory_pmix;
}
