#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# TUTTI_ALGORITHM=COLLECTIVE=@FILE in a program: a proven schedule runs, and gives the right
# results. A file that is refuted, unfit, unreadable, or not the same on all ranks ends in an error
# on every rank. Without libtutti-lab.so the error says so.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
source "$(dirname "$0")/../tools/plans.sh"

program=$TUTTI_BUILD/tests/run-plan-file

write_plans ''
sed 's/len bytes/len 8/' flat.plan >eight.plan
{ cat flat.plan && echo '# another file'; } >other.plan

# go N ARGUMENT...: runs the program on 3 ranks with the file that $plan names, where %d stands for
# the rank.
go() {
    # shellcheck disable=SC2016
    expect 0 tutti run -n 3 --timeout 300 --on-failure continue \
        bash -c 'export TUTTI_ALGORITHM=${0//%d/$TUTTI_RANK}; exec "$@"' "allreduce=@$plan" "$program" "$@"
}
# every PATTERN: expects that each of the three ranks has printed a line that matches.
every() { [ "$(lines out "$1")" -eq 3 ] || fail "not every rank says: $1"; }

plan=flat.plan
for words in '' again init 'init again' place 'place again'; do
    # shellcheck disable=SC2086
    go 5 $words
    every '^rank [0-2]: the call: right$'
    every '^rank [0-2]: the barrier: right$'
done
# A comma in the path has a backslash before it.
cp flat.plan 'a,b=c,.plan'
export TUTTI_ALGORITHM='barrier=flat,allreduce=@a\,b=c\,.plan,bcast=flat'
TUTTI_LOG=choice expect 0 tutti run -n 3 "$program" 5
every '^rank [0-2]: the call: right$'
says err 'choice: mine for allreduce.* by a plan file'
TUTTI_ALGORITHM='allreduce=@a,b=c,.plan' expect 0 tutti run -n 3 "$program" 5
every "^rank [0-2]: the call: .*there is no collective 'b'"
unset TUTTI_ALGORITHM
TUTTI_LOG=choice go 5
says err 'choice: mine for allreduce.* by a plan file .* \(forced by TUTTI_ALGORITHM\)'
TUTTI_NODES=2,1 go 5
every '^rank [0-2]: the call: .*the schedule of the plan file flat.plan is refuted: memory out of reach'

# A schedule that `tutti plan` has printed: one that uses messages, and one on two nodes.
tutti plan allreduce/f64/sum/40/p3 --algorithm ring >ring.plan
plan=ring.plan
go 5 again
every '^rank [0-2]: the call: right$'
TUTTI_NODES=2,1 go 5 again
every '^rank [0-2]: the call: right$'
# A reduce in which only the root may be in place.
tutti plan reduce/f64/sum/40/p3 --algorithm binomial >reduce.plan
export TUTTI_ALGORITHM=reduce=@reduce.plan
expect 0 tutti run -n 3 "$program" 5 reduce
every '^rank [0-2]: the call: right$'
expect 0 tutti run -n 3 "$program" 5 reduce place
every '^rank [0-2]: the call: right$'
unset TUTTI_ALGORITHM
# A scatter whose root is not rank 0. The plan that is printed copies the root's own piece, so it
# does not fit a root in place, whose call then fails on all ranks.
tutti plan scatter/f64/8/p3/root=1 --algorithm linear >scatter.plan
TUTTI_ALGORITHM=scatter=@scatter.plan expect 0 tutti run -n 3 "$program" 1 scatter
every '^rank [0-2]: right$'
TUTTI_ALGORITHM=scatter=@scatter.plan expect 0 tutti run -n 3 --timeout 300 "$program" 1 scatter place
every '^rank [0-2]: .*(refuted for a root that calls in place|rank 1)'
cat >both.plan <<'PLAN'
tutti plan 1
problem scatter/f64/8/p3/root=1
plan scatter algorithm both rank r of p type f64
lane 0
  if (r == root) {
    send %0 to (r+1)%p IN[(r+1)%p*bytes] len bytes
    send %1 to (r+2)%p IN[(r+2)%p*bytes] len bytes
    if (inplace == 0) {
      copy OUT[0] <- IN[r*bytes] len bytes
    }
    wait %0
    wait %1
  }
  if (r != root) {
    recv %0 from root OUT[0] len bytes
    wait %0
  }
PLAN
for words in scatter 'scatter place'; do
    # shellcheck disable=SC2086
    TUTTI_ALGORITHM=scatter=@both.plan expect 0 tutti run -n 3 "$program" 1 $words
    every '^rank [0-2]: right$'
done

# A put into the window of a rank that has not begun the call.
cat >late.plan <<'PLAN'
tutti plan 1
problem bcast/f64/8/p2

plan bcast algorithm late rank 0 of 2 type f64
lane 0
  put %0 WIN@1[0] <- OUT[0] len 8
  wait %0
  signal 1 1

plan bcast algorithm late rank 1 of 2 type f64
lane 0
  await 0 1
  copy OUT[0] <- WIN[0] len 8
PLAN
TUTTI_ALGORITHM=bcast=@late.plan expect 0 tutti run -n 2 "$program" 1 late
[ "$(lines out '^rank [01]: right$')" -eq 2 ] || fail 'a put did not wait'

# Rank 1 gets from the buffer that rank 0 has opened, when a signal says so that came after the
# opening. The opening is a long message, before which a message for the next call has come.
cat >ahead.plan <<'PLAN'
tutti plan 1
problem bcast/f64/8/p2@nodes:1,1

plan bcast algorithm ahead rank 0 of 2 type f64
opens OUT
lane 0
  await 1 1
  signal 1 1
  signal 1 2
  await 1 2

plan bcast algorithm ahead rank 1 of 2 type f64
lane 0
  signal 0 1
  await 0 2
  get %0 OUT[0] <- OUT@0[0] len 8
  wait %0
  signal 0 2
PLAN
TUTTI_CMA=0 TUTTI_NODES=1,1 TUTTI_EAGER=0 TUTTI_ALGORITHM=bcast=@ahead.plan,scatter=binomial \
    expect 0 tutti run -n 2 --timeout 300 "$program" 1 ahead begun
[ "$(lines out '^rank [01]: right$')" -eq 2 ] || fail 'a signal overtook an opening'

# error FILE PATTERN: expects the same error on all ranks.
error() {
    local words
    plan=$1
    for words in '' init; do
        # shellcheck disable=SC2086
        go 5 $words
        every "^rank [0-2]: the call: $2"
        [ "$(lines out 'right$')" -eq 0 ] || fail 'a call after the error is right'
    done
}
prefix='.*TUTTI_ALGORITHM=allreduce=@'
error never.plan "${prefix}never.plan: the schedule of the plan file never.plan is refuted: deadlock: execution 0, rank 0, step 2 at never.plan:7:5 "
error eight.plan "${prefix}eight.plan: the schedule of the plan file eight.plan is refuted: uninitialised data"
error typing.plan "${prefix}typing.plan: typing.plan:4:28: expected a length, a number or one of r p sz bytes inplace;"
error nowhere.plan "${prefix}nowhere.plan: the plan file nowhere.plan cannot be read: No such file"
error ring-of-4.plan "${prefix}ring-of-4.plan: "

# Files that differ between ranks, or that are wrong or missing on one rank only: all ranks get an
# error, and none hangs.
for words in '' init; do
    for r in 0 1 2; do
        cp flat.plan "each$r.plan"
    done
    cp other.plan each1.plan
    plan=each%d.plan
    # shellcheck disable=SC2086
    go 5 $words
    every '^rank [0-2]: the barrier: rank [0-2] called .* by a plan file \(fingerprint [0-9a-f]{8}\) where rank [0-2] called .* by a plan file'
    for wrong in never typing eight; do
        cp $wrong.plan each1.plan
        # shellcheck disable=SC2086
        go 5 $words
        says out "^rank 1: the call: .*TUTTI_ALGORITHM=allreduce=@each1.plan: "
        [ "$(lines out '^rank [02]: the (call|barrier): .*TUTTI_ALGORITHM=allreduce=@each1.plan: ')" -ge 2 ] ||
            fail 'the other ranks do not learn of it'
    done
    rm each2.plan
    cp flat.plan each1.plan
    # shellcheck disable=SC2086
    go 5 $words
    [ "$(lines out '^rank [0-2]: the (call|barrier): .*plan file each2.plan cannot be read')" -ge 3 ] ||
        fail 'the other ranks do not learn of the missing file'
done
# Rank 1 has a plan file, and the other ranks leave the choice to the planner.
# shellcheck disable=SC2016
expect 0 tutti run -n 3 --timeout 300 --on-failure continue bash -c \
    'if [ "$TUTTI_RANK" = 1 ]; then export TUTTI_ALGORITHM=allreduce=@flat.plan; fi; exec "$@"' - "$program" 5
every '^rank [0-2]: the barrier: rank [0-2] called allreduce.* where rank [0-2] called allreduce'

# Wrong settings.
export TUTTI_ALGORITHM=@flat.plan
expect 0 tutti run -n 3 "$program" 5
every 'the call: .*TUTTI_ALGORITHM: @flat.plan needs the name of its collective, as in allreduce=@flat.plan'
expect 2 tutti plan allreduce/f64/sum/8/p3
says err '^tutti plan: TUTTI_ALGORITHM: @flat.plan needs the name of its collective, as in allreduce=@flat.plan$'
unset TUTTI_ALGORITHM
mkfifo pipe.plan
for plan in pipe.plan -; do
    TUTTI_ALGORITHM=allreduce=@$plan expect 0 tutti run -n 3 "$program" 5
    every "the call: .*TUTTI_ALGORITHM=allreduce=@$plan: a program (reads plans from regular files only|cannot read a plan)"
done
TUTTI_ALGORITHM=allreduce=@flat.plan expect 0 tutti run -n 1 "$program" 5
[ "$(lines out 'the call: .*flat.plan')" -eq 0 ] || fail 'a single rank'
TUTTI_ALGORITHM=alltoallv=@flat.plan expect 1 tutti bench alltoallv/u8/8/p2
says err 'plan files cannot be used for alltoallv and the other collectives with a count for each rank'

# libtutti.so without the laboratory beside it. With a sanitizer, dlopen also searches the program's
# own folders, where the laboratory is.
mkdir alone
cp "$TUTTI_BUILD"/lib/libtutti.so.0 alone/
plan=flat.plan
if [ -z "$TUTTI_SANITIZE" ]; then
    LD_LIBRARY_PATH=$work/alone go 5
    every 'the call: .*the laboratory, which proves plan files, cannot be loaded \(libtutti-lab.so.0: .*\): install libtutti-lab.so.0 beside libtutti.so$'
fi
# libtutti.so holds neither the parser, nor the prover, nor the simulator.
nm "$TUTTI_BUILD"/lib/libtutti.so >symbols
! grep -E ' [Tt] tt_(prove|prover_new|sim|simulate|plans?_parse|plan_file_open|lex_take)$' symbols || fail 'they are there'
