#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the conformance program with every algorithm that accepts ranks on several nodes, and the
# program whose ranks run ahead of each other (apart.c): on threads or on processes, with few and
# with many ranks on a node.
set -eu
conform=$TUTTI_BUILD/tests/test-run-conform-threads
apart=$TUTTI_BUILD/tests/test-run-apart
on() {
    local p=$1
    export TUTTI_NODES=$2
    shift 2
    for program in "$conform" "$apart"; do
        if [ "$how" = threads ]; then "$@" "$program" threads "$p" "$p"; else "$@" tutti run --timeout 3000 -n "$p" "$program"; fi
    done
}
how=$1
on 4 2,1,1 env
if [ -z "$TUTTI_TEST_BRIEF" ]; then
    on 3 '1*3' env
    on 8 4,2,1,1 env
    on 8 1,1,2,1,1,1,1 env
    on 4 1,2,1 env TUTTI_EAGER=0
    on 4 2,1,1 env TUTTI_SLICE=256 # composed plans in lanes
fi
if [ "$how" = processes ] && [ -z "$TUTTI_TEST_BRIEF" ]; then
    on 6 3,3 env
    on 6 1,5 env
    on 3 2,1 env TUTTI_EAGER=1M
    on 4 2,2 env TUTTI_CMA=0
    on 3 2,1 env TUTTI_WINDOW=1K
    on 4 2,1,1 env TUTTI_FAULT=delay=30,seed=5
    on 5 2,2,1 env TUTTI_RADIX=4
fi
# With a real network (UCX) between the nodes, where its library is installed.
if [ "$how" = processes ] && TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    export TUTTI_WIRE=1
    on 2 '1*2' env
    on 4 2,1,1 env UCX_TLS=tcp,self
fi
