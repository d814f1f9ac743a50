#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# GOAL is the format in which LogGOPSim reads schedules. The GOAL texts of `tutti draw` follow its
# grammar and can be run: every message is received, and no operation waits for ever.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# runs PROBLEM ALGORITHM [BYTES]: checks the GOAL text of the problem, and if BYTES is given, that
# so many bytes are sent.
runs() {
    tutti draw "$1" -a "$2" -o "$work/out.goal"
    read -r ops bytes < <(python3 "$(dirname "$0")/goal.py" <"$work/out.goal")
    if [ "$ops" -le 0 ] || { [ -n "${3-}" ] && [ "$bytes" -ne "$3" ]; }; then
        echo "FAILED: $1 by $2: $ops operations, $bytes bytes" >&2
        exit 1
    fi
}
runs allreduce/f64/sum/1K/p8 doubling $((8 * 3 * 1024))
runs allreduce/f64/sum/1K/p7 ring $((2 * 6 * 1024))
runs allreduce/f64/sum/64K/p12 halving
runs allreduce/f64/sum/4K/p9/slice=1K prt $((2 * 8 * 4096))
runs bcast/u8/100/p13/root=5 binomial $((12 * 100))
runs barrier/p9 dissemination
runs alltoall/u8/1K/p8 bruck
runs alltoall/u8/1K/p9@torus:3x3 mesh
runs 'alltoall/u8/1K/p8@torus:3x3-hole(1,1)' forward
# The algorithms of these problems use puts, signals to all ranks, gets, or operands in the memory
# of other ranks.
runs alltoall/u8/1K/p6/slice=256 exchange $((6 * 5 * (1024 + 2 * 8)))
runs alltoallv/u8/1K/p7/skew=zipf exchange
runs allgather/u8/1K/p5 direct
runs allreduce/f64/sum/1K/p6 direct
runs bcast/u8/64K/p5 direct

# A reduction takes the time of the model, in whole nanoseconds.
tutti draw allreduce/f64/sum/1K/p2 -a doubling --gamma 2ns -o "$work/out.goal"
grep -q ': calc 2048 cpu 0$' "$work/out.goal"

# A trace does not contain plans, so it cannot be written as a GOAL text.
tutti sim allreduce/f64/sum/1K/p2 -a doubling --trace "$work/trace" >/dev/null
status=0
tutti draw --trace "$work/trace" -o "$work/none.goal" 2>"$work/err" || status=$?
[ "$status" -eq 2 ]
grep -q 'a trace does not hold the plans' "$work/err"
echo 'goal: all texts can be run'
