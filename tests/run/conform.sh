#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the conformance program on processes: with and without direct access to each other's memory,
# with windows that are filled by stores that bypass the caches, with two threads of each process,
# with a small window (so that all data pass through in slices), with random delays, on a network,
# with several partners at a time, and in different PID namespaces. The first run tries all shapes,
# and the others a part of them, which reaches every protocol.
set -eu
conform=$TUTTI_BUILD/tests/test-run-conform-threads
all=
[ -n "$TUTTI_TEST_BRIEF" ] || all=1
tutti run --timeout 3000 -n 4 "$conform"
# From here on a wait makes 20 yields at most before it sleeps (see nodes.sh).
export TUTTI_TEST_BRIEF=1 TUTTI_YIELDS=20
TUTTI_CMA=0 TUTTI_FILL=1 tutti run --timeout 3000 -n 3 "$conform"
tutti run --timeout 3000 -n 2 "$conform" nested 2
# A high TUTTI_READ_COST says that reading takes long: long pieces of a gatherv, scatterv and
# alltoallv then go in slices. Blocks of 700 elements go in 175 slices, which fill the window
# several times. A gatherv, scatterv or alltoallv may use fewer slices than that.
TUTTI_WINDOW=1K TUTTI_READ_COST=7 TUTTI_SLICE=64 tutti run --timeout 3000 -n 3 "$conform" upto 700
# Each rank is the first process of a PID namespace of its own, so all have the same pid. Without
# randomization of addresses all have the same addresses, too. A rank must not take itself for
# another.
spaces=(setarch -R unshare --user --map-root-user --pid --fork --kill-child)
if "${spaces[@]}" true 2>/dev/null; then
    tutti run --timeout 3000 -n 2 "${spaces[@]}" "$conform"
fi
[ -n "$all" ] || exit 0
TUTTI_CMA=0 tutti run --timeout 3000 -n 3 "$conform"
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$conform" nested 2
TUTTI_WINDOW=1K tutti run --timeout 3000 -n 2 "$conform"
TUTTI_FAULT=delay=30,seed=5 tutti run --timeout 3000 -n 3 "$conform"
TUTTI_NETWORK='torus:2x2-hole(3)' tutti run --timeout 3000 -n 3 "$conform"
TUTTI_RADIX=4 tutti run --timeout 3000 -n 4 "$conform"
