#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Simulates an alltoall on a torus. If ranks send whole segments in rank order, it takes longer than
# in random order. In rank order, it takes less time with segments in chunks than with whole
# segments. The bytes on the links do not depend on the order.
set -euo pipefail
"$TUTTI_SOURCE/bench/bench" simulate orders --build "$TUTTI_BUILD" --ranks 64 --networks torus:4x4x4 |
    python3 -c '
import sys
rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in sys.stdin][2:]
time = {(row[1], row[2]): float(row[3]) for row in rows}
assert len(time) == 6, rows
assert time["rank", "whole"] > 1.2 * time["random", "whole"], time
assert time["rank", "2048 B"] < 0.9 * time["rank", "whole"], time
assert len({(row[4]) for row in rows}) == 1, rows
'
# For a network of the wrong size the program ends with an error that gives the reason.
status=0
out=$("$TUTTI_SOURCE/bench/bench" simulate orders --build "$TUTTI_BUILD" --ranks 65 --networks torus:4x4x4 2>&1) || status=$?
[ "$status" -eq 1 ]
grep -q 'the network has 64 nodes for 65 ranks' <<<"$out"
