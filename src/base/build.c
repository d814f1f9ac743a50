/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Says from which sources the library was built. The function is alone in its file, so that no
 * compiler inlines it in its callers: a test replaces it.
 */
#include <library-build.h>

#include "base/base.h"

const char *tutti_build(void)
{
    return TUTTI_VERSION "/" TT_LIBRARY_BUILD;
}
