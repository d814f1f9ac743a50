#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs neighbor.c on processes: on one node by three algorithms, and on several nodes with messages
# and with a real network.
set -eu
program=$TUTTI_BUILD/tests/test-api-neighbor
go() { tutti run --timeout 3000 "$@" "$program"; }
for algorithm in flat exchange pairwise; do TUTTI_ALGORITHM=alltoallv=$algorithm go -n 4; done
go -n 2
TUTTI_NODES=1,1 go -n 2
TUTTI_NODES=2,2,1 go -n 5
# Where the UCX library is installed, also runs the test with a real network between the nodes.
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 TUTTI_NODES=2,1 UCX_TLS=tcp,self go -n 3
fi
