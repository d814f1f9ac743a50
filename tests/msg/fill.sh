#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Filling packet rings between processes: runs fill.c, and the conformance program with each way of
# filling. A brief run takes half of these.
set -eu
fill=$TUTTI_BUILD/tests/test-msg-fill-threads
conform=$TUTTI_BUILD/tests/test-msg-conform-threads
TUTTI_READ_COST=9 tutti run --timeout 3000 -n 2 "$fill"
TUTTI_CMA=0 tutti run --timeout 3000 -n 3 "$fill"
for way in 0 1; do
    TUTTI_FILL=$way TUTTI_CMA=0 tutti run --timeout 3000 -n 2 "$conform"
done
[ -z "$TUTTI_TEST_BRIEF" ] || exit 0
tutti run --timeout 3000 -n 2 "$fill"
TUTTI_FAULT=delay=30,seed=3 tutti run --timeout 3000 -n 2 "$fill"
for way in 0 1; do
    TUTTI_FILL=$way TUTTI_CMA=0 TUTTI_RING=4K tutti run --timeout 3000 -n 3 "$conform"
done
