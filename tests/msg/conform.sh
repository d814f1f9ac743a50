#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the conformance program, and the program of the derived types (layouts.c), on processes: with
# and without direct access to each other's memory, with split copies, with the smallest packet
# rings, with random delays, and with two threads of each process. A brief run takes four of these
# runs.
set -eu
conform=$TUTTI_BUILD/tests/test-msg-conform-threads
tutti run --timeout 3000 -n 3 "$TUTTI_BUILD/tests/test-msg-layouts"
TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1 tutti run --timeout 3000 -n 3 "$conform"
TUTTI_CMA=0 TUTTI_RING=4K tutti run --timeout 3000 -n 3 "$conform"
tutti run --timeout 3000 -n 2 "$conform" nested 2
[ -z "$TUTTI_TEST_BRIEF" ] || exit 0
TUTTI_SPLIT_COPY=1 TUTTI_READ_COST=1 tutti run --timeout 3000 -n 2 "$conform" nested 2
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$conform" nested 2
tutti run --timeout 3000 -n 4 "$conform"
TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$TUTTI_BUILD/tests/test-msg-layouts"
TUTTI_CMA=0 tutti run --timeout 3000 -n 3 "$conform"
TUTTI_RING=4K tutti run --timeout 3000 -n 2 "$conform"
TUTTI_FAULT=delay=30,seed=5 tutti run --timeout 3000 -n 2 "$conform"
"$conform"
