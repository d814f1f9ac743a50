#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that misses a call, on several hosts: the roll call shows the ranks of all hosts, and
# `tutti ps` shows those of its own host. Also, child processes of ranks neither disturb the job
# nor hide that a rank died.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 2,1,1
missing=$TUTTI_BUILD/tests/test-run-missing handles=$TUTTI_BUILD/tests/test-api-handles

# roll PATTERN...: waits for the roll call; expects that it has these lines in this order.
roll() {
    local deadline=$((SECONDS + 60)) pattern at=1 line
    until grep -q '^tutti:  host h3:$' err; do
        [ "$SECONDS" -lt "$deadline" ] || fail 'the roll was not called'
        sleep 0.1
    done
    for pattern; do
        line=$(tail -n "+$at" err | grep -nE -m 1 -- "$pattern" || true)
        line=${line%%:*}
        [ "$line" ] || fail "the roll call lacks: $pattern"
        at=$((at + line))
    done
}

# Rank 2, which is alone on its host, is outside the library: a thread of this rank answers. One
# roll call shows all ranks, and the ranks of which it asks the state print no roll call of their
# own.
rm -f go
begin_on_hosts -x TUTTI_WATCHDOG=3 "$missing" outside
roll 'rank [01]\] has waited .* on h1: roll call$' '^tutti:  host h1:$' \
    'ranks 0-1: in allreduce.* on the world \(call 2\), for .*; wait for rank' '^tutti:  host h2:$' \
    'rank 2: outside the library; it last completed barrier.* \(call 1\), [0-9.]+ s ago$' '^tutti:  host h3:$' \
    'rank 3: in allreduce.* on the world \(call 2\), for .*; waits for rank'
in_host h3 "$TUTTI_BUILD/bin/tutti" ps >out.ps
grep -qE '^ +3 +[0-9]+ +(sleeping|running) +in allreduce' out.ps || fail "tutti ps: $(cat out.ps)"
grep -qE '^ +0 +[0-9]+ +elsewhere +on host h1: not seen from here$' out.ps || fail "tutti ps: $(cat out.ps)"
touch go
wait "$mpirun" || fail 'the job did not go on'
[ "$(grep -c 'roll call$' err)" -le 2 ] || fail 'the roll was called on each host'

# Rank 2 is stopped, so that nobody on its host answers.
rm -f go
begin_on_hosts -x TUTTI_WATCHDOG=3 "$missing" outside
deadline=$((SECONDS + 60))
until in_host h2 "$TUTTI_BUILD/bin/tutti" ps | grep -q 'it last completed barrier'; do
    [ "$SECONDS" -lt "$deadline" ] || fail 'rank 2 did not come'
done
stopped=$(in_host h2 "$TUTTI_BUILD/bin/tutti" ps | awk '$1 == 2 { print $2 }')
in_host h2 kill -STOP "$stopped"
roll 'ranks 0-1: in allreduce' 'rank 2: no answer: stopped, or host h2 cannot be reached$' 'rank 3: in allreduce'
in_host h2 kill -CONT "$stopped"
touch go
wait "$mpirun" || fail 'the job did not go on after a rank was stopped'

on_hosts "$handles" end >out 2>err || fail 'end'
[ "$(lines '^all as it should be$')" -eq 4 ] || fail 'end: not all were through'
timeout 100 bash -c "$(declare -f on_hosts); work=$work; on_hosts $handles fork" >out 2>err || fail 'fork'
[ "$(lines '^all as it should be$')" -eq 4 ] || fail 'fork: not all were through'

# Rank 1 dies while a child process of it lives on.
until_lines 3 '^rank [023] saw it: ' 60 "$handles" orphan
