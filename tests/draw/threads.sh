#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Traces of ranks that are threads: each rank writes a file of its own, all with the same process.
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
