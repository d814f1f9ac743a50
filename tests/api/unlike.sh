#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs unlike.c on processes: on one node by three algorithms, and on several nodes with messages
# and with a real network.
set -eu
program=$TUTTI_BUILD/tests/test-api-unlike
go() { tutti run -n 2 --timeout 3000 "$program" processes; }
for algorithm in flat exchange pairwise; do TUTTI_ALGORITHM=alltoallv=$algorithm go; done
TUTTI_CMA=0 go
export TUTTI_NODES=1,1
go
for algorithm in exchange pairwise; do TUTTI_ALGORITHM=alltoallv=$algorithm go; done
# Where the UCX library is installed, also runs the test with a real network between the nodes.
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 UCX_TLS=tcp,self go
fi
