#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that misses a call, on several hosts: on each host one rank prints the roll call, and
# `tutti ps` shows the ranks of its own host. Also, child processes of ranks neither disturb the job
# nor hide that a rank died.
set -eu
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
hosts 3,1
missing=$TUTTI_BUILD/tests/test-run-missing handles=$TUTTI_BUILD/tests/test-api-handles

# Rank 2, on the first host, is missing. The rank on the second host cannot see what the ranks of
# the first host do.
rm -f go
begin_on_hosts -x TUTTI_WATCHDOG=3 "$missing" outside
deadline=$((SECONDS + 60))
until [ "$(grep -c 'roll call$' err)" -ge 2 ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail 'the roll was not called on each host'
    sleep 0.1
done
grep -qE 'rank [01]\] has waited .* on h1: roll call$' err || fail 'nobody called the roll on h1'
grep -qE 'ranks 0-1: in allreduce.* on the world \(call 2\), for .*; wait for rank' err || fail 'ranks 0-1'
grep -qE 'rank 2: outside the library; it last completed barrier.* \(call 1\)$' err || fail 'rank 2'
grep -qE 'rank 3: on host h2: not seen from here$' err || fail 'rank 3'
grep -qE 'rank 3\] has waited .* on h2: roll call$' err || fail 'rank 3 did not call the roll on h2'
grep -qE 'ranks 0-2: on host h1: not seen from here$' err || fail 'ranks 0-2'
in_host h2 "$TUTTI_BUILD/bin/tutti" ps >out.ps
grep -qE '^ +3 +[0-9]+ +(sleeping|running) +in allreduce' out.ps || fail "tutti ps: $(cat out.ps)"
grep -qE '^ +0 +[0-9]+ +elsewhere +on host h1: not seen from here$' out.ps || fail "tutti ps: $(cat out.ps)"
touch go
wait "$mpirun" || fail 'the job did not go on'
[ "$(grep -c 'roll call$' err)" -eq 2 ] || fail 'the roll was called more than once on a host'

on_hosts "$handles" end >out 2>err || fail 'end'
[ "$(lines '^all as it should be$')" -eq 4 ] || fail 'end: not all were through'
timeout 100 bash -c "$(declare -f on_hosts); work=$work; on_hosts $handles fork" >out 2>err || fail 'fork'
[ "$(lines '^all as it should be$')" -eq 4 ] || fail 'fork: not all were through'

# Rank 1 dies while a child process of it lives on.
until_lines 3 '^rank [023] saw it: ' 60 "$handles" orphan
