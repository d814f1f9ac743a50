#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Predicted and measured times of a few problems: the table, the JSON and the picture have the same
# points, and errors are messages.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
predict=("$TUTTI_SOURCE/bench/bench" predict --build "$TUTTI_BUILD" --tries 0 --results -)

"${predict[@]}" --collectives barrier,bcast --ranks 2 --sizes 8,4K --repeats 1 --time 0.01 --json "$work/json" \
    --svg "$work/svg" >"$work/out"
grep -qE '^\| bcast +\| +2 \| ' "$work/out"
grep -q '^What the table chooses takes ' "$work/out"
python3 - "$work/json" "$work/svg" <<'PYTHON'
import json, sys, xml.etree.ElementTree as xml
document = json.load(open(sys.argv[1], encoding="utf-8"))
points = document["points"]
assert {"flat", "binomial"} <= {row["algorithm"] for row in points if row["collective"] == "bcast"}, points
assert {row["bytes"] for row in points if row["collective"] == "bcast"} == {8, 4096}
assert all(row["predicted_us"] > 0 and row["measured_us"] > 0 for row in points)
assert document["summary"]["points"] == len(points)
assert len(document["losses"]["table"]) == len(document["losses"]["estimate"]) == 3, document["losses"]
circles = list(xml.parse(sys.argv[2]).getroot().iter("{http://www.w3.org/2000/svg}circle"))
assert len(circles) == len(points) + 1, len(circles)
PYTHON

# The machine counts as changed if the time of exchanging a line, or of a message of 8 bytes or of
# 64K, changes by a factor of more than 1.3. A model without a network has no messages.
python3 - "$TUTTI_SOURCE/bench" <<'PYTHON'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from commands.predict import changes, times_of

def model(line, short, long):
    return times_of([f"line {line}", f"wire_time {short} 2 3 4 5 {long} 7 8 9"])

before = model(100, 5000, 20000)
assert changes({}, before) == "" == changes(before, model(125, 4000, 25000))
assert changes(before, model(100, 7000, 20000)) == "a message of 8 bytes takes 7000 ps, before 5000 ps"
assert changes(before, model(50, 5000, 40000)) == (
    "a line takes 50 ps, before 100 ps; a message of 64K takes 40000 ps, before 20000 ps")
assert changes(before, times_of(["line 100", ""])) == ""
PYTHON

# On two nodes, the time of each algorithm that applies is predicted.
"${predict[@]}" --nodes 2 --least --collectives allreduce --ranks 2 --sizes 8 --repeats 1 --time 0.01 \
    --json "$work/json" >"$work/out"
grep -qE '^\| allreduce +\| +2 \| ' "$work/out"
python3 - "$work/json" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
names = {row["algorithm"] for row in document["points"]}
assert {"doubling", "ring", "halving"} <= names and "window" not in names, names
PYTHON

refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${predict[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out" || grep -q Traceback "$work/out"; then
        echo "predict $*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused "no collective is called 'bcst'" --collectives bcst
refused "3 ranks cannot be divided evenly among 2 nodes" --nodes 2 --ranks 2,3
refused "cannot write $work/none/x: No such file or directory" --svg "$work/none/x"
echo 'predict: table, JSON and picture agree'
