#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti bench`: every algorithm of every collective gives correct results, the output has the
# documented columns, and wrong arguments are reported.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

problems=(barrier/p3 bcast/u8/1001/p3/root=1 reduce/i32/prod/4K/p3/root=2 allreduce/f16/sum/1002/p4
    reduce_scatter_block/i32/sum/1000/p4 reduce_scatter/i64/user/808/p3/skew=zipf gather/u8/777/p3/root=1
    scatter/u8/777/p3/root=1 scatter/i32/400K/p3 scan/i64/user/808/p4 exscan/f64/sum/300K/p3
    allgather/u8/777/p3 allgather/u8/779/p4 allgatherv/u16/1K/p3/skew=zipf alltoall/u16/778/p3 alltoall/u8/55/p4@torus:2x2
    'allgather/u8/778/p3@torus:2x2-hole(3)' 'allgatherv/u16/2K/p4/skew=zipf@torus:3x2-wall(x=1)' 'alltoall/u8/56/p4@ring:5-hole(2)'
    alltoallv/u8/777/p3/skew=uniform 'alltoallv/u16/1K/p3/skew=zipf@torus:2x2-hole(3)' gatherv/u8/300K/p3/root=1/skew=zipf gatherv/i16/778/p4/skew=zero
    scatterv/u8/300K/p3/root=1/skew=zipf scatterv/i16/778/p4/skew=zero reduce_scatter/i32/sum/812/p4/skew=zipf
    reduce/u32/user/100/p3/root=1 allreduce/u8/user/99/p3)
tutti list --json >algorithms

export iterations=20
[ -z "$TUTTI_TEST_BRIEF" ] || iterations=5
hows=('' --threads)
# The thread sanitizer sees nothing that ranks in several processes share.
[ "$TUTTI_SANITIZE" != thread ] || hows=(--threads)
for how in "${hows[@]}"; do
    some=("${problems[@]}")
    export part=
    # In a brief run, processes run the algorithms of four collectives only. The threads run all,
    # and the start and the end of a process with a sanitizer take more time than its calls.
    if [ -n "$TUTTI_TEST_BRIEF" ] && [ -z "$how" ]; then part=yes some=("${problems[@]:0:4}"); fi
    # shellcheck disable=SC2086
    expect 0 tutti bench $how --algorithm all --iterations $iterations --json rows "${some[@]}"
    python3 - <<'PYTHON'
import json, os
rows = json.load(open("rows"))
names = ["problem", "algorithm", "ranks", "bytes", "min_us", "median_us", "p99_us", "iterations"]
for row in rows:
    assert list(row) == names, row
    assert 0 < row["min_us"] <= row["median_us"] <= row["p99_us"], row
    assert row["iterations"] >= int(os.environ["iterations"]) and row["ranks"] in (3, 4), row
every = {(row["collective"], row["name"]) for row in json.load(open("algorithms"))}
ran = {(row["problem"].split("/")[0], row["algorithm"]) for row in rows}
if os.environ["part"]:
    every = {row for row in every if row[0] in {"barrier", "bcast", "reduce", "allreduce"}}
assert ran == every, f"not timed: {every - ran}"
PYTHON
done
[ "$(lines out '^problem +algorithm +min us')" -eq 1 ] || fail 'no table'

# The cost of reading another rank's memory decides which algorithm is chosen. Memory that all ranks
# map is read directly, whatever reading costs.
TUTTI_READ_COST=1 expect 0 tutti bench --iterations 2 allreduce/f64/sum/1M/p2
says out '^allreduce/f64/sum/1M/p2 +direct '
TUTTI_READ_COST=9 expect 0 tutti bench --iterations 2 allreduce/f64/sum/1M/p2
says out '^allreduce/f64/sum/1M/p2 +flat '
TUTTI_READ_COST=9 expect 0 tutti bench --threads --iterations 2 allreduce/f64/sum/1M/p2
says out '^allreduce/f64/sum/1M/p2 +direct '

# For all operations and types, the expected result does not depend on the order of combining.
mapfile -t many < <(
    echo allreduce/{i8,u16,i32,u64,f16,bf16,f32,f64}/{sum,prod,min,max}/160/p5 \
        allreduce/{i128,u128,f80,f128}/{sum,prod,min,max}/160/p5 \
        allreduce/{c64,c128,c160,c256}/{sum,prod}/160/p5 \
        allreduce/{bool,i64,i128}/{land,lor,lxor}/160/p5 \
        reduce/{i32_i32,i64_i64,f32_i32,f64_i64,i16_i32,i64_i32,f64_i32,f32_f32,f64_f64,f80_i32,f128_i32}/{minloc,maxloc}/160/p5 \
        {allreduce,reduce,scan}/binned/sum/240/p5 reduce_scatter/binned/sum/240/p5 \
        allreduce/u8/{band,bor,bxor,user}/160/p5 allreduce/{u8,i64,f64_i64}/user/160/p5/order=any |
        tr ' ' '\n')
expect 0 tutti bench --threads --iterations 5 --json - "${many[@]}"
python3 -m json.tool out >/dev/null
[ "$(lines out '"problem"')" -eq ${#many[@]} ] || fail 'rows are missing'

expect 0 tutti bench --iterations 5 --sizes 64:512 --json rows --algorithm flat allgather/c128/16/p2 barrier/p2
python3 -c 'import json; rows = json.load(open("rows")); assert [r["bytes"] for r in rows] == [64, 128, 256, 512, 0], rows'
expect 0 tutti bench --iterations 5 allreduce/f64/sum/64/p3/inplace=1 reduce/f64/sum/64/p3/inplace=1 \
    reduce_scatter_block/i32/sum/64/p3/inplace=1 reduce_scatter/i32/sum/64/p4/inplace=1/skew=zipf \
    gather/u8/64/p3/root=2/inplace=1 scatter/u8/64/p3/root=2/inplace=1 \
    gatherv/u8/64K/p3/root=2/inplace=1/skew=uniform scatterv/u8/64K/p3/root=2/inplace=1/skew=uniform \
    scan/i32/sum/64/p3/inplace=1 exscan/i32/sum/64/p4/inplace=1 \
    allgather/u8/64/p3/inplace=1 allgatherv/u8/64/p3/inplace=1/skew=zero

# With `--algorithm all`, there is a row for each algorithm; if it does not apply, the row says so.
# An algorithm that is named must apply, and the message refers to the option that named it.
expect 0 tutti bench --iterations 5 --algorithm all allreduce/u8/user/64/p2
says out ' ring +does not apply: it would combine operands out of rank order'
for how in '' --threads; do
    # shellcheck disable=SC2086
    expect 1 tutti bench $how --iterations 5 --algorithm ring allreduce/u8/user/64/p2
    says err 'allreduce/u8/user/64/p2: --algorithm ring does not apply: it .*operands out of rank order'
    [ "$(lines err TUTTI_ALGORITHM)" -eq 0 ] || fail 'blames a variable that is not set'
done
TUTTI_ALGORITHM=ring expect 1 tutti bench --iterations 5 allreduce/u8/user/64/p2
says err 'TUTTI_ALGORITHM forces ring'

expect 2 tutti bench
expect 2 tutti bench allreduce/f64/sum/8
expect 2 tutti bench --algorithm fast allreduce/f64/sum/8/p2
says err "allreduce has no algorithm 'fast'"
expect 2 tutti bench allreduce/f64/sum/8/p2@nodes:1,1
says err 'cannot be timed with a map of nodes'
expect 2 tutti bench barrier/p100000
expect 2 tutti bench --sizes 4M:8 bcast/u8/8/p2
expect 2 tutti bench --iterations 0 barrier/p2
expect 2 tutti bench --sizes 3:5 barrier/p2 allreduce/f64/sum/8/p2
says err "none of 3 and its doublings up to 5 is a multiple of the type's 8 bytes"
[ "$(lines out)" -eq 0 ] || fail 'a table of nothing'
# The error comes before anything is timed.
expect 1 tutti bench --iterations 5 --json /no/such/folder/rows barrier/p2
says err '^tutti bench: cannot write /no/such/folder/rows: No such file or directory'
[ "$(lines out)" -eq 0 ] || fail 'timed what cannot be written'
# Buffers larger than the memory of the machine are an error.
expect 1 tutti bench alltoall/u8/64G/p4
says err 'more than there is'

# The slice, radix and order in a problem string determine the plan that runs.
sends_of() {
    rm -rf "$work/traced"
    expect 0 env TUTTI_TRACE="$work/traced" tutti bench "$@" --iterations 1
    python3 - <<'PYTHON'
import json
events = [event for event in json.load(open("traced/rank-0.json")) if event.get("name") == "send" and event["args"].get("call") in ("bcast", "reduce")]
first = min(event["args"]["execution"] for event in events)
print(sum(event["args"]["execution"] == first for event in events))
PYTHON
}
[ "$(sends_of bcast/u8/256K/p2/slice=16K -a tree)" -eq 16 ] || fail 'not 16 slices'
[ "$(sends_of bcast/u8/256K/p2/slice=64K -a tree)" -eq 4 ] || fail 'not 4 slices'
[ "$(sends_of bcast/u8/8/p5/radix=4 -a tree)" -eq 4 ] || fail 'not four children'
[ "$(sends_of bcast/u8/8/p5/radix=2 -a tree)" -eq 2 ] || fail 'not two children'
# Ranks on several nodes work on as many slices at the same time as the problem or the setting says.
lanes_of() {
    rm -rf "$work/traced"
    expect 0 env TUTTI_NODES=2,2 TUTTI_TRACE="$work/traced" tutti bench "$@" -a composed --iterations 1
    python3 - <<'PYTHON'
import json
events = json.load(open("traced/rank-0.json"))
print(len({event["tid"] % 8 for event in events if event.get("name") == "send" and event["args"].get("call") == "allreduce"}))
PYTHON
}
[ "$(lanes_of allreduce/f64/sum/1M/p4)" -eq 3 ] || fail 'not three lanes by default'
[ "$(lanes_of allreduce/f64/sum/1M/p4/lanes=8)" -eq 8 ] || fail 'not eight lanes'
[ "$(TUTTI_LANES=2 lanes_of allreduce/f64/sum/1M/p4)" -eq 2 ] || fail 'not two lanes'
[ "$(TUTTI_LANES=2 lanes_of allreduce/f64/sum/1M/p4/lanes=1)" -eq 1 ] || fail 'not one lane'
expect 0 tutti bench --iterations 2 allreduce/f64/sum/8K/p3/order=rank alltoall/u8/1K/p3/order=rank/seed=3
expect 1 tutti bench --iterations 2 -a ring allreduce/f64/sum/8K/p3/order=rank
says err 'ring does not apply: it '
TUTTI_SLICE=8K expect 0 tutti bench --iterations 2 bcast/u8/64K/p2
says out '^bcast/u8/64K/p2/slice=8K '
TUTTI_RADIX=4 expect 0 tutti bench --threads --iterations 2 barrier/p3

# In a job that a launcher has started, its ranks run the cases, whatever came before on the world,
# and rank 0 alone prints. The problem gets the number of ranks of the job.
in_job=(tutti run -n 4 tutti bench --iterations 5)
# Processes that a launcher has started without PMIx form no job, and the first one warns.
expect 0 env -u SLURM_PROCID PMI_SIZE=3 PMI_RANK=0 tutti bench --iterations 5 barrier/p2
says err '^tutti: warning: mpiexec, .* started 3 processes without PMIx, so each starts ranks of its own: use '
[ "$(lines err)" -eq 1 ] || fail 'more than one warning'
# A launcher that has started only this process, such as the shell of an interactive session, does
# not count.
expect 0 tutti run -n 1 tutti bench --iterations 5 allreduce/f64/sum/8/p3
expect 0 env TUTTI_NODES=2,2 "${in_job[@]}" --algorithm all --json rows allreduce/f64/sum/8 barrier alltoallv/u8/777/skew=zipf
[ "$(lines out '^problem +algorithm +min us')" -eq 1 ] || fail 'not one table'
says out '^alltoallv/u8/777/p4/skew=zipf +composed +[0-9]'
says out '^allreduce/f64/sum/8/p4 +window +does not apply: it needs all ranks on one node$'
python3 - <<'PYTHON'
import json
rows = json.load(open("rows"))
assert len(rows) > 15 and all(row["ranks"] == 4 and row["median_us"] > 0 for row in rows), rows
PYTHON
expect 0 "${in_job[@]}" --sizes 64:256 --reversed --gaps --identities bcast/u8/8/p4/root=3 reduce/u32/user/100
[ "$(lines out '^(bcast/u8/(64|128|256)/p4/root=3|reduce/u32/user/(64|128|256)/p4) ')" -eq 6 ] || fail 'not six rows'
# Each case has plans of its own: here a message for each slice.
expect 0 env TUTTI_TRACE="$work/job" tutti run -n 2 tutti bench --iterations 1 -a tree bcast/u8/256K/slice={64K,16K}
python3 - <<'PYTHON'
import collections, json
events = json.load(open("job/rank-0.json"))
sends = collections.Counter((event["args"]["team"], event["args"]["execution"]) for event in events
                            if event.get("name") == "send" and event["args"].get("call") == "bcast")
assert set(sends.values()) == {4, 16}, sends
PYTHON

# Rank 0 says once what is wrong, and all ranks exit with the same status.
says_once() {
    says err "$1"
    [ "$(lines err '^tutti bench')" -eq 1 ] || fail 'said more than once'
}
for problem in barrier/p3 allreduce/f64/sum/8/p4@torus:2x2 bcast/u8/8@nodes:2,2; do
    expect 2 "${in_job[@]}" barrier "$problem"
    says_once "^tutti bench: $problem: a launcher has started this command as 4 ranks: the problem may name no other number"
    [ ! -s out ] || fail 'it measured before'
done
for option in --threads --beside '--nodes 2,2'; do
    # shellcheck disable=SC2086
    expect 2 "${in_job[@]}" $option barrier
    says_once "^tutti bench: not in a job that a launcher has started: ${option% *}: "
done
expect 2 "${in_job[@]}" --random 1
says_once '^tutti bench: not in a job that a launcher has started: --random: '
expect 2 "${in_job[@]}" --plan -
says_once '^tutti bench: not in a job that a launcher has started: --plan: '
expect 2 "${in_job[@]}" nonsense
# The same holds for errors in the options, and for the help. Only the arguments of rank 0 count.
for words in --nonsense '--iterations 0 barrier' '--json' ''; do
    # shellcheck disable=SC2086
    expect 2 tutti run -n 4 tutti bench $words
    says_once '^tutti bench: '
    # shellcheck disable=SC2016,SC2086
    expect 0 tutti run -n 4 sh -c '"$@" || echo "code $?"' - tutti bench $words
    says_once '^tutti bench: '
    [ "$(lines out '^code 2$')" -eq 4 ] || fail 'another status on some ranks'
done
for option in --help --usage --version; do
    expect 0 tutti bench $option
    cp out alone
    expect 0 "${in_job[@]}" $option
    cmp out alone || fail "$option is not printed once"
done
# shellcheck disable=SC2016
[ ! -e /dev/full ] || expect 1 sh -c 'exec "$@" >/dev/full' - "${in_job[@]}" --help
expect 0 tutti run -n 1 tutti bench --iterations 5 barrier : -n 1 tutti bench --nonsense
says out '^barrier/p2 '
expect 1 "${in_job[@]}" --json /no/such/folder/rows barrier
says_once '^tutti bench: cannot write /no/such/folder/rows: No such file or directory'
expect 1 "${in_job[@]}" alltoall/u8/64G barrier
says_once 'it needs [0-9]+ bytes on each of 4 ranks, which is more than there is'
says out '^barrier/p4 '

# A rank that cannot go on, or dies, does not leave the others waiting.
cp "$TUTTI_SOURCE/examples/plans/flat.plan" .
expect 0 tutti run -n 4 tutti bench --iterations 5 --plan flat.plan
# shellcheck disable=SC2016
expect 1 tutti run --on-failure=continue -n 4 sh -c '[ "$TUTTI_RANK" != 1 ] || cd /; exec tutti bench --iterations 5 --plan flat.plan'
says err '^tutti bench: rank 0: the plan: rank 1 .*flat\.plan'
for dies in 0 2; do
    expect 1 env TUTTI_FAULT=kill,rank=$dies,after=300 tutti run --on-failure=continue -n 4 tutti bench --iterations 1000 allreduce/f64/sum/64K barrier
    says err "^tutti bench: rank 1: .*rank $dies died: signal 9"
done
