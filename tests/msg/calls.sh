#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The paths of an allreduce over UCX and of a long message in shared memory must have no more calls
# and files than these limits allow. Whoever shortens a path lowers its limit. The limits are a few
# calls above the present figures, because another version of the compiler may emit other calls of
# inline functions.
set -eu
count=$TUTTI_SOURCE/scripts/count-calls
build=(--build "$TUTTI_BUILD/count-calls" --tutti "$TUTTI_BUILD/bin/tutti")
command -v gcc addr2line ninja >/dev/null || exit 77

fails()
{
    local wanted=$1 out
    shift
    if out=$("$count" "${build[@]}" "$@" 2>&1); then
        echo "count-calls $* did not fail" >&2
        exit 1
    fi
    [[ $out == *"$wanted"* ]] || { echo "count-calls $*: no '$wanted' in: $out" >&2; exit 1; }
}

fails "elsewhere: no such path" elsewhere
fails "wants PATH=CALLS/FILES" --most allreduce=many
fails "wants PATH=CALLS/FILES" --most elsewhere=1/1

"$count" "${build[@]}" --most allreduce=120/20 --most origin=54/14 --most target=80/15
fails "target may have 10 calls in 99 files" --most target=10/99 target
fails "target may have 999 calls in 3 files" --most target=999/3 target
