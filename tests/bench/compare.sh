#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison without an MPI: Tutti with ordinary memory against Tutti with memory from
# tutti_alloc, on two ranks with one size. The JSON file has every field, table and chart exist, and
# errors are clear.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results"
compare=("$TUTTI_SOURCE/bench/bench" compare --build "$TUTTI_BUILD" --results "$work/results" --ranks 2 --sizes 8
    --repeats 1 --batch 0.0005 --batches 1 --pool 1M --no-tune)

"${compare[@]}" --peers tutti,tutti-alloc --json "$work/all.json" --svg "$work/all.svg" \
    --table "$work/all.md" >"$work/out"
python3 - "$work" <<'PYTHON'
import json, sys, xml.etree.ElementTree as xml
work = sys.argv[1]
with open(f"{work}/all.json", encoding="utf-8") as file:
    document = json.load(file)
collectives = {"allreduce", "reduce", "alltoall", "allgather", "bcast", "barrier"}
assert not document["failures"], document["failures"]
assert {row["collective"] for row in document["points"]} == collectives
assert len(document["points"]) == 4 * 5 + 1
for row in document["points"]:
    assert row["ranks"] == 2 and row["bytes"] == (0 if row["collective"] == "barrier" else 8), row
    assert row["problem"].startswith(row["collective"]) and row["problem"].endswith("p2"), row
    for peer in ("tutti", "tutti-alloc"):
        assert row["us"][peer] > 0 and len(row["runs_us"][peer]) == 1, row
    assert row["better_peer"] == "tutti-alloc" and row["speedup"] > 0, row
    expected = row["runs_us"]["tutti-alloc"][0] / row["runs_us"]["tutti"][0]
    assert abs(row["speedup"] - expected) < 1e-3 * (1 + expected), row
    assert set(row["limits_us"]) == {"line", "stream", "switch", "memcpy", "cma"}, row
    if row["bytes"]:
        assert row["limits_us"]["memcpy"] > 0, row
    assert row["limit_us"] is None or abs(row["of_limit"] - row["us"]["tutti"] / row["limit_us"]) < 1e-2, row
    assert row["limit"] in (None, "line", "stream", "switches", "CMA", "windows"), row
assert {row["buffers"] for row in document["points"]} == {"rotated", "same", "anew", "used"}
assert document["summary"]["points"] == 6 and document["summary"]["figures"] == 21, document["summary"]
for row in document["summary"]["short_of_both"]:
    assert row["speedup"] < 1.5 and (row["of_limit"] is None or row["of_limit"] > 1.2), row
assert len(document["targets"]) == 9, document["targets"]
assert set(document["summary"]["by_collective"]) == collectives
assert document["machine"]["cores"] >= 1 and document["method"]["repeats"] == 1
assert {one["peer"] for one in document["settings"]} == {"tutti", "tutti-alloc"}
root = xml.parse(f"{work}/all.svg").getroot()
titles = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
assert collectives <= titles, titles
PYTHON
for word in '### allreduce, 2 ranks' '### Limits of the machine' '### Summary' 'geometric mean'; do grep -qF "$word" "$work/all.md"; done
cmp <(cat "$work/all.md") "$work/out"
# The file in the results folder has the same table, below the command that was measured.
cat "$work"/results/*.md | tr '\n' ' ' |
    grep -q "\`bench/bench compare --ranks 2 [^\`]*--peers tutti,tutti-alloc[^\`]*\` *At "
diff -B "$work/all.md" <(awk 'after; /^At / { at = 1 } at && /^$/ { after = 1 }' "$work"/results/*.md)

# A program that calculates may run beside each start, and ends with it.
"${compare[@]}" --peers tutti --collectives barrier --beside 2:6 --verbose --json "$work/beside.json" >"$work/out" 2>"$work/err"
grep -q 'beside.py 2.0 6.0 .*tutti run' "$work/err"
grep -q '^Beside each start ran a program that calculates for 2 ms and pauses for 6 ms in turn' "$work/out"
# The pipe of this command is closed when both programs have ended.
[ "$(timeout 100 python3 "$TUTTI_SOURCE/bench/harness/beside.py" 2 6 echo ended)" = ended ]
python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["method"]["beside_ms"] == [2, 6] and not d["failures"], d' "$work/beside.json"
! "${compare[@]}" --peers tutti --beside 0:5 2>"$work/err" || exit 1
grep -q "'0:5' is not BUSY:PAUSE" "$work/err"

# Some collectives are compared on request only.
"${compare[@]}" --peers tutti --collectives all --json "$work/every.json" >"$work/out"
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert not d["failures"] and len({row["collective"] for row in d["points"]}) == 16, d
assert {row["problem"] for row in d["points"]} >= {"scan/f64/sum/8/p2", "gatherv/f64/8/p2"}, d' "$work/every.json"

# A call takes at least as long as its signals, and at least as long as its copies. The limit of the
# call is the larger one of these two times.
PYTHONPATH=$TUTTI_SOURCE/bench python3 - <<'PYTHON'
from harness.bounds import bound
limits = {"line": 0.2, "stream": 0.05, "switch": 1.0, "memcpy": 10.0, "cma": 12.0}
short = {**limits, "memcpy": 0.01, "cma": 0.5}
assert bound("allreduce", 2, 2, short) == (0.2, "line")
assert bound("bcast", 2, 2, short) == (0.05, "stream")
assert bound("bcast", 2, 2, {**short, "memcpy": 0.1}) == (0.1, "windows")  # a copy in and a copy out, by two processors
assert bound("barrier", 4, 2, limits) == (2.0, "switches")
assert bound("barrier", 5, 2, limits) == (3.0, "switches")
assert bound("alltoall", 4, 2, limits) == ((12 * 12.0 + 4 * 10.0) / 2, "CMA")
assert bound("allgather", 4, 4, {**limits, "cma": 14.0}) == ((4 + 12 + 4) * 10.0 / 4, "windows")  # each block is copied in once
assert bound("bcast", 8, 2, {**limits, "cma": None}) == ((1 + 7) * 10.0 / 2, "windows")
assert bound("gather", 4, 4, limits) == ((3 * 12.0 + 10.0) / 4, "CMA")
assert bound("gather", 4, 4, limits, "anew") == ((3 * 12.0 + 10.0 + 4 * 5.0) / 4, "CMA")
assert bound("gather", 4, 4, limits, "used") == ((3 * 12.0 + 10.0 + 4 * 5.0 + 4 * 5.0) / 4, "CMA")
assert bound("reduce_scatter", 2, 2, {**limits, "cma": None}) == (20.0, "windows")
assert bound("reduce", 2, 2, {}) == (None, None)
PYTHON

# If no figure with rotated buffers was measured, the comparison uses the figures that were
# measured.
"${compare[@]}" --peers tutti,tutti-alloc --collectives bcast,barrier --buffers anew --json "$work/anew.json" >"$work/out"
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert {row["buffers"] for row in d["points"]} == {"anew", "same"} and d["summary"]["points"] == 2, d["points"]
assert all(us > 0 for row in d["points"] for us in row["us"].values()), d["points"]' "$work/anew.json"

# A size that does not fit into the pool is left out, and the JSON file says so.
"${compare[@]}" --peers tutti --collectives alltoall --sizes 8,512K --json - >"$work/one.json"
grep -q '"alltoall/f64/512K/p2"' "$work/one.json"
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["left_out"] == ["alltoall/f64/512K/p2"], d["left_out"]
assert d["summary"] is None and len(d["points"]) == 4' "$work/one.json"

refused() { # refused TEXT ARGUMENT...: expects an error that contains the text
    local words=$1 status=0
    shift
    "${compare[@]}" "$@" >"$work/out" 2>&1 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF -e "$words" "$work/out"; then
        echo "compare $*: wanted an error with \"$words\", got status $status and:"
        cat "$work/out"
        exit 1
    fi
}
refused 'no peer is called nobody' --peers nobody
refused 'none of allreduce' --collectives allreduce,scans
refused 'not a size' --sizes 12
refused 'none of rotated, same, anew, used' --buffers rotated,new
refused 'build Tutti first' --build "$work" --peers tutti
# A file that cannot be written is reported before anything is measured.
for option in --json --table --svg; do
    refused "compare: cannot write $work/none/x: No such file or directory" --peers tutti "$option" "$work/none/x"
    [ "$(wc -l <"$work/out")" -eq 1 ]
done
echo 'compare: JSON, table, chart and errors'
