#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who is missing: TUTTI_WATCHDOG calls the roll once for each call that is stuck, from one rank, and
# it says who is in which call, who is outside the library, stopped, dead, or has left. Of
# processes, of threads, and as if on two nodes.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
source "$(dirname "$0")/../tools/lib.sh"

missing=$TUTTI_BUILD/tests/test-run-missing
# A leak is looked for by a tracer, which a rank that is stopped or killed makes wait.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
# Long enough for all ranks to come, also on a busy machine.
export TUTTI_WATCHDOG=2

# Starts `missing WHAT`, and waits until the roll was called.
begin() {
    rm -f go started out err
    "$@" >out 2>err &
    job=$!
    started+=("$job")
    wait_for has_lines err 1
    wait_for says_quietly 'roll call$'
}
says_quietly() { grep -qE -- "$1" err; }

# Lets the missing rank come, and the job end: with this code.
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
    says err 'rank [013]\] has waited for [2-9]\.[0-9] s .*: roll call$'
    says err 'ranks 0-1,3: in allreduce.* on the world \(call 2\), for [0-9.]+( to [0-9.]+)? s; wait for rank 2$'
    says err 'rank 2: outside the library; it last completed barrier.* on the world \(call 1\)$'
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
    says err 'rank 3: has left \(tutti_finalize\)$'
}
all_ways left in_left

in_agree() {
    says err 'ranks 0,2-3: in tutti_team_agree or _shrink of the world, for .*; wait for rank 1$'
    says err 'rank 1: outside the library; it has completed no collective$'
}
all_ways agree in_agree

in_free() {
    says err 'ranks 0,2-3: in tutti_team_free of the team of ranks 0-3, for'
    says err 'rank 1: outside the library'
}
begin tutti run -n 4 "$missing" free
in_free
end 0
called_once

begin tutti run -n 4 "$missing" finalize
says err 'rank 0: in tutti_finalize, for [0-9.]+ s; waits for ranks? [1-3]'
says err 'ranks 1-3: outside the library'
end 0

begin tutti run -n 4 "$missing" requests
says err 'rank 1: outside the library, 2 requests under way, one of them barrier.* on the world \(call 2\); it last completed barrier.* \(call 1\)'
end 0

begin tutti run -n 4 "$missing" absent
says err 'ranks 0,2-3: in tutti_init, for'
says err 'rank 1: has not come to tutti_init$'
end 0

begin tutti run -n 4 "$missing" stopped
says err 'ranks 0,2-3: in barrier.*; wait for rank 1$'
says err 'rank 1: stopped, as by SIGSTOP; outside the library'
for pid in $(pgrep -P "$(pgrep -P "$job")"); do kill -CONT "$pid" 2>/dev/null || true; done
end 0

begin tutti run -n 4 --on-failure=continue "$missing" dead
says err 'rank 0: in barrier.* on the team of ranks 0-1 .*; waits for rank 1$'
says err 'rank 3: died: signal 9 \(Killed\)$'
end 0

# A wait for messages may be as long as it likes, and so may a rank that waits for nobody.
rm -f go err
(sleep 3 && touch go) &
started+=("$!")
tutti run -n 4 "$missing" messages 2>err || fail 'messages'
[ ! -s err ] || fail 'the roll was called for a wait for messages'

# Each call that is stuck is told of, once: two in a row.
rm -f go
TUTTI_WATCHDOG=0.7 tutti run -n 2 "$missing" twice 2>err || fail 'twice'
[ "$(lines err 'roll call$')" -eq 2 ] || fail 'the roll was not called twice'

# What is no number is ignored, and said.
TUTTI_WATCHDOG=soon expect 0 tutti run -n 1 "$missing" outside
says err 'TUTTI_WATCHDOG=soon is not a number of seconds'
