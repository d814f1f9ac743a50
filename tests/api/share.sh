#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs share.c on processes: on one node, on several nodes with messages, and with a real network.
set -eu
program=$TUTTI_BUILD/tests/test-api-share
go() { tutti run --timeout 3000 "$@" "$program"; }
for n in 1 2 3; do go -n $n; done
TUTTI_NODES=2,1 go -n 3
# Where the UCX library is installed, also runs the test with a real network between the nodes.
if TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_WIRE=1 TUTTI_NODES=2,1 UCX_TLS=tcp,self go -n 3
fi
