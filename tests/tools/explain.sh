#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti explain` predicts with the model that is in force. If there is none, it says why.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/model.sh"
source "$(dirname "$0")/plans.sh"
unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM
export XDG_CACHE_HOME=$work/cache

expect 0 tutti explain allreduce/f64/sum/8/p2
says out '^No model of this machine: .*No such file'
says out '^\* flat +-  there is no model of this machine'
expect 0 tutti info --json
says out '"not known: .*No such file'

mkdir -p cache/tutti
file=$(sed -n 's/.*"not known: \(.*\.machine\): No such file.*/\1/p' out)
model '400 2000 9000 50000 200000 800000 3000000 12000000 50000000' >"$file"
expect 0 tutti info
says out "steps +$file\$"
expect 0 tutti info --json
python3 -c 'import json; assert json.load(open("out"))["model"]["line"] > 0'

# Every algorithm occurs once, with a time or a reason, and the chosen algorithm is marked.
expect 0 env TUTTI_CHOICE=table tutti explain --json allreduce/f64/sum/64K/p4
python3 - <<'PYTHON'
import json
found = json.load(open("out"))
rows = found["candidates"]
names = [row["algorithm"] for row in rows]
assert len(set(names)) == len(names) >= 12, names
assert [row["algorithm"] for row in rows if row["chosen"]] == [found["algorithm"]] == ["window"], found
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
# In TUTTI_ALGORITHM an entry with the name of the collective has precedence over entries that are
# only the name of an algorithm. Of these entries the first one counts.
for setting in ring,allreduce=window window,ring allreduce=window,ring; do
    expect 0 env TUTTI_ALGORITHM=$setting tutti explain allreduce/f64/sum/64K/p4
    says out ' runs by window\. TUTTI_ALGORITHM forces it\.$'
done
expect 0 env TUTTI_NODES=2,2 tutti explain allreduce/f64/sum/64K/p4
says out '^  flat +does not apply: it '
expect 2 env TUTTI_NODES=2,1 tutti explain allreduce/f64/sum/64K/p4
says err 'TUTTI_NODES=2,1 has room for 3 ranks, the job has 4'
expect 0 env TUTTI_CMA=0 tutti explain allreduce/f64/sum/64K/p4
says out '^  direct +does not apply: it needs buffers that peers can read directly'
expect 0 env TUTTI_MACHINE=$'none\xff\xc3\xa4' tutti explain --json allreduce/f64/sum/64K/p4
python3 -c 'import json; text = open("out", encoding="utf-8").read(); json.loads(text); assert "none?\u00e4" in text' ||
    fail 'no JSON with a path that is no text'
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
    says out 'it has the least predicted time|The table chooses it'
done
expect 0 tutti explain allreduce/f64/sum/64K/p4@nodes:2,2
says out 'the model does not say what messages between nodes cost: run tutti calibrate --network'
says out ' window +does not apply: it '

# With a network in the model, times are predicted for several nodes, too. Nodes that the problem
# names have as many processors as this machine each; those of TUTTI_NODES divide its processors.
{ cat "$file"; wires; } >with-network
export TUTTI_MACHINE=$work/with-network
expect 0 tutti explain allreduce/f64/sum/64K/p4@nodes:2,2
says out '^[* ] doubling +[0-9]+\.[0-9]+ .*wire [0-9]'
expect 0 tutti explain --json allreduce/f64/sum/64K/p4@nodes:2,2
python3 -c 'import json
rows = [row for row in json.load(open("out"))["candidates"] if row["applies"]]
assert len(rows) > 5 and all(row["predicted_us"] > 10 for row in rows)
assert all("wire" in row["spent_us"] for row in rows)' || fail 'not all times are predicted'
expect 0 env TUTTI_NODES=1,1 tutti explain barrier/p2
says out 'dissemination +1[0-9]\.[0-9]+ .*wire [0-9]'
expect 0 env TUTTI_CHOICE=estimate tutti explain allreduce/f64/sum/64K/p4@nodes:2,2
says out 'it has the least predicted time|The table chooses it'
# Between nodes, the estimate also chooses a slice, a radix or a number of lanes. A slice of the
# user stays, and on one node nothing is chosen.
{ model '8 64 512 4096 16384 65536 262144 1048576 4194304' && fast_wires; } >fast
fast=(env TUTTI_CHOICE=estimate "TUTTI_MACHINE=$work/fast" TUTTI_RANKINGS=0)
expect 0 "${fast[@]}" tutti explain scan/f64/sum/1M/p2@nodes:1,1
says out '^scan/f64/sum/1M/p2@nodes:1,1 runs by chain with slice=256K\. '
says out '^With its own parameters, it is predicted to take at least a quarter more time\.$'
expect 0 "${fast[@]}" tutti explain --json scan/f64/sum/1M/p2@nodes:1,1
cp out chosen
expect 0 "${fast[@]}" tutti explain --json scan/f64/sum/1M/p2/slice=64K@nodes:1,1
python3 - <<'PYTHON'
import json
chosen, given = json.load(open("chosen")), json.load(open("out"))
assert chosen["slice"] == 256 << 10 and "radix" not in chosen and "lanes" not in chosen, chosen
assert "slice" not in given and chosen["algorithm"] == given["algorithm"] == "chain", given
own, best = (next(row for row in found["candidates"] if row["chosen"]) for found in (given, chosen))
assert best["predicted_us"] <= 0.8 * own["predicted_us"], (best, own)
PYTHON
expect 0 "${fast[@]}" tutti explain reduce_scatter_block/f64/sum/1M/p4@nodes:1,1,1,1
says out ' runs by halving with radix=4\. '
expect 0 "${fast[@]}" tutti plan scan/f64/sum/1M/p2@nodes:1,1
cp out with
expect 0 "${fast[@]}" tutti plan scan/f64/sum/1M/p2/slice=256K@nodes:1,1 -a chain
cmp -s out with || fail 'the plan has another slice than the choice'
expect 0 "${fast[@]}" tutti explain --json scan/f64/sum/1M/p2
[ "$(lines out '"slice"')" -eq 0 ] || fail 'a slice on one node'

expect 0 tutti draw allreduce/f64/sum/8/p4@nodes:2,2 --what costs -o costs.svg
grep -q 'allreduce on 4 ranks of 2 nodes<' costs.svg || fail 'the picture does not name the nodes'
unset TUTTI_MACHINE
expect 2 tutti explain nonsense
expect 2 tutti explain

# The picture of the costs has a curve for each algorithm, a disc at the sizes for which it is
# chosen, and a cross for each measured time.
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
# Without a file of measured times, the crosses are the times in the wisdom. The legend explains
# crosses only if there are any.
expect 0 tutti draw bcast/u8/8/p2 --what costs -o costs.svg
if grep -q 'cross: measured' costs.svg; then fail 'the legend names crosses that are not there'; fi
expect 0 tutti tune bcast/u8/64/p2 --time 0.002
expect 0 tutti draw bcast/u8/8/p2 --what costs -o costs.svg
[ "$(grep -c 'l8 8m0 -8l-8 8' costs.svg)" -eq 1 ] || fail 'the wisdom is not drawn'
grep -q 'cross: measured' costs.svg || fail 'the legend does not name the cross'
expect 2 tutti draw barrier/p2 --what costs
says err 'costs can be drawn only of collectives with one size'
echo '{}' >nothing.json
expect 1 tutti draw bcast/u8/8/p2 --what costs --measured nothing.json
says err 'nothing.json is no array of tutti bench --json'
expect 2 tutti draw bcast/u8/8/p2 --what costs -o costs.dot
expect 2 tutti draw bcast/u8/8/p2 --what costs -a flat
expect 1 tutti draw bcast/u8/8/p2 --what costs --measured missing.json
says err '^tutti draw: cannot read missing.json: No such file or directory$'
expect 1 tutti draw bcast/u8/8/p2 --what costs --measured .
says err '^tutti draw: cannot read [.]: Is a directory$'
expect 2 tutti draw bcast/u8/8/p2 --measured measured.json

sed -i 's/^tutti .*/tutti 0.0.1/' cache/tutti/*.machine
expect 0 tutti explain allreduce/f64/sum/8/p2
says out '^No model of this machine: .* by Tutti 0\.0\.1, and this is'
expect 0 env TUTTI_CHOICE=nonsense tutti explain allreduce/f64/sum/8/p2
says err 'TUTTI_CHOICE=nonsense is not one of auto, table, estimate, measure: using the default \(auto\)$'
expect 1 tutti draw bcast/u8/8/p2 --what costs
says err 'no time can be predicted: there is no model'

# With --job, the command shows the choice of a running job. The job logs its choice, too.
model '8 64 512 4096 16384 65536 262144 1048576 4194304' >cheap
missing=$TUTTI_BUILD/tests/test-run-missing
waits() {
    tutti ps "$job" >out 2>err && grep -qE '^ *0 .* in (allreduce|measuring algorithms)\(' out
}
# begins SETTING...: starts a job with these settings, whose ranks call allreduce while rank 2 stays
# away. If the array `under` is not empty, it is a command that runs the launcher.
under=()
begins() {
    rm -f go
    env TUTTI_WISDOM=0 TUTTI_LOG=choice "$@" "${under[@]}" tutti run -n 4 "$missing" outside >job.out 2>job.err &
    job=$!
    started+=("$job")
    wait_for waits
}
ends() {
    local code=0
    touch go
    wait "$job" || code=$?
    [ "$code" -eq 0 ] || fail "the job ended with $code"
}
agrees() {
    expect 0 tutti explain --job "$job" allreduce/f64/sum/8
    sed -n 's|^In the job of [^,]*, allreduce/f64/sum/8/p4 runs by \([a-z-]*\)[. ].*|\1|p' out >explained
    sed -n 's/.*choice: \([a-z-]*\) for allreduce.*/\1/p' job.err >ran
    cmp explained ran || fail 'the job runs another algorithm'
}
begins TUTTI_NODES=2,2
agrees
between_nodes=$(cat ran)
pid=$(tutti ps "$job" | awk '$1 == 1 { print $2 }')
expect 0 tutti explain --json --job "$pid" reduce/f64/sum/64K/root=3
python3 -c 'import json, sys; found = json.load(open("out"))
assert found["problem"] == "reduce/f64/sum/64K/p4/root=3" and found["job"] == int(sys.argv[1]), found' "$pid"
expect 1 tutti explain --job "$job" allreduce/f64/sum/8/p3
says err 'has other ranks or hosts than the job, which has 4 ranks'
expect 1 tutti explain --job "$job" barrier@nodes:2,2
for number in cores wisdom line-of-wisdom model; do
    expect 1 env MUTANT=$number "$TUTTI_BUILD/tests/tools-mutant" explain --job "$job" allreduce/f64/sum/8
    says err '^tutti explain: what the job has stored in its memory makes no sense$'
done
expect 1 tutti explain --job "$job" nonsense
ends
# A line of wisdom that a job on such nodes has measured decides.
expect 0 env TUTTI_NODES=2,2 tutti run -n 4 tutti tune allreduce/f64/sum/8 --time 0.002 --output "$work/nodes"
begins TUTTI_NODES=2,2 TUTTI_WISDOM="$work/nodes"
agrees
expect 0 env TUTTI_WISDOM="$work/nodes" tutti explain --job "$job" allreduce/f64/sum/8
says out 'It was measured to be the fastest on 20'
says out 'allreduce/f64/sum/8/p4@nodes:2,2 was measured on 20'
ends
begins TUTTI_ALGORITHM=allreduce=ring,bcast=flat
agrees
expect 0 tutti explain --job "$job" allreduce/f64/sum/8
says out 'TUTTI_ALGORITHM forces it'
ends
# A plan file has the path that the job knows it by, from the folder of rank 0.
write_plans ''
mkdir elsewhere
begins TUTTI_ALGORITHM=allreduce=@flat.plan
cd elsewhere
expect 0 env TUTTI_WISDOM=own-wisdom tutti explain --job "$job" allreduce/f64/sum/8
says out '^In the job of .*, allreduce/f64/sum/8/p4 runs by mine. It is that of the plan file flat.plan. TUTTI_ALGORITHM forces it.$'
says out '^No wisdom for it: .*/elsewhere/own-wisdom: No such file'
says out '^\* mine '
expect 0 tutti explain --job "$job" --json allreduce/f64/sum/8
python3 -c 'import json; found = json.load(open("../out"))
assert found["algorithm"] == "mine" and found["chosen"] == "forced by TUTTI_ALGORITHM", found
assert [row["algorithm"] for row in found["candidates"] if row["chosen"]] == ["mine"], found'
expect 0 tutti explain --job "$job" bcast/u8/8
cp ../never.plan ../flat.plan
expect 1 tutti explain --job "$job" allreduce/f64/sum/8
says err '^tutti explain: TUTTI_ALGORITHM=allreduce=@flat.plan: the schedule of the plan file flat.plan is refuted: deadlock'
rm ../flat.plan
expect 1 tutti explain --job "$job" allreduce/f64/sum/8
says err '^tutti explain: TUTTI_ALGORITHM=allreduce=@flat.plan: the plan file flat.plan cannot be read: No such file'
cd ..
write_plans ''
ends
[ "$(lines job.err 'choice: mine for allreduce.* by a plan file')" -ge 1 ] || fail 'the job ran another plan'
# The folder of rank 0 is not needed for a collective without a plan file, and cannot be entered if
# rank 0 is in another PID namespace.
inside=(unshare --pid --fork --kill-child)
runs_inside() {
    run=$(pgrep -P "$job" tutti) && tutti ps "$run" >out 2>err && grep -q 'in allreduce(' out
}
if "${inside[@]}" true 2>/dev/null; then
    rm -f go
    env TUTTI_WISDOM=0 TUTTI_ALGORITHM=bcast=@flat.plan "${inside[@]}" tutti run -n 4 "$missing" outside >job.out 2>job.err &
    job=$!
    started+=("$job")
    wait_for runs_inside
    expect 0 tutti explain --job "$run" allreduce/f64/sum/8
    expect 1 tutti explain --job "$run" bcast/u8/8
    says err 'cannot be entered: the rank is in another PID namespace'
    ends
fi
begins TUTTI_CMA=0
agrees
[ "$between_nodes" != "$(cat ran)" ] || fail 'the nodes make no difference'
ends
# A setting is too long for the job's record of its settings: the entries that do not fit are
# missing, and no entry is cut off in the middle.
long=allreduce=ring,bcast=@/$(printf 'x%.0s' {1..300}),scan=chain
begins TUTTI_ALGORITHM="$long"
agrees
says err "^tutti explain: TUTTI_ALGORITHM of the job has ${#long} bytes, and only entries in the first 255 are"
expect 0 tutti explain --job "$job" bcast/u8/8
ends
# The job's TUTTI_EAGER counts for its predicted times, not that of the command: with 0, a message
# of 4 KiB waits for its receive.
sed 's/^message .*/message 1000000/' cheap >dear-messages
begins TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/dear-messages" TUTTI_EAGER=0
expect 0 tutti explain --job "$job" allreduce/f64/sum/4K
grep '^[* ] ring' out >waiting
ends
begins TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/dear-messages"
expect 0 tutti explain --job "$job" allreduce/f64/sum/4K
grep '^[* ] ring' out >eager
expect 0 env TUTTI_EAGER=0 tutti explain --job "$job" allreduce/f64/sum/4K
grep '^[* ] ring' out | cmp - eager || fail 'the predicted time depends on the TUTTI_EAGER of the command'
cmp -s waiting eager && fail "the predicted time does not depend on the job's TUTTI_EAGER"
ends
# The speed of a link is that of the job, or in a problem that names nodes, that of the setting.
begins TUTTI_CHOICE=table TUTTI_NODES=2,2 TUTTI_LINK_MBIT=100000
expect 0 tutti explain --job "$job" reduce/f64/sum/64K
says out 'runs by halving'
ends
begins TUTTI_CHOICE=table TUTTI_NODES=2,2
expect 0 env TUTTI_LINK_MBIT=100000 tutti explain --job "$job" reduce/f64/sum/64K
says out 'runs by logical'
ends
expect 0 env TUTTI_CHOICE=table TUTTI_LINK_MBIT=100000 tutti explain allgather/u8/64K/p8@nodes:2*4
says out 'runs by ring'
expect 0 env TUTTI_CHOICE=table tutti explain allgather/u8/64K/p8@nodes:2*4
says out 'runs by parts'
# The ranks may read each other's memory, but not write it.
under=("$TUTTI_BUILD/tests/trouble-rank" without writev)
begins TUTTI_CHOICE=table
agrees
expect 0 tutti explain --job "$job" allreduce/f64/sum/64K
[ "$(lines out '^[* ] direct .*needs')" -eq 0 ] || fail 'direct only reads'
expect 0 tutti explain --job "$job" gather/u8/96K
says out '^  direct .*needs buffers that peers can write directly'
ends
# The ranks may write each other's memory, but not read it.
under=("$TUTTI_BUILD/tests/trouble-rank" without readv)
begins TUTTI_CHOICE=table
agrees
expect 0 tutti explain --job "$job" allreduce/f64/sum/64K
says out '^  direct .*needs buffers that peers can read directly'
expect 0 tutti explain --job "$job" gather/u8/96K
[ "$(lines out '^[* ] direct .*needs')" -eq 0 ] || fail 'direct only writes'
ends
under=()
begins TUTTI_CHOICE=estimate TUTTI_MACHINE="$work/cheap"
agrees
expect 0 tutti explain --job "$job" allreduce/f64/sum/8
says out 'it has the least predicted time|The table chooses it'
says out '^Model: that of the job$'
ends
begins TUTTI_CHOICE=measure TUTTI_MACHINE="$work/cheap"
expect 0 tutti explain --job "$job" allreduce/f64/sum/64K
says out '^The job measures algorithms'
ends
expect 1 tutti explain --job 1 barrier
says err 'process 1 belongs to no job of this user'
expect 2 tutti explain --job nonsense barrier
