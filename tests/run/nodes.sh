#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the conformance program with every algorithm that accepts ranks on several nodes, and the
# program whose ranks run ahead of each other (apart.c): on threads or on processes, with few and
# with many ranks on a node. The first conformance run tries all shapes, and the others a part of
# them: on a machine with other work, each call of processes that share a processor costs several
# time slices.
set -eu
conform=$TUTTI_BUILD/tests/test-run-conform-threads
apart=$TUTTI_BUILD/tests/test-run-apart
how=$1
all=
[ -n "$TUTTI_TEST_BRIEF" ] || all=1

# run PROGRAM P NODES COMMAND...: runs the program with P ranks on simulated nodes of these sizes.
# COMMAND is `env` with further settings. The array `blocks` has arguments of the program.
blocks=()
run() {
    local program=$1 p=$2
    export TUTTI_NODES=$3
    shift 3
    if [ "$how" = threads ]; then "$@" "$program" "${blocks[@]}" threads "$p" "$p"; else "$@" tutti run --timeout 3000 -n "$p" "$program" "${blocks[@]}"; fi
}
conforms() { run "$conform" "$@"; }
runs_ahead() { run "$apart" "$@"; }
both() {
    conforms "$@"
    runs_ahead "$@"
}

conforms 4 2,1,1 env
# In the runs that follow, a wait makes 20 yields at most before it sleeps, which takes less
# processor time. The first run uses the default number.
export TUTTI_YIELDS=20
if [ "$how" = processes ]; then export TUTTI_TEST_BRIEF=1; fi
runs_ahead 4 2,1,1 env
export TUTTI_TEST_BRIEF=1
if [ -n "$all" ]; then
    both 3 '1*3' env
    conforms 8 4,2,1,1 env
    both 8 1,1,2,1,1,1,1 env
    conforms 4 1,2,1 env TUTTI_EAGER=0
    # Here composed plans distribute the blocks of 2500 elements over lanes. All other plans move
    # them in over 150 slices.
    blocks=(upto 2500)
    conforms 4 2,1,1 env TUTTI_SLICE=256
    conforms 4 2,1,1 env TUTTI_SLICE=256 TUTTI_LANES=8
    blocks=()
fi
if [ "$how" = processes ] && [ -n "$all" ]; then
    conforms 6 3,3 env
    conforms 6 1,5 env
    conforms 3 2,1 env TUTTI_EAGER=1M
    both 4 2,2 env TUTTI_CMA=0
    blocks=(upto 2500)
    conforms 3 2,1 env TUTTI_WINDOW=1K # blocks of 2500 elements fill the window 40 times
    blocks=()
    both 4 2,1,1 env TUTTI_FAULT=delay=30,seed=5
    conforms 5 2,2,1 env TUTTI_RADIX=4
fi
# With a real network (UCX) between the nodes, where its library is installed.
if [ "$how" = processes ] && TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    export TUTTI_WIRE=1
    both 2 '1*2' env
    both 4 2,1,1 env UCX_TLS=tcp,self
fi
