#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs forward.c with three algorithms of an alltoallv: `forward`, in which pieces go through other
# ranks, on a torus with a missing node; `padded`, with blocks of equal length; and `composed`, with
# messages from node to node. Runs it with `composed` of a gatherv and a scatterv, too.
set -eu
forward() { tutti run --timeout 60 -n 8 "$TUTTI_BUILD/tests/test-run-forward" "$@"; }

# each_fails ARGUMENT...: lets each allocation of rank 1 fail once: with `memory` those in the first
# call, with `prepared` those while a request is made. These allocations hold the counts that the
# ranks exchange, and the plan. A brief run lets every fifth allocation fail.
each_fails() {
    local failures=0 step=1 enough
    [ -z "${TUTTI_TEST_BRIEF:-}" ] || step=5
    while enough=$(forward "$@" $failures) && [ -z "$enough" ]; do failures=$((failures + step)); done
    [ "$enough" = 'enough memory' ] && [ "$failures" -ge 5 ]
}
all_fail() { each_fails "$@" memory && each_fails "$@" prepared; }

export TUTTI_NETWORK='torus:3x3-hole(1,1)' TUTTI_ALGORITHM=alltoallv=forward
forward nonblocking
# The ranks exchange their counts by `forward`, too, the algorithm that moves the pieces.
TUTTI_LOG=choice forward nonblocking 2>&1 | grep -q 'choice: forward for alltoallv() on 8 ranks'
forward mismatch
forward huge
forward types
all_fail
unset TUTTI_NETWORK
export TUTTI_ALGORITHM=alltoallv=padded
forward nonblocking
forward mismatch
forward huge
forward types
all_fail
TUTTI_NODES=3,1,4 forward nonblocking
TUTTI_NODES=3,1,4 forward mismatch
forward reversed
TUTTI_NODES=3,1,4 forward types
TUTTI_RADIX=3 forward nonblocking
export TUTTI_ALGORITHM=alltoallv=composed
for nodes in 8 3,1,4 2,2,2,2 1,1,1,1,1,1,1,1; do
    TUTTI_NODES=$nodes forward nonblocking
done
export TUTTI_NODES=3,1,4
forward dealt nonblocking
forward mismatch
forward reversed
forward huge
forward types
all_fail
# In `all_fail`, rank 1, whose allocations fail, is the leader of a node.
for coll in gatherv scatterv; do
    export TUTTI_ALGORITHM=$coll=composed
    TUTTI_NODES=8 forward $coll 0 nonblocking
    TUTTI_NODES=3,1,4 forward $coll 0 nonblocking
    TUTTI_NODES=3,1,4 forward dealt $coll 5 nonblocking
    TUTTI_NODES=2,2,2,2 forward $coll 7 nonblocking
    TUTTI_NODES=1,1,1,1,1,1,1,1 forward $coll 3 nonblocking
    TUTTI_NODES=3,1,4 forward $coll 4 mismatch
    TUTTI_NODES=1,3,4 forward $coll 0 mismatch
    TUTTI_NODES=3,1,4 forward $coll 3 types
    TUTTI_NODES=1,3,4 all_fail $coll 0
done
