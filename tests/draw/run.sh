#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Pictures of real runs: calls, ranks that came late, separate teams, ranks that died, overlapping
# calls, and files that are cut off or missing; in SVG, as text, as JSON and for Perfetto.
# shellcheck source-path=SCRIPTDIR/../tools disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
late=$TUTTI_BUILD/tests/draw-late
chrome() { python3 "$TUTTI_SOURCE/tests/draw/chrome.py" "$@"; }

# runs FOLDER OPTION...: runs late.c with these options of `tutti run`, and with its traces in the
# folder.
runs() {
    local folder=$1
    shift
    rm -f about-to-*
    TUTTI_TRACE=$work/$folder timeout 3000 tutti run "$@" >"$work/out" 2>"$work/err"
}

# ---- A run that ends well ----

runs well -n 4 "$late" || fail 'the run to be drawn failed'
[ "$(find well -name '*.part' | wc -l)" -eq 0 ] || fail 'parts are left after an orderly end'
expect 0 tutti draw well -o well.json
python3 - <<'PYTHON'
import json
p = json.load(open("well.json"))
c = p["calls"]
bars = [dict(zip("rank team execution coll algorithm type op bytes begin end root blocked waited late n flags".split(), b)) for b in c["bars"]]
name = c["names"].__getitem__
assert c["clocks"] == "one clock" and c["lost"] is None, c["clocks"]
assert [r["end"] for r in c["ranks"]] == [None] * 4 and len({r["pid"] for r in c["ranks"]}) == 4
assert sorted(t["label"] for t in c["teams"]) == ["ranks 0, 2", "ranks 1, 3", "world"], c["teams"]
first = [b for b in bars if c["teams"][b["team"]]["label"] == "world" and b["execution"] == 0]
assert [b["rank"] for b in first] == [0, 1, 2, 3] and {name(b["coll"]) for b in first} == {"allreduce"}
assert {(b["bytes"], b["n"], name(b["type"]), name(b["op"])) for b in first} == {(524288, 65536, "f64", "sum")}
assert {b["late"] for b in first} == {2}, "rank 2 came last"
assert all((b["waited"] > 100e9) == (b["rank"] != 2) for b in first), [b["waited"] for b in first]
assert all(b["waited"] <= b["end"] - b["begin"] for b in bars)
bcast = [b for b in bars if name(b["coll"]) == "bcast"]
assert [b["root"] for b in bcast] == [1] * 4, bcast
# Teams are separate: each has its own executions 0 to 4, in which only its members take part.
for label, ranks in (("ranks 0, 2", [0, 2]), ("ranks 1, 3", [1, 3])):
    own = [b for b in bars if c["teams"][b["team"]]["label"] == label]
    assert sorted({b["execution"] for b in own}) == [0, 1, 2, 3, 4] and sorted({b["rank"] for b in own}) == ranks, own
# A caller of the nonblocking allreduce, which overlaps with another call, began to wait only after
# the allreduce had begun, or did not wait at all.
sums = {b["rank"]: b for b in bars if name(b["coll"]) == "allreduce" and b["bytes"] == 524288 and b is not None and b["execution"] > 0}
assert len(sums) == 4 and all(b["blocked"] == -1 or b["blocked"] > b["begin"] for b in sums.values()), sums
assert all(g[2] <= h[2] for g, h in zip(c["groups"], c["groups"][1:])), "groups in the order of time"
assert sum(g[1] for g in c["groups"]) == len(bars)
assert min(b["begin"] for b in bars) == 0 and max(b["end"] for b in bars) <= p["time_ps"]
# Calls that make, repair and free teams are one bar each, whatever they consist of.
def of(call):
    return sorted((c["teams"][b["team"]]["label"], b["rank"]) for b in bars if name(b["coll"]) == call)
assert of("team_split") == of("team_agree") == [("world", r) for r in range(4)], (of("team_split"), of("team_agree"))
assert of("team_free") == [("ranks 0, 2", 0), ("ranks 0, 2", 2), ("ranks 1, 3", 1), ("ranks 1, 3", 3)], of("team_free")
split = next(b for b in bars if name(b["coll"]) == "team_split")
assert not any(b["rank"] == split["rank"] and split["begin"] < b["begin"] < split["end"] for b in bars), "a bar within a split"
# Messages never go from one team to the other.
assert all((t[0] - t[1]) % 2 == 0 or any(c["teams"][b["team"]]["label"] == "world" and b["rank"] == t[1] and
           b["begin"] <= t[4] <= b["end"] for b in bars) for t in p["messages"]), "a message between teams"
PYTHON
expect 0 tutti draw well -o well.svg
python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
root = tree.parse("well.svg").getroot()
classes = [c for e in root.iter() for c in (e.get("class") or "").split()]
text = [e.text for e in root.iter() if e.text]
assert classes.count("app") == 5 and classes.count("waited") >= 4, "lanes, and what waits"
assert "came-late" in classes and "dead" not in classes
assert any(t.startswith("rank 2, by ") for t in text) and "ranks 1, 3" in text and "world" in text
named = [b for b in root.iter() if "label" in (b.get("class") or "").split()]
assert any("n=65536" in b.text for b in named), "no bar says how many elements, and by what"
assert any("waited" in t and "for rank 2" in t for t in text if t.startswith("rank 0: allreduce n=65536 f64 sum, by ")), text
PYTHON
python3 "$TUTTI_SOURCE/tests/draw/legend.py" well.svg allreduce barrier 'waits for others to come' 'in the application' 'came late'
expect 0 tutti draw well --what summary
says out '^4 ranks, [0-9]+ collectives of 3 teams in .*one clock'
says out 'allreduce n=65536 f64 sum, execution 0 of world, at .*: rank 2 came late, '
expect 0 tutti draw well -o well.trace.json
expect 0 tutti draw well.trace.json -o again.trace.json
cmp well.trace.json again.trace.json || fail 'a trace of a run reads back to another one'
expect 0 tutti draw well.trace.json -o again.json
cmp well.json again.json || fail 'a trace of a run reads back to another picture'
[ "$(chrome well.trace.json)" -gt 10 ] || fail 'hardly any arrows'
chrome well/rank-*.json >/dev/null || fail 'a file of one rank is nothing for Perfetto'
expect 0 tutti draw well -o well.html
grep -q '"label": "ranks 1, 3"' well.html || fail 'the page does not know of teams'
expect 0 tutti draw well --what time -o steps.svg
expect 2 tutti draw barrier/p4 --what calls -o no.svg
says err 'calls are known of real runs only'

# Names that stand in a trace are escaped.
cp -r well named
sed -i 's/"algorithm":"[a-z-]*"/"algorithm":"<b>\&\\u0001"/' named/rank-1.json
grep -q '"algorithm":"<b>' named/rank-1.json || fail 'the trace names no algorithm'
expect 0 tutti draw named -o named.svg
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' named.svg || fail 'the picture is no XML'
grep -q 'by &lt;b&gt;&amp;,' named.svg || fail 'the picture does not show the name'

# ---- A job that runs ----

# The ranks of this job wait for a reader of this file after their first calls.
mkfifo about-to-end
TUTTI_TRACE=$work/live timeout 3000 tutti run -n 2 "$late" 1 >out 2>err &
job=$!
both_wait() {
    tutti draw live -o live.json 2>/dev/null &&
        python3 -c 'import json; c = json.load(open("live.json"))["calls"]; assert len(c["ranks"]) == 2; assert [c["names"][b[3]] for b in c["bars"]].count("barrier") == 2'
}
until both_wait 2>/dev/null; do sleep 0.05; done
[ "$(grep -c '"end": "runs"' live.json)" -eq 2 ] || fail 'the ranks are not said to run'
expect 0 tutti draw live -o live.svg
grep -q '>runs<' live.svg || fail 'the picture does not say that a rank runs'
! grep -q 'class="dead"' live.svg || fail 'a rank that runs has a cross'
expect 0 tutti draw live --what summary
expect 0 tutti draw live -o live.trace.json
expect 0 tutti draw live.trace.json -o again.json
[ "$(grep -c '"end": "runs"' again.json)" -eq 2 ] || fail 'the trace does not say that the ranks run'
kill -TERM "$job"
wait "$job" || true
expect 0 tutti draw live -o live.json
! grep -q '"end": "runs"' live.json || fail 'ranks that were killed are said to run'
[ "$(grep -c '"end": "died: signal 15' live.json)" -eq 2 ] || fail 'what killed the ranks is not said'

# The launcher is killed, and its guard kills the ranks.
rm -r live
TUTTI_TRACE=$work/live timeout 3000 tutti run -n 2 "$late" 1 >out 2>err &
job=$!
until both_wait 2>/dev/null; do sleep 0.05; done
kill -KILL "$(pgrep -P "$job")"
wait "$job" || true
both_killed() {
    tutti draw live -o live.json && [ "$(grep -c '"end": "died: signal 9' live.json)" -eq 2 ]
}
wait_for both_killed
rm about-to-end

# ---- A rank that exits without tutti_finalize ----

TUTTI_TRACE=deserted expect 0 tutti run -n 1 "$TUTTI_BUILD/tests/tools-rank" desert
expect 0 tutti draw deserted -o deserted.json
grep -q '"end": "exited with code 0 without tutti_finalize"' deserted.json || fail 'an exit is not said'

# ---- A rank that is killed ----

runs died --on-failure=continue -n 4 "$late" 3 || true
[ -e died/rank-3.part ] || fail 'what the killed rank did is not there'
[ ! -e died/rank-3.json ] || fail 'a killed rank cannot have ended in order'
expect 0 tutti draw died -o died.json
python3 - <<'PYTHON'
import json
c = json.load(open("died.json"))["calls"]
ends = {r["rank"]: r["end"] for r in c["ranks"]}
assert "signal 9" in ends.pop(3) and set(ends.values()) == {None}, ends
shrink = [b for b in c["bars"] if c["names"][b[3]] == "team_shrink"]
assert [b[0] for b in shrink] == [0, 1, 2] and len({b[2] for b in shrink}) == 1, shrink
last = [g for g in c["groups"] if c["names"][c["bars"][g[0]][3]] == "barrier"][-1]
calls = c["bars"][last[0]:last[0] + last[1]]
assert [c["names"][b[3]] for b in calls] == ["barrier"] * 3 and [b[0] for b in calls] == [0, 1, 2], calls
assert last[8] == 3 and last[9] & 1, "rank 3 never came"
assert all(b[13] == 3 and b[15] & 2 for b in calls), "who was waited for, and that it failed"
mine = [b for b in c["bars"] if b[0] == 3]
assert len(mine) == 8 and max(b[9] for b in mine) <= next(r["last"] for r in c["ranks"] if r["rank"] == 3)
PYTHON
expect 0 tutti draw died -o died.svg
grep -q 'class="dead"' died.svg || fail 'no cross'
grep -q '>rank 3 never came<' died.svg || fail 'the table does not say who never came'
grep -q '>died: signal 9' died.svg || fail 'the cause is not there'
python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
root = tree.parse("died.svg").getroot()
end = [e for e in root.iter() if e.get("class") == "end-text"]
calls = [e for e in root.iter() if "call" in (e.get("class") or "").split() and e.get("y")]
low, high = float(end[0].get("y")) - 11, float(end[0].get("y")) + 3
over = [e for e in calls if float(e.get("y")) < high and float(e.get("y")) + float(e.get("height")) > low
        and float(e.get("y")) < float(root.get("height")) / 2]
assert end and not over, "the cause lies over bars"
PYTHON
expect 0 tutti draw died -o died.trace.json
chrome died.trace.json >/dev/null
grep -q '"ph":"i".*"name":"died: signal 9' died.trace.json || fail 'no death in the trace'
expect 0 tutti draw died --what summary
says out 'rank 3 never came'

# The launcher ends the other ranks as soon as one is dead.
runs all -n 4 "$late" 0 || true
expect 0 tutti draw all -o all.svg

# ---- Files that are cut off or missing ----

cp -r well cut
size=$(stat -c %s cut/rank-1.json)
head -c $((size / 2)) well/rank-1.json >cut/rank-1.json
expect 0 tutti draw cut -o cut.json
says err 'cut/rank-1.json: the end is missing: drawn as far as it goes'
grep -q 'the files of 1 ranks are cut off' cut.json || fail 'the picture does not say that a file is cut'
rm cut/rank-1.json
expect 0 tutti draw cut -o less.json
grep -q '1 of 4 ranks have no trace' less.json || fail 'the picture does not say that a file is missing'
head -c 5000 died/rank-3.part >cut/rank-1.part
expect 2 tutti draw cut -o no.json
says err 'rank-1.part:.*of the same run as the files before it'
cp died/rank-3.part short.part
truncate -s 2000 short.part
expect 0 tutti draw short.part -o short.json

# ---- Nodes ----

TUTTI_NODES=2,2 runs nodes -n 4 "$late" || fail 'the run on two nodes failed'
expect 0 tutti draw nodes -o nodes.trace.json
chrome nodes.trace.json >/dev/null
python3 - <<'PYTHON'
import json
ranks = [e["args"] for e in json.load(open("nodes.trace.json"))["traceEvents"] if e["name"] == "rank"]
assert [r["node"] for r in ranks] == [0, 0, 1, 1], ranks
PYTHON
