#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the measured choice (src/mpi/trial.h), which is the default: the results are right whichever
# side does a call, all ranks choose the same side, the host does the calls of a program with few
# calls, and communicators with the same ranks inherit decisions. Which side is faster is not
# checked.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2015
source "$(dirname "$0")/lib.sh"
need "$1"
host=$1
export TUTTI_MPI=on
compile_mpi "$host" -Wall -Werror "$here/choice.c" -o choice -rdynamic -ldl
compile_take "$host" take

# The report divides the calls of a row by the number of ranks. So all ranks made the same choices
# if, for each function, communicator and choice, the sum of the calls is a whole number. (A single
# row may hold a fraction, because ranks whose types differ are counted in different rows.)
cat >report.py <<'PYTHON'
import json
import sys

rows = json.load(open("calls.json"))["calls"]
sums = {}
for row in rows:
    key = row["function"], row["ranks"], row["communicator"], row["choice"]
    sums[key] = sums.get(key, 0) + row["calls"] * row["ranks"]
    assert row["choice"] in ("taken", "left: one of the first calls", "left: Tutti is not faster", "left: one rank"), row
    if row["choice"] == "left: Tutti is not faster":
        assert 0.94 * row["host_us"] < row["tutti_us"] and row["saved_seconds"] == 0, row
    elif "host_us" in row:
        assert row["choice"] == "taken" and 0.96 * row["host_us"] >= row["tutti_us"] and row["saved_seconds"] >= 0, row
for key, calls in sums.items():
    assert round(calls) % key[1] == 0, (key, calls)
if sys.argv[1] == "counts":
    # On the first communicator, the host does six calls, 500 more until there is a team, and 30 in
    # turn with Tutti. The second communicator inherits the decision: after 506 calls by the host if
    # the decision is for Tutti, and after 106 if it is for the host.
    found = {}
    for row in rows:
        early = row["choice"] == "left: one of the first calls"
        found[row["communicator"], early] = found.get((row["communicator"], early), 0) + row["calls"]
    of_host = 400 * any(row["choice"] == "left: Tutti is not faster" for row in rows)
    assert found == {("MPI_COMM_WORLD", True): 5, ("", True): 536 + 506 - of_host,
                     ("", False): 164 + 194 + of_host}, found
else:
    assert any("host_us" in row for row in rows), "nothing was decided"
PYTHON

reported "$host" 2 ./choice counts
python3 report.py counts || fail 'the counts'
export TUTTI_MPI_WISDOM=$work/all
for seed in 1 2; do
    reported "$host" $((seed + 1)) ./choice mixed $seed
    [ "$(cat out)" = 'done' ] && [ ! -s err ] || fail "seed $seed"
    python3 report.py mixed || fail "the report of seed $seed"
done
export TUTTI_MPI_WISDOM=0
# Tries all functions, in place and with all types.
reported "$host" 2 ./take 100
grep -qx 'all results are right' out && [ ! -s err ] || fail 'take'
python3 report.py take || fail 'the report of take'

# The time of reading the arguments belongs to a call that Tutti does in a trial, unless the call
# repeats the one before. It does not belong to a call of the host MPI.
reported "$host" 2 ./choice reads
[ "$(cat out)" = 'done' ] && [ ! -s err ] || fail 'lists that take long to read'
python3 - <<'PYTHON' || fail 'the time of reading the arguments'
import json

slow = {}
for row in json.load(open("calls.json"))["calls"]:
    if "host_us" in row:
        slow[row["function"], row["bytes_most"] > 100] = row["host_us"] > 9e8, row["tutti_us"] > 9e8
assert slow == {("MPI_Reduce_scatter", False): (False, True), ("MPI_Allgatherv", False): (False, False),
                ("MPI_Allgatherv", True): (False, True)}, slow
PYTHON

# A trace of an MPI program must show the calls that Tutti did, on each communicator.
before=(env TUTTI_MPI=take TUTTI_TRACE="$work/traces" tutti mpi)
launch "$host" 2 ./choice counts
before=()
tutti draw "$work/traces" --what summary >told || fail 'no summary of the trace'
grep -q '^2 ranks, 1401 collectives of 3 teams in ' told || fail 'the trace has other calls'
grep -qE '^ +5  allreduce n=1 f64 sum .* world ' told || fail 'the trace lacks the calls on the world'

# A program must use the decisions of an earlier program from its first call on. The file says which
# side these decisions choose.
cat >known.py <<'PYTHON'
import json
import sys

rows = json.load(open("calls.json"))["calls"]
choices = {row["choice"] for row in rows if row["communicator"] == "MPI_COMM_WORLD"}
assert choices == {sys.argv[1]}, choices
late = {row["choice"]: row["calls"] for row in rows if row["communicator"] == ""}
early = 2 * (6 + (500 if sys.argv[1] == "taken" else 100))
assert late == {sys.argv[1]: 1400 - early, "left: one of the first calls": early}, late
PYTHON
export TUTTI_MPI_WISDOM=$work/wisdom
reported "$host" 2 ./choice counts
# A decision must be in the file if one side took at least a tenth less time than the other, as the
# report says. The report has only the last costs of each shape.
cat >kept.py <<'PYTHON'
import json
import os

rows = [row for row in json.load(open("calls.json"))["calls"] if "host_us" in row]
lines = open("wisdom").read().splitlines() if os.path.exists("wisdom") else []
assert len({(row["host_us"], row["tutti_us"]) for row in rows}) == 1, rows
host, tutti = rows[0]["host_us"], rows[0]["tutti_us"]
share = min(host, tutti) / max(host, tutti)
assert abs(share - 0.9) < 0.01 or len(lines) == (share < 0.9), (share, lines)
by = "tutti" if tutti <= host else "host"
for line in lines:
    assert line.startswith(f"allreduce/8/p2 by={by} "), line
    print(line)
PYTHON
python3 kept.py >line || fail 'the decisions that were kept'
# The end of each line that jobs of two ranks under this host MPI write, from "cores=" on. It does
# not depend on what the jobs measured.
sed -n '/\/p2 /s/.* cores=/cores=/p' all | head -n 1 >place
[ -s place ] || fail 'in none of many shapes one side was clearly faster'
for by in tutti host; do
    choice=taken
    [ $by = tutti ] || choice='left: Tutti is not faster'
    echo "allreduce/8/p2 by=$by tutti-us=1.000 host-us=1.000 $(cat place)" >wisdom
    reported "$host" 2 ./choice counts
    python3 known.py "$choice" || fail "a decision for $by"
    sed -i 's/version=[^ ]*/version=0.0.1/' wisdom
    reported "$host" 2 ./choice counts
    ! python3 known.py "$choice" 2>err || fail 'a decision of another version is used'
done

# The file leaves calls of 8 bytes to the host MPI, and gives calls of 16 bytes to Tutti. The host
# must get all calls of 8 bytes, and no others. There is no report, because without one the host
# gets these calls at once. A trace shows what Tutti did.
rm -rf "$work/traces" wisdom
for function in allreduce gather; do
    echo "$function/8/p2 by=host tutti-us=1.500 host-us=1.000 $(cat place)"
    echo "$function/16/p2 by=tutti tutti-us=1.000 host-us=1.500 $(cat place)"
done >wisdom
before=(env TUTTI_TRACE="$work/traces" tutti mpi)
launch "$host" 2 ./choice left
[ "$(cat out)" = 'done' ] || fail 'calls of a shape that is left'
tutti draw "$work/traces" --what summary >told || fail 'no summary of the trace of these calls'
grep -q '^2 ranks, 200 collectives of 1 teams* in ' told || fail "Tutti did others than the calls of 16 bytes: $(head -n 1 told)"
