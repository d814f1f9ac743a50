#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# During a collective a host is cut off (its link is set down), or one of its ranks is killed. Every
# survivor must get TUTTI_ERR_PEER within the configured time, also on the host that is cut off.
#
# Each case creates its own hosts, so that nothing of an ended job, whose launcher is killed, is
# left for the next.
#
#     cut.sh [COLLECTIVE BYTES [kill]]
set -eu
if [ $# -eq 0 ]; then
    for coll in allreduce alltoall bcast barrier; do
        for bytes in 64 300000; do bash "$0" "$coll" "$bytes"; done
    done
    exec bash "$0" allreduce 64 kill
fi
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 4,2,1,1
timeout_s=4

wait_files() {
    local least=$1 pattern=$2 deadline=$((SECONDS + $3)) n
    until count_lines "$pattern" "$work"/results.* && [ "$n" -ge "$least" ]; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            grep -H . "$work"/results.* >out || true
            fail "$coll of $bytes bytes: not $least ranks say: $pattern"
        fi
        pause 0.05
    done
}

begin() {
    coll=$1 bytes=$2
    rm -f "$work"/results.*
    TUTTI_PEER_TIMEOUT=$timeout_s begin_on_hosts -x TUTTI_PEER_TIMEOUT "$TUTTI_BUILD/tests/hosts-loop" "$coll" "$bytes" \
        "$work/results"
    wait_files 8 '^runs$' 300
}

# all_reported N: expects that N ranks printed the error, each within the configured time and 2 s
# more on an idle machine.
all_reported() {
    local n=$1 late
    wait_files "$n" '^failed after [0-9]+ ms: a member of the team failed: ' 300
    late=$(sed -nE 's/^failed after ([0-9]+) ms: .*/\1/p' "$work"/results.* |
        awk -v most="$(limit_ms $((timeout_s * 1000 + 2000)))" '$1 > most' | wc -l)
    if [ "$late" -ne 0 ]; then
        grep -H . "$work"/results.* >out
        fail "$coll of $bytes bytes: $late ranks are reported late"
    fi
    end_mpirun
}

begin "$1" "$2"
if [ "${3-}" = kill ]; then
    in_host h2 kill -9 "$(in_host h2 pgrep -n hosts-loop)"
    all_reported 7
    did='a rank of h2 killed'
else
    cut h4
    all_reported 8
    did='h4 cut off'
fi
echo "$coll of $bytes bytes: $did, reported: $(sed -nE 's/^failed after ([0-9]+) ms: .*/\1/p' "$work"/results.* | tr '\n' ' ')ms"
