#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti draw`: each output file has the format that its name says, for simulations and for real
# runs. If something cannot be drawn or read, an error says so and no file is left.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"

# svg_has FILE CLASS=N...: checks that the SVG is well-formed and has N elements of each class.
svg_has() {
    python3 - "$@" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
path, wanted = sys.argv[1], sys.argv[2:]
root = tree.parse(path).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("viewBox"), root.tag
assert root.find("{http://www.w3.org/2000/svg}title").text and root.find("{http://www.w3.org/2000/svg}desc").text
for want in wanted:
    name, least = want.split("=")
    found = sum(name in (e.get("class") or "").split() for e in root.iter())
    assert found == int(least), f"{path}: {found} of class {name}, not {least}"
PYTHON
}

# ---- Pictures of simulations ----

# The legend has one element for each kind that occurs in the picture, and no other elements.
expect 0 tutti draw bcast/u8/1K/p8 -a binomial -o time.svg
svg_has time.svg message=8 signal=0 reduce=0 copy=0 await=0
expect 0 tutti draw allreduce/f64/sum/64K/p8 -a halving --gamma 0.5ns
cp out default.svg
svg_has default.svg reduce=49 message=97
expect 0 tutti draw barrier/p4 -a dissemination -o time.svg
svg_has time.svg signal=9 message=0
expect 0 tutti draw bcast/u8/1K/p8 -a binomial --what tree -o tree.svg
svg_has tree.svg node=8 edge=8 edge-head=7
expect 0 tutti draw bcast/u8/1K/p8 -a binomial --what traffic -o traffic.svg
svg_has traffic.svg f8=8 f0=58
grep -q '>bytes of a pair<' traffic.svg || fail 'the legend does not say whose bytes'
expect 0 tutti draw barrier/p300 -a dissemination --what traffic -o traffic.svg
grep -q '>bytes of a pair of groups of 5 ranks<' traffic.svg || fail 'the legend does not say which groups'
for network in ring:12 mesh:3x4 torus:2x2x3 'torus:13-hole(5)' 'torus:2x2x2x2-hole(3)-hole(4)-hole(5)-hole(6)' \
    'hypercube:4-hole(1)-hole(2)-hole(8)-hole(15)' tree:3x12 fattree:4x3 dragonfly:1x4x1x3; do
    for what in network routes; do
        expect 0 tutti draw "alltoall/u8/64/p12@$network" -a pairwise --what $what -o network.svg
        svg_has network.svg node=12
    done
done
expect 0 tutti draw 'alltoall/u8/64/p35@torus:6x6-hole(2,2)' -a pairwise --what routes -o routes.svg
svg_has routes.svg hole=1 cross=1 node=35
expect 0 tutti draw alltoall/u8/64/p8@hypercube:3 -a pairwise --from 2 --to 5 -o routes.svg
grep -q '>2 to 5: 3 links<' routes.svg || fail 'not the route from 2 to 5'
expect 0 tutti draw alltoall/u8/64/p8@hypercube:3 -a pairwise --from 2 -o routes.svg
[ "$(grep -c '>2 to [0-7]: [123] link' routes.svg)" -eq 7 ] || fail 'not the routes from 2 to all'
expect 0 tutti draw alltoall/u8/64/p64@torus:8x8 -a pairwise --what routes --from 0 -o routes.svg
[ "$(grep -c '>0 to [0-9]*: [1-8] link' routes.svg)" -eq 63 ] || fail 'not the routes from 0 to all'
grep -o 'class="route r. d.".* h23' routes.svg | head -24 | cut -d'"' -f2 | sort | uniq -d >twice
[ ! -s twice ] || fail 'two routes look alike'
python3 - <<'PYTHON'
import math
import re
text = open("routes.svg").read()
circles = [tuple(map(float, found)) for found in re.findall(r'class="node" cx="(.*)" cy="(.*)" r="(.*)"', text)]
tips = [tuple(map(float, found)) for found in re.findall(r'class="route r." d="M(\S+) (\S+) l', text)]
assert len(circles) == 64 and len(tips) == 63, (len(circles), len(tips))
gaps = [min(math.hypot(x - cx, y - cy) - r for cx, cy, r in circles) for x, y in tips]
assert all(1 < gap < 4 for gap in gaps), f"heads are not at the rim of a circle: {sorted(gaps)}"
PYTHON

# Every text lies within its picture, assuming letters of a usual width.
expect 0 tutti draw allreduce/f64/sum/64K/p8/slice=8K@nodes:4,2,1,1 -a logical --gamma 0.1ns --tr 0.1ns -o long.svg
expect 0 tutti draw 'alltoall/u8/1K/p62@torus:8x8-hole(3,3)-hole(5,6)' -a pairwise --what network -o wide.svg
python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
for path in ("long.svg", "wide.svg", "steps.svg", "tree.svg", "routes.svg"):
    try:
        root = tree.parse(path).getroot()
    except FileNotFoundError:
        continue
    wide, high = map(float, root.get("viewBox").split()[2:])
    for one in root.iter("{http://www.w3.org/2000/svg}text"):
        size = {"title": 16, "small": 10, "minor": 11}.get((one.get("class") or "").split(" ")[0], 12)
        length = 0.5 * size * len(one.text or "")
        begin = float(one.get("x")) - {"start": 0, "middle": length / 2, "end": length}[one.get("text-anchor")]
        assert begin >= -1 and begin + length <= wide + 1 and 0 < float(one.get("y")) < high, f"{path}: '{one.text}' leaves the picture"
PYTHON

# No edge of a tree crosses a rank other than its ends, however many children there are.
for how in 'bcast/u8/1K/p32 binomial' 'bcast/u8/1K/p128 binomial' 'reduce/f64/sum/1K/p100 binomial' \
    'allreduce/f64/sum/1K/p64 tree' 'bcast/u8/1K/p33/radix=31 tree' 'allreduce/f64/sum/64K/p18@nodes:3,2,1*13 logical'; do
    expect 0 tutti draw "${how% *}" -a "${how#* }" --what tree -o tree.svg
    python3 - <<'PYTHON'
import math
import re
text = open("tree.svg").read()
circles = [tuple(map(float, found)) for found in re.findall(r'class="node" cx="(.*)" cy="(.*)" r="(.*)"', text)]
edges = re.findall(r'fill-opacity="0" d="M(\S+) (\S+)L(\S+) (\S+)V(\S+)"', text)
assert len(edges) == len(circles) - 1 > 10, (len(edges), len(circles))


def far(circle, a, b):
    """From the middle of the circle to the piece of a line."""
    (x, y, _), along = circle, max(math.hypot(b[0] - a[0], b[1] - a[1]), 1e-9)
    at = min(max(((x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])) / along ** 2, 0), 1)
    return math.hypot(a[0] + at * (b[0] - a[0]) - x, a[1] + at * (b[1] - a[1]) - y)


for edge in edges:
    x0, y0, x1, bend, y1 = map(float, edge)
    for circle in circles:
        if math.hypot(circle[0] - x0, circle[1] - y0) < 1 or math.hypot(circle[0] - x1, circle[1] - y1) < 1:
            continue
        gap = min(far(circle, (x0, y0), (x1, bend)), far(circle, (x1, bend), (x1, y1))) - circle[2]
        assert gap > 0.5, f"the edge {edge} lies across the rank at {circle}"
PYTHON
done
# No link of a tree network crosses another rank either.
expect 0 tutti draw bcast/u8/1K/p17@tree:16x17 -a tree --what network -o network.svg
python3 - <<'PYTHON'
import math
import re
text = open("network.svg").read()
circles = [tuple(map(float, found)) for found in re.findall(r'class="node" cx="(.*)" cy="(.*)" r="(.*)"', text)]
links = [tuple(map(float, found)) for found in re.findall(r'class="h\d" stroke-width="[\d.]+" d="M(\S+) (\S+) L(\S+) (\S+)"', text)]
assert len(circles) == 17 and len(links) == 32, (len(circles), len(links))
for x0, y0, x1, y1 in links:
    for x, y, r in circles:
        if min(math.hypot(x - x0, y - y0), math.hypot(x - x1, y - y1)) < r:
            continue
        at = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / ((x1 - x0) ** 2 + (y1 - y0) ** 2)
        gap = math.hypot(x0 + at * (x1 - x0) - x, y0 + at * (y1 - y0) - y) - r
        assert not 0 < at < 1 or gap > 0, f"a link lies across the node at {x} {y}"
PYTHON

# The seven steps of Grama et al., figure 4.21: E-cube routes of 1, 1, 2, 1, 2, 2 and 3 links for
# each of 8 ranks.
expect 0 tutti draw alltoall/u8/1K/p8@hypercube:3 -a pairwise --what steps -o steps.svg
svg_has steps.svg step=96 node=56
expect 0 tutti draw alltoall/u8/1K/p6@ring:6 -a ring --what steps -o steps.svg
svg_has steps.svg step=30 node=30
grep -q '>5. at 18.34 µs, 6 messages of 1 KiB<' steps.svg || fail 'not the last step of the ring'
expect 0 tutti draw bcast/u8/1K/p2@hypercube:1 -a binomial --what steps -o steps.svg
grep -q '>1. at 0, 1 message of 1 KiB<' steps.svg || fail 'not the only step of the broadcast'

# If there is more than a reader can distinguish, a part is left out, and the picture and a message
# say so.
expect 0 tutti draw barrier/p300 -a dissemination -o many.svg
says err 'ranks 0 to 63 of 300 are shown; '
grep -q 'ranks 0 to 63 of 300 are shown; [1-9][0-9]* of their messages are left out<' many.svg ||
    fail 'the picture does not say what is left out'
expect 0 tutti draw barrier/p300 -a dissemination --ranks 290-299 -o many.svg
says err 'ranks 290 to 299 of 300'
expect 0 tutti draw alltoall/u8/1K/p20@ring:20 -a ring --what steps -o many.svg
says err 'the first 16 steps are shown; 3 are left out'
grep -q 'the first 16 steps are shown; 3 are left out' many.svg || fail 'the picture does not say what is left out'
expect 0 tutti draw barrier/p100@torus:10x10 -a dissemination --to 3 -o many.svg
says err 'the first 64 routes are shown; 35 are left out'
grep -q 'the first 64 routes are shown; 35 are left out' many.svg || fail 'the picture does not say what is left out'
[ "$(grep -c '>[0-9]* to 3: ' many.svg)" -eq 64 ] || fail 'not 64 routes'
expect 0 tutti draw barrier/p100@torus:10x10 -a dissemination --to 3 -o many.json
says err '35 routes beyond the first 64 are left out'

# ---- Other file formats ----

expect 0 tutti draw alltoall/u8/1K/p16@torus:4x4 -a pairwise -o picture.json
python3 - <<'PYTHON'
import json
p = json.load(open("picture.json"))
assert list(p) == ["tutti", "problem", "algorithm", "source", "model", "ranks", "time_ps", "events", "events_left_out",
                   "messages", "messages_left_out", "traffic", "tree", "calls", "network"], list(p)
assert p["tutti"] == "picture 2" and p["source"] == "simulation" and p["model"] == "links" and p["ranks"] == 16
assert len(p["messages"]) == 240 and all(t[2] == "send" and t[5] == 1024 for t in p["messages"])
assert sum(map(sum, p["traffic"]["bytes"])) == 240 * 1024 and p["tree"] is None
n = p["network"]
assert n["kind"] == "torus" and n["extent"] == [4, 4] and len(n["vertices"]) == 16 and len(n["links"]) == 64
assert n["max_link_bytes"] == 8192 == n["mean_link_bytes"] and n["routes"] and n["missing"] == []
assert all(d[3] <= d[4] <= p["time_ps"] for d in p["events"])
PYTHON
expect 0 tutti draw alltoall/u8/1K/p16@torus:4x4 -a pairwise -o picture.html
python3 - <<'PYTHON'
import json
page = open("picture.html").read()
at = page.index('{\n"tutti": "picture 2"')
assert json.JSONDecoder().raw_decode(page, at)[0] == json.load(open("picture.json"))
assert "<html" in page[:at] and page.rstrip().endswith("</html>")
PYTHON
for what in tree network plan; do
    expect 0 tutti draw bcast/u8/64/p15@tree:2x15 -a binomial --what $what -o "$what.dot"
    dot -Tsvg "$what.dot" -o "$what-dot.svg" 2>err || fail "dot does not take $what.dot"
done
[ "$(grep -c -- '->' tree.dot)" -eq 14 ] || fail 'a tree of 15 without 14 edges'
expect 0 tutti draw bcast/u8/64/p15@tree:2x15 -a binomial -o default.dot
cmp tree.dot default.dot || fail 'a .dot shows the tree first'

# A trace reads back as the same picture, including the network.
expect 0 tutti draw alltoall/u8/1K/p16@torus:4x4 -a pairwise -o picture.trace.json
expect 0 tutti sim alltoall/u8/1K/p16@torus:4x4 -a pairwise --trace sim.json
cmp picture.trace.json sim.json || fail '--trace writes another trace'
expect 0 tutti draw --trace sim.json -o again.json
cmp picture.json again.json || fail 'a trace reads back to another picture'
expect 2 tutti sim alltoall/u8/1K/p16@torus:4x4 -a pairwise,ring --trace sim.json
says err 'wants one algorithm'
python3 - <<'PYTHON'
import json
t = json.load(open("sim.json"))
names = {e["args"]["name"] for e in t["traceEvents"] if e["ph"] == "M"}
assert names == {f"rank {r}" for r in range(16)}, names
assert sum(e["ph"] == "s" for e in t["traceEvents"]) == sum(e["ph"] == "f" for e in t["traceEvents"]) == 240
PYTHON

# ---- Pictures of real runs ----

expect 0 env TUTTI_TRACE="$work/traced" tutti bench bcast/u8/32K/p4 --algorithm binomial --iterations 3
ls traced/rank-{0,1,2,3}.json >/dev/null || fail 'not a trace of each rank'
expect 0 tutti draw --trace traced -o run.svg
svg_has run.svg
execution=$(python3 - <<'PYTHON'
import json
events = json.load(open("traced/rank-0.json"))
print(next(e["args"]["execution"] for e in events if e["args"].get("call") == "bcast"))
PYTHON
)
expect 0 tutti draw --trace traced --execution "$execution" -o run.json
python3 - <<'PYTHON'
import json
p = json.load(open("run.json"))
assert p["source"] == "run" and p["model"] is None and p["ranks"] == 4, p
assert p["problem"] == "bcast" and p["algorithm"] == "binomial", (p["problem"], p["algorithm"])
sent = {(t[0], t[1]): t[5] for t in p["messages"] if t[2] != "signal"}
assert sent == {(0, 1): 32768, (0, 2): 32768, (2, 3): 32768}, sent
assert sorted(map(tuple, p["tree"]["edges"])) == [(0, 1), (0, 2), (2, 3)], p["tree"]
begins = [d[3] for d in p["events"]] + [b[8] for b in p["calls"]["bars"]]
ends = [d[4] for d in p["events"]] + [b[9] for b in p["calls"]["bars"]]
assert min(begins) == 0 and max(ends) == p["time_ps"]
PYTHON
expect 0 tutti draw --trace traced --execution "$execution" --what tree -o run.svg
expect 0 tutti draw --trace traced -o run.trace.json
expect 0 tutti draw --trace run.trace.json -o run-again.json
expect 0 tutti draw --trace traced -o run-all.json
cmp run-all.json run-again.json || fail 'a run reads back to another picture'
expect 0 tutti draw --trace traced/rank-0.json traced/rank-{1,2,3}.json -o run.json
cmp run-all.json run.json || fail 'files are not what their folder is'

# The picture also shows data that ranks read from windows by plain loads: each of the four ranks
# loads the eight bytes of each other rank.
TUTTI_ALGORITHM=allreduce=flat TUTTI_TRACE=windows tutti run -n 4 hello >out
expect 0 tutti draw --trace windows --execution 0 -o windows.json
python3 - <<'PYTHON'
import json
p = json.load(open("windows.json"))
loads = {(t[0], t[1]): t[5] for t in p["messages"] if t[2] == "get"}
assert loads == {(a, b): 8 for a in range(4) for b in range(4) if a != b}, loads
PYTHON

# A trace does not name the network of the run.
TUTTI_NETWORK=torus:2x2 TUTTI_ALGORITHM=allreduce=doubling TUTTI_TRACE=onnet tutti run -n 4 hello >out
expect 0 tutti draw --trace onnet --network torus:2x2 --execution 0 -o net.json
python3 - <<'PYTHON'
import json
p = json.load(open("net.json"))
assert p["network"]["kind"] == "torus" and len(p["network"]["vertices"]) == 4, p["network"]
carried = sum(link[2] for link in p["network"]["links"])
assert carried >= sum(t[5] for t in p["messages"] if t[2] != "signal") > 0, carried
PYTHON
expect 0 tutti draw --trace onnet --network torus:2x2 --what network -o net.svg

# An existing file is replaced only when the new one is complete.
echo old >kept.svg
if expect 1 tutti draw barrier/p4 -a flat -o missing/kept.svg; then :; fi
[ "$(cat kept.svg)" = old ] || fail 'what was there is gone'

# ---- Errors ----

wrong() {
    local says=$1
    shift
    rm -f no.svg
    expect 2 tutti draw -o no.svg "$@"
    says err "$says"
    [ ! -e no.svg ] || fail 'a picture of nothing'
}
wrong 'there is no execution 9999; the first is 0' --trace traced --execution 9999
head -c 200 traced/rank-2.json >half && mv half traced/rank-2.json
wrong 'traced/rank-2.json:[0-9]+:[0-9]+: the text ends here; .* expected' --trace traced
printf '[\n{"name":"copy","ph":"X","pid":2,"tid":0,"ts":-1,"dur":1}]' >traced/rank-2.json
wrong 'traced/rank-2.json:2:46: a time: microseconds, not negative expected' --trace traced
rm traced/*
wrong 'no rank-0.json or the like' --trace traced
TUTTI_TRACE=traced tutti run -n 3 hello >out
TUTTI_TRACE=traced tutti run -n 2 hello >out
wrong 'traced/rank-2.json:2:1: a trace of the same run as the files before it .* expected' --trace traced
mkfifo pipe.json
wrong 'pipe.json: not a file' --trace pipe.json
: >traced/rank-0.json
rm traced/rank-[12].json
wrong 'traced/rank-0.json:1:1: .*a trace: an array of events' --trace traced
wrong 'No such file' --trace nowhere
wrong 'there is no file or folder of this name; as a problem it is' ./nowhere
wrong 'there is no file or folder of this name; as a problem it is' runz
echo 'not a trace' >letter
wrong 'this file is no trace, which is a folder, or a file that ends in .json or .part' ./letter
wrong 'the problem is missing'
wrong 'only one problem' barrier/p4 barrier/p5
wrong 'cannot be given with a trace' --trace traced -a ring
wrong 'wants --trace' barrier/p4 --execution 0
TUTTI_TRACE=three tutti run -n 3 hello >out
wrong '--network: ring:4 has 4 nodes for 3 ranks' --trace three --network ring:4
wrong "unknown network 'rong'" --trace three --network rong:3
wrong 'network wants --trace' barrier/p4 --network ring:4
wrong "'quick' is none of time" barrier/p4 --what quick
wrong 'the network is missing' alltoall/u8/8/p4 --what network
wrong 'graph of the plans is a .dot' barrier/p4 --what plan
wrong 'there is no rank 4: there are 4 ranks' barrier/p4 --ranks 4-5
wrong 'there is no rank 9' alltoall/u8/8/p9@mesh:3x3 --from 9
wrong 'is after' barrier/p4 --ranks 3-1
wrong 'hypercube does not apply: it ' alltoall/u8/8/p5 -a hypercube
expect 0 tutti draw barrier/p4 -o PICTURE.SVG
grep -q '<svg' PICTURE.SVG || fail 'capitals in the ending'
expect 0 tutti draw barrier/p4 -o picture.Trace.JSON
grep -q '"ph"' picture.Trace.JSON || fail 'capitals in the ending'
expect 2 tutti draw barrier/p4 -o picture.gif
says err "'picture.gif' ends in none of .*\\.png"
expect 2 tutti draw barrier/p4 --what time -o no.dot
says err 'shows a tree, network or plan'
expect 1 tutti draw alltoall/u8/8/p8@mesh:2x2x2 --what steps -o no.svg
says err 'in a plane only'
expect 1 tutti draw barrier/p4 --what tree -o no.svg
says err 'does not go along a tree'
expect 1 tutti draw bcast/u8/8/p4 -o /no/such/folder/picture.svg
says err 'cannot write /no/such/folder/picture.svg: No such file'
echo kept >no.dot
expect 1 tutti draw alltoall/u8/8/p64 -a pairwise --what plan -o no.dot
says err 'too many for a graph'
[ "$(cat no.dot)" = kept ] || fail 'a picture that failed has replaced a file'
if [ -e /dev/full ]; then
    expect 1 bash -c 'exec tutti draw barrier/p4 >/dev/full'
    [ "$(lines err)" -eq 1 ] || fail 'the error is printed twice'
fi

# The labels of calls in a run fit into their bars, also in a wide font.
mkdir labels
python3 - <<'PYTHON'
import json

what = {"name": "process_name", "ph": "M", "pid": 0, "args": {"run": 7, "ranks": 1, "last": 1000, "host": "here"}}
team = {"name": "team", "ph": "M", "pid": 0, "args": {"team": 0, "id": "0"}}
calls, at = [], 0
for n, long in enumerate(range(80, 102, 2)):
    args = {"team": 0, "execution": n, "bytes": 8, "n": 1, "type": "f64", "op": "sum", "call": "allreduce",
            "algorithm": "composed", "blocks": 1}
    calls.append({"ph": "X", "cat": "call", "name": "allreduce", "pid": 0, "tid": 0, "ts": at, "dur": long, "args": args})
    at += long
json.dump([what, team] + calls, open("labels/rank-0.json", "w"))
PYTHON
expect 0 tutti draw labels -o labels.svg
python3 - labels.svg <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
# Widths of DejaVu Sans, a wide font, in thousandths of the font's size.
wide = dict(zip("abcdefghijklmnopqrstuvwxyz", (613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525)))
bars, bad, labels = [], [], 0
for item in tree.parse(sys.argv[1]).iter():
    kind = item.get("class", "")
    if kind.startswith("call r"):
        bars.append([float(item.get(k)) for k in ("x", "y", "width", "height")])
    if kind == "small label":
        labels += 1
        x, y = float(item.get("x")), float(item.get("y"))
        end = x + 0.01 * sum(wide.get(c, 636) for c in item.text)
        if not any(b[0] < x and end <= b[0] + b[2] and b[1] < y < b[1] + b[3] for b in bars):
            bad.append(item.text)
assert labels > 0 and not bad, f"{len(bad)} of {labels} labels are longer than their bars: {bad}"
PYTHON
