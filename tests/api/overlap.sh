#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs overlap.c on processes: on one node, on several nodes with messages, and with a real network.
set -eu
program=$TUTTI_BUILD/tests/test-api-overlap
go() { tutti run --timeout 3000 "$@" "$program"; }
for n in 2 5; do go -n $n; done
TUTTI_NODES=2,2,1 go -n 5
# Where the UCX library is installed, also runs the test with a real network between the nodes.
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 TUTTI_NODES=2,2 UCX_TLS=tcp,self go -n 4
fi
