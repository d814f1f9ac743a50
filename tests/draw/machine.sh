#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti draw machine`: boxes within each other show the machine, and ranks are shown where they are
# bound, for synthetic machines and for this one.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

described() { env HWLOC_SYNTHETIC="$1" "${@:2}"; }
large='pack:2 numa:1 l3:2 l2:4 l1:1 core:1 pu:2'

expect 0 described "$large" tutti draw machine -n 12 -o machine.svg
python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("machine.svg").getroot()
words = [one.text for one in root.iter(svg + "text")]
boxes = [(one.get("class"), *(float(one.get(name)) for name in ("x", "y", "width", "height")))
         for one in root.iter(svg + "rect") if one.get("x") and one.get("rx")]
count = {name: sum(box[0] == name for box in boxes) for name in ("package", "memory", "cache", "core", "pu", "rank")}
assert count == {"package": 3, "memory": 2, "cache": 4 + 16 + 16, "core": 16, "pu": 32, "rank": 12}, count
assert [one for one in words if one.startswith("rank ")] == [f"rank {i}" for i in range(12)], words
assert "Package 1" in words and "Core 15" in words and "P31" in words and "Machine, 32 processors" in words, words
wide, high = map(float, root.get("viewBox").split()[2:])
for kind, x, y, w, h in boxes:
    assert 0 <= x and x + w <= wide and 0 <= y and y + h <= high, f"{kind} leaves the picture"
# Any two boxes are either nested or apart.
for i, (a, ax, ay, aw, ah) in enumerate(boxes):
    for b, bx, by, bw, bh in boxes[i + 1:]:
        apart = ax + aw <= bx + .2 or bx + bw <= ax + .2 or ay + ah <= by + .2 or by + bh <= ay + .2
        inside = bx >= ax - .2 and by >= ay - .2 and bx + bw <= ax + aw + .2 and by + bh <= ay + ah + .2
        assert apart or inside, f"{a} at {ax},{ay} and {b} at {bx},{by} overlap"
PYTHON

# The texts of the legend do not reach the next entry in DejaVu Sans, where "memory" is 46 points
# wide, nor in a font whose letters are all as wide as those of DejaVu Sans Mono.
expect 0 described 'numa:2 l3:1 core:4 pu:2' tutti draw machine -o legend.svg
python3 "$TUTTI_SOURCE/tests/draw/legend.py" legend.svg memory cache core processor rank

# Two ranks per core are bound to different processors of it. By default there are as many ranks as
# cores.
expect 0 described 'pack:1 core:2 pu:2' tutti draw machine -n 4 -o machine.json
python3 - <<'PYTHON'
import json
machine = json.load(open("machine.json"))
assert machine["tutti"] == "machine 1"
assert sorted(row["processors"] for row in machine["ranks"]) == ["0", "1", "2", "3"], machine["ranks"]
types = [one["type"] for one in machine["objects"]]
assert types.count("Package") == 1 and types.count("Core") == 2 and types.count("PU") == 4 and "NUMANode" in types, types
assert all(one["usable"] for one in machine["objects"])
PYTHON
expect 0 described 'pack:1 core:3 pu:1' tutti draw machine -o machine.svg
[ "$(grep -c '>rank [0-2]<' machine.svg)" -eq 3 ] || fail 'not a rank on each core'
expect 0 described 'pack:1 core:1 pu:1' tutti draw machine -n 40 -o machine.svg
grep -q '>ranks 0-39<' machine.svg || fail 'not all ranks are there'

# This machine: ranks are shown where `tutti run` binds them. Other jobs of this user may take
# processors or give them back, so the results are compared only if nothing changed meanwhile.
bound=0
for _ in $(seq 1 50); do
    expect 0 tutti draw machine -n 2 -o here.json
    if tutti run -n 2 --report-bindings true 2>bindings; then bound=1; fi
    expect 0 tutti draw machine -n 2 -o after.json
    if cmp -s here.json after.json; then break; fi
done
if [ $bound -eq 1 ] && cmp -s here.json after.json; then
    python3 - <<'PYTHON'
import json
import re
bound = dict(re.findall(r"rank (\d+)[^\n]*?processors? ([\d,-]+)", open("bindings").read()))
drawn = {str(row["rank"]): row["processors"] for row in json.load(open("here.json"))["ranks"]}
assert not bound or bound == drawn, f"bound to {bound}, drawn at {drawn}"
PYTHON
fi
# A processor that this process may not use is dashed and has no rank.
first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
expect 0 taskset -c "$first" tutti draw machine -n 1 -o one.json
python3 - "$first" <<'PYTHON'
import json
import sys
machine = json.load(open("one.json"))
usable = [one["processors"] for one in machine["objects"] if one["type"] == "PU" and one["usable"]]
assert usable == [sys.argv[1]], usable
assert all(row["processors"] in (None, sys.argv[1]) for row in machine["ranks"]), machine["ranks"]
PYTHON
expect 0 tutti draw machine --scheme dark -o dark.svg
if grep -q 'prefers-color-scheme' dark.svg; then fail 'a dark picture that may be light'; fi
grep -q '#191f26' dark.svg || fail 'not the dark palette'
