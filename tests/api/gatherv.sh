#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs gatherv.c on processes, by each algorithm: on one node, with and without direct access, with
# a small window, and on several nodes with messages and with a real network.
set -eu
program=$TUTTI_BUILD/tests/test-api-gatherv
go() { tutti run --timeout 3000 "$@" "$program"; }
for algorithm in flat direct linear; do
    export TUTTI_ALGORITHM=gatherv=$algorithm,scatterv=$algorithm
    go -n 3
    TUTTI_WINDOW=1K go -n 4
    [ "$algorithm" = direct ] || TUTTI_CMA=0 go -n 3
done
unset TUTTI_ALGORITHM
go -n 5
TUTTI_CMA=0 go -n 3
TUTTI_NODES=2,1 go -n 3
TUTTI_NODES=2,2,1 TUTTI_CMA=0 go -n 5
TUTTI_NODES=1,1,1 TUTTI_EAGER=0 go -n 3
TUTTI_FAULT=delay=30,seed=5 go -n 3
# Where the UCX library is installed, also runs the test with a real network between the nodes.
wired=
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then wired=1; fi
[ -z "$wired" ] || TUTTI_WIRE=1 TUTTI_NODES=2,1 UCX_TLS=tcp,self go -n 3
export TUTTI_ALGORITHM=gatherv=composed,scatterv=composed
go -n 2
TUTTI_NODES=2,2,1 go -n 5
TUTTI_NODES=1,2 TUTTI_EAGER=0 go -n 3
[ -z "$wired" ] || TUTTI_WIRE=1 TUTTI_NODES=2,1 UCX_TLS=tcp,self go -n 3
