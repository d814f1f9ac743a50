#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Derived types on processes: with and without direct access to each other's memory, on several
# nodes, and with a small window. The first run tries all shapes, and the others a part of them,
# which reaches every algorithm with every size.
set -eu
types=$TUTTI_BUILD/tests/test-run-types-threads
tutti run --timeout 3000 -n 3 "$types"
tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/test-run-types-layout"
# From here on a wait makes 20 yields at most before it sleeps (see nodes.sh).
export TUTTI_YIELDS=20
all=
[ -n "$TUTTI_TEST_BRIEF" ] || all=1
export TUTTI_TEST_BRIEF=1
# Several nodes, with simulated messages between them, and with a real network (UCX) where its
# library is installed.
TUTTI_NODES=1,1 "$types" threads 2 2
TUTTI_NODES=1,1,1 "$types" threads 3 3
if TUTTI_NODES=1,1 TUTTI_WIRE=1 tutti run -n 2 "$TUTTI_BUILD/tests/tools-rank" add >/dev/null 2>&1; then
    TUTTI_NODES=2,1 TUTTI_WIRE=1 tutti run --timeout 3000 -n 3 "$types"
fi
[ -n "$all" ] || exit 0
TUTTI_NODES=2,1,1 tutti run --timeout 3000 -n 4 "$types"
TUTTI_CMA=0 tutti run --timeout 3000 -n 4 "$types"
TUTTI_WINDOW=1K tutti run --timeout 3000 -n 2 "$types"
TUTTI_CMA=0 TUTTI_NODES=1,2 tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/test-run-types-layout"
