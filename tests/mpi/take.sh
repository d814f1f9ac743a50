#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that Tutti does every blocking collective with the right results, and that the report shows
# this.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1

compile_take "$host" take
for ranks in 2 3 5; do
    reported "$host" "$ranks" ./take
    grep -qx 'all results are right' out || fail "on $ranks ranks"
    [ ! -s err ] || fail "something is printed on $ranks ranks"
    python3 - calls.json "$ranks" <<'PYTHON' || fail "the report on $ranks ranks"
import collections
import json
import sys

calls = json.load(open(sys.argv[1]))["calls"]
ranks = int(sys.argv[2])
taken, early = set(), collections.Counter()
for row in calls:
    if row["ranks"] == 1:
        assert row["choice"] == "left: one rank", row
    elif row["choice"] == "taken":
        taken.add(row["function"])
    else:
        assert row["choice"] == "left: one of the first calls", row
        early[row["ranks"]] += round(row["calls"] * row["ranks"])
names = ("Barrier Bcast Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Gather Gatherv "
         "Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw")
assert taken == {"MPI_" + name for name in names.split()}, taken
expected = {ranks: 6 * ranks}
if ranks > 2:
    expected[ranks - 1] = 3 * (ranks - 1)
assert early == expected, early
PYTHON
done

# Now one function, or all functions, are left to the host MPI.
before=(env 'TUTTI_MPI=take,-bcast,-alltoallw')
reported "$host" 3 ./take
left=$(grep -o '"MPI_[A-Za-z_]*".*"left: TUTTI_MPI"' calls.json | cut -d'"' -f2 | sort -u | tr '\n' ' ')
[ "$left" = 'MPI_Alltoallw MPI_Bcast ' ] || fail "left are $left"
if grep -E '"MPI_(Bcast|Alltoallw)".*"choice": "taken"' calls.json; then fail 'a function was taken that was switched off'; fi

# An element of more than 2^31 - 1 bytes, which the host cannot pack by MPI_Pack.
compile_mpi "$host" -Wall -Werror "$here/long.c" -o long -rdynamic -lpthread
reported "$host" 2 ./long nonblocking
[ "$(grep -cx 'wrong 0' out)" -eq 2 ] || fail 'a long element'
grep -qE '"MPI_I?[Bb]cast".*"choice": "taken"' calls.json || fail 'a long element is not taken'

# The report as a table.
before=(env TUTTI_MPI_REPORT=1 tutti mpi)
launch "$host" 2 ./take
grep -qE '^Tutti took [0-9]+ of [0-9]+ calls, ' err || fail 'no sum'
grep -qE '^MPI_Allreduce +2  - +MPI_DOUBLE +MPI_SUM +[0-9]+ .* taken$' err || fail 'no row'
