#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The benchmark of an MPI's collectives beside Tutti's prints each point that it is asked for, with
# a ratio that follows from both times, says how many calls Tutti took, and has clear errors.
set -euo pipefail
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$TUTTI_BUILD/lib/libtutti_mpi.so" ] || skip 'there is no libtutti_mpi.so'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpi=("$TUTTI_SOURCE/bench/bench" mpi --build "$TUTTI_BUILD" --results - --ranks 2 --repeats 1 --batch 0.0005 --batches 1
    --pool 128K)
host=
for name in openmpi mpich; do
    if echo '#include <mpi.h>' | "mpicc.$name" -fsyntax-only -x c - 2>/dev/null; then host=$name; fi
done
[ -n "$host" ] || skip 'no MPI'

"${mpi[@]}" --host "$host" --collectives barrier,allreduce,alltoallv --sizes 8,64K --json "$work/all.json" >"$work/out"
python3 - "$work/all.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
host, = document["hosts"]
assert not host["failures"], host
points = {(row["collective"], row["bytes"], row["buffers"]): row for row in host["points"]}
wanted = {(name, 8, buffers) for name in ("allreduce", "alltoallv") for buffers in ("rotated", "same")}
wanted |= {("allreduce", 65536, "same"), ("allreduce", 65536, "rotated"), ("barrier", 0, "same")}
assert set(points) == wanted, points.keys()
for row in points.values():
    assert row["us"] > 0 and abs(row["ratio"] - row["host_us"] / row["us"]) < 0.01 * row["ratio"] + 0.01, row
assert [target["bound"] for target in document["targets"]] == ["at least 1.4", "at most 0"], document["targets"]
taken = any(row["taken"] for row in host["taken"].values())
with open(sys.argv[1].replace("all.json", "out"), encoding="utf-8") as file:
    said = file.read()
assert ("Nothing was taken" in said) == (not taken) and ("Calls that were taken" in said) == taken, said
assert "- left out over " in said and "alltoallv/f64/64K/p2" in said, said
PYTHON

# Nonblocking and persistent calls: each point has figures without Tutti and with it, and Tutti has
# taken all calls.
"${mpi[@]}" --host "$host" --calls nonblocking,persistent --collectives barrier,allreduce,alltoallv --sizes 8,4K \
    --json "$work/later.json" >"$work/later"
python3 - "$work/later.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
host, = document["later"]
assert not host["failures"] and not document["hosts"], document
names = {f"MPI_{name}" for name in ("Ibarrier", "Iallreduce", "Ialltoallv", "Barrier_init", "Allreduce_init", "Alltoallv_init")}
assert set(host["taken"]) == names and all(0 < calls == taken for calls, taken in host["taken"].values()), host
points = {(row["calls"], row["collective"], row["bytes"]): row for row in host["points"]}
assert set(points) == {(calls, name, size) for calls in ("nonblocking", "persistent")
                       for name, size in (("barrier", 0), ("allreduce", 8), ("allreduce", 4096), ("alltoallv", 8), ("alltoallv", 4096))}
for row in points.values():
    for way in ("with", "without"):
        assert row[way]["us"] > 0 and row[way]["start_us"] > 0 and 0 <= row[way]["overlap"] <= 100, row
PYTHON
grep -q '^### persistent calls, ' "$work/later"
if grep -E '^- (Tutti took|wrong|\*\*Nothing) ' "$work/later"; then exit 1; fi

refused() { # refused TEXT OPTION...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${mpi[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "$*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused "'nobody' is none of openmpi, mpich" --host nobody
refused "'allsum' is none of barrier, " --collectives allsum
refused "'all' is none of blocking, " --calls all
refused 'not a size' --sizes 12
refused 'build Tutti first' --build "$work"
grep -q -- --collectives <<<"$("$TUTTI_SOURCE/bench/bench" mpi --help)"
