/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice between the two providers of a directory.
 */
#include "boot/directory.h"

const struct tt_directory *tt_directory(void)
{
    return tt_directory_is_gathered() ? &tt_directory_gathered : &tt_directory_pmix;
}
