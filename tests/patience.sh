# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How long something may take on a machine that others use as well. A test that waits for what must
# happen waits until it does, and gives up only where it is plain that it never will. One that holds
# a duration against a promise asks here: what takes so many milliseconds where nothing else runs
# takes as many times longer as there are processes for each processor.

# The limit in milliseconds for something that is promised within so many.
patience() {
    awk -v ms="$1" -v processors="$(nproc)" '{
        split($4, running, "/")
        busy = $1 > running[1] ? $1 : running[1]
        printf "%d\n", ms * (2 + 2 * busy / processors)
    }' /proc/loadavg
}
