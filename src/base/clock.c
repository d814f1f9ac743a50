/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one clock of the library: monotonic, in nanoseconds.
 */
#include <time.h>

#include "base/base.h"

int64_t tt_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
