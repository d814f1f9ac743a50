#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# In simulations, algorithms that consider nodes are faster in these cases: a barrier and a small
# allreduce on any map; every collective where ranks are distributed in turn over nodes whose ranks
# share a port. A long bcast by the logical tree, where each rank has its own port, takes hardly
# more time than its bytes need on one link: 1 ns for each. On nodes of several ranks, where the
# ranks of a node share a port, the table chooses `parts` for long allreduces between any number of
# nodes, and no algorithm is clearly faster.
set -euo pipefail
"$TUTTI_SOURCE/bench/bench" simulate nodes --build "$TUTTI_BUILD" | python3 -c '
import sys
ports, rows = None, {}
for line in sys.stdin:
    cells = [cell.strip() for cell in line.strip().split("|")[1:-1]]
    if cells and cells[0].startswith("--ports"):
        ports = cells[0].split()[1]
    elif cells and cells[0].startswith("`"):
        names = ["logical", "composed", "logical/best", "composed/best", "logical/usual", "composed/usual"]
        rows[ports, cells[0].strip("`")] = dict(zip(names, [float(c) for c in cells[1:3] + cells[5:]]))
assert len(rows) == 72, len(rows)
for (ports, problem), row in rows.items():
    if problem.startswith("barrier") or (ports == "node" and problem.endswith("dealt")):
        assert row["composed/best"] < 1, (ports, problem, row)
    if problem.startswith("bcast/u8/1M") and ports == "one":
        assert row["logical"] < 1.05 * (1 << 20) / 1000, (ports, problem, row)
    if problem.startswith("allreduce/f64/sum/8/") and ports == "node":
        assert row["composed/usual"] < 0.6, (ports, problem, row)
'
"$TUTTI_SOURCE/bench/bench" simulate allreduces --most 8 --build "$TUTTI_BUILD" | python3 -c '
import sys
network, rows, even = None, 0, 0
for line in sys.stdin:
    cells = [cell.strip() for cell in line.strip().split("|")[1:-1]]
    if cells and cells[0].endswith("Gbit/s"):
        network = cells[0]
    if not cells or not cells[0].startswith("`"):
        continue
    rows += 1
    if "," in cells[0]:
        continue
    even += 1
    for cell in cells[3:]:
        name, factor = cell.partition(",")[0].split()
        assert name == "parts" and float(factor) <= (1.2 if network == "25 Gbit/s" else 1.1), (network, cells)
assert rows == 4 * 9 and even == 4 * 5, (rows, even)
'
# Between nodes of several ranks, no algorithm is 1.3 times as fast as the one that the table
# chooses for the link, except in a few cases, and none is twice as fast.
"$TUTTI_SOURCE/bench/bench" simulate choices --most 8 --lengths 8 16K 1M --build "$TUTTI_BUILD" | python3 -c '
import sys
known = {("bcast", "2,2"), ("bcast", "2,1,1"), ("bcast", "2*3"), ("bcast", "4,2,2"), ("reduce", "4,2,1,1"),
         ("allreduce", "2,1,1"), ("allreduce", "2*3"), ("allgather", "2*3"), ("alltoall", "4,2,2"), ("scan", "2,1,1")}
head, cells = None, 0
for line in sys.stdin:
    row = [cell.strip() for cell in line.strip().split("|")[1:-1]]
    if row and row[0].startswith("`"):
        limit = 2 if (head[0].partition(",")[0], row[0].strip("`")) in known else 1.3
        for length, cell in zip(head[1:], row[1:]):
            cells += 1
            assert float(cell.partition(",")[0].split()[1]) < limit, (head[0], row[0], length, cell)
    elif row and not row[0].startswith("-"):
        head = row
assert cells == 5 * 11 * 5 * 3, cells
'
