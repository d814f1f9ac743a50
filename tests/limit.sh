# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Time limits on a busy machine. A test that waits for an event waits until it happens, and gives up
# only when it certainly never will. A test that compares a duration with a promise asks this
# function for the limit: something that takes so many milliseconds on an idle machine takes longer
# in proportion to the processes per processor.

# limit_ms MS: prints the limit in milliseconds for something that should take MS milliseconds at
# most.
limit_ms() {
    awk -v ms="$1" -v processors="$(nproc)" '{
        split($4, running, "/")
        busy = $1 > running[1] ? $1 : running[1]
        printf "%d\n", ms * (2 + 2 * busy / processors)
    }' /proc/loadavg
}
