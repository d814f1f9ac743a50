#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The wall times of MPI programs without Tutti and with it: a program that prints the same, the
# comparison of outputs, a program that is not installed, errors.
set -euo pipefail
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$TUTTI_BUILD/lib/libtutti_mpi.so" ] || skip 'there is no libtutti_mpi.so'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The comparison of outputs reports a value in a line that is the same in all runs without Tutti, an
# additional line, and a missing line. It does not report times and the order of lines.
PYTHONPATH=$TUTTI_SOURCE/bench PYTHONDONTWRITEBYTECODE=1 python3 - <<'PYTHON'
from harness import programs
runs = ["sum 5\ntook 1.25 s\nrank 0\nrank 1\n", "sum 5\ntook 0.5 s\nrank 1\nrank 0\n"]
assert programs.compared(runs) == (3, 4)
for text, words in [("rank 1\nsum 5\ntook   7.5e+1 s\nrank 0\n", None),
                    ("sum 6\ntook 1 s\nrank 0\nrank 1\n", "lacks the line 'sum 5'"),
                    ("sum 5\ntook 1 s\nrank 0\nrank 1\nwarning\n", "has a line like 'warning'"),
                    ("sum 5\ntook 1 s\nrank 0\n", "lacks the line 'rank 1'"),
                    ("sum 5\nrank 0\nrank 1\n", "lacks a line that varies")]:
    assert programs.difference(runs, text) == words, (text, programs.difference(runs, text))
rounded = ["Elapsed time = 0.00\nsum 5\n"] * 2  # a time, which is the same by chance
assert programs.difference(rounded, "Elapsed time = 0.01\nsum 5\n") is None and programs.compared(rounded) == (1, 2)
assert programs.difference(rounded, "sum 5\n") == "lacks a line that varies"
varying = ["sum 5\n0.1 PASSED\n"] * 2  # a program's own line that varies, and was the same by chance
assert programs.difference(varying, "sum 5\n0.2 PASSED\n") == "lacks the line '0.1 PASSED'"
assert programs.difference(varying, "sum 5\n0.2 PASSED\n", "PASSED|FAILED") is None
assert programs.difference(varying, "sum 5\n0.2 FAILED\n", "PASSED|FAILED") == "has a line like '# FAILED'"
PYTHON

programs=("$TUTTI_SOURCE/bench/bench" programs --build "$TUTTI_BUILD" --results -)
"${programs[@]}" --list >"$work/out"
grep -qx 'LAMMPS rhodo over openmpi (lammps)' "$work/out"
"${programs[@]}" --programs 'no such' >"$work/out" 2>&1 && exit 1
grep -qx "programs: no program matches 'no such'" "$work/out"
# A program whose input is in a source package is not run without a folder for it.
"${programs[@]}" --programs rhodo --repeats 1 >"$work/out" 2>/dev/null || { cat "$work/out" && exit 1; }
tr -s '\n ' ' ' <"$work/out" | grep -qE '^- LAMMPS rhodo over openmpi: (is not installed \(lammps\)|.* --fetch FOLDER gets|mpirun.openmpi is not)'

/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'no mpi4py'
command -v mpirun.openmpi >/dev/null || skip 'no Open MPI'
# The exit status says whether the program was slower, which is not checked here.
"${programs[@]}" --programs 'mpi4py hello' --ranks 2 --repeats 1 --mode count --json "$work/all.json" >"$work/out" || true
grep -qE '^\| mpi4py helloworld \| +Open MPI \| .* equal \(2 of 2 lines steady\) \|$' "$work/out"
python3 - "$work/all.json" <<'PYTHON'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
one, = document["programs"]
without, with_tutti = one["seconds"]["without"], one["seconds"]["with"]
assert len(without) == len(with_tutti) == 1 and abs(one["ratio"] - without[0] / with_tutti[0]) < 1e-9, one
assert one["difference"] is None and not document["failed"], document
PYTHON
