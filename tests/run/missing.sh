#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The roll call of TUTTI_WATCHDOG. For each call that is stuck, one rank prints the roll call once.
# It says which ranks are in which call, and which are outside the library, stopped, dead, or have
# left. The test runs with processes, with threads, and with threads on several simulated nodes.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
source "$(dirname "$0")/../tools/lib.sh"

missing=$TUTTI_BUILD/tests/test-run-missing
# The leak check attaches to the process like a debugger and would wait for a rank that is stopped
# or killed.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

# Starts the given command in the background and waits until it has printed the roll call. If a rank
# was still in tutti_init then, because the machine is busy, the command is started again with twice
# the time until the roll call.
begin() {
    for TUTTI_WATCHDOG in 2 4 8 16; do
        export TUTTI_WATCHDOG
        rm -f go started
        in_background "$@"
        job=$!
        wait_for has_lines err 1
        wait_for says_quietly 'roll call$'
        if [ "${!#}" = absent ] || ! says_quietly 'tutti_init'; then break; fi
        [ "$TUTTI_WATCHDOG" -lt 16 ] || fail "the ranks do not join within $TUTTI_WATCHDOG s"
        kill -9 "$job"
        wait "$job" 2>/dev/null || true
    done
}
says_quietly() { grep -qE -- "$1" err; }

# Lets the missing rank continue and checks that the job ends with the given code.
end() {
    local code=0
    touch go
    wait "$job" || code=$?
    [ "$code" -eq "$1" ] || fail "the job ended with $code instead of $1"
    [ ! -s out ] || fail 'a call ended with an error'
}

called_once() {
    [ "$(lines err 'roll call$')" -eq 1 ] || fail 'the roll was not called just once'
}

all_ways() {
    local what=$1 nodes
    shift
    begin tutti run -n 4 "$missing" "$what"
    "$@"
    end 0
    called_once
    for nodes in '' 2,2 1,3; do
        export TUTTI_NODES=$nodes
        begin "$missing" "$what" 4
        "$@"
        end 0
        called_once
    done
    unset TUTTI_NODES
}

in_outside() {
    says err 'rank [013]\] has waited for [0-9]+\.[0-9] s .*: roll call$'
    says err 'ranks 0-1,3: in allreduce.* on the world \(call 2\), for [0-9.]+( to [0-9.]+)? s; wait for rank 2$'
    says err 'rank 2: outside the library; it last completed barrier.* on the world \(call 1\), [0-9.]+ s ago$'
}
all_ways outside in_outside

in_elsewhere() {
    says err 'rank 0: outside the library; it last completed '
    says err 'rank 1: in bcast.* on the team of ranks 0-1 \(call 1\), for [0-9.]+( to [0-9.]+)? s; waits for rank 0$'
    says err 'ranks 2-3: in allreduce.* on the world .*; wait for ranks? .*'
}
all_ways elsewhere in_elsewhere

in_left() {
    says err 'ranks 0-1: in barrier.* on the team of ranks 0-2 .*; wait for rank 2$'
    says err 'rank 2: outside the library'
    says err 'rank 3: left by tutti_finalize$'
}
all_ways left in_left

in_agree() {
    says err "ranks 0,2-3: in tutti_team_$what"'( of the world)?, for .*; waits? for ranks? .*1$'
    says err 'rank 1: outside the library; it has completed no collective$'
}
all_ways agree in_agree
for what in shrink of; do
    begin tutti run -n 4 "$missing" "$what"
    in_agree
    end 0
done

in_free() { # tutti_team_free waits for nobody, so the ranks wait in tutti_finalize
    says err 'ranks 0,2-3: in tutti_finalize, for'
    says err 'rank 1: outside the library'
}
begin tutti run -n 4 "$missing" free
in_free
end 0
called_once

begin tutti run -n 4 "$missing" finalize
says err 'rank 0: in tutti_finalize, for [0-9.]+ s; waits for ranks? [1-3]'
says err 'ranks 1-3: outside the library; they have completed no collective$'
end 0

begin tutti run -n 4 "$missing" requests
says err 'rank 1: outside the library, 2 requests under way, one of them barrier.* on the world \(call 2\); it last completed barrier.* \(call 1\)'
end 0

# A request is under way until its program has completed it, even if its collective has ended, and
# even if a later call uses the slot of that collective. The roll call does not count the collective
# as completed by the rank before that.
begin tutti run -n 4 "$missing" way-0
says err 'rank 2: outside the library, 1 request under way: allreduce.* on the world \(call 2\); it last completed barrier\(\) on the world \(call 1\)(, [0-9.]+ s ago)?$'
end 0
begin tutti run -n 4 "$missing" way-1
says err 'rank 2: outside the library, 1 request under way: allreduce.* on the world \(call 2\); it last completed allreduce.* on the world \(call 3\)(, [0-9.]+ s ago)?$'
end 0
begin tutti run -n 4 "$missing" way-140
says err 'rank 2: outside the library, 1 request under way; it last completed allreduce.* on the world \(call 142\), [0-9.]+ s ago$'
end 0

begin tutti run -n 4 "$missing" way-again
says err 'rank 2: outside the library, 1 request under way: allreduce.* on the world \(call 130\); it last completed allreduce.* on the world \(call 129\)(, [0-9.]+ s ago)?$'
end 0

begin tutti run -n 4 "$missing" absent
says err 'ranks 0,2-3: in tutti_init, for'
says err 'rank 1: not in tutti_init yet$'
end 0

# The ranks of two clients wait for each other.
TUTTI_WATCHDOG=2 expect 124 tutti run -n 3 --timeout 4 "$missing" further
says err 'ranks 0,2: in barrier.* on the world \(call 1\), for [0-9.]+( to [0-9.]+)? s; wait for rank 1$'
says err 'rank 1: in tutti_init of client 1; it has completed no collective$'
says err 'ranks 0,2: in a call of client 0; not in tutti_init yet$'
says err 'rank 1: in tutti_init, for [0-9.]+ s; waits for ranks 0,2$'

begin tutti run -n 4 "$missing" stopped
says err 'ranks 0,2-3: in barrier.*; wait for rank 1$'
says err 'rank 1: stopped, as by SIGSTOP; outside the library'
for pid in $(pgrep -P "$(pgrep -P "$job")"); do kill -CONT "$pid" 2>/dev/null || true; done
end 0

begin tutti run -n 4 --on-failure=continue "$missing" dead
says err 'rank 0: in barrier.* on the team of ranks 0-1 .*; waits for rank 1$'
says err 'rank 2: outside the library; barrier\(\) on the team of ranks 2-3 \(call 1\) failed; it last completed team_split.* \(call [0-9]+\), [0-9.]+ s ago$'
says err 'rank 3: died: signal 9 \(Killed\)$'
end 0

# After a mismatch all calls of ranks 2 and 3 fail, but these ranks may compute outside the library.
begin tutti run -n 4 "$missing" mismatch
says err 'rank 0: in barrier.* on the team of ranks 0-1 .*; waits for rank 1$'
says err 'rank 1: outside the library; it last completed team_split'
for member in 2 3; do
    says err "rank $member: its calls fail: the calls of the ranks do not match; outside the library; allreduce\(n=$member of f64, sum\).* on the team of ranks 2-3 \(call 1\) failed; it last completed team_split.* \(call [0-9]+\), [0-9.]+ s ago\$"
done
end 0

# A rank may wait for messages as long as it likes, and a rank for which no call waits may stay
# outside the library as long as it likes: the watchdog reports neither.
rm -f go err
(sleep 3 && touch go) &
started+=("$!")
TUTTI_WATCHDOG=2 tutti run -n 4 "$missing" messages 2>err || fail 'messages'
[ ! -s err ] || fail 'the roll was called for a wait for messages'

# Each call that is stuck is reported once: here two calls in a row.
rm -f go
TUTTI_WATCHDOG=0.7 tutti run -n 2 "$missing" twice 2>err || fail 'twice'
[ "$(lines err 'roll call$')" -eq 2 ] || fail 'the roll was not called twice'

# A value that is not a number is ignored, with a message.
TUTTI_WATCHDOG=soon expect 0 tutti run -n 1 "$missing" outside
says err 'TUTTI_WATCHDOG=soon is not a number of seconds'
