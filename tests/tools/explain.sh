#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti calibrate` writes a model that is then in force, and `tutti explain` predicts with it.
# Without a model, or with one that does not fit, both say why.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM
export XDG_CACHE_HOME=$work/cache

expect 1 tutti calibrate --show
says err 'No such file'
expect 0 tutti explain allreduce/f64/sum/8/p2
says out '^No model of this machine: .*No such file'
says out '^\* flat +-  there is no model of this machine'
expect 0 tutti info
says out 'steps +not known: .*No such file'
expect 1 env -u XDG_CACHE_HOME -u HOME tutti calibrate
says err 'none of TUTTI_MACHINE, XDG_CACHE_HOME and HOME'
expect 2 tutti calibrate --show --output x
expect 2 tutti calibrate nonsense

# A folder that cannot be written is an error, and leaves no file. Root may write everywhere, so a
# file stands where the folder should be. The command says so before it measures: this mutant's
# measurements never succeed.
expect 0 touch occupied
expect 1 env MUTANT=fast "$TUTTI_BUILD/tests/tools-mutant" calibrate --output "$work/occupied/model"
says err 'cannot be written: Not a directory'
expect 1 tutti calibrate --output "$work"
says err 'cannot be written: it is a directory'
[ "$(find . -name '*.machine*' | wc -l)" -eq 0 ] || fail 'a file is left'

# calibrates COMMAND...: expects a model. On a busy machine the command may refuse to write one; if
# it does so twice, the test ends here.
calibrates() {
    local code
    for _ in 1 2; do
        code=0
        "$@" >out 2>err || code=$?
        [ "$code" -ne 0 ] || return 0
        says err 'calibrate: the machine is too busy: .*; nothing is written$'
    done
    echo 'the machine is too busy for a calibration'
    exit 77
}

calibrates tutti calibrate
says out '^written to .*/cache/tutti/.*\.machine$'
[ "$(find cache -type f | wc -l)" -eq 1 ] || fail 'more than one file'
expect 0 tutti calibrate --show
says out '  copy_memory_memory '
expect 0 tutti info
says out "steps +$work/cache/tutti/.*\.machine\$"
expect 0 tutti info --json
python3 -c 'import json, sys; assert json.load(open("out"))["model"]["line"] > 0'

# What cannot be true is never written. A job that was faster than its parts shows that the
# measurement of a part was disturbed; if no measurement resolves it, the file stays as it is.
numbers_are_credible() {
    awk '$1 ~ /^(call|message|line)$/ && $2 < 1000 || $1 ~ /^turn/ && $2 < 10000 { exit 1 }' "$1" ||
        fail "$1 has a time that cannot be true"
}
numbers_are_credible cache/tutti/*.machine
cp cache/tutti/*.machine before
expect 1 env MUTANT=fast "$TUTTI_BUILD/tests/tools-mutant" calibrate
says err 'too busy: .* by [a-z]+ took [0-9.]+ us, and its parts alone .*nothing is written'
cmp before cache/tutti/*.machine
# The times of the mutant's jobs suit code that is not slowed down by a sanitizer.
if [ -z "$TUTTI_SANITIZE" ]; then
    calibrates env MUTANT=line "$TUTTI_BUILD/tests/tools-mutant" calibrate --output line
    numbers_are_credible line
    awk '$1 == "line" && $2 > 100000 { exit 1 }' line || fail 'a line takes longer than a barrier'
fi

# Every algorithm is there once, with a time or a reason, and the chosen one is marked.
expect 0 tutti explain --json allreduce/f64/sum/64K/p4
python3 - <<'PYTHON'
import json
found = json.load(open("out"))
rows = found["candidates"]
names = [row["algorithm"] for row in rows]
assert len(set(names)) == len(names) >= 12, names
assert [row["algorithm"] for row in rows if row["chosen"]] == [found["algorithm"]] == ["flat"], found
assert found["chosen"] == "by the table"
times = [row["predicted_us"] for row in rows if "predicted_us" in row]
assert len(times) > 8 and times == sorted(times) and times[0] > 0, times
for row in rows:
    assert ("predicted_us" in row) != ("why" in row), row
    assert row["applies"] or "why" in row, row
PYTHON
expect 0 env TUTTI_CHOICE=estimate tutti explain --json allreduce/f64/sum/64K/p4
python3 -c 'import json
found = json.load(open("out"))
assert found["chosen"] == "by estimate" and found["candidates"][0]["chosen"], found'
expect 0 env TUTTI_ALGORITHM=ring tutti explain allreduce/f64/sum/64K/p4
says out ' runs by ring\. TUTTI_ALGORITHM forces it\.$'
# A time is predicted for every collective, whatever counts its ranks have.
for problem in alltoallv/u8/4K allgatherv/u8/4K gatherv/u8/4K scatterv/u8/4K reduce_scatter/f64/sum/4K \
    reduce_scatter_block/f64/sum/4K scatter/u8/4K scan/f64/sum/4K exscan/f64/sum/4K; do
    expect 0 tutti explain $problem/p4
    says out '^\* [a-z-]+ +[0-9]+\.[0-9]+  [a-z]'
done
for problem in allgatherv/u8/4K reduce_scatter/f64/sum/4K; do
    expect 0 env TUTTI_CHOICE=estimate tutti explain $problem/p4
    says out 'It has the least predicted time'
done
expect 0 tutti explain allreduce/f64/sum/64K/p4@nodes:2,2
says out 'times are predicted on one node only'
says out ' window +does not apply: it '
expect 2 tutti explain nonsense
expect 2 tutti explain

# The picture of the costs has a curve for each algorithm, a disc where it runs, and a cross for
# each measured time.
expect 0 tutti bench bcast/u8/8/p2 -a flat --sizes 8:32 --iterations 20 --json measured.json
expect 0 tutti draw bcast/u8/8/p2 --what costs --measured measured.json -o costs.svg
python3 - <<'PYTHON'
import re, xml.etree.ElementTree as xml
svg = "{http://www.w3.org/2000/svg}"
root = xml.parse("costs.svg").getroot()
texts = {text.text for text in root.iter(svg + "text")}
assert {"flat", "direct", "binomial", "2M"} <= texts, texts
assert len(list(root.iter(svg + "circle"))) == 20
crosses = [1 for path in root.iter(svg + "path") if path.get("d").endswith("l8 8m0 -8l-8 8")]
assert len(crosses) == 3, len(crosses)
assert "cross: measured" in texts, texts
PYTHON
# Without a file, the crosses are the times of the wisdom; the legend names them if there are any.
expect 0 tutti draw bcast/u8/8/p2 --what costs -o costs.svg
if grep -q 'cross: measured' costs.svg; then fail 'the legend names crosses that are not there'; fi
expect 0 tutti tune bcast/u8/64/p2 --time 0.002
expect 0 tutti draw bcast/u8/8/p2 --what costs -o costs.svg
[ "$(grep -c 'l8 8m0 -8l-8 8' costs.svg)" -eq 1 ] || fail 'the wisdom is not drawn'
grep -q 'cross: measured' costs.svg || fail 'the legend does not name the cross'
expect 2 tutti draw barrier/p2 --what costs
says err 'costs are drawn of collectives with one size'
expect 1 tutti draw bcast/u8/8/p2 --what costs --measured nothing
says err 'nothing is no array of tutti bench --json'
expect 2 tutti draw bcast/u8/8/p2 --what costs -o costs.dot
expect 2 tutti draw bcast/u8/8/p2 --what costs -a flat
expect 2 tutti draw bcast/u8/8/p2 --measured measured.json

sed -i 's/^tutti .*/tutti 0.0.1/' cache/tutti/*.machine
expect 0 tutti explain allreduce/f64/sum/8/p2
says out '^No model of this machine: .* by Tutti 0\.0\.1, and this is'
expect 0 env TUTTI_CHOICE=nonsense tutti explain allreduce/f64/sum/8/p2
says err 'TUTTI_CHOICE=nonsense is neither table, estimate nor measure: using table'
expect 1 tutti draw bcast/u8/8/p2 --what costs
says err 'no time can be predicted: there is no model'
