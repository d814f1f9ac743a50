#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti tune` keeps the fastest algorithm of each problem, and later choices come from its file.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
unset TUTTI_MACHINE TUTTI_WISDOM TUTTI_ALGORITHM
export XDG_CACHE_HOME=$work/cache TUTTI_CHOICE=table # with `auto`, a job may measure a model first

expect 0 tutti tune bcast/u8/8/p2 barrier/p2 --sizes 8:64K --step 8192 --time 0.002
says out '^bcast/u8/64K/p2 +[a-z-]+(/slice=[0-9K]+)?(/radix=[0-9]+)? +[0-9.]+ '
says out '^barrier/p2 +(flat|dissemination) +[0-9.]+  (flat|dissemination):[0-9.]+$'
says out "^written to $work/cache/tutti/.*\.wisdom\$"
[ "$(grep -c '^[a-z]' cache/tutti/*.wisdom)" -eq 3 ] || fail 'not three lines'

expect 0 tutti explain --json bcast/u8/64K/p2
python3 - <<'PYTHON'
import json
found = json.load(open("out"))
assert found["chosen"] == "by wisdom" and found["wisdom"]["measured_us"] > 0, found
assert found["wisdom"]["date"].startswith("20") and ":" in found["wisdom"]["others"], found
PYTHON
expect 0 tutti explain bcast/u8/40000/p2
says out 'It was measured to be the fastest on 20'
says out 'bcast/u8/64K/p2 was measured on 20'
expect 0 env TUTTI_WISDOM=0 tutti explain bcast/u8/64K/p2
says out 'first algorithm that fits and applies in the table'
says out 'No wisdom for it: TUTTI_WISDOM=0'
expect 0 tutti info
says out 'wisdom +3 lines, of which 3 fit:'

# The slice in a line of wisdom is the slice of the plan.
grep -q 'bcast binomial' <<<"$(tutti list --names bcast)"
sed -i 's/^\(bcast[^ ]*64K[^ ]*\) [a-z-]*\( slice=[^ ]*\)\?/\1 binomial slice=4K/' cache/tutti/*.wisdom
expect 0 tutti plan bcast/u8/64K/p2
says out 'binomial'
cp out with
expect 0 env TUTTI_WISDOM=0 tutti plan bcast/u8/64K/p2/slice=4K -a binomial
cmp -s out with || fail 'the plan has another slice than the wisdom'

# Tuning a problem again does not use the slice that the wisdom has for it.
sed -i 's/^\(bcast[^ ]*64K[^ ]*\) binomial slice=4K/\1 binomial slice=8/' cache/tutti/*.wisdom
expect 0 tutti tune bcast/u8/64K/p2 --time 0.001
grep -q 'slice=8[,: ]' out && fail 'the slice of the wisdom is used again'

# If ranks cannot read each other's memory, the wisdom records that. A barrier has no slice, so
# TUTTI_SLICE has no effect on its line.
expect 0 env TUTTI_CMA=0 TUTTI_SLICE=4K tutti tune barrier/p2 bcast/u8/64K/p2 --time 0.001 --output without
[ "$(grep -c 'reach=window' without)" -eq 2 ] || fail 'the ranks seem to reach each other'
expect 0 env TUTTI_CMA=0 TUTTI_WISDOM=without tutti explain bcast/u8/64K/p2
says out 'It was measured to be the fastest on 20'

# Times that a setting changes are not kept in the cache folder, where all later jobs find them.
rm -rf cache/tutti
expect 1 env TUTTI_WINDOW=64K tutti tune barrier/p2 --time 0.001
says err '^tutti tune: TUTTI_WINDOW changes the times, and later jobs without it would use them: unset it, or name a file by --output or TUTTI_WISDOM$'
[ ! -e cache/tutti ] || fail 'times with a setting are kept'
# These settings change nothing: a default, and a value that is ignored with a warning.
expect 0 env TUTTI_WINDOW=128K TUTTI_RING=1 tutti tune barrier/p2 --time 0.001
expect 0 env TUTTI_YIELDS=20 TUTTI_WISDOM="$work/yields" tutti tune barrier/p2 --time 0.001
[ "$(lines err 'no such file')" -eq 0 ] || fail 'warnings of missing wisdom, which is made'
grep -q '^barrier' yields || fail 'times are not kept in a file that is named'

# A signal of the user ends the command, and not only the job that the command has started.
in_background tutti tune --ranks 2 --time 0.05 --output ended
wait_for [ -s ended ]
kill -TERM $!
code=0
wait $! || code=$?
[ "$code" -eq 143 ] || fail "exit code $code after SIGTERM"

# For a problem that cannot be tuned, the message says why.
for problem in alltoallv/u8/8/p2 allreduce/f64/sum/8/p4@nodes:2,2 bcast/u8/8/p2/root=1 barrier/p1; do
    expect 1 tutti tune "$problem" --time 0.001
    says err "tutti tune: $problem: "
done
expect 1 tutti tune barrier/p1 --output none
says out '^nothing was written to none$'
expect 1 tutti tune allreduce/f64/sum/1K/p2 --sizes 3:20 --output none
says err '^tutti tune: allreduce/f64/sum/1K/p2: none of the sizes of --sizes is a multiple of f64, which has 8 bytes$'
expect 1 tutti tune barrier/p2 --output ""
says err 'the name of the file is empty'
expect 2 tutti tune barrier/p2 --output -
says err '--output: lines are added to a file'
printf '# a model\ntutti 1.0.0\n' >model
cp model before
expect 1 tutti tune barrier/p2 --output model
says err '^tutti tune: model is no file of wisdom: none of its lines is one$'
cmp -s model before || fail 'a file of another kind has changed'
expect 1 tutti tune barrier/p5000
says err 'more ranks than'
expect 2 tutti tune --ranks 5000
head -c 3000000 /dev/zero | tr '\0' '#' >large
expect 1 tutti tune barrier/p2 --output large
says err 'large is not a file of at most 2097152 bytes'
[ ! -s out ] || fail 'it measured what it cannot keep'
expect 1 env TUTTI_ALGORITHM=flat tutti tune barrier/p2
says err 'TUTTI_ALGORITHM forces the choice'
expect 1 env TUTTI_WISDOM=0 tutti tune barrier/p2
says err 'there is no file to write: TUTTI_WISDOM=0; --output names one'
expect 0 touch occupied
expect 1 tutti tune barrier/p2 --output occupied/wisdom
says err 'occupied/wisdom cannot be written: Not a directory'
[ ! -s out ] || fail 'it measured what it cannot keep'
expect 2 tutti tune nonsense
expect 2 tutti tune barrier/p2 --ranks 3
expect 2 tutti tune --sizes 0

# In a job that a launcher has started, its ranks run the candidates, and rank 0 writes the lines,
# which name the nodes. A later job on such nodes chooses by them.
in_job=(env "TUTTI_NODES=2,2" tutti run -n 4 tutti tune --time 0.001)
expect 0 "${in_job[@]}" --output nodes allreduce/f64/sum/64K barrier/p4 --sizes 8:64K --step 8192
[ "$(lines out '^problem +the fastest')" -eq 1 ] || fail 'not printed once'
says out '^allreduce/f64/sum/64K/p4 +[a-z-]+(/(slice|radix|lanes)=[0-9K]+)? +[0-9.]+ '
[ "$(grep -c '^[a-z].*/p4@nodes:2,2 [a-z-]* .*reach=' nodes)" -eq 3 ] || fail 'not three lines'
# Only `parts` and `composed` have lanes. If one of them was the fastest, other lanes were timed.
if grep -qE '^allreduce/f64/sum/64K/p4 +(parts|composed)' out; then
    says out '^allreduce/f64/sum/64K/p4 .*(parts|composed)/lanes=1[: ]'
fi
sed -i 's/^\(allreduce[^ ]*64K[^ ]*\) [a-z-]* .*\(us=[0-9.]*\) \(others=[^ ]* \)\?/\1 parts slice=4K \2 /' nodes
expect 0 env TUTTI_NODES=2,2 TUTTI_WISDOM="$work/nodes" TUTTI_LOG=choice tutti run -n 4 tutti bench --iterations 2 allreduce/f64/sum/64K
says err 'choice: parts for allreduce.n=8192 of f64, sum. on 4 ranks .by wisdom'
expect 0 tutti run -n 2 tutti tune --time 0.001 --output one barrier --sizes 8:8
[ ! -s err ] || fail 'tune in a job complains'
expect 0 env TUTTI_WISDOM=named tutti run -n 2 tutti tune --time 0.001 barrier --sizes 8:8
[ ! -s err ] || fail 'the file that tune makes is missed before'
grep -qE '^barrier/p2 [a-z-]+ ' one || fail 'no line for a job on one node'
# Without a problem, the usual ones are tuned.
in_background tutti run -n 3 tutti tune --time 0.0001 --output usual --sizes 8:8
wait_for grep -q '^bcast/u8/8/p3 ' usual
kill -TERM $!
wait $! || true

# What is wrong is said once, before anything is measured, and all ranks exit with the same status.
says_once() {
    says err "$1"
    [ "$(lines err '^tutti tune')" -eq 1 ] || fail 'said more than once'
    [ ! -s out ] || fail 'it measured before'
}
for problem in barrier/p3 bcast/u8/8@nodes:2,2; do
    expect 2 "${in_job[@]}" --output none barrier "$problem"
    says_once "^tutti tune: $problem: a launcher has started this command as 4 ranks: "
done
expect 2 "${in_job[@]}" --output none --ranks 4
says_once '^tutti tune: not in a job that a launcher has started: --ranks: '
for words in --nonsense '--output -' '--step 1'; do
    # shellcheck disable=SC2086
    expect 2 "${in_job[@]}" $words
    says_once '^tutti tune: '
    # shellcheck disable=SC2016,SC2086
    expect 0 tutti run -n 4 sh -c '"$@" || echo "code $?"' - tutti tune $words
    [ "$(lines out '^code 2$')" -eq 4 ] || fail 'another status on some ranks'
    [ "$(lines err '^tutti tune')" -eq 1 ] || fail 'said more than once'
done
expect 1 "${in_job[@]}" --output occupied/wisdom barrier
says_once 'occupied/wisdom cannot be written: Not a directory'
# Times on nodes that are none are not kept where jobs on real nodes find them.
expect 1 "${in_job[@]}" barrier
says_once '^tutti tune: TUTTI_NODES changes the times, and later jobs on real nodes would use them: '
expect 0 env TUTTI_WISDOM="$work/named" "${in_job[@]}" barrier
expect 1 env TUTTI_NODES=2,2 tutti tune --output none barrier/p4
says err 'ranks on several nodes must be started by a launcher, as in: mpirun -n 8 --host h1,h2 tutti tune PROBLEM'
expect 1 env TUTTI_NETWORK=torus:2x2 tutti run -n 4 tutti tune --output none barrier
says err 'no line of wisdom has a network'
# A launcher that has started only this process does not count.
expect 1 tutti run -n 1 tutti tune --output none barrier/p1
says err 'barrier/p1: one rank has nothing to choose'

# A rank that dies does not leave the others waiting, and no line is written.
for dies in 0 2; do
    expect 1 env TUTTI_FAULT=kill,rank=$dies,after=100 tutti run --on-failure=continue -n 4 tutti tune --output dead allreduce/f64/sum/64K barrier
    says err "^tutti bench: rank 1: .*rank $dies died: signal 9"
    if grep -q '^[a-z]' dead; then fail 'half of a measurement was written'; fi
done
