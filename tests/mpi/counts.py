#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""counts.py REPORT RANKS MPI: compares a report with what calls.c calls.

MPI is the version of MPI of the host, 3 or 4. The numbers are counted from the source by hand.
"""
import collections
import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
p, mpi = int(sys.argv[2]), int(sys.argv[3])

D, N = 8, 3
growing = D * sum(r + 1 for r in range(p))
pairs = 4 * sum(r + j for r in range(p) for j in range(p))
# For each collective: the bytes of one call, summed over the ranks; how often calls.c calls the
# blocking function; whether it also calls the function with counts of type MPI_Count.
ONE = {
    "barrier": (0, 1, False),
    "bcast": (N * D * p, 1, True),
    "reduce": (N * D * p, 1, True),
    "gather": (N * D * p, 2, True),
    "gatherv": (growing, 2, False),
    "scatter": (N * D * p, 2, True),
    "scatterv": (growing, 1, False),
    "allgather": (N * D * p, 2, True),
    "allgatherv": (growing, 2, False),
    "alltoall": (D * p * p, 2, True),
    "alltoallv": (pairs, 2, True),
    "alltoallw": (pairs, 1, False),
    "allreduce": (N * D * p, 1, True),
    "scan": (N * D * p, 1, True),
    "exscan": (N * D * p, 1, True),
    "reduce_scatter": (growing * p, 1, False),
    "reduce_scatter_block": (2 * D * p * p, 1, True),
    "neighbor_allgather": (N * D * p, 1, True),
    "neighbor_allgatherv": (N * D * p, 1, False),
    "neighbor_alltoall": (2 * N * D * p, 1, True),
    "neighbor_alltoallv": (4 * D * p, 1, False),
    "neighbor_alltoallw": (2 * 4 * p, 1, False),
}
expected = collections.Counter()
volume = collections.Counter()


def expect(function, calls, bytes_each):
    expected[function] += calls
    volume[function] += calls * bytes_each


for name, (size, blocking, big) in ONE.items():
    expect(f"MPI_{name.capitalize()}", blocking, size)
    expect(f"MPI_I{name}", 1, size)
    expect(f"{'MPI' if mpi >= 4 else 'MPIX'}_{name.capitalize()}_init", 1, size)
    if mpi >= 4 and big:
        expect(f"MPI_{name.capitalize()}_c", 1, size)
expect("MPI_Allreduce", 1, D * p)
expect("MPI_Reduce", 1, 2 * D * p)
expect("MPI_Barrier", 2 if p > 1 else 1, 0)
if p > 1:
    # A bcast on an intercommunicator: the root and the ranks of the other group count its 20 bytes.
    expect("MPI_Bcast", 1, 20 * (1 + p // 2))

calls = collections.Counter()
moved = collections.Counter()
for row in report["calls"]:
    calls[row["function"]] += row["calls"]
    moved[row["function"]] += row["bytes"]
    again = (2 if mpi < 4 else 1) if row["function"].endswith("_init") else 0
    assert row.get("starts", 0) == again * row["calls"], row
    assert row["bytes_least"] <= row["bytes"] / row["calls"] / row["ranks"] <= row["bytes_most"], row
for what, got, want in ("calls", calls, expected), ("bytes", moved, volume):
    for function in sorted(set(got) | set(want)):
        assert round(got[function], 6) == want[function], f"{what} of {function}: {got[function]}, not {want[function]}"

assert report["ranks"] == p and report["program"] == "calls" and report["seconds"] > 0, report
assert report["mpi"].startswith("Open MPI v4" if mpi < 4 else "MPICH 4"), report["mpi"]


def rows(**keys):
    return [row for row in report["calls"] if all(row[key] == value for key, value in keys.items())]


assert len(rows(function="MPI_Reduce", operation="user", type="derived", ranks=p)) == 1
assert sum(row["calls"] for row in rows(function="MPI_Allreduce", operation="MPI_SUM", type="MPI_DOUBLE")) == 1
assert rows(function="MPI_Neighbor_alltoallw", type="MPI_INT")[0]["communicator"] == 'ring "of" all\n\xff'
assert all(row["communicator"] == "MPI_COMM_WORLD" for row in rows(function="MPI_Scan"))
named = {(row["communicator"], row["ranks"]): row["number"] for row in report["communicators"]}
assert named[("MPI_COMM_WORLD", p)] == 1 and named[('ring "of" all\n\xff', p)] == 1, named
if p > 1:
    assert sum(n for (name, _), n in named.items() if not name) == 3, named
