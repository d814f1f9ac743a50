#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Traces of ranks that are threads: each rank writes a file of its own, all with the same process.
# And the trace of a rank whose threads read at the same time: no event is lost, and the events of a
# line are nested.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

for problem in allreduce/f64/sum/64K/p4 bcast/u8/1M/p3; do
    rm -rf threads
    expect 0 env TUTTI_TRACE="$work/threads" tutti bench $problem --threads --iterations 5
    expect 0 tutti draw threads -o threads.trace.json
    python3 "$TUTTI_SOURCE/tests/draw/chrome.py" threads.trace.json >/dev/null
    expect 0 tutti draw threads --what summary
    says out "^${problem##*/p} ranks, "
done

expect 0 env TUTTI_TRACE="$work/readers" "$TUTTI_BUILD/tests/draw-readers" 20000
[ "$(grep -c '"name":"read"' readers/rank-0.json)" -eq 60002 ] || fail 'reads were lost'
[ "$(grep -c '"name":"allreduce"' readers/rank-0.json)" -eq 200 ] || fail 'calls were lost'
python3 "$TUTTI_SOURCE/tests/draw/chrome.py" readers/rank-0.json >/dev/null
