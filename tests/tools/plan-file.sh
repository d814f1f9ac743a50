#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The option --plan: the other commands read what `tutti plan` prints, with the same proof and the
# same times as for the algorithm. Tests also plans with the rank as a variable, wrong plans, and
# wrong arguments.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/plans.sh"

# The plans that `tutti plan` prints have the same proof as the algorithm, and the same simulated
# time.
for case in 'allreduce/f64/sum/4K/p7 ring' 'alltoall/u8/100/p8 bruck' 'bcast/f64/64K/p9/root=3 binomial' \
    'reduce/i64/user/64/p5 binomial' 'alltoallv/u8/1K/p4/skew=zipf exchange' 'barrier/p6 dissemination' \
    'allreduce/f64/sum/512/p8@nodes:4,4 composed' 'allgather/u8/64/p8@torus:3x3-hole(1,1) forward'; do
    read -r problem algorithm <<<"$case"
    expect 0 tutti plan "$problem" --algorithm "$algorithm"
    cp out plans
    expect 0 tutti check --plan plans
    cp out from-file
    expect 0 tutti check "$problem" --algorithm "$algorithm"
    cmp out from-file || fail "$case: another proof"
    expect 0 tutti sim "$problem" --algorithm "$algorithm" --gamma 1ns --json -
    cp out rows
    expect 0 tutti sim --plan - --gamma 1ns --json - <plans
    python3 - "$case" <<'PYTHON'
import json, sys
mine, theirs = json.load(open("out"))[0], json.load(open("rows"))[0]
for key in ("time_ps", "messages", "steps", "ranks", "algorithm"):
    assert mine[key] == theirs[key], (sys.argv[1], key, mine, theirs)
PYTHON
done

# A plan file in which the rank is a variable, for any number of ranks and bytes.
write_plans allreduce/f64/sum/8/p3
expect 0 tutti check --plan flat.plan
says out '^mine +proven: twice in flight'
# Without the option --plan, a file name is a bad problem, and the error says how to name a file.
for command in check sim draw bench; do
    expect 2 tutti "$command" flat.plan
    says err '^\(a file has this name; check, sim, draw and bench read a plan with --plan FILE\)$'
done
for p in 1 2 9 17; do
    expect 0 tutti check --plan flat.plan allreduce/f64/sum/1K/p$p
    says out '^mine +proven'
done
# On one rank, `signal all` signals nobody and is left out, together with its `from 2`.
cat >nobody.plan <<'END'
tutti plan 1
plan allreduce algorithm x rank r of p type f64 op sum
lane 0
  loop 4 {
  copy OUT[0 + i*16] <- IN[0 + i*16] len 16
  signal all 1 + i from 2
  }
END
expect 0 tutti check --plan nobody.plan allreduce/f64/sum/64/p1
# A range of the window moves with both loops, and the last slice is longer than the others. A
# window that is too small for it is noticed.
cat >moving.plan <<'END'
tutti plan 1
problem allreduce/f64/sum/320/p2
plan allreduce algorithm moving rank r of p type f64 op sum
lane 0
  loop 2 {
    loop 2 {
      copy WIN[0 + i*64 + j*128] <- IN[0 + i*64 + j*128] len 64
    }
  }
  loop 2 {
    copy WIN[192 + i*64] <- IN[192 + i*64] len 8 tail 64
  }
  signal all 1
  await (1-r) 1
  reduce OUT[0] <- WIN@0..1[0] len 320
END
expect 0 tutti check --plan moving.plan
says out '^moving +proven'
expect 0 tutti check --plan moving.plan --window 320
says out '^moving +proven'
expect 1 tutti check --plan moving.plan --window 312
says out '^moving +refuted: access outside a buffer'
expect 1 tutti check --plan flat.plan allreduce/f64/sum/64/p4@nodes:2,2
says out '^mine +refuted: memory out of reach'
expect 1 tutti check --plan flat.plan --window 64 allreduce/f64/sum/1K/p4
says out '^mine +refuted: access outside a buffer'
expect 0 tutti sim --plan flat.plan allreduce/f64/sum/8/p5 --trace trace.json
says out '^mine +[0-9.]+ +- '
expect 0 tutti draw --plan flat.plan -o flat.svg
says flat.svg 'allreduce/f64/sum/8/p3 by mine'
expect 0 tutti draw --plan flat.plan allreduce/f64/sum/8/p4 -o flat.goal
says flat.goal 'num_ranks 4'

# Two lanes of a rank may await the same flag.
cat >lanes.plan <<'END'
tutti plan 1
problem allgather/u8/1K/p2
plan allgather algorithm lanes rank r of p type u8
opens IN
lane 0
  copy OUT[r*bytes] <- IN[0] len bytes
  signal all 1
  await (1-r) 1
  get %0 OUT[(1-r)*bytes] <- IN@(1-r)[0] len bytes/2
  wait %0
  await r.1 1
  signal all 2
  await (1-r) 2
lane 1
  await (1-r) 1
  get %0 OUT[((1-r)*bytes+bytes/2)] <- IN@(1-r)[bytes/2] len bytes/2
  wait %0
  signal r 1
END
expect 0 tutti check --plan lanes.plan
says out '^lanes +proven'
for model in simple loggp; do
    expect 0 tutti sim --plan lanes.plan --model $model
    says out '^lanes +[0-9.]+ +- '
done

# The loads of links are shares of the fullest link, also if its bytes hardly fit in 63 bits.
cat >long.plan <<'END'
tutti plan 1
problem bcast/u8/1/p2@ring:2
plan bcast algorithm long rank 0 of 2 type u8
lane 0
  send %0 to 1 OUT[0] len 1441151880758558720
  wait %0
plan bcast algorithm long rank 1 of 2 type u8
lane 0
  recv %0 from 0 OUT[0] len 1441151880758558720
  wait %0
END
expect 0 tutti sim --plan long.plan --tw 0 --model links
says out 'links by load, from none to the fullest: .* 0 0 0 0 0 0 0 1$'

# A time that does not fit in 64 bits is an error.
expect 2 tutti sim --plan long.plan
says err 'it takes more than the 53 days that can be simulated$'

# A plan that does not wait for its last transfer is not simulated.
sed 's/^  wait %0$//' lanes.plan >nowait.plan
for command in sim 'draw -o nowait.svg'; do
    # shellcheck disable=SC2086
    expect 1 tutti $command --plan nowait.plan
    says err 'the plan of rank [01] ends without a wait for its transfer %0 \(step [0-9] at nowait.plan:(9|16):3\)$'
done
rm -f nowait.svg

# Plans with mistakes: the message says what is wrong.
expect 1 tutti check --plan never.plan
says out '^mine +refuted: deadlock'
says out '^    execution 0, rank 0, step 2 at never.plan:8:5 \(await 1 2\) waits for execution 0, rank 1, step 2 at never.plan:8:5 '
# Each step that a proof names has its place: steps with other lengths on both sides, a race, a
# transfer without a wait. Steps are counted in their lanes.
cat >faults.plan <<'END'
tutti plan 1
problem bcast/u8/8/p2
plan bcast algorithm faults rank 0 of 2 type u8
lane 0
lane 1
  send %0 to 1 OUT[0] len 8
  wait %0
plan bcast algorithm faults rank r of p type u8
lane 0
lane 1
  if (1) {
    recv %0 from 0 OUT[0] len 8
    wait %0
  }
END
expect 0 tutti check --plan faults.plan
sed '12s/len 8/len 7/' faults.plan >length.plan
expect 1 tutti check --plan length.plan
says out "rank 0's step 0 at length.plan:6:3 sends 8 bytes, rank 1's step 0 at length.plan:12:5 receives 7"
sed '13d' faults.plan >wait.plan
expect 1 tutti check --plan wait.plan
says out 'without a wait for instance 0 of %0 \(step 0 at wait.plan:12:5\)'
sed '10s/lane 1/  copy OUT[4] <- OUT[0] len 4\nlane 1/' faults.plan >race.plan
expect 1 tutti check --plan race.plan
says out ' at race.plan:(10|13):[35] .*, which execution [01], rank 1, lane [01], step 0 at race.plan:(10|13):[35] '
# A fault of the structure is found before the proof; its place is that of the step, too.
sed '12s/OUT.0./OUT[0 block 4 stride 8]/' faults.plan >blocks.plan
expect 2 tutti check --plan blocks.plan
says err '^tutti check: blocks.plan:12:5: this step is wrong: blocks in a step that is no copy, put or get$'
sed '12s/len 8/len 8 from 1/' faults.plan >from.plan
expect 2 tutti check --plan from.plan
says err "^tutti check: from.plan:12:33: 'from' is for steps in loops: expected a loop around this step$"
expect 1 tutti sim --plan never.plan
# The simulator, too, counts steps in their lanes.
sed 's/^lane 0/lane 0\n  copy OUT[0] <- IN[0] len 8\nlane 1/' never.plan >second.plan
expect 1 tutti sim --plan second.plan
says err '^tutti sim: mine: 3 of 3 ranks wait for ever: rank 0 at its await, step 2 at second.plan:10:5$'
expect 1 tutti draw --plan second.plan -o never.svg
says err '^tutti draw: 3 of 3 ranks wait for ever: rank 0 at its await, step 2 at second.plan:10:5$'
expect 1 tutti sim --plan - <second.plan
says err 'rank 0 at its await, step 2 at standard input:10:5$'
TUTTI_ALGORITHM=allreduce=@second.plan expect 1 tutti sim allreduce/f64/sum/8/p3 --trace never.json
says err 'rank 0 at its await, step 2 at second.plan:10:5$'
for command in check sim draw; do
    expect 2 tutti "$command" --plan typing.plan
    says err "^tutti $command: typing.plan:5:28: expected a length, a number or one of r p sz bytes inplace; there is no 'byte'"
    expect 2 tutti "$command" --plan flat.plan bcast/u8/8/p3
    says err 'flat.plan:3:6: the plan is for the collective allreduce, and the problem has bcast'
    expect 2 tutti "$command" --plan /no/such/file
    says err 'the plan file /no/such/file cannot be read: No such file'
    expect 2 tutti "$command" --plan - <<<'plan allreduce'
    says err "standard input:1:1: expected 'tutti plan 1', the version of the format"
    sed /problem/d flat.plan >nameless.plan
    expect 2 tutti "$command" --plan nameless.plan
    says err 'the problem is missing: nameless.plan has no line .problem \.\.\..'
    expect 2 tutti "$command" --plan flat.plan --algorithm ring allreduce/f64/sum/8/p3
    says err '--plan and --algorithm cannot both be given'
done
expect 2 tutti check --plan flat.plan all
says err '--plan is for a single PROBLEM'
expect 2 tutti draw --plan flat.plan machine
says err '--plan is for a problem'
expect 0 tutti plan allreduce/f64/sum/8/p3 --rank 1
cp out one
expect 2 tutti check --plan one
says err 'one:[0-9]+:[0-9]+: expected a plan for rank 0 of 3, or one for any rank \(rank r\)'

# Where a command takes the algorithm that the library would choose, it takes the plan file that
# TUTTI_ALGORITHM names. The commands that describe what runs here prove the file first.
cp flat.plan 'with,comma.plan'
export TUTTI_ALGORITHM='bcast=flat,allreduce=@with\,comma.plan'
expect 0 tutti list --costs allreduce/f64/sum/8/p3
says out '^  mine +16 +16 +16 +8 +2 +5$'
says out '^  flat +16 '
expect 0 tutti list --for allreduce/f64/sum/8/p3 --json
python3 - <<'PYTHON'
import json
row, = (row for row in json.load(open("out")) if row["chosen"])
assert row["name"] == "mine" and row["source"] == "with,comma.plan", row
PYTHON
# The name in the file selects this row, also without a problem.
expect 0 tutti list mine
says out '^allreduce$'
says out '^  mine +that of the plans +where the plans are proven for the$'
expect 0 tutti list
says out '^  mine +that of the plans '
for problem in '' '--for allreduce/f64/sum/8/p3' '--costs allreduce/f64/sum/8/p3'; do
    # shellcheck disable=SC2086
    expect 0 tutti list $problem mine flat allreduce --json
    python3 -c 'import json
assert [row["name"] for row in json.load(open("out"))] == ["flat", "mine"]' || fail 'other rows'
    # shellcheck disable=SC2086
    expect 2 tutti list $problem mime
    says err "^tutti list: 'mime' is neither a collective nor an algorithm; did you mean 'mine'\?$"
done
expect 1 tutti list bcast mine
says err '^tutti list: no algorithm of bcast has one of the names'
# A file that cannot be read does not hide the other rows.
mkfifo pipe.plan
mkdir folder.plan
for file in nowhere.plan typing pipe.plan folder.plan; do
    TUTTI_ALGORITHM=allreduce=@$file expect 0 tutti list barrier --names
    says err "^tutti list: TUTTI_ALGORITHM=allreduce=@$file: "
    [ "$(lines err)" -eq 1 ] || fail 'more than one error'
    TUTTI_ALGORITHM=allreduce=@$file expect 2 tutti list --for allreduce/f64/sum/8/p3 mine
    says err "^tutti list: TUTTI_ALGORITHM=allreduce=@$file: "
done
TUTTI_ALGORITHM=bcast=@flat.plan expect 0 tutti list bcast --names
says err '^tutti list: TUTTI_ALGORITHM=bcast=@flat.plan: the file has no plan of rank 0 for bcast$'
TUTTI_ALGORITHM=bcast=@flat.plan,allreduce=@flat.plan expect 0 tutti list mine --names
says out '^allreduce mine$'
for setting in @flat.plan nonsense=x allreduce=@; do
    TUTTI_ALGORITHM=$setting expect 0 tutti list bcast --names
    says err '^tutti list: TUTTI_ALGORITHM'
    [ "$(lines err)" -eq 1 ] || fail 'more than one error'
done
expect 0 tutti explain allreduce/f64/sum/8/p3
says out 'runs by mine. It is that of the plan file with,comma.plan. TUTTI_ALGORITHM forces it.$'
says out '^\* mine '
expect 0 tutti plan allreduce/f64/sum/8/p3 --rank 0
says out '^plan allreduce algorithm mine rank 0 of 3 type f64 op sum$'
expect 0 tutti draw allreduce/f64/sum/8/p3 -o forced.svg
says forced.svg 'allreduce/f64/sum/8/p3 by mine'
expect 0 tutti draw allreduce/f64/sum/8/p3 -a ring -o forced.svg
says forced.svg 'allreduce/f64/sum/8/p3 by ring'
expect 0 tutti sim allreduce/f64/sum/8/p3 --trace trace.json
says out '^mine +[0-9.]+ +- '
expect 0 tutti list --costs bcast/u8/8/p3
for command in 'list --costs' explain plan; do
    # shellcheck disable=SC2086
    TUTTI_ALGORITHM=allreduce=@never.plan expect 2 tutti $command allreduce/f64/sum/8/p3
    says err 'TUTTI_ALGORITHM=allreduce=@never.plan: the schedule of the plan file never.plan is refuted: deadlock: '
done
TUTTI_ALGORITHM=allreduce=@nowhere.plan expect 2 tutti draw allreduce/f64/sum/8/p3
says err 'tutti draw: TUTTI_ALGORITHM=allreduce=@nowhere.plan: the plan file nowhere.plan cannot be read: No such'
unset TUTTI_ALGORITHM

# `tutti bench` proves the plans, runs and verifies them, from a file and from standard input, as
# processes and as threads.
for how in '' --threads; do
    # shellcheck disable=SC2086
    expect 0 tutti bench --plan flat.plan --iterations 20 $how
    says out '^allreduce/f64/sum/8/p3 +mine +[0-9.]+ '
    # shellcheck disable=SC2086
    expect 0 tutti bench --plan - --iterations 20 --sizes 8:32 $how allreduce/f64/sum/8/p2 <flat.plan
    [ "$(lines out '^allreduce/f64/sum/(8|16|32)/p2 +mine ')" -eq 3 ] || fail 'not three rows'
    # shellcheck disable=SC2086
    expect 1 tutti bench --plan never.plan $how
    says err '^tutti bench: allreduce/f64/sum/8/p3: the schedule of the plan file never.plan is refuted: deadlock'
done
cp flat.plan 'with,comma.plan'
# In a job that a launcher has started, no rank waits for one that refuses the plans.
expect 1 tutti run --on-failure=continue -n 3 tutti bench --plan never.plan
says err 'the schedule of the plan file never.plan is refuted: deadlock'
expect 0 tutti bench --plan with,comma.plan --iterations 20 --json -
python3 -c 'import json; assert json.load(open("out"))[0]["algorithm"] == "mine"'
tutti plan allgather/u8/1K/p4 --algorithm ring >ring.plan
expect 0 tutti bench --plan ring.plan --iterations 20
says out '^allgather/u8/1K/p4 +ring '
expect 1 tutti bench --plan flat.plan allreduce/f64/sum/1M/p2
says err 'refuted: access outside a buffer'
expect 2 tutti bench --plan typing.plan
says err '^tutti bench: typing.plan:5:28: expected a length'
expect 2 tutti bench --plan flat.plan --algorithm ring
says err '--plan and --algorithm cannot both be given'
expect 2 tutti bench --plan flat.plan bcast/u8/8/p2
says err 'the plan is for the collective allreduce, and the problem has bcast'

# Pieces of TMP and WIN begin at multiples of 64 bytes, which is no multiple of the size of binned.
expect 0 tutti check allreduce/binned/sum/24/p3
expect 0 tutti check reduce/binned/sum/72/p5/root=1@nodes:2,3
